//! Rows 16, 20, 21, 22 of the table of attacks (docs/concepts/security.md, section 14): either party crashes
//! at every change of its disk, while stock is made and while programs run. Afterwards both continue with the
//! data on their disks.
//!
//! After a crash every item is either fresh or burned, and no honest crash burns an epoch. Each party also
//! checks the other's messages: messages after one entry of the log are sent in one connection only, and no
//! block of key material occurs twice.

use std::collections::{HashMap, HashSet};
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use brickwork::authenticated;
use brickwork::cut_and_choose::Upper;
use brickwork::disk::{DiskChange, EpochEntry, EpochId, Faults, PairId, Relation, Store};
use brickwork::duplo::{Lacking, Stocked};
use brickwork::jimu;
use brickwork::lego;
use brickwork::ot::Cot;
use brickwork::wire::{Channel, Tag};

use super::disk::{Folders, KEY, steps};
use super::*;

/// The number of crashes that are tried, unless all are requested.
const SOME: usize = 14;

/// The variable that requests every single crash.
const ALL: &str = "BRICKWORK_ALL_CRASHES";

/// The tag of a greeting.
const HELLO: Tag = Tag(1);

/// The tag of the message with the positions of a store's logs.
const STAND: Tag = Tag(41);

/// A connection between two parties with stores, of any protocol.
trait Line: Sized + Send {
    /// The tags of messages that consist of blocks of key material: rows of OTs, corrections of commitments,
    /// solderings, tables, authenticators, labels.
    const MATERIAL: &'static [u8];

    fn open(party: Party, channel: Channel, store: &Store) -> Result<Self, Error>;

    fn close(self) -> Result<(), Error>;
}

impl Line for Stocked {
    const MATERIAL: &'static [u8] = &[24, 32, 53, 54, 55, 57, 58, 61];

    fn open(party: Party, channel: Channel, store: &Store) -> Result<Self, Error> {
        Stocked::open(party, channel, store, &terms(), Unobserved)
    }

    fn close(self) -> Result<(), Error> {
        Stocked::close(self).map(drop)
    }
}

impl Line for lego::Stocked {
    const MATERIAL: &'static [u8] = &[24, 32, 201, 202, 208, 209, 210, 211, 212, 214];

    fn open(party: Party, channel: Channel, store: &Store) -> Result<Self, Error> {
        lego::Stocked::open(party, channel, store, &terms(), Unobserved)
    }

    fn close(self) -> Result<(), Error> {
        lego::Stocked::close(self).map(drop)
    }
}

impl Line for authenticated::Stocked {
    const MATERIAL: &'static [u8] = &[24, 128, 134, 136, 139];

    fn open(party: Party, channel: Channel, store: &Store) -> Result<Self, Error> {
        authenticated::Stocked::open(party, channel, store, &terms(), Cot::default(), Unobserved)
    }

    fn close(self) -> Result<(), Error> {
        authenticated::Stocked::close(self).map(drop)
    }
}

impl Line for jimu::Stocked {
    const MATERIAL: &'static [u8] = &[24, 82, 85, 86, 228];

    fn open(party: Party, channel: Channel, store: &Store) -> Result<Self, Error> {
        jimu::Stocked::open(party, channel, store, &terms(), Unobserved)
    }

    fn close(self) -> Result<(), Error> {
        jimu::Stocked::close(self).map(drop)
    }
}

/// Returns whether a message comes before anything is taken: a greeting, a position of the logs, or a plan.
fn is_talk(tag: Tag) -> bool {
    tag.0 < 3 || (40..44).contains(&tag.0)
}

/// Makes a party crash at one change of its disk.
#[derive(Debug)]
struct End {
    at: usize,
    /// The bytes of the last write that still reach the disk.
    some: usize,
    seen: AtomicUsize,
}

impl Faults for End {
    fn before(&self, _: DiskChange) -> Result<(), (usize, io::Error)> {
        let now = self.seen.fetch_add(1, Ordering::Relaxed);
        if now < self.at {
            return Ok(());
        }
        Err((if now == self.at { self.some } else { 0 }, io::Error::other("the world ended")))
    }
}

