use brickwork_base::{Malformed, cheats};
use brickwork_primitives::ot;

cheats! {
    /// A malformed message of the peer. Only the form of messages is checked: the protocol is semi-honest.
    pub enum Cheat of "compgc" {
        /// A message out of order, or of a wrong length.
        UnexpectedMessage = Malformed::UnexpectedMessage,
        /// Base OT: a message encodes no point of the group.
        BaseOtPoint = ot::Cheat::BaseOtPoint,
        /// Base OT: a message encodes the identity.
        BaseOtIdentity = ot::Cheat::BaseOtIdentity,
        /// Base OT from lattices: a message holds a number above the modulus or equal to it.
        BaseOtVector = ot::Cheat::BaseOtVector,
        /// OT extension: the receiver's rows do not all use the same choice bits.
        OtExtension = ot::Cheat::OtExtension,
    }
}
