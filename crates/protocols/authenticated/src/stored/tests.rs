use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use super::*;
use crate::hooks::Point;
use crate::parameters::{Pool, Sizes};
use crate::setup::Member;
use crate::tests::{random_inputs, random_program};
use crate::{Cheat, msg};
use brickwork_base::label::Label;
use brickwork_base::random::Rng;
use brickwork_circuit::{Builder, Component, Port, ProgramBuilder, Recipient, Type, library};
use brickwork_harness::stores::{BOTH, Lines, Seen, Stores, check_bound, dying, left, misshapen, terms};
use brickwork_primitives::ot::pcg::{self, msg::CORRECTIONS, msg::PROOF};
use brickwork_session::stock::Side as _;
use brickwork_session::stock::msg::STAND;
use brickwork_session::{Promise, Unobserved};
use brickwork_stock::{Forward, Secrets};
use brickwork_testing::Replayable as _;
use brickwork_wire::{Tag, memory_pair};

/// The purpose of one connection.
#[derive(Clone, Copy)]
enum What<'w> {
    Fill(&'w Request),
    Run(&'w Program, [&'w [bool]; 2], Lacking),
}

#[derive(Default)]
struct Did {
    outputs: Vec<bool>,
    promise: Option<Promise>,
    made: Option<Request>,
    filled: Option<Preprocessed>,
    phases: Vec<PhaseReport>,
}

/// The action of a connection on both parties' stores.
struct Folders(Stores);

fn one(
    party: Party,
    store: &Store,
    cot: Cot,
    channel: Channel,
    hooks: Hooks,
    what: What,
) -> Result<Did, Error> {
    let line = Stocked::open_with(party, channel, store, &terms(), cot, Box::new(Unobserved), hooks)?;
    match what {
        What::Fill(asked) => {
            let (done, line) = line.preprocess(asked)?;
            Ok(Did { filled: Some(done), phases: line.close()?, ..Did::default() })
        }
        What::Run(program, inputs, lacking) => {
            let step = Step::from(&Arc::new(program.clone()));
            let (done, line) = line.run(step, inputs[party as usize], lacking)?;
            let FromStock { outputs, promise, made, .. } = done;
            Ok(Did { outputs, promise: Some(promise), made, filled: None, phases: line.close()? })
        }
    }
}

impl Folders {
    fn new() -> Self {
        Folders(Stores::empty())
    }

    fn with(&self, lines: Lines, hooks: [Hooks; 2], what: What) -> [Result<Did, Error>; 2] {
        self.with_these(Cot::default(), lines, hooks, what)
    }

    /// As [`Folders::with`], of these OTs where an epoch begins.
    fn with_these(&self, cot: Cot, lines: Lines, hooks: [Hooks; 2], what: What) -> [Result<Did, Error>; 2] {
        self.0.meet(lines, hooks, |party, store, channel, hooks| one(party, store, cot, channel, hooks, what))
    }

    fn over(&self, lines: Lines, what: What) -> [Result<Did, Error>; 2] {
        self.with(lines, [Hooks::none(), Hooks::none()], what)
    }

    #[track_caller]
    fn good(&self, what: What) -> [Did; 2] {
        self.over(memory_pair(), what).map(Result::unwrap)
    }

    fn store(&self, party: Party) -> Store {
        self.0.store(party)
    }

    fn parts(&self, party: Party) -> Vec<Inventory> {
        inventory(&self.store(party)).unwrap()
    }

    /// Returns the remaining items in epochs that are not burned, by name; they must be the same at both
    /// parties.
    #[track_caller]
    fn left(&self) -> BTreeMap<String, u64> {
        self.0.left(inventory, |epoch| {
            assert_eq!(epoch.epoch.protocol, "authenticated");
            assert_eq!(epoch.bound_log2.is_none(), epoch.state.burned().is_some());
            assert!(epoch.bound_log2.is_none_or(|bound| bound <= -40.0));
            for batch in epoch.batches.iter().filter(|_| epoch.state.burned().is_none()) {
                let masks = batch.name == "input masks";
                assert_eq!(batch.kind, if masks { "input masks" } else { "component" });
            }
        })
    }

