//! Wires that are soldered in pairs. There may be many pairs, so their opening values are processed in parts.

use brickwork_base::Error;
use brickwork_primitives::ihash::{
    Completion, Hashes, OpenedCombinations, Openings, SeenWords, Sight, Words,
};
use zeroize::Zeroizing;

use crate::buckets::{HashedWires, PermutedLabels, lowest_bits};
use crate::setup::{Evaluator, Garbler};

/// The number of pairs that are opened at a time.
pub(super) const AT_ONCE: usize = 1 << 10;

/// Returns the parts of a list of this many pairs.
pub(super) fn parts(count: usize) -> impl Iterator<Item = std::ops::Range<usize>> {
    (0..count).step_by(AT_ONCE).map(move |first| first..count.min(first + AT_ONCE))
}

/// The pairs of soldered wires, by their numbers.
#[derive(Default)]
pub(super) struct Pairs {
    pub from: Vec<u32>,
    pub to: Vec<u32>,
}

impl Pairs {
    pub fn push(&mut self, from: usize, to: usize) {
        self.from.push(from as u32);
        self.to.push(to as u32);
    }

    pub fn count(&self) -> usize {
        self.from.len()
    }
}

/// The offset of the wires to which a soldering leads: the session's or the copies' own.
#[derive(Clone, Copy)]
pub(super) enum Target<'a, T: ?Sized> {
    /// The session's offset Δ.
    Session(&'a T),
    /// The offset of each copy. A copy has this many wires.
    Copies(&'a T, usize),
}

pub(super) struct Solder<'a> {
    pub pairs: &'a Pairs,
    pub from: &'a PermutedLabels,
    pub to: &'a PermutedLabels,
    pub offset: Target<'a, Words>,
}

pub(super) struct HashedSolder<'a> {
    pub pairs: &'a Pairs,
    pub from: &'a HashedWires,
    pub to: &'a HashedWires,
    pub offset: Target<'a, Hashes>,
}

/// The received opening values of a part of a list of pairs, and the hashes that they must match.
pub(super) struct ListPart {
    /// Sums of permutation messages, opened at the point of the permutation bits.
    pub permutations: (Hashes, Words),
    /// δ, opened at the points of labels.
    pub labels: (Hashes, Words),
}

impl Solder<'_> {
    /// Returns the sums of permutation messages.
    fn permutations(&self, part: std::ops::Range<usize>) -> Words {
        let Pairs { from, to } = self.pairs;
        self.from.permutations.pair_sums(&from[part.clone()], &self.to.permutations, &to[part])
    }

    /// Returns δ for these pairs and sums of permutation bits.
    fn labels(&self, part: std::ops::Range<usize>, bits: &[u8]) -> Words {
        let Pairs { from, to } = self.pairs;
        let mut sums = self.from.labels.pair_sums(&from[part.clone()], &self.to.labels, &to[part.clone()]);
        match self.offset {
            Target::Session(offset) => sums.add_where(offset.word(0), bits),
            Target::Copies(offsets, wires) => {
                let copies = to[part].iter().map(|&to| to as usize / wires);
                copies
                    .zip(bits)
                    .enumerate()
                    .for_each(|(k, (copy, &bit))| sums.add_to(k, offsets.word(copy), bit));
            }
        }
        sums
    }

    /// Opens all solderings. Returns the sums of permutation bits.
    pub fn open(&self, party: &mut Garbler) -> Result<Zeroizing<Vec<u8>>, Error> {
        let mut all = Zeroizing::new(Vec::with_capacity(self.pairs.count()));
        let Garbler { run, labels, permutations, points, .. } = party;
        for part in parts(self.pairs.count()) {
            let sums = self.permutations(part.clone());
            let bits = lowest_bits(&permutations.open(&mut run.channel, &points.permutation, &sums)?);
            labels.open(&mut run.channel, &points.openings, &self.labels(part, &bits))?;
            all.extend_from_slice(&bits);
        }
        Ok(all)
    }

    /// Adds the openings to combinations. `bits` has the sums of permutation bits.
    pub fn prove(&self, permutations: &mut Openings, labels: &mut Openings, bits: &[u8]) {
        for part in parts(self.pairs.count()) {
            permutations.add(&self.permutations(part.clone()));
            labels.add(&self.labels(part.clone(), &bits[part]));
        }
    }
}

impl HashedSolder<'_> {
    /// Receives the opening values of all pairs.
    pub fn opened(&self, party: &mut Evaluator) -> Result<Vec<ListPart>, Error> {
        let Evaluator { run, labels, permutations, .. } = party;
        let receive = |part: std::ops::Range<usize>| {
            let messages = permutations.opened(&mut run.channel, part.len())?;
            let values = labels.opened(&mut run.channel, part.len())?;
            let bits = lowest_bits(&messages);
            let Pairs { from, to } = self.pairs;
            let of_messages = self.from.permutations.pair_sums(
                &from[part.clone()],
                &self.to.permutations,
                &to[part.clone()],
            );
            Ok(ListPart { permutations: (of_messages, messages), labels: (self.labels(part, &bits), values) })
        };
        parts(self.pairs.count()).map(receive).collect()
    }

    /// Returns the hashes of δ for these sums of permutation bits.
    fn labels(&self, part: std::ops::Range<usize>, bits: &[u8]) -> Hashes {
        let Pairs { from, to } = self.pairs;
        let mut sums = self.from.labels.pair_sums(&from[part.clone()], &self.to.labels, &to[part.clone()]);
        match self.offset {
            Target::Session(offset) => sums.add_where(offset, bits),
            Target::Copies(offsets, wires) => {
                let copies = to[part].iter().map(|&to| to as usize / wires);
                sums.add_each(&offsets.select(copies), bits);
            }
        }
        sums
    }
}

impl ListPart {
    /// Adds each opening, with the hash that it must match, to the combinations that are checked later.
    pub fn check(&self, permutations: &mut OpenedCombinations, labels: &mut OpenedCombinations) {
        permutations.add(&self.permutations.0, &self.permutations.1);
        labels.add(&self.labels.0, &self.labels.1);
    }
}

/// Returns the view of δ for every `step`th pair of a list whose openings have been checked.
pub(super) fn seen(sight: &Sight, opened: &[ListPart], step: usize) -> SeenWords {
    sight.join(opened.iter().map(|ListPart { labels: (hashes, values), .. }| (values, hashes)), step)
}

/// Returns δ as a label for every `step`th pair of a list whose openings have been checked.
pub(super) fn complete(completion: &Completion, opened: &[ListPart], step: usize) -> Words {
    let whole = opened.iter().map(|ListPart { labels: (hashes, values), .. }| match step {
        1 => completion.words(hashes, values),
        _ => {
            let some = || (0..values.count() / step).map(|k| k * step);
            completion.words(&hashes.select(some()), &values.select(some()))
        }
    });
    let whole: Vec<Words> = whole.collect();
    let none = Words::zeros(completion.symbols(), 0);
    Words::join(&std::iter::once(&none).chain(&whole).collect::<Vec<_>>())
}
