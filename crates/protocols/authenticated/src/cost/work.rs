//! The kinds of work that only this protocol has.

use brickwork_plan::WorkKind;
use brickwork_primitives::cost::known;

/// A leaky AND at one party, from its masks to the compared words.
pub static LEAKY_AND: WorkKind =
    WorkKind { name: "authenticated.leaky-and", known: [5.87e-9, 6.10e-9, 9.58e-9, 2.93e-7] };
/// The masks of an AND gate at one party: from the masks of its wires and its triple to μ.
pub static MULTIPLY: WorkKind =
    WorkKind { name: "authenticated.multiply", known: [1.11e-7, 1.16e-7, 7.74e-8, 1.18e-7] };
/// Garbling one AND gate.
pub static GARBLE: WorkKind =
    WorkKind { name: "authenticated.garble", known: [2.64e-8, 2.56e-8, 2.91e-8, 4.21e-7] };
/// Evaluating one AND gate.
pub static EVALUATE: WorkKind =
    WorkKind { name: "authenticated.evaluate", known: [5.38e-9, 4.76e-9, 5.57e-9, 1.94e-7] };
/// The time by which each phase exceeds its predicted work and messages, in the order of the phases. For the
/// phases that `GROWS` names, it is the time per AND gate of the program.
pub static BEYOND: [WorkKind; 5] = [
    WorkKind { name: "authenticated.beyond.setup", known: [1.0e-3; 4] },
    WorkKind { name: "authenticated.beyond.preprocess.gate", known: [1.47e-6, 1.19e-6, 1.18e-6, 1.0e-7] },
    WorkKind { name: "authenticated.beyond.build", known: [1.90e-5, 2.03e-5, 2.08e-5, 2.30e-5] },
    WorkKind { name: "authenticated.beyond.evaluate.gate", known: [1.51e-7, 1.52e-7, 1.49e-7, 1.94e-7] },
    WorkKind { name: "authenticated.beyond.decode", known: known::DECODE },
];

/// For each phase, true if its time grows with the program.
pub(super) const GROWS: [bool; 5] = [false, true, false, true, false];

/// All kinds of this file.
pub(super) static ALL: &[&WorkKind] =
    &[&LEAKY_AND, &MULTIPLY, &GARBLE, &EVALUATE, &BEYOND[0], &BEYOND[1], &BEYOND[2], &BEYOND[3], &BEYOND[4]];
