//! Evaluate: both parties' inputs become labels, and the evaluator evaluates every slot on these labels.
//!
//! ```text
//!   evaluator -> garbler    f = y ⊕ b: its input bits, masked with its OT choices
//!                           (in a run of one program, also the seed of the proof of all earlier claims)
//!   garbler -> evaluator    (the answer to this seed;) a label for each of the garbler's input bits;
//!                           an opening V for each of E's; the indicator bits of the outputs that E learns
//!   evaluator -> garbler    seed;   garbler -> evaluator    answer
//! ```
//!
//! For an input wire of E with committed value `C = base|σ` and an OT with label R, let `e = f ⊕ σ`. G sends
//! `V = base ⊕ R ⊕ e·Δ_ot`. E holds `T = R ⊕ b·Δ_ot`. It reads `e = lsb(V) ⊕ lsb(T) ⊕ b` and σ = e ⊕ f, and
//! claims that `C ⊕ C_R ⊕ e·D_ot` opens to V with `lsb(T) ⊕ y` as lowest bit. This lowest bit binds σ and e,
//! because the combinations of `ots` have shown that C_R commits to R, its lowest bit included. E's label is
//! `V ⊕ T ⊕ (y ⊕ σ)·S_ot`, so no authenticator has to check it. Everything that E computes and checks here is
//! a function of G's messages and of f, which is uniformly random. So E's abort does not depend on y
//! (docs/concepts/security.md, section 7).
//!
//! After this message E sends nothing until all slots are evaluated.

use std::borrow::Cow;

use rayon::prelude::*;
use zeroize::Zeroizing;

use super::authenticators::EvaluatorComponent;
use super::batch::Shape;
use super::build::{EvaluatorReady, GarblerClaims, GarblerReady, Joined};
use super::challenge::BatchSizes;
use super::hooks::Hooks;
use super::input_ots::EvaluatorInputOts;
use super::party::EvaluatorCore;
use super::tables;
use super::{Cheat, Error, Evaluator, EvaluatorMaterial, Garbler, Point, msg};
use brickwork_base::bits;
use brickwork_base::label::{Delta, LABEL_BYTES, Label};
use brickwork_base::pool;
use brickwork_circuit::{Party, Program};
use brickwork_primitives::Labels;
use brickwork_primitives::authenticator::one_or_two;
use brickwork_primitives::commit::{self, Claims, EachClaim, Receiver, Sender, Shares};
use brickwork_primitives::garbling::{GarblingScheme as _, HalfGates};

/// The number of copies that one task evaluates side by side.
const COPIES_A_TASK: usize = 16;

/// The number of output wires whose labels one task checks with their authenticators.
const OUTPUTS_A_TASK: usize = 128;

/// The number of candidate labels in memory before authenticators select the valid ones: 16 MiB.
const CANDIDATES_AT_ONCE: usize = 1 << 20;

/// The results of the evaluation: a valid label for every wire.
pub(super) struct ValidLabels {
    /// The label of each global wire, at the head of its location.
    pub labels: Labels,
    /// σ of each wire in [`super::build::Layout::evaluator_outputs`].
    pub indicators: Vec<u8>,
}

/// Receives f, which is the evaluator's input masked with its choice bits, and returns it.
pub(super) fn garbler_receives<C: commit::CommitmentScheme>(
    party: &mut Garbler<C>,
    ready: &GarblerReady,
) -> Result<Vec<u8>, Error> {
    party.run.phase("evaluate");
    let count = ready.material.layout.evaluator_inputs.len();
    Ok(bits::unpack(&party.run.channel.receive(msg::MASKED_INPUT, count.div_ceil(8))?, count)?)
}

