//! Evaluation of programs in the clear.

use brickwork_base::stop::looking;
use zeroize::Zeroizing;

use super::{Circuit, ComponentId, Gate, Party, Program, Slot, Wire};

/// The number of evaluations of one circuit that run side by side, a bit of a word each.
const LANES: usize = 64;

impl Program {
    /// Evaluates the program in the clear; returns the bits of each output port, in the order of
    /// [`Program::outputs`].
    ///
    /// # Panics
    /// If a party's input does not have [`Program::input_width`] bits.
    pub fn simulate(&self, garbler: &[bool], evaluator: &[bool]) -> Vec<Vec<bool>> {
        for (party, bits) in [(Party::Garbler, garbler), (Party::Evaluator, evaluator)] {
            assert_eq!(
                bits.len(),
                self.input_width(party),
                "the caller must give one bit for each input \
                 wire of the {party:?}"
            );
        }
        let mut wires = Zeroizing::new(vec![false; self.wires()]);
        wires[..garbler.len()].copy_from_slice(garbler);
        wires[garbler.len()..garbler.len() + evaluator.len()].copy_from_slice(evaluator);

        let levels = self.levels();
        let mut order: Vec<u32> = (0..self.slot_count() as u32).collect();
        let key = |slot: u32| (levels[slot as usize], self.slot(slot as usize).component);
        order.sort_by_key(|&slot| key(slot));
        let mut scratch = Zeroizing::new(Vec::new());
        for same in order.chunk_by(|&a, &b| key(a) == key(b)) {
            for group in looking(same.chunks(LANES)) {
                self.simulate_group(group, &mut wires, &mut scratch);
            }
        }
        self.outputs().iter().map(|o| o.wires.iter().map(|&w| wires[w as usize]).collect()).collect()
    }

    /// Returns a party's output bits, in order, from the result of [`Program::simulate`].
    pub fn output_bits(&self, party: Party, outputs: &[Vec<bool>]) -> Vec<bool> {
        let own = self.outputs().iter().zip(outputs).filter(|(o, _)| o.to.includes(party));
        own.flat_map(|(_, bits)| bits.iter().copied()).collect()
    }

    /// Returns for each slot the length of the longest chain of slots that ends before the slot.
    fn levels(&self) -> Vec<u32> {
        self.path_lengths(|_| 1)
    }

    /// Returns the weight of the heaviest chain of slots.
    pub(super) fn longest_path(&self, weight: impl Fn(ComponentId) -> u64) -> u64 {
        let ends = self
            .slots()
            .zip(self.path_lengths(&weight))
            .map(|(slot, length)| length + weight(slot.component));
        ends.max().unwrap_or(0)
    }

    /// Returns for each slot the weight of the heaviest chain of slots that ends before the slot.
    fn path_lengths<W: Copy + Ord + Default + std::ops::Add<Output = W>>(
        &self,
        weight: impl Fn(ComponentId) -> W,
    ) -> Vec<W> {
        let inputs = (self.input_width(Party::Garbler) + self.input_width(Party::Evaluator)) as Wire;
        let mut lengths: Vec<W> = Vec::with_capacity(self.slot_count());
        for slot in looking(self.slots()) {
            let (mut length, mut known) = (W::default(), 0..inputs);
            for &wire in slot.inputs {
                // Neighbours mostly have the same producer.
                if known.contains(&wire) {
                    continue;
                }
                if wire < inputs {
                    known = 0..inputs;
                    continue;
                }
                let producer = self.producer(wire, lengths.len());
                let Slot { component, first_output, .. } = self.slot(producer);
                known =
                    first_output..first_output + self.component(component).circuit.outputs().len() as Wire;
                length = length.max(lengths[producer] + weight(component));
            }
            lengths.push(length);
        }
        lengths
    }

    /// Returns the slot, among the first `slots`, that drives a wire which is no input.
    pub(super) fn producer(&self, wire: Wire, slots: usize) -> usize {
        let (mut low, mut high) = (0, slots);
        while high - low > 1 {
            let middle = low + (high - low) / 2;
            if self.slot(middle).first_output <= wire { low = middle } else { high = middle }
        }
        low
    }

    /// Evaluates slots of one component that do not read each other's outputs.
    fn simulate_group(&self, slots: &[u32], wires: &mut [bool], scratch: &mut Zeroizing<Vec<u64>>) {
        let component: ComponentId = self.slot(slots[0] as usize).component;
        let circuit = &self.component(component).circuit;
        if let [slot] = *slots {
            // A single slot uses one bool for each wire, because the words of a large circuit might not fit
            // into the memory.
            let Slot { inputs, first_output, .. } = self.slot(slot as usize);
            let inputs: Zeroizing<Vec<bool>> =
                Zeroizing::new(inputs.iter().map(|&w| wires[w as usize]).collect());
            let outputs = Zeroizing::new(circuit.evaluate(&inputs));
            wires[first_output as usize..][..outputs.len()].copy_from_slice(&outputs);
            return;
        }
        if scratch.capacity() < circuit.wires() {
            // A growing vector would leave copies of secrets in freed memory.
            *scratch = Zeroizing::new(Vec::with_capacity(circuit.wires()));
        }
        scratch.clear();
        scratch.resize(circuit.inputs(), 0);
        for (lane, &slot) in slots.iter().enumerate() {
            for (word, &wire) in scratch.iter_mut().zip(self.slot(slot as usize).inputs) {
                *word |= u64::from(wires[wire as usize]) << lane;
            }
        }
        circuit.run(scratch);
        for (lane, &slot) in slots.iter().enumerate() {
            let first = self.slot(slot as usize).first_output as usize;
            for (bit, &wire) in wires[first..].iter_mut().zip(circuit.outputs()) {
                *bit = scratch[wire as usize] >> lane & 1 == 1;
            }
        }
    }
}

impl Circuit {
    /// Appends the wires that gates drive to the input wires; each bit of a word is a separate evaluation.
    fn run(&self, wires: &mut Vec<u64>) {
        wires.reserve(self.gate_count());
        for gate in looking(self.gates()) {
            wires.push(match gate {
                Gate::Xor(a, b) => wires[a as usize] ^ wires[b as usize],
                Gate::And(a, b) => wires[a as usize] & wires[b as usize],
                Gate::Inv(a) => !wires[a as usize],
            });
        }
    }
}
