//! Only an evaluator that knows Δ can read the permutation bits of the garbler's inputs and outputs. This
//! replaces step 5b of the paper, which proves a random oracle inside a garbled circuit.
//!
//! The seeds of all symbols are keys of OTs with offset Δ. The evaluator chose the seeds of the watched
//! symbols. With Δ it can compute the other key of each of these OTs, too. So it gets the seeds of all
//! symbols, and from them all words that were hashed (`brickwork_primitives::ihash`, module `reading`). The
//! protocol checks anyway that the OTs have offset Δ, and that hashed symbols belong to codewords. So the
//! garbler need not prove more for an evaluator that learnt Δ through a cheat to be able to read the
//! garbler's input.
//!
//! To read a word, the evaluator must repeat the combinations of all words that were drawn with it. So the
//! words for reading are drawn by themselves: a message ρ' for each input of the garbler, and for each output
//! that the garbler learns. Only their sums `ρ ⊕ ρ'` with the wires' own messages are opened.
//!
//! The draw and the sums are one step, and the evaluator draws the seed of combinations after it. A garbler
//! that knows the seed may still choose the symbols A for which its answer is correct, so only its answer
//! fixes the words. Over all 2^n sets A, the combinations of the draw have the error of `Parameters::check`.
//! The combinations of the sums have the same error, because there are as many combinations.

use brickwork_base::Error;
use brickwork_base::random::Seed;
use brickwork_primitives::ihash::{HashMasks, Hashes, PendingReadable, Readable, Words};
use zeroize::Zeroizing;

use crate::buckets::lowest_bits;
use crate::cheat::Cheat;
use crate::layout::Layout;
use crate::setup::{Evaluator, Garbler};

/// The garbler's messages for reading, before they are proven, and the words that mask their combinations.
pub(super) struct DrawnWords {
    pub words: Words,
    pub masks: Option<HashMasks>,
}

/// Draws the messages for reading: one for each input and each output of the garbler.
pub(super) fn garbler(party: &mut Garbler, layout: &Layout) -> Result<DrawnWords, Error> {
    let Garbler { run, permutations, level, .. } = party;
    match layout.readable().count() {
        0 => Ok(DrawnWords { words: Words::zeros(level.permutations.l(), 0), masks: None }),
        count => {
            let words = permutations.random(&mut run.channel, count)?;
            Ok(DrawnWords { words, masks: Some(permutations.masks(&mut run.channel)?) })
        }
    }
}

/// Receives the hashes of the messages for reading.
pub(super) fn evaluator(party: &mut Evaluator, layout: &Layout) -> Result<Option<PendingReadable>, Error> {
    match layout.readable().count() {
        0 => Ok(None),
        count => party.permutations.readable(&mut party.run.channel, count).map(Some),
    }
}

/// Proves the messages for reading without opening them. Only their sums with the wires' own messages are
/// opened.
pub(super) fn prove(party: &mut Garbler, seed: &Seed, drawn: DrawnWords, sums: &Words) -> Result<(), Error> {
    let Garbler { run, permutations, .. } = party;
    let DrawnWords { words, masks } = drawn;
    let Some(masks) = masks else { return Ok(()) };
    permutations.prove(&mut run.channel, seed, &[&words], masks)?;
    let mut openings = permutations.openings_unproven(seed);
    openings.add(sums);
    openings.send(&mut run.channel)
}

/// Hashed messages that a party with Δ can read, and their sums with the wires' own messages.
pub(super) struct Read {
    readable: Readable,
    sums: Words,
}

/// Checks the messages and the sums. `opened` contains the sums of these messages with the messages of the
/// wires.
pub(super) fn verify(
    party: &mut Evaluator,
    seed: &Seed,
    pending: Option<PendingReadable>,
    (wires, opened): (Hashes, Words),
) -> Result<Read, Error> {
    let Evaluator { run, permutations, points, .. } = party;
    let Some(pending) = pending else {
        return Ok(Read { readable: Readable::none(permutations.code()), sums: opened });
    };
    let (mut hashes, readable) = permutations.verify_readable(&mut run.channel, seed, pending)?;
    hashes.add(&wires);
    let mut check = permutations.openings_unproven(seed, &points.permutation);
    check.add(&hashes, &opened);
    match check.are_right(&mut run.channel)? {
        true => Ok(Read { readable, sums: opened }),
        false => Err(Cheat::Permutation.into()),
    }
}

impl Read {
    /// Reads the permutation bits of the wires with Δ. With any other value instead of Δ, it performs the
    /// same steps.
    pub fn bits(&self, party: &Evaluator, delta: &[u128]) -> Zeroizing<Vec<u8>> {
        let (permutations, point) = (&party.permutations, &party.points.permutation);
        let before = party.level.labels.n();
        let seeds = party.all_seeds.with(before, permutations.state().0, delta);
        let mut values = self.readable.read(permutations, &seeds, point);
        values.add(&self.sums);
        lowest_bits(&values)
    }
}
