//! A connection between two parties with stock, for each protocol that keeps stock. Stock is made over it,
//! and programs run on it one after another.

use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::sync::Arc;

use brickwork_authenticated::{self as authenticated, Authenticated};
use brickwork_circuit::{Component, Party, Program};
use brickwork_compgc::{self as compgc, CompGc};
use brickwork_duplo::{self as duplo, Duplo, Request};
use brickwork_jimu::{self as jimu, Jimu};
use brickwork_lego::{self as lego, Lego};
use brickwork_primitives::ot::Cot;
use brickwork_report::words::plural;
use brickwork_semi_honest::{self as semi_honest, SemiHonest};
use brickwork_session::steps::Step;
use brickwork_session::stock::{self, Lacking, Preprocessed};
use brickwork_session::{PhaseReport, Promise, Protocol as _, Terms, Unobserved};
use brickwork_stock::Store;
use brickwork_wire::Channel;

use crate::cut::Cut;
use crate::engine::Watch;
use crate::engine::protocols::{self, says_nothing};
use crate::engine::request::Protocol;
use crate::failure::Error;
use crate::program::repeated;

/// A request for stock: a component, or all components of a program.
#[derive(Clone, Debug)]
pub struct Requested {
    /// The name of the program's file, for messages.
    pub file: String,
    /// The program.
    pub program: Arc<Program>,
    /// The component; all components of the program if there is none.
    pub name: Option<String>,
    /// The number of uses of the component, or of runs of the program.
    pub count: u32,
}

/// The options for making stock.
pub struct Wishes<'a> {
    pub protocol: Protocol,
    /// True to make no authenticators for inputs and private outputs, and no OTs.
    pub no_inputs: bool,
    pub no_ots: bool,
    /// The number of executions for which programs are built from gates, if they are built ahead of time.
    pub build: Option<NonZeroU32>,
    /// The unit of JIMU's buckets: components (given) or AND gates. If there is none, the program is cut into
    /// gates.
    pub cut: Option<&'a Cut>,
    /// True if the user named a security level.
    pub level: bool,
}

impl Wishes<'_> {
    /// Makes options that ask for all items that runs by this protocol need.
    pub fn new(protocol: Protocol) -> Self {
        Wishes { protocol, no_inputs: false, no_ots: false, build: None, cut: None, level: false }
    }

    /// Refuses flags that have no effect in the protocol.
    ///
    /// # Errors
    /// A mistake of usage that names the flag.
    pub fn check(&self) -> Result<(), Error> {
        let name = self.protocol.name();
        let build = (self.build.is_some(), "--build", "it solders within the run");
        let level = (self.level, "--security", "nothing is opened and checked, so there is no 2^-S");
        let others = match self.protocol {
            Protocol::Jimu => matches!(self.cut, Some(Cut::Whole | Cut::Flags { .. })),
            _ => self.cut.is_some(),
        };
        let why = match self.protocol {
            Protocol::Jimu => "its stock is of the file's components (given) or of AND gates (gates)",
            Protocol::Lego => "its stock is of AND gates",
            Protocol::SemiHonest => "its stock is of OTs",
            _ => "its stock is of the components that files have; `brickwork compile` cuts",
        };
        says_nothing(name, &[(others, "--cut", why)])?;
        let nothing: &[(bool, &str, &str)] = match self.protocol {
            Protocol::Duplo => &[build],
            Protocol::Lego => &[],
            Protocol::Authenticated => &[
                build,
                (
                    self.no_ots && !self.no_inputs,
                    "--no-ots",
                    "masks of inputs come of the same OTs as all others",
                ),
            ],
            Protocol::CompGc => &[level, build],
            Protocol::SemiHonest => &[
                level,
                (self.no_inputs, "--no-inputs", "OTs are all that is made"),
                (self.no_ots, "--no-ots", "OTs are all that is made"),
                build,
            ],
            Protocol::Jimu => &[build],
        };
        says_nothing(name, nothing)
    }
}

