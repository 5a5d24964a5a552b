//! XOR-homomorphic commitments: the garbler commits, and the evaluator checks later openings against the
//! commitments.
//!
//! The promise of a [`Scheme`], for any construction ([`Split`](split::Split) is the one that `duplo` uses):
//!
//! * [`Sender::commit_random`] commits to values that the protocol itself draws, [`Sender::commit`] to
//!   values of the sender's choice; the receiver learns nothing of either.
//! * Anything F_2-linear in committed values can be *claimed*: "these commitments add up to this value", or
//!   "the lowest bit of this sum is this". Claims themselves send nothing. [`Sender::prove`] and
//!   [`Receiver::verify`] settle any number of them at once, by random combinations whose seed the receiver
//!   draws after all values are fixed (design decision 4).
//! * A receiver may read shares that are not proven yet. But [`Pending`] only becomes [`Shares`] by the
//!   [`Proof`] of a successful verification that it was part of. An opened value is [`Claimed`] until the
//!   proof of the claims that it rests on. A proof names all that it covers, and is of use for that alone.

mod claims;
pub mod code;
mod combine;
#[cfg(test)]
mod ideal;
mod places;
mod proof;
mod row;
mod rows;
mod scheme;
mod shares;
pub mod split;
#[cfg(test)]
mod tests;

use brickwork_base::cheats;

pub use claims::{ClaimGroup, Claims, Each, Weights};
pub use places::Places;
pub use proof::{Claimed, Name, Names, Pending, Proof};
pub use row::{Committed, New, Row};
pub use rows::{COLUMN_WORDS, Column, DIMENSION};
pub use scheme::{Level, Receiver, Scheme, Sender};
pub use shares::{FEW_COLUMNS, Selection, Shares, keep_columns};

cheats! {
    /// Cheats with commitments.
    pub enum Cheat of "commitments" {
        /// Commitments (FJNT16): something that was sent as a commitment is none.
        Commitment = "commitments: a correction leaves the code",
        /// Commitments: an opened value is not the committed one (Open in appendix A).
        Opening = "commitments: a value was opened that was not committed to",
        /// Commitments: an indicator bit is not the committed one (section 5.1, decoding).
        Indicator = "commitments: an indicator bit was opened that was not committed to",
    }
}

/// The rule for the lowest bit of a random committed value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lsb {
    /// Random, like the other bits.
    Random,
    /// 0: masks. Built into the shares of the lowest coordinate alone, which one guessed watch bit gets
    /// around; that a mask ends in 0 need not be bound (docs/concepts/security.md).
    Zero,
    /// 1: offsets. The same for one commitment; values that must be bound are claimed.
    One,
}

/// Returns the bytes of committed values that a garbler keeps in memory, if its evaluator keeps this many
/// bytes of tables; it computes the others again when it needs them.
pub fn values_memory(table_memory: u64) -> u64 {
    table_memory.saturating_mul(2)
}
