//! The ledger of a job: the actions that it has begun and their results. Both coordinators have a ledger with
//! the same entries in the same order; a hash chain runs over the entries. An entry is durable at a party
//! before the party acts on it.
//!
//! The ledger alone determines the risk and which partitions may run. The risk: **every stock of a lane that
//! is begun uses a part of the promise**. So a party that dislikes a challenge and breaks off has used that
//! part. The partitions: **a partition is claimed before its lane starts it**. **Once stock may have been
//! taken for a partition, the partition does not run again.** The partition is in doubt until the users of
//! both parties decide otherwise. The reason: a run that broke off after it received its inputs may have
//! shown the peer an output. A second run with another input would show the peer another output.

use std::collections::BTreeMap;

use brickwork_base::Error;
use brickwork_base::digest::Digest;
use serde::{Deserialize, Serialize};

use crate::terms::{JobId, JobTerms, LaneNumber, Partition};

/// Hash over all entries so far.
pub type LedgerHead = [u8; 32];

/// An event in a job.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum JobEntry {
    /// A lane's stock is about to be made, for this many partitions. The stock uses a part of the promise,
    /// whatever the result.
    Fill {
        /// The lane.
        lane: LaneNumber,
        /// The number of the attempt, from 0.
        attempt: u32,
        /// The partitions for which the stock is made.
        partitions: u32,
    },
    /// The lane has its stock, at both parties.
    Filled {
        /// The lane.
        lane: LaneNumber,
    },
    /// The lane is lost: its worker, its connection or its stock.
    Lost {
        /// The lane.
        lane: LaneNumber,
    },
    /// A lost lane continues with its existing stock, which uses no further part of the promise.
    Resume {
        /// The lane.
        lane: LaneNumber,
        /// The number of the next attempt.
        attempt: u32,
    },
    /// A lane is about to run a partition.
    Claim {
        /// The partition.
        partition: Partition,
        /// The lane.
        lane: LaneNumber,
    },
    /// Both parties have their results of the partition.
    Done {
        /// The partition.
        partition: Partition,
    },
    /// The lane is lost, and neither party had taken stock for the partition: it may run again.
    Free {
        /// The partition.
        partition: Partition,
    },
    /// The lane is lost, and stock may have been taken for the partition.
    Doubt {
        /// The partition.
        partition: Partition,
    },
    /// The users of both parties have decided that a partition in doubt runs again.
    Rerun {
        /// The partition.
        partition: Partition,
    },
    /// A check failed: the peer may have learnt something about the secrets of this job's stocks, so no entry
    /// follows.
    Failed,
}

impl JobEntry {
    /// Returns a digest of the whole entry.
    pub fn digest(&self) -> [u8; 32] {
        let mut digest = Digest::of("brickwork 2026-11 job entry");
        match self {
            JobEntry::Fill { lane, attempt, partitions } => {
                digest.number(0u8).number(*lane).number(*attempt).number(*partitions)
            }
            JobEntry::Filled { lane } => digest.number(1u8).number(*lane),
            JobEntry::Lost { lane } => digest.number(2u8).number(*lane),
            JobEntry::Resume { lane, attempt } => digest.number(3u8).number(*lane).number(*attempt),
            JobEntry::Claim { partition, lane } => digest.number(4u8).number(*partition).number(*lane),
            JobEntry::Done { partition } => digest.number(5u8).number(*partition),
            JobEntry::Free { partition } => digest.number(6u8).number(*partition),
            JobEntry::Doubt { partition } => digest.number(7u8).number(*partition),
            JobEntry::Rerun { partition } => digest.number(8u8).number(*partition),
            JobEntry::Failed => digest.number(9u8),
        }
        .done()
    }
}

/// The state of a lane.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum LaneState {
    /// Nothing has begun.
    #[default]
    New,
    /// The stock of the lane is being made.
    Filling,
    /// The lane has stock and waits for a partition.
    Ready,
    /// The lane runs a partition.
    Running(Partition),
    /// The lane is lost, with or without stock.
    Lost {
        /// True if there may be stock with which it can continue.
        filled: bool,
        /// The partition that it ran.
        ran: Option<Partition>,
    },
}

/// A lane.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct LaneBook {
    /// The state of the lane.
    pub state: LaneState,
    /// Attempts that were begun.
    pub attempts: u32,
    /// The number of partitions for which the lane still has stock.
    pub stock: u32,
    /// The number of times that the lane has continued with this stock since its last progress.
    pub resumed: u32,
}

