//! Helpers for the tests of cheats and of success rates.

use std::sync::Arc;

pub use crate::adversary::*;
use brickwork_base::random::Rng;
use brickwork_circuit::Program;
use brickwork_testing::Replayable as _;

/// Returns cuts with buckets of β gates and α authenticators, and of B input authenticators. Each array ends
/// with the number of opened items.
pub fn cuts(gates: [u32; 2], authenticators: [u32; 2], inputs: [u32; 2]) -> Bucketings {
    Bucketings { gates, authenticators, inputs }
}

/// Makes a run of a program with dealt base OTs.
pub fn case(program: Program, rng: &mut Rng) -> Case {
    Case::new(&Arc::new(program), Some(cuts([2, 5], [3, 5], [3, 4])), rng).dealt(rng)
}

/// Makes a run of the toy program.
pub fn of_toy() -> Case {
    case(toy(), &mut Rng::replayable("test lego"))
}

/// Makes a run of the toy program with real base OTs.
pub fn with_base_ots() -> Case {
    let cuts = cuts([2, 5], [3, 5], [3, 4]);
    Case::new(&Arc::new(toy()), Some(cuts), &mut Rng::replayable("test lego"))
}

/// Makes a run of the toy program with these cuts.
pub fn of_toy_with(cuts: Bucketings) -> Case {
    of_toy().set(|old| *old = Some(cuts))
}
