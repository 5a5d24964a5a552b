//! `brickwork cluster`: the coordinator of a job of many lanes. docs/guides/clusters.md explains how two
//! organisations set one up.

pub mod config;
pub mod crew;
pub mod foreign;

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use brickwork::circuit::Party;
use brickwork::jobs::control::{Outcome, coordinate};
use brickwork::jobs::coordinator::Manner;
use brickwork::jobs::ledger::{PartitionState, State, Tally};
use brickwork::jobs::terms::Terms;
use brickwork::wire::tls::{self, Listener};
use clap::Args;
use serde_json::{Value, json};

use crate::failure::{Failure, code};
use crate::files;
use crate::report::{Report, hex, plural};
use crate::terminal::announce;
use crew::Processes;

/// Run a program over the tables of two parties, partition by partition, in many lanes; this is one party's
/// coordinator
#[derive(Args)]
pub struct Arguments {
    /// The job from this party's view: the party, its peer, its partitions and its workers
    #[arg(long, value_name = "FILE")]
    config: PathBuf,
    /// Partitions in doubt that are to run again; the other party must name the same. The peer may already
    /// have the result of such a partition: running it again with the same input tells it nothing new, and
    /// with another input it does
    #[arg(long, value_name = "N,N", value_delimiter = ',')]
    rerun: Vec<u32>,
    /// Make the stocks of the lanes and run nothing; a later start continues with them. The garbler's choice
    /// decides
    #[arg(long)]
    only_fill: bool,
}

/// Coordinates a job to its end.
pub fn run(arguments: &Arguments, quiet: bool) -> Result<Report, Failure> {
    let config = config::read(&arguments.config)?;
    for folder in [&config.folder, &config.sink] {
        brickwork::private::create_folders(folder).map_err(|e| Failure::cannot_write(folder, &e))?;
    }
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
                announce(listener.local_addr()?, quiet);
                listener.accept()?
            }
            (None, Some(address)) => tls::connect(address, &config.identity.0, config.peer, &options)?,
            (None, None) => return Err(Failure::fault("the job has no address")),
        }
    };
    let begun = Instant::now();
    let mut progress = Progress::default();
    let mut stands = |state: &State| {
        if let Some(stands) = progress.changed(state) {
            tracing::info!("the job goes on: {stands}");
        }
    };
    let manner = Manner {
        listens: config.control.listen.is_some(),
        only_fills: arguments.only_fill,
        at_once: config.at_once,
    };
    let mut crew = Processes::new(&config, &arguments.rerun, &mut stands);
    let outcome = coordinate(channel, config.party, &ledger, &config.terms, manner, &mut crew)?;
    summary(config.party, &config.terms, &outcome, arguments.only_fill, begun.elapsed(), Some(&config.sink))
}

/// The progress of a job, for people.
#[derive(Default)]
struct Progress(Option<Tally>);

impl Progress {
    /// Returns the number of partitions in each state, if it has changed.
    fn changed(&mut self, state: &State) -> Option<Value> {
        let tally = state.tally();
        let changed = self.0 != Some(tally);
        self.0 = Some(tally);
        changed.then(|| {
            json!({
                "done": tally.done,
                "claimed": tally.claimed,
                "open": tally.open,
                "in_doubt": tally.in_doubt,
                "spent": state.spent(),
            })
        })
    }
}

/// Returns the result of a job. If partitions are not done or results are missing, it is an error with the
/// same fields. With `--only-fill` it is an error if stock is missing for some partitions.
fn summary(
    party: Party,
    terms: &Terms,
    outcome: &Outcome,
    only_fill: bool,
    elapsed: Duration,
    sink: Option<&Path>,
) -> Result<Report, Failure> {
    let Outcome { job, state, missing } = outcome;
    let (tally, stock) = (state.tally(), state.stock());
    let numbers = |wanted: PartitionState| -> Vec<u32> {
        (0..).zip(state.partitions()).filter(|(_, is)| **is == wanted).map(|(number, _)| number).collect()
    };
    let in_doubt = numbers(PartitionState::InDoubt);
    let rows: u64 = terms.rows.iter().map(|rows| u64::from(*rows)).sum();
    let json = json!({
        "role": files::role(party),
        "job": hex(job),
        "partitions": {
            "done": tally.done,
            "open": tally.open,
            "in_doubt": in_doubt,
            "missing": missing,
            "stocked": stock,
        },
        "rows": rows,
        "lanes": terms.lanes,
        "security": security(terms, state)?,
        "seconds": elapsed.as_secs_f64(),
        "failed": state.has_failed(),
    });
    let spent = format!(
        "{} of {} stocks begun: a cheater succeeds with probability at most 2^{:.1}\n",
        state.spent(),
        state.shares(),
        state.bound_log2(terms.security)
    );
    if state.has_failed() {
        return Err(Failure::new(
            code::PEER,
            "a check failed in one of the lanes: the peer cheated, so the job has ended",
            "the stocks of this job are burned, and it must not be repeated. If you begin another job, use \
             a new folder",
        )
        .with_fields(json!({ "stands": json })));
    }
    if !missing.is_empty() {
        let missing: Vec<u32> = missing.iter().copied().collect();
        let place = sink.map_or("the sink".into(), |sink| sink.display().to_string());
        return Err(Failure::other(
            format!(
                "these partitions are done, but their results are not in {place} any more: {}",
                list(&missing)
            ),
            "a partition that is done does not run again; restore the files from a copy, or run these rows \
             as another job",
        )
        .with_fields(json!({ "stands": json })));
    }
    if only_fill && stock >= tally.open {
        let human = format!(
            "the stock for {} was made in {:.1} s; the same command without --only-fill runs {}\n{spent}",
            plural(u64::from(stock), "partition"),
            elapsed.as_secs_f64(),
            if tally.open == 1 { "it" } else { "them" },
        );
        return Ok(Report::new(json, human));
    }
    if tally.done as usize == terms.rows.len() {
        let place = sink.map_or(String::new(), |sink| format!("; results in {}", sink.display()));
        let human = format!(
            "{} done, {rows} rows, in {:.1} s{place}\n{spent}",
            plural(u64::from(tally.done), "partition"),
            elapsed.as_secs_f64(),
        );
        return Ok(Report::new(json, human));
    }
    let (what, hint) = match in_doubt.is_empty() {
        true if !only_fill && stock >= tally.open => (
            format!(
                "{} not done: the stock was made, but nothing was run",
                plural(u64::from(tally.open), "partition")
            ),
            "the garbler's coordinator was started with --only-fill; start both coordinators without this \
             flag"
                .to_owned(),
        ),
        true => (
            format!(
                "{} not done: the job has used all the stocks that its promise allows",
                plural(u64::from(tally.open), "partition")
            ),
            "find out why lanes are lost, and run the remaining rows as another job".to_owned(),
        ),
        false => (
            format!(
                "these partitions are in doubt, because their lanes were lost while they ran: {}",
                list(&in_doubt)
            ),
            format!(
                "the peer may already have their results; if both parties agree, `--rerun {}` runs them \
                 again with the same inputs",
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

/// Returns, in JSON, the risk that the job may take and the risk of all stocks so far.
fn security(terms: &Terms, state: &State) -> Result<Value, Failure> {
    let spent = state.spent();
    Ok(json!({
        "model": "malicious",
        "statistical_bits": terms.security,
        "bound_log2": (spent > 0).then(|| state.bound_log2(terms.security)),
        "shares": state.shares(),
        "spent": spent,
        "share_log2": terms.share()?.log2(),
    }))
}
