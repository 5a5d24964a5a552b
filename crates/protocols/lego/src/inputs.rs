//! Prepare: input authenticators for the garbler's inputs. Each bucket has the wire of one input.
//!
//! ```text
//!   garbler -> evaluator    commitments to offsets (random) and wires (chosen), pairs of hashes;
//!                           commitments to the wires of the inputs (random)
//!                           proof: all of these are commitments
//!   evaluator -> garbler    challenge: a seed
//!   garbler -> evaluator    opened authenticators: the offset;
//!                           the others: delta differences, solderings in buckets
//!                           and to the wires of the inputs
//!                           claims: all of it
//! ```
//!
//! The label that the garbler sends for an input belongs to the head of a bucket of authenticators. The label
//! is valid if a majority of the bucket accepts it. The evaluator converts it into a label of the input's
//! wire by a soldering. Each authenticator has its own offset, which determines its false label `H(Δ_j)`. So
//! a party that learns Δ learns every Δ_j from `S_j = Δ_j ⊕ Δ`, and then the bit of the garbler's label. An
//! opened authenticator is checked completely (DUPLO, section 5.2).

use rayon::prelude::*;
use subtle::ConstantTimeEq;
use zeroize::Zeroizing;

use crate::assignment::Assignment;
use crate::hooks::Point;
use crate::parameters::Parameters;
use crate::setup::{Evaluator, Garbler};
use crate::{Cheat, msg};
use brickwork_base::Error;
use brickwork_base::bits::Bits;
use brickwork_base::label::{Delta, Label};
use brickwork_base::pool;
use brickwork_base::random::Seed;
use brickwork_primitives::Labels;
use brickwork_primitives::authenticator::{Authenticator, AuthenticatorKind, Hasher};
use brickwork_primitives::commit::{
    self, Claimed, Claims, Committed, Lsb, New, Pending, Places, Proof, Receiver as _, Sender as _, Shares,
};
use brickwork_primitives::receive;
use brickwork_primitives::solder::{GarblerWire, Soldering};

/// The garbler's input authenticators and the wires of the inputs, with the commitments to all of them.
pub(super) struct InputAuthenticators {
    at: Places,
    made: u64,
    /// The first block of the commitments to the wires of the inputs.
    inputs_row: u64,
    offsets: Committed,
    wires: Committed,
    inputs: Committed,
}

/// Converts shares to columns, for quick access to single commitments. Until then, the shares may have been
/// recomputed for each use.
fn gathered(mut committed: Committed) -> Committed {
    committed.shares = std::mem::take(&mut committed.shares).gathered();
    committed
}

impl InputAuthenticators {
    /// Returns the same items, with quick access to single commitments. Claims need quick access to single
    /// ones.
    pub fn gathered(self) -> Self {
        let InputAuthenticators { at, made, inputs_row, offsets, wires, inputs } = self;
        let [offsets, wires, inputs] = [offsets, wires, inputs].map(gathered);
        InputAuthenticators { at, made, inputs_row, offsets, wires, inputs }
    }

    pub fn new_commitments(&self) -> [New<'_>; 3] {
        [&self.offsets, &self.wires, &self.inputs].map(New::from)
    }

    fn wire(&self, k: usize) -> GarblerWire {
        GarblerWire { value: self.wires.values[k], delta: Delta::new(self.offsets.values[k].bits()) }
    }
}

/// The garbler's inputs for a program: for each, the head of its bucket, and the commitment to its wire.
pub(super) struct GarblerInputs {
    /// The positions of offsets and wires, and the numbers of the heads.
    pub at: Places,
    /// The number of authenticators that the session made before these.
    pub made: u64,
    /// The first block of the commitments to the wires of the inputs, and the numbers of these commitments.
    pub inputs_row: u64,
    pub buckets: Vec<u32>,
    pub heads: Zeroizing<Vec<GarblerWire>>,
    pub wires: Committed,
}

impl GarblerInputs {
    /// Returns an empty list.
    pub fn none() -> Self {
        GarblerInputs {
            at: Places::default(),
            made: 0,
            inputs_row: 0,
            buckets: Vec::new(),
            heads: Zeroizing::default(),
            wires: Committed::default(),
        }
    }

    /// Appends inputs, which may belong to another batch.
    pub fn append(&mut self, others: &Self) {
        self.heads = Zeroizing::new([&self.heads[..], &others.heads].concat());
        crate::ots::join(&mut self.wires, &others.wires);
    }
}

