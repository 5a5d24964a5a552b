//! The kinds of work that only this protocol has.

use brickwork_plan::WorkKind;
use brickwork_primitives::cost::known;

/// The time by which each phase exceeds its work and its messages, in the order of the phases. For the phases
/// that `GROWS` names, it is the time per AND gate of the program. This time goes into sorting items into
/// buckets and into evaluating them, with random accesses to memory.
pub(super) static BEYOND: [WorkKind; 6] = [
    WorkKind { name: "lego.beyond.setup", known: known::SETUP },
    WorkKind { name: "lego.beyond.preprocess.gate", known: [1.7e-6, 3.3e-6, 3.0e-6, 1.2e-5] },
    WorkKind { name: "lego.beyond.prepare", known: [3.3e-3, 6.1e-3, 6.3e-3, 1.2e-1] },
    WorkKind { name: "lego.beyond.build.gate", known: [3.0e-7, 6.1e-7, 5.0e-7, 5.0e-7] },
    WorkKind { name: "lego.beyond.evaluate.gate", known: [1.0e-6, 1.2e-6, 1.3e-6, 3.8e-6] },
    WorkKind { name: "lego.beyond.decode", known: [3.1e-4, 3.7e-4, 3.5e-4, 3.5e-4] },
];

/// For each phase, true if its time grows with the program.
pub(super) const GROWS: [bool; 6] = [false, true, false, true, true, false];

pub(super) static ALL: &[&WorkKind] =
    &[&BEYOND[0], &BEYOND[1], &BEYOND[2], &BEYOND[3], &BEYOND[4], &BEYOND[5]];
