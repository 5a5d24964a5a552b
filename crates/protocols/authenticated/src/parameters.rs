//! How long words and tags are, and how many leaky ANDs make a triple.
//!
//! A cheater that wants to know an inner bit of a triple bets on all leaky ANDs of its bucket. Each bet is
//! lost with probability 1/2, and then the run ends; with N buckets of B in layers that are shifted against
//! each other, B bets that were all won fill a bucket with probability at most N^-(B-1). So the cheater
//! succeeds with probability at most 2^-B · N^-(B-1): more bets in a layer lose more than they win (t/2^t <=
//! 1/2).
//!
//! Several pools are no better for it than one, nearly. A cheater that goes on to the next pool has won all
//! bets in those before, at least B in each in which it tried. So all of them together give 1 + 2^-B + 2^-2B
//! + … times the best of them.

use brickwork_base::Error;
use brickwork_primitives::cost::LABEL;
use brickwork_primitives::cut_and_choose::Upper;
use brickwork_primitives::ot::{Cot, pcg};
use brickwork_session::Spent;
use serde::{Deserialize, Serialize};

/// How much is made, sent and kept at a time. It does not affect security: the leak of a pool follows from
/// its size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sizes {
    /// AND gates of the components that share a pool of triples, about, unless one component has more.
    pub lot: usize,
    /// AND gates of the components whose masks are opened and whose tables are sent together, unless one has
    /// more.
    pub part: usize,
    /// Leaky ANDs whose masks are drawn at a time, and most other masks that are drawn with them.
    pub portion: usize,
}

/// The sizes of every honest run.
pub const SIZES: Sizes = Sizes { lot: 1 << 19, part: 1 << 15, portion: 1 << 16 };

/// The part of 2^-s, in bits, that is left to all checks other than pools.
const OF_OTHER_CHECKS: f64 = 0.1;

/// OTs by which digests of as many bits are compared.
pub(super) const COMPARED: usize = 128;

/// Base-2 logarithm of the probability to guess an offset of 127 unknown bits, with 2^15 calls per key.
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

    /// Returns the number of compared bytes of a leaky AND.
    pub fn compared_bytes(&self) -> usize {
        self.compared as usize / 8
    }

    /// Returns the bytes of this many AND gates that wait for their program, at the garbler and the
    /// evaluator.
    pub fn waiting_bytes(&self, ands: u64) -> [u64; 2] {
        let tag = self.tag as u64;
        [4 * tag * ands, 3 * (LABEL + tag) * ands]
    }

    /// Returns the bits that are compared, as a mask.
    pub fn compared_mask(&self) -> u128 {
        (1 << self.compared) - 1
    }
}

/// Buckets of leaky ANDs, each of which gives a triple.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pool {
    /// N: buckets.
    pub size: usize,
    /// B: leaky ANDs in a bucket.
    pub bucket: usize,
}

impl Pool {
    /// None at all.
    pub const NONE: Pool = Pool { size: 0, bucket: 0 };

