//! Rows 4 to 6 of the table of attacks (docs/concepts/security.md, section 14): the challenge, copies that
//! are garbled or opened wrongly, and offsets that differ from the committed ones.

use super::super::msg;
use super::harness::*;
use crate::Cheat;
use crate::hooks::Point;
use brickwork_base::pool::Pool;
use brickwork_base::random::Rng;
use brickwork_circuit::{Builder, Party, Port, Program, ProgramBuilder, Recipient, Type};
use brickwork_primitives::commit::code::{BinaryCode, DIMENSION};
use brickwork_primitives::commit::split::msg::{ANSWER, CORRECTIONS, SEED as PROOF};
use brickwork_primitives::cut_and_choose::Bucketing;
use brickwork_primitives::ot::extension::msg::CHECK;
use brickwork_testing::Replayable as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The cut-and-choose of both components of the toy program.
const BUCKETING: Bucketing = Bucketing { slots: 2, bucket: 3, opened: 4 };
const PAIR: usize = 0;
const MIX: usize = 1;

#[test]
fn row_04_no_challenge_before_everything_is_hashed() {
    // The garbler holds back data that must bind it. The evaluator then sends no challenge.
    for (tag, nth) in [(msg::TABLE_HASHES, 0), (msg::TABLE_HASHES, 1), (CORRECTIONS, 6)] {
        let outcome =
            on_toy().sends(Party::Garbler, tag, nth, |hashes| hashes.truncate(hashes.len() - 1)).run();
        outcome.evaluator_caught(Cheat::UnexpectedMessage, "preprocess", CHECK);
        assert!(!outcome.events[1].iter().any(|e| matches!(e, PartyAction::Sent(msg::CHALLENGE, _))));
    }
    for (tag, nth) in [(msg::AUTHENTICATORS, 0), (msg::AUTHENTICATORS, 1), (CORRECTIONS, 9)] {
        let outcome =
            on_toy().sends(Party::Garbler, tag, nth, |hashes| hashes.truncate(hashes.len() - 1)).run();
        outcome.evaluator_caught(Cheat::UnexpectedMessage, "prepare", CHECK);
        assert!(!outcome.events[1].iter().any(|e| matches!(e, PartyAction::Sent(msg::CHALLENGE, _))));
    }
}

#[test]
fn row_04_challenges_of_the_wrong_size_are_refused() {
    let sizes: [fn(&mut Vec<u8>); 4] = [
        |seed| seed.clear(),
        |seed| seed.truncate(16),
        |seed| seed.push(0),
        |seed| seed.extend_from_within(..),
    ];
    for (nth, phase) in [(0, "preprocess"), (1, "prepare")] {
        for size in sizes {
            // Each of the two challenges has two seeds of 16 bytes.
            let outcome = on_toy().sends(Party::Evaluator, msg::CHALLENGE, nth, size).run();
            outcome.caught(Party::Garbler, Cheat::UnexpectedMessage, phase, ANSWER);
        }
    }
}

#[test]
fn row_04_as_many_copies_are_opened_as_agreed() {
    for change in [
        |opened: &mut Vec<u8>| opened.truncate(opened.len() - 16),
        |opened: &mut Vec<u8>| opened.extend([0; 16]),
    ] {
        for (tag, phase) in [(msg::OPENED, "preprocess"), (msg::OPENED_AUTHENTICATORS, "prepare")] {
            let outcome = on_toy().sends(Party::Garbler, tag, 0, change).run();
            outcome.evaluator_caught(Cheat::UnexpectedMessage, phase, msg::OT_BINDING);
        }
    }
}

