//! Build: the stock's buckets become the program. Slots are soldered to each other and to the inputs, outputs that only
//! the garbler learns to self-authenticating gadgets, and the OTs for the evaluator's input are made.
//!
//! ```text
//!   garbler -> evaluator    a soldering for each input wire of each slot and for each wire of G's own outputs
//!   both ways               OT extension: one OT for each of E's input wires, and those that bind Δ_ot
//!   garbler -> evaluator    commitments to its OT labels R
//!   evaluator -> garbler    of the binding OTs: its label and choice bit
//!   evaluator -> garbler    seed;   garbler -> evaluator    answer
//! ```
//!
//! PreProcessOTINIT: if the offset in the OTs were not the committed one, E's input labels would be wrong for one of the
//! two bits, and whether E aborts would tell its input. So of some items E shows what it got, and claims that
//! `C_R ⊕ b·D_ot` opens to it. G checks E's labels of all items before it answers for any: an E that claims the other
//! bit would get Δ_ot from the opening. And G commits before it sees the bits.

use rayon::prelude::*;
use subtle::{Choice, ConstantTimeEq};

use super::prepare::{EvaluatorStock, GarblerStock, first_buckets};
use super::preprocess::Shape;
use super::{Cheat, Error, Evaluator, Garbler, Parameters, Point, msg};
use crate::circuit::{Party, Program, Recipient, Wire};
use crate::commit::{Claims, Column, Committed, Committer, Holder, Shares};
use crate::label::{Delta, LABEL_BYTES, Label};
use crate::solder::{CommittedWire, Soldering};

/// Where the label of a global wire lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Home {
    /// In this bucket of self-authenticating gadgets.
    Input(usize),
    /// In this bucket of plain authenticators.
    Plain(usize),
}

/// How a program lies on the stock: which bucket each slot, input and output uses. Both parties compute the same.
pub(super) struct Layout {
    /// The slots of each batch, in the order of its buckets.
    pub slots: Vec<Vec<u32>>,
    /// Bucket of each slot within its batch, and the batch.
    pub places: Vec<(u32, u32)>,
    /// Plain bucket of each global wire behind the garbler's inputs.
    plain: Vec<u32>,
    garbler_inputs: usize,
    /// Wires of the outputs that only the garbler learns, in order; their gadgets follow those of its inputs.
    pub private_outputs: Vec<Wire>,
    /// Wires whose indicator bits the evaluator learns.
    pub evaluator_outputs: Vec<Wire>,
    /// Wires of the outputs that both learn.
    pub shared_outputs: Vec<Wire>,
    /// Of the evaluator's inputs: first plain bucket and number of wires.
    pub evaluator_inputs: (usize, usize),
}

impl Layout {
    pub fn new(program: &Program, components: &[u32], shapes: &[Shape]) -> Self {
        let first = first_buckets(shapes.iter().copied());
        let garbler_inputs = program.input_width(Party::Garbler);
        let evaluator_inputs = (first[shapes.len()], program.input_width(Party::Evaluator));
        let mut plain: Vec<u32> = (0..evaluator_inputs.1).map(|i| (evaluator_inputs.0 + i) as u32).collect();
        let mut slots = vec![Vec::new(); shapes.len()];
        let mut places = Vec::with_capacity(program.slot_count());
        for (index, slot) in program.slots().enumerate() {
            let batch = components.iter().position(|&c| c == slot.component.0).expect("every component in use has a batch");
            let bucket = slots[batch].len();
            slots[batch].push(index as u32);
            places.push((batch as u32, bucket as u32));
            let outputs = shapes[batch].outputs;
            plain.extend((0..outputs).map(|o| (first[batch] + bucket * outputs + o) as u32));
        }
        let wires = |to: &dyn Fn(Recipient) -> bool| -> Vec<Wire> {
            program.outputs().iter().filter(|o| to(o.to)).flat_map(|o| o.wires.iter().copied()).collect()
        };
        Layout {
            slots,
            places,
            plain,
            garbler_inputs,
            private_outputs: wires(&|to| to == Recipient::Garbler),
            evaluator_outputs: wires(&|to| to.includes(Party::Evaluator)),
            shared_outputs: wires(&|to| to == Recipient::Both),
            evaluator_inputs,
        }
    }

