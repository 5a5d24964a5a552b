//! What the two coordinators of a job decide, without a line and without workers: what comes in is given, and
//! what goes out is returned.
//!
//! The garbler's coordinator *leads*: it writes entries into its own ledger, durably, and then proposes them.
//! The evaluator's *follows*: it looks at each, and writes those that agree with what its own workers say. So
//! the leader's ledger is ahead of the follower's or equal to it. Neither believes the other where it
//! matters: that a partition may run again (`Free`), each has seen in its own stock's log; that one is done,
//! from its own worker.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use brickwork_base::Error;
use serde::{Deserialize, Serialize};

use crate::ledger::{Entry, LaneBook, LaneState, PartitionState, State};
use crate::terms::{Lane, Partition, Terms};

/// Why a worker ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Cause {
    /// Its line, its process or its machine.
    Line,
    /// A check that the peer failed: the job is over. The peer is not told: to it every end looks alike.
    Check,
    /// Its stock: there is none that it could go on with.
    Stock,
    /// It was told to.
    Stopped,
}

/// What the log of a lane's stock says of a partition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Evidence {
    /// Nothing was taken for it: no input has met any stock.
    NotTaken,
    /// Something was taken, or nobody can tell: the stock is gone, or another process has it.
    PerhapsTaken,
}

/// What becomes known of a party's workers.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum News {
    /// A worker waits there for its peer.
    Listens {
        /// Its lane.
        lane: Lane,
        /// Its attempt.
        attempt: u32,
        /// Where.
        address: String,
    },
    /// A worker has made its stock, durably.
    Filled {
        /// Its lane.
        lane: Lane,
        /// Its attempt.
        attempt: u32,
    },
    /// A worker has run a partition, and what it gives this party is durable.
    Done {
        /// Its lane.
        lane: Lane,
        /// Its attempt.
        attempt: u32,
        /// The partition.
        partition: Partition,
    },
    /// A worker has ended: its process is gone, and its store is nobody's.
    Gone {
        /// Its lane.
        lane: Lane,
        /// Its attempt.
        attempt: u32,
        /// Why.
        cause: Cause,
    },
    /// The log of a lane's stock was looked at.
    Found {
        /// The lane.
        lane: Lane,
        /// The partition.
        partition: Partition,
        /// What it says.
        evidence: Evidence,
    },
    /// A partition that is in doubt is to run again, says somebody who may.
    Consent {
        /// The partition.
        partition: Partition,
    },
}

/// What a party's workers are to do.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Order {
    /// Start a worker, which meets its peer at this address, or listens.
    Start {
        /// Its lane.
        lane: Lane,
        /// Its attempt.
        attempt: u32,
        /// Where the peer listens; `None` if this party does.
        address: Option<String>,
    },
    /// Make stock for so many partitions.
    Fill {
        /// The lane.
        lane: Lane,
        /// Partitions.
        partitions: u32,
    },
    /// Run a partition.
    Run {
        /// The lane.
        lane: Lane,
        /// The partition.
        partition: Partition,
    },
    /// Look into the log of a lane's stock, whose worker is gone.
    Look {
        /// The lane.
        lane: Lane,
        /// The partition.
        partition: Partition,
    },
    /// End a worker.
    Stop {
        /// The lane.
        lane: Lane,
    },
}

/// Where a worker is, as far as a coordinator knows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
enum At {
    #[default]
    Nowhere,
    Working,
    Filled,
    Done(Partition),
    Gone(Cause),
}

/// The workers of one party.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct Workers {
    /// By lane: the attempt, and where it is.
    at: Vec<(u32, At)>,
    /// By lane and partition.
    found: BTreeMap<(Lane, Partition), Evidence>,
    consents: BTreeSet<Partition>,
}

impl Workers {
    /// Those of a job that goes on, all of which are there.
    fn of(state: &State, at: At) -> Self {
        let at = |book: &LaneBook| (book.attempts.saturating_sub(1), at);
        Workers { at: state.lanes().iter().map(at).collect(), ..Workers::default() }
    }

