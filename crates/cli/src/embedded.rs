//! The commands as functions within another process, on its own threads: the basis of the Python package.
//! Nothing is printed, neither results nor progress, and stdin is not read.
//!
//! A [`Control`] stops the work, and shows how far it is.

use std::ffi::OsString;
use std::net::SocketAddr;

use clap::Parser;
use serde_json::Value;
use zeroize::Zeroizing;

use crate::cluster::foreign;
use crate::commands::{Cli, Command};
use crate::execute;
use crate::failure::Failure;
use crate::report::Report;

pub use crate::cluster::foreign::Hands;
pub use crate::worker::Embedded as Worker;
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
            Command::Started(_) => Err(Failure::usage(
                "a worker cannot be called from a program",
                "start the command `brickwork worker` instead",
            )),
            Command::Serve(_) => Err(Failure::usage(
                "a service cannot be called from a program",
                "start the command `brickwork serve` instead",
            )),
            Command::Bench(_) => Err(Failure::usage(
                "measurements are made by another program",
                "start the command `brickwork bench` instead",
            )),
            _ => execute(&cli),
        }
    }))
}

/// Makes a worker for one lane of a job, with the flags of `brickwork worker`. The worker has not connected
/// to its peer yet.
///
/// # Errors
/// As [`call`].
pub fn worker(flags: &[String]) -> Result<Worker, Value> {
    Worker::new(flags.iter().map(OsString::from).collect()).map_err(|failure| failure.value())
}

/// A task of a worker.
pub enum WorkerTask {
    /// Connect to the peer's worker.
    Meet,
    /// Make stock for this many partitions.
    Fill(u32),
    /// Run a partition on an input, which has the form of a flag's value.
    Run(u32, Option<Zeroizing<String>>),
    /// Return whether stock may have been used for a partition.
    Look(u32),
    /// End the session.
    Close,
}

/// Runs a task of a worker. `listens` receives the address if the worker listens. If a stop is requested
/// during a computation, the task ends when it next waits for its peer.
///
/// # Errors
/// As [`call`].
pub fn work(
    worker: &mut Worker,
    task: WorkerTask,
    line: &Control,
    listens: &mut dyn FnMut(SocketAddr),
) -> Answer {
    answer(line.run_to_next_wait(|| match task {
        WorkerTask::Meet => worker.meet(listens),
        WorkerTask::Fill(partitions) => worker.fill(partitions),
        WorkerTask::Run(partition, input) => {
            worker.run(partition, input.as_ref().map(|input| input.as_str()))
        }
        WorkerTask::Look(partition) => worker.look(partition),
        WorkerTask::Close => worker.close(),
    }))
}

/// Coordinates a job to its end with the caller's workers, as the flags describe it. `listens` receives the
/// address if this party listens.
///
/// # Errors
/// As [`call`].
pub fn coordinate(
    flags: &[String],
    hands: &mut dyn Hands,
    line: &Control,
    listens: &mut dyn FnMut(SocketAddr),
) -> Answer {
    let flags = flags.iter().map(OsString::from).collect();
    answer(line.run(|| foreign::run(flags, hands, listens)))
}

fn parse(arguments: &[String]) -> Result<Cli, Failure> {
    Ok(<Cli>::try_parse_from(std::iter::once("brickwork").chain(arguments.iter().map(String::as_str)))?)
}

fn elsewhere(function: &str) -> Failure {
    Failure::usage("this task belongs to another function", format!("call brickwork.{function}"))
}

fn answer(result: Result<Report, Failure>) -> Answer {
    result.map(|report| (report.json, report.human)).map_err(|failure| failure.value())
}
