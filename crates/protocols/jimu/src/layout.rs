//! A program as one circuit, and which words its wires are sums of. All of it follows from what is public.

use brickwork_base::{Error, Party};
use brickwork_circuit::{Circuit, Gate, Program, Recipient};
use brickwork_primitives::cut_and_choose::Bucketing;
use brickwork_primitives::ihash::Step;

use crate::parameters::{Level, Sizes, checking_ots};

/// A program and what a session makes for it.
pub(super) struct Layout<'p> {
    pub program: &'p Program,
    pub circuit: Circuit,
    pub sizes: Sizes,
    /// Of each AND gate the wires that it reads and the wire that it drives.
    pub ands: Vec<[usize; 3]>,
    /// Of each wire of the circuit, behind the word of negations, how it comes from given words: that word,
    /// the garbler's inputs, the evaluator's, outputs of AND gates.
    pub steps: Vec<Step>,
    /// What is evaluated one after the other: sums, then AND gates that do not depend on one another.
    pub layers: Vec<Layer>,
    outputs: Vec<(usize, Recipient)>,
}

/// What can be evaluated when what is before it has been.
#[derive(Default)]
pub(super) struct Layer {
    /// Wires that are sums or negations of others, in order.
    pub sums: Vec<usize>,
    /// Numbers of AND gates.
    pub ands: Vec<usize>,
}

impl<'p> Layout<'p> {
    /// Lays out a program; with these sizes, if there are any, which only a cheater has.
    ///
    /// # Errors
    /// [`Error::Input`] if it has more gates than a circuit can have, else as [`Sizes::choose`].
    pub fn new(program: &'p Program, security: u32, sizes: Option<Sizes>) -> Result<Self, Error> {
        let circuit = program.flatten()?;
        let to = program.outputs().iter().flat_map(|port| std::iter::repeat_n(port.to, port.wires.len()));
        let outputs: Vec<_> = circuit.outputs().iter().map(|&wire| wire as usize).zip(to).collect();
        let garblers = outputs.iter().filter(|(_, to)| to.includes(Party::Garbler)).count();
        let wires = program.input_width(Party::Garbler) + garblers;
        let too_many = |_| Error::Limit("too many inputs and outputs of the garbler".into());
        let wires = wires.try_into().map_err(too_many)?;
        let sizes = sizes.map_or_else(|| Sizes::choose(security, circuit.and_gates() as u32, wires), Ok)?;
        let inputs = circuit.inputs();
        let (mut ands, mut layers) = (Vec::with_capacity(circuit.and_gates()), vec![Layer::default()]);
        let mut steps = Vec::with_capacity(1 + circuit.wires());
        steps.extend((0..=inputs as u32).map(Step::Given));
        let mut levels = vec![0_usize; inputs];
        for (wire, gate) in (inputs..).zip(circuit.gates()) {
            let (a, b, and) = match gate {
                Gate::Xor(a, b) => (a, b, false),
                Gate::And(a, b) => (a, b, true),
                Gate::Inv(a) => (a, a, false),
            };
            let level = levels[a as usize].max(levels[b as usize]);
            levels.push(level + usize::from(and));
            if and {
                layers.resize_with(layers.len().max(level + 2), Layer::default);
                layers[level].ands.push(ands.len());
                steps.push(Step::Given((1 + inputs + ands.len()) as u32));
                ands.push([a as usize, b as usize, wire]);
            } else {
                layers[level].sums.push(wire);
                let other = if let Gate::Inv(_) = gate { 0 } else { b + 1 };
                steps.push(Step::Sum(a + 1, other));
            }
        }
        Ok(Layout { program, circuit, sizes, ands, steps, layers, outputs })
    }

    /// Returns the hashes.
    pub fn level(&self) -> &Level {
        &self.sizes.level
    }

    /// Returns the blocks of a label: parts of the offset, and series of OTs.
    pub fn blocks(&self) -> usize {
        self.level().labels.l() / 16
    }

    /// Returns the number of gates that are made.
    pub fn gates(&self) -> usize {
        self.sizes.gates.copies() as usize
    }

    /// Returns the number of authenticators that are made.
    pub fn authenticators(&self) -> usize {
        self.sizes.authenticators.copies() as usize
    }

    /// Returns the number of inputs of a party.
    pub fn inputs(&self, party: Party) -> usize {
        self.program.input_width(party)
    }

    /// Returns the number of OTs whose offset is that of labels: of the evaluator's inputs, and those that
    /// check the offset.
    pub fn hashed_ots(&self) -> usize {
        self.inputs(Party::Evaluator) + checking_ots(self.level().security)
    }

    /// Combinations of choices that are checked, for each of which there is an OT more.
    pub fn combinations(&self) -> usize {
        checking_ots(self.level().security)
    }

    /// Symbols of both hashes, for each of which there is an OT.
    pub fn watched_ots(&self) -> usize {
        self.level().labels.n() + self.level().permutations.n()
    }

    /// Returns the wires of the outputs that a party learns, port after port.
    pub fn outputs(&self, party: Party) -> impl Iterator<Item = usize> {
        self.outputs.iter().filter(move |(_, to)| to.includes(party)).map(|&(wire, _)| wire)
    }

    /// Returns the wires whose sum a wire is, of which a negation has one.
    ///
    /// # Panics
    /// If it is the output of an AND gate or an input.
    pub fn operands(&self, wire: usize) -> [Option<usize>; 2] {
        match self.steps[1 + wire] {
            Step::Sum(a, b) => [a, b].map(|step| (step as usize).checked_sub(1)),
            Step::Given(_) => panic!("a sum"),
        }
    }

    /// Returns, of a result for all outputs, those that a party learns.
    pub fn outputs_of<'a>(&'a self, party: Party, all: &'a [bool]) -> impl Iterator<Item = bool> + 'a {
        let known = self.outputs.iter().zip(all);
        known.filter(move |((_, to), _)| to.includes(party)).map(|(_, &bit)| bit)
    }

    /// Returns the wires that have authenticators: the garbler's inputs, and its outputs.
    pub fn authenticated(&self) -> impl Iterator<Item = usize> {
        (0..self.inputs(Party::Garbler)).chain(self.outputs(Party::Garbler))
    }

    /// Checks the length of a party's input.
    ///
    /// # Errors
    /// [`Error::Input`] if it has another one.
    pub fn takes(&self, party: Party, input: &[bool]) -> Result<(), Error> {
        match self.inputs(party) {
            width if width == input.len() => Ok(()),
            width => Err(Error::Input(format!("the program takes {width} input bits, not {}", input.len()))),
        }
    }

    /// Returns a digest of what both must agree on.
    pub fn digest(&self) -> [u8; 32] {
        let mut hasher = blake3::Hasher::new_derive_key("brickwork 2026-11 JIMU program");
        hasher.update(&self.program.digest());
        for Bucketing { slots, bucket, opened } in [self.sizes.gates, self.sizes.authenticators] {
            [slots, bucket, opened].into_iter().for_each(|count| {
                hasher.update(&count.to_le_bytes());
            });
        }
        *hasher.finalize().as_bytes()
    }
}
