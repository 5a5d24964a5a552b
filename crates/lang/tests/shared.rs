//! Tests values that the parties hold as shares.

mod common;

use brickwork::circuit::{Party, Program, value};
use common::{build, number, refuse, simulate_bits};
use serde_json::json;

/// Runs a program on numbers: for each party the values of its ports, as pairs of value and width.
fn run(program: &Program, own: [&[(u128, usize)]; 2]) -> [u128; 2] {
    let wires = own.map(|ports| ports.iter().flat_map(|(n, w)| common::bits(*n, *w)).collect::<Vec<_>>());
    simulate_bits(program, &wires[0], &wires[1]).map(|bits| number(&bits))
}

fn shared(form: &str, width: usize) -> Program {
    build(&format!(
        "#parties 2 #shared input x uint_t {width} {form} #shared output y uint_t {width} {form}
        function void main() {{ y = x; }}"
    ))
    .program
}

/// The first share is the sum of the masks of both parties. So a cheater that chooses its own mask cannot
/// choose a share.
#[test]
fn shares_of_an_output_depend_on_both_masks() {
    for (form, m, ands) in [("", 1u128 << 16, 0), ("sum", 1 << 16, 30), ("modulo 65521", 65521, 270)] {
        let program = shared(form, 16);
        assert_eq!(program.and_gates(), ands, "{form}");
        // The last numbers are not below the modulus, as a cheater may give them.
        for (a, b) in [(5, 7), (0, 0), (65520, 65520), (65520, 1), (65535, 65534)] {
            for masks in [[0, 0], [1, 2], [65520, 65520], [65535, 3], [9, 65535]] {
                let [first, second] = run(&program, [&[(a, 16), (masks[0], 16)], &[(b, 16), (masks[1], 16)]]);
                let (value, joined) = match form {
                    "" => (a ^ b, first ^ second),
                    _ => ((a % m + b % m) % m, (first + second) % m),
                };
                assert!(first < m && second < m, "{form}: the shares are reduced");
                assert_eq!(joined, value, "{form}: {a}, {b}, {masks:?}");
                let mask = match form {
                    "" | "sum" => masks[0] ^ masks[1],
                    _ => (masks[0] % m + masks[1] % m) % m,
                };
                assert_eq!(first, mask, "{form}: {masks:?}");
            }
        }
    }
    let small = shared("modulo 13", 4);
    for a in 0..16 {
        for b in 0..16 {
            let [first, second] = run(&small, [&[(a, 4), (b, 4)], &[(b, 4), (a, 4)]]);
            assert_eq!((first + second) % 13, (a % 13 + b % 13) % 13);
        }
    }
}

/// Both parties run the protocol with their shares alone. Two runs give different shares of one value.
#[test]
fn two_parties_with_shares() {
    let text = "#parties 2 #shared input x uint_t 32 #shared output y uint_t 32
        function void main() { y = x * 3; }";
    let program = brickwork::Program::from_source("triple.wir", text).unwrap();
    let run = || {
        let both = brickwork::run_local(&program, ("x", 0x1234_5678u32), ("x", 0x1234_5679u32)).unwrap();
        both.map(|report| report.outputs.get::<u32>("y").unwrap())
    };
    let (one, other) = (run(), run());
    assert_eq!((one[0] ^ one[1], other[0] ^ other[1]), (3, 3));
    assert_ne!(one, other);
    let given = brickwork::Inputs::from(("x", 1u32)).set("y_mask", 2u32);
    assert!(brickwork::run_local(&program, given, ("x", 1u32)).is_err(), "nobody gives a mask");
}

