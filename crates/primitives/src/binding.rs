//! Binds OTs to commitments: the labels that the sender of correlated OTs committed to are those that the
//! receiver gets, and their offset is the committed one.
//!
//! The receiver draws, after the commitments, random sets of the OTs. To each set it adds one more OT that is
//! in no other set and masks its choice bit. It reveals the sum of the set's labels and of its choice bits.
//! It claims that the sum of the commitments, with the bit times that to the offset, opens to it. An OT that
//! does not match its commitment spoils each sum with probability 1/2, and so does another offset. So the
//! receiver's decision does not depend on its choices (docs/concepts/security.md, section 7). The sender
//! checks the labels of all sums before it opens any: a receiver that names the other bit would get the
//! offset.

use std::ops::Range;
use zeroize::Zeroize;

use subtle::{Choice, ConstantTimeEq};

use crate::Labels;
use crate::commit::{COLUMN_WORDS, Claims, Column, Shares};
use brickwork_base::label::{Delta, LABEL_BYTES, Label};
use brickwork_base::pool;
use brickwork_base::random::{Rng, SEED_BYTES, Seed};

/// OTs that one task sums up.
const OTS_A_TASK: usize = 4096;

/// OTs whose commitments become columns at a time.
const OTS_IN_HAND: usize = 64 * OTS_A_TASK;

/// The random combinations: bit k of an OT's word tells whether the OT is in combination k.
pub struct Combinations {
    /// The words of the OTs; the last OTs mask one combination each.
    words: Vec<u128>,
    count: usize,
}

impl Combinations {
    /// Returns `masks` combinations of `count` OTs and one more each.
    ///
    /// # Panics
    /// If there are more than 128 combinations.
    pub fn expand(seed: &Seed, count: usize, masks: usize) -> Self {
        assert!(masks <= 128, "a word has a bit for each combination");
        let mut words = vec![0u128; count + masks];
        let (of_inputs, of_masks) = words.split_at_mut(count);
        Rng::expand(seed, "brickwork combinations of OTs").fill(bytemuck::cast_slice_mut(of_inputs));
        let all = u128::MAX.checked_shr(128 - masks as u32).unwrap_or(0);
        of_inputs.iter_mut().for_each(|word| *word = u128::from_le(*word) & all);
        of_masks.iter_mut().enumerate().for_each(|(k, word)| *word = 1 << k);
        Combinations { words, count: masks }
    }

    /// Returns the sum of each combination: `add` is called for each member among these OTs, with its number,
    /// counted from the first of these, and the sum.
    fn sums<T: Copy + Send + Sync + Zeroize>(
        &self,
        members: Range<usize>,
        zero: T,
        add: impl Fn(usize, &mut T) + Sync,
        join: impl Fn(&mut T, &T) + Sync,
    ) -> Vec<T> {
        let words = &self.words[members];
        let work = |mut sums: Vec<T>, task: usize| {
            let words = &words[task * OTS_A_TASK..words.len().min((task + 1) * OTS_A_TASK)];
            for (i, &word) in words.iter().enumerate() {
                let mut left = word;
                while left != 0 {
                    add(task * OTS_A_TASK + i, &mut sums[left.trailing_zeros() as usize]);
                    left &= left - 1;
                }
            }
            sums
        };
        let join = |mut a: Vec<T>, mut b: Vec<T>| {
            a.iter_mut().zip(&b).for_each(|(a, b)| join(a, b));
            // Both add up to the revealed value; each alone is secret.
            b.zeroize();
            a
        };
        pool::sum(words.len().div_ceil(OTS_A_TASK), || vec![zero; self.count], work, join)
    }

    /// Returns the sum of the labels in each set.
    pub fn labels(&self, labels: &[Label]) -> Labels {
        Labels::new(self.sums(0..self.words.len(), Label::ZERO, |i, sum| *sum ^= labels[i], |a, b| *a ^= *b))
    }

    /// Returns the sum of the shares in each set.
    pub fn shares(&self, shares: &Shares) -> Vec<Column> {
        let join = |a: &mut Column, b: &Column| a.iter_mut().zip(b).for_each(|(a, b)| *a ^= b);
        let mut total = vec![[0; COLUMN_WORDS]; self.count];
        for first in (0..self.words.len()).step_by(OTS_IN_HAND) {
            let members = first..self.words.len().min(first + OTS_IN_HAND);
            // As columns, in which single ones are quickly found.
            let here = shares.slice(members.clone());
            let sums = self.sums(members, [0; COLUMN_WORDS], |i, sum| here.add(i, sum), join);
            total.iter_mut().zip(&sums).for_each(|(total, sum)| join(total, sum));
        }
        total
    }

