//! The page of a comparison of protocols.

use serde_json::Value;

use crate::chart::{Axis, Chart, ChartSeries, CurvePoint};
use crate::html::{Cell, HtmlPage, HtmlTable};
use crate::parts::{self, list, real, text};
use crate::plan::draw;
use crate::run::holds_against;

/// Returns the page of the output of `bench compare`.
pub(crate) fn page(record: &Value) -> String {
    let (name, rows) = (text(record, "program"), list(record, "rows"));
    let mut page = HtmlPage::new(record, name, "Protocols compared: the same program on the same inputs");
    page.facts(&[
        ("AND gates", Cell::number(&record["and_gates"])),
        ("Executions", Cell::number(&record["executions"])),
        ("Rounds", Cell::number(&record["rounds"])),
        ("Kernel", Cell::text(text(record, "kernel"))),
        ("Threads", Cell::number(&record["threads"])),
        ("Round-trip time", Cell::seconds(&record["link"]["rtt_seconds"])),
        ("Bits a second", Cell::number(&record["link"]["bits_per_second"])),
    ]);
    page.paragraph(
        "The protocols ran in turn, and their outputs were those of the simulation. Times are medians over \
         all rounds. The online part begins with the first phase that needs an input.",
    );
    let [online, time] = charts(record);
    page.section("Bytes");
    let about = "Bytes of both directions: bytes online against bytes in all. Protocols with a diamond hold \
                 against a cheater, those with a circle only against a peer that follows the protocol.";
    draw(&mut page, "Bytes online against bytes in all", about, &online, &bytes_table(rows));
    page.section("Time");
    let about = "Seconds of the whole run against bytes in all. No link slowed the runs, unless the \
                 comparison simulated one. Protocols with a diamond hold against a cheater.";
    draw(&mut page, "Time against bytes in all", about, &time, &time_table(rows));
    page.section("Promise of each protocol");
    for row in rows {
        let (way, promise) = (text(row, "way"), &row["promise"]);
        page.subsection(&format!("{way}: holds against {}", holds_against(promise)));
        if let Some(warning) = promise["warning"].as_str() {
            page.paragraph(warning);
        }
        parts::bucketings_table(&mut page, promise);
        parts::budget_table(&mut page, promise);
        parts::promise(&mut page, promise);
    }
    page.document(&format!("{name}: protocols compared"))
}

fn bytes_table(rows: &[Value]) -> HtmlTable {
    let cells = |row: &Value| {
        let (all, online) = (&row["all"], &row["online"]);
        vec![
            Cell::text(text(row, "way")),
            Cell::bound(&row["bound_log2"]),
            Cell::number(&all["garbler_sent_bytes"]),
            Cell::number(&online["garbler_sent_bytes"]),
            Cell::number(&all["evaluator_sent_bytes"]),
            Cell::number(&online["evaluator_sent_bytes"]),
            Cell::number(&all["round_trips"]),
            Cell::number(&online["round_trips"]),
            Cell::text(text(row, "cut")),
        ]
    };
    HtmlTable {
        caption: "Bytes and round trips".into(),
        head: vec![
            "protocol",
            "bound",
            "garbler sent",
            "online",
            "evaluator sent",
            "online",
            "round trips",
            "online",
            "cut",
        ],
        rows: rows.iter().map(cells).collect(),
    }
}

fn time_table(rows: &[Value]) -> HtmlTable {
    let cells = |row: &Value| {
        let (cpu, memory) = (&row["cpu_seconds"], &row["peak_rss_bytes"]);
        vec![
            Cell::text(text(row, "way")),
            Cell::seconds(&row["all"]["seconds"]),
            Cell::seconds(&row["online"]["seconds"]),
            Cell::seconds(&cpu["garbler"]),
            Cell::seconds(&cpu["evaluator"]),
            Cell::bytes(&memory["garbler"]),
            Cell::bytes(&memory["evaluator"]),
        ]
    };
    HtmlTable {
        caption: "Time and memory".into(),
        head: vec![
            "protocol",
            "seconds",
            "online",
            "garbler's CPU time",
            "evaluator's CPU time",
            "garbler's memory",
            "evaluator's memory",
        ],
        rows: rows.iter().map(cells).collect(),
    }
}

/// Returns the drawings of a `bench compare` record: bytes online against bytes in all, and time against
/// bytes.
pub fn charts(record: &Value) -> [Chart; 2] {
    let bytes = |row: &Value, of: &str| -> f64 {
        real(&row[of], "garbler_sent_bytes") + real(&row[of], "evaluator_sent_bytes")
    };
    let chart = |title: &str, y: Axis, place: &dyn Fn(&Value) -> f64| {
        let point = |row: &Value| {
            let way = text(row, "way");
            CurvePoint {
                x: bytes(row, "all"),
                y: place(row),
                title: format!("{way}: {} bytes in all, {} online", bytes(row, "all"), bytes(row, "online")),
                label: way.into(),
                marked: row["model"] == "malicious",
            }
        };
        // Protocols have no order, so no line connects them, and each is a series of its own.
        let series = list(record, "rows")
            .iter()
            .map(|row| ChartSeries { name: String::new(), points: vec![point(row)] });
        Chart {
            title: format!("{title} (protocols with a diamond hold against a cheater)"),
            x: Axis::logarithmic("bytes in all, both ways"),
            y,
            series: series.collect(),
        }
    };
    [
        chart("Bytes online", Axis::logarithmic("bytes online, both ways"), &|row| bytes(row, "online")),
        chart("Time", Axis::linear("milliseconds"), &|row| 1e3 * real(&row["all"], "seconds")),
    ]
}
