//! `brickwork run`: both parties on this machine, as two processes that communicate over TLS.
//!
//! This process makes a key for each party, which is used once, and compiles the program. Each party is a
//! [child](crate::child) of this process.

use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;

use brickwork::bits::unpack;
use brickwork::circuit::Party;
use brickwork::engine::request::RunRequest;
use brickwork::engine::ways::{Protocols, RunPart};
use brickwork::stock::Store;
use brickwork::stop::Stop;
use brickwork::system;
use brickwork::wire::tls::{Identity, PublicKey};
use brickwork::{ErrorKind, Program, StoreRequest};
use brickwork_kernels::Secrets;
use clap::Args;
use zeroize::Zeroizing;

use crate::arguments::{
    Choice, CutArguments, LinkArguments, ParameterArguments, ProgramArguments, Resources, request,
};
use crate::audit::AuditArguments;
use crate::failure::{Failure, code};
use crate::outcome::of_run;
use crate::page::RunPageArguments;
use crate::party::{Endpoint, Host, PartyTask, Said};
use crate::progress::Progress;
use crate::report::Report;
use crate::simulate::Values;
use crate::store::StoreArguments;
use crate::{child, files, party, programs};
use brickwork::engine::link::Relay;

/// Run both parties on this machine, as two processes
#[derive(Args)]
pub struct Arguments {
    #[command(flatten)]
    pub program: ProgramArguments,
    #[command(flatten)]
    values: Values,
    #[command(flatten)]
    parameters: ParameterArguments,
    #[command(flatten)]
    resources: Resources,
    #[command(flatten)]
    link: LinkArguments,
    #[command(flatten)]
    choice: Choice,
    #[command(flatten)]
    cut: CutArguments,
    #[command(flatten)]
    stock: StoreArguments,
    #[command(flatten)]
    audit: AuditArguments,
    #[command(flatten)]
    page: RunPageArguments,
}

/// The time that the second party has to report its own reason after the first one has failed.
const GRACE: Duration = Duration::from_secs(3);
/// The hint if a party's process ends without a message.
const PROCESS_HINT: &str =
    "was it ended from outside, or for want of memory? fewer --executions need less; else run it again";

impl Arguments {
    /// Replaces the inputs of the flags by these values.
    pub fn give(&mut self, inputs: [Option<Zeroizing<String>>; 2]) {
        self.values.give(inputs);
    }
}

pub fn run(arguments: &Arguments, quiet: bool) -> Result<Report, Failure> {
    run_as(arguments, (true, quiet), |both, inputs| both.run(&inputs, quiet))
}

/// Does the same as [`run`], with both parties as threads of this process, until it is asked to stop.
pub fn run_here(arguments: &Arguments, stop: &Stop, progress: &Arc<Progress>) -> Result<Report, Failure> {
    run_as(arguments, (false, true), |both, inputs| both.run_here(inputs, stop, progress))
}

/// Checks everything that can be checked in advance, and then runs both parties. Both have the same program
/// object.
fn run_as(
    arguments: &Arguments,
    (values, quiet): (bool, bool),
    run: impl FnOnce(&Both, [Secrets<bool>; 2]) -> Result<[Ran; 2], Failure>,
) -> Result<Report, Failure> {
    let page = arguments.page.open()?;
    // Errors in the flags, the program or the inputs are found before any party starts.
    let Arguments { parameters, resources, choice, cut, stock, .. } = arguments;
    let audited = arguments.audit.audit.is_some();
    let line = arguments.link.line();
    let store = stock.request();
    let request = request(parameters, resources, choice, cut, line, store.as_ref());
    let request = RunRequest { audited, ..request };
    let _ = request.allowed()?;
    let program = programs::program(&arguments.program)?;
    let executions = arguments.parameters.executions.executions;
    // This process reads the inputs of both parties.
    let inputs = arguments.values.bits(program.given(), executions)?;
    let store = store.as_ref();
    let (request, reason) = fastest(&request, &program, store)?;
    let both = Both { program: &program, request: &request, store, audit: arguments.audit.audit.as_deref() };
    let [garbler, evaluator] = run(&both, inputs)?;
    let outputs = [(Party::Garbler, &garbler.outputs[..]), (Party::Evaluator, &evaluator.outputs[..])];
    // Only the garbler predicts; the evaluator's times include the garbler's work.
    let predicted = garbler.report.predicted.clone();
    let mut merged = evaluator.report.clone();
    (merged.predicted, merged.protocol_reason) = (predicted, reason);
    let mut report = of_run((&program, executions), &outputs, &merged, (values, quiet));
    for of_one in ["cpu_seconds", "peak_rss_bytes"] {
        report.json.as_object_mut().and_then(|fields| fields.remove(of_one));
    }
    if let Some(page) = page {
        page.write(&report.json, Some(programs::in_cut(&program, &report.json["cut"])));
    }
    Ok(report)
}

