//! Prepare: input authenticators for the garbler's inputs, and OTs for the evaluator's.
//!
//! ```text
//!   garbler -> evaluator    input authenticators: commitments to offsets (random) and wires (chosen), pairs of hashes;
//!                           commitments to the OTs' labels (chosen), and to the wires of all inputs and outputs (random)
//!                           proof: all of these are commitments
//!   evaluator -> garbler    challenge: a seed;  sums of labels and choice bits of the OTs
//!   garbler -> evaluator    (after a look at all of these sums) opened authenticators: the offset;  the others:
//!                           delta differences, solderings in buckets and to the wires of the inputs
//!                           claims: all of it, and the sums of the OTs
//! ```
//!
//! A label of the garbler's is given on the head of a bucket of authenticators, whose majority accepts it,
//! and carried to the wire of the input. Each authenticator has an offset of its own, from which its false
//! label follows, `H(Δ_j)`. So whoever learns Δ learns every Δ_j by `S_j = Δ_j ⊕ Δ`, and from the label that
//! the garbler gave the bit that it stands for. An opened one is checked completely (DUPLO, section 5.2).

use rayon::prelude::*;
use subtle::ConstantTimeEq;
use zeroize::Zeroizing;

use crate::drawn::Drawn;
use crate::hooks::Point;
use crate::layout::Layout;
use crate::parameters::Parameters;
use crate::setup::{Evaluator, Garbler};
use crate::{Cheat, msg};
use brickwork_base::Error;
use brickwork_base::bits::Bits;
use brickwork_base::label::{Delta, LABEL_BYTES, Label, Labels};
use brickwork_base::pool;
use brickwork_base::random::Seed;
use brickwork_primitives::authenticator::{Authenticator, AuthenticatorKind, Hasher};
use brickwork_primitives::binding::RevealedCombinations;
use brickwork_primitives::commit::{
    Claimed, Claims, Committed, Lsb, New, Pending, Proof, Receiver as _, Sender as _, Shares,
};
use brickwork_primitives::receive;
use brickwork_primitives::solder::{GarblerWire, Soldering};

/// The garbler's commitments for inputs and outputs.
pub(super) struct GarblerInputs {
    /// Of input authenticators.
    offsets: Committed,
    wires: Committed,
    /// To the OTs' labels, those that mask behind the others.
    pub ots: Committed,
    /// To the wires of all inputs.
    pub inputs: Committed,
    /// To the wires of all outputs.
    pub outputs: Committed,
}

/// Shares of which single ones are quickly had, where they were made again before.
fn gathered(mut committed: Committed) -> Committed {
    committed.shares = std::mem::take(&mut committed.shares).gathered();
    committed
}

impl GarblerInputs {
    /// The same when they are proven to be commitments: claims name single ones.
    pub fn gathered(self) -> Self {
        let GarblerInputs { offsets, wires, ots, inputs, outputs } = self;
        let [offsets, wires, inputs, outputs] = [offsets, wires, inputs, outputs].map(gathered);
        GarblerInputs { offsets, wires, ots, inputs, outputs }
    }

    pub fn new_commitments(&self) -> [New<'_>; 5] {
        [&self.offsets, &self.wires, &self.ots, &self.inputs, &self.outputs].map(New::from)
    }

    /// A wire of an authenticator.
    fn authenticator(&self, k: usize) -> GarblerWire {
        GarblerWire { value: self.wires.values[k], delta: Delta::new(self.offsets.values[k].bits()) }
    }
}

