//! The predicted cost of a run: the protocol as a list of steps, in an order in which both parties execute
//! it. Bytes and crossings are exact; times are estimates.

mod measure;
pub mod work;

use brickwork_base::Error;
use brickwork_base::Party::{self, Evaluator, Garbler};
use brickwork_base::random::SEED_BYTES;
use brickwork_circuit::{Circuit, Program};
use brickwork_plan::{self as plan, Cost, Link, Machine, PROCESS_BYTES, Script};
use brickwork_primitives::cost::work::*;
use brickwork_primitives::cost::{
    BLOCK, DIGEST, DIMENSION, GATE_BYTES, LABEL, agree_to_take, base_ots, extend, meet,
};
use brickwork_primitives::cut_and_choose::Bucketing;
use brickwork_primitives::ihash::{
    HashParameters, answer_bytes, chosen_bytes, correction_bytes, opened_bytes, openings_bytes, setup_bytes,
};
use brickwork_protocol::{GREETING_BYTES, Promise, SessionProtocol};

use crate::build::soldered;
use crate::components::{HASH as TABLE_HASH, copies_at_once, table_bytes};
use crate::layout::{CopyKind, Layout, Supply};
use crate::ots::{Counts, HASH as COMBINED_HASH};
use crate::parameters::{HashLevel, Unit};
use crate::preprocess::{GATES_AT_ONCE, START, input_ots, lists};
use crate::report::{Jimu, promise};
use crate::setup::setup_ots;
use crate::solder::parts;
use crate::stored::{Filling, Request};

use work::{BEYOND, COMPARE, GARBLE, GROWS, HASH, HASHED, ROWS, SOLDERED};

/// Returns the cost of a run of a program between two parties of this machine, and its promise.
///
/// # Errors
/// As [`script`].
pub fn predict(
    program: &Program,
    unit: Unit,
    security: u32,
    machine: &Machine,
    link: &Link,
) -> Result<(Cost, Promise), Error> {
    let layout = Layout::new(program, unit, security, None)?;
    Ok((plan::predict(&steps(&layout), machine, link), promise(&layout)))
}

/// Returns the unit with which the two parties together send fewer bytes in a run of the program. This unit
/// is the default of both parties.
///
/// # Errors
/// As [`script`].
pub fn choose(program: &Program, security: u32) -> Result<Unit, Error> {
    let bytes = |unit: Unit| sent_bytes(program, unit, security).map(|sent| sent.iter().sum::<u64>());
    match (bytes(Unit::Gates), bytes(Unit::Components)) {
        (Ok(gates), Ok(components)) if components < gates => Ok(Unit::Components),
        (Err(Error::Limit(_)), Ok(_)) => Ok(Unit::Components),
        (gates, _) => gates.map(|_| Unit::Gates),
    }
}

/// Returns the bytes that the garbler and the evaluator send in a run: payload and framing. Exact.
///
/// # Errors
/// As [`script`].
pub fn sent_bytes(program: &Program, unit: Unit, security: u32) -> Result<[u64; 2], Error> {
    // No message is distributed over several connections.
    Ok(script(program, unit, security)?.sent_bytes(1))
}

/// Returns the script of a run.
///
/// # Errors
/// [`Error::Usage`] for a security that is not offered, [`Error::Limit`] if the program is too large.
pub fn script(program: &Program, unit: Unit, security: u32) -> Result<Script, Error> {
    Ok(steps(&Layout::new(program, unit, security, None)?))
}

/// Returns the cost of a run from stock, with this cut, between two parties of this machine. The cost assumes
/// that both parties share this many unused epochs, and have given up nothing.
///
/// # Errors
/// As [`script`].
pub fn predict_from_stock(
    program: &Program,
    unit: Unit,
    epochs: u64,
    security: u32,
    machine: &Machine,
    link: &Link,
) -> Result<Cost, Error> {
    Ok(plan::predict(&script_from_stock(program, unit, epochs, security)?, machine, link))
}

