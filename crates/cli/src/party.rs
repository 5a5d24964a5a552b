//! `brickwork garbler` and `brickwork evaluator`: one party of a computation.

use std::cell::Cell;
use std::io::{self, BufRead, Read, Write};
use std::path::PathBuf;
use std::sync::Arc;

use brickwork::Error;
use brickwork::circuit::{Party, Program};
use brickwork::cut_and_choose::at_most;
use brickwork::duplo::{self, FromStock, Limits, Proposal, SecurityReport, Stocked};
use brickwork::plan::{self, Machine};
use brickwork::session::{self, Job};
use brickwork::stock::Store;
use brickwork::wire::Channel;
use brickwork::wire::tls::{self, Identity, Listener, PublicKey};
use brickwork_kernels::Erasing;
use clap::Args;
use serde_json::{Value, json};
use zeroize::{Zeroize, Zeroizing};

use crate::arguments::{
    Address, Choice, Keep, LineArguments, Parameters, ProgramArguments, Protocol, Reading, Resources,
    public_key,
};
use crate::audit::{Audit, AuditArguments};
use crate::compile::SourceFlags;
use crate::cut::{Cut, CutArguments, Origin, Wish, gates_within};
use crate::cuts::{self, Decomposition, Pricing};
use crate::failure::{Failure, code};
use crate::meeting::Sheet;
use crate::plan::cost_json;
use crate::progress::Bar;
use crate::report::{Report, bit_string, bytes, plural, thousands};
use crate::store::StoreArguments;
use crate::{announce, files, machine, resources};

/// The arguments of either party.
#[derive(Args)]
pub struct Arguments {
    #[command(flatten)]
    program: ProgramArguments,
    #[command(flatten)]
    address: Address,
    #[command(flatten)]
    keep: Keep,
    /// This party's input: JSON, @file, @table.csv, csv:table of any name, or - for stdin
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
    parameters: Parameters,
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
    /// For `brickwork run`: key and input come from stdin, the address goes to stdout, and the end of stdin
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

/// The flags that say what a run takes and how it is done.
#[derive(Clone, Copy)]
pub struct Flags<'a> {
    pub parameters: &'a Parameters,
    pub resources: &'a Resources,
    pub choice: &'a Choice,
    pub cut: &'a Wish,
    pub line: &'a LineArguments,
    pub stock: &'a StoreArguments,
}

/// What a party works on, but for its input.
pub struct Work<'a> {
    pub party: Party,
    pub flags: Flags<'a>,
    pub origin: Origin<'a>,
    pub job: Job,
    /// What is free or allowed.
    pub memory: Option<u64>,
}

