//! A job as a whole, explored: two coordinators, their ledgers, the line between them, lanes whose workers
//! make stock and run partitions, and whatever may break. Whatever happens, in whatever order, neither
//! party's stock is taken twice for a partition unless its people said so, and no more stock is begun than
//! was paid for.

use std::collections::{BTreeSet, HashSet};

use crate::coordinator::{Cause, Evidence, Follower, Leader, Manner, News, Order, Said};
use crate::ledger::{Entry, State};
use crate::terms::{Lane, Partition, Terms};
use brickwork_base::random::Rng;
use brickwork_testing::Replayable as _;

const MANNER: Manner = Manner { listens: true, only_fills: false, at_once: None };

const GARBLER: usize = 0;
const EVALUATOR: usize = 1;

/// A worker of one party.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Worker {
    attempt: u32,
    /// Whether it has met its peer.
    met: bool,
    fills: bool,
    filled: bool,
    runs: Option<Partition>,
    /// Whether it has taken stock for what it runs, and has what that gives.
    took: bool,
    done: bool,
}

/// What one party has of a lane.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct LanePlace {
    worker: Option<Worker>,
    /// Whether there is stock, and for what it was taken.
    stock: bool,
    taken: BTreeSet<Partition>,
}

/// A message between the coordinators.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Message {
    Propose { from: usize, entries: Vec<Entry>, news: Vec<News> },
    Wrote { count: usize, news: Vec<News> },
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct World {
    leader: Option<Leader>,
    follower: Option<Follower>,
    /// What is durable: the leader's ledger, and the follower's.
    books: [Vec<Entry>; 2],
    line: Option<Message>,
    /// How much of the leader's ledger the follower has, as the leader knows; unknown before they have met.
    acknowledged: Option<usize>,
    places: [Vec<LanePlace>; 2],
    /// How often stock was taken for each partition.
    uses: [Vec<u32>; 2],
    /// Stocks that were begun.
    begun: [u32; 2],
    /// What the evaluator's workers said while their coordinator was there.
    said: Said,
    /// What may break still.
    breaks: u32,
}

/// In which world the jobs run: as it is, or with a flaw that the search is to find.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Setting {
    /// Workers end with their coordinator.
    Usual,
    /// Workers outlive their coordinator, as on a machine that it lost sight of.
    Zombies,
    /// A flaw: the stock's log is not looked at, and a lane that is lost had taken nothing.
    NoEvidence,
    /// A flaw: the log of a stock is looked at that a worker has, which outlived its coordinator.
    NoLock,
}

fn terms(lanes: u32, retries: u32, partitions: usize) -> Terms {
    let identities = [[1; 32], [2; 32]];
    Terms { security: 40, lanes, retries, program: [0; 32], rows: vec![1; partitions], identities }
}

fn state_of(terms: &Terms, book: &[Entry]) -> State {
    let mut state = State::new(&[0; 32], terms);
    book.iter().for_each(|entry| state.apply(entry).expect("what was written follows"));
    state
}

impl World {
    fn new(terms: &Terms, breaks: u32) -> Self {
        let lanes = vec![LanePlace::default(); terms.lanes as usize];
        let state = State::new(&[0; 32], terms);
        World {
            leader: Some(Leader::new(terms, &state, MANNER)),
            follower: Some(Follower::new(&state, Said::default(), true)),
            books: Default::default(),
            line: None,
            acknowledged: Some(0),
            places: [lanes.clone(), lanes],
            uses: [vec![0; terms.rows.len()], vec![0; terms.rows.len()]],
            begun: [0; 2],
            said: Said::default(),
            breaks,
        }
    }

    fn hear(&mut self, party: usize, news: &News) {
        match party {
            GARBLER => self.leader.iter_mut().for_each(|leader| leader.hear(news)),
            _ => {
                if let Some(follower) = &mut self.follower {
                    self.said.hear(news);
                    follower.hear(news);
                }
            }
        }
    }

