//! The command within another process, whose own threads do what a command line says: what the Python package
//! stands on. Nothing is printed, neither results nor progress, and nothing is read from stdin.
//!
//! What waits for a peer ends when its [`Stop`] is asked; how far a run is its [`Progress`] says.

use std::ffi::OsString;
use std::net::SocketAddr;
use std::sync::Arc;

use brickwork::circuit::{OutputPort, Party, Port, Recipient, Type};
use brickwork::stop::Stop;
use brickwork::wire::tls::Identity;
use brickwork::{Cheat, Malformed, authenticated, commit, compgc, duplo, ihash, jimu, lego, ot, semi_honest};
use brickwork_kernels::Erasing;
use clap::{CommandFactory, Parser};
use serde_json::{Value, json};

use crate::cluster::foreign;
use crate::commands::{Cli, Command};
use crate::failure::Failure;
use crate::party::{self, Given, Home};
use crate::report::Report;
use crate::{execute, files, programs, run, terminal};

pub use crate::cluster::foreign::Hands;
pub use crate::progress::Progress;
pub use crate::standing::Standing;
pub use crate::worker::Embedded as Worker;

/// What a command gives: the object of its `--json`, and its text for people. The error is the object that
/// stands under `error` there.
pub type Answer = Result<(Value, String), Value>;

/// Where a thread hears that it is to stop, and says how far it is.
#[derive(Clone, Default)]
pub struct Line {
    /// Asked by another thread.
    pub stop: Stop,
    /// Looked at by another thread.
    pub progress: Arc<Progress>,
}

impl Line {
    fn enter<T>(&self, work: impl FnOnce() -> T) -> T {
        self.stop.enter(|| self.progress.enter(work))
    }
}

/// Begins a process that is not the command: nothing is said on stderr, and what there is to say goes to `log`,
/// a line of JSON each.
pub fn begin(log: impl Fn(&str) + Send + Sync + 'static) {
    terminal::be_quiet(true);
    let log = Arc::new(log);
    let writer = move || Log(log.clone());
    let to =
        tracing_subscriber::fmt().log_internal_errors(false).with_target(false).json().flatten_event(true);
    // Only the first one of a process counts.
    let _ = to.with_max_level(tracing::Level::INFO).with_writer(writer).try_init();
}

/// Keeps what is in memory out of dumps, and from other processes of this user.
pub fn harden() {
    crate::keep_memory_private();
}

/// Takes lines for somebody.
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

/// Does what a command line says, the name of the program left out.
///
/// # Errors
/// Those of the command.
pub fn call(arguments: &[String], line: &Line) -> Answer {
    answer(parse(arguments).and_then(|mut cli| {
        cli.quiet = true;
        match &cli.command {
            Command::Run(_) => Err(elsewhere("run")),
            Command::Garbler(_) | Command::Evaluator(_) => Err(elsewhere("garbler")),
            // It would go on in the place of this process.
            Command::DemoCheat(_) => Err(elsewhere("demo_cheat")),
            Command::Worker(_) => Err(Failure::usage("a worker is a process", "start `brickwork worker`")),
            Command::Serve(_) => Err(Failure::usage("a service is a process", "start `brickwork serve`")),
            _ => line.enter(|| execute(&cli)),
        }
    }))
}

/// Takes part as this party, as its flags say. The key is one in PEM form, and the input what `--input` would
/// be; without them the flags name files. `listens` hears where, if it listens.
///
/// # Errors
/// As [`call`].
pub fn take_part(
    role: Party,
    flags: &[String],
    [pem, input]: [Option<String>; 2],
    line: &Line,
    listens: &mut dyn FnMut(SocketAddr),
) -> Answer {
    let _erasing = Erasing::begin();
    answer((|| {
        let identity = pem.map(|pem| Identity::from_pem(&pem)).transpose()?;
        let home = Home::Embedded { secrets: Given::Some(identity, input), listens };
        let flags = flags.iter().map(OsString::from).collect();
        line.enter(|| party::take_part_by(role, flags, home))
    })())
}

/// Runs both parties on two threads, as `run` does on two processes. The inputs stand in the place of those
/// that flags would name.
///
/// # Errors
/// As [`call`].
pub fn run_both(arguments: &[String], inputs: [Option<String>; 2], line: &Line) -> Answer {
    let _erasing = Erasing::begin();
    answer(parse(arguments).and_then(|mut cli| match &mut cli.command {
        Command::Run(arguments) => {
            arguments.give(inputs);
            run::run_here(arguments, &line.stop, &line.progress)
        }
        _ => Err(elsewhere("call")),
    }))
}

