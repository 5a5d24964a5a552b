//! The bound of a cut-and-choose whose buckets contain two kinds of items: β gates and α wire authenticators.
//!
//! An adversary makes `t` of the gates and `u` of the authenticators bad. Each kind is shuffled separately:
//! `c` of `L = N·B + c` items are opened, and each opened bad item stays undetected with probability 1/2. A
//! bucket with x bad gates and y bad authenticators is *ruined* if none of its gates is good, or its good
//! items are no strict majority: `x = β` or `2(x + y) ≥ β + α`. The N buckets have the same distribution, so
//! by the union bound
//!
//! ```text
//! success(t, u) ≤ min(S(t)·S'(u), N · Σ_{(x, y) ruined} A_x(t) · A'_y(u))
//! S(t)   = Σ_j C(c, j)·2^-j·C(N·B, t - j) / C(L, t)                      no opened bad item is seen
//! A_x(t) = C(B, x) · Σ_j C(c, j)·2^-j·C(N·B - B, t - x - j) / C(L, t)   and a given bucket has x bad ones
//! ```
//!
//! and the bound is the maximum over all t and u. The sums over j are the coefficients of `(1 + z/2)^c (1 +
//! z)^K`. The sums for adjacent t follow from each other by a recurrence of three terms, all of which are
//! positive in the range that is used. So floating point adds a relative error of at most 2^-53 per step. The
//! result is rounded up by much more. In small batches, terms of the recurrence may be negative. Then the
//! probabilities are computed by placing one bad item after the other.

use std::cell::OnceCell;

use serde::{Deserialize, Serialize};

use brickwork_base::stop::look;
use brickwork_primitives::cut_and_choose::Bucketing;

/// The largest number of bad items of a kind that is examined.
const MOST_BAD: usize = 1 << 13;

/// The largest number of terms of a bound: β + 1 for each pair of numbers of bad items. The cuts with the
/// fewest bytes have fewer terms than this. A peer may propose larger buckets than necessary, with just
/// enough opened items. Such cuts have up to twelve times as many terms.
const MOST_TERMS: usize = 1 << 27;

const ALL: usize = usize::MAX;

/// In batches up to this size, bad items are placed one by one where the recurrence cannot be used.
const SMALL: u64 = 4096;

/// The largest number of gates, or of authenticators, in a bucket.
const MOST_IN_BUCKET: u32 = 63;

/// A factor that exceeds all rounding errors together: 2^-53 for each of at most 2^20 operations.
const SLACK: f64 = 1.0 + 1e-9;

/// The bucketings of both kinds of items in the same buckets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Mixed {
    /// β gates in each bucket.
    pub gates: Bucketing,
    /// α wire authenticators in each bucket.
    pub authenticators: Bucketing,
}

/// The probabilities of one kind of items, by the number of bad items.
struct Odds {
    /// S, the probability that bad items stay undetected.
    survival: Vec<f64>,
    /// The same probabilities on the condition that a given bucket contains no bad item.
    elsewhere: Vec<f64>,
    /// L, the number of items.
    all: f64,
    /// C(B, x), for x from 0 to B.
    ways: Vec<f64>,
    /// A_x, computed when it is needed, because most searches need few numbers of bad items.
    bad: Vec<OnceCell<Box<[f64]>>>,
}

/// Returns `Σ_j C(c, j)·2^-j·C(K, n - j) / C(L, n)` for n from 0 on. The list ends with the first value that
/// is at most `floor`, or at `most`; the values never increase with n. Returns `None` if this would take too
/// long.
fn unseen(opened: u64, kept: u64, all: u64, (floor, most): (f64, usize)) -> Option<Vec<f64>> {
    let (c, k, l) = (opened as f64, kept as f64, all as f64);
    let mut sums = vec![1.0];
    for n in 0..MOST_BAD {
        let at = n as f64;
        let before = if n == 0 { 0.0 } else { sums[n - 1] * at / (l - at + 1.0) };
        let (first, second) = (c / 2.0 + k - 1.5 * at, (c + k - at + 1.0) / 2.0);
        if first <= 0.0 || second <= 0.0 {
            return (all <= SMALL).then(|| dealt(opened, kept, all, (floor, most)));
        }
        sums.push((first * sums[n] + second * before) / (l - at));
        if sums[n + 1] <= floor || n + 1 == most {
            return Some(sums);
        }
    }
    None
}

