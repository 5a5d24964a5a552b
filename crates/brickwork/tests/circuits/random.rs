//! Random circuits and programs.

use std::sync::Arc;

use brickwork::circuit::{Circuit, Component, Gate, Port, Program, ProgramBuilder, Recipient, Type};
use proptest::prelude::*;
use proptest::sample::Index;

/// Returns a circuit of these widths with up to `gates` gates.
pub fn circuit(inputs: u32, outputs: usize, gates: usize) -> impl Strategy<Value = Circuit> {
    let gate = (0..3u8, any::<Index>(), any::<Index>());
    (prop::collection::vec(gate, 0..=gates), prop::collection::vec(any::<Index>(), outputs)).prop_map(
        move |(gates, outputs)| {
            let wires = inputs as usize + gates.len();
            let gates = gates.iter().zip(inputs..).map(|((kind, a, b), next)| {
                let (a, b) = (a.index(next as usize) as u32, b.index(next as usize) as u32);
                match kind {
                    0 => Gate::Xor(a, b),
                    1 => Gate::And(a, b),
                    _ => Gate::Inv(a),
                }
            });
            Circuit::new(inputs, gates, outputs.iter().map(|o| o.index(wires) as u32).collect()).unwrap()
        },
    )
}

/// Returns a type of a few wires.
pub fn ty() -> impl Strategy<Value = Type> {
    let fixed = (1u32..70, any::<bool>()).prop_flat_map(|(width, signed)| {
        (1..=width).prop_map(move |point| Type::Fixed { width, point, signed })
    });
    let leaf = prop_oneof![(1u32..70).prop_map(Type::Uint), (1u32..70).prop_map(Type::Int), fixed];
    leaf.prop_recursive(3, 12, 4, |inner| {
        prop_oneof![
            (inner.clone(), 1u32..4).prop_map(|(t, n)| Type::Array(Box::new(t), n)),
            prop::collection::vec(inner, 1..4).prop_map(|ts| Type::Struct(
                ts.into_iter().enumerate().map(|(i, t)| (format!("f{i}"), t)).collect()
            )),
        ]
    })
}

/// Returns up to `max` ports of any type.
pub fn ports(range: std::ops::Range<usize>) -> impl Strategy<Value = Vec<Port>> {
    prop::collection::vec(ty(), range)
        .prop_map(|ts| ts.into_iter().enumerate().map(|(i, t)| Port::new(format!("p{i}"), t)).collect())
}

fn width(ports: &[Port]) -> u32 {
    ports.iter().map(|p| p.width() as u32).sum()
}

fn component() -> impl Strategy<Value = (Vec<Port>, Vec<Port>, Circuit)> {
    (ports(1..3), ports(1..3)).prop_flat_map(|(i, o)| {
        let circuit = circuit(width(&i), width(&o) as usize, 30);
        (Just(i), Just(o), circuit)
    })
}

/// Returns a program of a few components and slots, with outputs of all kinds.
pub fn program() -> impl Strategy<Value = Program> {
    let outputs = prop::collection::vec((ty(), 0..3u8, any::<u64>()), 1..5);
    let slots = prop::collection::vec((any::<Index>(), any::<u64>()), 1..8);
    (ports(0..3), ports(1..3), prop::collection::vec(component(), 1..4), slots, outputs).prop_map(
        |(garbler, evaluator, components, slots, outputs)| {
            let mut program = ProgramBuilder::new("random", garbler, evaluator).unwrap();
            let mut ids = Vec::new();
            for (i, (inputs, outputs, circuit)) in components.into_iter().enumerate() {
                let circuit = Arc::new(circuit);
                ids.push((
                    circuit.inputs(),
                    program.component(Component { name: format!("c{i}"), inputs, outputs, circuit }).unwrap(),
                ));
            }
            // Half of the wires continue a run of consecutive wires, as in real programs.
            let wires = |count: usize, driven: u32, mut state: u64| {
                let mut wire = 0;
                let next = (0..count).map(move |_| {
                    state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
                    wire = if state >> 63 == 0 { (wire + 1) % driven } else { (state >> 32) as u32 % driven };
                    wire
                });
                next.collect::<Vec<u32>>()
            };
            for (which, seed) in slots {
                let (inputs, id) = ids[which.index(ids.len())];
                let solderings = wires(inputs, program.wires(), seed);
                program.slot(id, &solderings).unwrap();
            }
            for (i, (ty, to, seed)) in outputs.into_iter().enumerate() {
                let to = [Recipient::Garbler, Recipient::Evaluator, Recipient::Both][to as usize];
                let wires = wires(ty.width() as usize, program.wires(), seed);
                program.output(Port::new(format!("o{i}"), ty), to, wires).unwrap();
            }
            program.finish().unwrap()
        },
    )
}

/// Returns bits that are derived from a seed.
pub fn bits(count: usize, mut seed: u64) -> Vec<bool> {
    let next = (0..count).map(|_| {
        seed = seed.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        seed >> 40 & 1 == 1
    });
    next.collect()
}
