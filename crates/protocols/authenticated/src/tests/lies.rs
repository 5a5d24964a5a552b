//! Lies of either party, told by the real one: who notices, how often, and what it says afterwards. The rows
//! are those of docs/authenticated.md.

use brickwork_testing::Replayable as _;
use std::sync::{Mutex, mpsc};

use super::*;
use crate::hooks::Point;
use crate::parameters::{Level, Pool};
use brickwork_base::label::Delta;
use brickwork_primitives::ot::softspoken::msg::{CHECK, ROWS};
use brickwork_wire::Tag;

/// The garbler's offset, in all of these runs.
const OFFSET: u128 = 0x0123_4567_89ab_cdef_1122_3344_5566_7789;

type Alter = Box<dyn FnMut(&mut [u8]) + Send>;

/// A run with lies in it.
struct Case {
    program: Arc<Program>,
    inputs: [Vec<bool>; 2],
    level: Level,
    pool: Pool,
    lies: [Vec<(Point, Alter)>; 2],
    /// Whether a lie may succeed, as with small parameters.
    may_succeed: bool,
    /// Seven bits of an offset that a cheater guesses, at the place where they are added.
    guess: u8,
}

/// How it ended.
struct Outcome {
    results: [Result<Report, Error>; 2],
    sent: [Vec<Tag>; 2],
    expected: [Vec<bool>; 2],
    may_succeed: bool,
}

/// a·b·c as two slots of one AND gate each, of which the second has `a·b` and `c`; x is a, y is b and c.
fn chain() -> Arc<Program> {
    let mut builder = Builder::new(2);
    let [a, b] = [0, 1].map(|i| builder.all_inputs()[i]);
    let and = builder.and(a, b);
    let component = Component {
        name: "and".into(),
        inputs: vec![Port::new("a", Type::Uint(2))],
        outputs: vec![Port::new("z", Type::Uint(1))],
        circuit: Arc::new(builder.finish(&[and]).unwrap()),
    };
    let port = |name, width| vec![Port::new(name, Type::Uint(width))];
    let mut program = ProgramBuilder::new("chain", port("x", 1), port("y", 2)).unwrap();
    let and = program.component(component).unwrap();
    let first = program.slot(and, &[0, 1]).unwrap();
    let second = program.slot(and, &[first, 2]).unwrap();
    program.output(Port::new("z", Type::Uint(1)), Recipient::Both, vec![second]).unwrap();
    Arc::new(program.finish().unwrap())
}

impl Case {
    fn new(rng: &mut Rng) -> Case {
        let program = chain();
        let inputs = random_inputs(&program, rng);
        let case = Case {
            program,
            inputs,
            guess: (rng.below(128) << 1) as u8,
            level: Level::of(40).unwrap(),
            pool: Pool { size: 2, bucket: 3 },
            lies: Default::default(),
            may_succeed: false,
        };
        case.lie(Party::Garbler, Point::Offset, |offset| offset.copy_from_slice(&OFFSET.to_le_bytes()))
    }

    fn lie(mut self, party: Party, point: Point, alter: impl FnMut(&mut [u8]) + Send + 'static) -> Case {
        self.lies[party as usize].push((point, Box::new(alter)));
        self
    }

    fn run(self, rng: &mut Rng) -> Outcome {
        let Case { program, inputs, level, pool, lies, may_succeed, .. } = self;
        let mut dealer = [0; 32];
        rng.fill(&mut dealer);
        let hooks = lies.map(|mut lies| {
            // Whoever cheats does not stop at what it has made impossible itself.
            let looks_away = lies.iter().any(|(point, _)| *point != Point::Offset);
            let alter = move |point: Point, bytes: &mut [u8]| {
                lies.iter_mut().filter(|(at, _)| *at == point).for_each(|(_, alter)| alter(bytes));
            };
            Hooks {
                alter: Some(Box::new(alter)),
                level: Some(level),
                pool: Some(pool),
                sizes: None,
                dealer: Some(dealer),
                looks_away,
            }
        });
        let (mut left, mut right) = memory_pair();
        let logs = [(); 2].map(|()| Arc::new(Mutex::new(Vec::new())));
        for (channel, log) in [&mut left, &mut right].into_iter().zip(&logs) {
            let log = log.clone();
            channel.set_tamper(Box::new(move |tag, _| log.lock().unwrap().push(tag)));
        }
        let results = over((left, right), &program, 40, [&inputs[0], &inputs[1]], hooks);
        let clear = program.simulate(&inputs[0], &inputs[1]);
        Outcome {
            results,
            sent: logs.map(|log| log.lock().unwrap().clone()),
            expected: [Party::Garbler, Party::Evaluator].map(|party| program.output_bits(party, &clear)),
            may_succeed,
        }
    }
}

