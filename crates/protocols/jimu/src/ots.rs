//! Labels of the evaluator's inputs: correlated OTs in as many series as a label has blocks, with the blocks
//! of Δ as offsets, and random choices.
//!
//! The garbler gets `R_j`, the evaluator `T_j = R_j ⊕ c_j·Δ`. What each party could do about it:
//!
//! *The evaluator* could choose differently in the series, and would have a mixture of two labels, of which
//! it knows watched symbols besides. So the garbler draws combinations of all OTs and of one more for each,
//! and gets of each the sum of the choices, and a hash of the sum of the labels, which it computes itself.
//! Where the choices of two series differ, so do their sums with probability 1/2, and the label of the one
//! that is not told cannot be named without its block of Δ. What a guess of some of its bits is worth is the
//! same as in the extension itself: it fails but for the probability of the guess.
//!
//! *The garbler* could take other offsets than Δ, or other labels than it hashes, and learn from the
//! evaluator's refusal what it chose. The choices are random, and the evaluator says nothing of its input
//! before it compared all labels with hashes. That of offset and label which do not go together passes for
//! one choice at most. If the offset is Δ, whether a label passes does not depend on the choice; that it is Δ
//! is checked with s + 8 OTs that are then thrown away.

use brickwork_base::Error;
use brickwork_base::bits::{pack, unpack};
use brickwork_base::label::Label;
use brickwork_base::random::{Rng, SEED_BYTES, Seed};
use brickwork_primitives::ot::{CotReceiver, CotSender, extension};
use brickwork_wire::Channel;
use subtle::ConstantTimeEq;
use zeroize::{Zeroize, Zeroizing};

use crate::cheat::Cheat;
use crate::gates::Wide;
use crate::layout::Layout;
use crate::msg;

/// Bytes of the hash of combined labels.
pub(super) const HASH: usize = 32;

/// Labels of several series, block by block.
fn wide(series: &[Zeroizing<Vec<Label>>]) -> Wide {
    let mut labels = Wide::zeros(series.len(), series[0].len());
    for (block, series) in series.iter().enumerate() {
        series.iter().enumerate().for_each(|(k, label)| labels.label_mut(k)[block] = label.bits());
    }
    labels
}

/// The sums of labels in combinations, each with a label of its own, and likewise of the choices. `labels`
/// are those of all OTs, the last `combinations` of them the masks.
fn combine(seed: &Seed, layout: &Layout, labels: &Wide, choices: &[u8]) -> (Wide, Zeroizing<Vec<u8>>) {
    let (count, masks) = (layout.hashed_ots(), layout.combinations());
    let mut sums = labels.select(count..count + masks);
    let mut bits = Zeroizing::new(choices[count..].to_vec());
    let mut rng = Rng::expand(seed, "brickwork JIMU combinations of OTs");
    let mut drawn = vec![0; count];
    for v in 0..masks {
        rng.fill(&mut drawn);
        for (j, drawn) in drawn.iter().enumerate() {
            sums.add(v, labels.label(j), *drawn);
            bits[v] ^= drawn & choices[j];
        }
    }
    (sums, bits)
}

fn hash(session: &[u8; 32], sums: &Wide) -> [u8; HASH] {
    let mut hasher = blake3::Hasher::new_derive_key("brickwork 2026-11 JIMU combined OTs");
    hasher.update(session).update(sums.bytes());
    let hash = *hasher.finalize().as_bytes();
    hasher.zeroize();
    hash
}

/// Makes them. `delta` is Δ. Returns the labels of choice 0, the last of which check the offset.
pub(super) fn garbler(
    channel: &mut Channel,
    layout: &Layout,
    session: &[u8; 32],
    series: &mut [extension::Sender],
    rng: &mut Rng,
    delta: &[u128],
) -> Result<Wide, Error> {
    let (count, masks) = (layout.hashed_ots(), layout.combinations());
    let labels = series
        .iter_mut()
        .map(|series| series.extend(channel, count + masks).map(Zeroizing::new))
        .collect::<Result<Vec<_>, _>>()?;
    let labels = wide(&labels);
    let seed = rng.seed();
    channel.send(msg::COMBINE, seed.as_bytes())?;
    let told = channel.receive(msg::COMBINED, masks.div_ceil(8) + HASH)?;
    let (bits, hashed) = told.split_at(masks.div_ceil(8));
    let bits = unpack(bits, masks)?;
    let (mut sums, _) = combine(&seed, layout, &labels, &vec![0; count + masks]);
    bits.iter().enumerate().for_each(|(v, &bit)| sums.add(v, delta, bit));
    if !bool::from(hash(session, &sums)[..].ct_eq(hashed)) {
        return Err(Cheat::Choices.into());
    }
    Ok(labels.select(0..count))
}

