//! Built-in circuits.

use brickwork_circuit::{Builder, Gate, library::aes};

use crate::graph::{Graph, GraphBit};

/// Returns the AES S-box of a byte, with 32 AND gates.
pub fn aes_sbox(graph: &mut Graph, byte: &[GraphBit]) -> Vec<GraphBit> {
    let mut builder = Builder::new(8);
    let inputs = builder.all_inputs();
    let outputs = aes::sub_byte(&mut builder, &inputs);
    // This cannot fail, because the circuit has inputs and few wires.
    let Ok(circuit) = builder.finish(&outputs) else { return vec![GraphBit::ZERO; 8] };
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
