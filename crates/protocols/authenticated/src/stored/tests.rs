use std::collections::BTreeMap;
use std::sync::Arc;

use super::*;
use crate::hooks::Point;
use crate::parameters::{Sizes, TriplePool};
use crate::setup::SessionState;
use crate::tests::random_program;
use crate::{Cheat, msg};
use brickwork_base::label::Label;
use brickwork_base::random::Rng;
use brickwork_circuit::{Builder, Component, Port, ProgramBuilder, Recipient, Type, library};
use brickwork_harness::random_inputs;
use brickwork_harness::stores::{
    BOTH, ConnectionEnds, SeenMessages, Stores, check_bound, dying, left, misshapen, terms,
};
use brickwork_primitives::ot::pcg::{self, msg::CORRECTIONS, msg::PROOF};
use brickwork_protocol::stock::StockProtocol as _;
use brickwork_protocol::stock::inventory::{Inventory, executions, inventory};
use brickwork_protocol::stock::msg::STAND;
use brickwork_protocol::{Promise, Unobserved};
use brickwork_store::{EpochSecrets, Forward};
use brickwork_testing::Replayable as _;
use brickwork_wire::{Tag, memory_pair};

/// The purpose of one connection.
#[derive(Clone, Copy)]
enum TestedAction<'w> {
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

/// The stores of both parties.
struct Folders(Stores);