/// Runs one party to its end. An evaluator notes in `audit` what must not show.
pub fn run(
    party: Party,
    arguments: &Arguments,
    audit: Option<Audit>,
    quiet: bool,
) -> Result<Report, Failure> {
    // Of a source's warnings the parent has told.
    let program = match arguments.leash {
        true => {
            files::load_with(
                &arguments.program.file,
                &arguments.program.map.parties(),
                &SourceFlags::default(),
            )?
            .0
        }
        false => files::program(&arguments.program)?,
    };
    let executions = arguments.parameters.executions.executions;
    let peer = public_key(&arguments.peer)?;
    let (identity, input) = secrets(arguments, &program, party)?;
    let flags = Flags {
        parameters: &arguments.parameters,
        resources: &arguments.resources,
        choice: &arguments.choice,
        cut: &arguments.cut.cut,
        line: &arguments.line,
        stock: &arguments.stock,
    };
    let source = SourceFlags::default();
    let origin = Origin { path: &arguments.program.file, flags: &source, given: &program };
    let work = Work::new(party, flags, origin, identity.public_key(), peer)?;

    let Protocol::Duplo = arguments.parameters.protocol;
    let stock = &arguments.stock;
    let mut store = stock.store.as_ref().map(|directory| stock.open(directory)).transpose()?;
    let estimate = if store.is_some() { None } else { Some(Estimate::of(&flags)?) };
    let proposal = match party {
        Party::Garbler => Some(work.proposal(store.as_ref(), estimate.as_ref())?),
        Party::Evaluator => None,
    };

    let options = arguments.resources.options(party);
    let sheet = Sheet::of(&work, proposal.as_ref(), false)?;
    let place = match (&arguments.address.listen, &arguments.address.connect) {
        (Some(address), _) => {
            Place::Listener(listen(address, &identity, peer, &options, quiet, arguments.leash)?)
        }
        (None, Some(address)) => Place::Peer(address),
        (None, None) => return Err(no_address()),
    };
    let (result, cpu_seconds) = loop {
        let channel = match &place {
            Place::Listener(listener) => {
                let (proposal, store) = (proposal.as_ref(), store.as_ref());
                let waiting = Waiting { work: &work, sheet: &sheet, proposal, store };
                waiting.for_the_peer(listener, arguments.keep.keep)?
            }
            Place::Peer(address) => {
                let mut met = tls::meet(address, &identity, peer, &options, &sheet.encoded())?;
                work.agree_to_run(&sheet, &mut met)?;
                met.channel
            }
        };
        let mut bar = Bar::new(quiet);
        let cpu_before = resources::cpu_seconds();
        let result = match &proposal {
            Some(proposal) => work.garble(channel, proposal, &input, store.as_mut(), &mut bar),
            None => work.evaluate(channel, &input, store.as_mut(), &mut bar),
        };
        match result {
            // This party agreed, and the peer did not.
            Err(e @ Error::Refused(_)) if arguments.keep.keep => say_refused(&e),
            result => break (result?, resources::cpu_seconds() - cpu_before),
        }
    };
    if let Some(audit) = audit {
        // The connection is closed: neither this nor how long it takes can be seen from there.
        audit.note(peer, &work.job.program.digest(), result.recovered);
    }
    let value = files::output_value(&program, party, executions, &result.outputs);
    let predicted = estimate.map(|estimate| estimate.predict(&result)).unwrap_or_default();
    let mut report = report(party, &value, &result, predicted, quiet);
    if store.is_some() {
        report.json["made_on_the_spot"] = result.made.into();
    }
    report.json["cpu_seconds"] = cpu_seconds.into();
    report.json["peak_rss_bytes"] = resources::peak_rss_bytes().into();
    Ok(report)
}

/// A party that listens, and what it answers to those who come.
struct Waiting<'a> {
    work: &'a Work<'a>,
    sheet: &'a Sheet,
    proposal: Option<&'a Proposed>,
    store: Option<&'a Store>,
}

impl Waiting<'_> {
    /// Waits for the peer, and answers its visits. If it is to `keep` waiting, a peer that does not fit is
    /// told why and does not end that; nothing has begun then, and nothing that depends on a secret was sent.
    fn for_the_peer(&self, listener: &Listener, keep: bool) -> Result<Channel, Failure> {
        let sheet = self.sheet.encoded();
        loop {
            let agreed = listener.meet(&sheet, None).and_then(|mut met| match met.visits {
                true => {
                    match self.work.compare(self.sheet, &mut met, self.proposal, self.store) {
                        Ok(same) => tracing::info!("the peer has compared: {same}"),
                        Err(e) => tracing::warn!("the peer has compared: {e}"),
                    }
                    Ok(None)
                }
                false => self.work.agree_to_run(self.sheet, &mut met).map(|()| Some(met.channel)),
            });
            match agreed {
                Ok(Some(channel)) => return Ok(channel),
                Ok(None) => {}
                Err(e @ (Error::Mismatch(_) | Error::Io(_))) if keep => say_refused(&e),
                Err(e) => return Err(e.into()),
            }
        }
    }
}

/// Where the peer is met.
enum Place<'a> {
    Listener(Listener),
    Peer(&'a str),
}

