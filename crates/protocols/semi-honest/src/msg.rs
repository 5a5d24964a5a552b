//! The messages of this protocol, apart from those of the greeting, base OTs and the OT extension.

use brickwork_wire::Tag;

/// Garbler: the start of the hash keys of each component, 16 bytes each. Once, with the first labels.
pub const KEYS: Tag = Tag(160);
/// Garbler: the active labels of its inputs, `[execution][wire]`, 16 bytes each.
pub const INPUT_LABELS: Tag = Tag(161);
/// Garbler: tables, in the order in which they are made; each message but the last of a chunk holds
/// [`TABLES_BYTES`].
pub const TABLES: Tag = Tag(162);
/// Garbler: the colours of the false labels of the evaluator's outputs, `[execution][wire]`, packed.
pub const DECODING: Tag = Tag(163);
/// Evaluator: the colours of its labels of the garbler's outputs, `[execution][wire]`, packed.
pub const COLOURS: Tag = Tag(164);
/// Evaluator, where its OTs come from a store: the sums of its inputs and of the choices that it made when
/// the OTs were, `[execution][wire]`, packed.
pub const CORRECTIONS: Tag = Tag(165);

/// Bytes of a message of tables: one frame.
pub const TABLES_BYTES: usize = brickwork_wire::MAX_FRAME_BYTES;
