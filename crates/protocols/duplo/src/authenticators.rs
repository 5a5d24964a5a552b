//! The results of the phase prepare: buckets of authenticators, which accept labels and recover inputs, and
//! batches of copies with the authenticators of their outputs.

use std::borrow::Cow;
use std::ops::Range;

use super::Error;
use super::batch::{EvaluatorBatch, GarblerBatch, Shape};
use super::items::{ComponentItems, Items, Origin};
use brickwork_base::label::Label;
use brickwork_circuit::ComponentDigest;
use brickwork_primitives::authenticator::{Authenticator, Hasher};
use brickwork_primitives::commit::{CommitmentRow, Places, Shares};
use brickwork_primitives::solder::Soldering;
use brickwork_primitives::spill::SpilledVec;

/// The garbler's authenticators of one kind: the heads of the buckets, to which programs are soldered.
pub(super) struct GarblerAuthenticators {
    pub origin: Origin,
    /// The places of the heads' commitments.
    pub at: Places,
    /// The number of authenticators of both kinds that the session made earlier.
    pub made: u64,
    pub wires: CommitmentRow,
    /// The offsets of the heads of input authenticators; empty for plain ones.
    pub offsets: CommitmentRow,
}

/// The evaluator's authenticators of one kind, bucket after bucket.
pub(super) struct EvaluatorAuthenticators {
    pub origin: Origin,
    pub size: usize,
    pub hasher: Hasher,
    /// The commitments to the heads' wires.
    pub wires: Shares,
    /// The commitments to the offsets of the heads of input authenticators; empty for plain ones.
    pub offsets: Shares,
    /// The delta differences of the heads of input authenticators; empty for plain ones.
    pub head_delta_differences: Vec<Label>,
    pub rows: AuthenticatorRows,
}

/// The data with which the evaluator checks labels, one row for each authenticator.
pub(super) struct AuthenticatorRows {
    /// The index of each authenticator in its batch. The hash of a label depends on this index.
    pub indices: SpilledVec<u32>,
    pub hashes: SpilledVec<Authenticator>,
    /// The delta difference S_g of each input authenticator; empty for plain ones.
    pub delta_differences: SpilledVec<Label>,
    /// The solderings from the head of each bucket to its other authenticators.
    pub solderings: SpilledVec<Soldering>,
}

/// The rows of an [`AuthenticatorRows`], or a part of them.
#[derive(Default)]
struct Rows<'a> {
    indices: Cow<'a, [u32]>,
    hashes: Cow<'a, [Authenticator]>,
    delta_differences: Cow<'a, [Label]>,
    solderings: Cow<'a, [Soldering]>,
}

impl AuthenticatorRows {
    /// Returns all rows if they are in memory.
    fn in_memory(&self) -> Option<Rows<'_>> {
        Some(Rows {
            indices: self.indices.in_memory()?.into(),
            hashes: self.hashes.in_memory()?.into(),
            delta_differences: self.delta_differences.in_memory()?.into(),
            solderings: self.solderings.in_memory()?.into(),
        })
    }

    /// Reads the rows of some buckets.
    fn read(&self, buckets: Range<usize>, size: usize) -> Result<Rows<'_>, Error> {
        let of = |each: usize| buckets.start * each..buckets.end * each;
        let delta_differences = if self.delta_differences.is_empty() { 0..0 } else { of(size) };
        Ok(Rows {
            indices: self.indices.read(of(size))?,
            hashes: self.hashes.read(of(size))?,
            delta_differences: self.delta_differences.read(delta_differences)?,
            solderings: self.solderings.read(of(size - 1))?,
        })
    }
}

/// The rows of some buckets, after they were read.
pub(super) struct AtHand<'a> {
    rows: Rows<'a>,
    size: usize,
    /// For each requested bucket its index among the buckets that were read.
    places: Vec<usize>,
}

impl AtHand<'_> {
    /// Returns the index of authenticator `i` in the bucket of request `k`.
    pub fn index(&self, k: usize, i: usize) -> u64 {
        self.rows.indices[self.places[k] * self.size + i].into()
    }

    /// Returns `Δ_g ⊕ Δ_ka` of an authenticator.
    pub fn delta_difference(&self, k: usize, i: usize) -> Label {
        self.rows.delta_differences.get(self.places[k] * self.size + i).copied().unwrap_or_default()
    }

    /// Returns the soldering from the head of a bucket to authenticator `i`, unless this is the head.
    pub fn soldering(&self, k: usize, i: usize) -> Option<Soldering> {
        (i > 0).then(|| self.rows.solderings[self.places[k] * (self.size - 1) + i - 1])
    }

    /// Returns the label on authenticator `i` that corresponds to a label on the bucket's head.
    pub fn carry(&self, k: usize, i: usize, label: Label) -> Label {
        self.soldering(k, i).map_or(label, |soldering| {
            soldering.carry(label, self.delta_difference(k, 0) ^ self.delta_difference(k, i))
        })
    }

    fn hashes(&self, k: usize, i: usize) -> Authenticator {
        self.rows.hashes[self.places[k] * self.size + i]
    }
}

