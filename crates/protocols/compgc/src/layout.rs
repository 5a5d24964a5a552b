//! The order in which slots are garbled, and the links between wires and slot inputs. Both depend only on
//! public values.

use std::ops::Range;

use crate::linking::Linking;
use brickwork_base::stop::looking;
use brickwork_base::{Error, Party};
use brickwork_circuit::{Component, Port, Program, Recipient, Slot, Wire};
use brickwork_primitives::garbling::{GarblingScheme as _, HalfGates};

/// The largest number of copies of a component that are garbled side by side: the lanes of the kernels.
pub(super) const LANES: usize = 16;

/// A run of consecutive wires of the program that lead to consecutive inputs of a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct WireRun {
    pub from: Wire,
    /// The index of the first input among the inputs of all slots.
    pub to: usize,
    pub wires: usize,
    /// True if the inputs take over the labels of the wires. Such a link needs no label.
    pub free: bool,
}

/// The order of a program's slots, its links and outputs, for one way of linking.
pub(super) struct Layout<'p> {
    pub program: &'p Program,
    pub linking: Linking,
    /// The slots in the order in which they are garbled and their tables are sent.
    pub order: Vec<usize>,
    /// For each slot its number among the copies of its component.
    pub copies: Vec<u32>,
    /// For each slot the range of its tables among the tables of all slots.
    pub tables: Vec<Range<usize>>,
    /// For each slot the index of its first input among the inputs of all slots; the last entry is the total.
    pub first_inputs: Vec<usize>,
    /// The links of all slots, in the order of the slots; none with `naive`.
    pub links: Vec<WireRun>,
    /// For each slot its first link; the last entry is the total.
    first_links: Vec<usize>,
    /// With `scmc`, the linked values: each is an input port of the program or an output port of a slot,
    /// given by its wires.
    pub values: Vec<Range<usize>>,
    /// The wires of all outputs, in the order of the ports, with the parties that learn them.
    outputs: Vec<(Wire, Recipient)>,
}

impl<'p> Layout<'p> {
    /// Lays out a program.
    ///
    /// # Errors
    /// [`Error::Limit`] if the tables are too large for this machine's addresses.
    pub fn new(program: &'p Program, linking: Linking) -> Result<Self, Error> {
        let mut numbers = vec![0; program.components().len()];
        let mut first_inputs = Vec::with_capacity(program.slot_count() + 1);
        first_inputs.push(0);
        let copies = looking(program.slots()).map(|slot| {
            first_inputs.push(first_inputs[first_inputs.len() - 1] + slot.inputs.len());
            let number = &mut numbers[slot.component.0 as usize];
            *number += 1;
            *number - 1
        });
        let copies: Vec<u32> = copies.collect();
        let mut order: Vec<usize> = looking(0..program.slot_count()).collect();
        if linking != Linking::Naive {
            // Copies are made before their slots are known, so the copies of one component must follow each
            // other.
            order.sort_by_key(|&slot| program.slot(slot).component);
        }
        let (mut tables, mut bytes) = (vec![0..0; order.len()], 0_usize);
        for &slot in looking(&order) {
            let gates = program.component(program.slot(slot).component).circuit.and_gates();
            let own = gates.checked_mul(HalfGates::TABLE_BYTES.and);
            let end = own.and_then(|own| own.checked_add(bytes)).ok_or_else(|| {
                Error::Limit(
                    "the tables of this program are too large for this machine; split the program into parts"
                        .into(),
                )
            })?;
            tables[slot] = bytes..end;
            bytes = end;
        }
        let values = if linking == Linking::Scmc { values(program) } else { Vec::new() };
        let mut layout = Layout {
            program,
            linking,
            order,
            copies,
            tables,
            first_inputs,
            links: Vec::new(),
            first_links: vec![0; program.slot_count() + 1],
            values,
            outputs: program.outputs().iter().flat_map(|o| o.wires.iter().map(|&w| (w, o.to))).collect(),
        };
        if linking != Linking::Naive {
            layout.link();
        }
        Ok(layout)
    }

