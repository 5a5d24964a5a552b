//! The page of a run.

use serde_json::Value;

use crate::bars::{self, BarAxis, BarRow, BarSegment};
use crate::html::{Cell, HtmlPage, HtmlTable};
use crate::parts::{self, list, longest, real, sum, text};
use crate::{program, timeline, words};

/// Returns the page of the JSON of `run`, `garbler` or `evaluator`, with the outputs if so asked.
pub(crate) fn page(record: &Value, outputs: Option<&Value>) -> String {
    let (phases, promise, program) = (list(record, "phases"), &record["promise"], &record["program"]);
    let name = program["name"].as_str().unwrap_or("A run");
    // A run of both parties reports the evaluator's phases.
    let seen_by = record["role"].as_str().unwrap_or("evaluator");
    let kind = format!("A run of {}, recorded by the {seen_by}", text(record, "protocol"));
    let mut page = HtmlPage::new(record, name, &kind);
    let sent = |field| Value::from(sum(phases, field) as u64);
    page.facts(&[
        ("Time", Cell::text(words::seconds(sum(phases, "seconds")))),
        ("Sent by the garbler", Cell::bytes(&sent("garbler_sent_bytes"))),
        ("Sent by the evaluator", Cell::bytes(&sent("evaluator_sent_bytes"))),
        ("Flights", Cell::text(words::thousands(timeline::flights(phases) as u64))),
        ("AND gates", Cell::number(&record["and_gates"])),
        ("A cheater succeeds with probability at most", Cell::bound(&promise["bound_log2"])),
        ("Holds against", Cell::text(holds_against(promise))),
        ("Cut", Cell::any(&record["cut"])),
        ("CPU time of this party", Cell::seconds(&record["cpu_seconds"])),
        ("Most memory", Cell::bytes(&record["peak_rss_bytes"])),
        ("Made during the run", Cell::any(&record["made_on_the_spot"])),
    ]);
    if let Some(warning) = promise["warning"].as_str() {
        page.warning(warning);
    }
    if let Some(outputs) = outputs {
        show_outputs(&mut page, outputs);
    }
    timeline::section(&mut page, phases, seen_by);
    parts::traffic(&mut page, phases);
    match &record["predicted"] {
        Value::Object(_) => prediction(&mut page, phases, &record["predicted"]),
        _ => durations(&mut page, phases),
    }
    parts::budget(&mut page, promise);
    parts::components(&mut page, promise, program);
    parts::promise(&mut page, promise);
    if program.is_object() {
        program::section(&mut page, program);
    }
    page.document(&format!("{name}: a run"))
}

/// Returns a few words for the adversary against which the protocol is secure.
pub(crate) fn holds_against(promise: &Value) -> &'static str {
    match promise["model"].as_str() {
        Some("malicious") => "a cheater",
        Some(_) => "only a peer that follows the protocol",
        None => "–",
    }
}

/// Adds the outputs of the parties, if so asked.
fn show_outputs(page: &mut HtmlPage, outputs: &Value) {
    page.section("Outputs");
    page.warning("This page contains the outputs. Show it only to people who may know them.");
    for (party, value) in outputs.as_object().into_iter().flatten() {
        let learns = match value {
            Value::Null => "nothing".into(),
            value => value.to_string(),
        };
        page.paragraph(&format!("The {party} learns:"));
        page.code(&learns);
    }
}

/// Adds the seconds and bytes of each phase beside the predictions.
fn prediction(page: &mut HtmlPage, phases: &[Value], predicted: &Value) {
    let of = |name: &Value| {
        let found = list(predicted, "phases").iter().find(|phase| phase["name"] == *name);
        found.unwrap_or(&Value::Null)
    };
    let both = |phase: &Value| [real(phase, "seconds"), real(of(&phase["name"]), "seconds")];
    let most = longest(phases.iter().flat_map(both));
    let row = |phase: &Value| {
        let [measured, expected] = both(phase);
        let bar = |length: f64, class| vec![BarSegment { from: 0.0, to: length / most, class }];
        BarRow {
            label: text(phase, "name").into(),
            value: format!("{}, predicted {}", words::seconds(measured), words::seconds(expected)),
            bars: vec![bar(measured, "measured"), bar(expected, "predicted")],
        }
    };
    let cells = |phase: &Value| {
        let expected = of(&phase["name"]);
        vec![
            Cell::text(text(phase, "name")),
            Cell::seconds(&phase["seconds"]),
            Cell::seconds(&expected["seconds"]),
            Cell::number(&phase["garbler_sent_bytes"]),
            Cell::number(&expected["garbler_sent_bytes"]),
            Cell::number(&phase["evaluator_sent_bytes"]),
            Cell::number(&expected["evaluator_sent_bytes"]),
            Cell::number(&expected["crossings"]),
        ]
    };
    let table = HtmlTable {
        caption: "Measured and predicted, by phase".into(),
        head: vec![
            "phase",
            "measured",
            "predicted",
            "garbler sent, bytes",
            "predicted",
            "evaluator sent, bytes",
            "predicted",
            "crossings predicted",
        ],
        rows: phases.iter().map(cells).collect(),
    };
    page.section("Predicted against measured");
    page.figure(
        "Seconds of each phase",
        "Measured seconds of each phase, and the prediction from constants of this machine. Bytes and round \
         trips are predicted exactly; the table has them, too.",
        &[("measured", "measured"), ("predicted", "predicted")],
        &table,
        |attributes, first| {
            let rows: Vec<BarRow> = phases.iter().map(row).collect();
            bars::draw(attributes, first, &rows, &BarAxis::up_to(most, words::seconds))
        },
    );
    totals(page, predicted);
}

/// Adds the seconds of each phase of a run without predictions.
fn durations(page: &mut HtmlPage, phases: &[Value]) {
    let cells = |phase: &Value| vec![Cell::text(text(phase, "name")), Cell::seconds(&phase["seconds"])];
    let table = HtmlTable {
        caption: "Measured seconds of each phase".into(),
        head: vec!["phase", "seconds"],
        rows: phases.iter().map(cells).collect(),
    };
    let about = "Measured seconds of each phase. This run has no prediction.";
    parts::durations(page, phases, about, ("measured", "measured"), &table);
}

/// Adds the predictions for the whole run.
pub(crate) fn totals(page: &mut HtmlPage, cost: &Value) {
    let (memory, disk) = (&cost["memory_bytes"], &cost["disk_bytes"]);
    let rows = vec![
        vec![Cell::text("seconds"), Cell::seconds(&cost["seconds"])],
        vec![Cell::text("CPU time of both parties"), Cell::seconds(&cost["cpu_seconds"])],
        vec![Cell::text("round trips"), Cell::number(&cost["round_trips"])],
        vec![Cell::text("memory of the garbler"), Cell::bytes(&memory["garbler"])],
        vec![Cell::text("memory of the evaluator"), Cell::bytes(&memory["evaluator"])],
        vec![Cell::text("temporary files of the garbler"), Cell::bytes(&disk["garbler"])],
        vec![Cell::text("temporary files of the evaluator"), Cell::bytes(&disk["evaluator"])],
    ];
    page.details(&HtmlTable { caption: "Predicted in all".into(), head: vec!["what", "predicted"], rows });
}
