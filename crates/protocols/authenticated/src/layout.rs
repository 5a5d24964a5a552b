//! The facts of a run that both parties know: the lots in which components are made, and the number of leaky
//! ANDs of each lot.
//!
//! Components are made without regard to their places in the program. All copies of a component are made one
//! after the other, and slots take them in order.

use std::ops::Range;

use brickwork_base::digest::Digest;
use brickwork_base::stop::looking;
use brickwork_base::{Error, Party};
use brickwork_circuit::{Circuit, Component, Program, Wire};
use brickwork_primitives::ot::Cot;
use brickwork_protocol::steps::Step;

use crate::parameters::{
    LotBudget, LotOrigin, MaskDraws, SIZES, Sizes, StatisticalLengths, TriplePool, counted_calls,
};
use crate::walk::constant_operand;

/// Copies of one component that are made together: one message opens their masks, and one has their tables.
#[derive(Clone, Debug)]
pub(super) struct ComponentPart {
    /// The number of the component.
    pub component: usize,
    pub copies: usize,
    /// The positions of their AND gates among the gates of the lot.
    pub ands: Range<usize>,
}

/// Components that share a pool of triples, and the masks of inputs that are drawn with it.
#[derive(Clone, Debug, Default)]
pub(super) struct Lot {
    pub parts: Vec<ComponentPart>,
    /// The number of masks for inputs of programs.
    pub inputs: usize,
    /// The number of input wires of all copies.
    pub ports: usize,
    /// The number of AND gates of all copies.
    pub ands: usize,
    /// The pool of triples for the AND gates.
    pub pool: TriplePool,
}

/// Returns how many copies of a component form a part: as many as fit, a multiple of four if it is possible.
fn copies_of_a_part(circuit: &Circuit, sizes: Sizes) -> usize {
    let each = circuit.and_gates().max(circuit.inputs().max(circuit.outputs().len()) / 4).max(1);
    match (sizes.part / each).max(1) {
        few @ 1..4 => few,
        many => many / 4 * 4,
    }
}

impl Lot {
    fn add(&mut self, component: usize, circuit: &Circuit, copies: usize, sizes: Sizes) {
        let at_once = copies_of_a_part(circuit, sizes);
        for first in (0..copies).step_by(at_once) {
            let copies = at_once.min(copies - first);
            let ands = self.ands..self.ands + copies * circuit.and_gates();
            self.ands = ands.end;
            self.ports += copies * circuit.inputs();
            self.parts.push(ComponentPart { component, copies, ands });
        }
    }

    /// Adds everything that defines this lot to a digest.
    pub fn add_to(&self, digest: &mut Digest) {
        let Lot { parts, inputs, ports, ands, pool } = self;
        digest.length(*inputs).length(*ports).length(*ands).length(pool.size).length(pool.bucket);
        digest.length(parts.len());
        for ComponentPart { component, copies, ands } in parts {
            digest.length(*component).length(*copies).length(ands.len());
        }
    }

    /// Returns the figures of this lot that a bound depends on, if its masks come from these OTs.
    pub fn origin(&self, sizes: Sizes, cot: Cot) -> LotOrigin {
        let draws = self.draws(sizes);
        let calls = counted_calls(cot, draws.count(), draws.total());
        LotOrigin { pool: self.pool, calls, openings: self.parts.len() as u64 }
    }

    /// Returns the portions in which the masks of this lot are drawn.
    pub fn draws(&self, sizes: Sizes) -> MaskDraws {
        let masks = self.inputs + self.ports + self.ands;
        MaskDraws { leaky: self.pool.leaky_ands(), masks, portion: sizes.portion }
    }
}

/// About the most input wires of the copies of a lot, which bound the memory for a lot of copies with few AND
/// gates. A single copy may have more.
const PORTS_OF_A_LOT: usize = 1 << 21;

