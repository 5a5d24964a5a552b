//! PrepareComponents: key authenticators, checked and in buckets, soldered to the outputs of all chosen copies.
//!
//! Plain authenticators guard every output wire of every slot and the evaluator's inputs; their offset is Δ_ka for all.
//! Self-authenticating ones guard the garbler's inputs and the outputs that only the garbler learns; each has its own.
//!
//! ```text
//!   garbler -> evaluator    commitments to all gadgets' wires (and the input gadgets' offsets); all pairs of hashes
//!   evaluator -> garbler    challenge: a seed
//!   garbler -> evaluator    checked plain gadgets: the label of a challenged colour; checked input gadgets: the offset;
//!                           the others: links, solderings in buckets, solderings of the copies' outputs
//!   evaluator -> garbler    seed;   garbler -> evaluator    answer
//! ```
//!
//! Of a checked plain gadget one half is opened, `C ⊕ b·D_ka` for a bit b that the challenge draws after everything is
//! fixed: both halves would give Δ_ka away (section 6.1). A bad one is caught with probability 1/2, an input gadget always.

use std::ops::Range;

use rayon::prelude::*;

use super::challenge::{Batch, Challenge};
use super::preprocess::{EvaluatorBatch, GarblerBatch, Shape};
use super::stock::{ComponentPieces, Origin, Pieces};
use super::{Cheat, Error, Evaluator, Garbler, Parameters, Point, msg};
use crate::authenticator::{Authenticator, Hasher, Kind};
use crate::circuit::ComponentDigest;
use crate::commit::{Claims, Committed, Committer, Holder, Lsb, Shares};
use crate::cut_and_choose;
use crate::label::{Delta, Label};
use crate::random::{Rng, SEED_BYTES, Seed};
use crate::solder::{CommittedWire, Soldering};

/// What the garbler keeps of authenticators of one kind, bucket after bucket.
pub(super) struct GarblerGadgets {
    pub origin: Origin,
    pub size: usize,
    pub wires: Committed,
    /// Offsets of input gadgets; empty for plain ones.
    pub offsets: Committed,
}

/// What the evaluator keeps of authenticators of one kind, bucket after bucket.
pub(super) struct EvaluatorGadgets {
    pub origin: Origin,
    pub size: usize,
    pub hasher: Hasher,
    /// Index of each gadget in its batch, by which it hashes.
    pub indices: Vec<usize>,
    pub authenticators: Vec<Authenticator>,
    pub wires: Shares,
    pub offsets: Shares,
    /// S_g of each input gadget; empty for plain ones.
    pub links: Vec<Label>,
    /// From the head of each bucket to its other gadgets.
    pub solderings: Vec<Soldering>,
}

impl EvaluatorGadgets {
    /// `Δ_g ⊕ Δ_ka` of a gadget.
    pub fn link(&self, gadget: usize) -> Label {
        self.links.get(gadget).copied().unwrap_or_default()
    }

    /// Gadget `i` of a bucket, and the label that a label on the bucket's head becomes there.
    pub fn carry(&self, bucket: usize, i: usize, label: Label) -> (usize, Label) {
        let (head, gadget) = (bucket * self.size, bucket * self.size + i);
        if i == 0 {
            return (gadget, label);
        }
        let soldering = self.solderings[bucket * (self.size - 1) + i - 1];
        (gadget, soldering.carry(label, self.link(head) ^ self.link(gadget)))
    }

    /// EvKAs for labels, each on the head of a bucket: whether a strict majority of the bucket accepts it. It asks all
    /// gadgets, whatever they say.
    pub fn accept(&self, labels: &[(usize, Label)]) -> Vec<bool> {
        let query = |k: usize| {
            let (bucket, label) = labels[k / self.size];
            let (gadget, label) = self.carry(bucket, k % self.size, label);
            (self.authenticators[gadget], self.indices[gadget] as u64, label)
        };
        let votes = self.hasher.accepts(labels.len() * self.size, query);
        votes.chunks_exact(self.size).map(|votes| 2 * votes.iter().map(|&vote| usize::from(vote)).sum::<usize>() > self.size).collect()
    }
}

/// A batch of the garbler's with the authenticators of its outputs, `[slot][output wire]`.
pub(super) struct GarblerComponent {
    pub batch: GarblerBatch,
    pub authenticators: GarblerGadgets,
}

