//! Attacks of each party on every message, and on the state between the steps.

use super::*;
use brickwork_testing::Replayable as _;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::adversary::{Case, Ending, Point, add, opposite, sizes};
use crate::parameters::Sizes;
use brickwork_base::Malformed;
use brickwork_circuit::library;
use brickwork_primitives::cut_and_choose::Bucketing;
use brickwork_primitives::ihash;
use brickwork_wire::Tag;

type Alter = Box<dyn Fn(&mut Vec<u8>) + Send>;

/// Returns inputs that are the same in every test.
fn fixed(program: &Program) -> [Vec<bool>; 2] {
    let [a, b] = [Party::Garbler, Party::Evaluator].map(|party| program.input_width(party));
    [(0..a).map(|k| k % 3 == 0).collect(), (0..b).map(|k| k % 2 == 1).collect()]
}

/// Returns the error of a run in which one party alters its `nth` message with this tag.
fn altered(
    unit: Unit,
    party: Party,
    (tag, nth): (Tag, usize),
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
    let ends = over((left, right), &program, (unit, 40), [&a, &b]);
    assert!(done.load(Ordering::SeqCst), "no such message");
    ends
}

/// Flips the bits of `mask` in a byte. A negative position counts from the end.
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

/// The receiver checks opened values and answers by combinations. Each of the garbler's openings and answers
/// is altered in one place.
#[test]
fn row_10_an_altered_opening_is_caught_by_its_check() {
    let program = library::millionaires().unwrap();
    for unit in Unit::ALL {
        let layout = Layout::new(&program, unit, 40, None).unwrap();
        let kinds = 0..layout.kinds.len();
        // For each kind of opened copies, there are messages of inputs and of outputs, and then labels. Gates
        // have labels of inputs, and components also labels of outputs and offsets.
        let mut all = vec![Cheat::Permutation; 2 * kinds.len()];
        let lists = if unit == Unit::Gates { 1 } else { 3 };
        all.extend(vec![Cheat::Label; lists * kinds.len()]);
        for pairs in kinds.clone().flat_map(|kind| build::soldered(&layout, kind)) {
            solder::parts(pairs).for_each(|_| all.extend([Cheat::Permutation, Cheat::Soldering]));
        }
        if unit == Unit::Components {
            // These are for the offsets of copies.
            all.extend(vec![Cheat::Soldering; kinds.len()]);
        }
        // These are for the sums with the messages for reading, for the garbler's inputs, and for decoding
        // values.
        all.extend([Cheat::Permutation, Cheat::InputLabel, Cheat::Permutation]);
        for (nth, &cheat) in all.iter().enumerate() {
            let opened = (ihash::msg::OPENED, nth);
            for at in [0, -1] {
                let end = &altered(unit, Party::Garbler, opened, flip(at, 1))[1];
                let found = end.as_ref().err().map(ToString::to_string);
                assert!(
                    end.as_ref().is_err_and(|error| error.is_cheat(cheat)),
                    "{unit:?} {nth} {at}: {found:?}"
                );
            }
        }
        let answers = [
            Cheat::Permutation,
            Cheat::Label,
            Cheat::Permutation,
            Cheat::Soldering,
            Cheat::InputLabel,
            Cheat::Permutation,
        ];
        for (nth, cheat) in answers.into_iter().enumerate() {
            let all = |message: &mut Vec<u8>| message.iter_mut().for_each(|byte| *byte ^= 1);
            is_caught(&altered(unit, Party::Garbler, (ihash::msg::OPENINGS, nth), all)[1], cheat);
        }
        let kinds = altered(unit, Party::Garbler, (msg::KINDS, 0), flip(0, 1));
        is_caught(&kinds[1], Cheat::InputLabel);
    }
}

/// The hash of a component's tables binds the garbler before the challenge. The garbler's message about
/// colours must be right, because otherwise an offset has another colour.
#[test]
fn row_05_altered_components_are_caught() {
    let altered = |tag: Tag, alter: Alter| {
        let ends = altered(Unit::Components, Party::Garbler, (tag, 0), alter);
        ends.map(|end| end.err())[1].take().expect("caught")
    };
    assert!(altered(msg::TABLES, Box::new(flip(0, 1))).is_cheat(Cheat::Tables));
    assert!(altered(msg::TABLES, Box::new(flip(-1, 128))).is_cheat(Cheat::Tables));
    let all = |message: &mut Vec<u8>| message.iter_mut().for_each(|byte| *byte ^= 1);
    assert!(altered(msg::HASHES, Box::new(all)).is_cheat(Cheat::Tables));
    // If the colour of an offset differs from that of the opened one, the opening is not the hashed value.
    assert!(altered(msg::COLOURS, Box::new(all)).is_cheat(Cheat::Label));
}

