//! `brickwork bench cluster`: jobs of several lanes, all workers on this machine.

use brickwork::engine::request::SECURITY;
use brickwork_cli::parts::{
    Config, Control, Failure, LinkArguments, Processes, ProgramArguments, Report, Workers, keygen, programs,
    security,
};
use brickwork_report::words::{bytes, plural, thousands};
use std::io::Write;
use std::path::PathBuf;
use std::time::Instant;

use brickwork::circuit::{Party, Program};
use brickwork::engine::role;
use brickwork::jobs::control::{Outcome, coordinate};
use brickwork::jobs::coordinator::Manner;
use brickwork::jobs::terms::Terms;
use brickwork::wire::{Channel, memory_pair};
use brickwork_kernels::Kernel;
use clap::Args;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::protocol::{PARTIES, Trial};
use crate::stock::folder;

/// Time jobs of many lanes, with workers of both parties on this machine, and check every output
#[derive(Args)]
pub struct Arguments {
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

pub fn run(arguments: &Arguments, quiet: bool) -> Result<Report, Failure> {
    let program = programs::program(&arguments.program)?.given().clone();
    let mut rounds: Vec<Value> = Vec::new();
    for &lanes in &arguments.lanes {
        let round = round(arguments, &program, lanes, rounds.first())?;
        if !quiet {
            let _ = write!(std::io::stderr(), "{}", line(&round));
        }
        rounds.push(round);
    }
    let link = arguments.link.line();
    let json = json!({
        "program": program.name(),
        "and_gates": program.and_gates(),
        "rows": arguments.rows,
        "rounds": rounds,
        "link": { "bits_per_second": link.bits_per_second, "rtt_seconds": link.rtt.as_secs_f64() },
        "kernel": Kernel::best().name(),
        "security": arguments.security.unwrap_or(SECURITY),
    });
    let human = rounds.iter().map(line).collect();
    Ok(Report::new(json, human))
}

/// Both parties' files of one job.
struct Job {
    folder: TempDir,
    terms: Terms,
    program: PathBuf,
    trials: Vec<Trial>,
}

/// Runs a job with this number of lanes.
fn round(
    arguments: &Arguments,
    program: &Program,
    lanes: u32,
    first: Option<&Value>,
) -> Result<Value, Failure> {
    let folder = folder()?;
    let store_key = brickwork::stock::StoreKey::generate()?;
    keygen::write(&folder.path().join("store.key"), &format!("{}\n", *store_key))?;
    let identities = ["garbler.key", "evaluator.key"].map(|name| keygen::make(&folder.path().join(name)));
    let [garbler, evaluator] = identities;
    let identities = [garbler?, evaluator?];
    let partitions = lanes * arguments.partitions;
    let terms = Terms {
        security: arguments.security.unwrap_or(SECURITY),
        lanes,
        retries: lanes.div_ceil(4),
        program: program.digest(),
        rows: vec![arguments.rows; partitions as usize],
        identities: identities.each_ref().map(|identity| identity.public_key().to_bytes()),
    };
    let path = folder.path().join("program.bwp");
    std::fs::write(&path, program.to_bytes()).map_err(|e| Failure::cannot_write(&path, &e))?;
    let trials = (0..partitions).map(|_| Trial::draw(program, Some(arguments.rows)));
    let job = Job { program: path, trials: trials.collect::<Result<_, _>>()?, folder, terms };
    let configs = {
        let [garbler, evaluator] = identities;
        let keys = [garbler.public_key(), evaluator.public_key()];
        [
            job.config(Party::Garbler, garbler, keys[1], arguments)?,
            job.config(Party::Evaluator, evaluator, keys[0], arguments)?,
        ]
    };
    let begun = Instant::now();
    let (left, right) = memory_pair();
    let link = arguments.link.line();
    let one = |config: &Config, channel: Channel| -> Result<(Outcome, Vec<Value>), Failure> {
        let mut stands = |_: &_| {};
        let mut crew = Processes::new(config, &[], &mut stands).imitate(link);
        let reports = crew.reports();
        let listens = config.party == Party::Garbler;
        let manner = Manner { listens, only_fills: false, at_once: arguments.at_once };
        let ledger = config.folder.join("ledger");
        let outcome = coordinate(channel, config.party, &ledger, &config.terms, manner, &mut crew)?;
        let reports = std::mem::take(&mut *reports.lock().unwrap_or_else(std::sync::PoisonError::into_inner));
        Ok((outcome, reports))
    };
    let results = std::thread::scope(|scope| {
        let garbler = scope.spawn(|| one(&configs[0], left));
        let evaluator = one(&configs[1], right);
        [garbler.join().unwrap_or_else(|_| Err(Failure::fault("a coordinator panicked"))), evaluator]
    });
    let seconds = begun.elapsed().as_secs_f64();
    let [garbler, evaluator] = results;
    let (outcome, of_garbler) = garbler?;
    let (_, of_evaluator) = evaluator?;
    if outcome.state.tally().done != partitions {
        return Err(Failure::other("not every partition is done", "run it again, alone on the machine"));
    }
    job.check(&configs)?;
    let and_gates = program.and_gates() * u64::from(arguments.rows) * u64::from(partitions);
    let at_once = arguments.at_once.unwrap_or(lanes).min(lanes);
    let rate = and_gates as f64 / seconds;
    let linear = first.and_then(|first| {
        let rate = first["and_per_second"].as_f64()? / first["at_once"].as_f64()?;
        Some(rate * f64::from(at_once))
    });
    let sum = |reports: &[Value], field: &str| -> f64 {
        reports.iter().filter_map(|report| report[field].as_f64()).sum()
    };
    let most =
        |reports: &[Value]| reports.iter().filter_map(|report| report["peak_rss_bytes"].as_u64()).max();
    let disk =
        |reports: &[Value]| reports.iter().filter_map(|report| report["filled"]["disk_bytes"].as_u64()).max();
    let sent = |field: &str| -> u64 {
        let phases = of_evaluator.iter().filter_map(|report| report["phases"].as_array()).flatten();
        phases.filter_map(|phase| phase[field].as_u64()).sum()
    };
    Ok(json!({
        "lanes": lanes,
        "at_once": at_once,
        "partitions": partitions,
        "and_gates": and_gates,
        "seconds": seconds,
        "and_per_second": rate,
        "share_of_linear": linear.map_or(1.0, |linear| rate / linear),
        "bound_log2": outcome.state.bound_log2(job.terms.security),
        "sent_bytes": { "garbler": sent("garbler_sent_bytes"), "evaluator": sent("evaluator_sent_bytes") },
        "cpu_seconds": sum(&of_garbler, "cpu_seconds") + sum(&of_evaluator, "cpu_seconds"),
        "peak_rss_bytes": { "garbler": most(&of_garbler), "evaluator": most(&of_evaluator) },
        "disk_bytes": { "garbler": disk(&of_garbler), "evaluator": disk(&of_evaluator) },
    }))
}

impl Job {
    /// Writes a party's inputs, and returns its coordinator's configuration.
    fn config(
        &self,
        party: Party,
        identity: brickwork::wire::tls::Identity,
        peer: brickwork::wire::tls::PublicKey,
        arguments: &Arguments,
    ) -> Result<Config, Failure> {
        let role = role(party);
        let (parts, sink) = (
            self.folder.path().join(format!("{role}-parts")),
            self.folder.path().join(format!("{role}-sink")),
        );
        let job_folder = self.folder.path().join(role);
        for folder in [&parts, &sink, &job_folder] {
            std::fs::create_dir(folder).map_err(|e| Failure::cannot_write(folder, &e))?;
        }
        let rows = job_folder.join("rows.json");
        std::fs::write(&rows, json!(self.terms.rows).to_string())
            .map_err(|e| Failure::cannot_write(&rows, &e))?;
        let mut inputs = Vec::new();
        for (k, trial) in self.trials.iter().enumerate() {
            let path = parts.join(format!("{k:06}.json"));
            std::fs::write(&path, trial.value(party).to_string())
                .map_err(|e| Failure::cannot_write(&path, &e))?;
            inputs.push(path);
        }
        let takes = !trial_is_empty(&self.trials, party);
        Ok(Config {
            party,
            terms: self.terms.clone(),
            identity: (identity, self.folder.path().join(format!("{role}.key"))),
            peer,
            program: self.program.clone(),
            folder: job_folder,
            store_key: self.folder.path().join("store.key"),
            inputs: takes.then_some(inputs),
            sink,
            at_once: arguments.at_once,
            control: Control { listen: None, connect: None, timeout: 30 },
            workers: Workers {
                threads: Some(arguments.threads),
                peer_hosts: vec!["127.0.0.1".into()],
                timeout: 120,
                ..Workers::default()
            },
        })
    }

