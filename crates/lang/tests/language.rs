//! Tests the language's reference: types (5.1, 5.2), operators (6), statements (8). Each test names its row
//! of the reference.

mod common;

use brickwork_lang::CompileOptions;
use common::*;

/// Evaluates an expression with two unsigned 8-bit inputs `x` and `y`; the result has 8 bits, too.
fn u8s(expression: &str, x: u128, y: u128) -> u128 {
    eval("u8", "u8", expression, x, y)
}

fn s8s(expression: &str, x: i128, y: i128) -> i128 {
    let v = eval("s8", "s8", expression, x as u128, y as u128) as i128;
    if v > 127 { v - 256 } else { v }
}

fn compiles(body: &str) -> bool {
    build_with(&program("u8", "u8", "", body), &Default::default()).is_ok()
}

fn warns(body: &str, code: &str) -> bool {
    build(&program("u8", "u8", "", body)).warnings.list().iter().any(|d| d.code == code)
}

// ---- 5.1: compatibility ----

#[test]
fn compatibility_identical_type() {
    assert_eq!(u8s("y", 3, 9), 9);
}

#[test]
fn compatibility_untyped_with_any_int_pads_or_truncates() {
    assert_eq!(u8s("5", 0, 0), 5);
    assert_eq!(u8s("300", 0, 0), 44);
    assert!(warns("output1 = 300;", "constant::truncated"));
}

#[test]
fn compatibility_same_width_other_sign_or_name_warns() {
    assert!(warns("s8 z = x; output1 = z;", "type::cast"));
    assert!(!warns("u8 z = x; output1 = z;", "type::cast"));
    // Types of literals, slices, products and comparisons are compatible with all others.
    assert!(!warns("s8 z = 5##8; s4 w = x{0:4}; s16 p = x ** y;", "type::cast"));
}

#[test]
fn compatibility_different_widths_is_an_error() {
    assert!(!compiles("u4 z = x; output1 = z;"));
    assert!(!compiles("u16 z = x;"));
    // This is the right way to widen a number.
    assert_eq!(
        run(&build(&program("u8", "u16", "", "u16 w; w{0:8} = x; output1 = w;")).program, 200, 0),
        200
    );
    assert_eq!(run(&build(&program("u8", "u4", "", "output1 = x{0:4};")).program, 0xab, 0), 0xb);
}

/// A program may declare the types that it needs, even if a file of the standard library declares the same.
#[test]
fn a_type_may_be_defined_again_alike() {
    let with = |types: &str, body: &str| build_with(&program("u8", "u8", types, body), &Default::default());
    let built =
        with("#include \"integers.wir\"\ntypedef uint_t 1 bit", "bit b = x > y; output1 = max(x, y);");
    assert_eq!(run(&built.expect("a program").program, 5, 9), 9);
    assert!(with("typedef uint_t 2 two typedef uint_t 2 two", "two t = x{0:2}; output1 = x;").is_ok());
    for other in ["uint_t 3 two", "int_t 2 two", "struct_t two { u8 a; }"] {
        assert!(with(&format!("typedef uint_t 2 two typedef {other}"), "output1 = x;").is_err(), "{other}");
    }
}

#[test]
fn compatibility_of_arrays_needs_dimensions_and_bases() {
    assert!(compiles("u8 a[2]; u8 b[2]; a = b;"));
    assert!(warns("u8 a[2]; s8 b[2]; a = b; output1 = a[0];", "type::cast"));
    assert!(!compiles("u8 a[2]; u8 b[3]; a = b;"));
    assert!(!compiles("u8 a[2]; u16 b[2]; a = b;"));
    assert!(!compiles("u8 a[2]; a = x;"));
}

#[test]
fn compatibility_of_structs_is_nominal() {
    let types = "typedef struct_t A { u8 a; } typedef struct_t B { u8 a; }";
    let with = |body: &str| build_with(&program("u8", "u8", types, body), &Default::default());
    assert!(with("A p; A q; p.a = x; q = p; output1 = q.a;").is_ok());
    assert!(with("A p; B q; q = p;").is_err());
    assert!(with("A p = 5;").is_err());
}

#[test]
fn literals_signed_unsigned_truncated_and_zero_extended() {
    assert_eq!(eval("u8", "u1", "(255##8 < x)", 0, 0), 0);
    assert_eq!(eval("s8", "u1", "(255#8 < x)", 0, 0), 1, "-1 < 0");
    assert_eq!(u8s("300##8", 0, 0), 44);
    let types = "typedef uint_t 128 wide";
    let p =
        build(&program("u8", "u8", types, "wide w = 1##128; output1{0} = w{64}; output1{1} = w{0};")).program;
    assert_eq!(run(&p, 0, 0), 2, "bits above 63 of a literal are zero");
}

// ---- 5.2: untyped constants ----

#[test]
fn untyped_constants_have_fixed_widths() {
    // An untyped constant has one bit more than its value: 0 and 1 have 2 bits, 2 and 3 have 3, and 255 has
    // 9. Shifts that make a value wider show this.
    for (expression, value) in [
        ("3*3", 1),
        ("7+7+7", 5),
        ("1-2", 7),
        ("2-3", 7),
        ("255+255", 510),
        ("10/3", 3),
        ("-1+1", 0),
        ("1 << 9", 512),
        ("3 - 4 + 1", 0),
        ("1+1", 2),
    ] {
        assert_eq!(eval("u8", "u16", expression, 0, 0), value, "{expression}");
    }
}

#[test]
fn untyped_minus_negates_at_its_own_width() {
    assert_eq!(s8s("-1", 0, 0), 3);
    assert_eq!(eval("s8", "u1", "(x == -1)", 255, 0), 0);
    assert_eq!(eval("s8", "u1", "(x == -1##8)", 255, 0), 1);
    assert!(warns("output1 = -1;", "constant::minus"));
}

#[test]
fn untyped_results_that_differ_from_arithmetic_warn() {
    assert!(warns("output1 = 3*3;", "constant::wraps"));
    assert!(warns("output1 = 1-2;", "constant::wraps"));
    assert!(!warns("output1 = 255+255-300;", "constant::wraps"));
}

#[test]
fn untyped_constants_beside_signed_numbers_may_be_negative() {
    assert_eq!(eval("s8", "u1", "(x < 200)", 250, 0), 0, "-6 is not less than -56");
    assert_eq!(s8s("x / 200", -112, 0), 2);
    assert!(warns("s8 z = x; output1{0} = z < 200;", "constant::sign"));
    assert!(!warns("s8 z = x; output1{0} = z < 100; output1{1} = x < 200; z = z & 255;", "constant::sign"));
}

