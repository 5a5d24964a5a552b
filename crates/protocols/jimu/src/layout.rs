//! The layout of a program: the slots with garbled items, the sums between them, and for each wire the words
//! of which it is the sum. The layout depends only on public values.

use std::collections::{HashMap, VecDeque};

use brickwork_base::stop::looking;
use brickwork_base::{Error, Party};
use brickwork_circuit::{Circuit, Component, Gate, Program, Recipient};
use brickwork_primitives::ihash::WordStep;

use crate::parameters::{HashLevel, NONE, Sizes, Unit};

/// The kind of copies: AND gates, or copies of a component.
#[derive(Clone, Copy)]
pub(super) enum CopyKind<'p> {
    Gate,
    Component(&'p Component),
}

impl CopyKind<'_> {
    /// Returns the number of input wires.
    pub fn inputs(&self) -> usize {
        match self {
            CopyKind::Gate => 2,
            CopyKind::Component(component) => component.circuit.inputs(),
        }
    }

    /// Returns the number of output wires.
    pub fn outputs(&self) -> usize {
        match self {
            CopyKind::Gate => 1,
            CopyKind::Component(component) => component.circuit.outputs().len(),
        }
    }

    /// Returns whether each copy has its own offset.
    pub fn has_offsets(&self) -> bool {
        matches!(self, CopyKind::Component(_))
    }

    /// Returns the circuit of a component.
    pub fn circuit(&self) -> Option<&Circuit> {
        match self {
            CopyKind::Gate => None,
            CopyKind::Component(component) => Some(&component.circuit),
        }
    }
}

/// A place of the program where a bucket's copies are evaluated.
#[derive(Clone)]
pub(super) struct BucketSlot {
    /// The kind of its copies.
    pub kind: usize,
    /// The slot's number among the slots of its kind.
    pub place: usize,
    /// The position of its operands in [`Layout::operands`].
    operands: usize,
    /// The number of the slot's first output wire in the circuit. The others follow.
    pub output: usize,
}

/// The wires and slots that can be computed after the earlier layers.
#[derive(Clone, Default)]
pub(super) struct ItemLayer {
    /// Wires that are sums or negations of others, in order.
    pub sums: Vec<u32>,
    /// Slots, sorted by kind.
    pub slots: Vec<u32>,
}

/// The number of items that are made and hashed before the challenge.
#[derive(Clone)]
pub(super) struct Supply<'p> {
    pub sizes: Sizes,
    pub kinds: Vec<CopyKind<'p>>,
    /// The number of input wires of the garbler.
    pub inputs: usize,
    /// The number of slot outputs with words of their own, which only components have. A gate's output has
    /// the word of the first gate of its bucket.
    pub slot_wires: usize,
    /// The number of OTs for the evaluator's inputs.
    pub ots: usize,
}

impl Supply<'_> {
    /// Returns the hashes' sizes and security.
    pub fn level(&self) -> &HashLevel {
        &self.sizes.level
    }

    /// Returns the unit of the cut-and-choose.
    pub fn unit(&self) -> Unit {
        self.sizes.unit
    }

    /// Returns the number of checked combinations of choices; each needs one more OT.
    pub fn combinations(&self) -> usize {
        self.level().checking_ots()
    }
}

/// A program, and the items that a session makes for it. Wires of the circuit are numbered in this order: the
/// constant 1 for negations, the garbler's inputs, the evaluator's inputs, then outputs of slots and sums in
/// the order of the program.
#[derive(Clone)]
pub(super) struct Layout<'p> {
    pub program: &'p Program,
    supply: Supply<'p>,
    /// For each kind, the component's digest, or zeros for the gate.
    digests: Vec<[u8; 32]>,
    pub slots: Vec<BucketSlot>,
    operands: Vec<u32>,
    /// For each wire, how it follows from the given words: the constant, the inputs, and the outputs of
    /// slots.
    pub steps: Vec<WordStep>,
    /// The layers, which are evaluated one after another.
    pub layers: Vec<ItemLayer>,
    outputs: Vec<(u32, Recipient)>,
}

impl<'p> std::ops::Deref for Layout<'p> {
    type Target = Supply<'p>;

