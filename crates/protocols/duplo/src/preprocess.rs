//! PreprocessComponent: each component is garbled in many copies, which are checked by cut-and-choose and put
//! into buckets.
//!
//! ```text
//!   garbler -> evaluator    for each component: commitments to the input wires and offsets of all copies,
//!                           to their output wires; start of the hash keys; a hash of each copy's tables
//!   evaluator -> garbler    challenge: a seed that determines which copies are opened and which
//!                           share a bucket
//!   garbler -> evaluator    opened copies: offset and input wires;
//!                           the others: delta differences, solderings from
//!                           the head of the bucket to the other copies' inputs, tables
//! ```
//!
//! Before the challenge, a proof shows that all these commitments are valid. After the challenge, another
//! proof covers all claims. The same proofs cover the commitments and claims of other modules.
//!
//! The evaluator garbles the opened copies again. It compares the hash over all bytes of their tables. It
//! also makes a claim about each wire, up to the last output, so the proof compares all wires. If the garbler
//! knew the challenge before it sent the hashes, it could make only unopened copies bad.

use std::ops::Range;
use std::sync::{Arc, Mutex};

use rayon::prelude::*;
use zeroize::Zeroizing;

use super::batch::{EvaluatorBatch, GarblerBatch, Shape};
use super::challenge::{Assignment, BatchSizes, Challenge};
use super::chunked::{IN_HAND, ITEMS_A_TASK, each_of, send_list};
use super::claims;
use super::hooks;
use super::items::Origin;
use super::party::EvaluatorCore;
use super::request::Request;
use super::tables::{self, TablePlace, Tables};
use super::{Cheat, Error, Garbler, Parameters, Point, msg};
use brickwork_base::bits::Bits;
use brickwork_base::label::{Delta, Label};
use brickwork_base::pool;
use brickwork_base::random::{SEED_BYTES, Seed};
use brickwork_circuit::ComponentDigest;
use brickwork_primitives::Labels;
use brickwork_primitives::commit::{
    self, CommitmentRow, Lsb, New, Pending, Places, Proof, Receiver, Selection, Sender as _, Shares,
};
use brickwork_primitives::cut_and_choose::BatchKind;
use brickwork_primitives::garbling::{
    GarblingKeys, GarblingScheme as _, HalfGates, HashTables, Schedule, TABLE_HASH_BYTES, TableSink,
    table_hash,
};
use brickwork_primitives::receive;
use brickwork_primitives::solder::{GarblerWire, Soldering};
use brickwork_primitives::spill::{Spill, SpilledVec};
use brickwork_protocol::Metered;
use brickwork_store::{Bulk, Writers};

/// The number of copies that one task garbles side by side.
const COPIES_A_TASK: usize = 16;

/// The number of groups of [`COPIES_A_TASK`] copies that one task garbles one after another, if every thread
/// still gets a task. Allocating and wiping the memory of their wires costs a tenth of the garbling.
const TURNS_A_TASK: usize = 4;

/// Garbles the copies `indices` of a batch in parallel. `input` writes the committed values of the input
/// wires of a range of these copies. Returns the committed values of the output wires, `[copy][wire]`, and
/// the result of `made` for the sink of each task.
#[expect(clippy::too_many_arguments, reason = "a task needs copies, keys, offsets, inputs and sinks")]
fn garble_copies<S: TableSink, M: Send>(
    schedule: &Schedule,
    keys: &GarblingKeys,
    indices: &[u32],
    deltas: &[Delta],
    shape: Shape,
    input: impl Fn(Range<usize>, &mut [Label]) -> Result<(), Error> + Sync,
    sink: impl Fn(usize, &[u32]) -> S + Sync,
    made: impl Fn(S) -> M + Sync,
) -> Result<(Labels, Vec<M>), Error> {
    let mut outputs = Labels::new(vec![Label::ZERO; indices.len() * shape.outputs]);
    let turns = indices.len() / (4 * pool::threads() * COPIES_A_TASK);
    let a_task = COPIES_A_TASK * turns.clamp(1, TURNS_A_TASK);
    let garble = |(task, outputs): (usize, &mut [Label])| {
        let first = task * a_task;
        let here = outputs.len() / shape.outputs;
        let deltas = &deltas[first..first + here];
        let mut labels = Labels::new(vec![Label::ZERO; here * shape.inputs]);
        input(first..first + here, &mut labels)?;
        for (values, &delta) in labels.chunks_mut(shape.inputs.max(1)).zip(deltas) {
            values.iter_mut().for_each(|label| *label = GarblerWire { value: *label, delta }.false_label());
        }
        let copies = &indices[first..first + here];
        let mut sink = sink(here, copies);
        HalfGates::garble(schedule, keys, copies, deltas, &labels, outputs, &mut sink)?;
        for (wires, &delta) in outputs.chunks_mut(shape.outputs).zip(deltas) {
            wires.iter_mut().for_each(|w| *w = GarblerWire::from_false_label(*w, delta).value);
        }
        Ok(made(sink))
    };
    let each = |outputs: &mut Labels| {
        outputs.par_chunks_mut(a_task * shape.outputs).enumerate().map(garble).collect::<Result<_, Error>>()
    };
    let tasks = pool::compute(|| each(&mut outputs))?;
    Ok((outputs, tasks))
}

