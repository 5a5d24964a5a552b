//! Solders copies into buckets and to one another. The evaluator gets the labels of the garbler's inputs, and
//! data for reading their bits, which is useful only with Δ.
//!
//! The evaluator accepts the received values if their random combinations are right. The evaluator sends the
//! seed of these combinations after all values have arrived.

use std::borrow::Cow;

use brickwork_base::bits::{pack, unpack};
use brickwork_base::stop::looking;
use brickwork_base::{Error, Party};
use brickwork_primitives::ihash::{self, Hashes, Openings, PendingReadable, SeenWords, Words};
use zeroize::Zeroizing;

use crate::buckets::{HashedWires, PermutedLabels, lowest_bits, permutation_bits};
use crate::cheat::Cheat;
use crate::choice::{Choice, numbers, wires_of};
use crate::components::ComponentGarbling;
use crate::gates::{GateHashKeys, VALUES, first_blocks, values_of};
use crate::hooks::Point;
use crate::layout::{CopyKind, Layout};
use crate::msg;
use crate::open::CheckedItems;
use crate::preprocess::{Copies, Garbled, HashedCopies, Made};
use crate::reading::{self, Read};
use crate::setup::{Evaluator, Garbler};
use crate::solder::{HashedSolder, ListPart, Pairs, Solder, Target, seen};

/// The soldered wires of a kind of copies.
#[derive(Default)]
pub(super) struct KindPairs {
    /// The input wires: wires of the circuit and inputs of copies, `[slot][copy][input]`.
    pub inputs: Pairs,
    /// The output wires. For components: outputs of copies and wires of the circuit, `[slot][copy][output]`.
    /// For gates: outputs of gates and the output of their bucket's first gate, `[slot][gate after the
    /// first]`.
    pub outputs: Pairs,
}

impl KindPairs {
    fn of(layout: &Layout, kind: usize, choice: &Choice) -> Self {
        let bucket = layout.sizes.copies[kind].bucket as usize;
        let (of, kept) = (&layout.kinds[kind], &choice.copies[kind].kept);
        let (mut inputs, mut outputs) = (Pairs::default(), Pairs::default());
        for (slot, copies) in looking(layout.slots_of(kind).zip(kept.chunks_exact(bucket))) {
            for (place, &copy) in copies.iter().enumerate() {
                let copy = copy as usize;
                for (input, &wire) in layout.operands(slot).iter().enumerate() {
                    inputs.push(wire as usize, copy * of.inputs() + input);
                }
                match of {
                    CopyKind::Gate if place == 0 => {}
                    CopyKind::Gate => outputs.push(copy, copies[0] as usize),
                    CopyKind::Component(_) => {
                        let wires = of.outputs();
                        (0..wires).for_each(|k| outputs.push(copy * wires + k, slot.output + k));
                    }
                }
            }
        }
        KindPairs { inputs, outputs }
    }
}

/// Returns the number of soldered wires of a kind: inputs of copies, and outputs.
pub(super) fn soldered(layout: &Layout, kind: usize) -> [usize; 2] {
    let (of, bucketing) = (&layout.kinds[kind], &layout.sizes.copies[kind]);
    let kept = bucketing.kept() as usize;
    let outputs = match of {
        CopyKind::Gate => kept - bucketing.slots as usize,
        CopyKind::Component(_) => kept * of.outputs(),
    };
    [kept * of.inputs(), outputs]
}

/// Returns the first gates of buckets, slot after slot, if the slots use the outputs of gates.
fn heads(layout: &Layout, choice: &Choice) -> Vec<usize> {
    let gates = layout.kinds.iter().position(|kind| !kind.has_offsets());
    gates.map_or(Vec::new(), |kind| {
        let bucket = layout.sizes.copies[kind].bucket as usize;
        choice.copies[kind].kept.iter().step_by(bucket).map(|&gate| gate as usize).collect()
    })
}

