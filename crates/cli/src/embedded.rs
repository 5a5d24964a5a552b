//! The commands as functions within another process, on its own threads: the basis of the Python package.
//! Nothing is printed, neither results nor progress, and stdin is not read.
//!
//! A [`Control`] stops the work, and shows how far it is.

use clap::Parser;
use serde_json::Value;

use crate::commands::{Cli, Command};
use crate::execute;
use crate::failure::Failure;
use crate::report::Report;

pub use brickwork::control::Control;

/// The result of a command: the object of its `--json`, and its text for people. An error is the object under
/// `error`.
pub type Answer = Result<(Value, String), Value>;

/// Runs a command line, without the name of the program.
///
/// # Errors
/// Those of the command.
pub fn call(arguments: &[String], line: &Control) -> Answer {
    answer(line.run(|| {
        let mut cli = parse(arguments)?;
        cli.quiet = true;
        match &cli.command {
            Command::Run(_) => Err(elsewhere("run")),
            Command::Garbler(_) | Command::Evaluator(_) => Err(elsewhere("garbler")),
            // These commands replace the process, or need processes of their own.
            Command::DemoCheat(_) => Err(elsewhere("demo_cheat")),
            Command::Started(_) => Err(Failure::usage("a worker is a process", "start `brickwork worker`")),
            Command::Serve(_) => Err(Failure::usage("a service is a process", "start `brickwork serve`")),
            Command::Bench(_) => Err(Failure::usage("another program measures", "start `brickwork bench`")),
            _ => execute(&cli),
        }
    }))
}

fn parse(arguments: &[String]) -> Result<Cli, Failure> {
    Ok(<Cli>::try_parse_from(std::iter::once("brickwork").chain(arguments.iter().map(String::as_str)))?)
}

fn elsewhere(function: &str) -> Failure {
    Failure::usage("another function does this", format!("call brickwork.{function}"))
}

fn answer(result: Result<Report, Failure>) -> Answer {
    result.map(|report| (report.json, report.human)).map_err(|failure| failure.value())
}
