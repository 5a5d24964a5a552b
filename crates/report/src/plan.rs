//! The pages of plans.

use serde_json::Value;

use crate::chart::{self, Axis as Scale, Chart, ChartSeries, CurvePoint};
use crate::html::{Cell, HtmlPage, HtmlTable};
use crate::parts::{self, list, real, sum, text};
use crate::program;
use crate::run::{holds_against, totals};
use crate::words::{self, plural};

/// Returns the page of the JSON of `plan`.
pub(crate) fn page(record: &Value) -> String {
    let (phases, program) = (list(record, "phases"), &record["program"]);
    let name = program["name"].as_str().unwrap_or("A plan");
    let mut page = HtmlPage::new(record, name, "Predicted cost of a run");
    let promise = &record["promise"];
    let sent = |field| Value::from(sum(phases, field) as u64);
    page.facts(&[
        ("Time, about", Cell::seconds(&record["seconds"])),
        ("Sent by the garbler", Cell::bytes(&sent("garbler_sent_bytes"))),
        ("Sent by the evaluator", Cell::bytes(&sent("evaluator_sent_bytes"))),
        ("Round trips", Cell::number(&record["round_trips"])),
        ("AND gates", Cell::number(&record["and_gates"])),
        ("Executions", Cell::number(&record["executions"])),
        ("A cheater succeeds with probability at most", Cell::bound(&promise["bound_log2"])),
        ("Holds against", Cell::text(holds_against(promise))),
        ("Cut", Cell::any(&record["cut"])),
        ("Memory of the garbler", Cell::bytes(&record["memory_bytes"]["garbler"])),
        ("Memory of the evaluator", Cell::bytes(&record["memory_bytes"]["evaluator"])),
        ("Temporary files of the garbler", Cell::bytes(&record["disk_bytes"]["garbler"])),
        ("Temporary files of the evaluator", Cell::bytes(&record["disk_bytes"]["evaluator"])),
    ]);
    if let Some(warning) = promise["warning"].as_str() {
        page.warning(warning);
    }
    duration(&mut page, phases);
    totals(&mut page, record);
    parts::traffic(&mut page, phases);
    parts::budget(&mut page, promise);
    parts::components(&mut page, promise, program);
    parts::promise(&mut page, promise);
    alternatives(&mut page, record);
    if program.is_object() {
        program::section(&mut page, program);
    }
    machine(&mut page, record);
    page.document(&format!("{name}: a plan"))
}

/// Adds the seconds of each phase.
fn duration(page: &mut HtmlPage, phases: &[Value]) {
    let cells = |phase: &Value| {
        vec![
            Cell::text(text(phase, "name")),
            Cell::seconds(&phase["seconds"]),
            Cell::number(&phase["crossings"]),
        ]
    };
    let table = HtmlTable {
        caption: "Prediction for each phase".into(),
        head: vec!["phase", "seconds", "crossings of the link"],
        rows: phases.iter().map(cells).collect(),
    };
    let about =
        "Predicted seconds of each phase at the evaluator, from constants of this machine and of the link.";
    parts::durations(page, phases, about, ("phase", "predicted"), &table);
}

/// Returns the drawings of a plan: time against the size of components, and of buckets.
pub fn charts(record: &Value) -> [Chart; 2] {
    [cuts_chart(list(record, "decompositions")), buckets_chart(list(record, "alternatives"))]
}

/// Draws time against the size of a component.
fn cuts_chart(cuts: &[Value]) -> Chart {
    let count = |cut: &Value, field: &str| cut[field].as_u64().unwrap_or_default();
    let point = |cut: &Value| CurvePoint {
        x: real(cut, "and_gates_a_slot").max(1.0),
        y: real(cut, "seconds"),
        title: format!(
            "{}: {} in {}",
            text(cut, "cut"),
            plural(count(cut, "components"), "component"),
            plural(count(cut, "slots"), "slot")
        ),
        label: text(cut, "cut").into(),
        marked: cut["chosen"] == true,
    };
    Chart {
        title: "Cuts of the program".into(),
        x: Scale::logarithmic("AND gates of a slot"),
        y: Scale::linear("seconds"),
        series: vec![ChartSeries { name: "cuts".into(), points: cuts.iter().map(point).collect() }],
    }
}

