//! Compares the bounds with exact arithmetic, other methods, published figures and samples.

use num_bigint::BigInt;
use num_rational::BigRational;
use num_traits::{One, ToPrimitive, Zero};

use super::upper::tests::exact;
use super::*;
use brickwork_base::Error;
use brickwork_base::random::{Rng, Seed};

/// 2^-40 as a limit for a single bound.
fn two_to_minus_40() -> Upper {
    Upper::limit(-40.0)
}

fn choose(n: u64, k: u64) -> BigInt {
    if k > n {
        return BigInt::zero();
    }
    (0..k).fold(BigInt::one(), |product, i| product * (n - i) / (i + 1))
}

/// Computes the formula of module `bound` for all t in exact arithmetic.
fn exact_bound(bucketing: &Bucketing, rule: BucketRule) -> BigRational {
    let (slots, bucket, opened) =
        (u64::from(bucketing.slots), u64::from(bucketing.bucket), u64::from(bucketing.opened));
    let kept = slots * bucket;
    let ruinous = if rule.majority { bucket.div_ceil(2) } else { bucket };
    let success = |t: u64| {
        let terms = (0..=t).map(|j| {
            let undetected = match rule.detection {
                Detection::Full => BigRational::from_integer(u8::from(j == 0).into()),
                Detection::Half => BigRational::new(BigInt::one(), BigInt::one() << j),
            };
            let i = t - j;
            let ways: BigInt =
                (ruinous..=bucket.min(i)).map(|k| choose(bucket, k) * choose(kept - bucket, i - k)).sum();
            let all = choose(kept, i);
            if all.is_zero() {
                return BigRational::zero();
            }
            let wins = BigRational::new(ways * slots, all.clone()).min(BigRational::one());
            BigRational::from_integer(all * choose(opened, j)) * wins * undetected
        });
        terms.sum::<BigRational>() / choose(kept + opened, t)
    };
    (1..=kept + opened).map(success).max().unwrap_or_else(BigRational::zero)
}

/// Computes exactly, without a union bound, the probability that `t` bad copies survive and ruin a bucket.
/// The function counts the ways to fill one bucket after the other without ruining any.
fn exact_success(bucketing: &Bucketing, rule: BucketRule, t: usize) -> BigRational {
    let (slots, bucket, opened) =
        (bucketing.slots as usize, bucketing.bucket as usize, bucketing.opened as usize);
    let ruinous = if rule.majority { bucket.div_ceil(2) } else { bucket };
    let mut harmless = vec![BigInt::one()];
    for _ in 0..slots {
        let mut next = vec![BigInt::zero(); harmless.len() + bucket];
        for (before, ways) in harmless.iter().enumerate() {
            for k in 0..ruinous {
                next[before + k] += ways * choose(bucket as u64, k as u64);
            }
        }
        harmless = next;
    }
    let kept = slots * bucket;
    let total: BigRational = (0..=t.min(kept))
        .map(|i| {
            let ruined = choose(kept as u64, i as u64) - harmless.get(i).cloned().unwrap_or_default();
            let undetected = match (rule.detection, t - i) {
                (Detection::Full, j) => BigRational::from_integer(u8::from(j == 0).into()),
                (Detection::Half, j) => BigRational::new(BigInt::one(), BigInt::one() << j),
            };
            BigRational::from_integer(ruined * choose(opened as u64, (t - i) as u64)) * undetected
        })
        .sum();
    total / choose((kept + opened) as u64, t as u64)
}

const MAJORITY: BucketRule = BucketRule::INPUT_AUTHENTICATOR;
const SMALL: [(Bucketing, BucketRule, &[usize], f64); 4] = [
    (Bucketing { slots: 4, bucket: 2, opened: 8 }, BucketRule::COMPONENT, &[3], 0.0429),
    (Bucketing { slots: 8, bucket: 2, opened: 16 }, BucketRule::COMPONENT, &[3], 0.0226),
    (Bucketing { slots: 8, bucket: 3, opened: 24 }, MAJORITY, &[3], 0.0296),
    (Bucketing { slots: 4, bucket: 3, opened: 12 }, BucketRule::COMPONENT, &[4, 5], 0.0034),
];

#[test]
fn small_games_have_their_exact_success() {
    for (bucketing, rule, best, published) in SMALL {
        let by_t: Vec<_> =
            (0..=bucketing.copies() as usize).map(|t| exact_success(&bucketing, rule, t)).collect();
        let maximum = by_t.iter().max().unwrap().to_f64().unwrap();
        assert!((maximum - published).abs() < 5e-5, "{bucketing:?}: {maximum}");
        for (t, success) in by_t.iter().enumerate() {
            let is_best = (success.to_f64().unwrap() / maximum - 1.0).abs() < 0.01;
            assert_eq!(is_best, best.contains(&t), "{bucketing:?}, t = {t}");
        }
        // The union bound is almost tight for these bucketings, and no bound may be below the exact success.
        let bound = exact(bucketing.bound(rule));
        assert!(by_t.iter().all(|success| *success <= bound));
        assert!(bound.to_f64().unwrap() < maximum * 1.02, "{bucketing:?}: {bound}");
    }
}