/// The messages of one party that were checked.
#[derive(Default)]
struct Count {
    connections: u64,
    /// For each head of the log, the number of the connection in which messages followed it.
    heads: HashMap<Vec<u8>, u64>,
    /// All blocks of key material so far.
    blocks: HashSet<[u8; 16]>,
}

impl Count {
    /// Watches the outgoing messages of a channel.
    fn watch(count: &Arc<Mutex<Count>>, channel: &mut Channel, material: &'static [u8]) {
        let count = count.clone();
        let connection = {
            let mut count = count.lock().unwrap();
            count.connections += 1;
            count.connections
        };
        let mut head = None;
        channel.set_tamper(Box::new(move |tag, bytes| {
            let mut count = count.lock().unwrap();
            match tag {
                STAND => head = Some(bytes.clone()),
                // A new session has not sent its positions yet.
                HELLO => head = None,
                talk if is_talk(talk) => {}
                _ => {
                    // The log's head changes with each entry, so it identifies the entry that these messages
                    // follow.
                    if let Some(head) = &head {
                        let first = *count.heads.entry(head.clone()).or_insert(connection);
                        assert_eq!(first, connection, "sent twice behind one entry");
                    }
                    for block in bytes.chunks_exact(16).filter(|_| material.contains(&tag.0)) {
                        let block: [u8; 16] = block.try_into().unwrap();
                        assert!(
                            block == [0; 16] || count.blocks.insert(block),
                            "a block of message {tag:?} came twice"
                        );
                    }
                }
            }
        }));
    }
}

/// The messages of both parties that were checked.
type Counts = [Arc<Mutex<Count>>; 2];

/// The actions of both parties on a connection.
type Work<'w, L = Stocked> = &'w (dyn Fn(Party, L) -> Result<L, Error> + Sync);

/// Connects both parties. `faults` makes the disk of one party fail.
fn connect<L: Line>(
    folders: &Folders,
    counts: &Counts,
    faults: Option<(Party, &Arc<End>)>,
    work: Work<L>,
) -> [Result<(), Error>; 2] {
    let (mut left, mut right) = memory_pair();
    Count::watch(&counts[0], &mut left, L::MATERIAL);
    Count::watch(&counts[1], &mut right, L::MATERIAL);
    let one = |party: Party, channel| {
        let store = match faults.filter(|(who, _)| *who == party) {
            Some((_, end)) => Store::open_with(&folders.of(party), &KEY, end.clone())?,
            None => Store::open(&folders.of(party), &KEY)?,
        };
        work(party, L::open(party, channel, &store)?)?.close()
    };
    std::thread::scope(|scope| {
        let garbler = scope.spawn(|| one(Party::Garbler, left));
        let evaluator = one(Party::Evaluator, right);
        [garbler.join().unwrap(), evaluator]
    })
}

/// The logs of both parties' epochs.
fn logs(folders: &Folders) -> [HashMap<EpochId, Vec<EpochEntry>>; 2] {
    [Party::Garbler, Party::Evaluator].map(|party| {
        let store = folders.store(party);
        store.verify().unwrap();
        store.epochs().unwrap().into_iter().map(|(id, _)| (id, store.log(&id).unwrap())).collect()
    })
}

/// A scenario in which one party crashes at some change of its disk.
struct Story<'s, L = Stocked> {
    begin: &'s Folders,
    work: Work<'s, L>,
    /// The actions of both parties afterwards, which must succeed.
    after: Work<'s, L>,
}

