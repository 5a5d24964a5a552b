//! Built-in circuits.

use brickwork_circuit::{Builder, Gate, library::aes};

use crate::graph::{Bit, Graph};

/// Returns the AES S-box on one byte: 32 ANDs.
pub fn aes_sbox(graph: &mut Graph, byte: &[Bit]) -> Vec<Bit> {
    let mut builder = Builder::new(8);
    let inputs = builder.all_inputs();
    let outputs = aes::sub_byte(&mut builder, &inputs);
    // A circuit with inputs and no more wires than these can always be finished.
    let Ok(circuit) = builder.finish(&outputs) else { return vec![Bit::ZERO; 8] };
    let mut bits = byte.to_vec();
    for gate in circuit.gates() {
        let bit = match gate {
            Gate::Xor(a, b) => graph.xor(bits[a as usize], bits[b as usize]),
            Gate::And(a, b) => graph.and(bits[a as usize], bits[b as usize]),
            Gate::Inv(a) => !bits[a as usize],
        };
        bits.push(bit);
    }
    circuit.outputs().iter().map(|w| bits[*w as usize]).collect()
}
