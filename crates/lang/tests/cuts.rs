//! The function of a program does not depend on its cut, nor on whether an argument is known.

mod common;

use brickwork_lang::Options;
use common::*;

/// A small random generator: programs must be the same on every machine.
struct Random(u64);

impl Random {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % n
    }

    fn pick<'a>(&mut self, list: &[&'a str]) -> &'a str {
        list[self.below(list.len() as u64) as usize]
    }

    /// An amount, of which the parameters `s` and `k` have a part or not.
    fn amount(&mut self) -> String {
        let amounts =
            ["s", "k", "s + 1##4", "s ^ t", "s{0:2}", "s & 3##4", "n", "a[s{0:1}]", "i", "2", "g(s)"];
        self.pick(&amounts).to_string()
    }

    /// An expression of 16 bits, or one that goes with them.
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

/// A program in which `f` is called with an amount that is known, or is one of the evaluator's.
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

/// The cut that programs have by themselves, two others, and the amount known in one call or in none.
#[test]
fn nothing_that_is_computed_depends_on_what_is_known_of_an_argument() {
    let mut random = Random(7);
    let (mut compared, mut refused) = (0, 0);
    for _ in 0..220 {
        let (expression, amount) = (random.expression(3), random.below(9) as u128);
        let known = source(&expression, &amount.to_string());
        // The evaluator's input is the amount, so that the first call has it too.
        let secret = source(&expression, "input2{0:4}");
        let cuts = [options(&[], &[]), options(&["*"], &[]), options(&["f"], &[]), options(&[], &["f"])];
        let made: Vec<_> = [&known, &secret]
            .into_iter()
            .flat_map(|source| cuts.iter().map(|cut: &Options| build_with(source, cut)).collect::<Vec<_>>())
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

/// The width of a shifted value is the same as for an unknown parameter.
#[test]
fn a_call_with_a_known_amount_computes_what_one_with_a_secret_amount_does() {
    let f = "function u16 f(u16 x, u4 s) { return ((x + 1##16) >> s) - 1##16; }";
    for amount in ["3", "y{0:4}"] {
        let p = program("u16", "u16", f, &format!("output1 = f(x, {amount});"));
        assert_eq!(run(&build(&p).program, 2, 3), 0xffff, "{amount}");
    }
    // In `main` an amount is known or secret, and there is but one way to execute it.
    assert_eq!(eval("u16", "u16", "((x + 1##16) >> 3) - 1", 2, 0), 0x1fff);
    // A function that compiles by itself also compiles when it is called with a constant.
    let f = "function u8 f(u8 x, u8 k, u3 i) { return ((x ^ k) >> i){0:8}; }";
    let p = program("u8", "u8", f, "output1 = f(x, y, 1);");
    for inline in [&[][..], &["*"]] {
        assert_eq!(run(&build_with(&p, &options(inline, &[])).unwrap().program, 0b1010, 0), 0b101);
    }
}
