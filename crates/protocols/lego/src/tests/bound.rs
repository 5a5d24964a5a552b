//! The bound of mixed buckets, compared with exact arithmetic and with all possible positions of bad items.

use crate::Parameters;
use crate::mixed::Mixed;
use crate::parameters::floor;
use brickwork_primitives::cut_and_choose::Bucketing;
use num_bigint::BigInt;
use num_rational::BigRational;
use num_traits::{One, ToPrimitive, Zero};

fn mixed(slots: u32, [beta, c]: [u32; 2], [alpha, d]: [u32; 2]) -> Mixed {
    Mixed {
        gates: Bucketing { slots, bucket: beta, opened: c },
        authenticators: Bucketing { slots, bucket: alpha, opened: d },
    }
}

fn choose(n: u64, k: u64) -> BigInt {
    if k > n {
        return BigInt::zero();
    }
    (0..k).fold(BigInt::one(), |product, i| product * (n - i) / (i + 1))
}

/// Returns whether a bucket is ruined by the evaluator's vote: it has no good gate, or its good items are no
/// strict majority.
fn ruined(mixed: &Mixed, x: u64, y: u64) -> bool {
    let (beta, alpha) = (u64::from(mixed.gates.bucket), u64::from(mixed.authenticators.bucket));
    x == beta || 2 * (beta + alpha - x - y) <= beta + alpha
}

/// Returns the probability that no opened one of t bad items is detected and a given bucket contains x bad
/// ones.
fn exact_kind(cut: &Bucketing, t: u64, x: u64) -> BigRational {
    let (all, kept, size) = (cut.copies(), cut.kept(), u64::from(cut.bucket));
    let ways = (0..=t.saturating_sub(x)).fold(BigRational::zero(), |sum, j| {
        let ways = choose(u64::from(cut.opened), j) * choose(kept - size, t - x - j);
        sum + BigRational::new(ways, BigInt::one() << j)
    });
    if x > t { BigRational::zero() } else { ways * choose(size, x) / choose(all, t) }
}

fn exact_survival(cut: &Bucketing, t: u64) -> BigRational {
    let ways = (0..=t).fold(BigRational::zero(), |sum, j| {
        let ways = choose(u64::from(cut.opened), j) * choose(cut.kept(), t - j);
        sum + BigRational::new(ways, BigInt::one() << j)
    });
    ways / choose(cut.copies(), t)
}

/// The probabilities for t bad items of a kind: that no opened one is detected, and that in addition a given
/// bucket contains x bad ones.
struct Bad {
    unseen: BigRational,
    in_bucket: Vec<BigRational>,
}

impl Bad {
    fn of(cut: &Bucketing, t: u64) -> Self {
        let in_bucket = (0..=u64::from(cut.bucket)).map(|x| exact_kind(cut, t, x)).collect();
        Bad { unseen: exact_survival(cut, t), in_bucket }
    }
}

/// Evaluates the formula for these bad gates and authenticators.
fn success_of(mixed: &Mixed, gates: &Bad, authenticators: &Bad) -> BigRational {
    let survival = &gates.unseen * &authenticators.unseen;
    let mut sum = BigRational::zero();
    for (x, of_gates) in (0..).zip(&gates.in_bucket) {
        let lost = (0..).zip(&authenticators.in_bucket).filter(|&(y, _)| ruined(mixed, x, y));
        sum += of_gates * lost.fold(BigRational::zero(), |sum, (_, one)| sum + one);
    }
    survival.min(sum * BigInt::from(mixed.gates.slots))
}

/// Evaluates the formula for t bad gates and u bad authenticators.
fn exact_success(mixed: &Mixed, t: u64, u: u64) -> BigRational {
    success_of(mixed, &Bad::of(&mixed.gates, t), &Bad::of(&mixed.authenticators, u))
}

#[test]
fn the_bound_is_that_of_exact_arithmetic() {
    for mixed in [
        mixed(1, [3, 4], [2, 5]),
        mixed(1, [2, 8], [3, 8]),
        mixed(3, [2, 6], [3, 4]),
        mixed(4, [4, 7], [3, 9]),
        mixed(5, [1, 9], [2, 9]),
        mixed(2, [2, 0], [1, 0]),
    ] {
        let pairs =
            (0..=mixed.gates.copies()).flat_map(|t| (0..=mixed.authenticators.copies()).map(move |u| (t, u)));
        let exact = pairs.map(|(t, u)| exact_success(&mixed, t, u)).max().unwrap().to_f64().unwrap();
        let bound = mixed.bound(1e-30);
        assert!(bound >= exact && bound <= exact * (1.0 + 1e-8), "{mixed:?}: {bound} and {exact}");
    }
}

