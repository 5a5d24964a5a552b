//! Crossing 5: labels become outputs. A bit is the XOR of the colour of the active label and the colour of
//! the false label. Each party knows only one of the two colours of the other party's outputs, which tells it
//! nothing.

use crate::layout::Layout;
use crate::msg;
use crate::setup::{Evaluator, Garbler};
use brickwork_base::bits::{pack, unpack};
use brickwork_base::label::Label;
use brickwork_base::{Error, Party};

/// The colours of the false labels of the evaluator's outputs.
pub(super) struct Decoding(pub Vec<u8>);

fn colours<'a>(layout: &'a Layout, party: Party, wires: &'a [Label]) -> impl Iterator<Item = u8> + 'a {
    layout.outputs(party).map(|wire| wires[wire as usize].colour())
}

fn bits(mine: impl Iterator<Item = u8>, theirs: Vec<u8>) -> Vec<bool> {
    mine.zip(theirs).map(|(a, b)| a ^ b == 1).collect()
}

/// Returns the garbler's outputs. `wires` has the false labels of all wires.
pub(super) fn garbler(party: &mut Garbler, layout: &Layout, wires: &[Label]) -> Result<Vec<bool>, Error> {
    party.run.phase("decode");
    let count = layout.outputs(Party::Garbler).count();
    if count == 0 {
        return Ok(Vec::new());
    }
    let told = party.run.channel.receive(msg::COLOURS, count.div_ceil(8))?;
    Ok(bits(colours(layout, Party::Garbler, wires), unpack(&told, count)?))
}

/// Returns the evaluator's outputs. `wires` has the active labels of all wires.
pub(super) fn evaluator(
    party: &mut Evaluator,
    layout: &Layout,
    wires: &[Label],
    decoding: Decoding,
) -> Result<Vec<bool>, Error> {
    party.run.phase("decode");
    let garblers = pack(colours(layout, Party::Garbler, wires));
    if !garblers.is_empty() {
        party.run.channel.send(msg::COLOURS, &garblers)?;
        party.run.channel.flush()?;
    }
    Ok(bits(colours(layout, Party::Evaluator, wires), decoding.0))
}
