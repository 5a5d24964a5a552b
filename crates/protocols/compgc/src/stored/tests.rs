//! Rows are those of the table of attacks (docs/concepts/security.md, section 14).

use std::collections::BTreeMap;
use std::sync::Arc;

use super::*;
use crate::msg;
use crate::tests::random_program;
use brickwork_base::random::Rng;
use brickwork_circuit::{Builder, Component, Port, ProgramBuilder, Recipient, Type, library};
use brickwork_harness::stores::{
    BOTH, ConnectionEnds, SeenMessages, Stores, check_secrets_of_a_sender, dying, left, misshapen, terms,
};
use brickwork_protocol::Unobserved;
use brickwork_protocol::stock::inventory::{executions, inventory};
use brickwork_protocol::stock::msg::STAND;
use brickwork_protocol::stock::records::Batches;
use brickwork_testing::Replayable as _;
use brickwork_wire::{Tag, memory_pair};

/// The purpose of one connection.
#[derive(Clone, Copy)]
enum TestedAction<'w> {
    Fill(&'w Request),
    Run(&'w Program, [&'w [bool]; 2], Lacking),
}
struct Folders(Stores);

type Did = (Vec<bool>, Option<Request>, Option<Preprocessed>, Vec<PhaseReport>);

fn one(party: Party, store: &Store, channel: Channel, what: TestedAction) -> Result<Did, Error> {
    let line = Stocked::open(party, channel, store, &terms(), Unobserved)?;
    match what {
        TestedAction::Fill(asked) => {
            let (done, line) = line.preprocess(asked)?;
            Ok((Vec::new(), None, Some(done), line.close()?))
        }
        TestedAction::Run(program, inputs, lacking) => {
            let (done, line) = line.run(program, inputs[party as usize], lacking)?;
            assert_eq!(done.promise, promise(Linking::Standard));
            Ok((done.outputs, done.made, None, line.close()?))
        }
    }
}

impl Folders {
    fn new() -> Self {
        Folders(Stores::empty())
    }

    fn over(&self, lines: ConnectionEnds, what: TestedAction) -> [Result<Did, Error>; 2] {
        self.0.meet(lines, [(), ()], |party, store, channel, ()| one(party, store, channel, what))
    }

    #[track_caller]
    fn good(&self, what: TestedAction) -> [Did; 2] {
        self.over(memory_pair(), what).map(Result::unwrap)
    }

    fn store(&self, party: Party) -> Store {
        self.0.store(party)
    }

    /// Returns the items left in epochs that are not burned, by name. It checks that both parties have the
    /// same.
    fn left(&self) -> BTreeMap<String, u64> {
        self.0.left::<CompGc>(|epoch| {
            assert!(epoch.bound_log2.is_none() && epoch.epoch.protocol == "compgc");
            for batch in epoch.batches.iter().filter(|_| epoch.state.burned().is_none()) {
                assert_eq!(batch.kind, if batch.name == "OTs" { "ots" } else { "component" });
            }
        })
    }

    /// Runs a program on random inputs, and compares its outputs with those of a plain computation. Returns
    /// the stock that was made, and the phases.
    #[track_caller]
    fn runs(
        &self,
        program: &Program,
        lacking: Lacking,
        rng: &mut Rng,
    ) -> (Option<Request>, Vec<PhaseReport>) {
        let inputs: [Vec<bool>; 2] =
            BOTH.map(|party| (0..program.input_width(party)).map(|_| rng.below(2) == 1).collect());
        let [garbler, evaluator] = self.good(TestedAction::Run(program, [&inputs[0], &inputs[1]], lacking));
        let expected = program.simulate(&inputs[0], &inputs[1]);
        for (party, outputs) in BOTH.into_iter().zip([&garbler.0, &evaluator.0]) {
            assert_eq!(*outputs, program.output_bits(party, &expected), "{party:?} of {}", program.name());
        }
        assert_eq!(garbler.1, evaluator.1);
        (evaluator.1, evaluator.3)
    }
}

