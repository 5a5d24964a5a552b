//! Kinds of work that no other protocol has.

use brickwork_plan::Work;

/// An input of a slot, at one party: its label is drawn or carried.
pub static INPUT: Work = Work { name: "compgc.input", known: [1.34e-9, 1.33e-9, 1.34e-9, 1.32e-9] };
/// A slot, at one party, whatever it computes.
pub static SLOT: Work = Work { name: "compgc.slot", known: [7.58e-7, 7.05e-7, 6.86e-7, 3.44e-6] };
/// What each phase takes beyond its work and its messages. Of most of them the clock showed nothing.
pub static BEYOND: [Work; 6] = [
    Work { name: "compgc.beyond.setup", known: [2.00e-2, 2.47e-2, 2.31e-2, 2.48e-2] },
    Work { name: "compgc.beyond.preprocess", known: [0.0; 4] },
    Work { name: "compgc.beyond.prepare", known: [0.0; 4] },
    Work { name: "compgc.beyond.build", known: [0.0; 4] },
    Work { name: "compgc.beyond.evaluate", known: [0.0; 4] },
    Work { name: "compgc.beyond.decode", known: [1.30e-5, 1.15e-5, 1.33e-5, 1.32e-5] },
];

/// All of them.
pub(super) static ALL: &[&Work] =
    &[&INPUT, &SLOT, &BEYOND[0], &BEYOND[1], &BEYOND[2], &BEYOND[3], &BEYOND[4], &BEYOND[5]];