impl<L: Line> Story<'_, L> {
    /// Runs the scenario for some or all changes at which the party can crash. Returns the number of crashes.
    fn tell(&self) -> usize {
        let mut told = 0;
        for party in [Party::Garbler, Party::Evaluator] {
            // The first time there is no crash, to count the changes.
            let changes = self.told(party, usize::MAX, 0);
            let all = std::env::var_os(ALL).is_some();
            let places: Vec<usize> = if all {
                (0..changes).collect()
            } else {
                (0..SOME).map(|k| k * changes / SOME + told % 3).collect()
            };
            for at in places {
                // None, a part, or all of the last write reaches the disk.
                for some in if all { vec![0, 100, usize::MAX] } else { vec![[0, 100, usize::MAX][at % 3]] } {
                    self.told(party, at, some);
                    told += 1;
                }
            }
        }
        told
    }

    fn told(&self, party: Party, at: usize, some: usize) -> usize {
        let folders = self.begin.clone_folders();
        let counts = Counts::default();
        let end = Arc::new(End { at, some, seen: AtomicUsize::new(0) });
        let results = connect(&folders, &counts, Some((party, &end)), self.work);
        let changes = end.seen.load(Ordering::Relaxed);
        if changes <= at {
            assert!(results.iter().all(Result::is_ok), "{results:?}");
        }
        let before = logs(&folders);
        // In the next connection a party may have to report a crash, but neither party has to burn anything.
        let after = connect(&folders, &counts, None, self.after);
        assert!(
            after.iter().all(Result::is_ok),
            "{party:?} died at change {at} of {changes} ({some} bytes): {results:?}, then {after:?}"
        );
        for (mine, (before, after)) in before.iter().zip(logs(&folders)).enumerate() {
            for (id, log) in before {
                let is_empty = log.is_empty();
                let now = after.get(id);
                assert!(
                    is_empty || now.is_some_and(|now| now.starts_with(log)),
                    "party {mine}: a log was rewritten"
                );
            }
            let burned = after
                .values()
                .flatten()
                .any(|entry| matches!(entry, EpochEntry::Burned(why) if why != "all its items are used"));
            assert!(!burned, "party {mine}: an honest crash burned an epoch");
        }
        changes
    }
}

fn small() -> Arc<Program> {
    program(0, Recipient::Both)
}

/// Runs a program and checks its outputs.
fn run(party: Party, session: Stocked, lacking: Lacking) -> Result<Stocked, Error> {
    let program = small();
    let (x, y) = ([true, false, true, true, false, false, true, false], [true; 8]);
    let (done, session) = session.run(&program, if party == Party::Garbler { &x } else { &y }, lacking)?;
    assert_eq!(done.outputs, program.output_bits(party, &program.simulate(&x, &y)));
    Ok(session)
}

#[test]
fn row_21_a_crash_while_a_program_runs() {
    let begin = Folders::new();
    begin.fill(&[request(4, 4, 32)]);
    let story = Story {
        begin: &begin,
        work: &|party, session| run(party, run(party, session, Lacking::Refuse)?, Lacking::Refuse),
        // A crash costs the items of at most two of the four runs in stock.
        after: &|party, session| run(party, run(party, session, Lacking::Refuse)?, Lacking::Refuse),
    };
    let told = story.tell();
    println!("counted: {told} ends of a world while programs run");
    assert!(told >= 2 * SOME, "{told}");
}

/// Stock is made in steps: completed steps survive the crash, the others are made afterwards, and programs
/// run.
#[test]
fn row_21_a_crash_while_stock_is_made() {
    let begin = Folders::new();
    let story = Story {
        begin: &begin,
        work: &|_, session: Stocked| Ok(session.preprocess(&steps(1, 1, 8))?.1),
        after: &|party, session| run(party, session.preprocess(&steps(1, 1, 8))?.1, Lacking::Refuse),
    };
    let told = story.tell();
    println!("counted: {told} ends of a world while stock is made");
    assert!(told >= 2 * SOME, "{told}");
}

/// Returns a LEGO request for this many runs of the small program.
fn gates(times: u64) -> lego::Request {
    lego::Request::of(&small()).unwrap().times(times).unwrap()
}

fn run_lego(party: Party, session: lego::Stocked) -> Result<lego::Stocked, Error> {
    let program = small();
    let (x, y) = ([true, false, true, true, false, false, true, false], [true; 8]);
    let input = if party == Party::Garbler { &x } else { &y };
    let (done, session) = session.run(&program, input, Lacking::Refuse)?;
    assert_eq!(done.outputs, program.output_bits(party, &program.simulate(&x, &y)));
    Ok(session)
}

fn build(session: lego::Stocked) -> Result<lego::Stocked, Error> {
    Ok(session.build(&small(), Lacking::Refuse)?.1)
}

