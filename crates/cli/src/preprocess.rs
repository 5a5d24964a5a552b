//! `brickwork preprocess`: one party of making stock, before anybody knows the programs.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use brickwork::circuit::{Component, Party, Program};
use brickwork::compgc::{self, CompGc};
use brickwork::duplo::{self, Duplo, Request};
use brickwork::lego::{self, Lego};
use brickwork::semi_honest::{self, SemiHonest};
use brickwork::session::stock::{Lacking, Preprocessed};
use brickwork::session::{PhaseReport, TABLE_MEMORY, Terms};
use brickwork::stock::Store;
use brickwork::wire::Channel;
use brickwork::wire::tls::PublicKey;
use clap::{Args, ValueEnum};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::arguments::{Address, Map, Protocol, Resources, SECURITY, security};
use crate::failure::Failure;
use crate::outcome::phases_text;
use crate::party::connect;
use crate::progress::Bar;
use crate::protocols::promise;
use crate::report::{Report, plural};
use crate::store::KeyArguments;
use crate::{files, programs, protocols};

/// Make stock with the peer: garbled components, checked and ready for any program
#[derive(Args)]
pub struct Arguments {
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
    /// The folder of the store; it is made if there is none
    #[arg(long, value_name = "DIR")]
    store: PathBuf,
    #[command(flatten)]
    key: KeyArguments,
    /// A component and how often programs will use it, such as aes.bwp:sbox=1600; without a name, all
    /// components of the program, for so many executions
    #[arg(long = "component", value_name = "FILE[:NAME]=COUNT")]
    components: Vec<String>,
    /// A TOML file that lists components, as tables [[component]] with file, name and count
    #[arg(long, value_name = "FILE")]
    list: Option<PathBuf>,
    /// Make no authenticators for inputs and private outputs, and no OTs
    #[arg(long)]
    no_inputs: bool,
    /// Make no OTs; they are then made when a program is built
    #[arg(long)]
    no_ots: bool,
    #[command(flatten)]
    map: Map,
    /// With lego: also build the programs of all components, COUNT of each, so that a run takes the inputs
    /// alone; with =N for runs of N --executions each, COUNT/N of them
    #[arg(long, value_name = "N", num_args = 0..=1, require_equals = true, default_missing_value = "1")]
    build: Option<std::num::NonZeroU32>,
    /// The protocol whose stock is made: of semi-honest its OTs, as many as the executions need; of compgc
    /// components and OTs for --linking standard; of lego the components' AND gates
    #[arg(long, value_name = "NAME", default_value = "duplo")]
    protocol: Protocol,
    /// Statistical security of duplo and lego in bits; 40, if it is not given
    #[arg(long, value_name = "40|64|80", value_parser = security)]
    security: Option<u32>,
    #[command(flatten)]
    resources: Resources,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Role {
    Garbler,
    Evaluator,
}

impl From<Role> for Party {
    fn from(role: Role) -> Party {
        match role {
            Role::Garbler => Party::Garbler,
            Role::Evaluator => Party::Evaluator,
        }
    }
}

/// A component that is asked for.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Wanted {
    pub file: PathBuf,
    /// All components of the program if there is none.
    pub name: Option<String>,
    pub count: u32,
}

/// The file of a list.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct List {
    component: Vec<Wanted>,
}

