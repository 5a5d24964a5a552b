//! The kernels of x86-64: AES-NI with 128-bit registers, VAES with 256-bit and with 512-bit ones.
//!
//! Every `unsafe` block in the [`Vector`] implementations relies on two guarantees of the caller, which the
//! trait requires. The machine has the features of the register's type, and each pointer leads to as many
//! blocks as the method accesses. All loads and stores are unaligned.

mod mix;
mod register;
mod rounds;

use rounds::{on_eight, on_four, rounds8, two_under_four, under_four};

use core::arch::x86_64::*;

use crate::factors::Factors;
use crate::tile::Tile;
use crate::vector::{Vector, VectorLoop};
use register::X4;

pub(crate) fn has_aes_ni() -> bool {
    is_x86_feature_detected!("aes")
        && is_x86_feature_detected!("pclmulqdq")
        && is_x86_feature_detected!("ssse3")
}

pub(crate) fn has_vaes256() -> bool {
    has_aes_ni()
        && is_x86_feature_detected!("avx2")
        && is_x86_feature_detected!("vaes")
        && is_x86_feature_detected!("vpclmulqdq")
}

pub(crate) fn has_vaes512() -> bool {
    has_vaes256()
        && is_x86_feature_detected!("avx512f")
        && is_x86_feature_detected!("avx512bw")
        && is_x86_feature_detected!("avx512dq")
        && is_x86_feature_detected!("avx512vl")
        && is_x86_feature_detected!("avx512vbmi")
        && is_x86_feature_detected!("gfni")
}

/// Runs a task with 128-bit registers.
#[target_feature(enable = "aes,pclmulqdq,ssse3")]
pub(crate) unsafe fn aes_ni<T: VectorLoop>(task: T) -> T::Output {
    // SAFETY: this function's features are those of `X1`.
    unsafe { task.run::<X1>() }
}

/// Runs a task with 256-bit registers.
#[target_feature(enable = "aes,pclmulqdq,avx2,vaes,vpclmulqdq")]
pub(crate) unsafe fn vaes256<T: VectorLoop>(task: T) -> T::Output {
    // SAFETY: this function's features are those of `X2`.
    unsafe { task.run::<X2>() }
}

/// Runs a task with 512-bit registers.
#[target_feature(
    enable = "aes,pclmulqdq,avx2,vaes,vpclmulqdq,avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,gfni"
)]
pub(crate) unsafe fn vaes512<T: VectorLoop>(task: T) -> T::Output {
    // SAFETY: this function's features are those of `X4`.
    unsafe { task.run::<X4>() }
}

/// One block in an SSE register.
#[derive(Clone, Copy)]
pub(crate) struct X1(__m128i);

/// Two blocks in an AVX2 register.
#[derive(Clone, Copy)]
pub(crate) struct X2(__m256i);

#[inline(always)]
unsafe fn block(x: u128) -> __m128i {
    // SAFETY: SSE2 belongs to x86-64.
    unsafe { _mm_set_epi64x((x >> 64) as i64, x as i64) }
}

/// Computes the next round key with the last round of AES. All columns are the rotated last word, so
/// ShiftRows changes nothing.
macro_rules! next_round_key {
    ($key:expr, $constant:expr, $xor:ident, $shuffle:ident, $left:ident, $last:ident) => {{
        let rotated = $shuffle($key, Self::splat(LAST_WORD_ROTATED).0);
        let word = $last(rotated, Self::splat(u128::from($constant) * ONE_IN_EACH_WORD).0);
        let twice = $xor($key, $left::<4>($key));
        $xor($xor(twice, $left::<8>(twice)), word)
    }};
}

const LAST_WORD_ROTATED: u128 = 0x0c0f_0e0d * ONE_IN_EACH_WORD;
const ONE_IN_EACH_WORD: u128 = u128::MAX / u32::MAX as u128;

/// Computes the product of 128-bit polynomials from four partial products, which `$mul` computes by halves.
macro_rules! schoolbook {
    ($a:expr, $b:expr, $mul:ident, $xor:ident, $left:ident, $right:ident) => {{
        let middle = $xor($mul::<0x10>($a, $b), $mul::<0x01>($a, $b));
        ($xor($mul::<0x00>($a, $b), $left::<8>(middle)), $xor($mul::<0x11>($a, $b), $right::<8>(middle)))
    }};
}

/// Byte permutations for rotations of words by whole bytes.
const BYTES_TURNED_BY_1: u128 = 0x0c0f_0e0d_080b_0a09_0407_0605_0003_0201;
const BYTES_TURNED_BY_2: u128 = 0x0d0c_0f0e_0908_0b0a_0504_0706_0100_0302;

/// A mask of the lower half of each byte.
const LOW_NIBBLES: u128 = 0x0f * (u128::MAX / 0xff);

/// Transposes 4 × 4 words in each block.
macro_rules! transpose32 {
    ($rows:expr, $low32:ident, $high32:ident, $low64:ident, $high64:ident) => {{
        let [a, b, c, d] = [$rows[0].0, $rows[1].0, $rows[2].0, $rows[3].0];
        let [ab_low, ab_high, cd_low, cd_high] = [$low32(a, b), $high32(a, b), $low32(c, d), $high32(c, d)];
        [
            Self($low64(ab_low, cd_low)),
            Self($high64(ab_low, cd_low)),
            Self($low64(ab_high, cd_high)),
            Self($high64(ab_high, cd_high)),
        ]
    }};
}

/// Runs ten rounds on all registers side by side.
macro_rules! rounds {
    ($keys:expr, $blocks:expr, $round:ident, $last:ident) => {{
        for key in &$keys[1..10] {
            for x in $blocks.iter_mut() {
                x.0 = $round(x.0, key.0);
            }
        }
        for x in $blocks.iter_mut() {
            x.0 = $last(x.0, $keys[10].0);
        }
    }};
}

// SAFETY (all methods): see the head of the file.
impl Vector for X1 {
    const BLOCKS: usize = 1;
    type One = X1;
    type Keys = [Self; 11];
    type Mask = __m128i;
    type Bytes = [Self; 2];

    #[inline(always)]
    unsafe fn load(from: *const u128) -> Self {
        // SAFETY: the caller guarantees one block at `from`.
        unsafe { X1(_mm_loadu_si128(from.cast())) }
    }

    #[inline(always)]
    unsafe fn store(self, to: *mut u128) {
        // SAFETY: the caller guarantees one block at `to`.
        unsafe { _mm_storeu_si128(to.cast(), self.0) }
    }

    #[inline(always)]
    unsafe fn gather(from: impl Fn(usize) -> *const u128) -> Self {
        // SAFETY: SSE2; the caller guarantees a block at `from(0)`.
        unsafe { Self::load(from(0)) }
    }

    #[inline(always)]
    unsafe fn scatter(self, to: impl Fn(usize) -> *mut u128) {
        // SAFETY: SSE2; the caller guarantees a block at `to(0)`.
        unsafe { self.store(to(0)) }
    }

    #[inline(always)]
    unsafe fn splat(x: u128) -> Self {
        // SAFETY: SSE2 belongs to x86-64.
        unsafe { X1(block(x)) }
    }

