//! The positions of items among a garbler's commitments, as a store keeps them.

use std::ops::Range;

/// Where the commitments to heads of buckets, or to OTs, lie in the garbler's streams: with it and its seeds
/// it makes them again.
#[derive(Clone, Default)]
pub struct Places {
    /// The blocks at which the batch's commitments begin: to wires, and to offsets where each item has one.
    pub rows: [u64; 2],
    /// The item of the batch that each one is.
    pub items: Vec<u32>,
}

impl Places {
    /// Begins: before the challenge nobody knows which items stay.
    pub fn begin(rows: [u64; 2]) -> Self {
        Places { rows, items: Vec::new() }
    }

    /// Returns the heads of buckets, where `chosen` are the items, bucket after bucket.
    pub fn heads(&self, chosen: &[u32], size: usize) -> Self {
        Places { rows: self.rows, items: chosen.iter().copied().step_by(size.max(1)).collect() }
    }

    /// Returns the first `count` items.
    ///
    /// # Panics
    /// If they are more than 2^32.
    pub fn first(&self, count: usize) -> Self {
        Places { rows: self.rows, items: (0..u32::try_from(count).expect("less than 2^32 items")).collect() }
    }

    /// Selects some of them.
    pub fn slice(&self, places: Range<usize>) -> Self {
        Places { rows: self.rows, items: self.items[places].to_vec() }
    }

    /// Returns the numbers of the commitments of each item, if it has this many.
    pub fn numbers(&self, each: usize) -> Vec<u64> {
        let each = each as u64;
        self.items.iter().flat_map(|&item| u64::from(item) * each..(u64::from(item) + 1) * each).collect()
    }
}