    /// Runs on random inputs; outputs are those of the plaintext. Returns the evaluator's result.
    #[track_caller]
    fn runs(&self, program: &Program, lacking: Lacking, rng: &mut Rng) -> Did {
        let inputs = random_inputs(program, rng);
        let [garbler, evaluator] = self.good(What::Run(program, [&inputs[0], &inputs[1]], lacking));
        let expected = program.simulate(&inputs[0], &inputs[1]);
        for (party, did) in BOTH.into_iter().zip([&garbler, &evaluator]) {
            assert_eq!(did.outputs, program.output_bits(party, &expected), "{party:?} of {}", program.name());
            let promise = did.promise.as_ref().unwrap();
            check_bound(promise.bound_log2, &promise.budget);
        }
        assert_eq!(garbler.made, evaluator.made);
        evaluator
    }
}

/// Returns this many times the request.
fn times(program: &Program, count: usize) -> Request {
    let Request { components, inputs } = Request::of(program).unwrap();
    let components = components.into_iter().map(|(c, n)| (c, count * n)).collect();
    Request { components, inputs: count * inputs }
}

/// An input of the garbler that both learn: no slot.
fn without_anything() -> Program {
    let mut program = ProgramBuilder::new("alone", vec![Port::new("a", Type::Uint(8))], Vec::new()).unwrap();
    program.output(Port::new("x", Type::Uint(8)), Recipient::Both, (0..8).collect()).unwrap();
    program.finish().unwrap()
}

/// A component of XORs alone, twice, under two names: its copies have no tables.
fn of_xors() -> Program {
    let mut builder = Builder::new(8);
    let inputs = builder.all_inputs();
    let xor: Vec<_> = (0..4).map(|k| builder.xor(inputs[k], inputs[k + 4])).collect();
    let circuit = Arc::new(builder.finish(&xor).unwrap());
    let port = |name: &str, width| Port::new(name, Type::Uint(width));
    let component = |name: &str| Component {
        name: name.into(),
        inputs: vec![port("a", 4), port("b", 4)],
        outputs: vec![port("x", 4)],
        circuit: circuit.clone(),
    };
    let mut program = ProgramBuilder::new("xors", vec![port("a", 4)], vec![port("b", 4)]).unwrap();
    let names = ["xor", "again"].map(|name| program.component(component(name)).unwrap());
    let first = program.slot(names[0], &(0..8).collect::<Vec<_>>()).unwrap();
    let second = program.slot(names[1], &[0, 0, 1, 1, first, first + 1, first + 2, first + 3]).unwrap();
    program.output(port("x", 4), Recipient::Both, (second..second + 4).collect()).unwrap();
    program.finish().unwrap()
}