    #[inline(always)]
    unsafe fn xor(self, other: Self) -> Self {
        // SAFETY: SSE2.
        unsafe { X1(_mm_xor_si128(self.0, other.0)) }
    }

    #[inline(always)]
    unsafe fn and(self, other: Self) -> Self {
        // SAFETY: SSE2.
        unsafe { X1(_mm_and_si128(self.0, other.0)) }
    }

    #[inline(always)]
    unsafe fn left64<const N: u32>(self) -> Self {
        // SAFETY: SSE2.
        unsafe {
            X1(match N {
                1 => _mm_slli_epi64::<1>(self.0),
                _ => _mm_slli_epi64::<2>(self.0),
            })
        }
    }

    #[inline(always)]
    unsafe fn right64<const N: u32>(self) -> Self {
        // SAFETY: SSE2.
        unsafe {
            X1(match N {
                1 => _mm_srli_epi64::<1>(self.0),
                _ => _mm_srli_epi64::<2>(self.0),
            })
        }
    }

    #[inline(always)]
    unsafe fn shuffle(self, places: Self) -> Self {
        // SAFETY: SSSE3.
        unsafe { X1(_mm_shuffle_epi8(self.0, places.0)) }
    }

    #[inline(always)]
    unsafe fn if_any(self, test: Self, value: Self) -> Self {
        // SAFETY: SSE2.
        unsafe {
            // Compares words of 32 bits, because SSSE3 has no comparison of 64 bits.
            let none = _mm_cmpeq_epi32(_mm_and_si128(self.0, test.0), _mm_setzero_si128());
            let neither = _mm_and_si128(none, _mm_shuffle_epi32::<0xb1>(none));
            X1(_mm_andnot_si128(neither, value.0))
        }
    }

    #[inline(always)]
    unsafe fn choose<const REDUCED: bool>(
        first: Self,
        second: Self,
        bit: Self,
        from: impl Fn(usize) -> *const u128,
    ) -> Self {
        // SAFETY: SSE2; the caller guarantees the blocks at `from(0)`.
        unsafe {
            let first = _mm_cvtsi128_si64(_mm_and_si128(first.0, bit.0)) != 0;
            let second = _mm_cvtsi128_si64(_mm_and_si128(second.0, bit.0)) != 0;
            let number = usize::from(first) << 1 | usize::from(second);
            match REDUCED {
                // If there is no block for number 0, another block is read and masked out.
                true => {
                    let read = Self::load(from(0).add(number.saturating_sub(1)));
                    X1(_mm_and_si128(read.0, _mm_set1_epi64x(-i64::from(number > 0))))
                }
                false => Self::load(from(0).add(number)),
            }
        }
    }

    #[inline(always)]
    unsafe fn add_low(self, count: u64) -> Self {
        // SAFETY: SSE2.
        unsafe { X1(_mm_add_epi64(self.0, _mm_set_epi64x(0, count as i64))) }
    }

    #[inline(always)]
    unsafe fn sigma(self) -> Self {
        // SAFETY: SSE2.
        unsafe {
            let swapped = _mm_shuffle_epi32::<0x4e>(self.0);
            X1(_mm_xor_si128(swapped, _mm_and_si128(self.0, _mm_set_epi64x(-1, 0))))
        }
    }

    #[inline(always)]
    unsafe fn colours(self) -> Self::Mask {
        // SAFETY: SSE2.
        unsafe { _mm_shuffle_epi32::<0>(_mm_srai_epi32::<31>(_mm_slli_epi32::<31>(self.0))) }
    }

    #[inline(always)]
    unsafe fn xor_if(self, colours: Self::Mask, other: Self) -> Self {
        // SAFETY: SSE2.
        unsafe { X1(_mm_xor_si128(self.0, _mm_and_si128(colours, other.0))) }
    }

    #[inline(always)]
    unsafe fn multiply(self, other: Self) -> (Self, Self) {
        // SAFETY: SSE2 and PCLMULQDQ.
        let (low, high) = unsafe {
            schoolbook!(
                self.0,
                other.0,
                _mm_clmulepi64_si128,
                _mm_xor_si128,
                _mm_bslli_si128,
                _mm_bsrli_si128
            )
        };
        (X1(low), X1(high))
    }

    #[inline(always)]
    unsafe fn multiply_halves(self, other: Self) -> [Self; 3] {
        // SAFETY: SSE2 and PCLMULQDQ.
        unsafe {
            let (a, b) = (self.0, other.0);
            let (c, d) = (
                _mm_xor_si128(a, _mm_shuffle_epi32::<0x4e>(a)),
                _mm_xor_si128(b, _mm_shuffle_epi32::<0x4e>(b)),
            );
            [
                Self(_mm_clmulepi64_si128::<0x00>(a, b)),
                Self(_mm_clmulepi64_si128::<0x11>(a, b)),
                Self(_mm_clmulepi64_si128::<0x00>(c, d)),
            ]
        }
    }

    #[inline(always)]
    unsafe fn store_pairs(first: Self, second: Self, to: impl Fn(usize) -> *mut u128) {
        // SAFETY: the caller guarantees two blocks at `to(0)`.
        unsafe {
            first.store(to(0));
            second.store(to(0).add(1));
        }
    }

    #[inline(always)]
    unsafe fn load_pairs(from: impl Fn(usize) -> *const u128) -> (Self, Self) {
        // SAFETY: the caller guarantees two blocks at `from(0)`.
        unsafe { (Self::load(from(0)), Self::load(from(0).add(1))) }
    }

    #[inline(always)]
    unsafe fn add32(self, other: Self) -> Self {
        // SAFETY: SSE2.
        unsafe { X1(_mm_add_epi32(self.0, other.0)) }
    }

    #[inline(always)]
    unsafe fn rotate32<const N: u32>(self) -> Self {
        // SAFETY: SSE2 and SSSE3.
        unsafe {
            X1(match N {
                16 => _mm_shuffle_epi8(self.0, block(BYTES_TURNED_BY_2)),
                8 => _mm_shuffle_epi8(self.0, block(BYTES_TURNED_BY_1)),
                12 => _mm_or_si128(_mm_srli_epi32::<12>(self.0), _mm_slli_epi32::<20>(self.0)),
                _ => _mm_or_si128(_mm_srli_epi32::<7>(self.0), _mm_slli_epi32::<25>(self.0)),
            })
        }
    }

    #[inline(always)]
    unsafe fn transpose32(rows: [Self; 4]) -> [Self; 4] {
        // SAFETY: SSE2.
        unsafe {
            transpose32!(rows, _mm_unpacklo_epi32, _mm_unpackhi_epi32, _mm_unpacklo_epi64, _mm_unpackhi_epi64)
        }
    }

    #[inline(always)]
    unsafe fn interleave8(self, other: Self) -> (Self, Self) {
        // SAFETY: SSE2.
        unsafe { (X1(_mm_unpacklo_epi8(self.0, other.0)), X1(_mm_unpackhi_epi8(self.0, other.0))) }
    }

    #[inline(always)]
    unsafe fn pick(self, places: Self) -> Self {
        // SAFETY: SSSE3.
        unsafe { X1(_mm_shuffle_epi8(self.0, places.0)) }
    }

