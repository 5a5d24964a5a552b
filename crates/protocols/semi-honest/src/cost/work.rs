//! The kinds of work that only this protocol has.

use brickwork_plan::WorkKind;
use brickwork_primitives::cost::known;

/// Copying a label from its place to a slot's inputs, or from a slot's outputs to its place.
pub static WIRE: WorkKind = WorkKind { name: "semi-honest.wire", known: known::WIRE };
/// One party's fixed work for a slot, for executions that are processed together.
pub static SLOT: WorkKind = WorkKind { name: "semi-honest.slot", known: known::SLOT };
/// The time by which each phase exceeds its work and messages: setup, prepare, evaluate, decode. For two of
/// them, this time was measured as zero.
pub static BEYOND: [WorkKind; 4] = [
    WorkKind { name: "semi-honest.beyond.setup", known: known::SETUP },
    WorkKind { name: "semi-honest.beyond.prepare", known: [0.0; 4] },
    WorkKind { name: "semi-honest.beyond.evaluate", known: [0.0; 4] },
    WorkKind { name: "semi-honest.beyond.decode", known: known::DECODE },
];

pub(super) static ALL: &[&WorkKind] = &[&WIRE, &SLOT, &BEYOND[0], &BEYOND[1], &BEYOND[2], &BEYOND[3]];
