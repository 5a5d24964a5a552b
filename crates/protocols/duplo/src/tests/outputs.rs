//! Rows 14, 15 and 28 of the table of attacks (docs/concepts/security.md, section 14): two valid labels of a
//! bucket, recovery without a trace, forged labels of outputs.

use std::sync::{Arc, Mutex};

use super::super::msg;
use super::harness::*;
use crate::Cheat;
use crate::hooks::Point;
use brickwork_circuit::{Party, Port, ProgramBuilder, Recipient, Type};
use brickwork_primitives::commit::split::msg::ANSWER;
use brickwork_primitives::cut_and_choose::Bucketing;

const BUCKETING: Bucketing = Bucketing { slots: 2, bucket: 3, opened: 4 };

/// Each party learns only its own output: x ∧ y goes to the garbler, x ⊕ y to the evaluator.
#[test]
fn private_outputs_differ() {
    let mut program = ProgramBuilder::new(
        "private",
        vec![Port::new("x", Type::Uint(1))],
        vec![Port::new("y", Type::Uint(1))],
    )
    .unwrap();
    let pair = program.component(pair()).unwrap();
    let and = program.slot(pair, &[0, 1]).unwrap();
    program.output(Port::new("and", Type::Uint(1)), Recipient::Garbler, vec![and]).unwrap();
    program.output(Port::new("xor", Type::Uint(1)), Recipient::Evaluator, vec![and + 1]).unwrap();
    let program = Arc::new(program.finish().unwrap());
    for (x, y) in [(false, false), (false, true), (true, false), (true, true)] {
        for cheat in [false, true] {
            let case = run_of(&program, small(&program, [3, 4], [3, 6], [3, 4])).inputs(&[x], &[y]);
            let both_wires = chosen(Bucketing { slots: 1, ..BUCKETING })[1];
            let lies = if cheat { vec![2 * both_wires, 2 * both_wires + 1] } else { vec![] };
            let outcome = case.lie(Point::CommittedOutputs(0), flips(lies, 0)).run();
            if cheat {
                outcome.recovered()
            } else {
                outcome.survived()
            }
            assert_eq!(outcome.garbler.unwrap().outputs, [x && y]);
            assert_eq!(outcome.evaluator.unwrap().outputs, [x != y]);
        }
    }
}

/// Makes these copies give the valid label of the opposite bit on an output wire, by flipping their committed
/// indicator bits. Copies are counted among the chosen ones of a component of the toy program.
fn opposite(component: usize, copies: &[usize], wire: usize) -> Case {
    let labels = copies.iter().map(|&k| 2 * chosen(BUCKETING)[k] + wire).collect();
    on_toy().lie(Point::CommittedOutputs(component), flips(labels, 0))
}

/// Both parties get f(x, y), and the messages look like those of an honest run ([`Outcome::recovered`]).
#[test]
fn row_14_one_copy_says_the_opposite() {
    for component in 0..2 {
        for copy in 0..6 {
            opposite(component, &[copy], copy % 2).run().recovered();
        }
    }
}

#[test]
fn row_14_all_copies_but_one_say_the_opposite() {
    opposite(0, &[0, 1], 0).run().recovered();
    opposite(1, &[1, 2, 3, 5], 1).run().recovered();
}

#[test]
fn row_14_every_bucket_disagrees() {
    for _ in 0..8 {
        let all = |wires: usize, bucketing: Bucketing| {
            (0..wires * bucketing.slots as usize)
                .map(move |k| wires * chosen(bucketing)[k / wires * 3] + k % wires)
                .collect()
        };
        let case = on_toy()
            .lie(Point::CommittedOutputs(0), flips(all(2, BUCKETING), 0))
            .lie(Point::CommittedOutputs(1), flips(all(2, BUCKETING), 0));
        case.run().recovered();
    }
}

/// Every recipient of outputs, and every input of two AND gates.
#[test]
fn row_14_whoever_learns_the_outputs() {
    for to in [Recipient::Garbler, Recipient::Evaluator, Recipient::Both] {
        let program = ands(2, to);
        for input in 0..16u8 {
            let bit = |i: u8| input >> i & 1 == 1;
            let case = run_of(&program, small(&program, [3, 4], [3, 6], [3, 4]))
                .inputs(&[bit(0), bit(1)], &[bit(2), bit(3)]);
            let copies = chosen(BUCKETING);
            // The bad copies include heads, whose labels the evaluation uses further, and which recovery must
            // not send.
            let labels = if input % 3 == 0 {
                vec![copies[0], copies[5]]
            } else {
                vec![copies[input as usize % 6], copies[3]]
            };
            case.lie(Point::CommittedOutputs(0), flips(labels, 0)).run().recovered();
        }
    }
}

