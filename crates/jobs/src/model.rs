//! A model check of a whole job: two coordinators, their ledgers, their connection, lanes whose workers make
//! stock and run partitions, and faults.
//!
//! *Safety*: after any faults, in any order, neither party's stock is taken twice for a partition unless that
//! party's user decided so, and no more stock is begun than the promise allows. *Liveness*: once faults stop,
//! every job ends. The search builds the graph of all states. The search looks for a strongly connected set
//! of states in which a weakly fair run can stay forever, which is a run in which every process that can
//! always act does act. A deadlock is such a set, too, because idle coordinators still exchange empty
//! messages.

use std::collections::{BTreeSet, HashMap};
use std::hash::{Hash, Hasher};

use crate::coordinator::{
    Evidence, Follower, Leader, MAX_NEWS, Manner, News, WorkerEnding, WorkerOrder, WorkerReports,
};
use crate::ledger::{JobEntry, JobState};
use crate::terms::{JobTerms, LaneNumber, Partition};
use brickwork_base::random::Rng;
use brickwork_testing::Replayable as _;

const MANNER: Manner = Manner { listens: true, only_fills: false, at_once: None };

const GARBLER: usize = 0;
const EVALUATOR: usize = 1;

/// A worker of one party.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct Worker {
    attempt: u32,
    /// True if its coordinator has ended, so that nobody receives its reports.
    orphan: bool,
    /// True if the worker listens for its peer, and has reported its address.
    listens: bool,
    said: bool,
    /// True if the worker is connected to its peer.
    met: bool,
    fills: bool,
    filled: bool,
    runs: Option<Partition>,
    /// True if the worker has taken stock for its partition and has the results.
    took: bool,
    done: bool,
}

/// A lane at one party.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct LanePlace {
    worker: Option<Worker>,
    /// True if there is stock, some of which may be `taken` for partitions.
    stock: bool,
    taken: BTreeSet<Partition>,
}

/// A message between the coordinators.
#[derive(Clone, Debug, Hash)]
enum Message {
    Propose { over: bool, entries: Vec<JobEntry>, news: Vec<News> },
    Wrote { over: bool, news: Vec<News> },
}

/// The state of a ledger. Different histories with the same state have the same future, so they have the same
/// hash.
#[derive(Clone, Debug)]
struct Book(JobState);

impl Hash for Book {
    fn hash<H: Hasher>(&self, into: &mut H) {
        (self.0.lanes(), self.0.partitions(), self.0.spent(), self.0.has_failed()).hash(into);
    }
}

impl Book {
    fn append(&mut self, entry: &JobEntry) {
        self.0.apply(entry).expect("an entry that the model allowed can be applied");
    }
}

#[derive(Clone, Debug, Hash)]
struct World {
    leader: Option<Leader>,
    follower: Option<Follower>,
    /// The durable state: the leader's and the follower's ledger, and the entries that only the leader has.
    books: [Book; 2],
    ahead: Vec<JobEntry>,
    line: Option<Message>,
    /// True if the follower has reported all its news since the coordinators connected.
    answered: bool,
    /// True if both coordinators have ended the job.
    ended: bool,
    places: [Vec<LanePlace>; 2],
    /// The number of times that stock was taken for each partition.
    uses: [Vec<u32>; 2],
    /// The number of stocks that were begun.
    begun: [u32; 2],
    /// The durable reports of the evaluator's workers.
    said: WorkerReports,
    /// The number of faults that may still happen.
    faults: u32,
}

/// The variant of the model: the real one, or one with a flaw that the search must find.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// No flaw: workers end with their coordinator.
    Usual,
    /// Workers outlive their coordinator, for example on a machine that the coordinator cannot reach any
    /// more.
    Zombies,
    /// A flaw: the stock's log is not read, and a lost lane is assumed to have taken nothing.
    NoEvidence,
    /// A flaw: the log of a stock is read while a worker that outlived its coordinator still uses it.
    NoLock,
    /// A flaw: the follower gives due orders only when the leader proposes something.
    DueWithEntries,
}

