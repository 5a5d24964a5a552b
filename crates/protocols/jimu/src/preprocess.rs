//! Makes and hashes copies. All random words are hashed before the evaluator sends the seed of their
//! combinations. The garbler proves the combinations before the evaluator sends the challenge. With its
//! answer, a cheating garbler selects the symbols that it hopes are watched. It must do so before it knows
//! the challenge. The labels of OTs are hashed after the evaluator has proven its choices.

use brickwork_base::Error;
use brickwork_base::bits::{pack, unpack};
use brickwork_base::random::{Rng, SEED_BYTES, Seed};
use brickwork_circuit::Circuit;
use brickwork_kernels::SecretBlocks;
use brickwork_primitives::ihash::{self, Hashes, Words};
use zeroize::Zeroizing;

use crate::buckets::{HashedWires, PermutedLabels, permutation_bits};
use crate::choice::{Choice, numbers, wires_of};
use crate::components::{ComponentGarbling, GivenWords, HASH};
use crate::gates::{CompressedLabels, GateHashKeys, colour, compressed};
use crate::hooks::Point;
use crate::layout::{CopyKind, Supply};
use crate::msg;
use crate::ots::{self, Counts};
use crate::setup::{Evaluator, Garbler};

pub(super) const START: usize = 16;

/// The number of gates that are garbled, hashed and sent at a time.
pub(super) const GATES_AT_ONCE: usize = 1 << 10;

/// Returns the lengths of the lists of random words, for labels and for permutation messages, in order. For
/// each kind of copies there are lists for inputs, outputs, and offsets. Then the lists for the garbler's
/// inputs, for outputs of slots with words of their own, and for OTs follow. Offsets and OTs have no
/// permutation messages.
pub(super) fn lists(supply: &Supply) -> [Vec<usize>; 2] {
    let (mut labels, mut permutations) = (Vec::new(), Vec::new());
    for (kind, bucketing) in supply.kinds.iter().zip(&supply.sizes.copies) {
        let copies = bucketing.copies() as usize;
        let wires = [kind.inputs(), kind.outputs()].map(|wires| copies * wires);
        labels.extend(wires);
        permutations.extend(wires);
        labels.push(if kind.has_offsets() { copies } else { 0 });
    }
    let rest = [supply.inputs, supply.slot_wires];
    labels.extend(rest);
    permutations.extend(rest);
    labels.push(supply.ots);
    [labels, permutations]
}

/// Returns the number of OTs for the evaluator's inputs, and of combinations that check them.
pub(super) fn input_ots(supply: &Supply) -> Option<Counts> {
    (supply.ots > 0).then(|| Counts { ots: supply.ots, combinations: supply.combinations() })
}

/// The garbler's data about copies of a kind.
pub(super) struct Copies {
    /// The wires of inputs, `[copy][input]`, and of outputs, `[copy][output]`.
    pub inputs: PermutedLabels,
    pub outputs: PermutedLabels,
    /// The offset of each copy, for components.
    pub offsets: Words,
    pub start: u128,
}

/// Random words that were hashed, and that other words then replaced.
enum Replaced {
    Outputs(Words),
    Offsets(Words),
}

impl Copies {
    /// Returns the random words that the garbler hashed: for labels of inputs, for labels of outputs, and for
    /// offsets.
    fn random<'a>(&'a self, replaced: &'a Replaced) -> [&'a Words; 3] {
        let Copies { inputs, outputs, offsets, .. } = self;
        match replaced {
            Replaced::Outputs(random) => [&inputs.labels, random, offsets],
            Replaced::Offsets(random) => [&inputs.labels, &outputs.labels, random],
        }
    }
}

pub(super) struct Made {
    pub copies: Vec<Copies>,
    pub inputs: PermutedLabels,
    /// The outputs of the slots of components.
    pub wires: PermutedLabels,
    /// The OTs' labels of choice 0.
    pub ots: Words,
    pub choice: Choice,
}