impl Outcome {
    /// Whether the party that does not cheat noticed, and that it said nothing it must not say: nobody is
    /// told why, no share of an output's mask leaves after a lie, and none of the evaluator's at all.
    fn caught(&self, cheater: Party) -> Option<Cheat> {
        let victim = 1 - cheater as usize;
        match &self.results[victim] {
            Ok(report) => {
                let is_right = report.outputs == self.expected[victim];
                assert!(is_right || self.may_succeed, "a wrong output was accepted");
                None
            }
            Err(Error::Peer(cheat)) => {
                let cheat = Cheat::of(*cheat).expect("a check of this protocol");
                let says = |tag| self.sent[victim].contains(&tag);
                assert!(cheater == Party::Evaluator || !says(msg::OUTPUT_MASKS), "{cheat:?}");
                let early = cheat != Cheat::Opening || !says(msg::INPUT_LABELS);
                assert!(!early || !says(msg::OUTPUT_MASKS), "{cheat:?}");
                assert!(cheat != Cheat::Labels || !says(msg::GATES));
                let told = self.results[cheater as usize].as_ref();
                assert!(
                    matches!(told, Ok(_) | Err(Error::Io(_))),
                    "{cheat:?}: the cheater was told {told:?}"
                );
                Some(cheat)
            }
            Err(other) => panic!("{other}"),
        }
    }
}

/// Flips bit `bit` of word number `word` of `bytes` bytes each.
fn flip(bytes: usize, word: usize, bit: usize) -> impl FnMut(&mut [u8]) + Send {
    move |all| all[word * bytes + bit / 8] ^= 1 << (bit % 8)
}

/// As [`flip`], of what comes in several parts.
fn flip_in_parts(bytes: usize, word: usize, bit: usize) -> impl FnMut(&mut [u8]) + Send {
    in_parts(word * bytes + bit / 8, move |byte| *byte ^= 1 << (bit % 8))
}

/// Alters a byte of what comes in several parts.
fn in_parts(at: usize, mut alter: impl FnMut(&mut u8) + Send) -> impl FnMut(&mut [u8]) + Send {
    let mut passed = 0;
    move |part| {
        at.checked_sub(passed).and_then(|at| part.get_mut(at)).into_iter().for_each(&mut alter);
        passed += part.len();
    }
}

/// Adds the garbler's offset to this label.
fn add_offset(word: usize) -> impl FnMut(&mut [u8]) + Send {
    move |all| all[16 * word..].iter_mut().zip(OFFSET.to_le_bytes()).for_each(|(byte, of)| *byte ^= of)
}

/// A lie that is always noticed, by this check.
#[track_caller]
fn always(cheater: Party, cheat: Cheat, lie: impl Fn(Case) -> Case) {
    let mut rng = Rng::replayable("test lies");
    for _ in 0..6 {
        let outcome = lie(Case::new(&mut rng)).run(&mut rng);
        assert_eq!(outcome.caught(cheater), Some(cheat));
    }
}

/// A lie that is noticed by this check with this probability: within four standard deviations.
#[track_caller]
fn at_rate(runs: u32, cheater: Party, cheat: Cheat, rate: f64, lie: impl Fn(Case) -> Case + Sync) {
    let (done, caught) = mpsc::channel();
    let lie = &lie;
    std::thread::scope(|scope| {
        // Drawn on this thread, so that the runs come again with the test's seed.
        let mut rng = Rng::replayable("test rates");
        for _ in 0..2 {
            let (done, mut rng) = (done.clone(), Rng::expand(&rng.seed(), "test half"));
            scope.spawn(move || {
                for _ in 0..runs / 2 {
                    let outcome = lie(Case::new(&mut rng)).run(&mut rng);
                    done.send(outcome.caught(cheater)).unwrap();
                }
            });
        }
    });
    drop(done);
    let all: Vec<_> = caught.iter().collect();
    assert!(all.iter().flatten().all(|found| *found == cheat), "{all:?}");
    let n = f64::from(runs / 2 * 2);
    let (seen, expected) = (all.iter().flatten().count() as f64, n * rate);
    let deviation = (n * rate * (1.0 - rate)).sqrt();
    assert!((seen - expected).abs() <= 4.0 * deviation + 1e-9, "{seen} of {n}, not {expected} ± {deviation}");
}

use Party::{Evaluator, Garbler};

#[test]
fn an_honest_run_is_not_stopped() {
    at_rate(40, Garbler, Cheat::Gates, 0.0, |case| case);
}

