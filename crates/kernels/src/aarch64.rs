//! The kernel of aarch64: NEON registers with the AES and PMULL instructions.
//!
//! As in the x86 kernels, every `unsafe` block of the [`Vector`] implementation relies on the trait's two
//! requirements: the machine has the features, and pointers lead to enough blocks.

use core::arch::aarch64::*;

use crate::factors::Factors;
use crate::vector::{Vector, VectorLoop};

pub(crate) fn has_neon() -> bool {
    std::arch::is_aarch64_feature_detected!("neon")
        && std::arch::is_aarch64_feature_detected!("aes")
        && std::arch::is_aarch64_feature_detected!("pmull")
}

/// Runs a task with NEON registers. (The compiler's feature `aes` includes PMULL.)
#[target_feature(enable = "neon,aes")]
pub(crate) unsafe fn neon<T: VectorLoop>(task: T) -> T::Output {
    // SAFETY: this function's features are those of `Neon`.
    unsafe { task.run::<Neon>() }
}

/// One block in a NEON register.
#[derive(Clone, Copy)]
pub(crate) struct Neon(uint8x16_t);

#[inline(always)]
unsafe fn pack(x: u128) -> uint8x16_t {
    // SAFETY: NEON; `x` has the sixteen bytes that are read.
    unsafe { vld1q_u8((&raw const x).cast()) }
}

// Instructions beyond plain NEON are in functions of their own, because the compiler inlines an intrinsic
// only where the features are enabled.

#[inline]
#[target_feature(enable = "neon,aes")]
fn multiply64(a: u64, b: u64) -> uint8x16_t {
    vreinterpretq_u8_p128(vmull_p64(a, b))
}

#[inline]
#[target_feature(enable = "neon,aes")]
fn round(x: uint8x16_t, key: uint8x16_t) -> uint8x16_t {
    vaesmcq_u8(vaeseq_u8(x, key))
}

#[inline]
#[target_feature(enable = "neon,aes")]
fn last_round(x: uint8x16_t, key: uint8x16_t) -> uint8x16_t {
    vaeseq_u8(x, key)
}

// SAFETY (all methods): see the head of the file.
impl Vector for Neon {
    const BLOCKS: usize = 1;
    type One = Self;
    type Keys = [Self; 11];
    type Mask = uint8x16_t;
    type Bytes = [Self; 2];

    #[inline(always)]
    unsafe fn load(from: *const u128) -> Self {
        // SAFETY: NEON; the caller guarantees one block at `from`.
        unsafe { Neon(vld1q_u8(from.cast())) }
    }

    #[inline(always)]
    unsafe fn store(self, to: *mut u128) {
        // SAFETY: NEON; the caller guarantees one block at `to`.
        unsafe { vst1q_u8(to.cast(), self.0) }
    }

    #[inline(always)]
    unsafe fn gather(from: impl Fn(usize) -> *const u128) -> Self {
        // SAFETY: the caller guarantees a block at `from(0)`.
        unsafe { Self::load(from(0)) }
    }

    #[inline(always)]
    unsafe fn scatter(self, to: impl Fn(usize) -> *mut u128) {
        // SAFETY: the caller guarantees a block at `to(0)`.
        unsafe { self.store(to(0)) }
    }

    #[inline(always)]
    unsafe fn splat(block: u128) -> Self {
        // SAFETY: NEON.
        unsafe { Neon(pack(block)) }
    }

    #[inline(always)]
    unsafe fn xor(self, other: Self) -> Self {
        // SAFETY: NEON.
        unsafe { Neon(veorq_u8(self.0, other.0)) }
    }

    #[inline(always)]
    unsafe fn and(self, other: Self) -> Self {
        // SAFETY: NEON.
        unsafe { Neon(vandq_u8(self.0, other.0)) }
    }

    #[inline(always)]
    unsafe fn left64<const N: u32>(self) -> Self {
        // SAFETY: NEON.
        unsafe {
            let x = vreinterpretq_u64_u8(self.0);
            Neon(vreinterpretq_u8_u64(match N {
                1 => vshlq_n_u64::<1>(x),
                _ => vshlq_n_u64::<2>(x),
            }))
        }
    }

    #[inline(always)]
    unsafe fn right64<const N: u32>(self) -> Self {
        // SAFETY: NEON.
        unsafe {
            let x = vreinterpretq_u64_u8(self.0);
            Neon(vreinterpretq_u8_u64(match N {
                1 => vshrq_n_u64::<1>(x),
                _ => vshrq_n_u64::<2>(x),
            }))
        }
    }

    #[inline(always)]
    unsafe fn shuffle(self, places: Self) -> Self {
        // SAFETY: NEON.
        unsafe { Neon(vqtbl1q_u8(self.0, places.0)) }
    }

