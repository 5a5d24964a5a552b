//! `brickwork bench compare`: every protocol on the same program and inputs, in turn.

use brickwork_cli::parts::{
    Both, Executions, Failure, LinkArguments, PageArguments, ProgramArguments, Report, Resources, programs,
    security,
};
use brickwork_report::words::{plural, thousands};
use std::fs;
use std::io::Write;
use std::path::PathBuf;

use brickwork::circuit::Program;
use brickwork::engine::protocols;
use brickwork::engine::request::{Parameters, Protocol, RunRequest};
use brickwork::session::Model;
use brickwork_kernels::Kernel;
use brickwork_report::chart;
use clap::Args;
use serde_json::{Value, json};

use crate::each::{Probes, stock};
use crate::median::median;
use crate::protocol::Trial;

/// Run every protocol on the same program and inputs, in turn, and compare their costs and promises
#[derive(Args)]
pub struct Arguments {
    #[command(flatten)]
    program: ProgramArguments,
    /// The protocols, such as duplo,compgc; the default is all
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    protocols: Vec<Protocol>,
    /// Statistical security in bits, of the protocols that are secure against a cheater
    #[arg(long, value_name = "40|64|80", default_value = "40", value_parser = security)]
    security: u32,
    #[command(flatten)]
    executions: Executions,
    #[command(flatten)]
    resources: Resources,
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

pub fn run(arguments: &Arguments, quiet: bool) -> Result<Report, Failure> {
    let page = arguments.page.open()?;
    let read = programs::program(&arguments.program)?;
    let program = read.given().clone();
    let executions = arguments.executions.executions;
    let named = match &*arguments.protocols {
        [] => &Protocol::ALL,
        named => named,
    };
    let ways = named.iter().flat_map(|&name| protocols::ways(name, Some(arguments.security), executions));
    let ways: Vec<Parameters> = ways.collect();
    for way in &ways {
        let allowed = protocols::allows(&request(arguments, way));
        allowed.map_err(|failure| failure.advise("leave it out, or name --protocols that take it"))?;
    }
    let mut rounds = vec![Vec::new(); ways.len()];
    for round in 1..=arguments.rounds {
        let trial = Trial::draw(&program, executions)?;
        for (way, rounds) in ways.iter().zip(&mut rounds) {
            // The table says against which adversary each protocol is secure, so the parties need not warn
            // about it.
            if !quiet {
                let _ = writeln!(std::io::stderr(), "round {round} of {}: {}", arguments.rounds, way.way());
            }
            let ran = trial.run(&Both::of(&read, &request(arguments, way)), true);
            rounds.push(ran.map_err(|failure| failure.within(&format!("{}, round {round}", way.way())))?);
        }
    }
    let rows = ways.iter().zip(&rounds).map(|(way, rounds)| row(way, rounds));
    let mut rows = rows.collect::<Result<Vec<Value>, Failure>>()?;
    if arguments.each {
        let probes = Probes::new(&read)?;
        for ((row, way), rounds) in rows.iter_mut().zip(&ways).zip(&rounds) {
            let within = |failure: Failure| failure.within(&way.way());
            row["each"] = probes.run(&request(arguments, way), &rounds[0]).map_err(within)?;
            let threads = arguments.resources.threads();
            row["stock"] = stock(&arguments.program, way, threads).map_err(within)?;
        }
    }
    let link = arguments.link.line();
    let json = json!({
        "program": program.name(),
        "and_gates": program.and_gates() * u64::from(executions.unwrap_or(1)),
        "executions": executions.unwrap_or(1),
        "rounds": arguments.rounds,
        "rows": rows,
        "kernel": Kernel::best().name(),
        "threads": arguments.resources.threads(),
        "link": { "bits_per_second": link.bits_per_second, "rtt_seconds": link.rtt.as_secs_f64() },
    });
    if let Some(path) = &arguments.svg {
        fs::write(path, chart::document(&brickwork_report::charts_of_comparison(&json)))
            .map_err(|e| Failure::cannot_write(path, &e))?;
    }
    if let Some(page) = page {
        page.write(&json, None);
    }
    let human = text(&program, &json);
    Ok(Report::new(json, human))
}

/// Returns the request for a way. Buckets and cuts are left open: each protocol uses its fastest.
fn request(arguments: &Arguments, way: &Parameters) -> RunRequest {
    RunRequest {
        resources: arguments.resources.of_request(),
        line: arguments.link.line(),
        ..RunRequest::new(way.clone())
    }
}

fn array<'a>(of: &'a Value, field: &str) -> &'a [Value] {
    of[field].as_array().map(Vec::as_slice).unwrap_or_default()
}