fn say_refused(why: &Error) {
    tracing::warn!("refused the peer: {why}; waiting for it to come again");
}

/// What the garbler proposes.
pub struct Proposed {
    pub cut: Cut,
    pub program: Arc<Program>,
    /// Where all is made for this run.
    pub parameters: Option<duplo::Parameters>,
    /// Seconds in which the evaluator will make this cut.
    seconds: f64,
    /// Bytes that the garbler needs, and the evaluator, as far as it is known.
    pub garbler_memory: Option<u64>,
    pub evaluator_memory: Option<u64>,
}

/// What a run gave.
struct Done {
    cut: Cut,
    program: Arc<Program>,
    /// Seconds in which the evaluator made the cut.
    cutting: f64,
    outputs: Vec<bool>,
    phases: Vec<session::PhaseReport>,
    security: SecurityReport,
    /// Depends on the evaluator's input, where the garbler cheats: for the audit file alone.
    recovered: bool,
    /// Where all was made for this run.
    parameters: Option<duplo::Parameters>,
    /// What the stock lacked, in words.
    made: Option<String>,
}

impl Done {
    fn at_once(report: duplo::Report, cut: Cut, cutting: f64) -> Self {
        let duplo::Report {
            outputs,
            phases,
            security,
            recovered,
            proposal: Proposal { program, parameters },
        } = report;
        Done {
            cut,
            program,
            cutting,
            outputs,
            phases,
            security,
            recovered,
            parameters: Some(parameters),
            made: None,
        }
    }
}

impl<'a> Work<'a> {
    /// What a party works on that has these flags and keys.
    pub fn new(
        party: Party,
        flags: Flags<'a>,
        origin: Origin<'a>,
        own: PublicKey,
        peer: PublicKey,
    ) -> Result<Self, Failure> {
        let keys = match party {
            Party::Garbler => [own, peer],
            Party::Evaluator => [peer, own],
        };
        let job = Job {
            program: Arc::new(files::repeated(origin.given, flags.parameters.executions.executions)?),
            security: flags.parameters.security,
            threads: flags.resources.threads(),
            table_memory: session::TABLE_MEMORY,
            identities: keys.map(PublicKey::to_bytes),
        };
        let memory = flags.resources.max_ram.or_else(resources::available_bytes);
        Ok(Work { party, flags, origin, job, memory })
    }

    /// How often the program is evaluated, if that was said.
    pub fn executions(&self) -> Option<u32> {
        self.flags.parameters.executions.executions
    }

    /// What this garbler proposes: a cut that is in stock, or else the best one that is made for the
    /// occasion.
    pub fn proposal(&self, store: Option<&Store>, estimate: Option<&Estimate>) -> Result<Proposed, Failure> {
        let Work { flags, origin, job, .. } = self;
        let (executions, wish) = (self.executions(), flags.cut);
        let Some(Estimate { machine, link }) = estimate else {
            let is_there = |program: &Program| -> Result<bool, Failure> {
                let Some(store) = store else { return Ok(true) };
                Ok(duplo::in_stock(store, self.party, &job.terms(), &files::repeated(program, executions)?)?)
            };
            let (cut, program) = match wish {
                Wish::Fixed(cut) => (cut.clone(), origin.make(cut, gates_within(self.memory))?),
                Wish::Fastest => cuts::in_stock(origin, is_there)?,
            };
            let program = Arc::new(files::repeated(&program, executions)?);
            return Ok(Proposed {
                cut,
                program,
                parameters: None,
                seconds: 0.0,
                garbler_memory: None,
                evaluator_memory: None,
            });
        };
        let pricing = Pricing { executions, security: job.security, choice: flags.choice, machine, link };
        let Decomposition { cut, program, parameters, cost, seconds, .. } =
            cuts::choose(wish, origin, &pricing, self.memory)?;
        let memory = cost.garbler_memory_bytes;
        match flags.resources.max_ram {
            Some(limit) if memory > limit => Err(Failure::new(
                code::OTHER,
                format!(
                    "this takes some {} of memory here, and --max-ram allows {}",
                    bytes(memory),
                    bytes(limit)
                ),
                "choose fewer --executions, or smaller components; `brickwork plan` shows what takes how much",
            )),
            _ => Ok(Proposed {
                cut,
                program: Arc::new(program),
                parameters: Some(parameters),
                seconds,
                garbler_memory: Some(memory),
                evaluator_memory: Some(cost.evaluator_memory_bytes),
            }),
        }
    }