/// Stock is filled, used by programs that were not known then, filled again after that, used up, and made on
/// the spot where it lacks.
#[test]
fn stock_is_filled_used_up_and_made_on_the_spot() {
    let (folders, mut rng) = (Folders::new(), Rng::replayable("test inputs"));
    let small = library::millionaires().unwrap();
    let inputs = Request::of(&small).unwrap().inputs as u64;
    let done = folders.good(What::Fill(&times(&small, 4))).map(|did| did.filled);
    assert_eq!(done, [Some(Preprocessed { steps: 1, resumed: 0 }); 2]);
    let _ = folders.good(What::Fill(&Request { components: Vec::new(), inputs: 10 }));
    assert_eq!(folders.left(), left([("compare", 4), ("input masks", 4 * inputs + 10)]));
    for party in BOTH {
        let store = folders.store(party);
        let part = &inventory(&store).unwrap()[0];
        assert_eq!(executions(part, &store, &small).unwrap(), 4);
        assert_eq!(executions(part, &store, &small.repeat(3).unwrap()).unwrap(), 1);
        assert!(in_stock(&store, party, &terms(), &small.repeat(4).unwrap()).unwrap());
        assert!(!in_stock(&store, party, &terms(), &small.repeat(5).unwrap()).unwrap());
    }
    // Every byte is predicted. Online, a run sends the same as a run without stock, because the source of
    // components does not matter there.
    let did = folders.runs(&small, Lacking::Refuse, &mut rng);
    let predicted = |script| {
        let machine = brickwork_plan::Machine::known("portable", 1);
        brickwork_plan::predict(&script, &machine, &brickwork_plan::Link::LOOPBACK).phases
    };
    let from_stock = predicted(crate::cost::script_from_stock(&small, 40, 1).unwrap());
    let without = predicted(crate::cost::script(&small, 40, Cot::default()).unwrap());
    for phase in &did.phases {
        let is_same = |other: &&brickwork_plan::PhaseCost| other.name == phase.name;
        let sent = |all: &[brickwork_plan::PhaseCost]| {
            let phase = all.iter().find(is_same).expect("a phase of the protocol");
            [phase.garbler_sent_bytes, phase.evaluator_sent_bytes]
        };
        let ran = [phase.garbler_sent_bytes, phase.evaluator_sent_bytes];
        assert_eq!(ran, sent(&from_stock), "{}", phase.name);
        if ["evaluate", "decode"].contains(&phase.name) {
            assert_eq!(ran, sent(&without), "{}", phase.name);
        }
    }
    assert!(did.phases.iter().all(|phase| phase.name != "preprocess"), "nothing is garbled in it");
    assert_eq!(did.made, None);
    // Another program of the same component, and more of it in the same epoch, from which something ran.
    assert_eq!(folders.runs(&small.repeat(2).unwrap(), Lacking::Refuse, &mut rng).made, None);
    assert_eq!(folders.left(), left([("compare", 1), ("input masks", inputs + 10)]));
    let two = small.repeat(2).unwrap();
    let bits = [Party::Garbler, Party::Evaluator].map(|party| vec![false; two.input_width(party)]);
    let refused = folders.over(memory_pair(), What::Run(&two, [&bits[0], &bits[1]], Lacking::Refuse));
    let why = "the program needs 2 compare, and there are 1";
    assert!(refused.iter().all(|r| matches!(r, Err(Error::Stock(said)) if said == why)));
    let made = folders.runs(&two, Lacking::Make, &mut rng).made.expect("something was made");
    assert_eq!((made.components[0].1, made.inputs), (1, inputs as usize - 10));
    assert_eq!(folders.parts(Party::Garbler).len(), 1);
    // A used epoch is burned, and the next one has other offsets.
    assert_eq!(folders.left(), left([]));
    let made = folders.runs(&small, Lacking::Make, &mut rng).made.expect("something was made");
    assert_eq!(made, Request::of(&small).unwrap());
    let epochs = folders.parts(Party::Garbler);
    assert_eq!(epochs.iter().map(|epoch| epoch.uses).sum::<u64>(), 4);
    assert_eq!(epochs.len(), 2);
    let nothing = Request::default();
    let refused = Folders::new().over(memory_pair(), What::Fill(&nothing));
    assert!(refused.iter().all(|r| matches!(r, Err(Error::Usage(_)))));
}

/// Random programs, components without tables, and a program without any.
#[test]
fn any_program_runs_from_stock() {
    let (folders, mut rng) = (Folders::new(), Rng::replayable("test programs"));
    for _ in 0..6 {
        let program = random_program(&mut rng);
        let _ = folders.good(What::Fill(&Request::of(&program).unwrap()));
        assert_eq!(folders.runs(&program, Lacking::Refuse, &mut rng).made, None);
        assert_eq!(folders.left(), left([]));
    }
    for program in [of_xors(), without_anything()] {
        let _ = folders.runs(&program, Lacking::Make, &mut rng);
        let _ = folders.good(What::Fill(&times(&program, 3)));
        assert_eq!(folders.runs(&program, Lacking::Refuse, &mut rng).made, None);
    }
    assert_eq!(folders.left(), left([("input masks", 2 * 8 - 8 + 2 * 8), ("xor", 4)]));
}

/// More copies than go side by side, than a record has, and of several batches and parts, in one program.
#[test]
fn a_program_takes_from_many_batches_and_records() {
    let (folders, mut rng) = (Folders::new(), Rng::replayable("test inputs"));
    let aes = library::aes::aes_from_rounds(library::aes::KeySize::Aes128).unwrap();
    for count in [1, 2, 5] {
        let _ = folders.good(What::Fill(&times(&aes, count)));
    }
    for executions in [1, 4, 3] {
        let did = folders.runs(&aes.repeat(executions).unwrap(), Lacking::Refuse, &mut rng);
        let promise = did.promise.unwrap();
        assert_eq!((did.made, promise.triples.unwrap().used), (None, executions as u64 * 6400));
    }
    assert_eq!(folders.left(), left([]));
}

/// A program takes the items between damaged ones, and each with its own keys.
#[test]
fn row_23_a_program_skips_what_is_damaged() {
    let (folders, mut rng) = (Folders::new(), Rng::replayable("test inputs"));
    let aes = library::aes::aes_from_rounds(library::aes::KeySize::Aes128).unwrap();
    for count in [3, 6] {
        let _ = folders.good(What::Fill(&times(&aes, count)));
    }
    assert!(folders.0.take_some_out() > 2);
    for executions in [1, 5] {
        let did = folders.runs(&aes.repeat(executions).unwrap(), Lacking::Refuse, &mut rng);
        assert_eq!(did.made, None);
    }
}

