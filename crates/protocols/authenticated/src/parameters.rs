//! The lengths of words and tags, and the number of leaky ANDs in a triple.
//!
//! A cheater that wants to know an inner bit of a triple bets on all leaky ANDs of its bucket. It loses each
//! bet with probability 1/2, and a lost bet ends the run with an error. If N buckets of B leaky ANDs are in
//! shifted layers, B won bets are in one bucket with probability at most N^-(B-1). So the cheater succeeds
//! with probability at most 2^-B · N^-(B-1). More bets in a layer do not help: t bets win with probability
//! 2^-t, and t/2^t <= 1/2.
//!
//! With several pools, a cheater gains hardly more than with one. A cheater that tries the next pool has won
//! all its bets in the earlier pools, at least B in each. So all pools together give 1 + 2^-B + 2^-2B + …
//! times the best pool.

use brickwork_base::Error;
use brickwork_primitives::cut_and_choose::Upper;
use brickwork_primitives::ot::{Cot, pcg};
use brickwork_protocol::CheckSpent;
use serde::{Deserialize, Serialize};

/// The amounts that are made, sent and kept at a time. They do not affect security: the probability of a leak
/// follows from the size of each pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sizes {
    /// About the number of AND gates that share a pool of triples. A single component may have more AND
    /// gates.
    pub lot: usize,
    /// The number of AND gates whose masks are opened and whose tables are sent together. A single component
    /// may have more AND gates.
    pub part: usize,
    /// The number of leaky ANDs whose masks are drawn at a time. At most as many other masks are drawn with
    /// them.
    pub portion: usize,
}

/// The largest number of bytes of leaky ANDs that a party sends before it reads. A connection that accepts
/// nothing reads 16 MiB ahead ([`brickwork_wire`]), so two parties that send never wait for each other.
pub const IN_FLIGHT: usize = 12 << 20;

/// The largest number of portions by which a party may be ahead of the peer. A larger number would only cost
/// memory.
const MOST_AHEAD: usize = 16;

/// The sizes of every honest run.
pub const SIZES: Sizes = Sizes { lot: 1 << 19, part: 1 << 15, portion: 1 << 16 };

/// Pools may leak at most with probability 2^-(s + this constant). The rest of 2^-s is left for the other
/// checks.
const OF_OTHER_CHECKS: f64 = 0.1;

/// The number of OTs that compare digests, and of bits in a digest.
pub(super) const COMPARED: usize = 128;

/// Minus the base-2 logarithm of the probability that a cheater guesses an offset: 127 bits are unknown, and
/// 2^15 calls of the hash use one key.
pub const COMPUTATIONAL_BITS: f64 = 111.0;

/// The lengths that follow from the statistical security s.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StatisticalLengths {
    /// The statistical security s in bits.
    pub security: u32,
    /// t: the number of compared bits of a leaky AND, a multiple of 8.
    pub compared: u32,
    /// c: the number of bytes of a label or a MAC that enter a digest, after inputs are used.
    pub tag: usize,
}

impl StatisticalLengths {
    /// Returns the lengths for s = 40, 64 or 80.
    ///
    /// # Errors
    /// [`Error::Usage`] for another s.
    pub fn of(security: u32) -> Result<Self, Error> {
        let tag = match security {
            40 => 8,
            64 | 80 => 12,
            other => {
                let known = "--protocol authenticated offers a security of 40, 64 or 80 bits";
                return Err(Error::Usage(format!("{known}, not {other}")));
            }
        };
        Ok(StatisticalLengths { security, compared: security + 8, tag })
    }

    /// Returns the number of compared bytes of a leaky AND.
    pub fn compared_bytes(&self) -> usize {
        self.compared as usize / 8
    }

    /// Returns a mask for the compared bits of a word.
    pub fn compared_mask(&self) -> u128 {
        (1 << self.compared) - 1
    }
}

/// A set of buckets of leaky ANDs. Each bucket gives one triple.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TriplePool {
    /// N: the number of buckets.
    pub size: usize,
    /// B: the number of leaky ANDs in a bucket.
    pub bucket: usize,
}

impl TriplePool {
    /// The empty pool.
    pub const NONE: TriplePool = TriplePool { size: 0, bucket: 0 };

    /// Returns the cheapest pool of at least `triples` buckets. All such pools together, however many there
    /// are, leak with probability at most 2^-`bits`, less a part for the other checks.
    pub fn choose(triples: usize, bits: f64) -> TriplePool {
        if triples == 0 {
            return TriplePool::NONE;
        }
        let of = |bucket: usize| {
            let bits = bits + OF_OTHER_CHECKS + repeated_log2(bucket);
            let least = ((bits - bucket as f64) / (bucket - 1) as f64).exp2().ceil().max(1.0);
            TriplePool { size: triples.max(least as usize), bucket }
        };
        let cheapest = (3..=bits.ceil() as usize).map(of).min_by_key(|pool| pool.leaky_ands());
        cheapest.expect("the search tries at least one bucket size")
    }

