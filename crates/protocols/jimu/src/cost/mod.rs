//! What a run costs beforehand: the protocol as a list of steps, in an order in which both parties go through
//! it. Bytes and crossings are exact, the rest are estimates.

mod measure;
pub mod work;

use brickwork_base::Error;
use brickwork_base::Party::{self, Evaluator, Garbler};
use brickwork_base::random::SEED_BYTES;
use brickwork_circuit::Program;
use brickwork_plan::{self as plan, Cost, Link, Machine, PROCESS_BYTES, Script};
use brickwork_primitives::cost::work::*;
use brickwork_primitives::cost::{BLOCK, DIMENSION, GATE_BYTES, LABEL, base_ots, extend};
use brickwork_primitives::ihash::{answer_bytes, chosen_bytes, correction_bytes, setup_bytes};
use brickwork_session::{GREETING_BYTES, Protocol};

use crate::build::soldered;
use crate::layout::Layout;
use crate::ots::HASH as COMBINED_HASH;
use crate::preprocess::{START, chosen, drawn};
use crate::report::{Jimu, SecurityReport};

use work::{BEYOND, COMPARE, GARBLE, GROWS, HASH, HASHED};

/// Returns what a run of a program costs on these machines, both alike, over this link; and what it promises.
///
/// # Errors
/// As [`script`].
pub fn predict(
    program: &Program,
    security: u32,
    machine: &Machine,
    link: &Link,
) -> Result<(Cost, SecurityReport), Error> {
    let layout = Layout::new(program, security, None)?;
    Ok((plan::predict(&steps(&layout), machine, link), SecurityReport::of(&layout.sizes)))
}

/// Returns the bytes that the garbler and the evaluator send in a run: payload and framing. Exact.
///
/// # Errors
/// As [`script`].
pub fn sent_bytes(program: &Program, security: u32) -> Result<[u64; 2], Error> {
    // No message is spread over lanes.
    Ok(script(program, security)?.sent_bytes(1))
}

/// Returns the steps of a run, as a script.
///
/// # Errors
/// [`Error::Usage`] for a security that is not offered, [`Error::Limit`] if the program is too large.
pub fn script(program: &Program, security: u32) -> Result<Script, Error> {
    Ok(steps(&Layout::new(program, security, None)?))
}

fn steps(layout: &Layout) -> Script {
    let mut script = Script::new(Jimu::PHASES);
    setup(&mut script, layout); // 1, 2, 3
    preprocess(&mut script, layout); // 4, 5, 6, 7
    prepare(&mut script, layout); // 8
    build(&mut script, layout); // 9
    script.phase("evaluate");
    let gates = layout.sizes.gates.kept();
    script.work(Evaluator, &COMPARE, 2 * gates, 1);
    script.phase("decode");
    some(&mut script, Evaluator, LABEL * layout.outputs(Garbler).count() as u64); // 10
    for ((name, work), grows) in Jimu::PHASES.iter().zip(&BEYOND).zip(GROWS) {
        script.phase(name);
        script.beyond(work, if grows { layout.sizes.gates.slots.into() } else { 1 });
    }
    script.memory_bytes = memory(layout);
    script
}

/// A message, unless there is nothing in it.
fn some(script: &mut Script, from: Party, payload: u64) {
    if payload > 0 {
        script.message(from, payload);
    }
}

/// Bytes of so many labels.
fn labels(layout: &Layout, count: usize) -> u64 {
    LABEL * (layout.blocks() * count) as u64
}

/// Bytes of so many permutation messages.
fn permutations(layout: &Layout, count: usize) -> u64 {
    chosen_bytes(&layout.level().permutations, count) as u64
}

