//! The messages of this protocol, apart from those of the greeting, OTs and interactive hashes.

use brickwork_wire::Tag;

/// Garbler: the seed of the combinations of the evaluator's choices.
pub const COMBINE: Tag = Tag(200);
/// Evaluator: the combined choices, packed, and a hash of the combined labels.
pub const COMBINED: Tag = Tag(201);
/// Garbler: the seeds of the points that labels are compressed by, and of that of the permutation bits.
pub const POINTS: Tag = Tag(202);
/// Garbler: the start of the hash keys, and two rows of each gate.
pub const GATES: Tag = Tag(203);
/// Evaluator: the seed of what is opened, how, and what sits in which bucket.
pub const CHALLENGE: Tag = Tag(204);
/// Evaluator: where its input differs from the choices of its OTs, packed.
pub const CHOICES: Tag = Tag(205);
/// Garbler: of the opened gates the permutation messages, left, right and of the outputs.
pub const OPENED_PERMUTATIONS: Tag = Tag(206);
/// Garbler: of the opened gates a label of each wire, as [`OPENED_PERMUTATIONS`].
pub const OPENED_LABELS: Tag = Tag(207);
/// Garbler: the offsets of the opened authenticators.
pub const OPENED_OFFSETS: Tag = Tag(208);
/// Garbler: sums of the permutation messages of soldered wires: left and right of all gates in buckets,
/// outputs of those that are not the first of a bucket.
pub const PERMUTATIONS: Tag = Tag(209);
/// Garbler: the differences of their labels.
pub const DIFFERENCES: Tag = Tag(210);
/// Garbler: sums of the permutation messages of wires and their authenticators.
pub const JOINED_PERMUTATIONS: Tag = Tag(211);
/// Garbler: sums of the offsets.
pub const JOINED_OFFSETS: Tag = Tag(212);
/// Garbler: the active labels of its inputs.
pub const INPUT_LABELS: Tag = Tag(213);
/// Garbler: the permutation messages of the evaluator's outputs. No other wire is decoded.
pub const DECODING: Tag = Tag(214);
/// Evaluator: its labels of the garbler's outputs, compressed.
pub const OUTPUT_LABELS: Tag = Tag(215);