#[test]
fn untyped_constants_as_indices_are_unsigned() {
    let p = build(&program("u8", "u8", "", "u8 a[4]; a[3] = x; output1 = a[2-3-4];")).program;
    assert_eq!(run(&p, 77, 0), 77, "2-3-4 is 3 in 4 bits less 1: 7-4");
}

// ---- 6: operators ----

#[test]
fn plus_and_minus_wrap() {
    assert_eq!(u8s("x + y", 200, 100), 44);
    assert_eq!(u8s("x - y", 1, 2), 255);
    assert_eq!(eval("u1", "u1", "x + y", 1, 1), 0);
    assert_eq!(eval("u1", "u1", "x - y", 0, 1), 1);
}

#[test]
fn times_keeps_the_low_bits() {
    assert_eq!(u8s("x * y", 20, 20), 144);
    assert_eq!(s8s("x * y", -3, 5), -15);
    assert_eq!(eval("u1", "u1", "x * y", 1, 1), 1);
}

#[test]
fn wide_product_is_full_and_signed_only_if_both_are() {
    assert_eq!(eval("u8", "u16", "x ** y", 255, 255), 65025);
    assert_eq!(eval("s8", "s16", "x ** y", 0x80, 0x80), 16384);
    assert_eq!(eval("s8", "s16", "x ** y", 0xff, 2), 0xfffe);
    assert_eq!(eval("s8", "s16", "x ** 2##8", 0xff, 0), 510, "one side unsigned: all unsigned");
    assert!(!compiles("u16 z = x ** 3;"));
    assert!(!compiles("u16 z = x ** 3##4;"));
}

#[test]
fn division_truncates_and_the_remainder_follows_the_dividend() {
    for (a, b) in [(7, 2), (-7, 2), (7, -2), (-7, -2), (127, 10), (-128, 3)] {
        assert_eq!(s8s("x / y", a, b), a / b);
        assert_eq!(s8s("x % y", a, b), a % b);
    }
    assert_eq!(u8s("x / y", 200, 7), 28);
    assert_eq!(u8s("x % y", 200, 7), 4);
    assert_eq!((s8s("x / y", -128, -1), s8s("x % y", -128, -1)), (-128, 0));
}

#[test]
fn division_by_zero_is_defined() {
    assert_eq!((u8s("x / y", 9, 0), u8s("x % y", 9, 0)), (255, 9));
    assert_eq!((s8s("x / y", 9, 0), s8s("x % y", 9, 0)), (-1, 9));
    assert_eq!((s8s("x / y", -9, 0), s8s("x % y", -9, 0)), (-1, -9));
    assert_eq!((s8s("x / y", -128, 0), s8s("x % y", -128, 0)), (-1, -128));
    assert_eq!((s8s("x / 0", -9, 0), s8s("x % 0", -9, 0)), (-1, -9));
    assert_eq!((u8s("x / 0", 9, 0), u8s("x % 0", 9, 0)), (255, 9));
}

#[test]
fn wide_division_of_double_width() {
    let p = |op: &str| {
        let types = "typedef int_t 9 s9 typedef int_t 5 s5 typedef uint_t 9 u9 typedef uint_t 5 u5";
        format!(
            "#parties 2 {types} #input 1 u9 #input 2 u5 #output 1 u5 function void main() {{ output1 = \
             input1 {op} input2; }}"
        )
    };
    assert_eq!(run(&build(&p("//")).program, 300, 20), 15);
    assert_eq!(run(&build(&p("%%")).program, 307, 20), 7);
    let minimum = "#parties 2 typedef int_t 9 s9 typedef int_t 5 s5 #input 1 s9 #input 2 s5 #output 1 s5 \
                   function void main() { output1 = input1 // input2; }";
    assert_eq!(run(&build(minimum).program, (1 << 9) - 16, 31), 16, "-16 // -1 wraps to -16");
    let known = "#parties 2 typedef int_t 5 s5 #input 1 s5 #output 1 s5 function void main() { output1 = \
                 -16#9 // -1#5; }";
    assert_eq!(run(&build(known).program, 0, 0), 16);
    assert!(!compiles("u8 q = x // 3;"));
    assert!(!compiles("u8 q = x // y;"));
}

#[test]
fn bitwise_operators() {
    assert_eq!(u8s("x & y", 12, 10), 8);
    assert_eq!(u8s("x | y", 12, 10), 14);
    assert_eq!(u8s("x ^ y", 12, 10), 6);
    assert_eq!(u8s("x & 3", 255, 0), 3);
}

#[test]
fn both_nots_are_bitwise() {
    assert_eq!(u8s("~x", 12, 0), 243);
    assert_eq!(u8s("!x", 12, 0), 243);
    assert!(!compiles("output1 = ~5;"));
}

#[test]
fn unary_minus_at_own_width() {
    assert_eq!(u8s("-x", 1, 0), 255);
    assert_eq!(u8s("-5#8", 0, 0), 251);
}

#[test]
fn equality_of_all_types() {
    assert_eq!(eval("u8", "u1", "(x == 300)", 44, 0), 1, "300 is cut to 8 bits");
    assert_eq!(eval("u8", "u1", "(x != y)", 4, 5), 1);
    let types = "typedef struct_t A { u8 a; u8 b[2]; }";
    let p = build(&program("u8", "u1", types, "A p; A q; p.b[1] = x; q.b[1] = y; output1 = p == q;")).program;
    assert_eq!((run(&p, 4, 4), run(&p, 4, 5)), (1, 0));
    let p =
        build(&program("u8", "u1", "", "u8 p[2]; u8 q[2]; p[1] = x; q[1] = y; output1 = p != q;")).program;
    assert_eq!((run(&p, 4, 4), run(&p, 4, 5)), (0, 1));
}

#[test]
fn comparisons_are_signed_if_both_or_one_and_an_untyped_constant() {
    assert_eq!(eval("s8", "u1", "(x < y)", 255, 1), 1);
    assert_eq!(eval("u8", "u1", "(x < y)", 255, 1), 0);
    assert_eq!(eval("s8", "u1", "(x < 1)", 255, 1), 1);
    assert_eq!(eval("s8", "u1", "(1 > x)", 255, 1), 1);
    assert_eq!(eval("s8", "u1", "(x < 1##8)", 255, 1), 0, "one side is unsigned");
    for (op, want) in [("<", 0), (">", 0), ("<=", 1), (">=", 1)] {
        assert_eq!(eval("s8", "u1", &format!("(x {op} y)"), 200, 200), want);
    }
    assert_eq!(eval("u8", "u1", "(0#1 < 1#1)", 0, 0), 1, "single bits are compared as unsigned");
}

