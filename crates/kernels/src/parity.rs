//! Sums of chosen rows: the parity part of a systematic binary code.

use zeroize::Zeroize;

use crate::Kernel;
use crate::vector::{Vector, VectorLoop};

/// The number of rows in a group, for which one table has all sums (the method of the four Russians:
/// Arlazarov, Dinic, Kronrod, Faradžev 1970).
const GROUP: usize = 4;
/// The number of groups of the 128 rows.
const GROUPS: usize = 128 / GROUP;
const ENTRIES: usize = 1 << GROUP;

/// Sets row `k` of `parity` to the sum of those rows of `message` whose bit is set in `masks[k]`. The message
/// has 128 rows of `blocks` blocks. Takes constant time with respect to the rows; the masks are public.
///
/// # Panics
/// If the message does not have 128 rows, or `parity` does not have a row for each mask.
pub fn parity_rows(masks: &[u128], message: &[u128], parity: &mut [u128], blocks: usize) {
    parity_rows_with(Kernel::best(), masks, message, parity, blocks);
}

/// Does the same as [`parity_rows`] with a kernel of the caller's choice.
///
/// # Panics
/// As [`parity_rows`].
pub fn parity_rows_with(
    kernel: Kernel,
    masks: &[u128],
    message: &[u128],
    parity: &mut [u128],
    blocks: usize,
) {
    assert_eq!(message.len(), 128 * blocks, "the message must have 128 rows of {blocks} blocks");
    assert_eq!(parity.len(), masks.len() * blocks, "each mask must have a parity row of {blocks} blocks");
    kernel.run(Parity { masks, message, parity, blocks });
}

/// For each group, the sums of all subsets of its rows, for as many blocks as a register has. The sums take
/// at most 32 KiB, which stay in the first-level cache.
#[repr(C, align(64))]
struct Sums([u128; 4 * ENTRIES * GROUPS]);

struct Parity<'a> {
    masks: &'a [u128],
    message: &'a [u128],
    parity: &'a mut [u128],
    blocks: usize,
}

impl VectorLoop for Parity<'_> {
    type Output = ();
    #[inline(always)]
    unsafe fn run<V: Vector>(self) {
        const { assert!(V::BLOCKS <= 4) };
        let Parity { masks, message, parity, blocks } = self;
        let mut sums = Sums([0; _]);
        let mut padded = [0; 4];
        let at = sums.0.as_mut_ptr();
        for first in (0..blocks).step_by(V::BLOCKS) {
            let here = V::BLOCKS.min(blocks - first);
            // SAFETY: the caller guarantees the features of `V`. A row has `here` blocks from `first` on.
            // Whole registers of it are accessed only if `here` is `V::BLOCKS`; otherwise `padded` is used,
            // which is large enough. There are `GROUPS * ENTRIES` places in `sums`, and half a byte of a mask
            // selects a place of its group.
            unsafe {
                for (group, rows) in message.chunks_exact(GROUP * blocks).enumerate() {
                    let entries = at.add(ENTRIES * group * V::BLOCKS);
                    V::splat(0).store(entries);
                    for (r, row) in rows.chunks_exact(blocks).enumerate() {
                        let row = if here == V::BLOCKS {
                            V::load(row[first..].as_ptr())
                        } else {
                            padded[..here].copy_from_slice(&row[first..]);
                            V::load(padded.as_ptr())
                        };
                        for entry in 0..1 << r {
                            V::load(entries.add(entry * V::BLOCKS))
                                .xor(row)
                                .store(entries.add((entry + (1 << r)) * V::BLOCKS));
                        }
                    }
                }
                for (mask, row) in masks.iter().zip(parity.chunks_exact_mut(blocks)) {
                    let mut sum = [V::splat(0); 4];
                    for (quad, bytes) in mask.to_le_bytes().as_chunks::<2>().0.iter().enumerate() {
                        let bits = usize::from(u16::from_le_bytes(*bytes));
                        let entries = at.add(4 * quad * ENTRIES * V::BLOCKS);
                        for (i, sum) in sum.iter_mut().enumerate() {
                            *sum = sum.xor(V::load(
                                entries
                                    .add((ENTRIES * i + (bits >> (GROUP * i) & (ENTRIES - 1))) * V::BLOCKS),
                            ));
                        }
                    }
                    let sum = sum[0].xor(sum[1]).xor3(sum[2], sum[3]);
                    if here == V::BLOCKS {
                        sum.store(row[first..].as_mut_ptr());
                    } else {
                        sum.store(padded.as_mut_ptr());
                        row[first..].copy_from_slice(&padded[..here]);
                    }
                }
            }
        }
        sums.0.zeroize();
        padded.zeroize();
    }
}