/// Computes the wires of input authenticators from their offsets: H(Δ_j) is the label for 0.
pub(super) fn wires_of(hasher: &Hasher, numbers: impl Fn(usize) -> u64 + Sync, deltas: &[Delta]) -> Labels {
    let mut values = Labels::new(hasher.false_labels(deltas.len(), |k| (numbers(k), deltas[k])));
    values
        .iter_mut()
        .zip(deltas)
        .for_each(|(value, &delta)| *value = GarblerWire::from_false_label(*value, delta).value);
    values
}

pub(super) fn offsets_of(committed: &Committed) -> Zeroizing<Vec<Delta>> {
    Zeroizing::new(committed.values.iter().map(|offset| Delta::new(offset.bits())).collect())
}

/// Makes input authenticators, and commits to them and to the wires of the inputs.
pub(super) fn garbler_commits<C: commit::CommitmentScheme>(
    party: &mut Garbler<C>,
    parameters: &Parameters,
) -> Result<InputAuthenticators, Error> {
    let Garbler { run, sender, hooks, session, counters, .. } = party;
    run.phase("prepare");
    let count = parameters.inputs.copies() as usize;
    let made = counters.authenticators(count as u64)?;
    let hasher = Hasher::new(session, AuthenticatorKind::Input).after(made);
    let first = sender.next_row();
    let offsets = sender.commit_random(&mut run.channel, count, Lsb::One)?;
    let at = Places::begin([first, sender.next_row()]);
    let deltas = offsets_of(&offsets);
    let mut values = wires_of(&hasher, |k| k as u64, &deltas);
    hooks.alter(Point::InputWires, &mut values);
    let wires = sender.commit(&mut run.channel, &values)?;
    let mut hashes = hasher.authenticators(count, |k| (k as u64, values[k].with_colour(0), deltas[k]));
    hooks.alter(Point::InputHashes, &mut hashes);
    run.channel.send(msg::AUTHENTICATORS, bytemuck::cast_slice(&hashes))?;
    let inputs_row = sender.next_row();
    let inputs = sender.commit_random(&mut run.channel, parameters.inputs.slots as usize, Lsb::Random)?;
    Ok(InputAuthenticators { at, made, inputs_row, offsets, wires, inputs })
}

pub(super) struct InputClaims {
    assigned: Assignment,
    /// The bit s of each soldering: first of those to the authenticators in buckets that are not heads, then
    /// of those to the wires of inputs.
    flips: Bits,
}

/// The input authenticators that the evaluator received after its challenge.
pub(super) struct OpenedInputs {
    /// For each opened authenticator, its offset, and the wire that the offset determines.
    offsets: Vec<Label>,
    wires: Vec<Label>,
    /// The delta difference of each authenticator in a bucket.
    delta_differences: Vec<Label>,
    /// The solderings within buckets, then to the wires of the inputs.
    solderings: Vec<Soldering>,
}

impl InputClaims {
    /// States the claims. The shares are those of the commitments to the authenticators' offsets, to their
    /// wires, and to the wires of inputs.
    fn claim<'a>(
        &'a self,
        offset: &'a Shares,
        [offsets, wires, inputs]: [&'a Shares; 3],
        opened: Option<&'a OpenedInputs>,
        claims: &mut Claims<'a>,
    ) {
        let InputClaims { assigned, flips } = self;
        let value =
            move |of: fn(&OpenedInputs) -> &[Label], k: usize| opened.map_or(Label::ZERO, |all| of(all)[k]);
        claims.known(assigned.opened.len(), move |k, sum| {
            offsets.add(assigned.opened[k] as usize, sum);
            value(|opened| &opened.offsets, k)
        });
        claims.known(assigned.opened.len(), move |k, sum| {
            wires.add(assigned.opened[k] as usize, sum);
            value(|opened| &opened.wires, k)
        });
        claims.known(assigned.chosen.len(), move |k, sum| {
            offsets.add(assigned.chosen[k] as usize, sum);
            offset.add(0, sum);
            value(|opened| &opened.delta_differences, k)
        });
        let others = assigned.chosen.len() - assigned.buckets();
        claims.known(flips.len(), move |k, sum| {
            let flip = flips.get(k);
            if k < others {
                let (bucket, i) = (k / (assigned.size - 1), k % (assigned.size - 1) + 1);
                let (head, other) =
                    (assigned.bucket(bucket)[0] as usize, assigned.bucket(bucket)[i] as usize);
                wires.add(head, sum);
                wires.add(other, sum);
                offsets.add_if(flip, other, sum);
            } else {
                wires.add(assigned.bucket(k - others)[0] as usize, sum);
                inputs.add(k - others, sum);
                offset.add_if(flip, 0, sum);
            }
            opened.map_or(Label::ZERO, |opened| opened.solderings[k].opening())
        });
    }
}