/// Computes the same as [`unseen`], for any batch, by placing one bad item after the other.
fn dealt(opened: u64, kept: u64, all: u64, (floor, most): (f64, usize)) -> Vec<f64> {
    let (c, k, l) = (opened as f64, kept as f64, all as f64);
    let mut sums = vec![1.0];
    // The probabilities for each number of opened bad items, first if there are n bad items, then if there
    // are n + 1.
    let [mut now, mut next] = [(); 2].map(|()| vec![0.0; opened.min(all) as usize + 1]);
    let numbers: Vec<f64> = (0..now.len()).map(|j| j as f64).collect();
    now[0] = 1.0;
    for n in 0..all as usize {
        let (n, end) = (n as f64, now.len().min(n + 2));
        let left = l - n;
        let stays = |probability: f64, j: f64| probability * (k - (n - j)).max(0.0) / left;
        next[0] = stays(now[0], 0.0);
        let pairs = now[..end].windows(2).zip(numbers.windows(2));
        for (next, (probability, j)) in next[1..end].iter_mut().zip(pairs) {
            *next = probability[0] * 0.5 * (c - j[0]) / left + stays(probability[1], j[1]);
        }
        std::mem::swap(&mut now, &mut next);
        sums.push(now[..end].iter().sum());
        if sums[sums.len() - 1] <= floor || sums.len() - 1 == most {
            break;
        }
    }
    sums
}

/// Returns C(n, k).
fn binomial(n: u32, k: u32) -> f64 {
    (0..k).map(|i| f64::from(n - i) / f64::from(i + 1)).product()
}

impl Odds {
    /// Computes the probabilities for growing numbers of bad items, up to `most` or to the first number that
    /// stays undetected with probability at most `floor`.
    fn new(cut: &Bucketing, until: (f64, usize)) -> Option<Self> {
        let (all, kept, size) = (cut.copies(), cut.kept(), cut.bucket);
        let opened = u64::from(cut.opened);
        let survival = unseen(opened, kept, all, until)?;
        let elsewhere = unseen(opened, kept - u64::from(size), all, until)?;
        let ways = (0..=size).map(|x| binomial(size, x)).collect();
        let bad = vec![OnceCell::new(); survival.len()];
        Some(Odds { survival, elsewhere, all: all as f64, ways, bad })
    }

    /// Returns A_x for `t` bad items, for x from 0 to B.
    fn bad(&self, t: usize) -> &[f64] {
        self.bad[t].get_or_init(|| {
            let mut here = 1.0;
            let of = |(x, ways): (usize, &f64)| {
                let Some(rest) = t.checked_sub(x) else { return 0.0 };
                // Larger numbers of bad items stay undetected no more often than the last computed one.
                let probability = ways * self.elsewhere[rest.min(self.elsewhere.len() - 1)] * here;
                here *= rest as f64 / (self.all - rest as f64 + 1.0);
                probability
            };
            self.ways.iter().enumerate().map(of).collect()
        })
    }
}

/// The probabilities of both kinds, for any numbers of bad items.
struct Game {
    slots: f64,
    gates: Odds,
    authenticators: Odds,
    /// For each number of bad authenticators, and each number of bad gates in a given bucket: the probability
    /// that enough bad authenticators are in the bucket to ruin it. Computed on demand.
    ruined: Vec<OnceCell<Box<[f64]>>>,
}

impl Game {
    fn new(mixed: &Mixed, floor: f64) -> Option<Self> {
        Self::until(mixed, (floor, ALL))
    }

