//! The command's allocator: it puts large buffers on large pages, and while secrets are read it erases what
//! is given back.
//!
//! A run fills hundreds of megabytes once and reads many of them at random places. With pages of 4 KiB the
//! machine spends more time on making pages known and on finding them than on the data. Linux gives larger
//! ones to those who ask.
//!
//! What holds a secret in this project erases it. But inputs go through parsers, keys through libraries, and
//! these erase nothing.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};

/// How many [`Erasing`] there are.
static ERASING: AtomicUsize = AtomicUsize::new(0);

/// While it lives, [`LargePages`] erases all blocks that are freed or moved, whoever frees them. It takes a
/// little of everybody's time: it is for the reading of inputs and keys, not for all of a run.
#[must_use = "it ends when it is dropped"]
#[derive(Debug)]
pub struct Erasing(());

impl Erasing {
    /// From now on.
    pub fn begin() -> Self {
        ERASING.fetch_add(1, Ordering::Relaxed);
        Erasing(())
    }
}

impl Drop for Erasing {
    fn drop(&mut self) {
        ERASING.fetch_sub(1, Ordering::Relaxed);
    }
}

#[inline]
fn is_erasing() -> bool {
    ERASING.load(Ordering::Relaxed) > 0
}

/// The system's allocator, but buffers of some megabytes are mappings of their own on pages as large as the
/// system gives. They go back to the system when they are freed. (On other systems than Linux they are the
/// system allocator's.) See also [`Erasing`].
pub struct LargePages<S = System>(S);

impl LargePages {
    /// The one to declare as the program's.
    pub const fn new() -> Self {
        LargePages(System)
    }
}

impl Default for LargePages {
    fn default() -> Self {
        Self::new()
    }
}

// SAFETY: every method either forwards to the system's allocator or, for sizes that a layout alone decides
// on, to `mapping`, which keeps what the trait asks for: fresh memory of its own, aligned, freed with the
// layout it was made for.
unsafe impl<S: GlobalAlloc> GlobalAlloc for LargePages<S> {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        match mapping::serves(layout) {
            true => mapping::map(layout.size()),
            // SAFETY: the caller's promises are the same.
            false => unsafe { self.0.alloc(layout) },
        }
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        match mapping::serves(layout) {
            // A new mapping is zero.
            true => mapping::map(layout.size()),
            // SAFETY: the caller's promises are the same.
            false => unsafe { self.0.alloc_zeroed(layout) },
        }
    }

    #[inline]
    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        match mapping::serves(layout) {
            // SAFETY: the block was made for this layout, so by `map` with this size, and nobody uses it any
            // more.
            true => unsafe { mapping::unmap(block, layout.size()) },
            // SAFETY: likewise by the system's allocator; until then all of it may be written to, whatever it
            // holds.
            false => unsafe {
                if is_erasing() {
                    block.write_bytes(0, layout.size());
                    // Somebody may look: so the compiler leaves no write out.
                    zeroize::optimization_barrier(std::slice::from_raw_parts(block, layout.size()));
                }
                self.0.dealloc(block, layout);
            },
        }
    }

    #[inline]
    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: the caller vouches that `size` is not 0 and does not overflow with the layout's alignment.
        let wanted = unsafe { Layout::from_size_align_unchecked(size, layout.align()) };
        if !is_erasing() && !mapping::serves(layout) && !mapping::serves(wanted) {
            // SAFETY: the caller's promises are the same.
            return unsafe { self.0.realloc(block, layout, size) };
        }
        // SAFETY: both blocks are as long as what is copied, and a new block does not overlap an old one.
        unsafe {
            let moved = self.alloc(wanted);
            if !moved.is_null() {
                std::ptr::copy_nonoverlapping(block, moved, size.min(layout.size()));
                self.dealloc(block, layout);
            }
            moved
        }
    }
}

#[cfg(all(target_os = "linux", not(miri)))]
mod mapping {
    use std::alloc::Layout;
    use std::ffi::c_void;

