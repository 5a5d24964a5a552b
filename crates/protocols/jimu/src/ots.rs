//! OTs in several series, one for each block of a label, whose offset is this block of Δ. The OTs give keys
//! for the symbols that the evaluator watches, and the labels of the evaluator's inputs. The labels are
//! correlated OTs with random choices.
//!
//! # The watched symbols
//!
//! The evaluator makes the same choices in all series, and a key is a hash of its labels in all of them. So
//! to compute the key for the other choice, it would have to know all of Δ. A key that depended on the labels
//! of one series only would be insecure. The hash of Δ reveals every watched symbol, so an evaluator that
//! watches the 16 symbols of one block knows that block of Δ. It would then know all keys of that series, and
//! so all symbols of all words. These contain everything that the garbler hides.
//!
//! The garbler checks that the choices are the same in all series before a key is used. Otherwise an
//! evaluator that chose differently in one series would need only one block of Δ for the other key. The
//! shares of its other symbols would show which candidate for the key is right. It would know all but a few
//! symbols of this block, and could find these by trying all values. So these OTs are checked at the same
//! time as those that check the offset, as described below.
//!
//! # Labels of inputs
//!
//! The garbler gets `R_j`, the evaluator `T_j = R_j ⊕ c_j·Δ`. Each party could cheat in this way:
//!
//! *The evaluator* could choose differently in the series, and get a mixture of two labels. With the hash of
//! R_j, it would learn the watched symbols of a word that has some blocks of Δ and zeros elsewhere. From
//! these it could compute the blocks. Therefore the garbler hashes no label of an OT before it has checked
//! the choices. The garbler draws random combinations of all OTs, each with one additional OT as a mask. For
//! each combination, it gets the sum of the choices, and a hash of the sum of the labels. It can also compute
//! this hash itself. If the choices of two series differ, their sums differ with probability 1/2. Then the
//! label for the other sum cannot be computed without this series' block of Δ. Guessing bits of this block
//! gains no more than in the OT extension: it succeeds only with the probability of the guess.
//!
//! *The garbler* could use offsets that differ from Δ, or labels that differ from the hashed ones. It could
//! then learn choices from whether the evaluator refuses. But the choices are random, and the evaluator sends
//! nothing about its input before it has compared all labels with hashes. If an offset or a label is wrong,
//! it passes for one choice at most. If the offset is Δ, the comparison of a label does not depend on the
//! choice. The setup checks that the offset is Δ, with s + 8 OTs that are then thrown away.

use brickwork_base::Error;
use brickwork_base::bits::{pack, unpack};
use brickwork_base::label::Label;
use brickwork_base::random::{Rng, SEED_BYTES, Seed};
use brickwork_base::stop::look;
use brickwork_kernels::SecretBlocks;
use brickwork_primitives::Labels;
use brickwork_primitives::ihash::Words;
use brickwork_primitives::ot::extension::{self, KeysAgain};
use brickwork_primitives::ot::{CotReceiver, CotSender};
use brickwork_wire::Channel;
use subtle::ConstantTimeEq;
use zeroize::{Zeroize, Zeroizing};

use crate::cheat::Cheat;
use crate::hooks::{Hooks, Point};
use crate::msg;

pub(super) const HASH: usize = 32;

/// The number of OTs, and the number of combinations that check their choices.
#[derive(Clone, Copy)]
pub(super) struct Counts {
    /// The number of OTs, without those that mask combinations.
    pub ots: usize,
    /// The number of combinations of choices; each needs one more OT.
    pub combinations: usize,
}

impl Counts {
    /// Returns the number of all OTs.
    pub fn all(&self) -> usize {
        self.ots + self.combinations
    }
}

/// OTs of labels whose choices are not checked yet. Nothing that depends on these labels may be sent.
#[must_use = "the choices must be checked"]
pub(super) struct Unchecked {
    counts: Counts,
    labels: Words,
    seed: Seed,
}

fn of_block(labels: &Words, block: usize) -> Labels {
    (0..labels.count()).map(|k| Label::from_bits(labels.word(k)[block])).collect()
}

