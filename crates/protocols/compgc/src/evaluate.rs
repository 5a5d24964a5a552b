//! Crossing 4, second part: the garbler sends the decoding bits of the evaluator's outputs, and the evaluator
//! evaluates the slots in the order of the program.

use crate::decode::Decoding;
use crate::layout::{Layout, WireRun};
use crate::linking::Linking;
use crate::msg;
use crate::preprocess::{Copy, Received, keys};
use crate::setup::{Evaluator, Garbler};
use brickwork_base::bits::{pack, unpack};
use brickwork_base::label::Label;
use brickwork_base::{Error, Party};
use brickwork_primitives::Labels;
use brickwork_primitives::garbling::{GarblingScheme as _, HalfGates};
use brickwork_primitives::solder::Soldering;

pub(super) fn garbler(party: &mut Garbler, layout: &Layout, wires: &[Label]) -> Result<(), Error> {
    party.run.phase("evaluate");
    let decoding = pack(layout.outputs(Party::Evaluator).map(|wire| wires[wire as usize].colour()));
    if !decoding.is_empty() {
        party.run.channel.send(msg::DECODING, &decoding)?;
    }
    // If the evaluator has no answer to wait for, nothing else flushes the channel.
    party.run.channel.flush()
}

/// Evaluates the program. `wires` has the active labels of the program's inputs, and gets those of all other
/// wires. `links` has the labels of the links that are not free. Returns the decoding bits of the evaluator's
/// outputs.
pub(super) fn evaluator(
    party: &mut Evaluator,
    layout: &Layout,
    received: &Received,
    wires: &mut Labels,
    links: &[Label],
) -> Result<Decoding, Error> {
    party.run.phase("evaluate");
    let count = layout.outputs(Party::Evaluator).count();
    let decoding = match count {
        0 => Vec::new(),
        count => unpack(&party.run.channel.receive(msg::DECODING, count.div_ceil(8))?, count)?,
    };
    let mut links = links.iter();
    let mut soldering = |link: &WireRun| match link.free {
        true => Soldering::default(),
        false => {
            bytemuck::cast(*links.next().expect("the garbler sent a label for each link that is not free"))
        }
    };
    let first = layout.driven_wires().start;
    wires.resize(layout.program.wires(), Label::ZERO);
    let most = layout.program.components().iter().map(|component| component.circuit.inputs()).max();
    let mut inputs = Labels::with_capacity(most.unwrap_or(0));
    for (k, slot) in layout.program.slots().enumerate() {
        inputs.clear();
        match layout.linking {
            Linking::Naive => inputs.extend(slot.inputs.iter().map(|&wire| wires[wire as usize])),
            Linking::Standard | Linking::Scmc => {
                for link in layout.links_of(k) {
                    let soldering = soldering(link);
                    // With `standard`, a link has one wire, so this loop is faster than an iterator.
                    for &label in &wires[link.from as usize..][..link.wires] {
                        inputs.push(soldering.carry(label, Label::ZERO));
                    }
                }
            }
        }
        let component = slot.component.0 as usize;
        let schedule =
            party.program[component].as_ref().expect("each component that a slot uses has a schedule");
        let Copy { start, number } = received.copies[k];
        let keys = keys(start, schedule.and_gates());
        let (copies, tables) = ([number], [&received.tables[layout.tables[k].clone()]]);
        let outputs = layout.slot_outputs(k);
        let made = &mut wires[outputs.clone()];
        HalfGates::evaluate(schedule, &keys, &copies, &inputs, &mut &tables[..], made)?;
        if layout.linking == Linking::Scmc {
            let corrections = &received.corrections[outputs.start - first..outputs.end - first];
            made.iter_mut().zip(corrections).for_each(|(label, &correction)| *label ^= correction);
        }
    }
    Ok(Decoding(decoding))
}
