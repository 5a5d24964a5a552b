//! The three ways to link components in a program. They differ in the time at which components are garbled,
//! and in the cost of a link.

use brickwork_base::label::Label;
use brickwork_base::random::{Rng, Seed};
use brickwork_primitives::Labels;

/// How garbled components are linked. Both parties must choose the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Linking {
    /// No linking: the whole program is garbled and sent online. Only the OTs are made before the inputs are
    /// known.
    Naive,
    /// Components are garbled in advance, for any program. Online, each input wire of a slot needs one label.
    Standard,
    /// Components are garbled when the program is known, but before its inputs are. Online, each block of
    /// wires from one port to another needs one label.
    Scmc,
}

impl Linking {
    /// All three ways.
    pub const ALL: [Linking; 3] = [Linking::Naive, Linking::Standard, Linking::Scmc];

    /// Returns the name that users write.
    pub fn name(self) -> &'static str {
        match self {
            Linking::Naive => "naive",
            Linking::Standard => "standard",
            Linking::Scmc => "scmc",
        }
    }

    /// Describes the part that is garbled in advance, for the report.
    pub fn garbled(self) -> &'static str {
        match self {
            Linking::Naive => "nothing is garbled ahead of time",
            Linking::Standard => "components are garbled ahead of time, for any program",
            Linking::Scmc => "components are garbled ahead of time, for this program alone",
        }
    }
}

/// Returns the false labels of the wires of a linked value: `B ⊕ H(T, i)` for its wire i. Each value needs a
/// secret T of its own: if two values shared T, the labels of two wires of each would reveal the offset.
pub(super) fn block(base: Label, t: &Seed, width: usize) -> Labels {
    let mut stream = Rng::expand(t, "brickwork compgc block");
    (0..width).map(|_| base ^ stream.label()).collect()
}
