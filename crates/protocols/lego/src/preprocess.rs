//! Preprocess: AND gates and wire authenticators for any program. The garbler commits to them, and
//! cut-and-choose checks them and puts them into buckets.
//!
//! ```text
//!   garbler -> evaluator    start of the hash keys, tables of all gates;
//!                           commitments to both inputs (random) and the output (as it comes out) of each
//!                           gate, and to each authenticator's wire (random);
//!                           the authenticators' pairs of hashes
//!                           proof: all of these are commitments, the offset ends in 1
//!   evaluator -> garbler    challenge: seeds
//!   garbler -> evaluator    opened gates: both inputs at colours that the challenge draws;
//!                           opened authenticators: the wire at such a colour;  solderings in the buckets
//!                           claims: all of it
//! ```
//!
//! **Why a gate is opened at one row.** All gates share Δ, and two labels of one wire would reveal it. So an
//! opened gate cannot be garbled again. Instead, E evaluates it at one of its four rows, which the challenge
//! selects after everything is fixed. E claims that the committed output is the evaluated label, for the AND
//! of the bits of this row. For any tables, the outputs of the four rows add up to Δ: equal hashes, `T_G` and
//! `T_E` cancel, and the two left labels that are added together with `T_E` remain. The correct outputs of
//! the four rows also add up to Δ. So a gate that is wrong at one row is wrong at another row, too, and is
//! detected with probability 1/2. This requires `lsb(Δ) = 1`.
//!
//! The opening of a wire at a colour is `C ⊕ colour·D`: the label of that colour, with its bit in the lowest
//! bit.

use std::ops::Range;

use zeroize::Zeroizing;

use crate::assignment::{Assignment, colours};
use crate::claims::{GateClaims, OpenedItems};
use crate::gates::{GateKeys, TABLE_BYTES, Table};
use crate::hooks::Point;
use crate::parameters::Parameters;
use crate::setup::{Evaluator, Garbler};
use crate::{Cheat, msg};
use brickwork_base::Error;
use brickwork_base::bits::Bits;
use brickwork_base::label::{Delta, LABEL_BYTES, Label};
use brickwork_base::pool;
use brickwork_base::random::Seed;
use brickwork_primitives::Labels;
use brickwork_primitives::authenticator::{Authenticator, AuthenticatorKind, Hasher};
use brickwork_primitives::commit::{
    self, Claimed, Claims, CommitmentRow, Committed, Lsb, New, Pending, Places, Proof, Receiver as _,
    Sender as _, Shares,
};
use brickwork_primitives::receive;
use brickwork_primitives::solder::{GarblerWire, Soldering};
use brickwork_primitives::spill::{Spill, SpilledVec};

/// The number of items that are made, hashed or sent at a time.
pub(super) const AT_ONCE: usize = 1 << 16;

/// The garbler's gates and wire authenticators, committed to.
pub(super) struct GarblerGates {
    at: Places,
    start: u128,
    inputs: CommitmentRow,
    outputs: CommitmentRow,
    wires: CommitmentRow,
}

impl GarblerGates {
    pub fn new_commitments(&self) -> [New<'_>; 3] {
        [&self.inputs, &self.outputs, &self.wires].map(New::from)
    }
}

