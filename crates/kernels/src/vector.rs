//! The operations of a vector register that the inner loops need.

use crate::factors::Factors;
use crate::tile::Tile;

/// A register of [`Vector::BLOCKS`] blocks of 128 bits. The loops are generic over it, so they are written
/// once.
///
/// # Safety
/// Every method may be called only on a machine with the implementation's features. The loops are
/// [`VectorLoop`]s, which [`crate::Kernel::run`] starts only on such a machine. The documentation of methods
/// with pointers says what they access. Implementations are `#[inline(always)]`, so that they are compiled
/// with the features of the function that runs the task. (Closures given to `array::map` and similar
/// functions are not always inlined; then an intrinsic in a closure becomes a call.)
pub(crate) trait Vector: Copy {
    /// The number of blocks in a register.
    const BLOCKS: usize;
    /// A register of one block on the same machine.
    type One: Vector;
    /// Round keys in the form that the rounds need.
    type Keys: Copy;
    /// One bit for each block.
    type Mask: Copy;
    /// Bytes in the form that multiplication by a factor needs.
    type Bytes: Copy;

    /// Reads `BLOCKS` blocks from `from`, of any alignment.
    unsafe fn load(from: *const u128) -> Self;
    /// Writes `BLOCKS` blocks to `to`, of any alignment.
    unsafe fn store(self, to: *mut u128);
    unsafe fn gather(from: impl Fn(usize) -> *const u128) -> Self;
    /// Writes block `k` to `to(k)`, in the order of `k`.
    unsafe fn scatter(self, to: impl Fn(usize) -> *mut u128);
    /// Returns a register with the same block everywhere.
    unsafe fn splat(block: u128) -> Self;
    /// Reads one block from `from` and repeats it in the whole register.
    #[inline(always)]
    unsafe fn load_splat(from: *const u128) -> Self {
        // SAFETY: guaranteed by the caller.
        unsafe { Self::splat(from.read_unaligned()) }
    }
    unsafe fn xor(self, other: Self) -> Self;
    /// Returns the exclusive or of three registers.
    #[inline(always)]
    unsafe fn xor3(self, b: Self, c: Self) -> Self {
        // SAFETY: guaranteed by the caller.
        unsafe { self.xor(b).xor(c) }
    }
    /// Returns the bitwise and.
    unsafe fn and(self, other: Self) -> Self;
    /// Shifts both halves of every block, of 64 bits each, to the left by `N` bits, 1 or 2.
    unsafe fn left64<const N: u32>(self) -> Self;
    /// Shifts both halves of every block to the right by `N` bits, 1 or 2.
    unsafe fn right64<const N: u32>(self) -> Self;
    /// Moves byte `places[k]` of every block, a number below 16, to byte `k` of it.
    unsafe fn shuffle(self, places: Self) -> Self;
    /// Returns, for each half of every block, the half of `value` if the halves of this register and `test`
    /// have a common bit, and zero otherwise.
    unsafe fn if_any(self, test: Self, value: Self) -> Self;
    /// Adds `count` to the low 64 bits of every block, without carry into the high half.
    unsafe fn add_low(self, count: u64) -> Self;
    /// Applies the linear orthomorphism `σ(hi ‖ lo) = (hi ⊕ lo) ‖ hi` of every block (Guo, Katz, Wang, Yu
    /// 2020).
    unsafe fn sigma(self) -> Self;
    /// Returns bit 0 of every block.
    unsafe fn colours(self) -> Self::Mask;
    /// Returns bit 0 of the byte of every block that `places` selects everywhere. `ones` has bit 0 of every
    /// byte set. The compiler must not know this constant, because it would then use two instructions instead
    /// of one.
    #[inline(always)]
    unsafe fn colours_at(self, places: Self, _ones: Self) -> Self::Mask {
        // SAFETY: guaranteed by the caller.
        unsafe { self.shuffle(places).colours() }
    }
    /// Reads for block `k` one of the four blocks at `from(k)`. The number of this block is twice the bit of
    /// `first` plus the bit of `second`. `bit` selects the used bit of both, in the low half of a block. With
    /// `REDUCED` there are three blocks, and number 0 is zero.
    unsafe fn choose<const REDUCED: bool>(
        first: Self,
        second: Self,
        bit: Self,
        from: impl Fn(usize) -> *const u128,
    ) -> Self;
    /// Adds `other` in the blocks whose colour is set.
    unsafe fn xor_if(self, colours: Self::Mask, other: Self) -> Self;
    /// Exchanges the blocks of two registers whose colour is set.
    #[inline(always)]
    unsafe fn exchange_if(colours: Self::Mask, a: Self, b: Self) -> (Self, Self) {
        // SAFETY: guaranteed by the caller.
        unsafe {
            let both = a.xor(b);
            (a.xor_if(colours, both), b.xor_if(colours, both))
        }
    }
    /// Returns the unreduced carry-less product of corresponding blocks, low half and high half.
    unsafe fn multiply(self, other: Self) -> (Self, Self);
    /// Returns three carry-less products of corresponding blocks: low half by low half, high by high, and the
    /// product of the sums of both halves.
    unsafe fn multiply_halves(self, other: Self) -> [Self; 3];
    /// Writes block `k` of `first` and then of `second` to `to(k)`.
    unsafe fn store_pairs(first: Self, second: Self, to: impl Fn(usize) -> *mut u128);
    /// Reads the pairs that [`Vector::store_pairs`] wrote.
    unsafe fn load_pairs(from: impl Fn(usize) -> *const u128) -> (Self, Self);
    /// Writes block `k` of the first `N` (3 or 4) of four registers to `to(k)`.
    #[inline(always)]
    unsafe fn store_rows<const N: usize>(rows: [Self; 4], to: impl Fn(usize) -> *mut u128) {
        // SAFETY: guaranteed by the caller.
        unsafe {
            for (n, row) in rows.iter().take(N).enumerate() {
                row.scatter(|lane| to(lane).add(n));
            }
        }
    }

