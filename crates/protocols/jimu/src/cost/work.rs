//! Kinds of work that no other protocol has.

use brickwork_plan::Work;
use brickwork_primitives::cost::known;

/// A word of labels at the garbler: drawn, corrected and combined.
pub static HASH: Work = Work { name: "jimu.hash", known: [2.8e-7; 4] };
/// The same at the evaluator.
pub static HASHED: Work = Work { name: "jimu.hashed", known: [3.8e-7; 4] };
/// A gate that is garbled.
pub static GARBLE: Work = Work { name: "jimu.garble", known: [5.2e-7, 4.5e-7, 4.5e-7, 9.8e-6] };
/// A label that is compared with a hash.
pub static COMPARE: Work = Work { name: "jimu.compare", known: [1.9e-7; 4] };
/// A pair of wires that are soldered.
pub static SOLDERED: Work = Work { name: "jimu.soldered", known: [1.9e-7; 4] };
/// Two rows of an output of a component.
pub static ROWS: Work = Work { name: "jimu.rows", known: [1.9e-7; 4] };
/// What each phase takes beyond its work and its messages, in their order; those that grow (`GROWS`) for each
/// AND gate of the program.
pub static BEYOND: [Work; 6] = [
    Work { name: "jimu.beyond.setup", known: known::SETUP },
    Work { name: "jimu.beyond.preprocess.gate", known: [4.0e-6, 2.9e-6, 4.1e-6, 2.9e-5] },
    Work { name: "jimu.beyond.prepare", known: [4.5e-6, 3.7e-6, 3.0e-6, 4.1e-6] },
    Work { name: "jimu.beyond.build.gate", known: [1.06e-5, 1.13e-5, 1.04e-5, 1.05e-5] },
    Work { name: "jimu.beyond.evaluate.gate", known: [3.1e-6, 3.0e-6, 2.9e-6, 2.6e-5] },
    Work { name: "jimu.beyond.decode", known: known::DECODE },
];

/// Whether that of a phase grows with the program.
pub(super) const GROWS: [bool; 6] = [false, true, false, true, true, false];

/// All of them.
pub(super) static ALL: &[&Work] = &[
    &HASH, &HASHED, &GARBLE, &COMPARE, &SOLDERED, &ROWS, &BEYOND[0], &BEYOND[1], &BEYOND[2], &BEYOND[3],
    &BEYOND[4], &BEYOND[5],
];
