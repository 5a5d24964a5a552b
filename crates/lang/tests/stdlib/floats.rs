//! Compares the floating-point numbers of the library with those of the machine. Most cases are ends of the
//! range, numbers halfway between two others, and cancellations. `BRICKWORK_FLOATS=1000000` sets the number
//! of cases of each function.

use brickwork::circuit::Program;

use super::common::simulate_bits;
use super::{build, number, random};

/// A format of floating-point numbers.
#[derive(Clone, Copy, PartialEq)]
struct Format {
    name: &'static str,
    exponent: u32,
    fraction: u32,
}

const FLOAT: Format = Format { name: "float", exponent: 8, fraction: 23 };
const DOUBLE: Format = Format { name: "double", exponent: 11, fraction: 52 };

impl Format {
    fn width(self) -> u32 {
        1 + self.exponent + self.fraction
    }

    fn is_nan(self, bits: u64) -> bool {
        let ones = (1 << self.exponent) - 1;
        bits >> self.fraction & ones == ones && bits & ((1 << self.fraction) - 1) != 0
    }

    /// Returns a number whose exponent and fraction are often special.
    fn edge(self, state: &mut u64) -> u64 {
        let mut pick = |list: &[u64]| list[(random(state) >> 8) as usize % list.len()];
        let (ones, bias, f) = ((1u64 << self.exponent) - 1, (1u64 << (self.exponent - 1)) - 1, self.fraction);
        let near = u64::from(f);
        let exponent = pick(&[
            0,
            1,
            2,
            bias - near - 1,
            bias - near,
            bias - 1,
            bias,
            bias + 1,
            bias + near,
            bias + near + 1,
            ones - 2,
            ones - 1,
            ones,
            bias / 2,
            bias / 2 - near / 2,
            bias + bias / 2,
        ]);
        let half = 1 << (f - 1);
        let fraction = pick(&[0, 1, 2, half - 1, half, half + 1, 2 * half - 2, 2 * half - 1]);
        let fraction = if pick(&[0, 1, 2]) == 0 { random(state) & (2 * half - 1) } else { fraction };
        (random(state) >> 40 & 1) << (self.width() - 1) | exponent << f | fraction
    }

    /// Returns three numbers: edges, random bits, and numbers that are near to each other.
    fn case(self, state: &mut u64) -> [u64; 3] {
        let all = u64::MAX >> (64 - self.width());
        let mut one = || if random(state) >> 20 & 3 == 0 { random(state) & all } else { self.edge(state) };
        let [a, mut b, mut c] = [one(), one(), one()];
        let kind = random(state) >> 30;
        if kind & 3 == 0 {
            b = (a ^ 1 << (self.width() - 1)).wrapping_add(random(state) % 7).wrapping_sub(3) & all;
        }
        if kind & 12 == 0 {
            // The product is chosen so that the sum with it is almost zero.
            let product = match self.fraction {
                23 => u64::from((-f32::from_bits(a as u32) * f32::from_bits(b as u32)).to_bits()),
                _ => (-f64::from_bits(a) * f64::from_bits(b)).to_bits(),
            };
            c = product.wrapping_add(random(state) % 5).wrapping_sub(2) & all;
        }
        [a, b, c]
    }
}

fn count() -> usize {
    std::env::var("BRICKWORK_FLOATS").ok().and_then(|n| n.parse().ok()).unwrap_or(1500)
}

/// Compiles a call of a function on the first inputs.
fn program(name: &str, inputs: &str, output: &str, arguments: usize) -> Program {
    let arguments = ["input1.x[0]", "input1.x[1]", "input2"][..arguments].join(", ");
    build(&format!(
        "#parties 2 #include \"float.wir\" typedef struct_t two {{ {inputs} x[2]; }}
        #input 1 two #input 2 {inputs} #output 1 {output}
        function void main() {{ output1 = {name}({arguments}); }}"
    ))
    .program
}

fn evaluate(program: &Program, width: u32, [a, b, c]: [u64; 3]) -> u64 {
    let wires = |n: u64| (0..width).map(move |i| n >> i & 1 == 1);
    let both: Vec<bool> = wires(a).chain(wires(b)).collect();
    number(&simulate_bits(program, &both, &wires(c).collect::<Vec<_>>())[0]) as u64
}

/// Checks a function with this number of arguments, whose results have the format `to`.
fn check(name: &str, [from, to]: [Format; 2], arguments: usize, ands: u64, model: impl Fn([u64; 3]) -> u64) {
    let program = program(&format!("{}_{name}", to.name), from.name, to.name, arguments);
    assert_eq!(program.and_gates(), ands, "{}_{name}", to.name);
    let mut state = 0x9e37_79b9 + ands;
    for _ in 0..count() {
        let case = from.case(&mut state);
        let (got, expected) = (evaluate(&program, from.width(), case), model(case));
        // The sign and the payload of NaN may have any value.
        let same = if to.is_nan(expected) { to.is_nan(got) } else { got == expected };
        assert!(same, "{}_{name} of {case:x?}: {got:x}, not {expected:x}", to.name);
    }
}

