//! Jobs of real lanes: two coordinators, their ledgers on disk, workers with their own stores as threads, and
//! workers that die at any message.

mod attacks;
mod lies;

use std::collections::{BTreeMap, BTreeSet};
use std::io::{Read, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::panic::{AssertUnwindSafe, catch_unwind, panic_any};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, Once};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use brickwork_base::random::{Rng, Seed};
use brickwork_base::{Error, Party};
use brickwork_circuit::{Builder, Component, Port, Program, ProgramBuilder, Recipient, Type};
use brickwork_jobs::control::{JobOutcome, JobWorkers, coordinate};
use brickwork_jobs::coordinator::{Evidence, Manner, News, WorkerEnding, WorkerOrder};
use brickwork_jobs::entered;
use brickwork_jobs::lane::{self, Attempt, ConnectedLane, Means};
use brickwork_jobs::ledger::{JobEntry, JobState, PartitionState};
use brickwork_jobs::terms::{JobId, JobTerms, Partition};
use brickwork_protocol::Unobserved;
use brickwork_store::{EpochEntry as LogEntry, Store, StoreKey};
use brickwork_wire::{Channel, Stream, memory_pair};

const WIDTH: usize = 8;
const KEY: StoreKey = StoreKey::from_bytes([7; 32]);

/// A program that gives x + y to both parties.
fn adder() -> Program {
    let mut b = Builder::new(2 * WIDTH as u32);
    let bits = b.all_inputs();
    let sum = brickwork_circuit::library::add(&mut b, &bits[..WIDTH], &bits[WIDTH..]);
    let byte = |name: &str| Port::new(name, Type::Uint(WIDTH as u32));
    let component = Component {
        name: "add".into(),
        inputs: vec![byte("x"), byte("y")],
        outputs: vec![byte("z")],
        circuit: Arc::new(b.finish(&sum[..WIDTH]).unwrap()),
    };
    let mut p = ProgramBuilder::new("adder", vec![byte("x")], vec![byte("y")]).unwrap();
    let add = p.component(component).unwrap();
    let wires: Vec<u32> = (0..2 * WIDTH as u32).collect();
    let z = p.slot(add, &wires).unwrap();
    p.output(byte("z"), Recipient::Both, (z..z + WIDTH as u32).collect()).unwrap();
    p.finish().unwrap()
}

fn bits(numbers: &[u8]) -> Vec<bool> {
    numbers.iter().flat_map(|n| (0..8).map(move |i| n >> i & 1 == 1)).collect()
}

/// One end of a connection between two workers; a clone can cut the connection.
struct Line(UnixStream);

impl Read for Line {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        self.0.read(buffer)
    }
}

impl Write for Line {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.0.flush()
    }
}

impl Stream for Line {}

/// Kills a worker when it sends the message with this number.
type Kill = (Party, u32, usize);

/// The state that both parties' workers and the test share.
#[derive(Clone)]
struct Scene {
    root: PathBuf,
    terms: JobTerms,
    program: Arc<Program>,
    /// The inputs of each party, by partition and row.
    inputs: [Vec<Vec<u8>>; 2],
    /// The number of lanes that work at the same time.
    at_once: Option<u32>,
    /// The connections on which workers meet, by address.
    doors: Arc<Mutex<BTreeMap<String, UnixStream>>>,
    /// The planned deaths of workers; each happens once.
    kills: Arc<Mutex<Vec<Kill>>>,
    /// A partition after whose outputs the evaluator's workers die and the evaluator reports that no stock
    /// was taken.
    denies: Option<Partition>,
    /// The loss of the garbler's stores before their logs are read.
    loses: Option<Loss>,
}

/// The way in which a store is lost.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Loss {
    /// The store is gone, and reading its log creates an empty one.
    Empty,
    /// An older copy of the store is there.
    Old,
    /// An empty store is there, and the file beside it still names the last attempt.
    Bare,
}

impl Scene {
    fn new(root: &Path, rng: &mut Rng, [lanes, retries]: [u32; 2], rows: Vec<u32>) -> Self {
        let program = Arc::new(adder());
        let identities = [[1; 32], [2; 32]];
        let terms = JobTerms { security: 40, lanes, retries, program: program.digest(), rows, identities };
        let inputs = [0, 1].map(|_| {
            let rows = terms.rows.iter();
            rows.map(|count| (0..*count).map(|_| rng.below(256) as u8).collect()).collect()
        });
        let (doors, kills) = (Arc::default(), Arc::default());
        Scene {
            root: root.into(),
            terms,
            program,
            inputs,
            at_once: None,
            doors,
            kills,
            denies: None,
            loses: None,
        }
    }