/// Opens the challenged authenticators, and solders the others into buckets and to the wires of inputs.
pub(super) fn garbler_opens<C: commit::CommitmentScheme>(
    party: &mut Garbler<C>,
    made: &InputAuthenticators,
    parameters: &Parameters,
    seed: &Seed,
) -> Result<(GarblerInputs, InputClaims), Error> {
    let Garbler { run, hooks, delta, .. } = party;
    run.phase("prepare");
    let assigned = Assignment::expand(seed, &parameters.inputs);
    let mut opened: Vec<Label> = assigned.opened.iter().map(|&k| made.offsets.values[k as usize]).collect();
    hooks.alter(Point::OpenedInputs, &mut opened);
    run.channel.send(msg::OPENED_INPUTS, bytemuck::cast_slice(&opened))?;
    let difference = |&k: &u32| made.offsets.values[k as usize] ^ **delta;
    let mut differences: Vec<Label> = assigned.chosen.iter().map(difference).collect();
    hooks.alter(Point::DeltaDifferences, &mut differences);
    run.channel.send(msg::DELTA_DIFFERENCES, bytemuck::cast_slice(&differences))?;

    let at = made.at.heads(&assigned.chosen, assigned.size);
    let heads: Zeroizing<Vec<GarblerWire>> =
        Zeroizing::new(at.items.iter().map(|&head| made.wire(head as usize)).collect());
    let mut solderings: Vec<Soldering> = Vec::with_capacity(assigned.chosen.len());
    for (bucket, head) in heads.iter().enumerate() {
        let others = assigned.bucket(bucket)[1..].iter();
        solderings.extend(others.map(|&k| Soldering::new(head.value, made.wire(k as usize))));
    }
    let input = |k: usize| GarblerWire { value: made.inputs.values[k], delta: **delta };
    solderings.extend(heads.iter().enumerate().map(|(k, head)| Soldering::new(head.value, input(k))));
    hooks.alter(Point::InputSolderings, &mut solderings);
    run.channel.send(msg::INPUT_SOLDERINGS, bytemuck::cast_slice(&solderings))?;
    let mut flips = Bits::zeros(solderings.len());
    solderings.iter().enumerate().for_each(|(k, soldering)| flips.add(k, soldering.flip()));
    let wires = Committed { values: made.inputs.values.clone(), shares: made.inputs.shares.same() };
    let (made, inputs_row, buckets) = (made.made, made.inputs_row, (0..heads.len() as u32).collect());
    Ok((GarblerInputs { at, made, inputs_row, buckets, heads, wires }, InputClaims { assigned, flips }))
}

impl InputAuthenticators {
    /// States the claims about the opened and soldered authenticators.
    pub fn claim<'a>(&'a self, offset: &'a Shares, made: &'a InputClaims, claims: &mut Claims<'a>) {
        let shares = [&self.offsets.shares, &self.wires.shares, &self.inputs.shares];
        made.claim(offset, shares, None, claims);
    }
}

/// The evaluator's data about input authenticators. `C` is [`Pending`] or, after the proof, [`Shares`].
pub(super) struct ReceivedAuthenticators<C> {
    made: u64,
    hashes: Vec<Authenticator>,
    offsets: C,
    wires: C,
    inputs: C,
}