/// The parameters of a search.
#[derive(Clone, Debug)]
struct Setting {
    terms: JobTerms,
    /// The settings of the garbler's coordinator; exactly one party's workers listen.
    manner: Manner,
    faults: u32,
    kind: Kind,
}

impl Setting {
    fn of([lanes, retries, partitions]: [u32; 3], faults: u32, kind: Kind) -> Self {
        Setting { terms: terms(lanes, retries, partitions as usize), manner: MANNER, faults, kind }
    }
}

fn terms(lanes: u32, retries: u32, partitions: usize) -> JobTerms {
    let identities = [[1; 32], [2; 32]];
    JobTerms { security: 40, lanes, retries, program: [0; 32], rows: vec![1; partitions], identities }
}

/// The actor: one of the processes of the model, or a fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Act {
    /// The two coordinators, whose messages alternate, and the users who start them again.
    Coordinators,
    /// The worker of a party in a lane.
    Worker(usize, LaneNumber),
    Fault,
}

impl Act {
    /// Returns the process as a bit in a set of 64; zero for a fault.
    fn bit(self) -> u64 {
        match self {
            Act::Coordinators => 1,
            Act::Worker(party, lane) => 2 << (2 * lane as usize + party),
            Act::Fault => 0,
        }
    }
}

impl World {
    fn new(setting: &Setting) -> Self {
        let Setting { terms, manner, faults, .. } = setting;
        let lanes = vec![LanePlace::default(); terms.lanes as usize];
        let state = JobState::new(&[0; 32], terms);
        World {
            leader: Some(Leader::new(terms, &state, *manner)),
            follower: Some(Follower::new(&state, WorkerReports::default(), !manner.listens)),
            books: [Book(state.clone()), Book(state)],
            ahead: Vec::new(),
            line: None,
            answered: false,
            ended: false,
            places: [lanes.clone(), lanes],
            uses: [vec![0; terms.rows.len()], vec![0; terms.rows.len()]],
            begun: [0; 2],
            said: WorkerReports::default(),
            faults: *faults,
        }
    }

    fn hear(&mut self, party: usize, news: &News) {
        match party {
            GARBLER => self.leader.iter_mut().for_each(|leader| leader.hear(news)),
            _ => {
                if let Some(follower) = &mut self.follower {
                    follower.hear(news);
                }
            }
        }
    }

    /// Obeys a coordinator's orders.
    fn obey(&mut self, party: usize, orders: Vec<WorkerOrder>, kind: Kind) {
        for order in orders {
            match order {
                WorkerOrder::Start { lane, attempt, address } => {
                    self.end(party, lane, WorkerEnding::Stopped);
                    let listens = address.is_none();
                    self.places[party][lane as usize].worker =
                        Some(Worker { attempt, listens, ..Worker::default() });
                }
                WorkerOrder::Fill { lane, .. } => {
                    let place = &mut self.places[party][lane as usize];
                    if let Some(worker) = &mut place.worker {
                        worker.fills = true;
                        self.begun[party] += 1;
                    }
                }
                WorkerOrder::Run { lane, partition } => {
                    if let Some(worker) = &mut self.places[party][lane as usize].worker {
                        (worker.runs, worker.took, worker.done) = (Some(partition), false, false);
                    }
                }
                WorkerOrder::Stop { lane } => self.end(party, lane, WorkerEnding::Stopped),
                WorkerOrder::Look { lane, attempt, partition } => {
                    let place = &self.places[party][lane as usize];
                    let is_locked = place.worker.is_some() && kind != Kind::NoLock;
                    let taken = is_locked || place.taken.contains(&partition) || !place.stock;
                    let evidence = match taken && kind != Kind::NoEvidence {
                        true => Evidence::PerhapsTaken,
                        false => Evidence::NotTaken,
                    };
                    self.hear(party, &News::Found { lane, attempt, partition, evidence });
                }
            }
        }
    }

