//! Evaluate: both parties' inputs become labels, and the evaluator evaluates every gate.
//!
//! ```text
//!   evaluator -> garbler    f = y ⊕ b: its input bits, masked with its OT choices;  seed
//!   garbler -> evaluator    answer: all that was claimed before is true
//!                           a label for each of its own input bits, for each of E's an opening,
//!                           σ of the outputs
//!   evaluator -> garbler    seed;   garbler -> evaluator    answer
//! ```
//!
//! An input of E has the committed wire `base|σ` and an OT with label R. Let f be the input bit y masked with
//! the choice bit b, and `e = f ⊕ σ`. G sends `V = base ⊕ R ⊕ e·Δ`. E has `T = R ⊕ b·Δ`, and reads `e =
//! lsb(V) ⊕ lsb(T) ⊕ b`. E claims that `C ⊕ C_R ⊕ e·D` opens to V, if the lowest bit of V is replaced by
//! `lsb(T) ⊕ y`. The label of the input is `V ⊕ T`. E's decision does not depend on y, because the claim is a
//! function of f, R and V (docs/concepts/security.md, section 7).
//!
//! After E has sent the seed of the proof, it sends nothing until all gates are evaluated ([`crate::walk`],
//! [`crate::vote`]) and recovery is done (`decode`).

use zeroize::Zeroizing;

use crate::hooks::Point;
use crate::inputs::by_batch;
use crate::layout::Layout;
use crate::ots::{EvaluatorOts, GarblerOts};
use crate::setup::{Evaluator, Garbler};
use crate::walk::Ordered;
use crate::{Cheat, msg};
use brickwork_base::Error;
use brickwork_base::bits;
use brickwork_base::label::{LABEL_BYTES, Label};
use brickwork_primitives::Labels;
use brickwork_primitives::commit::{
    self, Claimed, Claims, Committed, EachClaim, Proof, Receiver as _, Shares,
};
use brickwork_primitives::solder::GarblerWire;

/// The garbler's state of a program for which only the inputs are missing.
pub(super) struct GarblerReady {
    /// The wires for which the garbler sends the labels of its inputs.
    pub heads: Zeroizing<Vec<GarblerWire>>,
    pub ots: GarblerOts,
    /// The committed wires of the outputs.
    pub outputs: Committed,
}

/// Receives the masked input bits f of the evaluator.
pub(super) fn garbler_receives<C: commit::CommitmentScheme>(
    party: &mut Garbler<C>,
    layout: &Layout,
) -> Result<Vec<u8>, Error> {
    party.run.phase("evaluate");
    let count = layout.evaluator;
    Ok(bits::unpack(&party.run.channel.receive(msg::MASKED_INPUT, count.div_ceil(8))?, count)?)
}

/// The garbler's claims about inputs and outputs. It has e for each input of the evaluator.
pub(super) struct GivenLabels(Vec<u8>);

/// Sends the labels of both parties' inputs, and σ of the outputs. `input` has the bits of the garbler's
/// ports, and the masks of its outputs.
pub(super) fn garbler_gives<C: commit::CommitmentScheme>(
    party: &mut Garbler<C>,
    layout: &Layout,
    ready: &GarblerReady,
    input: &[bool],
    masked: &[u8],
) -> Result<GivenLabels, Error> {
    let Garbler { run, hooks, delta, .. } = party;
    run.phase("evaluate");
    let GarblerReady { heads, ots, outputs } = ready;
    let own = heads.iter().zip(input).map(|(head, &bit)| head.of_bit(u8::from(bit)));
    let wire = |k: usize| GarblerWire { value: ots.wires.values[k], delta: **delta };
    let e: Vec<u8> = masked.iter().enumerate().map(|(k, f)| f ^ wire(k).indicator()).collect();
    let theirs = (0..layout.evaluator).map(|k| wire(k).base() ^ ots.labels[k] ^ delta.times(e[k]));
    let mut labels = Labels::new(own.chain(theirs).collect());
    hooks.alter(Point::InputLabels, &mut labels);
    let mut sigma: Vec<u8> = outputs.values.iter().map(|value| value.colour()).collect();
    hooks.alter(Point::Indicators, &mut sigma);
    let message = [bytemuck::cast_slice(&labels), &bits::pack(sigma.iter().copied())].concat();
    run.channel.send(msg::INPUT_LABELS, &message)?;
    Ok(GivenLabels(e))
}

impl GivenLabels {
    /// States the claims about the sent values.
    pub fn claim<'a>(&'a self, offset: &'a Shares, ready: &'a GarblerReady, claims: &mut Claims<'a>) {
        let GarblerReady { ots, outputs, .. } = ready;
        let e = &self.0;
        let each =
            EachClaim::new(e.len(), 1).with(&ots.committed, |_, _| 1).with(&ots.wires.shares, |_, _| 1);
        claims.each(each.with_one(offset, |k, _| e[k]));
        claims.bits(outputs.values.len(), |k, sum| {
            outputs.shares.add(k, sum);
            outputs.values[k]
        });
    }
}

