//! Measures how often cheaters succeed, with parameters small enough to count successes. The rate must not
//! exceed the bound. It must also reach the cheater's best rate, because otherwise the test does not really
//! cheat.

use super::harness::*;
use crate::Cheat;
use crate::hooks::Point;
use brickwork_base::pool::Pool;
use brickwork_base::random::Rng;
use brickwork_circuit::Recipient;
use brickwork_primitives::cut_and_choose::{BucketRule, Bucketing};
use brickwork_testing::Replayable as _;

fn choose(n: u32, k: u32) -> f64 {
    (0..k).map(|i| f64::from(n - i) / f64::from(i + 1)).product()
}

/// Asserts that `count` of `trials` is likely for probability `p`: within 3.9 standard deviations, which
/// fails once in 10 000 runs.
#[track_caller]
fn assert_rate(what: &str, count: usize, trials: usize, p: f64) {
    let (n, k) = (trials as f64, count as f64);
    let sigma = (n * p * (1.0 - p)).sqrt();
    println!("{what}: {count} of {trials}, expected {:.1} ± {sigma:.1}", n * p);
    assert!(
        (k - n * p).abs() <= 3.9 * sigma,
        "{what}: {count} of {trials}, expected {:.1} ± {sigma:.1}",
        n * p
    );
}

/// Calls `runs`, which plays thousands of [`Case::cheap`], with one thread for all computations: starting and
/// ending threads takes as long as a run.
fn on_one_thread<T>(runs: impl FnOnce() -> T) -> T {
    Pool::new(1).expect("a thread").enter(runs)
}

/// The number of runs for each way to end, if a garbler makes some copies of an AND gate bad.
#[derive(Default, Debug)]
struct Ends {
    opened: usize,
    no_valid_label: usize,
    fooled: usize,
    recovered: usize,
    survived: usize,
}

/// Plays runs in which the garbler flips `bit` of the committed output of `bad` copies. With a high bit the
/// label is invalid; with the lowest bit it is the valid label of the opposite bit. An opened bad copy is
/// detected.
fn bad_copies(bucketing: Bucketing, bad: u32, bit: usize, trials: usize) -> Ends {
    let program = ands(bucketing.slots, Recipient::Evaluator);
    let mut rng = Rng::replayable("test");
    let mut ends = Ends::default();
    let mut run = || {
        let parameters = small(&program, [bucketing.bucket, bucketing.opened], [1, 0], [1, 0]);
        // The bad copies are the first ones; the challenge treats all copies alike.
        let case = Case::new(&program, parameters)
            .lie(Point::CommittedOutputs(0), flips((0..bad as usize).collect(), bit));
        let outcome = case.cheap(&mut rng).run_alone();
        *match &outcome.evaluator {
            Err(error) if error.is_cheat(Cheat::Opening) => &mut ends.opened,
            Err(error) if error.is_cheat(Cheat::NoValidLabel) => &mut ends.no_valid_label,
            Ok(_) if outcome.fooled() => &mut ends.fooled,
            Ok(report) if report.aside.recovered => &mut ends.recovered,
            Ok(_) => &mut ends.survived,
            Err(other) => panic!("{other}"),
        } += 1;
    };
    on_one_thread(|| (0..trials).for_each(|_| run()));
    println!("{bucketing:?}, {bad} bad: {ends:?}");
    ends
}

/// Returns the probability that no bad copy is opened, and the probability that a bucket then has only bad
/// copies. Too few copies are bad for two such buckets, so the sum over the buckets is exact.
fn exact(bucketing: Bucketing, bad: u32) -> [f64; 2] {
    let (kept, copies) =
        (bucketing.slots * bucketing.bucket, bucketing.slots * bucketing.bucket + bucketing.opened);
    assert!(bad < 2 * bucketing.bucket);
    let full = f64::from(bucketing.slots) * choose(kept - bucketing.bucket, bad - bucketing.bucket)
        / choose(kept, bad);
    [choose(copies - bad, bucketing.opened) / choose(copies, bucketing.opened), full]
}

/// Checks the rate for three bad copies, the best number for the garbler. A bucket of bad copies has no valid
/// label; any other bucket survives.
fn all_bad(bucketing: Bucketing, expected: f64, trials: usize) {
    let [hidden, full] = exact(bucketing, 3);
    assert!((hidden * full - expected).abs() < 5e-5);
    let bound = bucketing.bound(BucketRule::COMPONENT).log2().exp2();
    assert!((bound / (hidden * full) - 1.0).abs() < 1e-9, "the bound is {bound}");
    let ends = bad_copies(bucketing, 3, 99, trials);
    assert_eq!((ends.fooled, ends.recovered), (0, 0));
    assert_rate("no bad copy opened", trials - ends.opened, trials, hidden);
    assert_rate("all copies of a bucket bad", ends.no_valid_label, trials, hidden * full);
}

#[test]
fn row_05_rate_of_all_bad_buckets_among_4() {
    all_bad(Bucketing { slots: 4, bucket: 2, opened: 8 }, 0.0429, 4000);
}

#[test]
fn row_05_rate_of_all_bad_buckets_among_8() {
    all_bad(Bucketing { slots: 8, bucket: 2, opened: 16 }, 0.0226, 6000);
}