    /// Does what a coordinator orders. Here both parties' workers know where the other is.
    fn obey(&mut self, party: usize, orders: Vec<Order>, setting: Setting) {
        for order in orders {
            match order {
                Order::Start { lane, attempt, .. } => {
                    self.end(party, lane, Cause::Stopped);
                    let worker = Worker {
                        attempt,
                        met: false,
                        fills: false,
                        filled: false,
                        runs: None,
                        took: false,
                        done: false,
                    };
                    self.places[party][lane as usize].worker = Some(worker);
                }
                Order::Fill { lane, .. } => {
                    let place = &mut self.places[party][lane as usize];
                    if let Some(worker) = &mut place.worker {
                        worker.fills = true;
                        self.begun[party] += 1;
                    }
                }
                Order::Run { lane, partition } => {
                    if let Some(worker) = &mut self.places[party][lane as usize].worker {
                        (worker.runs, worker.took, worker.done) = (Some(partition), false, false);
                    }
                }
                Order::Stop { lane } => self.end(party, lane, Cause::Stopped),
                Order::Look { lane, partition, .. } => {
                    let place = &self.places[party][lane as usize];
                    let is_locked = place.worker.is_some() && setting != Setting::NoLock;
                    let taken = is_locked || place.taken.contains(&partition) || !place.stock;
                    let evidence = match taken && setting != Setting::NoEvidence {
                        true => Evidence::PerhapsTaken,
                        false => Evidence::NotTaken,
                    };
                    self.hear(party, &News::Found { lane, partition, evidence });
                }
            }
        }
    }

    /// A worker ends, and its coordinator, if it is there, sees it.
    fn end(&mut self, party: usize, lane: Lane, cause: Cause) {
        if let Some(Worker { attempt, .. }) = self.places[party][lane as usize].worker.take() {
            self.hear(party, &News::Gone { lane, attempt, cause });
        }
    }

    /// The leader's turn: what the follower lacks, and what it decides now.
    fn lead(&mut self, terms: &Terms, setting: Setting) {
        let (Some(mut leader), Some(acknowledged)) = (self.leader.clone(), self.acknowledged) else { return };
        let state = state_of(terms, &self.books[GARBLER]);
        // One proposal at a time: what is not acknowledged is said once more.
        if acknowledged == self.books[GARBLER].len() {
            let entries = leader.decide(&state, false);
            self.books[GARBLER].extend(entries.iter().cloned());
            let state = state_of(terms, &self.books[GARBLER]);
            let orders = leader.wrote(&entries, &state);
            self.leader = Some(leader);
            self.obey(GARBLER, orders, setting);
        }
        let news = self.leader.as_mut().map(Leader::tell).unwrap_or_default();
        let entries = self.books[GARBLER][acknowledged..].to_vec();
        self.line = Some(Message::Propose { from: acknowledged, entries, news });
    }

    /// The other's turn.
    fn deliver(&mut self, terms: &Terms, setting: Setting) -> Result<(), String> {
        match self.line.take() {
            Some(Message::Propose { from, entries, news }) => {
                assert_eq!(from, self.books[EVALUATOR].len());
                for entry in entries {
                    let state = state_of(terms, &self.books[EVALUATOR]);
                    let first = self.follower.as_ref().and_then(|follower| follower.first(&entry, &state));
                    self.obey(EVALUATOR, first.into_iter().collect(), setting);
                    let Some(follower) = &mut self.follower else { return Ok(()) };
                    follower.check(&entry, &state).map_err(|e| format!("{entry:?}: {e}"))?;
                    self.books[EVALUATOR].push(entry.clone());
                    let state = state_of(terms, &self.books[EVALUATOR]);
                    let orders = follower.wrote(&[entry], &state);
                    self.obey(EVALUATOR, orders, setting);
                }
                let state = state_of(terms, &self.books[EVALUATOR]);
                for news in news {
                    let heard = self.follower.as_mut().map(|f| f.hear_of_peer(&news, &state));
                    self.obey(EVALUATOR, heard.unwrap_or_default(), setting);
                }
                let news = self.follower.as_mut().map(|follower| follower.tell(&state)).unwrap_or_default();
                self.line = Some(Message::Wrote { count: self.books[EVALUATOR].len(), news });
            }
            Some(Message::Wrote { count, news }) => {
                self.acknowledged = Some(count);
                for news in news {
                    let heard = self.leader.as_mut().map(|leader| leader.hear_of_peer(&news));
                    self.obey(GARBLER, heard.unwrap_or_default(), setting);
                }
            }
            None => {}
        }
        Ok(())
    }

    /// A coordinator is gone, its workers with it in most worlds, and the line between the two.
    fn crash(&mut self, party: usize, setting: Setting) {
        if !matches!(setting, Setting::Zombies | Setting::NoLock) {
            self.places[party].iter_mut().for_each(|place| place.worker = None);
        }
        match party {
            GARBLER => self.leader = None,
            _ => self.follower = None,
        }
        (self.line, self.acknowledged) = (None, None);
    }

