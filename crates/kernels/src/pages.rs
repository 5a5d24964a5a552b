//! The command's allocator. The allocator puts large buffers on large pages, and erases freed memory while
//! secrets are read.
//!
//! A run fills hundreds of megabytes once and reads many of them at random places. With pages of 4 KiB, the
//! system spends more time on creating and looking up pages than on the data. Linux gives larger pages on
//! request.
//!
//! Types that contain a secret in this project erase it. But inputs also pass through parsers, and keys
//! through libraries, which erase nothing.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};

static ERASING: AtomicUsize = AtomicUsize::new(0);

/// While a value of this type exists, [`LargePages`] erases all blocks that are freed or moved, on any
/// thread. This costs some time in all threads, so it is meant for reading inputs and keys, not for a whole
/// run.
#[must_use = "the guard ends its effect when it is dropped"]
#[derive(Debug)]
pub struct Erasing(());

impl Erasing {
    /// Begins to erase freed memory.
    pub fn begin() -> Self {
        ERASING.fetch_add(1, Ordering::Relaxed);
        Erasing(())
    }

    /// Returns another guard if one exists.
    fn again() -> Option<Self> {
        let more = |erasing: usize| (erasing > 0).then(|| erasing + 1);
        ERASING.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more).ok().map(|_| Erasing(()))
    }
}