    #[inline(always)]
    unsafe fn bytes(self) -> Self::Bytes {
        // SAFETY: SSE2.
        unsafe {
            let low = Self::splat(LOW_NIBBLES).0;
            [Self(_mm_and_si128(self.0, low)), Self(_mm_and_si128(_mm_srli_epi64::<4>(self.0), low))]
        }
    }

    #[inline(always)]
    unsafe fn times([low, high]: &Self::Bytes, factors: &Factors, k: usize) -> Self {
        // SAFETY: SSE2 and SSSE3; the caller guarantees factor `k`.
        unsafe {
            let [lows, highs] = *factors.nibbles.get_unchecked(k);
            Self(_mm_xor_si128(
                _mm_shuffle_epi8(Self::splat(lows).0, low.0),
                _mm_shuffle_epi8(Self::splat(highs).0, high.0),
            ))
        }
    }

    #[inline(always)]
    unsafe fn keys(round_keys: &[u128; 11]) -> Self::Keys {
        // SAFETY: SSE2.
        unsafe {
            let mut keys = [Self::splat(0); 11];
            for (to, key) in keys.iter_mut().zip(round_keys) {
                *to = Self::splat(*key);
            }
            keys
        }
    }

    #[inline(always)]
    unsafe fn keys_of_blocks<'a>(round_keys: impl Fn(usize) -> &'a [u128; 11]) -> Self::Keys {
        // SAFETY: SSE2.
        unsafe {
            let mut keys = [Self::splat(0); 11];
            for (r, to) in keys.iter_mut().enumerate() {
                *to = Self::gather(|block| &raw const round_keys(block)[r]);
            }
            keys
        }
    }

    #[inline(always)]
    unsafe fn whitening(keys: &Self::Keys) -> Self {
        keys[0]
    }

    #[inline(always)]
    unsafe fn rounds<const M: usize>(keys: &Self::Keys, mut blocks: [Self; M]) -> [Self; M] {
        // SAFETY: SSE2 and AES-NI.
        unsafe {
            let (eights, rest) = blocks.as_chunks_mut::<8>();
            for eight in eights {
                eight_x1(keys, eight);
            }
            rounds!(keys, rest, _mm_aesenc_si128, _mm_aesenclast_si128);
        }
        blocks
    }

    const STREAM: usize = 2;

    #[inline(always)]
    unsafe fn under_four<const M: usize>(keys: &[[u128; 11]; 4], blocks: [Self; M]) -> [[Self; M]; 4] {
        let mut encrypted = [blocks; 4];
        for m in (0..M).step_by(2) {
            // SAFETY: AES-NI.
            let two = unsafe { four_x1(keys, [blocks[m], blocks[(m + 1).min(M - 1)]]) };
            for (encrypted, two) in encrypted.iter_mut().zip(two) {
                encrypted[m] = two[0];
                if m + 1 < M {
                    encrypted[m + 1] = two[1];
                }
            }
        }
        encrypted
    }

    #[inline(always)]
    unsafe fn next_round_key(self, round_constant: u8) -> Self {
        // SAFETY: SSSE3 and AES-NI.
        unsafe {
            X1(next_round_key!(
                self.0,
                round_constant,
                _mm_xor_si128,
                _mm_shuffle_epi8,
                _mm_bslli_si128,
                _mm_aesenclast_si128
            ))
        }
    }
}

// SAFETY (all methods): see the head of the file.
impl Vector for X2 {
    const BLOCKS: usize = 2;
    type One = X1;
    type Keys = [Self; 11];
    type Mask = __m256i;
    type Bytes = [Self; 2];

    #[inline(always)]
    unsafe fn load(from: *const u128) -> Self {
        // SAFETY: the caller guarantees two blocks at `from`.
        unsafe { X2(_mm256_loadu_si256(from.cast())) }
    }

    #[inline(always)]
    unsafe fn store(self, to: *mut u128) {
        // SAFETY: the caller guarantees two blocks at `to`.
        unsafe { _mm256_storeu_si256(to.cast(), self.0) }
    }

    #[inline(always)]
    unsafe fn gather(from: impl Fn(usize) -> *const u128) -> Self {
        // SAFETY: AVX2; the caller guarantees a block at `from(k)` for each k < 2.
        unsafe {
            let at = |k: usize| _mm_loadu_si128(from(k).cast());
            X2(_mm256_inserti128_si256::<1>(_mm256_castsi128_si256(at(0)), at(1)))
        }
    }

    #[inline(always)]
    unsafe fn scatter(self, to: impl Fn(usize) -> *mut u128) {
        // SAFETY: AVX2; the caller guarantees a block at `to(k)` for each k < 2.
        unsafe {
            _mm_storeu_si128(to(0).cast(), _mm256_castsi256_si128(self.0));
            _mm_storeu_si128(to(1).cast(), _mm256_extracti128_si256::<1>(self.0));
        }
    }

    #[inline(always)]
    unsafe fn splat(x: u128) -> Self {
        // SAFETY: AVX2.
        unsafe { X2(_mm256_broadcastsi128_si256(block(x))) }
    }

    #[inline(always)]
    unsafe fn load_splat(from: *const u128) -> Self {
        // SAFETY: AVX2; the caller guarantees a block at `from`.
        unsafe { X2(_mm256_broadcastsi128_si256(_mm_loadu_si128(from.cast()))) }
    }

    #[inline(always)]
    unsafe fn xor(self, other: Self) -> Self {
        // SAFETY: AVX2.
        unsafe { X2(_mm256_xor_si256(self.0, other.0)) }
    }

    #[inline(always)]
    unsafe fn and(self, other: Self) -> Self {
        // SAFETY: AVX2.
        unsafe { X2(_mm256_and_si256(self.0, other.0)) }
    }

    #[inline(always)]
    unsafe fn left64<const N: u32>(self) -> Self {
        // SAFETY: AVX2.
        unsafe {
            X2(match N {
                1 => _mm256_slli_epi64::<1>(self.0),
                _ => _mm256_slli_epi64::<2>(self.0),
            })
        }
    }

    #[inline(always)]
    unsafe fn right64<const N: u32>(self) -> Self {
        // SAFETY: AVX2.
        unsafe {
            X2(match N {
                1 => _mm256_srli_epi64::<1>(self.0),
                _ => _mm256_srli_epi64::<2>(self.0),
            })
        }
    }

    #[inline(always)]
    unsafe fn shuffle(self, places: Self) -> Self {
        // SAFETY: AVX2.
        unsafe { X2(_mm256_shuffle_epi8(self.0, places.0)) }
    }

    #[inline(always)]
    unsafe fn if_any(self, test: Self, value: Self) -> Self {
        // SAFETY: AVX2.
        unsafe {
            let none = _mm256_cmpeq_epi64(_mm256_and_si256(self.0, test.0), _mm256_setzero_si256());
            X2(_mm256_andnot_si256(none, value.0))
        }
    }

