//! Solders stock into the program: slots to each other and to the inputs. Outputs that only the garbler
//! learns, or that are kept for later steps, are soldered to input authenticators.
//!
//! ```text
//!   garbler -> evaluator    a soldering for each input wire of each slot,
//!                           and for each wire of a sealed output
//! ```
//!
//! A proof shows that the claims about these solderings are true. If the material was made for this program
//! alone, the same proof covers the claims about the material.
//!
//! One commitment per wire, `C_w`, holds its base and its indicator bit; the commitment `D` holds a copy's
//! offset. For a soldering V the evaluator claims that `C_i ⊕ C_j ⊕ s·D_j` opens to V with lowest bit 0. This
//! bit binds s, because `lsb(D_j) = 1`. Every offset is linked to Δ_ka by an opened `S_c = Δ_c ⊕ Δ_ka`
//! (lowest bit 0), so `Δ_i ⊕ Δ_j = S_i ⊕ S_j`, and one opening for each offset serves all solderings.
//! DEVIATION: the paper solders copies of a bucket to its head, and the head to the authenticator. In
//! Brickwork every copy's output is soldered directly to the authenticator, which needs equally many openings
//! and one step less.
//!
//! Without the check against the commitments, a garbler could feed a slot from another wire than the program
//! prescribes.

use std::ops::Range;
use std::sync::Arc;

use zeroize::Zeroizing;

use super::authenticators::{EvaluatorAuthenticators, EvaluatorComponent};
use super::batch::Shape;
use super::chunked::{each_of, send_list};
use super::claims::Solderings;
use super::input_ots::{EvaluatorInputOts, GarblerInputOts};
use super::layout::{Layout, WireLocation};
use super::party::EvaluatorCore;
use super::preprocessed::{EvaluatorOpenings, GarblerOpenings};
use super::stock::ProgramMaterial;
use super::{Error, Evaluator, EvaluatorMaterial, Garbler, GarblerMaterial, Point, msg};
use brickwork_base::bits::Bits;
use brickwork_base::label::{Delta, Label};
use brickwork_circuit::{Party, Program, Wire};
use brickwork_primitives::Labels;
use brickwork_primitives::commit::{
    self, ClaimGroup, Claimed, Claims, Column, CommitmentRow, EachClaim, Proof, Receiver, Sender, Shares,
    Weights,
};
use brickwork_primitives::receive;
use brickwork_primitives::solder::{GarblerWire, Soldering};
use brickwork_primitives::spill::{Spill, SpilledVec};

/// The number of labels that are checked by their authenticators at a time.
const LABELS_AT_ONCE: usize = 1 << 16;

/// The shares of both parties' commitments that claims about a program refer to.
pub(super) struct ClaimShares<'a> {
    layout: &'a Layout,
    /// The shares of the wires, for each set of locations.
    locations: Vec<&'a Shares>,
    /// The shares of the offsets, for each set of input authenticators.
    input_offsets: Vec<&'a Shares>,
    /// The shape of each batch, and the shares of the inputs and offsets of its heads.
    batches: Vec<(Shape, &'a Shares, &'a Shares)>,
}

impl ClaimShares<'_> {
    /// Collects the commitments of these wires as columns, one list for each set of locations. Keeps for each
    /// wire its set and its place in the list.
    pub fn gathered(&self, wires: &[Wire]) -> Gathered {
        let mut of_set: Vec<Vec<usize>> = self.locations.iter().map(|_| Vec::new()).collect();
        let locations: Vec<WireLocation> = wires.iter().map(|&wire| self.layout.location(wire)).collect();
        locations.iter().for_each(|location| of_set[location.set as usize].push(location.bucket as usize));
        let columns = |(buckets, shares): (&mut Vec<usize>, &&Shares)| {
            // A wire may be an output several times.
            buckets.sort_unstable();
            buckets.dedup();
            shares.select_each(&[buckets]).swap_remove(0)
        };
        let columns = of_set.iter_mut().zip(&self.locations).map(columns).collect();
        let place = |location: &WireLocation| {
            of_set[location.set as usize].partition_point(|&bucket| bucket < location.bucket as usize) as u32
        };
        let places = locations.iter().map(|location| (location.set, place(location))).collect();
        Gathered { columns, places }
    }
}

/// The commitments of some wires.
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

/// The garbler's values at the locations of one set. They may be read several times.
pub(super) struct LocationValues {
    wires: Labels,
    /// The offsets of the input authenticators.
    offsets: Labels,
}

