//! `brickwork cluster`: the coordinator of a job of many lanes. docs/clusters.md says how two organisations set one
//! up.

mod config;
mod crew;

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use brickwork::jobs::control::coordinate;
use brickwork::jobs::ledger::{PartitionState, State};
use brickwork::wire::tls::{self, Listener};
use clap::Args;
use serde_json::json;

use crate::failure::{Failure, code};
use crate::files;
use crate::report::{Report, hex, plural};
use crate::terminal::announce;
use config::Config;
use crew::Processes;

/// Run a program over two parties' tables, partition by partition, in many lanes: this party's coordinator
#[derive(Args)]
pub struct Arguments {
    /// The job, as this party has it: who it is, whom it meets, its partitions and its workers
    #[arg(long, value_name = "FILE")]
    config: PathBuf,
    /// Partitions in doubt that are to run again; the other party must say so, too. What a partition gave may be
    /// with the peer already: with the same input it is the same once more, with another one it tells more
    #[arg(long, value_name = "N,N", value_delimiter = ',')]
    rerun: Vec<u32>,
}

/// Coordinates a job to its end.
pub fn run(arguments: &Arguments, quiet: bool) -> Result<Report, Failure> {
    let config = config::read(&arguments.config)?;
    let unwritable = |path: &Path, e: std::io::Error| Failure::cannot_write(path, &e);
    for folder in [&config.folder, &config.sink] {
        std::fs::create_dir_all(folder).map_err(|e| unwritable(folder, e))?;
    }
    let rows = config.folder.join("rows.json");
    std::fs::write(&rows, json!(config.terms.rows).to_string()).map_err(|e| unwritable(&rows, e))?;
    let ledger = config.folder.join("ledger");
    let channel = {
        let options = tls::Options {
            party: config.party,
            lanes: 1,
            timeout: Duration::from_secs(config.control.timeout.into()),
        };
        match (&config.control.listen, &config.control.connect) {
            (Some(address), _) => {
                let listener = Listener::bind(address, &config.identity.0, config.peer, &options)?;
                announce(&listener, quiet)?;
                listener.accept()?
            }
            (None, Some(address)) => tls::connect(address, &config.identity.0, config.peer, &options)?,
            (None, None) => return Err(Failure::fault("a job without an address")),
        }
    };
    let begun = Instant::now();
    let mut shown = None;
    let mut stands = |state: &State| {
        let tally = state.tally();
        if shown != Some(tally) {
            shown = Some(tally);
            tracing::info!(
                done = tally.done,
                claimed = tally.claimed,
                open = tally.open,
                in_doubt = tally.in_doubt,
                "the job goes on"
            );
        }
    };
    let listens = config.control.listen.is_some();
    let mut crew = Processes::new(&config, &arguments.rerun, &mut stands);
    let outcome = coordinate(channel, config.party, &ledger, &config.terms, listens, &mut crew)?;
    report(&config, &outcome.job, &outcome.state, begun.elapsed())
}

/// Says what a job has come to. One that is not done is an error, with the same fields.
fn report(config: &Config, job: &[u8; 32], state: &State, elapsed: Duration) -> Result<Report, Failure> {
    let tally = state.tally();
    let numbers = |wanted: PartitionState| -> Vec<u32> {
        (0..).zip(state.partitions()).filter(|(_, is)| **is == wanted).map(|(number, _)| number).collect()
    };
    let in_doubt = numbers(PartitionState::InDoubt);
    let rows: u64 = config.terms.rows.iter().map(|rows| u64::from(*rows)).sum();
    let json = json!({
        "role": files::role(config.party),
        "job": hex(job),
        "partitions": {
            "done": tally.done,
            "open": tally.open,
            "in_doubt": in_doubt,
        },
        "rows": rows,
        "lanes": config.terms.lanes,
        "security": crew::security(config, state)?,
        "seconds": elapsed.as_secs_f64(),
        "failed": state.has_failed(),
    });
    let spent = format!(
        "{} of {} stocks begun: a cheater succeeds with probability at most 2^{:.1}\n",
        state.spent(),
        state.shares(),
        state.bound_log2(config.terms.security)
    );
    if state.has_failed() {
        return Err(Failure::new(
            code::PEER,
            "a check failed in one of the lanes: the peer cheated, and the job is over",
            "its stocks are burned; nothing of it may be tried again. Begin another job, if at all, in a new folder",
        )
        .with_fields(json!({ "stands": json })));
    }
    if tally.done as usize == config.terms.rows.len() {
        let human = format!(
            "{} done, {rows} rows, in {:.1} s; results in {}\n{spent}",
            plural(u64::from(tally.done), "partition"),
            elapsed.as_secs_f64(),
            config.sink.display()
        );
        return Ok(Report::new(json, human));
    }
    let (what, hint) = match in_doubt.is_empty() {
        true => (
            format!("{} not done: all stocks that were paid for are used up", plural(u64::from(tally.open), "partition")),
            "more would exceed what the job promises; find out why lanes are lost, and run what is left as another job"
                .to_owned(),
        ),
        false => (
            format!("in doubt, as their lanes were lost while they ran: {}", list(&in_doubt)),
            format!(
                "what they gave may be with the peer; if both parties agree, `--rerun {}` runs them again, with the same inputs",
                in_doubt.iter().map(u32::to_string).collect::<Vec<_>>().join(",")
            ),
        ),
    };
    Err(Failure::new(code::OTHER, what, hint).with_fields(json!({ "stands": json })))
}

fn list(numbers: &[u32]) -> String {
    let shown: Vec<String> = numbers.iter().take(20).map(u32::to_string).collect();
    let more = if numbers.len() > shown.len() { ", …" } else { "" };
    format!("{} {}{more}", if numbers.len() == 1 { "partition" } else { "partitions" }, shown.join(", "))
}
