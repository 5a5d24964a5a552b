//! The properties of a program that the protocol needs: its inputs, AND gates and outputs, and the order of
//! its gates. XOR and INV are linear in the committed wires, so a wire of the program is a sum of *sources*:
//! inputs, and outputs of AND gates. A *soldering* of the program connects such a sum with another wire.
//! There are solderings to both inputs of each AND gate, and then to the outputs.

use zeroize::{Zeroize, Zeroizing};

use brickwork_base::random::Rng;
use brickwork_base::{Error, Party};
use brickwork_circuit::{Gate, Program, Recipient, Wire};

#[derive(Clone, Copy, Debug)]
pub(super) struct OutputWire {
    /// The wire of the program.
    pub wire: Wire,
    /// The recipient.
    pub to: Recipient,
    /// For an output that only the garbler learns, the garbler's input that masks it.
    pub mask: Option<usize>,
}

pub(super) struct Layout<'p> {
    pub program: &'p Program,
    /// The number of input wires in the garbler's ports.
    pub own: usize,
    /// The number of the garbler's inputs: those of its ports, and a random mask for each output that it
    /// alone learns. The evaluator learns the masked output, and treats it like an output of its own. An
    /// evaluator that recovers the garbler's inputs also recovers the masks.
    pub garbler: usize,
    /// The number of the evaluator's input wires.
    pub evaluator: usize,
    /// The number of AND gates of all slots.
    pub ands: usize,
    /// For each slot, the number of its first AND gate.
    pub first_and: Vec<usize>,
    /// The output wires, port after port.
    pub outputs: Vec<OutputWire>,
}

/// For each source, the sum of the weights of all solderings that contain the source.
pub(super) struct Weighted {
    pub inputs: Vec<u128>,
    pub ands: Vec<u128>,
}

impl<'p> Layout<'p> {
    /// Lays out a program.
    ///
    /// # Errors
    /// [`Error::Limit`] if the program has too many AND gates.
    pub fn new(program: &'p Program) -> Result<Self, Error> {
        let [own, evaluator] = [Party::Garbler, Party::Evaluator].map(|party| program.input_width(party));
        let mut garbler = own;
        let mut outputs = Vec::new();
        for port in program.outputs().iter().filter(|port| port.to != Recipient::Nobody) {
            for &wire in &port.wires {
                let mask = (port.to == Recipient::Garbler).then(|| {
                    garbler += 1;
                    garbler - 1
                });
                outputs.push(OutputWire { wire, to: port.to, mask });
            }
        }
        let mut ands: usize = 0;
        let mut first_and = Vec::with_capacity(program.slot_count());
        for slot in program.slots() {
            first_and.push(ands);
            ands += program.component(slot.component).circuit.and_gates();
            if ands > 1 << 24 {
                let limit = "with --protocol lego, a program can have at most 2^24 AND gates; split it into \
                     several programs";
                return Err(Error::Limit(limit.into()));
            }
        }
        Ok(Layout { program, own, garbler, evaluator, ands, first_and, outputs })
    }

    /// Returns the number of input wires of both parties.
    pub fn inputs(&self) -> usize {
        self.garbler + self.evaluator
    }

