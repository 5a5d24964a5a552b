//! Rows are those of the table of attacks (docs/concepts/security.md, section 14).

use std::collections::BTreeMap;

use super::*;
use crate::adversary::{Hooks, Point, SEED, chosen, random_inputs, random_program, toy};
use crate::parameters::{Parameters, stock_share};
use crate::{Cheat, msg};
use brickwork_base::random::Rng;
use brickwork_circuit::{Port, ProgramBuilder, Recipient, Type, library};
use brickwork_harness::stores::{
    BOTH, ConnectionEnds, SeenMessages, Stores, check_bound, check_cuts, dying, left, terms,
};
use brickwork_primitives::hooks;
use brickwork_protocol::ItemKind;
use brickwork_protocol::stock::inventory::{executions, inventory};
use brickwork_protocol::stock::msg::STAND;
use brickwork_protocol::{Promise, Unobserved};
use brickwork_store::GivenUp;
use brickwork_testing::Replayable as _;
use brickwork_wire::{Tag, memory_pair};

/// The purpose of one connection.
#[derive(Clone, Copy)]
enum TestedAction<'w> {
    Fill(&'w Request),
    Build(&'w Program, Lacking),
    Run(&'w Program, [&'w [bool]; 2], Lacking),
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
        TestedAction::Build(program, lacking) => {
            let (made, line) = line.build(program, lacking)?;
            Ok(Did { made, phases: line.close()?, ..Did::default() })
        }
        TestedAction::Run(program, inputs, lacking) => {
            let (done, line) = line.run(program, inputs[party as usize], lacking)?;
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
        self.with(lines, [Hooks::none(), Hooks::none()], what)
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
        self.0.left::<Lego>(|epoch| {
            assert_eq!(epoch.epoch.protocol, "lego");
            assert_eq!(epoch.bound_log2.is_none(), epoch.state.burned().is_some());
            for batch in epoch.batches.iter().filter(|_| epoch.state.burned().is_none()) {
                let cuts: &[&str] = match batch.kind {
                    "gates" => &["gates", "wire authenticators"],
                    "input authenticators" => &["input authenticators"],
                    _ => &[],
                };
                check_cuts(batch, cuts);
            }
        })
    }

    /// Runs a program on random inputs, and compares the outputs with those of a plain computation. Returns
    /// the evaluator's result.
    #[track_caller]
    fn runs(&self, program: &Program, lacking: Lacking, rng: &mut Rng) -> Did {
        let inputs = random_inputs(program, rng);
        let [garbler, evaluator] = self.good(TestedAction::Run(program, [&inputs[0], &inputs[1]], lacking));
        let expected = program.simulate(&inputs[0], &inputs[1]);
        for (party, did) in BOTH.into_iter().zip([&garbler, &evaluator]) {
            assert_eq!(did.outputs, program.output_bits(party, &expected), "{party:?}");
            let promise = did.promise.as_ref().unwrap();
            assert!(promise.epoch_bound_log2.is_some());
            check_bound(promise.bound_log2, &promise.budget);
        }
        assert_eq!(garbler.made, evaluator.made);
        assert!(!garbler.recovered && !evaluator.recovered);
        evaluator
    }
}

fn of(program: &Program) -> Request {
    Request::of(program).unwrap()
}

fn items(Request { gates, inputs, ots }: Request) -> BTreeMap<String, u64> {
    left([("AND gates", gates), ("inputs", inputs), ("OTs", ots)])
}

/// The number of bytes that each party sent in these phases.
fn sent(phases: &[PhaseReport], names: &[&str]) -> [u64; 2] {
    let here = || phases.iter().filter(|phase| names.contains(&&*phase.name));
    [here().map(|p| p.garbler_sent_bytes).sum(), here().map(|p| p.evaluator_sent_bytes).sum()]
}

