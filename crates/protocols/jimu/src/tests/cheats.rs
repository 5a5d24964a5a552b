//! Each party cheats at every message, and between the steps.

use super::*;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::setup::{Evaluator, Garbler};
use brickwork_base::Malformed;
use brickwork_circuit::library;
use brickwork_primitives::cut_and_choose::Bucketing;
use brickwork_primitives::ihash;
use brickwork_wire::Tag;

/// Inputs that are always the same.
fn fixed(program: &Program) -> [Vec<bool>; 2] {
    let [a, b] = [Party::Garbler, Party::Evaluator].map(|party| program.input_width(party));
    [(0..a).map(|k| k % 3 == 0).collect(), (0..b).map(|k| k % 2 == 1).collect()]
}

/// The end of a run of both parties, of which one alters its `nth` message with this tag.
fn altered(
    party: Party,
    tag: Tag,
    nth: usize,
    alter: impl Fn(&mut Vec<u8>) + Send + 'static,
) -> [Result<Report, Error>; 2] {
    let program = Arc::new(library::millionaires().unwrap());
    let (mut left, mut right) = memory_pair();
    let done = Arc::new(AtomicBool::new(false));
    let (noted, mut seen) = (done.clone(), 0);
    let tamper = Box::new(move |sent: Tag, message: &mut Vec<u8>| {
        if sent == tag {
            if seen == nth {
                alter(message);
                noted.store(true, Ordering::SeqCst);
            }
            seen += 1;
        }
    });
    if party == Party::Garbler {
        left.set_tamper(tamper)
    } else {
        right.set_tamper(tamper)
    };
    let [a, b] = fixed(&program);
    let ends = over((left, right), &program, 40, [&a, &b]);
    assert!(done.load(Ordering::SeqCst), "no such message");
    ends
}

/// Flips the bits of `mask` in a byte, counted from the end if that is negative.
fn flip(at: isize, mask: u8) -> impl Fn(&mut Vec<u8>) + Send + 'static {
    move |message| {
        let place = if at < 0 { message.len() as isize + at } else { at };
        message[place as usize] ^= mask;
    }
}

#[track_caller]
fn is_caught(end: &Result<Report, Error>, cheat: impl Into<brickwork_base::Cheat> + Copy) {
    match end {
        Err(error) => assert!(error.is_cheat(cheat), "{error}"),
        Ok(_) => panic!("not caught"),
    }
}

/// What the garbler sends is compared, byte for byte, with hashes: each of its messages altered in one place.
#[test]
fn row_10_an_altered_message_of_the_garbler_is_caught_by_its_check() {
    let checks = [
        (msg::OPENED_PERMUTATIONS, 0, Cheat::Permutation),
        (msg::OPENED_LABELS, 0, Cheat::Label),
        (msg::OPENED_OFFSETS, 0, Cheat::Authenticator),
        (msg::PERMUTATIONS, 0, Cheat::Permutation),
        (msg::DIFFERENCES, 0, Cheat::Soldering),
        (msg::DIFFERENCES, -1, Cheat::Soldering),
        (msg::JOINED_PERMUTATIONS, 0, Cheat::Permutation),
        (msg::JOINED_OFFSETS, 0, Cheat::Soldering),
        (msg::INPUT_LABELS, 0, Cheat::InputLabel),
        (msg::DECODING, 0, Cheat::Permutation),
    ];
    for (tag, at, cheat) in checks {
        let [garbler, evaluator] = altered(Party::Garbler, tag, 0, flip(at, 1));
        is_caught(&evaluator, cheat);
        assert!(garbler.is_err() || tag != msg::OPENED_LABELS);
    }
}

/// Hashes of labels and of permutation messages, and what is hashed in the place of drawn words.
#[test]
fn row_03_altered_hashes_are_caught() {
    for nth in [0, 1] {
        let all = |message: &mut Vec<u8>| message.iter_mut().for_each(|byte| *byte ^= 1);
        let ends = altered(Party::Garbler, ihash::msg::ANSWER, nth, all);
        is_caught(&ends[1], ihash::Cheat::Codeword);
        let ends = altered(Party::Garbler, ihash::msg::CORRECTIONS, nth, all);
        is_caught(&ends[1], ihash::Cheat::Codeword);
        let ends = altered(Party::Garbler, ihash::msg::SHARES, nth, flip(-1, 1));
        is_caught(&ends[1], ihash::Cheat::Shares);
        let ends = altered(Party::Evaluator, ihash::msg::SECRET, nth, flip(0, 1));
        is_caught(&ends[0], ihash::Cheat::Watched);
    }
    // The last word of labels is the offset: with another one no label of an OT is right whose choice is 1.
    let ends = altered(Party::Garbler, ihash::msg::CHOSEN, 0, flip(-1, 1));
    is_caught(&ends[1], Cheat::OtOffset);
}