/// The stock that is to be made.
pub enum Asked {
    Steps(Vec<Request>),
    Ots(usize),
    Copies(compgc::Request),
    /// Components and input masks.
    Masked(authenticated::Request),
    /// Gates, and programs that are built from them, with their numbers of executions.
    Gates(lego::Request, Vec<(Program, u32)>),
    Hashed(jimu::Request),
}

impl Asked {
    /// Returns the stock for these requests and options.
    ///
    /// # Errors
    /// As [`Wishes::check`]; also if a file or a component does not exist, or too much stock is requested.
    pub fn of(requested: &[Requested], wishes: &Wishes) -> Result<Self, Error> {
        wishes.check()?;
        if requested.is_empty() {
            let hint = "give --component FILE:NAME=COUNT, or a --list of them";
            return Err(Error::usage("nothing is asked for", hint));
        }
        if requested.iter().any(|requested| requested.count == 0) {
            let hint = "give how often each component will be used";
            return Err(Error::usage("a count of 0 asks for nothing", hint));
        }
        Ok(match wishes.protocol {
            Protocol::SemiHonest => Asked::Ots(ots(requested)?),
            Protocol::CompGc => Asked::Copies(copies(requested, wishes)?),
            Protocol::Authenticated => Asked::Masked(masked(requested, wishes)?),
            Protocol::Lego => Asked::Gates(gates(requested, wishes)?, built(requested, wishes)?),
            Protocol::Jimu => Asked::Hashed(hashed(requested, wishes)?),
            _ => Asked::Steps(steps(requested, wishes)?),
        })
    }

    /// Returns the promise of all runs from this stock, if it is known now.
    pub fn promise(&self) -> Option<Promise> {
        match self {
            Asked::Steps(_) | Asked::Masked(_) | Asked::Gates(..) | Asked::Hashed(_) => None,
            Asked::Ots(_) => Some(semi_honest::promise()),
            Asked::Copies(_) => Some(compgc::promise(compgc::Linking::Standard)),
        }
    }

    /// Describes the stock in words.
    pub fn words(&self) -> Vec<String> {
        match self {
            Asked::Steps(steps) => steps.iter().map(Request::to_string).collect(),
            Asked::Ots(count) => vec![format!("{} for semi-honest runs", plural(*count as u64, "OT"))],
            Asked::Copies(request) => vec![format!("{request} for compgc runs")],
            Asked::Masked(request) => vec![format!("{request} for authenticated runs")],
            Asked::Gates(request, programs) => {
                let built = programs.iter().map(|(program, n)| format!("{n} x {}, built", program.name()));
                std::iter::once(format!("{request} for lego runs")).chain(built).collect()
            }
            Asked::Hashed(request) => vec![format!("{request} for jimu runs")],
        }
    }
}

/// Counts the copies of components and the OTs to make.
fn copies(requested: &[Requested], wishes: &Wishes) -> Result<compgc::Request, Error> {
    let mut all = compgc::Request::default();
    for Request { components, ots, .. } in steps(requested, wishes)? {
        components.iter().for_each(|(component, count)| all.add(component, *count));
        all.ots += ots.unwrap_or(0);
    }
    match all.ots <= MAX_OTS {
        true => Ok(all),
        false => Err(too_many_ots()),
    }
}

/// Counts the components to make, and the masks for the inputs of both parties.
fn masked(requested: &[Requested], wishes: &Wishes) -> Result<authenticated::Request, Error> {
    let (mut all, mut components) = (authenticated::Request::default(), Vec::new());
    for (file, (program, requested)) in &by_file(requested) {
        let executions = add(&mut components, file, program, requested)?;
        let inputs = program.input_width(Party::Garbler) + program.input_width(Party::Evaluator);
        all.inputs += if wishes.no_inputs { 0 } else { executions * inputs };
    }
    components.iter().for_each(|(component, count)| all.add(component, *count));
    match all.inputs <= MAX_OTS {
        true => Ok(all),
        false => Err(too_many_ots()),
    }
}

