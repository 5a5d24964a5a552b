//! Solders components: a soldering turns the active label of a wire into the active label of a port.
//!
//! ```text
//!   G    S' = L_i + L_j + A_i + A_j
//!   E    S = S' + B_i + B_j = L_i + L_j + d·Δ_G,    d = lsb(S) = λ_i + λ_j,    X_j = X_i + S
//! ```
//!
//! Each port has its own label and mask, so S and d are uniform even if a wire feeds many ports. A program
//! uses each port once, so each port is soldered once. MACs check the bit d: a wrong d would negate the wire.

use brickwork_base::Error;
use brickwork_base::Party;
use brickwork_base::label::{LABEL_BYTES, Label};
use brickwork_base::stop::look;
use brickwork_circuit::Program;
use subtle::ConstantTimeEq;

use crate::cheat::Cheat;
use crate::components::{CopiesOf, Garbled, MadeComponents, Received, Wave};
use crate::hash::{HASH, HashPurpose, RunningHash};
use crate::hooks::Point;
use crate::incoming::Incoming;
use crate::layout::{InputSource, Layout};
use crate::msg;
use crate::openings::Opening;
use crate::secrets::SecretBlocks;
use crate::setup::SessionState;
use crate::share::Share;
use crate::shelf::{ListPlace, Paged};

/// A program and its soldered components.
pub(super) struct Connected<'m, C> {
    pub made: &'m MadeComponents<C>,
    pub waves: Vec<Wave>,
    /// The masks of the program's wires.
    pub masks: Paged<Share>,
    /// The place where data about the program's wires and ports is kept.
    pub shelf: ListPlace,
}

impl<'m, C: CopiesOf> Connected<'m, C> {
    /// Takes the items of the program. Returns also a list, which at the garbler begins with the labels of
    /// the inputs.
    fn new(
        member: &mut SessionState,
        layout: &Layout,
        made: &'m mut MadeComponents<C>,
    ) -> Result<(Self, Paged<Label>), Error> {
        let (waves, first) = made.take(layout)?;
        let (wires, is_garbler) = (layout.program.wires(), member.own.role == Party::Garbler);
        let solderings = if is_garbler { 0 } else { layout.ports };
        let bytes = size_of::<Share>() * wires + LABEL_BYTES * (wires + solderings);
        let shelf = made.shelf.another(bytes as u64, &mut member.rng)?;
        let (mut masks, mut labels) = (shelf.paged(wires), shelf.paged(wires));
        for source in layout.sources() {
            let (mask, label) = match source {
                InputSource::Fresh(number) if is_garbler => {
                    (made.inputs.at(first + number)?, made.input_labels.at(first + number)?)
                }
                InputSource::Fresh(number) => (made.inputs.at(first + number)?, Label::ZERO),
                InputSource::Kept(number, k) => {
                    let kept = member.keep.of_number(number)?;
                    (kept.masks.at(k), kept.labels[k])
                }
            };
            masks.push(mask)?;
            if is_garbler {
                labels.push(label)?;
            }
        }
        Ok((Connected { made, waves, masks, shelf }, labels))
    }

    /// Adds the masks of a wave's outputs, after those of all waves before it.
    fn add_outputs(&mut self, wave: &Wave) -> Result<(), Error> {
        let outputs = self.made.of(wave).outputs();
        let outputs = outputs.read(wave.each(self.made.schedule(wave).outputs()))?;
        outputs.each().try_for_each(|share| self.masks.push(share))
    }
}

/// The evaluator's part of a program whose components are soldered.
pub(super) struct SolderedProgram {
    /// S of each port.
    pub solderings: Paged<Label>,
    /// The masks of the evaluator's inputs.
    pub masks: SecretBlocks<u8>,
}

/// The largest number of ports whose solderings are in memory before they are sent.
const IN_HAND: usize = 1 << 14;

/// Returns the wires that feed the ports of a wave, in the order of the ports.
fn sources<'p>(program: &'p Program, wave: &Wave) -> impl Iterator<Item = usize> + 'p {
    wave.slots.clone().flat_map(move |slot| program.slot(slot).inputs.iter().map(|&wire| wire as usize))
}

