//! Rows are those of the table of attacks (docs/concepts/security.md, section 14).

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::*;
use crate::Cheat;
use crate::adversary::{Hooks, Point, SEED};
use crate::choice::Choice;
use crate::msg;
use crate::stored::needs::Filling;
use crate::tests::random_program;
use brickwork_base::random::{Rng, SEED_BYTES, Seed};
use brickwork_circuit::{Builder, Component, Port, ProgramBuilder, Recipient, Type, library};
use brickwork_harness::random_inputs;
use brickwork_harness::stores::{
    BOTH, ConnectionEnds, SeenMessages, Stores, check_bound, check_cuts, dying, left, terms,
};
use brickwork_primitives::cut_and_choose::{BucketRule, Bucketing, Detection};
use brickwork_primitives::{hooks, ihash};
use brickwork_protocol::stock::PreprocessingStep;
use brickwork_protocol::stock::inventory::{executions, inventory};
use brickwork_protocol::stock::msg::STAND;
use brickwork_protocol::{Promise, Unobserved};
use brickwork_testing::Replayable as _;
use brickwork_wire::{Tag, memory_pair};

/// Both parties get their base OTs from a dealer, because base OTs are most of the cost of a small session.
const DEALER: [u8; 32] = [9; 32];

/// Returns a program with two products, one of them of a sum, and outputs for both parties.
fn toy() -> Program {
    let mut builder = Builder::new(4);
    let wires = builder.all_inputs();
    let product = builder.and(wires[0], wires[2]);
    let sum = builder.xor(product, wires[1]);
    let other = builder.and(sum, wires[3]);
    let port = |name: &str, width| Port::new(name, Type::Uint(width));
    let component = Component {
        name: "toy".into(),
        inputs: vec![port("in", 4)],
        outputs: vec![port("out", 2)],
        circuit: Arc::new(builder.finish(&[!product, other]).unwrap()),
    };
    let mut program = ProgramBuilder::new("toy", vec![port("a", 2)], vec![port("b", 2)]).unwrap();
    let id = program.component(component).unwrap();
    let out = program.slot(id, &[0, 1, 2, 3]).unwrap();
    let out = vec![out, out + 1];
    program.output(port("x", 2), Recipient::Both, out.clone()).unwrap();
    program.output(port("y", 1), Recipient::Garbler, vec![out[1]]).unwrap();
    program.output(port("z", 1), Recipient::Evaluator, vec![out[0]]).unwrap();
    program.finish().unwrap()
}

/// The purpose of one connection.
#[derive(Clone, Copy)]
enum TestedAction<'w> {
    Fill(&'w Request),
    Run(&'w Program, Option<Unit>, [&'w [bool]; 2], Lacking),
}

#[derive(Default)]
struct Did {
    outputs: Vec<bool>,
    recovered: bool,
    promise: Option<Promise>,
    made: Option<Request>,
    filled: Option<Preprocessed>,
    phases: Vec<PhaseReport>,
}

/// The stores of both parties, on which connections work.
struct Folders(Stores);

fn dealt(alter: Option<hooks::StateHook<Point>>) -> Hooks {
    alter.map_or_else(Hooks::none, Hooks::lying).dealt_by(DEALER)
}

fn one(
    party: Party,
    store: &Store,
    channel: Channel,
    hooks: Hooks,
    what: TestedAction,
) -> Result<Did, Error> {
    let line = Stocked::open_with(party, channel, store, &terms(), Box::new(Unobserved), hooks)?;
    match what {
        TestedAction::Fill(asked) => {
            let (done, line) = line.preprocess(asked)?;
            Ok(Did { filled: Some(done), phases: line.close()?, ..Did::default() })
        }
        TestedAction::Run(program, unit, inputs, lacking) => {
            let (done, line) = line.run(program, unit, inputs[party as usize], lacking)?;
            let FromStock { outputs, kept: _, recovered, promise, made } = done;
            let (promise, phases) = (Some(promise), line.close()?);
            Ok(Did { outputs, recovered, promise, made, filled: None, phases })
        }
    }
}

impl Folders {
    fn new() -> Self {
        Folders(Stores::empty())
    }

    fn with(&self, lines: ConnectionEnds, hooks: [Hooks; 2], what: TestedAction) -> [Result<Did, Error>; 2] {
        self.0.meet(lines, hooks, |party, store, channel, hooks| one(party, store, channel, hooks, what))
    }

    fn over(&self, lines: ConnectionEnds, what: TestedAction) -> [Result<Did, Error>; 2] {
        self.with(lines, [dealt(None), dealt(None)], what)
    }

    #[track_caller]
    fn good(&self, what: TestedAction) -> [Did; 2] {
        self.over(memory_pair(), what).map(Result::unwrap)
    }

    fn store(&self, party: Party) -> Store {
        self.0.store(party)
    }

    /// Returns the remaining items of epochs that are not burned, by name. It checks that both parties have
    /// the same.
    fn left(&self) -> BTreeMap<String, u64> {
        self.0.left::<Jimu>(|epoch| {
            assert_eq!(epoch.epoch.protocol, "jimu");
            assert_eq!(epoch.bound_log2.is_none(), epoch.state.burned().is_some());
            for batch in epoch.batches.iter().filter(|_| epoch.state.burned().is_none()) {
                let cuts: &[&str] = match batch.kind {
                    "ots" | "inputs" => &[],
                    "component" => &["copies"],
                    kind => &[kind],
                };
                check_cuts(batch, cuts);
            }
        })
    }

    /// Runs a program on random inputs, and compares the outputs with those of a plain computation. Returns
    /// the evaluator's result.
    #[track_caller]
    fn runs(&self, program: &Program, lacking: Lacking, rng: &mut Rng) -> Did {
        self.runs_by(program, None, lacking, rng)
    }

