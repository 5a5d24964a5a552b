//! `brickwork bench`: starts the program that measures. It is a separate program, so that people do not
//! install code that only measures.

use std::ffi::OsString;

use crate::commands::beside::{Companion, Origin};
use crate::render::failure::Failure;

/// The program that measures.
const PROGRAM: Companion = Companion {
    name: "brickwork-bench",
    does: "measures",
    from: Origin::Crate { folder: "tools/bench", package: "brickwork-bench" },
};

/// Measure protocols, stock and inner loops on this machine, and reproduce the tables of papers
///
/// The separate program `brickwork-bench` does this. `brickwork bench --help` lists its commands, and
/// `brickwork bench COMMAND --help` their flags.
#[derive(clap::Args)]
#[command(disable_help_flag = true)]
pub struct BenchFlags {
    /// A command of `brickwork-bench`, and its flags
    #[arg(value_name = "COMMAND", trailing_var_arg = true, allow_hyphen_values = true)]
    command: Vec<OsString>,
}

/// Runs the other program with these arguments, with its output and exit code; returns only if that program
/// is missing.
pub fn run(arguments: &BenchFlags, flags: Vec<OsString>) -> Failure {
    PROGRAM.take_over(flags.iter().chain(&arguments.command))
}
