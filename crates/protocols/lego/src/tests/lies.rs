//! Cheats at every message: each check detects its cheats, and recovery corrects an undetected bad gate.

use std::sync::{Arc, Mutex};

use super::support::*;
use crate::{Cheat, Lego, msg, setup};
use brickwork_base::{Error, Party};
use brickwork_harness::stores::terms;
use brickwork_primitives::commit::split::msg::{ANSWER, CORRECTIONS};
use brickwork_primitives::ot::{BASE_OT, extension};
use brickwork_protocol::{self as session, AgreedJob, Metered, Unobserved};
use brickwork_wire::{Channel, Tag, memory_pair};

/// Flips a bit of every label, or hash, in a message.
fn flip(byte: usize, bit: u8) -> impl FnMut(&mut [u8]) + Send + 'static {
    move |bytes| bytes.chunks_mut(16).for_each(|label| label[byte] ^= 1 << bit)
}

/// Flips a bit of one label, or hash, in a message.
fn flip_one(place: usize, byte: usize, bit: u8) -> impl FnMut(&mut [u8]) + Send + 'static {
    move |bytes| bytes[16 * place + byte] ^= 1 << bit
}

/// Makes a run of the toy program in which most items are opened.
fn checked() -> Case {
    let cuts = cuts([2, 40], [3, 40], [3, 40]);
    of_toy_with(cuts)
}

#[test]
fn items_that_are_bad_everywhere_are_caught() {
    // The cases: labels with other offsets, random tables, and gates that compute NAND.
    checked().lie(Point::GateOffset, flip(3, 2)).run().is_caught(Party::Evaluator, Cheat::Opening);
    checked().lie(Point::Tables, flip(3, 2)).run().is_caught(Party::Evaluator, Cheat::Opening);
    checked().lie(Point::GateOutputs, flip(0, 0)).run().is_caught(Party::Evaluator, Cheat::Opening);
    checked().lie(Point::GateOutputs, flip(9, 0)).run().is_caught(Party::Evaluator, Cheat::Opening);
    checked().lie(Point::WireHashes, flip(3, 2)).run().is_caught(Party::Evaluator, Cheat::WireAuthenticator);
    let swap = |bytes: &mut [u8]| bytes.chunks_mut(32).for_each(|pair| pair.rotate_left(16));
    checked().lie(Point::WireHashes, swap).run().is_caught(Party::Evaluator, Cheat::WireAuthenticator);
    // The cases: authenticators for the other bit, for another wire, and with other hashes.
    checked().lie(Point::InputWires, flip(0, 0)).run().is_caught(Party::Evaluator, Cheat::Opening);
    checked().lie(Point::InputWires, flip(5, 1)).run().is_caught(Party::Evaluator, Cheat::InputAuthenticator);
    checked()
        .lie(Point::InputHashes, flip(5, 1))
        .run()
        .is_caught(Party::Evaluator, Cheat::InputAuthenticator);
    checked().lie(Point::InputHashes, swap).run().is_caught(Party::Evaluator, Cheat::InputAuthenticator);
}

