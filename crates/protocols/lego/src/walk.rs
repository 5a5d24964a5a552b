//! The evaluator's walk through a program: gates in layers, each of which is evaluated in buckets.
//!
//! The order follows from the program, so the buckets and solderings are put into it before the inputs are
//! there: then memory is read from one end to the other.

use std::collections::BTreeMap;

use zeroize::Zeroizing;

use crate::hooks::{Hooks, Point};
use crate::inputs::InputBuckets;
use crate::layout::{Layout, Output};
use crate::preprocess::Buckets;
use crate::vote::{Judged, Room, Verdict, picked};
use brickwork_base::Error;
use brickwork_base::label::{Label, Labels};
use brickwork_base::pool;
use brickwork_circuit::{Circuit, Gate};
use brickwork_primitives::solder::Soldering;

/// Labels of slots of a component whose gates are evaluated side by side, at most, if it are several: 16 MiB.
const LABELS_AT_ONCE: usize = 1 << 20;

/// AND gates of the program that one task evaluates: enough that it is worth to wake a thread.
const ANDS_A_TASK: usize = 512;

/// What the evaluator evaluates with.
pub(super) struct Joined {
    /// Buckets of the program's AND gates, batch after batch.
    pub gates: Vec<Buckets>,
    /// Those of the garbler's inputs.
    pub inputs: Vec<InputBuckets>,
    pub solderings: Vec<Soldering>,
}

/// The gates of a circuit by how many AND gates lie before them.
struct Stages(Vec<Stage>);

#[derive(Default)]
struct Stage {
    /// XOR and INV gates, in order, each with its wire.
    linear: Vec<(u32, Gate)>,
    /// AND gates: a wire, both operands, and its number among those of the circuit.
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

/// Slots of one component that do not depend on each other.
struct Group {
    component: usize,
    slots: Vec<usize>,
}

/// In which order a program is evaluated.
pub(super) struct Plan {
    groups: Vec<Group>,
    /// Of each component that is used.
    stages: Vec<Option<Stages>>,
    /// The program's AND gates.
    ands: Vec<u32>,
}

impl Plan {
    /// Plans the evaluation of a program.
    pub fn of(layout: &Layout) -> Self {
        let program = layout.program;
        let mut levels = vec![0_u32; layout.own + layout.evaluator];
        let mut by_level = BTreeMap::<(u32, u32), Vec<usize>>::new();
        for (index, slot) in program.slots().enumerate() {
            let level = slot.inputs.iter().map(|&wire| levels[wire as usize]).max().unwrap_or(0);
            let outputs = program.component(slot.component).circuit.outputs().len();
            levels.resize(levels.len() + outputs, level + 1);
            by_level.entry((level, slot.component.0)).or_default().push(index);
        }
        let mut plan = Plan {
            groups: Vec::new(),
            stages: program.components().iter().map(|_| None).collect(),
            ands: Vec::with_capacity(layout.ands),
        };
        for ((_, component), slots) in by_level {
            let component = component as usize;
            let circuit = &program.components()[component].circuit;
            let Stages(stages) = plan.stages[component].get_or_insert_with(|| Stages::of(circuit));
            for slots in slots.chunks((LABELS_AT_ONCE / circuit.wires()).max(1)) {
                for stage in &*stages {
                    for &slot in slots {
                        let first = layout.first_and[slot] as u32;
                        plan.ands.extend(stage.ands.iter().map(|[.., number]| first + number));
                    }
                }
                plan.groups.push(Group { component, slots: slots.to_vec() });
            }
        }
        plan
    }
}

/// What the evaluator evaluates with, in the order of evaluation.
pub(super) struct Ordered {
    plan: Plan,
    gates: Vec<Buckets>,
    /// Of each AND gate the batch that its bucket is of; empty if all are of one.
    batches: Vec<u32>,
    /// To both inputs of each AND gate.
    solderings: Vec<[Soldering; 2]>,
    to_outputs: Vec<Soldering>,
    pub inputs: Vec<InputBuckets>,
}

impl Ordered {
    /// Puts buckets and solderings, which are in the order of the program's AND gates, into that of
    /// evaluation.
    pub fn new(layout: &Layout, joined: Joined) -> Self {
        let plan = Plan::of(layout);
        let Joined { gates, inputs, mut solderings } = joined;
        let to_outputs = solderings.split_off(2 * layout.ands);
        let (solderings, _) = solderings.as_chunks::<2>();
        let solderings = picked(solderings, &plan.ands, 1);
        let mut ends: Vec<u32> = Vec::with_capacity(gates.len());
        for batch in &gates {
            ends.push(ends.last().copied().unwrap_or(0) + batch.count() as u32);
        }
        let batch_of = |and: &u32| ends.partition_point(|end| end <= and) as u32;
        let batches: Vec<u32> = match gates.len() {
            ..=1 => Vec::new(),
            _ => plan.ands.iter().map(batch_of).collect(),
        };
        let order = |batch: usize| -> Vec<u32> {
            let (first, end) = (if batch == 0 { 0 } else { ends[batch - 1] }, ends[batch]);
            let here = plan.ands.iter().filter(|and| (first..end).contains(and));
            here.map(|and| and - first).collect()
        };
        let tasks = gates.into_iter().enumerate().collect();
        let gates = pool::map(tasks, || (), |(), _, (k, batch): (usize, Buckets)| batch.ordered(&order(k)));
        Ordered { plan, gates, batches, solderings, to_outputs, inputs }
    }