/// Makes gates and wire authenticators, and commits to their wires.
pub(super) fn garbler_commits<C: commit::CommitmentScheme>(
    party: &mut Garbler<C>,
    parameters: &Parameters,
) -> Result<GarblerGates, Error> {
    let Garbler { run, sender, rng, hooks, delta, session, counters, .. } = party;
    run.phase("preprocess");
    let count = parameters.gates.copies() as usize;
    let first = sender.next_row();
    let inputs = sender.row(&mut run.channel, 2 * count, Lsb::Random)?;
    let at = Places::begin([first, sender.next_row()]);
    let start = rng.block();
    run.channel.send(msg::KEYS, &start.to_le_bytes())?;
    let mut with = [delta.label()];
    hooks.alter(Point::GateOffset, &mut with);
    let with = Zeroizing::new(Delta::new(with[0].bits()));
    let gates = GateKeys::new(start, count);
    run.expect((count * TABLE_BYTES) as u64);
    let mut message = run.channel.message(msg::TABLES);
    let mut made = Labels::new(Vec::with_capacity(count));
    let mut passed = 0;
    for first in (0..count).step_by(AT_ONCE) {
        let mut values = Labels::new(vec![Label::ZERO; 2 * AT_ONCE.min(count - first)]);
        inputs.fill(2 * first, &mut values)?;
        values
            .iter_mut()
            .for_each(|value| *value = GarblerWire { value: *value, delta: *with }.false_label());
        let (mut outputs, mut tables) = gates.garble(first, *with, &values);
        outputs.iter_mut().for_each(|label| *label = GarblerWire::from_false_label(*label, *with).value);
        hooks.alter(Point::Tables, &mut tables);
        hooks.alter(Point::GateOutputs, &mut outputs);
        message.push(bytemuck::cast_slice(&tables))?;
        passed += tables.len() * TABLE_BYTES;
        made.extend_from_slice(&outputs);
    }
    message.finish()?;
    run.progress(passed as u64);
    let mut outputs = sender.begin_row(count)?;
    sender.push(&mut run.channel, &mut outputs, &made)?;
    let outputs = sender.finish(outputs);

    let count = parameters.authenticators.copies() as usize;
    let wires = sender.row(&mut run.channel, count, Lsb::Random)?;
    let made = counters.authenticators(count as u64)?;
    let hasher = Hasher::new(session, AuthenticatorKind::Plain).after(made);
    let mut message = run.channel.message(msg::AUTHENTICATORS);
    let mut values = Labels::default();
    for first in (0..count).step_by(AT_ONCE) {
        values.resize(AT_ONCE.min(count - first), Label::ZERO);
        wires.fill(first, &mut values)?;
        hooks.alter(Point::WireLabels, &mut values);
        let wire = |k: usize| ((first + k) as u64, values[k].with_colour(0), **delta);
        let mut hashes = hasher.authenticators(values.len(), wire);
        hooks.alter(Point::WireHashes, &mut hashes);
        message.push(bytemuck::cast_slice(&hashes))?;
    }
    message.finish()?;
    Ok(GarblerGates { at, start, inputs, outputs, wires })
}

/// The garbler's gates for a program: the committed heads of their buckets.
pub(super) struct GarblerHeads {
    pub at: Places,
    /// The start of the batch's hash keys, and the number of its gates.
    pub start: u128,
    pub made: usize,
    /// The commitments to the inputs, `[bucket][side]`.
    pub inputs: Committed,
    pub outputs: Committed,
}

impl GarblerHeads {
    pub fn none() -> Self {
        let (at, inputs, outputs) = (Places::default(), Committed::default(), Committed::default());
        GarblerHeads { at, start: 0, made: 0, inputs, outputs }
    }

    /// Appends heads, which may belong to another batch.
    pub fn append(&mut self, others: &Self) {
        crate::ots::join(&mut self.inputs, &others.inputs);
        crate::ots::join(&mut self.outputs, &others.outputs);
    }

    /// Returns the commitments to inputs and to outputs.
    pub fn shares(&self) -> [&Shares; 2] {
        [&self.inputs.shares, &self.outputs.shares]
    }
}