#[test]
fn shifts_are_logical_and_their_width_depends_on_the_left_operand() {
    assert_eq!(eval("u8", "u16", "x << 3", 255, 0), 248);
    assert_eq!(eval("u8", "u16", "(x + 0) << 3", 255, 0), 2040);
    assert_eq!(eval("u8", "u16", "1 << 9", 0, 0), 512);
    assert_eq!(eval("s8", "u8", "x >> 1", 0x80, 0), 0x40, "zeros come in, also for signed values");
    assert_eq!(u8s("x << 8", 255, 0), 0);
    assert_eq!(u8s("x >> 99", 255, 0), 0);
    assert_eq!(eval("u8", "u16", "(x + 0) >> 99", 255, 0), 0);
    // A slice is not a variable, so a shift makes it wider.
    assert_eq!(eval("u8", "u8", "x{0:4} << 2", 15, 0), 60);
    let p = build(&program(
        "u8",
        "u16",
        "typedef struct_t A { u8 a[2]; }",
        "A s; s.a[1] = x; output1 = s.a[1] << 3;",
    ))
    .program;
    assert_eq!(run(&p, 255, 0), 248, "elements and fields keep their width");
}

/// `>>>` keeps the sign, the type and the width of its left side.
#[test]
fn arithmetic_shifts_round_down() {
    for (x, by, want) in
        [(-100i8, 3, -13i8), (100, 3, 12), (-1, 9, -1), (-128, 7, -1), (127, 8, 0), (-5, 0, -5)]
    {
        assert_eq!(s8s(&format!("x >>> {by}"), x.into(), 0), want.into(), "{x} {by}");
        assert_eq!(s8s(&format!("(x + 0) >>> {by}"), x.into(), 0), want.into(), "{x} {by}");
        assert_eq!(s8s(&format!("{x}#8 >>> {by}").replace("-", "0#8 - "), 0, 0), want.into(), "{x} {by}");
    }
    assert_eq!(u8s("x >>> 3", 200, 0), 25, "an unsigned number has no sign to keep");
    assert_eq!(eval("s8", "s8", "(x >>> 1) + (x >>> 1)", 0x80, 0), 0x80);
    assert!(!compiles("s8 z; u16 w = z >>> 1;"), "the type is that of the left side");
    assert!(!compiles("output1 = x >>> -1#8;"));
}

/// If the amount has another width, the result is compatible with numbers of every width.
#[test]
fn the_type_of_a_shift_is_the_type_of_its_amount() {
    assert!(compiles("u4 k = 3; u8 z = x << 3; u16 w = x << 3;"));
    assert!(compiles("u4 k = 3; output1 = x << k;"));
    assert!(compiles("u4 k = 3; u4 z = x << k; u8 w = (x << k) + y;"));
    assert!(compiles("u8 k = 3; output1 = x << k;"));
    assert!(!compiles("u8 k = 3; u16 z = x << k;"));
}

#[test]
fn known_shift_amounts_are_not_negative() {
    assert!(!compiles("output1 = x << -1#8;"));
}

/// A secret amount selects among the shifted values. Each bit costs one AND for each relevant bit of the
/// amount, and one more if the amount can be too large.
#[test]
fn shifts_by_secret_amounts() {
    for (op, body, ands) in [
        ("<<", "output1 = x << y;", 3 * 8 + 4 + 8),
        (">>", "output1 = x >> y;", 3 * 8 + 4 + 8),
        // A rotation by half the width exchanges the halves.
        ("<<>", "output1 = x <<> y;", 2 * 8 + 4),
        ("<<", "u3 s = y{0:3}; output1 = x << s;", 3 * 8),
        (">>", "u3 s = y{0:3}; output1 = x >> s;", 3 * 8),
        ("<<>", "output1 = x <<> y{0:3};", 2 * 8 + 4),
        ("<<", "u4 s = y{0:4}; output1 = (x + 0) << s;", 0),
        ("<<", "s8 s; s{0:8} = y; output1 = x << s;", 3 * 8 + 4 + 8),
        // The highest bit does not change, so it costs nothing.
        (">>>", "s8 z; z{0:8} = x; output1{0:8} = z >>> y;", 3 * 7 + 4 + 7),
        (">>>", "s8 z; z{0:8} = x; output1{0:8} = z >>> y{0:3};", 3 * 7),
        (">>", "output1 = x >>> y;", 3 * 8 + 4 + 8),
    ] {
        let p = build(&program("u8", "u8", "", body)).program;
        if ands > 0 {
            assert_eq!(p.and_gates(), ands, "{body}");
        }
        for (x, y) in (0..260u32).map(|i| (i * 91 % 256, i % 256)).chain((0..16).map(|y| (0xb5, y))) {
            let s = if body.contains("{0:3}") {
                y % 8
            } else if body.contains("{0:4}") {
                y % 16
            } else {
                y
            };
            let want = match op {
                "<<" => x.checked_shl(s).unwrap_or(0) & 255,
                ">>" => x.checked_shr(s).unwrap_or(0),
                ">>>" => u32::from(((x as u8 as i8) >> s.min(7)) as u8),
                _ => u32::from((x as u8).rotate_left(s % 8)),
            };
            assert_eq!(run(&p, x.into(), y.into()), want.into(), "{body} {x} {y}");
        }
    }
    // The width of this value is not a power of two.
    let p = build(
        "#parties 2 #input 1 uint_t 5 #input 2 uint_t 8 #output 1 uint_t 5 function void main() { output1 = \
         input1 <<> input2; }",
    );
    for (x, s) in (0..32).flat_map(|x| (0..256).step_by(7).map(move |s| (x, s))) {
        let r = s % 5;
        assert_eq!(run(&p.program, x, s), (x << r | x >> (5 - r)) & 31, "{x} {s}");
    }
    // An expression that is not a variable becomes wider by the largest possible amount.
    assert_eq!(
        run(&build(&program("u8", "u16", "", "u3 s = y{0:3}; output1 = (x + 0) << s;")).program, 255, 7),
        255 << 7
    );
    let one = build(&program("u8", "u16", "", "u4 s = y{0:4}; output1 = 1 << s;")).program;
    (0..16).for_each(|s| assert_eq!(run(&one, 0, s), 1 << s));
}

