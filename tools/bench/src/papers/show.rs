//! The output of rows: lines of tables and points of figures.

use brickwork::circuit::library::aes;
use brickwork::{duplo, plan};
use brickwork_cli::parts::Failure;
use serde_json::{Value, json};

use super::rows::{BYTES, Row, Table, WHOLE, Workload};
use brickwork_report::chart::{Axis, Chart, Point, Series};

const BEFORE: [&str; 4] = ["setup", "preprocess", "prepare", "build"];

/// Returns, for one execution, the milliseconds before the inputs are known and after that, and the garbler's
/// bytes before and after.
fn split(measured: &Value) -> ([f64; 2], [f64; 2]) {
    let (mut milliseconds, mut sent) = ([0.0; 2], [0.0; 2]);
    for phase in measured["measured"]["phases"].as_array().map(Vec::as_slice).unwrap_or_default() {
        let part = usize::from(!BEFORE.iter().any(|name| phase["name"] == *name));
        milliseconds[part] += 1e3 * phase["seconds"].as_f64().unwrap_or_default();
        sent[part] += phase["garbler_sent_bytes"].as_f64().unwrap_or_default();
    }
    (milliseconds, sent)
}

pub const HEAD: &str = "  program                   N  link   before inputs   after      MB   the paper's\n";

pub fn line(row: &Row, measured: &Value) -> String {
    let ([before, after], [offline, online]) = split(measured);
    let paper = match row.paper {
        Some([whole, WHOLE]) => format!("{whole} in all"),
        Some([before, after]) => format!("{before} and {after}"),
        None => String::new(),
    };
    format!(
        "  {:22} {:>4}  {}  {before:>14.2} {after:>7.2} {:>7.2}   {paper}",
        row.workload.name(),
        row.executions,
        row.link_name(),
        (offline + online) / 1e6
    )
}

pub fn point(row: &Row, measured: &Value) -> Value {
    let ([before, after], [offline, online]) = split(measured);
    let program = match row.workload {
        Workload::Random { n, t } => json!({ "and_gates_log2": n, "slot_log2": t }),
        Workload::CbcMac { blocks, each } => json!({ "blocks": blocks, "blocks_a_component": each }),
        Workload::Matrix { block } => json!({ "block": block }),
        Workload::Aes => json!({ "kinds": 1 }),
        Workload::AesIn(kinds) => json!({ "kinds": kinds }),
    };
    json!({
        "table": row.table_name(),
        "program": row.workload.name(),
        "cut": program,
        "executions": row.executions,
        "link": row.link_name(),
        "before_inputs_milliseconds": before,
        "after_inputs_milliseconds": after,
        "garbler_sent_bytes": [offline, online],
        "and_gates": row.workload.and_gates(),
        "phases": measured["measured"]["phases"],
        "predicted": measured["measured"]["predicted"],
        "seconds": measured["measured"]["seconds"],
        "cpu_seconds": measured["measured"]["cpu_seconds"],
        "peak_rss_bytes": measured["measured"]["peak_rss_bytes"],
        "paper_milliseconds": row.paper,
    })
}

/// Returns the predicted and measured seconds of a run and of its phases, and memory.
pub fn comparison(row: &Row, measured: &Value) -> String {
    let (took, expected) = (&measured["measured"], &measured["measured"]["predicted"]);
    let number = |of: &Value| of.as_f64().unwrap_or_default();
    let (seconds, n) = (number(&took["seconds"]), f64::from(row.executions));
    let phases = took["phases"].as_array().map(Vec::as_slice).unwrap_or_default().iter().map(|phase| {
        let of = |all: &Value| {
            all["phases"]
                .as_array()
                .and_then(|all| all.iter().find(|other| other["name"] == phase["name"]))
                .cloned()
        };
        let (predicted, real) =
            (number(&of(expected).unwrap_or_default()["seconds"]), n * number(&phase["seconds"]));
        // The ratio of two very short times is meaningless.
        if real.max(predicted) < LEAST_SHARE * seconds {
            "    -".into()
        } else {
            format!("{:>5.2}", predicted / real)
        }
    });
    let memory =
        |party: &str| number(&expected["memory_bytes"][party]) / number(&took["peak_rss_bytes"][party]);
    format!(
        "  {:22} {:>5}  {:8} {:>11.1} {:>11.1} {:>7.2}  {}   {:>7.2} {:>9.2}",
        row.workload.name(),
        row.executions,
        row.link_name(),
        1e3 * number(&expected["seconds"]),
        1e3 * seconds,
        number(&expected["seconds"]) / seconds,
        phases.collect::<Vec<_>>().join("  "),
        memory("garbler"),
        memory("evaluator")
    )
}

