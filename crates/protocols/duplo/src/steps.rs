//! Steps of a session (sections 5.3 and 6 of the paper). Later inputs and programs may depend on decoded
//! outputs. Outputs that were not decoded stay garbled for later steps.
//!
//! A kept output is soldered to its own input authenticators, like an output that only the garbler learns,
//! but its colour and its indicator bit never leave a party. In a later step it is like an input of the
//! garbler, with two differences: the evaluator already has its label, and nobody knows its bit. So it has
//! all properties of the garbler's inputs: the label is at the head of a bucket, solderings from there are
//! proven, and with Δ_ka the self-authenticating labels give the bit. Recovery therefore needs no data of
//! earlier steps.

use brickwork_circuit::{Party, Program, Recipient};

pub use brickwork_protocol::steps::{Secret, Step};

/// Returns the number of input authenticators that a step takes from the stock.
pub(super) fn authenticators(step: &Step) -> usize {
    garbler_wires(step.program()) - step.carried().count()
}

/// Returns the number of wires of the garbler's inputs and of the sealed outputs.
pub(super) fn garbler_wires(program: &Program) -> usize {
    program.input_width(Party::Garbler) + sealed_wires(program)
}

/// Returns the number of wires of the sealed outputs: outputs for the garbler alone, and kept outputs.
pub(super) fn sealed_wires(program: &Program) -> usize {
    let sealed = |to: Recipient| !to.includes(Party::Evaluator);
    program.outputs().iter().filter(|o| sealed(o.to)).map(|o| o.wires.len()).sum()
}
