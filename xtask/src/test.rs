//! All tests that must pass before a change lands.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use brickwork_kernels::{KERNEL_VARIABLE, Kernel};

use crate::scratch::Scratch;

/// The crates of the shipped command and of the program that measures, and xtask. They are tested separately,
/// because cargo builds chosen crates with the features that any of them asks for, and the other crates ask
/// for hooks into the protocol, which the shipped command does not have.
const SHIPPED: [&str; 6] =
    ["brickwork", "brickwork-bench", "brickwork-cli", "brickwork-lang", "brickwork-machine", "xtask"];

/// The crates of a step.
#[derive(Clone, Copy)]
enum Crates {
    All,
    Shipped,
    Others,
}

impl Crates {
    fn arguments(self) -> Vec<&'static str> {
        match self {
            Crates::All => vec!["--workspace"],
            Crates::Shipped => SHIPPED.iter().flat_map(|name| ["-p", name]).collect(),
            Crates::Others => ["--workspace"]
                .into_iter()
                .chain(SHIPPED.iter().flat_map(|name| ["--exclude", name]))
                .collect(),
        }
    }

    /// Returns the end of the name of a step about these crates.
    fn suffix(self) -> &'static str {
        match self {
            Crates::Shipped => " of what is shipped",
            Crates::All | Crates::Others => "",
        }
    }

    /// Returns the tests whose outcome may depend on the kernel: the choice of the kernel, erased secrets,
    /// constant time, whole runs, and stock. (The kernels' own tests try all kernels, which give the same
    /// bits, so the sent bytes are tested with one kernel.)
    fn kernel_tests(self) -> &'static [&'static str] {
        match self {
            Crates::All => &[],
            Crates::Shipped => &["duplo", "stock"],
            Crates::Others => &["chosen", "erased", "constant_time"],
        }
    }
}

/// Slow tests that concern files and need not run with each kernel: crashes, old copies, and data that does
/// not fit into memory.
const KERNEL_SKIPS: [&str; 3] = ["crash::", "row_25_", "_and_little_memory"];

/// A call of cargo.
#[derive(Clone)]
struct Step {
    name: String,
    arguments: Vec<&'static str>,
    environment: Vec<(&'static str, &'static str)>,
}

impl Step {
    /// Makes a step with `command` on these crates, followed by the arguments `behind`.
    fn new(name: &str, command: &[&'static str], crates: Crates, behind: &[&'static str]) -> Step {
        let arguments = [command, &crates.arguments(), behind].concat();
        Step { name: name.into(), arguments, environment: Vec::new() }
    }

    /// Makes a step of the tests that depend on the kernel, with this kernel. The programs are the same as
    /// for all tests.
    fn with_kernel(crates: Crates, kernel: Kernel) -> Step {
        let mut behind: Vec<&str> = crates.kernel_tests().iter().flat_map(|test| ["--test", test]).collect();
        behind.push("--");
        behind.extend(KERNEL_SKIPS.iter().flat_map(|test| ["--skip", test]));
        let environment = vec![(KERNEL_VARIABLE, kernel.name())];
        let name = format!("tests with {}{}", kernel.name(), crates.suffix());
        Step { environment, ..Step::new(&name, TESTS, crates, &behind) }
    }

    /// Makes steps of the tests that depend on the kernel, with each kernel of this machine except the
    /// default.
    fn with_other_kernels(crates: Crates) -> impl Iterator<Item = Step> {
        let others = Kernel::all_available().into_iter().filter(|&kernel| kernel != Kernel::best());
        others.map(move |kernel| Step::with_kernel(crates, kernel))
    }

    /// Makes a step of all tests of these crates, except those in their documentation.
    fn tests(crates: Crates) -> Step {
        Step::new(&format!("tests{}", crates.suffix()), TESTS, crates, TARGETS)
    }

    /// Makes a step that compiles all tests of these crates.
    fn programs(crates: Crates) -> Step {
        let behind = [TARGETS, &["--no-run"]].concat();
        Step::new(&format!("programs of the tests{}", crates.suffix()), TESTS, crates, &behind)
    }

    /// Makes a step of the tests in the documentation.
    fn examples(crates: Crates) -> Step {
        Step::new(&format!("examples{}", crates.suffix()), TESTS, crates, &["--doc"])
    }
}

const LINTS: &[&str] = &["clippy", "--release"];
const WARNINGS: &[&str] = &["--", "-D", "warnings"];
const TESTS: &[&str] = &["test", "--release", "--no-fail-fast"];
/// The targets with tests, without examples, which only the lints compile. Naming libraries and programs
/// would also select those whose manifest has `test = false`.
const TARGETS: &[&str] = &["--tests"];

