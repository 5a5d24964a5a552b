//! A step that several workers make: programs solder items of different workers; workers are lost, cheat, or
//! draw from the ranges of another worker (rows 4, 16, 21 and 24).
//!
//! Rows are those of the table of attacks (docs/concepts/security.md, section 14).

use std::collections::HashSet;
use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::{Arc, Barrier, Condvar, Mutex};
use std::time::Duration;

use super::harness::pair;
use crate::Cheat;
use crate::hooks::{Forced, Hooks, Point};
use crate::stored::{Lacking, Stocked};
use crate::{Request, msg};
use brickwork_base::{Error, Security};
use brickwork_circuit::{Party, Port, Program, ProgramBuilder, Recipient, Type};
use brickwork_protocol::ItemKind;
use brickwork_protocol::{Promise, Terms, Unobserved};
use brickwork_store::{EpochEntry, Ranges, Store, StoreKey};
use brickwork_wire::{Channel, Stream, Tag, memory_pair};

const KEY: StoreKey = StoreKey::from_bytes([7; 32]);

pub(super) const TERMS: Terms = Terms {
    security: Security::of(40),
    threads: 2,
    table_memory: brickwork_protocol::TABLE_MEMORY,
    identities: [[1; 32], [2; 32]],
    post_quantum: false,
};

pub(super) const WORKERS: usize = 3;
/// The slots of the program. Each worker makes two or three.
const SLOTS: usize = 7;

/// Makes a program with a chain of slots, so that items of different workers are soldered to each other.
pub(super) fn chain() -> Arc<Program> {
    let ports = |name: &str| vec![Port::new(name, Type::Uint(2))];
    let mut program = ProgramBuilder::new("chain", ports("x"), ports("y")).unwrap();
    let component = program.component(pair()).unwrap();
    let mut last = program.slot(component, &[0, 2]).unwrap();
    for k in 1..SLOTS {
        last = program.slot(component, &[last + k as u32 % 2, 1 + 2 * (k as u32 % 2)]).unwrap();
    }
    program.output(Port::new("z", Type::Uint(2)), Recipient::Both, vec![last, last + 1]).unwrap();
    Arc::new(program.finish().unwrap())
}

pub(super) fn request(program: &Program) -> Request {
    Request { ots: Some(program.input_width(Party::Evaluator)), ..Request::of(program) }
}

pub(super) fn store(root: &Path, party: Party) -> Store {
    Store::open(&root.join(format!("{party:?}")), &KEY).unwrap()
}

/// A worker of one party: its connection and its hooks.
pub(super) type Worker = (Channel, Hooks);

/// Makes the workers of both parties, on connections in memory.
pub(super) fn workers() -> [Vec<Worker>; 2] {
    let (left, right): (Vec<_>, Vec<_>) = (0..WORKERS).map(|_| memory_pair()).unzip();
    [left, right].map(|channels| channels.into_iter().map(|channel| (channel, Hooks::none())).collect())
}

/// For each party the blocks of key material that its workers have sent.
type Sent = [Arc<Mutex<HashSet<[u8; 16]>>>; 2];

/// Checks all workers' messages: no block that comes from a stream occurs twice, in all workers and attempts.
fn watched(mut all: [Vec<Worker>; 2], sent: &Sent) -> [Vec<Worker>; 2] {
    /// Rows of OTs, corrections of commitments, tables, authenticators and solderings.
    const MATERIAL: [Tag; 6] =
        [Tag(24), Tag(32), msg::TABLES, msg::AUTHENTICATORS, msg::BUCKET_SOLDERINGS, msg::OUTPUT_SOLDERINGS];
    for (workers, sent) in all.iter_mut().zip(sent) {
        for (channel, _) in workers {
            let sent = sent.clone();
            channel.set_tamper(Box::new(move |tag, bytes| {
                let mut sent = sent.lock().unwrap();
                for block in bytes.chunks_exact(16).filter(|_| MATERIAL.contains(&tag)) {
                    let block: [u8; 16] = block.try_into().unwrap();
                    assert!(block == [0; 16] || sent.insert(block), "a block of message {tag:?} came twice");
                }
            }));
        }
    }
    all
}