    /// Does the same as [`Folders::runs`] with a given unit.
    #[track_caller]
    fn runs_by(&self, program: &Program, unit: Option<Unit>, lacking: Lacking, rng: &mut Rng) -> Did {
        let inputs = random_inputs(program, rng);
        let [garbler, evaluator] =
            self.good(TestedAction::Run(program, unit, [&inputs[0], &inputs[1]], lacking));
        let expected = program.simulate(&inputs[0], &inputs[1]);
        for (party, did) in BOTH.into_iter().zip([&garbler, &evaluator]) {
            assert_eq!(did.outputs, program.output_bits(party, &expected), "{party:?}");
            let promise = did.promise.as_ref().unwrap();
            assert!(promise.epoch_bound_log2.is_some());
            check_bound(promise.bound_log2, &promise.budget);
            // A bad gate is detected with probability 1/2 if it is opened, and a bad copy always.
            let rule = match Unit::of(promise) {
                Unit::Gates => BucketRule { detection: Detection::Half, majority: false },
                Unit::Components => BucketRule { detection: Detection::Full, majority: false },
            };
            let level = HashLevel::of_stock(40).unwrap();
            let of_batches = promise.batches.iter().map(|batch| {
                let [slots, bucket, opened] =
                    [batch.slots, batch.bucket_size, batch.opened].map(|count| count.try_into().unwrap());
                level.of_copies(rule, &Bucketing { slots, bucket, opened }).log2()
            });
            let said = promise.budget.iter().filter(|spent| spent.check == Unit::of(promise).bad());
            assert!(of_batches.eq(said.map(|spent| spent.bound_log2)), "{promise:?}");
        }
        assert_eq!(garbler.made, evaluator.made);
        assert!(!garbler.recovered && !evaluator.recovered);
        evaluator
    }
}

fn of(program: &Program, unit: Unit) -> Request {
    Request::of(program, unit).unwrap()
}

fn items(request: &Request) -> BTreeMap<String, u64> {
    let &Request { gates, inputs, ots, .. } = request;
    let mut all = left([("AND gates", gates), ("inputs", inputs), ("OTs", ots)]);
    all.extend(request.components.iter().map(|(component, count)| (component.name.clone(), *count)));
    all
}

/// Returns a request for this many buckets of the toy program's component, inputs and OTs, with this unit.
fn toys(unit: Unit, [slots, inputs, ots]: [u64; 3]) -> Request {
    let mut request = Request { inputs, ots, ..Request::default() };
    match unit {
        Unit::Gates => request.gates = 2 * slots,
        Unit::Components => request.add(&toy().components()[0], slots),
    }
    request
}

#[test]
fn stock_is_filled_used_up_and_made_on_the_spot() {
    Unit::ALL.into_iter().for_each(filled_used_up_and_made);
}

fn filled_used_up_and_made(unit: Unit) {
    let (folders, mut rng) = (Folders::new(), Rng::replayable("test inputs"));
    let program = toy();
    assert_eq!(of(&program, unit), toys(unit, [1, 2, 2]));
    let done = folders.good(TestedAction::Fill(&of(&program, unit).times(4).unwrap())).map(|did| did.filled);
    assert_eq!(done, [Some(Preprocessed { steps: 2, resumed: 0 }); 2]);
    // More items go into the same epoch while no item of it was used.
    let _ = folders.good(TestedAction::Fill(&toys(unit, [2, 0, 10])));
    assert_eq!(folders.left(), items(&toys(unit, [6, 8, 18])));
    for party in BOTH {
        let store = folders.store(party);
        let parts = inventory::<Jimu>(&store).unwrap();
        assert_eq!(parts.len(), 1);
        assert_eq!(executions::<Jimu>(&parts[0], &store, &program).unwrap(), 4);
        let there = |times: usize, unit: Option<Unit>| {
            in_stock(&store, party, &terms(), &program.repeat(times).unwrap(), unit).unwrap()
        };
        let other = if unit == Unit::Gates { Unit::Components } else { Unit::Gates };
        assert!(there(4, Some(unit)) && there(4, None) && !there(4, Some(other)) && !there(5, None));
    }
    let did = folders.runs(&program, Lacking::Refuse, &mut rng);
    assert_eq!((did.made, Unit::of(&did.promise.unwrap())), (None, unit));
    assert!(did.phases.iter().all(|phase| phase.name != "preprocess"), "the run garbles nothing");
    // Another program with the same gates or components uses the same stock.
    assert_eq!(folders.runs(&program.repeat(2).unwrap(), Lacking::Refuse, &mut rng).made, None);
    let rest = items(&toys(unit, [3, 2, 12]));
    assert_eq!(folders.left(), rest);
    let two = program.repeat(2).unwrap();
    let bits = vec![false; 4];
    let run = TestedAction::Run(&two, Some(unit), [&bits, &bits], Lacking::Refuse);
    for result in folders.over(memory_pair(), run) {
        let why = result.err().unwrap().to_string();
        assert!(why.contains("2 inputs more than the stock has"), "{why}");
    }
    // A used epoch gets no more items. A new epoch gets everything that the program needs.
    assert_eq!(folders.runs_by(&two, Some(unit), Lacking::Make, &mut rng).made, Some(of(&two, unit)));
    assert_eq!(folders.left(), rest);
    assert_eq!(inventory::<Jimu>(&folders.store(Party::Garbler)).unwrap().len(), 2);
    // Another component is another request.
    let names = [toy(), mixed()].map(|program| {
        let mut request = Request::default();
        request.add(&program.components()[0], 5);
        PreprocessingStep::request(&request.steps(40).unwrap()[0])
    });
    assert_ne!(names[0], names[1]);
    let nothing = Request::default();
    let refused = Folders::new().over(memory_pair(), TestedAction::Fill(&nothing));
    assert!(refused.iter().all(|r| matches!(r, Err(Error::Usage(_)))));
}

