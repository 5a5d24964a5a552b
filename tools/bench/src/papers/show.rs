//! The output of rows: lines of tables and points of figures.

use brickwork::circuit::library::aes;
use brickwork::{duplo, plan};
use brickwork_cli::parts::Failure;
use brickwork_report::chart::{Axis, Chart, ChartSeries, CurvePoint};
use serde_json::{Value, json};

use super::rows::{BYTES, PaperRow, PaperTable, WHOLE, Workload, table_name};
use crate::runs::{MeasuredRuns, Phase};
use crate::table::{Form, MS, TableColumn};

const BEFORE: [&str; 4] = ["setup", "preprocess", "prepare", "build"];

/// A row and its measurement.
pub struct MeasuredRow {
    pub row: PaperRow,
    pub measured: MeasuredRuns,
}

pub const COLUMNS: [TableColumn; 7] = [
    ("program", "/program", Form::Word),
    ("link", "/link", Form::Word),
    ("paper", "/paper_milliseconds", Form::Made(paper)),
    ("N", "/executions", Form::Count),
    ("before inputs", "/before_inputs_milliseconds", Form::Scaled(1.0, 2)),
    ("after", "/after_inputs_milliseconds", Form::Scaled(1.0, 2)),
    ("MB", "/megabytes", Form::Scaled(1.0, 2)),
];

/// Returns the paper's times of a row.
fn paper(row: &Value) -> String {
    match (&row["paper_milliseconds"][0], &row["paper_milliseconds"][1]) {
        (Value::Null, _) => String::new(),
        (whole, after) if after.as_f64() == Some(WHOLE) => format!("{whole} in all"),
        (before, after) => format!("{before} and {after}"),
    }
}

/// The columns of the comparison of predictions and runs. The ratios are predicted values divided by measured
/// ones.
pub const COLUMNS_OF_PLAN: [TableColumn; 14] = [
    ("program", "/program", Form::Word),
    ("link", "/link", Form::Word),
    ("N", "/executions", Form::Count),
    ("predicted", "/predicted/seconds", MS),
    ("measured", "/seconds", MS),
    ("ratio", "/ratios/all", Form::Scaled(1.0, 2)),
    ("setup", "/ratios/setup", Form::Scaled(1.0, 2)),
    ("preprocess", "/ratios/preprocess", Form::Scaled(1.0, 2)),
    ("prepare", "/ratios/prepare", Form::Scaled(1.0, 2)),
    ("build", "/ratios/build", Form::Scaled(1.0, 2)),
    ("evaluate", "/ratios/evaluate", Form::Scaled(1.0, 2)),
    ("decode", "/ratios/decode", Form::Scaled(1.0, 2)),
    ("memory, G", "/ratios/garbler", Form::Scaled(1.0, 2)),
    ("E", "/ratios/evaluator", Form::Scaled(1.0, 2)),
];

/// A phase is compared only if it takes at least this fraction of the whole time.
const LEAST_SHARE: f64 = 0.03;

impl MeasuredRow {
    /// Returns the sums of a number of each phase before the inputs are known, and after that.
    fn split(&self, of: impl Fn(&Phase) -> f64) -> [f64; 2] {
        let mut sums = [0.0; 2];
        for phase in &self.measured.phases {
            sums[usize::from(!BEFORE.contains(&&*phase.name))] += of(phase);
        }
        sums
    }

    fn milliseconds(&self) -> [f64; 2] {
        self.split(|phase| 1e3 * phase.seconds)
    }

    /// Returns the row for a printed table: the fields of the JSON row, and in addition the numbers that only
    /// tables show.
    pub fn shown(&self) -> Value {
        let MeasuredRow { row, measured } = self;
        let mut shown = self.json();
        shown["megabytes"] = json!(self.split(|phase| phase.garbler_sent_bytes).iter().sum::<f64>() / 1e6);
        let Some(predicted) = &measured.predicted else { return shown };
        let ratios = &mut shown["ratios"];
        ratios["all"] = json!(predicted.seconds() / measured.seconds);
        for (expected, real) in predicted.phases.iter().zip(&measured.phases) {
            let real = f64::from(row.executions) * real.seconds;
            // The ratio of two very short times is meaningless.
            if real.max(expected.seconds) >= LEAST_SHARE * measured.seconds {
                ratios[&*expected.name] = json!(expected.seconds / real);
            }
        }
        let peak = measured.peak_rss_bytes;
        let by = |expected: u64, real: Option<u64>| real.map(|real| expected as f64 / real as f64);
        ratios["garbler"] = json!(by(predicted.memory_bytes.garbler, peak.garbler));
        ratios["evaluator"] = json!(by(predicted.memory_bytes.evaluator, peak.evaluator));
        shown
    }