/// Makes stock for a run, at both parties, with workers.
fn fill(root: &Path, program: &Program, workers: [Vec<Worker>; 2]) -> [Result<(), Error>; 2] {
    make(root, request(program), workers)
}

/// Makes the request at both parties, with workers.
fn make(root: &Path, request: Request, workers: [Vec<Worker>; 2]) -> [Result<(), Error>; 2] {
    let (left, right) = memory_pair();
    let steps = [request];
    let one = |party, channel, workers: Vec<Worker>| {
        let line = Stocked::open(party, channel, &store(root, party), &TERMS, Unobserved)?;
        let (done, phases, line) = line.preprocess_by_with(&steps, workers, Vec::new())?;
        assert_eq!((done.steps, phases.len()), (1, WORKERS));
        line.close().map(drop)
    };
    let ([garblers, evaluators], one) = (workers, &one);
    std::thread::scope(|scope| {
        let garbler = scope.spawn(move || one(Party::Garbler, left, garblers));
        let evaluator = one(Party::Evaluator, right, evaluators);
        [garbler.join().unwrap(), evaluator]
    })
}

/// Runs the program once on stock, and checks the outputs. Returns the promise at each party.
pub(super) fn run(root: &Path, program: &Arc<Program>, x: u8, y: u8) -> [Result<Promise, Error>; 2] {
    let (left, right) = memory_pair();
    let bits = |n: u8| vec![n & 1 == 1, n & 2 == 2];
    let expected = program.simulate(&bits(x), &bits(y));
    let one = |party, channel, input: Vec<bool>| {
        let line = Stocked::open(party, channel, &store(root, party), &TERMS, Unobserved)?;
        let (done, line) = line.run(program, &input, Lacking::Refuse)?;
        line.close()?;
        assert_eq!(done.outputs, program.output_bits(party, &expected));
        Ok(done.promise)
    };
    std::thread::scope(|scope| {
        let garbler = scope.spawn(|| one(Party::Garbler, left, bits(x)));
        let evaluator = one(Party::Evaluator, right, bits(y));
        [garbler.join().unwrap(), evaluator]
    })
}

/// Returns for each party whether an epoch is burned. Checks the stores with `verify`.
pub(super) fn burned(root: &Path) -> [bool; 2] {
    [Party::Garbler, Party::Evaluator].map(|party| {
        let store = store(root, party);
        store.verify().unwrap();
        store.epochs().unwrap().iter().any(|(id, _)| store.state(id).unwrap().burned().is_some())
    })
}

/// Returns the numbers of the log entries whose ranges made the remaining stock.
pub(super) fn entries(root: &Path, party: Party) -> Vec<u64> {
    let store = store(root, party);
    let of = |(id, _): ([u8; 32], _)| {
        let left = store.batches(&id).unwrap().into_iter().filter(|batch| batch.left > 0);
        left.map(|batch| batch.serial >> 16).collect::<Vec<_>>()
    };
    let mut entries: Vec<u64> = store.epochs().unwrap().into_iter().flat_map(of).collect();
    entries.dedup();
    entries
}

