//! The promise and the report of a run.

use brickwork_primitives::ot::{Cot, pcg};
use brickwork_protocol::{Cheater, PhaseReport, Promise, TriplesPromise};

use crate::layout::{Layout, MakingPlan};
use crate::parameters::{COMPUTATIONAL_BITS, LotBudget, StatisticalLengths, TriplePool};

/// Makes the promise of a run that makes all its items itself.
pub(crate) fn promise(layout: &Layout, making: &MakingPlan) -> Promise {
    let pools = making.lots.iter().map(|lot| lot.pool);
    promise_of(layout, making.level, making.cot, &making.budget(), pools)
}

/// Makes the promise of a run that takes its triples from these pools.
pub(crate) fn promise_of(
    layout: &Layout,
    level: StatisticalLengths,
    cot: Cot,
    budget: &LotBudget,
    pools: impl Iterator<Item = TriplePool> + Clone,
) -> Promise {
    let lpn_bits = (cot == Cot::Pcg).then(pcg::lpn_bits);
    let buckets = pools.clone().map(|pool| pool.bucket as u64).filter(|&bucket| bucket > 0);
    let triples = TriplesPromise {
        used: layout.ands as u64,
        leaky_ands: pools.map(|pool| pool.leaky_ands() as u64).sum(),
        bucket_size: buckets.min().unwrap_or(0),
        cot: cot.name().into(),
        lpn_bits,
    };
    let computational = lpn_bits.map_or(COMPUTATIONAL_BITS, |bits| bits.min(COMPUTATIONAL_BITS));
    Promise {
        triples: Some(triples),
        ..Promise::malicious(Cheater::Either, level.security, budget.log2(), computational, budget.spent())
    }
}

/// The result of a party. Its outputs are in the order of the ports.
pub type Report = brickwork_protocol::Report<Authenticated>;

/// The type that stands for this protocol in the code that all protocols share.
#[derive(Clone, Copy, Debug)]
pub struct Authenticated;

pub(super) fn report(
    outputs: Vec<bool>,
    phases: Vec<PhaseReport>,
    layout: &Layout,
    making: &MakingPlan,
) -> Report {
    Report { outputs, phases, promise: promise(layout, making), proposal: making.cot, aside: () }
}
