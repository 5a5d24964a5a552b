//! `brickwork run`: both parties on this machine, as two processes that communicate over TLS.
//!
//! This process makes a key for each party, which is used once, and compiles the program. Each party is a
//! [child](crate::commands::child) of this process.

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, Sender, channel};

use brickwork::bits::unpack;
use brickwork::circuit::Party;
use brickwork::engine::both::{Both, GRACE, HERE, PROCESS_HINT, fastest, first_reason, merged, silent};
use brickwork::engine::request::RunRequest;
use brickwork::engine::role;
use brickwork::engine::task::{Endpoint, PartyTask};
use brickwork::system;
use brickwork::{Error, ErrorKind};
use brickwork_kernels::SecretBlocks;
use clap::Args;

use crate::commands::party::ChildLine;
use crate::commands::simulate::BothInputs;
use crate::commands::{child, programs};
use crate::flags::arguments::{
    CutArguments, LinkArguments, ParameterArguments, ProgramArguments, ProtocolFlags, ResourceFlags, request,
};
use crate::flags::page::RunPageArguments;
use crate::flags::recovery::RecoveryArguments;
use crate::flags::store::StoreArguments;
use crate::render::failure::Failure;
use crate::render::outcome::of_run;
use crate::render::report::Report;
use crate::render::terminal;
use crate::render::trail::{Once, Trail, TrailEvent};

/// Run both parties on this machine, as two processes
#[derive(Args)]
pub struct RunFlags {
    #[command(flatten)]
    pub program: ProgramArguments,
    #[command(flatten)]
    values: BothInputs,
    #[command(flatten)]
    parameters: ParameterArguments,
    #[command(flatten)]
    resources: ResourceFlags,
    #[command(flatten)]
    link: LinkArguments,
    #[command(flatten)]
    choice: ProtocolFlags,
    #[command(flatten)]
    cut: CutArguments,
    #[command(flatten)]
    stock: StoreArguments,
    #[command(flatten)]
    recovery: RecoveryArguments,
    #[command(flatten)]
    page: RunPageArguments,
}

/// Runs both parties.
pub fn run(arguments: &RunFlags, quiet: bool, trail: &Trail) -> Result<Report, Failure> {
    let page = arguments.page.open()?;
    // Errors in the flags, the program or the inputs are found before any party starts.
    let RunFlags { parameters, resources, choice, cut, .. } = arguments;
    let (line, stores) = (arguments.link.line(), arguments.stock.request());
    let request = request(parameters, resources, choice, cut, line, stores.as_ref());
    let recovery_notes = arguments.recovery.recovery_notes.as_deref();
    let request = RunRequest { notes_recovery: recovery_notes.is_some(), ..request };
    let _ = request.allowed()?;
    let program = programs::program(&arguments.program)?;
    let executions = arguments.parameters.executions.executions;
    // This process reads the inputs of both parties.
    let inputs = arguments.values.bits(program.given(), executions)?;
    let (request, reason) = fastest(&request, &program, stores.as_ref())?;
    let both = Both { program: &program, request: &request, stores: stores.as_ref(), recovery_notes };
    let once = Once::new(trail);
    let ran = in_processes(&both, &inputs, quiet).map_err(Failure::into_error);
    once.ended(TrailEvent::run_of(&program), &ran, |[garbler, _], event| {
        trail.reported(&garbler.report, event)
    });
    let [garbler, evaluator] = ran?;
    let outputs = [(Party::Garbler, &garbler.outputs[..]), (Party::Evaluator, &evaluator.outputs[..])];
    let merged = merged(&garbler.report, &evaluator.report, reason);
    let report = of_run((&program, executions), &outputs, &merged, quiet)?;
    if let Some(page) = page {
        page.write(&report.json, Some(&program));
    }
    Ok(report)
}

/// Runs both parties, each in its own process, on these inputs.
pub fn in_processes(
    both: &Both,
    inputs: &[SecretBlocks<bool>; 2],
    quiet: bool,
) -> Result<[FinishedRun; 2], Failure> {
    let [(garbler, garbler_pem), (evaluator, evaluator_pem)] =
        [both.key(Party::Garbler)?, both.key(Party::Evaluator)?];
    let program = both.program.to_bytes();
    let (said, heard) = channel();
    let start = |task: PartyTask, quiet, pem: &str, input: &[bool]| {
        let message = child::message(&task, &program, pem, input)?;
        Process::start(task.party, command(quiet)?, &message, said.clone())
    };
    let task = both.task(Party::Garbler, evaluator.public_key(), Endpoint::Listen(HERE.into()));
    let mut first = start(task, true, &garbler_pem, &inputs[0])?;
    let address = match first.line()? {
        Some(ChildLine::Listening(address)) => address,
        // The garbler ended before it listened; the line that it printed contains the reason.
        Some(said) => return Err(ran(Party::Garbler, said).err().unwrap_or_else(silent).into()),
        None => return Err(died(Party::Garbler, first.wait()?).into()),
    };
    first.listen_on();
    let (_relay, address) = both.relay(address)?;
    let task = both.task(Party::Evaluator, garbler.public_key(), Endpoint::Connect(address));
    let mut second = start(task, quiet, &evaluator_pem, &inputs[1])?;
    second.listen_on();
    drop((said, program));
    outcomes(first, second, &heard)
}

/// Returns the command of a party's process.
fn command(quiet: bool) -> Result<Command, Failure> {
    let program = brickwork::system::own_program().map_err(|e| {
        Failure::cannot_start("a second process of this program", &e)
            .advise("start the program by its full path; it may have been moved or replaced")
    })?;
    let mut command = Command::new(program);
    command.args(["--json", child::COMMAND]);
    if terminal::is_json() {
        command.arg("--log-format=json");
    }
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
        let failed = |e| Failure::cannot_start(&format!("the {}", role(party)), &e);
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
    fn line(&mut self) -> Result<Option<ChildLine>, Failure> {
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
        let message = format!("the {} has ended too early: {}", role(self.party), system::explained(why).0);
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

/// Waits for both processes. Returns the objects that they print, or the failure.
fn outcomes(
    mut garbler: Process,
    mut evaluator: Process,
    heard: &Receiver<(Party, String)>,
) -> Result<[FinishedRun; 2], Failure> {
    let mut results = [None, None];
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
    Ok(first_reason(results)?)
}

/// The result of a party that ran in a process of this machine.
pub struct FinishedRun {
    /// The bits of its outputs.
    pub outputs: Vec<bool>,
    pub report: brickwork::Report,
}

/// Reads the result that a child printed.
fn ran(party: Party, said: ChildLine) -> Result<FinishedRun, Error> {
    match said {
        ChildLine::Done { bits, outputs, report } => {
            let outputs = unpack(&outputs, bits).map_err(|_| silent())?;
            Ok(FinishedRun { outputs: outputs.into_iter().map(|bit| bit == 1).collect(), report: *report })
        }
        ChildLine::Error { code, message, hint } => {
            let kind = ErrorKind::ALL.into_iter().find(|kind| code == kind.exit_code());
            Err(Error::new(kind.unwrap_or(ErrorKind::Machine), message, hint).within(role(party)))
        }
        ChildLine::Listening(_) => Err(silent()),
    }
}

fn died(party: Party, status: ExitStatus) -> Error {
    Error::machine(format!("the {} ended without a result ({status})", role(party)), PROCESS_HINT)
}