/// Returns a request for `count` runs of the program.
fn times(program: &Program, count: usize) -> Request {
    let Request { components, ots } = Request::of(program).unwrap();
    Request { components: components.into_iter().map(|(c, n)| (c, count * n)).collect(), ots: count * ots }
}

/// Makes a program without slots and without inputs of the evaluator: both parties learn the garbler's input.
fn without_anything() -> Program {
    let mut program = ProgramBuilder::new("alone", vec![Port::new("a", Type::Uint(8))], Vec::new()).unwrap();
    program.output(Port::new("x", Type::Uint(8)), Recipient::Both, (0..8).collect()).unwrap();
    program.finish().unwrap()
}

/// Makes a program with two slots of a component that has only XORs, so its copies have no tables.
fn of_xors() -> Program {
    let mut builder = Builder::new(8);
    let inputs = builder.all_inputs();
    let xor: Vec<_> = (0..4).map(|k| builder.xor(inputs[k], inputs[k + 4])).collect();
    let port = |name: &str, width| Port::new(name, Type::Uint(width));
    let component = Component {
        name: "xor".into(),
        inputs: vec![port("a", 4), port("b", 4)],
        outputs: vec![port("x", 4)],
        circuit: Arc::new(builder.finish(&xor).unwrap()),
    };
    let mut program = ProgramBuilder::new("xors", vec![port("a", 4)], vec![port("b", 4)]).unwrap();
    let xor = program.component(component).unwrap();
    let first = program.slot(xor, &(0..8).collect::<Vec<_>>()).unwrap();
    let second = program.slot(xor, &[0, 0, 1, 1, first, first + 1, first + 2, first + 3]).unwrap();
    program.output(port("x", 4), Recipient::Both, (second..second + 4).collect()).unwrap();
    program.finish().unwrap()
}

/// Fills stock, uses it up with programs that were unknown when it was made, and makes missing items during a
/// run.
#[test]
fn stock_is_filled_used_up_and_made_on_the_spot() {
    let (folders, mut rng) = (Folders::new(), Rng::replayable("test inputs"));
    let small = library::millionaires().unwrap();
    let width = small.input_width(Party::Evaluator) as u64;
    let done = folders.good(TestedAction::Fill(&times(&small, 4))).map(|did| did.2);
    assert_eq!(done, [Some(Preprocessed { steps: 2, resumed: 0 }); 2]);
    let _ = folders.good(TestedAction::Fill(&Request { components: Vec::new(), ots: 10 }));
    assert_eq!(folders.left(), left([("compare", 4), ("OTs", 4 * width + 10)]));
    for party in BOTH {
        let store = folders.store(party);
        let part = &inventory::<CompGc>(&store).unwrap()[0];
        assert_eq!(executions::<CompGc>(part, &store, &small).unwrap(), 4);
        assert_eq!(executions::<CompGc>(part, &store, &small.repeat(3).unwrap()).unwrap(), 1);
        assert!(in_stock(&store, party, &terms(), &small.repeat(4).unwrap()).unwrap());
        assert!(!in_stock(&store, party, &terms(), &small.repeat(5).unwrap()).unwrap());
    }
    // Every byte is predicted. The online phase sends the same bytes as in a run without stock, because it
    // does not depend on the origin of the components.
    let (made, phases) = folders.runs(&small, Lacking::Refuse, &mut rng);
    assert_eq!(made, None);
    let predicted = |script| {
        let machine = brickwork_plan::Machine::known("portable", 1);
        brickwork_plan::predict(&script, &machine, &brickwork_plan::Link::LOOPBACK).phases
    };
    let from_stock = predicted(crate::cost::script_from_stock(&small, 1).unwrap());
    let without = predicted(crate::cost::script(&small, Linking::Standard).unwrap());
    for phase in &phases {
        let is_same = |other: &&brickwork_plan::PhaseCost| other.name == phase.name;
        let sent = |all: &[brickwork_plan::PhaseCost]| {
            let phase = all.iter().find(is_same).expect("the phase is one of the protocol's");
            [phase.garbler_sent_bytes, phase.evaluator_sent_bytes]
        };
        let ran = [phase.garbler_sent_bytes, phase.evaluator_sent_bytes];
        assert_eq!(ran, sent(&from_stock), "{}", phase.name);
        if ["build", "evaluate", "decode"].contains(&&*phase.name) {
            assert_eq!(ran, sent(&without), "{}", phase.name);
        }
    }
    assert!(
        phases.iter().all(|phase| phase.name != "preprocess"),
        "a run from stock garbles nothing: {phases:?}"
    );
    // Another program with the same component takes from the same stock.
    assert_eq!(folders.runs(&small.repeat(2).unwrap(), Lacking::Refuse, &mut rng).0, None);
    assert_eq!(folders.left(), left([("compare", 1), ("OTs", width + 10)]));
    let two = small.repeat(2).unwrap();
    let bits = vec![false; 2 * width as usize];
    let refused = folders.over(memory_pair(), TestedAction::Run(&two, [&bits, &bits], Lacking::Refuse));
    let why = "the program needs 2 compare, but the stock has 1";
    assert!(refused.iter().all(|r| matches!(r, Err(Error::Stock(said)) if said == why)), "{refused:?}");
    let made = folders.runs(&two, Lacking::Make, &mut rng).0.expect("something was made");
    assert_eq!((made.components[0].1, made.ots), (1, width as usize - 10));
    // An epoch that is used up is burned. The next epoch has a new offset.
    assert_eq!(folders.left(), left([]));
    let made = folders.runs(&small, Lacking::Make, &mut rng).0.expect("something was made");
    assert_eq!(made, Request::of(&small).unwrap());
    let epochs = inventory::<CompGc>(&folders.store(Party::Garbler)).unwrap();
    assert_eq!(epochs.iter().map(|epoch| epoch.uses).sum::<u64>(), 4);
    assert_eq!(epochs.len(), 2);
}

