//! The checks that there are.

use brickwork_base::cheats;

cheats! {
    /// What a cheater can do in what there is of the protocol.
    pub enum Cheat of "JIMU" {
        /// Section 5.1, step 0(b): the offset is 0, so that all labels are of both bits.
        Offset = "the offset is 0",
        /// Section 5.1, step 3(a)i: a difference of permutation messages is not that of the hashed ones.
        Permutation = "a difference of permutation messages is not the hashed one",
        /// Section 5.1, step 3(a)ii: a soldering is not the difference of the hashed labels or offsets.
        Soldering = "a soldering is not the difference of what is hashed",
        /// In the place of section 5.1, step 5(b): an opened input authenticator is none.
        Authenticator = "an input authenticator does not follow from its offset",
        /// Section 5.1, step 3(a)iv: none of a bucket's gates has an output that is hashed.
        EmptyBucket = "no gate of a bucket has a valid output",
        /// Section 5.1, step 4(c): an opened gate has another output than AND.
        OpenedGate = "an opened gate does not compute AND",
    }
}
