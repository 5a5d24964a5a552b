//! PrepareComponents: key authenticators are made, checked and put into buckets, and the outputs of all
//! chosen copies are soldered to them.
//!
//! Plain authenticators check every output wire of every slot; their common offset is Δ_ka. Input
//! authenticators check the garbler's inputs and the sealed outputs; each has its own offset. The evaluator's
//! inputs need no authenticators (`ots`).
//!
//! ```text
//!   garbler -> evaluator    commitments to all authenticators' wires and the input authenticators' offsets;
//!                           all pairs of hashes
//!   evaluator -> garbler    challenge: a seed
//!   garbler -> evaluator    checked plain authenticators: the label of a challenged colour;
//!                           checked input authenticators: the offset;
//!                           the others: delta differences, solderings in buckets,
//!                           solderings of the copies' outputs
//! ```
//!
//! Before the challenge, a proof shows that all these commitments are valid. After the challenge, another
//! proof covers all claims. The same proofs cover the commitments and claims of other modules.
//!
//! Of a checked plain authenticator one label is opened, `C ⊕ b·D_ka`, for a bit b that the challenge draws
//! after the commitments. Both labels would reveal Δ_ka (section 6.1). So the check detects a bad plain
//! authenticator with probability 1/2, and a bad input authenticator always.

use std::ops::Range;
use std::sync::Arc;

use zeroize::Zeroizing;

use super::authenticators::{
    AuthenticatorRows, EvaluatorAuthenticators, EvaluatorComponent, GarblerAuthenticators, GarblerComponent,
};
use super::batch::{EvaluatorBatch, Shape};
use super::challenge::{Assignment, BatchSizes, Challenge, pair};
use super::chunked::{IN_HAND, ITEMS_A_TASK, each_of, send_list};
use super::claims;
use super::hooks::{self, Hooks};
use super::items::Origin;
use super::party::EvaluatorCore;
use super::preprocess;
use super::{Cheat, Error, Garbler, Parameters, Point, msg};
use brickwork_base::bits::Bits;
use brickwork_base::label::{Delta, Label};
use brickwork_base::pool;
use brickwork_base::random::{Rng, Seed};
use brickwork_primitives::Labels;
use brickwork_primitives::authenticator::{Authenticator, AuthenticatorKind, Hasher};
use brickwork_primitives::commit::{
    self, CommitmentRow, Lsb, New, Pending, Places, Proof, Receiver, Selection, Sender as _, Shares,
};
use brickwork_primitives::counters::Counters;
use brickwork_primitives::cut_and_choose;
use brickwork_primitives::receive;
use brickwork_primitives::solder::{GarblerWire, Soldering};
use brickwork_primitives::spill::{Spill, SpilledVec};
use brickwork_protocol::Metered;

/// Opened authenticators within this distance are read together.
const AUTHENTICATORS_AT_ONCE: u32 = 1 << 17;

/// Splits the buckets of plain authenticators into one range for each batch: a bucket for each output wire,
/// slot after slot.
fn plain_uses(shapes: impl Iterator<Item = Shape>) -> Vec<Range<usize>> {
    let mut first = 0;
    let of_batch = |shape: Shape| {
        let buckets = shape.batch.buckets * shape.outputs;
        first += buckets;
        first - buckets..first
    };
    shapes.map(of_batch).collect()
}

/// Returns the challenged colour of each checked plain authenticator.
fn colours(seed: &Seed, count: usize) -> Vec<u8> {
    let mut bytes = vec![0; count];
    Rng::expand(seed, "brickwork colours of checked authenticators").fill(&mut bytes);
    bytes.iter_mut().for_each(|b| *b &= 1);
    bytes
}

/// Returns the bucket of authenticators for output `k` of a batch, where outputs are counted `[copy][wire]`.
pub(super) fn output_bucket(shape: Shape, k: usize) -> usize {
    let (copy, wire) = (k / shape.outputs, k % shape.outputs);
    copy / shape.batch.size * shape.outputs + wire
}

/// Returns both kinds of authenticator, with the cut-and-choose of each.
fn kinds(
    counters: &mut Counters,
    parameters: &Parameters,
) -> Result<[(AuthenticatorKind, Origin); 2], Error> {
    let mut origin = |kind, bucketing| Ok::<_, Error>(Origin::new(counters.serial()?, kind, bucketing));
    Ok([
        (AuthenticatorKind::Plain, origin(cut_and_choose::BatchKind::KeyAuthenticator, parameters.plain)?),
        (AuthenticatorKind::Input, origin(cut_and_choose::BatchKind::InputAuthenticator, parameters.input)?),
    ])
}