/// A batch of the evaluator's with the authenticators of its outputs, `[slot][output wire]`.
pub(super) struct EvaluatorComponent {
    pub batch: EvaluatorBatch,
    pub authenticators: EvaluatorGadgets,
    /// `[copy][output wire]`.
    pub output_solderings: Vec<Soldering>,
}

impl Pieces for GarblerGadgets {
    fn origins(&self) -> Vec<Origin> {
        vec![self.origin]
    }

    fn len(&self) -> usize {
        self.wires.values.len() / self.size
    }

    fn slice(&self, buckets: Range<usize>) -> Self {
        let gadgets = buckets.start * self.size..buckets.end * self.size;
        let offsets = if self.offsets.values.is_empty() { Committed::default() } else { self.offsets.slice(gadgets.clone()) };
        GarblerGadgets { origin: self.origin, size: self.size, wires: self.wires.slice(gadgets), offsets }
    }
}

impl Pieces for EvaluatorGadgets {
    fn origins(&self) -> Vec<Origin> {
        vec![self.origin]
    }

    fn len(&self) -> usize {
        self.indices.len() / self.size
    }

    fn slice(&self, buckets: Range<usize>) -> Self {
        let gadgets = buckets.start * self.size..buckets.end * self.size;
        let pairs = self.size - 1;
        EvaluatorGadgets {
            origin: self.origin,
            size: self.size,
            hasher: self.hasher.clone(),
            indices: self.indices[gadgets.clone()].to_vec(),
            authenticators: self.authenticators[gadgets.clone()].to_vec(),
            wires: self.wires.slice(gadgets.clone()),
            offsets: if self.offsets.is_empty() { Shares::default() } else { self.offsets.slice(gadgets.clone()) },
            links: if self.links.is_empty() { Vec::new() } else { self.links[gadgets].to_vec() },
            solderings: self.solderings[buckets.start * pairs..buckets.end * pairs].to_vec(),
        }
    }
}

impl Pieces for GarblerComponent {
    fn origins(&self) -> Vec<Origin> {
        vec![self.batch.origin, self.authenticators.origin]
    }

    fn len(&self) -> usize {
        self.batch.shape.batch.buckets
    }

    fn slice(&self, slots: Range<usize>) -> Self {
        let outputs = self.batch.shape.outputs;
        let authenticators = self.authenticators.slice(slots.start * outputs..slots.end * outputs);
        GarblerComponent { batch: self.batch.slice(slots), authenticators }
    }
}

impl Pieces for EvaluatorComponent {
    fn origins(&self) -> Vec<Origin> {
        vec![self.batch.origin, self.authenticators.origin]
    }

    fn len(&self) -> usize {
        self.batch.shape.batch.buckets
    }

    fn slice(&self, slots: Range<usize>) -> Self {
        let Shape { outputs, batch, .. } = self.batch.shape;
        EvaluatorComponent {
            batch: self.batch.slice(slots.clone()),
            authenticators: self.authenticators.slice(slots.start * outputs..slots.end * outputs),
            output_solderings: self.output_solderings[slots.start * batch.size * outputs..slots.end * batch.size * outputs].to_vec(),
        }
    }
}

impl ComponentPieces for GarblerComponent {
    fn digest(&self) -> &ComponentDigest {
        &self.batch.component
    }

    fn outputs(&self) -> usize {
        self.batch.shape.outputs
    }
}

impl ComponentPieces for EvaluatorComponent {
    fn digest(&self) -> &ComponentDigest {
        &self.batch.component
    }

    fn outputs(&self) -> usize {
        self.batch.shape.outputs
    }
}

/// First plain bucket of each batch's outputs, and, last, that of the evaluator's inputs: slot after slot, wire after wire.
fn first_buckets(shapes: impl Iterator<Item = Shape>) -> Vec<usize> {
    let mut first = vec![0];
    for shape in shapes {
        first.push(first[first.len() - 1] + shape.batch.buckets * shape.outputs);
    }
    first
}

/// What becomes known of the gadgets of one kind.
struct Revealed {
    /// Checked gadgets: the half that is opened, or the whole wire where the evaluator can compute it.
    opened: Vec<Label>,
    opened_offsets: Vec<Label>,
    links: Vec<Label>,
    solderings: Vec<Soldering>,
}

