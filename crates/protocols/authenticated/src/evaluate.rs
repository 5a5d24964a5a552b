//! The evaluator evaluates all slots, and reports the masked value of every wire with a mask of its own, with
//! a hash of these wires' labels. The garbler checks the hash, and answers with a digest that matches the
//! evaluator's only if every AND gate computes AND:
//!
//! ```text
//!   G    m_g = u_a·M_b + u_b·M_a + M_μ
//!   E    κ_g = u_a·C_b + u_b·C_a + C_μ + (u_a·u_b + u_c)·Δ_E        m_g = κ_g iff c = a·b
//! ```
//!
//! The order of these steps is important for security. The garbler checks the labels before it computes the
//! digest. Otherwise the evaluator could report a wrong value, and read an inner bit from the digest. Neither
//! party sends data about outputs before the digest is checked.

use brickwork_base::bits::{pack, unpack};
use brickwork_base::label::{LABEL_BYTES, Label};
use brickwork_base::stop::look;
use brickwork_base::{Error, Party};
use brickwork_primitives::garbling::masked::{self, Numbered, walk_bits};
use subtle::ConstantTimeEq;

use crate::build::{Connected, SolderedProgram};
use crate::cheat::Cheat;
use crate::components::{Garbled, Received, Wave};
use crate::hash::{HASH, HashPurpose, RunningHash};
use crate::hooks::Point;
use crate::incoming::Incoming;
use crate::layout::{InputSource, Layout};
use crate::msg;
use crate::openings::Opening;
use crate::secrets::{MaskedValues, SecretBlocks};
use crate::setup::SessionState;
use crate::shelf::Paged;
use crate::words::{SPARE, add_where, put_word, word};

/// Packs the bits of several copies into one word for each position in `each`; the first copy has the lowest
/// bit.
fn side_by_side(bits: &[u8], stride: usize, each: std::ops::Range<usize>) -> SecretBlocks<u16> {
    let mut words = SecretBlocks::zeros(each.len());
    for (copy, bits) in bits.chunks_exact(stride).enumerate() {
        let here = &bits[each.clone()];
        words.iter_mut().zip(here).for_each(|(word, &bit)| *word |= u16::from(bit & 1) << copy);
    }
    words
}

/// The masked values of the operands of AND gates. Each word has the values of several copies.
struct Operands(SecretBlocks<[u16; 2]>);

impl Operands {
    /// Returns the operands of a copy's AND gates, in order.
    fn of(&self, copy: usize) -> impl Iterator<Item = [u8; 2]> + '_ {
        self.0.iter().map(move |words| words.map(|word| (word >> copy) as u8 & 1))
    }
}

/// Computes masked values in the copies of a wave from the reported values `[copy][port, then AND gate]`.
/// Returns the values of the gates' operands, and of the outputs, `[copy][output]`.
fn walk(connected: &Connected<'_, Garbled>, wave: &Wave, reported: &[u8]) -> (Operands, MaskedValues) {
    let schedule = connected.made.schedule(wave);
    walked(schedule, wave.copies.len(), reported)
}

/// Does the same as [`walk`], for a schedule and a number of copies.
fn walked(
    schedule: &brickwork_primitives::garbling::Schedule,
    copies: usize,
    reported: &[u8],
) -> (Operands, MaskedValues) {
    let (inputs, ands) = (schedule.inputs(), schedule.and_gates());
    let stride = inputs + ands;
    let ports = side_by_side(reported, stride.max(1), 0..inputs);
    let results = side_by_side(reported, stride.max(1), inputs..stride);
    let mut operands = SecretBlocks::zeros(ands);
    let of_outputs = SecretBlocks::new(walk_bits(schedule, &ports, |gate, a, b| {
        operands[gate] = [a, b];
        results[gate]
    }));
    let mut outputs = MaskedValues::with_capacity(copies * of_outputs.len());
    for copy in 0..copies {
        outputs.extend(of_outputs.iter().map(|word| (word >> copy) as u8 & 1));
    }
    (Operands(operands), outputs)
}

/// The largest number of labels of inputs that are in memory before they are sent.
const LABELS_AT_ONCE: usize = 1 << 14;