    #[inline(always)]
    unsafe fn choose<const REDUCED: bool>(
        first: Self,
        second: Self,
        bit: Self,
        from: impl Fn(usize) -> *const u128,
    ) -> Self {
        // SAFETY: AVX2; the caller guarantees the blocks at `from(0)` and `from(1)`.
        unsafe {
            // The comparison gives two bits for each block, of which the first one is used.
            let first = _mm256_cmpeq_epi64(_mm256_and_si256(first.0, bit.0), bit.0);
            let second = _mm256_cmpeq_epi64(_mm256_and_si256(second.0, bit.0), bit.0);
            let (bits_a, bits_b) = (
                _mm256_movemask_pd(_mm256_castsi256_pd(first)) as usize & 0b0101,
                _mm256_movemask_pd(_mm256_castsi256_pd(second)) as usize & 0b0101,
            );
            let numbers = bits_a << 1 | bits_b;
            let number = |lane: usize| numbers >> (2 * lane) & 3;
            match REDUCED {
                // If there is no block for number 0, another block is read and masked out.
                true => {
                    let read = Self::gather(|lane| from(lane).add(number(lane).saturating_sub(1)));
                    let any = _mm256_or_si256(first, second);
                    X2(_mm256_and_si256(read.0, _mm256_permute4x64_epi64::<0b10_10_00_00>(any)))
                }
                false => Self::gather(|lane| from(lane).add(number(lane))),
            }
        }
    }

    #[inline(always)]
    unsafe fn add_low(self, count: u64) -> Self {
        // SAFETY: AVX2.
        unsafe { X2(_mm256_add_epi64(self.0, _mm256_set_epi64x(0, count as i64, 0, count as i64))) }
    }

    #[inline(always)]
    unsafe fn sigma(self) -> Self {
        // SAFETY: AVX2.
        unsafe {
            let swapped = _mm256_shuffle_epi32::<0x4e>(self.0);
            X2(_mm256_xor_si256(swapped, _mm256_and_si256(self.0, _mm256_set_epi64x(-1, 0, -1, 0))))
        }
    }

    #[inline(always)]
    unsafe fn colours(self) -> Self::Mask {
        // SAFETY: AVX2.
        unsafe { _mm256_shuffle_epi32::<0>(_mm256_srai_epi32::<31>(_mm256_slli_epi32::<31>(self.0))) }
    }

    #[inline(always)]
    unsafe fn xor_if(self, colours: Self::Mask, other: Self) -> Self {
        // SAFETY: AVX2.
        unsafe { X2(_mm256_xor_si256(self.0, _mm256_and_si256(colours, other.0))) }
    }

    #[inline(always)]
    unsafe fn multiply(self, other: Self) -> (Self, Self) {
        // SAFETY: AVX2 and VPCLMULQDQ.
        let (low, high) = unsafe {
            schoolbook!(
                self.0,
                other.0,
                _mm256_clmulepi64_epi128,
                _mm256_xor_si256,
                _mm256_bslli_epi128,
                _mm256_bsrli_epi128
            )
        };
        (X2(low), X2(high))
    }

    #[inline(always)]
    unsafe fn multiply_halves(self, other: Self) -> [Self; 3] {
        // SAFETY: AVX2 and VPCLMULQDQ.
        unsafe {
            let (a, b) = (self.0, other.0);
            let (c, d) = (
                _mm256_xor_si256(a, _mm256_shuffle_epi32::<0x4e>(a)),
                _mm256_xor_si256(b, _mm256_shuffle_epi32::<0x4e>(b)),
            );
            [
                Self(_mm256_clmulepi64_epi128::<0x00>(a, b)),
                Self(_mm256_clmulepi64_epi128::<0x11>(a, b)),
                Self(_mm256_clmulepi64_epi128::<0x00>(c, d)),
            ]
        }
    }

    #[inline(always)]
    unsafe fn store_pairs(first: Self, second: Self, to: impl Fn(usize) -> *mut u128) {
        // SAFETY: AVX2; the caller guarantees two blocks at `to(0)` and at `to(1)`.
        unsafe {
            X2(_mm256_permute2x128_si256::<0x20>(first.0, second.0)).store(to(0));
            X2(_mm256_permute2x128_si256::<0x31>(first.0, second.0)).store(to(1));
        }
    }

    #[inline(always)]
    unsafe fn load_pairs(from: impl Fn(usize) -> *const u128) -> (Self, Self) {
        // SAFETY: AVX2; the caller guarantees two blocks at `from(0)` and at `from(1)`.
        unsafe {
            let (a, b) = (Self::load(from(0)).0, Self::load(from(1)).0);
            (X2(_mm256_permute2x128_si256::<0x20>(a, b)), X2(_mm256_permute2x128_si256::<0x31>(a, b)))
        }
    }

    #[inline(always)]
    unsafe fn store_rows<const N: usize>([a, b, c, d]: [Self; 4], to: impl Fn(usize) -> *mut u128) {
        // SAFETY: AVX2; the caller guarantees `N` blocks at `to(0)` and at `to(1)`.
        unsafe {
            Self::store_pairs(a, b, &to);
            if N == 4 {
                Self::store_pairs(c, d, |lane| to(lane).add(2));
            } else {
                c.scatter(|lane| to(lane).add(2));
            }
        }
    }

    #[inline(always)]
    unsafe fn add32(self, other: Self) -> Self {
        // SAFETY: AVX2.
        unsafe { X2(_mm256_add_epi32(self.0, other.0)) }
    }

    #[inline(always)]
    unsafe fn rotate32<const N: u32>(self) -> Self {
        // SAFETY: AVX2.
        unsafe {
            X2(match N {
                16 => _mm256_shuffle_epi8(self.0, Self::splat(BYTES_TURNED_BY_2).0),
                8 => _mm256_shuffle_epi8(self.0, Self::splat(BYTES_TURNED_BY_1).0),
                12 => _mm256_or_si256(_mm256_srli_epi32::<12>(self.0), _mm256_slli_epi32::<20>(self.0)),
                _ => _mm256_or_si256(_mm256_srli_epi32::<7>(self.0), _mm256_slli_epi32::<25>(self.0)),
            })
        }
    }

    #[inline(always)]
    unsafe fn transpose32(rows: [Self; 4]) -> [Self; 4] {
        // SAFETY: AVX2.
        unsafe {
            transpose32!(
                rows,
                _mm256_unpacklo_epi32,
                _mm256_unpackhi_epi32,
                _mm256_unpacklo_epi64,
                _mm256_unpackhi_epi64
            )
        }
    }

    #[inline(always)]
    unsafe fn interleave8(self, other: Self) -> (Self, Self) {
        // SAFETY: AVX2.
        unsafe { (X2(_mm256_unpacklo_epi8(self.0, other.0)), X2(_mm256_unpackhi_epi8(self.0, other.0))) }
    }

    #[inline(always)]
    unsafe fn pick(self, places: Self) -> Self {
        // SAFETY: AVX2.
        unsafe { X2(_mm256_shuffle_epi8(self.0, places.0)) }
    }

    #[inline(always)]
    unsafe fn bytes(self) -> Self::Bytes {
        // SAFETY: AVX2.
        unsafe {
            let low = Self::splat(LOW_NIBBLES).0;
            [Self(_mm256_and_si256(self.0, low)), Self(_mm256_and_si256(_mm256_srli_epi64::<4>(self.0), low))]
        }
    }

    #[inline(always)]
    unsafe fn times([low, high]: &Self::Bytes, factors: &Factors, k: usize) -> Self {
        // SAFETY: AVX2; the caller guarantees factor `k`.
        unsafe {
            let [lows, highs] = *factors.nibbles.get_unchecked(k);
            Self(_mm256_xor_si256(
                _mm256_shuffle_epi8(Self::splat(lows).0, low.0),
                _mm256_shuffle_epi8(Self::splat(highs).0, high.0),
            ))
        }
    }

