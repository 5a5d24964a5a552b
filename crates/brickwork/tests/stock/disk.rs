//! Tests stock on disk, over several connections.
//!
//! Rows are those of the table of attacks (docs/concepts/security.md, section 14).

use std::path::Path;

use brickwork::disk::{Epoch, EpochEntry, EpochSecrets, FillStep, GivenUp, Store, StoreKey};
use brickwork::duplo::{Duplo, FromStock, Lacking, Preprocessed, Secret, Step, Stocked, in_stock};
use brickwork::protocol::PhaseReport;
use brickwork::protocol::stock::inventory::{executions, inventory};
use tempfile::TempDir;

use super::*;

pub const KEY: StoreKey = StoreKey::from_bytes([7; 32]);

/// The folders of both parties.
pub struct Folders(TempDir);

impl Folders {
    pub fn new() -> Self {
        Folders(tempfile::tempdir().unwrap())
    }

    pub fn of(&self, party: Party) -> std::path::PathBuf {
        self.0.path().join(format!("{party:?}"))
    }

    pub fn store(&self, party: Party) -> Store {
        Store::open(&self.of(party), &KEY).unwrap()
    }

    /// Saves a copy of a party's folder under this name.
    fn keep(&self, party: Party, name: &str) {
        copy(&self.of(party), &self.0.path().join(name));
    }

    /// Makes a copy of both parties' folders in a new place.
    pub fn clone_folders(&self) -> Self {
        let clone = Folders::new();
        copy(self.0.path(), clone.0.path());
        clone
    }

    fn keep_empty(&self, party: Party) {
        drop(self.store(party));
        self.keep(party, "empty");
    }

    /// Restores a saved copy of a party's folder.
    fn restore(&self, party: Party, name: &str) {
        std::fs::remove_dir_all(self.of(party)).unwrap();
        copy(&self.0.path().join(name), &self.of(party));
    }

    /// Returns the files of batches, smallest first.
    pub fn segments(&self, party: Party) -> Vec<std::path::PathBuf> {
        let mut files: Vec<_> =
            std::fs::read_dir(self.of(party).join("segments")).unwrap().map(|f| f.unwrap().path()).collect();
        files.sort_by_key(|path| path.metadata().unwrap().len());
        files
    }

    /// Connects both parties, and runs the same closure for each with its session.
    fn connect<T: Send>(
        &self,
        work: impl Fn(Party, Stocked) -> Result<(T, Stocked), Error> + Sync,
    ) -> [Result<(T, Vec<PhaseReport>), Error>; 2] {
        self.connect_on(&terms(), work)
    }

    /// Like `connect`, with the caller's terms.
    fn connect_on<T: Send>(
        &self,
        terms: &Terms,
        work: impl Fn(Party, Stocked) -> Result<(T, Stocked), Error> + Sync,
    ) -> [Result<(T, Vec<PhaseReport>), Error>; 2] {
        let (left, right) = memory_pair();
        let one = |party, channel| {
            let (store, observer) = (Store::open(&self.of(party), &KEY)?, Unobserved);
            let session = Stocked::open(party, channel, &store, terms, observer)?;
            let (done, session) = work(party, session)?;
            Ok((done, session.close()?))
        };
        std::thread::scope(|scope| {
            let garbler = scope.spawn(|| one(Party::Garbler, left));
            let evaluator = one(Party::Evaluator, right);
            [garbler.join().unwrap(), evaluator]
        })
    }

    fn preprocess(&self, steps: &[Request]) -> [Result<Preprocessed, Error>; 2] {
        self.connect(|_, session| session.preprocess(steps)).map(|result| result.map(|(done, _)| done))
    }

    pub fn fill(&self, steps: &[Request]) {
        self.preprocess(steps).into_iter().for_each(|result| assert_eq!(result.unwrap().resumed, 0));
    }

    /// Records a given-up step in the only epoch, so that this part of 2^-40 is left beside the fixed checks.
    fn leave(&self, part: f64) {
        let fixed = (-2f64).exp2() + (-8f64).exp2();
        let risk = ((1.0 - fixed - part) * 88f64.exp2()) as u128;
        for party in BOTH {
            let store = self.store(party);
            let (id, _) = store.epochs().unwrap()[0];
            let step = FillStep { job: [9; 32], number: 0, of: 1, risk, workers: 1 };
            for entry in [EpochEntry::Fill(step), EpochEntry::Exposed, EpochEntry::Confirmed] {
                let _ = store.append(&id, &entry).unwrap();
            }
        }
    }

    fn run(
        &self,
        program: &Arc<Program>,
        inputs: &(Vec<bool>, Vec<bool>),
        lacking: Lacking,
    ) -> [Result<(FromStock, Vec<PhaseReport>), Error>; 2] {
        self.connect(|party, session| {
            let input = if party == Party::Garbler { &inputs.0 } else { &inputs.1 };
            session.run(program, input, lacking)
        })
    }

    /// Runs a program on random inputs and checks the outputs.
    fn good(&self, program: &Arc<Program>, lacking: Lacking) -> [(FromStock, Vec<PhaseReport>); 2] {
        let mut rng = draws();
        let inputs = (bits(&mut rng), bits(&mut rng));
        let results = self.run(program, &inputs, lacking).map(Result::unwrap);
        let expected = program.simulate(&inputs.0, &inputs.1);
        for (party, (result, _)) in [Party::Garbler, Party::Evaluator].into_iter().zip(&results) {
            assert_eq!(result.outputs, program.output_bits(party, &expected));
            assert!(!result.recovered && result.promise.bound_log2 <= -40.0);
        }
        results
    }
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap().map(Result::unwrap) {
        let target = to.join(entry.file_name());
        match entry.file_type().unwrap().is_dir() {
            true => copy(&entry.path(), &target),
            false => drop(std::fs::copy(entry.path(), target).unwrap()),
        }
    }
}

