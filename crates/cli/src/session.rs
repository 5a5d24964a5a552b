//! `brickwork session`: one party of a computation in steps, which a file names. What both learn may decide
//! which step comes next; what a step keeps is decoded for nobody, and later steps carry it on.

use std::collections::BTreeMap;
use std::io::BufRead;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use brickwork::Error;
use brickwork::authenticated::{self, Authenticated};
use brickwork::circuit::{Component, Party, Program, Recipient, Type, value};
use brickwork::duplo::{self, Duplo, Evaluator, Garbler};
use brickwork::ot::Cot;
use brickwork::session::steps::{Secret, Step};
use brickwork::session::{PhaseReport, TABLE_MEMORY, Terms};
use brickwork::wire::Channel;
use brickwork::wire::tls::{self, Identity, PublicKey};
use brickwork_kernels::{Erasing, Secrets};
use clap::Args;
use serde::Deserialize;
use serde_json::{Value, json};
use zeroize::Zeroizing;

use crate::arguments::{Address, Protocol, Reading, Resources, security};
use crate::failure::Failure;
use crate::outcome::{outputs_text, phases_text};
use crate::party::{Host, listen_at};
use crate::preprocess::Role;
use crate::progress::Bar;
use crate::protocols::promise;
use crate::report::{Report, hex, plural};
use crate::{files, programs, resources, values};

/// Compute in steps with the peer: later steps depend on what earlier ones gave, and on what they kept secret
#[derive(Args)]
pub struct Arguments {
    /// The session: a TOML file with tables [[step]]
    file: PathBuf,
    /// Which party this is
    #[arg(long, value_name = "ROLE")]
    role: Role,
    #[command(flatten)]
    address: Address,
    /// This party's private key, made by `brickwork keygen`
    #[arg(long, value_name = "KEYFILE")]
    identity: PathBuf,
    /// The peer's public key, or @file
    #[arg(long, value_name = "PUBKEY")]
    peer: String,
    /// This party's input to a step: JSON, @file, @table.csv, or csv:table of any name. For a step that runs
    /// several times, one after the other; the last one is used again
    #[arg(long = "input", value_name = "STEP=VALUE")]
    inputs: Vec<String>,
    /// Ask on the terminal for inputs that are not given, a line of JSON for each, and show what each step
    /// gives
    #[arg(long)]
    interactive: bool,
    /// The protocol: duplo or authenticated
    #[arg(long, value_name = "NAME", default_value = "duplo")]
    protocol: Protocol,
    /// Statistical security in bits
    #[arg(long, value_name = "40|64|80", default_value = "40", hide_default_value = true,
        value_parser = security)]
    security: u32,
    #[command(flatten)]
    resources: Resources,
}

/// The file of a session.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    step: Vec<Entry>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    name: String,
    /// A program, relative to the file.
    program: PathBuf,
    /// Of input ports, `name` or `garbler.name` or `evaluator.name`, the kept output that each one takes.
    #[serde(default)]
    carry: BTreeMap<String, String>,
    /// Outputs that nobody learns. A later one of the same name takes the place of an earlier one.
    #[serde(default)]
    keep: Vec<String>,
    /// How often it may run.
    #[serde(default = "once")]
    at_most: u32,
    /// What comes next: the first of these that fits, and may run once more; else the next step of the file.
    #[serde(default)]
    next: Vec<Next>,
}