/// Sends the labels of both parties' inputs. One proof covers the labels and all claims about the program
/// that are not proven yet.
pub(super) fn garbler<C: commit::CommitmentScheme>(
    party: &mut Garbler<C>,
    ready: &GarblerReady,
    of_program: Option<&GarblerClaims>,
    input: &[bool],
    masked: &[u8],
) -> Result<(), Error> {
    let delta_ka = party.delta_ka();
    let Garbler { run, sender, hooks, ka, ot, .. } = party;
    run.phase("evaluate");
    let GarblerReady { material, ots, .. } = ready;
    let layout = &material.layout;
    let (first, count) = (layout.evaluator_inputs.start, layout.evaluator_inputs.len());
    let mut zeros = Labels::new(vec![Label::ZERO; count]);
    ots.committed.fill(0, &mut zeros)?;

    let delta_ot = Delta::new(ot.values[0].bits());
    let own = layout.given.iter().zip(input);
    let own = own.map(|(&w, &bit)| ready.wire(layout.location(w), delta_ka).of_bit(u8::from(bit)));
    let wire = |k: usize| ready.wire(layout.location(first + k as u32), delta_ka);
    let mut e: Vec<u8> = (0..count).map(|k| masked[k] ^ wire(k).indicator()).collect();
    hooks.alter(Point::InputChoices, &mut e);
    let theirs = (0..count).map(|k| wire(k).base() ^ zeros[k] ^ delta_ot.times(e[k]));
    let mut labels = Labels::new(own.chain(theirs).collect());
    hooks.alter(Point::InputLabels, &mut labels);
    let mut outputs =
        Labels::new(layout.evaluator_outputs.iter().map(|&w| ready.value(layout.location(w))).collect());
    hooks.alter(Point::Indicators, &mut outputs);
    let indicators = bits::pack(outputs.iter().map(|value| value.colour()));
    run.channel.send(msg::INPUT_LABELS, &[bytemuck::cast_slice(&labels), &indicators].concat())?;

    let view = ready.view();
    let of_outputs = view.gathered(&layout.evaluator_outputs);
    let mut claims = Claims::new();
    if let Some(of_program) = of_program {
        of_program.claims([&ka.shares, &ot.shares], material, &view, &mut claims);
    }
    let of_inputs = EachClaim::new(count, 1).with_one(&ot.shares, |k, _| e[k]);
    input_claims(of_inputs, [ots.committed.shares(), ots.wires.shares()], &mut claims);
    claims.bits(outputs.len(), |k, sum| {
        of_outputs.add(k, sum);
        outputs[k]
    });
    sender.prove(&mut run.channel, &[], &claims)
}

/// Makes the claims about the evaluator's inputs. Claim k is also about commitment k of each of
/// `commitments`: to the OT's label, and to the wire.
fn input_claims<'a>(each: EachClaim<'a>, commitments: [&'a Shares; 2], claims: &mut Claims<'a>) {
    let count = each.count();
    let group = claims.each(each);
    for shares in commitments {
        claims.weighted(shares, move |weights, first, sums| {
            let weights = weights.from(group, first).take(count.saturating_sub(first));
            sums.iter_mut().zip(weights).for_each(|(sum, weight)| *sum ^= weight);
        });
    }
}

/// The message f: the evaluator's input, masked with the choice bits of its OTs.
pub(super) struct MaskedInput(Vec<u8>);

/// Sends f. It depends on no message of the garbler, and reveals nothing, because the choice bits are random
/// and secret.
pub(super) fn evaluator_sends<C: commit::CommitmentScheme>(
    party: &mut Evaluator<C>,
    ots: &[EvaluatorInputOts],
    input: &[bool],
) -> Result<MaskedInput, Error> {
    let EvaluatorCore { run, hooks, .. } = &mut party.core;
    run.phase("evaluate");
    let choices = ots.iter().flat_map(|ots| ots.choices.iter());
    let masked: Vec<u8> = input.iter().zip(choices).map(|(&y, b)| u8::from(y) ^ b).collect();
    let mut message = bits::pack(masked.iter().copied());
    hooks.alter(Point::MaskedInput, &mut message);
    run.channel.send(msg::MASKED_INPUT, &message)?;
    Ok(MaskedInput(masked))
}

