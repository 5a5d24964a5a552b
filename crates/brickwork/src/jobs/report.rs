//! The result of a job.

use std::collections::BTreeSet;
use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use brickwork_base::Error as ProtocolError;
use brickwork_circuit::Party;
use brickwork_jobs::control::JobOutcome;
use brickwork_jobs::ledger::PartitionState;
use brickwork_jobs::terms::{JobTerms, Partition};
use brickwork_protocol::Model;
use brickwork_report::words::plural;
use serde::Serialize;

use crate::engine::hex;

/// The result of a job at one party.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct JobReport {
    /// The role of this party.
    pub role: Party,
    /// The identifier of the job in hexadecimal digits, the same at both parties.
    pub job: String,
    /// The partitions by state.
    pub partitions: JobPartitions,
    /// The number of rows of all partitions.
    pub rows: u64,
    /// The number of lanes.
    pub lanes: u32,
    /// The promise of the job, and the part of it that is charged.
    pub security: JobSecurity,
    /// The time since both coordinators met.
    pub seconds: f64,
    /// True if a check failed: then the job is over.
    pub failed: bool,
    /// True if the job only makes stock.
    #[serde(skip)]
    pub(super) only_fill: bool,
    /// The folder of the results, if the coordinator knows it.
    #[serde(skip)]
    pub(super) sink: Option<PathBuf>,
}

/// The partitions of a job by state.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct JobPartitions {
    /// The number of completed partitions.
    pub done: u32,
    /// The number of partitions that did not run.
    pub open: u32,
    /// The partitions whose lanes were lost while they ran.
    pub in_doubt: Vec<Partition>,
    /// The completed partitions whose results do not exist any more.
    pub missing: BTreeSet<Partition>,
    /// The number of partitions for which there is stock.
    pub stocked: u32,
}

/// The promise of a job, and the part of it that is charged to stocks.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct JobSecurity {
    /// The kind of peer against which the job is secure.
    pub model: Model,
    /// Statistical security of the whole job in bits.
    pub statistical_bits: u32,
    /// The base-2 logarithm of the probability with which a cheater succeeds in all stocks so far.
    pub bound_log2: Option<f64>,
    /// The number of parts into which the promise is divided.
    pub shares: u32,
    /// The number of parts that are charged.
    pub spent: u32,
    /// The base-2 logarithm of one part.
    pub share_log2: f64,
}

impl JobReport {
    pub(super) fn new(
        role: Party,
        terms: &JobTerms,
        JobOutcome { job, state, missing }: JobOutcome,
        elapsed: Duration,
    ) -> Result<Self, ProtocolError> {
        let (tally, spent) = (state.tally(), state.spent());
        let in_doubt = (0..).zip(state.partitions()).filter(|(_, is)| **is == PartitionState::InDoubt);
        Ok(JobReport {
            role,
            job: hex(&job),
            partitions: JobPartitions {
                done: tally.done,
                open: tally.open,
                in_doubt: in_doubt.map(|(number, _)| number).collect(),
                missing,
                stocked: state.stock(),
            },
            rows: terms.rows.iter().map(|rows| u64::from(*rows)).sum(),
            lanes: terms.lanes,
            security: JobSecurity {
                model: Model::Malicious,
                statistical_bits: terms.security,
                bound_log2: (spent > 0).then(|| state.bound_log2(terms.security)),
                shares: state.shares(),
                spent,
                share_log2: terms.share()?.log2(),
            },
            seconds: elapsed.as_secs_f64(),
            failed: state.has_failed(),
            only_fill: false,
            sink: None,
        })
    }
}

impl fmt::Display for JobReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let JobReport { partitions, seconds, rows, .. } = self;
        let partitions_of = |count: u32| plural(u64::from(count), "partition");
        match (self.only_fill, &self.sink) {
            (true, _) => writeln!(
                f,
                "stock for {} is there, made in {seconds:.1} s; the same command without --only-fill runs {}",
                partitions_of(partitions.stocked),
                if partitions.open == 1 { "it" } else { "them" },
            )?,
            (false, sink) => {
                write!(f, "{} done, {rows} rows, in {seconds:.1} s", partitions_of(partitions.done))?;
                if let Some(sink) = sink {
                    write!(f, "; results in {}", sink.display())?;
                }
                writeln!(f)?;
            }
        }
        let JobSecurity { spent, shares, bound_log2, .. } = self.security;
        writeln!(
            f,
            "{spent} of {shares} stocks begun: a cheater succeeds with probability at most 2^{:.1}",
            bound_log2.unwrap_or(f64::NEG_INFINITY),
        )
    }
}
