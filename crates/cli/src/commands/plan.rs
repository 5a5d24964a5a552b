//! `brickwork plan`: the cost of a run, without running it.

use std::path::PathBuf;

use brickwork::Program;
use brickwork::cut::CutChoice;
use brickwork::engine::link;
use brickwork::engine::planning::{LanesRequest, PlanRequest};
use brickwork::engine::request::{Resources, RunRequest};
use brickwork::protocol::Model;
use clap::Args;

use crate::flags::arguments::{
    CutArguments, LinkArguments, ParameterArguments, ProgramArguments, ProtocolFlags, model,
};
use crate::flags::page::PageArguments;
use crate::flags::source::{self, SourceFlags};
use crate::render::failure::Failure;
use crate::render::report::Report;
use crate::render::terminal::say;

/// Predict bytes, time and memory of a run
#[derive(Args)]
pub struct PlanFlags {
    #[command(flatten)]
    pub program: ProgramArguments,
    #[command(flatten)]
    source: SourceFlags,
    #[command(flatten)]
    parameters: ParameterArguments,
    #[command(flatten)]
    link: LinkArguments,
    /// Connections that carry bulk data in parallel
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u8).range(1..=64))]
    lanes: u8,
    /// Threads of each party; all cores by default
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    threads: Option<u16>,
    #[command(flatten)]
    choice: ProtocolFlags,
    #[command(flatten)]
    cut: CutArguments,
    /// Compare all protocols that are secure against such a peer, and propose one: semi-honest for a peer
    /// that follows the protocol, malicious for one that may cheat
    #[arg(long, value_name = "MODEL", value_parser = model)]
    model: Option<Model>,
    /// Predict a run that takes everything that it can from a store
    #[arg(long)]
    stocked: bool,
    /// Measure this machine again, instead of using earlier measurements
    #[arg(long)]
    calibrate: bool,
    /// Also draw a chart of time by the size of components and of buckets, into this file
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
    #[command(flatten)]
    job: JobArguments,
    #[command(flatten)]
    page: PageArguments,
}

/// The flags for a job of many lanes.
#[derive(Args)]
struct JobArguments {
    /// Predict jobs with this number of lanes (docs/guides/clusters.md), each lane a worker with its own
    /// network and cores
    #[arg(long, value_name = "N,N", value_delimiter = ',', requires = "rows")]
    workers: Vec<u32>,
    /// With --workers: rows of the whole table, each an execution of the program
    #[arg(long, value_name = "N", requires = "workers")]
    rows: Option<u64>,
    /// With --workers: rows of a partition
    #[arg(long, value_name = "N", default_value_t = 64, requires = "workers")]
    partition_rows: u32,
    /// With --workers: the bandwidth of all lanes together, such as 10Gbit
    #[arg(long, value_name = "RATE", requires = "workers", value_parser = link::bits_per_second)]
    uplink: Option<u64>,
    /// With --workers: cores of all workers of both parties together, if they share them
    #[arg(long, value_name = "N", requires = "workers")]
    cores: Option<u32>,
    /// With --workers: failures of a worker per hour, on average
    #[arg(long, value_name = "X", default_value_t = 0.0, requires = "workers")]
    failures: f64,
    /// With --workers: the relative variation of workers' times
    #[arg(long, value_name = "X", default_value_t = 0.1, requires = "workers")]
    spread: f64,
}

impl JobArguments {
    fn request(&self) -> Option<LanesRequest> {
        let Self { rows, partition_rows, uplink, cores, failures, spread, .. } = *self;
        let workers = self.workers.clone();
        rows.map(|rows| LanesRequest { workers, rows, partition_rows, uplink, cores, failures, spread })
    }
}

pub fn run(arguments: &PlanFlags, quiet: bool) -> Result<Report, Failure> {
    let PlanFlags { parameters, link, lanes, threads, choice, cut, stocked, page, svg, .. } = arguments;
    let request = PlanRequest {
        run: RunRequest {
            resources: Resources { lanes: *lanes, threads: *threads, ..Resources::default() },
            buckets: choice.buckets,
            cut: CutChoice::with_flags(&cut.cut, arguments.source.cut())?,
            line: link.line(),
            stored: *stocked,
            ..RunRequest::new(parameters.of_request())
        },
        model: arguments.model,
        job: arguments.job.request(),
        calibrate: arguments.calibrate,
        svg: svg.clone(),
        report: page.report.clone(),
    };
    // Cuts are made from the source without the flags `--inline` and `--component`.
    let program = Program::load_with(
        &arguments.program.file,
        &arguments.program.map.parties(),
        &arguments.source.options_without_cut(),
    )?;
    program.warnings().into_iter().for_each(source::warn);
    Report::of(&request.plan(&program, &mut |text| {
        if !quiet {
            say(&format!("{text}\n"));
        }
    })?)
}