    fn folder(&self, party: Party) -> PathBuf {
        self.root.join(format!("{party:?}"))
    }

    fn store(&self, party: Party, lane: u32) -> PathBuf {
        self.folder(party).join(format!("lane-{lane}"))
    }

    /// Returns the folder of a copy of the garbler's only lane.
    fn old(&self) -> PathBuf {
        self.root.join("old")
    }

    fn result(&self, party: Party, partition: Partition) -> PathBuf {
        self.folder(party).join(format!("result-{partition}"))
    }

    fn rows(&self, partition: Partition) -> Arc<Program> {
        Arc::new(self.program.repeat(self.terms.rows[partition as usize] as usize).unwrap())
    }

    fn expected(&self, partition: Partition) -> Vec<u8> {
        let [x, y] = [0, 1].map(|party: usize| &self.inputs[party][partition as usize]);
        x.iter().zip(y).map(|(x, y)| x.wrapping_add(*y)).collect()
    }

    /// Returns the number of times that stock was taken for a partition, by all logs of a party's lanes.
    fn uses(&self, party: Party, job: &JobId, partition: Partition) -> usize {
        let name = lane::step(job, partition, &self.rows(partition)).entered_as();
        let is_it = |entry: &&LogEntry| matches!(entry, LogEntry::Use { program, .. } if *program == name);
        let mut uses = 0;
        for lane in (0..self.terms.lanes).filter(|lane| self.store(party, *lane).exists()) {
            let store = Store::open(&self.store(party, lane), &KEY).unwrap();
            for (id, _) in store.epochs().unwrap() {
                uses += store.log(&id).unwrap().iter().filter(is_it).count();
            }
        }
        uses
    }
}

enum Task {
    Fill(u32),
    Run(Partition),
}

struct Worker {
    tasks: Sender<Task>,
    thread: JoinHandle<()>,
    line: UnixStream,
}

/// Workers as threads.
struct Threads {
    scene: Scene,
    party: Party,
    workers: BTreeMap<u32, Worker>,
    sender: Sender<News>,
    news: Receiver<News>,
    job: Option<JobId>,
}

impl Threads {
    fn new(scene: &Scene, party: Party) -> Self {
        let (sender, news) = channel();
        Threads { scene: scene.clone(), party, workers: BTreeMap::new(), sender, news, job: None }
    }

    fn finish(&mut self, lane: u32) {
        if let Some(Worker { tasks, thread, line }) = self.workers.remove(&lane) {
            drop(tasks);
            // The worker may have ended by itself.
            let _ = line.shutdown(Shutdown::Both);
            thread.join().unwrap();
        }
    }
}

/// Runs a worker from its first to its last message.
fn work(
    scene: &Scene,
    party: Party,
    attempt: Attempt,
    mut channel: Channel,
    (tasks, sender): (Receiver<Task>, &Sender<News>),
) -> Result<(), Error> {
    let mut sent = 0;
    let kills = scene.kills.clone();
    channel.set_tamper(Box::new(move |_, _| {
        sent += 1;
        let mut kills = kills.lock().unwrap();
        if let Some(at) = kills.iter().position(|kill| *kill == (party, attempt.lane, sent)) {
            kills.remove(at);
            drop(kills);
            panic_any("killed");
        }
    }));
    let directory = scene.store(party, attempt.lane);
    let store = Store::open(&directory, &KEY)?;
    let place = entered::enter(&directory, store, &attempt, &scene.terms.digest())?;
    let terms = lane::session_terms(&scene.terms, Means::default())?;
    let mut lane = ConnectedLane::open(&attempt, party, channel, &place, &terms, Unobserved)?;
    let (number, at) = (attempt.number, attempt.lane);
    while let Ok(task) = tasks.recv() {
        match task {
            Task::Fill(partitions) => {
                let executions = u64::from(partitions) * u64::from(scene.terms.most_rows());
                lane = lane.fill(&scene.program, executions)?;
                let _ = sender.send(News::Filled { lane: at, attempt: number });
            }
            Task::Run(partition) => {
                let input = bits(&scene.inputs[party as usize][partition as usize]);
                let done;
                (done, lane) = lane.run(&scene.rows(partition), partition, &input)?;
                let bytes: Vec<u8> = done
                    .outputs
                    .chunks(8)
                    .map(|b| b.iter().rev().fold(0, |n, b| n << 1 | u8::from(*b)))
                    .collect();
                if party == Party::Evaluator && scene.denies == Some(partition) {
                    panic_any("killed");
                }
                std::fs::write(scene.result(party, partition), bytes)?;
                let _ = sender.send(News::Done { lane: at, attempt: number, partition });
            }
        }
    }
    lane.close().map(drop)
}

