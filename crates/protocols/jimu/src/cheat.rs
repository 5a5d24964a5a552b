//! The checks of the protocol.

use brickwork_base::{Malformed, cheats};

cheats! {
    /// The ways to cheat in this protocol.
    pub enum Cheat of "JIMU" {
        /// A message that is not expected at this point, or has a length that the protocol does not allow.
        UnexpectedMessage = Malformed::UnexpectedMessage,
        /// Section 5.1, step 0(b): the offset Δ or the offset of a copy is 0, so each label stands for both
        /// bits.
        Offset = "an offset is 0",
        /// Section 5.1, step 3(a)i: a difference of permutation messages does not match the hashes that were
        /// sent before.
        Permutation = "a difference of permutation messages is not the hashed one",
        /// Section 5.1, step 3(a)ii: a soldering is not the difference of the hashed labels or offsets.
        Soldering = "a soldering does not match the hashed labels or offsets",
        /// In place of section 5.1, step 1(a): the label of an input of the garbler is not the hashed one.
        InputLabel = "the label of an input is not the hashed one",
        /// In place of section 5.1, step 1(b): the offset of the OTs, or one of their labels, is not the
        /// hashed one.
        OtOffset = "the labels of the OTs are not the hashed ones",
        /// In place of section 5.1, step 1(b): the evaluator's choices differ between the blocks of labels.
        Choices = "the choices of OTs differ between the parts of labels",
        /// The evaluator's label for an output of the garbler is none of the wire's two labels.
        OutputLabel = "the label of an output is neither of the two labels of its wire",
        /// Section 5.1, step 3(a)iv: no gate or copy of a bucket has valid outputs.
        EmptyBucket = "no copy of a bucket has valid outputs",
        /// Section 5.1, step 4(c): a label or offset of an opened gate or copy is not the hashed one.
        Label = "a label of an opened item is not the hashed one",
        /// Section 5.1, step 4(c): an opened gate does not compute AND.
        OpenedGate = "an opened gate does not compute AND",
        /// Section 5.1, at the end: an opened copy of a component is not the result of garbling with its
        /// words.
        OpenedCopy = "an opened copy of a component is garbled wrongly",
        /// Section 5.1, at the end: the tables of a copy in a bucket do not have the hash that was sent.
        Tables = "the tables of a copy are not the hashed ones",
    }
}
