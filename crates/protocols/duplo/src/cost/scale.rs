//! Predicts how cost grows: programs with any number of slots of one component, by formulas instead of a
//! program.
//!
//! Cuts are exact up to [`EXACT_SLOTS`]. Beyond that, counting copies one by one takes too long, and bad
//! copies are assumed to fall into buckets independently. Then `t` bad copies among `L` survive `c` openings
//! with probability `(1 - u·c/L)^t`, where `u` is the probability that an opened bad copy is detected. They
//! spoil one of `N` buckets of `B` with probability at most `N·C(B,m)·(t/L)^m`, where `m` is the number of
//! bad copies that spoils a bucket. The product is largest at `t = m / -ln(1 - u·c/L)`, or at `t = m` if that
//! is larger. Tests compare this formula with the exact cuts.

use super::prices;
use crate::instance::Commitments;
use crate::parameters::{ItemCost, Prices};
use brickwork_circuit::Circuit;
use brickwork_plan::{Link, Machine};
use brickwork_primitives::commit::CommitmentScheme as _;
use brickwork_primitives::cut_and_choose::{BucketRule, Upper, cheapest};

/// The largest number of slots whose cuts are computed exactly.
pub const EXACT_SLOTS: f64 = (1 << 20) as f64;

/// The largest bucket size that is considered.
const GREATEST_BUCKET: u32 = 64;

/// The cost of a cut for each slot: the bucket size B, and the number `L / N` of items made.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SlotCost {
    /// B: the number of items in a bucket.
    pub bucket: u32,
    /// `L / N`: the number of items made for each bucket, the opened ones included.
    pub made: f64,
}

impl SlotCost {
    fn cost(&self, cost: &ItemCost) -> f64 {
        let bucket = f64::from(self.bucket);
        cost.made * self.made + cost.opened * (self.made - bucket) + cost.chosen * bucket
    }
}

fn choose(n: u32, k: u32) -> f64 {
    (0..k).map(|i| f64::from(n - i) / f64::from(i + 1)).product()
}

/// Returns the base-2 logarithm of the largest probability with which a garbler cheats, by the formula above.
fn log2_bound(rule: BucketRule, slots: f64, rate: SlotCost) -> f64 {
    let bucket = f64::from(rate.bucket);
    let made = slots * rate.made;
    let ruin = if rule.majority { rate.bucket / 2 + 1 } else { rate.bucket };
    let seen = if rule == BucketRule::KEY_AUTHENTICATOR { 0.5 } else { 1.0 };
    let survive = (-seen * (rate.made - bucket) / rate.made).ln_1p();
    let least = f64::from(ruin);
    let bad = if survive < 0.0 { (least / -survive).clamp(least, made) } else { made };
    let success = bad * survive + slots.ln() + choose(rate.bucket, ruin).ln() + least * (bad / made).ln();
    success.min(bad * survive).min(0.0) / std::f64::consts::LN_2
}

/// Returns the cheapest rate with which a garbler cheats with probability at most 2^`log2_limit`.
pub fn rate(rule: BucketRule, slots: f64, log2_limit: f64, cost: &ItemCost) -> Option<SlotCost> {
    if slots <= EXACT_SLOTS {
        let bucketing = cheapest(rule, slots as u32, Upper::limit(log2_limit), |bucketing| {
            let bucket = f64::from(bucketing.bucket);
            SlotCost { bucket: bucketing.bucket, made: bucket + f64::from(bucketing.opened) / slots }
                .cost(cost)
        })?;
        return Some(SlotCost { bucket: bucketing.bucket, made: bucketing.copies() as f64 / slots });
    }
    let of_bucket = |bucket: u32| -> Option<SlotCost> {
        let at = |opened: f64| SlotCost { bucket, made: f64::from(bucket) + opened };
        let good = |opened: f64| log2_bound(rule, slots, at(opened)) <= log2_limit;
        let (mut few, mut enough) = (0.0, 32.0);
        if !good(enough) {
            return None;
        }
        for _ in 0..60 {
            let middle = (few + enough) / 2.0;
            if good(middle) { enough = middle } else { few = middle }
        }
        Some(at(enough))
    };
    let buckets = (1..=GREATEST_BUCKET).filter(|bucket| !rule.majority || bucket % 2 == 1);
    buckets.filter_map(of_bucket).min_by(|a, b| a.cost(cost).total_cmp(&b.cost(cost)))
}

