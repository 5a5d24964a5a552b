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
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let status = Command::new(cargo).args(arguments).env("RUSTDOCFLAGS", "-D warnings").current_dir(root).status();
    match status.map_err(|e| format!("cargo does not start: {e}"))?.success() {
        true => Ok(()),
        false => Err(format!("failed: cargo {}", arguments.join(" "))),
    }
}
