//! Compares the library functions for any width with models, and checks their costs.

use brickwork::circuit::{Party, Program};

use super::common::{bits, build, number, run, simulate_bits};
use super::random;

/// Makes a program of one call on inputs of the same type.
fn call(library: &str, ty: &str, out: &str, expression: &str) -> Program {
    let source = format!(
        "#parties 2 #include \"{library}\" #input 1 {ty} #input 2 {ty} #output 1 {out}
        function void main() {{ {ty} a = input1; {ty} b = input2; output1 = {expression}; }}"
    );
    let compiled = build(&source);
    assert_eq!(compiled.warnings.render(false), "", "{source}");
    compiled.program
}

/// Returns extreme and random values of this width.
fn pairs(width: u32) -> Vec<(u64, u64)> {
    let all = u64::MAX >> (64 - width);
    let corners = [0, 1, all, all >> 1, (all >> 1) + 1, 5 & all];
    let mut list: Vec<(u64, u64)> = corners.iter().flat_map(|a| corners.map(|b| (*a, b))).collect();
    let mut state = 61 + u64::from(width);
    list.extend((0..40).map(|i| (random(&mut state) & all, (random(&mut state) & all) >> (i % width))));
    list
}

fn signed(value: u64, width: u32) -> i64 {
    (value << (64 - width)) as i64 >> (64 - width)
}

const WIDTHS: [u32; 8] = [1, 2, 3, 7, 8, 16, 33, 64];

#[test]
fn minimum_maximum_absolute_value_distance_and_count() {
    // A model of a function on two values of this width, and the allowed number of ANDs.
    type Model = fn(u64, u64, u32) -> u64;
    type Cost = fn(u32) -> u32;
    let cases: [(&str, bool, Model, Cost); 10] = [
        ("min(a, b)", false, |a, b, _| a.min(b), |w| 2 * w),
        ("max(a, b)", false, |a, b, _| a.max(b), |w| 2 * w),
        ("min(a, b)", true, |a, b, w| if signed(a, w) < signed(b, w) { a } else { b }, |w| 2 * w),
        ("max(a, b)", true, |a, b, w| if signed(a, w) < signed(b, w) { b } else { a }, |w| 2 * w),
        ("abs(a)", true, |a, _, w| signed(a, w).unsigned_abs() & (u64::MAX >> (64 - w)), |w| w - 1),
        ("distance(a, b)", false, |a, b, _| a.abs_diff(b), |w| 2 * w - 1),
        ("popcount(a)", false, |a, _, _| u64::from(a.count_ones()), |w| w - w.count_ones()),
        ("shift_right(a, 3##2)", true, |a, _, w| (signed(a, w) >> 3) as u64, |_| 0),
        // Each bit but the sign costs one AND for each relevant bit of the amount, and a few more if the
        // amount can be too large.
        (
            "shift_right(a, b{0:w})",
            true,
            |a, b, w| (signed(a, w) >> b.min(63)) as u64,
            |w| (w.ilog2() + 2) * (w - 1) + w,
        ),
        ("max(a, 5)", false, |a, _, w| a.max(5 & (u64::MAX >> (64 - w))), |w| 2 * w),
    ];
    for width in WIDTHS {
        let all = u64::MAX >> (64 - width);
        for (expression, is_signed, model, cost) in cases {
            // A single bit counts as unsigned, and the constant must fit into the width.
            if (width == 1 && is_signed) || (width < 4 && expression.contains('5')) {
                continue;
            }
            let ty = format!("{} {width}", if is_signed { "int_t" } else { "uint_t" });
            let out = if expression.starts_with("abs") { format!("uint_t {width}") } else { ty.clone() };
            let expression = &expression.replace("{0:w}", &format!("{{0:{width}}}"));
            let program = call("integers.wir", &ty, &out, expression);
            let most = u64::from(cost(width));
            assert!(program.and_gates() <= most, "{expression}, {width}: {} > {most}", program.and_gates());
            for (a, b) in pairs(width) {
                let want = model(a, b, width) & all;
                let got = run(&program, a.into(), b.into());
                assert_eq!(got, want.into(), "{expression}, {ty}, {a} {b}");
            }
        }
    }
}

/// Returns the number of comparators in Batcher's odd-even merge sort, by Knuth's algorithm M for any number
/// of elements.
fn comparators(n: usize) -> u64 {
    let (t, mut count) = (usize::BITS - (n - 1).leading_zeros(), 0);
    let mut p = 1usize << t >> 1;
    while p > 0 {
        let (mut q, mut r, mut d) = (1usize << t >> 1, 0, p);
        loop {
            count += (0..n.saturating_sub(d)).filter(|i| i & p == r).count() as u64;
            if q == p {
                break;
            }
            (d, q, r) = (q - p, q >> 1, p);
        }
        p >>= 1;
    }
    count
}