impl GarblerReady {
    pub fn view(&self) -> ClaimShares<'_> {
        let GarblerReady {
            material: ProgramMaterial { layout, batches, input_authenticators, .. }, ots, ..
        } = self;
        let authenticators =
            batches.iter().map(|c| &c.authenticators).chain(input_authenticators).map(|g| g.wires.shares());
        let batches =
            batches.iter().map(|c| (c.batch.shape, c.batch.inputs.shares(), c.batch.offsets.shares()));
        let input_offsets = input_authenticators.iter().map(|g| g.offsets.shares()).collect();
        ClaimShares {
            layout,
            locations: authenticators.chain([ots.wires.shares()]).collect(),
            input_offsets,
            batches: batches.collect(),
        }
    }

    /// Returns the committed value of the wire at the head of a location.
    pub fn value(&self, location: WireLocation) -> Label {
        self.values[location.set as usize].wires[location.bucket as usize]
    }

    /// Returns the wire at the head of a location.
    pub fn wire(&self, location: WireLocation, delta_ka: Delta) -> GarblerWire {
        let offset = self.values[location.set as usize].offsets.get(location.bucket as usize);
        GarblerWire {
            value: self.value(location),
            delta: offset.map_or(delta_ka, |offset| Delta::new(offset.bits())),
        }
    }
}

impl EvaluatorReady {
    pub fn view(&self) -> ClaimShares<'_> {
        let EvaluatorReady {
            material: ProgramMaterial { layout, batches, input_authenticators, .. },
            ots,
            ..
        } = self;
        let authenticators =
            batches.iter().map(|c| &c.authenticators).chain(input_authenticators).map(|g| &g.wires);
        let batches = batches.iter().map(|c| (c.batch.shape, &c.batch.inputs, &c.batch.offsets));
        let input_offsets = input_authenticators.iter().map(|g| &g.offsets).collect();
        ClaimShares {
            layout,
            locations: authenticators.chain([&ots.wires]).collect(),
            input_offsets,
            batches: batches.collect(),
        }
    }
}

impl EvaluatorMaterial {
    /// Returns the authenticators of a location; the wire of an OT has none.
    fn authenticators_at(&self, location: WireLocation) -> Option<&EvaluatorAuthenticators> {
        let set = location.set as usize;
        self.batches
            .get(set)
            .map(|c| &c.authenticators)
            .or_else(|| self.input_authenticators.get(set - self.batches.len()))
    }

    /// Returns the authenticators of a location: of an output of a slot, or of an input of the garbler.
    ///
    /// # Panics
    /// If the location is a wire of the evaluator's input, which has no authenticators.
    pub fn authenticators_of(&self, location: WireLocation) -> &EvaluatorAuthenticators {
        self.authenticators_at(location).expect("all wires except the evaluator's inputs have authenticators")
    }

    /// Returns `Δ ⊕ Δ_ka` for the offset Δ of a location's head.
    pub fn delta_difference(&self, location: WireLocation) -> Label {
        self.authenticators_at(location).map_or(Label::ZERO, |authenticators| {
            authenticators.head_delta_difference(location.bucket as usize)
        })
    }

    /// Returns whether the authenticators of their locations accept all of these labels.
    ///
    /// # Errors
    /// [`Error::Resource`] if a file cannot be read.
    pub fn accept(&self, labels: &[Label], location: impl Fn(usize) -> WireLocation) -> Result<bool, Error> {
        let mut all = true;
        for (some, labels) in labels.chunks(LABELS_AT_ONCE).enumerate() {
            let mut of_set = std::collections::BTreeMap::<u32, Zeroizing<Vec<(usize, Label)>>>::new();
            for (k, &label) in labels.iter().enumerate() {
                let WireLocation { set, bucket } = location(some * LABELS_AT_ONCE + k);
                // Allocates room for all labels at once: a growing vector would leave copies of secrets in
                // freed memory.
                let of_set =
                    of_set.entry(set).or_insert_with(|| Zeroizing::new(Vec::with_capacity(labels.len())));
                of_set.push((bucket as usize, label));
            }
            for (&set, labels) in &of_set {
                all &=
                    !self.authenticators_of(WireLocation { set, bucket: 0 }).accept(labels)?.contains(&false);
            }
        }
        Ok(all)
    }
}

/// The solderings that join a program's material. Of each list of solderings, the garbler keeps the flips,
/// and the evaluator keeps all.
pub(super) struct ProgramSolderings<T> {
    /// For each batch `[slot of the batch][input wire]`: from the wire's location to the head copy's input.
    pub inputs: Vec<T>,
    /// For each sealed output wire: from its location to its authenticator.
    pub outputs: T,
}

