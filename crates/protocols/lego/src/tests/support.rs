//! What the tests of lies and rates say of runs.

use std::sync::Arc;

use crate::Cheat;
pub use crate::adversary::*;
use brickwork_base::Party;
use brickwork_base::random::Rng;
use brickwork_circuit::Program;

/// Buckets of β gates and α authenticators, of B input authenticators, with so many opened items each.
pub fn cuts(gates: [u32; 2], authenticators: [u32; 2], inputs: [u32; 2]) -> Cuts {
    Cuts { gates, authenticators, inputs }
}

/// A run of a program.
pub fn case(program: Program, rng: &mut Rng) -> Case {
    Case::new(&Arc::new(program), Some(cuts([2, 5], [3, 5], [3, 4])), rng)
}

/// A run of the toy.
pub fn of_toy() -> Case {
    case(toy(), &mut Rng::replayable("test lego"))
}

/// What the tests do to runs.
pub trait Lies: Sized {
    /// With these cuts at both parties.
    fn with(self, cuts: Cuts) -> Self;

    /// The garbler alters its state.
    fn garbler(self, at: Point, lie: impl FnMut(&mut [u8]) + Send + 'static) -> Self;

    /// The evaluator does.
    fn evaluator(self, at: Point, lie: impl FnMut(&mut [u8]) + Send + 'static) -> Self;
}

impl Lies for Case {
    fn with(self, cuts: Cuts) -> Self {
        let change = |_: &mut brickwork_session::Job, old: &mut Option<Cuts>| *old = Some(cuts);
        self.wants(Party::Garbler, change).wants(Party::Evaluator, change)
    }

    fn garbler(self, at: Point, lie: impl FnMut(&mut [u8]) + Send + 'static) -> Self {
        self.lie(Party::Garbler, at, lie)
    }

    fn evaluator(self, at: Point, lie: impl FnMut(&mut [u8]) + Send + 'static) -> Self {
        self.lie(Party::Evaluator, at, lie)
    }
}

/// What the tests ask of runs.
pub trait Ended {
    /// Both have the outputs of a plain run, and it went without a recovery, or with one.
    fn right(&self, recovered: bool);

    /// The evaluator ended with this check.
    fn evaluator_caught(&self, cheat: Cheat);

    /// The garbler did.
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
