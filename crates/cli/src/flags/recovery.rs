//! `--recovery-notes FILE`: a local note that tells whether the evaluator had to recover from a cheat.

use std::path::PathBuf;

use clap::Args;

/// The flag for the file with the evaluator's notes.
#[derive(Args, Clone, Default)]
pub struct RecoveryArguments {
    /// Append a line to this file that says whether the garbler cheated and the evaluator recovered from it
    ///
    /// A line is a JSON object: time in seconds since 1970, the garbler's key, the program's digest, and
    /// `recovered`, 0 or 1. 1 means that the garbler cheated; the output is correct all the same. But a
    /// garbler can cheat so that it is 1 only if the evaluator's input has some property. If you react in a
    /// way that the garbler can notice, such as a complaint, a refusal to run again, or a delay, you reveal
    /// that property to the garbler. So nothing else reports it: not the output, not --json, no warning, not
    /// the exit code. Only its owner may be able to read the file; keep it away from programs and people that
    /// act on it.
    #[arg(long, value_name = "FILE")]
    pub recovery_notes: Option<PathBuf>,
}