#[test]
fn any_program_runs_from_stock() {
    let (folders, mut rng) = (Folders::new(), Rng::replayable("test programs"));
    for (k, unit) in (0..6).flat_map(|k| Unit::ALL.map(|unit| (k, unit))) {
        let program = random_program(&mut rng);
        let _ = folders.good(TestedAction::Fill(&of(&program, unit)));
        assert_eq!(folders.runs_by(&program, Some(unit), Lacking::Refuse, &mut rng).made, None, "{k}");
        assert_eq!(folders.left(), BTreeMap::new());
    }
}

/// Returns a program with components under several names, two of which compute the same function. Components
/// alternate in slots with other gates between them.
fn mixed() -> Program {
    let component = |name: &str, or: bool| {
        let mut builder = Builder::new(3);
        let wires = builder.all_inputs();
        let product = builder.and(wires[0], wires[1]);
        let sum = builder.xor(wires[0], wires[1]);
        let either = builder.xor(product, sum);
        let last = builder.and(if or { either } else { product }, wires[2]);
        Component {
            name: name.into(),
            inputs: vec![Port::new("in", Type::Uint(3))],
            outputs: vec![Port::new("out", Type::Uint(2))],
            circuit: Arc::new(builder.finish(&[last, sum]).unwrap()),
        }
    };
    let port = |name: &str, width| Port::new(name, Type::Uint(width));
    let mut program = ProgramBuilder::new("mixed", vec![port("a", 4)], vec![port("b", 3)]).unwrap();
    let ids = [("one", true), ("other", false), ("same", true)]
        .map(|(name, or)| program.component(component(name, or)).unwrap());
    let mut wires: Vec<u32> = (0..7).collect();
    for k in 0..9 {
        let inputs = [wires[wires.len() - 1], wires[k % 7], wires[wires.len() - 3]];
        let out = program.slot(ids[k % 3], &inputs).unwrap();
        wires.extend([out, out + 1]);
    }
    let last = wires.split_off(wires.len() - 6);
    program.output(port("x", 6), Recipient::Both, last).unwrap();
    program.finish().unwrap()
}

/// Components that compute the same function share buckets, even if their names differ. Each slot gets a
/// bucket of its own, in any order and also from batches that are partly used.
#[test]
fn components_are_known_by_what_they_compute() {
    let (folders, mut rng) = (Folders::new(), Rng::replayable("test inputs"));
    let program = mixed();
    let needs = of(&program, Unit::Components);
    assert_eq!(needs.components.iter().map(|(_, count)| *count).collect::<Vec<_>>(), [6, 3]);
    let parts = [2, 3, 4].map(|times| {
        let mut part = Request { inputs: 20, ots: 20, ..Request::default() };
        needs.components.iter().for_each(|(component, count)| part.add(component, times * count / 3));
        part
    });
    parts.iter().for_each(|part| _ = folders.good(TestedAction::Fill(part)));
    for _ in 0..3 {
        let did = folders.runs(&program, Lacking::Refuse, &mut rng);
        assert_eq!((did.made, Unit::of(&did.promise.unwrap())), (None, Unit::Components));
    }
    // Three runs have used all items of both components.
    assert!(folders.left().keys().all(|name| ["inputs", "OTs"].contains(&name.as_str())));
}

/// One epoch has gates and components. Without a named unit, components are used while there are enough.
#[test]
fn gates_and_components_are_in_one_epoch() {
    let (folders, mut rng) = (Folders::new(), Rng::replayable("test inputs"));
    let program = toy();
    let both = toys(Unit::Gates, [2, 4, 4]).and(&toys(Unit::Components, [1, 0, 0])).unwrap();
    let _ = folders.good(TestedAction::Fill(&both));
    assert_eq!(folders.left(), items(&both));
    for party in BOTH {
        let store = folders.store(party);
        let part = &inventory::<Jimu>(&store).unwrap()[0];
        // The number of executions by gates and by components is limited by the inputs.
        assert_eq!(executions::<Jimu>(part, &store, &program).unwrap(), 2);
    }
    let units = [(); 2].map(|()| folders.runs(&program, Lacking::Refuse, &mut rng).promise.unwrap());
    assert_eq!(units.each_ref().map(Unit::of), [Unit::Components, Unit::Gates]);
    // The epoch also has gates, so the computational security is that of the gates' offset.
    let bits = crate::computational_bits(&HashLevel::of_stock(40).unwrap(), Unit::Gates);
    assert!(units.iter().all(|security| security.computational_bits == bits));
    assert_eq!(inventory::<Jimu>(&folders.store(Party::Garbler)).unwrap().len(), 1);
    // Parties that ask for different units do not run.
    let _ = folders.good(TestedAction::Fill(&both));
    let bits = vec![false; 2];
    let results =
        folders.0.meet(memory_pair(), [dealt(None), dealt(None)], |party, store, channel, hooks| {
            let what =
                TestedAction::Run(&program, Some(Unit::ALL[party as usize]), [&bits, &bits], Lacking::Refuse);
            one(party, store, channel, hooks, what)
        });
    assert!(results.iter().any(|result| matches!(result, Err(Error::Mismatch(_)))));
    assert_eq!(folders.left(), {
        let mut left = items(&both);
        // These are the gates that remained before.
        *left.get_mut("AND gates").unwrap() += 2;
        left
    });
}