/// Makes input authenticators, and commits to all of it.
pub(super) fn garbler_commits(
    party: &mut Garbler,
    layout: &Layout,
    parameters: &Parameters,
) -> Result<GarblerInputs, Error> {
    let Garbler { run, sender, hooks, session, ots, .. } = party;
    run.phase("prepare");
    let count = parameters.inputs.copies() as usize;
    let hasher = Hasher::new(session, AuthenticatorKind::Input);
    let offsets = sender.commit_random(&mut run.channel, count, Lsb::One)?;
    let deltas: Zeroizing<Vec<Delta>> =
        Zeroizing::new(offsets.values.iter().map(|offset| Delta::new(offset.bits())).collect());
    let mut values = Labels::new(hasher.false_labels(count, |k| (k as u64, deltas[k])));
    values
        .iter_mut()
        .zip(&*deltas)
        .for_each(|(value, &delta)| *value = GarblerWire::from_false_label(*value, delta).value);
    hooks.alter(Point::InputWires, &mut values);
    let wires = sender.commit(&mut run.channel, &values)?;
    let mut hashes = hasher.authenticators(count, |k| (k as u64, values[k].with_colour(0), deltas[k]));
    hooks.alter(Point::InputHashes, &mut hashes);
    run.channel.send(msg::AUTHENTICATORS, bytemuck::cast_slice(&hashes))?;
    let mut labels = Labels::new(ots.to_vec());
    hooks.alter(Point::OtLabels, &mut labels);
    let ots = sender.commit(&mut run.channel, &labels)?;
    let inputs = sender.commit_random(&mut run.channel, layout.inputs(), Lsb::Random)?;
    let outputs = sender.commit_random(&mut run.channel, layout.outputs.len(), Lsb::Random)?;
    Ok(GarblerInputs { offsets, wires, ots, inputs, outputs })
}

/// What is claimed of input authenticators and OTs, on either side.
pub(super) struct InputClaims {
    drawn: Drawn,
    /// s of the solderings in buckets, of each authenticator in a bucket that is no head; then of those to
    /// the wires of inputs.
    flips: Bits,
    revealed: RevealedCombinations,
}

/// What the evaluator was told of input authenticators.
pub(super) struct ToldInputs {
    /// Of opened ones: offset, and the wire that follows.
    offsets: Vec<Label>,
    wires: Vec<Label>,
    /// Of those in buckets.
    delta_differences: Vec<Label>,
    solderings: Vec<Soldering>,
}

impl InputClaims {
    /// States the claims. The commitments are those to offsets and wires of authenticators and to the wires
    /// of inputs.
    pub fn claim<'a>(
        &'a self,
        offset: &'a Shares,
        [offsets, wires, inputs]: [&'a Shares; 3],
        told: Option<&'a ToldInputs>,
        claims: &mut Claims<'a>,
    ) {
        let InputClaims { drawn, flips, revealed } = self;
        let value =
            move |of: fn(&ToldInputs) -> &[Label], k: usize| told.map_or(Label::ZERO, |told| of(told)[k]);
        claims.known(drawn.opened.len(), move |k, sum| {
            offsets.add(drawn.opened[k] as usize, sum);
            value(|told| &told.offsets, k)
        });
        claims.known(drawn.opened.len(), move |k, sum| {
            wires.add(drawn.opened[k] as usize, sum);
            value(|told| &told.wires, k)
        });
        claims.known(drawn.chosen.len(), move |k, sum| {
            offsets.add(drawn.chosen[k] as usize, sum);
            offset.add(0, sum);
            value(|told| &told.delta_differences, k)
        });
        let others = drawn.chosen.len() - drawn.buckets();
        claims.known(flips.len(), move |k, sum| {
            let flip = flips.get(k);
            if k < others {
                let (bucket, i) = (k / (drawn.size - 1), k % (drawn.size - 1) + 1);
                let (head, other) = (drawn.bucket(bucket)[0] as usize, drawn.bucket(bucket)[i] as usize);
                wires.add(head, sum);
                wires.add(other, sum);
                offsets.add_if(flip, other, sum);
            } else {
                wires.add(drawn.bucket(k - others)[0] as usize, sum);
                inputs.add(k - others, sum);
                offset.add_if(flip, 0, sum);
            }
            told.map_or(Label::ZERO, |told| told.solderings[k].opening())
        });
        revealed.claims(offset, claims);
    }
}