fn once() -> u32 {
    1
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Next {
    /// An output that both parties learn.
    output: Option<String>,
    /// Its value, if this is to come next; without an output it always is.
    is: Option<toml::Value>,
    /// The step, or `end`.
    step: String,
}

/// The word for what comes after the last step.
const END: &str = "end";

/// A step of the file, with its program.
struct Planned {
    entry: Entry,
    program: Arc<Program>,
    /// Of each port that carries something on the party, its name, and the name of what was kept.
    carried: Vec<(Party, String, String)>,
    next: Vec<Way>,
}

/// Where a session may go on after a step.
struct Way {
    /// An output that both parties learn, and the value that it must have; without one it always fits.
    when: Option<(String, Value)>,
    /// A place among the steps; none is the end.
    to: Option<usize>,
}

/// Reads a session, or says what is wrong with it.
fn read(path: &Path) -> Result<Vec<Planned>, Failure> {
    let wrong = |why: String| {
        Failure::input(
            format!("{}: {why}", path.display()),
            "a session holds tables [[step]] with name, program and, as needed, carry, keep, at_most and \
             next; `docs/reactive.md` has an example",
        )
    };
    let text = files::text(path)?;
    let File { step: entries } = toml::from_str(&text).map_err(|e| wrong(e.message().to_owned()))?;
    let names: Vec<String> = entries.iter().map(|entry| entry.name.clone()).collect();
    let place = |name: &str| names.iter().position(|other| other == name);
    if let Some(twice) = names.iter().enumerate().find(|(k, name)| place(name) != Some(*k) || *name == END) {
        return Err(wrong(format!(
            "step {} has a name that another one has, or that means the end",
            twice.1
        )));
    }
    let folder = path.parent().unwrap_or(Path::new(""));
    let mut steps = Vec::new();
    for entry in entries {
        let program = programs::load(&folder.join(&entry.program), &Default::default())?.apart()?;
        let of_step = |why: String| wrong(format!("step {}: {why}", entry.name));
        let carried = entry.carry.iter().map(|(port, kept)| {
            let (party, port) = port_of(&program, port).map_err(of_step)?;
            Ok((party, port, kept.clone()))
        });
        let carried = carried.collect::<Result<Vec<_>, Failure>>()?;
        let mut next = Vec::new();
        for Next { output, is, step } in &entry.next {
            let to = match step.as_str() {
                END => None,
                name => Some(place(name).ok_or_else(|| of_step(format!("there is no step {name}")))?),
            };
            let when = match (output, is) {
                (Some(output), Some(is)) => {
                    let known = |o: &&brickwork::circuit::OutputPort| {
                        o.port.name == *output && o.to == Recipient::Both && !entry.keep.contains(output)
                    };
                    if !program.outputs().iter().any(|o| known(&o)) {
                        return Err(of_step(format!("{output} is no output that both parties learn")));
                    }
                    Some((output.clone(), serde_json::to_value(is).unwrap_or_default()))
                }
                (None, None) => None,
                _ => return Err(of_step("output and is belong together".into())),
            };
            next.push(Way { when, to });
        }
        steps.push(Planned { program: Arc::new(program), carried, next, entry });
    }
    if steps.is_empty() {
        return Err(wrong("there is no step".into()));
    }
    for planned in &steps {
        planned.fits(&steps).map_err(|why| wrong(format!("step {}: {why}", planned.entry.name)))?;
    }
    Ok(steps)
}

/// Finds the port that a session names.
fn port_of(program: &Program, name: &str) -> Result<(Party, String), String> {
    let has = |party: Party, name: &str| program.input_ports(party).iter().any(|port| port.name == name);
    let of = |party| name.strip_prefix(files::role(party)).and_then(|rest| rest.strip_prefix('.'));
    let both = [Party::Garbler, Party::Evaluator];
    if let Some((party, port)) = both.into_iter().find_map(|party| Some((party, of(party)?)))
        && has(party, port)
    {
        return Ok((party, port.into()));
    }
    match both.map(|party| has(party, name)) {
        [true, false] => Ok((Party::Garbler, name.into())),
        [false, true] => Ok((Party::Evaluator, name.into())),
        [true, true] => {
            Err(format!("both parties have an input {name}; write garbler.{name} or evaluator.{name}"))
        }
        [false, false] => Err(format!("the program has no input {name}")),
    }
}

impl Planned {
    /// Whether all that it carries on is kept somewhere, always as what it takes, and all that it keeps is
    /// there.
    fn fits(&self, steps: &[Planned]) -> Result<(), String> {
        for kept in &self.entry.keep {
            self.kept_type(kept).ok_or_else(|| format!("the program has no output {kept}, or several"))?;
        }
        for (party, port, name) in &self.carried {
            let ports = self.program.input_ports(*party);
            let takes = ports.iter().find(|other| other.name == *port).map(|port| port.ty.clone());
            let keepers = steps.iter().filter(|step| step.entry.keep.contains(name));
            let kept: Vec<_> = keepers.map(|step| step.kept_type(name)).collect();
            if kept.is_empty() {
                return Err(format!("no step keeps {name}"));
            }
            if kept.iter().any(|kept| *kept != takes.as_ref()) {
                return Err(format!("{name} is kept as another type than input {port} takes"));
            }
        }
        Ok(())
    }

    fn kept_type(&self, name: &str) -> Option<&Type> {
        let mut named = self.program.outputs().iter().filter(|output| output.port.name == name);
        let found = named.next().map(|output| &output.port.ty);
        named.next().is_none().then_some(found).flatten()
    }

    /// The step, with what is kept by now.
    fn step(&self, kept: &BTreeMap<String, Secret>) -> Result<Step, Failure> {
        let mut carried = Vec::new();
        for (party, port, name) in &self.carried {
            let secret = kept.get(name).ok_or_else(|| {
                Failure::usage(
                    format!("step {} carries {name} on, which no step has kept by now", self.entry.name),
                    "a step that keeps it must come before",
                )
            })?;
            carried.push((*party, port.as_str(), secret));
        }
        let keep: Vec<&str> = self.entry.keep.iter().map(String::as_str).collect();
        Ok(Step::new(&self.program, &carried, &keep)?)
    }

    /// What it takes from the stock, as often as it may run.
    fn needs(&self) -> Needs {
        let width = |party: Party| -> usize {
            let ports = self.program.input_ports(party).iter();
            let own = ports
                .filter(|port| !self.carried.iter().any(|(p, name, _)| *p == party && *name == port.name));
            own.map(|port| port.width() as usize).sum()
        };
        let sealed = |output: &&brickwork::circuit::OutputPort| {
            output.to == Recipient::Garbler || self.entry.keep.contains(&output.port.name)
        };
        let sealed: usize =
            self.program.outputs().iter().filter(sealed).map(|output| output.wires.len()).sum();
        let times = self.entry.at_most as usize;
        let mut needs = Needs::default();
        needs.add(&self.program, times);
        needs.inputs = [width(Party::Garbler) * times, width(Party::Evaluator) * times];
        needs.sealed = sealed * times;
        needs
    }
}

/// What steps take of what is made at the beginning.
#[derive(Default)]
pub struct Needs {
    components: Vec<(Component, usize)>,
    /// Input bits of the garbler and of the evaluator.
    pub inputs: [usize; 2],
    /// Output bits that the evaluator does not learn.
    pub sealed: usize,
}

impl Needs {
    /// Adds the components of a program that runs so often.
    pub fn add(&mut self, program: &Program, times: usize) {
        for (component, slots) in program.components().iter().zip(program.slots_by_component()) {
            self.component(component, slots * times);
        }
    }

    fn component(&mut self, component: &Component, slots: usize) {
        let digest = component.digest();
        match self.components.iter_mut().find(|(known, _)| known.digest() == digest) {
            _ if slots == 0 => {}
            Some((_, sum)) => *sum += slots,
            None => self.components.push((component.clone(), slots)),
        }
    }

    /// Adds what other steps take.
    fn and(mut self, other: Needs) -> Self {
        other.components.iter().for_each(|(component, slots)| self.component(component, *slots));
        self.inputs.iter_mut().zip(other.inputs).for_each(|(sum, more)| *sum += more);
        self.sealed += other.sealed;
        self
    }

    fn of_duplo(self) -> duplo::Request {
        let Needs { components, inputs: [garblers, evaluators], sealed } = self;
        let ots = Some(evaluators).filter(|&ots| ots > 0);
        duplo::Request { components, garbler_wires: garblers + sealed, ots }
    }

    fn of_masks(self) -> authenticated::Request {
        let Needs { components, inputs, .. } = self;
        authenticated::Request { components, inputs: inputs.iter().sum() }
    }
}

/// Refuses a protocol that has no sessions in memory.
///
/// # Errors
/// A mistake of usage that says what to do.
pub fn has_sessions(protocol: Protocol) -> Result<(), Failure> {
    let name = protocol.name();
    match protocol {
        Protocol::Duplo | Protocol::Authenticated => Ok(()),
        Protocol::SemiHonest | Protocol::CompGc | Protocol::Lego | Protocol::Jimu => Err(Failure::usage(
            format!("a session of --protocol {name} runs from stock, and in Python"),
            "take --protocol duplo or authenticated, or give --store there",
        )),
    }
}

/// Names a session; both parties must have the same.
fn digest(steps: &[Planned], protocol: Protocol, security: u32) -> String {
    let mut hasher = blake3::Hasher::new_derive_key("brickwork 2026-11 session file");
    let mut add = |bytes: &[u8]| _ = hasher.update(&(bytes.len() as u64).to_le_bytes()).update(bytes);
    add(protocol.name().as_bytes());
    add(&security.to_le_bytes());
    for Planned { entry, program, carried, next } in steps {
        add(entry.name.as_bytes());
        add(&program.digest());
        add(&entry.at_most.to_le_bytes());
        // Strings, numbers and lists: nothing that has no JSON form.
        let parts = json!([
            carried
                .iter()
                .map(|(party, port, kept)| json!([files::role(*party), port, kept]))
                .collect::<Vec<_>>(),
            entry.keep,
            next.iter().map(|Way { when, to }| json!([when, to])).collect::<Vec<_>>(),
        ]);
        add(parts.to_string().as_bytes());
    }
    hex(hasher.finalize().as_bytes())
}

/// A party's inputs, step by step.
struct Inputs<'a> {
    given: BTreeMap<&'a str, Vec<&'a str>>,
    interactive: bool,
}