    /// Computes the probabilities up to a limit for either kind, as [`Odds::new`] does.
    fn until(mixed: &Mixed, until: (f64, usize)) -> Option<Self> {
        let (gates, authenticators) =
            (Odds::new(&mixed.gates, until)?, Odds::new(&mixed.authenticators, until)?);
        let ruined = vec![OnceCell::new(); authenticators.survival.len()];
        Some(Game { slots: f64::from(mixed.gates.slots), gates, authenticators, ruined })
    }

    /// Returns the largest number of terms that must be added up.
    fn terms(&self) -> usize {
        self.gates.survival.len() * self.authenticators.survival.len() * self.gates.ways.len()
    }

    /// Returns the numbers of gates and authenticators in a bucket.
    fn bucket(&self) -> (usize, usize) {
        (self.gates.ways.len() - 1, self.authenticators.ways.len() - 1)
    }

    /// Returns the probability that `u` bad authenticators ruin a bucket, for each number of bad gates in the
    /// bucket.
    fn ruined(&self, u: usize) -> &[f64] {
        self.ruined[u].get_or_init(|| {
            let (beta, alpha) = self.bucket();
            let enough = |x: usize| if x == beta { 0 } else { (beta + alpha).div_ceil(2).saturating_sub(x) };
            let bad = self.authenticators.bad(u);
            (0..=beta).map(|x| bad.get(enough(x)..).map_or(0.0, |enough| enough.iter().sum())).collect()
        })
    }

    /// Returns the bound on the success of `t` bad gates and `u` bad authenticators.
    fn success(&self, t: usize, u: usize) -> f64 {
        let survival = self.gates.survival[t] * self.authenticators.survival[u];
        let ruined: f64 =
            self.gates.bad(t).iter().zip(self.ruined(u)).map(|(bad, enough)| bad * enough).sum();
        survival.min(self.slots * ruined)
    }

    /// Returns the points at which a search for the greatest success begins: buckets ruined by gates, by
    /// authenticators, and by both.
    fn starts(&self) -> [(usize, usize); 3] {
        let (beta, alpha) = self.bucket();
        let (most_t, most_u) = (self.gates.survival.len() - 1, self.authenticators.survival.len() - 1);
        [(beta, 0), (0, alpha), (beta, alpha)].map(|(t, u)| (t.min(most_t), u.min(most_u)))
    }

    /// Climbs from this point to a local maximum of the success, and returns it.
    fn uphill(&self, mut t: usize, mut u: usize) -> f64 {
        let (most_t, most_u) = (self.gates.survival.len() - 1, self.authenticators.survival.len() - 1);
        (t, u) = (t.min(most_t), u.min(most_u));
        let (mut best, mut step) = (self.success(t, u), (most_t + most_u) / 16 + 1);
        while step > 0 {
            let around = [
                ((t + step).min(most_t), u),
                (t.saturating_sub(step), u),
                (t, (u + step).min(most_u)),
                (t, u.saturating_sub(step)),
                (t.saturating_sub(step), (u + step).min(most_u)),
                ((t + step).min(most_t), u.saturating_sub(step)),
            ];
            let next = around.into_iter().map(|(t, u)| (self.success(t, u), t, u));
            let next = next.fold((best, t, u), |a, b| if b.0 > a.0 { b } else { a });
            if next.0 > best {
                (best, t, u) = next;
            } else {
                step /= 2;
            }
        }
        best
    }
}

impl Mixed {
    /// Returns the bound on a garbler's success with any number of bad items, or `floor` if the bound is
    /// lower. Returns 1 for sizes that make no sense, and for sizes whose bound would take too long to
    /// compute.
    pub fn bound(&self, floor: f64) -> f64 {
        if !self.is_sensible() {
            return 1.0;
        }
        let game = Game::new(self, floor).filter(|game| game.terms() <= MOST_TERMS);
        let Some(game) = game else { return 1.0 };
        let mut bound = floor;
        for (t, survival) in game.gates.survival.iter().enumerate() {
            look();
            for (u, other) in game.authenticators.survival.iter().enumerate() {
                if survival * other <= bound {
                    // Larger numbers of bad items stay undetected no more often.
                    break;
                }
                bound = bound.max(game.success(t, u));
            }
        }
        (bound * SLACK).min(1.0)
    }

