//! The promise and the report of a run.

use brickwork_protocol::{Cheater, CheckSpent, ItemKind, PhaseReport, Promise};

use crate::buckets::DeltaKnowledge;
use crate::layout::{CopyKind, Layout};
use crate::parameters::{HashLevel, Unit};

/// Returns kappa minus the losses in bits. One loss is that a key of the hash serves 2^15 calls with two
/// labels each. Another one is the offset's colour, which is public. The lowest bit of each block of the
/// session's offset is also public. A copy of a component has an offset of its own. But its sum with the
/// session's offset is opened, so the same bits of it are public. Garbling uses compressions. For gates, each
/// of these bits counts. For components, 128 of a compression's 136 bits are hidden, and all public bits
/// together reveal at most one bit of it.
pub fn computational_bits(level: &HashLevel, unit: Unit) -> f64 {
    let known = match unit {
        Unit::Gates => level.blocks(),
        Unit::Components => 1,
    };
    128.0 - 15.0 - 1.0 - 1.0 - known as f64
}

/// Returns the promise of a program from stock, without the bounds of the batches. An epoch may contain gates
/// even if the program uses none. Opened sums connect all other offsets with the offset of the gates.
pub(super) fn of_stock(level: &HashLevel, bound_log2: f64, budget: Vec<CheckSpent>) -> Promise {
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
    let spent = parts.map(|(check, bound)| CheckSpent { check: check.into(), bound_log2: bound.log2() });
    let batches = layout.kinds.iter().zip(&sizes.copies).map(|(kind, bucketing)| match kind {
        CopyKind::Gate => bucketing.batch(ItemKind::Gate, AND_GATES),
        CopyKind::Component(component) => bucketing.batch(ItemKind::Component, component.name.clone()),
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

/// The name of the batch if single gates are the unit.
pub(super) const AND_GATES: &str = "AND gates";

/// A result that the evaluator must keep secret, because a cheating garbler can make it depend on the
/// evaluator's input.
#[derive(Clone, Copy, Debug, Default)]
pub struct Aside {
    /// True if two results of a bucket revealed a cheating garbler's offset.
    pub recovered: bool,
}

impl Aside {
    pub(super) fn of(recovery: &DeltaKnowledge) -> Self {
        Aside { recovered: recovery.is_known().into() }
    }
}

/// A party's result. The outputs are in the order of the ports.
pub type Report = brickwork_protocol::Report<Jimu>;

/// The type that stands for JIMU. The parties are functions in the crate's root.
#[derive(Clone, Copy, Debug)]
pub struct Jimu;

pub(super) fn report(outputs: Vec<bool>, phases: Vec<PhaseReport>, layout: &Layout, aside: Aside) -> Report {
    Report { outputs, phases, promise: promise(layout), proposal: layout.unit(), aside }
}
