//! The messages of this protocol, in the order of a run, apart from those of the greeting, base OTs, the OT
//! extension and the commitments. G is the garbler, E the evaluator.

use brickwork_wire::Tag;

/// G: of each kind of batch the size of a bucket and the number of opened items, u32 each.
pub const PROPOSAL: Tag = Tag(3);
/// G: the start of the gates' hash keys, 16 bytes.
pub const KEYS: Tag = Tag(200);
/// G: the tables of all AND gates, 32 bytes each.
pub const TABLES: Tag = Tag(201);
/// G: the hashes of wire authenticators, then of input authenticators, 32 bytes each.
pub const AUTHENTICATORS: Tag = Tag(202);
/// E: the seeds of its challenges for gates, wire authenticators and input authenticators, 16 bytes each.
pub const CHALLENGE: Tag = Tag(203);
/// E: a seed; of each random combination of the OTs its label, then all their bits, a byte each.
pub const OT_BINDING: Tag = Tag(204);
/// G: of each opened gate the wires of both inputs at the challenged colours, 32 bytes.
pub const OPENED_GATES: Tag = Tag(205);
/// G: of each opened wire authenticator the wire at the challenged colour, 16 bytes.
pub const OPENED_AUTHENTICATORS: Tag = Tag(206);
/// G: of each opened input authenticator the offset, 16 bytes.
pub const OPENED_INPUTS: Tag = Tag(207);
/// G: from the head of each bucket to its other gates: solderings of left, right and output wires.
pub const GATE_SOLDERINGS: Tag = Tag(208);
/// G: from the output of each head to the authenticators of its bucket.
pub const AUTHENTICATOR_SOLDERINGS: Tag = Tag(209);
/// G: delta differences of the input authenticators in buckets.
pub const DELTA_DIFFERENCES: Tag = Tag(210);
/// G: from the head of each bucket of input authenticators to the others, then to the wire of the input.
pub const INPUT_SOLDERINGS: Tag = Tag(211);
/// G: solderings of the program: to both inputs of each bucket, gate after gate, then to the outputs.
pub const SOLDERINGS: Tag = Tag(212);
/// E: its input bits, masked with its OT choices, packed.
pub const MASKED_INPUT: Tag = Tag(213);
/// G: labels of its own input, openings for E's input; indicator bits of all outputs, packed.
pub const INPUT_LABELS: Tag = Tag(214);
/// E: colours of the labels of G's outputs, packed, and a hash over the labels.
pub const OUTPUT_LABELS: Tag = Tag(215);
