//! The challenge: which items are opened, which gates on which bits, and into which buckets the others go.

use brickwork_base::random::{Rng, Seed};
use brickwork_primitives::cut_and_choose::Challenge;

use crate::layout::Supply;

/// The items of a kind that the evaluator wants to see, and where the rest goes.
pub(super) struct Chosen {
    /// Those that are opened, in ascending order.
    pub opened: Vec<u32>,
    /// Those in buckets, one bucket after the other.
    pub kept: Vec<u32>,
    /// Of opened gates the bits on which they are looked at, `[gate][operand]`.
    pub bits: Vec<u8>,
}

/// The challenge: of each kind of copies.
pub(super) struct Choice {
    pub copies: Vec<Chosen>,
}

impl Choice {
    pub fn expand(seed: &Seed, supply: &Supply) -> Self {
        let mut rng = Rng::expand(seed, "brickwork JIMU challenge");
        let mut draw = |bucketing: &_, looks: bool| {
            let (opened, kept) = Challenge::draw(&mut rng, bucketing).into_parts();
            let bits =
                if looks { (0..2 * opened.len()).map(|_| rng.below(2) as u8).collect() } else { Vec::new() };
            Chosen { opened, kept, bits }
        };
        let copies = supply.sizes.copies.iter().zip(&supply.kinds);
        Choice { copies: copies.map(|(bucketing, kind)| draw(bucketing, !kind.has_offsets())).collect() }
    }
}

/// Numbers as those that select words.
pub(super) fn numbers(copies: &[u32]) -> impl ExactSizeIterator<Item = usize> + Clone {
    copies.iter().map(|&copy| copy as usize)
}

/// Returns the wires of some copies that have so many each.
pub(super) fn wires_of(copies: &[u32], each: usize) -> impl ExactSizeIterator<Item = usize> + Clone {
    (0..copies.len() * each).map(move |k| copies[k / each] as usize * each + k % each)
}