/// Draws the first index of the authenticators. Both kinds use the same range of indices.
fn first_index(counters: &mut Counters, parameters: &Parameters) -> Result<u64, Error> {
    counters.authenticators(parameters.plain.copies().max(parameters.input.copies()))
}

/// All authenticators of one kind, and the garbler's commitments to them.
pub(super) struct GarblerKeyAuthenticators {
    kind: AuthenticatorKind,
    origin: Origin,
    at: Places,
    made: u64,
    wires: CommitmentRow,
    offsets: CommitmentRow,
}

impl GarblerKeyAuthenticators {
    pub fn new_commitments(&self) -> [New<'_>; 2] {
        [&self.wires, &self.offsets].map(New::from)
    }
}

/// A range of a row, and the values in this range.
type RowValues = (Range<usize>, Labels);

/// Reads the values of a range of the row into `held`, unless they are there.
fn read(row: &CommitmentRow, places: Range<usize>, held: &mut RowValues) -> Result<(), Error> {
    if held.0 != places {
        held.1.resize(places.len(), Label::ZERO);
        let read =
            |_: &mut (), k: usize, values: &mut [Label]| row.fill(places.start + k * ITEMS_A_TASK, values);
        pool::map(held.1.chunks_mut(ITEMS_A_TASK).collect(), || (), read)
            .into_iter()
            .collect::<Result<(), _>>()?;
        held.0 = places;
    }
    Ok(())
}

/// Makes the authenticators of both kinds and commits to them.
pub(super) fn garbler_commits<C: commit::CommitmentScheme>(
    party: &mut Garbler<C>,
    parameters: &Parameters,
) -> Result<[GarblerKeyAuthenticators; 2], Error> {
    let delta_ka = party.delta_ka();
    let Garbler { run, sender, hooks, session, counters, .. } = party;
    let ([plain, input], first_index) = (kinds(counters, parameters)?, first_index(counters, parameters)?);
    let mut make = |(kind, origin): (AuthenticatorKind, Origin)| -> Result<GarblerKeyAuthenticators, Error> {
        let (count, hasher) =
            (origin.bucketing.copies() as usize, Hasher::new(session, kind).after(first_index));
        let step = hooks::step(hooks, IN_HAND, count);
        let first = sender.next_row();
        let offsets = match kind {
            AuthenticatorKind::Plain => CommitmentRow::default(),
            AuthenticatorKind::Input => sender.row(&mut run.channel, count, Lsb::One)?,
        };
        let at = Places::begin([sender.next_row(), first]);
        // The offsets of a range of authenticators.
        let mut with = RowValues::default();
        let mut made_with =
            |hooks: &mut Hooks, places: Range<usize>| -> Result<Zeroizing<Vec<Delta>>, Error> {
                if offsets.is_empty() {
                    return Ok(Zeroizing::new(vec![delta_ka; places.len()]));
                }
                if with.0 != places {
                    read(&offsets, places, &mut with)?;
                    hooks.alter(Point::InputOffsets, &mut with.1);
                }
                Ok(Zeroizing::new(with.1.iter().map(|offset| Delta::new(offset.bits())).collect()))
            };
        let wires = match kind {
            AuthenticatorKind::Plain => sender.row(&mut run.channel, count, Lsb::Random)?,
            AuthenticatorKind::Input => {
                let mut wires = sender.begin_row(count)?;
                for first in (0..count).step_by(step) {
                    let deltas = made_with(hooks, first..count.min(first + step))?;
                    let mut values =
                        Labels::new(hasher.false_labels(deltas.len(), |i| ((first + i) as u64, deltas[i])));
                    let value = |(v, &delta): (&mut Label, &Delta)| {
                        *v = GarblerWire::from_false_label(*v, delta).value;
                    };
                    values.iter_mut().zip(&*deltas).for_each(value);
                    hooks.alter(Point::InputWires, &mut values);
                    sender.push(&mut run.channel, &mut wires, &values)?;
                }
                sender.finish(wires)
            }
        };
        let (hashed, hashes) = match kind {
            AuthenticatorKind::Plain => (Point::PlainHashed, Point::PlainAuthenticators),
            AuthenticatorKind::Input => (Point::InputHashed, Point::InputAuthenticators),
        };
        let mut message = run.channel.message(msg::AUTHENTICATORS);
        let mut values = RowValues::default();
        for first in (0..count.max(1)).step_by(step) {
            let places = first..count.min(first + step);
            read(&wires, places.clone(), &mut values)?;
            let deltas = made_with(hooks, places.clone())?;
            let values = hooks::altered(hooks, hashed, &values.1);
            let wire = |i: usize| GarblerWire { value: values[i], delta: deltas[i] };
            let mut authenticators =
                hasher.authenticators(places.len(), |i| ((first + i) as u64, wire(i).base(), wire(i).delta));
            hooks.alter(hashes, &mut authenticators);
            message.push(bytemuck::cast_slice(&authenticators))?;
        }
        message.finish()?;
        Ok(GarblerKeyAuthenticators { kind, origin, at, made: first_index, wires, offsets })
    };
    Ok([make(plain)?, make(input)?])
}