#[test]
fn stock_is_filled_used_up_and_made_on_the_spot() {
    let (folders, mut rng) = (Folders::new(), Rng::replayable("test inputs"));
    let program = toy();
    let done = folders.good(TestedAction::Fill(&of(&program).times(4).unwrap())).map(|did| did.filled);
    assert_eq!(done, [Some(Preprocessed { steps: 2, resumed: 0 }); 2]);
    // More items go into the same epoch while no item of it was used.
    let _ = folders.good(TestedAction::Fill(&Request { gates: 3, inputs: 0, ots: 10 }));
    let Request { gates, inputs, ots } = of(&program);
    assert_eq!(
        folders.left(),
        items(Request { gates: 4 * gates + 3, inputs: 4 * inputs, ots: 4 * ots + 10 })
    );
    for party in BOTH {
        let store = folders.store(party);
        let parts = inventory::<Lego>(&store).unwrap();
        assert_eq!(parts.len(), 1);
        assert_eq!(executions::<Lego>(&parts[0], &store, &program).unwrap(), 4);
        assert_eq!(executions::<Lego>(&parts[0], &store, &program.repeat(3).unwrap()).unwrap(), 1);
        assert!(in_stock(&store, party, &terms(), &program.repeat(4).unwrap()).unwrap());
        assert!(!in_stock(&store, party, &terms(), &program.repeat(5).unwrap()).unwrap());
    }
    let did = folders.runs(&program, Lacking::Refuse, &mut rng);
    assert_eq!(did.made, None);
    assert!(did.phases.iter().all(|phase| phase.name != "preprocess"), "the run garbles nothing");
    // Another program with the same gates uses the same stock.
    assert_eq!(folders.runs(&program.repeat(2).unwrap(), Lacking::Refuse, &mut rng).made, None);
    assert_eq!(folders.left(), items(Request { gates: gates + 3, inputs, ots: ots + 10 }));
    let two = program.repeat(2).unwrap();
    let bits = [vec![false; 4], vec![false; 4]];
    let refused = folders.over(memory_pair(), TestedAction::Run(&two, [&bits[0], &bits[1]], Lacking::Refuse));
    for result in refused {
        let why = result.err().unwrap().to_string();
        assert!(why.contains("1 AND gates, 4 inputs more than the stock has"), "{why}");
    }
    // A used epoch gets no more items. A new epoch gets everything that the program needs.
    assert_eq!(folders.runs(&two, Lacking::Make, &mut rng).made, Some(of(&two)));
    assert_eq!(folders.left(), items(Request { gates: gates + 3, inputs, ots: ots + 10 }));
    assert_eq!(folders.runs(&program, Lacking::Refuse, &mut rng).made, None);
    assert_eq!(inventory::<Lego>(&folders.store(Party::Garbler)).unwrap().len(), 2);
    let nothing = Request::default();
    let refused = Folders::new().over(memory_pair(), TestedAction::Fill(&nothing));
    assert!(refused.iter().all(|r| matches!(r, Err(Error::Usage(_)))));
}

#[test]
fn any_program_runs_from_stock() {
    let (folders, mut rng) = (Folders::new(), Rng::replayable("test programs"));
    for round in 0..8 {
        let program = random_program(&mut rng);
        let _ = folders.good(TestedAction::Fill(&of(&program)));
        if round % 2 == 0 {
            assert_eq!(
                folders.good(TestedAction::Build(&program, Lacking::Refuse)).map(|did| did.made),
                [None; 2]
            );
            assert_eq!(folders.left(), left([("random", 1)]));
        }
        assert_eq!(folders.runs(&program, Lacking::Refuse, &mut rng).made, None);
        assert_eq!(folders.left(), left([]));
    }
}

/// A program uses several batches of different cuts, with more than one record each.
#[test]
fn a_program_takes_from_many_batches_and_records() {
    let (folders, mut rng) = (Folders::new(), Rng::replayable("test inputs"));
    let program = library::millionaires().unwrap().repeat(7).unwrap();
    let once = of(&program);
    for part in [1, 2, 4] {
        let of_one = Request { gates: once.gates / 7, inputs: once.inputs / 7, ots: once.ots / 7 };
        let _ = folders.good(TestedAction::Fill(&of_one.times(part).unwrap()));
    }
    for party in BOTH {
        let parts = inventory::<Lego>(&folders.store(party)).unwrap();
        assert_eq!((parts.len(), parts[0].batches.len()), (1, 9));
    }
    let did = folders.runs(&program, Lacking::Refuse, &mut rng);
    let promise = did.promise.unwrap();
    let counted = |kind| promise.of_kind(kind).count();
    assert_eq!((counted(ItemKind::Gate), counted(ItemKind::InputAuthenticator)), (3, 3));
    assert!(
        promise
            .of_kind(ItemKind::Gate)
            .map(|batch| batch.bucket_size)
            .collect::<Vec<_>>()
            .windows(2)
            .any(|w| w[0] != w[1])
    );
    assert_eq!(folders.left(), left([]));
    assert_eq!(folders.runs(&program, Lacking::Make, &mut rng).made, Some(once));
}