    /// Returns whether [`Mixed::estimate`] is at most `limit`. Even a few bad items may exceed the limit.
    /// This is tested first, because it excludes most of the tried cuts.
    pub(super) fn seems_within(&self, limit: f64, floor: f64) -> bool {
        let few = (self.gates.bucket + self.authenticators.bucket) as usize;
        let plain = Game::until(self, (floor, few));
        let plain = plain.is_some_and(|game| game.starts().iter().any(|&(t, u)| game.success(t, u) > limit));
        !plain && self.estimate(floor) <= limit
    }

    /// Estimates the bound from a few numbers of bad items. The estimate serves the search for a cut, and
    /// never a promise.
    pub(super) fn estimate(&self, floor: f64) -> f64 {
        let (beta, alpha) = (self.gates.bucket as usize, self.authenticators.bucket as usize);
        let Some(game) = Game::new(self, floor) else { return 1.0 };
        let starts = game.starts().into_iter().chain([(4 * beta, 4 * alpha)]);
        starts.map(|(t, u)| game.uphill(t, u)).fold(floor, f64::max)
    }

    /// Returns the number of terms of the bound, divided by [`MOST_TERMS`].
    #[cfg(test)]
    pub(super) fn terms(&self, floor: f64) -> f64 {
        let game = Game::new(self, floor).expect("the number of bad items of a kind is within its bound");
        game.terms() as f64 / MOST_TERMS as f64
    }

    /// Returns whether both bucketings have the same number of buckets, their items can be numbered, and
    /// their bound can be computed.
    pub fn is_sensible(&self) -> bool {
        let Mixed { gates, authenticators } = self;
        let fits = |cut: &Bucketing| {
            (1..=MOST_IN_BUCKET).contains(&cut.bucket) && cut.copies() <= u64::from(u32::MAX / 2)
        };
        gates.slots == authenticators.slots && gates.slots > 0 && fits(gates) && fits(authenticators)
    }
}

#[cfg(test)]
mod tests {
    // Rows are those of the table of attacks (docs/concepts/security.md, section 14).

    use super::*;

    /// Row 25 of the table of attacks: impossible sizes are refused, at each limit.
    #[test]
    fn row_25_sizes_that_no_batch_has_are_refused() {
        let good = Bucketing { bucket: MOST_IN_BUCKET, slots: 7, opened: 0 };
        let sensible = |change: fn(&mut Mixed)| {
            let mut mixed = Mixed { gates: good, authenticators: good };
            change(&mut mixed);
            mixed.is_sensible()
        };
        assert!(sensible(|_| {}));
        assert!(!sensible(|mixed| mixed.gates.slots = 8));
        assert!(!sensible(|mixed| (mixed.gates.slots, mixed.authenticators.slots) = (0, 0)));
        assert!(!sensible(|mixed| mixed.gates.bucket = 0));
        assert!(!sensible(|mixed| mixed.authenticators.bucket = MOST_IN_BUCKET + 1));
        // The buckets contain 441 copies, so this is the largest number of opened copies for which all copies
        // can be numbered.
        const MOST: u32 = u32::MAX / 2 - 441;
        assert!(sensible(|mixed| mixed.gates.opened = MOST));
        assert!(!sensible(|mixed| mixed.gates.opened = MOST + 1));
    }

