//! A program runs on gates, wires and OTs from stock. What leads from a wire of the program to the first gate
//! of a bucket is soldered now; what leads from there to the others was when the bucket was made.
//!
//! ```text
//!   10  E -> G  where its input differs from its choices
//!   11  G -> E  messages that are read with Δ; solderings to first gates; labels of its inputs; sums of
//!               messages that are read with its inputs' and outputs'; what decodes the evaluator's outputs
//!   12  E <> G  seed of combinations, combinations of all that
//!   13  E -> G  labels of the garbler's outputs
//! ```
//!
//! The sums that the evaluator sees are those of a run, in another basis: a run solders the wire to each gate
//! of the bucket, here it is the sum of two solderings.

use brickwork_base::bits::{pack, unpack};
use brickwork_base::stop::looking;
use brickwork_base::{Error, Party};
use brickwork_primitives::ihash::{self, Hashes, Openings, Seen, Words};
use brickwork_session::stock::Stand;
use zeroize::Zeroizing;

use super::records::{EvaluatorGates, EvaluatorInputs, EvaluatorOts, GarblerItems};
use crate::buckets::{HashedWires, Recovery, Wires, lowest_bits};
use crate::build::{GateBuckets, HashedCircuit, Soldered, active_inputs};
use crate::cheat::Cheat;
use crate::gates::first_blocks;
use crate::hooks::Point;
use crate::layout::Layout;
use crate::reading::{self, Read};
use crate::setup::{Evaluator, Garbler};
use crate::solder::{HashedSolder, Pairs, Part, Solder, Target, seen};
use crate::{decode, evaluate, msg, prepare};

/// What the garbler takes for a program, all of each kind.
pub(super) struct GarblerMaterial {
    pub gates: GarblerItems,
    pub inputs: GarblerItems,
    pub ots: GarblerItems,
}

/// What the evaluator takes: gates and wires of each batch.
pub(super) struct EvaluatorMaterial {
    pub gates: Vec<EvaluatorGates>,
    pub inputs: Vec<EvaluatorInputs>,
    pub ots: EvaluatorOts,
}

/// Which wires of the program are soldered to first gates: `[slot][side]`.
fn pairs(layout: &Layout) -> Pairs {
    let mut pairs = Pairs::default();
    for (k, slot) in looking(layout.slots.iter().enumerate()) {
        let operands = layout.operands(slot).iter().enumerate();
        operands.for_each(|(side, &wire)| pairs.push(wire as usize, 2 * k + side));
    }
    pairs
}

/// The operands of first gates, or their outputs, among `[bucket][left, right, output]`.
fn operands(count: usize) -> impl ExactSizeIterator<Item = usize> + Clone {
    (0..2 * count).map(|k| 3 * (k / 2) + k % 2)
}

fn outputs(count: usize) -> impl ExactSizeIterator<Item = usize> + Clone {
    (0..count).map(|k| 3 * k + 2)
}

/// Runs a program, whose layout takes what the material has. Returns the outputs.
pub(super) fn garbler(
    party: &mut Garbler,
    layout: &Layout,
    material: &GarblerMaterial,
    stand: Stand,
    input: &[bool],
) -> Result<Vec<bool>, Error> {
    stand.confirm(&mut party.run)?;
    let theirs = prepare::garbler(party, layout)?; // 10
    party.run.phase("build");
    let GarblerMaterial { gates, inputs, ots } = material;
    let (slots, own) = (layout.slots.len(), layout.inputs(Party::Garbler));
    let level = party.level;
    let known = |bits: &[u8]| Words::repeated(level.permutations.l(), bits.iter().copied());
    let given = |zero: &Words, inputs: &Words, theirs: &Words, gates: &Words| {
        let outputs = gates.select(outputs(slots));
        Words::join(&[zero, &inputs.range(0..own), theirs, &outputs]).follow(&layout.steps)
    };
    let zero = Words::zeros(level.labels.l(), 1);
    let own_ots = ots.labels.range(0..layout.ots);
    let mut circuit = Wires {
        labels: given(&zero, &inputs.labels, &own_ots, &gates.labels),
        permutations: given(&known(&[1]), &inputs.permutations, &known(&theirs), &gates.permutations),
    };
    party.hooks.alter(Point::Circuit, circuit.labels.data_mut());
    let heads = Wires {
        labels: gates.labels.select(operands(slots)),
        permutations: gates.permutations.select(operands(slots)),
    };
    opens(party, layout, (&circuit, &heads), inputs, input)?; // 11, 12
    decode::garbler(party, layout, &circuit) // 13
}

