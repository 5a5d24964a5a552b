//! The longest chain of messages that wait for each other.

use std::collections::VecDeque;

use crate::script::ScriptStep;
use brickwork_base::Party;

#[derive(Clone, Default)]
pub(crate) struct Hops {
    garbler: u64,
    pub evaluator: u64,
    turn: Turn<u64>,
    /// For each message posted to a party, the length of the longest chain of messages that ends with it.
    posted: [VecDeque<u64>; 2],
}

/// The states of both parties at the time when the current sender's messages began.
#[derive(Clone, Default)]
pub(crate) struct Turn<T> {
    of: Option<Party>,
    before: [T; 2],
}

impl<T: Copy> Turn<T> {
    /// Makes a turn in which no party has sent anything. Both are at `before`.
    pub fn new(before: [T; 2]) -> Self {
        Turn { of: None, before }
    }

    /// Returns the states of both parties when a message is sent. These are the current states. For a
    /// crossing message, they are the states before the other party's last messages.
    pub fn departure(&mut self, from: Party, crossing: bool, now: [T; 2]) -> [T; 2] {
        if crossing {
            // The other party's next message comes after this one, and begins a new turn.
            self.of = None;
            return self.before;
        }
        if self.of != Some(from) {
            (self.of, self.before) = (Some(from), now);
        }
        now
    }

    /// Advances both states.
    pub fn advance(&mut self, mut moved: impl FnMut(usize, T) -> T) {
        let [garbler, evaluator] = self.before;
        self.before = [moved(0, garbler), moved(1, evaluator)];
    }

    /// Forgets the last sender, because posted messages belong to no turn.
    pub fn posted(&mut self) {
        self.of = None;
    }
}

impl Hops {
    /// Adds this many times the hops since `before`.
    pub fn advance(&mut self, before: &Self, times: u64) {
        let passed =
            [self.garbler - before.garbler, self.evaluator - before.evaluator].map(|hops| times * hops);
        (self.garbler, self.evaluator) = (self.garbler + passed[0], self.evaluator + passed[1]);
        self.turn.advance(|party, hops| hops + passed[party]);
        for party in 0..2 {
            self.posted[party].iter_mut().for_each(|hops| *hops += passed[1 - party]);
        }
    }

    /// Updates both chains for this step.
    pub fn step(&mut self, step: &ScriptStep) {
        let (from, crossing) = match *step {
            ScriptStep::Message { from, posted: true, .. } => {
                self.turn.posted();
                let at = [self.garbler, self.evaluator][from as usize];
                self.posted[1 - from as usize].push_back(at + 1);
                return;
            }
            ScriptStep::Read { by, messages } => {
                let arrived = self.posted[by as usize].drain(..messages).max().unwrap_or_default();
                let [garbler, evaluator] = [&mut self.garbler, &mut self.evaluator];
                let now = if by == Party::Garbler { garbler } else { evaluator };
                *now = (*now).max(arrived);
                return;
            }
            ScriptStep::Message { from, crossing, .. } => (from, crossing),
            _ => return,
        };
        let at = self.turn.departure(from, crossing, [self.garbler, self.evaluator]);
        match from {
            Party::Garbler => self.evaluator = self.evaluator.max(at[0] + 1),
            Party::Evaluator => self.garbler = self.garbler.max(at[1] + 1),
        }
    }
}
