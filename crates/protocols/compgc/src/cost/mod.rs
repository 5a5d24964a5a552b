//! Predicts the cost of a run: the script lists the protocol's messages and work, in an order that suits both
//! parties. Bytes and crossings are exact; times and memory are estimates.

mod measure;
pub mod work;

use brickwork_base::Error;
use brickwork_base::Party::{self, Evaluator, Garbler};
use brickwork_circuit::Program;
use brickwork_plan::{self as plan, Cost, Link, Machine, PROCESS_BYTES, Script};
use brickwork_primitives::cost::work::*;
use brickwork_primitives::cost::{
    BLOCK, DIGEST, DIMENSION, GATE_BYTES, LABEL, agree_to_take, base_ots, extend, meet,
};
use brickwork_protocol::{GREETING_BYTES, SessionProtocol};

use crate::layout::Layout;
use crate::linking::Linking;
use crate::report::CompGc;
use crate::stored::Request;

use work::{BEYOND, INPUT, SLOT};

/// Predicts the cost of a run of a program between two parties of this machine.
///
/// # Errors
/// As [`script`].
pub fn predict(program: &Program, linking: Linking, machine: &Machine, link: &Link) -> Result<Cost, Error> {
    Ok(plan::predict(&script(program, linking)?, machine, link))
}

/// Returns the exact number of bytes, payload and framing, that the garbler and the evaluator send in a run.
///
/// # Errors
/// As [`script`].
pub fn sent_bytes(program: &Program, linking: Linking) -> Result<[u64; 2], Error> {
    // All messages go over the main connection, so the script is for one lane.
    Ok(script(program, linking)?.sent_bytes(1))
}

/// Predicts the cost of a run whose components and OTs are in both parties' stores. The stores share `epochs`
/// unused epochs. Components are linked as `standard`.
///
/// # Errors
/// As [`script_from_stock`].
pub fn predict_from_stock(
    program: &Program,
    epochs: u64,
    machine: &Machine,
    link: &Link,
) -> Result<Cost, Error> {
    Ok(plan::predict(&script_from_stock(program, epochs)?, machine, link))
}

/// Returns the steps of a run, as a script.
///
/// # Errors
/// [`Error::Limit`] if the program's tables cannot be addressed here.
pub fn script(program: &Program, linking: Linking) -> Result<Script, Error> {
    let layout = Layout::new(program, linking)?;
    let mut script = Script::new(CompGc::PHASES);
    setup(&mut script, program); // 1
    preprocess(&mut script, &layout); // 2
    online(&mut script, &layout); // 3, 4, 5
    Ok(script)
}

/// Returns the script of a run whose components and OTs are in stock. After an interrupted run the parties
/// send slightly more about the positions of their logs.
///
/// # Errors
/// [`Error::Limit`] if the program needs more than one request may take, or as [`script`].
pub fn script_from_stock(program: &Program, epochs: u64) -> Result<Script, Error> {
    let _ = Request::of(program)?;
    let layout = Layout::new(program, Linking::Standard)?;
    let mut script = Script::new(CompGc::PHASES);
    meet(&mut script, ([GREETING_BYTES as u64], GREETING_BYTES as u64), epochs);
    agree_to_take(&mut script, "prepare");
    script.exchange([DIGEST], [DIGEST]); // heads of the logs after the burn
    for by in [Garbler, Evaluator] {
        script.work(by, &SCHEDULE, gates(program), 1);
    }
    online(&mut script, &layout); // 3, 4, 5
    Ok(script)
}

/// Adds the online phase to the script: the steps after the inputs are known.
fn online(script: &mut Script, layout: &Layout) {
    script.phase("prepare");
    some(script, Evaluator, bits(layout.evaluator_inputs())); // 3
    build(script, layout); // 4
    evaluate(script, layout);
    script.phase("decode");
    some(script, Evaluator, bits(layout.outputs(Garbler).count())); // 5
    for (name, work) in CompGc::PHASES.iter().zip(&BEYOND) {
        script.phase(name);
        script.beyond(work, 1);
    }
    script.memory_bytes = memory(layout);
}

/// Adds a message to the script, unless it is empty.
fn some(script: &mut Script, from: Party, payload: u64) {
    if payload > 0 {
        script.message(from, payload);
    }
}

fn bits(count: usize) -> u64 {
    count.div_ceil(8) as u64
}

fn labels(count: usize) -> u64 {
    LABEL * count as u64
}

