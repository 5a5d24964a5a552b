//! Evaluate: both parties' inputs become labels, and the evaluator carries them through every gate.
//!
//! ```text
//!   evaluator -> garbler    f = y ⊕ b: its input bits, masked with its OT choices;  seed
//!   garbler -> evaluator    answer: all that was claimed before is true
//!                           a label for each of its own input bits, for each of E's an opening, σ of the outputs
//!   evaluator -> garbler    seed;   garbler -> evaluator    answer
//! ```
//!
//! For an input of E with the committed wire `base|σ` and an OT with label R, let `e = f ⊕ σ`. G sends `V =
//! base ⊕ R ⊕ e·Δ`. E holds `T = R ⊕ b·Δ`, reads `e = lsb(V) ⊕ lsb(T) ⊕ b` and claims that `C ⊕ C_R ⊕ e·D`
//! opens to V with `lsb(T) ⊕ y` in the place of the lowest bit. Its label is `V ⊕ T`. Whether E accepts does
//! not depend on y: what it compares with is a function of f, R and V (docs/security.md, section 7).
//!
//! **A bucket.** Each of its β gates gives a label, carried to the output of the head. A label has the votes
//! of the gates that gave it and of the authenticators that accept it, and is valid if these are more than
//! half of all. With a good gate, and good ones in the majority, the right label is valid and none is that is
//! not one of the two committed ones. If both are, their sum is Δ. E goes on with one of them, and recovers
//! in the end (`decode`). All gates' labels are shown to all authenticators, whichever are the same, and E
//! sends nothing before all gates are evaluated.

use std::collections::BTreeMap;

use rayon::prelude::*;
use subtle::ConstantTimeEq;
use zeroize::Zeroizing;

use crate::hooks::{Hooks, Point};
use crate::inputs::{EvaluatorInputs, GarblerInputs, InputBuckets, LABEL};
use crate::layout::{Layout, Output};
use crate::preprocess::EvaluatorBuckets;
use crate::setup::{Evaluator, Garbler};
use crate::{Cheat, msg};
use brickwork_base::Error;
use brickwork_base::bits;
use brickwork_base::label::{Label, Labels};
use brickwork_base::pool;
use brickwork_circuit::{Circuit, Gate};
use brickwork_primitives::authenticator::one_or_two;
use brickwork_primitives::commit::{Claims, Each, Receiver as _, Sender as _, Shares};
use brickwork_primitives::solder::{GarblerWire, Soldering};

/// Labels of slots of a component whose gates are evaluated side by side, at most, if it are several: 16 MiB.
const LABELS_AT_ONCE: usize = 1 << 20;

/// AND gates of the program that one task evaluates, at least. Gates of one bucket have different keys; the
/// more buckets there are in a task, the more gates of it share one.
const ANDS_A_TASK: usize = 128;

/// Receives f.
pub(super) fn garbler_receives(party: &mut Garbler, layout: &Layout) -> Result<Vec<u8>, Error> {
    party.run.phase("evaluate");
    let count = layout.evaluator;
    Ok(bits::unpack(&party.run.channel.receive(msg::MASKED_INPUT, count.div_ceil(8))?, count)?)
}

/// Gives the labels of both inputs, and σ of the outputs. `heads` are the wires that the garbler's labels are
/// on, `input` the bits of its ports and of the masks of its outputs.
pub(super) fn garbler(
    party: &mut Garbler,
    layout: &Layout,
    inputs: &GarblerInputs,
    heads: &[GarblerWire],
    input: &[bool],
    masked: &[u8],
) -> Result<(), Error> {
    let Garbler { run, sender, hooks, delta, offset, ots, .. } = party;
    run.phase("evaluate");
    let own = heads.iter().zip(input).map(|(head, &bit)| head.of_bit(u8::from(bit)));
    let wire = |k: usize| GarblerWire { value: inputs.inputs.values[layout.garbler + k], delta: **delta };
    let e: Vec<u8> = masked.iter().enumerate().map(|(k, f)| f ^ wire(k).indicator()).collect();
    let theirs = (0..layout.evaluator).map(|k| wire(k).base() ^ ots[k] ^ delta.times(e[k]));
    let mut labels = Labels::new(own.chain(theirs).collect());
    hooks.alter(Point::InputLabels, &mut labels);
    let mut sigma: Vec<u8> = inputs.outputs.values.iter().map(|value| value.colour()).collect();
    hooks.alter(Point::Indicators, &mut sigma);
    let message = [bytemuck::cast_slice(&labels), &bits::pack(sigma.iter().copied())].concat();
    run.channel.send(msg::INPUT_LABELS, &message)?;
    let mut claims = Claims::new();
    let of_inputs = Each::new(layout.evaluator, 1).with_one(&offset.shares, |k, _| e[k]);
    input_claims(layout, of_inputs, [&inputs.ots.shares, &inputs.inputs.shares], &mut claims);
    claims.bits(sigma.len(), |k, sum| {
        inputs.outputs.shares.add(k, sum);
        inputs.outputs.values[k]
    });
    sender.prove(&mut run.channel, &[], &claims)
}