    /// Where the label of a global wire lives.
    pub fn home(&self, wire: Wire) -> Home {
        let wire = wire as usize;
        if wire < self.garbler_inputs { Home::Input(wire) } else { Home::Plain(self.plain[wire - self.garbler_inputs] as usize) }
    }

    /// The evaluator's first global wire.
    pub fn first_evaluator_input(&self) -> Wire {
        self.garbler_inputs as Wire
    }

    /// Bucket of the gadgets behind private output `k`.
    pub fn private_bucket(&self, k: usize) -> usize {
        self.garbler_inputs + k
    }
}

/// The number of wires that need each kind of authenticator: plain ones, self-authenticating ones.
pub(super) fn gadgets_needed(program: &Program) -> (usize, usize) {
    let counts = program.slots_by_component();
    let outputs: usize = program.components().iter().zip(counts).map(|(c, slots)| c.circuit.outputs().len() * slots).sum();
    let private: usize = program.outputs().iter().filter(|o| o.to == Recipient::Garbler).map(|o| o.wires.len()).sum();
    (outputs + program.input_width(Party::Evaluator), program.input_width(Party::Garbler) + private)
}

/// The shares of the wires' homes, on either side.
pub(super) struct Homes<'a> {
    layout: &'a Layout,
    plain: (&'a Shares, usize),
    input: (&'a Shares, usize),
}

impl Homes<'_> {
    /// Adds the commitment of a global wire to a sum.
    pub fn add(&self, wire: Wire, sum: &mut Column) {
        let ((shares, size), bucket) = match self.layout.home(wire) {
            Home::Input(bucket) => (self.input, bucket),
            Home::Plain(bucket) => (self.plain, bucket),
        };
        shares.add(bucket * size, sum);
    }
}

impl GarblerStock {
    pub fn homes<'a>(&'a self, layout: &'a Layout) -> Homes<'a> {
        Homes { layout, plain: (&self.plain.wires.shares, self.plain.size), input: (&self.input.wires.shares, self.input.size) }
    }
}

impl EvaluatorStock {
    pub fn homes<'a>(&'a self, layout: &'a Layout) -> Homes<'a> {
        Homes { layout, plain: (&self.plain.wires, self.plain.size), input: (&self.input.wires, self.input.size) }
    }
}

/// The shares that build's claims speak of, on either side.
struct View<'a> {
    program: &'a Program,
    homes: Homes<'a>,
    /// Shape, inputs and offsets of each batch.
    batches: Vec<(Shape, &'a Shares, &'a Shares)>,
    /// Offsets of the self-authenticating gadgets.
    offsets: &'a Shares,
}

/// What the garbler sends to join the program's parts.
pub(super) struct Joints {
    /// For each batch `[slot of the batch][input wire]`: from the wire's home to the head copy's input.
    pub inputs: Vec<Vec<Soldering>>,
    /// For each private output wire: from its home to its gadget.
    pub outputs: Vec<Soldering>,
}

fn joint_claims<'a>(claims: &mut Claims<'a>, view: &'a View<'a>, joints: &'a Joints) {
    for (b, &(shape, inputs, offsets)) in view.batches.iter().enumerate() {
        let (slots, solderings) = (&view.homes.layout.slots[b], &joints.inputs[b]);
        claims.known(solderings.len(), move |k, sum| {
            let (bucket, wire) = (k / shape.inputs, k % shape.inputs);
            let head = bucket * shape.batch.size;
            view.homes.add(view.program.slot(slots[bucket] as usize).inputs[wire], sum);
            inputs.add(head * shape.inputs + wire, sum);
            offsets.add_if(solderings[k].flip(), head, sum);
            solderings[k].opening()
        });
    }
    claims.known(joints.outputs.len(), move |k, sum| {
        let ((wires, size), layout) = (view.homes.input, view.homes.layout);
        let gadget = layout.private_bucket(k) * size;
        view.homes.add(layout.private_outputs[k], sum);
        wires.add(gadget, sum);
        view.offsets.add_if(joints.outputs[k].flip(), gadget, sum);
        joints.outputs[k].opening()
    });
}

