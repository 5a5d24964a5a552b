//! The tags of the messages, in the order of a run. G is the garbler, E the evaluator.

use brickwork_wire::Tag;

pub use brickwork_protocol::stock::msg::{DAMAGED, INTENT, PAIR, STAND, STANDINGS};

/// G: the digest of the program in the proposed cut, and the name of the cut. An empty name means the cut
/// that both parties have.
pub const DECOMPOSITION: Tag = Tag(4);
/// G: for each batch the bucket size and the number of opened items.
pub const PROPOSAL: Tag = Tag(3);

/// G: S_ot, the delta difference Δ_ot ⊕ Δ_ka.
pub const OT_DELTA_DIFFERENCE: Tag = Tag(48);

/// G: the start of a batch's hash keys, then for each copy the BLAKE3 hash of its tables, 32 bytes.
pub const TABLE_HASHES: Tag = Tag(49);
/// E: the seeds of the challenges, one for each batch.
pub const CHALLENGE: Tag = Tag(50);
/// G: the offset and the committed input wires of each opened copy.
pub const OPENED: Tag = Tag(51);
/// G: the delta difference S_c = Δ_c ⊕ Δ_ka of each chosen copy.
pub const DELTA_DIFFERENCES: Tag = Tag(52);
/// G: the solderings in buckets.
pub const BUCKET_SOLDERINGS: Tag = Tag(53);
/// G: the tables of the chosen copies.
pub const TABLES: Tag = Tag(54);

/// G: the pairs of hashes of key authenticators.
pub const AUTHENTICATORS: Tag = Tag(55);
/// G: one label of each checked plain authenticator, and the offset of each checked input authenticator.
pub const OPENED_AUTHENTICATORS: Tag = Tag(56);
/// G: the solderings from the outputs of all chosen copies to their authenticators.
pub const OUTPUT_SOLDERINGS: Tag = Tag(57);

/// G: the solderings from wires of the program to slots, and to the authenticators of sealed outputs.
pub const SOLDERINGS: Tag = Tag(58);
/// E: a seed, and the sums of OT labels and choice bits that bind the OTs to their commitments.
pub const OT_BINDING: Tag = Tag(59);

/// E: its input bits, masked with the choice bits of its OTs.
pub const MASKED_INPUT: Tag = Tag(60);
/// G: the labels of its own input, the openings for E's input, the indicator bits of E's outputs.
pub const INPUT_LABELS: Tag = Tag(61);

/// E: the colours of the labels of G's outputs, and a hash of these labels.
pub const OUTPUT_LABELS: Tag = Tag(62);
