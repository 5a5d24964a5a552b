//! Tries mutants: finds the tests that reach a mutant, and runs them until one fails.

use std::collections::HashMap;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::build::BuiltTests;
use super::watch::{TICK, TestCost, WatchedProcess};

/// The limits of a test program's memory and files, in KiB, because a mutant may use any amount.
const LIMIT_KIB: u64 = 8 << 20;
/// The assumed time of a test that was not measured. It allows the test 20 s, because some tests wait for a
/// deadline of seconds.
const UNKNOWN: TestCost = TestCost { ticks: 200, pause: 300 };
/// The number of times that tests run again after a failure on a busy machine.
const AGAIN: usize = 2;
/// The ticks of a mutant's first tests together; each further round has twice as many.
const FIRST_ROUND: u64 = 8;

/// A test: its program, its name, its usual cost.
#[derive(Clone, Debug)]
pub struct Test {
    program: PathBuf,
    pub name: String,
    cost: TestCost,
}

/// The result of a run of tests.
enum End {
    Passed,
    Failed,
    /// A test failed, perhaps because the machine was busy.
    Disturbed,
    Hung,
}

/// The result of a mutant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MutantOutcome {
    /// This test, or one of these, failed.
    Caught(String),
    /// One of these tests did not end.
    Hung(String),
    /// This many tests reach the mutant, and all passed.
    Missed(usize),
}

/// The tests, and facts about them.
pub struct Trials {
    directory: PathBuf,
    tests: Vec<Test>,
    /// Names of tests that fail without a mutant, or take too long, such as statistical tests.
    pub unusable: Vec<String>,
    /// For each mutant, the tests that reach it.
    met: HashMap<usize, Vec<usize>>,
    /// For each file and test: the number of mutants that the test caught.
    catches: Mutex<HashMap<(String, usize), u64>>,
}

/// The temporary folder of one worker's tests.
pub struct Bench {
    output: PathBuf,
    /// Temporary files of the tests, in memory if there is such a folder.
    temporary: PathBuf,
    met: PathBuf,
}

impl Bench {
    /// Makes the temporary folder of worker `number`.
    pub fn new(work: &Path, number: usize) -> Self {
        let own = |name: &str| work.join(format!("{name}-{number}"));
        let memory = Path::new("/dev/shm");
        let temporary = if memory.is_dir() {
            memory.join(format!("brickwork-mutants-{}-{number}", std::process::id()))
        } else {
            own("tmp")
        };
        Bench { output: own("output"), temporary, met: own("met") }
    }
}

impl Drop for Bench {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.temporary);
    }
}

impl Trials {
    fn new(built: &BuiltTests) -> Self {
        Trials {
            directory: built.directory.clone(),
            tests: Vec::new(),
            unusable: Vec::new(),
            met: HashMap::new(),
            catches: Mutex::default(),
        }
    }

    /// Runs every test by itself without a mutant, to find the mutants that it reaches; results of unchanged
    /// programs are kept.
    pub fn prepare(built: &BuiltTests, work: &Path, benches: &[Bench]) -> Result<Self, String> {
        let kept = work.join("met.txt");
        if let Some(trials) = Self::read(built, &std::fs::read_to_string(&kept).unwrap_or_default()) {
            return Ok(trials);
        }
        let mut trials = Trials::new(built);
        let mut all = Vec::new();
        for program in &built.programs {
            let list = Command::new(program)
                .args(["--list", "--format", "terse"])
                .current_dir(&built.directory)
                .output();
            let list = list.map_err(|e| format!("{}: {e}", program.display()))?.stdout;
            let list = String::from_utf8_lossy(&list);
            let names = list.lines().filter_map(|line| line.strip_suffix(": test"));
            all.extend(names.map(|name| Test { program: program.clone(), name: name.into(), cost: UNKNOWN }));
        }
        let runs = each(benches, all.len(), |bench, t| {
            let _ = std::fs::remove_file(&bench.met);
            let (end, cost) =
                trials.run(bench, &[&all[t]], &[("MUTANTS_MET", bench.met.display().to_string())])?;
            let met = std::fs::read_to_string(&bench.met).unwrap_or_default();
            Ok((
                matches!(end, End::Passed),
                cost,
                met.lines().filter_map(|line| line.parse().ok()).collect::<Vec<_>>(),
            ))
        })?;
        let mut text = stamp(built)?;
        for (test, (passed, cost, met)) in all.into_iter().zip(runs) {
            let list: Vec<String> = met.iter().map(usize::to_string).collect();
            let (ticks, pause) = (cost.ticks, cost.pause);
            text += &format!(
                "\n{}\t{}\t{passed}\t{ticks}\t{pause}\t{}",
                test.program.display(),
                test.name,
                list.join(" ")
            );
            trials.add(Test { cost, ..test }, passed, met);
        }
        std::fs::write(&kept, text).map_err(|e| format!("{}: {e}", kept.display()))?;
        Ok(trials)
    }

