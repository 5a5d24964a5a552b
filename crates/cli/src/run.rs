//! `brickwork run`: both parties on this machine, as two processes that communicate over TLS.
//!
//! The processes are this program's own `garbler` and `evaluator` commands. Their keys are made here and used
//! once. Keys and inputs go through pipes, so that no command line and no file shows them. A child ends when
//! its pipe is closed, so no child outlives this process, however it dies.

use std::ffi::OsString;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;

use brickwork::circuit::Party;
use brickwork::cut::CutChoice;
use brickwork::engine::request::{LinkSpeed, RunRequest};
use brickwork::engine::ways::{Part, Protocols};
use brickwork::stock::Store;
use brickwork::stop::Stop;
use brickwork::system;
use brickwork::wire::tls::{Identity, PublicKey};
use brickwork::{ErrorKind, Program};
use brickwork_kernels::Secrets;
use clap::Args;
use serde_json::{Value, json};
use zeroize::Zeroizing;

use crate::arguments::CutArguments;
use crate::arguments::{Choice, LinkArguments, ParameterArguments, Parameters, ProgramArguments, Resources};
use crate::arguments::{as_flags, request};
use crate::audit::AuditArguments;
use crate::failure::{Failure, code};
use crate::link::Relay;
use crate::outcome::{cut_text, outputs_text, phases_text, promise_text, protocol_text};
use crate::page::RunPageArguments;
use crate::party::{Given, Host};
use crate::progress::Progress;
use crate::report::Report;
use crate::simulate::Values;
use crate::store::StoreArguments;
use crate::{files, keygen, leash, party, programs};

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

/// The time that the other party has, after one party has failed, to report its own reason.
const GRACE: Duration = Duration::from_secs(3);
/// The hint if a party's process fails without a reason.
const PROCESS_HINT: &str =
    "was it ended from outside, or for want of memory? fewer --executions need less; else run it again";

impl Arguments {
    /// Uses these values instead of those that the flags name.
    pub fn give(&mut self, inputs: [Option<Zeroizing<String>>; 2]) {
        self.values.give(inputs);
    }
}

pub fn run(arguments: &Arguments, quiet: bool) -> Result<Report, Failure> {
    run_as(arguments, quiet, false, |both, inputs| both.run(&inputs, quiet))
}

/// Does the same as [`run`], with both parties as threads of this process, until it is asked to stop.
pub fn run_here(arguments: &Arguments, stop: &Stop, progress: &Arc<Progress>) -> Result<Report, Failure> {
    run_as(arguments, true, true, |both, inputs| both.run_here(inputs, stop, progress))
}

/// Checks everything that can be checked without a party, and then runs both. Here both parties share the
/// program.
fn run_as(
    arguments: &Arguments,
    quiet: bool,
    here: bool,
    run: impl FnOnce(&Both, [Secrets<bool>; 2]) -> Result<[Value; 2], Failure>,
) -> Result<Report, Failure> {
    let page = arguments.page.open()?;
    // Errors in the flags, the program or the inputs are found here, before anything starts.
    let Arguments { parameters, resources, choice, cut, stock, .. } = arguments;
    let audited = arguments.audit.audit.is_some();
    let line = arguments.link.line();
    let request = RunRequest { audited, ..request(parameters, resources, choice, cut, line, stock) };
    let _ = request.allowed()?;
    let program = programs::program(&arguments.program)?;
    let executions = arguments.parameters.executions.executions;
    // This process knows both inputs.
    let inputs = arguments.values.bits(program.given(), executions)?;
    let named = ProgramArguments {
        file: arguments.program.file.clone(),
        map: arguments.program.map.clone(),
        loaded: here.then(|| program.clone()),
    };
    let stock = arguments.stock.store.as_deref().map(|directory| (directory, &arguments.stock));
    let (parameters, reason) = fastest(&request, &program, stock)?;
    // Two processes have programs of their own, so this one keeps it for a page alone.
    let program = page.is_some().then_some(program);
    let both = Both {
        program: &named,
        parameters: &parameters,
        resources: &arguments.resources,
        link: arguments.link.line(),
        choice: &arguments.choice,
        cut: &arguments.cut.cut,
        stock,
        audit: arguments.audit.audit.as_deref(),
    };
    let [garbler, evaluator] = run(&both, inputs)?;
    let report = merge(&garbler, &evaluator, reason, quiet);
    if let (Some(page), Some(program)) = (page, program) {
        page.write(&report.json, Some(programs::in_cut(&program, &report.json["cut"])));
    }
    Ok(report)
}