/// Adds 2 to the first ciphertext, and to the word that is compared, as if the other's share of x were 1.
fn bet(party: Party) -> impl Fn(Case) -> Case + Sync {
    move |case| {
        let case = case.lie(party, Point::Ciphertexts, flip(6, 0, 1));
        case.lie(party, Point::Compared, flip(6, 0, 1))
    }
}

/// A party's hashes of leaky ANDs begin where it draws when the other's OTs are checked: until then it says
/// nothing of them. Who knew before could choose two macs whose pads cancel.
#[test]
fn row_22_hashes_begin_when_ots_are_checked() {
    let mut rng = Rng::replayable("test order");
    for (victim, stops, waits) in [
        (Garbler, ROWS, msg::CIPHERTEXTS),
        (Garbler, CHECK, msg::CIPHERTEXTS),
        (Garbler, msg::OPENED, msg::TABLES),
        (Evaluator, ROWS, msg::CIPHERTEXTS),
        (Evaluator, CHECK, msg::CIPHERTEXTS),
    ] {
        let case = Case::new(&mut rng);
        let hooks = [(); 2].map(|()| Hooks { pool: Some(case.pool), ..Hooks::none() });
        let (mut left, mut right) = memory_pair();
        let said = Arc::new(Mutex::new(Vec::new()));
        let log = said.clone();
        let (own, cheater) =
            if victim == Garbler { (&mut left, &mut right) } else { (&mut right, &mut left) };
        own.set_tamper(Box::new(move |tag, _| log.lock().unwrap().push(tag)));
        // The other's message is another one than it should be: whoever looks at it, stops.
        cheater.set_tamper(Box::new(move |tag, bytes| {
            if tag == stops {
                bytes.push(0);
            }
        }));
        let results = over((left, right), &case.program, 40, [&case.inputs[0], &case.inputs[1]], hooks);
        assert!(results.iter().all(Result::is_err));
        assert!(!said.lock().unwrap().contains(&waits), "{victim:?} {stops:?}");
    }
}

#[test]
fn row_02_a_bet_on_a_mask_is_lost_half_of_the_time() {
    for party in [Garbler, Evaluator] {
        at_rate(300, party, Cheat::Equality, 0.5, bet(party));
        always(party, Cheat::Equality, |case| case.lie(party, Point::Compared, flip(6, 5, 40)));
    }
}

/// t bets are all won with probability 2^-t: three of the six leaky ANDs.
#[test]
fn row_04_bets_are_lost_one_by_one() {
    at_rate(300, Garbler, Cheat::Equality, 1.0 - 0.125, |case| {
        [0, 2, 4].into_iter().fold(case, |case, k| {
            let case = case.lie(Garbler, Point::Ciphertexts, flip(6, k, 1));
            case.lie(Garbler, Point::Compared, flip(6, k, 1))
        })
    });
}

/// With another bit the words differ by the other's offset, of which t - 1 bits are unknown.
#[test]
fn row_03_a_lie_about_a_bit_takes_the_others_offset() {
    for party in [Garbler, Evaluator] {
        always(party, Cheat::Equality, |case| case.lie(party, Point::Bits, flip(1, 0, 0)));
        at_rate(2000, party, Cheat::Equality, 1.0 - 1.0 / 128.0, |mut case| {
            (case.level.compared, case.may_succeed) = (8, true);
            let guess = case.guess;
            let case = case.lie(party, Point::Bits, flip(1, 0, 0));
            // It goes on with the lie, as the other does, and adds what it takes for the sum of both
            // differences.
            case.lie(party, Point::Compared, move |words| words[0] ^= guess)
        });
    }
}

#[test]
fn row_05_opened_differences_are_authenticated() {
    for party in [Garbler, Evaluator] {
        // Two layers of differences of two gates each; then both factors of either gate.
        for bit in 0..8 {
            always(party, Cheat::Opening, |case| case.lie(party, Point::Opened, flip(1, bit, 0)));
        }
    }
}

#[test]
fn row_06_a_coin_is_the_announced_one() {
    always(Evaluator, Cheat::Coin, |case| case.lie(Evaluator, Point::Coin, flip(1, 3, 2)));
}

/// Nobody says a share of an output's mask before the digest, whatever the evaluator's input: a garbler that
/// garbled another function would read it there. (That none is said, [`Outcome::caught`] asserts.)
#[test]
fn rows_08_and_19_another_function_is_noticed_before_outputs() {
    for y in [false, true] {
        always(Garbler, Cheat::Gates, |mut case| {
            case.inputs[1] = vec![y; 2];
            case.lie(Garbler, Point::Products, add_offset(0))
        });
    }
    for gate in [0, 1] {
        always(Garbler, Cheat::Gates, |case| case.lie(Garbler, Point::Products, add_offset(gate)));
    }
    // With the bit alone, the evaluator's label is none of the wire.
    for gate in [0, 1] {
        always(Garbler, Cheat::Gates, |case| case.lie(Garbler, Point::Colours, flip(1, gate, 0)));
    }
}

