//! Commitments made again. All that a sender knows of random commitments, and its shares of any, follow from
//! its seeds and from where they lie in the streams; so a store keeps only where.
//!
//! Those of a stock lie scattered, one in a block of 128: all bits of a coordinate's block cost one AES,
//! whoever is wanted.

use rayon::prelude::*;
use zeroize::{Zeroize, Zeroizing};

use super::{BLOCK, DIMENSION, Lsb, Sender, Shares, kernels, rows_to_values};
use crate::commit::Committed;
use brickwork_base::label::{Label, Labels};

/// Blocks that are made together: their rows fit the second-level cache.
const BLOCKS_IN_HAND: usize = 16;

/// Some commitments of a row, in the order of their numbers.
struct Wanted {
    /// The blocks that they lie in.
    blocks: Vec<u64>,
    /// Of each its place among those that were asked for, and among the commitments of these blocks.
    places: Vec<(usize, usize)>,
}

impl Wanted {
    /// Puts numbers into groups of a few blocks.
    fn groups(numbers: &[u64]) -> Vec<Wanted> {
        let mut order: Vec<usize> = (0..numbers.len()).collect();
        order.sort_unstable_by_key(|&k| numbers[k]);
        let block = |k: usize| numbers[k] / BLOCK as u64;
        let mut groups: Vec<Wanted> = Vec::new();
        for of_block in order.chunk_by(|&a, &b| block(a) == block(b)) {
            if groups.last().is_none_or(|group| group.blocks.len() == BLOCKS_IN_HAND) {
                groups.push(Wanted { blocks: Vec::new(), places: Vec::new() });
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

impl Sender {
    /// The block at which the next commitments begin.
    pub fn next_row(&self) -> u64 {
        self.next_block
    }

    /// Random commitments that were made before: of those that began at block `row` the ones with these
    /// numbers, which may be told to anybody.
    pub fn again(&self, row: u64, lsb: Lsb, numbers: &[u64]) -> Committed {
        let (values, shares) = self.made_again(row, lsb, numbers, true);
        Committed { values: values.to_vec(), shares }
    }

    /// The shares of commitments that were made before, to values of this party's choice.
    pub fn shares_again(&self, row: u64, numbers: &[u64]) -> Shares {
        self.made_again(row, Lsb::Random, numbers, false).1
    }

    fn made_again(&self, row: u64, lsb: Lsb, numbers: &[u64], with_values: bool) -> (Labels, Shares) {
        let words = self.code.words();
        let groups = Wanted::groups(numbers);
        let pick = |room: &mut Room, group: &Wanted| {
            room.make(self, row, lsb, &group.blocks, with_values);
            let column = |&(_, from): &(usize, usize)| &room.columns[from * words..(from + 1) * words];
            let mut columns = Zeroizing::new(Vec::with_capacity(group.places.len() * words));
            group.places.iter().for_each(|place| columns.extend_from_slice(column(place)));
            let mut values = Labels::new(Vec::with_capacity(group.places.len()));
            values.extend(group.places.iter().filter(|_| with_values).map(|&(_, from)| room.values[from]));
            (columns, values)
        };
        let picked: Vec<(Zeroizing<Vec<u64>>, Labels)> =
            groups.par_iter().map_init(Room::default, pick).collect();
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

/// Room for all commitments of some blocks. It is used for group after group, and erased at the end.
#[derive(Default)]
struct Room {
    first: Zeroizing<Vec<u128>>,
    message: Zeroizing<Vec<u128>>,
    columns: Zeroizing<Vec<u64>>,
    values: Labels,
}

impl Room {
    /// Makes all commitments of some blocks.
    fn make(&mut self, sender: &Sender, row: u64, lsb: Lsb, blocks: &[u64], with_values: bool) {
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
        expand(&sender.first.seeds, 0, &mut self.first);
        resize(&mut self.columns, blocks.len() * BLOCK * sender.code.words());
        kernels::transpose(&self.first, blocks.len(), &mut self.columns);
        if with_values {
            expand(
                &sender.second[..DIMENSION],
                if lsb == Lsb::One { u128::MAX } else { 0 },
                &mut self.message,
            );
            self.message.iter_mut().zip(&*self.first).for_each(|(b, a)| *b ^= a);
            resize(&mut self.values, blocks.len() * BLOCK);
            rows_to_values(&self.message, &mut self.values, blocks.len());
        }
    }
}

/// Another length, for new content; room that is too small is erased, not copied.
pub(super) fn resize<T: Copy + Default + Zeroize>(room: &mut Vec<T>, length: usize) {
    if room.capacity() < length {
        room.zeroize();
        *room = Vec::with_capacity(length);
    }
    room.resize(length, T::default());
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::super::Code;
    use super::*;
    use crate::commit::Sender as _;
    use brickwork_base::random::{Rng, Seed};
    use brickwork_wire::memory_pair;

    thread_local! {
        static ERASED: Cell<usize> = const { Cell::new(0) };
    }

    /// Counts how often one of its kind is erased.
    #[derive(Clone, Copy, Default)]
    struct Noting;

    impl Zeroize for Noting {
        fn zeroize(&mut self) {
            ERASED.set(ERASED.get() + 1);
        }
    }

    /// Room that grows leaves nothing behind, and what is large enough stays.
    #[test]
    fn room_that_is_too_small_is_erased() {
        let mut room = Vec::with_capacity(8);
        let small = room.capacity();
        for (length, erased) in [(3, 0), (small, 0), (2, 0), (small + 1, 2), (small + 1, 2)] {
            resize::<(u8, Noting)>(&mut room, length);
            assert_eq!((room.len(), ERASED.get()), (length, erased));
        }
    }

    /// Whatever is made again is what was made, wherever it lies.
    #[test]
    fn commitments_made_again_are_the_same() {
        for s in [40, 80] {
            let code = Code::for_security(s).unwrap();
            let mut rng = Rng::replayable("test dealer");
            let pairs: Vec<[Seed; 2]> = (0..code.length()).map(|_| [rng.seed(), rng.seed()]).collect();
            let mut sender = Sender::new(code, &pairs, u64::MAX);
            sender.enter(3);
            let (mut left, _right) = memory_pair();
            for count in [1, 128, 129, 7000] {
                let all = 0..count as u64;
                let some: Vec<u64> = (0..count).map(|_| rng.below(count as u64)).collect();
                for numbers in [all.clone().collect(), all.rev().step_by(97).collect(), some, Vec::new()] {
                    let places = || numbers.iter().map(|&number| number as usize);
                    let picked = |made: &Shares| -> Vec<u64> {
                        let (all, words) = (made.select(0..count), code.words());
                        places().flat_map(|i| all.words()[i * words..(i + 1) * words].to_vec()).collect()
                    };
                    for lsb in [Lsb::Random, Lsb::Zero, Lsb::One] {
                        let row = sender.next_row();
                        let made = sender.commit_random(&mut left, count, lsb).unwrap();
                        let again = sender.again(row, lsb, &numbers);
                        assert!(places().map(|i| made.values[i]).eq(again.values.iter().copied()), "{lsb:?}");
                        assert_eq!(picked(&made.shares), again.shares.words());
                    }
                    let row = sender.next_row();
                    let made = sender.commit(&mut left, &vec![Label::from_bits(5); count]).unwrap();
                    assert_eq!(picked(&made.shares), sender.shares_again(row, &numbers).words());
                }
            }
        }
    }
}
