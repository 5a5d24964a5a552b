//! OTs on disk, made before programs are known, and runs of programs that use them. All protocols share the
//! code that compares stores, fills them and takes items ([`brickwork_protocol::stock`]). This module has the
//! records of OTs, and the number of OTs of a program.
//!
//! All programs that use OTs of a session share its Δ. This is secure, as docs/protocols/semi-honest.md
//! explains: each call of the hash uses a key of one program. So an attacker can test a guess of Δ only
//! against the calls under one key, however many programs there are. Each OT hides only one input bit,
//! because both parties burn an item before either sends anything that depends on it.

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
use crate::report::{SemiHonest, promise};
use side::{Execution, Filling, OTS};

/// Returns the number of OTs for this many executions of a program: one for each of the evaluator's input
/// bits. If it has none, the number is 1, because a log entry without items would burn nothing.
///
/// # Errors
/// [`Error::Input`] if `executions` is 0, [`Error::Limit`] if a run from stock cannot have that many gates or
/// inputs.
pub fn ots(program: &Program, executions: usize) -> Result<usize, Error> {
    let layout = Layout::new(program, executions)?;
    side::needed(&layout)
}

/// Returns whether this party's store has enough OTs for a program, among those that both parties may still
/// use.
///
/// # Errors
/// [`Error::Stock`] if the store cannot be read or was altered, or as [`ots`].
pub fn in_stock(
    store: &Store,
    party: Party,
    terms: &Terms,
    program: &Program,
    executions: usize,
) -> Result<bool, Error> {
    let layout = Layout::new(program, executions)?;
    stocked::in_stock::<SemiHonest>(store, party, terms, |held| side::choose(&layout, held))
}

impl ItemKinds for SemiHonest {
    fn kind(_: &Batch) -> &'static str {
        "ots"
    }

    fn executions(there: &Batches, program: &Program) -> Result<u64, Error> {
        Ok(there.left(OTS) as u64 / ots(program, 1)? as u64)
    }
}

/// The result of a program from stock. `made` is the number of OTs that the run made because the stock had
/// too few.
pub type FromStock = stocked::FromStock<usize>;

/// A connection between two parties with stock on disk. An error destroys it.
pub struct Stocked(stocked::Stocked<SemiHonest>);

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
        let run = Metered::new::<SemiHonest>(channel, party, Box::new(observer));
        stocked::Stocked::greet(run, (), store, terms, "brickwork 2026-11 semi-honest stock").map(Stocked)
    }

    /// Makes `count` OTs, one step after another. Steps that an interrupted call for the same number
    /// completed are not repeated.
    ///
    /// # Errors
    /// As [`Stocked::open`]; [`Error::Usage`] if `count` is 0; [`Error::Peer`] if the peer sends an invalid
    /// message, and then everything with the same offset is burned.
    pub fn preprocess(mut self, count: usize) -> Result<(Preprocessed, Self), Error> {
        if count == 0 {
            return Err(Error::Usage("the request asks for no OTs".into()));
        }
        let epoch = self.0.open_epoch()?;
        let (done, line) = self.0.fill(epoch, &Filling::steps(count))?;
        Ok((done, Stocked(line)))
    }

    /// Runs a program this many times with OTs from the store. `input` has the bits of this party's input
    /// ports, `[execution][bit]`.
    ///
    /// # Errors
    /// As [`Stocked::preprocess`]; [`Error::Stock`] if OTs are missing and must not be made, [`Error::Input`]
    /// if `input` has the wrong length, [`Error::Limit`] if the run would exceed the limits of the promise.
    pub fn run(
        self,
        program: &Program,
        executions: usize,
        input: &[bool],
        lacking: Lacking,
    ) -> Result<(FromStock, Self), Error> {
        let layout = Layout::new(program, executions)?;
        let _ = layout.inputs(self.0.role(), input)?;
        let job = Execution { layout: &layout, input };
        let (outputs, _, made, line) = self.0.run_or_make(&job, lacking, |mut next, why| {
            let epoch = next.open_epoch()?;
            let missing = side::missing(next.store(), epoch, &layout)?;
            tracing::warn!("{why}; both parties now make {missing} OTs during this run");
            let (_, next) = next.fill(epoch, &Filling::steps(missing))?;
            Ok((missing, next))
        })?;
        let done = FromStock { outputs, kept: Vec::new(), recovered: false, promise: promise(), made };
        Ok((done, Stocked(line)))
    }

    /// Closes the connection. Returns the time and the bytes of each phase.
    ///
    /// # Errors
    /// [`Error::Io`] if the connection has ended.
    pub fn close(self) -> Result<Vec<PhaseReport>, Error> {
        self.0.close()
    }
}
