//! Shares computed from seeds and corrections.

use std::sync::Arc;

use brickwork_kernels as kernels;
use kernels::Aes128;
use zeroize::{Zeroize, ZeroizeOnDrop};

use crate::commit::Lsb;
use crate::commit::rows::{BLOCK, CHUNK_BLOCKS, CHUNKS_IN_HAND, Column, RowShares};
use crate::spill::{Fault, HeldBudget, MemoryBudget, SpillFile};
use brickwork_base::Error;

/// The source of a party's shares: a seed and a watch bit for each coordinate. The watch bit is given as a
/// mask, which is all ones where the receiver watches the second share. The sender uses this type for its
/// first shares, with all watch bits 0.
#[derive(Zeroize, ZeroizeOnDrop)]
pub(super) struct ShareSource {
    pub seeds: Vec<Aes128>,
    pub watch: Vec<u128>,
}

/// The recipe that computes the shares of a row of commitments.
pub(super) struct Recipe {
    pub source: Arc<ShareSource>,
    /// The number of the row's first block.
    pub start: u64,
    pub count: usize,
    pub lsb: Lsb,
    /// `None` at the sender.
    pub corrections: Option<Corrections>,
}

/// The received corrections, which the last coordinates have: for each chunk, a row of blocks for each
/// coordinate. Corrections reveal nothing to third parties, because both shares hide the value.
pub(super) struct Corrections {
    storage: Storage,
    /// The number of coordinates that have corrections.
    corrected: usize,
    fault: Arc<Fault>,
}

enum Storage {
    Memory(
        Vec<u128>,
        #[expect(dead_code, reason = "the corrections hold their part of the budget")] HeldBudget,
    ),
    File(SpillFile),
}

impl Corrections {
    /// Receives the corrections of this many blocks, in messages of several chunks. Corrections are kept in
    /// memory if the budget has room, and in a file otherwise.
    ///
    /// # Errors
    /// The errors of `receive`, and [`Error::Resource`] if a file cannot be written.
    pub fn receive(
        corrected: usize,
        blocks: usize,
        budget: &MemoryBudget,
        fault: &Arc<Fault>,
        mut receive: impl FnMut(&mut [u8]) -> Result<(), Error>,
    ) -> Result<Self, Error> {
        let (total, message) = (corrected * blocks, corrected * CHUNK_BLOCKS * CHUNKS_IN_HAND);
        let storage = match budget.take(16 * total as u64) {
            Some(held) => {
                let mut all = vec![0; total];
                all.chunks_mut(message).try_for_each(|message| receive(bytemuck::cast_slice_mut(message)))?;
                Storage::Memory(all, held)
            }
            None => {
                let (file, mut buffer) = (SpillFile::new()?, vec![0; 16 * message.min(total)]);
                for start in (0..16 * total).step_by(16 * message) {
                    let here = &mut buffer[..(16 * message).min(16 * total - start)];
                    receive(here)?;
                    file.write(here, start as u64)?;
                }
                Storage::File(file)
            }
        };
        Ok(Corrections { storage, corrected, fault: fault.clone() })
    }

    /// Returns the corrections of the first blocks of a chunk. If the corrections are in a file, they are
    /// read into `buffer`.
    fn of<'a>(&'a self, first: usize, blocks: usize, buffer: &'a mut Vec<u128>) -> &'a [u128] {
        let (start, count) = (self.corrected * first, self.corrected * blocks);
        match &self.storage {
            Storage::Memory(all, _) => &all[start..start + count],
            Storage::File(file) => {
                buffer.resize(count, 0);
                file.read(bytemuck::cast_slice_mut(buffer), 16 * start as u64)
                    .unwrap_or_else(|error| self.fault.note(error));
                buffer
            }
        }
    }
}

impl RowShares for Recipe {
    fn count(&self) -> usize {
        self.count
    }

    fn coordinates(&self) -> usize {
        self.source.seeds.len()
    }

    #[cfg(test)]
    fn lose_file(&self) {
        match &self.corrections {
            Some(Corrections { storage: Storage::File(file), .. }) => file.lose(),
            _ => panic!("no file"),
        }
    }

    fn rows(&self, chunk: usize, rows: &mut Vec<u128>) {
        let ShareSource { seeds, watch } = &*self.source;
        let (blocks, first) = (self.blocks(chunk), chunk * CHUNK_BLOCKS);
        rows.resize(seeds.len() * blocks, 0);
        kernels::ctr_rows(seeds, u128::from(self.start) + first as u128, rows, blocks);
        match self.lsb {
            Lsb::Random => {}
            Lsb::Zero => rows[..blocks].fill(0),
            Lsb::One => rows[..blocks].fill(watch[0]),
        }
        if let Some(corrections) = &self.corrections {
            let (uncorrected, mut buffer) = (seeds.len() - corrections.corrected, Vec::new());
            let corrections = corrections.of(first, blocks, &mut buffer);
            let fixed =
                rows[uncorrected * blocks..].chunks_exact_mut(blocks).zip(corrections.chunks_exact(blocks));
            for ((row, correction), watch) in fixed.zip(&watch[uncorrected..]) {
                row.iter_mut().zip(correction).for_each(|(r, c)| *r ^= c & watch);
            }
        }
    }

    fn add(&self, index: usize, mask: u64, sum: &mut Column) {
        let ShareSource { seeds, watch } = &*self.source;
        let (block, bit) = (index / BLOCK, index % BLOCK);
        let mut rows = vec![0; seeds.len()];
        kernels::ctr_rows(seeds, u128::from(self.start) + block as u128, &mut rows, 1);
        match self.lsb {
            Lsb::Random => {}
            Lsb::Zero => rows[0] = 0,
            Lsb::One => rows[0] = watch[0],
        }
        if let Some(corrections) = &self.corrections {
            let (chunk, uncorrected, mut buffer) =
                (block / CHUNK_BLOCKS, seeds.len() - corrections.corrected, Vec::new());
            let corrections = &corrections.of(chunk * CHUNK_BLOCKS, self.blocks(chunk), &mut buffer)
                [block % CHUNK_BLOCKS..];
            let fixed = rows[uncorrected..].iter_mut().zip(corrections.iter().step_by(self.blocks(chunk)));
            fixed
                .zip(&watch[uncorrected..])
                .for_each(|((row, correction), watch)| *row ^= correction & watch);
        }
        for (k, row) in rows.iter().enumerate() {
            sum[k / 64] ^= ((row >> bit) as u64 & 1) << (k % 64) & mask;
        }
        rows.zeroize();
    }
}