/// Returns the parameters with the protocol that the garbler of a run here takes, and the reason for it, if
/// several are possible.
pub fn fastest(
    request: &RunRequest<Protocols>,
    given: &Program,
    stock: Option<(&Path, &StoreArguments)>,
) -> Result<(Parameters, Option<String>), Failure> {
    let (mut store, mut keys) = (None, [PublicKey::from_bytes([0; 32]); 2]);
    if let (Some((directory, stock)), None) = (stock, request.parameters.protocol.only()) {
        let folder = directory.join(files::role(Party::Garbler));
        if Store::exists(&folder)? {
            store = Some(stock.key.view(&folder)?);
            for party in [Party::Garbler, Party::Evaluator] {
                let path = directory.join(format!("{}.key", files::role(party)));
                keys[party as usize] = files::identity(&path)?.public_key();
            }
        }
    }
    let ways = Part { party: Party::Garbler, request, given, keys, warns: false }.ways(store.as_ref())?;
    let chosen = ways.requests.into_iter().next();
    let chosen = chosen.ok_or_else(|| Failure::fault("no protocol is left"))?;
    Ok((chosen.parameters, ways.reason))
}

/// The task of both parties.
#[derive(Clone, Copy)]
pub struct Both<'a> {
    pub program: &'a ProgramArguments,
    pub parameters: &'a Parameters,
    pub resources: &'a Resources,
    pub link: LinkSpeed,
    pub choice: &'a Choice,
    /// The cut of the program into components.
    pub cut: &'a CutChoice,
    /// The folder with both parties' stores and keys, and the flags for using them.
    pub stock: Option<(&'a Path, &'a StoreArguments)>,
    /// The file for the evaluator's note that must not show elsewhere.
    pub audit: Option<&'a Path>,
}

