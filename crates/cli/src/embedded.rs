//! The commands as functions within another process, on its own threads: the basis of the Python package.
//! Nothing is printed, neither results nor progress, and stdin is not read.
//!
//! Waiting and computing end when the [`Stop`] is requested. [`Progress`] shows how far a run is.

use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use brickwork::circuit::Party;
use brickwork::reading;
use brickwork::stop::{Stop, Stopped};
use brickwork::wire::tls::Identity;
use brickwork::{
    Cheat, Malformed, Program, Session, authenticated, commit, compgc, duplo, ihash, jimu, lego, ot,
    semi_honest,
};
use brickwork_kernels::Erasing;
use clap::{CommandFactory, Parser};
use serde_json::{Value, json};
use zeroize::Zeroizing;

use crate::cluster::foreign;
use crate::commands::{Cli, Command};
use crate::failure::{Failure, code};
use crate::party::{self, Host};
use crate::report::Report;
use crate::{execute, files, has_the_named_kernel, page, plan, programs, run, simulate, terminal};

pub use crate::cluster::foreign::Hands;
pub use crate::progress::Progress;
pub use crate::standing::{Standing, Wish};
pub use crate::worker::Embedded as Worker;

/// The result of a command: the object of its `--json`, and its text for people. Commands that compute return
/// `output_bits` instead of `outputs` ([`outputs`] converts them). An error is the object under `error`.
pub type Answer = Result<(Value, String), Value>;

/// A control for one piece of work: another thread can stop it and see its progress.
#[derive(Default)]
pub struct Line {
    stop: Stop,
    /// The progress, which another thread reads.
    pub progress: Arc<Progress>,
    /// Present from the request to stop until the work has ended.
    erasing: Mutex<Option<Erasing>>,
}

impl Line {
    /// Asks the work to stop, from another thread. Until the work [has ended](Line::ended), all freed memory
    /// is erased. Unwinding alone would erase only values with a destructor for it.
    pub fn ask_to_stop(&self) {
        self.erasing.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert_with(Erasing::begin);
        self.stop.ask();
    }

    /// Notes that all work has ended.
    pub fn ended(&self) {
        self.erasing.lock().unwrap_or_else(PoisonError::into_inner).take();
    }

    /// Runs work; if another thread asks to stop, the work ends at once.
    fn run<T>(&self, work: impl FnOnce() -> Result<T, Failure>) -> Result<T, Failure> {
        match self.stop.run(|| self.progress.enter(work)) {
            Ok(done) => self.told(done),
            Err(stopped) => Err(Failure::stopped(stopped)),
        }
    }

    /// Runs work; if another thread asks to stop, the work ends when it next waits for the peer. So a check
    /// that is about to fail is completed.
    fn see<T>(&self, work: impl FnOnce() -> Result<T, Failure>) -> Result<T, Failure> {
        self.told(self.stop.enter(|| self.progress.enter(work)))
    }

