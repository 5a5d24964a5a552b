//! An allocator that puts large buffers on large pages.
//!
//! A run fills hundreds of megabytes once and reads many of them at random places. With pages of 4 KiB the machine spends
//! more time on making pages known and on finding them than on the data. Linux gives larger ones to those who ask.

use std::alloc::{GlobalAlloc, Layout, System};

/// The system's allocator, but buffers of some megabytes are mappings of their own on pages as large as the system gives.
/// They go back to the system when they are freed. On other systems than Linux it is the system's allocator.
pub struct LargePages;

/// Smaller buffers are the system allocator's.
#[cfg(all(target_os = "linux", not(miri)))]
const LARGE: usize = 4 << 20;

// SAFETY: every method either forwards to the system's allocator or, for sizes that a layout alone decides on, to
// `mapping`, which keeps what the trait asks for: fresh memory of its own, aligned, freed with the layout it was made for.
#[cfg(all(target_os = "linux", not(miri)))]
unsafe impl GlobalAlloc for LargePages {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        match mapping::serves(layout) {
            true => mapping::map(layout.size()),
            // SAFETY: the caller's promises are the same.
            false => unsafe { System.alloc(layout) },
        }
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        match mapping::serves(layout) {
            // A new mapping is zero.
            true => mapping::map(layout.size()),
            // SAFETY: the caller's promises are the same.
            false => unsafe { System.alloc_zeroed(layout) },
        }
    }

    #[inline]
    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        match mapping::serves(layout) {
            // SAFETY: the block was made for this layout, so by `map` with this size, and nobody uses it any more.
            true => unsafe { mapping::unmap(block, layout.size()) },
            // SAFETY: likewise by the system's allocator.
            false => unsafe { System.dealloc(block, layout) },
        }
    }

    #[inline]
    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: the caller vouches that `size` is not 0 and does not overflow with the layout's alignment.
        let wanted = unsafe { Layout::from_size_align_unchecked(size, layout.align()) };
        if !mapping::serves(layout) && !mapping::serves(wanted) {
            // SAFETY: the caller's promises are the same.
            return unsafe { System.realloc(block, layout, size) };
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

#[cfg(not(all(target_os = "linux", not(miri))))]
// SAFETY: forwards everything.
unsafe impl GlobalAlloc for LargePages {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promises are the same.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: the caller's promises are the same.
        unsafe { System.dealloc(block, layout) }
    }
}

#[cfg(all(target_os = "linux", not(miri)))]
mod mapping {
    use std::alloc::Layout;
    use std::ffi::c_void;

    use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap_anonymous, munmap};

    use super::LARGE;

    /// Size and alignment of a large page.
    const PAGE: usize = 2 << 20;

    pub fn serves(layout: Layout) -> bool {
        layout.size() >= LARGE && layout.align() <= PAGE
    }

    /// A new mapping, zero, that begins with a large page; null if there is no memory.
    pub fn map(size: usize) -> *mut u8 {
        let Some(reserved) = size.checked_next_multiple_of(4096).and_then(|size| size.checked_add(PAGE)) else {
            return std::ptr::null_mut();
        };
        // SAFETY: a new private mapping where the system wants it takes nothing from anybody. What is unmapped are the parts
        // of it before the first large page and behind the last page needed, both of whole small pages. Advice changes no
        // contents.
        unsafe {
            let Ok(start) = mmap_anonymous(std::ptr::null_mut(), reserved, ProtFlags::READ | ProtFlags::WRITE, MapFlags::PRIVATE) else {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_of_all_sizes_keep_what_is_written() {
        let sizes = [1, 4096, (4 << 20) - 1, 4 << 20, (4 << 20) + 1, (6 << 20) + 4095, 9 << 20];
        for (&from, &to) in sizes.iter().flat_map(|from| sizes.iter().map(move |to| (from, to))) {
            let layout = |size: usize| Layout::from_size_align(size, 64).unwrap();
            // SAFETY: sizes are not 0; every access is within the block, which is freed once with its layout.
            unsafe {
                let block = LargePages.alloc_zeroed(layout(from));
                assert!(!block.is_null() && block.align_offset(64) == 0);
                let bytes = std::slice::from_raw_parts_mut(block, from);
                assert!(bytes.iter().all(|&b| b == 0));
                bytes.iter_mut().enumerate().for_each(|(i, b)| *b = (i % 251) as u8);
                let moved = LargePages.realloc(block, layout(from), to);
                assert!(!moved.is_null() && moved.align_offset(64) == 0);
                let bytes = std::slice::from_raw_parts_mut(moved, to);
                assert!(bytes[..from.min(to)].iter().enumerate().all(|(i, &b)| b == (i % 251) as u8));
                bytes[to - 1] = 7;
                LargePages.dealloc(moved, layout(to));
            }
        }
    }

    #[test]
    fn what_cannot_be_had_is_null() {
        // SAFETY: nothing is accessed.
        let block = unsafe { LargePages.alloc(Layout::from_size_align(isize::MAX as usize - 4096, 1).unwrap()) };
        assert!(block.is_null());
    }
}
