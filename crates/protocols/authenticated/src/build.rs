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
use crate::components::{Copies, Garbled, Made, Received, Wave};
use crate::hash::{HASH, Hasher, Purpose};
use crate::hooks::Point;
use crate::keep::Keep;
use crate::layout::{Layout, Source};
use crate::msg;
use crate::openings::Opening;
use crate::secrets::Secrets;
use crate::setup::Member;
use crate::share::Shares;

/// A program and its soldered components.
pub(super) struct Connected<'m, C> {
    pub made: &'m Made<C>,
    pub waves: Vec<Wave>,
    pub masks: Shares,
}

impl<'m, C: Copies> Connected<'m, C> {
    /// Takes the items of the program. Also returns the number of the first fresh input it took.
    fn new(layout: &Layout, made: &'m mut Made<C>, keep: &Keep) -> Result<(Self, usize), Error> {
        let (waves, first) = made.take(layout)?;
        let made: &'m Made<C> = made;
        let mut masks = Shares::with_capacity(layout.program.wires());
        for source in &layout.sources {
            masks.push(match *source {
                Source::Fresh(number) => made.inputs.at(first + number),
                Source::Kept(number, k) => keep.of_number(number)?.masks.at(k),
            });
        }
        for wave in &waves {
            masks.extend(made.of(wave).outputs().some(wave.each(made.schedule(wave).outputs())));
        }
        Ok((Connected { made, waves, masks }, first))
    }

    pub fn of_inputs(&self, layout: &Layout, party: Party) -> Shares {
        self.masks.gathered(layout.inputs(party), layout.input_wires(party))
    }
}

/// The evaluator's part of a program whose components are soldered.
pub(super) struct Soldered {
    /// S of each port.
    pub solderings: Secrets<Label>,
    /// The masks of the evaluator's inputs.
    pub masks: Secrets<u8>,
}

/// Returns the wires that feed the ports of a wave, in the order of the ports.
fn sources<'p>(program: &'p Program, wave: &Wave) -> impl Iterator<Item = usize> + 'p {
    wave.slots.clone().flat_map(move |slot| program.slot(slot).inputs.iter().map(|&wire| wire as usize))
}

/// Solders all slots, and sends the garbler's shares of the masks of the evaluator's inputs. Returns the
/// soldered program, and the labels of masked value 0 of its wires.
pub(super) fn garbler<'m>(
    member: &mut Member,
    layout: &Layout,
    made: &'m mut Made<Garbled>,
) -> Result<(Connected<'m, Garbled>, Secrets<Label>), Error> {
    member.run.phase("build");
    let (connected, first) = Connected::new(layout, made, &member.keep)?;
    let Connected { made, waves, masks } = &connected;
    let mut labels = Secrets::with_capacity(layout.program.wires());
    for source in &layout.sources {
        labels.push(match *source {
            Source::Fresh(number) => made.input_labels[first + number],
            Source::Kept(number, k) => member.keep.of_number(number)?.labels[k],
        });
    }
    let mut solderings = Vec::with_capacity(layout.ports);
    let mut macs = Secrets::<Label>::with_capacity(layout.ports);
    for wave in waves {
        look();
        let (copies, schedule) = (made.of(wave), made.schedule(wave));
        for (source, port) in sources(layout.program, wave).zip(wave.each(schedule.inputs())) {
            let mask = masks.at(source) ^ copies.ports.at(port);
            solderings.push(labels[source] ^ copies.port_labels[port] ^ member.own.own(mask));
            macs.push(mask.mac);
        }
        labels.extend_from_slice(&copies.output_labels[wave.each(schedule.outputs())]);
    }
    member.hooks.alter(Point::Solderings, &mut solderings);
    let place = member.place()?;
    let hash = Hasher::new(&member.key, Purpose::Soldered, place, Party::Garbler);
    let mut message = member.run.channel.message(msg::SOLDERINGS);
    message.push(bytemuck::cast_slice(&solderings))?;
    message.push(&hash.of(bytemuck::cast_slice(&macs)))?;
    message.finish()?;
    let place = member.place()?;
    member.say(Opening::INPUTS, place, connected.of_inputs(layout, Party::Evaluator).all())?;
    member.run.channel.flush()?;
    Ok((connected, labels))
}

/// Receives the solderings, checks their last bits, and sends the evaluator's shares of the masks of the
/// garbler's inputs. Returns the soldered program, the solderings and the masks of the evaluator's inputs.
pub(super) fn evaluator<'m>(
    member: &mut Member,
    layout: &Layout,
    made: &'m mut Made<Received>,
) -> Result<(Connected<'m, Received>, Soldered), Error> {
    member.run.phase("build");
    let (connected, _) = Connected::new(layout, made, &member.keep)?;
    let Connected { made, waves, masks } = &connected;
    let ports = layout.ports;
    let message = member.run.channel.receive(msg::SOLDERINGS, LABEL_BYTES * ports + HASH)?;
    let (words, told) = message.split_at(LABEL_BYTES * ports);
    let mut words = words.as_chunks::<LABEL_BYTES>().0.iter();
    let (mut solderings, mut macs) = (Secrets::with_capacity(ports), Secrets::<Label>::with_capacity(ports));
    for wave in waves {
        look();
        let (copies, inputs) = (made.of(wave), made.schedule(wave).inputs());
        for ((source, port), word) in sources(layout.program, wave).zip(wave.each(inputs)).zip(words.by_ref())
        {
            let mask = masks.at(source) ^ copies.ports.at(port);
            let soldering = Label::from_bytes(*word) ^ mask.mac;
            // The garbler's share of the sum of both masks: the soldering's last bit minus the evaluator's
            // share.
            macs.push(member.own.expected(mask.key, soldering.colour() ^ mask.mac.colour()));
            solderings.push(soldering);
        }
    }
    let place = member.place()?;
    let hash = Hasher::new(&member.key, Purpose::Soldered, place, Party::Garbler);
    member.require(hash.of(bytemuck::cast_slice(&macs))[..].ct_eq(told), Cheat::Soldering)?;
    let place = member.place()?;
    let own = member.hear(Opening::INPUTS, place, connected.of_inputs(layout, Party::Evaluator).all())?;
    let place = member.place()?;
    member.say(Opening::INPUTS, place, connected.of_inputs(layout, Party::Garbler).all())?;
    Ok((connected, Soldered { solderings, masks: own }))
}