/// Draws time against the size of the buckets.
fn buckets_chart(options: &[Value]) -> Chart {
    let point = |option: &Value| CurvePoint {
        x: real(option, "bucket_size"),
        y: real(option, "seconds"),
        title: format!(
            "B = {}, {} opened: {} bytes",
            option["bucket_size"], option["opened"], option["bytes"]
        ),
        // The axis shows the sizes of the other options.
        label: if option["chosen"] == true {
            format!("B = {}", option["bucket_size"])
        } else {
            String::new()
        },
        marked: option["chosen"] == true,
    };
    Chart {
        title: options
            .first()
            .map_or(String::new(), |option| format!("Buckets of {}", text(option, "component"))),
        x: Scale::linear("B: copies in a bucket"),
        y: Scale::linear("seconds"),
        series: vec![ChartSeries { name: "buckets".into(), points: options.iter().map(point).collect() }],
    }
}

/// Adds the alternatives to the chosen cut and bucket size.
fn alternatives(page: &mut HtmlPage, record: &Value) {
    let (cuts, buckets) = (list(record, "decompositions"), list(record, "alternatives"));
    if cuts.len() < 2 && buckets.is_empty() {
        return;
    }
    let [cuts_chart, buckets_chart] = charts(record);
    page.section("Other choices");
    if cuts.len() > 1 {
        let cells = |cut: &Value| {
            vec![
                Cell::text(text(cut, "cut")),
                Cell::any(&cut["chosen"]),
                Cell::number(&cut["components"]),
                Cell::number(&cut["slots"]),
                Cell::number(&cut["and_gates_a_slot"]),
                Cell::number(&cut["bytes"]),
                Cell::seconds(&cut["seconds"]),
                Cell::bytes(&cut["memory_bytes"]["garbler"]),
                Cell::bytes(&cut["memory_bytes"]["evaluator"]),
            ]
        };
        let head = vec![
            "cut",
            "taken",
            "components",
            "slots",
            "ANDs a slot",
            "bytes",
            "seconds",
            "garbler's memory",
            "evaluator's memory",
        ];
        let table = HtmlTable { caption: "Cuts".into(), head, rows: cuts.iter().map(cells).collect() };
        let why = record["cut_reason"]
            .as_str()
            .map_or(String::new(), |why| format!("The run takes the marked choice: {why}."));
        let about = format!(
            "Predicted seconds against the size of a slot; the diamond marks the cut that a run takes.{why}"
        );
        draw(page, "Cuts of the program", &about, &cuts_chart, &table);
    }
    if !buckets.is_empty() {
        let cells = |option: &Value| {
            vec![
                Cell::number(&option["bucket_size"]),
                Cell::any(&option["chosen"]),
                Cell::number(&option["opened"]),
                Cell::number(&option["copies"]),
                Cell::number(&option["bytes"]),
                Cell::seconds(&option["seconds"]),
                Cell::bytes(&option["memory_bytes"]["garbler"]),
                Cell::bytes(&option["memory_bytes"]["evaluator"]),
            ]
        };
        let head = vec![
            "bucket size B",
            "taken",
            "opened",
            "copies",
            "bytes",
            "seconds",
            "garbler's memory",
            "evaluator's memory",
        ];
        let table = HtmlTable { caption: "Buckets".into(), head, rows: buckets.iter().map(cells).collect() };
        let why = record["buckets_reason"]
            .as_str()
            .map_or(String::new(), |why| format!("The run takes the marked choice: {why}."));
        let about = format!(
            "Predicted seconds against the size of a bucket, for the same bound; the diamond marks the \
             buckets that a run takes.{why}"
        );
        draw(page, &buckets_chart.title, &about, &buckets_chart, &table);
    }
}

/// Adds a figure with a chart.
pub(crate) fn draw(page: &mut HtmlPage, title: &str, about: &str, chart: &Chart, table: &HtmlTable) {
    page.figure(title, about, &[], table, |attributes, first| chart::element(attributes, first, chart));
}