impl<'a> Inputs<'a> {
    fn of(arguments: &'a Arguments, steps: &[Planned]) -> Result<Self, Failure> {
        let mut given = BTreeMap::<&str, Vec<&str>>::new();
        for text in &arguments.inputs {
            let known =
                text.split_once('=').filter(|(name, _)| steps.iter().any(|step| step.entry.name == *name));
            let Some((name, value)) = known else {
                // What stands behind it may be a secret.
                let name = text.split_once('=').map_or("…", |(name, _)| name);
                let names: Vec<&str> = steps.iter().map(|step| step.entry.name.as_str()).collect();
                return Err(Failure::usage(
                    format!("--input {name}: expected STEP=VALUE"),
                    format!("the steps are {}", names.join(", ")),
                ));
            };
            given.entry(name).or_default().push(value);
        }
        Ok(Inputs { given, interactive: arguments.interactive })
    }

    /// The input to the `time`th run of a step.
    fn bits(
        &self,
        planned: &Planned,
        step: &Step,
        party: Party,
        time: usize,
    ) -> Result<Secrets<bool>, Failure> {
        let _erasing = Erasing::begin();
        let ports = step.input_ports(party);
        let name = planned.entry.name.as_str();
        let within = |failure: Failure| failure.within(&format!("step {name}"));
        if ports.is_empty() {
            return Ok(Secrets::default());
        }
        let line;
        let text = match self.given.get(name).and_then(|values| values.get(time).or(values.last())) {
            Some(text) => *text,
            None if self.interactive => {
                line = ask(name, &ports)?;
                line.trim()
            }
            None => {
                return Err(Failure::usage(
                    format!("step {name} needs an input of the {}", files::role(party)),
                    format!("give --input {name}=VALUE, or --interactive to be asked"),
                ));
            }
        };
        values::step_bits(text, &ports, party, &Reading::default()).map_err(within)
    }
}

