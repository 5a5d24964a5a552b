//! The hash of leaky ANDs: AES with a new key every 2^14 leaky ANDs. A random factor shifts its input.
//!
//! ```text
//!   H_P(v) = AES(q) + q,    q = σ(v) + (j+1)·ρ_P in GF(2^128)
//! ```
//!
//! Party P draws ρ_P after it has checked the OTs from which v comes. If ρ_P were known earlier, the party
//! that chooses in these OTs could choose two inputs whose hashes cancel for any offset.

use std::ops::Range;

use brickwork_kernels::{Aes128, Kernel, LeakyHash};

/// The number of leaky ANDs under one key. Each takes two calls at the party that owns the hash.
const UNDER_A_KEY: usize = 1 << 14;

/// The number of leaky ANDs that are hashed at a time, so that their data stays in the cache.
pub(super) const STRIP: usize = 512;

/// Doubles an element of GF(2^128), modulo x^128 + x^7 + x^2 + x + 1.
fn twice(x: u128) -> u128 {
    (x << 1) ^ ((x >> 127) * 0x87)
}

/// Computes the multiples (j+1)·ρ, strip after strip. The factor ρ is public.
struct Multiples {
    /// The multiples 1·ρ to 511·ρ.
    low: [u128; STRIP],
    /// Step k is (2^(k+1) - 1)·512·ρ: the XOR of the multiples 512·i·ρ and 512·(i+1)·ρ if i ends in k ones.
    steps: [u128; 64],
    strip: u64,
    multiple: u128,
}

impl Multiples {
    /// Prepares the multiples of ρ.
    fn new(rho: u128) -> Self {
        let mut low = [0; STRIP];
        let mut power = rho;
        for k in (0..STRIP.ilog2()).map(|k| 1 << k) {
            // Since n < 2^k, multiple n + 2^k is the XOR of multiples n and 2^k.
            low[k - 1] = power;
            for n in 1..k {
                low[k + n - 1] = low[n - 1] ^ power;
            }
            power = twice(power);
        }
        let (mut steps, mut sum) = ([0; 64], 0);
        for step in &mut steps {
            sum ^= power;
            *step = sum;
            power = twice(power);
        }
        Multiples { low, steps, strip: 0, multiple: 0 }
    }

    /// Writes the multiples of the next strip.
    fn write(&mut self, multiples: &mut [u128; STRIP]) {
        let next = self.multiple ^ self.steps[self.strip.trailing_ones() as usize];
        for (multiple, low) in multiples.iter_mut().zip(&self.low) {
            *multiple = self.multiple ^ low;
        }
        multiples[STRIP - 1] = next;
        (self.multiple, self.strip) = (next, self.strip + 1);
    }
}

/// The hash of one party for the leaky ANDs of a portion.
#[derive(Clone, Copy)]
pub struct Pads {
    /// The start of the AES keys.
    pub start: u128,
    /// ρ.
    pub factor: u128,
}

impl Pads {
    /// Calls `hash` for each strip of `count` leaky ANDs, with the range of the strip and the hash for it.
    pub(super) fn strips(&self, count: usize, mut hash: impl FnMut(Range<usize>, LeakyHash<'_>)) {
        let (kernel, keys) = (Kernel::best(), Aes128::new(self.start));
        let (mut multiples, mut tweaks) = (Multiples::new(self.factor), [0; STRIP]);
        for (k, under) in (0..count).step_by(UNDER_A_KEY).enumerate() {
            let mut key = [0];
            keys.ctr_with(kernel, k as u128, &mut key);
            let key = Aes128::with_kernel(kernel, key[0]);
            for first in (under..count.min(under + UNDER_A_KEY)).step_by(STRIP) {
                let strip = first..count.min(first + STRIP);
                multiples.write(&mut tweaks);
                hash(strip.clone(), LeakyHash { key: &key, tweaks: &tweaks[..strip.len()] });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use brickwork_base::random::Rng;
    use brickwork_testing::Replayable as _;

    /// Returns the product in GF(2^128), bit by bit.
    fn times(mut a: u128, mut b: u128) -> u128 {
        let mut product = 0;
        while a != 0 {
            product ^= b * (a & 1);
            (a, b) = (a >> 1, twice(b));
        }
        product
    }

    /// Compares strips with the formula, across ends of strips and keys, and with an incomplete last strip.
    #[test]
    fn hashes_are_those_of_the_formula() {
        let mut rng = Rng::replayable("test pads");
        for count in [0, 1, 512, 513, (1 << 14) + 700, 70_000] {
            let pads = Pads { start: rng.block(), factor: rng.block() };
            let mut seen = 0;
            pads.strips(count, |strip, hash| {
                assert!(strip.start == seen && strip.len() == hash.tweaks.len());
                seen = strip.end;
                let mut key = [(strip.start >> 14) as u128];
                Aes128::new(pads.start).encrypt(&mut key);
                let [mut block, mut expected] = [[5], [5]];
                hash.key.encrypt(&mut block);
                Aes128::new(key[0]).encrypt(&mut expected);
                assert_eq!(block, expected, "{strip:?}");
                for (j, &tweak) in strip.zip(hash.tweaks) {
                    assert_eq!(tweak, times(j as u128 + 1, pads.factor), "{j}");
                }
            });
            assert_eq!(seen, count);
        }
    }
}
