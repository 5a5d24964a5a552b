//! `brickwork session`: one party of a computation in steps, which a file lists. The value of an output that
//! both parties learn may decide which step is next. Kept outputs are not decoded, and later steps can use
//! them.

mod course;

use std::collections::BTreeMap;
use std::io::BufRead;
use std::path::PathBuf;

use brickwork::Session;
use brickwork::circuit::{Party, Port, Program, Recipient};
use brickwork::engine::protocols::sessions;
use brickwork::engine::request::RunRequest;
use brickwork::engine::sessions::SessionNeeds;
use brickwork::engine::stocked::StockedProgram;
use brickwork::engine::ways::Protocols;
use brickwork::protocol::stock::Lacking;
use brickwork::protocol::{PhaseReport, Promise};
use brickwork::reading::{self, GivenValue};
use brickwork::resources;
use brickwork_kernels::{Erasing, SecretBlocks};
use clap::Args;
use course::{PlannedStep, Way};
use serde::Serialize;
use zeroize::Zeroizing;

use crate::commands::files;
use crate::flags::arguments::{Address, AgreedParameters, Protocol, ResourceFlags, RoleFlag, security};
use crate::render::failure::Failure;
use crate::render::outcome::{ShownValues, phases_text};
use crate::render::progress::watch;
use crate::render::report::{Report, hex, plural};
use crate::render::terminal::{announce, say};
use crate::render::trail::{EventKind, EventOutcome, NamedProgram, Once, PeerName, Trail, TrailEvent};

/// Compute in steps with the peer: later steps depend on earlier outputs, and on values that were kept secret
#[derive(Args)]
pub struct SessionFlags {
    /// The session: a TOML file with tables [[step]]
    file: PathBuf,
    /// The role of this party
    #[arg(long, value_name = "ROLE")]
    role: RoleFlag,
    #[command(flatten)]
    address: Address,
    /// This party's private key, made by `brickwork keygen`
    #[arg(long, value_name = "KEYFILE")]
    identity: PathBuf,
    /// The peer's public key, or @file
    #[arg(long, value_name = "PUBKEY")]
    peer: String,
    /// This party's input to a step: JSON, @file, @table.csv, or csv:FILE for a table with any file name. A
    /// step that runs several times uses one after another, and repeats the last one
    #[arg(long = "input", value_name = "STEP=VALUE")]
    inputs: Vec<String>,
    /// Ask on the terminal for missing inputs, with a line of JSON for each, and show the outputs of each
    /// step
    #[arg(long)]
    interactive: bool,
    /// The protocol: duplo or authenticated
    #[arg(long, value_name = "NAME", default_value_t = Protocol::OF_NEW_STOCK)]
    protocol: Protocol,
    /// Statistical security in bits
    #[arg(long, value_name = "40|64|80", default_value = "40", hide_default_value = true,
        value_parser = security)]
    security: u32,
    #[command(flatten)]
    resources: ResourceFlags,
}

/// The inputs of a party, step by step.
struct Inputs {
    /// For each step, the input bits of its runs. The list is empty for a step whose inputs are typed on the
    /// terminal.
    of_steps: Vec<Vec<SecretBlocks<bool>>>,
}

impl Inputs {
    /// Reads all given inputs. A wrong or missing input must not end a session that has begun.
    fn read(arguments: &SessionFlags, steps: &[PlannedStep], party: Party) -> Result<Self, Failure> {
        let mut given = BTreeMap::<&str, Vec<&str>>::new();
        for text in &arguments.inputs {
            let known =
                text.split_once('=').filter(|(name, _)| steps.iter().any(|step| step.entry.name == *name));
            let Some((name, value)) = known else {
                // The error must not contain the text after the `=`, which may be secret.
                let name = text.split_once('=').map_or("…", |(name, _)| name);
                let names: Vec<&str> = steps.iter().map(|step| step.entry.name.as_str()).collect();
                return Err(Failure::usage(
                    format!("--input {name}: expected STEP=VALUE"),
                    format!("the steps are {}", names.join(", ")),
                ));
            };
            given.entry(name).or_default().push(value);
        }
        let role = files::role(party);
        let of_step = |planned: &PlannedStep| {
            let (name, ports) = (planned.entry.name.as_str(), planned.own_ports(party));
            match (given.get(name), ports.is_empty()) {
                (None, true) => Ok(vec![SecretBlocks::default()]),
                (Some(_), true) => Err(Failure::usage(
                    format!("--input {name}: this step takes no input of the {role}"),
                    "leave it out",
                )),
                (Some(texts), false) => {
                    let bits = |text: &&str| {
                        reading::step_bits(GivenValue::Text(text), &ports, party, &Default::default())
                    };
                    let all: Result<_, brickwork::Error> = texts.iter().map(bits).collect();
                    Ok(all.map_err(|failure| failure.within(&format!("step {name}")))?)
                }
                (None, false) if arguments.interactive => Ok(Vec::new()),
                (None, false) => Err(Failure::usage(
                    format!("step {name} needs an input of the {role}"),
                    format!(
                        "give --input {name}=VALUE, or give --interactive to type the input during the \
                         session"
                    ),
                )),
            }
        };
        Ok(Inputs { of_steps: steps.iter().map(of_step).collect::<Result<_, _>>()? })
    }

