//! Fast erasure of secrets.

/// Overwrites secrets with zeros, like [`zeroize::Zeroize`], but in whole registers. `Zeroize` writes element
/// by element, which takes longer than the use of buffers that are erased often.
#[inline]
pub fn erase<T: Copy + Default>(secrets: &mut [T]) {
    secrets.fill(T::default());
    // The barrier keeps the compiler from removing the writes.
    zeroize::optimization_barrier(secrets);
}
