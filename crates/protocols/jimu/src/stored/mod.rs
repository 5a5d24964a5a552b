//! JIMU's gates, components, wires and OTs on disk, made before programs are known, and runs of programs that
//! use them. All protocols share the code that compares stores, fills them and takes items
//! ([`brickwork_protocol::stock`]). This module has JIMU's own parts: AND gates with the session's offset,
//! and copies of components with their own offsets.
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
use brickwork_protocol::stock as stocked;
use brickwork_protocol::stock::records::Batches;
pub use brickwork_protocol::stock::{Lacking, Preprocessed};
use brickwork_protocol::{Metered, Observer, PhaseReport, Promise, Terms};
use brickwork_store::Store;
use brickwork_wire::Channel;

use crate::hooks::Hooks;
use crate::layout::Layout;
use crate::parameters::{HashLevel, Unit};
use crate::report::Jimu;
use needs::Execution;
pub(crate) use needs::Filling;
pub use needs::Request;

/// Returns whether this party's store has enough items for a program, among the items that both parties may
/// still use. With `unit`, it considers only this unit, otherwise both units.
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
        if stocked::in_stock::<Jimu>(store, party, terms, |held| needs.choose(held, unit, security))? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Returns the promise of a program with this unit, if one preprocessing for this program makes all its
/// items.
///
/// # Errors
/// [`Error::Usage`] if the security is not offered, [`Error::Limit`] if one preprocessing cannot make that
/// many items.
pub fn stock_promise(program: &Program, unit: Unit, security: u32) -> Result<Promise, Error> {
    Request::of(program, unit)?.promise(unit, security)
}

/// The result of a program from stock; [`Aside`](crate::Aside) explains how to treat `recovered`.
pub type FromStock = brickwork_protocol::stock::FromStock<Request>;

/// A connection between two parties with stock on disk. After an error it cannot be used any more.
pub struct Stocked(stocked::Stocked<Jimu>);

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
        stocked::Stocked::greet(run, hooks, store, terms, "brickwork 2026-11 jimu stock").map(Stocked)
    }

    /// Makes the requested stock, one step after another. Steps are not repeated if an interrupted call for
    /// the same request completed them. The items go into an epoch from which no item was used yet, or into a
    /// new one.
    ///
    /// # Errors
    /// As [`Stocked::open`]; [`Error::Usage`] if nothing is requested; [`Error::Peer`] if the peer cheats,
    /// and then the epoch is burned.
    pub fn preprocess(mut self, asked: &Request) -> Result<(Preprocessed, Self), Error> {
        if asked.is_empty() {
            return Err(Error::Usage("the request asks for no gates, components, inputs or OTs".into()));
        }
        let epoch = self.0.open_epoch()?;
        let steps = asked.steps(self.0.terms().security.whole()?)?;
        let (done, line) = self.0.fill(epoch, &steps)?;
        Ok((done, Stocked(line)))
    }

    /// Runs a program on stock, in this cut. Without a cut, it uses components if there are enough, and
    /// otherwise gates. `input` has the bits of this party's input ports.
    ///
    /// All material of a program must exist before the first input of its session. So missing items are added
    /// to an epoch from which nothing was taken, if there is one. Otherwise a new epoch gets everything that
    /// the program needs.
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
        let security = self.0.terms().security.whole()?;
        let level = HashLevel::of_stock(security)?;
        let cut = |unit: Unit| Layout::from_stock(program, unit, level);
        let layout = match unit {
            Some(unit) => cut(unit)?,
            // Both parties reach the same decision, because their stores have the same items. A program that
            // has no component to garble is cut into gates.
            None => match cut(Unit::Components) {
                Ok(layout)
                    if !layout.kinds.is_empty() && self.0.holds(&Execution { layout: &layout, input })? =>
                {
                    layout
                }
                _ => cut(Unit::Gates)?,
            },
        };
        layout.takes(self.0.role(), input)?;
        let job = Execution { layout: &layout, input };
        let everything = Request::of_layout(&layout);
        let (outcome, epoch, made, line) = self.0.run_or_make(&job, lacking, |mut next, why| {
            let missing = |there: &Batches| Some(everything.missing(there)).filter(|lacks| !lacks.is_empty());
            let (epoch, made) = next.to_be_made(why, everything.clone(), missing)?;
            let (_, next) = next.fill(epoch, &made.steps(security)?)?;
            Ok((made, next))
        })?;
        let side::Ran { outputs, recovered, mut promise } = outcome;
        promise.epoch_bound_log2 = Some(origins::bound_of_epoch(line.store(), &epoch, security)?.log2());
        Ok((FromStock { outputs, kept: Vec::new(), recovered, promise, made }, Stocked(line)))
    }

    /// Closes the connection. Returns the time and the bytes of each phase.
    ///
    /// # Errors
    /// [`Error::Io`] if the connection has ended.
    pub fn close(self) -> Result<Vec<PhaseReport>, Error> {
        self.0.close()
    }
}
