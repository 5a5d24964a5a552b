use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};

use super::*;
use crate::Cheat;
use crate::adversary::{Hooks, Point, SEED, StateHook};
use crate::choice::Choice;
use crate::msg;
use crate::stored::needs::Filling;
use crate::tests::{random_inputs, random_program};
use brickwork_base::random::{Rng, SEED_BYTES, Seed};
use brickwork_circuit::{Builder, Component, Port, ProgramBuilder, Recipient, Type, library};
use brickwork_harness::stores::{BOTH, Lines, Seen, Stores, check_bound, check_cuts, dying, left, terms};
use brickwork_primitives::ihash;
use brickwork_session::Unobserved;
use brickwork_session::stock::Asked;
use brickwork_session::stock::msg::STAND;
use brickwork_testing::Replayable as _;
use brickwork_wire::{Tag, memory_pair};

/// Everybody knows the base OTs, which cost most of a small session.
const DEALER: [u8; 32] = [9; 32];

/// Two products, one of them of a sum, and outputs for everybody.
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

/// What one connection is for.
#[derive(Clone, Copy)]
enum What<'w> {
    Fill(&'w Request),
    Run(&'w Program, [&'w [bool]; 2], Lacking),
}

#[derive(Default)]
struct Did {
    outputs: Vec<bool>,
    recovered: bool,
    security: Option<SecurityReport>,
    made: Option<Request>,
    filled: Option<Preprocessed>,
    phases: Vec<PhaseReport>,
}

/// What a connection does to both parties' stores.
struct Folders(Stores);

fn dealt(alter: Option<StateHook>) -> Hooks {
    Hooks { alter, dealer: Some(DEALER), ..Hooks::none() }
}

fn one(party: Party, store: &Store, channel: Channel, hooks: Hooks, what: What) -> Result<Did, Error> {
    let line = Stocked::open_with(party, channel, store, &terms(), Box::new(Unobserved), hooks)?;
    match what {
        What::Fill(asked) => {
            let (done, line) = line.preprocess(asked)?;
            Ok(Did { filled: Some(done), phases: line.close()?, ..Did::default() })
        }
        What::Run(program, inputs, lacking) => {
            let (done, line) = line.run(program, inputs[party as usize], lacking)?;
            let FromStock { outputs, recovered, security, made } = done;
            let (security, phases) = (Some(security), line.close()?);
            Ok(Did { outputs, recovered, security, made, filled: None, phases })
        }
    }
}

impl Folders {
    fn new() -> Self {
        Folders(Stores::empty())
    }

    fn with(&self, lines: Lines, hooks: [Hooks; 2], what: What) -> [Result<Did, Error>; 2] {
        self.0.meet(lines, hooks, |party, store, channel, hooks| one(party, store, channel, hooks, what))
    }

    fn over(&self, lines: Lines, what: What) -> [Result<Did, Error>; 2] {
        self.with(lines, [dealt(None), dealt(None)], what)
    }

    #[track_caller]
    fn good(&self, what: What) -> [Did; 2] {
        self.over(memory_pair(), what).map(Result::unwrap)
    }

    fn store(&self, party: Party) -> Store {
        self.0.store(party)
    }

    /// What is left in epochs that are not burned, by name; both parties' is the same.
    fn left(&self) -> BTreeMap<String, u64> {
        self.0.left(inventory, |epoch| {
            assert_eq!(epoch.epoch.protocol, "jimu");
            assert_eq!(epoch.bound_log2.is_none(), epoch.state.burned().is_some());
            for batch in epoch.batches.iter().filter(|_| epoch.state.burned().is_none()) {
                let cuts: &[&str] = match batch.kind {
                    "ots" | "inputs" => &[],
                    kind => &[kind],
                };
                check_cuts(batch, cuts);
            }
        })
    }

    /// Runs on random inputs; outputs are those of the plaintext. Returns what the evaluator did.
    #[track_caller]
    fn runs(&self, program: &Program, lacking: Lacking, rng: &mut Rng) -> Did {
        let inputs = random_inputs(program, rng);
        let [garbler, evaluator] = self.good(What::Run(program, [&inputs[0], &inputs[1]], lacking));
        let expected = program.simulate(&inputs[0], &inputs[1]);
        for (party, did) in BOTH.into_iter().zip([&garbler, &evaluator]) {
            assert_eq!(did.outputs, program.output_bits(party, &expected), "{party:?}");
            let security = did.security.as_ref().unwrap();
            assert!(security.epoch_bound_log2.is_some());
            check_bound(security.bound_log2, &security.budget);
        }
        assert_eq!(garbler.made, evaluator.made);
        assert!(!garbler.recovered && !evaluator.recovered);
        evaluator
    }
}