    /// Where the worker of an attempt is.
    fn of_attempt(&self, lane: Lane, attempts: u32) -> At {
        match self.at.get(lane as usize) {
            Some((attempt, at)) if attempt.checked_add(1) == Some(attempts) => *at,
            _ => At::Nowhere,
        }
    }

    /// Takes note; what is about an attempt that is over, or of no lane, is left aside.
    fn hear(&mut self, news: &News) {
        let mut is_at = |lane: Lane, attempt: u32, to: At| {
            if let Some(known) = self.at.get_mut(lane as usize)
                && known.0 == attempt
                && !matches!(known.1, At::Gone(_))
            {
                known.1 = to;
            }
        };
        match news {
            News::Filled { lane, attempt } => is_at(*lane, *attempt, At::Filled),
            News::Done { lane, attempt, partition } => is_at(*lane, *attempt, At::Done(*partition)),
            News::Gone { lane, attempt, cause } => is_at(*lane, *attempt, At::Gone(*cause)),
            News::Found { lane, partition, evidence } => {
                // Whoever once said that something may be taken does not take that back.
                let known = self.found.entry((*lane, *partition)).or_insert(*evidence);
                if *evidence == Evidence::PerhapsTaken {
                    *known = *evidence;
                }
            }
            News::Consent { partition } => drop(self.consents.insert(*partition)),
            News::Listens { .. } => {}
        }
    }

    /// What an entry makes of them.
    fn follow(&mut self, entry: &Entry) {
        match entry {
            Entry::Fill { lane, attempt, .. } | Entry::Resume { lane, attempt } => {
                self.at[*lane as usize] = (*attempt, At::Working);
                self.found.retain(|(of, _), _| of != lane);
            }
            Entry::Claim { lane, .. } => match &mut self.at[*lane as usize].1 {
                // It may be gone by now: then the lane is lost with the partition.
                At::Gone(_) => {}
                at => *at = At::Working,
            },
            Entry::Rerun { partition } => drop(self.consents.remove(partition)),
            _ => {}
        }
    }

    fn gone(&self, lane: Lane, attempts: u32) -> Option<Cause> {
        match self.of_attempt(lane, attempts) {
            At::Gone(cause) => Some(cause),
            _ => None,
        }
    }

    /// Whether a check failed at one of them.
    fn caught(&self) -> bool {
        self.at.iter().any(|(_, at)| *at == At::Gone(Cause::Check))
    }
}

/// What a party does about an entry that is durable.
fn orders_of(entry: &Entry) -> Vec<Order> {
    match *entry {
        Entry::Fill { lane, attempt, partitions } => {
            vec![Order::Start { lane, attempt, address: None }, Order::Fill { lane, partitions }]
        }
        Entry::Resume { lane, attempt } => vec![Order::Start { lane, attempt, address: None }],
        Entry::Claim { partition, lane } => vec![Order::Run { lane, partition }],
        _ => Vec::new(),
    }
}

/// Orders as a party carries them out that connects: a worker starts when its peer's address is known, and
/// what it is to do waits until then.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct Waiting {
    orders: BTreeMap<Lane, (u32, Vec<Order>)>,
    /// By lane: the attempt of the peer's that listens, and where.
    addresses: BTreeMap<Lane, (u32, String)>,
}

impl Waiting {
    /// Keeps back what waits for an address, and returns the rest.
    fn hold(&mut self, orders: Vec<Order>) -> Vec<Order> {
        let mut at_once = Vec::new();
        for order in orders {
            match order {
                Order::Start { lane, attempt, .. } => match self.addresses.get(&lane) {
                    Some((known, address)) if *known == attempt => {
                        at_once.push(Order::Start { lane, attempt, address: Some(address.clone()) });
                    }
                    _ => drop(self.orders.insert(lane, (attempt, Vec::new()))),
                },
                Order::Fill { lane, .. } | Order::Run { lane, .. } if self.orders.contains_key(&lane) => {
                    self.orders.entry(lane).and_modify(|held| held.1.push(order));
                }
                _ => at_once.push(order),
            }
        }
        at_once
    }

    /// Gives up what waits for the address of a worker that is gone. Returns whether something did.
    fn cancel(&mut self, lane: Lane) -> bool {
        self.orders.remove(&lane).is_some()
    }

