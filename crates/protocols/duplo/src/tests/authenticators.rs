//! Rows 8, 9 and 29 of the table of attacks (docs/concepts/security.md, section 14): key authenticators and
//! input authenticators that refuse valid labels, or accept invalid ones.

use super::super::msg;
use super::harness::*;
use crate::Cheat;
use crate::hooks::Point;
use brickwork_base::Error;
use brickwork_base::label::Label;
use brickwork_base::pool::Pool;
use brickwork_base::random::Rng;
use brickwork_circuit::Recipient;
use brickwork_primitives::authenticator::one_or_two;
use brickwork_primitives::commit::split::msg::SEED as PROOF;
use brickwork_primitives::cut_and_choose::Bucketing;
use brickwork_testing::Replayable as _;

/// The plain authenticators of the toy program: for the 8 outputs of its slots.
const PLAIN: Bucketing = Bucketing { slots: 8, bucket: 3, opened: 6 };
/// The input authenticators of the toy program: for the garbler's 3 inputs, then for its 2 private outputs.
const INPUT: Bucketing = Bucketing { slots: 5, bucket: 3, opened: 4 };

/// Returns the first, or the last, `bad` authenticators of a bucket.
fn some_of(bucketing: Bucketing, bucket: usize, bad: usize, last: bool) -> Vec<usize> {
    let size = bucketing.bucket as usize;
    let all = chosen(bucketing)[bucket * size..(bucket + 1) * size].to_vec();
    if last { all[size - bad..].to_vec() } else { all[..bad].to_vec() }
}

/// Makes these authenticators refuse both labels.
fn refuse(authenticators: Vec<usize>) -> impl FnMut(&mut [u8]) + Send + Sync + 'static {
    move |hashes| {
        authenticators
            .iter()
            .for_each(|&g| hashes[32 * g..32 * (g + 1)].iter_mut().for_each(|byte| *byte ^= 0x3c))
    }
}

#[test]
fn row_08_checked_authenticator_refuses_its_label() {
    for authenticator in opened(PLAIN) {
        let outcome = on_toy().lie(Point::PlainAuthenticators, refuse(vec![authenticator])).run();
        outcome.evaluator_caught(Cheat::KeyAuthenticator, "prepare", msg::OT_BINDING);
    }
}

#[test]
fn row_08_checked_authenticator_accepts_rubbish() {
    for bit in [1, 127] {
        let outcome = on_toy().lie(Point::PlainHashed, flip(opened(PLAIN)[2], bit)).run();
        outcome.evaluator_caught(Cheat::KeyAuthenticator, "prepare", msg::OT_BINDING);
    }
}

#[test]
fn row_08_wrong_label_of_a_checked_authenticator() {
    for k in 0..6 {
        let outcome = on_toy().lie(Point::OpenedPlain, flip(k, 100)).run();
        outcome.evaluator_caught(Cheat::KeyAuthenticator, "prepare", msg::OT_BINDING);
        // The lowest bit is the indicator bit, on which no hash depends.
        let outcome = on_toy().lie(Point::OpenedPlain, flip(k, 0)).run();
        outcome.evaluator_caught(Cheat::Opening, "build", PROOF);
    }
}

/// In a bucket, ⌊B/2⌋ authenticators that refuse the honest label are outvoted; with one more the label is
/// refused.
#[test]
fn row_08_threshold_of_refusals() {
    let program = toy();
    for (size, last) in [(3, false), (3, true), (5, false), (5, true), (1, false)] {
        let bucketing = Bucketing { bucket: size, ..PLAIN };
        let case = || run_of(&program, small(&program, [3, 4], [size, 6], [3, 4]));
        let bad = |bucket, count| refuse(some_of(bucketing, bucket, count, last));
        let half = size as usize / 2;
        for bucket in [0, 5, 7] {
            case().lie(Point::PlainAuthenticators, bad(bucket, half)).run().survived();
            let outcome = case().lie(Point::PlainAuthenticators, bad(bucket, half + 1)).run();
            outcome.evaluator_caught(Cheat::NoValidLabel, "evaluate", PROOF);
        }
    }
}

/// Runs an AND gate whose output has an invalid label of the opposite colour in every copy except the last.
/// `bad` authenticators accept these labels and refuse the honest ones.
fn rubbish_accepted(size: u32, bad: usize, last: bool) -> Outcome {
    let program = ands(1, Recipient::Evaluator);
    let case = run_of(&program, small(&program, [3, 4], [size, 6], [3, 4]));
    let copies = chosen(Bucketing { slots: 1, bucket: 3, opened: 4 });
    // The committed wire is altered in higher bits than the lowest. The soldering adds this difference to the
    // label, and the bad authenticators are made for the result.
    let rubbish = |labels: Vec<usize>| {
        move |bytes: &mut [u8]| labels.iter().for_each(|label| bytes[16 * label + 9] ^= 0x55)
    };
    let authenticators = some_of(Bucketing { slots: 1, bucket: size, opened: 6 }, 0, bad, last);
    let case = case
        .lie(Point::PlainHashed, rubbish(authenticators))
        .lie(Point::CommittedOutputs(0), rubbish(copies[..2].to_vec()));
    // The label also stands for the opposite bit, so that the output shows which label was accepted.
    case.lie(Point::CommittedOutputs(0), flips(copies[..2].to_vec(), 0)).run()
}

