//! Components and masks that are made before programs are known: a connection between two parties with
//! stores. All protocols share the code for meeting, filling and taking ([`brickwork_protocol::stock`]). This
//! module has the records of copies and input masks, and the items of a program.
//!
//! All items of an epoch, and all programs that take from it, share the session's offsets. A failed check has
//! told the peer something about an offset or about masks. So after any failed check, the epoch is burned
//! before the connection closes. The peer is not told which check failed. Steps that a peer interrupts are
//! given up. Their risk counts in the bound of every program from the epoch
//! (docs/protocols/authenticated.md).

mod needs;
mod records;
mod side;
#[cfg(test)]
mod tests;

use brickwork_base::{Error, Party};
use brickwork_circuit::Program;
use brickwork_primitives::cut_and_choose::Upper;
use brickwork_primitives::ot::Cot;
use brickwork_protocol::steps::{Secret, Step};
use brickwork_protocol::stock::inventory::ItemKinds;
use brickwork_protocol::stock::records::Batches;
use brickwork_protocol::stock::{self as stocked};
pub use brickwork_protocol::stock::{Lacking, Preprocessed};
use brickwork_protocol::{Metered, Observer, PhaseReport, Promise, Terms};
use brickwork_store::{Batch, Epoch, EpochId, Store};
use brickwork_wire::Channel;

use crate::hooks::Hooks;
use crate::layout::{Forced, Layout};
use crate::parameters::StatisticalLengths;
use crate::report::{Authenticated, promise_of};
pub(crate) use needs::Filling;
pub use needs::Request;
use needs::{Execution, MASKS, budget, keeps_promise};
use side::{ConnectionCarry, ProgramOutcome};

/// Returns whether this party's store has enough for a program, counting only items that both parties may
/// still use.
///
/// # Errors
/// [`Error::Stock`] if the store cannot be read or was altered, or as [`Request::of`].
pub fn in_stock(store: &Store, party: Party, terms: &Terms, program: &Program) -> Result<bool, Error> {
    let (needs, level) = (Request::of(program)?, StatisticalLengths::of(terms.security.whole()?)?);
    stocked::in_stock::<Authenticated>(store, party, terms, |there| {
        let taken = needs.choose(there)?;
        keeps_promise(there, level).map(|()| taken)
    })
}

/// Returns the promise of a program that takes everything from one preprocessing for it.
///
/// # Errors
/// [`Error::Usage`] for a security other than 40, 64 or 80, or as [`Request::of`].
pub fn stock_promise(program: &Program, security: u32, cot: Cot) -> Result<Promise, Error> {
    let (layout, level) = (Layout::new(program)?, StatisticalLengths::of(security)?);
    needs::promise(&layout, &Request::of_layout(&layout)?, level, cot)
}

impl ItemKinds for Authenticated {
    fn kind(batch: &Batch) -> &'static str {
        if batch.kind == MASKS { "input masks" } else { "component" }
    }

    fn bound_log2(store: &Store, id: &EpochId, epoch: &Epoch) -> Result<Option<f64>, Error> {
        let level = StatisticalLengths::of(epoch.security.whole()?)?;
        Ok(Some(budget(&Batches::of(store, id)?, level)?.log2()))
    }

    fn risk_log2(risk: u128) -> Option<f64> {
        Some(Upper::fixed(risk).log2())
    }

    fn executions(there: &Batches, program: &Program) -> Result<u64, Error> {
        Ok(Request::of(program)?.suffices(there))
    }
}

/// The result of a program from stock.
pub type FromStock = brickwork_protocol::stock::FromStock<Request>;

/// A connection between two parties with stock on disk. It cannot be used after an error.
pub struct Stocked {
    line: stocked::Stocked<Authenticated>,
    forced: Forced,
}

impl Stocked {
    /// Greets the peer and compares both stores. A new epoch uses OTs of the kind `cot`; an existing epoch
    /// keeps its kind.
    ///
    /// # Errors
    /// [`Error::Mismatch`] if the peer asks for something else. [`Error::Strangers`] if the stores do not
    /// belong together. [`Error::Stock`] if a store is an old copy; the epochs that differ are then burned.
    /// It is also returned if a store has another protocol's stock; nothing is then burned. [`Error::Io`] if
    /// the peer goes away, [`Error::Usage`] for a security other than 40, 64 or 80.
    pub fn open(
        party: Party,
        channel: Channel,
        store: &Store,
        terms: &Terms,
        cot: Cot,
        observer: impl Observer + 'static,
    ) -> Result<Self, Error> {
        Self::open_with(party, channel, store, terms, cot, Box::new(observer), Hooks::none())
    }

