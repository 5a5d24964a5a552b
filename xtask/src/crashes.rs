//! All crashes: the world of either party ends at every change of its disk, a connection ends at every byte, and processes are
//! killed at random moments.

use std::path::Path;
use std::process::Command;

/// What is run, and the variable that asks for more than the quick tests do.
const RUNS: [(&[&str], &str); 4] = [
    (&["-p", "brickwork", "--lib", "stock::"], ""),
    (&["-p", "brickwork", "--test", "stock", "crash"], "BRICKWORK_ALL_CRASHES"),
    (&["-p", "brickwork-adversary", "--test", "faults", "row_20"], "BRICKWORK_EVERY_BYTE"),
    (&["-p", "brickwork-cli", "--test", "cli", "kill_9"], "BRICKWORK_KILLS"),
];

/// Runs them; `kills` is the number of processes that are killed.
pub fn run(root: &Path, kills: &str) -> Result<(), String> {
    kills.parse::<u64>().map_err(|_| "a number of kills is needed, such as 300".to_string())?;
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    for (arguments, variable) in RUNS {
        let mut command = Command::new(&cargo);
        command.args(["test", "--release"]).args(arguments).args(["--", "--nocapture"]).current_dir(root);
        if !variable.is_empty() {
            command.env(variable, kills);
        }
        let status = command.status().map_err(|e| format!("cargo does not start: {e}"))?;
        if !status.success() {
            return Err(format!("cargo test {} failed", arguments.join(" ")));
        }
    }
    Ok(())
}
