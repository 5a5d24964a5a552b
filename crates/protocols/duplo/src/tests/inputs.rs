//! Rows 7, 12, 13 and 27 of the table of attacks (docs/concepts/security.md, section 14): wrong indicator
//! bits, OTs and input labels, and checks whose answers would reveal secrets.

use brickwork_testing::Replayable as _;
use std::sync::{Arc, Mutex};

use super::super::msg;
use super::harness::*;
use crate::Cheat;
use crate::hooks::Point;
use brickwork_base::label::{LABEL_BYTES, Label};
use brickwork_circuit::{Party, Recipient};
use brickwork_primitives::commit::split::msg::{ANSWER, CORRECTIONS, SEED as PROOF};
use brickwork_primitives::commit::{Receiver as _, Sender as _};
use brickwork_primitives::cut_and_choose::Bucketing;

/// The garbler claims the same wrong indicator bit that it sends.
#[test]
fn row_07_wrong_indicator_bit() {
    for output in 0..5 {
        on_toy().lie(Point::Indicators, flip(output, 0)).run().evaluator_caught(
            Cheat::Indicator,
            "evaluate",
            PROOF,
        );
    }
    let all = on_toy().lie(Point::Indicators, flips((0..5).collect(), 0));
    all.run().evaluator_caught(Cheat::Indicator, "evaluate", PROOF);
}

/// The message is altered on its way, and the garbler's claim is honest.
#[test]
fn row_07_indicator_bit_altered_on_its_way() {
    for bit in 0..5 {
        let outcome = on_toy()
            .sends(Party::Garbler, msg::INPUT_LABELS, 0, move |m| *m.last_mut().unwrap() ^= 1 << bit)
            .run();
        outcome.evaluator_caught(Cheat::Indicator, "evaluate", PROOF);
    }
    // The toy program has five indicator bits in a byte; the other bits must be 0.
    let outcome =
        on_toy().sends(Party::Garbler, msg::INPUT_LABELS, 0, |m| *m.last_mut().unwrap() ^= 1 << 5).run();
    outcome.evaluator_caught(Cheat::UnexpectedMessage, "evaluate", PROOF);
}

/// A mask with lowest bit 1 instead of 0 would hide a wrong indicator bit. The commitment scheme fixes this
/// bit, so an answer with the altered bit is refused, with or without a wrong indicator bit.
#[test]
fn row_07_masks_that_end_in_1() {
    for mask in [0, 5, 127] {
        let pretend = move |answer: &mut Vec<u8>| answer[mask / 8] ^= 1 << (mask % 8);
        let outcome = on_toy().sends(Party::Garbler, ANSWER, 2, pretend).run();
        outcome.evaluator_caught(Cheat::Indicator, "evaluate", PROOF);
        let case = on_toy().lie(Point::Indicators, flip(2, 0)).sends(Party::Garbler, ANSWER, 2, pretend);
        case.run().evaluator_caught(Cheat::Indicator, "evaluate", PROOF);
    }
}

/// Returns the case, and a place where later lies find the garbler's Δ_ot.
fn known_ot_offset(case: Case) -> (Case, Arc<Mutex<[u8; LABEL_BYTES]>>) {
    let known = Arc::new(Mutex::new([0; LABEL_BYTES]));
    let learn = known.clone();
    (
        case.lie(Point::OtOffset, move |offset| {
            learn.lock().unwrap().copy_from_slice(&offset[..LABEL_BYTES])
        }),
        known,
    )
}

fn xor(label: &mut [u8], other: &[u8; LABEL_BYTES]) {
    label.iter_mut().zip(other).for_each(|(l, o)| *l ^= o);
}

/// The garbler commits to the other label of one OT. The evaluator stops at the same place for any input.
#[test]
fn row_12_labels_of_one_ot_swapped() {
    for y in [[false; 3], [true; 3]] {
        for wire in 0..3 {
            for also_sent in [false, true] {
                let (case, offset) = known_ot_offset(on_toy());
                let case = case.inputs(&[true, false, true], &y);
                let (commit, send) = (offset.clone(), offset.clone());
                let case = case.lie(Point::OtLabels, move |labels| {
                    xor(&mut labels[16 * wire..16 * (wire + 1)], &commit.lock().unwrap())
                });
                // The garbler's opening V contains the committed label, or is corrected to contain the right
                // one.
                let case = case.lie(Point::InputLabels, move |labels| {
                    if also_sent {
                        xor(&mut labels[16 * (3 + wire)..16 * (4 + wire)], &send.lock().unwrap());
                    }
                });
                case.run().evaluator_caught(Cheat::Opening, "build", PROOF);
            }
        }
    }
}