/// A secret index selects an element. Beyond the end, elements read as zero and are not written.
#[test]
fn elements_at_secret_indexes() {
    let fill = "u8 a[5] = {10, 20, 30, x, 50};";
    let p = build(&program("u8", "u8", "", &format!("{fill} output1 = a[y];"))).program;
    for i in 0..256 {
        assert_eq!(run(&p, 77, i), [10, 20, 30, 77, 50].get(i as usize).copied().unwrap_or(0), "{i}");
    }
    let p = build(&program("u8", "u8", "", &format!("{fill} a[y]++; output1 = a[0] + a[3] + a[4];"))).program;
    for i in 0..10 {
        assert_eq!(run(&p, 77, i), 137 + u128::from([0, 3, 4].contains(&i)), "{i}");
    }
    let body = "u8 a[3][2]; for (u8 i = 0; i < 6; i++) a[i / 2][i % 2] = i + 1; u2 i = x{0:2}; u2 k = \
                x{2:2};
        if (y{0}) a[i][k]{4:4} = 15; u8 b = ++a[i][k]; output1 = b;
        for (u8 j = 0; j < 3; j++) output1 = output1 + (a[j][0] <<> 1) ^ (a[j][1] <<> 2);";
    let p = build(&program("u8", "u8", "", body)).program;
    for (x, y) in (0..16u8).flat_map(|x| [(x, 0u8), (x, 1)]) {
        let mut a = [[1u8, 2], [3, 4], [5, 6]];
        let mut b = 1;
        if let Some(e) = a.get_mut(usize::from(x & 3)).and_then(|row| row.get_mut(usize::from(x >> 2 & 3))) {
            *e = (*e | if y == 1 { 0xf0 } else { 0 }).wrapping_add(1);
            b = *e;
        } else {
            // Missing bits of the index read as 0 and cannot be written.
            b -= 1;
        }
        let want =
            a.iter().fold(b, |sum, row| sum.wrapping_add(row[0].rotate_left(1)) ^ row[1].rotate_left(2));
        assert_eq!(run(&p, x.into(), y.into()), want.into(), "{x} {y}");
    }
    // A known index beyond the end is an error. In a function, a parameter counts as secret for every caller.
    assert!(!compiles("u8 a[3]; output1 = a[3];"));
    let f = "function u8 f(u8 k) { u8 a[3] = {1, 2, 3}; return a[k]; }";
    for (call, want) in [("f(2)", 3), ("f(3)", 0), ("f(255)", 0), ("f(x)", 2)] {
        for options in [options(&[], &[]), options(&["*"], &[])] {
            let source = program("u8", "u8", f, &format!("output1 = {call} + (y & 0);"));
            assert_eq!(run(&build_with(&source, &options).unwrap().program, 1, 0), want, "{call}");
        }
    }
}

/// An index with fewer bits than the array needs can select only the first elements.
#[test]
fn secret_indexes_of_every_width() {
    for (count, width) in (1..=17u128).flat_map(|count| (1..=6u32).map(move |width| (count, width))) {
        let body = format!(
            "uint_t {width} i = y{{0:{width}}}; u8 a[{count}]; for (u8 k = 0; k < {count}; k++) a[k] = k + 1 \
             + x; output1 = a[i];"
        );
        let p = build(&program("u8", "u8", "", &body)).program;
        for i in 0..1 << width {
            assert_eq!(run(&p, 100, i), if i < count { i + 101 } else { 0 }, "{i} of {count}, {width} bits");
        }
    }
}

/// Checks the cost of reading and writing at a secret index.
#[test]
fn costs_of_secret_indexes() {
    let ands = |n: usize, index: &str, body: &str| {
        let source = format!(
            "#parties 2 typedef struct_t A {{ uint_t 8 a[{n}]; }} #input 1 A #input 2 {index} #output 1 A \
             #output 2 uint_t 8
            function void main() {{ {body} output1 = input1; }}"
        );
        build(&source).program.and_gates()
    };
    let read = "output2 = input1.a[input2];";
    let write = "output2 = 0; input1.a[input2] = 200;".replace("200", "input1.a[0]");
    // With a power of two elements and an index of just enough bits, each bit of all elements but one costs
    // an AND.
    assert_eq!(ands(8, "uint_t 3", read), 7 * 8);
    assert_eq!(ands(2, "uint_t 1", read), 8);
    // If the index can be too large, each bit costs one AND more, and the comparison is added.
    assert_eq!(ands(8, "uint_t 4", read), 7 * 8 + 8);
    assert_eq!(ands(8, "uint_t 8", read), 7 * 8 + 8 + 4);
    assert_eq!(ands(5, "uint_t 3", read), 4 * 8 + 8 + 2);
    // A write costs one AND for each bit of each element, and one for each selecting bit except two.
    assert_eq!(ands(8, "uint_t 3", &write), 7 * 8 + 5);
    assert_eq!(ands(5, "uint_t 3", &write), 4 * 8 + 2 + 3);
    // Reading a table of constants costs less, because it folds.
    assert!(ands(4, "uint_t 2", "uint_t 8 t[4] = {1, 2, 4, 8}; output2 = t[input2];") <= 4);
}

/// The first `return` whose condition holds determines the result.
#[test]
fn functions_may_return_early() {
    let f = "function u8 f(u8 a, u8 b) {
            if (a == 0) return b;
            u8 c = a;
            for (u8 i = 0; i < 4; i++) {
                if (b == i) { c = c + 100; if (a > 100) return c; else c++; }
                if (i == 3) return c + i;
            }
            return 0;
        }";
    let model = |a: u8, b: u8| {
        if a == 0 {
            return b;
        }
        let mut c = a;
        for i in 0..4 {
            if b == i {
                c = c.wrapping_add(100);
                if a > 100 {
                    return c;
                }
                c = c.wrapping_add(1);
            }
        }
        c.wrapping_add(3)
    };
    let cuts = [options(&[], &[]), options(&["*"], &[])];
    for cut in cuts {
        let p = build_with(&program("u8", "u8", f, "output1 = f(x, y);"), &cut).unwrap().program;
        for (a, b) in (0..=255u8).step_by(5).flat_map(|a| [0, 1, 2, 3, 4, 200].map(|b| (a, b))) {
            assert_eq!(run(&p, a.into(), b.into()), model(a, b).into(), "{a} {b}");
        }
    }
    // An early `return` costs one selection, and statements after it need no condition. (In one branch the
    // lowest bit is known.)
    let f = "function u8 f(u8 a, u8 b) { if (a{0}) return b; a = a ^ b; a = a + 1; return a; }";
    assert_eq!(build(&program("u8", "u8", f, "output1 = f(x, y);")).program.and_gates(), 6 + 7);
    let f = "function u8 f(u8 a, u8 b) { if (a{0}) return b; else return a; }";
    assert_eq!(build(&program("u8", "u8", f, "output1 = f(x, y);")).program.and_gates(), 8);
    // `main` may return early if the condition is known.
    let p =
        build(&program("u8", "u8", "", "output1 = x; u8 k = 3; if (k == 3) return; output1 = y;")).program;
    assert_eq!(run(&p, 5, 6), 5);
    let v = "function void g(u8 a) { if (a == 0) return; a++; }";
    assert_eq!(run(&build(&program("u8", "u8", v, "g(x); output1 = x;")).program, 5, 6), 5);
}