/// A program skips damaged items, and its promise counts each batch once.
#[test]
fn row_23_a_program_skips_what_is_damaged() {
    let (folders, mut rng) = (Folders::new(), Rng::replayable("test inputs"));
    let program = library::millionaires().unwrap();
    let _ = folders.good(TestedAction::Fill(&of(&program).times(5).unwrap()));
    assert_eq!(folders.0.take_some_out(), 3);
    for executions in [1, 3] {
        let did = folders.runs(&program.repeat(executions).unwrap(), Lacking::Refuse, &mut rng);
        assert_eq!(did.promise.unwrap().of_kind(ItemKind::Gate).count(), 1);
    }
}

/// A program takes items from more than a hundred preprocessings, but from no more than the promise allows.
#[test]
fn a_program_draws_on_so_many_batches_as_keep_the_promise() {
    let Filling::Items(_, parameters) = of(&toy()).steps(40).unwrap().swap_remove(0) else { panic!("items") };
    let cut = origins::CutAndChoose::Gates(parameters.mixed().unwrap());
    let origins: Vec<_> = (0..2000).map(|serial| origins::Origin { serial, cut }).collect();
    let may = |count: usize| origins::promise(&origins[..count], GivenUp::default(), 40);
    let most = (1..origins.len()).take_while(|&count| may(count).is_ok()).count();
    assert!(most > 100, "{most}");
    assert!(origins::promise(&vec![origins[0]; most + 1], GivenUp::default(), 40).is_ok(), "one batch");
    let why = may(most + 1).err().unwrap().to_string();
    assert!(why.contains("use too many batches"), "{why}");
}

/// Row 19 of the table of attacks: the store refuses a request for nothing, inputs of another length, and
/// programs that are too long.
#[test]
fn row_19_what_does_not_fit_is_refused() {
    let (folders, program) = (Folders::new(), toy());
    let nothing = folders.over(memory_pair(), TestedAction::Fill(&Request::default()));
    assert!(nothing.iter().all(|refused| matches!(refused, Err(Error::Usage(_)))));
    let short = folders.over(memory_pair(), TestedAction::Run(&program, [&[], &[]], Lacking::Make));
    assert!(short.iter().all(|refused| matches!(refused, Err(Error::Input(_)))));
    let aes = library::aes::aes_128().unwrap();
    let above = |ands: u64| aes.repeat((ands / aes.and_gates()) as usize + 1).unwrap();
    let long = above(MOST_BUILT as u64);
    let built = folders.over(memory_pair(), TestedAction::Build(&long, Lacking::Refuse));
    assert!(built.iter().all(|refused| matches!(refused, Err(Error::Limit(_)))));
    assert!(matches!(Request::of(&above(1 << 24)), Err(Error::Limit(_))));
    assert!(matches!(Parameters::choose(1, (1 << 24) + 1, 40), Err(Error::Limit(_))));
}

/// Row 4 of the table of attacks: an epoch in which too much was given up gives a program no items, and loses
/// none.
#[test]
fn row_04_a_program_gets_nothing_where_too_much_was_given_up() {
    let (folders, program) = (Folders::new(), toy());
    let _ = folders.good(TestedAction::Fill(&of(&program).times(2).unwrap()));
    let _ = folders.good(TestedAction::Build(&program, Lacking::Refuse));
    let left = folders.left();
    folders.0.give_up(1 << 88);
    let inputs = random_inputs(&program, &mut Rng::replayable("test inputs"));
    let run = TestedAction::Run(&program, [&inputs[0], &inputs[1]], Lacking::Refuse);
    for refused in folders.over(memory_pair(), run) {
        let why = refused.err().unwrap().to_string();
        assert!(why.contains("given up"), "{why}");
    }
    assert_eq!(folders.left(), left);
}

