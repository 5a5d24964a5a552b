//! The command's allocator: it puts large buffers on large pages, and while secrets are read it erases freed
//! memory.
//!
//! A run fills hundreds of megabytes once and reads many of them at random places. With pages of 4 KiB the
//! machine spends more time on making pages known and on finding them than on the data. Linux gives larger
//! ones on request.
//!
//! Types that hold a secret in this project erase it. But inputs go through parsers, keys through libraries,
//! and these erase nothing.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};

/// How many [`Erasing`] there are.
static ERASING: AtomicUsize = AtomicUsize::new(0);

/// While it exists, [`LargePages`] erases all blocks that are freed or moved, on any thread. It takes a
/// little of everybody's time: it is for the reading of inputs and keys, not for all of a run.
#[must_use = "it ends when it is dropped"]
#[derive(Debug)]
pub struct Erasing(());

impl Erasing {
    /// Begins to erase, from now on.
    pub fn begin() -> Self {
        ERASING.fetch_add(1, Ordering::Relaxed);
        Erasing(())
    }

    /// Returns one more, if there are any.
    fn again() -> Option<Self> {
        let more = |erasing: usize| (erasing > 0).then(|| erasing + 1);
        ERASING.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more).ok().map(|_| Erasing(()))
    }
}

/// Returns that everything is erased meanwhile, if a list is on pages that return to the system when it is
/// freed while the result exists.
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

/// The system's allocator, but buffers of a megabyte and more are mappings of their own on pages as large as
/// the system gives. The last ones that were freed, some tens of megabytes, are used again: to make pages
/// anew, which are zero, can take the system as long as everything else that is done with them. The others go
/// back to the system. (On other systems than Linux they are the system allocator's.) See also [`Erasing`].
pub struct LargePages(Pages<System>);

impl LargePages {
    /// Makes the allocator that a program declares as its own.
    pub const fn new() -> Self {
        LargePages(Pages(System))
    }
}

impl Default for LargePages {
    fn default() -> Self {
        Self::new()
    }
}

// None of its methods is inlined, so that all of it is compiled here with this crate's optimisation, whatever
// the optimisation of the program is.
//
// SAFETY: it is the allocator within.
unsafe impl GlobalAlloc for LargePages {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promises are the same, here and below.
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

/// [`LargePages`] over another allocator than the system's, too: tests have one that looks.
struct Pages<S>(S);

// SAFETY: every method either forwards to the system's allocator or, for sizes that a layout alone decides
// on, to `mapping`. That keeps the trait's contract: fresh memory of its own, aligned, freed with the layout
// that it was made for.
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
            // SAFETY: the block was made for this layout, so by `map` with this size, and nobody uses it any
            // more.
            true => unsafe { mapping::unmap(block, layout.size(), !is_erasing()) },
            // SAFETY: the same by the system's allocator; until then all of it may be written.
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

    /// Smaller buffers are the system allocator's.
    const LARGE: usize = 1 << 20;

    /// Size and alignment of a large page.
    const PAGE: usize = 2 << 20;

    /// Bytes of mappings that are kept to be used again, at most.
    const KEPT: usize = 32 << 20;

    /// Mappings that are kept, at most.
    const PLACES: usize = 32;

    /// The free list: mappings that nobody uses, the oldest first, where they begin, and their length.
    struct FreeList {
        places: [(usize, usize); PLACES],
        count: usize,
        bytes: usize,
    }

    impl FreeList {
        /// Takes the youngest mapping of this length.
        fn take(&mut self, length: usize) -> Option<usize> {
            let place = self.places[..self.count].iter().rposition(|&(_, kept)| kept == length)?;
            Some(self.remove(place))
        }

        /// Takes the mapping at this place.
        fn remove(&mut self, place: usize) -> usize {
            let (start, length) = self.places[place];
            self.places.copy_within(place + 1..self.count, place);
            (self.count, self.bytes) = (self.count - 1, self.bytes - length);
            start
        }

        /// Returns whether a mapping of this length fits in.
        fn has_room(&self, length: usize) -> bool {
            self.count < PLACES && self.bytes + length <= KEPT
        }

        fn push(&mut self, start: usize, length: usize) {
            self.places[self.count] = (start, length);
            (self.count, self.bytes) = (self.count + 1, self.bytes + length);
        }
    }

