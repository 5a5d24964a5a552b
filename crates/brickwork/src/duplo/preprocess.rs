//! PreprocessComponent: many garbled copies of each component, checked by cut-and-choose and joined into buckets.
//!
//! ```text
//!   garbler -> evaluator    for each component: commitments to the input wires and offsets of all copies,
//!                           to their output wires; start of the hash keys; a hash of each copy's tables
//!   evaluator -> garbler    challenge: a seed; which copies are opened and which share a bucket follows from it
//!   garbler -> evaluator    opened copies: offset and input wires; the others: links, solderings from the head of the
//!                           bucket to the other copies' inputs, tables
//!   evaluator -> garbler    seed;   garbler -> evaluator    answer
//! ```
//!
//! The evaluator garbles the opened copies itself. It compares the hash over every byte of their tables at once, and
//! claims every one of their wires, the last output included, so that the batched check compares those. If the challenge
//! came before the hashes, the garbler would make just the unopened copies bad.

use std::ops::Range;
use std::sync::Arc;

use rayon::prelude::*;

use super::challenge::{Batch, Challenge};
use super::stock::{Origin, Request};
use super::{Cheat, Error, Evaluator, Garbler, Parameters, Point, msg};
use crate::circuit::{Circuit, ComponentDigest};
use crate::commit::{Claims, Committed, Committer, Holder, Lsb, Shares};
use crate::cut_and_choose::Kind;
use crate::garbling::{GarblingKeys, HashTables, Plan, TableSink, garble};
use crate::label::{Delta, LABEL_BYTES, Label};
use crate::random::{SEED_BYTES, Seed};
use crate::solder::{CommittedWire, Soldering};

/// Copies that one task garbles side by side.
const COPIES_A_TASK: usize = 16;

/// Bytes of a hash of tables.
const TABLE_HASH_BYTES: usize = 32;

/// The sizes of a batch of copies.
#[derive(Clone, Copy)]
pub(super) struct Shape {
    pub batch: Batch,
    pub inputs: usize,
    pub outputs: usize,
    pub table_bytes: usize,
}

impl Shape {
    pub fn new(circuit: &Circuit, batch: Batch) -> Self {
        Shape { batch, inputs: circuit.inputs(), outputs: circuit.outputs().len(), table_bytes: 2 * LABEL_BYTES * circuit.and_gates() }
    }

    fn part(&self, buckets: usize) -> Self {
        Shape { batch: self.batch.part(buckets), ..*self }
    }

    /// Solderings inside buckets: from the head's inputs to those of each other copy.
    pub fn bucket_solderings(&self) -> usize {
        self.batch.pairs() * self.inputs
    }

    /// (head, copy, input wire) of bucket soldering `k`, both copies counted among the chosen ones.
    pub fn bucket_soldering(&self, k: usize) -> (usize, usize, usize) {
        let (head, copy) = self.batch.pair(k / self.inputs);
        (head, copy, k % self.inputs)
    }
}

/// What the garbler keeps of a component's chosen copies, bucket after bucket.
pub(super) struct GarblerBatch {
    pub origin: Origin,
    pub component: ComponentDigest,
    pub shape: Shape,
    /// `[copy][input wire]`.
    pub inputs: Committed,
    /// `[copy][output wire]`.
    pub outputs: Committed,
    /// `[copy]`.
    pub offsets: Committed,
}

/// What the evaluator keeps of a component's chosen copies, bucket after bucket.
pub(super) struct EvaluatorBatch {
    pub origin: Origin,
    pub component: ComponentDigest,
    pub shape: Shape,
    pub plan: Arc<Plan>,
    pub keys: GarblingKeys,
    /// Which copy of the batch each chosen one is.
    pub copies: Vec<usize>,
    pub inputs: Shares,
    pub outputs: Shares,
    pub offsets: Shares,
    /// S_c of each copy.
    pub links: Vec<Label>,
    /// As [`Shape::bucket_soldering`] counts them.
    pub solderings: Vec<Soldering>,
    /// `[copy][byte]`.
    pub tables: Vec<u8>,
}

