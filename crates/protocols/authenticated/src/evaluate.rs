//! Inputs are used. The evaluator evaluates, and says the masked values of all wires that have a mask of
//! their own; a hash of their labels shows that they are no others. Then the garbler answers with a digest
//! that is right only if every AND gate is AND:
//!
//! ```text
//!   G    m_g = u_a·M_b + u_b·M_a + M_μ
//!   E    κ_g = u_a·C_b + u_b·C_a + C_μ + (u_a·u_b + u_c)·Δ_E        m_g = κ_g iff c = a·b
//! ```
//!
//! The order is the security: the garbler looks at nothing before it has checked the labels, or an evaluator
//! that names another value would read an inner bit from the digest; and nobody says anything about outputs
//! before the digest.

use brickwork_base::bits::{pack, unpack};
use brickwork_base::label::Label;
use brickwork_base::{Error, Party};
use brickwork_primitives::receive;
use subtle::ConstantTimeEq;

use crate::cheat::Cheat;
use crate::hash::{HASH, Hasher, Purpose};
use crate::hooks::Point;
use crate::layout::Layout;
use crate::msg;
use crate::openings::Opening;
use crate::preprocess::{Made, Received, tags};
use crate::secrets::Secrets;
use crate::setup::Member;
use crate::tables::{GateHash, evaluate};
use crate::walk::walk;

/// Masked values, a byte each.
pub(super) type Masked = Secrets<u8>;

/// The word with these bytes at its low end.
fn word(bytes: &[u8]) -> Label {
    let mut all = [0; 16];
    all[..bytes.len()].copy_from_slice(bytes);
    Label::from_bytes(all)
}

/// Tag number `k` of some of c bytes each.
fn tag(tags: &[u8], c: usize, k: usize) -> Label {
    word(&tags[k * c..][..c])
}

/// u_a·b + u_b·a + μ, of a gate's three tags.
fn answer([a, b, mu]: [Label; 3], [u_a, u_b]: [u8; 2]) -> Label {
    b.times(u_a) ^ a.times(u_b) ^ mu
}

/// Gives the active labels of all inputs, checks what the evaluator reports, and answers. Returns the masked
/// values of the program's wires.
pub(super) fn garbler(
    member: &mut Member,
    layout: &Layout,
    made: &Made,
    input: &[bool],
) -> Result<Masked, Error> {
    member.run.phase("evaluate");
    let own = member.hear(Opening::INPUTS, &made.masks.wires[layout.input_wires(Party::Garbler)])?;
    let theirs = layout.inputs(Party::Evaluator);
    let packed = member.run.channel.receive(msg::MASKED_INPUTS, theirs.div_ceil(8))?;
    let mut masked = Masked::with_capacity(layout.program.wires());
    masked.extend(own.iter().zip(input).map(|(mask, &bit)| mask ^ u8::from(bit)));
    masked.extend(unpack(&packed, theirs)?);
    let delta = member.own.delta;
    let mut active = Secrets::default();
    active.reserve_exact(masked.len());
    active.extend(masked.iter().zip(made.labels.iter()).map(|(&u, &label)| label ^ delta.times(u)));
    member.hooks.alter(Point::InputLabels, &mut active);
    member.run.channel.send(msg::INPUT_LABELS, bytemuck::cast_slice(&active))?;
    let reported = layout.ports() + layout.ands();
    let message = Secrets::new(member.run.channel.receive(msg::REPORT, reported.div_ceil(8) + HASH)?);
    let (packed, told) = message.split_at(reported.div_ceil(8));
    let reported = Masked::new(unpack(packed, reported)?);
    member.require(labels_of(member, layout, made, &reported)[..].ct_eq(told), Cheat::Labels)?;
    let digest = answers(member, layout, made, &reported, &mut masked);
    member.run.channel.send(msg::GATES, &digest)?;
    Ok(masked)
}

/// The hash of the labels that these masked values belong to: ports and AND gates, slot after slot.
fn labels_of(member: &Member, layout: &Layout, made: &Made, reported: &[u8]) -> [u8; HASH] {
    let (c, delta) = (member.level.tag, member.own.delta);
    let mut all = Secrets::with_capacity(c * reported.len());
    let (mut ports, mut gates, mut values) = (made.port_labels.iter(), 0..layout.ands(), reported.iter());
    let mut add = |label: Label| {
        let &u = values.next().expect("a value of each port and AND gate");
        tags(&mut all, c, &[label ^ delta.times(u)]);
    };
    for slot in 0..layout.program.slot_count() {
        let circuit = layout.circuit(slot);
        ports.by_ref().take(circuit.inputs()).for_each(|&label| add(label));
        gates.by_ref().take(circuit.and_gates()).for_each(|gate| add(tag(&made.tags, c, 4 * gate)));
    }
    Hasher::new(&member.key, Purpose::Labels, 0, Party::Evaluator).of(&all)
}