#[test]
fn lists_may_name_arrays() {
    let body = "u8 row[5] = {1, 2, 3, 4, x}; u8 t[3][5] = {{0,0,0,0,0}, row, {9,9,9,9,9}}; u8 c[2][3][5] = \
                {t, {row, row, t[2]}};
        output1 = t[1][4] + t[1][0] + t[2][4] + c[0][1][4] + c[1][0][3] + c[1][2][0];";
    assert_eq!(
        run(&build(&program("u8", "u8", "", body)).program, 100, 0),
        (100 + 1 + 9 + 100 + 4 + 9) & 255
    );
    let f = "function u8[2] two(u8 a) { u8 b[2] = {a, a}; return b; }";
    let body = "u8 a[2] = two(x); u8 b[2] = a; u8 t[2][2] = {b, two(y)}; output1 = t[0][1] + t[1][0];";
    assert_eq!(run(&build(&program("u8", "u8", f, body)).program, 100, 5), 105);
    let s = "typedef struct_t S { u8 v; }";
    let body = "S p; p.v = x; S a[2] = {p, p}; S t[2][2] = {a, {p, a[1]}}; output1 = t[0][1].v + t[1][0].v \
                + t[1][1].v;";
    assert_eq!(run(&build(&program("u8", "u8", s, body)).program, 5, 0), 15);
}

#[test]
fn prefix_steps_yield_the_variable() {
    let of = |body: &str, x: u128| run(&build(&program("u8", "u8", "", body)).program, x, 0);
    assert_eq!(of("(++x = 1); output1 = x;", 7), 1);
    assert_eq!(of("++x = 1; output1 = x;", 7), 1);
    assert_eq!(of("output1 = (--x = 9) + x;", 7), 18);
    assert_eq!(of("output1 = ++(++x); output1 = output1 + x;", 7), 18);
    assert_eq!(of("output1 = --(++x);", 7), 7);
    assert_eq!(of("(++x){0:4} = 0; output1 = x;", 0x5f), 0x60);
    assert_eq!(of("u8 a[2]; u8 i = 0; ++a[i++] = 5; output1 = a[0] * 16 + i;", 0), 0x51);
    assert_eq!(of("output1 = x; u8 z = 3; (++z = x); output1 = z;", 8), 8);
    assert!(!compiles("(x++) = 1;"));
    assert!(!compiles("(++x{0:4}) = 1;"));
}

#[test]
fn types_without_names() {
    let body = "uint_t 8 a = x; int_t 16 b[2]; uint_t (2*4) c = a; b[1]{0:8} = c; output1 = b[1]{0:8} + 5;";
    assert_eq!(run(&build(&program("u8", "u8", "", body)).program, 7, 0), 12);
    let f = "#define W 8\nfunction uint_t W f(uint_t W a, int_t (W/2) b[2]) { for (uint_t W i = 0; i < 2; \
             i++) a{4*i:4} = b[i]; return a; }";
    let p = build(&program("u8", "u8", f, "int_t 4 b[2]; b[0] = x{4:4}; b[1] = x{0:4}; output1 = f(x, b);"))
        .program;
    assert_eq!(run(&p, 0xa5, 0), 0x5a);
    assert!(
        build("#parties 2 #input 1 int_t 8 #output 1 int_t 8 function void main() { output1 = -input1; }")
            .warnings
            .is_empty()
    );
}

#[test]
fn generic_functions_are_made_for_their_calls() {
    let f = "function T big<T>(T a, T b) { T m = a; if (a < b) m = b; return m; }
        function T sum<T, n>(T a[n]) { T s; for (u16 i = 0; i < n; i++) s = s + a[i]; return s; }
        function uint_t (a+b) join<a, b>(uint_t a low, uint_t b high) { uint_t (a+b) r; r{0:a} = low; r{a:b} \
             = high; return r; }
        function T[n][2] twice<T, n>(T a[n]) { T r[n][2]; for (u16 i = 0; i < n; i++) for (u16 k = 0; k < 2; \
             k++) r[i][k] = a[i]; return r; }";
    let of = |body: &str, x, y| run(&build(&program("u8", "u8", f, body)).program, x, y);
    assert_eq!(of("output1 = big(x, y);", 3, 200), 200);
    assert_eq!(of("s8 a; s8 b; a{0:8} = x; b{0:8} = y; output1{0:8} = big(a, b){0:8};", 3, 200), 3);
    assert_eq!(of("output1 = big(big(x, 9), y);", 3, 5), 9);
    assert_eq!(of("output1{0:4} = big(x{0:4}, y{4:4});", 3, 0x70), 7);
    assert_eq!(of("u8 a[3] = {x, y, 5}; output1 = sum(a);", 3, 4), 12);
    assert_eq!(of("output1 = join(x{4:4}, y{0:4});", 0x50, 6), 0x65);
    assert_eq!(
        of("u8 a[2] = {x, y}; u8 t[2][2] = twice(a); output1 = t[0][1] * 16 + sum(t[1]);", 3, 4),
        0x38
    );
    // `T` may be an array type, and a `#define`d name may be chosen as a size.
    assert_eq!(
        of("u8 a[2] = {x, y}; u8 t[1][2] = {a}; u8 r[1][2][2] = twice(t); output1 = r[0][1][1];", 3, 4),
        4
    );
    // Each choice makes a function with its own component, and an option applies to all of them.
    let body = "output1 = big(x, y); output1{0:4} = big(x{0:4}, y{0:4}); output1 = big(output1, x);";
    let source = program("u8", "u8", f, body);
    let names = |options| -> Vec<String> {
        let p = build_with(&source, &options).unwrap().program;
        p.components().iter().zip(p.slots_by_component()).map(|(c, n)| format!("{} {n}", c.name)).collect()
    };
    assert_eq!(names(options(&[], &[])), ["big.u8 2", "big.uint4 1"]);
    assert_eq!(names(options(&[], &["big"])), ["big.u8 2", "big.uint4 1"]);
    assert_eq!(names(options(&["big"], &[])).len(), 1);
}

#[test]
fn rotation_keeps_the_width() {
    assert_eq!(u8s("x <<> 3", 0b1000_0001, 0), 0b0000_1100);
    assert_eq!(u8s("x <<> 11", 0b1000_0001, 0), 0b0000_1100);
}

#[test]
fn bits_and_slices_are_base_and_length() {
    assert_eq!(eval("u8", "u1", "x{7}", 128, 0), 1);
    assert_eq!(eval("u8", "u4", "x{2:4}", 0b1011_0100, 0), 0b1101);
    assert_eq!(
        run(&build(&program("u8", "u8", "", "output1{2:4} = x{0:4}; output1{7} = 1;")).program, 0b1001, 0),
        0b1010_0100
    );
    assert!(!compiles("output1 = x{5:4};"));
    assert!(!compiles("output1{8} = 1;"));
    assert!(compiles("output1{0} = (x{0:4}){1};"));
}

