//! Build: buckets of the stock become the program. Slots are soldered to each other and to the inputs, outputs that only
//! the garbler learns to self-authenticating gadgets.
//!
//! ```text
//!   garbler -> evaluator    a soldering for each input wire of each slot and for each wire of G's own outputs
//! ```
//!
//! A proof settles what was claimed here, and what was claimed about the parts where they were made for this program alone.
//!
//! Were the solderings not checked against the commitments, a garbler could feed a slot from another wire than the
//! program says.

use std::ops::Range;

use rayon::prelude::*;
use zeroize::Zeroizing;

use super::ots::{EvaluatorOts, GarblerOts};
use super::prepare::{EvaluatorComponent, EvaluatorGadgets, GarblerComponent};
use super::preprocess::Shape;
use super::sessions::EvaluatorCore;
use super::stock::Parts;
use super::supply::{EvaluatorOpened, GarblerTold};
use super::{Error, Evaluator, EvaluatorParts, Garbler, GarblerParts, Point, msg};
use crate::circuit::{ComponentId, Party, Program, Recipient, Wire};
use crate::commit::{Claimed, Claims, Column, Committer, Holder, Proof, Shares};
use crate::label::{Delta, Label};
use crate::solder::{CommittedWire, Soldering};

/// Labels that are shown to their authenticators together.
const LABELS_AT_ONCE: usize = 1 << 16;

/// Where the label of a global wire lives: on a bucket of authenticators, or, of the evaluator's inputs, on the wire of an OT.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Home {
    /// Which set: the authenticators of a batch's outputs, behind them those of a pool, and last the OTs.
    pub set: u32,
    pub bucket: u32,
}

/// Slots that one batch fills.
pub(super) struct Owner {
    pub component: ComponentId,
    pub slots: usize,
    /// Output wires of each slot.
    pub outputs: usize,
}

/// How a program lies on what it took from the stock: which bucket each slot, input and output uses. Both parties
/// compute the same.
pub(super) struct Layout {
    /// The slots of each batch, in the order of its buckets.
    pub slots: Vec<Vec<u32>>,
    /// Of each slot the batch and the bucket in it.
    pub places: Vec<(u32, u32)>,
    /// Of each global wire.
    homes: Vec<Home>,
    /// The gadgets behind the outputs that only the garbler learns.
    private_homes: Vec<Home>,
    /// Wires of the outputs that only the garbler learns, in order.
    pub private_outputs: Vec<Wire>,
    /// Wires whose indicator bits the evaluator learns.
    pub evaluator_outputs: Vec<Wire>,
    /// Wires of the outputs that both learn.
    pub shared_outputs: Vec<Wire>,
    /// The evaluator's input wires.
    pub evaluator_inputs: Range<Wire>,
}

impl Layout {
    /// `owners` are the batches, those of a component together and in the order of the components; then come the sizes of the
    /// pools for the garbler's wires.
    pub fn new(program: &Program, owners: &[Owner], pools: &[usize]) -> Self {
        let set = |(set, size): (usize, usize)| (0..size as u32).map(move |bucket| Home { set: set as u32, bucket });
        let mut homes: Vec<Home> = (owners.len()..).zip(pools.iter().copied()).flat_map(set).collect();
        let garbler_inputs = program.input_width(Party::Garbler);
        let private_homes = homes.split_off(garbler_inputs);
        homes.extend(set((owners.len() + pools.len(), program.input_width(Party::Evaluator))));

        let mut slots: Vec<Vec<u32>> = owners.iter().map(|_| Vec::new()).collect();
        // Of each component the batch that fills its next slot.
        let first_owner = |id: usize| owners.iter().position(|o| o.component.0 as usize == id).unwrap_or(owners.len());
        let mut next: Vec<usize> = (0..program.components().len()).map(first_owner).collect();
        let mut places = Vec::with_capacity(program.slot_count());
        for (index, slot) in program.slots().enumerate() {
            let batch = &mut next[slot.component.0 as usize];
            while slots[*batch].len() == owners[*batch].slots {
                *batch += 1;
            }
            let (batch, bucket, outputs) = (*batch, slots[*batch].len(), owners[*batch].outputs);
            slots[batch].push(index as u32);
            places.push((batch as u32, bucket as u32));
            homes.extend((0..outputs).map(|o| Home { set: batch as u32, bucket: (bucket * outputs + o) as u32 }));
        }
        let wires = |to: &dyn Fn(Recipient) -> bool| -> Vec<Wire> {
            program.outputs().iter().filter(|o| to(o.to)).flat_map(|o| o.wires.iter().copied()).collect()
        };
        Layout {
            slots,
            places,
            homes,
            private_homes,
            private_outputs: wires(&|to| to == Recipient::Garbler),
            evaluator_outputs: wires(&|to| to.includes(Party::Evaluator)),
            shared_outputs: wires(&|to| to == Recipient::Both),
            evaluator_inputs: garbler_inputs as Wire..(garbler_inputs + program.input_width(Party::Evaluator)) as Wire,
        }
    }

