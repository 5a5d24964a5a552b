//! Rows are those of the table of attacks (docs/concepts/security.md, section 14).

use std::sync::Arc;

use super::*;
use crate::msg;
use brickwork_base::Security;
use brickwork_base::random::Rng;
use brickwork_circuit::{Builder, Component, Port, ProgramBuilder, Recipient, Type, library};
use brickwork_harness::stores::{
    BOTH, ConnectionEnds, SeenMessages, Stores, check_keys_went_forward, check_secrets_of_a_sender, dying,
    misshapen, terms,
};
use brickwork_protocol::Model;
use brickwork_protocol::Unobserved;
use brickwork_protocol::stock::inventory::inventory;
use brickwork_protocol::stock::msg::STAND;
use brickwork_testing::Replayable as _;
use brickwork_wire::{Tag, memory_pair};

/// The purpose of one connection.
#[derive(Clone, Copy)]
enum TestedAction<'w> {
    Fill(usize),
    Run(&'w Program, usize, [&'w [bool]; 2], Lacking),
}

struct Folders(Stores);

type Did = (Vec<bool>, Option<usize>, Option<Preprocessed>, Vec<PhaseReport>);

fn one(party: Party, store: &Store, channel: Channel, what: TestedAction) -> Result<Did, Error> {
    let line = Stocked::open(party, channel, store, &terms(), Unobserved)?;
    match what {
        TestedAction::Fill(count) => {
            let (done, line) = line.preprocess(count)?;
            Ok((Vec::new(), None, Some(done), line.close()?))
        }
        TestedAction::Run(program, executions, inputs, lacking) => {
            let (done, line) = line.run(program, executions, inputs[party as usize], lacking)?;
            assert_eq!(done.promise.model, Model::SemiHonest);
            Ok((done.outputs, done.made, None, line.close()?))
        }
    }
}

/// A store of this protocol has no statistical security, even if its caller asks for one.
#[test]
fn a_store_is_opened_with_its_own_terms() {
    let folders = Folders::new();
    let opened = folders.0.meet(memory_pair(), [(), ()], |party, store, channel, ()| {
        let run = Metered::new::<SemiHonest>(channel, party, Box::new(Unobserved));
        let line = stocked::Stocked::<SemiHonest>::open(run, (), store, &terms(), &[1; 32])?;
        Ok(line.terms().security)
    });
    assert_eq!(opened.map(Result::unwrap), [Security::of(0); 2]);
}

impl Folders {
    fn new() -> Self {
        Folders(Stores::empty())
    }

    fn over(&self, lines: ConnectionEnds, what: TestedAction) -> [Result<Did, Error>; 2] {
        self.0.meet(lines, [(), ()], |party, store, channel, ()| one(party, store, channel, what))
    }

    fn good(&self, what: TestedAction) -> [Did; 2] {
        self.over(memory_pair(), what).map(Result::unwrap)
    }

    fn store(&self, party: Party) -> Store {
        self.0.store(party)
    }

    /// Returns the number of remaining OTs of each epoch that is not burned, oldest first. Checks that both
    /// parties have the same numbers.
    fn left(&self) -> Vec<u64> {
        let [garbler, evaluator] = BOTH.map(|party| {
            let store = self.store(party);
            check_keys_went_forward(&store);
            let living = inventory::<SemiHonest>(&store).unwrap();
            let living = living.into_iter().filter(|epoch| epoch.state.burned().is_none());
            living.map(|epoch| epoch.batches.iter().map(|batch| batch.left).sum()).collect::<Vec<u64>>()
        });
        assert_eq!(garbler, evaluator);
        evaluator
    }