/// Claims of PreProcessOTINIT: `C_R ⊕ b·D_ot` opens to what E got. The binding items follow those of E's inputs.
fn binding_claims<'a>(claims: &mut Claims<'a>, ot: &'a Shares, labels: &'a Shares, first: usize, bits: &'a [u8], got: &'a [Label]) {
    claims.known(bits.len(), move |k, sum| {
        labels.add(first + k, sum);
        ot.add_if(bits[k], 0, sum);
        got[k]
    });
}

/// The garbler, ready to evaluate once.
pub(super) struct GarblerBuilt {
    pub layout: Layout,
    pub stock: GarblerStock,
    /// Of each of E's input wires: its OT label R for choice 0, committed.
    pub ots: Committed,
}

/// The evaluator, ready to evaluate once.
pub(super) struct EvaluatorBuilt {
    pub layout: Layout,
    pub stock: EvaluatorStock,
    pub joints: Joints,
    /// Of each of E's input wires: the commitment to R, the choice bit b, and the label R ⊕ b·Δ_ot.
    pub ots: Shares,
    pub ot_choices: zeroize::Zeroizing<Vec<u8>>,
    pub ot_labels: zeroize::Zeroizing<Vec<Label>>,
}

impl GarblerStock {
    /// The wire at the head of a home.
    pub fn home(&self, home: Home, delta_ka: Delta) -> CommittedWire {
        match home {
            Home::Input(bucket) => self.gadget(bucket),
            Home::Plain(bucket) => CommittedWire { value: self.plain.wires.values[bucket * self.plain.size], delta: delta_ka },
        }
    }

    /// The wire at the head of a bucket of self-authenticating gadgets.
    pub fn gadget(&self, bucket: usize) -> CommittedWire {
        let head = bucket * self.input.size;
        CommittedWire { value: self.input.wires.values[head], delta: Delta::new(self.input.offsets.values[head].bits()) }
    }
}

pub(super) fn garbler(party: &mut Garbler, program: &Program, stock: GarblerStock, parameters: &Parameters) -> Result<GarblerBuilt, Error> {
    party.run.phase("build")?;
    let Garbler { run, committer, hooks, cot, delta_ka, ot, .. } = party;
    let components: Vec<u32> = stock.batches.iter().map(|b| b.component.0).collect();
    let shapes: Vec<Shape> = stock.batches.iter().map(|b| b.shape).collect();
    let layout = Layout::new(program, &components, &shapes);

    let home = |wire: Wire| stock.home(layout.home(wire), *delta_ka);
    let mut joints = Joints {
        inputs: stock
            .batches
            .iter()
            .zip(&layout.slots)
            .map(|(b, slots)| {
                let soldering = |k: usize| {
                    let (bucket, wire) = (k / b.shape.inputs, k % b.shape.inputs);
                    let head = bucket * b.shape.batch.size;
                    let delta = Delta::new(b.offsets.values[head].bits());
                    let to = CommittedWire { value: b.inputs.values[head * b.shape.inputs + wire], delta };
                    Soldering::new(home(program.slot(slots[bucket] as usize).inputs[wire]), to)
                };
                (0..slots.len() * b.shape.inputs).into_par_iter().map(soldering).collect()
            })
            .collect(),
        outputs: layout
            .private_outputs
            .iter()
            .enumerate()
            .map(|(k, &wire)| Soldering::new(home(wire), stock.gadget(layout.private_bucket(k))))
            .collect(),
    };
    joints.inputs.iter_mut().enumerate().for_each(|(b, solderings)| hooks.alter(Point::Joints(b), solderings));
    hooks.alter(Point::PrivateJoints, &mut joints.outputs);
    for solderings in joints.inputs.iter().chain([&joints.outputs]) {
        run.channel.send(msg::SOLDERINGS, bytemuck::cast_slice(solderings))?;
    }

    let inputs = layout.evaluator_inputs.1;
    let binding = parameters.ot_binding;
    let labels = cot.extend(&mut run.channel, inputs + binding)?;
    let ots = committer.commit(&mut run.channel, &hooks.altered(Point::OtLabels, &labels))?;
    let shown = run.channel.receive(msg::OT_BINDING, binding * (LABEL_BYTES + 1))?;
    let (got, bits) = shown.split_at(binding * LABEL_BYTES);
    let got: Vec<Label> = got.chunks_exact(LABEL_BYTES).map(|b| Label::from_bytes(b.try_into().expect("16 bytes"))).collect();
    if bits.iter().any(|&b| b > 1) {
        return Err(Cheat::OtBinding.into());
    }
    let delta_ot = Delta::new(hooks.altered(Point::OtOffset, &ot.values)[0].bits());
    let honest = got
        .iter()
        .zip(bits)
        .zip(&labels[inputs..])
        .fold(Choice::from(1), |ok, ((got, &bit), &label)| ok & got.ct_eq(&(label ^ delta_ot.times(bit))));
    if !bool::from(honest) {
        return Err(Cheat::OtBinding.into());
    }

    let view = View {
        program,
        homes: stock.homes(&layout),
        batches: stock.batches.iter().map(|b| (b.shape, &b.inputs.shares, &b.offsets.shares)).collect(),
        offsets: &stock.input.offsets.shares,
    };
    let mut claims = Claims::new();
    joint_claims(&mut claims, &view, &joints);
    binding_claims(&mut claims, &ot.shares, &ots.shares, inputs, bits, &got);
    committer.prove(&mut run.channel, &[&ots], &claims)?;
    drop(claims);
    drop(view);
    Ok(GarblerBuilt { layout, stock, ots })
}

