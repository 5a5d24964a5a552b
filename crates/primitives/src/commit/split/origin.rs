//! Recomputing of committed values. Random values follow from the seeds, as the shares do. Each takes a few
//! nanoseconds. Chosen values also need the corrections, which are in a temporary file. The sender has
//! already sent these corrections to the receiver. They reveal nothing to a party without the seeds.

use std::ops::Range;
use std::sync::Arc;

use brickwork_kernels as kernels;

use super::source::Recipe;
use crate::commit::Lsb;
use crate::commit::rows::{CHUNK, CHUNK_BLOCKS, DIMENSION, RowBuffers, RowShares, ValueRows, resize};
use crate::spill::{Fault, SpillFile};
use brickwork_base::Error;

/// The source that recomputes the values of a row.
pub(super) struct RowOrigin {
    pub recipe: Arc<Recipe>,
    pub second: Arc<Vec<kernels::Aes128>>,
    /// For chosen values, the corrections of the first 128 coordinates: for each chunk, a row of blocks per
    /// coordinate.
    pub corrections: Option<SpillFile>,
    pub fault: Arc<Fault>,
}

impl RowOrigin {
    /// Returns the position of a chunk's corrections in the file.
    pub fn offset(chunk: usize) -> u64 {
        (chunk * CHUNK * DIMENSION / 8) as u64
    }
}

impl ValueRows for RowOrigin {
    fn count(&self) -> usize {
        self.recipe.count
    }

    fn fault(&self) -> &Fault {
        &self.fault
    }

    #[cfg(test)]
    fn as_any(&self) -> &dyn std::any::Any {
        self
    }

    fn message(&self, chunk: usize, blocks: Range<usize>, room: &mut RowBuffers) -> Result<(), Error> {
        let RowBuffers { others: first, message, read: corrections, .. } = room;
        let (recipe, count) = (&self.recipe, blocks.len());
        let start = u128::from(recipe.start) + (chunk * CHUNK_BLOCKS + blocks.start) as u128;
        for (keys, lowest, rows) in
            [(&recipe.source.seeds, 0, &mut *first), (&*self.second, u128::MAX, &mut *message)]
        {
            resize(rows, DIMENSION * count);
            kernels::ctr_rows(&keys[..DIMENSION], start, rows, count);
            match recipe.lsb {
                Lsb::Random => {}
                Lsb::Zero => rows[..count].fill(0),
                Lsb::One => rows[..count].fill(lowest),
            }
        }
        message.iter_mut().zip(&**first).for_each(|(b, a)| *b ^= a);
        if let Some(file) = &self.corrections {
            let all = recipe.blocks(chunk);
            corrections.resize(DIMENSION * all, 0);
            file.read(bytemuck::cast_slice_mut(corrections), Self::offset(chunk))?;
            for (row, correction) in message.chunks_exact_mut(count).zip(corrections.chunks_exact(all)) {
                row.iter_mut()
                    .zip(&correction[blocks.clone()])
                    .for_each(|(row, correction)| *row ^= correction);
            }
        }
        Ok(())
    }
}