/// Joins the labels of all series, block by block.
fn wide(series: &[Labels]) -> Words {
    let mut labels = Words::zeros(16 * series.len(), series[0].len());
    for (block, series) in series.iter().enumerate() {
        series.iter().enumerate().for_each(|(k, label)| labels.word_mut(k)[block] = label.bits());
    }
    labels
}

/// Returns the sums of labels and of choices in each combination, with its masking OT. `labels` has the
/// labels of all OTs, with the masks last.
fn combine(seed: &Seed, counts: Counts, labels: &Words, choices: &[u8]) -> (Words, Zeroizing<Vec<u8>>) {
    match labels.blocks() {
        2 => combine_of::<2>(seed, counts, labels, choices),
        3 => combine_of::<3>(seed, counts, labels, choices),
        _ => combine_of::<4>(seed, counts, labels, choices),
    }
}

/// Implements [`combine`] for labels of N blocks.
fn combine_of<const N: usize>(
    seed: &Seed,
    counts: Counts,
    labels: &Words,
    choices: &[u8],
) -> (Words, Zeroizing<Vec<u8>>) {
    let mut sums = labels.range(counts.ots..counts.all());
    let mut bits = Zeroizing::new(choices[counts.ots..].to_vec());
    let mut rng = Rng::expand(seed, "brickwork JIMU combinations of OTs");
    let mut random = vec![0; counts.ots];
    let words = labels.data().as_chunks::<N>().0;
    for (sum, bit) in sums.data_mut().as_chunks_mut::<N>().0.iter_mut().zip(&mut *bits) {
        look();
        rng.fill(&mut random);
        for ((random, word), choice) in random.iter().zip(words).zip(choices) {
            let mask = u128::from(random & 1).wrapping_neg();
            *sum = std::array::from_fn(|block| sum[block] ^ word[block] & mask);
            *bit ^= random & choice;
        }
    }
    (sums, bits)
}

fn hash(session: &[u8; 32], sums: &Words) -> [u8; HASH] {
    let mut hasher = blake3::Hasher::new_derive_key("brickwork 2026-11 JIMU combined OTs");
    hasher.update(session).update(sums.bytes());
    let hash = *hasher.finalize().as_bytes();
    hasher.zeroize();
    hash
}

/// Joins the keys of each OT from all series into one key. All of them are hashed together. If the key were a
/// sum, an evaluator that knows a part of each block could search for the rest of each block separately.
fn joined(series: &[Vec<Seed>]) -> Vec<Seed> {
    let key = |k: usize| {
        let mut hasher = blake3::Hasher::new_derive_key("brickwork 2026-11 JIMU keys of watched symbols");
        for keys in series {
            hasher.update(keys[k].as_bytes());
        }
        let mut key = [0; SEED_BYTES];
        hasher.finalize_xof().fill(&mut key);
        hasher.zeroize();
        let seed = Seed::from_bytes(key);
        key.zeroize();
        seed
    };
    (0..series[0].len()).map(key).collect()
}

/// Returns both keys of each of these OTs, after their choices have been checked. `labels` has the labels of
/// choice 0.
pub(super) fn keys_offered(
    series: &mut [extension::Sender],
    labels: &Words,
) -> Result<Vec<[Seed; 2]>, Error> {
    let mut sides = [Vec::new(), Vec::new()];
    for (block, series) in series.iter_mut().enumerate() {
        let pairs = series.keys(&of_block(labels, block))?;
        for (choice, side) in sides.iter_mut().enumerate() {
            side.push(pairs.iter().map(|pair| pair[choice].clone()).collect::<Vec<_>>());
        }
    }
    let [zero, one] = sides.each_ref().map(|side| joined(side));
    Ok(zero.iter().zip(&one).map(|(zero, one)| [zero.clone(), one.clone()]).collect())
}

pub(super) fn keys_chosen(series: &mut [extension::Receiver], labels: &Words) -> Result<Vec<Seed>, Error> {
    let each = series.iter_mut().enumerate();
    let each = each.map(|(block, series)| series.keys(&of_block(labels, block)));
    Ok(joined(&each.collect::<Result<Vec<_>, _>>()?))
}

