//! Tests the worked examples of the reference, and how programs are cut into components.

mod common;

use brickwork::circuit::{Party, Program, Recipient};
use common::*;

const VERDICT: &str = "#parties 2 #define W 12 typedef int_t W amount typedef int_t 2*W wide typedef uint_t \
                       1 bool
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

const MAC: &str = "#parties 2 typedef uint_t 8 byte typedef uint_t 16 half typedef struct_t block { byte \
                   b[4]; }
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

/// Returns the components of a program, each with its name and its number of slots.
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
    // The comparison costs 12 ANDs, the equality 11, and the selection 12.
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
        let macs: usize =
            components(&program).iter().filter(|(n, _)| n.starts_with("mac")).map(|(_, c)| c).sum();
        assert_eq!(macs, if inline.is_empty() { count } else { 0 });
    }
}

/// Makes a program of two 8-bit inputs, which can be cut in several ways.
fn cut(functions: &str, body: &str) -> Program {
    build(&program("u8", "u8", functions, body)).program
}

const ADD: &str = "function u8 add(u8 a, u8 b) { return a + b; }";

#[test]
fn calls_are_slots_of_one_component() {
    let p = cut(ADD, "for (u8 i = 0; i < 5; i++) x = add(x, y); output1 = add(add(x, y), x);");
    assert_eq!(components(&p), named(&[("add", 7)]));
    assert_eq!(run(&p, 3, 10), 2 * 53 + 10);
}

#[test]
fn calls_in_functions_are_inlined() {
    let f = format!("{ADD} function u8 twice(u8 a) {{ return add(add(a, a), 0##8); }}");
    let p = cut(&f, "output1 = twice(x);");
    assert_eq!((p.and_gates(), run(&p, 77, 0)), (0, 154), "twice the value is wiring, and a zero");
    let f = format!("{ADD} function u8 thrice(u8 a) {{ return add(add(a, a), a); }}");
    let p = cut(&f, "output1 = thrice(thrice(x));");
    assert_eq!(components(&p), named(&[("thrice", 2)]));
    // This is the same program in a finer cut.
    let q = build_with(&program("u8", "u8", &f, "output1 = thrice(thrice(x));"), &options(&[], &["add"]))
        .unwrap()
        .program;
    assert_eq!(components(&q), named(&[("add", 4)]));
    let r = build_with(&program("u8", "u8", &f, "output1 = thrice(thrice(x));"), &options(&["thrice"], &[]))
        .unwrap()
        .program;
    assert_eq!(components(&r), named(&[("add", 4)]));
    for x in [0, 1, 77, 255] {
        assert_eq!((run(&p, x, 0), run(&q, x, 0), run(&r, x, 0)), (x * 9 % 256, x * 9 % 256, x * 9 % 256));
    }
}

#[test]
fn pragmas_choose_the_cut() {
    let f = format!("/*@ component */ {ADD} function u8 thrice(u8 a) {{ return add(add(a, a), a); }}");
    assert_eq!(components(&cut(&f, "output1 = thrice(x);")), named(&[("add", 2)]));
    let f = format!("{ADD} /*@ inline */ function u8 thrice(u8 a) {{ return add(add(a, a), a); }}");
    assert_eq!(components(&cut(&f, "output1 = thrice(x);")), named(&[("add", 2)]));
}

#[test]
fn copies_constants_and_slices_cost_nothing() {
    let p = cut("", "u8 a[2]; a[0]{0:4} = x{4:4}; a[0]{4:4} = y{0:4}; output1 = a[0];");
    assert_eq!((p.slot_count(), run(&p, 0xab, 0xcd)), (0, 0xda));
    let p = cut(
        "function u8 swap(u8 a) { u8 b; b{0:4} = a{4:4}; b{4:4} = a{0:4}; return b; }",
        "output1 = swap(x);",
    );
    assert_eq!((p.slot_count(), run(&p, 0xab, 0)), (0, 0xba));
}

#[test]
fn known_results_fold_away() {
    let p = cut("function u8 seven(u8 a) { return 7; }", "output1 = x + seven(x) - 7;");
    assert_eq!(run(&p, 9, 0), 9);
    assert!(!components(&p).iter().any(|(n, _)| n == "seven"));
}