#[test]
fn bounds_are_those_of_exact_arithmetic() {
    let mut bucketings =
        vec![(1, 19, 25), (1, 11, 56), (3, 4, 9), (5, 1, 7), (2, 3, 0), (0, 3, 4), (32, 5, 40), (7, 5, 60)];
    bucketings.extend(SMALL.map(|(bucketing, ..)| (bucketing.slots, bucketing.bucket, bucketing.opened)));
    for (slots, bucket, opened) in bucketings {
        let bucketing = Bucketing { slots, bucket, opened };
        for rule in [BucketRule::COMPONENT, BucketRule::KEY_AUTHENTICATOR, BucketRule::INPUT_AUTHENTICATOR] {
            if rule.majority && bucket % 2 == 0 {
                assert_eq!(bucketing.bound(rule), Upper::ONE);
                assert!(!bucketing.is_bounded_by(rule, Upper::ONE));
                continue;
            }
            let (ours, reference) = (exact(bucketing.bound(rule)), exact_bound(&bucketing, rule));
            assert!(
                ours >= reference && ours <= &reference * exact(Upper::ratio((1 << 33) + 1, 1 << 33)),
                "{bucketing:?} {rule:?}"
            );
            assert!(bucketing.is_bounded_by(rule, bucketing.bound(rule)));
            let below = bucketing.bound(rule) * Upper::ratio(999, 1000);
            assert!(slots == 0 || !bucketing.is_bounded_by(rule, below));
            for t in 0..=bucketing.copies().min(24) as usize {
                assert!(exact_success(&bucketing, rule, t) <= ours, "{bucketing:?} {rule:?} t = {t}");
            }
        }
    }
}

/// Each proposal of a peer gets a quick answer, and the returned bound is never too small.
#[test]
fn absurd_cuts_are_refused_in_bounded_time() {
    let start = std::time::Instant::now();
    for (slots, bucket, opened) in [(1 << 27, 31, 1), (1 << 27, 3, 1000), (1, 255, 1 << 31)] {
        for rule in [BucketRule::COMPONENT, BucketRule::KEY_AUTHENTICATOR, BucketRule::INPUT_AUTHENTICATOR] {
            let bound = Bucketing { slots, bucket, opened }.bound(rule);
            assert!(
                bound > Upper::limit(-32.0) || opened >= 1 << 31,
                "{slots}, {bucket}, {opened}: {bound:?}"
            );
        }
    }
    assert!(start.elapsed().as_secs() < 30);
}

/// The bucketing is so good that floating point misses the maximum. The result is still a bound, and less
/// than twice too large.
#[test]
fn a_bound_holds_where_the_estimate_is_wrong() {
    let (rule, bucketing) =
        (BucketRule::KEY_AUTHENTICATOR, Bucketing { slots: 1, bucket: 183, opened: 4011 });
    assert!(
        !bucketing.is_bounded_by(
            rule,
            super::estimate::BucketEstimate::new(rule, bucketing.slots, bucketing.bucket)
                .peak(bucketing.opened)
                .rounded_up()
        )
    );
    let bound = bucketing.bound(rule);
    assert!(
        bucketing.is_bounded_by(rule, bound) && !bucketing.is_bounded_by(rule, bound.halved()),
        "{}",
        bound.log2()
    );
}

/// Returns whether a bucketing has this bucket size and, to two digits, this number of copies for each slot.
fn matches(bucketing: &Bucketing, bucket: u32, copies: f64) -> bool {
    bucketing.bucket == bucket
        && (bucketing.copies() as f64 / f64::from(bucketing.slots) - copies).abs() < 0.00501
}