/// One copy reveals the offset, another has wrong tables, and a minority of each bucket of authenticators is
/// bad.
#[test]
fn row_14_and_everything_else_that_is_survived() {
    let rubbish = chosen(BUCKETING)[1];
    let plain = chosen(Bucketing { slots: 8, bucket: 3, opened: 6 });
    let input = chosen(Bucketing { slots: 5, bucket: 3, opened: 4 });
    for _ in 0..4 {
        let bad = move |authenticators: Vec<usize>| {
            move |hashes: &mut [u8]| authenticators.iter().for_each(|g| hashes[32 * g..32 * (g + 1)].fill(7))
        };
        let one_of_each = |authenticators: &[usize], place: usize| {
            authenticators.iter().copied().skip(place).step_by(3).collect::<Vec<_>>()
        };
        opposite(0, &[0], 1)
            .tables(move |_, copy, _, bytes| bytes[0] ^= u8::from(copy == rubbish) * 0xff)
            .lie(Point::PlainAuthenticators, bad(one_of_each(&plain, 2)))
            .lie(Point::InputAuthenticators, bad(one_of_each(&input, 1)))
            .lie(Point::InputWires, flips(one_of_each(&input, 1), 20))
            .run()
            .recovered();
    }
}

/// The garbler refuses everything but the labels of the outputs. The message has colours and then a 32-byte
/// hash.
#[test]
fn row_15_forged_labels() {
    let toy = toy();
    let programs = [toy, ands(3, Recipient::Garbler), ands(3, Recipient::Both)];
    for program in programs {
        let case = || run_of(&program, small(&program, [3, 4], [3, 6], [3, 4]));
        let forged = |alter: fn(&mut [u8])| {
            let outcome = case().evaluator_lies(Point::OutputLabels, alter).run();
            outcome.caught(Party::Garbler, Cheat::ForgedOutput, "decode", ANSWER);
        };
        // The first colour, the last colour or all colours are flipped, so the message claims another output.
        forged(|m| m[0] ^= 1);
        forged(|m| m[0] ^= 4);
        forged(|m| m[0] ^= 7);
        // The hash is altered, also in its last bit only, or removed.
        forged(|m| m[1] ^= 1);
        forged(|m| *m.last_mut().unwrap() ^= 0x80);
        forged(|m| m[1..].fill(0));
        // Colours and hash are altered.
        forged(|m| m.iter_mut().for_each(|byte| *byte ^= 1));
    }
}

/// The evaluator cannot use its message from another run of the same function on the same inputs.
#[test]
fn row_15_labels_of_another_session() {
    let program = ands(2, Recipient::Garbler);
    let case =
        || run_of(&program, small(&program, [3, 4], [3, 6], [3, 4])).inputs(&[true, true], &[true, false]);
    let message = Arc::new(Mutex::new(Vec::new()));
    let (keep, replay) = (message.clone(), message.clone());
    case()
        .sends(Party::Evaluator, msg::OUTPUT_LABELS, 0, move |m| *keep.lock().unwrap() = m.clone())
        .run()
        .survived();
    let outcome = case()
        .sends(Party::Evaluator, msg::OUTPUT_LABELS, 0, move |m| *m = replay.lock().unwrap().clone())
        .run();
    outcome.caught(Party::Garbler, Cheat::ForgedOutput, "decode", ANSWER);
}

#[test]
fn row_15_message_of_the_wrong_form() {
    for alter in
        [|m: &mut Vec<u8>| m.truncate(32), |m: &mut Vec<u8>| m.push(0), |m: &mut Vec<u8>| m[0] |= 0x80]
    {
        let outcome = on_toy().sends(Party::Evaluator, msg::OUTPUT_LABELS, 0, alter).run();
        outcome.caught(Party::Garbler, Cheat::UnexpectedMessage, "decode", ANSWER);
    }
}

