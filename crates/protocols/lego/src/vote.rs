//! The vote in a bucket: gates and wire authenticators decide together which labels of the head's output are
//! valid.
//!
//! Each of the β gates gives a label, which is soldered to the output of the head. The votes for a label are
//! the gates that gave it, and the authenticators that accept it. The label is valid if these are more than
//! half of the bucket's items.
//!
//! The label of each gate is examined by itself, even if some labels are equal. So the steps do not depend on
//! whether the gates of a bucket agree, which may depend on the evaluator's input if one of them is bad.

use std::ops::Range;

use subtle::ConstantTimeEq;

use crate::Cheat;
use crate::preprocess::AndBuckets;
use brickwork_base::bits::Bits;
use brickwork_base::label::Label;
use brickwork_base::pool;
use brickwork_primitives::Labels;
use brickwork_primitives::authenticator::one_or_two;
use brickwork_primitives::garbling::AndRoom;

/// A valid label of the head's output, and the sum of both valid labels if there are two, otherwise zero.
pub(super) type VoteResult = (Label, Label);

/// Buffers for judging buckets, reused by every call.
#[derive(Default)]
pub(super) struct VoteBuffers {
    ands: AndRoom,
    inputs: Labels,
    candidates: Labels,
    votes: Vec<u8>,
}

impl VoteBuffers {
    /// Resizes the buffers for this many buckets of these sizes. Old contents may be lost, but no copy of
    /// them stays in memory.
    pub fn fit(&mut self, buckets: usize, [beta, alpha]: [usize; 2]) {
        let fit = |labels: &mut Labels, length: usize| {
            if labels.capacity() < length {
                *labels = Labels::new(Vec::with_capacity(length));
            }
            labels.resize(length, Label::ZERO);
        };
        fit(&mut self.inputs, 2 * beta * buckets);
        fit(&mut self.candidates, beta * buckets);
        self.votes.resize(alpha * beta * buckets, 0);
    }
}

impl AndBuckets {
    /// Evaluates some buckets, on labels of the heads' inputs, `[bucket][side]`. Returns the number of
    /// refused labels.
    ///
    /// # Errors
    /// [`Cheat::NoValidLabel`] and [`Cheat::ThirdLabel`] if a bucket gives no usable label.
    pub fn judge(
        &self,
        buckets: Range<usize>,
        labels: &[Label],
        verdicts: &mut [VoteResult],
        room: &mut VoteBuffers,
    ) -> Result<u64, Cheat> {
        let [beta, alpha] = self.sizes;
        room.fit(buckets.len(), self.sizes);
        let VoteBuffers { ands, inputs, candidates, votes } = room;
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
                // The inverse conversion is the same operation, because all wires have one offset.
                *candidate = output.carry(*candidate, Label::ZERO);
            }
        }
        let votes = &mut votes[..buckets.len() * beta * alpha];
        let guard = |k: usize| (buckets.start + k / (beta * alpha)) * alpha + k % alpha;
        let asks = |k: usize| self.asks(guard(k), candidates[k / alpha]);
        self.hasher.votes(|k| &self.hashes[guard(k)], asks, votes);
        let all =
            verdicts.iter_mut().zip(candidates.chunks_exact(beta)).zip(votes.chunks_exact(beta * alpha));
        let mut all_refused = 0;
        for ((verdict, candidates), votes) in all {
            let (found, refused) = decided(candidates, votes);
            *verdict = found?;
            all_refused += refused;
        }
        Ok(all_refused)
    }

    /// Returns the query to an authenticator about a label on the head: the authenticator's number, and the
    /// label on its own wire.
    #[inline]
    fn asks(&self, guard: usize, label: Label) -> (u64, Label) {
        (u64::from(self.guards[guard]), self.guard_solderings[guard].carry(label, Label::ZERO))
    }

    /// Reorders the buckets in place, because a second copy would double most of the evaluator's memory.
    pub fn ordered(mut self, order: &[u32]) -> AndBuckets {
        let [beta, alpha] = self.sizes;
        let AndBuckets { numbers, tables, guards, hashes, gate_solderings, guard_solderings, .. } = &mut self;
        let of_gates = || {
            permute(gate_solderings, order, beta - 1);
            permute(numbers, order, beta);
        };
        let others = || {
            permute(tables, order, beta);
            permute(hashes, order, alpha);
            permute(guard_solderings, order, alpha);
            permute(guards, order, alpha);
        };
        pool::compute(|| rayon::join(of_gates, others));
        self
    }
}

