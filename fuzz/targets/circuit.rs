//! Circuits and programs from an untrusted source. Each is read or refused, and one that is read stays the
//! same when it is written and read again.
//!
//! Used by the fuzz target and, with the seeds, by the tests.
#![allow(dead_code)]

use brickwork::circuit::formats::{InputMap, bristol, duplo, load, load_mapped};
use brickwork::circuit::{Party, Program};

/// Larger programs are not written again, because fuzzing needs many runs.
const REWRITTEN: u64 = 50_000;

fn outputs(program: &Program) -> Vec<Vec<bool>> {
    let input =
        |party, step: usize| (0..program.input_width(party)).map(|i| i % step == 0).collect::<Vec<_>>();
    [1, 2, 3]
        .map(|step| program.simulate(&input(Party::Garbler, step), &input(Party::Evaluator, step)).concat())
        .to_vec()
}

/// Reads a file of any kind.
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
