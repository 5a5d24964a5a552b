//! Build: connects the heads of buckets according to the program.
//!
//! ```text
//!   garbler -> evaluator    commitments to the wires of the outputs (random);
//!                           solderings to both inputs of each AND gate, and to the outputs
//!                           claims: all of them
//! ```
//!
//! The source of a soldering is a sum of wires, by XOR gates, and possibly its negation. All wires have one
//! offset, so the label of a sum is the sum of the labels, and its commitment is the sum of the commitments.
//! This holds for both components of `base|σ`. A negation flips σ, and everybody knows where negations are.
//! So XOR and INV cost nothing. In the combination of a proof, a commitment has the sum of the weights of all
//! solderings that contain it. One pass from the outputs to the inputs computes all weights.

use std::sync::{Arc, OnceLock};

use crate::hooks::Point;
use crate::layout::{Layout, Weighted};
use crate::msg;
use crate::preprocess::GarblerHeads;
use crate::setup::{Evaluator, Garbler};
use brickwork_base::Error;
use brickwork_base::bits::Bits;
use brickwork_base::label::Label;
use brickwork_primitives::Labels;
use brickwork_primitives::commit::{
    self, Claimed, Claims, Committed, EachClaim, Lsb, Pending, Receiver as _, Sender as _, Shares,
};
use brickwork_primitives::solder::{GarblerWire, Soldering};

/// The commitments between which a program's solderings lead, at either party: inputs and outputs of heads,
/// wires of both parties' inputs, and wires of the outputs.
#[derive(Clone, Copy)]
pub(super) struct CommittedWires<'a> {
    pub heads: [&'a Shares; 2],
    pub inputs: [&'a Shares; 2],
    pub outputs: &'a Shares,
}

/// The claims about a program's solderings, at either party.
pub(super) struct ProgramClaims {
    /// For each soldering, the bit s: 1 if it exchanges the two labels.
    flips: Bits,
    /// For each soldering, 1 if its sum of wires is negated. Only the evaluator needs it.
    negated: Vec<u8>,
}

impl ProgramClaims {
    fn new(solderings: &[Soldering], negated: Vec<u8>) -> Self {
        let mut flips = Bits::zeros(solderings.len());
        solderings.iter().enumerate().for_each(|(k, soldering)| flips.add(k, soldering.flip()));
        ProgramClaims { flips, negated }
    }

    /// States the claims.
    pub fn claim<'a>(
        &'a self,
        layout: &'a Layout,
        offset: &'a Shares,
        wires: CommittedWires<'a>,
        received: Option<&'a [Soldering]>,
        claims: &mut Claims<'a>,
    ) {
        let ProgramClaims { flips, negated } = self;
        let value = move |k: usize, _, values: &mut [Label]| {
            if let Some(received) = received {
                values[0] = received[k].opening().with_colour(negated[k]);
            }
        };
        let each = EachClaim::new(layout.solderings(), 1).are(value);
        let solderings = claims.each(each.with_one(offset, |k, _| flips.get(k)));
        let [inputs_of_heads, outputs_of_heads] = wires.heads;
        let first_output = 2 * layout.ands;
        for (shares, offset) in [(inputs_of_heads, 0), (wires.outputs, first_output)] {
            claims.weighted(shares, move |weights, first, sums| {
                sums.iter_mut().zip(weights.from(solderings, offset + first)).for_each(|(sum, w)| *sum ^= w);
            });
        }
        // The weights are computed once, because the claims serve one proof.
        let sources = Arc::new(OnceLock::<Weighted>::new());
        let [of_garbler, of_evaluator] = wires.inputs;
        for (shares, of_inputs, before) in
            [(of_garbler, true, 0), (of_evaluator, true, layout.garbler), (outputs_of_heads, false, 0)]
        {
            let sources = sources.clone();
            claims.weighted(shares, move |weights, first, sums| {
                let found = sources.get_or_init(|| {
                    layout.weigh(|k| {
                        let left = layout.solderings() - k;
                        // After the last claim there are no weights.
                        (left > 0).then(|| weights.from(solderings, k).take(left)).into_iter().flatten()
                    })
                });
                let found = if of_inputs { &found.inputs } else { &found.ands };
                let found = &found[before + first..];
                sums.iter_mut().zip(found).for_each(|(sum, weight)| *sum ^= weight);
            });
        }
    }
}

pub(super) fn garbler_commits<C: commit::CommitmentScheme>(
    party: &mut Garbler<C>,
    layout: &Layout,
) -> Result<Committed, Error> {
    let Garbler { run, sender, .. } = party;
    run.phase("build");
    sender.commit_random(&mut run.channel, layout.outputs.len(), Lsb::Random)
}

/// Sends the solderings. `inputs` and `outputs` are the committed wires.
pub(super) fn garbler<C: commit::CommitmentScheme>(
    party: &mut Garbler<C>,
    layout: &Layout,
    heads: &GarblerHeads,
    inputs: [&Committed; 2],
    outputs: &Committed,
) -> Result<ProgramClaims, Error> {
    let Garbler { run, hooks, delta, .. } = party;
    run.phase("build");
    let wire = |value| GarblerWire { value, delta: **delta };
    let mut solderings = Vec::with_capacity(layout.solderings());
    let and = |gate: usize, left, right| {
        for (side, from) in [left, right].into_iter().enumerate() {
            solderings.push(Soldering::new(from, wire(heads.inputs.values[2 * gate + side])));
        }
        heads.outputs.values[gate]
    };
    let negate = |value| value ^ Label::from_bits(1);
    let inputs = Labels::new(inputs.map(|wires| &wires.values[..]).concat());
    let sums = Labels::new(layout.walk(&inputs, and, |a, b| a ^ b, negate));
    let to_outputs = sums.iter().zip(&outputs.values);
    solderings.extend(to_outputs.map(|(&sum, &output)| Soldering::new(sum, wire(output))));
    hooks.alter(Point::Solderings, &mut solderings);
    run.channel.send(msg::SOLDERINGS, bytemuck::cast_slice(&solderings))?;
    Ok(ProgramClaims::new(&solderings, Vec::new()))
}

/// Receives the commitments to the wires of the outputs.
pub(super) fn evaluator_receives<C: commit::CommitmentScheme>(
    party: &mut Evaluator<C>,
    layout: &Layout,
) -> Result<Pending, Error> {
    let Evaluator { run, receiver, .. } = party;
    run.phase("build");
    receiver.receive_random(&mut run.channel, layout.outputs.len(), Lsb::Random)
}

/// Receives the solderings.
pub(super) fn evaluator<C: commit::CommitmentScheme>(
    party: &mut Evaluator<C>,
    layout: &Layout,
) -> Result<(ProgramClaims, Claimed<Vec<Soldering>>), Error> {
    let Evaluator { run, receiver, .. } = party;
    run.phase("build");
    let mut solderings = vec![Soldering::default(); layout.solderings()];
    run.channel.receive_into(msg::SOLDERINGS, bytemuck::cast_slice_mut(&mut solderings))?;
    let claims = ProgramClaims::new(&solderings, layout.negated());
    Ok((claims, receiver.claimed(solderings)))
}