    fn link(&mut self) {
        // For each wire the first wire of the same linked value. Without linked values this is the wire
        // itself.
        let mut value: Vec<Wire> = looking(0..self.program.wires() as Wire).collect();
        for wires in looking(&self.values) {
            value[wires.clone()].fill(wires.start as Wire);
        }
        let [garblers, all] = [self.garbler_inputs(), self.garbler_inputs() + self.evaluator_inputs()];
        // True for an input wire whose label is known before the online phase, as long as no link takes the
        // label over.
        let mut fresh = vec![false; self.program.wires()];
        fresh[..if self.linking == Linking::Scmc { all } else { garblers }].fill(true);
        let (program, value) = (self.program, &value);
        let runs = |slot: Slot<'p>| {
            let of_port = move |port: Range<usize>| {
                slot.inputs[port].chunk_by(|&a, &b| a + 1 == b && value[a as usize] == value[b as usize])
            };
            ranges(0, &program.component(slot.component).inputs).flat_map(of_port)
        };
        // The capacity is exact, because a growing list would copy its many links again and again.
        self.links = Vec::with_capacity(looking(program.slots()).map(|slot| runs(slot).count()).sum());
        for (k, slot) in looking(program.slots().enumerate()) {
            let mut to = self.first_inputs[k];
            for run in runs(slot) {
                let free = std::mem::take(&mut fresh[value[run[0] as usize] as usize]);
                self.links.push(WireRun { from: run[0], to, wires: run.len(), free });
                to += run.len();
            }
            self.first_links[k + 1] = self.links.len();
        }
    }

    pub fn garbler_inputs(&self) -> usize {
        self.program.input_width(Party::Garbler)
    }

    pub fn evaluator_inputs(&self) -> usize {
        self.program.input_width(Party::Evaluator)
    }
    pub fn evaluator_wires(&self) -> Range<usize> {
        self.garbler_inputs()..self.garbler_inputs() + self.evaluator_inputs()
    }

    /// Returns the wires that slots drive.
    pub fn driven_wires(&self) -> Range<usize> {
        self.garbler_inputs() + self.evaluator_inputs()..self.program.wires()
    }
    pub fn table_bytes(&self) -> usize {
        self.tables.iter().map(ExactSizeIterator::len).sum()
    }

    pub fn slot_inputs(&self) -> usize {
        self.first_inputs[self.program.slot_count()]
    }

    /// Returns the number and the component of a slot.
    pub fn component(&self, slot: usize) -> (usize, &'p Component) {
        let id = self.program.slot(slot).component;
        (id.0 as usize, self.program.component(id))
    }

    /// Returns the wires that a slot drives.
    pub fn slot_outputs(&self, slot: usize) -> Range<usize> {
        let first = self.program.slot(slot).first_output as usize;
        first..first + self.component(slot).1.circuit.outputs().len()
    }
    pub fn links_of(&self, slot: usize) -> &[WireRun] {
        &self.links[self.first_links[slot]..self.first_links[slot + 1]]
    }

    /// Counts the links that need a label.
    pub fn labels_of_links(&self) -> usize {
        self.links.iter().filter(|link| !link.free).count()
    }

    /// Returns groups of slots that are garbled side by side: neighbours in the order, all of one component.
    pub fn side_by_side(&self) -> impl Iterator<Item = &[usize]> {
        let most = if self.linking == Linking::Naive { 1 } else { LANES };
        let same = self.order.chunk_by(|&a, &b| self.component(a).0 == self.component(b).0);
        same.flat_map(move |slots| slots.chunks(most))
    }

    /// Returns the wires of the outputs that a party learns, in the order of the ports.
    pub fn outputs(&self, party: Party) -> impl Iterator<Item = Wire> {
        self.outputs.iter().filter(move |(_, to)| to.includes(party)).map(|&(wire, _)| wire)
    }

    /// Checks the length of a party's input.
    ///
    /// # Errors
    /// [`Error::Input`] if the length is wrong.
    pub fn takes(&self, party: Party, input: &[bool]) -> Result<(), Error> {
        match self.program.input_width(party) {
            width if width == input.len() => Ok(()),
            width => Err(Error::Input(format!("the program takes {width} input bits, not {}", input.len()))),
        }
    }
}

/// Returns the range of bits of each port; the first port begins at `first`.
fn ranges(first: usize, ports: &[Port]) -> impl Iterator<Item = Range<usize>> {
    ports.iter().scan(first, |next, port| {
        let start = *next;
        *next += port.width() as usize;
        Some(start..*next)
    })
}

/// The linked values of a program: its input ports, and the output ports of its slots.
fn values(program: &Program) -> Vec<Range<usize>> {
    let [garblers, evaluators] =
        [Party::Garbler, Party::Evaluator].map(|party| ranges(0, program.input_ports(party)));
    let shift = program.input_width(Party::Garbler);
    let inputs = garblers.chain(evaluators.map(|wires| wires.start + shift..wires.end + shift));
    let outputs = program
        .slots()
        .flat_map(|slot| ranges(slot.first_output as usize, &program.component(slot.component).outputs));
    looking(inputs.chain(outputs)).collect()
}
