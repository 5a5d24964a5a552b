//! `brickwork garbler` and `brickwork evaluator`: one party of a computation.

use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Instant;

use brickwork::circuit::{self, Party};
use brickwork::engine::request::RunRequest;
use brickwork::engine::run::{self as engine, Place, Ran};
use brickwork::engine::ways::Part;
use brickwork::program::gates_within;
use brickwork::resources;
use brickwork::wire::Channel;
use brickwork::wire::tls::{self, Identity, Listener, PublicKey};
use brickwork::{ProtocolError as Error, SourceOptions};
use brickwork_kernels::Secrets;
use clap::Args;
use serde_json::{Value, json};
use zeroize::Zeroizing;

use crate::arguments::CutArguments;
use crate::arguments::{
    Address, Choice, Keep, LineArguments, ParameterArguments, ProgramArguments, Reading, Resources, request,
};
use crate::audit::{Audit, AuditArguments};
use crate::failure::Failure;
use crate::outcome::{cost_json, cut_text, outputs_text, phases_text, promise_text, protocol_text};
use crate::page::RunPageArguments;
use crate::progress::watch;
use crate::report::{Report, bit_string};
use crate::store::StoreArguments;
use crate::terminal::announce;
use crate::{files, leash, programs, values};

/// The arguments of either party.
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
    #[arg(long, value_name = "KEYFILE", required_unless_present = "leash")]
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
    /// For `brickwork run`: key and input come from stdin, and the address goes to stdout. The end of stdin
    /// ends the process, so that it does not outlive its parent.
    #[arg(long, hide = true, conflicts_with_all = ["identity", "input"])]
    leash: bool,
}

/// The arguments of an evaluator.
#[derive(Args)]
pub struct EvaluatorArguments {
    #[command(flatten)]
    party: Arguments,
    #[command(flatten)]
    audit: AuditArguments,
}

impl EvaluatorArguments {
    pub fn run(&self, quiet: bool) -> Result<Report, Failure> {
        run(Party::Evaluator, &self.party, self.audit.open()?, quiet)
    }
}

/// The surroundings of a party: the source of its secrets, and the receiver of its address.
pub enum Host<'h> {
    /// The command itself, with its flags, files and terminal.
    Command,
    /// Another process of this program, which `brickwork run` started.
    Leash,
    /// A thread of a process that is not the command.
    Embedded { secrets: Given, listens: &'h mut dyn FnMut(SocketAddr) },
}

/// A party's secrets that do not come from flags.
pub enum Given {
    /// The key, and the bits of the input.
    All(Identity, Secrets<bool>),
    /// A key, unless it is in a file; and an input in the form of a flag's value, if there is one.
    Some(Option<Identity>, Option<Zeroizing<String>>),
}

/// Runs one party to its end. An evaluator writes to `audit` what must not show elsewhere.
pub fn run(
    party: Party,
    arguments: &Arguments,
    audit: Option<Audit>,
    quiet: bool,
) -> Result<Report, Failure> {
    let host = if arguments.leash { Host::Leash } else { Host::Command };
    take_part(party, arguments, audit, quiet, host)
}

/// Does the same as [`run`] according to these flags, in these surroundings, with the named program if it was
/// read before.
pub fn take_part_by(
    party: Party,
    flags: Vec<OsString>,
    program: Option<brickwork::Program>,
    host: Host,
) -> Result<Report, Failure> {
    let (mut arguments, audit) = match party {
        Party::Garbler => (parsed::<Arguments>(flags)?, None),
        Party::Evaluator => {
            let EvaluatorArguments { party: arguments, audit } = parsed(flags)?;
            (arguments, audit.open()?)
        }
    };
    arguments.program.loaded = program;
    take_part(party, &arguments, audit, true, host)
}

/// Parses these flags as arguments.
pub fn parsed<T: Args>(flags: Vec<OsString>) -> Result<T, Failure> {
    let command = T::augment_args(clap::Command::new("brickwork").no_binary_name(true));
    Ok(T::from_arg_matches(&command.try_get_matches_from(flags)?)?)
}

/// Does the same as [`run`], in any surroundings.
fn take_part(
    party: Party,
    arguments: &Arguments,
    audit: Option<Audit>,
    quiet: bool,
    mut host: Host,
) -> Result<Report, Failure> {
    let page = arguments.page.open()?;
    // The parent has shown the warnings of a source.
    let program = match arguments.leash {
        true => programs::read(&arguments.program, &SourceOptions::default())?,
        false => programs::program(&arguments.program)?,
    };
    let executions = arguments.parameters.executions.executions;
    let peer = files::public_key(&arguments.peer)?;
    // If both parties are in one process, only the evaluator shows warnings to their user.
    let warns = party == Party::Evaluator || !matches!(host, Host::Embedded { secrets: Given::All(..), .. });
    let (identity, input) = secrets(arguments, program.given(), party, &mut host)?;
    let Arguments { parameters, resources, choice, cut, stock, .. } = arguments;
    let request = RunRequest {
        audited: audit.is_some(),
        ..request(parameters, resources, choice, cut, arguments.line.line(), stock)
    };
    let keys = [identity.public_key(), peer];
    let part = Part { party, request: &request, given: &program, keys, warns };
    let open = || stock.store.as_ref().map(|directory| stock.open(directory)).transpose();

    let options = arguments.resources.options(party);
    // A mistake of the flags shows before anybody listens.
    let _ = request.allowed()?;
    let listener;
    let place = match (&arguments.address.listen, &arguments.address.connect) {
        (Some(address), _) => {
            listener = listen_at(address, &identity, peer, &options, quiet, &mut host)?;
            Place::Listener(&listener)
        }
        (None, Some(address)) => Place::Peer { address, identity: &identity, peer, options },
        (None, None) => return Err(no_address()),
    };
    let ran = engine::run(&part, &open, place, arguments.keep.keep, &input, &watch(quiet))?;
    if let Some(audit) = audit {
        // The connection is closed: neither this nor how long it takes can be seen from there.
        audit.note(peer, &ran.program, ran.done.recovered);
    }
    let value = match host {
        // An embedding program reads the bits.
        Host::Embedded { .. } => Value::Null,
        _ => values::output_value(program.given(), party, executions, &ran.done.outputs),
    };
    let mut report = report(party, &value, &ran, quiet);
    if let Some(made) = ran.done.made {
        report.json["made_on_the_spot"] = made.into();
    }
    report.json["cpu_seconds"] = ran.cpu_seconds.into();
    report.json["peak_rss_bytes"] = resources::peak_rss_bytes().into();
    if let Some(page) = page {
        let memory = request.resources.max_ram.or_else(resources::available_bytes);
        page.write(
            &report.json,
            Some(program.cut(&ran.done.cut, gates_within(memory)).map_err(Failure::from)),
        );
    }
    Ok(report)
}

