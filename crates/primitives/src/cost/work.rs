//! The kinds of work of the primitives.

use brickwork_plan::WorkKind;

/// A base OT at the receiver, until it has sent its message.
pub static CHOOSE: WorkKind =
    WorkKind { name: "base-ot.choose", known: [4.08e-5, 3.94e-5, 3.94e-5, 3.93e-5] };
/// A base OT at the receiver, after it has received the reply.
pub static CHOSEN: WorkKind =
    WorkKind { name: "base-ot.chosen", known: [3.46e-5, 3.32e-5, 3.34e-5, 3.35e-5] };
/// A base OT at the sender.
pub static OFFER: WorkKind = WorkKind { name: "base-ot.offer", known: [9.50e-5, 9.18e-5, 9.20e-5, 9.21e-5] };
/// A block of 128 commitments to random values, for each coordinate of the code.
pub static COMMIT_RANDOM: WorkKind =
    WorkKind { name: "commit.random", known: [1.28e-8, 1.71e-8, 2.09e-8, 2.38e-7] };
/// A block of 128 commitments to chosen values at the sender.
pub static COMMIT_CHOSEN: WorkKind =
    WorkKind { name: "commit.chosen", known: [1.94e-8, 2.84e-8, 3.22e-8, 2.51e-7] };
/// A block of 128 received commitments.
pub static RECEIVE: WorkKind =
    WorkKind { name: "commit.receive", known: [7.49e-10, 7.26e-10, 7.31e-10, 7.94e-10] };
/// A block of 128 claims in a proof, for each combined row: a coordinate, or a bit of the values.
pub static COMBINE: WorkKind =
    WorkKind { name: "commit.combine", known: [3.25e-10, 6.56e-10, 8.33e-10, 1.37e-8] };
/// Drawing the place of one item in a challenge.
pub static DRAW: WorkKind =
    WorkKind { name: "cut-and-choose.draw", known: [7.33e-9, 6.28e-9, 6.17e-9, 6.18e-9] };
/// Garbling an AND gate in one of 16 copies side by side.
pub static GARBLE_AND: WorkKind =
    WorkKind { name: "garbling.garble-and", known: [3.78e-9, 4.60e-9, 1.27e-8, 4.00e-7] };
/// Garbling an XOR or INV gate in lockstep.
pub static GARBLE_XOR: WorkKind =
    WorkKind { name: "garbling.garble-other", known: [3.06e-10, 3.01e-10, 4.61e-10, 4.65e-10] };
/// Evaluating an AND gate in one of 16 copies side by side.
pub static EVALUATE_AND: WorkKind =
    WorkKind { name: "garbling.evaluate-and", known: [5.88e-9, 9.47e-9, 1.08e-8, 2.16e-7] };
/// Evaluating an XOR or INV gate in lockstep.
pub static EVALUATE_XOR: WorkKind =
    WorkKind { name: "garbling.evaluate-other", known: [3.05e-10, 3.01e-10, 4.61e-10, 4.65e-10] };
/// Hashing the table of an AND gate.
pub static HASH_TABLE: WorkKind =
    WorkKind { name: "garbling.hash-table", known: [5.98e-9, 4.98e-9, 4.97e-9, 4.97e-9] };
/// Hashing a label for an authenticator.
pub static HASH_LABEL: WorkKind =
    WorkKind { name: "authenticator.hash", known: [1.34e-8, 2.66e-8, 2.70e-8, 2.19e-7] };
/// Making or using a soldering.
pub static SOLDER: WorkKind = WorkKind { name: "solder", known: [3.04e-9, 2.28e-9, 2.27e-9, 2.28e-9] };
/// Scheduling a gate of a component.
pub static SCHEDULE: WorkKind =
    WorkKind { name: "garbling.schedule", known: [8.80e-8, 8.23e-8, 8.50e-8, 8.37e-8] };
/// Garbling an AND gate of a single copy.
pub static GARBLE_AND_ALONE: WorkKind =
    WorkKind { name: "garbling.garble-and-alone", known: [1.24e-8, 1.20e-8, 1.41e-8, 4.10e-7] };
/// Garbling an XOR or INV gate of a single copy.
pub static GARBLE_XOR_ALONE: WorkKind =
    WorkKind { name: "garbling.garble-other-alone", known: [8.87e-10, 8.86e-10, 6.80e-10, 7.44e-10] };
/// Evaluating an AND gate of a single copy.
pub static EVALUATE_AND_ALONE: WorkKind =
    WorkKind { name: "garbling.evaluate-and-alone", known: [9.16e-9, 6.53e-9, 9.42e-9, 2.17e-7] };