/// Runs random programs, programs with components without tables, and a program that takes a single OT.
#[test]
fn any_program_runs_from_stock() {
    let (folders, mut rng) = (Folders::new(), Rng::replayable("test programs"));
    for _ in 0..10 {
        let program = random_program(&mut rng);
        let _ = folders.good(TestedAction::Fill(&Request::of(&program).unwrap()));
        assert_eq!(folders.runs(&program, Lacking::Refuse, &mut rng).0, None);
    }
    for program in [of_xors(), without_anything()] {
        let _ = folders.runs(&program, Lacking::Make, &mut rng);
        let _ = folders.good(TestedAction::Fill(&times(&program, 3)));
        assert_eq!(folders.runs(&program, Lacking::Refuse, &mut rng).0, None);
    }
    // The first program left 8 of its 12 OTs. The second program took 2 of 11.
    assert_eq!(folders.left(), left([("OTs", 8 + 3 - 2), ("xor", 4)]));
}

/// A program takes copies from several batches, more than a record has and more than are garbled side by
/// side.
#[test]
fn a_program_takes_from_many_batches_and_records() {
    let (folders, mut rng) = (Folders::new(), Rng::replayable("test inputs"));
    let aes = library::aes::aes_from_rounds(library::aes::KeySize::Aes128).unwrap();
    for count in [1, 2, 20] {
        let _ = folders.good(TestedAction::Fill(&times(&aes, count)));
    }
    for executions in [1, 4, 17] {
        assert_eq!(folders.runs(&aes.repeat(executions).unwrap(), Lacking::Refuse, &mut rng).0, None);
    }
    let left: Vec<u64> = folders.left().into_values().collect();
    let once = Request::of(&aes).unwrap();
    let mut expected: Vec<u64> = once.components.iter().map(|(_, count)| *count as u64).collect();
    expected.push(once.ots as u64);
    expected.sort_unstable();
    let sorted = |mut all: Vec<u64>| {
        all.sort_unstable();
        all
    };
    assert_eq!(sorted(left), expected);
}