    /// Returns the input of the step with this index, in its run number `time`.
    fn bits(
        &self,
        place: usize,
        planned: &PlannedStep,
        party: Party,
        time: usize,
    ) -> Result<SecretBlocks<bool>, Failure> {
        let given = self.of_steps.get(place).map_or(&[][..], Vec::as_slice);
        match given.get(time).or(given.last()) {
            Some(bits) => Ok(bits.clone()),
            None => ask_until_it_fits(&planned.entry.name, &planned.own_ports(party), party),
        }
    }
}

/// Asks on the terminal for values of these ports until they fit. So a typing mistake does not end the
/// session.
fn ask_until_it_fits(step: &str, ports: &[Port], party: Party) -> Result<SecretBlocks<bool>, Failure> {
    let _erasing = Erasing::begin();
    loop {
        let line = ask(step, ports)?;
        match reading::step_bits(GivenValue::Text(line.trim()), ports, party, &Default::default()) {
            Ok(bits) => return Ok(bits),
            Err(failure) => say(&Failure::from(failure).human()),
        }
    }
}

/// Asks on the terminal for values of these ports.
fn ask(step: &str, ports: &[Port]) -> Result<Zeroizing<String>, Failure> {
    let ports: Vec<String> = ports.iter().map(|port| format!("{}: {}", port.name, port.ty)).collect();
    say(&format!("{step}: your input ({}): ", ports.join(", ")));
    let mut line = Zeroizing::new(String::new());
    let read = std::io::stdin().lock().read_line(&mut line);
    match read {
        Ok(0) => Err(Failure::usage(
            format!("step {step} needs an input, and stdin has ended"),
            "type the input as a line of JSON",
        )),
        Ok(_) => Ok(line),
        Err(e) => Err(Failure::cannot_read("stdin", &e)),
    }
}

/// Runs a session to its end.
pub fn run(arguments: &SessionFlags, quiet: bool, trail: &Trail) -> Result<Report, Failure> {
    let party = Party::from(arguments.role);
    let protocol = arguments.protocol;
    let _ = sessions(protocol)?;
    let steps = course::read(&arguments.file)?;
    let inputs = Inputs::read(arguments, &steps, party)?;
    // The items that the whole session can take.
    let mut needs = SessionNeeds::default();
    steps.iter().for_each(|planned| planned.add_needs(&mut needs));
    let parameters = AgreedParameters {
        security: Some(arguments.security),
        ..AgreedParameters::new(Protocols::from(protocol))
    };
    let request = RunRequest { resources: arguments.resources.of_request(), ..RunRequest::new(parameters) };
    let digest = course::digest(&steps, protocol, arguments.security);
    let SessionFlags { address, identity, peer, .. } = arguments;
    let identity = {
        let _erasing = Erasing::begin();
        files::identity(identity)?
    };
    let joining = brickwork::Party::with_request(party, identity, request);
    let key = files::public_key(peer)?;
    trail.between(party, PeerName::new(key, peer));
    trail.speaks(protocol.name());
    let mut joining = joining.peer(key).at(address.endpoint()?);
    if address.listen.is_some() {
        announce(joining.bind()?, quiet);
    }
    let once = Once::new(trail);
    let session = joining.session_made(needs, &digest, None, &once.watch(watch(quiet)));
    let fill = TrailEvent::new(EventKind::Fill, EventOutcome::Done);
    once.ended(fill, &session, |_, event| event);
    let session = session?;

    let (log, human, interactive) = (Vec::new(), String::new(), arguments.interactive);
    let mut told = Told { party, interactive, log, human, promise: None, trail };
    let phases = match told.play(session, &steps, &inputs) {
        Ok(phases) => phases,
        Err(failure) => return Err(told.with(failure)),
    };
    let Told { log, mut human, promise, .. } = told;
    human += &phases_text(&phases, &[], quiet);
    if let Some(promise) = promise {
        human += &promise.to_string();
    }
    let fields = SessionFields {
        role: files::role(party),
        steps: &log,
        phases: &phases,
        protocol: protocol.name(),
        cpu_seconds: resources::cpu_seconds(),
        peak_rss_bytes: resources::peak_rss_bytes(),
    };
    Report::new(&fields, human)
}

