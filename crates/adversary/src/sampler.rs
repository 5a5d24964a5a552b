//! The cut-and-choose alone: bad items among good ones, some opened, the rest in buckets. The real challenge
//! decides which, so that what is sampled is what both parties of a run derive.

use brickwork::cut_and_choose::{Bucketing, Detection, Rule};
use brickwork::duplo::adversary::harness::challenge;
use brickwork::random::Rng;

/// Returns how often a garbler with `bad` bad items is not caught and gets a bucket that is bad under `rule`,
/// in so many trials.
///
/// # Panics
/// If there are fewer items than bad ones.
pub fn successes(cut: Bucketing, rule: Rule, bad: usize, trials: usize, rng: &mut Rng) -> usize {
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
pub fn bad_for(cut: Bucketing, rule: Rule) -> usize {
    if rule.majority { cut.bucket as usize / 2 + 1 } else { cut.bucket as usize }
}

/// Returns n choose k.
pub fn choose(n: u32, k: u32) -> f64 {
    if k > n { 0.0 } else { (0..k).map(|i| f64::from(n - i) / f64::from(i + 1)).product() }
}

/// Returns the exact probability of what [`successes`] counts, by counting the ways to spread the bad items
/// over the buckets, where each opened bad item is seen.
pub fn exact(cut: Bucketing, needed: u32, bad: u32) -> f64 {
    let (kept, copies) = (cut.slots * cut.bucket, cut.slots * cut.bucket + cut.opened);
    // Ways to have so many bad items in the first buckets with fewer than `needed` in each: a convolution.
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