/// Puts copies of components into lots of about the same size. An item is a circuit and a number of copies.
pub(super) fn lots<'c>(
    components: impl Iterator<Item = (&'c Circuit, usize)> + Clone,
    sizes: Sizes,
) -> Vec<Lot> {
    let all: usize = components.clone().map(|(circuit, copies)| circuit.and_gates() * copies).sum();
    // The number of lots with which their size is nearest to `sizes.lot`. Smaller lots would need larger
    // buckets.
    let target = all.div_ceil(((all + sizes.lot / 2) / sizes.lot).max(1));
    let mut lots = vec![Lot::default()];
    for (component, (circuit, mut copies)) in components.enumerate() {
        while copies > 0 {
            let last = lots.last_mut().expect("the list of lots is never empty");
            let fits = |left: usize, each: usize| match each {
                0 => copies,
                each => copies.min(left.div_ceil(each)),
            };
            let ands = fits(target.saturating_sub(last.ands), circuit.and_gates());
            let here = ands.min(fits(PORTS_OF_A_LOT.saturating_sub(last.ports), circuit.inputs()));
            last.add(component, circuit, here, sizes);
            copies -= here;
            if here == 0 {
                lots.push(Lot::default());
            }
        }
    }
    lots
}

/// The largest number of masks of inputs that a lot has.
const INPUTS_OF_A_LOT: usize = 1 << 20;

/// Adds masks for this many inputs to lots, and further lots if these are too few.
pub(super) fn add_inputs(lots: &mut Vec<Lot>, inputs: usize) {
    for (k, first) in (0..inputs).step_by(INPUTS_OF_A_LOT).enumerate() {
        if k == lots.len() {
            lots.push(Lot::default());
        }
        lots[k].inputs = (inputs - first).min(INPUTS_OF_A_LOT);
    }
}

/// A program with the counts that a run of it needs.
pub(super) struct Layout<'p> {
    pub program: &'p Program,
    pub digests: Vec<[u8; 32]>,
    /// For each component the first component that computes the same. Both components use the same copies.
    pub kinds: Vec<usize>,
    /// The number of copies that slots take, counted at the first of equal components.
    pub copies: Vec<usize>,
    /// The number of input wires of all slots.
    pub ports: usize,
    /// The number of AND gates of all slots.
    pub ands: usize,
    /// The sources of the masks and the labels of all input wires, in order: ranges of wires whose sources
    /// follow each other, with the source of the first.
    sources: Vec<(Range<usize>, InputSource)>,
    /// The input wires for which the garbler, and for which the evaluator, gives a bit.
    given: [Vec<Range<usize>>; 2],
}

/// The source of an input wire's mask and label.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum InputSource {
    /// A fresh input mask, by its number; the garbler's inputs have the first numbers.
    Fresh(usize),
    /// A value that an earlier step kept: its number, and the wire within it.
    Kept(u64, usize),
}

/// The sizes and lots by which the components of a run are made.
pub(super) struct MakingPlan {
    pub level: StatisticalLengths,
    /// The kind of OTs that masks come from.
    pub cot: Cot,
    pub sizes: Sizes,
    pub lots: Vec<Lot>,
    /// The openings of masks apart from those for triples.
    pub openings: u64,
}

/// Sizes that a test uses in place of secure ones. The bound is not checked for them.
#[derive(Clone, Copy, Debug, Default)]
pub struct Forced {
    /// The lengths.
    pub level: Option<StatisticalLengths>,
    /// The pool of each lot.
    pub pool: Option<TriplePool>,
    /// Sizes of lots, parts and portions.
    pub sizes: Option<Sizes>,
    /// True if the cheater ignores its own failed checks, which its lies may cause.
    pub looks_away: bool,
}

impl Forced {
    /// Returns the lengths for a statistical security.
    ///
    /// # Errors
    /// As [`StatisticalLengths::of`].
    pub fn level_of(&self, security: u32) -> Result<StatisticalLengths, Error> {
        self.level.map_or_else(|| StatisticalLengths::of(security), Ok)
    }

    /// Returns the sizes of lots, parts and portions.
    pub fn sizes(&self) -> Sizes {
        self.sizes.unwrap_or(SIZES)
    }

    /// Returns a pool for this many triples. All such pools together, however many there are, leak with
    /// probability at most 2^-`bits`.
    pub fn pool(&self, triples: usize, bits: f64) -> TriplePool {
        match self.pool {
            Some(pool) if triples > 0 => TriplePool { size: pool.size.max(triples), ..pool },
            _ => TriplePool::choose(triples, bits),
        }
    }
}

/// Returns an error for a component with a constant operand, because no mask can hide it.
///
/// # Errors
/// [`Error::Input`] if an AND gate has a constant operand.
pub(super) fn can_be_masked(component: &Component) -> Result<(), Error> {
    match constant_operand(&component.circuit) {
        None => Ok(()),
        Some(gate) => Err(Error::Input(format!(
            "AND gate {gate} of component {} has a constant operand, which authenticated masks cannot hide; \
             fold constants, or give --protocol duplo",
            component.name,
        ))),
    }
}

