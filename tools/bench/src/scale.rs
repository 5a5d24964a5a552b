//! `brickwork bench scale`: the growth of cost up to 10^12 AND gates, by the model, beside measurements.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use brickwork::circuit::Circuit;
use brickwork::circuit::library::{aes, papers};
use brickwork::duplo;
use brickwork::engine::machine;
use brickwork::plan::{Link, Machine};
use brickwork_cli::parts::{Failure, LinkArguments, Report};
use brickwork_report::chart::{self, Axis, Chart, ChartSeries, CurvePoint};
use clap::Args;
use serde_json::{Value, json};

use crate::table::{Form, TableColumn, table};

/// Predict the growth of cost up to 10^12 AND gates
#[derive(Args)]
pub struct BenchScaleFlags {
    #[command(flatten)]
    link: LinkArguments,
    /// Threads of each party; all cores by default
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    threads: Option<u16>,
    /// Rows that `bench papers` measured, to draw beside the model
    #[arg(long, value_name = "FILE")]
    results: Option<PathBuf>,
    /// Also draw a chart into this file
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
}

/// Numbers of AND gates in a program, as powers of ten.
const GATES: std::ops::RangeInclusive<i32> = 4..=12;

/// Number of AND gates for comparing cores and networks.
const COMPARED: f64 = 1e9;

pub fn run(arguments: &BenchScaleFlags) -> Result<Report, Failure> {
    let machine = machine::measured(false, || {})?.with_threads(arguments.threads);
    let link = arguments.link.line().with_lanes(1);
    let components = components()?;
    let mut rows = Vec::new();
    for (name, circuit) in &components {
        rows.extend(GATES.filter_map(|n| row(name, circuit, 10f64.powi(n), &machine, &link)));
    }
    let compared = compared(&components[0], &machine);
    let measured = measured(arguments)?;
    if let Some(path) = &arguments.svg {
        let charts = charts(&rows, &measured);
        fs::write(path, chart::document(&charts)).map_err(|e| Failure::cannot_write(path, &e))?;
    }
    let human = format!(
        "By the model, without setup and inputs:\n\n{}\n{COMPARED:.0e} AND gates of AES-128, by cores of \
         each party and line:\n\n{}",
        table(&COLUMNS, &rows),
        table(&COLUMNS_OF_CORES, &compared),
    );
    let json = json!({ "rows": rows, "cores_and_links": compared, "measured": measured, "link": link,
        "machine": machine });
    Report::new(&json, human)
}

/// Components of several sizes, all with 256 inputs and 128 outputs.
fn components() -> Result<Vec<(String, Arc<Circuit>)>, brickwork::ProtocolError> {
    let mut all = vec![("AES-128".to_owned(), aes::aes_128_component()?.circuit)];
    for t in [6, 10, 16] {
        all.push((format!("random 2^{t}"), papers::random(t, t)?.components()[0].circuit.clone()));
    }
    Ok(all)
}

/// Returns the cost of this many AND gates in slots of this component. `None` if a single slot has more AND
/// gates.
fn row(name: &str, circuit: &Circuit, gates: f64, machine: &Machine, link: &Link) -> Option<Value> {
    let slots = (gates / circuit.and_gates() as f64).round();
    if slots < 1.0 {
        return None;
    }
    let scale = duplo::cost::scale(circuit, slots, 40, machine, link)?;
    Some(json!({
        "component": name,
        "slots": slots,
        "and_gates": scale.and_gates,
        "bucket_size": scale.copies.bucket,
        "copies_a_slot": scale.copies.made,
        "authenticators_a_wire": scale.authenticators.made,
        "bytes_an_and": scale.bytes_an_and,
        "seconds": scale.seconds,
        "and_per_second": scale.and_gates / scale.seconds,
    }))
}

