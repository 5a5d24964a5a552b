//! What the inner loops need from a vector register.

/// A register of [`Vector::BLOCKS`] blocks of 128 bits. The loops are written once, generic over it.
///
/// # Safety
/// Every method may be called only on a machine with the implementation's features; the loops are [`Task`]s, which
/// [`crate::Kernel::run`] starts only there. Methods that take pointers say what they access. Implementations are
/// `#[inline(always)]`, so that they are compiled with the features of the function that runs the task.
pub(crate) trait Vector: Copy {
    /// Blocks in a register.
    const BLOCKS: usize;
    /// The eleven round keys in the form the rounds take them.
    type Keys: Copy;

    /// Reads `BLOCKS` blocks from `from`, of any alignment of `u128`.
    unsafe fn load(from: *const u128) -> Self;
    /// Writes `BLOCKS` blocks to `to`.
    unsafe fn store(self, to: *mut u128);
    /// The same block everywhere.
    unsafe fn splat(block: u128) -> Self;
    /// Bitwise exclusive or.
    unsafe fn xor(self, other: Self) -> Self;
    /// Bitwise and.
    #[allow(dead_code)]
    unsafe fn and(self, other: Self) -> Self;
    /// Adds `count` to the low 64 bits of every block, without carry into the high ones.
    unsafe fn add_low(self, count: u64) -> Self;
    /// The linear orthomorphism `σ(hi ‖ lo) = (hi ⊕ lo) ‖ hi` of every block (Guo, Katz, Wang, Yu 2020).
    #[allow(dead_code)]
    unsafe fn sigma(self) -> Self;
    /// All ones in the blocks whose bit 0 is set, zero in the others.
    #[allow(dead_code)]
    unsafe fn colour_mask(self) -> Self;
    /// The carry-less product of blocks at the same place, unreduced: low and high half.
    unsafe fn multiply(self, other: Self) -> (Self, Self);
    /// Writes block `k` of `first` and `second` to `to[k * stride]` and `to[k * stride + 1]`.
    unsafe fn store_pairs(first: Self, second: Self, to: *mut u128, stride: usize);
    /// Reads what [`Vector::store_pairs`] writes.
    unsafe fn load_pairs(from: *const u128, stride: usize) -> (Self, Self);

    /// Spreads round keys.
    unsafe fn keys(round_keys: &[u128; 11]) -> Self::Keys;
    /// AES-128 of every block of `M` registers.
    unsafe fn encrypt<const M: usize>(keys: &Self::Keys, blocks: [Self; M]) -> [Self; M];
    /// The S-box on each of four bytes, for the key schedule.
    unsafe fn sub_word(word: u32) -> u32;

    /// Two transpositions of 64 × 64 bits side by side: bit `c` of the low (high) half of `m[r]` goes to bit `r` of the
    /// low (high) half of `m[c]`.
    #[inline(always)]
    unsafe fn transpose64(m: &mut [u128; 64]) {
        crate::portable::transpose64(m);
    }
}

/// A loop over vectors, to be run by [`crate::Kernel::run`].
pub(crate) trait Task {
    /// What it returns.
    type Output;
    /// The loop; implementations are `#[inline(always)]`.
    ///
    /// # Safety
    /// The machine has the features of `V`.
    unsafe fn run<V: Vector>(self) -> Self::Output;
}