pub fn run(arguments: &Arguments, quiet: bool) -> Result<Report, Failure> {
    let party = Party::from(arguments.role);
    let wanted = wanted(arguments)?;
    if arguments.build.is_some() && arguments.protocol != Protocol::Lego {
        return Err(Failure::usage(
            format!(
                "--build says nothing with --protocol {}: it solders within the run",
                arguments.protocol.name()
            ),
            "leave --build out, or take --protocol lego",
        ));
    }
    let asked = match arguments.protocol {
        Protocol::Duplo => Asked::Steps(steps(arguments, &wanted)?),
        Protocol::SemiHonest => Asked::Ots(ots(arguments, &wanted)?),
        Protocol::CompGc => Asked::Copies(copies(arguments, &wanted)?),
        Protocol::Lego => gates(arguments, &wanted)?,
        Protocol::Jimu | Protocol::Authenticated => {
            return Err(Failure::usage(
                format!(
                    "--protocol {} makes its gates within the run: it has no stock yet",
                    arguments.protocol.name()
                ),
                "run it without preprocessing, or take --protocol duplo",
            ));
        }
    };
    let peer = files::public_key(&arguments.peer)?;
    let identity = files::identity(&arguments.identity)?;
    let keys = match party {
        Party::Garbler => [identity.public_key(), peer],
        Party::Evaluator => [peer, identity.public_key()],
    };
    let terms = Terms {
        security: arguments.security.unwrap_or(SECURITY).into(),
        threads: arguments.resources.threads(),
        table_memory: TABLE_MEMORY,
        identities: keys.map(PublicKey::to_bytes),
        post_quantum: false,
    };
    let store = arguments.key.open(&arguments.store)?;
    let options = arguments.resources.options(party);
    let channel = connect(&arguments.address, &identity, peer, &options, quiet)?;
    let (done, phases, made) = asked.make(party, channel, &store, &terms, quiet)?;
    let mut human = made.iter().map(|step| format!("in stock: {step}\n")).collect::<String>();
    if done.resumed > 0 {
        human +=
            &format!("{} of them from a run that was interrupted\n", plural(done.resumed.into(), "step"));
    }
    let json = json!({
        "role": files::role(party),
        "protocol": arguments.protocol.name(),
        "steps": made,
        "resumed": done.resumed,
        "phases": phases,
        "store": arguments.store.display().to_string(),
    });
    human += &phases_text(&json, quiet);
    if let Some(security) = asked.promise()? {
        human += &protocols::played(arguments.protocol).promise_text(&security);
    }
    Ok(Report::new(json, human))
}

/// What is asked for.
enum Asked {
    Steps(Vec<Request>),
    Ots(usize),
    Copies(compgc::Request),
    /// Gates, and programs that are built of them, each so often.
    Gates(lego::Request, Vec<(Program, u32)>),
}

impl Asked {
    /// What all runs from it promise, if that is known now.
    fn promise(&self) -> Result<Option<Value>, Failure> {
        Ok(match self {
            Asked::Steps(_) | Asked::Gates(..) => None,
            Asked::Ots(_) => Some(promise(&semi_honest::SecurityReport::of_every_run())?),
            Asked::Copies(_) => Some(promise(&compgc::SecurityReport::of(compgc::Linking::Standard))?),
        })
    }

    /// Makes it with the peer. Returns what was done, what each phase took, and what there is now in words.
    fn make(
        &self,
        party: Party,
        channel: Channel,
        store: &Store,
        terms: &Terms,
        quiet: bool,
    ) -> Result<(Preprocessed, Vec<PhaseReport>, Vec<String>), Failure> {
        match self {
            Asked::Steps(steps) => {
                let bar = Bar::of::<Duplo>(quiet);
                let session = duplo::Stocked::open(party, channel, store, terms, bar)?;
                let (done, session) = session.preprocess(steps)?;
                Ok((done, session.close()?, steps.iter().map(Request::to_string).collect()))
            }
            Asked::Ots(count) => {
                tracing::warn!("{}", semi_honest::WARNING);
                let bar = Bar::of::<SemiHonest>(quiet);
                let session = semi_honest::Stocked::open(party, channel, store, terms, bar)?;
                let (done, session) = session.preprocess(*count)?;
                let made = format!("{} for semi-honest runs", plural(*count as u64, "OT"));
                Ok((done, session.close()?, vec![made]))
            }
            Asked::Copies(request) => {
                tracing::warn!("{}", compgc::WARNING);
                let bar = Bar::of::<CompGc>(quiet);
                let session = compgc::Stocked::open(party, channel, store, terms, bar)?;
                let (done, session) = session.preprocess(request)?;
                Ok((done, session.close()?, vec![format!("{request} for compgc runs")]))
            }
            Asked::Gates(request, programs) => {
                let bar = Bar::of::<Lego>(quiet);
                let session = lego::Stocked::open(party, channel, store, terms, bar)?;
                let (done, mut session) = session.preprocess(request)?;
                let mut made = vec![format!("{request} for lego runs")];
                for (program, count) in programs {
                    for _ in 0..*count {
                        session = session.build(program, Lacking::Refuse)?.1;
                    }
                    made.push(format!("{count} x {}, built", program.name()));
                }
                Ok((done, session.close()?, made))
            }
        }
    }
}

