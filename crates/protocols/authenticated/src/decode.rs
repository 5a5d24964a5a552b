//! Masks of outputs are opened, to those who learn them: the evaluator's first, once it has seen that every
//! gate is AND.

use brickwork_base::{Error, Party};

use crate::evaluate::Masked;
use crate::layout::Layout;
use crate::openings::Opening;
use crate::preprocess::Masks;
use crate::setup::Member;
use crate::share::Shares;

/// The shares of the masks of a party's outputs.
fn shares(layout: &Layout, masks: &Masks, party: Party) -> Shares {
    let mut shares = Shares::with_capacity(layout.outputs(party).count());
    shares.extend(layout.outputs(party).map(|wire| masks.wires[wire]));
    shares
}

/// Opens the masks of outputs. Returns this party's outputs.
pub(super) fn open(
    member: &mut Member,
    layout: &Layout,
    masks: &Masks,
    masked: &Masked,
) -> Result<Vec<bool>, Error> {
    member.run.phase("decode");
    let [garblers, evaluators] = [Party::Garbler, Party::Evaluator].map(|party| shares(layout, masks, party));
    let values = match member.own.role {
        Party::Garbler => {
            member.say(Opening::OUTPUTS, &evaluators)?;
            member.hear(Opening::OUTPUTS, &garblers)?
        }
        Party::Evaluator => {
            let values = member.hear(Opening::OUTPUTS, &evaluators)?;
            member.say(Opening::OUTPUTS, &garblers)?;
            values
        }
    };
    let wires = layout.outputs(member.own.role);
    Ok(wires.zip(values.iter()).map(|(wire, mask)| masked[wire] ^ mask == 1).collect())
}
