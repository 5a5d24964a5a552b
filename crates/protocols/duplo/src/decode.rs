//! Decode: each party learns its own outputs, and the garbler checks that its outputs were computed.
//!
//! ```text
//!   evaluator -> garbler    the colours of the labels of G's outputs, and one hash over all these labels
//! ```
//!
//! In the paper, E sends the labels themselves. But the garbler knows both labels of each wire, so a colour
//! is enough to name one, and one hash proves that E has all of them. The hash is as hard to forge as the
//! labels, and a wire takes 1 bit instead of 128. If G trusted the colours alone, E could choose G's output.
//!
//! # Recovery (section 5.2)
//!
//! If a bucket yielded two valid labels, their sum is Δ_ka. The delta differences then give all other
//! offsets, and the self-authenticating labels give the garbler's inputs. The evaluator computes the program
//! in plaintext, and sends the labels of exactly these outputs. The evaluator computes this in every run
//! before it sends anything. If there is nothing to recover, it uses a random offset. So the garbler sees the
//! same bytes in the same order in every run.

use rayon::prelude::*;
use subtle::{Choice, ConditionallySelectable, ConstantTimeEq};
use zeroize::Zeroizing;

use super::authenticators::{AtHand, EvaluatorAuthenticators};
use super::build::{EvaluatorReady, GarblerReady};
use super::evaluate::ValidLabels;
use super::layout::WireLocation;
use super::party::EvaluatorCore;
use super::{Cheat, Error, Evaluator, EvaluatorMaterial, Garbler, Point, msg};
use brickwork_base::bits;
use brickwork_base::label::{Delta, Label};
use brickwork_base::pool;
use brickwork_circuit::{OutputPort, Party, Program, Recipient};
use brickwork_primitives::Labels;
use brickwork_primitives::commit;
use brickwork_primitives::solder::GarblerWire;

/// Returns the hash that proves that the evaluator has the labels of all of the garbler's outputs.
fn labels_hash(session: &[u8; 32], labels: impl Iterator<Item = Label>) -> [u8; 32] {
    let mut hasher =
        blake3::Hasher::new_keyed(&blake3::derive_key("brickwork 2026-11 output labels", session));
    labels.for_each(|label| {
        hasher.update(&label.to_bytes());
    });
    *hasher.finalize().as_bytes()
}

/// Sorts bits into the order of the garbler's ports. `bits` has the `private` bits of outputs for the garbler
/// alone, then those of shared outputs.
fn by_port(program: &Program, private: usize, bits: &[bool]) -> Vec<bool> {
    let (mut private, mut shared) = bits.split_at(private);
    let mut take = |port: &OutputPort| {
        let from = if port.to == Recipient::Garbler { &mut private } else { &mut shared };
        let (mine, rest) = from.split_at(port.wires.len());
        *from = rest;
        mine.to_vec()
    };
    program.outputs().iter().filter(|o| o.to.includes(Party::Garbler)).flat_map(&mut take).collect()
}

pub(super) fn garbler<C: commit::CommitmentScheme>(
    party: &mut Garbler<C>,
    program: &Program,
    ready: &GarblerReady,
) -> Result<Vec<bool>, Error> {
    let delta_ka = party.delta_ka();
    let Garbler { run, session, stock, .. } = party;
    run.phase("decode");
    let layout = &ready.material.layout;
    let private = (0..layout.private).map(|k| ready.wire(layout.sealed_location(k), delta_ka));
    let shared = layout.shared_outputs.iter().map(|&wire| ready.wire(layout.location(wire), delta_ka));
    let wires: Zeroizing<Vec<GarblerWire>> = Zeroizing::new(private.chain(shared).collect());

    let message = run.channel.receive(msg::OUTPUT_LABELS, wires.len().div_ceil(8) + 32)?;
    let (colours, hash) = message.split_at(wires.len().div_ceil(8));
    let colours = bits::unpack(colours, wires.len())?;
    let expected =
        labels_hash(session, wires.iter().zip(&colours).map(|(wire, &colour)| wire.of_colour(colour)));
    if !bool::from(expected.ct_eq(hash)) {
        return Err(Cheat::ForgedOutput.into());
    }
    let outputs: Vec<bool> =
        wires.iter().zip(&colours).map(|(wire, colour)| wire.indicator() != *colour).collect();
    let authenticators = &ready.material.input_authenticators;
    stock.kept.keep(session, program, authenticators, &[], &ready.material.origins(program))?;
    Ok(by_port(program, layout.private, &outputs))
}