    /// Computes the same as [`dealt`] without omitting terms.
    fn dealt_slowly(opened: u64, kept: u64, all: u64, (floor, most): (f64, usize)) -> Vec<f64> {
        let (c, k, l) = (opened as f64, kept as f64, all as f64);
        let (mut sums, mut opened_bad) = (vec![1.0], vec![1.0]);
        for n in 0..all as usize {
            let mut next = vec![0.0; opened_bad.len() + 1];
            for (j, probability) in opened_bad.iter().enumerate() {
                next[j] += probability * (k - (n - j) as f64).max(0.0) / (l - n as f64);
                next[j + 1] += probability * 0.5 * (c - j as f64).max(0.0) / (l - n as f64);
            }
            opened_bad = next;
            sums.push(opened_bad.iter().sum());
            if sums[n + 1] <= floor || n + 1 == most {
                break;
            }
        }
        sums
    }

    /// Returns A_x for all examined numbers of bad items, `[x][t]`.
    fn bad_slowly(odds: &Odds) -> Vec<Vec<f64>> {
        let ratios: Vec<f64> =
            (0..odds.survival.len()).map(|k| k as f64 / (odds.all - k as f64 + 1.0)).collect();
        let (mut here, mut bad) = (vec![1.0; odds.survival.len()], Vec::new());
        for (x, ways) in odds.ways.iter().enumerate() {
            let unseen = |t: usize| odds.elsewhere[(t - x).min(odds.elsewhere.len() - 1)];
            let of = |(t, here): (usize, &f64)| if t < x { 0.0 } else { ways * unseen(t) * here };
            bad.push(here.iter().enumerate().map(of).collect());
            here.iter_mut().skip(x).zip(&ratios).for_each(|(here, ratio)| *here *= ratio);
        }
        bad
    }

    /// A shortcut leaves out very small terms. Its results equal those of all terms to the last bit, so it
    /// changes no bound and no cut.
    #[test]
    fn what_is_left_out_changes_no_bit() {
        let mut small = 0;
        for slots in [1, 2, 7, 64, 200, 1000, 6400, 100_000] {
            for [beta, alpha, opened, also] in [
                [1, 2, 1, 3],
                [3, 2, 40, 40],
                [9, 10, 12, 18],
                [9, 10, 242, 363],
                [5, 4, 3000, 1500],
                [2, 5, 0, 7],
            ] {
                let gates = Bucketing { slots, bucket: beta, opened };
                let authenticators = Bucketing { slots, bucket: alpha, opened: also };
                let (floor, mixed) = (2f64.powi(-52), Mixed { gates, authenticators });
                for cut in [gates, authenticators].iter().filter(|cut| cut.copies() <= SMALL / 2) {
                    for until in [(floor, ALL), (floor, 11), (0.0, ALL)] {
                        let (opened, kept, all) = (u64::from(cut.opened), cut.kept(), cut.copies());
                        let [fast, slow] = [dealt, dealt_slowly].map(|deal| deal(opened, kept, all, until));
                        assert!(fast.iter().map(|p| p.to_bits()).eq(slow.iter().map(|p| p.to_bits())));
                        small += 1;
                    }
                }
                let Some(game) = Game::new(&mixed, floor) else { continue };
                let [of_gates, others] = [&game.gates, &game.authenticators].map(bad_slowly);
                let ruined = |x: u32, u: usize| -> f64 {
                    let enough = if x == beta { 0 } else { (beta + alpha).div_ceil(2).saturating_sub(x) };
                    (enough..=alpha).map(|y| others[y as usize][u]).sum()
                };
                for t in (0..game.gates.survival.len()).step_by(3) {
                    for u in (0..game.authenticators.survival.len()).step_by(5) {
                        let ruined: f64 = (0..=beta).map(|x| of_gates[x as usize][t] * ruined(x, u)).sum();
                        let survival = game.gates.survival[t] * game.authenticators.survival[u];
                        let slow = survival.min(f64::from(slots) * ruined);
                        assert_eq!(game.success(t, u).to_bits(), slow.to_bits(), "{mixed:?} {t} {u}");
                    }
                }
            }
        }
        assert!(small > 50, "{small}");
    }
}