    /// Runs a program on random inputs, and compares the outputs with those of a plain computation. Returns
    /// the number of OTs that the run had to make.
    #[track_caller]
    fn runs(&self, program: &Program, executions: usize, lacking: Lacking, rng: &mut Rng) -> Option<usize> {
        let inputs: [Vec<bool>; 2] = BOTH
            .map(|party| (0..executions * program.input_width(party)).map(|_| rng.below(2) == 1).collect());
        let did = self.good(TestedAction::Run(program, executions, [&inputs[0], &inputs[1]], lacking));
        let whole = if executions == 1 { program.clone() } else { program.repeat(executions).unwrap() };
        let ports = whole.simulate(&inputs[0], &inputs[1]);
        for (party, did) in BOTH.into_iter().zip(&did) {
            let learnt = whole.outputs().iter().zip(&ports).filter(|(output, _)| output.to.includes(party));
            let expected: Vec<bool> = learnt.flat_map(|(_, bits)| bits.clone()).collect();
            assert_eq!(did.0, expected, "{party:?} of {} x {executions}", program.name());
        }
        assert_eq!(did[0].1, did[1].1);
        did[1].1
    }
}

/// A program in which the evaluator has no input, but learns the AND of both halves of the garbler's input.
fn without_evaluator() -> Program {
    let mut builder = Builder::new(8);
    let inputs = builder.all_inputs();
    let and: Vec<_> = (0..4).map(|k| builder.and(inputs[k], inputs[k + 4])).collect();
    let component = Component {
        name: "and".into(),
        inputs: vec![Port::new("a", Type::Uint(8))],
        outputs: vec![Port::new("x", Type::Uint(4))],
        circuit: Arc::new(builder.finish(&and).unwrap()),
    };
    let mut program = ProgramBuilder::new("alone", vec![Port::new("a", Type::Uint(8))], Vec::new()).unwrap();
    let and = program.component(component).unwrap();
    let first = program.slot(and, &(0..8).collect::<Vec<_>>()).unwrap();
    let out = (first..first + 4).collect();
    program.output(Port::new("x", Type::Uint(4)), Recipient::Both, out).unwrap();
    program.finish().unwrap()
}

/// Stock is filled, used by several connections, and used up. Missing OTs are made during a run, in the
/// existing epoch, so that no OTs remain.
#[test]
fn stock_is_filled_used_up_and_made_on_the_spot() {
    let (folders, mut rng) = (Folders::new(), Rng::replayable("test inputs"));
    let (small, alone) = (library::millionaires().unwrap(), without_evaluator());
    let width = small.input_width(Party::Evaluator) as u64;
    assert_eq!(
        folders.good(TestedAction::Fill(10)).map(|did| did.2),
        [Some(Preprocessed { steps: 1, resumed: 0 }); 2]
    );
    let _ = folders.good(TestedAction::Fill(3 * width as usize));
    assert_eq!(folders.left(), [3 * width + 10]);
    assert_eq!(folders.runs(&small, 1, Lacking::Refuse, &mut rng), None);
    assert_eq!(folders.runs(&small, 2, Lacking::Refuse, &mut rng), None);
    assert_eq!(folders.left(), [10]);
    // A run in which the evaluator has no input takes one OT, so that the log gets an entry.
    assert_eq!(ots(&alone, 5).unwrap(), 1);
    assert_eq!(folders.runs(&alone, 5, Lacking::Refuse, &mut rng), None);
    assert_eq!(folders.left(), [9]);
    let bits = vec![false; width as usize];
    let refused = folders.over(memory_pair(), TestedAction::Run(&small, 1, [&bits, &bits], Lacking::Refuse));
    let why = format!("the program needs {width} OTs, but the stock has 9");
    assert!(refused.iter().all(|r| matches!(r, Err(Error::Stock(said)) if *said == why)), "{refused:?}");
    assert_eq!(folders.left(), [9]);
    let store = folders.store(Party::Evaluator);
    for (program, executions, expected) in [(&small, 1, false), (&alone, 100, true)] {
        assert_eq!(in_stock(&store, Party::Evaluator, &terms(), program, executions).unwrap(), expected);
    }
    drop(store);
    assert_eq!(folders.runs(&small, 1, Lacking::Make, &mut rng), Some(width as usize - 9));
    // An epoch without remaining OTs is burned when both parties have noticed it. A new epoch has another
    // offset.
    assert_eq!(folders.left(), [0]);
    assert_eq!(folders.runs(&alone, 1, Lacking::Make, &mut rng), Some(1));
    let epochs = inventory::<SemiHonest>(&folders.store(Party::Garbler)).unwrap();
    // Epochs that were made in the same second have no order.
    let mut seen: Vec<_> = epochs.iter().map(|epoch| (epoch.uses, epoch.state.burned().is_some())).collect();
    seen.sort_unstable();
    assert_eq!(seen, [(1, false), (4, true)]);
    assert!(epochs.iter().all(|epoch| epoch.bound_log2.is_none() && epoch.epoch.protocol == "semi-honest"));
}

