//! The commitment scheme of Frederiksen, Jakobsen, Nielsen, Trifiletti: "On the Complexity of Additively
//! Homomorphic UC Commitments" (TCC 2016-A, FJNT16).
//!
//! The codeword of the committed value is split into two shares, v = v0 + v1. Both shares are expanded from
//! seeds, one pair of seeds for each coordinate of the code. By oblivious transfer, the receiver gets one
//! seed of each pair; its choice is the *watch bit* w_i. So it can check one share of each coordinate, and
//! the sender does not know which one. To lie about a value, the sender must change a share in at least d
//! coordinates. For each of them, it must guess the watch bit, which succeeds with probability 1/2.
//!
//! ```text
//!   random value:    the first 128 coordinates are what the seeds give;
//!                    parity coordinates are corrected: n - 128 bits
//!   chosen value:    all coordinates are corrected: n bits
//!   proof:  sender -> receiver   masks (128 fresh commitments for each hidden part)
//!           receiver -> sender   seed
//!           sender -> receiver   for each part: the combined shares v0 (n x 128 bits);
//!                                hidden parts also the values
//! ```
//!
//! A proof combines all claims with 128 random linear functions at once. The bits of a coordinate, over all
//! claims, are blocks of GF(2^128), and each block is multiplied by its own random element. This combination
//! is linear over F_2, so the combined shares are shares of a codeword, too. A false claim passes with
//! probability 2^-128.
//!
//! If the combinations were not checked, the sender could commit to words that are not codewords, and later
//! open them in several ways. If combinations of hidden values were sent without a mask, the receiver would
//! learn relations between hidden labels, among them an offset.

mod again;
mod origin;
mod receiver;
mod scheme;
mod sender;
mod source;
#[cfg(test)]
mod tests;

pub use receiver::{Receiver, ReceiverState};
pub use scheme::Split;
pub use sender::{Committing, Sender, SenderState};

use super::code::BinaryCode;
use brickwork_base::Error;
use brickwork_store::{Counter, Range, Ranges};

/// The messages of this scheme.
pub mod msg {
    use brickwork_wire::Tag;

    /// Sender to receiver: the corrections of new commitments.
    pub const CORRECTIONS: Tag = Tag(32);
    /// Receiver to sender: the seed of a proof's combinations.
    pub const SEED: Tag = Tag(33);
    /// Sender to receiver: the combined shares and values.
    pub const ANSWER: Tag = Tag(34);
}

/// Returns the code of a security level.
fn code(security: u32) -> Result<&'static BinaryCode, Error> {
    BinaryCode::for_security(security).ok_or_else(|| {
        Error::Usage(format!("a security of {security} bits is not offered; choose 40, 64 or 80"))
    })
}

fn malformed() -> Error {
    Error::Stock("the stored state of the commitments is malformed, or another version wrote it".into())
}

/// The counter of blocks of 128 commitments. The entries of a log use the same seeds, so each entry draws
/// from its own range of blocks.
const BLOCKS: Counter = Counter::new("blocks of commitments", 40);

fn of_setup() -> Range {
    Ranges::of_setup().take(&BLOCKS).expect("no range was taken before")
}
