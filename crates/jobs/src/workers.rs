//! The coordinators' knowledge of workers, and the orders for workers.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::ledger::{JobEntry, JobState, LaneBook, PartitionState};
use crate::terms::{LaneNumber, Partition};

/// The reason why a worker ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum WorkerEnding {
    /// The connection, the process or the machine failed.
    Line,
    /// The peer failed a check: the job is over. The peer does not learn the reason, because all ends look
    /// the same to it.
    Check,
    /// The stock became unusable.
    Stock,
    /// The worker was ordered to stop.
    Stopped,
}

/// The facts that the log of a lane's stock shows about a partition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Evidence {
    /// Nothing was taken for the partition: no input has been used with any stock.
    NotTaken,
    /// Stock was taken for the partition, or this is unknown because the stock is gone or another process
    /// uses it.
    PerhapsTaken,
}

/// News about a party's workers.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum News {
    /// A worker waits for its peer at this address.
    Listens {
        /// The lane of the worker.
        lane: LaneNumber,
        /// The attempt of the lane.
        attempt: u32,
        /// The address.
        address: String,
    },
    /// A worker has made its stock, durably.
    Filled {
        /// The lane of the worker.
        lane: LaneNumber,
        /// The attempt of the lane.
        attempt: u32,
    },
    /// A worker has run a partition, and this party's results are durable.
    Done {
        /// The lane of the worker.
        lane: LaneNumber,
        /// The attempt of the lane.
        attempt: u32,
        /// The partition.
        partition: Partition,
    },
    /// A worker has ended: its process is gone, and no process uses its store.
    Gone {
        /// The lane of the worker.
        lane: LaneNumber,
        /// The attempt of the lane.
        attempt: u32,
        /// The reason.
        cause: WorkerEnding,
    },
    /// The log of a lane's stock was read after the lane's last worker had ended.
    Found {
        /// The lane.
        lane: LaneNumber,
        /// The attempt that ran the partition.
        attempt: u32,
        /// The partition.
        partition: Partition,
        /// The result.
        evidence: Evidence,
    },
    /// The user has decided that a partition in doubt runs again.
    Consent {
        /// The partition.
        partition: Partition,
    },
}

/// An order for a party's worker.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum WorkerOrder {
    /// Start a worker, which connects to its peer at this address, or listens.
    Start {
        /// The lane of the worker.
        lane: LaneNumber,
        /// The attempt of the lane.
        attempt: u32,
        /// The address at which the peer listens; `None` if this party listens.
        address: Option<String>,
    },
    /// Make stock for this many partitions.
    Fill {
        /// The lane.
        lane: LaneNumber,
        /// The number of partitions.
        partitions: u32,
    },
    /// Run a partition.
    Run {
        /// The lane.
        lane: LaneNumber,
        /// The partition.
        partition: Partition,
    },
    /// Read the log of a lane's stock, after its worker has ended.
    Look {
        /// The lane.
        lane: LaneNumber,
        /// The lane's last attempt by the ledger, whose store has the stock.
        attempt: u32,
        /// The partition.
        partition: Partition,
    },
    /// End a worker.
    Stop {
        /// The lane.
        lane: LaneNumber,
    },
}

/// The state of a worker, as far as a coordinator knows it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) enum At {
    #[default]
    Nowhere,
    Working,
    Filled,
    Done(Partition),
    Gone(WorkerEnding),
}

/// The workers of one party.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct PartyWorkers {
    /// By lane: the attempt, and its state.
    at: Vec<(u32, At)>,
    /// For each lane, the fact that the log shows about the lane's last partition.
    found: BTreeMap<LaneNumber, (Partition, Evidence)>,
    pub(crate) consents: BTreeSet<Partition>,
    /// True if a check failed at a worker, in any attempt; never reset.
    pub(crate) caught: bool,
    /// Lanes whose last attempt never had a worker here, because the peer's worker had already ended.
    pub(crate) unborn: BTreeSet<LaneNumber>,
}