/// A run prefers a built program to gates, and uses it only once. The run solders and garbles nothing online,
/// and sends as many bytes as the last phases of a run without stock.
#[test]
fn a_built_program_takes_the_inputs_alone() {
    let (folders, mut rng) = (Folders::new(), Rng::replayable("test inputs"));
    let program = toy();
    let _ = folders.good(TestedAction::Fill(&of(&program).times(4).unwrap()));
    for _ in 0..2 {
        let built = folders.good(TestedAction::Build(&program, Lacking::Refuse));
        assert_eq!(built.map(|did| did.made), [None; 2]);
    }
    for party in BOTH {
        let store = folders.store(party);
        let part = &inventory::<Lego>(&store).unwrap()[0];
        assert_eq!((part.uses, executions::<Lego>(part, &store, &program).unwrap()), (2, 4));
        let names: Vec<_> = part.batches.iter().map(|batch| batch.kind).collect();
        assert_eq!(names, ["gates", "input authenticators", "ots", "program", "program"]);
    }
    let built = folders.runs(&program, Lacking::Refuse, &mut rng);
    let mut expected = items(of(&program).times(2).unwrap());
    let _ = expected.insert("toy".into(), 1);
    assert_eq!(folders.left(), expected);
    let from_gates = [folders.runs(&program, Lacking::Refuse, &mut rng), {
        let _ = expected.remove("toy");
        assert_eq!(folders.left(), expected);
        folders.runs(&program, Lacking::Refuse, &mut rng)
    }];
    let solderings = |did: &Did| sent(&did.phases, &["build"])[0];
    assert_eq!(solderings(&built), solderings(&from_gates[0]));
    assert!(solderings(&built) + 16 * 14 < solderings(&from_gates[1]));
    let script = |program: &Program| {
        let parameters = crate::parameters(program, 40).unwrap();
        let script = crate::cost::script(program, &parameters).unwrap();
        let link = brickwork_plan::Link::LOOPBACK;
        brickwork_plan::predict(&script, &brickwork_plan::Machine::known("portable", 1), &link)
    };
    let cost = script(&program);
    let of_run = cost.phases.iter().filter(|phase| ["evaluate", "decode"].contains(&&*phase.name));
    let of_run = of_run.fold([0, 0], |[g, e], p| [g + p.garbler_sent_bytes, e + p.evaluator_sent_bytes]);
    assert_eq!(sent(&built.phases, &["evaluate", "decode"]), of_run);
    // Missing items for building are made on the spot.
    let made =
        folders.good(TestedAction::Build(&program.repeat(3).unwrap(), Lacking::Make)).map(|did| did.made);
    assert_eq!(made, [Some(of(&program.repeat(3).unwrap())); 2]);
}

/// Row 21 of the table of attacks: an interrupted filling continues. Items of a completed step are not made
/// again. Items of an interrupted step are never used, but its risk counts.
#[test]
fn row_21_an_interrupted_filling_goes_on() {
    let program = toy();
    let asked = of(&program).times(3).unwrap();
    for party in BOTH {
        // A party sends two positions of its log when the stores are compared, three in the first step, and
        // then the first one of the second step.
        for (tag, count, made, vain) in [
            (STAND, 6, 1, 0),
            (STAND, 4, 0, 1),
            (msg::TABLES, 1, 0, 0),
            (msg::CHALLENGE, 1, 0, 1),
            (msg::INPUT_SOLDERINGS, 1, 1, 1),
        ] {
            let by_garbler = [msg::TABLES, msg::INPUT_SOLDERINGS].contains(&tag);
            if tag != STAND && by_garbler != (party == Party::Garbler) {
                continue;
            }
            let folders = Folders::new();
            let broken = folders
                .over(dying(party, tag, count, &[], &SeenMessages::default()), TestedAction::Fill(&asked));
            assert!(broken.iter().all(Result::is_err));
            let done = folders.good(TestedAction::Fill(&asked)).map(|did| did.filled);
            assert_eq!(done, [Some(Preprocessed { steps: 2, resumed: made }); 2], "{tag:?} {count}");
            assert_eq!(folders.left(), items(asked));
            for side in BOTH {
                let part = &inventory::<Lego>(&folders.store(side)).unwrap()[0];
                assert_eq!(part.given_up.steps, vain, "{tag:?} {count}");
                let bound = part.given_up.bound_log2;
                assert_eq!(bound.is_some_and(|bound| bound < -47.0), vain > 0, "{bound:?}");
            }
            let did = folders.runs(&program, Lacking::Refuse, &mut Rng::replayable("test inputs"));
            let given_up = |spent: &&brickwork_protocol::CheckSpent| spent.check.contains("given up");
            assert_eq!(did.promise.unwrap().budget.iter().find(given_up).is_some(), vain > 0);
        }
    }
}