/// Writes the values of the chosen authenticators whose numbers are in `places`.
fn chosen_values(
    assignment: &Assignment,
    row: &CommitmentRow,
    places: Range<usize>,
    values: &mut [Label],
) -> Result<(), Error> {
    let here = |authenticator: usize| {
        assignment.place(authenticator).err().filter(|k| places.contains(k)).map(|k| k - places.start)
    };
    row.scatter(1, here, values)
}

impl GarblerKeyAuthenticators {
    /// Opens the challenged authenticators and puts the others into buckets. `uses` are ranges that cover all
    /// buckets. Returns the authenticators of each use, and the flips of the solderings in buckets.
    fn open<C: commit::CommitmentScheme>(
        self,
        party: &mut Garbler<C>,
        seed: &Seed,
        uses: &[Range<usize>],
    ) -> Result<(Vec<GarblerAuthenticators>, GarblerOpenedAuthenticators), Error> {
        let (batch, plain) = (BatchSizes::from(self.origin.bucketing), self.is_plain());
        let (size, challenge) = (batch.size, Challenge::expand(seed, &batch));
        let assignment = challenge.assignment(size);
        let count = challenge.opened.len();
        let colours = if plain { colours(seed, count) } else { vec![0; count] };
        self.send_opened(party, &assignment, &colours)?;
        self.send_delta_differences(party, &assignment, if plain { 0 } else { challenge.chosen.len() })?;
        let flips = self.solder_buckets(party, &assignment, &batch)?;

        let GarblerKeyAuthenticators { origin, at, made, wires, offsets, .. } = self;
        let of_use = |buckets: &Range<usize>| {
            let at = at.heads(&challenge.chosen[buckets.start * size..buckets.end * size], size);
            let heads = Arc::new(Selection::new(at.items.clone(), 1));
            let offsets = if plain { CommitmentRow::default() } else { offsets.pick(&heads) };
            GarblerAuthenticators { origin, made, wires: wires.pick(&heads), offsets, at }
        };
        let authenticators = uses.iter().map(of_use).collect();
        let (wires, offsets) = (wires.into_shares(), offsets.into_shares());
        let claims = claims::AuthenticatorClaims::new(
            size,
            uses.to_vec(),
            &challenge,
            &colours,
            &flips,
            wires,
            offsets,
        );
        let in_memory = challenge.chosen.len() <= party.window;
        let spill = if in_memory { Spill::memory() } else { Spill::file(party.sender.fault())? };
        Ok((
            authenticators,
            GarblerOpenedAuthenticators { authenticators: claims, chosen: spill.put(challenge.chosen)? },
        ))
    }

    fn is_plain(&self) -> bool {
        self.kind == AuthenticatorKind::Plain
    }

    /// Opens the checked authenticators: sends the label of the challenged colour of a plain authenticator,
    /// or the offset of an input authenticator.
    fn send_opened<C: commit::CommitmentScheme>(
        &self,
        party: &mut Garbler<C>,
        assignment: &Assignment,
        colours: &[u8],
    ) -> Result<(), Error> {
        let (delta_ka, plain) = (party.delta_ka(), self.is_plain());
        let Garbler { run, hooks, window, .. } = party;
        let GarblerKeyAuthenticators { wires, offsets, .. } = self;
        let open = |range: Range<usize>| {
            let mut values = vec![Label::ZERO; range.len()];
            let here = |authenticator: usize| {
                assignment.place(authenticator).ok().filter(|k| range.contains(k)).map(|k| k - range.start)
            };
            if plain { wires } else { offsets }.scatter(1, here, &mut values)?;
            values
                .iter_mut()
                .zip(&colours[range])
                .for_each(|(value, &colour)| *value ^= delta_ka.times(colour));
            Ok(values)
        };
        let point = if plain { Point::OpenedPlain } else { Point::OpenedInput };
        send_list(run, hooks, (point, msg::OPENED_AUTHENTICATORS), colours.len(), *window, open, |_| {})
    }