    /// Returns the result of work that has ended. After a request to stop, any error becomes "stopped",
    /// because a party may see first that the other stopped party has closed the connection. Only a peer's
    /// cheat is reported in any case.
    fn told<T>(&self, done: Result<T, Failure>) -> Result<T, Failure> {
        match done {
            Err(failure) if self.stop.is_asked() && !failure.is(code::PEER) => Err(Failure::stopped(Stopped)),
            done => done,
        }
    }
}

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
pub fn call(arguments: &[String], program: Option<Program>, line: &Line) -> Answer {
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

/// Runs this party, according to its flags. The key is in PEM form, and the input is a value for `--input`.
/// Without them, the flags must name files. `listens` receives the address if the party listens.
///
/// # Errors
/// As [`call`].
pub fn take_part(
    role: Party,
    flags: &[String],
    program: Option<Program>,
    [pem, input]: [Option<Zeroizing<String>>; 2],
    line: &Line,
    listens: &mut dyn FnMut(SocketAddr),
) -> Answer {
    answer(line.run(|| {
        let identity = pem.map(|pem| Identity::from_pem(&pem)).transpose()?;
        let (flags, input) =
            (flags.iter().map(OsString::from).collect(), input.as_ref().map(|input| input.as_str()));
        party::take_part(role, flags, program, identity, input, listens)
    }))
}

/// Runs both parties on two threads, as `run` does in two processes. These inputs replace the inputs of the
/// flags.
///
/// # Errors
/// As [`call`].
pub fn run_both(
    arguments: &[String],
    program: Option<Program>,
    inputs: [Option<Zeroizing<String>>; 2],
    line: &Line,
) -> Answer {
    answer(line.run(|| match &mut parse(arguments)?.command {
        Command::Run(arguments) => {
            arguments.program.loaded = program;
            arguments.give(inputs);
            run::run_here(arguments, &line.stop, &line.progress)
        }
        _ => Err(elsewhere("call")),
    }))
}

/// Begins a session in which programs run one by one, as the flags describe it. The flags are those of
/// [`take_part`] for the peer, the protocol, this machine and the store. Without a store, `--program
/// FILE=TIMES` names each program and how often it may run.
///
/// # Errors
/// As [`call`].
pub fn connect(
    role: Party,
    flags: &[String],
    pem: Option<Zeroizing<String>>,
    line: &Line,
    listens: &mut dyn FnMut(SocketAddr),
) -> Result<Standing, Value> {
    let begin = || {
        let identity = pem.map(|pem| Identity::from_pem(&pem)).transpose()?;
        let mut host = Host::Embedded { listens, warns: true };
        Standing::begin(role, flags.iter().map(OsString::from).collect(), identity, &mut host)
    };
    line.run(begin).map_err(|failure| failure.value())
}

/// Runs one of the session's programs once.
///
/// # Errors
/// As [`call`]; after an error of a step that had begun, the session has ended.
pub fn step(session: &mut Standing, wish: &Wish, line: &Line) -> Answer {
    answer(line.run(|| session.step(wish)))
}

/// Adds a program to a session with a store; returns its `number`.
///
/// # Errors
/// As [`call`].
pub fn add(session: &mut Standing, file: &str, line: &Line) -> Answer {
    let added = |number| Report::new(json!({ "number": number }), String::new());
    answer(line.run(|| session.add(file).map(added)))
}

/// Makes stock in a session with a store. The arguments have the form `FILE[:NAME]=COUNT`.
///
/// # Errors
/// As [`step`].
pub fn fill(session: &mut Standing, words: &[String], line: &Line) -> Answer {
    answer(line.run(|| session.fill(words)))
}

/// Returns the error for using a session that has ended.
pub fn session_is_over() -> Value {
    Failure::from(Session::over()).value()
}

/// Returns the error for an object that was made before this process was forked.
pub fn forked() -> Value {
    Failure::from(Session::forked()).value()
}

/// Ends the session.
///
/// # Errors
/// As [`call`].
pub fn close(session: &mut Standing, line: &Line) -> Answer {
    answer(line.run(|| session.close()))
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
    line: &Line,
    listens: &mut dyn FnMut(SocketAddr),
) -> Answer {
    answer(line.see(|| match task {
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
    line: &Line,
    listens: &mut dyn FnMut(SocketAddr),
) -> Answer {
    let mut host = Host::Embedded { listens, warns: true };
    let flags = flags.iter().map(OsString::from).collect();
    answer(line.run(|| foreign::run(flags, hands, &mut host)))
}

/// Simulates a program. These inputs replace the inputs of the flags.
///
/// # Errors
/// As [`call`].
pub fn simulate(
    arguments: &[String],
    program: Option<Program>,
    inputs: [Option<Zeroizing<String>>; 2],
    line: &Line,
) -> Answer {
    answer(line.run(|| {
        let mut cli = parse(arguments)?;
        let Command::Simulate(arguments) = &mut cli.command else { return Err(elsewhere("call")) };
        arguments.program.loaded = program;
        arguments.give(inputs);
        simulate::bits(arguments)
    }))
}

/// Reads the program of an `info` command into `keeps`, and returns its digest, its number of AND gates, and
/// its inputs and outputs with their types.
///
/// # Errors
/// As [`call`].
pub fn ports(arguments: &[String], keeps: &OnceLock<Program>, line: &Line) -> Answer {
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
pub fn describe(arguments: &[String], program: Option<Program>, cut: &str, line: &Line) -> Answer {
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
pub fn outputs(program: &Program, executions: Option<u32>, bits: [Option<&str>; 2], line: &Line) -> Answer {
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
        let html = page::html(&record, outputs)?;
        if let Some(path) = path {
            page::Page::begin(path)?.put(&html)?;
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

#[cfg(test)]
mod tests {
    use super::*;
    use brickwork::stop;

    /// If a worker is asked to stop during a check, the check is completed and its failure is reported. Any
    /// other failure counts as stopped.
    #[test]
    fn a_check_that_has_begun_is_looked_at_to_its_end() {
        let line = Line::default();
        let fails = |kind| {
            line.see(|| {
                line.ask_to_stop();
                stop::look();
                Err::<(), _>(Failure::new(kind, "it failed", ""))
            })
        };
        for (which, said) in
            [(code::PEER, code::PEER), (code::NETWORK, code::NETWORK), (code::STOCK, code::NETWORK)]
        {
            assert!(fails(which).is_err_and(|failure| failure.is(said)), "{which:?}");
        }
        assert!(line.see(|| Ok(())).is_ok());
        line.ended();
    }
}