#[test]
fn openings_are_what_was_committed_to() {
    for byte in [0, 7] {
        // The garbler opens an input of a gate with another bit, or another label.
        of_toy()
            .lie(Point::OpenedGates, flip_one(1, byte, 0))
            .run()
            .is_caught(Party::Evaluator, Cheat::Opening);
        for point in
            [Point::GateSolderings, Point::AuthenticatorSolderings, Point::InputSolderings, Point::Solderings]
        {
            for place in [0, 2] {
                of_toy()
                    .lie(point, flip_one(place, byte, 0))
                    .run()
                    .is_caught(Party::Evaluator, Cheat::Opening);
            }
        }
    }
    // The cheat changes only the bit, but the authenticator's hash covers it, too.
    of_toy()
        .lie(Point::OpenedAuthenticators, flip_one(1, 0, 0))
        .run()
        .is_caught(Party::Evaluator, Cheat::Opening);
    let other = flip_one(1, 7, 0);
    of_toy()
        .lie(Point::OpenedAuthenticators, other)
        .run()
        .is_caught(Party::Evaluator, Cheat::WireAuthenticator);
    of_toy()
        .lie(Point::OpenedInputs, flip_one(1, 0, 0))
        .run()
        .is_caught(Party::Evaluator, Cheat::OffsetColour);
    of_toy()
        .lie(Point::OpenedInputs, flip_one(1, 7, 0))
        .run()
        .is_caught(Party::Evaluator, Cheat::InputAuthenticator);
    let ends_in_1 = flip_one(1, 0, 0);
    of_toy()
        .lie(Point::DeltaDifferences, ends_in_1)
        .run()
        .is_caught(Party::Evaluator, Cheat::DeltaDifferenceColour);
    of_toy()
        .lie(Point::DeltaDifferences, flip_one(1, 7, 0))
        .run()
        .is_caught(Party::Evaluator, Cheat::Opening);
}

/// The last soldering of a program leads to an output, and the first ones to the first gate. Solderings that
/// are exchanged between wires are detected.
#[test]
fn solderings_lead_where_the_program_says() {
    let crossed = |bytes: &mut [u8]| {
        let (left, right) = bytes[..32].split_at_mut(16);
        left.swap_with_slice(right);
    };
    of_toy().lie(Point::Solderings, crossed).run().is_caught(Party::Evaluator, Cheat::Opening);
    let last = |bytes: &mut [u8]| {
        let at = bytes.len() - 16;
        bytes[at] ^= 1;
    };
    of_toy().lie(Point::Solderings, last).run().is_caught(Party::Evaluator, Cheat::Opening);
}

#[test]
fn the_committed_offset_is_that_of_all_else() {
    // A committed offset that ends in 0 is detected before the challenge.
    of_toy().lie(Point::CommittedOffset, flip(0, 0)).run().is_caught(Party::Evaluator, Cheat::Indicator);
    of_toy().lie(Point::CommittedOffset, flip(4, 1)).run().is_caught(Party::Evaluator, Cheat::Opening);
}

/// The cheat makes the label of an OT wrong for one choice only. The evaluator's decision does not depend on
/// its input.
#[test]
fn lies_about_ots_are_noticed_for_either_input() {
    for y in [[false, false], [true, false], [false, true], [true, true]] {
        let case = || of_toy().inputs(&[true, false], &y);
        case().lie(Point::OtLabels, flip_one(0, 9, 3)).run().is_caught(Party::Evaluator, Cheat::Opening);
        // The cheat changes the lowest bit and adapts the opening. If it stayed undetected, it would flip y.
        let lowest = |point: Point, place: usize| (point, flip_one(place, 0, 0));
        let (at, lie) = lowest(Point::OtLabels, 1);
        let (then, turn) = lowest(Point::InputLabels, 4 + 1);
        case().lie(at, lie).lie(then, turn).run().is_caught(Party::Evaluator, Cheat::Opening);
    }
}

/// The garbler sends wrong labels of its own input, wrong openings, or wrong σ, after the inputs are known.
/// The toy program has two inputs of the garbler, two masks, and two inputs of the evaluator.
#[test]
fn labels_of_inputs_are_right_or_refused() {
    for place in 0..4 {
        for byte in [0, 5] {
            let lie = flip_one(place, byte, 0);
            of_toy().lie(Point::InputLabels, lie).run().is_caught(Party::Evaluator, Cheat::InputLabel);
        }
    }
    for y in [[false, false], [true, true]] {
        for place in 4..6 {
            for byte in [0, 5] {
                let lie = flip_one(place, byte, 0);
                let case = of_toy().inputs(&[true, true], &y);
                case.lie(Point::InputLabels, lie).run().is_caught(Party::Evaluator, Cheat::Opening);
            }
        }
    }
    for place in 0..6 {
        let lie = move |bytes: &mut [u8]| bytes[place] ^= 1;
        of_toy().lie(Point::Indicators, lie).run().is_caught(Party::Evaluator, Cheat::Indicator);
    }
}

