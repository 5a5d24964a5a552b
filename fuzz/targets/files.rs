//! Circuits, programs and values from anybody: whatever they are, they are read or refused, and what is read is written
//! and read again unchanged.
//!
//! Used by the fuzz targets and, with the seeds, by the tests.
#![allow(dead_code)]

use brickwork::circuit::formats::{InputMap, bristol, duplo, load, load_mapped};
use brickwork::circuit::{Party, Port, Program, Type, value};

/// Larger programs are not written again: fuzzing lives from many runs.
const REWRITTEN: u64 = 50_000;

fn outputs(program: &Program) -> Vec<Vec<bool>> {
    let input = |party, step: usize| (0..program.input_width(party)).map(|i| i % step == 0).collect::<Vec<_>>();
    [1, 2, 3].map(|step| program.simulate(&input(Party::Garbler, step), &input(Party::Evaluator, step)).concat()).to_vec()
}

/// A file of any kind.
pub fn circuit(data: &[u8]) {
    let mut map = InputMap::new();
    map.insert("in0".into(), Party::Evaluator);
    let _ = load_mapped(data, "fuzz.txt", &map);
    let Ok(program) = load(data, "fuzz") else { return };
    if program.and_gates() > REWRITTEN || program.wires() as u64 > REWRITTEN {
        return;
    }
    let bytes = program.to_bytes();
    let again = Program::from_bytes(&bytes).expect("what was written is read");
    assert_eq!((again.digest(), again.to_bytes()), (program.digest(), bytes));
    let expected = outputs(&program);
    for text in [duplo::write(&program), bristol::write(&program)].into_iter().flatten() {
        let again = load(text.as_bytes(), "again").expect("what was written is read");
        let widths = |p: &Program| [Party::Garbler, Party::Evaluator].map(|party| p.input_width(party));
        if widths(&again) == widths(&program) {
            assert_eq!(outputs(&again), expected);
        }
    }
}

/// Ports of every kind of type.
fn ports() -> [Vec<Port>; 3] {
    let field = |name: &str, ty| (name.to_string(), ty);
    let record = Type::Struct(vec![field("a", Type::Int(9)), field("b", Type::Array(Box::new(Type::Uint(3)), 4))]);
    [
        vec![Port::new("x", Type::Uint(64))],
        vec![Port::new("x", Type::Int(130)), Port::new("y", Type::Array(Box::new(record), 2))],
        Vec::new(),
    ]
}

/// A value as a user writes it, for ports of several types: what is understood means the same when it is written out.
pub fn input(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let Ok(parsed) = value::parse(text) else { return };
    for ports in ports() {
        let _ = value::encode_executions(&ports, 2, &parsed);
        let Ok(bits) = value::encode(&ports, &parsed) else { continue };
        assert_eq!(bits.len() as u64, ports.iter().map(Port::width).sum::<u64>());
        let shown = value::decode(&ports, &bits);
        assert_eq!(value::encode(&ports, &shown).expect("an output is an input"), bits);
        let reparsed = value::parse(&shown.to_string()).expect("what is shown is understood");
        assert_eq!(value::encode(&ports, &reparsed).expect("what is shown fits"), bits);
    }
}