/// A byte order mark, and lines with `#` before a source or an included file, have no effect. But a directive
/// that is written with a blank after the `#` is not ignored as a comment.
#[test]
fn a_source_may_have_a_preface() {
    let source = program("u8", "u8", "#include \"more.wir\"", "output1 = x + MORE;");
    let files = |text: &str| std::collections::HashMap::from([("more.wir".to_owned(), text.to_owned())]);
    for preface in ["\u{feff}", "# a program\n", "\u{feff}#! run\n\n#\r\n## 5, x\n"] {
        let files = files(&format!("{preface}#define MORE 3##8"));
        let compiled =
            build_files("test.wir", &format!("{preface}{source}"), &files, &CompileOptions::default())
                .unwrap();
        assert_eq!(run(&compiled.program, 4, 0), 7, "{preface}");
    }
    for preface in ["# define K 3\n", "#note\n", "x\n# a program\n"] {
        let refused = build_files(
            "test.wir",
            &format!("{preface}{source}"),
            &files("#define MORE 3##8"),
            &CompileOptions::default(),
        );
        assert!(refused.is_err(), "{preface}");
    }
}

#[test]
fn a_closing_brace_before_plus_is_two_tokens() {
    assert_eq!(eval("u8", "u1", "x{0}+y{0}", 1, 0), 1);
    assert_eq!(eval("u8", "u4", "x{0:4}+y{0:4}", 3, 4), 7);
    let inside = build(&program("u8", "u4", "", "+{ output1 = x{0:4}+y{0:4}; }+")).program;
    assert_eq!(run(&inside, 3, 4), 7);
}

#[test]
fn tokens_need_no_blanks_between_them() {
    let source = "#parties 2#define W 8typedef uint_t 8u #input 1u #input 2u #output 1u function void \
                  main(){output1=input1+5 # W+3## 8;}";
    assert_eq!(run(&build(source).program, 100, 0), 108);
}

#[test]
fn elements_of_arrays() {
    let p = build(&program(
        "u8",
        "u8",
        "",
        "u8 a[3][2]; a[2][1] = x; u8 b[2] = {1, 2}; a[1] = b; output1 = a[2][1] + a[1][0];",
    ))
    .program;
    assert_eq!(run(&p, 7, 0), 8);
    assert!(!compiles("u8 a[3]; output1 = a[3];"));
    assert!(warns("u8 a[3]; s8 i = 1; output1 = a[i];", "index::signed"));
}

#[test]
fn one_index_of_several_gives_a_smaller_array() {
    let body = "u8 a[3][2][2]; u8 b[2][2]; u8 c[2]; c[1] = x; b[1] = c; a[2] = b; output1 = a[2][1][1] + \
                (a[2])[1][1]; c = a[2][1];";
    assert_eq!(run(&build(&program("u8", "u8", "", body)).program, 7, 0), 14);
    assert!(!compiles("u8 a[3][2]; u8 c[3]; c = a[1];"), "the inner array has two elements");
    assert!(!compiles("x[0] = 1;"));
    assert!(!compiles("u8 a[3]; output1 = a[3#8];"));
    assert!(!compiles("u8 a[3]; output1 = a[-1#8];"));
}

#[test]
fn fields_of_structs() {
    let types = "typedef struct_t I { u8 v[2]; s8 t; } typedef struct_t O { I in[2]; u4 k; } function I \
                 first(O o) { return o.in[0]; }";
    let body = "O o; o.in[0].v[1] = x; o.in[1].t = y; o.k = 5; O p = o; p.in[0].v[1] = 0; output1 = \
                first(o).v[1] + o.in[1].t + first(p).v[1]; output1{0:4} = output1{0:4} ^ p.k;";
    let p = build(&program("u8", "u8", types, body)).program;
    assert_eq!(run(&p, 100, 20), 120 ^ 5);
    let with = |body: &str| build_with(&program("u8", "u8", types, body), &Default::default());
    assert!(with("O o; output1 = o.nothing;").is_err());
    assert!(with("output1 = x.v;").is_err());
    assert!(with("O o; O p; output1 = o + p;").is_err());
    assert!(with("O o; o++;").is_err());
}

#[test]
fn aggregates_are_copied_by_value() {
    let p = build(&program(
        "u8",
        "u8",
        "",
        "u8 a[2] = {1, 2}; u8 b[2]; b = a; a[0] = x; output1 = b[0] + a[0] * 16;",
    ))
    .program;
    assert_eq!(run(&p, 3, 0), 0x31);
}

#[test]
fn evaluation_is_from_left_to_right_and_targets_come_first() {
    let body = "u8 a[4]; u8 i = 0; a[i++] = i; a[i++] = i + i; output1 = a[0] * 16 + a[1];";
    assert_eq!(run(&build(&program("u8", "u8", "", body)).program, 0, 0), 0x14);
    let f = "function u8 two(u8 a, u8 b) { return a * 16 + b; }";
    assert_eq!(
        run(&build(&program("u8", "u8", f, "u8 i = 1; output1 = two(i++, i++);")).program, 0, 0),
        0x12
    );
    assert_eq!(run(&build(&program("u8", "u8", "", "u8 i = 8; output1 = i-- - i--;")).program, 0, 0), 1);
}

/// An index or an amount of a shift that is known, but too wide for 64 bits, is refused and not cut.
#[test]
fn known_numbers_of_more_than_64_bits_are_not_cut() {
    let types = "typedef uint_t 128 wide typedef uint_t 64 half";
    let with = |body: &str| build_with(&program("u8", "u8", types, body), &Default::default());
    assert!(with("wide k = 1; k{64} = 1; u8 a[2]; a[1] = x; output1 = a[k];").is_err());
    assert!(with("half k; k{63} = 1; output1 = x << (k >> 0);").is_err());
}

#[test]
fn increments_wrap_and_yield_new_or_old() {
    assert_eq!(
        run(&build(&program("u8", "u8", "", "output1 = x++; output1 = output1 + x;")).program, 255, 0),
        255
    );
    assert_eq!(
        run(&build(&program("u8", "u8", "", "output1 = --x; output1 = output1 + x;")).program, 0, 0),
        254
    );
    assert!(!compiles("x{0:4}++;"));
    assert!(!compiles("5++;"));
}

#[test]
fn assignment_is_an_expression() {
    assert_eq!(
        run(&build(&program("u8", "u8", "", "u8 a; u8 b; a = b = x; output1 = a + b;")).program, 4, 0),
        8
    );
    assert!(!compiles("x + y = 3;"));
    assert!(!compiles("5 = x;"));
}

