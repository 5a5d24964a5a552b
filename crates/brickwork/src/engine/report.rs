//! The report of a run: all data about it that a party may show, except its outputs.

use brickwork_plan::PhaseCost;
use brickwork_protocol::{PhaseReport, Promise};
use brickwork_report::words::bytes;
use serde::{Deserialize, Deserializer, Serialize};

use super::request::Protocol;
use crate::cut::Cut;
use crate::plan::Cost;

/// The report of a run at one party. It has no input and no output, and its JSON form is that of the command.
///
/// ```
/// use brickwork::{Program, run_local};
///
/// let text = "#parties 2\n#input 1 uint_t 8\n#input 2 uint_t 8\n#output 1 uint_t 8\n\
///             function void main() { output1 = input1 + input2; }";
/// let program = Program::from_source("add.wir", text)?;
/// let [garbler, evaluator] = run_local(&program, ("input1", 3u8), ("input2", 4u8))?;
/// let report = &evaluator.report;
/// assert!(report.phases.iter().map(|phase| phase.evaluator_sent_bytes).sum::<u64>() > 0);
/// assert!(report.promise.bound_log2 <= -40.0, "a cheater succeeds with at most this probability");
/// # Ok::<(), brickwork::Error>(())
/// ```
#[derive(Clone, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Report {
    /// The time and the bytes of each phase.
    pub phases: Vec<PhaseReport>,
    /// The predicted cost, if there was a prediction.
    pub predicted: Option<Cost>,
    /// The promise of the run: the kind of adversary, and the statistical security.
    pub promise: Promise,
    /// The cut of the program into components.
    pub cut: Cut,
    /// The AND gates of all executions.
    pub and_gates: u64,
    /// The protocol that ran.
    pub protocol: Protocol,
    /// The reason for the protocol, if several were possible.
    pub protocol_reason: Option<String>,
    /// True if the base OTs resist quantum computers.
    pub post_quantum: bool,
    /// For a run from stock: the items that were lacking and were made for it, in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub made_on_the_spot: Option<Option<String>>,
    /// Seconds of CPU time that this process used meanwhile, unless the report describes both parties.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_seconds: Option<f64>,
    /// The largest memory that this process has used so far, in bytes, if the system tells it. Absent if the
    /// report describes both parties.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "given")]
    pub peak_rss_bytes: Option<Option<u64>>,
}

/// Reads a field that is there, and perhaps null.
fn given<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Option<u64>>, D::Error> {
    Option::deserialize(from).map(Some)
}

/// Returns the phases of a run, with their predictions; nothing for a user who wants quiet.
pub fn phases_text(phases: &[PhaseReport], predicted: &[PhaseCost], quiet: bool) -> String {
    if quiet {
        return String::new();
    }
    let line = |phase: &PhaseReport| {
        let expected = predicted.iter().find(|other| other.name == phase.name);
        format!(
            "  {:10} {:8.3} s{}   garbler sent {}, evaluator {}\n",
            phase.name,
            phase.seconds,
            expected.map_or(String::new(), |expected| format!(" ({:.3} predicted)", expected.seconds)),
            bytes(phase.garbler_sent_bytes),
            bytes(phase.evaluator_sent_bytes)
        )
    };
    phases.iter().map(line).collect()
}