/// Returns the script of a run from stock, with the batches that a preprocessing for this run would make.
///
/// # Errors
/// As [`script`].
pub fn script_from_stock(program: &Program, unit: Unit, epochs: u64, security: u32) -> Result<Script, Error> {
    let level = HashLevel::of_stock(security)?;
    let layout = Layout::from_stock(program, unit, level)?;
    let steps = Request::of_layout(&layout).steps(security)?;
    // The numbers of items that each batch makes.
    let supplies: Vec<Supply> = steps.iter().map(Filling::supply).collect();
    let batches = || supplies.iter().flat_map(|supply| supply.kinds.iter().zip(&supply.sizes.copies));
    let mut script = Script::new(Jimu::PHASES);
    let hello = GREETING_BYTES as u64;
    meet(&mut script, ([hello], hello), epochs);
    agree_to_take(&mut script, "prepare");
    // The confirmation of the burn. After this, neither party waits for the other's next message.
    script.exchange([DIGEST], [DIGEST]);
    some(&mut script, Evaluator, layout.ots.div_ceil(8) as u64); // 10
    script.phase("build");
    let slots = layout.slots.len();
    let both = |script: &mut Script, [messages, labels]: [usize; 2]| {
        script.message(Garbler, opened_bytes(&level.permutations, messages) as u64);
        script.message(Garbler, opened_bytes(&level.labels, labels) as u64);
    };
    for (kind, cut) in batches() {
        let pairs = kind.inputs() * cut.slots as usize;
        script.work(Garbler, &SOLDERED, pairs as u64, 1);
        parts(pairs).for_each(|part| both(&mut script, [part.len(); 2])); // 11
        script.work(Evaluator, &SOLDERED, pairs as u64, 1);
    }
    readable(&mut script, &layout);
    script.message(Garbler, layout.inputs(Garbler).div_ceil(8) as u64);
    script.message(Garbler, opened_bytes(&level.labels, layout.inputs(Garbler)) as u64);
    for opened in [layout.readable().count(), layout.outputs(Evaluator).count()] {
        script.message(Garbler, opened_bytes(&level.permutations, opened) as u64);
    }
    script.message(Evaluator, SEED_BYTES as u64); // 12
    let [of_permutations, of_labels] =
        [&level.permutations, &level.labels].map(|hash| openings_bytes(hash, level.hashes()) as u64);
    script.message(Garbler, of_permutations);
    script.messages(Garbler, of_labels, 2);
    read(&mut script, &layout);
    evaluate(&mut script, batches());
    script.phase("decode");
    some(&mut script, Evaluator, LABEL * layout.outputs(Garbler).count() as u64); // 13
    for ((name, work), grows) in Jimu::PHASES.iter().zip(&BEYOND).zip(GROWS) {
        if ["build", "evaluate", "decode"].contains(name) {
            script.phase(name);
            script.beyond(work, if grows { slots as u64 } else { 1 });
        }
    }
    // The memory of the words of the circuit and of the used items, the rows or tables, and the solderings of
    // all gates or copies.
    let (wires, label) = (layout.steps.len() as u64, level.labels.l() as u64);
    let program = wires * (GATE_BYTES + 24 + 2 * label) + PROCESS_BYTES;
    let taken = batches().map(|(kind, cut)| {
        let wires = (kind.inputs() + kind.outputs()) as u64;
        let bytes = match kind.circuit() {
            None => 5 * label,
            Some(circuit) => table_bytes(circuit, level.blocks()) as u64 + 2 * wires * label,
        };
        [2 * wires * label * u64::from(cut.slots), cut.kept() * bytes]
    });
    let taken = taken.fold([0; 2], |all, more| [all[0] + more[0], all[1] + more[1]]);
    script.memory_bytes = taken.map(|taken| program + 2 * taken);
    Ok(script)
}

