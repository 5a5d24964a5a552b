//! Randomness: one generator for each purpose, seeded by the operating system.
//!
//! A generator is made where it is needed and dropped when the step ends. Generators cannot be cloned, and
//! there is no global one. So no two purposes, parties or processes ever draw from the same stream. A forked
//! process has the state of every generator of its parent. Therefore a value that holds a generator for
//! longer than a call belongs to its process ([`process`](crate::process)). A child started by
//! [`std::process::Command`] has new generators.

use chacha20::ChaCha20Rng;
use rand_core::{Rng as _, SeedableRng as _};
use zeroize::{Zeroize, ZeroizeOnDrop, Zeroizing};

use crate::Error;
use crate::label::{Delta, Label};

/// Number of bytes of a [`Seed`].
pub const SEED_BYTES: usize = 16;

/// Contexts of BLAKE3's key derivation: streams from the operating system and streams that both parties
/// expand are always different.
const PRIVATE: &str = "brickwork 2026-11 random stream seeded by the operating system";
const PUBLIC: &str = "brickwork 2026-11 public stream expanded from a seed";

/// A 128-bit seed for a generator that both parties run, or a key from an oblivious transfer.
#[derive(Clone, PartialEq, Eq, Zeroize, ZeroizeOnDrop)]
pub struct Seed([u8; SEED_BYTES]);

impl Seed {
    /// Makes the seed with these bytes.
    pub const fn from_bytes(bytes: [u8; SEED_BYTES]) -> Self {
        Seed(bytes)
    }

    /// Returns the bytes of the seed.
    pub fn as_bytes(&self) -> &[u8; SEED_BYTES] {
        &self.0
    }

    /// Returns the seed as an integer, little endian, for use as a key of a block cipher.
    pub fn bits(&self) -> u128 {
        u128::from_le_bytes(self.0)
    }
}

impl std::fmt::Debug for Seed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Seed(secret)")
    }
}

/// A stream of random bytes for one purpose: ChaCha20 with its own key, erased when dropped.
pub struct Rng(ChaCha20Rng);

/// Fails to compile if the cipher does not erase its state.
const _: fn() = || {
    fn erased_when_dropped<T: ZeroizeOnDrop>() {}
    erased_when_dropped::<ChaCha20Rng>();
};

impl Rng {
    /// Makes a generator for the purpose `domain`, seeded with 256 fresh bits from the operating system.
    ///
    /// # Errors
    /// [`Error::Resource`] if the operating system gives no randomness. There is no fallback.
    pub fn new(domain: &'static str) -> Result<Self, Error> {
        Self::seeded_by(domain, getrandom::fill)
    }

    /// Makes a replayable generator for this crate's tests. Other crates use `brickwork_testing::Replayable`.
    ///
    /// # Panics
    /// If it is called on a thread that is not the thread of the test.
    #[cfg(test)]
    pub(crate) fn replayable(domain: &'static str) -> Self {
        Self::expand(&Seed::from_bytes(brickwork_testing::seed()), domain)
    }

    fn seeded_by<E: std::fmt::Display>(
        domain: &str,
        source: impl FnOnce(&mut [u8]) -> Result<(), E>,
    ) -> Result<Self, Error> {
        let mut seed = Zeroizing::new([0; 32]);
        source(&mut *seed).map_err(|error| {
            Error::Resource(format!(
                "the operating system gave no random bytes ({error}), without which no secret can be made"
            ))
        })?;
        Ok(Self::derive(PRIVATE, &*seed, domain))
    }

    /// Makes the generator that anybody who knows `seed` can run, for challenges: the verifier draws a seed,
    /// and both parties expand it. This generator must never be a source of secrets.
    pub fn expand(seed: &Seed, domain: &'static str) -> Self {
        Self::derive(PUBLIC, seed.as_bytes(), domain)
    }

    /// `seed` has one length per context, so seed and domain cannot be confused.
    fn derive(context: &str, seed: &[u8], domain: &str) -> Self {
        let mut hasher = blake3::Hasher::new_derive_key(context);
        hasher.update(seed).update(domain.as_bytes());
        let key = Zeroizing::new(*hasher.finalize().as_bytes());
        hasher.zeroize();
        Rng(ChaCha20Rng::from_seed(*key))
    }

    /// Fills `bytes` with random bytes.
    pub fn fill(&mut self, bytes: &mut [u8]) {
        self.0.fill_bytes(bytes);
    }