    fn deref(&self) -> &Supply<'p> {
        &self.supply
    }
}

/// A layout in progress.
struct Maker {
    slots: Vec<BucketSlot>,
    operands: Vec<u32>,
    steps: Vec<WordStep>,
    /// For each wire, the layer after which its label is known.
    levels: Vec<u32>,
    layers: Vec<ItemLayer>,
    given: u32,
    /// The number of slots of each kind.
    places: Vec<usize>,
}

impl Maker {
    fn given(&mut self, level: u32) -> u32 {
        self.steps.push(WordStep::Given(self.given));
        self.given += 1;
        self.levels.push(level);
        self.steps.len() as u32 - 1
    }

    fn sum(&mut self, a: u32, b: u32) -> u32 {
        let wire = self.steps.len() as u32;
        let level = self.levels[a as usize].max(self.levels[b as usize]);
        self.steps.push(WordStep::Sum(a, b));
        self.levels.push(level);
        self.layer(level).sums.push(wire);
        wire
    }

    fn layer(&mut self, level: u32) -> &mut ItemLayer {
        let level = level as usize;
        self.layers.resize_with(self.layers.len().max(level + 1), ItemLayer::default);
        &mut self.layers[level]
    }

    /// Adds a slot with `outputs` outputs; returns the first of them.
    fn slot(&mut self, kind: usize, operands: impl Iterator<Item = u32>, outputs: usize) -> u32 {
        let first = self.operands.len();
        self.operands.extend(operands);
        let level = self.operands[first..].iter().map(|&wire| self.levels[wire as usize]).max().unwrap_or(0);
        let output = self.steps.len();
        let slot = BucketSlot { kind, place: self.places[kind], operands: first, output };
        self.places[kind] += 1;
        let number = self.slots.len() as u32;
        self.layer(level).slots.push(number);
        self.slots.push(slot);
        (0..outputs).for_each(|_| _ = self.given(level + 1));
        output as u32
    }

    /// Computes a circuit gate by gate on these wires. Returns its outputs.
    fn inline(&mut self, circuit: &Circuit, inputs: Vec<u32>) -> Vec<u32> {
        let mut wires = inputs;
        wires.reserve(circuit.gate_count());
        for gate in looking(circuit.gates()) {
            let at = |wire: u32| wires[wire as usize];
            let wire = match gate {
                Gate::Xor(a, b) => self.sum(at(a), at(b)),
                Gate::Inv(a) => self.sum(at(a), 0),
                Gate::And(a, b) => self.slot(0, [at(a), at(b)].into_iter(), 1),
            };
            wires.push(wire);
        }
        circuit.outputs().iter().map(|&wire| wires[wire as usize]).collect()
    }
}

impl<'p> Layout<'p> {
    /// Lays out a program. `sizes` replaces the secure sizes; only a cheater gives them.
    ///
    /// # Errors
    /// [`Error::Limit`] if the program has too many wires; otherwise as [`Sizes::choose`].
    pub fn new(program: &'p Program, unit: Unit, security: u32, sizes: Option<Sizes>) -> Result<Self, Error> {
        Self::of(program, unit, |slots| match sizes {
            Some(sizes) => Ok(sizes),
            None => Sizes::choose(security, unit, slots),
        })
    }

    /// Lays out a program whose slots will use items from stock. The cut-and-choose of these items is not
    /// known yet.
    ///
    /// # Errors
    /// As [`Layout::new`].
    pub fn from_stock(program: &'p Program, unit: Unit, level: HashLevel) -> Result<Self, Error> {
        Self::of(program, unit, |slots| Ok(Sizes { level, unit, copies: vec![NONE; slots.len()] }))
    }

    /// Returns the number of slots of each kind.
    pub fn slots_by_kind(&self) -> Vec<usize> {
        (0..self.kinds.len()).map(|kind| self.slots_of(kind).count()).collect()
    }