/// A program skips damaged items and takes the items between them, each under its own number.
#[test]
fn row_23_a_program_skips_what_is_damaged() {
    let (folders, mut rng) = (Folders::new(), Rng::replayable("test inputs"));
    let aes = library::aes::aes_from_rounds(library::aes::KeySize::Aes128).unwrap();
    for count in [3, 6] {
        let _ = folders.good(TestedAction::Fill(&times(&aes, count)));
    }
    assert!(folders.0.take_some_out() > 2);
    for executions in [1, 5] {
        assert_eq!(folders.runs(&aes.repeat(executions).unwrap(), Lacking::Refuse, &mut rng).0, None);
    }
}

/// Row 21 of the table of attacks: an interrupted filling continues. Completed steps are not made again;
/// incomplete steps are never used.
#[test]
fn row_21_an_interrupted_filling_goes_on() {
    let small = library::millionaires().unwrap();
    let asked = times(&small, 5);
    for party in BOTH {
        // The parties exchange two positions of their logs when the stores are compared, and three in a step.
        // So the sixth position belongs to the second step, and the fourth to the first. Keys and tables
        // belong to the first step, too.
        for (tag, count, made) in [(STAND, 6, 1), (STAND, 4, 0), (msg::KEYS, 1, 0), (msg::TABLES, 1, 0)] {
            if party == Party::Evaluator && tag != STAND {
                continue;
            }
            let folders = Folders::new();
            let broken = folders
                .over(dying(party, tag, count, &[], &SeenMessages::default()), TestedAction::Fill(&asked));
            assert!(broken.iter().all(Result::is_err), "{broken:?}");
            let done = folders.good(TestedAction::Fill(&asked)).map(|did| did.2);
            assert_eq!(done, [Some(Preprocessed { steps: 2, resumed: made }); 2], "{tag:?} {count}");
            assert_eq!(folders.left(), left([("compare", 5), ("OTs", asked.ots as u64)]));
        }
    }
}

/// Rows 16, 20 and 21 of the table of attacks. Wherever a party dies, both parties lose the items that the
/// program took. No two programs share a copy or an OT, and later programs give the right outputs.
#[test]
fn rows_16_20_and_21_nothing_is_used_twice_whoever_dies() {
    let program = library::millionaires().unwrap();
    let width = program.input_width(Party::Evaluator);
    let zeros = vec![false; width];
    for (tag, count, party) in [
        (STAND, 2, Party::Garbler),
        (STAND, 2, Party::Evaluator),
        (msg::CHOICES, 1, Party::Evaluator),
        (msg::INPUT_LABELS, 1, Party::Garbler),
        (msg::LINKS, 1, Party::Garbler),
        (msg::DECODING, 1, Party::Garbler),
        (msg::COLOURS, 1, Party::Evaluator),
    ] {
        // The inputs are 0, so the messages contain the choices of OTs and the false labels of copies'
        // inputs. No two messages may be equal.
        for noted in [msg::CHOICES, msg::INPUT_LABELS] {
            let (folders, seen) = (Folders::new(), SeenMessages::default());
            let _ = folders.good(TestedAction::Fill(&times(&program, 5)));
            let what = TestedAction::Run(&program, [&zeros, &zeros], Lacking::Refuse);
            for _ in 0..2 {
                let broken = folders.over(dying(party, tag, count, &[noted], &seen), what);
                assert!(broken.iter().any(Result::is_err), "{tag:?}");
            }
            for _ in 0..2 {
                let done = folders.over(dying(party, Tag(0), 1, &[noted], &seen), what).map(Result::unwrap);
                assert_eq!(done[1].0, vec![false; done[1].0.len()], "equal inputs, so neither is greater");
            }
            let mut seen = seen.lock().unwrap().clone();
            assert!(seen.len() >= 2);
            seen.sort();
            assert!(seen.windows(2).all(|two| two[0] != two[1]), "{tag:?}");
            assert_eq!(folders.left(), left([("compare", 1), ("OTs", width as u64)]), "{tag:?}");
        }
    }
}