/// The evaluator's data about copies of a kind.
pub(super) struct HashedCopies {
    /// The hashes of inputs, `[copy][input]`, and of outputs, `[copy][output]`.
    pub inputs: HashedWires,
    pub outputs: HashedWires,
    pub offsets: Hashes,
    pub garbled: Garbled,
}

/// The data for evaluating copies.
pub(super) enum Garbled {
    /// Gates with their rows, `[gate][row]`: at first all gates, and after the check only those in buckets.
    Gates(GateHashKeys, Words),
    Components {
        garbling: Box<ComponentGarbling>,
        /// The hash of each copy's tables.
        hashes: Vec<[u8; HASH]>,
        /// The tables of the copies in buckets, one after another.
        tables: Vec<u8>,
    },
}

/// The hashes that are added to those of random words, so that they become hashes of chosen words.
enum InTheirPlace {
    /// For gates' outputs: the hashes of the differences between the labels and the random words, group after
    /// group.
    Outputs(Vec<Hashes>),
    /// For each copy's offset, 1 if the label of colour 1 is added.
    Offsets(Vec<u8>),
}

pub(super) struct Received {
    pub copies: Vec<HashedCopies>,
    pub inputs: HashedWires,
    pub wires: HashedWires,
    /// The evaluator's inputs: the hashes of their labels, the choices of the OTs, and the labels.
    pub ots: (Hashes, SecretBlocks<u8>, Words),
    pub choice: Choice,
}

/// Makes and hashes all items.
pub(super) fn garbler(party: &mut Garbler, supply: &Supply) -> Result<Made, Error> {
    party.run.phase("preprocess");
    let channel = &mut party.run.channel;
    let unchecked = input_ots(supply)
        .map(|counts| ots::garbler(channel, &mut party.series, counts, &mut party.rng))
        .transpose()?;
    let [of_labels, of_permutations] = lists(supply);
    let labels = of_labels.into_iter().map(|count| party.labels.random(channel, count));
    let mut labels = labels.collect::<Result<Vec<_>, Error>>()?.into_iter();
    let masks = party.labels.masks(channel)?;
    let rho = of_permutations.into_iter().map(|count| party.permutations.random(channel, count));
    let mut rho = rho.collect::<Result<Vec<_>, Error>>()?.into_iter();
    let rho_masks = party.permutations.masks(channel)?;
    channel.flush()?;
    let mut list = || labels.next().expect("each list that was made is there");
    let mut wires = |labels: Words| PermutedLabels { labels, permutations: rho.next().expect("likewise") };
    let (mut copies, mut replaced) = (Vec::new(), Vec::new());
    for kind in 0..supply.kinds.len() {
        let (inputs, outputs, offsets) = (wires(list()), wires(list()), list());
        let mut made = Copies { inputs, outputs, offsets, start: party.rng.block() };
        party.run.channel.send(msg::START, &made.start.to_le_bytes())?;
        replaced.push(match &supply.kinds[kind] {
            CopyKind::Gate => garble_gates(party, &mut made)?,
            CopyKind::Component(_) => garble_components(party, supply, kind, &mut made)?,
        });
        copies.push(made);
    }
    let [inputs, slots] = [(); 2].map(|()| wires(list()));
    let random_ots = list();
    party.run.channel.flush()?;

    let channel = &mut party.run.channel;
    let (session, delta) = (&party.session, party.offset.wide.word(0));
    let checked = unchecked.map(|unchecked| unchecked.check(channel, session, delta)).transpose()?;
    let seed = ihash::asked(channel)?;
    let lists = copies.iter().zip(&replaced);
    let lists = lists.flat_map(|(copies, replaced)| copies.random(replaced));
    let rest = [&inputs.labels, &slots.labels, &random_ots];
    party.labels.prove(channel, &seed, &lists.chain(rest).collect::<Vec<_>>(), masks)?;
    let lists = copies.iter().flat_map(|Copies { inputs, outputs, .. }| [inputs, outputs]);
    let lists = lists.chain([&inputs, &slots]).map(|wires| &wires.permutations);
    party.permutations.prove(channel, &seed, &lists.collect::<Vec<_>>(), rho_masks)?;
    let ots = match checked {
        None => random_ots,
        Some(ots) => hash_ots(party, random_ots, ots)?,
    };
    party.run.channel.flush()?;
    let mut challenge = [0; SEED_BYTES];
    party.run.channel.receive_into(msg::CHALLENGE, &mut challenge)?;
    party.run.exposed()?;
    let choice = Choice::expand(&Seed::from_bytes(challenge), supply);
    Ok(Made { copies, inputs, wires: slots, ots, choice })
}

