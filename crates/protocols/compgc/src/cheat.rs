use brickwork_base::{Malformed, cheats};
use brickwork_primitives::ot;

cheats! {
    /// A fault of the peer's messages that makes them no messages of this protocol. That it follows the
    /// protocol is not checked.
    pub enum Cheat of "compgc" {
        /// A message out of its place, or of another length than it must have.
        UnexpectedMessage = Malformed::UnexpectedMessage,
        /// Base OT: a message holds an encoding of no point of the group.
        BaseOtPoint = ot::Cheat::BaseOtPoint,
        /// Base OT: a message holds the identity.
        BaseOtIdentity = ot::Cheat::BaseOtIdentity,
        /// Base OT from lattices: a message holds a number that is not below the modulus.
        BaseOtVector = ot::Cheat::BaseOtVector,
        /// OT extension: the receiver's rows do not agree on its choices.
        OtExtension = ot::Cheat::OtExtension,
    }
}
