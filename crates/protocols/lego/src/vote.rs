//! The vote in a bucket: gates and wire authenticators decide together which labels of its head's output are
//! valid.
//!
//! Each of the β gates gives a label, carried to the output of the head. A label has the votes of the gates
//! that gave it and of the authenticators that accept it, and is valid if these are more than half of all.
//!
//! **Once where all agree.** Where all gates gave the same label it is hashed once for each authenticator;
//! where they did not, the label of each gate is, whichever are the same. Gates of a bucket disagree only if
//! one of them is bad, and of bad gates no more than [`most_unseen`](crate::mixed::Mixed::most_unseen) get
//! past the challenge. So many buckets are judged in the long way in *every* evaluation: those that have to
//! be, and for the rest one of them again and again, when all gates are evaluated. So how long an evaluation
//! takes does not tell how many buckets disagreed, and nothing is sent meanwhile.

use std::ops::Range;

use subtle::ConstantTimeEq;

use crate::Cheat;
use crate::preprocess::Buckets;
use brickwork_base::label::{Label, Labels};
use brickwork_primitives::authenticator::one_or_two;
use brickwork_primitives::garbling::AndRoom;

/// A valid label of the head's output and, if there are two, their sum, else zero.
pub(super) type Verdict = (Label, Label);

/// Buckets that are judged.
#[derive(Clone, Copy, Default)]
pub(super) struct Judged {
    /// Labels that were refused.
    pub refused: u64,
    /// Buckets whose gates disagreed.
    pub disagreed: u64,
}

impl Judged {
    /// Adds both.
    pub fn and(self, other: Judged) -> Judged {
        Judged { refused: self.refused + other.refused, disagreed: self.disagreed + other.disagreed }
    }
}

/// Room for buckets on their way, used again and again.
#[derive(Default)]
pub(super) struct Room {
    ands: AndRoom,
    inputs: Labels,
    candidates: Labels,
    votes: Vec<u8>,
}

impl Room {
    /// Makes room for so many buckets of these sizes. What was there may be lost, but no copy of it stays.
    pub fn fit(&mut self, buckets: usize, [beta, alpha]: [usize; 2]) {
        let fit = |labels: &mut Labels, length: usize| {
            if labels.capacity() < length {
                *labels = Labels::new(Vec::with_capacity(length));
            }
            labels.resize(length, Label::ZERO);
        };
        fit(&mut self.inputs, 2 * beta * buckets);
        fit(&mut self.candidates, beta * buckets);
        self.votes.resize(alpha * buckets.max(beta), 0);
    }
}

impl Buckets {
    /// Evaluates some buckets, on labels of the heads' inputs `[bucket][side]`.
    ///
    /// # Errors
    /// [`Cheat::NoValidLabel`], [`Cheat::ThirdLabel`] where a bucket gives no label to go on with.
    pub fn judge(
        &self,
        buckets: Range<usize>,
        labels: &[Label],
        verdicts: &mut [Verdict],
        room: &mut Room,
    ) -> Result<Judged, Cheat> {
        let [beta, alpha] = self.sizes;
        room.fit(buckets.len(), self.sizes);
        let Room { ands, inputs, candidates, votes } = room;
        let places = inputs.chunks_exact_mut(2 * beta).zip(labels.chunks_exact(2)).zip(buckets.clone());
        for ((inputs, labels), bucket) in places {
            inputs[..2].copy_from_slice(labels);
            let others = &self.gate_solderings[bucket * (beta - 1)..(bucket + 1) * (beta - 1)];
            for (inputs, [left, right, _]) in inputs[2..].chunks_exact_mut(2).zip(others) {
                inputs[0] = left.carry(labels[0], Label::ZERO);
                inputs[1] = right.carry(labels[1], Label::ZERO);
            }
        }
        let first = buckets.start * beta;
        let numbers = &self.numbers[first..buckets.end * beta];
        self.gates.ands().evaluate(numbers, |k| self.tables[first + k], inputs, candidates, ands);
        for (candidates, bucket) in candidates.chunks_exact_mut(beta).zip(buckets.clone()) {
            let others = &self.gate_solderings[bucket * (beta - 1)..(bucket + 1) * (beta - 1)];
            for (candidate, [.., output]) in candidates[1..].iter_mut().zip(others) {
                // Its own inverse.
                *candidate = output.carry(*candidate, Label::ZERO);
            }
        }
        let first = buckets.start * alpha;
        let asks = |k: usize| self.asks(first + k, candidates[k / alpha * beta]);
        self.hasher.votes(|k| &self.hashes[first + k], asks, &mut votes[..buckets.len() * alpha]);

        let mut judged = Judged::default();
        let of_heads =
            votes.chunks_exact(alpha).map(|votes| votes.iter().map(|&vote| usize::from(vote)).sum());
        let of_heads: Vec<usize> = of_heads.take(buckets.len()).collect();
        let all = verdicts.iter_mut().zip(candidates.chunks_exact(beta)).zip(of_heads).zip(buckets);
        for (((verdict, candidates), accepted), bucket) in all {
            let differ = candidates.iter().fold(0, |sum, other| sum | (*other ^ candidates[0]).bits());
            if differ == 0 {
                if 2 * (beta + accepted) <= alpha + beta {
                    return Err(Cheat::NoValidLabel);
                }
                *verdict = (candidates[0], Label::ZERO);
            } else {
                let (found, refused) = self.judge_each(bucket, candidates, votes);
                *verdict = found?;
                judged = judged.and(Judged { refused, disagreed: 1 });
            }
        }
        Ok(judged)
    }

