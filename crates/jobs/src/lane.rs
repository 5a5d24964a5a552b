//! A lane's worker: a session that makes its own stock once, and runs partitions from it.

use std::sync::Arc;

use brickwork_base::{Error, Party};
use brickwork_circuit::Program;
use brickwork_duplo::{FromStock, Lacking, Step, Stocked};
use brickwork_protocol::{Observer, PhaseReport, TABLE_MEMORY};
use brickwork_wire::Channel;

use crate::entered::EnteredStore;
pub use crate::terms::Attempt;
use crate::terms::{self, JobId, JobTerms, Partition};

/// A worker that is connected to its peer.
pub struct ConnectedLane {
    session: Stocked,
    job: JobId,
}

/// The resources of this machine for a lane's worker.
#[derive(Clone, Copy, Debug)]
pub struct Means {
    /// Threads that compute.
    pub threads: usize,
    /// As [`brickwork_protocol::Terms::table_memory`].
    pub table_memory: u64,
}

impl Default for Means {
    fn default() -> Self {
        Means { threads: 1, table_memory: TABLE_MEMORY }
    }
}

/// Returns the terms of a lane's two workers: the lane's stock gets one part of the job's allowed
/// probability.
///
/// # Errors
/// [`Error::Usage`] if there are too many lanes.
pub fn session_terms(terms: &JobTerms, means: Means) -> Result<brickwork_protocol::Terms, Error> {
    Ok(brickwork_protocol::Terms {
        security: terms.share()?,
        threads: means.threads,
        table_memory: means.table_memory,
        identities: terms.identities,
        post_quantum: false,
    })
}

/// Returns the step that runs a partition, whose rows are parallel executions of this program.
pub fn step(job: &JobId, partition: Partition, rows: &Arc<Program>) -> Step {
    Step::from(rows).for_purpose(terms::partition_name(job, partition))
}

impl ConnectedLane {
    /// Greets the peer's worker, which must belong to the same attempt, and then compares both stores.
    ///
    /// # Errors
    /// As [`Stocked::open_for`].
    pub fn open(
        attempt: &Attempt,
        party: Party,
        channel: Channel,
        place: &EnteredStore,
        terms: &brickwork_protocol::Terms,
        observer: impl Observer + 'static,
    ) -> Result<Self, Error> {
        let purpose = terms::attempt_name(&attempt.job, attempt.lane, attempt.number);
        let session = Stocked::open_for(purpose, party, channel, place.store(), terms, observer)?;
        Ok(ConnectedLane { session, job: attempt.job })
    }

    /// Makes stock for this many executions of a program, in a new epoch.
    ///
    /// # Errors
    /// As [`Stocked::preprocess`]; [`Error::Limit`] if the stock is too large for one lane.
    pub fn fill(self, program: &Program, executions: u64) -> Result<Self, Error> {
        let request = brickwork_duplo::cost::request(program, executions)?;
        let (_, session) = self.session.preprocess(std::slice::from_ref(&request))?;
        Ok(ConnectedLane { session, ..self })
    }

    /// Runs a partition from stock; `program` contains all its rows.
    ///
    /// # Errors
    /// As [`Stocked::run`].
    pub fn run(
        self,
        program: &Arc<Program>,
        partition: Partition,
        input: &[bool],
    ) -> Result<(FromStock, Self), Error> {
        let (done, session) =
            self.session.run(step(&self.job, partition, program), input, Lacking::Refuse)?;
        Ok((done, ConnectedLane { session, ..self }))
    }

    /// Ends the session. Returns the time and the bytes of each phase.
    ///
    /// # Errors
    /// [`Error::Io`] if the peer went away.
    pub fn close(self) -> Result<Vec<PhaseReport>, Error> {
        self.session.close()
    }
}