#[test]
fn calls_pass_by_value() {
    let f = "function u8 f(u8 a) { a = a + 1; return a; }";
    assert_eq!(run(&build(&program("u8", "u8", f, "output1 = f(x) + x;")).program, 4, 0), 9);
    assert_eq!(run(&build(&program("u8", "u8", f, "output1 = f(f(x)) + f(3);")).program, 4, 0), 10);
    assert_eq!(run(&build(&program("u8", "u8", f, "output1 = f(300);")).program, 4, 0), 45);
}

#[test]
fn operands_are_values_from_the_time_they_were_read() {
    let p = build(&program("u8", "u8", "", "u8 z = 1; output1 = z + z++;"));
    assert_eq!(run(&p.program, 0, 0), 2);
    assert!(p.warnings.list().iter().any(|d| d.code == "expression::order"));
    assert!(!warns("u4 t = 0; output1{t++} = x{0};", "expression::order"));
    assert!(!warns("x = x + 1;", "expression::order"));
}

#[test]
fn result_types_of_mixed_operands() {
    // If one side is signed and the other unsigned, the operation is unsigned.
    assert_eq!(eval("s8", "u8", "x / 2##8", 0xfe, 0), 127);
    assert_eq!(s8s("x / 2", -2, 0), -1);
    assert_eq!(s8s("-100#8 / x", 3, 0), -33);
}

#[test]
fn knowledge_is_per_bit() {
    assert!(compiles("u8 a[4]; output1 = a[x & 0];"));
    assert!(compiles("u8 a[4]; output1 = a[x ^ x];"));
    assert!(compiles("u8 a[8]; for (u8 i = 0; i < 4; i++) output1 = a[i*2+1];"));
    assert!(compiles("for (u8 i = 0; i < 2; i++) output1{i*4:4} = x{i*4:4};"));
    assert!(compiles("for (u8 i = 0; i < 4; i++) output1{(i{0:8}%2#8){0}} = 1;"));
}

// ---- 7 and 8: variables and statements ----

#[test]
fn declarations_zero_their_variable_each_time() {
    let p = build(&program("u8", "u8", "", "for (u8 i = 0; i < 3; i++) { u8 z; z = z + x; output1 = z; }"))
        .program;
    assert_eq!(run(&p, 5, 0), 5);
    assert!(compiles("{ u8 z = 1; } { u16 z = 1; }"));
    assert!(!compiles("u8 z; { u8 z; }"));
    assert!(!compiles("for (u8 i = 0; i < 2; i++) for (u8 i = 0; i < 2; i++) x = y;"));
}

#[test]
fn if_with_a_known_condition_takes_one_branch() {
    assert_eq!(
        run(&build(&program("u8", "u8", "", "if (1) output1 = 5; else output1 = 6;")).program, 0, 0),
        5
    );
    assert_eq!(
        run(&build(&program("u8", "u8", "", "if (2) output1 = 5; else output1 = 6;")).program, 0, 0),
        6,
        "only bit 0 counts"
    );
    assert!(!compiles("if (x) output1 = 5;"));
}

#[test]
fn if_with_a_secret_condition_guards_all_writes() {
    let body = "u8 a[2]; a[0] = y; if (x{0}) { output1 = 7; a[0]{0:4} = 3; if (x{1}) { output1++; } } else \
                { output1 = 9; y = a[0]; } output1 = output1 + a[0];";
    let p = build(&program("u8", "u8", "", body)).program;
    for x in 0..4 {
        let want = if x & 1 == 1 { 7 + (x >> 1) + 0x53 } else { 9 + 0x55 };
        assert_eq!(run(&p, x, 0x55), want);
    }
}

#[test]
fn if_copies_its_condition() {
    let p = build(&program(
        "u1",
        "u1",
        "",
        "if (x) { x = 0; output1 = 1; } else { output1 = 0; x = 1; } output1 = output1 ^ x;",
    ))
    .program;
    assert_eq!((run(&p, 1, 0), run(&p, 0, 0)), (1, 1));
}

#[test]
fn known_bits_survive_a_secret_if_only_if_equal() {
    assert!(compiles("u8 i = 1; u8 a[4]; if (x{0}) i = 1; output1 = a[i];"));
    assert!(!compiles("u8 i = 1; if (x{0}) i = 2; output1{0} = y{i};"));
}

#[test]
fn for_is_unrolled_while_its_condition_is_known() {
    assert_eq!(
        run(
            &build(&program("u8", "u8", "", "for (u8 i = 0; i < 10; i++) { output1 = output1 + i; i++; }"))
                .program,
            0,
            0
        ),
        20
    );
    assert!(!compiles("for (u8 i = 0; i < x; i++) output1++;"));
}

#[test]
fn endless_loops_end_with_an_error() {
    for body in ["for (u4 i = 0; i < 16##4; i++) output1 = x;", "for (u4 i = 0; 1; i++) ;"] {
        let options = brickwork_lang::CompileOptions { unroll_limit: 1000, ..Default::default() };
        let errors = build_with(&program("u8", "u8", "", body), &options);
        // The first loop never starts, because 16 is 0 in 4 bits.
        assert!(errors.is_ok() || errors.unwrap_err().list().iter().any(|d| d.code == "limit::unroll"));
    }
    let options = brickwork_lang::CompileOptions { unroll_limit: 1000, ..Default::default() };
    let errors =
        build_with(&program("u8", "u8", "", "for (u4 i = 0; i < 15; i = i + 0) output1 = x;"), &options)
            .unwrap_err();
    assert_eq!(errors.list()[0].code, "limit::unroll");
    // In 8 bits, 300 is 44.
    let p = build(&program("u8", "u8", "", "for (u8 i = 0; i < 300; i++) output1 = output1 + 1;")).program;
    assert_eq!(run(&p, 0, 0), 44);
}

#[test]
fn functions_return_zeros_if_empty_and_must_return_otherwise() {
    assert_eq!(
        run(&build(&program("u8", "u8", "function u8 f(u8 a) {}", "output1 = f(x) + 1;")).program, 9, 0),
        1
    );
    assert!(
        build_with(&program("u8", "u8", "function u8 f(u8 a) { a = 1; }", ""), &Default::default()).is_err()
    );
    assert!(
        build_with(
            &program("u8", "u8", "function void f(u8 a) { a = 1; return; }", "f(x);"),
            &Default::default()
        )
        .is_ok()
    );
}

