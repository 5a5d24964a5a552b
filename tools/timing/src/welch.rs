//! The statistics of Reparaz, Balasch, Verbauwhede: "Dude, is my code constant time?" (DATE 2017): two
//! classes of secrets, timed in random order, compared by Welch's t-test, with the slowest measurements cut
//! off at several places.

/// The least |t| of a difference that is certain: by chance, it occurs once in 10^23 tests.
pub const CERTAIN: f64 = 10.0;

/// Mean and variance of a stream of numbers (Welford).
#[derive(Clone, Copy, Default)]
struct Moments {
    count: f64,
    mean: f64,
    squares: f64,
}

impl Moments {
    fn add(&mut self, x: f64) {
        self.count += 1.0;
        let before = x - self.mean;
        self.mean += before / self.count;
        self.squares += before * (x - self.mean);
    }
}

/// Times of both classes, in nanoseconds.
#[derive(Default)]
pub struct Times(Vec<(bool, f64)>);

/// The result of a comparison.
pub struct Comparison {
    /// The t of the largest absolute value, over all cuts.
    pub t: f64,
    /// The difference of the means at that cut, class 1 minus class 0, in nanoseconds.
    pub difference: f64,
    /// Median time of both classes together, in nanoseconds.
    pub median: f64,
}

impl Times {
    /// Adds the time of a call.
    pub fn add(&mut self, class: bool, nanoseconds: f64) {
        self.0.push((class, nanoseconds));
    }

    /// Computes the t-test with several cuts, because interrupts make measurements longer and so hide small
    /// differences.
    pub fn compare(&self) -> Comparison {
        let mut sorted: Vec<f64> = self.0.iter().map(|(_, time)| *time).collect();
        sorted.sort_by(f64::total_cmp);
        let quantile = |q: f64| sorted[((sorted.len() - 1) as f64 * q) as usize];
        let tests = [0.25, 0.5, 0.75, 0.9, 0.99, 1.0].map(|q| self.test(quantile(q)));
        let (t, difference) =
            tests.into_iter().max_by(|a, b| a.0.abs().total_cmp(&b.0.abs())).expect("six tests");
        Comparison { t, difference, median: quantile(0.5) }
    }

    fn test(&self, cut: f64) -> (f64, f64) {
        let mut classes = [Moments::default(); 2];
        self.0
            .iter()
            .filter(|(_, time)| *time <= cut)
            .for_each(|(class, time)| classes[usize::from(*class)].add(*time));
        let [zero, one] = classes;
        if zero.count < 10.0 || one.count < 10.0 {
            return (0.0, 0.0);
        }
        let variance = |m: Moments| m.squares / (m.count - 1.0) / m.count;
        let deviation = (variance(zero) + variance(one)).sqrt();
        let difference = one.mean - zero.mean;
        // Clocks are coarse, so all times may be the same.
        let t = if deviation > 0.0 { difference / deviation } else { 0.0 };
        (t, difference)
    }
}

impl Times {
    /// Computes the rank sum test of Mann and Whitney: by how many standard deviations the ranks of class 1
    /// exceed those of class 0. It assumes nothing about the distribution of times.
    pub fn rank_test(&self) -> f64 {
        let mut sorted = self.0.clone();
        sorted.sort_by(|a, b| a.1.total_cmp(&b.1));
        let ones = sorted.iter().filter(|(class, _)| *class).count() as f64;
        let (all, mut sum, mut ties, mut at) = (sorted.len() as f64, 0.0, 0.0, 0);
        while at < sorted.len() {
            let same = sorted[at..].iter().take_while(|(_, time)| *time == sorted[at].1).count();
            let rank = at as f64 + (same as f64 + 1.0) / 2.0;
            sum += rank * sorted[at..at + same].iter().filter(|(class, _)| *class).count() as f64;
            ties += (same as f64).powi(3) - same as f64;
            at += same;
        }
        let mean = ones * (all + 1.0) / 2.0;
        let variance = ones * (all - ones) / 12.0 * (all + 1.0 - ties / (all * (all - 1.0)));
        if variance > 0.0 { (sum - mean) / variance.sqrt() } else { 0.0 }
    }

    /// Returns the median time of a class.
    pub fn median(&self, class: bool) -> f64 {
        let mut times: Vec<f64> = self.0.iter().filter(|(c, _)| *c == class).map(|(_, time)| *time).collect();
        times.sort_by(f64::total_cmp);
        times[times.len() / 2]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns numbers that look random, between 0 and 1.
    fn noise() -> impl Iterator<Item = f64> {
        let mut x = 1u64;
        std::iter::from_fn(move || {
            x = x.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            Some((x >> 11) as f64 / (1u64 << 53) as f64)
        })
    }

    #[test]
    fn a_difference_is_found_and_noise_is_none() {
        for (difference, found) in [(0.0, false), (0.2, true), (-0.2, true)] {
            let (mut times, mut noise) = (Times::default(), noise());
            for i in 0..20_000 {
                let class = noise.next().unwrap() < 0.5;
                // Every hundredth measurement is interrupted.
                let interrupted = if i % 100 == 0 { 1000.0 } else { 0.0 };
                times.add(
                    class,
                    100.0 + 4.0 * noise.next().unwrap() + interrupted + if class { difference } else { 0.0 },
                );
            }
            let comparison = times.compare();
            assert_eq!(comparison.t.abs() > CERTAIN, found, "{difference}: t = {}", comparison.t);
            assert!(!found || (comparison.difference - difference).abs() < 0.1, "{}", comparison.difference);
            assert!((comparison.median - 102.0).abs() < 0.5);
        }
    }

    /// The expected value is computed by hand: means 2 and 5, variances 1 and 1, ten values each.
    #[test]
    fn t_is_welchs() {
        let mut times = Times::default();
        for (class, mean) in [(false, 2.0), (true, 5.0)] {
            for k in 0..20 {
                times.add(class, mean + if k % 2 == 0 { 1.0 } else { -1.0 });
            }
        }
        let (t, difference) = times.test(f64::MAX);
        let expected = 3.0 / (2.0 * (20.0 / 19.0) / 20.0f64).sqrt();
        assert!((t - expected).abs() < 1e-9 && (difference - 3.0).abs() < 1e-9, "{t}");
    }

    /// The expected values are computed by hand: U = 9 of 9 without ties, mean 4.5, variance 9 (7 - 0) / 12;
    /// then with swapped classes; then with equal classes.
    #[test]
    fn ranks_are_mann_and_whitneys() {
        let test = |zero: &[f64], one: &[f64]| {
            let mut times = Times::default();
            zero.iter().for_each(|&time| times.add(false, time));
            one.iter().for_each(|&time| times.add(true, time));
            times.rank_test()
        };
        let all = 4.5 / 5.25f64.sqrt();
        assert!((test(&[1.0, 2.0, 3.0], &[4.0, 5.0, 6.0]) - all).abs() < 1e-9);
        assert!((test(&[40.0, 50.0, 60.0], &[1.0, 2.0, 3.0]) + all).abs() < 1e-9);
        assert_eq!(test(&[1.0, 2.0, 2.0], &[2.0, 1.0, 2.0]), 0.0);
    }
}
