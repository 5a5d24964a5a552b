//! OTs for the evaluator's inputs, bound to the garbler's commitments, each with the wire that the input will
//! be on.
//!
//! ```text
//!   evaluator -> garbler    OT extension: one OT for each of E's input wires, and those that mask
//!   garbler -> evaluator    commitments to its OT labels R, and to the wires; proven to be commitments
//!   evaluator -> garbler    a seed; of each random combination of the OTs: its label and choice bit
//! ```
//!
//! PreProcessOTINIT, for all OTs at once (DEVIATION, docs/security.md, section 7). If what the garbler
//! committed to were not what E got, E's label would be wrong for one of the two bits, and whether E aborts
//! would tell its input. E draws, after the commitments, random sets of the OTs. Of each set, and of one more
//! OT that is in no other set and masks its choice bit, E shows the sum of its labels and of its choice bits,
//! and claims that the sum of the `C_R`, with b·D_ot, opens to it. One OT that is not what was committed to
//! spoils each sum with probability 1/2, another offset likewise: whether E aborts does not depend on its
//! choices. G checks E's labels of all sums before it answers for any: an E that claims the other bit would
//! get Δ_ot from the opening. And G commits before it sees the seed.
//!
//! The claims are settled together with whatever else is claimed next.

use std::ops::Range;

use subtle::{Choice, ConstantTimeEq};
use zeroize::Zeroizing;

use super::input_ots::{EvaluatorOts, GarblerOts};
use super::items::Places;
use super::party::EvaluatorCore;
use super::{Cheat, Error, Garbler, Point, msg};
use brickwork_base::label::{Delta, LABEL_BYTES, Label, Labels};
use brickwork_base::pool;
use brickwork_base::random::{Rng, SEED_BYTES, Seed};
use brickwork_primitives::commit::{
    self, COLUMN_WORDS, Claims, Column, Lsb, New, Pending, Proof, Receiver, Row, Sender as _, Shares,
};
use brickwork_primitives::ot::{CotReceiver, CotSender};
use brickwork_session::Metered;

/// OTs that one task sums up.
const OTS_A_TASK: usize = 4096;

/// OTs whose commitments become columns at a time.
const OTS_IN_HAND: usize = 64 * OTS_A_TASK;

/// Which OTs are in which random combination: bit k of an OT's word says whether it is in combination k.
pub struct Combinations {
    /// Of each OT; the last ones mask, each a combination of its own.
    words: Vec<u128>,
    count: usize,
}

impl Combinations {
    /// `masks` combinations of `count` OTs and one more each.
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

    /// Of each combination the sum of what `add` adds for those of its members that are among these: it is
    /// called with the member, counted from the first of these, and the sum.
    fn sums<T: Copy + Send + Sync>(
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
        let join = |mut a: Vec<T>, b: Vec<T>| {
            a.iter_mut().zip(&b).for_each(|(a, b)| join(a, b));
            a
        };
        pool::sum(words.len().div_ceil(OTS_A_TASK), || vec![zero; self.count], work, join)
    }

    /// The sum of the labels in each set.
    pub fn labels(&self, labels: &[Label]) -> Labels {
        Labels::new(self.sums(0..self.words.len(), Label::ZERO, |i, sum| *sum ^= labels[i], |a, b| *a ^= *b))
    }

    /// The sum of the shares in each set.
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

    /// The sums of secret bits.
    fn bits(&self, bits: &[u8]) -> Vec<u8> {
        let sum = self
            .words
            .iter()
            .zip(bits)
            .fold(0, |sum, (word, &bit)| sum ^ (word & u128::from(bit & 1).wrapping_neg()));
        (0..self.count).map(|k| (sum >> k) as u8 & 1).collect()
    }
}

/// What was shown of the combinations, `C_R ⊕ b·D_ot` summed up, on either side.
pub(super) struct RevealedCombinations {
    sums: Vec<Column>,
    bits: Vec<u8>,
    got: Vec<Label>,
}

