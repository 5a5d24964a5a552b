//! `brickwork worker`: one worker of a lane of a job. `brickwork cluster` starts such processes, and other
//! schedulers may, too.

use std::io::{BufReader, stdin};

use brickwork::jobs::worker::{WorkerEvent, serve};
use clap::Args;

use crate::render::failure::Failure;
use crate::render::report::Report;
use crate::render::terminal::print_json;

/// Run one lane of a job, with messages on stdin: `brickwork cluster` starts it
///
/// The first line on stdin is a request with the job, the lane and the attempt. The compiled program follows
/// it, as many bytes of a .bwp file as the request says. Each line after that is a task:
///
/// {"fill": {"partitions": 3}}
///
/// {"run": {"partition": 0, "input": "@in.json", "output": "out.json"}}
///
/// {"look": {"partition": 0}}
///
/// "stop"
///
/// The results are lines of JSON on stdout. No private value is on these pipes: a worker reads inputs from
/// files, and writes outputs to files before it reports them. docs/guides/clusters.md describes the messages.
#[derive(Args)]
pub struct WorkerFlags {}

/// Runs a worker to its end.
pub fn run() -> Result<Report, Failure> {
    let mut says = |event: &WorkerEvent| print_json(event);
    Report::new(&serve(BufReader::new(stdin()), &mut says)?, String::new())
}
