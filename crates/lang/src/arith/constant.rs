//! Multiplication by constants: a chain of shifts, additions and subtractions.

use super::{add, sub};
use crate::graph::{Graph, GraphBit};
use crate::multiples::{Make, MultiplesChain, length};

/// Builds the multiple of `x` that the chain computes, modulo `2^width`.
fn build(chain: &MultiplesChain, g: &mut Graph, x: &[GraphBit], width: usize) -> Vec<GraphBit> {
    // All intermediate multiples are positive and fit into this many bits, so higher bits are zero and need
    // no carries.
    let fits = (x.len() + length(chain.factor) as usize).min(width);
    let shifted = |bits: &[GraphBit], k: u32| {
        let mut out = vec![GraphBit::ZERO; (k as usize).min(fits)];
        out.extend_from_slice(&bits[..bits.len().min(fits - out.len())]);
        out.resize(fits, GraphBit::ZERO);
        out
    };
    let bits = match &chain.make {
        Make::One => super::extend(x, fits),
        Make::Shift(p, k) => {
            let inner = build(p, g, x, width - (*k as usize).min(width));
            shifted(&inner, *k)
        }
        Make::PlusOne(p) => {
            let p = build(p, g, x, fits);
            add(g, &shifted(&p, 0), &shifted(x, 0), GraphBit::ZERO)
        }
        Make::MinusOne(p) => {
            let p = build(p, g, x, fits);
            sub(g, &shifted(&p, 0), &shifted(x, 0))
        }
        Make::TimesPlus(p, k) => {
            let p = build(p, g, x, fits);
            add(g, &shifted(&p, *k), &shifted(&p, 0), GraphBit::ZERO)
        }
        Make::TimesMinus(p, k) => {
            let p = build(p, g, x, fits);
            sub(g, &shifted(&p, *k), &shifted(&p, 0))
        }
    };
    super::extend(&bits, width)
}

/// Returns `x * m` modulo `2^width`.
pub fn multiply(g: &mut Graph, x: &[GraphBit], m: u128, width: usize) -> Vec<GraphBit> {
    let m = if width < 128 { m & ((1 << width) - 1) } else { m };
    if m == 0 || x.is_empty() {
        return vec![GraphBit::ZERO; width];
    }
    let chain = g.chains.chain(m);
    let bits = x.len() as u32;
    // The chain for the negative constant may be shorter.
    if width < 126 && m > 1 {
        let other = g.chains.chain((1 << width) - m);
        if other.cost(bits) + (width as u32) < chain.cost(bits) {
            let product = build(&other, g, x, width);
            return super::negate(g, &product);
        }
    }
    build(&chain, g, x, width)
}