/// Returns the garbler's solderings for copies of a kind: from wires `from` to the copies' inputs, and from
/// outputs of components to wires `to`, which have the offset Δ.
pub(super) fn solders<'a>(
    copies: &'a Copies,
    [from, to]: [&'a PermutedLabels; 2],
    (pairs, kind): (&'a KindPairs, &CopyKind),
    delta: &'a Words,
) -> [Solder<'a>; 2] {
    let KindPairs { inputs, outputs } = pairs;
    let (to, offset) = match kind {
        CopyKind::Gate => (&copies.outputs, Target::Session(delta)),
        CopyKind::Component(_) => (to, Target::Copies(&copies.offsets, kind.inputs())),
    };
    [
        Solder { pairs: inputs, from, to: &copies.inputs, offset },
        Solder { pairs: outputs, from: &copies.outputs, to, offset: Target::Session(delta) },
    ]
}

pub(super) fn hashed_solders<'a>(
    copies: &'a HashedCopies,
    [from, to]: [&'a HashedWires; 2],
    (pairs, kind): (&'a KindPairs, &CopyKind),
    delta: &'a Hashes,
) -> [HashedSolder<'a>; 2] {
    let KindPairs { inputs, outputs } = pairs;
    let (to, offset) = match kind {
        CopyKind::Gate => (&copies.outputs, Target::Session(delta)),
        CopyKind::Component(_) => (to, Target::Copies(&copies.offsets, kind.inputs())),
    };
    [
        HashedSolder { pairs: inputs, from, to: &copies.inputs, offset },
        HashedSolder { pairs: outputs, from: &copies.outputs, to, offset: Target::Session(delta) },
    ]
}

/// Returns one list of words for the wires of the circuit from which all others follow. These are the
/// constant, the inputs of both parties, and the outputs of slots.
fn given(
    layout: &Layout,
    made: &Made,
    [zero, theirs]: [&Words; 2],
    of: fn(&PermutedLabels) -> &Words,
) -> Words {
    let outputs = match layout.kinds.first() {
        Some(CopyKind::Gate) => of(&made.copies[0].outputs).select(heads(layout, &made.choice).into_iter()),
        _ => of(&made.wires).clone(),
    };
    Words::join(&[zero, of(&made.inputs), theirs, &outputs]).follow(&layout.steps)
}

/// The part of the circuit's construction that does not need the evaluator's message about its input.
pub(super) struct BegunBuild {
    labels: Words,
    /// The soldered wires of each kind of copies.
    pairs: Vec<KindPairs>,
}

/// Computes this part while the evaluator checks the openings of the challenge.
pub(super) fn begin(party: &Garbler, layout: &Layout, made: &Made) -> BegunBuild {
    let zero = Words::zeros(party.level.labels.l(), 1);
    let pairs = (0..layout.kinds.len()).map(|kind| KindPairs::of(layout, kind, &made.choice));
    BegunBuild {
        labels: given(layout, made, [&zero, &made.ots], |wires| &wires.labels),
        pairs: pairs.collect(),
    }
}

/// Builds the circuit at the garbler, and returns the words of all its wires. `theirs` has the permutation
/// bits of the evaluator's inputs.
pub(super) fn garbler(
    party: &mut Garbler,
    layout: &Layout,
    (made, begun): (&Made, BegunBuild),
    input: &[bool],
    theirs: &[u8],
) -> Result<PermutedLabels, Error> {
    party.run.phase("build");
    // Returns a permutation message for each of these bits, which are public. Each symbol of the message is
    // the bit.
    let known = |bits: &[u8]| Words::repeated(party.level.permutations.l(), bits.iter().copied());
    let BegunBuild { labels, pairs } = begun;
    let permutations = given(layout, made, [&known(&[1]), &known(theirs)], |wires| &wires.permutations);
    let mut circuit = PermutedLabels { labels, permutations };
    party.hooks.alter(Point::Circuit, circuit.labels.data_mut());
    let delta = party.offset.wide.clone();
    let of =
        |kind: usize| solders(&made.copies[kind], [&circuit; 2], (&pairs[kind], &layout.kinds[kind]), &delta);
    let mut bits = Vec::new();
    for kind in 0..layout.kinds.len() {
        let [inputs, outputs] = of(kind);
        bits.push([inputs.open(party)?, outputs.open(party)?]);
    }
    let drawn = reading::garbler(party, layout)?;
    let mut rest = Rest::of(party, layout, made, &circuit, (input, &drawn.words));
    party.hooks.alter(Point::InputLabels, rest.inputs.data_mut());
    rest.open(party)?;
    party.run.channel.flush()?;

    let seed = ihash::asked(&mut party.run.channel)?;
    let mut permutations = party.permutations.openings(&seed);
    let mut labels = party.labels.openings(&seed);
    for (kind, [of_inputs, of_outputs]) in bits.iter().enumerate() {
        let [inputs, outputs] = of(kind);
        inputs.prove(&mut permutations, &mut labels, of_inputs);
        outputs.prove(&mut permutations, &mut labels, of_outputs);
    }
    rest.offsets.iter().for_each(|offsets| labels.add(offsets));
    permutations.add(&rest.decoding);
    let all = |words: &Words| {
        let mut openings: Openings = party.labels.openings(&seed);
        openings.add(words);
        openings
    };
    let of_inputs = all(&rest.inputs);
    let channel = &mut party.run.channel;
    permutations.send(channel)?;
    labels.send(channel)?;
    of_inputs.send(channel)?;
    reading::prove(party, &seed, drawn, &rest.tied)?;
    party.run.channel.flush()?;
    Ok(circuit)
}

/// Returns the labels of the garbler's input bits on these wires, and for each label whether it is the hashed
/// one (0) or the other (1).
pub(super) fn active_inputs(
    party: &Garbler,
    wires: &PermutedLabels,
    input: &[bool],
) -> (Words, Zeroizing<Vec<u8>>) {
    let point = &party.points.permutation;
    let flips = permutation_bits(party.permutations.code(), point, &wires.permutations);
    let kinds: Zeroizing<Vec<u8>> =
        Zeroizing::new(input.iter().zip(&*flips).map(|(&bit, flip)| u8::from(bit) ^ flip).collect());
    let mut labels = wires.labels.clone();
    labels.add_where(party.offset.wide.word(0), &kinds);
    (labels, kinds)
}

pub(super) fn plus_delta(mut words: Words, delta: &[u128]) -> Words {
    (0..words.count()).for_each(|k| words.add_to(k, delta, 1));
    words
}

/// The garbler's openings other than solderings.
struct Rest {
    /// For each kind of component, `S = Δ ⊕ Δ_c` of the copies in buckets.
    offsets: Vec<Words>,
    /// Sums of the wires' permutation messages with the messages that only a party with Δ can read.
    tied: Words,
    /// The active labels of the garbler's inputs. For each of them, a bit says whether it is the hashed
    /// label.
    inputs: Words,
    kinds: Zeroizing<Vec<u8>>,
    /// Permutation messages of the evaluator's outputs, the only wires that are decoded.
    decoding: Words,
}

impl Rest {
    fn of(
        party: &Garbler,
        layout: &Layout,
        made: &Made,
        circuit: &PermutedLabels,
        (input, read): (&[bool], &Words),
    ) -> Self {
        let delta = party.offset.wide.word(0);
        let kinds = layout.kinds.iter().zip(&made.copies).zip(&made.choice.copies);
        let offsets = kinds
            .filter(|((kind, _), _)| kind.has_offsets())
            .map(|((_, copies), chosen)| plus_delta(copies.offsets.select(numbers(&chosen.kept)), delta))
            .collect();
        let mut tied = circuit.permutations.select(layout.readable().collect::<Vec<_>>().into_iter());
        tied.add(read);
        let (inputs, kinds) = active_inputs(party, &made.inputs, input);
        let decoded: Vec<usize> = layout.outputs(Party::Evaluator).collect();
        Rest { offsets, tied, inputs, kinds, decoding: circuit.permutations.select(decoded.into_iter()) }
    }

    fn open(&self, party: &mut Garbler) -> Result<(), Error> {
        let Garbler { run, labels, permutations, points, .. } = party;
        let channel = &mut run.channel;
        for offsets in &self.offsets {
            labels.open(channel, &points.openings, offsets)?;
        }
        permutations.open(channel, &points.permutation, &self.tied)?;
        channel.send(msg::KINDS, &pack(self.kinds.iter().copied()))?;
        labels.open(channel, &points.openings, &self.inputs)?;
        permutations.open(channel, &points.permutation, &self.decoding)?;
        Ok(())
    }
}

/// Gates in buckets, and the data for evaluating them.
pub(super) struct GateBuckets<'a> {
    pub bucket: usize,
    pub garbling: &'a GateHashKeys,
    /// The number of each gate among the gates that were garbled together, `[slot][gate]`, and the tables of
    /// these gates.
    pub numbers: &'a [u32],
    pub rows: &'a Words,
    /// δ of left operands, `[slot][gate]`, in the form of [`Sight`]. For right operands, only the
    /// compressions of δ.
    pub left: SeenWords,
    pub right: Zeroizing<Vec<u128>>,
    /// δ of outputs, `[slot][gate after the first]`, in the form of [`Sight`].
    pub outputs: SeenWords,
    /// Hashes of the labels of the slots' outputs, at the positions of hashes in a label.
    pub heads: SeenWords,
}

/// The data for converting labels of copies in buckets to labels of the slots' outputs.
#[derive(Clone)]
pub(super) struct Back {
    /// The opening values of S, `[slot][copy]`.
    pub offsets: Zeroizing<Vec<[u128; VALUES]>>,
    /// The opening values of δ of outputs, `[slot][copy][output]`, and the sums of permutation bits.
    pub outputs: Zeroizing<Vec<[u128; VALUES]>>,
    pub bits: Zeroizing<Vec<u8>>,
}

impl Back {
    /// Makes the data from the opening values of S, and from the solderings of outputs.
    pub fn new(offsets: &Words, outputs: &[ListPart]) -> Self {
        let values = |words: &Words| -> Vec<[u128; VALUES]> {
            (0..words.count()).map(|k| values_of(words, k)).collect()
        };
        let bits = outputs.iter().flat_map(|part| lowest_bits(&part.permutations.1).to_vec());
        Back {
            bits: Zeroizing::new(bits.collect()),
            outputs: Zeroizing::new(outputs.iter().flat_map(|part| values(&part.labels.1)).collect()),
            offsets: Zeroizing::new(values(offsets)),
        }
    }
}

/// Copies of a component in buckets, and the data for evaluating them.
pub(super) struct CopyBuckets<'a> {
    pub bucket: usize,
    pub garbling: &'a ComponentGarbling,
    /// The number of each copy among the copies that were garbled together, `[slot][copy]`, and the tables of
    /// the copies.
    pub numbers: &'a [u32],
    pub tables: &'a [u8],
    /// Hashes of the copies' offsets, `[slot][copy]`, and of the labels of their outputs,
    /// `[slot][copy][output]`.
    pub offsets: Cow<'a, Hashes>,
    pub outputs: Cow<'a, Hashes>,
    /// δ of inputs, compressed, `[slot][copy][input]`.
    pub inputs: Zeroizing<Vec<u128>>,
    pub back: Cow<'a, Back>,
}