#[test]
fn row_25_other_buckets_than_there_are_slots_for_are_refused() {
    let (program, level) = (mixed(), HashLevel::of_stock(40).unwrap());
    let layout = Layout::from_stock(&program, Unit::Components, level).unwrap();
    let [one, other] = [0, 1].map(|k| program.component_digests()[k]);
    let taken = |batches: &[([u8; 32], usize)]| layout.clone().take(batches);
    taken(&[(one, 6), (other, 3)]).unwrap();
    taken(&[(one, 2), (other, 3), (one, 4)]).unwrap();
    for batches in [
        &[(one, 6), (other, 2)][..],
        &[(one, 6), (other, 4)],
        &[(one, 7), (other, 3)],
        &[(one, 9)],
        &[(one, 6), (other, 3), ([0; 32], 1)],
        &[(one, 6), ([7; 32], 3)],
        &[],
    ] {
        let refused = taken(batches);
        assert!(
            matches!(&refused, Err(Error::Stock(why)) if why.contains("another number of buckets")),
            "{batches:?}"
        );
    }
}

/// A program without AND gates needs the same items with either unit.
#[test]
fn a_program_without_gates_takes_inputs_alone() {
    let (folders, mut rng) = (Folders::new(), Rng::replayable("test inputs"));
    let port = |name: &str, width| Port::new(name, Type::Uint(width));
    let mut program = ProgramBuilder::new("wires", vec![port("a", 2)], vec![port("b", 1)]).unwrap();
    program.output(port("x", 3), Recipient::Both, vec![2, 0, 1]).unwrap();
    let program = program.finish().unwrap();
    assert_eq!(of(&program, Unit::Gates), of(&program, Unit::Components));
    let _ = folders.good(TestedAction::Fill(&of(&program, Unit::Gates)));
    let did = folders.runs(&program, Lacking::Refuse, &mut rng);
    assert_eq!(did.promise.unwrap().batches, []);
    assert_eq!(folders.left(), BTreeMap::new());
}

/// Runs a program that uses several batches of different cuts, and refuses one that would use too many.
#[test]
fn a_program_takes_from_many_batches() {
    Unit::ALL.into_iter().for_each(takes_from_many_batches);
}

fn takes_from_many_batches(unit: Unit) {
    let (folders, mut rng) = (Folders::new(), Rng::replayable("test inputs"));
    let program = toy().repeat(7).unwrap();
    for part in [1, 2, 4] {
        let _ = folders.good(TestedAction::Fill(&of(&toy(), unit).times(part).unwrap()));
    }
    let did = folders.runs(&program, Lacking::Refuse, &mut rng);
    let promise = did.promise.unwrap();
    assert_eq!((promise.batches.len(), Unit::of(&promise)), (3, unit));
    let buckets: BTreeSet<u64> = promise.batches.iter().map(|batch| batch.bucket_size).collect();
    assert!(buckets.len() > 1);
    assert_eq!(folders.left(), BTreeMap::new());
    // The epoch's bound includes every item that was made in it.
    assert_eq!(promise.epoch_bound_log2, Some(promise.bound_log2));
    let did = folders.runs_by(&program, Some(unit), Lacking::Make, &mut rng);
    assert_eq!(did.made, Some(of(&program, unit)));
}

/// A program skips damaged items, and its promise counts each batch once.
#[test]
fn row_23_a_program_skips_what_is_damaged() {
    for unit in Unit::ALL {
        let (folders, mut rng) = (Folders::new(), Rng::replayable("test inputs"));
        let _ = folders.good(TestedAction::Fill(&of(&toy(), unit).times(9).unwrap()));
        assert!(folders.0.take_some_out() > 2);
        for executions in [1, 4] {
            let did = folders.runs(&toy().repeat(executions).unwrap(), Lacking::Refuse, &mut rng);
            assert_eq!(did.promise.unwrap().batches.len(), 1);
        }
    }
}

/// A program takes items from more than a hundred preprocessings, but from no more than the promise allows.
#[test]
fn a_program_draws_on_so_many_batches_as_keep_the_promise() {
    for unit in Unit::ALL {
        let sizes = of(&toy(), unit).steps(40).unwrap().swap_remove(0).sizes;
        let cut = super::origins::BatchCut { unit, bucketing: sizes.copies[0] };
        let of = |serial| super::origins::Origin { serial, name: "toy".into(), cut };
        let level = HashLevel::of_stock(40).unwrap();
        let most = (level.share(1.0) - cut.bound(&level).log2()).exp2() as usize;
        assert!(most > 100, "{most}");
        let origins: Vec<_> = (0..most as u64 + 2).map(of).collect();
        let may = |count: usize| {
            super::origins::promise(&origins[..count], unit, brickwork_store::GivenUp::default(), 40)
        };
        assert!(may(most - 1).is_ok());
        let same = vec![of(0); most + 2];
        assert!(super::origins::promise(&same, unit, Default::default(), 40).is_ok(), "one batch");
        let why = may(most + 2).err().unwrap().to_string();
        assert!(why.contains("use too many batches"), "{why}");
    }
}

/// Row 19 of the table of attacks: a request for nothing, and inputs of another length, are refused.
#[test]
fn row_19_what_does_not_fit_is_refused() {
    let (folders, program) = (Folders::new(), toy());
    let nothing = folders.over(memory_pair(), TestedAction::Fill(&Request::default()));
    assert!(nothing.iter().all(|refused| matches!(refused, Err(Error::Usage(_)))));
    let short = folders.over(memory_pair(), TestedAction::Run(&program, None, [&[], &[]], Lacking::Make));
    assert!(short.iter().all(|refused| matches!(refused, Err(Error::Input(_)))));
}