fn offsets_of(values: &[Label]) -> Option<Zeroizing<Vec<Delta>>> {
    // Allocates the exact room: a growing vector would leave copies of secrets in freed memory.
    let mut offsets = Zeroizing::new(Vec::with_capacity(values.len()));
    for value in values {
        offsets.push(Delta::checked(value.bits())?);
    }
    Some(offsets)
}

/// Collects the tables of a few copies, one copy after the other.
struct InOrder {
    bytes: Vec<u8>,
    table_bytes: usize,
    filled: Vec<usize>,
}

impl TableSink for InOrder {
    fn tables(&mut self, copy: usize, bytes: &[u8]) -> Result<(), Error> {
        let start = copy * self.table_bytes + self.filled[copy];
        self.bytes[start..start + bytes.len()].copy_from_slice(bytes);
        self.filled[copy] += bytes.len();
        Ok(())
    }
}

/// All copies of a component, and the garbler's commitments to them.
pub(super) struct GarblerCopies {
    id: usize,
    origin: Origin,
    component: ComponentDigest,
    shape: Shape,
    at: Places,
    /// The committed input wires: `[copy][input wire]`.
    inputs: CommitmentRow,
    /// The committed offsets: `[copy]`.
    offsets: CommitmentRow,
    /// The committed output wires: `[copy][output wire]`.
    outputs: CommitmentRow,
    schedule: Schedule,
    keys: GarblingKeys,
    deltas: Zeroizing<Vec<Delta>>,
}

impl GarblerCopies {
    pub fn new_commitments(&self) -> [New<'_>; 3] {
        [&self.inputs, &self.offsets, &self.outputs].map(New::from)
    }
}

/// A component's copies after their challenge, before their outputs are soldered to authenticators.
pub(super) struct GarblerOpenedBatch {
    pub batch: GarblerBatch,
    pub copies: claims::CopyClaims,
    /// The flips of the solderings in buckets.
    pub flips: Bits,
    /// The number of each chosen copy in the batch.
    pub chosen: Vec<u32>,
    /// The outputs of all copies, `[copy][output wire]`.
    pub outputs: CommitmentRow,
}

/// Reads the committed values of all wires of some copies, whose numbers ascend.
fn values_of(row: &CommitmentRow, each: usize, copies: &[u32], values: &mut [Label]) -> Result<(), Error> {
    let (Some(&first), Some(&last)) = (copies.first(), copies.last()) else { return Ok(()) };
    let span = (last - first) as usize + 1;
    if span == copies.len() {
        return row.fill(first as usize * each, values);
    }
    if span <= 2 * copies.len() {
        // Neighbouring copies share blocks of values. So it is cheaper to compute the values of the copies
        // between them, too.
        let mut all = Labels::new(vec![Label::ZERO; span * each]);
        row.fill(first as usize * each, &mut all)?;
        for (&copy, values) in copies.iter().zip(values.chunks_mut(each)) {
            values.copy_from_slice(&all[(copy - first) as usize * each..][..each]);
        }
        return Ok(());
    }
    copies
        .iter()
        .zip(values.chunks_mut(each))
        .try_for_each(|(&copy, values)| row.fill(copy as usize * each, values))
}

