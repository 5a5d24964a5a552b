//! Runs that the attacks are played on.

use std::sync::Arc;

use brickwork::circuit::{Program, Recipient};
use brickwork::duplo::adversary::harness::{ands, toy};
use brickwork::jimu::adversary::{Case, small};
use brickwork::jimu::parameters::{Level, Sizes, Unit};
use brickwork::random::Rng;

/// The protocol, as users name it.
pub(super) const PROTOCOL: &str = "jimu";

/// Ten gates between three bits of each party, in two kinds of components, with outputs to both, in buckets
/// of three.
pub(super) struct Toy {
    pub program: Arc<Program>,
    pub sizes: Sizes,
}

impl Toy {
    /// Makes it, with this unit of the cut-and-choose.
    pub fn new(unit: Unit) -> Self {
        let program = toy();
        let sizes = small(&program, unit, [3, 12]);
        Toy { program, sizes }
    }

    /// Makes a run with a challenge that the garbler knows beforehand.
    pub fn case(&self, rng: &mut Rng) -> Case {
        Case::new(&self.program, self.sizes.clone(), rng).dealt(rng)
    }
}

/// Makes a run of `slots` components of an AND gate, each of a bit of either party, all results to both, with
/// a challenge that nobody knows.
pub(super) fn products(slots: u32, unit: Unit, copies: [u32; 2], rng: &mut Rng) -> Case {
    let program = ands(slots, Recipient::Both);
    Case::new(&program, small(&program, unit, copies), rng).cheap(rng)
}

/// Makes a run of one AND gate, where the labels' hash is another one.
pub(super) fn weakly_hashed(level: Level, rng: &mut Rng) -> Case {
    let program = ands(1, Recipient::Both);
    let sizes = Sizes { level, ..small(&program, Unit::Gates, [3, 12]) };
    Case::new(&program, sizes, rng).cheap(rng)
}