/// Row 4 of the table of attacks: an epoch in which too much was given up gives a program no items, and loses
/// none.
#[test]
fn row_04_a_program_gets_nothing_where_too_much_was_given_up() {
    let (folders, program) = (Folders::new(), toy());
    let _ = folders.good(TestedAction::Fill(&of(&program, Unit::Gates)));
    let left = folders.left();
    folders.0.give_up(1 << 88);
    let inputs = random_inputs(&program, &mut Rng::replayable("test inputs"));
    let run = TestedAction::Run(&program, Some(Unit::Gates), [&inputs[0], &inputs[1]], Lacking::Refuse);
    for refused in folders.over(memory_pair(), run) {
        let why = refused.err().unwrap().to_string();
        assert!(why.contains("given up"), "{why}");
    }
    assert_eq!(folders.left(), left);
}

/// Row 21 of the table of attacks: an interrupted filling continues. Items of a completed step are not made
/// again. Items of an interrupted step are never used, but its risk counts.
#[test]
fn row_21_an_interrupted_filling_goes_on() {
    Unit::ALL.into_iter().for_each(interrupted_filling_goes_on);
}

fn interrupted_filling_goes_on(unit: Unit) {
    let program = toy();
    let asked = of(&program, unit).times(2).unwrap();
    let garbled = if unit == Unit::Gates { msg::GATES } else { msg::HASHES };
    for (party, tag, count, made, attempts) in [
        // The garbler sends two positions of its log when the stores are compared, three in the first step,
        // and then the first one of the second step.
        (Party::Garbler, STAND, 6, 1, 0),
        (Party::Evaluator, STAND, 4, 0, 1),
        (Party::Garbler, garbled, 1, 0, 0),
        (Party::Evaluator, msg::CHALLENGE, 1, 0, 1),
        (Party::Garbler, ihash::msg::OPENINGS, 4, 0, 1),
    ] {
        let (folders, seen) = (Folders::new(), SeenMessages::default());
        let noted = ihash::msg::CORRECTIONS;
        let broken = folders.over(dying(party, tag, count, &[noted], &seen), TestedAction::Fill(&asked));
        assert!(broken.iter().all(Result::is_err));
        let done = folders.over(dying(party, Tag(0), 1, &[noted], &seen), TestedAction::Fill(&asked));
        let done = done.map(|did| did.unwrap().filled);
        assert_eq!(done, [Some(Preprocessed { steps: 2, resumed: made }); 2], "{tag:?} {count}");
        assert_eq!(folders.left(), items(&asked));
        // No part of a stream is used twice.
        let mut seen = seen.lock().unwrap().clone();
        seen.sort();
        assert!(seen.len() > 3 && seen.windows(2).all(|two| two[0] != two[1]), "{tag:?}");
        for side in BOTH {
            let part = &inventory::<Jimu>(&folders.store(side)).unwrap()[0];
            assert_eq!(part.given_up.steps, attempts, "{tag:?} {count}");
            let bound = part.given_up.bound_log2;
            assert_eq!(bound.is_some_and(|bound| bound < -46.0), attempts > 0, "{bound:?}");
        }
        let did = folders.runs(&program, Lacking::Refuse, &mut Rng::replayable("test inputs"));
        let given_up = |spent: &&brickwork_protocol::CheckSpent| spent.check.contains("given up");
        assert_eq!(did.promise.unwrap().budget.iter().find(given_up).is_some(), attempts > 0);
    }
}

/// Attempts count: a garbler that breaks off after each challenge ends the filling of its epoch. Then a new
/// epoch begins, and its attempts are counted from zero.
#[test]
fn challenges_that_are_given_up_close_an_epoch() {
    Unit::ALL.into_iter().for_each(given_up_challenges_close_an_epoch);
}

fn given_up_challenges_close_an_epoch(unit: Unit) {
    let asked = toys(unit, [10, 0, 0]);
    let (risk, level) = (asked.steps(40).unwrap()[0].risk(), HashLevel::of_stock(40).unwrap());
    // The risk of this many attempts exceeds half of the budget.
    let folders = Folders::new();
    let enough = ((level.share(0.5) + 128.0).exp2() / risk as f64) as usize + 1;
    assert!(enough > 64, "{enough}");
    for round in 0..enough + 2 {
        let lines = dying(Party::Garbler, ihash::msg::OPENED, 1, &[], &SeenMessages::default());
        let broken = folders.over(lines, TestedAction::Fill(&asked));
        assert!(broken.iter().all(Result::is_err));
        // The test removes the other limit, which counts all unused attempts over all epochs. Other tests
        // check that limit.
        folders.0.forgive();
        let parts = inventory::<Jimu>(&folders.store(Party::Evaluator)).unwrap();
        assert_eq!(parts.len(), 1 + round / enough, "{round}");
    }
}

/// Rows 16, 20 and 21 of the table of attacks: a party may die at any point. Then the program's items are
/// gone at both parties, no two programs have an input label in common, and the next programs are right.
#[test]
fn rows_16_20_and_21_nothing_is_used_twice_whoever_dies() {
    Unit::ALL.into_iter().for_each(nothing_is_used_twice);
}