    /// Returns the row for the JSON of the command.
    pub fn json(&self) -> Value {
        let MeasuredRow { row, measured } = self;
        let [before, after] = self.milliseconds();
        let cut = match row.workload {
            Workload::Random { n, t } => json!({ "and_gates_log2": n, "slot_log2": t }),
            Workload::CbcMac { blocks, each } => json!({ "blocks": blocks, "blocks_a_component": each }),
            Workload::Matrix { block } => json!({ "block": block }),
            Workload::Aes => json!({ "kinds": 1 }),
            Workload::AesIn(kinds) => json!({ "kinds": kinds }),
        };
        json!({
            "table": table_name(row.table),
            "program": row.workload.name(),
            "cut": cut,
            "executions": row.executions,
            "link": row.link_name(),
            "before_inputs_milliseconds": before,
            "after_inputs_milliseconds": after,
            "garbler_sent_bytes": self.split(|phase| phase.garbler_sent_bytes),
            "and_gates": row.workload.and_gates(),
            "phases": measured.phases,
            "predicted": measured.predicted,
            "seconds": measured.seconds,
            "cpu_seconds": measured.cpu_seconds,
            "peak_rss_bytes": measured.peak_rss_bytes,
            "paper_milliseconds": row.paper,
        })
    }
}

/// The columns of bytes to the evaluator of one AES-128.
pub const COLUMNS_OF_BYTES: [TableColumn; 5] = [
    ("N", "/executions", Form::Count),
    ("MB before", "/before_bytes", Form::Scaled(1e-6, 3)),
    ("kB after", "/after_bytes", Form::Scaled(1e-3, 3)),
    ("paper, MB before", "/paper_before_megabytes", Form::Scaled(1.0, 2)),
    ("kB after", "/paper_after_kilobytes", Form::Scaled(1.0, 2)),
];

/// Computes the table exactly, with the standard buckets. No protocol is run.
pub fn table_4() -> Result<Vec<Value>, Failure> {
    let program = aes::aes_128()?;
    let row = |(executions, [before, after]): (u32, [f64; 2])| {
        let repeated = program.repeat(executions as usize)?;
        let parameters = duplo::Parameters::choose(&repeated, 40)?;
        let (machine, link) = (plan::Machine::free(), plan::Link::LOOPBACK);
        let cost = duplo::cost::predict(&repeated, &parameters, &machine, &link);
        let sent = |is_before: bool| -> f64 {
            let phases = cost.phases.iter().filter(|phase| BEFORE.contains(&&*phase.name) == is_before);
            phases.map(|phase| phase.garbler_sent_bytes).sum::<u64>() as f64 / f64::from(executions)
        };
        Ok(json!({
            "executions": executions,
            "before_bytes": sent(true),
            "after_bytes": sent(false),
            "paper_before_megabytes": before,
            "paper_after_kilobytes": after,
        }))
    };
    BYTES.into_iter().map(row).collect()
}

/// Returns the figures: time by the size of a component.
pub fn charts(done: &[MeasuredRow]) -> Vec<Chart> {
    let chart = |title: &str, x: Axis, table: PaperTable, by: &dyn Fn(&PaperRow) -> Option<(String, u32)>| {
        let mut series: Vec<ChartSeries> = Vec::new();
        for done in done.iter().filter(|done| done.row.table == table) {
            let Some((name, at)) = by(&done.row) else { continue };
            let milliseconds: f64 = done.milliseconds().iter().sum();
            let point = CurvePoint {
                x: at.into(),
                y: milliseconds,
                title: format!("{}: {milliseconds:.1} ms", done.row.workload.name()),
                label: format!("{milliseconds:.1} ms"),
                marked: false,
            };
            match series.iter_mut().find(|series| series.name == name) {
                Some(series) => series.points.push(point),
                None => series.push(ChartSeries { name, points: vec![point] }),
            }
        }
        Chart { title: title.into(), x, y: Axis::logarithmic("milliseconds of an execution"), series }
    };
    let executions = |row: &PaperRow| format!("N = {}", row.executions);
    let random = |row: &PaperRow| match row.workload {
        Workload::Random { n, t } => Some((format!("2^{n} AND gates"), t)),
        _ => None,
    };
    let kinds = |row: &PaperRow| match row.workload {
        Workload::Aes => Some((executions(row), 1)),
        Workload::AesIn(kinds) => Some((executions(row), kinds)),
        _ => None,
    };
    let cbc = |row: &PaperRow| match row.workload {
        Workload::CbcMac { each, .. } => Some((executions(row), each)),
        _ => None,
    };
    let product = |row: &PaperRow| match row.workload {
        Workload::Matrix { block } => Some((executions(row), block)),
        _ => None,
    };
    let slots = Axis::linear("t: 2^t AND gates a slot");
    let sides = Axis::linear("side of a block");
    vec![
        chart("Figure 1: random programs", slots, PaperTable::Figure1, &random),
        chart(
            "AES-128 in 1, 3 and 5 kinds of components",
            Axis::linear("kinds"),
            PaperTable::Figure2,
            &kinds,
        ),
        chart("Figure 2: CBC-MAC-16", Axis::linear("blocks a component"), PaperTable::Figure2, &cbc),
        chart("Figure 3 and table 1: product of 16 x 16 matrices", sides, PaperTable::Table1, &product),
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
