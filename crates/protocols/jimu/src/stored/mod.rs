//! JIMU's gates, components, wires and OTs on disk, made before programs are known, and runs of programs that
//! use them. All protocols share the code that compares stores, fills them and takes items
//! ([`brickwork_session::stock`]). This module has JIMU's own parts: AND gates with the session's offset, and
//! copies of components with their own offsets.
//!
//! All gates of an epoch share the session's Δ, and all words that are hashed in it share the watched
//! symbols. docs/protocols/jimu.md explains why this is secure.

mod inventory;
mod made;
mod needs;
mod online;
mod origins;
mod records;
mod side;
#[cfg(test)]
mod tests;

use brickwork_base::{Error, Party};
use brickwork_circuit::Program;
use brickwork_session::stock as stocked;
use brickwork_session::stock::meeting::{self, Owner};
use brickwork_session::stock::records::Batches;
pub use brickwork_session::stock::{Lacking, Preprocessed};
use brickwork_session::{Metered, Observer, PhaseReport, Promise, Protocol, Terms};
use brickwork_stock::{EpochId, Store};
use brickwork_wire::Channel;

use crate::hooks::Hooks;
use crate::layout::Layout;
use crate::parameters::{Level, Unit};
use crate::report::Jimu;
use crate::setup::{Evaluator, Garbler};
pub use inventory::{executions, inventory};
use needs::Execution;
pub(crate) use needs::Filling;
pub use needs::Request;
use side::{OnDisk, Role};

fn owner(role: Party, terms: &Terms) -> Owner<'_> {
    Owner { protocol: Jimu::NAME, role, terms }
}

