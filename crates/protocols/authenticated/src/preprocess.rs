//! Components are made: random masks on all wires, triples for their AND gates, and tables. Nothing here
//! depends on how a program connects them.

use brickwork_base::Error;
use brickwork_base::bits::{pack, unpack};
use brickwork_base::label::{LABEL_BYTES, Label};

use crate::hooks::Point;
use crate::layout::{Group, Layout};
use crate::msg;
use crate::openings::Opening;
use crate::secrets::Secrets;
use crate::setup::Member;
use crate::share::{Share, Shares};
use crate::tables::{GarbledGate, GateHash, GateMasks, Rows, fold, garble};
use crate::triples::Buckets;
use crate::walk::walk;

/// A party's shares of what the program will connect.
pub(super) struct Masks {
    /// Of the program's wires: inputs, and outputs of slots.
    pub wires: Shares,
    /// Of the input wires of slots, slot after slot.
    pub ports: Shares,
}

/// What the garbler has made.
pub(super) struct Made {
    pub masks: Masks,
    /// Labels of the program's wires, for the masked value 0.
    pub labels: Secrets<Label>,
    /// Likewise of the input wires of slots.
    pub port_labels: Secrets<Label>,
    /// Of each AND gate the label of its output, and its macs of M_a, M_b and M_μ: c bytes each.
    pub tags: Secrets<u8>,
}

/// What the evaluator has received, and checked as far as it can be before it is evaluated.
pub(super) struct Received {
    pub masks: Masks,
    /// Of each AND gate what it is evaluated by.
    pub rows: Secrets<Rows>,
    /// Of each AND gate its keys C_a, C_b and C_μ: c bytes each.
    pub tags: Secrets<u8>,
    /// Where the hash keys of each group begin.
    pub starts: Vec<u128>,
}

impl Masks {
    fn room_for(layout: &Layout) -> Self {
        let [wires, ports] = [layout.program.wires(), layout.ports()].map(Shares::with_capacity);
        Masks { wires, ports }
    }
}

/// Appends `c` bytes of each of these words.
pub(super) fn tags(to: &mut Vec<u8>, c: usize, words: &[Label]) {
    words.iter().for_each(|word| to.extend_from_slice(&word.to_bytes()[..c]));
}

/// What a batch is made of: triples, and fresh masks of ports and of the outputs of AND gates.
struct Material {
    buckets: Buckets,
    ports: Shares,
    ands: Shares,
}

impl Material {
    /// Makes that of a batch, and puts the first batch's masks on the program's inputs.
    fn make(member: &mut Member, layout: &Layout, batch: usize, masks: &mut Masks) -> Result<Self, Error> {
        let (of, count) = (&layout.batches[batch], layout.masks(batch));
        let (buckets, fresh) = Buckets::make(member, of.pool, layout.sizes, batch, count)?;
        let (inputs, fresh) = fresh.split_at(count - of.ports - of.ands);
        let (ports, ands) = fresh.split_at(of.ports);
        masks.wires.extend_from_slice(inputs);
        Ok(Material { buckets, ports: Shares::new(ports.to_vec()), ands: Shares::new(ands.to_vec()) })
    }
}

/// A group between both parties' openings.
struct Half {
    /// Of each AND gate the masks of its operands and of its output.
    gates: Secrets<[Share; 3]>,
    /// What is opened: the differences that join triples, then those of both operands to a triple's.
    opened: Shares,
}

