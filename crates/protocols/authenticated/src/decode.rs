//! Opens the masks of outputs to the parties that learn them. The evaluator's outputs come first, after it
//! has checked that every gate computes AND.

use brickwork_base::{Error, Party};

use crate::layout::Layout;
use crate::openings::Opening;
use crate::secrets::MaskedValues;
use crate::setup::SessionState;
use crate::share::Share;
use crate::shelf::Paged;

/// Opens the masks of outputs. Returns this party's outputs.
pub(super) fn open(
    member: &mut SessionState,
    layout: &Layout,
    masks: &mut Paged<Share>,
    masked: &MaskedValues,
) -> Result<Vec<bool>, Error> {
    member.run.phase("decode");
    let both = [Party::Garbler, Party::Evaluator];
    let ([garblers, evaluators], [to_garbler, to_evaluator]) =
        (both.map(|party| layout.outputs(party).count()), both.map(|party| layout.outputs(party)));
    let values = match member.own.role {
        Party::Garbler => {
            member.say(Opening::OUTPUTS, masks, evaluators, to_evaluator)?;
            member.hear(Opening::OUTPUTS, masks, garblers, to_garbler)?
        }
        Party::Evaluator => {
            let values = member.hear(Opening::OUTPUTS, masks, evaluators, to_evaluator)?;
            member.say(Opening::OUTPUTS, masks, garblers, to_garbler)?;
            // The message is flushed now, so that the garbler gets its outputs whatever the evaluator does
            // next.
            member.run.channel.flush()?;
            values
        }
    };
    let wires = layout.outputs(member.own.role);
    Ok(wires.zip(values.iter()).map(|(wire, mask)| masked[wire] ^ mask == 1).collect())
}
