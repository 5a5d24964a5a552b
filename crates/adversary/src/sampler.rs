//! The cut-and-choose alone: some items are bad, some are opened, and the others go into buckets. The real
//! challenge is drawn, so the samples have the same distribution as runs.

use brickwork::cut_and_choose::{BucketRule, Bucketing, Detection};
use brickwork::duplo::adversary::harness::challenge;
use brickwork::random::Rng;

/// Returns the number of trials in which a garbler with `bad` bad items is not detected and gets a bucket
/// that is bad under `rule`.
///
/// # Panics
/// If there are fewer items than bad ones.
pub fn successes(cut: Bucketing, rule: BucketRule, bad: usize, trials: usize, rng: &mut Rng) -> usize {
    let size = cut.bucket as usize;
    assert!(bad <= cut.slots as usize * size + cut.opened as usize, "more bad items than items");
    let needed = bad_for(cut, rule);
    let survives = |rng: &mut Rng| {
        let (opened, chosen) = challenge(cut, &rng.seed());
        let caught = opened.iter().filter(|&&item| item < bad).any(|_| match rule.detection {
            Detection::Full => true,
            Detection::Half => rng.below(2) == 1,
        });
        !caught
            && chosen.chunks(size).any(|bucket| bucket.iter().filter(|&&item| item < bad).count() >= needed)
    };
    (0..trials).filter(|_| survives(rng)).count()
}

/// Returns the number of bad items that make a bucket bad.
pub fn bad_for(cut: Bucketing, rule: BucketRule) -> usize {
    if rule.majority { cut.bucket as usize / 2 + 1 } else { cut.bucket as usize }
}

/// Returns n choose k.
pub fn choose(n: u32, k: u32) -> f64 {
    if k > n { 0.0 } else { (0..k).map(|i| f64::from(n - i) / f64::from(i + 1)).product() }
}

/// Returns the probability that all of `few` symbols, drawn from n, are among `of` given symbols.
pub fn all_among(of: usize, n: usize, few: usize) -> f64 {
    choose(of as u32, few as u32) / choose(n as u32, few as u32)
}

/// Returns the exact probability of the event that [`successes`] counts, if each opened bad item is detected.
/// It counts the ways to distribute the bad items over the buckets.
pub fn exact(cut: Bucketing, needed: u32, bad: u32) -> f64 {
    let (kept, copies) = (cut.slots * cut.bucket, cut.slots * cut.bucket + cut.opened);
    // This counts the ways to have this many bad items in the first buckets, with fewer than `needed` in
    // each: a convolution.
    let mut ways = vec![0.0; bad as usize + 1];
    ways[0] = 1.0;
    for _ in 0..cut.slots {
        let mut next = vec![0.0; bad as usize + 1];
        for (have, &w) in ways.iter().enumerate() {
            for more in 0..needed.min(cut.bucket + 1) {
                if have + more as usize <= bad as usize {
                    next[have + more as usize] += w * choose(cut.bucket, more);
                }
            }
        }
        ways = next;
    }
    let hidden = choose(copies - bad, cut.opened) / choose(copies, cut.opened);
    hidden * (1.0 - ways[bad as usize] / choose(kept, bad))
}

/// Returns the probability that `bad` bad items go unnoticed and that all buckets have a certain property. An
/// opened bad item is missed with probability `missed`; a bucket with `k` bad items has the property with
/// probability `kind(k)`.
pub fn unnoticed(cut: Bucketing, bad: u32, missed: f64, kind: impl Fn(u32) -> f64) -> f64 {
    let bucket: Vec<f64> = (0..=cut.bucket).map(|k| choose(cut.bucket, k) * kind(k)).collect();
    let opened: Vec<f64> = (0..=cut.opened).map(|k| choose(cut.opened, k) * missed.powi(k as i32)).collect();
    let ways = (0..cut.slots).fold(opened, |ways, _| product(&ways, &bucket, bad as usize));
    ways.get(bad as usize).copied().unwrap_or(0.0) / choose(cut.slots * cut.bucket + cut.opened, bad)
}

/// Returns the product of two polynomials, up to this degree.
fn product(a: &[f64], b: &[f64], most: usize) -> Vec<f64> {
    let coefficient = |k: usize| {
        (0..=k).map(|i| a.get(i).copied().unwrap_or(0.0) * b.get(k - i).copied().unwrap_or(0.0)).sum()
    };
    (0..=most.min(a.len() + b.len())).map(coefficient).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn symbols_among_others() {
        assert_eq!((all_among(3, 4, 1), all_among(2, 4, 2)), (0.75, 1.0 / 6.0));
    }

    /// A single bad gate is opened and detected with probability c/2L. With buckets of one gate, it is used
    /// otherwise.
    #[test]
    fn a_single_bad_gate() {
        let cut = Bucketing { slots: 3, bucket: 1, opened: 5 };
        assert!((unnoticed(cut, 1, 0.5, |_| 1.0) - (1.0 - 5.0 / 16.0)).abs() < 1e-12);
        assert!((unnoticed(cut, 1, 0.5, |k| f64::from(k == 0)) - 2.5 / 8.0).abs() < 1e-12);
        assert_eq!(unnoticed(cut, 0, 0.5, |_| 1.0), 1.0);
        assert!((unnoticed(cut, 1, 0.0, |_| 1.0) - 3.0 / 8.0).abs() < 1e-12);
    }

    /// The bound of the cut-and-choose is reached only if every bad gate in a bucket gives a wrong result,
    /// which it does not always do.
    #[test]
    fn the_bound_is_not_exceeded() {
        use brickwork::jimu::parameters::GATES;
        for cut in [(4, 2, 8), (8, 2, 16), (4, 3, 12)] {
            let cut = Bucketing { slots: cut.0, bucket: cut.1, opened: cut.2 };
            let bound = cut.bound(GATES).log2().exp2();
            let most = (1..=12)
                .map(|bad| {
                    let ruined = f64::from(cut.bucket);
                    unnoticed(cut, bad, 0.5, |_| 1.0)
                        - unnoticed(cut, bad, 0.5, |k| f64::from(f64::from(k) < ruined))
                })
                .fold(0.0, f64::max);
            assert!(most <= bound * (1.0 + 1e-9) && most > 0.7 * bound, "{cut:?}: {most} {bound}");
        }
    }
}
