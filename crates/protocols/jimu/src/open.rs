//! Opens the challenged items and checks them (section 5.1, step 4). All other items go into buckets.

use brickwork_base::Error;
use brickwork_primitives::ihash::{self, Words};
use zeroize::Zeroizing;

use crate::buckets::{Checks, lowest_bits, permutation_bits};
use crate::cheat::Cheat;
use crate::choice::{ChosenItems, numbers, wires_of};
use crate::components::{ComponentGarbling, GivenWords, HASH};
use crate::gates::{GateHashKeys, LabelBuffer, add_lefts, colour, first_blocks};
use crate::layout::Supply;
use crate::msg;
use crate::preprocess::{Copies, Garbled, HashedCopies, Made, Received, component_garbling, garble_copies};
use crate::setup::{Evaluator, Garbler};

/// The evaluator's items, after the openings of the challenge were checked. Only these items may be used.
pub(super) struct CheckedItems(Received);

/// The choices of OTs whose labels were compared with their hashes. The evaluator may now send their
/// difference to its input.
pub(super) struct CheckedChoices<'a>(pub &'a [u8]);

impl CheckedItems {
    /// Returns the checked choices of the evaluator's OTs.
    pub fn choices(&self) -> CheckedChoices<'_> {
        CheckedChoices(&self.0.ots.1)
    }

    /// Returns the items.
    pub fn into_received(self) -> Received {
        self.0
    }
}

impl std::ops::Deref for CheckedItems {
    type Target = Received;

    fn deref(&self) -> &Received {
        &self.0
    }
}

/// Opens the challenged items, and sends the tables of components in buckets.
pub(super) fn garbler(party: &mut Garbler, supply: &Supply, made: &Made) -> Result<(), Error> {
    let delta = party.offset.wide.word(0);
    let (mut labels, mut permutations) = (Vec::new(), Vec::new());
    for ((kind, copies), chosen) in supply.kinds.iter().zip(&made.copies).zip(&made.choice.copies) {
        let inputs = || wires_of(&chosen.opened, kind.inputs());
        let outputs = || wires_of(&chosen.opened, kind.outputs());
        permutations.push(copies.inputs.permutations.select(inputs()));
        let mut active = copies.inputs.labels.select(inputs());
        if kind.has_offsets() {
            labels.push(active);
            labels.push(copies.outputs.labels.select(outputs()));
            labels.push(copies.offsets.select(numbers(&chosen.opened)));
        } else {
            let code = party.permutations.code();
            let flips =
                permutation_bits(code, &party.points.permutation, &permutations[permutations.len() - 1]);
            let bits: Vec<u8> = chosen.bits.iter().zip(&*flips).map(|(bit, flip)| bit ^ flip).collect();
            active.add_where(delta, &bits);
            labels.push(active);
        }
        permutations.push(copies.outputs.permutations.select(outputs()));
    }
    let Garbler { run, labels: hash, permutations: message_hash, points, .. } = party;
    for words in &permutations {
        message_hash.open(&mut run.channel, &points.permutation, words)?;
    }
    for words in &labels {
        hash.open(&mut run.channel, &points.openings, words)?;
    }
    for (kind, (copies, chosen)) in made.copies.iter().zip(&made.choice.copies).enumerate() {
        if supply.kinds[kind].has_offsets() {
            send_tables(party, supply, kind, copies, &chosen.kept)?;
        }
    }
    let seed = ihash::asked(&mut party.run.channel)?;
    let mut openings = party.permutations.openings(&seed);
    permutations.iter().for_each(|words| openings.add(words));
    openings.send(&mut party.run.channel)?;
    let mut openings = party.labels.openings(&seed);
    labels.iter().for_each(|words| openings.add(words));
    openings.send(&mut party.run.channel)?;
    party.run.channel.flush()
}

/// Sends the tables of copies in buckets. To save memory, the garbler garbles these copies again.
fn send_tables(
    party: &mut Garbler,
    supply: &Supply,
    kind: usize,
    made: &Copies,
    kept: &[u32],
) -> Result<(), Error> {
    let garbling = component_garbling(supply, kind, made.start);
    for copies in kept.chunks(garbling.copies_at_once()) {
        let tables = garble_copies(party, made, kind, &garbling, copies)?;
        let mut message = party.run.channel.message(msg::TABLES);
        tables.iter().try_for_each(|tables| message.push(tables))?;
        message.finish()?;
    }
    Ok(())
}

/// The received opening values of some copies.
struct OpenedCopies {
    inputs: Words,
    outputs: Option<Words>,
    offsets: Option<Words>,
    permutations: [Words; 2],
}

