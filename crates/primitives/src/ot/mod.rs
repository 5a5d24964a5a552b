//! Oblivious transfer: base OTs from elliptic curves, and their extension to any number of correlated OTs.

pub mod base;

use brickwork_base::{Malformed, cheats};
use brickwork_wire::Tag;

/// Base OT, both directions: the sender's point and the receiver's points.
pub const BASE_OT: Tag = Tag(16);
pub mod extension;

cheats! {
    /// What a cheater can do in an oblivious transfer.
    pub enum Cheat of "oblivious transfer" {
        /// A message out of its place, or of a length that the protocol does not allow.
        UnexpectedMessage = Malformed::UnexpectedMessage,
        /// Base OT (Masny–Rindal 2019): a message holds an encoding of no point of the group.
        BaseOtPoint = "base OT: not a point of the group",
        /// Base OT (Masny–Rindal 2019): a message holds the identity, whose key everybody knows.
        BaseOtIdentity = "base OT: the identity instead of a point",
        /// OT extension (Roy 2022): the receiver's rows do not agree on its choices.
        OtExtension = "OT extension: inconsistent choices",
    }
}
