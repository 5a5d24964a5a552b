//! The probability with which bad copies survive, and the cheapest cut that keeps it low.
//!
//! An adversary makes `t` of the `L = N·B + c` copies bad before it knows the challenge. A uniform choice sends `i` of them into
//! buckets and `j = t − i` among the opened copies with probability `C(N·B, i)·C(c, j) / C(L, t)`. Each of the `j` stays
//! undetected with probability `u`: 0, or 1/2 where opening shows only one of two halves. It wins if some bucket then holds `m`
//! bad copies, `m = B` where one good copy saves the bucket and `(B + 1)/2` where the majority rules; by the union bound that has
//! probability at most `w_i = min(1, N · Σ_{k ≥ m} C(B,k)·C(N·B − B, i − k) / C(N·B, i))`. So
//!
//! ```text
//! success(t) ≤ Σ_{i+j=t} C(N·B, i) · w_i · C(c, j) · u^j / C(L, t)        survival(t) = the same with all w_i = 1
//! ```
//!
//! and the bound is the maximum over all `t`. No assumption on the shape of `success` goes into that maximum: `survival(t)` falls
//! with `t`, since one more bad copy is one more to detect, and it is never below `success(t)`; so once `survival(t)` has come
//! down to the greatest success so far, no greater `t` does better. All arithmetic rounds up ([`Upper`]), so the result is a true
//! upper bound, by a factor of about `1 + 2^-50` at most above the exact value of the formula.

use super::Upper;

/// How surely a bad copy is noticed when it is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Detection {
    /// Always: all of it is opened.
    Full,
    /// With probability 1/2: one of two halves is opened, by the evaluator's coin.
    Half,
}

/// When a bad copy is noticed, and how many of them ruin a bucket.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Rule {
    /// How surely a bad copy is noticed when it is opened.
    pub detection: Detection,
    /// Whether the majority of a bucket must be good; if not, one good copy is enough.
    pub majority: bool,
}

impl Rule {
    /// Components: an opened copy is garbled again, and one good copy in a bucket is enough.
    pub const COMPONENT: Rule = Rule { detection: Detection::Full, majority: false };
    /// Key authenticators: opening shows one of the two hashes, and the majority accepts.
    pub const KEY_AUTHENTICATOR: Rule = Rule { detection: Detection::Half, majority: true };
    /// Input authenticators: opened completely, and the majority accepts.
    pub const INPUT_AUTHENTICATOR: Rule = Rule { detection: Detection::Full, majority: true };

    /// How many bad copies ruin a bucket of this size.
    fn ruinous(self, bucket: u64) -> u64 {
        if self.majority { bucket / 2 + 1 } else { bucket }
    }

    /// Whether buckets may have this size: an even majority would only waste a copy.
    fn allows(self, bucket: u32) -> bool {
        bucket > 0 && (bucket % 2 == 1 || !self.majority)
    }
}

/// The sizes of a batch: so many slots, copies a bucket, and opened copies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Cut {
    /// `N`: slots to fill.
    pub slots: u32,
    /// `B`: copies in a bucket.
    pub bucket: u32,
    /// `c`: copies to open.
    pub opened: u32,
}

impl Cut {
    /// `L`: how many copies are garbled.
    pub fn copies(&self) -> u64 {
        self.kept() + u64::from(self.opened)
    }

    /// How many copies end in a bucket.
    pub fn kept(&self) -> u64 {
        u64::from(self.slots) * u64::from(self.bucket)
    }

    /// With which probability a garbler succeeds at most, however many copies it makes bad; 1 for a cut that the rule does not
    /// allow.
    pub fn bound(&self, rule: Rule) -> Upper {
        if !rule.allows(self.bucket) {
            return Upper::ONE;
        }
        let mut best = Upper::ZERO;
        for outcome in Game::new(*self, rule) {
            best = best.max(outcome.success);
            if outcome.survival <= best {
                break;
            }
        }
        best.min(Upper::ONE)
    }