/// Returns the request with the protocol that the garbler would choose, and the reason if there was a choice.
pub fn fastest(
    request: &RunRequest<Protocols>,
    given: &Program,
    stores: Option<&StoreRequest>,
) -> Result<(RunRequest, Option<String>), Failure> {
    let (mut store, mut keys) = (None, [PublicKey::from_bytes([0; 32]); 2]);
    if let (Some(stores), None) = (stores, request.parameters.protocol.only()) {
        let own = stores.within(files::role(Party::Garbler));
        if Store::exists(&own.store)? {
            store = Some(own.view()?);
            for party in [Party::Garbler, Party::Evaluator] {
                let path = stores.store.join(format!("{}.key", files::role(party)));
                keys[party as usize] = files::identity(&path)?.public_key();
            }
        }
    }
    let ways = RunPart { party: Party::Garbler, request, given, keys, warns: false }.ways(store.as_ref())?;
    let chosen = ways.requests.into_iter().next();
    let chosen = chosen.ok_or_else(|| Failure::fault("no protocol is left"))?;
    Ok((chosen, ways.reason))
}

/// The task of both parties in one command.
#[derive(Clone, Copy)]
pub struct Both<'a> {
    pub program: &'a Program,
    /// The request, whose network is simulated.
    pub request: &'a RunRequest,
    /// The folder with both parties' stores and keys.
    pub store: Option<&'a StoreRequest>,
    /// The file for the evaluator's note about recovery.
    pub audit: Option<&'a Path>,
}

impl<'a> Both<'a> {
    /// Makes a task without a store.
    pub fn of(program: &'a Program, request: &'a RunRequest) -> Self {
        Both { program, request, store: None, audit: None }
    }
}

