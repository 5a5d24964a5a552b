//! Visits the gates of a circuit in order, with values of any type on its wires.

use std::ops::BitXor;

use brickwork_circuit::{Circuit, Gate};

/// Computes the values of all wires of a circuit. `wires` has the values of the inputs. XOR adds values,
/// `not` negates a value, and `and` gets the number of an AND gate and its operands.
pub(super) fn walk<W: Copy + BitXor<Output = W>>(
    circuit: &Circuit,
    wires: &mut Vec<W>,
    not: impl Fn(W) -> W,
    mut and: impl FnMut(usize, W, W) -> W,
) {
    let mut ands = 0;
    for gate in circuit.gates() {
        wires.push(match gate {
            Gate::Xor(a, b) => wires[a as usize] ^ wires[b as usize],
            Gate::Inv(a) => not(wires[a as usize]),
            Gate::And(a, b) => {
                ands += 1;
                and(ands - 1, wires[a as usize], wires[b as usize])
            }
        });
    }
}

/// Returns the number of the first AND gate with a constant operand: a sum in which every input and every AND
/// gate's output occurs an even number of times. Such an operand has no mask, so two copies of the gate would
/// reveal the offset. Inputs and outputs of AND gates get random words, so a constant operand always has word
/// 0.
pub(super) fn constant_operand(circuit: &Circuit) -> Option<usize> {
    let mut words = blake3::Hasher::new_derive_key("brickwork 2026-11 forms of wires").finalize_xof();
    let mut next = move || {
        let mut word = [0; 16];
        words.fill(&mut word);
        u128::from_le_bytes(word)
    };
    let mut wires = Vec::with_capacity(circuit.wires());
    wires.extend((0..circuit.inputs()).map(|_| next()));
    let mut found = None;
    walk(
        circuit,
        &mut wires,
        |form| form,
        |gate, a, b| {
            if a == 0 || b == 0 {
                found.get_or_insert(gate);
            }
            next()
        },
    );
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn constant_operands_are_found() {
        let circuit = |gates: Vec<Gate>| Circuit::new(2, gates, vec![2]).unwrap();
        let (xor, and, inv) = (Gate::Xor, Gate::And, Gate::Inv);
        assert_eq!(constant_operand(&circuit(vec![and(0, 1), xor(2, 0), and(3, 1)])), None);
        assert_eq!(constant_operand(&circuit(vec![and(0, 0)])), None);
        assert_eq!(constant_operand(&circuit(vec![xor(0, 0), and(0, 1)])), None);
        assert_eq!(constant_operand(&circuit(vec![xor(0, 0), and(2, 1)])), Some(0));
        assert_eq!(constant_operand(&circuit(vec![and(0, 1), inv(0), xor(3, 0), and(0, 4)])), Some(1));
        let cancel =
            vec![and(0, 1), xor(2, 0), xor(3, 1), xor(4, 2), xor(5, 0), and(6, 6), xor(6, 1), and(8, 0)];
        assert_eq!(constant_operand(&circuit(cancel)), Some(2));
    }
}