#[test]
fn sort_of_any_width_and_length() {
    for (n, width, is_signed) in [
        (1, 8, false),
        (2, 1, false),
        (3, 5, true),
        (5, 8, false),
        (8, 16, true),
        (13, 4, false),
        (16, 33, true),
    ] {
        let ty = format!("{} {width}", if is_signed { "int_t" } else { "uint_t" });
        let source = format!(
            "#parties 2 #include \"integers.wir\" typedef struct_t list {{ {ty} items[{n}]; }} #input 1 \
             list #output 1 list
            function void main() {{ output1.items = sort(input1.items); }}"
        );
        let compiled = build(&source);
        assert_eq!(compiled.warnings.render(false), "", "{source}");
        let program = compiled.program;
        if n > 1 {
            // A comparator consists of a comparison and an exchange, each with one AND per bit.
            let each = 2 * u64::from(width);
            assert_eq!(program.slot_count() as u64, comparators(n), "{n}");
            assert_eq!(program.and_gates(), comparators(n) * each, "{n}, {width}");
        }
        let mut state = 67;
        for round in 0..40 {
            let few = if round % 2 == 0 { 3 } else { u64::MAX };
            let values: Vec<u64> =
                (0..n).map(|_| random(&mut state) & few & (u64::MAX >> (64 - width))).collect();
            let input: Vec<bool> = values.iter().flat_map(|v| bits((*v).into(), width as usize)).collect();
            let [out, _] = simulate_bits(&program, &input, &[]);
            let got: Vec<u64> = out.chunks(width as usize).map(|c| number(c) as u64).collect();
            let mut want = values;
            want.sort_by_key(|v| if is_signed { signed(*v, width) as i128 } else { i128::from(*v) });
            assert_eq!(got, want);
        }
    }
    // The literature has 19 comparators for 8 elements, and 63 for 16.
    assert_eq!((comparators(8), comparators(16)), (19, 63));
}

#[test]
fn fixed_point() {
    let floor = |x: i128, bits: u32| x >> bits;
    let round = |x: i128, bits: u32| (x + (1 << (bits - 1))) >> bits;
    for width in [8u32, 16, 32, 64] {
        let half = width / 2;
        let ty = format!("int_t {width}");
        let of = |expression: &str| call("fixed.wir", &ty, &ty, expression);
        let [sum, difference, product, quotient, rounded, floored, from] = [
            "a + b",
            "a - b",
            "fixed_multiply(a, b)",
            "fixed_divide(a, b)",
            "fixed_round(a)",
            "fixed_floor(a)",
            "fixed_from(a)",
        ]
        .map(of);
        let less = call("fixed.wir", &ty, "uint_t 1", "a < b");
        assert_eq!(less.and_gates(), u64::from(width));
        assert_eq!((floored.and_gates(), from.and_gates()), (0, 0));
        // The carry of the added half goes through the whole part before the point.
        assert_eq!(rounded.and_gates(), u64::from(half));
        let wraps = |x: i128| (x as u64) & (u64::MAX >> (64 - width));
        let (mut divided, limit) = (0, 1i128 << (width - 1));
        for (x, y) in pairs(width) {
            let (a, b) = (i128::from(signed(x, width)), i128::from(signed(y, width)));
            let on = |p: &Program| run(p, x.into(), y.into()) as u64;
            assert_eq!(on(&sum), wraps(a + b));
            assert_eq!(on(&difference), wraps(a - b));
            assert_eq!(on(&product), wraps(round(a * b, half)), "{a} * {b}");
            assert_eq!(on(&rounded), wraps(round(a, half)), "{a}");
            assert_eq!(on(&floored), wraps(floor(a, half)), "{a}");
            assert_eq!(on(&from), wraps(a << half), "{a}");
            assert_eq!(on(&less), u64::from(a < b));
            if b != 0 && ((a << half) / b).abs() < limit {
                assert_eq!(on(&quotient), wraps((a << half) / b), "{a} / {b}");
                divided += 1;
            }
        }
        assert!(divided > 20, "{divided}");
    }
    // The cost is that of the operators, plus one carry chain for the rounding.
    let ands = |expression: &str, out: &str| call("fixed.wir", "int_t 32", out, expression).and_gates();
    let full = ands("a ** b", "int_t 64");
    assert!(ands("fixed_multiply(a, b)", "int_t 32") <= full + 31, "{full}");
    let source = "#parties 2 #input 1 int_t 64 #input 2 int_t 32 #output 1 int_t 32 function void main() { \
                  output1 = input1 // input2; }";
    assert!(ands("fixed_divide(a, b)", "int_t 32") <= build(source).program.and_gates());
}

/// Each instance of a generic library function is a component of its own, with the expected cost.
#[test]
fn instances_are_components_of_their_own() {
    let source = "#parties 2 #include \"integers.wir\" #input 1 uint_t 8 #input 2 uint_t 8 #output 1 uint_t \
                  8
        function void main() { output1 = max(input1, input2); output1{0:4} = min(output1{4:4}, input2{0:4}); \
                  }";
    let program = build(source).program;
    super::assert_cut(&program, &[("max.uint8", 1), ("min.uint4", 1)]);
    assert_eq!(program.input_width(Party::Garbler), 8);
}
