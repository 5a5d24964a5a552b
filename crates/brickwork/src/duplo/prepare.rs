//! PrepareComponents: key authenticators, checked and in buckets, soldered to the outputs of all chosen copies.
//!
//! Plain authenticators guard every output wire of every slot; their offset is Δ_ka for all. Self-authenticating ones guard the
//! garbler's inputs and the outputs that only the garbler learns; each has its own. The evaluator's inputs need none (`ots`).
//!
//! ```text
//!   garbler -> evaluator    commitments to all gadgets' wires (and the input gadgets' offsets); all pairs of hashes
//!   evaluator -> garbler    challenge: a seed
//!   garbler -> evaluator    checked plain gadgets: the label of a challenged colour; checked input gadgets: the offset;
//!                           the others: links, solderings in buckets, solderings of the copies' outputs
//! ```
//!
//! Before the challenge the commitments are proven to be commitments, and after it all claims: by proofs that this step shares
//! with others.
//!
//! Of a checked plain gadget one half is opened, `C ⊕ b·D_ka` for a bit b that the challenge draws after everything is
//! fixed: both halves would give Δ_ka away (section 6.1). A bad one is caught with probability 1/2, an input gadget always.

use std::ops::Range;

use rayon::prelude::*;

use super::challenge::{Batch, Challenge, pair};
use super::preprocess::{EvaluatorBatch, GarblerBatch, GarblerTold, Shape};
use super::sessions::EvaluatorCore;
use super::stock::{ComponentPieces, Origin, Pieces, Places};
use super::{Cheat, Error, Garbler, Parameters, Point, msg};
use crate::authenticator::{Authenticator, Hasher, Kind};
use crate::circuit::ComponentDigest;
use crate::commit::{Claims, Committed, Committer, Holder, Lsb, Pending, Proof, Shares};
use crate::cut_and_choose;
use crate::label::{Delta, Label, Labels};
use crate::random::{Rng, Seed};
use crate::session::Run;
use crate::solder::{CommittedWire, Soldering};

/// What the garbler keeps of authenticators of one kind, bucket after bucket.
pub(super) struct GarblerGadgets {
    pub origin: Origin,
    pub size: usize,
    /// Of the heads.
    pub at: Places,
    /// Gadgets that the session had made before these, of either kind.
    pub made: u64,
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
    /// Shares that are kept of each bucket: those of all its gadgets, or the head's alone.
    pub fn stride(&self) -> usize {
        self.wires.len().checked_div(self.len()).unwrap_or(0)
    }

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
        self.at.items.len()
    }

    fn slice(&self, buckets: Range<usize>) -> Self {
        let (all, at) = (self.len(), self.at.slice(buckets.clone()));
        let (wires, offsets) = (self.wires.of_items(all, buckets.clone()), self.offsets.of_items(all, buckets));
        GarblerGadgets { origin: self.origin, size: self.size, at, made: self.made, wires, offsets }
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
            wires: self.wires.of_items(self.len(), buckets.clone()),
            offsets: self.offsets.of_items(self.len(), buckets.clone()),
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

/// Which plain buckets are for each batch's outputs, slot after slot, wire after wire: all of them.
fn plain_uses(shapes: impl Iterator<Item = Shape>) -> Vec<Range<usize>> {
    let mut first = 0;
    let of_batch = |shape: Shape| {
        let buckets = shape.batch.buckets * shape.outputs;
        first += buckets;
        first - buckets..first
    };
    shapes.map(of_batch).collect()
}

/// The colours that the challenge asks for, one for each checked plain gadget.
fn colours(seed: &Seed, count: usize) -> Vec<u8> {
    let mut bytes = vec![0; count];
    Rng::expand(seed, "brickwork colours of checked authenticators").fill(&mut bytes);
    bytes.iter_mut().for_each(|b| *b &= 1);
    bytes
}

/// Claims about gadgets in buckets: links, and solderings. Plain ones have neither offsets nor links.
fn gadget_claims<'a>(
    claims: &mut Claims<'a>,
    size: usize,
    [wires, offsets, ka]: [&'a Shares; 3],
    links: &'a [Label],
    solderings: &'a [Soldering],
) {
    claims.known(links.len(), move |k, sum| {
        offsets.add(k, sum);
        ka.add(0, sum);
        links[k]
    });
    let plain = offsets.is_empty();
    claims.known(solderings.len(), move |k, sum| {
        let (head, other) = pair(size, k);
        wires.add(head, sum);
        wires.add(other, sum);
        match plain {
            true => ka.add_if(solderings[k].flip(), 0, sum),
            false => offsets.add_if(solderings[k].flip(), other, sum),
        }
        solderings[k].opening()
    });
}

/// Claims: each copy's output wire is soldered to the head of its authenticators.
fn output_claims<'a>(
    claims: &mut Claims<'a>,
    shape: Shape,
    size: usize,
    [outputs, authenticators, ka]: [&'a Shares; 3],
    solderings: &'a [Soldering],
) {
    claims.known(solderings.len(), move |k, sum| {
        outputs.add(k, sum);
        authenticators.add(output_bucket(shape, k) * size, sum);
        ka.add_if(solderings[k].flip(), 0, sum);
        solderings[k].opening()
    });
}

/// The checked gadgets of one kind.
pub(super) struct Opened {
    /// Of plain ones the half of the challenged colour; of the others the whole wire, which the evaluator can compute.
    wires: Committed,
    /// Of each wire whether Δ_ka is part of the opening.
    colours: Vec<u8>,
    /// None for plain ones.
    offsets: Committed,
}

impl Opened {
    pub fn claims<'a>(&'a self, ka: &'a Shares, claims: &mut Claims<'a>) {
        claims.known(self.colours.len(), move |k, sum| {
            self.wires.shares.add(k, sum);
            ka.add_if(self.colours[k], 0, sum);
            self.wires.values[k]
        });
        claims.opened(&self.offsets);
    }
}

