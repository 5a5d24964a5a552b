//! Batches of items under one cut-and-choose, and the evaluator's choice among them.

use super::hooks::{Hooks, Point};
use super::msg;
use crate::Error;
use crate::cut_and_choose::{self, Cut};
use crate::random::{Rng, SEED_BYTES, Seed};
use crate::wire::Channel;

/// The sizes of a batch.
#[derive(Clone, Copy)]
pub(super) struct Batch {
    cut: Cut,
    /// Slots or wires to fill: all N, or those of a part.
    pub buckets: usize,
    /// B: items in a bucket.
    pub size: usize,
}

impl From<Cut> for Batch {
    fn from(cut: Cut) -> Self {
        Batch { cut, buckets: cut.slots as usize, size: cut.bucket as usize }
    }
}

impl Batch {
    /// Items that end in a bucket.
    pub fn chosen(&self) -> usize {
        self.buckets * self.size
    }

    /// L: all items, as they are made.
    pub fn items(&self) -> usize {
        self.cut.copies() as usize
    }

    /// Some of its buckets, after the challenge.
    pub fn part(&self, buckets: usize) -> Batch {
        Batch { buckets, ..*self }
    }

    /// Only the first item of each bucket.
    pub fn heads(&self) -> Batch {
        Batch { size: self.size.min(1), ..*self }
    }

    /// Solderings from the head of each bucket to its other items.
    pub fn pairs(&self) -> usize {
        self.buckets * self.size.saturating_sub(1)
    }

    /// Head and other item of pair `k`, counted among the chosen ones.
    pub fn pair(&self, k: usize) -> (usize, usize) {
        pair(self.size, k)
    }
}

/// Head and other item of pair `k` in buckets of this size.
pub(super) fn pair(size: usize, k: usize) -> (usize, usize) {
    let (bucket, other) = (k / (size - 1), k % (size - 1));
    (bucket * size, bucket * size + 1 + other)
}

/// Which items are opened, and which are chosen, bucket after bucket. Both parties derive it from the evaluator's seed;
/// the counts follow from the batch and nothing that the peer says.
pub(super) struct Challenge {
    pub opened: Vec<usize>,
    pub chosen: Vec<usize>,
}

impl Challenge {
    pub fn expand(seed: &Seed, batch: &Batch) -> Self {
        let drawn = cut_and_choose::Challenge::draw(&mut Rng::expand(seed, "brickwork cut-and-choose"), &batch.cut);
        let places = |items: &[u32]| items.iter().map(|&i| i as usize).collect();
        Challenge { opened: places(drawn.opened()), chosen: places(drawn.kept()) }
    }
}

/// The evaluator draws challenges for so many batches, all of which are fixed.
pub(super) fn draw(channel: &mut Channel, rng: &mut Rng, hooks: &mut Hooks, batches: usize) -> Result<Vec<Seed>, Error> {
    let mut seeds = vec![0; batches * SEED_BYTES];
    rng.fill(&mut seeds);
    hooks.alter(Point::Challenge, &mut seeds);
    channel.send(msg::CHALLENGE, &seeds)?;
    Ok(split(&seeds))
}

/// The garbler receives them.
pub(super) fn receive(channel: &mut Channel, batches: usize) -> Result<Vec<Seed>, Error> {
    Ok(split(&channel.receive(msg::CHALLENGE, batches * SEED_BYTES)?))
}

fn split(seeds: &[u8]) -> Vec<Seed> {
    seeds.chunks_exact(SEED_BYTES).map(|seed| Seed::from_bytes(seed.try_into().expect("16 bytes"))).collect()
}
