//! LEGO's stock on disk: gates, inputs and OTs, which depend on no program; built programs, which depend on
//! no input; and runs of programs from both. All protocols share the code that compares stores, fills them
//! and takes items ([`brickwork_protocol::stock`]). This module has LEGO's own parts.
//!
//! All gates of an epoch, and all programs that use them, share the session's Δ. This is secure
//! (docs/protocols/lego.md), because openings are sums of active labels and each batch of gates has its own
//! hash keys. If an evaluator learned Δ because the garbler cheated, it forgets Δ after the program.

mod inventory;
mod needs;
mod origins;
mod records;
mod side;
#[cfg(test)]
mod tests;

use brickwork_base::{Error, Party};
use brickwork_circuit::Program;
use brickwork_protocol::stock::records::Batches;
use brickwork_protocol::stock::{self as stocked, Gave, StockProtocol as _};
pub use brickwork_protocol::stock::{Lacking, Preprocessed};
use brickwork_protocol::{Metered, Observer, PhaseReport, Promise, Terms};
use brickwork_store::{GivenUp, Store};
use brickwork_wire::Channel;

use crate::hooks::Hooks;
use crate::layout::Layout;
use crate::report::Lego;
pub use needs::Request;
use needs::{Execution, Filling, ItemUse};
use origins::{CutAndChoose, Origin};

/// The largest number of AND gates in a stored built program, because such a program is one record of a
/// store.
const MOST_BUILT: usize = 1 << 20;

/// Returns whether this party's store has enough for a program, among the items that both parties may still
/// use.
///
/// # Errors
/// [`Error::Stock`] if the store cannot be read or was altered, or as [`Request::of`].
pub fn in_stock(store: &Store, party: Party, terms: &Terms, program: &Program) -> Result<bool, Error> {
    let layout = Layout::new(program)?;
    let job = Execution { layout: &layout, purpose: ItemUse::Run, input: &[] };
    stocked::in_stock::<Lego>(store, party, terms, |held| Lego::choose(&job, held, terms))
}

/// Returns the promise of a program if a preprocessing for this program makes all its items.
///
/// # Errors
/// [`Error::Usage`] if the security is not offered, [`Error::Limit`] if one preprocessing cannot make that
/// many items.
pub fn stock_promise(program: &Program, security: u32) -> Result<Promise, Error> {
    let mut origins = Vec::new();
    for (step, serial) in Request::of(program)?.steps(security)?.iter().zip(0..) {
        let Filling::Items(_, parameters) = step else { continue };
        let gates = parameters.mixed().map(CutAndChoose::Gates);
        let inputs = (parameters.inputs.slots > 0).then_some(CutAndChoose::Inputs(parameters.inputs));
        origins.extend(gates.into_iter().chain(inputs).map(|cut| Origin { serial, cut }));
    }
    origins::promise(&origins, GivenUp::default(), security)
}

/// The result of a program from stock; [`Aside`](crate::Aside) explains how to treat `recovered`.
pub type FromStock = brickwork_protocol::stock::FromStock<Request>;

/// A connection between two parties with stock on disk. An error destroys it.
pub struct Stocked(stocked::Stocked<Lego>);

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
        let run = Metered::new::<Lego>(channel, party, observer);
        stocked::Stocked::greet(run, hooks, store, terms, "brickwork 2026-11 lego stock").map(Stocked)
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
            return Err(Error::Usage("the request asks for no gates, inputs or OTs".into()));
        }
        let epoch = self.0.open_epoch()?;
        let steps = asked.steps(self.0.terms().security.whole()?)?;
        let (done, line) = self.0.fill(epoch, &steps)?;
        Ok((done, Stocked(line)))
    }

    /// Builds a program from stock, and stores the built program. A run of this built program only needs the
    /// inputs.
    ///
    /// # Errors
    /// As [`Stocked::run`].
    pub fn build(self, program: &Program, lacking: Lacking) -> Result<(Option<Request>, Self), Error> {
        let layout = Layout::new(program)?;
        if layout.ands > MOST_BUILT {
            return Err(Error::Limit(format!(
                "a program can be built into the stock only with at most {MOST_BUILT} AND gates; run this \
                 program on gates from stock"
            )));
        }
        let job = Execution { layout: &layout, purpose: ItemUse::Build, input: &[] };
        let (_, epoch, made, line) = self.executed(&job, lacking)?;
        let kept = [Filling::Program(program.digest(), program.name())];
        let (_, line) = line.fill(Some(epoch), &kept)?;
        Ok((made, Stocked(line)))
    }

    /// Runs a program on stock: it uses a built program if there is one, and gates otherwise. `input` has the
    /// bits of this party's input ports.
    ///
    /// # Errors
    /// As [`Stocked::preprocess`]; [`Error::Stock`] if items are missing and must not be made,
    /// [`Error::Input`] if `input` has the wrong length, [`Error::Limit`] as [`Request::of`].
    pub fn run(
        self,
        program: &Program,
        input: &[bool],
        lacking: Lacking,
    ) -> Result<(FromStock, Self), Error> {
        let layout = Layout::new(program)?;
        layout.takes(self.0.role(), input)?;
        let job = Execution { layout: &layout, purpose: ItemUse::Run, input };
        let (outcome, epoch, made, line) = self.executed(&job, lacking)?;
        let side::Ran { outputs, recovered, mut promise } = outcome
            .ok_or_else(|| Error::Usage("building a program into the stock gives no outputs".into()))?;
        let security = line.terms().security.whole()?;
        promise.epoch_bound_log2 = Some(origins::bound_of_epoch(line.store(), &epoch, security)?.log2());
        Ok((FromStock { outputs, kept: Vec::new(), recovered, promise, made }, Stocked(line)))
    }

    /// Builds or runs a program, and makes its missing items. All material of a program must exist before the
    /// first input of its session. So missing items are added to an epoch from which nothing was taken, if
    /// there is one. Otherwise a new epoch gets everything that the program needs.
    fn executed(self, job: &Execution, lacking: Lacking) -> Result<Gave<Lego, Request>, Error> {
        let (everything, security) = (Request::of_layout(job.layout), self.0.terms().security.whole()?);
        self.0.run_or_make(job, lacking, |mut next, why| {
            let missing = |there: &Batches| Some(everything.missing(there)).filter(|lacks| !lacks.is_empty());
            let (epoch, made) = next.to_be_made(why, everything, missing)?;
            let (_, next) = next.fill(epoch, &made.steps(security)?)?;
            Ok((made, next))
        })
    }

    /// Closes the connection. Returns the time and the bytes of each phase.
    ///
    /// # Errors
    /// [`Error::Io`] if the connection has ended.
    pub fn close(self) -> Result<Vec<PhaseReport>, Error> {
        self.0.close()
    }
}
