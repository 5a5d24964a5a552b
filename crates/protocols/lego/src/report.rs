//! What a run promises and reports.

use serde::Serialize;

/// kappa minus the loss of garbling many gates under one key: 2^15 calls of the hash and two labels each.
pub const COMPUTATIONAL_BITS: f64 = 111.0;

/// LEGO, as one of the family; its parties are in the crate's root.
#[derive(Clone, Copy, Debug)]
pub struct Lego;

/// What an evaluator learns beside its outputs.
#[derive(Default)]
pub struct Aside {
    /// The garbler cheated, and its input was recovered. **Do not behave differently**: the garbler can cheat
    /// so that this depends on the evaluator's input (docs/security.md, section 8). The outputs are right in
    /// any case.
    pub recovered: bool,
}

/// The promise of a run and the parameters that it follows from.
#[derive(Clone, Debug, Serialize)]
pub struct SecurityReport {
    /// `malicious`, with abort.
    pub model: &'static str,
    /// s: what was asked for.
    pub statistical_bits: u32,
    /// Base-2 logarithm of the bound on a cheating garbler's success, all checks of the run together.
    pub bound_log2: f64,
    /// kappa minus what its uses lose.
    pub computational_bits: f64,
    /// The commitment scheme.
    pub commitments: &'static str,
    /// Its code: length, dimension, distance.
    pub code: [usize; 3],
    /// Cut-and-choose of the AND gates.
    pub gates: BatchReport,
    /// Of the wire authenticators, in the same buckets.
    pub wire_authenticators: BatchReport,
    /// Of the input authenticators.
    pub input_authenticators: BatchReport,
}

/// Cut-and-choose of one kind of item.
#[derive(Clone, Debug, Serialize)]
pub struct BatchReport {
    /// What it is.
    pub name: String,
    /// Buckets.
    pub slots: usize,
    /// Items in a bucket.
    pub bucket_size: usize,
    /// Items made.
    pub copies: usize,
    /// Items opened and checked.
    pub opened: usize,
}