/// A list of solderings at the evaluator.
pub(super) struct ReceivedSolderings {
    pub solderings: SpilledVec<Soldering>,
    flips: Bits,
}

impl<T> ProgramSolderings<T> {
    /// Returns the lists that claims refer to: of the batches, and of the sealed outputs.
    fn solderings<'a>(
        &'a self,
        of: impl Fn(&'a T) -> Solderings<'a>,
    ) -> (Vec<Solderings<'a>>, Solderings<'a>) {
        (self.inputs.iter().map(&of).collect(), of(&self.outputs))
    }
}

/// The claims of a program that are not proven yet, at the garbler: about its solderings, and about openings
/// of material that was made for this program alone.
pub(super) struct GarblerClaims<'a> {
    pub program: &'a Program,
    pub solderings: &'a ProgramSolderings<Bits>,
    pub openings: &'a GarblerOpenings,
}

impl GarblerClaims<'_> {
    pub fn claims<'a>(
        &'a self,
        [ka, ot]: [&'a Shares; 2],
        material: &'a GarblerMaterial,
        view: &'a ClaimShares<'a>,
        all: &mut Claims<'a>,
    ) {
        self.openings.claims([ka, ot], &material.batches, &material.input_authenticators, all);
        claims(
            all,
            self.program,
            view,
            self.solderings.solderings(|flips| Solderings { flips, received: None }),
        );
    }
}

impl EvaluatorReady {
    /// Lists the claims of a program that are not proven yet, and claims about openings of material that was
    /// made for it alone.
    pub fn claims<'a>(
        &'a self,
        [ka, ot]: [&'a Shares; 2],
        program: &'a Program,
        opened: &'a EvaluatorOpenings,
        view: &'a ClaimShares<'a>,
        all: &mut Claims<'a>,
    ) {
        opened.claims([ka, ot], &self.material.batches, &self.material.input_authenticators, all);
        let of_list = |list: &'a ReceivedSolderings| Solderings {
            flips: &list.flips,
            received: Some(&list.solderings),
        };
        claims(all, program, view, self.solderings.solderings(of_list));
    }
}

/// The solderings that begin at each global wire. Solderings are numbered batch after batch; sealed outputs
/// come last.
struct Uses {
    /// For each wire the index in `solderings` of its first soldering; the last entry is the total.
    starts: Vec<u32>,
    solderings: Vec<u32>,
    /// The number of the first soldering of each batch, and of the sealed outputs.
    firsts: Vec<usize>,
}

impl Uses {
    fn of(program: &Program, view: &ClaimShares) -> Self {
        let layout = view.layout;
        let mut firsts = vec![0];
        firsts.extend(view.batches.iter().zip(&layout.slots).scan(0, |sum, ((shape, ..), slots)| {
            *sum += slots.len() * shape.inputs;
            Some(*sum)
        }));
        let inputs = layout.slots.iter().flatten().flat_map(|&slot| program.slot(slot as usize).inputs);
        let wires = || inputs.clone().chain(&layout.sealed_outputs).map(|&wire| wire as usize);
        let mut starts = vec![0u32; program.wires() + 1];
        wires().for_each(|wire| starts[wire] += 1);
        let mut end = 0;
        for start in &mut starts {
            end += *start;
            *start = end;
        }
        let mut solderings = vec![0; end as usize];
        for (wire, soldering) in wires().zip(0..) {
            starts[wire] -= 1;
            solderings[starts[wire] as usize] = soldering;
        }
        Uses { starts, solderings, firsts }
    }

    /// Returns the solderings that begin at a wire, as pairs of the batch's number and the index in the
    /// batch. The sealed outputs have the number after all batches.
    fn of_wire(&self, wire: usize) -> impl Iterator<Item = (usize, usize)> + '_ {
        let solderings = &self.solderings[self.starts[wire] as usize..self.starts[wire + 1] as usize];
        solderings.iter().map(|&soldering| {
            let of = self.firsts.partition_point(|&first| first <= soldering as usize) - 1;
            (of, soldering as usize - self.firsts[of])
        })
    }
}