/// A run uses OTs from several batches and records, for executions in several chunks.
#[test]
fn many_executions_take_from_many_records() {
    let (folders, mut rng) = (Folders::new(), Rng::replayable("test inputs"));
    let aes = library::aes::aes_128().unwrap();
    for count in [1000, 20_000, 300 * 128 - 21_000 + 77] {
        let _ = folders.good(TestedAction::Fill(count));
    }
    assert_eq!(folders.runs(&aes, 300, Lacking::Refuse, &mut rng), None);
    assert_eq!(folders.left(), [77]);
}

#[test]
fn row_23_a_program_skips_what_is_damaged() {
    let (folders, mut rng) = (Folders::new(), Rng::replayable("test inputs"));
    let aes = library::aes::aes_128().unwrap();
    let _ = folders.good(TestedAction::Fill(3 * 128 + 2));
    assert_eq!(folders.0.take_some_out(), 1);
    for executions in [1, 2] {
        assert_eq!(folders.runs(&aes, executions, Lacking::Refuse, &mut rng), None);
    }
    assert_eq!(folders.left(), [0]);
}

/// Row 21 of the table of attacks: a large filling is split into steps. After an interruption, completed
/// steps are not repeated.
#[test]
fn row_21_an_interrupted_filling_goes_on() {
    for party in BOTH {
        let (folders, count) = (Folders::new(), (1 << 20) + 5);
        // A party sends two positions of its log when the stores are compared, three in the first step, and
        // then the first one of the second step.
        let broken =
            folders.over(dying(party, STAND, 6, &[], &SeenMessages::default()), TestedAction::Fill(count));
        assert!(broken.iter().all(Result::is_err), "{broken:?}");
        assert_eq!(folders.left(), [1 << 20]);
        let done = folders.good(TestedAction::Fill(count)).map(|did| did.2);
        assert_eq!(done, [Some(Preprocessed { steps: 2, resumed: 1 }); 2]);
        assert_eq!(folders.left(), [count as u64]);
    }
}

/// Rows 16, 20 and 21 of the table of attacks: a party may die at any point. Then the program's OTs are gone
/// at both parties, no two programs have an OT in common, and the next programs are right.
#[test]
fn rows_16_20_and_21_nothing_is_used_twice_whoever_dies() {
    let program = library::millionaires().unwrap();
    let width = program.input_width(Party::Evaluator);
    let zeros = vec![false; width];
    for (tag, count, party) in [
        (STAND, 2, Party::Garbler),
        (STAND, 2, Party::Evaluator),
        (msg::CORRECTIONS, 1, Party::Evaluator),
        (msg::KEYS, 1, Party::Garbler),
        (msg::INPUT_LABELS, 1, Party::Garbler),
        (msg::TABLES, 1, Party::Garbler),
        (msg::DECODING, 1, Party::Garbler),
        (msg::COLOURS, 1, Party::Evaluator),
    ] {
        let (folders, seen) = (Folders::new(), SeenMessages::default());
        let _ = folders.good(TestedAction::Fill(5 * width));
        let what = TestedAction::Run(&program, 1, [&zeros, &zeros], Lacking::Refuse);
        for _ in 0..2 {
            let broken = folders.over(dying(party, tag, count, &[msg::CORRECTIONS], &seen), what);
            assert!(broken.iter().any(Result::is_err), "{tag:?}");
        }
        for _ in 0..2 {
            let done =
                folders.over(dying(party, Tag(0), 1, &[msg::CORRECTIONS], &seen), what).map(Result::unwrap);
            assert_eq!(done[1].0, vec![false; done[1].0.len()], "the inputs are equal");
        }
        // All inputs are 0, so the evaluator sends its random choices, which differ for different OTs.
        let mut seen = seen.lock().unwrap().clone();
        assert!(seen.len() >= 2);
        seen.sort();
        assert!(seen.windows(2).all(|two| two[0] != two[1]), "{tag:?}");
        assert_eq!(folders.left(), [width as u64], "{tag:?}: two died and two ran");
    }
}