/// Recomputes keys of OTs for other labels. The session made `before` keys earlier.
fn keys_again(series: &[KeysAgain], before: usize, labels: &Words) -> Vec<Seed> {
    let each = series.iter().enumerate();
    joined(&each.map(|(block, again)| again.keys(before, &of_block(labels, block))).collect::<Vec<_>>())
}

/// The values from which a party with Δ computes the seeds of all symbols of permutation messages. These
/// values are the labels of the OTs in which the evaluator chose its watched symbols, and the data for the
/// keys of these OTs.
pub struct AllSeeds {
    /// The labels, one for each symbol.
    pub labels: Words,
    /// For each series, the data for computing its keys again.
    pub again: Vec<KeysAgain>,
}

impl AllSeeds {
    /// Returns the seeds of all symbols: the keys of choice 1, from the evaluator's `choices` and Δ. The
    /// session made `before` keys earlier.
    pub fn with(&self, before: usize, choices: &[u8], delta: &[u128]) -> Vec<Seed> {
        let mut labels = self.labels.clone();
        let others: Zeroizing<Vec<u8>> = Zeroizing::new(choices.iter().map(|choice| 1 ^ choice).collect());
        labels.add_where(delta, &others);
        keys_again(&self.again, before, &labels)
    }
}

/// Makes OTs of labels.
pub(super) fn garbler(
    channel: &mut Channel,
    series: &mut [extension::Sender],
    counts: Counts,
    rng: &mut Rng,
) -> Result<Unchecked, Error> {
    let labels = series
        .iter_mut()
        .map(|series| series.extend(channel, counts.all()))
        .collect::<Result<Vec<_>, _>>()?;
    let seed = rng.seed();
    channel.send(msg::COMBINE, seed.as_bytes())?;
    Ok(Unchecked { counts, labels: wide(&labels), seed })
}

impl Unchecked {
    /// Checks that the evaluator made the same choices in all series. `delta` has the blocks of Δ. Returns
    /// the labels of choice 0.
    pub fn check(self, channel: &mut Channel, session: &[u8; 32], delta: &[u128]) -> Result<Words, Error> {
        let Unchecked { counts, labels, seed } = self;
        let bytes = counts.combinations.div_ceil(8);
        let received = channel.receive(msg::COMBINED, bytes + HASH)?;
        let (bits, hashed) = received.split_at(bytes);
        let bits = unpack(bits, counts.combinations)?;
        let (mut sums, _) = combine(&seed, counts, &labels, &vec![0; counts.all()]);
        bits.iter().enumerate().for_each(|(v, &bit)| sums.add_to(v, delta, bit));
        if !bool::from(hash(session, &sums)[..].ct_eq(hashed)) {
            return Err(Cheat::Choices.into());
        }
        Ok(labels.range(0..counts.ots))
    }
}

/// Choices of OTs with their labels, before the labels are compared with hashes.
pub(super) struct ChosenLabels {
    counts: Counts,
    choices: SecretBlocks<u8>,
    labels: Words,
}

/// Makes OTs of labels. The first OTs have these choices, and all others random ones.
pub(super) fn evaluator(
    channel: &mut Channel,
    series: &mut [extension::Receiver],
    counts: Counts,
    first: &[u8],
    rng: &mut Rng,
    hooks: &mut Hooks,
) -> Result<ChosenLabels, Error> {
    let mut choices = SecretBlocks::<u8>::zeros(counts.all());
    let (given, random) = choices.split_at_mut(first.len());
    given.copy_from_slice(first);
    rng.fill(random);
    random.iter_mut().for_each(|choice| *choice &= 1);
    let of_series = |(block, series): (usize, &mut extension::Receiver)| {
        let mut here = choices.clone();
        hooks.alter(Point::Choices(block), &mut here);
        series.extend(channel, &here)
    };
    let labels = series.iter_mut().enumerate().map(of_series).collect::<Result<Vec<_>, _>>()?;
    Ok(ChosenLabels { counts, choices, labels: wide(&labels) })
}

