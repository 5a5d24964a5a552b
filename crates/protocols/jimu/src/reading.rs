//! An evaluator that knows Δ reads the permutation bits of the garbler's inputs and outputs, and nobody else
//! does. It takes the place of step 5b of the paper, which proves a random oracle inside a garbled circuit.
//!
//! The seeds of all symbols are keys of OTs whose offset is Δ: that of the watched ones the evaluator chose.
//! With Δ it makes the other key of each of these OTs, too, so it has the seeds of all symbols, and with them
//! all words that were hashed (`brickwork_primitives::ihash`, module `reading`). That the OTs have Δ as
//! offset, and that symbols are those of codewords, is checked in any case. So the garbler need not prove
//! anything more for an evaluator that got Δ by a cheat to know what the garbler's input is.
//!
//! To read a word, all that was drawn with it must be combined again. So the words that are read are drawn by
//! themselves: a message ρ' for each input of the garbler and for each output that it learns. Nothing of it
//! is opened but the sum with the wire's own message, `ρ ⊕ ρ'`.
//!
//! The draw and the sums are one step, and only then the evaluator draws the seed of combinations. A garbler
//! may choose, when it knows the seed, the symbols A for which it answers, so what the words are is settled
//! by its answer. Of all 2^n sets A the combinations of the draw leave what `Parameters::check` says, and so
//! do those of the sums, of which there are as many.

use brickwork_base::Error;
use brickwork_base::random::Seed;
use brickwork_primitives::ihash::{Hashes, Masks, PendingReadable, Readable, Words};
use zeroize::Zeroizing;

use crate::buckets::lowest_bits;
use crate::cheat::Cheat;
use crate::layout::Layout;
use crate::setup::{Evaluator, Garbler};

/// The messages that are read, and what masks their combinations, at the garbler.
pub(super) struct Drawn {
    pub words: Words,
    pub masks: Option<Masks>,
}

/// Draws the messages that are read: one for each input and output of the garbler's.
pub(super) fn garbler(party: &mut Garbler, layout: &Layout) -> Result<Drawn, Error> {
    let Garbler { run, permutations, level, .. } = party;
    match layout.readable().count() {
        0 => Ok(Drawn { words: Words::zeros(level.permutations.l(), 0), masks: None }),
        count => {
            let words = permutations.random(&mut run.channel, count)?;
            Ok(Drawn { words, masks: Some(permutations.masks(&mut run.channel)?) })
        }
    }
}

/// Receives their hashes.
pub(super) fn evaluator(party: &mut Evaluator, layout: &Layout) -> Result<Option<PendingReadable>, Error> {
    match layout.readable().count() {
        0 => Ok(None),
        count => party.permutations.readable(&mut party.run.channel, count).map(Some),
    }
}

/// Proves the messages that are read, and opens nothing of them: what is opened are sums with those of wires.
pub(super) fn prove(party: &mut Garbler, seed: &Seed, drawn: Drawn, sums: &Words) -> Result<(), Error> {
    let Garbler { run, permutations, .. } = party;
    let Drawn { words, masks } = drawn;
    let Some(masks) = masks else { return Ok(()) };
    permutations.prove(&mut run.channel, seed, &[&words], masks)?;
    let mut openings = permutations.openings_unproven(seed);
    openings.add(sums);
    openings.send(&mut run.channel)
}

/// Messages that are read with Δ, and the sums with those of the wires.
pub(super) struct Read {
    readable: Readable,
    sums: Words,
}

/// Checks the messages and their sums with those of these wires, which `opened` says.
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
    /// Reads the permutation bits of the wires with Δ. Takes the same steps with anything in its place.
    pub fn bits(&self, party: &Evaluator, delta: &[u128]) -> Zeroizing<Vec<u8>> {
        let (permutations, point) = (&party.permutations, &party.points.permutation);
        let before = party.level.labels.n();
        let seeds = party.all_seeds.with(before, permutations.state().0, delta);
        let mut values = self.readable.read(permutations, &seeds, point);
        values.add(&self.sums);
        lowest_bits(&values)
    }
}
