//! Fuzzing: runs targets for a given CPU time, keeps useful new inputs for the tests, and records the time.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use crate::mutants::{TICK, WatchedProcess};

/// The usage of the command.
pub const USAGE: &str = "fuzz [--minutes=N] [TARGET…]";

/// The table of hours so far.
const LOG: &str = "fuzz/LOG.md";
/// Options for libFuzzer. The limit for one input is long, because the machine may be busy.
const OPTIONS: [&str; 3] = ["-timeout=120", "-rss_limit_mb=6144", "-print_final_stats=1"];
/// Further options of one target.
const OF_WIR: [&str; 2] = ["-dict=wir.dict", "-max_len=4096"];
/// The exit code of a program that received SIGINT; its work until then counts.
const INTERRUPTED: i32 = 72;
/// A target runs again if more than this is missing from its time.
const REST: Duration = Duration::from_secs(2);

/// Runs the named targets, or all targets, and as many at the same time as there are processors. If `minutes`
/// is 0, it only shrinks the corpora.
pub fn run(root: &Path, arguments: &[&str]) -> Result<(), String> {
    if !cfg!(target_os = "linux") {
        return Err("CPU time of another process is known on Linux only; cargo +nightly fuzz run fuzzes \
                    elsewhere"
            .into());
    }
    let (options, named): (Vec<&str>, Vec<&str>) = arguments.iter().partition(|a| a.starts_with("--"));
    let mut time = Duration::from_secs(10 * 60);
    for option in options {
        let minutes = option.strip_prefix("--minutes=").and_then(|n| n.parse::<f64>().ok());
        let minutes = minutes
            .filter(|n| (0.0..1e4).contains(n))
            .ok_or_else(|| format!("{option} is no option: cargo xtask {USAGE}"))?;
        time = Duration::from_secs_f64(60.0 * minutes);
    }
    let fuzz = root.join("fuzz");
    let known = names(&fuzz.join("seeds"))?;
    if let Some(other) = named.iter().find(|name| known.iter().all(|target| target != *name)) {
        return Err(format!("there is no target {other}, but {}", known.join(", ")));
    }
    let targets: Vec<String> =
        known.into_iter().filter(|target| named.is_empty() || named.contains(&target.as_str())).collect();
    let build =
        Command::new("cargo").args(["+nightly", "fuzz", "build", "-s", "none"]).current_dir(root).status();
    if !build.is_ok_and(|status| status.success()) {
        return Err("the targets cannot be built; needed are cargo install --locked cargo-fuzz, and rustup \
                    toolchain install nightly"
            .into());
    }
    let (next, found) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    let work = || -> Result<(), String> {
        while let Some(target) = targets.get(next.fetch_add(1, Ordering::Relaxed)) {
            let ran = Target { fuzz: &fuzz, name: target }.run(time)?;
            eprintln!("xtask: {target}: {ran:?}");
            let mut found = found.lock().expect("no worker panics");
            log(root, target, &ran)?;
            found.extend(ran.found);
        }
        Ok(())
    };
    let results: Vec<Result<(), String>> = std::thread::scope(|scope| {
        let workers = std::thread::available_parallelism().map_or(1, usize::from);
        let workers: Vec<_> = (0..workers).map(|_| scope.spawn(work)).collect();
        workers.into_iter().map(|worker| worker.join().expect("no worker panics")).collect()
    });
    let text = fs::read_to_string(root.join(LOG)).map_err(told(LOG))?;
    names(&fuzz.join("seeds"))?.iter().for_each(|name| println!("{name:<10}{:>8.3} h", hours(&text, name)));
    results.into_iter().collect::<Result<(), String>>()?;
    let found = found.into_inner().expect("no worker panics");
    if found.is_empty() { Ok(()) } else { Err(format!("inputs that must not be: {}", found.join(", "))) }
}

/// The result of a target.
#[derive(Debug, Default)]
struct Ran {
    time: Duration,
    runs: u64,
    /// The size of the corpus with the seeds.
    inputs: usize,
    /// Files with inputs that made the target fail.
    found: Vec<String>,
}

/// The result of one call of a target's program.
struct Call {
    /// CPU time.
    time: Duration,
    printed: String,
    /// The exit code of the program; `None` if a signal ended it.
    code: Option<i32>,
}

struct Target<'a> {
    fuzz: &'a Path,
    name: &'a str,
}