    /// Returns the kind with this digest: a component's digest, or zeros for the gate.
    pub fn kind_of(&self, digest: &[u8; 32]) -> Option<&CopyKind<'p>> {
        self.digests.iter().position(|of_kind| of_kind == digest).map(|kind| &self.kinds[kind])
    }

    /// Assigns batches to the slots. Each batch has the digest of its kind and a number of buckets, which
    /// fill the next slots of that kind. Each batch becomes a kind of its own.
    ///
    /// # Errors
    /// [`Error::Stock`] if the number of buckets of a kind differs from its slots.
    pub fn take(&mut self, batches: &[([u8; 32], usize)]) -> Result<(), Error> {
        let other =
            || Error::Stock("the stock has another number of buckets than the program has slots".into());
        let mut kinds = Vec::with_capacity(batches.len());
        let mut places: HashMap<[u8; 32], VecDeque<(usize, usize)>> = HashMap::new();
        for (batch, (digest, count)) in batches.iter().enumerate() {
            kinds.push(*self.kind_of(digest).ok_or_else(other)?);
            places.entry(*digest).or_default().extend((0..*count).map(|place| (batch, place)));
        }
        for slot in &mut self.slots {
            let left = places.get_mut(&self.digests[slot.kind]).and_then(VecDeque::pop_front);
            (slot.kind, slot.place) = left.ok_or_else(other)?;
        }
        if places.values().any(|left| !left.is_empty()) {
            return Err(other());
        }
        let slots = &self.slots;
        self.layers.iter_mut().for_each(|layer| layer.slots.sort_by_key(|&slot| slots[slot as usize].kind));
        self.supply.kinds = kinds;
        self.digests = batches.iter().map(|(digest, _)| *digest).collect();
        Ok(())
    }

    fn of(
        program: &'p Program,
        unit: Unit,
        sizes: impl FnOnce(&[u32]) -> Result<Sizes, Error>,
    ) -> Result<Self, Error> {
        let is_garbled =
            |component: &Component| unit == Unit::Components && component.circuit.and_gates() > 0;
        // For each component, the kind of its copies. A component without AND gates has no copies.
        let mut kinds = if unit == Unit::Gates { vec![CopyKind::Gate] } else { Vec::new() };
        let mut digests = vec![[0; 32]; kinds.len()];
        let used = program.slots_by_component();
        let kind_of: Vec<Option<usize>> = program
            .components()
            .iter()
            .zip(program.component_digests())
            .zip(&used)
            .map(|((component, digest), &slots)| {
                (slots > 0 && is_garbled(component)).then(|| {
                    kinds.push(CopyKind::Component(component));
                    digests.push(*digest);
                    kinds.len() - 1
                })
            })
            .collect();
        countable(program, unit, &kind_of)?;
        let mut maker = Maker {
            slots: Vec::new(),
            operands: Vec::new(),
            steps: Vec::new(),
            levels: Vec::new(),
            layers: vec![ItemLayer::default()],
            given: 0,
            places: vec![0; kinds.len()],
        };
        maker.given(0);
        let inputs = [Party::Garbler, Party::Evaluator].map(|party| program.input_width(party)).iter().sum();
        let mut wires: Vec<u32> = Vec::with_capacity(program.wires());
        (0..inputs).for_each(|_: usize| wires.push(maker.given(0)));
        for slot in looking(program.slots()) {
            let operands = slot.inputs.iter().map(|&wire| wires[wire as usize]);
            let circuit = &program.component(slot.component).circuit;
            match kind_of[slot.component.0 as usize] {
                Some(kind) => {
                    let operands: Vec<u32> = operands.collect();
                    let outputs = circuit.outputs().len();
                    let first = maker.slot(kind, operands.into_iter(), outputs);
                    wires.extend(first..first + outputs as u32);
                }
                None => {
                    let operands = operands.collect();
                    let outputs = maker.inline(circuit, operands);
                    wires.extend(outputs);
                }
            }
        }
        let outputs = program.outputs().iter();
        let outputs = outputs.flat_map(|port| port.wires.iter().map(|&wire| (wires[wire as usize], port.to)));
        let outputs: Vec<(u32, Recipient)> = outputs.collect();
        let Maker { slots, operands, steps, mut layers, places, .. } = maker;
        for layer in &mut layers {
            layer.slots.sort_by_key(|&slot| slots[slot as usize].kind);
        }
        let count = |count: usize| {
            u32::try_from(count).map_err(|_| Error::Limit("the program has too many wires".into()))
        };
        let places = places.iter().map(|&slots| count(slots)).collect::<Result<Vec<_>, _>>()?;
        let sizes = sizes(&places)?;
        let slot_wires = match unit {
            Unit::Gates => 0,
            Unit::Components => slots.iter().map(|slot| kinds[slot.kind].outputs()).sum(),
        };
        let [inputs, ots] = [Party::Garbler, Party::Evaluator].map(|party| program.input_width(party));
        let supply = Supply { sizes, kinds, inputs, slot_wires, ots };
        Ok(Layout { program, supply, digests, slots, operands, steps, layers, outputs })
    }

    /// Returns the number of inputs of a party.
    pub fn inputs(&self, party: Party) -> usize {
        self.program.input_width(party)
    }

    /// Returns the wires of a party's inputs.
    pub fn input_wires(&self, party: Party) -> std::ops::Range<usize> {
        let (first, second) = (self.inputs(Party::Garbler), self.inputs(Party::Evaluator));
        match party {
            Party::Garbler => 1..1 + first,
            Party::Evaluator => 1 + first..1 + first + second,
        }
    }

    /// Returns the wires that a slot reads.
    pub fn operands(&self, slot: &BucketSlot) -> &[u32] {
        &self.operands[slot.operands..][..self.kinds[slot.kind].inputs()]
    }

    /// Returns the slots of a kind, in the order of their places.
    pub fn slots_of(&self, kind: usize) -> impl Iterator<Item = &BucketSlot> {
        self.slots.iter().filter(move |slot| slot.kind == kind)
    }

    /// Returns the wires of the outputs that a party learns, port after port.
    pub fn outputs(&self, party: Party) -> impl Iterator<Item = usize> {
        self.outputs.iter().filter(move |(_, to)| to.includes(party)).map(|&(wire, _)| wire as usize)
    }

    /// Returns the two wires whose sum a wire is.
    ///
    /// # Panics
    /// If the wire is an output of a slot or an input.
    pub fn sum(&self, wire: u32) -> [usize; 2] {
        match self.steps[wire as usize] {
            WordStep::Sum(a, b) => [a as usize, b as usize],
            WordStep::Given(_) => panic!("a sum"),
        }
    }

    /// Returns the wires of the garbler's inputs and of the garbler's outputs. An evaluator that knows Δ can
    /// read the bits of these wires.
    pub fn readable(&self) -> impl Iterator<Item = usize> {
        self.input_wires(Party::Garbler).chain(self.outputs(Party::Garbler))
    }

    /// Checks the length of a party's input.
    ///
    /// # Errors
    /// [`Error::Input`] if it has another length.
    pub fn takes(&self, party: Party, input: &[bool]) -> Result<(), Error> {
        match self.inputs(party) {
            width if width == input.len() => Ok(()),
            width => Err(Error::Input(format!("the program takes {width} input bits, not {}", input.len()))),
        }
    }

    /// Returns a digest of everything on which both parties must agree.
    pub fn digest(&self) -> [u8; 32] {
        let mut hasher = blake3::Hasher::new_derive_key("brickwork 2026-11 JIMU program");
        hasher.update(&self.program.digest()).update(&[self.unit() as u8]);
        for bucketing in &self.sizes.copies {
            for count in [bucketing.slots, bucketing.bucket, bucketing.opened] {
                hasher.update(&count.to_le_bytes());
            }
        }
        *hasher.finalize().as_bytes()
    }
}

/// Returns an error if the program has too many wires. Gates outside of garbled components count as well.
fn countable(program: &Program, unit: Unit, kinds: &[Option<usize>]) -> Result<(), Error> {
    let mut wires = program.wires() as u64 + 1;
    for ((component, slots), kind) in program.components().iter().zip(program.slots_by_component()).zip(kinds)
    {
        let gates = if kind.is_some() { 0 } else { component.circuit.gate_count() as u64 };
        let operands = component.circuit.inputs() as u64;
        wires = wires.saturating_add((gates + operands).saturating_mul(slots as u64));
    }
    match wires < 1 << 31 {
        true => Ok(()),
        false => Err(Error::Limit(format!(
            "the program has too many wires for one session with {}; split it into several programs",
            unit.name()
        ))),
    }
}