/// The number of times that a lane may continue with its stock without progress. With the delays in between
/// this takes hours; without a limit, a peer could let the ledgers grow forever.
pub const MAX_RESUMED: u32 = 1000;

impl LaneBook {
    /// Returns whether a lost lane may continue with its stock: some is left, and the lane has not tried too
    /// often.
    pub fn may_resume(&self) -> bool {
        self.stock > 0 && self.resumed < MAX_RESUMED
    }
}

/// The state of a partition.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum PartitionState {
    /// The partition may run.
    #[default]
    Open,
    /// A lane runs the partition, or ran it and was lost.
    Claimed(LaneNumber),
    /// The partition's results exist.
    Done,
    /// The partition may have run, and runs again only if both parties' users decide so.
    InDoubt,
}

/// The state of a job, which follows from its entries.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct JobState {
    head: LedgerHead,
    entries: u64,
    lanes: Vec<LaneBook>,
    partitions: Vec<PartitionState>,
    shares: u32,
    spent: u32,
    failed: bool,
}

/// The number of partitions in each state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Partitions that may run.
    pub open: u32,
    /// Claimed partitions.
    pub claimed: u32,
    /// Completed partitions.
    pub done: u32,
    /// Partitions in doubt.
    pub in_doubt: u32,
}

fn out_of_order(what: &str) -> Error {
    Error::Usage(format!("this entry contradicts the ledger of the job: {what}"))
}

impl JobState {
    /// Makes the state of a new job.
    pub fn new(job: &JobId, terms: &JobTerms) -> Self {
        JobState {
            head: Digest::of("brickwork 2026-11 job").digest(job).digest(&terms.digest()).done(),
            entries: 0,
            lanes: vec![LaneBook::default(); terms.lanes as usize],
            partitions: vec![PartitionState::Open; terms.rows.len()],
            shares: terms.shares(),
            spent: 0,
            failed: false,
        }
    }

    /// Applies an entry to the state.
    ///
    /// # Errors
    /// [`Error::Usage`] if the entry cannot follow; then the state is unchanged.
    pub fn apply(&mut self, entry: &JobEntry) -> Result<(), Error> {
        if self.failed {
            return Err(out_of_order("a check failed, so no entry may follow"));
        }
        match *entry {
            JobEntry::Fill { lane, attempt, partitions } => self.fill(lane, attempt, partitions)?,
            JobEntry::Filled { lane } => {
                let lane = self.lane_mut(lane)?;
                match lane.state {
                    LaneState::Filling => lane.state = LaneState::Ready,
                    _ => return Err(out_of_order("the lane is not making stock")),
                }
            }
            JobEntry::Lost { lane } => {
                let lane = self.lane_mut(lane)?;
                lane.state = match lane.state {
                    LaneState::Filling => LaneState::Lost { filled: false, ran: None },
                    LaneState::Ready => LaneState::Lost { filled: true, ran: None },
                    LaneState::Running(partition) => LaneState::Lost { filled: true, ran: Some(partition) },
                    LaneState::New | LaneState::Lost { .. } => {
                        return Err(out_of_order("the lost lane was not at work"));
                    }
                };
            }
            JobEntry::Resume { lane, attempt } => {
                let lane = self.lane_mut(lane)?;
                let may = attempt == lane.attempts && lane.may_resume();
                match lane.state {
                    LaneState::Lost { filled: true, ran: None } if may => {
                        (lane.state, lane.attempts) = (LaneState::Ready, attempt + 1);
                        lane.resumed += 1;
                    }
                    _ => return Err(out_of_order("the lane has no stock that it could continue with")),
                }
            }
            JobEntry::Claim { partition, lane } => self.claim(partition, lane)?,
            JobEntry::Done { partition } => {
                let lane = self.claimed(partition)?;
                let book = self.lane_mut(lane)?;
                match book.state {
                    LaneState::Running(runs) if runs == partition => {
                        (book.state, book.resumed) = (LaneState::Ready, 0);
                    }
                    _ => return Err(out_of_order("the lane does not run the partition")),
                }
                self.partitions[partition as usize] = PartitionState::Done;
            }
            JobEntry::Free { partition } => self.settle(partition, PartitionState::Open)?,
            JobEntry::Doubt { partition } => self.settle(partition, PartitionState::InDoubt)?,
            JobEntry::Rerun { partition } => match self.partition_mut(partition)? {
                state @ PartitionState::InDoubt => *state = PartitionState::Open,
                _ => return Err(out_of_order("the partition is not in doubt")),
            },
            JobEntry::Failed => self.failed = true,
        }
        self.head =
            Digest::of("brickwork 2026-11 job chain").digest(&self.head).digest(&entry.digest()).done();
        self.entries += 1;
        Ok(())
    }