    /// Where the label of a global wire lives.
    pub fn home(&self, wire: Wire) -> Home {
        self.homes[wire as usize]
    }

    /// The gadgets behind private output `k`.
    pub fn private_home(&self, k: usize) -> Home {
        self.private_homes[k]
    }
}

/// A set of homes: the shares of their wires, and those of the offsets of input gadgets.
type Homes<'a> = (&'a Shares, Option<&'a Shares>);

/// The shares that the claims about a program speak of, on either side.
pub(super) struct View<'a> {
    layout: &'a Layout,
    homes: Vec<Homes<'a>>,
    /// Shape of each batch, inputs and offsets of its heads.
    batches: Vec<(Shape, &'a Shares, &'a Shares)>,
}

impl View<'_> {
    /// Adds the commitment at a home to a sum.
    fn add_home(&self, home: Home, sum: &mut Column) {
        let (wires, _) = self.homes[home.set as usize];
        wires.add(home.bucket as usize, sum);
    }

    /// Adds the commitment of a global wire to a sum.
    pub fn add(&self, wire: Wire, sum: &mut Column) {
        self.add_home(self.layout.home(wire), sum);
    }
}

impl GarblerReady {
    pub fn view(&self) -> View<'_> {
        let GarblerReady { parts: Parts { layout, batches, pools, .. }, ots } = self;
        let gadgets = batches.iter().map(|c| &c.authenticators).chain(pools);
        let gadgets = gadgets.map(|g| (&g.wires.shares, Some(&g.offsets.shares)));
        let batches = batches.iter().map(|c| (c.batch.shape, &c.batch.inputs.shares, &c.batch.offsets.shares));
        View { layout, homes: gadgets.chain([(&ots.wires.shares, None)]).collect(), batches: batches.collect() }
    }

    /// The wire at the head of a home.
    pub fn home(&self, home: Home, delta_ka: Delta) -> CommittedWire {
        let Parts { batches, pools, .. } = &self.parts;
        let (set, bucket) = (home.set as usize, home.bucket as usize);
        match batches.get(set).map(|c| &c.authenticators).or_else(|| pools.get(set - batches.len())) {
            Some(gadgets) => {
                let delta = gadgets.offsets.values.get(bucket).map_or(delta_ka, |offset| Delta::new(offset.bits()));
                CommittedWire { value: gadgets.wires.values[bucket], delta }
            }
            None => CommittedWire { value: self.ots.wires.values[bucket], delta: delta_ka },
        }
    }
}

impl EvaluatorReady {
    pub fn view(&self) -> View<'_> {
        let EvaluatorReady { parts: Parts { layout, batches, pools, .. }, ots, .. } = self;
        let gadgets = batches.iter().map(|c| &c.authenticators).chain(pools);
        let gadgets = gadgets.map(|g| (&g.wires, Some(&g.offsets)));
        let batches = batches.iter().map(|c| (c.batch.shape, &c.batch.inputs, &c.batch.offsets));
        View { layout, homes: gadgets.chain([(&ots.wires, None)]).collect(), batches: batches.collect() }
    }
}

impl EvaluatorParts {
    /// The gadgets that a home is among; none at the wire of an OT.
    fn gadgets_at(&self, home: Home) -> Option<&EvaluatorGadgets> {
        let set = home.set as usize;
        self.batches.get(set).map(|c| &c.authenticators).or_else(|| self.pools.get(set - self.batches.len()))
    }

    /// The gadgets behind an output of a slot or a wire of the garbler's.
    ///
    /// # Panics
    /// If the home is the wire of an OT.
    pub fn gadgets_of(&self, home: Home) -> &EvaluatorGadgets {
        self.gadgets_at(home).expect("all wires but the evaluator's inputs have authenticators")
    }

    /// `Δ ⊕ Δ_ka` of the head of a home.
    pub fn link(&self, home: Home) -> Label {
        self.gadgets_at(home).map_or(Label::ZERO, |gadgets| gadgets.head_link(home.bucket as usize))
    }