/// Puts masks on the wires of a group's slots. `first_port` is the number of its first port in the batch.
fn masked(
    member: &Member,
    layout: &Layout,
    group: &Group,
    (material, first_port): (&Material, usize),
    masks: &mut Masks,
) -> Half {
    let ports = &material.ports[first_port..][..group.ports];
    masks.ports.extend_from_slice(ports);
    let (mut ports, mut fresh) = (ports, material.ands[group.ands.clone()].iter());
    let mut gates = Secrets::with_capacity(group.ands.len());
    let mut wires = Shares::with_capacity(
        group.slots.clone().map(|slot| layout.circuit(slot).wires()).max().unwrap_or(0),
    );
    for slot in group.slots.clone() {
        let circuit = layout.circuit(slot);
        let (here, behind) = ports.split_at(circuit.inputs());
        wires.clear();
        wires.extend_from_slice(here);
        walk(
            circuit,
            &mut wires,
            |mask| member.own.plus(mask, 1),
            |_, a, b| {
                let c = *fresh.next().expect("one for each AND gate");
                gates.push([a, b, c]);
                c
            },
        );
        masks.wires.extend(circuit.outputs().iter().map(|&wire| wires[wire as usize]));
        ports = behind;
    }
    let buckets = &material.buckets;
    let mut opened = Shares::with_capacity((buckets.layers() + 1) * gates.len());
    opened.extend(buckets.differences(group.ands.clone()));
    for ([a, b, _], bucket) in gates.iter().zip(group.ands.clone()) {
        let [x, y] = buckets.factors(bucket);
        opened.extend([*a ^ x, *b ^ y]);
    }
    Half { gates, opened }
}

/// The masks by which AND gates are garbled, once differences are opened.
fn multiplied(
    member: &Member,
    buckets: &Buckets,
    group: &Group,
    half: &Half,
    values: &[u8],
) -> Secrets<GateMasks> {
    let count = half.gates.len();
    let (joins, differences) = values.split_at(values.len() - 2 * count);
    let gates = half.gates.iter().zip(differences.as_chunks::<2>().0).enumerate();
    let masks = gates.map(|(i, (&[a, b, c], &[e, f]))| {
        let bucket = group.ands.start + i;
        let ([x, y], z) =
            (buckets.factors(bucket), buckets.product(bucket, |layer| joins[layer * count + i]));
        GateMasks { a, b, mu: member.own.plus(z ^ y.times(e) ^ x.times(f), e & f) ^ c }
    });
    masks.collect()
}

/// Makes all components.
pub(super) fn garbler(member: &mut Member, layout: &Layout) -> Result<Made, Error> {
    member.run.phase("preprocess");
    let (inputs, ports) = (layout.all_inputs(), layout.ports());
    let mut made = Made {
        masks: Masks::room_for(layout),
        labels: Secrets::with_capacity(layout.program.wires()),
        port_labels: Secrets::with_capacity(ports),
        tags: Secrets::with_capacity(4 * member.level.tag * layout.ands()),
    };
    made.labels.extend((0..inputs).map(|_| member.rng.label().with_colour(0)));
    let mut number = 0;
    for (k, batch) in layout.batches.iter().enumerate() {
        let material = Material::make(member, layout, k, &mut made.masks)?;
        let mut first_port = 0;
        for group in &batch.groups {
            let half = masked(member, layout, group, (&material, first_port), &mut made.masks);
            let opening = Opening::of_triples(number);
            let values = member.hear(opening, &half.opened)?;
            member.say(opening, &half.opened)?;
            let mut gates = multiplied(member, &material.buckets, group, &half, &values);
            member.hooks.alter_copies(Point::Products, &mut gates, |masks| &mut masks.mu.key);
            send_tables(member, layout, group, &gates, &mut made)?;
            (first_port, number) = (first_port + group.ports, number + 1);
        }
    }
    Ok(made)
}

/// Garbles a group's slots, and sends two rows of each AND gate and a bit.
fn send_tables(
    member: &mut Member,
    layout: &Layout,
    group: &Group,
    gates: &[GateMasks],
    made: &mut Made,
) -> Result<(), Error> {
    // The evaluator's openings have been checked: it could not know how the hash begins.
    let start = member.rng.block();
    let (mut rows, mut colours) = garbled(member, layout, group, start, gates, made);
    member.hooks.alter(Point::Rows, &mut rows);
    member.hooks.alter(Point::Colours, &mut colours);
    let mut message = member.run.channel.message(msg::TABLES);
    message.push(&start.to_le_bytes())?;
    message.push(bytemuck::cast_slice(&rows))?;
    message.finish()?;
    member.run.channel.send(msg::COLOURS, &pack(colours))
}