    /// Both begin anew from their ledgers. Whoever was still there ends its workers first.
    fn meet(&mut self, terms: &Terms, setting: Setting) {
        self.crash(GARBLER, setting);
        self.crash(EVALUATOR, setting);
        let states = [GARBLER, EVALUATOR].map(|party| state_of(terms, &self.books[party]));
        self.leader = Some(Leader::new(terms, &states[GARBLER], MANNER));
        self.follower = Some(Follower::new(&states[EVALUATOR], self.said.clone(), true));
        self.acknowledged = Some(self.books[EVALUATOR].len());
    }

    /// All that may happen next.
    fn next(&self, terms: &Terms, setting: Setting) -> Vec<World> {
        let mut worlds = Vec::new();
        let mut then = |act: &dyn Fn(&mut World)| {
            let mut world = self.clone();
            act(&mut world);
            worlds.push(world);
        };
        match (&self.line, self.leader.is_some() && self.follower.is_some()) {
            (None, true) => then(&|world| world.lead(terms, setting)),
            (Some(_), true) => then(&|world| world.deliver(terms, setting).unwrap()),
            (_, false) => then(&|world| world.meet(terms, setting)),
        }
        for lane in 0..terms.lanes {
            let place = |party: usize| &self.places[party][lane as usize];
            let [garbler, evaluator] = [GARBLER, EVALUATOR].map(|party| place(party).worker.as_ref());
            if self.breaks > 0 {
                for party in [GARBLER, EVALUATOR].into_iter().filter(|party| place(*party).worker.is_some()) {
                    then(&|world| {
                        world.breaks -= 1;
                        world.end(party, lane, Cause::Line);
                    });
                }
            }
            let together = garbler.zip(evaluator).filter(|(g, e)| g.attempt == e.attempt);
            for party in [GARBLER, EVALUATOR] {
                let Some(worker) = place(party).worker.clone() else { continue };
                let Worker { attempt, met, fills, filled, runs, took, done } = worker;
                let peer = place(1 - party).worker.as_ref();
                let change = |world: &mut World, change: &dyn Fn(&mut LanePlace, &mut Worker)| {
                    let place = &mut world.places[party][lane as usize];
                    if let Some(mut worker) = place.worker.take() {
                        change(place, &mut worker);
                        place.worker = Some(worker);
                    }
                };
                // The line of the two is broken: whoever is left sees it.
                if met && together.is_none() {
                    then(&|world| world.end(party, lane, Cause::Line));
                }
                if fills && !filled && together.is_some_and(|(g, e)| g.fills && e.fills) {
                    then(&|world| {
                        change(world, &|place, worker| {
                            // Another epoch: what was taken was of the one before.
                            (worker.filled, place.stock) = (true, true);
                        });
                        world.hear(party, &News::Filled { lane, attempt });
                    });
                }
                let runs_alike = together.is_some_and(|(g, e)| g.runs == e.runs);
                let Some(partition) = runs.filter(|_| runs_alike && place(party).stock) else { continue };
                if !took {
                    then(&|world| {
                        change(world, &|place, worker| {
                            worker.took = true;
                            place.taken.insert(partition);
                        });
                        world.uses[party][partition as usize] += 1;
                    });
                } else if !done && peer.is_some_and(|peer| peer.took) {
                    then(&|world| {
                        change(world, &|_, worker| worker.done = true);
                        world.hear(party, &News::Done { lane, attempt, partition });
                    });
                }
            }
        }
        if self.breaks > 0 {
            for party in [GARBLER, EVALUATOR] {
                then(&|world| {
                    world.breaks -= 1;
                    world.crash(party, setting);
                });
            }
        }
        worlds
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

    /// What must hold at any time.
    fn check(&self, terms: &Terms) -> Result<(), String> {
        if self.uses.iter().flatten().any(|uses| *uses > 1) {
            return Err("stock was taken twice for a partition".into());
        }
        if self.begun.iter().any(|begun| *begun > terms.shares()) {
            return Err("more stock was begun than was paid for".into());
        }
        match self.books[GARBLER].starts_with(&self.books[EVALUATOR]) {
            true => Ok(()),
            false => Err("the ledgers differ".into()),
        }
    }
}

/// Explores all of it. Returns how many worlds there are and how many partitions are done in the best of
/// them, or what goes wrong.
fn explore(terms: &Terms, breaks: u32, setting: Setting) -> Result<(usize, u32), String> {
    let mut seen = HashSet::new();
    let mut open = vec![World::new(terms, breaks)];
    let mut done = 0;
    while let Some(world) = open.pop() {
        world.check(terms)?;
        done = done.max(state_of(terms, &world.books[GARBLER]).tally().done);
        if seen.len() > 2_000_000 {
            return Err("too many worlds".into());
        }
        for mut next in world.next(terms, setting) {
            next.workers_meet();
            if seen.insert(hash(&next)) {
                open.push(next);
            }
        }
    }
    Ok((seen.len(), done))
}

/// Worlds are large: their hashes of 128 bits stand for them.
fn hash(world: &World) -> [u8; 16] {
    struct Into(blake3::Hasher);
    impl std::hash::Hasher for Into {
        fn finish(&self) -> u64 {
            0
        }
        fn write(&mut self, bytes: &[u8]) {
            self.0.update(bytes);
        }
    }
    let mut into = Into(blake3::Hasher::new());
    std::hash::Hash::hash(world, &mut into);
    *into.0.finalize().as_bytes().first_chunk().expect("32 bytes")
}

/// One lane, two partitions, three things that break; two lanes, two partitions, one.
#[test]
fn rows_16_and_20_nothing_runs_twice_whatever_breaks() {
    for (lanes, retries, breaks, setting) in [
        (1, 2, 2, Setting::Usual),
        (2, 1, 0, Setting::Usual),
        (1, 2, 2, Setting::Zombies),
        (2, 1, 1, Setting::Usual),
    ] {
        let (worlds, done) = explore(&terms(lanes, retries, 2), breaks, setting).unwrap();
        println!("{lanes} lanes, {breaks} breaks: {worlds} worlds");
        assert!(worlds > 100 && done == 2, "{worlds} worlds, {done} done");
    }
}

#[test]
fn the_search_finds_what_goes_wrong() {
    for setting in [Setting::NoEvidence, Setting::NoLock] {
        let found = explore(&terms(1, 2, 2), 1, setting);
        assert_eq!(found, Err("stock was taken twice for a partition".into()));
    }
}

/// What a party's stock was taken for, whose peer's coordinator says whatever it likes.
struct Honest {
    /// By lane: what its worker runs, if one is there.
    workers: Vec<Option<(u32, Option<Partition>)>>,
    taken: Vec<u32>,
    consents: Vec<u32>,
    begun: u32,
}

impl Honest {
    fn new(terms: &Terms) -> Self {
        let none = vec![0; terms.rows.len()];
        Honest { workers: vec![None; terms.lanes as usize], taken: none.clone(), consents: none, begun: 0 }
    }