/// Structs and arrays are shared as a whole, beside the parties' own inputs and outputs.
#[test]
fn shared_values_stand_beside_others() {
    let program = build(
        "#parties 2 typedef struct_t pair { uint_t 8 a; uint_t 4 b[2]; }
        #input 1 uint_t 8 #output 2 uint_t 8 #shared input p pair #shared output q pair
        function void main() { q = p; q.a += input1; output2 = p.a; return; }",
    )
    .program;
    let names = |ports: &[brickwork::circuit::Port]| ports.iter().map(|p| p.name.clone()).collect::<Vec<_>>();
    assert_eq!(names(program.input_ports(Party::Garbler)), ["input1", "p", "q_mask"]);
    assert_eq!(names(program.input_ports(Party::Evaluator)), ["p", "q_mask"]);
    assert_eq!(names(&program.output_ports(Party::Garbler)), ["q"]);
    assert_eq!(names(&program.output_ports(Party::Evaluator)), ["output2", "q"]);
    let [first, second] =
        run(&program, [&[(9, 8), (0x1203, 16), (0xbeef, 16)], &[(0x2101, 16), (0x1111, 16)]]);
    assert_eq!(second & 0xff, 0x02, "the evaluator's own output");
    assert_eq!(first ^ second >> 8, 0x330b);
}

/// Nobody gives a mask: it is drawn anew for each evaluation, and in the range of the modulus.
#[test]
fn masks_are_drawn() {
    let program = shared("modulo 13", 4);
    let ports = program.input_ports(Party::Garbler);
    let mut seen = [0u32; 16];
    for _ in 0..600 {
        let bits = value::encode(ports, &json!(5)).unwrap();
        assert_eq!(number(&bits[..4]), 5);
        seen[number(&bits[4..]) as usize] += 1;
    }
    assert!(seen[..13].iter().all(|n| (10..120).contains(n)) && seen[13..] == [0; 3], "{seen:?}");
    let given = value::encode(ports, &json!({"x": 5, "y_mask": 1}));
    assert!(given.unwrap_err().to_string().contains("expected"), "a mask is not given");
    // The form `bits:` also gives only the bits of the other inputs.
    let bits = value::encode(ports, &json!("bits:1010")).unwrap();
    assert!(number(&bits[..4]) == 5 && bits.len() == 8);
    assert!(value::encode(ports, &json!("bits:10100000")).is_err(), "a mask is not given");
    let twice = value::encode_executions(ports, 2, &json!("bits:10101010")).unwrap();
    assert!(twice.len() == 16 && twice.chunks(8).all(|one| number(&one[..4]) == 5));
    assert!(value::encode_executions(ports, 2, &json!("bits:1010000010100000")).is_err());
    let many = value::encode_executions(ports, 40, &json!(vec![5; 40])).unwrap();
    assert!(many.chunks(8).any(|one| one[4..] != many[4..8]), "each evaluation has its own mask");
    // A party whose input is the same in all evaluations still draws a new mask for each.
    let held = program.repeat_holding(8, Party::Garbler).unwrap();
    assert_eq!(held.input_width(Party::Garbler), 4 + 8 * 4);
    let bits = value::encode(held.input_ports(Party::Garbler), &json!(5)).unwrap();
    assert!(bits[4..].chunks(4).all(|mask| number(mask) < 13), "{bits:?}");
}

#[test]
fn a_program_file_keeps_what_is_drawn() {
    let program = shared("modulo 13", 4);
    let again = brickwork::circuit::formats::load(&program.to_bytes(), "again").unwrap();
    assert_eq!(again.input_ports(Party::Evaluator), program.input_ports(Party::Evaluator));
    assert_ne!(again.input_ports(Party::Evaluator)[1].drawn, None);
}

/// Without a sum of both masks, a party that knows its own mask would know the other party's share.
#[test]
fn refused_forms() {
    for (source, code) in [
        ("#shared in x uint_t 4", "syntax"),
        ("#shared input x uint_t 4[2] sum", "shared::type"),
        ("#shared input x uint_t 4 modulo 5", "shared::modulus"),
        ("#shared input x int_t 4 modulo 13", "shared::modulus"),
        ("#shared input x uint_t 4 #shared output x uint_t 4", "io::twice"),
        ("#shared input x_mask uint_t 4 #shared output x uint_t 4", "io::twice"),
        ("#shared input input1 uint_t 4", "io::twice"),
    ] {
        let errors = refuse(&format!("#parties 2 {source} function void main() {{ }}"));
        assert!(errors.list().iter().any(|d| d.code == code), "{source}: {}", errors.render(false));
    }
}
