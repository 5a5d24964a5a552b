//! Carry-less multiplication: universal hashing of rows, and the field GF(2^128).

use crate::Kernel;
use crate::vector::{Vector, VectorLoop};

/// Computes `acc[r] ^= rows[r] · chi`, as polynomials over GF(2) without reduction: low and high half. Takes
/// constant time.
///
/// # Panics
/// If the numbers of accumulators and rows differ.
pub fn hash_accumulate(acc: &mut [[u128; 2]], rows: &[u128], chi: u128) {
    hash_accumulate_with(Kernel::best(), acc, rows, chi);
}

/// Does the same as [`hash_accumulate`] with a kernel of the caller's choice.
///
/// # Panics
/// As [`hash_accumulate`].
pub fn hash_accumulate_with(kernel: Kernel, acc: &mut [[u128; 2]], rows: &[u128], chi: u128) {
    assert_eq!(acc.len(), rows.len(), "each row must have one accumulator");
    kernel.run(Accumulate { acc, rows, chi });
}

/// Computes `acc[r] ^= Σ_b row_r[b] · chis[b]`. The rows follow each other in `rows`. Each row has as many
/// blocks as there are elements in `chis`. Otherwise like [`hash_accumulate`].
///
/// # Panics
/// If the numbers of accumulators and rows differ.
pub fn hash_rows(acc: &mut [[u128; 2]], rows: &[u128], chis: &[u128]) {
    hash_rows_with(Kernel::best(), acc, rows, chis);
}

/// Does the same as [`hash_rows`] with a kernel of the caller's choice.
///
/// # Panics
/// As [`hash_rows`].
pub fn hash_rows_with(kernel: Kernel, acc: &mut [[u128; 2]], rows: &[u128], chis: &[u128]) {
    assert_eq!(Some(rows.len()), acc.len().checked_mul(chis.len()), "each row must have one accumulator");
    if !chis.is_empty() {
        kernel.run(HashRows { acc, rows, chis });
    }
}

/// Returns the block `x` of 256 bits modulo x^128 + x^7 + x^2 + x + 1, low half first; bit `i` is the
/// coefficient of `x^i`.
pub const fn gf128_reduce([low, high]: [u128; 2]) -> u128 {
    // x^128 = x^7 + x^2 + x + 1. The first folding leaves up to seven bits above x^127, which are in `spill`.
    let spill = high >> 127 ^ high >> 126 ^ high >> 121;
    let high = high ^ spill;
    low ^ high ^ high << 1 ^ high << 2 ^ high << 7
}

struct Accumulate<'a> {
    acc: &'a mut [[u128; 2]],
    rows: &'a [u128],
    chi: u128,
}

impl VectorLoop for Accumulate<'_> {
    type Output = ();
    #[inline(always)]
    unsafe fn run<V: Vector>(self) {
        let mut accs = self.acc.chunks_exact_mut(V::BLOCKS);
        let mut rows = self.rows.chunks_exact(V::BLOCKS);
        // SAFETY: the caller guarantees the features of `V`. Every chunk has `V::BLOCKS` elements, and as
        // many elements of the padded arrays are accessed.
        unsafe {
            let chi = V::splat(self.chi);
            for (acc, row) in (&mut accs).zip(&mut rows) {
                accumulate::<V>(acc.as_mut_ptr().cast(), row.as_ptr(), chi);
            }
            let (acc, row) = (accs.into_remainder(), rows.remainder());
            if !acc.is_empty() {
                let (mut padded_acc, mut padded_row) = ([[0; 2]; 8], [0; 8]);
                padded_acc[..acc.len()].copy_from_slice(acc);
                padded_row[..row.len()].copy_from_slice(row);
                accumulate::<V>(padded_acc.as_mut_ptr().cast(), padded_row.as_ptr(), chi);
                acc.copy_from_slice(&padded_acc[..acc.len()]);
            }
        }
    }
}

struct HashRows<'a> {
    acc: &'a mut [[u128; 2]],
    rows: &'a [u128],
    chis: &'a [u128],
}

impl VectorLoop for HashRows<'_> {
    type Output = ();
    #[inline(always)]
    unsafe fn run<V: Vector>(self) {
        const { assert!(V::BLOCKS <= 4) };
        let HashRows { acc, rows, chis } = self;
        let blocks = chis.len();
        let whole = blocks - blocks % V::BLOCKS;
        let mut padded = [0; 4];
        // SAFETY: the caller guarantees the features of `V`. Before `whole`, a row and `chis` have whole
        // registers; the arrays are as long as the longest register.
        unsafe {
            padded[..blocks - whole].copy_from_slice(&chis[whole..]);
            let last_chi = V::load(padded.as_ptr());
            for (acc, row) in acc.iter_mut().zip(rows.chunks_exact(blocks)) {
                let (mut low, mut high) = (V::splat(0), V::splat(0));
                for b in (0..whole).step_by(V::BLOCKS) {
                    let (l, h) = V::load(row.as_ptr().add(b)).multiply(V::load(chis.as_ptr().add(b)));
                    (low, high) = (low.xor(l), high.xor(h));
                }
                if whole < blocks {
                    padded[..blocks - whole].copy_from_slice(&row[whole..]);
                    let (l, h) = V::load(padded.as_ptr()).multiply(last_chi);
                    (low, high) = (low.xor(l), high.xor(h));
                }
                let mut sums = [[0; 4]; 2];
                low.store(sums[0].as_mut_ptr());
                high.store(sums[1].as_mut_ptr());
                for (acc, sums) in acc.iter_mut().zip(sums) {
                    *acc ^= sums[0] ^ sums[1] ^ sums[2] ^ sums[3];
                }
            }
        }
    }
}

/// Multiplies one register of rows, and adds the products to as many accumulators.
#[inline(always)]
unsafe fn accumulate<V: Vector>(acc: *mut u128, row: *const u128, chi: V) {
    // SAFETY: the caller guarantees the features, `V::BLOCKS` rows and as many pairs of blocks.
    unsafe {
        let (low, high) = V::load(row).multiply(chi);
        let (a, b) = V::load_pairs(|k| acc.add(2 * k));
        V::store_pairs(a.xor(low), b.xor(high), |k| acc.add(2 * k));
    }
}