fn of(program: &Program) -> Request {
    Request::of(program).unwrap()
}

/// What is left of a request.
fn items(Request { gates, inputs, ots }: Request) -> BTreeMap<String, u64> {
    left([("AND gates", gates), ("inputs", inputs), ("OTs", ots)])
}

/// Stock is filled, used by programs that were not known then, used up, and made on the spot where it lacks.
#[test]
fn stock_is_filled_used_up_and_made_on_the_spot() {
    let (folders, mut rng) = (Folders::new(), Rng::replayable("test inputs"));
    let program = toy();
    assert_eq!(of(&program), Request { gates: 2, inputs: 2, ots: 2 });
    let done = folders.good(What::Fill(&of(&program).times(4).unwrap())).map(|did| did.filled);
    assert_eq!(done, [Some(Preprocessed { steps: 2, resumed: 0 }); 2]);
    // More of it goes into the same epoch, before anything is taken.
    let _ = folders.good(What::Fill(&Request { gates: 3, inputs: 0, ots: 10 }));
    assert_eq!(folders.left(), items(Request { gates: 11, inputs: 8, ots: 18 }));
    for party in BOTH {
        let store = folders.store(party);
        let parts = inventory(&store).unwrap();
        assert_eq!(parts.len(), 1);
        assert_eq!(executions(&parts[0], &store, &program).unwrap(), 4);
        assert!(in_stock(&store, party, &terms(), &program.repeat(4).unwrap()).unwrap());
        assert!(!in_stock(&store, party, &terms(), &program.repeat(5).unwrap()).unwrap());
    }
    let did = folders.runs(&program, Lacking::Refuse, &mut rng);
    assert_eq!(did.made, None);
    assert!(did.phases.iter().all(|phase| phase.name != "preprocess"), "nothing is garbled in it");
    // Another program of the same gates.
    assert_eq!(folders.runs(&program.repeat(2).unwrap(), Lacking::Refuse, &mut rng).made, None);
    let rest = items(Request { gates: 5, inputs: 2, ots: 12 });
    assert_eq!(folders.left(), rest);
    let two = program.repeat(2).unwrap();
    let bits = vec![false; 4];
    for result in folders.over(memory_pair(), What::Run(&two, [&bits, &bits], Lacking::Refuse)) {
        let why = result.err().unwrap().to_string();
        assert!(why.contains("2 inputs more than there is"), "{why}");
    }
    // What is lacking is not added to an epoch that was used: another one has it all.
    assert_eq!(folders.runs(&two, Lacking::Make, &mut rng).made, Some(of(&two)));
    assert_eq!(folders.left(), rest);
    assert_eq!(inventory(&folders.store(Party::Garbler)).unwrap().len(), 2);
    let nothing = Request::default();
    let refused = Folders::new().over(memory_pair(), What::Fill(&nothing));
    assert!(refused.iter().all(|r| matches!(r, Err(Error::Usage(_)))));
}

/// Random programs: what is made for one serves it, whatever it lacks.
#[test]
fn any_program_runs_from_stock() {
    let (folders, mut rng) = (Folders::new(), Rng::replayable("test programs"));
    for _ in 0..6 {
        let program = random_program(&mut rng);
        let _ = folders.good(What::Fill(&of(&program)));
        assert_eq!(folders.runs(&program, Lacking::Refuse, &mut rng).made, None);
        assert_eq!(folders.left(), BTreeMap::new());
    }
}

/// A program that takes from several batches of different cuts; and one that would draw on too many.
#[test]
fn a_program_takes_from_many_batches() {
    let (folders, mut rng) = (Folders::new(), Rng::replayable("test inputs"));
    let program = toy().repeat(7).unwrap();
    for part in [1, 2, 4] {
        let _ = folders.good(What::Fill(&of(&toy()).times(part).unwrap()));
    }
    let did = folders.runs(&program, Lacking::Refuse, &mut rng);
    let security = did.security.unwrap();
    assert_eq!(security.copies.len(), 3);
    let buckets: BTreeSet<u32> = security.copies.iter().map(|copies| copies.amount.bucket).collect();
    assert!(buckets.len() > 1);
    assert_eq!(folders.left(), BTreeMap::new());
    // More batches than a program may draw on, each of nearly a quarter of the budget.
    let program = toy().repeat(50).unwrap();
    for _ in 0..5 {
        let _ = folders.good(What::Fill(&of(&toy()).times(10).unwrap()));
    }
    let zeros = vec![false; 100];
    for result in folders.over(memory_pair(), What::Run(&program, [&zeros, &zeros], Lacking::Refuse)) {
        let why = result.err().unwrap().to_string();
        assert!(why.contains("draw on so many batches"), "{why}");
    }
    assert_eq!(folders.runs(&program, Lacking::Make, &mut rng).made, Some(of(&program)));
}