/// Returns the evaluator's outputs, and true if they were recovered.
pub(super) fn evaluator<C: commit::CommitmentScheme>(
    party: &mut Evaluator<C>,
    program: &Program,
    ready: &EvaluatorReady,
    evaluated: &ValidLabels,
    input: &[bool],
) -> Result<(Vec<bool>, bool), Error> {
    let Evaluator { core: EvaluatorCore { run, rng, hooks, session, .. }, delta_ka: known, stock, .. } =
        party;
    run.phase("decode");
    run.cover();
    // An offset has lowest bit 1, so this bit is 1 if Δ_ka is known.
    let recovered = known.colour();
    let delta_ka = Delta::new((**known ^ rng.delta().times(1 ^ recovered)).bits());
    let mut labels = honest_labels(ready, evaluated)?;
    let (restored, clear) = pool::compute(|| recover(program, &ready.material, evaluated, delta_ka, input))?;
    labels
        .iter_mut()
        .zip(&*restored)
        .for_each(|(label, restored)| *label ^= (*label ^ *restored).times(recovered));

    let layout = &ready.material.layout;
    let (sealed, shared) = labels.split_at(layout.sealed_outputs.len());
    let (private, kept) = sealed.split_at(layout.private);
    let learned = || private.iter().chain(shared).copied();
    let colours = bits::pack(learned().map(Label::colour));
    let hash = labels_hash(session, learned());
    let mut message = [&colours[..], &hash].concat();
    hooks.alter(Point::OutputLabels, &mut message);
    run.channel.send(msg::OUTPUT_LABELS, &message)?;
    run.channel.flush()?;

    let authenticators = &ready.material.input_authenticators;
    stock.kept.keep(session, program, authenticators, kept, &ready.material.origins(program))?;
    if stock.kept.is_empty() {
        // No later step uses a wire of this step.
        *known = Zeroizing::default();
    }
    // Always computes both lists: otherwise the time could reveal in a later step of this session which list
    // was used.
    let decoded = ready.material.layout.evaluator_outputs.iter().zip(&evaluated.indicators);
    let recover = Choice::from(recovered);
    let clear = Zeroizing::new(program.output_bits(Party::Evaluator, &clear));
    let outputs = decoded.zip(&*clear).map(|((&wire, sigma), clear)| {
        let decoded = evaluated.labels[wire as usize].colour() ^ *sigma;
        u8::conditional_select(&decoded, &u8::from(*clear), recover) == 1
    });
    Ok((outputs.collect(), recovered == 1))
}

/// Returns the evaluated labels of the sealed outputs and then of the shared outputs.
fn honest_labels(ready: &EvaluatorReady, evaluated: &ValidLabels) -> Result<Labels, Error> {
    let EvaluatorReady { material, solderings, .. } = ready;
    let layout = &material.layout;
    let solderings = solderings.outputs.solderings.read(0..layout.sealed_outputs.len())?;
    let sealed = layout.sealed_outputs.iter().zip(&*solderings).enumerate().map(|(k, (&wire, soldering))| {
        let offsets = material.delta_difference(layout.location(wire))
            ^ material.delta_difference(layout.sealed_location(k));
        soldering.carry(evaluated.labels[wire as usize], offsets)
    });
    Ok(Labels::new(
        sealed.chain(layout.shared_outputs.iter().map(|&wire| evaluated.labels[wire as usize])).collect(),
    ))
}

/// The plain bits of a program's outputs, one list for each output.
type Clear = Zeroizing<Vec<Vec<bool>>>;

/// Recover: computes the garbler's inputs from Δ_ka, and likewise kept values, which have input
/// authenticators, too. Returns the plain outputs, and the labels of the sealed and the shared outputs.
fn recover(
    program: &Program,
    material: &EvaluatorMaterial,
    evaluated: &ValidLabels,
    delta_ka: Delta,
    input: &[bool],
) -> Result<(Labels, Clear), Error> {
    let layout = &material.layout;
    let mut theirs = Zeroizing::new(vec![false; program.input_width(Party::Garbler)]);
    theirs.par_chunks_mut(LOCATIONS_AT_ONCE).enumerate().try_for_each(|(chunk, bits)| {
        let first = chunk * LOCATIONS_AT_ONCE;
        let locations: Vec<WireLocation> =
            (first..first + bits.len()).map(|wire| layout.location(wire as u32)).collect();
        for_each_bucket(material, &locations, delta_ka, |k, bucket| {
            bits[k] = bucket.recover_input_bit(evaluated.labels[first + k])
        })
    })?;
    let clear = Zeroizing::new(program.simulate(&theirs, input));
    let values_of = |to| clear.iter().zip(program.outputs()).filter(move |(_, o)| o.to == to);
    let sealed = values_of(Recipient::Garbler).chain(values_of(Recipient::Nobody));
    let mut values = sealed.flat_map(|(bits, _)| bits);
    let mut labels =
        Labels::new(Vec::with_capacity(layout.sealed_outputs.len() + layout.shared_outputs.len()));
    let locations: Vec<WireLocation> =
        (0..layout.sealed_outputs.len()).map(|k| layout.sealed_location(k)).collect();
    for_each_bucket(material, &locations, delta_ka, |k, bucket| {
        let bit = u8::from(*values.next().expect("each wire has a value"));
        let delta = offset(material.delta_difference(locations[k]), delta_ka);
        labels.push(bucket.recover_false_label() ^ delta.times(bit));
    })?;
    // The wires of the evaluator's outputs include the shared ones in the same order, so the evaluator knows
    // their σ.
    let mut indicators = evaluated.indicators.iter();
    for (bits, port) in clear.iter().zip(program.outputs()).filter(|(_, o)| o.to.includes(Party::Evaluator)) {
        for (&bit, &wire) in bits.iter().zip(&port.wires) {
            let sigma = *indicators.next().expect("each output wire of the evaluator has an indicator bit");
            if port.to == Recipient::Both {
                let label = evaluated.labels[wire as usize];
                let delta = offset(material.delta_difference(layout.location(wire)), delta_ka);
                labels.push(label ^ delta.times(label.colour() ^ u8::from(bit) ^ sigma));
            }
        }
    }
    Ok((labels, clear))
}