/// Walks masked values through all slots. Returns the digest of the answers of all gates.
fn answers(
    member: &mut Member,
    layout: &Layout,
    made: &Made,
    mut reported: &[u8],
    masked: &mut Masked,
) -> [u8; HASH] {
    let c = member.level.tag;
    let mut all = Secrets::with_capacity(c * layout.ands());
    let mut first = 0;
    for slot in 0..layout.program.slot_count() {
        let circuit = layout.circuit(slot);
        let (ports, rest) = reported.split_at(circuit.inputs());
        let (ands, behind) = rest.split_at(circuit.and_gates());
        reported = behind;
        let mut wires = Masked::with_capacity(circuit.wires());
        wires.extend_from_slice(ports);
        walk(
            circuit,
            &mut wires,
            |u| u,
            |gate, a, b| {
                let macs = [1, 2, 3].map(|k| tag(&made.tags, c, 4 * (first + gate) + k));
                tags(&mut all, c, &[answer(macs, [a, b])]);
                ands[gate]
            },
        );
        first += circuit.and_gates();
        masked.extend(circuit.outputs().iter().map(|&wire| wires[wire as usize]));
    }
    member.hooks.alter(Point::Gates, &mut all);
    Hasher::new(&member.key, Purpose::Gates, 0, Party::Garbler).of(&all)
}

/// What evaluating gives beside labels.
struct Evaluated {
    /// Masked values that are reported, and tags of their labels.
    reported: Masked,
    labels: Secrets<u8>,
    /// κ of all gates.
    answers: Secrets<u8>,
    /// Masked values of the program's wires.
    masked: Masked,
}

/// Asks for its inputs' labels, evaluates, reports, and checks the garbler's answer. Returns the masked
/// values of the program's wires.
pub(super) fn evaluator(
    member: &mut Member,
    layout: &Layout,
    received: &Received,
    (solderings, masks): (&Secrets<Label>, &[u8]),
    input: &[bool],
) -> Result<Masked, Error> {
    member.run.phase("evaluate");
    let own: Masked =
        Secrets::new(masks.iter().zip(input).map(|(mask, &bit)| mask ^ u8::from(bit)).collect());
    member.run.channel.send(msg::MASKED_INPUTS, &pack(own.iter().copied()))?;
    let inputs =
        Secrets::new(receive::labels(&mut member.run.channel, msg::INPUT_LABELS, layout.all_inputs())?);
    let of_own = &inputs[layout.input_wires(Party::Evaluator)];
    let differ = of_own.iter().zip(own.iter()).fold(0, |bad, (label, u)| bad | (label.colour() ^ u));
    member.require(differ == 0, Cheat::InputLabel)?;
    let mut done = evaluate_slots(member, layout, received, solderings, &inputs);
    member.hooks.alter(Point::Report, &mut done.reported);
    member.hooks.alter(Point::ReportedTags, &mut done.labels);
    let mut message = pack(done.reported.iter().copied());
    let hash = Hasher::new(&member.key, Purpose::Labels, 0, Party::Evaluator).of(&done.labels);
    message.extend_from_slice(&hash);
    member.run.channel.send(msg::REPORT, &message)?;
    let told = member.run.channel.receive(msg::GATES, HASH)?;
    let hash = Hasher::new(&member.key, Purpose::Gates, 0, Party::Garbler).of(&done.answers);
    member.require(hash[..].ct_eq(&told), Cheat::Gates)?;
    Ok(done.masked)
}

/// Evaluates all slots.
fn evaluate_slots(
    member: &Member,
    layout: &Layout,
    received: &Received,
    solderings: &Secrets<Label>,
    inputs: &[Label],
) -> Evaluated {
    let (c, delta) = (member.level.tag, member.own.delta);
    let (ports, ands) = (layout.ports(), layout.ands());
    let mut done = Evaluated {
        reported: Masked::with_capacity(ports + ands),
        labels: Secrets::with_capacity(c * (ports + ands)),
        answers: Secrets::with_capacity(c * ands),
        masked: Masked::default(),
    };
    let mut active = Secrets::with_capacity(layout.program.wires());
    active.extend_from_slice(inputs);
    let (mut rows, mut keys, mut solderings) = (&received.rows[..], &received.tags[..], solderings.iter());
    for (group, &start) in layout.groups().zip(&received.starts) {
        let (mut hash, mut first) = (GateHash::new(start), 0);
        for slot in group.slots.clone() {
            let (circuit, slot) = (layout.circuit(slot), layout.program.slot(slot));
            let mut wires = Secrets::with_capacity(circuit.wires());
            let sources = slot.inputs.iter().map(|&wire| active[wire as usize]);
            wires.extend(sources.zip(solderings.by_ref()).map(|(label, &soldering)| label ^ soldering));
            done.reported.extend(wires.iter().map(|label| label.colour()));
            tags(&mut done.labels, c, &wires);
            evaluate(circuit, &mut hash, first, rows, &mut wires, |gate, [a, b, output]| {
                let [u_a, u_b, u_c] = [a, b, output].map(Label::colour);
                let of_gate = [0, 1, 2].map(|k| tag(keys, c, 3 * gate + k));
                let kappa = answer(of_gate, [u_a, u_b]) ^ delta.times(u_a & u_b ^ u_c);
                tags(&mut done.answers, c, &[kappa]);
                done.reported.push(u_c);
                tags(&mut done.labels, c, &[output]);
            });
            active.extend(circuit.outputs().iter().map(|&wire| wires[wire as usize]));
            (rows, keys) = (&rows[circuit.and_gates()..], &keys[3 * c * circuit.and_gates()..]);
            first += circuit.and_gates() as u64;
        }
    }
    done.masked = Masked::new(active.iter().map(|label| label.colour()).collect());
    done
}