/// In a bucket, ⌊B/2⌋ authenticators that accept an invalid label are outvoted; with one more the cheater
/// wins. The bound counts this event.
#[test]
fn row_08_threshold_of_rubbish() {
    for (size, last) in [(3, false), (3, true), (5, false), (5, true)] {
        let half = size as usize / 2;
        rubbish_accepted(size, half, last).survived();
        assert!(rubbish_accepted(size, half + 1, last).fooled());
    }
}

#[test]
fn row_09_checked_input_authenticator_is_wrong() {
    for authenticator in opened(INPUT) {
        let outcome = on_toy().lie(Point::InputAuthenticators, refuse(vec![authenticator])).run();
        outcome.evaluator_caught(Cheat::InputAuthenticator, "prepare", msg::OT_BINDING);
        // One wrong hash is enough.
        let outcome = on_toy()
            .lie(Point::InputAuthenticators, move |hashes| hashes[32 * authenticator + 31] ^= 1)
            .run();
        outcome.evaluator_caught(Cheat::InputAuthenticator, "prepare", msg::OT_BINDING);
    }
}

#[test]
fn row_09_checked_label_is_not_self_authenticating() {
    let authenticator = opened(INPUT)[1];
    // The authenticator accepts the committed labels, but these do not follow from the offset.
    let outcome = on_toy().lie(Point::InputWires, flip(authenticator, 40)).run();
    outcome.evaluator_caught(Cheat::InputAuthenticator, "prepare", msg::OT_BINDING);
    // Labels and hashes are right, but the indicator bit is wrong.
    let outcome = on_toy().lie(Point::InputWires, flip(authenticator, 0)).run();
    outcome.evaluator_caught(Cheat::Opening, "build", PROOF);
    // The hashes are right, but the committed labels are wrong.
    let case = on_toy()
        .lie(Point::InputWires, flip(authenticator, 40))
        .lie(Point::InputHashed, flip(authenticator, 40));
    case.run().evaluator_caught(Cheat::Opening, "build", PROOF);
}

#[test]
fn row_09_wrong_offset_of_a_checked_input_authenticator() {
    for k in 0..4 {
        let outcome = on_toy().lie(Point::OpenedInput, flip(k, 3)).run();
        outcome.evaluator_caught(Cheat::InputAuthenticator, "prepare", msg::OT_BINDING);
    }
}

/// The authenticator is made with the opened offset, so everything that follows from this offset is right.
/// But the garbler has committed to another offset.
#[test]
fn row_09_opened_offset_is_not_the_committed_one() {
    for (k, authenticator) in opened(INPUT).into_iter().enumerate() {
        let other = move |offsets: &mut [u8]| {
            if !offsets.is_empty() {
                flip(authenticator, 30)(offsets)
            }
        };
        let outcome = on_toy().lie(Point::InputOffsets, other).lie(Point::OpenedInput, flip(k, 30)).run();
        outcome.evaluator_caught(Cheat::Opening, "build", PROOF);
    }
}

#[test]
fn row_09_threshold_of_refusals() {
    let program = toy();
    for (size, last) in [(3, false), (3, true), (5, false), (5, true)] {
        let bucketing = Bucketing { bucket: size, ..INPUT };
        let case = || run_of(&program, small(&program, [3, 4], [3, 6], [size, 4]));
        let bad = |bucket, count| refuse(some_of(bucketing, bucket, count, last));
        let half = size as usize / 2;
        for bucket in 0..3 {
            case().lie(Point::InputAuthenticators, bad(bucket, half)).run().survived();
            let outcome = case().lie(Point::InputAuthenticators, bad(bucket, half + 1)).run();
            outcome.evaluator_caught(Cheat::InputLabel, "evaluate", PROOF);
        }
    }
}

/// Runs a program in which a bucket yields two labels, so that the garbler's input is recovered. `bad`
/// authenticators of the input do not authenticate themselves.
fn recovery_from(size: u32, bad: usize, last: bool) -> Outcome {
    let program = ands(1, Recipient::Evaluator);
    let case = run_of(&program, small(&program, [3, 4], [3, 6], [size, 4])).inputs(&[true], &[true]);
    let authenticators = some_of(Bucketing { slots: 1, bucket: size, opened: 4 }, 0, bad, last);
    let two_labels = flip(chosen(Bucketing { slots: 1, bucket: 3, opened: 4 })[0], 0);
    // This covers authenticators in memory and in files.
    let case = if last { case.in_files() } else { case };
    case.lie(Point::InputWires, flips(authenticators, 40)).lie(Point::CommittedOutputs(0), two_labels).run()
}

