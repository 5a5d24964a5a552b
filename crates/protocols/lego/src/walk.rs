//! The evaluator's order of evaluation: gates are evaluated in layers, and the gates of a layer are
//! independent.
//!
//! The program determines this order, so the buckets and solderings are sorted before the inputs arrive.
//! Memory is then read from front to back. All buffers are allocated before the inputs arrive, too. New pages
//! from the system would take longer than the gates that use them.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Mutex;

use zeroize::Zeroizing;

use crate::Cheat;
use crate::hooks::{Hooks, Point};
use crate::inputs::InputBuckets;
use crate::layout::{Layout, OutputWire};
use crate::preprocess::AndBuckets;
use crate::vote::{VoteBuffers, VoteResult, picked};
use brickwork_base::Error;
use brickwork_base::label::Label;
use brickwork_base::pool;
use brickwork_circuit::{Circuit, Gate};
use brickwork_primitives::Labels;
use brickwork_primitives::solder::Soldering;

/// The largest number of labels of a component's slots that are evaluated side by side, if there are several
/// slots: 512 KiB, which stay in a core's cache.
const LABELS_AT_ONCE: usize = 1 << 15;

/// The number of AND gates whose buckets are judged at a time.
const ANDS_AT_ONCE: usize = 256;

/// The number of AND gates for which waking a thread is worth its time.
const ANDS_A_THREAD: usize = 512;

/// The evaluator's material for the evaluation.
pub(super) struct Joined {
    /// Buckets of the program's AND gates, batch after batch.
    pub gates: Vec<AndBuckets>,
    /// Buckets for the garbler's inputs, batch after batch.
    pub inputs: Vec<InputBuckets>,
    pub solderings: Vec<Soldering>,
}

/// The gates of a circuit in stages: the stage of a gate is the number of AND gates on the longest path to
/// it.
struct Stages(Vec<Stage>);

#[derive(Default)]
struct Stage {
    /// XOR and INV gates in order, each with its wire.
    linear: Vec<(u32, Gate)>,
    /// AND gates: a wire, both operands, and the gate's number within the circuit.
    ands: Vec<[u32; 4]>,
}

impl Stages {
    fn of(circuit: &Circuit) -> Self {
        let mut stages: Vec<Stage> = vec![Stage::default()];
        let mut levels = vec![0_usize; circuit.inputs()];
        let mut number = 0;
        for (gate, wire) in circuit.gates().zip(circuit.inputs() as u32..) {
            let operands = match gate {
                Gate::Xor(a, b) | Gate::And(a, b) => [a, b],
                Gate::Inv(a) => [a, a],
            };
            let [a, b] = operands;
            let level = operands.map(|w| levels[w as usize]).into_iter().max().unwrap_or(0);
            if let Gate::And(..) = gate {
                if stages.len() == level + 1 {
                    stages.push(Stage::default());
                }
                stages[level].ands.push([wire, a, b, number]);
                number += 1;
                levels.push(level + 1);
            } else {
                stages[level].linear.push((wire, gate));
                levels.push(level);
            }
        }
        Stages(stages)
    }
}

/// Independent slots of one component, which one thread evaluates.
struct Chunk {
    component: usize,
    slots: Vec<usize>,
    /// The slots' AND gates, in the order of evaluation.
    ands: Range<usize>,
}

struct Order {
    /// Independent chunks, level after level.
    levels: Vec<Vec<Chunk>>,
    stages: Vec<Option<Stages>>,
    /// The program's AND gates, in the order of evaluation.
    ands: Vec<u32>,
}

impl Order {
    fn of(layout: &Layout) -> Self {
        let program = layout.program;
        let mut levels = vec![0_usize; layout.own + layout.evaluator];
        let mut by_level: Vec<BTreeMap<u32, Vec<usize>>> = Vec::new();
        for (index, slot) in program.slots().enumerate() {
            let level = slot.inputs.iter().map(|&wire| levels[wire as usize]).max().unwrap_or(0);
            let outputs = program.component(slot.component).circuit.outputs().len();
            levels.resize(levels.len() + outputs, level + 1);
            by_level.resize_with(by_level.len().max(level + 1), BTreeMap::new);
            by_level[level].entry(slot.component.0).or_default().push(index);
        }
        let mut order = Order {
            levels: Vec::new(),
            stages: program.components().iter().map(|_| None).collect(),
            ands: Vec::with_capacity(layout.ands),
        };
        for level in by_level {
            let mut chunks = Vec::new();
            for (component, slots) in level {
                let component = component as usize;
                let circuit = &program.components()[component].circuit;
                let Stages(stages) = order.stages[component].get_or_insert_with(|| Stages::of(circuit));
                for slots in slots.chunks((LABELS_AT_ONCE / circuit.wires()).max(1)) {
                    let begin = order.ands.len();
                    for stage in &*stages {
                        for &slot in slots {
                            let first = layout.first_and[slot] as u32;
                            order.ands.extend(stage.ands.iter().map(|[.., number]| first + number));
                        }
                    }
                    let ands = begin..order.ands.len();
                    chunks.push(Chunk { component, slots: slots.to_vec(), ands });
                }
            }
            order.levels.push(chunks);
        }
        order
    }