fn one(
    party: Party,
    store: &Store,
    cot: Cot,
    channel: Channel,
    hooks: Hooks,
    what: TestedAction,
) -> Result<Did, Error> {
    let line = Stocked::open_with(party, channel, store, &terms(), cot, Box::new(Unobserved), hooks)?;
    match what {
        TestedAction::Fill(asked) => {
            let (done, line) = line.preprocess(asked)?;
            Ok(Did { filled: Some(done), phases: line.close()?, ..Did::default() })
        }
        TestedAction::Run(program, inputs, lacking) => {
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

    fn with(&self, lines: ConnectionEnds, hooks: [Hooks; 2], what: TestedAction) -> [Result<Did, Error>; 2] {
        self.with_these(Cot::default(), lines, hooks, what)
    }

    /// Does the same as [`Folders::with`]; a new epoch uses these OTs.
    fn with_these(
        &self,
        cot: Cot,
        lines: ConnectionEnds,
        hooks: [Hooks; 2],
        what: TestedAction,
    ) -> [Result<Did, Error>; 2] {
        self.0.meet(lines, hooks, |party, store, channel, hooks| one(party, store, cot, channel, hooks, what))
    }

    fn over(&self, lines: ConnectionEnds, what: TestedAction) -> [Result<Did, Error>; 2] {
        self.with(lines, [Hooks::none(), Hooks::none()], what)
    }

    #[track_caller]
    fn good(&self, what: TestedAction) -> [Did; 2] {
        self.over(memory_pair(), what).map(Result::unwrap)
    }

    fn store(&self, party: Party) -> Store {
        self.0.store(party)
    }

    fn parts(&self, party: Party) -> Vec<Inventory> {
        inventory::<Authenticated>(&self.store(party)).unwrap()
    }

    /// Returns the items left in epochs that are not burned, by name. It checks that both parties have the
    /// same.
    #[track_caller]
    fn left(&self) -> BTreeMap<String, u64> {
        self.0.left::<Authenticated>(|epoch| {
            assert_eq!(epoch.epoch.protocol, "authenticated");
            assert_eq!(epoch.bound_log2.is_none(), epoch.state.burned().is_some());
            assert!(epoch.bound_log2.is_none_or(|bound| bound <= -40.0));
            for batch in epoch.batches.iter().filter(|_| epoch.state.burned().is_none()) {
                let masks = batch.name == "input masks";
                assert_eq!(batch.kind, if masks { "input masks" } else { "component" });
            }
        })
    }

    /// Runs a program on random inputs, and compares its outputs with those of a plain computation. Returns
    /// the evaluator's result.
    #[track_caller]
    fn runs(&self, program: &Program, lacking: Lacking, rng: &mut Rng) -> Did {
        let inputs = random_inputs(program, rng);
        let [garbler, evaluator] = self.good(TestedAction::Run(program, [&inputs[0], &inputs[1]], lacking));
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

/// Returns a request for `count` runs of the program.
fn times(program: &Program, count: usize) -> Request {
    let Request { components, inputs } = Request::of(program).unwrap();
    let components = components.into_iter().map(|(c, n)| (c, count * n)).collect();
    Request { components, inputs: count * inputs }
}

/// Makes a program without slots: both parties learn the garbler's input.
fn without_anything() -> Program {
    let mut program = ProgramBuilder::new("alone", vec![Port::new("a", Type::Uint(8))], Vec::new()).unwrap();
    program.output(Port::new("x", Type::Uint(8)), Recipient::Both, (0..8).collect()).unwrap();
    program.finish().unwrap()
}

/// Makes a program with two components of XORs only, equal but for their names: their copies have no tables.
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

/// Fills stock, uses it for programs that were unknown when it was made, adds to it, uses it up, and makes
/// missing items during a run.
#[test]
fn stock_is_filled_used_up_and_made_on_the_spot() {
    let (folders, mut rng) = (Folders::new(), Rng::replayable("test inputs"));
    let small = library::millionaires().unwrap();
    let inputs = Request::of(&small).unwrap().inputs as u64;
    let done = folders.good(TestedAction::Fill(&times(&small, 4))).map(|did| did.filled);
    assert_eq!(done, [Some(Preprocessed { steps: 1, resumed: 0 }); 2]);
    let _ = folders.good(TestedAction::Fill(&Request { components: Vec::new(), inputs: 10 }));
    assert_eq!(folders.left(), left([("compare", 4), ("input masks", 4 * inputs + 10)]));
    for party in BOTH {
        let store = folders.store(party);
        let part = &inventory::<Authenticated>(&store).unwrap()[0];
        assert_eq!(executions::<Authenticated>(part, &store, &small).unwrap(), 4);
        assert_eq!(executions::<Authenticated>(part, &store, &small.repeat(3).unwrap()).unwrap(), 1);
        assert!(in_stock(&store, party, &terms(), &small.repeat(4).unwrap()).unwrap());
        assert!(!in_stock(&store, party, &terms(), &small.repeat(5).unwrap()).unwrap());
    }
    // Every byte is predicted. The online phase sends the same bytes as in a run without stock, because it
    // does not depend on the origin of the components.
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
            let phase = all.iter().find(is_same).expect("the phase is one of the protocol's");
            [phase.garbler_sent_bytes, phase.evaluator_sent_bytes]
        };
        let ran = [phase.garbler_sent_bytes, phase.evaluator_sent_bytes];
        assert_eq!(ran, sent(&from_stock), "{}", phase.name);
        if ["evaluate", "decode"].contains(&&*phase.name) {
            assert_eq!(ran, sent(&without), "{}", phase.name);
        }
    }
    assert!(did.phases.iter().all(|phase| phase.name != "preprocess"), "a run from stock garbles nothing");
    assert_eq!(did.made, None);
    // Another program with the same component takes from this epoch, and then more stock is added to the
    // epoch.
    assert_eq!(folders.runs(&small.repeat(2).unwrap(), Lacking::Refuse, &mut rng).made, None);
    assert_eq!(folders.left(), left([("compare", 1), ("input masks", inputs + 10)]));
    let two = small.repeat(2).unwrap();
    let bits = [Party::Garbler, Party::Evaluator].map(|party| vec![false; two.input_width(party)]);
    let refused = folders.over(memory_pair(), TestedAction::Run(&two, [&bits[0], &bits[1]], Lacking::Refuse));
    let why = "the program needs 2 compare, but the stock has 1";
    assert!(refused.iter().all(|r| matches!(r, Err(Error::Stock(said)) if said == why)));
    let made = folders.runs(&two, Lacking::Make, &mut rng).made.expect("something was made");
    assert_eq!((made.components[0].1, made.inputs), (1, inputs as usize - 10));
    assert_eq!(folders.parts(Party::Garbler).len(), 1);
    // An epoch that is used up is burned. The next epoch has new offsets.
    assert_eq!(folders.left(), left([]));
    let made = folders.runs(&small, Lacking::Make, &mut rng).made.expect("something was made");
    assert_eq!(made, Request::of(&small).unwrap());
    let epochs = folders.parts(Party::Garbler);
    assert_eq!(epochs.iter().map(|epoch| epoch.uses).sum::<u64>(), 4);
    assert_eq!(epochs.len(), 2);
    let nothing = Request::default();
    let refused = Folders::new().over(memory_pair(), TestedAction::Fill(&nothing));
    assert!(refused.iter().all(|r| matches!(r, Err(Error::Usage(_)))));
}

/// Runs random programs, programs with components without tables, and a program without slots.
#[test]
fn any_program_runs_from_stock() {
    let (folders, mut rng) = (Folders::new(), Rng::replayable("test programs"));
    for _ in 0..6 {
        let program = random_program(&mut rng);
        let _ = folders.good(TestedAction::Fill(&Request::of(&program).unwrap()));
        assert_eq!(folders.runs(&program, Lacking::Refuse, &mut rng).made, None);
        assert_eq!(folders.left(), left([]));
    }
    for program in [of_xors(), without_anything()] {
        let _ = folders.runs(&program, Lacking::Make, &mut rng);
        let _ = folders.good(TestedAction::Fill(&times(&program, 3)));
        assert_eq!(folders.runs(&program, Lacking::Refuse, &mut rng).made, None);
    }
    assert_eq!(folders.left(), left([("input masks", 2 * 8 - 8 + 2 * 8), ("xor", 4)]));
}

/// One program takes copies from several batches and parts, more than a record has and more than are
/// evaluated side by side.
#[test]
fn a_program_takes_from_many_batches_and_records() {
    let (folders, mut rng) = (Folders::new(), Rng::replayable("test inputs"));
    let aes = library::aes::aes_from_rounds(library::aes::KeySize::Aes128).unwrap();
    for count in [1, 2, 5] {
        let _ = folders.good(TestedAction::Fill(&times(&aes, count)));
    }
    for executions in [1, 4, 3] {
        let did = folders.runs(&aes.repeat(executions).unwrap(), Lacking::Refuse, &mut rng);
        let promise = did.promise.unwrap();
        assert_eq!((did.made, promise.triples.unwrap().used), (None, executions as u64 * 6400));
    }
    assert_eq!(folders.left(), left([]));
}

/// A program skips damaged items and takes the items between them, each under its own keys.
#[test]
fn row_23_a_program_skips_what_is_damaged() {
    let (folders, mut rng) = (Folders::new(), Rng::replayable("test inputs"));
    let aes = library::aes::aes_from_rounds(library::aes::KeySize::Aes128).unwrap();
    for count in [3, 6] {
        let _ = folders.good(TestedAction::Fill(&times(&aes, count)));
    }
    assert!(folders.0.take_some_out() > 2);
    for executions in [1, 5] {
        let did = folders.runs(&aes.repeat(executions).unwrap(), Lacking::Refuse, &mut rng);
        assert_eq!(did.made, None);
    }
}

/// A filling that is interrupted anywhere continues. Completed steps are not made again. Incomplete steps are
/// never used, and they count as given up.
#[test]
fn an_interrupted_filling_goes_on() {
    let small = library::millionaires().unwrap();
    let asked = Request { inputs: (1 << 20) + 3, ..times(&small, 2) };
    // The parties exchange two positions of their logs when the stores are compared, and three in a step. So
    // the sixth one belongs to the second step.
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
        let broken =
            folders.over(dying(party, tag, count, &[], &SeenMessages::default()), TestedAction::Fill(&asked));
        assert!(broken.iter().all(Result::is_err), "{party:?} {tag:?}");
        let done = folders.good(TestedAction::Fill(&asked)).map(|did| did.filled);
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

/// Given-up lots count: no lot begins in an epoch whose given-up lots used three fourths of 2^-s. Items that
/// are there stay usable.
#[test]
fn row_06_what_is_given_up_counts_until_an_epoch_takes_no_more() {
    let (folders, mut rng) = (Folders::new(), Rng::replayable("test inputs"));
    let small = library::millionaires().unwrap();
    let _ = folders.good(TestedAction::Fill(&times(&small, 2)));
    let level = StatisticalLengths::of(40).unwrap();
    let risk_of = |asked: &Request| {
        let origin = asked.steps(level, &Forced::default()).unwrap()[0].origin(Cot::default());
        origin.bound(level).log2()
    };
    // The pool of this request leaks with the highest probability, because it is just above the smallest pool
    // for its bucket size.
    let all = (2..60).map(|count| times(&small, count));
    let asked = all.max_by(|one, other| risk_of(one).total_cmp(&risk_of(other))).unwrap();
    let risk = risk_of(&asked);
    let most = (0.75 * (-40.0 - risk).exp2()) as usize + 1;
    assert!((65..=70).contains(&most), "{most} attempts of 2^{risk}");
    for attempt in 1..=most + 1 {
        let lines = dying(Party::Evaluator, msg::COIN, 1, &[], &SeenMessages::default());
        assert!(folders.over(lines, TestedAction::Fill(&asked)).iter().all(Result::is_err));
        // Removes the other limit, which counts attempts over all epochs. Another test covers it.
        folders.0.forgive();
        let parts = folders.parts(Party::Garbler);
        assert_eq!(parts.len(), if attempt <= most { 1 } else { 2 }, "{attempt}");
        assert!(parts.iter().all(|epoch| epoch.bound_log2.unwrap() <= -40.0));
    }
    for party in BOTH {
        // The order of the epochs is not fixed.
        let given_up = folders.parts(party).iter().map(|epoch| epoch.given_up.steps as usize).max();
        assert_eq!(given_up, Some(most));
    }
    assert_eq!(folders.runs(&small, Lacking::Refuse, &mut rng).made, None);
    // In an epoch with 128 such given-up lots, no lot begins and no program runs.
    for security in [40, 64, 80] {
        let level = StatisticalLengths::of(security).unwrap();
        let size = ((f64::from(security) + 5.0) / 2.0).exp2() as usize * 2;
        let origin =
            crate::parameters::LotOrigin { pool: TriplePool { size, bucket: 3 }, calls: 2, openings: 1 };
        let risk = origin.bound(level);
        let given_up = |times: u64| brickwork_store::GivenUp {
            steps: times as u32,
            risk: (risk * Upper::integer(times)).to_fixed(),
        };
        let may = |times| needs::may_begin(given_up(times), security);
        assert!(may(64) && !may(128), "{security}");
        let log2 = |times| {
            let budget = crate::parameters::LotBudget::of(level, [origin], 3 << 19);
            budget.and_given_up(given_up(times).risk).log2()
        };
        assert!(log2(64) <= -f64::from(security) && log2(128) > -f64::from(security), "{security}");
    }
}

/// Whenever a party dies, both parties lose the items that the program took. No two programs share a copy or
/// a mask, and later programs give the right outputs.
#[test]
fn row_20_nothing_is_used_twice_whoever_dies() {
    let program = library::millionaires().unwrap();
    let zeros = BOTH.map(|party| vec![false; program.input_width(party)]);
    let inputs = Request::of(&program).unwrap().inputs;
    // The inputs are 0, so the messages contain masks. No two messages may be equal.
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
        let (folders, seen) = (Folders::new(), SeenMessages::default());
        let _ = folders.good(TestedAction::Fill(&times(&program, 4)));
        let what = TestedAction::Run(&program, [&zeros[0], &zeros[1]], Lacking::Refuse);
        for _ in 0..2 {
            let broken = folders.over(dying(party, tag, count, NOTED, &seen), what);
            assert!(broken.iter().any(Result::is_err), "{tag:?}");
        }
        let done = folders.over(dying(party, Tag(0), 1, NOTED, &seen), what).map(Result::unwrap);
        assert_eq!(
            done[1].outputs,
            vec![false; done[1].outputs.len()],
            "equal inputs, so neither is greater"
        );
        let mut seen = seen.lock().unwrap().clone();
        assert!(seen.len() >= 3);
        seen.sort();
        assert!(seen.windows(2).all(|two| two[0] != two[1]), "{tag:?}");
        assert_eq!(folders.left(), left([("compare", 1), ("input masks", inputs as u64)]), "{tag:?}");
    }
}

/// Every failed check burns the epoch on the honest party's disk, before the connection closes. The peer is
/// not told which check failed, and its part of the epoch cannot be used any more.
#[test]
fn a_failed_check_burns_the_epoch_whichever_it_was() {
    let program = library::millionaires().unwrap();
    let zeros = BOTH.map(|party| vec![false; program.input_width(party)]);
    let asked = times(&program, 2);
    let (fill, run) =
        (TestedAction::Fill(&asked), TestedAction::Run(&program, [&zeros[0], &zeros[1]], Lacking::Refuse));
    // The pool is small to save time; its buckets are large enough that a store accepts it.
    let pool = Some(TriplePool { size: 80, bucket: 9 });
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
        let forced = || [(); 2].map(|()| Hooks::none().with(Forced { pool, ..Forced::default() }));
        let _ = folders.with(memory_pair(), forced(), TestedAction::Fill(&asked)).map(Result::unwrap);
        let mut hooks = forced();
        // The last label belongs to an input of the evaluator, which checks only the label's colour.
        let byte = if point == Point::InputLabels { 16 * (asked.inputs / 2 - 1) } else { 0 };
        let lying = Forced { pool, looks_away: true, ..Forced::default() };
        hooks[cheater] = Hooks::at(point, move |bytes| bytes[byte] ^= 1).with(lying);
        let results = folders.with(memory_pair(), hooks, what);
        assert!(results[1 - cheater].as_ref().is_err_and(|error| error.is_cheat(check)), "{case:?}");
        // The cheater learns nothing, because the honest party stops sending.
        assert!(matches!(results[cheater], Err(Error::Io(_))), "{case:?}");
        let parts = folders.parts(BOTH[1 - cheater]);
        assert!(parts[0].state.burned().is_some_and(|why| why.contains("cheated")), "{case:?}");
        let store = folders.store(BOTH[1 - cheater]);
        assert!(store.secrets(&parts[0].id).is_err(), "{case:?}: both parties' secrets must be erased");
        drop(store);
        let again = folders.with(memory_pair(), forced(), run);
        assert!(again.iter().all(|result| matches!(result, Err(Error::Stock(_)))), "{case:?}");
    }
}

/// Stock may be added to an epoch while a value of its session is kept, and the value stays usable. The next
/// kept value has another name, even if the first was forgotten.
#[test]
fn what_is_kept_stays_while_stock_is_made() {
    let program = Arc::new(library::millionaires().unwrap());
    let keeps = Step::new(&program, &[], &[&program.outputs()[0].port.name]).unwrap();
    let asked = times(&program, 2);
    for forgets in [false, true] {
        let folders = Folders::new();
        folders.good(TestedAction::Fill(&asked)).iter().for_each(|did| assert!(did.filled.is_some()));
        let play = |party: Party, channel| -> Result<Vec<bool>, Error> {
            let store = folders.store(party);
            let line = Stocked::open(party, channel, &store, &terms(), Cot::default(), Unobserved)?;
            let input = vec![false; keeps.input_width(party)];
            let (first, mut line) = line.run(&keeps, &input, Lacking::Refuse)?;
            if forgets {
                line.forget(&first.kept[0]);
            }
            let (_, line) = line.preprocess(&asked)?;
            let (second, mut line) = line.run(&keeps, &input, Lacking::Refuse)?;
            assert!(first.kept.len() == 1 && first.kept != second.kept, "two secrets have one name");
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

/// Masks in stock come from a PCG, and each entry of the log begins with new first OTs. Wrong trees burn the
/// epoch like any other failed check, and the peer is not told which check failed.
#[test]
fn altered_trees_of_a_pcg_burn_the_epoch() {
    let program = library::millionaires().unwrap();
    let zeros = BOTH.map(|party| vec![false; program.input_width(party)]);
    let asked = times(&program, 1);
    let (fill, run) =
        (TestedAction::Fill(&asked), TestedAction::Run(&program, [&zeros[0], &zeros[1]], Lacking::Refuse));
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

/// A message of a wrong length burns the epoch, too.
#[test]
fn a_malformed_message_burns_the_epoch() {
    let program = library::millionaires().unwrap();
    let zeros = BOTH.map(|party| vec![false; program.input_width(party)]);
    let run = TestedAction::Run(&program, [&zeros[0], &zeros[1]], Lacking::Refuse);
    for (tag, cheater) in [(msg::SOLDERINGS, 0), (msg::REPORT, 1)] {
        for longer in [true, false] {
            let folders = Folders::new();
            let _ = folders.good(TestedAction::Fill(&times(&program, 2)));
            let results = folders.over(misshapen(BOTH[cheater], tag, longer), run);
            let honest = &results[1 - cheater];
            assert!(honest.as_ref().is_err_and(|error| error.is_cheat(Cheat::UnexpectedMessage)), "{tag:?}");
            assert!(folders.parts(BOTH[1 - cheater])[0].state.burned().is_some());
        }
    }
}

/// A large request is made in several lots, which share its components. The pool of each lot leaves room for
/// failed attempts.
#[test]
fn a_request_is_made_in_lots_with_room_for_attempts() {
    let aes = library::aes::aes_128().unwrap();
    for security in [40, 64, 80] {
        let level = StatisticalLengths::of(security).unwrap();
        let asked = times(&aes, 500);
        let steps = asked.steps(level, &Forced::default()).unwrap();
        assert_eq!(steps.len(), 6);
        let ands: usize = steps.iter().map(|step| step.lot.ands).sum();
        assert_eq!((ands, steps[0].lot.inputs), (500 * 6400, asked.inputs));
        let counted = steps.iter().flat_map(|step| Cot::ALL.map(|cot| (step, step.origin(cot))));
        for (step, origin) in counted {
            let bound = origin.bound(level).log2();
            // 64 of these lots take three fourths of 2^-s.
            assert!(bound <= -f64::from(security) - 6.41, "{bound}");
            assert!(security > 40 || step.lot.pool.bucket == 4);
        }
        // Both parties must also agree on the sizes.
        let other = Forced {
            sizes: Some(Sizes { lot: 1 << 21, part: 1 << 14, portion: 1 << 16 }),
            ..Forced::default()
        };
        let others = asked.steps(level, &other).unwrap();
        use brickwork_protocol::stock::PreprocessingStep as _;
        assert_ne!(steps[0].parameters(), others[0].parameters());
        assert_ne!(steps[0].request(), others[0].request());
    }
}

/// Row 19 of the table of attacks: a request for nothing, and inputs of another length, are refused.
#[test]
fn row_19_what_does_not_fit_is_refused() {
    let (folders, program) = (Folders::new(), library::millionaires().unwrap());
    let nothing = folders.over(memory_pair(), TestedAction::Fill(&Request::default()));
    assert!(nothing.iter().all(|refused| matches!(refused, Err(Error::Usage(_)))));
    let short = folders.over(memory_pair(), TestedAction::Run(&program, [&[], &[]], Lacking::Make));
    assert!(short.iter().all(|refused| matches!(refused, Err(Error::Input(_)))));
}

/// Row 4 of the table of attacks: an epoch in which too much was given up gives a program no items, and loses
/// none.
#[test]
fn row_04_a_program_gets_nothing_where_too_much_was_given_up() {
    let (folders, program) = (Folders::new(), library::millionaires().unwrap());
    let _ = folders.good(TestedAction::Fill(&times(&program, 1)));
    let left = || folders.0.left::<Authenticated>(|_| ());
    let before = left();
    folders.0.give_up(1 << 88);
    let inputs = random_inputs(&program, &mut Rng::replayable("test inputs"));
    let run = TestedAction::Run(&program, [&inputs[0], &inputs[1]], Lacking::Refuse);
    for refused in folders.over(memory_pair(), run) {
        let why = refused.err().unwrap().to_string();
        assert!(why.contains("given up"), "{why}");
    }
    assert_eq!(left(), before);
}

/// Parties with different kinds of OTs do not begin an epoch. An existing epoch keeps its kind.
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

/// A session's secrets of a wrong version or length are refused. A restored session draws from no counter
/// before it has the ranges of an entry.
#[test]
fn secrets_that_are_none_are_refused() {
    let (folders, program) = (Folders::new(), library::millionaires().unwrap());
    let _ = folders.good(TestedAction::Fill(&times(&program, 1)));
    let store = folders.store(Party::Garbler);
    let id = inventory::<Authenticated>(&store).unwrap()[0].id;
    let secrets = store.secrets(&id).unwrap();
    let restored = |secrets: &EpochSecrets| {
        let run = Metered::new::<Authenticated>(memory_pair().0, Party::Garbler, Box::new(Unobserved));
        let carried = ConnectionCarry { cot: Cot::default(), hooks: Hooks::none() };
        Authenticated::restore(run, &terms(), secrets, carried)
    };
    let changes: [fn(&mut EpochSecrets); 6] = [
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
    let mut member =
        SessionState::restored(run, StatisticalLengths::of(40).unwrap(), &secrets, Hooks::none()).unwrap();
    assert!(matches!(member.choose(&mut [Label::ZERO; 3]), Err(Error::Limit(_))));
    assert!(matches!(member.place().map(drop), Err(Error::Limit(_))));
}