fn setup(script: &mut Script, layout: &Layout) {
    script.phase("setup");
    let bases = DIMENSION * layout.blocks() as u64;
    script.work(Garbler, &CHOOSE, bases, bases);
    let hello = GREETING_BYTES as u64;
    script.exchange([hello, base_ots(bases)], [hello, base_ots(0)]);
    script.work(Evaluator, &OFFER, bases, bases);
    script.work(Garbler, &CHOSEN, bases, bases);
    let (watched, each) = (layout.watched_ots(), layout.hashed_ots() + layout.combinations());
    let series = [watched, each].into_iter().flat_map(|ots| std::iter::repeat_n(ots, layout.blocks()));
    for ots in series {
        let blocks = (ots as u64).div_ceil(BLOCK) + 1;
        script.work(Evaluator, &EXTEND_RECEIVER, blocks, 1);
        extend(script, Evaluator, ots as u64);
        script.work(Garbler, &EXTEND_SENDER, blocks, 1);
    }
    script.message(Garbler, SEED_BYTES as u64);
    script.message(Evaluator, (layout.combinations().div_ceil(8) + COMBINED_HASH) as u64);
    for hash in [&layout.level().labels, &layout.level().permutations] {
        let [shares, secret] = setup_bytes(hash);
        script.message(Garbler, shares as u64);
        script.message(Evaluator, secret as u64);
    }
    script.message(Garbler, 2 * SEED_BYTES as u64);
}

fn preprocess(script: &mut Script, layout: &Layout) {
    script.phase("preprocess");
    let (level, security) = (layout.level(), layout.level().hashes());
    let hashes = [&level.labels, &level.permutations];
    for (hash, count) in hashes.into_iter().zip(drawn(layout)) {
        script.work(Garbler, &HASH, count as u64, 1);
        script.message(Garbler, correction_bytes(hash, count, security) as u64);
        script.work(Evaluator, &HASHED, count as u64, 1);
        script.message(Evaluator, SEED_BYTES as u64);
        script.message(Garbler, answer_bytes(hash, security) as u64);
    }
    let gates = layout.gates() as u64;
    script.work(Garbler, &GARBLE, gates, 1);
    for (hash, count) in hashes.into_iter().zip(chosen(layout)) {
        script.message(Garbler, chosen_bytes(hash, count) as u64);
    }
    script.message(Garbler, START as u64 + 2 * labels(layout, layout.gates()));
    script.work(Evaluator, &COMPARE, gates, 1);
    script.message(Evaluator, SEED_BYTES as u64);
    let opened = 3 * layout.sizes.gates.opened as usize;
    script.message(Garbler, permutations(layout, opened));
    script.message(Garbler, labels(layout, opened));
    script.message(Garbler, labels(layout, layout.sizes.authenticators.opened as usize));
    script.work(Evaluator, &COMPARE, opened as u64, 1);
}

fn prepare(script: &mut Script, layout: &Layout) {
    script.phase("prepare");
    some(script, Evaluator, layout.inputs(Evaluator).div_ceil(8) as u64);
}

fn build(script: &mut Script, layout: &Layout) {
    script.phase("build");
    let (wires, joined) = (soldered(layout), layout.sizes.authenticators.kept() as usize);
    script.message(Garbler, permutations(layout, wires));
    script.message(Garbler, labels(layout, wires));
    script.message(Garbler, permutations(layout, joined));
    script.message(Garbler, labels(layout, joined));
    script.message(Garbler, labels(layout, layout.inputs(Garbler)));
    script.message(Garbler, permutations(layout, layout.outputs(Evaluator).count()));
    script.work(Evaluator, &COMPARE, 2 * (wires + joined) as u64, 1);
}

/// Peak memory of the garbler and of the evaluator in bytes.
fn memory(layout: &Layout) -> [u64; 2] {
    let level = layout.level();
    let [words, messages] = drawn(layout).map(|count| count as u64);
    let wires = layout.steps.len() as u64;
    let soldered = soldered(layout) as u64;
    let (label, message) = (level.labels.l() as u64, level.permutations.l() as u64);
    let hashes = [level.labels.n() as u64, level.permutations.n() as u64];
    let program = wires * (GATE_BYTES + 24) + PROCESS_BYTES;
    let tables = 2 * label * layout.gates() as u64;
    // Words as they are drawn with their parity, and once more as they are kept; those of the circuit and of
    // solderings, twice while they are made.
    let garbler = words * (hashes[0] + 2 * label) + messages * (hashes[1] + message);
    let evaluator = 2 * (words * hashes[0] + messages * hashes[1]);
    [
        program + garbler + tables + (wires + 3 * soldered) * (label + message),
        program + evaluator + tables + (wires + 3 * soldered) * (hashes[0] + hashes[1]),
    ]
}
