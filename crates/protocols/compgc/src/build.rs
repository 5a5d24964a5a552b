//! Crossing 4: the garbler sends the active labels of its inputs and one label for each link. With `naive` it
//! also garbles the slots here and sends their tables.

use crate::layout::Layout;
use crate::linking::Linking;
use crate::msg;
use crate::preprocess::{Garbled, Received, garble};
use crate::setup::{Evaluator, Garbler};
use brickwork_base::Error;
use brickwork_base::label::Label;
use brickwork_primitives::Labels;
use brickwork_primitives::receive;
use brickwork_primitives::solder::Soldering;

/// Sends the garbler's labels and the links. `input` has the garbler's bits, and `theirs` the false labels of
/// the evaluator's inputs. Returns the false labels of all wires.
pub(super) fn garbler(
    party: &mut Garbler,
    layout: &Layout,
    garbled: Garbled,
    input: &[bool],
    theirs: &[Label],
) -> Result<Labels, Error> {
    party.run.phase("build");
    let Garbled { mut wires, inputs, .. } = garbled;
    let delta = party.delta();
    let mut send = |tag, labels: &[Label]| match labels {
        [] => Ok(()),
        labels => party.run.channel.send(tag, bytemuck::cast_slice(labels)),
    };
    let active = wires.iter().zip(input).map(|(&label, &bit)| label ^ delta.times(u8::from(bit)));
    send(msg::INPUT_LABELS, &active.collect::<Vec<Label>>())?;
    let evaluators = &mut wires[layout.evaluator_wires()];
    match layout.linking {
        Linking::Scmc => {
            let corrections = evaluators.iter().zip(theirs).map(|(&to, &from)| from ^ to);
            send(msg::INPUT_CORRECTIONS, &corrections.collect::<Vec<Label>>())?;
        }
        Linking::Naive | Linking::Standard => evaluators.copy_from_slice(theirs),
    }
    let links = layout.links.iter().filter(|link| !link.free);
    let links: Vec<Soldering> =
        links.map(|link| Soldering::of_one_offset(wires[link.from as usize], inputs[link.to])).collect();
    send(msg::LINKS, bytemuck::cast_slice(&links))?;
    if layout.linking == Linking::Naive {
        garble(party, layout, &mut wires, &[])?;
    }
    Ok(wires)
}

/// Returns the active labels of the program's inputs and the labels of the links. A link's label turns the
/// labels of its wires into labels of slot inputs.
pub(super) fn evaluator(
    party: &mut Evaluator,
    layout: &Layout,
    received: &mut Received,
) -> Result<(Labels, Vec<Label>), Error> {
    party.run.phase("build");
    let channel = &mut party.run.channel;
    let mut labels = |tag, count| match count {
        0 => Ok(Vec::new()),
        count => receive::labels(channel, tag, count),
    };
    let mut wires = Labels::new(labels(msg::INPUT_LABELS, layout.garbler_inputs())?);
    wires.reserve_exact(layout.program.wires() - layout.garbler_inputs());
    wires.extend(received.ots.iter());
    if layout.linking == Linking::Scmc {
        let corrections = labels(msg::INPUT_CORRECTIONS, layout.evaluator_inputs())?;
        let own = wires[layout.garbler_inputs()..].iter_mut();
        own.zip(corrections).for_each(|(label, correction)| *label ^= correction);
    }
    let links = labels(msg::LINKS, layout.labels_of_links())?;
    if layout.linking == Linking::Naive {
        received.receive(party, layout)?;
    }
    Ok((wires, links))
}