impl RevealedCombinations {
    /// Claims of PreProcessOTINIT: each sum opens to what E got.
    pub fn claims<'a>(&'a self, ot: &'a Shares, all: &mut Claims<'a>) {
        all.known(self.bits.len(), move |k, sum| {
            sum.iter_mut().zip(&self.sums[k]).for_each(|(s, c)| *s ^= c);
            ot.add_if(self.bits[k], 0, sum);
            self.got[k]
        });
    }
}

/// The garbler's labels of OTs that nothing has been done with. Those that mask follow the others.
pub(super) struct GarblerRandomCots {
    labels: Zeroizing<Vec<Label>>,
    binding: usize,
}

/// The garbler's OTs, committed to.
pub(super) struct GarblerCommittedOts {
    at: Places,
    committed: Row,
    wires: Row,
    cots: GarblerRandomCots,
}

/// Receives and checks the rows for `count` OTs and `binding` that mask.
pub(super) fn garbler_random_cots(
    run: &mut Metered,
    cot: &mut impl CotSender,
    count: usize,
    binding: usize,
) -> Result<GarblerRandomCots, Error> {
    run.phase("prepare");
    Ok(GarblerRandomCots { labels: Zeroizing::new(cot.draw(&mut run.channel, count + binding)?), binding })
}

impl GarblerRandomCots {
    pub fn commit<C: commit::Scheme>(self, party: &mut Garbler<C>) -> Result<GarblerCommittedOts, Error> {
        let Garbler { run, sender, hooks, .. } = party;
        let first = sender.next_row();
        let mut committed = sender.begin_row(self.labels.len())?;
        sender.push(&mut run.channel, &mut committed, &hooks.altered(Point::OtLabels, &self.labels))?;
        let committed = sender.finish(committed);
        let at = Places::begin([first, sender.next_row()]);
        let wires = sender.row(&mut run.channel, self.labels.len() - self.binding, Lsb::Random)?;
        Ok(GarblerCommittedOts { at, committed, wires, cots: self })
    }
}

impl GarblerCommittedOts {
    pub fn new_commitments(&self) -> [New<'_>; 2] {
        [&self.committed, &self.wires].map(New::from)
    }

    /// Receives what E shows and checks all of it: nothing may be opened before.
    pub fn receive_revealed<C: commit::Scheme>(
        self,
        party: &mut Garbler<C>,
    ) -> Result<(GarblerOts, RevealedCombinations), Error> {
        let Garbler { run, hooks, ot, .. } = party;
        let GarblerCommittedOts { at, committed, wires, cots: GarblerRandomCots { labels, binding } } = self;
        let count = labels.len() - binding;
        let revealed = run.channel.receive(msg::OT_BINDING, SEED_BYTES + binding * (LABEL_BYTES + 1))?;
        let (seed, revealed) = revealed.split_at(SEED_BYTES);
        let (got, bits) = revealed.split_at(binding * LABEL_BYTES);
        let got: Vec<Label> = got
            .chunks_exact(LABEL_BYTES)
            .map(|b| Label::from_bytes(b.try_into().expect("16 bytes")))
            .collect();
        if bits.iter().any(|&b| b > 1) {
            return Err(Cheat::OtBinding.into());
        }
        let combinations =
            Combinations::expand(&Seed::from_bytes(seed.try_into().expect("16 bytes")), count, binding);
        let delta_ot = Delta::new(hooks.altered(Point::OtOffset, &ot.values)[0].bits());
        let sums = combinations.labels(&labels);
        let honest =
            got.iter().zip(bits).zip(sums.iter()).fold(Choice::from(1), |ok, ((got, &bit), &sum)| {
                ok & got.ct_eq(&(sum ^ delta_ot.times(bit)))
            });
        if !bool::from(honest) {
            return Err(Cheat::OtBinding.into());
        }
        let revealed =
            RevealedCombinations { sums: combinations.shares(committed.shares()), bits: bits.to_vec(), got };
        Ok((GarblerOts { at: at.first(count), committed, wires }, revealed))
    }
}

