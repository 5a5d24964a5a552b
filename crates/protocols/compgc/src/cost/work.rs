//! Kinds of work that no other protocol has.

use brickwork_plan::Work;
use brickwork_primitives::cost::known;

/// An input of a slot, at one party: its label is drawn or carried.
pub static INPUT: Work = Work { name: "compgc.input", known: known::WIRE };
/// A slot, at one party, independent of its circuit.
pub static SLOT: Work = Work { name: "compgc.slot", known: known::SLOT };
/// The time of each phase beyond its work and its messages. For most of them the measurement was zero.
pub static BEYOND: [Work; 6] = [
    Work { name: "compgc.beyond.setup", known: known::SETUP },
    Work { name: "compgc.beyond.preprocess", known: [0.0; 4] },
    Work { name: "compgc.beyond.prepare", known: [0.0; 4] },
    Work { name: "compgc.beyond.build", known: [0.0; 4] },
    Work { name: "compgc.beyond.evaluate", known: [0.0; 4] },
    Work { name: "compgc.beyond.decode", known: known::DECODE },
];

/// All of them.
pub(super) static ALL: &[&Work] =
    &[&INPUT, &SLOT, &BEYOND[0], &BEYOND[1], &BEYOND[2], &BEYOND[3], &BEYOND[4], &BEYOND[5]];
