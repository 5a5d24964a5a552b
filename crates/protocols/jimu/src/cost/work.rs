//! Kinds of work that no other protocol has.

use brickwork_plan::Work;
use brickwork_primitives::cost::known;

/// A word of labels at the garbler: drawn, corrected and combined.
pub static HASH: Work = Work { name: "jimu.hash", known: [3.0e-7, 1.5e-7, 1.5e-7, 3.0e-6] };
/// The same at the evaluator.
pub static HASHED: Work = Work { name: "jimu.hashed", known: [6.0e-7, 3.0e-7, 3.0e-7, 6.0e-6] };
/// A gate that is garbled.
pub static GARBLE: Work = Work { name: "jimu.garble", known: [4.0e-7, 2.0e-7, 2.0e-7, 3.0e-6] };
/// A label that is compared with a hash.
pub static COMPARE: Work = Work { name: "jimu.compare", known: [4.0e-7, 2.0e-7, 2.0e-7, 3.0e-6] };
/// What each phase takes beyond its work and its messages.
pub static BEYOND: [Work; 6] = [
    Work { name: "jimu.beyond.setup", known: known::SETUP },
    Work { name: "jimu.beyond.preprocess", known: [0.0; 4] },
    Work { name: "jimu.beyond.prepare", known: [0.0; 4] },
    Work { name: "jimu.beyond.build", known: [0.0; 4] },
    Work { name: "jimu.beyond.evaluate", known: [0.0; 4] },
    Work { name: "jimu.beyond.decode", known: known::DECODE },
];

/// All of them.
pub(super) static ALL: &[&Work] = &[
    &HASH, &HASHED, &GARBLE, &COMPARE, &BEYOND[0], &BEYOND[1], &BEYOND[2], &BEYOND[3], &BEYOND[4], &BEYOND[5],
];
