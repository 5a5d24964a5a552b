//! Components and OTs made ahead of time: a connection between two parties with stores. All protocols share
//! the code for meeting, filling and taking ([`brickwork_protocol::stock`]). This module has the records of
//! copies and OTs, and the items of a program. Components from stock are linked as `standard`.
//!
//! All programs that take from a session share its offset. This is safe: each key of the hash serves one
//! batch of copies only. A guess of the offset can be tested only against the calls under one key, however
//! many programs run (docs/protocols/compgc.md). Both parties burn taken items before either sends anything
//! that depends on them. So no copy is evaluated twice, and no OT is corrected twice.

mod needs;
mod records;
mod side;
#[cfg(test)]
mod tests;

use brickwork_base::{Error, Party};
use brickwork_circuit::Program;
use brickwork_protocol::stock as stocked;
use brickwork_protocol::stock::inventory::ItemKinds;
use brickwork_protocol::stock::records::Batches;
pub use brickwork_protocol::stock::{Lacking, Preprocessed};
use brickwork_protocol::{Metered, Observer, PhaseReport, Terms};
use brickwork_store::{Batch, Store};
use brickwork_wire::Channel;

use crate::layout::Layout;
use crate::linking::Linking;
use crate::report::{CompGc, promise};
pub use needs::Request;
use needs::{Execution, OTS};

/// Returns whether this party's store has enough for a program, counting only items that both parties may
/// still use.
///
/// # Errors
/// [`Error::Stock`] if the store cannot be read or was altered, or as [`Request::of`].
pub fn in_stock(store: &Store, party: Party, terms: &Terms, program: &Program) -> Result<bool, Error> {
    let needs = Request::of(program)?;
    stocked::in_stock::<CompGc>(store, party, terms, |held| needs.choose(held))
}

impl ItemKinds for CompGc {
    fn kind(batch: &Batch) -> &'static str {
        if batch.kind == OTS { "ots" } else { "component" }
    }

    fn executions(there: &Batches, program: &Program) -> Result<u64, Error> {
        Ok(Request::of(program)?.suffices(there))
    }
}

/// The result of a program from stock.
pub type FromStock = stocked::FromStock<Request>;

/// A connection between two parties with stock on disk. An error destroys it.
pub struct Stocked(stocked::Stocked<CompGc>);

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
        let run = Metered::new::<CompGc>(channel, party, Box::new(observer));
        stocked::Stocked::greet(run, (), store, terms, "brickwork 2026-11 compgc stock").map(Stocked)
    }

    /// Makes the requested stock in parts. Parts that an interrupted run for the same request completed are
    /// not made again.
    ///
    /// # Errors
    /// As [`Stocked::open`]; [`Error::Usage`] if nothing is requested; [`Error::Peer`] if the peer sends an
    /// invalid message, and then everything with the same offset is burned.
    pub fn preprocess(mut self, asked: &Request) -> Result<(Preprocessed, Self), Error> {
        let steps = asked.steps();
        if steps.is_empty() {
            return Err(Error::Usage("the request asks for neither components nor OTs".into()));
        }
        let epoch = self.0.open_epoch()?;
        let (done, line) = self.0.fill(epoch, &steps)?;
        Ok((done, Stocked(line)))
    }

    /// Runs a program on stock. `input` has the bits of this party's input ports.
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
        let (layout, needs) = (Layout::new(program, Linking::Standard)?, Request::of(program)?);
        layout.takes(self.0.role(), input)?;
        let job = Execution { layout: &layout, needs: &needs, input };
        let (outputs, _, made, line) = self.0.run_or_make(&job, lacking, |mut next, why| {
            let (epoch, made) = next.to_be_made(why, needs.clone(), |there| Some(needs.missing(there)))?;
            let (_, next) = next.fill(epoch, &made.steps())?;
            Ok((made, next))
        })?;
        let promise = promise(Linking::Standard);
        Ok((FromStock { outputs, kept: Vec::new(), recovered: false, promise, made }, Stocked(line)))
    }

    /// Ends the connection. Returns the time and the bytes of each phase.
    ///
    /// # Errors
    /// [`Error::Io`] if the peer went away.
    pub fn close(self) -> Result<Vec<PhaseReport>, Error> {
        self.0.close()
    }
}
