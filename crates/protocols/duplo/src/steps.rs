//! Steps of a session (sections 5.3 and 6 of the paper): later inputs, and what is computed next, may depend
//! on what was decoded before, and what was not decoded stays garbled and flows on.
//!
//! An output that a step keeps is soldered to input authenticators of its own, as one that only the garbler
//! learns; but neither its colour nor its indicator bit ever leaves a party. In a later step it is an input
//! of the garbler's in all but two things: the evaluator has its label already, and nobody knows its bit. So
//! all that holds of the garbler's inputs holds of it: the label lies at the head of a bucket, solderings
//! from there are proven, and whoever learns Δ_ka recovers the bit from the self-authenticating labels. That
//! is why recovery needs no memory of the steps that led here.

use brickwork_circuit::{Party, Program, Recipient};

pub use brickwork_session::steps::{Secret, Step};

/// Returns the number of input authenticators that a step takes from the stock.
pub(super) fn authenticators(step: &Step) -> usize {
    garbler_wires(step.program()) - step.carried().count()
}

/// Returns the wires of the garbler's inputs and of the sealed outputs.
pub(super) fn garbler_wires(program: &Program) -> usize {
    program.input_width(Party::Garbler) + sealed_wires(program)
}

/// Returns the wires of the outputs that only the garbler learns, and of those that nobody does.
pub(super) fn sealed_wires(program: &Program) -> usize {
    let sealed = |to: Recipient| !to.includes(Party::Evaluator);
    program.outputs().iter().filter(|o| sealed(o.to)).map(|o| o.wires.len()).sum()
}