/// Rows 4 and 16 of the table of attacks: a program solders buckets of three workers, none of which made
/// enough alone. The reported bound covers the cut-and-chooses of all of them.
#[test]
fn rows_04_and_16_a_program_solders_what_several_workers_made() {
    let (folder, program) = (tempfile::tempdir().unwrap(), chain());
    let root = folder.path();
    let shares = request(&program).shares(WORKERS);
    assert!(shares.len() == WORKERS && shares.iter().all(|share| share.components[0].1 < SLOTS));
    fill(root, &program, workers()).into_iter().for_each(Result::unwrap);
    for party in [Party::Garbler, Party::Evaluator] {
        assert_eq!(entries(root, party), [1, 2, 3], "{party:?}");
    }
    let reports = run(root, &program, 3, 2).map(Result::unwrap);
    for report in &reports {
        let of = |what: &str| report.budget.iter().filter(|spent| spent.check.contains(what)).count();
        assert_eq!((of("cut-and-choose of pair"), of("key authenticators")), (WORKERS, WORKERS));
        // The garbler has two input wires, so the third worker made no input authenticator.
        assert_eq!(of("input authenticators"), 2);
        let sum: f64 = report.budget.iter().map(|spent| spent.bound_log2.exp2()).sum();
        assert!((sum.log2() - report.bound_log2).abs() < 1e-9 && report.bound_log2 <= -40.0);
        // The program took from every batch of the epoch.
        assert!((report.epoch_bound_log2.unwrap() - report.bound_log2).abs() < 1e-9);
        assert_eq!(report.of_kind(ItemKind::Component).map(|batch| batch.slots).sum::<u64>(), SLOTS as u64);
    }
    assert_eq!(reports[0].bound_log2, reports[1].bound_log2);
    assert_eq!(burned(root), [false; 2]);
    // No stock is left, and the next filling begins a new epoch. The test repeats this for every input.
    assert!(run(root, &program, 3, 2).iter().all(|result| matches!(result, Err(Error::Stock(_)))));
    for inputs in 0..16 {
        fill(root, &program, workers()).into_iter().for_each(Result::unwrap);
        run(root, &program, inputs & 3, inputs >> 2).into_iter().for_each(|ran| drop(ran.unwrap()));
    }
}

/// The shares differ by at most one item of each kind, and together are the request.
#[test]
fn shares_add_up() {
    let program = chain();
    for (slots, wires, ots, workers) in
        [(7, 2, Some(2), 3), (1, 9, None, 4), (2, 0, Some(5), 8), (64, 64, Some(64), 64), (0, 0, None, 3)]
    {
        let component = program.components()[0].clone();
        let request = Request { components: vec![(component, slots)], garbler_wires: wires, ots };
        let shares = request.shares(workers);
        let slots_of = |share: &Request| share.components.iter().map(|(_, slots)| slots).sum::<usize>();
        let sum = |count: &dyn Fn(&Request) -> usize| {
            let counts: Vec<usize> = shares.iter().map(count).collect();
            assert!(counts.iter().max().unwrap() - counts.iter().min().unwrap() <= 1, "{counts:?}");
            counts.iter().sum::<usize>()
        };
        assert_eq!(sum(&slots_of), slots);
        assert_eq!(sum(&|share| share.garbler_wires), wires);
        assert_eq!(sum(&|share| share.ots.unwrap_or(0)), ots.unwrap_or(0));
        assert!(shares.len() == 1 || shares.iter().all(|share| !share.is_empty()));
        assert_eq!(shares.len(), workers.min(slots.max(wires).max(ots.unwrap_or(0))).max(1));
    }
}

/// Checks that the other party detects the cheat of one worker, and that the epoch is burned durably.
fn burns(cheater: Party, cheat: Cheat, with_ots: bool, workers: [Vec<Worker>; 2]) {
    let (folder, program) = (tempfile::tempdir().unwrap(), chain());
    let root = folder.path();
    let request = request(&program);
    let results = make(root, Request { ots: request.ots.filter(|_| with_ots), ..request }, workers);
    let honest = 1 - cheater as usize;
    assert!(
        matches!(&results[honest], Err(Error::Peer(found)) if *found == cheat),
        "{results:?} instead of {cheat:?}"
    );
    assert!(burned(root)[honest], "a failed check of one worker burns the epoch");
    // A retry is refused and burns the cheater's part. Both parties can then begin a new epoch.
    let _ = run(root, &program, 1, 2);
    assert_eq!(burned(root), [true; 2]);
    fill(root, &program, self::workers()).into_iter().for_each(Result::unwrap);
    assert!(run(root, &program, 1, 2).iter().all(Result::is_ok));
}

pub(super) fn alters(point: Point, place: usize, bits: u8) -> Hooks {
    Hooks::at(point, move |bytes| bytes[place] ^= bits)
}