/// Returns one step for each component, and one for the authenticators.
pub fn steps(adders: usize, multipliers: usize, wires: usize) -> Vec<Request> {
    let none = || Request { components: Vec::new(), garbler_wires: 0, ots: None };
    let whole = request(adders, multipliers, wires);
    let mut steps: Vec<Request> =
        whole.components.iter().map(|c| Request { components: vec![c.clone()], ..none() }).collect();
    steps.push(Request { components: Vec::new(), ..whole });
    steps
}

fn refused<T: std::fmt::Debug>(results: [Result<T, Error>; 2]) {
    assert!(results.iter().all(|result| matches!(result, Err(Error::Stock(_)))), "{results:?}");
}

fn sent(phases: &[PhaseReport], name: &str) -> u64 {
    phases
        .iter()
        .filter(|phase| phase.name == name)
        .map(|phase| phase.garbler_sent_bytes + phase.evaluator_sent_bytes)
        .sum()
}

/// A program from stock can keep values, and later programs over the same connection can use them, even if
/// other programs run in between. Over the next connection such a value is refused, and nothing is lost.
#[test]
fn secrets_flow_between_programs_from_stock() {
    let folders = Folders::new();
    folders.fill(&steps(12, 6, 24));
    let (first, then) = (program(1, Recipient::Both), program(0, Recipient::Evaluator));
    let mut rng = draws();
    let [x, y, x2, y2] = [0; 4].map(|_| bits(&mut rng));
    let z = first.simulate(&x, &y).swap_remove(0);
    let expected =
        [then.simulate(&z, &y2), then.simulate(&x2, &z), then.simulate(&z, &z)].map(|z| z[0].clone());
    let carried = |carried: &[(Party, &str)], secret: &Secret| {
        let carried: Vec<_> = carried.iter().map(|&(party, port)| (party, port, secret)).collect();
        Step::new(&then, &carried, &[]).unwrap()
    };
    let results = folders.connect(|party, session| {
        let mine = |x: &[bool], y: &[bool]| if party == Party::Garbler { x.to_vec() } else { y.to_vec() };
        let keeps = Step::new(&first, &[], &["z"])?;
        let (done, session) = session.run(&keeps, &mine(&x, &y), Lacking::Refuse)?;
        assert!(done.outputs.is_empty() && done.kept.len() == 1);
        let secret = done.kept[0].clone();
        let (plain, session) = session.run(&first, &mine(&x, &y), Lacking::Make)?;
        assert_eq!(plain.outputs, z);
        let mut outputs = Vec::new();
        let mut session = session;
        for (step, input) in [
            (carried(&[(Party::Garbler, "x")], &secret), mine(&[], &y2)),
            (carried(&[(Party::Evaluator, "y")], &secret), mine(&x2, &[])),
            (carried(&[(Party::Garbler, "x"), (Party::Evaluator, "y")], &secret), vec![]),
        ] {
            let done;
            (done, session) = session.run(&step, &input, Lacking::Make)?;
            outputs.push(done.outputs);
        }
        Ok(((outputs, secret), session))
    });
    let [((_, secret), _), ((outputs, _), _)] = results.map(Result::unwrap);
    assert_eq!(outputs, expected);

    let late = carried(&[(Party::Garbler, "x")], &secret);
    let heads = || {
        [Party::Garbler, Party::Evaluator].map(|party| {
            let store = folders.store(party);
            let epochs = store.epochs().unwrap();
            epochs.iter().map(|(id, _)| *store.state(id).unwrap().head()).collect::<Vec<_>>()
        })
    };
    let before = heads();
    let refused = folders.connect(|party, session| {
        session.run(&late, if party == Party::Garbler { &[] } else { &y2 }, Lacking::Refuse)
    });
    assert!(refused.iter().all(|result| matches!(result, Err(Error::Usage(_)))), "{refused:?}");
    assert_eq!(heads(), before);
    folders.good(&then, Lacking::Refuse);
}

/// Returns a step that computes `z` from x and y and keeps it.
fn keeping() -> Step {
    Step::new(&program(1, Recipient::Both), &[], &["z"]).unwrap()
}

/// Returns a step that takes a kept value as x, and keeps its result.
fn keeping_on(secret: &Secret) -> Step {
    let then = program(0, Recipient::Evaluator);
    Step::new(&then, &[(Party::Garbler, "x", secret)], &["z"]).unwrap()
}

/// Row 16 of the table of attacks: the name of a kept value never becomes the name of another value, even if
/// the session is made again for another program of the same epoch.
#[test]
fn row_16_a_name_that_is_left_over_names_nothing() {
    let folders = Folders::new();
    folders.fill(&steps(12, 6, 48));
    let input = vec![true; 8];
    let results = folders.connect(|party, session| {
        let (first, mut session) = session.run(keeping(), &input, Lacking::Refuse)?;
        let first = first.kept[0].clone();
        session.forget(&first);
        // The second step uses another epoch, so the session on the first epoch ends.
        let (_, session) = session.preprocess(&[request(1, 1, 8)])?;
        let (second, session) = session.run(keeping(), &input, Lacking::Refuse)?;
        assert!(second.kept[0] != first, "one name for two secrets");
        let step = keeping_on(&first);
        let late = session.run(&step, &input[..step.input_width(party)], Lacking::Refuse).map(drop);
        let why = format!("{late:?}");
        assert!(matches!(late, Err(Error::Usage(_))), "{why}");
        late.map(|()| unreachable!())
    });
    assert!(results.iter().all(|result: &Result<((), _), _>| matches!(result, Err(Error::Usage(_)))));
    BOTH.iter().for_each(|&party| assert!(is_whole(&folders, party)));
}

