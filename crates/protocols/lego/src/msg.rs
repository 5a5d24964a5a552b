//! The messages of this protocol, in the order of a run, apart from those of the greeting, base OTs, the OT
//! extension and the commitments. G is the garbler, E the evaluator.

use brickwork_wire::Tag;

/// G: for each kind of items, the bucket size and the number of opened items, u32 each.
pub const PROPOSAL: Tag = Tag(3);
/// G: the start of the gates' hash keys, 16 bytes.
pub const KEYS: Tag = Tag(200);
/// G: the tables of all AND gates, 32 bytes each.
pub const TABLES: Tag = Tag(201);
/// G: the hashes of wire authenticators, then of input authenticators, 32 bytes each.
pub const AUTHENTICATORS: Tag = Tag(202);
/// E: the seeds of its challenges for gates, wire authenticators and input authenticators, 16 bytes each.
pub const CHALLENGE: Tag = Tag(203);
/// E: a seed, the label of each random combination of the OTs, and then the bits of all combinations, a byte
/// each.
pub const OT_BINDING: Tag = Tag(204);
/// G: for each opened gate, the wires of both inputs at the challenged colours, 32 bytes.
pub const OPENED_GATES: Tag = Tag(205);
/// G: for each opened wire authenticator, the wire at the challenged colour, 16 bytes.
pub const OPENED_AUTHENTICATORS: Tag = Tag(206);
/// G: for each opened input authenticator, the offset, 16 bytes.
pub const OPENED_INPUTS: Tag = Tag(207);
/// G: the solderings from the head of each bucket to its other gates: left, right and output wires.
pub const GATE_SOLDERINGS: Tag = Tag(208);
/// G: the solderings from the output of each head to the authenticators of its bucket.
pub const AUTHENTICATOR_SOLDERINGS: Tag = Tag(209);
/// G: the delta differences of the input authenticators in buckets.
pub const DELTA_DIFFERENCES: Tag = Tag(210);
/// G: the solderings from the head of each bucket of input authenticators to the others, then to the wire of
/// the input.
pub const INPUT_SOLDERINGS: Tag = Tag(211);
/// G: the solderings of the program: to both inputs of each bucket, gate after gate, then to the outputs.
pub const SOLDERINGS: Tag = Tag(212);
/// E: its input bits, masked with its OT choices, packed.
pub const MASKED_INPUT: Tag = Tag(213);
/// G: the labels of its own inputs, the openings for E's inputs, and the packed indicator bits of all
/// outputs.
pub const INPUT_LABELS: Tag = Tag(214);
/// E: the packed colours of the labels of G's outputs, and a hash of these labels.
pub const OUTPUT_LABELS: Tag = Tag(215);
