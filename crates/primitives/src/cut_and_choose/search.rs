//! Search for the cheapest bucketing within a limit.
//!
//! The search uses estimates. Then it verifies exactly that the number of opened copies is enough, and that
//! one copy less is not.

use super::estimate::BucketEstimate;
use super::{BucketRule, Bucketing, Upper};

/// The size of the largest useful bucket: if copies were bad at random, a larger one would contain a good
/// copy with probability `1 - 2^-127`.
const GREATEST_BUCKET: u32 = 255;

/// Returns whether a batch may have this bucketing, whose sizes a peer may have chosen. The number of each
/// copy must fit into 32 bits.
pub fn is_sensible(rule: BucketRule, bucketing: &Bucketing) -> bool {
    rule.allows(bucketing.bucket)
        && bucketing.bucket <= GREATEST_BUCKET
        && most_opened(bucketing.slots, bucketing.bucket).is_some_and(|most| bucketing.opened <= most)
}

/// Returns the largest useful number of opened copies for `slots` slots: beyond it, a larger bucket is
/// cheaper. The number is smaller if otherwise the numbers of copies would not fit into 32 bits. Returns
/// `None` if the copies in buckets alone are too many.
fn most_opened(slots: u32, bucket: u32) -> Option<u32> {
    let room = u32::MAX.checked_sub(slots.checked_mul(bucket)?)?;
    Some(slots.saturating_mul(32).saturating_add(1 << 12).min(room))
}

/// Returns the smallest number of opened copies, at most `most`, for which `passes` returns true. More opened
/// copies never help the garbler, so a binary search finds the number.
fn least(most: u32, mut passes: impl FnMut(u32) -> bool) -> Option<u32> {
    if !passes(most) {
        return None;
    }
    let (mut too_few, mut enough) = (-1_i64, i64::from(most));
    while enough - too_few > 1 {
        let middle = (too_few + enough) / 2;
        if passes(middle as u32) { enough = middle } else { too_few = middle }
    }
    Some(enough as u32)
}

/// Returns, for each useful bucket size, the bucketing that needs the fewest opened copies by the estimate.
/// The last bucketing has the fewest copies in total.
fn estimates(rule: BucketRule, slots: u32, limit: Upper) -> Vec<Bucketing> {
    let limit = limit.to_float();
    let mut bucketings: Vec<Bucketing> = Vec::new();
    for bucket in (1..=GREATEST_BUCKET).filter(|&bucket| rule.allows(bucket)) {
        let kept = u64::from(slots) * u64::from(bucket);
        let Some(most) = most_opened(slots, bucket) else { break };
        let most = match bucketings.last() {
            None => most,
            Some(best) if kept < best.copies() => most.min((best.copies() - kept) as u32 - 1),
            Some(_) => break,
        };
        let mut estimate = BucketEstimate::new(rule, slots, bucket);
        bucketings.extend(
            least(most, |opened| estimate.is_bounded_by(opened, limit)).map(|opened| Bucketing {
                slots,
                bucket,
                opened,
            }),
        );
    }
    bucketings
}

/// Returns the bucketing with this bucket size that needs the fewest opened copies by the exact formula. The
/// search begins at the estimate.
fn exact(rule: BucketRule, estimate: Bucketing, limit: Upper) -> Option<Bucketing> {
    let bucketing = |opened| Bucketing { opened, ..estimate };
    let broken = |opened: u32| {
        let peak = BucketEstimate::new(rule, estimate.slots, estimate.bucket).peak(opened);
        bucketing(opened).is_broken_by(rule, limit, peak.t)
    };
    let fewer = estimate.opened.checked_sub(1);
    if fewer.is_none_or(broken) && bucketing(estimate.opened).is_bounded_by(rule, limit) {
        return Some(estimate);
    }
    // If the estimate was wrong, the exact formula decides.
    let most = most_opened(estimate.slots, estimate.bucket)?;
    least(most, |opened| bucketing(opened).is_bounded_by(rule, limit)).map(bucketing)
}

/// Returns the bucketing with the fewest copies whose bound is at most `limit`. Returns `None` if no sensible
/// bucketing reaches the limit.
pub fn fewest_copies(rule: BucketRule, slots: u32, limit: Upper) -> Option<Bucketing> {
    cheapest(rule, slots, limit, |bucketing| bucketing.copies() as f64)
}

/// Returns the bucketing with the fewest opened copies for each useful bucket size, from that of
/// [`fewest_copies`] downwards. Smaller buckets reduce traffic, because opened copies are not sent, and
/// increase work.
pub fn alternatives(rule: BucketRule, slots: u32, limit: Upper) -> Vec<Bucketing> {
    estimates(rule, slots, limit)
        .into_iter()
        .rev()
        .filter_map(|bucketing| exact(rule, bucketing, limit))
        .collect()
}

/// Returns the cheapest of [`alternatives`] whose bound is at most `limit`. Among equally cheap bucketings,
/// it takes the one with larger buckets. Returns `None` if no sensible bucketing reaches the limit.
pub fn cheapest(
    rule: BucketRule,
    slots: u32,
    limit: Upper,
    cost: impl Fn(&Bucketing) -> f64,
) -> Option<Bucketing> {
    let bucketings = estimates(rule, slots, limit);
    let best = bucketings.into_iter().rev().min_by(|a, b| cost(a).total_cmp(&cost(b)))?;
    exact(rule, best, limit)
}
