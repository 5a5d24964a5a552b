//! Everything that must pass before a change lands.

use std::path::Path;
use std::process::Command;
use std::time::Instant;

use brickwork_kernels::{KERNEL_VARIABLE, Kernel};

/// The crates that the command is made of, and the chores. They are linted and tested by themselves: cargo
/// builds whatever is chosen together with all features that any of it asks for, and the others ask for hooks
/// into the protocol, which the command that people use does not have.
const SHIPPED: [&str; 5] = ["brickwork", "brickwork-cli", "brickwork-lang", "brickwork-machine", "xtask"];

/// Which crates a step is for.
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

    /// Their tests whose outcome could depend on the kernel: that it is the one that was asked for, secrets
    /// erased, times that tell nothing; whole runs, the bytes on the wire, stock. (The kernels' own tests try
    /// all of them by themselves.)
    fn kernel_tests(self) -> &'static [&'static str] {
        match self {
            Crates::All => &[],
            Crates::Shipped => &["duplo", "plan", "stock"],
            Crates::Others => &["chosen", "erased", "constant_time"],
        }
    }
}

/// Of the tests with each kernel, what takes long and is about files: crashes, old copies, and what does not
/// fit into memory.
const KERNEL_SKIPS: [&str; 3] = ["crash::", "row_25_", "_and_little_memory"];

/// A call of cargo.
struct Step {
    name: String,
    arguments: Vec<&'static str>,
    environment: Vec<(&'static str, &'static str)>,
}

impl Step {
    /// `command` on these crates, and what comes behind.
    fn new(name: &str, command: &[&'static str], crates: Crates, behind: &[&'static str]) -> Step {
        let arguments = [command, &crates.arguments(), behind].concat();
        Step { name: name.into(), arguments, environment: Vec::new() }
    }

    /// The tests of these crates that depend on the kernel, with this one. They are built as for all tests.
    fn with_kernel(crates: Crates, kernel: Kernel) -> Step {
        let mut behind: Vec<&str> = crates.kernel_tests().iter().flat_map(|test| ["--test", test]).collect();
        behind.push("--");
        behind.extend(KERNEL_SKIPS.iter().flat_map(|test| ["--skip", test]));
        let environment = vec![(KERNEL_VARIABLE, kernel.name())];
        Step { environment, ..Step::new(&format!("tests with {}", kernel.name()), TESTS, crates, &behind) }
    }
}

const LINTS: &[&str] = &["clippy", "--release", "--all-targets"];
const WARNINGS: &[&str] = &["--", "-D", "warnings"];
const TESTS: &[&str] = &["test", "--release", "--no-fail-fast"];

/// In their order. The last one runs tests with the kernel that the machine gets, so that a summary ends the
/// output.
fn steps() -> Vec<Step> {
    let others: Vec<Kernel> = Kernel::all_available().into_iter().filter(|&k| k != Kernel::best()).collect();
    let with_others = |crates| others.iter().map(move |&kernel| Step::with_kernel(crates, kernel));
    let mut steps = vec![
        Step::new("lints of what is shipped", LINTS, Crates::Shipped, WARNINGS),
        Step::new("lints", LINTS, Crates::All, WARNINGS),
        // In release, as the lints: what they looked at is not looked at again.
        Step::new("documentation", &["doc", "--release", "--no-deps"], Crates::All, &[]),
    ];
    steps.extend(with_others(Crates::Shipped));
    steps.push(Step::new("tests of what is shipped", TESTS, Crates::Shipped, &[]));
    steps.extend(with_others(Crates::Others));
    steps.push(Step::new("tests", TESTS, Crates::Others, &[]));
    steps
}

/// Runs the steps in order; the first that fails ends it.
pub fn run(root: &Path) -> Result<(), String> {
    Kernel::chosen().map_err(|refused| refused.to_string())?;
    step(root, "format", &["fmt", "--all", "--check"], &[])?;
    let steps = steps();
    let (last, first) = steps.split_last().expect("there are steps");
    let call = |Step { name, arguments, environment }: &Step| step(root, name, arguments, environment);
    first.iter().try_for_each(call)?;
    // What the package is made of is compiled by now.
    crate::python::run_if_possible(root)?;
    call(last)
}

fn step(root: &Path, name: &str, arguments: &[&str], environment: &[(&str, &str)]) -> Result<(), String> {
    eprintln!("xtask: {name}: cargo {}", arguments.join(" "));
    let begun = Instant::now();
    cargo_with(root, arguments, environment).map_err(|e| format!("{name}: {e}"))?;
    eprintln!("xtask: {name}: {} s", begun.elapsed().as_secs());
    Ok(())
}

/// Runs cargo; its failure is an error.
pub fn cargo(root: &Path, arguments: &[&str]) -> Result<(), String> {
    cargo_with(root, arguments, &[])
}

/// [`cargo`] in this environment.
pub fn cargo_with(root: &Path, arguments: &[&str], environment: &[(&str, &str)]) -> Result<(), String> {
    // Where a toolchain is asked for, it is not this one's cargo that runs.
    let cargo = match environment.iter().any(|(name, _)| *name == "RUSTUP_TOOLCHAIN") {
        true => "cargo".into(),
        false => std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()),
    };
    let command = &mut Command::new(cargo);
    let status = command
        .args(arguments)
        .env("RUSTDOCFLAGS", "-D warnings")
        .envs(environment.iter().copied())
        .current_dir(root)
        .status();
    match status.map_err(|e| format!("cargo does not start: {e}"))?.success() {
        true => Ok(()),
        false => Err(format!("failed: cargo {}", arguments.join(" "))),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// What `cargo tree` says of these crates, line by line.
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
            // The folders of the workspace are no names.
            tree.iter().map(|line| line.split(" (").next().unwrap_or_default().to_owned()).collect()
        };
        let shipped: BTreeSet<String> = names("brickwork-cli");
        assert!(shipped.iter().any(|name| name.starts_with("brickwork v")), "{shipped:?}");
        let hooks: Vec<_> = shipped.iter().filter(|name| name.contains("adversary")).collect();
        assert!(hooks.is_empty(), "{hooks:?}");
        let others: BTreeSet<String> = names("brickwork-adversary");
        assert!(others.contains("brickwork feature \"adversary\""), "{others:?}");
    }

    /// Tests come with libraries of their own; none of those gives what the command is made of a feature that
    /// it does not have where it is shipped.
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

    /// Each kernel gets the tests that depend on it, and the last step is one of tests.
    #[test]
    fn every_kernel_gets_the_tests_that_depend_on_it() {
        let steps = steps();
        let tests = steps.iter().filter(|step| step.arguments[0] == "test");
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
}
