use brickwork_base::{Malformed, cheats};
use brickwork_primitives::authenticator::NoLabel;
use brickwork_primitives::{commit, ot};

cheats! {
    /// Every check that a peer can fail in DUPLO.
    pub enum Cheat of "duplo" {
        /// A message that is not expected at this point, or has a wrong length.
        UnexpectedMessage = Malformed::UnexpectedMessage,
        /// Base OT (Masny–Rindal 2019): a message encodes no point of the group.
        BaseOtPoint = ot::Cheat::BaseOtPoint,
        /// Base OT (Masny–Rindal 2019): a message encodes the identity, which would make the key public.
        BaseOtIdentity = ot::Cheat::BaseOtIdentity,
        /// Base OT from lattices: a message holds a number above the modulus or equal to it.
        BaseOtVector = ot::Cheat::BaseOtVector,
        /// OT extension (Roy 2022): the receiver's rows do not all use the same choice bits.
        OtExtension = ot::Cheat::OtExtension,
        /// Commitments (FJNT16): a message is not a valid commitment.
        Commitment = commit::Cheat::Commitment,
        /// Commitments: an opened value differs from the committed one (Open in appendix A).
        Opening = commit::Cheat::Opening,
        /// Commitments: an indicator bit differs from the committed one (section 5.1, decoding).
        Indicator = commit::Cheat::Indicator,
        /// VerWire: an opened offset has lowest bit 0.
        OffsetColour = "the lowest bit of an offset is 0",
        /// GenSold: the sum of two offsets has lowest bit 1.
        DeltaDifferenceColour = "the lowest bit of the sum of two offsets is 1",
        /// VerSub: the component, garbled again under the opened labels, gives other tables than the opened
        /// copy.
        OpenedCopy = "an opened copy is garbled wrongly",
        /// The tables of a chosen copy do not have the hash that was sent before the challenge.
        ChosenTables = "the tables of a copy changed after the challenge",
        /// VerKeyAuth: a checked key authenticator refuses a valid label.
        KeyAuthenticator = "a checked key authenticator refuses its label",
        /// VerInKeyAuth: a checked input authenticator does not follow from its offset.
        InputAuthenticator = "a checked input authenticator does not authenticate itself",
        /// PreProcessOTINIT: the evaluator names a sum of OT labels that it cannot have received.
        OtBinding = "OT offset: the evaluator named a label that its OTs did not give",
        /// InputG, InputE: the authenticators refuse the label of an input.
        InputLabel = "the label of an input is not valid",
        /// EvKAs: no copy of a bucket gives a label that the authenticators accept.
        NoValidLabel = "a bucket gives no valid label",
        /// EvKAs: the authenticators accept three different labels of a wire.
        ThirdLabel = "the authenticators accept three labels of one wire",
        /// OutputG: the evaluator sends wrong labels of the garbler's outputs.
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