    /// Whether the authenticators of the homes accept all of these labels.
    ///
    /// # Errors
    /// [`Error::Resource`] if the authenticators cannot be read.
    pub fn accept(&self, labels: &[Label], home: impl Fn(usize) -> Home) -> Result<bool, Error> {
        let mut all = true;
        for (some, labels) in labels.chunks(LABELS_AT_ONCE).enumerate() {
            let mut of_set = std::collections::BTreeMap::<u32, Zeroizing<Vec<(usize, Label)>>>::new();
            for (k, &label) in labels.iter().enumerate() {
                let Home { set, bucket } = home(some * LABELS_AT_ONCE + k);
                // Room for all at once: what grows leaves copies behind.
                let of_set = of_set.entry(set).or_insert_with(|| Zeroizing::new(Vec::with_capacity(labels.len())));
                of_set.push((bucket as usize, label));
            }
            for (&set, labels) in &of_set {
                all &= !self.gadgets_of(Home { set, bucket: 0 }).accept(labels)?.contains(&false);
            }
        }
        Ok(all)
    }
}

/// What the garbler sends to join the program's parts.
pub(super) struct Joints {
    /// For each batch `[slot of the batch][input wire]`: from the wire's home to the head copy's input.
    pub inputs: Vec<Vec<Soldering>>,
    /// For each private output wire: from its home to its gadget.
    pub outputs: Vec<Soldering>,
}

/// What is still to be proven of a program on the garbler's side: its joints, and what was told of parts made for it alone.
pub(super) struct GarblerUnproven<'a> {
    pub program: &'a Program,
    pub joints: &'a Joints,
    pub told: &'a GarblerTold,
}

impl GarblerUnproven<'_> {
    pub fn claims<'a>(&'a self, [ka, ot]: [&'a Shares; 2], parts: &'a GarblerParts, view: &'a View<'a>, all: &mut Claims<'a>) {
        self.told.claims([ka, ot], &parts.batches, &parts.pools, all);
        claims(all, self.program, view, self.joints);
    }
}

impl EvaluatorReady {
    /// What is still to be proven of a program, and what was opened of parts made for it alone.
    pub fn claims<'a>(
        &'a self,
        [ka, ot]: [&'a Shares; 2],
        program: &'a Program,
        opened: &'a EvaluatorOpened,
        view: &'a View<'a>,
        all: &mut Claims<'a>,
    ) {
        opened.claims([ka, ot], &self.parts.batches, &self.parts.pools, all);
        claims(all, program, view, &self.joints);
    }
}

/// Claims about the joints of a program.
fn claims<'a>(claims: &mut Claims<'a>, program: &'a Program, view: &'a View<'a>, joints: &'a Joints) {
    for (b, &(shape, inputs, offsets)) in view.batches.iter().enumerate() {
        let (slots, solderings) = (&view.layout.slots[b], &joints.inputs[b]);
        claims.known(solderings.len(), move |k, sum| {
            let (bucket, wire) = (k / shape.inputs, k % shape.inputs);
            view.add(program.slot(slots[bucket] as usize).inputs[wire], sum);
            inputs.add(k, sum);
            offsets.add_if(solderings[k].flip(), bucket, sum);
            solderings[k].opening()
        });
    }
    claims.known(joints.outputs.len(), move |k, sum| {
        let home = view.layout.private_home(k);
        let (_, offsets) = view.homes[home.set as usize];
        view.add(view.layout.private_outputs[k], sum);
        view.add_home(home, sum);
        let offsets = offsets.expect("private outputs end in input gadgets");
        offsets.add_if(joints.outputs[k].flip(), home.bucket as usize, sum);
        joints.outputs[k].opening()
    });
}

/// The garbler, ready to evaluate once.
pub(super) struct GarblerReady {
    pub parts: GarblerParts,
    pub ots: GarblerOts,
}

/// The evaluator, ready to evaluate once.
pub(super) struct EvaluatorReady {
    pub parts: EvaluatorParts,
    pub joints: Joints,
    pub ots: EvaluatorOts,
}

/// A joined program at the evaluator, and whether its joints are proven.
pub(super) enum Joined {
    Proven(EvaluatorReady),
    /// They are not yet, nor is what was opened of parts that were made for this program alone.
    Told(Claimed<EvaluatorReady>, EvaluatorOpened),
}

impl Joined {
    pub fn told(&self) -> &EvaluatorReady {
        match self {
            Joined::Proven(ready) => ready,
            Joined::Told(ready, _) => ready.told(),
        }
    }

    /// What is still to be proven.
    pub fn claims<'a>(&'a self, offsets: [&'a Shares; 2], program: &'a Program, view: &'a View<'a>, all: &mut Claims<'a>) {
        if let Joined::Told(ready, opened) = self {
            ready.told().claims(offsets, program, opened, view, all);
        }
    }

