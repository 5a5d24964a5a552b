//! `brickwork bench compare`: every protocol on the same program and inputs, in turn.

use std::fs;
use std::path::PathBuf;

use brickwork::engine::both::Both;
use brickwork::engine::protocols;
use brickwork::engine::request::{Protocol, RunRequest};
use brickwork::protocol::Model;
use brickwork_cli::parts::{
    ExecutionsFlag, Failure, LinkArguments, PageArguments, ProgramArguments, Report, ResourceFlags, programs,
    security,
};
use brickwork_kernels::Kernel;
use brickwork_report::chart;
use brickwork_report::words::{plural, thousands};
use clap::Args;
use serde_json::{Value, json};

use crate::each::{Probes, stock};
use crate::runs::{OfBoth, Rounds, SimulatedLine, Trial, cpu_seconds};
use crate::table::{Form, MS, TableColumn, say, table};

/// Run every protocol on the same program and inputs, in turn, and compare their costs and promises
#[derive(Args)]
pub struct BenchCompareFlags {
    #[command(flatten)]
    program: ProgramArguments,
    /// The protocols, such as duplo,compgc; the default is all
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    protocols: Vec<Protocol>,
    /// Statistical security in bits, of the protocols that are secure against a cheater
    #[arg(long, value_name = "40|64|80", default_value = "40", value_parser = security)]
    security: u32,
    #[command(flatten)]
    executions: ExecutionsFlag,
    #[command(flatten)]
    resources: ResourceFlags,
    #[command(flatten)]
    link: LinkArguments,
    /// Rounds, in each of which all protocols run on the same random inputs; the table has medians
    #[arg(long, value_name = "N", default_value_t = 3,
        value_parser = clap::value_parser!(u32).range(1..=1000))]
    rounds: u32,
    /// Also measure the bytes of one additional AND gate, input and output, and the disk space of stock
    #[arg(long)]
    each: bool,
    /// Also draw a chart of bytes and time into this file
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
    #[command(flatten)]
    page: PageArguments,
}

pub fn run(arguments: &BenchCompareFlags, quiet: bool) -> Result<Report, Failure> {
    let page = arguments.page.open()?;
    let program = programs::program(&arguments.program)?;
    let executions = arguments.executions.executions;
    let named = match &*arguments.protocols {
        [] => &Protocol::FAMILY,
        named => named,
    };
    let ways = named.iter().flat_map(|&name| protocols::ways(name, Some(arguments.security), executions));
    // Buckets and cuts are not fixed: each protocol uses its fastest.
    let requests: Vec<RunRequest> = ways
        .map(|way| RunRequest {
            resources: arguments.resources.of_request(),
            line: arguments.link.line(),
            ..RunRequest::new(way)
        })
        .collect();
    for request in &requests {
        let allowed = protocols::allows(request);
        allowed.map_err(|failure| failure.advise("leave it out, or name --protocols that take it"))?;
    }
    let mut rounds: Vec<Vec<[brickwork::Report; 2]>> = requests.iter().map(|_| Vec::new()).collect();
    for round in 1..=arguments.rounds {
        let trial = Trial::draw(program.given(), executions)?;
        for (request, rounds) in requests.iter().zip(&mut rounds) {
            // The table says against which adversary each protocol is secure, so the parties need not warn
            // about it.
            let way = request.parameters.way();
            say(quiet, &format!("round {round} of {}: {way}", arguments.rounds));
            let ran = trial.run(&Both::of(&program, request), true);
            rounds.push(ran.map_err(|failure| failure.within(&format!("{way}, round {round}")))?);
        }
    }
    let threads = arguments.resources.threads();
    let probes = arguments.each.then(|| Probes::new(&program)).transpose()?;
    let mut rows = Vec::new();
    for (request, rounds) in requests.iter().zip(rounds) {
        let row = row(&program, request, &Rounds(rounds), probes.as_ref(), threads);
        rows.push(row.map_err(|failure| failure.within(&request.parameters.way()))?);
    }
    let n = executions.unwrap_or(1);
    let (and_gates, kernel) = (program.and_gates() * u64::from(n), Kernel::best().name());
    let json = json!({
        "program": program.name(),
        "and_gates": and_gates,
        "executions": n,
        "rounds": arguments.rounds,
        "rows": rows,
        "kernel": kernel,
        "threads": threads,
        "link": SimulatedLine::from(arguments.link.line()),
    });
    if let Some(path) = &arguments.svg {
        fs::write(path, chart::document(&brickwork_report::charts_of_comparison(&json)))
            .map_err(|e| Failure::cannot_write(path, &e))?;
    }
    if let Some(page) = page {
        page.write(&json, None);
    }
    let head = format!(
        "{}: {} AND gates, {}; in turn on the same inputs, outputs checked against simulation; medians of \
         {}; kernel {kernel}, {}\n\n",
        program.name(),
        thousands(and_gates),
        plural(n.into(), "execution"),
        plural(arguments.rounds.into(), "round"),
        plural(threads as u64, "thread"),
    );
    Report::new(&json, head + &text(&rows))
}

/// Returns the cost of all phases from a given one on.
fn span(rounds: &Rounds, skipped: usize) -> Value {
    let [garbler, evaluator] = &rounds.0[0];
    let phases = &evaluator.phases[skipped..];
    let predicted = garbler.predicted.iter().flat_map(|cost| &cost.phases);
    // The protocol and the program determine the messages, so they must be as predicted.
    let crossings = predicted.filter(|of| phases.iter().any(|phase| phase.name == of.name));
    json!({
        "garbler_sent_bytes": phases.iter().map(|phase| phase.garbler_sent_bytes).sum::<u64>(),
        "evaluator_sent_bytes": phases.iter().map(|phase| phase.evaluator_sent_bytes).sum::<u64>(),
        "round_trips": crossings.map(|phase| phase.crossings).sum::<u64>() as f64 / 2.0,
        "seconds": rounds.seconds(phases),
    })
}

