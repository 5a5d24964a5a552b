//! The commands as functions within another process, on its own threads: the basis of the Python package.
//! Nothing is printed, neither results nor progress, and stdin is not read.
//!
//! A [`Control`] stops the work, and shows how far it is.

use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::{Arc, OnceLock};

use brickwork::circuit::Party;
use brickwork::circuit::formats::InputMap;
use brickwork::engine::stocked;
use brickwork::reading;
use brickwork::{
    Cheat, Malformed, Program, authenticated, commit, compgc, duplo, ihash, jimu, lego, ot, semi_honest,
};
use clap::{CommandFactory, Parser};
use serde_json::{Value, json};
use zeroize::Zeroizing;

use crate::cluster::foreign;
use crate::commands::{Cli, Command};
use crate::failure::Failure;
use crate::report::Report;
use crate::requested::Requested;
use crate::{execute, files, has_the_named_kernel, plan, programs, terminal};

pub use crate::cluster::foreign::Hands;
pub use crate::worker::Embedded as Worker;
pub use brickwork::control::Control;

/// The result of a command: the object of its `--json`, and its text for people. Commands that compute return
/// `output_bits` instead of `outputs` ([`outputs`] converts them). An error is the object under `error`.
pub type Answer = Result<(Value, String), Value>;

/// Starts a process that is not the command: nothing is printed on stderr, and messages go to `log`, as one
/// line of JSON each.
pub fn begin(log: impl Fn(&str) + Send + Sync + 'static) {
    terminal::be_quiet(true);
    let log = Arc::new(log);
    let writer = move || Log(log.clone());
    let to =
        tracing_subscriber::fmt().log_internal_errors(false).with_target(false).json().flatten_event(true);
    // Only the first call in a process has an effect.
    let _ = to.with_max_level(tracing::Level::INFO).with_writer(writer).try_init();
}

/// Protects the memory against core dumps and against other processes of this user.
pub fn harden() {
    crate::keep_memory_private();
}

/// Passes log lines to a function.
struct Log<F>(Arc<F>);