#[test]
fn row_15_altered_messages_of_the_evaluator_are_caught() {
    for at in [0, -1] {
        let ends = altered(Party::Evaluator, msg::COMBINED, 0, flip(at, 1));
        is_caught(&ends[0], Cheat::Choices);
    }
    for at in [0, 7, -1] {
        let [garbler, evaluator] = altered(Party::Evaluator, msg::OUTPUT_LABELS, 0, flip(at, 4));
        is_caught(&garbler, Cheat::OutputLabel);
        assert!(evaluator.is_ok());
    }
    // Bits behind the last one.
    let ends = altered(Party::Evaluator, msg::COMBINED, 0, |message| message.push(0));
    is_caught(&ends[0], Malformed::UnexpectedMessage);
}

/// Rows of all gates are wrong: an opened one shows it. Of a single gate: it may be opened, or the others of
/// its bucket are good, and the outputs are right.
#[test]
fn row_05_wrong_rows_are_caught_or_do_no_harm() {
    let all = |message: &mut Vec<u8>| message[preprocess::START..].iter_mut().for_each(|byte| *byte ^= 1);
    is_caught(&altered(Party::Garbler, msg::GATES, 0, all)[1], Cheat::OpenedGate);
    let program = library::millionaires().unwrap();
    let [a, b] = fixed(&program);
    let expected = program.simulate(&a, &b);
    for gate in 0..12 {
        let first = (preprocess::START + 2 * 48 * gate) as isize;
        let [garbler, evaluator] = altered(Party::Garbler, msg::GATES, 0, flip(first, 1));
        match evaluator {
            Ok(report) => {
                assert_eq!(report.outputs, program.output_bits(Party::Evaluator, &expected));
                let outputs = garbler.unwrap().outputs;
                assert_eq!(outputs, program.output_bits(Party::Garbler, &expected));
            }
            Err(error) => assert!(error.is_cheat(Cheat::OpenedGate), "{error}"),
        }
    }
}

/// A run step by step, in which the layout and the garbler's steps are what the test says.
fn stepwise(
    program: &Arc<Program>,
    sizes: impl Fn(&mut Layout) + Sync,
    inputs: [&[bool]; 2],
    change: impl FnOnce(&mut Garbler) + Send,
    spoil: impl FnOnce(&[u128], &mut gates::Wide, &mut gates::Wide) + Send,
) -> [Result<Report, Error>; 2] {
    let job = job(program, 40);
    let (left, right) = memory_pair();
    let metered = |channel, party| Metered::new::<Jimu>(channel, party, Box::new(Unobserved));
    let layout = || {
        let mut layout = Layout::new(program, 40).unwrap();
        sizes(&mut layout);
        layout
    };
    let garbler = || -> Result<Report, Error> {
        let layout = layout();
        let mut party: Garbler = setup::garbler(metered(left, Party::Garbler), &job, &layout)?;
        change(&mut party);
        let made = preprocess::garbler_of(&mut party, &layout, spoil)?;
        let theirs = prepare::garbler(&mut party, &layout)?;
        let circuit = build::garbler(&mut party, &layout, &made, inputs[0], &theirs)?;
        let outputs = decode::garbler(&mut party, &layout, &made, &circuit)?;
        Ok(report(outputs, party.close()?, &layout.sizes, Aside::default()))
    };
    let evaluator = || -> Result<Report, Error> {
        let layout = layout();
        let mut party: Evaluator = setup::evaluator(metered(right, Party::Evaluator), &job, &layout)?;
        let received = preprocess::evaluator(&mut party, &layout)?;
        let own = prepare::evaluator(&mut party, inputs[1])?;
        preprocess::check(&mut party, &layout, &received)?;
        let circuit = build::evaluator(&mut party, &layout, &received, &own)?;
        let found = evaluate::evaluator(&mut party, &layout, &received, &circuit)?;
        let aside = Aside::of(&found.1);
        let outputs = decode::evaluator(&mut party, &layout, &received, &circuit, found, inputs[1])?;
        Ok(report(outputs, party.close()?, &layout.sizes, aside))
    };
    std::thread::scope(|scope| {
        let garbler = scope.spawn(garbler);
        let evaluator = evaluator();
        [garbler.join().expect("no panic"), evaluator]
    })
}

/// Another Δ than that of the OTs, and labels of OTs that are not the hashed ones: refused whatever the
/// evaluator's input is, with the same end.
#[test]
fn row_12_another_offset_or_label_of_ots_tells_nothing_of_the_input() {
    let program = Arc::new(library::millionaires().unwrap());
    for bit in [false, true] {
        let input = vec![bit; program.input_width(Party::Evaluator)];
        let own = vec![true; program.input_width(Party::Garbler)];
        let offset = |party: &mut Garbler| party.delta.label_mut(0)[1] ^= 1 << 77;
        let ends = stepwise(&program, |_| (), [&own, &input], offset, |_, _, _| ());
        is_caught(&ends[1], Cheat::OtOffset);
        // The label of bit 1 in the place of that of 0.
        let label = |party: &mut Garbler| {
            let delta = party.delta.label(0).to_vec();
            party.ots.add(0, &delta, 1);
        };
        let ends = stepwise(&program, |_| (), [&own, &input], label, |_, _, _| ());
        is_caught(&ends[1], Cheat::OtOffset);
    }
}

