//! The interface to the stock of a protocol: what a store holds, how stock is asked for and made, and how
//! programs run on it.

use std::any::Any;
use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::sync::Arc;

use brickwork_base::Error as ProtocolError;
use brickwork_circuit::{Component, Party, Program};
use brickwork_duplo::Request;
use brickwork_primitives::ot::Cot;
use brickwork_protocol::steps::Step;
use brickwork_protocol::stock::inventory::{Inventory, ItemKinds, executions, inventory};
use brickwork_protocol::stock::{self, Lacking, Preprocessed, StockProtocol, compare_stores};
use brickwork_protocol::{PhaseReport, Promise, Terms};
use brickwork_store::Store;
use brickwork_wire::Channel;

use crate::cut::{Cut, CutChoice};
use crate::engine::Observe;
use crate::engine::request::Protocol;
use crate::failure::Error;

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

impl Requested {
    /// Asks for all components of this number of executions of a program.
    pub fn of(program: &crate::Program, executions: u32) -> Self {
        let (file, program) = (program.name().to_owned(), program.given().clone());
        Requested { file, program, name: None, count: executions }
    }
}

/// The options for making stock.
#[derive(Clone, Debug)]
pub struct StockOptions {
    pub protocol: Protocol,
    /// True to make no authenticators for inputs and private outputs, and no OTs.
    pub no_inputs: bool,
    pub no_ots: bool,
    /// The number of executions for which programs are built from gates, if they are built ahead of time.
    pub build: Option<NonZeroU32>,
    /// The unit of JIMU's buckets: components (given) or AND gates. If there is none, the program is cut into
    /// gates.
    pub cut: Option<Cut>,
    /// The statistical security in bits, if the user named it.
    pub security: Option<u32>,
    /// The OTs of masks, if the user named them.
    pub cot: Option<Cot>,
    /// The number of workers that make the stock, if there are several.
    pub workers: Option<u32>,
}

impl StockOptions {
    /// Makes options that ask for all items that runs by this protocol need.
    pub fn new(protocol: Protocol) -> Self {
        StockOptions {
            protocol,
            no_inputs: false,
            no_ots: false,
            build: None,
            cut: None,
            security: None,
            cot: None,
            workers: None,
        }
    }

    /// Returns the row of [`Stocks::without_effect`] about the cut, for a protocol without a choice. The
    /// reason tells which items the protocol's stock has.
    pub(super) fn cut_row(&self, why: &'static str) -> (bool, &'static str, &'static str) {
        (self.cut.is_some(), "--cut", why)
    }

    /// Returns the row for a protocol that makes stock of the components of the files.
    pub(super) fn components_row(&self) -> (bool, &'static str, &'static str) {
        self.cut_row(
            "the stock of this protocol has the components of the file; `brickwork compile` can cut a source",
        )
    }

    /// Returns the row for a protocol that builds no programs ahead of time.
    pub(super) fn build_row(&self) -> (bool, &'static str, &'static str) {
        (self.build.is_some(), "--build", "this protocol solders during the run")
    }
}

/// The stock that is to be made.
pub struct StockRequest {
    /// The stock in words.
    pub words: Vec<String>,
    /// The promise of all runs from this stock, if it is already known.
    pub promise: Option<Promise>,
    /// The items, in the protocol's own type.
    pub(super) items: Box<dyn Any + Send + Sync>,
}

/// The contents of a protocol's stores.
pub trait Contents {
    /// Compares both stores, and changes nothing. Returns the number of parts that both may use.
    ///
    /// # Errors
    /// If the two stores are no pair.
    fn compare(
        &self,
        channel: &mut Channel,
        store: Option<&Store>,
        role: Party,
        terms: &Terms,
    ) -> Result<usize, ProtocolError>;

    /// Lists the content of a store that belongs to this protocol.
    ///
    /// # Errors
    /// If the store cannot be read or was altered.
    fn inventory(&self, store: &Store) -> Result<Vec<Inventory>, ProtocolError>;

    /// Counts the executions of a program for which a part of a store has enough items.
    ///
    /// # Errors
    /// As [`Contents::inventory`].
    fn executions(&self, part: &Inventory, store: &Store, program: &Program) -> Result<u64, ProtocolError>;
}

impl<P: StockProtocol + ItemKinds> Contents for P {
    fn compare(
        &self,
        channel: &mut Channel,
        store: Option<&Store>,
        role: Party,
        terms: &Terms,
    ) -> Result<usize, ProtocolError> {
        compare_stores::<P>(channel, store, role, terms)
    }

