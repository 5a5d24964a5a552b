//! Binding of OTs to commitments: proves that the OTs' sender committed to the labels and the offset of these
//! OTs.
//!
//! After the commitments, the receiver draws random sets of the OTs. To each set it adds one more OT, which
//! is in no other set and masks the set's choice bit. The sender reveals the sum of the set's labels and the
//! sum of its choice bits. The sender claims that the sum of the commitments to the labels, plus the bit
//! times the commitment to the offset, opens to the revealed label. If an OT does not match its commitment,
//! each sum is wrong with probability 1/2. The same holds for another offset. So the receiver decides
//! independently of its choices (docs/concepts/security.md, section 7). The sender checks the labels of all
//! sums before it opens any commitment, because a receiver that names the other label would learn the offset.

use std::ops::Range;
use zeroize::Zeroize;

use subtle::{Choice, ConstantTimeEq};

use crate::Labels;
use crate::commit::{COLUMN_WORDS, Claims, Column, Shares};
use brickwork_base::label::{Delta, LABEL_BYTES, Label};
use brickwork_base::pool;
use brickwork_base::random::{Rng, SEED_BYTES, Seed};

const OTS_A_TASK: usize = 4096;

/// The number of OTs whose commitments are converted to columns at a time.
const OTS_IN_HAND: usize = 64 * OTS_A_TASK;

/// Random combinations of OTs: each OT has a word, and bit k of the word says whether combination k contains
/// the OT.
pub struct Combinations {
    /// The words of the OTs. Each of the last OTs is in one combination only, as its mask.
    words: Vec<u128>,
    count: usize,
}

impl Combinations {
    /// Returns `masks` combinations of `count` OTs, each with one more OT as a mask.
    ///
    /// # Panics
    /// If there are more than 128 combinations.
    pub fn expand(seed: &Seed, count: usize, masks: usize) -> Self {
        assert!(masks <= 128, "at most 128 combinations fit into a word");
        let mut words = vec![0u128; count + masks];
        let (of_inputs, of_masks) = words.split_at_mut(count);
        Rng::expand(seed, "brickwork combinations of OTs").fill(bytemuck::cast_slice_mut(of_inputs));
        let all = u128::MAX.checked_shr(128 - masks as u32).unwrap_or(0);
        of_inputs.iter_mut().for_each(|word| *word = u128::from_le(*word) & all);
        of_masks.iter_mut().enumerate().for_each(|(k, word)| *word = 1 << k);
        Combinations { words, count: masks }
    }

    /// Returns the sum of each combination. `add` adds an OT of a combination to the sum. It gets the OT's
    /// number within the range, and the sum.
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
            // The two sums add up to the revealed value, but each alone is secret.
            b.zeroize();
            a
        };
        pool::sum(words.len().div_ceil(OTS_A_TASK), || vec![zero; self.count], work, join)
    }

    /// Returns the sum of the labels of each combination.
    pub fn labels(&self, labels: &[Label]) -> Labels {
        Labels::new(self.sums(0..self.words.len(), Label::ZERO, |i, sum| *sum ^= labels[i], |a, b| *a ^= *b))
    }

    /// Returns the sum of the shares of each combination.
    pub fn shares(&self, shares: &Shares) -> Vec<Column> {
        let join = |a: &mut Column, b: &Column| a.iter_mut().zip(b).for_each(|(a, b)| *a ^= b);
        let mut total = vec![[0; COLUMN_WORDS]; self.count];
        for first in (0..self.words.len()).step_by(OTS_IN_HAND) {
            let members = first..self.words.len().min(first + OTS_IN_HAND);
            // Columns allow quick access to single commitments.
            let here = shares.slice(members.clone());
            let sums = self.sums(members, [0; COLUMN_WORDS], |i, sum| here.add(i, sum), join);
            total.iter_mut().zip(&sums).for_each(|(total, sum)| join(total, sum));
        }
        total
    }

    /// Returns the sum of the choice bits of each combination.
    pub fn bits(&self, bits: &[u8]) -> Vec<u8> {
        let sum = self
            .words
            .iter()
            .zip(bits)
            .fold(0, |sum, (word, &bit)| sum ^ (word & u128::from(bit & 1).wrapping_neg()));
        (0..self.count).map(|k| (sum >> k) as u8 & 1).collect()
    }
}

/// The revealed combinations, as either party keeps them: the sums of `C_R ⊕ b·D_ot`.
pub struct RevealedCombinations {
    sums: Vec<Column>,
    bits: Vec<u8>,
    got: Vec<Label>,
}

impl RevealedCombinations {
    /// Returns the number of bytes of the message that reveals `masks` combinations: a seed, the labels and
    /// the choice bits.
    pub fn bytes(masks: usize) -> usize {
        SEED_BYTES + masks * (LABEL_BYTES + 1)
    }

    /// Draws the combinations of the receiver's OTs; the last `masks` OTs are masks. Also returns the message
    /// that reveals the combinations.
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

    /// Reads the message of [`RevealedCombinations::reveal`], as the sender of OTs with this offset and these
    /// labels for choice 0. Returns `None` if the receiver names a label that it did not get from the OTs;
    /// then the sender must open nothing.
    ///
    /// # Panics
    /// If the message does not have [`bytes`](RevealedCombinations::bytes) bytes.
    pub fn checked(
        message: &[u8],
        labels: &[Label],
        delta: Delta,
        committed: &Shares,
        masks: usize,
    ) -> Option<Self> {
        assert_eq!(
            message.len(),
            Self::bytes(masks),
            "the message must have RevealedCombinations::bytes bytes"
        );
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

    /// Lists the claims of PreProcessOTINIT: each sum of commitments opens to the evaluator's sum.
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

    /// Returns whether the check would miss this cheat: with this seed, all claims hold although the
    /// garbler's commitments differ from the OTs by `wrong`.
    fn unseen(seed: &Seed, choices: &[u8], wrong: &[Label], offset: Label) -> bool {
        let combinations = Combinations::expand(seed, choices.len() - MASKS, MASKS);
        let bits = combinations.bits(choices);
        let sums = combinations.labels(wrong);
        (0..MASKS).all(|k| sums[k] ^ if bits[k] == 1 { offset } else { Label::ZERO } == Label::ZERO)
    }

    /// The sum of the labels R ⊕ b·Δ equals the sum of R plus Δ times the sum of b, also for numbers of OTs
    /// around the size of a task.
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
            // Each sum contains its own mask and about half of the other OTs.
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

    /// Sums of shares agree with sums of labels, even if there are more OTs than are converted to columns at
    /// a time.
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

    /// The check detects each of these lies: one wrong OT, two that cancel, another offset, and a wrong OT
    /// together with guessed choices.
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
            // A garbler that knew all choices could lie undetected. So choices are hidden, and each sum
            // contains a mask that nobody can guess.
            let guessed: Vec<Label> = choices.iter().map(|&b| if b == 1 { offset } else { zero }).collect();
            assert!(unseen(&seed, &choices, &guessed, offset));
            let mut one_wrong = guessed;
            one_wrong[count + 5] ^= offset;
            assert!(!unseen(&seed, &choices, &one_wrong, offset));
        }
    }
}