/// What the garbler tells of gadgets in buckets.
pub(super) struct GadgetsTold {
    links: Vec<Label>,
    solderings: Vec<Soldering>,
}

impl GarblerGadgets {
    pub fn claims<'a>(&'a self, ka: &'a Shares, told: &'a GadgetsTold, claims: &mut Claims<'a>) {
        gadget_claims(claims, self.size, [&self.wires.shares, &self.offsets.shares, ka], &told.links, &told.solderings);
    }
}

impl EvaluatorGadgets {
    pub fn claims<'a>(&'a self, ka: &'a Shares, claims: &mut Claims<'a>) {
        gadget_claims(claims, self.size, [&self.wires, &self.offsets, ka], &self.links, &self.solderings);
    }
}

/// What the garbler tells of a component.
pub(super) struct ComponentTold {
    batch: GarblerTold,
    authenticators: GadgetsTold,
    output_solderings: Vec<Soldering>,
}

impl GarblerComponent {
    pub fn claims<'a>(&'a self, ka: &'a Shares, told: &'a ComponentTold, claims: &mut Claims<'a>) {
        let GarblerComponent { batch, authenticators } = self;
        batch.claims(ka, &told.batch, claims);
        authenticators.claims(ka, &told.authenticators, claims);
        let shares = [&batch.outputs.shares, &authenticators.wires.shares, ka];
        output_claims(claims, batch.shape, authenticators.size, shares, &told.output_solderings);
    }
}

impl EvaluatorComponent {
    pub fn claims<'a>(&'a self, ka: &'a Shares, claims: &mut Claims<'a>) {
        let EvaluatorComponent { batch, authenticators, output_solderings } = self;
        batch.claims(ka, claims);
        authenticators.claims(ka, claims);
        let shares = [&batch.outputs, &authenticators.wires, ka];
        output_claims(claims, batch.shape, authenticators.size, shares, output_solderings);
    }
}

/// Which of a batch's buckets of authenticators output `k` goes to, counted `[copy][wire]`.
pub(super) fn output_bucket(shape: Shape, k: usize) -> usize {
    let (copy, wire) = (k / shape.outputs, k % shape.outputs);
    copy / shape.batch.size * shape.outputs + wire
}

/// Both kinds of gadget, and the cut-and-choose of each.
fn kinds(serial: &mut u64, parameters: &Parameters) -> [(Kind, Origin); 2] {
    let kinds = [
        (Kind::Plain, cut_and_choose::Kind::KeyAuthenticator, parameters.plain),
        (Kind::Input, cut_and_choose::Kind::InputAuthenticator, parameters.input),
    ];
    kinds.map(|(gadget, kind, cut)| {
        *serial += 1;
        (gadget, Origin { serial: *serial, kind, cut, attempts: 1 })
    })
}