/// Garbles the copies of each component and commits to them.
pub(super) fn garbler_commits<C: commit::CommitmentScheme>(
    party: &mut Garbler<C>,
    request: &Request,
    parameters: &Parameters,
) -> Result<Vec<GarblerCopies>, Error> {
    let Garbler { run, sender, rng, hooks, counters, .. } = party;
    let mut made = Vec::new();
    for (id, &bucketing) in
        parameters.components.iter().enumerate().filter(|(_, bucketing)| bucketing.slots > 0)
    {
        let (component, _) = &request.components[id];
        let circuit = &component.circuit;
        let shape = Shape::new(circuit, bucketing.into());
        let copies = shape.batch.items();
        let first = sender.next_row();
        let inputs = sender.row(&mut run.channel, copies * shape.inputs, Lsb::Random)?;
        let at = Places::begin([first, sender.next_row()]);
        let offsets = sender.row(&mut run.channel, copies, Lsb::One)?;
        let committed = offsets.values()?;
        let schedule = Schedule::new(circuit);
        let keys = GarblingKeys::new(rng.block(), copies, circuit.and_gates());
        let deltas = offsets_of(&hooks::altered(hooks, Point::GarbledOffsets(id), &committed))
            .expect("the scheme has set the lowest bit of each offset");
        drop(committed);
        let mut hashes = Vec::with_capacity(SEED_BYTES + copies * TABLE_HASH_BYTES);
        hashes.extend_from_slice(&keys.start().to_le_bytes());
        let mut outputs = sender.begin_row(copies * shape.outputs)?;
        let turn = TURNS_A_TASK * COPIES_A_TASK * 4 * pool::threads();
        let step = hooks::step(hooks, turn.max(IN_HAND / shape.outputs), copies);
        for start in (0..copies).step_by(step) {
            let indices: Vec<u32> = (start as u32..copies.min(start + step) as u32).collect();
            let input = |range: Range<usize>, values: &mut [Label]| {
                inputs.fill((start + range.start) * shape.inputs, values)
            };
            let sink = |here, copies: &[u32]| {
                hooks::tables(hooks, id, copies, HashTables::new(here, shape.table_bytes))
            };
            let deltas = &deltas[start..start + indices.len()];
            let (mut values, made) =
                garble_copies(&schedule, &keys, &indices, deltas, shape, input, sink, |sink| sink.finish())?;
            hashes.extend(made.into_iter().flatten().flatten());
            hooks.alter(Point::CommittedOutputs(id), &mut values);
            sender.push(&mut run.channel, &mut outputs, &values)?;
        }
        let outputs = sender.finish(outputs);
        hooks.alter(Point::TableHashes(id), &mut hashes[SEED_BYTES..]);
        run.channel.send(msg::TABLE_HASHES, &hashes)?;
        let origin = Origin::new(counters.serial()?, BatchKind::Component, bucketing);
        let component = component.digest();
        made.push(GarblerCopies {
            id,
            origin,
            component,
            shape,
            at,
            inputs,
            offsets,
            outputs,
            schedule,
            keys,
            deltas,
        });
    }
    Ok(made)
}

impl GarblerCopies {
    /// Opens the challenged copies, puts the other copies into buckets, and sends their tables.
    pub fn open<C: commit::CommitmentScheme>(
        self,
        party: &mut Garbler<C>,
        seed: &Seed,
    ) -> Result<GarblerOpenedBatch, Error> {
        let (shape, challenge) = (self.shape, Challenge::expand(seed, &self.shape.batch));
        let assignment = challenge.assignment(shape.batch.size);
        let chosen = &challenge.chosen;
        let deltas: Zeroizing<Vec<Delta>> =
            Zeroizing::new(chosen.iter().map(|&copy| self.deltas[copy as usize]).collect());
        self.send_opened(party, &challenge.opened, &assignment)?;
        self.send_delta_differences(party, &deltas)?;
        let flips = self.solder_buckets(party, &assignment, &deltas)?;
        self.send_tables(party, chosen, &deltas)?;
        let GarblerCopies { origin, component, at, inputs, offsets, outputs, .. } = self;
        let at = at.heads(chosen, shape.batch.size);
        let heads =
            |row: &CommitmentRow, each: usize| row.pick(&Arc::new(Selection::new(at.items.clone(), each)));
        let batch = GarblerBatch {
            origin,
            component,
            shape,
            inputs: heads(&inputs, shape.inputs),
            offsets: heads(&offsets, 1),
            at,
        };
        let claims = claims::CopyClaims {
            shape,
            assignment,
            inputs: inputs.into_shares(),
            offsets: offsets.into_shares(),
            outputs: outputs.shares().same(),
        };
        Ok(GarblerOpenedBatch { batch, copies: claims, flips, chosen: challenge.chosen, outputs })
    }