#[test]
fn row_04_challenges_do_not_repeat() {
    use std::sync::{Arc, Mutex};
    let seen = Arc::new(Mutex::new(Vec::new()));
    let mut rng = brickwork_base::random::Rng::replayable("test");
    for _ in 0..3 {
        let mut case = cheap(&toy(), small(&toy(), [3, 4], [3, 6], [3, 4]), &mut rng);
        for nth in 0..2 {
            let seen = seen.clone();
            case = case.sends(Party::Evaluator, msg::CHALLENGE, nth, move |seeds| {
                seen.lock().unwrap().extend(seeds.chunks(16).map(Vec::from))
            });
        }
        assert!(case.run_alone().evaluator.is_ok());
    }
    let mut seen = seen.lock().unwrap();
    assert_eq!(
        seen.len(),
        12,
        "a seed for each of two components and two kinds of authenticator, in each of three runs"
    );
    seen.sort();
    seen.dedup();
    assert_eq!(seen.len(), 12);
}

/// Flips a bit in the tables of one copy before they are hashed, and also when they are sent.
fn flipped_table(component: usize, copy: usize, byte: usize) -> Case {
    on_toy().tables(move |c, k, offset, bytes| {
        if (c, k) == (component, copy) && (offset..offset + bytes.len()).contains(&byte) {
            bytes[byte - offset] ^= 0x10;
        }
    })
}

#[test]
fn row_05_flipped_table_bit_in_an_opened_copy() {
    for copy in opened(BUCKETING) {
        flipped_table(PAIR, copy, 31).run().evaluator_caught(
            Cheat::OpenedCopy,
            "preprocess",
            msg::OT_BINDING,
        );
    }
    for byte in [0, 40, 4 * 32 - 1] {
        flipped_table(MIX, opened(BUCKETING)[3], byte).run().evaluator_caught(
            Cheat::OpenedCopy,
            "preprocess",
            msg::OT_BINDING,
        );
    }
}

#[test]
fn row_05_flipped_table_bit_in_a_chosen_copy() {
    for copy in chosen(BUCKETING) {
        flipped_table(MIX, copy, 7).run().survived();
    }
}

/// All copies of a bucket except one have wrong tables. The evaluator's count of refused labels shows this;
/// in an honest run the count is 0.
#[test]
fn row_05_one_good_copy_is_enough() {
    let refused = Arc::new(AtomicU64::new(0));
    for good in 0..3 {
        let bad: Vec<usize> = (0..3).filter(|&k| k != good).map(|k| chosen(BUCKETING)[k]).collect();
        let rubbish = move |_, copy: usize, _, bytes: &mut [u8]| {
            if bad.contains(&copy) {
                bytes.iter_mut().for_each(|b| *b = b.wrapping_mul(5) ^ 0x77);
            }
        };
        let all = refused.clone();
        let count = move |count: &mut [u8]| {
            all.fetch_add(bytemuck::pod_read_unaligned(count), Ordering::Relaxed);
        };
        on_toy().tables(rubbish).evaluator_lies(Point::Refused, count).run().survived();
    }
    assert!(refused.load(Ordering::Relaxed) > 0);
}

/// Makes a component in which every label depends on a chain of 40 AND gates.
fn chain() -> Arc<Program> {
    let circuit = |b: &mut Builder, w: &[_]| {
        vec![(0..40).fold(w[0], |t, _| {
            let a = b.and(t, w[1]);
            b.xor(a, w[0])
        })]
    };
    let mut program = ProgramBuilder::new(
        "chain",
        vec![Port::new("x", Type::Uint(1))],
        vec![Port::new("y", Type::Uint(1))],
    )
    .unwrap();
    let chain = program.component(component("chain", 2, circuit)).unwrap();
    let z = program.slot(chain, &[0, 1]).unwrap();
    program.output(Port::new("z", Type::Uint(1)), Recipient::Both, vec![z]).unwrap();
    Arc::new(program.finish().unwrap())
}

#[test]
fn row_05_no_good_copy_in_a_bucket() {
    let program = chain();
    // No copy is opened, so only authenticators can detect the cheat.
    let case = run_of(&program, small(&program, [3, 0], [3, 4], [3, 4]));
    let outcome = case.tables(|_, _, _, bytes| bytes.iter_mut().for_each(|b| *b ^= 0xa5)).run();
    outcome.evaluator_caught(Cheat::NoValidLabel, "evaluate", PROOF);
}