#[test]
fn glue_becomes_components_that_rounds_share() {
    let body = "for (u8 i = 0; i < 6; i++) { x = add(x, y) ^ y; } output1 = ~x;";
    let p = cut(ADD, body);
    let slots = components(&p);
    assert_eq!(slots.iter().find(|(n, _)| n == "add"), Some(&("add".to_string(), 6)));
    assert!(slots.iter().any(|(n, c)| n.starts_with("glue") && *c == 5), "{slots:?}");
    let model = (0..6).fold(0x35u128, |x, _| ((x + 0x5c) & 255) ^ 0x5c) ^ 255;
    assert_eq!(run(&p, 0x35, 0x5c), model);
}

#[test]
fn calls_under_secret_conditions_are_components_and_choices() {
    let p = cut(ADD, "u8 z = 1; if (x < y) { z = add(x, y); } else z = add(z, x); output1 = z;");
    for (x, y) in [(1, 2), (2, 1), (200, 100), (7, 7)] {
        assert_eq!(run(&p, x, y), if x < y { (x + y) % 256 } else { (x + 1) % 256 });
    }
}

#[test]
fn constants_and_zeros_may_be_passed() {
    let f = "function u8 mul(u8 a, u8 b) { return a * b; }";
    // A single call with a constant among many others uses the common component. Many calls with a constant
    // get a component of their own.
    for (body, model) in [
        ("output1 = mul(x, y) + mul(x, 5);", (|x, y| x * y + x * 5) as fn(u128, u128) -> u128),
        ("u8 z; output1 = mul(x, z) + mul(z, 3) + mul(x, y);", |x, y| x * y),
        ("for (u8 i = 0; i < 40; i++) { x = mul(x, 3); y = mul(y, x); } output1 = y;", |x, y| {
            (0..40).fold((x, y), |(x, y), _| (x * 3 % 256, x * 3 * y % 256)).1
        }),
        ("output1 = mul(3, 5);", |_, _| 15),
    ] {
        let p = cut(f, body);
        for (x, y) in [(0, 0), (7, 9), (255, 254), (129, 3)] {
            assert_eq!(run(&p, x, y), model(x, y) % 256, "{body}: {:?}", components(&p));
        }
    }
}

#[test]
fn arrays_and_structs_pass_through_components() {
    let f = "typedef struct_t P { u8 a; u4 b[2]; } function P[2] pair(u8 a, u4 b[2]) { P p[2]; p[0].a = a; \
             p[1].b = b; p[1].a = a * a; return p; }";
    let p = cut(
        f,
        "u4 n[2] = {1, 2}; n[1] = y{0:4}; P r[2]; r = pair(x, n); output1 = r[1].a; output1{0:4} = \
         output1{0:4} ^ r[1].b[1] ^ pair(y, n)[0].a{0:4};",
    );
    for (x, y) in [(3u128, 5u128), (200, 9)] {
        assert_eq!(run(&p, x, y), (x * x) % 256, "y cancels");
    }
}

#[test]
fn outputs_may_differ_and_inputs_come_garbler_first() {
    let source = "#parties 2 typedef uint_t 8 u8 typedef uint_t 4 u4 #output 2 u8 #input 2 u8 #output 1 u4 \
                  #input 1 u4
        function u8 inc(u8 a) { return a + 1; } function void main() { output1 = input1; output2 = \
                  inc(input2); output2{0} = 1; }";
    let p = build(source).program;
    let [a, b] = simulate_bits(&p, &bits(5, 4), &bits(9, 8));
    assert_eq!((number(&a), number(&b)), (5, 11));
    // Both outputs have the same bits but different types, so they stay two outputs.
    let source = "#parties 2 typedef uint_t 8 u8 typedef int_t 8 s8 #input 1 u8 #output 1 u8 #output 2 s8 \
                  function void main() { output1 = input1; output2 = output1; }";
    assert_eq!(build(source).program.outputs().len(), 2);
    let one =
        "#parties 2 typedef uint_t 8 u8 #input 2 u8 #output 2 u8 function void main() { output2 = ~input2; }";
    let [a, b] = simulate_bits(&build(one).program, &[], &bits(1, 8));
    assert_eq!((a.len(), number(&b)), (0, 254));
}