    /// Returns the sums of secret bits.
    pub fn bits(&self, bits: &[u8]) -> Vec<u8> {
        let sum = self
            .words
            .iter()
            .zip(bits)
            .fold(0, |sum, (word, &bit)| sum ^ (word & u128::from(bit & 1).wrapping_neg()));
        (0..self.count).map(|k| (sum >> k) as u8 & 1).collect()
    }
}

/// The revealed combinations, `C_R ⊕ b·D_ot` summed up, on either side.
pub struct RevealedCombinations {
    sums: Vec<Column>,
    bits: Vec<u8>,
    got: Vec<Label>,
}

impl RevealedCombinations {
    /// Returns the number of bytes of the message that reveals `masks` combinations: a seed, labels, choice
    /// bits.
    pub fn bytes(masks: usize) -> usize {
        SEED_BYTES + masks * (LABEL_BYTES + 1)
    }

    /// Draws the combinations of the receiver's OTs, of which the last `masks` mask. Returns the message that
    /// reveals them, too.
    pub fn reveal(
        rng: &mut Rng,
        choices: &[u8],
        labels: &[Label],
        committed: &Shares,
        masks: usize,
    ) -> (Self, Vec<u8>) {
        let mut seed = [0; SEED_BYTES];
        rng.fill(&mut seed);
        let seed = Seed::from_bytes(seed);
        let combinations = Combinations::expand(&seed, choices.len() - masks, masks);
        let (bits, got) = (combinations.bits(choices), combinations.labels(labels));
        let message = [&seed.as_bytes()[..], bytemuck::cast_slice(&got), &bits[..]].concat();
        (RevealedCombinations { sums: combinations.shares(committed), bits, got: got.to_vec() }, message)
    }

    /// Reads that message of [`bytes`](RevealedCombinations::bytes) bytes, as the sender of OTs with this
    /// offset and these labels for choice 0. None if the receiver names a label that the OTs did not give it:
    /// nothing may be opened then.
    ///
    /// # Panics
    /// If the message has another length.
    pub fn checked(
        message: &[u8],
        labels: &[Label],
        delta: Delta,
        committed: &Shares,
        masks: usize,
    ) -> Option<Self> {
        assert_eq!(message.len(), Self::bytes(masks), "a message of this length was received");
        let (seed, revealed) = message.split_at(SEED_BYTES);
        let (got, bits) = revealed.split_at(masks * LABEL_BYTES);
        let got: Vec<Label> = got
            .chunks_exact(LABEL_BYTES)
            .map(|b| Label::from_bytes(b.try_into().expect("16 bytes")))
            .collect();
        if bits.iter().any(|&b| b > 1) {
            return None;
        }
        let seed = Seed::from_bytes(seed.try_into().expect("16 bytes"));
        let combinations = Combinations::expand(&seed, labels.len() - masks, masks);
        let sums = combinations.labels(labels);
        let honest = got
            .iter()
            .zip(bits)
            .zip(sums.iter())
            .fold(Choice::from(1), |ok, ((got, &bit), &sum)| ok & got.ct_eq(&(sum ^ delta.times(bit))));
        bool::from(honest).then(|| RevealedCombinations {
            sums: combinations.shares(committed),
            bits: bits.to_vec(),
            got,
        })
    }