    /// Evaluates all gates. Returns the labels of the outputs, and Δ if it came out, else zero.
    ///
    /// # Errors
    /// If a bucket gives no label to go on with.
    pub fn walk(
        &self,
        layout: &Layout,
        inputs: &[Label],
        hooks: &mut Hooks,
    ) -> Result<(Labels, Zeroizing<Label>), Error> {
        let program = layout.program;
        let mut wires = Labels::new(Vec::with_capacity(program.wires()));
        wires.extend(layout.of_program(inputs));
        wires.resize(program.wires(), Label::ZERO);
        let mut walker = Walker {
            ordered: self,
            done: 0,
            next: vec![0; self.gates.len()],
            disagreed: vec![0; self.gates.len()],
            delta: Zeroizing::new(Label::ZERO),
            labels: Labels::default(),
            verdicts: Zeroizing::default(),
            room: Room::default(),
        };
        let mut local = Labels::default();
        for Group { component, slots } in &self.plan.groups {
            let circuit = &program.components()[*component].circuit;
            let width = circuit.wires();
            resize(&mut local, slots.len() * width);
            for (local, &slot) in local.chunks_exact_mut(width).zip(slots) {
                let given = program.slot(slot).inputs.iter().map(|&wire| wires[wire as usize]);
                local.iter_mut().zip(given).for_each(|(label, given)| *label = given);
            }
            for stage in self.plan.stages[*component].iter().flat_map(|Stages(stages)| stages) {
                walker.stage(stage, &mut local, width, hooks)?;
            }
            for (local, &slot) in local.chunks_exact(width).zip(slots) {
                let first = program.slot(slot).first_output as usize;
                let outputs = circuit.outputs().iter().map(|&wire| local[wire as usize]);
                wires[first..].iter_mut().zip(outputs).for_each(|(wire, label)| *wire = label);
            }
        }
        walker.pretend();
        Ok((self.outputs(layout, inputs, &wires), walker.delta))
    }

    /// The labels of the outputs, of those of all wires.
    fn outputs(&self, layout: &Layout, inputs: &[Label], wires: &[Label]) -> Labels {
        let of_output = |(output, soldering): (&Output, &Soldering)| {
            let label = wires[output.wire as usize] ^ output.mask.map_or(Label::ZERO, |mask| inputs[mask]);
            soldering.carry(label, Label::ZERO)
        };
        Labels::new(layout.outputs.iter().zip(&self.to_outputs).map(of_output).collect())
    }
}

/// How far an evaluation is.
struct Walker<'a> {
    ordered: &'a Ordered,
    /// AND gates that are evaluated.
    done: usize,
    /// Of each batch its buckets that are, and how many of them disagreed.
    next: Vec<usize>,
    disagreed: Vec<u64>,
    /// Δ if two valid labels came out of a bucket, else zero.
    delta: Zeroizing<Label>,
    labels: Labels,
    verdicts: Zeroizing<Vec<Verdict>>,
    room: Room,
}

