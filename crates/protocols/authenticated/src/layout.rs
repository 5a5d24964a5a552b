//! What both parties know of a run before it begins: in which batches components are made, and how many leaky
//! ANDs each needs.

use std::ops::Range;

use brickwork_base::digest::Digest;
use brickwork_base::{Error, Party};
use brickwork_circuit::{Circuit, Program, Wire};

use crate::parameters::{BLOCK, Level, Pool, SIZES, Sizes};
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
    fn add(&mut self, slot: usize, circuit: &Circuit, sizes: Sizes) {
        let after = self.ands + circuit.and_gates();
        match self.groups.last_mut() {
            Some(last) if after - last.ands.start <= sizes.group => {
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
    pub sizes: Sizes,
    pub batches: Vec<Batch>,
}

/// What a cheater has instead of what the security asks for: then the bound is not looked at.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Forced {
    pub level: Option<Level>,
    pub pool: Option<Pool>,
    pub sizes: Option<Sizes>,
}

impl<'p> Layout<'p> {
    /// Lays out a program.
    ///
    /// # Errors
    /// [`Error::Input`] if an AND gate has an operand that does not depend on anything, [`Error::Usage`] for
    /// a security that is not offered, [`Error::Limit`] if a cheater would achieve more than the security
    /// allows.
    pub fn new(program: &'p Program, security: u32) -> Result<Self, Error> {
        Layout::forced(program, security, &Forced::default())
    }

    /// Does what [`Layout::new`] does, with what a cheater has instead.
    ///
    /// # Errors
    /// As [`Layout::new`].
    pub fn forced(program: &'p Program, security: u32, forced: &Forced) -> Result<Self, Error> {
        let Forced { level, pool, sizes } = *forced;
        let sizes = sizes.unwrap_or(SIZES);
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
                Some(last) if last.ands + circuit.and_gates() <= sizes.batch => {
                    last.add(k, circuit, sizes);
                }
                _ => {
                    batches.push(Batch::default());
                    batches.last_mut().expect("it was pushed").add(k, circuit, sizes);
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
        let layout = Layout { program, level, sizes, batches };
        if forced.level.is_none() && forced.pool.is_none() {
            layout.keeps_promise()?;
        }
        Ok(layout)
    }

    /// Refuses what would exceed the promise.
    ///
    /// # Errors
    /// [`Error::Limit`] if a cheater achieves more than 2^-s, by everything together.
    fn keeps_promise(&self) -> Result<(), Error> {
        let (bound, security) = (self.bound_log2(), self.level.security);
        if bound <= -f64::from(security) {
            return Ok(());
        }
        Err(Error::Limit(format!(
            "a cheater would succeed with probability up to 2^{bound:.1}, more than 2^-{security}; run the \
             program in parts"
        )))
    }

    /// Returns the base-2 logarithm of what a cheater achieves at most, by everything together: knows an
    /// inner bit of a triple of some pool, guesses t - 1 bits of an offset once (who guesses wrong ends the
    /// run), guesses the last bytes of a digest's tags on either side, contradicts itself in a call of the OT
    /// extension, or guesses an offset, which a mac or a digest of 128 bits asks for.
    pub fn bound_log2(&self) -> f64 {
        self.spent().iter().map(|(_, log2)| log2.exp2()).sum::<f64>().log2()
    }

    /// Returns the parts of the bound, each with what it is for.
    pub fn spent(&self) -> Vec<(&'static str, f64)> {
        let leaks = self.batches.iter().map(|batch| batch.pool.leaks_log2().exp2()).sum::<f64>().log2();
        let calls =
            self.batches.iter().map(|batch| 2 * batch.pool.draws(self.sizes, 0).count()).sum::<usize>()
                as f64;
        vec![
            ("leaky ANDs that fill a bucket", leaks),
            ("leaky ANDs that are compared", -f64::from(self.level.compared - 1)),
            ("tags of labels and of gates", 1.0 - (8.0 * self.level.tag as f64 - 1.0)),
            ("calls of the OT extension", calls.log2() - 115.0),
            ("macs of opened masks", (self.groups().count() as f64 + 3.0).log2() - 126.0),
        ]
    }

    /// Returns the number of inputs of a party.
    pub fn inputs(&self, party: Party) -> usize {
        self.program.input_width(party)
    }

    /// Returns the number of inputs of both.
    pub fn all_inputs(&self) -> usize {
        self.inputs(Party::Garbler) + self.inputs(Party::Evaluator)
    }

    /// Masks of a batch beside its triples: of inputs, which the first batch makes, of ports and AND gates.
    pub fn masks(&self, batch: usize) -> usize {
        let Batch { ports, ands, .. } = &self.batches[batch];
        ports + ands + if batch == 0 { self.all_inputs() } else { 0 }
    }

    /// Returns the circuit of a slot.
    pub fn circuit(&self, slot: usize) -> &'p Circuit {
        &self.program.component(self.program.slot(slot).component).circuit
    }

    /// Returns the wires of a party's inputs.
    pub fn input_wires(&self, party: Party) -> Range<usize> {
        let garblers = self.inputs(Party::Garbler);
        match party {
            Party::Garbler => 0..garblers,
            Party::Evaluator => garblers..self.all_inputs(),
        }
    }

    /// Returns the wires of the outputs that a party learns, port after port.
    pub fn outputs(&self, party: Party) -> impl Iterator<Item = usize> + '_ {
        let wires = self.program.outputs_of(party).flat_map(|port| &port.wires);
        wires.map(|&wire: &Wire| wire as usize)
    }

    /// Returns the number of input wires of all slots.
    pub fn ports(&self) -> usize {
        self.batches.iter().map(|batch| batch.ports).sum()
    }

    /// Returns all groups, batch after batch.
    pub fn groups(&self) -> impl Iterator<Item = &Group> {
        self.batches.iter().flat_map(|batch| &batch.groups)
    }

    /// Returns the number of AND gates of all slots.
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

    /// Returns a digest of what both must agree on.
    pub fn digest(&self) -> [u8; 32] {
        let mut digest = Digest::of("brickwork 2026-11 program with authenticated masks");
        digest.digest(&self.program.digest()).number(self.level.compared).length(self.level.tag);
        let Sizes { batch, group, piece } = self.sizes;
        digest.length(BLOCK).length(batch).length(group).length(piece).length(self.batches.len());
        for Batch { ports, ands, pool, groups } in &self.batches {
            digest.length(*ports).length(*ands).length(pool.size).length(pool.bucket).length(groups.len());
            for Group { slots, ports, ands } in groups {
                digest.length(slots.len()).length(*ports).length(ands.len());
            }
        }
        digest.done()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use brickwork_circuit::library::aes;

    /// The promise is a refusal, not a figure: buckets that leak more are not used, whoever chose them.
    #[test]
    fn what_exceeds_the_promise_is_refused() {
        let program = aes::aes_128().unwrap();
        for security in [40, 64, 80] {
            let layout = Layout::new(&program, security).unwrap();
            let Pool { size, bucket } = layout.batches[0].pool;
            assert!(layout.bound_log2() <= -f64::from(security));
            for (bucket, holds) in [(bucket, true), (bucket - 1, false)] {
                let pool = Some(Pool { size, bucket });
                let layout =
                    Layout::forced(&program, security, &Forced { pool, ..Forced::default() }).unwrap();
                let kept = layout.keeps_promise();
                assert!(if holds { kept.is_ok() } else { matches!(kept, Err(Error::Limit(_))) }, "{bucket}");
            }
        }
        let level = Level { tag: 5, ..Level::of(40).unwrap() };
        let short =
            Layout::forced(&program, 40, &Forced { level: Some(level), ..Forced::default() }).unwrap();
        assert!(matches!(short.keeps_promise(), Err(Error::Limit(_))));
    }

    /// Parties that would make components in other sizes, or other ports, do not meet.
    #[test]
    fn both_agree_on_sizes_and_ports() {
        let program = aes::aes_128().unwrap();
        let with = |sizes| {
            Layout::forced(&program, 40, &Forced { sizes: Some(sizes), ..Forced::default() })
                .unwrap()
                .digest()
        };
        assert_eq!(with(SIZES), Layout::new(&program, 40).unwrap().digest());
        assert_ne!(with(Sizes { group: SIZES.group / 2, ..SIZES }), with(SIZES));
        assert_ne!(with(Sizes { piece: SIZES.piece / 2, ..SIZES }), with(SIZES));
        assert_ne!(with(Sizes { batch: SIZES.batch / 2, ..SIZES }), with(SIZES));
    }
}
