//! Kinds of work that no other protocol has.

use brickwork_plan::Work;

/// A label that goes from its wire's place to a slot, or back.
pub static WIRE: Work = Work { name: "semi-honest.wire", known: [1.34e-9, 1.33e-9, 1.34e-9, 1.32e-9] };
/// A slot of executions side by side, at one party, whatever it computes.
pub static SLOT: Work = Work { name: "semi-honest.slot", known: [7.58e-7, 7.05e-7, 6.86e-7, 3.44e-6] };
/// What each phase takes beyond its work and its messages: setup, prepare, evaluate, decode. Of two of them the
/// clock showed nothing.
pub static BEYOND: [Work; 4] = [
    Work { name: "semi-honest.beyond.setup", known: [2.00e-2, 2.47e-2, 2.31e-2, 2.48e-2] },
    Work { name: "semi-honest.beyond.prepare", known: [0.0; 4] },
    Work { name: "semi-honest.beyond.evaluate", known: [0.0; 4] },
    Work { name: "semi-honest.beyond.decode", known: [1.30e-5, 1.15e-5, 1.33e-5, 1.32e-5] },
];

/// All of them.
pub(super) static ALL: &[&Work] = &[&WIRE, &SLOT, &BEYOND[0], &BEYOND[1], &BEYOND[2], &BEYOND[3]];