    #[inline(always)]
    unsafe fn if_any(self, test: Self, value: Self) -> Self {
        // SAFETY: NEON.
        unsafe {
            let any = vtstq_u64(vreinterpretq_u64_u8(self.0), vreinterpretq_u64_u8(test.0));
            Neon(vandq_u8(vreinterpretq_u8_u64(any), value.0))
        }
    }

    #[inline(always)]
    unsafe fn choose<const REDUCED: bool>(
        first: Self,
        second: Self,
        bit: Self,
        from: impl Fn(usize) -> *const u128,
    ) -> Self {
        // SAFETY: NEON; the caller guarantees the blocks at `from(0)`.
        unsafe {
            let first = vgetq_lane_u64::<0>(vreinterpretq_u64_u8(vandq_u8(first.0, bit.0))) != 0;
            let second = vgetq_lane_u64::<0>(vreinterpretq_u64_u8(vandq_u8(second.0, bit.0))) != 0;
            let number = usize::from(first) << 1 | usize::from(second);
            match REDUCED {
                // If there is no block for number 0, another block is read and masked out.
                true => {
                    let read = Self::load(from(0).add(number.saturating_sub(1)));
                    let any = vdupq_n_u64(u64::from(number > 0).wrapping_neg());
                    Neon(vandq_u8(read.0, vreinterpretq_u8_u64(any)))
                }
                false => Self::load(from(0).add(number)),
            }
        }
    }

    #[inline(always)]
    unsafe fn add_low(self, count: u64) -> Self {
        // SAFETY: NEON.
        unsafe {
            Neon(vreinterpretq_u8_u64(vaddq_u64(
                vreinterpretq_u64_u8(self.0),
                vreinterpretq_u64_u8(pack(count.into())),
            )))
        }
    }

    #[inline(always)]
    unsafe fn sigma(self) -> Self {
        // SAFETY: NEON.
        unsafe {
            let swapped = vextq_u8::<8>(self.0, self.0);
            Neon(veorq_u8(swapped, vandq_u8(self.0, pack(u128::MAX << 64))))
        }
    }

    #[inline(always)]
    unsafe fn colours(self) -> Self::Mask {
        // SAFETY: NEON.
        unsafe {
            let low = vdupq_laneq_u64::<0>(vreinterpretq_u64_u8(self.0));
            vreinterpretq_u8_s64(vnegq_s64(vreinterpretq_s64_u64(vandq_u64(low, vdupq_n_u64(1)))))
        }
    }

    #[inline(always)]
    unsafe fn xor_if(self, colours: Self::Mask, other: Self) -> Self {
        // SAFETY: NEON.
        unsafe { Neon(veorq_u8(self.0, vandq_u8(colours, other.0))) }
    }

    #[inline(always)]
    unsafe fn multiply(self, other: Self) -> (Self, Self) {
        // SAFETY: NEON and PMULL.
        unsafe {
            let (a, b) = (vreinterpretq_u64_u8(self.0), vreinterpretq_u64_u8(other.0));
            let (a0, a1) = (vgetq_lane_u64::<0>(a), vgetq_lane_u64::<1>(a));
            let (b0, b1) = (vgetq_lane_u64::<0>(b), vgetq_lane_u64::<1>(b));
            let middle = veorq_u8(multiply64(a0, b1), multiply64(a1, b0));
            let zero = vdupq_n_u8(0);
            let low = veorq_u8(multiply64(a0, b0), vextq_u8::<8>(zero, middle));
            let high = veorq_u8(multiply64(a1, b1), vextq_u8::<8>(middle, zero));
            (Neon(low), Neon(high))
        }
    }