#[test]
fn functions_are_checked_though_never_called_and_may_come_in_any_order() {
    assert!(
        build_with(
            &program("u8", "u8", "function u8 f(u8 a) { u8 b[2]; return b[2]; }", ""),
            &Default::default()
        )
        .is_err()
    );
    let f = "function u8 f(u8 a) { return g(a) + 1; } function u8 g(u8 a) { return a + 1; }";
    assert_eq!(run(&build(&program("u8", "u8", f, "output1 = f(x);")).program, 4, 0), 6);
}

#[test]
fn parameters_are_secret_but_known_results_are_known() {
    let f = "function u8 three(u8 a) { return 3; }";
    assert!(
        build_with(&program("u8", "u8", f, "u8 a[4]; output1 = a[three(x)];"), &Default::default()).is_ok()
    );
    let f = "function u1 f(u8 k) { u8 a; return a{k}; }";
    assert!(build_with(&program("u8", "u8", f, "output1{0} = f(1);"), &Default::default()).is_err());
}

#[test]
fn a_declaration_can_be_a_branch() {
    assert!(compiles("if (x{0}) u8 z = 1;"));
}

#[test]
fn any_expression_is_a_statement() {
    assert_eq!(
        run(
            &build(&program(
                "u8",
                "u8",
                "",
                "x + y; 5; x == y; ; ; {} { ; } output1 = x; (output1); output1++;"
            ))
            .program,
            9,
            0
        ),
        10
    );
    let f = "function u8 f(u8 a) { return a + 1; }";
    assert_eq!(
        build(&program("u8", "u8", f, "f(x); output1 = y;")).program.slot_count(),
        0,
        "its result is not used"
    );
}

#[test]
fn conditions_nest_and_cover_every_kind_of_write() {
    let f = "typedef struct_t P { u8 a; u8 b[2]; } function P make(u8 a) { P p; p.a = a; p.b[1] = a + 1; \
             return p; }";
    let body = "P p; u8 a[2];
        if (x{0}) { if (x{1}) { p = make(y); a[1] = y; } else { p.b = a; p.b[0]--; } if (x{2}) a[0]{4:4} = \
                15; }
        else if (x{1}) +{ a[0]++; ++a[0]; }+ else { u8 own = y; own++; a[1] = own; }
        output1 = p.a ^ (p.b[0] <<> 1) ^ (p.b[1] <<> 2) ^ (a[0] <<> 3) ^ (a[1] <<> 4);";
    let p = build(&program("u8", "u8", f, body)).program;
    let rotate = |v: u128, n: u32| u128::from((v as u8).rotate_left(n));
    for x in 0..8u128 {
        let y = 0x4b;
        let (mut pa, mut b, mut a) = (0, [0, 0], [0, 0]);
        match x & 3 {
            3 => (pa, b, a[1]) = (y, [0, y + 1], y),
            1 => b[0] = 255,
            2 => a[0] = 2,
            _ => a[1] = y + 1,
        }
        if x & 5 == 5 {
            a[0] |= 0xf0;
        }
        let want = pa ^ rotate(b[0], 1) ^ rotate(b[1], 2) ^ rotate(a[0], 3) ^ rotate(a[1], 4);
        assert_eq!(run(&p, x, y), want, "{x}");
    }
}

#[test]
fn untyped_conditions_count_by_their_lowest_bit() {
    for (condition, taken) in [("3", 1), ("2", 0), ("1-1", 0), ("4 / 4", 1), ("255 << 1", 0)] {
        let p = build(&program("u8", "u8", "", &format!("if ({condition}) output1 = 1;"))).program;
        assert_eq!(run(&p, 0, 0), taken, "{condition}");
    }
}

#[test]
fn loops_with_several_variables_and_changes_in_the_body() {
    let body = "for (u8 i = 0, j = 10, k[2]; i < j; i++) { j--; k[0] = k[0] + i; if (i == 3) i++; output1 = \
                output1 + 1; output1{4:4} = k[0]{0:4}; }";
    // The values of i and j are 0 9, 1 8, 2 7, 3 6 (then i is 4), and once more 5 6.
    let k = [0u128, 1, 2, 3, 5].iter().sum::<u128>() & 15;
    assert_eq!(run(&build(&program("u8", "u8", "", body)).program, 0, 0) >> 4, k);
    assert!(compiles("for (u8 i = 0; i < 3; i++) ; for (u16 i = 0; i < 3; i++) ;"));
}

#[test]
fn procedure_blocks_are_blocks() {
    let p =
        build(&program("u8", "u8", "", "for (u8 i = 0; i < 3; i++) +{ output1 = output1 + 1; }+")).program;
    assert_eq!(run(&p, 0, 0), 3);
}

// ---- 3, 4, 10: structure, definitions, layout ----

#[test]
fn definitions_are_trees_and_count_from_where_they_stand() {
    assert_eq!(run(&build(&program("u8", "u8", "#define A 1##8+2", "output1 = A*3;")).program, 0, 0), 9);
    let twice = "#define A 1 #define B A+1##8 function u8 f(u8 a) { return B; } #define A 5 function u8 \
                 g(u8 a) { return A; }";
    assert_eq!(run(&build(&program("u8", "u8", twice, "output1 = f(x) * 16 + g(x);")).program, 0, 0), 0x25);
    assert!(
        build_with(
            &program("u8", "u8", "#define W 4 #define T u8", "T z = 5##W ** 3##W; output1 = z;"),
            &Default::default()
        )
        .is_ok()
    );
}

#[test]
fn inputs_may_be_overwritten_and_outputs_read() {
    let p = build(
        "#parties 2 typedef uint_t 8 u8 #output 1 u8 #input 2 u8 #input 1 u8 function void main() { input1 \
         = input1 + 1; output1 = input1; output1 = output1 + input2; }",
    );
    assert_eq!(run(&p.program, 5, 10), 16);
}

#[test]
fn struct_fields_in_order_or_reversed() {
    let source = "#parties 2 typedef uint_t 4 u4 typedef uint_t 8 u8 typedef struct_t P { u4 a; u8 b; } \
                  #input 1 P #output 1 u8 function void main() { output1 = input1.b; }";
    assert_eq!(run(&build(source).program, 0xab5, 0), 0xab);
    let options = brickwork_lang::CompileOptions { reverse_structs: true, ..Default::default() };
    assert_eq!(run(&build_with(source, &options).unwrap().program, 0xab5, 0), 0xb5);
}

#[test]
fn very_wide_types_work() {
    let source = "#parties 2 typedef uint_t 100000 big #input 1 big #input 2 big #output 1 big function \
                  void main() { output1 = (input1 ^ input2) + 1; }";
    let p = build(source).program;
    let got = simulate_bits(&p, &vec![true; 100_000], &vec![false; 100_000]);
    assert!(got[0].iter().all(|b| !b));
    assert!(p.and_gates() <= 99_999);
}
