//! What a run promises and reports.

use brickwork_primitives::cut_and_choose::Bucketing;
use brickwork_session::{PhaseReport, Spent};
use serde::Serialize;

use crate::buckets::Recovery;
use crate::layout::{Kind, Layout};
use crate::parameters::{Level, Unit};

/// Returns kappa minus what is lost, in bits: 2^15 calls of the hash under one key, two labels each, the
/// offset's colour. Of the offset of all wires the lowest bit of each of its blocks is known, too. A copy of
/// a component has an offset of its own, but the sum of both is opened, so these bits are known of it as
/// well: what garbles is its compression, of 136 bits that are hidden 128, and all of them together tell one
/// bit of that, where they tell any. Of the offset of all gates each counts.
pub fn computational_bits(level: &Level, unit: Unit) -> f64 {
    let known = match unit {
        Unit::Gates => level.blocks(),
        Unit::Components => 1,
    };
    128.0 - 15.0 - 1.0 - 1.0 - known as f64
}

/// How many of something are made.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Amount {
    /// Buckets.
    pub slots: u32,
    /// What is made in all.
    pub made: u64,
    /// Those of them that are opened.
    pub opened: u32,
    /// How many sit in a bucket, of which one must be good.
    pub bucket: u32,
}

impl From<Bucketing> for Amount {
    fn from(bucketing: Bucketing) -> Self {
        let Bucketing { slots, bucket, opened } = bucketing;
        Amount { slots, made: bucketing.copies(), opened, bucket }
    }
}

/// Copies of a kind.
#[derive(Clone, Debug, Serialize)]
pub struct Copies {
    /// `AND`, or the component's name.
    pub name: String,
    /// How many.
    #[serde(flatten)]
    pub amount: Amount,
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
    /// Of a program from stock, the same of all programs together that take from the epoch: more than 2^-s,
    /// if much was made in it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub epoch_bound_log2: Option<f64>,
    /// kappa minus what its uses lose, in bits.
    pub computational_bits: f64,
    /// The bound, check by check.
    pub budget: Vec<Spent>,
    /// What the cut-and-choose is about.
    pub unit: Unit,
    /// What is garbled; of a program from stock each batch that it took from.
    pub copies: Vec<Copies>,
}

impl SecurityReport {
    /// Returns the promise of a program from stock that took from no batch yet. An epoch may hold gates,
    /// whatever the program takes, and who finds the offset of these knows all others'.
    pub(super) fn of_stock(level: &Level, unit: Unit, bound_log2: f64, budget: Vec<Spent>) -> Self {
        SecurityReport {
            model: "malicious",
            statistical_bits: level.security,
            bound_log2,
            epoch_bound_log2: None,
            computational_bits: computational_bits(level, Unit::Gates),
            budget,
            unit,
            copies: Vec::new(),
        }
    }

    /// Adds a batch.
    pub(super) fn add(&mut self, name: &str, bucketing: Bucketing) {
        self.copies.push(Copies { name: name.into(), amount: bucketing.into() });
    }

    /// Returns the promise of a run of a program.
    pub(super) fn of(layout: &Layout) -> Self {
        let sizes = &layout.sizes;
        let parts = sizes.parts().into_iter().filter(|(_, bound)| bound.log2() > f64::NEG_INFINITY);
        let copies = layout.kinds.iter().zip(&sizes.copies).map(|(kind, &bucketing)| Copies {
            name: match kind {
                Kind::Gate => "AND".into(),
                Kind::Component(component) => component.name.clone(),
            },
            amount: bucketing.into(),
        });
        SecurityReport {
            model: "malicious",
            statistical_bits: sizes.level.security,
            bound_log2: sizes.bound().log2(),
            epoch_bound_log2: None,
            computational_bits: computational_bits(&sizes.level, sizes.unit),
            budget: parts
                .map(|(check, bound)| Spent { check: check.into(), bound_log2: bound.log2() })
                .collect(),
            unit: sizes.unit,
            copies: copies.collect(),
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
pub(super) fn report(outputs: Vec<bool>, phases: Vec<PhaseReport>, layout: &Layout, aside: Aside) -> Report {
    Report { outputs, phases, security: SecurityReport::of(layout), proposal: layout.unit(), aside }
}