/// Claims for each soldering that its value is the difference of two commitments: of the wire, and of the
/// head's input or of the sealed output's authenticator.
fn claims<'a>(
    all: &mut Claims<'a>,
    program: &'a Program,
    view: &'a ClaimShares<'a>,
    (solderings, sealed): (Vec<Solderings<'a>>, Solderings<'a>),
) {
    let each = |all: &mut Claims<'a>, solderings: Solderings<'a>, wires: usize| {
        let openings = move |item: usize, of: Range<usize>, values: &mut [Label]| {
            solderings.openings(item * wires + of.start..item * wires + of.end, values);
        };
        all.each(EachClaim::new(solderings.len() / wires, wires).are(openings))
    };
    let mut groups: Vec<ClaimGroup> = view
        .batches
        .iter()
        .zip(&solderings)
        .map(|((shape, ..), &solderings)| each(all, solderings, shape.inputs))
        .collect();
    groups.push(each(all, sealed, 1));

    for ((&(shape, inputs, offsets), solderings), &group) in view.batches.iter().zip(solderings).zip(&groups)
    {
        all.weighted(inputs, move |weights, first, sums| {
            sums.iter_mut().zip(weights.from(group, first)).for_each(|(sum, weight)| *sum ^= weight);
        });
        all.weighted(offsets, move |weights, first, sums| {
            for (sum, bucket) in sums.iter_mut().zip(first..) {
                let flips = (bucket * shape.inputs..).map(|k| u128::from(solderings.flip(k)).wrapping_neg());
                let weights = weights.from(group, bucket * shape.inputs).take(shape.inputs);
                *sum ^= weights.zip(flips).fold(0, |sum, (weight, flip)| sum ^ weight & flip);
            }
        });
    }

    weigh_locations(all, program, view, sealed, groups);
}

