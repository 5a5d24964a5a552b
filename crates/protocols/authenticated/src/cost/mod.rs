//! What a run costs beforehand: the protocol as a list of steps, in an order in which both parties go through
//! it. Bytes and crossings are exact, the rest are estimates.

mod measure;
pub mod work;

use brickwork_base::Error;
use brickwork_base::Party::{self, Evaluator, Garbler};
use brickwork_circuit::Program;
use brickwork_plan::{self as plan, Cost, Link, Machine, PROCESS_BYTES, Script};
use brickwork_primitives::cost::work::*;
use brickwork_primitives::cost::{BLOCK, DIMENSION, GATE_BYTES, LABEL, TREES, base_ots, draw};
use brickwork_session::{GREETING_BYTES, Protocol};

use crate::hash::HASH;
use crate::layout::{Batch, Layout};
use crate::parameters;
use crate::report::{Authenticated, SecurityReport};
use crate::triples::{COIN, PADS};

use work::{BEYOND, EVALUATE, GARBLE, GROWS, LEAKY_AND};

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
    let layout = Layout::new(program, security)?;
    Ok((plan::predict(&steps(&layout), machine, link), SecurityReport::of(&layout)))
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
/// [`Error::Usage`] for a security that is not offered, [`Error::Input`] for a gate that cannot be masked.
pub fn script(program: &Program, security: u32) -> Result<Script, Error> {
    Ok(steps(&Layout::new(program, security)?))
}

fn steps(layout: &Layout) -> Script {
    let mut script = Script::new(Authenticated::PHASES);
    set_up(&mut script);
    script.phase("preprocess");
    for number in 0..layout.batches.len() {
        preprocess(&mut script, layout, number); // 1 to 8
    }
    let inputs = [Garbler, Evaluator].map(|party| layout.inputs(party) as u64);
    script.phase("build");
    script.message(Garbler, LABEL * layout.ports() as u64 + HASH as u64); // 8
    opened(&mut script, Garbler, inputs[1]);
    opened(&mut script, Evaluator, inputs[0]); // 9
    evaluate(&mut script, layout, inputs); // 9 to 12
    script.phase("decode");
    opened(&mut script, Garbler, layout.outputs(Evaluator).count() as u64); // 12
    opened(&mut script, Evaluator, layout.outputs(Garbler).count() as u64); // 13
    for ((name, work), grows) in Authenticated::PHASES.iter().zip(&BEYOND).zip(GROWS) {
        script.phase(name);
        script.beyond(work, if grows { layout.ands() as u64 } else { 1 });
    }
    script.memory_bytes = memory(layout);
    script
}

/// So many bits, and a hash of their macs.
fn opened(script: &mut Script, from: Party, count: u64) {
    script.message(from, count.div_ceil(8) + HASH as u64);
}

fn set_up(script: &mut Script) {
    script.phase("setup");
    let work = |script: &mut Script, work| {
        [Garbler, Evaluator].map(|by| script.work(by, work, DIMENSION, DIMENSION))
    };
    work(script, &CHOOSE);
    let first = [GREETING_BYTES as u64, base_ots(DIMENSION)];
    script.exchange(first, first);
    work(script, &OFFER);
    work(script, &CHOSEN);
    script.exchange([TREES], [TREES]);
}

fn preprocess(script: &mut Script, layout: &Layout, number: usize) {
    let Batch { pool, ands, groups, .. } = &layout.batches[number];
    let mut pieces = pool.pieces(layout.sizes);
    for count in pool.draws(layout.sizes, layout.masks(number)) {
        let count = count as u64;
        for (receiver, sender) in [(Evaluator, Garbler), (Garbler, Evaluator)] {
            let blocks = count.div_ceil(BLOCK) + 1;
            script.work(receiver, &DRAW_RECEIVER, blocks, 1);
            draw::<{ parameters::BLOCK as u64 }>(script, receiver, count);
            script.work(sender, &DRAW_SENDER, blocks, 1);
        }
        if let Some(piece) = pieces.next() {
            multiply(script, layout, piece as u64);
        }
    }
    if *ands > 0 {
        script.message(Evaluator, LABEL + HASH as u64);
        script.message(Garbler, (HASH + COIN) as u64);
        script.message(Evaluator, (HASH + COIN) as u64);
    }
    // The evaluator is a group ahead.
    let opened = |ands: usize| ((ands * (pool.bucket + 1)).div_ceil(8) + HASH) as u64;
    let mut ahead = groups.iter().map(|group| opened(group.ands.len()));
    ahead.next().into_iter().for_each(|first| script.message(Evaluator, first));
    for group in groups {
        let ands = group.ands.len();
        script.work(Garbler, &GARBLE, ands as u64, 1);
        let garblers = [opened(ands), LABEL * (1 + 2 * ands as u64), ands.div_ceil(8) as u64];
        match ahead.next() {
            Some(next) => script.exchange(garblers, [next]),
            None => garblers.into_iter().for_each(|payload| script.message(Garbler, payload)),
        }
    }
}

/// Leaky ANDs of a piece.
fn multiply(script: &mut Script, layout: &Layout, count: u64) {
    let bytes = PADS as u64 + layout.level.compared_bytes() as u64 * count;
    script.message(Garbler, bytes);
    script.work(Evaluator, &LEAKY_AND, count, 1);
    script.message(Evaluator, bytes);
    script.message(Evaluator, count.div_ceil(8));
    script.work(Garbler, &LEAKY_AND, count, 1);
    script.message(Garbler, count.div_ceil(8));
}

fn evaluate(script: &mut Script, layout: &Layout, inputs: [u64; 2]) {
    script.phase("evaluate");
    script.message(Evaluator, inputs[1].div_ceil(8)); // 9
    script.message(Garbler, LABEL * (inputs[0] + inputs[1])); // 10
    script.work(Evaluator, &EVALUATE, layout.ands() as u64, 1);
    script.message(Evaluator, ((layout.ports() + layout.ands()) as u64).div_ceil(8) + HASH as u64); // 11
    script.message(Garbler, HASH as u64); // 12
}

/// Peak memory of the garbler and of the evaluator in bytes.
fn memory(layout: &Layout) -> [u64; 2] {
    const SHARE: u64 = 2 * LABEL;
    let program = layout.program;
    let circuits = program.components().iter().map(|c| c.circuit.wires() as u64 * GATE_BYTES).sum::<u64>();
    let wires = program.wires() as u64;
    let (ports, ands) = (layout.ports() as u64, layout.ands() as u64);
    let slot = program.slots().map(|slot| program.component(slot.component).circuit.wires()).max();
    // All layers of a batch, its gates' masks and what is opened, and a piece while it is made.
    let batch = layout.batches.iter().map(|batch| {
        let piece = batch.pool.pieces(layout.sizes).next().unwrap_or(0) as u64;
        let gates = batch.groups.iter().map(|group| group.ands.len()).max().unwrap_or(0) as u64;
        3 * SHARE * batch.pool.leaky_ands() as u64
            + (batch.ports + batch.ands) as u64 * 2 * SHARE
            + gates * (10 + 2 * batch.pool.bucket as u64) * SHARE
            + piece * (9 * SHARE)
    });
    let of_all = PROCESS_BYTES + circuits + SHARE * (wires + ports + slot.unwrap_or(0) as u64);
    let of_all = of_all + batch.max().unwrap_or(0);
    let (tag, labels) = (layout.level.tag as u64, LABEL * (wires + ports));
    [of_all + labels + 4 * tag * ands, of_all + labels + (3 * LABEL + 3 * tag + 2 * tag) * ands]
}