    fn add(&mut self, test: Test, passed: bool, met: Vec<usize>) {
        if !passed {
            return self.unusable.push(test.name);
        }
        met.into_iter().for_each(|mutant| self.met.entry(mutant).or_default().push(self.tests.len()));
        self.tests.push(test);
    }

    /// Returns the stored results, if they belong to these programs.
    fn read(built: &BuiltTests, kept: &str) -> Option<Self> {
        let mut lines = kept.lines();
        if lines.next()? != stamp(built).ok()? {
            return None;
        }
        let mut trials = Trials::new(built);
        for line in lines {
            let fields: Vec<&str> = line.split('\t').collect();
            let [program, name, passed, ticks, pause, met] = fields[..] else { return None };
            let met = met.split_whitespace().map(|mutant| mutant.parse().ok()).collect::<Option<_>>()?;
            let cost = TestCost { ticks: ticks.parse().ok()?, pause: pause.parse().ok()? };
            trials.add(Test { program: program.into(), name: name.into(), cost }, passed == "true", met);
        }
        Some(trials)
    }

    /// Returns the number of tests, and their total time in seconds.
    pub fn tests(&self) -> (usize, f64) {
        (
            self.tests.len(),
            self.tests.iter().map(|t| t.cost).sum::<TestCost>().ticks as f64 * TICK.as_secs_f64(),
        )
    }

    /// Tries a mutant of a file on the tests that reach it, until a test fails. Tests that caught other
    /// mutants of the file come first, then faster tests. The tests of the file itself always run. Other
    /// tests run only for this many seconds, and only if their names have this part.
    pub fn try_one(
        &self,
        bench: &Bench,
        file: &str,
        mutant: usize,
        (seconds, part): (f64, &str),
    ) -> Result<MutantOutcome, String> {
        let mut order = self.met.get(&mutant).cloned().unwrap_or_default();
        order.retain(|&t| self.tests[t].name.contains(part));
        let catches = |t: usize| self.catches().get(&(file.to_owned(), t)).copied().unwrap_or(0);
        order.sort_by_cached_key(|&t| {
            (std::cmp::Reverse(catches(t) * 100 / (100 + self.tests[t].cost.ticks)), self.tests[t].cost.ticks)
        });
        let (own, mut left) = (module_of(file), seconds / TICK.as_secs_f64());
        order.retain(|&t| {
            let (its_own, ticks) = (self.tests[t].name.starts_with(&own), self.tests[t].cost.ticks as f64);
            let fits = ticks <= left;
            left -= if fits && !its_own { ticks } else { 0.0 };
            its_own || fits
        });
        let (mut from, mut round) = (0, FIRST_ROUND);
        while from < order.len() {
            let mut ticks = 0;
            let within = |t: &&usize| {
                ticks += self.tests[**t].cost.ticks;
                ticks <= round
            };
            let count = order[from..].iter().take_while(within).count().max(1);
            let here = &order[from..from + count];
            let tests: Vec<&Test> = here.iter().map(|&t| &self.tests[t]).collect();
            let end = self.run_undisturbed(bench, &tests, mutant)?;
            match end {
                End::Passed => (from, round) = (from + count, 2 * round),
                End::Hung => return Ok(MutantOutcome::Hung(tests[0].name.clone())),
                End::Failed | End::Disturbed => {
                    let output = std::fs::read(&bench.output).unwrap_or_default();
                    let output = String::from_utf8_lossy(&output);
                    let failed = output
                        .lines()
                        .find_map(|line| line.strip_prefix("test ")?.strip_suffix(" ... FAILED"));
                    let test = here
                        .iter()
                        .copied()
                        .find(|&t| Some(self.tests[t].name.as_str()) == failed)
                        .unwrap_or(here[0]);
                    *self.catches().entry((file.to_owned(), test)).or_default() += 1;
                    return Ok(MutantOutcome::Caught(self.tests[test].name.clone()));
                }
            }
        }
        Ok(MutantOutcome::Missed(order.len()))
    }

    /// Counts a mutant of a file that a test caught in an earlier run.
    pub fn remember(&self, file: &str, test: &str) {
        if let Some(t) = self.tests.iter().position(|t| t.name == test) {
            *self.catches().entry((file.to_owned(), t)).or_default() += 1;
        }
    }

