//! Jobs of many lanes, from one party's view. A job runs a program over the tables of two parties, partition
//! by partition.
//!
//! A [`JobRequest`] describes the job to this party's *coordinator* and to each of its *workers*. The workers
//! are [processes](processes::WorkerProcesses), which the coordinator starts here or on other machines, or
//! anything else that implements [`control::JobWorkers`]. Each worker is a [`LaneWorker`]. The rules of the
//! coordinators and their ledgers are in the crate `brickwork-jobs`.

mod coordinate;
pub mod processes;
mod report;
mod request;
pub mod worker;

#[doc(hidden)]
pub use brickwork_jobs::{control, coordinator, entered, lane, ledger, ledger_file, reports, terms};
pub use report::{JobPartitions, JobReport, JobSecurity};
pub use request::{CoordinatorAddress, JobRequest, Listens, WorkerOptions};
pub use worker::{LaneWorker, WorkerRequest};
