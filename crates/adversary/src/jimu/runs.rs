//! Runs for the attacks on JIMU.

use std::sync::Arc;

use brickwork::circuit::{Program, Recipient};
use brickwork::duplo::adversary::harness::{ands, toy};
use brickwork::jimu::adversary::{Case, small};
use brickwork::jimu::parameters::{HashLevel, Sizes, Unit};
use brickwork::random::Rng;

/// The protocol, as users name it.
pub(super) const PROTOCOL: &str = "jimu";

/// A program of ten gates between three bits of each party, in two kinds of components, with outputs to both,
/// in buckets of three.
pub(super) struct Toy {
    pub program: Arc<Program>,
    pub sizes: Sizes,
}

impl Toy {
    /// Makes the program, with this unit of the cut-and-choose.
    pub fn new(unit: Unit) -> Self {
        let program = toy();
        let sizes = small(&program, unit, [3, 12]);
        Toy { program, sizes }
    }

    /// Makes a run with a challenge that the garbler knows in advance.
    pub fn case(&self, rng: &mut Rng) -> Case {
        Case::new(&self.program, self.sizes.clone(), rng).dealt(rng)
    }
}

/// Makes a run of `slots` AND gates with a random challenge. Each gate is in a component of its own, with a
/// bit of each party, and both parties learn all results.
pub(super) fn products(slots: u32, unit: Unit, copies: [u32; 2], rng: &mut Rng) -> Case {
    let program = ands(slots, Recipient::Both);
    Case::new(&program, small(&program, unit, copies), rng).cheap(rng)
}

/// Makes a run of one AND gate with another hash of labels.
pub(super) fn weakly_hashed(level: HashLevel, rng: &mut Rng) -> Case {
    let program = ands(1, Recipient::Both);
    let sizes = Sizes { level, ..small(&program, Unit::Gates, [3, 12]) };
    Case::new(&program, sizes, rng).cheap(rng)
}