/// Tests batches that are too large for placing items one by one, at the numbers of bad items that are best
/// for the garbler.
#[test]
fn the_bound_of_large_batches_is_that_of_exact_arithmetic() {
    for mixed in [mixed(1500, [4, 900], [3, 700]), mixed(900, [5, 1400], [4, 1400])] {
        let bad = |cut| (0..60).step_by(3).map(|t| Bad::of(cut, t)).collect::<Vec<_>>();
        let (gates, authenticators) = (bad(&mixed.gates), bad(&mixed.authenticators));
        let pairs = gates.iter().flat_map(|t| authenticators.iter().map(move |u| (t, u)));
        let exact: Vec<f64> = pairs.map(|(t, u)| success_of(&mixed, t, u).to_f64().unwrap()).collect();
        let best = exact.into_iter().fold(0.0, f64::max);
        let bound = mixed.bound(1e-20);
        // The best pair may lie between the pairs that the test computes.
        assert!(bound >= best && bound <= best * 1.3, "{mixed:?}: {bound} and {best}");
    }
}

/// Returns all subsets of k of n items, as bits.
fn subsets(n: u64, k: u64) -> impl Iterator<Item = u32> {
    (0..1_u32 << n).filter(move |set| u64::from(set.count_ones()) == k)
}

/// Returns the true probability, over all positions of bad items. The items after those in buckets are the
/// opened ones.
fn brute_force(mixed: &Mixed, t: u64, u: u64) -> BigRational {
    let Mixed { gates, authenticators } = mixed;
    let in_bucket = |set: u32, cut: &Bucketing, bucket: u32| {
        u64::from((set >> (bucket * cut.bucket) & ((1 << cut.bucket) - 1)).count_ones())
    };
    let unseen = |set: u32, cut: &Bucketing| (set >> cut.kept()).count_ones();
    let (mut sum, mut ways) = (BigRational::zero(), 0);
    for g in subsets(gates.copies(), t) {
        for a in subsets(authenticators.copies(), u) {
            ways += 1;
            let wins =
                |bucket| ruined(mixed, in_bucket(g, gates, bucket), in_bucket(a, authenticators, bucket));
            if (0..gates.slots).any(wins) {
                sum += BigRational::new(
                    BigInt::one(),
                    BigInt::one() << (unseen(g, gates) + unseen(a, authenticators)),
                );
            }
        }
    }
    sum / BigInt::from(ways)
}

/// For one bucket, the formula is exact. For several, it counts outcomes with two ruined buckets twice.
#[test]
fn the_formula_is_what_happens() {
    for mixed in [mixed(1, [2, 3], [3, 3]), mixed(1, [3, 4], [2, 4]), mixed(1, [1, 4], [2, 5])] {
        for t in 0..=mixed.gates.copies() {
            for u in 0..=mixed.authenticators.copies() {
                assert_eq!(exact_success(&mixed, t, u), brute_force(&mixed, t, u), "{mixed:?} {t} {u}");
            }
        }
    }
    for mixed in [mixed(2, [2, 3], [1, 3]), mixed(2, [1, 3], [2, 3]), mixed(3, [1, 4], [2, 2])] {
        for t in 0..=mixed.gates.copies() {
            for u in 0..=mixed.authenticators.copies() {
                let (formula, truth) = (exact_success(&mixed, t, u), brute_force(&mixed, t, u));
                let slots = BigInt::from(mixed.gates.slots);
                assert!(truth <= formula && formula <= truth * slots, "{mixed:?} {t} {u}");
            }
        }
    }
}

/// The chosen cut keeps the bound at most 2^-s together with all other checks, at every level. A garbler that
/// opens less is refused.
#[test]
fn parameters_keep_their_level() {
    for security in [40, 64, 80] {
        for (ands, wires) in [(0, 0), (0, 5), (1, 1), (30, 128), (6400, 128), (1 << 20, 256)] {
            let parameters = Parameters::choose(ands, wires, security).unwrap();
            assert!(parameters.bound_log2 <= -f64::from(security), "{parameters:?}");
            let proposed = Parameters::proposed(ands, wires, security, &parameters.proposal()).unwrap();
            assert_eq!(proposed, parameters);
            if ands > 0 {
                let mut weaker = parameters.clone();
                weaker.gates.opened -= weaker.gates.opened / 8 + 1;
                assert!(Parameters::proposed(ands, wires, security, &weaker.proposal()).is_err());
                let mut weaker = parameters.clone();
                weaker.authenticators.opened = 0;
                assert!(Parameters::proposed(ands, wires, security, &weaker.proposal()).is_err());
                assert!(Parameters::proposed(ands * 2, wires, security + 8, &parameters.proposal()).is_err());
            }
        }
    }
    for nonsense in [[0; 24], [255; 24]] {
        assert!(Parameters::proposed(100, 10, 40, &nonsense).is_err());
    }
}

