//! The evaluator's challenges: the opened items, the colours at which they are opened, and the buckets of all
//! other items.

use bytemuck::Pod;

use brickwork_base::Error;
use brickwork_base::random::{Rng, Seed};
use brickwork_primitives::cut_and_choose::{BatchChallenge, Bucketing};
use brickwork_primitives::spill::SpilledVec;

/// The result of a challenge for the items of a batch. Both parties derive it from the evaluator's seed. The
/// sizes follow from the parameters, not from messages of the peer.
pub(super) struct Assignment {
    /// The opened items, in ascending order.
    pub opened: Vec<u32>,
    /// Items in buckets, bucket after bucket. The first gate of each bucket is its head.
    pub chosen: Vec<u32>,
    /// The number of items in a bucket.
    pub size: usize,
    /// For each item, its position in a list of all opened items, followed by all items in buckets.
    places: Vec<u32>,
}

impl Assignment {
    /// Derives the assignment from the evaluator's seed.
    pub fn expand(seed: &Seed, cut: &Bucketing) -> Self {
        let challenge = BatchChallenge::draw(&mut Rng::expand(seed, "brickwork cut-and-choose"), cut);
        let (opened, chosen) = challenge.into_parts();
        let mut places = vec![0; opened.len() + chosen.len()];
        opened.iter().chain(&chosen).zip(0..).for_each(|(&item, place)| places[item as usize] = place);
        Assignment { opened, chosen, size: cut.bucket as usize, places }
    }

    /// Returns the position of an item: among the opened items, or, if it was not opened, among the items in
    /// buckets.
    #[inline]
    pub fn place(&self, item: usize) -> Result<usize, usize> {
        let place = self.places[item] as usize;
        place.checked_sub(self.opened.len()).map_or(Ok(place), Err)
    }

    /// Returns the values of the opened items, selected from the values of all items.
    ///
    /// # Errors
    /// [`Error::Resource`] if the values cannot be read.
    pub fn of_opened<T: Pod>(&self, values: &SpilledVec<T>) -> Result<Vec<T>, Error> {
        let mut opened = Vec::with_capacity(self.opened.len());
        values.in_parts(|first, part| {
            let here = self.opened[opened.len()..].iter().map(|&item| item as usize - first);
            opened.extend(here.take_while(|&place| place < part.len()).map(|place| part[place]));
        })?;
        Ok(opened)
    }

    /// Returns the values of the items in buckets, bucket after bucket, selected from the values of all
    /// items.
    ///
    /// # Errors
    /// [`Error::Resource`] if the values cannot be read.
    pub fn of_chosen<T: Pod>(&self, values: &SpilledVec<T>) -> Result<Vec<T>, Error> {
        let mut chosen = vec![T::zeroed(); self.chosen.len()];
        values.in_parts(|first, part| {
            for (value, item) in part.iter().zip(first..) {
                if let Err(k) = self.place(item) {
                    chosen[k] = *value;
                }
            }
        })?;
        Ok(chosen)
    }

    /// Returns the number of all items of the batch.
    pub fn items(&self) -> usize {
        self.places.len()
    }

    /// Returns the number of buckets.
    pub fn buckets(&self) -> usize {
        self.chosen.len() / self.size
    }

    /// Returns the items of a bucket.
    #[inline]
    pub fn bucket(&self, bucket: usize) -> &[u32] {
        &self.chosen[bucket * self.size..(bucket + 1) * self.size]
    }

    /// Returns the first item of each bucket.
    pub fn heads(&self) -> Vec<u32> {
        self.chosen.iter().copied().step_by(self.size).collect()
    }

    /// Returns the number of an item in a bucket among those that are not heads, or `None` for a head.
    #[inline]
    pub fn other(&self, chosen: usize) -> Option<usize> {
        let (bucket, k) = (chosen as u32 / self.size as u32, chosen as u32 % self.size as u32);
        (k > 0).then(|| bucket as usize * (self.size - 1) + k as usize - 1)
    }
}

/// Draws the colours of opened items: random bits.
pub(super) fn colours(seed: &Seed, count: usize) -> Vec<u8> {
    let mut bytes = vec![0; count];
    Rng::expand(seed, "brickwork colours of checked items").fill(&mut bytes);
    bytes.iter_mut().for_each(|b| *b &= 1);
    bytes
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use brickwork_primitives::spill::Spill;

    /// The values may be in memory, or in a file that is read in several parts.
    #[test]
    fn values_of_opened_and_chosen_items_are_theirs() {
        let cut = Bucketing { slots: 30_000, bucket: 2, opened: 9_000 };
        let assigned = Assignment::expand(&Seed::from_bytes([3; 16]), &cut);
        assert_eq!(assigned.items(), 69_000);
        let all: Vec<u64> = (0..69_000).map(|k| k * k).collect();
        let of = |items: &[u32]| items.iter().map(|&k| u64::from(k) * u64::from(k)).collect::<Vec<_>>();
        for spill in [Spill::memory(), Spill::file(&Arc::default()).unwrap()] {
            let values = spill.put(all.clone()).unwrap();
            assert_eq!(assigned.of_opened(&values).unwrap(), of(&assigned.opened));
            assert_eq!(assigned.of_chosen(&values).unwrap(), of(&assigned.chosen));
        }
    }
}