/// Receives input authenticators and the commitments to the wires of the inputs.
pub(super) fn evaluator_receives<C: commit::CommitmentScheme>(
    party: &mut Evaluator<C>,
    parameters: &Parameters,
) -> Result<ReceivedAuthenticators<Pending>, Error> {
    let Evaluator { run, receiver, counters, .. } = party;
    run.phase("prepare");
    let count = parameters.inputs.copies() as usize;
    let made = counters.authenticators(count as u64)?;
    // LOAD-BEARING: the commitments must be random, like those to wires of wire authenticators.
    let offsets = receiver.receive_random(&mut run.channel, count, Lsb::One)?;
    let wires = receiver.receive(&mut run.channel, count)?;
    let mut hashes = vec![Authenticator::default(); count];
    run.channel.receive_into(msg::AUTHENTICATORS, bytemuck::cast_slice_mut(&mut hashes))?;
    let inputs = receiver.receive_random(&mut run.channel, parameters.inputs.slots as usize, Lsb::Random)?;
    Ok(ReceivedAuthenticators { made, hashes, offsets, wires, inputs })
}

impl ReceivedAuthenticators<Pending> {
    pub fn pending(&self) -> [&Pending; 3] {
        [&self.offsets, &self.wires, &self.inputs]
    }

    /// Returns the data, whose commitments the proof has shown to be valid. The next claims need quick access
    /// to single commitments.
    pub fn accept(self, proof: &Proof) -> ReceivedAuthenticators<Shares> {
        let ReceivedAuthenticators { made, hashes, offsets, wires, inputs } = self;
        let [offsets, wires, inputs] =
            [offsets, wires, inputs].map(|pending| pending.accept(proof).gathered());
        ReceivedAuthenticators { made, hashes, offsets, wires, inputs }
    }
}

/// The data that the evaluator received after the challenge.
pub(super) struct ClaimedInputs {
    claims: InputClaims,
    opened: Claimed<OpenedInputs>,
}

/// Receives the openings and solderings, and checks the opened authenticators.
pub(super) fn evaluator_opens<C: commit::CommitmentScheme>(
    party: &mut Evaluator<C>,
    received: &ReceivedAuthenticators<Shares>,
    parameters: &Parameters,
    seed: &Seed,
) -> Result<ClaimedInputs, Error> {
    let Evaluator { run, receiver, session, .. } = party;
    run.phase("prepare");
    let assigned = Assignment::expand(seed, &parameters.inputs);
    let hasher = Hasher::new(session, AuthenticatorKind::Input).after(received.made);
    let offsets = receive::labels(&mut run.channel, msg::OPENED_INPUTS, assigned.opened.len())?;
    if offsets.iter().any(|offset| offset.colour() == 0) {
        return Err(Cheat::OffsetColour.into());
    }
    let deltas: Vec<Delta> = offsets.iter().map(|offset| Delta::new(offset.bits())).collect();
    let number = |k: usize| u64::from(assigned.opened[k]);
    let wires = wires_of(&hasher, number, &deltas).to_vec();
    let made = hasher.authenticators(deltas.len(), |k| (number(k), wires[k].with_colour(0), deltas[k]));
    if assigned.opened.iter().zip(made).any(|(&k, made)| received.hashes[k as usize] != made) {
        return Err(Cheat::InputAuthenticator.into());
    }
    let delta_differences = receive::labels(&mut run.channel, msg::DELTA_DIFFERENCES, assigned.chosen.len())?;
    if delta_differences.iter().any(|difference| difference.colour() == 1) {
        return Err(Cheat::DeltaDifferenceColour.into());
    }
    let mut solderings = vec![Soldering::default(); assigned.chosen.len()];
    run.channel.receive_into(msg::INPUT_SOLDERINGS, bytemuck::cast_slice_mut(&mut solderings))?;
    let mut flips = Bits::zeros(solderings.len());
    solderings.iter().enumerate().for_each(|(k, soldering)| flips.add(k, soldering.flip()));
    let opened = receiver.claimed(OpenedInputs { offsets, wires, delta_differences, solderings });
    Ok(ClaimedInputs { claims: InputClaims { assigned, flips }, opened })
}

impl ReceivedAuthenticators<Shares> {
    /// Returns the commitments to the wires of the inputs.
    pub fn wires(&self) -> Shares {
        self.inputs.same()
    }

