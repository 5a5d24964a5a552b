//! Runs a program with buckets, wires and OTs from stock. The run solders the program's wires to the first
//! gate or copy of each bucket. The solderings within a bucket were made together with the bucket.
//!
//! ```text
//!   10  E -> G  where its input differs from its choices
//!   11  G -> E  solderings to first gates or copies, batch after batch; messages that are read with Δ;
//!               labels of its inputs; sums of messages that are read with its inputs' and outputs'; what
//!               decodes the evaluator's outputs
//!   12  E <> G  seed of combinations, combinations of all that
//!   13  E -> G  labels of the garbler's outputs
//! ```
//!
//! The evaluator sees the same sums as in a run without stock, but some of them are split into two. A run
//! without stock solders a wire to each gate or copy of a bucket. In a run from stock this soldering is the
//! sum of two. For copies, the difference of their offsets is added if the permutation bits of the first
//! soldering require it (`copies_soldered`).

use std::borrow::Cow;

use brickwork_base::bits::{pack, unpack};
use brickwork_base::stop::looking;
use brickwork_base::{Error, Party};
use brickwork_primitives::ihash::{self, Hashes, Openings, SeenWords, Words};
use brickwork_protocol::stock::Stand;
use zeroize::Zeroizing;

use super::records::{
    EvaluatorBuckets, EvaluatorCopies, EvaluatorGates, EvaluatorInputs, EvaluatorOts, GarblerItems,
};
use crate::buckets::{DeltaKnowledge, HashedWires, PermutedLabels, lowest_bits};
use crate::build::{CopyBuckets, GateBuckets, HashedCircuit, Soldered, active_inputs, shorts};
use crate::cheat::Cheat;
use crate::gates::mask;
use crate::hooks::Point;
use crate::layout::{BucketSlot, CopyKind, Layout};
use crate::reading::{self, Read};
use crate::setup::{Evaluator, Garbler};
use crate::solder::{HashedSolder, ListPart, Pairs, Solder, Target, seen};
use crate::{decode, evaluate, msg, prepare};

/// The garbler's material for a program: buckets and wires, batch by batch.
pub(super) struct GarblerMaterial {
    pub buckets: Vec<GarblerItems>,
    pub inputs: GarblerItems,
    pub ots: GarblerItems,
}

/// The evaluator's material for a program: buckets and wires, batch by batch.
pub(super) struct EvaluatorMaterial {
    pub buckets: Vec<EvaluatorBuckets>,
    pub inputs: Vec<EvaluatorInputs>,
    pub ots: EvaluatorOts,
}

/// Returns the solderings of the program's wires to the operands of a batch's buckets: `[bucket][input]`.
fn pairs(layout: &Layout, batch: usize) -> Pairs {
    let mut pairs = Pairs::default();
    for slot in looking(layout.slots_of(batch)) {
        let operands = layout.operands(slot);
        let first = slot.place * operands.len();
        operands.iter().enumerate().for_each(|(k, &wire)| pairs.push(wire as usize, first + k));
    }
    pairs
}

/// Returns, for each output of a slot in the circuit's order, its index among the outputs of all batches'
/// buckets.
fn outputs(layout: &Layout) -> Vec<usize> {
    let counts = layout.slots_by_kind();
    let mut firsts = Vec::with_capacity(counts.len());
    let mut all = 0;
    for (kind, slots) in layout.kinds.iter().zip(counts) {
        firsts.push(all);
        all += slots * kind.outputs();
    }
    let of = |&BucketSlot { kind, place, .. }: &BucketSlot| {
        let outputs = layout.kinds[kind].outputs();
        let first = firsts[kind] + place * outputs;
        first..first + outputs
    };
    layout.slots.iter().flat_map(of).collect()
}

