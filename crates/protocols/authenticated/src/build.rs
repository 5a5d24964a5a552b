//! Components are connected: a soldering takes the active label of a wire to that of the port that it feeds.
//!
//! ```text
//!   G    S' = L_i + L_j + A_i + A_j
//!   E    S = S' + B_i + B_j = L_i + L_j + d·Δ_G,    d = lsb(S) = λ_i + λ_j,    X_j = X_i + S
//! ```
//!
//! Each port has a label and a mask of its own, so S and d are uniform, however often a wire is used; and a
//! port has one place in a program, so it is soldered once. The bit d is checked by macs: with another one
//! the wire would be negated.

use brickwork_base::Error;
use brickwork_base::Party;
use brickwork_base::label::{LABEL_BYTES, Label};
use subtle::ConstantTimeEq;

use crate::cheat::Cheat;
use crate::hash::{HASH, Hasher, Purpose};
use crate::hooks::Point;
use crate::layout::Layout;
use crate::msg;
use crate::openings::Opening;
use crate::preprocess::{Made, Received};
use crate::secrets::Secrets;
use crate::setup::Member;

/// The program's wires that feed the input wires of slots, in order.
fn sources<'p>(layout: &Layout<'p>) -> impl Iterator<Item = usize> + 'p {
    let program = layout.program;
    program.slots().flat_map(|slot| slot.inputs.iter().map(|&wire| wire as usize))
}

/// Solders all slots, and says its shares of the masks of the evaluator's inputs.
pub(super) fn garbler(member: &mut Member, layout: &Layout, made: &Made) -> Result<(), Error> {
    member.run.phase("build");
    let mut solderings = Vec::with_capacity(layout.ports());
    let mut macs = Secrets::<Label>::with_capacity(layout.ports());
    for (port, source) in sources(layout).enumerate() {
        let mask = made.masks.wires[source] ^ made.masks.ports[port];
        solderings.push(made.labels[source] ^ made.port_labels[port] ^ mask.key);
        macs.push(mask.mac);
    }
    member.hooks.alter(Point::Solderings, &mut solderings);
    let hash = Hasher::new(&member.key, Purpose::Soldered, 0, Party::Garbler).of(bytemuck::cast_slice(&macs));
    let mut message = member.run.channel.message(msg::SOLDERINGS);
    message.push(bytemuck::cast_slice(&solderings))?;
    message.push(&hash)?;
    message.finish()?;
    member.say(Opening::INPUTS, &made.masks.wires[layout.input_wires(Party::Evaluator)])?;
    member.run.channel.flush()
}

/// Receives the solderings S, checks their last bits, and says its shares of the masks of the garbler's
/// inputs. Returns the solderings and the masks of its own inputs.
pub(super) fn evaluator(
    member: &mut Member,
    layout: &Layout,
    received: &Received,
) -> Result<(Secrets<Label>, Secrets<u8>), Error> {
    member.run.phase("build");
    let ports = layout.ports();
    let message = member.run.channel.receive(msg::SOLDERINGS, LABEL_BYTES * ports + HASH)?;
    let (words, told) = message.split_at(LABEL_BYTES * ports);
    let (mut solderings, mut macs) = (Secrets::with_capacity(ports), Secrets::<Label>::with_capacity(ports));
    for ((port, source), word) in sources(layout).enumerate().zip(words.as_chunks::<LABEL_BYTES>().0) {
        let mask = received.masks.wires[source] ^ received.masks.ports[port];
        let soldering = Label::from_bytes(*word) ^ mask.mac;
        macs.push(member.own.expected(mask, soldering.colour()));
        solderings.push(soldering);
    }
    let hash = Hasher::new(&member.key, Purpose::Soldered, 0, Party::Garbler).of(bytemuck::cast_slice(&macs));
    member.require(hash[..].ct_eq(told), Cheat::Soldering)?;
    let own = member.hear(Opening::INPUTS, &received.masks.wires[layout.input_wires(Party::Evaluator)])?;
    member.say(Opening::INPUTS, &received.masks.wires[layout.input_wires(Party::Garbler)])?;
    Ok((solderings, own))
}