/// The evaluator's choices and labels of OTs that nothing has been done with. Those that mask follow the
/// others.
pub(super) struct EvaluatorRandomCots {
    choices: Zeroizing<Vec<u8>>,
    labels: Labels,
    binding: usize,
}

/// The evaluator's OTs, to which the garbler has committed, `C` is [`Pending`] or, after the proof,
/// [`Shares`].
pub(super) struct EvaluatorCommittedOts<C> {
    committed: C,
    wires: C,
    cots: EvaluatorRandomCots,
}

/// Sends the rows for `count` OTs of random choices and `binding` that mask.
pub(super) fn evaluator_random_cots(
    run: &mut Metered,
    cot: &mut impl CotReceiver,
    rng: &mut Rng,
    count: usize,
    binding: usize,
) -> Result<EvaluatorRandomCots, Error> {
    run.phase("prepare");
    let (choices, labels) = cot.draw(&mut run.channel, rng, count + binding)?;
    Ok(EvaluatorRandomCots { choices, labels: Labels::new(labels), binding })
}

impl EvaluatorRandomCots {
    pub fn receive<C: commit::Scheme>(
        self,
        core: &mut EvaluatorCore<C>,
    ) -> Result<EvaluatorCommittedOts<Pending>, Error> {
        let EvaluatorCore { run, receiver, .. } = core;
        let all = self.choices.len();
        let committed = receiver.receive(&mut run.channel, all)?;
        let wires = receiver.receive_random(&mut run.channel, all - self.binding, Lsb::Random)?;
        Ok(EvaluatorCommittedOts { committed, wires, cots: self })
    }
}

impl EvaluatorCommittedOts<Pending> {
    pub fn pending(&self) -> [&Pending; 2] {
        [&self.committed, &self.wires]
    }

    pub fn accept(self, proof: &Proof) -> EvaluatorCommittedOts<Shares> {
        let EvaluatorCommittedOts { committed, wires, cots } = self;
        EvaluatorCommittedOts { committed: committed.accept(proof), wires: wires.accept(proof), cots }
    }
}

impl EvaluatorCommittedOts<Shares> {
    /// Shows random combinations of the OTs.
    pub fn reveal<C: commit::Scheme>(
        self,
        core: &mut EvaluatorCore<C>,
    ) -> Result<(EvaluatorOts, RevealedCombinations), Error> {
        let EvaluatorCommittedOts {
            committed,
            wires,
            cots: EvaluatorRandomCots { choices, labels, binding },
        } = self;
        let count = choices.len() - binding;
        let mut seed = [0; SEED_BYTES];
        core.rng.fill(&mut seed);
        let seed = Seed::from_bytes(seed);
        let combinations = Combinations::expand(&seed, count, binding);
        let (bits, got) = (combinations.bits(&choices), combinations.labels(&labels));
        let mut message = [&seed.as_bytes()[..], bytemuck::cast_slice(&got), &bits[..]].concat();
        core.hooks.alter(Point::OtBinding, &mut message);
        core.run.channel.send(msg::OT_BINDING, &message)?;
        let revealed =
            RevealedCombinations { sums: combinations.shares(&committed), bits, got: got.to_vec() };
        let (choices, labels) = (choices[..count].to_vec().into(), Labels::new(labels[..count].to_vec()));
        Ok((EvaluatorOts { committed, wires, choices, labels }, revealed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MASKS: usize = 48;

    fn labels(count: usize, rng: &mut Rng) -> Vec<Label> {
        (0..count).map(|_| rng.label()).collect()
    }

    /// What a garbler's commitments are off by shows in the sums: for this seed, whether all claims would
    /// hold all the same.
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
            // Who knew all choices could lie: that is what hides them, and why each sum has one that nobody
            // guesses.
            let guessed: Vec<Label> = choices.iter().map(|&b| if b == 1 { offset } else { zero }).collect();
            assert!(unseen(&seed, &choices, &guessed, offset));
            let mut one_wrong = guessed;
            one_wrong[count + 5] ^= offset;
            assert!(!unseen(&seed, &choices, &one_wrong, offset));
        }
    }
}