/// LEGO's gates are made in two steps, and a program is built of them. One program runs on gates, and one was
/// built ahead.
#[test]
fn row_21_a_crash_of_lego() {
    let begin = |work: Work<lego::Stocked>| {
        let folders = Folders::new();
        let results = connect(&folders, &Counts::default(), None, work);
        assert!(results.iter().all(Result::is_ok), "{results:?}");
        folders
    };
    let (empty, filled) = (Folders::new(), begin(&|_, session| Ok(session.preprocess(&gates(4))?.1)));
    let built = begin(&|_, session| build(build(session.preprocess(&gates(3))?.1)?));
    // A crash costs the items of at most two of the four, or three, runs in stock.
    let stories: [(&str, Story<lego::Stocked>); 4] = [
        (
            "LEGO's stock is made",
            Story {
                begin: &empty,
                work: &|_, session| Ok(session.preprocess(&gates(1))?.1),
                after: &|party, session| run_lego(party, session.preprocess(&gates(1))?.1),
            },
        ),
        (
            "programs run on LEGO's gates",
            Story {
                begin: &filled,
                work: &|party, session| run_lego(party, run_lego(party, session)?),
                after: &|party, session| run_lego(party, run_lego(party, session)?),
            },
        ),
        (
            "LEGO builds a program",
            Story {
                begin: &filled,
                work: &|_, session| build(build(session)?),
                after: &|party, session| run_lego(party, build(session)?),
            },
        ),
        (
            "programs that LEGO has built run",
            Story {
                begin: &built,
                work: &|party, session| run_lego(party, run_lego(party, session)?),
                after: &|party, session| run_lego(party, session),
            },
        ),
    ];
    for (what, story) in stories {
        let ends = story.tell();
        println!("counted: {ends} ends of a world while {what}");
        assert!(ends >= 2 * SOME, "{what}: {ends}");
    }
}

/// Returns a JIMU request for this many runs of the small program, by gates or by components.
fn hashed(unit: jimu::Unit, times: u64) -> jimu::Request {
    jimu::Request::of(&small(), unit).unwrap().times(times).unwrap()
}

fn run_jimu(unit: jimu::Unit, party: Party, session: jimu::Stocked) -> Result<jimu::Stocked, Error> {
    let program = small();
    let (x, y) = ([true, false, true, true, false, false, true, false], [true; 8]);
    let input = if party == Party::Garbler { &x } else { &y };
    let (done, session) = session.run(&program, Some(unit), input, Lacking::Refuse)?;
    assert_eq!(done.outputs, program.output_bits(party, &program.simulate(&x, &y)));
    Ok(session)
}

/// JIMU's gates are made in two steps, and programs run on them.
#[test]
fn row_21_a_crash_of_jimu() {
    a_crash_of_jimu(jimu::Unit::Gates);
}

/// JIMU's components are made in two steps, and programs run on them.
#[test]
fn row_21_a_crash_of_jimu_by_components() {
    a_crash_of_jimu(jimu::Unit::Components);
}

fn a_crash_of_jimu(unit: jimu::Unit) {
    let filled = Folders::new();
    let fill = |times| move |_, session: jimu::Stocked| Ok(session.preprocess(&hashed(unit, times))?.1);
    let results = connect(&filled, &Counts::default(), None, &fill(2));
    assert!(results.iter().all(Result::is_ok), "{results:?}");
    let stories: [(&str, Story<jimu::Stocked>); 2] = [
        (
            "JIMU's stock is added to",
            Story {
                begin: &filled,
                work: &fill(1),
                after: &|party, session| run_jimu(unit, party, session.preprocess(&hashed(unit, 1))?.1),
            },
        ),
        (
            "programs run on JIMU's stock",
            Story {
                begin: &filled,
                work: &|party, session| run_jimu(unit, party, session),
                after: &|party, session| run_jimu(unit, party, session),
            },
        ),
    ];
    for (what, story) in stories {
        let ends = story.tell();
        println!("counted: {ends} ends of a world while {what} by {}", unit.name());
        assert!(ends >= SOME, "{what} by {unit:?}: {ends}");
    }
}