impl GarblerBatch {
    /// Some of its buckets.
    pub fn slice(&self, buckets: Range<usize>) -> Self {
        let copies = buckets.start * self.shape.batch.size..buckets.end * self.shape.batch.size;
        let Shape { inputs, outputs, .. } = self.shape;
        GarblerBatch {
            origin: self.origin,
            component: self.component,
            shape: self.shape.part(buckets.len()),
            inputs: self.inputs.slice(copies.start * inputs..copies.end * inputs),
            outputs: self.outputs.slice(copies.start * outputs..copies.end * outputs),
            offsets: self.offsets.slice(copies),
        }
    }
}

impl EvaluatorBatch {
    /// Some of its buckets.
    pub fn slice(&self, buckets: Range<usize>) -> Self {
        let copies = buckets.start * self.shape.batch.size..buckets.end * self.shape.batch.size;
        let Shape { inputs, outputs, table_bytes, .. } = self.shape;
        let pairs = self.shape.batch.size - 1;
        EvaluatorBatch {
            origin: self.origin,
            component: self.component,
            shape: self.shape.part(buckets.len()),
            plan: self.plan.clone(),
            keys: self.keys,
            copies: self.copies[copies.clone()].to_vec(),
            inputs: self.inputs.slice(copies.start * inputs..copies.end * inputs),
            outputs: self.outputs.slice(copies.start * outputs..copies.end * outputs),
            offsets: self.offsets.slice(copies.clone()),
            links: self.links[copies.clone()].to_vec(),
            solderings: self.solderings[buckets.start * pairs * inputs..buckets.end * pairs * inputs].to_vec(),
            tables: self.tables[copies.start * table_bytes..copies.end * table_bytes].to_vec(),
        }
    }
}

/// The values that become known of a batch: what is opened, and what joins the others.
struct Revealed {
    opened_offsets: Vec<Label>,
    opened_inputs: Vec<Label>,
    opened_outputs: Vec<Label>,
    links: Vec<Label>,
    solderings: Vec<Soldering>,
}

/// The claims about one batch: every wire of the opened copies, links and solderings of the chosen ones.
fn claims<'a>(
    claims: &mut Claims<'a>,
    shape: Shape,
    challenge: &'a Challenge,
    [inputs, outputs, offsets, ka]: [&'a Shares; 4],
    revealed: &'a Revealed,
) {
    let Challenge { opened, chosen } = challenge;
    claims.known(opened.len(), move |k, sum| {
        offsets.add(opened[k], sum);
        revealed.opened_offsets[k]
    });
    for (wires, shares, values) in [(shape.inputs, inputs, &revealed.opened_inputs), (shape.outputs, outputs, &revealed.opened_outputs)] {
        claims.known(opened.len() * wires, move |k, sum| {
            shares.add(opened[k / wires] * wires + k % wires, sum);
            values[k]
        });
    }
    claims.known(chosen.len(), move |k, sum| {
        offsets.add(chosen[k], sum);
        ka.add(0, sum);
        revealed.links[k]
    });
    claims.known(shape.bucket_solderings(), move |k, sum| {
        let (head, copy, wire) = shape.bucket_soldering(k);
        let soldering = revealed.solderings[k];
        inputs.add(chosen[head] * shape.inputs + wire, sum);
        inputs.add(chosen[copy] * shape.inputs + wire, sum);
        offsets.add_if(soldering.flip(), chosen[copy], sum);
        soldering.opening()
    });
}

