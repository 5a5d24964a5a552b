//! Cheats with stock on disk: the honest party durably burns everything under the same secrets, and refuses a
//! retry before it sends anything that depends on them (row d of every cheat, rows 16, 24, 25).
//!
//! Rows are those of the table of attacks (docs/concepts/security.md, section 14).

use brickwork_testing::Replayable as _;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use super::harness::toy;
use crate::Cheat;
use crate::hooks::{Hooks, Point};
use crate::proposal::CutMessage;
use crate::stored::{Lacking, Stocked};
use crate::{Request, msg};
use brickwork_base::random::Rng;
use brickwork_base::{Error, Security};
use brickwork_circuit::{Party, Program};
use brickwork_harness::stores::check_keys_went_forward;
use brickwork_protocol::{Terms, Unobserved};
use brickwork_store::{Store, StoreKey};
use brickwork_wire::{Crossings, Tag, Tamper, counting_pair, memory_pair};

const KEY: StoreKey = StoreKey::from_bytes([7; 32]);

const TERMS: Terms = Terms {
    security: Security::of(40),
    threads: 1,
    table_memory: brickwork_protocol::TABLE_MEMORY,
    identities: [[1; 32], [2; 32]],
    post_quantum: false,
};

fn store(root: &Path, party: Party) -> Store {
    Store::open(&root.join(format!("{party:?}")), &KEY).unwrap()
}

/// Returns whether a party's stock is burned, which means that its secrets and segments are removed.
fn is_burned(root: &Path, party: Party) -> bool {
    let segments = std::fs::read_dir(root.join(format!("{party:?}")).join("segments")).unwrap().count();
    let store = store(root, party);
    let epochs = store.epochs().unwrap();
    assert!(!epochs.is_empty());
    let burned = epochs
        .iter()
        .all(|(id, _)| store.state(id).unwrap().burned().is_some() && store.secrets(id).is_err());
    assert!(!burned || segments == 0);
    burned
}

type Alter = Box<dyn FnMut(&mut [u8]) + Send + Sync>;

/// The lies of one party, in its state or in a message.
#[derive(Default)]
struct Cheater {
    state: Vec<(Point, Alter)>,
    message: Option<Tamper>,
}

impl Cheater {
    fn alters(point: Point, place: usize, bits: u8) -> Self {
        Cheater::default().and(point, place, bits)
    }

    /// Adds a lie that flips these bits at this place.
    fn and(mut self, point: Point, place: usize, bits: u8) -> Self {
        self.state.push((point, Box::new(move |bytes: &mut [u8]| bytes[place] ^= bits)));
        self
    }

    fn rewrites(tag: Tag, rewrite: impl Fn(&mut Vec<u8>) + Send + 'static) -> Self {
        let tamper = move |sent: Tag, bytes: &mut Vec<u8>| {
            if sent == tag {
                rewrite(bytes);
            }
        };
        Cheater { message: Some(Box::new(tamper)), ..Cheater::default() }
    }
}

#[derive(Clone, Copy)]
enum TestedAction {
    Fill,
    /// A filling without OTs, so programs make their own.
    FillWithoutOts,
    Run,
    /// A run in which all bits of the evaluator's input are this bit.
    RunOn(bool),
}

