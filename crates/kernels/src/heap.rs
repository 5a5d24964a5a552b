//! Settings of the system's allocator for small and medium-sized buffers.

/// Makes glibc's allocator keep up to 64 MiB of freed memory instead of returning it at once. The allocator
/// then uses mappings only for buffers of a mebibyte or more, which [`LargePages`](crate::LargePages) serves.
/// A run allocates and frees many smaller buffers, and new pages each time would cost more than much of the
/// work on them. A program should call this first. A program that embeds Brickwork keeps its own settings.
pub fn keep_freed() {
    #[cfg(all(target_os = "linux", target_env = "gnu", not(miri)))]
    {
        use std::ffi::c_int;
        unsafe extern "C" {
            /// The C function mallopt(3).
            fn mallopt(parameter: c_int, value: c_int) -> c_int;
        }
        const M_TRIM_THRESHOLD: c_int = -1;
        const M_MMAP_THRESHOLD: c_int = -3;
        for (parameter, value) in [(M_TRIM_THRESHOLD, 64 << 20), (M_MMAP_THRESHOLD, 1 << 20)] {
            // SAFETY: the function belongs to glibc, which is linked, and has the signature of its manual.
            // The function may be called at any time, from any thread, and refuses unknown parameters.
            unsafe { mallopt(parameter, value) };
        }
    }
}
