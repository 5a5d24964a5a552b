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
    DIGEST, DIMENSION, GATE_BYTES, LABEL, PROVISION_BYTES, Provision, TREES, accept_random, agree_to_take,
    base_ots, meet, random,
};
use brickwork_primitives::ot::Cot;
use brickwork_protocol::{GREETING_BYTES, Promise, SessionProtocol, TABLE_MEMORY};

use crate::components::{Garbled, Received};
use crate::equality::COIN;
use crate::hash::HASH;
use crate::layout::parts;
use crate::layout::{ComponentPart, Layout, Lot, MakingPlan};
use crate::leaky::PADS;
use crate::parameters::{Draw, IN_FLIGHT, SIZES, StatisticalLengths};
use crate::report::{Authenticated, promise};
use crate::role::Role as _;
use crate::shelf::CACHE_BYTES;
use crate::stored::Request;

use work::{BEYOND, EVALUATE, GARBLE, GROWS, LEAKY_AND, MULTIPLY};

/// Predicts the cost of a run of a program between two parties of this machine, and its promise.
///
/// # Errors
/// As [`script`].
pub fn predict(
    program: &Program,
    security: u32,
    cot: Cot,
    machine: &Machine,
    link: &Link,
) -> Result<(Cost, Promise), Error> {
    let layout = Layout::new(program)?;
    let making = MakingPlan::of(&layout, security, cot)?;
    Ok((plan::predict(&steps(&layout, &making), machine, link), promise(&layout, &making)))
}

/// Returns the exact number of bytes, payload and framing, that the garbler and the evaluator send in a run.
///
/// # Errors
/// As [`script`].
pub fn sent_bytes(program: &Program, security: u32, cot: Cot) -> Result<[u64; 2], Error> {
    // All messages go over the main connection, so the script is for one lane.
    Ok(script(program, security, cot)?.sent_bytes(1))
}

/// Returns the steps of a run, as a script.
///
/// # Errors
/// [`Error::Usage`] for a security other than 40, 64 or 80; [`Error::Input`] for a gate that cannot be
/// masked.
pub fn script(program: &Program, security: u32, cot: Cot) -> Result<Script, Error> {
    let layout = Layout::new(program)?;
    Ok(steps(&layout, &MakingPlan::of(&layout, security, cot)?))
}

/// Returns the steps of a run with these lots.
pub(super) fn steps(layout: &Layout, making: &MakingPlan) -> Script {
    let mut script = Script::new(Authenticated::PHASES);
    set_up(&mut script, making.cot);
    script.phase("preprocess");
    let mut provision = Provision::new(making.cot);
    for lot in &making.lots {
        provision.take(&mut script, lot.draws(making.sizes).total());
        preprocess(&mut script, making, lot); // 1 to 7
    }
    online(&mut script, layout); // 7 to 12
    script.memory_bytes = memory(layout, making);
    if making.cot == Cot::Pcg {
        script.memory_bytes = script.memory_bytes.map(|bytes| bytes + PROVISION_BYTES);
    }
    script.disk_bytes = disk(layout, making.level);
    script
}

/// Predicts the cost of a run that takes everything from both parties' stores. The stores share `epochs`
/// unused epochs.
///
/// # Errors
/// As [`script_from_stock`].
pub fn predict_from_stock(
    program: &Program,
    security: u32,
    epochs: u64,
    machine: &Machine,
    link: &Link,
) -> Result<Cost, Error> {
    Ok(plan::predict(&script_from_stock(program, security, epochs)?, machine, link))
}

/// Returns the script of a run that takes everything from stock. After an interrupted run the parties send
/// slightly more about the positions of their logs.
///
/// # Errors
/// [`Error::Limit`] if the program needs more than one request may take, or as [`script`].
pub fn script_from_stock(program: &Program, security: u32, epochs: u64) -> Result<Script, Error> {
    let (layout, level) = (Layout::new(program)?, StatisticalLengths::of(security)?);
    let _ = Request::of_layout(&layout)?;
    let mut script = Script::new(Authenticated::PHASES);
    meet(&mut script, ([GREETING_BYTES as u64], GREETING_BYTES as u64), epochs);
    agree_to_take(&mut script, "build");
    script.exchange([DIGEST], [DIGEST]); // heads of the logs after the burn
    online(&mut script, &layout); // 7 to 12
    let making = MakingPlan { level, cot: Cot::default(), sizes: SIZES, lots: Vec::new(), openings: 0 };
    script.memory_bytes = memory(&layout, &making);
    script.disk_bytes = disk(&layout, level);
    Ok(script)
}