fn connect(
    root: &Path,
    program: &Arc<Program>,
    what: TestedAction,
    mut cheaters: [Cheater; 2],
) -> [Result<(), Error>; 2] {
    let (mut left, mut right) = memory_pair();
    let mut rng = Rng::replayable("test inputs");
    let mut inputs = [Party::Garbler, Party::Evaluator]
        .map(|party| -> Vec<bool> { (0..program.input_width(party)).map(|_| rng.below(2) == 1).collect() });
    if let TestedAction::RunOn(bit) = what {
        inputs[Party::Evaluator as usize].fill(bit);
    }
    let mut hooks = [0, 1].map(|i| {
        let mut lies = std::mem::take(&mut cheaters[i].state);
        if lies.is_empty() {
            return Hooks::none();
        }
        Hooks::lying(move |point, bytes| {
            lies.iter_mut().filter(|(at, _)| *at == point).for_each(|(_, alter)| alter(bytes));
        })
    });
    for (channel, cheater) in [&mut left, &mut right].into_iter().zip(&mut cheaters) {
        if let Some(tamper) = cheater.message.take() {
            channel.set_tamper(tamper);
        }
    }
    let ots = program.input_width(Party::Evaluator);
    let request = Request { ots: matches!(what, TestedAction::Fill).then_some(ots), ..Request::of(program) };
    let one = |party, channel, input: Vec<bool>, hooks| {
        let (store, observer) = (store(root, party), Unobserved);
        let session = Stocked::open_with(party, channel, &store, &TERMS, &CutMessage::NONE, observer, hooks)?;
        match what {
            TestedAction::Fill | TestedAction::FillWithoutOts => {
                session.preprocess(std::slice::from_ref(&request))?.1.close().map(drop)
            }
            TestedAction::Run | TestedAction::RunOn(_) => {
                session.run(program, &input, Lacking::Refuse)?.1.close().map(drop)
            }
        }
    };
    let [x, y] = std::mem::take(&mut inputs);
    let [g, e] = std::mem::replace(&mut hooks, [Hooks::none(), Hooks::none()]);
    let one = &one;
    std::thread::scope(|scope| {
        let garbler = scope.spawn(move || one(Party::Garbler, left, x, g));
        let evaluator = one(Party::Evaluator, right, y, e);
        [garbler.join().unwrap(), evaluator]
    })
}

/// Both parties are honest, and the evaluator checks that no copy gives a label that is refused.
fn honest() -> [Cheater; 2] {
    let good: Alter = Box::new(|refused| assert!(refused.iter().all(|byte| *byte == 0), "a bad copy"));
    [Cheater::default(), Cheater { state: vec![(Point::Refused, good)], message: None }]
}

fn by(party: Party, cheater: Cheater) -> [Cheater; 2] {
    let mut cheaters: [Cheater; 2] = Default::default();
    cheaters[party as usize] = cheater;
    cheaters
}

/// Every copy of every bucket is still good after storage in several batches and records. The outputs alone
/// would not show a bad copy beside a good one.
#[test]
fn row_05_what_was_stored_is_good_down_to_the_last_copy() {
    let (folder, program) = (tempfile::tempdir().unwrap(), toy());
    for what in [
        TestedAction::Fill,
        TestedAction::Fill,
        TestedAction::Run,
        TestedAction::Fill,
        TestedAction::Run,
        TestedAction::Run,
    ] {
        connect(folder.path(), &program, what, honest()).into_iter().for_each(Result::unwrap);
        for party in [Party::Garbler, Party::Evaluator] {
            check_keys_went_forward(&store(folder.path(), party));
        }
    }
}

/// Plays a cheat in a run or a filling. The other party must end with this cheat and never use the epoch
/// again.
fn burns(program: &Arc<Program>, cheater: Party, what: TestedAction, cheat: Cheat, cheats: Cheater) {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    if let TestedAction::Run = what {
        connect(root, program, TestedAction::Fill, honest()).into_iter().for_each(Result::unwrap);
    }
    let results = connect(root, program, what, by(cheater, cheats));
    ends_burned(root, program, cheater, cheat, &results);
}