/// The solderings of a kind of copies: from labels of wires to labels of the copies' inputs, and from outputs
/// back to wires.
pub(super) enum Soldered<'a> {
    Gates(GateBuckets<'a>),
    Components(CopyBuckets<'a>),
}

/// The circuit at the evaluator.
pub(super) struct HashedCircuit<'a> {
    /// The soldered wires of each kind of copies.
    pub soldered: Vec<Soldered<'a>>,
    /// Reads the permutation bits of the garbler's inputs and outputs. Reading needs Δ.
    pub read: Read,
    /// The active labels of the garbler's inputs. For each of them, a bit says whether it is the hashed
    /// label.
    pub inputs: (SeenWords, Zeroizing<Vec<u8>>),
    /// The labels of the evaluator's inputs, which it chose in its OTs. A choice says whether the label is
    /// the hashed one (0) or the other one (1).
    pub own: (&'a [u8], &'a Words),
    /// The permutation bits of the evaluator's outputs.
    pub decoding: Zeroizing<Vec<u8>>,
}

/// Returns the hashes of all wires of the circuit. `own` has the permutation bits of the evaluator's inputs.
fn hashed_circuit(party: &Evaluator, layout: &Layout, checked: &CheckedItems, own: &[u8]) -> HashedWires {
    let level = &party.level;
    let known = |bits: &[u8]| {
        party.permutations.hashes(&Words::repeated(level.permutations.l(), bits.iter().copied()))
    };
    let outputs = match layout.kinds.first() {
        Some(CopyKind::Gate) => checked.copies[0].outputs.select(heads(layout, &checked.choice).into_iter()),
        _ => HashedWires {
            labels: checked.wires.labels.clone(),
            permutations: checked.wires.permutations.clone(),
        },
    };
    let zero = party.labels.hashes(&Words::zeros(level.labels.l(), 1));
    let labels = Hashes::join(&[&zero, &checked.inputs.labels, &checked.ots.0, &outputs.labels]);
    let rho = [&known(&[1]), &checked.inputs.permutations, &known(own), &outputs.permutations];
    HashedWires {
        labels: labels.follow(&layout.steps),
        permutations: Hashes::join(&rho).follow(&layout.steps),
    }
}