impl EvaluatorAuthenticators {
    /// Returns `Δ_g ⊕ Δ_ka` of the head of a bucket.
    pub fn head_delta_difference(&self, bucket: usize) -> Label {
        self.head_delta_differences.get(bucket).copied().unwrap_or_default()
    }

    /// Reads the authenticators of these buckets.
    ///
    /// # Errors
    /// [`Error::Resource`] if a file cannot be read.
    pub fn at_hand(&self, buckets: impl Iterator<Item = usize>) -> Result<AtHand<'_>, Error> {
        let (size, mut places) = (self.size, buckets.collect::<Vec<usize>>());
        if let Some(rows) = self.rows.in_memory() {
            return Ok(AtHand { rows, size, places });
        }
        // Adjacent buckets are read together.
        let (mut all, mut count) = (Rows::default(), 0);
        for run in places.chunk_by_mut(|a, b| matches!(b.checked_sub(*a), Some(0 | 1))) {
            let (first, end) = (run[0], run[run.len() - 1] + 1);
            let rows = self.rows.read(first..end, size)?;
            if count == 0 {
                all = rows;
            } else {
                all.indices.to_mut().extend_from_slice(&rows.indices);
                all.hashes.to_mut().extend_from_slice(&rows.hashes);
                all.delta_differences.to_mut().extend_from_slice(&rows.delta_differences);
                all.solderings.to_mut().extend_from_slice(&rows.solderings);
            }
            run.iter_mut().for_each(|place| *place = count + (*place - first));
            count += end - first;
        }
        Ok(AtHand { rows: all, size, places })
    }

    /// Returns for each label whether a strict majority of its bucket accepts it (EvKAs of the paper). A
    /// label is on the head of its bucket. All authenticators are asked, even if the first ones already
    /// decide.
    ///
    /// # Errors
    /// [`Error::Resource`] if a file cannot be read.
    pub fn accept(&self, labels: &[(usize, Label)]) -> Result<Vec<bool>, Error> {
        let authenticators = self.at_hand(labels.iter().map(|&(bucket, _)| bucket))?;
        let query = |query: usize| {
            let (k, i) = (query / self.size, query % self.size);
            (authenticators.hashes(k, i), authenticators.index(k, i), authenticators.carry(k, i, labels[k].1))
        };
        let votes = self.hasher.accepts(labels.len() * self.size, query);
        let majority =
            |votes: &[bool]| 2 * votes.iter().map(|&vote| usize::from(vote)).sum::<usize>() > self.size;
        Ok(votes.chunks_exact(self.size).map(majority).collect())
    }
}

/// A batch of the garbler's copies, and the authenticators of its outputs, `[slot][output wire]`.
pub(super) struct GarblerComponent {
    pub batch: GarblerBatch,
    pub authenticators: GarblerAuthenticators,
}

/// A batch of the evaluator's copies, and the authenticators of its outputs, `[slot][output wire]`.
pub(super) struct EvaluatorComponent {
    pub batch: EvaluatorBatch,
    pub authenticators: EvaluatorAuthenticators,
    /// From the outputs of each copy to the heads of their authenticators, `[copy][output wire]`.
    pub output_solderings: SpilledVec<Soldering>,
}

impl Items for GarblerAuthenticators {
    fn origins(&self) -> Vec<Origin> {
        vec![self.origin]
    }

    fn len(&self) -> usize {
        self.at.items.len()
    }

    fn slice(&self, buckets: Range<usize>) -> Self {
        let (all, at) = (self.len(), self.at.slice(buckets.clone()));
        let (wires, offsets) =
            (self.wires.of_items(all, buckets.clone()), self.offsets.of_items(all, buckets));
        GarblerAuthenticators { origin: self.origin, at, made: self.made, wires, offsets }
    }

    fn gathered(self) -> Result<Self, Error> {
        Ok(GarblerAuthenticators { wires: self.wires.gathered()?, offsets: self.offsets.gathered()?, ..self })
    }
}

impl Items for EvaluatorAuthenticators {
    fn origins(&self) -> Vec<Origin> {
        vec![self.origin]
    }

