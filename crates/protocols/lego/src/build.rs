//! Build: the heads of buckets become the program.
//!
//! ```text
//!   garbler -> evaluator    solderings to both inputs of each AND gate, and to the outputs
//!                           claims: all of them
//! ```
//!
//! A joint takes the sum of some sources, by XOR gates, and perhaps its negation. With one offset the labels
//! of the sum are the sums of labels, and the commitment to it the sum of commitments, in which `base|σ`
//! stands for `base` and `σ` alike; a negation flips σ, which everybody knows. So XOR and INV cost nothing,
//! and a joint one soldering. Of a proof's combination each commitment needs its weight, the sum over all
//! joints that it is part of: they are found in one walk from the outputs to the inputs.

use std::sync::{Arc, OnceLock};

use crate::claims::GateClaims;
use crate::hooks::Point;
use crate::inputs::GarblerInputs;
use crate::layout::{Layout, Weighted};
use crate::msg;
use crate::preprocess::GarblerBuckets;
use crate::setup::{Evaluator, Garbler};
use brickwork_base::Error;
use brickwork_base::bits::Bits;
use brickwork_base::label::{Label, Labels};
use brickwork_primitives::commit::{Claimed, Claims, Each, Receiver as _, Shares};
use brickwork_primitives::solder::{GarblerWire, Soldering};

/// What is claimed of a program's joints, on either side.
pub(super) struct ProgramClaims {
    /// s of each soldering.
    flips: Bits,
    /// Of each joint whether its sum is negated; the garbler needs none.
    negated: Vec<u8>,
}

impl ProgramClaims {
    fn new(solderings: &[Soldering], negated: Vec<u8>) -> Self {
        let mut flips = Bits::zeros(solderings.len());
        solderings.iter().enumerate().for_each(|(k, soldering)| flips.add(k, soldering.flip()));
        ProgramClaims { flips, negated }
    }

    /// States the claims. The commitments are those to the wires of inputs and of outputs.
    pub fn claim<'a>(
        &'a self,
        layout: &'a Layout,
        offset: &'a Shares,
        gates: &'a GateClaims,
        [inputs, outputs]: [&'a Shares; 2],
        told: Option<&'a [Soldering]>,
        claims: &mut Claims<'a>,
    ) {
        let ProgramClaims { flips, negated } = self;
        let value = move |joint: usize, _, values: &mut [Label]| {
            if let Some(told) = told {
                values[0] = told[joint].opening().with_colour(negated[joint]);
            }
        };
        let each = Each::new(layout.joints(), 1).are(value);
        let joints = claims.each(each.with_one(offset, |joint, _| flips.get(joint)));
        let first_output = 2 * layout.ands;
        for (shares, offset) in [(&gates.head_inputs, 0), (outputs, first_output)] {
            claims.weighted(shares, move |weights, first, sums| {
                sums.iter_mut().zip(weights.from(joints, offset + first)).for_each(|(sum, w)| *sum ^= w);
            });
        }
        // Found once, for the proof that these claims are made for: another one draws other weights.
        let sources = Arc::new(OnceLock::<Weighted>::new());
        for (shares, of_inputs) in [(inputs, true), (&gates.head_outputs, false)] {
            let sources = sources.clone();
            claims.weighted(shares, move |weights, first, sums| {
                let found = sources.get_or_init(|| {
                    layout.weigh(|joint| {
                        let left = layout.joints() - joint;
                        // There is no weight behind the last claim.
                        (left > 0).then(|| weights.from(joints, joint).take(left)).into_iter().flatten()
                    })
                });
                let found = if of_inputs { &found.inputs } else { &found.ands };
                sums.iter_mut().zip(&found[first..]).for_each(|(sum, weight)| *sum ^= weight);
            });
        }
    }
}

/// Sends the solderings.
pub(super) fn garbler(
    party: &mut Garbler,
    layout: &Layout,
    buckets: &GarblerBuckets,
    inputs: &GarblerInputs,
) -> Result<ProgramClaims, Error> {
    let Garbler { run, hooks, delta, .. } = party;
    run.phase("build");
    let wire = |value| GarblerWire { value, delta: **delta };
    let mut solderings = Vec::with_capacity(layout.joints());
    let and = |gate: usize, left, right| {
        for (side, from) in [left, right].into_iter().enumerate() {
            solderings.push(Soldering::new(from, wire(buckets.inputs[2 * gate + side])));
        }
        buckets.outputs[gate]
    };
    let negate = |value| value ^ Label::from_bits(1);
    let sums = Labels::new(layout.walk(&inputs.inputs.values, and, |a, b| a ^ b, negate));
    let outputs = sums.iter().zip(&inputs.outputs.values);
    solderings.extend(outputs.map(|(&sum, &output)| Soldering::new(sum, wire(output))));
    hooks.alter(Point::Solderings, &mut solderings);
    run.channel.send(msg::SOLDERINGS, bytemuck::cast_slice(&solderings))?;
    Ok(ProgramClaims::new(&solderings, Vec::new()))
}

/// Receives them.
pub(super) fn evaluator(
    party: &mut Evaluator,
    layout: &Layout,
) -> Result<(ProgramClaims, Claimed<Vec<Soldering>>), Error> {
    let Evaluator { run, receiver, .. } = party;
    run.phase("build");
    let mut solderings = vec![Soldering::default(); layout.joints()];
    run.channel.receive_into(msg::SOLDERINGS, bytemuck::cast_slice_mut(&mut solderings))?;
    let claims = ProgramClaims::new(&solderings, layout.negated());
    Ok((claims, receiver.claimed(solderings)))
}