/// The received values of all openings except those of solderings.
struct OpenedRest {
    offsets: Vec<Words>,
    /// Sums of the wires' permutation messages with the messages that only a party with Δ can read, and these
    /// messages.
    tied: Words,
    read: Option<PendingReadable>,
    inputs: (Vec<u8>, Words),
    decoding: Words,
}

/// Returns what the evaluator needs of the circuit. `own` has the permutation bits of the evaluator's inputs.
pub(super) fn evaluator<'a>(
    party: &mut Evaluator,
    layout: &Layout,
    checked: &'a CheckedItems,
    own: &[u8],
) -> Result<HashedCircuit<'a>, Error> {
    party.run.phase("build");
    let wires = hashed_circuit(party, layout, checked, own);
    let pairs: Vec<KindPairs> =
        (0..layout.kinds.len()).map(|kind| KindPairs::of(layout, kind, &checked.choice)).collect();
    let delta = party.offset.clone();
    let of = |kind: usize| {
        hashed_solders(&checked.copies[kind], [&wires; 2], (&pairs[kind], &layout.kinds[kind]), &delta)
    };
    let mut opened = Vec::new();
    for kind in 0..layout.kinds.len() {
        let [inputs, outputs] = of(kind);
        opened.push([inputs.opened(party)?, outputs.opened(party)?]);
    }
    let mut rest = receive_rest(party, layout, checked)?;
    let read = verify(party, layout, checked, (&wires, &mut rest), |permutations, labels| {
        opened.iter().flatten().flatten().for_each(|part| part.check(permutations, labels));
    })?;
    let mut offsets = rest.offsets.iter();
    let soldered = (0..layout.kinds.len()).map(|kind| {
        let offsets = layout.kinds[kind].has_offsets().then(|| offsets.next()).flatten();
        soldered_of(party, layout, (kind, checked), &opened[kind], offsets)
    });
    let soldered = soldered.collect();
    let OpenedRest { inputs: (kinds, values), decoding, .. } = rest;
    let mut hashed = checked.inputs.labels.clone();
    hashed.add_where(&party.offset, &kinds);
    Ok(HashedCircuit {
        soldered,
        read,
        inputs: (party.sight.join(std::iter::once((&values, &hashed)), 1), Zeroizing::new(kinds)),
        own: (&checked.ots.1, &checked.ots.2),
        decoding: lowest_bits(&decoding),
    })
}

