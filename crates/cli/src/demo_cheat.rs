//! `brickwork demo-cheat`: starts the program that plays attacks. It is another one, since no hook for a
//! cheater is part of this one.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::failure::Failure;
use crate::report::Report;

/// The program that plays attacks.
const PROGRAM: &str = "brickwork-demo-cheat";

/// Watch a cheater: list attacks on the protocol, or play one many times and see how it ends
///
/// The attacks are played between two threads of one process, on a small program, with the protocol's real
/// code and parameters that are small enough for luck to be seen. Nothing leaves the machine. A program of
/// its own does this, `brickwork-demo-cheat`: no hook for a cheater is part of `brickwork` itself. It tells
/// when an evaluator recovers a cheating garbler's input, which no other command shows: it can depend on the
/// evaluator's input, so who reacts to it gives a bit of that away. Here both parties are yours.
#[derive(clap::Args)]
pub struct Arguments {
    /// Which attack, as the list names it; without one they are listed
    attack: Option<String>,
    /// How often it is played
    #[arg(long, value_name = "N", default_value_t = 100,
        value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    runs: u32,
}

/// Lets the other program do it, with its output and exit code; returns only if that is not there.
pub fn run(arguments: &Arguments, json: bool) -> Result<Report, Failure> {
    let beside = std::env::current_exe().ok().and_then(|own| beside(&own));
    // Without one beside this program, the system looks for the name in PATH.
    let mut command = Command::new(beside.unwrap_or_else(|| PROGRAM.into()));
    command.args(&arguments.attack).arg(format!("--runs={}", arguments.runs));
    if json {
        command.arg("--json");
    }
    Err(not_started(&become_it(&mut command)))
}

/// The other program, if it is in the same folder as this one.
fn beside(own: &Path) -> Option<PathBuf> {
    let program = own.with_file_name(PROGRAM);
    program.is_file().then_some(program)
}

/// Goes on as this command, whatever ends it; returns why not.
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