/// A filling that is interrupted anywhere can continue; completed steps are not made again, incomplete ones
/// are never used, and they count.
#[test]
fn an_interrupted_filling_goes_on() {
    let small = library::millionaires().unwrap();
    let asked = Request { inputs: (1 << 20) + 3, ..times(&small, 2) };
    // Two stands when the stores meet, three of the first step, and the second step's first one.
    let garblers = [(msg::BITS, 1, 0, 0), (msg::COMPARED, 1, 0, 1), (msg::TABLES, 1, 0, 1), (STAND, 6, 1, 0)];
    let evaluators = [
        (msg::CIPHERTEXTS, 1, 0, 0),
        (msg::COMPARE, 1, 0, 0),
        (msg::COIN, 1, 0, 1),
        (msg::OPENED, 1, 0, 1),
        (STAND, 4, 0, 1),
    ];
    let garblers = garblers.map(|(tag, count, made, vain)| (Party::Garbler, tag, count, made, vain));
    let evaluators = evaluators.map(|(tag, count, made, vain)| (Party::Evaluator, tag, count, made, vain));
    for (party, tag, count, made, vain) in garblers.into_iter().chain(evaluators) {
        let (folders, asked) = (Folders::new(), if made == 0 { times(&small, 2) } else { asked.clone() });
        let broken = folders.over(dying(party, tag, count, &[], &Seen::default()), What::Fill(&asked));
        assert!(broken.iter().all(Result::is_err), "{party:?} {tag:?}");
        let done = folders.good(What::Fill(&asked)).map(|did| did.filled);
        assert_eq!(done, [Some(Preprocessed { steps: 1 + made, resumed: made }); 2], "{party:?} {tag:?}");
        assert_eq!(folders.left(), left([("compare", 2), ("input masks", asked.inputs as u64)]));
        for party in BOTH {
            let given_up = folders.parts(party)[0].given_up;
            assert_eq!(given_up.steps, vain, "{party:?} {tag:?}");
            let bound = given_up.bound_log2;
            assert_eq!(bound.is_some_and(|bound| bound <= -46.4), vain > 0, "{bound:?}");
        }
    }
}

/// Given-up lots count: nothing more is begun in an epoch in which they used three fourths of 2^-s, and its
/// existing items stay usable.
#[test]
fn row_06_what_is_given_up_counts_until_an_epoch_takes_no_more() {
    let (folders, mut rng) = (Folders::new(), Rng::replayable("test inputs"));
    let small = library::millionaires().unwrap();
    let _ = folders.good(What::Fill(&times(&small, 2)));
    let level = Level::of(40).unwrap();
    let risk_of = |asked: &Request| {
        let origin = asked.steps(level, &Forced::default()).unwrap()[0].origin(Cot::default());
        origin.bound(level).log2()
    };
    // The request whose pool leaks most: it is just above the smallest pool of its bucket size.
    let all = (2..60).map(|count| times(&small, count));
    let asked = all.max_by(|one, other| risk_of(one).total_cmp(&risk_of(other))).unwrap();
    let risk = risk_of(&asked);
    let most = (0.75 * (-40.0 - risk).exp2()) as usize + 1;
    assert!((65..=70).contains(&most), "{most} attempts of 2^{risk}");
    for attempt in 1..=most + 1 {
        let lines = dying(Party::Evaluator, msg::COIN, 1, &[], &Seen::default());
        assert!(folders.over(lines, What::Fill(&asked)).iter().all(Result::is_err));
        // Unused attempts over all epochs are tested elsewhere.
        folders.0.forgive();
        let parts = folders.parts(Party::Garbler);
        assert_eq!(parts.len(), if attempt <= most { 1 } else { 2 }, "{attempt}");
        assert!(parts.iter().all(|epoch| epoch.bound_log2.unwrap() <= -40.0));
    }
    for party in BOTH {
        // Epochs are listed in no order.
        let given_up = folders.parts(party).iter().map(|epoch| epoch.given_up.steps as usize).max();
        assert_eq!(given_up, Some(most));
    }
    assert_eq!(folders.runs(&small, Lacking::Refuse, &mut rng).made, None);
    // An epoch in which more was given up gives nothing any more.
    for security in [40, 64, 80] {
        let level = Level::of(security).unwrap();
        let size = ((f64::from(security) + 5.0) / 2.0).exp2() as usize * 2;
        let origin = crate::parameters::Origin { pool: Pool { size, bucket: 3 }, calls: 2, openings: 1 };
        let risk = origin.bound(level);
        let given_up = |times: u64| brickwork_stock::GivenUp {
            steps: times as u32,
            risk: (risk * Upper::integer(times)).to_fixed(),
        };
        let may = |times| needs::may_begin(given_up(times), security);
        assert!(may(64) && !may(128), "{security}");
        let log2 = |times| {
            let budget = crate::parameters::Budget::of(level, [origin], 3 << 19);
            budget.and_given_up(given_up(times).risk).log2()
        };
        assert!(log2(64) <= -f64::from(security) && log2(128) > -f64::from(security), "{security}");
    }
}