    /// Sends S_g = Δ_g ⊕ Δ_ka of all `count` chosen authenticators.
    fn send_delta_differences<C: commit::CommitmentScheme>(
        &self,
        party: &mut Garbler<C>,
        assignment: &Assignment,
        count: usize,
    ) -> Result<(), Error> {
        let delta_ka = party.delta_ka();
        let Garbler { run, hooks, window, .. } = party;
        let delta_difference = |range: Range<usize>| {
            let mut values = vec![Label::ZERO; range.len()];
            chosen_values(assignment, &self.offsets, range, &mut values)?;
            values.iter_mut().for_each(|value| *value = *value ^ delta_ka);
            Ok(values)
        };
        send_list(
            run,
            hooks,
            (Point::InputDeltaDifferences, msg::DELTA_DIFFERENCES),
            count,
            *window,
            delta_difference,
            |_| {},
        )
    }

    /// Sends solderings from the head of each bucket to its other authenticators. Returns their flips.
    fn solder_buckets<C: commit::CommitmentScheme>(
        &self,
        party: &mut Garbler<C>,
        assignment: &Assignment,
        batch: &BatchSizes,
    ) -> Result<Bits, Error> {
        let (size, delta_ka, plain) = (batch.size, party.delta_ka(), self.is_plain());
        let Garbler { run, hooks, window, .. } = party;
        let mut flips = Bits::default();
        let (mut values, mut deltas) = (Labels::default(), Labels::default());
        let solder = |buckets: Range<usize>| {
            let here = buckets.start * size..buckets.end * size;
            values.resize(here.len(), Label::ZERO);
            chosen_values(assignment, &self.wires, here.clone(), &mut values)?;
            if !plain {
                deltas.resize(here.len(), Label::ZERO);
                chosen_values(assignment, &self.offsets, here.clone(), &mut deltas)?;
            }
            let soldering = |k: usize| {
                let (head, other) = pair(size, k);
                let delta =
                    deltas.get(other - here.start).map_or(delta_ka, |offset| Delta::new(offset.bits()));
                Soldering::new(
                    values[head - here.start],
                    GarblerWire { value: values[other - here.start], delta },
                )
            };
            let pairs = size.saturating_sub(1);
            Ok(each_of(buckets.start * pairs..buckets.end * pairs, soldering))
        };
        let (point, step) =
            if plain { (Point::PlainSolderings, *window) } else { (Point::InputSolderings, *window / 2) };
        send_list(
            run,
            hooks,
            (point, msg::BUCKET_SOLDERINGS),
            batch.buckets,
            step / size.max(1),
            solder,
            |solderings| {
                flips.extend(solderings.iter().map(|soldering| soldering.flip()));
            },
        )?;
        Ok(flips)
    }
}

/// The authenticators of one kind after their challenge.
pub(super) struct GarblerOpenedAuthenticators {
    pub authenticators: claims::AuthenticatorClaims,
    /// The number of each chosen authenticator in the batch.
    pub chosen: SpilledVec<u32>,
}

/// The garbler's results: components with their authenticators, input authenticators, and openings that must
/// be proven.
pub(super) struct GarblerPrepared {
    pub components: Vec<GarblerComponent>,
    pub input_authenticators: Vec<GarblerAuthenticators>,
    pub copies: Vec<GarblerOpenedCopies>,
    pub authenticators: [GarblerOpenedAuthenticators; 2],
}

/// The copies of a batch after their challenge.
pub(super) struct GarblerOpenedCopies {
    pub copies: claims::CopyClaims,
    /// The flips of the solderings in buckets.
    pub flips: Bits,
    /// The flips of the solderings of outputs.
    pub output_flips: Bits,
    /// The number of each chosen copy in the batch.
    pub chosen: Vec<u32>,
}