/// Row 21: a filling that is interrupted goes on; what one of its steps made is not made again, and what
/// another began is never used, and counts.
#[test]
fn row_21_an_interrupted_filling_goes_on() {
    let program = toy();
    let asked = of(&program).times(2).unwrap();
    for (party, tag, count, made) in [
        // Two stands when the stores meet, three of the first step, and the second step's first one.
        (Party::Garbler, STAND, 6, 1),
        (Party::Evaluator, STAND, 4, 0),
        (Party::Garbler, msg::GATES, 1, 0),
        (Party::Evaluator, msg::CHALLENGE, 1, 0),
        (Party::Garbler, ihash::msg::OPENINGS, 4, 0),
    ] {
        let (folders, seen) = (Folders::new(), Seen::default());
        let noted = ihash::msg::CORRECTIONS;
        let broken = folders.over(dying(party, tag, count, &[noted], &seen), What::Fill(&asked));
        assert!(broken.iter().all(Result::is_err));
        let done = folders.over(dying(party, Tag(0), 1, &[noted], &seen), What::Fill(&asked));
        let done = done.map(|did| did.unwrap().filled);
        assert_eq!(done, [Some(Preprocessed { steps: 2, resumed: made }); 2], "{tag:?} {count}");
        assert_eq!(folders.left(), items(asked));
        // No part of a stream twice.
        let mut seen = seen.lock().unwrap().clone();
        seen.sort();
        assert!(seen.len() > 3 && seen.windows(2).all(|two| two[0] != two[1]), "{tag:?}");
        for side in BOTH {
            let part = &inventory(&folders.store(side)).unwrap()[0];
            assert_eq!(part.given_up.steps, 1, "{tag:?} {count}");
            // Wires and OTs are cut by nothing: the second step risks nothing.
            let bound = part.given_up.bound_log2;
            assert!(bound.is_none_or(|bound| bound < if made == 0 { -40.0 } else { -1000.0 }), "{bound:?}");
            assert!(bound.is_some() || made > 0);
        }
        let did = folders.runs(&program, Lacking::Refuse, &mut Rng::replayable("test inputs"));
        let given_up = |spent: &&brickwork_session::Spent| spent.check.contains("given up");
        assert_eq!(did.security.unwrap().budget.iter().find(given_up).is_some(), made == 0);
    }
}

/// Attempts count: a garbler that breaks off after each challenge ends the epoch's filling, and another one
/// is begun, which has a count of its own.
#[test]
fn challenges_that_are_given_up_close_an_epoch() {
    let folders = Folders::new();
    let asked = Request { gates: 20, ..Request::default() };
    let (risk, level) = (asked.steps(40).unwrap()[0].risk(), Level::of_stock(40).unwrap());
    // So many come to more than half of the budget: a step has a quarter at most.
    let enough = ((level.share(0.5) + 128.0).exp2() / risk as f64) as usize + 1;
    assert_eq!(enough, 3);
    for round in 0..enough + 2 {
        let lines = dying(Party::Garbler, ihash::msg::OPENED, 1, &[], &Seen::default());
        let broken = folders.over(lines, What::Fill(&asked));
        assert!(broken.iter().all(Result::is_err));
        // What is tried in vain over all epochs is another matter.
        folders.0.forgive();
        let parts = inventory(&folders.store(Party::Evaluator)).unwrap();
        assert_eq!(parts.len(), 1 + round / enough, "{round}");
    }
}

/// Rows 16, 20 and 21: wherever a party dies, what the program took is gone at both, no two programs have the
/// label of an input in common, and the next ones are right.
#[test]
fn rows_16_20_and_21_nothing_is_used_twice_whoever_dies() {
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
        let (folders, seen) = (Folders::new(), Seen::default());
        let noted = ihash::msg::OPENED;
        let _ = folders.good(What::Fill(&of(&program).times(4).unwrap()));
        let what = What::Run(&program, [&zeros, &zeros], Lacking::Refuse);
        for _ in 0..2 {
            let broken = folders.over(dying(party, tag, count, &[noted], &seen), what);
            assert!(broken.iter().any(Result::is_err), "{tag:?}");
        }
        let done = folders.over(dying(party, Tag(0), 1, &[noted], &seen), what).map(Result::unwrap);
        let clear = program.simulate(&zeros, &zeros);
        assert_eq!(done[1].outputs, program.output_bits(Party::Evaluator, &clear));
        // Of a word or two: they may be the same by chance where they are of a few bits.
        let mut seen = seen.lock().unwrap().clone();
        seen.retain(|opened| opened.len() > 16);
        seen.sort();
        assert!(seen.len() >= 2 && seen.windows(2).all(|two| two[0] != two[1]), "{tag:?}");
        assert_eq!(folders.left(), items(of(&program)), "{tag:?}");
    }
}

