//! `brickwork garbler` and `brickwork evaluator`: one party of a computation.

use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Instant;

use brickwork::circuit::Party;
use brickwork::engine::request::RunRequest;
use brickwork::engine::role;
use brickwork::engine::run::{self as engine, PartyRun, Place};
use brickwork::engine::ways::{Protocols, RunPart};
use brickwork::reading;
use brickwork::wire::Channel;
use brickwork::wire::tls::{self, Identity, Listener, PublicKey};
use brickwork::{Program, ProtocolError as Error, StoreRequest};
use brickwork_kernels::Secrets;
use clap::Args;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::arguments::CutArguments;
use crate::arguments::{
    Address, Choice, Keep, LineArguments, ParameterArguments, ProgramArguments, Reading, Resources, request,
};
use crate::audit::{Audit, AuditArguments};
use crate::failure::Failure;
use crate::outcome::of_run;
use crate::page::RunPageArguments;
use crate::progress::watch;
use crate::report::Report;
use crate::store::StoreArguments;
use crate::terminal::announce;
use crate::{files, programs};

#[derive(Args)]
pub struct Arguments {
    #[command(flatten)]
    program: ProgramArguments,
    #[command(flatten)]
    address: Address,
    #[command(flatten)]
    keep: Keep,
    /// This party's input: JSON, @file, @table.csv, csv:FILE for a table with any file name, or - for stdin
    #[arg(long, value_name = "VALUE", allow_negative_numbers = true)]
    input: Option<String>,
    #[command(flatten)]
    reading: Reading,
    /// This party's private key, made by `brickwork keygen`
    #[arg(long, value_name = "KEYFILE")]
    identity: Option<PathBuf>,
    /// The peer's public key, or @file
    #[arg(long, value_name = "PUBKEY")]
    peer: String,
    #[command(flatten)]
    parameters: ParameterArguments,
    #[command(flatten)]
    resources: Resources,
    #[command(flatten)]
    choice: Choice,
    #[command(flatten)]
    cut: CutArguments,
    #[command(flatten)]
    line: LineArguments,
    #[command(flatten)]
    stock: StoreArguments,
    #[command(flatten)]
    page: RunPageArguments,
}

#[derive(Args)]
pub struct EvaluatorArguments {
    #[command(flatten)]
    party: Arguments,
    #[command(flatten)]
    audit: AuditArguments,
}

impl EvaluatorArguments {
    pub fn run(&self, quiet: bool) -> Result<Report, Failure> {
        run(Party::Evaluator, &self.party, self.audit.audit.as_deref(), quiet)
    }
}

/// The task of a party: everything but the program, its key and its input.
#[derive(Clone, Serialize, Deserialize)]
pub struct PartyTask {
    pub party: Party,
    /// The public key of the peer.
    pub peer: [u8; 32],
    pub place: Endpoint,
    /// True if a listener that refuses a peer waits for another peer.
    pub keep: bool,
    pub request: RunRequest<Protocols>,
    pub store: Option<StoreRequest>,
    /// The file for the evaluator's notes about recovery.
    pub audit: Option<PathBuf>,
}

/// The way to reach the peer.
#[derive(Clone, Serialize, Deserialize)]
pub enum Endpoint {
    /// This party listens at this address.
    Listen(String),
    /// The peer listens at this address.
    Connect(String),
}

/// A line that a child prints.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Said {
    /// The child listens at this address.
    Listening(String),
    /// The run has ended.
    Done {
        /// The number of output bits.
        bits: usize,
        /// The output bits, packed.
        outputs: Vec<u8>,
        /// The report of the run.
        report: Box<brickwork::Report>,
    },
    /// The run has failed.
    Error {
        /// The exit code.
        code: u8,
        /// The message, without the hint.
        message: String,
        /// Instructions for the user.
        hint: String,
    },
}

/// The kind of process in which a party runs. It decides where the party's address is reported, and in which
/// form the output is printed.
pub enum Host<'h> {
    /// The command itself, on a terminal.
    Command { quiet: bool },
    /// A process that `brickwork run` started.
    Child { quiet: bool },
    /// A thread of a process that is not the command. `warns` is false for the first of two parties in the
    /// process.
    Embedded { listens: &'h mut dyn FnMut(SocketAddr), warns: bool },
}

