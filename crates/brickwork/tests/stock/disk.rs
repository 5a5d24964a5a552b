//! Stock on disk: each party has a store, and connections come and go.

use std::path::Path;

use brickwork::duplo::{FromStock, Lacking, Preprocessed, Stocked};
use brickwork::session::PhaseReport;
use brickwork::stock::{Store, StoreKey};
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

    /// Keeps a copy of a party's folder.
    fn keep(&self, party: Party, name: &str) {
        copy(&self.of(party), &self.0.path().join(name));
    }

    /// The same once more, elsewhere.
    pub fn clone_folders(&self) -> Self {
        let clone = Folders::new();
        copy(self.0.path(), clone.0.path());
        clone
    }

    fn keep_empty(&self, party: Party) {
        drop(self.store(party));
        self.keep(party, "empty");
    }

    /// Brings one back.
    fn restore(&self, party: Party, name: &str) {
        std::fs::remove_dir_all(self.of(party)).unwrap();
        copy(&self.0.path().join(name), &self.of(party));
    }

    /// The files of batches, smallest first.
    pub fn segments(&self, party: Party) -> Vec<std::path::PathBuf> {
        let mut files: Vec<_> = std::fs::read_dir(self.of(party).join("segments")).unwrap().map(|f| f.unwrap().path()).collect();
        files.sort_by_key(|path| path.metadata().unwrap().len());
        files
    }

    /// Connects both parties; each does the same with its end.
    fn connect<T: Send>(
        &self,
        work: impl for<'o> Fn(Party, Stocked<'o>) -> Result<(T, Stocked<'o>), Error> + Sync,
    ) -> [Result<(T, Vec<PhaseReport>), Error>; 2] {
        let (left, right) = memory_pair();
        let one = |party, channel| {
            let (mut store, mut observer) = (Store::open(&self.of(party), &KEY)?, Unobserved);
            let session = Stocked::open(party, channel, &mut store, &terms(), &mut observer)?;
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
        let mut rng = Rng::new("test inputs").unwrap();
        let inputs = (bits(&mut rng), bits(&mut rng));
        let results = self.run(program, &inputs, lacking).map(Result::unwrap);
        let expected = program.simulate(&inputs.0, &inputs.1);
        for (party, (result, _)) in [Party::Garbler, Party::Evaluator].into_iter().zip(&results) {
            assert_eq!(result.outputs, program.output_bits(party, &expected));
            assert!(!result.recovered && result.security.bound_log2 <= -40.0);
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

/// One step a component, and one for the gadgets.
pub fn steps(adders: usize, multipliers: usize, wires: usize) -> Vec<Request> {
    let none = || Request { components: Vec::new(), garbler_wires: 0, ots: None };
    let whole = request(adders, multipliers, wires);
    let mut steps: Vec<Request> = whole.components.iter().map(|c| Request { components: vec![c.clone()], ..none() }).collect();
    steps.push(Request { components: Vec::new(), ..whole });
    steps
}

fn refused<T: std::fmt::Debug>(results: [Result<T, Error>; 2]) {
    assert!(results.iter().all(|result| matches!(result, Err(Error::Stock(_)))), "{results:?}");
}

fn sent(phases: &[PhaseReport], name: &str) -> u64 {
    phases.iter().filter(|phase| phase.name == name).map(|phase| phase.garbler_sent_bytes + phase.evaluator_sent_bytes).sum()
}

/// Filled over one connection, used over others, topped up when it is used up.
#[test]
fn programs_from_stored_sessions() {
    let folders = Folders::new();
    let programs = [program(2, Recipient::Both), program(0, Recipient::Garbler), program(3, Recipient::Evaluator)];
    let done = folders.preprocess(&steps(8, 3, 24)).map(Result::unwrap);
    assert_eq!(done, [Preprocessed { steps: 3, resumed: 0 }; 2]);
    for program in &programs {
        let results = folders.good(program, Lacking::Refuse);
        for (result, phases) in &results {
            assert!(result.made.is_none());
            // Nothing is preprocessed, so no tables travel.
            assert!(phases.iter().all(|phase| !["preprocess", "prepare"].contains(&phase.name)), "{phases:?}");
        }
    }
    // Eight adders are used up.
    let inputs = (vec![true; 8], vec![false; 8]);
    refused(folders.run(&programs[1], &inputs, Lacking::Refuse));
    let results = folders.good(&programs[1], Lacking::Make);
    assert!(results.iter().all(|(result, phases)| result.made.is_some() && sent(phases, "preprocess") > 0));
    // What was made on the spot was made for this program alone.
    refused(folders.run(&programs[1], &inputs, Lacking::Refuse));
}

const BOTH: [Party; 2] = [Party::Garbler, Party::Evaluator];

/// Row 25 and row 24: an old copy of either party's folder is refused by both, and what it could have repeated is burned.
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
        // Burned: there is nothing left, and new stock can be made.
        for party in BOTH {
            let store = folders.store(party);
            assert!(store.epochs().unwrap().iter().all(|(id, _)| store.state(id).unwrap().burned().is_some()));
        }
        refused(folders.run(&program, &inputs, Lacking::Refuse));
        folders.good(&program, Lacking::Make);
        // A copy from before there was anything.
        folders.restore(party, "empty");
        refused(folders.run(&program, &inputs, Lacking::Make));
        folders.good(&program, Lacking::Make);
    }
}

/// Row 23: a segment that is missing, exchanged for another, or altered.
#[test]
fn row_23_segments_that_are_not_what_they_were_are_refused() {
    let program = program(0, Recipient::Both);
    let inputs = (vec![true; 8], vec![false; 8]);
    for party in BOTH {
        let folders = Folders::new();
        folders.fill(&[request(4, 4, 32)]);
        let files = folders.segments(party);
        let (first, last) = (&files[0], &files[files.len() - 1]);
        let (good, other) = (std::fs::read(last).unwrap(), std::fs::read(first).unwrap());
        let mut altered = good.clone();
        altered[good.len() / 2] ^= 1;
        // Missing and exchanged ones show before anything is sent; an altered one when it is read.
        for bad in [None, Some(&other), Some(&altered)] {
            match bad {
                None => std::fs::remove_file(last).unwrap(),
                Some(bytes) => std::fs::write(last, bytes).unwrap(),
            }
            let results = folders.run(&program, &inputs, Lacking::Refuse);
            let (mine, theirs) = if party == Party::Garbler { (&results[0], &results[1]) } else { (&results[1], &results[0]) };
            assert!(matches!(mine, Err(Error::Stock(_))), "{mine:?}");
            assert!(matches!(theirs, Err(Error::Io(_) | Error::Stock(_))), "{theirs:?}");
            std::fs::write(last, &good).unwrap();
        }
        // What was read and found altered is burned; the rest is as good as before.
        folders.good(&program, Lacking::Refuse);
    }
}

/// Row 19: parties that want different things; nothing is burned.
#[test]
fn row_19_parties_that_want_different_things() {
    let folders = Folders::new();
    let results = folders.connect(|party, session| session.preprocess(&[request(1 + party as usize, 1, 8)]));
    assert!(results.iter().all(|result| matches!(result, Err(Error::Mismatch(_)))), "{results:?}");
    folders.fill(&[request(2, 1, 8)]);
    let programs = [program(0, Recipient::Both), program(1, Recipient::Both)];
    let results = folders.connect(|party, session| session.run(&programs[party as usize], &[true; 8], Lacking::Refuse));
    assert!(results.iter().all(|result| matches!(result, Err(Error::Mismatch(_)))), "{results:?}");
    let results = folders.connect(|party, session| {
        session.run(&program(5, Recipient::Both), &[true; 8], if party == Party::Garbler { Lacking::Make } else { Lacking::Refuse })
    });
    refused(results);
    folders.good(&programs[1], Lacking::Refuse);
}

/// Several programs over one connection, from batches that were made at different times, with what is lacking made in between.
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
            assert!(done.security.bound_log2 <= -40.0);
            if done.made.is_some() {
                made += 1;
            }
            // The second draws on both batches, whose bounds add up.
            assert!(k != 1 || done.security.components.len() > 2, "{:?}", done.security);
        }
        Ok((made, session))
    });
    // Two from stock; each of the others needs an epoch of its own, as inputs were used in those before.
    assert_eq!(results.map(|result| result.unwrap().0), [3, 3]);
}