/// Checks the openings (section 5.1, step 4), and receives the tables of components in buckets.
pub(super) fn evaluator(
    party: &mut Evaluator,
    supply: &Supply,
    mut received: Received,
) -> Result<CheckedItems, Error> {
    party.run.phase("preprocess");
    let mut opened = receive_openings(party, supply, &received)?;
    for (copies, chosen) in received.copies.iter_mut().zip(&received.choice.copies) {
        receive_tables(party, copies, &chosen.kept)?;
    }
    verify(party, supply, &received, &opened)?;

    let checks = Checks::new(&party.labels, &party.offset)?;
    let (hashed, choices, labels) = &received.ots;
    checks.active(hashed, choices, labels).map_err(|_| Cheat::OtOffset)?;
    for (kind, opened) in opened.drain(..).enumerate() {
        let (copies, chosen) = (&received.copies[kind], &received.choice.copies[kind]);
        checks.offsets(&copies.offsets)?;
        match &copies.garbled {
            Garbled::Gates(garbling, rows) => check_gates(party, copies, chosen, opened, garbling, rows)?,
            Garbled::Components { garbling, hashes, .. } => {
                check_components(party, copies, chosen, opened, garbling, hashes)?;
            }
        }
    }
    // The opened gates are not needed any more.
    for (copies, chosen) in received.copies.iter_mut().zip(&received.choice.copies) {
        if let Garbled::Gates(_, rows) = &mut copies.garbled {
            *rows = rows.select(wires_of(&chosen.kept, 2));
        }
    }
    Ok(CheckedItems(received))
}

fn receive_openings(
    party: &mut Evaluator,
    supply: &Supply,
    received: &Received,
) -> Result<Vec<OpenedCopies>, Error> {
    let Evaluator { run, labels, permutations, .. } = party;
    let kinds = || supply.kinds.iter().zip(&received.choice.copies);
    let mut messages = Vec::new();
    for (kind, chosen) in kinds() {
        let mut of = |wires: usize| permutations.opened(&mut run.channel, chosen.opened.len() * wires);
        messages.push([of(kind.inputs())?, of(kind.outputs())?]);
    }
    let mut opened = Vec::new();
    for ((kind, chosen), permutations) in kinds().zip(messages) {
        let count = chosen.opened.len();
        let mut of = |wires: usize| labels.opened(&mut run.channel, count * wires);
        let inputs = of(kind.inputs())?;
        let whole = kind.has_offsets();
        let outputs = whole.then(|| of(kind.outputs())).transpose()?;
        let offsets = whole.then(|| of(1)).transpose()?;
        opened.push(OpenedCopies { inputs, outputs, offsets, permutations });
    }
    Ok(opened)
}

/// Receives the tables of copies of a component in buckets, and checks that they have the hashes received
/// before.
fn receive_tables(party: &mut Evaluator, copies: &mut HashedCopies, kept: &[u32]) -> Result<(), Error> {
    let Garbled::Components { garbling, hashes, tables } = &mut copies.garbled else { return Ok(()) };
    let each = garbling.table_bytes();
    tables.reserve_exact(each * kept.len());
    for copies in kept.chunks(garbling.copies_at_once()) {
        let first = tables.len();
        tables.resize(first + each * copies.len(), 0);
        party.run.channel.receive_into(msg::TABLES, &mut tables[first..])?;
        let some = copies.iter().zip(tables[first..].chunks_exact(each));
        if some.into_iter().any(|(&copy, tables)| ComponentGarbling::hash(tables) != hashes[copy as usize]) {
            return Err(Cheat::Tables.into());
        }
    }
    Ok(())
}

/// Checks that the opened values match the hashes.
fn verify(
    party: &mut Evaluator,
    supply: &Supply,
    received: &Received,
    opened: &[OpenedCopies],
) -> Result<(), Error> {
    let seed = ihash::ask(&mut party.run.channel)?;
    let kinds = || supply.kinds.iter().zip(&received.copies).zip(&received.choice.copies).zip(opened);
    let mut check = party.permutations.openings(&seed, &party.points.permutation);
    for (((kind, copies), chosen), opened) in kinds() {
        let inputs = copies.inputs.permutations.select(wires_of(&chosen.opened, kind.inputs()));
        let outputs = copies.outputs.permutations.select(wires_of(&chosen.opened, kind.outputs()));
        check.add(&inputs, &opened.permutations[0]);
        check.add(&outputs, &opened.permutations[1]);
    }
    if !check.are_right(&mut party.run.channel)? {
        return Err(Cheat::Permutation.into());
    }
    let mut check = party.labels.openings(&seed, &party.points.openings);
    for (((kind, copies), chosen), opened) in kinds() {
        let mut inputs = copies.inputs.labels.select(wires_of(&chosen.opened, kind.inputs()));
        if let (Some(of_outputs), Some(of_offsets)) = (&opened.outputs, &opened.offsets) {
            check.add(&inputs, &opened.inputs);
            let outputs = wires_of(&chosen.opened, kind.outputs());
            check.add(&copies.outputs.labels.select(outputs), of_outputs);
            check.add(&copies.offsets.select(numbers(&chosen.opened)), of_offsets);
        } else {
            let flips = lowest_bits(&opened.permutations[0]);
            let bits: Vec<u8> = chosen.bits.iter().zip(&*flips).map(|(bit, flip)| bit ^ flip).collect();
            inputs.add_where(&party.offset, &bits);
            check.add(&inputs, &opened.inputs);
        }
    }
    match check.are_right(&mut party.run.channel)? {
        true => Ok(()),
        false => Err(Cheat::Label.into()),
    }
}

