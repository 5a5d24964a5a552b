//! Build: buckets of the stock become the program. Slots are soldered to each other and to the inputs,
//! outputs that only the garbler learns to self-authenticating gadgets.
//!
//! ```text
//!   garbler -> evaluator    a soldering for each input wire of each slot and for each wire of G's own outputs
//! ```
//!
//! A proof settles what was claimed here, and what was claimed about the parts where they were made for this
//! program alone.
//!
//! Were the solderings not checked against the commitments, a garbler could feed a slot from another wire
//! than the program says.

use std::ops::Range;
use std::sync::Arc;

use rayon::prelude::*;
use zeroize::Zeroizing;

use super::gadgets::{EvaluatorComponent, EvaluatorGadgets};
use super::ots::{EvaluatorOts, GarblerOts};
use super::parts::send_list;
use super::preprocess::Shape;
use super::sessions::EvaluatorCore;
use super::stock::Parts;
use super::supply::{EvaluatorOpened, GarblerTold};
use super::{Error, Evaluator, EvaluatorParts, Garbler, GarblerParts, Point, msg};
use brickwork_base::bits::Bits;
use brickwork_base::label::{Delta, Label, Labels};
use brickwork_circuit::{ComponentId, Party, Program, Recipient, Wire};
use brickwork_primitives::commit::split::Row;
use brickwork_primitives::commit::{
    ClaimGroup, Claimed, Claims, Column, Committer, Each, Holder, Proof, Shares, Weights,
};
use brickwork_primitives::receive;
use brickwork_primitives::scratch::{Depot, Spool};
use brickwork_primitives::solder::{CommittedWire, Soldering, Solderings};

/// Labels that are shown to their authenticators together.
const LABELS_AT_ONCE: usize = 1 << 16;

/// Where the label of a global wire lives: on a bucket of authenticators, or, of the evaluator's inputs, on
/// the wire of an OT.
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

/// How a program lies on what it took from the stock: which bucket each slot, input and output uses. Both
/// parties compute the same.
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
    /// `owners` are the batches, those of a component together and in the order of the components; then come
    /// the sizes of the pools for the garbler's wires.
    pub fn new(program: &Program, owners: &[Owner], pools: &[usize]) -> Self {
        let set = |(set, size): (usize, usize)| {
            (0..size as u32).map(move |bucket| Home { set: set as u32, bucket })
        };
        let mut homes: Vec<Home> = (owners.len()..).zip(pools.iter().copied()).flat_map(set).collect();
        let garbler_inputs = program.input_width(Party::Garbler);
        let private_homes = homes.split_off(garbler_inputs);
        homes.extend(set((owners.len() + pools.len(), program.input_width(Party::Evaluator))));

        let mut slots: Vec<Vec<u32>> = owners.iter().map(|_| Vec::new()).collect();
        // Of each component the batch that fills its next slot.
        let first_owner =
            |id: usize| owners.iter().position(|o| o.component.0 as usize == id).unwrap_or(owners.len());
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
            homes.extend(
                (0..outputs).map(|o| Home { set: batch as u32, bucket: (bucket * outputs + o) as u32 }),
            );
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
            evaluator_inputs: garbler_inputs as Wire
                ..(garbler_inputs + program.input_width(Party::Evaluator)) as Wire,
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

/// The shares that the claims about a program speak of, on either side.
pub(super) struct View<'a> {
    layout: &'a Layout,
    /// Shares of the wires of each set of homes.
    homes: Vec<&'a Shares>,
    /// Those of the offsets of each pool.
    pool_offsets: Vec<&'a Shares>,
    /// Shape of each batch, inputs and offsets of its heads.
    batches: Vec<(Shape, &'a Shares, &'a Shares)>,
}

impl View<'_> {
    /// The commitments of these wires, as columns: of each wire, in the order given, which of which columns.
    pub fn gathered(&self, wires: &[Wire]) -> Gathered {
        let mut of_set: Vec<Vec<usize>> = self.homes.iter().map(|_| Vec::new()).collect();
        let homes: Vec<Home> = wires.iter().map(|&wire| self.layout.home(wire)).collect();
        homes.iter().for_each(|home| of_set[home.set as usize].push(home.bucket as usize));
        let columns = |(buckets, shares): (&mut Vec<usize>, &&Shares)| {
            // An output may be there twice.
            buckets.sort_unstable();
            buckets.dedup();
            shares.parts(&[buckets]).swap_remove(0)
        };
        let columns = of_set.iter_mut().zip(&self.homes).map(columns).collect();
        let place = |home: &Home| {
            of_set[home.set as usize].partition_point(|&bucket| bucket < home.bucket as usize) as u32
        };
        let places = homes.iter().map(|home| (home.set, place(home))).collect();
        Gathered { columns, places }
    }
}