impl PartyWorkers {
    /// Makes the workers of a continued job, all in this state.
    pub(crate) fn of(state: &JobState, at: At) -> Self {
        let at = |book: &LaneBook| (book.attempts.saturating_sub(1), at);
        PartyWorkers { at: state.lanes().iter().map(at).collect(), ..PartyWorkers::default() }
    }

    /// Returns the state of an attempt's worker.
    pub(crate) fn of_attempt(&self, lane: LaneNumber, attempts: u32) -> At {
        match self.at.get(lane as usize) {
            Some((attempt, at)) if attempt.checked_add(1) == Some(attempts) => *at,
            _ => At::Nowhere,
        }
    }

    /// Returns whether there may be news about `attempt`. This is so for the last attempt of `lane`, and for
    /// the next attempt, which one party knows before the other.
    pub(crate) fn expects(&self, lane: LaneNumber, attempt: u32) -> bool {
        let next = |last: u32| attempt == last || last.checked_add(1) == Some(attempt);
        self.at.get(lane as usize).is_some_and(|(last, _)| next(*last))
    }

    /// Returns the fact about a partition.
    pub(crate) fn found(&self, lane: LaneNumber, partition: Partition) -> Option<Evidence> {
        self.found.get(&lane).filter(|(of, _)| *of == partition).map(|(_, evidence)| *evidence)
    }

    /// Drops the user's consents for partitions that are not in doubt: a consent is about the doubt that the
    /// user saw, not about a later one.
    pub(crate) fn forget_consents(&mut self, state: &JobState) {
        let is_in_doubt =
            |p: &Partition| state.partitions().get(*p as usize) == Some(&PartitionState::InDoubt);
        self.consents.retain(is_in_doubt);
    }

    /// Notes news. News about an old attempt or an unknown lane are ignored, except a failed check.
    pub(crate) fn hear(&mut self, news: &News) {
        let mut is_at = |lane: LaneNumber, attempt: u32, to: At| {
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
                self.caught |= *cause == WorkerEnding::Check;
            }
            News::Found { lane, attempt, partition, evidence }
                if self.at.get(*lane as usize).is_some_and(|(last, _)| last == attempt) =>
            {
                // Once it is known that stock may have been taken, this fact does not change.
                let known = self.found.entry(*lane).or_insert((*partition, *evidence));
                if known.0 != *partition || *evidence == Evidence::PerhapsTaken {
                    *known = (*partition, *evidence);
                }
            }
            News::Consent { partition } => drop(self.consents.insert(*partition)),
            News::Listens { .. } | News::Found { .. } => {}
        }
    }

    /// Updates the workers for an entry.
    pub(crate) fn follow(&mut self, entry: &JobEntry) {
        match entry {
            JobEntry::Fill { lane, attempt, .. } | JobEntry::Resume { lane, attempt } => {
                self.at[*lane as usize] = (*attempt, At::Working);
                self.found.remove(lane);
                self.unborn.remove(lane);
            }
            JobEntry::Claim { lane, .. } => match &mut self.at[*lane as usize].1 {
                // The worker may have ended meanwhile; then the lane is lost with the partition.
                At::Gone(_) => {}
                at => *at = At::Working,
            },
            JobEntry::Rerun { partition } => drop(self.consents.remove(partition)),
            _ => {}
        }
    }

    /// Returns the amount of stored facts and decisions.
    #[cfg(test)]
    pub(crate) fn kept(&self) -> usize {
        self.found.len() + self.consents.len()
    }

    /// Returns the known facts, without a log, about partitions whose lanes are lost: a worker that never
    /// started took nothing.
    pub(crate) fn known(&self, state: &JobState) -> Vec<News> {
        let unsettled = state.unsettled().into_iter();
        let unknown = unsettled.filter(|(lane, partition)| {
            self.unborn.contains(lane) && self.found(*lane, *partition).is_none()
        });
        let found = |(lane, partition): (LaneNumber, Partition)| {
            let attempt = self.at[lane as usize].0;
            News::Found { lane, attempt, partition, evidence: Evidence::NotTaken }
        };
        unknown.map(found).collect()
    }

    /// Returns the reason why the worker of an attempt ended, if it did.
    pub(crate) fn gone(&self, lane: LaneNumber, attempts: u32) -> Option<WorkerEnding> {
        match self.of_attempt(lane, attempts) {
            At::Gone(cause) => Some(cause),
            _ => None,
        }
    }
}