fn receive_rest(party: &mut Evaluator, layout: &Layout, checked: &CheckedItems) -> Result<OpenedRest, Error> {
    let read = reading::evaluator(party, layout)?;
    let Evaluator { run, labels, permutations, .. } = party;
    let channel = &mut run.channel;
    let kinds = layout.kinds.iter().zip(&checked.choice.copies).filter(|(kind, _)| kind.has_offsets());
    let mut offsets = Vec::new();
    for (_, chosen) in kinds {
        offsets.push(labels.opened(channel, chosen.kept.len())?);
    }
    let tied = permutations.opened(channel, layout.readable().count())?;
    let inputs = layout.inputs(Party::Garbler);
    let kinds = unpack(&channel.receive(msg::KINDS, inputs.div_ceil(8))?, inputs)?;
    let inputs = (kinds, labels.opened(channel, inputs)?);
    let decoding = permutations.opened(channel, layout.outputs(Party::Evaluator).count())?;
    Ok(OpenedRest { offsets, tied, read, inputs, decoding })
}

/// Checks that the opened values are sums of hashed words. Returns the reader of permutation bits.
fn verify(
    party: &mut Evaluator,
    layout: &Layout,
    checked: &CheckedItems,
    (wires, rest): (&HashedWires, &mut OpenedRest),
    solderings: impl FnOnce(&mut ihash::OpenedCombinations, &mut ihash::OpenedCombinations),
) -> Result<Read, Error> {
    let seed = ihash::ask(&mut party.run.channel)?;
    let Evaluator { run, labels, permutations, points, offset, .. } = party;
    let mut of_permutations = permutations.openings(&seed, &points.permutation);
    let [mut of_solderings, mut of_inputs] = [(); 2].map(|()| labels.openings(&seed, &points.openings));
    solderings(&mut of_permutations, &mut of_solderings);
    let kinds = layout.kinds.iter().zip(&checked.copies).zip(&checked.choice.copies);
    let kinds = kinds.filter(|((kind, _), _)| kind.has_offsets());
    for (((_, copies), chosen), opened) in kinds.zip(&rest.offsets) {
        let mut sums = copies.offsets.select(numbers(&chosen.kept));
        sums.add_where(offset, &vec![1; chosen.kept.len()]);
        of_solderings.add(&sums, opened);
    }
    let decoded: Vec<usize> = layout.outputs(Party::Evaluator).collect();
    of_permutations.add(&wires.permutations.select(decoded.into_iter()), &rest.decoding);
    let mut hashed = checked.inputs.labels.clone();
    hashed.add_where(offset, &rest.inputs.0);
    of_inputs.add(&hashed, &rest.inputs.1);

    for (check, cheat) in [
        (of_permutations, Cheat::Permutation),
        (of_solderings, Cheat::Soldering),
        (of_inputs, Cheat::InputLabel),
    ] {
        if !check.are_right(&mut run.channel)? {
            return Err(cheat.into());
        }
    }
    let tied = wires.permutations.select(layout.readable().collect::<Vec<_>>().into_iter());
    let opened = std::mem::replace(&mut rest.tied, Words::zeros(1, 0));
    reading::verify(party, &seed, rest.read.take(), (tied, opened))
}

