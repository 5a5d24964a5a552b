//! The checks that there are.

use brickwork_base::{Malformed, cheats};

cheats! {
    /// Cheats in this protocol.
    pub enum Cheat of "authenticated" {
        /// A message out of its place, or of a length that the protocol does not allow.
        UnexpectedMessage = Malformed::UnexpectedMessage,
        /// Leaky ANDs: the parties' words do not match.
        Equality = "leaky ANDs: the parties' words do not agree",
        /// The coin that the evaluator opens is not the one that it announced.
        Coin = "the coin is not the one that was announced",
        /// A share of a mask that was opened is not the authenticated one.
        Opening = "an opened share is not the authenticated one",
        /// A soldering whose last bit is not the difference of the masks.
        Soldering = "a soldering is not the difference of the masks",
        /// The label of an input, or of a constant, is not of the masked value.
        InputLabel = "the label of an input is not that of its masked value",
        /// The evaluator's masked values are not those of its labels.
        Labels = "the reported values are not those of the labels",
        /// Some AND gate was evaluated to another value than that of its operands.
        Gates = "a gate does not compute AND",
    }
}