    fn garble(
        &self,
        channel: Channel,
        proposed: &Proposed,
        input: &[bool],
        store: Option<&mut Store>,
        bar: &mut Bar,
    ) -> Result<Done, Error> {
        let Proposed { cut, program, parameters, seconds, .. } = proposed;
        match (store, parameters) {
            (None, Some(parameters)) => {
                let proposal = Proposal { program: program.clone(), parameters: parameters.clone() };
                let report = duplo::garbler_proposing(channel, &self.job, &proposal, input, bar)?;
                Ok(Done::at_once(report, cut.clone(), *seconds))
            }
            (Some(store), _) => {
                let session =
                    Stocked::open_proposing(channel, store, &self.job.terms(), program, &cut.name(), bar)?;
                self.run_on_stock(session, cut.clone(), program.clone(), input)
            }
            (None, None) => Err(Error::Usage("there is neither a store nor a plan".into())),
        }
    }

    fn evaluate(
        &self,
        channel: Channel,
        input: &[bool],
        store: Option<&mut Store>,
        bar: &mut Bar,
    ) -> Result<Done, Error> {
        let (cutting, executions) = (Cell::new(0.0), self.executions());
        let decompose = |name: &str| {
            let begun = resources::cpu_seconds();
            let program = self.origin.accept(self.flags.cut, name, self.memory, executions);
            cutting.set(resources::cpu_seconds() - begun);
            program
        };
        let cut = |name: &str| Cut::of_name(name).map_err(Error::Mismatch);
        match store {
            Some(store) => {
                let session = Stocked::open(self.party, channel, store, &self.job.terms(), bar)?;
                let (program, name) = session.proposed(&self.job.program, Some(&decompose))?;
                self.run_on_stock(session, cut(&name)?, program, input)
            }
            None => {
                let limits = Limits { memory_bytes: self.memory, decompose: Some(&decompose) };
                let report = duplo::evaluator_within(channel, &self.job, &limits, input, bar)?;
                let cut = cut(&report.proposal.parameters.decomposition)?;
                Ok(Done::at_once(report, cut, cutting.get()))
            }
        }
    }

    /// Runs the program on stock.
    fn run_on_stock(
        &self,
        session: Stocked,
        cut: Cut,
        program: Arc<Program>,
        input: &[bool],
    ) -> Result<Done, Error> {
        let (done, session) = session.expect(&program)?.run(&program, input, self.flags.stock.lacking())?;
        let FromStock { outputs, recovered, security, made } = done;
        let (made, phases) = (made.map(|made| made.to_string()), session.close()?);
        Ok(Done { cut, program, cutting: 0.0, outputs, phases, security, recovered, parameters: None, made })
    }
}

/// What a run will take: the garbler proposes by it, and both parties compare it with what the run took.
pub struct Estimate {
    machine: Machine,
    link: plan::Link,
}

impl Estimate {
    pub fn of(flags: &Flags) -> Result<Self, Failure> {
        let machine = machine::at_hand()?.with_threads(flags.resources.threads);
        Ok(Estimate { machine, link: flags.line.link().with_lanes(flags.resources.lanes) })
    }

    fn predict(&self, done: &Done) -> Value {
        let cost = done
            .parameters
            .as_ref()
            .map(|parameters| duplo::cost::predict(&done.program, parameters, &self.machine, &self.link));
        cost.map_or(Value::Null, |cost| cost_json(&cost.with_work("preprocess", done.cutting)))
    }
}

