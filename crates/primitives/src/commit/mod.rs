//! XOR-homomorphic commitments: the garbler commits, and the evaluator checks later openings against the
//! commitments.
//!
//! Every [`CommitmentScheme`] promises the following. [`Split`](split::Split) is the scheme that `duplo`
//! uses.
//!
//! * [`Sender::commit_random`] commits to random values, [`Sender::commit`] to values of the sender's choice.
//!   The receiver learns nothing about the values.
//! * The sender can *claim* any linear statement over F_2 about committed values: "these commitments add up
//!   to this value", or "the lowest bit of this sum is this". A claim alone sends no message.
//!   [`Sender::prove`] and [`Receiver::verify`] verify any number of claims at once, by random combinations
//!   whose seed the receiver draws after all values are fixed.
//! * A receiver may read shares that are not proven yet. A [`Pending`] becomes [`Shares`] only with the
//!   [`Proof`] of a successful verification that included it. An opened value has the type [`Claimed`] until
//!   its claims are proven. A proof lists everything that it covers, and is valid for nothing else.

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
use brickwork_base::label::LABEL_BYTES;

pub use claims::{ClaimGroup, Claims, EachClaim, Weights};
pub use places::Places;
pub use proof::{Claimed, Names, Pending, Proof, UnverifiedName};
pub use row::{CommitmentRow, Committed, New};
pub use rows::{COLUMN_WORDS, Column, DIMENSION};
pub use scheme::{CommitmentLevel, CommitmentScheme, Receiver, Sender};
pub use shares::{FEW_COLUMNS, Selection, Shares, keep_columns};

cheats! {
    /// The ways to cheat with commitments.
    pub enum Cheat of "commitments" {
        /// A new commitment is not a codeword (FJNT16).
        Commitment = "commitments: a new commitment is not a codeword",
        /// An opened value is not the committed value (Open in appendix A).
        Opening = "commitments: an opened value is not the committed one",
        /// An indicator bit is not the committed one (section 5.1, decoding).
        Indicator = "commitments: an opened indicator bit is not the committed one",
    }
}

/// The rule for the lowest bit of a committed random value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lsb {
    /// The lowest bit is random, like the other bits.
    Random,
    /// The lowest bit is 0, for masks. Only the shares of the lowest coordinate enforce this, so a sender
    /// that guesses one watch bit can break it. This does no harm (docs/concepts/security.md).
    Zero,
    /// The lowest bit is 1, for offsets. The sender is bound to this bit no more than for `Zero`; a protocol
    /// that needs more must claim the bit.
    One,
}

/// Returns the bytes of committed values that a garbler keeps in memory, if its evaluator keeps
/// `table_memory` bytes of tables there. The garbler recomputes all other values when it needs them.
pub fn values_memory(table_memory: u64) -> u64 {
    table_memory.saturating_mul(2)
}

/// The kind of a row of commitments. It decides what a sender without room for the values writes to a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CommittedValues {
    /// The values follow from seeds, so nothing is written.
    Random,
    /// The sender chose the values, so it writes their corrections.
    Chosen,
}

/// Returns the bytes of committed values that a sender keeps in `memory` bytes, and the bytes of its files.
/// The sender makes these rows in this order. It does not keep a row that does not fit into the rest of the
/// memory.
pub fn kept_values(memory: u64, rows: impl IntoIterator<Item = (u64, CommittedValues)>) -> (u64, u64) {
    let (mut held, mut files) = (0, 0);
    for (count, values) in rows {
        let bytes = LABEL_BYTES as u64 * count;
        match (held + bytes <= memory, values) {
            (true, _) => held += bytes,
            (false, CommittedValues::Chosen) if count > rows::CHUNK as u64 => {
                files += LABEL_BYTES as u64 * count.next_multiple_of(rows::DIMENSION as u64);
            }
            (false, _) => {}
        }
    }
    (held, files)
}
