use brickwork_base::{Malformed, cheats};
use brickwork_primitives::authenticator::NoLabel;
use brickwork_primitives::{commit, ot};

cheats! {
    /// Every check that a peer can fail in DUPLO.
    pub enum Cheat of "duplo" {
        /// A message that is not expected at this point, or has a length that the protocol does not allow.
        UnexpectedMessage = Malformed::UnexpectedMessage,
        /// Base OT (Masny–Rindal 2019): a message contains an encoding that is no point of the group.
        BaseOtPoint = ot::Cheat::BaseOtPoint,
        /// Base OT (Masny–Rindal 2019): a message contains the identity, whose key everybody knows.
        BaseOtIdentity = ot::Cheat::BaseOtIdentity,
        /// Base OT from lattices: a message contains a number that is not below the modulus.
        BaseOtVector = ot::Cheat::BaseOtVector,
        /// OT extension (Roy 2022): the receiver's rows are inconsistent with its choices.
        OtExtension = ot::Cheat::OtExtension,
        /// Commitments (FJNT16): a message that should be a commitment is none.
        Commitment = commit::Cheat::Commitment,
        /// Commitments: an opened value is not the committed one (Open in appendix A).
        Opening = commit::Cheat::Opening,
        /// Commitments: an indicator bit is not the committed one (section 5.1, decoding).
        Indicator = commit::Cheat::Indicator,
        /// VerWire: an opened offset whose lowest bit is 0.
        OffsetColour = "an offset ends in 0",
        /// GenSold: the sum of two offsets has lowest bit 1.
        DeltaDifferenceColour = "the sum of two offsets ends in 1",
        /// VerSub: an opened copy is no garbling of its component under the opened labels.
        OpenedCopy = "an opened copy is garbled wrongly",
        /// The tables of a chosen copy are not those that were hashed before the challenge.
        ChosenTables = "the tables of a copy changed after the challenge",
        /// VerKeyAuth: a checked key authenticator refuses a valid label.
        KeyAuthenticator = "a checked key authenticator refuses its label",
        /// VerInKeyAuth: a checked input authenticator does not follow from its offset.
        InputAuthenticator = "a checked input authenticator does not authenticate itself",
        /// PreProcessOTINIT: the evaluator claims a label that the OT did not give it.
        OtBinding = "the OT offset: a label that the OT did not give",
        /// InputG, InputE: the authenticators refuse the label of an input.
        InputLabel = "the label of an input is not valid",
        /// EvKAs: no copy of a bucket gave a label that the authenticators accept.
        NoValidLabel = "a bucket gives no valid label",
        /// EvKAs: the authenticators accept a third label.
        ThirdLabel = "three labels of one wire are accepted",
        /// OutputG: the evaluator does not have the labels of the garbler's outputs.
        ForgedOutput = "forged labels of the garbler's outputs",
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
