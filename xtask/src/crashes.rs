//! Runs all crash tests: either party ends at every change of its disk, a connection ends at every byte, and
//! processes are killed at random moments.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

/// A run of tests, and the variable that extends them.
struct Run {
    what: &'static str,
    arguments: &'static [&'static str],
    variable: &'static str,
}

const RUNS: [Run; 6] = [
    Run {
        what: "log and store: models, every change, every bit",
        arguments: &["-p", "brickwork-store", "--lib"],
        variable: "BRICKWORK_ALL_FLIPS",
    },
    Run {
        what: "burned before sent, under loom",
        arguments: &["-p", "brickwork-adversary", "--test", "burn"],
        variable: "",
    },
    Run {
        what: "both parties, every change of either disk",
        arguments: &["-p", "brickwork", "--test", "stock", "crash"],
        variable: "BRICKWORK_ALL_CRASHES",
    },
    Run {
        what: "the connection cut at every byte",
        arguments: &["-p", "brickwork-adversary", "--test", "faults", "row_20"],
        variable: "BRICKWORK_EVERY_BYTE",
    },
    Run {
        what: "a step of stock cut at every byte",
        arguments: &["-p", "brickwork-protocol", "--lib", "row_04_a_cut_at_any_byte"],
        variable: "BRICKWORK_EVERY_BYTE",
    },
    Run {
        what: "real processes, kill -9",
        arguments: &["-p", "brickwork-cli", "--test", "cli", "kill_9"],
        variable: "BRICKWORK_KILLS",
    },
];

/// The prefix of the lines of tests for the table.
const COUNTED: &str = "counted: ";

/// Runs the tests, with this number of kills, and prints a table.
pub fn run(root: &Path, kills: &str) -> Result<(), String> {
    kills.parse::<u64>().map_err(|_| "a number of kills is needed, such as 300".to_string())?;
    let mut table = String::new();
    for run in RUNS {
        let start = Instant::now();
        let counted = one(root, kills, &run)?;
        table += &format!("{:<52}{:>6.0} s\n", run.what, start.elapsed().as_secs_f64());
        counted.iter().for_each(|line| table += &format!("    {line}\n"));
    }
    println!("\n{table}");
    Ok(())
}

/// Runs tests; returns their lines for the table.
fn one(root: &Path, kills: &str, run: &Run) -> Result<Vec<String>, String> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(&cargo);
    command
        .args(["test", "--release"])
        .args(run.arguments)
        .args(["--", "--nocapture"])
        .current_dir(root)
        .stdout(Stdio::piped());
    if !run.variable.is_empty() {
        command.env(run.variable, kills);
    }
    let mut child = command.spawn().map_err(|e| format!("cargo does not start: {e}"))?;
    let mut counted = Vec::new();
    for line in child.stdout.take().into_iter().flat_map(|out| BufReader::new(out).lines()) {
        let line = line.map_err(|e| format!("what cargo says cannot be read: {e}"))?;
        println!("{line}");
        // The name of a test may come before the prefix.
        counted.extend(line.split_once(COUNTED).map(|(_, counted)| counted.to_owned()));
    }
    match child.wait() {
        Ok(status) if status.success() => Ok(counted),
        Ok(_) => Err(format!("cargo test {} failed", run.arguments.join(" "))),
        Err(e) => Err(format!("cargo test {}: {e}", run.arguments.join(" "))),
    }
}