/// Checks the end of a cheat: the other party detected it and has burned the epoch, which is never used
/// again.
fn ends_burned(
    root: &Path,
    program: &Arc<Program>,
    cheater: Party,
    cheat: Cheat,
    results: &[Result<(), Error>; 2],
) {
    let honest_party = if cheater == Party::Garbler { Party::Evaluator } else { Party::Garbler };
    let detected = &results[honest_party as usize];
    assert!(
        matches!(detected, Err(Error::Peer(found)) if *found == cheat),
        "{detected:?} instead of {cheat:?}"
    );
    // The cheater found the connection closed, as after any error, or had finished before.
    assert!(
        matches!(results[cheater as usize], Ok(()) | Err(Error::Io(_))),
        "{:?}",
        results[cheater as usize]
    );
    assert!(is_burned(root, honest_party), "not burned");
    // The cheater's store does not know about the burn. A retry is refused, and burns the cheater's part,
    // too.
    assert!(!is_burned(root, cheater));
    let retry = connect(root, program, TestedAction::Run, honest());
    assert!(retry.iter().all(|result| matches!(result, Err(Error::Stock(_)))), "{retry:?}");
    assert!(is_burned(root, cheater));
}

#[test]
fn row_10_a_wrong_soldering_burns_the_evaluators_epoch() {
    burns(
        &toy(),
        Party::Garbler,
        TestedAction::Run,
        Cheat::Opening,
        Cheater::alters(Point::ProgramSolderings(0), 3, 4),
    );
}

#[test]
fn row_13_wrong_labels_burn_the_evaluators_epoch() {
    burns(
        &toy(),
        Party::Garbler,
        TestedAction::Run,
        Cheat::Opening,
        Cheater::alters(Point::InputChoices, 0, 1),
    );
}

#[test]
fn row_06_a_wrong_delta_difference_burns_the_evaluators_epoch_while_it_is_filled() {
    burns(
        &toy(),
        Party::Garbler,
        TestedAction::Fill,
        Cheat::Opening,
        Cheater::alters(Point::DeltaDifferences(0), 3, 4),
    );
}

#[test]
fn row_15_forged_outputs_burn_the_garblers_epoch() {
    burns(
        &toy(),
        Party::Evaluator,
        TestedAction::Run,
        Cheat::ForgedOutput,
        Cheater::alters(Point::OutputLabels, 3, 4),
    );
}

#[test]
fn row_05_forged_ots_burn_the_garblers_epoch_while_it_is_filled() {
    burns(
        &toy(),
        Party::Evaluator,
        TestedAction::Fill,
        Cheat::OtBinding,
        Cheater::alters(Point::OtBinding, 3, 4),
    );
}

/// The number of the garbler's input wires in the toy program; the evaluator has as many.
const OWN: usize = 3;