    #[inline(always)]
    unsafe fn keys(round_keys: &[u128; 11]) -> Self::Keys {
        // SAFETY: AVX2.
        unsafe {
            let mut keys = [Self::splat(0); 11];
            for (to, key) in keys.iter_mut().zip(round_keys) {
                *to = Self::splat(*key);
            }
            keys
        }
    }

    #[inline(always)]
    unsafe fn keys_of_blocks<'a>(round_keys: impl Fn(usize) -> &'a [u128; 11]) -> Self::Keys {
        // SAFETY: AVX2.
        unsafe {
            let mut keys = [Self::splat(0); 11];
            for (r, to) in keys.iter_mut().enumerate() {
                *to = Self::gather(|block| &raw const round_keys(block)[r]);
            }
            keys
        }
    }

    #[inline(always)]
    unsafe fn whitening(keys: &Self::Keys) -> Self {
        keys[0]
    }

    #[inline(always)]
    unsafe fn rounds<const M: usize>(keys: &Self::Keys, mut blocks: [Self; M]) -> [Self; M] {
        // SAFETY: AVX2 and VAES.
        unsafe {
            let (eights, rest) = blocks.as_chunks_mut::<8>();
            for eight in eights {
                eight_x2(keys, eight);
            }
            rounds!(keys, rest, _mm256_aesenc_epi128, _mm256_aesenclast_epi128);
        }
        blocks
    }

    const STREAM: usize = 2;

    #[inline(always)]
    unsafe fn under_four<const M: usize>(keys: &[[u128; 11]; 4], blocks: [Self; M]) -> [[Self; M]; 4] {
        let mut encrypted = [blocks; 4];
        for m in (0..M).step_by(2) {
            // SAFETY: AVX2 and VAES.
            let two = unsafe { four_x2(keys, [blocks[m], blocks[(m + 1).min(M - 1)]]) };
            for (encrypted, two) in encrypted.iter_mut().zip(two) {
                encrypted[m] = two[0];
                if m + 1 < M {
                    encrypted[m + 1] = two[1];
                }
            }
        }
        encrypted
    }

    #[inline(always)]
    unsafe fn next_round_key(self, round_constant: u8) -> Self {
        // SAFETY: AVX2 and VAES.
        unsafe {
            X2(next_round_key!(
                self.0,
                round_constant,
                _mm256_xor_si256,
                _mm256_shuffle_epi8,
                _mm256_bslli_epi128,
                _mm256_aesenclast_epi128
            ))
        }
    }
}

// SAFETY (all methods): see the head of the file.
impl Vector for X4 {
    const BLOCKS: usize = 4;
    type One = X1;
    type Keys = [Self; 11];
    type Mask = __mmask16;
    type Bytes = Self;

    #[inline(always)]
    unsafe fn load(from: *const u128) -> Self {
        // SAFETY: the caller guarantees four blocks at `from`.
        unsafe { X4(_mm512_loadu_si512(from.cast())) }
    }

    #[inline(always)]
    unsafe fn store(self, to: *mut u128) {
        // SAFETY: the caller guarantees four blocks at `to`.
        unsafe { _mm512_storeu_si512(to.cast(), self.0) }
    }

    #[inline(always)]
    unsafe fn gather(from: impl Fn(usize) -> *const u128) -> Self {
        // SAFETY: AVX-512; the caller guarantees a block at `from(k)` for each k < 4.
        unsafe {
            let low = X2::gather(&from).0;
            X4(_mm512_inserti64x4::<1>(_mm512_castsi256_si512(low), X2::gather(|k| from(2 + k)).0))
        }
    }

    #[inline(always)]
    unsafe fn scatter(self, to: impl Fn(usize) -> *mut u128) {
        // SAFETY: AVX-512; the caller guarantees a block at `to(k)` for each k < 4.
        unsafe {
            X2(_mm512_castsi512_si256(self.0)).scatter(&to);
            X2(_mm512_extracti64x4_epi64::<1>(self.0)).scatter(|k| to(2 + k));
        }
    }

    #[inline(always)]
    unsafe fn splat(x: u128) -> Self {
        // SAFETY: AVX-512.
        unsafe { X4(_mm512_broadcast_i32x4(block(x))) }
    }

    #[inline(always)]
    unsafe fn load_splat(from: *const u128) -> Self {
        // SAFETY: AVX-512; the caller guarantees a block at `from`.
        unsafe { X4(_mm512_broadcast_i32x4(_mm_loadu_si128(from.cast()))) }
    }

    #[inline(always)]
    unsafe fn xor(self, other: Self) -> Self {
        // SAFETY: AVX-512.
        unsafe { X4(_mm512_xor_si512(self.0, other.0)) }
    }

    #[inline(always)]
    unsafe fn and(self, other: Self) -> Self {
        // SAFETY: AVX-512.
        unsafe { X4(_mm512_and_si512(self.0, other.0)) }
    }

    #[inline(always)]
    unsafe fn left64<const N: u32>(self) -> Self {
        // SAFETY: AVX-512.
        unsafe {
            X4(match N {
                1 => _mm512_slli_epi64::<1>(self.0),
                _ => _mm512_slli_epi64::<2>(self.0),
            })
        }
    }

    #[inline(always)]
    unsafe fn right64<const N: u32>(self) -> Self {
        // SAFETY: AVX-512.
        unsafe {
            X4(match N {
                1 => _mm512_srli_epi64::<1>(self.0),
                _ => _mm512_srli_epi64::<2>(self.0),
            })
        }
    }

    #[inline(always)]
    unsafe fn shuffle(self, places: Self) -> Self {
        // SAFETY: AVX-512.
        unsafe { X4(_mm512_shuffle_epi8(self.0, places.0)) }
    }

    #[inline(always)]
    unsafe fn if_any(self, test: Self, value: Self) -> Self {
        // SAFETY: AVX-512.
        unsafe {
            let any = _mm512_test_epi64_mask(self.0, test.0);
            X4(_mm512_maskz_mov_epi64(any, value.0))
        }
    }

    #[inline(always)]
    unsafe fn choose<const REDUCED: bool>(
        first: Self,
        second: Self,
        bit: Self,
        from: impl Fn(usize) -> *const u128,
    ) -> Self {
        // SAFETY: AVX-512; the caller guarantees the blocks at `from(k)` for each k < 4.
        unsafe {
            // The comparison gives two bits for each block, of which the second one is zero.
            let first = usize::from(_mm512_test_epi64_mask(first.0, bit.0));
            let second = usize::from(_mm512_test_epi64_mask(second.0, bit.0));
            let numbers = first << 1 | second;
            let number = |lane: usize| numbers >> (2 * lane) & 3;
            match REDUCED {
                // If there is no block for number 0, another block is read and masked out.
                true => {
                    let read = Self::gather(|lane| from(lane).add(number(lane).saturating_sub(1)));
                    let any = first | second;
                    X4(_mm512_maskz_mov_epi64((any | any << 1) as u8, read.0))
                }
                false => Self::gather(|lane| from(lane).add(number(lane))),
            }
        }
    }