    /// Lets go of what waited for this address.
    fn heard(&mut self, lane: Lane, attempt: u32, address: &str) -> Vec<Order> {
        self.addresses.insert(lane, (attempt, address.into()));
        match self.orders.get(&lane) {
            Some((waits, _)) if *waits == attempt => {
                let (_, held) = self.orders.remove(&lane).unwrap_or_default();
                let start = Order::Start { lane, attempt, address: Some(address.into()) };
                std::iter::once(start).chain(held).collect()
            }
            _ => Vec::new(),
        }
    }
}

/// Most entries of one proposal: by so many the leader's ledger may be ahead.
pub const MAX_PROPOSED: usize = 64;

/// Most news of one message; more go with the next.
pub const MAX_NEWS: usize = 256;

/// How a coordinator goes about a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Manner {
    /// Whether this party's workers listen for the peer's; exactly one party's do.
    pub listens: bool,
    /// Whether stock is made and nothing is run: what the leader says counts.
    pub only_fills: bool,
    /// How many lanes have work or stock at a time, if not all: what the leader says counts.
    pub at_once: Option<u32>,
}

/// The leader: the garbler's coordinator.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Leader {
    terms: Terms,
    own: Workers,
    peer: Workers,
    manner: Manner,
    waiting: Waiting,
    /// Lanes whose stock did not serve any more: they are filled anew.
    worn_out: BTreeSet<Lane>,
    /// What the peer is to hear.
    outbox: VecDeque<News>,
}

/// The follower: the evaluator's coordinator.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Follower {
    own: Workers,
    listens: bool,
    waiting: Waiting,
    outbox: VecDeque<News>,
    /// Partitions whose results lie where they belong.
    kept: BTreeSet<Partition>,
}

/// What is known of a party's workers when its coordinator begins anew: none is there.
fn none_left(state: &State) -> VecDeque<News> {
    let begun = (0..).zip(state.lanes()).filter(|(_, book)| book.attempts > 0);
    begun.map(|(lane, book)| News::Gone { lane, attempt: book.attempts - 1, cause: Cause::Line }).collect()
}

fn taken(outbox: &mut VecDeque<News>) -> Vec<News> {
    outbox.drain(..outbox.len().min(MAX_NEWS)).collect()
}

impl Leader {
    /// Begins, or goes on where the ledger stands. No worker is left of before; of the peer's it is not
    /// known.
    pub fn new(terms: &Terms, state: &State, manner: Manner) -> Self {
        Leader {
            terms: terms.clone(),
            own: Workers::of(state, At::Gone(Cause::Line)),
            peer: Workers::of(state, At::Working),
            manner,
            waiting: Waiting::default(),
            worn_out: BTreeSet::new(),
            outbox: none_left(state),
        }
    }

    /// Hears of this party's workers, or of its people.
    pub fn hear(&mut self, news: &News) {
        self.own.hear(news);
        // The rest the ledger tells.
        if matches!(news, News::Listens { .. } | News::Gone { .. }) {
            self.outbox.push_back(news.clone());
        }
    }

    /// Returns what the peer is to hear next of this party's workers.
    pub fn tell(&mut self) -> Vec<News> {
        taken(&mut self.outbox)
    }

    /// Returns whether a check failed at one of this party's workers: the job is over.
    pub fn caught(&self) -> bool {
        self.own.caught()
    }

    /// Hears of the peer's workers, and returns what this party's are to do about it.
    pub fn hear_of_peer(&mut self, news: &News) -> Vec<Order> {
        self.peer.hear(news);
        match news {
            News::Listens { lane, attempt, address } if !self.manner.listens => {
                self.waiting.heard(*lane, *attempt, address)
            }
            News::Gone { lane, attempt, .. } if *attempt < u32::MAX => {
                let is_there = matches!(self.own.of_attempt(*lane, attempt + 1), At::Working);
                if is_there && self.waiting.cancel(*lane) {
                    self.hear(&News::Gone { lane: *lane, attempt: *attempt, cause: Cause::Stopped });
                }
                Vec::new()
            }
            _ => Vec::new(),
        }
    }