/// Returns a request of authenticated masks for this many runs of the small program.
fn masked(times: usize) -> authenticated::Request {
    authenticated::Request::of(&small().repeat(times).unwrap()).unwrap()
}

fn run_masked(
    party: Party,
    session: authenticated::Stocked,
    lacking: Lacking,
) -> Result<authenticated::Stocked, Error> {
    let program = small();
    let (x, y) = ([true, false, true, true, false, false, true, false], [true; 8]);
    let input = if party == Party::Garbler { &x } else { &y };
    let (done, session) = session.run(&program, input, lacking)?;
    assert_eq!(done.outputs, program.output_bits(party, &program.simulate(&x, &y)));
    Ok(session)
}

/// Components with authenticated masks are made in a new epoch and in an existing one. Programs run on them,
/// and one program has no stock.
#[test]
fn row_21_a_crash_of_authenticated() {
    let (empty, filled) = (Folders::new(), Folders::new());
    let fill = |times| move |_, session: authenticated::Stocked| Ok(session.preprocess(&masked(times))?.1);
    let results = connect(&filled, &Counts::default(), None, &fill(4));
    assert!(results.iter().all(Result::is_ok), "{results:?}");
    let made = |party, session: authenticated::Stocked| {
        run_masked(party, session.preprocess(&masked(1))?.1, Lacking::Refuse)
    };
    let twice =
        |party, session| run_masked(party, run_masked(party, session, Lacking::Refuse)?, Lacking::Refuse);
    let stories: [(&str, Story<authenticated::Stocked>); 4] = [
        ("an epoch of authenticated masks begins", Story { begin: &empty, work: &fill(1), after: &made }),
        ("there are more authenticated masks", Story { begin: &filled, work: &fill(1), after: &made }),
        // A crash costs the items of at most two of the four runs in stock.
        ("programs run on authenticated masks", Story { begin: &filled, work: &twice, after: &twice }),
        (
            "masks are made for a program on the spot",
            Story {
                begin: &empty,
                work: &|party, session| run_masked(party, session, Lacking::Make),
                after: &|party, session| run_masked(party, session, Lacking::Make),
            },
        ),
    ];
    for (what, story) in stories {
        let ends = story.tell();
        println!("counted: {ends} ends of a world while {what}");
        assert!(ends >= 2 * SOME, "{what}: {ends}");
    }
}

/// For each of the evaluator's epochs, returns the number of steps that were given up after the garbler had
/// seen their challenge.
fn given_up_by_epoch(folders: &Folders) -> HashMap<EpochId, u32> {
    let store = folders.store(Party::Evaluator);
    let epochs = store.epochs().unwrap().into_iter();
    epochs.map(|(id, _)| (id, store.state(&id).unwrap().given_up().steps)).collect()
}

/// The garbler's first message after a challenge.
const OPENED: Tag = Tag(51);

/// Both parties begin this step, and the garbler goes away when it has seen the challenge.
fn given_up(folders: &Folders, request: &Request) {
    let sum = |folders: &Folders| given_up_by_epoch(folders).values().sum::<u32>();
    let before = sum(folders);
    let results = connect(folders, &Counts::default(), None, &|party, mut session: Stocked| {
        if party == Party::Garbler {
            session.channel().set_tamper(Box::new(|tag, _| {
                if tag == OPENED {
                    resume_unwind(Box::new("it goes away"));
                }
            }));
        }
        let made = catch_unwind(AssertUnwindSafe(|| session.preprocess(std::slice::from_ref(request))));
        Ok(made.unwrap_or_else(|_| Err(io::Error::other("it went away").into()))?.1)
    });
    assert!(results.iter().all(Result::is_err), "{results:?}");
    assert_eq!(sum(folders), before + 1);
}

fn made(folders: &Folders, request: &Request) {
    let make: Work = &|_, session| Ok(session.preprocess(std::slice::from_ref(request))?.1);
    let results = connect(folders, &Counts::default(), None, make);
    assert!(results.iter().all(Result::is_ok), "{results:?}");
}