impl Target<'_> {
    fn folder(&self, kind: &str) -> PathBuf {
        self.fuzz.join(kind).join(self.name)
    }

    /// Runs the program with these arguments.
    fn call(&self, arguments: &[String]) -> Result<Call, String> {
        let program = fs::read_dir(self.fuzz.join("target"))
            .map_err(told("fuzz/target"))?
            .flatten()
            .map(|e| e.path().join("release").join(self.name));
        let program = program
            .into_iter()
            .find(|p| p.is_file())
            .ok_or_else(|| format!("{} was not built", self.name))?;
        let path = self.fuzz.join("target").join(format!("{}.log", self.name));
        let output = File::create(&path).map_err(told(&path))?;
        let files = || output.try_clone().map(Stdio::from).map_err(told(&path));
        let mut command = Command::new(&program);
        command
            .args(OPTIONS)
            .args(arguments)
            .current_dir(self.fuzz)
            .stdin(Stdio::null())
            .stdout(files()?)
            .stderr(files()?);
        let mut child = command.spawn().map_err(told(&program))?;
        let mut watch = WatchedProcess::new(child.id());
        let status = loop {
            watch.look();
            match child.try_wait().map_err(told(&program))? {
                Some(status) => break status,
                None => std::thread::sleep(TICK),
            }
        };
        let printed = String::from_utf8_lossy(&fs::read(&path).map_err(told(&path))?).into_owned();
        Ok(Call { time: TICK * watch.worked() as u32, printed, code: status.code() })
    }

    fn run(&self, time: Duration) -> Result<Ran, String> {
        let (seeds, corpus, packed) = (self.folder("seeds"), self.folder("corpus"), self.folder("corpora"));
        let artifacts = self.folder("artifacts");
        [&corpus, &artifacts]
            .into_iter()
            .try_for_each(|folder| fs::create_dir_all(folder).map_err(told(folder)))?;
        for (i, input) in unpack(&fs::read(&packed).unwrap_or_default()).into_iter().enumerate() {
            let path = corpus.join(format!("packed_{i}"));
            fs::write(&path, input).map_err(told(&path))?;
        }
        let before = inputs(&artifacts)?;
        let mut ran = Ran::default();
        while ran.time + REST < time {
            let mut arguments = vec![corpus.display().to_string(), seeds.display().to_string()];
            arguments.push(format!("-artifact_prefix={}/", artifacts.display()));
            arguments.push(format!("-max_total_time={}", (time - ran.time).as_secs().max(1)));
            if self.name == "wir" {
                arguments.extend(OF_WIR.map(String::from));
            }
            let call = self.call(&arguments)?;
            let runs = call.printed.lines().find_map(|line| {
                line.strip_prefix("stat::number_of_executed_units:")?.trim().parse::<u64>().ok()
            });
            ran.time += call.time;
            ran.runs += runs.unwrap_or(0);
            if call.code == Some(INTERRUPTED) {
                break;
            }
            if call.code != Some(0) {
                let after = fs::read_dir(&artifacts).map_err(told(&artifacts))?.flatten().map(|e| e.path());
                let new = after.filter(|path| fs::read(path).is_ok_and(|input| !before.contains(&input)));
                ran.found = new.map(|path| path.display().to_string()).collect();
                eprintln!("{}", call.printed);
                if ran.found.is_empty() {
                    return Err(format!(
                        "{} ended badly, without an input that was not there before; see above",
                        self.name
                    ));
                }
                break;
            }
        }
        ran.inputs = self.keep()?;
        Ok(ran)
    }

    /// Packs the inputs of the corpus that reach more code than the seeds; returns the number of inputs,
    /// seeds included.
    fn keep(&self) -> Result<usize, String> {
        let small = self.fuzz.join("target/small").join(self.name);
        let _ = fs::remove_dir_all(&small);
        fs::create_dir_all(&small).map_err(told(&small))?;
        let seeds = inputs(&self.folder("seeds"))?;
        for (i, seed) in seeds.iter().enumerate() {
            let path = small.join(format!("seed_{i}"));
            fs::write(&path, seed).map_err(told(&path))?;
        }
        let call = self.call(&[
            "-merge=1".into(),
            small.display().to_string(),
            self.folder("corpus").display().to_string(),
        ])?;
        if call.code != Some(0) {
            return Err(format!(
                "the corpus of {} was not made small, and stays as it was:\n{}",
                self.name, call.printed
            ));
        }
        let all = inputs(&small)?;
        let (packed, found) = (self.folder("corpora"), all.difference(&seeds).collect::<Vec<_>>());
        fs::create_dir_all(self.fuzz.join("corpora")).map_err(told(&packed))?;
        fs::write(&packed, pack(&found)).map_err(told(&packed))?;
        Ok(all.len())
    }
}