    /// Sends the openings of the copies `opened`: their offsets, then their input wires.
    fn send_opened<C: commit::CommitmentScheme>(
        &self,
        party: &mut Garbler<C>,
        opened: &[u32],
        assignment: &Assignment,
    ) -> Result<(), Error> {
        let Garbler { run, hooks, .. } = party;
        let &GarblerCopies { id, shape, ref inputs, ref offsets, .. } = self;
        let mut opened_offsets = Labels::new(vec![Label::ZERO; opened.len()]);
        offsets.scatter(1, |copy| assignment.place(copy).ok(), &mut opened_offsets)?;
        let open = |range: Range<usize>| {
            let mut values = vec![Label::ZERO; range.len()];
            let (of_offsets, of_inputs) =
                values.split_at_mut(range.end.min(opened.len()).saturating_sub(range.start));
            of_offsets.copy_from_slice(&opened_offsets[range.start.min(opened.len())..][..of_offsets.len()]);
            let first = range.start.max(opened.len()) - opened.len();
            let fill = |_: &mut (), c: usize, mut rest: &mut [Label]| {
                // A task may begin within a copy.
                let mut place = first + c * ITEMS_A_TASK;
                while !rest.is_empty() {
                    let (copy, wire) = (opened[place / shape.inputs] as usize, place % shape.inputs);
                    let (here, behind) = rest.split_at_mut(rest.len().min(shape.inputs - wire));
                    inputs.fill(copy * shape.inputs + wire, here)?;
                    place += here.len();
                    rest = behind;
                }
                Ok::<(), Error>(())
            };
            pool::map(of_inputs.chunks_mut(ITEMS_A_TASK).collect(), || (), fill)
                .into_iter()
                .collect::<Result<(), Error>>()?;
            Ok(values)
        };
        let count = opened.len() * (1 + shape.inputs);
        send_list(run, hooks, (Point::Opened(id), msg::OPENED), count, IN_HAND, open, |_| {})
    }

    /// Sends S_c = Δ_c ⊕ Δ_ka of each chosen copy, whose offsets are `deltas`.
    fn send_delta_differences<C: commit::CommitmentScheme>(
        &self,
        party: &mut Garbler<C>,
        deltas: &[Delta],
    ) -> Result<(), Error> {
        let (id, delta_ka) = (self.id, party.delta_ka());
        let Garbler { run, hooks, .. } = party;
        let delta_difference = |range: Range<usize>| {
            Ok(deltas[range].iter().map(|delta| delta.label() ^ delta_ka).collect::<Vec<Label>>())
        };
        send_list(
            run,
            hooks,
            (Point::DeltaDifferences(id), msg::DELTA_DIFFERENCES),
            deltas.len(),
            IN_HAND,
            delta_difference,
            |_| {},
        )
    }

    /// Sends solderings from the inputs of each bucket's head to the inputs of its other copies. Returns
    /// their flips.
    fn solder_buckets<C: commit::CommitmentScheme>(
        &self,
        party: &mut Garbler<C>,
        assignment: &Assignment,
        deltas: &[Delta],
    ) -> Result<Bits, Error> {
        let Garbler { run, hooks, window, .. } = party;
        let &GarblerCopies { id, shape, ref inputs, .. } = self;
        let BatchSizes { size, buckets, .. } = shape.batch;
        let mut flips = Bits::default();
        let mut values = Labels::new(Vec::new());
        let solder = |range: Range<usize>| {
            let first = range.start * size;
            values.resize(range.len() * size * shape.inputs, Label::ZERO);
            let here = |copy: usize| {
                assignment
                    .place(copy)
                    .err()
                    .and_then(|place| place.checked_sub(first))
                    .filter(|&k| k < range.len() * size)
            };
            inputs.scatter(shape.inputs, here, &mut values)?;
            let value = |copy: usize, w: usize| values[(copy - first) * shape.inputs + w];
            let soldering = |k: usize| {
                let (head, copy, w) = shape.bucket_soldering(k);
                Soldering::new(value(head, w), GarblerWire { value: value(copy, w), delta: deltas[copy] })
            };
            let pairs = (size - 1) * shape.inputs;
            Ok(each_of(range.start * pairs..range.end * pairs, soldering))
        };
        let step = *window / (size * shape.inputs).max(1);
        send_list(
            run,
            hooks,
            (Point::BucketSolderings(id), msg::BUCKET_SOLDERINGS),
            buckets,
            step,
            solder,
            |solderings| {
                flips.extend(solderings.iter().map(|soldering| soldering.flip()));
            },
        )?;
        Ok(flips)
    }

