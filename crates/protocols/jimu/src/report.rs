//! What a run promises and reports.

use brickwork_primitives::cut_and_choose::Bucketing;
use brickwork_session::PhaseReport;
use serde::Serialize;

use crate::buckets::Recovery;
use crate::parameters::{Level, Sizes};

/// Returns kappa minus what is lost, in bits: 2^15 calls of the hash under one key, two labels each, the
/// offset's colour, and the lowest bit of each of its blocks, which is known.
pub fn computational_bits(level: &Level) -> f64 {
    let blocks = level.labels.l() / 16;
    128.0 - 15.0 - 1.0 - 1.0 - blocks as f64
}

/// How many of something are made.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Amount {
    /// What is made in all.
    pub made: u64,
    /// Those of them that are opened.
    pub opened: u32,
    /// How many sit in a bucket, of which one must be good.
    pub bucket: u32,
}

impl From<Bucketing> for Amount {
    fn from(bucketing: Bucketing) -> Self {
        Amount { made: bucketing.copies(), opened: bucketing.opened, bucket: bucketing.bucket }
    }
}

/// What a run promises.
#[derive(Clone, Debug, Serialize)]
pub struct SecurityReport {
    /// `malicious`: it holds against a party that cheats.
    pub model: &'static str,
    /// s.
    pub statistical_bits: u32,
    /// Base-2 logarithm of what a cheater achieves at most, by everything together.
    pub bound_log2: f64,
    /// kappa minus what its uses lose, in bits.
    pub computational_bits: f64,
    /// Gates.
    pub gates: Amount,
    /// Input authenticators.
    pub authenticators: Amount,
}

impl SecurityReport {
    /// Makes the promise of a run that makes so much.
    pub fn of(sizes: &Sizes) -> Self {
        SecurityReport {
            model: "malicious",
            statistical_bits: sizes.level.security,
            bound_log2: sizes.bound().log2(),
            computational_bits: computational_bits(&sizes.level),
            gates: sizes.gates.into(),
            authenticators: sizes.authenticators.into(),
        }
    }
}

/// What an evaluator learns beside its outputs, and must not let show: that depends on its input.
#[derive(Clone, Copy, Debug, Default)]
pub struct Aside {
    /// Whether two results of a bucket gave it the offset of a garbler that cheats.
    pub recovered: bool,
}

impl Aside {
    pub(super) fn of(recovery: &Recovery) -> Self {
        Aside { recovered: recovery.is_known().into() }
    }
}

/// A party's result. Its outputs are ordered port after port.
pub type Report = brickwork_session::Report<Jimu>;

/// JIMU, as one of the family; its parties are in the crate's root.
#[derive(Clone, Copy, Debug)]
pub struct Jimu;

/// Reports a run.
pub(super) fn report(outputs: Vec<bool>, phases: Vec<PhaseReport>, sizes: &Sizes, aside: Aside) -> Report {
    Report { outputs, phases, security: SecurityReport::of(sizes), proposal: (), aside }
}
