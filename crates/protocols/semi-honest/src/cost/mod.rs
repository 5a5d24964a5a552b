//! Predicts the cost of a run: the protocol as a list of steps, in an order that is possible for both
//! parties. Bytes and crossings are exact, all other numbers are estimates.

mod measure;
pub mod work;

use std::sync::Arc;

use crate::layout::{Chunk, Layout};
use crate::msg::TABLES_BYTES;
use brickwork_base::Error;
use brickwork_base::Party::{self, Evaluator, Garbler};
use brickwork_circuit::Program;
use brickwork_plan::{self as plan, Cost, Link, Machine, PROCESS_BYTES, SLICES, Script, share};
use brickwork_primitives::cost as primitives;
use brickwork_primitives::cost::work::*;
use brickwork_primitives::cost::{BLOCK, DIMENSION, GATE_BYTES, LABEL, base_ots, extend};
use brickwork_primitives::garbling::{GarblingScheme as _, HalfGates};
use brickwork_protocol::{GREETING_BYTES, SessionProtocol};

use crate::report::SemiHonest;
use crate::stored;

use work::{BEYOND, SLOT, WIRE};

/// The origin of a run's OTs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ots {
    /// The run makes the OTs.
    Made,
    /// Both stores contain the OTs. The stores share this many unused epochs, and the last run was not
    /// interrupted. After an interruption, the parties send slightly more to compare their logs.
    Stocked {
        /// The number of unused epochs that both stores share.
        epochs: u64,
    },
}

/// Returns the cost of a number of executions of a program between two parties of this machine.
///
/// # Errors
/// As [`script`].
pub fn predict(
    program: &Program,
    executions: usize,
    ots: Ots,
    machine: &Machine,
    link: &Link,
) -> Result<Cost, Error> {
    Ok(plan::predict(&script(program, executions, ots)?, machine, link))
}

/// Returns the exact numbers of bytes that the garbler and the evaluator send, with framing.
///
/// # Errors
/// As [`script`].
pub fn sent_bytes(program: &Program, executions: usize, ots: Ots) -> Result<[u64; 2], Error> {
    // No message is split between lanes.
    Ok(script(program, executions, ots)?.sent_bytes(1))
}

/// Returns the script of a run.
///
/// # Errors
/// [`Error::Input`] if `executions` is 0, [`Error::Limit`] if a run from stock cannot take so many OTs.
pub fn script(program: &Program, executions: usize, ots: Ots) -> Result<Script, Error> {
    let layout = Layout::new(program, executions)?;
    let mut script = Script::new(SemiHonest::PHASES);
    match ots {
        Ots::Made => setup(&mut script, program),
        Ots::Stocked { epochs } => {
            let _ = stored::ots(program, executions)?;
            meet(&mut script, program, epochs);
        }
    } // 1
    // The first chunk has an additional message, and the last chunk may have fewer executions. All other
    // chunks are alike.
    let last = layout.chunk_count() - 1;
    let stretches = [(0, 1), (1, last.saturating_sub(1)), (last, last.min(1))];
    for (place, times) in stretches {
        script.repeat(times as u64, |script| {
            let chunk = layout.chunk(place);
            prepare(script, &chunk, ots); // 2
            evaluate(script, &chunk, place == 0); // 3
            script.phase("decode");
            some(script, Evaluator, bits(&chunk, Garbler)); // 4
        });
    }
    for (name, work) in SemiHonest::PHASES.iter().zip(&BEYOND) {
        script.phase(name);
        script.beyond(work, 1);
    }
    script.memory_bytes = memory(&layout);
    Ok(script)
}

/// Adds a message, unless it is empty.
fn some(script: &mut Script, from: Party, payload: u64) {
    if payload > 0 {
        script.message(from, payload);
    }
}

/// Returns the number of bytes for one bit of each of a party's outputs in a chunk.
fn bits(chunk: &Chunk, of: Party) -> u64 {
    (chunk.count() * chunk.layout.places_of_outputs(of).count()).div_ceil(8) as u64
}