    /// Whether [`Cut::bound`] is at most `limit`, which is less work.
    pub fn is_bounded_by(&self, rule: Rule, limit: Upper) -> bool {
        if !rule.allows(self.bucket) {
            return false;
        }
        for outcome in Game::new(*self, rule) {
            if outcome.success > limit {
                return false;
            }
            if outcome.survival <= limit {
                break;
            }
        }
        true
    }
}

/// What `t` bad copies achieve.
struct Outcome {
    success: Upper,
    survival: Upper,
}

/// The outcomes for t = 1, 2, …, all copies.
struct Game {
    cut: Cut,
    rule: Rule,
    t: u64,
    /// The greatest `t` worth the effort. A cut that needs more has too few opened copies to be any good, and the peer who
    /// proposes it must not keep us busy.
    last: u64,
    /// `N · C(B,k) / (N·B)^(B)` for k = 0, …, B.
    weights: Vec<Upper>,
    /// `1 / C(L, t)`.
    scale: Upper,
    /// `C(N·B, i)` for i = 0, …, t.
    kept: Vec<Upper>,
    /// `C(N·B, i) · w_i` for i = 0, …, t.
    winning: Vec<Upper>,
    /// `C(c, j) · u^j` for j = 0, …, t; without the trailing zeros.
    opened: Vec<Upper>,
}

impl Game {
    fn new(cut: Cut, rule: Rule) -> Self {
        let last = match rule.detection {
            Detection::Full => 1 << 16,
            Detection::Half => 1 << 12,
        };
        let (kept, bucket) = (cut.kept(), u64::from(cut.bucket));
        let first = (0..bucket.min(kept)).fold(Upper::integer(cut.slots.into()), |weight, a| weight * Upper::ratio(1, kept - a));
        let weights =
            (0..=bucket).scan(first, |weight, k| Some(std::mem::replace(weight, *weight * Upper::ratio(bucket - k, k + 1)))).collect();
        Game {
            cut,
            rule,
            t: 0,
            last,
            weights,
            scale: Upper::ONE,
            kept: vec![Upper::ONE],
            winning: vec![Upper::ZERO],
            opened: vec![Upper::ONE],
        }
    }

    /// `w_i`, from falling factorials: a term is `N · C(B,k) / (N·B)^(B)`, which is `weights[k]`, times `i^(k) · (N·B − i)^(B − k)`.
    fn wins(&self, i: u64) -> Upper {
        let (kept, bucket) = (self.cut.kept(), u64::from(self.cut.bucket));
        let good: Vec<Upper> = falling_factorials(kept - i).take(bucket as usize + 1).collect();
        let terms = falling_factorials(i).zip(&self.weights).zip(good.iter().rev()).map(|((bad, weight), good)| bad * *weight * *good);
        terms.skip(self.rule.ruinous(bucket) as usize).sum::<Upper>().min(Upper::ONE)
    }
}

/// `1, n, n·(n − 1), …`, ending in zeros.
fn falling_factorials(n: u64) -> impl Iterator<Item = Upper> {
    (0..).scan(Upper::ONE, move |product, a| Some(std::mem::replace(product, *product * Upper::integer(n.saturating_sub(a)))))
}

impl Iterator for Game {
    type Item = Outcome;