/// Attempts count: a garbler that breaks off after each challenge ends the filling of its epoch. Then a new
/// epoch begins, with a count of its own.
#[test]
fn challenges_that_are_given_up_close_an_epoch() {
    let folders = Folders::new();
    let asked = of(&toy());
    let risk = asked.steps(40).unwrap()[0].risk();
    // The risk of this many attempts exceeds half of the budget.
    let enough = ((stock_share(40, 0.5).unwrap() + 128.0).exp2() / risk as f64) as usize + 1;
    assert!(enough > 64, "{enough}");
    for round in 0..enough + 2 {
        let lines = dying(Party::Garbler, msg::OPENED_GATES, 1, &[], &SeenMessages::default());
        let broken = folders.over(lines, TestedAction::Fill(&asked));
        assert!(broken.iter().all(Result::is_err));
        // The test removes the other limit, which counts all unused attempts over all epochs. Other tests
        // check that limit.
        folders.0.forgive();
        let parts = inventory::<Lego>(&folders.store(Party::Evaluator)).unwrap();
        assert_eq!(parts.len(), 1 + round / enough, "{round}");
    }
}

/// Rows 16, 20 and 21 of the table of attacks: a party may die at any point. Then the program's items are
/// gone at both parties, no two programs have an OT or an input label in common, and the next programs are
/// right.
#[test]
fn rows_16_20_and_21_nothing_is_used_twice_whoever_dies() {
    let program = toy();
    let zeros = vec![false; 2];
    let of_run = [
        (STAND, 2, Party::Garbler),
        (STAND, 2, Party::Evaluator),
        (msg::MASKED_INPUT, 1, Party::Evaluator),
        (msg::SOLDERINGS, 1, Party::Garbler),
        (msg::INPUT_LABELS, 1, Party::Garbler),
        (msg::OUTPUT_LABELS, 1, Party::Evaluator),
    ];
    for built in [false, true] {
        for (tag, count, party) in of_run {
            if built && tag == msg::SOLDERINGS {
                continue;
            }
            let noted = if party == Party::Garbler { msg::INPUT_LABELS } else { msg::SOLDERINGS };
            let (folders, seen) = (Folders::new(), SeenMessages::default());
            let _ = folders.good(TestedAction::Fill(&of(&program).times(5).unwrap()));
            if built {
                (0..5).for_each(|_| drop(folders.good(TestedAction::Build(&program, Lacking::Refuse))));
            }
            let what = TestedAction::Run(&program, [&zeros, &zeros], Lacking::Refuse);
            for _ in 0..2 {
                let broken = folders.over(dying(party, tag, count, &[noted], &seen), what);
                assert!(broken.iter().any(Result::is_err), "{tag:?}");
            }
            for _ in 0..2 {
                let done = folders.over(dying(party, Tag(0), 1, &[noted], &seen), what).map(Result::unwrap);
                let clear = program.simulate(&zeros, &zeros);
                assert_eq!(done[1].outputs, program.output_bits(Party::Evaluator, &clear));
            }
            let mut seen = seen.lock().unwrap().clone();
            assert!(seen.len() >= 2 || built && noted == msg::SOLDERINGS);
            seen.sort();
            assert!(seen.windows(2).all(|two| two[0] != two[1]), "{tag:?}");
            let expected = if built { left([("toy", 1)]) } else { items(of(&program)) };
            assert_eq!(folders.left(), expected, "{tag:?}");
        }
    }
}