    fn catches(&self) -> std::sync::MutexGuard<'_, HashMap<(String, usize), u64>> {
        self.catches.lock().expect("no worker panics")
    }

    /// Runs tests with a mutant, again if they fail while the machine is busy.
    fn run_undisturbed(&self, bench: &Bench, tests: &[&Test], mutant: usize) -> Result<End, String> {
        let mut again = AGAIN;
        loop {
            let (end, _) = self.run(bench, tests, &[("MUTANT", mutant.to_string())])?;
            match end {
                End::Disturbed if again > 0 => again -= 1,
                End::Disturbed => return Ok(End::Failed),
                end => return Ok(end),
            }
        }
    }

    /// Runs the tests of one program after those of another; returns their end and their time.
    fn run(
        &self,
        bench: &Bench,
        tests: &[&Test],
        environment: &[(&str, String)],
    ) -> Result<(End, TestCost), String> {
        let output = File::create(&bench.output).map_err(|e| format!("{}: {e}", bench.output.display()))?;
        let _ = std::fs::remove_dir_all(&bench.temporary);
        std::fs::create_dir_all(&bench.temporary)
            .map_err(|e| format!("{}: {e}", bench.temporary.display()))?;
        let mut costs = Vec::new();
        for tests in tests.chunk_by(|a, b| a.program == b.program) {
            let limits = format!("ulimit -v {LIMIT_KIB} -f {} 2>/dev/null; exec \"$@\"", 2 * LIMIT_KIB);
            let mut command = Command::new("sh");
            command
                .args(["-c", &limits, "sh"])
                .arg(&tests[0].program)
                .arg("--exact")
                .args(tests.iter().map(|t| &t.name));
            command
                .envs(environment.iter().cloned())
                .env("TMPDIR", &bench.temporary)
                .env("RUST_BACKTRACE", "0")
                .current_dir(&self.directory);
            let files = || {
                output.try_clone().map(Stdio::from).map_err(|e| format!("{}: {e}", bench.output.display()))
            };
            command.stdin(Stdio::null()).stdout(files()?).stderr(files()?);
            let mut child = command.spawn().map_err(|e| format!("{}: {e}", tests[0].program.display()))?;
            let (usual, mut watch) = (tests.iter().map(|t| t.cost).sum(), WatchedProcess::new(child.id()));
            let status = loop {
                let hangs = watch.hangs(usual);
                if let Some(status) = child.try_wait().map_err(|e| format!("waiting for a test: {e}"))? {
                    break Some(status);
                }
                if hangs {
                    let _ = child.kill();
                    let _ = child.wait();
                    break None;
                }
                std::thread::sleep(TICK);
            };
            costs.push(watch.cost());
            let end = match status {
                None => End::Hung,
                Some(status) if status.success() => continue,
                Some(_) if watch.disturbed() => End::Disturbed,
                Some(_) => End::Failed,
            };
            return Ok((end, costs.into_iter().sum()));
        }
        Ok((End::Passed, costs.into_iter().sum()))
    }
}

/// Returns the prefix of the names of the tests in a file and in its child modules.
fn module_of(file: &str) -> String {
    let path = file
        .split_once("src/")
        .map_or(file, |(_, path)| path)
        .trim_end_matches(".rs")
        .trim_end_matches("/mod");
    // The tests of a crate's root have no prefix of their own.
    if path == "lib" { String::new() } else { format!("{}::", path.replace('/', "::")) }
}

/// Returns a text that changes when one of the programs changes.
fn stamp(built: &BuiltTests) -> Result<String, String> {
    let of = |program: &PathBuf| {
        let about = program.metadata().map_err(|e| format!("{}: {e}", program.display()))?;
        Ok(format!("{} {} {:?}", program.display(), about.len(), about.modified()))
    };
    built.programs.iter().map(of).collect::<Result<Vec<_>, String>>().map(|parts| parts.join(" "))
}

/// Does `count` jobs on all benches, each job on the first free bench; returns the results in order, or an
/// error.
pub fn each<T: Send>(
    benches: &[Bench],
    count: usize,
    job: impl Fn(&Bench, usize) -> Result<T, String> + Sync,
) -> Result<Vec<T>, String> {
    let next = AtomicUsize::new(0);
    let (next, job) = (&next, &job);
    let work = |bench| {
        let mut done = Vec::new();
        loop {
            match next.fetch_add(1, Ordering::Relaxed) {
                n if n >= count => return Ok(done),
                n => done.push((n, job(bench, n).inspect_err(|_| next.store(count, Ordering::Relaxed))?)),
            }
        }
    };
    let results = std::thread::scope(|scope| {
        let workers: Vec<_> = benches.iter().map(|bench| scope.spawn(move || work(bench))).collect();
        workers
            .into_iter()
            .map(|worker| worker.join().expect("no worker panics"))
            .collect::<Result<Vec<_>, String>>()
    })?;
    let mut results: Vec<(usize, T)> = results.into_iter().flatten().collect();
    results.sort_by_key(|(n, _)| *n);
    Ok(results.into_iter().map(|(_, result)| result).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_has_tests_of_its_own() {
        assert_eq!(module_of("crates/primitives/src/commit/code.rs"), "commit::code::");
        assert_eq!(module_of("crates/primitives/src/commit/mod.rs"), "commit::");
        assert_eq!(module_of("crates/store/src/lib.rs"), "");
    }
}
