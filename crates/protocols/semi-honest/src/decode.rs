//! Crossing 4: labels become outputs. An output bit is the sum of the colours of the wire's active label and
//! of its false label. For the other party's outputs, each party knows only one of these two colours, which
//! reveals nothing about the bit.

use crate::layout::Chunk;
use crate::msg;
use crate::setup::{Evaluator, Garbler};
use brickwork_base::bits::{pack, unpack};
use brickwork_base::{Error, Party};

/// The colours of the labels of all outputs, `[execution][wire]`. The garbler has those of the false labels,
/// the evaluator those of the active labels.
pub(super) struct OutputColours(pub Vec<u8>);

impl OutputColours {
    /// Returns the colours of a party's outputs, in the same order.
    pub fn of(&self, chunk: &Chunk, party: Party) -> impl Iterator<Item = u8> {
        let layout = chunk.layout;
        let all = self.0.chunks_exact(layout.output_wires().len().max(1));
        all.flat_map(move |colours| layout.places_of_outputs(party).map(|place| colours[place]))
    }
}

fn bits(mine: impl Iterator<Item = u8>, theirs: impl IntoIterator<Item = u8>) -> Vec<bool> {
    mine.zip(theirs).map(|(a, b)| a ^ b == 1).collect()
}

/// Returns the bits of the garbler's outputs, `[execution][bit]`.
pub(super) fn garbler(
    party: &mut Garbler,
    chunk: &Chunk,
    colours: OutputColours,
) -> Result<Vec<bool>, Error> {
    party.run.phase("decode");
    let count = chunk.count() * chunk.layout.places_of_outputs(Party::Garbler).count();
    if count == 0 {
        // If the garbler receives no message here, it must flush the last message itself.
        party.run.channel.flush()?;
        return Ok(Vec::new());
    }
    let colours_of_labels = party.run.channel.receive(msg::COLOURS, count.div_ceil(8))?;
    Ok(bits(colours.of(chunk, Party::Garbler), unpack(&colours_of_labels, count)?))
}

/// Returns the bits of the evaluator's outputs, `[execution][bit]`.
pub(super) fn evaluator(
    party: &mut Evaluator,
    chunk: &Chunk,
    (active, decoding): &(OutputColours, Vec<u8>),
) -> Result<Vec<bool>, Error> {
    party.run.phase("decode");
    let garblers = pack(active.of(chunk, Party::Garbler));
    if !garblers.is_empty() {
        party.run.channel.send(msg::COLOURS, &garblers)?;
        party.run.channel.flush()?;
    }
    Ok(bits(active.of(chunk, Party::Evaluator), decoding.iter().copied()))
}