/// Garbles gates, and hashes and sends them. Returns the random words of their outputs.
fn garble_gates(party: &mut Garbler, made: &mut Copies) -> Result<Replaced, Error> {
    let (code, blocks) = (party.labels.code(), party.level.blocks());
    let gates = made.outputs.labels.count();
    let garbling = GateHashKeys::new(made.start, gates, blocks);
    let bits = |wires: &PermutedLabels| {
        permutation_bits(party.permutations.code(), &party.points.permutation, &wires.permutations)
    };
    let (of_inputs, of_outputs) = (bits(&made.inputs), bits(&made.outputs));
    let delta = party.offset.wide.word(0);
    let chosen = Words::zeros(party.level.labels.l(), gates);
    let random = std::mem::replace(&mut made.outputs.labels, chosen);
    for first in (0..gates).step_by(GATES_AT_ONCE) {
        let here = first..gates.min(first + GATES_AT_ONCE);
        let mut operands = made.inputs.labels.range(2 * here.start..2 * here.end);
        operands.add_where(delta, &of_inputs[2 * here.start..2 * here.end]);
        let operands = CompressedLabels::new(code, &party.points.compression, operands);
        let (mut outputs, mut tables) = garbling.garble(first, &party.offset, &operands);
        if first == 0 {
            party.hooks.alter(Point::GateOutputs, outputs.data_mut());
            party.hooks.alter(Point::Tables, tables.data_mut());
        }
        outputs.add_where(delta, &of_outputs[here.clone()]);
        let place = here.start * blocks..here.end * blocks;
        made.outputs.labels.data_mut()[place].copy_from_slice(outputs.data());
        outputs.add_range(&random, here);
        party.labels.chosen(&mut party.run.channel, &outputs)?;
        party.run.channel.send(msg::GATES, tables.bytes())?;
    }
    Ok(Replaced::Outputs(random))
}

/// Garbles copies of a component, and sends the hashes of their tables. Returns the random words of their
/// offsets.
fn garble_components(
    party: &mut Garbler,
    supply: &Supply,
    kind: usize,
    made: &mut Copies,
) -> Result<Replaced, Error> {
    let short = compressed(party.labels.code(), &party.points.compression, &made.offsets);
    let mut plain: Zeroizing<Vec<u8>> =
        Zeroizing::new(short.iter().map(|&short| 1 ^ colour(short)).collect());
    party.hooks.alter(Point::CopyColours(kind), &mut plain);
    let random = made.offsets.clone();
    made.offsets.add_where(party.points.unit.word(0), &plain);
    party.run.channel.send(msg::COLOURS, &pack(plain.iter().copied()))?;
    let copies = made.offsets.count();
    let garbling = component_garbling(supply, kind, made.start);
    let mut hashes = Vec::with_capacity(HASH * copies);
    for first in (0..copies as u32).step_by(garbling.copies_at_once()) {
        let here: Vec<u32> = (first..(copies as u32).min(first + garbling.copies_at_once() as u32)).collect();
        for tables in garble_copies(party, made, kind, &garbling, &here)? {
            hashes.extend_from_slice(&ComponentGarbling::hash(&tables));
        }
    }
    party.run.channel.send(msg::HASHES, &hashes)?;
    Ok(Replaced::Offsets(random))
}

