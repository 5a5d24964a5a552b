//! Multiplication.

use super::{add, add_carry, all_known, constant, extend, known, mask, sub, trimmed};
use crate::graph::{Graph, GraphBit};

/// Returns the cost of the full product of two numbers of `n` bits by rows: one row of partial products for
/// each bit of a factor. That is n^2 products, and n (n - 1) adders for single bits.
fn rows_cost(n: u64) -> u64 {
    2 * n * n - n
}

/// Returns the cost of a full square by rows.
pub fn square_cost(n: u64) -> u64 {
    n * n
}

/// Returns the cost of one level of Karatsuba's method apart from its products: two sums, two subtractions
/// from the middle product, and its addition.
fn split_cost(n: u64, square: bool) -> u64 {
    let high = n.div_ceil(2);
    (if square { 1 } else { 2 }) * high + 4 * high + 2 * high + high
}

fn full_cost(n: u64, square: bool) -> u64 {
    let rows = if square { square_cost(n) } else { rows_cost(n) };
    if n < 16 { rows } else { rows.min(karatsuba_cost(n, square)) }
}

/// Returns the cost of a product by Karatsuba's method, with multiplication by rows at the lowest level. The
/// three products of a level have almost the same size and are counted as equal, because three recursive
/// calls per level would take exponential time.
fn karatsuba_cost(n: u64, square: bool) -> u64 {
    3 * full_cost(n.div_ceil(2) + 1, square) + split_cost(n, square)
}

/// Returns `a * b` modulo `2^width`, both unsigned.
pub fn multiply(g: &mut Graph, a: &[GraphBit], b: &[GraphBit], width: usize) -> Vec<GraphBit> {
    // Zeros at both ends cost nothing. The operands are sorted, so that `x * y` and `y * x` share their
    // gates.
    let (a, b) = (trimmed(a), trimmed(b));
    let (a, b) = if b < a { (b, a) } else { (a, b) };
    if a.is_empty() || b.is_empty() {
        return vec![GraphBit::ZERO; width];
    }
    let zeros = |x: &[GraphBit]| x.iter().take_while(|b| **b == GraphBit::ZERO).count();
    let (za, zb) = (zeros(a), zeros(b));
    if za + zb > 0 {
        let shift = (za + zb).min(width);
        let mut out = vec![GraphBit::ZERO; shift];
        out.extend(multiply(g, &a[za..], &b[zb..], width - shift));
        return out;
    }
    let (a, b) = (&a[..a.len().min(width)], &b[..b.len().min(width)]);
    for (x, y) in [(a, b), (b, a)] {
        if all_known(y)
            && let Some(m) = known(y).filter(|m| *m < 1 << 120)
        {
            return constant::multiply(g, x, m, width);
        }
    }
    let (la, lb) = (a.len() as u64, b.len() as u64);
    // An early refusal saves the work of a product of a million bits that does not fit.
    let rough = if la.max(lb) > 1000 { full_cost(la.max(lb), a == b) / 4 } else { 0 };
    if !g.reserve(rough) {
        return vec![GraphBit::ZERO; width];
    }
    if width >= a.len() + b.len() {
        let full = full(g, a, b);
        return extend(&full, width);
    }
    // For large numbers, the lower half of a product is computed from a full product of the lower halves and
    // two lower halves.
    let n = a.len().max(b.len());
    if a != b && a.len() == b.len() && n == width && low_split_cost(n as u64) < low_cost(n as u64) * 9 / 10 {
        let h = n / 2;
        let low = full(g, &a[..n - h], &b[..n - h]);
        let m1 = multiply(g, &a[..h], &b[n - h..], h);
        let m2 = multiply(g, &a[n - h..], &b[..h], h);
        let sum = add(g, &m1, &m2, GraphBit::ZERO);
        let high = add(g, &extend(&low[n - h..], h), &sum, GraphBit::ZERO);
        let mut out = low[..n - h].to_vec();
        out.extend(high);
        return out;
    }
    if a == b {
        return square_rows(g, a, width);
    }
    by_rows(g, a, b, width)
}

fn low_cost(n: u64) -> u64 {
    let rows = n * n - n + 1;
    if n < 32 { rows } else { rows.min(low_split_cost(n)) }
}

fn low_split_cost(n: u64) -> u64 {
    full_cost(n.div_ceil(2), false) + 2 * low_cost(n / 2) + 2 * (n / 2)
}

/// Returns all bits of the product.
fn full(g: &mut Graph, a: &[GraphBit], b: &[GraphBit]) -> Vec<GraphBit> {
    let (la, lb) = (a.len(), b.len());
    let n = la.max(lb) as u64;
    let square = a == b;
    let rows = if square { square_cost(n) } else { 2 * (la * lb) as u64 - n };
    if n >= 16 && !g.full() && karatsuba_cost(n, square) < rows {
        return karatsuba(g, &extend(a, n as usize), &extend(b, n as usize))[..la + lb].to_vec();
    }
    if square { square_rows(g, a, 2 * la) } else { by_rows(g, a, b, la + lb) }
}

