//! How long words and tags are, and how many leaky ANDs make a triple.
//!
//! A cheater who wants to know an inner bit of a triple bets on all leaky ANDs of its bucket. Each bet is
//! lost with probability 1/2, and then the run ends; with N buckets of B in layers that are shifted against
//! each other, B bets that were all won fill a bucket with probability at most N^-(B-1). So the cheater
//! succeeds with probability at most 2^-B · N^-(B-1): more bets in a layer lose more than they win (t/2^t <=
//! 1/2).

use brickwork_base::Error;

/// How much is made, sent and kept at a time. It has nothing to do with the security: what a pool leaks
/// follows from its size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sizes {
    /// AND gates of the slots that are made together, unless one slot has more.
    pub batch: usize,
    /// AND gates of the slots whose tables are sent together, unless one slot has more.
    pub group: usize,
    /// Leaky ANDs whose masks are drawn at a time.
    pub piece: usize,
}

/// The sizes of every honest run.
pub const SIZES: Sizes = Sizes { batch: 1 << 20, group: 1 << 14, piece: 1 << 16 };

/// The correlated OTs that masks are made of: four bits of an offset share a row of corrections.
pub(super) const BLOCK: usize = 4;

/// OTs by which digests of as many bits are compared.
pub(super) const COMPARED: usize = 128;

/// Base-2 logarithm of what an offset of 127 unknown bits gives away to a guess, with 2^15 calls a key.
pub const COMPUTATIONAL_BITS: f64 = 111.0;

/// Lengths that follow from the statistical security.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Level {
    /// s, in bits.
    pub security: u32,
    /// t: bits of a leaky AND that are compared, a multiple of 8.
    pub compared: u32,
    /// c: bytes of a label or a MAC that go into a digest once inputs are used.
    pub tag: usize,
}

impl Level {
    /// Returns the lengths for s = 40, 64 or 80.
    ///
    /// # Errors
    /// [`Error::Usage`] for another s.
    pub fn of(security: u32) -> Result<Self, Error> {
        let tag = match security {
            40 => 8,
            64 | 80 => 12,
            other => {
                let known = "components with authenticated masks come with a security of 40, 64 or 80 bits";
                return Err(Error::Usage(format!("{known}, not {other}")));
            }
        };
        Ok(Level { security, compared: security + 8, tag })
    }

    /// Returns the number of bytes of what is compared of a leaky AND.
    pub fn compared_bytes(&self) -> usize {
        self.compared as usize / 8
    }

    /// Returns the bits that are compared, as a mask.
    pub fn compared_mask(&self) -> u128 {
        (1 << self.compared) - 1
    }
}

/// Buckets of leaky ANDs, each of which gives a triple.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pool {
    /// N: buckets.
    pub size: usize,
    /// B: leaky ANDs in a bucket.
    pub bucket: usize,
}

impl Pool {
    /// None at all.
    pub const NONE: Pool = Pool { size: 0, bucket: 0 };

    /// Chooses the cheapest pool of at least `triples` buckets that leaks with probability at most 2^-`bits`.
    pub fn choose(triples: usize, bits: f64) -> Pool {
        if triples == 0 {
            return Pool::NONE;
        }
        let of = |bucket: usize| {
            let least = ((bits - bucket as f64) / (bucket - 1) as f64).exp2().ceil().max(1.0);
            Pool { size: triples.max(least as usize), bucket }
        };
        let cheapest = (3..=bits.ceil() as usize).map(of).min_by_key(|pool| pool.leaky_ands());
        cheapest.expect("there is a largest bucket")
    }

    /// Returns the number of leaky ANDs of all buckets.
    pub fn leaky_ands(&self) -> usize {
        self.size * self.bucket
    }

    /// Returns the base-2 logarithm of the probability with which a cheater learns an inner bit of a triple.
    pub fn leaks_log2(&self) -> f64 {
        match self.size {
            0 => f64::NEG_INFINITY,
            size => -(self.bucket as f64) - (self.bucket - 1) as f64 * (size as f64).log2(),
        }
    }

    /// Splits the leaky ANDs into pieces that are made at a time; returns the size of each.
    pub(super) fn pieces(&self, sizes: Sizes) -> impl Iterator<Item = usize> + use<> {
        let (all, piece) = (self.leaky_ands(), sizes.piece);
        (0..all).step_by(piece).map(move |first| piece.min(all - first))
    }

