//! The report of a run.

use super::steps::Secret;
use brickwork_session::Promise;

/// DUPLO, as one of the family; its parties are in the crate's root.
#[derive(Clone, Copy, Debug)]
pub struct Duplo;

/// A party's result; its proposal is the program as it was cut, and its parameters.
pub type Report = brickwork_session::Report<Duplo>;

/// The knowledge of an evaluator beside its outputs.
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

/// The result of a step of a session, for one party.
pub struct StepReport {
    /// The bits of its outputs.
    pub outputs: Vec<bool>,
    /// The values that were kept, in the order of the outputs.
    pub kept: Vec<Secret>,
    /// The promise of this step.
    pub promise: Promise,
    /// The knowledge of an evaluator beside its outputs.
    pub aside: Aside,
}