/// The garbler commits to a value that is neither label of an OT.
#[test]
fn row_12_label_of_one_ot_is_rubbish() {
    for y in [[false; 3], [true; 3]] {
        let case = on_toy().inputs(&[true; 3], &y).lie(Point::OtLabels, flip(1, 33));
        case.run().evaluator_caught(Cheat::Opening, "build", PROOF);
    }
}

/// The offset in all OTs differs from the committed one.
#[test]
fn row_12_another_offset_in_the_ots() {
    for bit in [1, 64, 127] {
        let outcome = on_toy().lie(Point::OtOffset, flip(0, bit)).run();
        outcome.evaluator_caught(Cheat::Opening, "build", PROOF);
    }
}

/// The garbler commits to R with a wrong lowest bit and lies about e to match. The evaluator would see only
/// the opening of a valid label of the other bit, but the combinations of the OTs show the wrong R. A lie
/// about e alone does not open.
#[test]
fn row_13_the_evaluators_input_flipped_by_the_lowest_bit() {
    for y in [[false; 3], [true; 3]] {
        for wire in 0..3 {
            let case = on_toy().inputs(&[true; 3], &y).lie(Point::OtLabels, flip(wire, 0));
            let case = case
                .lie(Point::InputChoices, move |e| e[wire] ^= 1)
                .lie(Point::InputLabels, flip(3 + wire, 0));
            case.run().evaluator_caught(Cheat::Opening, "build", PROOF);
            let case = on_toy().inputs(&[true; 3], &y).lie(Point::InputChoices, move |e| e[wire] ^= 1);
            case.run().evaluator_caught(Cheat::Opening, "evaluate", PROOF);
        }
    }
}

#[test]
fn row_13_wrong_labels_of_the_garblers_input() {
    let caught = |alter: fn(&mut [u8])| {
        on_toy().lie(Point::InputLabels, alter).run().evaluator_caught(Cheat::InputLabel, "evaluate", PROOF);
    };
    for wire in 0..3 {
        for bit in [0, 1, 77] {
            let outcome = on_toy().lie(Point::InputLabels, flip(wire, bit)).run();
            outcome.evaluator_caught(Cheat::InputLabel, "evaluate", PROOF);
        }
    }
    caught(|labels| labels[..16].fill(0));
    caught(|labels| swap(16, 0, 1)(labels));
    caught(|labels| labels.copy_within(..16, 32));
}

#[test]
fn row_13_wrong_openings_for_the_evaluators_input() {
    for wire in 3..6 {
        for bit in [0, 1, 100] {
            let outcome = on_toy().lie(Point::InputLabels, flip(wire, bit)).run();
            outcome.evaluator_caught(Cheat::Opening, "evaluate", PROOF);
        }
    }
    let outcome = on_toy().lie(Point::InputLabels, swap(16, 3, 5)).run();
    outcome.evaluator_caught(Cheat::Opening, "evaluate", PROOF);
}

/// The garbler sends the other valid label of one of its input wires, which only changes its input.
#[test]
fn row_13_other_valid_label() {
    let (program, x, y) = (toy(), [true, false, true], [false, true, true]);
    let expected = program.simulate(&[true, true, true], &y);
    // The sum of a copy's offset, the copy's delta difference and the authenticator's delta difference is the
    // authenticator's offset.
    let offset = Arc::new(Mutex::new([0; LABEL_BYTES]));
    let (copy_offset, copy_delta_difference, authenticator_delta_difference, used) =
        (offset.clone(), offset.clone(), offset.clone(), offset);
    let head = chosen(Bucketing { slots: 2, bucket: 3, opened: 4 })[0];
    let case = on_toy()
        .inputs(&x, &y)
        .lie(Point::GarbledOffsets(0), move |offsets| {
            xor(&mut *copy_offset.lock().unwrap(), offsets[16 * head..][..16].try_into().unwrap())
        })
        .lie(Point::DeltaDifferences(0), move |delta_differences| {
            xor(&mut *copy_delta_difference.lock().unwrap(), delta_differences[..16].try_into().unwrap())
        })
        .lie(Point::InputDeltaDifferences, move |delta_differences| {
            // Wire 1 is on the head of the second bucket. Plain authenticators have no delta differences.
            if !delta_differences.is_empty() {
                xor(
                    &mut *authenticator_delta_difference.lock().unwrap(),
                    delta_differences[3 * 16..4 * 16].try_into().unwrap(),
                );
            }
        })
        .lie(Point::InputLabels, move |labels| xor(&mut labels[16..32], &used.lock().unwrap()));
    let outcome = case.run();
    assert_eq!(outcome.evaluator.unwrap().outputs, program.output_bits(Party::Evaluator, &expected));
    assert_eq!(outcome.garbler.unwrap().outputs, program.output_bits(Party::Garbler, &expected));
}

