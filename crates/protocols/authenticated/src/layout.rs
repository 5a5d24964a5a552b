//! What both parties know of a run before it begins: in which batches components are made, and how many leaky
//! ANDs each needs.
//!
//! How a program connects its components does not matter for how they are made: all copies of one are made
//! one after the other, and the first slot that wants one takes the first.

use std::ops::Range;

use brickwork_base::digest::Digest;
use brickwork_base::{Error, Party};
use brickwork_circuit::{Circuit, Program, Wire};
use brickwork_primitives::ot::Cot;

use crate::parameters::{Draws, Level, Pool, SIZES, Sizes, repeated_log2};
use crate::walk::constant_operand;

/// Copies of one component that are made together: their masks are opened and their tables sent together.
#[derive(Clone, Debug)]
pub(super) struct Part {
    /// Which component.
    pub component: usize,
    /// How many copies.
    pub copies: usize,
    /// Their AND gates, of those of the batch.
    pub ands: Range<usize>,
}

/// Components that share a pool of triples.
#[derive(Clone, Debug, Default)]
pub(super) struct Batch {
    pub parts: Vec<Part>,
    /// Masks for the program's inputs.
    pub inputs: usize,
    /// Input wires of all copies.
    pub ports: usize,
    /// AND gates of all copies.
    pub ands: usize,
    /// What triples are made of.
    pub pool: Pool,
}

/// Copies of a component whose masks are opened together: as many as go side by side, if there is room.
fn copies_of_a_part(circuit: &Circuit, sizes: Sizes) -> usize {
    let each = circuit.and_gates().max(circuit.inputs().max(circuit.outputs().len()) / 4).max(1);
    match (sizes.part / each).max(1) {
        few @ 1..4 => few,
        many => many / 4 * 4,
    }
}

impl Batch {
    /// Adds copies of a component.
    fn add(&mut self, component: usize, circuit: &Circuit, copies: usize, sizes: Sizes) {
        let at_once = copies_of_a_part(circuit, sizes);
        for first in (0..copies).step_by(at_once) {
            let copies = at_once.min(copies - first);
            let ands = self.ands..self.ands + copies * circuit.and_gates();
            self.ands = ands.end;
            self.ports += copies * circuit.inputs();
            self.parts.push(Part { component, copies, ands });
        }
    }

    /// Returns in which pieces its masks are drawn.
    pub fn draws(&self, sizes: Sizes) -> Draws {
        let masks = self.inputs + self.ports + self.ands;
        Draws { leaky: self.pool.leaky_ands(), masks, piece: sizes.piece }
    }
}

/// Puts components, with how many copies of each, into batches of about the same size.
fn batches<'c>(components: impl Iterator<Item = (&'c Circuit, usize)> + Clone, sizes: Sizes) -> Vec<Batch> {
    let all: usize = components.clone().map(|(circuit, copies)| circuit.and_gates() * copies).sum();
    let target = all.div_ceil(all.div_ceil(sizes.batch).max(1));
    let mut batches = vec![Batch::default()];
    for (component, (circuit, mut copies)) in components.enumerate() {
        while copies > 0 {
            let last = batches.last_mut().expect("there is always one");
            let here = match circuit.and_gates() {
                0 => copies,
                ands => copies.min(target.saturating_sub(last.ands).div_ceil(ands)),
            };
            last.add(component, circuit, here, sizes);
            copies -= here;
            if here == 0 {
                batches.push(Batch::default());
            }
        }
    }
    batches
}

/// A program, and what is made for it.
pub(super) struct Layout<'p> {
    pub program: &'p Program,
    pub level: Level,
    /// What masks are made of.
    pub cot: Cot,
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

/// Refuses a component that has an operand which masks cannot hide.
///
/// # Errors
/// [`Error::Input`] if an AND gate has an operand that does not depend on anything.
fn can_be_masked(name: &str, circuit: &Circuit) -> Result<(), Error> {
    match constant_operand(circuit) {
        None => Ok(()),
        Some(gate) => Err(Error::Input(format!(
            "AND gate {gate} of component {name} has an operand that is the same whatever the inputs, which \
             authenticated masks cannot hide; fold constants, or take --protocol duplo",
        ))),
    }
}

impl<'p> Layout<'p> {
    /// Lays out a program.
    ///
    /// # Errors
    /// [`Error::Input`] if an AND gate has an operand that does not depend on anything, [`Error::Usage`] for
    /// a security that is not offered, [`Error::Limit`] if a cheater would achieve more than the security
    /// allows.
    pub fn new(program: &'p Program, security: u32, cot: Cot) -> Result<Self, Error> {
        Layout::forced(program, security, cot, &Forced::default())
    }

