//! Tests the simulation, repetition and flattening of programs.

use brickwork::circuit::{Party, Port, Program, ProgramBuilder, Recipient, Type, library, value};
use proptest::prelude::*;
use serde_json::json;

use crate::random;

/// Computes a program by the definition: slot after slot, wire after wire.
fn slot_by_slot(program: &Program, garbler: &[bool], evaluator: &[bool]) -> Vec<Vec<bool>> {
    let mut wires = [garbler, evaluator].concat();
    for slot in program.slots() {
        let inputs: Vec<bool> = slot.inputs.iter().map(|&w| wires[w as usize]).collect();
        wires.extend(program.component(slot.component).circuit.evaluate(&inputs));
    }
    program.outputs().iter().map(|o| o.wires.iter().map(|&w| wires[w as usize]).collect()).collect()
}

proptest! {
    #[test]
    fn simulation_follows_the_definition(program in random::program(), seed: u64) {
        let garbler = random::bits(program.input_width(Party::Garbler), seed);
        let evaluator = random::bits(program.input_width(Party::Evaluator), !seed);
        let outputs = program.simulate(&garbler, &evaluator);
        prop_assert_eq!(&outputs, &slot_by_slot(&program, &garbler, &evaluator));
        let flat = program.flatten().unwrap();
        prop_assert_eq!(flat.evaluate(&[&garbler[..], &evaluator].concat()), outputs.concat());
        prop_assert_eq!(flat.and_gates() as u64, program.and_gates());
        let whole = program.whole().unwrap();
        prop_assert_eq!(whole.slot_count(), 1);
        // In one piece, constants and dead gates can appear that the components did not have, so there may be
        // fewer AND gates.
        prop_assert!(whole.and_gates() <= program.and_gates());
        prop_assert_eq!(whole.simulate(&garbler, &evaluator), outputs);
        for party in [Party::Garbler, Party::Evaluator] {
            prop_assert_eq!(whole.input_ports(party), program.input_ports(party));
            prop_assert_eq!(whole.output_ports(party), program.output_ports(party));
        }
    }

    #[test]
    fn repetition_is_independent_executions(
        program in random::program(), executions in 1usize..80, seed: u64,
    ) {
        let repeated = program.repeat(executions).unwrap();
        prop_assert_eq!(repeated.and_gates(), program.and_gates() * executions as u64);
        let mut inputs = [Vec::new(), Vec::new()];
        let mut expected = [Vec::new(), Vec::new()];
        for e in 0..executions as u64 {
            let garbler = random::bits(program.input_width(Party::Garbler), seed ^ e);
            let evaluator = random::bits(program.input_width(Party::Evaluator), !seed ^ e);
            let outputs = program.simulate(&garbler, &evaluator);
            for (i, party) in [Party::Garbler, Party::Evaluator].into_iter().enumerate() {
                let own = [&garbler, &evaluator][i];
                inputs[i].push(value::decode(program.input_ports(party), own));
                let bits = program.output_bits(party, &outputs);
                expected[i].push(value::decode(&program.output_ports(party), &bits));
            }
        }
        let bits = [(Party::Garbler, &inputs[0]), (Party::Evaluator, &inputs[1])]
            .map(|(party, values)| {
                value::encode_executions(program.input_ports(party), executions, &json!(values)).unwrap()
            });
        let outputs = repeated.simulate(&bits[0], &bits[1]);
        for (i, party) in [Party::Garbler, Party::Evaluator].into_iter().enumerate() {
            let own = repeated.output_bits(party, &outputs);
            let decoded = value::decode_executions(&program, executions, party, &own);
            let nothing = program.output_ports(party).is_empty();
            let expected = if nothing { json!(null) } else { json!(expected[i]) };
            prop_assert_eq!(decoded, expected);
        }
    }
}

#[test]
fn executions_that_do_not_fit_are_refused_at_once() {
    let program = library::millionaires().unwrap();
    assert!(program.repeat(0).is_err());
    assert!(program.repeat(usize::MAX).is_err());
    assert!(program.repeat(1 << 27).unwrap_err().to_string().contains("do not fit into one program"));
}

#[test]
fn a_million_slots_run_in_seconds() {
    let (program, n) = (library::millionaires().unwrap(), 1_000_000);
    let repeated = program.repeat(n).unwrap();
    let start = std::time::Instant::now();
    let alice: Vec<bool> = (0..n).flat_map(|e| (0..32).map(move |i| e >> i & 1 == 1)).collect();
    let bob = random::bits(32 * n, 1);
    let richer = &repeated.simulate(&alice, &bob)[0];
    for (e, richer) in richer.chunks(2).enumerate() {
        let bob = (0..32).fold(0, |word, i| word | usize::from(bob[32 * e + i]) << i);
        assert_eq!(richer, [e > bob, e < bob]);
    }
    println!("a million slots simulated in {:?}", start.elapsed());
}