#[test]
fn row_05_tables_altered_after_the_challenge() {
    for (message, byte) in [(0, 0), (0, 6 * 32 - 1), (1, 100)] {
        let outcome =
            on_toy().sends(Party::Garbler, msg::TABLES, message, move |tables| tables[byte] ^= 1).run();
        outcome.evaluator_caught(Cheat::ChosenTables, "preprocess", msg::OT_BINDING);
    }
}

#[test]
fn row_05_hashes_of_other_tables() {
    let (o, c) = (opened(BUCKETING), chosen(BUCKETING));
    let case = on_toy().lie(Point::TableHashes(MIX), swap(32, c[0], c[5]));
    case.run().evaluator_caught(Cheat::ChosenTables, "preprocess", msg::OT_BINDING);
    let case = on_toy().lie(Point::TableHashes(MIX), swap(32, o[0], o[1]));
    case.run().evaluator_caught(Cheat::OpenedCopy, "preprocess", msg::OT_BINDING);
    // The hashes of two copies' tables are exchanged; one copy is opened, the other chosen.
    let case = on_toy().lie(Point::TableHashes(PAIR), swap(32, o[2], c[1]));
    let (_, cheat) = case.run().cheat().unwrap();
    assert!([Cheat::OpenedCopy, Cheat::ChosenTables].into_iter().any(|other| cheat == other));
}

/// The keys of the hash follow from a start that was sent before the challenge. Tables under other keys are
/// not a garbling of the component.
#[test]
fn row_05_other_hash_keys() {
    let outcome = on_toy().sends(Party::Garbler, msg::TABLE_HASHES, 1, |hashes| hashes[15] ^= 0x80).run();
    outcome.evaluator_caught(Cheat::OpenedCopy, "preprocess", msg::OT_BINDING);
}

/// Makes a program with a component without AND gates.
fn xor() -> Arc<Program> {
    let mut program =
        ProgramBuilder::new("xor", vec![Port::new("x", Type::Uint(1))], vec![Port::new("y", Type::Uint(1))])
            .unwrap();
    let xor = program.component(component("xor", 2, |b, w| vec![b.xor(w[0], w[1])])).unwrap();
    let z = program.slot(xor, &[0, 1]).unwrap();
    program.output(Port::new("z", Type::Uint(1)), Recipient::Both, vec![z]).unwrap();
    Arc::new(program.finish().unwrap())
}

/// Two wrong inputs of an opened copy have the right sum, so its output, and its empty tables, are those of
/// an honest copy.
#[test]
fn row_11_wrong_inputs_of_an_opened_copy_that_cancel() {
    let program = xor();
    for k in 0..4 {
        let case = run_of(&program, small(&program, [3, 4], [3, 4], [3, 4]));
        // Behind the four offsets are two inputs for each copy.
        let outcome = case.lie(Point::Opened(0), flips(vec![4 + 2 * k, 5 + 2 * k], 40)).run();
        outcome.evaluator_caught(Cheat::Opening, "build", PROOF);
    }
}

#[test]
fn row_05_empty_tables_are_hashed_too() {
    let program = xor();
    let bucketing = Bucketing { slots: 1, bucket: 3, opened: 4 };
    for (copy, cheat) in
        [(opened(bucketing)[0], Cheat::OpenedCopy), (chosen(bucketing)[2], Cheat::ChosenTables)]
    {
        let case = run_of(&program, small(&program, [3, 4], [3, 4], [3, 4]));
        let outcome = case.lie(Point::TableHashes(0), move |hashes| hashes[32 * copy] ^= 1).run();
        outcome.evaluator_caught(cheat, "preprocess", msg::OT_BINDING);
    }
}

/// In every copy the garbler commits to the outputs of another function, NAND instead of AND.
#[test]
fn row_05_another_function() {
    let nand = |labels: &mut [u8]| labels.chunks_mut(32).for_each(|copy| copy[0] ^= 1);
    let outcome = on_toy().lie(Point::CommittedOutputs(PAIR), nand).run();
    outcome.evaluator_caught(Cheat::Opening, "build", PROOF);
    // This cheat would succeed if no item were opened.
    let program = ands(1, Recipient::Evaluator);
    let case = run_of(&program, small(&program, [3, 0], [3, 0], [3, 0]));
    assert!(
        case.lie(Point::CommittedOutputs(0), |labels| labels.chunks_mut(16).for_each(|label| label[0] ^= 1))
            .run()
            .fooled()
    );
}

