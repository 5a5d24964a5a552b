//! The hash of leaky ANDs: AES under a key for every 2^14 of them, of an input that a random factor moves.
//!
//! ```text
//!   H_P(v) = AES(q) + q,    q = σ(v) + (j+1)·ρ_P in GF(2^128)
//! ```
//!
//! ρ_P is drawn when the OTs that v comes of are checked. Who chose those could otherwise choose two inputs
//! whose hashes cancel, whatever the offset.

use crate::secrets::Secrets;
use brickwork_base::label::Label;
use brickwork_kernels::{Aes128, Kernel};

/// Leaky ANDs under one key: two calls each at the party whose hash it is.
const UNDER_A_KEY: u64 = 1 << 14;

/// Calls that are made at a time: what they fill stays in the cache.
const IN_HAND: usize = 512;

/// Returns σ(x) of Guo, Katz, Wang and Yu (2020): x_L ‖ x_R becomes (x_L + x_R) ‖ x_L. It is linear, and so
/// is σ(x) + x.
pub fn sigma(x: u128) -> u128 {
    let high = x >> 64;
    (high ^ x & u128::from(u64::MAX)) << 64 | high
}

/// Twice this element of GF(2^128), modulo x^128 + x^7 + x^2 + x + 1.
fn twice(x: u128) -> u128 {
    (x << 1) ^ ((x >> 127) * 0x87)
}

/// The multiples (j+1)·ρ, one after the other. The factor is public.
struct Multiples {
    /// (2^(k+1) - 1)·ρ: what leads from the multiple of a number with k ones behind its last 0 to the next.
    steps: [u128; 64],
    next: u64,
    multiple: u128,
}

impl Multiples {
    /// From `first`·ρ on.
    fn new(rho: u128, first: u64) -> Self {
        let (mut power, mut sum, mut multiple) = (rho, 0, 0);
        let mut steps = [0; 64];
        for (k, step) in steps.iter_mut().enumerate() {
            sum ^= power;
            *step = sum;
            multiple ^= power * u128::from(first >> k & 1);
            power = twice(power);
        }
        Multiples { steps, next: first, multiple }
    }
}

impl Iterator for Multiples {
    type Item = u128;

    fn next(&mut self) -> Option<u128> {
        let multiple = self.multiple;
        self.multiple ^= self.steps[self.next.trailing_ones() as usize];
        self.next += 1;
        Some(multiple)
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
    /// Hashes values: those of leaky ANDs 0, 1, …, where they stand.
    pub fn hash(&self, values: &mut [Label]) {
        self.hash_both(values, None);
    }

    /// Hashes values, as [`Pads::hash`]. Returns the hashes of the values plus this offset.
    pub fn hash_pairs(&self, values: &mut [Label], offset: Label) -> Secrets<Label> {
        let mut others = Secrets::new(vec![Label::ZERO; values.len()]);
        self.hash_both(values, Some((offset, &mut others)));
        others
    }

    /// Hashes values where they stand. With an offset, writes the hashes of the values plus that as well.
    fn hash_both(&self, values: &mut [Label], mut other: Option<(Label, &mut Vec<Label>)>) {
        let (kernel, keys) = (Kernel::best(), Aes128::new(self.start));
        let mut multiples = Multiples::new(self.factor, 1);
        let mut inputs = Secrets::new(vec![0u128; 2 * IN_HAND]);
        let mut outputs = Secrets::new(vec![0u128; 2 * IN_HAND]);
        for (k, under) in values.chunks_mut(UNDER_A_KEY as usize).enumerate() {
            let mut key = [0];
            keys.ctr_with(kernel, k as u128, &mut key);
            let key = Aes128::with_kernel(kernel, key[0]);
            for (i, some) in under.chunks_mut(IN_HAND).enumerate() {
                let first = k * UNDER_A_KEY as usize + i * IN_HAND;
                let n = some.len();
                let calls = if other.is_some() { 2 * n } else { n };
                let moved = other.as_ref().map_or(0, |(offset, _)| sigma(offset.bits()));
                for (j, value) in some.iter().enumerate() {
                    inputs[j] = sigma(value.bits()) ^ multiples.next().expect("there is always one more");
                    inputs[n + j] = inputs[j] ^ moved;
                }
                outputs[..calls].copy_from_slice(&inputs[..calls]);
                key.encrypt_with(kernel, &mut outputs[..calls]);
                outputs.iter_mut().zip(&*inputs).take(calls).for_each(|(out, input)| *out ^= input);
                for (value, out) in some.iter_mut().zip(&outputs[..n]) {
                    *value = Label::from_bits(*out);
                }
                if let Some((_, others)) = &mut other {
                    for (value, out) in others[first..].iter_mut().zip(&outputs[n..calls]) {
                        *value = Label::from_bits(*out);
                    }
                }
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

    #[test]
    fn every_multiple_is_the_product() {
        let mut rng = Rng::replayable("test factor");
        for first in [0, 1, 2, 16_383, 16_384, 1 << 40] {
            let rho = rng.block();
            for (j, multiple) in (first..).zip(Multiples::new(rho, first)).take(600) {
                assert_eq!(multiple, times(j.into(), rho), "{j}");
            }
        }
    }

    #[test]
    fn pads_are_those_of_the_formula() {
        let mut rng = Rng::replayable("test pads");
        let pads = Pads { start: rng.block(), factor: rng.block() };
        let offset = rng.label();
        let values: Vec<Label> = (0..(1 << 14) + 700).map(|_| rng.label()).collect();
        let naive = |j: usize, value: Label| {
            let mut key = [(j >> 14) as u128];
            Aes128::new(pads.start).encrypt(&mut key);
            let q = sigma(value.bits()) ^ times(j as u128 + 1, pads.factor);
            let mut block = [q];
            Aes128::new(key[0]).encrypt(&mut block);
            Label::from_bits(block[0] ^ q)
        };
        let mut hashed = values.clone();
        pads.hash(&mut hashed);
        let mut zero = values.clone();
        let others = pads.hash_pairs(&mut zero, offset);
        for j in [0, 1, 511, 512, 700, 16_383, 16_384, 16_385, 17_083] {
            assert!(hashed[j] == naive(j, values[j]) && zero[j] == hashed[j], "{j}");
            assert!(others[j] == naive(j, values[j] ^ offset), "{j}");
        }
    }
}
