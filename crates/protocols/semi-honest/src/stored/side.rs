//! The operations of the two roles with OTs on disk. The trait [`Role`] has the operations in which the roles
//! differ; they share all other code.

use crate::executions;
use crate::layout::Layout;
use crate::report::SemiHonest;
use crate::setup::{self, Components};
use brickwork_base::digest::Digest;
use brickwork_base::{Error, Party};
use brickwork_primitives::ot::extension;
use brickwork_protocol::PlainSession;
use brickwork_protocol::stock::ots::OtEnd;
use brickwork_protocol::stock::plain::{Plain, PlainRole};
use brickwork_protocol::stock::records::{Batches, Keeper, TakenItems, TakenStream};
use brickwork_protocol::stock::{PreprocessingStep, Stand};
use brickwork_store::{Batch, EpochId, Serial, Store};

/// The kinds of item of a batch. There is only one kind.
pub(super) const OTS: u8 = 0;

/// The largest number of OTs of one step. The labels of these OTs need 16 MiB.
const STEP: usize = 1 << 20;

/// The largest number of AND gates of a run from stock, for all executions together. An epoch has fewer than
/// 2^19 log entries, so its programs have fewer than 2^59 AND gates and hash keys. Two of these keys are
/// equal with a probability below 2^-11. Only then would more calls share a key than the promise assumes.
const MAX_AND_GATES: u128 = 1 << 40;

/// A step of preprocessing.
pub struct Filling {
    count: usize,
}

impl Filling {
    /// Returns the steps that make this many OTs.
    pub fn steps(count: usize) -> Vec<Self> {
        (0..count).step_by(STEP).map(|first| Filling { count: STEP.min(count - first) }).collect()
    }
}

impl PreprocessingStep for Filling {
    fn request(&self) -> [u8; 32] {
        Digest::of("brickwork 2026-11 semi-honest OTs in stock").length(self.count).done()
    }

    /// This protocol has no parameters to choose.
    fn parameters(&self) -> [u8; 32] {
        [0; 32]
    }

    fn bytes(&self) -> u64 {
        0
    }
}

/// A program, how often it is executed, and this party's input bits.
pub struct Execution<'j> {
    pub(crate) layout: &'j Layout<'j>,
    pub(crate) input: &'j [bool],
}

/// Returns the number of OTs that a run takes, at least one.
pub(super) fn needed(layout: &Layout) -> Result<usize, Error> {
    let gates = u128::from(layout.program.and_gates()) * layout.executions() as u128;
    let bits = layout.executions().checked_mul(layout.evaluator_inputs());
    match bits.filter(|&bits| gates <= MAX_AND_GATES && bits <= u32::MAX as usize) {
        Some(bits) => Ok(bits.max(1)),
        None => Err(Error::Limit(
            "a run from stock may have at most 2^40 AND gates and 2^32 bits of the evaluator's input, for \
             all executions together; use fewer --executions, or leave out --store"
                .into(),
        )),
    }
}

/// Chooses the OTs of a run, oldest first.
///
/// # Errors
/// [`Error::Stock`] if there are too few OTs, [`Error::Limit`] as [`needed`].
pub(super) fn choose(layout: &Layout, batches: &Batches) -> Result<Vec<(Serial, u32)>, Error> {
    let (needed, left) = (needed(layout)?, batches.left(OTS));
    if left < needed {
        return Err(Error::Stock(format!("the program needs {needed} OTs, but the stock has {left}")));
    }
    let mut taken = Vec::new();
    batches.take(OTS, &[0; 32], needed, &mut taken)?;
    Ok(taken)
}

/// Returns the number of OTs that must be made for a run, in this epoch or in a new one.
pub(super) fn missing(store: &Store, epoch: Option<EpochId>, layout: &Layout) -> Result<usize, Error> {
    let left = match epoch {
        Some(epoch) => Batches::of(store, &epoch)?.left(OTS),
        None => 0,
    };
    // If the epoch has enough OTs but the run could not take them for another reason, the run gets new ones.
    let needed = needed(layout)?;
    Ok(needed.checked_sub(left).filter(|&missing| missing > 0).unwrap_or(needed))
}

/// A party's part of the OTs, and its operations with them.
pub(crate) trait Role: OtEnd {
    /// Runs all executions.
    fn execute(
        session: &mut PlainSession<Self, Components>,
        job: &Execution,
        ots: TakenStream,
    ) -> Result<Vec<bool>, Error>;
}

impl Role for extension::Sender {
    fn execute(
        session: &mut PlainSession<Self, Components>,
        job: &Execution,
        ots: TakenStream,
    ) -> Result<Vec<bool>, Error> {
        let inputs = job.layout.inputs(Party::Garbler, job.input)?;
        executions::garbler(session, job.layout, inputs, Some(ots))
    }
}

impl Role for extension::Receiver {
    fn execute(
        session: &mut PlainSession<Self, Components>,
        job: &Execution,
        ots: TakenStream,
    ) -> Result<Vec<bool>, Error> {
        let inputs = job.layout.inputs(Party::Evaluator, job.input)?;
        executions::evaluator(session, job.layout, inputs, Some(ots))
    }
}

impl Plain for SemiHonest {
    type FillStep = Filling;
    type Execution<'j> = Execution<'j>;
    type Program = Components;

    fn program(job: &Execution) -> [u8; 32] {
        setup::digest(job.layout)
    }

    fn needs(job: &Execution) -> String {
        needed(job.layout).map_or_else(
            |_| "the step has too many OTs for one batch".into(),
            |needed| format!("{needed} OTs"),
        )
    }

    fn choose(job: &Execution, batches: &Batches) -> Result<Vec<(Serial, u32)>, Error> {
        choose(job.layout, batches)
    }
}

impl<C: Role> PlainRole<C> for SemiHonest {
    type Made = C::Ots;

    fn make(session: &mut PlainSession<C, Components>, step: &Filling) -> Result<C::Ots, Error> {
        session.run.phase("prepare");
        session.cot.draw(&mut session.run.channel, &mut session.rng, step.count)
    }

    fn keep(_: &Filling, made: C::Ots, serial: Serial, keeper: &mut Keeper) -> Result<(), Error> {
        let batch = Batch { kind: OTS, name: "OTs".into(), component: [0; 32], header: Vec::new() };
        keeper.put(serial, &batch, made)
    }

    /// The garbler draws new starts for each run, so each run has its own hash keys.
    fn take(
        session: &mut PlainSession<C, Components>,
        items: &TakenItems,
        job: &Execution,
        stand: Stand,
    ) -> Result<Vec<bool>, Error> {
        stand.confirm(&mut session.run)?;
        session.program = Components::of(job.layout.program);
        C::execute(session, job, items.stream())
    }
}
