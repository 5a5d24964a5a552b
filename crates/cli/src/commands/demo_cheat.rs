//! `brickwork demo-cheat`: starts the program that demonstrates attacks. It is a separate program, because
//! `brickwork` is built without hooks for a cheater.

use crate::commands::beside::{Companion, Origin};
use crate::render::failure::Failure;

/// The program that demonstrates attacks.
const PROGRAM: Companion = Companion {
    name: "brickwork-demo-cheat",
    does: "plays the attacks",
    from: Origin::Crate { folder: "crates/adversary", package: "brickwork-adversary" },
};

/// Watch a cheater: list the attacks on the protocol, or run one many times and see how it ends
///
/// An attack runs between two threads of one process, on a small program, with the protocol's real code. The
/// parameters are so small that lucky cheaters are seen. Nothing leaves the machine. The separate program
/// `brickwork-demo-cheat` does this: no hook for a cheater is part of `brickwork` itself. It shows when an
/// evaluator recovers a cheating garbler's input, which no other command shows. That can depend on the
/// evaluator's input, so reacting to it would reveal a bit of that input. Here both parties are yours.
#[derive(clap::Args)]
pub struct DemoCheatFlags {
    /// The attack, by its name in the list; by default all are listed
    attack: Option<String>,
    /// The number of times to run it
    #[arg(long, value_name = "N", default_value_t = 100,
        value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    runs: u32,
}

/// Runs the other program with these arguments, with its output and exit code; returns only if that program
/// is missing.
pub fn run(arguments: &DemoCheatFlags, json: bool) -> Failure {
    let runs = Some(format!("--runs={}", arguments.runs));
    PROGRAM.take_over(arguments.attack.clone().into_iter().chain(runs).chain(json.then(|| "--json".into())))
}