/// The colours that the challenge asks for, one for each checked plain gadget.
fn colours(seed: &Seed, count: usize) -> Vec<u8> {
    let mut bytes = vec![0; count];
    Rng::expand(seed, "brickwork colours of checked authenticators").fill(&mut bytes);
    bytes.iter_mut().for_each(|b| *b &= 1);
    bytes
}

/// Claims about gadgets of one kind. `ka` is the commitment to Δ_ka; input gadgets have `offsets` of their own.
fn claims<'a>(
    claims: &mut Claims<'a>,
    batch: Batch,
    challenge: &'a Challenge,
    colours: &'a [u8],
    [wires, offsets, ka]: [&'a Shares; 3],
    revealed: &'a Revealed,
) {
    let Challenge { opened, chosen } = challenge;
    let plain = offsets.is_empty();
    claims.known(opened.len(), move |k, sum| {
        wires.add(opened[k], sum);
        if plain {
            ka.add_if(colours[k], 0, sum);
        }
        revealed.opened[k]
    });
    if !plain {
        claims.known(opened.len(), move |k, sum| {
            offsets.add(opened[k], sum);
            revealed.opened_offsets[k]
        });
        claims.known(chosen.len(), move |k, sum| {
            offsets.add(chosen[k], sum);
            ka.add(0, sum);
            revealed.links[k]
        });
    }
    claims.known(revealed.solderings.len(), move |k, sum| {
        let (head, other) = batch.pair(k);
        let soldering = revealed.solderings[k];
        wires.add(chosen[head], sum);
        wires.add(chosen[other], sum);
        match plain {
            true => ka.add_if(soldering.flip(), 0, sum),
            false => offsets.add_if(soldering.flip(), chosen[other], sum),
        }
        soldering.opening()
    });
}

/// Claims: each copy's output wire is soldered to the head of its authenticators.
fn output_claims<'a>(
    claims: &mut Claims<'a>,
    shape: Shape,
    first: usize,
    [outputs, plain, ka]: [&'a Shares; 3],
    places: &'a [usize],
    size: usize,
    solderings: &'a [Soldering],
) {
    claims.known(solderings.len(), move |k, sum| {
        outputs.add(k, sum);
        plain.add(places[(first + output_bucket(shape, k)) * size], sum);
        ka.add_if(solderings[k].flip(), 0, sum);
        solderings[k].opening()
    });
}

/// Which of a batch's buckets of authenticators output `k` goes to, counted `[copy][wire]`.
pub(super) fn output_bucket(shape: Shape, k: usize) -> usize {
    let (copy, wire) = (k / shape.outputs, k % shape.outputs);
    copy / shape.batch.size * shape.outputs + wire
}

/// The cut-and-choose of both kinds of gadget.
fn origins(serial: &mut u64, parameters: &Parameters) -> [Origin; 2] {
    [(cut_and_choose::Kind::KeyAuthenticator, parameters.plain), (cut_and_choose::Kind::InputAuthenticator, parameters.input)].map(
        |(kind, cut)| {
            *serial += 1;
            Origin { serial: *serial, kind, cut }
        },
    )
}