/// The garbler checks all rows of the OT extension before it sends a commitment, because the seeds of
/// commitments come from these OTs.
#[test]
fn row_02_nothing_leaves_before_all_rows_are_checked() {
    use brickwork_primitives::ot::{BASE_OT, extension::msg::CHECK};
    for (nth, phase) in [(0, "setup"), (1, "prepare")] {
        let outcome = on_toy().sends(Party::Evaluator, CHECK, nth, |answer| answer[17] ^= 1).run();
        outcome.caught(Party::Garbler, Cheat::OtExtension, phase, BASE_OT);
    }
}

/// The evaluator sends its masked input after it has checked the openings, and sends nothing about outputs
/// before all proofs.
#[test]
fn row_17_masked_input_comes_after_the_openings() {
    let sent = |outcome: &Outcome, tag| {
        outcome.events[1].iter().any(|e| matches!(e, PartyAction::Sent(t, _) if *t == tag))
    };
    let outcome = on_toy().lie(Point::OpenedPlain, flip(0, 100)).run();
    outcome.evaluator_caught(Cheat::KeyAuthenticator, "prepare", msg::OT_BINDING);
    assert!(!sent(&outcome, msg::MASKED_INPUT));
    let outcome = on_toy().lie(Point::ProgramSolderings(0), flip(0, 20)).run();
    outcome.evaluator_caught(Cheat::Opening, "build", PROOF);
    assert!(sent(&outcome, msg::MASKED_INPUT) && !sent(&outcome, msg::OUTPUT_LABELS));
}

/// OTINIT: an evaluator that claims the wrong sum of choice bits would get Δ_ot from the opening. The garbler
/// checks all sums before it answers a claim about one of them.
#[test]
fn row_27_the_other_bit_of_a_binding_ot() {
    let bits = 49 * LABEL_BYTES;
    for item in [0, 20, 47] {
        let outcome = on_toy().evaluator_lies(Point::OtBinding, move |shown| shown[bits + item] ^= 1).run();
        outcome.caught(Party::Garbler, Cheat::OtBinding, "prepare", ANSWER);
        let answers = outcome.events[0].iter().filter(|e| matches!(e, PartyAction::Sent(ANSWER, _))).count();
        assert_eq!(answers, 1, "only the proof of the commitments was answered");
    }
}

#[test]
fn row_27_wrong_label_of_a_binding_ot() {
    // Item 0 is the seed: with a wrong seed every sum is wrong.
    for (item, bit) in [(0, 5), (1, 0), (48, 127)] {
        let outcome = on_toy().evaluator_lies(Point::OtBinding, flip(item, bit)).run();
        outcome.caught(Party::Garbler, Cheat::OtBinding, "prepare", ANSWER);
    }
    let outcome = on_toy().evaluator_lies(Point::OtBinding, swap(16, 3, 4)).run();
    outcome.caught(Party::Garbler, Cheat::OtBinding, "prepare", ANSWER);
}

#[test]
fn row_27_a_binding_bit_that_is_none() {
    for value in [2, 0xfe, 0xff] {
        let outcome =
            on_toy().evaluator_lies(Point::OtBinding, move |shown| *shown.last_mut().unwrap() = value).run();
        outcome.caught(Party::Garbler, Cheat::OtBinding, "prepare", ANSWER);
    }
}

/// Every combination of values that the evaluator does not know has its own mask. The masks are 128
/// commitments, made right before the answer and used nowhere else.
#[test]
fn row_27_every_proof_has_fresh_masks() {
    let outcome = on_toy().run();
    outcome.survived();
    let (parity, n) = (275 - 128, 275);
    let answers: Vec<usize> = (0..outcome.events[0].len())
        .filter(|&i| matches!(outcome.events[0][i], PartyAction::Sent(ANSWER, _)))
        .collect();
    // The numbers of values that each of the three proofs hides: new commitments and the colour of Δ_ka;
    // none; indicator bits.
    let places = [2, 0, 1];
    assert_eq!(answers.len(), places.len());
    for (at, hidden) in answers.into_iter().zip(places) {
        let (masks, answer) = outcome.events[0][at - hidden..=at].split_at(hidden);
        // Combinations of values that the evaluator knows need no masks.
        assert!(
            masks.iter().all(|mask| *mask == PartyAction::Sent(CORRECTIONS, 16 * parity)),
            "one block of 128 masks for each"
        );
        assert_eq!(answer[0], PartyAction::Sent(ANSWER, 16 * (hidden * (128 + n) + n)));
    }
}