/// The last output wire of an opened copy is checked. The original implementation left it out.
#[test]
fn row_05_last_output_wire_of_an_opened_copy() {
    for copy in opened(BUCKETING) {
        for bit in [0, 1, 127] {
            let last = copy * 2 + 1;
            let outcome = on_toy().lie(Point::CommittedOutputs(MIX), flip(last, bit)).run();
            outcome.evaluator_caught(Cheat::Opening, "build", PROOF);
        }
    }
}

#[test]
fn row_05_wrong_output_wire_of_a_chosen_copy() {
    for wire in 0..2 {
        on_toy().lie(Point::CommittedOutputs(MIX), flip(chosen(BUCKETING)[1] * 2 + wire, 9)).run().survived();
    }
    let bucket: Vec<usize> = chosen(BUCKETING)[..3].iter().map(|copy| copy * 2).collect();
    let outcome = on_toy().lie(Point::CommittedOutputs(MIX), flips(bucket, 9)).run();
    outcome.evaluator_caught(Cheat::NoValidLabel, "evaluate", PROOF);
}

/// An error in a worker thread ends the session, for any number of threads. The original implementation loses
/// it.
#[test]
fn row_05_errors_of_worker_threads_reach_the_caller() {
    let program = ands(20, Recipient::Both);
    let bucketing = Bucketing { slots: 20, bucket: 3, opened: 40 };
    for threads in [1, 2, 4] {
        // The last opened copy is checked by a task of its own.
        let (last, case) = (
            opened(bucketing)[39],
            run_of(&program, small(&program, [3, 40], [3, 4], [3, 4])).threads(threads),
        );
        let outcome = case.tables(move |_, copy, _, bytes| bytes[0] ^= u8::from(copy == last)).run();
        outcome.evaluator_caught(Cheat::OpenedCopy, "preprocess", msg::OT_BINDING);
        // The tables of the last chosen copy are in the last message.
        let case = run_of(&program, small(&program, [3, 40], [3, 4], [3, 4])).threads(threads);
        let outcome =
            case.sends(Party::Garbler, msg::TABLES, 3, |tables| *tables.last_mut().unwrap() ^= 1).run();
        outcome.evaluator_caught(Cheat::ChosenTables, "preprocess", msg::OT_BINDING);
        // No copy of the last slot gives a valid label.
        let bad = chosen(bucketing)[57..].to_vec();
        let case = run_of(&program, small(&program, [3, 40], [3, 4], [3, 4])).threads(threads);
        let outcome = case.lie(Point::CommittedOutputs(0), flips(bad, 70)).run();
        outcome.evaluator_caught(Cheat::NoValidLabel, "evaluate", PROOF);
    }
}

#[test]
fn row_06_opened_copy_garbled_with_another_offset() {
    for copy in opened(BUCKETING) {
        let outcome = on_toy().lie(Point::GarbledOffsets(MIX), flip(copy, 50)).run();
        outcome.evaluator_caught(Cheat::OpenedCopy, "preprocess", msg::OT_BINDING);
    }
}

/// The copy is garbled and opened with one offset, so its tables and outputs are right. But the garbler has
/// committed to another offset.
#[test]
fn row_06_opened_offset_is_not_the_committed_one() {
    for (k, copy) in opened(BUCKETING).into_iter().enumerate() {
        let outcome = on_toy()
            .lie(Point::GarbledOffsets(MIX), flip(copy, 50))
            .lie(Point::Opened(MIX), flip(k, 50))
            .run();
        outcome.evaluator_caught(Cheat::Opening, "build", PROOF);
    }
}