/// Counts the gates, inputs and OTs to make.
fn gates(requested: &[Requested], wishes: &Wishes) -> Result<lego::Request, Error> {
    let mut all = lego::Request::default();
    for Request { components, garbler_wires, ots } in steps(requested, wishes)? {
        let ands = |(component, count): &(Component, usize)| component.circuit.and_gates() * count;
        let gates = components.iter().map(ands).sum::<usize>() as u64;
        let (inputs, ots) = (garbler_wires as u64, ots.unwrap_or(0) as u64);
        all = all.and(&lego::Request { gates, inputs, ots })?;
    }
    match all.is_empty() {
        false => Ok(all),
        true => Err(without_gates()),
    }
}

fn without_gates() -> Error {
    Error::usage(
        "nothing is asked for: the components have no AND gates",
        "give components with AND gates, or leave --no-inputs out",
    )
}

/// Counts the gates or components, the garbler's wires and the OTs to make for JIMU.
fn hashed(requested: &[Requested], wishes: &Wishes) -> Result<jimu::Request, Error> {
    let mut all = jimu::Request::default();
    for Request { components, ots, .. } in steps(requested, wishes)? {
        let mut more = jimu::Request { ots: ots.unwrap_or(0) as u64, ..Default::default() };
        for (component, count) in &components {
            match wishes.cut {
                Some(Cut::Given) => more.add(component, *count as u64),
                _ => more.gates += (component.circuit.and_gates() * count) as u64,
            }
        }
        all = all.and(&more)?;
    }
    for Requested { program, name, count, .. } in requested.iter().filter(|_| !wishes.no_inputs) {
        let executions = match name {
            None => *count as usize,
            Some(_) => executions_of(program, name.as_deref(), *count),
        };
        let inputs = program.input_width(Party::Garbler) as u64;
        let one = jimu::Request { inputs, ..Default::default() };
        all = all.and(&one.times(executions as u64)?)?;
    }
    if all.is_empty() { Err(without_gates()) } else { Ok(all) }
}

/// Returns the largest number of executions of a program for which `count` uses of a component are enough.
fn executions_of(program: &Program, name: Option<&str>, count: u32) -> usize {
    let slots = program.components().iter().zip(program.slots_by_component());
    let named = slots.filter(|(component, _)| name.is_none_or(|name| component.name == name));
    named.map(|(_, slots)| (count as usize).div_ceil(slots.max(1))).max().unwrap_or(0)
}

/// Returns the programs to build from gates, with their numbers of executions.
fn built(requested: &[Requested], wishes: &Wishes) -> Result<Vec<(Program, u32)>, Error> {
    let mut programs = Vec::new();
    for Requested { file, program, name, count } in requested {
        let Some(executions) = wishes.build.map(NonZeroU32::get) else { break };
        let whole = name.is_none() && !wishes.no_inputs && !wishes.no_ots;
        if !whole || !count.is_multiple_of(executions) {
            return Err(Error::usage(
                format!("--build={executions} builds whole programs, and {count} is asked for of {}", file),
                "give FILE=COUNT, COUNT a multiple of the executions of a run, with inputs and OTs",
            ));
        }
        // A run computes the program in the same way: with one execution it is the program itself.
        let program = repeated(program, (executions > 1).then_some(executions))?;
        programs.push((program, count / executions));
    }
    Ok(programs)
}

/// Counts the OTs that the executions of these programs use.
fn ots(requested: &[Requested]) -> Result<usize, Error> {
    let mut all = 0usize;
    for Requested { file, program, name, count } in requested {
        if let Some(name) = name {
            return Err(Error::usage(
                format!("{}:{name}: no component is made ahead of time with --protocol semi-honest", file),
                "give FILE=COUNT: the OTs of so many executions of the program are made",
            ));
        }
        // The executions are counted one by one, because each may be a run of its own.
        let each = semi_honest::ots(program, 1)?;
        let more = each.checked_mul(*count as usize).and_then(|more| all.checked_add(more));
        all = more.filter(|all| *all <= MAX_OTS).ok_or_else(too_many_ots)?;
    }
    Ok(all)
}