fn nothing_is_used_twice(unit: Unit) {
    let program = toy();
    let zeros = vec![false; 2];
    for (tag, count, party) in [
        (STAND, 2, Party::Garbler),
        (STAND, 2, Party::Evaluator),
        (msg::CHOICES, 1, Party::Evaluator),
        (ihash::msg::OPENED, 2, Party::Garbler),
        (ihash::msg::OPENINGS, 1, Party::Garbler),
        (msg::OUTPUT_LABELS, 1, Party::Evaluator),
    ] {
        let (folders, seen) = (Folders::new(), SeenMessages::default());
        let noted = ihash::msg::OPENED;
        let _ = folders.good(TestedAction::Fill(&of(&program, unit).times(4).unwrap()));
        let what = TestedAction::Run(&program, Some(unit), [&zeros, &zeros], Lacking::Refuse);
        for _ in 0..2 {
            let broken = folders.over(dying(party, tag, count, &[noted], &seen), what);
            assert!(broken.iter().any(Result::is_err), "{tag:?}");
        }
        let done = folders.over(dying(party, Tag(0), 1, &[noted], &seen), what).map(Result::unwrap);
        let clear = program.simulate(&zeros, &zeros);
        assert_eq!(done[1].outputs, program.output_bits(Party::Evaluator, &clear));
        // Only messages longer than a word or two are compared, because short ones may be equal by chance.
        let mut seen = seen.lock().unwrap().clone();
        seen.retain(|opened| opened.len() > 16);
        seen.sort();
        assert!(seen.len() >= 2 && seen.windows(2).all(|two| two[0] != two[1]), "{tag:?}");
        assert_eq!(folders.left(), items(&of(&program, unit)), "{tag:?}");
    }
}

fn everywhere(point: Point) -> hooks::StateHook<Point> {
    Box::new(move |here, bytes: &mut [u8]| {
        if here == point {
            bytes.chunks_mut(16).for_each(|block| block[3] ^= 1);
        }
    })
}

/// The way in which a party cheats: in its state, or in a message with this tag and number.
#[derive(Clone, Copy)]
enum How {
    State(Point),
    Sends(Tag, usize),
}

/// Row 16 of the table of attacks: a failed check burns the epoch, whichever party's check fails, and however
/// many items are left.
#[test]
fn row_16_a_cheat_burns_the_epoch() {
    use How::{Sends, State};
    let program = toy();
    let (opened, openings) = (ihash::msg::OPENED, ihash::msg::OPENINGS);
    let zeros = vec![false; 2];
    // A run has messages for the solderings to the first gates or copies, the labels of inputs, the sums that
    // are read, and the values for decoding.
    let runs = [
        (0, Sends(opened, 1), Cheat::Soldering),
        (0, Sends(opened, 2), Cheat::InputLabel),
        (0, Sends(opened, 3), Cheat::Permutation),
        (0, Sends(opened, 4), Cheat::Permutation),
        (0, Sends(openings, 3), Cheat::Permutation),
        (1, State(Point::OutputLabels), Cheat::OutputLabel),
    ];
    let alike = [
        (0, State(Point::OtLabels), Cheat::OtOffset),
        (0, Sends(openings, 0), Cheat::Permutation),
        (0, Sends(openings, 1), Cheat::Label),
        (1, State(Point::Choices(1)), Cheat::Choices),
    ];
    let gates = [
        (0, State(Point::GateOutputs), Cheat::OpenedGate),
        // The messages of opened gates are two lists and labels. Then come the solderings of operands and of
        // outputs.
        (0, Sends(opened, 3), Cheat::Permutation),
        (0, Sends(opened, 4), Cheat::Soldering),
        (0, Sends(opened, 5), Cheat::Permutation),
        (0, Sends(opened, 6), Cheat::Soldering),
    ];
    let components = [
        (0, State(Point::CopyOffsets(0)), Cheat::OpenedCopy),
        (0, State(Point::CopyInputs(0)), Cheat::OpenedCopy),
        (0, State(Point::CopyOutputs(0)), Cheat::OpenedCopy),
        (0, Sends(msg::TABLES, 0), Cheat::Tables),
        // The messages of opened copies are two lists and three of labels. Then come the solderings of
        // operands and of outputs, and S.
        (0, Sends(opened, 5), Cheat::Permutation),
        (0, Sends(opened, 6), Cheat::Soldering),
        (0, Sends(opened, 7), Cheat::Permutation),
        (0, Sends(opened, 8), Cheat::Soldering),
        (0, Sends(opened, 9), Cheat::Soldering),
    ];
    for (unit, own) in [(Unit::Gates, &gates[..]), (Unit::Components, &components)] {
        let asked = of(&program, unit);
        let run = TestedAction::Run(&program, Some(unit), [&zeros, &zeros], Lacking::Refuse);
        for (k, cheat) in alike.iter().chain(own).enumerate() {
            a_cheat_burns(&format!("{unit:?} {k}"), *cheat, TestedAction::Fill(&asked), (&asked, run));
        }
        for (k, cheat) in runs.iter().enumerate() {
            a_cheat_burns(&format!("{unit:?}, a run, {k}"), *cheat, run, (&asked, run));
        }
    }
}

/// Cheats on stores that have this stock, and checks that the epoch is burned.
fn a_cheat_burns(
    name: &str,
    (cheater, how, check): (usize, How, Cheat),
    what: TestedAction,
    (stock, run): (&Request, TestedAction),
) {
    let folders = Folders::new();
    let _ = folders.good(TestedAction::Fill(stock));
    let (mut left, mut right) = memory_pair();
    let mut hooks = [dealt(None), dealt(None)];
    match how {
        How::State(point) => hooks[cheater] = dealt(Some(everywhere(point))),
        How::Sends(tag, nth) => {
            let mut seen = 0;
            [&mut left, &mut right][cheater].set_tamper(Box::new(move |sent: Tag, bytes| {
                if sent == tag {
                    seen += 1;
                    if seen == nth + 1 {
                        bytes[0] ^= 1;
                    }
                }
            }));
        }
    }
    let results = folders.with((left, right), hooks, what);
    let found = results[1 - cheater].as_ref().err().map(ToString::to_string);
    let caught = results[1 - cheater].as_ref().is_err_and(|error| error.is_cheat(check));
    assert!(caught, "{name}: {check:?}, not {found:?}");
    let parts = inventory::<Jimu>(&folders.store(BOTH[1 - cheater])).unwrap();
    assert!(parts[0].state.burned().is_some_and(|why| why.contains("cheated")), "{name} {check:?}");
    // When the parties compare their stores again, the peer's remaining items are burned as well.
    let again = folders.over(memory_pair(), run);
    assert!(again.iter().all(|result| matches!(result, Err(Error::Stock(_)))), "{name} {check:?}");
}