/// The number by which a session's gadgets are counted on after these.
fn counted(counter: u64, parameters: &Parameters) -> u64 {
    counter + parameters.plain.copies().max(parameters.input.copies())
}

/// All gadgets of one kind, committed to.
pub(super) struct GarblerMade {
    kind: Kind,
    origin: Origin,
    at: Places,
    made: u64,
    wires: Committed,
    offsets: Committed,
}

impl GarblerMade {
    pub fn new_commitments(&self) -> [&Committed; 2] {
        [&self.wires, &self.offsets]
    }
}

/// Makes gadgets of both kinds, and commits.
pub(super) fn garbler_commits(party: &mut Garbler, parameters: &Parameters) -> Result<[GarblerMade; 2], Error> {
    let Garbler { run, committer, hooks, delta_ka, session, gadgets: counter, serial, .. } = party;
    let delta_ka = *delta_ka;
    let [plain, input] = kinds(serial, parameters);
    let mut make = |(kind, origin): (Kind, Origin)| -> Result<GarblerMade, Error> {
        let (count, hasher) = (origin.cut.copies() as usize, Hasher::new(session, kind).after(*counter));
        let first = committer.next_row();
        let offsets = match kind {
            Kind::Plain => Committed::default(),
            Kind::Input => committer.commit_random(&mut run.channel, count, Lsb::One)?,
        };
        let at = Places::begin([committer.next_row(), first]);
        let made_with = hooks.altered(Point::InputOffsets, &offsets.values);
        let wires = match kind {
            Kind::Plain => committer.commit_random(&mut run.channel, count, Lsb::Random)?,
            Kind::Input => {
                let delta = |i: usize| Delta::new(made_with[i].bits());
                let mut values = Labels::new(hasher.false_labels(count, |i| (i as u64, delta(i))));
                values.par_iter_mut().enumerate().for_each(|(i, v)| *v = CommittedWire::from_false_label(*v, delta(i)).value);
                hooks.alter(Point::InputGadgets, &mut values);
                committer.commit(&mut run.channel, &values)?
            }
        };
        let hashed = hooks.altered(if kind == Kind::Plain { Point::PlainHashed } else { Point::InputHashed }, &wires.values);
        let wire = |i: usize| CommittedWire { value: hashed[i], delta: made_with.get(i).map_or(delta_ka, |o| Delta::new(o.bits())) };
        let mut authenticators = hasher.authenticators(count, |i| (i as u64, wire(i).base(), wire(i).delta));
        hooks.alter(if kind == Kind::Plain { Point::PlainAuthenticators } else { Point::InputAuthenticators }, &mut authenticators);
        run.channel.send(msg::AUTHENTICATORS, bytemuck::cast_slice(&authenticators))?;
        Ok(GarblerMade { kind, origin, at, made: *counter, wires, offsets })
    };
    let made = [make(plain)?, make(input)?];
    *counter = counted(*counter, parameters);
    Ok(made)
}

