//! The state of each party between the phases of a session, and the threads that compute for the session.

use zeroize::Zeroizing;

use super::Error;
use super::authenticators::{
    EvaluatorAuthenticators, EvaluatorComponent, GarblerAuthenticators, GarblerComponent,
};
use super::hooks::Hooks;
use super::input_ots::{EvaluatorInputOts, GarblerInputOts};
use super::instance::{Commitments, CotReceiver, CotSender};
use super::stock::{PartyStock, ProgramMaterial};
use brickwork_base::Security;
use brickwork_base::label::{Delta, Label};
use brickwork_base::pool::Pool;
use brickwork_base::random::Rng;
use brickwork_primitives::commit::{self, Committed, Shares};
use brickwork_primitives::counters::Counters;
use brickwork_protocol::{Metered, SessionId};
use brickwork_store::Writers;

/// The garbler's items for a program.
pub(super) type GarblerMaterial = ProgramMaterial<GarblerComponent, GarblerAuthenticators, GarblerInputOts>;

/// The garbler of a session, between two programs.
pub struct Garbler<C: commit::CommitmentScheme = Commitments> {
    pub(super) run: Metered,
    pub(super) pool: Pool,
    pub(super) session: SessionId,
    pub(super) security: Security,
    pub(super) sender: C::Sender,
    pub(super) cot: CotSender,
    /// The commitments to Δ_ka and Δ_ot.
    pub(super) ka: Committed,
    pub(super) ot: Committed,
    pub(super) rng: Rng,
    pub(super) hooks: Hooks,
    /// The number of committed values that are recomputed at a time to sort them.
    pub(super) window: usize,
    /// The number of combinations that bind each batch of OTs.
    pub(super) binding: usize,
    pub(super) counters: Counters,
    /// True after the session's first input: stock may then no longer be added.
    pub(super) used: bool,
    pub(super) stock: PartyStock<GarblerComponent, GarblerAuthenticators, GarblerInputOts>,
}

impl<C: commit::CommitmentScheme> Garbler<C> {
    /// Returns Δ_ka, the offset of all plain authenticators.
    pub(super) fn delta_ka(&self) -> Delta {
        Delta::new(self.ka.values[0].bits())
    }
}

/// The evaluator's items for a program.
pub(super) type EvaluatorMaterial =
    ProgramMaterial<EvaluatorComponent, EvaluatorAuthenticators, EvaluatorInputOts>;

/// The evaluator's state in a session before the first proof.
pub(super) struct EvaluatorCore<C: commit::CommitmentScheme> {
    pub run: Metered,
    pub pool: Pool,
    pub session: SessionId,
    pub security: Security,
    pub receiver: C::Receiver,
    pub cot: CotReceiver,
    pub rng: Rng,
    pub hooks: Hooks,
    /// The bytes of tables that may still be kept in memory.
    pub table_memory: u64,
    /// The largest number of bytes of openings of copies and authenticators that one step may keep in memory.
    pub openings_memory: u64,
    /// Creates the segments for tables while a store is filled.
    pub segments: Option<Writers>,
    /// The number of combinations that bind each batch of OTs.
    pub binding: usize,
    pub counters: Counters,
}

/// The evaluator of a session, between two programs.
pub struct Evaluator<C: commit::CommitmentScheme = Commitments> {
    pub(super) core: EvaluatorCore<C>,
    /// The commitments to Δ_ka and Δ_ot.
    pub(super) ka: Shares,
    pub(super) ot: Shares,
    /// S_ot = Δ_ot ⊕ Δ_ka.
    pub(super) ot_delta_difference: Label,
    /// Δ_ka if a bucket gave two valid labels of one wire, in this step or in an earlier step with kept
    /// values: the garbler's cheat then revealed it. Otherwise zero.
    pub(super) delta_ka: Zeroizing<Label>,
    /// True after the session's first input: stock may then no longer be added.
    pub(super) used: bool,
    pub(super) stock: PartyStock<EvaluatorComponent, EvaluatorAuthenticators, EvaluatorInputOts>,
}

/// The state of a phase, with the thread pool that computes for its session.
pub(super) trait Pooled {
    fn pool(&self) -> &Pool;
}

impl<P: Pooled> Pooled for &mut P {
    fn pool(&self) -> &Pool {
        (**self).pool()
    }
}

impl<C: commit::CommitmentScheme> Pooled for Garbler<C> {
    fn pool(&self) -> &Pool {
        &self.pool
    }
}

impl<C: commit::CommitmentScheme> Pooled for Evaluator<C> {
    fn pool(&self) -> &Pool {
        &self.core.pool
    }
}

/// Runs a phase on this thread; parallel computations run on the session's threads.
pub(super) fn entered<P: Pooled, T>(value: P, phase: impl FnOnce(P) -> Result<T, Error>) -> Result<T, Error> {
    let pool = value.pool().clone();
    pool.enter(|| phase(value))
}