impl Host<'_> {
    fn is_quiet(&self) -> bool {
        match self {
            Host::Command { quiet } | Host::Child { quiet } => *quiet,
            Host::Embedded { .. } => true,
        }
    }
}

/// Runs one party to its end. `audit` is the file for the evaluator's notes about recovery.
pub fn run(
    party: Party,
    arguments: &Arguments,
    audit: Option<&Path>,
    quiet: bool,
) -> Result<Report, Failure> {
    arguments.play(party, audit, (None, None), &mut Host::Command { quiet })
}

/// Runs one party as [`run`] does with these flags, on a thread of a process that is not the command. The
/// program, the key and the input replace those of the flags.
pub fn take_part(
    party: Party,
    flags: Vec<OsString>,
    program: Option<Program>,
    identity: Option<Identity>,
    input: Option<&str>,
    listens: &mut dyn FnMut(SocketAddr),
) -> Result<Report, Failure> {
    let (mut arguments, audit) = match party {
        Party::Garbler => (parsed::<Arguments>(flags)?, None),
        Party::Evaluator => {
            let EvaluatorArguments { party: arguments, audit } = parsed(flags)?;
            (arguments, audit.audit)
        }
    };
    arguments.program.loaded = program;
    let host = &mut Host::Embedded { listens, warns: true };
    arguments.play(party, audit.as_deref(), (identity, input), host)
}

/// Parses flags.
pub fn parsed<T: Args>(flags: Vec<OsString>) -> Result<T, Failure> {
    let command = T::augment_args(clap::Command::new("brickwork").no_binary_name(true));
    Ok(T::from_arg_matches(&command.try_get_matches_from(flags)?)?)
}

impl Arguments {
    /// Runs one party with these flags. The key and the input replace those of the flags, if they are given.
    fn play(
        &self,
        party: Party,
        audit: Option<&Path>,
        (identity, input): (Option<Identity>, Option<&str>),
        host: &mut Host,
    ) -> Result<Report, Failure> {
        let page = self.page.open()?;
        let program = programs::program(&self.program)?;
        let (identity, input) = self.secrets(party, &program, identity, input)?;
        let ran = play(&self.task(party, audit)?, &program, (&identity, &input), host)?;
        let executions = self.parameters.executions.executions;
        // The embedding program reads the output bits instead of the values.
        let (values, quiet) = (!matches!(host, Host::Embedded { .. }), host.is_quiet());
        let outputs = [(party, &ran.outputs[..])];
        let mut report = of_run((&program, executions), &outputs, &ran.report, (values, quiet));
        report.json["role"] = role(party).into();
        if let Some(page) = page {
            page.write(&report.json, Some(programs::in_cut(&program, &report.json["cut"])));
        }
        Ok(report)
    }

    /// Returns the task of a party with these flags.
    fn task(&self, party: Party, audit: Option<&Path>) -> Result<PartyTask, Failure> {
        let Arguments { parameters, resources, choice, cut, stock, line, address, keep, .. } = self;
        let store = stock.request();
        let request = request(parameters, resources, choice, cut, line.line(), store.as_ref());
        Ok(PartyTask {
            party,
            peer: files::public_key(&self.peer)?.to_bytes(),
            place: match (&address.listen, &address.connect) {
                (Some(address), _) => Endpoint::Listen(address.clone()),
                (None, Some(address)) => Endpoint::Connect(address.clone()),
                (None, None) => return Err(no_address()),
            },
            keep: keep.keep,
            request: RunRequest { audited: audit.is_some(), ..request },
            store,
            audit: audit.map(Path::to_owned),
        })
    }

    /// Returns the key and the input bits of a party. A given key or input replaces that of the flags.
    fn secrets(
        &self,
        party: Party,
        program: &Program,
        identity: Option<Identity>,
        input: Option<&str>,
    ) -> Result<(Identity, Secrets<bool>), Failure> {
        let executions = self.parameters.executions.executions;
        let input = input.or(self.input.as_deref());
        let input = reading::bits(input, program.given(), party, executions, &self.reading.given())?;
        match (identity, &self.identity) {
            (Some(identity), _) => Ok((identity, input)),
            (None, Some(path)) => Ok((files::identity(path)?, input)),
            (None, None) => Err(no_identity()),
        }
    }
}

