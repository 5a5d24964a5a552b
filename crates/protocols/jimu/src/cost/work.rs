//! The kinds of work that only this protocol has.

use brickwork_plan::WorkKind;
use brickwork_primitives::cost::known;

/// Hashing a label at the garbler: drawing, correcting and combining the word.
pub static HASH: WorkKind = WorkKind { name: "jimu.hash", known: [4.5e-8, 7.3e-8, 1.6e-7, 2.4e-6] };
/// Hashing a label at the evaluator.
pub static HASHED: WorkKind = WorkKind { name: "jimu.hashed", known: [3.0e-8, 4.9e-8, 1.1e-7, 1.6e-6] };
/// Garbling a gate.
pub static GARBLE: WorkKind = WorkKind { name: "jimu.garble", known: [8.3e-8, 9.4e-8, 1.5e-7, 2.1e-6] };
/// Comparing a label with a hash.
pub static COMPARE: WorkKind = WorkKind { name: "jimu.compare", known: [3.0e-8, 4.9e-8, 1.1e-7, 1.6e-6] };
/// Soldering a pair of wires.
pub static SOLDERED: WorkKind = WorkKind { name: "jimu.soldered", known: [2.2e-8, 3.9e-8, 9.1e-8, 1.4e-6] };
/// Making two rows of an output of a component.
pub static ROWS: WorkKind = WorkKind { name: "jimu.rows", known: [4.1e-8, 4.7e-8, 7.4e-8, 1.1e-6] };
/// The time by which each phase exceeds its work and its messages, in the order of the phases. For the phases
/// that `GROWS` names, it is the time per AND gate of the program.
pub static BEYOND: [WorkKind; 6] = [
    WorkKind { name: "jimu.beyond.setup", known: known::SETUP },
    WorkKind { name: "jimu.beyond.preprocess.gate", known: [5.0e-7, 3.6e-7, 3.0e-7, 1.2e-5] },
    WorkKind { name: "jimu.beyond.prepare", known: [1.3e-5, 9.4e-6, 6.9e-6, 1.2e-5] },
    WorkKind { name: "jimu.beyond.build.gate", known: [1.0e-6, 1.0e-6, 2.2e-7, 2.2e-7] },
    WorkKind { name: "jimu.beyond.evaluate.gate", known: [4.8e-7, 5.0e-7, 3.0e-7, 2.4e-5] },
    WorkKind { name: "jimu.beyond.decode", known: known::DECODE },
];

/// For each phase, true if its time grows with the program.
pub(super) const GROWS: [bool; 6] = [false, true, false, true, true, false];

pub(super) static ALL: &[&WorkKind] = &[
    &HASH, &HASHED, &GARBLE, &COMPARE, &SOLDERED, &ROWS, &BEYOND[0], &BEYOND[1], &BEYOND[2], &BEYOND[3],
    &BEYOND[4], &BEYOND[5],
];