    /// Ends a worker; its coordinator, if there is one, notices the end.
    fn end(&mut self, party: usize, lane: LaneNumber, cause: WorkerEnding) {
        if let Some(Worker { attempt, orphan, .. }) = self.places[party][lane as usize].worker.take()
            && !orphan
        {
            self.hear(party, &News::Gone { lane, attempt, cause });
        }
    }

    /// Makes the leader's step: the leader sends missing entries and decides.
    fn lead(&mut self, kind: Kind) {
        let Some(mut leader) = self.leader.clone() else { return };
        let mut over = false;
        // An unacknowledged proposal is sent again, so there is only one proposal at a time.
        if self.ahead.is_empty() {
            self.ahead = leader.decide(&self.books[GARBLER].0, false);
            self.ahead.iter().for_each(|entry| self.books[GARBLER].append(entry));
            let mut orders = leader.wrote(&self.ahead);
            orders.extend(leader.due(&self.books[GARBLER].0));
            over = self.answered && self.ahead.is_empty() && leader.is_over(&self.books[GARBLER].0);
            self.leader = Some(leader);
            self.obey(GARBLER, orders, kind);
        }
        let news = self.leader.as_mut().map(Leader::tell).unwrap_or_default();
        self.line = Some(Message::Propose { over, entries: self.ahead.clone(), news });
    }

    /// Makes the follower's step. The proposed entries are durable before the answer.
    fn follow(&mut self, over: bool, entries: &[JobEntry], news: &[News], kind: Kind) -> Result<(), String> {
        for entry in entries {
            let Some(follower) = &mut self.follower else { return Ok(()) };
            follower.check(entry, &self.books[EVALUATOR].0).map_err(|e| format!("{entry:?}: {e}"))?;
            self.books[EVALUATOR].append(entry);
            let orders = follower.wrote(entry);
            self.obey(EVALUATOR, orders, kind);
        }
        self.ahead.clear();
        let state = self.books[EVALUATOR].0.clone();
        for news in news {
            let heard = self.follower.as_mut().map(|f| f.hear_of_peer(news, &state));
            self.obey(EVALUATOR, heard.unwrap_or_default(), kind);
        }
        if kind != Kind::DueWithEntries || !entries.is_empty() {
            let due = self.follower.as_mut().map(|follower| follower.due(&state));
            self.obey(EVALUATOR, due.unwrap_or_default(), kind);
        }
        let news = self.follower.as_mut().filter(|_| !over).map(|follower| follower.tell(&state));
        let news = news.unwrap_or_default();
        news.iter().for_each(|news| _ = self.said.hear(news));
        self.line = Some(Message::Wrote { over, news });
        Ok(())
    }

    /// Delivers a message.
    fn deliver(&mut self, kind: Kind) -> Result<(), String> {
        match self.line.take() {
            Some(Message::Propose { over, entries, news }) => self.follow(over, &entries, &news, kind)?,
            Some(Message::Wrote { over, news }) => {
                (self.answered, self.ended) = (news.len() < MAX_NEWS, over);
                for news in news {
                    let heard = self.leader.as_mut().map(|leader| leader.hear_of_peer(&news));
                    self.obey(GARBLER, heard.unwrap_or_default(), kind);
                }
            }
            None => {}
        }
        Ok(())
    }

    /// Ends a coordinator, in most variants together with its workers, and breaks the connection.
    fn crash(&mut self, party: usize, kind: Kind) {
        for place in &mut self.places[party] {
            match &mut place.worker {
                Some(worker) if matches!(kind, Kind::Zombies | Kind::NoLock) => worker.orphan = true,
                worker => *worker = None,
            }
        }
        match party {
            GARBLER => self.leader = None,
            _ => self.follower = None,
        }
        (self.line, self.answered) = (None, false);
    }

    /// Starts both coordinators again from their ledgers. A coordinator that was still running ends its
    /// workers first.
    fn meet(&mut self, setting: &Setting) {
        self.crash(GARBLER, setting.kind);
        self.crash(EVALUATOR, setting.kind);
        let [garbler, evaluator] = &self.books;
        self.leader = Some(Leader::new(&setting.terms, &garbler.0, setting.manner));
        self.follower = Some(Follower::new(&evaluator.0, self.said.clone(), !setting.manner.listens));
    }

