//! Crossing 2, before the inputs are known: OTs with random choices, and the garbled components with their
//! tables. With `standard` nothing here depends on how components will be linked. With `naive` only the OTs
//! are made here.

use zeroize::Zeroizing;

use crate::layout::{LANES, Layout};
use crate::linking::{Linking, block};
use crate::msg;
use crate::setup::{Evaluator, Garbler};
use brickwork_base::Error;
use brickwork_base::label::{Delta, Label};
use brickwork_base::random::Rng;
use brickwork_base::stop::{look, looking};
use brickwork_circuit::Circuit;
use brickwork_kernels::SecretBlocks;
use brickwork_primitives::Labels;
use brickwork_primitives::garbling::{Collect, GarblingKeys, GarblingScheme as _, HalfGates, Schedule};
use brickwork_primitives::ot::{CotReceiver as _, CotSender as _};
use brickwork_primitives::receive;

/// The garbler's results: false labels.
pub(super) struct Garbled {
    /// The label for choice 0 of each OT.
    pub ots: Labels,
    /// The labels of the program's wires. The labels of the evaluator's inputs are here only with `scmc`: the
    /// labels from OTs are corrected to these.
    pub wires: Labels,
    /// The labels of the inputs of all slots. Empty with `naive`, where slot inputs have the labels of the
    /// wires.
    pub inputs: Labels,
}

/// The evaluator's results.
pub(super) struct Received {
    /// The choice of each OT, and the label that the evaluator got.
    pub choices: SecretBlocks<u8>,
    pub ots: Labels,
    /// For each slot the copy that it uses, and the tables of all slots.
    pub copies: Vec<Copy>,
    pub tables: Vec<u8>,
    /// With `scmc`, a correction for each output wire of each slot.
    pub corrections: Vec<Label>,
}

/// A garbled copy of a component: it determines the hash keys of its gates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Copy {
    /// The start of the hash keys, common to copies that were made together.
    pub start: u128,
    /// The number of the copy among the copies with the same start.
    pub number: u32,
}

pub(super) fn garbler(party: &mut Garbler, layout: &Layout) -> Result<Garbled, Error> {
    party.run.phase("preprocess");
    let ots = match layout.evaluator_inputs() {
        0 => Labels::default(),
        count => party.cot.random(&mut party.run.channel, count)?,
    };
    let mut wires = Labels::zeros(layout.program.wires());
    draw_known(&mut party.rng, layout, &mut wires);
    let mut inputs = Labels::default();
    if layout.linking != Linking::Naive {
        inputs = Labels::zeros(layout.slot_inputs());
        for link in looking(&layout.links) {
            // A free link leads from a wire whose label is drawn already; any other link gets a random label.
            let shift = if link.free { Label::ZERO } else { party.rng.label() };
            for k in 0..link.wires {
                inputs[link.to + k] = wires[link.from as usize + k] ^ shift;
            }
        }
        let corrections = garble(party, layout, &mut wires, &inputs)?;
        if !corrections.is_empty() {
            party.run.channel.send(msg::CORRECTIONS, bytemuck::cast_slice(&corrections))?;
        }
        // The online phase may begin much later, and the garbler waits for no answer here, so it flushes the
        // channel.
        party.run.channel.flush()?;
    }
    Ok(Garbled { ots, wires, inputs })
}

/// Draws the false labels of the wires that are known before garbling: the garbler's inputs, and with `scmc`
/// all linked values, each with its own base and T.
fn draw_known(rng: &mut Rng, layout: &Layout, wires: &mut [Label]) {
    if layout.values.is_empty() {
        wires[..layout.garbler_inputs()].iter_mut().for_each(|label| *label = rng.label());
    }
    for value in looking(&layout.values) {
        let (base, t) = (rng.label(), Zeroizing::new(rng.seed()));
        wires[value.clone()].copy_from_slice(&block(base, &t, value.len()));
    }
}