impl GarblerMade {
    /// Opens the gadgets that the challenge asks for and joins the others into buckets. `uses` are ranges of buckets, all of
    /// them; returns the gadgets of each.
    fn open(self, party: &mut Garbler, seed: &Seed, uses: &[Range<usize>]) -> Result<(Vec<(GarblerGadgets, GadgetsTold)>, Opened), Error> {
        let Garbler { run, hooks, delta_ka, .. } = party;
        let GarblerMade { kind, origin, at, made, wires, offsets } = self;
        let (delta_ka, batch, plain) = (*delta_ka, Batch::from(origin.cut), kind == Kind::Plain);
        let (size, challenge) = (batch.size, Challenge::expand(seed, &batch));
        // By value: of large batches there is no room for all commitments and the parts side by side.
        let lists = lists(&challenge, size, uses);
        let split = |all: Committed| if all.values.is_empty() { Vec::new() } else { all.parts(&lists) };
        let (mut wires, mut offsets) = (split(wires).into_iter(), split(offsets).into_iter());
        let mut next = || (wires.next().unwrap_or_default(), offsets.next().unwrap_or_default());
        let (opened_wires, opened_offsets) = next();
        let colours = if plain { colours(seed, challenge.opened.len()) } else { vec![0; challenge.opened.len()] };
        let mut open = Opened { wires: opened_wires, colours, offsets: opened_offsets };
        let of_use = |buckets: &Range<usize>, (wires, offsets)| {
            let chosen = &challenge.chosen[buckets.start * size..buckets.end * size];
            GarblerGadgets { origin, size, at: at.heads(chosen.iter().copied(), size), made, wires, offsets }
        };
        let gadgets: Vec<GarblerGadgets> = uses.iter().map(|buckets| of_use(buckets, next())).collect();

        let mut links: Vec<Label> = gadgets.iter().flat_map(|g| &g.offsets.values).map(|&offset| offset ^ delta_ka).collect();
        let mut solderings = Vec::with_capacity(batch.pairs());
        for g in &gadgets {
            let wire = |i: usize| CommittedWire {
                value: g.wires.values[i],
                delta: g.offsets.values.get(i).map_or(delta_ka, |o| Delta::new(o.bits())),
            };
            let soldering = |k: usize| {
                let (head, other) = pair(size, k);
                Soldering::new(wire(head), wire(other))
            };
            solderings.par_extend((0..g.len() * (size - 1)).into_par_iter().map(soldering));
        }
        hooks.alter(if plain { Point::PlainSolderings } else { Point::InputSolderings }, &mut solderings);
        hooks.alter(Point::InputLinks, &mut links);
        let opening = match plain {
            true => {
                open.wires.values.iter_mut().zip(&open.colours).for_each(|(value, &colour)| *value ^= delta_ka.times(colour));
                hooks.altered(Point::OpenedPlain, &open.wires.values)
            }
            false => hooks.altered(Point::OpenedInput, &open.offsets.values),
        };
        run.channel.send(msg::OPENED_AUTHENTICATORS, bytemuck::cast_slice(&opening))?;
        run.channel.send(msg::LINKS, bytemuck::cast_slice(&links))?;
        run.channel.send(msg::BUCKET_SOLDERINGS, bytemuck::cast_slice(&solderings))?;
        let told = uses.iter().map(|buckets| GadgetsTold {
            links: links.get(buckets.start * size..buckets.end * size).unwrap_or_default().to_vec(),
            solderings: solderings[buckets.start * (size - 1)..buckets.end * (size - 1)].to_vec(),
        });
        Ok((gadgets.into_iter().zip(told).collect(), open))
    }
}

/// The gadgets to open, and those for each use.
fn lists<'a>(challenge: &'a Challenge, size: usize, uses: &[Range<usize>]) -> Vec<&'a [usize]> {
    let used = uses.iter().map(|buckets| &challenge.chosen[buckets.start * size..buckets.end * size]);
    std::iter::once(&challenge.opened[..]).chain(used).collect()
}

/// What the garbler has after the opening: components with their authenticators, the pool for its wires, what it told of both,
/// and what it opened.
pub(super) struct GarblerOpened {
    pub components: Vec<(GarblerComponent, ComponentTold)>,
    pub pools: Vec<(GarblerGadgets, GadgetsTold)>,
    pub opened: [Opened; 2],
}

/// Opens what the challenges ask for, and joins the batches' outputs to their authenticators.
pub(super) fn garbler_opens(
    party: &mut Garbler,
    made: [GarblerMade; 2],
    batches: Vec<(GarblerBatch, GarblerTold)>,
    seeds: &[Seed],
) -> Result<GarblerOpened, Error> {
    let [plain, input] = made;
    let wires = input.origin.cut.slots as usize;
    let (plain, opened_plain) = plain.open(party, &seeds[0], &plain_uses(batches.iter().map(|(b, _)| b.shape)))?;
    let (pools, opened_input) = input.open(party, &seeds[1], std::slice::from_ref(&(0..wires)))?;
    let delta_ka = party.delta_ka;
    let mut components = Vec::new();
    for (id, ((batch, told), (authenticators, authenticators_told))) in batches.into_iter().zip(plain).enumerate() {
        let soldering = |k: usize| {
            let delta = Delta::new(batch.offsets.values[k / batch.shape.outputs].bits());
            let head = output_bucket(batch.shape, k) * authenticators.size;
            Soldering::new(
                CommittedWire { value: batch.outputs.values[k], delta },
                CommittedWire { value: authenticators.wires.values[head], delta: delta_ka },
            )
        };
        let mut output_solderings: Vec<Soldering> = (0..batch.outputs.values.len()).into_par_iter().map(soldering).collect();
        party.hooks.alter(Point::OutputSolderings(id), &mut output_solderings);
        party.run.channel.send(msg::OUTPUT_SOLDERINGS, bytemuck::cast_slice(&output_solderings))?;
        let told = ComponentTold { batch: told, authenticators: authenticators_told, output_solderings };
        components.push((GarblerComponent { batch, authenticators }, told));
    }
    Ok(GarblerOpened { components, pools, opened: [opened_plain, opened_input] })
}