/// Returns the offset of an authenticator from its delta difference. With a random Δ_ka the offset is random,
/// too.
fn offset(delta_difference: Label, delta_ka: Delta) -> Delta {
    Delta::new((delta_difference ^ delta_ka).bits())
}

/// The number of buckets whose authenticators are hashed side by side.
const LOCATIONS_AT_ONCE: usize = 32;

/// A bucket of authenticators, with each authenticator's offset and false label, which follow from Δ_ka.
struct Bucket<'a> {
    authenticators: &'a AtHand<'a>,
    /// The index of the bucket among those that were read.
    number: usize,
    false_labels: &'a [(Delta, Label)],
}

/// Calls `visit` for each location, in order, with its bucket and the location's index.
fn for_each_bucket(
    material: &EvaluatorMaterial,
    locations: &[WireLocation],
    delta_ka: Delta,
    mut visit: impl FnMut(usize, Bucket),
) -> Result<(), Error> {
    let mut first = 0;
    for locations in
        locations.chunk_by(|a, b| a.set == b.set).flat_map(|locations| locations.chunks(LOCATIONS_AT_ONCE))
    {
        let EvaluatorAuthenticators { size, hasher, .. } = material.authenticators_of(locations[0]);
        let authenticators = material
            .authenticators_of(locations[0])
            .at_hand(locations.iter().map(|location| location.bucket as usize))?;
        let delta = |i: usize| offset(authenticators.delta_difference(i / size, i % size), delta_ka);
        let count = locations.len() * size;
        let labels =
            Labels::new(hasher.false_labels(count, |i| (authenticators.index(i / size, i % size), delta(i))));
        let mut both = Zeroizing::new(Vec::with_capacity(count));
        both.extend(labels.iter().enumerate().map(|(i, &label)| (delta(i), label)));
        for (number, false_labels) in both.chunks_exact(*size).enumerate() {
            visit(first + number, Bucket { authenticators: &authenticators, number, false_labels });
        }
        first += locations.len();
    }
    Ok(())
}