/// Runs a party with its key and the bits of its input.
pub fn play(
    task: &PartyTask,
    program: &Program,
    (identity, input): (&Identity, &[bool]),
    host: &mut Host,
) -> Result<PartyRun, Failure> {
    let PartyTask { party, request, store, .. } = task;
    let executions = request.parameters.executions;
    let width = program.given().input_width(*party).checked_mul(executions.unwrap_or(1) as usize);
    if width != Some(input.len()) {
        return Err(Failure::fault(format!("{} input bits of another program", input.len())));
    }
    // A mistake in the flags is reported before the party listens.
    let _ = request.allowed()?;
    let audit = task.audit.as_deref().map(Audit::open).transpose()?;
    let (peer, quiet) = (PublicKey::from_bytes(task.peer), host.is_quiet());
    let part = RunPart {
        party: *party,
        request,
        given: program,
        keys: [identity.public_key(), peer],
        warns: !matches!(host, Host::Embedded { warns: false, .. }),
    };
    let open = || store.as_ref().map(StoreRequest::open).transpose();
    let options = request.resources.options(*party);
    let listener;
    let place = match &task.place {
        Endpoint::Listen(address) => {
            listener = listen_at(address, identity, peer, &options, host)?;
            Place::Listener(&listener)
        }
        Endpoint::Connect(address) => Place::Peer { address, identity, peer, options },
    };
    let ran = engine::run(&part, &open, place, task.keep, input, &watch(quiet))?;
    if let Some(audit) = audit {
        // The connection is closed: neither this nor how long it takes can be seen from there.
        audit.note(peer, &ran.program, ran.recovered);
    }
    Ok(ran)
}

/// Listens for the peer.
pub fn listen(
    address: &str,
    identity: &Identity,
    peer: PublicKey,
    options: &tls::Options,
    quiet: bool,
) -> Result<Listener, Failure> {
    listen_at(address, identity, peer, options, &mut Host::Command { quiet })
}

/// Listens for the peer, and [reports the address](told).
pub fn listen_at(
    address: &str,
    identity: &Identity,
    peer: PublicKey,
    options: &tls::Options,
    host: &mut Host,
) -> Result<Listener, Failure> {
    let listener = Listener::bind(address, identity, peer, options)?;
    told(listener.local_addr()?, host)?;
    Ok(listener)
}

/// Reports the address at which this party listens to the process that started it. A child prints it on
/// stdout.
pub fn told(address: SocketAddr, host: &mut Host) -> Result<(), Failure> {
    match host {
        Host::Command { quiet } => announce(address, *quiet),
        Host::Child { .. } => {
            crate::print(&format!("{}\n", json!(Said::Listening(address.to_string()))))?;
        }
        Host::Embedded { listens, .. } => {
            tracing::info!("waiting for the peer at {address}");
            listens(address);
        }
    }
    Ok(())
}

/// Returns a function that makes a new connection to the peer each time. A listener waits without limit, or
/// up to the timeout if the peer has connected before.
pub fn connections<'a>(
    address: &'a Address,
    identity: &'a Identity,
    peer: PublicKey,
    options: &'a tls::Options,
    quiet: bool,
) -> Result<impl Fn(Coming) -> Result<Channel, Error> + use<'a>, Failure> {
    let listener = address.listen.as_ref().map(|address| listen(address, identity, peer, options, quiet));
    let listener = listener.transpose()?;
    if listener.is_none() && address.connect.is_none() {
        return Err(no_address());
    }
    Ok(move |coming| match (&listener, coming) {
        (Some(listener), Coming::First) => listener.accept(),
        (Some(listener), Coming::Again) => {
            let until = Instant::now() + options.timeout;
            loop {
                let mut met = listener.meet(&[], Some(until))?;
                if !met.visits {
                    return Ok(met.channel);
                }
                met.channel.refuse("this side makes stock, and compares nothing")?;
            }
        }
        (None, _) => tls::connect(address.connect.as_deref().unwrap_or_default(), identity, peer, options),
    })
}

/// Tells whether the peer has connected before.
#[derive(Clone, Copy)]
pub enum Coming {
    First,
    Again,
}

pub fn no_identity() -> Failure {
    Failure::usage("--identity is missing", "`brickwork keygen` makes a key")
}

pub fn no_address() -> Failure {
    Failure::usage(
        "one of --listen and --connect is needed",
        "one party gives --listen HOST:PORT, the other one --connect with that address",
    )
}
