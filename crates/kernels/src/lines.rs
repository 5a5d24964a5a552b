//! Blocks that are aligned to cache lines.

#[derive(Clone, Copy)]
#[repr(C, align(64))]
struct CacheLine([u128; 4]);

/// Secret blocks that begin at a cache line, erased when dropped.
pub(crate) struct AlignedBlocks(Vec<CacheLine>);

impl AlignedBlocks {
    /// Allocates at least this many blocks, in whole cache lines.
    pub fn new(blocks: usize) -> Self {
        AlignedBlocks(vec![CacheLine([0; 4]); blocks.div_ceil(4)])
    }

    /// Returns the blocks.
    #[inline]
    pub fn blocks(&self) -> &[u128] {
        // SAFETY: a line is four blocks without padding, by its `repr(C)`; the slice borrows the lines.
        unsafe { std::slice::from_raw_parts(self.0.as_ptr().cast(), 4 * self.0.len()) }
    }

    /// Returns the blocks for writing.
    #[inline]
    pub fn blocks_mut(&mut self) -> &mut [u128] {
        // SAFETY: as in `blocks`; the slice borrows the lines mutably.
        unsafe { std::slice::from_raw_parts_mut(self.0.as_mut_ptr().cast(), 4 * self.0.len()) }
    }
}

impl Drop for AlignedBlocks {
    fn drop(&mut self) {
        crate::erase(self.blocks_mut());
    }
}