impl<F: Fn(&str)> std::io::Write for Log<F> {
    fn write(&mut self, line: &[u8]) -> std::io::Result<usize> {
        (self.0)(&String::from_utf8_lossy(line));
        Ok(line.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// Runs a command line, without the name of the program.
///
/// # Errors
/// Those of the command.
pub fn call(arguments: &[String], program: Option<Program>, line: &Control) -> Answer {
    answer(line.run(|| {
        let mut cli = parse(arguments)?;
        cli.quiet = true;
        match &mut cli.command {
            Command::Info(arguments) => arguments.program.loaded = program,
            Command::Plan(arguments) => arguments.program.loaded = program,
            _ => {}
        }
        match &cli.command {
            Command::Run(_) => Err(elsewhere("run")),
            Command::Garbler(_) | Command::Evaluator(_) => Err(elsewhere("garbler")),
            // These commands replace the process, or need processes of their own.
            Command::DemoCheat(_) => Err(elsewhere("demo_cheat")),
            Command::Started(_) => Err(Failure::usage("a worker is a process", "start `brickwork worker`")),
            Command::Serve(_) => Err(Failure::usage("a service is a process", "start `brickwork serve`")),
            Command::Bench(_) => Err(Failure::usage("another program measures", "start `brickwork bench`")),
            _ => has_the_named_kernel().and_then(|()| execute(&cli)),
        }
    }))
}

/// Reads the programs in arguments of the form `FILE[:NAME]=COUNT`.
///
/// # Errors
/// If an argument has another form, or its program cannot be read.
pub fn requested(words: &[String]) -> Result<Vec<stocked::Requested>, brickwork::Error> {
    let read = words.iter().map(|word| Requested::parse(word)?.load(&InputMap::new()));
    read.collect::<Result<_, _>>().map_err(Failure::into_error)
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

/// Reads the program of an `info` command into `keeps`, and describes it. The result has its `digest`, its
/// number of `and_gates`, and for each of `inputs` and `outputs` the `name`, the `party` (of an output
/// `garbler`, `evaluator`, `both` or `nobody`) and the `type`: `{"uint": bits}`, `{"int": bits}`, `{"fixed":
/// [bits, bits after the point, signed]}`, `{"array": [type, elements]}` or `{"struct": [[name, type], …]}`.
///
/// # Errors
/// As [`call`].
pub fn ports(arguments: &[String], keeps: &OnceLock<Program>, line: &Control) -> Answer {
    let read = || {
        let Command::Info(arguments) = parse(arguments)?.command else { return Err(elsewhere("call")) };
        let read = programs::program(&arguments.program)?;
        Ok(Report::new(json!(keeps.get_or_init(|| read).ports()), String::new()))
    };
    answer(line.run(read))
}

/// Describes the program of a run or a plan, in the cut of its record, as `info` does. The arguments are
/// those of `info` or of the plan.
///
/// # Errors
/// As [`call`].
pub fn describe(arguments: &[String], program: Option<Program>, cut: &str, line: &Control) -> Answer {
    let describe = || {
        let cut = cut.parse().map_err(Failure::fault)?;
        let program = match &mut parse(arguments)?.command {
            Command::Info(arguments) => {
                arguments.program.loaded = program;
                programs::program(&arguments.program)?.describe(&cut)?
            }
            Command::Plan(arguments) => {
                arguments.program.loaded = program;
                plan::program_of(arguments)?.describe(&cut)?
            }
            _ => return Err(elsewhere("call")),
        };
        Report::of(&program)
    };
    answer(line.run(describe))
}

/// Converts the output bits of the garbler and of the evaluator to values, in the form of a run's `--json`.
///
/// # Errors
/// As [`call`]; also if the number of bits is wrong.
pub fn outputs(
    program: &Program,
    executions: Option<u32>,
    bits: [Option<&str>; 2],
    line: &Control,
) -> Answer {
    let read = || {
        let program = program.given();
        let of = |party, bits: &str| {
            let width: usize = program.outputs_of(party).map(|output| output.wires.len()).sum();
            let bits: Vec<bool> = bits.bytes().map(|bit| bit == b'1').collect();
            match width.checked_mul(executions.unwrap_or(1) as usize) == Some(bits.len()) {
                true => Ok(reading::output_value(program, party, executions, &bits)),
                false => Err(Failure::fault(format!("{} output bits of another program", bits.len()))),
            }
        };
        let mut json = serde_json::Map::new();
        for (party, bits) in [Party::Garbler, Party::Evaluator].into_iter().zip(bits) {
            if let Some(bits) = bits {
                json.insert(files::role(party).into(), of(party, bits)?);
            }
        }
        Ok(Report::new(json.into(), String::new()))
    };
    answer(line.run(read))
}

/// Returns the page of `--report` about a run, a plan, a comparison or a program. It shows outputs only if
/// `outputs` is true. With a path the page is written to this file, which only its owner can read.
///
/// # Errors
/// The reason, as under `error` of `--json`.
pub fn page(record: &str, outputs: bool, path: Option<&Path>) -> Result<String, Value> {
    let made = || {
        let record: Value = serde_json::from_str(record).map_err(|e| Failure::fault(e.to_string()))?;
        let html = brickwork::page::html(&record, outputs)?;
        if let Some(path) = path {
            brickwork::page::Page::begin(path, outputs)?.put(&html)?;
        }
        Ok(html)
    };
    made().map_err(|failure: Failure| failure.value())
}

/// Returns every check that a peer can fail.
pub fn checks() -> Vec<Cheat> {
    fn all<C: Copy + Into<Cheat>>(checks: &[C]) -> impl Iterator<Item = Cheat> {
        checks.iter().map(|&check| check.into())
    }
    let mut checks: Vec<Cheat> = all(Malformed::ALL)
        .chain(all(ot::Cheat::ALL))
        .chain(all(ot::softspoken::Cheat::ALL))
        .chain(all(ot::pcg::Cheat::ALL))
        .chain(all(commit::Cheat::ALL))
        .chain(all(ihash::Cheat::ALL))
        .chain(all(duplo::Cheat::ALL))
        .chain(all(authenticated::Cheat::ALL))
        .chain(all(lego::Cheat::ALL))
        .chain(all(jimu::Cheat::ALL))
        .chain(all(compgc::Cheat::ALL))
        .chain(all(semi_honest::Cheat::ALL))
        .collect();
    // Different parts may have checks of the same name.
    let mut seen = std::collections::HashSet::new();
    checks.retain(|cheat| seen.insert((cheat.part(), cheat.check())));
    checks
}

/// Returns the flags of a command: the name, and whether it takes a value.
pub fn flags(command: &str) -> Vec<(String, bool)> {
    let mut cli = <Cli>::command();
    cli.build();
    let Some(command) = cli.find_subcommand(command) else { return Vec::new() };
    let flag = |flag: &clap::Arg| Some((flag.get_long()?.to_owned(), flag.get_action().takes_values()));
    command.get_arguments().filter(|flag| !flag.is_hide_set()).filter_map(flag).collect()
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