/// Returns the cost of a protocol's rounds, and its promise.
fn row(
    program: &brickwork::Program,
    request: &RunRequest,
    rounds: &Rounds,
    probes: Option<&Probes>,
    threads: usize,
) -> Result<Value, Failure> {
    rounds.check()?;
    let way = &request.parameters;
    let protocol = protocols::played(way.protocol);
    let (said, from) = (&rounds.0[0][1], protocol.online_from());
    let online = said.phases.iter().position(|phase| phase.name == from);
    let online = online.ok_or_else(|| Failure::fault(format!("there was no phase {from}")))?;
    let cpu = OfBoth::from([0, 1].map(|party| rounds.median(|round| cpu_seconds(&round[party]))));
    let bound = said.promise.bound_log2;
    Ok(json!({
        "protocol": way.protocol.name(),
        "way": way.way(),
        "model": protocol.model(),
        "bound_log2": (bound != 0.0).then_some(bound),
        "cut": said.cut.to_string(),
        "all": span(rounds, 0),
        "online": span(rounds, online),
        "cpu_seconds": cpu,
        "peak_rss_bytes": rounds.peak_rss_bytes(),
        "each": probes.map(|probes| probes.run(request, said)).transpose()?,
        "stock": probes.map_or(Ok(None), |_| stock(program, request, said, threads))?,
        "promise": said.promise,
    }))
}

const COLUMNS: [TableColumn; 14] = [
    ("", "", Form::Made(way)),
    ("holds against", "", Form::Made(holds)),
    ("bytes to evaluator", "/all/garbler_sent_bytes", Form::Count),
    ("online", "/online/garbler_sent_bytes", Form::Count),
    ("to garbler", "/all/evaluator_sent_bytes", Form::Count),
    ("online", "/online/evaluator_sent_bytes", Form::Count),
    ("round trips", "/all/round_trips", Form::Scaled(1.0, 1)),
    ("online", "/online/round_trips", Form::Scaled(1.0, 1)),
    ("CPU ms, G", "/cpu_seconds/garbler", MS),
    ("E", "/cpu_seconds/evaluator", MS),
    ("MiB, G", "/peak_rss_bytes/garbler", Form::Scaled(1.0 / 1048576.0, 0)),
    ("E", "/peak_rss_bytes/evaluator", Form::Scaled(1.0 / 1048576.0, 0)),
    ("ms", "/all/seconds", MS),
    ("online", "/online/seconds", MS),
];

const COLUMNS_OF_EACH: [TableColumn; 8] = [
    ("", "", Form::Made(way)),
    ("*", "", Form::Made(others)),
    ("AND gate", "/each/and_gate", Form::Scaled(1.0, 1)),
    ("garbler's input", "/each/garbler_input", Form::Scaled(1.0, 1)),
    ("evaluator's input", "/each/evaluator_input", Form::Scaled(1.0, 1)),
    ("output", "/each/output", Form::Scaled(1.0, 1)),
    ("on disk, garbler", "/stock/garbler", Form::Count),
    ("evaluator", "/stock/evaluator", Form::Count),
];

fn way(row: &Value) -> String {
    format!("`{}`", row["way"].as_str().unwrap_or_default())
}

/// Returns the adversary against which a protocol holds.
fn holds(row: &Value) -> String {
    match row["bound_log2"].as_f64() {
        Some(bound) => format!("a cheater, 2^{bound:.1}"),
        None if row["model"] == Model::Malicious.name() => "a cheater".into(),
        None => "its followers".into(),
    }
}

/// Returns the columns in which the larger run has buckets of other sizes.
fn others(row: &Value) -> String {
    let others = row["each"]["other_buckets"].as_array().into_iter().flatten();
    others.filter_map(Value::as_str).map(|name| name.replace('_', " ")).collect::<Vec<_>>().join(", ")
}

/// Formats the tables.
fn text(rows: &[Value]) -> String {
    let mut text = table(&COLUMNS, rows);
    text += "\nBytes are of the whole run, framing included. \"Online\" begins with the first phase that \
             needs an input. G is the garbler, E the evaluator.\n";
    if rows.iter().any(|row| !row["each"].is_null()) {
        text += "\nThe second table has the bytes that one more gate, input or output takes, both ways \
                 together, whenever they are sent. For a gate, the same program runs twice as often. For an \
                 input or output, it has 1 024 more of them. On disk are the bytes of a new store with stock \
                 for all executions.\n";
        if rows.iter().any(|row| row["way"] == "duplo") {
            text += "duplo measures these with the given cut and standard buckets.\n";
        }
        if rows.iter().any(|row| !others(row).is_empty()) {
            text += "*: the larger run has buckets of other sizes, because more items need fewer copies of \
                     each. The number is the difference between two runs, so it may be negative. One more \
                     item would add more to this run.\n";
        }
        text += &format!("\n{}", table(&COLUMNS_OF_EACH, rows));
    }
    if rows.iter().any(|row| row["model"] == Model::SemiHonest.name()) {
        text += "\"Its followers\": SEMI-HONEST ONLY. Nothing is promised if the peer departs from the \
                 protocol.\n";
    }
    text
}
