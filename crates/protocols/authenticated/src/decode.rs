//! Opens the masks of outputs to the parties that learn them. The evaluator's outputs come first, after it
//! has checked that every gate computes AND.

use brickwork_base::{Error, Party};

use crate::layout::Layout;
use crate::openings::Opening;
use crate::secrets::Masked;
use crate::setup::Member;
use crate::share::Share;
use crate::shelf::Paged;

/// Opens the masks of outputs. Returns this party's outputs.
pub(super) fn open(
    member: &mut Member,
    layout: &Layout,
    masks: &mut Paged<Share>,
    masked: &Masked,
) -> Result<Vec<bool>, Error> {
    member.run.phase("decode");
    let mut of = |party| masks.gathered(layout.outputs(party).count(), layout.outputs(party));
    let (garblers, evaluators) = (of(Party::Garbler)?, of(Party::Evaluator)?);
    let [of_evaluators, of_garblers] = [member.place()?, member.place()?];
    let values = match member.own.role {
        Party::Garbler => {
            member.say(Opening::OUTPUTS, of_evaluators, evaluators.all())?;
            member.hear(Opening::OUTPUTS, of_garblers, garblers.all())?
        }
        Party::Evaluator => {
            let values = member.hear(Opening::OUTPUTS, of_evaluators, evaluators.all())?;
            member.say(Opening::OUTPUTS, of_garblers, garblers.all())?;
            // The garbler gets its outputs now, whatever the evaluator does next.
            member.run.channel.flush()?;
            values
        }
    };
    let wires = layout.outputs(member.own.role);
    Ok(wires.zip(values.iter()).map(|(wire, mask)| masked[wire] ^ mask == 1).collect())
}