/// Opens the challenged items, and solders the outputs of each batch to their authenticators.
pub(super) fn garbler_opens<C: commit::CommitmentScheme>(
    party: &mut Garbler<C>,
    made: [GarblerKeyAuthenticators; 2],
    batches: Vec<preprocess::GarblerOpenedBatch>,
    seeds: &[Seed],
) -> Result<GarblerPrepared, Error> {
    let [plain, input] = made;
    let wires = input.origin.bucketing.slots as usize;
    let (plain, opened_plain) =
        plain.open(party, &seeds[0], &plain_uses(batches.iter().map(|b| b.batch.shape)))?;
    let (input_authenticators, opened_input) =
        input.open(party, &seeds[1], std::slice::from_ref(&(0..wires)))?;
    let delta_ka = party.delta_ka();
    let (mut components, mut copies) = (Vec::new(), Vec::new());
    for (id, (opened, authenticators)) in batches.into_iter().zip(plain).enumerate() {
        let shape = opened.batch.shape;
        let batch = shape.batch;
        let heads = authenticators.wires.values()?;
        let mut output_flips = Bits::default();
        let mut values = Labels::default();
        let assignment = &opened.copies.assignment;
        let solder = |copies: Range<usize>| {
            values.resize(copies.len() * shape.outputs, Label::ZERO);
            let here = |copy: usize| {
                assignment.place(copy).err().filter(|k| copies.contains(k)).map(|k| k - copies.start)
            };
            opened.outputs.scatter(shape.outputs, here, &mut values)?;
            let first = copies.start * shape.outputs;
            let soldering = |k: usize| {
                let head = GarblerWire { value: heads[output_bucket(shape, k)], delta: delta_ka };
                Soldering::new(values[k - first], head)
            };
            Ok(each_of(first..copies.end * shape.outputs, soldering))
        };
        let Garbler { run, hooks, window, .. } = &mut *party;
        let step = *window / shape.outputs;
        send_list(
            run,
            hooks,
            (Point::OutputSolderings(id), msg::OUTPUT_SOLDERINGS),
            batch.chosen(),
            step,
            solder,
            |solderings| {
                output_flips.extend(solderings.iter().map(|soldering| soldering.flip()));
            },
        )?;
        drop((heads, values));
        let preprocess::GarblerOpenedBatch { batch, copies: claims, flips, chosen, .. } = opened;
        copies.push(GarblerOpenedCopies { copies: claims, flips, output_flips, chosen });
        components.push(GarblerComponent { batch, authenticators });
    }
    Ok(GarblerPrepared {
        components,
        input_authenticators,
        copies,
        authenticators: [opened_plain, opened_input],
    })
}

/// All authenticators of one kind, and the commitments to them at the evaluator. `C` is [`Pending`] or, after
/// the proof, [`Shares`].
pub(super) struct EvaluatorKeyAuthenticators<C> {
    kind: AuthenticatorKind,
    origin: Origin,
    hasher: Hasher,
    hashes: SpilledVec<Authenticator>,
    wires: C,
    offsets: C,
}

/// Receives commitments and hashes of authenticators of both kinds.
pub(super) fn evaluator_receives<C: commit::CommitmentScheme>(
    core: &mut EvaluatorCore<C>,
    parameters: &Parameters,
    spill: &Spill,
) -> Result<[EvaluatorKeyAuthenticators<Pending>; 2], Error> {
    let EvaluatorCore { run, receiver, session, counters, .. } = core;
    let ([plain, input], first_index) = (kinds(counters, parameters)?, first_index(counters, parameters)?);
    let mut receive =
        |(kind, origin): (AuthenticatorKind, Origin)| -> Result<EvaluatorKeyAuthenticators<Pending>, Error> {
            let count = origin.bucketing.copies() as usize;
            // LOAD-BEARING: like Δ_ka in `setup.rs`, the wires of plain authenticators and the offsets of
            // input authenticators are *random* commitments: the seeds determine their values, and no message
            // can change them. So G cannot choose the labels of a good authenticator, and a third accepted
            // label is a second preimage of a 16-byte hash. If G could choose the values, a collision would
            // be enough, which takes 2^64 work (docs/concepts/security.md, section 6).
            let (offsets, wires) = match kind {
                AuthenticatorKind::Plain => (
                    receiver.no_commitments(),
                    receiver.receive_random(&mut run.channel, count, Lsb::Random)?,
                ),
                AuthenticatorKind::Input => (
                    receiver.receive_random(&mut run.channel, count, Lsb::One)?,
                    receiver.receive(&mut run.channel, count)?,
                ),
            };
            // The hashes are sorted into the order of buckets later.
            let hashes = receive::values(&mut run.channel, &spill.another()?, msg::AUTHENTICATORS, count)?;
            Ok(EvaluatorKeyAuthenticators {
                kind,
                origin,
                hasher: Hasher::new(session, kind).after(first_index),
                hashes,
                wires,
                offsets,
            })
        };
    Ok([receive(plain)?, receive(input)?])
}