    /// After the proof of [`Joined::claims`].
    pub fn proven(self, proof: &Proof) -> EvaluatorReady {
        match self {
            Joined::Proven(ready) => ready,
            Joined::Told(ready, _) => ready.proven(proof),
        }
    }
}

/// Joins the parts; the joints are not proven yet.
pub(super) fn garbler(party: &mut Garbler, program: &Program, parts: GarblerParts) -> Result<(GarblerReady, Joints), Error> {
    party.run.phase("build");
    let (ots, parts) = parts.take_ots();
    let ready = GarblerReady { parts, ots: GarblerOts::join(ots) };
    let Parts { layout, batches, .. } = &ready.parts;
    let delta_ka = party.delta_ka;
    let home = |wire: Wire| ready.home(layout.home(wire), delta_ka);
    let of_batch = |(component, slots): (&GarblerComponent, &Vec<u32>)| {
        let b = &component.batch;
        let soldering = |k: usize| {
            let (bucket, wire) = (k / b.shape.inputs, k % b.shape.inputs);
            let to = CommittedWire { value: b.inputs.values[k], delta: Delta::new(b.offsets.values[bucket].bits()) };
            Soldering::new(home(program.slot(slots[bucket] as usize).inputs[wire]), to)
        };
        (0..slots.len() * b.shape.inputs).into_par_iter().map(soldering).collect()
    };
    let private = layout.private_outputs.iter().enumerate();
    let mut joints = Joints {
        inputs: batches.iter().zip(&layout.slots).map(of_batch).collect(),
        outputs: private.map(|(k, &wire)| Soldering::new(home(wire), ready.home(layout.private_home(k), delta_ka))).collect(),
    };
    joints.inputs.iter_mut().enumerate().for_each(|(b, solderings)| party.hooks.alter(Point::Joints(b), solderings));
    party.hooks.alter(Point::PrivateJoints, &mut joints.outputs);
    for solderings in joints.inputs.iter().chain([&joints.outputs]) {
        party.run.channel.send(msg::SOLDERINGS, bytemuck::cast_slice(solderings))?;
    }
    Ok((ready, joints))
}

/// Receives the joints of the parts.
pub(super) fn evaluator(party: &mut Evaluator, parts: Claimed<EvaluatorParts>) -> Result<Claimed<EvaluatorReady>, Error> {
    party.core.run.phase("build");
    let Parts { layout, batches, .. } = parts.told();
    let mut receive = |count: usize| -> Result<Vec<Soldering>, Error> {
        let mut solderings = vec![Soldering::default(); count];
        party.core.run.channel.receive_into(msg::SOLDERINGS, bytemuck::cast_slice_mut(&mut solderings))?;
        Ok(solderings)
    };
    let of_batch = |(c, slots): (&EvaluatorComponent, &Vec<u32>)| receive(slots.len() * c.batch.shape.inputs);
    let inputs = batches.iter().zip(&layout.slots).map(of_batch).collect::<Result<_, _>>()?;
    let joints = Joints { inputs, outputs: receive(layout.private_outputs.len())? };
    Ok(parts.map(|parts| {
        let (ots, parts) = parts.take_ots();
        EvaluatorReady { parts, joints, ots: EvaluatorOts::join(ots) }
    }))
}

/// Proves the joints, and what else was told: of parts that were made for this program alone, of their OTs.
pub(super) fn garbler_proves(
    party: &mut Garbler,
    program: &Program,
    ready: &GarblerReady,
    joints: &Joints,
    told: &GarblerTold,
) -> Result<(), Error> {
    let Garbler { run, committer, ka, ot, .. } = party;
    run.phase("build");
    let view = ready.view();
    let unproven = GarblerUnproven { program, joints, told };
    let mut all = Claims::new();
    unproven.claims([&ka.shares, &ot.shares], &ready.parts, &view, &mut all);
    committer.prove(&mut run.channel, &[], &all)
}

/// Checks the joints, and what else was opened.
pub(super) fn evaluator_verifies(
    party: &mut Evaluator,
    program: &Program,
    ready: Claimed<EvaluatorReady>,
    opened: EvaluatorOpened,
) -> Result<EvaluatorReady, Error> {
    let Evaluator { core: EvaluatorCore { run, holder, .. }, ka, ot, .. } = party;
    run.phase("build");
    let view = ready.told().view();
    let mut all = Claims::new();
    ready.told().claims([ka, ot], program, &opened, &view, &mut all);
    let proof = holder.verify(&mut run.channel, &[], &all)?;
    drop(all);
    drop(view);
    Ok(ready.proven(&proof))
}