/// If building is interrupted, the items are burned, no built program is stored, and no soldering is sent
/// twice.
#[test]
fn row_21_what_is_half_built_is_gone() {
    let program = toy();
    for (tag, count, party) in [
        (STAND, 2, Party::Garbler),
        (STAND, 2, Party::Evaluator),
        (msg::SOLDERINGS, 1, Party::Garbler),
        // The positions of the logs that the parties exchange when they store the built program.
        (STAND, 3, Party::Garbler),
        (STAND, 4, Party::Evaluator),
    ] {
        let (folders, seen) = (Folders::new(), SeenMessages::default());
        let _ = folders.good(TestedAction::Fill(&of(&program).times(3).unwrap()));
        let what = TestedAction::Build(&program, Lacking::Refuse);
        let broken = folders.over(dying(party, tag, count, &[msg::SOLDERINGS], &seen), what);
        assert!(broken.iter().any(Result::is_err), "{tag:?}");
        let _ = folders.over(dying(party, Tag(0), 1, &[msg::SOLDERINGS], &seen), what).map(Result::unwrap);
        let mut expected = items(of(&program));
        let _ = expected.insert("toy".into(), 1);
        assert_eq!(folders.left(), expected, "{tag:?} {count}");
        let seen = seen.lock().unwrap();
        assert!(seen.windows(2).all(|two| two[0] != two[1]));
        let _ = folders.runs(&program, Lacking::Refuse, &mut Rng::replayable("test inputs"));
    }
}

/// Row 16 of the table of attacks: a failed check burns the epoch, whichever party's check fails, and however
/// many items are left.
#[test]
fn row_16_a_cheat_burns_the_epoch() {
    let program = toy();
    let (zeros, asked) = (vec![false; 2], of(&program));
    let run = TestedAction::Run(&program, [&zeros, &zeros], Lacking::Refuse);
    let (fill, build) = (TestedAction::Fill(&asked), TestedAction::Build(&program, Lacking::Refuse));
    let lie = |point: Point, at: usize| -> hooks::StateHook<Point> {
        Box::new(move |here, bytes: &mut [u8]| {
            if here == point {
                let at = at.min(bytes.len() - 1);
                bytes[at] ^= 1;
            }
        })
    };
    let everywhere = |point: Point| -> hooks::StateHook<Point> {
        Box::new(move |here, bytes: &mut [u8]| {
            if here == point {
                bytes.chunks_mut(16).for_each(|label| label[3] ^= 2);
            }
        })
    };
    let by_garbler: [(hooks::StateHook<Point>, Cheat, TestedAction); 12] = [
        (everywhere(Point::GateOutputs), Cheat::Opening, fill),
        (everywhere(Point::WireHashes), Cheat::WireAuthenticator, fill),
        (everywhere(Point::InputHashes), Cheat::InputAuthenticator, fill),
        (lie(Point::GateSolderings, 0), Cheat::Opening, fill),
        (lie(Point::InputSolderings, 5), Cheat::Opening, fill),
        (lie(Point::OtLabels, 5), Cheat::Opening, fill),
        (lie(Point::Solderings, 0), Cheat::Opening, build),
        (lie(Point::Solderings, usize::MAX), Cheat::Opening, run),
        (lie(Point::InputLabels, 5), Cheat::InputLabel, run),
        (lie(Point::InputLabels, 16 * 5 + 5), Cheat::Opening, run),
        (lie(Point::Indicators, 0), Cheat::Indicator, run),
        (everywhere(Point::DeltaDifferences), Cheat::Opening, fill),
    ];
    let by_evaluator = [
        (lie(Point::OtBinding, usize::MAX), Cheat::OtBinding, fill),
        (lie(Point::OutputLabels, 0), Cheat::ForgedOutput, run),
    ];
    let garblers = by_garbler.into_iter().map(|(alter, check, what)| (0, alter, check, what));
    let evaluators = by_evaluator.into_iter().map(|(alter, check, what)| (1, alter, check, what));
    for (cheater, alter, check, what) in garblers.chain(evaluators) {
        let folders = Folders::new();
        let _ = folders.good(TestedAction::Fill(&asked.times(2).unwrap()));
        let mut hooks = [Hooks::none(), Hooks::none()];
        hooks[cheater] = Hooks::lying(alter);
        let results = folders.with(memory_pair(), hooks, what);
        assert!(results[1 - cheater].as_ref().is_err_and(|error| error.is_cheat(check)), "{check:?}");
        let honest = BOTH[1 - cheater];
        let parts = inventory::<Lego>(&folders.store(honest)).unwrap();
        assert!(parts[0].state.burned().is_some_and(|why| why.contains("cheated")), "{check:?}");
        // When the parties compare their stores again, the peer's remaining items are burned as well.
        let again = folders.over(memory_pair(), run);
        assert!(again.iter().all(|result| matches!(result, Err(Error::Stock(_)))), "{check:?}");
    }
}