/// Computes `(a1 a0) (b1 b0)` from `a1 b1`, `a0 b0` and `(a1 + a0)(b1 + b0)`.
fn karatsuba(g: &mut Graph, a: &[GraphBit], b: &[GraphBit]) -> Vec<GraphBit> {
    let n = a.len();
    let h = n / 2;
    let square = a == b;
    let low = multiply(g, &a[..h], &b[..h], 2 * h);
    let high = multiply(g, &a[h..], &b[h..], 2 * (n - h));
    let sum_a = add_carry(g, &extend(&a[..h], n - h), &a[h..], GraphBit::ZERO, true);
    let sum_b = if square {
        sum_a.clone()
    } else {
        add_carry(g, &extend(&b[..h], n - h), &b[h..], GraphBit::ZERO, true)
    };
    // The middle product is at most 2 a b with a and b below 2^(n - h), which is one bit more than a product.
    let width = 2 * (n - h) + 1;
    let middle = multiply(g, &sum_a, &sum_b, width + 1);
    let outer = add(g, &extend(&low, width), &extend(&high, width), GraphBit::ZERO);
    let middle = sub(g, &middle[..width], &outer);
    let mut out = low[..h].to_vec();
    let mut rest = low[h..].to_vec();
    rest.extend(high);
    let length = rest.len();
    out.extend(add(g, &rest, &extend(&middle, length), GraphBit::ZERO));
    out
}

/// Adds `row` to `sum` from bit `at` on. The bits of `sum` above the row are still zero.
fn accumulate(g: &mut Graph, sum: &mut [GraphBit], at: usize, row: &[GraphBit]) {
    let end = (at + row.len()).min(sum.len());
    if at >= end {
        return;
    }
    let carry_out = end < sum.len();
    let new = add_carry(g, &sum[at..end], &row[..end - at], GraphBit::ZERO, carry_out);
    // Bits above the row may be set already, so the carry continues through them.
    let mut carry = GraphBit::ZERO;
    for (k, bit) in new.into_iter().enumerate() {
        if at + k < end {
            sum[at + k] = bit;
        } else {
            carry = bit;
        }
    }
    let mut k = end;
    while carry != GraphBit::ZERO && k < sum.len() {
        let old = sum[k];
        sum[k] = g.xor(old, carry);
        carry = if k + 1 < sum.len() { g.and(old, carry) } else { GraphBit::ZERO };
        k += 1;
    }
}

fn by_rows(g: &mut Graph, a: &[GraphBit], b: &[GraphBit], width: usize) -> Vec<GraphBit> {
    // A row for a known bit is zero or a copy. So the rows are taken from the operand with more known bits,
    // or else from the shorter one.
    let knows = |x: &[GraphBit]| x.iter().filter(|b| b.known().is_some()).count();
    let (a, b) = if (knows(a), b.len()) > (knows(b), a.len()) { (b, a) } else { (a, b) };
    let mut sum = vec![GraphBit::ZERO; width];
    for (j, &bit) in b.iter().enumerate() {
        if g.full() || j >= width {
            break;
        }
        let row = mask(g, bit, &a[..a.len().min(width - j)]);
        if j == 0 {
            sum[..row.len()].copy_from_slice(&row);
        } else {
            accumulate(g, &mut sum, j, &row);
        }
    }
    sum
}

/// Squares a number by rows. Each product of two different bits occurs twice, so it is added once, one
/// position higher.
fn square_rows(g: &mut Graph, a: &[GraphBit], width: usize) -> Vec<GraphBit> {
    let mut sum = vec![GraphBit::ZERO; width];
    for (i, &bit) in a.iter().enumerate() {
        if g.full() || 2 * i >= width {
            break;
        }
        let mut row = vec![bit, GraphBit::ZERO];
        row.extend(mask(g, bit, &a[i + 1..]));
        row.truncate(width - 2 * i);
        if a.len() == i + 1 {
            row.truncate(1);
        }
        accumulate(g, &mut sum, 2 * i, &row);
    }
    sum
}

/// Returns `a ** b`: all bits of the product of two numbers of the same width.
pub fn wide_multiply(g: &mut Graph, a: &[GraphBit], b: &[GraphBit], signed: bool) -> Vec<GraphBit> {
    let n = a.len();
    let (a, b) = if b < a { (b, a) } else { (a, b) };
    if !signed {
        return multiply(g, a, b, 2 * n);
    }
    if n == 1 {
        // With one bit, -1 times -1 is 1.
        return vec![g.and(a[0], b[0]), GraphBit::ZERO];
    }
    let by_correction = all_known(a)
        || all_known(b)
        || a == b
        || full_cost(n as u64, false) + 4 * (n as u64) < rows_cost(n as u64);
    if !by_correction {
        return baugh_wooley(g, a, b);
    }
    // As an unsigned number, a negative a is too large by 2^n, so 2^n b is subtracted; the same for b.
    let product = multiply(g, a, b, 2 * n);
    let too_much = [mask(g, a[n - 1], b), mask(g, b[n - 1], a)];
    let mut high = product[n..].to_vec();
    for value in too_much {
        high = sub(g, &high, &value);
    }
    let mut out = product[..n].to_vec();
    out.extend(high);
    out
}

/// Computes a signed product by rows: the products with one sign bit are inverted, and ones are added at bits
/// n and 2n - 1 (Baugh and Wooley).
fn baugh_wooley(g: &mut Graph, a: &[GraphBit], b: &[GraphBit]) -> Vec<GraphBit> {
    let n = a.len();
    let mut sum = vec![GraphBit::ZERO; 2 * n];
    for (j, &bit) in b.iter().enumerate() {
        if g.full() {
            break;
        }
        let mut row = mask(g, bit, a);
        if j + 1 < n {
            row[n - 1] = !row[n - 1];
        } else {
            row[..n - 1].iter_mut().for_each(|x| *x = !*x);
        }
        if j == 0 {
            sum[..n].copy_from_slice(&row);
            sum[n] = GraphBit::ONE;
        } else {
            accumulate(g, &mut sum, j, &row);
        }
    }
    sum[2 * n - 1] = !sum[2 * n - 1];
    sum
}
