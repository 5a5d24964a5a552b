//! Values that both parties hold as shares.

use super::{add, add_carry, sub, sub_borrow};
use crate::graph::{Graph, GraphBit};
use crate::ir::Sharing;

/// Returns the value of two shares.
pub fn open(g: &mut Graph, sharing: &Sharing, a: &[GraphBit], b: &[GraphBit]) -> Vec<GraphBit> {
    match sharing {
        Sharing::Xor => xor(g, a, b),
        Sharing::Sum => add(g, a, b, GraphBit::ZERO),
        Sharing::Modulo(m) => {
            let (a, b) = (reduce(g, a, m), reduce(g, b, m));
            add_modulo(g, &a, &b, m)
        }
    }
}

/// Returns the shares of a value. The first one is the sum of both parties' masks, so it is random if one of
/// the parties is honest.
pub fn split(
    g: &mut Graph,
    sharing: &Sharing,
    value: &[GraphBit],
    masks: [&[GraphBit]; 2],
) -> [Vec<GraphBit>; 2] {
    match sharing {
        Sharing::Xor => {
            let first = xor(g, masks[0], masks[1]);
            let second = xor(g, value, &first);
            [first, second]
        }
        Sharing::Sum => {
            let first = xor(g, masks[0], masks[1]);
            let second = sub(g, value, &first);
            [first, second]
        }
        Sharing::Modulo(m) => {
            let first = open(g, sharing, masks[0], masks[1]);
            let value = reduce(g, value, m);
            let (difference, borrow) = difference(g, &value, &first);
            let correction: Vec<GraphBit> = m.iter().map(|bit| g.and(*bit, borrow)).collect();
            let second = add(g, &difference, &correction, GraphBit::ZERO);
            [first, second]
        }
    }
}

fn xor(g: &mut Graph, a: &[GraphBit], b: &[GraphBit]) -> Vec<GraphBit> {
    a.iter().zip(b).map(|(a, b)| g.xor(*a, *b)).collect()
}

/// Returns `a - b` and its borrow.
fn difference(g: &mut Graph, a: &[GraphBit], b: &[GraphBit]) -> (Vec<GraphBit>, GraphBit) {
    let mut difference = sub_borrow(g, a, b, true);
    let borrow = difference.pop().unwrap_or(GraphBit::ZERO);
    (difference, borrow)
}

/// Returns a number below `m`, which has its highest bit set. A party may have given a larger number.
fn reduce(g: &mut Graph, a: &[GraphBit], m: &[GraphBit]) -> Vec<GraphBit> {
    let (less, borrow) = difference(g, a, m);
    a.iter().zip(less).map(|(a, less)| g.mux(borrow, *a, less)).collect()
}

/// Returns `a + b` modulo `m`, for numbers below `m`.
fn add_modulo(g: &mut Graph, a: &[GraphBit], b: &[GraphBit], m: &[GraphBit]) -> Vec<GraphBit> {
    let sum = add_carry(g, a, b, GraphBit::ZERO, true);
    let wide: Vec<GraphBit> = m.iter().copied().chain([GraphBit::ZERO]).collect();
    let (less, borrow) = difference(g, &sum, &wide);
    (0..m.len()).map(|i| g.mux(borrow, sum[i], less[i])).collect()
}