/// The evaluator refuses a cut that is secure but uses excessive memory, before it allocates anything.
#[test]
fn parameters_that_waste_memory_are_refused() {
    let honest = Parameters::choose(100, 10, 40).unwrap();
    let refused = |change: fn(&mut Parameters)| {
        let mut parameters = honest.clone();
        change(&mut parameters);
        match Parameters::proposed(100, 10, 40, &parameters.proposal()) {
            Err(brickwork_base::Error::Mismatch(why)) => {
                assert!(why.contains("are not for this program"), "{why}")
            }
            other => panic!("{other:?}"),
        }
    };
    refused(|p| (p.gates.opened, p.authenticators.opened) = (50_000, 50_000));
    refused(|p| p.gates.opened = 1 << 30);
    refused(|p| p.authenticators.opened = 1 << 30);
    refused(|p| p.gates.bucket = 60);
    refused(|p| p.authenticators.bucket = 60);
    refused(|p| p.inputs.opened = 1 << 30);
    // Small batches of input authenticators may have buckets of any size, so the same must hold for them.
    refused(|p| (p.inputs.bucket, p.inputs.opened) = (255, 8192));
}

/// For any number of inputs, a proposal may exceed the evaluator's own choice several times, but not more.
#[test]
fn input_authenticators_that_waste_memory_are_refused() {
    for (ands, wires, security) in [(100, 1 << 16, 40), (0, 20_000, 40), (6400, 4096, 80)] {
        let honest = Parameters::choose(ands, wires, security).unwrap();
        let proposed = |bucket: u32, opened: u32| {
            let inputs = Bucketing { bucket, opened, ..honest.inputs };
            let parameters = Parameters { inputs, ..honest.clone() };
            let result = Parameters::proposed(ands, wires, security, &parameters.proposal());
            (inputs.copies(), result)
        };
        let Bucketing { bucket, opened, .. } = honest.inputs;
        let (own, accepted) = proposed(bucket, opened);
        assert_eq!(accepted.unwrap(), honest);
        // Twice as many are still accepted.
        assert!(proposed(2 * bucket + 1, opened).1.is_ok());
        for (bucket, opened) in [(255, 32 * wires as u32 + 4096), (8 * bucket + 1, opened)] {
            let (copies, result) = proposed(bucket, opened);
            assert!(copies > 4 * own);
            let why = result.unwrap_err().to_string();
            assert!(why.contains("are not for this program"), "{why}");
        }
    }
}

/// An honest garbler's proposals take far fewer steps to bound than those that are refused. With millions of
/// gates, a cut may take more steps; an honest cut opens few items then. Tests powers of two and numbers
/// between them, up to the largest number of gates; all proposals are accepted.
#[test]
fn what_is_chosen_takes_few_steps_to_bound() {
    let sizes = (10..=24).flat_map(|k| [1_u64 << k, 3 << k >> 1]).filter(|&ands| ands <= 1 << 24);
    for (ands, security) in sizes.flat_map(|ands| [40, 64, 80].map(|security| (ands, security))) {
        let parameters = Parameters::choose(ands, 1, security).unwrap();
        let chosen = parameters.mixed().unwrap();
        let terms = chosen.terms(floor(security));
        let opened = f64::from(chosen.gates.opened) / chosen.gates.copies() as f64;
        let most = if ands < 1 << 22 { 0.75 } else { 1.0 };
        assert!(terms <= most && (terms <= 0.75 || opened < 0.025), "{chosen:?} {security}: {terms}");
        let accepted = Parameters::proposed(ands, 1, security, &parameters.proposal());
        assert_eq!(accepted.unwrap(), parameters);
    }
}

/// A secure cut whose bound would take the evaluator seconds is refused.
#[test]
fn parameters_that_take_long_to_bound_are_refused() {
    for (ands, [beta, c], [alpha, d], security) in [
        (6400, [24, 1344], [23, 1286], 40),
        (6400, [24, 1400], [24, 1400], 40),
        (1 << 20, [24, 420_000], [24, 420_000], 80),
    ] {
        let honest = Parameters::choose(ands, 1, security).unwrap();
        let slow = mixed(ands as u32, [beta, c], [alpha, d]);
        assert!(slow.is_sensible() && slow.terms(floor(security)) > 4.0, "{slow:?}");
        assert_eq!(slow.bound(floor(security)), 1.0);
        let Mixed { gates, authenticators } = slow;
        let parameters = Parameters { gates, authenticators, ..honest };
        let refused = Parameters::proposed(ands, 1, security, &parameters.proposal());
        assert!(matches!(refused, Err(brickwork_base::Error::Mismatch(_))), "{slow:?}: {refused:?}");
    }
}
