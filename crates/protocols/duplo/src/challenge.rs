//! Batches that share one cut-and-choose, and the evaluator's random choice of the items to open.

use std::ops::Range;

use super::hooks::{Hooks, Point};
use super::msg;
use brickwork_base::Error;
use brickwork_base::random::{Rng, SEED_BYTES, Seed};
use brickwork_primitives::cut_and_choose::{self, Bucketing};
use brickwork_wire::Channel;

/// The sizes of the cut-and-choose of a batch.
#[derive(Clone, Copy)]
pub(super) struct BatchSizes {
    bucketing: Bucketing,
    /// The number of buckets: all N, or fewer for a part of a batch.
    pub buckets: usize,
    /// B: the number of items in a bucket.
    pub size: usize,
}

impl From<Bucketing> for BatchSizes {
    fn from(bucketing: Bucketing) -> Self {
        BatchSizes { bucketing, buckets: bucketing.slots as usize, size: bucketing.bucket as usize }
    }
}

impl BatchSizes {
    /// Returns the number of items in buckets.
    pub fn chosen(&self) -> usize {
        self.buckets * self.size
    }

    /// Returns L: the number of all items of the batch, the opened ones included.
    pub fn items(&self) -> usize {
        self.bucketing.copies() as usize
    }

    /// Returns the sizes for a part of the batch, after the challenge.
    pub fn with_buckets(&self, buckets: usize) -> BatchSizes {
        BatchSizes { buckets, ..*self }
    }

    /// Returns the sizes of a batch of the heads alone.
    pub fn heads(&self) -> BatchSizes {
        BatchSizes { size: self.size.min(1), ..*self }
    }

    /// Returns the number of solderings from the head of each bucket to its other items.
    pub fn pairs(&self) -> usize {
        self.buckets * self.size.saturating_sub(1)
    }

    /// Returns the head and the other item of pair `k`, both as numbers among the chosen items.
    pub fn pair(&self, k: usize) -> (usize, usize) {
        pair(self.size, k)
    }
}

/// Returns the head and the other item of pair `k` in buckets of this size.
pub(super) fn pair(size: usize, k: usize) -> (usize, usize) {
    let (bucket, other) = (k / (size - 1), k % (size - 1));
    (bucket * size, bucket * size + 1 + other)
}

/// The opened items, and the chosen items, bucket after bucket. Both parties compute them from the
/// evaluator's seed, so their numbers depend on the batch and not on messages of the peer.
pub(super) struct Challenge {
    pub opened: Vec<u32>,
    pub chosen: Vec<u32>,
}

impl Challenge {
    pub fn expand(seed: &Seed, batch: &BatchSizes) -> Self {
        let drawn = cut_and_choose::BatchChallenge::draw(
            &mut Rng::expand(seed, "brickwork cut-and-choose"),
            &batch.bucketing,
        );
        let (opened, chosen) = drawn.into_parts();
        Challenge { opened, chosen }
    }

    /// Returns the heads of these buckets of `size` items each.
    pub fn heads(&self, buckets: Range<usize>, size: usize) -> impl ExactSizeIterator<Item = usize> + Clone {
        buckets.map(move |bucket| self.chosen[bucket * size] as usize)
    }

    /// Returns the assignment of each item, for buckets of `size` items.
    pub fn assignment(&self, size: usize) -> Assignment {
        let (opened, buckets) =
            (self.opened.len() as u32, self.chosen.len().checked_div(size).unwrap_or(0) as u32);
        let mut assignment = vec![0; self.opened.len() + self.chosen.len()];
        self.opened.iter().zip(0..).for_each(|(&item, k)| assignment[item as usize] = k);
        let (mut head, mut other) = (opened, opened + buckets);
        for bucket in self.chosen.chunks_exact(size.max(1)) {
            assignment[bucket[0] as usize] = head;
            head += 1;
            for &item in &bucket[1..] {
                assignment[item as usize] = other;
                other += 1;
            }
        }
        Assignment { assignment, opened, buckets, size }
    }
}

/// The use of an item after the challenge.
#[derive(Clone, Copy)]
pub(super) enum Assigned {
    /// The item is opened; the value is its position among the opened items.
    Opened(usize),
    /// The item is the head of the bucket with this number.
    Head(usize),
    /// The item is in a bucket, but not its head; the value is the number of its [pair](BatchSizes::pair).
    Other(usize),
}

/// The use of each item of a batch, as one number: opened items have the lowest numbers, then heads, then the
/// other items.
pub(super) struct Assignment {
    assignment: Vec<u32>,
    opened: u32,
    buckets: u32,
    size: usize,
}

impl Assignment {
    pub fn of(&self, item: usize) -> Assigned {
        let assigned = self.assignment[item];
        match (assigned.checked_sub(self.opened), assigned.checked_sub(self.opened + self.buckets)) {
            (_, Some(pair)) => Assigned::Other(pair as usize),
            (Some(bucket), None) => Assigned::Head(bucket as usize),
            (None, None) => Assigned::Opened(assigned as usize),
        }
    }

    /// Returns `Ok` with the position among the opened items if the item is opened. Otherwise returns `Err`
    /// with the position among the chosen items.
    pub fn place(&self, item: usize) -> Result<usize, usize> {
        match self.of(item) {
            Assigned::Opened(k) => Ok(k),
            Assigned::Head(bucket) => Err(bucket * self.size),
            // A 32-bit division is much cheaper than a 64-bit one.
            Assigned::Other(pair) => Err(pair + (pair as u32 / (self.size as u32 - 1)) as usize + 1),
        }
    }
}

/// Draws and sends the evaluator's challenges for this many batches, to which the garbler is committed.
pub(super) fn draw(
    channel: &mut Channel,
    rng: &mut Rng,
    hooks: &mut Hooks,
    batches: usize,
) -> Result<Vec<Seed>, Error> {
    let mut seeds = vec![0; batches * SEED_BYTES];
    rng.fill(&mut seeds);
    hooks.alter(Point::Challenge, &mut seeds);
    channel.send(msg::CHALLENGE, &seeds)?;
    Ok(split(&seeds))
}

/// Receives the challenges at the garbler.
pub(super) fn receive(channel: &mut Channel, batches: usize) -> Result<Vec<Seed>, Error> {
    Ok(split(&channel.receive(msg::CHALLENGE, batches * SEED_BYTES)?))
}

fn split(seeds: &[u8]) -> Vec<Seed> {
    seeds.chunks_exact(SEED_BYTES).map(|seed| Seed::from_bytes(seed.try_into().expect("16 bytes"))).collect()
}