#[test]
fn a_typedef_may_say_where_the_point_is() {
    let source = "#parties 2 /*@ point 4 */ typedef int_t 8 price typedef uint_t 8 u8
        /*@ point 8 */ typedef uint_t 8 rate
        typedef struct_t row { price p[2]; u8 n; rate r; }
        #input 1 row #input 2 price #output 1 price
        function void main() { output1 = input1.p[1] + input2; }";
    let program = build(source).program;
    let named = |party| program.input_ports(party)[0].ty.to_string();
    assert_eq!(named(Party::Garbler), "{p: fixed8.4[2], n: uint8, r: ufixed8.8}");
    assert_eq!(
        (named(Party::Evaluator), program.outputs()[0].port.ty.to_string()),
        ("fixed8.4".into(), "fixed8.4".into())
    );
    // The digest covers the number of bits after the point, so both parties agree on it, and the file
    // contains it.
    let without = build(&source.replace("/*@ point 4 */", "")).program;
    assert_ne!(program.digest(), without.digest());
    assert_eq!(Program::from_bytes(&program.to_bytes()).unwrap().digest(), program.digest());
}

/// A file contains all rules, and the digest covers them. The rules also hold in a program of many
/// evaluations.
#[test]
fn an_input_may_have_rules() {
    let source = "#parties 2 typedef int_t 8 s8 typedef struct_t row { s8 n; s8 key; }
        typedef struct_t both { row a[3]; row b[2]; }
        /*@ keyed a.key */ /*@ sorted b.n */ #input 1 both
        /*@ grouped key */ #input 2 row[3] #output 1 s8
        function void main() { output1 = input1.a[0].n + input1.b[0].key + input2[0].n; }";
    let program = build(source).program;
    assert_eq!(Program::from_bytes(&program.to_bytes()).unwrap(), program);
    for (part, other) in [("keyed", "unique"), ("a.key", "a.n"), ("/*@ grouped key */", "")] {
        assert_ne!(build(&source.replace(part, other)).program.digest(), program.digest(), "{part}");
    }
    let many = program.repeat_holding(2, Party::Garbler).unwrap();
    assert_eq!(many.input_ports(Party::Garbler), program.input_ports(Party::Garbler));
    assert_eq!(many.input_ports(Party::Evaluator)[0].rules, program.input_ports(Party::Evaluator)[0].rules);
    assert_eq!(Program::from_bytes(&many.to_bytes()).unwrap(), many);
}

#[test]
fn the_s_box_is_built_in() {
    let source = |pragma: &str| {
        format!(
            "#parties 2 typedef uint_t 8 u8 #input 1 u8 #output 1 u8 {pragma} function u8 sub(u8 a) {{ \
             return a; }} function void main() {{ output1 = sub(input1); }}"
        )
    };
    let aes = brickwork_lang::CompileOptions { aes: true, ..Default::default() };
    for p in
        [build(&source("/*@ builtin aes_sbox */")).program, build_with(&source(""), &aes).unwrap().program]
    {
        assert_eq!(p.and_gates(), 32);
        // FIPS 197, figure 7.
        for (x, y) in [(0x00, 0x63), (0x53, 0xed), (0xff, 0x16), (0x10, 0xca)] {
            assert_eq!(run(&p, x, 0), y);
        }
    }
}

/// The totals are at most those that the reference measured.
#[test]
fn known_totals() {
    let wide = |n: u32| {
        let p = build(&format!(
            "#parties 2 typedef uint_t {n} a typedef uint_t 2*{n} b #input 1 a #input 2 a #output 1 b \
             function void main() {{ output1 = input1 ** input2; }}"
        ));
        p.program.and_gates()
    };
    assert!(wide(256) <= 130_816);
    let matrix = |n: u32| {
        let p = build(&format!(
            "#parties 2 typedef uint_t 32 int typedef struct_t M {{ int m[{n}][{n}]; }} #input 1 M #input 2 \
             M #output 1 M
            function void main() {{ for (int i = 0; i < {n}; i++) for (int j = 0; j < {n}; j++) for (int k = \
             0; k < {n}; k++)
            output1.m[i][j] = output1.m[i][j] + input1.m[i][k] * input2.m[k][j]; }}"
        ));
        p.program.and_gates()
    };
    assert!(matrix(5) <= 128_000);
    assert!(matrix(8) <= 524_288);
}

