//! Oblivious transfer: base OTs from elliptic curves or lattices, and correlated OTs in any number.

pub mod base;
pub mod chosen;
pub mod cot;
pub mod extension;
#[cfg(test)]
pub(crate) mod ideal;
pub mod lpn;
pub mod pcg;
mod rows;
pub mod softspoken;

pub use chosen::Cot;
pub use cot::{CotReceiver, CotSender, Series};
pub(crate) use rows::CHUNK;
pub use rows::msg;

use brickwork_base::{Malformed, cheats};
use brickwork_wire::Tag;

/// Base OT, in both directions. From curves: the sender's point and the receiver's points. From lattices: the
/// receiver's keys, and then the sender's ciphertexts.
pub const BASE_OT: Tag = Tag(16);

/// The number of base OTs of a series of correlated OTs: one for each bit of the offset.
pub const BASE_OTS: usize = 128;

/// The sender of a series, of base OTs or of correlated OTs. A session may have one series in each direction;
/// they are independent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// The garbler sends: the evaluator chooses.
    GarblerSends,
    /// The evaluator sends: the garbler chooses.
    EvaluatorSends,
}

impl Direction {
    /// Returns the opposite direction.
    pub fn other(self) -> Self {
        match self {
            Direction::GarblerSends => Direction::EvaluatorSends,
            Direction::EvaluatorSends => Direction::GarblerSends,
        }
    }
}

cheats! {
    /// The ways to cheat in an oblivious transfer.
    pub enum Cheat of "oblivious transfer" {
        /// A message of a wrong type, or of a length that the protocol does not allow.
        UnexpectedMessage = Malformed::UnexpectedMessage,
        /// Base OT (Masny–Rindal 2019): a message contains an encoding that is not a point of the group.
        BaseOtPoint = "base OT: a message is not a point of the group",
        /// Base OT (Masny–Rindal 2019): a message contains the identity, whose key everybody knows.
        BaseOtIdentity = "base OT: a message is the identity of the group",
        /// Base OT (Masny–Rindal 2019) from lattices: a message contains a number that is not below the
        /// modulus.
        BaseOtVector = "base OT: a message is not a vector of the module",
        /// OT extension (Roy 2022): the receiver's rows contain different choices.
        OtExtension = "OT extension: the receiver's choices are inconsistent",
    }
}
