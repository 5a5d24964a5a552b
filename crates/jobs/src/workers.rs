//! What coordinators know of workers, and what workers are to do.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::ledger::{Entry, LaneBook, PartitionState, State};
use crate::terms::{Lane, Partition};

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
    /// The log of a lane's stock was looked at, when no worker of the lane was left.
    Found {
        /// The lane.
        lane: Lane,
        /// The attempt that ran the partition.
        attempt: u32,
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
        /// Its last attempt, as the ledger has it: the stock is in the store that this one had.
        attempt: u32,
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
pub(crate) enum At {
    #[default]
    Nowhere,
    Working,
    Filled,
    Done(Partition),
    Gone(Cause),
}

/// The workers of one party.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Workers {
    /// By lane: the attempt, and where it is.
    at: Vec<(u32, At)>,
    /// By lane: what was found of the partition that it ran last.
    found: BTreeMap<Lane, (Partition, Evidence)>,
    pub(crate) consents: BTreeSet<Partition>,
    /// Whether a check failed at one of them, of whatever attempt: nobody takes that back.
    pub(crate) caught: bool,
    /// Lanes whose last attempt never had a worker here: the peer's was gone before.
    pub(crate) unborn: BTreeSet<Lane>,
}

impl Workers {
    /// Makes those of a job that goes on, all of which are there.
    pub(crate) fn of(state: &State, at: At) -> Self {
        let at = |book: &LaneBook| (book.attempts.saturating_sub(1), at);
        Workers { at: state.lanes().iter().map(at).collect(), ..Workers::default() }
    }

    /// Returns where the worker of an attempt is.
    pub(crate) fn of_attempt(&self, lane: Lane, attempts: u32) -> At {
        match self.at.get(lane as usize) {
            Some((attempt, at)) if attempt.checked_add(1) == Some(attempts) => *at,
            _ => At::Nowhere,
        }
    }

    /// Returns whether there may be something to hear of an attempt: the lane's last one, or the one after
    /// it, of which one party hears before the other.
    pub(crate) fn expects(&self, lane: Lane, attempt: u32) -> bool {
        let next = |last: u32| attempt == last || last.checked_add(1) == Some(attempt);
        self.at.get(lane as usize).is_some_and(|(last, _)| next(*last))
    }

    /// Returns what was found of a partition.
    pub(crate) fn found(&self, lane: Lane, partition: Partition) -> Option<Evidence> {
        self.found.get(&lane).filter(|(of, _)| *of == partition).map(|(_, evidence)| *evidence)
    }

    /// Drops what people said of partitions that are not in doubt: it is about the doubt that they saw, and
    /// none that comes later.
    pub(crate) fn forget_consents(&mut self, state: &State) {
        let is_in_doubt =
            |p: &Partition| state.partitions().get(*p as usize) == Some(&PartitionState::InDoubt);
        self.consents.retain(is_in_doubt);
    }