    pub(super) fn open_with(
        party: Party,
        channel: Channel,
        store: &Store,
        terms: &Terms,
        cot: Cot,
        observer: Box<dyn Observer>,
        hooks: Hooks,
    ) -> Result<Self, Error> {
        let forced = hooks.settings().copied().unwrap_or_default();
        forced.level_of(terms.security.whole()?)?;
        let (run, carried) =
            (Metered::new::<Authenticated>(channel, party, observer), ConnectionCarry { cot, hooks });
        let line =
            stocked::Stocked::greet(run, carried, store, terms, "brickwork 2026-11 authenticated stores")?;
        Ok(Stocked { line, forced })
    }

    /// Returns whether later programs may use values that this connection keeps.
    pub fn keeps(&mut self, secret: &Secret) -> bool {
        self.line.kept().is_some_and(|kept| kept.wires(secret).is_ok())
    }

    /// Forgets a kept secret: no later program can use it.
    pub fn forget(&mut self, secret: &Secret) {
        self.line.kept().into_iter().for_each(|kept| kept.forget(secret));
    }

    /// Makes the requested stock, one batch after another. Batches that an interrupted run for the same
    /// request completed are not made again.
    ///
    /// # Errors
    /// As [`Stocked::open`]. [`Error::Usage`] if nothing is requested, [`Error::Input`] if a gate cannot be
    /// masked, [`Error::Peer`] if the peer cheats; the epoch is then burned.
    pub fn preprocess(self, asked: &Request) -> Result<(Preprocessed, Self), Error> {
        let Stocked { mut line, forced } = self;
        let steps = asked.steps(forced.level_of(line.terms().security.whole()?)?, &forced)?;
        if steps.is_empty() {
            return Err(Error::Usage("the request asks for neither components nor input masks".into()));
        }
        let epoch = line.open_epoch()?;
        let (done, line) = line.fill(epoch, &steps)?;
        Ok((done, Stocked { line, forced }))
    }

    /// Runs a step, or a program as a step, on stock. `input` has this party's input bits. While a value is
    /// kept, all steps of the connection take items of the same epoch.
    ///
    /// # Errors
    /// As [`Stocked::preprocess`]. [`Error::Stock`] if an item is missing and `lacking` forbids making it,
    /// [`Error::Input`] if `input` has the wrong length, [`Error::Limit`] as [`Request::of`],
    /// [`Error::Usage`] if a secret belongs to another session.
    pub fn run(
        self,
        step: impl Into<Step>,
        input: &[bool],
        lacking: Lacking,
    ) -> Result<(FromStock, Self), Error> {
        self.run_step(&step.into(), input, lacking)
    }

    fn run_step(self, step: &Step, input: &[bool], mut lacking: Lacking) -> Result<(FromStock, Self), Error> {
        let Stocked { mut line, forced } = self;
        let layout = &Layout::of_step(step)?;
        layout.takes(line.role(), input)?;
        step.check_session(line.session_id())?;
        let (needs, level) = (Request::of_layout(layout)?, forced.level_of(line.terms().security.whole()?)?);
        let promise = (forced.level.is_none() && forced.pool.is_none()).then_some(level);
        let job = Execution { step, layout, needs: &needs, input, promise };
        // While a value is kept, programs use only the session of this value, and no other session is begun.
        if line.stays() {
            line.kept().map_or(Ok(()), |kept| kept.check(step))?;
            lacking = Lacking::Refuse;
        }
        let (done, epoch, made, line) = line.run_or_make(&job, lacking, |mut next, why| {
            let (epoch, made) = next.to_be_made(why, needs.clone(), |there| Some(needs.missing(there)))?;
            let (_, next) = next.fill(epoch, &made.steps(level, &forced)?)?;
            Ok((made, next))
        })?;
        let ProgramOutcome { outputs, kept, pools, cot } = done;
        let budget = budget(&Batches::of(line.store(), &epoch)?, level)?;
        let promise = promise_of(layout, level, cot, &budget, pools.into_iter());
        Ok((FromStock { outputs, kept, recovered: false, promise, made }, Stocked { line, forced }))
    }

    /// Ends the connection. Returns the time and the bytes of each phase.
    ///
    /// # Errors
    /// [`Error::Io`] if the peer went away.
    pub fn close(self) -> Result<Vec<PhaseReport>, Error> {
        self.line.close()
    }
}
