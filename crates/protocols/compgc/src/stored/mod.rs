//! Components and OTs made ahead of time: a connection between two parties with stores. All protocols share
//! the code for meeting, filling and taking ([`brickwork_session::stock`]). This module has the records of
//! copies and OTs, and the items of a program. Components from stock are linked as `standard`.
//!
//! All programs that take from a session share its offset. That is safe: each key of the hash serves one
//! batch of copies only, and a guess of the offset can be tested only against the calls under one key,
//! however many programs run (docs/protocols/compgc.md). Both parties burn taken items before either sends
//! anything that depends on them, so no copy is evaluated and no OT corrected twice.

mod needs;
mod records;
mod side;
#[cfg(test)]
mod tests;

use brickwork_base::{Error, Party};
use brickwork_circuit::Program;
use brickwork_primitives::ot::extension;
use brickwork_session::stock as stocked;
use brickwork_session::stock::inventory::{Inventory, Kinds, inventory_of};
use brickwork_session::stock::meeting::{self, Owner};
use brickwork_session::stock::plain::{OnDisk, without_level};
use brickwork_session::stock::records::Batches;
pub use brickwork_session::stock::{Lacking, Preprocessed};
use brickwork_session::{Metered, Observer, PhaseReport, Protocol, Terms};
use brickwork_stock::{Batch, Store};
use brickwork_wire::Channel;

use crate::layout::Layout;
use crate::linking::Linking;
use crate::report::{CompGc, promise};
use crate::setup::Session;
pub use needs::Request;
use needs::{Execution, OTS};
use side::Role;

fn owner(role: Party, terms: &Terms) -> Owner<'_> {
    Owner { protocol: CompGc::NAME, role, terms }
}

/// Returns whether this party's store has enough for a program, counting only items that both parties may
/// still use.
///
/// # Errors
/// [`Error::Stock`] if the store cannot be read or was altered, or as [`Request::of`].
pub fn in_stock(store: &Store, party: Party, terms: &Terms, program: &Program) -> Result<bool, Error> {
    let needs = Request::of(program)?;
    stocked::in_stock(store, &owner(party, &without_level(terms)), |held| needs.choose(held))
}

/// Returns how often a program can run on this part of a store.
///
/// # Errors
/// As [`in_stock`].
pub fn executions(part: &Inventory, store: &Store, program: &Program) -> Result<u64, Error> {
    let needs = Request::of(program)?;
    Ok(if part.is_lost() { 0 } else { needs.suffices(&Batches::of(store, &part.id)?) })
}

/// Compares the stores with the peer's without a run: exchanges their pairs and the positions of their logs,
/// and changes neither store. Returns how many epochs both parties may use.
///
/// # Errors
/// [`Error::Strangers`] if the stores do not belong together, so that a run would be refused.
/// [`Error::Stock`] if their logs do not agree, so that a run would burn the differing epochs.
pub fn compare_stores(
    channel: &mut Channel,
    store: Option<&Store>,
    role: Party,
    terms: &Terms,
) -> Result<usize, Error> {
    meeting::compare_stores(channel, store, &owner(role, &without_level(terms)))
}

/// Lists this protocol's items in a store, oldest first, burned epochs included.
///
/// # Errors
/// [`Error::Stock`] if the store cannot be read or was altered.
pub fn inventory(store: &Store) -> Result<Vec<Inventory>, Error> {
    struct Ours;
    impl Kinds for Ours {
        const PROTOCOL: &'static str = CompGc::NAME;

        fn kind(batch: &Batch) -> &'static str {
            if batch.kind == OTS { "ots" } else { "component" }
        }
    }
    inventory_of::<Ours>(store)
}

/// The result of a program from stock.
pub type FromStock = stocked::FromStock<Request>;

/// A connection between two parties with stock on disk. It cannot be used after an error.
pub struct Stocked(Of);

enum Of {
    Garbler(Box<Line<extension::Sender>>),
    Evaluator(Box<Line<extension::Receiver>>),
}

type Line<C> = stocked::Stocked<OnDisk<Session<C>>>;

impl From<Line<extension::Sender>> for Stocked {
    fn from(line: Line<extension::Sender>) -> Self {
        Stocked(Of::Garbler(Box::new(line)))
    }
}

impl From<Line<extension::Receiver>> for Stocked {
    fn from(line: Line<extension::Receiver>) -> Self {
        Stocked(Of::Evaluator(Box::new(line)))
    }
}

