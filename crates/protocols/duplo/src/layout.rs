//! The layout of a program on its items: the places where the labels of slots, inputs and outputs are.

use std::ops::Range;

use super::steps::Step;
use brickwork_circuit::{ComponentId, Party, Recipient, Wire};

/// The place of a global wire's label: a bucket of authenticators or, for an input of the evaluator, the wire
/// of an OT.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct WireLocation {
    /// The number of the set. Sets are numbered in this order: the authenticators of each batch's outputs,
    /// the sets of input authenticators, the OTs.
    pub set: u32,
    pub bucket: u32,
}

/// The slots that one batch can fill.
pub(super) struct BatchSlots {
    pub component: ComponentId,
    pub slots: usize,
    /// The number of output wires of each slot.
    pub outputs: usize,
}

/// The layout of a program on its items: the bucket of each slot, input and output. Both parties compute it
/// alike.
pub(super) struct Layout {
    /// The slots of each batch, in the order of its buckets.
    pub slots: Vec<Vec<u32>>,
    /// For each slot its batch, and its bucket in this batch.
    pub places: Vec<(u32, u32)>,
    /// The location of each global wire.
    locations: Vec<WireLocation>,
    /// The location of each sealed output's own authenticators.
    sealed_locations: Vec<WireLocation>,
    /// The wires of the sealed outputs, which end on input authenticators of their own. The outputs that only
    /// the garbler learns come first, then the outputs that no party learns and later steps use.
    pub sealed_outputs: Vec<Wire>,
    /// The number of sealed output wires that the garbler learns.
    pub private: usize,
    /// The garbler's input wires whose labels the garbler sends. The evaluator has the labels of the other
    /// input wires from earlier steps.
    pub given: Vec<Wire>,
    /// The garbler's other input wires, which carry kept values.
    pub carried: Vec<Wire>,
    /// The wires of all outputs that the evaluator learns.
    pub evaluator_outputs: Vec<Wire>,
    /// The wires of the outputs that both parties learn.
    pub shared_outputs: Vec<Wire>,
    pub evaluator_inputs: Range<Wire>,
}

impl Layout {
    /// Makes the layout of a step. `batch_slots` are the batches in the order of their components.
    /// `input_authenticators` are the sizes of the sets of input authenticators, for the garbler's inputs and
    /// the sealed outputs.
    pub fn new(step: &Step, batch_slots: &[BatchSlots], input_authenticators: &[usize]) -> Self {
        let program = step.program();
        let set = |(set, size): (usize, usize)| {
            (0..size as u32).map(move |bucket| WireLocation { set: set as u32, bucket })
        };
        let mut locations: Vec<WireLocation> =
            (batch_slots.len()..).zip(input_authenticators.iter().copied()).flat_map(set).collect();
        let garbler_inputs = program.input_width(Party::Garbler);
        let sealed_locations = locations.split_off(garbler_inputs);
        locations.extend(set((
            batch_slots.len() + input_authenticators.len(),
            program.input_width(Party::Evaluator),
        )));

        let mut slots: Vec<Vec<u32>> = batch_slots.iter().map(|_| Vec::new()).collect();
        // `next` has the batch that fills the next slot of each component.
        let first_owner = |id: usize| {
            batch_slots.iter().position(|o| o.component.0 as usize == id).unwrap_or(batch_slots.len())
        };
        let mut next: Vec<usize> = (0..program.components().len()).map(first_owner).collect();
        let mut places = Vec::with_capacity(program.slot_count());
        for (index, slot) in program.slots().enumerate() {
            let batch = &mut next[slot.component.0 as usize];
            while slots[*batch].len() == batch_slots[*batch].slots {
                *batch += 1;
            }
            let (batch, bucket, outputs) = (*batch, slots[*batch].len(), batch_slots[*batch].outputs);
            slots[batch].push(index as u32);
            places.push((batch as u32, bucket as u32));
            locations.extend(
                (0..outputs)
                    .map(|o| WireLocation { set: batch as u32, bucket: (bucket * outputs + o) as u32 }),
            );
        }
        let wires = |to: &dyn Fn(Recipient) -> bool| -> Vec<Wire> {
            program.outputs().iter().filter(|o| to(o.to)).flat_map(|o| o.wires.iter().copied()).collect()
        };
        let private = wires(&|to| to == Recipient::Garbler);
        Layout {
            slots,
            places,
            locations,
            sealed_locations,
            private: private.len(),
            sealed_outputs: [private, wires(&|to| to == Recipient::Nobody)].concat(),
            given: step.given().collect(),
            carried: step.carried().collect(),
            evaluator_outputs: wires(&|to| to.includes(Party::Evaluator)),
            shared_outputs: wires(&|to| to == Recipient::Both),
            evaluator_inputs: garbler_inputs as Wire
                ..(garbler_inputs + program.input_width(Party::Evaluator)) as Wire,
        }
    }

    pub fn location(&self, wire: Wire) -> WireLocation {
        self.locations[wire as usize]
    }

    /// Returns the location of the authenticators of sealed output `k`.
    pub fn sealed_location(&self, k: usize) -> WireLocation {
        self.sealed_locations[k]
    }
}
