//! The commitments of Frederiksen, Jakobsen, Nielsen, Trifiletti: "On the Complexity of Additively
//! Homomorphic UC Commitments" (TCC 2016-A, FJNT16).
//!
//! A codeword of the committed value is split into two shares, v = v0 + v1. Both shares are expanded from
//! seeds, one pair of seeds for each coordinate of the code. The receiver gets one seed of each pair by
//! oblivious transfer; its *watch bit* w_i is the choice. So it can check one share of each coordinate, and
//! the sender does not know which one. To lie about a value, the sender must change a share in at least d
//! coordinates, and guesses each watch bit with probability 1/2.
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
//! A proof combines with 128 random linear functions at once. The bits of a coordinate, over all claims, are
//! blocks of GF(2^128), and each block is multiplied by its own random element. This hash is F_2-linear, so
//! it commutes with the code. A false statement passes with probability 2^-128.
//!
//! If the combinations were not checked, the sender could "commit" to words that are no codewords and later
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

    /// Corrections of new commitments, sender to receiver.
    pub const CORRECTIONS: Tag = Tag(32);
    /// Seed of a proof's combinations, receiver to sender.
    pub const SEED: Tag = Tag(33);
    /// Combined shares and values, sender to receiver.
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

/// The counter of blocks of 128 commitments. A log uses the same seeds for several entries, and each entry
/// draws from its own range.
const BLOCKS: Counter = Counter::new("blocks of commitments", 40);

fn of_setup() -> Range {
    Ranges::of_setup().take(&BLOCKS).expect("no range was taken before")
}