/// The same. Returns the choices and their labels.
pub(super) fn evaluator(
    channel: &mut Channel,
    layout: &Layout,
    session: &[u8; 32],
    series: &mut [extension::Receiver],
    rng: &mut Rng,
) -> Result<(Zeroizing<Vec<u8>>, Wide), Error> {
    let (count, masks) = (layout.hashed_ots(), layout.combinations());
    let mut choices = Zeroizing::new(vec![0; count + masks]);
    rng.fill(&mut choices);
    choices.iter_mut().for_each(|choice| *choice &= 1);
    let labels = series
        .iter_mut()
        .map(|series| series.extend(channel, &choices).map(Zeroizing::new))
        .collect::<Result<Vec<_>, _>>()?;
    let labels = wide(&labels);
    let seed = channel.receive(msg::COMBINE, SEED_BYTES)?;
    let seed = Seed::from_bytes(*seed.first_chunk().expect("as many as asked for"));
    let (sums, bits) = combine(&seed, layout, &labels, &choices);
    let mut told = pack(bits.iter().copied());
    told.extend_from_slice(&hash(session, &sums));
    channel.send(msg::COMBINED, &told)?;
    Ok((Zeroizing::new(choices[..count].to_vec()), labels.select(0..count)))
}

#[cfg(test)]
mod tests {
    use std::thread;

    use brickwork_circuit::library;
    use brickwork_primitives::ot::cot::Series;
    use brickwork_primitives::ot::{BASE_OTS, Direction};
    use brickwork_wire::memory_pair;

    use super::*;
    use brickwork_base::label::Delta;

    /// The garbler's end, if the evaluator's choice of the first OT differs in the series of `differs`.
    fn end(differs: Option<usize>) -> Result<Wide, Error> {
        let program = library::millionaires().unwrap();
        let layout = Layout::new(&program, 40).unwrap();
        let (session, mut rng) = ([3; 32], Rng::replayable("test dealer"));
        let (mut left, mut right) = memory_pair();
        let mut delta = Wide::zeros(layout.blocks(), 1);
        let (mut senders, mut receivers) = (Vec::new(), Vec::new());
        for block in 0..layout.blocks() {
            let offset = Delta::new(rng.block());
            delta.label_mut(0)[block] = offset.bits();
            let pairs: Vec<[Seed; 2]> = (0..BASE_OTS).map(|_| [rng.seed(), rng.seed()]).collect();
            let seeds: Vec<Seed> =
                (0..BASE_OTS).map(|i| pairs[i][(offset.bits() >> i & 1) as usize].clone()).collect();
            let series = Series::new(&[block as u8; 32], Direction::GarblerSends);
            senders.push(extension::Sender::set_up(&mut left, &series, offset, &seeds).unwrap());
            receivers.push(extension::Receiver::set_up(&mut right, &series, &pairs).unwrap());
        }
        let count = layout.hashed_ots() + layout.combinations();
        let choices: Vec<u8> = (0..count).map(|_| rng.below(2) as u8).collect();
        thread::scope(|scope| {
            let evaluator = scope.spawn(|| {
                let mut labels = Vec::new();
                for (block, series) in receivers.iter_mut().enumerate() {
                    let mut here = choices.clone();
                    here[0] ^= u8::from(differs == Some(block));
                    labels.push(Zeroizing::new(series.extend(&mut right, &here).unwrap()));
                }
                let labels = wide(&labels);
                let seed = right.receive(msg::COMBINE, SEED_BYTES).unwrap();
                let seed = Seed::from_bytes(*seed.first_chunk().unwrap());
                let (sums, bits) = combine(&seed, &layout, &labels, &choices);
                let mut told = pack(bits.iter().copied());
                told.extend_from_slice(&hash(&session, &sums));
                right.send(msg::COMBINED, &told).unwrap();
                right.flush().unwrap();
            });
            let mut rng = Rng::replayable("test garbler");
            let end = garbler(&mut left, &layout, &session, &mut senders, &mut rng, delta.label(0));
            evaluator.join().unwrap();
            end
        })
    }

    #[test]
    fn row_02_choices_that_differ_between_blocks_are_refused() {
        end(None).unwrap();
        for block in 0..3 {
            let Err(error) = end(Some(block)) else { panic!("not caught") };
            assert!(error.is_cheat(Cheat::Choices), "{error}");
        }
    }

    /// A single combination misses an OT with probability 1/2.
    #[test]
    fn row_02_half_of_the_combinations_show_an_ot() {
        let program = library::millionaires().unwrap();
        let layout = Layout::new(&program, 40).unwrap();
        let count = layout.hashed_ots() + layout.combinations();
        let mut one = vec![0; count];
        one[0] = 1;
        let labels = Wide::zeros(layout.blocks(), count);
        let mut rng = Rng::replayable("test combinations");
        let shown: u32 = (0..100)
            .map(|_| {
                combine(&rng.seed(), &layout, &labels, &one).1.iter().map(|&bit| u32::from(bit)).sum::<u32>()
            })
            .sum();
        let all = 100 * layout.combinations() as u32;
        assert!(shown.abs_diff(all / 2) < all / 20, "{shown} of {all}");
    }
}
