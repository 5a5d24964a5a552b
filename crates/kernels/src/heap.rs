//! The behaviour of the system's allocator with buffers that are no mappings of their own.

/// Makes the system's allocator, if it is that of glibc, keep up to 64 MiB of freed memory instead of
/// returning it at once. It also makes it use mappings only from a mebibyte on, which are
/// [`LargePages`](crate::LargePages)'. A run takes and frees many smaller buffers, and making their pages
/// anew each time takes longer than much of the work on them. It is for the first line of a program; an
/// embedding program keeps its own settings.
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
            // SAFETY: the function belongs to glibc, which is linked, with the signature of its manual. It
            // may be called at any time, from any thread, and refuses unknown parameters.
            unsafe { mallopt(parameter, value) };
        }
    }
}