#[test]
fn component_cuts_are_the_published_ones() {
    let table: [(u32, &[(u32, f64)]); 7] = [
        (1, &[(19, 44.0), (11, 67.0), (8, 124.0)]),
        (32, &[(9, 12.25), (7, 14.22), (6, 19.78)]),
        (128, &[(7, 9.13), (6, 10.09), (5, 15.90)]),
        (1024, &[(6, 6.70), (5, 6.90), (4, 13.75)]),
        (3151, &[(5, 5.76), (4, 7.90)]),
        (100_000, &[(4, 4.27), (3, 9.43)]),
        (1_000_000, &[(4, 4.05), (3, 4.21)]),
    ];
    for (slots, row) in table {
        let bucketings = alternatives(BucketRule::COMPONENT, slots, two_to_minus_40());
        assert!(matches(&bucketings[0], row[0].0, row[0].1), "{slots}: {:?}", bucketings[0]);
        assert_eq!(fewest_copies(BucketRule::COMPONENT, slots, two_to_minus_40()), Some(bucketings[0]));
        for &(bucket, copies) in row {
            assert!(
                bucketings.iter().any(|bucketing| matches(bucketing, bucket, copies)),
                "{slots}, {bucket}, {copies}: {bucketings:?}"
            );
        }
        for bucketing in bucketings {
            assert!(bucketing.bound(BucketRule::COMPONENT).log2() <= -40.0);
            let fewer = Bucketing { opened: bucketing.opened - 1, ..bucketing };
            assert!(fewer.bound(BucketRule::COMPONENT).log2() > -40.0, "{fewer:?} is within the limit too");
        }
    }
}

#[test]
fn authenticator_cuts_are_the_published_ones() {
    for (rule, row) in [
        (
            BucketRule::KEY_AUTHENTICATOR,
            [(128, 17, 22.84), (16_384, 9, 10.06), (131_072, 7, 8.07), (262_144, 7, 7.64)],
        ),
        (
            BucketRule::INPUT_AUTHENTICATOR,
            [(128, 15, 19.02), (16_384, 9, 9.53), (131_072, 7, 7.54), (262_144, 7, 7.32)],
        ),
    ] {
        for (slots, bucket, copies) in row {
            let bucketing = fewest_copies(rule, slots, two_to_minus_40()).unwrap();
            assert!(matches(&bucketing, bucket, copies), "{rule:?} {slots}: {bucketing:?}");
            assert!(bucketing.bound(rule).log2() <= -40.0);
            assert!(Bucketing { opened: bucketing.opened - 1, ..bucketing }.bound(rule).log2() > -40.0);
        }
    }
}

/// Draws real challenges millions of times, against the best number of bad copies for the adversary.
#[test]
fn sampled_success_is_the_exact_one_from_both_sides() {
    let half = BucketRule::KEY_AUTHENTICATOR;
    let games = SMALL
        .map(|(bucketing, rule, best, _)| (bucketing, rule, best[0]))
        .into_iter()
        .chain([(SMALL[2].0, half, 4)]);
    let mut rng = Rng::expand(&Seed::from_bytes([5; 16]), "sampler");
    for (bucketing, rule, bad) in games {
        let ruinous =
            if rule.majority { bucketing.bucket as usize / 2 + 1 } else { bucketing.bucket as usize };
        let trials = 1_000_000;
        let wins = (0..trials)
            .filter(|_| {
                let challenge = BatchChallenge::draw(&mut rng, &bucketing);
                // All sets of bad copies are equivalent, so the first copies are bad.
                let caught = challenge.opened().iter().filter(|&&copy| copy < bad as u32);
                let unseen = match rule.detection {
                    Detection::Full => caught.count() == 0,
                    Detection::Half => caught.fold(true, |unseen, _| rng.below(2) == 0 && unseen),
                };
                let ruined =
                    |bucket: &[u32]| bucket.iter().filter(|&&copy| copy < bad as u32).count() >= ruinous;
                unseen && challenge.buckets().any(ruined)
            })
            .count();
        let success = exact_success(&bucketing, rule, bad).to_f64().unwrap();
        let deviation = (success * (1.0 - success) / f64::from(trials)).sqrt();
        let measured = wins as f64 / f64::from(trials);
        assert!(
            (measured - success).abs() < 3.0 * deviation,
            "{bucketing:?} {rule:?}: {measured} instead of {success} ± {deviation}"
        );
    }
}

const SESSION: [BatchSpec; 4] = [
    BatchSpec { kind: BatchKind::Component, slots: 128 },
    BatchSpec { kind: BatchKind::Component, slots: 1 },
    BatchSpec { kind: BatchKind::KeyAuthenticator, slots: 16_512 },
    BatchSpec { kind: BatchKind::InputAuthenticator, slots: 128 },
];

#[test]
fn a_session_stays_below_its_level_as_a_whole() {
    for security in [40, 64, 80] {
        let budget = Budget::new(security)
            .with_check("commitments", -f64::from(security) - 2.0)
            .with_check("OT", -128.0);
        let allocation = budget.allocate(&SESSION, |_, bucketing| bucketing.copies() as f64).unwrap();
        // The test adds up the same probabilities independently, in floating point.
        let fixed = (-f64::from(security) - 2.0).exp2();
        let sum: f64 = SESSION
            .iter()
            .zip(&allocation.batches)
            .map(|(batch, (bucketing, bound))| {
                assert_eq!((bucketing.slots, bucketing.bound(batch.kind.rule())), (batch.slots, *bound));
                bound.log2().exp2()
            })
            .sum();
        assert!(((fixed + sum).log2() - allocation.total.log2()).abs() < 1e-6);
        assert!(allocation.total.log2() <= -f64::from(security), "{}", allocation.total.log2());
        // The allocation uses almost the whole budget.
        assert!(allocation.total.log2() > -f64::from(security) - 0.25, "{}", allocation.total.log2());

        let bucketings: Vec<Bucketing> = allocation.batches.iter().map(|batch| batch.0).collect();
        assert_eq!(budget.check(&SESSION, &bucketings).unwrap().total, allocation.total);
    }
}

