//! The messages of the protocol, in the order of a run. G is the garbler, E the evaluator.

use brickwork_wire::Tag;

pub use brickwork_session::stock::msg::{DAMAGED, INTENT, PAIR, STAND, STANDINGS};

/// G: digest of the program in the proposed cut, and the name of this cut; the empty name is the cut that
/// both have.
pub const DECOMPOSITION: Tag = Tag(4);
/// G: for each batch the size of a bucket and the number of opened items.
pub const PROPOSAL: Tag = Tag(3);

/// G: S_ot, the delta difference of the OT offset to Δ_ka.
pub const OT_DELTA_DIFFERENCE: Tag = Tag(48);

/// G: the first of a batch's hash keys, then for each copy 32 bytes: the BLAKE3 hash of its tables.
pub const TABLE_HASHES: Tag = Tag(49);
/// E: seeds of the challenges, one per batch.
pub const CHALLENGE: Tag = Tag(50);
/// G: for each opened copy its offset and its committed input wires.
pub const OPENED: Tag = Tag(51);
/// G: for each chosen copy S_c, the delta difference of its offset to Δ_ka.
pub const DELTA_DIFFERENCES: Tag = Tag(52);
/// G: solderings within buckets.
pub const BUCKET_SOLDERINGS: Tag = Tag(53);
/// G: tables of the chosen copies.
pub const TABLES: Tag = Tag(54);

/// G: the hashes of key authenticators.
pub const AUTHENTICATORS: Tag = Tag(55);
/// G: one label of each checked plain authenticator, the offset of each checked input authenticator.
pub const OPENED_AUTHENTICATORS: Tag = Tag(56);
/// G: solderings of the outputs of all copies to their authenticators.
pub const OUTPUT_SOLDERINGS: Tag = Tag(57);

/// G: solderings between slots, from inputs, and to outputs.
pub const SOLDERINGS: Tag = Tag(58);
/// E: its OT labels and choice bits of the items that bind Δ_ot to its commitment.
pub const OT_BINDING: Tag = Tag(59);

/// E: its input bits, masked with its OT choices.
pub const MASKED_INPUT: Tag = Tag(60);
/// G: labels of its own input, openings for E's input, indicator bits of E's outputs.
pub const INPUT_LABELS: Tag = Tag(61);

/// E: colours of the labels of G's outputs and a hash over the labels.
pub const OUTPUT_LABELS: Tag = Tag(62);