/// Opens the challenged items, and solders the others into buckets.
pub(super) fn garbler_opens<C: commit::CommitmentScheme>(
    party: &mut Garbler<C>,
    made: GarblerGates,
    parameters: &Parameters,
    seeds: &[Seed],
) -> Result<(GarblerHeads, GateClaims), Error> {
    party.run.phase("preprocess");
    let GarblerGates { at, start, inputs, outputs, wires } = made;
    let gates = Assignment::expand(&seeds[0], &parameters.gates);
    let guards = Assignment::expand(&seeds[1], &parameters.authenticators);
    let (input_values, output_values, wire_values) = (inputs.values()?, outputs.values()?, wires.values()?);
    let mut flips = [input_values.len(), output_values.len(), wire_values.len()].map(Bits::zeros);

    let values = [&input_values, &output_values, &wire_values].map(|values| &values[..]);
    send_opened(party, [&gates, &guards], values, seeds, &mut flips)?;
    let Garbler { run, hooks, delta, .. } = party;
    let delta = &**delta;
    let wire = |value: Label| GarblerWire { value, delta: *delta };
    let mut message = run.channel.message(msg::GATE_SOLDERINGS);
    let mut solderings: Vec<[Soldering; 3]> = Vec::new();
    for buckets in chunks(gates.buckets()) {
        solderings.clear();
        for bucket in buckets.clone() {
            let (head, others) = (gates.bucket(bucket)[0] as usize, &gates.bucket(bucket)[1..]);
            for gate in others.iter().map(|&gate| gate as usize) {
                let side =
                    |side| Soldering::new(input_values[2 * head + side], wire(input_values[2 * gate + side]));
                let output = Soldering::new(output_values[head], wire(output_values[gate]));
                solderings.push([side(0), side(1), output]);
            }
        }
        hooks.alter(Point::GateSolderings, &mut solderings);
        message.push(bytemuck::cast_slice(&solderings))?;
        note(&gates, buckets, &solderings, &mut flips);
    }
    message.finish()?;
    let mut message = run.channel.message(msg::AUTHENTICATOR_SOLDERINGS);
    let mut solderings: Vec<Soldering> = Vec::new();
    for buckets in chunks(gates.buckets()) {
        solderings.clear();
        for bucket in buckets.clone() {
            let head = output_values[gates.bucket(bucket)[0] as usize];
            let of = |&guard: &u32| Soldering::new(head, wire(wire_values[guard as usize]));
            solderings.extend(guards.bucket(bucket).iter().map(of));
        }
        hooks.alter(Point::AuthenticatorSolderings, &mut solderings);
        message.push(bytemuck::cast_slice(&solderings))?;
        let guards = &guards.chosen[buckets.start * guards.size..];
        guards.iter().zip(&solderings).for_each(|(&guard, s)| flips[2].add(guard as usize, s.flip()));
    }
    message.finish()?;

    let (at, count) = (at.heads(&gates.chosen, gates.size), gates.items());
    let of_heads = |each: usize, values: &[Label]| {
        let mut picked = Vec::with_capacity(each * at.items.len());
        at.items.iter().for_each(|&head| picked.extend_from_slice(&values[head as usize * each..][..each]));
        picked
    };
    let (inputs_of, outputs_of) = (of_heads(2, &input_values), of_heads(1, &output_values));
    let shares = [inputs.into_shares(), outputs.into_shares(), wires.into_shares()];
    let claims = GateClaims { gates, wires: guards, flips, shares };
    let [inputs, outputs] = claims.heads();
    let heads = GarblerHeads {
        at,
        start,
        made: count,
        inputs: Committed { values: inputs_of, shares: inputs },
        outputs: Committed { values: outputs_of, shares: outputs },
    };
    Ok((heads, claims))
}

/// Opens the gates and authenticators of the challenge. `values` has the values of the inputs and outputs of
/// gates, and of the wires of authenticators. Records which claims contain the offset.
fn send_opened<C: commit::CommitmentScheme>(
    party: &mut Garbler<C>,
    [gates, guards]: [&Assignment; 2],
    [input_values, output_values, wire_values]: [&[Label]; 3],
    seeds: &[Seed],
    flips: &mut [Bits; 3],
) -> Result<(), Error> {
    let Garbler { run, hooks, delta, .. } = party;
    let asked = colours(&seeds[0], 2 * gates.opened.len());
    let mut opened = Labels::new(Vec::with_capacity(asked.len()));
    for (&gate, colours) in gates.opened.iter().zip(asked.chunks_exact(2)) {
        let gate = gate as usize;
        for (side, &colour) in colours.iter().enumerate() {
            flips[0].add(2 * gate + side, colour);
            opened.push(input_values[2 * gate + side] ^ delta.times(colour));
        }
        let bit = opened[opened.len() - 2].colour() & opened[opened.len() - 1].colour();
        flips[1].add(gate, bit ^ output_values[gate].colour());
    }
    hooks.alter(Point::OpenedGates, &mut opened);
    run.channel.send(msg::OPENED_GATES, bytemuck::cast_slice(&opened))?;

    let asked = colours(&seeds[1], guards.opened.len());
    opened.clear();
    for (&wire, &colour) in guards.opened.iter().zip(&asked) {
        flips[2].add(wire as usize, colour);
        opened.push(wire_values[wire as usize] ^ delta.times(colour));
    }
    hooks.alter(Point::OpenedAuthenticators, &mut opened);
    run.channel.send(msg::OPENED_AUTHENTICATORS, bytemuck::cast_slice(&opened))?;
    Ok(())
}

fn chunks(buckets: usize) -> impl Iterator<Item = Range<usize>> {
    (0..buckets).step_by(AT_ONCE).map(move |first| first..buckets.min(first + AT_ONCE))
}

/// Records which gate solderings of these buckets have the bit s.
fn note(gates: &Assignment, buckets: Range<usize>, solderings: &[[Soldering; 3]], flips: &mut [Bits; 3]) {
    let others = buckets.flat_map(|bucket| &gates.bucket(bucket)[1..]);
    for (&gate, [left, right, output]) in others.zip(solderings) {
        flips[0].add(2 * gate as usize, left.flip());
        flips[0].add(2 * gate as usize + 1, right.flip());
        flips[1].add(gate as usize, output.flip());
    }
}