/// Sends the active labels of all inputs, checks the evaluator's report, and sends the digest of the gates.
/// Returns the masked values of the program's wires.
pub(super) fn garbler(
    member: &mut SessionState,
    layout: &Layout,
    connected: &mut Connected<'_, Garbled>,
    labels: &mut Paged<Label>,
    input: &[bool],
) -> Result<MaskedValues, Error> {
    member.run.phase("evaluate");
    let [own, theirs] = [Party::Garbler, Party::Evaluator].map(|party| layout.inputs(party));
    let wires = layout.input_wires(Party::Garbler);
    let own = member.hear(Opening::INPUTS, &mut connected.masks, own, wires)?;
    let packed = member.run.channel.receive(msg::MASKED_INPUTS, theirs.div_ceil(8))?;
    let mut fresh = MaskedValues::with_capacity(layout.all_inputs());
    fresh.extend(own.iter().zip(input).map(|(mask, &bit)| mask ^ u8::from(bit)));
    fresh.extend(unpack(&packed, theirs)?);
    let mut masked = MaskedValues::with_capacity(layout.program.wires());
    for source in layout.sources() {
        masked.push(match source {
            InputSource::Fresh(number) => fresh[number],
            InputSource::Kept(number, k) => member.keep.of_number(number)?.masked[k],
        });
    }
    send_labels(member, layout, labels, &fresh)?;
    let reported = layout.ports + layout.ands;
    let message = SecretBlocks::new(member.run.channel.receive(msg::REPORT, reported.div_ceil(8) + HASH)?);
    let (packed, told) = message.split_at(reported.div_ceil(8));
    let reported = MaskedValues::new(unpack(packed, reported)?);
    let hash = labels_of(member, connected, &reported)?;
    member.require(hash[..].ct_eq(told), Cheat::Labels)?;
    let digest = answers(member, connected, &reported, &mut masked)?;
    member.run.channel.send(msg::GATES, &digest)?;
    Ok(masked)
}

/// Sends the active labels of all inputs; `fresh` has the masked values of these inputs.
fn send_labels(
    member: &mut SessionState,
    layout: &Layout,
    labels: &mut Paged<Label>,
    fresh: &[u8],
) -> Result<(), Error> {
    let SessionState { run, own, hooks, .. } = member;
    let mut message = run.channel.message(msg::INPUT_LABELS);
    let mut wires = layout.input_wires(Party::Garbler).chain(layout.input_wires(Party::Evaluator));
    for values in fresh.chunks(LABELS_AT_ONCE) {
        let mut active = SecretBlocks::with_capacity(values.len());
        for wire in wires.by_ref().take(values.len()) {
            active.push(labels.at(wire)?);
        }
        add_where(&mut active, own.delta.label(), values);
        hooks.alter(Point::InputLabels, &mut active);
        message.push(bytemuck::cast_slice(&active))?;
    }
    message.finish()
}

/// Hashes the labels of these masked values, of ports and AND gates, slot after slot.
fn labels_of(
    member: &mut SessionState,
    connected: &Connected<'_, Garbled>,
    mut reported: &[u8],
) -> Result<[u8; HASH], Error> {
    let (c, delta) = (member.level.tag, member.own.delta);
    let place = member.place()?;
    let mut hash = RunningHash::new(&member.key, HashPurpose::Labels, place, Party::Evaluator);
    for wave in &connected.waves {
        look();
        let (copies, schedule) = (connected.made.of(wave), connected.made.schedule(wave));
        let (inputs, ands) = (schedule.inputs(), schedule.and_gates());
        let kept = copies.labels.read(c * wave.copies.start * ands..c * wave.copies.end * ands + SPARE)?;
        let of_ports = copies.port_labels.read(wave.each(inputs))?;
        let mut all = SecretBlocks::zeros(c * wave.copies.len() * (inputs + ands) + SPARE);
        let (here, behind) = reported.split_at(wave.copies.len() * (inputs + ands));
        let mut at = 0;
        for k in 0..wave.copies.len() {
            let ports = of_ports[k * inputs..][..inputs].iter().copied();
            let results = (k * ands..(k + 1) * ands).map(|gate| word(&kept, c, gate));
            for (label, &u) in ports.chain(results).zip(&here[at..]) {
                put_word(&mut all, c, at, label ^ delta.times(u));
                at += 1;
            }
        }
        hash.update(&all[..c * at]);
        reported = behind;
    }
    Ok(hash.finish())
}