    /// Does what is ordered. Stock is taken as soon as something runs: a peer that goes on does not make it
    /// later.
    fn obey(&mut self, orders: Vec<Order>) -> Vec<News> {
        let mut news = Vec::new();
        for order in orders {
            match order {
                Order::Start { lane, attempt, .. } => self.workers[lane as usize] = Some((attempt, None)),
                Order::Fill { .. } => self.begun += 1,
                Order::Run { lane, partition } => {
                    if let Some((_, runs)) = &mut self.workers[lane as usize] {
                        *runs = Some(partition);
                        self.taken[partition as usize] += 1;
                    }
                }
                Order::Stop { lane } => {
                    if let Some((attempt, _)) = self.workers[lane as usize].take() {
                        news.push(News::Gone { lane, attempt, cause: Cause::Stopped });
                    }
                }
                Order::Look { lane, partition, .. } => {
                    let is_there = self.workers[lane as usize].is_some();
                    let evidence = match is_there || self.taken[partition as usize] > 0 {
                        true => Evidence::PerhapsTaken,
                        false => Evidence::NotTaken,
                    };
                    news.push(News::Found { lane, partition, evidence });
                }
            }
        }
        news
    }

    /// Something happens to a worker by itself.
    fn happens(&mut self, rng: &mut brickwork_base::random::Rng) -> Option<News> {
        let lane = rng.below(self.workers.len() as u64) as Lane;
        let (attempt, runs) = self.workers[lane as usize]?;
        Some(match (rng.below(3), runs) {
            (0, _) => News::Filled { lane, attempt },
            (1, Some(partition)) => News::Done { lane, attempt, partition },
            _ => {
                self.workers[lane as usize] = None;
                News::Gone { lane, attempt, cause: Cause::Line }
            }
        })
    }