/// An answer about indicator bits tells the evaluator only these bits. The lowest bits of the hidden
/// combinations are the claimed ones; the other bits are masks, which are all different. (All committed
/// values are 0 here, so that the answer shows the masks.)
#[test]
fn row_27_answers_about_indicator_bits_tell_nothing_else() {
    use brickwork_base::random::{Rng, Seed};
    use brickwork_primitives::commit::Claims;
    use brickwork_primitives::commit::code::BinaryCode;
    use brickwork_primitives::commit::split::{Receiver, Sender};

    let code = BinaryCode::for_security(40).unwrap();
    let mut rng = Rng::replayable("test dealer");
    let pairs: Vec<[Seed; 2]> = (0..code.length()).map(|_| [rng.seed(), rng.seed()]).collect();
    let watch: Vec<u8> = (0..code.length()).map(|_| rng.below(2) as u8).collect();
    let got: Vec<Seed> = pairs.iter().zip(&watch).map(|(pair, &w)| pair[w as usize].clone()).collect();
    let (mut sender, mut receiver) =
        (Sender::new(code, &pairs, u64::MAX), Receiver::new(code, &got, &watch, u64::MAX).unwrap());
    let (mut left, mut right) = brickwork_wire::memory_pair();
    let answers = Arc::new(Mutex::new(Vec::new()));
    let keep = answers.clone();
    left.set_tamper(Box::new(move |tag, bytes| {
        if tag == ANSWER {
            keep.lock().unwrap().push(bytes.clone());
        }
    }));
    const PROOFS: usize = 4;
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let zeros = sender.commit(&mut left, &[Label::ZERO; 40]).unwrap();
            for _ in 0..PROOFS {
                let mut claims = Claims::new();
                claims.bits(40, |k, sum| {
                    zeros.shares.add(k, sum);
                    Label::ZERO
                });
                sender.prove(&mut left, &[], &claims).unwrap();
            }
        });
        let zeros = receiver.receive(&mut right, 40).unwrap();
        for _ in 0..PROOFS {
            let mut claims = Claims::new();
            claims.bits(40, |k, sum| {
                zeros.shares().add(k, sum);
                Label::ZERO
            });
            receiver.verify(&mut right, &[], &claims).unwrap();
        }
    });
    // An answer has rows of 16 bytes: row i has bit i of all 128 combinations.
    let mut rows = std::collections::HashSet::new();
    for answer in answers.lock().unwrap().iter() {
        assert!(answer[..16].iter().all(|&byte| byte == 0), "the lowest bits are the claimed ones");
        assert!(
            answer[16..16 * 128].chunks(16).all(|row| rows.insert(row.to_vec())),
            "each mask is used once"
        );
    }
    assert_eq!(rows.len(), PROOFS * 127);
}

/// The evaluator's input is masked with the choice bits of its OTs. They are drawn anew in each run, and 0
/// and 1 are equally likely. The garbler sees f, but neither the input nor the choice bits.
#[test]
fn row_27_the_masks_of_the_evaluators_input_are_random() {
    const WIRES: u32 = 40;
    let program = ands(WIRES, Recipient::Garbler);
    let masks = [false, false, true].map(|bit| {
        let (sent, seen) = std::sync::mpsc::channel();
        let case = run_of(&program, small(&program, [1, 4], [1, 6], [1, 4]))
            .inputs(&[true; WIRES as usize], &[bit; WIRES as usize]);
        let outcome = case
            .sends(Party::Evaluator, msg::MASKED_INPUT, 0, move |f| sent.send(f.clone()).unwrap())
            .run_alone();
        assert_eq!(outcome.garbler.unwrap().outputs, [bit; WIRES as usize]);
        seen.recv().unwrap().into_iter().map(|byte| if bit { !byte } else { byte }).collect::<Vec<u8>>()
    });
    for (i, mask) in masks.iter().enumerate() {
        let ones = mask.iter().map(|byte| byte.count_ones()).sum::<u32>();
        // A random mask is outside of these bounds with probability below 2^-30.
        assert!((2..WIRES - 1).contains(&ones), "{ones} of {WIRES} bits are 1");
        assert!(!masks[..i].contains(mask), "a mask came again");
    }
}