/// The garbler computes delta differences and solderings with the offset of the garbling, which is not the
/// committed one.
#[test]
fn row_06_another_offset_is_visible_in_solderings() {
    for copy in chosen(BUCKETING) {
        let outcome = on_toy().lie(Point::GarbledOffsets(MIX), flip(copy, 50)).run();
        outcome.evaluator_caught(Cheat::Opening, "build", PROOF);
    }
}

/// The garbler computes delta differences and solderings with the committed offset. Only this copy of the
/// bucket is bad.
#[test]
fn row_06_chosen_copy_garbled_with_another_offset() {
    for place in 0..6 {
        let head = place - place % 3;
        let to_committed = move |solderings: &mut [u8]| {
            // A soldering to this copy contains its offset if the soldering's lowest bit is 1. Each copy has
            // four input wires.
            for k in 0..(place - head) * 4 {
                let label = &mut solderings[16 * (head / 3 * 8 + k)..][..16];
                label[6] ^= if k / 4 == place - head - 1 && label[0] & 1 == 1 { 4 } else { 0 };
            }
        };
        let case = on_toy()
            .lie(Point::GarbledOffsets(MIX), flip(chosen(BUCKETING)[place], 50))
            .lie(Point::DeltaDifferences(MIX), flip(place, 50));
        case.lie(Point::BucketSolderings(MIX), to_committed).run().survived();
    }
}

#[test]
fn row_06_offset_differs_inside_a_copy() {
    let from_second_gate = |copy: usize| {
        move |component, k, _, bytes: &mut [u8]| {
            if (component, k) == (MIX, copy) {
                bytes[32..].iter_mut().for_each(|b| *b ^= 0x21);
            }
        }
    };
    let outcome = on_toy().tables(from_second_gate(opened(BUCKETING)[1])).run();
    outcome.evaluator_caught(Cheat::OpenedCopy, "preprocess", msg::OT_BINDING);
    on_toy().tables(from_second_gate(chosen(BUCKETING)[1])).run().survived();
}

#[test]
fn row_06_offsets_that_end_in_0() {
    // An opening begins with the offsets.
    for offset in 0..4 {
        let outcome = on_toy().lie(Point::Opened(PAIR), flip(offset, 0)).run();
        outcome.evaluator_caught(Cheat::OffsetColour, "preprocess", msg::OT_BINDING);
    }
    let outcome = on_toy().lie(Point::Opened(MIX), |opened| opened[..16].fill(0)).run();
    outcome.evaluator_caught(Cheat::OffsetColour, "preprocess", msg::OT_BINDING);
    for alter in [|offsets: &mut [u8]| offsets[0] ^= 1, |offsets: &mut [u8]| offsets[..16].fill(0)] {
        let outcome = on_toy().lie(Point::OpenedInput, alter).run();
        outcome.evaluator_caught(Cheat::OffsetColour, "prepare", msg::OT_BINDING);
    }
}

#[test]
fn row_06_delta_differences_that_end_in_1() {
    let outcome = on_toy().lie(Point::DeltaDifferences(PAIR), flip(5, 0)).run();
    outcome.evaluator_caught(Cheat::DeltaDifferenceColour, "preprocess", msg::OT_BINDING);
    // The hook is first called for plain authenticators, which have no delta differences.
    let last = |delta_differences: &mut [u8]| {
        if let Some(delta_difference) = delta_differences.chunks_mut(16).last() {
            delta_difference[0] ^= 1
        }
    };
    let outcome = on_toy().lie(Point::InputDeltaDifferences, last).run();
    outcome.evaluator_caught(Cheat::DeltaDifferenceColour, "prepare", msg::OT_BINDING);
    // An OT offset with lowest bit 0 gives a delta difference with lowest bit 1.
    let outcome = on_toy().lie(Point::CommittedOtOffset, flip(0, 0)).run();
    outcome.evaluator_caught(Cheat::DeltaDifferenceColour, "setup", CHECK);
    // The same offset, with an altered delta difference whose lowest bit is 0.
    let case = on_toy().lie(Point::CommittedOtOffset, flip(0, 0)).sends(
        Party::Garbler,
        msg::OT_DELTA_DIFFERENCE,
        0,
        |delta_difference| delta_difference[0] ^= 1,
    );
    case.run().evaluator_caught(Cheat::Opening, "prepare", PROOF);
}

