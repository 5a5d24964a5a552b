//! `brickwork bench scale`: the growth of cost up to 10^12 AND gates, by the model, beside measurements.

use brickwork_cli::parts::{Failure, LinkArguments, Report};
use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use brickwork::circuit::Circuit;
use brickwork::circuit::library::{aes, papers};
use brickwork::duplo;
use brickwork::engine::machine;
use brickwork::plan::{Link, Machine};
use brickwork_report::chart::{self, Axis, Chart, Point, Series};
use clap::Args;
use serde_json::{Value, json};

/// Predict the growth of cost up to 10^12 AND gates
#[derive(Args)]
pub struct Arguments {
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

pub fn run(arguments: &Arguments) -> Result<Report, Failure> {
    let machine = machine::measured(false, || {})?.with_threads(arguments.threads);
    let link = arguments.link.line().with_lanes(1);
    let components = components()?;
    let mut rows = Vec::new();
    for (name, circuit) in &components {
        for exponent in GATES {
            rows.extend(row(name, circuit, 10f64.powi(exponent), &machine, &link));
        }
    }
    let compared = compared(&components, &machine);
    let measured = measured(arguments)?;
    if let Some(path) = &arguments.svg {
        let charts = charts(&rows, &measured);
        fs::write(path, chart::document(&charts)).map_err(|e| Failure::cannot_write(path, &e))?;
    }
    let human = text(&rows, &compared);
    Ok(Report::new(
        json!({ "rows": rows, "cores_and_links": compared, "measured": measured, "link": link,
            "machine": machine }),
        human,
    ))
}

/// Components of several sizes, all with 256 inputs and 128 outputs.
fn components() -> Result<Vec<(String, Arc<Circuit>)>, brickwork::ProtocolError> {
    let mut all = vec![("AES-128".to_owned(), aes::aes_128_component()?.circuit)];
    for t in [6, 10, 16] {
        all.push((format!("random 2^{t}"), papers::random(t, t)?.components()[0].circuit.clone()));
    }
    Ok(all)
}

/// Returns the cost of this many AND gates in slots of this component; none if they are less than a slot.
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

/// Compares more cores and other networks for the same number of gates.
fn compared(components: &[(String, Arc<Circuit>)], machine: &Machine) -> Vec<Value> {
    let mut all = Vec::new();
    for rate in [None, Some(10e9), Some(1e9), Some(200e6)] {
        for cores in [1, 2, 8, 32, 128] {
            let machine = machine.clone().with_cores(cores);
            let link = Link { bits_per_second: rate, ..Link::LOOPBACK };
            for (name, circuit) in &components[..1] {
                let mut row = row(name, circuit, COMPARED, &machine, &link).unwrap_or_default();
                row["cores"] = cores.into();
                row["bits_per_second"] = rate.into();
                all.push(row);
            }
        }
    }
    all
}

/// Returns the measured rows: AND gates of all executions, and nanoseconds per gate.
fn measured(arguments: &Arguments) -> Result<Vec<Value>, Failure> {
    let Some(path) = &arguments.results else { return Ok(Vec::new()) };
    let text = fs::read_to_string(path).map_err(|e| Failure::cannot_read(&path.display().to_string(), &e))?;
    let lines = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let of = |row: Value| {
        let (gates, seconds) = (row["measured"]["and_gates"].as_f64()?, row["measured"]["seconds"].as_f64()?);
        Some(json!({ "key": row["key"], "and_gates": gates, "seconds": seconds }))
    };
    Ok(lines.filter_map(of).collect())
}

fn number(row: &Value, field: &str) -> f64 {
    row[field].as_f64().unwrap_or_default()
}

fn text(rows: &[Value], compared: &[Value]) -> String {
    let mut text = String::from(
        "By the model, without setup and inputs:\n  component       AND gates       slots   B  copies a \
         slot  bytes an AND      seconds  AND a second\n",
    );
    for row in rows {
        text += &format!(
            "  {:12} {:>12.0e} {:>11.2e} {:>3} {:>14.2} {:>13.1} {:>12.3} {:>13.2e}\n",
            row["component"].as_str().unwrap_or_default(),
            number(row, "and_gates"),
            number(row, "slots"),
            row["bucket_size"],
            number(row, "copies_a_slot"),
            number(row, "bytes_an_and"),
            number(row, "seconds"),
            number(row, "and_per_second")
        );
    }
    text += &format!(
        "{COMPARED:.0e} AND gates of AES-128, by cores of each party and line:\n  cores          line   B  \
         copies a slot      seconds\n"
    );
    for row in compared {
        let line =
            row["bits_per_second"].as_f64().map_or("none".into(), |rate| format!("{} Mbit/s", rate / 1e6));
        text += &format!(
            "  {:>5} {line:>13} {:>3} {:>14.2} {:>12.1}\n",
            row["cores"],
            row["bucket_size"],
            number(row, "copies_a_slot"),
            number(row, "seconds")
        );
    }
    text
}

fn charts(rows: &[Value], measured: &[Value]) -> Vec<Chart> {
    let by_component = |x: &str, y: &dyn Fn(&Value) -> f64| -> Vec<Series> {
        let mut all: Vec<Series> = Vec::new();
        for row in rows {
            let name = row["component"].as_str().unwrap_or_default();
            if all.last().is_none_or(|series| series.name != name) {
                all.push(Series { name: name.into(), points: Vec::new() });
            }
            let title = format!("{name}, {:.1e} AND gates: {:.3}", number(row, "and_gates"), y(row));
            all.last_mut().into_iter().for_each(|series| {
                series.points.push(Point {
                    x: number(row, x),
                    y: y(row),
                    title: title.clone(),
                    label: format!("B = {}", row["bucket_size"]),
                    marked: false,
                })
            });
        }
        all
    };
    let per_gate = |row: &Value| 1e9 * number(row, "seconds") / number(row, "and_gates");
    let mut time = by_component("and_gates", &per_gate);
    // Measured points are not connected by a line, so each is a series of its own.
    time.extend(measured.iter().map(|row| Series {
        name: String::new(),
        points: vec![Point {
            x: number(row, "and_gates"),
            y: per_gate(row),
            title: format!("measured: {}", row["key"].as_str().unwrap_or_default()),
            label: "measured".into(),
            marked: true,
        }],
    }));
    let copies = by_component("slots", &|row| number(row, "copies_a_slot"));
    let chart = |title: &str, x: &str, y: Axis, series| Chart {
        title: title.into(),
        x: Axis::logarithmic(x),
        y,
        series,
    };
    vec![
        chart(
            "Copies of a slot; 2 are the limit of cut-and-choose",
            "slots",
            Axis::logarithmic("copies a slot"),
            copies,
        ),
        chart(
            "Time of an AND gate, by the model and measured (red)",
            "AND gates",
            Axis::logarithmic("nanoseconds"),
            time,
        ),
    ]
}