/// A garbler without outputs still waits for the evaluator's last message, so its silence reveals nothing.
#[test]
fn row_15_no_output_to_forge() {
    let program = ands(1, Recipient::Evaluator);
    let case = run_of(&program, small(&program, [3, 4], [3, 6], [3, 4]));
    let outcome = case.evaluator_lies(Point::OutputLabels, |hash| hash[0] ^= 1).run();
    outcome.caught(Party::Garbler, Cheat::ForgedOutput, "decode", ANSWER);
}

/// Returns the result of a run and the evaluator's last message, for an honest garbler or for one whose input
/// is recovered.
fn last_words(program: &Arc<brickwork_circuit::Program>, cheat: bool) -> (Outcome, Vec<u8>) {
    let case = run_of(program, small(program, [3, 4], [3, 6], [3, 4])).inputs(&[true, true], &[true, false]);
    let said = Arc::new(Mutex::new(Vec::new()));
    let keep = said.clone();
    let case =
        case.sends(Party::Evaluator, msg::OUTPUT_LABELS, 0, move |m| *keep.lock().unwrap() = m.clone());
    let case = if cheat {
        case.lie(Point::CommittedOutputs(0), flips(vec![chosen(BUCKETING)[0], chosen(BUCKETING)[3]], 0))
    } else {
        case
    };
    let outcome = case.run();
    let said = said.lock().unwrap().clone();
    (outcome, said)
}

/// Nobody can see a recovery: the messages of both parties have the same order and lengths as in an honest
/// run, and the garbler gets the same outputs.
#[test]
fn row_28_recovery_looks_like_nothing() {
    for to in [Recipient::Garbler, Recipient::Both, Recipient::Evaluator] {
        let program = ands(2, to);
        let (honest, said) = last_words(&program, false);
        honest.survived();
        let (recovering, said_then) = last_words(&program, true);
        recovering.recovered();
        assert_eq!(honest.events, recovering.events);
        assert_eq!(said.len(), said_then.len());
        assert_eq!(recovering.garbler.unwrap().outputs, honest.garbler.unwrap().outputs);
    }
}

/// One bucket gives two valid labels, and two copies of a later bucket give invalid labels. The run must not
/// break off there.
#[test]
fn row_28_no_later_abort() {
    let rubbish = chosen(BUCKETING)[3..5].to_vec();
    for wire in 0..2 {
        let later = rubbish.iter().flat_map(|copy| [2 * copy, 2 * copy + 1]).collect();
        opposite(0, &[0], wire).lie(Point::CommittedOutputs(1), flips(later, 30)).run().recovered();
    }
}

/// Shows that the check of held-back messages can fail: it fails if a party sends one more message in the
/// same runs.
#[test]
fn row_15_who_notices_something_keeps_the_outputs_back() {
    let all = on_toy().run().events;
    let caught = |cheat| Ok(Ending::caught(cheat));
    let mut outcome = on_toy().lie(Point::Indicators, flip(0, 0)).run();
    assert_eq!(outcome.ending(Party::Garbler), caught(Cheat::Indicator));
    outcome.events[1] = all[1].clone();
    assert!(outcome.ending(Party::Garbler).unwrap_err().contains("sent more than"));

    let mut outcome = on_toy().evaluator_lies(Point::OtBinding, flip(47, 127)).run();
    assert_eq!(outcome.ending(Party::Evaluator), caught(Cheat::OtBinding));
    outcome.events[0] = all[0].clone();
    assert!(outcome.ending(Party::Evaluator).unwrap_err().contains("sent more than"));

    // The garbler has sent all its messages before the evaluator's last message arrives, even if that message
    // is wrong.
    let forged = on_toy().evaluator_lies(Point::OutputLabels, |message| message[0] ^= 1).run();
    assert_eq!((forged.ending(Party::Evaluator), &forged.events[0]), (caught(Cheat::ForgedOutput), &all[0]));
    let mut short =
        on_toy().sends(Party::Evaluator, msg::OUTPUT_LABELS, 0, |message| message.truncate(32)).run();
    assert_eq!(
        (short.ending(Party::Evaluator), &short.events[0]),
        (caught(Cheat::UnexpectedMessage), &all[0])
    );
    // In any other case, the garbler must have held messages back.
    let _ = short.events[1].pop();
    assert!(short.ending(Party::Evaluator).unwrap_err().contains("sent more than"));
}