/// Adds the online phase to the script: the steps after the inputs are known.
fn online(script: &mut Script, layout: &Layout) {
    let inputs = [Garbler, Evaluator].map(|party| layout.inputs(party) as u64);
    script.phase("build");
    script.message(Garbler, LABEL * layout.ports as u64 + HASH as u64); // 7
    opened(script, Garbler, inputs[1]);
    opened(script, Evaluator, inputs[0]); // 8
    evaluate(script, layout, inputs); // 8 to 11
    script.phase("decode");
    opened(script, Garbler, layout.outputs(Evaluator).count() as u64); // 11
    opened(script, Evaluator, layout.outputs(Garbler).count() as u64); // 12
    for ((name, work), grows) in Authenticated::PHASES.iter().zip(&BEYOND).zip(GROWS) {
        script.phase(name);
        script.beyond(work, if grows { layout.ands as u64 } else { 1 });
    }
}

/// Adds the messages that open this many masks: their bits, and a hash of the MACs.
fn opened(script: &mut Script, from: Party, count: u64) {
    for some in parts(count as usize) {
        script.message(from, (some.div_ceil(8) + HASH) as u64);
    }
}

fn set_up(script: &mut Script, cot: Cot) {
    script.phase("setup");
    let work = |script: &mut Script, work| {
        [Garbler, Evaluator].map(|by| script.work(by, work, DIMENSION, DIMENSION))
    };
    work(script, &CHOOSE);
    let first = [GREETING_BYTES as u64, base_ots(DIMENSION)];
    script.exchange(first, first);
    work(script, &OFFER);
    work(script, &CHOSEN);
    if cot.has_trees() {
        script.exchange([TREES], [TREES]);
    }
}

fn preprocess(script: &mut Script, making: &MakingPlan, lot: &Lot) {
    let draws = lot.draws(making.sizes);
    let portions: Vec<Draw> = draws.all().collect();
    let at = |k: usize| portions.get(k).filter(|_| draws.leaky > 0).map(|draw| draw.leaky as u64);
    let both = [Garbler, Evaluator];
    let ahead = draws.ahead(making.cot, making.level);
    // The numbers of messages that carry the choices of each portion.
    let mut choices = Vec::new();
    for step in 0..portions.len() + 2 * ahead {
        for k in if step == 0 { 0..ahead + 1 } else { step + ahead..step + ahead + 1 } {
            if let Some(draw) = portions.get(k) {
                let count = draw.total() as u64;
                choices.push(both.map(|by| script.post(|script| random(script, making.cot, by, count)))[0]);
            }
        }
        for by in both {
            if let Some(draw) = portions.get(step) {
                if choices[step] > 0 {
                    script.read(by, choices[step]);
                }
                accept_random(script, making.cot, by, draw.total() as u64);
            }
            if let Some(count) = at(step) {
                script.work(by, &LEAKY_AND, count, 1);
                let payload = PADS as u64 + making.level.compared_bytes() as u64 * count;
                script.post(|script| script.message(by, payload));
            }
        }
        for by in both {
            if let Some(count) = step.checked_sub(ahead).and_then(at) {
                script.read(by, 1);
                script.post(|script| script.message(by, count.div_ceil(8)));
            }
        }
        for by in both {
            if step.checked_sub(2 * ahead).and_then(at).is_some() {
                script.read(by, 1);
            }
        }
    }
    if draws.leaky > 0 {
        script.message(Evaluator, LABEL + HASH as u64);
        script.message(Garbler, (HASH + COIN) as u64);
        script.message(Evaluator, (HASH + COIN) as u64);
    }
    open_and_garble(script, lot);
}