    /// Returns the claims of PreProcessOTINIT: each sum opens to E's sum.
    pub fn claims<'a>(&'a self, ot: &'a Shares, all: &mut Claims<'a>) {
        all.known(self.bits.len(), move |k, sum| {
            sum.iter_mut().zip(&self.sums[k]).for_each(|(s, c)| *s ^= c);
            ot.add_if(self.bits[k], 0, sum);
            self.got[k]
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use brickwork_testing::Replayable as _;

    const MASKS: usize = 48;

    fn labels(count: usize, rng: &mut Rng) -> Vec<Label> {
        (0..count).map(|_| rng.label()).collect()
    }

    /// Returns whether, for this seed, all claims would hold although the garbler's commitments are off by
    /// these words: they show in the sums.
    fn unseen(seed: &Seed, choices: &[u8], wrong: &[Label], offset: Label) -> bool {
        let combinations = Combinations::expand(seed, choices.len() - MASKS, MASKS);
        let bits = combinations.bits(choices);
        let sums = combinations.labels(wrong);
        (0..MASKS).all(|k| sums[k] ^ if bits[k] == 1 { offset } else { Label::ZERO } == Label::ZERO)
    }

    /// Sums of labels R ⊕ b·Δ are those of R with the sum of b times Δ, for numbers of OTs around those that
    /// a task takes.
    #[test]
    fn sums_are_linear() {
        let mut rng = Rng::replayable("test combinations");
        for count in [0, 1, 77, OTS_A_TASK - MASKS, OTS_A_TASK - 1, 2 * OTS_A_TASK + 5] {
            let all = count + MASKS;
            let (delta, zeros, seed) = (rng.delta(), labels(all, &mut rng), rng.seed());
            let choices: Vec<u8> = (0..all).map(|_| rng.below(2) as u8).collect();
            let got: Vec<Label> = zeros.iter().zip(&choices).map(|(&r, &b)| r ^ delta.times(b)).collect();
            let combinations = Combinations::expand(&seed, count, MASKS);
            let (sums, bits) = (combinations.labels(&zeros), combinations.bits(&choices));
            let expected: Vec<Label> = sums.iter().zip(&bits).map(|(&r, &b)| r ^ delta.times(b)).collect();
            assert_eq!(*combinations.labels(&got), expected);
            // Each sum has a mask of its own, and of the others about half.
            assert_eq!(bits.len(), MASKS);
            for k in 0..MASKS {
                assert_eq!(combinations.words[count..].iter().filter(|&word| word >> k & 1 == 1).count(), 1);
                let members =
                    combinations.words[..count].iter().filter(|&word| word >> k & 1 == 1).count() as f64;
                assert!((members - count as f64 / 2.0).abs() <= 7.0 * (count as f64 / 4.0).sqrt() + 1.0);
            }
            assert!(combinations.words.iter().all(|word| word >> MASKS == 0));
        }
    }

    /// Sums of shares, for more OTs than are brought into columns at a time.
    #[test]
    fn shares_are_summed_up_like_labels() {
        let mut rng = Rng::replayable("test combinations");
        for count in [0, 3 * OTS_A_TASK, OTS_IN_HAND + OTS_A_TASK + 5] {
            let combinations = Combinations::expand(&rng.seed(), count, 2);
            let mut columns = vec![0u64; count + 2];
            rng.fill(bytemuck::cast_slice_mut(&mut columns));
            let mut expected = vec![[0; COLUMN_WORDS]; 2];
            for (word, column) in combinations.words.iter().zip(&columns) {
                (0..2).filter(|k| word >> k & 1 == 1).for_each(|k| expected[k][0] ^= column);
            }
            assert_eq!(combinations.shares(&Shares::of_columns(1, columns)), expected, "{count} OTs");
        }
    }

    /// One OT that is off, two that cancel, another offset, and one together with OTs whose choices were
    /// guessed: all are seen.
    #[test]
    fn row_12_no_lie_about_ots_goes_unseen() {
        let mut rng = Rng::replayable("test combinations");
        let (count, zero) = (40, Label::ZERO);
        for _ in 0..200 {
            let choices: Vec<u8> = (0..count + MASKS).map(|_| rng.below(2) as u8).collect();
            let (seed, off, offset) = (rng.seed(), rng.label(), rng.label());
            let honest = vec![zero; count + MASKS];
            assert!(unseen(&seed, &choices, &honest, zero));
            assert!(!unseen(&seed, &choices, &honest, offset));
            let mut one = honest.clone();
            one[7] = off;
            assert!(!unseen(&seed, &choices, &one, zero));
            assert!(!unseen(&seed, &choices, &one, offset));
            one[39] = off;
            assert!(!unseen(&seed, &choices, &one, zero));
            // A garbler that knew all choices could lie: that is why choices are hidden, and why each sum has
            // one that nobody guesses.
            let guessed: Vec<Label> = choices.iter().map(|&b| if b == 1 { offset } else { zero }).collect();
            assert!(unseen(&seed, &choices, &guessed, offset));
            let mut one_wrong = guessed;
            one_wrong[count + 5] ^= offset;
            assert!(!unseen(&seed, &choices, &one_wrong, offset));
        }
    }
}