/// Receives the labels of both parties' inputs and evaluates all slots. One proof covers the labels and all
/// claims about the program that are not proven yet.
pub(super) fn evaluator<C: commit::CommitmentScheme>(
    party: &mut Evaluator<C>,
    program: &Program,
    joined: Joined,
    input: &[bool],
    MaskedInput(masked): MaskedInput,
) -> Result<(EvaluatorReady, ValidLabels), Error> {
    let Evaluator {
        core: EvaluatorCore { run, receiver, hooks, .. },
        ka,
        ot,
        ot_delta_difference,
        delta_ka,
        ..
    } = party;
    run.phase("evaluate");
    let EvaluatorReady { material, ots, .. } = joined.ready();
    let EvaluatorInputOts { committed: ots, wires: ot_wires, choices: ot_choices, labels: ot_labels } = ots;
    let layout = &material.layout;
    let count = layout.evaluator_inputs.len();
    let (own, given) = (program.input_width(Party::Garbler), layout.given.len());
    let outputs = &layout.evaluator_outputs;
    let (sent, indicators) = {
        let message = run
            .channel
            .receive(msg::INPUT_LABELS, (given + count) * LABEL_BYTES + outputs.len().div_ceil(8))?;
        let (sent, indicators) = message.split_at((given + count) * LABEL_BYTES);
        let label = |bytes: &[u8]| Label::from_bytes(bytes.try_into().expect("16 bytes"));
        (
            Labels::new(sent.chunks_exact(LABEL_BYTES).map(label).collect()),
            bits::unpack(indicators, outputs.len())?,
        )
    };

    // For E's inputs, `sent` has the openings V, which are not labels yet.
    let received = receiver.claimed((sent, indicators));
    let e = |v: Label, k: usize| v.colour() ^ ot_labels[k].colour() ^ ot_choices[k];
    let view = joined.ready().view();
    let of_outputs = view.gathered(outputs);
    let mut claims = Claims::new();
    joined.claims([ka, ot], program, &view, &mut claims);
    claims.about(&received, |(sent, indicators), claims| {
        let sent = &sent[given..];
        let opening = |k: usize, _, values: &mut [Label]| {
            values[0] = sent[k].with_colour(ot_labels[k].colour() ^ u8::from(input[k]))
        };
        let of_inputs = EachClaim::new(count, 1).are(opening).with_one(ot, |k, _| e(sent[k], k));
        input_claims(of_inputs, [ots, ot_wires], claims);
        claims.bits(outputs.len(), |k, sum| {
            of_outputs.add(k, sum);
            Label::ZERO.with_colour(indicators[k])
        });
    });
    let proof = receiver.verify(&mut run.channel, &[], &claims)?;
    drop(claims);
    drop(view);
    let (sent, indicators) = received.proven(&proof);
    let (theirs, sent) = sent.split_at(given);
    // Allocates room for all wires at once: a growing vector would leave copies of secrets in freed memory.
    let mut labels = Labels::new(Vec::with_capacity(program.wires()));
    labels.resize(own, Label::ZERO);
    labels.extend(sent.iter().enumerate().map(|(k, &label)| {
        let sigma = e(label, k) ^ masked[k];
        label ^ ot_labels[k] ^ ot_delta_difference.times(u8::from(input[k]) ^ sigma)
    }));
    let ready = joined.proven(&proof);
    let layout = &ready.material.layout;
    layout.given.iter().zip(theirs).for_each(|(&wire, &label)| labels[wire as usize] = label);
    let carried = layout.carried.iter().zip(&*ready.material.labels);
    carried.for_each(|(&wire, &label)| labels[wire as usize] = label);

    // InputG: the authenticators must accept these labels. The labels of E's input follow from claims, and
    // those of kept values from proofs of earlier steps.
    if !ready.material.accept(theirs, |k| layout.location(layout.given[k]))? {
        return Err(Cheat::InputLabel.into());
    }
    pool::compute(|| evaluate_slots(program, &ready, hooks, &mut labels, delta_ka))?;
    Ok((ready, ValidLabels { labels, indicators }))
}

