//! Circuits for the operators, on lists of bits, least significant first.

mod constant;
mod div;
mod mul;
mod select;
pub mod shares;
#[cfg(test)]
mod tests;

pub use div::{divide, wide_divide};
pub use mul::{multiply, wide_multiply};
pub use select::{choose, decode, rotate_by, shift_by};

use crate::graph::{Graph, GraphBit};

/// Extends the bits with zeros, or cuts off the highest bits, so that `width` bits are left.
pub fn extend(bits: &[GraphBit], width: usize) -> Vec<GraphBit> {
    let mut out = bits[..bits.len().min(width)].to_vec();
    out.resize(width, GraphBit::ZERO);
    out
}

/// Returns the value, if all bits are known and it fits.
pub fn known(bits: &[GraphBit]) -> Option<u128> {
    let mut value = 0u128;
    for (i, bit) in bits.iter().enumerate() {
        if bit.known()? {
            if i >= 128 {
                return None;
            }
            value |= 1 << i;
        }
    }
    Some(value)
}

/// Returns whether all bits are known.
pub fn all_known(bits: &[GraphBit]) -> bool {
    bits.iter().all(|b| b.known().is_some())
}

/// Returns the number of bits up to the highest that is not known to be zero.
pub fn significant(bits: &[GraphBit]) -> usize {
    trimmed(bits).len()
}

/// Removes the zeros at the top.
fn trimmed(bits: &[GraphBit]) -> &[GraphBit] {
    let length = bits.iter().rposition(|b| *b != GraphBit::ZERO).map_or(0, |p| p + 1);
    &bits[..length]
}

/// Returns whether at least two of three bits are set.
fn majority(g: &mut Graph, a: GraphBit, b: GraphBit, c: GraphBit) -> GraphBit {
    for (x, y, z) in [(c, a, b), (b, a, c), (a, b, c)] {
        match x.known() {
            Some(false) => return g.and(y, z),
            Some(true) => return g.or(y, z),
            None if y == z => return y,
            None if y == !z => return x,
            None => {}
        }
    }
    let (p, q) = (g.xor(a, b), g.xor(a, c));
    let both = g.and(p, q);
    g.xor(a, both)
}

/// Returns the borrow of `a - b - c`: whether `b + c > a`.
fn borrow(g: &mut Graph, a: GraphBit, b: GraphBit, c: GraphBit) -> GraphBit {
    if [a, b, c].iter().any(|x| x.known().is_some())
        || a == b
        || a == !b
        || a == c
        || a == !c
        || b == c
        || b == !c
    {
        return majority(g, !a, b, c);
    }
    // This is the majority of !a, b and c, computed without an inversion.
    let (p, q) = (g.xor(a, b), g.xor(b, c));
    let both = g.and(p, q);
    g.xor(c, both)
}

/// Returns `a + b + carry`; `a`, `b` and the result have the same width. Each bit costs one AND, except the
/// last.
pub fn add(g: &mut Graph, a: &[GraphBit], b: &[GraphBit], carry: GraphBit) -> Vec<GraphBit> {
    add_carry(g, a, b, carry, false)
}

/// Does the same as [`add`]. With `out`, the result has the carry as one more bit.
fn add_carry(g: &mut Graph, a: &[GraphBit], b: &[GraphBit], mut carry: GraphBit, out: bool) -> Vec<GraphBit> {
    let mut sum = Vec::with_capacity(a.len() + 1);
    for (i, (&x, &y)) in a.iter().zip(b).enumerate() {
        let half = g.xor(x, y);
        sum.push(g.xor(half, carry));
        if out || i + 1 < a.len() {
            carry = majority(g, x, y, carry);
        }
    }
    if out {
        sum.push(carry);
    }
    sum
}

/// Returns `a - b`; `a`, `b` and the result have the same width.
pub fn sub(g: &mut Graph, a: &[GraphBit], b: &[GraphBit]) -> Vec<GraphBit> {
    sub_borrow(g, a, b, false)
}

/// Does the same as [`sub`]. With `out`, the result has the borrow as one more bit.
fn sub_borrow(g: &mut Graph, a: &[GraphBit], b: &[GraphBit], out: bool) -> Vec<GraphBit> {
    let mut difference = Vec::with_capacity(a.len() + 1);
    let mut c = GraphBit::ZERO;
    for (i, (&x, &y)) in a.iter().zip(b).enumerate() {
        let half = g.xor(x, y);
        difference.push(g.xor(half, c));
        if out || i + 1 < a.len() {
            c = borrow(g, x, y, c);
        }
    }
    if out {
        difference.push(c);
    }
    difference
}

/// Returns `0 - a`.
pub fn negate(g: &mut Graph, a: &[GraphBit]) -> Vec<GraphBit> {
    sub(g, &vec![GraphBit::ZERO; a.len()], a)
}

/// Returns `-a` if `condition` is set, and otherwise `a`.
fn negate_if(g: &mut Graph, condition: GraphBit, a: &[GraphBit]) -> Vec<GraphBit> {
    let flipped: Vec<GraphBit> = a.iter().map(|&x| g.xor(x, condition)).collect();
    add(g, &flipped, &vec![GraphBit::ZERO; a.len()], condition)
}

/// Returns whether `a < b`; both have the same width. Each bit costs one AND.
pub fn less(g: &mut Graph, a: &[GraphBit], b: &[GraphBit], signed: bool) -> GraphBit {
    let mut c = GraphBit::ZERO;
    for i in 0..a.len() {
        // The signs are exchanged, because a negative number is the smaller one.
        let (x, y) = if signed && i + 1 == a.len() { (b[i], a[i]) } else { (a[i], b[i]) };
        c = borrow(g, x, y, c);
    }
    c
}

/// Returns whether all bits are set, with a tree of ANDs.
pub fn all(g: &mut Graph, mut bits: Vec<GraphBit>) -> GraphBit {
    while bits.len() > 1 {
        bits = bits.chunks(2).map(|pair| if let [a, b] = *pair { g.and(a, b) } else { pair[0] }).collect();
    }
    bits.first().copied().unwrap_or(GraphBit::ONE)
}

/// Returns whether `a == b`; both have the same width.
pub fn equal(g: &mut Graph, a: &[GraphBit], b: &[GraphBit]) -> GraphBit {
    let same: Vec<GraphBit> = a.iter().zip(b).map(|(&x, &y)| !g.xor(x, y)).collect();
    if same.contains(&GraphBit::ZERO) {
        return GraphBit::ZERO;
    }
    all(g, same)
}

/// Returns the AND of `condition` with each bit.
fn mask(g: &mut Graph, condition: GraphBit, bits: &[GraphBit]) -> Vec<GraphBit> {
    bits.iter().map(|&b| g.and(condition, b)).collect()
}

/// Returns the absolute value.
fn absolute(g: &mut Graph, a: &[GraphBit]) -> Vec<GraphBit> {
    negate_if(g, a[a.len() - 1], a)
}