/// Adds the constants behind the predictions.
fn machine(page: &mut HtmlPage, record: &Value) {
    page.section("Assumptions of the prediction");
    let (link, machine) = (&record["link"], &record["machine"]);
    let bandwidth = match link["bits_per_second"].as_f64() {
        None => "without a limit".into(),
        Some(rate) => format!("of {} Mbit/s", (rate / 1e3).round() / 1e3),
    };
    page.paragraph(&format!(
        "The prediction assumes a link {bandwidth}, a round-trip time of {}, and the kernel {}.",
        words::seconds(real(link, "rtt_seconds")),
        text(machine, "kernel")
    ));
    parts::constants(
        page,
        "Constants of the link and the machine",
        &[("link", link), ("machine", machine), ("seconds for a unit of", &machine["seconds"])],
    );
}

/// Returns the page of the JSON of `plan --model`.
pub(crate) fn page_of_proposal(record: &Value) -> String {
    let program = &record["program"];
    let name = program["name"].as_str().unwrap_or("A proposal");
    let mut page = HtmlPage::new(record, name, &format!("Protocols for a {} peer", text(record, "model")));
    page.facts(&[
        ("Proposed", Cell::text(text(record, "proposed"))),
        ("AND gates", Cell::number(&record["and_gates"])),
        ("Executions", Cell::number(&record["executions"])),
    ]);
    page.paragraph(&format!(
        "The planner proposes {}: {}.",
        text(record, "proposed"),
        text(record, "reason")
    ));
    let candidates = list(record, "candidates");
    let bytes = |of: &Value| real(of, "garbler_sent_bytes") + real(of, "evaluator_sent_bytes");
    let all = |one: &Value| list(&one["cost"], "phases").iter().map(bytes).sum::<f64>();
    let point = |one: &Value| CurvePoint {
        x: all(one).max(1.0),
        y: real(&one["cost"], "seconds"),
        title: format!("{}: {} bytes", text(one, "way"), all(one)),
        label: text(one, "way").into(),
        marked: one["way"] == record["proposed"],
    };
    let series = candidates.iter().map(|one| ChartSeries { name: String::new(), points: vec![point(one)] });
    let chart = Chart {
        title: "Time against bytes".into(),
        x: Scale::logarithmic("bytes in all, both ways"),
        y: Scale::linear("seconds"),
        series: series.collect(),
    };
    let cells = |one: &Value| {
        let (cost, online) = (&one["cost"], &one["online"]);
        vec![
            Cell::text(text(one, "way")),
            Cell::text(text(one, "model")),
            Cell::bound(&one["bound_log2"]),
            Cell::seconds(&cost["seconds"]),
            Cell::number(&cost["round_trips"]),
            Cell::seconds(&cost["cpu_seconds"]),
            Cell::bytes(&cost["memory_bytes"]["garbler"]),
            Cell::bytes(&cost["memory_bytes"]["evaluator"]),
            Cell::bytes(&cost["disk_bytes"]["garbler"]),
            Cell::bytes(&cost["disk_bytes"]["evaluator"]),
            Cell::seconds(&online["seconds"]),
            Cell::number(&online["garbler_sent_bytes"]),
            Cell::number(&online["evaluator_sent_bytes"]),
            Cell::number(&online["round_trips"]),
        ]
    };
    let head = vec![
        "protocol",
        "model",
        "bound",
        "seconds",
        "round trips",
        "CPU time",
        "garbler's memory",
        "evaluator's memory",
        "temporary files",
        "seconds online",
        "garbler sends online",
        "evaluator sends online",
        "round trips online",
    ];
    let table = HtmlTable { caption: "Protocols".into(), head, rows: candidates.iter().map(cells).collect() };
    page.section("Protocols");
    let about =
        "Predicted seconds against the bytes of the whole run; the diamond marks the proposed protocol.";
    draw(&mut page, "Time against bytes", about, &chart, &table);
    for one in candidates {
        page.section(text(one, "way"));
        parts::traffic_table(&mut page, list(&one["cost"], "phases"));
        parts::bucketings_table(&mut page, &one["promise"]);
        parts::budget_table(&mut page, &one["promise"]);
        parts::promise(&mut page, &one["promise"]);
    }
    if program.is_object() {
        program::section(&mut page, program);
    }
    machine(&mut page, record);
    page.document(&format!("{name}: protocols"))
}
