//! What a run promises and reports.

use serde::Serialize;

use brickwork_primitives::cut_and_choose::Bucketing;
use brickwork_session::Spent;

/// kappa minus the loss of garbling many gates under one key: 2^15 calls of the hash and two labels each.
pub const COMPUTATIONAL_BITS: f64 = 111.0;

/// LEGO, as one of the family; its parties are in the crate's root.
#[derive(Clone, Copy, Debug)]
pub struct Lego;

/// What an evaluator learns beside its outputs.
#[derive(Default)]
pub struct Aside {
    /// The garbler cheated, and its input was recovered. **Do not behave differently**: the garbler can cheat
    /// so that this depends on the evaluator's input (docs/concepts/security.md, section 8). The outputs are
    /// right in any case.
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
    /// Of a program from stock, the same of all programs together that take from the epoch: more than 2^-s,
    /// if much was made in it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub epoch_bound_log2: Option<f64>,
    /// kappa minus what its uses lose.
    pub computational_bits: f64,
    /// The commitment scheme.
    pub commitments: &'static str,
    /// Its code: length, dimension, distance.
    pub code: [usize; 3],
    /// Cut-and-choose of the AND gates: one of a run, of a program from stock that of each batch that it took
    /// from.
    pub gates: Vec<BatchReport>,
    /// Of the wire authenticators, in the same buckets.
    pub wire_authenticators: Vec<BatchReport>,
    /// Of the input authenticators.
    pub input_authenticators: Vec<BatchReport>,
    /// What adds up to `bound_log2`: the bound of each check.
    pub budget: Vec<Spent>,
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

impl BatchReport {
    /// Reports a cut of items of this name.
    pub(super) fn of(name: &str, cut: &Bucketing) -> Self {
        BatchReport {
            name: name.into(),
            slots: cut.slots as usize,
            bucket_size: cut.bucket as usize,
            copies: cut.copies() as usize,
            opened: cut.opened as usize,
        }
    }
}
