//! The evaluator sends the difference between its input and the choices of its OTs, which are random and
//! secret. The garbler's label for choice 0 of an OT is the label for the difference bit. So the difference
//! bit is the permutation bit of the wire, which both parties know.

use brickwork_base::bits::{pack, unpack};
use brickwork_base::{Error, Party};

use crate::layout::Layout;
use crate::msg;
use crate::open::CheckedChoices;
use crate::setup::{Evaluator, Garbler};

/// Returns the permutation bits of the evaluator's inputs.
pub(super) fn garbler(party: &mut Garbler, layout: &Layout) -> Result<Vec<u8>, Error> {
    party.run.phase("prepare");
    match layout.inputs(Party::Evaluator) {
        0 => Ok(Vec::new()),
        count => Ok(unpack(&party.run.channel.receive(msg::CHOICES, count.div_ceil(8))?, count)?),
    }
}

/// Sends the permutation bits for the evaluator's `input`, and returns them. The input is used only after the
/// openings have been checked. The evaluator uses its first OTs.
pub(super) fn evaluator(
    party: &mut Evaluator,
    choices: CheckedChoices,
    input: &[bool],
) -> Result<Vec<u8>, Error> {
    party.run.phase("prepare");
    let bits: Vec<u8> = input.iter().zip(choices.0).map(|(&bit, c)| u8::from(bit) ^ c).collect();
    if !bits.is_empty() {
        party.run.channel.send(msg::CHOICES, &pack(bits.iter().copied()))?;
        party.run.channel.flush()?;
    }
    Ok(bits)
}