#[test]
fn row_19_weaker_parameters_are_refused() {
    let budget = Budget::new(40).with_check("commitments", -42.0);
    let bucketings: Vec<Bucketing> = budget
        .allocate(&SESSION, |_, bucketing| bucketing.copies() as f64)
        .unwrap()
        .batches
        .iter()
        .map(|batch| batch.0)
        .collect();
    let refused =
        |bucketings: &[Bucketing]| matches!(budget.check(&SESSION, bucketings), Err(Error::Mismatch(_)));
    assert!(!refused(&bucketings));
    for i in 0..bucketings.len() {
        let change = |alter: &dyn Fn(&mut Bucketing)| {
            let mut bucketings = bucketings.clone();
            alter(&mut bucketings[i]);
            bucketings
        };
        assert!(refused(&change(&|bucketing| bucketing.opened /= 2)));
        assert!(refused(&change(&|bucketing| bucketing.bucket -= 2)));
        assert!(refused(&change(&|bucketing| bucketing.bucket = 0)));
        assert!(refused(&change(&|bucketing| bucketing.slots -= 1)));
        assert!(refused(&change(&|bucketing| bucketing.bucket = u32::MAX)));
        assert!(refused(&change(&|bucketing| bucketing.opened = u32::MAX)));
        // The peer may choose stronger bucketings.
        assert!(!refused(&change(&|bucketing| bucketing.opened += 50)));
    }
    assert!(refused(&bucketings[1..]));
    assert!(refused(&[]));
}

#[test]
fn what_cannot_be_reached_is_refused() {
    assert!(matches!(
        Budget::new(40)
            .with_check("commitments", -39.0)
            .allocate(&SESSION, |_, bucketing| bucketing.copies() as f64),
        Err(Error::Usage(_))
    ));
    assert!(matches!(
        Budget::new(40).with_check("commitments", -39.0).check(&[], &[]),
        Err(Error::Mismatch(_))
    ));
    let allocation = |slots: u32| {
        Budget::new(40).allocate(&[BatchSpec { kind: BatchKind::Component, slots }], |_, bucketing| {
            bucketing.copies() as f64
        })
    };
    assert!(
        [u32::MAX, (1 << 27) + 1]
            .map(allocation)
            .iter()
            .all(|allocation| matches!(allocation, Err(Error::Limit(_))))
    );
    for (kind, security) in [(BatchKind::Component, 40), (BatchKind::KeyAuthenticator, 80)] {
        // A cost that favours many opened copies must not lead to numbers of copies above 32 bits.
        for cost in [1.0, -1.0] {
            let batch = BatchSpec { kind, slots: 1 << 27 };
            let largest = Budget::new(security)
                .allocate(&[batch], |_, bucketing| cost * bucketing.copies() as f64)
                .unwrap();
            assert!(kind.may_have(&largest.batches[0].0), "{:?}", largest.batches);
        }
    }
    // An empty batch adds no risk.
    let none = BatchSpec { kind: BatchKind::InputAuthenticator, slots: 0 };
    let allocation = Budget::new(40).allocate(&[none], |_, bucketing| bucketing.copies() as f64).unwrap();
    assert_eq!((allocation.batches[0].0.copies(), allocation.total), (0, Upper::ZERO));
}

#[test]
fn a_limit_is_kept_whatever_steps_lead_past_the_last_number_of_bad_copies() {
    // With so many slots, survival falls below the limit near the largest number of bad copies that is
    // examined.
    let rule = BucketRule::KEY_AUTHENTICATOR;
    let bucketing = Bucketing { slots: 1 << 23, bucket: 7, opened: 690_485 };
    let peak = super::estimate::BucketEstimate::new(rule, bucketing.slots, bucketing.bucket)
        .peak(bucketing.opened)
        .success
        .log2();
    assert!((bucketing.bound(rule).log2() - peak).abs() < 1e-6, "{} {peak}", bucketing.bound(rule).log2());
    for tenth in 0..100 {
        assert!(
            bucketing.is_bounded_by(rule, Upper::limit(peak + 0.001 + f64::from(tenth) / 10.0)),
            "{tenth}"
        );
    }
    assert!(!bucketing.is_bounded_by(rule, Upper::limit(peak - 0.001)));
}