/// While a value is kept no session on another epoch begins, because the value would be lost.
#[test]
fn what_is_kept_is_not_lost_without_a_word() {
    let input = vec![true; 8];
    for fills in [true, false] {
        let folders = Folders::new();
        folders.fill(&steps(3, 1, 32));
        let results = folders.connect(|_, session| {
            let (_, session) = session.run(keeping(), &input, Lacking::Refuse)?;
            match fills {
                true => session.preprocess(&[request(1, 1, 8)]).map(drop),
                // This run would make the missing items in a new epoch.
                false => session.run(keeping(), &input, Lacking::Make).map(drop),
            }?;
            panic!("what was kept is gone, {fills}");
        });
        for result in results {
            let Err(error): Result<((), _), _> = result else { panic!("{fills}") };
            assert!(matches!((&error, fills), (Error::Usage(_), true) | (Error::Stock(_), false)), "{error}");
        }
        BOTH.iter().for_each(|&party| assert!(is_whole(&folders, party)));
    }
}

/// The promise of a kept value covers all stock that it depends on. The bound has room for some of these
/// fillings. The promise of a program that uses one filling, and kept values from others, is the sum of their
/// bounds. A program whose sum is too large is refused before anything is burned.
#[test]
fn the_promise_covers_what_is_carried_on() {
    let folders = Folders::new();
    for _ in 0..6 {
        folders.fill(&[request(2, 1, 16)]);
    }
    folders.leave(0.02);
    let input = vec![true; 8];
    let bounds = std::sync::Mutex::new(Vec::new());
    let results = folders.connect(|party, session| {
        let (mut done, mut session) = session.run(keeping(), &input, Lacking::Refuse)?;
        loop {
            if party == Party::Evaluator {
                bounds.lock().unwrap().push(done.promise.bound_log2);
            }
            let step = keeping_on(&done.kept[0]);
            let input = &input[..step.input_width(party)];
            (done, session) = session.run(&step, input, Lacking::Refuse)?;
        }
    });
    for result in results {
        let Err(Error::Stock(why)): Result<((), _), _> = result else { panic!("{result:?}") };
        assert!(why.contains("too many batches"), "{why}");
    }
    let bounds = bounds.into_inner().unwrap();
    let spent: Vec<f64> = bounds.iter().map(|bound| (bound + 40.0).exp2()).collect();
    assert!((2..6).contains(&spent.len()), "{bounds:?}");
    // Each step uses one more filling, or more items of one.
    assert!(spent.is_sorted() && spent.iter().all(|spent| *spent <= 1.0), "{spent:?}");
    assert!(spent[spent.len() - 1] - 0.98 > 2.0 * (spent[0] - 0.98), "{spent:?}");
    BOTH.iter().for_each(|&party| assert!(is_whole(&folders, party)));
}

/// A stock is filled over one connection and used over others. Missing items are made when it is used up.
#[test]
fn programs_from_stored_sessions() {
    let folders = Folders::new();
    let programs =
        [program(2, Recipient::Both), program(0, Recipient::Garbler), program(3, Recipient::Evaluator)];
    let done = folders.preprocess(&steps(8, 3, 24)).map(Result::unwrap);
    assert_eq!(done, [Preprocessed { steps: 3, resumed: 0 }; 2]);
    for program in &programs {
        let results = folders.good(program, Lacking::Refuse);
        for (result, phases) in &results {
            assert!(result.made.is_none());
            // No items are made in these runs, so no tables are sent.
            assert!(
                phases.iter().all(|phase| !["preprocess", "prepare"].contains(&&*phase.name)),
                "{phases:?}"
            );
        }
    }
    // All eight adders are used.
    let inputs = (vec![true; 8], vec![false; 8]);
    refused(folders.run(&programs[1], &inputs, Lacking::Refuse));
    let results = folders.good(&programs[1], Lacking::Make);
    assert!(results.iter().all(|(result, phases)| result.made.is_some() && sent(phases, "preprocess") > 0));
    // Items that a run made because stock was missing were for this program only.
    refused(folders.run(&programs[1], &inputs, Lacking::Refuse));
}

const BOTH: [Party; 2] = [Party::Garbler, Party::Evaluator];

/// Rows 24 and 25 of the table of attacks: both parties refuse an old copy of either folder, and burn the
/// items that the copy could have used a second time.
#[test]
fn row_25_an_old_copy_of_either_folder_is_refused() {
    let program = program(0, Recipient::Both);
    let inputs = (vec![true; 8], vec![false; 8]);
    for party in BOTH {
        let folders = Folders::new();
        folders.keep_empty(party);
        folders.fill(&[request(4, 4, 32)]);
        folders.keep(party, "full");
        folders.good(&program, Lacking::Refuse);
        folders.restore(party, "full");
        refused(folders.run(&program, &inputs, Lacking::Make));
        // The whole stock is burned: nothing is left, and new stock can be made.
        for party in BOTH {
            let store = folders.store(party);
            assert!(
                store.epochs().unwrap().iter().all(|(id, _)| store.state(id).unwrap().burned().is_some())
            );
        }
        refused(folders.run(&program, &inputs, Lacking::Refuse));
        folders.good(&program, Lacking::Make);
        // A folder without stock is a new store. The peer's stock is used up, so the two stores become a new
        // pair.
        folders.restore(party, "empty");
        folders.good(&program, Lacking::Make);
    }
}

/// Returns whether nothing in a party's store is burned.
fn is_whole(folders: &Folders, party: Party) -> bool {
    let store = folders.store(party);
    let epochs = store.epochs().unwrap();
    !epochs.is_empty() && epochs.iter().all(|(id, _)| store.state(id).unwrap().burned().is_none())
}

/// Checks that both parties refuse with an error that names both pairs.
fn strangers<T: std::fmt::Debug>(results: [Result<T, Error>; 2]) {
    let told = results.map(|result| match result {
        Err(Error::Strangers(told)) => told,
        other => panic!("{other:?}"),
    });
    assert_eq!((told[0].mine, told[0].theirs), (told[1].theirs, told[1].mine));
}

