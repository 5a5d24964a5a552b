//! `brickwork bench cluster`: jobs of several lanes, all workers on this machine.

use std::path::Path;
use std::time::Instant;

use brickwork::circuit::{Party, Program};
use brickwork::engine::request::SECURITY;
use brickwork::engine::role;
use brickwork::jobs::control::{JobOutcome, coordinate};
use brickwork::jobs::coordinator::Manner;
use brickwork::jobs::processes::{WorkerLine, WorkerProcesses};
use brickwork::jobs::terms::JobTerms;
use brickwork::jobs::worker::{WorkerEvent, WorkerReport};
use brickwork::jobs::{CoordinatorAddress, JobRequest, WorkerOptions};
use brickwork::keygen;
use brickwork::protocol::PhaseReport;
use brickwork::wire::tls::PublicKey;
use brickwork::wire::{Channel, memory_pair};
use brickwork_cli::parts::{Failure, LinkArguments, ProgramArguments, Report, programs, security};
use brickwork_kernels::Kernel;
use brickwork_report::words::{bytes, plural, thousands};
use clap::Args;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::runs::{OfBoth, PARTIES, SimulatedLine, Trial, folder};
use crate::table::say;

/// Time jobs of many lanes, with workers of both parties on this machine, and check every output
#[derive(Args)]
pub struct BenchClusterFlags {
    #[command(flatten)]
    program: ProgramArguments,
    /// Numbers of lanes of a job; one job runs after another
    #[arg(long, value_name = "N,N", value_delimiter = ',', default_value = "1,2,4",
        value_parser = clap::value_parser!(u32).range(1..=256))]
    lanes: Vec<u32>,
    /// Partitions of each lane
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u32).range(1..))]
    partitions: u32,
    /// Rows of each partition: executions of the program
    #[arg(long, value_name = "N", default_value_t = 16, value_parser = clap::value_parser!(u32).range(1..))]
    rows: u32,
    /// How many lanes have work or stock at the same time; the default is all of them
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    at_once: Option<u32>,
    /// Threads of each worker
    #[arg(long, value_name = "N", default_value_t = 1,
        value_parser = clap::value_parser!(u16).range(1..=1024))]
    threads: u16,
    /// Statistical security of the whole job in bits; the default is 40
    #[arg(long, value_name = "40|64|80", value_parser = security)]
    security: Option<u32>,
    /// The network of each lane.
    #[command(flatten)]
    link: LinkArguments,
}

/// The reports of a party's workers.
struct Reports {
    ended: Vec<WorkerReport>,
    /// The largest size of a lane's store.
    disk_bytes: Option<u64>,
}

pub fn run(arguments: &BenchClusterFlags, quiet: bool) -> Result<Report, Failure> {
    let program = programs::program(&arguments.program)?.given().clone();
    let mut rounds: Vec<Value> = Vec::new();
    for &lanes in &arguments.lanes {
        let round = round(arguments, &program, lanes, rounds.first())?;
        say(quiet, &line(&round));
        rounds.push(round);
    }
    let json = json!({
        "program": program.name(),
        "and_gates": program.and_gates(),
        "rows": arguments.rows,
        "rounds": rounds,
        "link": SimulatedLine::from(arguments.link.line()),
        "kernel": Kernel::best().name(),
        "security": arguments.security.unwrap_or(SECURITY),
    });
    let human = rounds.iter().map(|round| line(round) + "\n").collect();
    Report::new(&json, human)
}

/// Both parties' files of one job.
struct Job {
    folder: TempDir,
    terms: JobTerms,
    trials: Vec<Trial>,
}