/// Returns the garbling of a kind of copies, which must be a component.
pub(super) fn component_garbling(supply: &Supply, kind: usize, start: u128) -> ComponentGarbling {
    let circuit = supply.kinds[kind].circuit().expect("a component");
    ComponentGarbling::new(
        circuit,
        start,
        supply.sizes.copies[kind].copies() as usize,
        supply.level().blocks(),
    )
}

/// Garbles copies with these numbers, for the first time or again. Returns the tables of each copy.
pub(super) fn garble_copies(
    party: &mut Garbler,
    made: &Copies,
    kind: usize,
    garbling: &ComponentGarbling,
    copies: &[u32],
) -> Result<Vec<Vec<u8>>, Error> {
    let (code, points) = (party.labels.code(), &party.points);
    let each = [&made.inputs, &made.outputs].map(|wires| wires.labels.count() / made.offsets.count().max(1));
    let select = |words: &Words, each: usize| words.select(wires_of(copies, each));
    let bits = |wires: &PermutedLabels, each: usize| {
        let permutations = select(&wires.permutations, each);
        permutation_bits(party.permutations.code(), &points.permutation, &permutations)
    };
    let mut offsets = made.offsets.select(numbers(copies));
    party.hooks.alter(Point::CopyOffsets(kind), offsets.data_mut());
    let short = |words: &Words| compressed(code, &points.compression, words);
    let mut given = GivenWords::new(
        (short(&offsets), offsets),
        (short(&select(&made.inputs.labels, each[0])), &bits(&made.inputs, each[0])),
        (select(&made.outputs.labels, each[1]), &bits(&made.outputs, each[1])),
    );
    party.hooks.alter(Point::CopyInputs(kind), &mut given.inputs);
    party.hooks.alter(Point::CopyOutputs(kind), given.outputs.data_mut());
    let mut tables = garbling.garble(copies, &given)?;
    for (&copy, tables) in copies.iter().zip(&mut tables) {
        party.hooks.alter(Point::CopyTables(kind, copy), tables);
    }
    Ok(tables)
}

/// Hashes the labels of OTs by replacing random words, and returns the labels.
fn hash_ots(party: &mut Garbler, random: Words, mut ots: Words) -> Result<Words, Error> {
    party.hooks.alter(Point::OtLabels, ots.data_mut());
    let mut differences = random;
    differences.add(&ots);
    party.labels.chosen(&mut party.run.channel, &differences)?;
    Ok(ots)
}

