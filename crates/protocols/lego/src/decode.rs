//! Decode: each party learns its own outputs, and the garbler verifies that its outputs are the computed
//! ones.
//!
//! ```text
//!   evaluator -> garbler    the colours of the labels of G's outputs, and one hash over all these labels
//! ```
//!
//! Each output that only the garbler learns is masked by an input of the garbler. So E may know σ of all
//! outputs.
//!
//! **Recovery.** If a bucket gives two valid labels, their sum is Δ, and the labels of the garbler's inputs
//! reveal their bits. Then E computes the function in the clear, and sends the label of the right bit for
//! each output of G. E always performs these steps before it sends anything. If there is nothing to recover,
//! it performs them with a random offset. So the garbler sees the same bytes in the same order in both cases.

use subtle::ConstantTimeEq;
use zeroize::Zeroizing;

use crate::evaluate::EvaluatedProgram;
use crate::hooks::Point;
use crate::inputs::by_batch;
use crate::layout::{Layout, OutputWire};
use crate::setup::{Evaluator, Garbler};
use crate::walk::Ordered;
use crate::{Cheat, msg};
use brickwork_base::label::{Delta, Label};
use brickwork_base::{Error, Party, bits};
use brickwork_circuit::Recipient;
use brickwork_primitives::commit::{self, Committed};
use brickwork_primitives::solder::GarblerWire;

const HASH: usize = 32;

/// Returns the hash that proves that the evaluator has the labels of all of the garbler's outputs.
fn labels_hash(session: &[u8; 32], labels: impl Iterator<Item = Label>) -> [u8; HASH] {
    let key = blake3::derive_key("brickwork 2026-11 lego output labels", session);
    let mut hasher = blake3::Hasher::new_keyed(&key);
    labels.for_each(|label| {
        hasher.update(&label.to_bytes());
    });
    *hasher.finalize().as_bytes()
}

fn learned_by<'l>(layout: &'l Layout, party: Party) -> impl Iterator<Item = (usize, &'l OutputWire)> + Clone {
    layout.outputs.iter().enumerate().filter(move |(_, output)| output.to.includes(party))
}

/// Returns the garbler's outputs. `input` has its input bits, including masks.
pub(super) fn garbler<C: commit::CommitmentScheme>(
    party: &mut Garbler<C>,
    layout: &Layout,
    outputs: &Committed,
    input: &[bool],
) -> Result<Vec<bool>, Error> {
    let Garbler { run, session, delta, .. } = party;
    run.phase("decode");
    let wire = |k: usize| GarblerWire { value: outputs.values[k], delta: **delta };
    let count = learned_by(layout, Party::Garbler).count();
    let message = run.channel.receive(msg::OUTPUT_LABELS, count.div_ceil(8) + HASH)?;
    let (colours, hash) = message.split_at(count.div_ceil(8));
    let colours = bits::unpack(colours, count)?;
    let learned = learned_by(layout, Party::Garbler).zip(&colours);
    let expected = labels_hash(session, learned.clone().map(|((k, _), &colour)| wire(k).of_colour(colour)));
    if !bool::from(expected.ct_eq(hash)) {
        return Err(Cheat::ForgedOutput.into());
    }
    let bit = |((k, output), &colour): ((usize, &OutputWire), &u8)| {
        (wire(k).indicator() != colour) ^ output.mask.is_some_and(|mask| input[mask])
    };
    Ok(learned.map(bit).collect())
}

/// Returns the evaluator's outputs, and whether they were recovered.
pub(super) fn evaluator<C: commit::CommitmentScheme>(
    party: &mut Evaluator<C>,
    layout: &Layout,
    ordered: &Ordered,
    evaluated: EvaluatedProgram,
    input: &[bool],
) -> Result<(Vec<bool>, bool), Error> {
    let Evaluator { run, rng, hooks, session, .. } = party;
    run.phase("decode");
    run.cover();
    let EvaluatedProgram { given, outputs: labels, sigma, delta: known } = evaluated;
    // An offset that is known ends in 1. An unknown offset is represented by zero.
    let recovered = known.colour();
    let delta = Zeroizing::new(Delta::new((*known ^ rng.delta().times(1 ^ recovered)).bits()));
    let mut theirs = Zeroizing::new(Vec::with_capacity(layout.garbler));
    for (buckets, labels) in by_batch(&ordered.inputs, &given) {
        theirs.extend_from_slice(&buckets.recover(labels, *delta));
    }
    let clear = Zeroizing::new(layout.program.simulate(&theirs[..layout.own], input));
    let ports = layout.program.outputs().iter().zip(clear.iter());
    let learned = ports.filter(|(port, _)| port.to != Recipient::Nobody);
    let clear: Zeroizing<Vec<u8>> =
        Zeroizing::new(learned.flat_map(|(_, bits)| bits.iter().map(|&bit| u8::from(bit))).collect());

    let masked =
        |k: usize, output: &OutputWire| clear[k] ^ output.mask.map_or(0, |mask| u8::from(theirs[mask]));
    let decoded = |k: usize| labels[k].colour() ^ sigma[k];
    let restored = learned_by(layout, Party::Garbler)
        .map(|(k, output)| labels[k] ^ delta.times(recovered & (decoded(k) ^ masked(k, output))));
    let colours = bits::pack(restored.clone().map(Label::colour));
    let hash = labels_hash(session, restored);
    let own = learned_by(layout, Party::Evaluator)
        .map(|(k, _)| (clear[k] & recovered | decoded(k) & (1 ^ recovered)) == 1)
        .collect();
    let mut message = [&colours[..], &hash].concat();
    hooks.alter(Point::OutputLabels, &mut message);
    run.channel.send(msg::OUTPUT_LABELS, &message)?;
    run.channel.flush()?;
    // The party sends nothing after this.
    Ok((own, recovered == 1))
}