/// Opens all that a program needs, and answers the evaluator's seed.
fn opens(
    party: &mut Garbler,
    layout: &Layout,
    (circuit, heads): (&Wires, &Wires),
    wires: &GarblerItems,
    input: &[bool],
) -> Result<(), Error> {
    let (pairs, delta, own) = (pairs(layout), party.offset.wide.clone(), layout.inputs(Party::Garbler));
    let solder = Solder { pairs: &pairs, from: circuit, to: heads, offset: Target::Session(&delta) };
    let bits = solder.open(party)?;
    let wires = Wires { labels: wires.labels.range(0..own), permutations: wires.permutations.range(0..own) };
    let (mut labels, kinds) = active_inputs(party, &wires, input);
    party.hooks.alter(Point::InputLabels, labels.data_mut());
    let drawn = reading::garbler(party, layout)?;
    let mut tied = circuit.permutations.select(layout.readable().collect::<Vec<_>>().into_iter());
    tied.add(&drawn.words);
    let decoded: Vec<usize> = layout.outputs(Party::Evaluator).collect();
    let decoding = circuit.permutations.select(decoded.into_iter());

    let Garbler { run, labels: hash, permutations, points, .. } = party;
    run.channel.send(msg::KINDS, &pack(kinds.iter().copied()))?;
    hash.open(&mut run.channel, &points.openings, &labels)?;
    permutations.open(&mut run.channel, &points.permutation, &tied)?;
    permutations.open(&mut run.channel, &points.permutation, &decoding)?;
    run.channel.flush()?;
    let seed = ihash::asked(&mut run.channel)?;
    let mut of_permutations = permutations.openings(&seed);
    let mut of_labels = hash.openings(&seed);
    solder.prove(&mut of_permutations, &mut of_labels, &bits);
    of_permutations.add(&decoding);
    let mut of_inputs: Openings = hash.openings(&seed);
    of_inputs.add(&labels);
    of_permutations.send(&mut run.channel)?;
    of_labels.send(&mut run.channel)?;
    of_inputs.send(&mut run.channel)?;
    reading::prove(party, &seed, drawn, &tied)?;
    party.run.channel.flush()
}

/// What opened all that a program needs, and is right.
struct OpenedRun {
    solderings: Vec<Part>,
    /// Labels of the garbler's inputs, as they are seen, and which of both they are.
    inputs: (Seen, Zeroizing<Vec<u8>>),
    read: Read,
    decoding: Words,
}

/// Runs a program, whose layout takes what the material has. Returns the outputs, and whether they had to be
/// recovered.
pub(super) fn evaluator(
    party: &mut Evaluator,
    layout: &Layout,
    material: &EvaluatorMaterial,
    stand: Stand,
    input: &[bool],
) -> Result<(Vec<bool>, bool), Error> {
    let EvaluatorMaterial { gates, inputs, ots } = material;
    stand.confirm(&mut party.run)?;
    let own = prepare::evaluator(party, ots.checked(), input)?; // 10
    party.run.phase("build");
    let none = || HashedWires {
        labels: party.labels.hashes(&Words::zeros(party.level.labels.l(), 0)),
        permutations: party.permutations.hashes(&Words::zeros(party.level.permutations.l(), 0)),
    };
    let (mut of_gates, mut of_inputs) = (none(), none());
    gates.iter().for_each(|gates| of_gates.append(&gates.hashes));
    inputs.iter().for_each(|inputs| of_inputs.append(&inputs.0));
    let circuit = hashed_circuit(party, layout, (&of_gates, &of_inputs), ots, &own);
    let heads = of_gates.select(operands(layout.slots.len()));
    let opened = verify(party, layout, (&circuit, &heads), &of_inputs)?; // 11, 12
    let circuit = HashedCircuit {
        soldered: soldered(party, gates, &opened.solderings)?,
        read: opened.read,
        inputs: opened.inputs,
        own: (&ots.choices[..layout.ots], &ots.labels),
        decoding: lowest_bits(&opened.decoding),
    };
    let (active, recovery) = evaluate::evaluator(party, layout, &circuit)?;
    let found: (&_, &Recovery) = (&active, &recovery);
    let outputs = decode::evaluator(party, layout, &circuit, found, input)?; // 13
    Ok((outputs, recovery.is_known().into()))
}