/// Alters hashes of labels and of permutation messages, and the hashes that turn random words into chosen
/// ones.
#[test]
fn row_03_altered_hashes_are_caught() {
    let altered = |party, tag, nth, alter: fn(&mut Vec<u8>)| altered(Unit::Gates, party, (tag, nth), alter);
    for nth in [0, 1] {
        let all = |message: &mut Vec<u8>| message.iter_mut().for_each(|byte| *byte ^= 1);
        let ends = altered(Party::Garbler, ihash::msg::ANSWER, nth, all);
        is_caught(&ends[1], ihash::Cheat::Codeword);
        let ends = altered(Party::Garbler, ihash::msg::CORRECTIONS, nth, all);
        is_caught(&ends[1], ihash::Cheat::Codeword);
        let ends = altered(Party::Garbler, ihash::msg::SHARES, nth, |shares| shares.reverse());
        is_caught(&ends[1], ihash::Cheat::Shares);
        let ends = altered(Party::Evaluator, ihash::msg::SECRET, nth, |secret| secret[0] ^= 1);
        is_caught(&ends[0], ihash::Cheat::Watched);
    }
    // The last word of labels is the offset. With another offset, no OT label of choice 1 is right.
    let other = |words: &mut Vec<u8>| *words.last_mut().expect("a byte") ^= 1;
    let ends = altered(Party::Garbler, ihash::msg::CHOSEN, 0, other);
    is_caught(&ends[1], Cheat::OtOffset);
}

/// The seed of the challenge is sent after all proofs. A garbler that can still choose the symbols for which
/// it answers does not know the challenge.
#[test]
fn row_04_nothing_is_chosen_before_all_hashes_are_proven() {
    let (program, mut rng) = (products(2), Rng::replayable("test inputs"));
    for unit in Unit::ALL {
        for nth in [1, 2] {
            let case = Case::new(&program, sizes(&program, unit), &mut rng).known().dealt(&mut rng);
            let wrong = |words: &mut Vec<u8>| words.iter_mut().for_each(|byte| *byte ^= 1);
            let outcome = case.sends(Party::Garbler, ihash::msg::ANSWER, nth, wrong).run();
            let caught = Ending::Caught(ihash::Cheat::Codeword.into());
            assert_eq!(outcome.ending(Party::Garbler), Ok(caught));
            assert!(!outcome.says(Party::Evaluator, msg::CHALLENGE));
        }
    }
}

#[test]
fn row_15_altered_messages_of_the_evaluator_are_caught() {
    for unit in Unit::ALL {
        for at in [0, -1] {
            let ends = altered(unit, Party::Evaluator, (msg::COMBINED, 0), flip(at, 1));
            is_caught(&ends[0], Cheat::Choices);
        }
        for at in [0, 7, -1] {
            let [garbler, evaluator] = altered(unit, Party::Evaluator, (msg::OUTPUT_LABELS, 0), flip(at, 4));
            is_caught(&garbler, Cheat::OutputLabel);
            assert!(evaluator.is_ok());
        }
        // The evaluator appends bits after the last one.
        let ends = altered(unit, Party::Evaluator, (msg::COMBINED, 0), |message| message.push(0));
        is_caught(&ends[0], Malformed::UnexpectedMessage);
    }
}