    /// Returns all possible next states.
    fn next(&self, setting: &Setting) -> Result<Vec<(Act, World)>, String> {
        let mut worlds = Vec::new();
        if self.ended {
            return Ok(worlds);
        }
        let mut world = self.clone();
        match (&self.line, self.leader.is_some() && self.follower.is_some()) {
            (None, true) => world.lead(setting.kind),
            (Some(_), true) => world.deliver(setting.kind)?,
            (_, false) => world.meet(setting),
        }
        worlds.push((Act::Coordinators, world));
        for lane in 0..setting.terms.lanes {
            for party in [GARBLER, EVALUATOR] {
                if let Some(world) = self.works(party, lane) {
                    worlds.push((Act::Worker(party, lane), world));
                }
                if self.faults > 0 {
                    self.worker_faults(party, lane, &mut worlds);
                }
            }
        }
        for party in [GARBLER, EVALUATOR].into_iter().filter(|_| self.faults > 0) {
            let mut world = self.clone();
            world.faults -= 1;
            world.crash(party, setting.kind);
            worlds.push((Act::Fault, world));
        }
        for (_, world) in &mut worlds {
            world.workers_meet();
        }
        Ok(worlds)
    }

    /// Returns the states after a worker dies, is killed before it can report, or loses its store.
    fn worker_faults(&self, party: usize, lane: LaneNumber, worlds: &mut Vec<(Act, World)>) {
        let mut then = |fault: &dyn Fn(&mut World)| {
            let mut world = self.clone();
            world.faults -= 1;
            fault(&mut world);
            worlds.push((Act::Fault, world));
        };
        let place = &self.places[party][lane as usize];
        if place.worker.is_some() {
            then(&|world| world.end(party, lane, WorkerEnding::Line));
            then(&|world| world.end(party, lane, WorkerEnding::Stock));
        }
        if place.stock {
            then(&|world| {
                world.end(party, lane, WorkerEnding::Line);
                world.places[party][lane as usize] = LanePlace::default();
            });
        }
    }

    /// Returns the next steps of a party's worker in a lane.
    fn works(&self, party: usize, lane: LaneNumber) -> Option<World> {
        let [own, peer] = [party, 1 - party].map(|party| &self.places[party][lane as usize]);
        let worker = own.worker.as_ref()?;
        let peer = peer.worker.as_ref();
        let together = peer.filter(|peer| peer.attempt == worker.attempt);
        let mut world = self.clone();
        let place = &mut world.places[party][lane as usize];
        let changed = place.worker.as_mut()?;
        let attempt = worker.attempt;
        let news = if worker.listens && !worker.said {
            changed.said = true;
            News::Listens { lane, attempt, address: format!("{lane}-{attempt}") }
        } else if together.is_none() && (worker.met || !worker.listens) {
            // The connection to the peer is broken, or no worker listens at its address.
            world.end(party, lane, WorkerEnding::Line);
            return Some(world);
        } else if worker.fills && !worker.filled && together?.fills {
            // A new epoch begins; earlier uses belong to the old epoch.
            (changed.filled, place.stock) = (true, true);
            News::Filled { lane, attempt }
        } else if worker.runs.is_some() && !own.stock {
            world.end(party, lane, WorkerEnding::Stock);
            return Some(world);
        } else {
            let partition = worker.runs.filter(|_| together.is_some_and(|peer| peer.runs == worker.runs))?;
            if !worker.took {
                changed.took = true;
                place.taken.insert(partition);
                world.uses[party][partition as usize] += 1;
                return Some(world);
            }
            if worker.done || !together?.took {
                return None;
            }
            changed.done = true;
            News::Done { lane, attempt, partition }
        };
        if !worker.orphan {
            world.hear(party, &news);
        }
        Some(world)
    }