/// Checks opened gates. On the labels of the challenged bits, a gate must give the label of the product,
/// which is compared with its hash.
fn check_gates(
    party: &Evaluator,
    copies: &HashedCopies,
    chosen: &ChosenItems,
    opened: OpenedCopies,
    garbling: &GateHashKeys,
    rows: &Words,
) -> Result<(), Error> {
    let gates = &chosen.opened;
    let lefts = || (0..gates.len()).map(|k| 2 * k);
    let short = first_blocks(&opened.inputs);
    let short = short.as_chunks::<2>().0;
    let hashes = copies.inputs.labels.select(numbers(gates).map(|gate| 2 * gate));
    let flips = lowest_bits(&opened.permutations[0]);
    let bits: Vec<u8> = chosen.bits.iter().zip(&*flips).map(|(bit, flip)| bit ^ flip).collect();
    let mut active = hashes;
    let left_bits: Vec<u8> = lefts().map(|k| bits[k]).collect();
    active.add_where(&party.offset, &left_bits);
    let left = party.sight.join(std::iter::once((&opened.inputs.select(lefts()), &active)), 1);
    let mut words = Words::zeros(party.level.labels.l(), gates.len());
    let to = (&mut LabelBuffer::default(), words.data_mut());
    garbling.evaluate(gates, short, rows, |k| gates[k] as usize, to);
    let mut outputs = party.sight.of(&words);
    add_lefts(&mut outputs, &left, short);
    let products = chosen.bits.as_chunks::<2>().0.iter().map(|[a, b]| a & b);
    let flips = lowest_bits(&opened.permutations[1]);
    let bits: Vec<u8> = products.zip(&*flips).map(|(bit, flip)| bit ^ flip).collect();
    let checks = Checks::new(&party.labels, &party.offset)?;
    let hashed = copies.outputs.labels.select(numbers(gates));
    checks.active_seen(&party.sight, &hashed, &bits, &outputs).map_err(|_| Cheat::OpenedGate)?;
    Ok(())
}

fn check_components(
    party: &Evaluator,
    copies: &HashedCopies,
    chosen: &ChosenItems,
    opened: OpenedCopies,
    garbling: &ComponentGarbling,
    hashes: &[[u8; HASH]],
) -> Result<(), Error> {
    let OpenedCopies { inputs, outputs: Some(outputs), offsets: Some(offsets), permutations } = opened else {
        return Err(Cheat::OpenedCopy.into());
    };
    let [input_bits, output_bits] = permutations.each_ref().map(lowest_bits);
    let (all, short) = (&chosen.opened, first_blocks(&offsets));
    if short.iter().any(|&short| colour(short) == 0) {
        return Err(Cheat::OpenedCopy.into());
    }
    let inputs = first_blocks(&inputs);
    let count = all.len().max(1);
    let each = [inputs.len() / count, outputs.count() / count];
    let at_once = garbling.copies_at_once();
    for first in (0..all.len()).step_by(at_once) {
        let here = first..all.len().min(first + at_once);
        let of = |each: usize| here.start * each..here.end * each;
        let hashed = copies.outputs.labels.select(wires_of(&all[here.clone()], each[1]));
        let wide = party.completion.words(&hashed, &outputs.range(of(each[1])));
        let hashed = copies.offsets.select(numbers(&all[here.clone()]));
        let own = party.completion.words(&hashed, &offsets.range(here.clone()));
        let given = GivenWords::new(
            (Zeroizing::new(short[here.clone()].to_vec()), own),
            (Zeroizing::new(inputs[of(each[0])].to_vec()), &input_bits[of(each[0])]),
            (wide, &output_bits[of(each[1])]),
        );
        let tables = garbling.garble(&all[here.clone()], &given)?;
        let wrong =
            |(&copy, tables): (&u32, &Vec<u8>)| ComponentGarbling::hash(tables) != hashes[copy as usize];
        if all[here].iter().zip(&tables).any(wrong) {
            return Err(Cheat::OpenedCopy.into());
        }
    }
    Ok(())
}