/// Asks on the terminal for a value of these ports.
fn ask(step: &str, ports: &[brickwork::circuit::Port]) -> Result<Zeroizing<String>, Failure> {
    let ports: Vec<String> = ports.iter().map(|port| format!("{}: {}", port.name, port.ty)).collect();
    eprint!("{step}: your input ({}): ", ports.join(", "));
    let mut line = Zeroizing::new(String::new());
    let read = std::io::stdin().lock().read_line(&mut line);
    match read {
        Ok(0) => Err(Failure::usage(
            format!("step {step} needs an input, and stdin has ended"),
            "type a line of JSON",
        )),
        Ok(_) => Ok(line),
        Err(e) => Err(Failure::cannot_read("stdin", &e)),
    }
}

/// Either party of the session, between two steps.
pub enum Playing {
    Garbler(Box<Garbler>),
    Evaluator(Box<Evaluator>),
    Masked(Box<authenticated::Session>),
}

/// What a step gave.
pub struct Given {
    pub outputs: Vec<bool>,
    /// What nobody decoded, in the order of its outputs.
    pub kept: Vec<Secret>,
    /// What is promised, in its JSON form.
    pub security: Value,
}

impl Given {
    /// Leaves out what the evaluator learns beside its outputs: it depends on its inputs and shows nowhere.
    fn of_duplo(duplo::StepReport { outputs, kept, security, .. }: duplo::StepReport) -> Result<Self, Error> {
        Ok(Given { outputs, kept, security: promise(&security)? })
    }
}

