//! Batches of items under one cut-and-choose, and the evaluator's choice among them.

use crate::cut_and_choose::{self, Cut};
use crate::random::{Rng, Seed};

/// The sizes of a batch.
#[derive(Clone, Copy)]
pub(super) struct Batch {
    cut: Cut,
    /// Slots or wires to fill: all N, or those of a part.
    pub buckets: usize,
    /// B: items in a bucket.
    pub size: usize,
    /// c: items that are opened.
    pub opened: usize,
}

impl From<Cut> for Batch {
    fn from(cut: Cut) -> Self {
        Batch { cut, buckets: cut.slots as usize, size: cut.bucket as usize, opened: cut.opened as usize }
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

    /// Solderings from the head of each bucket to its other items.
    pub fn pairs(&self) -> usize {
        self.buckets * self.size.saturating_sub(1)
    }

    /// Head and other item of pair `k`, counted among the chosen ones.
    pub fn pair(&self, k: usize) -> (usize, usize) {
        let (bucket, other) = (k / (self.size - 1), k % (self.size - 1));
        (bucket * self.size, bucket * self.size + 1 + other)
    }
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