/// Evaluating an XOR or INV gate of a single copy.
pub static EVALUATE_XOR_ALONE: WorkKind =
    WorkKind { name: "garbling.evaluate-other-alone", known: [6.73e-10, 6.61e-10, 6.44e-10, 7.12e-10] };
/// A block of 128 extended OTs at the sender, which chooses the offset.
pub static EXTEND_SENDER: WorkKind =
    WorkKind { name: "ot.extend-sender", known: [8.82e-7, 1.14e-6, 1.54e-6, 2.20e-5] };
/// A block of 128 extended OTs at the receiver, which chooses the bits.
pub static EXTEND_RECEIVER: WorkKind =
    WorkKind { name: "ot.extend-receiver", known: [2.27e-6, 2.43e-6, 2.95e-6, 3.90e-5] };
/// A block of 128 OTs with random choices at the sender, if two, four or eight bits of the offset share a
/// row.
static SOFTSPOKEN_SENDER: [WorkKind; 3] = [
    WorkKind { name: "ot.softspoken-2-sender", known: [7.47e-7, 9.90e-7, 1.46e-6, 3.62e-5] },
    WorkKind { name: "ot.softspoken-4-sender", known: [8.34e-7, 1.07e-6, 1.74e-6, 6.83e-5] },
    WorkKind { name: "ot.softspoken-8-sender", known: [3.82e-6, 4.03e-6, 7.65e-6, 4.93e-4] },
];
/// The same work as [`SOFTSPOKEN_SENDER`] at the receiver.
static SOFTSPOKEN_RECEIVER: [WorkKind; 3] = [
    WorkKind { name: "ot.softspoken-2-receiver", known: [1.18e-6, 1.41e-6, 1.84e-6, 3.67e-5] },
    WorkKind { name: "ot.softspoken-4-receiver", known: [1.04e-6, 1.27e-6, 1.94e-6, 6.57e-5] },
    WorkKind { name: "ot.softspoken-8-receiver", known: [3.80e-6, 3.98e-6, 7.65e-6, 4.99e-4] },
];
/// A block of 128 OTs of a PCG iteration at the sender, including the reserved OTs.
static PCG_SENDER: WorkKind = WorkKind { name: "ot.pcg-sender", known: [1.96e-6, 2.10e-6, 2.63e-6, 4.75e-5] };
/// The same work as [`PCG_SENDER`] at the receiver.
static PCG_RECEIVER: WorkKind =
    WorkKind { name: "ot.pcg-receiver", known: [2.27e-6, 2.45e-6, 2.98e-6, 4.75e-5] };
/// A block of 128 OTs with random choices at the sender, for each construction ([`Cot`](crate::ot::Cot)).
pub static RANDOM_SENDER: [&WorkKind; 5] =
    [&EXTEND_SENDER, &SOFTSPOKEN_SENDER[0], &SOFTSPOKEN_SENDER[1], &SOFTSPOKEN_SENDER[2], &PCG_SENDER];
/// The same work as [`RANDOM_SENDER`] at the receiver.
pub static RANDOM_RECEIVER: [&WorkKind; 5] = [
    &EXTEND_RECEIVER,
    &SOFTSPOKEN_RECEIVER[0],
    &SOFTSPOKEN_RECEIVER[1],
    &SOFTSPOKEN_RECEIVER[2],
    &PCG_RECEIVER,
];

pub(super) static ALL: &[&WorkKind] = &[
    &CHOOSE,
    &CHOSEN,
    &OFFER,
    &EXTEND_SENDER,
    &EXTEND_RECEIVER,
    &SOFTSPOKEN_SENDER[0],
    &SOFTSPOKEN_SENDER[1],
    &SOFTSPOKEN_SENDER[2],
    &SOFTSPOKEN_RECEIVER[0],
    &SOFTSPOKEN_RECEIVER[1],
    &SOFTSPOKEN_RECEIVER[2],
    &PCG_SENDER,
    &PCG_RECEIVER,
    &COMMIT_RANDOM,
    &COMMIT_CHOSEN,
    &RECEIVE,
    &COMBINE,
    &DRAW,
    &GARBLE_AND,
    &GARBLE_XOR,
    &EVALUATE_AND,
    &EVALUATE_XOR,
    &GARBLE_AND_ALONE,
    &GARBLE_XOR_ALONE,
    &EVALUATE_AND_ALONE,
    &EVALUATE_XOR_ALONE,
    &HASH_TABLE,
    &HASH_LABEL,
    &SOLDER,
    &SCHEDULE,
];