/// Garbles the copies `indices` of a batch, in parallel. `input` gives a copy's committed wire values, by position in
/// `indices`. Returns the committed values of the output wires, `[copy][wire]`, and what each task's sink made.
fn garble_copies<'a, S: TableSink + Send>(
    plan: &Plan,
    keys: &GarblingKeys,
    indices: &[usize],
    deltas: &[Delta],
    shape: Shape,
    input: impl Fn(usize) -> &'a [Label] + Sync,
    sink: impl Fn(usize, &[u32]) -> S + Sync,
) -> Result<(Vec<Label>, Vec<S>), Error> {
    let mut outputs = vec![Label::ZERO; indices.len() * shape.outputs];
    let sinks: Result<Vec<S>, Error> = outputs
        .par_chunks_mut(COPIES_A_TASK * shape.outputs)
        .enumerate()
        .map(|(task, outputs)| {
            let first = task * COPIES_A_TASK;
            let here = outputs.len() / shape.outputs;
            let deltas = &deltas[first..first + here];
            let mut labels = zeroize::Zeroizing::new(Vec::with_capacity(here * shape.inputs));
            for (k, &delta) in deltas.iter().enumerate() {
                labels.extend(input(first + k).iter().map(|&value| CommittedWire { value, delta }.false_label()));
            }
            let copies: Vec<u32> = indices[first..first + here].iter().map(|&i| i as u32).collect();
            let mut sink = sink(here, &copies);
            garble(plan, keys, &copies, deltas, &labels, outputs, &mut sink)?;
            for (wires, &delta) in outputs.chunks_mut(shape.outputs).zip(deltas) {
                wires.iter_mut().for_each(|w| *w = CommittedWire::from_false_label(*w, delta).value);
            }
            Ok(sink)
        })
        .collect();
    Ok((outputs, sinks?))
}

fn offsets_of(values: &[Label]) -> Option<Vec<Delta>> {
    values.iter().map(|v| Delta::checked(v.bits())).collect()
}

/// Collects the tables of a few copies one after the other.
struct Tables {
    bytes: Vec<u8>,
    table_bytes: usize,
    filled: Vec<usize>,
}

impl TableSink for Tables {
    fn tables(&mut self, copy: usize, bytes: &[u8]) -> Result<(), Error> {
        let start = copy * self.table_bytes + self.filled[copy];
        self.bytes[start..start + bytes.len()].copy_from_slice(bytes);
        self.filled[copy] += bytes.len();
        Ok(())
    }
}

