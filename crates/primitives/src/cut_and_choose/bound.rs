//! The probability with which bad copies survive, and the cheapest bucketing that keeps it low.
//!
//! An adversary makes `t` of the `L = N·B + c` copies bad before it knows the challenge. A uniform choice
//! sends `i` of them into buckets and `j = t − i` among the opened copies with probability `C(N·B, i)·C(c, j)
//! / C(L, t)`. Each of the `j` stays undetected with probability `u`: 0, or 1/2 where opening shows only one
//! of two halves. It wins if some bucket then holds `m` bad copies: `m = B` where one good copy saves the
//! bucket, and `(B + 1)/2` where the majority rules. By the union bound that has probability at most `w_i =
//! min(1, N · Σ_{k ≥ m} C(B,k)·C(N·B − B, i − k) / C(N·B, i))`. So
//!
//! ```text
//! success(t) ≤ Σ_{i+j=t} C(N·B, i) · w_i · C(c, j) · u^j / C(L, t)
//! survival(t) = the same with all w_i = 1
//! ```
//!
//! and the bound is the maximum over all `t`.
//!
//! Nothing is assumed about the shape of `success` when that maximum is verified. One more bad copy is one
//! more to detect, and one more in the buckets at most, while `w_i` grows with `i`; hence, for all `e` from 0
//! to `d`,
//!
//! ```text
//! survival(t + e) ≤ survival(t)
//! success(t + e) ≤ Σ_{i+j=t} C(N·B, i) · w_{i+d} · C(c, j) · u^j / C(L, t)
//! ```
//!
//! so that far from the maximum one sum covers many `t`, and once `survival(t)` is low enough no greater `t`
//! matters. All arithmetic rounds up ([`Upper`]), so the result is a true upper bound. Where to look is
//! guessed in floating point (module `estimate`); a wrong guess costs time or copies, never security.

use super::Upper;
use super::bucketing::{Bucketing, Detection, Rule, most_bad};
use super::estimate::Estimate;

impl Bucketing {
    /// Returns the probability with which a garbler succeeds at most, however many copies it makes bad; 1 for
    /// a bucketing that the rule does not allow. The result exceeds the maximum of the formula by a factor of
    /// less than `1 + 2^-33`, except where floating point is too coarse to find it, which is far below any
    /// used limit.
    pub fn bound(&self, rule: Rule) -> Upper {
        if !rule.allows(self.bucket) {
            return Upper::ONE;
        }
        let peak = Estimate::new(rule, self.slots, self.bucket).peak(self.opened);
        let mut game = Game::new(*self, rule);
        let mut limit = peak.rounded_up();
        if game.is_bounded_by(limit) {
            return limit;
        }
        // The guess is right but for rounding, unless the bucketing is too bad to look at all of it. The rest
        // survives no more often than the last that was looked at.
        limit = limit.max(game.outcome(Game::last(self, rule), 0).survival).max(Upper::limit(-1000.0));
        while !game.is_bounded_by(limit) {
            limit = (limit * Upper::integer(2)).min(Upper::ONE);
        }
        limit
    }

    /// Returns whether a garbler succeeds with at most this probability, however many copies it makes bad.
    pub fn is_bounded_by(&self, rule: Rule, limit: Upper) -> bool {
        rule.allows(self.bucket) && Game::new(*self, rule).is_bounded_by(limit)
    }

    /// Returns whether a garbler that makes `t` copies bad succeeds with more than this probability, as far
    /// as the formula tells.
    pub(super) fn is_broken_by(&self, rule: Rule, limit: Upper, t: u64) -> bool {
        !rule.allows(self.bucket)
            || (1..=Game::last(self, rule)).contains(&t)
                && Game::new(*self, rule).outcome(t, 0).success > limit
    }
}

/// The result of `t` bad copies, or a few more.
struct Outcome {
    success: Upper,
    survival: Upper,
}

/// The sums for one bucketing, with the tables that they are made of.
struct Game {
    bucketing: Bucketing,
    rule: Rule,
    /// `N · C(B,k) / (N·B)^(B)` for k = 0, …, B.
    weights: Vec<Upper>,
    /// `1 / C(L, t)` for t = 0, 1, ….
    scale: Vec<Upper>,
    /// `C(N·B, i)` for i = 0, 1, …, N·B at most.
    kept: Vec<Upper>,
    /// `w_i`, as far as `kept` or further.
    wins: Vec<Upper>,
    /// `C(c, j) · u^j` for j = 0, 1, …; without the trailing zeros.
    opened: Vec<Upper>,
}

impl Game {
    fn new(bucketing: Bucketing, rule: Rule) -> Self {
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

    /// The greatest number of bad copies that is looked at.
    fn last(bucketing: &Bucketing, rule: Rule) -> u64 {
        most_bad(rule).min(bucketing.copies())
    }

    /// Returns whether all outcomes are successes with at most this probability.
    fn is_bounded_by(&mut self, limit: Upper) -> bool {
        let last = Self::last(&self.bucketing, self.rule);
        // Each step covers the numbers of bad copies from t to t + d.
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
        // More could be bad than was looked at, but they survive no more often than the last that was.
        last == self.bucketing.copies() || self.outcome(last, 0).survival <= limit
    }

    /// The survival of `t` bad copies, and the success of `t` to `t + d`.
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

    /// Makes the tables long enough.
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

    /// `w_i`, from falling factorials: a term is `N · C(B,k) / (N·B)^(B)`, which is `weights[k]`, times
    /// `i^(k) · (N·B − i)^(B − k)`.
    fn one_win(&self, i: u64, good: &mut Vec<Upper>) -> Upper {
        let (kept, bucket) = (self.bucketing.kept(), u64::from(self.bucketing.bucket));
        let ruinous = self.rule.ruinous(bucket) as usize;
        good.clear();
        good.extend(falling_factorials(kept - i).take(bucket as usize + 1 - ruinous));
        let terms = falling_factorials(i).zip(&self.weights).skip(ruinous).zip(good.iter().rev());
        terms.map(|((bad, weight), good)| bad * *weight * *good).sum::<Upper>().min(Upper::ONE)
    }
}

/// `1, n, n·(n − 1), …`, ending in zeros.
fn falling_factorials(n: u64) -> impl Iterator<Item = Upper> {
    (0..).scan(Upper::ONE, move |product, a| {
        Some(std::mem::replace(product, *product * Upper::integer(n.saturating_sub(a))))
    })
}
