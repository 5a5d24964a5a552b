//! The cheapest bucketing that is good enough.
//!
//! The search uses estimates. Then the number of opened copies is made exact: it is verified, and one copy
//! less would not be enough.

use super::estimate::Estimate;
use super::{Bucketing, Rule, Upper};

/// More copies than this in a bucket are never useful: a bucket alone would be good with probability `1 -
/// 2^-127`.
const GREATEST_BUCKET: u32 = 255;

/// Returns whether a batch may have this bucketing: none of a size that nobody would choose.
pub fn is_sensible(rule: Rule, bucketing: &Bucketing) -> bool {
    rule.allows(bucketing.bucket)
        && bucketing.bucket <= GREATEST_BUCKET
        && bucketing.opened <= most_opened(bucketing.slots)
}

/// Copies that may be opened, for `slots` slots, before a smaller bucket stops being an alternative.
fn most_opened(slots: u32) -> u32 {
    slots.saturating_mul(32).saturating_add(1 << 12)
}

/// The fewest opened copies that pass, at most `most`. More opened copies never help the garbler, so that
/// they can be bisected for.
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

/// For each useful size of a bucket, the bucketing with the fewest opened copies by estimate. The last one
/// has the fewest copies.
fn estimates(rule: Rule, slots: u32, limit: Upper) -> Vec<Bucketing> {
    let limit = limit.to_float();
    let mut bucketings: Vec<Bucketing> = Vec::new();
    for bucket in (1..=GREATEST_BUCKET).filter(|&bucket| rule.allows(bucket)) {
        let kept = u64::from(slots) * u64::from(bucket);
        let most = match bucketings.last() {
            None => most_opened(slots),
            Some(best) if kept < best.copies() => most_opened(slots).min((best.copies() - kept) as u32 - 1),
            Some(_) => break,
        };
        let mut estimate = Estimate::new(rule, slots, bucket);
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

/// The bucketing with the fewest opened copies for buckets of this size, given an estimate of it.
fn exact(rule: Rule, estimate: Bucketing, limit: Upper) -> Option<Bucketing> {
    let bucketing = |opened| Bucketing { opened, ..estimate };
    let broken = |opened: u32| {
        let peak = Estimate::new(rule, estimate.slots, estimate.bucket).peak(opened);
        bucketing(opened).is_broken_by(rule, limit, peak.t)
    };
    let fewer = estimate.opened.checked_sub(1);
    if fewer.is_none_or(broken) && bucketing(estimate.opened).is_bounded_by(rule, limit) {
        return Some(estimate);
    }
    // The estimate was wrong: back to the formula itself.
    least(most_opened(estimate.slots), |opened| bucketing(opened).is_bounded_by(rule, limit)).map(bucketing)
}

/// Returns the bucketing with the fewest copies whose bound is at most `limit`; `None` if there is none of
/// sensible size.
pub fn fewest_copies(rule: Rule, slots: u32, limit: Upper) -> Option<Bucketing> {
    cheapest(rule, slots, limit, |bucketing| bucketing.copies() as f64)
}

/// Returns, for each useful size of a bucket, from that of [`fewest_copies`] downwards, the bucketing with
/// the fewest opened copies: less traffic, since opened copies do not travel, for more work.
pub fn alternatives(rule: Rule, slots: u32, limit: Upper) -> Vec<Bucketing> {
    estimates(rule, slots, limit)
        .into_iter()
        .rev()
        .filter_map(|bucketing| exact(rule, bucketing, limit))
        .collect()
}

/// Returns the bucketing with the least cost whose bound is at most `limit`, among [`alternatives`]; of equal
/// ones, that with the larger buckets. `None` if there is no bucketing of sensible size.
pub fn cheapest(rule: Rule, slots: u32, limit: Upper, cost: impl Fn(&Bucketing) -> f64) -> Option<Bucketing> {
    let bucketings = estimates(rule, slots, limit);
    let best = bucketings.into_iter().rev().min_by(|a, b| cost(a).total_cmp(&cost(b)))?;
    exact(rule, best, limit)
}