/// Returns the checked solderings of a kind. `offsets` are the values that opened S.
fn soldered_of<'a>(
    party: &Evaluator,
    layout: &Layout,
    (kind, checked): (usize, &'a CheckedItems),
    [inputs, outputs]: &[Vec<ListPart>; 2],
    offsets: Option<&Words>,
) -> Soldered<'a> {
    let (copies, kept) = (&checked.copies[kind], &checked.choice.copies[kind].kept);
    let bucket = layout.sizes.copies[kind].bucket as usize;
    match &copies.garbled {
        Garbled::Components { garbling, tables, .. } => {
            let none = Words::zeros(party.level.labels.l(), 0);
            let outputs_of = wires_of(kept, layout.kinds[kind].outputs());
            Soldered::Components(CopyBuckets {
                bucket,
                garbling,
                numbers: kept,
                tables,
                offsets: Cow::Owned(copies.offsets.select(numbers(kept))),
                outputs: Cow::Owned(copies.outputs.labels.select(outputs_of)),
                inputs: shorts(inputs),
                back: Cow::Owned(Back::new(offsets.unwrap_or(&none), outputs)),
            })
        }
        Garbled::Gates(garbling, rows) => Soldered::Gates(GateBuckets {
            bucket,
            garbling,
            numbers: kept,
            rows,
            left: seen(&party.sight, inputs, 2),
            right: Zeroizing::new(shorts(inputs).iter().skip(1).step_by(2).copied().collect()),
            outputs: seen(&party.sight, outputs, 1),
            heads: party.sight.hashes(&copies.outputs.labels.select(numbers(kept).step_by(bucket))),
        }),
    }
}

/// Returns the compressions of δ of all pairs of a list.
pub(super) fn shorts(parts: &[ListPart]) -> Zeroizing<Vec<u128>> {
    let all = parts.iter().flat_map(|part| first_blocks(&part.labels.1).to_vec());
    Zeroizing::new(all.collect())
}