/// Returns the first steps, one after another: each keeps all cores busy.
fn first_steps() -> Vec<Step> {
    let mut steps = vec![
        // This step checks code that is compiled differently without the hooks; all other code is the same in
        // both steps.
        Step::new("lints of what is shipped", LINTS, Crates::Shipped, WARNINGS),
        Step::new("lints", &[LINTS, &["--all-targets"]].concat(), Crates::All, WARNINGS),
        // This step is in release mode, like the lints, so that cargo can reuse their results.
        Step::new("documentation", &["doc", "--release", "--no-deps"], Crates::All, &[]),
        Step::programs(Crates::Shipped),
    ];
    match has_browser_target() {
        true => steps.insert(0, browser()),
        false => println!(
            "xtask: there is no {BROWSER} (rustup target add {BROWSER}): crates for browsers are NOT CHECKED"
        ),
    }
    steps
}

/// The target of code that runs in a browser.
const BROWSER: &str = "wasm32-unknown-unknown";

/// Checks the crates that a browser can run, which have neither files nor connections.
fn browser() -> Step {
    let crates = ["brickwork-base", "brickwork-circuit", "brickwork-lang", "brickwork-kernels"];
    let mut arguments = vec!["check", "--release", "--target", BROWSER];
    arguments.extend(crates.iter().flat_map(|name| ["-p", name]));
    Step { name: "crates for browsers".into(), arguments, environment: Vec::new() }
}

/// Returns whether the compiler has the standard library of that target.
fn has_browser_target() -> bool {
    let root = Command::new("rustc").args(["--print", "sysroot"]).output();
    root.is_ok_and(|root| {
        let root = String::from_utf8_lossy(&root.stdout).trim().to_owned();
        Path::new(&root).join("lib/rustlib").join(BROWSER).exists()
    })
}

/// Returns the steps for the shipped crates, whose tests run while the rest is compiled, because tests often
/// wait. The long step comes first, because cargo waits for another cargo that compiles, but not for one that
/// runs tests.
fn steps_beside() -> Vec<Step> {
    let mut steps = vec![Step::tests(Crates::Shipped)];
    steps.extend(Step::with_other_kernels(Crates::Shipped));
    steps.push(Step::examples(Crates::Shipped));
    steps
}

/// Compiles the last test programs, beside [`steps_beside`].
fn last_programs() -> Step {
    Step::programs(Crates::Others)
}

/// Returns the last steps; the very last runs tests with the default kernel, so that a summary ends the
/// output.
fn last_steps() -> Vec<Step> {
    let mut steps: Vec<Step> = Step::with_other_kernels(Crates::Others).collect();
    steps.push(Step::examples(Crates::Others));
    steps.push(Step::tests(Crates::Others));
    steps
}

/// Runs all steps; the first failure ends the test.
pub fn run(root: &Path) -> Result<(), String> {
    Kernel::chosen().map_err(|refused| refused.to_string())?;
    step(root, "format", &["fmt", "--all", "--check"], &[])?;
    std::thread::scope(|scope| {
        // If this fails, the error is reported after this thread has ended.
        scope.spawn(|| crate::python::fetch(root));
        let mut steps = first_steps().into_iter();
        steps
            .try_for_each(|Step { name, arguments, environment }| step(root, &name, &arguments, &environment))
    })?;
    let scratch = Scratch::new();
    let lanes = [Lane::new(root, &scratch)?, Lane::new(root, &scratch)?, Lane::new(root, &scratch)?];
    let stop = AtomicBool::new(false);
    let [package, shipped, others] = &lanes;
    let results = std::thread::scope(|scope| {
        let beside = scope.spawn(|| steps_beside().iter().try_for_each(|step| shipped.cargo(step, &stop)));
        let compiled = others.cargo(&last_programs(), &stop);
        // The package's parts are compiled by now, and no other cargo blocks the package's build. The
        // package's tests mostly wait for processes, like the tests beside them.
        let python = scope.spawn(|| {
            let run = || crate::python::run_if_possible(root, &|command| package.call(command));
            package.step("the Python package", &stop, run)
        });
        let last = || last_steps().iter().try_for_each(|step| others.cargo(step, &stop));
        let last = compiled.and_then(|()| last());
        let joined = [beside, python].map(|lane| lane.join().expect("no step panics"));
        joined.into_iter().chain([last]).collect::<Vec<_>>()
    });
    lanes.iter().try_for_each(Lane::print)?;
    results.into_iter().collect()
}