fn known() -> hooks::StateHook<Point> {
    Box::new(|point, bytes| {
        if point == Point::Challenge {
            bytes.fill(SEED);
        }
    })
}

/// Returns a hook that makes all gates or copies of each bucket bad, except the one at this position.
fn rubbish_but(place: usize, steps: &[Filling]) -> hooks::StateHook<Point> {
    let choice = Choice::expand(&Seed::from_bytes([SEED; SEED_BYTES]), &steps[0].supply());
    let bucket = steps[0].sizes.copies[0].bucket as usize;
    let kept = choice.copies[0].kept.iter().enumerate();
    let bad: BTreeSet<u32> = kept.filter(|(k, _)| k % bucket != place).map(|(_, &copy)| copy).collect();
    let mut label = 0;
    Box::new(move |point, bytes: &mut [u8]| match point {
        Point::Offset => label = bytes.len(),
        Point::GateOutputs => bad.iter().for_each(|gate| bytes[*gate as usize * label] ^= 2),
        // Changes the rows of the last output.
        Point::CopyTables(0, copy) if bad.contains(&copy) => {
            let first = bytes.len() - 2 * label;
            bytes[first..].iter_mut().for_each(|byte| *byte ^= 2);
        }
        _ => {}
    })
}

/// Row 5 of the table of attacks: one good gate or copy is enough, at any position of any bucket. The first
/// one may be bad, although the program and all others are soldered to it.
#[test]
fn row_05_one_good_gate_or_copy_anywhere_is_enough() {
    for unit in Unit::ALL {
        let (program, three) = (toy(), toy().repeat(3).unwrap());
        let asked = of(&program, unit).times(4).unwrap();
        let steps = asked.steps(40).unwrap();
        let bucket = steps[0].sizes.copies[0].bucket as usize;
        assert!(bucket > 4, "{bucket}");
        // With the last value, a bucket has no good gate or copy.
        for place in [0, 1, 2, bucket / 2, bucket - 1, bucket] {
            let folders = Folders::new();
            let hooks = [dealt(Some(rubbish_but(place, &steps))), dealt(Some(known()))];
            let _ = folders.with(memory_pair(), hooks, TestedAction::Fill(&asked)).map(Result::unwrap);
            let mut rng = Rng::replayable("test inputs");
            if place < bucket {
                // One program uses the first bucket of a batch, and the other one further buckets.
                for program in [&program, &three] {
                    let _ = folders.runs(program, Lacking::Refuse, &mut rng);
                }
                continue;
            }
            let zeros = vec![false; 2];
            let run = TestedAction::Run(&program, Some(unit), [&zeros, &zeros], Lacking::Refuse);
            let [_, evaluator] = folders.over(memory_pair(), run);
            assert!(evaluator.is_err_and(|error| error.is_cheat(Cheat::EmptyBucket)), "{unit:?}");
        }
    }
}

/// Returns a hook that makes the second gate or copy of each program's first bucket give the opposite result.
fn opposite(unit: Unit, steps: &[Filling]) -> hooks::StateHook<Point> {
    let choice = Choice::expand(&Seed::from_bytes([SEED; SEED_BYTES]), &steps[0].supply());
    let bucket = steps[0].sizes.copies[0].bucket as usize;
    let slots_of_a_program = if unit == Unit::Gates { 2 } else { 1 };
    let places = [1, slots_of_a_program * bucket + 1];
    let bad: Vec<usize> = places.map(|place| choice.copies[0].kept[place] as usize).to_vec();
    let (mut delta, mut offsets): (Vec<u8>, Vec<u8>) = Default::default();
    let flip = |labels: &mut [u8], other: &[u8]| {
        labels.iter_mut().zip(other).for_each(|(byte, other)| *byte ^= other);
    };
    Box::new(move |point, bytes: &mut [u8]| match point {
        Point::Offset => delta = bytes.to_vec(),
        Point::GateOutputs => {
            bad.iter().for_each(|gate| flip(&mut bytes[gate * delta.len()..][..delta.len()], &delta));
        }
        // The offsets of all copies, recorded when the copies are garbled for the first time.
        Point::CopyOffsets(0) if offsets.is_empty() => offsets = bytes.to_vec(),
        Point::CopyTables(0, copy) if bad.contains(&(copy as usize)) => {
            let own = offsets[copy as usize * delta.len()..][..delta.len()].to_vec();
            // Changes both rows of the last output.
            let first = bytes.len() - 2 * own.len();
            bytes[first..].chunks_mut(own.len()).for_each(|row| flip(row, &own));
        }
        _ => {}
    })
}

/// A garbler that makes one gate or copy of a bucket give the opposite result reveals its input. The
/// evaluator gets the right outputs, burns nothing more than usual, sends the same messages, and keeps no
/// trace of the cheat.
#[test]
fn row_14_a_recovery_burns_nothing_and_later_programs_are_right() {
    Unit::ALL.into_iter().for_each(a_recovery_burns_nothing);
}