/// The gates and wire authenticators that the evaluator received. Nothing about them is proven yet.
pub(super) struct ReceivedGates {
    made: u64,
    gates: GateKeys,
    tables: SpilledVec<Table>,
    hashes: SpilledVec<Authenticator>,
    inputs: Pending,
    outputs: Pending,
    wires: Pending,
}

/// Receives gates and wire authenticators.
pub(super) fn evaluator_receives<C: commit::CommitmentScheme>(
    party: &mut Evaluator<C>,
    parameters: &Parameters,
) -> Result<ReceivedGates, Error> {
    let Evaluator { run, receiver, counters, table_memory, .. } = party;
    run.phase("preprocess");
    let count = parameters.gates.copies() as usize;
    let guards = parameters.authenticators.copies() as usize;
    // The tables and hashes are not read between the challenge and the evaluation, so they may be in a file.
    let held = count * TABLE_BYTES + guards * size_of::<Authenticator>();
    let spill = if held as u64 > *table_memory { Spill::file(receiver.fault())? } else { Spill::memory() };
    let inputs = receiver.receive_random(&mut run.channel, 2 * count, Lsb::Random)?;
    let mut start = [0; LABEL_BYTES];
    run.channel.receive_into(msg::KEYS, &mut start)?;
    run.expect((count * TABLE_BYTES) as u64);
    let tables = receive::values(&mut run.channel, &spill, msg::TABLES, count)?;
    run.progress((count * TABLE_BYTES) as u64);
    let outputs = receiver.receive(&mut run.channel, count)?;
    // LOAD-BEARING: *random* commitments have values that follow from the seeds, so no message can influence
    // these values. So G cannot choose the labels of a good authenticator. The committed offset is that of
    // the OTs (`crate::ots`; in a stock it is bound in the setup). It is fixed before the seeds. A third
    // label that an authenticator accepts is a second preimage (docs/protocols/lego.md).
    let wires = receiver.receive_random(&mut run.channel, guards, Lsb::Random)?;
    let hashes = receive::values(&mut run.channel, &spill, msg::AUTHENTICATORS, guards)?;
    let made = counters.authenticators(guards as u64)?;
    let gates = GateKeys::new(u128::from_le_bytes(start), count);
    Ok(ReceivedGates { made, gates, tables, hashes, inputs, outputs, wires })
}

impl ReceivedGates {
    pub fn pending(&self) -> [&Pending; 3] {
        [&self.inputs, &self.outputs, &self.wires]
    }
}

/// Buckets of gates and their wire authenticators of one batch, at the evaluator.
pub(super) struct AndBuckets {
    pub gates: GateKeys,
    /// The numbers of gates and of wire authenticators in a bucket: β and α.
    pub sizes: [usize; 2],
    /// The number of each gate in a bucket, and its table, `[bucket][gate]`.
    pub numbers: Vec<u32>,
    pub tables: Vec<Table>,
    /// The number of each authenticator in a bucket, and its hashes, `[bucket][authenticator]`.
    pub guards: Vec<u32>,
    pub hashes: Vec<Authenticator>,
    pub hasher: Hasher,
    /// For each gate that is not a head, the solderings of its left, right and output wire.
    pub gate_solderings: Vec<[Soldering; 3]>,
    /// The soldering of each authenticator in a bucket.
    pub guard_solderings: Vec<Soldering>,
}

impl AndBuckets {
    /// Returns the number of buckets.
    pub fn count(&self) -> usize {
        self.numbers.len() / self.sizes[0]
    }
}

/// The data that the evaluator received after its challenge, for the claims and for the evaluation.
pub(super) struct ClaimedGates {
    made: u64,
    claims: GateClaims,
    opened: Claimed<OpenedItems>,
    /// The commitments to the inputs and outputs of heads.
    pub heads: [Shares; 2],
    gates: GateKeys,
    tables: SpilledVec<Table>,
    hashes: SpilledVec<Authenticator>,
}