    #[inline(always)]
    unsafe fn add_low(self, count: u64) -> Self {
        // SAFETY: AVX-512.
        unsafe { X4(_mm512_add_epi64(self.0, _mm512_maskz_set1_epi64(0x55, count as i64))) }
    }

    #[inline(always)]
    unsafe fn sigma(self) -> Self {
        // SAFETY: AVX-512.
        unsafe {
            let swapped = _mm512_shuffle_epi32::<0x4e>(self.0);
            X4(_mm512_mask_xor_epi64(swapped, 0xaa, swapped, self.0))
        }
    }

    #[inline(always)]
    unsafe fn colours(self) -> Self::Mask {
        // SAFETY: AVX-512.
        unsafe { _mm512_test_epi32_mask(_mm512_shuffle_epi32::<0>(self.0), _mm512_set1_epi32(1)) }
    }

    #[inline(always)]
    unsafe fn colours_at(self, places: Self, ones: Self) -> Self::Mask {
        // SAFETY: AVX-512.
        unsafe { _mm512_test_epi32_mask(_mm512_shuffle_epi8(self.0, places.0), ones.0) }
    }

    #[inline(always)]
    unsafe fn xor_if(self, colours: Self::Mask, other: Self) -> Self {
        // SAFETY: AVX-512.
        unsafe { X4(_mm512_mask_xor_epi32(self.0, colours, self.0, other.0)) }
    }

    #[inline(always)]
    unsafe fn exchange_if(colours: Self::Mask, a: Self, b: Self) -> (Self, Self) {
        // SAFETY: AVX-512.
        unsafe {
            (X4(_mm512_mask_blend_epi32(colours, a.0, b.0)), X4(_mm512_mask_blend_epi32(colours, b.0, a.0)))
        }
    }

    #[inline(always)]
    unsafe fn xor3(self, b: Self, c: Self) -> Self {
        // SAFETY: AVX-512.
        unsafe { X4(_mm512_ternarylogic_epi64::<0x96>(self.0, b.0, c.0)) }
    }

    #[inline(always)]
    unsafe fn multiply(self, other: Self) -> (Self, Self) {
        // SAFETY: AVX-512 and VPCLMULQDQ.
        let (low, high) = unsafe {
            schoolbook!(
                self.0,
                other.0,
                _mm512_clmulepi64_epi128,
                _mm512_xor_si512,
                _mm512_bslli_epi128,
                _mm512_bsrli_epi128
            )
        };
        (X4(low), X4(high))
    }

    #[inline(always)]
    unsafe fn multiply_halves(self, other: Self) -> [Self; 3] {
        // SAFETY: AVX-512 and VPCLMULQDQ.
        unsafe {
            let (a, b) = (self.0, other.0);
            let (c, d) = (
                _mm512_xor_si512(a, _mm512_shuffle_epi32::<0x4e>(a)),
                _mm512_xor_si512(b, _mm512_shuffle_epi32::<0x4e>(b)),
            );
            [
                Self(_mm512_clmulepi64_epi128::<0x00>(a, b)),
                Self(_mm512_clmulepi64_epi128::<0x11>(a, b)),
                Self(_mm512_clmulepi64_epi128::<0x00>(c, d)),
            ]
        }
    }

    #[inline(always)]
    unsafe fn store_pairs(first: Self, second: Self, to: impl Fn(usize) -> *mut u128) {
        // SAFETY: AVX-512; the caller guarantees two blocks at `to(k)` for each k < 4.
        unsafe {
            let low =
                _mm512_permutex2var_epi64(first.0, _mm512_setr_epi64(0, 1, 8, 9, 2, 3, 10, 11), second.0);
            let high =
                _mm512_permutex2var_epi64(first.0, _mm512_setr_epi64(4, 5, 12, 13, 6, 7, 14, 15), second.0);
            _mm256_storeu_si256(to(0).cast(), _mm512_castsi512_si256(low));
            _mm256_storeu_si256(to(1).cast(), _mm512_extracti64x4_epi64::<1>(low));
            _mm256_storeu_si256(to(2).cast(), _mm512_castsi512_si256(high));
            _mm256_storeu_si256(to(3).cast(), _mm512_extracti64x4_epi64::<1>(high));
        }
    }

    #[inline(always)]
    unsafe fn load_pairs(from: impl Fn(usize) -> *const u128) -> (Self, Self) {
        // SAFETY: AVX-512; the caller guarantees two blocks at `from(k)` for each k < 4.
        unsafe {
            let at = |k: usize| _mm256_loadu_si256(from(k).cast());
            let low = _mm512_inserti64x4::<1>(_mm512_castsi256_si512(at(0)), at(1));
            let high = _mm512_inserti64x4::<1>(_mm512_castsi256_si512(at(2)), at(3));
            (
                X4(_mm512_shuffle_i64x2::<0b10_00_10_00>(low, high)),
                X4(_mm512_shuffle_i64x2::<0b11_01_11_01>(low, high)),
            )
        }
    }

    #[inline(always)]
    unsafe fn store_rows<const N: usize>([a, b, c, d]: [Self; 4], to: impl Fn(usize) -> *mut u128) {
        // SAFETY: AVX-512; the caller guarantees `N` blocks at `to(k)` for each k < 4.
        unsafe {
            // First come pairs of rows of two lanes each, then all rows of one lane.
            let (ab_low, ab_high) =
                (_mm512_shuffle_i64x2::<0x44>(a.0, b.0), _mm512_shuffle_i64x2::<0xee>(a.0, b.0));
            let (cd_low, cd_high) =
                (_mm512_shuffle_i64x2::<0x44>(c.0, d.0), _mm512_shuffle_i64x2::<0xee>(c.0, d.0));
            let lanes = [
                _mm512_shuffle_i64x2::<0x88>(ab_low, cd_low),
                _mm512_shuffle_i64x2::<0xdd>(ab_low, cd_low),
                _mm512_shuffle_i64x2::<0x88>(ab_high, cd_high),
                _mm512_shuffle_i64x2::<0xdd>(ab_high, cd_high),
            ];
            for (lane, rows) in lanes.into_iter().enumerate() {
                if N == 4 {
                    _mm512_storeu_si512(to(lane).cast(), rows);
                } else {
                    _mm512_mask_storeu_epi64(to(lane).cast(), 0x3f, rows);
                }
            }
        }
    }

    #[inline(always)]
    unsafe fn add32(self, other: Self) -> Self {
        // SAFETY: AVX-512.
        unsafe { X4(_mm512_add_epi32(self.0, other.0)) }
    }

    #[inline(always)]
    unsafe fn rotate32<const N: u32>(self) -> Self {
        // SAFETY: AVX-512.
        unsafe {
            X4(match N {
                16 => _mm512_ror_epi32::<16>(self.0),
                12 => _mm512_ror_epi32::<12>(self.0),
                8 => _mm512_ror_epi32::<8>(self.0),
                _ => _mm512_ror_epi32::<7>(self.0),
            })
        }
    }

    #[inline(always)]
    unsafe fn mix32<const D: u32, const B: u32>(state: &mut [[Self; 4]; 4], m: [&Self; 4]) {
        // SAFETY: AVX-512.
        unsafe { mix::mix512::<D, B>(state, m) }
    }