/// A program from stock makes its OTs. The last proof covers the binding of the OTs, the solderings, V and σ,
/// after the evaluator has sent its masked input. After any lie of the garbler, alone or with matching lies,
/// the evaluator ends in the same way for both inputs: at the same place, after the same messages, with
/// everything burned.
#[test]
fn row_12_lies_about_ots_made_on_the_spot_end_the_same_for_every_input() {
    type Lie = fn() -> Cheater;
    let no: Lie = Cheater::default;
    // The garbler's lies while the epoch begins and in the run, and the cheat that the evaluator detects.
    let plays: [(&str, Lie, Lie, Cheat); 9] = [
        // R' differs from R only in the lowest bit. With matching lies about e and V, the opening is the
        // label of the opposite bit.
        (
            "R', e and V by the lowest bit",
            no,
            || {
                Cheater::alters(Point::OtLabels, 16, 1).and(Point::InputChoices, 1, 1).and(
                    Point::InputLabels,
                    16 * (OWN + 1),
                    1,
                )
            },
            Cheat::Opening,
        ),
        ("R' by the lowest bit", no, || Cheater::alters(Point::OtLabels, 0, 1), Cheat::Opening),
        ("another R", no, || Cheater::alters(Point::OtLabels, 16 * 2 + 9, 0x40), Cheat::Opening),
        (
            "another offset in the OTs",
            || Cheater::alters(Point::OtOffset, 5, 8),
            || Cheater::alters(Point::OtOffset, 5, 8),
            Cheat::Opening,
        ),
        ("e", no, || Cheater::alters(Point::InputChoices, 0, 1), Cheat::Opening),
        ("V", no, || Cheater::alters(Point::InputLabels, 16 * OWN + 3, 4), Cheat::Opening),
        ("the lowest bit of V", no, || Cheater::alters(Point::InputLabels, 16 * OWN, 1), Cheat::Opening),
        ("σ of an output", no, || Cheater::alters(Point::Indicators, 0, 1), Cheat::Indicator),
        ("a soldering", no, || Cheater::alters(Point::ProgramSolderings(0), 3, 4), Cheat::Opening),
    ];

    let program = toy();
    assert_eq!(program.input_width(Party::Garbler), OWN);
    for (lie, begins, runs, cheat) in plays {
        let sent = [false, true].map(|bit| {
            let folder = tempfile::tempdir().unwrap();
            let root = folder.path();
            let begun = connect(root, &program, TestedAction::FillWithoutOts, by(Party::Garbler, begins()));
            begun.into_iter().for_each(Result::unwrap);
            let sent = Arc::new(Mutex::new(Vec::new()));
            let (heard, mut cheaters) = (sent.clone(), by(Party::Garbler, runs()));
            let record = move |tag, bytes: &mut Vec<u8>| heard.lock().unwrap().push((tag, bytes.len()));
            cheaters[Party::Evaluator as usize].message = Some(Box::new(record));
            let results = connect(root, &program, TestedAction::RunOn(bit), cheaters);
            ends_burned(root, &program, Party::Garbler, cheat, &results);
            Arc::into_inner(sent).unwrap().into_inner().unwrap()
        });
        let has = |tag| sent[0].iter().any(|(sent, _)| *sent == tag);
        assert!(has(msg::MASKED_INPUT) && !has(msg::OUTPUT_LABELS), "{lie}: {:?}", sent[0]);
        assert_eq!(sent[0], sent[1], "{lie}");
    }
    // Without lies, the run succeeds.
    let folder = tempfile::tempdir().unwrap();
    for what in [TestedAction::FillWithoutOts, TestedAction::RunOn(true)] {
        connect(folder.path(), &program, what, honest()).into_iter().for_each(Result::unwrap);
    }
}

/// Row 18 of the table of attacks: any lie of a peer about its log ends in a typed error, and nothing that
/// depends on stock is sent.
#[test]
fn rows_18_and_24_lies_about_a_log() {
    let program = toy();
    for cheater in [Party::Garbler, Party::Evaluator] {
        for lie in 0..6 {
            let folder = tempfile::tempdir().unwrap();
            let root = folder.path();
            connect(root, &program, TestedAction::Fill, honest()).into_iter().for_each(Result::unwrap);
            let rewrite = move |bytes: &mut Vec<u8>| match lie {
                // The list of epochs is empty, or has a hundred epochs of zeros, or random bytes, or one byte
                // too few.
                0 => *bytes = vec![0],
                1 => bytes.splice(.., [100].into_iter().chain([0; 6500])).for_each(drop),
                2 => bytes.iter_mut().for_each(|b| *b = b.wrapping_mul(91).wrapping_add(7)),
                3 => bytes.truncate(bytes.len() - 1),
                // The same epoch is listed twice.
                4 => {
                    let one = bytes[1..].to_vec();
                    bytes.extend(one);
                    bytes[0] = 2;
                }
                // The list has another head, which stands after the number of epochs, a name, a kind and a
                // number of entries.
                _ => bytes[1 + 32 + 1 + 8] ^= 1,
            };
            // Records what the honest party sends after the lie.
            let sent = Arc::new(Mutex::new(Vec::new()));
            let (heard, honest_party) =
                (sent.clone(), if cheater == Party::Garbler { Party::Evaluator } else { Party::Garbler });
            let mut cheaters = by(cheater, Cheater::rewrites(msg::STANDINGS, rewrite));
            cheaters[honest_party as usize].message =
                Some(Box::new(move |tag, _| heard.lock().unwrap().push(tag)));
            let results = connect(root, &program, TestedAction::Run, cheaters);
            let result = &results[honest_party as usize];
            assert!(
                matches!(result, Err(Error::Stock(_)))
                    || result.as_ref().is_err_and(|error| error.is_cheat(Cheat::UnexpectedMessage)),
                "lie {lie}: {result:?}"
            );
            assert!(results[cheater as usize].is_err());
            let greeting = [brickwork_protocol::msg::HELLO, crate::msg::DECOMPOSITION];
            let talk = [&greeting[..], &[msg::PAIR, msg::STANDINGS, msg::STAND]].concat();
            assert!(
                sent.lock().unwrap().iter().all(|tag| talk.contains(tag)),
                "lie {lie}: {:?}",
                sent.lock().unwrap()
            );
        }
    }
}