/// Reorders the values of items, `each` per item, in place. The order names each item once. The loop follows
/// each cycle of the permutation.
fn permute<T: Copy>(values: &mut [T], order: &[u32], each: usize) {
    let mut done = Bits::zeros(order.len());
    let mut held = Vec::with_capacity(each);
    for first in 0..order.len() {
        let mut place = first;
        held.clear();
        held.extend_from_slice(&values[first * each..][..each]);
        while done.get(place) == 0 {
            done.add(place, 1);
            let from = order[place] as usize;
            if from == first {
                values[place * each..][..each].copy_from_slice(&held);
            } else {
                values.copy_within(from * each..(from + 1) * each, place * each);
                place = from;
            }
        }
    }
}

/// Returns the decision of a bucket, and the number of refused labels. `candidates` are the gates' labels,
/// and `votes` the authenticators' votes about each label.
fn decided(candidates: &[Label], votes: &[u8]) -> (Result<VoteResult, Cheat>, u64) {
    let (beta, alpha) = (candidates.len(), votes.len() / candidates.len());
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

/// Selects the values of some items, with `each` values per item.
pub(super) fn picked<T: Copy>(values: &[T], items: &[u32], each: usize) -> Vec<T> {
    let mut some = Vec::with_capacity(items.len() * each);
    items.iter().for_each(|&item| some.extend_from_slice(&values[item as usize * each..][..each]));
    some
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A label needs more than half of all votes of a bucket, from gates and authenticators together. The
    /// label is refused with exactly half, and valid with one vote more.
    #[test]
    fn row_33_a_label_needs_more_than_half_of_all_votes() {
        let [right, wrong] = [Label::from_bits(0x50), Label::from_bits(0x71)];
        for (beta, alpha) in (1..=6).flat_map(|beta| (0..=6).map(move |alpha| (beta, alpha))) {
            for (gates, guards) in (1..=beta).flat_map(|gates| (0..=alpha).map(move |g| (gates, g))) {
                // The first `gates` gates give one label, which `guards` authenticators accept. The others
                // give the label of the other colour, which no authenticator accepts.
                let candidates: Vec<Label> =
                    (0..beta).map(|k| if k < gates { right } else { wrong }).collect();
                let votes: Vec<u8> =
                    (0..beta * alpha).map(|k| u8::from(k / alpha < gates && k % alpha < guards)).collect();
                let votes_of = [gates + guards, beta - gates];
                let valid = votes_of.map(|votes| 2 * votes > alpha + beta);
                let (verdict, refused) = decided(&candidates, &votes);
                let all = u64::from(!valid[0]) * gates as u64 + u64::from(!valid[1]) * (beta - gates) as u64;
                assert_eq!(refused, all, "{gates} of {beta}, {guards} of {alpha}");
                match verdict {
                    Ok(verdict) => {
                        let label = if valid[0] { right } else { wrong };
                        assert!(valid[0] || valid[1] && gates < beta);
                        assert!(verdict == (label, Label::ZERO), "{gates} of {beta}, {guards} of {alpha}");
                    }
                    Err(cheat) => {
                        assert_eq!((valid, cheat), ([false; 2], Cheat::NoValidLabel));
                    }
                }
            }
        }
    }

    /// Reordering in place gives the same result as a reordered copy, for any number of cycles and of values
    /// per item, and for no items.
    #[test]
    fn items_are_permuted_in_place() {
        for (count, step) in [(0_usize, 1), (1, 1), (7, 1), (30, 7), (64, 63), (101, 100), (1000, 333)] {
            let order: Vec<u32> = (0..count).map(|k| ((k * step + 3) % count) as u32).collect();
            for each in [1, 3] {
                let values: Vec<usize> = (0..count * each).collect();
                let mut moved = values.clone();
                permute(&mut moved, &order, each);
                assert_eq!(moved, picked(&values, &order, each), "{count} {step} {each}");
            }
            permute::<u8>(&mut [], &order, 0);
        }
    }
}