fn a_recovery_burns_nothing(unit: Unit) {
    let program = toy();
    let asked = of(&program, unit).times(2).unwrap();
    let steps = asked.steps(40).unwrap();
    let folders = Folders::new();
    let hooks = [dealt(Some(opposite(unit, &steps))), dealt(Some(known()))];
    let _ = folders.with(memory_pair(), hooks, TestedAction::Fill(&asked)).map(Result::unwrap);
    let honest = Folders::new();
    let _ = honest.good(TestedAction::Fill(&asked));
    let mut recovered = 0;
    for inputs in [[true, false, true, true], [false, true, true, false]] {
        let (x, y) = inputs.split_at(2);
        let what = TestedAction::Run(&program, Some(unit), [x, y], Lacking::Refuse);
        let [garbler, evaluator] = folders.good(what);
        let clear = program.simulate(x, y);
        assert_eq!(garbler.outputs, program.output_bits(Party::Garbler, &clear));
        assert_eq!(evaluator.outputs, program.output_bits(Party::Evaluator, &clear));
        assert!(!garbler.recovered);
        recovered += u32::from(evaluator.recovered);
        let parts = inventory::<Jimu>(&folders.store(Party::Evaluator)).unwrap();
        assert!(parts.iter().all(|part| part.state.burned().is_none()));
        // The garbler sees the same phases and bytes as in an honest run.
        let seen = |did: &Did| {
            let here = did
                .phases
                .iter()
                .map(|phase| (phase.name.clone(), phase.garbler_sent_bytes, phase.evaluator_sent_bytes));
            here.filter(|(name, ..)| *name != "setup").collect::<Vec<_>>()
        };
        assert_eq!(seen(&honest.good(what)[0]), seen(&garbler));
    }
    assert_eq!(recovered, 2, "{unit:?}");
}

#[test]
fn requests_are_cut_into_steps_that_share_their_part_of_the_budget() {
    let asked = Request { gates: (1 << 17) + 5, inputs: (1 << 16) + 1, ots: 7, ..Request::default() };
    let steps = asked.steps(40).unwrap();
    let counts = steps.iter().map(|Filling { request, .. }| [request.gates, request.inputs, request.ots]);
    let part = 1 << 16;
    let expected = [[part, 0, 0], [part, 0, 0], [5, 0, 0], [0, part, 7], [0, 1, 0]];
    assert!(counts.eq(expected));
    let all: u128 = steps.iter().map(Filling::risk).sum();
    // This is the sum of the steps' risks, in units of 2^-128.
    assert!(all < 1 << 81 && all > 1 << 77, "{all}");
    let digests: BTreeSet<_> = steps.iter().map(|step| (step.request(), step.parameters())).collect();
    assert_eq!(digests.len(), 4, "all digests differ");
    assert!(matches!(asked.times(1 << 40), Err(Error::Limit(_))));
}

/// One preprocessing can make a million gates with as many inputs, or a hundred AES, at any level. A larger
/// request is refused with a hint.
#[test]
fn a_preprocessing_has_room_for_a_million_gates() {
    let many = Request { gates: 1 << 20, inputs: 1 << 20, ots: 1 << 20, ..Request::default() };
    let aes = of(&library::aes::aes_128().unwrap(), Unit::Gates).times(100).unwrap();
    assert!(aes.gates > 196_608);
    for (security, asked) in [40, 64, 80].into_iter().flat_map(|s| [(s, &many), (s, &aes)]) {
        let steps = asked.steps(security).unwrap();
        let all: u128 = steps.iter().map(Filling::risk).sum();
        let share = 1 << (121 - security);
        assert!(all <= share && all > share / 16, "{security} {asked}: {all}");
        let made = steps.iter().fold(Request::default(), |all, step| all.and(&step.request).unwrap());
        assert_eq!(&made, asked);
    }
    let refused = many.times(64).unwrap().steps(40).err().unwrap().to_string();
    assert!(
        refused.contains("can make 1048576 AND gates") && refused.contains("in further calls"),
        "{refused}"
    );
}

/// Each component of a program is made in steps of its own. Each step has its part of the budget, and makes
/// as many buckets as fit into both parties' memory. A component is refused if a single bucket of it is too
/// large.
#[test]
fn components_are_cut_into_steps_that_fit_memory() {
    let aes = library::aes::aes_128().unwrap();
    for (security, times) in [(40, 1), (40, 300), (80, 300)] {
        let asked = of(&aes, Unit::Components).times(times).unwrap();
        let steps = asked.steps(security).unwrap();
        let all: u128 = steps.iter().map(Filling::risk).sum();
        let share = 1 << (121 - security);
        assert!(all <= share && all > share / 16, "{security} {asked}: {all}");
        let made = steps.iter().fold(Request::default(), |all, step| all.and(&step.request).unwrap());
        assert_eq!(made, asked);
        let most = steps.iter().map(|step| (step.bytes(), step.request.components.len())).max();
        assert!(most.is_some_and(|(bytes, kinds)| bytes < 1 << 29 && kinds == 1), "{most:?}");
        assert_eq!(steps.len() > asked.components.len() + 1, times > 1, "{}", steps.len());
    }
    let mut builder = Builder::new(2);
    let mut wires = builder.all_inputs();
    (0..3_000_000).for_each(|k| wires.push(builder.and(wires[k], wires[k + 1])));
    let large = Component {
        name: "large".into(),
        inputs: vec![Port::new("in", Type::Uint(2))],
        outputs: vec![Port::new("out", Type::Uint(1))],
        circuit: Arc::new(builder.finish(&wires[wires.len() - 1..]).unwrap()),
    };
    let mut asked = Request::default();
    asked.add(&large, 1);
    let refused = asked.steps(40).err().unwrap().to_string();
    let many = toys(Unit::Components, [1 << 32, 0, 0]).steps(40).err().unwrap().to_string();
    assert!(many.contains("a hundred steps of components") && many.contains("in further calls"), "{many}");
    assert!(refused.contains("large is too large for a store") && refused.contains("cut it"), "{refused}");
}
