//! Components are made: random masks on all wires, triples for their AND gates, and tables. Nothing here
//! depends on how a program connects them.

use brickwork_base::Error;
use brickwork_base::bits::{pack, unpack};
use brickwork_base::label::{LABEL_BYTES, Label, Labels};
use zeroize::Zeroizing;

use crate::hooks::Point;
use crate::layout::{Batch, Layout};
use crate::msg;
use crate::openings::Opening;
use crate::setup::Member;
use crate::share::{Share, Shares};
use crate::tables::{GarbledGate, GateHash, GateMasks, Rows, fold, garble};
use crate::triples::Buckets;
use crate::walk::walk;

/// A party's shares of what the program will connect.
#[derive(Default)]
pub(super) struct Masks {
    /// Of the program's wires: inputs, and outputs of slots.
    pub wires: Shares,
    /// Of the input wires of slots, slot after slot.
    pub ports: Shares,
}

/// What the garbler has made.
#[derive(Default)]
pub(super) struct Made {
    pub masks: Masks,
    /// Labels of the program's wires, for the masked value 0.
    pub labels: Labels,
    /// Likewise of the input wires of slots.
    pub port_labels: Labels,
    /// Of each AND gate the label of its output, and its macs of M_a, M_b and M_μ: c bytes each.
    pub tags: Zeroizing<Vec<u8>>,
}

/// What the evaluator has received, and checked as far as it can be before it is evaluated.
#[derive(Default)]
pub(super) struct Received {
    pub masks: Masks,
    /// Of each AND gate what it is evaluated by.
    pub rows: Zeroizing<Vec<Rows>>,
    /// Of each AND gate its keys C_a, C_b and C_μ: c bytes each.
    pub tags: Zeroizing<Vec<u8>>,
    /// Where the hash keys of each batch begin.
    pub starts: Vec<u128>,
}

/// Copies `c` bytes of each of these words.
pub(super) fn tags(to: &mut Vec<u8>, c: usize, words: &[Label]) {
    words.iter().for_each(|word| to.extend_from_slice(&word.to_bytes()[..c]));
}

/// Puts masks on the wires of a batch's slots. Returns those of the operands and of the output of each AND
/// gate.
fn masks_of_gates(
    layout: &Layout,
    batch: &Batch,
    member: &Member,
    fresh: &[Share],
    masks: &mut Masks,
) -> Vec<[Share; 3]> {
    let (mut ports, mut ands) = fresh.split_at(batch.ports);
    masks.ports.extend_from_slice(ports);
    let mut gates = Vec::with_capacity(batch.ands);
    let mut wires = Shares::default();
    for slot in batch.slots.clone() {
        let circuit = layout.circuit(slot);
        let (here, behind) = ports.split_at(circuit.inputs());
        wires.clear();
        wires.reserve(circuit.wires());
        wires.extend_from_slice(here);
        walk(
            circuit,
            &mut wires,
            |mask| member.own.plus(mask, 1),
            |gate, a, b| {
                gates.push([a, b, ands[gate]]);
                ands[gate]
            },
        );
        masks.wires.extend(circuit.outputs().iter().map(|&wire| wires[wire as usize]));
        (ports, ands) = (behind, &ands[circuit.and_gates()..]);
    }
    gates
}

/// Multiplies the masks of AND gates: opens the differences to triples, all of a batch at once.
fn multiply(
    member: &mut Member,
    buckets: Buckets,
    gates: &[[Share; 3]],
    batch: usize,
) -> Result<Vec<GateMasks>, Error> {
    let count = gates.len();
    let mut opened = Shares::default();
    opened.extend(buckets.differences(count));
    let joins = opened.len();
    for (gate, factors) in gates.iter().zip(buckets.factors(count)) {
        opened.extend([gate[0] ^ factors[0], gate[1] ^ factors[1]]);
    }
    let values = member.open(Opening::of_triples(batch), &opened)?;
    let triples = buckets.joined(count, &values[..joins]);
    let differences = values[joins..].as_chunks::<2>().0;
    let masks = gates.iter().zip(differences).enumerate().map(|(i, (&[a, b, c], &[e, f]))| {
        let product = triples.z[i] ^ triples.y[i].times(e) ^ triples.x[i].times(f);
        GateMasks { a, b, mu: member.own.plus(product, e & f) ^ c }
    });
    Ok(masks.collect())
}