/// x·y for each bit, told to both.
fn products(width: u32) -> Arc<Program> {
    let port = |name: &str| Port::new(name, Type::Uint(width));
    let mut builder = Builder::new(2 * width);
    let wires = builder.all_inputs();
    let outs: Vec<_> =
        (0..width as usize).map(|k| builder.and(wires[k], wires[k + width as usize])).collect();
    let component = Component {
        name: "products".into(),
        inputs: vec![port("a"), port("b")],
        outputs: vec![port("z")],
        circuit: Arc::new(builder.finish(&outs).unwrap()),
    };
    let mut program = ProgramBuilder::new("products", vec![port("x")], vec![port("y")]).unwrap();
    let id = program.component(component).unwrap();
    let first = program.slot(id, &(0..2 * width).collect::<Vec<_>>()).unwrap();
    program.output(port("z"), Recipient::Both, (first..first + width).collect()).unwrap();
    Arc::new(program.finish().unwrap())
}

/// Gates that give the other label: in a bucket with a good one the evaluator gets Δ, and with it the
/// garbler's input. Its outputs are right, so are the garbler's, and the messages are as long as ever.
#[test]
fn row_14_an_evaluator_that_gets_the_offset_computes_in_the_clear_and_nobody_sees() {
    let program = products(6);
    let mut rng = Rng::replayable("test inputs");
    let unopened = |layout: &mut Layout| {
        layout.sizes.gates = Bucketing { slots: 6, bucket: 2, opened: 0 };
    };
    let bytes = |report: &Report| -> Vec<[u64; 2]> {
        report.phases.iter().map(|phase| [phase.garbler_sent_bytes, phase.evaluator_sent_bytes]).collect()
    };
    let (mut recovered, mut lengths) = (0, Vec::new());
    for k in 0..8 {
        let [a, b] = random_inputs(&program, &mut rng);
        // One of 12 gates computes NAND; with k = 0 none does.
        let spoil = move |delta: &[u128], outputs: &mut gates::Wide, _: &mut gates::Wide| {
            outputs.add(k, delta, u8::from(k > 0));
        };
        let [garbler, evaluator] = stepwise(&program, unopened, [&a, &b], |_| (), spoil).map(Result::unwrap);
        let expected = program.simulate(&a, &b);
        assert_eq!(garbler.outputs, program.output_bits(Party::Garbler, &expected));
        assert_eq!(evaluator.outputs, program.output_bits(Party::Evaluator, &expected));
        assert_eq!(evaluator.aside.recovered, k > 0);
        recovered += u32::from(evaluator.aside.recovered);
        lengths.push(bytes(&garbler));
    }
    assert_eq!(recovered, 7);
    assert!(lengths.iter().all(|other| *other == lengths[0]), "{lengths:?}");
}

/// Of small numbers: a garbler whose first gates compute NAND is found out when one is opened, and wins when
/// a bucket has no other ones; otherwise the evaluator recovers.
#[test]
fn row_05_bad_gates_win_as_often_as_they_must() {
    let program = products(2);
    let bucketing = Bucketing { slots: 2, bucket: 2, opened: 2 };
    let small = move |layout: &mut Layout| layout.sizes.gates = bucketing;
    let ones = [vec![true; 2], vec![true; 2]];
    let (trials, mut wins, mut caught, mut recovered) = (60, 0, 0, 0);
    for _ in 0..trials {
        let spoil = |delta: &[u128], outputs: &mut gates::Wide, _: &mut gates::Wide| {
            (0..2).for_each(|k| outputs.add(k, delta, 1));
        };
        let [_, evaluator] = stepwise(&program, small, [&ones[0], &ones[1]], |_| (), spoil);
        match evaluator {
            Err(error) => {
                assert!(error.is_cheat(Cheat::OpenedGate), "{error}");
                caught += 1;
            }
            Ok(report) if report.outputs == [true, true] => recovered += u32::from(report.aside.recovered),
            Ok(_) => wins += 1,
        }
    }
    // Both in buckets: 6 of 15 ways, of which 2 in the same.
    let [wins, caught, recovered] = [wins, caught, recovered].map(|n| f64::from(n) / f64::from(trials));
    assert!((wins - 2.0 / 15.0).abs() < 0.18, "{wins}");
    assert!((caught - 9.0 / 15.0).abs() < 0.26, "{caught}");
    assert!((recovered - 4.0 / 15.0).abs() < 0.24, "{recovered}");
    assert!(wins + caught + recovered > 0.99);
}