/// Row 16 of the table of attacks: a failed check of any worker burns the epoch for all workers.
#[test]
fn row_16_a_failed_check_of_one_worker_burns_for_all() {
    for worker in 0..WORKERS {
        let mut all = workers();
        all[0][worker].1 = alters(Point::DeltaDifferences(0), 3, 4);
        burns(Party::Garbler, Cheat::Opening, true, all);
    }
    // The third worker makes no OTs.
    for worker in 0..2 {
        let mut all = workers();
        all[1][worker].1 = alters(Point::OtBinding, 3, 4);
        burns(Party::Evaluator, Cheat::OtBinding, true, all);
    }
}

/// Replaces the ranges of a log entry.
type RangesHook = Arc<dyn Fn(Ranges) -> Ranges + Send + Sync>;

/// Makes two hooks by which two workers of one party exchange their ranges.
fn exchange() -> [RangesHook; 2] {
    type Place = (Mutex<[Option<Ranges>; 2]>, Condvar);
    let place: Arc<Place> = Arc::default();
    [0, 1].map(|k| -> RangesHook {
        let place = place.clone();
        Arc::new(move |mine| {
            let mut both = place.0.lock().unwrap();
            both[1 - k] = Some(mine);
            place.1.notify_all();
            let waits = |both: &mut [Option<Ranges>; 2]| both[k].is_none();
            let (mut both, waited) =
                place.1.wait_timeout_while(both, Duration::from_secs(30), waits).unwrap();
            assert!(!waited.timed_out());
            both[k].take().unwrap()
        })
    })
}

/// Row 16 of the table of attacks: two workers of a cheater swap their ranges, although they announced the
/// right ranges on their connections. Their streams do not match the peer's, and the epoch is burned. (With
/// OTs, a cheating garbler's own check would fail first, so this case makes none.)
#[test]
fn row_16_workers_that_exchange_their_ranges_are_refused() {
    for (cheater, cheat) in [(Party::Garbler, Cheat::Commitment), (Party::Evaluator, Cheat::OtExtension)] {
        let mut all = workers();
        for (worker, ranges) in all[cheater as usize].iter_mut().zip(exchange()) {
            worker.1.settings = Some(Forced { ranges: Some(ranges), ..Forced::default() });
        }
        burns(cheater, cheat, cheater == Party::Evaluator, all);
    }
}

/// A connection that closes after one party has read this many bytes.
struct Severed {
    stream: UnixStream,
    left: Option<usize>,
}

impl Read for Severed {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let most = self.left.map_or(buffer.len(), |left| left.min(buffer.len()));
        if most == 0 && !buffer.is_empty() {
            self.stream.shutdown(std::net::Shutdown::Both)?;
            return Err(io::ErrorKind::ConnectionReset.into());
        }
        let read = self.stream.read(&mut buffer[..most])?;
        self.left = self.left.map(|left| left - read);
        Ok(read)
    }
}

impl Write for Severed {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        self.stream.write(buffer)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.stream.flush()
    }
}

impl Stream for Severed {}

