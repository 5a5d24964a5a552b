//! Everything that must pass before a change lands.

use std::path::Path;
use std::process::Command;

use brickwork_kernels::{KERNEL_VARIABLE, Kernel};

/// Tests whose outcome could depend on the kernel: that it is the one that was asked for, secrets erased,
/// times that tell nothing, whole runs, the bytes on the wire, stock. (The kernels' own tests try all of them
/// by themselves.)
const KERNEL_TESTS: [&str; 6] = ["chosen", "erased", "constant_time", "duplo", "plan", "stock"];

/// Of these, what takes long and is about files: crashes and old copies.
const KERNEL_SKIPS: [&str; 2] = ["crash::", "row_25_"];

/// A call of cargo.
struct Step {
    name: String,
    arguments: Vec<&'static str>,
    environment: Vec<(&'static str, &'static str)>,
}

impl Step {
    fn new(name: &str, arguments: &[&'static str]) -> Step {
        Step { name: name.into(), arguments: arguments.to_vec(), environment: Vec::new() }
    }

    /// What depends on the kernel, with this one: of the whole workspace, so that it is built once for all.
    fn with_kernel(kernel: Kernel) -> Step {
        let mut arguments = vec!["test", "--workspace", "--release", "--no-fail-fast"];
        arguments.extend(KERNEL_TESTS.iter().flat_map(|test| ["--test", test]));
        arguments.push("--");
        arguments.extend(KERNEL_SKIPS.iter().flat_map(|test| ["--skip", test]));
        let name = format!("tests with {}", kernel.name());
        Step { name, arguments, environment: vec![(KERNEL_VARIABLE, kernel.name())] }
    }
}

/// In their order. The last one runs every test, with the kernel that the machine gets, so that its summary
/// ends the output.
fn steps() -> Vec<Step> {
    let mut steps = vec![
        Step::new("format", &["fmt", "--all", "--check"]),
        Step::new("lints", &["clippy", "--workspace", "--all-targets", "--release", "--", "-D", "warnings"]),
        Step::new("documentation", &["doc", "--workspace", "--no-deps"]),
    ];
    let others = Kernel::all_available().into_iter().filter(|&kernel| kernel != Kernel::best());
    steps.extend(others.map(Step::with_kernel));
    steps.push(Step::new("tests", &["test", "--workspace", "--release", "--no-fail-fast"]));
    steps
}

/// Runs the steps in order; the first that fails ends it.
pub fn run(root: &Path) -> Result<(), String> {
    Kernel::chosen().map_err(|refused| refused.to_string())?;
    for Step { name, arguments, environment } in steps() {
        eprintln!("xtask: {name}: cargo {}", arguments.join(" "));
        cargo_with(root, &arguments, &environment).map_err(|e| format!("{name}: {e}"))?;
    }
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
    use super::*;

    /// Whether a step runs this test file, or all of them.
    fn runs(step: &Step, test: &str) -> bool {
        step.arguments[0] == "test"
            && (!step.arguments.contains(&"--test")
                || step.arguments.windows(2).any(|w| w == ["--test", test]))
    }

    #[test]
    fn every_kernel_gets_the_tests_that_depend_on_it() {
        let steps = steps();
        for test in KERNEL_TESTS {
            let mut kernels: Vec<&str> = steps
                .iter()
                .filter(|step| runs(step, test))
                .map(|step| step.environment.first().map_or(Kernel::best().name(), |(_, kernel)| kernel))
                .collect();
            let mut all: Vec<&str> = Kernel::all_available().into_iter().map(Kernel::name).collect();
            kernels.sort_unstable();
            all.sort_unstable();
            assert_eq!(kernels, all, "{test}");
        }
        assert!(steps.iter().flat_map(|step| &step.environment).all(|(name, _)| *name == KERNEL_VARIABLE));
    }

    /// Whoever reads the end of the output reads the summary of all tests.
    #[test]
    fn all_tests_come_last() {
        let steps = steps();
        let last = steps.last().unwrap();
        assert_eq!(last.arguments, ["test", "--workspace", "--release", "--no-fail-fast"]);
        assert!(last.environment.is_empty());
        let builds = |step: &&Step| step.arguments[1..].starts_with(&["--workspace", "--release"]);
        assert_eq!(steps.iter().filter(builds).count(), Kernel::all_available().len(), "built once for all");
    }
}