impl ChosenLabels {
    /// Proves that the choices are the same in all series. Returns the choices and the labels.
    pub fn prove(
        self,
        channel: &mut Channel,
        session: &[u8; 32],
    ) -> Result<(SecretBlocks<u8>, Words), Error> {
        let ChosenLabels { counts, choices, labels } = self;
        let seed = channel.receive(msg::COMBINE, SEED_BYTES)?;
        let seed = Seed::from_bytes(*seed.first_chunk().expect("the message has the requested length"));
        let (sums, bits) = combine(&seed, counts, &labels, &choices);
        let mut message = pack(bits.iter().copied());
        message.extend_from_slice(&hash(session, &sums));
        channel.send(msg::COMBINED, &message)?;
        Ok((SecretBlocks::new(choices[..counts.ots].to_vec()), labels.range(0..counts.ots)))
    }
}

#[cfg(test)]
mod tests {
    use brickwork_testing::Replayable as _;
    use std::thread;

    use brickwork_base::label::Delta;
    use brickwork_primitives::ot::base::Direction;
    use brickwork_primitives::ot::{BASE_OTS, Series};
    use brickwork_wire::memory_pair;

    use super::*;

    const COUNTS: Counts = Counts { ots: 33, combinations: 48 };

    /// Returns Δ, and for each of its blocks a series with this offset.
    fn dealt(blocks: usize, rng: &mut Rng) -> (Vec<u128>, Vec<extension::Sender>, Vec<extension::Receiver>) {
        let (mut left, mut right) = memory_pair();
        let mut delta = Vec::new();
        let (mut senders, mut receivers) = (Vec::new(), Vec::new());
        for block in 0..blocks {
            let offset = Delta::new(rng.block());
            delta.push(offset.bits());
            let pairs: Vec<[Seed; 2]> = (0..BASE_OTS).map(|_| [rng.seed(), rng.seed()]).collect();
            let seeds: Vec<Seed> =
                (0..BASE_OTS).map(|i| pairs[i][(offset.bits() >> i & 1) as usize].clone()).collect();
            let series = Series::new(&[block as u8; 32], Direction::GarblerSends);
            receivers.push(extension::Receiver::set_up(&mut right, &series, &pairs).unwrap());
            right.flush().unwrap();
            senders.push(extension::Sender::set_up(&mut left, &series, offset, &seeds).unwrap());
        }
        (delta, senders, receivers)
    }

    /// An evaluator that watches all symbols of some blocks of Δ knows these blocks, and computes the other
    /// label in their series. Without all of Δ, this evaluator gets no key for the other choice.
    #[test]
    fn row_02_no_block_of_the_offset_gives_a_key_that_was_not_chosen() {
        const COUNT: usize = 150;
        for blocks in [3, 4] {
            for known in 0..1_usize << blocks {
                let mut rng = Rng::replayable("test watched blocks");
                let (delta, mut senders, mut receivers) = dealt(blocks, &mut rng);
                let (mut left, mut right) = memory_pair();
                let choices: Vec<u8> = (0..COUNT).map(|_| rng.below(2) as u8).collect();
                let (labels, of_garbler) = thread::scope(|scope| {
                    let garbler = scope.spawn(|| extended(&mut left, &mut senders, COUNT));
                    let mut each = Vec::new();
                    for (block, series) in receivers.iter_mut().enumerate() {
                        let mut labels = series.extend(&mut right, &choices).unwrap();
                        if known >> block & 1 == 1 {
                            let offset = Label::from_bits(delta[block]);
                            labels.iter_mut().for_each(|label| *label ^= offset);
                        }
                        each.push(labels);
                    }
                    right.flush().unwrap();
                    (wide(&each), garbler.join().unwrap())
                });
                let taken = keys_chosen(&mut receivers, &labels).unwrap();
                let offered = keys_offered(&mut senders, &of_garbler).unwrap();
                for ((taken, offered), &choice) in taken.iter().zip(&offered).zip(&choices) {
                    let [own, other] = [choice, 1 - choice].map(|choice| &offered[usize::from(choice)]);
                    assert_eq!(taken == own, known == 0);
                    assert_eq!(taken == other, known == (1 << blocks) - 1, "blocks {known:b} of {blocks}");
                }
            }
        }
    }

