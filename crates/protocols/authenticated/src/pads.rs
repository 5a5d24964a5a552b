//! The hash of leaky ANDs: AES under a key for every 2^14 of them, of an input that a random factor moves.
//!
//! ```text
//!   H_P(v) = AES(q) + q,    q = σ(v) + (j+1)·ρ_P in GF(2^128)
//! ```
//!
//! ρ_P is drawn when the OTs that v comes of are checked. Otherwise a party that chooses them could choose
//! two inputs whose hashes cancel for any offset.

use std::ops::Range;

use brickwork_kernels::{Aes128, Kernel, LeakyHash};

/// Leaky ANDs under one key: two calls each at the party whose hash it is.
const UNDER_A_KEY: usize = 1 << 14;

/// The number of leaky ANDs that are hashed at a time: their data stays in the cache.
pub(super) const STRIP: usize = 512;

/// Twice this element of GF(2^128), modulo x^128 + x^7 + x^2 + x + 1.
fn twice(x: u128) -> u128 {
    (x << 1) ^ ((x >> 127) * 0x87)
}

/// The multiples (j+1)·ρ, a strip of them after the other. The factor is public.
struct Multiples {
    /// Those of the numbers 1 to 511.
    low: [u128; STRIP],
    /// (2^(k+1) - 1)·512·ρ: the step from the multiple of 512·i, where i has k ones after its last 0, to the
    /// next.
    steps: [u128; 64],
    strip: u64,
    multiple: u128,
}

impl Multiples {
    /// From ρ on.
    fn new(rho: u128) -> Self {
        let mut low = [0; STRIP];
        let mut power = rho;
        for k in (0..STRIP.ilog2()).map(|k| 1 << k) {
            // Number n + 2^k is n and that power, without carry.
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

    /// Writes those of the next strip.
    fn write(&mut self, multiples: &mut [u128; STRIP]) {
        let next = self.multiple ^ self.steps[self.strip.trailing_ones() as usize];
        for (multiple, low) in multiples.iter_mut().zip(&self.low) {
            *multiple = self.multiple ^ low;
        }
        multiples[STRIP - 1] = next;
        (self.multiple, self.strip) = (next, self.strip + 1);
    }
}

/// A party's hash, of some leaky ANDs.
#[derive(Clone, Copy)]
pub struct Pads {
    /// Where the keys begin.
    pub start: u128,
    /// ρ.
    pub factor: u128,
}

impl Pads {
    /// Goes through the hashes of `count` leaky ANDs, strip after strip: `hash` is given where a strip is.
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

    /// The product in GF(2^128), bit by bit.
    fn times(mut a: u128, mut b: u128) -> u128 {
        let mut product = 0;
        while a != 0 {
            product ^= b * (a & 1);
            (a, b) = (a >> 1, twice(b));
        }
        product
    }

    /// Strip after strip, over the ends of strips and keys, and to an end that is none.
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
