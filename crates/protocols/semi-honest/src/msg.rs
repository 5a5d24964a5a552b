//! The messages of this protocol, without those of the greeting, base OTs and the OT extension.

use brickwork_wire::Tag;

/// Garbler: the starts of the hash keys of all components, 16 bytes each. The message is sent once, before
/// the first labels.
pub const KEYS: Tag = Tag(160);
/// Garbler: the active labels of its inputs, `[execution][wire]`, 16 bytes each.
pub const INPUT_LABELS: Tag = Tag(161);
/// Garbler: the garbled tables in the order of garbling. Each message has [`TABLES_BYTES`], except the last
/// one of a chunk.
pub const TABLES: Tag = Tag(162);
/// Garbler: the colours of the false labels of the evaluator's outputs, `[execution][wire]`, packed.
pub const DECODING: Tag = Tag(163);
/// Evaluator: the colours of the active labels of the garbler's outputs, `[execution][wire]`, packed.
pub const COLOURS: Tag = Tag(164);
/// Evaluator, with OTs from a store: the sums of its inputs and the random choices of these OTs,
/// `[execution][wire]`, packed.
pub const CORRECTIONS: Tag = Tag(165);

/// The number of bytes of a message of tables, which is one frame.
pub const TABLES_BYTES: usize = brickwork_wire::MAX_FRAME_BYTES;