impl Stocked {
    /// Greets the peer and compares both stores.
    ///
    /// # Errors
    /// [`Error::Mismatch`] if the peer asks for something else. [`Error::Strangers`] if the stores do not
    /// belong together. [`Error::Stock`] if a store is an old copy; the epochs that differ are then burned.
    /// It is also returned if a store has another protocol's stock; nothing is then burned. [`Error::Io`] if
    /// the peer goes away.
    pub fn open(
        party: Party,
        channel: Channel,
        store: &Store,
        terms: &Terms,
        observer: impl Observer + 'static,
    ) -> Result<Self, Error> {
        Self::begin(Metered::new::<CompGc>(channel, party, Box::new(observer)), store, &without_level(terms))
    }

    fn begin(run: Metered, store: &Store, terms: &Terms) -> Result<Self, Error> {
        match run.role {
            Party::Garbler => open::<extension::Sender>(run, store, terms).map(Stocked::from),
            Party::Evaluator => open::<extension::Receiver>(run, store, terms).map(Stocked::from),
        }
    }

    /// Makes the requested stock in parts. Parts that an interrupted run for the same request completed are
    /// not made again.
    ///
    /// # Errors
    /// As [`Stocked::open`]. [`Error::Usage`] if nothing is requested. [`Error::Peer`] if the peer sends an
    /// invalid message; everything with the same offset is then burned.
    pub fn preprocess(self, asked: &Request) -> Result<(Preprocessed, Self), Error> {
        match self.0 {
            Of::Garbler(line) => fill(*line, asked),
            Of::Evaluator(line) => fill(*line, asked),
        }
    }

    /// Runs a program on stock. `input` are the bits of this party's input ports.
    ///
    /// # Errors
    /// As [`Stocked::preprocess`]. [`Error::Stock`] if an item is missing and `lacking` forbids making it,
    /// [`Error::Input`] if `input` has the wrong length, [`Error::Limit`] as [`Request::of`].
    pub fn run(
        self,
        program: &Program,
        input: &[bool],
        lacking: Lacking,
    ) -> Result<(FromStock, Self), Error> {
        let layout = Layout::new(program, Linking::Standard)?;
        let job = Execution { layout: &layout, needs: &Request::of(program)?, input };
        match self.0 {
            Of::Garbler(line) => run(*line, &job, lacking),
            Of::Evaluator(line) => run(*line, &job, lacking),
        }
    }

    /// Ends the connection. Returns the time and the bytes of each phase.
    ///
    /// # Errors
    /// [`Error::Io`] if the peer went away.
    pub fn close(self) -> Result<Vec<PhaseReport>, Error> {
        match self.0 {
            Of::Garbler(line) => line.close(),
            Of::Evaluator(line) => line.close(),
        }
    }
}

fn open<C: Role>(run: Metered, store: &Store, terms: &Terms) -> Result<Line<C>, Error> {
    Line::greet::<CompGc>(run, (), store, terms, "brickwork 2026-11 compgc stock")
}

/// Adds stock to the newest epoch, or to a new one.
fn fill<C: Role>(mut line: Line<C>, asked: &Request) -> Result<(Preprocessed, Stocked), Error>
where
    Stocked: From<Line<C>>,
{
    let steps = asked.steps();
    if steps.is_empty() {
        return Err(Error::Usage("neither components nor OTs are asked for".into()));
    }
    let epoch = line.open_epoch()?;
    line.fill(epoch, &steps).map(|(done, line)| (done, line.into()))
}

fn run<C: Role>(line: Line<C>, job: &Execution, lacking: Lacking) -> Result<(FromStock, Stocked), Error>
where
    Stocked: From<Line<C>>,
{
    job.layout.takes(C::ROLE, job.input)?;
    let (outputs, _, made, next) = line.run_or_make(job, lacking, |mut next, why| {
        let epoch = next.open_epoch()?;
        let there = epoch.map(|epoch| Batches::of(next.store(), &epoch)).transpose()?;
        let missing = job.needs.missing(there.as_ref());
        tracing::warn!("{why}; {missing} are made on the spot");
        let (_, next) = next.fill(epoch, &missing.steps())?;
        Ok((missing, next))
    })?;
    let promise = promise(Linking::Standard);
    Ok((FromStock { outputs, kept: Vec::new(), recovered: false, promise, made }, next.into()))
}