    #[inline(always)]
    unsafe fn multiply_halves(self, other: Self) -> [Self; 3] {
        // SAFETY: the machine has NEON and PMULL.
        unsafe {
            let (a, b) = (vreinterpretq_u64_u8(self.0), vreinterpretq_u64_u8(other.0));
            let (a0, a1) = (vgetq_lane_u64::<0>(a), vgetq_lane_u64::<1>(a));
            let (b0, b1) = (vgetq_lane_u64::<0>(b), vgetq_lane_u64::<1>(b));
            [Neon(multiply64(a0, b0)), Neon(multiply64(a1, b1)), Neon(multiply64(a0 ^ a1, b0 ^ b1))]
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
        // SAFETY: NEON.
        unsafe {
            Neon(vreinterpretq_u8_u32(vaddq_u32(vreinterpretq_u32_u8(self.0), vreinterpretq_u32_u8(other.0))))
        }
    }

    #[inline(always)]
    unsafe fn rotate32<const N: u32>(self) -> Self {
        // SAFETY: NEON.
        unsafe {
            let x = vreinterpretq_u32_u8(self.0);
            Neon(vreinterpretq_u8_u32(match N {
                16 => vsriq_n_u32::<16>(vshlq_n_u32::<16>(x), x),
                12 => vsriq_n_u32::<12>(vshlq_n_u32::<20>(x), x),
                8 => vsriq_n_u32::<8>(vshlq_n_u32::<24>(x), x),
                _ => vsriq_n_u32::<7>(vshlq_n_u32::<25>(x), x),
            }))
        }
    }

    #[inline(always)]
    unsafe fn transpose32(rows: [Self; 4]) -> [Self; 4] {
        // SAFETY: NEON.
        unsafe {
            let [a, b, c, d] = [
                vreinterpretq_u32_u8(rows[0].0),
                vreinterpretq_u32_u8(rows[1].0),
                vreinterpretq_u32_u8(rows[2].0),
                vreinterpretq_u32_u8(rows[3].0),
            ];
            let (ab_low, ab_high) =
                (vreinterpretq_u64_u32(vzip1q_u32(a, b)), vreinterpretq_u64_u32(vzip2q_u32(a, b)));
            let (cd_low, cd_high) =
                (vreinterpretq_u64_u32(vzip1q_u32(c, d)), vreinterpretq_u64_u32(vzip2q_u32(c, d)));
            [
                Neon(vreinterpretq_u8_u64(vzip1q_u64(ab_low, cd_low))),
                Neon(vreinterpretq_u8_u64(vzip2q_u64(ab_low, cd_low))),
                Neon(vreinterpretq_u8_u64(vzip1q_u64(ab_high, cd_high))),
                Neon(vreinterpretq_u8_u64(vzip2q_u64(ab_high, cd_high))),
            ]
        }
    }

    #[inline(always)]
    unsafe fn interleave8(self, other: Self) -> (Self, Self) {
        // SAFETY: NEON.
        unsafe { (Neon(vzip1q_u8(self.0, other.0)), Neon(vzip2q_u8(self.0, other.0))) }
    }

    #[inline(always)]
    unsafe fn pick(self, places: Self) -> Self {
        // SAFETY: NEON; an index that is out of range gives 0.
        unsafe { Neon(vqtbl1q_u8(self.0, places.0)) }
    }

    #[inline(always)]
    unsafe fn bytes(self) -> Self::Bytes {
        // SAFETY: NEON.
        unsafe { [Neon(vandq_u8(self.0, vdupq_n_u8(0x0f))), Neon(vshrq_n_u8::<4>(self.0))] }
    }

    #[inline(always)]
    unsafe fn times([low, high]: &Self::Bytes, factors: &Factors, k: usize) -> Self {
        // SAFETY: NEON; the caller guarantees factor `k`.
        unsafe {
            let [lows, highs] = *factors.nibbles.get_unchecked(k);
            Neon(veorq_u8(vqtbl1q_u8(pack(lows), low.0), vqtbl1q_u8(pack(highs), high.0)))
        }
    }

    #[inline(always)]
    unsafe fn keys(round_keys: &[u128; 11]) -> Self::Keys {
        // SAFETY: NEON.
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
        // SAFETY: NEON.
        unsafe { Self::keys(round_keys(0)) }
    }

    /// AESE adds a round key *before* SubBytes and ShiftRows, so it also adds the first round key.
    #[inline(always)]
    unsafe fn whitening(_: &Self::Keys) -> Self {
        // SAFETY: NEON.
        unsafe { Self::splat(0) }
    }

    /// The last round key is added by a separate instruction.
    #[inline(always)]
    unsafe fn rounds<const M: usize>(keys: &Self::Keys, mut blocks: [Self; M]) -> [Self; M] {
        // SAFETY: NEON and AES.
        unsafe {
            for key in &keys[..9] {
                for x in &mut blocks {
                    x.0 = round(x.0, key.0);
                }
            }
            for x in &mut blocks {
                x.0 = veorq_u8(last_round(x.0, keys[9].0), keys[10].0);
            }
        }
        blocks
    }

    /// It uses AESE with a key of zeros. All columns are the rotated last word, so ShiftRows changes nothing.
    #[inline(always)]
    unsafe fn next_round_key(self, round_constant: u8) -> Self {
        // SAFETY: NEON and AES.
        unsafe {
            let zero = vdupq_n_u8(0);
            let rotated = vqtbl1q_u8(self.0, vreinterpretq_u8_u32(vdupq_n_u32(0x0c0f_0e0d)));
            let word =
                veorq_u8(last_round(rotated, zero), vreinterpretq_u8_u32(vdupq_n_u32(round_constant.into())));
            let twice = veorq_u8(self.0, vextq_u8::<12>(zero, self.0));
            Neon(veorq_u8(veorq_u8(twice, vextq_u8::<8>(zero, twice)), word))
        }
    }
}