/// Garbles the slots of a group. Returns two rows of each AND gate and the bit that is sent with them.
fn garbled(
    member: &mut Member,
    layout: &Layout,
    group: &Group,
    start: u128,
    gates: &[GateMasks],
    made: &mut Made,
) -> (Vec<Label>, Vec<u8>) {
    let (mut rows, mut colours) = (Vec::with_capacity(2 * gates.len()), Vec::with_capacity(gates.len()));
    let (mut hash, delta, c) = (GateHash::new(start), member.own.delta, member.level.tag);
    let mut first = 0;
    for slot in group.slots.clone() {
        let circuit = layout.circuit(slot);
        let mut wires = Secrets::with_capacity(circuit.wires());
        wires.extend((0..circuit.inputs()).map(|_| member.rng.label().with_colour(0)));
        made.port_labels.extend_from_slice(&wires);
        let tags_of = &mut made.tags;
        walk(
            circuit,
            &mut wires,
            |label| label,
            |gate, a, b| {
                let masks = &gates[first + gate];
                let garbled = garble(&mut hash, (first + gate) as u64, delta, masks, [a, b]);
                let GarbledGate { rows: sent, colour, output } = garbled;
                rows.extend(sent);
                colours.push(colour);
                tags(tags_of, c, &[output, masks.a.mac, masks.b.mac, masks.mu.mac]);
                output
            },
        );
        made.labels.extend(circuit.outputs().iter().map(|&wire| wires[wire as usize]));
        first += circuit.and_gates();
    }
    (rows, colours)
}

/// Receives all components. It says its shares of a group before it hears those of the one before, so that
/// nobody waits for a crossing.
pub(super) fn evaluator(member: &mut Member, layout: &Layout) -> Result<Received, Error> {
    member.run.phase("preprocess");
    let mut received = Received {
        masks: Masks::room_for(layout),
        rows: Secrets::with_capacity(layout.ands()),
        tags: Secrets::with_capacity(3 * member.level.tag * layout.ands()),
        starts: Vec::with_capacity(layout.groups().count()),
    };
    let mut number = 0;
    for (k, batch) in layout.batches.iter().enumerate() {
        let material = Material::make(member, layout, k, &mut received.masks)?;
        let (mut first_port, mut before) = (0, None);
        for group in &batch.groups {
            let half = masked(member, layout, group, (&material, first_port), &mut received.masks);
            let opening = Opening::of_triples(number);
            member.say(opening, &half.opened)?;
            if let Some(before) = before.replace((group, half, opening)) {
                receive_group(member, &material.buckets, &before, &mut received)?;
            }
            (first_port, number) = (first_port + group.ports, number + 1);
        }
        if let Some(last) = before {
            receive_group(member, &material.buckets, &last, &mut received)?;
        }
    }
    Ok(received)
}

/// Hears the garbler's shares of a group, and receives its tables.
fn receive_group(
    member: &mut Member,
    buckets: &Buckets,
    (group, half, opening): &(&Group, Half, Opening),
    received: &mut Received,
) -> Result<(), Error> {
    let values = member.hear(*opening, &half.opened)?;
    let gates = multiplied(member, buckets, group, half, &values);
    let tables = member.run.channel.receive(msg::TABLES, LABEL_BYTES * (1 + 2 * gates.len()))?;
    let (start, rows) = tables.split_at(LABEL_BYTES);
    received.starts.push(u128::from_le_bytes(*start.first_chunk().expect("16 bytes")));
    let colours = member.run.channel.receive(msg::COLOURS, gates.len().div_ceil(8))?;
    let colours = unpack(&colours, gates.len())?;
    let c = member.level.tag;
    for ((masks, rows), colour) in gates.iter().zip(rows.as_chunks::<32>().0).zip(colours) {
        let rows = [0, 16].map(|at| Label::from_bytes(*rows[at..].first_chunk().expect("16 bytes")));
        received.rows.push(fold(masks, &rows, colour));
        tags(&mut received.tags, c, &[masks.a.key, masks.b.key, masks.mu.key]);
    }
    Ok(())
}
