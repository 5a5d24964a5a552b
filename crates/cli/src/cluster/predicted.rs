//! `brickwork plan --workers`: the predicted cost of a job of many lanes.

use brickwork::Security;
use brickwork::circuit::Program;
use brickwork::duplo::cost::{script_from_stock, script_of_filling};
use brickwork::engine::work::Estimate;
use brickwork::plan::{self, Lanes, Stretch, Surroundings};
use clap::Args;
use serde_json::{Value, json};

use crate::failure::Failure;
use crate::report::{Report, bytes, plural, thousands};
use brickwork::engine::link;

/// The flags for a job of many lanes.
#[derive(Args)]
pub struct JobArguments {
    /// Predict jobs with this number of lanes (docs/guides/clusters.md), each lane a worker with its own
    /// network and cores
    #[arg(long, value_name = "N,N", value_delimiter = ',', requires = "rows",
        value_parser = clap::value_parser!(u32).range(1..=4096))]
    pub workers: Vec<u32>,
    /// With --workers: rows of the whole table, each an execution of the program
    #[arg(long, value_name = "N", requires = "workers",
        value_parser = clap::value_parser!(u64).range(1..=1 << 40))]
    pub rows: Option<u64>,
    /// With --workers: rows of a partition
    #[arg(long, value_name = "N", default_value_t = 64, requires = "workers",
        value_parser = clap::value_parser!(u32).range(1..=1 << 20))]
    pub partition_rows: u32,
    /// With --workers: the bandwidth of all lanes together, such as 10Gbit
    #[arg(long, value_name = "RATE", requires = "workers", value_parser = link::bits_per_second)]
    pub uplink: Option<u64>,
    /// With --workers: cores of all workers of both parties together, if they share them
    #[arg(long, value_name = "N", requires = "workers", value_parser = clap::value_parser!(u32).range(1..))]
    pub cores: Option<u32>,
    /// With --workers: failures of a worker per hour, on average
    #[arg(long, value_name = "X", default_value_t = 0.0, requires = "workers", value_parser = at_least_0)]
    pub failures: f64,
    /// With --workers: the relative variation of workers' times
    #[arg(long, value_name = "X", default_value_t = 0.1, requires = "workers", value_parser = at_least_0)]
    pub spread: f64,
}

/// Reads a number that is not negative.
fn at_least_0(text: &str) -> Result<f64, String> {
    let number = text.parse::<f64>().map_err(|e| e.to_string())?;
    match (0.0..=1e6).contains(&number) {
        true => Ok(number),
        false => Err("expected a number from 0 to 1000000".into()),
    }
}

/// Predicts jobs of `program` with this number of workers.
///
/// # Errors
/// If the stock of a lane is too large for one step, or there are more partitions than a job may have.
pub fn predicted(
    arguments: &JobArguments,
    program: &Program,
    security: u32,
    Estimate { machine, link, .. }: &Estimate,
) -> Result<Report, Failure> {
    let (rows, of_partition) = (arguments.rows.unwrap_or(1), u64::from(arguments.partition_rows));
    let partitions =
        u32::try_from(rows.div_ceil(of_partition)).ok().filter(|&n| n as usize <= MAX_PARTITIONS);
    let partitions = partitions.ok_or_else(|| {
        Failure::usage(
            format!("a job has at most {MAX_PARTITIONS} partitions"),
            "give more rows to each: --partition-rows",
        )
    })?;
    let surroundings = Surroundings {
        uplink: arguments.uplink.map(|bits| bits as f64),
        cores: arguments.cores.map(f64::from),
        failures_an_hour: arguments.failures,
        spread: arguments.spread,
    };
    let executions =
        program.repeat(arguments.partition_rows.min(rows.try_into().unwrap_or(u32::MAX)) as usize)?;
    let mut jobs = Vec::new();
    for &workers in &arguments.workers {
        let retries = workers.div_ceil(4);
        let shares = workers + retries;
        let share = Security::shared(security, shares).ok_or_else(|| Failure::fault("too many shares"))?;
        let part = u64::from(partitions.div_ceil(workers));
        let filling = script_of_filling(program, part * of_partition, share)?;
        let fill = plan::predict(&filling, machine, link);
        let run = plan::predict(&script_from_stock(&executions, None, share)?, machine, link);
        let (fill_cost, run_cost) = (Stretch::from(&fill), Stretch::from(&run));
        let lanes = Lanes { workers, partitions, fill: fill_cost, run: run_cost, retries };
        let makespan = lanes.makespan(&surroundings);
        let busy = u64::from(partitions.div_ceil(part as u32));
        jobs.push(json!({
            "workers": workers,
            "retries": retries,
            "makespan": makespan,
            "fill": fill_cost,
            "partition": run_cost,
            "bytes": busy * fill_cost.bytes + u64::from(partitions) * run_cost.bytes,
            "disk_bytes": fill.disk_bytes,
            "memory_bytes": { "garbler": fill.garbler_memory_bytes,
                "evaluator": fill.evaluator_memory_bytes },
            "bound_log2": (busy as f64 / f64::from(shares)).log2() - f64::from(security),
        }));
    }
    let human = text(program, rows, partitions, &jobs);
    let json = json!({
        "program": program.name(),
        "and_gates": program.and_gates(),
        "rows": rows,
        "partition_rows": of_partition,
        "partitions": partitions,
        "security": security,
        "surroundings": surroundings,
        "jobs": jobs,
        "link": link,
        "machine": machine,
    });
    Ok(Report::new(json, human))
}

/// The largest number of partitions of a job.
const MAX_PARTITIONS: usize = brickwork::jobs::terms::MAX_PARTITIONS;

fn text(program: &Program, rows: u64, partitions: u32, jobs: &[Value]) -> String {
    let mut text = format!(
        "{}: {} rows of {} AND gates, in {}\n\n",
        program.name(),
        thousands(rows),
        thousands(program.and_gates()),
        plural(partitions.into(), "partition"),
    );
    text += "  workers   half of all jobs within   95 of 100   on the line   disk a lane   bound\n";
    for job in jobs {
        let seconds = |field: &str| job["makespan"][field].as_f64().unwrap_or(0.0);
        text += &format!(
            "  {:>7}   {:>21.1} s   {:>7.1} s   {:>11}   {:>11}   2^{:.1}\n",
            job["workers"].as_u64().unwrap_or(0),
            seconds("p50_seconds"),
            seconds("p95_seconds"),
            bytes(job["bytes"].as_u64().unwrap_or(0)),
            bytes(job["disk_bytes"].as_u64().unwrap_or(0)),
            job["bound_log2"].as_f64().unwrap_or(0.0),
        );
        if seconds("stopped") > 0.0 {
            text += &format!(
                "            {:.1} % of these jobs stop, as more stocks are lost than are paid for\n",
                100.0 * seconds("stopped"),
            );
        }
    }
    text
}