impl Bucket<'_> {
    /// RecoverInputBit: 1 if in a strict majority of the bucket the label is H(Δ_j) ⊕ Δ_j, otherwise 0.
    fn recover_input_bit(&self, label: Label) -> bool {
        let ones = self.false_labels.iter().enumerate().map(|(i, &(delta, false_label))| {
            let label = self.authenticators.carry(self.number, i, label);
            usize::from(bool::from(label.ct_eq(&(false_label ^ delta))))
        });
        2 * ones.sum::<usize>() > self.false_labels.len()
    }

    /// Returns the false label of the head that a strict majority of the authenticators gives.
    fn recover_false_label(&self) -> Label {
        let (authenticators, k) = (self.authenticators, self.number);
        let votes = self.false_labels.iter().enumerate().map(|(i, &(_, label))| {
            let offsets = authenticators.delta_difference(k, 0) ^ authenticators.delta_difference(k, i);
            authenticators.soldering(k, i).map_or(label, |soldering| soldering.carry_back(label, offsets))
        });
        let votes = Labels::new(votes.collect());
        votes.iter().fold(Label::ZERO, |elected, vote| {
            let support = votes.iter().map(|other| usize::from(other.ct_eq(vote).unwrap_u8())).sum::<usize>();
            elected ^ (elected ^ *vote).times(u8::from(2 * support > votes.len()))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::authenticators::tests::authenticators;
    use super::super::build::tests::without_slots;
    use super::*;
    use crate::adversary::harness::wires;
    use brickwork_base::random::Rng;
    use brickwork_primitives::authenticator::AuthenticatorKind;
    use brickwork_primitives::spill::Spill;
    use brickwork_testing::Replayable as _;

    /// RecoverInputBit, and the false label of a private output: more than half of a bucket decides,
    /// whichever authenticators these are. Buckets of even size, which no cut has, show that half is not
    /// enough.
    #[test]
    fn row_09_only_a_strict_majority_recovers() {
        let mut rng = Rng::replayable("test gadgets");
        for (size, last) in [1, 3, 4, 5].into_iter().flat_map(|size| [false, true].map(|last| (size, last))) {
            let delta_ka = rng.delta();
            // Each bucket has one more bad authenticator than the previous bucket.
            let bad = |bucket, i| if last { bucket + i >= size } else { i < bucket };
            let (of_a_batch, heads) = authenticators(
                AuthenticatorKind::Input,
                (size + 1, size),
                delta_ka,
                &Spill::memory(),
                &mut rng,
                bad,
            );
            let program = wires(size as u32 + 1, 0, &[(Recipient::Both, vec![0])]);
            let material = without_slots(&program, vec![of_a_batch]);
            let locations: Vec<WireLocation> =
                (0..=size).map(|wire| material.layout.location(wire as u32)).collect();
            let mut seen = 0;
            for_each_bucket(&material, &locations, delta_ka, |k, bucket| {
                let majority = 2 * (size - k) > size;
                assert!(!bucket.recover_input_bit(heads[k].of_bit(0)));
                assert_eq!(bucket.recover_input_bit(heads[k].of_bit(1)), majority, "{k} of {size} are bad");
                // All bad authenticators give different labels.
                let elected = if majority { heads[k].false_label() } else { Label::ZERO };
                assert!(
                    size == 1 && k == 1 || bucket.recover_false_label() == elected,
                    "{k} of {size} are bad"
                );
                seen += 1;
            })
            .unwrap();
            assert_eq!(seen, size + 1);
        }
    }

    /// The labels of the garbler's outputs follow from Δ_ka, from the labels of the garbler's inputs and from
    /// E's own input. This holds for any order of ports, any number of sets of input authenticators, and more
    /// wires than are hashed together.
    #[test]
    fn row_14_what_is_recovered_are_the_labels_of_the_right_outputs() {
        const BATCHES: [usize; 3] = [37, 10, 30];
        let private: Vec<u32> = (0..36).map(|k| if k % 5 == 4 { 41 } else { 39 - k }).collect();
        let outputs = [
            (Recipient::Evaluator, vec![40, 3]),
            (Recipient::Garbler, private[..20].to_vec()),
            (Recipient::Both, vec![1, 42, 39]),
            (Recipient::Garbler, private[20..].to_vec()),
        ];
        let program = wires(40, 3, &outputs);
        let mut rng = Rng::replayable("test gadgets");
        let delta_ka = rng.delta();
        let of_a_batch = |buckets| {
            authenticators(
                AuthenticatorKind::Input,
                (buckets, 3),
                delta_ka,
                &Spill::memory(),
                &mut rng,
                |_, _| false,
            )
        };
        let (input_authenticators, heads): (Vec<_>, Vec<_>) = BATCHES.map(of_a_batch).into_iter().unzip();
        let material = without_slots(&program, input_authenticators);
        let at = |location: WireLocation| heads[location.set as usize][location.bucket as usize];
        let of_ots: Vec<GarblerWire> =
            (0..3).map(|_| GarblerWire { value: rng.label(), delta: delta_ka }).collect();
        let wire = |wire: u32| {
            if wire < 40 { at(material.layout.location(wire)) } else { of_ots[wire as usize - 40] }
        };

        let (x, y): (Vec<bool>, Vec<bool>) = ((0..40).map(|k| k % 3 == 1).collect(), vec![true, true, false]);
        let bit = |wire: u32| u8::from([&x[..], &y].concat()[wire as usize]);
        // Recovery must not use the evaluated label of E's input wires: the label of the last wire is of the
        // wrong bit.
        let labels = (0..43).map(|w| wire(w).of_bit(bit(w) ^ u8::from(w == 42))).collect();
        let indicators = [40, 3, 1, 42, 39].map(|w| wire(w).indicator()).to_vec();
        let evaluated = ValidLabels { labels: Labels::new(labels), indicators };
        let (labels, clear) = recover(&program, &material, &evaluated, delta_ka, &y).unwrap();
        assert_eq!(*clear, program.simulate(&x, &y));
        let private =
            private.iter().enumerate().map(|(k, &w)| at(material.layout.sealed_location(k)).of_bit(bit(w)));
        let expected: Vec<Label> = private.chain([1, 42, 39].map(|w| wire(w).of_bit(bit(w)))).collect();
        assert_eq!(labels.len(), expected.len());
        for (k, (label, expected)) in labels.iter().zip(&expected).enumerate() {
            assert!(label == expected, "label {k}");
        }
    }
}
