//! The promise and the report of a run.

use brickwork_session::{Cheater, ItemKind, PhaseReport, Promise, Spent};

use crate::buckets::Recovery;
use crate::layout::{Kind, Layout};
use crate::parameters::{Level, Unit};

/// Returns kappa minus the losses in bits: 2^15 calls of the hash under one key with two labels each, and the
/// offset's colour. The lowest bit of each block of the offset of all wires is known, too. A copy of a
/// component has its own offset, but the sum of both is opened, so these bits are known for it as well.
/// Garbling uses the compression. Of its 136 bits 128 are hidden, and all known bits together reveal at most
/// one bit of it. For the offset of all gates each of them counts.
pub fn computational_bits(level: &Level, unit: Unit) -> f64 {
    let known = match unit {
        Unit::Gates => level.blocks(),
        Unit::Components => 1,
    };
    128.0 - 15.0 - 1.0 - 1.0 - known as f64
}

/// Returns the promise of a program from stock, before it takes from a batch. An epoch may hold gates,
/// whatever the program takes, and all other offsets are derived from the gates' offset.
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

/// The name of the only kind of item if single gates are checked.
pub(super) const AND_GATES: &str = "AND gates";

/// The evaluator's additional result, which must not show because it depends on its input.
#[derive(Clone, Copy, Debug, Default)]
pub struct Aside {
    /// True if two results of a bucket revealed the offset of a cheating garbler.
    pub recovered: bool,
}

impl Aside {
    pub(super) fn of(recovery: &Recovery) -> Self {
        Aside { recovered: recovery.is_known().into() }
    }
}

/// A party's result. Its outputs are in the order of the ports.
pub type Report = brickwork_session::Report<Jimu>;

/// JIMU as a protocol of the family; its parties are in the crate's root.
#[derive(Clone, Copy, Debug)]
pub struct Jimu;

/// Reports a run.
pub(super) fn report(outputs: Vec<bool>, phases: Vec<PhaseReport>, layout: &Layout, aside: Aside) -> Report {
    Report { outputs, phases, promise: promise(layout), proposal: layout.unit(), aside }
}
