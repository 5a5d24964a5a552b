//! The kernels of x86-64: AES-NI with 128-bit registers, VAES with 256-bit and with 512-bit ones.
//!
//! Every block of `unsafe` in the [`Vector`] implementations rests on the same two promises of the caller, which the
//! trait states: the machine has the features of the register's kind, and pointers lead to as many blocks as the
//! method accesses. All loads and stores are unaligned ones.

use core::arch::x86_64::*;

use crate::vector::{Task, Vector};

pub(crate) fn has_aes_ni() -> bool {
    is_x86_feature_detected!("aes") && is_x86_feature_detected!("pclmulqdq") && is_x86_feature_detected!("ssse3")
}

pub(crate) fn has_vaes256() -> bool {
    has_aes_ni() && is_x86_feature_detected!("avx2") && is_x86_feature_detected!("vaes") && is_x86_feature_detected!("vpclmulqdq")
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
pub(crate) unsafe fn aes_ni<T: Task>(task: T) -> T::Output {
    // SAFETY: this function's features are those of `X1`.
    unsafe { task.run::<X1>() }
}

/// Runs a task with 256-bit registers.
#[target_feature(enable = "aes,pclmulqdq,avx2,vaes,vpclmulqdq")]
pub(crate) unsafe fn vaes256<T: Task>(task: T) -> T::Output {
    // SAFETY: this function's features are those of `X2`.
    unsafe { task.run::<X2>() }
}

/// Runs a task with 512-bit registers.
#[target_feature(enable = "aes,pclmulqdq,avx2,vaes,vpclmulqdq,avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,gfni")]
pub(crate) unsafe fn vaes512<T: Task>(task: T) -> T::Output {
    // SAFETY: this function's features are those of `X4`.
    unsafe { task.run::<X4>() }
}

/// One block in an SSE register.
#[derive(Clone, Copy)]
pub(crate) struct X1(__m128i);

/// Two blocks in an AVX2 register.
#[derive(Clone, Copy)]
pub(crate) struct X2(__m256i);

/// Four blocks in an AVX-512 register.
#[derive(Clone, Copy)]
pub(crate) struct X4(__m512i);

#[inline(always)]
unsafe fn block(x: u128) -> __m128i {
    // SAFETY: SSE2 belongs to x86-64.
    unsafe { _mm_set_epi64x((x >> 64) as i64, x as i64) }
}

/// The S-box on four bytes by the last round of AES: with equal columns, ShiftRows moves nothing.
#[inline(always)]
unsafe fn sub_word(word: u32) -> u32 {
    // SAFETY: the caller vouches for AES-NI.
    unsafe { _mm_cvtsi128_si32(_mm_aesenclast_si128(_mm_set1_epi32(word as i32), _mm_setzero_si128())) as u32 }
}

/// The product of 128-bit polynomials from its four partial products, which `$mul` computes by halves.
macro_rules! schoolbook {
    ($a:expr, $b:expr, $mul:ident, $xor:ident, $left:ident, $right:ident) => {{
        let middle = $xor($mul::<0x10>($a, $b), $mul::<0x01>($a, $b));
        ($xor($mul::<0x00>($a, $b), $left::<8>(middle)), $xor($mul::<0x11>($a, $b), $right::<8>(middle)))
    }};
}

/// Ten rounds on `M` registers side by side.
macro_rules! rounds {
    ($keys:expr, $blocks:expr, $xor:ident, $round:ident, $last:ident) => {{
        for x in &mut $blocks {
            x.0 = $xor(x.0, $keys[0].0);
        }
        for key in &$keys[1..10] {
            for x in &mut $blocks {
                x.0 = $round(x.0, key.0);
            }
        }
        for x in &mut $blocks {
            x.0 = $last(x.0, $keys[10].0);
        }
    }};
}

// SAFETY (all methods): see the head of the file.
impl Vector for X1 {
    const BLOCKS: usize = 1;
    type Keys = [Self; 11];

    #[inline(always)]
    unsafe fn load(from: *const u128) -> Self {
        // SAFETY: the caller vouches for one block at `from`.
        unsafe { X1(_mm_loadu_si128(from.cast())) }
    }

    #[inline(always)]
    unsafe fn store(self, to: *mut u128) {
        // SAFETY: the caller vouches for one block at `to`.
        unsafe { _mm_storeu_si128(to.cast(), self.0) }
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
    unsafe fn colour_mask(self) -> Self {
        // SAFETY: SSE2.
        unsafe {
            let sign = _mm_srai_epi32::<31>(_mm_slli_epi32::<31>(self.0));
            X1(_mm_shuffle_epi32::<0>(sign))
        }
    }

    #[inline(always)]
    unsafe fn multiply(self, other: Self) -> (Self, Self) {
        // SAFETY: SSE2 and PCLMULQDQ.
        let (low, high) = unsafe { schoolbook!(self.0, other.0, _mm_clmulepi64_si128, _mm_xor_si128, _mm_bslli_si128, _mm_bsrli_si128) };
        (X1(low), X1(high))
    }

    #[inline(always)]
    unsafe fn store_pairs(first: Self, second: Self, to: *mut u128, _stride: usize) {
        // SAFETY: the caller vouches for two blocks at `to`.
        unsafe {
            first.store(to);
            second.store(to.add(1));
        }
    }

    #[inline(always)]
    unsafe fn load_pairs(from: *const u128, _stride: usize) -> (Self, Self) {
        // SAFETY: the caller vouches for two blocks at `from`.
        unsafe { (Self::load(from), Self::load(from.add(1))) }
    }

    #[inline(always)]
    unsafe fn keys(round_keys: &[u128; 11]) -> Self::Keys {
        // SAFETY: SSE2.
        round_keys.map(|key| unsafe { Self::splat(key) })
    }

    #[inline(always)]
    unsafe fn encrypt<const M: usize>(keys: &Self::Keys, mut blocks: [Self; M]) -> [Self; M] {
        // SAFETY: SSE2 and AES-NI.
        unsafe { rounds!(keys, blocks, _mm_xor_si128, _mm_aesenc_si128, _mm_aesenclast_si128) }
        blocks
    }

    #[inline(always)]
    unsafe fn sub_word(word: u32) -> u32 {
        // SAFETY: AES-NI.
        unsafe { sub_word(word) }
    }
}

// SAFETY (all methods): see the head of the file.
impl Vector for X2 {
    const BLOCKS: usize = 2;
    type Keys = [Self; 11];

    #[inline(always)]
    unsafe fn load(from: *const u128) -> Self {
        // SAFETY: the caller vouches for two blocks at `from`.
        unsafe { X2(_mm256_loadu_si256(from.cast())) }
    }

    #[inline(always)]
    unsafe fn store(self, to: *mut u128) {
        // SAFETY: the caller vouches for two blocks at `to`.
        unsafe { _mm256_storeu_si256(to.cast(), self.0) }
    }

    #[inline(always)]
    unsafe fn splat(x: u128) -> Self {
        // SAFETY: AVX2.
        unsafe { X2(_mm256_broadcastsi128_si256(block(x))) }
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
    unsafe fn colour_mask(self) -> Self {
        // SAFETY: AVX2.
        unsafe {
            let sign = _mm256_srai_epi32::<31>(_mm256_slli_epi32::<31>(self.0));
            X2(_mm256_shuffle_epi32::<0>(sign))
        }
    }

    #[inline(always)]
    unsafe fn multiply(self, other: Self) -> (Self, Self) {
        // SAFETY: AVX2 and VPCLMULQDQ.
        let (low, high) =
            unsafe { schoolbook!(self.0, other.0, _mm256_clmulepi64_epi128, _mm256_xor_si256, _mm256_bslli_epi128, _mm256_bsrli_epi128) };
        (X2(low), X2(high))
    }

    #[inline(always)]
    unsafe fn store_pairs(first: Self, second: Self, to: *mut u128, stride: usize) {
        // SAFETY: AVX2; the caller vouches for two blocks at `to` and at `to + stride`.
        unsafe {
            X2(_mm256_permute2x128_si256::<0x20>(first.0, second.0)).store(to);
            X2(_mm256_permute2x128_si256::<0x31>(first.0, second.0)).store(to.add(stride));
        }
    }

    #[inline(always)]
    unsafe fn load_pairs(from: *const u128, stride: usize) -> (Self, Self) {
        // SAFETY: AVX2; the caller vouches for two blocks at `from` and at `from + stride`.
        unsafe {
            let (a, b) = (Self::load(from).0, Self::load(from.add(stride)).0);
            (X2(_mm256_permute2x128_si256::<0x20>(a, b)), X2(_mm256_permute2x128_si256::<0x31>(a, b)))
        }
    }

    #[inline(always)]
    unsafe fn keys(round_keys: &[u128; 11]) -> Self::Keys {
        // SAFETY: AVX2.
        round_keys.map(|key| unsafe { Self::splat(key) })
    }

    #[inline(always)]
    unsafe fn encrypt<const M: usize>(keys: &Self::Keys, mut blocks: [Self; M]) -> [Self; M] {
        // SAFETY: AVX2 and VAES.
        unsafe { rounds!(keys, blocks, _mm256_xor_si256, _mm256_aesenc_epi128, _mm256_aesenclast_epi128) }
        blocks
    }

    #[inline(always)]
    unsafe fn sub_word(word: u32) -> u32 {
        // SAFETY: AES-NI.
        unsafe { sub_word(word) }
    }
}

// SAFETY (all methods): see the head of the file.
impl Vector for X4 {
    const BLOCKS: usize = 4;
    type Keys = [Self; 11];

    #[inline(always)]
    unsafe fn load(from: *const u128) -> Self {
        // SAFETY: the caller vouches for four blocks at `from`.
        unsafe { X4(_mm512_loadu_si512(from.cast())) }
    }

    #[inline(always)]
    unsafe fn store(self, to: *mut u128) {
        // SAFETY: the caller vouches for four blocks at `to`.
        unsafe { _mm512_storeu_si512(to.cast(), self.0) }
    }

    #[inline(always)]
    unsafe fn splat(x: u128) -> Self {
        // SAFETY: AVX-512.
        unsafe { X4(_mm512_broadcast_i32x4(block(x))) }
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
    unsafe fn colour_mask(self) -> Self {
        // SAFETY: AVX-512.
        unsafe {
            let sign = _mm512_srai_epi32::<31>(_mm512_slli_epi32::<31>(self.0));
            X4(_mm512_shuffle_epi32::<0>(sign))
        }
    }

    #[inline(always)]
    unsafe fn multiply(self, other: Self) -> (Self, Self) {
        // SAFETY: AVX-512 and VPCLMULQDQ.
        let (low, high) =
            unsafe { schoolbook!(self.0, other.0, _mm512_clmulepi64_epi128, _mm512_xor_si512, _mm512_bslli_epi128, _mm512_bsrli_epi128) };
        (X4(low), X4(high))
    }

    #[inline(always)]
    unsafe fn store_pairs(first: Self, second: Self, to: *mut u128, stride: usize) {
        // SAFETY: AVX-512; the caller vouches for two blocks at `to + k * stride` for each k < 4.
        unsafe {
            let low = _mm512_permutex2var_epi64(first.0, _mm512_setr_epi64(0, 1, 8, 9, 2, 3, 10, 11), second.0);
            let high = _mm512_permutex2var_epi64(first.0, _mm512_setr_epi64(4, 5, 12, 13, 6, 7, 14, 15), second.0);
            _mm256_storeu_si256(to.cast(), _mm512_castsi512_si256(low));
            _mm256_storeu_si256(to.add(stride).cast(), _mm512_extracti64x4_epi64::<1>(low));
            _mm256_storeu_si256(to.add(2 * stride).cast(), _mm512_castsi512_si256(high));
            _mm256_storeu_si256(to.add(3 * stride).cast(), _mm512_extracti64x4_epi64::<1>(high));
        }
    }

    #[inline(always)]
    unsafe fn load_pairs(from: *const u128, stride: usize) -> (Self, Self) {
        // SAFETY: AVX-512; the caller vouches for two blocks at `from + k * stride` for each k < 4.
        unsafe {
            let at = |k: usize| _mm256_loadu_si256(from.add(k * stride).cast());
            let low = _mm512_inserti64x4::<1>(_mm512_castsi256_si512(at(0)), at(1));
            let high = _mm512_inserti64x4::<1>(_mm512_castsi256_si512(at(2)), at(3));
            (X4(_mm512_shuffle_i64x2::<0b10_00_10_00>(low, high)), X4(_mm512_shuffle_i64x2::<0b11_01_11_01>(low, high)))
        }
    }

    #[inline(always)]
    unsafe fn keys(round_keys: &[u128; 11]) -> Self::Keys {
        // SAFETY: AVX-512.
        round_keys.map(|key| unsafe { Self::splat(key) })
    }

    #[inline(always)]
    unsafe fn encrypt<const M: usize>(keys: &Self::Keys, mut blocks: [Self; M]) -> [Self; M] {
        // SAFETY: AVX-512 and VAES.
        unsafe { rounds!(keys, blocks, _mm512_xor_si512, _mm512_aesenc_epi128, _mm512_aesenclast_epi128) }
        blocks
    }

    #[inline(always)]
    unsafe fn sub_word(word: u32) -> u32 {
        // SAFETY: AES-NI.
        unsafe { sub_word(word) }
    }
}
