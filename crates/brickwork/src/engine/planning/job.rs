//! The predicted cost of a job of many lanes, which run DUPLO from stock.

use std::fmt;

use brickwork_base::Security;
use brickwork_duplo::cost::{script_from_stock, script_of_filling};
use brickwork_jobs::terms::MAX_PARTITIONS;
use brickwork_report::words::{bytes, plural, thousands};
use serde::Serialize;

use super::super::request::RunRequest;
use super::super::ways::Protocols;
use super::super::work::RunEstimate;
use crate::cut::CutChoice;
use crate::failure::Error;
use crate::plan::{self, Lanes, Link, Machine, Makespan, PartyBytes, Stretch, Surroundings};
use crate::program::{Program, gates_within};

/// A job of many lanes (docs/guides/clusters.md). Each lane is a worker with its own network and cores.
#[derive(Clone, Debug)]
pub struct LanesRequest {
    /// The numbers of workers to compare.
    pub workers: Vec<u32>,
    /// Rows of the whole table, each an execution of the program.
    pub rows: u64,
    /// Rows of a partition.
    pub partition_rows: u32,
    /// The bandwidth of all lanes together, in bits per second.
    pub uplink: Option<u64>,
    /// Cores of all workers of both parties together, if they share them.
    pub cores: Option<u32>,
    /// Failures of a worker per hour, on average.
    pub failures: f64,
    /// The relative variation of workers' times.
    pub spread: f64,
}

impl Default for LanesRequest {
    fn default() -> Self {
        LanesRequest {
            workers: Vec::new(),
            rows: 0,
            partition_rows: 64,
            uplink: None,
            cores: None,
            failures: 0.0,
            spread: 0.1,
        }
    }
}

/// The predicted cost of a job, for each number of workers.
#[derive(Clone, Debug, Serialize)]
pub struct JobPlan {
    program: String,
    and_gates: u64,
    rows: u64,
    partition_rows: u32,
    partitions: u32,
    security: u32,
    surroundings: Surroundings,
    jobs: Vec<LanePlan>,
    link: Link,
    machine: Machine,
}

/// The predicted cost of a job with this number of workers.
#[derive(Clone, Debug, Serialize)]
struct LanePlan {
    workers: u32,
    retries: u32,
    makespan: Makespan,
    fill: Stretch,
    partition: Stretch,
    bytes: u64,
    disk_bytes: PartyBytes,
    memory_bytes: PartyBytes,
    bound_log2: f64,
}

/// Refuses a number that is out of range.
fn within<T: PartialOrd + fmt::Display>(flag: &str, number: T, [least, most]: [T; 2]) -> Result<(), Error> {
    match (&least..=&most).contains(&&number) {
        true => Ok(()),
        false => Err(Error::usage(
            format!("{flag}: {number} is no number from {least} to {most}"),
            "`brickwork plan --help` says what each flag takes",
        )),
    }
}

impl LanesRequest {
    fn check(&self) -> Result<(), Error> {
        self.workers.iter().try_for_each(|&workers| within("--workers", workers, [1, 4096]))?;
        within("--rows", self.rows, [1, 1 << 40])?;
        within("--partition-rows", self.partition_rows, [1, 1 << 20])?;
        within("--cores", self.cores.unwrap_or(1), [1, u32::MAX])?;
        within("--failures", self.failures, [0.0, 1e6])?;
        within("--spread", self.spread, [0.0, 1e6])
    }

    /// Predicts jobs of the program with these numbers of workers.
    ///
    /// # Errors
    /// If the stock of a lane is too large for one step, or there are more partitions than a job may have.
    pub(super) fn plan(
        &self,
        program: &Program,
        run: &RunRequest<Protocols>,
        RunEstimate { machine, link, .. }: &RunEstimate,
    ) -> Result<JobPlan, Error> {
        self.check()?;
        let program = match &run.cut {
            CutChoice::Fixed(cut) => program.cut(cut, gates_within(None))?,
            CutChoice::Fastest => (**program.given()).clone(),
        };
        let (rows, of_partition, security) =
            (self.rows, u64::from(self.partition_rows), run.parameters.security());
        let partitions =
            u32::try_from(rows.div_ceil(of_partition)).ok().filter(|&n| n as usize <= MAX_PARTITIONS);
        let partitions = partitions.ok_or_else(|| {
            Error::usage(
                format!("a job may have at most {MAX_PARTITIONS} partitions"),
                "raise --partition-rows, so that each partition has more rows",
            )
        })?;
        let surroundings = Surroundings {
            uplink: self.uplink.map(|bits| bits as f64),
            cores: self.cores.map(f64::from),
            failures_an_hour: self.failures,
            spread: self.spread,
        };
        let executions =
            program.repeat(self.partition_rows.min(rows.try_into().unwrap_or(u32::MAX)) as usize)?;
        let mut jobs = Vec::new();
        for &workers in &self.workers {
            let retries = workers.div_ceil(4);
            let shares = workers + retries;
            let share = Security::shared(security, shares)
                .ok_or_else(|| Error::fault("the promise is divided into too many shares"))?;
            let part = u64::from(partitions.div_ceil(workers));
            let filling = script_of_filling(&program, part * of_partition, share)?;
            let cost = plan::predict(&filling, machine, link);
            let run = plan::predict(&script_from_stock(&executions, None, share)?, machine, link);
            let (fill, run) = (Stretch::from(&cost), Stretch::from(&run));
            let lanes = Lanes { workers, partitions, fill, run, retries };
            let busy = u64::from(partitions.div_ceil(part as u32));
            jobs.push(LanePlan {
                workers,
                retries,
                makespan: lanes.makespan(&surroundings),
                fill,
                partition: run,
                bytes: busy * fill.bytes + u64::from(partitions) * run.bytes,
                disk_bytes: cost.disk_bytes,
                memory_bytes: cost.memory_bytes,
                bound_log2: (busy as f64 / f64::from(shares)).log2() - f64::from(security),
            });
        }
        Ok(JobPlan {
            program: program.name().to_owned(),
            and_gates: program.and_gates(),
            rows,
            partition_rows: self.partition_rows,
            partitions,
            security,
            surroundings,
            jobs,
            link: *link,
            machine: machine.clone(),
        })
    }
}

impl fmt::Display for JobPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "{}: {} rows of {} AND gates, in {}\n",
            self.program,
            thousands(self.rows),
            thousands(self.and_gates),
            plural(self.partitions.into(), "partition"),
        )?;
        writeln!(f, "  workers   half of all jobs within   95 of 100   on the line   disk a lane   bound")?;
        for job in &self.jobs {
            writeln!(
                f,
                "  {:>7}   {:>21.1} s   {:>7.1} s   {:>11}   {:>11}   2^{:.1}",
                job.workers,
                job.makespan.p50_seconds,
                job.makespan.p95_seconds,
                bytes(job.bytes),
                bytes(job.disk_bytes.evaluator),
                job.bound_log2,
            )?;
            if job.makespan.stopped > 0.0 {
                writeln!(
                    f,
                    "            {:.1} % of these jobs stop, as more stocks are lost than are paid for",
                    100.0 * job.makespan.stopped,
                )?;
            }
        }
        Ok(())
    }
}
