//! The evaluator's walk through a program: gates in layers, each of which is evaluated in buckets.

use std::collections::BTreeMap;

use rayon::prelude::*;
use subtle::ConstantTimeEq;
use zeroize::Zeroizing;

use crate::Cheat;
use crate::hooks::{Hooks, Point};
use crate::inputs::InputBuckets;
use crate::layout::{Layout, Output};
use crate::preprocess::Buckets;
use brickwork_base::Error;
use brickwork_base::label::{Label, Labels};
use brickwork_base::pool;
use brickwork_circuit::{Circuit, Gate};
use brickwork_primitives::authenticator::one_or_two;
use brickwork_primitives::solder::Soldering;

/// Labels of slots of a component whose gates are evaluated side by side, at most, if it are several: 16 MiB.
const LABELS_AT_ONCE: usize = 1 << 20;

/// AND gates of the program that one task evaluates, at least. Gates of one bucket have different keys; the
/// more buckets there are in a task, the more gates of it share one.
const ANDS_A_TASK: usize = 128;

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
    /// XOR and INV gates, in order.
    linear: Vec<(u32, Gate)>,
    /// AND gates, each with its number among those of the circuit.
    ands: Vec<(u32, u32, Gate)>,
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
            let level = operands.map(|w| levels[w as usize]).into_iter().max().unwrap_or(0);
            if let Gate::And(..) = gate {
                if stages.len() == level + 1 {
                    stages.push(Stage::default());
                }
                stages[level].ands.push((wire, number, gate));
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

/// Slots of one component that do not depend on each other, in an order of evaluation.
fn groups(layout: &Layout) -> Vec<Vec<usize>> {
    let mut levels = vec![0_u32; layout.own + layout.evaluator];
    let mut groups = BTreeMap::<(u32, u32), Vec<usize>>::new();
    for (index, slot) in layout.program.slots().enumerate() {
        let level = slot.inputs.iter().map(|&wire| levels[wire as usize]).max().unwrap_or(0);
        let outputs = layout.program.component(slot.component).circuit.outputs().len();
        levels.resize(levels.len() + outputs, level + 1);
        groups.entry((level, slot.component.0)).or_default().push(index);
    }
    groups.into_values().collect()
}

/// All gates. Returns the labels of the outputs, and Δ if it came out.
pub(super) fn walk(
    layout: &Layout,
    joined: &Joined,
    inputs: &[Label],
    hooks: &mut Hooks,
) -> Result<(Labels, Zeroizing<Label>), Error> {
    let program = layout.program;
    let mut wires = Labels::new(Vec::with_capacity(program.wires()));
    wires.extend(layout.of_program(inputs));
    wires.resize(program.wires(), Label::ZERO);
    let mut delta = Zeroizing::new(Label::ZERO);
    let mut stages: Vec<Option<Stages>> = program.components().iter().map(|_| None).collect();
    let mut local = Labels::default();
    let at_once = |slots: &[usize]| {
        let component = program.slot(slots[0]).component;
        (LABELS_AT_ONCE / program.component(component).circuit.wires()).max(1)
    };
    for slots in groups(layout).iter().flat_map(|group| group.chunks(at_once(group))) {
        let component = program.slot(slots[0]).component;
        let circuit = &program.component(component).circuit;
        let Stages(stages) = stages[component.0 as usize].get_or_insert_with(|| Stages::of(circuit));
        let width = circuit.wires();
        resize(&mut local, slots.len() * width);
        for (local, &slot) in local.chunks_exact_mut(width).zip(slots) {
            let given = program.slot(slot).inputs.iter().map(|&wire| wires[wire as usize]);
            local.iter_mut().zip(given).for_each(|(label, given)| *label = given);
        }
        for stage in &*stages {
            for local in local.chunks_exact_mut(width) {
                for &(wire, gate) in &stage.linear {
                    local[wire as usize] = match gate {
                        Gate::Xor(a, b) => local[a as usize] ^ local[b as usize],
                        Gate::Inv(a) | Gate::And(a, _) => local[a as usize],
                    };
                }
            }
            if stage.ands.is_empty() {
                continue;
            }
            let (mut ands, count) = (Vec::new(), slots.len() * stage.ands.len());
            let mut labels = Labels::new(Vec::with_capacity(2 * count));
            for (local, &slot) in local.chunks_exact(width).zip(slots) {
                for &(_, number, gate) in &stage.ands {
                    let Gate::And(a, b) = gate else { unreachable!("AND gates") };
                    let and = layout.first_and[slot] + number as usize;
                    for (side, wire) in [a, b].into_iter().enumerate() {
                        let soldering = joined.solderings[2 * and + side];
                        labels.push(soldering.carry(local[wire as usize], Label::ZERO));
                    }
                    ands.push(and);
                }
            }
            let made = evaluate(&joined.gates, &ands, &labels, hooks)?;
            let places = local.chunks_exact_mut(width).flat_map(|local| {
                let mut rest = local;
                let mut at = 0;
                stage.ands.iter().map(move |&(wire, ..)| {
                    let (_, behind) = std::mem::take(&mut rest).split_at_mut(wire as usize - at);
                    let (place, behind) = behind.split_first_mut().expect("a wire of the circuit");
                    (rest, at) = (behind, wire as usize + 1);
                    place
                })
            });
            for (place, &(label, sum)) in places.zip(made.iter()) {
                *place = label;
                let unknown = 1 ^ delta.colour();
                *delta ^= sum.times(unknown);
            }
        }
        for (local, &slot) in local.chunks_exact(width).zip(slots) {
            let first = program.slot(slot).first_output as usize;
            let outputs = circuit.outputs().iter().map(|&wire| local[wire as usize]);
            wires[first..].iter_mut().zip(outputs).for_each(|(wire, label)| *wire = label);
        }
    }
    Ok((outputs(layout, joined, inputs, &wires), delta))
}

/// Gives labels another length; what they were may be lost, but no copy stays in memory.
fn resize(labels: &mut Labels, length: usize) {
    if labels.capacity() < length {
        *labels = Labels::new(Vec::with_capacity(length));
    }
    labels.resize(length, Label::ZERO);
}

/// The labels of the outputs, of those of all wires.
fn outputs(layout: &Layout, joined: &Joined, inputs: &[Label], wires: &[Label]) -> Labels {
    let to_outputs = &joined.solderings[2 * layout.ands..];
    let of_output = |(output, soldering): (&Output, &Soldering)| {
        let label = wires[output.wire as usize] ^ output.mask.map_or(Label::ZERO, |mask| inputs[mask]);
        soldering.carry(label, Label::ZERO)
    };
    Labels::new(layout.outputs.iter().zip(to_outputs).map(of_output).collect())
}

/// Evaluates the buckets of some AND gates of the program, which lie in these batches, one after the other,
/// on labels of the heads' inputs `[gate][side]`. Returns of each a valid label of the head's output and, if
/// there are two, their sum, else zero.
fn evaluate(
    batches: &[Buckets],
    ands: &[usize],
    labels: &[Label],
    hooks: &mut Hooks,
) -> Result<Zeroizing<Vec<(Label, Label)>>, Error> {
    let mut made = Zeroizing::new(vec![(Label::ZERO, Label::ZERO); ands.len()]);
    let mut refused = 0;
    let mut first = 0;
    for batch in batches {
        let here = first..first + batch.count();
        if ands.iter().all(|and| here.contains(and)) {
            let buckets: Vec<usize> = ands.iter().map(|and| and - first).collect();
            refused += batch.evaluate(&buckets, labels, &mut made)?;
        } else {
            let places: Vec<usize> = (0..ands.len()).filter(|&k| here.contains(&ands[k])).collect();
            let buckets: Vec<usize> = places.iter().map(|&k| ands[k] - first).collect();
            let mut some = Labels::new(Vec::with_capacity(2 * places.len()));
            places.iter().for_each(|&k| some.extend_from_slice(&labels[2 * k..2 * k + 2]));
            let mut of_batch = Zeroizing::new(vec![(Label::ZERO, Label::ZERO); places.len()]);
            refused += batch.evaluate(&buckets, &some, &mut of_batch)?;
            places.iter().zip(of_batch.iter()).for_each(|(&k, &label)| made[k] = label);
        }
        first = here.end;
    }
    hooks.alter(Point::Refused, &mut [refused]);
    Ok(made)
}

impl Buckets {
    /// Evaluates these buckets, as [`evaluate`]. Returns how many labels were refused.
    fn evaluate(
        &self,
        buckets: &[usize],
        labels: &[Label],
        made: &mut [(Label, Label)],
    ) -> Result<u64, Error> {
        let a_task = buckets.len().div_ceil(2 * pool::threads()).max(ANDS_A_TASK);
        let tasks = buckets.par_chunks(a_task).zip(labels.par_chunks(2 * a_task));
        tasks
            .zip(made.par_chunks_mut(a_task))
            .map(|((buckets, labels), made)| self.evaluate_some(buckets, labels, made))
            .try_reduce(|| 0, |a, b| Ok(a + b))
    }

    /// Some of them. Returns how many labels were refused.
    fn evaluate_some(
        &self,
        buckets: &[usize],
        labels: &[Label],
        made: &mut [(Label, Label)],
    ) -> Result<u64, Error> {
        let [beta, alpha] = self.sizes;
        let soldering = |bucket: usize, i: usize, wire: usize| match i {
            0 => Soldering::default(),
            _ => self.gate_solderings[bucket * (beta - 1) + i - 1][wire],
        };
        let mut inputs = Labels::new(Vec::with_capacity(2 * beta * buckets.len()));
        let mut places: Vec<u32> = Vec::with_capacity(beta * buckets.len());
        for (&bucket, labels) in buckets.iter().zip(labels.chunks_exact(2)) {
            for i in 0..beta {
                let carried = |side: usize| soldering(bucket, i, side).carry(labels[side], Label::ZERO);
                inputs.extend([carried(0), carried(1)]);
                places.push((bucket * beta + i) as u32);
            }
        }
        let numbers: Vec<u32> = places.iter().map(|&place| self.numbers[place as usize]).collect();
        let mut candidates = self.gates.evaluate(&numbers, (&self.tables, &places), &inputs)?;
        for (&bucket, candidates) in buckets.iter().zip(candidates.chunks_exact_mut(beta)) {
            for (i, candidate) in candidates.iter_mut().enumerate() {
                // Its own inverse.
                *candidate = soldering(bucket, i, 2).carry(*candidate, Label::ZERO);
            }
        }
        let query = |k: usize| {
            let (candidate, j) = (k / alpha, k % alpha);
            let guard = buckets[candidate / beta] * alpha + j;
            let label = self.guard_solderings[guard].carry(candidates[candidate], Label::ZERO);
            (self.hashes[guard], u64::from(self.guards[guard]), label)
        };
        let votes = self.hasher.accepts(candidates.len() * alpha, query);
        let mut refused = 0;
        for ((made, candidates), votes) in
            made.iter_mut().zip(candidates.chunks_exact(beta)).zip(votes.chunks_exact(alpha * beta))
        {
            let valid = |k: usize| {
                let gates =
                    candidates.iter().map(|other| usize::from(other.ct_eq(&candidates[k]).unwrap_u8()));
                let guards = votes[k * alpha..(k + 1) * alpha].iter().map(|&vote| usize::from(vote));
                2 * gates.chain(guards).sum::<usize>() > alpha + beta
            };
            let verdicts: Vec<bool> = (0..beta).map(valid).collect();
            refused += verdicts.iter().map(|valid| u64::from(!valid)).sum::<u64>();
            *made = one_or_two(candidates.iter().copied().zip(verdicts)).map_err(Cheat::from)?;
        }
        Ok(refused)
    }
}