/// Rows 4, 16, 20 and 21 of the table of attacks: the connection of one worker ends after any number of bytes
/// that either party has read. If the step is not completed, the items of all workers are unusable and the
/// ranges are not used again. Its risk counts, nothing is burned, and the next connection makes the step.
#[test]
fn rows_04_16_20_and_21_a_worker_is_lost_anywhere() {
    let (program, mut lost, mut survived, mut attempts) = (chain(), 0, 0, 0);
    for (role, times) in [(Party::Garbler, 20), (Party::Evaluator, 130)] {
        // The last connection is not cut.
        let cuts = (0..15).map(|k| 7 + k * k * times).chain([1 << 30]);
        for (cut, worker) in cuts.zip((0..WORKERS).cycle()) {
            let folder = tempfile::tempdir().unwrap();
            let root = folder.path();
            let mut all = workers();
            let (left, right) = UnixStream::pair().unwrap();
            for (party, stream) in [left, right].into_iter().enumerate() {
                stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
                let left = (party == role as usize).then_some(cut);
                all[party][worker].0 = Channel::new(vec![Box::new(Severed { stream, left })]);
            }
            let sent = Sent::default();
            let ended = fill(root, &program, watched(all, &sent));
            assert!(!burned(root).contains(&true), "{ended:?}");
            if ended.iter().all(Result::is_ok) {
                survived += 1;
                assert!(run(root, &program, 1, 3).iter().all(Result::is_ok));
                continue;
            }
            lost += 1;
            assert!(ended.iter().all(|ended| matches!(ended, Err(Error::Io(_)))), "{ended:?}");
            let refused = run(root, &program, 1, 3);
            assert!(refused.iter().all(|ran| matches!(ran, Err(Error::Stock(_)))), "{refused:?}");
            fill(root, &program, watched(workers(), &sent)).into_iter().for_each(Result::unwrap);
            assert!(sent.iter().all(|sent| sent.lock().unwrap().len() > 100));
            for party in [Party::Garbler, Party::Evaluator] {
                let store = store(root, party);
                let (id, _) = store.epochs().unwrap()[0];
                let log = store.log(&id).unwrap();
                let begun = log.iter().filter(|entry| matches!(entry, EpochEntry::Fill(_))).count();
                let exposed = log.iter().filter(|entry| matches!(entry, EpochEntry::Exposed)).count();
                let given_up = store.state(&id).unwrap().given_up();
                drop(store);
                // A step begins after the greetings of the workers, and counts as given up after a challenge
                // was sent.
                assert!(exposed <= begun);
                assert_eq!(given_up.steps as usize, exposed - 1);
                assert_eq!(given_up.risk > 0, exposed > 1);
                attempts += exposed - 1;
                let first = 1 + 3 * (begun as u64 - 1);
                assert_eq!(entries(root, party), [first, first + 1, first + 2]);
            }
            assert!(run(root, &program, 1, 3).iter().all(Result::is_ok));
        }
    }
    println!("counted: {lost} connections of workers that were cut, {survived} that had ended");
    assert!(lost > 16 && survived >= 2 && attempts > 8, "{lost} {survived} {attempts}");
}

/// Row 24 of the table of attacks: workers of two meetings at once between the same parties. A worker of one
/// meeting is refused by the other.
#[test]
fn row_24_workers_belong_to_one_meeting() {
    let (folder, program) = (tempfile::tempdir().unwrap(), chain());
    let stores = [Party::Garbler, Party::Evaluator].map(|party| store(folder.path(), party));
    let steps = [request(&program)];
    let (mut garblers, evaluators): (Vec<_>, Vec<_>) = (0..2).map(|_| workers().into()).unzip();
    // One worker of each meeting is connected to a worker of the other meeting.
    let (first, second) = garblers.split_at_mut(1);
    std::mem::swap(&mut first[0][1], &mut second[0][1]);
    let met = Barrier::new(4);
    let one = |party: Party, channel, workers: Vec<Worker>| {
        let line = Stocked::open(party, channel, &stores[party as usize], &TERMS, Unobserved);
        met.wait();
        line?.preprocess_by_with(&steps, workers, Vec::new()).map(drop)
    };
    let one = &one;
    let ended: Vec<Result<(), Error>> = std::thread::scope(|scope| {
        let mut parties = Vec::new();
        for (garblers, evaluators) in garblers.into_iter().zip(evaluators) {
            let (left, right) = memory_pair();
            parties.push(scope.spawn(move || one(Party::Garbler, left, garblers)));
            parties.push(scope.spawn(move || one(Party::Evaluator, right, evaluators)));
        }
        parties.into_iter().map(|party| party.join().unwrap()).collect()
    });
    assert!(ended.iter().all(Result::is_err), "{ended:?}");
    assert!(ended.iter().any(|ended| matches!(ended, Err(Error::Mismatch(_)))), "{ended:?}");
    for store in &stores {
        assert!(store.epochs().unwrap().iter().all(|(id, _)| store.state(id).unwrap().is_new()));
    }
}
