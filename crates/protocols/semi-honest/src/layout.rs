//! Executions of a program in chunks, and the places of wire labels in memory.

use std::ops::Range;

use brickwork_base::{Error, Party};
use brickwork_circuit::{Program, Recipient, Wire};

/// The largest number of executions that are processed together in a slot, which is the number of the
/// kernels' lanes.
pub(super) const LANES: usize = 16;

/// The largest number of inputs of a chunk, unless a single execution has more. The labels of this many
/// inputs need a mebibyte.
const OTS: usize = 1 << 16;

/// The largest number of wire labels in memory, unless a single execution needs more.
const LABELS: usize = 1 << 18;

/// A program and its number of executions.
pub(super) struct Layout<'p> {
    pub program: &'p Program,
    executions: usize,
    places: Vec<u32>,
    /// The number of labels that an execution keeps in memory at a time.
    alive: usize,
    outputs: Vec<Wire>,
    /// The recipient of each output wire.
    recipients: Vec<Recipient>,
}

/// Consecutive executions of a program.
pub(super) struct Chunk<'p> {
    pub layout: &'p Layout<'p>,
    pub executions: Range<usize>,
}

impl Chunk<'_> {
    /// Returns the number of executions.
    pub fn count(&self) -> usize {
        self.executions.len()
    }

    /// Returns the executions in groups that are processed together, counted from the chunk's first
    /// execution.
    pub fn side_by_side(&self) -> impl Iterator<Item = Range<usize>> {
        let (count, lanes) = (self.count(), self.layout.lanes());
        (0..count).step_by(lanes).map(move |first| first..count.min(first + lanes))
    }
}

impl<'p> Layout<'p> {
    /// Lays out a program.
    ///
    /// # Errors
    /// [`Error::Input`] if `executions` is 0.
    pub fn new(program: &'p Program, executions: usize) -> Result<Self, Error> {
        if executions == 0 {
            return Err(Error::Input("a program cannot be executed 0 times".into()));
        }
        let outputs: Vec<Wire> = program.outputs().iter().flat_map(|o| o.wires.iter().copied()).collect();
        let recipients =
            program.outputs().iter().flat_map(|o| std::iter::repeat_n(o.to, o.wires.len())).collect();
        let (places, alive) = places(program, &outputs);
        Ok(Layout { program, executions, places, alive, outputs, recipients })
    }

    pub fn executions(&self) -> usize {
        self.executions
    }

    pub fn garbler_inputs(&self) -> usize {
        self.program.input_width(Party::Garbler)
    }

    pub fn evaluator_inputs(&self) -> usize {
        self.program.input_width(Party::Evaluator)
    }

    /// Returns the wires of all outputs, port after port.
    pub fn output_wires(&self) -> &[Wire] {
        &self.outputs
    }

    /// Returns the positions of a party's outputs among the output wires.
    pub fn places_of_outputs(&self, party: Party) -> impl Iterator<Item = usize> {
        let of = self.recipients.iter().enumerate();
        of.filter(move |(_, to)| to.includes(party)).map(|(place, _)| place)
    }

    /// Returns the number of executions that are processed together.
    pub fn lanes(&self) -> usize {
        let fit = LABELS / self.alive.max(1);
        [16, 8, 4].into_iter().find(|&lanes| lanes <= fit.min(self.executions)).unwrap_or(1).min(LANES)
    }

    /// Returns the number of labels that an execution keeps in memory at a time.
    pub fn alive(&self) -> usize {
        self.alive
    }

    /// Returns the place of a wire's label.
    pub fn place(&self, wire: Wire) -> usize {
        self.places[wire as usize] as usize
    }

    /// Returns the number of executions of a full chunk.
    fn chunk_size(&self) -> usize {
        let inputs = self.evaluator_inputs() + self.garbler_inputs();
        (OTS / inputs.max(1)).max(1).next_multiple_of(self.lanes())
    }

    /// Returns the number of chunks. Only the last chunk may have fewer executions.
    pub fn chunk_count(&self) -> usize {
        self.executions.div_ceil(self.chunk_size())
    }

    pub fn chunk(&'p self, place: usize) -> Chunk<'p> {
        let size = self.chunk_size();
        let first = place * size;
        Chunk { layout: self, executions: first..self.executions.min(first + size) }
    }

    pub fn chunks(&'p self) -> impl Iterator<Item = Chunk<'p>> {
        (0..self.chunk_count()).map(|place| self.chunk(place))
    }

    /// Returns a party's input, `[execution][bit]`.
    ///
    /// # Errors
    /// [`Error::Input`] if `input` has a wrong length.
    pub fn inputs<'a>(&self, party: Party, input: &'a [bool]) -> Result<PartyInputs<'a>, Error> {
        let width = self.program.input_width(party);
        if Some(input.len()) != width.checked_mul(self.executions) {
            return Err(Error::Input(format!(
                "the program takes {} input bits, not {}",
                width * self.executions,
                input.len()
            )));
        }
        Ok(PartyInputs { input, width })
    }

