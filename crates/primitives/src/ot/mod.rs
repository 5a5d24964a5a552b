//! Oblivious transfer: base OTs from elliptic curves or lattices, and any number of correlated ones made of
//! them.

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

/// Base OT, both directions: the sender's point and the receiver's points; or the receiver's keys, and the
/// sender's ciphertexts.
pub const BASE_OT: Tag = Tag(16);

/// Base OTs that a series of correlated ones is made of: the bits of the offset.
pub const BASE_OTS: usize = 128;

/// The party that sends, in base OTs or in correlated ones. Two series in a session, one each way, have
/// nothing to do with each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// The garbler sends: the evaluator chooses.
    GarblerSends,
    /// The evaluator sends: the garbler chooses.
    EvaluatorSends,
}

impl Direction {
    /// Returns the other series.
    pub fn other(self) -> Self {
        match self {
            Direction::GarblerSends => Direction::EvaluatorSends,
            Direction::EvaluatorSends => Direction::GarblerSends,
        }
    }
}

cheats! {
    /// Cheats in an oblivious transfer.
    pub enum Cheat of "oblivious transfer" {
        /// A message out of its place, or of a length that the protocol does not allow.
        UnexpectedMessage = Malformed::UnexpectedMessage,
        /// Base OT (Masny–Rindal 2019): a message holds an encoding of no point of the group.
        BaseOtPoint = "base OT: not a point of the group",
        /// Base OT (Masny–Rindal 2019): a message holds the identity, whose key everybody knows.
        BaseOtIdentity = "base OT: the identity instead of a point",
        /// Base OT (Masny–Rindal 2019) from lattices: a message holds a number that is not below the modulus.
        BaseOtVector = "base OT: not a vector of the module",
        /// OT extension (Roy 2022): the receiver's rows do not agree on its choices.
        OtExtension = "OT extension: inconsistent choices",
    }
}
