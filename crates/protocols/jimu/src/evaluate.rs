//! The evaluator goes through the buckets, layer after layer: all gates that do not depend on one another at
//! a time.

use brickwork_base::{Error, Party};

use crate::buckets::{Checks, Recovery};
use crate::build::HashedCircuit;
use crate::gates::Wide;
use crate::layout::Layout;
use crate::preprocess::{Checked, rows};
use crate::setup::Evaluator;

/// Returns the labels of all wires, and what was found of Δ.
pub(super) fn evaluator(
    party: &mut Evaluator,
    layout: &Layout,
    received: &Checked,
    circuit: &HashedCircuit,
) -> Result<(Wide, Recovery), Error> {
    party.run.phase("evaluate");
    let Evaluator { labels, permutations, points, ots, .. } = party;
    let checks = Checks::new(labels, permutations, &points.permutation, &received.offset)?;
    let mut recovery = Recovery::new(layout.blocks());
    let mut wires = Wide::zeros(layout.blocks(), layout.circuit.wires());
    let inputs = layout.inputs(Party::Garbler);
    (0..inputs).for_each(|k| wires.add(k, circuit.inputs.0.label(k), 1));
    (0..layout.inputs(Party::Evaluator)).for_each(|k| wires.add(inputs + k, ots.label(k), 1));
    let bucket = layout.sizes.gates.bucket as usize;
    let [left, right, outputs] = &circuit.solderings;
    for layer in &layout.layers {
        for &wire in &layer.sums {
            let operands = layout.operands(wire);
            wires.sum(wire, operands);
        }
        if layer.ands.is_empty() {
            continue;
        }
        let places: Vec<usize> =
            layer.ands.iter().flat_map(|&and| and * bucket..(and + 1) * bucket).collect();
        let operand = |side: usize, solderings: &Wide| {
            let mut labels = wires.select(places.iter().map(|k| layout.ands[k / bucket][side]));
            labels.add_all(&solderings.select(places.iter().copied()));
            received.garbling.compress(labels)
        };
        let gates: Vec<usize> = places.iter().map(|&k| received.choice.gates[k]).collect();
        let numbers: Vec<u32> = gates.iter().map(|&gate| gate as u32).collect();
        let tables = received.tables.select(rows(&gates));
        let mut results =
            received.garbling.evaluate(&numbers, &operand(0, left), &operand(1, right), &tables);
        for (at, &k) in places.iter().enumerate() {
            // The first gate of a bucket has the bucket's output.
            if k % bucket > 0 {
                results.add(at, outputs.label(k / bucket * (bucket - 1) + k % bucket - 1), 1);
            }
        }
        let heads = circuit.heads.select(&layer.ands);
        let found = checks.judge(&heads, bucket, &results, &mut recovery)?;
        for (at, &and) in layer.ands.iter().enumerate() {
            wires.add(layout.ands[and][2], found.label(at), 1);
        }
    }
    Ok((wires, recovery))
}