/// All gadgets of one kind, of which the evaluator has commitments, `C` is [`Pending`] or, after the proof, [`Shares`].
pub(super) struct EvaluatorReceived<C> {
    kind: Kind,
    origin: Origin,
    hasher: Hasher,
    authenticators: Vec<Authenticator>,
    wires: C,
    offsets: C,
}

/// Receives commitments and hashes of both kinds.
pub(super) fn evaluator_receives(core: &mut EvaluatorCore, parameters: &Parameters) -> Result<[EvaluatorReceived<Pending>; 2], Error> {
    let EvaluatorCore { run, holder, session, gadgets: counter, serial, .. } = core;
    let [plain, input] = kinds(serial, parameters);
    let mut receive = |(kind, origin): (Kind, Origin)| -> Result<EvaluatorReceived<Pending>, Error> {
        let count = origin.cut.copies() as usize;
        let (offsets, wires) = match kind {
            Kind::Plain => (holder.no_commitments(), holder.receive_random(&mut run.channel, count, Lsb::Random)?),
            Kind::Input => (holder.receive_random(&mut run.channel, count, Lsb::One)?, holder.receive(&mut run.channel, count)?),
        };
        let mut authenticators = vec![Authenticator::default(); count];
        run.channel.receive_into(msg::AUTHENTICATORS, bytemuck::cast_slice_mut(&mut authenticators))?;
        Ok(EvaluatorReceived { kind, origin, hasher: Hasher::new(session, kind).after(*counter), authenticators, wires, offsets })
    };
    let received = [receive(plain)?, receive(input)?];
    *counter = counted(*counter, parameters);
    Ok(received)
}

impl EvaluatorReceived<Pending> {
    pub fn pending(&self) -> [&Pending; 2] {
        [&self.wires, &self.offsets]
    }

    pub fn accept(self, proof: &Proof) -> EvaluatorReceived<Shares> {
        let EvaluatorReceived { kind, origin, hasher, authenticators, wires, offsets } = self;
        EvaluatorReceived { kind, origin, hasher, authenticators, wires: wires.accept(proof), offsets: offsets.accept(proof) }
    }
}

impl EvaluatorReceived<Shares> {
    /// Receives what the challenge asks for and checks what was opened. `uses` are ranges of buckets, all of them; returns the
    /// gadgets of each.
    fn open(self, run: &mut Run, seed: &Seed, uses: &[Range<usize>]) -> Result<(Vec<EvaluatorGadgets>, Opened), Error> {
        let batch = Batch::from(self.origin.cut);
        let (size, challenge) = (batch.size, Challenge::expand(seed, &batch));
        let opened = &challenge.opened;
        let plain = self.kind == Kind::Plain;
        let told = run.labels(msg::OPENED_AUTHENTICATORS, opened.len())?;
        let links = run.labels(msg::LINKS, if plain { 0 } else { batch.chosen() })?;
        let mut solderings = vec![Soldering::default(); batch.pairs()];
        run.channel.receive_into(msg::BUCKET_SOLDERINGS, bytemuck::cast_slice_mut(&mut solderings))?;
        if links.iter().any(|link| link.colour() != 0) {
            return Err(Cheat::LinkColour.into());
        }
        let colours = if plain { colours(seed, opened.len()) } else { vec![0; opened.len()] };
        let (values, offset_values) = match plain {
            true => {
                self.check_halves(opened, &colours, &told)?;
                (told, Vec::new())
            }
            false => (self.check_offsets(opened, &told)?, told),
        };
        let EvaluatorReceived { origin, hasher, authenticators, wires, offsets, .. } = self;
        // By value: of large batches there is no room for all commitments and the parts side by side.
        let lists = lists(&challenge, size, uses);
        let split = |all: Shares| if all.is_empty() { Vec::new() } else { all.parts(&lists) };
        let (mut wires, mut offsets) = (split(wires).into_iter(), split(offsets).into_iter());
        let mut next = || (wires.next().unwrap_or_default(), offsets.next().unwrap_or_default());
        let (opened_wires, opened_offsets) = next();
        let open = Opened {
            wires: Committed { values, shares: opened_wires },
            colours,
            offsets: Committed { values: offset_values, shares: opened_offsets },
        };
        let of_use = |(buckets, chosen): (&Range<usize>, &&[usize])| {
            let (wires, offsets) = next();
            EvaluatorGadgets {
                origin,
                size,
                hasher: hasher.clone(),
                indices: chosen.to_vec(),
                authenticators: chosen.iter().map(|&i| authenticators[i]).collect(),
                wires,
                offsets,
                links: links.get(buckets.start * size..buckets.end * size).unwrap_or_default().to_vec(),
                solderings: solderings[buckets.start * (size - 1)..buckets.end * (size - 1)].to_vec(),
            }
        };
        Ok((uses.iter().zip(&lists[1..]).map(of_use).collect(), open))
    }

