//! Compares every operator with integer arithmetic, on all small operands and on random larger ones, and
//! checks its cost.

use super::*;
use crate::graph::Template;

type Op = fn(&mut Graph, &[GraphBit], &[GraphBit]) -> Vec<GraphBit>;
/// An operator and its AND gates at n bits.
type Cost = (&'static str, Op, fn(i64) -> i64);

fn build(wa: u32, wb: u32, op: impl Fn(&mut Graph, &[GraphBit], &[GraphBit]) -> Vec<GraphBit>) -> Template {
    let mut g = Graph::new(1 << 28);
    let (a, b) = (g.leaves(wa), g.leaves(wb));
    let out = op(&mut g, &a, &b);
    g.finish(wa + wb, &out)
}

/// Builds an operator whose right operand is known.
fn build_known(
    w: u32,
    b: u64,
    wb: u32,
    op: impl Fn(&mut Graph, &[GraphBit], &[GraphBit]) -> Vec<GraphBit>,
) -> Template {
    let mut g = Graph::new(1 << 28);
    let a = g.leaves(w);
    let b: Vec<GraphBit> = (0..wb).map(|i| GraphBit::constant(b >> i & 1 == 1)).collect();
    let out = op(&mut g, &a, &b);
    g.finish(w, &out)
}

fn bits(value: u64, width: u32) -> Vec<bool> {
    (0..width).map(|i| value >> i & 1 == 1).collect()
}

fn number(bits: &[bool]) -> u128 {
    bits.iter().enumerate().map(|(i, b)| u128::from(*b) << i).sum()
}

fn run(t: &Template, a: u64, wa: u32, b: u64, wb: u32) -> u128 {
    number(&t.evaluate(&[bits(a, wa), bits(b, wb)].concat()))
}

fn signed(v: u64, w: u32) -> i128 {
    if v >> (w - 1) & 1 == 1 { i128::from(v) - (1 << w) } else { i128::from(v) }
}

struct Random(u64);

impl Random {
    fn bits(&mut self, width: u32) -> u64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        let x = (self.0 ^ self.0 >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        // Small and large values are more frequent than others.
        let x = match self.0 >> 60 {
            0 => x & 3,
            1 => !(x & 3),
            _ => x ^ x >> 32,
        };
        if width == 64 { x } else { x & ((1 << width) - 1) }
    }
}

/// A model of an operator on `w`-bit patterns.
type Model = fn(u64, u64, u32) -> u128;

fn fit(v: i128, w: u32) -> u128 {
    v as u128 & ((1 << w) - 1)
}

fn quotient(a: u64, b: u64, w: u32, is_signed: bool, remainder: bool) -> u128 {
    if !is_signed {
        return match (b, remainder) {
            (0, false) => (1 << w) - 1,
            (0, true) => a.into(),
            (_, false) => (a / b).into(),
            (_, true) => (a % b).into(),
        };
    }
    let (x, y) = (signed(a, w), signed(b, w));
    fit(
        match (y, remainder) {
            (0, false) => -1,
            (0, true) => x,
            (_, false) => x / y,
            (_, true) => x % y,
        },
        w,
    )
}

fn operators() -> Vec<(&'static str, Op, Model)> {
    vec![
        ("+", |g, a, b| add(g, a, b, GraphBit::ZERO), |a, b, w| fit(i128::from(a) + i128::from(b), w)),
        ("-", sub, |a, b, w| fit(i128::from(a) - i128::from(b), w)),
        ("neg", |g, a, _| negate(g, a), |a, _, w| fit(-i128::from(a), w)),
        ("<", |g, a, b| vec![less(g, a, b, false)], |a, b, _| (a < b).into()),
        ("< signed", |g, a, b| vec![less(g, a, b, true)], |a, b, w| (signed(a, w) < signed(b, w)).into()),
        ("==", |g, a, b| vec![equal(g, a, b)], |a, b, _| (a == b).into()),
        (
            "*",
            |g, a, b| multiply(g, a, b, a.len()),
            |a, b, w| fit((u128::from(a) * u128::from(b)) as i128, w),
        ),
        ("**", |g, a, b| wide_multiply(g, a, b, false), |a, b, _| u128::from(a) * u128::from(b)),
        (
            "** signed",
            |g, a, b| wide_multiply(g, a, b, true),
            |a, b, w| {
                let p = signed(a, w) * signed(b, w);
                if w == 64 { p as u128 } else { fit(p, 2 * w) }
            },
        ),
        ("square", |g, a, _| wide_multiply(g, a, a, false), |a, _, _| u128::from(a) * u128::from(a)),
        (
            "square signed",
            |g, a, _| wide_multiply(g, a, a, true),
            |a, _, w| (signed(a, w) * signed(a, w)) as u128,
        ),
        (
            "square low",
            |g, a, _| multiply(g, a, a, a.len()),
            |a, _, w| fit((u128::from(a) * u128::from(a)) as i128, w),
        ),
        ("/", |g, a, b| divide(g, a, b, false, false), |a, b, w| quotient(a, b, w, false, false)),
        ("%", |g, a, b| divide(g, a, b, false, true), |a, b, w| quotient(a, b, w, false, true)),
        ("/ signed", |g, a, b| divide(g, a, b, true, false), |a, b, w| quotient(a, b, w, true, false)),
        ("% signed", |g, a, b| divide(g, a, b, true, true), |a, b, w| quotient(a, b, w, true, true)),
    ]
}

#[test]
fn operators_agree_with_arithmetic() {
    for (name, op, model) in operators() {
        for w in 1..=4 {
            let t = build(w, w, op);
            for a in 0..1 << w {
                for b in 0..1 << w {
                    assert_eq!(run(&t, a, w, b, w), model(a, b, w), "{a} {name} {b} at {w} bits");
                }
            }
        }
        let mut random = Random(7);
        for w in [5, 6, 7, 8, 13, 16, 17, 31, 32, 33, 48, 63, 64] {
            let t = build(w, w, op);
            for _ in 0..60 {
                let (a, b) = (random.bits(w), random.bits(w));
                assert_eq!(run(&t, a, w, b, w), model(a, b, w), "{a} {name} {b} at {w} bits");
            }
        }
    }
}

#[test]
fn operators_agree_with_a_known_operand() {
    let mut random = Random(11);
    for (name, op, model) in operators() {
        for w in [1, 2, 3, 4, 5, 8, 16, 31, 32, 61, 62, 63, 64] {
            let mut constants: Vec<u64> = (0..if w < 5 { 1 << w } else { 20 }).collect();
            constants.extend((0..12).map(|_| random.bits(w)));
            for b in constants {
                let t = build_known(w, b, w, op);
                for _ in 0..12 {
                    let a = random.bits(w);
                    let got = number(&t.evaluate(&bits(a, w)));
                    assert_eq!(got, model(a, b, w), "{a} {name} {b} (known) at {w} bits");
                }
                let swapped = build_known(w, b, w, |g, x, y| op(g, y, x));
                for _ in 0..6 {
                    let a = random.bits(w);
                    assert_eq!(
                        number(&swapped.evaluate(&bits(a, w))),
                        model(b, a, w),
                        "{b} (known) {name} {a} at {w} bits"
                    );
                }
            }
        }
    }
}

#[test]
fn wide_division() {
    for is_signed in [false, true] {
        for (l, r) in [(2, 1), (3, 2), (4, 2), (7, 4), (8, 4), (9, 5), (16, 8), (31, 16), (64, 32)] {
            for remainder in [false, true] {
                let t = build(l, r, |g, a, b| wide_divide(g, a, b, is_signed, remainder));
                let mut random = Random(3);
                for i in 0..3000 {
                    let (a, b) = if l <= 9 && i < 1 << (l + r).min(11) {
                        (i & ((1 << l) - 1), i >> l & ((1 << r) - 1))
                    } else {
                        (random.bits(l), random.bits(r))
                    };
                    let (x, y) = if is_signed { (signed(a, l), signed(b, r)) } else { (a.into(), b.into()) };
                    if y == 0 {
                        continue;
                    }
                    let q = x / y;
                    let fits = if is_signed {
                        q.abs() <= 1 << (r - 1) && x != 0 && q != 1 << (r - 1) || q == 1 << (r - 1) && y == -1
                    } else {
                        q < 1 << r
                    };
                    if fits {
                        let want = fit(if remainder { x % y } else { q }, r);
                        assert_eq!(
                            run(&t, a, l, b, r),
                            want,
                            "{x} by {y}, {l} by {r} bits, remainder {remainder}"
                        );
                    }
                }
            }
        }
    }
}

/// The number of AND gates of each operator is at most that of the language's reference, for the cost at n
/// bits.
#[test]
fn costs_meet_the_reference() {
    let costs: [Cost; 17] = [
        ("+", |g, a, b| add(g, a, b, GraphBit::ZERO), |n| n - 1),
        ("-", sub, |n| n - 1),
        ("neg", |g, a, _| negate(g, a), |n| n - 1),
        ("++", |g, a, _| add(g, a, &extend(&[GraphBit::ONE], a.len()), GraphBit::ZERO), |n| n - 1),
        ("--", |g, a, _| sub(g, a, &extend(&[GraphBit::ONE], a.len())), |n| n - 1),
        ("<", |g, a, b| vec![less(g, a, b, false)], |n| n),
        ("< signed", |g, a, b| vec![less(g, a, b, true)], |n| n),
        ("==", |g, a, b| vec![equal(g, a, b)], |n| n - 1),
        ("*", |g, a, b| multiply(g, a, b, a.len()), |n| n * n - n + 1),
        ("**", |g, a, b| wide_multiply(g, a, b, false), |n| if n == 1 { 1 } else { 2 * n * n - n }),
        ("** signed", |g, a, b| wide_multiply(g, a, b, true), |n| if n == 1 { 1 } else { 2 * n * n - n }),
        ("/", |g, a, b| divide(g, a, b, false, false), |n| n * n + n),
        ("%", |g, a, b| divide(g, a, b, false, true), |n| n * n + 3 * n + 1),
        ("/ signed", |g, a, b| divide(g, a, b, true, false), |n| n * n + 7 * n - 1),
        ("% signed", |g, a, b| divide(g, a, b, true, true), |n| n * n + 9 * n),
        (
            "mux",
            |g, a, b| {
                let c = a[0];
                a.iter().zip(b).map(|(&x, &y)| g.mux(c, x, y)).collect()
            },
            |n| n,
        ),
        ("&", |g, a, b| a.iter().zip(b).map(|(&x, &y)| g.and(x, y)).collect(), |n| n),
    ];
    for (name, op, cost) in costs {
        for n in [1u32, 2, 3, 4, 8, 16, 32, 64] {
            let ands = build(n, n, op).ands() as i64;
            println!("{name} {n}: {ands} (reference {})", cost(n.into()));
            assert!(ands <= cost(n.into()), "{name} at {n} bits: {ands} ANDs, reference {}", cost(n.into()));
        }
    }
    for n in [1i64, 2, 3, 4, 8, 16, 32] {
        for (is_signed, remainder, cost) in [
            (false, false, (n + 1) * (n + 1)),
            (false, true, n * n + 4 * n + 2),
            (true, false, n * n + 10 * n),
            (true, true, n * n + 12 * n + 1),
        ] {
            let ands = build(2 * n as u32, n as u32, |g, a, b| wide_divide(g, a, b, is_signed, remainder))
                .ands() as i64;
            assert!(
                ands <= cost,
                "// or %% at {n} bits (signed {is_signed}, remainder {remainder}): {ands}, reference {cost}"
            );
        }
    }
    for (w, times7, by3) in [
        (1, 0, 1),
        (2, 0, 3),
        (3, 1, 7),
        (4, 3, 12),
        (8, 17, 52),
        (16, 93, 228),
        (32, 437, 964),
        (64, 1893, 3972),
    ] {
        let product = build_known(w, 7, w, |g, a, b| multiply(g, a, b, w as usize)).ands();
        let quotient = build_known(w, 3, w, |g, a, b| divide(g, a, b, false, false)).ands();
        println!("x*7 {w}: {product} (reference {times7}); x/3 {w}: {quotient} (reference {by3})");
        assert!(product <= times7 && quotient <= by3, "{w} bits: x*7 {product}, x/3 {quotient}");
        if w == 32 {
            assert!(product * 10 <= times7 * 7 && quotient * 10 <= by3 * 7);
        }
    }
}

/// The result is right when any bits of both operands are constants.
#[test]
fn operators_agree_with_known_bits() {
    let mut random = Random(23);
    for (name, op, model) in operators() {
        for round in 0..400 {
            let w = [1, 2, 3, 5, 8, 15, 16, 17, 24, 32, 33, 64][round % 12];
            let masks = [random.bits(w), random.bits(w)];
            let values = [random.bits(w), random.bits(w)];
            let mut g = Graph::new(1 << 24);
            let leaves = g.leaves(2 * w);
            let operand = |k: usize| -> Vec<GraphBit> {
                let bit = |i: u32| match masks[k] >> i & 1 == 1 {
                    true => GraphBit::constant(values[k] >> i & 1 == 1),
                    false => leaves[(k as u32 * w + i) as usize],
                };
                (0..w).map(bit).collect()
            };
            let (a, b) = (operand(0), operand(1));
            let out = op(&mut g, &a, &b);
            let t = g.finish(2 * w, &out);
            for _ in 0..8 {
                let pick = |k: usize, r: u64| (values[k] & masks[k]) | (r & !masks[k]);
                let (a, b) = (pick(0, random.bits(w)), pick(1, random.bits(w)));
                assert_eq!(
                    run(&t, a, w, b, w),
                    model(a, b, w),
                    "{a} {name} {b} at {w} bits, known {masks:x?}"
                );
            }
        }
    }
}
