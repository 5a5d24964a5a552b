//! Positions of items among a garbler's commitments, for a store.

use std::ops::Range;

/// The positions of commitments in the garbler's streams: the commitments to heads of buckets, or to OTs.
/// From these positions and the seeds, the garbler recomputes the commitments.
#[derive(Clone, Default)]
pub struct Places {
    /// The first blocks of the batch's two rows of commitments: to wires, and to offsets if each item has
    /// one.
    pub rows: [u64; 2],
    /// For each kept item, its number in the batch.
    pub items: Vec<u32>,
}

impl Places {
    /// Returns the positions of a batch without its items, because the kept items are unknown before the
    /// challenge.
    pub fn begin(rows: [u64; 2]) -> Self {
        Places { rows, items: Vec::new() }
    }

    /// Returns the heads of buckets. `chosen` lists the items, bucket after bucket.
    pub fn heads(&self, chosen: &[u32], size: usize) -> Self {
        Places { rows: self.rows, items: chosen.iter().copied().step_by(size.max(1)).collect() }
    }

    /// Returns the positions of the first `count` items.
    ///
    /// # Panics
    /// If `count` is more than 2^32.
    pub fn first(&self, count: usize) -> Self {
        Places {
            rows: self.rows,
            items: (0..u32::try_from(count).expect("there are fewer than 2^32 items")).collect(),
        }
    }

    /// Returns the positions of a range of the items.
    pub fn slice(&self, places: Range<usize>) -> Self {
        Places { rows: self.rows, items: self.items[places].to_vec() }
    }

    /// Returns the numbers of all commitments of the items, if each item has `each` commitments.
    pub fn numbers(&self, each: usize) -> Vec<u64> {
        let each = each as u64;
        self.items.iter().flat_map(|&item| u64::from(item) * each..(u64::from(item) + 1) * each).collect()
    }
}