    /// States the claims about the received data.
    pub fn claim<'a>(&'a self, offset: &'a Shares, claimed: &'a ClaimedInputs, claims: &mut Claims<'a>) {
        claims.about(&claimed.opened, |opened, claims| {
            let shares = [&self.offsets, &self.wires, &self.inputs];
            claimed.claims.claim(offset, shares, Some(opened), claims);
        });
    }

    /// Returns the authenticators in buckets, after the proof of everything that was received.
    pub fn proven(self, session: &[u8; 32], claimed: ClaimedInputs, proof: &Proof) -> InputBuckets {
        let ClaimedInputs { claims: InputClaims { assigned, .. }, opened } = claimed;
        let OpenedInputs { delta_differences, mut solderings, .. } = opened.proven(proof);
        let to_wires = solderings.split_off(assigned.chosen.len() - assigned.buckets());
        InputBuckets {
            hasher: Hasher::new(session, AuthenticatorKind::Input).after(self.made),
            hashes: assigned.chosen.iter().map(|&k| self.hashes[k as usize]).collect(),
            size: assigned.size,
            numbers: assigned.chosen,
            delta_differences,
            solderings,
            to_wires,
        }
    }
}

/// Buckets of input authenticators of one batch, at the evaluator.
#[cfg_attr(test, derive(Clone))]
pub(super) struct InputBuckets {
    pub hasher: Hasher,
    pub size: usize,
    /// The number of each authenticator, `[bucket][authenticator]`.
    pub numbers: Vec<u32>,
    pub hashes: Vec<Authenticator>,
    pub delta_differences: Vec<Label>,
    /// The solderings from the head of each bucket to its other authenticators.
    pub solderings: Vec<Soldering>,
    /// The soldering from the head of each bucket to the wire of its input.
    pub to_wires: Vec<Soldering>,
}

impl InputBuckets {
    pub fn buckets(&self) -> usize {
        self.to_wires.len()
    }

    /// Solders a label on the head of a bucket to another authenticator of the bucket.
    fn carry(&self, bucket: usize, i: usize, label: Label) -> Label {
        let difference = |i: usize| self.delta_differences[bucket * self.size + i];
        match i {
            0 => label,
            _ => {
                self.solderings[bucket * (self.size - 1) + i - 1].carry(label, difference(0) ^ difference(i))
            }
        }
    }

    /// Performs InputG of the paper: checks labels of the garbler's inputs. `labels` are on the heads of the
    /// buckets. Returns whether a strict majority of each bucket accepts its label.
    pub fn accept(&self, labels: &[Label]) -> bool {
        let query = |k: usize| {
            let (bucket, i) = (k / self.size, k % self.size);
            (self.hashes[k], u64::from(self.numbers[k]), self.carry(bucket, i, labels[bucket]))
        };
        let votes = self.hasher.accepts(labels.len() * self.size, query);
        votes.chunks_exact(self.size).all(|votes| 2 * votes.iter().filter(|&&vote| vote).count() > self.size)
    }

    /// Returns the labels of the inputs' wires, computed from the labels for the heads.
    pub fn carried<'b>(&'b self, labels: &'b [Label]) -> impl Iterator<Item = Label> + 'b {
        let differences = self.delta_differences.iter().step_by(self.size);
        let carried = labels.iter().zip(&self.to_wires).zip(differences);
        carried.map(|((&label, soldering), &offsets)| soldering.carry(label, offsets))
    }

    /// Performs RecoverInputBit of the paper for these inputs of the garbler. With Δ, a bit is 1 if the label
    /// is H(Δ_j) ⊕ Δ_j for a strict majority of the bucket.
    pub fn recover(&self, labels: &[Label], delta: Delta) -> Zeroizing<Vec<bool>> {
        let offset = |k: usize| Delta::new((self.delta_differences[k] ^ delta).bits());
        let false_labels = Labels::new(
            self.hasher.false_labels(self.numbers.len(), |k| (u64::from(self.numbers[k]), offset(k))),
        );
        let mut bits = Zeroizing::new(vec![false; labels.len()]);
        let recover = |(bucket, bit): (usize, &mut bool)| {
            let ones = (0..self.size).map(|i| {
                let k = bucket * self.size + i;
                let carried = self.carry(bucket, i, labels[bucket]);
                usize::from(carried.ct_eq(&(false_labels[k] ^ offset(k))).unwrap_u8())
            });
            *bit = 2 * ones.sum::<usize>() > self.size;
        };
        pool::compute(|| bits.par_iter_mut().enumerate().for_each(recover));
        bits
    }
}