pub(super) fn garbler(party: &mut Garbler, request: &Request, parameters: &Parameters) -> Result<Vec<GarblerBatch>, Error> {
    struct Made {
        id: usize,
        batch: GarblerBatch,
        plan: Plan,
        keys: GarblingKeys,
        deltas: Vec<Delta>,
    }
    let Garbler { run, committer, rng, hooks, serial, .. } = party;
    let mut made = Vec::new();
    for (id, &cut) in parameters.components.iter().enumerate().filter(|(_, cut)| cut.slots > 0) {
        let (component, _) = &request.components[id];
        let circuit = &component.circuit;
        let shape = Shape::new(circuit, cut.into());
        let copies = shape.batch.items();
        let inputs = committer.commit_random(&mut run.channel, copies * shape.inputs, Lsb::Random)?;
        let offsets = committer.commit_random(&mut run.channel, copies, Lsb::One)?;
        let deltas = offsets_of(&offsets.values).expect("the scheme sets the lowest bit");
        let plan = Plan::new(circuit);
        let keys = GarblingKeys::new(rng.block(), copies, circuit.and_gates());
        let indices: Vec<usize> = (0..copies).collect();
        let input = |k: usize| &inputs.values[k * shape.inputs..(k + 1) * shape.inputs];
        let deltas = offsets_of(&hooks.altered(Point::GarbledOffsets(id), &offsets.values)).unwrap_or(deltas);
        let (mut outputs, hashes) =
            garble_copies(&plan, &keys, &indices, &deltas, shape, input, |here, copies| hooks.tables(id, copies, HashTables::new(here)))?;
        let mut hashes: Vec<u8> = hashes.iter().flat_map(|sink| sink.finish()).flatten().collect();
        hooks.alter(Point::CommittedOutputs(id), &mut outputs);
        hooks.alter(Point::TableHashes(id), &mut hashes);
        let outputs = committer.commit(&mut run.channel, &outputs)?;
        run.channel.send(msg::TABLE_HASHES, &[&keys.start().to_le_bytes()[..], &hashes].concat())?;
        *serial += 1;
        let origin = Origin { serial: *serial, kind: Kind::Component, cut };
        let batch = GarblerBatch { origin, component: component.digest(), shape, inputs, outputs, offsets };
        made.push(Made { id, batch, plan, keys, deltas });
    }

    let seeds = run.channel.receive(msg::CHALLENGE, made.len() * SEED_BYTES)?;
    let mut revealed = Vec::new();
    for (m, seed) in made.iter().zip(seeds.chunks_exact(SEED_BYTES)) {
        let (b, shape, id) = (&m.batch, m.batch.shape, m.id);
        let challenge = Challenge::expand(&Seed::from_bytes(seed.try_into().expect("16 bytes")), &shape.batch);
        let of = |values: &[Label], wires: usize| -> Vec<Label> {
            challenge.opened.iter().flat_map(|&copy| &values[copy * wires..(copy + 1) * wires]).copied().collect()
        };
        let chosen = &challenge.chosen;
        let wire = |copy: usize, w: usize| CommittedWire {
            value: b.inputs.values[chosen[copy] * shape.inputs + w],
            delta: m.deltas[chosen[copy]],
        };
        let mut r = Revealed {
            opened_offsets: of(&b.offsets.values, 1),
            opened_inputs: of(&b.inputs.values, shape.inputs),
            opened_outputs: Vec::new(),
            links: chosen.iter().map(|&copy| m.deltas[copy].label() ^ party.delta_ka).collect(),
            solderings: (0..shape.bucket_solderings())
                .into_par_iter()
                .map(|k| {
                    let (head, copy, w) = shape.bucket_soldering(k);
                    Soldering::new(wire(head, w), wire(copy, w))
                })
                .collect(),
        };
        let mut opened_values = [&r.opened_offsets[..], &r.opened_inputs[..]].concat();
        hooks.alter(Point::Opened(id), &mut opened_values);
        hooks.alter(Point::Links(id), &mut r.links);
        hooks.alter(Point::BucketSolderings(id), &mut r.solderings);
        run.channel.send(msg::OPENED, bytemuck::cast_slice(&opened_values))?;
        run.channel.send(msg::LINKS, bytemuck::cast_slice(&r.links))?;
        run.channel.send(msg::BUCKET_SOLDERINGS, bytemuck::cast_slice(&r.solderings))?;
        let deltas: Vec<Delta> = chosen.iter().map(|&copy| m.deltas[copy]).collect();
        let tables = |range: std::ops::Range<usize>| {
            let input = |k: usize| &b.inputs.values[chosen[range.start + k] * shape.inputs..][..shape.inputs];
            let sink = |here: usize, copies: &[u32]| {
                hooks.tables(
                    id,
                    copies,
                    Tables { bytes: vec![0; here * shape.table_bytes], table_bytes: shape.table_bytes, filled: vec![0; here] },
                )
            };
            garble_copies(&m.plan, &m.keys, &chosen[range.clone()], &deltas[range.clone()], shape, input, sink).map(|(_, tables)| tables)
        };
        let step = COPIES_A_TASK * rayon::current_num_threads();
        let mut ready = tables(0..step.min(chosen.len()))?;
        let (mut done, total) = (0, chosen.len());
        while done < total {
            let next = (done + step).min(total);
            let (sent, made) = rayon::join(
                || ready.iter().try_for_each(|t| run.channel.send_bulk(msg::TABLES, &t.bytes)),
                || tables(next..(next + step).min(total)),
            );
            sent?;
            (ready, done) = (made?, next);
            run.progress((done * shape.table_bytes) as u64, (total * shape.table_bytes) as u64);
        }
        // The claims name every opened output; what they are the evaluator computes itself, so the values do not matter here.
        revealed.push((challenge, Revealed { opened_outputs: vec![Label::ZERO; shape.batch.opened * shape.outputs], ..r }));
    }

    let mut all = Claims::new();
    for (m, (challenge, r)) in made.iter().zip(&revealed) {
        let b = &m.batch;
        claims(&mut all, b.shape, challenge, [&b.inputs.shares, &b.outputs.shares, &b.offsets.shares, &party.ka.shares], r);
    }
    let new: Vec<&Committed> = made.iter().flat_map(|m| [&m.batch.inputs, &m.batch.offsets, &m.batch.outputs]).collect();
    committer.prove(&mut run.channel, &new, &all)?;
    drop(all);
    let keep = made.into_iter().zip(&revealed).map(|(m, (challenge, _))| {
        let b = m.batch;
        GarblerBatch {
            inputs: b.inputs.select(rows(&challenge.chosen, b.shape.inputs)),
            outputs: b.outputs.select(rows(&challenge.chosen, b.shape.outputs)),
            offsets: b.offsets.select(rows(&challenge.chosen, 1)),
            ..b
        }
    });
    Ok(keep.collect())
}

