//! Coordinates a job to its end.

use std::time::{Duration, Instant};

use brickwork_circuit::Program;
use brickwork_jobs::control::{JobWorkers, coordinate};
use brickwork_jobs::coordinator::Manner;
use brickwork_jobs::terms::{JobTerms, Partition};
use brickwork_report::words::plural;
use brickwork_wire::tls;

use super::processes::WorkerProcesses;
use super::report::{JobPartitions, JobReport};
use super::request::{Agreed, JobRequest, Listens};
use crate::failure::{Error, ErrorKind};

impl JobRequest {
    /// Coordinates the job to its end with these workers. `rerun` are partitions in doubt that the user wants
    /// to run again. `only_fill` makes stock and runs nothing.
    ///
    /// # Errors
    /// Errors of usage and input, and those of the network; an error with a [report](Error::job) if
    /// partitions are not done, results are missing, or the peer cheated.
    pub fn coordinate(
        &self,
        program: &Program,
        (rerun, only_fill): (&[Partition], bool),
        workers: &mut dyn JobWorkers,
        listens: &mut Listens,
    ) -> Result<JobReport, Error> {
        let Agreed { terms, identity, peer } = self.agreed(program)?;
        let timeout = Duration::from_secs(self.control.timeout.into());
        let options = tls::EndpointOptions { party: self.role, lanes: 1, timeout };
        let channel = self.place()?.meet((&identity, peer), &options, listens)?;
        let (begun, listens) = (Instant::now(), self.control.listen.is_some());
        let manner = Manner { listens, only_fills: only_fill, at_once: self.at_once };
        let ledger = self.folder.join("ledger");
        let outcome = coordinate(channel, self.role, &ledger, &terms, (manner, rerun), workers)?;
        let report = JobReport::new(self.role, &terms, outcome, begun.elapsed())?;
        judged(JobReport { only_fill, sink: self.sink.clone(), ..report }, &terms)
    }

    /// Does the same as [`JobRequest::coordinate`] with workers that are processes, which it starts. The
    /// request is [complete](JobRequest::for_processes).
    ///
    /// # Errors
    /// As [`JobRequest::coordinate`]; also if a folder cannot be made.
    pub fn coordinate_processes(
        &self,
        program: &Program,
        choice: (&[Partition], bool),
        listens: &mut Listens,
    ) -> Result<JobReport, Error> {
        for folder in [Some(&self.folder), self.sink.as_ref()].into_iter().flatten() {
            brickwork_base::private::create_folders(folder).map_err(|e| Error::cannot_write(folder, &e))?;
        }
        self.coordinate(program, choice, &mut WorkerProcesses::new(self, program)?, listens)
    }
}

/// Returns the report if the job is complete. Otherwise it is part of the error. A job that only makes
/// stock is complete if there is stock for all partitions that are open.
fn judged(report: JobReport, terms: &JobTerms) -> Result<JobReport, Error> {
    let only_fill = report.only_fill;
    let JobPartitions { done, open, in_doubt, missing, stocked } = &report.partitions;
    let has_stock = stocked >= open;
    let all_done = *done as usize == terms.rows.len();
    let (kind, message, hint) = if report.failed {
        (
            ErrorKind::Peer,
            "a check failed in one of the lanes: the peer cheated, so the job has ended".into(),
            "the stocks of this job are burned, and it must not be repeated. If you begin another job, use \
             a new folder"
                .into(),
        )
    } else if !missing.is_empty() {
        let missing: Vec<Partition> = missing.iter().copied().collect();
        let sink = report.sink.as_ref();
        let place = sink.map_or("the sink".into(), |sink| sink.display().to_string());
        (
            ErrorKind::Machine,
            format!(
                "these partitions are done, but their results are not in {place} any more: {}",
                list(&missing)
            ),
            "a partition that is done does not run again; restore the files from a copy, or run these rows \
             as another job"
                .into(),
        )
    } else if only_fill && has_stock || all_done {
        return Ok(report);
    } else {
        let (message, hint) = incomplete(*open, in_doubt, has_stock && !only_fill);
        (ErrorKind::Machine, message, hint)
    };
    Err(Error::new(kind, message, hint).with_job(report))
}

/// Returns the message that explains why partitions are not done, and the hint.
fn incomplete(open: u32, in_doubt: &[Partition], has_stock: bool) -> (String, String) {
    let open = plural(u64::from(open), "partition");
    match in_doubt.is_empty() {
        true if has_stock => (
            format!("{open} not done: there is stock, and nothing was run"),
            "the garbler's coordinator was started with --only-fill; start both coordinators without this \
             flag"
                .into(),
        ),
        true => (
            format!("{open} not done: the job has used all the stocks that its promise allows"),
            "find out why lanes are lost, and run the remaining rows as another job".into(),
        ),
        false => (
            format!(
                "these partitions are in doubt, because their lanes were lost while they ran: {}",
                list(in_doubt)
            ),
            format!(
                "the peer may already have their results; if both parties agree, `--rerun {}` runs them \
                 again with the same inputs",
                in_doubt.iter().map(u32::to_string).collect::<Vec<_>>().join(",")
            ),
        ),
    }
}

fn list(numbers: &[Partition]) -> String {
    let shown: Vec<String> = numbers.iter().take(20).map(u32::to_string).collect();
    let more = if numbers.len() > shown.len() { ", …" } else { "" };
    format!("{} {}{more}", if numbers.len() == 1 { "partition" } else { "partitions" }, shown.join(", "))
}