    fn inventory(&self, store: &Store) -> Result<Vec<Inventory>, ProtocolError> {
        inventory::<P>(store)
    }

    fn executions(&self, part: &Inventory, store: &Store, program: &Program) -> Result<u64, ProtocolError> {
        executions::<P>(part, store, program)
    }
}

/// A store with the role and the terms of its party.
pub type OwnStore<'a> = (&'a Store, Party, &'a Terms);

/// A program with its number of executions, and the cut that the user wants.
pub type WantedProgram<'a> = (&'a Program, u32, &'a CutChoice);

/// A protocol that keeps stock.
pub trait Stocks: Contents {
    /// Returns whether the items that both parties may still use are enough for a run.
    ///
    /// # Errors
    /// If the store cannot be read or was altered.
    fn has(&self, own: OwnStore, wanted: WantedProgram) -> Result<bool, ProtocolError>;

    /// Returns whether stock is made for one level of statistical security.
    fn has_levels(&self) -> bool {
        true
    }

    /// Lists the flags of these wishes that have no effect: whether each was given, its name, and the reason.
    fn without_effect(&self, wishes: &StockOptions) -> Vec<(bool, &'static str, &'static str)>;

    /// Returns the stock for these requests.
    ///
    /// # Errors
    /// If a component does not exist, or too much stock is requested.
    fn asked(&self, requested: &[Requested], wishes: &StockOptions) -> Result<StockRequest, Error>;

    /// Greets the peer and compares both stores.
    ///
    /// # Errors
    /// Those of the protocol.
    fn open(&self, opening: UngreetedConnection) -> Result<Box<dyn StockLine>, ProtocolError>;

    /// Returns the function that greets a peer with whom several workers will make stock, if the protocol has
    /// workers.
    fn of_workers(&self) -> Option<OpenForWorkers> {
        None
    }
}

/// A connection to a peer that also has a store, before the greetings.
pub struct UngreetedConnection<'a> {
    pub party: Party,
    pub channel: Channel,
    pub store: &'a Store,
    pub terms: &'a Terms,
    /// The OTs of masks, for a protocol with a choice.
    pub cot: Cot,
    pub watch: &'a Observe<'a>,
}

/// Greets a peer with whom this number of workers will make stock, and compares both stores.
pub type OpenForWorkers = fn(usize, UngreetedConnection) -> Result<Box<dyn StockLine>, ProtocolError>;

/// The result of a program that ran on stock, with the missing items in words.
pub type FromStock = stock::FromStock<String>;

/// A program and its run: executions, if the program does not contain them already, and the cut that the user
/// wants.
pub struct ProgramRun<'a> {
    pub program: &'a Arc<Program>,
    pub executions: u32,
    pub cut: &'a CutChoice,
}

/// The result of an action on a connection, and the connection.
pub type NextState<T> = Result<(T, Box<dyn StockLine>), ProtocolError>;

/// A connection between two parties with stock. After an error it cannot be used any more.
pub trait StockLine: Send {
    /// Makes this stock with the peer.
    ///
    /// # Errors
    /// Those of the protocol.
    fn make(self: Box<Self>, asked: &StockRequest) -> NextState<Preprocessed>;

    /// Makes this stock with the peer: one worker for each of these connections, and makers of this party on
    /// connections to them. Returns the time and the bytes of each phase, also by worker.
    ///
    /// # Errors
    /// Those of the protocol; an error of usage if it has no workers.
    fn make_by(
        self: Box<Self>,
        _asked: &StockRequest,
        _workers: Vec<Channel>,
        _makers: Vec<Channel>,
    ) -> NextState<(Preprocessed, Vec<Vec<PhaseReport>>)> {
        Err(ProtocolError::Usage("this protocol's stock is made over one connection".into()))
    }

    /// Runs a program on stock.
    ///
    /// # Errors
    /// Those of the protocol.
    fn run(self: Box<Self>, run: &ProgramRun, input: &[bool], lacking: Lacking) -> NextState<FromStock>;

    /// Runs a step of a reactive session, which uses or keeps values on wires.
    ///
    /// # Errors
    /// Those of the protocol; an error of usage if it has no such steps.
    fn step(self: Box<Self>, _step: &Step, _input: &[bool], _lacking: Lacking) -> NextState<FromStock> {
        Err(ProtocolError::Usage("this protocol's sessions keep nothing".into()))
    }