fn steps(layout: &Layout) -> Script {
    let mut script = Script::new(Jimu::PHASES);
    setup(&mut script, layout); // 1, 2, 3, 4
    preprocess(&mut script, layout); // 5, 6, 7, 8, 9
    script.phase("prepare");
    some(&mut script, Evaluator, layout.inputs(Evaluator).div_ceil(8) as u64); // 10
    build(&mut script, layout); // 11, 12
    evaluate(&mut script, layout.kinds.iter().zip(&layout.sizes.copies));
    script.phase("decode");
    some(&mut script, Evaluator, LABEL * layout.outputs(Garbler).count() as u64); // 13
    let slots: u64 = layout.sizes.copies.iter().map(|bucketing| u64::from(bucketing.slots)).sum();
    for ((name, work), grows) in Jimu::PHASES.iter().zip(&BEYOND).zip(GROWS) {
        script.phase(name);
        script.beyond(work, if grows { slots } else { 1 });
    }
    script.memory_bytes = memory(layout);
    script
}

/// Adds a message, unless it is empty.
fn some(script: &mut Script, from: Party, payload: u64) {
    if payload > 0 {
        script.message(from, payload);
    }
}

/// Adds the OTs of labels, and the check of their choices. The evaluator's answer to this check may come
/// later ([`combined`]).
fn ots(script: &mut Script, layout: &Layout, counts: Counts) {
    for _ in 0..layout.level().blocks() {
        let blocks = (counts.all() as u64).div_ceil(BLOCK) + 1;
        script.work(Evaluator, &EXTEND_RECEIVER, blocks, 1);
        extend(script, Evaluator, counts.all() as u64);
        script.work(Garbler, &EXTEND_SENDER, blocks, 1);
    }
    script.message(Garbler, SEED_BYTES as u64);
}

/// The evaluator's proof of its choices.
fn combined(script: &mut Script, counts: Counts) {
    script.message(Evaluator, (counts.combinations.div_ceil(8) + COMBINED_HASH) as u64);
}

/// Adds random words of a hash, with the length of each list, and the words that mask their combinations.
fn random(script: &mut Script, hash: &HashParameters, lists: &[usize], security: u32) {
    for count in lists.iter().copied().chain([hash.masks(security)]) {
        script.work(Garbler, &HASH, count as u64, 1);
        for bytes in correction_bytes(hash, count) {
            script.message(Garbler, bytes as u64);
        }
        script.work(Evaluator, &HASHED, count as u64, 1);
    }
}

fn setup(script: &mut Script, layout: &Layout) {
    script.phase("setup");
    let level = layout.level();
    let bases = DIMENSION * level.blocks() as u64;
    script.work(Garbler, &CHOOSE, bases, bases);
    let hello = GREETING_BYTES as u64;
    script.exchange([hello, base_ots(bases)], [hello, base_ots(0)]);
    script.work(Evaluator, &OFFER, bases, bases);
    script.work(Garbler, &CHOSEN, bases, bases);
    ots(script, layout, setup_ots(level));
    combined(script, setup_ots(level));
    for hash in [&level.labels, &level.permutations] {
        let [shares, secret] = setup_bytes(hash);
        script.message(Garbler, shares as u64);
        script.message(Evaluator, secret as u64);
    }
    script.message(Garbler, 2 * SEED_BYTES as u64);
    let count = 1 + setup_ots(level).combinations;
    random(script, &level.labels, &[count], level.hashes());
    script.message(Evaluator, SEED_BYTES as u64);
    script.message(Garbler, answer_bytes(&level.labels, level.hashes()) as u64);
    script.message(Garbler, chosen_bytes(&level.labels, count) as u64);
}

fn preprocess(script: &mut Script, layout: &Layout) {
    script.phase("preprocess");
    let (level, security) = (layout.level(), layout.level().hashes());
    let hashes = [&level.labels, &level.permutations];
    if let Some(counts) = input_ots(layout) {
        ots(script, layout, counts);
    }
    for (hash, lists) in hashes.into_iter().zip(lists(layout)) {
        random(script, hash, &lists, security);
    }
    // The garbler continues to garble while the evaluator answers.
    if let Some(counts) = input_ots(layout) {
        combined(script, counts);
    }
    script.message(Evaluator, SEED_BYTES as u64);
    for kind in 0..layout.kinds.len() {
        copies(script, layout, kind);
    }
    for hash in hashes {
        script.message(Garbler, answer_bytes(hash, security) as u64);
    }
    if layout.ots > 0 {
        script.message(Garbler, chosen_bytes(&level.labels, layout.ots) as u64);
        script.work(Evaluator, &COMPARE, layout.ots as u64, 1);
    }
    script.message(Evaluator, SEED_BYTES as u64);
    opened(script, layout);
}