impl<'p> Layout<'p> {
    /// Checks the components of a program and counts its ports and gates.
    ///
    /// # Errors
    /// [`Error::Input`] if an AND gate has a constant operand.
    pub fn new(program: &'p Program) -> Result<Self, Error> {
        let components = program.components();
        components.iter().try_for_each(can_be_masked)?;
        let digests: Vec<[u8; 32]> = components.iter().map(Component::digest).collect();
        let first = |digest: &[u8; 32]| digests.iter().position(|other| other == digest);
        let kinds: Vec<usize> = digests
            .iter()
            .map(|digest| first(digest).expect("the list has the digest of each component"))
            .collect();
        let widths = [Party::Garbler, Party::Evaluator].map(|party| program.input_width(party));
        let all = widths[0] + widths[1];
        let sources = vec![(0..all, InputSource::Fresh(0))];
        let given = [0..widths[0], widths[0]..all].map(|wires| vec![wires]);
        let copies = vec![0; components.len()];
        let mut layout = Layout { program, digests, kinds, copies, ports: 0, ands: 0, sources, given };
        for (k, slots) in program.slots_by_component().into_iter().enumerate() {
            let circuit = &components[k].circuit;
            layout.copies[layout.kinds[k]] += slots;
            layout.ports += slots * circuit.inputs();
            layout.ands += slots * circuit.and_gates();
        }
        Ok(layout)
    }

    /// Lays out a step of a session. Kept values need no fresh masks.
    ///
    /// # Errors
    /// As [`Layout::new`].
    pub fn of_step(step: &'p Step) -> Result<Self, Error> {
        let mut layout = Layout::new(step.program())?;
        let (mut wire, mut fresh) = (0, 0);
        layout.given[0].clear();
        layout.sources.clear();
        for (width, secret) in step.garbler_ports() {
            let wires = wire..wire + width;
            wire = wires.end;
            match secret {
                Some(secret) => layout.sources.push((wires, InputSource::Kept(secret.number(), 0))),
                None => {
                    layout.sources.push((wires.clone(), InputSource::Fresh(fresh)));
                    fresh += width;
                    layout.given[0].push(wires);
                }
            }
        }
        let evaluators = layout.given[1].iter().cloned();
        layout.sources.extend(evaluators.map(|wires| (wires, InputSource::Fresh(fresh))));
        Ok(layout)
    }

    /// Returns the circuit and the digest of each component.
    pub fn components(&self) -> impl Iterator<Item = (&'p Circuit, [u8; 32])> {
        self.circuits().zip(self.digests.iter().copied())
    }

    pub fn circuits(&self) -> impl Iterator<Item = &'p Circuit> + Clone {
        self.program.components().iter().map(|component| &*component.circuit)
    }

    /// Returns the circuit and the number of copies of each component.
    pub fn counted(&self) -> impl Iterator<Item = (&'p Circuit, usize)> + Clone {
        self.circuits().zip(self.copies.iter().copied())
    }

    /// Returns the number of input bits that a party gives.
    pub fn inputs(&self, party: Party) -> usize {
        self.given[party as usize].iter().map(Range::len).sum()
    }

    /// Returns the number of input bits that both parties give together.
    pub fn all_inputs(&self) -> usize {
        self.inputs(Party::Garbler) + self.inputs(Party::Evaluator)
    }

    /// Returns the wires of the input bits that a party gives.
    pub fn input_wires(&self, party: Party) -> impl Iterator<Item = usize> + '_ {
        self.given[party as usize].iter().cloned().flatten()
    }

    /// Returns the source of the mask and the label of each input wire. Fresh ones are in the order of their
    /// numbers.
    pub fn sources(&self) -> impl Iterator<Item = InputSource> + '_ {
        let each = |(wires, first): &(Range<usize>, InputSource)| {
            let first = *first;
            (0..wires.len()).map(move |k| match first {
                InputSource::Fresh(number) => InputSource::Fresh(number + k),
                InputSource::Kept(number, _) => InputSource::Kept(number, k),
            })
        };
        looking(self.sources.iter().flat_map(each))
    }

    /// Returns the number of openings of masks of inputs and outputs.
    fn openings(&self) -> u64 {
        let [x, y] = [Party::Garbler, Party::Evaluator];
        let all = [self.inputs(x), self.inputs(y), self.outputs(x).count(), self.outputs(y).count()];
        all.into_iter().map(openings).sum()
    }

    /// Returns the wires of the outputs that a party learns, in the order of the ports.
    pub fn outputs(&self, party: Party) -> impl Iterator<Item = usize> + '_ {
        let wires = self.program.outputs_of(party).flat_map(|port| &port.wires);
        wires.map(|&wire: &Wire| wire as usize)
    }

    /// Checks the length of a party's input.
    ///
    /// # Errors
    /// [`Error::Input`] if the length is wrong.
    pub fn takes(&self, party: Party, input: &[bool]) -> Result<(), Error> {
        match self.inputs(party) {
            width if width == input.len() => Ok(()),
            width => Err(Error::Input(format!("the program takes {width} input bits, not {}", input.len()))),
        }
    }
}