/// A strict majority of a bucket gives the garbler's input bit: ⌊B/2⌋ bad authenticators do not change it.
#[test]
fn row_09_threshold_of_recovery() {
    for (size, last) in [(3, false), (3, true), (5, false), (5, true)] {
        let half = size as usize / 2;
        recovery_from(size, half, last).recovered();
        let lost = recovery_from(size, half + 1, last);
        assert!(lost.fooled() && lost.evaluator.is_ok_and(|report| report.aside.recovered));
    }
}

/// A pair of hashes is valid for one authenticator only, because the hash depends on the authenticator's
/// index.
#[test]
fn row_29_hashes_of_another_authenticator() {
    let everywhere = |hashes: &mut [u8]| {
        let (first, others) = hashes.split_at_mut(32);
        others.chunks_mut(32).for_each(|other| other.copy_from_slice(first));
    };
    let outcome = on_toy().lie(Point::PlainAuthenticators, everywhere).run();
    outcome.evaluator_caught(Cheat::KeyAuthenticator, "prepare", msg::OT_BINDING);
    let outcome = on_toy().lie(Point::InputAuthenticators, everywhere).run();
    outcome.evaluator_caught(Cheat::InputAuthenticator, "prepare", msg::OT_BINDING);
}

/// A label's hash is valid only at the place of the label's colour.
#[test]
fn row_29_hashes_in_the_other_order() {
    let swapped = |hashes: &mut [u8]| hashes.chunks_mut(32).for_each(|pair| pair.rotate_left(16));
    let outcome = on_toy().lie(Point::PlainAuthenticators, swapped).run();
    outcome.evaluator_caught(Cheat::KeyAuthenticator, "prepare", msg::OT_BINDING);
    let outcome = on_toy().lie(Point::InputAuthenticators, swapped).run();
    outcome.evaluator_caught(Cheat::InputAuthenticator, "prepare", msg::OT_BINDING);
}

/// Returns the labels of one wire that a bucket accepts. A third accepted label needs a collision of the
/// hash, so the test decides itself which labels are accepted.
pub fn accepted(labels: &[u128]) -> Result<(Label, Label), Error> {
    one_or_two(labels.iter().map(|&bits| (Label::from_bits(bits), bits < 100)))
        .map_err(|none| Cheat::from(none).into())
}

#[test]
fn row_29_a_third_label() {
    let label = Label::from_bits;
    assert_eq!(accepted(&[6, 6, 6]).unwrap(), (label(6), label(0)));
    assert_eq!(accepted(&[200, 6, 300]).unwrap(), (label(6), label(0)));
    assert_eq!(accepted(&[200, 6, 9, 6]).unwrap(), (label(6), label(15)));
    let cheat = |labels| match accepted(labels) {
        Err(Error::Peer(cheat)) => cheat,
        other => panic!("{other:?}"),
    };
    assert_eq!(cheat(&[200, 300]), Cheat::NoValidLabel);
    // Two different labels of one colour are accepted, then three labels of both colours.
    assert_eq!(cheat(&[6, 8]), Cheat::ThirdLabel);
    assert_eq!(cheat(&[7, 9]), Cheat::ThirdLabel);
    assert_eq!(cheat(&[6, 9, 8]), Cheat::ThirdLabel);
    assert_eq!(cheat(&[6, 9, 200, 11]), Cheat::ThirdLabel);
}

/// The output's authenticator refuses the label of one colour. Half of the runs break off, for either input
/// of the evaluator, because this label stands for either bit with equal probability.
#[test]
fn row_12_half_an_authenticator_does_not_tell_the_input() {
    let (program, trials) = (ands(1, Recipient::Both), 1200);
    let mut rng = Rng::replayable("test");
    let mut aborts = |y: bool| {
        let run = |_: &u32| {
            let case = cheap(&program, small(&program, [1, 0], [1, 0], [1, 0]), &mut rng)
                .inputs(&[true], &[y])
                .set(|parameters| parameters.ot_binding = 1)
                .lie(Point::PlainAuthenticators, |hashes| {
                    hashes.chunks_mut(32).for_each(|pair| pair[0] ^= 1);
                });
            case.run_alone().evaluator.is_err()
        };
        Pool::new(1).expect("a thread").enter(|| (0..trials).filter(run).count()) as f64
    };
    let [zero, one] = [false, true].map(&mut aborts);
    let n = f64::from(trials);
    // The limits are 3.9 standard deviations of one rate, and of the difference of two rates.
    for count in [zero, one] {
        assert!((count - n / 2.0).abs() <= 3.9 * (n / 4.0).sqrt(), "{count} of {n}");
    }
    assert!((zero - one).abs() <= 3.9 * (n / 2.0).sqrt(), "{zero} and {one} of {n}");
}