#[test]
fn components_without_and_gates_join_their_neighbours() {
    let f = "function u8 add(u8 a, u8 b) { return a ^ b; } function u8 mac(u8 k, u8 m) { return k * m; }";
    let chain = "u8 t; for (u8 i = 0; i < 5; i++) t = mac(x, add(t, y)); output1 = t;";
    let p = cut(f, chain);
    assert_eq!(components(&p), named(&[("constants", 1), ("mac", 5)]));
    let model = |x: u128, y: u128| (0..5).fold(0, |t, _| x * (t ^ y) % 256);
    let kept = build_with(&program("u8", "u8", f, chain), &options(&[], &["add"])).unwrap().program;
    assert_eq!(components(&kept), named(&[("constants", 1), ("add", 5), ("mac", 5)]));
    assert_eq!(p.and_gates(), kept.and_gates());
    for (x, y) in [(0, 0), (3, 5), (255, 254), (77, 0)] {
        assert_eq!((run(&p, x, y), run(&kept, x, y)), (model(x, y), model(x, y)));
    }
    // The last expression has no AND gate, so its component is merged with `mac`. The merged component reads
    // `t` from the slot of `mac` twice, and `y` from elsewhere.
    let p = cut(f, "u8 t = mac(x, y); output1 = ~t ^ (t <<> 3) ^ y;");
    assert_eq!(components(&p), named(&[("mac", 1)]));
    let t = 13 * 200 % 256;
    assert_eq!(run(&p, 13, 200), (!t & 255) ^ ((t << 3 | t >> 5) & 255) ^ 200);
    // The value is read twice, so both readers must be merged.
    let p = cut(f, "u8 t = add(x, y); output1 = mac(x, t) ^ t;");
    assert_eq!(components(&p), named(&[("mac", 1)]));
    assert_eq!(run(&p, 13, 200), (13 * (13 ^ 200) % 256) ^ 13 ^ 200);
    // Components with AND gates are not split.
    let p = cut(f, "u8 t = mac(x, mac(x, add(x, y))); output1 = t;");
    assert_eq!(components(&p), named(&[("add", 1), ("mac", 2)]));
}

#[test]
fn glue_is_numbered_without_gaps() {
    let f = "function u8 mac(u8 k, u8 m) { return k * m; } function u8 glue1(u8 a) { return a * a; }";
    // The first inversion is merged into `mac`. The sum and the product are glue of two layers.
    let p = cut(f, "u8 t = mac(~x, y); u8 s = t + y; output1 = glue1(s) * s;");
    assert_eq!(components(&p), named(&[("mac", 1), ("glue1_", 1), ("glue1", 1), ("glue2", 1)]));
    let x = 0x35u128;
    let s = ((x ^ 255) * 9 + 9) % 256;
    assert_eq!(run(&p, x, 9), s * s * s % 256);
}

#[test]
fn variants_are_named_after_their_function() {
    let f = "function u8 mul(u8 a, u8 b) { return a * b; }";
    // All calls have the same constant, so the variant replaces the function.
    assert_eq!(components(&cut(f, "output1 = mul(mul(x, 3), 3);")), named(&[("mul", 2)]));
    let p = cut(
        f,
        "for (u8 i = 0; i < 30; i++) x = mul(x, 3); for (u8 i = 0; i < 30; i++) x = mul(x, y); output1 = x;",
    );
    assert_eq!(components(&p), named(&[("mul.1", 30), ("mul", 30)]));
    // A single call with a constant among many others is a slot of the common component.
    let p = cut(f, "for (u8 i = 0; i < 30; i++) x = mul(x, y); output1 = mul(x, 77);");
    assert_eq!(components(&p), named(&[("constants", 1), ("mul", 31)]));
}

#[test]
fn common_subexpressions_are_shared_in_a_component() {
    let p = cut("", "output1 = (x * y) ^ (x * y + 1) ^ (y * x);");
    assert!(p.and_gates() <= 57 + 7, "{}", p.and_gates());
    let p = cut("", "u8 dead = x * y; output1 = x & y;");
    assert_eq!(p.and_gates(), 8);
}