    fn workers_meet(&mut self) {
        let [garbler, evaluator] = &mut self.places;
        for (g, e) in garbler.iter_mut().zip(evaluator) {
            if let (Some(g), Some(e)) = (&mut g.worker, &mut e.worker)
                && g.attempt == e.attempt
            {
                (g.met, e.met) = (true, true);
            }
        }
    }

    /// Checks the conditions that must always hold.
    fn check(&self, setting: &Setting) -> Result<(), String> {
        if self.uses.iter().flatten().any(|uses| *uses > 1) {
            return Err("stock was taken twice for a partition".into());
        }
        if self.begun.iter().any(|begun| *begun > setting.terms.shares()) {
            return Err("more stock was begun than was paid for".into());
        }
        let [garbler, evaluator] = &self.books;
        if (garbler.0.head() == evaluator.0.head()) != self.ahead.is_empty() {
            return Err("the ledgers differ".into());
        }
        // A job ends only when nothing more may run.
        let tally = garbler.0.tally();
        let may_do = tally.open > 0 && garbler.0.spent() < setting.terms.shares();
        if self.ended && (tally.claimed > 0 || may_do && !setting.manner.only_fills) {
            return Err(format!("the job ends at {tally:?}"));
        }
        Ok(())
    }

    /// Returns the hash of this state: states are large, so the search keeps only 128 bits of each.
    fn name(&self) -> [u8; 16] {
        struct Into(blake3::Hasher);
        impl Hasher for Into {
            fn finish(&self) -> u64 {
                0
            }
            fn write(&mut self, bytes: &[u8]) {
                self.0.update(bytes);
            }
        }
        let mut into = Into(blake3::Hasher::new());
        self.hash(&mut into);
        *into.0.finalize().as_bytes().first_chunk().expect("32 bytes")
    }
}

/// The graph of all states: the possible successors of each without faults, with their actors.
#[derive(Default)]
struct Graph {
    names: HashMap<[u8; 16], u32>,
    next: Vec<Vec<(u32, Act)>>,
    /// For each state, the state from which it was found, and the index among that state's successors.
    from: Vec<(u32, u32)>,
    /// The largest number of completed partitions in any state.
    done: u32,
}

impl Graph {
    /// Searches all states.
    fn of(setting: &Setting) -> Result<Self, String> {
        let mut graph = Graph::default();
        let first = World::new(setting);
        graph.names.insert(first.name(), 0);
        (graph.next, graph.from) = (vec![Vec::new()], vec![(0, 0)]);
        let mut open = vec![(0, first)];
        while let Some((at, world)) = open.pop() {
            world.check(setting)?;
            graph.done = graph.done.max(world.books[GARBLER].0.tally().done);
            for (choice, (act, next)) in (0..).zip(world.next(setting)?) {
                let number = graph.next.len() as u32;
                let to = *graph.names.entry(next.name()).or_insert(number);
                if to == number {
                    graph.next.push(Vec::new());
                    graph.from.push((at, choice));
                    open.push((number, next));
                }
                if act != Act::Fault {
                    graph.next[at as usize].push((to, act));
                }
            }
            if graph.next.len() > 3_000_000 {
                return Err("too many worlds".into());
            }
        }
        Ok(graph)
    }

    /// Returns the strongly connected sets of states, without faults (Tarjan 1972, without recursion).
    fn components(&self) -> Vec<Vec<u32>> {
        const NEW: u32 = u32::MAX;
        let count = self.next.len();
        let (mut index, mut low, mut on) = (vec![NEW; count], vec![0; count], vec![false; count]);
        let (mut stack, mut found, mut number) = (Vec::new(), Vec::new(), 0);
        for root in 0..count as u32 {
            let mut calls = if index[root as usize] == NEW { vec![(root, 0)] } else { Vec::new() };
            while let Some((at, edge)) = calls.pop() {
                let here = at as usize;
                if edge == 0 {
                    (index[here], low[here], on[here]) = (number, number, true);
                    number += 1;
                    stack.push(at);
                }
                if edge > 0 {
                    let (child, _) = self.next[here][edge - 1];
                    if on[child as usize] {
                        low[here] = low[here].min(low[child as usize]);
                    }
                }
                if let Some((child, _)) = self.next[here].get(edge) {
                    calls.push((at, edge + 1));
                    if index[*child as usize] == NEW {
                        calls.push((*child, 0));
                    }
                    continue;
                }
                if low[here] == index[here] {
                    let begin = stack.iter().rposition(|of| *of == at).expect("it is on the stack");
                    let set = stack.split_off(begin);
                    set.iter().for_each(|of| on[*of as usize] = false);
                    found.push(set);
                }
            }
        }
        found
    }