impl JobWorkers for Threads {
    fn obey(&mut self, order: WorkerOrder) -> Result<(), Error> {
        match order {
            WorkerOrder::Start { lane, attempt, address } => {
                self.finish(lane);
                let name = format!("{lane}-{attempt}");
                let line = match address {
                    None => {
                        let (mine, theirs) = UnixStream::pair()?;
                        self.scene.doors.lock().unwrap().insert(name.clone(), theirs);
                        let news = News::Listens { lane, attempt, address: name };
                        self.sender.send(news).unwrap();
                        mine
                    }
                    Some(address) => match self.scene.doors.lock().unwrap().remove(&address) {
                        Some(line) => line,
                        None => UnixStream::pair()?.0,
                    },
                };
                let channel = Channel::new(vec![Box::new(Line(line.try_clone()?))]);
                let (tasks, waiting) = std::sync::mpsc::channel();
                let (scene, party, sender) = (self.scene.clone(), self.party, self.sender.clone());
                let attempt = Attempt { job: self.job.unwrap(), lane, number: attempt };
                let thread = std::thread::spawn(move || {
                    let run = || work(&scene, party, attempt, channel, (waiting, &sender));
                    let cause = match catch_unwind(AssertUnwindSafe(run)) {
                        Ok(Ok(())) => WorkerEnding::Stopped,
                        Ok(Err(Error::Peer(_))) => WorkerEnding::Check,
                        Ok(Err(Error::Stock(_) | Error::Strangers(_))) => WorkerEnding::Stock,
                        Ok(Err(_)) | Err(_) => WorkerEnding::Line,
                    };
                    let _ = sender.send(News::Gone { lane, attempt: attempt.number, cause });
                });
                self.workers.insert(lane, Worker { tasks, thread, line });
            }
            WorkerOrder::Fill { lane, partitions } => self.tell(lane, Task::Fill(partitions)),
            WorkerOrder::Run { lane, partition } => self.tell(lane, Task::Run(partition)),
            WorkerOrder::Stop { lane } => {
                self.finish(lane);
            }
            WorkerOrder::Look { .. } => unreachable!("it is looked at once"),
        }
        Ok(())
    }

    fn look(&mut self, lane: u32, attempt: u32, partition: Partition) -> Evidence {
        self.finish(lane);
        if self.party == Party::Evaluator && self.scene.denies == Some(partition) {
            return Evidence::NotTaken;
        }
        let directory = self.scene.store(self.party, lane);
        if let (Party::Garbler, Some(loss)) = (self.party, self.scene.loses) {
            let note = std::fs::read(directory.join("attempt")).unwrap();
            std::fs::remove_dir_all(&directory).unwrap();
            match loss {
                Loss::Empty => {}
                Loss::Old => attacks::copy(&self.scene.old(), &directory),
                Loss::Bare => {
                    std::fs::create_dir(&directory).unwrap();
                    std::fs::write(directory.join("attempt"), note).unwrap();
                }
            }
        }
        let job = self.job.unwrap();
        let step = lane::step(&job, partition, &self.scene.rows(partition));
        // Opening a missing store makes an empty one.
        match Store::open(&directory, &KEY) {
            Ok(store) => {
                let attempt = Attempt { job, lane, number: attempt };
                entered::evidence(&directory, &store, &attempt, &self.scene.terms.digest(), &step)
            }
            Err(_) => Evidence::PerhapsTaken,
        }
    }

    fn news(&mut self, wait: Duration) -> Result<Vec<News>, Error> {
        let first = self.news.recv_timeout(wait).into_iter();
        Ok(first.chain(self.news.try_iter()).collect())
    }

    fn kept(&mut self) -> Result<BTreeSet<Partition>, Error> {
        let all = 0..self.scene.terms.rows.len() as u32;
        Ok(all.filter(|p| self.scene.result(self.party, *p).exists()).collect())
    }

    fn begins(&mut self, job: &JobId, _: &JobTerms) -> Result<(), Error> {
        self.job = Some(*job);
        Ok(())
    }

    fn end(&mut self) {
        let lanes: Vec<u32> = self.workers.keys().copied().collect();
        lanes.into_iter().for_each(|lane| self.finish(lane));
    }
}

impl Threads {
    fn tell(&mut self, lane: u32, task: Task) {
        if let Some(worker) = self.workers.get(&lane) {
            let _ = worker.tasks.send(task);
        }
    }
}

