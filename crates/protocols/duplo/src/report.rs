//! The report of a run.

use super::steps::Secret;
use brickwork_session::Promise;

/// DUPLO as a protocol of the family; its parties are in the crate's root.
#[derive(Clone, Copy, Debug)]
pub struct Duplo;

/// A party's result; its proposal is the program as it was cut, and its parameters.
pub type Report = brickwork_session::Report<Duplo>;

/// The evaluator's additional result, which must not show.
#[derive(Default)]
pub struct Aside {
    /// The garbler cheated, and its input was recovered. **Do not behave differently.** The garbler can cheat
    /// in a way that makes this depend on the evaluator's input. It garbles a copy that is wrong only if that
    /// input has some property; as long as the copy is not opened, this is true exactly then. So any reaction
    /// that the garbler can notice (a complaint, a pause, no further run, other inputs, a changed price)
    /// reveals that property. The outputs are right in any case. Nothing in this library uses it. At most
    /// write it where nobody reacts to it, and write the same amount when it is false.
    pub recovered: bool,
}

/// The result of a step of a session, for one party.
pub struct StepReport {
    /// The bits of its outputs.
    pub outputs: Vec<bool>,
    /// The values that were kept, in the order of the outputs.
    pub kept: Vec<Secret>,
    /// The promise of this step.
    pub promise: Promise,
    /// The evaluator's additional result.
    pub aside: Aside,
}