/// Garbles all slots and sends their keys and tables. `inputs` are the false labels of the inputs of all
/// slots; it is empty with `naive`, where they are the labels of the wires. The labels of output wires go to
/// `wires`. With `scmc` the wires keep the labels that were drawn, and the corrections between both are
/// returned.
pub(super) fn garble(
    party: &mut Garbler,
    layout: &Layout,
    wires: &mut Labels,
    inputs: &[Label],
) -> Result<Vec<Label>, Error> {
    if layout.order.is_empty() {
        return Ok(Vec::new());
    }
    let delta = party.delta();
    let Garbler { run, rng, program: schedules, .. } = party;
    let starts: Vec<u128> = schedules.iter().map(|_| rng.block()).collect();
    run.channel.send(msg::KEYS, bytemuck::cast_slice(&starts))?;
    let first = layout.driven_wires().start;
    let mut corrections = match layout.linking {
        Linking::Scmc => bytemuck::zeroed_vec(layout.driven_wires().len()),
        _ => Vec::new(),
    };
    let mut tables = run.channel.message(msg::TABLES);
    let most = |width: fn(&Circuit) -> usize| {
        let widths = layout.program.components().iter().map(|component| width(&component.circuit));
        Labels::with_capacity(LANES * widths.max().unwrap_or(0))
    };
    let (mut given, mut made) = (most(|c| c.inputs()), most(|c| c.outputs().len()));
    for slots in layout.side_by_side() {
        look();
        let (id, component) = layout.component(slots[0]);
        let schedule = schedules[id].as_ref().expect("each component that a slot uses has a schedule");
        given.clear();
        for &slot in slots {
            match inputs.is_empty() {
                true => given.extend(layout.program.slot(slot).inputs.iter().map(|&w| wires[w as usize])),
                false => given.extend(&inputs[layout.first_inputs[slot]..layout.first_inputs[slot + 1]]),
            }
        }
        let width = component.circuit.outputs().len();
        made.resize(width * slots.len(), Label::ZERO);
        let copies: Vec<u32> = slots.iter().map(|&slot| layout.copies[slot]).collect();
        let made_tables = side_by_side(schedule, starts[id], &copies, &delta, &given, &mut made)?;
        made_tables.iter().try_for_each(|bytes| tables.push(bytes))?;
        for (&slot, made) in slots.iter().zip(made.chunks_exact(width.max(1))) {
            for (wire, &label) in layout.slot_outputs(slot).zip(made) {
                match layout.linking {
                    Linking::Scmc => corrections[wire - first] = label ^ wires[wire],
                    _ => wires[wire] = label,
                }
            }
        }
    }
    tables.finish()?;
    Ok(corrections)
}

/// Garbles at most [`LANES`] copies of a component side by side. `given` has the false labels of their
/// inputs, `[copy][wire]`; `made` gets the false labels of their outputs. Returns the tables, copy after
/// copy.
pub(super) fn side_by_side(
    schedule: &Schedule,
    start: u128,
    copies: &[u32],
    delta: &Delta,
    given: &[Label],
    made: &mut [Label],
) -> Result<Vec<Vec<u8>>, Error> {
    let keys = keys(start, schedule.and_gates());
    let deltas: Zeroizing<Vec<Delta>> = Zeroizing::new(vec![*delta; copies.len()]);
    let mut sink = Collect::new(copies.len(), HalfGates::table_bytes(schedule));
    HalfGates::garble(schedule, &keys, copies, &deltas, given, made, &mut sink)?;
    Ok(sink.finish())
}

/// Makes the hash keys of a component. They do not depend on how copies are grouped for garbling.
pub(super) fn keys(start: u128, and_gates: usize) -> GarblingKeys {
    GarblingKeys::streamed(start, LANES, and_gates)
}

pub(super) fn evaluator(party: &mut Evaluator, layout: &Layout) -> Result<Received, Error> {
    party.run.phase("preprocess");
    let (choices, ots) = match layout.evaluator_inputs() {
        0 => Default::default(),
        count => party.cot.random(&mut party.run.channel, &mut party.rng, count)?,
    };
    let mut received =
        Received { choices, ots, copies: Vec::new(), tables: Vec::new(), corrections: Vec::new() };
    if layout.linking != Linking::Naive {
        received.receive(party, layout)?;
    }
    if layout.linking == Linking::Scmc && !layout.order.is_empty() {
        let count = layout.driven_wires().len();
        received.corrections = receive::labels(&mut party.run.channel, msg::CORRECTIONS, count)?;
    }
    party.run.channel.flush()?;
    Ok(received)
}

impl Received {
    /// Receives keys and tables.
    pub fn receive(&mut self, party: &mut Evaluator, layout: &Layout) -> Result<(), Error> {
        if layout.order.is_empty() {
            return Ok(());
        }
        let mut starts = vec![0u128; party.program.len()];
        party.run.channel.receive_into(msg::KEYS, bytemuck::cast_slice_mut(&mut starts))?;
        let copies = layout.copies.iter().enumerate();
        let copies = copies.map(|(slot, &number)| Copy { start: starts[layout.component(slot).0], number });
        self.copies = copies.collect();
        self.tables = party.run.channel.receive(msg::TABLES, layout.table_bytes())?;
        Ok(())
    }
}