/// Groups slots of a batch that do not depend on each other. Returns each batch with its slots, in the order
/// of evaluation.
fn groups(program: &Program, material: &EvaluatorMaterial) -> Vec<(usize, Vec<u32>)> {
    let inputs = program.input_width(Party::Garbler) + program.input_width(Party::Evaluator);
    let mut level_of_wire: Vec<u32> = vec![0; inputs];
    let mut groups = std::collections::BTreeMap::<(u32, u32), Vec<u32>>::new();
    for (index, slot) in program.slots().enumerate() {
        let level = slot.inputs.iter().map(|&w| level_of_wire[w as usize]).max().unwrap_or(0);
        let (batch, _) = material.layout.places[index];
        level_of_wire
            .resize(level_of_wire.len() + material.batches[batch as usize].batch.shape.outputs, level + 1);
        groups.entry((level, batch)).or_default().push(index as u32);
    }
    groups.into_iter().map(|((_, batch), slots)| (batch as usize, slots)).collect()
}

/// EvSubs for all slots: computes the labels of all wires. Sets Δ_ka if a wire has two valid labels and Δ_ka
/// is not known yet.
fn evaluate_slots(
    program: &Program,
    ready: &EvaluatorReady,
    hooks: &mut Hooks,
    labels: &mut Labels,
    delta_ka: &mut Label,
) -> Result<(), Error> {
    labels.resize(program.wires(), Label::ZERO);
    let material = &ready.material;
    let groups = groups(program, material);
    let shape = |batch: usize| material.batches[batch].batch.shape;
    let at_once =
        |batch: usize| CANDIDATES_AT_ONCE.div_ceil((shape(batch).batch.size * shape(batch).outputs).max(1));
    for (batch, slots) in groups
        .iter()
        .flat_map(|&(batch, ref slots)| slots.chunks(at_once(batch)).map(move |some| (batch, some)))
    {
        let candidates = evaluate_copies(program, ready, batch, slots, labels)?;
        let Shape { outputs, batch: BatchSizes { size, .. }, .. } = shape(batch);
        let first_output = |slot: usize| program.slot(slots[slot] as usize).first_output as usize;
        let authenticators = &material.batches[batch].authenticators;
        let mut accepted = Zeroizing::new(vec![(Label::ZERO, Label::ZERO); slots.len() * outputs]);
        let refused = accepted
            .par_chunks_mut(OUTPUTS_A_TASK)
            .enumerate()
            .map(|(task, accepted)| {
                let wires = task * OUTPUTS_A_TASK..task * OUTPUTS_A_TASK + accepted.len();
                let mut asked: Zeroizing<Vec<(usize, Label)>> =
                    Zeroizing::new(Vec::with_capacity(size * wires.len()));
                for k in wires {
                    let (slot, wire) = (k / outputs, k % outputs);
                    let location = material.layout.location((first_output(slot) + wire) as u32);
                    asked.extend(
                        (0..size).map(|copy| {
                            (location.bucket as usize, candidates.label(slot * size + copy, wire))
                        }),
                    );
                }
                let verdicts = authenticators.accept(&asked)?;
                for ((accepted, asked), verdicts) in
                    accepted.iter_mut().zip(asked.chunks(size)).zip(verdicts.chunks(size))
                {
                    *accepted =
                        one_or_two(asked.iter().zip(verdicts).map(|((_, label), valid)| (*label, *valid)))
                            .map_err(Cheat::from)?;
                }
                Ok::<u64, Error>(verdicts.iter().map(|valid| u64::from(!valid)).sum())
            })
            .try_reduce(|| 0, |a, b| Ok(a + b))?;
        hooks.alter(Point::Refused, &mut [refused]);
        for (k, &(label, delta)) in accepted.iter().enumerate() {
            labels[first_output(k / outputs) + k % outputs] = label;
            *delta_ka ^= delta.times(1 ^ delta_ka.colour());
        }
    }
    Ok(())
}