/// The largest number of OTs that one command makes: they take 17 GB at the evaluator.
const MAX_OTS: usize = 1 << 30;

fn too_many_ots() -> Error {
    Error::usage(
        format!("more than {MAX_OTS} OTs are asked for"),
        "ask for fewer executions at a time; what is there stays, and can be added to",
    )
}

/// Programs by their file, with the requests for each.
type ByFile<'w> = BTreeMap<&'w str, (&'w Arc<Program>, Vec<&'w Requested>)>;

fn by_file(requested: &[Requested]) -> ByFile<'_> {
    let mut by_file = ByFile::new();
    for one in requested {
        by_file.entry(&one.file).or_insert_with(|| (&one.program, Vec::new())).1.push(one);
    }
    by_file
}

/// Returns a request for each component, and one for inputs and private outputs.
fn steps(requested: &[Requested], wishes: &Wishes) -> Result<Vec<Request>, Error> {
    let mut components: Vec<(Component, usize)> = Vec::new();
    let mut evaluator_inputs = 0;
    let mut prepared = Request { components: Vec::new(), garbler_wires: 0, ots: None };
    for (file, (program, requested)) in &by_file(requested) {
        let executions = add(&mut components, file, program, requested)?;
        evaluator_inputs += executions * program.input_width(Party::Evaluator);
        prepared.garbler_wires += executions * Request::of(program).garbler_wires;
    }
    let none = || Request { components: Vec::new(), garbler_wires: 0, ots: None };
    let mut steps: Vec<Request> =
        components.into_iter().map(|c| Request { components: vec![c], ..none() }).collect();
    if !wishes.no_inputs {
        prepared.ots = (!wishes.no_ots && evaluator_inputs > 0).then_some(evaluator_inputs);
        if !prepared.is_empty() {
            steps.push(prepared);
        }
    }
    Ok(steps)
}

