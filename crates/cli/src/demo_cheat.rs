//! `brickwork demo-cheat`: starts the program that demonstrates attacks. It is a separate program, because
//! `brickwork` is built without hooks for a cheater.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::failure::Failure;
use crate::report::Report;

const PROGRAM: &str = "brickwork-demo-cheat";

/// Watch a cheater: list the attacks on the protocol, or run one many times and see how it ends
///
/// An attack runs between two threads of one process, on a small program, with the protocol's real code. The
/// parameters are so small that lucky cheaters are seen. Nothing leaves the machine. The separate program
/// `brickwork-demo-cheat` does this: no hook for a cheater is part of `brickwork` itself. It shows when an
/// evaluator recovers a cheating garbler's input, which no other command shows. That can depend on the
/// evaluator's input, so reacting to it would reveal a bit of that input. Here both parties are yours.
#[derive(clap::Args)]
pub struct Arguments {
    /// The attack, by its name in the list; by default all are listed
    attack: Option<String>,
    /// The number of times to run it
    #[arg(long, value_name = "N", default_value_t = 100,
        value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    runs: u32,
}

/// Runs the other program, with its output and exit code. This returns only if the program is missing.
pub fn run(arguments: &Arguments, json: bool) -> Result<Report, Failure> {
    let beside = std::env::current_exe().ok().and_then(|own| beside(&own));
    // If the program is not beside this one, the system searches for it in PATH.
    let mut command = Command::new(beside.unwrap_or_else(|| PROGRAM.into()));
    command.args(&arguments.attack).arg(format!("--runs={}", arguments.runs));
    if json {
        command.arg("--json");
    }
    Err(not_started(&become_it(&mut command)))
}

/// Returns the other program, if it is in the same folder as this one.
fn beside(own: &Path) -> Option<PathBuf> {
    let program = own.with_file_name(PROGRAM);
    program.is_file().then_some(program)
}

/// Replaces this process by the command. If that fails, returns the reason.
fn become_it(command: &mut Command) -> std::io::Error {
    std::os::unix::process::CommandExt::exec(command)
}

fn not_started(why: &std::io::Error) -> Failure {
    match why.kind() {
        std::io::ErrorKind::NotFound => Failure::usage(
            format!("{PROGRAM}, which plays the attacks, is not installed"),
            format!(
                "in the project's folder, `cargo install --locked --path crates/adversary --bin {PROGRAM}` \
                 installs it, and `cargo build --release -p brickwork-adversary` builds it beside \
                 target/release/brickwork"
            ),
        ),
        _ => Failure::cannot_start(PROGRAM, why),
    }
}
