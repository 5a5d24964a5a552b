//! The texts and the JSON that commands print about a run.

use brickwork::cut::Cut;
use brickwork::engine::request::Protocol;
use brickwork::protocol::Promise;
use brickwork::reading;
use brickwork::{Program, Report as RunReport};
use serde_json::{Map, Value, json};

use crate::render::report::{Report, bit_string};
use brickwork::circuit::Party;
use brickwork::engine::role;

pub use brickwork::engine::report::phases_text;

/// Returns a line for each party's output.
pub fn outputs_text(outputs: &[(&str, &Value)]) -> String {
    let line = |(role, value): &(&str, &Value)| match value {
        Value::Null => format!("The {role} learns nothing.\n"),
        value => format!("The {role} learns {value}\n"),
    };
    outputs.iter().map(line).collect()
}

/// Returns the report of a run, with the outputs of one party or of both, as bits and as values.
pub fn of_run(
    (program, executions): (&Program, Option<u32>),
    outputs: &[(Party, &[bool])],
    report: &RunReport,
    quiet: bool,
) -> Report {
    let mut json = json!(report);
    let value =
        |(party, bits): &(Party, &[bool])| reading::output_value(program.given(), *party, executions, bits);
    let shown: Vec<Value> = outputs.iter().map(value).collect();
    let named: Vec<_> = outputs.iter().zip(&shown).map(|((party, _), value)| (role(*party), value)).collect();
    let human = outputs_text(&named)
        + &phases_text(&report.phases, report.predicted.as_ref().map_or(&[], |cost| &cost.phases), quiet)
        + &cut_text(&report.cut)
        + &protocol_text(report.protocol, report.protocol_reason.as_deref())
        + &promise_text(&report.promise, report.post_quantum);
    let roles = outputs.iter().map(|(party, _)| role(*party).to_owned());
    let bits = outputs.iter().map(|(_, bits)| Value::from(bit_string(bits)));
    json["output_bits"] = roles.clone().zip(bits).collect::<Map<_, _>>().into();
    // Moved, because a value may have a million rows.
    json["outputs"] = roles.zip(shown).collect::<Map<_, _>>().into();
    Report::new(json, human)
}

/// Returns a text about the cut of a run, if it differs from the file's cut.
fn cut_text(cut: &Cut) -> String {
    match cut {
        Cut::Given => String::new(),
        cut => format!("Cut: {cut} (`brickwork plan` shows others)\n"),
    }
}

/// Returns the protocol and the reason for it, if several were possible.
pub fn protocol_text(protocol: Protocol, reason: Option<&str>) -> String {
    reason.map_or(String::new(), |reason| format!("Protocol: {protocol} ({reason})\n"))
}

/// Returns the promise of a run in words.
pub fn promise_text(promise: &Promise, post_quantum: bool) -> String {
    let mut text = promise.to_string();
    if post_quantum {
        text += "Base OTs from ML-KEM-768, keys of TLS from ML-KEM-768 and X25519 together: secrecy does \
                 not rest on discrete logarithms alone. Only the authentication of the peer still does \
                 (Ed25519)\n";
    }
    text
}