impl EvaluatorKeyAuthenticators<Pending> {
    pub fn pending(&self) -> [&Pending; 2] {
        [&self.wires, &self.offsets]
    }

    pub fn accept(self, proof: &Proof) -> EvaluatorKeyAuthenticators<Shares> {
        let EvaluatorKeyAuthenticators { kind, origin, hasher, hashes, wires, offsets } = self;
        EvaluatorKeyAuthenticators {
            kind,
            origin,
            hasher,
            hashes,
            wires: wires.accept(proof),
            offsets: offsets.accept(proof),
        }
    }
}

/// Receives the delta differences S_g of `count` chosen authenticators. Returns all of them, those of the
/// heads, and true if one of them has colour 1, which is not allowed.
fn receive_delta_differences(
    run: &mut Metered,
    spill: &Spill,
    size: usize,
    count: usize,
) -> Result<(SpilledVec<Label>, Vec<Label>, bool), Error> {
    let (mut of_heads, mut done, mut coloured) = (Vec::new(), 0usize, false);
    let all = spill.fill(count, |delta_differences: &mut [Label]| {
        run.channel.receive_into(msg::DELTA_DIFFERENCES, bytemuck::cast_slice_mut(delta_differences))?;
        coloured |= delta_differences.iter().any(|delta_difference| delta_difference.colour() != 0);
        let heads = (done..).zip(&*delta_differences).filter(|(k, _)| k.is_multiple_of(size));
        of_heads.extend(heads.map(|(_, delta_difference)| delta_difference));
        done += delta_differences.len();
        Ok(())
    })?;
    Ok((all, of_heads, coloured))
}

/// Splits the rows of all chosen authenticators by the batches that use them.
fn rows_of_uses(
    rows: AuthenticatorRows,
    uses: &[Range<usize>],
    size: usize,
    plain: bool,
) -> Vec<AuthenticatorRows> {
    let lengths = |each: usize| uses.iter().map(|buckets| buckets.len() * each).collect::<Vec<_>>();
    let of_input = if plain { vec![0; uses.len()] } else { lengths(size) };
    let mut indices = rows.indices.split(&lengths(size)).into_iter();
    let mut hashes = rows.hashes.split(&lengths(size)).into_iter();
    let mut delta_differences = rows.delta_differences.split(&of_input).into_iter();
    let mut solderings = rows.solderings.split(&lengths(size.saturating_sub(1))).into_iter();
    let of_use = |_: &Range<usize>| AuthenticatorRows {
        indices: indices.next().unwrap_or_default(),
        hashes: hashes.next().unwrap_or_default(),
        delta_differences: delta_differences.next().unwrap_or_default(),
        solderings: solderings.next().unwrap_or_default(),
    };
    uses.iter().map(of_use).collect()
}