/// What a party needs to know, and nobody else may: who it is, and the bits of its input.
fn secrets(
    arguments: &Arguments,
    program: &Program,
    party: Party,
) -> Result<(Identity, Zeroizing<Vec<bool>>), Failure> {
    let _erasing = Erasing::begin();
    let (identity, input) =
        if arguments.leash { from_parent()? } else { from_files(arguments, program, party)? };
    Ok((identity, files::input_bits(program, party, arguments.parameters.executions.executions, &input)?))
}

fn from_files(arguments: &Arguments, program: &Program, party: Party) -> Result<(Identity, Value), Failure> {
    let path = arguments.identity.as_ref().ok_or_else(|| {
        Failure::usage(
            "--identity is missing",
            "`brickwork keygen -o KEYFILE` makes a key; give --identity KEYFILE",
        )
    })?;
    let executions = arguments.parameters.executions.executions;
    let input = files::value(arguments.input.as_deref(), program, party, executions, &arguments.reading)?;
    Ok((files::identity(path)?, input))
}

/// Listens for the peer. On a leash the address goes to stdout.
fn listen(
    address: &str,
    identity: &Identity,
    peer: PublicKey,
    options: &tls::Options,
    quiet: bool,
    leash: bool,
) -> Result<Listener, Failure> {
    let listener = Listener::bind(address, identity, peer, options)?;
    if leash {
        crate::print(&format!("{}\n", json!({ "listening": listener.local_addr()?.to_string() })))?;
    } else {
        announce(&listener, quiet)?;
    }
    Ok(listener)
}

/// Connects to the peer.
pub fn connect(
    address: &Address,
    identity: &Identity,
    peer: PublicKey,
    options: &tls::Options,
    quiet: bool,
) -> Result<Channel, Failure> {
    match (&address.listen, &address.connect) {
        (Some(address), _) => Ok(listen(address, identity, peer, options, quiet, false)?.accept()?),
        (None, Some(address)) => Ok(tls::connect(address, identity, peer, options)?),
        (None, None) => Err(no_address()),
    }
}

fn no_address() -> Failure {
    Failure::usage(
        "one of --listen and --connect is needed",
        "one party gives --listen HOST:PORT, the other one --connect with that address",
    )
}

fn report(party: Party, value: &Value, result: &Done, predicted: Value, quiet: bool) -> Report {
    let role = files::role(party);
    let json = json!({
        "role": role,
        "outputs": { role: value },
        "output_bits": { role: bit_string(&result.outputs) },
        "phases": result.phases,
        "predicted": predicted,
        "security": result.security,
        "cut": result.cut.to_string(),
        "and_gates": result.program.and_gates(),
        "protocol": "duplo",
    });
    let human = outputs_text(&[(role, value)])
        + &phases_text(&json, quiet)
        + &cut_text(&json)
        + &security_text(&result.security);
    Report::new(json, human)
}

/// A line for each party's output.
pub fn outputs_text(outputs: &[(&str, &Value)]) -> String {
    let line = |(role, value): &(&str, &Value)| match value {
        Value::Null => format!("The {role} learns nothing.\n"),
        value => format!("The {role} learns {value}\n"),
    };
    outputs.iter().map(line).collect()
}

/// The cut of a report in its JSON form, if the file says another one.
pub fn cut_text(report: &Value) -> String {
    match report["cut"].as_str() {
        None | Some("given") => String::new(),
        Some(cut) => format!("Cut: {cut} (`brickwork plan` shows others)\n"),
    }
}

