use brickwork_base::{Malformed, cheats};
use brickwork_primitives::ot;

cheats! {
    /// A message of the peer that this protocol does not allow. A cheat in allowed messages is not detected.
    pub enum Cheat of "semi-honest" {
        /// A message that is not expected at this point, or that has a wrong length.
        UnexpectedMessage = Malformed::UnexpectedMessage,
        /// Base OT: a message contains a value that encodes no point of the group.
        BaseOtPoint = ot::Cheat::BaseOtPoint,
        /// Base OT: a message contains the identity of the group.
        BaseOtIdentity = ot::Cheat::BaseOtIdentity,
        /// Base OT from lattices: a message contains a number that is not below the modulus.
        BaseOtVector = ot::Cheat::BaseOtVector,
        /// OT extension: the receiver's rows belong to different choices.
        OtExtension = ot::Cheat::OtExtension,
    }
}