    /// Returns the labels of choice 0 of this many OTs.
    fn extended(channel: &mut Channel, series: &mut [extension::Sender], count: usize) -> Words {
        let labels = series.iter_mut().map(|series| series.extend(channel, count).unwrap());
        wide(&labels.collect::<Vec<_>>())
    }

    /// Choices must be checked before keys are used. Otherwise an evaluator with different choices in one
    /// series needs only that block of Δ for one of the two keys, and can search for the block's unknown
    /// part.
    #[test]
    fn row_02_choices_that_differ_leave_a_key_one_block_away() {
        let mut rng = Rng::replayable("test differing choices");
        let (delta, mut senders, mut receivers) = dealt(3, &mut rng);
        let (mut left, mut right) = memory_pair();
        let (mut labels, of_garbler) = thread::scope(|scope| {
            let garbler = scope.spawn(|| extended(&mut left, &mut senders, 1));
            let each = receivers.iter_mut().enumerate().map(|(block, series)| {
                let choice = u8::from(block == 1);
                series.extend(&mut right, &[choice]).unwrap()
            });
            let labels = wide(&each.collect::<Vec<_>>());
            right.flush().unwrap();
            (labels, garbler.join().unwrap())
        });
        let offered = keys_offered(&mut senders, &of_garbler).unwrap();
        labels.word_mut(0)[1] ^= delta[1];
        assert!(keys_chosen(&mut receivers, &labels).unwrap()[0] == offered[0][0]);
    }

    /// Returns the garbler's result if the evaluator's choice in the first OT differs in the series
    /// `differs`.
    fn end(differs: Option<usize>) -> Result<Words, Error> {
        let (session, mut rng) = ([3; 32], Rng::replayable("test dealer"));
        let (mut left, mut right) = memory_pair();
        let (delta, mut senders, mut receivers) = dealt(3, &mut rng);
        let alter = move |point, choices: &mut [u8]| {
            if matches!(point, Point::Choices(block) if Some(block) == differs) {
                choices[0] ^= 1;
            }
        };
        let mut hooks = Hooks::lying(alter);
        thread::scope(|scope| {
            let evaluator = scope.spawn(|| {
                let mut rng = Rng::replayable("test evaluator");
                let made = evaluator(&mut right, &mut receivers, COUNTS, &[1; 5], &mut rng, &mut hooks)?;
                made.prove(&mut right, &session)?;
                right.flush()
            });
            let mut rng = Rng::replayable("test garbler");
            let unchecked = garbler(&mut left, &mut senders, COUNTS, &mut rng).unwrap();
            let end = unchecked.check(&mut left, &session, &delta);
            evaluator.join().unwrap().unwrap();
            end
        })
    }

    #[test]
    fn row_02_choices_that_differ_between_blocks_are_refused() {
        assert_eq!(end(None).unwrap().count(), COUNTS.ots);
        for block in 0..3 {
            let Err(error) = end(Some(block)) else { panic!("not caught") };
            assert!(error.is_cheat(Cheat::Choices), "{error}");
        }
    }

    /// One random combination misses an OT with a different choice with probability 1/2.
    #[test]
    fn row_02_half_of_the_combinations_show_an_ot() {
        let mut one = vec![0; COUNTS.all()];
        one[0] = 1;
        let labels = Words::zeros(48, COUNTS.all());
        let mut rng = Rng::replayable("test combinations");
        let shown: u32 = (0..100)
            .map(|_| {
                let (_, bits) = combine(&rng.seed(), COUNTS, &labels, &one);
                bits.iter().map(|&bit| u32::from(bit)).sum::<u32>()
            })
            .sum();
        let all = 100 * COUNTS.combinations as u32;
        assert!(shown.abs_diff(all / 2) < all / 20, "{shown} of {all}");
    }
}
