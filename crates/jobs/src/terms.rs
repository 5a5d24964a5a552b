//! The agreement of two parties before a job begins.

use brickwork_base::digest::Digest;
use brickwork_base::{Error, Security};
use brickwork_protocol::PROTOCOL_VERSION;

/// Identifies a job: a hash over both coordinators' nonces and the [terms](JobTerms).
pub type JobId = [u8; 32];

/// The number of a lane of a job, from 0.
pub type LaneNumber = u32;

/// The number of a part of a job's rows, from 0.
pub type Partition = u32;

/// An attempt of a lane of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Attempt {
    /// The job.
    pub job: JobId,
    /// The lane.
    pub lane: LaneNumber,
    /// The number of the attempt.
    pub number: u32,
}

/// The largest number of lanes of a job.
pub const MAX_LANES: u32 = 1 << 12;

/// The largest number of partitions of a job.
pub const MAX_PARTITIONS: usize = 1 << 20;

/// The terms of a job, which must be the same at both parties.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct JobTerms {
    /// Statistical security s of the whole job, in bits.
    pub security: u32,
    /// Lanes that work side by side.
    pub lanes: u32,
    /// The number of lost stocks that may be replaced; the promise reserves a part for each.
    pub retries: u32,
    /// Digest of the program; each row is an execution of it.
    pub program: [u8; 32],
    /// The number of rows of each partition.
    pub rows: Vec<u32>,
    /// The public keys of the garbler and the evaluator.
    pub identities: [[u8; 32]; 2],
}

impl JobTerms {
    /// Checks that a job with these terms is possible.
    ///
    /// # Errors
    /// [`Error::Usage`] that names the term out of range.
    pub fn check(&self) -> Result<(), Error> {
        let wrong = [
            (self.lanes == 0 || self.lanes > MAX_LANES, format!("a job must have 1 to {MAX_LANES} lanes")),
            (self.retries > MAX_LANES, format!("a job may have at most {MAX_LANES} retries")),
            (
                self.rows.is_empty() || self.rows.len() > MAX_PARTITIONS,
                format!("a job must have 1 to {MAX_PARTITIONS} partitions"),
            ),
            (self.rows.contains(&0), "each partition must have at least one row".into()),
        ];
        match wrong.into_iter().find(|(is_wrong, _)| *is_wrong) {
            Some((_, why)) => Err(Error::Usage(why)),
            None => Ok(()),
        }
    }

    /// Returns the number of stocks among which the promise is divided.
    pub fn shares(&self) -> u32 {
        self.lanes + self.retries
    }

    /// Returns the allowed probability of each lane's stock.
    ///
    /// # Errors
    /// [`Error::Usage`] if there are too many lanes.
    pub fn share(&self) -> Result<Security, Error> {
        Security::shared(self.security, self.shares()).ok_or_else(|| {
            Error::Usage("the job has more lanes and retries than its promise has shares".into())
        })
    }

    /// Returns the number of partitions for which a lane makes stock, if `remaining` are left: lanes take
    /// equal parts.
    pub fn stock(&self, remaining: u32) -> u32 {
        (self.rows.len() as u32).div_ceil(self.lanes).min(remaining)
    }

    /// Returns the largest number of rows of a partition.
    pub fn most_rows(&self) -> u32 {
        self.rows.iter().copied().max().unwrap_or(0)
    }

    /// Returns a digest of the job's terms.
    pub fn digest(&self) -> [u8; 32] {
        let mut digest = Digest::of("brickwork 2026-11 job terms");
        digest.number(PROTOCOL_VERSION).number(self.security).number(self.lanes).number(self.retries);
        digest.digest(&self.program).length(self.rows.len());
        self.rows.iter().for_each(|rows| _ = digest.number(*rows));
        self.identities.iter().for_each(|identity| _ = digest.digest(identity));
        digest.done()
    }
}

/// Returns the name of an attempt of a lane, which the greetings of its two workers compare first.
pub fn attempt_name(job: &JobId, lane: LaneNumber, attempt: u32) -> [u8; 32] {
    Digest::of("brickwork 2026-11 job lane").digest(job).number(lane).number(attempt).done()
}

/// Returns the name of a partition. The log entry that takes stock for the partition has this name as its
/// purpose, in any attempt, so that the log of any stock shows it.
pub fn partition_name(job: &JobId, partition: Partition) -> [u8; 32] {
    Digest::of("brickwork 2026-11 job partition").digest(job).number(partition).done()
}