/// Begins a session that goes on step by step, as its flags say: those of [`take_part`] for the peer and this
/// machine, and `--program FILE=TIMES` for each program and how often it may run.
///
/// # Errors
/// As [`call`].
pub fn connect(
    role: Party,
    flags: &[String],
    pem: Option<String>,
    line: &Line,
    listens: &mut dyn FnMut(SocketAddr),
) -> Result<Standing, Value> {
    let _erasing = Erasing::begin();
    let begin = || {
        let identity = pem.map(|pem| Identity::from_pem(&pem)).transpose()?;
        let mut home = Home::Embedded { secrets: Given::Some(None, None), listens };
        let flags = flags.iter().map(OsString::from).collect();
        line.enter(|| Standing::begin(role, flags, identity, &mut home))
    };
    begin().map_err(|failure| failure.value())
}

/// Runs a program of the session once more: its number, this party's input, ports of either party with the
/// numbers of what they carry on, and the outputs that are kept.
///
/// # Errors
/// As [`call`]; the session is over if it began.
pub fn step(
    session: &mut Standing,
    program: usize,
    input: Option<String>,
    carried: &[(Party, String, usize)],
    keep: &[String],
    line: &Line,
) -> Answer {
    let _erasing = Erasing::begin();
    answer(line.enter(|| session.step(program, input.as_deref(), carried, keep)))
}

/// Ends the session.
///
/// # Errors
/// As [`call`].
pub fn close(session: &mut Standing, line: &Line) -> Answer {
    answer(line.enter(|| session.close()))
}

/// A worker of one lane of a job, as its flags say: those of `brickwork worker`. It has met nobody.
///
/// # Errors
/// As [`call`].
pub fn worker(flags: &[String]) -> Result<Worker, Value> {
    Worker::new(flags.iter().map(OsString::from).collect()).map_err(|failure| failure.value())
}

/// A task of a worker.
pub enum WorkerTask {
    /// Meet the peer's.
    Meet,
    /// Make stock for so many partitions.
    Fill(u32),
    /// Run a partition on an input, as a flag would have it.
    Run(u32, Option<String>),
    /// Say whether stock may have been taken for a partition.
    Look(u32),
    /// End the session.
    Close,
}

/// Has a worker do a task. `listens` hears where it waits for its peer, if it does.
///
/// # Errors
/// As [`call`].
pub fn work(
    worker: &mut Worker,
    task: WorkerTask,
    line: &Line,
    listens: &mut dyn FnMut(SocketAddr),
) -> Answer {
    let _erasing = Erasing::begin();
    answer(line.enter(|| match task {
        WorkerTask::Meet => worker.meet(listens),
        WorkerTask::Fill(partitions) => worker.fill(partitions),
        WorkerTask::Run(partition, input) => worker.run(partition, input.as_deref()),
        WorkerTask::Look(partition) => worker.look(partition),
        WorkerTask::Close => worker.close(),
    }))
}

/// Coordinates a job to its end, with workers of the caller's, as its flags say. `listens` hears where, if it
/// listens.
///
/// # Errors
/// As [`call`].
pub fn coordinate(
    flags: &[String],
    hands: &mut dyn Hands,
    line: &Line,
    listens: &mut dyn FnMut(SocketAddr),
) -> Answer {
    let mut home = Home::Embedded { secrets: Given::Some(None, None), listens };
    let flags = flags.iter().map(OsString::from).collect();
    answer(line.enter(|| foreign::run(flags, hands, &mut home)))
}

/// Simulates a program. The inputs stand in the place of those that flags would name.
///
/// # Errors
/// As [`call`].
pub fn simulate(arguments: &[String], inputs: [Option<String>; 2]) -> Answer {
    let _erasing = Erasing::begin();
    answer(parse(arguments).and_then(|mut cli| match &mut cli.command {
        Command::Simulate(arguments) => {
            arguments.give(inputs);
            execute(&cli)
        }
        _ => Err(elsewhere("call")),
    }))
}

