//! Converts finished graphs to circuits of XOR, AND and INV gates.

use std::collections::HashMap;

use brickwork_base::stop::looking;
use brickwork_circuit::Error;
use brickwork_circuit::{Circuit, Gate};

use super::order::GateOrder;
use crate::graph::{GraphBit, NodeKind, Template};

/// Returns the circuit of a template. Its gates are in an order that needs few labels at a time. An inverted
/// operand gets an INV gate, and each wire needs at most one.
///
/// # Errors
/// If it has too many wires, or constant outputs without an input to derive them from.
pub fn circuit(template: &Template) -> Result<Circuit, Error> {
    ordered(template, &GateOrder::best(template))
}

fn ordered(template: &Template, order: &GateOrder) -> Result<Circuit, Error> {
    let inputs = template.inputs;
    // All wires are numbered before the gates are made, because a circuit reads its gates as a stream.
    let mut wires: Vec<u32> = vec![u32::MAX; template.gates() + inputs as usize + 1];
    (0..inputs).for_each(|input| wires[input as usize + 1] = input);
    let mut inverted: HashMap<u32, u32> = HashMap::new();
    let mut next = inputs;
    let mut invert = |bit: GraphBit, next: &mut u32| {
        *inverted.entry(bit.node()).or_insert_with(|| {
            *next += 1;
            *next - 1
        })
    };
    for gate in looking(order.gates(template)) {
        if let NodeKind::And(a, b) = template.kind(gate) {
            for bit in [a, b].into_iter().filter(|b| b.inverted()) {
                invert(bit, &mut next);
            }
        }
        wires[(inputs + 1 + gate) as usize] = next;
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
    let gates = order.gates(template).flat_map(|gate| {
        let mut gates = [None; 3];
        let mut operand = |bit: GraphBit, gate: &mut Option<Gate>| {
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
        *third = Some(match template.kind(gate) {
            NodeKind::And(a, b) => {
                let (a, b) = (operand(a, first), operand(b, second));
                Gate::And(a, b)
            }
            NodeKind::Xor(a, b) => Gate::Xor(wires[a.node() as usize], wires[b.node() as usize]),
            NodeKind::Leaf => unreachable!("the gates of a template are not leaves"),
        });
        position += 1;
        gates.into_iter().flatten()
    });
    Circuit::new(inputs, gates.chain(tail), outputs)
}

#[cfg(test)]
mod tests {
    use brickwork::garbling::Schedule;

    use super::*;
    use crate::{CompileOptions, SourceMap, generate};

    /// Compiles a program into one circuit. Returns the number of labels that garbling keeps at a time, in
    /// the program's order and in the chosen order.
    fn labels(source: &str) -> [usize; 2] {
        let (mut sources, mut sink) = (SourceMap::default(), crate::Sink::default());
        let items = crate::expand::load("test.wir", source, &crate::NoFiles, &mut sources, &mut sink);
        let root = crate::SourceSpan { file: 0, start: 0, end: 0 };
        let module = crate::check::check(items, &sources, root, false, &mut sink).unwrap();
        let options = CompileOptions { inline: ["*".to_string()].into(), ..CompileOptions::default() };
        let cx = generate::templates(&module, &options, &mut sink);
        let mut trace = generate::main(&cx, &mut sink).unwrap();
        let template = trace.graph.take().unwrap().finish(trace.inputs, &trace.outputs.concat());
        let best = circuit(&template).unwrap();
        let inputs: Vec<bool> = (0..template.inputs).map(|i| i * i % 7 < 3).collect();
        assert_eq!(best.evaluate(&inputs), template.evaluate(&inputs));
        [&ordered(&template, &GateOrder::Program).unwrap(), &best]
            .map(|circuit| Schedule::new(circuit).working_set())
    }

    #[test]
    fn garbling_keeps_fewer_labels() {
        let std = |name: &str| crate::std_library().iter().find(|f| f.name == name).unwrap().text;
        let filled_then_read = "#parties 2 typedef uint_t 64 u64 #input 1 u64 #input 2 u64 #output 1 u64
            function void main() {
                u64 masks[64];
                for (u64 i = 0; i < 64; i++) masks[i] = (input1 <<> i) & input2;
                for (u64 i = 0; i < 64; i++) output1 = (output1 ^ masks[63 - i]) & (input1 <<> i);
            }";
        // In the chosen order, each round of the key schedule or of the message schedule is computed when it
        // is needed.
        for (source, part) in
            [(std("aes128_encrypt.wir"), 0.4), (std("sha256_shares.wir"), 0.6), (filled_then_read, 0.1)]
        {
            let [before, after] = labels(source);
            assert!((after as f64) < part * before as f64, "{after} against {before}");
        }
    }
}
