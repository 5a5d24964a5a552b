//! The reference's worked examples, and how programs are cut into components.

mod common;

use brickwork::circuit::{Program, Recipient};
use common::*;

const VERDICT: &str = "#parties 2 #define W 12 typedef int_t W amount typedef int_t 2*W wide typedef uint_t 1 bool
typedef struct_t verdict { amount winner; bool tie; }
#input 1 amount #input 2 amount #output 1 verdict #output 2 verdict
function verdict judge(amount a, amount b)
{
    verdict v;
    v.tie = a == b;
    v.winner = a;
    if (a < b) v.winner = b;      /* signed: both are int_t */
    return v;
}
function void main()
{
    verdict r = judge(input1, input2);
    output1 = r;
    output2 = r;
}";

const MAC: &str = "#parties 2 typedef uint_t 8 byte typedef uint_t 16 half typedef struct_t block { byte b[4]; }
#input 1 block #input 2 block #output 1 half
function half mac(half acc, byte x, byte y) { return acc + x ** y; }
function void main()
{
    half acc[5];
    for (byte i = 0; i < 4; i++)
        acc[i+1] = mac(acc[i], input1.b[i], input2.b[i]);
    half r = acc[4] ^ 65535##16;  /* typed literal: keeps all 16 bits */
    r{0:4} = r{12:4};
    output1 = r <<> 3;
}";

/// (name, slots) of the components.
fn components(program: &Program) -> Vec<(String, usize)> {
    program.components().iter().map(|c| c.name.clone()).zip(program.slots_by_component()).collect()
}

fn named(list: &[(&str, usize)]) -> Vec<(String, usize)> {
    list.iter().map(|(n, c)| (n.to_string(), *c)).collect()
}

#[test]
fn worked_example_verdict() {
    let program = build(VERDICT).program;
    assert_eq!(components(&program), named(&[("judge", 1)]));
    // 12 for the comparison, 11 for equality, 12 for the choice.
    assert_eq!(program.and_gates(), 35);
    assert_eq!(program.outputs().len(), 1);
    assert_eq!(program.outputs()[0].to, Recipient::Both);
    for (a, b) in [(5i128, 7i128), (-5, 7), (-7, -5), (100, 100), (2047, -2048)] {
        let winner = a.max(b) as u128 & 0xfff;
        assert_eq!(run(&program, a as u128, b as u128), winner | u128::from(a == b) << 12);
    }
}

#[test]
fn worked_example_mac() {
    let program = build(MAC).program;
    let model = |x: u128, y: u128| {
        let bytes = |v: u128| (0..4).map(move |i| v >> (8 * i) & 255);
        let sum: u128 = bytes(x).zip(bytes(y)).map(|(a, b)| a * b).sum::<u128>() & 0xffff;
        let r = sum ^ 0xffff;
        let r = r & !15 | r >> 12;
        (r << 3 | r >> 13) & 0xffff
    };
    for (x, y) in [(0, 0), (0x01020304, 0x05060708), (0xffffffff, 0xffffffff), (0xdeadbeef, 0x12345678)] {
        assert_eq!(run(&program, x, y), model(x, y));
    }
    let mac = program.components().iter().position(|c| c.name.starts_with("mac")).unwrap();
    assert!(program.components()[mac].circuit.and_gates() <= 135);
}

#[test]
fn every_cut_computes_the_same() {
    for (inline, component, count) in [(&["*"][..], &[][..], 1), (&["mac"], &[], 1), (&[], &["mac"], 4)] {
        let program = build_with(MAC, &options(inline, component)).unwrap().program;
        assert_eq!(run(&program, 0xdeadbeef, 0x12345678), run(&build(MAC).program, 0xdeadbeef, 0x12345678));
        let macs: usize = components(&program).iter().filter(|(n, _)| n.starts_with("mac")).map(|(_, c)| c).sum();
        assert_eq!(macs, if inline.is_empty() { count } else { 0 });
    }
}
