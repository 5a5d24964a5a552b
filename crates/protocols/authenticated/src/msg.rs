//! The tags of this protocol's own messages. The tags of the greeting and the OTs are elsewhere.

use brickwork_wire::Tag;

/// From both parties: the start of the hash keys of leaky ANDs, the factor ρ, and the ciphertexts.
pub const CIPHERTEXTS: Tag = Tag(128);
/// From both parties: a share of one bit of each leaky AND.
pub const BITS: Tag = Tag(129);
/// Evaluator: the digest of its words, masked by the choices of OTs, and the hash of its coin.
pub const COMPARE: Tag = Tag(130);
/// Garbler: the hash of the keys that the masked digest selects, and its coin.
pub const COMPARED: Tag = Tag(131);
/// Evaluator: the hash of its keys, and its coin.
pub const COIN: Tag = Tag(132);
/// From both parties: their shares of the masks that are opened for triples, and the hash of the MACs.
pub const OPENED: Tag = Tag(133);
/// Garbler: the start of the hash keys, and two rows of each AND gate.
pub const TABLES: Tag = Tag(134);
/// Garbler: for each AND gate the bit β, which makes the label of its output end in 0.
pub const COLOURS: Tag = Tag(135);
/// Garbler: solderings, and the hash of the MACs of the soldered masks.
pub const SOLDERINGS: Tag = Tag(136);
/// From either party: its shares of the masks of the other party's inputs, and the hash of the MACs.
pub const INPUT_MASKS: Tag = Tag(137);
/// Evaluator: the masked values of its inputs.
pub const MASKED_INPUTS: Tag = Tag(138);
/// Garbler: the active labels of all inputs.
pub const INPUT_LABELS: Tag = Tag(139);
/// Evaluator: the masked values of ports and of the outputs of AND gates, and the hash of their labels.
pub const REPORT: Tag = Tag(140);
/// Garbler: the digest that shows that all gates compute AND.
pub const GATES: Tag = Tag(141);
/// Either: its shares of the masks of the other party's outputs, and the hash of the MACs.
pub const OUTPUT_MASKS: Tag = Tag(142);