    /// Garbles the chosen copies again and sends their tables. Some copies are garbled while tables of the
    /// previous ones are sent.
    fn send_tables<C: commit::CommitmentScheme>(
        &self,
        party: &mut Garbler<C>,
        chosen: &[u32],
        deltas: &[Delta],
    ) -> Result<(), Error> {
        let Garbler { run, hooks, .. } = party;
        let &GarblerCopies { id, shape, ref inputs, ref schedule, ref keys, .. } = self;
        let order = tables::ranked(chosen);
        let spare = Mutex::new(Vec::<Vec<u8>>::new());
        let tables = |range: Range<usize>| {
            let places = &order[range];
            let copies: Vec<u32> = places.iter().map(|&place| chosen[place]).collect();
            let input = |range: Range<usize>, values: &mut [Label]| {
                values_of(inputs, shape.inputs, &copies[range], values)
            };
            let sink = |here: usize, copies: &[u32]| {
                // Allocating memory takes longer than writing to it, so used buffers are kept.
                let mut bytes = spare.lock().ok().and_then(|mut spare| spare.pop()).unwrap_or_default();
                bytes.resize(here * shape.table_bytes, 0);
                hooks::tables(
                    hooks,
                    id,
                    copies,
                    InOrder { bytes, table_bytes: shape.table_bytes, filled: vec![0; here] },
                )
            };
            let deltas = Zeroizing::new(places.iter().map(|&place| deltas[place]).collect::<Vec<Delta>>());
            garble_copies(schedule, keys, &copies, &deltas, shape, input, sink, |sink| sink)
                .map(|(_, tables)| tables)
        };
        let step = COPIES_A_TASK * pool::threads();
        let mut ready = tables(0..step.min(chosen.len()))?;
        let (mut done, total) = (0, chosen.len());
        while done < total {
            let next = (done + step).min(total);
            let (sent, made) = pool::beside(
                || ready.iter().try_for_each(|t| run.channel.send_bulk(msg::TABLES, &t.bytes)),
                || tables(next..(next + step).min(total)),
            );
            sent?;
            if let Ok(mut spare) = spare.lock() {
                spare.extend(ready.iter_mut().map(|sent| std::mem::take(&mut sent.bytes)));
            }
            run.progress(((next - done) * shape.table_bytes) as u64);
            (ready, done) = (made?, next);
        }
        Ok(())
    }
}

/// All copies of a component, and the commitments to them at the evaluator. `C` is [`Pending`] or, after the
/// proof, [`Shares`].
pub(super) struct EvaluatorCopies<C> {
    hashed: Hashed,
    inputs: C,
    offsets: C,
    outputs: C,
}

/// All copies of a component, with the received hashes of their tables.
struct Hashed {
    origin: Origin,
    component: ComponentDigest,
    shape: Shape,
    schedule: Schedule,
    keys: GarblingKeys,
    hashes: Vec<u8>,
}

/// Receives the commitments to copies, and the hashes of their tables.
pub(super) fn evaluator_receives<C: commit::CommitmentScheme>(
    core: &mut EvaluatorCore<C>,
    request: &Request,
    parameters: &Parameters,
) -> Result<Vec<EvaluatorCopies<Pending>>, Error> {
    let EvaluatorCore { run, receiver, counters, .. } = core;
    let mut received = Vec::new();
    for (id, &bucketing) in
        parameters.components.iter().enumerate().filter(|(_, bucketing)| bucketing.slots > 0)
    {
        let (component, _) = &request.components[id];
        let circuit = &component.circuit;
        let shape = Shape::new(circuit, bucketing.into());
        let copies = shape.batch.items();
        let inputs = receiver.receive_random(&mut run.channel, copies * shape.inputs, Lsb::Random)?;
        let offsets = receiver.receive_random(&mut run.channel, copies, Lsb::One)?;
        let outputs = receiver.receive(&mut run.channel, copies * shape.outputs)?;
        let mut hashes = run.channel.receive(msg::TABLE_HASHES, SEED_BYTES + copies * TABLE_HASH_BYTES)?;
        let start = u128::from_le_bytes(*hashes.first_chunk().expect("16 bytes"));
        hashes.drain(..SEED_BYTES);
        let hashed = Hashed {
            origin: Origin::new(counters.serial()?, BatchKind::Component, bucketing),
            component: component.digest(),
            shape,
            schedule: Schedule::new(circuit),
            keys: GarblingKeys::new(start, copies, circuit.and_gates()),
            hashes,
        };
        received.push(EvaluatorCopies { hashed, inputs, offsets, outputs });
    }
    Ok(received)
}