    /// Masks that are drawn at once: those that leaky ANDs are made of in pieces, of which the first comes
    /// with those of the comparison and with `masks` more.
    pub(super) fn draws(&self, sizes: Sizes, masks: usize) -> impl Iterator<Item = usize> + use<> {
        let first = match self.size {
            0 => masks,
            _ => COMPARED + masks + 3 * sizes.piece.min(self.leaky_ands()),
        };
        std::iter::once(first).chain(self.pieces(sizes).skip(1).map(|count| 3 * count))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// B by shifts for pools of 2^n, as the table of the design has it, and the least pools of some B.
    #[test]
    fn buckets_are_those_that_the_bound_allows() {
        for (security, expected) in
            [(40, [4, 4, 4, 4, 3, 3]), (64, [6, 6, 5, 5, 4, 4]), (80, [8, 7, 6, 6, 5, 5])]
        {
            for (n, expected) in (12..).step_by(2).zip(expected) {
                let pool = Pool { size: 1 << n, bucket: expected };
                assert!(pool.leaks_log2() <= -f64::from(security), "{pool:?}");
                let fewer = Pool { bucket: expected - 1, ..pool };
                assert!(fewer.leaks_log2() > -f64::from(security), "{fewer:?}");
            }
        }
        for (size, bucket) in [(370_728, 3), (4096, 4), (431, 5)] {
            assert!(Pool { size, bucket }.leaks_log2() <= -40.0);
            assert!(Pool { size: size - 1, bucket }.leaks_log2() > -40.0);
        }
    }

    #[test]
    fn pools_hold_what_was_asked_for_and_leak_no_more() {
        for triples in (1..300).chain([1000, 4095, 4096, 6400, 370_727, 370_728, 1 << 20, 1 << 24]) {
            for bits in [40.0, 41.0, 47.5, 64.0, 80.0, 87.0] {
                let pool = Pool::choose(triples, bits);
                assert!(pool.size >= triples && pool.leaks_log2() <= -bits, "{triples} {bits}: {pool:?}");
            }
        }
        assert_eq!(Pool::choose(6400, 41.0), Pool { size: 6400, bucket: 4 });
        assert_eq!(Pool::choose(1 << 20, 41.0), Pool { size: 1 << 20, bucket: 3 });
        assert_eq!(Pool::choose(0, 41.0), Pool::NONE);
    }

    /// All ways to bet on the leaky ANDs of a small pool, against all shifts: the best fills a bucket, and
    /// wins all of its bets, with the probability of the bound.
    #[test]
    fn row_04_no_bets_do_better_than_the_bound() {
        for (size, bucket) in [(4_usize, 2_usize), (5, 2), (3, 3)] {
            let (sets, shifts) = ((1_usize << size) - 1, size.pow(bucket as u32 - 1));
            let mut best = 0.0_f64;
            for way in 0..sets.pow(bucket as u32) {
                // Of each layer which of its leaky ANDs are bet on: at least one.
                let layer = |k: usize| way / sets.pow(k as u32) % sets + 1;
                let is_bet = |k: usize, i: usize| layer(k) >> (i % size) & 1 == 1;
                let shift =
                    |all: usize, k: usize| if k == 0 { 0 } else { all / size.pow(k as u32 - 1) % size };
                let full = |all: usize| (0..size).any(|i| (0..bucket).all(|k| is_bet(k, i + shift(all, k))));
                let bets: u32 = (0..bucket).map(|k| layer(k).count_ones()).sum();
                let filled = (0..shifts).filter(|&all| full(all)).count();
                best = best.max(filled as f64 / shifts as f64 * 0.5_f64.powi(bets as i32));
            }
            let bound = Pool { size, bucket }.leaks_log2().exp2();
            assert!((best / bound - 1.0).abs() < 1e-9, "{size} {bucket}: {best}, not {bound}");
        }
    }

    #[test]
    fn lengths_follow_the_security() {
        assert_eq!(Level::of(40).unwrap(), Level { security: 40, compared: 48, tag: 8 });
        assert_eq!(Level::of(80).unwrap(), Level { security: 80, compared: 88, tag: 12 });
        assert!(matches!(Level::of(60), Err(Error::Usage(_))));
    }
}