/// A garbler that turns one gate of a bucket into a NAND gate reveals its input. The evaluator gets the right
/// outputs, burns nothing more than usual, sends the same messages, and keeps no trace of the cheat.
#[test]
fn row_14_a_recovery_burns_nothing_and_later_programs_are_right() {
    let program = toy();
    let asked = of(&program).times(2).unwrap();
    let Filling::Items(_, Parameters { gates, .. }) = &asked.steps(40).unwrap()[0] else { panic!("gates") };
    let assigned = chosen(gates.slots, [gates.bucket, gates.opened]);
    for built in [false, true] {
        let folders = Folders::new();
        // The cheat alters the second gate of each program's first bucket.
        let bad: Vec<usize> = [1, 4 * gates.bucket as usize + 1].map(|place| assigned[place]).to_vec();
        let nand: hooks::StateHook<Point> = Box::new(move |point, bytes| {
            if point == Point::GateOutputs {
                bad.iter().for_each(|&gate| bytes[16 * gate] ^= 1);
            }
        });
        let known: hooks::StateHook<Point> = Box::new(|point, bytes| {
            if point == Point::Challenge {
                bytes.fill(SEED);
            }
        });
        let hooks = [nand, known].map(Hooks::lying);
        let _ = folders.with(memory_pair(), hooks, TestedAction::Fill(&asked)).map(Result::unwrap);
        if built {
            (0..2).for_each(|_| drop(folders.good(TestedAction::Build(&program, Lacking::Refuse))));
        }
        let honest = Folders::new();
        let _ = honest.good(TestedAction::Fill(&asked));
        for inputs in [[true, false, true, true], [false, true, true, false]] {
            let (x, y) = inputs.split_at(2);
            let what = TestedAction::Run(&program, [x, y], Lacking::Refuse);
            let [garbler, evaluator] = folders.good(what);
            let clear = program.simulate(x, y);
            assert_eq!(garbler.outputs, program.output_bits(Party::Garbler, &clear));
            assert_eq!(evaluator.outputs, program.output_bits(Party::Evaluator, &clear));
            assert!(evaluator.recovered && !garbler.recovered);
            let parts = inventory::<Lego>(&folders.store(Party::Evaluator)).unwrap();
            assert!(parts.iter().all(|part| part.state.burned().is_none()));
            if !built {
                // The garbler sent as many bytes as in an honest run.
                let as_expected = |did: &Did| sent(&did.phases, &["build", "evaluate", "decode"]);
                assert_eq!(as_expected(&honest.good(what)[0]), as_expected(&garbler));
            }
        }
    }
}