/// Gives the wires at all locations their weights in the claims about solderings that begin or end there. The
/// list `groups` has a group of claims for each batch; the group of the sealed outputs is last.
fn weigh_locations<'a>(
    all: &mut Claims<'a>,
    program: &'a Program,
    view: &'a ClaimShares<'a>,
    sealed: Solderings<'a>,
    groups: Vec<ClaimGroup>,
) {
    let (layout, of_sealed) = (view.layout, groups[groups.len() - 1]);
    let (uses, groups) = (Arc::new(Uses::of(program, view)), Arc::new(groups));
    let used = |uses: &Uses, groups: &[ClaimGroup], weights: &Weights, wire: usize| {
        uses.of_wire(wire).fold(0, |sum, (of, k)| sum ^ weights.of(groups[of], k))
    };
    let (batches, own) = (view.batches.len(), program.input_width(Party::Garbler));
    let mut pooled = 0;
    for (set, &shares) in view.locations.iter().enumerate() {
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
        } else if let Some(&offsets) = view.input_offsets.get(set - batches) {
            // The first input authenticators are of the garbler's inputs. Sealed outputs end on the later
            // ones.
            let before = pooled;
            pooled += shares.len();
            all.weighted(shares, move |weights, first, sums| {
                for (sum, k) in sums.iter_mut().zip(before + first..) {
                    *sum ^= if k < own {
                        used(&uses, &groups, weights, k)
                    } else {
                        weights.of(of_sealed, k - own)
                    };
                }
            });
            all.weighted(offsets, move |weights, first, sums| {
                for (sum, k) in sums.iter_mut().zip(before + first..).filter(|(_, k)| *k >= own) {
                    *sum ^= weights.of(of_sealed, k - own) & u128::from(sealed.flip(k - own)).wrapping_neg();
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

/// The garbler's part of a program whose components are soldered together. It can be evaluated once.
pub(super) struct GarblerReady {
    pub material: GarblerMaterial,
    pub ots: GarblerInputOts,
    /// The values at the locations of each set.
    values: Vec<LocationValues>,
}

/// The evaluator's part of a program whose components are soldered together. It can be evaluated once.
pub(super) struct EvaluatorReady {
    pub material: EvaluatorMaterial,
    pub solderings: ProgramSolderings<ReceivedSolderings>,
    pub ots: EvaluatorInputOts,
}

/// The evaluator's part of a soldered program, before or after the proof of its solderings.
pub(super) enum Joined {
    Proven(EvaluatorReady),
    /// Neither the solderings are proven yet, nor the openings of material that was made for this program
    /// alone.
    Claimed(Claimed<EvaluatorReady>, EvaluatorOpenings),
}

impl Joined {
    pub fn ready(&self) -> &EvaluatorReady {
        match self {
            Joined::Proven(ready) => ready,
            Joined::Claimed(ready, _) => ready.received(),
        }
    }

    /// Lists the claims that are not proven yet.
    pub fn claims<'a>(
        &'a self,
        offsets: [&'a Shares; 2],
        program: &'a Program,
        view: &'a ClaimShares<'a>,
        all: &mut Claims<'a>,
    ) {
        if let Joined::Claimed(ready, opened) = self {
            all.about(ready, |ready, all| ready.claims(offsets, program, opened, view, all));
        }
    }

    /// Returns the soldered program after the proof of [`Joined::claims`].
    pub fn proven(self, proof: &Proof) -> EvaluatorReady {
        match self {
            Joined::Proven(ready) => ready,
            Joined::Claimed(ready, _) => ready.proven(proof),
        }
    }
}

/// Sends the solderings of the program. They are not proven yet.
pub(super) fn garbler<C: commit::CommitmentScheme>(
    party: &mut Garbler<C>,
    program: &Program,
    material: GarblerMaterial,
) -> Result<(GarblerReady, ProgramSolderings<Bits>), Error> {
    party.run.phase("build");
    let (ots, material) = material.take_ots();
    let ots = GarblerInputOts::join(ots);
    let authenticators = material
        .batches
        .iter()
        .map(|c| &c.authenticators)
        .chain(&material.input_authenticators)
        .map(|g| (&g.wires, Some(&g.offsets)));
    let values = authenticators.chain([(&ots.wires, None)]).map(|(wires, offsets)| {
        Ok(LocationValues {
            wires: wires.values()?,
            offsets: offsets.map_or_else(|| Ok(Labels::default()), CommitmentRow::values)?,
        })
    });
    let values = values.collect::<Result<_, Error>>()?;
    let ready = GarblerReady { material, ots, values };
    let ProgramMaterial { layout, batches, .. } = &ready.material;
    let delta_ka = party.delta_ka();
    let Garbler { run, hooks, window, .. } = party;
    let value_of = |wire: Wire| ready.value(layout.location(wire));
    let mut solderings = ProgramSolderings { inputs: Vec::new(), outputs: Bits::default() };
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
                let to = GarblerWire { value: values[k - first], delta: Delta::new(offsets[bucket].bits()) };
                Soldering::new(value_of(program.slot(slots[bucket] as usize).inputs[wire]), to)
            };
            Ok(each_of(first..buckets.end * inputs, soldering))
        };
        send_list(
            run,
            hooks,
            (Point::ProgramSolderings(id), msg::SOLDERINGS),
            slots.len(),
            *window / inputs,
            solder,
            |solderings| {
                flips.extend(solderings.iter().map(|soldering| soldering.flip()));
            },
        )?;
        solderings.inputs.push(flips);
    }
    let sealed = layout.sealed_outputs.iter().enumerate();
    let sealed = sealed
        .map(|(k, &wire)| Soldering::new(value_of(wire), ready.wire(layout.sealed_location(k), delta_ka)));
    let mut sealed: Vec<Soldering> = sealed.collect();
    hooks.alter(Point::PrivateSolderings, &mut sealed);
    run.channel.send(msg::SOLDERINGS, bytemuck::cast_slice(&sealed))?;
    solderings.outputs = sealed.iter().map(|soldering| soldering.flip()).collect();
    Ok((ready, solderings))
}

/// Receives the solderings of the program. They are not proven yet.
pub(super) fn evaluator<C: commit::CommitmentScheme>(
    party: &mut Evaluator<C>,
    material: Claimed<EvaluatorMaterial>,
) -> Result<Claimed<EvaluatorReady>, Error> {
    party.core.run.phase("build");
    let ProgramMaterial { layout, batches, .. } = material.received();
    let EvaluatorCore { run, receiver, openings_memory, .. } = &mut party.core;
    let count = |(c, slots): (&EvaluatorComponent, &Vec<u32>)| slots.len() * c.batch.shape.inputs;
    let counts: Vec<usize> = batches.iter().zip(&layout.slots).map(count).collect();
    let bytes = counts.iter().sum::<usize>() * size_of::<Soldering>();
    let spill =
        if bytes as u64 > *openings_memory { Spill::file(receiver.fault())? } else { Spill::memory() };
    let mut receive = |count: usize| {
        let (solderings, flips) = receive::solderings(&mut run.channel, &spill, msg::SOLDERINGS, count)?;
        Ok::<_, Error>(ReceivedSolderings { solderings, flips })
    };
    let inputs = counts.into_iter().map(&mut receive).collect::<Result<_, _>>()?;
    let solderings = ProgramSolderings { inputs, outputs: receive(layout.sealed_outputs.len())? };
    Ok(material.map(|material| {
        let (ots, material) = material.take_ots();
        EvaluatorReady { material, solderings, ots: EvaluatorInputOts::join(ots) }
    }))
}

/// Proves the solderings. For material that was made for this program alone, also proves the openings of its
/// OTs.
pub(super) fn garbler_proves<C: commit::CommitmentScheme>(
    party: &mut Garbler<C>,
    program: &Program,
    ready: &GarblerReady,
    solderings: &ProgramSolderings<Bits>,
    openings: &GarblerOpenings,
) -> Result<(), Error> {
    let Garbler { run, sender, ka, ot, .. } = party;
    run.phase("build");
    let view = ready.view();
    let of_program = GarblerClaims { program, solderings, openings };
    let mut all = Claims::new();
    of_program.claims([&ka.shares, &ot.shares], &ready.material, &view, &mut all);
    sender.prove(&mut run.channel, &[], &all)
}

/// Checks the proof of the solderings and of the other claims that are not proven yet.
pub(super) fn evaluator_verifies<C: commit::CommitmentScheme>(
    party: &mut Evaluator<C>,
    program: &Program,
    ready: Claimed<EvaluatorReady>,
    opened: EvaluatorOpenings,
) -> Result<EvaluatorReady, Error> {
    let Evaluator { core: EvaluatorCore { run, receiver, .. }, ka, ot, .. } = party;
    run.phase("build");
    let view = ready.received().view();
    let mut all = Claims::new();
    all.about(&ready, |ready, all| ready.claims([ka, ot], program, &opened, &view, all));
    let proof = receiver.verify(&mut run.channel, &[], &all)?;
    drop(all);
    drop(view);
    Ok(ready.proven(&proof))
}

#[cfg(test)]
pub(super) mod tests {
    use super::super::authenticators::tests::authenticators;
    use super::super::items::Items;
    use super::super::steps::Step;
    use super::*;
    use crate::adversary::harness::wires;
    use brickwork_base::random::Rng;
    use brickwork_circuit::Recipient;
    use brickwork_primitives::authenticator::AuthenticatorKind;
    use brickwork_testing::Replayable as _;

    /// Returns the material of a program that has inputs but no slots.
    pub fn without_slots(
        program: &Program,
        input_authenticators: Vec<EvaluatorAuthenticators>,
    ) -> EvaluatorMaterial {
        let sizes: Vec<usize> = input_authenticators.iter().map(EvaluatorAuthenticators::len).collect();
        let step = Step::from(&Arc::new(program.clone()));
        let (layout, labels) = (Layout::new(&step, &[], &sizes), Labels::default());
        let (batches, carried) = (Vec::new(), Vec::new());
        ProgramMaterial { layout, batches, input_authenticators, labels, ots: None, carried }
    }

    /// InputG: checks more labels than one call takes, at locations in several sets of input authenticators.
    /// Each label is checked by the authenticators of its own location, and one refused label makes the check
    /// fail.
    #[test]
    fn row_13_every_label_is_shown_to_its_own_authenticators() {
        let mut rng = Rng::replayable("test gadgets");
        let delta_ka = rng.delta();
        let of_a_batch = |_| {
            authenticators(AuthenticatorKind::Input, (2, 1), delta_ka, &Spill::memory(), &mut rng, |_, _| {
                false
            })
        };
        let (input_authenticators, heads): (Vec<_>, Vec<_>) = [0, 1].map(of_a_batch).into_iter().unzip();
        let material = without_slots(&wires(4, 0, &[(Recipient::Both, vec![0])]), input_authenticators);
        // The first wires of both sets belong to the first call.
        let location = |k: usize| WireLocation { set: k as u32 % 2, bucket: (k / LABELS_AT_ONCE) as u32 };
        let wire = |k: usize| heads[location(k).set as usize][location(k).bucket as usize];
        let mut labels: Vec<Label> =
            (0..LABELS_AT_ONCE + 3).map(|k| wire(k).of_bit((k / 2 % 2) as u8)).collect();
        assert!(material.accept(&labels, location).unwrap());
        for wrong in [0, 1, LABELS_AT_ONCE - 1, LABELS_AT_ONCE, LABELS_AT_ONCE + 2] {
            let rubbish = Label::from_bits(1 << 40);
            labels[wrong] ^= rubbish;
            assert!(!material.accept(&labels, location).unwrap(), "label {wrong}");
            labels[wrong] ^= rubbish;
        }
    }
}