/// Returns another guard if one exists, and if the list's pages return to the system when the list is freed.
/// In this case, the list need not be erased.
pub(crate) fn erases_pages_of<T>(list: &Vec<T>) -> Option<Erasing> {
    let bytes = list.capacity() * size_of::<T>();
    mapping::is_one(list.as_ptr().cast(), bytes).then(Erasing::again).flatten()
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

/// The system's allocator with mappings of its own for buffers of a megabyte or more, on the largest pages
/// that the system offers. Some tens of megabytes of the last freed mappings are reused. Otherwise the system
/// would have to create and clear new pages, which can take as long as all other work on them. All other
/// mappings return to the system. (On systems other than Linux, the system's allocator serves all buffers.)
/// See also [`Erasing`].
pub struct LargePages(Pages<System>);

impl LargePages {
    /// Returns the allocator, for a program's global allocator.
    pub const fn new() -> Self {
        LargePages(Pages(System))
    }
}

impl Default for LargePages {
    fn default() -> Self {
        Self::new()
    }
}

// No method is inlined, so that this crate's optimisation applies to all of them, whatever the program's
// optimisation is.
//
// SAFETY: all calls are forwarded to the inner allocator.
unsafe impl GlobalAlloc for LargePages {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's guarantees apply to the inner call, here and below.
        unsafe { self.0.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as above.
        unsafe { self.0.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: as above.
        unsafe { self.0.dealloc(block, layout) }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: as above.
        unsafe { self.0.realloc(block, layout, size) }
    }
}

/// [`LargePages`] over any allocator, because tests use one that checks freed blocks.
struct Pages<S>(S);

// SAFETY: every method forwards to the system's allocator or to `mapping`; the layout alone decides which. So
// the trait's contract holds: memory is fresh, unshared and aligned, and is freed with the layout of its
// allocation.
unsafe impl<S: GlobalAlloc> GlobalAlloc for Pages<S> {
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
            true => mapping::map_zeroed(layout.size()),
            // SAFETY: the caller's promises are the same.
            false => unsafe { self.0.alloc_zeroed(layout) },
        }
    }

    #[inline]
    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        match mapping::serves(layout) {
            // SAFETY: the block was allocated with this layout, so by `map` with this size, and nobody uses
            // it any more.
            true => unsafe { mapping::unmap(block, layout.size(), !is_erasing()) },
            // SAFETY: the system's allocator allocated the block with this layout. Until it is freed, all of
            // it may be written.
            false => unsafe {
                if is_erasing() {
                    block.write_bytes(0, layout.size());
                    // The barrier keeps the compiler from removing the writes.
                    zeroize::optimization_barrier(std::slice::from_raw_parts(block, layout.size()));
                }
                self.0.dealloc(block, layout);
            },
        }
    }

    #[inline]
    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: the caller guarantees that `size` is not 0 and does not overflow with the layout's
        // alignment.
        let wanted = unsafe { Layout::from_size_align_unchecked(size, layout.align()) };
        if !is_erasing() && !mapping::serves(layout) && !mapping::serves(wanted) {
            // SAFETY: the caller's promises are the same.
            return unsafe { self.0.realloc(block, layout, size) };
        }
        // SAFETY: both blocks are at least as long as the copied part, and a new block does not overlap an
        // old one.
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
    use std::cell::UnsafeCell;
    use std::ffi::c_void;

    use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap_anonymous, munmap};

    use std::sync::atomic::{AtomicBool, Ordering};

    /// Smaller buffers are left to the system's allocator.
    const LARGE: usize = 1 << 20;

    const PAGE: usize = 2 << 20;

    /// The largest number of bytes in unused mappings that are kept.
    const KEPT: usize = 32 << 20;

    /// The largest number of kept mappings.
    const PLACES: usize = 32;

    /// The free list: unused mappings with start and length, the oldest first.
    struct FreeList {
        places: [(usize, usize); PLACES],
        count: usize,
        bytes: usize,
    }

    impl FreeList {
        /// Removes and returns the youngest mapping of this length.
        fn take(&mut self, length: usize) -> Option<usize> {
            let place = self.places[..self.count].iter().rposition(|&(_, kept)| kept == length)?;
            Some(self.remove(place))
        }

        fn remove(&mut self, place: usize) -> usize {
            let (start, length) = self.places[place];
            self.places.copy_within(place + 1..self.count, place);
            (self.count, self.bytes) = (self.count - 1, self.bytes - length);
            start
        }

        /// Returns whether a mapping of this length fits into the list.
        fn has_room(&self, length: usize) -> bool {
            self.count < PLACES && self.bytes + length <= KEPT
        }

        fn push(&mut self, start: usize, length: usize) {
            self.places[self.count] = (start, length);
            (self.count, self.bytes) = (self.count + 1, self.bytes + length);
        }
    }

    /// The kept mappings, and whether a thread uses them. No thread waits for another one: if `taken` is set,
    /// a thread works without the kept mappings.
    struct Shared {
        taken: AtomicBool,
        kept: UnsafeCell<FreeList>,
    }

    // SAFETY: only the thread that set `taken` uses `kept`.
    unsafe impl Sync for Shared {}

    static SHARED: Shared = Shared {
        taken: AtomicBool::new(false),
        kept: UnsafeCell::new(FreeList { places: [(0, 0); PLACES], count: 0, bytes: 0 }),
    };

    impl Shared {
        /// Calls `what` with the kept mappings, unless another thread uses them. `what` must not panic.
        fn with<T>(&self, what: impl FnOnce(&mut FreeList) -> T) -> Option<T> {
            if self.taken.swap(true, Ordering::Acquire) {
                return None;
            }
            // SAFETY: no other thread gets here before `taken` is false again.
            let done = what(unsafe { &mut *self.kept.get() });
            self.taken.store(false, Ordering::Release);
            Some(done)
        }
    }

    pub fn serves(layout: Layout) -> bool {
        layout.size() >= LARGE && layout.align() <= PAGE
    }

    /// True if at least one mapping was made.
    static ANY: AtomicBool = AtomicBool::new(false);

    /// Returns whether a block of this size is a mapping. The system's allocators never begin a block at the
    /// start of a large page, because they store their own data before a block.
    pub fn is_one(block: *const u8, bytes: usize) -> bool {
        bytes >= LARGE && ANY.load(Ordering::Relaxed) && block.addr().is_multiple_of(PAGE)
    }

    /// Returns the length of a mapping for this many bytes. There are four lengths between two powers of two,
    /// so that a mapping can be reused for a buffer of a similar size. Unwritten pages take no memory, except
    /// the rest of a large page.
    fn length(size: usize) -> Option<usize> {
        let step = (size.checked_next_power_of_two()? / 8).max(4096);
        size.checked_next_multiple_of(step)
    }

    /// Returns a mapping that begins with a large page, or null if there is no memory.
    pub fn map(size: usize) -> *mut u8 {
        let Some(length) = length(size) else { return std::ptr::null_mut() };
        match SHARED.with(|kept| kept.take(length)).flatten() {
            Some(start) => std::ptr::with_exposed_provenance_mut(start),
            None => map_anew(length),
        }
    }

    /// Returns a mapping of zeros, or null if there is no memory.
    pub fn map_zeroed(size: usize) -> *mut u8 {
        let Some(length) = length(size) else { return std::ptr::null_mut() };
        match SHARED.with(|kept| kept.take(length)).flatten() {
            Some(start) => {
                let block = std::ptr::with_exposed_provenance_mut::<u8>(start);
                // SAFETY: the mapping has at least this size, and nobody else uses it.
                unsafe { block.write_bytes(0, size) };
                block
            }
            None => map_anew(length),
        }
    }

    /// Returns a new mapping of zeros that begins with a large page, or null if there is no memory.
    fn map_anew(length: usize) -> *mut u8 {
        let Some(reserved) = length.checked_add(PAGE) else { return std::ptr::null_mut() };
        ANY.store(true, Ordering::Relaxed);
        // SAFETY: a new private mapping at an address of the system's choice overlaps nothing. Only the parts
        // before the first large page and after the last needed page are unmapped, both whole small pages.
        // Advice changes no contents.
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
            if before > 0 {
                let _ = munmap(start, before);
            }
            if PAGE > before {
                let _ = munmap(block.add(length).cast::<c_void>(), PAGE - before);
            }
            let _ = madvise(block.cast(), length, Advice::LinuxHugepage);
            block
        }
    }

    /// Frees a mapping of [`map`]. The mapping is kept for reuse if `keep` is true and the mapping is not too
    /// long. Otherwise it returns to the system. If needed, older mappings are returned to make room for it.
    ///
    /// # Safety
    /// The mapping was made with this size, and nobody uses it any more.
    pub unsafe fn unmap(block: *mut u8, size: usize, keep: bool) {
        let length = length(size).expect("the mapping was made with this size");
        let give_back = |start: usize, length: usize| {
            // SAFETY: a mapping of `map_anew` has exactly this length. The caller guarantees that nobody uses
            // it any more. Nobody uses the kept ones.
            let _ = unsafe { munmap(std::ptr::with_exposed_provenance_mut(start), length) };
        };
        let start = block.expose_provenance();
        let kept = keep && length <= KEPT / 2;
        let stays = kept
            && SHARED
                .with(|kept| {
                    while !kept.has_room(length) {
                        let oldest = kept.places[0].1;
                        give_back(kept.remove(0), oldest);
                    }
                    kept.push(start, length);
                })
                .is_some();
        if !stays {
            give_back(start, length);
        }
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn what_is_kept_is_found_again_and_bounded() {
            let mut kept = FreeList { places: [(0, 0); PLACES], count: 0, bytes: 0 };
            assert_eq!(kept.take(PAGE), None);
            for start in 1..=PLACES {
                assert!(kept.has_room(LARGE));
                kept.push(start, LARGE);
            }
            assert!(!kept.has_room(1) && kept.bytes == PLACES * LARGE);
            assert_eq!((kept.take(LARGE), kept.take(PAGE)), (Some(PLACES), None));
            assert_eq!((kept.remove(0), kept.remove(0)), (1, 2));
            assert_eq!((kept.count, kept.bytes), (PLACES - 3, (PLACES - 3) * LARGE));
            kept.push(77, KEPT - kept.bytes);
            assert!(!kept.has_room(1) && kept.has_room(0));
            assert_eq!(kept.take(3 * LARGE), Some(77));
        }

        #[test]
        fn lengths_are_few_and_hold_what_is_asked_for() {
            for (size, expected) in [(LARGE, LARGE), (LARGE + 1, LARGE / 4 * 5), (7 << 20, 7 << 20)] {
                assert_eq!(length(size), Some(expected));
            }
            assert_eq!((length(7 * LARGE + 1), length(usize::MAX)), (Some(8 * LARGE), None));
        }
    }
}