/// Row 16 of the table of attacks: a message of a wrong length is refused, and burns everything with the same
/// offset.
#[test]
fn row_16_a_malformed_message_burns_the_epoch() {
    let program = library::millionaires().unwrap();
    let width = program.input_width(Party::Evaluator);
    let (zeros, asked) = (vec![false; width], times(&program, 3));
    let run = TestedAction::Run(&program, [&zeros, &zeros], Lacking::Refuse);
    for (tag, by_garbler, what) in [
        (msg::CHOICES, false, run),
        (msg::LINKS, true, run),
        (msg::INPUT_LABELS, true, run),
        (msg::TABLES, true, TestedAction::Fill(&asked)),
    ] {
        for longer in [true, false] {
            let folders = Folders::new();
            let _ = folders.good(TestedAction::Fill(&times(&program, 2)));
            let cheater = if by_garbler { Party::Garbler } else { Party::Evaluator };
            let [garbler, evaluator] = folders.over(misshapen(cheater, tag, longer), what);
            let (honest, party) =
                if by_garbler { (evaluator, Party::Evaluator) } else { (garbler, Party::Garbler) };
            assert!(honest.is_err_and(|error| error.is_cheat(crate::Cheat::UnexpectedMessage)), "{tag:?}");
            let epochs = inventory::<CompGc>(&folders.store(party)).unwrap();
            assert!(epochs[0].state.burned().is_some_and(|why| why.contains("cheated")));
        }
    }
}

/// Row 19 of the table of attacks: a request for nothing, an input of another length, and a program that no
/// promise covers, are refused.
#[test]
fn row_19_what_does_not_fit_is_refused() {
    let nothing = Request::default();
    let refused = Folders::new().over(memory_pair(), TestedAction::Fill(&nothing));
    assert!(refused.iter().all(|r| matches!(r, Err(Error::Usage(_)))), "{refused:?}");
    let program = without_anything();
    let short =
        Folders::new().over(memory_pair(), TestedAction::Run(&program, [&[false; 7], &[]], Lacking::Make));
    assert!(matches!(short[0], Err(Error::Input(_))), "{:?}", short[0]);
    let mut builder = Builder::new(2);
    let inputs = builder.all_inputs();
    let mut last = inputs[0];
    for _ in 0..1 << 20 {
        let and = builder.and(last, inputs[1]);
        last = builder.xor(and, inputs[0]);
    }
    let circuit = Arc::new(builder.finish(&[last]).unwrap());
    let ands = circuit.and_gates() as u64;
    let bit = |name: &str| Port::new(name, Type::Uint(1));
    let (inputs, outputs) = (vec![bit("a"), bit("b")], vec![bit("x")]);
    let component = Component { name: "long".into(), inputs, outputs, circuit };
    let mut program = ProgramBuilder::new("huge", vec![bit("a")], vec![bit("b")]).unwrap();
    let long = program.component(component).unwrap();
    (0..(1 << 40) / ands + 1).for_each(|_| _ = program.slot(long, &[0, 1]).unwrap());
    program.output(bit("x"), Recipient::Both, vec![2]).unwrap();
    assert!(matches!(Request::of(&program.finish().unwrap()), Err(Error::Limit(_))));
}

/// If a request lacks nothing but its items could not be taken, the items are made once more.
#[test]
fn a_request_that_lacks_nothing_is_made_again() {
    let (folders, asked) = (Folders::new(), times(&of_xors(), 1));
    let _ = folders.good(TestedAction::Fill(&asked));
    let store = folders.store(Party::Garbler);
    let there = Batches::of(&store, &store.epochs().unwrap()[0].0).unwrap();
    assert_eq!(asked.missing(&there), asked);
}

/// Row 25 of the table of attacks: a session's secrets are refused if their version or length is wrong.
#[test]
fn row_25_secrets_that_are_none_are_refused() {
    check_secrets_of_a_sender::<CompGc>();
}
