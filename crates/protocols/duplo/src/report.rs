//! What a run reports.

use brickwork_session::Spent;
use serde::Serialize;

use super::steps::Secret;

/// DUPLO, as one of the family; its parties are in the crate's root.
#[derive(Clone, Copy, Debug)]
pub struct Duplo;

/// A party's result; its proposal is the program as it was cut, and its parameters.
pub type Report = brickwork_session::Report<Duplo>;

/// What an evaluator learns beside its outputs.
#[derive(Default)]
pub struct Aside {
    /// The garbler cheated, and its input was recovered. **Do not behave differently.** The garbler can cheat
    /// so that this depends on the evaluator's input: it garbles a copy that is wrong only where that input
    /// has some property, and as long as it is not opened this is true just then. So whatever the evaluator
    /// or its people do that the garbler can notice (a complaint, a pause, no further run, other inputs, a
    /// changed price) tells it that bit. The outputs are right in any case. Nothing in this library does
    /// anything with it; at most write it where nobody reacts to it, and write as much when it is false.
    pub recovered: bool,
}

/// What a step of a session gave a party.
pub struct StepReport {
    /// The bits of its outputs.
    pub outputs: Vec<bool>,
    /// What was kept, in the order of the outputs.
    pub kept: Vec<Secret>,
    /// What is promised of this step.
    pub security: SecurityReport,
    /// What an evaluator learns beside its outputs.
    pub aside: Aside,
}

/// The promise of a run and the parameters that it follows from.
#[derive(Clone, Debug, Serialize)]
pub struct SecurityReport {
    /// `malicious`, with abort.
    pub model: &'static str,
    /// s: what was asked for.
    pub statistical_bits: u32,
    /// Base-2 logarithm of the exact bound on a cheating garbler's success, all checks of the run together.
    pub bound_log2: f64,
    /// The same of all programs together that take from the same part of a stock; none where nothing is taken
    /// from a stock on disk.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub epoch_bound_log2: Option<f64>,
    /// What each check leaves to chance: together they are the bound of the run.
    pub budget: Vec<Spent>,
    /// kappa minus what its uses in this session lose.
    pub computational_bits: f64,
    /// The commitment scheme.
    pub commitments: &'static str,
    /// Its code: length, dimension, distance.
    pub code: [usize; 3],
    /// Cut-and-choose of each component.
    pub components: Vec<BatchReport>,
    /// Cut-and-choose of the key authenticators.
    pub key_authenticators: BatchReport,
    /// Cut-and-choose of the self-authenticating ones.
    pub input_authenticators: BatchReport,
}

/// Cut-and-choose of one kind of item.
#[derive(Clone, Debug, Serialize)]
pub struct BatchReport {
    /// What it is.
    pub name: String,
    /// Buckets: slots or wires.
    pub slots: usize,
    /// B: items in a bucket.
    pub bucket_size: usize,
    /// L: items made.
    pub copies: usize,
    /// c: items opened and checked.
    pub opened: usize,
}