/// Opens what the challenge asks for, and joins the others into buckets and to the wires of inputs. Returns
/// the wires of the heads.
pub(super) fn garbler_opens(
    party: &mut Garbler,
    made: &GarblerInputs,
    parameters: &Parameters,
    seed: &Seed,
    revealed: RevealedCombinations,
) -> Result<(Zeroizing<Vec<GarblerWire>>, InputClaims), Error> {
    let Garbler { run, hooks, delta, .. } = party;
    run.phase("prepare");
    let drawn = Drawn::expand(seed, &parameters.inputs);
    let mut opened: Vec<Label> = drawn.opened.iter().map(|&k| made.offsets.values[k as usize]).collect();
    hooks.alter(Point::OpenedInputs, &mut opened);
    run.channel.send(msg::OPENED_INPUTS, bytemuck::cast_slice(&opened))?;
    let difference = |&k: &u32| made.offsets.values[k as usize] ^ **delta;
    let mut differences: Vec<Label> = drawn.chosen.iter().map(difference).collect();
    hooks.alter(Point::DeltaDifferences, &mut differences);
    run.channel.send(msg::DELTA_DIFFERENCES, bytemuck::cast_slice(&differences))?;

    let heads: Zeroizing<Vec<GarblerWire>> =
        Zeroizing::new(drawn.heads().iter().map(|&head| made.authenticator(head as usize)).collect());
    let mut solderings: Vec<Soldering> = Vec::with_capacity(drawn.chosen.len());
    for (bucket, head) in heads.iter().enumerate() {
        let others = drawn.bucket(bucket)[1..].iter();
        solderings.extend(others.map(|&k| Soldering::new(head.value, made.authenticator(k as usize))));
    }
    let input = |k: usize| GarblerWire { value: made.inputs.values[k], delta: **delta };
    solderings.extend(heads.iter().enumerate().map(|(k, head)| Soldering::new(head.value, input(k))));
    hooks.alter(Point::InputSolderings, &mut solderings);
    run.channel.send(msg::INPUT_SOLDERINGS, bytemuck::cast_slice(&solderings))?;
    let flips = flips(&solderings);
    Ok((heads, InputClaims { drawn, flips, revealed }))
}

impl GarblerInputs {
    /// States the claims about these.
    pub fn claim<'a>(&'a self, offset: &'a Shares, made: &'a InputClaims, claims: &mut Claims<'a>) {
        let shares = [&self.offsets.shares, &self.wires.shares, &self.inputs.shares];
        made.claim(offset, shares, None, claims);
    }
}

fn flips(solderings: &[Soldering]) -> Bits {
    let mut flips = Bits::zeros(solderings.len());
    solderings.iter().enumerate().for_each(|(k, soldering)| flips.add(k, soldering.flip()));
    flips
}

/// What the evaluator received. `C` is [`Pending`] or, after the proof, [`Shares`].
pub(super) struct EvaluatorInputs<C> {
    hashes: Vec<Authenticator>,
    offsets: C,
    wires: C,
    pub ots: C,
    pub inputs: C,
    pub outputs: C,
}

/// Receives it.
pub(super) fn evaluator_receives(
    party: &mut Evaluator,
    layout: &Layout,
    parameters: &Parameters,
) -> Result<EvaluatorInputs<Pending>, Error> {
    let Evaluator { run, receiver, choices, .. } = party;
    run.phase("prepare");
    let count = parameters.inputs.copies() as usize;
    // LOAD-BEARING: random, as the wires of wire authenticators are.
    let offsets = receiver.receive_random(&mut run.channel, count, Lsb::One)?;
    let wires = receiver.receive(&mut run.channel, count)?;
    let mut hashes = vec![Authenticator::default(); count];
    run.channel.receive_into(msg::AUTHENTICATORS, bytemuck::cast_slice_mut(&mut hashes))?;
    let ots = receiver.receive(&mut run.channel, choices.len())?;
    let inputs = receiver.receive_random(&mut run.channel, layout.inputs(), Lsb::Random)?;
    let outputs = receiver.receive_random(&mut run.channel, layout.outputs.len(), Lsb::Random)?;
    Ok(EvaluatorInputs { hashes, offsets, wires, ots, inputs, outputs })
}