/// On other systems there are no mappings, and the system's allocator serves all blocks.
#[cfg(not(all(target_os = "linux", not(miri))))]
mod mapping {
    use std::alloc::Layout;

    pub fn serves(_: Layout) -> bool {
        false
    }

    pub fn is_one(_: *const u8, _: usize) -> bool {
        false
    }

    pub fn map(_: usize) -> *mut u8 {
        std::ptr::null_mut()
    }

    pub fn map_zeroed(_: usize) -> *mut u8 {
        std::ptr::null_mut()
    }

    /// Does nothing.
    ///
    /// # Safety
    /// None needed.
    pub unsafe fn unmap(_: *mut u8, _: usize, _: bool) {}
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    /// The system's allocator, which panics if a freed block contains anything but zeros.
    struct Checking {
        freed: AtomicUsize,
    }

    // SAFETY: memory comes from and goes to the system's allocator, with the layouts of the caller.
    unsafe impl GlobalAlloc for Checking {
        unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
            // SAFETY: guaranteed by the caller.
            unsafe { System.alloc(layout) }
        }

        unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
            // SAFETY: the block is the caller's until it is freed below, and all of it has been written to.
            let bytes = unsafe { std::slice::from_raw_parts(block, layout.size()) };
            assert!(bytes.iter().all(|&b| b == 0), "something is left in a freed block");
            self.freed.fetch_add(1, Ordering::Relaxed);
            // SAFETY: guaranteed by the caller.
            unsafe { System.dealloc(block, layout) }
        }
    }

    #[test]
    fn what_is_freed_or_moved_is_erased() {
        let _erasing = Erasing::begin();
        let pages = Pages(Checking { freed: AtomicUsize::new(0) });
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
        let sizes = [1, 4096, (1 << 20) - 1, 1 << 20, (1 << 20) + 1, 3 << 20, (6 << 20) + 4095, 9 << 20];
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
        // SAFETY: the memory is not accessed.
        let block = unsafe {
            LargePages::new().alloc(Layout::from_size_align(isize::MAX as usize - 4096, 1).unwrap())
        };
        assert!(block.is_null());
    }
}