    /// Adds 32-bit words, modulo 2^32.
    unsafe fn add32(self, other: Self) -> Self;
    /// Rotates 32-bit words to the right by `N` bits: 7, 8, 12 or 16.
    unsafe fn rotate32<const N: u32>(self) -> Self;
    /// Applies half of BLAKE3's mixing function to the columns of a state of rows `a`, `b`, `c`, `d`, four of
    /// them side by side: `a += m + b; d = (d ⊕ a) ⋙ D; c += d; b = (b ⊕ c) ⋙ B`.
    #[inline(always)]
    unsafe fn mix32<const D: u32, const B: u32>([a, b, c, d]: &mut [[Self; 4]; 4], m: [&Self; 4]) {
        // SAFETY: guaranteed by the caller.
        unsafe {
            for k in 0..4 {
                a[k] = a[k].add32(*m[k]).add32(b[k]);
            }
            for k in 0..4 {
                d[k] = d[k].xor(a[k]).rotate32::<D>();
            }
            for k in 0..4 {
                c[k] = c[k].add32(d[k]);
            }
            for k in 0..4 {
                b[k] = b[k].xor(c[k]).rotate32::<B>();
            }
        }
    }

    /// Transposes, in each block, the 4 × 4 words of 32 bits of four registers.
    unsafe fn transpose32(rows: [Self; 4]) -> [Self; 4];

    /// Interleaves the bytes of two registers, block by block. Returns the results of the low halves and of
    /// the high halves.
    unsafe fn interleave8(self, other: Self) -> (Self, Self);
    /// Selects bytes of each block by places below 16. The place 128 gives 0.
    unsafe fn pick(self, places: Self) -> Self;
    /// Converts bytes for [`Vector::times`].
    unsafe fn bytes(self) -> Self::Bytes;
    /// Returns the product of every byte with factor number `k`, which must exist.
    unsafe fn times(bytes: &Self::Bytes, factors: &Factors, k: usize) -> Self;
    /// True if [`Vector::times_eight`] exists, which needs registers of four blocks.
    const EIGHTS: bool = false;
    /// Returns the products of eight bytes with the factors from number `k` on, factor after factor. As many
    /// factors as fit into a register must exist.
    #[inline(always)]
    unsafe fn times_eight(_bytes: u64, _factors: &Factors, _k: usize) -> Self {
        unreachable!("this register has no EIGHTS")
    }

