//! Crossing 3: the garbler garbles slot after slot and sends the tables; the evaluator evaluates them.
//! Neither party stores the tables.

use std::ops::Range;

use zeroize::Zeroizing;

use crate::decode::OutputColours;
use crate::layout::Chunk;
use crate::msg;
use crate::setup::{Components, Evaluator, Garbler};
use brickwork_base::bits::{pack, unpack};
use brickwork_base::label::{Delta, Label};
use brickwork_base::{Error, Party};
use brickwork_circuit::Slot;
use brickwork_primitives::Labels;
use brickwork_primitives::garbling::{GarblingKeys, GarblingScheme as _, HalfGates, TableSink, TableSource};
use brickwork_primitives::receive;
use brickwork_wire::Channel;

/// The labels of wires in executions that are processed together, `[place][execution]`.
pub(super) struct WireLabels<'b> {
    chunk: &'b Chunk<'b>,
    lanes: usize,
    labels: Labels,
    inputs: Labels,
    outputs: Labels,
}

impl<'b> WireLabels<'b> {
    /// Returns room for the labels of a chunk.
    pub fn new(chunk: &'b Chunk) -> Self {
        let lanes = chunk.layout.lanes();
        let components = chunk.layout.program.components();
        let most = |count: fn(&brickwork_circuit::Circuit) -> usize| {
            components.iter().map(|component| count(&component.circuit)).max().unwrap_or(0)
        };
        let room = |labels: usize| Labels::zeros(labels * lanes);
        WireLabels {
            chunk,
            lanes,
            labels: room(chunk.layout.alive()),
            inputs: room(most(|circuit| circuit.inputs())),
            outputs: room(most(|circuit| circuit.outputs().len())),
        }
    }

    /// Sets the labels of the inputs of these executions. `garblers` and `evaluators` have the labels of the
    /// whole chunk, `[execution][wire]`.
    fn begin(&mut self, executions: &Range<usize>, garblers: &[Label], evaluators: &[Label]) {
        let layout = self.chunk.layout;
        let widths = [layout.garbler_inputs(), layout.evaluator_inputs()];
        for (lane, execution) in executions.clone().enumerate() {
            let first = |party: usize| execution * widths[party]..(execution + 1) * widths[party];
            let labels = garblers[first(0)].iter().chain(&evaluators[first(1)]);
            for (wire, &label) in labels.enumerate() {
                self.labels[layout.place(wire as u32) * self.lanes + lane] = label;
            }
        }
    }

    /// Gathers the labels of a slot's inputs in `inputs`, `[execution][wire]`. Returns the numbers of input
    /// and output labels.
    pub fn gather(&mut self, slot: &Slot, count: usize) -> [usize; 2] {
        let circuit = &self.chunk.layout.program.component(slot.component).circuit;
        let (inputs, outputs) = (slot.inputs.len(), circuit.outputs().len());
        for (i, &wire) in slot.inputs.iter().enumerate() {
            let from = &self.labels[self.chunk.layout.place(wire) * self.lanes..][..count];
            from.iter().enumerate().for_each(|(lane, &label)| self.inputs[lane * inputs + i] = label);
        }
        [inputs * count, outputs * count]
    }

    /// Writes the labels of a slot's outputs to the places of its wires.
    pub fn scatter(&mut self, slot: &Slot, count: usize) {
        let outputs = self.chunk.layout.program.component(slot.component).circuit.outputs().len();
        for o in 0..outputs {
            let place = self.chunk.layout.place(slot.first_output + o as u32) * self.lanes;
            (0..count).for_each(|lane| self.labels[place + lane] = self.outputs[lane * outputs + o]);
        }
    }

    /// Returns the colours of all outputs' labels, `[execution][wire]`.
    fn colours(&self, count: usize) -> impl Iterator<Item = u8> {
        let outputs = self.chunk.layout.output_wires();
        let of = move |lane: usize| {
            outputs
                .iter()
                .map(move |&wire| self.labels[self.chunk.layout.place(wire) * self.lanes + lane].colour())
        };
        (0..count).flat_map(of)
    }
}