    /// Decides what is written next.
    pub fn decide(&mut self, state: &State) -> Vec<Entry> {
        let mut after = state.clone();
        let mut entries = Vec::new();
        if state.has_failed() {
            return entries;
        }
        for &partition in &self.own.consents {
            if self.peer.consents.contains(&partition) {
                write(&mut after, &mut entries, Entry::Rerun { partition });
            }
        }
        for lane in 0..self.terms.lanes {
            // Several entries of a lane may follow at once: a loss, and what became of what it ran.
            while let Some(entry) = self.about(lane, &after) {
                if entries.len() == MAX_PROPOSED || !write(&mut after, &mut entries, entry) {
                    break;
                }
            }
        }
        entries
    }

    /// What there is to write about a lane.
    fn about(&mut self, lane: Lane, state: &State) -> Option<Entry> {
        let book = state.lanes()[lane as usize];
        let both = |at: At| {
            self.own.of_attempt(lane, book.attempts) == at && self.peer.of_attempt(lane, book.attempts) == at
        };
        let gone = [&self.own, &self.peer].map(|side| side.gone(lane, book.attempts));
        let is_lost = gone.iter().all(Option::is_some);
        match book.state {
            LaneState::Filling if both(At::Filled) => Some(Entry::Filled { lane }),
            LaneState::Running(partition) if both(At::Done(partition)) => Some(Entry::Done { partition }),
            // One that is done is not lost.
            LaneState::Ready if book.stock == 0 => self.fill(lane, state),
            LaneState::Filling | LaneState::Ready | LaneState::Running(_) if is_lost => {
                if gone.contains(&Some(Cause::Stock)) {
                    self.worn_out.insert(lane);
                }
                Some(Entry::Lost { lane })
            }
            LaneState::Lost { ran: Some(partition), .. } => {
                let found = [&self.own, &self.peer].map(|side| side.found.get(&(lane, partition)).copied());
                match found {
                    [Some(Evidence::NotTaken), Some(Evidence::NotTaken)] => Some(Entry::Free { partition }),
                    [Some(_), Some(_)] => Some(Entry::Doubt { partition }),
                    _ => None,
                }
            }
            LaneState::Ready
                if gone.iter().all(Option::is_none) && book.stock > 0 && !self.manner.only_fills =>
            {
                let open = state.partitions().iter().position(|p| *p == PartitionState::Open)?;
                Some(Entry::Claim { partition: open as Partition, lane })
            }
            LaneState::Lost { filled: true, ran: None }
                if book.stock > 0
                    && state.tally().open > 0
                    && !self.worn_out.contains(&lane)
                    && !self.manner.only_fills =>
            {
                Some(Entry::Resume { lane, attempt: book.attempts })
            }
            // Its stock is there still, and another day will go on with it.
            LaneState::Lost { filled: true, ran: None } if self.manner.only_fills && book.stock > 0 => None,
            LaneState::New | LaneState::Lost { ran: None, .. } => self.fill(lane, state),
            _ => None,
        }
    }

    /// Fills a lane if more partitions are open than there is stock for.
    fn fill(&mut self, lane: Lane, state: &State) -> Option<Entry> {
        let only_fills = self.manner.only_fills;
        let has = |book: &&LaneBook| match book.state {
            LaneState::Lost { filled, .. } => filled && only_fills,
            _ => true,
        };
        let stock: u32 = state.lanes().iter().filter(has).map(|book| book.stock).sum();
        let remaining = state.tally().open.saturating_sub(stock);
        let works = |book: &&LaneBook| match book.state {
            LaneState::Filling | LaneState::Running(_) => true,
            LaneState::Ready => book.stock > 0,
            LaneState::New | LaneState::Lost { .. } => false,
        };
        let at_work = state.lanes().iter().filter(works).count() as u32;
        let is_full = self.manner.at_once.is_some_and(|most| at_work >= most);
        if remaining == 0 || is_full || state.spent() == state.shares() {
            return None;
        }
        self.worn_out.remove(&lane);
        let attempt = state.lanes()[lane as usize].attempts;
        Some(Entry::Fill { lane, attempt, partitions: self.terms.stock(remaining) })
    }