/// Returns the inputs one after another, each after its length in four bytes, little endian;
/// `fuzz/targets/replay.rs` reads this form.
fn pack(inputs: &[&Vec<u8>]) -> Vec<u8> {
    let length = |input: &Vec<u8>| u32::try_from(input.len()).expect("inputs are small").to_le_bytes();
    inputs.iter().flat_map(|input| length(input).into_iter().chain(input.iter().copied())).collect()
}

/// Returns the inputs that [`pack`] has packed, up to an incomplete one.
fn unpack(mut bytes: &[u8]) -> Vec<&[u8]> {
    let mut inputs = Vec::new();
    while let Some((length, rest)) = bytes.split_first_chunk() {
        let Some((input, rest)) = rest.split_at_checked(u32::from_le_bytes(*length) as usize) else { break };
        inputs.push(input);
        bytes = rest;
    }
    inputs
}

/// Returns the contents of a folder's files, in order.
fn inputs(folder: &Path) -> Result<BTreeSet<Vec<u8>>, String> {
    let files = fs::read_dir(folder).map_err(told(folder))?.flatten();
    files.map(|file| fs::read(file.path()).map_err(told(file.path()))).collect()
}

/// Returns the names in a folder, in order.
fn names(folder: &Path) -> Result<Vec<String>, String> {
    let mut names: Vec<String> = fs::read_dir(folder)
        .map_err(told(folder))?
        .flatten()
        .map(|e| e.file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    Ok(names)
}

fn told(path: impl AsRef<Path>) -> impl FnOnce(std::io::Error) -> String {
    move |e| format!("{}: {e}", path.as_ref().display())
}

/// Returns the output of a program, without the last line break.
fn said(root: &Path, program: &str, arguments: &[&str]) -> String {
    let output = Command::new(program).args(arguments).current_dir(root).output();
    output.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned()).unwrap_or_default()
}

/// Adds a line to the table of hours, if the target ran.
fn log(root: &Path, name: &str, ran: &Ran) -> Result<(), String> {
    if ran.time.is_zero() {
        return Ok(());
    }
    let path = root.join(LOG);
    let mut text = fs::read_to_string(&path).map_err(told(&path))?;
    let (date, commit) =
        (said(root, "date", &["-u", "+%F"]), said(root, "git", &["rev-parse", "--short", "HEAD"]));
    let found = if ran.found.is_empty() { "nothing".into() } else { format!("{} inputs", ran.found.len()) };
    let line = format!(
        "| {date} | {commit} | `{name}` | {:.4} | {} | {} | {found} |\n",
        ran.time.as_secs_f64() / 3600.0,
        ran.runs,
        ran.inputs
    );
    let end =
        text.find("\n| ---").and_then(|at| text[at..].find("\n\n").map(|n| at + n + 1)).unwrap_or(text.len());
    text.insert_str(end, &line);
    fs::write(&path, &text).map_err(told(&path))
}

/// Returns the hours of a target in the first table of the log.
fn hours(log: &str, name: &str) -> f64 {
    let table =
        log.lines().skip_while(|line| !line.starts_with('|')).take_while(|line| line.starts_with('|'));
    let fields = table.map(|line| line.split('|').map(str::trim).collect::<Vec<_>>());
    fields
        .filter(|f| f.get(3) == Some(&format!("`{name}`").as_str()))
        .filter_map(|f| f.get(4)?.parse::<f64>().ok())
        .sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_packed_is_unpacked() {
        let inputs = [vec![], vec![1, 2, 3], vec![0; 300]];
        let packed = pack(&inputs.iter().collect::<Vec<_>>());
        assert_eq!(unpack(&packed), inputs);
        assert_eq!(unpack(&packed[..packed.len() - 1]), inputs[..2], "what is cut off is left out");
    }

    #[test]
    fn hours_add_up() {
        let log = "# Log\n\n| date | commit | target | hours |\n| --- | --- | --- | --- |\n| d | c | `a` | \
                   0.5 |\n| d | c | `b` | 2 |\n| d | c | `a` | 0.25 |\n\n| d | c | `a` | 7 |\n";
        assert_eq!(hours(log, "a"), 0.75);
    }
}