/// The places of all wires of these copies.
fn rows(copies: &[usize], wires: usize) -> impl Iterator<Item = usize> + Clone + '_ {
    copies.iter().flat_map(move |&copy| copy * wires..(copy + 1) * wires)
}

pub(super) fn evaluator(party: &mut Evaluator, request: &Request, parameters: &Parameters) -> Result<Vec<EvaluatorBatch>, Error> {
    struct Received {
        origin: Origin,
        component: ComponentDigest,
        shape: Shape,
        plan: Plan,
        keys: GarblingKeys,
        hashes: Vec<u8>,
    }
    let Evaluator { run, holder, rng, hooks, ka, serial, .. } = party;
    let (mut received, mut pending) = (Vec::new(), Vec::new());
    for (id, &cut) in parameters.components.iter().enumerate().filter(|(_, cut)| cut.slots > 0) {
        let (component, _) = &request.components[id];
        let circuit = &component.circuit;
        let shape = Shape::new(circuit, cut.into());
        let copies = shape.batch.items();
        pending.push(holder.receive_random(&mut run.channel, copies * shape.inputs, Lsb::Random)?);
        pending.push(holder.receive_random(&mut run.channel, copies, Lsb::One)?);
        pending.push(holder.receive(&mut run.channel, copies * shape.outputs)?);
        let mut hashes = run.channel.receive(msg::TABLE_HASHES, SEED_BYTES + copies * TABLE_HASH_BYTES)?;
        let start = u128::from_le_bytes(*hashes.first_chunk().expect("16 bytes"));
        hashes.drain(..SEED_BYTES);
        *serial += 1;
        received.push(Received {
            origin: Origin { serial: *serial, kind: Kind::Component, cut },
            component: component.digest(),
            shape,
            plan: Plan::new(circuit),
            keys: GarblingKeys::new(start, copies, circuit.and_gates()),
            hashes,
        });
    }

    let mut seeds = vec![0; received.len() * SEED_BYTES];
    rng.fill(&mut seeds);
    hooks.alter(Point::Challenge, &mut seeds);
    run.channel.send(msg::CHALLENGE, &seeds)?;
    let mut revealed = Vec::new();
    for (b, seed) in received.iter().zip(seeds.chunks_exact(SEED_BYTES)) {
        let shape = b.shape;
        let challenge = Challenge::expand(&Seed::from_bytes(seed.try_into().expect("16 bytes")), &shape.batch);
        let Challenge { opened, chosen } = &challenge;
        let opened_offsets = run.labels(msg::OPENED, opened.len() * (1 + shape.inputs))?;
        let (opened_offsets, opened_inputs) = opened_offsets.split_at(opened.len());
        let links = run.labels(msg::LINKS, chosen.len())?;
        let mut solderings = vec![Soldering::default(); shape.bucket_solderings()];
        run.channel.receive_into(msg::BUCKET_SOLDERINGS, bytemuck::cast_slice_mut(&mut solderings))?;
        if links.iter().any(|link| link.colour() != 0) {
            return Err(Cheat::LinkColour.into());
        }
        let deltas = offsets_of(opened_offsets).ok_or(Cheat::OffsetColour)?;
        let hash_of = |copy: usize| &b.hashes[copy * TABLE_HASH_BYTES..(copy + 1) * TABLE_HASH_BYTES];

        // Opened copies: VerSub, on every table byte here and on every wire by the claims below.
        let input = |k: usize| &opened_inputs[k * shape.inputs..(k + 1) * shape.inputs];
        let check_opened = || {
            let (outputs, sinks) = garble_copies(&b.plan, &b.keys, opened, &deltas, shape, input, |here, _| HashTables::new(here))?;
            let hashes = sinks.iter().flat_map(HashTables::finish);
            let honest = opened.iter().zip(hashes).all(|(&copy, hash)| hash_of(copy) == hash);
            if honest { Ok(outputs) } else { Err(Error::Peer(Cheat::OpenedCopy)) }
        };
        // Chosen copies: the tables must be the hashed ones.
        let receive_chosen = || -> Result<Vec<u8>, Error> {
            let mut tables = vec![0u8; chosen.len() * shape.table_bytes];
            if shape.table_bytes == 0 {
                // No AND gate: all tables are empty, and so were the hashed ones if this hash is right.
                let empty = blake3::hash(&[]);
                let honest = chosen.iter().all(|&copy| hash_of(copy) == empty.as_bytes());
                for _ in 0..chosen.len().div_ceil(COPIES_A_TASK) {
                    run.channel.receive(msg::TABLES, 0)?;
                }
                return if honest { Ok(tables) } else { Err(Cheat::ChosenTables.into()) };
            }
            let (mut done, total) = (0, tables.len() as u64);
            let bad = std::sync::atomic::AtomicBool::new(false);
            rayon::scope(|scope| -> Result<(), Error> {
                for (task, tables) in tables.chunks_mut(COPIES_A_TASK * shape.table_bytes).enumerate() {
                    run.channel.receive_bulk_into(msg::TABLES, tables)?;
                    done += tables.len() as u64;
                    run.progress(done, total);
                    let (tables, bad) = (&*tables, &bad);
                    scope.spawn(move |_| {
                        for (k, table) in tables.chunks(shape.table_bytes).enumerate() {
                            if blake3::hash(table).as_bytes() != hash_of(chosen[task * COPIES_A_TASK + k]) {
                                bad.store(true, std::sync::atomic::Ordering::Relaxed);
                            }
                        }
                    });
                }
                Ok(())
            })?;
            if bad.into_inner() { Err(Cheat::ChosenTables.into()) } else { Ok(tables) }
        };
        let (tables, opened_outputs) = rayon::join(receive_chosen, check_opened);
        let (opened_offsets, opened_inputs) = (opened_offsets.to_vec(), opened_inputs.to_vec());
        revealed.push((Revealed { opened_offsets, opened_inputs, opened_outputs: opened_outputs?, links, solderings }, tables?, challenge));
    }

    let mut all = Claims::new();
    let shares: Vec<&Shares> = pending.iter().map(|p| p.shares()).collect();
    for ((b, (r, _, challenge)), s) in received.iter().zip(&revealed).zip(shares.chunks(3)) {
        claims(&mut all, b.shape, challenge, [s[0], s[2], s[1], ka], r);
    }
    let proof = holder.verify(&mut run.channel, &pending.iter().collect::<Vec<_>>(), &all)?;
    drop(all);
    let kept = pending.into_iter().map(|p| p.accept(&proof)).collect::<Vec<_>>();
    let keep = received.into_iter().zip(revealed).zip(kept.chunks(3)).map(|((b, (r, tables, challenge)), s)| EvaluatorBatch {
        origin: b.origin,
        component: b.component,
        shape: b.shape,
        plan: Arc::new(b.plan),
        keys: b.keys,
        copies: challenge.chosen.clone(),
        inputs: s[0].select(rows(&challenge.chosen, b.shape.inputs)),
        outputs: s[2].select(rows(&challenge.chosen, b.shape.outputs)),
        offsets: s[1].select(rows(&challenge.chosen, 1)),
        links: r.links,
        solderings: r.solderings,
        tables,
    });
    Ok(keep.collect())
}