/// Computes masked values in all slots. Returns the digest of m_g of all gates.
fn answers(
    member: &mut SessionState,
    connected: &Connected<'_, Garbled>,
    mut reported: &[u8],
    masked: &mut MaskedValues,
) -> Result<[u8; HASH], Error> {
    let c = member.level.tag;
    let place = member.place()?;
    let mut hash = RunningHash::new(&member.key, HashPurpose::Gates, place, Party::Garbler);
    for wave in &connected.waves {
        look();
        let (copies, schedule) = (connected.made.of(wave), connected.made.schedule(wave));
        let (count, ands) = (wave.copies.len(), schedule.and_gates());
        let (here, behind) = reported.split_at(count * (schedule.inputs() + ands));
        let (operands, outputs) = walk(connected, wave, here);
        masked.extend_from_slice(&outputs);
        let kept = 3 * c * wave.copies.start * ands..3 * c * wave.copies.end * ands + SPARE;
        let macs = copies.macs.read(kept)?;
        let mut all = SecretBlocks::zeros(c * count * ands + SPARE);
        for copy in 0..count {
            for (gate, u) in (copy * ands..).zip(operands.of(copy)) {
                put_word(&mut all, c, gate, answer(&macs, c, gate, u));
            }
        }
        let answered = c * count * ands;
        member.hooks.alter(Point::Gates, &mut all[..answered]);
        hash.update(&all[..answered]);
        reported = behind;
    }
    Ok(hash.finish())
}

/// Computes u_a·b + u_b·a + μ from a gate's three tags of c bytes. Only the lower c bytes of the result
/// count.
fn answer(tags: &[u8], c: usize, gate: usize, [u_a, u_b]: [u8; 2]) -> Label {
    let [a, b, mu] = [0, 1, 2].map(|k| word(tags, c, 3 * gate + k));
    b.times(u_a) ^ a.times(u_b) ^ mu
}

/// The results of the slots that have been evaluated so far.
struct Evaluated {
    /// The masked values of ports and AND gates, slot after slot.
    reported: MaskedValues,
    /// The hash of the labels of these wires.
    labels: RunningHash,
    /// The hash of κ of all gates.
    answers: RunningHash,
    /// The active labels of the program's wires, and their masked values.
    active: Paged<Label>,
    masked: MaskedValues,
}

/// Gets the labels of all inputs, evaluates, sends the report, and checks the garbler's digest. Returns the
/// masked values of the program's wires and their labels.
pub(super) fn evaluator(
    member: &mut SessionState,
    layout: &Layout,
    connected: &Connected<'_, Received>,
    SolderedProgram { mut solderings, masks }: SolderedProgram,
    input: &[bool],
) -> Result<(MaskedValues, Paged<Label>), Error> {
    member.run.phase("evaluate");
    let own: MaskedValues = masks.iter().zip(input).map(|(mask, &bit)| mask ^ u8::from(bit)).collect();
    member.run.channel.send(msg::MASKED_INPUTS, &pack(own.iter().copied()))?;
    let Evaluated { mut reported, labels, answers, active, masked } =
        evaluate_slots(member, layout, connected, &mut solderings, &own)?;
    member.hooks.alter(Point::Report, &mut reported);
    let mut message = pack(reported.iter().copied());
    message.extend_from_slice(&labels.finish());
    member.run.channel.send(msg::REPORT, &message)?;
    let told = member.run.channel.receive(msg::GATES, HASH)?;
    member.require(answers.finish()[..].ct_eq(&told), Cheat::Gates)?;
    Ok((masked, active))
}

impl Evaluated {
    /// Adds the active label of the next wire.
    fn add(&mut self, label: Label) -> Result<(), Error> {
        self.masked.push(label.colour());
        self.active.push(label)
    }
}