    /// Returns the cut of a run with this promise, if the stock decides it.
    fn cut(&self, _promise: &Promise) -> Option<Cut> {
        None
    }

    /// Closes the connection. Returns the time and the bytes of each phase.
    ///
    /// # Errors
    /// If the peer went away.
    fn close(self: Box<Self>) -> Result<Vec<PhaseReport>, ProtocolError>;
}

/// Returns a connection behind its interface, after an action on it.
pub(super) fn next<T, L: StockLine + 'static>(done: Result<(T, L), ProtocolError>) -> NextState<T> {
    done.map(|(done, line)| (done, Box::new(line) as Box<dyn StockLine>))
}

/// Does the same after a run of a program, and describes the missing items in words.
pub(super) fn ran<R, L: StockLine + 'static>(
    done: Result<(stock::FromStock<R>, L), ProtocolError>,
    words: impl FnOnce(R) -> String,
) -> NextState<FromStock> {
    let (stock::FromStock { outputs, kept, recovered, promise, made }, line) = done?;
    Ok((FromStock { outputs, kept, recovered, promise, made: made.map(words) }, Box::new(line)))
}

impl StockRequest {
    /// Makes a request for these items, whose promise is not known yet.
    pub(super) fn new(words: Vec<String>, items: impl Any + Send + Sync) -> Self {
        StockRequest { words, promise: None, items: Box::new(items) }
    }

    /// Returns the items in the protocol's own type.
    ///
    /// # Errors
    /// [`ProtocolError::Usage`] if they belong to another protocol.
    pub(super) fn items<T: Any>(&self) -> Result<&T, ProtocolError> {
        let other = || ProtocolError::Usage("the request is for the stock of another protocol".into());
        self.items.downcast_ref().ok_or_else(other)
    }
}

/// The largest number of OTs that one command makes: they take 17 GB at the evaluator.
const MAX_OTS: usize = 1 << 30;

/// Refuses more OTs than one command makes.
pub(super) fn not_too_many(ots: usize) -> Result<usize, Error> {
    match ots <= MAX_OTS {
        true => Ok(ots),
        false => Err(Error::usage(
            format!("the request needs more than {MAX_OTS} OTs"),
            "ask for fewer executions at a time; later requests add to the stock",
        )),
    }
}

pub(super) fn without_gates() -> Error {
    Error::usage(
        "there is nothing to make: the components have no AND gates",
        "name components with AND gates, or leave --no-inputs out",
    )
}

/// Programs by their file and digest, with the requests for each. The digest keeps programs of one name
/// apart.
pub(super) type ByFile<'w> = BTreeMap<(&'w str, [u8; 32]), (&'w Arc<Program>, Vec<&'w Requested>)>;

pub(super) fn by_file(requested: &[Requested]) -> ByFile<'_> {
    let mut by_file = ByFile::new();
    for one in requested {
        let key = (&one.file[..], one.program.digest());
        by_file.entry(key).or_insert_with(|| (&one.program, Vec::new())).1.push(one);
    }
    by_file
}

/// Returns a request for each component, and one for inputs and private outputs.
pub(super) fn steps(requested: &[Requested], wishes: &StockOptions) -> Result<Vec<Request>, Error> {
    let mut components: Vec<(Component, usize)> = Vec::new();
    let mut evaluator_inputs = 0;
    let mut prepared = Request { components: Vec::new(), garbler_wires: 0, ots: None };
    for ((file, _), (program, requested)) in &by_file(requested) {
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
pub(super) fn add(
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Stock for two programs of one name has the items of both.
    #[test]
    fn programs_of_one_name_are_kept_apart() {
        let program = |bits: u32| {
            let text = format!(
                "#parties 2\n#input 1 uint_t {bits}\n#input 2 uint_t {bits}\n#output 1 uint_t {bits}\n\
                 function void main() {{ output1 = input1 + input2; }}"
            );
            Requested::of(&crate::Program::from_source("add.wir", &text).unwrap(), 1)
        };
        let wishes = StockOptions::new("authenticated".parse().unwrap());
        let asked = StockRequest::of(&[program(8), program(16)], &wishes).unwrap();
        assert_eq!(asked.items::<brickwork_authenticated::Request>().unwrap().inputs, 2 * (8 + 16));
    }
}