/// Solders all slots, and sends the garbler's shares of the masks of the evaluator's inputs. Returns the
/// soldered program, and the labels of masked value 0 of its wires.
pub(super) fn garbler<'m>(
    member: &mut SessionState,
    layout: &Layout,
    made: &'m mut MadeComponents<Garbled>,
) -> Result<(Connected<'m, Garbled>, Paged<Label>), Error> {
    member.run.phase("build");
    let (mut connected, mut labels) = Connected::new(member, layout, made)?;
    let made = connected.made;
    let place = member.place()?;
    let mut hash = RunningHash::new(&member.key, HashPurpose::Soldered, place, Party::Garbler);
    let SessionState { run, own, hooks, .. } = member;
    let mut message = run.channel.message(msg::SOLDERINGS);
    let most = layout.ports.min(IN_HAND);
    let (mut solderings, mut macs) = (Vec::with_capacity(most), SecretBlocks::<Label>::with_capacity(most));
    let mut send = |solderings: &mut Vec<Label>, macs: &mut SecretBlocks<Label>| {
        hooks.alter(Point::Solderings, solderings);
        hash.update(bytemuck::cast_slice(macs));
        message.push(bytemuck::cast_slice(solderings))?;
        solderings.clear();
        macs.clear();
        Ok::<_, Error>(())
    };
    for wave in std::mem::take(&mut connected.waves) {
        look();
        let (copies, inputs) = (made.of(&wave), made.schedule(&wave).inputs());
        let ports = copies.ports.read(wave.each(inputs))?;
        let port_labels = copies.port_labels.read(wave.each(inputs))?;
        for ((source, port), &label) in
            sources(layout.program, &wave).zip(ports.each()).zip(port_labels.iter())
        {
            if solderings.len() == most {
                send(&mut solderings, &mut macs)?;
            }
            let mask = connected.masks.at(source)? ^ port;
            solderings.push(labels.at(source)? ^ label ^ own.own(mask));
            macs.push(mask.mac);
        }
        connected.add_outputs(&wave)?;
        let outputs = copies.output_labels.read(wave.each(made.schedule(&wave).outputs()))?;
        outputs.iter().try_for_each(|&label| labels.push(label))?;
        connected.waves.push(wave);
    }
    send(&mut solderings, &mut macs)?;
    message.push(&hash.finish())?;
    message.finish()?;
    let (theirs, wires) = (layout.inputs(Party::Evaluator), layout.input_wires(Party::Evaluator));
    member.say(Opening::INPUTS, &mut connected.masks, theirs, wires)?;
    member.run.channel.flush()?;
    Ok((connected, labels))
}

/// Receives the solderings, checks their last bits, and sends the evaluator's shares of the masks of the
/// garbler's inputs. Returns the soldered program, the solderings and the masks of the evaluator's inputs.
pub(super) fn evaluator<'m>(
    member: &mut SessionState,
    layout: &Layout,
    made: &'m mut MadeComponents<Received>,
) -> Result<(Connected<'m, Received>, SolderedProgram), Error> {
    member.run.phase("build");
    let (mut connected, _) = Connected::new(member, layout, made)?;
    let made = connected.made;
    let mut solderings = connected.shelf.paged(layout.ports);
    let left = LABEL_BYTES * layout.ports + HASH;
    let mut message = Incoming::new(msg::SOLDERINGS, left);
    let place = member.place()?;
    let mut hash = RunningHash::new(&member.key, HashPurpose::Soldered, place, Party::Garbler);
    for wave in std::mem::take(&mut connected.waves) {
        look();
        let inputs = made.schedule(&wave).inputs();
        let ports = made.of(&wave).ports.read(wave.each(inputs))?;
        let mut macs = SecretBlocks::<Label>::with_capacity(wave.each(inputs).len());
        for (source, port) in sources(layout.program, &wave).zip(ports.each()) {
            let mask = connected.masks.at(source)? ^ port;
            let word = Label::from_bytes(message.next(&mut member.run.channel)?);
            let soldering = word ^ mask.mac;
            // The garbler's share of the sum of both masks is the soldering's last bit plus the evaluator's
            // share.
            macs.push(member.own.expected(mask.key, soldering.colour() ^ mask.mac.colour()));
            solderings.push(soldering)?;
        }
        hash.update(bytemuck::cast_slice(&macs));
        connected.add_outputs(&wave)?;
        connected.waves.push(wave);
    }
    let told: [u8; HASH] = message.next(&mut member.run.channel)?;
    member.require(hash.finish()[..].ct_eq(&told), Cheat::Soldering)?;
    let [theirs, own] = [Party::Garbler, Party::Evaluator].map(|party| layout.inputs(party));
    let wires = layout.input_wires(Party::Evaluator);
    let own = member.hear(Opening::INPUTS, &mut connected.masks, own, wires)?;
    let wires = layout.input_wires(Party::Garbler);
    member.say(Opening::INPUTS, &mut connected.masks, theirs, wires)?;
    Ok((connected, SolderedProgram { solderings, masks: own }))
}
