//! The order in which slots are garbled, and the labels that link them. It depends only on public values.

use std::ops::Range;

use crate::linking::Linking;
use brickwork_base::stop::looking;
use brickwork_base::{Error, Party};
use brickwork_circuit::{Component, Port, Program, Recipient, Slot, Wire};
use brickwork_primitives::garbling::{HalfGates, Scheme as _};

/// Copies of a component that go through it side by side, at most: the kernels' lanes.
pub(super) const LANES: usize = 16;

/// Wires in a row of a program that lead to as many inputs of a slot, in a row as well.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Link {
    /// The first wire.
    pub from: Wire,
    /// The place of the first input among those of all slots.
    pub to: usize,
    /// How many.
    pub wires: usize,
    /// Says that the inputs have the labels of the wires, so that nothing is sent.
    pub free: bool,
}

/// A program under a linking.
pub(super) struct Layout<'p> {
    pub program: &'p Program,
    pub linking: Linking,
    /// The slots in the order in which they are garbled, and their tables sent.
    pub order: Vec<usize>,
    /// For each slot its number among the copies of its component.
    pub copies: Vec<u32>,
    /// For each slot the range of its tables among all of them.
    pub tables: Vec<Range<usize>>,
    /// For each slot the index of its first input among those of all slots; the last entry is the total.
    pub first_inputs: Vec<usize>,
    /// The links, slot after slot; none with `naive`.
    pub links: Vec<Link>,
    /// For each slot its first link; the last entry is the total.
    first_links: Vec<usize>,
    /// The linked values with `scmc`: wires of one port each, that of an input or an output of a slot.
    pub values: Vec<Range<usize>>,
    /// The wires of all outputs, port after port, with the parties that learn them.
    outputs: Vec<(Wire, Recipient)>,
}

impl<'p> Layout<'p> {
    /// Lays out a program.
    ///
    /// # Errors
    /// [`Error::Limit`] if its tables cannot be addressed here.
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
            // Copies are made without regard to where they will sit.
            order.sort_by_key(|&slot| program.slot(slot).component);
        }
        let (mut tables, mut bytes) = (vec![0..0; order.len()], 0_usize);
        for &slot in looking(&order) {
            let gates = program.component(program.slot(slot).component).circuit.and_gates();
            let own = gates.checked_mul(HalfGates::TABLE_BYTES.and);
            let end = own.and_then(|own| own.checked_add(bytes)).ok_or_else(|| {
                Error::Limit("the tables of this program do not fit this machine; cut it in parts".into())
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

    /// Cuts the inputs of every slot into links.
    fn link(&mut self) {
        // For each wire the first one with the same value; by default a wire is its own.
        let mut value: Vec<Wire> = looking(0..self.program.wires() as Wire).collect();
        for wires in looking(&self.values) {
            value[wires.clone()].fill(wires.start as Wire);
        }
        let [garblers, all] = [self.garbler_inputs(), self.garbler_inputs() + self.evaluator_inputs()];
        // Inputs whose labels are chosen before the online phase, and not taken over yet.
        let mut fresh = vec![false; self.program.wires()];
        fresh[..if self.linking == Linking::Scmc { all } else { garblers }].fill(true);
        let (program, value) = (self.program, &value);
        let runs = |slot: Slot<'p>| {
            let of_port = move |port: Range<usize>| {
                slot.inputs[port].chunk_by(|&a, &b| a + 1 == b && value[a as usize] == value[b as usize])
            };
            ranges(0, &program.component(slot.component).inputs).flat_map(of_port)
        };
        // They are many: a list that grows would be copied as a whole.
        self.links = Vec::with_capacity(looking(program.slots()).map(|slot| runs(slot).count()).sum());
        for (k, slot) in looking(program.slots().enumerate()) {
            let mut to = self.first_inputs[k];
            for run in runs(slot) {
                let free = std::mem::take(&mut fresh[value[run[0] as usize] as usize]);
                self.links.push(Link { from: run[0], to, wires: run.len(), free });
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

    /// Returns the wires of the evaluator's inputs.
    pub fn evaluator_wires(&self) -> Range<usize> {
        self.garbler_inputs()..self.garbler_inputs() + self.evaluator_inputs()
    }

    /// Returns the wires that slots drive.
    pub fn driven_wires(&self) -> Range<usize> {
        self.garbler_inputs() + self.evaluator_inputs()..self.program.wires()
    }

    /// Returns the number of bytes of all tables.
    pub fn table_bytes(&self) -> usize {
        self.tables.iter().map(ExactSizeIterator::len).sum()
    }

    /// Returns the number of inputs of all slots.
    pub fn slot_inputs(&self) -> usize {
        self.first_inputs[self.program.slot_count()]
    }

    /// Returns the component of a slot, its number, and how many inputs and outputs it has.
    pub fn component(&self, slot: usize) -> (usize, &'p Component) {
        let id = self.program.slot(slot).component;
        (id.0 as usize, self.program.component(id))
    }

    /// Returns the wires that a slot drives.
    pub fn slot_outputs(&self, slot: usize) -> Range<usize> {
        let first = self.program.slot(slot).first_output as usize;
        first..first + self.component(slot).1.circuit.outputs().len()
    }

    /// Returns the links that lead to a slot.
    pub fn links_of(&self, slot: usize) -> &[Link] {
        &self.links[self.first_links[slot]..self.first_links[slot + 1]]
    }

    /// Links that take a label.
    pub fn labels_of_links(&self) -> usize {
        self.links.iter().filter(|link| !link.free).count()
    }

    /// Slots that are garbled side by side: of one component, next to each other in the order.
    pub fn side_by_side(&self) -> impl Iterator<Item = &[usize]> {
        let most = if self.linking == Linking::Naive { 1 } else { LANES };
        let same = self.order.chunk_by(|&a, &b| self.component(a).0 == self.component(b).0);
        same.flat_map(move |slots| slots.chunks(most))
    }

    /// Returns the wires of the outputs that a party learns, port after port.
    pub fn outputs(&self, party: Party) -> impl Iterator<Item = Wire> {
        self.outputs.iter().filter(move |(_, to)| to.includes(party)).map(|&(wire, _)| wire)
    }

    /// Checks the length of a party's input.
    ///
    /// # Errors
    /// [`Error::Input`] if it has another one.
    pub fn takes(&self, party: Party, input: &[bool]) -> Result<(), Error> {
        match self.program.input_width(party) {
            width if width == input.len() => Ok(()),
            width => Err(Error::Input(format!("the program takes {width} input bits, not {}", input.len()))),
        }
    }
}

/// Where the bits of ports lie, from `first` on.
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