/// The hashes of all wires of the circuit. `own` are the permutation bits of the evaluator's inputs.
fn hashed_circuit(
    party: &Evaluator,
    layout: &Layout,
    (gates, inputs): (&HashedWires, &HashedWires),
    ots: &EvaluatorOts,
    own: &[u8],
) -> HashedWires {
    let (level, slots, theirs) = (party.level, layout.slots.len(), layout.inputs(Party::Garbler));
    let known = |bits: &[u8]| {
        party.permutations.hashes(&Words::repeated(level.permutations.l(), bits.iter().copied()))
    };
    let given = |zero: &Hashes, inputs: &Hashes, own: &Hashes, gates: &Hashes| {
        let outputs = gates.select(outputs(slots));
        Hashes::join(&[zero, &inputs.range(0..theirs), own, &outputs]).follow(&layout.steps)
    };
    let zero = party.labels.hashes(&Words::zeros(level.labels.l(), 1));
    let own_ots = ots.hashes.range(0..layout.ots);
    HashedWires {
        labels: given(&zero, &inputs.labels, &own_ots, &gates.labels),
        permutations: given(&known(&[1]), &inputs.permutations, &known(own), &gates.permutations),
    }
}

/// Receives what opens all that a program needs, and checks it.
fn verify(
    party: &mut Evaluator,
    layout: &Layout,
    (circuit, heads): (&HashedWires, &HashedWires),
    wires: &HashedWires,
) -> Result<OpenedRun, Error> {
    let (pairs, delta, theirs) = (pairs(layout), party.offset.clone(), layout.inputs(Party::Garbler));
    let solder = HashedSolder { pairs: &pairs, from: circuit, to: heads, offset: Target::Session(&delta) };
    let solderings = solder.opened(party)?;
    let read = reading::evaluator(party, layout)?;
    let Evaluator { run, labels, permutations, points, sight, .. } = party;
    let channel = &mut run.channel;
    let kinds = Zeroizing::new(unpack(&channel.receive(msg::KINDS, theirs.div_ceil(8))?, theirs)?);
    let values = labels.opened(channel, theirs)?;
    let tied = permutations.opened(channel, layout.readable().count())?;
    let decoded: Vec<usize> = layout.outputs(Party::Evaluator).collect();
    let decoding = permutations.opened(channel, decoded.len())?;

    let seed = ihash::ask(channel)?;
    let mut of_permutations = permutations.openings(&seed, &points.permutation);
    let [mut of_labels, mut of_inputs] = [(); 2].map(|()| labels.openings(&seed, &points.openings));
    solderings.iter().for_each(|part| part.check(&mut of_permutations, &mut of_labels));
    of_permutations.add(&circuit.permutations.select(decoded.into_iter()), &decoding);
    let mut hashed = wires.labels.range(0..theirs);
    hashed.add_where(&delta, &kinds);
    of_inputs.add(&hashed, &values);
    for (check, cheat) in
        [(of_permutations, Cheat::Permutation), (of_labels, Cheat::Soldering), (of_inputs, Cheat::InputLabel)]
    {
        if !check.are_right(channel)? {
            return Err(cheat.into());
        }
    }
    let inputs = (sight.join(std::iter::once((&values, &hashed)), 1), kinds);
    let sums = circuit.permutations.select(layout.readable().collect::<Vec<_>>().into_iter());
    let read = reading::verify(party, &seed, read, (sums, tied))?;
    Ok(OpenedRun { solderings, inputs, read, decoding })
}

/// What the gates of each batch are evaluated by: to a gate leads the soldering to the first one of its
/// bucket, and what leads on from there.
fn soldered<'a>(
    party: &Evaluator,
    gates: &'a [EvaluatorGates],
    opened: &[Part],
) -> Result<Vec<Soldered<'a>>, Error> {
    let left = seen(&party.sight, opened, 2);
    let short: Vec<u128> = opened.iter().flat_map(|part| first_blocks(&part.labels.1).to_vec()).collect();
    let mut first = 0;
    let of_batch = |gates: &'a EvaluatorGates| {
        let EvaluatorGates { bucket, hashes, numbers, rows, outputs: back, garbling, .. } = gates;
        let count = numbers.len() / bucket;
        let heads = first..first + count;
        first += count;
        let mut lefts = left.select((0..numbers.len()).map(|k| heads.start + k / bucket));
        let right = (0..numbers.len()).map(|k| short[2 * (heads.start + k / bucket) + 1]);
        let mut right = Zeroizing::new(right.collect::<Vec<u128>>());
        let within = party.sight.of(&gates.left);
        for k in looking((0..numbers.len()).filter(|k| k % bucket > 0)) {
            let other = k / bucket * (bucket - 1) + k % bucket - 1;
            lefts.add_to(k, within.word(other), 1);
            right[k] ^= gates.short[1][other];
        }
        let garbling = garbling.as_ref().ok_or_else(|| Error::Stock("gates without keys".into()));
        garbling.map(|garbling| {
            Soldered::Gates(GateBuckets {
                bucket: *bucket,
                garbling,
                numbers,
                rows,
                left: lefts,
                right,
                outputs: party.sight.of(back),
                heads: party.sight.hashes(&hashes.labels.select(outputs(count))),
            })
        })
    };
    gates.iter().map(of_batch).collect()
}
