//! The formula of module `bound` in floating point, and a search for its maximum.
//!
//! The estimate uses only additions, multiplications and divisions, so that both parties get the same result
//! on any machine.

use super::Upper;
use super::bucketing::{BucketRule, Bucketing, Detection, most_bad};

/// The probability of success of an adversary with `t` bad copies.
#[derive(Clone, Copy, Debug)]
pub struct Peak {
    pub t: u64,
    pub success: f64,
}

impl Peak {
    /// Returns an upper bound of the exact success with this `t`: fewer than 2^18 floating-point operations
    /// have a relative error below `2^-34` together.
    pub fn rounded_up(&self) -> Upper {
        Upper::float(self.success) * Upper::ratio((1 << 34) + 1, 1 << 34)
    }
}

/// The success of bad copies with one bucket size, for any number of opened copies.
pub struct BucketEstimate {
    rule: BucketRule,
    slots: u32,
    bucket: u32,
    kept: f64,
    /// `N · C(B,k) · (N·B)^B / (N·B)^(B)` for k = 0, …, B.
    weights: Vec<f64>,
    /// `w_i` for i = 0, 1, ….
    wins: Vec<f64>,
    /// The position of the last maximum. The next search begins there, because the next maximum is near.
    hint: Option<u64>,
}

impl BucketEstimate {
    pub fn new(rule: BucketRule, slots: u32, bucket: u32) -> Self {
        let (kept, b) = (f64::from(slots) * f64::from(bucket), f64::from(bucket));
        let orders = (0..bucket)
            .map(f64::from)
            .take_while(|a| *a < kept)
            .fold(1.0, |product, a| product * (kept / (kept - a)));
        let weights = (0..=bucket).map(f64::from).scan(f64::from(slots) * orders, |weight, k| {
            Some(std::mem::replace(weight, *weight * ((b - k) / (k + 1.0))))
        });
        BucketEstimate { rule, slots, bucket, kept, weights: weights.collect(), wins: vec![0.0], hint: None }
    }

    fn bucketing(&self, opened: u32) -> Bucketing {
        Bucketing { slots: self.slots, bucket: self.bucket, opened }
    }

    fn extend(&mut self, most: usize) {
        let mut good = Vec::new();
        for i in self.wins.len()..=most {
            let i = i as f64;
            let ruinous = self.rule.ruinous(self.bucket.into()) as usize;
            good.clear();
            good.extend(self.powers(self.kept - i).take(self.weights.len() - ruinous));
            let terms = self.powers(i).zip(&self.weights).skip(ruinous).zip(good.iter().rev());
            let wins: f64 = terms.map(|((bad, weight), good)| bad * weight * good).sum();
            self.wins.push(wins.min(1.0));
        }
    }

    /// Returns `1, n, n·(n − 1), …`, each factor divided by N·B.
    fn powers(&self, n: f64) -> impl Iterator<Item = f64> {
        let kept = self.kept;
        (0..).map(f64::from).scan(1.0, move |product, a| {
            Some(std::mem::replace(product, *product * ((n - a).max(0.0) / kept)))
        })
    }

    /// Returns the greatest `t` that can succeed.
    fn most(&self, opened: u32) -> u64 {
        let bucketing = self.bucketing(opened);
        most_bad(self.rule).min(if self.rule.detection == Detection::Half {
            bucketing.copies()
        } else {
            bucketing.kept()
        })
    }

    /// Returns the success of `t` bad copies if `opened` copies are opened.
    pub fn success(&mut self, opened: u32, t: u64) -> f64 {
        let opened = f64::from(opened);
        // The sum begins with as many bad copies in buckets as possible. Then it moves them one by one to the
        // opened copies; each term is relative to the first.
        let most = t.min(self.bucketing(0).kept());
        let (mut i, mut j) = (most as f64, (t - most) as f64);
        let mut survival = 0.5_f64.powi((t - most) as i32);
        // C(N·B, i) · C(c, j) / C(L, t), where i = t or i = N·B.
        let (mut above, mut below) =
            if j == 0.0 { (self.kept, self.kept + opened) } else { (t as f64, self.kept + opened) };
        for _ in 0..most {
            survival *= above / below;
            (above, below) = (above - 1.0, below - 1.0);
        }
        self.extend(most as usize);
        let mut sum = self.wins[most as usize];
        if self.rule.detection == Detection::Half {
            let mut ways = 1.0;
            for wins in self.wins[..most as usize].iter().rev() {
                // After a bad copy is moved, i − 1 are in buckets and j + 1 are opened, where i and j were
                // before.
                ways *= 0.5 * i * (opened - j) / ((self.kept - i + 1.0) * (j + 1.0));
                (i, j) = (i - 1.0, j + 1.0);
                let term = ways * wins;
                sum += term;
                if term < sum * 1e-18 {
                    break;
                }
            }
        }
        // If the precision of floating point is too low, the product 0 · ∞ occurs. This turns the result into
        // 1, which is safe.
        (survival * sum).min(1.0)
    }

    /// Climbs from the last maximum to the new one, and assumes that there is only one.
    pub fn peak(&mut self, opened: u32) -> Peak {
        let ruinous = self.rule.ruinous(self.bucket.into());
        let most = self.most(opened);
        if self.slots == 0 || ruinous > most {
            return Peak { t: 0, success: 0.0 };
        }
        let (mut t, mut step) = match self.hint {
            Some(t) => (t.clamp(ruinous, most), 1 + t / 16),
            None => {
                let undetected = if self.rule.detection == Detection::Half { 2 } else { 1 };
                let guess = undetected * ruinous * self.bucketing(opened).copies() / (u64::from(opened) + 1);
                (guess.clamp(ruinous, most), 1 + guess / 4)
            }
        };
        let mut best = self.success(opened, t);
        while step > 0 {
            let up = (t + step).min(most);
            let down = t.saturating_sub(step).max(ruinous);
            let found = [up, down].into_iter().find_map(|t| {
                let success = self.success(opened, t);
                (success > best).then_some((t, success))
            });
            match found {
                Some(better) => (t, best) = better,
                None => step /= 2,
            }
        }
        self.hint = Some(t);
        Peak { t, success: best }
    }

    /// Returns whether the estimated success stays within `limit`.
    pub fn is_bounded_by(&mut self, opened: u32, limit: f64) -> bool {
        // Most bad bucketings exceed the limit at the last known maximum.
        if let Some(t) = self.hint {
            let t = t.min(self.most(opened));
            if self.success(opened, t) > limit {
                return false;
            }
        }
        self.peak(opened).success <= limit
    }
}
