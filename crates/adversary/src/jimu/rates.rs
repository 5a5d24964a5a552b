//! How often a garbler with bad gates must end how, by counting the ways to spread them.

use brickwork::cut_and_choose::Bucketing;

use crate::sampler::choose;

/// Returns the probability with which `bad` bad gates go unnoticed and every bucket is of some kind: an
/// opened bad gate is noticed with probability 1/2, and a bucket with `k` bad gates is of the kind with
/// probability `kind(k)`.
pub(super) fn unnoticed(cut: Bucketing, bad: u32, kind: impl Fn(u32) -> f64) -> f64 {
    let bucket: Vec<f64> = (0..=cut.bucket).map(|k| choose(cut.bucket, k) * kind(k)).collect();
    let opened: Vec<f64> = (0..=cut.opened).map(|k| choose(cut.opened, k) * 0.5_f64.powi(k as i32)).collect();
    let ways = (0..cut.slots).fold(opened, |ways, _| product(&ways, &bucket, bad as usize));
    ways.get(bad as usize).copied().unwrap_or(0.0) / choose(cut.slots * cut.bucket + cut.opened, bad)
}

/// The product of two polynomials, up to this degree.
fn product(a: &[f64], b: &[f64], most: usize) -> Vec<f64> {
    let coefficient = |k: usize| {
        (0..=k).map(|i| a.get(i).copied().unwrap_or(0.0) * b.get(k - i).copied().unwrap_or(0.0)).sum()
    };
    (0..=most.min(a.len() + b.len())).map(coefficient).collect()
}

/// Returns the probability with which all of `few` symbols that are drawn out of `n` lie among `of` named
/// ones.
pub(super) fn all_among(of: usize, n: usize, few: usize) -> f64 {
    choose(of as u32, few as u32) / choose(n as u32, few as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One bad gate is opened and noticed with probability c/2L; with buckets of one it is used else.
    #[test]
    fn a_single_bad_gate() {
        let cut = Bucketing { slots: 3, bucket: 1, opened: 5 };
        assert!((unnoticed(cut, 1, |_| 1.0) - (1.0 - 5.0 / 16.0)).abs() < 1e-12);
        assert!((unnoticed(cut, 1, |k| f64::from(k == 0)) - 2.5 / 8.0).abs() < 1e-12);
        assert_eq!(unnoticed(cut, 0, |_| 1.0), 1.0);
    }

    /// The bound of the cut-and-choose, which is what these gates would achieve if a bad gate in a bucket
    /// were always wrong.
    #[test]
    fn the_bound_is_not_exceeded() {
        use brickwork::jimu::parameters::GATES;
        for cut in [(4, 2, 8), (8, 2, 16), (4, 3, 12)] {
            let cut = Bucketing { slots: cut.0, bucket: cut.1, opened: cut.2 };
            let bound = cut.bound(GATES).log2().exp2();
            let most = (1..=12)
                .map(|bad| {
                    let ruined = f64::from(cut.bucket);
                    unnoticed(cut, bad, |_| 1.0) - unnoticed(cut, bad, |k| f64::from(f64::from(k) < ruined))
                })
                .fold(0.0, f64::max);
            assert!(most <= bound * (1.0 + 1e-9) && most > 0.7 * bound, "{cut:?}: {most} {bound}");
        }
    }

    #[test]
    fn symbols_among_others() {
        assert_eq!((all_among(3, 4, 1), all_among(2, 4, 2)), (0.75, 1.0 / 6.0));
    }
}