    /// Takes note; what is about an attempt that is over, or of no lane, is left aside, but for a check that
    /// failed.
    pub(crate) fn hear(&mut self, news: &News) {
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
            News::Gone { lane, attempt, cause } => {
                is_at(*lane, *attempt, At::Gone(*cause));
                self.caught |= *cause == Cause::Check;
            }
            News::Found { lane, attempt, partition, evidence }
                if self.at.get(*lane as usize).is_some_and(|(last, _)| last == attempt) =>
            {
                // Whoever once said that something may be taken does not take that back.
                let known = self.found.entry(*lane).or_insert((*partition, *evidence));
                if known.0 != *partition || *evidence == Evidence::PerhapsTaken {
                    *known = (*partition, *evidence);
                }
            }
            News::Consent { partition } => drop(self.consents.insert(*partition)),
            News::Listens { .. } | News::Found { .. } => {}
        }
    }

    /// Makes of them what an entry says.
    pub(crate) fn follow(&mut self, entry: &Entry) {
        match entry {
            Entry::Fill { lane, attempt, .. } | Entry::Resume { lane, attempt } => {
                self.at[*lane as usize] = (*attempt, At::Working);
                self.found.remove(lane);
                self.unborn.remove(lane);
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

    /// Returns how much is known of what was found, and of what people said.
    #[cfg(test)]
    pub(crate) fn kept(&self) -> usize {
        self.found.len() + self.consents.len()
    }

    /// Returns what is known without a look of partitions whose lanes are lost: a worker that never was took
    /// nothing.
    pub(crate) fn known(&self, state: &State) -> Vec<News> {
        let unsettled = state.unsettled().into_iter();
        let unknown = unsettled.filter(|(lane, partition)| {
            self.unborn.contains(lane) && self.found(*lane, *partition).is_none()
        });
        let found = |(lane, partition): (Lane, Partition)| {
            let attempt = self.at[lane as usize].0;
            News::Found { lane, attempt, partition, evidence: Evidence::NotTaken }
        };
        unknown.map(found).collect()
    }

    /// Returns why the worker of an attempt ended, if it did.
    pub(crate) fn gone(&self, lane: Lane, attempts: u32) -> Option<Cause> {
        match self.of_attempt(lane, attempts) {
            At::Gone(cause) => Some(cause),
            _ => None,
        }
    }
}

/// Orders as a party carries them out that connects: a worker starts when its peer's address is known, and
/// what it is to do waits until then.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Waiting {
    orders: BTreeMap<Lane, (u32, Vec<Order>)>,
    /// By lane: the attempt of the peer's that listens, and where.
    addresses: BTreeMap<Lane, (u32, String)>,
}

impl Waiting {
    /// Keeps back what waits for an address, and returns the rest.
    pub(crate) fn hold(&mut self, orders: Vec<Order>) -> Vec<Order> {
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

    /// Returns where the peer's workers are said to listen.
    #[cfg(test)]
    pub(crate) fn addresses(&self) -> impl Iterator<Item = &str> {
        self.addresses.values().map(|(_, address)| &**address)
    }

    /// Gives up what waits for the address of a worker that is gone. Returns whether something did.
    pub(crate) fn cancel(&mut self, lane: Lane) -> bool {
        self.orders.remove(&lane).is_some()
    }

    /// Lets go of what waited for this address.
    pub(crate) fn heard(&mut self, lane: Lane, attempt: u32, address: &str) -> Vec<Order> {
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

/// The words of a party's own workers, and of its own looks into their stocks, on which it writes what the
/// leader proposes. They are durable before the leader hears of them: the leader may have written an entry
/// that rests on them when both begin anew, and a store may be lost meanwhile.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Said {
    filled: BTreeSet<(Lane, u32)>,
    done: BTreeSet<(Lane, u32, Partition)>,
    untaken: BTreeSet<(Lane, u32, Partition)>,
}

impl Said {
    /// Takes note of news. Returns whether they are to be durable, and were not known.
    pub fn hear(&mut self, news: &News) -> bool {
        match *news {
            News::Filled { lane, attempt } => self.filled.insert((lane, attempt)),
            News::Done { lane, attempt, partition } => self.done.insert((lane, attempt, partition)),
            News::Found { lane, attempt, partition, evidence: Evidence::NotTaken } => {
                self.untaken.insert((lane, attempt, partition))
            }
            _ => false,
        }
    }

    /// Returns whether an attempt of a lane has made its stock.
    pub(crate) fn filled(&self, lane: Lane, attempt: u32) -> bool {
        self.filled.contains(&(lane, attempt))
    }

    /// Returns whether an attempt of a lane has run a partition.
    pub(crate) fn done(&self, lane: Lane, attempt: u32, partition: Partition) -> bool {
        self.done.contains(&(lane, attempt, partition))
    }

    /// Returns whether an attempt of a lane was lost before it took anything for a partition. No later
    /// attempt of the lane begins before that is settled, so it stays true.
    pub(crate) fn untaken(&self, lane: Lane, attempt: u32, partition: Partition) -> bool {
        self.untaken.contains(&(lane, attempt, partition))
    }
}