impl MakingPlan {
    /// Plans all items that one run of a program needs.
    ///
    /// # Errors
    /// [`Error::Usage`] for a security other than 40, 64 or 80. [`Error::Limit`] if a cheater would succeed
    /// with probability above 2^-s.
    pub fn of(layout: &Layout, security: u32, cot: Cot) -> Result<Self, Error> {
        MakingPlan::forced(layout, security, cot, &Forced::default())
    }

    /// Does the same as [`MakingPlan::of`], with sizes that a test forces.
    ///
    /// # Errors
    /// As [`MakingPlan::of`].
    pub fn forced(layout: &Layout, security: u32, cot: Cot, forced: &Forced) -> Result<Self, Error> {
        let (level, sizes) = (forced.level_of(security)?, forced.sizes());
        let mut lots = lots(layout.counted(), sizes);
        add_inputs(&mut lots, layout.all_inputs());
        for lot in &mut lots {
            lot.pool = forced.pool(lot.ands, f64::from(level.security));
        }
        let making = MakingPlan { level, cot, sizes, lots, openings: layout.openings() };
        if forced.level.is_none() && forced.pool.is_none() {
            making.keeps_promise()?;
        }
        Ok(making)
    }

    /// Returns an error for sizes that break the promise.
    ///
    /// # Errors
    /// [`Error::Limit`] if the sum of all parts of the bound exceeds 2^-s.
    fn keeps_promise(&self) -> Result<(), Error> {
        let (bound, security) = (self.budget().log2(), self.level.security);
        if bound <= -f64::from(security) {
            return Ok(());
        }
        Err(Error::Limit(format!(
            "a cheater would succeed with probability up to 2^{bound:.1}, more than 2^-{security}; run the \
             program in parts"
        )))
    }

    /// Returns the bound on a cheater's success.
    pub fn budget(&self) -> LotBudget {
        let origins = self.lots.iter().map(|lot| lot.origin(self.sizes, self.cot));
        LotBudget::of(self.level, origins, self.openings)
    }

    /// Returns a digest of everything that both parties must agree on.
    pub fn digest(&self, program: &Program) -> [u8; 32] {
        let mut digest = Digest::of("brickwork 2026-11 program with authenticated masks");
        digest.digest(&program.digest()).number(self.level.compared).length(self.level.tag);
        let Sizes { lot, part, portion } = self.sizes;
        digest.length(self.cot as usize).length(lot).length(part).length(portion).length(self.lots.len());
        self.lots.iter().for_each(|lot| lot.add_to(&mut digest));
        digest.done()
    }
}

/// The largest number of masks of inputs, or of outputs, that one message opens.
const AT_ONCE: usize = 1 << 20;

/// Returns the number of messages that open this many masks of inputs or outputs: at least one.
pub(super) fn openings(masks: usize) -> u64 {
    masks.div_ceil(AT_ONCE).max(1) as u64
}

/// Returns the number of masks in each message that opens masks of inputs or outputs.
pub(super) fn parts(masks: usize) -> impl Iterator<Item = usize> {
    (0..openings(masks) as usize).map(move |k| (masks - k * AT_ONCE).min(AT_ONCE))
}

#[cfg(test)]
mod tests {
    use super::*;
    use brickwork_circuit::library::aes;

    fn making(program: &Program, security: u32, cot: Cot, forced: Forced) -> MakingPlan {
        MakingPlan::forced(&Layout::new(program).unwrap(), security, cot, &forced).unwrap()
    }