impl EvaluatorCopies<Pending> {
    pub fn pending(&self) -> [&Pending; 3] {
        [&self.inputs, &self.offsets, &self.outputs]
    }

    pub fn accept(self, proof: &Proof) -> EvaluatorCopies<Shares> {
        let [inputs, offsets, outputs] =
            [self.inputs, self.offsets, self.outputs].map(|pending| pending.accept(proof));
        EvaluatorCopies { hashed: self.hashed, inputs, offsets, outputs }
    }
}

/// A component's copies after their challenge, before the openings are proven.
pub(super) struct EvaluatorOpenedBatch {
    pub batch: EvaluatorBatch,
    pub copies: claims::CopyClaims,
    pub opened: claims::OpenedCopies,
    /// The flips of the solderings in buckets.
    pub flips: Bits,
}

impl EvaluatorCopies<Shares> {
    /// Receives the openings, garbles the opened copies again, and compares the hashes of the others' tables.
    pub fn open<C: commit::CommitmentScheme>(
        self,
        core: &mut EvaluatorCore<C>,
        spill: &Spill,
        seed: &Seed,
    ) -> Result<EvaluatorOpenedBatch, Error> {
        let EvaluatorCore { run, table_memory, segments, .. } = core;
        let EvaluatorCopies { hashed, inputs, offsets, outputs } = self;
        let room = hashed.room(table_memory, segments.as_ref())?;
        let shape = hashed.shape;
        let challenge = Challenge::expand(seed, &shape.batch);
        let Challenge { opened, chosen } = &challenge;

        // One message has first the offsets and then the inputs.
        let mut received_offsets = Vec::with_capacity(opened.len());
        let received = spill.fill(opened.len() * (1 + shape.inputs), |received: &mut [Label]| {
            run.channel.receive_into(msg::OPENED, bytemuck::cast_slice_mut(received))?;
            received_offsets
                .extend_from_slice(&received[..received.len().min(opened.len() - received_offsets.len())]);
            Ok(())
        })?;
        let received_inputs = received.split(&[opened.len(), opened.len() * shape.inputs]).swap_remove(1);
        let delta_differences = receive::labels(&mut run.channel, msg::DELTA_DIFFERENCES, chosen.len())?;
        let (solderings, flips) =
            receive::solderings(&mut run.channel, spill, msg::BUCKET_SOLDERINGS, shape.bucket_solderings())?;
        if delta_differences.iter().any(|delta_difference| delta_difference.colour() != 0) {
            return Err(Cheat::DeltaDifferenceColour.into());
        }
        let deltas = offsets_of(&received_offsets).ok_or(Cheat::OffsetColour)?;
        let (tables, garbled) = pool::beside(
            || hashed.receive_chosen(run, chosen, room),
            || hashed.garble_opened(opened, &deltas, &received_inputs),
        );
        let (mut garbled, tables) = (garbled?, tables?);
        let received_outputs = spill.put(std::mem::take(&mut *garbled))?;
        let open = claims::OpenedCopies {
            offsets: received_offsets,
            inputs: received_inputs,
            outputs: received_outputs,
        };
        let assignment = challenge.assignment(shape.batch.size);
        let items: Vec<u32> =
            challenge.heads(0..shape.batch.buckets, shape.batch.size).map(|copy| copy as u32).collect();
        let heads = |row: &Shares, each: usize| row.pick(&Arc::new(Selection::new(items.clone(), each)));
        let Hashed { origin, component, schedule, keys, .. } = hashed;
        let batch = EvaluatorBatch {
            origin,
            component,
            shape,
            schedule: Arc::new(schedule),
            keys,
            inputs: heads(&inputs, shape.inputs),
            offsets: heads(&offsets, 1),
            delta_differences,
            solderings,
            tables,
            copies: challenge.chosen,
        };
        let copies = claims::CopyClaims { shape, assignment, inputs, offsets, outputs };
        Ok(EvaluatorOpenedBatch { batch, copies, opened: open, flips })
    }
}

impl Hashed {
    fn hash_of(&self, copy: u32) -> &[u8] {
        let copy = copy as usize;
        &self.hashes[copy * TABLE_HASH_BYTES..(copy + 1) * TABLE_HASH_BYTES]
    }