/// Returns the numbers of a component's copies in one slot, one for each execution. No number is used twice
/// for a component. Copies that are processed together share their hash keys.
fn copies(so_far: &mut u32, lanes: usize, count: usize) -> Result<[u32; crate::layout::LANES], Error> {
    let first = so_far.checked_mul(lanes as u32).filter(|&first| first <= u32::MAX - lanes as u32);
    let first = first.ok_or_else(|| {
        Error::Limit("one run can garble a component fewer than 2^32 times; use fewer executions".into())
    })?;
    *so_far += 1;
    let mut numbers = [0; crate::layout::LANES];
    numbers[..count].iter_mut().zip(first..).for_each(|(number, k)| *number = k);
    Ok(numbers)
}

/// Garbles a chunk. `input` has the garbler's bits, `theirs` the false labels of the evaluator's inputs, both
/// `[execution][wire]`. Returns the colours of the false labels of all outputs.
pub(super) fn garbler(
    party: &mut Garbler,
    chunk: &Chunk,
    input: &[bool],
    theirs: Labels,
) -> Result<OutputColours, Error> {
    party.run.phase("evaluate");
    let delta = party.delta();
    let Garbler { run, rng, program: Components { schedules, starts, visits }, .. } = party;
    if starts.is_empty() {
        *starts = schedules.iter().map(|_| rng.block()).collect();
        run.channel.send(msg::KEYS, bytemuck::cast_slice(starts))?;
    }
    let own: Labels = input.iter().map(|_| rng.label()).collect();
    if !own.is_empty() {
        let active: Vec<Label> =
            own.iter().zip(input).map(|(&label, &bit)| label ^ delta.times(u8::from(bit))).collect();
        run.channel.send(msg::INPUT_LABELS, bytemuck::cast_slice(&active))?;
    }
    let layout = chunk.layout;
    let deltas: Zeroizing<Vec<Delta>> = Zeroizing::new(vec![*delta; layout.lanes()]);
    let mut tables = Sent { channel: &mut run.channel, buffer: Vec::with_capacity(msg::TABLES_BYTES) };
    let (mut wires, mut colours) = (WireLabels::new(chunk), Vec::new());
    for executions in chunk.side_by_side() {
        let count = executions.len();
        wires.begin(&executions, &own, &theirs);
        for slot in layout.program.slots() {
            let [inputs, outputs] = wires.gather(&slot, count);
            let component = slot.component.0 as usize;
            let schedule =
                schedules[component].as_ref().expect("each component that a slot uses has a schedule");
            let keys = GarblingKeys::streamed(starts[component], layout.lanes(), schedule.and_gates());
            let copies = copies(&mut visits[component], layout.lanes(), count)?;
            HalfGates::garble(
                schedule,
                &keys,
                &copies[..count],
                &deltas[..count],
                &wires.inputs[..inputs],
                &mut wires.outputs[..outputs],
                &mut tables,
            )?;
            wires.scatter(&slot, count);
        }
        colours.extend(wires.colours(count));
    }
    tables.finish()?;
    let colours = OutputColours(colours);
    let decoding = pack(colours.of(chunk, Party::Evaluator));
    if !decoding.is_empty() {
        run.channel.send(msg::DECODING, &decoding)?;
    }
    Ok(colours)
}