/// Row 24 of the table of attacks. A party with a different log is refused at each comparison: after the
/// greeting, with a new epoch, after a step is begun, written and made, and with the items of a program.
#[test]
fn row_24_who_stands_elsewhere_is_refused_at_every_meeting() {
    let program = toy();
    for (what, meetings) in [(TestedAction::Fill, 5), (TestedAction::Run, 2)] {
        for (cheater, at) in [Party::Garbler, Party::Evaluator]
            .into_iter()
            .flat_map(|party| (0..meetings).map(move |at| (party, at)))
        {
            let folder = tempfile::tempdir().unwrap();
            let root = folder.path();
            if let TestedAction::Run = what {
                connect(root, &program, TestedAction::Fill, honest()).into_iter().for_each(Result::unwrap);
            }
            let met = AtomicUsize::new(0);
            let rewrite =
                move |head: &mut Vec<u8>| head[7] ^= u8::from(met.fetch_add(1, Ordering::Relaxed) == at) << 3;
            let results = connect(root, &program, what, by(cheater, Cheater::rewrites(msg::STAND, rewrite)));
            let refused = &results[1 - cheater as usize];
            assert!(
                matches!(refused, Err(Error::Stock(why)) if why.contains("at another position")),
                "meeting {at}: {refused:?}"
            );
        }
    }
}

/// Row 24 of the table of attacks: both parties take the same items for a program, or none.
#[test]
fn row_24_who_takes_something_else_is_refused() {
    let program = toy();
    // The byte's position, its new value, and the expected error.
    let cases = [
        (32, None, "do not have the same stock"),
        (0, Some(2), "do not have the same stock"),
        (0, Some(7), "a message is out of order"),
        (0, Some(0), "does not allow to make them during the run"),
    ];
    for (cheater, (place, byte, why)) in
        [Party::Garbler, Party::Evaluator].into_iter().flat_map(|party| cases.map(|case| (party, case)))
    {
        let rewrite = move |plan: &mut Vec<u8>| plan[place] = byte.unwrap_or(plan[place] ^ 1);
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        connect(root, &program, TestedAction::Fill, honest()).into_iter().for_each(Result::unwrap);
        let results =
            connect(root, &program, TestedAction::Run, by(cheater, Cheater::rewrites(msg::INTENT, rewrite)));
        let refused = &results[1 - cheater as usize];
        assert!(refused.as_ref().is_err_and(|error| error.to_string().contains(why)), "{refused:?}");
        let store = store(root, if cheater == Party::Garbler { Party::Evaluator } else { Party::Garbler });
        let taken = store.epochs().unwrap().iter().any(|(id, _)| store.state(id).unwrap().is_used());
        assert!(!taken, "something was taken for what was refused");
    }
}

/// A greeting with a store has no digest of parameters, because none are proposed.
#[test]
fn row_19_nothing_is_proposed_for_a_store() {
    let program = toy();
    for (cheater, place) in
        [Party::Garbler, Party::Evaluator].into_iter().flat_map(|party| [(party, 48), (party, 79)])
    {
        let folder = tempfile::tempdir().unwrap();
        let cheats = Cheater::rewrites(brickwork_protocol::msg::HELLO, move |hello| hello[place] ^= 1);
        let results = connect(folder.path(), &program, TestedAction::Fill, by(cheater, cheats));
        let refused = &results[1 - cheater as usize];
        assert!(matches!(refused, Err(Error::Mismatch(why)) if why.contains("malformed")), "{refused:?}");
    }
}