/// Splits the labels of all inputs into those of each batch of buckets.
pub(super) fn by_batch<'l>(
    batches: &'l [InputBuckets],
    labels: &'l [Label],
) -> impl Iterator<Item = (&'l InputBuckets, &'l [Label])> {
    let mut rest = labels;
    batches.iter().map(move |batch| {
        let (here, behind) = rest.split_at(batch.buckets());
        rest = behind;
        (batch, here)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use brickwork_base::random::Rng;
    use brickwork_testing::Replayable as _;

    const SESSION: [u8; 32] = [3; 32];

    /// Makes a bucket of `size` authenticators in a session with offset `delta`. Returns also the labels of 0
    /// and 1 for its head.
    fn bucket(size: usize, delta: Delta, rng: &mut Rng) -> (InputBuckets, [Label; 2]) {
        let hasher = Hasher::new(&SESSION, AuthenticatorKind::Input);
        let differences: Vec<Label> = (0..size).map(|_| rng.label().with_colour(0)).collect();
        let offset = |k: usize| Delta::new((differences[k] ^ delta).bits());
        let numbers: Vec<u32> = (0..size as u32).map(|k| 3 * k + 1).collect();
        let labels = hasher.false_labels(size, |k| (u64::from(numbers[k]), offset(k)));
        let wires: Vec<GarblerWire> =
            (0..size).map(|k| GarblerWire::from_false_label(labels[k], offset(k))).collect();
        let hashes = hasher.authenticators(size, |k| (u64::from(numbers[k]), wires[k].base(), offset(k)));
        let solderings = wires[1..].iter().map(|&wire| Soldering::new(wires[0].value, wire)).collect();
        let head = [0, 1].map(|bit| wires[0].of_bit(bit));
        let to_wires = vec![Soldering::default()];
        (
            InputBuckets {
                hasher,
                size,
                numbers,
                hashes,
                delta_differences: differences,
                solderings,
                to_wires,
            },
            head,
        )
    }

    /// A bucket refuses a label if only half of its authenticators accept it. It accepts the label if one
    /// more does, in any positions.
    #[test]
    fn row_13_a_label_needs_more_than_half_of_a_bucket() {
        let mut rng = Rng::replayable("test buckets");
        for size in 1..=9 {
            let delta = rng.delta();
            let (good, head) = bucket(size, delta, &mut rng);
            for (label, first) in head.into_iter().flat_map(|label| (0..size).map(move |k| (label, k))) {
                for accepting in [size / 2, size / 2 + 1] {
                    let mut bad = good.clone();
                    // The authenticators from number `first` on, except `accepting` ones, refuse both labels.
                    for k in (0..size - accepting).map(|k| (first + k) % size) {
                        bad.hashes[k] = Authenticator::default();
                    }
                    assert_eq!(bad.accept(&[label]), 2 * accepting > size, "{accepting} of {size}");
                }
            }
            assert!(!good.accept(&[rng.label()]), "{size}");
        }
    }

    /// A bit is recovered as 1 if more than half of the authenticators have the label of 1. Exactly half is
    /// not enough, in any positions. Each has its own offset.
    #[test]
    fn row_14_a_bit_is_recovered_by_more_than_half_of_a_bucket() {
        let mut rng = Rng::replayable("test buckets");
        for size in 1..=9 {
            let delta = rng.delta();
            let (good, head) = bucket(size, delta, &mut rng);
            assert_eq!([0, 1].map(|bit| good.recover(&[head[bit]], delta)[0]), [false, true]);
            assert!(!good.recover(&[head[1]], rng.delta())[0], "another offset tells nothing");
            for ones in [size / 2, size / 2 + 1] {
                for first in 0..size {
                    let mut bad = good.clone();
                    // The authenticators from number `first` on, except `ones` of them, get the label of 0.
                    // The head gets the label to recover from.
                    let others: Vec<usize> = (0..size - ones).map(|k| (first + k) % size).collect();
                    let head_lies = others.contains(&0);
                    let label = head[usize::from(!head_lies)];
                    for k in 1..size {
                        if others.contains(&k) != head_lies {
                            let own = bad.delta_differences[k] ^ delta;
                            let flipped = bad.solderings[k - 1].carry(Label::ZERO, Label::ZERO) ^ own;
                            bad.solderings[k - 1] = Soldering::of_one_offset(flipped, Label::ZERO);
                        }
                    }
                    assert_eq!(bad.recover(&[label], delta)[0], 2 * ones > size, "{ones} of {size}");
                }
            }
        }
    }
}