    /// Takes note of entries that are durable at this party, and returns what its workers are to do about
    /// them.
    pub fn wrote(&mut self, entries: &[Entry], state: &State) -> Vec<Order> {
        for entry in entries {
            self.own.follow(entry);
            self.peer.follow(entry);
        }
        let orders = entries.iter().flat_map(orders_of).collect();
        let mut orders = if self.manner.listens { orders } else { self.waiting.hold(orders) };
        orders.extend(asides(&self.own, Some(&self.peer), state));
        orders
    }

    /// Returns whether nothing is left to be done: all partitions are done or in doubt, or a check failed, or
    /// no more stock may be begun; and no worker is needed any more.
    pub fn is_over(&self, state: &State) -> bool {
        let tally = state.tally();
        let stuck = || {
            let goes_on = |book: &LaneBook| match book.state {
                LaneState::Filling | LaneState::Running(_) | LaneState::Lost { ran: Some(_), .. } => true,
                LaneState::Ready | LaneState::Lost { filled: true, .. } => book.stock > 0,
                LaneState::New | LaneState::Lost { .. } => false,
            };
            state.spent() == state.shares() && !state.lanes().iter().any(goes_on)
        };
        let filled = || {
            let works = |book: &LaneBook| {
                matches!(
                    book.state,
                    LaneState::Filling | LaneState::Running(_) | LaneState::Lost { ran: Some(_), .. }
                )
            };
            self.manner.only_fills && !state.lanes().iter().any(works)
        };
        state.has_failed() || tally.claimed == 0 && (tally.open == 0 || stuck()) || filled()
    }
}

/// Writes an entry, if it can follow.
fn write(state: &mut State, entries: &mut Vec<Entry>, entry: Entry) -> bool {
    let follows = state.apply(&entry).is_ok();
    if follows {
        entries.push(entry);
    }
    follows
}

/// What workers are to do that no entry says: stop where the peer's are gone, or the job has failed, and tell
/// what became of a partition.
fn asides(own: &Workers, peer: Option<&Workers>, state: &State) -> Vec<Order> {
    let mut orders = Vec::new();
    for (lane, book) in (0..).zip(state.lanes()) {
        let is_there = own.of_attempt(lane, book.attempts) != At::Nowhere
            && own.gone(lane, book.attempts).is_none()
            && book.attempts > 0;
        let of_peer = peer.is_some_and(|peer| peer.gone(lane, book.attempts).is_some());
        // One that is done makes room: on the disk, too.
        let is_done = book.state == LaneState::Ready && book.stock == 0;
        if is_there && (of_peer || is_done || state.has_failed()) {
            orders.push(Order::Stop { lane });
        }
        if let LaneState::Lost { ran: Some(partition), .. } = book.state
            && !own.found.contains_key(&(lane, partition))
        {
            orders.push(Order::Look { lane, partition });
        }
    }
    orders
}

/// The lane that was lost with a partition.
fn lane_of(partition: Partition, state: &State) -> Option<Lane> {
    state.unsettled().into_iter().find(|(_, of)| *of == partition).map(|(lane, _)| lane)
}

impl Follower {
    /// Begins, or goes on where the ledger stands. No worker is left of before; what partitions gave that are
    /// `kept` lies where it belongs.
    pub fn new(state: &State, kept: BTreeSet<Partition>, listens: bool) -> Self {
        let own = Workers::of(state, At::Gone(Cause::Line));
        Follower { own, listens, waiting: Waiting::default(), outbox: none_left(state), kept }
    }

    /// Hears of this party's workers, or of its people.
    pub fn hear(&mut self, news: &News) {
        self.own.hear(news);
        if let News::Done { partition, .. } = news {
            // Its worker may be gone before the leader has written that.
            self.kept.insert(*partition);
        }
        self.outbox.push_back(news.clone());
    }

    /// Returns what the leader is to hear next of this party's workers.
    pub fn tell(&mut self) -> Vec<News> {
        taken(&mut self.outbox)
    }