/// Adds the requested components of a program. Returns the number of executions of the program for which
/// these components are enough.
fn add(
    components: &mut Vec<(Component, usize)>,
    file: &str,
    program: &Program,
    requested: &[&Requested],
) -> Result<usize, Error> {
    let slots = program.slots_by_component();
    let mut executions = 0;
    for w in requested {
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
            return Err(Error::input(format!("{} has no component {name}", file), hint));
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

/// A connection between two parties with stock. After an error it cannot be used any more.
pub enum Stocked {
    Duplo(Box<duplo::Stocked>),
    SemiHonest(Box<semi_honest::Stocked>),
    CompGc(Box<compgc::Stocked>),
    Lego(Box<lego::Stocked>),
    Jimu(Box<jimu::Stocked>),
    Authenticated(Box<authenticated::Stocked>),
}

/// The result of a program that ran on stock, with the missing items in words.
pub type FromStock = stock::FromStock<String>;

/// Replaces the list of missing items in a result by a text.
fn in_words<R>(done: stock::FromStock<R>, words: impl FnOnce(R) -> String) -> FromStock {
    let stock::FromStock { outputs, kept, recovered, promise, made } = done;
    FromStock { outputs, kept, recovered, promise, made: made.map(words) }
}

/// The program of a run from stock.
pub enum Job<'a> {
    /// A step of a reactive session, which uses or keeps values of wires.
    Step(&'a Step),
    /// A program, with its number of executions.
    Program(&'a Arc<Program>, Option<u32>),
}

impl Stocked {
    /// Greets the peer and compares both stores. `cot` names the OTs for masks, for protocols with a choice.
    ///
    /// # Errors
    /// Those of the protocol; an error of usage if it keeps no stock.
    pub fn open(
        protocol: Protocol,
        cot: Cot,
        party: Party,
        channel: Channel,
        store: &Store,
        terms: &Terms,
        watch: &Watch,
    ) -> Result<Self, Error> {
        protocols::warn(protocol);
        Ok(match protocol {
            Protocol::SemiHonest => {
                let observer = watch(SemiHonest::PHASES);
                let line = semi_honest::Stocked::open(party, channel, store, terms, observer)?;
                Stocked::SemiHonest(Box::new(line))
            }
            Protocol::CompGc => {
                let observer = watch(CompGc::PHASES);
                Stocked::CompGc(Box::new(compgc::Stocked::open(party, channel, store, terms, observer)?))
            }
            Protocol::Lego => {
                let observer = watch(Lego::PHASES);
                Stocked::Lego(Box::new(lego::Stocked::open(party, channel, store, terms, observer)?))
            }
            Protocol::Jimu => {
                let observer = watch(Jimu::PHASES);
                Stocked::Jimu(Box::new(jimu::Stocked::open(party, channel, store, terms, observer)?))
            }
            Protocol::Authenticated => {
                let observer = watch(Authenticated::PHASES);
                let line = authenticated::Stocked::open(party, channel, store, terms, cot, observer)?;
                Stocked::Authenticated(Box::new(line))
            }
            _ => {
                let observer = watch(Duplo::PHASES);
                Stocked::Duplo(Box::new(duplo::Stocked::open(party, channel, store, terms, observer)?))
            }
        })
    }

    /// Greets a peer with which this number of workers will make stock for DUPLO, and compares both stores.
    ///
    /// # Errors
    /// Those of the protocol.
    pub fn open_for_workers(
        workers: usize,
        party: Party,
        channel: Channel,
        store: &Store,
        terms: &Terms,
    ) -> Result<Self, Error> {
        let purpose = duplo::purpose_of_workers(workers);
        let line = duplo::Stocked::open_for(purpose, party, channel, store, terms, Unobserved)?;
        Ok(Stocked::Duplo(Box::new(line)))
    }

    /// Makes this stock with the peer, by one worker for each of these connections, and by makers of this
    /// party on the connections to them. Returns the time and the bytes of each phase, also by worker.
    ///
    /// # Errors
    /// Those of the protocol; an error of usage if it is not DUPLO.
    pub fn make_by(
        self,
        asked: &Asked,
        workers: Vec<Channel>,
        makers: Vec<Channel>,
    ) -> Result<(Preprocessed, Vec<Vec<PhaseReport>>, Self), Error> {
        match (self, asked) {
            (Stocked::Duplo(line), Asked::Steps(steps)) => {
                let (done, phases, line) = line.preprocess_by_makers(steps, workers, makers)?;
                Ok((done, phases, Stocked::Duplo(Box::new(line))))
            }
            _ => Err(Error::fault("stock of another protocol is asked for")),
        }
    }

    /// Makes this stock with the peer.
    ///
    /// # Errors
    /// Those of the protocol; an error of usage if the request is for another protocol.
    pub fn make(self, asked: &Asked) -> Result<(Preprocessed, Self), Error> {
        Ok(match (self, asked) {
            (Stocked::Duplo(line), Asked::Steps(steps)) => {
                line.preprocess(steps).map(|(done, line)| (done, Stocked::Duplo(Box::new(line))))?
            }
            (Stocked::SemiHonest(line), Asked::Ots(count)) => {
                line.preprocess(*count).map(|(done, line)| (done, Stocked::SemiHonest(Box::new(line))))?
            }
            (Stocked::CompGc(line), Asked::Copies(request)) => {
                line.preprocess(request).map(|(done, line)| (done, Stocked::CompGc(Box::new(line))))?
            }
            (Stocked::Authenticated(line), Asked::Masked(request)) => {
                line.preprocess(request).map(|(done, line)| (done, Stocked::Authenticated(Box::new(line))))?
            }
            (Stocked::Lego(line), Asked::Gates(request, programs)) => {
                let (done, mut line) = line.preprocess(request)?;
                for (program, count) in programs {
                    for _ in 0..*count {
                        line = line.build(program, Lacking::Refuse)?.1;
                    }
                }
                (done, Stocked::Lego(Box::new(line)))
            }
            (Stocked::Jimu(line), Asked::Hashed(request)) => {
                line.preprocess(request).map(|(done, line)| (done, Stocked::Jimu(Box::new(line))))?
            }
            _ => return Err(Error::fault("stock of another protocol is asked for")),
        })
    }

    /// Runs a program on stock. `input` are the bits of this party's inputs.
    ///
    /// # Errors
    /// Those of the protocol; an error of usage if it has no steps that keep values.
    pub fn run(self, job: &Job, input: &[bool], lacking: Lacking) -> Result<(FromStock, Self), Error> {
        Ok(match self {
            Stocked::Duplo(line) => {
                let (done, line) = line.run(job.step()?, input, lacking)?;
                (in_words(done, |made| made.to_string()), Stocked::Duplo(Box::new(line)))
            }
            Stocked::SemiHonest(line) => {
                let (program, times) = job.plain(SemiHonest::NAME)?;
                let (done, line) = line.run(program, times.unwrap_or(1) as usize, input, lacking)?;
                (in_words(done, |count| plural(count as u64, "OT")), Stocked::SemiHonest(Box::new(line)))
            }
            Stocked::CompGc(line) => {
                let (done, line) = line.run(&job.repeated(CompGc::NAME)?, input, lacking)?;
                (in_words(done, |made| made.to_string()), Stocked::CompGc(Box::new(line)))
            }
            Stocked::Lego(line) => {
                let (done, line) = line.run(&job.repeated(Lego::NAME)?, input, lacking)?;
                (in_words(done, |made| made.to_string()), Stocked::Lego(Box::new(line)))
            }
            Stocked::Jimu(line) => {
                let (done, line) = line.run(&job.repeated(Jimu::NAME)?, None, input, lacking)?;
                (in_words(done, |made| made.to_string()), Stocked::Jimu(Box::new(line)))
            }
            Stocked::Authenticated(line) => {
                let (done, line) = line.run(job.step()?, input, lacking)?;
                (in_words(done, |made| made.to_string()), Stocked::Authenticated(Box::new(line)))
            }
        })
    }

    /// Closes the connection. Returns the time and the bytes of each phase.
    ///
    /// # Errors
    /// If the peer went away.
    pub fn close(self) -> Result<Vec<PhaseReport>, Error> {
        Ok(match self {
            Stocked::Duplo(line) => line.close()?,
            Stocked::SemiHonest(line) => line.close()?,
            Stocked::CompGc(line) => line.close()?,
            Stocked::Lego(line) => line.close()?,
            Stocked::Jimu(line) => line.close()?,
            Stocked::Authenticated(line) => line.close()?,
        })
    }
}

impl Job<'_> {
    /// Returns the number of executions.
    pub(crate) fn executions(&self) -> u32 {
        match self {
            Job::Step(_) => 1,
            Job::Program(_, times) => times.unwrap_or(1),
        }
    }

    /// Returns the step; a program with all its executions is one step.
    pub(crate) fn step(&self) -> Result<Step, Error> {
        Ok(match self {
            Job::Step(step) => (*step).clone(),
            Job::Program(program, times) => (&Arc::new(repeated(program, *times)?)).into(),
        })
    }

    /// Returns the program and its executions, if the job neither uses nor keeps values of wires.
    fn plain(&self, protocol: &str) -> Result<(&Arc<Program>, Option<u32>), Error> {
        match self {
            Job::Program(program, times) => Ok((program, *times)),
            Job::Step(_) => Err(Error::usage(
                format!("a session of {protocol} carries nothing on, and keeps nothing"),
                "take --protocol duplo, or let both learn what comes between",
            )),
        }
    }

    /// Returns the program with all its executions, if the job neither uses nor keeps values of wires.
    fn repeated(&self, protocol: &str) -> Result<Program, Error> {
        let (program, times) = self.plain(protocol)?;
        repeated(program, times)
    }
}
