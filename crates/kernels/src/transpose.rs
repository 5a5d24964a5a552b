//! Transposition of bit matrices: generators produce rows, and the protocols use columns.

use crate::Kernel;
use crate::vector::{Vector, VectorLoop};

/// Returns the number of words of 64 bits in a column of `rows` bits.
pub const fn words_for_rows(rows: usize) -> usize {
    rows.div_ceil(64)
}

/// Transposes rows into columns. Row `r` is `rows[r * blocks..][..blocks]`; its bit `c` is bit `c % 128` of
/// block `c / 128`. Column `c` is `columns[c * w..][..w]` with `w = words_for_rows(number of rows)`; its bit
/// `r` is bit `r % 64` of word `r / 64`, and the bits above the last row are 0.
///
/// # Panics
/// If `rows` is not a whole number of rows of `blocks` blocks, or `columns` not `128 * blocks` columns.
pub fn transpose(rows: &[u128], blocks: usize, columns: &mut [u64]) {
    transpose_with(Kernel::best(), rows, blocks, columns);
}

/// Does the same as [`transpose`] with a kernel of the caller's choice.
///
/// # Panics
/// As [`transpose`].
pub fn transpose_with(kernel: Kernel, rows: &[u128], blocks: usize, columns: &mut [u64]) {
    let row_count = rows.len().checked_div(blocks).unwrap_or(0);
    let words = words_for_rows(row_count);
    assert_eq!(rows.len(), row_count * blocks, "each row must have {blocks} blocks");
    assert_eq!(columns.len(), 128 * blocks * words, "each block must have 128 columns of {words} words");
    kernel.run(Transpose { rows, blocks, columns, words });
}

/// Transposes 128 columns into rows: the inverse of [`transpose`] for rows of one block. A column has
/// `stride` words. Words and bits after the last row are ignored.
///
/// # Panics
/// If `columns` does not hold 128 columns, or `stride` is below `words_for_rows(rows.len())`.
pub fn transpose_back(columns: &[u64], stride: usize, rows: &mut [u128]) {
    transpose_back_with(Kernel::best(), columns, stride, rows);
}

/// Does the same as [`transpose_back`] with a kernel of the caller's choice.
///
/// # Panics
/// As [`transpose_back`].
pub fn transpose_back_with(kernel: Kernel, columns: &[u64], stride: usize, rows: &mut [u128]) {
    assert!(
        columns.len() == 128 * stride && words_for_rows(rows.len()) <= stride,
        "there must be 128 columns of {stride} words"
    );
    kernel.run(TransposeBack { columns, rows, stride });
}

struct Transpose<'a> {
    rows: &'a [u128],
    blocks: usize,
    columns: &'a mut [u64],
    words: usize,
}

impl VectorLoop for Transpose<'_> {
    type Output = ();
    #[inline(always)]
    unsafe fn run<V: Vector>(self) {
        let Transpose { rows, blocks, columns, words } = self;
        let mut tile = [0; 64];
        for (block, columns) in columns.chunks_exact_mut((128 * words).max(1)).enumerate() {
            for (word, rows) in rows.chunks(64 * blocks).enumerate() {
                tile.fill(0);
                for (t, row) in tile.iter_mut().zip(rows.chunks_exact(blocks)) {
                    *t = row[block];
                }
                // SAFETY: the caller guarantees the features of `V`.
                unsafe { V::transpose64(&mut tile) };
                let (low, high) = columns.split_at_mut(64 * words);
                for (t, (low, high)) in
                    tile.iter().zip(low.chunks_exact_mut(words).zip(high.chunks_exact_mut(words)))
                {
                    low[word] = *t as u64;
                    high[word] = (*t >> 64) as u64;
                }
            }
        }
    }
}

struct TransposeBack<'a> {
    columns: &'a [u64],
    rows: &'a mut [u128],
    stride: usize,
}

impl VectorLoop for TransposeBack<'_> {
    type Output = ();
    #[inline(always)]
    unsafe fn run<V: Vector>(self) {
        if self.rows.is_empty() {
            return;
        }
        let mut tile = [0; 64];
        let (low, high) = self.columns.split_at(64 * self.stride);
        for (word, rows) in self.rows.chunks_mut(64).enumerate() {
            for (t, (low, high)) in
                tile.iter_mut().zip(low.chunks_exact(self.stride).zip(high.chunks_exact(self.stride)))
            {
                *t = u128::from(high[word]) << 64 | u128::from(low[word]);
            }
            // SAFETY: the caller guarantees the features of `V`.
            unsafe { V::transpose64(&mut tile) };
            rows.copy_from_slice(&tile[..rows.len()]);
        }
    }
}
