//! What both parties know of a run before it begins: in which batches components are made, and how many leaky
//! ANDs each needs.

use std::ops::Range;

use brickwork_base::digest::Digest;
use brickwork_base::{Error, Party};
use brickwork_circuit::{Circuit, Program, Wire};

use crate::parameters::{BATCH, BLOCK, GROUP, Level, Pool};
use crate::walk::constant_operand;

/// Slots whose components are made together.
#[derive(Clone, Debug, Default)]
pub(super) struct Batch {
    /// Input wires of all slots.
    pub ports: usize,
    /// AND gates of all slots.
    pub ands: usize,
    /// What triples are made of.
    pub pool: Pool,
    /// The slots again, some at a time: their masks are opened and their tables sent together.
    pub groups: Vec<Group>,
}

/// Slots of a batch.
#[derive(Clone, Debug)]
pub(super) struct Group {
    pub slots: Range<usize>,
    /// Input wires of these slots.
    pub ports: usize,
    /// AND gates of these slots, of those of the batch.
    pub ands: Range<usize>,
}

impl Batch {
    /// Adds a slot.
    fn add(&mut self, slot: usize, circuit: &Circuit) {
        let after = self.ands + circuit.and_gates();
        match self.groups.last_mut() {
            Some(last) if after - last.ands.start <= GROUP => {
                (last.slots.end, last.ands.end) = (slot + 1, after);
                last.ports += circuit.inputs();
            }
            _ => {
                let (slots, ands) = (slot..slot + 1, self.ands..after);
                self.groups.push(Group { slots, ports: circuit.inputs(), ands });
            }
        }
        self.ports += circuit.inputs();
        self.ands = after;
    }
}

/// A program, and what is made for it.
pub(super) struct Layout<'p> {
    pub program: &'p Program,
    pub level: Level,
    pub batches: Vec<Batch>,
}

impl<'p> Layout<'p> {
    /// Lays out a program; at this level and with these buckets, if they are given, which only a cheater has.
    ///
    /// # Errors
    /// [`Error::Input`] if an AND gate has an operand that does not depend on anything, [`Error::Usage`] for a
    /// security that is not offered.
    pub fn new(
        program: &'p Program,
        security: u32,
        level: Option<Level>,
        pool: Option<Pool>,
    ) -> Result<Self, Error> {
        let level = level.map_or_else(|| Level::of(security), Ok)?;
        for component in program.components() {
            if let Some(gate) = constant_operand(&component.circuit) {
                return Err(Error::Input(format!(
                    "AND gate {gate} of component {} has an operand that is the same whatever the inputs, \
                     which authenticated masks cannot hide; fold constants, or take --protocol duplo",
                    component.name
                )));
            }
        }
        let mut batches: Vec<Batch> = Vec::new();
        for (k, slot) in program.slots().enumerate() {
            let circuit = &program.component(slot.component).circuit;
            match batches.last_mut() {
                Some(last) if last.ands + circuit.and_gates() <= BATCH => last.add(k, circuit),
                _ => {
                    batches.push(Batch::default());
                    batches.last_mut().expect("it was pushed").add(k, circuit);
                }
            }
        }
        if batches.is_empty() {
            // Inputs have masks, too.
            batches.push(Batch::default());
        }
        // All pools together take half of what may go wrong.
        let bits = f64::from(level.security) + 1.0 + (batches.len() as f64).log2();
        for batch in &mut batches {
            batch.pool = match pool {
                Some(pool) if batch.ands > 0 => Pool { size: pool.size.max(batch.ands), ..pool },
                _ => Pool::choose(batch.ands, bits),
            };
        }
        Ok(Layout { program, level, batches })
    }

    /// Base-2 logarithm of what a cheater achieves at most, by everything together: knows an inner bit of a
    /// triple of some pool, guesses t - 1 bits of an offset once (who guesses wrong ends the run), guesses the
    /// last bytes of a digest's tags on either side, contradicts itself in a call of the OT extension, or
    /// guesses an offset, which a mac or a digest of 128 bits asks for.
    pub fn bound_log2(&self) -> f64 {
        self.spent().iter().map(|(_, log2)| log2.exp2()).sum::<f64>().log2()
    }

    /// The parts of the bound, each with what it is for.
    pub fn spent(&self) -> Vec<(&'static str, f64)> {
        let leaks = self.batches.iter().map(|batch| batch.pool.leaks_log2().exp2()).sum::<f64>().log2();
        let calls = self.batches.iter().map(|batch| 2 * batch.pool.draws(0).count()).sum::<usize>() as f64;
        vec![
            ("leaky ANDs that fill a bucket", leaks),
            ("leaky ANDs that are compared", -f64::from(self.level.compared - 1)),
            ("tags of labels and of gates", 1.0 - (8.0 * self.level.tag as f64 - 1.0)),
            ("calls of the OT extension", calls.log2() - 115.0),
            ("macs of opened masks", (self.groups().count() as f64 + 3.0).log2() - 126.0),
        ]
    }

    /// Inputs of a party.
    pub fn inputs(&self, party: Party) -> usize {
        self.program.input_width(party)
    }

    /// Inputs of both.
    pub fn all_inputs(&self) -> usize {
        self.inputs(Party::Garbler) + self.inputs(Party::Evaluator)
    }

    /// Masks of a batch beside its triples: of inputs, which the first batch makes, of ports and AND gates.
    pub fn masks(&self, batch: usize) -> usize {
        let Batch { ports, ands, .. } = &self.batches[batch];
        ports + ands + if batch == 0 { self.all_inputs() } else { 0 }
    }

    /// The circuit of a slot.
    pub fn circuit(&self, slot: usize) -> &'p Circuit {
        &self.program.component(self.program.slot(slot).component).circuit
    }

    /// The wires of a party's inputs.
    pub fn input_wires(&self, party: Party) -> Range<usize> {
        let garblers = self.inputs(Party::Garbler);
        match party {
            Party::Garbler => 0..garblers,
            Party::Evaluator => garblers..self.all_inputs(),
        }
    }

    /// The wires of the outputs that a party learns, port after port.
    pub fn outputs(&self, party: Party) -> impl Iterator<Item = usize> + '_ {
        let wires = self.program.outputs_of(party).flat_map(|port| &port.wires);
        wires.map(|&wire: &Wire| wire as usize)
    }

    /// Input wires of all slots.
    pub fn ports(&self) -> usize {
        self.batches.iter().map(|batch| batch.ports).sum()
    }

    /// All groups, batch after batch.
    pub fn groups(&self) -> impl Iterator<Item = &Group> {
        self.batches.iter().flat_map(|batch| &batch.groups)
    }

    /// AND gates of all slots.
    pub fn ands(&self) -> usize {
        self.batches.iter().map(|batch| batch.ands).sum()
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

    /// A digest of what both must agree on.
    pub fn digest(&self) -> [u8; 32] {
        let mut digest = Digest::of("brickwork 2026-11 program with authenticated masks");
        digest.digest(&self.program.digest()).number(self.level.compared).length(self.level.tag);
        digest.length(BLOCK).length(self.batches.len());
        for Batch { ands, pool, groups, .. } in &self.batches {
            digest.length(*ands).length(pool.size).length(pool.bucket).length(groups.len());
        }
        digest.done()
    }
}