/// Orders of a party whose workers connect: a worker starts when its peer's address is known, and its further
/// orders wait until then.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Waiting {
    orders: BTreeMap<LaneNumber, (u32, Vec<WorkerOrder>)>,
    /// By lane: the attempt of the peer's listening worker, and its address.
    addresses: BTreeMap<LaneNumber, (u32, String)>,
}

impl Waiting {
    /// Keeps the orders that wait for an address, and returns the others.
    pub(crate) fn hold(&mut self, orders: Vec<WorkerOrder>) -> Vec<WorkerOrder> {
        let mut at_once = Vec::new();
        for order in orders {
            match order {
                WorkerOrder::Start { lane, attempt, .. } => match self.addresses.get(&lane) {
                    Some((known, address)) if *known == attempt => {
                        at_once.push(WorkerOrder::Start { lane, attempt, address: Some(address.clone()) });
                    }
                    _ => drop(self.orders.insert(lane, (attempt, Vec::new()))),
                },
                WorkerOrder::Fill { lane, .. } | WorkerOrder::Run { lane, .. }
                    if self.orders.contains_key(&lane) =>
                {
                    self.orders.entry(lane).and_modify(|held| held.1.push(order));
                }
                _ => at_once.push(order),
            }
        }
        at_once
    }

    /// Returns the reported addresses of the peer's workers.
    #[cfg(test)]
    pub(crate) fn addresses(&self) -> impl Iterator<Item = &str> {
        self.addresses.values().map(|(_, address)| &**address)
    }

    /// Drops the orders that wait for the address of a worker that has ended. Returns whether there were any.
    pub(crate) fn cancel(&mut self, lane: LaneNumber) -> bool {
        self.orders.remove(&lane).is_some()
    }

    /// Returns the orders that waited for this address.
    pub(crate) fn heard(&mut self, lane: LaneNumber, attempt: u32, address: &str) -> Vec<WorkerOrder> {
        self.addresses.insert(lane, (attempt, address.into()));
        match self.orders.get(&lane) {
            Some((waits, _)) if *waits == attempt => {
                let (_, held) = self.orders.remove(&lane).unwrap_or_default();
                let start = WorkerOrder::Start { lane, attempt, address: Some(address.into()) };
                std::iter::once(start).chain(held).collect()
            }
            _ => Vec::new(),
        }
    }
}

/// The reports of a party's own workers and the facts from their stocks' logs. The party checks the leader's
/// proposals against them. The reports are durable before the leader learns of them. When both coordinators
/// start again, the leader may have written a dependent entry, and a store may be lost meanwhile.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct WorkerReports {
    filled: BTreeSet<(LaneNumber, u32)>,
    done: BTreeSet<(LaneNumber, u32, Partition)>,
    untaken: BTreeSet<(LaneNumber, u32, Partition)>,
}

impl WorkerReports {
    /// Takes note of news. Returns whether the news are new and must be made durable.
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
    pub(crate) fn filled(&self, lane: LaneNumber, attempt: u32) -> bool {
        self.filled.contains(&(lane, attempt))
    }

    /// Returns whether an attempt of a lane has run a partition.
    pub(crate) fn done(&self, lane: LaneNumber, attempt: u32, partition: Partition) -> bool {
        self.done.contains(&(lane, attempt, partition))
    }

    /// Returns whether an attempt of a lane was lost before it took anything for a partition. The answer
    /// stays true, because no later attempt of the lane begins before the partition is settled.
    pub(crate) fn untaken(&self, lane: LaneNumber, attempt: u32, partition: Partition) -> bool {
        self.untaken.contains(&(lane, attempt, partition))
    }
}