impl Walker<'_> {
    /// Evaluates the gates of a stage in all slots of a group; `local` are the labels of their wires.
    fn stage(
        &mut self,
        stage: &Stage,
        local: &mut [Label],
        width: usize,
        hooks: &mut Hooks,
    ) -> Result<(), Error> {
        for local in local.chunks_exact_mut(width) {
            for &(wire, gate) in &stage.linear {
                local[wire as usize] = match gate {
                    Gate::Xor(a, b) => local[a as usize] ^ local[b as usize],
                    Gate::Inv(a) | Gate::And(a, _) => local[a as usize],
                };
            }
        }
        let count = local.len() / width * stage.ands.len();
        if count == 0 {
            return Ok(());
        }
        resize(&mut self.labels, 2 * count);
        let solderings = &self.ordered.solderings[self.done..self.done + count];
        let of_slots = self.labels.chunks_exact_mut(2 * stage.ands.len());
        let of_slots = of_slots.zip(solderings.chunks_exact(stage.ands.len()));
        for (local, (labels, solderings)) in local.chunks_exact(width).zip(of_slots) {
            let gates = stage.ands.iter().zip(labels.chunks_exact_mut(2)).zip(solderings);
            for ((&[_, a, b, _], labels), [left, right]) in gates {
                labels[0] = left.carry(local[a as usize], Label::ZERO);
                labels[1] = right.carry(local[b as usize], Label::ZERO);
            }
        }
        self.evaluate(count, hooks)?;
        for (local, verdicts) in
            local.chunks_exact_mut(width).zip(self.verdicts.chunks_exact(stage.ands.len()))
        {
            for (&[wire, ..], &(label, sum)) in stage.ands.iter().zip(verdicts) {
                local[wire as usize] = label;
                let unknown = 1 ^ self.delta.colour();
                *self.delta ^= sum.times(unknown);
            }
        }
        Ok(())
    }

    /// Evaluates the buckets of the next gates, on `labels`, to `verdicts`.
    fn evaluate(&mut self, count: usize, hooks: &mut Hooks) -> Result<(), Error> {
        if self.verdicts.capacity() < count {
            self.verdicts = Zeroizing::new(Vec::with_capacity(count));
        }
        self.verdicts.resize(count, (Label::ZERO, Label::ZERO));
        let Walker { ordered, done, next, disagreed, labels, verdicts, room, .. } = self;
        let here = *done..*done + count;
        *done = here.end;
        let mut refused = 0;
        for (k, batch) in ordered.gates.iter().enumerate() {
            let places: Vec<usize> = match &ordered.batches[..] {
                [] => Vec::new(),
                batches => (0..count).filter(|place| batches[here.start + place] == k as u32).collect(),
            };
            let all = ordered.batches.is_empty();
            let some = if all { count } else { places.len() };
            let buckets = next[k]..next[k] + some;
            next[k] = buckets.end;
            let judged = if all {
                judged(batch, buckets.start, labels, verdicts, room)?
            } else {
                let mut given = Labels::new(Vec::with_capacity(2 * some));
                places.iter().for_each(|&place| given.extend_from_slice(&labels[2 * place..][..2]));
                let mut found = Zeroizing::new(vec![(Label::ZERO, Label::ZERO); some]);
                let judged = judged(batch, buckets.start, &given, &mut found, room)?;
                places.iter().zip(found.iter()).for_each(|(&place, &verdict)| verdicts[place] = verdict);
                judged
            };
            disagreed[k] += judged.disagreed;
            refused += judged.refused;
        }
        hooks.alter(Point::Refused, &mut [refused]);
        Ok(())
    }

    /// Does what would have been done if as many buckets had disagreed as ever can.
    fn pretend(&mut self) {
        for ((batch, &buckets), disagreed) in self.ordered.gates.iter().zip(&self.next).zip(&self.disagreed) {
            let most = batch.most_unseen.min(buckets as u64);
            batch.pretend(most.saturating_sub(*disagreed), &mut self.room);
        }
    }
}

/// Judges buckets of a batch from `first` on, as many as there is room for verdicts, by several threads if
/// they are many.
fn judged(
    batch: &Buckets,
    first: usize,
    labels: &[Label],
    verdicts: &mut [Verdict],
    room: &mut Room,
) -> Result<Judged, Error> {
    let count = verdicts.len();
    if count < 2 * ANDS_A_TASK || pool::threads() == 1 {
        let mut judged = Judged::default();
        let tasks = labels.chunks(2 * ANDS_A_TASK).zip(verdicts.chunks_mut(ANDS_A_TASK));
        for ((labels, verdicts), first) in tasks.zip((first..).step_by(ANDS_A_TASK)) {
            judged = judged.and(batch.judge(first..first + verdicts.len(), labels, verdicts, room)?);
        }
        return Ok(judged);
    }
    let a_task = count.div_ceil(2 * pool::threads()).max(ANDS_A_TASK);
    let tasks = labels.chunks(2 * a_task).zip(verdicts.chunks_mut(a_task)).zip((first..).step_by(a_task));
    let judge =
        |room: &mut Room, _: usize, ((labels, verdicts), first): ((&[Label], &mut [Verdict]), usize)| {
            batch.judge(first..first + verdicts.len(), labels, verdicts, room)
        };
    let judged = pool::map(tasks.collect(), Room::default, judge);
    let mut all = Judged::default();
    for some in judged {
        all = all.and(some?);
    }
    Ok(all)
}

/// Gives labels another length; what they were may be lost, but no copy stays in memory.
fn resize(labels: &mut Labels, length: usize) {
    if labels.capacity() < length {
        *labels = Labels::new(Vec::with_capacity(length));
    }
    labels.resize(length, Label::ZERO);
}