/// Runs a program with this material, which fits its layout. Returns the outputs.
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
    let GarblerMaterial { buckets, inputs, ots } = material;
    let (own, level) = (layout.inputs(Party::Garbler), party.level);
    let known = |bits: &[u8]| Words::repeated(level.permutations.l(), bits.iter().copied());
    let (outputs, wires) = (outputs(layout), buckets.iter().map(GarblerItems::outputs).collect::<Vec<_>>());
    let given = |zero: &Words, inputs: &Words, theirs: &Words, of: fn(&PermutedLabels) -> &Words| {
        let none = zero.range(0..0);
        let all: Vec<&Words> = std::iter::once(&none).chain(wires.iter().map(of)).collect();
        let slots = Words::join(&all).select(outputs.iter().copied());
        Words::join(&[zero, &inputs.range(0..own), theirs, &slots]).follow(&layout.steps)
    };
    let zero = Words::zeros(level.labels.l(), 1);
    let own_ots = ots.labels.range(0..layout.ots);
    let one = known(&[1]);
    let mut circuit = PermutedLabels {
        labels: given(&zero, &inputs.labels, &own_ots, |wires| &wires.labels),
        permutations: given(&one, &inputs.permutations, &known(&theirs), |wires| &wires.permutations),
    };
    party.hooks.alter(Point::Circuit, circuit.labels.data_mut());
    let heads: Vec<Head> = buckets.iter().map(Head::of).collect();
    opens(party, layout, (&circuit, &heads), inputs, input)?; // 11, 12
    decode::garbler(party, layout, &circuit) // 13
}

/// The garbler's part of a batch's buckets that a program needs: operands, and offsets of copies.
struct Head {
    operands: PermutedLabels,
    offsets: Option<Words>,
}

impl Head {
    fn of(buckets: &GarblerItems) -> Self {
        Head { operands: buckets.operands(), offsets: buckets.offsets() }
    }
}

/// Returns the offset of the wires to which solderings lead: Δ, or the copies' own offsets. A copy has as
/// many of these wires as its kind has operands.
fn target<'a, T: ?Sized>(delta: &'a T, own: Option<&'a T>, kind: &CopyKind) -> Target<'a, T> {
    match own {
        None => Target::Session(delta),
        Some(offsets) => Target::Copies(offsets, kind.inputs()),
    }
}

/// Opens all values that a program needs, and answers the evaluator's seed with combinations.
fn opens(
    party: &mut Garbler,
    layout: &Layout,
    (circuit, heads): (&PermutedLabels, &[Head]),
    wires: &GarblerItems,
    input: &[bool],
) -> Result<(), Error> {
    let (delta, own) = (party.offset.wide.clone(), layout.inputs(Party::Garbler));
    let pairs: Vec<Pairs> = (0..heads.len()).map(|batch| pairs(layout, batch)).collect();
    let solders = heads.iter().zip(&pairs).zip(&layout.kinds).map(|((head, pairs), kind)| {
        let offset = target(&delta, head.offsets.as_ref(), kind);
        Solder { pairs, from: circuit, to: &head.operands, offset }
    });
    let solders: Vec<Solder> = solders.collect();
    let bits = solders.iter().map(|solder| solder.open(party)).collect::<Result<Vec<_>, Error>>()?;
    let wires =
        PermutedLabels { labels: wires.labels.range(0..own), permutations: wires.permutations.range(0..own) };
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
    for (solder, bits) in solders.iter().zip(&bits) {
        solder.prove(&mut of_permutations, &mut of_labels, bits);
    }
    of_permutations.add(&decoding);
    let mut of_inputs: Openings = hash.openings(&seed);
    of_inputs.add(&labels);
    of_permutations.send(&mut run.channel)?;
    of_labels.send(&mut run.channel)?;
    of_inputs.send(&mut run.channel)?;
    reading::prove(party, &seed, drawn, &tied)?;
    party.run.channel.flush()
}

/// The checked opening values that a program needs.
struct OpenedRun {
    solderings: Vec<Vec<ListPart>>,
    /// Labels of the garbler's inputs, in the form of [`Sight`]. For each of them, a bit says whether it is
    /// the hashed label.
    inputs: (SeenWords, Zeroizing<Vec<u8>>),
    read: Read,
    decoding: Words,
}