/// Returns the phases of a report from this one on.
fn from<'a>(report: &'a Value, first: &str) -> impl Iterator<Item = &'a Value> {
    array(report, "phases").iter().skip_while(move |phase| phase["name"] != first)
}

/// Returns the measured time and bytes of the phases from this one on, at the evaluator; seconds are a median
/// over the rounds.
fn measured(way: &Parameters, rounds: &[[Value; 2]], first: &str) -> Result<Value, Failure> {
    let bytes = |field: &str| -> Result<u64, Failure> {
        let of = |[_, evaluator]: &[Value; 2]| -> u64 {
            from(evaluator, first).filter_map(|phase| phase[field].as_u64()).sum()
        };
        let all = of(&rounds[0]);
        match rounds.iter().all(|round| of(round) == all) {
            true => Ok(all),
            false => Err(Failure::fault(format!("the bytes of {} differ from round to round", way.way()))),
        }
    };
    let seconds = |[_, evaluator]: &[Value; 2]| -> f64 {
        from(evaluator, first).filter_map(|phase| phase["seconds"].as_f64()).sum()
    };
    // The bytes follow from the protocol and the program, so they must be as predicted.
    let crossings: u64 =
        from(&rounds[0][0]["predicted"], first).filter_map(|phase| phase["crossings"].as_u64()).sum();
    Ok(json!({
        "garbler_sent_bytes": bytes("garbler_sent_bytes")?,
        "evaluator_sent_bytes": bytes("evaluator_sent_bytes")?,
        "round_trips": crossings as f64 / 2.0,
        "seconds": median(rounds.iter().map(seconds).collect()),
    }))
}

/// Returns the cost of a protocol's rounds, and its promise.
fn row(way: &Parameters, rounds: &[[Value; 2]]) -> Result<Value, Failure> {
    let protocol = protocols::played(way.protocol);
    let reported = array(&rounds[0][1], "phases").iter().any(|phase| phase["name"] == protocol.online_from());
    if !reported {
        return Err(Failure::fault(format!("{} reported no phase {}", way.way(), protocol.online_from())));
    }
    let first = array(&rounds[0][1], "phases")[0]["name"].as_str().unwrap_or_default();
    let cpu = |party: usize| {
        median(rounds.iter().filter_map(|round| round[party]["cpu_seconds"].as_f64()).collect::<Vec<f64>>())
    };
    let peak = |party: usize| rounds.iter().filter_map(|round| round[party]["peak_rss_bytes"].as_u64()).max();
    let promise = &rounds[0][1]["promise"];
    Ok(json!({
        "protocol": way.protocol.name(),
        "way": way.way(),
        "model": protocol.model().name(),
        "bound_log2": promise["bound_log2"],
        "cut": rounds[0][1]["cut"],
        "all": measured(way, rounds, first)?,
        "online": measured(way, rounds, protocol.online_from())?,
        "cpu_seconds": { "garbler": cpu(0), "evaluator": cpu(1) },
        "peak_rss_bytes": { "garbler": peak(0), "evaluator": peak(1) },
        "each": null,
        "stock": null,
        "promise": promise,
    }))
}

const HEAD: [&str; 13] = [
    "",
    "holds against",
    "bytes to evaluator",
    "online",
    "to garbler",
    "online",
    "round trips",
    "online",
    "CPU ms, G",
    "E",
    "MiB, G / E",
    "ms",
    "online",
];

