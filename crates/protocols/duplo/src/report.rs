//! The report of a run.

use super::steps::Secret;
use brickwork_protocol::Promise;

/// The type that stands for DUPLO in the code that all protocols share.
#[derive(Clone, Copy, Debug)]
pub struct Duplo;

/// The result of a party. Its proposal is the program in the chosen cut, with the parameters.
pub type Report = brickwork_protocol::Report<Duplo>;

/// The evaluator's additional result, which must stay secret from the garbler.
#[derive(Default)]
pub struct Aside {
    /// True if the garbler cheated, and its input was recovered. **Do not behave differently.** The garbler
    /// can cheat so that this bit depends on the evaluator's input: it garbles a copy that is wrong only if
    /// the input has some property, and hopes that the copy is not opened. So any reaction that the garbler
    /// can notice (a complaint, a pause, no further run, other inputs, a changed price) reveals that
    /// property. The outputs are right in any case. Nothing in this library uses the bit. If you write it at
    /// all, write it where nobody reacts to it, and write the same amount when it is false.
    pub recovered: bool,
}

/// The result of a step of a session, for one party.
pub struct StepReport {
    /// The bits of the outputs that this party learns.
    pub outputs: Vec<bool>,
    /// The secrets that were kept, in the order of the outputs.
    pub kept: Vec<Secret>,
    /// The promise of this step.
    pub promise: Promise,
    /// The evaluator's additional result.
    pub aside: Aside,
}