impl Playing {
    pub fn begin(
        protocol: Protocol,
        party: Party,
        channel: Channel,
        terms: &Terms,
        needs: Needs,
        quiet: bool,
    ) -> Result<Self, Error> {
        if protocol == Protocol::Authenticated {
            let (bar, request) = (Bar::of::<Authenticated>(quiet), needs.of_masks());
            let session =
                authenticated::Session::begin(party, channel, terms, Cot::default(), &request, bar)?;
            return Ok(Playing::Masked(Box::new(session)));
        }
        let (bar, request) = (Bar::of::<Duplo>(quiet), needs.of_duplo());
        Ok(match party {
            Party::Garbler => {
                Playing::Garbler(Box::new(Garbler::setup(channel, terms, bar)?.fill(&request)?))
            }
            Party::Evaluator => {
                Playing::Evaluator(Box::new(Evaluator::setup(channel, terms, bar)?.fill(&request)?))
            }
        })
    }

    pub fn step(self, step: &Step, input: &[bool]) -> Result<(Given, Self), Error> {
        Ok(match self {
            Playing::Garbler(session) => {
                let (given, session) = session.run(step, input)?;
                (Given::of_duplo(given)?, Playing::Garbler(Box::new(session)))
            }
            Playing::Evaluator(session) => {
                let (given, session) = session.run(step, input)?;
                (Given::of_duplo(given)?, Playing::Evaluator(Box::new(session)))
            }
            Playing::Masked(session) => {
                let (given, session) = session.run(step, input)?;
                let authenticated::StepReport { outputs, kept, security } = given;
                let given = Given { outputs, kept, security: promise(&security)? };
                (given, Playing::Masked(Box::new(session)))
            }
        })
    }

    pub fn close(self) -> Result<Vec<PhaseReport>, Error> {
        match self {
            Playing::Garbler(session) => session.close(),
            Playing::Evaluator(session) => session.close(),
            Playing::Masked(session) => session.close(),
        }
    }
}