/// Runs both coordinators with new workers. `cut` breaks their connection at this message of the leader.
fn coordinate_both(scene: &Scene, cut: Option<usize>) -> [Result<JobOutcome, Error>; 2] {
    coordinate_both_so(scene, cut, false)
}

fn coordinate_both_so(scene: &Scene, cut: Option<usize>, only_fills: bool) -> [Result<JobOutcome, Error>; 2] {
    let (mut left, right) = memory_pair();
    if let Some(cut) = cut {
        let mut sent = 0;
        left.set_tamper(Box::new(move |_, bytes| {
            sent += 1;
            if sent == cut {
                // The follower refuses an empty message, and ends.
                bytes.clear();
            }
        }));
    }
    let one = |party: Party, channel| {
        let mut workers = Threads::new(scene, party);
        let ledger = scene.folder(party).join("ledger");
        let manner = Manner { listens: party == Party::Garbler, only_fills, at_once: scene.at_once };
        coordinate(channel, party, &ledger, &scene.terms, (manner, &[]), &mut workers)
    };
    std::thread::scope(|scope| {
        let garbler = scope.spawn(|| one(Party::Garbler, left));
        let evaluator = one(Party::Evaluator, right);
        [garbler.join().unwrap(), evaluator]
    })
}

fn entries(scene: &Scene, party: Party) -> Vec<JobEntry> {
    let ledger = scene.folder(party).join("ledger");
    let book = brickwork_jobs::ledger_file::JobLedger::open(&ledger, party, &scene.terms).unwrap().unwrap();
    book.entries().to_vec()
}

/// Checks a job after any end.
fn check(scene: &Scene, job: &JobId, state: &JobState) {
    assert_eq!(entries(scene, Party::Garbler), entries(scene, Party::Evaluator));
    assert!(state.spent() <= state.shares() && state.bound_log2(40) <= -40.0);
    for (partition, stands) in (0..).zip(state.partitions()) {
        for party in [Party::Garbler, Party::Evaluator] {
            let uses = scene.uses(party, job, partition);
            assert!(uses <= 1, "partition {partition} took stock {uses} times at the {party:?}");
            if *stands == PartitionState::Done {
                assert_eq!(uses, 1);
                assert_eq!(std::fs::read(scene.result(party, partition)).unwrap(), scene.expected(partition));
            }
        }
    }
}

#[test]
fn a_job_of_two_lanes_gives_what_the_program_gives() {
    let folder = tempfile::tempdir().unwrap();
    let rng = &mut Rng::expand(&Seed::from_bytes(brickwork_testing::seed()), "test");
    let scene = Scene::new(folder.path(), rng, [2, 1], vec![3, 3, 3, 3, 2]);
    let [garbler, evaluator] = coordinate_both(&scene, None).map(Result::unwrap);
    assert_eq!((garbler.job, &garbler.state), (evaluator.job, &evaluator.state));
    assert_eq!(garbler.state.tally().done, 5);
    assert_eq!(garbler.state.spent(), 2);
    check(&scene, &garbler.job, &garbler.state);
    // If the job is started again, nothing is left to do.
    let [again, _] = coordinate_both(&scene, None).map(Result::unwrap);
    assert_eq!(again.state, garbler.state);
}

/// Stock is made by the available lanes and used later, when no more stock is begun.
#[test]
fn stock_is_made_before_it_is_used() {
    let folder = tempfile::tempdir().unwrap();
    let rng = &mut Rng::expand(&Seed::from_bytes(brickwork_testing::seed()), "test");
    let scene = Scene::new(folder.path(), rng, [2, 1], vec![2, 2, 2]);
    for _ in 0..2 {
        let [filled, _] = coordinate_both_so(&scene, None, true).map(Result::unwrap);
        assert_eq!((filled.state.tally().open, filled.state.spent()), (3, 2));
    }
    let [done, _] = coordinate_both(&scene, None).map(Result::unwrap);
    assert_eq!((done.state.tally().done, done.state.spent()), (3, 2));
    check(&scene, &done.job, &done.state);
}

/// Lanes may work one after another, if there is room for only one.
#[test]
fn lanes_work_one_after_the_other() {
    let folder = tempfile::tempdir().unwrap();
    let rng = &mut Rng::expand(&Seed::from_bytes(brickwork_testing::seed()), "test");
    let scene = Scene { at_once: Some(1), ..Scene::new(folder.path(), rng, [3, 0], vec![1; 6]) };
    let [done, _] = coordinate_both(&scene, None).map(Result::unwrap);
    check(&scene, &done.job, &done.state);
    assert_eq!((done.state.tally().done, done.state.spent()), (6, 3));
    let mut working = BTreeSet::new();
    for entry in entries(&scene, Party::Garbler) {
        match entry {
            JobEntry::Fill { lane, .. } => assert!(working.is_empty() && working.insert(lane)),
            JobEntry::Done { partition } if partition % 2 == 1 => working.clear(),
            _ => {}
        }
    }
}

