//! Recomputing of commitments. The shares and the random values of a sender follow from its seeds and the
//! positions in the streams. So a store keeps only the positions.
//!
//! The commitments of a stock are scattered, often one in a block of 128. One AES call computes all 128 bits
//! that a coordinate has in a block, however many of them are needed.

use brickwork_kernels as kernels;
use zeroize::Zeroizing;

use super::source::ShareSource;
use crate::Labels;
use crate::commit::Lsb;
use crate::commit::rows::{BLOCK, DIMENSION, resize, rows_to_values};
use crate::commit::shares::Shares;
use brickwork_base::label::Label;
use brickwork_base::pool;

/// The number of blocks that are computed together; their rows fit into the second-level cache.
const BLOCKS_IN_HAND: usize = 16;

/// Some commitments of a row, in the order of their numbers.
struct Group {
    /// The blocks that contain these commitments.
    blocks: Vec<u64>,
    /// For each commitment, its index among the requested ones, and its index among all commitments of these
    /// blocks.
    places: Vec<(usize, usize)>,
}

impl Group {
    fn groups(numbers: &[u64]) -> Vec<Group> {
        let mut order: Vec<usize> = (0..numbers.len()).collect();
        order.sort_unstable_by_key(|&k| numbers[k]);
        let block = |k: usize| numbers[k] / BLOCK as u64;
        let mut groups: Vec<Group> = Vec::new();
        for of_block in order.chunk_by(|&a, &b| block(a) == block(b)) {
            if groups.last().is_none_or(|group| group.blocks.len() == BLOCKS_IN_HAND) {
                groups.push(Group { blocks: Vec::new(), places: Vec::new() });
            }
            if let Some(group) = groups.last_mut() {
                let first = group.blocks.len() * BLOCK;
                group.blocks.push(block(of_block[0]));
                group.places.extend(of_block.iter().map(|&k| (k, first + numbers[k] as usize % BLOCK)));
            }
        }
        groups
    }
}

/// The random streams from which a sender computes both shares of its commitments.
pub(super) struct Streams<'a> {
    pub first: &'a ShareSource,
    pub second: &'a [kernels::Aes128],
}

impl Streams<'_> {
    fn words(&self) -> usize {
        self.first.seeds.len().div_ceil(64)
    }

    /// Recomputes commitments of the row that began at block `row`, by their numbers: their shares and, for
    /// random commitments, their values.
    pub fn made_again(&self, row: u64, lsb: Lsb, numbers: &[u64], with_values: bool) -> (Labels, Shares) {
        let words = self.words();
        let groups = Group::groups(numbers);
        let pick = |room: &mut Room, _: usize, group: &Group| {
            room.make(self, row, lsb, &group.blocks, with_values);
            let column = |&(_, from): &(usize, usize)| &room.columns[from * words..(from + 1) * words];
            let mut columns = Zeroizing::new(Vec::with_capacity(group.places.len() * words));
            group.places.iter().for_each(|place| columns.extend_from_slice(column(place)));
            let mut values = Labels::new(Vec::with_capacity(group.places.len()));
            values.extend(group.places.iter().filter(|_| with_values).map(|&(_, from)| room.values[from]));
            (columns, values)
        };
        let picked = pool::map(groups.iter().collect(), Room::default, pick);
        let mut all_columns = vec![0; numbers.len() * words];
        let mut all_values = Labels::new(vec![Label::ZERO; if with_values { numbers.len() } else { 0 }]);
        for (group, (columns, values)) in groups.iter().zip(&picked) {
            for (&(to, _), column) in group.places.iter().zip(columns.chunks_exact(words)) {
                all_columns[to * words..(to + 1) * words].copy_from_slice(column);
            }
            for (&(to, _), &value) in group.places.iter().zip(&**values) {
                all_values[to] = value;
            }
        }
        (all_values, Shares::of_columns(words, all_columns))
    }
}

/// Buffers for all commitments of some blocks, reused for every group and erased at the end.
#[derive(Default)]
struct Room {
    first: Zeroizing<Vec<u128>>,
    message: Zeroizing<Vec<u128>>,
    columns: Zeroizing<Vec<u64>>,
    values: Labels,
}

impl Room {
    /// Computes all commitments of some blocks.
    fn make(&mut self, streams: &Streams, row: u64, lsb: Lsb, blocks: &[u64], with_values: bool) {
        let mut counters = [0; BLOCKS_IN_HAND];
        counters
            .iter_mut()
            .zip(blocks)
            .for_each(|(counter, &block)| *counter = u128::from(row) + u128::from(block));
        let counters = &counters[..blocks.len()];
        let expand = |keys: &[kernels::Aes128], lowest: u128, rows: &mut Vec<u128>| {
            resize(rows, keys.len() * blocks.len());
            for (key, row) in keys.iter().zip(rows.chunks_exact_mut(blocks.len())) {
                row.copy_from_slice(counters);
                key.encrypt(row);
            }
            if lsb != Lsb::Random {
                rows[..blocks.len()].fill(lowest);
            }
        };
        expand(&streams.first.seeds, 0, &mut self.first);
        resize(&mut self.columns, blocks.len() * BLOCK * streams.words());
        kernels::transpose(&self.first, blocks.len(), &mut self.columns);
        if with_values {
            expand(
                &streams.second[..DIMENSION],
                if lsb == Lsb::One { u128::MAX } else { 0 },
                &mut self.message,
            );
            self.message.iter_mut().zip(&*self.first).for_each(|(b, a)| *b ^= a);
            resize(&mut self.values, blocks.len() * BLOCK);
            rows_to_values(&self.message, &mut self.values, blocks.len());
        }
    }
}