    /// Returns the number of leaky ANDs of all buckets.
    pub fn leaky_ands(&self) -> usize {
        self.size * self.bucket
    }

    /// Returns the base-2 logarithm of the probability that a cheater learns an inner bit of a triple of this
    /// pool.
    pub fn leaks_log2(&self) -> f64 {
        match self.size {
            0 => f64::NEG_INFINITY,
            size => -(self.bucket as f64) - (self.bucket - 1) as f64 * (size as f64).log2(),
        }
    }
}

/// Returns the base-2 logarithm of 1 / (1 - 2^-B). By this factor, any number of pools helps a cheater more
/// than one pool does.
pub fn repeated_log2(bucket: usize) -> f64 {
    -(1.0 - (-(bucket as f64)).exp2()).log2()
}

/// The figures of a lot that a bound depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LotOrigin {
    /// The pool of the lot's triples.
    pub pool: TriplePool,
    /// The number of calls of the OT extension, in both directions together.
    pub calls: u64,
    /// The number of openings of masks.
    pub openings: u64,
}

impl LotOrigin {
    /// Returns the bound on a cheater's success in this lot, in the case that the lot is given up and made
    /// again. The factor for many pools is included, because a cheater that gives up a lot may have won its
    /// bets in others.
    pub fn bound(&self, level: StatisticalLengths) -> Upper {
        let (leaks, compared) = match self.pool.size {
            0 => (f64::NEG_INFINITY, f64::NEG_INFINITY),
            _ => (self.pool.leaks_log2() + repeated_log2(self.pool.bucket), compared_log2(level)),
        };
        [leaks, compared, calls_log2(self.calls), openings_log2(self.openings)]
            .into_iter()
            .filter(|log2| log2.is_finite())
            .map(Upper::exp2)
            .sum()
    }
}

/// Returns the base-2 logarithm of the probability that a cheater guesses t - 1 bits of an offset.
fn compared_log2(level: StatisticalLengths) -> f64 {
    -f64::from(level.compared - 1)
}

/// Returns the base-2 logarithm of the probability that contradicting choices in one of these calls are not
/// detected.
fn calls_log2(calls: u64) -> f64 {
    (calls as f64).log2() - CALL_BITS
}

/// If a receiver's choices in a call of the OT extension contradict each other, the check misses this with
/// probability 2^-`CALL_BITS`.
const CALL_BITS: f64 = 115.0;

/// Returns the number of calls of the OT extension that a lot adds to the bound. An iteration of a PCG counts
/// as several calls, because its check misses a cheat more easily.
pub(super) fn counted_calls(cot: Cot, portions: usize, masks: usize) -> u64 {
    match cot {
        Cot::Pcg => {
            let of_iteration = (pcg::check_log2() + CALL_BITS).exp2().ceil() as u64;
            2 * (1 + pcg::iterations(masks as u64) * of_iteration)
        }
        _ => 2 * portions as u64,
    }
}

/// Returns the base-2 logarithm of the probability that a cheater guesses an offset in one of these openings.
/// A wrong share needs such a guess, because it has a MAC and a digest of 128 bits.
fn openings_log2(openings: u64) -> f64 {
    (openings as f64).log2() - 126.0
}