/// Returns the evaluator's bounds: of one program, and of all programs from its epoch. The garbler's bound is
/// at most as large, because steps that it had not begun when it died risk nothing for it.
fn promised(folders: &Folders) -> [f64; 2] {
    let bounds = Mutex::new([[0.0; 2]; 2]);
    let results = connect(folders, &Counts::default(), None, &|party, session: Stocked| {
        let program = small();
        let input = if party == Party::Garbler { [true; 8] } else { [false; 8] };
        let (done, session) = session.run(&program, &input, Lacking::Refuse)?;
        let epoch = done.promise.epoch_bound_log2.expect("a bound of the epoch");
        bounds.lock().unwrap()[party as usize] = [done.promise.bound_log2, epoch].map(f64::exp2);
        Ok(session)
    });
    assert!(results.iter().all(Result::is_ok), "{results:?}");
    let [garbler, evaluator] = bounds.into_inner().unwrap();
    assert!(garbler.iter().zip(evaluator).all(|(garbler, evaluator)| *garbler <= evaluator), "{garbler:?}");
    evaluator
}

/// Returns the risk of all given-up steps in the current epoch.
fn risked_in_vain(folders: &Folders) -> f64 {
    let inventory = brickwork::protocol::stock::inventory::inventory::<brickwork::duplo::Duplo>(
        &folders.store(Party::Evaluator),
    )
    .unwrap();
    let used: Vec<_> = inventory.iter().filter(|epoch| epoch.uses > 0).collect();
    let [epoch] = used[..] else { panic!("{inventory:?}") };
    epoch.given_up.bound_log2.map_or(0.0, f64::exp2)
}

/// Row 4 of the table of attacks: a party that breaks off a step gets another challenge. So all given-up
/// steps of an epoch count in the bound of every program from it, whatever else is made or requested in
/// between.
#[test]
fn row_04_every_attempt_counts() {
    let all = request(1, 1, 8);
    // This step makes no authenticators of inputs, so no program runs on it alone, and it risks less.
    let adders = Request { components: vec![(component("a", true), 1)], garbler_wires: 0, ots: None };
    let story = |steps: &[(&Request, bool)]| {
        let folders = Folders::new();
        for (request, is_made) in steps {
            if *is_made { made(&folders, request) } else { given_up(&folders, request) }
        }
        (promised(&folders), risked_in_vain(&folders))
    };
    let about = |a: f64, b: f64| (a / b - 1.0).abs() < 1e-6;
    // The fixed checks use `fixed`, and each of the two requests adds its own risk.
    let fixed = (-42f64).exp2() + (-48f64).exp2();
    let (bounds, nothing) = story(&[(&all, true)]);
    assert!(about(bounds[0], bounds[1]) && nothing == 0.0);
    let of_all = bounds[0] - fixed;
    for times in [1, 2] {
        let steps: Vec<_> = (0..=times).map(|k| (&all, k == times)).collect();
        let (bounds, given_up) = story(&steps);
        assert!(about(given_up, f64::from(times) * of_all), "{given_up} {of_all}");
        assert!(bounds.iter().all(|&bound| about(bound, fixed + of_all + given_up)), "{bounds:?}");
    }
    let (bounds, _) = story(&[(&adders, true), (&all, true)]);
    let of_adders = bounds[1] - fixed - of_all;
    assert!(0.0 < of_adders && of_adders < of_all, "{of_adders} {of_all}");
    // Neither stock that was made in between nor another request changes this.
    for (steps, vain) in [
        (&[(&all, false), (&adders, true), (&all, true)][..], of_all),
        (&[(&all, false), (&adders, false), (&adders, true), (&all, true)], of_all + of_adders),
        (&[(&adders, true), (&all, false), (&all, true)], of_all),
    ] {
        let (bounds, given_up) = story(steps);
        assert!(about(given_up, vain), "{given_up} {vain}");
        let made: Vec<_> = steps.iter().filter(|(_, is_made)| *is_made).copied().collect();
        let (without, _) = story(&made);
        assert!(bounds.iter().zip(without).all(|(&with, without)| about(with, without + vain)), "{bounds:?}");
        assert!(about(bounds[1], fixed + of_adders + of_all + vain), "{bounds:?}");
    }

    // After `most` failed steps the epoch gets no more stock and another epoch begins; nothing is burned.
    // When all failed attempts together reach 2^-40, no step begins until the user allows it.
    let folders = Folders::new();
    let most = (0.5 * ((-40f64).exp2() - fixed) / of_all) as usize + 1;
    assert!(most > 64, "{most}");
    (0..=most).for_each(|_| given_up(&folders, &all));
    let of_epochs = given_up_by_epoch(&folders).into_values().collect::<HashSet<_>>();
    assert_eq!(of_epochs, HashSet::from([most as u32, 1]));
    let sums = |folders: &Folders| {
        [Party::Garbler, Party::Evaluator].map(|party| {
            let accounts = folders.store(party).accounts().unwrap();
            accounts.iter().map(|(_, vain)| Upper::fixed(*vain).log2().exp2()).sum::<f64>()
        })
    };
    let [garbler, evaluator] = sums(&folders);
    assert!(garbler == 0.0 && about(evaluator, (most + 1) as f64 * of_all), "{garbler} {evaluator}");
    // These attempts leave too little for another step.
    let store = folders.store(Party::Evaluator);
    let (account, vain) = store.accounts().unwrap().remove(0);
    store.attempt(&account, account.security.units() - vain).unwrap();
    drop(store);
    let make: Work = &|_, session| Ok(session.preprocess(std::slice::from_ref(&all))?.1);
    let refused = connect(&folders, &Counts::default(), None, make);
    let [garbler, evaluator] = &refused;
    assert!(
        matches!(garbler, Err(Error::Stock(why)) if why.contains("refuses to make more stock")),
        "{refused:?}"
    );
    assert!(matches!(evaluator, Err(Error::Vain(_))), "{refused:?}");
    folders.store(Party::Evaluator).forgive(&account).unwrap();
    made(&folders, &all);
    let store = folders.store(Party::Evaluator);
    let states = store.epochs().unwrap().into_iter().map(|(id, _)| store.state(&id).unwrap());
    assert!(states.into_iter().all(|state| state.burned().is_none()));
}

