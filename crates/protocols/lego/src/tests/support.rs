//! Helpers for the tests of cheats and of success rates.

use std::sync::Arc;

use crate::Cheat;
pub use crate::adversary::*;
use brickwork_base::Party;
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

/// The operations of the tests on runs.
pub trait Lies: Sized {
    /// Makes both parties use these cuts.
    fn with(self, cuts: Bucketings) -> Self;

    /// Changes the garbler's state at a point.
    fn garbler(self, at: Point, lie: impl FnMut(&mut [u8]) + Send + 'static) -> Self;

    /// Changes the evaluator's state at a point.
    fn evaluator(self, at: Point, lie: impl FnMut(&mut [u8]) + Send + 'static) -> Self;
}

impl Lies for Case {
    fn with(self, cuts: Bucketings) -> Self {
        let change = |_: &mut brickwork_protocol::AgreedJob, old: &mut Option<Bucketings>| *old = Some(cuts);
        self.wants(Party::Garbler, change).wants(Party::Evaluator, change)
    }

    fn garbler(self, at: Point, lie: impl FnMut(&mut [u8]) + Send + 'static) -> Self {
        self.lie(Party::Garbler, at, lie)
    }

    fn evaluator(self, at: Point, lie: impl FnMut(&mut [u8]) + Send + 'static) -> Self {
        self.lie(Party::Evaluator, at, lie)
    }
}

/// The assertions of the tests about the results of runs.
pub trait Ended {
    /// Asserts that both parties have the outputs of a plain computation, and whether the run recovered an
    /// input.
    fn right(&self, recovered: bool);

    /// Asserts that the evaluator's run failed with this check.
    fn evaluator_caught(&self, cheat: Cheat);

    /// Asserts that the garbler's run failed with this check.
    fn garbler_caught(&self, cheat: Cheat);
}

impl Ended for Outcome {
    fn right(&self, recovered: bool) {
        let garbler = self.results[0].as_ref().unwrap();
        assert!(!garbler.aside.recovered);
        let expected = if recovered { Ending::Recovered } else { Ending::Survived };
        assert_eq!(self.ending(Party::Garbler), Ok(expected));
        assert_eq!(self.ending(Party::Evaluator), Ok(Ending::Survived));
    }

    fn evaluator_caught(&self, cheat: Cheat) {
        assert_eq!(self.ending(Party::Garbler), Ok(Ending::Caught(cheat.into())));
        assert!(self.results[0].is_err());
    }

    fn garbler_caught(&self, cheat: Cheat) {
        assert_eq!(self.ending(Party::Evaluator), Ok(Ending::Caught(cheat.into())));
    }
}