/// Adds the copies of a kind, before the challenge.
fn copies(script: &mut Script, layout: &Layout, kind: usize) {
    let (level, copies) = (layout.level(), layout.sizes.copies[kind].copies() as usize);
    script.message(Garbler, START as u64);
    match &layout.kinds[kind] {
        CopyKind::Gate => {
            for first in (0..copies).step_by(GATES_AT_ONCE) {
                let here = GATES_AT_ONCE.min(copies - first);
                script.work(Garbler, &GARBLE, here as u64, 1);
                script.message(Garbler, chosen_bytes(&level.labels, here) as u64);
                script.message(Garbler, 2 * (level.labels.l() * here) as u64);
                script.work(Evaluator, &COMPARE, here as u64, 1);
            }
        }
        CopyKind::Component(component) => {
            let circuit = &component.circuit;
            script.message(Garbler, copies.div_ceil(8) as u64);
            script.work(Garbler, &SCHEDULE, circuit.gate_count() as u64, 1);
            garble(script, Garbler, circuit, copies as u64);
            script.work(Garbler, &HASH_TABLE, (copies * circuit.and_gates()) as u64, 1);
            script.message(Garbler, (TABLE_HASH * copies) as u64);
            script.work(Evaluator, &SCHEDULE, circuit.gate_count() as u64, 1);
        }
    }
}

/// Adds the work of garbling copies of a component at a party.
fn garble(script: &mut Script, party: Party, circuit: &Circuit, copies: u64) {
    let others = circuit.gate_count() - circuit.and_gates();
    script.work(party, &GARBLE_AND, copies * circuit.and_gates() as u64, 1);
    script.work(party, &GARBLE_XOR, copies * others as u64, 1);
    script.work(party, &ROWS, copies * circuit.outputs().len() as u64, 1);
}

/// Adds the openings, and the tables of components in buckets.
fn opened(script: &mut Script, layout: &Layout) {
    let level = layout.level();
    let kinds = || layout.kinds.iter().zip(&layout.sizes.copies);
    for (kind, bucketing) in kinds() {
        let count = bucketing.opened as usize;
        for wires in [kind.inputs(), kind.outputs()] {
            script.message(Garbler, opened_bytes(&level.permutations, count * wires) as u64);
        }
    }
    let labels = |script: &mut Script, count: usize| {
        script.message(Garbler, opened_bytes(&level.labels, count) as u64);
    };
    for (kind, bucketing) in kinds() {
        let count = bucketing.opened as usize;
        labels(script, count * kind.inputs());
        if kind.has_offsets() {
            labels(script, count * kind.outputs());
            labels(script, count);
        }
    }
    for (kind, bucketing) in kinds() {
        let Some(circuit) = kind.circuit() else { continue };
        let (each, kept) = (table_bytes(circuit, level.blocks()), bucketing.kept() as usize);
        for first in (0..kept).step_by(copies_at_once(each)) {
            let here = copies_at_once(each).min(kept - first);
            garble(script, Garbler, circuit, here as u64);
            script.message(Garbler, (each * here) as u64);
            script.work(Evaluator, &HASH_TABLE, (here * circuit.and_gates()) as u64, 1);
        }
    }
    script.message(Evaluator, SEED_BYTES as u64);
    for hash in [&level.permutations, &level.labels] {
        script.message(Garbler, openings_bytes(hash, level.hashes()) as u64);
    }
    for (kind, bucketing) in kinds() {
        let count = u64::from(bucketing.opened);
        match kind.circuit() {
            None => script.work(Evaluator, &COMPARE, 2 * count, 1),
            Some(circuit) => {
                garble(script, Evaluator, circuit, count);
                script.work(Evaluator, &HASH_TABLE, count * circuit.and_gates() as u64, 1);
            }
        }
    }
}