const COLUMNS: [TableColumn; 8] = [
    ("component", "/component", Form::Word),
    ("AND gates", "/and_gates", Form::Power(0)),
    ("slots", "/slots", Form::Power(2)),
    ("B", "/bucket_size", Form::Count),
    ("copies a slot", "/copies_a_slot", Form::Scaled(1.0, 2)),
    ("bytes an AND", "/bytes_an_and", Form::Scaled(1.0, 1)),
    ("seconds", "/seconds", Form::Scaled(1.0, 3)),
    ("AND a second", "/and_per_second", Form::Power(2)),
];

/// Compares more cores and other networks for the same number of gates.
fn compared((name, circuit): &(String, Arc<Circuit>), machine: &Machine) -> Vec<Value> {
    let mut all = Vec::new();
    for bits_per_second in [None, Some(10e9), Some(1e9), Some(200e6)] {
        for cores in [1, 2, 8, 32, 128] {
            let mut machine = machine.clone();
            machine.threads = cores;
            let link = Link { bits_per_second, ..Link::LOOPBACK };
            let mut row = row(name, circuit, COMPARED, &machine, &link).unwrap_or_default();
            (row["cores"], row["bits_per_second"]) = (cores.into(), bits_per_second.into());
            all.push(row);
        }
    }
    all
}

const COLUMNS_OF_CORES: [TableColumn; 5] = [
    ("cores", "/cores", Form::Count),
    ("Mbit/s", "/bits_per_second", Form::Scaled(1e-6, 0)),
    ("B", "/bucket_size", Form::Count),
    ("copies a slot", "/copies_a_slot", Form::Scaled(1.0, 2)),
    ("seconds", "/seconds", Form::Scaled(1.0, 1)),
];

/// Returns the measured rows: AND gates of all executions, and their seconds.
fn measured(arguments: &BenchScaleFlags) -> Result<Vec<Value>, Failure> {
    let Some(path) = &arguments.results else { return Ok(Vec::new()) };
    let text = fs::read_to_string(path).map_err(|e| Failure::cannot_read(&path.display().to_string(), &e))?;
    let lines = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let row = |row: Value| {
        let of = &row["measured"];
        json!({ "key": row["key"], "and_gates": of["and_gates"], "seconds": of["seconds"] })
    };
    Ok(lines.map(row).collect())
}

fn number(row: &Value, field: &str) -> f64 {
    row[field].as_f64().unwrap_or_default()
}

fn charts(rows: &[Value], measured: &[Value]) -> Vec<Chart> {
    let text = |row: &Value, field: &str| row[field].as_str().unwrap_or_default().to_owned();
    let by_component = |x: &str, y: &dyn Fn(&Value) -> f64| -> Vec<ChartSeries> {
        let point = |row: &Value| CurvePoint {
            x: number(row, x),
            y: y(row),
            title: format!(
                "{}, {:.1e} AND gates: {:.3}",
                text(row, "component"),
                number(row, "and_gates"),
                y(row)
            ),
            label: format!("B = {}", row["bucket_size"]),
            marked: false,
        };
        let components = rows.chunk_by(|a, b| a["component"] == b["component"]);
        components
            .map(|rows| ChartSeries {
                name: text(&rows[0], "component"),
                points: rows.iter().map(point).collect(),
            })
            .collect()
    };
    let per_gate = |row: &Value| 1e9 * number(row, "seconds") / number(row, "and_gates");
    let mut time = by_component("and_gates", &per_gate);
    // Measured points are not connected by a line, so each is a series of its own.
    time.extend(measured.iter().map(|row| ChartSeries {
        name: String::new(),
        points: vec![CurvePoint {
            x: number(row, "and_gates"),
            y: per_gate(row),
            title: format!("measured: {}", text(row, "key")),
            label: "measured".into(),
            marked: true,
        }],
    }));
    let copies = by_component("slots", &|row| number(row, "copies_a_slot"));
    let chart = |title: &str, x: &str, y: &str, series| Chart {
        title: title.into(),
        x: Axis::logarithmic(x),
        y: Axis::logarithmic(y),
        series,
    };
    vec![
        chart("Copies of a slot; 2 are the limit of cut-and-choose", "slots", "copies a slot", copies),
        chart("Time of an AND gate, by the model and measured (red)", "AND gates", "nanoseconds", time),
    ]
}