    /// VerKeyAuth, one half: the label of colour b must hash to what stands at b.
    fn check_halves(&self, opened: &[usize], colours: &[u8], told: &[Label]) -> Result<(), Cheat> {
        let half = |k: usize| (self.authenticators[opened[k]], opened[k] as u64, told[k].with_colour(colours[k]));
        if self.hasher.accepts(opened.len(), half).contains(&false) { Err(Cheat::KeyAuthenticator) } else { Ok(()) }
    }

    /// VerInKeyAuth: everything follows from the offset. Returns the committed wires.
    fn check_offsets(&self, opened: &[usize], told: &[Label]) -> Result<Vec<Label>, Cheat> {
        let delta = |offset: &Label| Delta::checked(offset.bits()).ok_or(Cheat::OffsetColour);
        let deltas = told.iter().map(delta).collect::<Result<Vec<_>, Cheat>>()?;
        let false_labels = self.hasher.false_labels(opened.len(), |k| (opened[k] as u64, deltas[k]));
        let wire = |k: usize| CommittedWire::from_false_label(false_labels[k], deltas[k]);
        let honest = self.hasher.authenticators(opened.len(), |k| (opened[k] as u64, wire(k).base(), deltas[k]));
        if opened.iter().zip(&honest).any(|(&i, honest)| self.authenticators[i] != *honest) {
            return Err(Cheat::InputAuthenticator);
        }
        Ok((0..opened.len()).map(|k| wire(k).value).collect())
    }
}

/// What the evaluator has after the opening: components with their authenticators, the pool for the garbler's wires, and what
/// was opened.
pub(super) struct EvaluatorOpened {
    pub components: Vec<EvaluatorComponent>,
    pub pools: Vec<EvaluatorGadgets>,
    pub opened: [Opened; 2],
}

/// Receives what the challenges ask for, and how the batches' outputs are joined to their authenticators.
pub(super) fn evaluator_opens(
    core: &mut EvaluatorCore,
    received: [EvaluatorReceived<Shares>; 2],
    batches: Vec<EvaluatorBatch>,
    seeds: &[Seed],
) -> Result<EvaluatorOpened, Error> {
    let [plain, input] = received;
    let wires = input.origin.cut.slots as usize;
    let (plain, opened_plain) = plain.open(&mut core.run, &seeds[0], &plain_uses(batches.iter().map(|b| b.shape)))?;
    let (pools, opened_input) = input.open(&mut core.run, &seeds[1], std::slice::from_ref(&(0..wires)))?;
    let mut components = Vec::new();
    for (batch, authenticators) in batches.into_iter().zip(plain) {
        let mut output_solderings = vec![Soldering::default(); batch.shape.batch.chosen() * batch.shape.outputs];
        core.run.channel.receive_into(msg::OUTPUT_SOLDERINGS, bytemuck::cast_slice_mut(&mut output_solderings))?;
        components.push(EvaluatorComponent { batch, authenticators, output_solderings });
    }
    Ok(EvaluatorOpened { components, pools, opened: [opened_plain, opened_input] })
}