impl EvaluatorKeyAuthenticators<Shares> {
    /// Receives and checks the openings. `uses` are ranges that cover all buckets. Returns the authenticators
    /// of each use.
    fn open(
        self,
        run: &mut Metered,
        spill: &Spill,
        seed: &Seed,
        uses: &[Range<usize>],
    ) -> Result<(Vec<EvaluatorAuthenticators>, EvaluatorOpenedAuthenticators), Error> {
        let batch = BatchSizes::from(self.origin.bucketing);
        let (size, challenge) = (batch.size, Challenge::expand(seed, &batch));
        let count = challenge.opened.len();
        let plain = self.is_plain();
        let received: SpilledVec<Label> =
            receive::values(&mut run.channel, spill, msg::OPENED_AUTHENTICATORS, count)?;
        let with_difference = if plain { 0 } else { batch.chosen() };
        let (delta_differences, head_delta_differences, coloured) =
            receive_delta_differences(run, spill, size, with_difference)?;
        let (solderings, flips) =
            receive::solderings(&mut run.channel, spill, msg::BUCKET_SOLDERINGS, batch.pairs())?;
        if coloured {
            return Err(Cheat::DeltaDifferenceColour.into());
        }
        let colours = if plain { colours(seed, count) } else { vec![0; count] };
        let made = self.check_opened(&challenge.opened, &colours, &received)?;
        let (received_wires, received_offsets) =
            if plain { (received, SpilledVec::default()) } else { (spill.put(made)?, received) };
        let heads = self.heads(&challenge, uses);
        let EvaluatorKeyAuthenticators { origin, hasher, hashes, wires, offsets, .. } = self;
        let gathered = spill.gather(&hashes, &challenge.chosen)?;
        drop(hashes);
        let claims = claims::AuthenticatorClaims::new(
            size,
            uses.to_vec(),
            &challenge,
            &colours,
            &flips,
            wires,
            offsets,
        );
        let values = claims::OpenedAuthenticators {
            authenticators: spill.put(challenge.opened)?,
            wires: received_wires,
            offsets: received_offsets,
        };
        let indices = spill.put(challenge.chosen)?;
        let rows = AuthenticatorRows { indices, hashes: gathered, delta_differences, solderings };
        let of_use = |((buckets, (wires, offsets)), rows): ((&Range<usize>, _), _)| EvaluatorAuthenticators {
            origin,
            size,
            hasher: hasher.clone(),
            wires,
            offsets,
            head_delta_differences: match plain {
                true => Vec::new(),
                false => head_delta_differences[buckets.clone()].to_vec(),
            },
            rows,
        };
        let rows = rows_of_uses(rows, uses, size, plain);
        let authenticators = uses.iter().zip(heads).zip(rows).map(of_use).collect();
        Ok((authenticators, EvaluatorOpenedAuthenticators { authenticators: claims, values }))
    }

    fn is_plain(&self) -> bool {
        self.kind == AuthenticatorKind::Plain
    }

    /// Checks the opened authenticators, one group after another. For input authenticators, returns the
    /// values that their commitments must have; for plain ones these are the received labels.
    fn check_opened(
        &self,
        opened: &[u32],
        colours: &[u8],
        received: &SpilledVec<Label>,
    ) -> Result<Vec<Label>, Error> {
        let plain = self.is_plain();
        let (mut made, mut checked) = (Vec::with_capacity(if plain { 0 } else { opened.len() }), 0);
        for some in opened.chunk_by(|a, b| a / AUTHENTICATORS_AT_ONCE == b / AUTHENTICATORS_AT_ONCE) {
            let here = checked..checked + some.len();
            let (hashes, received) = (self.hashes_of(some)?, received.read(here.clone())?);
            match plain {
                true => self.check_halves(some, &hashes, &colours[here.clone()], &received)?,
                false => made.extend(self.check_offsets(some, &hashes, &received)?),
            }
            checked = here.end;
        }
        Ok(made)
    }

    /// Returns for each use the commitments to the wires and to the offsets of its heads.
    fn heads(&self, challenge: &Challenge, uses: &[Range<usize>]) -> Vec<(Shares, Shares)> {
        let (size, plain) = (BatchSizes::from(self.origin.bucketing).size, self.is_plain());
        let of_use = |buckets: &Range<usize>| {
            let heads =
                challenge.heads(buckets.clone(), size).map(|authenticator| authenticator as u32).collect();
            let heads = Arc::new(Selection::new(heads, 1));
            (self.wires.pick(&heads), if plain { Shares::default() } else { self.offsets.pick(&heads) })
        };
        uses.iter().map(of_use).collect()
    }

    /// Reads the pairs of hashes of some opened authenticators. Their numbers ascend and are near each other.
    fn hashes_of(&self, opened: &[u32]) -> Result<Vec<Authenticator>, Error> {
        let first = opened[0] as usize;
        let here = self.hashes.read(first..opened[opened.len() - 1] as usize + 1)?;
        Ok(opened.iter().map(|&authenticator| here[authenticator as usize - first]).collect())
    }

    /// VerKeyAuth for one label: the label of colour b must have the hash at position b.
    fn check_halves(
        &self,
        opened: &[u32],
        hashes: &[Authenticator],
        colours: &[u8],
        received: &[Label],
    ) -> Result<(), Cheat> {
        let half = |k: usize| (hashes[k], opened[k].into(), received[k].with_colour(colours[k]));
        if self.hasher.accepts(opened.len(), half).contains(&false) {
            Err(Cheat::KeyAuthenticator)
        } else {
            Ok(())
        }
    }