    #[inline(always)]
    unsafe fn transpose32(rows: [Self; 4]) -> [Self; 4] {
        // SAFETY: AVX-512.
        unsafe {
            transpose32!(
                rows,
                _mm512_unpacklo_epi32,
                _mm512_unpackhi_epi32,
                _mm512_unpacklo_epi64,
                _mm512_unpackhi_epi64
            )
        }
    }

    #[inline(always)]
    unsafe fn interleave8(self, other: Self) -> (Self, Self) {
        // SAFETY: AVX-512.
        unsafe { (X4(_mm512_unpacklo_epi8(self.0, other.0)), X4(_mm512_unpackhi_epi8(self.0, other.0))) }
    }

    #[inline(always)]
    unsafe fn pick(self, places: Self) -> Self {
        // SAFETY: AVX-512.
        unsafe { X4(_mm512_shuffle_epi8(self.0, places.0)) }
    }

    #[inline(always)]
    unsafe fn bytes(self) -> Self::Bytes {
        self
    }

    #[inline(always)]
    unsafe fn times(bytes: &Self::Bytes, factors: &Factors, k: usize) -> Self {
        // SAFETY: AVX-512 and GFNI; the caller guarantees factor `k`.
        unsafe {
            let rows = _mm512_set1_epi64(*factors.rows.get_unchecked(k) as i64);
            X4(_mm512_gf2p8affine_epi64_epi8::<0>(bytes.0, rows))
        }
    }

    const EIGHTS: bool = true;

    #[inline(always)]
    unsafe fn times_eight(bytes: u64, factors: &Factors, k: usize) -> Self {
        // SAFETY: AVX-512 and GFNI; the caller guarantees eight factors from number `k` on.
        unsafe {
            let rows = _mm512_loadu_si512(factors.rows.as_ptr().add(k).cast());
            X4(_mm512_gf2p8affine_epi64_epi8::<0>(_mm512_set1_epi64(bytes as i64), rows))
        }
    }

    #[inline(always)]
    unsafe fn keys(round_keys: &[u128; 11]) -> Self::Keys {
        // SAFETY: AVX-512.
        unsafe {
            let mut keys = [Self::splat(0); 11];
            for (to, key) in keys.iter_mut().zip(round_keys) {
                *to = Self::splat(*key);
            }
            keys
        }
    }

    #[inline(always)]
    unsafe fn keys_of_blocks<'a>(round_keys: impl Fn(usize) -> &'a [u128; 11]) -> Self::Keys {
        // SAFETY: AVX-512.
        unsafe {
            let mut keys = [Self::splat(0); 11];
            for (r, to) in keys.iter_mut().enumerate() {
                *to = Self::gather(|block| &raw const round_keys(block)[r]);
            }
            keys
        }
    }

    #[inline(always)]
    unsafe fn whitening(keys: &Self::Keys) -> Self {
        keys[0]
    }

    #[inline(always)]
    unsafe fn rounds<const M: usize>(keys: &Self::Keys, mut blocks: [Self; M]) -> [Self; M] {
        // SAFETY: AVX-512 and VAES.
        unsafe {
            let (fours, rest) = blocks.as_chunks_mut::<4>();
            for four in fours {
                four_chains_x4(keys, four);
            }
            rounds!(keys, rest, _mm512_aesenc_epi128, _mm512_aesenclast_epi128);
        }
        blocks
    }

    const STREAM: usize = 2;

    #[inline(always)]
    unsafe fn under_four<const M: usize>(keys: &[[u128; 11]; 4], blocks: [Self; M]) -> [[Self; M]; 4] {
        let mut encrypted = [blocks; 4];
        for m in (0..M).step_by(2) {
            // SAFETY: AVX-512 and VAES.
            let two = unsafe { four_x4(keys, [blocks[m], blocks[(m + 1).min(M - 1)]]) };
            for (encrypted, two) in encrypted.iter_mut().zip(two) {
                encrypted[m] = two[0];
                if m + 1 < M {
                    encrypted[m + 1] = two[1];
                }
            }
        }
        encrypted
    }

    #[inline(always)]
    unsafe fn next_round_key(self, round_constant: u8) -> Self {
        // SAFETY: AVX-512 and VAES.
        unsafe {
            X4(next_round_key!(
                self.0,
                round_constant,
                _mm512_xor_si512,
                _mm512_shuffle_epi8,
                _mm512_bslli_epi128,
                _mm512_aesenclast_epi128
            ))
        }
    }

    #[inline(always)]
    unsafe fn transpose64(m: &mut [u128; 64]) {
        // SAFETY: AVX-512 with VBMI and GFNI; all accesses are within the 64 blocks.
        unsafe {
            let words = words_of_columns(|i| _mm512_loadu_si512(m.as_ptr().add(4 * i).cast()));
            for k in 0..8 {
                let [first, second] = zipped(words[k], words[k + 8]);
                _mm512_storeu_si512(m.as_mut_ptr().add(8 * k).cast(), first);
                _mm512_storeu_si512(m.as_mut_ptr().add(8 * k + 4).cast(), second);
            }
        }
    }

    #[inline(always)]
    unsafe fn transpose_tile(tile: &mut Tile, room: &mut Tile) {
        // SAFETY: AVX-512 with VBMI and GFNI; all accesses are within the tile's rows of four blocks, and
        // within 128 columns for each of the four.
        unsafe {
            for (block, columns) in room.as_chunks_mut::<128>().0.iter_mut().enumerate() {
                let rows = tile.as_ptr().add(block);
                let low = words_of_columns(|i| Self::gather(|k| rows.add(16 * i + 4 * k)).0);
                let high = words_of_columns(|i| Self::gather(|k| rows.add(256 + 16 * i + 4 * k)).0);
                for k in 0..16 {
                    let [first, second] = zipped(low[k], high[k]);
                    _mm512_storeu_si512(columns.as_mut_ptr().add(8 * k).cast(), first);
                    _mm512_storeu_si512(columns.as_mut_ptr().add(8 * k + 4).cast(), second);
                }
            }
        }
        tile.copy_from_slice(room);
    }
}

