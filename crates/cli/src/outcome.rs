//! The texts about a run that a party prints. They are made from its JSON form, which is the same whether
//! this process or a child ran it.

use brickwork::plan::Cost;
use brickwork::session::Promise;
use serde_json::{Value, json};

use crate::report::bytes;

/// Returns a line for each party's output.
pub fn outputs_text(outputs: &[(&str, &Value)]) -> String {
    let line = |(role, value): &(&str, &Value)| match value {
        Value::Null => format!("The {role} learns nothing.\n"),
        value => format!("The {role} learns {value}\n"),
    };
    outputs.iter().map(line).collect()
}

/// Returns a text about the cut in a report, if it differs from the file's cut.
pub fn cut_text(report: &Value) -> String {
    match report["cut"].as_str() {
        None | Some("given") => String::new(),
        Some(cut) => format!("Cut: {cut} (`brickwork plan` shows others)\n"),
    }
}

/// Returns the protocol in a report, with the reason for it if several were possible.
pub fn protocol_text(report: &Value) -> String {
    match (report["protocol"].as_str(), report["protocol_reason"].as_str()) {
        (Some(protocol), Some(reason)) => format!("Protocol: {protocol} ({reason})\n"),
        _ => String::new(),
    }
}

/// Returns the phases of a report and their predictions; nothing with `--quiet`.
pub fn phases_text(report: &Value, quiet: bool) -> String {
    if quiet {
        return String::new();
    }
    let phases = |of: &Value| of["phases"].as_array().cloned().unwrap_or_default();
    let seconds = |phase: &Value| phase["seconds"].as_f64().unwrap_or_default();
    let predicted = phases(&report["predicted"]);
    let mut text = String::new();
    for phase in phases(report) {
        let number = |field: &str| phase[field].as_u64().unwrap_or_default();
        let expected = predicted.iter().find(|other| other["name"] == phase["name"]);
        text += &format!(
            "  {:10} {:8.3} s{}   garbler sent {}, evaluator {}\n",
            phase["name"].as_str().unwrap_or_default(),
            seconds(&phase),
            expected.map_or(String::new(), |expected| format!(" ({:.3} predicted)", seconds(expected))),
            bytes(number("garbler_sent_bytes")),
            bytes(number("evaluator_sent_bytes"))
        );
    }
    text
}

/// Returns the promise in a report as a sentence.
pub fn promise_text(report: &Value) -> String {
    let promise = serde_json::from_value::<Promise>(report["promise"].clone());
    let mut text = promise.map_or(String::new(), |promise| promise.to_string());
    if report["post_quantum"] == true {
        text += "Base OTs from ML-KEM-768, keys of TLS from ML-KEM-768 and X25519 together: nothing that \
                 was hidden rests on discrete logarithms alone; that the peer is who its key says still \
                 does (Ed25519)\n";
    }
    text
}

/// Returns the predicted cost in the JSON form that reports of runs use, too.
pub fn cost_json(cost: &Cost) -> Value {
    json!({
        "phases": cost.phases,
        "seconds": cost.seconds(),
        "cpu_seconds": cost.cpu_seconds,
        "round_trips": cost.crossings() as f64 / 2.0,
        "memory_bytes": { "garbler": cost.garbler_memory_bytes, "evaluator": cost.evaluator_memory_bytes },
        "disk_bytes": cost.disk_bytes,
    })
}