/// Alters everything at a point.
fn everywhere(point: Point) -> StateHook {
    Box::new(move |here, bytes: &mut [u8]| {
        if here == point {
            bytes.chunks_mut(16).for_each(|block| block[3] ^= 1);
        }
    })
}

/// Row 16: a check that fails costs the epoch, whoever fails it, and whatever is left.
#[test]
fn row_16_a_cheat_burns_the_epoch() {
    type Rewrite = (Tag, usize);
    enum How {
        State(Point),
        Sends(Rewrite),
    }
    use How::{Sends, State};
    let program = toy();
    let (zeros, asked) = (vec![false; 2], of(&program));
    let run = What::Run(&program, [&zeros, &zeros], Lacking::Refuse);
    let fill = What::Fill(&asked);
    let (opened, openings) = (ihash::msg::OPENED, ihash::msg::OPENINGS);
    let cheats: [(usize, How, Cheat, What); 15] = [
        (0, State(Point::GateOutputs), Cheat::OpenedGate, fill),
        (0, State(Point::OtLabels), Cheat::OtOffset, fill),
        (0, Sends((openings, 0)), Cheat::Permutation, fill),
        (0, Sends((openings, 1)), Cheat::Label, fill),
        // Messages of opened gates, two lists, labels; then solderings of operands and of outputs.
        (0, Sends((opened, 3)), Cheat::Permutation, fill),
        (0, Sends((opened, 4)), Cheat::Soldering, fill),
        (0, Sends((opened, 5)), Cheat::Permutation, fill),
        (0, Sends((opened, 6)), Cheat::Soldering, fill),
        (1, State(Point::Choices(1)), Cheat::Choices, fill),
        // A run: solderings to first gates, labels of inputs, sums with what is read, what decodes.
        (0, Sends((opened, 1)), Cheat::Soldering, run),
        (0, Sends((opened, 2)), Cheat::InputLabel, run),
        (0, Sends((opened, 3)), Cheat::Permutation, run),
        (0, Sends((opened, 4)), Cheat::Permutation, run),
        (0, Sends((openings, 3)), Cheat::Permutation, run),
        (1, State(Point::OutputLabels), Cheat::OutputLabel, run),
    ];
    for (k, (cheater, how, check, what)) in cheats.into_iter().enumerate() {
        let folders = Folders::new();
        let _ = folders.good(What::Fill(&asked));
        let (mut left, mut right) = memory_pair();
        let mut hooks = [dealt(None), dealt(None)];
        match how {
            State(point) => hooks[cheater] = dealt(Some(everywhere(point))),
            Sends((tag, nth)) => {
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
        assert!(caught, "{k}: {check:?}, not {found:?}");
        let parts = inventory(&folders.store(BOTH[1 - cheater])).unwrap();
        assert!(parts[0].state.burned().is_some_and(|why| why.contains("cheated")), "{check:?}");
        // And so is what the other one still has of it, when they meet again.
        let again = folders.over(memory_pair(), run);
        assert!(again.iter().all(|result| matches!(result, Err(Error::Stock(_)))), "{check:?}");
    }
}

/// A garbler that made one gate of a bucket say the opposite loses its input: the evaluator has the right
/// outputs, burns nothing, says the same, and remembers nothing.
#[test]
fn row_14_a_recovery_burns_nothing_and_later_programs_are_right() {
    let program = toy();
    let asked = of(&program).times(2).unwrap();
    let steps = asked.steps(40).unwrap();
    let choice = Choice::expand(&Seed::from_bytes([SEED; SEED_BYTES]), &steps[0].supply());
    let bucket = steps[0].sizes.copies[0].bucket as usize;
    // The second gate of the first bucket, and of the second program's.
    let bad: Vec<usize> = [1, 2 * bucket + 1].map(|place| choice.copies[0].kept[place] as usize).to_vec();
    let known: StateHook = Box::new(|point, bytes| {
        if point == Point::Challenge {
            bytes.fill(SEED);
        }
    });
    let delta = Arc::new(Mutex::new(Vec::new()));
    let opposite: StateHook = Box::new(move |point, bytes: &mut [u8]| match point {
        Point::Offset => *delta.lock().unwrap() = bytes.to_vec(),
        Point::GateOutputs => {
            let delta = delta.lock().unwrap();
            for gate in &bad {
                let label = &mut bytes[gate * delta.len()..][..delta.len()];
                label.iter_mut().zip(&*delta).for_each(|(byte, other)| *byte ^= other);
            }
        }
        _ => {}
    });
    let folders = Folders::new();
    let hooks = [dealt(Some(opposite)), dealt(Some(known))];
    let _ = folders.with(memory_pair(), hooks, What::Fill(&asked)).map(Result::unwrap);
    let honest = Folders::new();
    let _ = honest.good(What::Fill(&asked));
    let mut recovered = 0;
    for inputs in [[true, false, true, true], [false, true, true, false]] {
        let (x, y) = inputs.split_at(2);
        let what = What::Run(&program, [x, y], Lacking::Refuse);
        let [garbler, evaluator] = folders.good(what);
        let clear = program.simulate(x, y);
        assert_eq!(garbler.outputs, program.output_bits(Party::Garbler, &clear));
        assert_eq!(evaluator.outputs, program.output_bits(Party::Evaluator, &clear));
        assert!(!garbler.recovered);
        recovered += u32::from(evaluator.recovered);
        let parts = inventory(&folders.store(Party::Evaluator)).unwrap();
        assert!(parts.iter().all(|part| part.state.burned().is_none()));
        // The garbler's connection looked like that of an honest one's.
        let seen = |did: &Did| {
            let here = did
                .phases
                .iter()
                .map(|phase| (phase.name, phase.garbler_sent_bytes, phase.evaluator_sent_bytes));
            here.filter(|(name, ..)| *name != "setup").collect::<Vec<_>>()
        };
        assert_eq!(seen(&honest.good(what)[0]), seen(&garbler));
    }
    assert_eq!(recovered, 2);
}

/// A store that holds another protocol's stock is refused, with what to do about it; nothing in it changes.
#[test]
fn a_store_of_another_protocol_is_refused() {
    let (folders, program) = (Folders::new(), toy());
    folders.0.begin("lego", 40.into());
    for result in folders.over(memory_pair(), What::Fill(&of(&program))) {
        let why = result.err().unwrap().to_string();
        assert!(why.contains("made by the protocol lego") && why.contains("--store of its own"), "{why}");
    }
}

/// Where the steps of a large request are cut, each has its part of the budget.
#[test]
fn requests_are_cut_into_steps_that_share_their_part_of_the_budget() {
    let asked = Request { gates: (1 << 17) + 5, inputs: (1 << 16) + 1, ots: 7 };
    let steps = asked.steps(40).unwrap();
    let counts =
        steps.iter().map(|Filling { request: Request { gates, inputs, ots }, .. }| [*gates, *inputs, *ots]);
    let part = 1 << 16;
    let expected = [[part, 0, 0], [part, 0, 0], [5, 0, 0], [0, part, 7], [0, 1, 0]];
    assert!(counts.eq(expected));
    let all: u128 = steps.iter().map(Filling::risk).sum();
    // A quarter of 2^-40, in units of 2^-128.
    assert!(all < 1 << 86 && all > 1 << 82, "{all}");
    let digests: BTreeSet<_> = steps.iter().map(|step| (step.request(), step.parameters())).collect();
    assert_eq!(digests.len(), 4, "two are alike");
    assert!(matches!(asked.times(1 << 40), Err(Error::Limit(_))));
}

/// A million gates with as many inputs are made in one preprocessing, at any level; a hundred AES are. What
/// is too much is refused with what to do.
#[test]
fn a_preprocessing_has_room_for_a_million_gates() {
    let many = Request { gates: 1 << 20, inputs: 1 << 20, ots: 1 << 20 };
    let aes = Request::of(&library::aes::aes_128().unwrap()).unwrap().times(100).unwrap();
    assert!(aes.gates > 196_608);
    for (security, asked) in [40, 64, 80].into_iter().flat_map(|s| [(s, many), (s, aes)]) {
        let steps = asked.steps(security).unwrap();
        let all: u128 = steps.iter().map(Filling::risk).sum();
        let quarter = 1 << (126 - security);
        assert!(all <= quarter && all > quarter / 16, "{security} {asked}: {all}");
        let made = steps.iter().fold(Request::default(), |all, step| all.and(&step.request).unwrap());
        assert_eq!(made, asked);
    }
    let refused = many.times(64).unwrap().steps(40).err().unwrap().to_string();
    assert!(refused.contains("for 1048576 AND gates") && refused.contains("in several goes"), "{refused}");
}
