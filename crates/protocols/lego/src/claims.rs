//! The claims about gates and wire authenticators after their challenges. Each wire of these items is in
//! exactly one claim. An opened wire has the opened value. Any other wire differs, by its soldering, from a
//! wire of the head of its bucket. So the claims have the order of the commitments, and only the heads need
//! weights.

use std::sync::Arc;

use crate::assignment::Assignment;
use brickwork_base::bits::Bits;
use brickwork_base::label::Label;
use brickwork_base::pool;
use brickwork_primitives::commit::{Claims, EachClaim, Selection, Shares};
use brickwork_primitives::solder::Soldering;

/// The claims about gates and wire authenticators, at either party.
pub(super) struct GateClaims {
    pub gates: Assignment,
    pub wires: Assignment,
    /// For each claim, whether it contains the offset: for inputs of gates, outputs of gates, and
    /// authenticators.
    pub flips: [Bits; 3],
    /// All commitments: to inputs of gates, to outputs of gates, and to wires of authenticators.
    pub shares: [Shares; 3],
}

/// The items that the evaluator received after its challenge.
pub(super) struct OpenedItems {
    /// The labels of the inputs of opened gates, `[gate][left or right]`, which determine the gates' outputs.
    pub inputs: Vec<Label>,
    pub outputs: Vec<Label>,
    /// The wires of opened authenticators.
    pub wires: Vec<Label>,
    /// For each gate that is not a head, the solderings of its left, right and output wire.
    pub gate_solderings: Vec<[Soldering; 3]>,
    /// The soldering of each authenticator in a bucket.
    pub wire_solderings: Vec<Soldering>,
}

impl GateClaims {
    /// Selects the commitments to the inputs and the outputs of the heads.
    pub fn heads(&self) -> [Shares; 2] {
        let selected = |each| Arc::new(pool::compute(|| Selection::new(self.gates.heads(), each)));
        [self.shares[0].pick(&selected(2)), self.shares[1].pick(&selected(1))]
    }

    /// States the claims. `heads` are those that [`GateClaims::heads`] selected.
    pub fn claim<'a>(
        &'a self,
        offset: &'a Shares,
        heads: [&'a Shares; 2],
        opened: Option<&'a OpenedItems>,
        claims: &mut Claims<'a>,
    ) {
        let GateClaims { gates, wires, flips: [input_flips, output_flips, wire_flips], shares, .. } = self;
        let [inputs, outputs, authenticators] = shares;
        let not_a_head = |gate: usize| match gates.place(gate) {
            Ok(_) => 1,
            Err(k) => u8::from(gates.other(k).is_some()),
        };

        let value = move |gate: usize, sides: std::ops::Range<usize>, values: &mut [Label]| {
            let Some(opened) = opened else { return };
            for (value, side) in values.iter_mut().zip(sides) {
                *value = match gates.place(gate) {
                    Ok(k) => opened.inputs[2 * k + side],
                    Err(k) => {
                        gates.other(k).map_or(Label::ZERO, |k| opened.gate_solderings[k][side].opening())
                    }
                };
            }
        };
        let each = EachClaim::new(gates.items(), 2).are(value).with(inputs, move |gate, _| not_a_head(gate));
        let of_inputs = claims.each(each.with_one(offset, |gate, side| input_flips.get(2 * gate + side)));

        let value = move |gate: usize, _, values: &mut [Label]| {
            let Some(opened) = opened else { return };
            values[0] = match gates.place(gate) {
                Ok(k) => opened.outputs[k],
                Err(k) => gates.other(k).map_or(Label::ZERO, |k| opened.gate_solderings[k][2].opening()),
            };
        };
        let each = EachClaim::new(gates.items(), 1).are(value).with(outputs, move |gate, _| not_a_head(gate));
        let of_outputs = claims.each(each.with_one(offset, |gate, _| output_flips.get(gate)));

        let value = move |wire: usize, _, values: &mut [Label]| {
            let Some(opened) = opened else { return };
            values[0] = match wires.place(wire) {
                Ok(k) => opened.wires[k],
                Err(k) => opened.wire_solderings[k].opening(),
            };
        };
        let each = EachClaim::new(wires.items(), 1).are(value).with(authenticators, |_, _| 1);
        let of_wires = claims.each(each.with_one(offset, |wire, _| wire_flips.get(wire)));

        claims.weighted(heads[0], move |weights, first, sums| {
            for (sum, k) in sums.iter_mut().zip(first..) {
                let others = &gates.bucket(k / 2)[1..];
                *sum ^= others
                    .iter()
                    .fold(0, |sum, &gate| sum ^ weights.of(of_inputs, 2 * gate as usize + k % 2));
            }
        });
        claims.weighted(heads[1], move |weights, first, sums| {
            for (sum, k) in sums.iter_mut().zip(first..) {
                let others = gates.bucket(k)[1..].iter().map(|&gate| weights.of(of_outputs, gate as usize));
                let guards = wires.bucket(k).iter().map(|&wire| weights.of(of_wires, wire as usize));
                *sum ^= others.chain(guards).fold(0, |sum, weight| sum ^ weight);
            }
        });
    }
}