    /// Returns the number of the program's solderings.
    pub fn solderings(&self) -> usize {
        2 * self.ands + self.outputs.len()
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

    /// Returns the bits of all the garbler's inputs: those of its ports, and random masks.
    pub fn masked(&self, input: &[bool], rng: &mut Rng) -> Zeroizing<Vec<bool>> {
        let masks = (self.own..self.garbler).map(|_| rng.below(2) == 1);
        let mut bits = Zeroizing::new(Vec::with_capacity(self.garbler));
        bits.extend(input.iter().copied().chain(masks));
        bits
    }

    /// Selects the values of the program's inputs from those of all inputs, which also include masks.
    pub fn of_program<'v, T: Copy>(&self, inputs: &'v [T]) -> impl Iterator<Item = T> + 'v {
        let (own, rest) = inputs.split_at(self.garbler);
        own[..self.own].iter().chain(rest).copied()
    }

    /// Computes the outputs of the program from values of the inputs, gate by gate. `and` gets the number of
    /// an AND gate and both operands, and returns the result. Returns the values of the outputs. The garbler
    /// calls this function with its committed values, which must not stay in memory. So the buffer has its
    /// full size from the start, and is erased.
    pub fn walk<T: Copy + Zeroize>(
        &self,
        inputs: &[T],
        mut and: impl FnMut(usize, T, T) -> T,
        xor: impl Fn(T, T) -> T,
        inv: impl Fn(T) -> T,
    ) -> Vec<T> {
        let mut wires: Zeroizing<Vec<T>> = Zeroizing::new(Vec::with_capacity(self.program.wires()));
        wires.extend(self.of_program(inputs));
        let most = self.program.components().iter().map(|component| component.circuit.wires()).max();
        let mut local: Zeroizing<Vec<T>> = Zeroizing::new(Vec::with_capacity(most.unwrap_or(0)));
        let mut number = 0;
        for slot in self.program.slots() {
            let circuit = &self.program.component(slot.component).circuit;
            local.clear();
            local.extend(slot.inputs.iter().map(|&wire| wires[wire as usize]));
            for gate in circuit.gates() {
                let value = match gate {
                    Gate::Xor(a, b) => xor(local[a as usize], local[b as usize]),
                    Gate::Inv(a) => inv(local[a as usize]),
                    Gate::And(a, b) => {
                        number += 1;
                        and(number - 1, local[a as usize], local[b as usize])
                    }
                };
                local.push(value);
            }
            wires.extend(circuit.outputs().iter().map(|&wire| local[wire as usize]));
        }
        let of_output = |output: &OutputWire| {
            let value = wires[output.wire as usize];
            output.mask.map_or(value, |mask| xor(value, inputs[mask]))
        };
        self.outputs.iter().map(of_output).collect()
    }

    /// Returns, for each soldering, 1 if its sum of sources is negated.
    pub fn negated(&self) -> Vec<u8> {
        let mut negated = Vec::with_capacity(self.solderings());
        let and = |_, a, b| {
            negated.extend([a, b]);
            0
        };
        let outputs = self.walk(&vec![0; self.inputs()], and, |a, b| a ^ b, |a| a ^ 1);
        negated.extend(outputs);
        negated
    }

    /// Returns, for each source, the sum of the weights of the solderings that contain it. The function
    /// processes the gates backwards. `weights` returns the weights of the solderings from a given number on.
    pub fn weigh<W: Iterator<Item = u128>>(&self, weights: impl Fn(usize) -> W) -> Weighted {
        let mut inputs = vec![0; self.inputs()];
        let mut wires = vec![0; self.program.wires()];
        for (output, weight) in self.outputs.iter().zip(weights(2 * self.ands)) {
            wires[output.wire as usize] ^= weight;
            if let Some(mask) = output.mask {
                inputs[mask] ^= weight;
            }
        }
        let mut ands = vec![0; self.ands];
        let (mut local, mut solderings): (Vec<u128>, Vec<u128>) = (Vec::new(), Vec::new());
        for index in (0..self.program.slot_count()).rev() {
            let slot = self.program.slot(index);
            let circuit = &self.program.component(slot.component).circuit;
            local.clear();
            local.resize(circuit.wires(), 0);
            let first = slot.first_output as usize;
            circuit
                .outputs()
                .iter()
                .zip(&wires[first..])
                .for_each(|(&w, weight)| local[w as usize] ^= weight);
            let mut number = circuit.and_gates();
            solderings.clear();
            solderings.extend(weights(2 * self.first_and[index]).take(2 * number));
            for (gate, k) in circuit.gates().rev().zip((circuit.inputs()..circuit.wires()).rev()) {
                let weight = local[k];
                match gate {
                    Gate::Xor(a, b) => [a, b].into_iter().for_each(|w| local[w as usize] ^= weight),
                    Gate::Inv(a) => local[a as usize] ^= weight,
                    Gate::And(a, b) => {
                        number -= 1;
                        ands[self.first_and[index] + number] = weight;
                        local[a as usize] ^= solderings[2 * number];
                        local[b as usize] ^= solderings[2 * number + 1];
                    }
                }
            }
            slot.inputs.iter().zip(&local).for_each(|(&wire, weight)| wires[wire as usize] ^= weight);
        }
        let (own, rest) = wires[..self.own + self.evaluator].split_at(self.own);
        inputs.iter_mut().zip(own).for_each(|(sum, weight)| *sum ^= weight);
        inputs[self.garbler..].iter_mut().zip(rest).for_each(|(sum, weight)| *sum ^= weight);
        Weighted { inputs, ands }
    }
}