pub fn run(arguments: &Arguments, quiet: bool) -> Result<Report, Failure> {
    let party = Party::from(arguments.role);
    let protocol = arguments.protocol;
    has_sessions(protocol)?;
    let steps = read(&arguments.file)?;
    let inputs = Inputs::of(arguments, &steps)?;
    // All that the session takes, however it goes.
    let needs = steps.iter().map(Planned::needs).fold(Needs::default(), Needs::and);
    let peer = files::public_key(&arguments.peer)?;
    let identity = {
        let _erasing = Erasing::begin();
        files::identity(&arguments.identity)?
    };
    let keys = match party {
        Party::Garbler => [identity.public_key(), peer],
        Party::Evaluator => [peer, identity.public_key()],
    };
    let terms = Terms {
        security: arguments.security.into(),
        threads: arguments.resources.threads(),
        table_memory: TABLE_MEMORY,
        identities: keys.map(PublicKey::to_bytes),
        post_quantum: false,
    };
    let options = arguments.resources.options(party);
    let digest = digest(&steps, protocol, arguments.security);
    let channel = meet(&arguments.address, &options, &identity, peer, &digest, quiet, &mut Host::Command)?;
    let mut playing = Playing::begin(protocol, party, channel, &terms, needs, quiet)?;

    let (mut kept, mut times) = (BTreeMap::new(), vec![0; steps.len()]);
    let (mut log, mut human, mut security) = (Vec::new(), String::new(), None);
    let mut place = Some(0);
    while let Some(planned) = place.and_then(|place| steps.get(place)) {
        let name = &planned.entry.name;
        let time = place.map_or(0, |place| times[place]);
        if time == planned.entry.at_most as usize {
            return Err(Failure::usage(
                format!("step {name} ran {} and is to run once more", plural(time as u64, "time")),
                "at_most says in the session's file how often a step may run: so much is made beforehand",
            ));
        }
        let step = planned.step(&kept)?;
        let input = inputs.bits(planned, &step, party, time)?;
        times.iter_mut().skip(place.unwrap_or_default()).take(1).for_each(|times| *times += 1);
        let given;
        (given, playing) = playing.step(&step, &input)?;
        let value = value::decode(&step.program().output_ports(party), &given.outputs);
        let names = step.program().outputs().iter().filter(|output| output.to == Recipient::Nobody);
        kept.extend(names.map(|output| output.port.name.clone()).zip(given.kept));
        let said = format!("{name}: {}", outputs_text(&[(files::role(party), &value)]));
        if arguments.interactive {
            eprint!("{said}");
        }
        human += &said;
        let shared = shared(step.program(), party, &given.outputs);
        let fits = |when: &Option<(String, Value)>| {
            when.as_ref().is_none_or(|(name, is)| shared.get(name) == Some(is))
        };
        let may = |to: &Option<usize>| to.is_none_or(|to| times[to] < steps[to].entry.at_most as usize);
        place = match planned.next.iter().find(|Way { when, to }| fits(when) && may(to)) {
            Some(Way { to, .. }) => *to,
            None => place.map(|place| place + 1),
        };
        let of_step = given.security;
        log.push(json!({ "step": name, "outputs": { files::role(party): value }, "security": of_step }));
        // The weakest promise is the one that stands below all.
        let bound = |security: &Value| security["bound_log2"].as_f64().unwrap_or(0.0);
        if security.as_ref().is_none_or(|before| bound(before) < bound(&of_step)) {
            security = Some(of_step);
        }
    }
    let json = json!({
        "role": files::role(party),
        "steps": log,
        "phases": playing.close()?,
        "protocol": protocol.name(),
        "cpu_seconds": resources::cpu_seconds(),
        "peak_rss_bytes": resources::peak_rss_bytes(),
    });
    human += &phases_text(&json, quiet);
    if let Some(security) = security {
        human += &crate::protocols::played(protocol).promise_text(&security);
    }
    Ok(Report::new(json, human))
}

/// The values of the outputs that both parties learn, by name.
fn shared(program: &Program, party: Party, bits: &[bool]) -> BTreeMap<String, Value> {
    let mut bits = bits;
    let mut values = BTreeMap::new();
    for output in program.outputs_of(party) {
        let (own, rest) = bits.split_at(output.wires.len());
        bits = rest;
        if output.to == Recipient::Both {
            let value = value::decode(std::slice::from_ref(&output.port), own);
            values.insert(output.port.name.clone(), value);
        }
    }
    values
}

/// Meets the peer, who must mean the same session.
pub fn meet(
    address: &Address,
    options: &tls::Options,
    identity: &Identity,
    peer: PublicKey,
    digest: &str,
    quiet: bool,
    host: &mut Host,
) -> Result<Channel, Failure> {
    let mut met = match (&address.listen, &address.connect) {
        (None, Some(address)) => tls::meet(address, identity, peer, options, digest.as_bytes())?,
        (Some(address), _) => {
            let listener = listen_at(address, identity, peer, options, quiet, host)?;
            listener.meet(digest.as_bytes(), None)?
        }
        (None, None) => return Err(crate::party::no_address()),
    };
    if !met.visits && met.sheet == digest.as_bytes() {
        return Ok(met.channel);
    }
    let why = "the two parties have different sessions; compare the files, their programs, \
               --protocol and --security";
    // A peer that went away needs no reason.
    if let Err(e) = met.channel.refuse(why) {
        tracing::debug!("the peer was not told: {e}");
    }
    Err(Error::Mismatch(why.into()).into())
}