    /// A program whose buckets or tags are too small for the promise is refused.
    #[test]
    fn what_exceeds_the_promise_is_refused() {
        let program = aes::aes_128().unwrap();
        for security in [40, 64, 80] {
            let made = making(&program, security, Cot::default(), Forced::default());
            let TriplePool { size, bucket } = made.lots[0].pool;
            assert!(made.budget().log2() <= -f64::from(security));
            for (bucket, holds) in [(bucket, true), (bucket - 1, false)] {
                let pool = Some(TriplePool { size, bucket });
                let kept = making(&program, security, Cot::default(), Forced { pool, ..Forced::default() });
                let kept = kept.keeps_promise();
                assert!(if holds { kept.is_ok() } else { matches!(kept, Err(Error::Limit(_))) }, "{bucket}");
            }
        }
        let level = Some(StatisticalLengths { tag: 5, ..StatisticalLengths::of(40).unwrap() });
        let short = making(&program, 40, Cot::default(), Forced { level, ..Forced::default() });
        assert!(matches!(short.keeps_promise(), Err(Error::Limit(_))));
    }

    /// Parties whose sizes or OTs differ have different digests, so their greetings do not match.
    #[test]
    fn both_agree_on_sizes_and_ots() {
        let program = aes::aes_128().unwrap();
        let with = |sizes| {
            let forced = Forced { sizes: Some(sizes), ..Forced::default() };
            making(&program, 40, Cot::default(), forced).digest(&program)
        };
        let of = |cot| making(&program, 40, cot, Forced::default()).digest(&program);
        assert_eq!(with(SIZES), of(Cot::default()));
        let digests = Cot::ALL.map(of);
        assert!((0..digests.len()).all(|k| !digests[..k].contains(&digests[k])));
        assert_ne!(with(Sizes { part: SIZES.part / 2, ..SIZES }), with(SIZES));
        assert_ne!(with(Sizes { portion: SIZES.portion / 2, ..SIZES }), with(SIZES));
        assert_ne!(with(Sizes { lot: SIZES.lot / 2, ..SIZES }), with(SIZES));
    }

    /// Copies with few or no AND gates are divided among several lots, too, so that the number of masks of a
    /// lot is limited.
    #[test]
    fn copies_without_and_gates_fill_lots() {
        use brickwork_circuit::Gate;
        let xor = Circuit::new(2, [Gate::Xor(0, 1)], vec![2]).unwrap();
        let wide = Circuit::new(1 << 10, [Gate::And(0, 1)], vec![1 << 10]).unwrap();
        let huge = Circuit::new(2 * PORTS_OF_A_LOT as u32, [Gate::Xor(0, 1)], vec![0]).unwrap();
        let copies = [(&xor, 5 * PORTS_OF_A_LOT / 2 + 1), (&wide, 3 << 11), (&huge, 2)];
        let lots = lots(copies.into_iter(), SIZES);
        for (component, (_, copies)) in copies.into_iter().enumerate() {
            let parts = lots.iter().flat_map(|lot| &lot.parts).filter(|part| part.component == component);
            assert_eq!(parts.map(|part| part.copies).sum::<usize>(), copies);
        }
        let (ports, most) = (lots.iter().map(|lot| lot.ports), PORTS_OF_A_LOT + (1 << 10));
        let many: Vec<usize> = ports.filter(|&ports| ports > most).collect();
        assert_eq!(many, [2 * PORTS_OF_A_LOT; 2], "only a single copy exceeds the bound");
    }

    /// The lots have about the same size, as near to the target as possible, and together hold all copies.
    #[test]
    fn lots_hold_all_components() {
        let aes = aes::aes_128().unwrap();
        for (executions, expected) in
            [(1, 1), (2, 1), (80, 1), (122, 1), (123, 2), (164, 2), (200, 2), (700, 9)]
        {
            let program = aes.repeat(executions).unwrap();
            let layout = Layout::new(&program).unwrap();
            let making = making(&program, 40, Cot::default(), Forced::default());
            assert_eq!(layout.ands as u64, program.and_gates());
            assert_eq!(making.lots.len(), expected, "{executions}");
            let copies: usize = making.lots.iter().flat_map(|lot| &lot.parts).map(|part| part.copies).sum();
            assert_eq!(copies, program.slot_count());
            for lot in &making.lots {
                assert!(lot.ands.abs_diff(layout.ands / making.lots.len()) <= 6400 * 2);
                assert!(lot.pool.size >= lot.ands);
                assert!(lot.pool.bucket == 3 || expected == 1);
            }
        }
    }
}