/// Returns the columns of 64 rows of 128 bits, as words of 64 bits. Word j of register k is column `8·k + j`.
/// `rows` returns rows `4·i` to `4·i + 3`.
///
/// First bytes are transposed, then bits. Register `i` loads four rows and collects their bytes of the same
/// index into a word. The 16 × 16 words are transposed, so that register `k` has byte `k` of all rows. Then
/// GF2P8AFFINEQB transposes 8 × 8 bits: the rows are its matrix, which it multiplies by unit vectors. It
/// expects the last row of a matrix first, so each eight rows are loaded in reverse order.
#[inline(always)]
unsafe fn words_of_columns(rows: impl Fn(usize) -> __m512i) -> [__m512i; 16] {
    // SAFETY: AVX-512 with VBMI and GFNI.
    unsafe {
        let words = _mm512_loadu_si512(WORDS.as_ptr().cast());
        let mut r = [_mm512_setzero_si512(); 16];
        for (i, x) in r.iter_mut().enumerate() {
            *x = _mm512_permutexvar_epi8(words, rows(i ^ 1));
        }
        let mut t = r;
        for i in (0..16).step_by(2) {
            t[i] = _mm512_unpacklo_epi32(r[i], r[i + 1]);
            t[i + 1] = _mm512_unpackhi_epi32(r[i], r[i + 1]);
        }
        for i in (0..16).step_by(4) {
            r[i] = _mm512_unpacklo_epi64(t[i], t[i + 2]);
            r[i + 1] = _mm512_unpackhi_epi64(t[i], t[i + 2]);
            r[i + 2] = _mm512_unpacklo_epi64(t[i + 1], t[i + 3]);
            r[i + 3] = _mm512_unpackhi_epi64(t[i + 1], t[i + 3]);
        }
        for j in 0..4 {
            t[j] = _mm512_shuffle_i32x4::<0x88>(r[j], r[4 + j]);
            t[4 + j] = _mm512_shuffle_i32x4::<0x88>(r[8 + j], r[12 + j]);
            t[8 + j] = _mm512_shuffle_i32x4::<0xdd>(r[j], r[4 + j]);
            t[12 + j] = _mm512_shuffle_i32x4::<0xdd>(r[8 + j], r[12 + j]);
        }
        for j in 0..4 {
            r[j] = _mm512_shuffle_i32x4::<0x88>(t[j], t[4 + j]);
            r[4 + j] = _mm512_shuffle_i32x4::<0x88>(t[8 + j], t[12 + j]);
            r[8 + j] = _mm512_shuffle_i32x4::<0xdd>(t[j], t[4 + j]);
            r[12 + j] = _mm512_shuffle_i32x4::<0xdd>(t[8 + j], t[12 + j]);
        }
        let units = _mm512_set1_epi64(0x8040_2010_0804_0201_u64 as i64);
        let octets = _mm512_loadu_si512(OCTETS.as_ptr().cast());
        for x in &mut r {
            *x = _mm512_permutexvar_epi8(octets, _mm512_gf2p8affine_epi64_epi8::<0>(units, *x));
        }
        r
    }
}

/// Returns the blocks that contain a word of each register.
#[inline(always)]
unsafe fn zipped(low: __m512i, high: __m512i) -> [__m512i; 2] {
    // SAFETY: AVX-512.
    unsafe {
        [
            _mm512_permutex2var_epi64(low, _mm512_setr_epi64(0, 8, 1, 9, 2, 10, 3, 11), high),
            _mm512_permutex2var_epi64(low, _mm512_setr_epi64(4, 12, 5, 13, 6, 14, 7, 15), high),
        ]
    }
}

/// The source of each byte when four rows of 16 bytes, the last one first, become 16 words.
const WORDS: [u8; 64] = {
    let (mut from, mut to) = ([0; 64], 0);
    while to < 64 {
        from[to] = (16 * (3 - to % 4) + to / 4) as u8;
        to += 1;
    }
    from
};

/// The source of each byte for a transposition of 8 × 8 bytes.
const OCTETS: [u8; 64] = {
    let (mut from, mut to) = ([0; 64], 0);
    while to < 64 {
        from[to] = (8 * (to % 8) + to / 8) as u8;
        to += 1;
    }
    from
};

#[inline]
#[target_feature(enable = "aes")]
fn eight_x1(keys: &[X1; 11], x: &mut [X1; 8]) {
    // SAFETY: AES-NI; the code reads only its registers and ten of the keys.
    unsafe {
        rounds8!(
            two,
            xmm_reg,
            "movdqa",
            "aesenc",
            "aesenclast",
            ["16", "32", "48", "64", "80", "96", "112", "128", "144"],
            "160",
            keys,
            x
        );
    }
}

/// Runs ten rounds on eight registers of two blocks.
#[inline]
#[target_feature(enable = "avx2,vaes")]
fn eight_x2(keys: &[X2; 11], x: &mut [X2; 8]) {
    // SAFETY: AVX2 and VAES; the code reads only its registers and ten of the keys.
    unsafe {
        rounds8!(
            three,
            ymm_reg,
            "vmovdqa",
            "vaesenc",
            "vaesenclast",
            ["32", "64", "96", "128", "160", "192", "224", "256", "288"],
            "320",
            keys,
            x
        );
    }
}

/// Runs ten rounds on four registers of four blocks, which fill the AES unit. It is in assembly, because the
/// compiler would postpone one register until the others are done.
#[inline]
#[target_feature(enable = "avx512f,vaes")]
fn four_chains_x4(keys: &[X4; 11], x: &mut [X4; 4]) {
    let [_, k1, k2, k3, k4, k5, k6, k7, k8, k9, last] = keys;
    // SAFETY: AVX-512 and VAES.
    unsafe {
        core::arch::asm!(
            on_four!("vaesenc", "{k1}"), on_four!("vaesenc", "{k2}"), on_four!("vaesenc", "{k3}"),
            on_four!("vaesenc", "{k4}"), on_four!("vaesenc", "{k5}"), on_four!("vaesenc", "{k6}"),
            on_four!("vaesenc", "{k7}"), on_four!("vaesenc", "{k8}"), on_four!("vaesenc", "{k9}"),
            on_four!("vaesenclast", "{last}"),
            x0 = inout(zmm_reg) x[0].0, x1 = inout(zmm_reg) x[1].0,
            x2 = inout(zmm_reg) x[2].0, x3 = inout(zmm_reg) x[3].0,
            k1 = in(zmm_reg) k1.0, k2 = in(zmm_reg) k2.0, k3 = in(zmm_reg) k3.0, k4 = in(zmm_reg) k4.0,
            k5 = in(zmm_reg) k5.0, k6 = in(zmm_reg) k6.0, k7 = in(zmm_reg) k7.0, k8 = in(zmm_reg) k8.0,
            k9 = in(zmm_reg) k9.0, last = in(zmm_reg) last.0,
            options(pure, nomem, nostack, preserves_flags),
        );
    }
}

/// Encrypts two blocks with AES-128 under four keys.
#[inline]
#[target_feature(enable = "aes")]
fn four_x1(keys: &[[u128; 11]; 4], x: [X1; 2]) -> [[X1; 2]; 4] {
    // SAFETY: AES-NI; the code reads only its registers and the keys.
    unsafe { under_four!(two, xmm_reg, "movdqa", "pxor", "aesenc", "aesenclast", keys, x) }
}

/// Encrypts two registers of two blocks with AES-128 under four keys.
#[inline]
#[target_feature(enable = "avx2,vaes")]
fn four_x2(keys: &[[u128; 11]; 4], x: [X2; 2]) -> [[X2; 2]; 4] {
    // SAFETY: AVX2 and VAES; the code reads only its registers and the keys.
    unsafe { under_four!(three, ymm_reg, "vbroadcasti128", "vpxor", "vaesenc", "vaesenclast", keys, x) }
}

/// Encrypts two registers of four blocks with AES-128 under four keys.
#[inline]
#[target_feature(enable = "avx512f,vaes")]
fn four_x4(keys: &[[u128; 11]; 4], x: [X4; 2]) -> [[X4; 2]; 4] {
    // SAFETY: AVX-512 and VAES; the code reads only its registers and the keys.
    unsafe { under_four!(three, zmm_reg, "vbroadcasti32x4", "vpxord", "vaesenc", "vaesenclast", keys, x) }
}