    use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap_anonymous, munmap};

    /// Smaller buffers are the system allocator's.
    const LARGE: usize = 4 << 20;

    /// Size and alignment of a large page.
    const PAGE: usize = 2 << 20;

    pub fn serves(layout: Layout) -> bool {
        layout.size() >= LARGE && layout.align() <= PAGE
    }

    /// A new mapping, zero, that begins with a large page; null if there is no memory.
    pub fn map(size: usize) -> *mut u8 {
        let Some(reserved) = size.checked_next_multiple_of(4096).and_then(|size| size.checked_add(PAGE))
        else {
            return std::ptr::null_mut();
        };
        // SAFETY: a new private mapping where the system wants it takes nothing from anybody. What is
        // unmapped are the parts of it before the first large page and behind the last page needed, both of
        // whole small pages. Advice changes no contents.
        unsafe {
            let Ok(start) = mmap_anonymous(
                std::ptr::null_mut(),
                reserved,
                ProtFlags::READ | ProtFlags::WRITE,
                MapFlags::PRIVATE,
            ) else {
                return std::ptr::null_mut();
            };
            let before = start.cast::<u8>().align_offset(PAGE);
            let block = start.cast::<u8>().add(before);
            let used = reserved - PAGE;
            if before > 0 {
                let _ = munmap(start, before);
            }
            if PAGE > before {
                let _ = munmap(block.add(used).cast::<c_void>(), PAGE - before);
            }
            let _ = madvise(block.cast(), used, Advice::LinuxHugepage);
            block
        }
    }

    /// Gives a mapping of [`map`] back.
    ///
    /// # Safety
    /// It was made with this size, and nobody uses it any more.
    pub unsafe fn unmap(block: *mut u8, size: usize) {
        // SAFETY: as the caller vouches; `map` left just this much.
        let _ = unsafe { munmap(block.cast(), size.next_multiple_of(4096)) };
    }
}

/// Nothing is mapped: all blocks are the system allocator's.
#[cfg(not(all(target_os = "linux", not(miri))))]
mod mapping {
    use std::alloc::Layout;

    pub fn serves(_: Layout) -> bool {
        false
    }

    pub fn map(_: usize) -> *mut u8 {
        std::ptr::null_mut()
    }

    /// # Safety
    /// There is nothing to unmap.
    pub unsafe fn unmap(_: *mut u8, _: usize) {}
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    /// The system's allocator, which gets nothing back but zeros.
    struct Checking {
        freed: AtomicUsize,
    }

    // SAFETY: memory comes from and goes to the system's allocator, with the layouts of the caller.
    unsafe impl GlobalAlloc for Checking {
        unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
            // SAFETY: as the caller's.
            unsafe { System.alloc(layout) }
        }

        unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
            // SAFETY: the block is the caller's until it is freed below, and all of it has been written to.
            let bytes = unsafe { std::slice::from_raw_parts(block, layout.size()) };
            assert!(bytes.iter().all(|&b| b == 0), "something is left in a freed block");
            self.freed.fetch_add(1, Ordering::Relaxed);
            // SAFETY: as the caller's.
            unsafe { System.dealloc(block, layout) }
        }
    }

    #[test]
    fn what_is_freed_or_moved_is_erased() {
        let _erasing = Erasing::begin();
        let pages = LargePages(Checking { freed: AtomicUsize::new(0) });
        let layout = |size: usize| Layout::from_size_align(size, 8).unwrap();
        for size in [1, 7, 8, 4096, 100_001] {
            // SAFETY: sizes are not 0; every access is within the block, which is freed once with its layout.
            unsafe {
                let block = pages.alloc(layout(size));
                block.write_bytes(0xa5, size);
                let moved = pages.realloc(block, layout(size), 3 * size);
                assert!((0..size).all(|i| *moved.add(i) == 0xa5));
                moved.write_bytes(0x5a, 3 * size);
                let moved = pages.realloc(moved, layout(3 * size), size);
                pages.dealloc(moved, layout(size));
            }
        }
        assert_eq!(pages.0.freed.into_inner(), 15);
    }

    #[test]
    fn blocks_of_all_sizes_keep_what_is_written() {
        let sizes = [1, 4096, (4 << 20) - 1, 4 << 20, (4 << 20) + 1, (6 << 20) + 4095, 9 << 20];
        for (&from, &to) in sizes.iter().flat_map(|from| sizes.iter().map(move |to| (from, to))) {
            let layout = |size: usize| Layout::from_size_align(size, 64).unwrap();
            // SAFETY: sizes are not 0; every access is within the block, which is freed once with its layout.
            unsafe {
                let pages = LargePages::new();
                let block = pages.alloc_zeroed(layout(from));
                assert!(!block.is_null() && block.align_offset(64) == 0);
                let bytes = std::slice::from_raw_parts_mut(block, from);
                assert!(bytes.iter().all(|&b| b == 0));
                bytes.iter_mut().enumerate().for_each(|(i, b)| *b = (i % 251) as u8);
                let moved = pages.realloc(block, layout(from), to);
                assert!(!moved.is_null() && moved.align_offset(64) == 0);
                let bytes = std::slice::from_raw_parts_mut(moved, to);
                assert!(bytes[..from.min(to)].iter().enumerate().all(|(i, &b)| b == (i % 251) as u8));
                bytes[to - 1] = 7;
                pages.dealloc(moved, layout(to));
            }
        }
    }

    #[test]
    fn what_cannot_be_had_is_null() {
        // SAFETY: nothing is accessed.
        let block = unsafe {
            LargePages::new().alloc(Layout::from_size_align(isize::MAX as usize - 4096, 1).unwrap())
        };
        assert!(block.is_null());
    }
}