    /// Returns a state from which a fair run continues forever, if there is one. In a strongly connected set
    /// a run may visit all states again and again. The run is fair if each process acts within the set, or
    /// cannot act in one of its states.
    fn goes_on(&self) -> Option<u32> {
        let mut member = vec![u32::MAX; self.next.len()];
        let components = self.components();
        for (number, set) in (0..).zip(&components) {
            set.iter().for_each(|of| member[*of as usize] = number);
        }
        let stays = |(number, set): (u32, &Vec<u32>)| {
            let (mut always, mut acts) = (u64::MAX, 0);
            for at in set {
                let mut can = 0;
                for (to, act) in &self.next[*at as usize] {
                    can |= act.bit();
                    acts |= if member[*to as usize] == number { act.bit() } else { 0 };
                }
                always &= can;
            }
            (acts != 0 && always & !acts == 0).then(|| set[0])
        };
        (0..).zip(&components).find_map(stays)
    }

    /// Computes a state again, from the choices that led to it.
    fn world(&self, setting: &Setting, at: u32) -> World {
        let mut choices = Vec::new();
        let mut here = at;
        while here != 0 {
            let (before, choice) = self.from[here as usize];
            choices.push(choice);
            here = before;
        }
        let follow = |world: World, choice: &u32| {
            world.next(setting).expect("it was explored").swap_remove(*choice as usize).1
        };
        choices.iter().rev().fold(World::new(setting), follow)
    }
}

/// Searches with these parameters. Returns the number of states and the largest number of completed
/// partitions, or a violation.
fn explore(setting: &Setting) -> Result<(usize, u32), String> {
    let graph = Graph::of(setting)?;
    match graph.goes_on() {
        None => Ok((graph.next.len(), graph.done)),
        Some(at) => {
            let World { books, places, .. } = graph.world(setting, at);
            let [lanes, partitions] =
                [format!("{:?}", books[GARBLER].0.lanes()), format!("{:?}", books[GARBLER].0.partitions())];
            Err(format!("a job goes on for ever: {lanes} {partitions} {places:?}"))
        }
    }
}

/// The search covers one lane or two, two partitions or three, and up to two faults.
#[test]
fn rows_16_and_20_nothing_runs_twice_and_every_job_ends_whatever_breaks() {
    for (size, faults, kind) in [
        ([1, 2, 2], 2, Kind::Usual),
        ([1, 0, 2], 2, Kind::Usual),
        ([1, 1, 2], 3, Kind::Usual),
        ([2, 1, 2], 0, Kind::Usual),
        ([1, 2, 2], 2, Kind::Zombies),
        ([2, 1, 2], 1, Kind::Usual),
    ] {
        for listens in [true, false] {
            let manner = Manner { listens, ..MANNER };
            let setting = Setting { manner, ..Setting::of(size, faults, kind) };
            let (worlds, done) = explore(&setting).unwrap();
            println!("{size:?}, {faults} faults, {kind:?}: {worlds} worlds");
            assert!(worlds > 100 && done == 2, "{worlds} worlds, {done} done");
        }
    }
}

/// Jobs that only make stock, and jobs in which few lanes work at the same time.
#[test]
fn every_job_of_another_manner_ends() {
    for manner in [
        Manner { only_fills: true, ..MANNER },
        Manner { at_once: Some(1), ..MANNER },
        Manner { only_fills: true, at_once: Some(1), listens: false },
    ] {
        let setting = Setting { manner, ..Setting::of([2, 1, 2], 1, Kind::Usual) };
        let (worlds, done) = explore(&setting).unwrap();
        println!("{manner:?}: {worlds} worlds");
        assert_eq!(done, if manner.only_fills { 0 } else { 2 });
    }
}