    /// What an authenticator is asked about a label on the head: its number, and the label on its own wire.
    #[inline]
    fn asks(&self, guard: usize, label: Label) -> (u64, Label) {
        (u64::from(self.guards[guard]), self.guard_solderings[guard].carry(label, Label::ZERO))
    }

    /// Judges the labels of all gates of a bucket, whichever are the same. Returns how many were refused,
    /// too.
    fn judge_each(
        &self,
        bucket: usize,
        candidates: &[Label],
        votes: &mut [u8],
    ) -> (Result<Verdict, Cheat>, u64) {
        let [beta, alpha] = self.sizes;
        let votes = &mut votes[..beta * alpha];
        let guard = |k: usize| bucket * alpha + k % alpha;
        let asks = |k: usize| self.asks(guard(k), candidates[k / alpha]);
        self.hasher.votes(|k| &self.hashes[guard(k)], asks, votes);
        let valid = |k: usize| {
            let same = |other: &Label| usize::from(other.ct_eq(&candidates[k]).unwrap_u8());
            let guards = votes[k * alpha..(k + 1) * alpha].iter().map(|&vote| usize::from(vote));
            2 * candidates.iter().map(same).chain(guards).sum::<usize>() > alpha + beta
        };
        let verdicts: Vec<bool> = (0..beta).map(valid).collect();
        let refused = verdicts.iter().map(|valid| u64::from(!valid)).sum();
        let found = one_or_two(candidates.iter().copied().zip(verdicts));
        (found.map_err(Cheat::from), refused)
    }

    /// Judges a bucket in the long way so many times, to no end but that it takes as long.
    pub fn pretend(&self, times: u64, room: &mut Room) {
        room.fit(1, self.sizes);
        let Room { candidates, votes, .. } = room;
        for _ in 0..times {
            let nothing = self.judge_each(0, &candidates[..self.sizes[0]], votes);
            let _ = std::hint::black_box(nothing);
        }
    }

    /// Puts the buckets into another order. Of each part that is copied the old one goes before the next.
    pub fn ordered(self, order: &[u32]) -> Buckets {
        let [beta, alpha] = self.sizes;
        fn moved<T: Copy>(values: Vec<T>, order: &[u32], each: usize) -> Vec<T> {
            picked(&values, order, each)
        }
        Buckets {
            gates: self.gates,
            sizes: self.sizes,
            most_unseen: self.most_unseen,
            numbers: moved(self.numbers, order, beta),
            tables: moved(self.tables, order, beta),
            guards: moved(self.guards, order, alpha),
            hashes: moved(self.hashes, order, alpha),
            hasher: self.hasher,
            gate_solderings: moved(self.gate_solderings, order, beta - 1),
            guard_solderings: moved(self.guard_solderings, order, alpha),
        }
    }
}

/// Picks the values of some items that have so many each.
pub(super) fn picked<T: Copy>(values: &[T], items: &[u32], each: usize) -> Vec<T> {
    let mut some = Vec::with_capacity(items.len() * each);
    items.iter().for_each(|&item| some.extend_from_slice(&values[item as usize * each..][..each]));
    some
}