    /// Returns 128 random bits.
    pub fn block(&mut self) -> u128 {
        let mut bytes = [0; 16];
        self.fill(&mut bytes);
        let block = u128::from_le_bytes(bytes);
        bytes.zeroize();
        block
    }

    /// Returns a random label.
    pub fn label(&mut self) -> Label {
        Label::from_bits(self.block())
    }

    /// Returns a random offset: 127 random bits and a least significant bit of 1.
    pub fn delta(&mut self) -> Delta {
        Delta::new(self.block())
    }

    /// Returns a random seed.
    pub fn seed(&mut self) -> Seed {
        let mut seed = Seed([0; SEED_BYTES]);
        self.fill(&mut seed.0);
        seed
    }

    /// Returns a uniform number below `bound` (Lemire's multiplication with rejection). The function is for
    /// public numbers, because its time depends on the stream.
    ///
    /// # Panics
    /// If `bound` is 0.
    pub fn below(&mut self, bound: u64) -> u64 {
        assert!(bound > 0, "the bound must be above 0");
        // 2^64 mod bound is the number of rejected low parts. Without them, equally many draws give each
        // result.
        let surplus = bound.wrapping_neg() % bound;
        loop {
            let product = u128::from(self.0.next_u64()) * u128::from(bound);
            if product as u64 >= surplus {
                return (product >> 64) as u64;
            }
        }
    }
}

impl std::fmt::Debug for Rng {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Rng(secret)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn row_26_failing_randomness_is_an_error() {
        let failed = Rng::seeded_by("test", |_| Err("no entropy"));
        assert!(matches!(failed, Err(Error::Resource(text)) if text.contains("no entropy")));
    }

    #[test]
    fn row_26_every_generator_is_fresh() {
        let mut a = Rng::new("test").unwrap();
        let mut b = Rng::new("test").unwrap();
        assert_ne!(a.block(), b.block());
        assert_ne!(a.block(), a.block());
    }

    /// If 2^64 draws cannot be divided evenly among the numbers, some are rejected. Otherwise every third
    /// number here would be twice as frequent as the others.
    #[test]
    fn row_26_no_number_comes_more_often_than_others() {
        let mut rng = Rng::replayable("test");
        let mut counts = [0u32; 3];
        (0..9000).for_each(|_| counts[(rng.below(3 << 62) % 3) as usize] += 1);
        // 3000 of each number are expected, with a standard deviation of about 45; without rejection, one
        // count would be 4500.
        assert!(counts.iter().all(|count| count.abs_diff(3000) < 450), "{counts:?}");
    }

    #[test]
    fn a_seed_and_a_domain_give_one_stream() {
        let block = |seed: u8, domain| Rng::expand(&Seed::from_bytes([seed; SEED_BYTES]), domain).block();
        assert_eq!(block(1, "a"), block(1, "a"));
        assert_ne!(block(1, "a"), block(1, "b"));
        assert_ne!(block(1, "a"), block(2, "a"));
        // Both parties with different builds must expand a challenge in the same way, so this compares with
        // known values.
        assert_eq!(block(0, "known answer"), KNOWN);
        // A private generator with the same seed bytes gives another stream.
        let mut private = Rng::seeded_by::<&str>("a", |seed| {
            seed.fill(1);
            Ok(())
        });
        assert_ne!(private.as_mut().unwrap().block(), block(1, "a"));
    }

    const KNOWN: u128 = 102_081_989_152_162_633_579_668_228_975_647_935_065;

    #[test]
    fn below_is_uniform() {
        let mut rng = Rng::expand(&Seed::from_bytes([7; SEED_BYTES]), "uniform");
        for bound in [1, 2, 3, 7, 100] {
            let draws = 20_000 * bound;
            let mut counts = vec![0_u64; bound as usize];
            for _ in 0..draws {
                counts[rng.below(bound) as usize] += 1;
            }
            // The expected count of each cell is 20 000, and 849 is six standard deviations.
            assert!(counts.iter().all(|&count| count.abs_diff(20_000) < 849), "{bound}: {counts:?}");
        }
    }

    /// The draws of a test are in sequence and on its own thread, because their order on other threads would
    /// vary.
    #[test]
    fn replayable_draws_are_fresh() {
        let block = || Rng::replayable("test").block();
        assert_ne!(block(), block());
        std::thread::scope(|scope| assert!(scope.spawn(block).join().is_err()));
    }

    #[test]
    fn deltas_have_their_last_bit_set() {
        let mut rng = Rng::replayable("test");
        assert!((0..100).all(|_| rng.delta().bits() & 1 == 1));
    }
}