impl Both<'_> {
    /// Runs both parties, each in its process, on these inputs; returns the objects that they print.
    pub fn run(&self, inputs: &[Secrets<bool>; 2], quiet: bool) -> Result<[Value; 2], Failure> {
        let [(garbler, garbler_pem), (evaluator, evaluator_pem)] =
            [self.key(Party::Garbler)?, self.key(Party::Evaluator)?];
        let (said, heard) = channel();
        let start = |party, peer, place: [&str; 2], quiet, pem: &str, input: &[bool]| {
            let command = self.command(party, peer, place, quiet)?;
            Process::start(party, command, &leash::to_child(pem, input), said.clone())
        };
        let mut first = start(
            Party::Garbler,
            evaluator.public_key(),
            ["--listen", "127.0.0.1:0"],
            true,
            &garbler_pem,
            &inputs[0],
        )?;
        let address = match first.line()? {
            Some(line) if line["listening"].is_string() => {
                line["listening"].as_str().unwrap_or_default().to_owned()
            }
            // It ended before it listened; this is the reason.
            Some(line) => return Err(failure(Party::Garbler, &line)),
            None => return Err(died(Party::Garbler, first.wait()?)),
        };
        first.listen_on();
        let relay = if self.link.is_perfect() {
            None
        } else {
            Some(Relay::start(self.link, &address).map_err(brickwork::ProtocolError::from)?)
        };
        let address = relay.as_ref().map_or(address, |relay| relay.address().to_string());
        let mut second = start(
            Party::Evaluator,
            garbler.public_key(),
            ["--connect", &address],
            quiet,
            &evaluator_pem,
            &inputs[1],
        )?;
        second.listen_on();
        drop(said);
        outcomes(first, second, &heard)
    }

    /// Runs both parties, each on a thread of this process; returns the objects that they would print. If a
    /// stop is requested, both end. The evaluator, which receives most bytes, shows the progress.
    fn run_here(
        &self,
        [first_input, second_input]: [Secrets<bool>; 2],
        stop: &Stop,
        progress: &Arc<Progress>,
    ) -> Result<[Value; 2], Failure> {
        let [(garbler, garbler_pem), (evaluator, evaluator_pem)] =
            [self.key(Party::Garbler)?, self.key(Party::Evaluator)?];
        let (said, heard) = channel();
        let play = |party, peer, place: [&str; 2], pem: &str, input, tell: &mut dyn FnMut(String)| {
            let secrets = Given::All(Identity::from_pem(pem)?, input);
            let mut listens = |address: std::net::SocketAddr| tell(address.to_string());
            let host = Host::Embedded { secrets, listens: &mut listens };
            let flags = self.flags(party, peer, place);
            let program = self.program.loaded.clone();
            let played = stop.run(|| party::take_part_by(party, flags, program, host));
            played.unwrap_or_else(|stopped| Err(Failure::stopped(stopped))).map(|report| report.json)
        };
        std::thread::scope(|scope| {
            let (tell, told) = channel();
            let first = {
                let (said, play) = (said.clone(), &play);
                let peer = evaluator.public_key();
                move || {
                    let mut tell = |address| _ = tell.send(address);
                    let place = ["--listen", "127.0.0.1:0"];
                    let done = play(Party::Garbler, peer, place, &garbler_pem, first_input, &mut tell);
                    let _ = said.send((Party::Garbler, done));
                }
            };
            scope.spawn(first);
            // If a garbler fails before it listens, its sender is dropped with it.
            if let Ok(address) = told.recv() {
                let relay = match self.link.is_perfect() {
                    true => None,
                    false => Some(Relay::start(self.link, &address).map_err(brickwork::ProtocolError::from)?),
                };
                let address = relay.as_ref().map_or(address, |relay| relay.address().to_string());
                let peer = garbler.public_key();
                scope.spawn({
                    let (said, play) = (said.clone(), &play);
                    move || {
                        let place = ["--connect", address.as_str()];
                        let play =
                            || play(Party::Evaluator, peer, place, &evaluator_pem, second_input, &mut |_| {});
                        let _ = said.send((Party::Evaluator, progress.enter(play)));
                        drop(relay);
                    }
                });
            }
            drop(said);
            both_of(&heard, stop)
        })
    }

    /// Returns a party's key. It is made for this run, except with a store: a store belongs to two keys, so
    /// they are kept with it.
    fn key(&self, party: Party) -> Result<(Identity, Zeroizing<String>), Failure> {
        let Some((directory, stock)) = self.stock else {
            let (identity, pem) = Identity::generate()?;
            return Ok((identity, pem));
        };
        stock.may_be_made(&directory.join(files::role(party)))?;
        let path = directory.join(format!("{}.key", files::role(party)));
        if !path.exists() {
            let made = brickwork::private::create_folders(directory);
            made.map_err(|e| Failure::cannot_write(directory, &e))?;
            keygen::make(&path)?;
        }
        files::identity_and_pem(&path)
    }

    /// Returns the command of a party.
    fn command(
        &self,
        party: Party,
        peer: PublicKey,
        place: [&str; 2],
        quiet: bool,
    ) -> Result<Command, Failure> {
        let program = std::env::current_exe().map_err(|e| {
            Failure::cannot_start("this program once more", &e)
                .advise("start it by its full path; was it moved or replaced meanwhile?")
        })?;
        let mut command = Command::new(program);
        command.args(["--json", files::role(party)]);
        if quiet {
            command.arg("--quiet");
        }
        command.args(self.flags(party, peer, place));
        Ok(command)
    }

    /// Returns the flags of a party.
    fn flags(&self, party: Party, peer: PublicKey, place: [&str; 2]) -> Vec<OsString> {
        let mut flags = Vec::<OsString>::new();
        let mut flag = |name: &str, value: String| flags.extend([name.into(), value.into()]);
        let Resources { threads, lanes, max_ram, timeout } = self.resources;
        flag(place[0], place[1].into());
        flag("--peer", peer.to_string());
        flag("--lanes", lanes.to_string());
        flag("--timeout", timeout.to_string());
        if let Some(threads) = threads {
            flag("--threads", threads.to_string());
        }
        if let Some(bytes) = max_ram {
            flag("--max-ram", bytes.to_string());
        }
        if let Some(rate) = self.link.bits_per_second {
            flag("--bandwidth", format!("{rate}bit"));
        }
        flag("--rtt", format!("{}us", self.link.rtt.as_micros()));
        flags.extend(["--leash".into(), self.choice.as_flag().into(), format!("--cut={}", self.cut).into()]);
        flags.extend(as_flags(self.parameters).into_iter().map(OsString::from));
        flags.extend(self.program.map.as_flags().map(OsString::from));
        if let Some((directory, stock)) = self.stock {
            flags.extend(stock.as_flags(&directory.join(files::role(party))));
        }
        if let (Party::Evaluator, Some(file)) = (party, self.audit) {
            flags.extend(["--audit".into(), file.into()]);
        }
        flags.extend(["--".into(), self.program.file.clone().into()]);
        flags
    }
}

/// The process of one party. It is killed when this is dropped.
struct Process {
    party: Party,
    child: Child,
    /// Open as long as the child may live.
    leash: Option<ChildStdin>,
    stdout: Option<BufReader<ChildStdout>>,
    said: Sender<(Party, String)>,
}