fn step(root: &Path, name: &str, arguments: &[&str], environment: &[(&str, &str)]) -> Result<(), String> {
    timed(name, || {
        eprintln!("xtask: {name}: cargo {}", arguments.join(" "));
        cargo_with(root, arguments, environment)
    })
}

fn timed(name: &str, run: impl FnOnce() -> Result<(), String>) -> Result<(), String> {
    let begun = Instant::now();
    run().map_err(|e| format!("{name}: {e}"))?;
    eprintln!("xtask: {name}: {} s", begun.elapsed().as_secs());
    Ok(())
}

/// Steps that run beside others. Their output is kept, to be printed in order.
struct Lane<'r> {
    root: &'r Path,
    scratch: &'r Scratch,
    said: PathBuf,
}

impl<'r> Lane<'r> {
    fn new(root: &'r Path, scratch: &'r Scratch) -> Result<Self, String> {
        static LANES: std::sync::atomic::AtomicUsize = std::sync::atomic::AtomicUsize::new(0);
        let number = LANES.fetch_add(1, Ordering::Relaxed);
        let said = root.join("target").join(format!("xtask-{}-{number}.log", std::process::id()));
        File::create(&said).map_err(|e| format!("{}: {e}", said.display()))?;
        Ok(Lane { root, scratch, said })
    }

    /// Runs a step, unless a step beside it has failed.
    fn step(
        &self,
        name: &str,
        stop: &AtomicBool,
        run: impl FnOnce() -> Result<(), String>,
    ) -> Result<(), String> {
        if stop.load(Ordering::Relaxed) {
            return Ok(());
        }
        let done = timed(name, run);
        if let Err(failed) = &done {
            eprintln!("xtask: {failed}");
            stop.store(true, Ordering::Relaxed);
        }
        done
    }

    fn cargo(&self, Step { name, arguments, environment }: &Step, stop: &AtomicBool) -> Result<(), String> {
        self.step(name, stop, || {
            eprintln!("xtask: {name}: cargo {}", arguments.join(" "));
            let command = &mut cargo_command(self.root, arguments, environment);
            match self.call(command)? {
                true => Ok(()),
                false => Err(format!("failed: cargo {}", arguments.join(" "))),
            }
        })
    }

    /// Runs a command, and keeps its output. Returns whether it succeeded.
    fn call(&self, command: &mut Command) -> Result<bool, String> {
        self.scratch.lend(command);
        let opened = || File::options().append(true).open(&self.said).map(Stdio::from);
        let [out, err] =
            [opened(), opened()].map(|file| file.map_err(|e| format!("{}: {e}", self.said.display())));
        succeeds_in_time(command.stdin(Stdio::null()).stdout(out?).stderr(err?))
    }

    /// Prints the whole output.
    fn print(&self) -> Result<(), String> {
        let mut said = File::open(&self.said).map_err(|e| format!("{}: {e}", self.said.display()))?;
        std::io::copy(&mut said, &mut std::io::stdout()).map_err(|e| format!("stdout: {e}"))?;
        std::fs::remove_file(&self.said).map_err(|e| format!("{}: {e}", self.said.display()))
    }
}

/// The longest time of a command: many times the usual time on two quiet cores.
const LIMIT: Duration = Duration::from_secs(40 * 60);

/// The time in which a command must end after an interrupt.
const PATIENCE: Duration = Duration::from_secs(60);

/// Runs a command, and ends it if it hangs; Python's tests then report where, and end their processes.
/// Returns whether it succeeded.
///
/// # Errors
/// The command does not start, or did not end in time.
pub fn succeeds_in_time(command: &mut Command) -> Result<bool, String> {
    succeeds_within(command, LIMIT, PATIENCE)
}

/// Does the same as [`succeeds_in_time`] with other times: until the interrupt, and from then on until the
/// kill.
fn succeeds_within(command: &mut Command, limit: Duration, patience: Duration) -> Result<bool, String> {
    let name = command.get_program().to_owned();
    let mut child = command.spawn().map_err(|e| format!("{name:?} does not start: {e}"))?;
    if let Some(succeeded) = ends_within(&mut child, limit)? {
        return Ok(succeeded);
    }
    let late = format!("{name:?} did not end within {} s", limit.as_secs());
    let asked = Command::new("kill").args(["-INT", &child.id().to_string()]).status();
    if !asked.is_ok_and(|asked| asked.success()) || ends_within(&mut child, patience)?.is_none() {
        child.kill().and_then(|()| child.wait()).map_err(|e| format!("{late}, and is not killed: {e}"))?;
    }
    Err(late)
}

