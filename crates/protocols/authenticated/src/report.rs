//! What a run promises and reports.

use brickwork_primitives::ot::{Cot, pcg};
use brickwork_session::{PhaseReport, Spent};
use serde::Serialize;

use crate::layout::{Layout, Making};
use crate::parameters::{Budget, COMPUTATIONAL_BITS, Level, Pool};

/// What a run promises.
#[derive(Clone, Debug, Serialize)]
pub struct SecurityReport {
    /// `malicious`: it holds against a party that cheats.
    pub model: &'static str,
    /// What masks are made of, by the name that users choose it by.
    pub cot: &'static str,
    /// s.
    pub statistical_bits: u32,
    /// Base-2 logarithm of what a cheater achieves at most, by everything together.
    pub bound_log2: f64,
    /// kappa minus what its uses lose, in bits.
    pub computational_bits: f64,
    /// Base-2 logarithm of what the best known attack on the LPN instance costs that masks come of, if they
    /// come of one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lpn_bits: Option<f64>,
    /// The bound, check by check.
    pub budget: Vec<Spent>,
    /// Leaky ANDs of all pools, of which triples are made.
    pub leaky_ands: u64,
    /// Triples that are used: AND gates of the program.
    pub triples: u64,
    /// Leaky ANDs in the smallest bucket.
    pub bucket: u32,
}

impl SecurityReport {
    /// Makes the promise of a run that makes all it takes.
    pub(crate) fn of(layout: &Layout, making: &Making) -> Self {
        let pools = making.lots.iter().map(|lot| lot.pool);
        Self::with(layout, making.level, making.cot, &making.budget(), pools)
    }

    /// Makes the promise of a run that takes triples of these pools.
    pub(crate) fn with(
        layout: &Layout,
        level: Level,
        cot: Cot,
        budget: &Budget,
        pools: impl Iterator<Item = Pool> + Clone,
    ) -> Self {
        let lpn_bits = (cot == Cot::Pcg).then(pcg::lpn_bits);
        let buckets = pools.clone().map(|pool| pool.bucket as u32).filter(|&bucket| bucket > 0);
        SecurityReport {
            model: "malicious",
            cot: cot.name(),
            statistical_bits: level.security,
            bound_log2: budget.log2(),
            computational_bits: lpn_bits.map_or(COMPUTATIONAL_BITS, |bits| bits.min(COMPUTATIONAL_BITS)),
            lpn_bits,
            budget: budget.spent(),
            leaky_ands: pools.map(|pool| pool.leaky_ands() as u64).sum(),
            triples: layout.ands as u64,
            bucket: buckets.min().unwrap_or(0),
        }
    }
}

/// A party's result. Its outputs are ordered port after port.
pub type Report = brickwork_session::Report<Authenticated>;

/// Components with authenticated masks, as one of the family; its parties are in the crate's root.
#[derive(Clone, Copy, Debug)]
pub struct Authenticated;

/// Reports a run.
pub(super) fn report(
    outputs: Vec<bool>,
    phases: Vec<PhaseReport>,
    layout: &Layout,
    making: &Making,
) -> Report {
    let security = SecurityReport::of(layout, making);
    Report { outputs, phases, security, proposal: making.cot, aside: () }
}