/// If the rows of all gates are wrong, an opened gate shows this. If a single bad gate is not opened, the
/// other gates of its bucket are good, and the outputs are right.
#[test]
fn row_05_wrong_rows_are_caught_or_do_no_harm() {
    let altered = |alter: Alter| altered(Unit::Gates, Party::Garbler, (msg::GATES, 0), alter);
    let all = |message: &mut Vec<u8>| message.iter_mut().for_each(|byte| *byte ^= 1);
    is_caught(&altered(Box::new(all))[1], Cheat::OpenedGate);
    let program = library::millionaires().unwrap();
    let [a, b] = fixed(&program);
    let expected = program.simulate(&a, &b);
    for gate in 0..12 {
        let [garbler, evaluator] = altered(Box::new(flip(2 * 48 * gate, 1)));
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

fn ends_as(case: Case, cheater: Party) -> Ending {
    case.run().ending(cheater).unwrap()
}

/// The garbler uses another Δ than that of the OTs, or hashes other labels. Both are refused for any input of
/// the evaluator, with the same error.
#[test]
fn row_12_another_offset_or_label_of_ots_tells_nothing_of_the_input() {
    let (program, mut rng) = (Arc::new(library::millionaires().unwrap()), Rng::replayable("test inputs"));
    let caught = Ending::Caught(Cheat::OtOffset.into());
    for (unit, bit) in Unit::ALL.into_iter().flat_map(|unit| [(unit, false), (unit, true)]) {
        let [x, y] = [Party::Garbler, Party::Evaluator].map(|party| vec![bit; program.input_width(party)]);
        let mut case = || Case::new(&program, sizes(&program, unit), &mut rng).known().inputs(&x, &y);
        let offset = case().lie(Point::Offset, |offset| offset[16 + 9] ^= 1);
        assert_eq!(ends_as(offset, Party::Garbler), caught);
        // The garbler hashes the label of bit 1 instead of that of 0.
        let label = case().lie_with(Point::OtLabels, |delta, labels| add(labels, delta, [0]));
        assert_eq!(ends_as(label, Party::Garbler), caught);
    }
}

/// Repair (iii): the garbler sends the seeds of the points only after the peer has proven its watched symbols
/// of both hashes. The points are those that compress labels, and the point of the permutation bits.
#[test]
fn row_02_no_points_are_drawn_before_what_is_watched_is_proven() {
    let (program, mut rng) = (products(2), Rng::replayable("test inputs"));
    for nth in [0, 1] {
        let case = Case::new(&program, sizes(&program, Unit::Gates), &mut rng).known().dealt(&mut rng);
        let outcome = case.sends(Party::Evaluator, ihash::msg::SECRET, nth, flip(0, 1)).run();
        assert_eq!(outcome.ending(Party::Evaluator), Ok(Ending::Caught(ihash::Cheat::Watched.into())));
        let told = |tag: Tag| outcome.says(Party::Garbler, tag);
        assert!(told(ihash::msg::SHARES) && !told(msg::POINTS) && !told(ihash::msg::CORRECTIONS));
    }
}

/// Returns a program that computes x·y for each bit, for both parties.
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

/// Returns the program's sizes, with other sizes for its only kind of copies.
fn cut(program: &Program, unit: Unit, slots: u32, [bucket, opened]: [u32; 2]) -> Sizes {
    Sizes { copies: vec![Bucketing { slots, bucket, opened }], ..sizes(program, unit) }
}

/// Bad gates give the other label of their output. In a bucket with a good gate, the evaluator learns Δ, and
/// reads the garbler's input. Both parties' outputs are right, and the evaluator's messages are the same as
/// always.
#[test]
fn row_14_an_evaluator_that_gets_the_offset_computes_in_the_clear_and_nobody_sees() {
    let (program, mut rng) = (products(6), Rng::replayable("test inputs"));
    for k in 0..8 {
        // One of 12 gates computes NAND; for k = 0 none does.
        let case = Case::new(&program, cut(&program, Unit::Gates, 6, [2, 0]), &mut rng).known();
        let case = case.lie_with(Point::GateOutputs, move |delta, outputs| {
            add(outputs, delta, (k > 0).then_some(k));
        });
        let outcome = case.run();
        let expected = if k > 0 { Ending::Recovered } else { Ending::Survived };
        assert_eq!(outcome.ending(Party::Garbler), Ok(expected));
        // The garbler's outputs are right, so the evaluator behaves like an honest one.
        assert_eq!(outcome.ending(Party::Evaluator), Ok(Ending::Survived));
    }
}

/// The same holds for a copy of a component whose rows give the wrong label of an output. The label differs
/// by the copy's own offset, and the evaluator knows the sum of this offset and the session's offset.
#[test]
fn row_14_a_copy_that_gives_the_other_label_gives_the_offset_away() {
    let (program, mut rng) = (products(6), Rng::replayable("test inputs"));
    for (copies, output) in [(vec![], 0), (vec![1], 0), (vec![0], 3), (vec![1], 5)] {
        let expected = if copies.is_empty() { Ending::Survived } else { Ending::Recovered };
        let case = Case::new(&program, cut(&program, Unit::Components, 1, [2, 0]), &mut rng).known();
        let outcome = opposite(case, 0, copies, output).run();
        assert_eq!(outcome.ending(Party::Garbler), Ok(expected));
        assert_eq!(outcome.ending(Party::Evaluator), Ok(Ending::Survived));
    }
    // A bad copy that is opened is always detected.
    for _ in 0..3 {
        let case = Case::new(&program, cut(&program, Unit::Components, 1, [1, 3]), &mut rng).known();
        let outcome = opposite(case, 0, 0..4, 2).run();
        assert_eq!(outcome.ending(Party::Garbler), Ok(Ending::Caught(Cheat::OpenedCopy.into())));
    }
}

/// With few gates, a garbler whose first gates compute NAND is detected if one of them is opened. It wins if
/// a bucket contains only bad gates. In all other cases the evaluator recovers.
#[test]
fn row_05_bad_gates_win_as_often_as_they_must() {
    let (program, mut rng) = (products(2), Rng::replayable("test inputs"));
    let (trials, mut wins, mut caught, mut recovered) = (400, 0, 0, 0);
    for _ in 0..trials {
        let small = cut(&program, Unit::Gates, 2, [2, 2]);
        let case = Case::new(&program, small, &mut rng).dealt(&mut rng);
        let case = case.lie_with(Point::GateOutputs, |delta, outputs| add(outputs, delta, [0, 1]));
        match ends_as(case, Party::Garbler) {
            Ending::Caught(cheat) => {
                assert_eq!(cheat, Cheat::OpenedGate);
                caught += 1;
            }
            Ending::Recovered => recovered += 1,
            Ending::Fooled => wins += 1,
            other => panic!("{other:?}"),
        }
    }
    // Both bad gates are in buckets in 6 of 15 ways, and in 2 of these in the same bucket. The standard
    // deviations are at most 0.025.
    let [wins, caught, recovered] = [wins, caught, recovered].map(|n| f64::from(n) / f64::from(trials));
    assert!((wins - 2.0 / 15.0).abs() < 0.09, "{wins}");
    assert!((caught - 9.0 / 15.0).abs() < 0.11, "{caught}");
    assert!((recovered - 4.0 / 15.0).abs() < 0.1, "{recovered}");
}

/// A word that is read with Δ is opened as a sum with a message of its own. With a wrong sum, a party that
/// knows Δ would read another input or output of the garbler. Each wrong sum is detected before anything is
/// read, by an evaluator with Δ and by one without.
#[test]
fn row_10_every_wrong_sum_of_what_is_read_is_found_also_by_who_gets_the_offset() {
    let (program, mut rng) = (products(6), Rng::replayable("test sums"));
    let layout = Layout::new(&program, Unit::Gates, 40, None).unwrap();
    let (bits, readable) = (layout.level().permutations.bits() as usize, layout.readable().count());
    assert_eq!(readable, 12, "the garbler's inputs and outputs");
    // The order of messages: those that open gates (empty here), with messages and labels; those of the
    // solderings of inputs and of outputs; then the sums.
    let sums = 3 + 2 * 2;
    let mut ends = |gets_offset: bool, differences: Vec<(usize, u8)>| {
        let case =
            Case::new(&program, cut(&program, Unit::Gates, 6, [2, 0]), &mut rng).known().dealt(&mut rng);
        let case = case.lie_with(Point::GateOutputs, move |delta, outputs| {
            add(outputs, delta, gets_offset.then_some(3));
        });
        let case = case.sends(Party::Garbler, ihash::msg::OPENED, sums, move |message| {
            assert_eq!(message.len(), (bits * readable).div_ceil(8));
            for &(wire, difference) in &differences {
                for bit in (0..bits).filter(|bit| difference >> bit & 1 == 1).map(|bit| bits * wire + bit) {
                    message[bit / 8] ^= 1 << (bit % 8);
                }
            }
        });
        ends_as(case, Party::Garbler)
    };
    let caught = Ending::Caught(Cheat::Permutation.into());
    for gets_offset in [false, true] {
        let honest = if gets_offset { Ending::Recovered } else { Ending::Survived };
        assert_eq!(ends(gets_offset, Vec::new()), honest);
        for wire in 0..readable {
            // One difference changes the bit that would be read, and one changes another bit.
            for difference in [1, 1 << (1 + wire % 5), 63] {
                assert_eq!(ends(gets_offset, vec![(wire, difference)]), caught, "{wire} {difference}");
            }
        }
        // All sums are wrong at once, or two of them are and cancel when they are added up.
        assert_eq!(ends(gets_offset, (0..readable).map(|wire| (wire, 1)).collect()), caught);
        assert_eq!(ends(gets_offset, vec![(2, 1), (9, 1)]), caught);
    }
}