    fn stages(&self, chunk: &Chunk) -> &[Stage] {
        self.stages[chunk.component].as_ref().map_or(&[], |Stages(stages)| stages)
    }
}

/// The evaluator's material, in the order of evaluation.
pub(super) struct Ordered {
    material: Material,
    to_outputs: Vec<Soldering>,
    pub inputs: Vec<InputBuckets>,
    /// Buffers for the labels of the program's wires, and for threads.
    wires: Labels,
    desks: Mutex<Vec<Desk>>,
}

struct Material {
    order: Order,
    gates: Vec<AndBuckets>,
    /// For each AND gate, the batch of its bucket, and the bucket's number in the batch. Empty if there is
    /// only one batch.
    buckets: Vec<[u32; 2]>,
    /// The solderings to both inputs of each AND gate.
    solderings: Vec<[Soldering; 2]>,
}

impl Ordered {
    /// Sorts buckets and solderings from the order of the program into the order of evaluation.
    pub fn new(layout: &Layout, joined: Joined) -> Self {
        let order = Order::of(layout);
        let Joined { gates, inputs, mut solderings } = joined;
        let to_outputs = solderings.split_off(2 * layout.ands);
        let solderings = picked(solderings.as_chunks::<2>().0, &order.ands, 1);
        let mut ends: Vec<u32> = Vec::with_capacity(gates.len());
        for batch in &gates {
            ends.push(ends.last().copied().unwrap_or(0) + batch.count() as u32);
        }
        let mut counts = vec![0; gates.len()];
        let mut next = |and: &u32| {
            let batch = ends.partition_point(|end| end <= and);
            counts[batch] += 1;
            [batch as u32, counts[batch] - 1]
        };
        let several = gates.len() > 1;
        let buckets: Vec<[u32; 2]> = order.ands.iter().filter(|_| several).map(&mut next).collect();
        let places = |batch: usize| -> Vec<u32> {
            let (first, end) = (if batch == 0 { 0 } else { ends[batch - 1] }, ends[batch]);
            let here = order.ands.iter().filter(|and| (first..end).contains(and));
            here.map(|and| and - first).collect()
        };
        let gates: Vec<AndBuckets> =
            gates.into_iter().enumerate().map(|(k, batch)| batch.ordered(&places(k))).collect();
        let material = Material { order, gates, buckets, solderings };
        let desks = (0..pool::threads()).map(|_| Desk::for_all(layout, &material)).collect();
        let mut wires = Labels::default();
        resize(&mut wires, layout.program.wires());
        Ordered { material, to_outputs, inputs, wires, desks: Mutex::new(desks) }
    }

    /// Evaluates all gates. Returns the labels of the outputs, and Δ if a bucket gave two valid labels,
    /// otherwise zero.
    ///
    /// # Errors
    /// If a bucket gives no usable label.
    pub fn walk(
        &mut self,
        layout: &Layout,
        inputs: &[Label],
        hooks: &mut Hooks,
    ) -> Result<(Labels, Zeroizing<Label>), Error> {
        let Ordered { material, wires, desks, .. } = self;
        wires.iter_mut().zip(layout.of_program(inputs)).for_each(|(wire, label)| *wire = label);
        let mut delta = Zeroizing::new(Label::ZERO);
        for level in &material.order.levels {
            let work = |desk: &mut OnDesk, _: usize, chunk: &Chunk| {
                material.evaluate(layout, chunk, wires, desk.desk())
            };
            let ands: usize = level.iter().map(|chunk| chunk.ands.len()).sum();
            let done = if ands < 2 * ANDS_A_THREAD {
                let mut desk = OnDesk::take(desks);
                level.iter().enumerate().map(|(k, chunk)| work(&mut desk, k, chunk)).collect()
            } else {
                pool::map(level.iter().collect(), || OnDesk::take(desks), work)
            };
            let mut refused = 0;
            for (chunk, done) in level.iter().zip(done) {
                let done = done?;
                let mut outputs = &done.outputs[..];
                for slot in chunk.slots.iter().map(|&slot| layout.program.slot(slot)) {
                    let count = layout.program.component(slot.component).circuit.outputs().len();
                    let (here, others) = outputs.split_at(count);
                    wires[slot.first_output as usize..][..count].copy_from_slice(here);
                    outputs = others;
                }
                let unknown = 1 ^ delta.colour();
                *delta ^= done.delta.times(unknown);
                refused += done.refused;
            }
            hooks.alter(Point::Refused, &mut [refused]);
        }
        Ok((self.outputs(layout, inputs), delta))
    }

