use brickwork_base::{Malformed, cheats};
use brickwork_primitives::authenticator::NoLabel;
use brickwork_primitives::{commit, ot};

cheats! {
    /// The checks of LEGO that a peer can fail.
    pub enum Cheat of "lego" {
        /// A message of a wrong type, or of a length that the protocol does not allow.
        UnexpectedMessage = Malformed::UnexpectedMessage,
        /// Base OT (Masny–Rindal 2019): a message contains an encoding that is not a point of the group.
        BaseOtPoint = ot::Cheat::BaseOtPoint,
        /// Base OT (Masny–Rindal 2019): a message contains the identity, whose key everybody knows.
        BaseOtIdentity = ot::Cheat::BaseOtIdentity,
        /// Base OT from lattices: a message contains a number that is not below the modulus.
        BaseOtVector = ot::Cheat::BaseOtVector,
        /// OT extension (Roy 2022): the receiver's rows contain different choices.
        OtExtension = ot::Cheat::OtExtension,
        /// A new commitment is not a codeword (FJNT16).
        Commitment = commit::Cheat::Commitment,
        /// An opened value is not the committed one, or the committed output of an opened gate is not the
        /// result under the challenged labels.
        Opening = commit::Cheat::Opening,
        /// The committed offset ends in 0, or an indicator bit is not the committed one.
        Indicator = commit::Cheat::Indicator,
        /// The evaluator names a label that the OTs did not give it.
        OtBinding = "OT offset: the evaluator named a label that its OTs did not give",
        /// A checked wire authenticator refuses the label of the challenged colour.
        WireAuthenticator = "a checked wire authenticator refuses its label",
        /// A checked input authenticator does not follow from its offset.
        InputAuthenticator = "a checked input authenticator does not authenticate itself",
        /// The offset of an input authenticator has the lowest bit 0.
        OffsetColour = "the lowest bit of an offset is 0",
        /// The sum of two offsets has the lowest bit 1.
        DeltaDifferenceColour = "the lowest bit of the sum of two offsets is 1",
        /// The authenticators refuse the label of one of the garbler's inputs.
        InputLabel = "the label of an input is not valid",
        /// No gate of a bucket gave a label that its majority accepts.
        NoValidLabel = "a bucket gives no valid label",
        /// The majority of a bucket accepts a third label.
        ThirdLabel = "the authenticators accept three labels of one wire",
        /// The evaluator does not have the labels of the garbler's outputs.
        ForgedOutput = "the evaluator sent forged labels of the garbler's outputs",
    }
}

impl From<NoLabel> for Cheat {
    fn from(none: NoLabel) -> Self {
        match none {
            NoLabel::None => Cheat::NoValidLabel,
            NoLabel::Third => Cheat::ThirdLabel,
        }
    }
}