    /// Hears of the peer's workers, and returns what this party's are to do about it.
    pub fn hear_of_peer(&mut self, news: &News, state: &State) -> Vec<Order> {
        match news {
            News::Listens { lane, attempt, address } if !self.listens => {
                self.waiting.heard(*lane, *attempt, address)
            }
            News::Gone { lane, attempt, .. } if *attempt < u32::MAX => {
                let is_this = state.lanes().get(*lane as usize).is_some_and(|b| b.attempts == attempt + 1);
                let is_there = is_this && self.own.gone(*lane, attempt + 1).is_none();
                if is_there && self.waiting.cancel(*lane) {
                    // It was to meet a worker that is gone, and has not begun.
                    self.hear(&News::Gone { lane: *lane, attempt: *attempt, cause: Cause::Stopped });
                    return Vec::new();
                }
                if is_there { vec![Order::Stop { lane: *lane }] } else { Vec::new() }
            }
            _ => Vec::new(),
        }
    }

    /// Returns what is to be done, and heard, before an entry can be [checked](Follower::check): after an
    /// interruption the leader may propose once more what was agreed on before.
    pub fn first(&self, entry: &Entry, state: &State) -> Option<Order> {
        let Entry::Free { partition } = *entry else { return None };
        let lane = lane_of(partition, state)?;
        let is_known = self.own.found.contains_key(&(lane, partition));
        (!is_known).then_some(Order::Look { lane, partition })
    }

    /// Looks at an entry that the leader proposes: whether it agrees with what this party's workers say.
    /// (That it can follow, the ledger sees.)
    ///
    /// # Errors
    /// [`Error::Mismatch`] with what this party knows otherwise.
    pub fn check(&self, entry: &Entry, state: &State) -> Result<(), Error> {
        let attempts = |lane: Lane| state.lanes().get(lane as usize).map_or(0, |book| book.attempts);
        let of = |lane: Lane| self.own.of_attempt(lane, attempts(lane));
        let knows = |is_so: bool, what: &str| match is_so {
            true => Ok(()),
            false => Err(Error::Mismatch(format!(
                "the peer's coordinator says that {what}, and here it is not so"
            ))),
        };
        match *entry {
            // If it is gone, it will be lost, whatever it has.
            Entry::Filled { lane } => {
                knows(matches!(of(lane), At::Filled | At::Gone(_)), "a lane has its stock")
            }
            Entry::Lost { lane } => knows(matches!(of(lane), At::Gone(_)), "a lane is lost"),
            Entry::Done { partition } => {
                let lane = match state.partitions().get(partition as usize) {
                    Some(PartitionState::Claimed(lane)) => *lane,
                    _ => return knows(false, "a partition that nobody has is done"),
                };
                knows(
                    of(lane) == At::Done(partition) || self.kept.contains(&partition),
                    "a partition is done",
                )
            }
            Entry::Free { partition } => {
                let lane = lane_of(partition, state);
                let found = lane.and_then(|lane| self.own.found.get(&(lane, partition)));
                knows(found == Some(&Evidence::NotTaken), "a partition may run again")
            }
            Entry::Rerun { partition } => {
                knows(self.own.consents.contains(&partition), "somebody agreed to run a partition again")
            }
            // What begins something, or gives something up, the ledger's rules allow.
            Entry::Fill { .. } | Entry::Resume { .. } | Entry::Claim { .. } | Entry::Doubt { .. } => Ok(()),
            Entry::Failed => Ok(()),
        }
    }

    /// Takes note of entries that are durable at this party, and returns what its workers are to do about
    /// them.
    pub fn wrote(&mut self, entries: &[Entry], state: &State) -> Vec<Order> {
        for entry in entries {
            self.own.follow(entry);
            if let Entry::Rerun { partition } = entry {
                self.kept.remove(partition);
            }
        }
        let orders = entries.iter().flat_map(orders_of).collect();
        let mut orders = if self.listens { orders } else { self.waiting.hold(orders) };
        orders.extend(asides(&self.own, None, state));
        orders
    }

    /// Returns whether a check failed at one of this party's workers: the job is over, whatever the leader
    /// says.
    pub fn caught(&self) -> bool {
        self.own.caught()
    }
}
