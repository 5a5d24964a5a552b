//! The cheapest cut that is good enough.
//!
//! The search runs on estimates; the number of opened copies of what it proposes is then made exact: it is
//! verified, and one copy less is not enough.

use super::estimate::Estimate;
use super::{Cut, Rule, Upper};

/// More copies than this in a bucket are never useful: a bucket alone would be good with probability `1 -
/// 2^-127`.
const GREATEST_BUCKET: u32 = 255;

/// Whether a batch may have this cut: none of a size that nobody would choose.
pub fn is_sensible(rule: Rule, cut: &Cut) -> bool {
    rule.allows(cut.bucket) && cut.bucket <= GREATEST_BUCKET && cut.opened <= most_opened(cut.slots)
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

/// For each useful size of a bucket, the cut with the fewest opened copies by estimate. The last one has the
/// fewest copies.
fn estimates(rule: Rule, slots: u32, limit: Upper) -> Vec<Cut> {
    let limit = limit.to_float();
    let mut cuts: Vec<Cut> = Vec::new();
    for bucket in (1..=GREATEST_BUCKET).filter(|&bucket| rule.allows(bucket)) {
        let kept = u64::from(slots) * u64::from(bucket);
        let most = match cuts.last() {
            None => most_opened(slots),
            Some(best) if kept < best.copies() => most_opened(slots).min((best.copies() - kept) as u32 - 1),
            Some(_) => break,
        };
        let mut estimate = Estimate::new(rule, slots, bucket);
        cuts.extend(least(most, |opened| estimate.is_bounded_by(opened, limit)).map(|opened| Cut {
            slots,
            bucket,
            opened,
        }));
    }
    cuts
}

/// The cut with the fewest opened copies for buckets of this size, given an estimate of it.
fn exact(rule: Rule, estimate: Cut, limit: Upper) -> Option<Cut> {
    let cut = |opened| Cut { opened, ..estimate };
    let broken = |opened: u32| {
        let peak = Estimate::new(rule, estimate.slots, estimate.bucket).peak(opened);
        cut(opened).is_broken_by(rule, limit, peak.t)
    };
    let fewer = estimate.opened.checked_sub(1);
    if fewer.is_none_or(broken) && cut(estimate.opened).is_bounded_by(rule, limit) {
        return Some(estimate);
    }
    // The estimate was wrong: back to the formula itself.
    least(most_opened(estimate.slots), |opened| cut(opened).is_bounded_by(rule, limit)).map(cut)
}

/// The cut with the fewest copies whose bound is at most `limit`; `None` if there is none of sensible size.
pub fn fewest_copies(rule: Rule, slots: u32, limit: Upper) -> Option<Cut> {
    cheapest(rule, slots, limit, |cut| cut.copies() as f64)
}

/// For each useful size of a bucket, from that of [`fewest_copies`] downwards, the cut with the fewest opened
/// copies: less traffic, since opened copies do not travel, for more work.
pub fn alternatives(rule: Rule, slots: u32, limit: Upper) -> Vec<Cut> {
    estimates(rule, slots, limit).into_iter().rev().filter_map(|cut| exact(rule, cut, limit)).collect()
}

/// The cut with the least cost whose bound is at most `limit`, among [`alternatives`]; of equal ones, that
/// with the larger buckets. `None` if there is no cut of sensible size.
pub fn cheapest(rule: Rule, slots: u32, limit: Upper, cost: impl Fn(&Cut) -> f64) -> Option<Cut> {
    let cuts = estimates(rule, slots, limit);
    let best = cuts.into_iter().rev().min_by(|a, b| cost(a).total_cmp(&cost(b)))?;
    exact(rule, best, limit)
}