impl Both<'_> {
    /// Runs both parties, each in its own process, on these inputs. Returns the objects that they print.
    pub fn run(&self, inputs: &[Secrets<bool>; 2], quiet: bool) -> Result<[Ran; 2], Failure> {
        let [(garbler, garbler_pem), (evaluator, evaluator_pem)] =
            [self.key(Party::Garbler)?, self.key(Party::Evaluator)?];
        let program = self.program.to_bytes();
        let (said, heard) = channel();
        let start = |task: PartyTask, quiet, pem: &str, input: &[bool]| {
            let message = child::message(&task, &program, pem, input)?;
            Process::start(task.party, command(quiet)?, &message, said.clone())
        };
        let task = self.task(Party::Garbler, evaluator.public_key(), Endpoint::Listen(HERE.into()));
        let mut first = start(task, true, &garbler_pem, &inputs[0])?;
        let address = match first.line()? {
            Some(Said::Listening(address)) => address,
            // The garbler ended before it listened; its line says why.
            Some(said) => return Err(ran(Party::Garbler, said).err().unwrap_or_else(silent)),
            None => return Err(died(Party::Garbler, first.wait()?)),
        };
        first.listen_on();
        let relay = self.relay(&address)?;
        let address = relay.as_ref().map_or(address, |relay| relay.address().to_string());
        let task = self.task(Party::Evaluator, garbler.public_key(), Endpoint::Connect(address));
        let mut second = start(task, quiet, &evaluator_pem, &inputs[1])?;
        second.listen_on();
        drop((said, program));
        outcomes(first, second, &heard)
    }

    /// Runs both parties, each on a thread of this process. Returns the objects that they would print. If a
    /// stop is requested, both end. The evaluator, which receives most bytes, shows the progress.
    fn run_here(
        &self,
        [first_input, second_input]: [Secrets<bool>; 2],
        stop: &Stop,
        progress: &Arc<Progress>,
    ) -> Result<[Ran; 2], Failure> {
        let [garbler, evaluator] = [self.key(Party::Garbler)?.0, self.key(Party::Evaluator)?.0];
        let peers = [evaluator.public_key(), garbler.public_key()];
        let (said, heard) = channel();
        let play =
            |task: PartyTask, identity: Identity, input: Secrets<bool>, tell: &mut dyn FnMut(String)| {
                let mut listens = |address: std::net::SocketAddr| tell(address.to_string());
                let warns = task.party == Party::Evaluator;
                let mut host = Host::Embedded { listens: &mut listens, warns };
                let played = stop.run(|| party::play(&task, self.program, (&identity, &input), &mut host));
                let ran = played.unwrap_or_else(|stopped| Err(Failure::stopped(stopped)))?;
                Ok(Ran { outputs: ran.outputs, report: ran.report })
            };
        std::thread::scope(|scope| {
            let (tell, told) = channel();
            let first = {
                let (said, play) = (said.clone(), &play);
                let task = self.task(Party::Garbler, peers[0], Endpoint::Listen(HERE.into()));
                move || {
                    let mut tell = |address| _ = tell.send(address);
                    let done = play(task, garbler, first_input, &mut tell);
                    let _ = said.send((Party::Garbler, done));
                }
            };
            scope.spawn(first);
            // If the garbler fails before it listens, this returns an error, because the sender is dropped.
            if let Ok(address) = told.recv() {
                let relay = self.relay(&address)?;
                let address = relay.as_ref().map_or(address, |relay| relay.address().to_string());
                let task = self.task(Party::Evaluator, peers[1], Endpoint::Connect(address));
                scope.spawn({
                    let (said, play) = (said.clone(), &play);
                    move || {
                        let done = progress.enter(|| play(task, evaluator, second_input, &mut |_| {}));
                        let _ = said.send((Party::Evaluator, done));
                        drop(relay);
                    }
                });
            }
            drop(said);
            both_of(&heard, stop)
        })
    }

    /// Starts the relay that simulates the network to this address, unless no limit is given.
    fn relay(&self, address: &str) -> Result<Option<Relay>, Failure> {
        let line = self.request.line;
        match line.is_perfect() {
            true => Ok(None),
            false => Ok(Some(Relay::start(line, address).map_err(brickwork::ProtocolError::from)?)),
        }
    }

    /// Returns the task of a party.
    fn task(&self, party: Party, peer: PublicKey, place: Endpoint) -> PartyTask {
        let protocol = Protocols::from(self.request.parameters.protocol);
        let audit = self.audit.filter(|_| party == Party::Evaluator).map(Path::to_owned);
        PartyTask {
            party,
            peer: peer.to_bytes(),
            place,
            keep: false,
            request: RunRequest { audited: audit.is_some(), ..self.request.with(protocol) },
            store: self.store.map(|stores| stores.within(files::role(party))),
            audit,
        }
    }

    /// Returns a party's key. The key is made for this run. But a store belongs to two keys, so with a store
    /// the keys are kept beside it.
    fn key(&self, party: Party) -> Result<(Identity, Zeroizing<String>), Failure> {
        let Some(stores) = self.store else {
            let (identity, pem) = Identity::generate()?;
            return Ok((identity, pem));
        };
        stores.within(files::role(party)).may_be_made()?;
        let directory = &stores.store;
        let path = directory.join(format!("{}.key", files::role(party)));
        if !path.exists() {
            let made = brickwork::private::create_folders(directory);
            made.map_err(|e| Failure::cannot_write(directory, &e))?;
            brickwork::keygen::identity(&path)?;
        }
        Ok(files::identity_and_pem(&path)?)
    }
}

/// The address at which the garbler listens.
const HERE: &str = "127.0.0.1:0";

/// Returns the command of a party's process.
fn command(quiet: bool) -> Result<Command, Failure> {
    let program = std::env::current_exe().map_err(|e| {
        Failure::cannot_start("this program once more", &e)
            .advise("start it by its full path; was it moved or replaced meanwhile?")
    })?;
    let mut command = Command::new(program);
    command.args(["--json", child::COMMAND]);
    if quiet {
        command.arg("--quiet");
    }
    Ok(command)
}

/// The process of one party, which is killed when this value is dropped.
struct Process {
    party: Party,
    child: Child,
    /// Stays open as long as the child may live.
    stdin: Option<ChildStdin>,
    stdout: Option<BufReader<ChildStdout>>,
    said: Sender<(Party, String)>,
}