    /// Returns the cheapest pool of at least `triples` buckets, of which any number together leaks with
    /// probability at most 2^-`bits`, minus the part of other checks.
    pub fn choose(triples: usize, bits: f64) -> Pool {
        if triples == 0 {
            return Pool::NONE;
        }
        let of = |bucket: usize| {
            let bits = bits + OF_OTHER_CHECKS + repeated_log2(bucket);
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
}

/// Returns the base-2 logarithm of a cheater's advantage with any number of pools over one pool, if a bucket
/// has this many leaky ANDs: 1 / (1 - 2^-B).
pub fn repeated_log2(bucket: usize) -> f64 {
    -(1.0 - (-(bucket as f64)).exp2()).log2()
}

/// The way in which a lot was made, which determines its part of a bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Origin {
    /// The pool that its triples were made of.
    pub pool: Pool,
    /// Calls of the OT extension, both ways together.
    pub calls: u64,
    /// Openings of masks.
    pub openings: u64,
}

impl Origin {
    /// Returns the bound on a cheater's success in making it, and in the use of it, if it is given up and
    /// another one takes its place. The bound of a pool assumes that others had been made before it, as a
    /// cheater that gives up a lot may have won its bets in others.
    pub fn bound(&self, level: Level) -> Upper {
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

/// Guess t - 1 bits of an offset.
fn compared_log2(level: Level) -> f64 {
    -f64::from(level.compared - 1)
}

/// The probability of passing with a contradiction in one of this many calls of the OT extension.
fn calls_log2(calls: u64) -> f64 {
    (calls as f64).log2() - CALL_BITS
}

/// A receiver's contradiction in a call of the OT extension passes with probability 2 to the minus this.
const CALL_BITS: f64 = 115.0;

/// Returns a lot's part of the bound in calls of the OT extension: for its portions of masks, and for its
/// number of masks. An iteration of a PCG has a check that lets more pass than that of a call.
pub(super) fn counted_calls(cot: Cot, portions: usize, masks: usize) -> u64 {
    match cot {
        Cot::Pcg => {
            let of_iteration = (pcg::check_log2() + CALL_BITS).exp2().ceil() as u64;
            2 * (1 + pcg::iterations(masks as u64) * of_iteration)
        }
        _ => 2 * portions as u64,
    }
}

/// The probability of guessing an offset, which a MAC or a digest of 128 bits requires, in one of this many
/// openings of both.
fn openings_log2(openings: u64) -> f64 {
    (openings as f64).log2() - 126.0
}

/// The bound on a cheater's success, part by part. It may know an inner bit of a triple of some pool, or
/// guess t - 1 bits of an offset once (a wrong guess ends the run). It may guess the last bytes of a digest's
/// tags on either side, contradict itself in a call of the OT extension, or guess an offset.
#[derive(Clone, Debug)]
pub struct Budget(Vec<(&'static str, f64)>);

impl Budget {
    /// Returns the bound of everything that uses the same offsets: lots of these origins, and this many other
    /// openings.
    pub fn of(level: Level, origins: impl IntoIterator<Item = Origin>, openings: u64) -> Self {
        let (mut worst, mut repeated, mut calls, mut opened) = (f64::NEG_INFINITY, 0.0, 0, openings);
        for Origin { pool, calls: more, openings } in origins {
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
            ("macs of opened masks", openings_log2(opened)),
        ];
        // Components without AND gates give a cheater fewer chances.
        parts.retain(|(_, log2)| log2.is_finite());
        Budget(parts)
    }

    /// Adds lots that were begun and given up, of this risk in units of 2^-128.
    #[must_use]
    pub fn and_given_up(mut self, risk: u128) -> Self {
        if risk > 0 {
            self.0.push(("batches that were given up", Upper::fixed(risk).log2()));
        }
        self
    }

    /// Returns the base-2 logarithm of the sum.
    pub fn log2(&self) -> f64 {
        self.0.iter().map(|(_, log2)| log2.exp2()).sum::<f64>().log2()
    }

    /// Returns the parts for a report.
    pub fn spent(&self) -> Vec<Spent> {
        let parts = self.0.iter();
        parts.map(|&(check, bound_log2)| Spent { check: check.into(), bound_log2 }).collect()
    }
}

/// The portions in which the masks of a lot are drawn.
#[derive(Clone, Copy, Debug)]
pub(super) struct Draws {
    /// Leaky ANDs, of three masks each.
    pub leaky: usize,
    /// Masks for anything else.
    pub masks: usize,
    /// Most of either in a portion.
    pub portion: usize,
}

/// Masks that are drawn together: of leaky ANDs, of a comparison and others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Draw {
    pub leaky: usize,
    pub compared: usize,
    pub masks: usize,
}

impl Draws {
    /// Returns how many portions there are.
    pub fn count(&self) -> usize {
        self.leaky.max(self.masks).div_ceil(self.portion)
    }

    /// Returns how many masks are drawn in all.
    pub fn total(&self) -> usize {
        self.all().map(|draw| draw.total()).sum()
    }

    /// Returns portion number `k`. Leaky ANDs come first, and other masks a part in each portion.
    pub fn at(&self, k: usize) -> Draw {
        let leaky = self.leaky.saturating_sub(k * self.portion).min(self.portion);
        let compared = if k == 0 && leaky > 0 { COMPARED } else { 0 };
        let upto = |k: usize| (self.masks as u128 * k as u128 / self.count() as u128) as usize;
        Draw { leaky, compared, masks: upto(k + 1) - upto(k) }
    }

    /// Returns all portions, in order.
    pub fn all(self) -> impl Iterator<Item = Draw> {
        (0..self.count()).map(move |k| self.at(k))
    }
}

impl Draw {
    /// Masks in all.
    pub fn total(&self) -> usize {
        3 * self.leaky + self.compared + self.masks
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
                let leaks = pool.leaks_log2() + repeated_log2(pool.bucket);
                assert!(
                    pool.size >= triples && leaks <= -bits - OF_OTHER_CHECKS,
                    "{triples} {bits}: {pool:?}"
                );
            }
        }
        assert_eq!(Pool::choose(6400, 40.0), Pool { size: 6400, bucket: 4 });
        assert_eq!(Pool::choose(1 << 19, 40.0), Pool { size: 1 << 19, bucket: 3 });
        assert_eq!(Pool::choose(0, 40.0), Pool::NONE);
    }

    /// A cheater that attacks one pool after another, as long as it wins all bets, gains no more than this
    /// sum.
    #[test]
    fn many_pools_are_nearly_one() {
        for bucket in 3..9 {
            let pool = Pool { size: 1000, bucket };
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

    /// All masks are drawn, each once, in portions that are not too large; a comparison comes with the first
    /// leaky ANDs.
    #[test]
    fn portions_hold_all_masks() {
        for (leaky, masks) in [(0, 0), (0, 5), (1, 0), (100, 0), (100, 3), (3, 100), (64, 64), (1000, 999)] {
            let draws = Draws { leaky, masks, portion: 64 };
            let all: Vec<Draw> = draws.all().collect();
            assert_eq!(all.iter().map(|draw| draw.leaky).sum::<usize>(), leaky);
            assert_eq!(all.iter().map(|draw| draw.masks).sum::<usize>(), masks);
            assert!(all.iter().all(|draw| draw.leaky <= 64 && draw.masks <= 64 && draw.total() > 0));
            assert!(all.windows(2).all(|two| two[0].leaky == 64 || two[1].leaky == 0));
            let compared: Vec<usize> = all.iter().map(|draw| draw.compared).filter(|&n| n > 0).collect();
            assert_eq!(compared, if leaky > 0 { vec![COMPARED] } else { vec![] });
        }
    }

    /// All ways to bet on the leaky ANDs of a small pool, against all shifts: the best fills a bucket, and
    /// wins all of its bets, with the probability of the bound.
    #[test]
    fn row_04_no_bets_do_better_than_the_bound() {
        for (size, bucket) in [(4_usize, 2_usize), (5, 2), (3, 3)] {
            let (sets, shifts) = ((1_usize << size) - 1, size.pow(bucket as u32 - 1));
            let mut best = 0.0_f64;
            for way in 0..sets.pow(bucket as u32) {
                // For each layer the leaky ANDs on which it bets: at least one.
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