#[test]
fn requests_are_cut_into_steps_that_share_their_part_of_the_budget() {
    let asked = Request { gates: (1 << 19) + 5, inputs: (1 << 16) + 1, ots: 7 };
    let steps = asked.steps(40).unwrap();
    let counts: Vec<[u64; 3]> = steps
        .iter()
        .map(|step| match step {
            Filling::Items(Request { gates, inputs, ots }, _) => [*gates, *inputs, *ots],
            Filling::Program(..) => panic!("items"),
        })
        .collect();
    let part = 1 << 18;
    assert_eq!(counts, [[part, 0, 0], [part, 0, 0], [5, 0, 0], [0, 1 << 16, 7], [0, 1, 0]]);
    use brickwork_protocol::stock::PreprocessingStep;
    let all: u128 = steps.iter().map(Filling::risk).sum();
    // This is the sum of the steps' risks, in units of 2^-128.
    assert!(all < 1 << 81 && all > 1 << 77, "{all}");
    let digests: std::collections::BTreeSet<_> =
        steps.iter().map(|step| (step.request(), step.parameters())).collect();
    assert_eq!(digests.len(), 4, "two of the five steps are equal");
}

/// A program may have no gates, and only outputs that are inputs.
#[test]
fn a_program_without_gates_runs_from_stock() {
    let (folders, mut rng) = (Folders::new(), Rng::replayable("test inputs"));
    let port = |name: &str| Port::new(name, Type::Uint(8));
    let mut program = ProgramBuilder::new("wires", vec![port("a")], vec![port("b")]).unwrap();
    program.output(port("x"), Recipient::Evaluator, (0..8).collect()).unwrap();
    program.output(port("y"), Recipient::Garbler, (8..16).collect()).unwrap();
    let program = program.finish().unwrap();
    let _ = folders.good(TestedAction::Fill(&of(&program).times(2).unwrap()));
    let _ = folders.good(TestedAction::Build(&program, Lacking::Refuse));
    assert_eq!(folders.runs(&program, Lacking::Refuse, &mut rng).made, None);
    assert_eq!(folders.runs(&program, Lacking::Refuse, &mut rng).made, None);
}

#[test]
fn nothing_is_not_taken() {
    let folders = Folders::new();
    let _ = folders.good(TestedAction::Fill(&of(&toy())));
    let store = folders.store(Party::Garbler);
    let there = Batches::of(&store, &store.epochs().unwrap()[0].0).unwrap();
    let taken = |asked: &Request| asked.choose(&there, 40);
    assert_eq!(taken(&of(&toy())).unwrap().len(), 3);
    let why = taken(&Request::default()).unwrap_err().to_string();
    assert!(why.contains("takes nothing from the stock"), "{why}");
    let empty = ProgramBuilder::new("nothing", vec![], vec![]).unwrap();
    assert!(empty.finish().is_err());
}

/// The setup of an epoch checks that the committed offset is the offset of the OTs, even if no OTs are
/// requested, because wire authenticators depend on the offset, too.
#[test]
fn every_epoch_binds_the_offset_when_it_is_set_up() {
    let alters = |point: Point, byte: usize, bits: u8| -> hooks::StateHook<Point> {
        Box::new(move |here, bytes: &mut [u8]| {
            if here == point {
                let at = byte.min(bytes.len() - 1);
                bytes[at] ^= bits;
            }
        })
    };
    for asked in [
        Request { gates: 3, ..Request::default() },
        Request { inputs: 3, ..Request::default() },
        Request { ots: 3, ..Request::default() },
    ] {
        for (cheater, point, byte, bits, check) in [
            (0, Point::CommittedOffset, 4, 1, Cheat::Opening),
            (0, Point::CommittedOffset, 0, 1, Cheat::Indicator),
            (0, Point::OtLabels, 16 + 9, 1, Cheat::Opening),
            (1, Point::OtBinding, 16 + 3, 1, Cheat::OtBinding),
            (1, Point::OtBinding, usize::MAX, 1, Cheat::OtBinding),
        ] {
            let (folders, mut hooks) = (Folders::new(), [Hooks::none(), Hooks::none()]);
            hooks[cheater] = Hooks::lying(alters(point, byte, bits));
            let results = folders.with(memory_pair(), hooks, TestedAction::Fill(&asked));
            let caught = results[1 - cheater].as_ref().is_err_and(|error| error.is_cheat(check));
            assert!(caught, "{asked} {point:?}: {:?}", results[1 - cheater].as_ref().err());
            let epochs = folders.store(BOTH[1 - cheater]).epochs().unwrap();
            assert!(epochs.is_empty(), "{asked} {point:?}: the epoch exists");
        }
    }
}