    fn len(&self) -> usize {
        self.rows.indices.len() / self.size
    }

    fn slice(&self, buckets: Range<usize>) -> Self {
        let of = |each: usize| buckets.start * each..buckets.end * each;
        let of_input = |each: usize| if self.head_delta_differences.is_empty() { 0..0 } else { of(each) };
        EvaluatorAuthenticators {
            origin: self.origin,
            size: self.size,
            hasher: self.hasher.clone(),
            wires: self.wires.of_items(self.len(), buckets.clone()),
            offsets: self.offsets.of_items(self.len(), buckets.clone()),
            head_delta_differences: self.head_delta_differences[of_input(1)].to_vec(),
            rows: AuthenticatorRows {
                indices: self.rows.indices.slice(of(self.size)),
                hashes: self.rows.hashes.slice(of(self.size)),
                delta_differences: self.rows.delta_differences.slice(of_input(self.size)),
                solderings: self.rows.solderings.slice(of(self.size - 1)),
            },
        }
    }

    fn gathered(self) -> Result<Self, Error> {
        Ok(EvaluatorAuthenticators { wires: self.wires.gathered(), offsets: self.offsets.gathered(), ..self })
    }
}

impl Items for GarblerComponent {
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

    fn gathered(self) -> Result<Self, Error> {
        let GarblerComponent { batch, authenticators } = self;
        let batch =
            GarblerBatch { inputs: batch.inputs.gathered()?, offsets: batch.offsets.gathered()?, ..batch };
        Ok(GarblerComponent { batch, authenticators: authenticators.gathered()? })
    }
}

impl Items for EvaluatorComponent {
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
            output_solderings: self
                .output_solderings
                .slice(slots.start * batch.size * outputs..slots.end * batch.size * outputs),
        }
    }

    fn gathered(self) -> Result<Self, Error> {
        let EvaluatorComponent { batch, authenticators, output_solderings } = self;
        let batch =
            EvaluatorBatch { inputs: batch.inputs.gathered(), offsets: batch.offsets.gathered(), ..batch };
        Ok(EvaluatorComponent { batch, authenticators: authenticators.gathered()?, output_solderings })
    }
}

impl ComponentItems for GarblerComponent {
    fn digest(&self) -> &ComponentDigest {
        &self.batch.component
    }

    fn outputs(&self) -> usize {
        self.batch.shape.outputs
    }
}

impl ComponentItems for EvaluatorComponent {
    fn digest(&self) -> &ComponentDigest {
        &self.batch.component
    }

    fn outputs(&self) -> usize {
        self.batch.shape.outputs
    }
}

#[cfg(test)]
pub(super) mod tests {
    use brickwork_testing::Replayable as _;
    use std::sync::Arc;

    use super::*;
    use crate::challenge::pair;
    use brickwork_base::label::Delta;
    use brickwork_base::random::Rng;
    use brickwork_primitives::authenticator::AuthenticatorKind;
    use brickwork_primitives::cut_and_choose::{self, Bucketing};
    use brickwork_primitives::solder::GarblerWire;
    use brickwork_primitives::spill::Spill;

    /// Returns buckets of authenticators in the evaluator's form after the proofs, and the wires of the
    /// heads. A bad authenticator has a wrong index, so it accepts no label and does not authenticate itself.
    pub fn authenticators(
        kind: AuthenticatorKind,
        (buckets, size): (usize, usize),
        delta_ka: Delta,
        spill: &Spill,
        rng: &mut Rng,
        bad: impl Fn(usize, usize) -> bool,
    ) -> (EvaluatorAuthenticators, Vec<GarblerWire>) {
        let (count, plain, hasher) =
            (buckets * size, kind == AuthenticatorKind::Plain, Hasher::new(&[7; 32], kind).after(1000));
        let index = |k: usize| (count - 1 - k) as u64;
        let deltas: Vec<Delta> = (0..count).map(|_| if plain { delta_ka } else { rng.delta() }).collect();
        let false_labels = match kind {
            AuthenticatorKind::Plain => (0..count).map(|_| rng.label()).collect(),
            AuthenticatorKind::Input => hasher.false_labels(count, |k| (index(k), deltas[k])),
        };
        let wires: Vec<GarblerWire> = false_labels
            .into_iter()
            .zip(&deltas)
            .map(|(label, &delta)| GarblerWire::from_false_label(label, delta))
            .collect();
        let hashes = hasher.authenticators(count, |k| (index(k), wires[k].base(), wires[k].delta));
        let delta_differences: Vec<Label> =
            if plain { Vec::new() } else { deltas.iter().map(|delta| delta.label() ^ delta_ka).collect() };
        let solderings = (0..buckets * (size - 1))
            .map(|k| pair(size, k))
            .map(|(head, other)| Soldering::new(wires[head].value, wires[other]));
        let elsewhere = |k: usize| if bad(k / size, k % size) { count } else { 0 };
        let bucketing = Bucketing { slots: buckets as u32, bucket: size as u32, opened: 0 };
        let authenticators = EvaluatorAuthenticators {
            origin: Origin::new(1, cut_and_choose::BatchKind::InputAuthenticator, bucketing),
            size,
            hasher,
            wires: Shares::default(),
            offsets: Shares::default(),
            head_delta_differences: delta_differences.iter().copied().step_by(size).collect(),
            rows: AuthenticatorRows {
                indices: spill
                    .put((0..count).map(|k| index(k) as u32 + elsewhere(k) as u32).collect())
                    .unwrap(),
                hashes: spill.put(hashes).unwrap(),
                delta_differences: spill.put(delta_differences).unwrap(),
                solderings: spill.put(solderings.collect()).unwrap(),
            },
        };
        (authenticators, wires.into_iter().step_by(size).collect())
    }