    fn fill(&mut self, lane: LaneNumber, attempt: u32, partitions: u32) -> Result<(), Error> {
        if self.spent == self.shares {
            return Err(Error::Limit(format!(
                "the job has begun all {} stocks that its promise allows; begin another job in a new folder \
                 for the remaining partitions",
                self.shares
            )));
        }
        // The number is at most the lane's part according to the terms: otherwise a peer could make this
        // party make more stock.
        if partitions == 0 || partitions as usize > self.partitions.len().div_ceil(self.lanes.len()) {
            return Err(out_of_order(
                "the stock must be for at least one partition, and for no more than a lane's part of the job",
            ));
        }
        let book = self.lane_mut(lane)?;
        let may = match book.state {
            LaneState::New | LaneState::Lost { ran: None, .. } => true,
            // The stock is used up.
            LaneState::Ready => book.stock == 0,
            _ => false,
        };
        if !may || attempt != book.attempts {
            return Err(out_of_order("the lane has an attempt that has not ended"));
        }
        *book = LaneBook { state: LaneState::Filling, attempts: attempt + 1, stock: partitions, resumed: 0 };
        self.spent += 1;
        Ok(())
    }

    fn claim(&mut self, partition: Partition, lane: LaneNumber) -> Result<(), Error> {
        if *self.partition_mut(partition)? != PartitionState::Open {
            return Err(out_of_order("the partition is not open"));
        }
        let book = self.lane_mut(lane)?;
        if book.state != LaneState::Ready || book.stock == 0 {
            return Err(out_of_order("the lane is not free, or has no stock for the partition"));
        }
        (book.state, book.stock) = (LaneState::Running(partition), book.stock - 1);
        self.partitions[partition as usize] = PartitionState::Claimed(lane);
        Ok(())
    }

    /// Settles the result of a partition whose lane was lost. The stock for the partition is not counted any
    /// more, whether it was taken or not.
    fn settle(&mut self, partition: Partition, to: PartitionState) -> Result<(), Error> {
        let lane = self.claimed(partition)?;
        let book = self.lane_mut(lane)?;
        match &mut book.state {
            LaneState::Lost { ran, .. } if *ran == Some(partition) => *ran = None,
            _ => return Err(out_of_order("the lane that runs the partition is not lost")),
        }
        self.partitions[partition as usize] = to;
        Ok(())
    }

    fn claimed(&self, partition: Partition) -> Result<LaneNumber, Error> {
        match self.partitions.get(partition as usize) {
            Some(PartitionState::Claimed(lane)) => Ok(*lane),
            _ => Err(out_of_order("no lane has claimed the partition")),
        }
    }

    fn lane_mut(&mut self, lane: LaneNumber) -> Result<&mut LaneBook, Error> {
        self.lanes.get_mut(lane as usize).ok_or_else(|| out_of_order("the job does not have this lane"))
    }

    fn partition_mut(&mut self, partition: Partition) -> Result<&mut PartitionState, Error> {
        self.partitions
            .get_mut(partition as usize)
            .ok_or_else(|| out_of_order("the job does not have this partition"))
    }

    /// Returns the hash over all entries.
    pub fn head(&self) -> &LedgerHead {
        &self.head
    }

    /// Returns the number of entries.
    pub fn entries(&self) -> u64 {
        self.entries
    }

    /// Returns the lanes, in order.
    pub fn lanes(&self) -> &[LaneBook] {
        &self.lanes
    }

    /// Returns the state of each partition, in order.
    pub fn partitions(&self) -> &[PartitionState] {
        &self.partitions
    }

    /// Returns the number of partitions for which there is stock.
    pub fn stock(&self) -> u32 {
        let has = |book: &&LaneBook| {
            !matches!(book.state, LaneState::New | LaneState::Filling | LaneState::Lost { filled: false, .. })
        };
        self.lanes.iter().filter(has).map(|book| book.stock).sum()
    }

    /// Returns the number of used parts of the promise.
    pub fn spent(&self) -> u32 {
        self.spent
    }

    /// Returns the number of all parts.
    pub fn shares(&self) -> u32 {
        self.shares
    }

    /// Returns whether a check failed.
    pub fn has_failed(&self) -> bool {
        self.failed
    }