    /// Returns an empty collection of a party's outputs.
    pub fn outputs(&self, party: Party) -> PartyOutputs {
        let own = if party == Party::Garbler { Recipient::Garbler } else { Recipient::Evaluator };
        let both = self.places_of_outputs(party).map(|place| self.recipients[place] == Recipient::Both);
        let both: Vec<bool> = both.collect();
        debug_assert!(
            both.iter().zip(self.places_of_outputs(party)).all(|(b, p)| *b || self.recipients[p] == own)
        );
        PartyOutputs { executions: self.executions, both, own: Vec::new(), common: Vec::new() }
    }
}

/// A party's inputs, from which each chunk takes its part.
pub(super) struct PartyInputs<'a> {
    input: &'a [bool],
    width: usize,
}

impl<'a> PartyInputs<'a> {
    /// Returns the inputs of the next chunk.
    pub fn next(&mut self, chunk: &Chunk) -> &'a [bool] {
        let (here, behind) = self.input.split_at(chunk.count() * self.width);
        self.input = behind;
        here
    }
}

/// Collects a party's outputs, chunk by chunk. With one execution, they are in the order of the ports. With
/// several, the outputs that only this party learns come first, as in a repeated program.
pub(super) struct PartyOutputs {
    executions: usize,
    /// True for each output bit of an execution that the other party learns, too.
    both: Vec<bool>,
    own: Vec<bool>,
    common: Vec<bool>,
}

impl PartyOutputs {
    /// Adds the output bits of a chunk, `[execution][bit]`.
    pub fn put(&mut self, chunk: &Chunk, bits: Vec<bool>) {
        assert_eq!(bits.len(), chunk.count() * self.both.len(), "the chunk has all output bits");
        for bits in bits.chunks_exact(self.both.len().max(1)) {
            for (&bit, &both) in bits.iter().zip(&self.both) {
                if both && self.executions > 1 { &mut self.common } else { &mut self.own }.push(bit);
            }
        }
    }

    /// Returns all output bits.
    pub fn finish(mut self) -> Vec<bool> {
        self.own.append(&mut self.common);
        self.own
    }
}

/// Returns the place of each wire's label while slots are processed in order, and the number of places. A
/// place is reused after the last read of its wire.
fn places(program: &Program, outputs: &[Wire]) -> (Vec<u32>, usize) {
    let mut reads = vec![0u32; program.wires()];
    let mut read = |wire: &Wire| reads[*wire as usize] += 1;
    program.slots().for_each(|slot| slot.inputs.iter().for_each(&mut read));
    outputs.iter().for_each(read);
    let inputs = program.input_width(Party::Garbler) + program.input_width(Party::Evaluator);
    let mut places: Vec<u32> = vec![0; program.wires()];
    (0..inputs).for_each(|wire| places[wire] = wire as u32);
    let (mut free, mut count) = (Vec::new(), inputs as u32);
    for slot in program.slots() {
        for &wire in slot.inputs {
            reads[wire as usize] -= 1;
            if reads[wire as usize] == 0 {
                free.push(places[wire as usize]);
            }
        }
        let circuit = &program.component(slot.component).circuit;
        let driven = slot.first_output..slot.first_output + circuit.outputs().len() as Wire;
        for wire in driven.clone() {
            places[wire as usize] = free.pop().unwrap_or_else(|| {
                count += 1;
                count - 1
            });
        }
        for wire in driven.filter(|&wire| reads[wire as usize] == 0) {
            free.push(places[wire as usize]);
        }
    }
    (places, count as usize)
}

#[cfg(test)]
mod tests {
    use super::*;
    use brickwork_circuit::library;

    #[test]
    fn no_label_is_overwritten_before_it_was_read() {
        for program in [library::millionaires().unwrap(), library::aes::cbc_mac(3).unwrap()] {
            let outputs: Vec<Wire> = program.outputs().iter().flat_map(|o| o.wires.iter().copied()).collect();
            let (places, alive) = places(&program, &outputs);
            let mut holds: Vec<Option<Wire>> = vec![None; alive];
            let inputs = program.input_width(Party::Garbler) + program.input_width(Party::Evaluator);
            (0..inputs as Wire).for_each(|wire| holds[places[wire as usize] as usize] = Some(wire));
            for slot in program.slots() {
                for &wire in slot.inputs {
                    assert_eq!(holds[places[wire as usize] as usize], Some(wire));
                }
                let width = program.component(slot.component).circuit.outputs().len() as Wire;
                for wire in slot.first_output..slot.first_output + width {
                    holds[places[wire as usize] as usize] = Some(wire);
                }
            }
            outputs.iter().for_each(|&wire| assert_eq!(holds[places[wire as usize] as usize], Some(wire)));
            assert!(alive < program.wires(), "{alive} places for {} wires", program.wires());
        }
    }
}
