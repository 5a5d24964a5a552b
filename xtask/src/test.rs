//! Everything that must pass before a change lands.

use std::path::Path;
use std::process::Command;

const STEPS: [(&str, &[&str]); 4] = [
    ("format", &["fmt", "--all", "--check"]),
    ("lints", &["clippy", "--workspace", "--all-targets", "--release", "--", "-D", "warnings"]),
    ("documentation", &["doc", "--workspace", "--no-deps"]),
    // Last, so that its summary ends the output.
    ("tests", &["test", "--workspace", "--release", "--no-fail-fast"]),
];

/// Runs the steps in order; the first that fails ends it.
pub fn run(root: &Path) -> Result<(), String> {
    for (name, arguments) in STEPS {
        eprintln!("xtask: {name}: cargo {}", arguments.join(" "));
        cargo(root, arguments).map_err(|e| format!("{name}: {e}"))?;
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
