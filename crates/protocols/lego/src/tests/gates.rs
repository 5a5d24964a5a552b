//! Tests of single gates, and of walks through a program.

use crate::adversary::random_program;
use crate::gates::{GateKeys, Table};
use crate::layout::Layout;
use brickwork_base::label::Label;
use brickwork_base::random::Rng;
use brickwork_testing::Replayable as _;

/// Returns the number of rows at which a gate with these tables gives a label different from that of an AND
/// gate.
fn wrong_rows(gates: &GateKeys, table: Table, inputs: [[Label; 2]; 2], outputs: [Label; 2]) -> usize {
    let rows = [(0, 0), (0, 1), (1, 0), (1, 1)];
    let wrong = rows.iter().filter(|&&(a, b)| {
        let labels = [inputs[0][a], inputs[1][b]];
        gates.evaluate(&[0], &[table], &labels)[0] != outputs[a & b]
    });
    wrong.count()
}

/// A gate that is wrong at one row is wrong at another row, too. So it is detected with probability 1/2. This
/// needs an offset that ends in 1.
#[test]
fn a_bad_gate_is_wrong_at_two_rows_at_least() {
    let mut rng = Rng::replayable("test lego gates");
    let gates = GateKeys::new(rng.block(), 1);
    let mut seen = [0; 5];
    for round in 0..400 {
        let delta = rng.delta();
        let [left, right] = [rng.label(), rng.label()];
        let (outputs, tables) = gates.garble(0, delta, &[left, right]);
        let mut table = tables[0];
        let mut output = outputs[0];
        // The largest number of effective tables give valid labels of the other bit.
        match round % 5 {
            0 => table[0] ^= delta.bits(),
            1 => table[1] ^= delta.bits(),
            2 => table = [rng.block(), rng.block()],
            3 => output = output ^ delta,
            _ => {}
        }
        let wire = |label: Label| [label, label ^ delta];
        let wrong = wrong_rows(&gates, table, [wire(left), wire(right)], wire(output));
        assert!(if round % 5 == 4 { wrong == 0 } else { wrong >= 2 }, "{wrong} rows");
        seen[wrong] += 1;
    }
    assert!(seen[0] == 80 && seen[1] == 0 && seen[2] >= 160 && seen[4] >= 80, "{seen:?}");
}

/// Weights that are computed backwards equal the sums over the solderings that contain each source.
#[test]
fn weights_are_those_of_all_solderings() {
    let mut rng = Rng::replayable("test lego gates");
    for _ in 0..50 {
        let program = random_program(&mut rng);
        let layout = Layout::new(&program).unwrap();
        let weights: Vec<u128> = (0..layout.solderings()).map(|_| rng.block()).collect();
        let weighted = layout.weigh(|soldering| weights[soldering..].iter().copied());
        for source in 0..layout.inputs() + layout.ands {
            // The wires that depend on this source have the value 1.
            let inputs: Vec<u8> = (0..layout.inputs()).map(|k| u8::from(k == source)).collect();
            let mut solderings = Vec::new();
            let outputs = layout.walk(
                &inputs,
                |and, a, b| {
                    solderings.extend([a, b]);
                    u8::from(layout.inputs() + and == source)
                },
                |a, b| a ^ b,
                |a| a,
            );
            solderings.extend(outputs);
            let sum = solderings.iter().zip(&weights).fold(0, |sum, (&bit, w)| sum ^ (w * u128::from(bit)));
            let found = match source.checked_sub(layout.inputs()) {
                None => weighted.inputs[source],
                Some(and) => weighted.ands[and],
            };
            assert_eq!(found, sum);
        }
    }
}
