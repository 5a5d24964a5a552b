//! The tags of this protocol's own messages. The tags of the greeting, the base OTs and the OT extension are
//! elsewhere.

use brickwork_wire::Tag;

/// Garbler: the start of the hash keys of each component, 16 bytes each.
pub const KEYS: Tag = Tag(180);
/// Garbler: the tables of all slots in one message, in the order in which the slots are garbled.
pub const TABLES: Tag = Tag(181);
/// Garbler, with `scmc`: the corrections that turn the label of each output wire of each slot into the label
/// of the linked value, 16 bytes each.
pub const CORRECTIONS: Tag = Tag(182);
/// Evaluator: one bit for each input wire, set if the input differs from the choice of its OT; packed.
pub const CHOICES: Tag = Tag(183);
/// Garbler: the active labels of its inputs, 16 bytes each.
pub const INPUT_LABELS: Tag = Tag(184);
/// Garbler, with `scmc`: the corrections that turn the label of each input wire of the evaluator into the
/// label of the linked value, 16 bytes each.
pub const INPUT_CORRECTIONS: Tag = Tag(185);
/// Garbler: one label for each link that is not free, slot after slot.
pub const LINKS: Tag = Tag(186);
/// Garbler: the colours of the false labels of the evaluator's outputs, packed. No other wire can be decoded.
pub const DECODING: Tag = Tag(187);
/// Evaluator: the colours of its active labels of the garbler's outputs, packed.
pub const COLOURS: Tag = Tag(188);
