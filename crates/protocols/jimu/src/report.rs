//! The promise and the report of a run.

use brickwork_session::{Cheater, ItemKind, PhaseReport, Promise, Spent};

use crate::buckets::Recovery;
use crate::layout::{Kind, Layout};
use crate::parameters::{Level, Unit};

/// Returns kappa minus what is lost, in bits: 2^15 calls of the hash under one key, two labels each, the
/// offset's colour. Of the offset of all wires the lowest bit of each of its blocks is known, too. A copy of
/// a component has an offset of its own, but the sum of both is opened, so these bits are known of it as
/// well. The compression garbles: of its 136 bits 128 are hidden, and all known bits together tell one bit of
/// it, where they tell any. Of the offset of all gates each counts.
pub fn computational_bits(level: &Level, unit: Unit) -> f64 {
    let known = match unit {
        Unit::Gates => level.blocks(),
        Unit::Components => 1,
    };
    128.0 - 15.0 - 1.0 - 1.0 - known as f64
}

/// Returns the promise of a program from stock that took from no batch yet. An epoch may hold gates, whatever
/// the program takes, and whoever finds the offset of these knows all others'.
pub(super) fn of_stock(level: &Level, bound_log2: f64, budget: Vec<Spent>) -> Promise {
    Promise::malicious(
        Cheater::Either,
        level.security,
        bound_log2,
        computational_bits(level, Unit::Gates),
        budget,
    )
}

/// Returns the promise of a run of a program.
pub(super) fn promise(layout: &Layout) -> Promise {
    let sizes = &layout.sizes;
    let parts = sizes.parts().into_iter().filter(|(_, bound)| bound.log2() > f64::NEG_INFINITY);
    let spent = parts.map(|(check, bound)| Spent { check: check.into(), bound_log2: bound.log2() });
    let batches = layout.kinds.iter().zip(&sizes.copies).map(|(kind, bucketing)| match kind {
        Kind::Gate => bucketing.batch(ItemKind::Gate, AND_GATES),
        Kind::Component(component) => bucketing.batch(ItemKind::Component, component.name.clone()),
    });
    let computational = computational_bits(&sizes.level, sizes.unit);
    Promise {
        batches: batches.collect(),
        ..Promise::malicious(
            Cheater::Either,
            sizes.level.security,
            sizes.bound().log2(),
            computational,
            spent.collect(),
        )
    }
}

/// The name of the only kind of item where single gates are checked.
pub(super) const AND_GATES: &str = "AND gates";

/// The knowledge of an evaluator beside its outputs, which must not show: it depends on its input.
#[derive(Clone, Copy, Debug, Default)]
pub struct Aside {
    /// Says that two results of a bucket gave it the offset of a garbler that cheats.
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
    Report { outputs, phases, promise: promise(layout), proposal: layout.unit(), aside }
}