    /// VerInKeyAuth: computes the authenticators from their offsets and compares the hashes. Returns the
    /// values that the commitments to the wires must have.
    fn check_offsets(
        &self,
        opened: &[u32],
        hashes: &[Authenticator],
        received: &[Label],
    ) -> Result<Vec<Label>, Cheat> {
        let delta = |offset: &Label| Delta::checked(offset.bits()).ok_or(Cheat::OffsetColour);
        let deltas = received.iter().map(delta).collect::<Result<Vec<_>, Cheat>>()?;
        let false_labels = self.hasher.false_labels(opened.len(), |k| (opened[k].into(), deltas[k]));
        let wire = |k: usize| GarblerWire::from_false_label(false_labels[k], deltas[k]);
        let honest =
            self.hasher.authenticators(opened.len(), |k| (opened[k].into(), wire(k).base(), deltas[k]));
        if hashes != honest {
            return Err(Cheat::InputAuthenticator);
        }
        Ok((0..opened.len()).map(|k| wire(k).value).collect())
    }
}

/// The authenticators of one kind after their challenge.
pub(super) struct EvaluatorOpenedAuthenticators {
    pub authenticators: claims::AuthenticatorClaims,
    pub values: claims::OpenedAuthenticators,
}

/// The evaluator's results: components with their authenticators, input authenticators, and openings that
/// must be proven.
pub(super) struct EvaluatorPrepared {
    pub components: Vec<EvaluatorComponent>,
    pub input_authenticators: Vec<EvaluatorAuthenticators>,
    pub opened: [EvaluatorOpenedAuthenticators; 2],
    /// The flips of the solderings of each batch's outputs.
    pub output_flips: Vec<Bits>,
}

/// Receives the openings for the challenges, and the solderings from the outputs of each batch to their
/// authenticators.
pub(super) fn evaluator_opens<C: commit::CommitmentScheme>(
    core: &mut EvaluatorCore<C>,
    received: [EvaluatorKeyAuthenticators<Shares>; 2],
    batches: Vec<EvaluatorBatch>,
    spill: &Spill,
    seeds: &[Seed],
) -> Result<EvaluatorPrepared, Error> {
    let [plain, input] = received;
    let wires = input.origin.bucketing.slots as usize;
    let (plain, opened_plain) =
        plain.open(&mut core.run, spill, &seeds[0], &plain_uses(batches.iter().map(|b| b.shape)))?;
    let (input_authenticators, opened_input) =
        input.open(&mut core.run, spill, &seeds[1], std::slice::from_ref(&(0..wires)))?;
    let (mut components, mut output_flips) = (Vec::new(), Vec::new());
    for (batch, authenticators) in batches.into_iter().zip(plain) {
        let count = batch.shape.batch.chosen() * batch.shape.outputs;
        let (output_solderings, flips) =
            receive::solderings(&mut core.run.channel, spill, msg::OUTPUT_SOLDERINGS, count)?;
        components.push(EvaluatorComponent { batch, authenticators, output_solderings });
        output_flips.push(flips);
    }
    Ok(EvaluatorPrepared {
        components,
        input_authenticators,
        opened: [opened_plain, opened_input],
        output_flips,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::adversary::harness::{small, toy};
    use brickwork_primitives::cut_and_choose::Bucketing;

    /// The seed decides for each checked authenticator which of its two labels the challenge asks for.
    #[test]
    fn row_08_either_half_is_asked_for() {
        let [one, other] = [[1; 16], [2; 16]].map(|seed| colours(&Seed::from_bytes(seed), 1000));
        assert!(one.iter().chain(&other).all(|&colour| colour < 2));
        for colours in [&one, &other] {
            let ones = colours.iter().filter(|&&colour| colour == 1).count();
            assert!((400..600).contains(&ones), "{ones} of 1000");
        }
        assert_ne!(one, other);
    }

    /// Within a session, no two authenticators of one kind have the same index, whichever kind has more of
    /// them.
    #[test]
    fn row_29_later_authenticators_have_other_indices() {
        let bucketing = |bucket, opened| Bucketing { slots: 2, bucket, opened };
        let mut parameters = small(&toy(), [3, 4], [3, 6], [3, 4]);
        for (plain, input, made) in
            [(bucketing(3, 5), bucketing(3, 4), 11), (bucketing(3, 5), bucketing(5, 4), 14)]
        {
            (parameters.plain, parameters.input) = (plain, input);
            let mut counters = Counters::of_setup().unwrap();
            let firsts = [(); 3].map(|()| first_index(&mut counters, &parameters).unwrap());
            assert_eq!(firsts, [0, made, 2 * made]);
        }
    }
}