/// Masks of a batch, on all of its wires.
fn masks_of(
    member: &mut Member,
    layout: &Layout,
    number: usize,
    masks: &mut Masks,
) -> Result<Vec<GateMasks>, Error> {
    let batch = &layout.batches[number];
    let (buckets, fresh) = Buckets::make(member, batch.pool, number, layout.masks(number))?;
    let (inputs, fresh) = fresh.split_at(layout.masks(number) - batch.ports - batch.ands);
    masks.wires.extend_from_slice(inputs);
    let gates = masks_of_gates(layout, batch, member, fresh, masks);
    multiply(member, buckets, &gates, number)
}

/// Makes all components.
pub(super) fn garbler(member: &mut Member, layout: &Layout) -> Result<Made, Error> {
    member.run.phase("preprocess");
    let mut made = Made::default();
    let inputs = layout.all_inputs();
    for (number, batch) in layout.batches.iter().enumerate() {
        let mut gates = masks_of(member, layout, number, &mut made.masks)?;
        member.alter_products(&mut gates);
        if number == 0 {
            made.labels.extend((0..inputs).map(|_| member.rng.label().with_colour(0)));
        }
        // The evaluator's openings have been checked: it could not know how the hash begins.
        let start = member.rng.block();
        let (mut rows, mut colours) = garble_slots(member, layout, batch, start, &gates, &mut made);
        member.hooks.alter(Point::Rows, &mut rows);
        member.hooks.alter(Point::Colours, &mut colours);
        let mut message = member.run.channel.message(msg::TABLES);
        message.push(&start.to_le_bytes())?;
        message.push(bytemuck::cast_slice(&rows))?;
        message.finish()?;
        member.run.channel.send(msg::COLOURS, &pack(colours))?;
    }
    Ok(made)
}

impl Member {
    /// Lets a cheater alter the keys of products.
    fn alter_products(&mut self, gates: &mut [GateMasks]) {
        let mut keys: Labels = Zeroizing::new(gates.iter().map(|masks| masks.mu.key).collect());
        self.hooks.alter(Point::Products, &mut keys);
        gates.iter_mut().zip(&*keys).for_each(|(masks, &key)| masks.mu.key = key);
    }
}

/// Garbles the slots of a batch. Returns two rows of each AND gate and the bit that is sent with them.
fn garble_slots(
    member: &mut Member,
    layout: &Layout,
    batch: &Batch,
    start: u128,
    gates: &[GateMasks],
    made: &mut Made,
) -> (Vec<Label>, Vec<u8>) {
    let (mut rows, mut colours) = (Vec::with_capacity(2 * gates.len()), Vec::with_capacity(gates.len()));
    let (mut hash, delta, c) = (GateHash::new(start), member.own.delta, member.level.tag);
    let mut first = 0;
    for slot in batch.slots.clone() {
        let circuit = layout.circuit(slot);
        let mut wires = Labels::new(Vec::with_capacity(circuit.wires()));
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

/// Receives all components.
pub(super) fn evaluator(member: &mut Member, layout: &Layout) -> Result<Received, Error> {
    member.run.phase("preprocess");
    let mut received = Received::default();
    for (number, batch) in layout.batches.iter().enumerate() {
        let gates = masks_of(member, layout, number, &mut received.masks)?;
        let tables = member.run.channel.receive(msg::TABLES, LABEL_BYTES * (1 + 2 * batch.ands))?;
        let (start, rows) = tables.split_at(LABEL_BYTES);
        received.starts.push(u128::from_le_bytes(*start.first_chunk().expect("16 bytes")));
        let colours = member.run.channel.receive(msg::COLOURS, batch.ands.div_ceil(8))?;
        let colours = unpack(&colours, batch.ands)?;
        let c = member.level.tag;
        for ((masks, rows), colour) in gates.iter().zip(rows.as_chunks::<32>().0).zip(colours) {
            let rows = [0, 16].map(|at| Label::from_bytes(*rows[at..].first_chunk().expect("16 bytes")));
            received.rows.push(fold(masks, &rows, colour));
            tags(&mut received.tags, c, &[masks.a.key, masks.b.key, masks.mu.key]);
        }
    }
    Ok(received)
}