/// Row 16 of the table of attacks: a message of a wrong length is refused, and the epoch is burned.
#[test]
fn row_16_a_malformed_message_burns_the_epoch() {
    let program = library::millionaires().unwrap();
    let width = program.input_width(Party::Evaluator);
    let zeros = vec![false; width];
    for (tag, by_garbler) in [(msg::CORRECTIONS, false), (msg::TABLES, true)] {
        for longer in [true, false] {
            let folders = Folders::new();
            let _ = folders.good(TestedAction::Fill(3 * width));
            let what = TestedAction::Run(&program, 1, [&zeros, &zeros], Lacking::Refuse);
            let cheater = if by_garbler { Party::Garbler } else { Party::Evaluator };
            let [garbler, evaluator] = folders.over(misshapen(cheater, tag, longer), what);
            let (honest, party) =
                if by_garbler { (evaluator, Party::Evaluator) } else { (garbler, Party::Garbler) };
            assert!(honest.is_err_and(|error| error.is_cheat(crate::Cheat::UnexpectedMessage)), "{tag:?}");
            let epochs = inventory::<SemiHonest>(&folders.store(party)).unwrap();
            assert!(epochs[0].state.burned().is_some_and(|why| why.contains("cheated")));
        }
    }
}

/// A request for no OTs is refused. If a run has enough OTs but could not take them, it gets new ones.
#[test]
fn a_run_that_lacks_nothing_gets_new_ots() {
    let (folders, program) = (Folders::new(), without_evaluator());
    let nothing = folders.over(memory_pair(), TestedAction::Fill(0));
    assert!(nothing.iter().all(|refused| matches!(refused, Err(Error::Usage(_)))));
    let _ = folders.good(TestedAction::Fill(1));
    let store = folders.store(Party::Garbler);
    let (epoch, layout) = (store.epochs().unwrap()[0].0, Layout::new(&program, 1).unwrap());
    assert_eq!(side::missing(&store, Some(epoch), &layout).unwrap(), 1);
}

/// A run that would exceed the limits of the promise is refused before OTs are taken.
#[test]
fn a_run_that_would_garble_too_much_is_refused() {
    let aes = library::aes::aes_128().unwrap();
    let most = (1u64 << 40) / aes.and_gates();
    for (executions, good) in
        [(1, true), (u64::from(u32::MAX) / 128, true), (1 + u64::from(u32::MAX) / 128, false)]
    {
        assert_eq!(ots(&aes, executions as usize).is_ok(), good && executions <= most, "{executions}");
    }
    let refused = ots(&without_evaluator(), (1 << 38) + 1);
    assert!(matches!(refused, Err(Error::Limit(why)) if why.contains("fewer --executions")));
    assert_eq!(ots(&without_evaluator(), 1 << 38).unwrap(), 1);
}

#[test]
fn row_25_secrets_that_are_none_are_refused() {
    check_secrets_of_a_sender::<SemiHonest>();
}
