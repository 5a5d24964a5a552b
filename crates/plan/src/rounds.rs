//! Which messages wait for which.

use crate::script::Action;
use brickwork_base::Party;

/// Follows the chain of messages that wait for each other.
#[derive(Default)]
pub(crate) struct Hops {
    garbler: u64,
    pub evaluator: u64,
    turn: Turn<u64>,
}

/// Where both parties were before the last messages of one of them began.
#[derive(Default)]
pub(crate) struct Turn<T> {
    of: Option<Party>,
    before: [T; 2],
}

impl<T: Copy> Turn<T> {
    /// Makes one in which nobody has sent anything, and both are here.
    pub fn new(before: [T; 2]) -> Self {
        Turn { of: None, before }
    }

    /// Returns where both are when a message leaves: now, or for a crossing one before what the other party
    /// sent last.
    pub fn departure(&mut self, from: Party, crossing: bool, now: [T; 2]) -> [T; 2] {
        if crossing {
            // Whatever the other one sends next is behind it, and begins anew.
            self.of = None;
            return self.before;
        }
        if self.of != Some(from) {
            (self.of, self.before) = (Some(from), now);
        }
        now
    }
}

impl Hops {
    /// Sets both counters to what they are after this step.
    pub fn step(&mut self, step: &Action) {
        let Action::Message { from, crossing, .. } = *step else { return };
        let at = self.turn.departure(from, crossing, [self.garbler, self.evaluator]);
        match from {
            Party::Garbler => self.evaluator = self.evaluator.max(at[0] + 1),
            Party::Evaluator => self.garbler = self.garbler.max(at[1] + 1),
        }
    }
}