/// Wherever a party dies, the items that the program took are gone at both, no two programs share a copy or a
/// mask, and the next programs are right.
#[test]
fn row_20_nothing_is_used_twice_whoever_dies() {
    let program = library::millionaires().unwrap();
    let zeros = BOTH.map(|party| vec![false; program.input_width(party)]);
    let inputs = Request::of(&program).unwrap().inputs;
    // Inputs are 0, so that the sent values are masks.
    const NOTED: &[Tag] = &[msg::SOLDERINGS, msg::MASKED_INPUTS, msg::INPUT_LABELS];
    for (tag, count, party) in [
        (STAND, 2, Party::Garbler),
        (STAND, 2, Party::Evaluator),
        (msg::SOLDERINGS, 1, Party::Garbler),
        (msg::MASKED_INPUTS, 1, Party::Evaluator),
        (msg::INPUT_LABELS, 1, Party::Garbler),
        (msg::REPORT, 1, Party::Evaluator),
        (msg::OUTPUT_MASKS, 1, Party::Garbler),
    ] {
        let (folders, seen) = (Folders::new(), Seen::default());
        let _ = folders.good(What::Fill(&times(&program, 4)));
        let what = What::Run(&program, [&zeros[0], &zeros[1]], Lacking::Refuse);
        for _ in 0..2 {
            let broken = folders.over(dying(party, tag, count, NOTED, &seen), what);
            assert!(broken.iter().any(Result::is_err), "{tag:?}");
        }
        let done = folders.over(dying(party, Tag(0), 1, NOTED, &seen), what).map(Result::unwrap);
        assert_eq!(done[1].outputs, vec![false; done[1].outputs.len()], "nobody has more than the other");
        let mut seen = seen.lock().unwrap().clone();
        assert!(seen.len() >= 3);
        seen.sort();
        assert!(seen.windows(2).all(|two| two[0] != two[1]), "{tag:?}");
        assert_eq!(folders.left(), left([("compare", 1), ("input masks", inputs as u64)]), "{tag:?}");
    }
}

/// A party's folder that comes back from a copy gives nothing a second time: both refuse, and burn it.
#[test]
fn row_20_an_old_copy_gives_nothing_twice() {
    let program = library::millionaires().unwrap();
    let zeros = BOTH.map(|party| vec![false; program.input_width(party)]);
    let run = What::Run(&program, [&zeros[0], &zeros[1]], Lacking::Refuse);
    for party in BOTH {
        let (folders, copy) = (Folders::new(), tempfile::tempdir().unwrap());
        let _ = folders.good(What::Fill(&times(&program, 3)));
        let place = folders.0.folder(party);
        let copied = |from: &Path, to: &Path| {
            for folder in ["", "segments", "keys"] {
                std::fs::create_dir_all(to.join(folder)).unwrap();
                for entry in std::fs::read_dir(from.join(folder)).unwrap().map(Result::unwrap) {
                    if entry.file_type().unwrap().is_file() {
                        std::fs::copy(entry.path(), to.join(folder).join(entry.file_name())).unwrap();
                    }
                }
            }
        };
        copied(&place, copy.path());
        let _ = folders.good(run);
        std::fs::remove_dir_all(&place).unwrap();
        copied(copy.path(), &place);
        let refused = folders.over(memory_pair(), run);
        assert!(refused.iter().all(|result| matches!(result, Err(Error::Stock(_)))), "{party:?}");
        for party in BOTH {
            assert!(folders.parts(party)[0].state.burned().is_some());
        }
    }
}

type Alter = Box<dyn FnMut(Point, &mut [u8]) + Send>;

