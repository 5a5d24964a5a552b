//! Kinds of work that no other protocol has.

use brickwork_plan::Work;
use brickwork_primitives::cost::known;

/// A leaky AND at one party, from its masks to the words that are compared.
pub static LEAKY_AND: Work = Work { name: "authenticated.leaky-and", known: [0.0; 4] };
/// An AND gate that is garbled.
pub static GARBLE: Work = Work { name: "authenticated.garble", known: [0.0; 4] };
/// An AND gate that is evaluated.
pub static EVALUATE: Work = Work { name: "authenticated.evaluate", known: [0.0; 4] };
/// What each phase takes beyond its work and its messages, in their order; those that grow (`GROWS`) for each
/// AND gate of the program.
pub static BEYOND: [Work; 5] = [
    Work { name: "authenticated.beyond.setup", known: known::SETUP },
    Work { name: "authenticated.beyond.preprocess.gate", known: [0.0; 4] },
    Work { name: "authenticated.beyond.build", known: [0.0; 4] },
    Work { name: "authenticated.beyond.evaluate.gate", known: [0.0; 4] },
    Work { name: "authenticated.beyond.decode", known: known::DECODE },
];

/// Whether that of a phase grows with the program.
pub(super) const GROWS: [bool; 5] = [false, true, false, true, false];

/// All of them.
pub(super) static ALL: &[&Work] =
    &[&LEAKY_AND, &GARBLE, &EVALUATE, &BEYOND[0], &BEYOND[1], &BEYOND[2], &BEYOND[3], &BEYOND[4]];