/// Returns the cells of a row under [`HEAD`].
fn cells(row: &Value) -> [String; 13] {
    let count = |of: &str, field: &str| thousands(row[of][field].as_u64().unwrap_or_default());
    let trips = |of: &str| format!("{:.1}", row[of]["round_trips"].as_f64().unwrap_or_default());
    let ms = |of: &str, field: &str| format!("{:.1}", 1e3 * row[of][field].as_f64().unwrap_or_default());
    let mib = |party: &str| {
        row["peak_rss_bytes"][party]
            .as_u64()
            .map_or("?".into(), |bytes| format!("{:.0}", bytes as f64 / 1048576.0))
    };
    let holds = match row["bound_log2"].as_f64() {
        Some(bound) => format!("a cheater, 2^{bound:.1}"),
        None if row["model"] == Model::Malicious.name() => "a cheater".into(),
        None => "its followers".into(),
    };
    [
        format!("`{}`", row["way"].as_str().unwrap_or_default()),
        holds,
        count("all", "garbler_sent_bytes"),
        count("online", "garbler_sent_bytes"),
        count("all", "evaluator_sent_bytes"),
        count("online", "evaluator_sent_bytes"),
        trips("all"),
        trips("online"),
        ms("cpu_seconds", "garbler"),
        ms("cpu_seconds", "evaluator"),
        format!("{} / {}", mib("garbler"), mib("evaluator")),
        ms("all", "seconds"),
        ms("online", "seconds"),
    ]
}

const HEAD_OF_EACH: [&str; 7] =
    ["", "AND gate", "garbler's input", "evaluator's input", "output", "on disk, garbler", "evaluator"];

/// Returns the cells of a row under [`HEAD_OF_EACH`].
fn cells_of_each(row: &Value) -> [String; 7] {
    let others = array(&row["each"], "other_buckets");
    let mark = |field: &str| if others.iter().any(|other| other == field) { "*" } else { "" };
    let each = |field: &str| {
        row["each"][field].as_f64().map_or("".into(), |bytes| format!("{bytes:.1}{}", mark(field)))
    };
    let disk = |party: &str| row["stock"][party].as_u64().map_or("".into(), thousands);
    [
        format!("`{}`", row["way"].as_str().unwrap_or_default()),
        each("and_gate"),
        each("garbler_input"),
        each("evaluator_input"),
        each("output"),
        disk("garbler"),
        disk("evaluator"),
    ]
}

/// Formats a table that is also valid Markdown: the first columns are words, the others numbers.
fn table<const N: usize>(head: [&str; N], rows: &[[String; N]], words: usize) -> String {
    let width = |k: usize| rows.iter().map(|row| row[k].len()).chain([head[k].len(), 4]).max().unwrap_or(4);
    let line = |cells: [&str; N]| -> String {
        let cells = cells.iter().enumerate().map(|(k, cell)| match k < words {
            true => format!(" {cell:0$} |", width(k)),
            false => format!(" {cell:>0$} |", width(k)),
        });
        format!("|{}\n", cells.collect::<String>())
    };
    let rule = |k: usize| if k < words { "-".repeat(width(k)) } else { "-".repeat(width(k) - 1) + ":" };
    let rules: [String; N] = std::array::from_fn(rule);
    let lines = rows.iter().map(|row| line(row.each_ref().map(String::as_str)));
    [line(head), line(rules.each_ref().map(String::as_str))].into_iter().chain(lines).collect()
}

/// Formats the tables, with a title.
fn text(program: &Program, json: &Value) -> String {
    let rows = array(json, "rows");
    let mut text = format!(
        "{}: {} AND gates, {}; in turn on the same inputs, outputs checked against simulation; medians of \
         {}; kernel {}, {}\n\n",
        program.name(),
        thousands(json["and_gates"].as_u64().unwrap_or_default()),
        plural(json["executions"].as_u64().unwrap_or_default(), "execution"),
        plural(json["rounds"].as_u64().unwrap_or_default(), "round"),
        json["kernel"].as_str().unwrap_or_default(),
        plural(json["threads"].as_u64().unwrap_or_default(), "thread"),
    );
    text += &table(HEAD, &rows.iter().map(cells).collect::<Vec<_>>(), 2);
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
        if rows.iter().any(|row| !array(&row["each"], "other_buckets").is_empty()) {
            text += "*: the larger run has buckets of other sizes, because more items need fewer copies of \
                     each. The number is the difference between two runs, so it may be negative. One more \
                     item would add more to this run.\n";
        }
        text += "\n";
        text += &table(HEAD_OF_EACH, &rows.iter().map(cells_of_each).collect::<Vec<_>>(), 1);
    }
    if rows.iter().any(|row| row["model"] == Model::SemiHonest.name()) {
        text += "\"Its followers\": SEMI-HONEST ONLY. Nothing is promised if the peer departs from the \
                 protocol.\n";
    }
    text
}