/// Evaluates a chunk. `mine` has the active labels of the evaluator's inputs. Returns the colours of the
/// active labels of all outputs, and of the false labels of the evaluator's outputs.
pub(super) fn evaluator(
    party: &mut Evaluator,
    chunk: &Chunk,
    mine: Labels,
) -> Result<(OutputColours, Vec<u8>), Error> {
    party.run.phase("evaluate");
    let Evaluator { run, program: Components { schedules, starts, visits }, .. } = party;
    if starts.is_empty() {
        *starts = vec![0; schedules.len()];
        run.channel.receive_into(msg::KEYS, bytemuck::cast_slice_mut(starts))?;
    }
    let layout = chunk.layout;
    let count = chunk.count() * layout.garbler_inputs();
    let theirs = Labels::new(match count {
        0 => Vec::new(),
        count => receive::labels(&mut run.channel, msg::INPUT_LABELS, count)?,
    });
    let left = chunk.count() as u64 * layout.program.and_gates() * HalfGates::TABLE_BYTES.and as u64;
    let mut tables = Received {
        channel: &mut run.channel,
        left,
        frame: Vec::new(),
        read: 0,
        section: Vec::new(),
        first: 0,
    };
    let (mut wires, mut colours) = (WireLabels::new(chunk), Vec::new());
    for executions in chunk.side_by_side() {
        let count = executions.len();
        wires.begin(&executions, &theirs, &mine);
        for slot in layout.program.slots() {
            let [inputs, outputs] = wires.gather(&slot, count);
            let component = slot.component.0 as usize;
            let schedule =
                schedules[component].as_ref().expect("each component that a slot uses has a schedule");
            let keys = GarblingKeys::streamed(starts[component], layout.lanes(), schedule.and_gates());
            let copies = copies(&mut visits[component], layout.lanes(), count)?;
            HalfGates::evaluate(
                schedule,
                &keys,
                &copies[..count],
                &wires.inputs[..inputs],
                &mut tables,
                &mut wires.outputs[..outputs],
            )?;
            wires.scatter(&slot, count);
        }
        colours.extend(wires.colours(count));
    }
    let own = chunk.count() * layout.places_of_outputs(Party::Evaluator).count();
    let decoding = match own {
        0 => Vec::new(),
        own => unpack(&run.channel.receive(msg::DECODING, own.div_ceil(8))?, own)?,
    };
    Ok((OutputColours(colours), decoding))
}

struct Sent<'c> {
    channel: &'c mut Channel,
    /// Tables that do not fill a message yet.
    buffer: Vec<u8>,
}

impl Sent<'_> {
    fn finish(mut self) -> Result<(), Error> {
        if self.buffer.is_empty() { Ok(()) } else { self.send() }
    }

    fn send(&mut self) -> Result<(), Error> {
        self.channel.send(msg::TABLES, &self.buffer)?;
        self.buffer.clear();
        Ok(())
    }
}

impl TableSink for Sent<'_> {
    fn tables(&mut self, _: usize, mut bytes: &[u8]) -> Result<(), Error> {
        while !bytes.is_empty() {
            let (here, behind) = bytes.split_at(bytes.len().min(msg::TABLES_BYTES - self.buffer.len()));
            self.buffer.extend_from_slice(here);
            bytes = behind;
            if self.buffer.len() == msg::TABLES_BYTES {
                self.send()?;
            }
        }
        Ok(())
    }
}

/// Takes tables from messages of the garbler.
struct Received<'c> {
    channel: &'c mut Channel,
    /// The number of bytes of the chunk's tables that have not arrived yet.
    left: u64,
    frame: Vec<u8>,
    /// The number of bytes of the current message that are used.
    read: usize,
    /// The tables of the copies that are processed together, copy by copy, and the number of the first copy.
    section: Vec<u8>,
    first: usize,
}

impl TableSource for Received<'_> {
    fn prepare(&mut self, copies: &[usize], bytes: Range<usize>) -> Result<(), Error> {
        self.section.clear();
        self.first = copies[0];
        let mut wanted = copies.len() * bytes.len();
        while wanted > 0 {
            if self.read == self.frame.len() {
                self.frame.resize(self.left.min(msg::TABLES_BYTES as u64) as usize, 0);
                self.channel.receive_into(msg::TABLES, &mut self.frame)?;
                (self.left, self.read) = (self.left - self.frame.len() as u64, 0);
            }
            let here = wanted.min(self.frame.len() - self.read);
            self.section.extend_from_slice(&self.frame[self.read..self.read + here]);
            (self.read, wanted) = (self.read + here, wanted - here);
        }
        Ok(())
    }

    fn tables(&self, copy: usize, bytes: Range<usize>) -> &[u8] {
        &self.section[(copy - self.first) * bytes.len()..][..bytes.len()]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Row 16 of the table of attacks: the numbers of a component's copies run out before a number occurs
    /// twice.
    #[test]
    fn row_16_no_number_of_a_copy_comes_twice() {
        let lanes = crate::layout::LANES;
        let mut so_far = u32::MAX / lanes as u32 - 1;
        assert!(copies(&mut so_far, lanes, lanes).is_ok());
        assert!(matches!(copies(&mut so_far, lanes, lanes), Err(Error::Limit(_))));
    }
}
