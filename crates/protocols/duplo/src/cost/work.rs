//! The kinds of work that only this protocol has.

use brickwork_plan::WorkKind;
use brickwork_protocol::SessionProtocol;

use crate::report::Duplo;

/// Adding an OT's label and share to one of the random combinations.
pub static COMBINE_OT: WorkKind =
    WorkKind { name: "duplo.combine-ot", known: [2.09e-9, 2.00e-9, 2.11e-9, 1.98e-9] };
/// Moving one committed value to its place in the order of buckets.
pub static KEEP: WorkKind = WorkKind { name: "duplo.keep", known: [8.90e-10, 8.92e-10, 8.72e-10, 8.76e-10] };
/// Evaluating one gate in plaintext.
pub static SIMULATE: WorkKind =
    WorkKind { name: "duplo.simulate", known: [1.85e-9, 1.42e-9, 1.41e-9, 1.42e-9] };
/// Computing the exact bound of a proposal.
pub static BOUND: WorkKind = WorkKind { name: "duplo.bound", known: [2.33e-4, 2.33e-4, 2.33e-4, 2.32e-4] };

/// The measured time of each phase that no predicted work or message explains; in preprocess, for each
/// component.
pub static BEYOND: [WorkKind; Duplo::PHASES.len()] = [
    WorkKind { name: "duplo.beyond.setup", known: [1.71e-2, 2.15e-2, 1.66e-2, 1.22e-1] },
    WorkKind { name: "duplo.beyond.preprocess", known: [3.55e-3, 6.07e-3, 7.54e-3, 0.0] },
    WorkKind { name: "duplo.beyond.prepare", known: [1.09e-3, 1.56e-3, 1.41e-3, 1.65e-2] },
    WorkKind { name: "duplo.beyond.build", known: [9.61e-4, 9.65e-4, 1.07e-3, 6.29e-3] },
    WorkKind { name: "duplo.beyond.evaluate", known: [6.81e-4, 9.59e-4, 1.05e-3, 3.90e-3] },
    WorkKind { name: "duplo.beyond.decode", known: [1.48e-4, 1.08e-4, 1.53e-4, 3.82e-4] },
];

/// All kinds of work in this file.
pub(super) static ALL: &[&WorkKind] = &[
    &COMBINE_OT,
    &KEEP,
    &SIMULATE,
    &BOUND,
    &BEYOND[0],
    &BEYOND[1],
    &BEYOND[2],
    &BEYOND[3],
    &BEYOND[4],
    &BEYOND[5],
];
