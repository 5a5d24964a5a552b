//! The messages of this protocol, apart from those of the greeting and OTs.

use brickwork_wire::Tag;

/// Both: where the hashes of leaky ANDs begin and their factor, and the ciphertexts.
pub const CIPHERTEXTS: Tag = Tag(128);
/// Both: a share of a bit of each leaky AND.
pub const BITS: Tag = Tag(129);
/// Evaluator: the digest of its words, masked by choices of OTs, and the hash of its coin.
pub const COMPARE: Tag = Tag(130);
/// Garbler: the hash of the keys that the masked digest asks for, and its coin.
pub const COMPARED: Tag = Tag(131);
/// Evaluator: the hash of its keys, its coin and the blinding value.
pub const COIN: Tag = Tag(132);
/// Both: shares of masks that are opened, and the hash of their macs.
pub const OPENED: Tag = Tag(133);
/// Garbler: the start of the hash keys, and of each AND gate two rows.
pub const TABLES: Tag = Tag(134);
/// Garbler: of each AND gate the bit that makes its output's label end in 0.
pub const COLOURS: Tag = Tag(135);
/// Garbler: solderings, and the hash of the MACs of the soldered masks.
pub const SOLDERINGS: Tag = Tag(136);
/// Either: its shares of the masks of the other's inputs, and the hash of their macs.
pub const INPUT_MASKS: Tag = Tag(137);
/// Evaluator: masked values of its inputs.
pub const MASKED_INPUTS: Tag = Tag(138);
/// Garbler: active labels of all inputs.
pub const INPUT_LABELS: Tag = Tag(139);
/// Evaluator: masked values of soldered wires and of the outputs of AND gates, and the hash of their labels.
pub const REPORT: Tag = Tag(140);
/// Garbler: the digest that all gates were evaluated to AND.
pub const GATES: Tag = Tag(141);
/// Either: its shares of the masks of the other's outputs, and the hash of their macs.
pub const OUTPUT_MASKS: Tag = Tag(142);