/// Returns the party's secrets: its key, and the bits of its input.
fn secrets(
    arguments: &Arguments,
    program: &circuit::Program,
    party: Party,
    host: &mut Host,
) -> Result<(Identity, Secrets<bool>), Failure> {
    let executions = arguments.parameters.executions.executions;
    let read = |identity: Option<Identity>, input: Option<&str>| {
        let input = values::bits(input, program, party, executions, &arguments.reading)?;
        match (identity, &arguments.identity) {
            (Some(identity), _) => Ok((identity, input)),
            (None, Some(path)) => Ok((files::identity(path)?, input)),
            (None, None) => Err(Failure::usage("--identity is missing", "`brickwork keygen` makes a key")),
        }
    };
    let (identity, input) = match host {
        Host::Command => return read(None, arguments.input.as_deref()),
        Host::Leash => leash::from_parent()?,
        Host::Embedded { secrets, .. } => match std::mem::replace(secrets, Given::Some(None, None)) {
            Given::All(identity, input) => (identity, input),
            Given::Some(identity, input) => {
                let input = input.as_ref().map(|input| input.as_str());
                return read(identity, input.or(arguments.input.as_deref()));
            }
        },
    };
    // The reader of the input used the same program.
    match program.input_width(party).checked_mul(executions.unwrap_or(1) as usize) == Some(input.len()) {
        true => Ok((identity, input)),
        false => Err(Failure::fault(format!("{} input bits of another program", input.len()))),
    }
}

/// Listens for the peer.
pub fn listen(
    address: &str,
    identity: &Identity,
    peer: PublicKey,
    options: &tls::Options,
    quiet: bool,
) -> Result<Listener, Failure> {
    listen_at(address, identity, peer, options, quiet, &mut Host::Command)
}

/// Listens for the peer, and reports the address to the process that started this party. With `--leash` the
/// address goes to stdout.
pub fn listen_at(
    address: &str,
    identity: &Identity,
    peer: PublicKey,
    options: &tls::Options,
    quiet: bool,
    host: &mut Host,
) -> Result<Listener, Failure> {
    let listener = Listener::bind(address, identity, peer, options)?;
    match host {
        Host::Command => announce(&listener, quiet)?,
        Host::Leash => {
            crate::print(&format!("{}\n", json!({ "listening": listener.local_addr()?.to_string() })))?;
        }
        Host::Embedded { listens, .. } => {
            let address = listener.local_addr()?;
            tracing::info!("waiting for the peer at {address}");
            listens(address);
        }
    }
    Ok(listener)
}

/// Returns a function that connects to the peer, each time anew. A listener waits without limit, or for the
/// timeout if the peer is expected to connect again.
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
                met.channel.refuse("nobody compares anything here; stock is being made")?;
            }
        }
        (None, _) => tls::connect(address.connect.as_deref().unwrap_or_default(), identity, peer, options),
    })
}

/// States whether the peer has connected before.
#[derive(Clone, Copy)]
pub enum Coming {
    First,
    Again,
}

pub fn no_address() -> Failure {
    Failure::usage(
        "one of --listen and --connect is needed",
        "one party gives --listen HOST:PORT, the other one --connect with that address",
    )
}

fn report(party: Party, value: &Value, ran: &Ran, quiet: bool) -> Report {
    let role = files::role(party);
    let Ran { done, parameters, reason, .. } = ran;
    // The prediction rests on an elliptic curve.
    let predicted = done.predicted.as_ref().filter(|_| !parameters.post_quantum).map(cost_json);
    let json = json!({
        "role": role,
        "outputs": { role: value },
        "output_bits": { role: bit_string(&done.outputs) },
        "phases": done.phases,
        "predicted": predicted,
        "promise": done.promise,
        "cut": done.cut.to_string(),
        "and_gates": done.and_gates,
        "protocol": parameters.protocol.name(),
        "protocol_reason": reason,
        "post_quantum": parameters.post_quantum,
    });
    let human = outputs_text(&[(role, value)])
        + &phases_text(&json, quiet)
        + &cut_text(&json)
        + &protocol_text(&json)
        + &promise_text(&json);
    Report::new(json, human)
}
