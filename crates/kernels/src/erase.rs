//! Erasing secrets at the speed of memory.

/// Overwrites secrets with zeros, like [`zeroize::Zeroize`], but in whole registers. `Zeroize` writes element
/// by element, which for frequently wiped buffers takes longer than their use.
#[inline]
pub fn erase<T: Copy + Default>(secrets: &mut [T]) {
    secrets.fill(T::default());
    // Somebody may look: so the compiler leaves no write out.
    zeroize::optimization_barrier(secrets);
}