impl Process {
    fn start(
        party: Party,
        mut command: Command,
        message: &[u8],
        said: Sender<(Party, String)>,
    ) -> Result<Self, Failure> {
        let failed = |e| Failure::cannot_start(&format!("the {}", files::role(party)), &e);
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit())
            .spawn()
            .map_err(failed)?;
        let mut stdin = child.stdin.take();
        let stdout = child.stdout.take().map(BufReader::new);
        let mut process = Process { party, child, stdin: None, stdout, said };
        if let Some(stdin) = &mut stdin {
            child::send(stdin, message);
        }
        process.stdin = stdin;
        Ok(process)
    }

    /// Returns the next line that the child prints, if there is one.
    fn line(&mut self) -> Result<Option<Said>, Failure> {
        let mut line = String::new();
        if let Some(stdout) = &mut self.stdout {
            stdout.read_line(&mut line).map_err(|e| self.lost(&e))?;
        }
        Ok(serde_json::from_str(&line).ok())
    }

    /// Sends the rest of the child's output when the child has ended.
    fn listen_on(&mut self) {
        let (party, said) = (self.party, self.said.clone());
        if let Some(mut stdout) = self.stdout.take() {
            std::thread::spawn(move || {
                let mut text = String::new();
                // If a part cannot be read, the text is incomplete, which causes an error later.
                let _ = stdout.read_to_string(&mut text);
                let _ = said.send((party, text));
            });
        }
    }

    fn wait(&mut self) -> Result<ExitStatus, Failure> {
        let ended = self.child.wait();
        ended.map_err(|e| self.lost(&e))
    }

    /// Returns the error for a child whose output cannot be read.
    fn lost(&self, why: &std::io::Error) -> Failure {
        let message = format!("the {} is lost: {}", files::role(self.party), system::explained(why).0);
        Failure::other(message, PROCESS_HINT)
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.stdin = None;
        // If it has already ended, neither call has an effect.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Waits for both threads. If one party fails, the other party has some time to report its reason, and then
/// it is stopped.
fn both_of(heard: &Receiver<(Party, Result<Ran, Failure>)>, stop: &Stop) -> Result<[Ran; 2], Failure> {
    let mut results: [Option<Result<Ran, Failure>>; 2] = [None, None];
    let mut patience = None;
    loop {
        let next = match patience {
            None => heard.recv().map_err(|_| RecvTimeoutError::Disconnected),
            Some(patience) => heard.recv_timeout(patience),
        };
        let (party, result) = match next {
            Ok(next) => next,
            Err(RecvTimeoutError::Timeout) => {
                stop.ask();
                patience = None;
                continue;
            }
            Err(RecvTimeoutError::Disconnected) => return the_first_reason(results),
        };
        if result.is_err() {
            patience = Some(GRACE);
        }
        let result = result.map_err(|failure| failure.within(files::role(party)));
        results[usize::from(party == Party::Evaluator)] = Some(result);
    }
}

/// Returns both results, or the more informative one of two failures.
fn the_first_reason(results: [Option<Result<Ran, Failure>>; 2]) -> Result<[Ran; 2], Failure> {
    match results {
        [Some(Ok(garbler)), Some(Ok(evaluator))] => Ok([garbler, evaluator]),
        results => {
            let mut failures: Vec<Failure> = results.into_iter().flatten().filter_map(Result::err).collect();
            // A failure of the network is the least informative, because that party only saw the other one go
            // away.
            failures.sort_by_key(|failure| failure.is(code::NETWORK));
            Err(failures.into_iter().next().unwrap_or_else(silent))
        }
    }
}

/// Waits for both processes. Returns the objects that they print, or the failure.
fn outcomes(
    mut garbler: Process,
    mut evaluator: Process,
    heard: &Receiver<(Party, String)>,
) -> Result<[Ran; 2], Failure> {
    let mut results: [Option<Result<Ran, Failure>>; 2] = [None, None];
    let mut patience = None;
    while results.iter().any(Option::is_none) {
        let next = match patience {
            None => heard.recv().ok(),
            Some(patience) => heard.recv_timeout(patience).ok(),
        };
        let Some((party, text)) = next else { break };
        let (index, process) = match party {
            Party::Garbler => (0, &mut garbler),
            Party::Evaluator => (1, &mut evaluator),
        };
        let status = process.wait()?;
        let result = match serde_json::from_str(&text) {
            Ok(said) => ran(party, said),
            Err(_) => Err(died(party, status)),
        };
        if result.is_err() {
            patience = Some(GRACE);
        }
        results[index] = Some(result);
    }
    the_first_reason(results)
}

/// The result of a party that ran here.
pub struct Ran {
    /// The bits of its outputs.
    pub outputs: Vec<bool>,
    pub report: brickwork::Report,
}

/// Reads the result that a child printed.
fn ran(party: Party, said: Said) -> Result<Ran, Failure> {
    match said {
        Said::Done { bits, outputs, report } => {
            let outputs = unpack(&outputs, bits).map_err(|_| silent())?;
            Ok(Ran { outputs: outputs.into_iter().map(|bit| bit == 1).collect(), report: *report })
        }
        Said::Error { code, message, hint } => {
            let kind = ErrorKind::ALL.into_iter().find(|kind| code == kind.exit_code());
            Err(Failure::new(kind.unwrap_or(ErrorKind::Machine), message, hint).within(files::role(party)))
        }
        Said::Listening(_) => Err(silent()),
    }
}

fn silent() -> Failure {
    Failure::other("a party ended without a result", PROCESS_HINT)
}

fn died(party: Party, status: ExitStatus) -> Failure {
    Failure::other(format!("the {} ended without a result ({status})", files::role(party)), PROCESS_HINT)
}
