//! The messages of this protocol, apart from those of the greeting, OTs and interactive hashes. The values of
//! opened words are sent as `ihash::msg::OPENED`.

use brickwork_wire::Tag;

/// Garbler: the seed of the random combinations of the evaluator's choices.
pub const COMBINE: Tag = Tag(224);
/// Evaluator: the combined choices, packed, and a hash of the combined labels.
pub const COMBINED: Tag = Tag(225);
/// Garbler: the seeds of the points at which labels are compressed, and of the point of the permutation bits.
pub const POINTS: Tag = Tag(226);
/// Garbler: the first hash key of a kind of copies, 16 bytes.
pub const START: Tag = Tag(227);
/// Garbler: two rows for each gate of a group.
pub const GATES: Tag = Tag(228);
/// Garbler: for each copy of a component, whether its offset is the hashed word plus the word of colour 1,
/// packed.
pub const COLOURS: Tag = Tag(229);
/// Garbler: the hash of each copy's tables, 32 bytes.
pub const HASHES: Tag = Tag(230);
/// Evaluator: the seed for the opened items, their bits, and the buckets.
pub const CHALLENGE: Tag = Tag(231);
/// Garbler: the tables of the copies of components in buckets, one after another.
pub const TABLES: Tag = Tag(232);
/// Evaluator: the bits in which its input differs from the choices of its OTs, packed.
pub const CHOICES: Tag = Tag(233);
/// Garbler: for each of its inputs, which of the two labels it sends, packed.
pub const KINDS: Tag = Tag(234);
/// Evaluator: its labels of the garbler's outputs, compressed.
pub const OUTPUT_LABELS: Tag = Tag(235);
