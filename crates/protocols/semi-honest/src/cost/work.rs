//! Kinds of work that no other protocol has.

use brickwork_plan::Work;
use brickwork_primitives::cost::known;

/// A label that goes from its wire's place to a slot, or back.
pub static WIRE: Work = Work { name: "semi-honest.wire", known: known::WIRE };
/// A slot of executions side by side, at one party, independent of its circuit.
pub static SLOT: Work = Work { name: "semi-honest.slot", known: known::SLOT };
/// The time of each phase beyond its work and its messages: setup, prepare, evaluate, decode. For two of them
/// the measurement was zero.
pub static BEYOND: [Work; 4] = [
    Work { name: "semi-honest.beyond.setup", known: known::SETUP },
    Work { name: "semi-honest.beyond.prepare", known: [0.0; 4] },
    Work { name: "semi-honest.beyond.evaluate", known: [0.0; 4] },
    Work { name: "semi-honest.beyond.decode", known: known::DECODE },
];

/// All of them.
pub(super) static ALL: &[&Work] = &[&WIRE, &SLOT, &BEYOND[0], &BEYOND[1], &BEYOND[2], &BEYOND[3]];