/// The garbler proposes the cut of the first program with its greeting. The evaluator makes this cut itself,
/// and refuses it if the program differs. An empty name proposes no cut.
#[test]
fn a_cut_is_proposed_for_a_program_from_stock() {
    let given = toy();
    let whole = Arc::new(given.whole().unwrap());
    let make = |name: &str| {
        if name == "whole" {
            Ok(Arc::new(toy().whole()?))
        } else {
            Err(Error::Mismatch("no such cut".into()))
        }
    };
    let met = |program: &Arc<Program>, name: &str, accepts: bool| {
        let root = tempfile::tempdir().unwrap();
        let (left, right) = memory_pair();
        std::thread::scope(|scope| {
            let garbler = scope.spawn(|| {
                let (store, observer) = (store(root.path(), Party::Garbler), Unobserved);
                let open = match name {
                    "" => Stocked::open(Party::Garbler, left, &store, &TERMS, observer),
                    name => Stocked::open_proposing(left, &store, &TERMS, program, name, observer),
                };
                assert_eq!(
                    open.unwrap().proposed(&given, None).unwrap().1,
                    "",
                    "only an evaluator has something proposed to it"
                );
            });
            let (store, observer) = (store(root.path(), Party::Evaluator), Unobserved);
            let session = Stocked::open(Party::Evaluator, right, &store, &TERMS, observer).unwrap();
            garbler.join().unwrap();
            session.proposed(&given, accepts.then_some(&make))
        })
    };
    assert_eq!(met(&given, "", false).unwrap(), (given.clone(), String::new()));
    assert_eq!(met(&whole, "whole", true).unwrap(), (whole.clone(), "whole".to_owned()));
    for (program, name, accepts, why) in [
        (&whole, "whole", false, "accepts only its own cut"),
        (&whole, "other", true, "no such cut"),
        (&given, "whole", true, "a different program than the garbler"),
    ] {
        assert!(
            matches!(met(program, name, accepts), Err(Error::Mismatch(reason)) if reason.contains(why)),
            "{why}"
        );
    }
}

/// A program over an existing connection takes two and a half round trips until the evaluator has its
/// outputs, and half a round trip more for the garbler: one to agree on the items, and those of a step.
#[test]
fn a_program_from_stock_takes_three_round_trips() {
    let program = toy();
    let root = tempfile::tempdir().unwrap();
    let requests = [Request::of(&program), Request::of(&program)]
        .map(|request| Request { ots: Some(program.input_width(Party::Evaluator)), ..request });
    let (left, right, [at_garbler, at_evaluator]) = counting_pair();
    let begin = std::sync::Barrier::new(2);
    let play = |party: Party, channel, crossings: &Crossings| {
        let store = store(root.path(), party);
        let (_, mut line) =
            Stocked::open(party, channel, &store, &TERMS, Unobserved)?.preprocess(&requests)?;
        let mut counts = Vec::new();
        for _ in 0..2 {
            // Both parties have ended the previous run, and no message is in transit.
            begin.wait();
            crossings.reset();
            begin.wait();
            let input = vec![true; program.input_width(party)];
            let (_, next) = line.run(&program, &input, Lacking::Refuse)?;
            counts.push(crossings.get());
            line = next;
        }
        Ok::<_, Error>(counts)
    };
    let counts = std::thread::scope(|scope| {
        let garbler = scope.spawn(|| play(Party::Garbler, left, &at_garbler));
        let evaluator = play(Party::Evaluator, right, &at_evaluator);
        [garbler.join().unwrap().unwrap(), evaluator.unwrap()]
    });
    assert_eq!(counts, [[6, 6], [5, 5]]);
}