/// Claims about the wires of the evaluator's inputs: each is also about the commitment to the OT's label and
/// to the wire.
fn input_claims<'a>(
    layout: &'a Layout,
    each: Each<'a>,
    [ots, wires]: [&'a Shares; 2],
    claims: &mut Claims<'a>,
) {
    let count = each.count();
    let group = claims.each(each);
    for (shares, before) in [(ots, 0), (wires, layout.garbler)] {
        claims.weighted(shares, move |weights, first, sums| {
            let skipped = before.saturating_sub(first).min(sums.len());
            let first = (first + skipped) - before;
            let here = count.saturating_sub(first).min(sums.len() - skipped);
            if here > 0 {
                let weights = weights.from(group, first).take(here);
                sums[skipped..].iter_mut().zip(weights).for_each(|(sum, weight)| *sum ^= weight);
            }
        });
    }
}

/// Sends f, which depends on nothing that the garbler has said, and tells nothing.
pub(super) fn evaluator_sends(party: &mut Evaluator, input: &[bool]) -> Result<(), Error> {
    let Evaluator { run, choices, .. } = party;
    run.phase("evaluate");
    let masked = input.iter().zip(choices.iter()).map(|(&y, b)| u8::from(y) ^ b);
    run.channel.send(msg::MASKED_INPUT, &bits::pack(masked))
}

/// What the evaluator evaluates with.
pub(super) struct Joined {
    pub buckets: EvaluatorBuckets,
    pub inputs: InputBuckets,
    pub solderings: Vec<Soldering>,
}

/// The evaluator after evaluation.
pub(super) struct Evaluated {
    /// What the garbler gave for its inputs, on the heads of authenticators.
    pub given: Labels,
    /// Of each output a valid label, and σ.
    pub outputs: Labels,
    pub sigma: Vec<u8>,
    /// Δ if two valid labels of one wire came out of a bucket; else zero.
    pub delta: Zeroizing<Label>,
}

/// Receives the labels of both inputs and evaluates all gates.
pub(super) fn evaluator(
    party: &mut Evaluator,
    layout: &Layout,
    joined: &Joined,
    committed: &EvaluatorInputs<Shares>,
    offset: &Shares,
    input: &[bool],
) -> Result<Evaluated, Error> {
    let Evaluator { run, receiver, choices, ots, hooks, .. } = party;
    run.phase("evaluate");
    let (labels, outputs) = ((layout.garbler + layout.evaluator) * LABEL, layout.outputs.len());
    let message = Zeroizing::new(run.channel.receive(msg::INPUT_LABELS, labels + outputs.div_ceil(8))?);
    let (sent, sigma) = message.split_at(labels);
    let label = |bytes: &[u8]| Label::from_bytes(bytes.try_into().expect("16 bytes"));
    let sent = Labels::new(sent.chunks_exact(LABEL).map(label).collect());
    let sigma = bits::unpack(sigma, outputs)?;
    let received = receiver.claimed((sent, sigma));
    let e = |v: Label, k: usize| v.colour() ^ ots[k].colour() ^ choices[k];
    let mut claims = Claims::new();
    claims.about(&received, |(sent, sigma), claims| {
        let sent = &sent[layout.garbler..];
        let opening = |k: usize, _, values: &mut [Label]| {
            values[0] = sent[k].with_colour(ots[k].colour() ^ u8::from(input[k]));
        };
        let of_inputs = Each::new(layout.evaluator, 1).are(opening).with_one(offset, |k, _| e(sent[k], k));
        input_claims(layout, of_inputs, [&committed.ots, &committed.inputs], claims);
        claims.bits(sigma.len(), |k, sum| {
            committed.outputs.add(k, sum);
            Label::ZERO.with_colour(sigma[k])
        });
    });
    let proof = receiver.verify(&mut run.channel, &[], &claims)?;
    drop(claims);
    let (sent, sigma) = received.proven(&proof);
    let (given, theirs) = sent.split_at(layout.garbler);
    if !joined.inputs.accept(given) {
        return Err(Cheat::InputLabel.into());
    }
    let mut inputs = Labels::new(Vec::with_capacity(layout.inputs()));
    inputs.extend_from_slice(&joined.inputs.carried(given));
    inputs.extend(theirs.iter().zip(ots.iter()).map(|(&v, &t)| v ^ t));
    let given = Labels::new(given.to_vec());
    let (outputs, delta) = pool::compute(|| walk(layout, joined, &inputs, hooks))?;
    Ok(Evaluated { given, outputs, sigma, delta })
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
fn walk(
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
            let made = joined.buckets.evaluate(&ands, &labels, hooks)?;
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

impl EvaluatorBuckets {
    /// Evaluates these buckets, on labels of the heads' inputs `[bucket][side]`. Returns of each a valid
    /// label of the head's output and, if there are two, their sum, else zero.
    fn evaluate(
        &self,
        buckets: &[usize],
        labels: &[Label],
        hooks: &mut Hooks,
    ) -> Result<Zeroizing<Vec<(Label, Label)>>, Error> {
        let mut made = Zeroizing::new(vec![(Label::ZERO, Label::ZERO); buckets.len()]);
        let a_task = buckets.len().div_ceil(2 * pool::threads()).max(ANDS_A_TASK);
        let tasks = buckets.par_chunks(a_task).zip(labels.par_chunks(2 * a_task));
        let refused: u64 = tasks
            .zip(made.par_chunks_mut(a_task))
            .map(|((buckets, labels), made)| self.evaluate_some(buckets, labels, made))
            .try_reduce(|| 0, |a, b| Ok(a + b))?;
        hooks.alter(Point::Refused, &mut [refused]);
        Ok(made)
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