/// Row 24 of the table of attacks: folders that do not belong together, new ones too, are refused for a run
/// and for making stock, and nothing is burned. Afterwards each pair of folders works as before.
#[test]
fn row_24_folders_that_are_no_pair_are_refused_as_they_are() {
    let program = program(0, Recipient::Both);
    let inputs = (vec![true; 8], vec![false; 8]);
    let pairs = [Folders::new(), Folders::new()];
    pairs.iter().for_each(|folders| folders.fill(&[request(3, 3, 24)]));
    let crossed = Folders::new();
    copy(&pairs[0].of(Party::Garbler), &crossed.of(Party::Garbler));
    copy(&pairs[1].of(Party::Evaluator), &crossed.of(Party::Evaluator));
    let refused_and_whole = |folders: &Folders, kept: &[Party]| {
        for lacking in [Lacking::Make, Lacking::Refuse] {
            strangers(folders.run(&program, &inputs, lacking));
        }
        strangers(folders.preprocess(&[request(1, 1, 8)]));
        assert!(kept.iter().all(|party| is_whole(folders, *party)));
    };
    refused_and_whole(&crossed, &BOTH);
    for party in BOTH {
        let alone = Folders::new();
        copy(&pairs[0].of(party), &alone.of(party));
        refused_and_whole(&alone, &[party]);
        // The user gives up the existing stock, and begins again.
        let store = alone.store(party);
        let (id, _) = store.epochs().unwrap()[0];
        let _ = store.append(&id, &EpochEntry::Burned("as a test".into())).unwrap();
        drop(store);
        alone.good(&program, Lacking::Make);
    }
    // Each folder works as before when it is moved to its own partner, because nothing was written.
    copy(&crossed.of(Party::Garbler), &pairs[0].of(Party::Garbler));
    copy(&crossed.of(Party::Evaluator), &pairs[1].of(Party::Evaluator));
    pairs.iter().for_each(|folders| drop(folders.good(&program, Lacking::Refuse)));
}

/// A run at another security level finds no stock and burns none, and the error names the level of the
/// existing stock.
#[test]
fn another_level_burns_nothing() {
    let folders = Folders::new();
    let program = program(0, Recipient::Both);
    folders.fill(&[request(3, 3, 24)]);
    let terms = Terms { security: Security::of(64), ..terms() };
    let results = folders.connect_on(&terms, |_, session| session.run(&program, &[true; 8], Lacking::Refuse));
    for result in results {
        assert!(
            matches!(&result, Err(Error::Stock(why))
                if why.contains("no stock for --security 64; the store has stock for --security 40")),
            "{result:?}"
        );
    }
    folders.good(&program, Lacking::Refuse);
}

/// The report has the bounds of this run and of all programs from the same epoch, including used stock. The
/// inventory shows the same.
#[test]
fn the_risk_of_an_epoch_stands_beside_that_of_a_run() {
    let folders = Folders::new();
    let program = program(0, Recipient::Both);
    // The first filling serves one run, the second filling the next run.
    (0..2).for_each(|_| folders.fill(&[Request { garbler_wires: 8, ..request(1, 1, 8) }]));
    let bounds = [0, 1].map(|_| {
        let results = folders.good(&program, Lacking::Refuse);
        let bounds = results.map(|(result, _)| {
            (result.promise.bound_log2, result.promise.epoch_bound_log2.expect("it is from stock"))
        });
        assert_eq!(bounds[0], bounds[1]);
        bounds[0]
    });
    assert_eq!(bounds[0].1, bounds[1].1, "what is used up counts");
    assert!(bounds.iter().all(|(run, all)| run < all), "{bounds:?}");
    for party in BOTH {
        assert_eq!(inventory::<Duplo>(&folders.store(party)).unwrap()[0].bound_log2, Some(bounds[0].1));
    }
}

/// Row 4 of the table of attacks: a peer cannot close an epoch for programs by claiming that it has begun a
/// step of high risk.
#[test]
fn row_04_a_step_that_the_peer_names_costs_no_program() {
    for liar in [Party::Garbler, Party::Evaluator] {
        let folders = Folders::new();
        folders.fill(&steps(2, 1, 20));
        let store = folders.store(liar);
        let id = store.epochs().unwrap()[0].0;
        let step = FillStep { job: [9; 32], number: 0, of: 1, risk: u128::MAX, workers: 1 };
        // The liar records the step as one that only its peer has begun, so its own log counts no risk.
        let _ = store.append_named(&id, &EpochEntry::Fill(step)).unwrap();
        drop(store);
        let _ = folders.good(&program(1, Recipient::Both), Lacking::Refuse);
        let other = BOTH[usize::from(liar == Party::Garbler)];
        let state = folders.store(other).state(&id).unwrap();
        assert!(state.is_used() && state.given_up() == GivenUp::default());
    }
}

