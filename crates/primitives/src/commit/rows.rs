//! The layout of commitments in memory. The bits of one coordinate, over many commitments, are a row of
//! 128-bit blocks. A party's share of one commitment is a column. Commitments are made, sent and multiplied
//! with random elements in rows; single claims add up columns.

use std::ops::Range;

use brickwork_kernels as kernels;
use zeroize::{Zeroize, Zeroizing};

use crate::Labels;
use crate::spill::Fault;
use brickwork_base::Error;
use brickwork_base::label::Label;
use brickwork_base::pool;

/// The number of bits of a committed value.
pub const DIMENSION: usize = 128;

/// The largest number of words of a [`Column`]. The longest code needs seven; eight fill a cache line.
pub const COLUMN_WORDS: usize = 8;

/// A party's share of one commitment, or a sum of shares: bit i belongs to coordinate i.
pub type Column = [u64; COLUMN_WORDS];

/// The number of commitments in a block: one for each bit of a 128-bit word.
pub(super) const BLOCK: usize = 128;
/// The number of blocks that one thread processes at a time. The rows of a chunk fit into the second-level
/// cache.
pub(super) const CHUNK_BLOCKS: usize = 16;
pub(super) const CHUNK: usize = CHUNK_BLOCKS * BLOCK;
/// The number of chunks that are computed in parallel.
pub(super) const CHUNKS_IN_HAND: usize = 16;

/// A party's shares of a row of commitments, recomputed whenever they are needed.
pub(super) trait RowShares: Send + Sync {
    fn count(&self) -> usize;

    fn coordinates(&self) -> usize;

    /// Computes the rows of a chunk, one for each coordinate, and overwrites `rows`. Bits after the last
    /// commitment are arbitrary. If a file cannot be read, the error is noted in a
    /// [`Fault`](crate::spill::Fault), which the party checks before it proves or accuses.
    fn rows(&self, chunk: usize, rows: &mut Vec<u128>);

    /// Adds the column of one commitment to a sum, masked by `mask`.
    fn add(&self, index: usize, mask: u64, sum: &mut Column);

    /// Truncates the file of corrections. Tests use it to cause read errors.
    #[cfg(test)]
    fn lose_file(&self);

    fn words(&self) -> usize {
        self.coordinates().div_ceil(64)
    }

    fn blocks(&self, chunk: usize) -> usize {
        blocks(self.count(), chunk)
    }

    /// Does the same as [`RowShares::rows`], and also clears the bits after the last commitment.
    fn rows_to_the_last(&self, chunk: usize, rows: &mut Vec<u128>) {
        self.rows(chunk, rows);
        clear_behind_the_last(self.count(), chunk, rows);
    }

    /// Computes the columns of the chunks from `first` on, until `columns` is full.
    fn columns(&self, first: usize, columns: &mut [u64]) {
        let words = self.words();
        let make = |rows: &mut Vec<u128>, c: usize, columns: &mut [u64]| {
            self.rows(first + c, rows);
            kernels::transpose(rows, self.blocks(first + c), columns);
            rows.zeroize();
        };
        pool::map(columns.chunks_mut(CHUNK * words).collect(), Vec::new, make);
    }
}

/// The committed values of a row, recomputed by their sender whenever they are needed.
pub(super) trait ValueRows: Send + Sync {
    /// Returns the number of commitments.
    fn count(&self) -> usize;

    /// Computes the rows of value bits for some blocks of a chunk, in `room.message`.
    ///
    /// # Errors
    /// [`Error::Resource`] if a file with corrections cannot be read.
    fn message(&self, chunk: usize, blocks: Range<usize>, room: &mut RowBuffers) -> Result<(), Error>;

    /// Returns the fault that records read errors while claims are combined.
    fn fault(&self) -> &Fault;

    /// Returns the concrete type, for tests of one scheme.
    #[cfg(test)]
    fn as_any(&self) -> &dyn std::any::Any;

    /// Does the same as [`ValueRows::message`] for a whole chunk, and clears the bits after the last
    /// commitment. A read error is recorded in [`ValueRows::fault`].
    fn rows_to_the_last(&self, chunk: usize, room: &mut RowBuffers) {
        let blocks = blocks(self.count(), chunk);
        self.message(chunk, 0..blocks, room).unwrap_or_else(|error| self.fault().note(error));
        clear_behind_the_last(self.count(), chunk, &mut room.message);
    }

