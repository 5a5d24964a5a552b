//! The behaviour of the system's allocator with buffers that are no mappings of their own.

/// Tells the system's allocator, where it is that of glibc, to keep up to 64 MiB of freed memory instead of
/// giving it back at once. It also makes it use mappings only from a mebibyte on, which are
/// [`LargePages`](crate::LargePages)'. A run takes and frees many smaller buffers, and making their pages
/// anew each time takes longer than much of the work on them. For a program's first line; what is embedded
/// leaves the allocator as its host has it.
pub fn keep_freed() {
    #[cfg(all(target_os = "linux", target_env = "gnu", not(miri)))]
    {
        use std::ffi::c_int;
        unsafe extern "C" {
            /// mallopt(3).
            fn mallopt(parameter: c_int, value: c_int) -> c_int;
        }
        const M_TRIM_THRESHOLD: c_int = -1;
        const M_MMAP_THRESHOLD: c_int = -3;
        for (parameter, value) in [(M_TRIM_THRESHOLD, 64 << 20), (M_MMAP_THRESHOLD, 1 << 20)] {
            // SAFETY: it is glibc's, which links this, with the signature of its manual; it may be called at
            // any time, from any thread, and refuses what it does not know.
            unsafe { mallopt(parameter, value) };
        }
    }
}