/// Returns the pair of stores to which a party's store belongs.
fn pair(folders: &Folders, party: Party) -> Option<PairId> {
    folders.store(party).pair(&Relation { role: party, identities: terms().identities }).unwrap()
}

/// Row 21 of the table of attacks: a party crashes at each change of its disk while two new or empty stores
/// become a pair. The next connection makes them a pair, and neither party has to burn anything.
#[test]
fn row_21_a_crash_while_stores_get_to_know_each_other() {
    let meet: Work = &|_, session| Ok(session);
    let both = [Party::Garbler, Party::Evaluator];
    // Only one party has stored the pair, as after such a crash.
    let left_over = |party: Party| {
        let folders = Folders::new();
        let relation = Relation { role: party, identities: terms().identities };
        folders.store(party).set_pair(&relation, &[5; 32]).unwrap();
        folders
    };
    let mut told = 0;
    for begin in [Folders::new(), left_over(Party::Garbler), left_over(Party::Evaluator)] {
        for party in both {
            let mut alone = 0;
            for at in 0.. {
                let folders = begin.clone_folders();
                let end = Arc::new(End { at, some: [0, 100, usize::MAX][at % 3], seen: AtomicUsize::new(0) });
                let results = connect(&folders, &Counts::default(), Some((party, &end)), meet);
                if end.seen.load(Ordering::Relaxed) <= at {
                    assert!(results.iter().all(Result::is_ok), "{results:?}");
                    break;
                }
                alone += usize::from(both.map(|party| pair(&folders, party)).iter().flatten().count() == 1);
                let after = connect(&folders, &Counts::default(), None, meet);
                assert!(after.iter().all(Result::is_ok), "{party:?} died at change {at}: {after:?}");
                let pairs = both.map(|party| pair(&folders, party));
                assert!(pairs[0].is_some() && pairs[0] == pairs[1], "{pairs:?}");
                told += 1;
            }
            assert!(alone > 0, "the identifier was never at one party alone");
        }
    }
    println!("counted: {told} ends of a world while stores get to know each other");
}