/// The cost of a program with this many slots.
#[derive(Clone, Copy, Debug)]
pub struct SlotScale {
    /// The AND gates of all slots together.
    pub and_gates: f64,
    /// The rate of the component's copies.
    pub copies: SlotCost,
    /// The rate of the authenticators of its outputs.
    pub authenticators: SlotCost,
    /// The bytes that the garbler sends, for each AND gate.
    pub bytes_an_and: f64,
    /// The time in seconds: the work of both parties one after the other, and the network.
    pub seconds: f64,
}

/// Returns the cost of `slots` slots of this component, without constant costs. Returns `None` beyond the
/// limits of all cuts.
pub fn scale(
    circuit: &Circuit,
    slots: f64,
    security: u32,
    machine: &Machine,
    link: &Link,
) -> Option<SlotScale> {
    let level = &Commitments::level(security)?;
    let prices = prices(machine, level, link);
    let (ands, inputs, outputs) =
        (circuit.and_gates() as f64, circuit.inputs() as f64, circuit.outputs().len() as f64);
    // Copies, and each of the two kinds of authenticators, get a third of the budget.
    let limit = -f64::from(security) - 3f64.log2();
    let (of_copies, of_authenticators) = (prices.of_component(circuit, level), prices.of_plain(level));
    let copies = rate(BucketRule::COMPONENT, slots, limit, &of_copies)?;
    let authenticators = rate(BucketRule::KEY_AUTHENTICATOR, slots * outputs, limit, &of_authenticators)?;
    let nanoseconds = slots * copies.cost(&of_copies)
        + slots * outputs * authenticators.cost(&of_authenticators)
        + slots * inputs * (16.0 * prices.byte + prices.claim);
    let bytes = Prices { byte: 1.0, ..Prices::FREE };
    let sent = copies.cost(&bytes.of_component(circuit, level))
        + outputs * authenticators.cost(&bytes.of_plain(level))
        + 16.0 * inputs;
    Some(SlotScale {
        and_gates: ands * slots,
        copies,
        authenticators,
        bytes_an_and: sent / ands,
        seconds: nanoseconds / 1e9,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Parameters;
    use crate::cost::predict;
    use brickwork_circuit::library::papers;

    const COPIES: ItemCost = ItemCost { made: 1.0, opened: 0.0, chosen: 0.0 };

    /// Where exact cuts exist, the formula agrees with them.
    #[test]
    fn the_formula_continues_the_exact_cuts() {
        for (rule, slack) in [
            (BucketRule::COMPONENT, 0.02),
            (BucketRule::KEY_AUTHENTICATOR, 0.02),
            (BucketRule::INPUT_AUTHENTICATOR, 0.02),
        ] {
            for slots in [100_000u32, 1_000_000] {
                let bucketing =
                    cheapest(rule, slots, Upper::limit(-41.5), |bucketing| bucketing.copies() as f64)
                        .unwrap();
                let exact =
                    SlotCost { bucket: bucketing.bucket, made: bucketing.copies() as f64 / f64::from(slots) };
                let bound = log2_bound(rule, f64::from(slots), exact);
                assert!((bound + 41.5).abs() < 0.5, "{rule:?} at {slots}: 2^{bound} by the formula");
                let log2 = bucketing.bound(rule).log2();
                assert!((bound / log2 - 1.0).abs() < slack, "{bound} and {log2}");
            }
        }
    }

    /// Every cut has at least two copies for each slot: with a single copy, one bad copy that is not opened
    /// wins.
    #[test]
    fn two_copies_a_slot_are_the_limit() {
        let mut last = f64::INFINITY;
        for exponent in 3..=15 {
            let rate = rate(BucketRule::COMPONENT, 10f64.powi(exponent), -41.5, &COPIES).unwrap();
            assert!(rate.made <= last && rate.made > 2.0, "{rate:?} at 10^{exponent}");
            last = rate.made;
        }
        assert!(last < 2.1, "{last}");
    }

    /// Compares the bytes of the model with those of the exact plan.
    #[test]
    fn bytes_are_those_of_the_plan() {
        let machine = Machine::free();
        for (n, t) in [(14, 8), (16, 10)] {
            let program = papers::random(n, t).unwrap();
            let parameters = Parameters::choose(&program, 40).unwrap();
            let exact = predict(&program, &parameters, &machine, &Link::LOOPBACK).bytes() as f64
                / program.and_gates() as f64;
            let link = Link { bits_per_second: Some(2.7e9), ..Link::LOOPBACK };
            let model = scale(&program.components()[0].circuit, f64::from(1 << (n - t)), 40, &machine, &link)
                .unwrap();
            assert!((model.bytes_an_and / exact - 1.0).abs() < 0.25, "{} and {exact}", model.bytes_an_and);
        }
    }
}