#[test]
fn millionaires() {
    let program = library::millionaires().unwrap();
    assert_eq!(program.and_gates(), 64);
    for (alice, bob, richer) in [
        ("1250000", "1000000", json!({"alice": 1, "bob": 0})),
        ("7", "0xffffffff", json!({"alice": 0, "bob": 1})),
        ("42", "\"42\"", json!({"alice": 0, "bob": 0})),
    ] {
        let encode =
            |party, text| value::encode(program.input_ports(party), &value::parse(text).unwrap()).unwrap();
        let outputs = program.simulate(&encode(Party::Garbler, alice), &encode(Party::Evaluator, bob));
        for party in [Party::Garbler, Party::Evaluator] {
            assert_eq!(
                value::decode(&program.output_ports(party), &program.output_bits(party, &outputs)),
                richer
            );
        }
    }
}

#[test]
fn info_describes_the_millionaires() {
    let program = library::millionaires().unwrap();
    let info = program.info();
    let uint1 = "{alice: uint1, bob: uint1}";
    let range = |party: &str, value: &str, first_wire: u32, wires: u64| {
        json!({
            "party": party, "value": value, "integer_bits": wires, "first_bit": 0,
            "first_wire": first_wire, "wires": wires,
        })
    };
    assert_eq!(
        json!(info),
        json!({
            "name": "millionaires",
            "digest": program.digest().map(|b| format!("{b:02x}")).concat(),
            "garbler_inputs": [{"name": "wealth", "type": "uint32", "width": 32}],
            "evaluator_inputs": [{"name": "wealth", "type": "uint32", "width": 32}],
            "outputs": [{"name": "richer", "type": uint1, "width": 2, "to": "both"}],
            "components": [{
                "name": "compare", "inputs": 64, "outputs": 2, "and_gates": 64, "slots": 1, "and_depth": 32,
                "gates": program.components()[0].circuit.gate_count(),
                "wires": 64 + program.components()[0].circuit.gate_count(),
                "input_ports": [
                    {"name": "alice", "type": "uint32", "width": 32},
                    {"name": "bob", "type": "uint32", "width": 32},
                ],
                "output_ports": [{"name": "richer", "type": uint1, "width": 2}],
            }],
            "slots": 1, "and_gates": 64, "wires": 66, "and_depth": 32,
            "gates": program.components()[0].circuit.gate_count(),
            "input_map": [range("garbler", "wealth", 0, 32), range("evaluator", "wealth", 32, 32)],
            "output_map": [range("both", "richer.alice", 64, 1), range("both", "richer.bob", 65, 1)],
            "solderings": [
                {"from": 0, "to": "both", "wires": 2},
                {"from": "evaluator", "to": 0, "wires": 32},
                {"from": "garbler", "to": 0, "wires": 32},
            ],
        })
    );
}

proptest! {
    /// Every bit of every input and output is in the wire map exactly once, on its wire of the program.
    #[test]
    fn the_wire_map_is_complete(program in random::program()) {
        let info = program.info();
        let mut next = 0;
        for range in &info.input_map {
            prop_assert_eq!(range.first_wire, next);
            next += range.wires as u32;
        }
        let inputs = program.input_width(Party::Garbler) + program.input_width(Party::Evaluator);
        prop_assert_eq!(next as usize, inputs);
        let wires = info.output_map.iter().flat_map(|r| r.first_wire..r.first_wire + r.wires as u32);
        let mapped: Vec<u32> = wires.collect();
        let wires: Vec<u32> = program.outputs().iter().flat_map(|o| o.wires.clone()).collect();
        prop_assert_eq!(mapped, wires);
        prop_assert!(info.and_depth >= u64::from(program.flatten().unwrap().and_depth()));
    }
}

#[test]
fn the_wire_map_names_leaves() {
    let inner = Type::Array(Box::new(Type::Array(Box::new(Type::Int(5)), 3)), 2);
    let item = Type::Struct(vec![("m".into(), inner), ("n".into(), Type::Uint(7))]);
    let ports = vec![Port::new("items", Type::Array(Box::new(item), 2))];
    let mut program = ProgramBuilder::new("map", ports, vec![]).unwrap();
    program.output(Port::new("n", Type::Uint(4)), Recipient::Evaluator, vec![9, 10, 3, 4]).unwrap();
    let info = program.finish().unwrap().info();
    let map = |ranges: &[brickwork::circuit::info::WireRange]| {
        let short = |r: &brickwork::circuit::info::WireRange| {
            (r.value.clone(), r.integer_bits, r.first_bit, r.first_wire, r.wires)
        };
        ranges.iter().map(short).collect::<Vec<_>>()
    };
    let name = String::from;
    assert_eq!(
        map(&info.input_map),
        [
            (name("items[0].m[0..2][0..3]"), 5, 0, 0, 30),
            (name("items[0].n"), 7, 0, 30, 7),
            (name("items[1].m[0..2][0..3]"), 5, 0, 37, 30),
            (name("items[1].n"), 7, 0, 67, 7),
        ]
    );
    assert_eq!(map(&info.output_map), [(name("n"), 4, 0, 9, 2), (name("n"), 4, 2, 3, 2)]);
}