/// Row 23 of the table of attacks: a segment that is missing, or replaced by another segment, is detected
/// before anything is taken. If a record of a segment was altered, both parties leave it out, and the program
/// runs.
#[test]
fn row_23_segments_that_are_not_what_they_were() {
    let program = program(0, Recipient::Both);
    let inputs = (vec![true; 8], vec![false; 8]);
    for party in BOTH {
        let folders = Folders::new();
        folders.fill(&[request(8, 4, 64)]);
        let files = folders.segments(party);
        let left = |party| -> Vec<(u64, u64)> {
            let all = inventory::<Duplo>(&folders.store(party)).unwrap();
            all.iter().flat_map(|epoch| epoch.batches.iter().map(|b| (b.left, b.damaged))).collect()
        };
        let before = left(party);
        let (first, last) = (&files[0], &files[files.len() - 1]);
        let (good, other) = (std::fs::read(last).unwrap(), std::fs::read(first).unwrap());
        for bad in [None, Some(&other)] {
            match bad {
                None => std::fs::remove_file(last).unwrap(),
                Some(bytes) => std::fs::write(last, bytes).unwrap(),
            }
            let results = folders.run(&program, &inputs, Lacking::Refuse);
            assert_eq!(left(party), before, "it is seen before anything is taken");
            let (mine, theirs) =
                if party == Party::Garbler { (&results[0], &results[1]) } else { (&results[1], &results[0]) };
            assert!(matches!(mine, Err(Error::Stock(_))), "{mine:?}");
            assert!(matches!(theirs, Err(Error::Io(_) | Error::Stock(_))), "{theirs:?}");
            std::fs::write(last, &good).unwrap();
        }
        // A byte anywhere in any segment is damaged. The damaged record may hold all items of a kind that the
        // program needs.
        for (k, file) in files.iter().enumerate() {
            let mut bytes = std::fs::read(file).unwrap();
            let at = bytes.len() - 1 - k;
            bytes[at] ^= 1;
            std::fs::write(file, &bytes).unwrap();
            let results = folders.good(&program, Lacking::Make);
            assert_eq!(results[0].0.made.is_some(), results[1].0.made.is_some());
        }
        let [garblers, evaluators] = BOTH.map(left);
        assert_eq!(garblers, evaluators);
        assert!(garblers.iter().any(|(_, damaged)| *damaged > 0));
        // The user gives up the damaged items that no program has found.
        let store = folders.store(party);
        store.give_up(&store.examine().unwrap().1).unwrap();
        assert!(store.verify().is_ok());
        drop(store);
        folders.good(&program, Lacking::Make);
    }
}

/// Row 19 of the table of attacks: parties with different requests refuse each other, and nothing is burned.
#[test]
fn row_19_parties_that_want_different_things() {
    let folders = Folders::new();
    let results = folders.connect(|party, session| session.preprocess(&[request(1 + party as usize, 1, 8)]));
    assert!(results.iter().all(|result| matches!(result, Err(Error::Mismatch(_)))), "{results:?}");
    folders.fill(&[request(2, 1, 8)]);
    let programs = [program(0, Recipient::Both), program(1, Recipient::Both)];
    let results =
        folders.connect(|party, session| session.run(&programs[party as usize], &[true; 8], Lacking::Refuse));
    assert!(results.iter().all(|result| matches!(result, Err(Error::Mismatch(_)))), "{results:?}");
    let results = folders.connect(|party, session| {
        session.run(
            &program(5, Recipient::Both),
            &[true; 8],
            if party == Party::Garbler { Lacking::Make } else { Lacking::Refuse },
        )
    });
    refused(results);
    folders.good(&programs[1], Lacking::Refuse);
}

/// Several programs run over one connection, from batches that were made at different times. Missing items
/// are made in between.
#[test]
fn many_programs_over_one_connection() {
    let folders = Folders::new();
    let program = program(1, Recipient::Both);
    folders.fill(&[request(3, 1, 16)]);
    folders.fill(&[request(3, 1, 8)]);
    let expected = program.simulate(&[true; 8], &[false; 8]);
    let results = folders.connect(|party, mut session| {
        let mut made = 0;
        for k in 0..5 {
            let input = [party == Party::Garbler; 8];
            let done;
            (done, session) = session.run(&program, &input, Lacking::Make)?;
            assert_eq!(done.outputs, program.output_bits(party, &expected));
            assert!(done.promise.bound_log2 <= -40.0);
            if done.made.is_some() {
                made += 1;
            }
            // The second program uses items of both batches, whose bounds add up.
            assert!(k != 1 || done.promise.batches.len() > 4, "{:?}", done.promise);
        }
        Ok((made, session))
    });
    // Two of the programs run from stock. Each of the other programs needs a new epoch, because inputs were
    // already used in the earlier epochs.
    assert_eq!(results.map(|result| result.unwrap().0), [3, 3]);
}

/// Stock that another connection made can be used after the stores have been compared again.
#[test]
fn what_is_there_and_in_reach_is_told() {
    let folders = Folders::new();
    let program = program(1, Recipient::Both);
    let expected = program.simulate(&[true; 8], &[false; 8]);
    let stores =
        [Party::Garbler, Party::Evaluator].map(|party| Store::open(&folders.of(party), &KEY).unwrap());
    let both = |work: &(dyn Fn(Party, Stocked) -> Stocked + Sync)| {
        let (left, right) = memory_pair();
        let one = |party, channel| {
            let session = Stocked::open(party, channel, &stores[party as usize], &terms(), Unobserved);
            work(party, session.unwrap()).close().unwrap();
        };
        std::thread::scope(|scope| {
            scope.spawn(|| one(Party::Garbler, left));
            one(Party::Evaluator, right);
        });
    };
    let (tell, told) = std::sync::mpsc::channel();
    let told = std::sync::Mutex::new(told);
    both(&|party, mut session| {
        let has = |session: &mut Stocked| session.has(&program).unwrap();
        assert!(!has(&mut session));
        match party {
            Party::Garbler => {
                both(&|_, session| session.preprocess(&[request(3, 1, 16)]).unwrap().1);
                tell.send(()).unwrap();
            }
            Party::Evaluator => {
                let patience = std::time::Duration::from_secs(60);
                told.lock().unwrap().recv_timeout(patience).unwrap();
            }
        }
        assert!(!has(&mut session));
        session = session.renew().unwrap();
        assert!(has(&mut session));
        let done;
        (done, session) = session.run(&program, &[party == Party::Garbler; 8], Lacking::Refuse).unwrap();
        assert_eq!(done.outputs, program.output_bits(party, &expected));
        assert!(!has(&mut session));
        session
    });
}