impl EvaluatorInputs<Pending> {
    pub fn pending(&self) -> [&Pending; 5] {
        [&self.offsets, &self.wires, &self.ots, &self.inputs, &self.outputs]
    }

    /// What was received, now that it is proven: claims name single commitments.
    pub fn accept(self, proof: &Proof) -> EvaluatorInputs<Shares> {
        EvaluatorInputs {
            hashes: self.hashes,
            offsets: self.offsets.accept(proof).gathered(),
            wires: self.wires.accept(proof).gathered(),
            ots: self.ots.accept(proof),
            inputs: self.inputs.accept(proof).gathered(),
            outputs: self.outputs.accept(proof).gathered(),
        }
    }
}

/// What was told after the challenge.
pub(super) struct OpenedInputs {
    pub claims: InputClaims,
    pub told: Claimed<ToldInputs>,
}

/// Receives what the challenge asks for, and looks at it.
pub(super) fn evaluator_opens(
    party: &mut Evaluator,
    received: &EvaluatorInputs<Shares>,
    parameters: &Parameters,
    seed: &Seed,
    revealed: RevealedCombinations,
) -> Result<OpenedInputs, Error> {
    let Evaluator { run, receiver, session, .. } = party;
    run.phase("prepare");
    let drawn = Drawn::expand(seed, &parameters.inputs);
    let hasher = Hasher::new(session, AuthenticatorKind::Input);
    let offsets = receive::labels(&mut run.channel, msg::OPENED_INPUTS, drawn.opened.len())?;
    if offsets.iter().any(|offset| offset.colour() == 0) {
        return Err(Cheat::OffsetColour.into());
    }
    let offset = |k: usize| Delta::new(offsets[k].bits());
    let number = |k: usize| u64::from(drawn.opened[k]);
    let false_labels = hasher.false_labels(offsets.len(), |k| (number(k), offset(k)));
    let wire = |k: usize| GarblerWire::from_false_label(false_labels[k], offset(k));
    let made = hasher.authenticators(offsets.len(), |k| (number(k), wire(k).base(), offset(k)));
    if drawn.opened.iter().zip(made).any(|(&k, made)| received.hashes[k as usize] != made) {
        return Err(Cheat::InputAuthenticator.into());
    }
    let wires = (0..offsets.len()).map(|k| wire(k).value).collect();
    let delta_differences = receive::labels(&mut run.channel, msg::DELTA_DIFFERENCES, drawn.chosen.len())?;
    if delta_differences.iter().any(|difference| difference.colour() == 1) {
        return Err(Cheat::DeltaDifferenceColour.into());
    }
    let mut solderings = vec![Soldering::default(); drawn.chosen.len()];
    run.channel.receive_into(msg::INPUT_SOLDERINGS, bytemuck::cast_slice_mut(&mut solderings))?;
    let flips = flips(&solderings);
    let told = receiver.claimed(ToldInputs { offsets, wires, delta_differences, solderings });
    Ok(OpenedInputs { claims: InputClaims { drawn, flips, revealed }, told })
}

