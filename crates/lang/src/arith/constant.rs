//! Multiplication by constants: a chain of shifts, additions and subtractions.

use super::{add, sub};
use crate::graph::{Bit, Graph};
use crate::multiples::{Chain, Make, length};

/// Builds the multiple of `x` that the chain computes, modulo `2^width`.
fn build(chain: &Chain, g: &mut Graph, x: &[Bit], width: usize) -> Vec<Bit> {
    // All intermediate multiples are positive and fit into this many bits, so higher bits are zero and need
    // no carries.
    let fits = (x.len() + length(chain.factor) as usize).min(width);
    let shifted = |bits: &[Bit], k: u32| {
        let mut out = vec![Bit::ZERO; (k as usize).min(fits)];
        out.extend_from_slice(&bits[..bits.len().min(fits - out.len())]);
        out.resize(fits, Bit::ZERO);
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
            add(g, &shifted(&p, 0), &shifted(x, 0), Bit::ZERO)
        }
        Make::MinusOne(p) => {
            let p = build(p, g, x, fits);
            sub(g, &shifted(&p, 0), &shifted(x, 0))
        }
        Make::TimesPlus(p, k) => {
            let p = build(p, g, x, fits);
            add(g, &shifted(&p, *k), &shifted(&p, 0), Bit::ZERO)
        }
        Make::TimesMinus(p, k) => {
            let p = build(p, g, x, fits);
            sub(g, &shifted(&p, *k), &shifted(&p, 0))
        }
    };
    super::extend(&bits, width)
}

/// Returns `x * m` modulo `2^width`.
pub fn multiply(g: &mut Graph, x: &[Bit], m: u128, width: usize) -> Vec<Bit> {
    let m = if width < 128 { m & ((1 << width) - 1) } else { m };
    if m == 0 || x.is_empty() {
        return vec![Bit::ZERO; width];
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
