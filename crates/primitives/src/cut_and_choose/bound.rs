//! The probability that bad copies survive cut-and-choose.
//!
//! An adversary makes `t` of the `L = N·B + c` copies bad before the evaluator draws the challenge. In a
//! uniform challenge, `i` of them fall into buckets and `j = t − i` among the opened copies with probability
//! `C(N·B, i)·C(c, j) / C(L, t)`. Each of the `j` opened bad copies stays undetected with probability `u`: 0,
//! or 1/2 if opening shows only one of two halves. The adversary wins if some bucket then contains `m` bad
//! copies: `m = B` if one good copy saves the bucket, and `(B + 1)/2` if the majority decides. By the union
//! bound, this has probability at most `w_i = min(1, N · Σ_{k ≥ m} C(B,k)·C(N·B − B, i − k) / C(N·B, i))`. So
//!
//! ```text
//! success(t) ≤ Σ_{i+j=t} C(N·B, i) · w_i · C(c, j) · u^j / C(L, t)
//! survival(t) = the same with all w_i = 1
//! ```
//!
//! and the bound is the maximum over all `t`.
//!
//! The following verification of the maximum assumes nothing about the shape of `success`. Each further bad
//! copy is opened and stays undetected, or it lies in a bucket, and `w_i` grows with `i`. Hence, for all `e`
//! from 0 to `d`,
//!
//! ```text
//! survival(t + e) ≤ survival(t)
//! success(t + e) ≤ Σ_{i+j=t} C(N·B, i) · w_{i+d} · C(c, j) · u^j / C(L, t)
//! ```
//!
//! So one sum covers many `t` that are far from the maximum. Once `survival(t)` is low enough, greater `t` do
//! not matter. All arithmetic rounds up ([`Upper`]), so the result is a true upper bound. Floating point
//! (module `estimate`) only guesses where the maximum is; a wrong guess costs time or copies, never security.

use super::Upper;
use super::bucketing::{BucketRule, Bucketing, Detection, most_bad};
use super::estimate::BucketEstimate;

impl Bucketing {
    /// Returns the largest probability with which a garbler succeeds, for any number of bad copies; 1 for a
    /// bucketing that the rule does not allow. The result exceeds the formula's maximum by a factor of less
    /// than `1 + 2^-33`. The exception is a maximum that floating point cannot find, far below every limit in
    /// use.
    pub fn bound(&self, rule: BucketRule) -> Upper {
        if !rule.allows(self.bucket) {
            return Upper::ONE;
        }
        let peak = BucketEstimate::new(rule, self.slots, self.bucket).peak(self.opened);
        let mut game = Game::new(*self, rule);
        let mut limit = peak.rounded_up();
        if game.is_bounded_by(limit) {
            return limit;
        }
        // The guess is right up to rounding, except for very bad bucketings, where only part of the numbers
        // of bad copies is examined. A greater number of bad copies survives no more often than the last
        // examined one.
        limit = limit.max(game.outcome(Game::last(self, rule), 0).survival).max(Upper::limit(-1000.0));
        while !game.is_bounded_by(limit) {
            limit = (limit * Upper::integer(2)).min(Upper::ONE);
        }
        limit
    }

    /// Returns whether a garbler succeeds with at most this probability, for any number of bad copies.
    pub fn is_bounded_by(&self, rule: BucketRule, limit: Upper) -> bool {
        rule.allows(self.bucket) && Game::new(*self, rule).is_bounded_by(limit)
    }

    /// Returns whether, by the formula, a garbler with `t` bad copies may succeed with more than this
    /// probability.
    pub(super) fn is_broken_by(&self, rule: BucketRule, limit: Upper, t: u64) -> bool {
        !rule.allows(self.bucket)
            || (1..=Game::last(self, rule)).contains(&t)
                && Game::new(*self, rule).outcome(t, 0).success > limit
    }
}

/// The probability that `t` bad copies survive, and the probability of success with `t` or slightly more bad
/// copies.
struct Outcome {
    success: Upper,
    survival: Upper,
}

/// The sums for one bucketing, with the tables from which they are computed.
struct Game {
    bucketing: Bucketing,
    rule: BucketRule,
    /// `N · C(B,k) / (N·B)^(B)` for k = 0, …, B.
    weights: Vec<Upper>,
    /// `1 / C(L, t)` for t = 0, 1, ….
    scale: Vec<Upper>,
    /// `C(N·B, i)` for i = 0, 1, …, N·B at most.
    kept: Vec<Upper>,
    /// `w_i`, for as many `i` as `kept` or more.
    wins: Vec<Upper>,
    /// `C(c, j) · u^j` for j = 0, 1, …, without the trailing zeros.
    opened: Vec<Upper>,
}

