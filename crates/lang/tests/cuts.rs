//! Tests that the result of a program depends neither on its cut nor on whether an argument is known.

mod common;

use brickwork_lang::CompileOptions;
use common::*;

/// A small random generator, so that the programs are the same on every machine.
struct Random(u64);

impl Random {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % n
    }

    fn pick<'a>(&mut self, list: &[&'a str]) -> &'a str {
        list[self.below(list.len() as u64) as usize]
    }

    /// Returns an expression for an amount, which may contain the parameters `s` and `k`.
    fn amount(&mut self) -> String {
        let amounts =
            ["s", "k", "s + 1##4", "s ^ t", "s{0:2}", "s & 3##4", "n", "a[s{0:1}]", "i", "2", "g(s)"];
        self.pick(&amounts).to_string()
    }

    /// Returns an expression of 16 bits, or one that is compatible with 16 bits.
    fn expression(&mut self, depth: usize) -> String {
        if depth == 0 {
            return self.pick(&["x", "y", "7##16", "v"]).to_string();
        }
        let (op, left) = (self.below(6), self.expression(depth - 1));
        match op {
            0 | 1 => format!("(({left} + 0##16) >> ({}))", self.amount()),
            2 => format!("(({left} ^ y) << ({}))", self.amount()),
            3 => format!("({left} >> ({}))", self.amount()),
            _ => format!("({left} {} {})", self.pick(&["+", "-", "^", "*"]), self.expression(depth - 1)),
        }
    }
}

/// Makes a program in which `f` is called with a known amount and with the evaluator's secret amount.
fn source(expression: &str, amount: &str) -> String {
    format!(
        "#parties 2 {TYPES} #input 1 u16 #input 2 u16 #output 1 u16\n\
         function u4 g(u4 s) {{ return s ^ 1##4; }}\n\
         function u16 f(u16 x, u16 y, u4 s) {{\n\
         u4 t = 5; u4 k = 1; u4 n; u4 a[2]; a[0] = 1; a[1] = 3; u16 v = y;\n\
         if (s < 4##4) k = 2;\n\
         for (u4 i = 0; i < 2; i++) {{ n = n + 1##4; v = v ^ ((x + 1##16) >> n); }}\n\
         for (u4 i = 1; i < 3; i++) {{ v = {expression}; }}\n\
         return v; }}\n\
         function void main() {{ u4 known = {amount}; u4 secret = input2{{0:4}};\n\
         u16 r = f(input1, input1 ^ 3##16, known);\n\
         output1 = r ^ f(r, input1, secret) ^ f(input1, r, secret); }}"
    )
}

/// Compares the program's own cut and two others, each with a known and with a secret amount.
#[test]
fn nothing_that_is_computed_depends_on_what_is_known_of_an_argument() {
    let mut random = Random(7);
    let (mut compared, mut refused) = (0, 0);
    for _ in 0..220 {
        let (expression, amount) = (random.expression(3), random.below(9) as u128);
        let known = source(&expression, &amount.to_string());
        // In this variant the first call also has a secret amount.
        let secret = source(&expression, "input2{0:4}");
        let cuts = [options(&[], &[]), options(&["*"], &[]), options(&["f"], &[]), options(&[], &["f"])];
        let made: Vec<_> = [&known, &secret]
            .into_iter()
            .flat_map(|source| {
                cuts.iter().map(|cut: &CompileOptions| build_with(source, cut)).collect::<Vec<_>>()
            })
            .collect();
        let good = made.iter().filter(|made| made.is_ok()).count();
        assert!(good == 0 || good == made.len(), "{good} of {} compile:\n{known}", made.len());
        if good == 0 {
            refused += 1;
            continue;
        }
        compared += 1;
        for garbler in [0, 2, 0x00ff, 0x1234, 0x8001, 0xffff] {
            let results: Vec<u128> =
                made.iter().map(|made| run(&made.as_ref().unwrap().program, garbler, amount)).collect();
            assert!(
                results.iter().all(|result| *result == results[0]),
                "{garbler} {amount}: {results:?}\n{known}"
            );
        }
    }
    assert!(compared > 100 && refused < 100, "{compared} compared, {refused} refused");
}

/// A shifted value has the same width for a known amount as for an unknown one.
#[test]
fn a_call_with_a_known_amount_computes_what_one_with_a_secret_amount_does() {
    let f = "function u16 f(u16 x, u4 s) { return ((x + 1##16) >> s) - 1##16; }";
    for amount in ["3", "y{0:4}"] {
        let p = program("u16", "u16", f, &format!("output1 = f(x, {amount});"));
        assert_eq!(run(&build(&p).program, 2, 3), 0xffff, "{amount}");
    }
    // In `main` an amount is always either known or secret, so there is only one execution.
    assert_eq!(eval("u16", "u16", "((x + 1##16) >> 3) - 1", 2, 0), 0x1fff);
    // If a function compiles by itself, a call with a constant compiles, too.
    let f = "function u8 f(u8 x, u8 k, u3 i) { return ((x ^ k) >> i){0:8}; }";
    let p = program("u8", "u8", f, "output1 = f(x, y, 1);");
    for inline in [&[][..], &["*"]] {
        assert_eq!(run(&build_with(&p, &options(inline, &[])).unwrap().program, 0b1010, 0), 0b101);
    }
}