/// OTs are made during a run if none are left, even by the connection that used the last ones.
#[test]
fn ots_are_made_where_none_are_left() {
    let folders = Folders::new();
    let program = program(0, Recipient::Both);
    folders.fill(&[Request { ots: Some(WIDTH as usize), ..request(3, 3, 24) }]);
    let expected = program.simulate(&[true; 8], &[false; 8]);
    let results = folders.connect(|party, mut session| {
        for _ in 0..2 {
            let done;
            (done, session) = session.run(&program, &[party == Party::Garbler; 8], Lacking::Refuse)?;
            assert!(done.made.is_none() && done.outputs == program.output_bits(party, &expected));
        }
        Ok(((), session))
    });
    results.into_iter().for_each(|result| drop(result.unwrap()));
    folders.good(&program, Lacking::Refuse);
}

/// A component without AND gates has no tables, and a stock of many copies fills several records.
#[test]
fn components_without_tables() {
    let folders = Folders::new();
    let mut b = Builder::new(2 * WIDTH);
    let bits = b.all_inputs();
    let (x, y) = bits.split_at(WIDTH as usize);
    let sums: Vec<_> = x.iter().zip(y).map(|(&x, &y)| b.xor(x, y)).collect();
    let circuit = Arc::new(b.finish(&sums).unwrap());
    let port = |name: &str| Port::new(name, Type::Uint(WIDTH));
    let xor = Component {
        name: "xor".into(),
        inputs: vec![port("x"), port("y")],
        outputs: vec![port("z")],
        circuit,
    };
    let mut p = ProgramBuilder::new("xors", vec![port("x")], vec![port("y")]).unwrap();
    let id = p.component(xor.clone()).unwrap();
    let wires = |first: u32| (first..first + WIDTH).collect::<Vec<_>>();
    let mut last = 0;
    for _ in 0..81 {
        last = p.slot(id, &[wires(last), wires(WIDTH)].concat()).unwrap();
    }
    p.output(port("z"), Recipient::Both, wires(last)).unwrap();
    let program = Arc::new(p.finish().unwrap());
    folders.fill(&[Request { components: vec![(xor, 200)], garbler_wires: 16, ots: Some(16) }]);
    folders.good(&program, Lacking::Refuse);
    folders.good(&program, Lacking::Refuse);
}

/// Makes `x & y` on the lowest bits, and `x ^ y` on the others.
fn mixed(name: &str, width: u32) -> Component {
    let mut b = Builder::new(2 * width);
    let bits = b.all_inputs();
    let (x, y) = bits.split_at(width as usize);
    let mut out = vec![b.and(x[0], y[0])];
    out.extend(x.iter().zip(y).skip(1).map(|(&x, &y)| b.xor(x, y)));
    let circuit = Arc::new(b.finish(&out).unwrap());
    let port = |name: &str| Port::new(name, Type::Uint(width));
    Component { name: name.into(), inputs: vec![port("x"), port("y")], outputs: vec![port("z")], circuit }
}

/// Fills a stock for a program with these numbers of input bits, narrow components and one wide component,
/// and runs it. No memory is allowed for lists, so all lists are made, sent and read in parts.
fn with_little_memory(mine: u32, yours: u32, narrow_slots: u32, width: u32) {
    let port = |name: &str, width| Port::new(name, Type::Uint(width));
    let mut p = ProgramBuilder::new("many", vec![port("x", mine)], vec![port("y", yours)]).unwrap();
    let [narrow, wide] =
        [("narrow", 1), ("wide", width)].map(|(name, width)| p.component(mixed(name, width)).unwrap());
    let mut out: Vec<u32> =
        (0..narrow_slots).map(|k| p.slot(narrow, &[k % mine, mine + k % yours]).unwrap()).collect();
    let inputs: Vec<u32> = (0..width).map(|k| k % mine).chain((0..width).map(|k| mine + k % yours)).collect();
    let z = p.slot(wide, &inputs).unwrap();
    out.extend(z..z + width);
    p.output(port("z", narrow_slots + width), Recipient::Both, out).unwrap();
    let program = Arc::new(p.finish().unwrap());
    let terms = Terms { table_memory: 1, ..terms() };
    let folders = Folders::new();
    let request = Request { ots: Some(yours as usize), ..Request::of(&program) };
    let filled = folders.connect_on(&terms, |_, session| session.preprocess(std::slice::from_ref(&request)));
    filled
        .into_iter()
        .for_each(|result| assert_eq!(result.unwrap().0, Preprocessed { steps: 1, resumed: 0 }));
    let mut rng = draws();
    let inputs = [mine, yours].map(|width| (0..width).map(|_| rng.below(2) == 1).collect::<Vec<bool>>());
    let expected = program.simulate(&inputs[0], &inputs[1]);
    let results = folders
        .connect_on(&terms, |party, session| session.run(&program, &inputs[party as usize], Lacking::Refuse));
    for (party, result) in BOTH.into_iter().zip(results) {
        assert_eq!(result.unwrap().0.outputs, program.output_bits(party, &expected));
    }
}

/// A record has at least 128 KiB. In the garbler's records an authenticator takes 4 bytes and an OT 20. If
/// the limit of memory matters, a part has 4096 items.
#[test]
fn many_inputs_and_little_memory() {
    with_little_memory(33_000, 7_000, 100, 8);
}

/// In the garbler's records a narrow copy takes 8 bytes. For copies in buckets and labels of opened copies, a
/// part always has 65 536 items.
#[test]
fn many_copies_and_little_memory() {
    with_little_memory(16, 16, 16_500, 1_500);
}