/// Runs a program with this material, which fits its layout. Returns the outputs, and whether they were
/// recovered.
pub(super) fn evaluator(
    party: &mut Evaluator,
    layout: &Layout,
    material: &EvaluatorMaterial,
    stand: Stand,
    input: &[bool],
) -> Result<(Vec<bool>, bool), Error> {
    let EvaluatorMaterial { buckets, inputs, ots } = material;
    stand.confirm(&mut party.run)?;
    let own = prepare::evaluator(party, ots.checked(), input)?; // 10
    party.run.phase("build");
    let mut of_inputs = none(party);
    inputs.iter().for_each(|inputs| of_inputs.append(&inputs.0));
    let circuit = hashed_circuit(party, layout, (buckets, &of_inputs), ots, &own);
    let opened = verify(party, layout, (&circuit, buckets), &of_inputs)?; // 11, 12
    let soldered = buckets.iter().zip(&opened.solderings).map(|(buckets, opened)| match buckets {
        EvaluatorBuckets::Gates(gates) => gates_soldered(party, gates, opened).map(Soldered::Gates),
        EvaluatorBuckets::Copies(copies) => copies_soldered(copies, opened).map(Soldered::Components),
    });
    let circuit = HashedCircuit {
        soldered: soldered.collect::<Result<_, Error>>()?,
        read: opened.read,
        inputs: opened.inputs,
        own: (&ots.choices[..layout.ots], &ots.labels),
        decoding: lowest_bits(&opened.decoding),
    };
    let (active, recovery) = evaluate::evaluator(party, layout, &circuit)?;
    let found: (&_, &DeltaKnowledge) = (&active, &recovery);
    let outputs = decode::evaluator(party, layout, &circuit, found, input)?; // 13
    Ok((outputs, recovery.is_known().into()))
}

fn none(party: &Evaluator) -> HashedWires {
    HashedWires {
        labels: party.labels.hashes(&Words::zeros(party.level.labels.l(), 0)),
        permutations: party.permutations.hashes(&Words::zeros(party.level.permutations.l(), 0)),
    }
}

/// Returns the hashes of all wires of the circuit. `own` has the permutation bits of the evaluator's inputs.
fn hashed_circuit(
    party: &Evaluator,
    layout: &Layout,
    (buckets, inputs): (&[EvaluatorBuckets], &HashedWires),
    ots: &EvaluatorOts,
    own: &[u8],
) -> HashedWires {
    let (level, theirs) = (party.level, layout.inputs(Party::Garbler));
    let known = |bits: &[u8]| {
        party.permutations.hashes(&Words::repeated(level.permutations.l(), bits.iter().copied()))
    };
    let mut slots = none(party);
    buckets.iter().for_each(|buckets| slots.append(&buckets.wires()));
    let slots = slots.select(outputs(layout).into_iter());
    let given = |zero: &Hashes, inputs: &Hashes, own: &Hashes, slots: &Hashes| {
        Hashes::join(&[zero, &inputs.range(0..theirs), own, slots]).follow(&layout.steps)
    };
    let zero = party.labels.hashes(&Words::zeros(level.labels.l(), 1));
    let own_ots = ots.hashes.range(0..layout.ots);
    HashedWires {
        labels: given(&zero, &inputs.labels, &own_ots, &slots.labels),
        permutations: given(&known(&[1]), &inputs.permutations, &known(own), &slots.permutations),
    }
}