/// The phases of a report in its JSON form, which is the same whether this process ran them or a child, with
/// what was predicted of them; nothing for a user who wants quiet.
pub fn phases_text(report: &Value, quiet: bool) -> String {
    if quiet {
        return String::new();
    }
    let phases = |of: &Value| of["phases"].as_array().cloned().unwrap_or_default();
    let seconds = |phase: &Value| phase["seconds"].as_f64().unwrap_or_default();
    let predicted = phases(&report["predicted"]);
    let mut text = String::new();
    for phase in phases(report) {
        let number = |field: &str| phase[field].as_u64().unwrap_or_default();
        let expected = predicted.iter().find(|other| other["name"] == phase["name"]);
        text += &format!(
            "  {:10} {:8.3} s{}   garbler sent {}, evaluator {}\n",
            phase["name"].as_str().unwrap_or_default(),
            seconds(&phase),
            expected.map_or(String::new(), |expected| format!(" ({:.3} predicted)", seconds(expected))),
            bytes(number("garbler_sent_bytes")),
            bytes(number("evaluator_sent_bytes"))
        );
    }
    text
}

fn security_text(security: &SecurityReport) -> String {
    serde_json::to_value(security).map(|value| security_json_text(&value)).unwrap_or_default()
}

/// The promise of a run, from its JSON form.
pub fn security_json_text(security: &Value) -> String {
    let word = |field: &str| security[field].as_str().unwrap_or_default().to_owned();
    let mut text = format!(
        "Security: {}; a cheating garbler succeeds with probability at most {} (asked for: 2^-{}); {:.0}-bit computational security; commitments {} {}\n",
        word("model"),
        at_most(security["bound_log2"].as_f64().unwrap_or_default()),
        security["statistical_bits"],
        security["computational_bits"].as_f64().unwrap_or_default(),
        word("commitments"),
        security["code"],
    );
    if let Some(bound) = security["epoch_bound_log2"].as_f64() {
        text += &format!("  all programs from this part of the stock together: at most {}\n", at_most(bound));
    }
    let components = security["components"].as_array().map(Vec::as_slice).unwrap_or_default();
    for batch in components.iter().chain([&security["key_authenticators"], &security["input_authenticators"]])
    {
        let number = |field: &str| batch[field].as_u64().unwrap_or_default();
        let slots = plural(number("slots"), "bucket");
        let (size, copies, opened) =
            (number("bucket_size"), plural(number("copies"), "copy"), thousands(number("opened")));
        text += &format!(
            "  {}: {slots} of {size}, {copies}, {opened} of them opened\n",
            batch["name"].as_str().unwrap_or_default()
        );
    }
    text
}

/// Longest line that a parent sends: a key and an input.
const MAX_LINE_BYTES: u64 = 1 << 30;

/// What the parent sends as the one line of stdin.
pub fn to_child(pem: &str, input: &Value) -> Zeroizing<String> {
    Zeroizing::new(format!("{}\n", json!({ "identity": pem, "input": input })))
}

/// Reads what [`to_child`] wrote. From now on the end of stdin is the end of the parent, and of this process.
fn from_parent() -> Result<(Identity, Value), Failure> {
    let broken = || {
        Failure::usage(
            "--leash is for `brickwork run` alone",
            "leave it out, and give --input and --identity",
        )
    };
    let mut line = Zeroizing::new(String::new());
    io::stdin().lock().take(MAX_LINE_BYTES).read_line(&mut line).map_err(|_| broken())?;
    std::thread::spawn(|| {
        let mut rest = [0; 64];
        while matches!(io::stdin().lock().read(&mut rest), Ok(1..)) {}
        std::process::exit(code::NETWORK.into());
    });
    let mut value: Value = serde_json::from_str(&line).map_err(|_| broken())?;
    let Some(Value::String(pem)) = value.get_mut("identity") else { return Err(broken()) };
    let identity = Identity::from_pem(pem)?;
    pem.zeroize();
    Ok((identity, value["input"].take()))
}

/// A stream that is gone is no reason to panic.
pub fn write_to(stream: &mut impl Write, text: &str) -> io::Result<()> {
    stream.write_all(text.as_bytes())?;
    stream.flush()
}