/// Checks the inventory of a store before and after a program.
#[test]
fn an_inventory_of_what_there_is() {
    let folders = Folders::new();
    folders.fill(&steps(4, 2, 24));
    let program = program(1, Recipient::Both);
    let there = |party| in_stock(&folders.store(party), party, &terms(), &program).unwrap();
    let contents = |party| inventory::<Duplo>(&folders.store(party)).unwrap();
    let whole = [
        ("component", "a", 4),
        ("component", "m", 2),
        ("input authenticators", "input authenticators", 48),
        ("ots", "OTs", 24),
    ];
    // Only the parameters of a used batch remain.
    for (runs, left) in [(0, [4, 2, 48, 24]), (1, [2, 1, 40, 16]), (2, [0, 0, 32, 8])] {
        for party in BOTH {
            let store = folders.store(party);
            let all = inventory::<Duplo>(&store).unwrap();
            let [epoch] = &all[..] else { panic!("{} epochs", all.len()) };
            assert_eq!((epoch.uses, epoch.progress), (runs, Some((3, 3))));
            assert_eq!(executions::<Duplo>(epoch, &store, &program).unwrap(), 2 - runs);
            let batches: Vec<_> = epoch.batches.iter().map(|b| (b.kind, b.name.as_str(), b.items)).collect();
            assert_eq!(batches, whole);
            assert_eq!(epoch.batches.iter().map(|b| b.left).collect::<Vec<_>>(), left);
            for batch in &epoch.batches {
                assert!((batch.bytes > 0) == (batch.left > 0) && batch.missing.is_none());
                let kinds: &[&str] = match batch.kind {
                    "component" => &["copies", "key authenticators"],
                    "ots" => &[],
                    kind => &[kind],
                };
                assert_eq!(batch.cuts.iter().map(|cut| cut.of).collect::<Vec<_>>(), kinds);
                assert_eq!(batch.bound_log2.is_some(), !kinds.is_empty());
                // Together the batches of the step keep its bound.
                assert!(batch.bound_log2.is_none_or(|bound| bound <= -40.0 && bound > -60.0), "{batch:?}");
            }
        }
        assert_eq!(BOTH.map(there), [runs < 2; 2]);
        if runs < 2 {
            folders.good(&program, Lacking::Refuse);
        }
    }
    assert_eq!(contents(Party::Garbler)[0].id, contents(Party::Evaluator)[0].id);
    // Stock of another protocol is not shown. Nothing of a burned epoch can be used, and the epoch still
    // exists.
    let store = folders.store(Party::Garbler);
    let (id, epoch) = store.epochs().unwrap().remove(0);
    store.begin(&[9; 32], &Epoch { protocol: "another".into(), ..epoch }, &EpochSecrets::default()).unwrap();
    assert_eq!((store.epochs().unwrap().len(), inventory::<Duplo>(&store).unwrap().len()), (2, 1));
    let _ = store.append(&id, &EpochEntry::Burned("as a test".into())).unwrap();
    assert_eq!(executions::<Duplo>(&inventory::<Duplo>(&store).unwrap()[0], &store, &program).unwrap(), 0);
}

/// Row 28 of the table of attacks: the bounds of batches add up. Both parties refuse a program that would use
/// too many batches, and nothing is taken.
#[test]
fn row_28_too_many_batches_exceed_the_bound_on_disk_too() {
    let folders = Folders::new();
    // Each of these fillings keeps the bound by itself. Steps in one list would share the bound.
    (0..8).for_each(|_| folders.fill(&[request(1, 1, 8)]));
    folders.leave(0.02);
    let results =
        folders.run(&program(7, Recipient::Both), &(vec![true; 8], vec![false; 8]), Lacking::Refuse);
    for result in results {
        assert!(matches!(&result, Err(Error::Stock(why)) if why.contains("2^-40")), "{result:?}");
    }
    folders.good(&program(0, Recipient::Both), Lacking::Refuse);
}

/// Row 19 of the table of attacks: an input of another length is refused before anything is taken or sent.
#[test]
fn row_19_an_input_of_another_length_takes_nothing() {
    let folders = Folders::new();
    let program = program(0, Recipient::Both);
    folders.fill(&[request(1, 1, 8)]);
    for length in [7, 9] {
        let results = folders.run(&program, &(vec![true; length], vec![true; length]), Lacking::Refuse);
        assert!(results.iter().all(|result| matches!(result, Err(Error::Input(_)))), "{results:?}");
    }
    folders.good(&program, Lacking::Refuse);
}

/// Row 19 of the table of attacks: the error names the missing items.
#[test]
fn row_19_what_is_lacking_is_named() {
    let folders = Folders::new();
    folders.fill(&[request(1, 1, 8)]);
    let inputs = (vec![true; 8], vec![false; 8]);
    for result in folders.run(&program(3, Recipient::Both), &inputs, Lacking::Refuse) {
        assert!(matches!(&result, Err(Error::Stock(why)) if why.contains("adder of 3")), "{result:?}");
    }
}

/// Programs run on a stock without OTs: they are made during the run.
#[test]
fn a_stock_without_ots() {
    let folders = Folders::new();
    let program = program(0, Recipient::Both);
    folders.fill(&[Request { ots: None, ..request(1, 1, 8) }]);
    let results = folders.good(&program, Lacking::Refuse);
    assert!(results.iter().all(|(result, _)| result.made.is_none()));
}