/// Receives all items, and draws the challenge.
pub(super) fn evaluator(party: &mut Evaluator, supply: &Supply) -> Result<Received, Error> {
    party.run.phase("preprocess");
    let Evaluator { run, rng, series, hooks, .. } = party;
    let own = input_ots(supply)
        .map(|counts| ots::evaluator(&mut run.channel, series, counts, &[], rng, hooks))
        .transpose()?
        .map(|made| made.prove(&mut run.channel, &party.session))
        .transpose()?;
    let channel = &mut party.run.channel;
    let [of_labels, of_permutations] = lists(supply);
    let labels = of_labels.into_iter().map(|count| party.labels.random(channel, count));
    let labels = labels.collect::<Result<Vec<_>, Error>>()?;
    let masks = party.labels.masks(channel)?;
    let rho = of_permutations.into_iter().map(|count| party.permutations.random(channel, count));
    let rho = rho.collect::<Result<Vec<_>, Error>>()?;
    let rho_masks = party.permutations.masks(channel)?;
    // All words in the combinations are fixed now. The garbler reads the seed after it has sent its garbled
    // items.
    let seed = ihash::ask(channel)?;
    let mut garbled = Vec::new();
    for (kind, bucketing) in supply.kinds.iter().zip(&supply.sizes.copies) {
        let start = party.run.channel.receive(msg::START, START)?;
        let start = u128::from_le_bytes(*start.first_chunk().expect("the message has the requested length"));
        let copies = bucketing.copies() as usize;
        garbled.push(match kind {
            CopyKind::Gate => receive_gates(party, start, copies)?,
            CopyKind::Component(component) => receive_components(party, &component.circuit, start, copies)?,
        });
    }
    let channel = &mut party.run.channel;
    let mut labels = party.labels.verify(channel, &seed, labels, masks)?.into_iter();
    let mut rho = party.permutations.verify(channel, &seed, rho, rho_masks)?.into_iter();
    let mut list = || labels.next().expect("each list that was verified is there");
    let mut wires = |labels: Hashes| HashedWires { labels, permutations: rho.next().expect("likewise") };
    let mut copies = Vec::new();
    for (garbled, chosen) in garbled {
        let (inputs, mut outputs, mut offsets) = (wires(list()), wires(list()), list());
        match chosen {
            InTheirPlace::Outputs(differences) => outputs.labels.add_parts(&differences),
            InTheirPlace::Offsets(plain) => {
                offsets.add_where(&party.labels.hashes(&party.points.unit), &plain);
            }
        }
        copies.push(HashedCopies { inputs, outputs, offsets, garbled });
    }
    let [inputs, slots] = [(); 2].map(|()| wires(list()));
    let mut hashed = list();
    let ots = match own {
        None => (hashed, Default::default(), Words::zeros(party.level.labels.l(), 0)),
        Some((choices, labels)) => {
            hashed.add(&party.labels.hashes(&party.labels.chosen(channel, labels.count())?));
            (hashed, choices, labels)
        }
    };
    // Everything that was hashed or garbled is now fixed and proven.
    let mut challenge = *Rng::new("brickwork JIMU challenge")?.seed().as_bytes();
    party.hooks.alter(Point::Challenge, &mut challenge);
    party.run.expose()?;
    party.run.channel.send(msg::CHALLENGE, &challenge)?;
    party.run.channel.flush()?;
    let choice = Choice::expand(&Seed::from_bytes(challenge), supply);
    Ok(Received { copies, inputs, wires: slots, ots, choice })
}

fn receive_gates(party: &mut Evaluator, start: u128, gates: usize) -> Result<(Garbled, InTheirPlace), Error> {
    let (symbols, blocks) = (party.level.labels.l(), party.level.blocks());
    let mut rows = Words::zeros(symbols, 2 * gates);
    let mut differences = Vec::new();
    for first in (0..gates).step_by(GATES_AT_ONCE) {
        let count = GATES_AT_ONCE.min(gates - first);
        let here = party.labels.chosen(&mut party.run.channel, count)?;
        differences.push(party.labels.hashes(&here));
        let rows = &mut rows.data_mut()[2 * first * blocks..][..2 * count * blocks];
        party.run.channel.receive_into(msg::GATES, bytemuck::cast_slice_mut(rows))?;
    }
    Ok((Garbled::Gates(GateHashKeys::new(start, gates, blocks), rows), InTheirPlace::Outputs(differences)))
}

/// Receives the data about copies of a component before the challenge.
fn receive_components(
    party: &mut Evaluator,
    circuit: &Circuit,
    start: u128,
    copies: usize,
) -> Result<(Garbled, InTheirPlace), Error> {
    let plain = party.run.channel.receive(msg::COLOURS, copies.div_ceil(8))?;
    let plain = unpack(&plain, copies)?;
    let hashes = party.run.channel.receive(msg::HASHES, HASH * copies)?;
    let garbling = ComponentGarbling::new(circuit, start, copies, party.level.blocks());
    let garbled = Garbled::Components {
        garbling: Box::new(garbling),
        hashes: hashes.as_chunks().0.to_vec(),
        tables: Vec::new(),
    };
    Ok((garbled, InTheirPlace::Offsets(plain)))
}