    fn next(&mut self) -> Option<Outcome> {
        let (kept, opened, t) = (self.cut.kept(), u64::from(self.cut.opened), self.t + 1);
        if t > self.last.min(kept + opened) {
            return None;
        }
        self.t = t;
        self.scale = self.scale * Upper::ratio(t, kept + opened + 1 - t);
        if t <= kept {
            let ways = self.kept[self.kept.len() - 1] * Upper::ratio(kept + 1 - t, t);
            self.kept.push(ways);
            self.winning.push(ways * self.wins(t));
        }
        if self.rule.detection == Detection::Half && t <= opened {
            self.opened.push((self.opened[self.opened.len() - 1] * Upper::ratio(opened + 1 - t, t)).halved());
        }
        let convolve = |kept: &[Upper]| -> Upper {
            let least = (t as usize).saturating_sub(self.opened.len() - 1);
            let sum: Upper = (least..kept.len()).map(|i| kept[i] * self.opened[t as usize - i]).sum();
            (self.scale * sum).min(Upper::ONE)
        };
        // It need not be known exactly at every step, only seen to be low before long.
        let survival = if t.is_multiple_of(8) || t == self.last { convolve(&self.kept) } else { Upper::ONE };
        // The last outcome looked at stands for all that follow, of which none has a greater chance to survive.
        let success = if t == self.last { survival } else { convolve(&self.winning) };
        Some(Outcome { success, survival })
    }
}

/// The fewest copies of which `opened` must be opened for buckets of this size, at most `most`.
fn fewest_opened(rule: Rule, slots: u32, bucket: u32, limit: Upper, most: u32) -> Option<Cut> {
    let cut = |opened| Cut { slots, bucket, opened };
    // More opened copies never help the garbler, so that the least sufficient number can be bisected for.
    if !cut(most).is_bounded_by(rule, limit) {
        return None;
    }
    let (mut too_few, mut enough) = (-1_i64, i64::from(most));
    while enough - too_few > 1 {
        let middle = (too_few + enough) / 2;
        if cut(middle as u32).is_bounded_by(rule, limit) { enough = middle } else { too_few = middle }
    }
    Some(cut(enough as u32))
}

/// More copies than this in a bucket are never useful: a bucket alone would be good with probability `1 - 2^-127`.
const GREATEST_BUCKET: u32 = 255;

/// Copies that may be opened, for `slots` slots, before a smaller bucket stops being an alternative.
fn most_opened(slots: u32) -> u32 {
    slots.saturating_mul(32).saturating_add(1 << 12)
}

/// The cut with the fewest copies whose bound is at most `limit`; `None` if there is none of sensible size.
pub fn fewest_copies(rule: Rule, slots: u32, limit: Upper) -> Option<Cut> {
    let mut best: Option<Cut> = None;
    for bucket in (1..=GREATEST_BUCKET).filter(|&bucket| rule.allows(bucket)) {
        let kept = u64::from(slots) * u64::from(bucket);
        let most = match best {
            None => most_opened(slots),
            Some(best) if kept < best.copies() => most_opened(slots).min((best.copies() - kept) as u32 - 1),
            Some(_) => break,
        };
        best = fewest_opened(rule, slots, bucket, limit, most).or(best);
    }
    best
}

/// For each size of a bucket up to that of [`fewest_copies`], which comes first, the cut with the fewest opened copies: less
/// traffic, since opened copies do not travel, for more work.
pub fn alternatives(rule: Rule, slots: u32, limit: Upper) -> Vec<Cut> {
    let Some(best) = fewest_copies(rule, slots, limit) else { return Vec::new() };
    let smaller = (1..best.bucket).rev().filter_map(|bucket| fewest_opened(rule, slots, bucket, limit, most_opened(slots)));
    std::iter::once(best).chain(smaller).collect()
}

/// The cut with the least cost whose bound is at most `limit`, among [`alternatives`]; the cost should have one minimum
/// over the size of the bucket. `None` if there is no cut of sensible size.
pub fn cheapest(rule: Rule, slots: u32, limit: Upper, cost: impl Fn(&Cut) -> f64) -> Option<Cut> {
    let mut best = fewest_copies(rule, slots, limit)?;
    let mut dearer = 0;
    for bucket in (1..best.bucket).rev().filter(|&bucket| rule.allows(bucket)) {
        let Some(cut) = fewest_opened(rule, slots, bucket, limit, most_opened(slots)) else { break };
        if cost(&cut) < cost(&best) {
            (best, dearer) = (cut, 0);
        } else if dearer == 1 {
            break;
        } else {
            dearer += 1;
        }
    }
    Some(best)
}