    /// Checks every output against the simulation.
    fn check(&self, configs: &[Config; 2]) -> Result<(), Failure> {
        for (config, party) in configs.iter().zip(PARTIES) {
            for (partition, trial) in (0..).zip(&self.trials) {
                let path = Processes::result(config, partition);
                let found: Value = std::fs::read(&path)
                    .map_err(|e| Failure::cannot_read(&path.display().to_string(), &e))
                    .and_then(|text| {
                        serde_json::from_slice(&text)
                            .map_err(|e| Failure::fault(format!("{}: {e}", path.display())))
                    })?;
                if found != trial.expected_value(party) {
                    return Err(Failure::fault(format!(
                        "the output of the {} in partition {partition} is not that of the simulation",
                        role(party)
                    )));
                }
            }
        }
        Ok(())
    }
}

fn trial_is_empty(trials: &[Trial], party: Party) -> bool {
    trials.iter().all(|trial| trial.value(party).is_null())
}

fn line(round: &Value) -> String {
    let number = |field: &str| round[field].as_f64().unwrap_or_default();
    let amount = |field: &str| {
        ["garbler", "evaluator"]
            .map(|role| bytes(round[field][role].as_u64().unwrap_or_default()))
            .join(" / ")
    };
    format!(
        "{}, {} at once: {} AND gates in {:.1} s, {} a second ({:.0} % of linear); sent {}; CPU {:.1} s; \
         memory of a worker {}; stock of a lane {}; a cheater succeeds with at most 2^{:.1}\n",
        plural(round["lanes"].as_u64().unwrap_or_default(), "lane"),
        round["at_once"],
        thousands(round["and_gates"].as_u64().unwrap_or_default()),
        number("seconds"),
        thousands(number("and_per_second") as u64),
        100.0 * number("share_of_linear"),
        amount("sent_bytes"),
        number("cpu_seconds"),
        amount("peak_rss_bytes"),
        amount("disk_bytes"),
        number("bound_log2"),
    )
}