/// Alters a bit of a party's state at a point.
fn lie(at: Point, byte: usize) -> Alter {
    Box::new(move |point, bytes| {
        if point == at {
            bytes[byte] ^= 1;
        }
    })
}

/// Every failed check burns the epoch at the honest party, durably and before the connection closes. The peer
/// is not told which one it was, and its part of the epoch is useless.
#[test]
fn a_failed_check_burns_the_epoch_whichever_it_was() {
    let program = library::millionaires().unwrap();
    let zeros = BOTH.map(|party| vec![false; program.input_width(party)]);
    let asked = times(&program, 2);
    let (fill, run) = (What::Fill(&asked), What::Run(&program, [&zeros[0], &zeros[1]], Lacking::Refuse));
    // A pool so small that it does not take long, in buckets so large that a store allows it.
    let pool = Some(Pool { size: 80, bucket: 9 });
    let cases = [
        (0, Point::Compared, Cheat::Equality, fill),
        (1, Point::Compared, Cheat::Equality, fill),
        (1, Point::Coin, Cheat::Coin, fill),
        (0, Point::Opened, Cheat::Opening, fill),
        (1, Point::Opened, Cheat::Opening, fill),
        (0, Point::Solderings, Cheat::Soldering, run),
        (0, Point::InputMasks, Cheat::Opening, run),
        (1, Point::InputMasks, Cheat::Opening, run),
        (0, Point::InputLabels, Cheat::InputLabel, run),
        (1, Point::Report, Cheat::Labels, run),
        (0, Point::Gates, Cheat::Gates, run),
        (0, Point::OutputMasks, Cheat::Opening, run),
    ];
    for (cheater, point, check, what) in cases {
        let case = (BOTH[cheater], point);
        let folders = Folders::new();
        let forced = || [(); 2].map(|()| Hooks { pool, ..Hooks::none() });
        let _ = folders.with(memory_pair(), forced(), What::Fill(&asked)).map(Result::unwrap);
        let mut hooks = forced();
        // The last input is the evaluator's: its label is checked by its colour.
        let byte = if point == Point::InputLabels { 16 * (asked.inputs / 2 - 1) } else { 0 };
        (hooks[cheater].alter, hooks[cheater].looks_away) = (Some(lie(point, byte)), true);
        let results = folders.with(memory_pair(), hooks, what);
        assert!(results[1 - cheater].as_ref().is_err_and(|error| error.is_cheat(check)), "{case:?}");
        // It is told nothing: the honest party's messages end at that point.
        assert!(matches!(results[cheater], Err(Error::Io(_))), "{case:?}");
        let parts = folders.parts(BOTH[1 - cheater]);
        assert!(parts[0].state.burned().is_some_and(|why| why.contains("cheated")), "{case:?}");
        let store = folders.store(BOTH[1 - cheater]);
        assert!(store.secrets(&parts[0].id).is_err(), "{case:?}: both offsets are gone");
        drop(store);
        let again = folders.with(memory_pair(), forced(), run);
        assert!(again.iter().all(|result| matches!(result, Err(Error::Stock(_)))), "{case:?}");
    }
}

/// An epoch may be added to while a value of it is kept: its session continues, and so does the kept value.
/// The next kept value has another name, also if the first was forgotten.
#[test]
fn what_is_kept_stays_while_stock_is_made() {
    let program = Arc::new(library::millionaires().unwrap());
    let keeps = Step::new(&program, &[], &[&program.outputs()[0].port.name]).unwrap();
    let asked = times(&program, 2);
    for forgets in [false, true] {
        let folders = Folders::new();
        folders.good(What::Fill(&asked)).iter().for_each(|did| assert!(did.filled.is_some()));
        let play = |party: Party, channel| -> Result<Vec<bool>, Error> {
            let store = folders.store(party);
            let line = Stocked::open(party, channel, &store, &terms(), Cot::default(), Unobserved)?;
            let input = vec![false; keeps.input_width(party)];
            let (first, mut line) = line.run(&keeps, &input, Lacking::Refuse)?;
            if forgets {
                line.forget(&first.kept[0]);
            }
            let (_, line) = line.preprocess(&asked)?;
            let (second, line) = line.run(&keeps, &input, Lacking::Refuse)?;
            assert!(first.kept.len() == 1 && first.kept != second.kept, "one name for two secrets");
            Ok([&first, &second].map(|done| line.keeps(&done.kept[0])).to_vec())
        };
        let (left, right) = memory_pair();
        let played = std::thread::scope(|scope| {
            let garbler = scope.spawn(|| play(Party::Garbler, left));
            let evaluator = play(Party::Evaluator, right);
            [garbler.join().unwrap(), evaluator]
        });
        assert_eq!(played.map(Result::unwrap), [(); 2].map(|()| vec![!forgets, true]));
        BOTH.iter().for_each(|&party| assert_eq!(folders.parts(party).len(), 1));
    }
}