/// Tells what a program takes and gives, as `info` with these arguments would find it: its `digest`, `and_gates`, and of `inputs` and `outputs` each `name`,
/// `party` (of an output `garbler`, `evaluator`, `both` or `nobody`) and `type`: `{"uint": bits}`, `{"int": bits}`,
/// `{"array": [type, elements]}` or `{"struct": [[name, type], …]}`.
///
/// # Errors
/// As [`call`].
pub fn ports(arguments: &[String]) -> Answer {
    let read = || {
        let Command::Info(arguments) = parse(arguments)?.command else { return Err(elsewhere("call")) };
        let program = programs::program(&arguments.program)?;
        let inputs = [Party::Garbler, Party::Evaluator].map(|party| {
            let of = |port: &Port| json!({ "name": port.name, "party": files::role(party), "type": kind(&port.ty) });
            program.input_ports(party).iter().map(of).collect::<Vec<_>>()
        });
        let of = |port: &OutputPort| json!({ "name": port.port.name, "party": to(port.to), "type": kind(&port.port.ty) });
        let outputs: Vec<Value> = program.outputs().iter().map(of).collect();
        let json = json!({
            "digest": crate::report::hex(&program.digest()),
            "and_gates": program.and_gates(),
            "inputs": inputs.concat(),
            "outputs": outputs,
        });
        Ok(Report::new(json, String::new()))
    };
    answer(read())
}

fn to(recipient: Recipient) -> &'static str {
    match recipient {
        Recipient::Garbler => "garbler",
        Recipient::Evaluator => "evaluator",
        Recipient::Both => "both",
        Recipient::Nobody => "nobody",
    }
}

fn kind(ty: &Type) -> Value {
    match ty {
        Type::Uint(bits) => json!({ "uint": bits }),
        Type::Int(bits) => json!({ "int": bits }),
        Type::Array(element, elements) => json!({ "array": [kind(element), elements] }),
        Type::Struct(fields) => {
            json!({ "struct": fields.iter().map(|(name, ty)| json!([name, kind(ty)])).collect::<Vec<_>>() })
        }
    }
}

/// The page about what a command gave, a run, a plan, a comparison or a program, as `--report` writes it.
///
/// # Errors
/// Why there is none, as under `error` of `--json`.
pub fn page(record: &str) -> Result<String, Value> {
    let fault = |why: String| Failure::fault(why).value();
    let record: Value = serde_json::from_str(record).map_err(|e| fault(e.to_string()))?;
    brickwork_report::page(&record).map_err(|e| fault(e.to_string()))
}

/// Every check that a peer can fail.
pub fn checks() -> Vec<Cheat> {
    fn all<C: Copy + Into<Cheat>>(checks: &[C]) -> impl Iterator<Item = Cheat> {
        checks.iter().map(|&check| check.into())
    }
    let mut checks: Vec<Cheat> = all(Malformed::ALL)
        .chain(all(ot::Cheat::ALL))
        .chain(all(commit::Cheat::ALL))
        .chain(all(ihash::Cheat::ALL))
        .chain(all(duplo::Cheat::ALL))
        .chain(all(authenticated::Cheat::ALL))
        .chain(all(lego::Cheat::ALL))
        .chain(all(jimu::Cheat::ALL))
        .chain(all(compgc::Cheat::ALL))
        .chain(all(semi_honest::Cheat::ALL))
        .collect();
    // A check of one part can be that of another.
    let mut seen = std::collections::HashSet::new();
    checks.retain(|cheat| seen.insert((cheat.part(), cheat.check())));
    checks
}

/// The flags of a command, by name and whether each takes a value.
pub fn flags(command: &str) -> Vec<(String, bool)> {
    let mut cli = Cli::command();
    cli.build();
    let Some(command) = cli.find_subcommand(command) else { return Vec::new() };
    let flag = |flag: &clap::Arg| Some((flag.get_long()?.to_owned(), flag.get_action().takes_values()));
    command.get_arguments().filter(|flag| !flag.is_hide_set()).filter_map(flag).collect()
}

fn parse(arguments: &[String]) -> Result<Cli, Failure> {
    Ok(Cli::try_parse_from(std::iter::once("brickwork").chain(arguments.iter().map(String::as_str)))?)
}

fn elsewhere(function: &str) -> Failure {
    Failure::usage("another function does this", format!("call brickwork.{function}"))
}

fn answer(result: Result<Report, Failure>) -> Answer {
    result.map(|report| (report.json, report.human)).map_err(|failure| failure.value())
}