#[test]
fn an_evaluator_that_lies_is_caught() {
    let bit = |bytes: &mut [u8]| *bytes.last_mut().unwrap() ^= 1;
    of_toy().evaluator_lies(Point::OtBinding, bit).run().is_caught(Party::Garbler, Cheat::OtBinding);
    let label = flip_one(1, 3, 0);
    of_toy().evaluator_lies(Point::OtBinding, label).run().is_caught(Party::Garbler, Cheat::OtBinding);
    let no_bit = |bytes: &mut [u8]| *bytes.last_mut().unwrap() = 2;
    of_toy().evaluator_lies(Point::OtBinding, no_bit).run().is_caught(Party::Garbler, Cheat::OtBinding);
    for place in [0, 1, 20] {
        let lie = move |bytes: &mut [u8]| bytes[place] ^= 1;
        of_toy()
            .evaluator_lies(Point::OutputLabels, lie)
            .run()
            .is_caught(Party::Garbler, Cheat::ForgedOutput);
    }
}

/// One gate of a bucket computes NAND, beside good gates, so it gives the other valid label. For all inputs,
/// the evaluator finds the garbler's input, and both parties get the function's result.
#[test]
fn a_bad_gate_in_a_bucket_is_recovered_from() {
    let cuts = cuts([2, 0], [3, 0], [3, 0]);
    for inputs in 0..16 {
        let bit = |k: u32| inputs >> k & 1 == 1;
        let nand = flip_one((inputs % 8) as usize, 0, 0);
        let case = of_toy_with(cuts).inputs(&[bit(0), bit(1)], &[bit(2), bit(3)]);
        case.lie(Point::GateOutputs, nand).run().recovered();
    }
}

/// If a gate gives a random label, the others outvote it, and no input is recovered. The evaluator counts the
/// refused labels.
#[test]
fn rubbish_in_a_bucket_is_outvoted() {
    let cuts = cuts([2, 0], [3, 0], [3, 0]);
    let refused = Arc::new(Mutex::new(0));
    for gate in 0..8 {
        let seen = refused.clone();
        let count = move |bytes: &mut [u8]| *seen.lock().unwrap() += bytes[0];
        let rubbish = flip_one(gate, 6, 0);
        let case = of_toy_with(cuts).lie(Point::GateOutputs, rubbish);
        case.evaluator_lies(Point::Refused, count).run().survived();
    }
    assert_eq!(*refused.lock().unwrap(), 8, "one label in each run");
}

/// Without a good gate, or without a good majority, a bucket gives no label. The parameters make this
/// unlikely.
#[test]
fn a_ruined_bucket_ends_the_run() {
    let case = || of_toy_with(cuts([2, 0], [3, 0], [3, 0]));
    case().lie(Point::GateOutputs, flip(6, 0)).run().is_caught(Party::Evaluator, Cheat::NoValidLabel);
    case().lie(Point::WireHashes, flip(6, 0)).run().is_caught(Party::Evaluator, Cheat::NoValidLabel);
    case().lie(Point::InputHashes, flip(6, 0)).run().is_caught(Party::Evaluator, Cheat::InputLabel);
}

/// The vote tolerates two bad items in a bucket of two gates and three authenticators.
#[test]
fn the_vote_bears_a_minority_of_bad_items() {
    let cuts = cuts([2, 0], [3, 0], [3, 0]);
    for (one, other) in [(0, 5), (3, 4), (7, 11)] {
        let bad = move |bytes: &mut [u8]| {
            for guard in [one, other] {
                bytes[32 * guard] ^= 1;
                bytes[32 * guard + 16] ^= 1;
            }
        };
        of_toy_with(cuts).lie(Point::WireHashes, bad).run().survived();
    }
}

