//! Fast erasure of secrets.

/// Overwrites secrets with zeros, like [`zeroize::Zeroize`], but in whole registers. `Zeroize` writes element
/// by element. For buffers that are erased often, this would take longer than the computation itself.
#[inline]
pub fn erase<T: Copy + Default>(secrets: &mut [T]) {
    secrets.fill(T::default());
    // The barrier keeps the compiler from removing the writes.
    zeroize::optimization_barrier(secrets);
}
