//! The challenge: the opened items, the bits on which opened gates are checked, and the buckets of all other
//! items.

use brickwork_base::random::{Rng, Seed};
use brickwork_primitives::cut_and_choose::BatchChallenge;

use crate::layout::Supply;

/// The evaluator's challenge for a kind of items: the opened items, and the buckets of the others.
pub(super) struct ChosenItems {
    /// The opened items, in ascending order.
    pub opened: Vec<u32>,
    /// The items in buckets, one bucket after another.
    pub kept: Vec<u32>,
    /// For opened gates, the bits on which they are checked, `[gate][operand]`.
    pub bits: Vec<u8>,
}

pub(super) struct Choice {
    pub copies: Vec<ChosenItems>,
}

impl Choice {
    pub fn expand(seed: &Seed, supply: &Supply) -> Self {
        let mut rng = Rng::expand(seed, "brickwork JIMU challenge");
        let mut draw = |bucketing: &_, looks: bool| {
            let (opened, kept) = BatchChallenge::draw(&mut rng, bucketing).into_parts();
            let bits =
                if looks { (0..2 * opened.len()).map(|_| rng.below(2) as u8).collect() } else { Vec::new() };
            ChosenItems { opened, kept, bits }
        };
        let copies = supply.sizes.copies.iter().zip(&supply.kinds);
        Choice { copies: copies.map(|(bucketing, kind)| draw(bucketing, !kind.has_offsets())).collect() }
    }
}

/// Converts numbers of copies to indices of words.
pub(super) fn numbers(copies: &[u32]) -> impl ExactSizeIterator<Item = usize> + Clone {
    copies.iter().map(|&copy| copy as usize)
}

/// Returns the numbers of the wires of some copies, if each copy has `each` wires.
pub(super) fn wires_of(copies: &[u32], each: usize) -> impl ExactSizeIterator<Item = usize> + Clone {
    (0..copies.len() * each).map(move |k| copies[k / each] as usize * each + k % each)
}