    /// VerSub: compares the tables of the opened copies, byte by byte; the claims compare every wire. Returns
    /// the values that the commitments to the output wires must have.
    fn garble_opened(
        &self,
        opened: &[u32],
        deltas: &[Delta],
        inputs: &SpilledVec<Label>,
    ) -> Result<Labels, Error> {
        let shape = self.shape;
        let input = |copies: Range<usize>, labels: &mut [Label]| {
            labels.copy_from_slice(&inputs.read(copies.start * shape.inputs..copies.end * shape.inputs)?);
            Ok(())
        };
        // A hash's state takes two kilobytes, as much as a small copy's tables. So a task keeps only finished
        // hashes.
        let (sink, made) =
            (|here, _: &[u32]| HashTables::new(here, shape.table_bytes), |sink: HashTables| sink.finish());
        let (outputs, hashes) =
            garble_copies(&self.schedule, &self.keys, opened, deltas, shape, input, sink, made)?;
        let hashes = hashes.into_iter().flatten();
        let honest = opened.iter().zip(hashes).all(|(&copy, hash)| self.hash_of(copy) == hash);
        if honest { Ok(outputs) } else { Err(Cheat::OpenedCopy.into()) }
    }

    /// Returns the place for the tables of the chosen copies: memory, or a segment on disk.
    fn room<'a>(&self, in_memory: &'a mut u64, segments: Option<&Writers>) -> Result<TablePlace<'a>, Error> {
        let Some(segments) = segments.filter(|_| self.shape.table_bytes > 0) else {
            return Ok(TablePlace::Here(in_memory));
        };
        let units = u32::try_from(self.shape.batch.chosen())
            .map_err(|_| Error::Usage("a batch must have fewer than 2^32 copies".into()))?;
        let each = self.shape.batch.size as u32;
        let bulk = Bulk { units, unit_bytes: self.shape.table_bytes as u64, each };
        Ok(TablePlace::Segment(Box::new(segments.begin(self.origin.serial, Some(bulk))?)))
    }

    /// Receives the tables of the chosen copies and compares them with the hashes.
    fn receive_chosen(&self, run: &mut Metered, chosen: &[u32], room: TablePlace) -> Result<Tables, Error> {
        let table_bytes = self.shape.table_bytes;
        if table_bytes == 0 {
            // Without AND gates all tables are empty, so each hash must be the hash of nothing.
            let empty = blake3::hash(&[]);
            let honest = chosen.iter().all(|&copy| self.hash_of(copy) == empty.as_bytes());
            for _ in 0..chosen.len().div_ceil(COPIES_A_TASK) {
                run.channel.receive(msg::TABLES, 0)?;
            }
            return if honest { Ok(Tables::none(chosen.len())) } else { Err(Cheat::ChosenTables.into()) };
        }
        let receive = |tables: &mut [u8]| {
            run.channel.receive_bulk_into(msg::TABLES, tables)?;
            run.progress(tables.len() as u64);
            Ok(())
        };
        let check = |place: usize, table: &[u8]| table_hash(table) == self.hash_of(chosen[place]);
        Tables::receive(&tables::ranked(chosen), table_bytes, room, COPIES_A_TASK, receive, check)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Duplo;
    use crate::Evaluator;
    use crate::adversary::harness::{SEED, component, pair};
    use crate::hooks::Hooks;
    use brickwork_circuit::{Component, Party};
    use brickwork_primitives::cut_and_choose::Bucketing;
    use brickwork_protocol::{Terms, Unobserved};
    use brickwork_wire::memory_pair;

    /// Tables of several copies arrive mixed, section by section. They are stored copy after copy.
    #[test]
    fn the_tables_of_a_copy_stand_one_after_the_other() {
        let mut sink = InOrder { bytes: vec![0; 12], table_bytes: 6, filled: vec![0; 2] };
        for (copy, section) in [(1, [1, 2, 3]), (0, [4, 5, 6]), (0, [7, 8, 9]), (1, [10, 11, 12])] {
            sink.tables(copy, &section).unwrap();
        }
        assert_eq!(sink.bytes, [4, 5, 6, 7, 8, 9, 1, 2, 3, 10, 11, 12]);
    }

    /// A part of a batch has all data of its buckets. Wrong solderings in a bucket stay unnoticed while its
    /// head is good. But if the head is bad, the bucket then gives no valid label.
    #[test]
    fn row_05_a_part_of_a_batch_has_whole_buckets() {
        let circuit = &pair().circuit;
        let bucketing = Bucketing { slots: 4, bucket: 3, opened: 2 };
        let shape = Shape::new(circuit, bucketing.into());
        let label = |k: usize| Label::from_bits(k as u128);
        let soldering = |k: usize| bytemuck::cast::<Label, Soldering>(label(k));
        let batch = EvaluatorBatch {
            origin: Origin::new(1, BatchKind::Component, bucketing),
            component: [0; 32],
            shape,
            schedule: Arc::new(Schedule::new(circuit)),
            keys: GarblingKeys::new(0, shape.batch.items(), circuit.and_gates()),
            copies: (0..12).collect(),
            inputs: Shares::of_columns(5, (0..4 * 2 * 5).collect()),
            offsets: Shares::of_columns(5, (0..4 * 5).collect()),
            delta_differences: (0..12).map(label).collect(),
            solderings: SpilledVec::of((0..shape.bucket_solderings()).map(soldering).collect()),
            tables: Tables::of(vec![0; 12 * shape.table_bytes], shape.table_bytes, 12),
        };
        let part = batch.slice(1..3);
        assert_eq!(part.shape.batch.buckets, 2);
        assert_eq!(part.copies, [3, 4, 5, 6, 7, 8]);
        assert_eq!(part.tables.ranks(), [3, 4, 5, 6, 7, 8]);
        assert!(part.delta_differences == (3..9).map(label).collect::<Vec<_>>());
        assert_eq!(part.inputs.words(), (10..30).collect::<Vec<u64>>());
        assert_eq!(part.offsets.words(), (5..15).collect::<Vec<u64>>());
        // These are the solderings to the inputs of the two other copies, with two inputs each.
        assert_eq!(
            *part.solderings.read(0..part.solderings.len()).unwrap(),
            (4..12).map(soldering).collect::<Vec<_>>()
        );
    }

    /// Runs both parties to make this component, with very little memory and a challenge that the test knows.
    fn made(component: Component, parameters: &Parameters, garbler_wires: usize) {
        let terms = Terms {
            security: brickwork_base::Security::of(40),
            threads: 1,
            table_memory: 1,
            identities: [[1; 32], [2; 32]],
            post_quantum: false,
        };
        let request = Request {
            components: vec![(component, parameters.components[0].slots as usize)],
            garbler_wires,
            ots: None,
        };
        let challenge = |point, bytes: &mut [u8]| {
            if point == Point::Challenge {
                bytes.fill(SEED);
            }
        };
        let (left, right) = memory_pair();
        let (garbler, evaluator) = std::thread::scope(|scope| {
            let garbler = scope.spawn(|| {
                let observer = Box::new(Unobserved);
                let run = Metered::new::<Duplo>(left, Party::Garbler, observer);
                Garbler::set_up(run, &terms, Hooks::none())?.fill_agreed(&request, parameters).map(drop)
            });
            let observer = Box::new(Unobserved);
            let run = Metered::new::<Duplo>(right, Party::Evaluator, observer);
            let hooks = Hooks::lying(challenge);
            let evaluator = Evaluator::set_up(run, &terms, hooks)
                .and_then(|mut party| party.fill_agreed(&request, parameters).map(drop));
            (garbler.join().unwrap(), evaluator)
        });
        assert!(garbler.is_ok() && evaluator.is_ok(), "{garbler:?}, {evaluator:?}");
    }

    /// Long lists are made, sent, read and proven in chunks, wherever a chunk ends: labels of opened copies,
    /// solderings in buckets, wires of copies, delta differences and solderings of authenticators.
    #[test]
    fn long_lists_are_made_and_proven_chunk_by_chunk() {
        const INPUTS: u32 = 2500;
        const OUTPUTS: u32 = 36;
        let wide = component("wide", INPUTS, |b, w| {
            (0..OUTPUTS as usize).map(|k| b.and(w[k], w[INPUTS as usize - 1 - k])).collect()
        });
        let (copies, authenticators) = (
            Bucketing { slots: 10, bucket: 3, opened: 40 },
            Bucketing { slots: 10 * OUTPUTS, bucket: 7, opened: 6 },
        );
        // A message is sent and read in chunks of 65 536 labels; claims are combined 2048 at a time.
        assert!(copies.opened * (1 + INPUTS) > 1 << 16 && !(1u32 << 16).is_multiple_of(INPUTS));
        assert!(
            authenticators.slots * (authenticators.bucket - 1) > 2048
                && !2048u32.is_multiple_of(authenticators.bucket - 1)
        );
        let parameters = Parameters {
            decomposition: String::new(),
            security: 40.into(),
            components: vec![copies],
            plain: authenticators,
            input: authenticators,
            ot_binding: 48,
            bound_log2: 0.0,
        };
        made(wide, &parameters, authenticators.slots as usize);
    }
}
