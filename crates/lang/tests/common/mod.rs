//! Functions that the tests share.
#![allow(dead_code)]

use brickwork::circuit::{Party, Program};
use brickwork_lang::{CompileOptions, Compiled, Diagnostics, NoFiles, Resolver, compile};

pub fn options(inline: &[&str], component: &[&str]) -> CompileOptions {
    let set = |names: &[&str]| names.iter().map(|n| (*n).to_string()).collect();
    CompileOptions { inline: set(inline), component: set(component), ..CompileOptions::default() }
}

pub fn build_with(source: &str, options: &CompileOptions) -> Result<Compiled, Diagnostics> {
    build_files("test.wir", source, &NoFiles, options)
}

/// Compiles files, and checks that all messages have a hint.
pub fn build_files(
    name: &str,
    source: &str,
    files: &dyn Resolver,
    options: &CompileOptions,
) -> Result<Compiled, Diagnostics> {
    let result = compile(name, source, files, options);
    assert_advice(result.as_ref().map_or_else(|errors| errors, |compiled| &compiled.warnings));
    result
}

/// Checks that every diagnostic has a hint that does not repeat the error.
fn assert_advice(diagnostics: &Diagnostics) {
    let plain = |text: &str| text.trim().to_lowercase();
    for (record, diagnostic) in diagnostics.records().iter().zip(diagnostics.list()) {
        let (hint, message, label) = (plain(&record.hint), plain(&record.message), plain(&diagnostic.label));
        assert!(!hint.is_empty(), "no hint: {record:?}");
        assert!(
            !hint.contains(&message) && !message.contains(&hint),
            "the hint repeats the message: {record:?}"
        );
        assert!(
            label.is_empty() || !hint.contains(&label) && !label.contains(&hint),
            "the hint repeats the label: {record:?}"
        );
    }
}

/// Compiles a source that must be correct.
pub fn build(source: &str) -> Compiled {
    build_with(source, &CompileOptions::default()).unwrap_or_else(|e| panic!("{}\n{source}", e.render(false)))
}

/// Returns the errors of a source that must not compile.
pub fn refuse(source: &str) -> Diagnostics {
    match build_with(source, &CompileOptions::default()) {
        Ok(_) => panic!("this compiles:\n{source}"),
        Err(e) => e,
    }
}

pub fn bits(value: u128, width: usize) -> Vec<bool> {
    (0..width).map(|i| i < 128 && value >> i & 1 == 1).collect()
}

pub fn number(bits: &[bool]) -> u128 {
    bits.iter().enumerate().map(|(i, b)| if i < 128 { u128::from(*b) << i } else { 0 }).sum()
}

/// Returns the bits of the outputs of both parties.
pub fn simulate_bits(program: &Program, garbler: &[bool], evaluator: &[bool]) -> [Vec<bool>; 2] {
    let outputs = program.simulate(garbler, evaluator);
    [Party::Garbler, Party::Evaluator].map(|p| program.output_bits(p, &outputs))
}

/// Returns the garbler's output as a number.
pub fn run(program: &Program, garbler: u128, evaluator: u128) -> u128 {
    let widths = [Party::Garbler, Party::Evaluator].map(|p| program.input_width(p));
    let [own, _] = simulate_bits(program, &bits(garbler, widths[0]), &bits(evaluator, widths[1]));
    number(&own)
}

/// The types of all tests: `u1`, `u4`, `u8`, `u16`, `u32`, `s4`, `s8`, `s16`, … and two inputs and an output
/// of 8 bits.
pub const TYPES: &str = "typedef uint_t 1 u1 typedef uint_t 2 u2 typedef uint_t 3 u3 typedef uint_t 4 u4 \
                         typedef uint_t 8 u8 typedef uint_t 16 u16 typedef uint_t 32 u32 typedef uint_t 64 \
                         u64 typedef int_t 4 s4 typedef int_t 8 s8 typedef int_t 16 s16 ";

/// Makes a program with this body of `main`. In this program, `x` and `y` are the inputs, of type `input`.
pub fn program(input: &str, output: &str, functions: &str, body: &str) -> String {
    format!(
        "#parties 2 {TYPES} #input 1 {input} #input 2 {input} #output 1 {output}\n{functions}\nfunction \
         void main() {{\n{input} x = input1; {input} y = input2;\n{body}\n}}"
    )
}

/// Returns the value of an expression on two inputs.
pub fn eval(input: &str, output: &str, expression: &str, x: u128, y: u128) -> u128 {
    run(&build(&program(input, output, "", &format!("output1 = {expression};"))).program, x, y)
}