/// The output labels of all copies in the buckets of some slots.
struct Candidates {
    /// `[copy][output wire]`, with copies sorted by their numbers.
    labels: Labels,
    /// `[slot][copy]`: the rank of the copy in `labels`.
    ranks: Vec<u32>,
    outputs: usize,
}

impl Candidates {
    /// Returns the label of the output `wire` of a copy. The copies of all slots are counted one slot after
    /// the other.
    fn label(&self, copy: usize, wire: usize) -> Label {
        self.labels[self.ranks[copy] as usize * self.outputs + wire]
    }
}

/// Evaluates every copy in the buckets of these slots. Returns the labels of their outputs, soldered to the
/// heads of the wires' authenticators.
fn evaluate_copies(
    program: &Program,
    ready: &EvaluatorReady,
    batch: usize,
    slots: &[u32],
    labels: &[Label],
) -> Result<Candidates, Error> {
    let EvaluatorReady { material, solderings, .. } = ready;
    let layout = &material.layout;
    let EvaluatorComponent { batch: b, output_solderings, .. } = &material.batches[batch];
    let (size, inputs, outputs) = (b.shape.batch.size, b.shape.inputs, b.shape.outputs);
    let place = |k: usize| layout.places[slots[k / size] as usize].1 as usize * size + k % size;
    let order = tables::ranked(&(0..slots.len() * size).map(|k| b.copies[place(k)]).collect::<Vec<_>>());
    // Makes tasks small enough that even few copies occupy all threads.
    let a_task = order.len().div_ceil(pool::threads()).next_multiple_of(4).clamp(4, COPIES_A_TASK);
    let mut results = Labels::new(vec![Label::ZERO; order.len() * outputs]);
    results.par_chunks_mut(a_task * outputs).zip(order.par_chunks(a_task)).try_for_each(
        |(results, members)| {
            let places: Vec<usize> = members.iter().map(|&k| place(k)).collect();
            let mut active = Labels::new(Vec::with_capacity(places.len() * inputs));
            for &copy in &places {
                let (bucket, i) = (copy / size, copy % size);
                let (head, slot) = (bucket * size, layout.slots[batch][bucket]);
                let from_head = match (bucket * (size - 1) + i).checked_sub(1) {
                    Some(pair) if i > 0 => b.solderings.read(pair * inputs..(pair + 1) * inputs)?,
                    _ => Cow::default(),
                };
                let to_head =
                    solderings.inputs[batch].solderings.read(bucket * inputs..(bucket + 1) * inputs)?;
                for (wire, (&from, soldering)) in
                    program.slot(slot as usize).inputs.iter().zip(&*to_head).enumerate()
                {
                    let mut label = soldering.carry(
                        labels[from as usize],
                        material.delta_difference(layout.location(from)) ^ b.delta_differences[head],
                    );
                    if i > 0 {
                        label = from_head[wire]
                            .carry(label, b.delta_differences[head] ^ b.delta_differences[copy]);
                    }
                    active.push(label);
                }
            }
            let copies: Vec<u32> = places.iter().map(|&copy| b.copies[copy]).collect();
            HalfGates::evaluate(
                &b.schedule,
                &b.keys,
                &copies,
                &active,
                &mut b.tables.walk(places.clone()),
                results,
            )?;
            for (&copy, results) in places.iter().zip(results.chunks_mut(outputs)) {
                let solderings = output_solderings.read(copy * outputs..(copy + 1) * outputs)?;
                results.iter_mut().zip(&*solderings).for_each(|(label, soldering)| {
                    *label = soldering.carry(*label, b.delta_differences[copy])
                });
            }
            Ok::<(), Error>(())
        },
    )?;
    let mut ranks = vec![0; order.len()];
    order.iter().zip(0..).for_each(|(&k, rank)| ranks[k] = rank);
    Ok(Candidates { labels: results, ranks, outputs })
}