/// A Δ_ka with lowest bit 0. One coordinate of the code enforces the lowest bit 1, and the evaluator watches
/// one of two shares of this coordinate. The garbler guesses which, and corrects the parity of the other
/// coordinates. All delta differences then have lowest bit 0.
#[test]
fn row_06_session_offset_that_ends_in_0() {
    let code = BinaryCode::for_security(40).unwrap();
    let mut message = [0u128; DIMENSION];
    message[0] = 1;
    let mut parity = vec![0u128; code.parity_bits()];
    code.encode_rows(&message, &mut parity, 1);
    let mut rng = brickwork_base::random::Rng::replayable("test");
    let mut guessed_right = 0;
    for _ in 0..24 {
        let parity = parity.clone();
        let fit = move |corrections: &mut Vec<u8>| {
            let parity: &[u8] = bytemuck::cast_slice(&parity);
            corrections.iter_mut().zip(parity).for_each(|(c, p)| *c ^= p);
        };
        let case = cheap(&toy(), small(&toy(), [3, 4], [3, 6], [3, 4]), &mut rng)
            .lie(Point::KaOffset, flip(0, 0))
            .lie(Point::CommittedOtOffset, flip(0, 0));
        let (party, cheat) = case.sends(Party::Garbler, CORRECTIONS, 0, fit).run_alone().cheat().unwrap();
        assert!(party == Party::Evaluator && (cheat == Cheat::Indicator || cheat == Cheat::Commitment));
        guessed_right += u32::from(cheat == Cheat::Indicator);
    }
    assert!((1..24).contains(&guessed_right), "the garbler guesses right in some runs only");
}

#[test]
fn row_06_wrong_delta_differences() {
    for delta_difference in 0..6 {
        let outcome = on_toy().lie(Point::DeltaDifferences(MIX), flip(delta_difference, 90)).run();
        outcome.evaluator_caught(Cheat::Opening, "build", PROOF);
    }
    let first = |delta_differences: &mut [u8]| {
        if let Some(delta_difference) = delta_differences.chunks_mut(16).next() {
            delta_difference[3] ^= 1
        }
    };
    on_toy().lie(Point::InputDeltaDifferences, first).run().evaluator_caught(Cheat::Opening, "build", PROOF);
    let case = on_toy()
        .sends(Party::Garbler, msg::OT_DELTA_DIFFERENCE, 0, |delta_difference| delta_difference[1] ^= 1);
    case.run().evaluator_caught(Cheat::Opening, "prepare", PROOF);
}

/// Three bad copies give the valid label of the wrong bit, among buckets of two. A wrong output needs a
/// bucket with bad copies alone, and then the third one is beside a good copy and reveals the offset.
#[test]
fn row_14_a_third_bad_copy_never_fools_the_evaluator() {
    let program = ands(4, Recipient::Evaluator);
    let mut rng = Rng::replayable("test");
    let (mut opened, mut recovered) = (0, 0);
    let mut run = || {
        let case = cheap(&program, small(&program, [2, 8], [1, 0], [1, 0]), &mut rng)
            .lie(Point::CommittedOutputs(0), flips(vec![0, 1, 2], 0));
        let outcome = case.run_alone();
        assert!(!outcome.fooled(), "a wrong output");
        match outcome.evaluator {
            Err(error) if error.is_cheat(Cheat::Opening) => opened += 1,
            Ok(report) => {
                assert!(report.aside.recovered, "the offset is not revealed");
                recovered += 1;
            }
            Err(other) => panic!("{other}"),
        }
    };
    Pool::new(1).expect("a thread").enter(|| (0..1000).for_each(|_| run()));
    // No bad copy is opened with probability C(13, 8) / C(16, 8) = 0.1.
    assert!(opened + recovered == 1000 && (60..150).contains(&recovered), "{opened} and {recovered}");
}
