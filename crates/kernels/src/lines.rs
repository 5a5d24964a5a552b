//! Blocks in whole lines of the cache.

/// Four blocks in one line of the cache.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
struct Line([u128; 4]);

/// Secret blocks that begin where a line of the cache does; wiped when dropped.
pub(crate) struct Lines(Vec<Line>);

impl Lines {
    /// Makes room for this many blocks, and the rest of the last line.
    pub fn new(blocks: usize) -> Self {
        Lines(vec![Line([0; 4]); blocks.div_ceil(4)])
    }

    /// Returns the blocks.
    #[inline]
    pub fn blocks(&self) -> &[u128] {
        // SAFETY: a line is four blocks without padding, as `repr(C)` has it; the slice is borrowed from the
        // lines.
        unsafe { std::slice::from_raw_parts(self.0.as_ptr().cast(), 4 * self.0.len()) }
    }

    /// Returns the blocks, to be written.
    #[inline]
    pub fn blocks_mut(&mut self) -> &mut [u128] {
        // SAFETY: as in `blocks`; the lines are borrowed for as long as the slice, which nobody else has.
        unsafe { std::slice::from_raw_parts_mut(self.0.as_mut_ptr().cast(), 4 * self.0.len()) }
    }
}

impl Drop for Lines {
    fn drop(&mut self) {
        crate::erase(self.blocks_mut());
    }
}