/// Stock whose masks come from a PCG: each entry begins with its own first OTs. Wrong trees burn the epoch
/// like any other failed check, and nothing tells which it was.
#[test]
fn altered_trees_of_a_pcg_burn_the_epoch() {
    let program = library::millionaires().unwrap();
    let zeros = BOTH.map(|party| vec![false; program.input_width(party)]);
    let asked = times(&program, 1);
    let (fill, run) = (What::Fill(&asked), What::Run(&program, [&zeros[0], &zeros[1]], Lacking::Refuse));
    let honest = || [(); 2].map(|()| Hooks::none());
    for (tag, cheater) in [(CORRECTIONS, 0), (CORRECTIONS, 1), (PROOF, 0), (PROOF, 1)] {
        let folders = Folders::new();
        let _ = folders.with_these(Cot::Pcg, memory_pair(), honest(), fill).map(Result::unwrap);
        let [did, _] = folders.with_these(Cot::Pcg, memory_pair(), honest(), run).map(Result::unwrap);
        assert_eq!(did.promise.unwrap().triples.unwrap().cot, "pcg");
        let (mut left, mut right) = memory_pair();
        let channel = if cheater == 0 { &mut left } else { &mut right };
        channel.set_tamper(Box::new(move |sent: Tag, bytes| {
            if sent == tag {
                bytes[21] ^= 64;
            }
        }));
        let results = folders.with_these(Cot::Pcg, (left, right), honest(), fill);
        assert!(results[1 - cheater].as_ref().is_err_and(|error| error.is_cheat(pcg::Cheat::PcgTrees)));
        assert!(matches!(results[cheater], Err(Error::Io(_))));
        let parts = folders.parts(BOTH[1 - cheater]);
        let burned = |part: &Inventory| part.state.burned().is_some_and(|why| why.contains("cheated"));
        assert!(parts.iter().any(burned));
    }
}

/// A message of another length burns, too.
#[test]
fn a_malformed_message_burns_the_epoch() {
    let program = library::millionaires().unwrap();
    let zeros = BOTH.map(|party| vec![false; program.input_width(party)]);
    let run = What::Run(&program, [&zeros[0], &zeros[1]], Lacking::Refuse);
    for (tag, cheater) in [(msg::SOLDERINGS, 0), (msg::REPORT, 1)] {
        for longer in [true, false] {
            let folders = Folders::new();
            let _ = folders.good(What::Fill(&times(&program, 2)));
            let results = folders.over(misshapen(BOTH[cheater], tag, longer), run);
            let honest = &results[1 - cheater];
            assert!(honest.as_ref().is_err_and(|error| error.is_cheat(Cheat::UnexpectedMessage)), "{tag:?}");
            assert!(folders.parts(BOTH[1 - cheater])[0].state.burned().is_some());
        }
    }
}

/// A request of several lots: components are spread over them, and each has a pool of its own that leaves
/// room for attempts.
#[test]
fn a_request_is_made_in_lots_with_room_for_attempts() {
    let aes = library::aes::aes_128().unwrap();
    for security in [40, 64, 80] {
        let level = Level::of(security).unwrap();
        let asked = times(&aes, 500);
        let steps = asked.steps(level, &Forced::default()).unwrap();
        assert_eq!(steps.len(), 6);
        let ands: usize = steps.iter().map(|step| step.lot.ands).sum();
        assert_eq!((ands, steps[0].lot.inputs), (500 * 6400, asked.inputs));
        let counted = steps.iter().flat_map(|step| Cot::ALL.map(|cot| (step, step.origin(cot))));
        for (step, origin) in counted {
            let bound = origin.bound(level).log2();
            // 64 of them take three fourths of 2^-s.
            assert!(bound <= -f64::from(security) - 6.41, "{bound}");
            assert!(security > 40 || step.lot.pool.bucket == 4);
        }
        // Sizes are part of the agreement, too.
        let other = Forced {
            sizes: Some(Sizes { lot: 1 << 21, part: 1 << 14, portion: 1 << 16 }),
            ..Forced::default()
        };
        let others = asked.steps(level, &other).unwrap();
        use brickwork_session::stock::Asked as _;
        assert_ne!(steps[0].parameters(), others[0].parameters());
        assert_ne!(steps[0].request(), others[0].request());
    }
}