fn build(script: &mut Script, layout: &Layout) {
    script.phase("build");
    let level = layout.level();
    let labels = |script: &mut Script, count: usize| {
        script.message(Garbler, opened_bytes(&level.labels, count) as u64);
    };
    let permutations = |script: &mut Script, count: usize| {
        script.message(Garbler, opened_bytes(&level.permutations, count) as u64);
    };
    for kind in 0..layout.kinds.len() {
        for pairs in soldered(layout, kind) {
            script.work(Garbler, &SOLDERED, pairs as u64, 1);
            for part in parts(pairs) {
                permutations(script, part.len());
                labels(script, part.len());
            }
            script.work(Evaluator, &SOLDERED, pairs as u64, 1);
        }
    }
    for (kind, bucketing) in layout.kinds.iter().zip(&layout.sizes.copies) {
        if kind.has_offsets() {
            labels(script, bucketing.kept() as usize);
        }
    }
    readable(script, layout);
    permutations(script, layout.readable().count());
    script.message(Garbler, layout.inputs(Garbler).div_ceil(8) as u64);
    labels(script, layout.inputs(Garbler));
    permutations(script, layout.outputs(Evaluator).count());
    script.message(Evaluator, SEED_BYTES as u64);
    let [of_permutations, of_labels] =
        [&level.permutations, &level.labels].map(|hash| openings_bytes(hash, level.hashes()) as u64);
    script.message(Garbler, of_permutations);
    script.messages(Garbler, of_labels, 2);
    read(script, layout);
}

/// Adds the messages that only a party with Δ can read, and the words that mask their combinations.
fn readable(script: &mut Script, layout: &Layout) {
    let (count, level) = (layout.readable().count(), layout.level());
    if count > 0 {
        random(script, &level.permutations, &[count], level.hashes());
    }
}

/// Adds the proofs of these messages, and their sums with the wires' own messages.
fn read(script: &mut Script, layout: &Layout) {
    let level = layout.level();
    if layout.readable().count() > 0 {
        script.messages(Garbler, answer_bytes(&level.permutations, level.hashes()) as u64, 2);
    }
}

fn evaluate<'a>(script: &mut Script, copies: impl Iterator<Item = (&'a CopyKind<'a>, &'a Bucketing)>) {
    script.phase("evaluate");
    for (kind, bucketing) in copies {
        let kept = bucketing.kept();
        script.work(Evaluator, &COMPARE, kept * kind.outputs() as u64, 1);
        if let Some(circuit) = kind.circuit() {
            let others = circuit.gate_count() - circuit.and_gates();
            script.work(Evaluator, &EVALUATE_AND, kept * circuit.and_gates() as u64, 1);
            script.work(Evaluator, &EVALUATE_XOR, kept * others as u64, 1);
        }
    }
}

/// Returns the peak memory of the garbler and of the evaluator in bytes.
fn memory(layout: &Layout) -> [u64; 2] {
    let level = layout.level();
    let blocks = |symbols: usize| symbols.next_multiple_of(16) as u64;
    let [labels, messages] =
        [&level.labels, &level.permutations].map(|hash| [blocks(hash.l()), blocks(hash.w())]);
    let [words, rho] = lists(layout).map(|counts| counts.iter().sum::<usize>() as u64);
    let wires = layout.steps.len() as u64;
    let kinds = layout.kinds.iter().zip(&layout.sizes.copies).enumerate();
    let (mut rows, mut pairs, mut tables) = (0, 0, 0);
    for (k, (kind, bucketing)) in kinds {
        pairs += soldered(layout, k).iter().sum::<usize>() as u64;
        match kind.circuit() {
            None => rows += 2 * bucketing.copies() * labels[0],
            Some(circuit) => tables += bucketing.kept() * table_bytes(circuit, level.blocks()) as u64,
        }
    }
    let program = wires * (GATE_BYTES + 24) + PROCESS_BYTES;
    // The memory of the words that arrive and that are kept, of the words of the circuit, and of the opening
    // values of solderings.
    let of = |side: usize| {
        2 * (words * labels[side] + rho * messages[side]) + wires * (labels[side] + messages[side])
    };
    [program + of(0) + 8 * pairs, program + of(1) + rows + tables + pairs * (48 + 16 + labels[0])]
}