pub(super) fn evaluator(
    party: &mut Evaluator,
    program: &Program,
    stock: EvaluatorStock,
    parameters: &Parameters,
) -> Result<EvaluatorBuilt, Error> {
    party.run.phase("build")?;
    let Evaluator { run, holder, rng, hooks, cot, ot, .. } = party;
    let components: Vec<u32> = stock.batches.iter().map(|b| b.component.0).collect();
    let shapes: Vec<Shape> = stock.batches.iter().map(|b| b.shape).collect();
    let layout = Layout::new(program, &components, &shapes);
    let mut receive = |count: usize| -> Result<Vec<Soldering>, Error> {
        let mut solderings = vec![Soldering::default(); count];
        run.channel.receive_into(msg::SOLDERINGS, bytemuck::cast_slice_mut(&mut solderings))?;
        Ok(solderings)
    };
    let inputs = shapes.iter().zip(&layout.slots).map(|(shape, slots)| receive(slots.len() * shape.inputs)).collect::<Result<_, _>>()?;
    let joints = Joints { inputs, outputs: receive(layout.private_outputs.len())? };

    let inputs = layout.evaluator_inputs.1;
    let binding = parameters.ot_binding;
    let mut choices = zeroize::Zeroizing::new(vec![0u8; inputs + binding]);
    rng.fill(&mut choices);
    choices.iter_mut().for_each(|b| *b &= 1);
    let labels = zeroize::Zeroizing::new(cot.extend(&mut run.channel, &choices)?);
    let ots = holder.receive(&mut run.channel, choices.len())?;
    let (bits, got) = (&choices[inputs..], &labels[inputs..]);
    let mut message = [bytemuck::cast_slice(got), bits].concat();
    hooks.alter(Point::OtBinding, &mut message);
    run.channel.send(msg::OT_BINDING, &message)?;

    let view = View {
        program,
        homes: stock.homes(&layout),
        batches: stock.batches.iter().map(|b| (b.shape, &b.inputs, &b.offsets)).collect(),
        offsets: &stock.input.offsets,
    };
    let mut claims = Claims::new();
    joint_claims(&mut claims, &view, &joints);
    binding_claims(&mut claims, ot, ots.shares(), inputs, bits, got);
    let proof = holder.verify(&mut run.channel, &[&ots], &claims)?;
    drop(claims);
    drop(view);
    Ok(EvaluatorBuilt { layout, stock, joints, ots: ots.accept(&proof), ot_choices: choices, ot_labels: labels })
}