    fn check(&self, terms: &Terms) {
        for (taken, consents) in self.taken.iter().zip(&self.consents) {
            assert!(*taken <= 1 + consents, "stock was taken {taken} times");
        }
        assert!(self.begun <= terms.shares(), "{} stocks were begun", self.begun);
    }
}

fn random_entry(rng: &mut brickwork_base::random::Rng, state: &State, terms: &Terms) -> Entry {
    let lane = rng.below(u64::from(terms.lanes)) as Lane;
    let partition = rng.below(terms.rows.len() as u64) as Partition;
    let attempt = state.lanes()[lane as usize].attempts;
    match rng.below(9) {
        0 => Entry::Fill { lane, attempt, partitions: 1 + rng.below(3) as u32 },
        1 => Entry::Filled { lane },
        2 => Entry::Lost { lane },
        3 => Entry::Resume { lane, attempt },
        4 => Entry::Claim { partition, lane },
        5 => Entry::Done { partition },
        6 => Entry::Free { partition },
        7 => Entry::Doubt { partition },
        _ => Entry::Rerun { partition },
    }
}

/// A peer's coordinator that proposes anything at all: what the follower writes never lets its own stock be
/// taken twice, nor more be begun than was paid for.
#[test]
fn row_16_a_leader_that_lies_makes_nothing_run_twice() {
    let rng = &mut Rng::replayable("test lies");
    let terms = terms(2, 3, 3);
    let mut reruns = 0;
    for _ in 0..3000 {
        let mut state = State::new(&[0; 32], &terms);
        let (mut follower, mut honest) = (Follower::new(&state, Said::default(), true), Honest::new(&terms));
        for _ in 0..120 {
            if rng.below(3) == 0 {
                honest.happens(rng).iter().for_each(|news| follower.hear(news));
                continue;
            }
            if rng.below(40) == 0 {
                let partition = rng.below(3) as Partition;
                // Once for each time that it may.
                honest.consents[partition as usize] += 1;
                follower.hear(&News::Consent { partition });
            }
            // One that could follow, if one is found.
            let mut entry = random_entry(rng, &state, &terms);
            for _ in 0..20 {
                if state.clone().apply(&entry).is_ok() {
                    break;
                }
                entry = random_entry(rng, &state, &terms);
            }
            for news in honest.obey(follower.first(&entry, &state).into_iter().collect()) {
                follower.hear(&news);
            }
            let mut after = state.clone();
            if follower.check(&entry, &state).is_err() || after.apply(&entry).is_err() {
                continue;
            }
            reruns += u32::from(matches!(entry, Entry::Rerun { .. } | Entry::Free { .. }));
            state = after;
            for news in honest.obey(follower.wrote(&[entry], &state)) {
                follower.hear(&news);
            }
            honest.check(&terms);
        }
    }
    assert!(reruns > 100, "{reruns}");
}

/// The same for a leader whose follower says anything at all of its workers.
#[test]
fn row_16_a_follower_that_lies_makes_nothing_run_twice() {
    let rng = &mut Rng::replayable("test lies");
    let terms = terms(2, 3, 3);
    let mut done = 0;
    for _ in 0..3000 {
        let mut state = State::new(&[0; 32], &terms);
        let (mut leader, mut honest) = (Leader::new(&terms, &state, MANNER), Honest::new(&terms));
        for _ in 0..120 {
            let lane = rng.below(2) as Lane;
            let attempt = state.lanes()[lane as usize].attempts.saturating_sub(1 + rng.below(8) as u32 / 7);
            let partition = rng.below(3) as Partition;
            let lie = match rng.below(10) {
                0 => News::Filled { lane, attempt },
                1 => News::Done { lane, attempt, partition },
                2 => News::Gone { lane, attempt, cause: Cause::Line },
                3 | 4 => News::Found { lane, partition, evidence: Evidence::NotTaken },
                5 => News::Consent { partition },
                6 => News::Gone { lane, attempt, cause: Cause::Stock },
                7 | 8 => News::Filled { lane, attempt },
                _ => News::Done { lane, attempt, partition },
            };
            let mut orders = leader.hear_of_peer(&lie);
            honest.happens(rng).iter().for_each(|news| leader.hear(news));
            let entries = leader.decide(&state, false);
            entries.iter().for_each(|entry| state.apply(entry).expect("what it decides follows"));
            orders.extend(leader.wrote(&entries, &state));
            for news in honest.obey(orders) {
                leader.hear(&news);
            }
            honest.check(&terms);
        }
        done += state.tally().done;
    }
    assert!(done > 20, "{done}");
}
