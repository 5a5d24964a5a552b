//! The options of a plan by name.

use std::collections::BTreeSet;
use std::path::PathBuf;

use brickwork_protocol::Model;
use serde::Deserialize;

use super::{RunOptions, read};
use crate::cut::Cut;
use crate::engine::link;
use crate::engine::planning::{LanesRequest, PlanRequest};
use crate::failure::Error;

/// The options of a plan. Each that is missing has the default of its flag.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PlanOptions {
    protocol: Option<String>,
    accept: Vec<String>,
    linking: Option<String>,
    cot: Option<String>,
    scheme: Option<String>,
    commitments: Option<String>,
    security: Option<u32>,
    post_quantum: bool,
    executions: Option<u32>,
    threads: Option<u16>,
    lanes: Option<u8>,
    bandwidth: Option<String>,
    rtt: Option<String>,
    buckets: Option<String>,
    cut: Option<String>,
    inline: BTreeSet<String>,
    component: BTreeSet<String>,
    model: Option<Model>,
    stocked: bool,
    calibrate: bool,
    svg: Option<PathBuf>,
    report: Option<PathBuf>,
    workers: Vec<u32>,
    rows: Option<u64>,
    partition_rows: Option<u32>,
    uplink: Option<String>,
    cores: Option<u32>,
    failures: Option<f64>,
    spread: Option<f64>,
}

impl PlanOptions {
    /// Returns the request with these options.
    ///
    /// # Errors
    /// An error of usage that names the wrong option.
    pub fn request(self) -> Result<PlanRequest, Error> {
        let (job, flags) = (self.job()?, Cut::of_flags(self.inline, self.component));
        let PlanOptions { protocol, accept, linking, cot, scheme, commitments, security, .. } = self;
        let PlanOptions { post_quantum, executions, threads, lanes, bandwidth, rtt, buckets, cut, .. } = self;
        let options = RunOptions {
            protocol,
            accept,
            linking,
            cot,
            scheme,
            commitments,
            security,
            post_quantum,
            executions,
            threads,
            lanes,
            bandwidth,
            rtt,
            buckets,
            cut,
            ..RunOptions::default()
        };
        let mut run = options.request()?;
        run.cut = run.cut.with_flags(flags)?;
        run.stored = self.stocked;
        let PlanOptions { model, calibrate, svg, report, .. } = self;
        Ok(PlanRequest { run, model, job, calibrate, svg, report })
    }

    /// Returns the job of many lanes, if its workers are named.
    fn job(&self) -> Result<Option<LanesRequest>, Error> {
        let PlanOptions { rows, partition_rows, cores, failures, spread, .. } = *self;
        let uplink = read("uplink", self.uplink.as_ref(), link::bits_per_second)?;
        let (workers, usual) = (self.workers.clone(), LanesRequest::default());
        let others = partition_rows.is_some() || uplink.is_some() || cores.is_some();
        match (workers.is_empty(), rows) {
            (true, None) if !others && failures.is_none() && spread.is_none() => Ok(None),
            (false, Some(rows)) => Ok(Some(LanesRequest {
                workers,
                rows,
                partition_rows: partition_rows.unwrap_or(usual.partition_rows),
                uplink,
                cores,
                failures: failures.unwrap_or(usual.failures),
                spread: spread.unwrap_or(usual.spread),
            })),
            _ => Err(Error::usage(
                "a job of many lanes needs its workers and its rows",
                "give workers and rows, or leave out all options of a job",
            )),
        }
    }
}