/// Receives the labels of all inputs, and checks those of the evaluator's inputs, whose masked values are
/// `own`. Then evaluates all slots.
fn evaluate_slots(
    member: &mut SessionState,
    layout: &Layout,
    connected: &Connected<'_, Received>,
    solderings: &mut Paged<Label>,
    own: &[u8],
) -> Result<Evaluated, Error> {
    let [of_labels, of_gates] = [member.place()?, member.place()?];
    let mut done = Evaluated {
        reported: MaskedValues::with_capacity(layout.ports + layout.ands),
        labels: RunningHash::new(&member.key, HashPurpose::Labels, of_labels, Party::Evaluator),
        answers: RunningHash::new(&member.key, HashPurpose::Gates, of_gates, Party::Garbler),
        active: connected.shelf.paged(layout.program.wires()),
        masked: MaskedValues::with_capacity(layout.program.wires()),
    };
    let mut message = Incoming::new(msg::INPUT_LABELS, LABEL_BYTES * layout.all_inputs());
    let (first, mut differ) = (layout.inputs(Party::Garbler), 0);
    for source in layout.sources() {
        done.add(match source {
            InputSource::Fresh(number) => {
                let label = Label::from_bytes(message.next(&mut member.run.channel)?);
                differ |= number.checked_sub(first).map_or(0, |number| label.colour() ^ own[number]);
                label
            }
            InputSource::Kept(number, k) => member.keep.of_number(number)?.labels[k],
        })?;
    }
    message.end(&mut member.run.channel)?;
    member.require(differ == 0, Cheat::InputLabel)?;
    let mut port = 0..;
    for wave in &connected.waves {
        look();
        let mut ports = SecretBlocks::with_capacity(wave.each(connected.made.schedule(wave).inputs()).len());
        for (&wire, port) in
            wave.slots.clone().flat_map(|slot| layout.program.slot(slot).inputs).zip(&mut port)
        {
            ports.push(done.active.at(wire as usize)? ^ solderings.at(port)?);
        }
        evaluate_wave(member, connected, wave, &ports, &mut done)?;
    }
    Ok(done)
}

fn evaluate_wave(
    member: &mut SessionState,
    connected: &Connected<'_, Received>,
    wave: &Wave,
    ports: &[Label],
    done: &mut Evaluated,
) -> Result<(), Error> {
    let (copies, schedule) = (connected.made.of(wave), connected.made.schedule(wave));
    let (count, ands, width) = (wave.copies.len(), schedule.and_gates(), schedule.inputs());
    let tables = copies.tables.read(wave.each(2 * ands))?;
    let mut results = SecretBlocks::with_capacity(count * ands);
    results.extend_from_slice(&copies.words.read(wave.each(ands))?);
    let mut outputs = SecretBlocks::zeros(count * schedule.outputs());
    let numbered = Numbered { keys: &copies.keys, first: copies.first + wave.copies.start as u32, count };
    masked::evaluate(schedule, numbered, ports, &tables, &mut results, &mut outputs);
    outputs.iter().try_for_each(|&label| done.add(label))?;
    let first = done.reported.len();
    let mut labels = SecretBlocks::zeros(member.level.tag * count * (width + ands) + SPARE);
    let c = member.level.tag;
    for copy in 0..count {
        let of_copy = ports[copy * width..][..width].iter().chain(&results[copy * ands..][..ands]);
        let at = copy * (width + ands);
        for (k, label) in of_copy.enumerate() {
            done.reported.push(label.colour());
            put_word(&mut labels, c, at + k, *label);
        }
    }
    let reported = c * count * (width + ands);
    member.hooks.alter(Point::ReportedTags, &mut labels[..reported]);
    done.labels.update(&labels[..reported]);
    let (operands, _) = walked(schedule, count, &done.reported[first..]);
    let kept = 3 * c * wave.copies.start * ands..3 * c * wave.copies.end * ands + SPARE;
    let tags = copies.tags.read(kept)?;
    let mut answers = SecretBlocks::zeros(c * count * ands + SPARE);
    let delta = member.own.delta;
    for copy in 0..count {
        for (gate, u) in (copy * ands..).zip(operands.of(copy)) {
            let wrong = delta.times(u[0] & u[1] ^ results[gate].colour());
            put_word(&mut answers, c, gate, answer(&tags, c, gate, u) ^ wrong);
        }
    }
    done.answers.update(&answers[..c * count * ands]);
    Ok(())
}