#[test]
fn the_search_finds_what_goes_wrong() {
    for (kind, faults, wrong) in [
        (Kind::NoEvidence, 1, "stock was taken twice for a partition"),
        (Kind::NoLock, 1, "stock was taken twice for a partition"),
        (Kind::DueWithEntries, 2, "a job goes on for ever"),
    ] {
        let found = explore(&Setting::of([1, 2, 2], faults, kind));
        assert!(found.as_ref().is_err_and(|why| why.starts_with(wrong)), "{kind:?}: {found:?}");
    }
}

/// An honest party, whose stock must not be taken twice while the peer's coordinator sends anything.
struct Honest {
    /// For each lane, the attempt and the partition of its worker, if there is a worker.
    workers: Vec<Option<(u32, Option<Partition>)>>,
    taken: Vec<u32>,
    consents: Vec<u32>,
    begun: u32,
}

impl Honest {
    fn new(terms: &JobTerms) -> Self {
        let none = vec![0; terms.rows.len()];
        Honest { workers: vec![None; terms.lanes as usize], taken: none.clone(), consents: none, begun: 0 }
    }

    /// Obeys orders. A worker takes stock as soon as its partition runs, because a peer cannot delay that.
    fn obey(&mut self, orders: Vec<WorkerOrder>) -> Vec<News> {
        let mut news = Vec::new();
        for order in orders {
            match order {
                WorkerOrder::Start { lane, attempt, .. } => {
                    self.workers[lane as usize] = Some((attempt, None))
                }
                WorkerOrder::Fill { .. } => self.begun += 1,
                WorkerOrder::Run { lane, partition } => {
                    if let Some((_, runs)) = &mut self.workers[lane as usize] {
                        *runs = Some(partition);
                        self.taken[partition as usize] += 1;
                    }
                }
                WorkerOrder::Stop { lane } => {
                    if let Some((attempt, _)) = self.workers[lane as usize].take() {
                        news.push(News::Gone { lane, attempt, cause: WorkerEnding::Stopped });
                    }
                }
                WorkerOrder::Look { lane, attempt, partition } => {
                    let is_there = self.workers[lane as usize].is_some();
                    let evidence = match is_there || self.taken[partition as usize] > 0 {
                        true => Evidence::PerhapsTaken,
                        false => Evidence::NotTaken,
                    };
                    news.push(News::Found { lane, attempt, partition, evidence });
                }
            }
        }
        news
    }

    /// Makes an event of a worker that nobody ordered.
    fn happens(&mut self, rng: &mut brickwork_base::random::Rng) -> Option<News> {
        let lane = rng.below(self.workers.len() as u64) as LaneNumber;
        let (attempt, runs) = self.workers[lane as usize]?;
        Some(match (rng.below(3), runs) {
            (0, _) => News::Filled { lane, attempt },
            (1, Some(partition)) => News::Done { lane, attempt, partition },
            _ => {
                self.workers[lane as usize] = None;
                News::Gone { lane, attempt, cause: WorkerEnding::Line }
            }
        })
    }

    fn check(&self, terms: &JobTerms) {
        for (taken, consents) in self.taken.iter().zip(&self.consents) {
            assert!(*taken <= 1 + consents, "stock was taken {taken} times");
        }
        assert!(self.begun <= terms.shares(), "{} stocks were begun", self.begun);
    }
}

fn random_entry(rng: &mut brickwork_base::random::Rng, state: &JobState, terms: &JobTerms) -> JobEntry {
    let lane = rng.below(u64::from(terms.lanes)) as LaneNumber;
    let partition = rng.below(terms.rows.len() as u64) as Partition;
    let attempt = state.lanes()[lane as usize].attempts;
    match rng.below(9) {
        0 => JobEntry::Fill { lane, attempt, partitions: 1 + rng.below(3) as u32 },
        1 => JobEntry::Filled { lane },
        2 => JobEntry::Lost { lane },
        3 => JobEntry::Resume { lane, attempt },
        4 => JobEntry::Claim { partition, lane },
        5 => JobEntry::Done { partition },
        6 => JobEntry::Free { partition },
        7 => JobEntry::Doubt { partition },
        _ => JobEntry::Rerun { partition },
    }
}