/// Counts the gates of all components that a slot uses.
fn gates(program: &Program) -> u64 {
    let used = program.components().iter().zip(program.slots_by_component()).filter(|(_, slots)| *slots > 0);
    used.map(|(component, _)| component.circuit.gate_count() as u64).sum()
}

/// Counts the gates of all slots, without the AND gates.
fn others(program: &Program) -> u64 {
    let all = program.slots().map(|slot| program.component(slot.component).circuit.gate_count() as u64);
    all.sum::<u64>() - program.and_gates()
}

fn setup(script: &mut Script, program: &Program) {
    script.phase("setup");
    script.work(Garbler, &CHOOSE, DIMENSION, DIMENSION);
    let hello = GREETING_BYTES as u64;
    script.exchange([hello, base_ots(DIMENSION)], [hello, base_ots(0)]);
    for by in [Garbler, Evaluator] {
        script.work(by, &SCHEDULE, gates(program), 1);
    }
    script.work(Evaluator, &OFFER, DIMENSION, DIMENSION);
    script.work(Garbler, &CHOSEN, DIMENSION, DIMENSION);
}

fn preprocess(script: &mut Script, layout: &Layout) {
    script.phase("preprocess");
    let ots = layout.evaluator_inputs() as u64;
    if ots > 0 {
        let blocks = ots.div_ceil(BLOCK) + 1;
        script.work(Evaluator, &EXTEND_RECEIVER, blocks, 1);
        extend(script, Evaluator, ots);
        script.work(Garbler, &EXTEND_SENDER, blocks, 1);
    }
    if layout.linking != Linking::Naive {
        script.work(Garbler, &INPUT, layout.slot_inputs() as u64, 1);
        garble(script, layout, [&GARBLE_AND, &GARBLE_XOR]);
    }
    if layout.linking == Linking::Scmc && !layout.order.is_empty() {
        script.message(Garbler, labels(layout.driven_wires().len()));
    }
}

/// Adds the steps in which the garbler garbles all slots and sends their keys and tables.
fn garble(script: &mut Script, layout: &Layout, [and, other]: [&'static plan::WorkKind; 2]) {
    if layout.order.is_empty() {
        return;
    }
    script.message(Garbler, LABEL * layout.program.components().len() as u64);
    script.work(Garbler, and, layout.program.and_gates(), 1);
    script.work(Garbler, other, others(layout.program), 1);
    script.work(Garbler, &SLOT, layout.side_by_side().count() as u64, 1);
    script.message(Garbler, layout.table_bytes() as u64);
}

fn build(script: &mut Script, layout: &Layout) {
    script.phase("build");
    some(script, Garbler, labels(layout.garbler_inputs()));
    if layout.linking == Linking::Scmc {
        some(script, Garbler, labels(layout.evaluator_inputs()));
    }
    some(script, Garbler, labels(layout.labels_of_links()));
    if layout.linking == Linking::Naive {
        garble(script, layout, [&GARBLE_AND_ALONE, &GARBLE_XOR_ALONE]);
    }
}

fn evaluate(script: &mut Script, layout: &Layout) {
    script.phase("evaluate");
    some(script, Garbler, bits(layout.outputs(Evaluator).count()));
    script.work(Evaluator, &INPUT, layout.slot_inputs() as u64, 1);
    script.work(Evaluator, &SLOT, layout.order.len() as u64, 1);
    script.work(Evaluator, &EVALUATE_AND_ALONE, layout.program.and_gates(), 1);
    script.work(Evaluator, &EVALUATE_XOR_ALONE, others(layout.program), 1);
}

/// Estimates the peak memory of the garbler and of the evaluator, in bytes.
fn memory(layout: &Layout) -> [u64; 2] {
    let program = layout.program;
    // The memory of the program, of the layout of its slots, and of its outputs.
    let slots = (12 * layout.slot_inputs() + 64 * layout.order.len() + 24 * layout.links.len()) as u64;
    let program_bytes = gates(program) * GATE_BYTES + slots + 4 * program.wires() as u64;
    // The memory of the rows of the OT extension, and of the labels made of them.
    let ots = 2 * labels(layout.evaluator_inputs());
    let common = PROCESS_BYTES + program_bytes + ots + labels(program.wires() + layout.links.len());
    let corrections = match layout.linking {
        Linking::Scmc => labels(layout.driven_wires().len()),
        _ => 0,
    };
    let inputs = if layout.linking == Linking::Naive { 0 } else { labels(layout.slot_inputs()) };
    [common + inputs + corrections, common + corrections + layout.table_bytes() as u64]
}