/// Adds the garbler's authenticators for its new batches and for the inputs to its stock.
pub(super) fn garbler(party: &mut Garbler, batches: Vec<GarblerBatch>, parameters: &Parameters) -> Result<(), Error> {
    let Garbler { run, committer, hooks, delta_ka, ka, session, gadgets: counter, serial, stock, .. } = party;
    let origins = origins(serial, parameters);
    let delta_ka = *delta_ka;
    let kinds = [(Kind::Plain, Batch::from(parameters.plain)), (Kind::Input, Batch::from(parameters.input))];
    let mut made = Vec::new();
    for (kind, batch) in kinds {
        let hasher = Hasher::new(session, kind).after(*counter);
        let offsets = match kind {
            Kind::Plain => Committed::default(),
            Kind::Input => committer.commit_random(&mut run.channel, batch.items(), Lsb::One)?,
        };
        let made_with = hooks.altered(Point::InputOffsets, &offsets.values);
        let wires = match kind {
            Kind::Plain => committer.commit_random(&mut run.channel, batch.items(), Lsb::Random)?,
            Kind::Input => {
                let delta = |i: usize| Delta::new(made_with[i].bits());
                let mut values = hasher.false_labels(batch.items(), |i| (i as u64, delta(i)));
                values.par_iter_mut().enumerate().for_each(|(i, v)| *v = CommittedWire::from_false_label(*v, delta(i)).value);
                hooks.alter(Point::InputGadgets, &mut values);
                committer.commit(&mut run.channel, &values)?
            }
        };
        let hashed = hooks.altered(if kind == Kind::Plain { Point::PlainHashed } else { Point::InputHashed }, &wires.values);
        let wire = |i: usize| CommittedWire { value: hashed[i], delta: made_with.get(i).map_or(delta_ka, |o| Delta::new(o.bits())) };
        let mut authenticators = hasher.authenticators(batch.items(), |i| (i as u64, wire(i).base(), wire(i).delta));
        hooks.alter(if kind == Kind::Plain { Point::PlainAuthenticators } else { Point::InputAuthenticators }, &mut authenticators);
        run.channel.send(msg::AUTHENTICATORS, bytemuck::cast_slice(&authenticators))?;
        made.push((batch, wires, offsets));
    }

    let seeds = run.channel.receive(msg::CHALLENGE, 2 * SEED_BYTES)?;
    let mut revealed = Vec::new();
    for ((batch, wires, offsets), seed) in made.iter().zip(seeds.chunks_exact(SEED_BYTES)) {
        let seed = Seed::from_bytes(seed.try_into().expect("16 bytes"));
        let challenge = Challenge::expand(&seed, batch);
        let Challenge { opened, chosen } = &challenge;
        let colours = colours(&seed, opened.len());
        let wire =
            |i: usize| CommittedWire { value: wires.values[i], delta: offsets.values.get(i).map_or(delta_ka, |o| Delta::new(o.bits())) };
        let plain = offsets.values.is_empty();
        let solderings: Vec<Soldering> = (0..batch.pairs())
            .into_par_iter()
            .map(|k| {
                let (head, other) = batch.pair(k);
                Soldering::new(wire(chosen[head]), wire(chosen[other]))
            })
            .collect();
        let mut r = match plain {
            true => Revealed {
                opened: opened.iter().zip(&colours).map(|(&i, &b)| wires.values[i] ^ delta_ka.times(b)).collect(),
                opened_offsets: Vec::new(),
                links: Vec::new(),
                solderings,
            },
            false => Revealed {
                opened: vec![Label::ZERO; opened.len()],
                opened_offsets: opened.iter().map(|&i| offsets.values[i]).collect(),
                links: chosen.iter().map(|&i| offsets.values[i] ^ delta_ka).collect(),
                solderings,
            },
        };
        hooks.alter(if plain { Point::PlainSolderings } else { Point::InputSolderings }, &mut r.solderings);
        hooks.alter(Point::InputLinks, &mut r.links);
        match plain {
            true => hooks.alter(Point::OpenedPlain, &mut r.opened),
            false => hooks.alter(Point::OpenedInput, &mut r.opened_offsets),
        }
        run.channel.send(msg::OPENED_AUTHENTICATORS, bytemuck::cast_slice(if plain { &r.opened } else { &r.opened_offsets }))?;
        run.channel.send(msg::LINKS, bytemuck::cast_slice(&r.links))?;
        run.channel.send(msg::BUCKET_SOLDERINGS, bytemuck::cast_slice(&r.solderings))?;
        revealed.push((challenge, colours, r));
    }
    let size = parameters.plain.bucket as usize;
    let first = first_buckets(batches.iter().map(|b| b.shape));
    let places = &revealed[0].0.chosen;
    let mut output_solderings: Vec<Vec<Soldering>> = batches
        .iter()
        .zip(&first)
        .map(|(b, &first)| {
            let soldering = |k: usize| {
                let delta = Delta::new(b.offsets.values[k / b.shape.outputs].bits());
                let head = places[(first + output_bucket(b.shape, k)) * size];
                Soldering::new(
                    CommittedWire { value: b.outputs.values[k], delta },
                    CommittedWire { value: made[0].1.values[head], delta: delta_ka },
                )
            };
            (0..b.outputs.values.len()).into_par_iter().map(soldering).collect()
        })
        .collect();
    for (b, solderings) in output_solderings.iter_mut().enumerate() {
        hooks.alter(Point::OutputSolderings(b), solderings);
        run.channel.send(msg::OUTPUT_SOLDERINGS, bytemuck::cast_slice(solderings))?;
    }

    let mut all = Claims::new();
    for ((batch, wires, offsets), (challenge, colours, r)) in made.iter().zip(&revealed) {
        claims(&mut all, *batch, challenge, colours, [&wires.shares, &offsets.shares, &ka.shares], r);
    }
    for ((b, &first), solderings) in batches.iter().zip(&first).zip(&output_solderings) {
        output_claims(&mut all, b.shape, first, [&b.outputs.shares, &made[0].1.shares, &ka.shares], places, size, solderings);
    }
    let new: Vec<&Committed> = made.iter().flat_map(|(_, wires, offsets)| [wires, offsets]).collect();
    committer.prove(&mut run.channel, &new, &all)?;
    drop(all);
    *counter += kinds.map(|(_, batch)| batch.items() as u64).into_iter().max().unwrap_or(0);
    let gadgets = |kind: usize, buckets: Range<usize>| {
        let ((batch, wires, offsets), (challenge, _, _)) = (&made[kind], &revealed[kind]);
        let chosen = challenge.chosen[buckets.start * batch.size..buckets.end * batch.size].iter().copied();
        GarblerGadgets {
            origin: origins[kind],
            size: batch.size,
            wires: wires.select(chosen.clone()),
            offsets: if offsets.values.is_empty() { Committed::default() } else { offsets.select(chosen) },
        }
    };
    let (plain, input) = (made[0].0.buckets, made[1].0.buckets);
    stock.put_gadgets(gadgets(0, first[batches.len()]..plain), gadgets(1, 0..input));
    for (batch, buckets) in batches.into_iter().zip(first.windows(2)) {
        stock.put_component(GarblerComponent { batch, authenticators: gadgets(0, buckets[0]..buckets[1]) });
    }
    Ok(())
}