/// Returns whether a process has succeeded, if it ends in time.
fn ends_within(child: &mut Child, limit: Duration) -> Result<Option<bool>, String> {
    let begun = Instant::now();
    loop {
        match child.try_wait().map_err(|e| format!("a process cannot be waited for: {e}"))? {
            Some(status) => return Ok(Some(status.success())),
            None if begun.elapsed() > limit => return Ok(None),
            None => std::thread::sleep(Duration::from_millis(20)),
        }
    }
}

/// Runs cargo; a failure is an error.
pub fn cargo(root: &Path, arguments: &[&str]) -> Result<(), String> {
    cargo_with(root, arguments, &[])
}

/// Does the same as [`cargo`], in this environment.
pub fn cargo_with(root: &Path, arguments: &[&str], environment: &[(&str, &str)]) -> Result<(), String> {
    let status = cargo_command(root, arguments, environment).status();
    match status.map_err(|e| format!("cargo does not start: {e}"))?.success() {
        true => Ok(()),
        false => Err(format!("failed: cargo {}", arguments.join(" "))),
    }
}

fn cargo_command(root: &Path, arguments: &[&str], environment: &[(&str, &str)]) -> Command {
    // If a toolchain is named, its own cargo must run.
    let cargo = match environment.iter().any(|(name, _)| *name == "RUSTUP_TOOLCHAIN") {
        true => "cargo".into(),
        false => std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()),
    };
    let mut command = Command::new(cargo);
    command
        .args(arguments)
        .env("RUSTDOCFLAGS", "-D warnings")
        .envs(environment.iter().copied())
        .current_dir(root);
    command
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// Returns the output of `cargo tree` for these crates, line by line.
    fn tree(arguments: &[&str]) -> BTreeSet<String> {
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let output = Command::new(cargo)
            .args(["tree", "--locked", "--prefix", "none"])
            .args(arguments)
            .current_dir(crate::root())
            .output()
            .expect("cargo starts");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let text = String::from_utf8(output.stdout).expect("text");
        text.lines().map(|line| line.trim_end_matches(" (*)").to_owned()).collect()
    }

    #[test]
    fn no_hook_is_part_of_the_command() {
        let names = |package| {
            let tree = tree(&["-e", "features,normal,build", "-p", package]);
            // The folders of the workspace differ and are left out.
            tree.iter().map(|line| line.split(" (").next().unwrap_or_default().to_owned()).collect()
        };
        let shipped: BTreeSet<String> = names("brickwork-cli");
        assert!(shipped.iter().any(|name| name.starts_with("brickwork v")), "{shipped:?}");
        let hooks: Vec<_> = shipped.iter().filter(|name| name.contains("adversary")).collect();
        assert!(hooks.is_empty(), "{hooks:?}");
        let others: BTreeSet<String> = names("brickwork-adversary");
        assert!(others.contains("brickwork feature \"adversary\""), "{others:?}");
    }

    /// The dependencies of tests do not add features to the command's crates.
    #[test]
    fn what_is_tested_is_what_is_shipped() {
        let features = ["--format", "{p} {f}"];
        let shipped = tree(&[&["-p", "brickwork-cli", "-e", "normal,build"], &features[..]].concat());
        let tested =
            tree(&[&Crates::Shipped.arguments()[..], &["-e", "normal,build,dev"], &features].concat());
        assert!(shipped.len() > 50, "{shipped:?}");
        let other: Vec<_> = shipped.difference(&tested).collect();
        assert!(
            other.is_empty(),
            "these are tested with other features than they are shipped with: {other:#?}"
        );
    }

    /// Each kernel gets the tests that depend on it, and the last step runs tests.
    #[test]
    fn every_kernel_gets_the_tests_that_depend_on_it() {
        let steps = [first_steps(), steps_beside(), vec![last_programs()], last_steps()].concat();
        let runs = |step: &&Step| {
            step.arguments[0] == "test" && !["--no-run", "--doc"].iter().any(|no| step.arguments.contains(no))
        };
        let tests = steps.iter().filter(runs);
        for crates in [Crates::Shipped, Crates::Others] {
            let of: Vec<&Step> = tests
                .clone()
                .filter(|step| step.arguments[TESTS.len()..].starts_with(&crates.arguments()))
                .collect();
            for test in crates.kernel_tests() {
                let runs = |step: &&&Step| {
                    let named = step.arguments.windows(2).any(|pair| pair == ["--test", test]);
                    named || !step.arguments.contains(&"--test")
                };
                let with = of.iter().filter(runs);
                let kernel = |step: &&Step| step.environment.first().map_or(Kernel::best().name(), |e| e.1);
                let kernels: BTreeSet<&str> = with.map(kernel).collect();
                let all: BTreeSet<&str> = Kernel::all_available().into_iter().map(Kernel::name).collect();
                assert_eq!(kernels, all, "{test}");
            }
        }
        assert!(steps.iter().flat_map(|step| &step.environment).all(|(name, _)| *name == KERNEL_VARIABLE));
        let last = steps.last().expect("a step");
        assert!(last.arguments[0] == "test" && last.environment.is_empty());
    }

    #[test]
    fn what_hangs_is_ended() {
        assert_eq!(succeeds_in_time(&mut Command::new("true")), Ok(true));
        assert_eq!(succeeds_in_time(&mut Command::new("false")), Ok(false));
        let begun = Instant::now();
        // In the background, interrupts are ignored, so the process is killed.
        let [limit, patience] = [50, 500].map(Duration::from_millis);
        let refused = succeeds_within(Command::new("sleep").arg("1000"), limit, patience);
        assert_eq!(refused, Err("\"sleep\" did not end within 0 s".to_owned()));
        assert!(begun.elapsed() < Duration::from_secs(900), "nobody waited for it");
    }

    /// Returns whether a source's documentation has Rust code between two fences, which `cargo test --doc`
    /// would run.
    fn has_examples(text: &str) -> bool {
        let fences = text.lines().filter_map(|line| {
            let words = line.trim_start();
            let words = words.strip_prefix("///").or_else(|| words.strip_prefix("//!"))?;
            words.trim_start().strip_prefix("```").map(str::trim)
        });
        // Every second fence ends a block.
        let plain = ["", "rust", "compile_fail", "no_run", "should_panic", "ignore"];
        fences.step_by(2).any(|about| plain.contains(&about.split([',', ' ']).next().unwrap_or_default()))
    }

    fn sources(folder: &Path) -> Vec<PathBuf> {
        let (mut found, mut open) = (Vec::new(), vec![folder.to_owned()]);
        while let Some(path) = open.pop() {
            if path.is_dir() {
                open.extend(
                    std::fs::read_dir(&path).expect("a folder").map(|entry| entry.expect("an entry").path()),
                );
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                found.push(path);
            }
        }
        found
    }

    /// If the manifest of a library or program excludes tests, or examples in the documentation, there are
    /// none. (Such an entry saves a program without tests.)
    #[test]
    fn no_test_is_left_out() {
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let output = Command::new(cargo)
            .args(["metadata", "--format-version", "1", "--no-deps", "--locked"])
            .current_dir(crate::root())
            .output()
            .expect("cargo starts");
        let metadata: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
        let targets = metadata["packages"].as_array().expect("packages").iter().flat_map(|package| {
            package["targets"].as_array().expect("targets").iter().filter(|target| {
                let kind = target["kind"][0].as_str().expect("a kind");
                !["test", "example", "bench", "custom-build"].contains(&kind)
            })
        });
        let mut seen = [0, 0];
        for target in targets {
            let path = Path::new(target["src_path"].as_str().expect("a path"));
            let is_bin = target["kind"][0] == "bin";
            // A program beside other programs, or beside a library, is a single file.
            let alone = path.ends_with("main.rs") && !path.with_file_name("lib.rs").exists();
            let files = match is_bin && !alone {
                true => vec![path.to_owned()],
                false => sources(path.parent().expect("a folder")),
            };
            let read = |path: &PathBuf| std::fs::read_to_string(path).expect("a source");
            if target["test"] == false {
                seen[0] += 1;
                // `tests/units` of the kernels runs these tests.
                let tested = |path: &&PathBuf| !path.ends_with("crates/kernels/src/pages.rs");
                let with = files.iter().filter(tested).find(|path| read(path).contains("#[test]"));
                assert!(with.is_none(), "{with:?} has tests");
            }
            if target["doctest"] == false && !is_bin {
                seen[1] += 1;
                let with = files.iter().find(|path| has_examples(&read(path)));
                assert!(with.is_none(), "{with:?} has examples in its documentation");
            }
        }
        assert!(seen[0] > 5 && seen[1] > 10, "{seen:?}");
        for text in ["/// ```\n/// a\n/// ```", "//! ```text\n//! a\n//! ```\n\n//! ```compile_fail,E0423"] {
            assert!(has_examples(text), "{text}");
        }
        assert!(!has_examples("/// ```text\n/// a\n/// ```"));
    }
}
