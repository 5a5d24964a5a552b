//! The kinds of work that only this protocol has.

use brickwork_plan::WorkKind;
use brickwork_primitives::cost::known;

/// The work for one input of a slot at one party: drawing its label, or turning a wire's label into it.
pub static INPUT: WorkKind = WorkKind { name: "compgc.input", known: known::WIRE };
/// The fixed work for a slot at one party, whatever its circuit is.
pub static SLOT: WorkKind = WorkKind { name: "compgc.slot", known: known::SLOT };
/// The time by which a phase exceeds its predicted work and messages. For most phases, this time was measured
/// as zero.
pub static BEYOND: [WorkKind; 6] = [
    WorkKind { name: "compgc.beyond.setup", known: known::SETUP },
    WorkKind { name: "compgc.beyond.preprocess", known: [0.0; 4] },
    WorkKind { name: "compgc.beyond.prepare", known: [0.0; 4] },
    WorkKind { name: "compgc.beyond.build", known: [0.0; 4] },
    WorkKind { name: "compgc.beyond.evaluate", known: [0.0; 4] },
    WorkKind { name: "compgc.beyond.decode", known: known::DECODE },
];

/// All kinds of work in this file.
pub(super) static ALL: &[&WorkKind] =
    &[&INPUT, &SLOT, &BEYOND[0], &BEYOND[1], &BEYOND[2], &BEYOND[3], &BEYOND[4], &BEYOND[5]];