    /// Loads round keys into all blocks.
    unsafe fn keys(round_keys: &[u128; 11]) -> Self::Keys;
    /// Loads round keys for each block: block `k` has `round_keys(k)`.
    unsafe fn keys_of_blocks<'a>(round_keys: impl Fn(usize) -> &'a [u128; 11]) -> Self::Keys;
    /// Returns the value to add to a block before [`Vector::rounds`].
    unsafe fn whitening(keys: &Self::Keys) -> Self;
    /// Encrypts every block of `M` registers by AES-128. The whitening must have been added.
    unsafe fn rounds<const M: usize>(keys: &Self::Keys, blocks: [Self; M]) -> [Self; M];
    /// Encrypts every block of `M` registers by AES-128.
    #[inline(always)]
    unsafe fn encrypt<const M: usize>(keys: &Self::Keys, mut blocks: [Self; M]) -> [Self; M] {
        // SAFETY: guaranteed by the caller.
        unsafe {
            for x in &mut blocks {
                *x = x.xor(Self::whitening(keys));
            }
            Self::rounds(keys, blocks)
        }
    }
    /// The number of registers of one stream that are computed at a time, in loops over several keys: 2 or 8.
    const STREAM: usize = 8;
    /// Encrypts the same `M` registers by AES-128 under each of four keys.
    #[inline(always)]
    unsafe fn under_four<const M: usize>(keys: &[[u128; 11]; 4], blocks: [Self; M]) -> [[Self; M]; 4] {
        let mut encrypted = [blocks; 4];
        for (blocks, round_keys) in encrypted.iter_mut().zip(keys) {
            // SAFETY: guaranteed by the caller.
            *blocks = unsafe { Self::encrypt(&Self::keys(round_keys), *blocks) };
        }
        encrypted
    }
    /// Returns the next round key of every block (FIPS 197, section 5.2).
    unsafe fn next_round_key(self, round_constant: u8) -> Self;

    /// Transposes 64 × 64 bits twice, side by side: bit `c` of the low (high) half of `m[r]` goes to bit `r`
    /// of the low (high) half of `m[c]`.
    #[inline(always)]
    unsafe fn transpose64(m: &mut [u128; 64]) {
        crate::swap::transpose64(m);
    }

    /// Transposes a tile in place. `room` is a buffer that is overwritten.
    #[inline(always)]
    unsafe fn transpose_tile(tile: &mut Tile, room: &mut Tile) {
        for (block, columns) in room.as_chunks_mut::<128>().0.iter_mut().enumerate() {
            let mut halves = [[0; 64]; 2];
            for (row, half) in halves.as_flattened_mut().iter_mut().enumerate() {
                *half = tile[4 * row + block];
            }
            // SAFETY: guaranteed by the caller.
            halves.iter_mut().for_each(|half| unsafe { Self::transpose64(half) });
            let (low, high) = columns.split_at_mut(64);
            for (k, (low, high)) in low.iter_mut().zip(high).enumerate() {
                let [first, second] = [halves[0][k], halves[1][k]];
                *low = first << 64 >> 64 | second << 64;
                *high = first >> 64 | second >> 64 << 64;
            }
        }
        tile.copy_from_slice(room);
    }
}

/// A loop over vectors, which [`crate::Kernel::run`] runs.
pub(crate) trait VectorLoop {
    /// The result of the task.
    type Output;
    /// Runs the loop. Implementations are `#[inline(always)]`.
    ///
    /// # Safety
    /// The machine has the features of `V`.
    unsafe fn run<V: Vector>(self) -> Self::Output;
}

/// Asks the machine to load the data at an address into the cache, if it can. The address need not be valid.
#[inline(always)]
pub fn prefetch(_at: *const u8) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    // SAFETY: SSE belongs to x86-64; a request for an invalid address does nothing.
    unsafe {
        core::arch::x86_64::_mm_prefetch::<{ core::arch::x86_64::_MM_HINT_T0 }>(_at.cast());
    }
}