    /// Selects the labels of the outputs among the labels of all wires.
    fn outputs(&self, layout: &Layout, inputs: &[Label]) -> Labels {
        let of_output = |(output, soldering): (&OutputWire, &Soldering)| {
            let mask = output.mask.map_or(Label::ZERO, |mask| inputs[mask]);
            soldering.carry(self.wires[output.wire as usize] ^ mask, Label::ZERO)
        };
        Labels::new(layout.outputs.iter().zip(&self.to_outputs).map(of_output).collect())
    }
}

/// The buffers of a thread, reused for one chunk after another.
#[derive(Default)]
struct Desk {
    /// The labels of the wires of each slot.
    local: Labels,
    /// The labels of the inputs of a stage's buckets, and the results.
    labels: Labels,
    verdicts: Zeroizing<Vec<VoteResult>>,
    room: VoteBuffers,
}

impl Desk {
    /// Returns buffers that are large enough for each chunk.
    fn for_all(layout: &Layout, material: &Material) -> Self {
        let mut desk = Desk::default();
        for chunk in material.order.levels.iter().flatten() {
            let width = layout.program.components()[chunk.component].circuit.wires();
            let ands = material.order.stages(chunk).iter().map(|stage| stage.ands.len()).max().unwrap_or(0);
            let (local, ands) = (chunk.slots.len() * width, chunk.slots.len() * ands);
            desk.fit(local.max(desk.local.len()), ands.max(desk.verdicts.len()));
        }
        let ands = desk.verdicts.len().min(ANDS_AT_ONCE);
        material.gates.iter().for_each(|batch| desk.room.fit(ands, batch.sizes));
        desk
    }

    /// Resizes the buffers for this many labels of wires, and this many AND gates.
    fn fit(&mut self, local: usize, ands: usize) {
        resize(&mut self.local, local);
        resize(&mut self.labels, 2 * ands);
        if self.verdicts.capacity() < ands {
            self.verdicts = Zeroizing::new(Vec::with_capacity(ands));
        }
        self.verdicts.resize(ands, (Label::ZERO, Label::ZERO));
    }
}

/// A thread's buffers, which return to the common list when this is dropped.
struct OnDesk<'a>(Option<Desk>, &'a Mutex<Vec<Desk>>);

impl<'a> OnDesk<'a> {
    fn take(desks: &'a Mutex<Vec<Desk>>) -> Self {
        OnDesk(desks.lock().expect("no thread panics while it holds the lock").pop(), desks)
    }

    fn desk(&mut self) -> &mut Desk {
        self.0.get_or_insert_default()
    }
}

impl Drop for OnDesk<'_> {
    fn drop(&mut self) {
        if let (Some(desk), Ok(mut desks)) = (self.0.take(), self.1.lock()) {
            desks.push(desk);
        }
    }
}

/// The results of a chunk.
struct Done {
    outputs: Labels,
    /// Δ if a bucket gave two valid labels, otherwise zero.
    delta: Zeroizing<Label>,
    refused: u64,
}

impl Material {
    /// Evaluates the gates of a chunk, on the labels of the program's wires.
    fn evaluate(
        &self,
        layout: &Layout,
        chunk: &Chunk,
        wires: &[Label],
        desk: &mut Desk,
    ) -> Result<Done, Cheat> {
        let program = layout.program;
        let circuit = &program.components()[chunk.component].circuit;
        let width = circuit.wires();
        desk.fit(chunk.slots.len() * width, 0);
        for (local, &slot) in desk.local.chunks_exact_mut(width).zip(&chunk.slots) {
            let given = program.slot(slot).inputs.iter().map(|&wire| wires[wire as usize]);
            local.iter_mut().zip(given).for_each(|(label, given)| *label = given);
        }
        let mut done = Done {
            outputs: Labels::new(Vec::with_capacity(chunk.slots.len() * circuit.outputs().len())),
            delta: Zeroizing::new(Label::ZERO),
            refused: 0,
        };
        let mut first = chunk.ands.start;
        for stage in self.order.stages(chunk) {
            let ands = first..first + chunk.slots.len() * stage.ands.len();
            first = ands.end;
            self.stage(stage, ands, (desk, width), &mut done)?;
        }
        for local in desk.local.chunks_exact(width) {
            done.outputs.extend(circuit.outputs().iter().map(|&wire| local[wire as usize]));
        }
        Ok(done)
    }