/// A store that holds another protocol's stock is refused; nothing in it changes.
#[test]
fn a_store_of_another_protocol_is_refused() {
    let (folders, program) = (Folders::new(), without_anything());
    folders.0.begin("duplo", 40.into());
    let (input, asked) = (vec![false; 8], Request { components: Vec::new(), inputs: 10 });
    for what in [What::Fill(&asked), What::Run(&program, [&input, &[]], Lacking::Make)] {
        let refused = folders.over(memory_pair(), what);
        for result in &refused {
            assert!(matches!(result, Err(Error::Stock(why)) if why.contains("made by the protocol duplo")));
        }
    }
    assert_eq!(BOTH.map(|party| folders.store(party).epochs().unwrap().len()), [1; 2]);
}

/// Parties that want masks of other OTs do not begin an epoch; in one that is there, its own are used.
#[test]
fn an_epoch_keeps_its_ots() {
    let (folders, program) = (Folders::new(), library::millionaires().unwrap());
    let connect = |cots: [Cot; 2], asked: &Request| {
        let (left, right) = memory_pair();
        let one = |party: Party, channel, cot| {
            let store = folders.store(party);
            let line = Stocked::open(party, channel, &store, &terms(), cot, Unobserved)?;
            line.preprocess(asked)?.1.close()
        };
        std::thread::scope(|scope| {
            let garbler = scope.spawn(|| one(Party::Garbler, left, cots[0]));
            let evaluator = one(Party::Evaluator, right, cots[1]);
            [garbler.join().unwrap(), evaluator]
        })
    };
    let asked = times(&program, 2);
    let refused = connect([Cot::SoftSpoken2, Cot::SoftSpoken8], &asked);
    assert!(refused.iter().all(|result| matches!(result, Err(Error::Mismatch(_)))));
    for cots in [[Cot::SoftSpoken8; 2], [Cot::Extension, Cot::SoftSpoken2]] {
        let _ = connect(cots, &asked).map(Result::unwrap);
    }
    let did = folders.runs(&program.repeat(3).unwrap(), Lacking::Refuse, &mut Rng::replayable("test inputs"));
    assert_eq!(did.promise.unwrap().triples.unwrap().cot, "softspoken-8");
}

/// A session's secrets of another version or length are refused, and restored ones draw nothing before an
/// entry's ranges are there.
#[test]
fn secrets_that_are_none_are_refused() {
    let (folders, program) = (Folders::new(), library::millionaires().unwrap());
    let _ = folders.good(What::Fill(&times(&program, 1)));
    let store = folders.store(Party::Garbler);
    let id = inventory(&store).unwrap()[0].id;
    let secrets = store.secrets(&id).unwrap();
    let restored = |secrets: &Secrets| {
        let run = Metered::new::<Authenticated>(memory_pair().0, Party::Garbler, Box::new(Unobserved));
        let carried = Carried { cot: Cot::default(), hooks: Hooks::none() };
        OnDisk::<Garbled>::restore(run, &terms(), secrets, carried)
    };
    let changes: [fn(&mut Secrets); 6] = [
        |s| s.fixed[0] += 1,
        |s| s.fixed.truncate(30),
        |s| s.fixed.clear(),
        |s| s.fixed[33] ^= 1,
        |s| s.forward = Forward::of_setup(s.forward.keys()[1..].to_vec()),
        |s| s.forward = Forward::default(),
    ];
    for (k, change) in changes.into_iter().enumerate() {
        let mut other = secrets.clone();
        change(&mut other);
        assert!(matches!(restored(&other), Err(Error::Stock(_))), "{k}");
    }
    assert_eq!(*restored(&secrets).unwrap().id(), id);
    let run = Metered::new::<Authenticated>(memory_pair().0, Party::Garbler, Box::new(Unobserved));
    let mut member = Member::restored(run, Level::of(40).unwrap(), &secrets, Hooks::none()).unwrap();
    assert!(matches!(member.choose(&mut [Label::ZERO; 3]), Err(Error::Limit(_))));
    assert!(matches!(member.place().map(drop), Err(Error::Limit(_))));
}
