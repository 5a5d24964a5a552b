//! The messages of this protocol, apart from those of the greeting, base OTs and the OT extension.

use brickwork_wire::Tag;

/// Garbler: the start of the hash keys of each component, 16 bytes each.
pub const KEYS: Tag = Tag(180);
/// Garbler: tables, slot after slot in the order in which they are garbled, one message.
pub const TABLES: Tag = Tag(181);
/// Garbler, with `scmc`: the corrections that turn the label of each output wire of each slot into the one in
/// its block, 16 bytes each.
pub const CORRECTIONS: Tag = Tag(182);
/// Evaluator: where its input differs from the choices of its OTs, packed.
pub const CHOICES: Tag = Tag(183);
/// Garbler: the active labels of its inputs, 16 bytes each.
pub const INPUT_LABELS: Tag = Tag(184);
/// Garbler, with `scmc`: the corrections that turn the label of each of the evaluator's inputs into the one
/// in its block, 16 bytes each.
pub const INPUT_CORRECTIONS: Tag = Tag(185);
/// Garbler: the links, one label each, slot after slot.
pub const LINKS: Tag = Tag(186);
/// Garbler: the colours of the false labels of the evaluator's outputs, packed. No other wire is decoded.
pub const DECODING: Tag = Tag(187);
/// Evaluator: the colours of its labels of the garbler's outputs, packed.
pub const COLOURS: Tag = Tag(188);