/// Suppresses the messages of killed workers.
fn workers_die_quietly() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let hook = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| match panic.payload().downcast_ref::<&str>() {
            Some(&"killed") => {}
            _ => hook(panic),
        }));
    });
}

/// Workers die at any message, and connections break; the parties continue until the job is over.
#[test]
fn rows_16_and_20_no_partition_runs_twice_whoever_dies() {
    workers_die_quietly();
    let rng = &mut Rng::expand(&Seed::from_bytes(brickwork_testing::seed()), "test");
    let (mut in_doubt, mut resumed) = (0, 0);
    let until = Instant::now() + Duration::from_secs(8);
    for round in 0..24 {
        if Instant::now() > until && round > 8 {
            break;
        }
        let folder = tempfile::tempdir().unwrap();
        let scene = Scene::new(folder.path(), rng, [2, 3], vec![1, 1, 1, 1]);
        for _ in 0..rng.below(4) {
            let party = if rng.below(2) == 0 { Party::Garbler } else { Party::Evaluator };
            let kill = (party, rng.below(2) as u32, 1 + rng.below(40) as usize);
            scene.kills.lock().unwrap().push(kill);
        }
        let mut outcome = None;
        for _ in 0..8 {
            let cut = (rng.below(3) == 0).then(|| 2 + rng.below(12) as usize);
            match coordinate_both(&scene, cut) {
                [Ok(garbler), Ok(_)] => {
                    outcome = Some(garbler);
                    break;
                }
                results => assert!(
                    results
                        .iter()
                        .flat_map(|r| r.as_ref().err())
                        .all(|e| { matches!(e, Error::Io(_) | Error::Peer(_)) }),
                    "{results:?}"
                ),
            }
        }
        let Some(JobOutcome { job, state, .. }) = outcome else { continue };
        check(&scene, &job, &state);
        let tally = state.tally();
        assert!(tally.claimed == 0 && tally.done + tally.in_doubt + tally.open == 4, "{tally:?}");
        assert!(tally.open == 0 || state.spent() == state.shares(), "{tally:?}");
        in_doubt += tally.in_doubt;
        let resumes = |entry: &JobEntry| matches!(entry, JobEntry::Resume { .. });
        resumed += entries(&scene, Party::Garbler).iter().filter(|e| resumes(e)).count();
    }
    println!("{in_doubt} partitions in doubt, {resumed} lanes went on with their stock");
}

/// An old copy of a ledger, at either party, is refused; so is a party that means another job.
#[test]
fn rows_19_and_25_old_ledgers_and_other_jobs_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let rng = &mut Rng::expand(&Seed::from_bytes(brickwork_testing::seed()), "test");
    let rows: Vec<u32> = vec![1; 12];
    let scene = Scene::new(folder.path(), rng, [2, 1], rows);
    let [first, _] = coordinate_both(&scene, None).map(Result::unwrap);
    assert_eq!(first.state.tally().done, 12);
    for party in [Party::Garbler, Party::Evaluator] {
        let path = scene.folder(party).join("ledger").join("ledger");
        let whole = std::fs::read(&path).unwrap();
        // The copy has the header and one entry.
        let entry = brickwork_jobs::ledger_file::JobLedger::open(path.parent().unwrap(), party, &scene.terms);
        drop(entry);
        std::fs::write(&path, &whole[..73]).unwrap();
        let results = coordinate_both(&scene, None);
        match party {
            // A leader is never behind its follower.
            Party::Garbler => assert!(
                results.iter().any(|r| matches!(r, Err(Error::Stock(why)) if why.contains("old copy"))),
                "{results:?}"
            ),
            // A follower may be behind by one proposal, but it does not accept entries for which it has no
            // evidence.
            Party::Evaluator => {
                for result in &results {
                    assert!(
                        result.is_err() || result.as_ref().unwrap().state.tally().done == 12,
                        "{result:?}"
                    );
                }
            }
        }
        for partition in 0..12 {
            for party in [Party::Garbler, Party::Evaluator] {
                assert_eq!(scene.uses(party, &first.job, partition), 1);
            }
        }
        std::fs::write(&path, &whole).unwrap();
    }
    let other = Scene { terms: JobTerms { retries: 2, ..scene.terms.clone() }, ..scene.clone() };
    assert!(coordinate_both(&other, None).iter().all(Result::is_err));
}