/// A peer's coordinator may propose anything: by the entries that the follower accepts, its own stock is
/// never taken twice for a partition, and no more stock is begun than the promise allows.
#[test]
fn row_16_a_leader_that_lies_makes_nothing_run_twice() {
    let rng = &mut Rng::replayable("test lies");
    let terms = terms(2, 3, 3);
    let mut reruns = 0;
    for _ in 0..3000 {
        let mut state = JobState::new(&[0; 32], &terms);
        let (mut follower, mut honest) =
            (Follower::new(&state, WorkerReports::default(), true), Honest::new(&terms));
        for _ in 0..120 {
            if rng.below(3) == 0 {
                honest.happens(rng).iter().for_each(|news| follower.hear(news));
                continue;
            }
            if rng.below(40) == 0 {
                let partition = rng.below(3) as Partition;
                // The user consents once to each permitted further use.
                honest.consents[partition as usize] += 1;
                follower.hear(&News::Consent { partition });
            }
            // Twenty draws mostly find an entry that can follow.
            let mut entry = random_entry(rng, &state, &terms);
            for _ in 0..20 {
                if state.clone().apply(&entry).is_ok() {
                    break;
                }
                entry = random_entry(rng, &state, &terms);
            }
            let mut after = state.clone();
            if follower.check(&entry, &state).is_err() || after.apply(&entry).is_err() {
                continue;
            }
            reruns += u32::from(matches!(entry, JobEntry::Rerun { .. } | JobEntry::Free { .. }));
            state = after;
            let mut orders = follower.wrote(&entry);
            orders.extend(follower.due(&state));
            for news in honest.obey(orders) {
                follower.hear(&news);
            }
            honest.check(&terms);
        }
    }
    assert!(reruns > 100, "{reruns}");
}

/// A leader whose follower reports anything about its workers keeps the same rules.
#[test]
fn row_16_a_follower_that_lies_makes_nothing_run_twice() {
    let rng = &mut Rng::replayable("test lies");
    let terms = terms(2, 3, 3);
    let mut done = 0;
    for _ in 0..3000 {
        let mut state = JobState::new(&[0; 32], &terms);
        let (mut leader, mut honest) = (Leader::new(&terms, &state, MANNER), Honest::new(&terms));
        for _ in 0..120 {
            let lane = rng.below(2) as LaneNumber;
            let attempt = state.lanes()[lane as usize].attempts.saturating_sub(1 + rng.below(8) as u32 / 7);
            let partition = rng.below(3) as Partition;
            let lie = match rng.below(10) {
                0 => News::Filled { lane, attempt },
                1 => News::Done { lane, attempt, partition },
                2 => News::Gone { lane, attempt, cause: WorkerEnding::Line },
                3 | 4 => News::Found { lane, attempt, partition, evidence: Evidence::NotTaken },
                5 => News::Consent { partition },
                6 => News::Gone { lane, attempt, cause: WorkerEnding::Stock },
                7 | 8 => News::Filled { lane, attempt },
                _ => News::Done { lane, attempt, partition },
            };
            let mut orders = leader.hear_of_peer(&lie);
            honest.happens(rng).iter().for_each(|news| leader.hear(news));
            let entries = leader.decide(&state, false);
            entries.iter().for_each(|entry| {
                state.apply(entry).expect("an entry that the coordinator decided can be applied")
            });
            orders.extend(leader.wrote(&entries));
            orders.extend(leader.due(&state));
            for news in honest.obey(orders) {
                leader.hear(&news);
            }
            honest.check(&terms);
        }
        done += state.tally().done;
    }
    assert!(done > 20, "{done}");
}