/// A garbler that opens too few items is refused before any message depends on its proposal.
#[test]
fn parameters_that_exceed_the_level_are_refused() {
    let outcome = of_toy().wants(Party::Evaluator, |_, cuts| *cuts = None).run();
    assert!(matches!(outcome.evaluator, Err(Error::Mismatch(_))));
    assert!(outcome.garbler.is_err());
    let real = |_: &mut AgreedJob, cuts: &mut Option<Bucketings>| *cuts = None;
    of_toy().wants(Party::Garbler, real).wants(Party::Evaluator, real).run().survived();
}

/// Tests invalid commitments of each kind, and an invalid answer in a proof.
#[test]
fn what_is_no_commitment_is_noticed() {
    // The messages commit to the offset, the inputs of gates, the outputs of gates, authenticators, offsets,
    // wires, OTs, inputs and outputs.
    for message in 0..9 {
        let mut seen = 0;
        let outcome = of_toy()
            .tampers(Party::Garbler, move |tag, bytes| {
                if tag == CORRECTIONS {
                    let at = bytes.len() / 2;
                    bytes[at] ^= u8::from(seen == message);
                    seen += 1;
                }
            })
            .run();
        match &outcome.evaluator {
            // One wrong coordinate does no harm if it is not watched.
            Ok(_) => outcome.survived(),
            Err(Error::Peer(cheat)) => {
                assert!(*cheat == Cheat::Commitment || *cheat == Cheat::Opening, "{cheat:?}");
            }
            Err(other) => panic!("{other}"),
        }
    }
    let all = |tag: Tag, bytes: &mut Vec<u8>| {
        if tag == CORRECTIONS {
            bytes.iter_mut().for_each(|byte| *byte ^= 0x5a);
        }
    };
    of_toy().tampers(Party::Garbler, all).run().is_caught(Party::Evaluator, Cheat::Commitment);
    for proof in 0..3 {
        let mut seen = 0;
        let outcome = of_toy()
            .tampers(Party::Garbler, move |tag, bytes| {
                if tag == ANSWER {
                    bytes.iter_mut().for_each(|byte| *byte ^= u8::from(seen == proof));
                    seen += 1;
                }
            })
            .run();
        assert!(matches!(outcome.evaluator, Err(Error::Peer(_))), "proof {proof}");
    }
}

/// Tests cheats in the base OTs and the extension: invalid points, points whose key everybody knows, and
/// inconsistent rows.
#[test]
fn lies_in_the_ots_themselves_are_noticed() {
    let in_messages = |tag: Tag, alter: fn(&mut Vec<u8>)| {
        move |sent: Tag, bytes: &mut Vec<u8>| {
            if sent == tag {
                alter(bytes);
            }
        }
    };
    let no_point = in_messages(BASE_OT, |points| points[32..64].fill(0xff));
    with_base_ots().tampers(Party::Garbler, no_point).run().is_caught(Party::Evaluator, Cheat::BaseOtPoint);
    let identity = in_messages(BASE_OT, |points| points[..32].fill(0));
    with_base_ots()
        .tampers(Party::Evaluator, identity)
        .run()
        .is_caught(Party::Garbler, Cheat::BaseOtIdentity);
    let no_vector = in_messages(BASE_OT, |keys| keys[32..35].fill(0xff));
    let lattices = with_base_ots().post_quantum().tampers(Party::Garbler, no_vector);
    lattices.run().is_caught(Party::Evaluator, Cheat::BaseOtVector);
    let rows = in_messages(extension::msg::CHECK, |answer| answer[16] ^= 1);
    with_base_ots().tampers(Party::Evaluator, rows).run().is_caught(Party::Garbler, Cheat::OtExtension);
}