impl Game {
    fn new(bucketing: Bucketing, rule: BucketRule) -> Self {
        let (kept, bucket) = (bucketing.kept(), u64::from(bucketing.bucket));
        let first = (0..bucket.min(kept))
            .fold(Upper::integer(bucketing.slots.into()), |weight, a| weight * Upper::ratio(1, kept - a));
        let weights = (0..=bucket)
            .scan(first, |weight, k| {
                Some(std::mem::replace(weight, *weight * Upper::ratio(bucket - k, k + 1)))
            })
            .collect();
        let one = || vec![Upper::ONE];
        Game { bucketing, rule, weights, scale: one(), kept: one(), wins: vec![Upper::ZERO], opened: one() }
    }

    /// Returns the greatest number of bad copies that is examined.
    fn last(bucketing: &Bucketing, rule: BucketRule) -> u64 {
        most_bad(rule).min(bucketing.copies())
    }

    /// Returns whether the probability of success is at most `limit` for every number of bad copies.
    fn is_bounded_by(&mut self, limit: Upper) -> bool {
        let last = Self::last(&self.bucketing, self.rule);
        // Each step covers all numbers of bad copies from t to t + d.
        let (mut t, mut d) = (1, 0);
        while t <= last {
            let outcome = self.outcome(t, d);
            if outcome.survival <= limit {
                return true;
            } else if outcome.success <= limit {
                (t, d) = (t + d + 1, 2 * d + 1);
            } else if d > 0 {
                d /= 2;
            } else {
                return false;
            }
        }
        // A greater number of bad copies survives no more often than the last examined one.
        last == self.bucketing.copies() || self.outcome(last, 0).survival <= limit
    }

    /// Returns the probability that `t` bad copies survive, and a bound on the success with `t` to `t + d`
    /// bad copies.
    fn outcome(&mut self, t: u64, d: u64) -> Outcome {
        self.extend(t, d);
        let (t, d) = (t as usize, d as usize);
        let least = t.saturating_sub(self.opened.len() - 1);
        let (mut success, mut survival) = (Upper::ZERO, Upper::ZERO);
        for i in least..self.kept.len().min(t + 1) {
            let survives = self.kept[i] * self.opened[t - i];
            survival = survival + survives;
            success = success + survives * self.wins[(i + d).min(self.wins.len() - 1)];
        }
        Outcome {
            success: (self.scale[t] * success).min(Upper::ONE),
            survival: (self.scale[t] * survival).min(Upper::ONE),
        }
    }

    /// Extends the tables for up to `t + d` bad copies.
    fn extend(&mut self, t: u64, d: u64) {
        let (kept, opened) = (self.bucketing.kept(), u64::from(self.bucketing.opened));
        let grow = |table: &mut Vec<Upper>, most: u64, next: &dyn Fn(Upper, u64) -> Upper| {
            for n in table.len() as u64..=most {
                table.push(next(table[table.len() - 1], n));
            }
        };
        grow(&mut self.scale, t, &|last, n| last * Upper::ratio(n, kept + opened + 1 - n));
        grow(&mut self.kept, t.min(kept), &|last, n| last * Upper::ratio(kept + 1 - n, n));
        if self.rule.detection == Detection::Half {
            grow(&mut self.opened, t.min(opened), &|last, n| {
                (last * Upper::ratio(opened + 1 - n, n)).halved()
            });
        }
        let mut buffer = Vec::new();
        for i in self.wins.len() as u64..=(t + d).min(kept) {
            let wins = self.one_win(i, &mut buffer);
            self.wins.push(wins);
        }
    }

    /// Returns `w_i`, computed with falling factorials. A term is `weights[k]`, which is `N · C(B,k) /
    /// (N·B)^(B)`, times `i^(k) · (N·B − i)^(B − k)`.
    fn one_win(&self, i: u64, good: &mut Vec<Upper>) -> Upper {
        let (kept, bucket) = (self.bucketing.kept(), u64::from(self.bucketing.bucket));
        let ruinous = self.rule.ruinous(bucket) as usize;
        good.clear();
        good.extend(falling_factorials(kept - i).take(bucket as usize + 1 - ruinous));
        let terms = falling_factorials(i).zip(&self.weights).skip(ruinous).zip(good.iter().rev());
        terms.map(|((bad, weight), good)| bad * *weight * *good).sum::<Upper>().min(Upper::ONE)
    }
}

/// Returns `1, n, n·(n − 1), …`, ending in zeros.
fn falling_factorials(n: u64) -> impl Iterator<Item = Upper> {
    (0..).scan(Upper::ONE, move |product, a| {
        Some(std::mem::replace(product, *product * Upper::integer(n.saturating_sub(a))))
    })
}
