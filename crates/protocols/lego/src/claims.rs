//! What is claimed of gates and wire authenticators after their challenges. Each of their wires is in one
//! claim of its own: an opened one is what it was opened to, another differs by its soldering from the wire
//! of the head of its bucket. So claims follow the commitments in the order in which they were made, and only
//! the heads are weighted.

use std::sync::Arc;

use crate::drawn::Drawn;
use brickwork_base::bits::Bits;
use brickwork_base::label::Label;
use brickwork_base::pool;
use brickwork_primitives::commit::{Claims, Each, Selection, Shares};
use brickwork_primitives::solder::Soldering;

/// The claims, on either side.
pub(super) struct GateClaims {
    pub gates: Drawn,
    pub wires: Drawn,
    /// Whether the offset is part of a claim: about the inputs and outputs of gates, and about
    /// authenticators.
    pub flips: [Bits; 3],
    /// All commitments: to the inputs and outputs of gates, and to wires of authenticators.
    pub shares: [Shares; 3],
    /// Those to inputs and outputs of heads.
    pub head_inputs: Shares,
    pub head_outputs: Shares,
}

/// What the evaluator was told.
pub(super) struct Told {
    /// Of opened gates, `[gate][side]`, and what therefore their outputs must be.
    pub inputs: Vec<Label>,
    pub outputs: Vec<Label>,
    /// Of opened authenticators.
    pub wires: Vec<Label>,
    /// Of each gate that is no head: left, right, output.
    pub gate_solderings: Vec<[Soldering; 3]>,
    /// Of each authenticator in a bucket.
    pub wire_solderings: Vec<Soldering>,
}

impl GateClaims {
    /// Of all commitments to gates and authenticators, with the challenges.
    pub fn new(gates: Drawn, wires: Drawn, flips: [Bits; 3], shares: [Shares; 3]) -> Self {
        let heads = |each| Arc::new(pool::compute(|| Selection::new(gates.heads(), each)));
        let (head_inputs, head_outputs) = (shares[0].pick(&heads(2)), shares[1].pick(&heads(1)));
        GateClaims { gates, wires, flips, shares, head_inputs, head_outputs }
    }

    /// States the claims.
    pub fn claim<'a>(&'a self, offset: &'a Shares, told: Option<&'a Told>, claims: &mut Claims<'a>) {
        let GateClaims { gates, wires, flips: [input_flips, output_flips, wire_flips], shares, .. } = self;
        let [inputs, outputs, authenticators] = shares;
        let not_a_head = |gate: usize| match gates.place(gate) {
            Ok(_) => 1,
            Err(k) => u8::from(gates.other(k).is_some()),
        };

        let value = move |gate: usize, sides: std::ops::Range<usize>, values: &mut [Label]| {
            let Some(told) = told else { return };
            for (value, side) in values.iter_mut().zip(sides) {
                *value = match gates.place(gate) {
                    Ok(k) => told.inputs[2 * k + side],
                    Err(k) => gates.other(k).map_or(Label::ZERO, |k| told.gate_solderings[k][side].opening()),
                };
            }
        };
        let each = Each::new(gates.items(), 2).are(value).with(inputs, move |gate, _| not_a_head(gate));
        let of_inputs = claims.each(each.with_one(offset, |gate, side| input_flips.get(2 * gate + side)));

        let value = move |gate: usize, _, values: &mut [Label]| {
            let Some(told) = told else { return };
            values[0] = match gates.place(gate) {
                Ok(k) => told.outputs[k],
                Err(k) => gates.other(k).map_or(Label::ZERO, |k| told.gate_solderings[k][2].opening()),
            };
        };
        let each = Each::new(gates.items(), 1).are(value).with(outputs, move |gate, _| not_a_head(gate));
        let of_outputs = claims.each(each.with_one(offset, |gate, _| output_flips.get(gate)));

        let value = move |wire: usize, _, values: &mut [Label]| {
            let Some(told) = told else { return };
            values[0] = match wires.place(wire) {
                Ok(k) => told.wires[k],
                Err(k) => told.wire_solderings[k].opening(),
            };
        };
        let each = Each::new(wires.items(), 1).are(value).with(authenticators, |_, _| 1);
        let of_wires = claims.each(each.with_one(offset, |wire, _| wire_flips.get(wire)));

        claims.weighted(&self.head_inputs, move |weights, first, sums| {
            for (sum, k) in sums.iter_mut().zip(first..) {
                let others = &gates.bucket(k / 2)[1..];
                *sum ^= others
                    .iter()
                    .fold(0, |sum, &gate| sum ^ weights.of(of_inputs, 2 * gate as usize + k % 2));
            }
        });
        claims.weighted(&self.head_outputs, move |weights, first, sums| {
            for (sum, k) in sums.iter_mut().zip(first..) {
                let others = gates.bucket(k)[1..].iter().map(|&gate| weights.of(of_outputs, gate as usize));
                let guards = wires.bucket(k).iter().map(|&wire| weights.of(of_wires, wire as usize));
                *sum ^= others.chain(guards).fold(0, |sum, weight| sum ^ weight);
            }
        });
    }
}