/// A component without AND gates has no tables, and many of it lie in several records.
#[test]
fn components_without_tables() {
    let folders = Folders::new();
    let mut b = Builder::new(2 * WIDTH);
    let bits = b.all_inputs();
    let (x, y) = bits.split_at(WIDTH as usize);
    let sums: Vec<_> = x.iter().zip(y).map(|(&x, &y)| b.xor(x, y)).collect();
    let circuit = Arc::new(b.finish(&sums).unwrap());
    let port = |name: &str| Port::new(name, Type::Uint(WIDTH));
    let xor = Component { name: "xor".into(), inputs: vec![port("x"), port("y")], outputs: vec![port("z")], circuit };
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

/// Epochs of which nothing is left do not pile up, and it does not matter who knows first.
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
        // One of them dies after it has retired the epoch.
        if round > 0 {
            let mut store = folders.store(BOTH[round % 2]);
            let used: Vec<_> = store.epochs().unwrap().into_iter().filter(|(id, _)| store.state(id).unwrap().burned().is_none()).collect();
            store.append(&used[0].0, &brickwork::stock::Entry::Burned("it is used up".into())).map(drop).unwrap();
        }
    }
}

/// Of burned epochs the last ones stay to be seen; a copy that has one which is forgotten is refused like any other old copy.
#[test]
fn row_25_what_is_forgotten_is_refused_too() {
    let program = program(0, Recipient::Both);
    for party in BOTH {
        let folders = Folders::new();
        // What two runs need, and nothing more.
        folders.fill(&[Request { garbler_wires: 16, ..request(2, 2, 16) }]);
        folders.keep(party, "old");
        folders.good(&program, Lacking::Refuse);
        folders.good(&program, Lacking::Refuse);
        let first = folders.store(party).epochs().unwrap()[0].0;
        // Ages are counted in seconds; the others are to be younger.
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