/// The smallest part of the whole that a phase must have to be compared.
const LEAST_SHARE: f64 = 0.03;

/// The heading of the lines of [`comparison`].
pub const COMPARISON_HEAD: &str = "\
    plan: milliseconds of a run, and predicted by measured: all, phases, memory\n\
    \x20 program                    N  link       predicted    measured   ratio\
    \x20 setup  prepr  prepa  build  evalu  decod   garbler evaluator\n";

/// Computes the table exactly, with the standard buckets; nothing runs.
pub fn table_4() -> Result<Vec<Value>, Failure> {
    let program = aes::aes_128()?;
    let mut rows = Vec::new();
    for (executions, [before, after]) in BYTES {
        let repeated = program.repeat(executions as usize)?;
        let parameters = brickwork::duplo::Parameters::choose(&repeated, 40)?;
        let cost =
            duplo::cost::predict(&repeated, &parameters, &plan::Machine::free(), &plan::Link::LOOPBACK);
        let sent = |is_before: bool| -> f64 {
            let phases = cost.phases.iter().filter(|phase| BEFORE.contains(&&*phase.name) == is_before);
            phases.map(|phase| phase.garbler_sent_bytes).sum::<u64>() as f64 / f64::from(executions)
        };
        rows.push(json!({
            "executions": executions,
            "before_bytes": sent(true),
            "after_bytes": sent(false),
            "paper_before_megabytes": before,
            "paper_after_kilobytes": after,
        }));
    }
    Ok(rows)
}

/// Returns the figures: time by the size of a component.
pub fn charts(done: &[(Table, String, Value)]) -> Vec<Chart> {
    let number = |row: &Value, field: &str| row[field].as_f64().unwrap_or_default();
    let milliseconds =
        |row: &Value| number(row, "before_inputs_milliseconds") + number(row, "after_inputs_milliseconds");
    let rows = |table: Table| done.iter().filter(move |(of, ..)| *of == table).map(|(_, _, row)| row);
    let at = |row: &Value, x: f64| Point {
        x,
        y: milliseconds(row),
        title: format!("{}: {:.1} ms", row["program"].as_str().unwrap_or_default(), milliseconds(row)),
        label: format!("{:.1} ms", milliseconds(row)),
        marked: false,
    };
    let series = |table: Table, by: &dyn Fn(&Value) -> Option<(String, f64)>| -> Vec<Series> {
        let mut all: Vec<Series> = Vec::new();
        for row in rows(table) {
            let Some((name, x)) = by(row) else { continue };
            let place = all.iter().position(|series| series.name == name).unwrap_or_else(|| {
                all.push(Series { name, points: Vec::new() });
                all.len() - 1
            });
            all[place].points.push(at(row, x));
        }
        all
    };
    let executions = |row: &Value| format!("N = {}", row["executions"]);
    let of = |title: &str, x: Axis, series: Vec<Series>| Chart {
        title: title.into(),
        x,
        y: Axis::logarithmic("milliseconds of an execution"),
        series,
    };
    let random = |row: &Value| {
        let cut = &row["cut"];
        Some((format!("2^{} AND gates", cut["and_gates_log2"]), cut["slot_log2"].as_f64()?))
    };
    let cbc = |row: &Value| Some((executions(row), row["cut"]["blocks_a_component"].as_f64()?));
    let product = |row: &Value| Some((executions(row), row["cut"]["block"].as_f64()?));
    let kinds = |row: &Value| Some((executions(row), row["cut"]["kinds"].as_f64()?));
    vec![
        of(
            "Figure 1: random programs",
            Axis::linear("t: 2^t AND gates a slot"),
            series(Table::Figure1, &random),
        ),
        of(
            "AES-128 in 1, 3 and 5 kinds of components",
            Axis::linear("kinds"),
            series(Table::Figure2, &kinds),
        ),
        of("Figure 2: CBC-MAC-16", Axis::linear("blocks a component"), series(Table::Figure2, &cbc)),
        of(
            "Figure 3 and table 1: product of 16 x 16 matrices",
            Axis::linear("side of a block"),
            series(Table::Table1, &product),
        ),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_of_the_order_of_the_papers() {
        for row in table_4().unwrap() {
            let ratio =
                row["before_bytes"].as_f64().unwrap() / 1e6 / row["paper_before_megabytes"].as_f64().unwrap();
            assert!((0.2..1.5).contains(&ratio), "{row}");
        }
    }
}