/// Tests each message of the protocol with a length that is a byte too long or too short, from either party.
#[test]
fn messages_of_another_length_are_refused() {
    let of_garbler = [
        msg::KEYS,
        msg::TABLES,
        msg::AUTHENTICATORS,
        msg::OPENED_GATES,
        msg::OPENED_AUTHENTICATORS,
        msg::GATE_SOLDERINGS,
        msg::AUTHENTICATOR_SOLDERINGS,
        msg::OPENED_INPUTS,
        msg::DELTA_DIFFERENCES,
        msg::INPUT_SOLDERINGS,
        msg::SOLDERINGS,
        msg::INPUT_LABELS,
    ];
    let of_evaluator = [msg::CHALLENGE, msg::OT_BINDING, msg::MASKED_INPUT, msg::OUTPUT_LABELS];
    let lengths: [fn(&mut Vec<u8>); 2] = [|bytes| bytes.push(0), |bytes| bytes.truncate(bytes.len() - 1)];
    for change in lengths {
        let change = move |tag: Tag| {
            move |sent: Tag, bytes: &mut Vec<u8>| {
                if sent == tag {
                    change(bytes);
                }
            }
        };
        for tag in of_garbler {
            let outcome = of_toy().tampers(Party::Garbler, change(tag)).run();
            outcome.is_caught(Party::Evaluator, Cheat::UnexpectedMessage);
        }
        for tag in of_evaluator {
            let outcome = of_toy().tampers(Party::Evaluator, change(tag)).run();
            outcome.is_caught(Party::Garbler, Cheat::UnexpectedMessage);
        }
    }
}

/// Row 19 of the table of attacks: a greeting names parameters only if a garbler sends it for a run, and
/// these must be the proposed ones.
#[test]
fn row_19_only_a_garbler_proposes_and_what_it_greeted_with() {
    let malformed =
        |met: Option<&Error>| matches!(met, Some(Error::Mismatch(why)) if why.contains("is malformed"));
    let alters = |altered: Tag, place: usize| {
        move |tag: Tag, bytes: &mut Vec<u8>| {
            if tag == altered {
                bytes[place] += 1;
            }
        }
    };
    let greets = alters(session::msg::HELLO, 48);
    let outcome = of_toy().tampers(Party::Evaluator, greets).run();
    assert!(malformed(outcome.garbler.as_ref().err()));
    // One more opened gate than the greeting says would be secure, too, but the proposal differs from the
    // greeting.
    let real = |_: &mut AgreedJob, cuts: &mut Option<Bucketings>| *cuts = None;
    let more = alters(msg::PROPOSAL, 4);
    let both = of_toy().wants(Party::Garbler, real).wants(Party::Evaluator, real);
    let outcome = both.tampers(Party::Garbler, more).run();
    let other = |why: &String| why.contains("the two parties have different cut-and-choose parameters");
    assert!(matches!(&outcome.evaluator, Err(Error::Mismatch(why)) if other(why)));
    for liar in [Party::Garbler, Party::Evaluator] {
        let (mut left, mut right) = memory_pair();
        let channel = if liar == Party::Garbler { &mut left } else { &mut right };
        channel.set_tamper(Box::new(greets));
        let line = |channel: Channel, party| Metered::new::<Lego>(channel, party, Box::new(Unobserved));
        let [garbler, evaluator] = std::thread::scope(|scope| {
            let line_of_garbler = line(left, Party::Garbler);
            let garbler =
                scope.spawn(|| setup::garbler_of_stock(line_of_garbler, &terms(), Hooks::none()).map(drop));
            let line = line(right, Party::Evaluator);
            let evaluator = setup::evaluator_of_stock(line, &terms(), Hooks::none()).map(drop);
            [garbler.join().unwrap(), evaluator]
        });
        let met = if liar == Party::Garbler { evaluator } else { garbler };
        assert!(malformed(met.err().as_ref()), "{liar:?}");
    }
}