/// The JSON fields of a session that has ended.
#[derive(Serialize)]
struct SessionFields<'s> {
    role: &'static str,
    steps: &'s [EndedStep],
    phases: &'s [PhaseReport],
    protocol: &'static str,
    cpu_seconds: f64,
    peak_rss_bytes: Option<u64>,
}

/// A step that has ended.
#[derive(Serialize)]
struct EndedStep {
    step: String,
    outputs: ShownValues,
    promise: Promise,
}

/// The results of the steps that have ended.
struct Told<'t> {
    party: Party,
    trail: &'t Trail,
    /// True if each result is shown as soon as its step ends.
    interactive: bool,
    log: Vec<EndedStep>,
    human: String,
    /// The weakest promise, which holds for the whole session.
    promise: Option<Promise>,
}

impl Told<'_> {
    /// Runs the steps to the end of the session.
    fn play(
        &mut self,
        mut session: Session,
        steps: &[PlannedStep],
        inputs: &Inputs,
    ) -> Result<Vec<PhaseReport>, Failure> {
        let party = self.party;
        let (mut kept, mut times) = (BTreeMap::new(), vec![0; steps.len()]);
        let mut place = 0;
        while let Some(planned) = steps.get(place) {
            let (name, time) = (&planned.entry.name, times[place]);
            if time == planned.entry.at_most as usize {
                return Err(Failure::usage(
                    format!(
                        "step {name} ran {}, which is its limit, and is next again",
                        plural(time as u64, "time")
                    ),
                    "at_most in the session's file limits the runs of a step, because the items of all runs \
                     are made before the first step",
                ));
            }
            let step = planned.step(&kept)?;
            let input = inputs.bits(place, planned, party, time)?;
            times[place] += 1;
            let once = Once::new(self.trail);
            let given =
                session.play(planned.program(), &StockedProgram::Step(&step), &input, Lacking::Refuse);
            let digest = hex(&step.program().digest());
            let program = Some(NamedProgram { name: name.clone(), digest });
            let event = TrailEvent { program, ..TrailEvent::new(EventKind::Run, EventOutcome::Done) };
            once.ended(event, &given, |given, event| TrailEvent {
                bound_log2: Some(given.promise.bound_log2),
                ..event
            });
            let given = given?;
            let names = step.program().outputs().iter().filter(|output| output.to == Recipient::Nobody);
            kept.extend(names.map(|output| output.port.name.clone()).zip(given.kept));
            let outputs = ShownValues::of(step.program(), None, &[(party, &given.outputs)]);
            self.add(EndedStep { step: name.clone(), outputs, promise: given.promise });
            let shared = shared(step.program(), party, &given.outputs);
            let fits = |when: &Option<(String, Vec<bool>)>| {
                when.as_ref().is_none_or(|(name, is)| shared.get(name.as_str()) == Some(&is.as_slice()))
            };
            let may = |to: &Option<usize>| to.is_none_or(|to| times[to] < steps[to].entry.at_most as usize);
            place = match planned.next.iter().find(|Way { when, to }| fits(when) && may(to)) {
                Some(Way { to: None, .. }) => break,
                Some(Way { to: Some(to), .. }) => *to,
                None => place + 1,
            };
        }
        Ok(session.close()?)
    }

    fn add(&mut self, ended: EndedStep) {
        let said = format!("{}: {}", ended.step, ended.outputs);
        if self.interactive {
            say(&said);
        }
        self.human += &said;
        if self.promise.as_ref().is_none_or(|before| before.bound_log2 < ended.promise.bound_log2) {
            self.promise = Some(ended.promise.clone());
        }
        self.log.push(ended);
    }

    /// Adds the results of the steps so far to a failure, because computing them again would need new stock.
    fn with(self, failure: Failure) -> Failure {
        if self.log.is_empty() {
            return failure;
        }
        let seen = if self.interactive { String::new() } else { self.human };
        let human = seen + &failure.human();
        failure.with_details(human, &BTreeMap::from([("steps", &self.log)]))
    }
}

/// Returns the bits of the outputs that both parties learn, by name.
fn shared<'a>(program: &'a Program, party: Party, mut bits: &'a [bool]) -> BTreeMap<&'a str, &'a [bool]> {
    let mut values = BTreeMap::new();
    for output in program.outputs_of(party) {
        let (own, rest) = bits.split_at(output.wires.len());
        bits = rest;
        if output.to == Recipient::Both {
            values.insert(output.port.name.as_str(), own);
        }
    }
    values
}