/// A program may have one component under two names. Both names take from the same stock.
#[test]
fn one_component_under_two_names() {
    let folders = Folders::new();
    let port = |name: &str| Port::new(name, Type::Uint(WIDTH));
    let mut p = ProgramBuilder::new("twins", vec![port("x")], vec![port("y")]).unwrap();
    let [first, second] = ["first", "second"].map(|name| p.component(component(name, true)).unwrap());
    let wires = |first: u32| (first..first + WIDTH).collect::<Vec<_>>();
    let mut last = p.slot(first, &[wires(0), wires(WIDTH)].concat()).unwrap();
    for component in [second, first] {
        last = p.slot(component, &[wires(last), wires(0)].concat()).unwrap();
    }
    p.output(port("z"), Recipient::Both, wires(last)).unwrap();
    let program = Arc::new(p.finish().unwrap());
    let stock =
        |adders| Request { components: vec![(component("a", true), adders)], garbler_wires: 8, ots: Some(8) };
    folders.fill(&[stock(2)]);
    let count = |party| {
        let store = folders.store(party);
        inventory::<Duplo>(&store)
            .unwrap()
            .iter()
            .map(|epoch| executions::<Duplo>(epoch, &store, &program).unwrap())
            .sum::<u64>()
    };
    assert_eq!(BOTH.map(count), [0; 2]);
    refused(folders.run(&program, &(vec![true; 8], vec![false; 8]), Lacking::Refuse));
    folders.fill(&[stock(1)]);
    assert_eq!(BOTH.map(count), [1; 2]);
    folders.good(&program, Lacking::Refuse);
    assert_eq!(BOTH.map(count), [0; 2]);
}

/// A request for other steps does not resume the steps that were made, even if their number is equal.
#[test]
fn other_steps_are_begun_anew() {
    let folders = Folders::new();
    let [first, second] = [steps(2, 1, 8), steps(3, 1, 8)];
    assert_eq!(folders.preprocess(&first).map(|done| done.unwrap().resumed), [0; 2]);
    assert_eq!(folders.preprocess(&second).map(|done| done.unwrap().resumed), [0; 2]);
    let store = folders.store(Party::Evaluator);
    assert_eq!(
        inventory::<Duplo>(&store).unwrap()[0].batches.iter().map(|batch| batch.items).collect::<Vec<_>>(),
        [2, 1, 16, 8, 3, 1, 16, 8]
    );
}

/// Stock of another peer, another role or another security level is not used.
#[test]
fn epochs_of_others_are_left_alone() {
    let folders = Folders::new();
    folders.fill(&[request(1, 1, 8)]);
    let program = program(0, Recipient::Both);
    let others = [
        Terms { security: Security::of(80), ..terms() },
        Terms { identities: [[1; 32], [3; 32]], ..terms() },
    ];
    for party in BOTH {
        let store = folders.store(party);
        let is_there = |party, terms: &Terms| in_stock(&store, party, terms, &program).unwrap();
        assert!(is_there(party, &terms()));
        assert!(
            !is_there(BOTH[1 - party as usize], &terms())
                && others.iter().all(|other| !is_there(party, other))
        );
    }
    let (left, right) = memory_pair();
    let [garblers, evaluators] = BOTH.map(|party| folders.store(party));
    let filled = |party, channel, store: &Store| {
        let observer = Unobserved;
        let mut session = Stocked::open(party, channel, store, &others[1], observer)?;
        let nothing = session.bytes();
        let (done, mut session) = session.preprocess(&[request(1, 1, 8)])?;
        let bytes = session.bytes();
        assert!(nothing > 0 && bytes > nothing + 10_000);
        let phases = session.close()?;
        assert_eq!(
            phases.iter().map(|phase| phase.garbler_sent_bytes + phase.evaluator_sent_bytes).sum::<u64>(),
            bytes
        );
        Ok::<_, Error>(done)
    };
    std::thread::scope(|scope| {
        let garbler = scope.spawn(|| filled(Party::Garbler, left, &garblers));
        filled(Party::Evaluator, right, &evaluators).unwrap();
        garbler.join().unwrap().unwrap();
    });
    assert_eq!(evaluators.epochs().unwrap().len(), 2, "an epoch of its own");
    drop((garblers, evaluators));
    folders.good(&program, Lacking::Refuse);
}

/// Used epochs are removed, whichever party first knows that they are used up.
#[test]
fn what_is_used_up_is_retired() {
    let folders = Folders::new();
    let program = program(0, Recipient::Both);
    let living = |party| {
        let store = folders.store(party);
        store.epochs().unwrap().iter().filter(|(id, _)| store.state(id).unwrap().burned().is_none()).count()
    };
    for round in 0..4 {
        folders.good(&program, Lacking::Make);
        assert_eq!(BOTH.map(living), [1, 1], "the one that was just used");
        // One party dies after it has retired the epoch.
        if round > 0 {
            let store = folders.store(BOTH[round % 2]);
            let used: Vec<_> = store
                .epochs()
                .unwrap()
                .into_iter()
                .filter(|(id, _)| store.state(id).unwrap().burned().is_none())
                .collect();
            store
                .append(&used[0].0, &brickwork::disk::EpochEntry::Burned("all its items are used".into()))
                .map(drop)
                .unwrap();
        }
    }
}

/// The last burned epochs remain in the store. A copy with an older epoch, which was removed, is refused like
/// any other old copy.
#[test]
fn row_25_what_is_forgotten_is_refused_too() {
    let program = program(0, Recipient::Both);
    for party in BOTH {
        let folders = Folders::new();
        // The stock has the items of exactly two runs.
        folders.fill(&[Request { garbler_wires: 16, ..request(2, 2, 16) }]);
        folders.keep(party, "old");
        folders.good(&program, Lacking::Refuse);
        folders.good(&program, Lacking::Refuse);
        let first = folders.store(party).epochs().unwrap()[0].0;
        // The age of an epoch is counted in seconds, and the other epochs must be younger.
        std::thread::sleep(std::time::Duration::from_millis(1100));
        for _ in 0..12 {
            folders.good(&program, Lacking::Make);
        }
        for party in BOTH {
            let store = folders.store(party);
            let epochs = store.epochs().unwrap();
            assert!(epochs.len() <= 11 && epochs.iter().all(|(id, _)| *id != first), "{}", epochs.len());
            assert!(store.log(&first).is_err());
        }
        folders.restore(party, "old");
        refused(folders.run(&program, &(vec![true; 8], vec![false; 8]), Lacking::Make));
        assert!(folders.store(party).state(&first).unwrap().burned().is_some());
        folders.good(&program, Lacking::Make);
    }
}