/// Commitments of some wires.
pub(super) struct Gathered {
    columns: Vec<Shares>,
    places: Vec<(u32, u32)>,
}

impl Gathered {
    /// Adds the commitment of wire number `k` to a sum.
    pub fn add(&self, k: usize, sum: &mut Column) {
        let (set, place) = self.places[k];
        self.columns[set as usize].add(place as usize, sum);
    }
}

/// Values at homes, where each may be wanted several times.
pub(super) struct Values {
    wires: Labels,
    /// Of input gadgets.
    offsets: Labels,
}

impl GarblerReady {
    pub fn view(&self) -> View<'_> {
        let GarblerReady { parts: Parts { layout, batches, pools, .. }, ots, .. } = self;
        let gadgets = batches.iter().map(|c| &c.authenticators).chain(pools).map(|g| g.wires.shares());
        let batches =
            batches.iter().map(|c| (c.batch.shape, c.batch.inputs.shares(), c.batch.offsets.shares()));
        let pool_offsets = pools.iter().map(|g| g.offsets.shares()).collect();
        View {
            layout,
            homes: gadgets.chain([ots.wires.shares()]).collect(),
            pool_offsets,
            batches: batches.collect(),
        }
    }

    /// The committed value of the wire at the head of a home.
    pub fn value(&self, home: Home) -> Label {
        self.values[home.set as usize].wires[home.bucket as usize]
    }

    /// The wire at the head of a home.
    pub fn home(&self, home: Home, delta_ka: Delta) -> CommittedWire {
        let offset = self.values[home.set as usize].offsets.get(home.bucket as usize);
        CommittedWire {
            value: self.value(home),
            delta: offset.map_or(delta_ka, |offset| Delta::new(offset.bits())),
        }
    }
}

impl EvaluatorReady {
    pub fn view(&self) -> View<'_> {
        let EvaluatorReady { parts: Parts { layout, batches, pools, .. }, ots, .. } = self;
        let gadgets = batches.iter().map(|c| &c.authenticators).chain(pools).map(|g| &g.wires);
        let batches = batches.iter().map(|c| (c.batch.shape, &c.batch.inputs, &c.batch.offsets));
        let pool_offsets = pools.iter().map(|g| &g.offsets).collect();
        View {
            layout,
            homes: gadgets.chain([&ots.wires]).collect(),
            pool_offsets,
            batches: batches.collect(),
        }
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
                let of_set =
                    of_set.entry(set).or_insert_with(|| Zeroizing::new(Vec::with_capacity(labels.len())));
                of_set.push((bucket as usize, label));
            }
            for (&set, labels) in &of_set {
                all &= !self.gadgets_of(Home { set, bucket: 0 }).accept(labels)?.contains(&false);
            }
        }
        Ok(all)
    }
}

/// What the garbler sends to join the program's parts. Of each list of solderings it keeps the flips, and the
/// evaluator all.
pub(super) struct Joints<T> {
    /// For each batch `[slot of the batch][input wire]`: from the wire's home to the head copy's input.
    pub inputs: Vec<T>,
    /// For each private output wire: from its home to its gadget.
    pub outputs: T,
}

/// A list of solderings at the evaluator.
pub(super) struct ToldJoints {
    pub solderings: Spool<Soldering>,
    flips: Bits,
}

impl<T> Joints<T> {
    /// All lists as claims speak of them: those of the batches, and of the private outputs.
    fn solderings<'a>(
        &'a self,
        of: impl Fn(&'a T) -> Solderings<'a>,
    ) -> (Vec<Solderings<'a>>, Solderings<'a>) {
        (self.inputs.iter().map(&of).collect(), of(&self.outputs))
    }
}

/// What is still to be proven of a program on the garbler's side: its joints, and what was told of parts made
/// for it alone.
pub(super) struct GarblerUnproven<'a> {
    pub program: &'a Program,
    pub joints: &'a Joints<Bits>,
    pub told: &'a GarblerTold,
}