/// Copies of components and OTs that are asked for.
fn copies(arguments: &Arguments, wanted: &[Wanted]) -> Result<compgc::Request, Failure> {
    if arguments.security.is_some() {
        return Err(Failure::usage(
            "--security says nothing with --protocol compgc: nothing is opened and checked, so there is no \
             2^-S",
            "leave --security out, or take --protocol duplo",
        ));
    }
    let mut all = compgc::Request::default();
    for Request { components, ots, .. } in steps(arguments, wanted)? {
        components.iter().for_each(|(component, count)| all.add(component, *count));
        all.ots += ots.unwrap_or(0);
    }
    match all.ots <= MAX_OTS {
        true => Ok(all),
        false => Err(too_many_ots()),
    }
}

/// Gates, inputs and OTs that are asked for, and programs that are to be built of them.
fn gates(arguments: &Arguments, wanted: &[Wanted]) -> Result<Asked, Failure> {
    let mut all = lego::Request::default();
    for Request { components, garbler_wires, ots } in steps(arguments, wanted)? {
        let ands = |(component, count): &(Component, usize)| component.circuit.and_gates() * count;
        let gates = components.iter().map(ands).sum::<usize>() as u64;
        let (inputs, ots) = (garbler_wires as u64, ots.unwrap_or(0) as u64);
        all = all.and(&lego::Request { gates, inputs, ots })?;
    }
    if all.is_empty() {
        return Err(Failure::usage(
            "nothing is asked for: the components have no AND gates",
            "give components with AND gates, or leave --no-inputs out",
        ));
    }
    let mut programs = Vec::new();
    for Wanted { file, name, count } in wanted {
        let Some(executions) = arguments.build.map(std::num::NonZeroU32::get) else { break };
        let whole = name.is_none() && !arguments.no_inputs && !arguments.no_ots;
        if !whole || !count.is_multiple_of(executions) {
            return Err(Failure::usage(
                format!(
                    "--build={executions} builds whole programs, and {count} is asked for of {}",
                    file.display()
                ),
                "give FILE=COUNT, COUNT a multiple of the executions of a run, with inputs and OTs",
            ));
        }
        let program = programs::load(file, &arguments.map.parties())?;
        // What runs is named alike: one execution is the program as it is.
        let program = programs::repeated(&program, (executions > 1).then_some(executions))?;
        programs.push((program, count / executions));
    }
    Ok(Asked::Gates(all, programs))
}

/// OTs that the executions of programs take that are asked for.
fn ots(arguments: &Arguments, wanted: &[Wanted]) -> Result<usize, Failure> {
    let nothing = [
        (arguments.security.is_some(), "--security", "nothing is opened and checked, so there is no 2^-S"),
        (arguments.no_inputs, "--no-inputs", "OTs are all that is made"),
        (arguments.no_ots, "--no-ots", "OTs are all that is made"),
    ];
    if let Some((_, flag, why)) = nothing.into_iter().find(|(given, ..)| *given) {
        return Err(Failure::usage(
            format!("{flag} says nothing with --protocol semi-honest: {why}"),
            format!("leave {flag} out, or take --protocol duplo"),
        ));
    }
    let mut all = 0usize;
    for Wanted { file, name, count } in wanted {
        if let Some(name) = name {
            return Err(Failure::usage(
                format!(
                    "{}:{name}: no component is made ahead of time with --protocol semi-honest",
                    file.display()
                ),
                "give FILE=COUNT: the OTs of so many executions of the program are made",
            ));
        }
        let program = programs::load(file, &arguments.map.parties())?;
        // Each may run by itself.
        let each = semi_honest::ots(&program, 1)?;
        let more = each.checked_mul(*count as usize).and_then(|more| all.checked_add(more));
        all = more.filter(|all| *all <= MAX_OTS).ok_or_else(too_many_ots)?;
    }
    Ok(all)
}

/// OTs of one command, at most: 17 GB at the evaluator.
const MAX_OTS: usize = 1 << 30;

fn too_many_ots() -> Failure {
    Failure::usage(
        format!("more than {MAX_OTS} OTs are asked for"),
        "ask for fewer executions at a time; what is there stays, and can be added to",
    )
}

fn wanted(arguments: &Arguments) -> Result<Vec<Wanted>, Failure> {
    let mut wanted = arguments.components.iter().map(|text| parse(text)).collect::<Result<Vec<_>, _>>()?;
    if let Some(path) = &arguments.list {
        let list = list(&files::text(path)?).map_err(|why| {
            Failure::input(
                format!("{}: {why}", path.display()),
                "a list holds tables [[component]] with file, name and count",
            )
        })?;
        // Paths in a list are relative to it.
        let folder = path.parent().unwrap_or(Path::new(""));
        wanted.extend(list.into_iter().map(|w| Wanted { file: folder.join(&w.file), ..w }));
    }
    match wanted.iter().all(|w| w.count > 0) {
        _ if wanted.is_empty() => Err(Failure::usage(
            "nothing is asked for",
            "give --component FILE:NAME=COUNT, or a --list of them",
        )),
        true => Ok(wanted),
        false => {
            Err(Failure::usage("a count of 0 asks for nothing", "give how often each component will be used"))
        }
    }
}