/// Returns whether this party's store has enough items for a program, among the items that both parties may
/// still use. With `unit`, it considers only this cut, otherwise any cut.
///
/// # Errors
/// [`Error::Stock`] if the store cannot be read or was altered, or as [`Request::of`].
pub fn in_stock(
    store: &Store,
    party: Party,
    terms: &Terms,
    program: &Program,
    unit: Option<Unit>,
) -> Result<bool, Error> {
    let security = terms.security.whole()?;
    for unit in unit.map_or(Unit::ALL.to_vec(), |unit| vec![unit]) {
        let needs = Request::of(program, unit)?;
        if stocked::in_stock(store, &owner(party, terms), |held| needs.choose(held, unit, security))? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Exchanges the pairs and the positions of the logs with the peer, without changing either store. Returns
/// the number of epochs that both may use.
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
    meeting::compare_stores(channel, store, &owner(role, terms))
}

/// Returns the promise of a program in this cut if a preprocessing for this program makes all its items.
///
/// # Errors
/// [`Error::Usage`] if the security is not offered, [`Error::Limit`] if one preprocessing cannot make that
/// many items.
pub fn stock_promise(program: &Program, unit: Unit, security: u32) -> Result<Promise, Error> {
    Request::of(program, unit)?.promise(unit, security)
}

/// The result of a program from stock; [`Aside`](crate::Aside) explains how to treat `recovered`.
pub type FromStock = brickwork_session::stock::FromStock<Request>;

/// A connection between two parties with stock on disk. After an error it cannot be used any more.
pub struct Stocked(Of);

enum Of {
    Garbler(Box<Line<Garbler>>),
    Evaluator(Box<Line<Evaluator>>),
}

type Line<R> = stocked::Stocked<OnDisk<R>>;

impl From<Line<Garbler>> for Stocked {
    fn from(line: Line<Garbler>) -> Self {
        Stocked(Of::Garbler(Box::new(line)))
    }
}

impl From<Line<Evaluator>> for Stocked {
    fn from(line: Line<Evaluator>) -> Self {
        Stocked(Of::Evaluator(Box::new(line)))
    }
}

impl Stocked {
    /// Greets the peer and compares both stores.
    ///
    /// # Errors
    /// [`Error::Mismatch`] if the peer requests something else. [`Error::Strangers`] if the two stores do not
    /// belong together. [`Error::Stock`] if one of them is an old copy, and then the differing epochs are
    /// burned. [`Error::Stock`] also if a store has stock of another protocol, and then nothing is burned.
    /// [`Error::Io`] if the connection ends.
    pub fn open(
        party: Party,
        channel: Channel,
        store: &Store,
        terms: &Terms,
        observer: impl Observer + 'static,
    ) -> Result<Self, Error> {
        Self::open_with(party, channel, store, terms, Box::new(observer), Hooks::none())
    }

    pub(super) fn open_with(
        party: Party,
        channel: Channel,
        store: &Store,
        terms: &Terms,
        observer: Box<dyn Observer>,
        hooks: Hooks,
    ) -> Result<Self, Error> {
        let run = Metered::new::<Jimu>(channel, party, observer);
        match party {
            Party::Garbler => open::<Garbler>(run, store, terms, hooks).map(Stocked::from),
            Party::Evaluator => open::<Evaluator>(run, store, terms, hooks).map(Stocked::from),
        }
    }

    /// Makes the requested stock, one step after another. Steps that an interrupted call for the same request
    /// completed are not repeated. The items go into an epoch of which nothing was used yet, or into a new
    /// one.
    ///
    /// # Errors
    /// As [`Stocked::open`]; [`Error::Usage`] if nothing is requested; [`Error::Peer`] if the peer cheats,
    /// and then the epoch is burned.
    pub fn preprocess(self, asked: &Request) -> Result<(Preprocessed, Self), Error> {
        match self.0 {
            Of::Garbler(line) => fill(*line, asked),
            Of::Evaluator(line) => fill(*line, asked),
        }
    }

    /// Runs a program on stock, in this cut. Without a cut, it uses components if there are enough, and
    /// otherwise gates. `input` are the bits of this party's input ports.
    ///
    /// # Errors
    /// As [`Stocked::preprocess`]; [`Error::Stock`] if items are missing and must not be made,
    /// [`Error::Input`] if `input` has the wrong length, [`Error::Limit`] as [`Request::of`].
    pub fn run(
        self,
        program: &Program,
        unit: Option<Unit>,
        input: &[bool],
        lacking: Lacking,
    ) -> Result<(FromStock, Self), Error> {
        match self.0 {
            Of::Garbler(line) => run(*line, (program, unit), input, lacking),
            Of::Evaluator(line) => run(*line, (program, unit), input, lacking),
        }
    }

    /// Closes the connection. Returns the time and the bytes of each phase.
    ///
    /// # Errors
    /// [`Error::Io`] if the connection has ended.
    pub fn close(self) -> Result<Vec<PhaseReport>, Error> {
        match self.0 {
            Of::Garbler(line) => line.close(),
            Of::Evaluator(line) => line.close(),
        }
    }
}

fn open<R: Role>(run: Metered, store: &Store, terms: &Terms, hooks: Hooks) -> Result<Line<R>, Error> {
    Line::greet::<Jimu>(run, hooks, store, terms, "brickwork 2026-11 jimu stock")
}

/// Fills the newest epoch that may be filled, or a new one.
fn fill<R: Role>(mut line: Line<R>, asked: &Request) -> Result<(Preprocessed, Stocked), Error>
where
    Stocked: From<Line<R>>,
{
    if asked.is_empty() {
        return Err(Error::Usage("neither gates nor components, inputs or OTs are requested".into()));
    }
    let epoch = line.open_epoch()?;
    let steps = asked.steps(line.terms().security.whole()?)?;
    line.fill(epoch, &steps).map(|(done, line)| (done, line.into()))
}

/// Runs a program, and makes its missing items. All items of a program must exist before its session's first
/// input. So missing items are added to an epoch of which nothing was used, if there is one. Otherwise a new
/// epoch gets everything that the program needs.
fn run<R: Role>(
    line: Line<R>,
    (program, unit): (&Program, Option<Unit>),
    input: &[bool],
    lacking: Lacking,
) -> Result<(FromStock, Stocked), Error>
where
    Stocked: From<Line<R>>,
{
    let security = line.terms().security.whole()?;
    let level = Level::of_stock(security)?;
    let cut = |unit: Unit| Layout::from_stock(program, unit, level);
    let layout = match unit {
        Some(unit) => cut(unit)?,
        // Both parties' stores give the same result. A program without a component to garble is cut into
        // gates.
        None => match cut(Unit::Components) {
            Ok(layout)
                if !layout.kinds.is_empty() && line.holds(&Execution { layout: &layout, input })? =>
            {
                layout
            }
            _ => cut(Unit::Gates)?,
        },
    };
    layout.takes(R::ROLE, input)?;
    let job = Execution { layout: &layout, input };
    let (outcome, epoch, made, next) = line.run_or_make(&job, lacking, |mut next, why| {
        let everything = Request::of_layout(&layout);
        let mut epoch = next.open_epoch()?;
        let there = epoch.map(|id| Batches::of(next.store(), &id)).transpose()?;
        let mut missing = there.map_or_else(|| everything.clone(), |there| everything.missing(&there));
        if missing.is_empty() {
            // There are enough items, but they come from too many batches.
            (epoch, missing) = (None, everything);
        }
        tracing::warn!("{why}; {missing} are made on the spot");
        let (_, next) = next.fill(epoch, &missing.steps(security)?)?;
        Ok((missing, next))
    })?;
    let side::Ran { outputs, recovered, mut promise } = outcome;
    promise.epoch_bound_log2 = Some(bound_of_epoch(&next, &epoch)?);
    Ok((FromStock { outputs, kept: Vec::new(), recovered, promise, made }, next.into()))
}

/// Returns the base-2 logarithm of the bound of all programs together that use an epoch.
fn bound_of_epoch<R: Role>(line: &Line<R>, epoch: &EpochId) -> Result<f64, Error> {
    Ok(origins::bound_of_epoch(line.store(), epoch, line.terms().security.whole()?)?.log2())
}