/// Receives and checks the opening values that a program needs.
fn verify(
    party: &mut Evaluator,
    layout: &Layout,
    (circuit, buckets): (&HashedWires, &[EvaluatorBuckets]),
    wires: &HashedWires,
) -> Result<OpenedRun, Error> {
    let (delta, theirs) = (party.offset.clone(), layout.inputs(Party::Garbler));
    let mut solderings = Vec::with_capacity(buckets.len());
    for (batch, buckets) in buckets.iter().enumerate() {
        let (pairs, operands, own) = (pairs(layout, batch), buckets.operands(), buckets.offsets());
        let offset = target(&delta, own.as_ref(), &layout.kinds[batch]);
        let solder = HashedSolder { pairs: &pairs, from: circuit, to: &operands, offset };
        solderings.push(solder.opened(party)?);
    }
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
    solderings.iter().flatten().for_each(|part| part.check(&mut of_permutations, &mut of_labels));
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

/// Returns the solderings for evaluating the gates of a batch. A soldering to a gate is the sum of two: the
/// soldering to the bucket's first gate, which is in `opened`, and the stored one from the first gate.
fn gates_soldered<'a>(
    party: &Evaluator,
    gates: &'a EvaluatorGates,
    opened: &[ListPart],
) -> Result<GateBuckets<'a>, Error> {
    let EvaluatorGates { bucket, hashes, numbers, rows, outputs: back, garbling, .. } = gates;
    let (left, short) = (seen(&party.sight, opened, 2), shorts(opened));
    let mut lefts = left.select((0..numbers.len()).map(|k| k / bucket));
    let right = (0..numbers.len()).map(|k| short[2 * (k / bucket) + 1]);
    let mut right = Zeroizing::new(right.collect::<Vec<u128>>());
    let within = party.sight.of(&gates.left);
    for k in looking((0..numbers.len()).filter(|k| k % bucket > 0)) {
        let other = k / bucket * (bucket - 1) + k % bucket - 1;
        lefts.add_to(k, within.word(other), 1);
        right[k] ^= gates.short[1][other];
    }
    let outputs = (0..numbers.len() / bucket).map(|k| 3 * k + 2);
    Ok(GateBuckets {
        bucket: *bucket,
        garbling: garbling.as_ref().ok_or_else(without_keys)?,
        numbers,
        rows,
        left: lefts,
        right,
        outputs: party.sight.of(back),
        heads: party.sight.hashes(&hashes.labels.select(outputs)),
    })
}

/// Returns the solderings for evaluating the copies of a batch. δ_ih and S_h lead from a label of wire i of
/// the program to the first copy h. From there, δ_hg and `S_h ⊕ S_g`, the sum of the offsets of both copies,
/// lead to copy g. Together they are `δ_ih ⊕ δ_hg ⊕ p·(S_h ⊕ S_g)` with S_g, where p is the sum of the
/// permutation bits of i and h.
fn copies_soldered<'a>(copies: &'a EvaluatorCopies, opened: &[ListPart]) -> Result<CopyBuckets<'a>, Error> {
    let EvaluatorCopies { bucket, numbers, tables, offsets, outputs, back, within, garbling, .. } = copies;
    let (bucket, first) = (*bucket, shorts(opened));
    let sums: Zeroizing<Vec<u8>> =
        Zeroizing::new(opened.iter().flat_map(|part| lowest_bits(&part.permutations.1).to_vec()).collect());
    let each = first.len() / (numbers.len() / bucket).max(1);
    let mut inputs = Zeroizing::new(Vec::with_capacity(numbers.len() * each));
    for place in looking(0..numbers.len()) {
        let (of_bucket, copy) = (place / bucket, place % bucket);
        let [s_h, s_g] = [of_bucket * bucket, place].map(|place| back.offsets[place][0]);
        for input in 0..each {
            let at = of_bucket * each + input;
            let step = mask(sums[at]) & (s_h ^ s_g);
            let on = match copy {
                0 => 0,
                _ => within[(of_bucket * (bucket - 1) + copy - 1) * each + input],
            };
            inputs.push(first[at] ^ on ^ step);
        }
    }
    Ok(CopyBuckets {
        bucket,
        garbling: garbling.as_deref().ok_or_else(without_keys)?,
        numbers,
        tables,
        offsets: Cow::Borrowed(offsets),
        outputs: Cow::Borrowed(outputs),
        inputs,
        back: Cow::Borrowed(back),
    })
}

fn without_keys() -> Error {
    Error::Stock("the buckets of a batch have no hash keys".into())
}
