//! The texts and the JSON that commands print about a run.

use std::collections::BTreeMap;
use std::fmt;

use brickwork::cut::Cut;
use brickwork::engine::request::Protocol;
use brickwork::protocol::Promise;
use brickwork::reading;
use brickwork::{Program, Report as RunReport};
use serde::{Serialize, Serializer};
use serde_json::Value;

use crate::render::failure::Failure;
use crate::render::report::{Report, bit_string};
use brickwork::circuit::{self, Party};
use brickwork::engine::role;

pub use brickwork::engine::report::phases_text;

/// The outputs of one party or of both, as bits and as values, by the role of the party that learns them.
#[derive(Serialize)]
pub struct ShownOutputs {
    output_bits: BTreeMap<&'static str, String>,
    outputs: ShownValues,
}

/// The outputs of one party or of both, as values by the role of the party that learns them.
pub struct ShownValues(Vec<(&'static str, Value)>);

impl Serialize for ShownValues {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_map(self.0.iter().map(|(name, value)| (name, value)))
    }
}

impl ShownValues {
    /// Reads the output bits of these parties as the types of the program say.
    pub fn of(program: &circuit::Program, executions: Option<u32>, bits: &[(Party, &[bool])]) -> Self {
        let value = |(party, bits): &(Party, &[bool])| {
            (role(*party), reading::output_value(program, *party, executions, bits))
        };
        ShownValues(bits.iter().map(value).collect())
    }
}

impl ShownOutputs {
    /// Reads the output bits of these parties as the types of the program say.
    pub fn of(program: &circuit::Program, executions: Option<u32>, bits: &[(Party, &[bool])]) -> Self {
        ShownOutputs {
            output_bits: bits.iter().map(|(party, bits)| (role(*party), bit_string(bits))).collect(),
            outputs: ShownValues::of(program, executions, bits),
        }
    }
}

/// A line for each party.
impl fmt::Display for ShownOutputs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.outputs.fmt(f)
    }
}

/// A line for each party.
impl fmt::Display for ShownValues {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|(role, value)| match value {
            Value::Null => writeln!(f, "The {role} learns nothing."),
            value => writeln!(f, "The {role} learns {value}"),
        })
    }
}

/// Returns the report of a run, with the outputs of one party or of both, as bits and as values.
pub fn of_run(
    (program, executions): (&Program, Option<u32>),
    outputs: &[(Party, &[bool])],
    report: &RunReport,
    quiet: bool,
) -> Result<Report, Failure> {
    #[derive(Serialize)]
    struct RunFields<'r> {
        #[serde(flatten)]
        report: &'r RunReport,
        #[serde(flatten)]
        outputs: ShownOutputs,
    }
    let outputs = ShownOutputs::of(program.given(), executions, outputs);
    let human = outputs.to_string()
        + &phases_text(&report.phases, report.predicted.as_ref().map_or(&[], |cost| &cost.phases), quiet)
        + &cut_text(&report.cut)
        + &protocol_text(report.protocol, report.protocol_reason.as_deref())
        + &promise_text(&report.promise, report.post_quantum);
    Report::new(&RunFields { report, outputs }, human)
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