/// Sends f. It reveals nothing and does not depend on the garbler's messages.
pub(super) fn evaluator_sends<C: commit::CommitmentScheme>(
    party: &mut Evaluator<C>,
    ots: &EvaluatorOts,
    input: &[bool],
) -> Result<(), Error> {
    party.run.phase("evaluate");
    let masked = input.iter().zip(ots.choices.iter()).map(|(&y, b)| u8::from(y) ^ b);
    party.run.channel.send(msg::MASKED_INPUT, &bits::pack(masked))
}

/// Labels of both inputs and indicator bits of the outputs, as the evaluator received them.
pub(super) struct ReceivedLabels {
    /// Labels of the garbler's inputs, then V of the evaluator's inputs, and σ of the outputs.
    claimed: Claimed<(Labels, Vec<u8>)>,
    /// The number of the garbler's inputs.
    garbler: usize,
}

/// Receives the labels and indicator bits.
pub(super) fn evaluator_receives<C: commit::CommitmentScheme>(
    party: &mut Evaluator<C>,
    layout: &Layout,
) -> Result<ReceivedLabels, Error> {
    let Evaluator { run, receiver, .. } = party;
    run.phase("evaluate");
    let (labels, outputs) = (layout.inputs() * LABEL_BYTES, layout.outputs.len());
    let message = Zeroizing::new(run.channel.receive(msg::INPUT_LABELS, labels + outputs.div_ceil(8))?);
    let (sent, sigma) = message.split_at(labels);
    let label = |bytes: &[u8]| Label::from_bytes(bytes.try_into().expect("16 bytes"));
    let sent = Labels::new(sent.chunks_exact(LABEL_BYTES).map(label).collect());
    let sigma = bits::unpack(sigma, outputs)?;
    Ok(ReceivedLabels { claimed: receiver.claimed((sent, sigma)), garbler: layout.garbler })
}

impl ReceivedLabels {
    /// States the claims about the received values.
    pub fn claim<'a>(
        &'a self,
        offset: &'a Shares,
        ots: &'a EvaluatorOts,
        outputs: &'a Shares,
        input: &'a [bool],
        claims: &mut Claims<'a>,
    ) {
        claims.about(&self.claimed, |(sent, sigma), claims| {
            let sent = &sent[self.garbler..];
            let EvaluatorOts { committed, wires, choices, labels } = ots;
            let e = |k: usize| sent[k].colour() ^ labels[k].colour() ^ choices[k];
            let opening = |k: usize, _, values: &mut [Label]| {
                values[0] = sent[k].with_colour(labels[k].colour() ^ u8::from(input[k]));
            };
            let each = EachClaim::new(sent.len(), 1).are(opening);
            let each = each.with(committed, |_, _| 1).with(wires, |_, _| 1);
            claims.each(each.with_one(offset, move |k, _| e(k)));
            claims.bits(sigma.len(), |k, sum| {
                outputs.add(k, sum);
                Label::ZERO.with_colour(sigma[k])
            });
        });
    }

    /// Returns the values after their proof: labels of the garbler's inputs, V of the evaluator's inputs, and
    /// σ.
    pub fn proven(self, proof: &Proof) -> (Labels, Labels, Vec<u8>) {
        let (sent, sigma) = self.claimed.proven(proof);
        let (given, theirs) = sent.split_at(self.garbler);
        (Labels::new(given.to_vec()), Labels::new(theirs.to_vec()), sigma)
    }
}

pub(super) struct EvaluatedProgram {
    /// The labels that the garbler sent for its inputs. They belong to the heads of the authenticators'
    /// buckets.
    pub given: Labels,
    /// A valid label for each output, and σ.
    pub outputs: Labels,
    pub sigma: Vec<u8>,
    /// Δ if a bucket gave two valid labels, otherwise zero.
    pub delta: Zeroizing<Label>,
}

/// Checks the labels of the garbler's inputs, and evaluates all gates.
pub(super) fn evaluator<C: commit::CommitmentScheme>(
    party: &mut Evaluator<C>,
    layout: &Layout,
    ordered: &mut Ordered,
    ots: &EvaluatorOts,
    (given, theirs, sigma): (Labels, Labels, Vec<u8>),
) -> Result<EvaluatedProgram, Error> {
    party.run.phase("evaluate");
    if by_batch(&ordered.inputs, &given).any(|(buckets, labels)| !buckets.accept(labels)) {
        return Err(Cheat::InputLabel.into());
    }
    let mut inputs = Labels::new(Vec::with_capacity(layout.inputs()));
    for (buckets, labels) in by_batch(&ordered.inputs, &given) {
        inputs.extend(buckets.carried(labels));
    }
    inputs.extend(theirs.iter().zip(ots.labels.iter()).map(|(&v, &t)| v ^ t));
    let (outputs, delta) = ordered.walk(layout, &inputs, &mut party.hooks)?;
    Ok(EvaluatedProgram { given, outputs, sigma, delta })
}
