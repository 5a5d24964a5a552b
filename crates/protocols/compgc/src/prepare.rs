//! Crossing 3, the first of the online phase: the evaluator sends the XOR of its input and the random choices
//! of its OTs (Beaver 1995). The garbler then knows the false labels of these wires, but not their bits.

use crate::layout::Layout;
use crate::msg;
use crate::preprocess::{Garbled, Received};
use crate::setup::{Evaluator, Garbler};
use brickwork_base::Error;
use brickwork_base::bits::{pack, unpack};
use brickwork_primitives::Labels;

/// Returns the false labels of the evaluator's inputs: the label of choice 0, or of choice 1 if the input
/// differs from the choice.
pub(super) fn garbler(party: &mut Garbler, layout: &Layout, garbled: &Garbled) -> Result<Labels, Error> {
    party.run.phase("prepare");
    let count = layout.evaluator_inputs();
    if count == 0 {
        return Ok(Labels::default());
    }
    let differs = unpack(&party.run.channel.receive(msg::CHOICES, count.div_ceil(8))?, count)?;
    let (delta, labels) = (party.delta(), garbled.ots.iter().zip(differs));
    Ok(labels.map(|(&label, bit)| label ^ delta.times(bit)).collect())
}

pub(super) fn evaluator(party: &mut Evaluator, input: &[bool], received: &Received) -> Result<(), Error> {
    party.run.phase("prepare");
    if !input.is_empty() {
        let differs = input.iter().zip(received.choices.iter()).map(|(&bit, &choice)| u8::from(bit) ^ choice);
        party.run.channel.send(msg::CHOICES, &pack(differs))?;
    }
    Ok(())
}