/// Runs a job with this number of lanes.
fn round(
    arguments: &BenchClusterFlags,
    program: &Program,
    lanes: u32,
    first: Option<&Value>,
) -> Result<Value, Failure> {
    let folder = folder()?;
    let at = |name: &str| folder.path().join(name);
    keygen::store_key(&at("store.key"))?;
    let [garbler, evaluator] = PARTIES.map(|party| keygen::identity(&at(&format!("{}.key", role(party)))));
    let keys = [garbler?.public_key, evaluator?.public_key];
    let partitions = lanes * arguments.partitions;
    let terms = JobTerms {
        security: arguments.security.unwrap_or(SECURITY),
        lanes,
        retries: lanes.div_ceil(4),
        program: program.digest(),
        rows: vec![arguments.rows; partitions as usize],
        identities: keys.map(PublicKey::to_bytes),
    };
    let trials = (0..partitions).map(|_| Trial::draw(program, Some(arguments.rows)));
    let job = Job { trials: trials.collect::<Result<_, _>>()?, folder, terms };
    let requests = [
        job.request(Party::Garbler, keys[1], arguments)?,
        job.request(Party::Evaluator, keys[0], arguments)?,
    ];
    let begun = Instant::now();
    let (left, right) = memory_pair();
    let link = arguments.link.line();
    let one = |request: &JobRequest, channel: Channel| -> Result<(JobOutcome, Reports), Failure> {
        let mut workers = WorkerProcesses::new(request, program)?.imitate(link);
        let listens = request.role == Party::Garbler;
        let manner = Manner { listens, only_fills: false, at_once: arguments.at_once };
        let ledger = request.folder.join("ledger");
        let outcome = coordinate(channel, request.role, &ledger, &job.terms, (manner, &[]), &mut workers)?;
        let (mut ended, mut disk_bytes) = (Vec::new(), None);
        for line in workers.take_lines() {
            match line {
                WorkerLine::Event(WorkerEvent::Filled { disk_bytes: bytes, .. }) => {
                    disk_bytes = disk_bytes.max(Some(bytes));
                }
                WorkerLine::Ended(report) => ended.push(report),
                WorkerLine::Event(_) | WorkerLine::Failed(_) => {}
            }
        }
        Ok((outcome, Reports { ended, disk_bytes }))
    };
    let (garbler, evaluator) = std::thread::scope(|scope| {
        let garbler = scope.spawn(|| one(&requests[0], left));
        let evaluator = one(&requests[1], right);
        (garbler.join().unwrap_or_else(|_| Err(Failure::fault("a coordinator panicked"))), evaluator)
    });
    let seconds = begun.elapsed().as_secs_f64();
    let ((outcome, of_garbler), (_, of_evaluator)) = (garbler?, evaluator?);
    if outcome.state.tally().done != partitions {
        return Err(Failure::other("not every partition is done", "run it again, alone on the machine"));
    }
    for request in &requests {
        job.check(request, &WorkerProcesses::new(request, program)?)?;
    }
    let and_gates = program.and_gates() * u64::from(arguments.rows) * u64::from(partitions);
    let at_once = arguments.at_once.unwrap_or(lanes).min(lanes);
    let and_per_second = and_gates as f64 / seconds;
    // The speed, divided by that of the same number of lanes if each were as fast as in the first job.
    let linear = first.and_then(|first| {
        Some(first["and_per_second"].as_f64()? / first["at_once"].as_f64()? * f64::from(at_once))
    });
    let of_both = [&of_garbler, &of_evaluator];
    let ended = of_both.map(|reports| &reports.ended);
    let phases = || ended[1].iter().flat_map(|report| report.phases.iter().flatten());
    let sent = |of: fn(&PhaseReport) -> u64| phases().map(of).sum::<u64>();
    let memory = ended.map(|reports| reports.iter().filter_map(|report| report.peak_rss_bytes).max());
    Ok(json!({
        "lanes": lanes,
        "at_once": at_once,
        "partitions": partitions,
        "and_gates": and_gates,
        "seconds": seconds,
        "and_per_second": and_per_second,
        "share_of_linear": linear.map_or(1.0, |linear| and_per_second / linear),
        "bound_log2": outcome.state.bound_log2(job.terms.security),
        "sent_bytes": { "garbler": sent(|phase| phase.garbler_sent_bytes),
            "evaluator": sent(|phase| phase.evaluator_sent_bytes) },
        "cpu_seconds": ended.into_iter().flatten().map(|report| report.cpu_seconds).sum::<f64>(),
        "peak_rss_bytes": OfBoth::from(memory),
        "disk_bytes": OfBoth::from(of_both.map(|reports| reports.disk_bytes)),
    }))
}