/// Adds the evaluator's authenticators for its new batches and for the inputs to its stock.
pub(super) fn evaluator(party: &mut Evaluator, batches: Vec<EvaluatorBatch>, parameters: &Parameters) -> Result<(), Error> {
    let Evaluator { run, holder, rng, hooks, ka, session, gadgets: counter, serial, stock, .. } = party;
    let origins = origins(serial, parameters);
    let kinds = [(Kind::Plain, Batch::from(parameters.plain)), (Kind::Input, Batch::from(parameters.input))];
    let (mut received, mut pending) = (Vec::new(), Vec::new());
    for (kind, batch) in kinds {
        let (offsets, wires) = match kind {
            Kind::Plain => (holder.no_commitments(), holder.receive_random(&mut run.channel, batch.items(), Lsb::Random)?),
            Kind::Input => {
                (holder.receive_random(&mut run.channel, batch.items(), Lsb::One)?, holder.receive(&mut run.channel, batch.items())?)
            }
        };
        pending.push([wires, offsets]);
        let mut authenticators = vec![Authenticator::default(); batch.items()];
        run.channel.receive_into(msg::AUTHENTICATORS, bytemuck::cast_slice_mut(&mut authenticators))?;
        received.push((batch, Hasher::new(session, kind).after(*counter), authenticators));
    }

    let mut seeds = [0; 2 * SEED_BYTES];
    rng.fill(&mut seeds);
    hooks.alter(Point::Challenge, &mut seeds);
    run.channel.send(msg::CHALLENGE, &seeds)?;
    let mut revealed = Vec::new();
    for ((kind, batch), ((_, hasher, authenticators), seed)) in kinds.into_iter().zip(received.iter().zip(seeds.chunks_exact(SEED_BYTES))) {
        let seed = Seed::from_bytes(seed.try_into().expect("16 bytes"));
        let challenge = Challenge::expand(&seed, &batch);
        let opened = &challenge.opened;
        let colours = colours(&seed, opened.len());
        let told = run.labels(msg::OPENED_AUTHENTICATORS, opened.len())?;
        let links = run.labels(msg::LINKS, if kind == Kind::Input { batch.chosen() } else { 0 })?;
        let mut solderings = vec![Soldering::default(); batch.pairs()];
        run.channel.receive_into(msg::BUCKET_SOLDERINGS, bytemuck::cast_slice_mut(&mut solderings))?;
        if links.iter().any(|link| link.colour() != 0) {
            return Err(Cheat::LinkColour.into());
        }
        let r = match kind {
            // VerKeyAuth, one half: the label of colour b must hash to what stands at b.
            Kind::Plain => {
                let half = |k: usize| (authenticators[opened[k]], opened[k] as u64, told[k].with_colour(colours[k]));
                if hasher.accepts(opened.len(), half).contains(&false) {
                    return Err(Cheat::KeyAuthenticator.into());
                }
                Revealed { opened: told, opened_offsets: Vec::new(), links, solderings }
            }
            // VerInKeyAuth: everything follows from the offset.
            Kind::Input => {
                let delta = |offset: &Label| Delta::checked(offset.bits()).ok_or(Cheat::OffsetColour);
                let deltas = told.iter().map(delta).collect::<Result<Vec<_>, Cheat>>()?;
                let false_labels = hasher.false_labels(opened.len(), |k| (opened[k] as u64, deltas[k]));
                let wire = |k: usize| CommittedWire::from_false_label(false_labels[k], deltas[k]);
                let honest = hasher.authenticators(opened.len(), |k| (opened[k] as u64, wire(k).base(), deltas[k]));
                if opened.iter().zip(&honest).any(|(&i, honest)| authenticators[i] != *honest) {
                    return Err(Cheat::InputAuthenticator.into());
                }
                let values = (0..opened.len()).map(|k| wire(k).value).collect();
                Revealed { opened: values, opened_offsets: told, links, solderings }
            }
        };
        revealed.push((challenge, colours, r));
    }
    let mut output_solderings = Vec::new();
    for b in &batches {
        let mut solderings = vec![Soldering::default(); b.shape.batch.buckets * b.shape.batch.size * b.shape.outputs];
        run.channel.receive_into(msg::OUTPUT_SOLDERINGS, bytemuck::cast_slice_mut(&mut solderings))?;
        output_solderings.push(solderings);
    }

    let size = parameters.plain.bucket as usize;
    let first = first_buckets(batches.iter().map(|b| b.shape));
    let places = &revealed[0].0.chosen;
    let mut all = Claims::new();
    for ((batch, p), (challenge, colours, r)) in received.iter().map(|r| r.0).zip(&pending).zip(&revealed) {
        claims(&mut all, batch, challenge, colours, [p[0].shares(), p[1].shares(), ka], r);
    }
    for ((b, &first), solderings) in batches.iter().zip(&first).zip(&output_solderings) {
        output_claims(&mut all, b.shape, first, [&b.outputs, pending[0][0].shares(), ka], places, size, solderings);
    }
    let proof = holder.verify(&mut run.channel, &pending.iter().flatten().collect::<Vec<_>>(), &all)?;
    drop(all);
    *counter += kinds.map(|(_, batch)| batch.items() as u64).into_iter().max().unwrap_or(0);
    let shares: Vec<[Shares; 2]> = pending.into_iter().map(|p| p.map(|p| p.accept(&proof))).collect();
    let gadgets = |kind: usize, buckets: Range<usize>| {
        let ((batch, hasher, authenticators), [wires, offsets], (challenge, _, r)) = (&received[kind], &shares[kind], &revealed[kind]);
        let places = buckets.start * batch.size..buckets.end * batch.size;
        let chosen = &challenge.chosen[places.clone()];
        EvaluatorGadgets {
            origin: origins[kind],
            size: batch.size,
            hasher: hasher.clone(),
            indices: chosen.to_vec(),
            authenticators: chosen.iter().map(|&i| authenticators[i]).collect(),
            wires: wires.select(chosen.iter().copied()),
            offsets: if offsets.is_empty() { Shares::default() } else { offsets.select(chosen.iter().copied()) },
            links: if r.links.is_empty() { Vec::new() } else { r.links[places].to_vec() },
            solderings: r.solderings[buckets.start * (batch.size - 1)..buckets.end * (batch.size - 1)].to_vec(),
        }
    };
    let (plain, input) = (received[0].0.buckets, received[1].0.buckets);
    stock.put_gadgets(gadgets(0, first[batches.len()]..plain), gadgets(1, 0..input));
    for ((batch, output_solderings), buckets) in batches.into_iter().zip(output_solderings).zip(first.windows(2)) {
        stock.put_component(EvaluatorComponent { batch, authenticators: gadgets(0, buckets[0]..buckets[1]), output_solderings });
    }
    Ok(())
}
