//! What two parties agree on before a job begins.

use brickwork_base::digest::Digest;
use brickwork_base::{Error, Security};
use brickwork_session::PROTOCOL_VERSION;

/// Names a job: a hash over both coordinators' nonces and the [terms](Terms).
pub type JobId = [u8; 32];

/// Names a lane of a job, from 0.
pub type Lane = u32;

/// Names a part of a job's rows, from 0.
pub type Partition = u32;

/// Which attempt of which lane of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Attempt {
    /// The job.
    pub job: JobId,
    /// The lane.
    pub lane: Lane,
    /// Its number.
    pub number: u32,
}

/// Most lanes of a job.
pub const MAX_LANES: u32 = 1 << 12;

/// Most partitions of a job.
pub const MAX_PARTITIONS: usize = 1 << 20;

/// What a job is: both parties must mean the same.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Terms {
    /// Statistical security s of the whole job, in bits.
    pub security: u32,
    /// Lanes that work side by side.
    pub lanes: u32,
    /// Lanes' stocks that may be made besides, in the place of those that were lost: they are paid for in
    /// advance.
    pub retries: u32,
    /// Digest of the program that each row is an execution of.
    pub program: [u8; 32],
    /// Rows of each partition.
    pub rows: Vec<u32>,
    /// The public keys of the garbler and the evaluator.
    pub identities: [[u8; 32]; 2],
}

impl Terms {
    /// Checks that there can be such a job.
    ///
    /// # Errors
    /// [`Error::Usage`] with what is too few or too much.
    pub fn check(&self) -> Result<(), Error> {
        let wrong = [
            (self.lanes == 0 || self.lanes > MAX_LANES, format!("a job has 1 to {MAX_LANES} lanes")),
            (self.retries > MAX_LANES, format!("a job has at most {MAX_LANES} retries")),
            (
                self.rows.is_empty() || self.rows.len() > MAX_PARTITIONS,
                format!("a job has 1 to {MAX_PARTITIONS} partitions"),
            ),
            (self.rows.contains(&0), "a partition without rows".into()),
        ];
        match wrong.into_iter().find(|(is_wrong, _)| *is_wrong) {
            Some((_, why)) => Err(Error::Usage(why)),
            None => Ok(()),
        }
    }

    /// Returns how many stocks of lanes the promise is divided among.
    pub fn shares(&self) -> u32 {
        self.lanes + self.retries
    }

    /// Returns what each lane's stock may leave to chance.
    ///
    /// # Errors
    /// [`Error::Usage`] if there are too many lanes.
    pub fn share(&self) -> Result<Security, Error> {
        Security::shared(self.security, self.shares())
            .ok_or_else(|| Error::Usage("a job has more lanes and retries than shares".into()))
    }

    /// Returns how many partitions a lane's stock is made for, if so many are to be done still: lanes share
    /// them equally.
    pub fn stock(&self, remaining: u32) -> u32 {
        (self.rows.len() as u32).div_ceil(self.lanes).min(remaining)
    }

    /// Returns the most rows that a partition has.
    pub fn most_rows(&self) -> u32 {
        self.rows.iter().copied().max().unwrap_or(0)
    }

    /// Names the job's terms.
    pub fn digest(&self) -> [u8; 32] {
        let mut digest = Digest::of("brickwork 2026-11 job terms");
        digest.number(PROTOCOL_VERSION).number(self.security).number(self.lanes).number(self.retries);
        digest.digest(&self.program).length(self.rows.len());
        self.rows.iter().for_each(|rows| _ = digest.number(*rows));
        self.identities.iter().for_each(|identity| _ = digest.digest(identity));
        digest.done()
    }
}

/// Names an attempt of a lane: what the greetings of its two workers compare before anything else.
pub fn attempt_name(job: &JobId, lane: Lane, attempt: u32) -> [u8; 32] {
    Digest::of("brickwork 2026-11 job lane").digest(job).number(lane).number(attempt).done()
}

/// Names a partition: the entry of a lane's log that takes stock for it has this purpose, whichever attempt
/// it is, so that a partition is found in the log of any stock.
pub fn partition_name(job: &JobId, partition: Partition) -> [u8; 32] {
    Digest::of("brickwork 2026-11 job partition").digest(job).number(partition).done()
}