impl GarblerUnproven<'_> {
    pub fn claims<'a>(
        &'a self,
        [ka, ot]: [&'a Shares; 2],
        parts: &'a GarblerParts,
        view: &'a View<'a>,
        all: &mut Claims<'a>,
    ) {
        self.told.claims([ka, ot], &parts.batches, &parts.pools, all);
        claims(all, self.program, view, self.joints.solderings(|flips| Solderings { flips, told: None }));
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
        let of_list = |list: &'a ToldJoints| Solderings { flips: &list.flips, told: Some(&list.solderings) };
        claims(all, program, view, self.joints.solderings(of_list));
    }
}

/// Which joints begin at each global wire. Joints are counted batch after batch, and those of private outputs
/// last.
struct Uses {
    /// Of each wire the first of its joints in `joints`; behind the last wire their number.
    starts: Vec<u32>,
    joints: Vec<u32>,
    /// The first joint of each batch, and of the private outputs.
    firsts: Vec<usize>,
}

impl Uses {
    fn of(program: &Program, view: &View) -> Self {
        let layout = view.layout;
        let mut firsts = vec![0];
        firsts.extend(view.batches.iter().zip(&layout.slots).scan(0, |sum, ((shape, ..), slots)| {
            *sum += slots.len() * shape.inputs;
            Some(*sum)
        }));
        let inputs = layout.slots.iter().flatten().flat_map(|&slot| program.slot(slot as usize).inputs);
        let wires = || inputs.clone().chain(&layout.private_outputs).map(|&wire| wire as usize);
        let mut starts = vec![0u32; program.wires() + 1];
        wires().for_each(|wire| starts[wire] += 1);
        let mut end = 0;
        for start in &mut starts {
            end += *start;
            *start = end;
        }
        let mut joints = vec![0; end as usize];
        for (wire, joint) in wires().zip(0..) {
            starts[wire] -= 1;
            joints[starts[wire] as usize] = joint;
        }
        Uses { starts, joints, firsts }
    }

    /// The joints that begin at a wire: of which batch, or behind them the private outputs, and which there.
    fn of_wire(&self, wire: usize) -> impl Iterator<Item = (usize, usize)> + '_ {
        let joints = &self.joints[self.starts[wire] as usize..self.starts[wire + 1] as usize];
        joints.iter().map(|&joint| {
            let of = self.firsts.partition_point(|&first| first <= joint as usize) - 1;
            (of, joint as usize - self.firsts[of])
        })
    }
}

/// Claims about the joints of a program: a wire's commitment and that of a head's input, or of a private
/// output's gadget, differ by what was sent.
fn claims<'a>(
    all: &mut Claims<'a>,
    program: &'a Program,
    view: &'a View<'a>,
    (joints, private): (Vec<Solderings<'a>>, Solderings<'a>),
) {
    let layout = view.layout;
    let each = |all: &mut Claims<'a>, joints: Solderings<'a>, wires: usize| {
        let openings = move |item: usize, of: Range<usize>, values: &mut [Label]| {
            joints.openings(item * wires + of.start..item * wires + of.end, values);
        };
        all.each(Each::new(joints.len() / wires, wires).are(openings))
    };
    let mut groups: Vec<ClaimGroup> = view
        .batches
        .iter()
        .zip(&joints)
        .map(|((shape, ..), &joints)| each(all, joints, shape.inputs))
        .collect();
    groups.push(each(all, private, 1));
    let of_private = groups[groups.len() - 1];

    for ((&(shape, inputs, offsets), joints), &group) in view.batches.iter().zip(joints).zip(&groups) {
        all.weighted(inputs, move |weights, first, sums| {
            sums.iter_mut().zip(weights.from(group, first)).for_each(|(sum, weight)| *sum ^= weight);
        });
        all.weighted(offsets, move |weights, first, sums| {
            for (sum, bucket) in sums.iter_mut().zip(first..) {
                let flips = (bucket * shape.inputs..).map(|k| u128::from(joints.flip(k)).wrapping_neg());
                let weights = weights.from(group, bucket * shape.inputs).take(shape.inputs);
                *sum ^= weights.zip(flips).fold(0, |sum, (weight, flip)| sum ^ weight & flip);
            }
        });
    }

    let (uses, groups) = (Arc::new(Uses::of(program, view)), Arc::new(groups));
    let used = |uses: &Uses, groups: &[ClaimGroup], weights: &Weights, wire: usize| {
        uses.of_wire(wire).fold(0, |sum, (of, k)| sum ^ weights.of(groups[of], k))
    };
    let (batches, own) = (view.batches.len(), program.input_width(Party::Garbler));
    let mut pooled = 0;
    for (set, &shares) in view.homes.iter().enumerate() {
        let (uses, groups) = (uses.clone(), groups.clone());
        if let Some((shape, ..)) = view.batches.get(set) {
            let (slots, outputs) = (&layout.slots[set], shape.outputs);
            all.weighted(shares, move |weights, first, sums| {
                for (sum, bucket) in sums.iter_mut().zip(first..) {
                    let wire = program.slot(slots[bucket / outputs] as usize).first_output as usize
                        + bucket % outputs;
                    *sum ^= used(&uses, &groups, weights, wire);
                }
            });
        } else if let Some(&offsets) = view.pool_offsets.get(set - batches) {
            // The garbler's inputs lie on the first gadgets of the pools, its private outputs end on the
            // others.
            let before = pooled;
            pooled += shares.len();
            all.weighted(shares, move |weights, first, sums| {
                for (sum, k) in sums.iter_mut().zip(before + first..) {
                    *sum ^= if k < own {
                        used(&uses, &groups, weights, k)
                    } else {
                        weights.of(of_private, k - own)
                    };
                }
            });
            all.weighted(offsets, move |weights, first, sums| {
                for (sum, k) in sums.iter_mut().zip(before + first..).filter(|(_, k)| *k >= own) {
                    *sum ^=
                        weights.of(of_private, k - own) & u128::from(private.flip(k - own)).wrapping_neg();
                }
            });
        } else {
            all.weighted(shares, move |weights, first, sums| {
                sums.iter_mut()
                    .zip(own + first..)
                    .for_each(|(sum, wire)| *sum ^= used(&uses, &groups, weights, wire));
            });
        }
    }
}