/// Adds the steps for the parts of a lot. The evaluator opens the masks of all parts before it receives
/// tables.
fn open_and_garble(script: &mut Script, Lot { parts, pool, .. }: &Lot) {
    let opened = |part: &ComponentPart| {
        let differences = pool.bucket.saturating_sub(1) + 2;
        ((part.ands.len() * differences).div_ceil(8) + HASH) as u64
    };
    parts.iter().for_each(|part| script.message(Evaluator, opened(part)));
    for part in parts {
        let ands = part.ands.len() as u64;
        [Garbler, Evaluator].into_iter().for_each(|by| script.work(by, &MULTIPLY, ands, 1));
        script.work(Garbler, &GARBLE, ands, 1);
        let garblers = [opened(part), LABEL * (1 + 2 * ands), ands.div_ceil(8)];
        garblers.into_iter().for_each(|payload| script.message(Garbler, payload));
    }
}

fn evaluate(script: &mut Script, layout: &Layout, inputs: [u64; 2]) {
    script.phase("evaluate");
    script.message(Evaluator, inputs[1].div_ceil(8)); // 8
    script.message(Garbler, LABEL * (inputs[0] + inputs[1])); // 9
    script.work(Evaluator, &EVALUATE, layout.ands as u64, 1);
    script.message(Evaluator, ((layout.ports + layout.ands) as u64).div_ceil(8) + HASH as u64); // 10
    script.message(Garbler, HASH as u64); // 11
}

/// Estimates the peak memory of the garbler and of the evaluator, in bytes, while components are made and
/// while the program runs. Data that waits for its program, and data about the program's wires, goes to files
/// if it is larger than [`TABLE_MEMORY`].
fn memory(layout: &Layout, making: &MakingPlan) -> [u64; 2] {
    const SHARE: u64 = 2 * LABEL;
    let program = layout.program;
    let circuits = program.components().iter().map(|c| c.circuit.wires() as u64 * GATE_BYTES).sum::<u64>();
    let (wires, ports, ands) = (program.wires() as u64, layout.ports as u64, layout.ands as u64);
    let kept = |bytes: u64, in_file: u64| if bytes > TABLE_MEMORY { in_file } else { bytes };
    let lot = |lot: &Lot| {
        let draws = lot.draws(making.sizes);
        let portion = draws.all().map(|draw| draw.total()).max().unwrap_or(0) as u64;
        let part = lot.parts.iter().map(|part| part.ands.len()).max().unwrap_or(0) as u64;
        // The memory of all masks, of the sums of portions in progress, and of a part between the openings of
        // both parties.
        SHARE * (3 * draws.leaky + draws.masks) as u64
            + SHARE * portion
            + LABEL * 2 * (draws.ahead(making.cot, making.level) * draws.portion.min(draws.leaky)) as u64
            + part * (14 + 2 * lot.pool.bucket as u64) * SHARE
    };
    let lot = making.lots.iter().map(lot).max().unwrap_or(0);
    // The memory of the masked values: each takes one byte, and one bit in the report.
    let values = wires + (ports + ands) * 9 / 8;
    let of_wires = [0, ports].map(|ports| kept(LABEL * (3 * wires + ports), 3 * CACHE_BYTES as u64));
    let slots = 20 * program.slot_count() as u64 + 4 * ports;
    // The connection reads ahead while both parties send data of leaky ANDs.
    let of_all = PROCESS_BYTES + circuits + slots + IN_FLIGHT as u64;
    let waiting = waiting(layout, making.level);
    // The system does not get back all freed memory of a lot.
    let evaluates = |party: usize| values + of_wires[party] + lot / 8;
    [0, 1].map(|party| of_all + kept(waiting[party], 0) + (lot * 17 / 16).max(evaluates(party)))
}

/// Returns the bytes of the temporary files of the garbler and of the evaluator.
fn disk(layout: &Layout, level: StatisticalLengths) -> [u64; 2] {
    let (wires, ports) = (layout.program.wires() as u64, layout.ports as u64);
    let (waiting, solderings) = (waiting(layout, level), [0, ports]);
    [0, 1].map(|party| {
        let lists = [waiting[party], LABEL * (3 * wires + solderings[party])];
        lists.into_iter().filter(|&bytes| bytes > TABLE_MEMORY).sum()
    })
}

/// Returns the bytes that wait for the program at the garbler and at the evaluator.
fn waiting(layout: &Layout, level: StatisticalLengths) -> [u64; 2] {
    let (c, inputs) = (level.tag, layout.all_inputs());
    [Garbled::waiting(c, layout.counted(), inputs), Received::waiting(c, layout.counted(), inputs)]
}