/// Returns the number of gates of the used components.
fn gates(program: &Program) -> u64 {
    let used = program.components().iter().zip(program.slots_by_component()).filter(|(_, slots)| *slots > 0);
    used.map(|(component, _)| component.circuit.gate_count() as u64).sum()
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

/// The parties compare their stores, agree on the program's items, and burn them.
fn meet(script: &mut Script, program: &Program, epochs: u64) {
    primitives::meet(script, ([GREETING_BYTES as u64], GREETING_BYTES as u64), epochs);
    primitives::agree_to_take(script, "prepare");
    script.exchange([primitives::DIGEST], [primitives::DIGEST]); // that it is burned
    for by in [Garbler, Evaluator] {
        script.work(by, &SCHEDULE, gates(program), 1);
    }
}

fn prepare(script: &mut Script, chunk: &Chunk, from: Ots) {
    script.phase("prepare");
    let ots = (chunk.count() * chunk.layout.evaluator_inputs()) as u64;
    if from == Ots::Made && ots > 0 {
        let blocks = ots.div_ceil(BLOCK) + 1;
        script.work(Evaluator, &EXTEND_RECEIVER, blocks, 1);
        extend(script, Evaluator, ots);
        script.work(Garbler, &EXTEND_SENDER, blocks, 1);
    } else {
        some(script, Evaluator, ots.div_ceil(8));
    }
}

fn evaluate(script: &mut Script, chunk: &Chunk, first: bool) {
    script.phase("evaluate");
    let (layout, program, count) = (chunk.layout, chunk.layout.program, chunk.count() as u64);
    // The message is sent once. Without components, the message is empty, and each chunk sends it again.
    if first || program.components().is_empty() {
        script.message(Garbler, LABEL * program.components().len() as u64);
    }
    some(script, Garbler, LABEL * count * layout.garbler_inputs() as u64);

    let circuits = || program.slots().map(|slot| &program.component(slot.component).circuit);
    let ands = count * program.and_gates();
    let others = count * circuits().map(|circuit| circuit.gate_count() as u64).sum::<u64>() - ands;
    let wires = |circuit: &Arc<brickwork_circuit::Circuit>| circuit.inputs() + circuit.outputs().len();
    let wires = count * circuits().map(|circuit| wires(circuit) as u64).sum::<u64>();
    let visits = chunk.side_by_side().count() as u64 * circuits().count() as u64;
    let kinds = match layout.lanes() {
        1 => [[&GARBLE_AND_ALONE, &GARBLE_XOR_ALONE], [&EVALUATE_AND_ALONE, &EVALUATE_XOR_ALONE]],
        _ => [[&GARBLE_AND, &GARBLE_XOR], [&EVALUATE_AND, &EVALUATE_XOR]],
    };
    let (message, tables) = (TABLES_BYTES as u64, ands * HalfGates::TABLE_BYTES.and as u64);
    let full = tables / message;
    let slices = SLICES.min(full).max(1);
    for k in 0..slices {
        let work = |script: &mut Script, by: Party, [and, other]: [_; 2]| {
            script.work(by, and, share(ands, k, slices), 1);
            script.work(by, other, share(others, k, slices), 1);
            script.work(by, &WIRE, share(wires, k, slices), 1);
            script.work(by, &SLOT, share(visits, k, slices), 1);
        };
        work(script, Garbler, kinds[0]);
        script.messages(Garbler, message, share(full, k, slices));
        if k + 1 == slices {
            some(script, Garbler, tables % message);
        }
        work(script, Evaluator, kinds[1]);
    }
    some(script, Garbler, bits(chunk, Evaluator));
}

/// Buffers for tables at a party: one message in use, and one in the connection.
const TABLES_IN_HAND: u64 = 4 * TABLES_BYTES as u64;

/// Returns the peak memory of the garbler and of the evaluator in bytes.
fn memory(layout: &Layout) -> [u64; 2] {
    let program = layout.program;
    let slots = program.slots().map(|slot| slot.inputs.len() as u64).sum::<u64>();
    // The memory of the program, of the places of its wires, and of the numbers of their reads.
    let program_bytes = gates(program) * GATE_BYTES + (12 + 8) * program.wires() as u64 + 4 * slots;
    let labels = LABEL * (layout.alive() * layout.lanes()) as u64;
    let count = layout.chunks().next().map_or(0, |chunk| chunk.count());
    let inputs = LABEL * (count * (layout.garbler_inputs() + layout.evaluator_inputs())) as u64;
    // The rows of the OT extension, and the resulting labels.
    let ots = 2 * LABEL * (count * layout.evaluator_inputs()) as u64;
    let colours = (count * layout.output_wires().len()) as u64;
    let common = PROCESS_BYTES + program_bytes + labels + inputs + ots + colours + TABLES_IN_HAND;
    // One byte for each input and output bit of all executions.
    [Garbler, Evaluator].map(|party| {
        let bits = program.input_width(party) + layout.places_of_outputs(party).count();
        common + (layout.executions() * bits) as u64
    })
}