impl EvaluatorInputs<Shares> {
    /// States the claims about these.
    pub fn claim<'a>(&'a self, offset: &'a Shares, opened: &'a OpenedInputs, claims: &mut Claims<'a>) {
        claims.about(&opened.told, |told, claims| {
            opened.claims.claim(offset, [&self.offsets, &self.wires, &self.inputs], Some(told), claims);
        });
    }

    /// The authenticators in buckets, when all that was told is proven.
    pub fn proven(&self, party: &Evaluator, opened: OpenedInputs, proof: &Proof) -> InputBuckets {
        let OpenedInputs { claims: InputClaims { drawn, .. }, told } = opened;
        let ToldInputs { delta_differences, solderings, .. } = told.proven(proof);
        InputBuckets {
            hasher: Hasher::new(&party.session, AuthenticatorKind::Input),
            hashes: drawn.chosen.iter().map(|&k| self.hashes[k as usize]).collect(),
            size: drawn.size,
            numbers: drawn.chosen,
            delta_differences,
            solderings,
        }
    }
}

/// Buckets of input authenticators, as the evaluator has them.
pub(super) struct InputBuckets {
    hasher: Hasher,
    size: usize,
    numbers: Vec<u32>,
    hashes: Vec<Authenticator>,
    delta_differences: Vec<Label>,
    solderings: Vec<Soldering>,
}

impl InputBuckets {
    fn buckets(&self) -> usize {
        self.numbers.len() / self.size
    }

    /// The label that one on the head of a bucket becomes on another of its authenticators.
    fn carry(&self, bucket: usize, i: usize, label: Label) -> Label {
        let difference = |i: usize| self.delta_differences[bucket * self.size + i];
        match i {
            0 => label,
            _ => {
                self.solderings[bucket * (self.size - 1) + i - 1].carry(label, difference(0) ^ difference(i))
            }
        }
    }

    /// InputG: of each label, one for the head of each bucket, whether a strict majority accepts it.
    pub fn accept(&self, labels: &[Label]) -> bool {
        let query = |k: usize| {
            let (bucket, i) = (k / self.size, k % self.size);
            (self.hashes[k], u64::from(self.numbers[k]), self.carry(bucket, i, labels[bucket]))
        };
        let votes = self.hasher.accepts(labels.len() * self.size, query);
        votes.chunks_exact(self.size).all(|votes| 2 * votes.iter().filter(|&&vote| vote).count() > self.size)
    }

    /// The labels on the wires of the inputs, of those on the heads.
    pub fn carried(&self, labels: &[Label]) -> Labels {
        let to_wires = &self.solderings[self.numbers.len() - self.buckets()..];
        let differences = self.delta_differences.iter().step_by(self.size);
        let carried = labels.iter().zip(to_wires).zip(differences);
        Labels::new(carried.map(|((&label, soldering), &offsets)| soldering.carry(label, offsets)).collect())
    }

    /// RecoverInputBit of all of the garbler's inputs, from Δ: 1 where in a strict majority of a bucket the
    /// label is H(Δ_j) ⊕ Δ_j.
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

/// What the evaluator shows of its OTs, sent.
pub(super) fn evaluator_reveals(
    party: &mut Evaluator,
    committed: &Shares,
    binding: usize,
) -> Result<RevealedCombinations, Error> {
    let Evaluator { run, rng, hooks, choices, ots, .. } = party;
    run.phase("prepare");
    let (revealed, mut message) = RevealedCombinations::reveal(rng, choices, ots, committed, binding);
    hooks.alter(Point::OtBinding, &mut message);
    run.channel.send(msg::OT_BINDING, &message)?;
    run.channel.flush()?;
    Ok(revealed)
}

/// Receives it and checks all of it: nothing may be opened before.
pub(super) fn garbler_checks(
    party: &mut Garbler,
    made: &GarblerInputs,
    binding: usize,
) -> Result<RevealedCombinations, Error> {
    let Garbler { run, ots, delta, .. } = party;
    run.phase("prepare");
    let message = run.channel.receive(msg::OT_BINDING, RevealedCombinations::bytes(binding))?;
    RevealedCombinations::checked(&message, ots, **delta, &made.ots.shares, binding)
        .ok_or_else(|| Cheat::OtBinding.into())
}

/// Bytes of a label, for messages.
pub(super) const LABEL: usize = LABEL_BYTES;
