//! Erasing secrets at the speed of memory.

/// Overwrites secrets with zeros, as [`zeroize::Zeroize`] does, but in whole registers: that writes element
/// by element, which for the buffers that are wiped again and again takes longer than what was done in them.
#[inline]
pub fn erase<T: Copy + Default>(secrets: &mut [T]) {
    secrets.fill(T::default());
    // Somebody may look: so the compiler leaves no write out.
    zeroize::optimization_barrier(secrets);
}
