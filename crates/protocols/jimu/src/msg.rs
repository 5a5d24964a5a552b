//! The messages of this protocol, apart from those of the greeting, OTs and interactive hashes.

use brickwork_wire::Tag;

/// Garbler: the seed of the combinations of the evaluator's choices.
pub const COMBINE: Tag = Tag(224);
/// Evaluator: the combined choices, packed, and a hash of the combined labels.
pub const COMBINED: Tag = Tag(225);
/// Garbler: the seeds of the points that labels are compressed by, and of that of the permutation bits.
pub const POINTS: Tag = Tag(226);
/// Garbler: the start of the hash keys, and two rows of each gate.
pub const GATES: Tag = Tag(227);
/// Evaluator: the seed of what is opened, how, and what sits in which bucket.
pub const CHALLENGE: Tag = Tag(228);
/// Evaluator: where its input differs from the choices of its OTs, packed.
pub const CHOICES: Tag = Tag(229);
/// Garbler: of the opened gates the permutation messages, left, right and of the outputs.
pub const OPENED_PERMUTATIONS: Tag = Tag(230);
/// Garbler: of the opened gates a label of each wire, as [`OPENED_PERMUTATIONS`].
pub const OPENED_LABELS: Tag = Tag(231);
/// Garbler: the offsets of the opened authenticators.
pub const OPENED_OFFSETS: Tag = Tag(232);
/// Garbler: sums of the permutation messages of soldered wires: left and right of all gates in buckets,
/// outputs of those that are not the first of a bucket.
pub const PERMUTATIONS: Tag = Tag(233);
/// Garbler: the differences of their labels.
pub const DIFFERENCES: Tag = Tag(234);
/// Garbler: sums of the permutation messages of wires and their authenticators.
pub const JOINED_PERMUTATIONS: Tag = Tag(235);
/// Garbler: sums of the offsets.
pub const JOINED_OFFSETS: Tag = Tag(236);
/// Garbler: the active labels of its inputs.
pub const INPUT_LABELS: Tag = Tag(237);
/// Garbler: the permutation messages of the evaluator's outputs. No other wire is decoded.
pub const DECODING: Tag = Tag(238);
/// Evaluator: its labels of the garbler's outputs, compressed.
pub const OUTPUT_LABELS: Tag = Tag(239);