#[test]
fn row_09_a_wrong_row_is_noticed_if_it_is_used() {
    for row in 0..2 {
        at_rate(300, Garbler, Cheat::Gates, 0.5, move |case| {
            case.lie(Garbler, Point::Rows, flip(16, row, 0))
        });
    }
    for y in [false, true] {
        at_rate(300, Garbler, Cheat::Gates, 0.5, move |mut case| {
            case.inputs[1] = vec![y; 2];
            case.lie(Garbler, Point::Rows, flip(16, 2, 0))
        });
    }
}

#[test]
fn row_10_a_wrong_soldering_is_noticed_at_the_gates_behind_it() {
    for (port, gates) in [(3, 1), (0, 2)] {
        let rate = 1.0 - 0.5_f64.powi(gates);
        at_rate(300, Garbler, Cheat::Gates, rate, move |case| {
            case.lie(Garbler, Point::Solderings, flip(16, port, 77))
        });
    }
}

#[test]
fn row_11_a_soldering_does_not_negate() {
    for port in 0..4 {
        always(Garbler, Cheat::Soldering, |case| case.lie(Garbler, Point::Solderings, flip(16, port, 0)));
        always(Garbler, Cheat::Soldering, |case| case.lie(Garbler, Point::Solderings, add_offset(port)));
    }
}

#[test]
fn row_12_a_wrong_label_of_its_own_input_is_noticed_behind_it() {
    at_rate(300, Garbler, Cheat::Gates, 0.75, |case| case.lie(Garbler, Point::InputLabels, flip(16, 0, 9)));
}

#[test]
fn row_13_the_evaluators_inputs_are_its_own() {
    for wire in [1, 2] {
        always(Garbler, Cheat::InputLabel, |case| case.lie(Garbler, Point::InputLabels, add_offset(wire)));
    }
}

#[test]
fn row_14_the_answer_is_authenticated() {
    for gate in [0, 1] {
        always(Garbler, Cheat::Gates, |case| case.lie(Garbler, Point::Gates, flip_in_parts(8, gate, 5)));
    }
    at_rate(2000, Garbler, Cheat::Gates, 1.0 - 1.0 / 128.0, |mut case| {
        (case.level.tag, case.may_succeed) = (1, true);
        let guess = case.guess;
        let case = case.lie(Garbler, Point::Products, add_offset(1));
        case.lie(Garbler, Point::Gates, in_parts(1, move |tag| *tag ^= guess | 1))
    });
}

#[test]
fn rows_15_and_18_opened_masks_are_authenticated() {
    for party in [Garbler, Evaluator] {
        always(party, Cheat::Opening, |case| case.lie(party, Point::InputMasks, flip(1, 0, 0)));
        always(party, Cheat::Opening, |case| case.lie(party, Point::OutputMasks, flip(1, 0, 0)));
    }
}

#[test]
fn row_16_the_evaluator_reports_what_it_has() {
    for value in 0..6 {
        always(Evaluator, Cheat::Labels, |case| case.lie(Evaluator, Point::Report, flip(1, value, 0)));
        always(Evaluator, Cheat::Labels, |case| {
            case.lie(Evaluator, Point::ReportedTags, flip_in_parts(8, value, 11))
        });
    }
}

#[test]
fn row_17_a_label_is_guessed_once() {
    at_rate(2000, Evaluator, Cheat::Labels, 1.0 - 1.0 / 128.0, |mut case| {
        (case.level.tag, case.may_succeed) = (1, true);
        let guess = case.guess;
        // The output of the last gate, from which nothing follows but the output.
        let case = case.lie(Evaluator, Point::Report, flip(1, 5, 0));
        case.lie(Evaluator, Point::ReportedTags, in_parts(5, move |tag| *tag ^= guess | 1))
    });
}

/// The offset of a sender ends in 1 whatever it chose: both write the last bit.
#[test]
fn an_offset_that_ends_in_0_is_none() {
    let mut rng = Rng::replayable("test offset");
    let case = Case::new(&mut rng).lie(Garbler, Point::Offset, |offset| offset[0] &= !1);
    assert_eq!(case.run(&mut rng).caught(Garbler), None);
    assert_eq!(Delta::new(OFFSET & !1).bits() & 1, 1);
}
