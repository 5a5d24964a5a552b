//! Finished graphs become circuits of XOR, AND and INV.

use std::collections::HashMap;

use brickwork::Error;
use brickwork::circuit::{Circuit, Gate};

use crate::graph::{Bit, Kind, Template};

/// The circuit of a template. Inverted operands get INV gates, one for each wire that needs one.
///
/// # Errors
/// If it has too many wires, or constant outputs but no input to derive them from.
pub fn circuit(template: &Template) -> Result<Circuit, Error> {
    let inputs = template.inputs;
    // First the numbers of all wires, then the gates: a circuit takes them as a stream.
    let mut wires: Vec<u32> = Vec::with_capacity(template.gates() + inputs as usize + 1);
    wires.push(u32::MAX);
    wires.extend(0..inputs);
    let mut inverted: HashMap<u32, u32> = HashMap::new();
    let mut next = inputs;
    let mut invert = |bit: Bit, next: &mut u32| {
        *inverted.entry(bit.node()).or_insert_with(|| {
            *next += 1;
            *next - 1
        })
    };
    for kind in template.kinds() {
        if let Kind::And(a, b) = kind {
            for bit in [a, b].into_iter().filter(|b| b.inverted()) {
                invert(bit, &mut next);
            }
        }
        wires.push(next);
        next += 1;
    }
    // Constants are made from the first input.
    let mut tail = Vec::new();
    let mut zero = None;
    let mut outputs = Vec::with_capacity(template.outputs.len());
    for &bit in &template.outputs {
        if bit.known().is_some() {
            if inputs == 0 {
                return Err(Error::Input("a circuit without inputs cannot have outputs".into()));
            }
            let zero = *zero.get_or_insert_with(|| {
                tail.push(Gate::Xor(0, 0));
                next += 1;
                next - 1
            });
            wires[0] = zero;
        }
        let plain = wires[bit.node() as usize];
        outputs.push(if bit.inverted() {
            let before = next;
            let wire = invert(bit, &mut next);
            if next > before {
                tail.push(Gate::Inv(plain));
            }
            wire
        } else {
            plain
        });
    }
    let mut position = inputs;
    let gates = template.kinds().flat_map(|kind| {
        let mut gates = [None; 3];
        let mut operand = |bit: Bit, gate: &mut Option<Gate>| {
            let wire = wires[bit.node() as usize];
            if !bit.inverted() {
                return wire;
            }
            let not = inverted[&bit.node()];
            if not == position {
                *gate = Some(Gate::Inv(wire));
                position += 1;
            }
            not
        };
        let [first, second, third] = &mut gates;
        *third = Some(match kind {
            Kind::And(a, b) => {
                let (a, b) = (operand(a, first), operand(b, second));
                Gate::And(a, b)
            }
            Kind::Xor(a, b) => Gate::Xor(wires[a.node() as usize], wires[b.node() as usize]),
            Kind::Leaf => unreachable!("the gates of a template are no leaves"),
        });
        position += 1;
        gates.into_iter().flatten()
    });
    Circuit::new(inputs, gates.chain(tail), outputs)
}