/// Makes a model from an expression of numbers `a`, `b` and `c`.
macro_rules! model {
    ($float:ident, $bits:ident, $a:ident, $b:ident, $c:ident, $result:expr) => {
        |case: [u64; 3]| {
            let [$a, $b, $c] = case.map(|bits| $float::from_bits(bits as $bits));
            let _ = ($b, $c);
            u64::from($result.to_bits())
        }
    };
}

#[test]
fn arithmetic_of_doubles() {
    let both = [DOUBLE, DOUBLE];
    check("add", both, 2, 1_992, model!(f64, u64, a, b, c, (a + b)));
    check("subtract", both, 2, 1_992, model!(f64, u64, a, b, c, (a - b)));
    check("multiply", both, 2, 6_219, model!(f64, u64, a, b, c, (a * b)));
    check("divide", both, 2, 8_436, model!(f64, u64, a, b, c, (a / b)));
    check("fma", both, 3, 9_649, model!(f64, u64, a, b, c, a.mul_add(b, c)));
    check("sqrt", both, 1, 4_908, model!(f64, u64, a, b, c, a.sqrt()));
    check("negate", both, 1, 0, model!(f64, u64, a, b, c, (-a)));
}

#[test]
fn arithmetic_of_floats() {
    let both = [FLOAT, FLOAT];
    check("add", both, 2, 824, model!(f32, u32, a, b, c, (a + b)));
    check("subtract", both, 2, 824, model!(f32, u32, a, b, c, (a - b)));
    check("multiply", both, 2, 1_924, model!(f32, u32, a, b, c, (a * b)));
    check("divide", both, 2, 2_260, model!(f32, u32, a, b, c, (a / b)));
    check("fma", both, 3, 3_379, model!(f32, u32, a, b, c, a.mul_add(b, c)));
    check("sqrt", both, 1, 1_523, model!(f32, u32, a, b, c, a.sqrt()));
    check("negate", both, 1, 0, model!(f32, u32, a, b, c, (-a)));
}

/// Conversions between the formats, and of integers of 64 bits in both directions.
#[test]
fn conversions() {
    check("from_float", [FLOAT, DOUBLE], 1, 861, model!(f32, u32, a, b, c, f64::from(a)));
    check("from_double", [DOUBLE, FLOAT], 1, 1_028, model!(f64, u64, a, b, c, (a as f32)));
    let mut state = 41;
    let integer = |state: &mut u64| ((random(state) as i64) >> (random(state) >> 20 & 63)) as u64;
    for (name, ands) in [("double", 1_266), ("float", 928)] {
        let program = program(&format!("{name}_from_int"), "int_t 64", name, 1);
        assert_eq!(program.and_gates(), ands, "{name}");
        let cases = [0, 1 << 63, u64::MAX, u64::MAX >> 1].into_iter();
        for n in cases.chain((0..count()).map(|_| integer(&mut state))).collect::<Vec<_>>() {
            let expected = match name {
                "float" => u64::from((n as i64 as f32).to_bits()),
                _ => (n as i64 as f64).to_bits(),
            };
            assert_eq!(evaluate(&program, 64, [n, 0, 0]), expected, "{name} of {n:x}");
        }
    }
    for (format, ands) in [(DOUBLE, 705), (FLOAT, 535)] {
        let program = program(&format!("{}_to_int", format.name), format.name, "int_t 64", 1);
        assert_eq!(program.and_gates(), ands, "{}", format.name);
        for _ in 0..count() {
            let [a, ..] = format.case(&mut state);
            let expected = match format.fraction {
                23 => f32::from_bits(a as u32) as i64,
                _ => f64::from_bits(a) as i64,
            };
            assert_eq!(evaluate(&program, format.width(), [a, 0, 0]), expected as u64, "{a:x}");
        }
    }
}

#[test]
fn comparisons() {
    for (format, ands) in [(DOUBLE, [380, 442, 133]), (FLOAT, [188, 218, 67])] {
        for (name, ands) in ["less", "less_or_equal", "equal"].into_iter().zip(ands) {
            let program = program(&format!("{}_{name}", format.name), format.name, "uint_t 1", 2);
            assert_eq!(program.and_gates(), ands, "{}_{name}", format.name);
            let mut state = 43;
            for _ in 0..count() {
                let case = format.case(&mut state);
                let [a, b] = [case[0], case[1]].map(|bits| match format.fraction {
                    23 => f64::from(f32::from_bits(bits as u32)),
                    _ => f64::from_bits(bits),
                });
                let expected = match name {
                    "less" => a < b,
                    "equal" => a == b,
                    _ => a <= b,
                };
                let got = evaluate(&program, format.width(), case);
                assert_eq!(got, u64::from(expected), "{}_{name} of {case:x?}", format.name);
            }
        }
    }
}