    /// Counts partitions.
    pub fn tally(&self) -> Tally {
        self.partitions.iter().fold(Tally::default(), |mut tally, partition| {
            *match partition {
                PartitionState::Open => &mut tally.open,
                PartitionState::Claimed(_) => &mut tally.claimed,
                PartitionState::Done => &mut tally.done,
                PartitionState::InDoubt => &mut tally.in_doubt,
            } += 1;
            tally
        })
    }

    /// Returns the base-2 logarithm of the bound on a cheater's success in all stocks that were begun, for a
    /// promise of `security` bits. The logarithm is minus infinity if no part was used.
    pub fn bound_log2(&self, security: u32) -> f64 {
        (f64::from(self.spent) / f64::from(self.shares)).log2() - f64::from(security)
    }

    /// Returns the lost lanes whose partition is not settled, with the partition.
    pub fn unsettled(&self) -> BTreeMap<LaneNumber, Partition> {
        let lanes = (0..).zip(&self.lanes);
        lanes
            .filter_map(|(lane, book)| match book.state {
                LaneState::Lost { ran: Some(partition), .. } => Some((lane, partition)),
                _ => None,
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Row 18 of the table of attacks: an entry that cannot follow changes nothing, so a peer cannot propose
    /// it.
    #[test]
    fn row_18_an_entry_that_cannot_follow_is_refused() {
        let (identities, rows) = ([[1; 32], [2; 32]], vec![5, 5, 4]);
        let terms = JobTerms { security: 40, lanes: 2, retries: 1, program: [3; 32], rows, identities };
        let mut state = JobState::new(&[9; 32], &terms);
        let refuses = |state: &JobState, wrong: &[&JobEntry]| {
            for &entry in wrong {
                let mut after = state.clone();
                assert!(after.apply(entry).is_err() && after == *state, "{entry:?}");
            }
        };
        let fill = |lane, attempt, partitions| JobEntry::Fill { lane, attempt, partitions };
        let claim = |partition, lane| JobEntry::Claim { partition, lane };
        let [filled, lost] = [JobEntry::Filled { lane: 0 }, JobEntry::Lost { lane: 0 }];
        let [done, free] = [JobEntry::Done { partition: 0 }, JobEntry::Free { partition: 0 }];
        let [doubt, rerun] = [JobEntry::Doubt { partition: 0 }, JobEntry::Rerun { partition: 0 }];
        // The entries have an unknown lane, another attempt, stock for no partition, and stock for more than
        // half of three partitions.
        refuses(&state, &[&fill(2, 0, 1), &fill(0, 1, 1), &fill(0, 0, 0), &fill(0, 0, 3), &filled, &lost]);
        refuses(
            &state,
            &[&JobEntry::Resume { lane: 0, attempt: 0 }, &claim(0, 0), &done, &free, &doubt, &rerun],
        );
        state.apply(&fill(0, 0, 1)).unwrap();
        refuses(&state, &[&fill(0, 1, 1), &claim(0, 0)]);
        state.apply(&filled).unwrap();
        refuses(&state, &[&fill(0, 1, 1), &filled, &done]);
        state.apply(&claim(0, 0)).unwrap();
        refuses(&state, &[&claim(0, 1), &claim(1, 0), &fill(0, 1, 1), &free, &doubt, &rerun]);
        state.apply(&done).unwrap();
        // The partition is done, and the stock of the lane is used up.
        refuses(&state, &[&claim(0, 0), &claim(1, 0), &done, &fill(0, 0, 1)]);
        let mut failed = state.clone();
        failed.apply(&JobEntry::Failed).unwrap();
        refuses(&failed, &[&fill(0, 1, 1), &JobEntry::Failed]);
        state.apply(&fill(0, 1, 2)).unwrap();
        // A lane with stock claims no partition that is done, or that another lane has claimed.
        state.apply(&filled).unwrap();
        state.apply(&claim(1, 0)).unwrap();
        state.apply(&fill(1, 0, 2)).unwrap();
        state.apply(&JobEntry::Filled { lane: 1 }).unwrap();
        refuses(&state, &[&claim(0, 1), &claim(1, 1)]);
        // After three stocks, one for each lane and one for the retry, no further stock begins.
        state.apply(&JobEntry::Lost { lane: 1 }).unwrap();
        assert_eq!((state.spent(), state.shares()), (3, 3));
        refuses(&state, &[&fill(1, 1, 1)]);
    }
}
