//! The ways to link components to a program: the time when each part is garbled, and the cost of a link.

use brickwork_base::label::Label;
use brickwork_base::random::{Rng, Seed};
use brickwork_primitives::Labels;

/// How garbled components are linked. Both parties must mean the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Linking {
    /// Not at all: the whole program is garbled and sent online. Only OTs are made ahead of time.
    Naive,
    /// Components are garbled ahead of time for any program; online each of their input wires needs one
    /// label.
    Standard,
    /// Components are garbled once it is known how they are linked, but before the inputs are; online each
    /// block of wires that goes from one port to another takes one label.
    Scmc,
}

impl Linking {
    /// All of them.
    pub const ALL: [Linking; 3] = [Linking::Naive, Linking::Standard, Linking::Scmc];

    /// Names it as users do.
    pub fn name(self) -> &'static str {
        match self {
            Linking::Naive => "naive",
            Linking::Standard => "standard",
            Linking::Scmc => "scmc",
        }
    }

    /// Describes the part that is garbled ahead of time.
    pub fn garbled(self) -> &'static str {
        match self {
            Linking::Naive => "nothing is garbled ahead of time",
            Linking::Standard => "components are garbled ahead of time, whatever will be computed with them",
            Linking::Scmc => "components are garbled ahead of time, for this program alone",
        }
    }
}

/// Returns the false labels of the wires of a linked value: `B ⊕ H(T, i)` for its wire i. T is of this value
/// alone, and never told: where two values share it, the labels of two wires of each give the offset away.
pub(super) fn block(base: Label, t: &Seed, width: usize) -> Labels {
    let mut stream = Rng::expand(t, "brickwork compgc block");
    (0..width).map(|_| base ^ stream.label()).collect()
}