/// Writes a file of a job.
fn write(path: &Path, bytes: &[u8]) -> Result<(), Failure> {
    std::fs::write(path, bytes).map_err(|e| Failure::cannot_write(path, &e))
}

impl Job {
    /// Writes a party's inputs, and returns the request of its coordinator.
    fn request(
        &self,
        party: Party,
        peer: PublicKey,
        arguments: &BenchClusterFlags,
    ) -> Result<JobRequest, Failure> {
        let role = role(party);
        let at = |name: &str| self.folder.path().join(name);
        let [parts, sink] = ["parts", "sink"].map(|name| at(&format!("{role}-{name}")));
        let folder = at(role);
        for folder in [&parts, &sink, &folder] {
            std::fs::create_dir(folder).map_err(|e| Failure::cannot_write(folder, &e))?;
        }
        for (k, trial) in self.trials.iter().enumerate() {
            let path = parts.join(format!("{k:06}.json"));
            write(&path, trial.values[party as usize].to_string().as_bytes())?;
        }
        let takes = self.trials.iter().any(|trial| !trial.values[party as usize].is_null());
        Ok(JobRequest {
            role: party,
            identity: at(&format!("{role}.key")),
            peer: peer.to_string(),
            lanes: self.terms.lanes,
            retries: Some(self.terms.retries),
            security: self.terms.security,
            rows: Some(self.terms.rows.clone()),
            at_once: arguments.at_once,
            folder,
            store_key: Some(at("store.key")),
            scale: Default::default(),
            ignore_extra_columns: false,
            rounding: false,
            program: None,
            source: takes.then_some(parts),
            sink: Some(sink),
            control: CoordinatorAddress { listen: None, connect: None, timeout: 30 },
            workers: WorkerOptions {
                threads: Some(arguments.threads),
                peer_hosts: vec!["127.0.0.1".into()],
                timeout: 120,
                ..WorkerOptions::default()
            },
        })
    }

    /// Checks every output of a party against a simulation of the program.
    fn check(&self, request: &JobRequest, workers: &WorkerProcesses) -> Result<(), Failure> {
        for (partition, trial) in (0..).zip(&self.trials) {
            let path = workers.result(partition);
            let name = path.display().to_string();
            let text = std::fs::read(&path).map_err(|e| Failure::cannot_read(&name, &e))?;
            let found: Value =
                serde_json::from_slice(&text).map_err(|e| Failure::fault(format!("{name}: {e}")))?;
            if found != trial.outputs[request.role as usize] {
                return Err(Failure::fault(format!(
                    "the output of the {} in partition {partition} is not that of the simulation",
                    role(request.role)
                )));
            }
        }
        Ok(())
    }
}

/// Formats a job for people.
fn line(round: &Value) -> String {
    let number = |field: &str| round[field].as_f64().unwrap_or_default();
    let both = |field: &str| {
        let of = |party: &str| bytes(round[field][party].as_u64().unwrap_or_default());
        ["garbler", "evaluator"].map(of).join(" / ")
    };
    format!(
        "{}, {} at once: {} AND gates in {:.1} s, {} a second ({:.0} % of linear); sent {}; CPU {:.1} s; \
         memory of a worker {}; stock of a lane {}; a cheater succeeds with at most 2^{:.1}",
        plural(round["lanes"].as_u64().unwrap_or_default(), "lane"),
        round["at_once"],
        thousands(round["and_gates"].as_u64().unwrap_or_default()),
        number("seconds"),
        thousands(number("and_per_second") as u64),
        100.0 * number("share_of_linear"),
        both("sent_bytes"),
        number("cpu_seconds"),
        both("peak_rss_bytes"),
        both("disk_bytes"),
        number("bound_log2"),
    )
}