/// A wrong output needs a bucket in which all copies give the valid label of the wrong bit. A bad copy beside
/// a good one reveals the offset, so a third bad copy never helps the garbler.
#[test]
fn row_14_rate_of_wrong_outputs() {
    let bucketing = Bucketing { slots: 4, bucket: 2, opened: 8 };
    let trials = 3000;
    let [hidden, full] = exact(bucketing, 2);
    let ends = bad_copies(bucketing, 2, 0, trials);
    assert_eq!(
        (ends.no_valid_label, ends.survived),
        (0, 0),
        "unopened bad copies won or revealed the offset"
    );
    assert_rate("a wrong output", ends.fooled, trials, hidden * full);
    assert_rate("a recovered input", ends.recovered, trials, hidden * (1.0 - full));
    let ends = bad_copies(bucketing, 3, 0, trials / 3);
    assert_eq!((ends.no_valid_label, ends.survived, ends.fooled), (0, 0, 0));
}

/// The authenticators of the garbler's inputs: an opened one is checked completely, and in a bucket the
/// majority decides. Bad ones refuse the honest label, so a bad majority ends the run when the label arrives.
#[test]
fn row_09_rate_of_bad_majorities() {
    let (bucketing, bad, trials) = (Bucketing { slots: 8, bucket: 3, opened: 24 }, 3, 3000);
    let program = ands(bucketing.slots, Recipient::Evaluator);
    let mut rng = Rng::replayable("test");
    let (mut opened, mut lost) = (0, 0);
    let mut run = || {
        let refuse = |hashes: &mut [u8]| hashes[..32 * 3].fill(0);
        let case = Case::new(&program, small(&program, [1, 0], [1, 0], [3, 24]))
            .lie(Point::InputAuthenticators, refuse);
        match case.cheap(&mut rng).run_alone().cheat() {
            Some((_, Cheat::InputAuthenticator)) => opened += 1,
            Some((_, Cheat::InputLabel)) => lost += 1,
            None => {}
            other => panic!("{other:?}"),
        }
    };
    on_one_thread(|| (0..trials).for_each(|_| run()));
    let hidden = choose(48 - bad, 24) / choose(48, 24);
    // For 3 bad authenticators among 24 in buckets of 3: the ways with at most one in each bucket, divided by
    // all ways.
    let spread = choose(8, bad) * 3f64.powi(bad as i32) / choose(24, bad);
    assert_rate("no bad authenticator opened", trials - opened, trials, hidden);
    assert_rate("a bad majority", lost, trials, hidden * (1.0 - spread));
}

/// One label of a checked plain authenticator is opened, so one wrong hash is detected with probability 1/2.
#[test]
fn row_08_rate_of_detection_of_one_half() {
    let program = ands(1, Recipient::Both);
    let mut rng = Rng::replayable("test");
    for half in 0..2 {
        let (mut caught, trials) = (0, 600);
        let mut run = || {
            // All authenticators have a wrong hash at the same colour. One of them is checked; the wrong
            // hashes of the others matter only later.
            let wrong = move |hashes: &mut [u8]| hashes.chunks_mut(32).for_each(|pair| pair[16 * half] ^= 1);
            let case = Case::new(&program, small(&program, [1, 0], [1, 1], [1, 0]))
                .lie(Point::PlainAuthenticators, wrong);
            caught += usize::from(matches!(
                case.cheap(&mut rng).run_alone().cheat(),
                Some((_, Cheat::KeyAuthenticator))
            ));
        };
        on_one_thread(|| (0..trials).for_each(|_| run()));
        assert_rate("one half opened", caught, trials, 0.5);
    }
}

/// Counts the runs that break off when the garbler attacks the evaluator's only input bit.
fn aborts(y: bool, trials: usize, attack: impl Fn(Case) -> Case) -> usize {
    let program = ands(1, Recipient::Both);
    let mut rng = Rng::replayable("test");
    let run = |_| {
        let case = Case::new(&program, small(&program, [1, 0], [1, 0], [1, 0])).inputs(&[true], &[y]);
        let case = case.wants(brickwork_circuit::Party::Garbler, |_, p| p.ot_binding = 1);
        let case = case.wants(brickwork_circuit::Party::Evaluator, |_, p| p.ot_binding = 1);
        attack(case).cheap(&mut rng).run_alone().evaluator.is_err()
    };
    on_one_thread(|| (0..trials).map(run).filter(|aborted| *aborted).count())
}

/// Checks that both inputs give the rate `p`, and that their rates do not differ (two-proportion test).
#[track_caller]
fn assert_same_rate(what: &str, p: f64, attack: impl Fn(Case) -> Case) {
    let trials = 1200;
    let [zero, one] = [false, true].map(|y| aborts(y, trials, &attack));
    assert_rate(what, zero, trials, p);
    assert_rate(what, one, trials, p);
    let (n, pooled) = (trials as f64, (zero + one) as f64 / (2 * trials) as f64);
    let z = (zero as f64 - one as f64) / n / (2.0 * pooled * (1.0 - pooled) / n).sqrt();
    assert!(z.abs() < 3.9, "{what}: {zero} against {one} of {trials}, z = {z:.2}");
}

/// The garbler commits to an offset that differs from the one in the OTs, and only one combination binds the
/// OTs. The evaluator notices if the combination's choice bit is 1, or later if its OT's choice bit is 1.
/// Both bits are random for any input.
#[test]
fn row_12_rate_of_aborts_with_another_offset() {
    assert_same_rate("another offset in the OTs", 0.75, |case| case.lie(Point::OtOffset, flip(0, 90)));
}

/// The output's authenticator refuses the label of one colour. This label stands for either bit with equal
/// probability.
#[test]
fn row_12_rate_of_aborts_with_half_an_authenticator() {
    let wrong = |hashes: &mut [u8]| hashes.chunks_mut(32).for_each(|pair| pair[0] ^= 1);
    assert_same_rate("half an authenticator", 0.5, move |case| case.lie(Point::PlainAuthenticators, wrong));
}