    /// Evaluates the gates of a stage in all slots of a chunk. Each slot has this many wires.
    fn stage(
        &self,
        stage: &Stage,
        ands: Range<usize>,
        (desk, width): (&mut Desk, usize),
        done: &mut Done,
    ) -> Result<(), Cheat> {
        for local in desk.local.chunks_exact_mut(width) {
            for &(wire, gate) in &stage.linear {
                local[wire as usize] = match gate {
                    Gate::Xor(a, b) => local[a as usize] ^ local[b as usize],
                    Gate::Inv(a) | Gate::And(a, _) => local[a as usize],
                };
            }
        }
        if ands.is_empty() {
            return Ok(());
        }
        let each = stage.ands.len();
        desk.fit(desk.local.len(), ands.len());
        let of_slots = desk.labels.chunks_exact_mut(2 * each);
        let of_slots = of_slots.zip(self.solderings[ands.clone()].chunks_exact(each));
        for (local, (labels, solderings)) in desk.local.chunks_exact(width).zip(of_slots) {
            let gates = stage.ands.iter().zip(labels.chunks_exact_mut(2)).zip(solderings);
            for ((&[_, a, b, _], labels), [left, right]) in gates {
                labels[0] = left.carry(local[a as usize], Label::ZERO);
                labels[1] = right.carry(local[b as usize], Label::ZERO);
            }
        }
        self.judge(ands, desk, done)?;
        let of_slots = desk.local.chunks_exact_mut(width).zip(desk.verdicts.chunks_exact(each));
        for (local, verdicts) in of_slots {
            for (&[wire, ..], &(label, sum)) in stage.ands.iter().zip(verdicts) {
                local[wire as usize] = label;
                let unknown = 1 ^ done.delta.colour();
                *done.delta ^= sum.times(unknown);
            }
        }
        Ok(())
    }

    /// Evaluates the buckets of some gates on the labels in the buffers, and writes the results there.
    fn judge(&self, ands: Range<usize>, desk: &mut Desk, done: &mut Done) -> Result<(), Cheat> {
        let Desk { labels, verdicts, room, .. } = desk;
        for (k, batch) in self.gates.iter().enumerate() {
            if self.buckets.is_empty() {
                done.refused += judged(batch, ands.start, labels, verdicts, room)?;
                continue;
            }
            let here = &self.buckets[ands.clone()];
            let places: Vec<usize> = (0..here.len()).filter(|&place| here[place][0] == k as u32).collect();
            let Some(&[_, first]) = places.first().map(|&place| &here[place]) else { continue };
            let mut given = Labels::new(Vec::with_capacity(2 * places.len()));
            places.iter().for_each(|&place| given.extend_from_slice(&labels[2 * place..][..2]));
            let mut found = Zeroizing::new(vec![(Label::ZERO, Label::ZERO); places.len()]);
            done.refused += judged(batch, first as usize, &given, &mut found, room)?;
            places.iter().zip(found.iter()).for_each(|(&place, &verdict)| verdicts[place] = verdict);
        }
        Ok(())
    }
}

/// Evaluates buckets of a batch from `first` on, as many as there is room for results.
fn judged(
    batch: &AndBuckets,
    first: usize,
    labels: &[Label],
    verdicts: &mut [VoteResult],
    room: &mut VoteBuffers,
) -> Result<u64, Cheat> {
    let mut refused = 0;
    let parts = labels.chunks(2 * ANDS_AT_ONCE).zip(verdicts.chunks_mut(ANDS_AT_ONCE));
    for ((labels, verdicts), first) in parts.zip((first..).step_by(ANDS_AT_ONCE)) {
        refused += batch.judge(first..first + verdicts.len(), labels, verdicts, room)?;
    }
    Ok(refused)
}

/// Changes the number of labels. Old contents may be lost, but no copy stays in memory.
fn resize(labels: &mut Labels, length: usize) {
    if labels.capacity() < length {
        *labels = Labels::new(Vec::with_capacity(length));
    }
    labels.resize(length, Label::ZERO);
}