impl Process {
    fn start(
        party: Party,
        mut command: Command,
        secrets: &str,
        said: Sender<(Party, String)>,
    ) -> Result<Self, Failure> {
        let failed = |e| Failure::cannot_start(&format!("the {}", files::role(party)), &e);
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit())
            .spawn()
            .map_err(failed)?;
        let mut leash = child.stdin.take();
        let stdout = child.stdout.take().map(BufReader::new);
        let mut process = Process { party, child, leash: None, stdout, said };
        if let Some(leash) = &mut leash {
            // A child that has already ended has printed the reason on its stdout.
            let _ = leash::write_to(leash, secrets);
        }
        process.leash = leash;
        Ok(process)
    }

    /// Returns the next line of the child, if there is one.
    fn line(&mut self) -> Result<Option<Value>, Failure> {
        let mut line = String::new();
        if let Some(stdout) = &mut self.stdout {
            stdout.read_line(&mut line).map_err(|e| self.lost(&e))?;
        }
        Ok(serde_json::from_str(&line).ok())
    }

    /// Sends the remaining output of the child when it ends.
    fn listen_on(&mut self) {
        let (party, said) = (self.party, self.said.clone());
        if let Some(mut stdout) = self.stdout.take() {
            std::thread::spawn(move || {
                let mut text = String::new();
                // Unreadable parts are missing in the text, which causes an error later.
                let _ = stdout.read_to_string(&mut text);
                let _ = said.send((party, text));
            });
        }
    }

    fn wait(&mut self) -> Result<ExitStatus, Failure> {
        let ended = self.child.wait();
        ended.map_err(|e| self.lost(&e))
    }

    /// The child's output cannot be read any more.
    fn lost(&self, why: &std::io::Error) -> Failure {
        let message = format!("the {} is lost: {}", files::role(self.party), system::explained(why).0);
        Failure::other(message, PROCESS_HINT)
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.leash = None;
        // If it has already ended, neither call has an effect.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Waits for both threads. After one party has failed, the other has some time to report its reason before it
/// is stopped.
fn both_of(heard: &Receiver<(Party, Result<Value, Failure>)>, stop: &Stop) -> Result<[Value; 2], Failure> {
    let mut results: [Option<Result<Value, Failure>>; 2] = [None, None];
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

/// Returns both results, or of two failures the more informative one.
fn the_first_reason(results: [Option<Result<Value, Failure>>; 2]) -> Result<[Value; 2], Failure> {
    match results {
        [Some(Ok(garbler)), Some(Ok(evaluator))] => Ok([garbler, evaluator]),
        results => {
            let mut failures: Vec<Failure> = results.into_iter().flatten().filter_map(Result::err).collect();
            // The one that only sees that the other has gone away is the least informative.
            failures.sort_by_key(|failure| failure.is(code::NETWORK));
            Err(failures
                .into_iter()
                .next()
                .unwrap_or_else(|| Failure::other("a party ended without a word", PROCESS_HINT)))
        }
    }
}

/// Waits for both processes; returns the objects that they print, or the failure.
fn outcomes(
    mut garbler: Process,
    mut evaluator: Process,
    heard: &Receiver<(Party, String)>,
) -> Result<[Value; 2], Failure> {
    let mut results: [Option<Result<Value, Failure>>; 2] = [None, None];
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
        let value: Option<Value> = serde_json::from_str(&text).ok();
        let result = match value {
            Some(value) if status.success() => Ok(value),
            Some(value) => Err(failure(party, &value)),
            None => Err(died(party, status)),
        };
        if result.is_err() {
            patience = Some(GRACE);
        }
        results[index] = Some(result);
    }
    the_first_reason(results)
}

/// Reads the failure that a child printed.
fn failure(party: Party, value: &Value) -> Failure {
    let error = &value["error"];
    let text = |field: &str| error[field].as_str().unwrap_or_default().to_owned();
    let kind = ErrorKind::ALL.into_iter().find(|kind| error["code"] == kind.exit_code());
    let kind = kind.unwrap_or(ErrorKind::Machine);
    Failure::new(kind, text("message"), text("hint")).within(files::role(party))
}

fn died(party: Party, status: ExitStatus) -> Failure {
    Failure::other(format!("the {} ended without a result ({status})", files::role(party)), PROCESS_HINT)
}

fn merge(garbler: &Value, evaluator: &Value, reason: Option<String>, quiet: bool) -> Report {
    let outputs = [&garbler["outputs"]["garbler"], &evaluator["outputs"]["evaluator"]];
    let json = json!({
        "outputs": { "garbler": outputs[0], "evaluator": outputs[1] },
        "output_bits": { "garbler": garbler["output_bits"]["garbler"],
            "evaluator": evaluator["output_bits"]["evaluator"] },
        "phases": evaluator["phases"],
        "predicted": garbler["predicted"],
        "promise": evaluator["promise"],
        "cut": evaluator["cut"],
        "and_gates": evaluator["and_gates"],
        "protocol": evaluator["protocol"],
        "protocol_reason": reason,
        "post_quantum": evaluator["post_quantum"],
    });
    let mut json = json;
    if let Some(made) = evaluator.get("made_on_the_spot") {
        json["made_on_the_spot"] = made.clone();
    }
    let human = outputs_text(&[("garbler", outputs[0]), ("evaluator", outputs[1])])
        + &phases_text(&json, quiet)
        + &cut_text(&json)
        + &protocol_text(&json)
        + &promise_text(&json);
    Report::new(json, human)
}