/// Receives the openings and solderings, and checks the opened items.
pub(super) fn evaluator_opens<C: commit::CommitmentScheme>(
    party: &mut Evaluator<C>,
    received: ReceivedGates,
    proof: &Proof,
    parameters: &Parameters,
    seeds: &[Seed],
) -> Result<ClaimedGates, Error> {
    let Evaluator { run, receiver, session, .. } = party;
    run.phase("preprocess");
    let ReceivedGates { made, gates: circuit, tables, hashes, inputs, outputs, wires } = received;
    let gates = Assignment::expand(&seeds[0], &parameters.gates);
    let guards = Assignment::expand(&seeds[1], &parameters.authenticators);
    let shares = [inputs, outputs, wires].map(|pending| pending.accept(proof));
    let mut flips = [0, 1, 2].map(|kind: usize| Bits::zeros(shares[kind].len()));

    let asked = colours(&seeds[0], 2 * gates.opened.len());
    let opened_inputs = receive::labels(&mut run.channel, msg::OPENED_GATES, asked.len())?;
    let labels: Vec<Label> =
        opened_inputs.iter().zip(&asked).map(|(value, &colour)| value.with_colour(colour)).collect();
    let mut opened_outputs = circuit.evaluate(&gates.opened, &gates.of_opened(&tables)?, &labels).to_vec();
    for (k, (&gate, colours)) in gates.opened.iter().zip(asked.chunks_exact(2)).enumerate() {
        let gate = gate as usize;
        flips[0].add(2 * gate, colours[0]);
        flips[0].add(2 * gate + 1, colours[1]);
        // VerGate: check that the committed output has the right bit, which is the AND of the input bits.
        let bit = opened_inputs[2 * k].colour() & opened_inputs[2 * k + 1].colour();
        flips[1].add(gate, opened_outputs[k].colour());
        opened_outputs[k] = opened_outputs[k].with_colour(bit);
    }

    let asked = colours(&seeds[1], guards.opened.len());
    let opened_wires = receive::labels(&mut run.channel, msg::OPENED_AUTHENTICATORS, asked.len())?;
    let hasher = Hasher::new(session, AuthenticatorKind::Plain).after(made);
    let checked = guards.of_opened(&hashes)?;
    let query = |k: usize| (checked[k], u64::from(guards.opened[k]), opened_wires[k].with_colour(asked[k]));
    if hasher.accepts(asked.len(), query).contains(&false) {
        return Err(Cheat::WireAuthenticator.into());
    }
    guards.opened.iter().zip(&asked).for_each(|(&guard, &colour)| flips[2].add(guard as usize, colour));

    let pairs = gates.chosen.len() - gates.buckets();
    let mut gate_solderings = vec![[Soldering::default(); 3]; pairs];
    run.channel.receive_into(msg::GATE_SOLDERINGS, bytemuck::cast_slice_mut(&mut gate_solderings))?;
    note(&gates, 0..gates.buckets(), &gate_solderings, &mut flips);
    let mut wire_solderings = vec![Soldering::default(); guards.chosen.len()];
    run.channel
        .receive_into(msg::AUTHENTICATOR_SOLDERINGS, bytemuck::cast_slice_mut(&mut wire_solderings))?;
    guards.chosen.iter().zip(&wire_solderings).for_each(|(&guard, s)| flips[2].add(guard as usize, s.flip()));

    let opened = receiver.claimed(OpenedItems {
        inputs: opened_inputs,
        outputs: opened_outputs,
        wires: opened_wires,
        gate_solderings,
        wire_solderings,
    });
    let claims = GateClaims { gates, wires: guards, flips, shares };
    let heads = claims.heads();
    Ok(ClaimedGates { made, claims, opened, heads, gates: circuit, tables, hashes })
}

impl ClaimedGates {
    /// States the claims about the received items.
    pub fn claim<'a>(&'a self, offset: &'a Shares, claims: &mut Claims<'a>) {
        claims.about(&self.opened, |opened, claims| {
            self.claims.claim(offset, self.heads.each_ref(), Some(opened), claims);
        });
    }

    /// Returns the buckets, after the proof of everything that was received. A caller that needs the
    /// commitments to the heads must take them before.
    ///
    /// # Errors
    /// [`Error::Resource`] if a temporary file cannot be read.
    pub fn proven(self, session: &[u8; 32], proof: &Proof) -> Result<AndBuckets, Error> {
        let ClaimedGates { made, claims, opened, heads, gates: circuit, tables, hashes } = self;
        let GateClaims { gates, wires, flips, shares } = claims;
        // The claims are proven, so the memory of their data is freed.
        drop((heads, shares, flips));
        let (of_gates, of_guards) =
            pool::compute(|| rayon::join(|| gates.of_chosen(&tables), || wires.of_chosen(&hashes)));
        let OpenedItems { gate_solderings, wire_solderings, .. } = opened.proven(proof);
        Ok(AndBuckets {
            gates: circuit,
            sizes: [gates.size, wires.size],
            numbers: gates.chosen,
            tables: of_gates?,
            guards: wires.chosen,
            hashes: of_guards?,
            hasher: Hasher::new(session, AuthenticatorKind::Plain).after(made),
            gate_solderings,
            guard_solderings: wire_solderings,
        })
    }
}