/// Reads a list, or says what is wrong with it.
pub fn list(text: &str) -> Result<Vec<Wanted>, String> {
    toml::from_str(text).map(|list: List| list.component).map_err(|e| e.message().to_owned())
}

/// Reads `FILE:NAME=COUNT` or `FILE=COUNT`.
pub fn parse(text: &str) -> Result<Wanted, Failure> {
    let bad = || {
        Failure::usage(
            format!("--component {text}: expected FILE:NAME=COUNT or FILE=COUNT"),
            "COUNT is how often the component will be used, or how often the program will be run; `brickwork info FILE` lists the names",
        )
    };
    let (what, count) = text.rsplit_once('=').ok_or_else(bad)?;
    let count = count.parse().map_err(|_| bad())?;
    // A file's own name may hold a colon.
    match what.rsplit_once(':') {
        Some((file, name)) if !Path::new(what).is_file() && !file.is_empty() => {
            Ok(Wanted { file: file.into(), name: Some(name.into()), count })
        }
        _ if what.is_empty() => Err(bad()),
        _ => Ok(Wanted { file: what.into(), name: None, count }),
    }
}

/// A step for each component, and one for what inputs and private outputs need.
fn steps(arguments: &Arguments, wanted: &[Wanted]) -> Result<Vec<Request>, Failure> {
    let mut by_file: BTreeMap<&Path, (Program, Vec<&Wanted>)> = BTreeMap::new();
    for w in wanted {
        if !by_file.contains_key(w.file.as_path()) {
            by_file.insert(&w.file, (programs::load(&w.file, &arguments.map.parties())?, Vec::new()));
        }
        if let Some((_, all)) = by_file.get_mut(w.file.as_path()) {
            all.push(w);
        }
    }
    let mut components: Vec<(Component, usize)> = Vec::new();
    let mut evaluator_inputs = 0;
    let mut prepared = Request { components: Vec::new(), garbler_wires: 0, ots: None };
    for (file, (program, wanted)) in &by_file {
        let executions = add(&mut components, file, program, wanted)?;
        evaluator_inputs += executions * program.input_width(Party::Evaluator);
        prepared.garbler_wires += executions * Request::of(program).garbler_wires;
    }
    let none = || Request { components: Vec::new(), garbler_wires: 0, ots: None };
    let mut steps: Vec<Request> =
        components.into_iter().map(|c| Request { components: vec![c], ..none() }).collect();
    if !arguments.no_inputs {
        prepared.ots = (!arguments.no_ots && evaluator_inputs > 0).then_some(evaluator_inputs);
        if !prepared.is_empty() {
            steps.push(prepared);
        }
    }
    Ok(steps)
}

/// Adds what is wanted of a program's components. Returns the executions of the program that this is for.
fn add(
    components: &mut Vec<(Component, usize)>,
    file: &Path,
    program: &Program,
    wanted: &[&Wanted],
) -> Result<usize, Failure> {
    let slots = program.slots_by_component();
    let mut executions = 0;
    for w in wanted {
        let count = w.count as usize;
        let named = program
            .components()
            .iter()
            .zip(&slots)
            .filter(|(c, _)| w.name.as_ref().is_none_or(|name| c.name == *name));
        let named: Vec<_> = named.collect();
        if named.is_empty() {
            let name = w.name.as_deref().unwrap_or_default();
            let hint = "`brickwork info FILE` lists a program's components";
            return Err(Failure::input(format!("{} has no component {name}", file.display()), hint));
        }
        for (component, &slots) in named {
            let uses = if w.name.is_some() { count } else { count * slots };
            executions = executions.max(uses.div_ceil(slots.max(1)));
            let digest = component.digest();
            match components.iter_mut().find(|(c, _)| c.digest() == digest) {
                Some((_, all)) => *all += uses,
                None => components.push((component.clone(), uses)),
            }
        }
    }
    components.retain(|(_, uses)| *uses > 0);
    Ok(executions)
}