/// The bound on a cheater's success, part by part. The cheater may know an inner bit of a triple. It may
/// guess t - 1 bits of an offset; a wrong guess ends the run. It may guess the tags in a digest, as either
/// party. Contradicting choices in a call of the OT extension may stay undetected. It may also guess an
/// offset.
#[derive(Clone, Debug)]
pub struct LotBudget(Vec<(&'static str, f64)>);

impl LotBudget {
    /// Returns the bound of everything that uses the same offsets: lots with these figures, and further
    /// openings.
    pub fn of(
        level: StatisticalLengths,
        origins: impl IntoIterator<Item = LotOrigin>,
        openings: u64,
    ) -> Self {
        let (mut worst, mut repeated, mut calls, mut opened) = (f64::NEG_INFINITY, 0.0, 0, openings);
        for LotOrigin { pool, calls: more, openings } in origins {
            (calls, opened) = (calls + more, opened + openings);
            if pool.size > 0 {
                worst = pool.leaks_log2().max(worst);
                repeated = repeated_log2(pool.bucket).max(repeated);
            }
        }
        let mut parts = vec![
            ("leaky ANDs that fill a bucket", worst + repeated),
            ("leaky ANDs that are compared", compared_log2(level)),
            ("tags of labels and of gates", 1.0 - (8.0 * level.tag as f64 - 1.0)),
            ("calls of the OT extension", calls_log2(calls)),
            ("MACs of opened masks", openings_log2(opened)),
        ];
        // Without AND gates some parts have probability 0, whose logarithm is infinite.
        parts.retain(|(_, log2)| log2.is_finite());
        LotBudget(parts)
    }

    /// Adds the risk of lots that were begun and given up, in units of 2^-128.
    #[must_use]
    pub fn and_given_up(mut self, risk: u128) -> Self {
        if risk > 0 {
            self.0.push(("batches that were given up", Upper::fixed(risk).log2()));
        }
        self
    }

    /// Returns the base-2 logarithm of the sum of all parts.
    pub fn log2(&self) -> f64 {
        self.0.iter().map(|(_, log2)| log2.exp2()).sum::<f64>().log2()
    }

    /// Returns the parts, for a report.
    pub fn spent(&self) -> Vec<CheckSpent> {
        let parts = self.0.iter();
        parts.map(|&(check, bound_log2)| CheckSpent { check: check.into(), bound_log2 }).collect()
    }
}

/// The numbers of masks of a lot, and their division into portions.
#[derive(Clone, Copy, Debug)]
pub(super) struct MaskDraws {
    /// The number of leaky ANDs. Each takes three masks.
    pub leaky: usize,
    /// The number of masks for other purposes.
    pub masks: usize,
    /// The largest number of leaky ANDs, and the most other masks, of a portion.
    pub portion: usize,
}

/// The numbers of masks of one portion: for leaky ANDs, for the comparison, and for other purposes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Draw {
    pub leaky: usize,
    pub compared: usize,
    pub masks: usize,
}

impl MaskDraws {
    /// Returns by how many portions a party is ahead of the peer's messages, if masks come from these OTs: as
    /// many as [`IN_FLIGHT`] allows. Both parties take the same number, because it fixes the order of
    /// messages.
    pub fn ahead(&self, cot: Cot, level: StatisticalLengths) -> usize {
        // A portion has three masks for each leaky AND. It has at most as many other masks as leaky ANDs.
        let choices = (4 * self.portion * cot.rows()).div_ceil(8);
        let others = (level.compared as usize + 1) * self.portion.div_ceil(8);
        let ahead = IN_FLIGHT.saturating_sub(choices) / (choices + others);
        ahead.clamp(1, MOST_AHEAD).min(self.count())
    }

    /// Returns the number of portions.
    pub fn count(&self) -> usize {
        self.leaky.max(self.masks).div_ceil(self.portion)
    }

    /// Returns the number of masks of all portions.
    pub fn total(&self) -> usize {
        self.all().map(|draw| draw.total()).sum()
    }

    /// Returns portion number `k`. Other masks fill each portion in turn.
    pub fn at(&self, k: usize) -> Draw {
        let leaky = self.leaky.saturating_sub(k * self.portion).min(self.portion);
        let compared = if k == 0 && leaky > 0 { COMPARED } else { 0 };
        let upto = |k: usize| (self.masks as u128 * k as u128 / self.count() as u128) as usize;
        Draw { leaky, compared, masks: upto(k + 1) - upto(k) }
    }

    pub fn all(self) -> impl Iterator<Item = Draw> {
        (0..self.count()).map(move |k| self.at(k))
    }
}

impl Draw {
    /// Returns the number of masks of this portion.
    pub fn total(&self) -> usize {
        3 * self.leaky + self.compared + self.masks
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The bucket sizes B of pools with 2^n triples, as in the design's table, and the smallest pools for
    /// some values of B.
    #[test]
    fn buckets_are_those_that_the_bound_allows() {
        for (security, expected) in
            [(40, [4, 4, 4, 4, 3, 3]), (64, [6, 6, 5, 5, 4, 4]), (80, [8, 7, 6, 6, 5, 5])]
        {
            for (n, expected) in (12..).step_by(2).zip(expected) {
                let pool = TriplePool { size: 1 << n, bucket: expected };
                assert!(pool.leaks_log2() <= -f64::from(security), "{pool:?}");
                let fewer = TriplePool { bucket: expected - 1, ..pool };
                assert!(fewer.leaks_log2() > -f64::from(security), "{fewer:?}");
            }
        }
        for (size, bucket) in [(370_728, 3), (4096, 4), (431, 5)] {
            assert!(TriplePool { size, bucket }.leaks_log2() <= -40.0);
            assert!(TriplePool { size: size - 1, bucket }.leaks_log2() > -40.0);
        }
    }

    #[test]
    fn pools_hold_what_was_asked_for_and_leak_no_more() {
        for triples in (1..300).chain([1000, 4095, 4096, 6400, 370_727, 370_728, 1 << 20, 1 << 24]) {
            for bits in [40.0, 41.0, 47.5, 64.0, 80.0, 87.0] {
                let pool = TriplePool::choose(triples, bits);
                let leaks = pool.leaks_log2() + repeated_log2(pool.bucket);
                assert!(
                    pool.size >= triples && leaks <= -bits - OF_OTHER_CHECKS,
                    "{triples} {bits}: {pool:?}"
                );
            }
        }
        assert_eq!(TriplePool::choose(6400, 40.0), TriplePool { size: 6400, bucket: 4 });
        assert_eq!(TriplePool::choose(1 << 19, 40.0), TriplePool { size: 1 << 19, bucket: 3 });
        assert_eq!(TriplePool::choose(0, 40.0), TriplePool::NONE);
    }

    /// A cheater that attacks pools one after another, until it loses a bet, gains no more than the factor
    /// allows.
    #[test]
    fn many_pools_are_nearly_one() {
        for bucket in 3..9 {
            let pool = TriplePool { size: 1000, bucket };
            let (mut alive, mut success) = (1.0, 0.0);
            for _ in 0..10_000 {
                success += alive * pool.leaks_log2().exp2();
                alive *= 0.5_f64.powi(bucket as i32);
            }
            let bound = (pool.leaks_log2() + repeated_log2(bucket)).exp2();
            assert!(
                success <= bound * (1.0 + 1e-9) && success > bound * 0.999,
                "{bucket}: {success} {bound}"
            );
        }
    }

    /// The portions hold each mask once and are not too large. The first one has the masks of the comparison.
    #[test]
    fn portions_hold_all_masks() {
        for (leaky, masks) in [(0, 0), (0, 5), (1, 0), (100, 0), (100, 3), (3, 100), (64, 64), (1000, 999)] {
            let draws = MaskDraws { leaky, masks, portion: 64 };
            let all: Vec<Draw> = draws.all().collect();
            assert_eq!(all.iter().map(|draw| draw.leaky).sum::<usize>(), leaky);
            assert_eq!(all.iter().map(|draw| draw.masks).sum::<usize>(), masks);
            assert!(all.iter().all(|draw| draw.leaky <= 64 && draw.masks <= 64 && draw.total() > 0));
            assert!(all.windows(2).all(|two| two[0].leaky == 64 || two[1].leaky == 0));
            let compared: Vec<usize> = all.iter().map(|draw| draw.compared).filter(|&n| n > 0).collect();
            assert_eq!(compared, if leaky > 0 { vec![COMPARED] } else { vec![] });
        }
    }

    /// Tries all ways to bet on the leaky ANDs of a small pool, for all shifts. The best way succeeds with
    /// the probability of the bound: it fills a bucket and wins all bets.
    #[test]
    fn row_04_no_bets_do_better_than_the_bound() {
        for (size, bucket) in [(4_usize, 2_usize), (5, 2), (3, 3)] {
            let (sets, shifts) = ((1_usize << size) - 1, size.pow(bucket as u32 - 1));
            let mut best = 0.0_f64;
            for way in 0..sets.pow(bucket as u32) {
                // For each layer a nonempty set of leaky ANDs to bet on.
                let layer = |k: usize| way / sets.pow(k as u32) % sets + 1;
                let is_bet = |k: usize, i: usize| layer(k) >> (i % size) & 1 == 1;
                let shift =
                    |all: usize, k: usize| if k == 0 { 0 } else { all / size.pow(k as u32 - 1) % size };
                let full = |all: usize| (0..size).any(|i| (0..bucket).all(|k| is_bet(k, i + shift(all, k))));
                let bets: u32 = (0..bucket).map(|k| layer(k).count_ones()).sum();
                let filled = (0..shifts).filter(|&all| full(all)).count();
                best = best.max(filled as f64 / shifts as f64 * 0.5_f64.powi(bets as i32));
            }
            let bound = TriplePool { size, bucket }.leaks_log2().exp2();
            assert!((best / bound - 1.0).abs() < 1e-9, "{size} {bucket}: {best}, not {bound}");
        }
    }

    #[test]
    fn lengths_follow_the_security() {
        assert_eq!(
            StatisticalLengths::of(40).unwrap(),
            StatisticalLengths { security: 40, compared: 48, tag: 8 }
        );
        assert_eq!(
            StatisticalLengths::of(80).unwrap(),
            StatisticalLengths { security: 80, compared: 88, tag: 12 }
        );
        assert!(matches!(StatisticalLengths::of(60), Err(Error::Usage(_))));
    }
}