/// The garbler, ready to evaluate once.
pub(super) struct GarblerReady {
    pub parts: GarblerParts,
    pub ots: GarblerOts,
    /// Of each set of homes.
    values: Vec<Values>,
}

/// The evaluator, ready to evaluate once.
pub(super) struct EvaluatorReady {
    pub parts: EvaluatorParts,
    pub joints: Joints<ToldJoints>,
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
    pub fn claims<'a>(
        &'a self,
        offsets: [&'a Shares; 2],
        program: &'a Program,
        view: &'a View<'a>,
        all: &mut Claims<'a>,
    ) {
        if let Joined::Told(ready, opened) = self {
            all.about(ready, |ready, all| ready.claims(offsets, program, opened, view, all));
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
pub(super) fn garbler(
    party: &mut Garbler,
    program: &Program,
    parts: GarblerParts,
) -> Result<(GarblerReady, Joints<Bits>), Error> {
    party.run.phase("build");
    let (ots, parts) = parts.take_ots();
    let ots = GarblerOts::join(ots);
    let gadgets = parts
        .batches
        .iter()
        .map(|c| &c.authenticators)
        .chain(&parts.pools)
        .map(|g| (&g.wires, Some(&g.offsets)));
    let values = gadgets.chain([(&ots.wires, None)]).map(|(wires, offsets)| {
        Ok(Values {
            wires: wires.values()?,
            offsets: offsets.map_or_else(|| Ok(Labels::default()), Row::values)?,
        })
    });
    let values = values.collect::<Result<_, Error>>()?;
    let ready = GarblerReady { parts, ots, values };
    let Parts { layout, batches, .. } = &ready.parts;
    let delta_ka = party.delta_ka();
    let Garbler { run, hooks, window, .. } = party;
    let home = |wire: Wire| ready.value(layout.home(wire));
    let mut joints = Joints { inputs: Vec::new(), outputs: Bits::default() };
    for (id, (component, slots)) in batches.iter().zip(&layout.slots).enumerate() {
        let (inputs, to, offsets) =
            (component.batch.shape.inputs, &component.batch.inputs, component.batch.offsets.values()?);
        let mut flips = Bits::default();
        let mut values = Labels::default();
        let solder = |buckets: Range<usize>| {
            let first = buckets.start * inputs;
            values.resize(buckets.len() * inputs, Label::ZERO);
            to.fill(first, &mut values)?;
            let soldering = |k: usize| {
                let (bucket, wire) = (k / inputs, k % inputs);
                let to =
                    CommittedWire { value: values[k - first], delta: Delta::new(offsets[bucket].bits()) };
                Soldering::new(home(program.slot(slots[bucket] as usize).inputs[wire]), to)
            };
            Ok((first..buckets.end * inputs).into_par_iter().map(soldering).collect::<Vec<Soldering>>())
        };
        send_list(
            run,
            hooks,
            (Point::Joints(id), msg::SOLDERINGS),
            slots.len(),
            *window / inputs,
            solder,
            |solderings| {
                flips.extend(solderings.iter().map(|soldering| soldering.flip()));
            },
        )?;
        joints.inputs.push(flips);
    }
    let private = layout.private_outputs.iter().enumerate();
    let private =
        private.map(|(k, &wire)| Soldering::new(home(wire), ready.home(layout.private_home(k), delta_ka)));
    let mut private: Vec<Soldering> = private.collect();
    hooks.alter(Point::PrivateJoints, &mut private);
    run.channel.send(msg::SOLDERINGS, bytemuck::cast_slice(&private))?;
    joints.outputs = private.iter().map(|soldering| soldering.flip()).collect();
    Ok((ready, joints))
}

/// Receives the joints of the parts.
pub(super) fn evaluator(
    party: &mut Evaluator,
    parts: Claimed<EvaluatorParts>,
) -> Result<Claimed<EvaluatorReady>, Error> {
    party.core.run.phase("build");
    let Parts { layout, batches, .. } = parts.told();
    let EvaluatorCore { run, holder, told_memory, .. } = &mut party.core;
    let count = |(c, slots): (&EvaluatorComponent, &Vec<u32>)| slots.len() * c.batch.shape.inputs;
    let counts: Vec<usize> = batches.iter().zip(&layout.slots).map(count).collect();
    let bytes = counts.iter().sum::<usize>() * size_of::<Soldering>();
    let depot = if bytes as u64 > *told_memory { Depot::file(holder.fault())? } else { Depot::memory() };
    let mut receive = |count: usize| {
        let (solderings, flips) = receive::solderings(&mut run.channel, &depot, msg::SOLDERINGS, count)?;
        Ok::<_, Error>(ToldJoints { solderings, flips })
    };
    let inputs = counts.into_iter().map(&mut receive).collect::<Result<_, _>>()?;
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
    joints: &Joints<Bits>,
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
    all.about(&ready, |ready, all| ready.claims([ka, ot], program, &opened, &view, all));
    let proof = holder.verify(&mut run.channel, &[], &all)?;
    drop(all);
    drop(view);
    Ok(ready.proven(&proof))
}

#[cfg(test)]
pub(super) mod tests {
    use super::super::gadgets::tests::gadgets;
    use super::super::stock::Pieces;
    use super::*;
    use crate::adversary::harness::wires;
    use brickwork_base::random::Rng;
    use brickwork_primitives::authenticator::Kind;

    /// The parts of a program that has wires of the parties and no slots.
    pub fn without_slots(program: &Program, pools: Vec<EvaluatorGadgets>) -> EvaluatorParts {
        let sizes: Vec<usize> = pools.iter().map(EvaluatorGadgets::len).collect();
        Parts { layout: Layout::new(program, &[], &sizes), batches: Vec::new(), pools, ots: None }
    }

    /// InputG: of more labels than are shown together, at homes in several pools, each is shown to its own
    /// authenticators, and one that is refused is enough.
    #[test]
    fn row_13_every_label_is_shown_to_its_own_authenticators() {
        let mut rng = Rng::replayable("test gadgets");
        let delta_ka = rng.delta();
        let pool = |_| gadgets(Kind::Input, (2, 1), delta_ka, &Depot::memory(), &mut rng, |_, _| false);
        let (pools, heads): (Vec<_>, Vec<_>) = [0, 1].map(pool).into_iter().unzip();
        let parts = without_slots(&wires(4, 0, &[(Recipient::Both, vec![0])]), pools);
        // Of both pools, and of each the first wire for those that are shown first.
        let home = |k: usize| Home { set: k as u32 % 2, bucket: (k / LABELS_AT_ONCE) as u32 };
        let wire = |k: usize| heads[home(k).set as usize][home(k).bucket as usize];
        let mut labels: Vec<Label> =
            (0..LABELS_AT_ONCE + 3).map(|k| wire(k).of_bit((k / 2 % 2) as u8)).collect();
        assert!(parts.accept(&labels, home).unwrap());
        for wrong in [0, 1, LABELS_AT_ONCE - 1, LABELS_AT_ONCE, LABELS_AT_ONCE + 2] {
            let rubbish = Label::from_bits(1 << 40);
            labels[wrong] ^= rubbish;
            assert!(!parts.accept(&labels, home).unwrap(), "label {wrong}");
            labels[wrong] ^= rubbish;
        }
    }
}
