//! The checks of this protocol.

use brickwork_base::{Malformed, cheats};

cheats! {
    /// A failed check, by its kind.
    pub enum Cheat of "authenticated" {
        /// A message out of order, or of a wrong length.
        UnexpectedMessage = Malformed::UnexpectedMessage,
        /// Leaky ANDs: the parties' words differ.
        Equality = "leaky ANDs: the words of the two parties differ",
        /// The opened coin does not match the hash that the evaluator sent first.
        Coin = "the opened coin differs from the announced one",
        /// The MACs do not match the opened shares of masks.
        Opening = "an opened share does not match its MAC",
        /// The last bit of a soldering is not the difference of the masks.
        Soldering = "a soldering does not match the difference of the masks",
        /// The label of an input is not the label of its masked value.
        InputLabel = "the label of an input does not match its masked value",
        /// The masked values that the evaluator sent do not match the hash of its labels.
        Labels = "the reported values do not match the labels",
        /// The result of an AND gate is not the product of its operands.
        Gates = "a gate does not compute AND",
    }
}