    /// The rows that were read are those of the requested buckets, in any order, and even if a bucket is
    /// requested several times.
    #[test]
    fn what_is_at_hand_is_what_was_asked_for() {
        let mut rng = Rng::replayable("test gadgets");
        for spill in [Spill::memory(), Spill::file(&Arc::default()).unwrap()] {
            for (kind, size) in
                [(AuthenticatorKind::Plain, 3), (AuthenticatorKind::Input, 3), (AuthenticatorKind::Input, 1)]
            {
                let (authenticators, _) =
                    authenticators(kind, (9, size), rng.delta(), &spill, &mut rng, |_, _| false);
                let all = authenticators.rows.read(0..9, size).unwrap();
                for asked in
                    [&[][..], &[4], &[5, 6, 7], &[2, 2, 3, 3, 4], &[6, 0, 3, 4, 1, 1, 8], &[3, 2, 1, 7, 5]]
                {
                    let here = authenticators.at_hand(asked.iter().copied()).unwrap();
                    for (k, i) in (0..asked.len()).flat_map(|k| (0..size).map(move |i| (k, i))) {
                        let (place, pair) = (asked[k] * size + i, asked[k] * (size - 1) + i);
                        assert_eq!(here.index(k, i), u64::from(all.indices[place]), "{asked:?}");
                        assert!(here.hashes(k, i) == all.hashes[place], "{asked:?}");
                        assert!(
                            here.delta_difference(k, i)
                                == all.delta_differences.get(place).copied().unwrap_or_default(),
                            "{asked:?}"
                        );
                        assert!(
                            here.soldering(k, i) == (i > 0).then(|| all.solderings[pair - 1]),
                            "{asked:?}"
                        );
                    }
                }
            }
        }
    }

    /// EvKAs: a label is accepted if more than half of its bucket accepts it, whichever authenticators these
    /// are. A value that is no label is refused. Buckets of even size, which no cut has, show that half is
    /// not enough.
    #[test]
    fn row_08_only_a_strict_majority_accepts() {
        let mut rng = Rng::replayable("test gadgets");
        for (kind, size, last) in
            [AuthenticatorKind::Plain, AuthenticatorKind::Input].into_iter().flat_map(|kind| {
                [1, 3, 4, 5].into_iter().flat_map(move |size| [false, true].map(|last| (kind, size, last)))
            })
        {
            // Each bucket has one more bad authenticator than the previous bucket.
            let bad = |bucket, i| if last { bucket + i >= size } else { i < bucket };
            let (authenticators, heads) =
                authenticators(kind, (size + 1, size), rng.delta(), &Spill::memory(), &mut rng, bad);
            let labels: Vec<(usize, Label)> =
                (0..=size).flat_map(|bucket| [0, 1].map(|bit| (bucket, heads[bucket].of_bit(bit)))).collect();
            let expected: Vec<bool> = labels.iter().map(|(bucket, _)| 2 * (size - bucket) > size).collect();
            assert_eq!(authenticators.accept(&labels).unwrap(), expected, "buckets of {size}");
            let rubbish: Vec<(usize, Label)> =
                labels.iter().map(|&(bucket, label)| (bucket, label ^ Label::from_bits(1 << 77))).collect();
            assert_eq!(authenticators.accept(&rubbish).unwrap(), vec![false; labels.len()]);
        }
    }
}