    /// Computes the values at the places from `first` on.
    ///
    /// # Errors
    /// As [`ValueRows::message`].
    fn fill(&self, first: usize, values: &mut [Label]) -> Result<(), Error> {
        let (mut room, end) = (RowBuffers::default(), first + values.len());
        let mut rest = values;
        let mut place = first;
        while place < end {
            let (chunk, until) = (place / CHUNK, end.min((place / CHUNK + 1) * CHUNK));
            let blocks = place % CHUNK / BLOCK..(until - chunk * CHUNK).div_ceil(BLOCK);
            self.message(chunk, blocks.clone(), &mut room)?;
            resize(&mut room.values, blocks.len() * BLOCK);
            rows_to_values(&room.message, &mut room.values, blocks.len());
            let (here, behind) = rest.split_at_mut(until - place);
            here.copy_from_slice(&room.values[place % BLOCK..][..here.len()]);
            (rest, place) = (behind, until);
        }
        Ok(())
    }
}

/// Buffers for rows and values, erased when they are dropped.
#[derive(Default)]
pub(super) struct RowBuffers {
    /// The rows of value bits.
    pub message: Zeroizing<Vec<u128>>,
    /// The rows of the other shares, from which the values are computed.
    pub others: Zeroizing<Vec<u128>>,
    /// Blocks of corrections that were read from a file.
    pub read: Vec<u128>,
    values: Labels,
}

/// Returns the number of blocks of a chunk in a row of `count` commitments.
pub(super) fn blocks(count: usize, chunk: usize) -> usize {
    (count.div_ceil(BLOCK) - chunk * CHUNK_BLOCKS).min(CHUNK_BLOCKS)
}

/// Clears the bits after the last of `count` commitments, in the rows of a chunk.
pub(super) fn clear_behind_the_last(count: usize, chunk: usize, rows: &mut [u128]) {
    let behind = count - chunk * CHUNK;
    if behind < CHUNK && !behind.is_multiple_of(BLOCK) {
        let blocks = blocks(count, chunk);
        rows.iter_mut()
            .skip(blocks - 1)
            .step_by(blocks)
            .for_each(|last| *last &= (1 << (behind % BLOCK)) - 1);
    }
}

/// Returns the bits of up to `blocks * 128` values as 128 rows of `blocks` blocks.
pub(super) fn values_to_rows(values: &[Label], blocks: usize) -> Vec<u128> {
    let mut rows = vec![0u128; DIMENSION * blocks];
    let mut block = vec![Label::ZERO; BLOCK];
    let mut block_rows = [0u128; DIMENSION];
    for (b, values) in values.chunks(BLOCK).enumerate() {
        block.fill(Label::ZERO);
        block[..values.len()].copy_from_slice(values);
        kernels::transpose_back(bytemuck::cast_slice(&block), DIMENSION / 64, &mut block_rows);
        for (r, &row) in block_rows.iter().enumerate() {
            rows[r * blocks + b] = row;
        }
    }
    block.zeroize();
    block_rows.zeroize();
    rows
}

/// Writes the values whose bits are rows of `blocks` blocks.
pub(super) fn rows_to_values(rows: &[u128], values: &mut [Label], blocks: usize) {
    let mut all = vec![0u64; 2 * BLOCK * blocks];
    kernels::transpose(rows, blocks, &mut all);
    let labels: &[u64] = &all[..2 * values.len()];
    values
        .iter_mut()
        .zip(labels.chunks(2))
        .for_each(|(v, w)| *v = Label::from_bits(u128::from(w[0]) | u128::from(w[1]) << 64));
    all.zeroize();
}

/// Resizes a buffer that will get new content. A buffer that is too small is erased and replaced, so that
/// growing leaves no copy.
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

    use super::*;

    thread_local! {
        static ERASED: Cell<usize> = const { Cell::new(0) };
    }

    /// An element that counts how many elements were erased.
    #[derive(Clone, Copy, Default)]
    struct Noting;

    impl Zeroize for Noting {
        fn zeroize(&mut self) {
            ERASED.set(ERASED.get() + 1);
        }
    }

    /// A buffer that is too small is erased before a larger one replaces it; a buffer that is large enough is
    /// kept.
    #[test]
    fn room_that_is_too_small_is_erased() {
        let mut room = Vec::with_capacity(8);
        let small = room.capacity();
        for (length, erased) in [(3, 0), (small, 0), (2, 0), (small + 1, 2), (small + 1, 2)] {
            resize::<(u8, Noting)>(&mut room, length);
            assert_eq!((room.len(), ERASED.get()), (length, erased));
        }
    }
}