    /// Does what [`Layout::new`] does, with what a cheater has instead.
    ///
    /// # Errors
    /// As [`Layout::new`].
    pub fn forced(program: &'p Program, security: u32, cot: Cot, forced: &Forced) -> Result<Self, Error> {
        let Forced { level, pool, sizes } = *forced;
        let sizes = sizes.unwrap_or(SIZES);
        let level = level.map_or_else(|| Level::of(security), Ok)?;
        for component in program.components() {
            can_be_masked(&component.name, &component.circuit)?;
        }
        let copies = program.components().iter().map(|component| &*component.circuit);
        let mut batches = batches(copies.zip(program.slots_by_component()), sizes);
        batches[0].inputs = program.input_width(Party::Garbler) + program.input_width(Party::Evaluator);
        for batch in &mut batches {
            batch.pool = match pool {
                Some(pool) if batch.ands > 0 => Pool { size: pool.size.max(batch.ands), ..pool },
                _ => Pool::choose(batch.ands, f64::from(level.security)),
            };
        }
        let layout = Layout { program, level, cot, sizes, batches };
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
        let pools = || self.batches.iter().map(|batch| batch.pool).filter(|pool| pool.size > 0);
        let worst = pools().map(|pool| pool.leaks_log2()).fold(f64::NEG_INFINITY, f64::max);
        let repeated = pools().map(|pool| repeated_log2(pool.bucket)).fold(0.0, f64::max);
        let calls =
            self.batches.iter().map(|batch| 2 * batch.draws(self.sizes).count()).sum::<usize>() as f64;
        vec![
            ("leaky ANDs that fill a bucket", worst + repeated),
            ("leaky ANDs that are compared", -f64::from(self.level.compared - 1)),
            ("tags of labels and of gates", 1.0 - (8.0 * self.level.tag as f64 - 1.0)),
            ("calls of the OT extension", calls.log2() - 115.0),
            ("macs of opened masks", (self.parts().count() as f64 + 3.0).log2() - 126.0),
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

    /// Returns all parts, batch after batch.
    pub fn parts(&self) -> impl Iterator<Item = &Part> {
        self.batches.iter().flat_map(|batch| &batch.parts)
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
        let Sizes { batch, part, piece } = self.sizes;
        digest.length(self.cot as usize).length(batch).length(part).length(piece).length(self.batches.len());
        for Batch { parts, inputs, ports, ands, pool } in &self.batches {
            digest.length(*inputs).length(*ports).length(*ands).length(pool.size).length(pool.bucket);
            digest.length(parts.len());
            for Part { component, copies, ands } in parts {
                digest.length(*component).length(*copies).length(ands.len());
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
            let layout = Layout::new(&program, security, Cot::default()).unwrap();
            let Pool { size, bucket } = layout.batches[0].pool;
            assert!(layout.bound_log2() <= -f64::from(security));
            for (bucket, holds) in [(bucket, true), (bucket - 1, false)] {
                let pool = Some(Pool { size, bucket });
                let layout =
                    Layout::forced(&program, security, Cot::default(), &Forced { pool, ..Forced::default() })
                        .unwrap();
                let kept = layout.keeps_promise();
                assert!(if holds { kept.is_ok() } else { matches!(kept, Err(Error::Limit(_))) }, "{bucket}");
            }
        }
        let level = Level { tag: 5, ..Level::of(40).unwrap() };
        let short =
            Layout::forced(&program, 40, Cot::default(), &Forced { level: Some(level), ..Forced::default() })
                .unwrap();
        assert!(matches!(short.keeps_promise(), Err(Error::Limit(_))));
    }

    /// Parties that would make components in other sizes, or of other OTs, do not meet.
    #[test]
    fn both_agree_on_sizes_and_ots() {
        let program = aes::aes_128().unwrap();
        let with = |sizes| {
            Layout::forced(&program, 40, Cot::default(), &Forced { sizes: Some(sizes), ..Forced::default() })
                .unwrap()
                .digest()
        };
        assert_eq!(with(SIZES), Layout::new(&program, 40, Cot::default()).unwrap().digest());
        let digests = Cot::ALL.map(|cot| Layout::new(&program, 40, cot).unwrap().digest());
        assert!((0..4).all(|k| !digests[..k].contains(&digests[k])));
        assert_ne!(with(Sizes { part: SIZES.part / 2, ..SIZES }), with(SIZES));
        assert_ne!(with(Sizes { piece: SIZES.piece / 2, ..SIZES }), with(SIZES));
        assert_ne!(with(Sizes { batch: SIZES.batch / 2, ..SIZES }), with(SIZES));
    }

    /// Batches are of about the same size, and have all copies of all components.
    #[test]
    fn batches_hold_all_components() {
        let aes = aes::aes_128().unwrap();
        for executions in [1, 2, 80, 128, 200, 700] {
            let program = aes.repeat(executions).unwrap();
            let layout = Layout::new(&program, 40, Cot::default()).unwrap();
            let ands = layout.ands();
            assert_eq!(ands as u64, program.and_gates());
            assert_eq!(layout.batches.len(), ands.div_ceil(SIZES.batch));
            let copies: usize = layout.parts().map(|part| part.copies).sum();
            assert_eq!(copies, program.slot_count());
            for batch in &layout.batches {
                assert!(batch.ands.abs_diff(ands / layout.batches.len()) <= 6400 * 2, "{}", batch.ands);
                assert!(batch.pool.size >= batch.ands);
            }
        }
    }
}