    /// The mappings that are kept, and whether a thread is at them. Nobody waits for the lock: if it is
    /// taken, the cache is not used.
    struct Shared {
        taken: AtomicBool,
        kept: UnsafeCell<FreeList>,
    }

    // SAFETY: `kept` is used by the thread alone that set `taken`.
    unsafe impl Sync for Shared {}

    static SHARED: Shared = Shared {
        taken: AtomicBool::new(false),
        kept: UnsafeCell::new(FreeList { places: [(0, 0); PLACES], count: 0, bytes: 0 }),
    };

    impl Shared {
        /// Does something with the mappings that are kept, unless another thread is at them. It must not
        /// panic.
        fn with<T>(&self, what: impl FnOnce(&mut FreeList) -> T) -> Option<T> {
            if self.taken.swap(true, Ordering::Acquire) {
                return None;
            }
            // SAFETY: no other thread is here before `taken` is false again.
            let done = what(unsafe { &mut *self.kept.get() });
            self.taken.store(false, Ordering::Release);
            Some(done)
        }
    }

    pub fn serves(layout: Layout) -> bool {
        layout.size() >= LARGE && layout.align() <= PAGE
    }

    /// Says whether any mapping was made.
    static ANY: AtomicBool = AtomicBool::new(false);

    /// Returns whether a block of this many bytes is a mapping. The system's allocators begin no block with a
    /// large page, because their data about a block is before it.
    pub fn is_one(block: *const u8, bytes: usize) -> bool {
        bytes >= LARGE && ANY.load(Ordering::Relaxed) && block.addr().is_multiple_of(PAGE)
    }

    /// Returns the length of a mapping for this many bytes: one of four between two powers of two, so that
    /// mappings can be used again. Pages that are not written to take no memory, but for the rest of a large
    /// page.
    fn length(size: usize) -> Option<usize> {
        let step = (size.checked_next_power_of_two()? / 8).max(4096);
        size.checked_next_multiple_of(step)
    }

    /// Makes a mapping that begins with a large page; null if there is no memory.
    pub fn map(size: usize) -> *mut u8 {
        let Some(length) = length(size) else { return std::ptr::null_mut() };
        match SHARED.with(|kept| kept.take(length)).flatten() {
            Some(start) => std::ptr::with_exposed_provenance_mut(start),
            None => map_anew(length),
        }
    }

    /// Makes a mapping that is zero.
    pub fn map_zeroed(size: usize) -> *mut u8 {
        let Some(length) = length(size) else { return std::ptr::null_mut() };
        match SHARED.with(|kept| kept.take(length)).flatten() {
            Some(start) => {
                let block = std::ptr::with_exposed_provenance_mut::<u8>(start);
                // SAFETY: the mapping has this length, and nobody uses it.
                unsafe { block.write_bytes(0, size) };
                block
            }
            None => map_anew(length),
        }
    }

    /// A new mapping, zero, that begins with a large page; null if there is no memory.
    fn map_anew(length: usize) -> *mut u8 {
        let Some(reserved) = length.checked_add(PAGE) else { return std::ptr::null_mut() };
        ANY.store(true, Ordering::Relaxed);
        // SAFETY: a new private mapping where the system wants it takes nothing from anybody. Only the parts
        // before the first large page and behind the last page needed are unmapped, both of whole small
        // pages. Advice changes no contents.
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

    /// Gives a mapping of [`map`] back: to be used again if there is room and `keep` says so, else to the
    /// system. Old ones go to the system for it.
    ///
    /// # Safety
    /// It was made with this size, and nobody uses it any more.
    pub unsafe fn unmap(block: *mut u8, size: usize, keep: bool) {
        let length = length(size).expect("it was made with this size");
        let give_back = |start: usize, length: usize| {
            // SAFETY: mappings of `map_anew` have exactly this length; the caller guarantees this for this
            // one, and nobody uses the kept ones.
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

/// Nothing is mapped: all blocks are the system allocator's.
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
    /// There is nothing to unmap.
    pub unsafe fn unmap(_: *mut u8, _: usize, _: bool) {}
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
        // SAFETY: nothing is accessed.
        let block = unsafe {
            LargePages::new().alloc(Layout::from_size_align(isize::MAX as usize - 4096, 1).unwrap())
        };
        assert!(block.is_null());
    }
}
