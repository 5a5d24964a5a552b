//! What comes of PrepareComponents: authenticators in buckets, by which labels are accepted and inputs
//! recovered, and batches of components together with those of their outputs.

use std::borrow::Cow;
use std::ops::Range;

use super::Error;
use super::preprocess::{EvaluatorBatch, GarblerBatch, Shape};
use super::stock::{ComponentPieces, Origin, Pieces, Places};
use brickwork_base::label::Label;
use brickwork_circuit::ComponentDigest;
use brickwork_primitives::authenticator::{Authenticator, Hasher};
use brickwork_primitives::commit::Shares;
use brickwork_primitives::commit::split::Row;
use brickwork_primitives::scratch::Spool;
use brickwork_primitives::solder::Soldering;

/// What the garbler keeps of authenticators of one kind, bucket after bucket: the heads, which programs are
/// joined to.
pub(super) struct GarblerGadgets {
    pub origin: Origin,
    /// Of the heads.
    pub at: Places,
    /// Gadgets that the session had made before these, of either kind.
    pub made: u64,
    pub wires: Row,
    /// Offsets of input gadgets; empty for plain ones.
    pub offsets: Row,
}

/// What the evaluator keeps of authenticators of one kind, bucket after bucket.
pub(super) struct EvaluatorGadgets {
    pub origin: Origin,
    pub size: usize,
    pub hasher: Hasher,
    /// Of the heads.
    pub wires: Shares,
    /// Of the heads of input gadgets; empty for plain ones.
    pub offsets: Shares,
    /// The links of the heads of input gadgets; empty for plain ones.
    pub head_links: Vec<Label>,
    pub rows: GadgetRows,
}

/// Of each gadget what the evaluator checks labels by.
pub(super) struct GadgetRows {
    /// Index of each gadget in its batch, by which it hashes.
    pub indices: Spool<u32>,
    pub authenticators: Spool<Authenticator>,
    /// S_g of each input gadget; empty for plain ones.
    pub links: Spool<Label>,
    /// From the head of each bucket to its other gadgets.
    pub solderings: Spool<Soldering>,
}

/// What belongs to some gadgets.
#[derive(Default)]
struct Rows<'a> {
    indices: Cow<'a, [u32]>,
    authenticators: Cow<'a, [Authenticator]>,
    links: Cow<'a, [Label]>,
    solderings: Cow<'a, [Soldering]>,
}

impl GadgetRows {
    /// All of them, where they are in memory.
    fn in_memory(&self) -> Option<Rows<'_>> {
        Some(Rows {
            indices: self.indices.in_memory()?.into(),
            authenticators: self.authenticators.in_memory()?.into(),
            links: self.links.in_memory()?.into(),
            solderings: self.solderings.in_memory()?.into(),
        })
    }

    /// Those of some buckets.
    fn read(&self, buckets: Range<usize>, size: usize) -> Result<Rows<'_>, Error> {
        let of = |each: usize| buckets.start * each..buckets.end * each;
        let links = if self.links.is_empty() { 0..0 } else { of(size) };
        Ok(Rows {
            indices: self.indices.read(of(size))?,
            authenticators: self.authenticators.read(of(size))?,
            links: self.links.read(links)?,
            solderings: self.solderings.read(of(size - 1))?,
        })
    }
}

/// Some buckets of gadgets, wherever they lay.
pub(super) struct AtHand<'a> {
    rows: Rows<'a>,
    size: usize,
    /// Of each bucket that was asked for its number among those at hand.
    places: Vec<usize>,
}

impl AtHand<'_> {
    /// Index of gadget `i` of the bucket that was asked for as number `k`.
    pub fn index(&self, k: usize, i: usize) -> u64 {
        self.rows.indices[self.places[k] * self.size + i].into()
    }

    /// `Δ_g ⊕ Δ_ka` of a gadget.
    pub fn link(&self, k: usize, i: usize) -> Label {
        self.rows.links.get(self.places[k] * self.size + i).copied().unwrap_or_default()
    }

    /// The soldering from the head of a bucket to gadget `i`, if it is another one.
    pub fn soldering(&self, k: usize, i: usize) -> Option<Soldering> {
        (i > 0).then(|| self.rows.solderings[self.places[k] * (self.size - 1) + i - 1])
    }

    /// The label that a label on the bucket's head becomes on gadget `i`.
    pub fn carry(&self, k: usize, i: usize, label: Label) -> Label {
        self.soldering(k, i)
            .map_or(label, |soldering| soldering.carry(label, self.link(k, 0) ^ self.link(k, i)))
    }

    fn authenticator(&self, k: usize, i: usize) -> Authenticator {
        self.rows.authenticators[self.places[k] * self.size + i]
    }
}

impl EvaluatorGadgets {
    /// `Δ_g ⊕ Δ_ka` of the head of a bucket.
    pub fn head_link(&self, bucket: usize) -> Label {
        self.head_links.get(bucket).copied().unwrap_or_default()
    }

    /// The gadgets of these buckets.
    ///
    /// # Errors
    /// [`Error::Resource`] if they cannot be read.
    pub fn at_hand(&self, buckets: impl Iterator<Item = usize>) -> Result<AtHand<'_>, Error> {
        let (size, mut places) = (self.size, buckets.collect::<Vec<usize>>());
        if let Some(rows) = self.rows.in_memory() {
            return Ok(AtHand { rows, size, places });
        }
        // Neighbours are read together.
        let (mut all, mut count) = (Rows::default(), 0);
        for run in places.chunk_by_mut(|a, b| matches!(b.checked_sub(*a), Some(0 | 1))) {
            let (first, end) = (run[0], run[run.len() - 1] + 1);
            let rows = self.rows.read(first..end, size)?;
            if count == 0 {
                all = rows;
            } else {
                all.indices.to_mut().extend_from_slice(&rows.indices);
                all.authenticators.to_mut().extend_from_slice(&rows.authenticators);
                all.links.to_mut().extend_from_slice(&rows.links);
                all.solderings.to_mut().extend_from_slice(&rows.solderings);
            }
            run.iter_mut().for_each(|place| *place = count + (*place - first));
            count += end - first;
        }
        Ok(AtHand { rows: all, size, places })
    }

    /// EvKAs for labels, each on the head of a bucket: whether a strict majority of the bucket accepts it. It
    /// asks all gadgets, whatever they say.
    ///
    /// # Errors
    /// [`Error::Resource`] if they cannot be read.
    pub fn accept(&self, labels: &[(usize, Label)]) -> Result<Vec<bool>, Error> {
        let gadgets = self.at_hand(labels.iter().map(|&(bucket, _)| bucket))?;
        let query = |query: usize| {
            let (k, i) = (query / self.size, query % self.size);
            (gadgets.authenticator(k, i), gadgets.index(k, i), gadgets.carry(k, i, labels[k].1))
        };
        let votes = self.hasher.accepts(labels.len() * self.size, query);
        let majority =
            |votes: &[bool]| 2 * votes.iter().map(|&vote| usize::from(vote)).sum::<usize>() > self.size;
        Ok(votes.chunks_exact(self.size).map(majority).collect())
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
    pub output_solderings: Spool<Soldering>,
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
        let (wires, offsets) =
            (self.wires.of_items(all, buckets.clone()), self.offsets.of_items(all, buckets));
        GarblerGadgets { origin: self.origin, at, made: self.made, wires, offsets }
    }

    fn gathered(self) -> Result<Self, Error> {
        Ok(GarblerGadgets { wires: self.wires.gathered()?, offsets: self.offsets.gathered()?, ..self })
    }
}

impl Pieces for EvaluatorGadgets {
    fn origins(&self) -> Vec<Origin> {
        vec![self.origin]
    }

    fn len(&self) -> usize {
        self.rows.indices.len() / self.size
    }

    fn slice(&self, buckets: Range<usize>) -> Self {
        let of = |each: usize| buckets.start * each..buckets.end * each;
        let of_input = |each: usize| if self.head_links.is_empty() { 0..0 } else { of(each) };
        EvaluatorGadgets {
            origin: self.origin,
            size: self.size,
            hasher: self.hasher.clone(),
            wires: self.wires.of_items(self.len(), buckets.clone()),
            offsets: self.offsets.of_items(self.len(), buckets.clone()),
            head_links: self.head_links[of_input(1)].to_vec(),
            rows: GadgetRows {
                indices: self.rows.indices.slice(of(self.size)),
                authenticators: self.rows.authenticators.slice(of(self.size)),
                links: self.rows.links.slice(of_input(self.size)),
                solderings: self.rows.solderings.slice(of(self.size - 1)),
            },
        }
    }

    fn gathered(self) -> Result<Self, Error> {
        Ok(EvaluatorGadgets { wires: self.wires.gathered(), offsets: self.offsets.gathered(), ..self })
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

    fn gathered(self) -> Result<Self, Error> {
        let GarblerComponent { batch, authenticators } = self;
        let batch =
            GarblerBatch { inputs: batch.inputs.gathered()?, offsets: batch.offsets.gathered()?, ..batch };
        Ok(GarblerComponent { batch, authenticators: authenticators.gathered()? })
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

#[cfg(test)]
pub(super) mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::challenge::pair;
    use brickwork_base::label::Delta;
    use brickwork_base::random::Rng;
    use brickwork_primitives::authenticator::Kind;
    use brickwork_primitives::cut_and_choose::{self, Cut};
    use brickwork_primitives::scratch::Depot;
    use brickwork_primitives::solder::CommittedWire;

    /// Gadgets in so many buckets of a size, as the evaluator has them when all is proven, and the wires of
    /// the heads. A bad one stands under another index than that of which it was made: it accepts nothing,
    /// and does not authenticate itself.
    pub fn gadgets(
        kind: Kind,
        (buckets, size): (usize, usize),
        delta_ka: Delta,
        depot: &Depot,
        rng: &mut Rng,
        bad: impl Fn(usize, usize) -> bool,
    ) -> (EvaluatorGadgets, Vec<CommittedWire>) {
        let (count, plain, hasher) =
            (buckets * size, kind == Kind::Plain, Hasher::new(&[7; 32], kind).after(1000));
        let index = |k: usize| (count - 1 - k) as u64;
        let deltas: Vec<Delta> = (0..count).map(|_| if plain { delta_ka } else { rng.delta() }).collect();
        let false_labels = match kind {
            Kind::Plain => (0..count).map(|_| rng.label()).collect(),
            Kind::Input => hasher.false_labels(count, |k| (index(k), deltas[k])),
        };
        let wires: Vec<CommittedWire> = false_labels
            .into_iter()
            .zip(&deltas)
            .map(|(label, &delta)| CommittedWire::from_false_label(label, delta))
            .collect();
        let authenticators = hasher.authenticators(count, |k| (index(k), wires[k].base(), wires[k].delta));
        let links: Vec<Label> =
            if plain { Vec::new() } else { deltas.iter().map(|delta| delta.label() ^ delta_ka).collect() };
        let solderings = (0..buckets * (size - 1))
            .map(|k| pair(size, k))
            .map(|(head, other)| Soldering::new(wires[head].value, wires[other]));
        let elsewhere = |k: usize| if bad(k / size, k % size) { count } else { 0 };
        let cut = Cut { slots: buckets as u32, bucket: size as u32, opened: 0 };
        let gadgets = EvaluatorGadgets {
            origin: Origin::new(1, cut_and_choose::Kind::InputAuthenticator, cut),
            size,
            hasher,
            wires: Shares::default(),
            offsets: Shares::default(),
            head_links: links.iter().copied().step_by(size).collect(),
            rows: GadgetRows {
                indices: depot
                    .put((0..count).map(|k| index(k) as u32 + elsewhere(k) as u32).collect())
                    .unwrap(),
                authenticators: depot.put(authenticators).unwrap(),
                links: depot.put(links).unwrap(),
                solderings: depot.put(solderings.collect()).unwrap(),
            },
        };
        (gadgets, wires.into_iter().step_by(size).collect())
    }

    /// Wherever gadgets lie, neighbours or not, in whatever order and however often they are asked for.
    #[test]
    fn what_is_at_hand_is_what_was_asked_for() {
        let mut rng = Rng::replayable("test gadgets");
        for depot in [Depot::memory(), Depot::file(&Arc::default()).unwrap()] {
            for (kind, size) in [(Kind::Plain, 3), (Kind::Input, 3), (Kind::Input, 1)] {
                let (gadgets, _) = gadgets(kind, (9, size), rng.delta(), &depot, &mut rng, |_, _| false);
                let all = gadgets.rows.read(0..9, size).unwrap();
                for asked in
                    [&[][..], &[4], &[5, 6, 7], &[2, 2, 3, 3, 4], &[6, 0, 3, 4, 1, 1, 8], &[3, 2, 1, 7, 5]]
                {
                    let here = gadgets.at_hand(asked.iter().copied()).unwrap();
                    for (k, i) in (0..asked.len()).flat_map(|k| (0..size).map(move |i| (k, i))) {
                        let (place, pair) = (asked[k] * size + i, asked[k] * (size - 1) + i);
                        assert_eq!(here.index(k, i), u64::from(all.indices[place]), "{asked:?}");
                        assert!(here.authenticator(k, i) == all.authenticators[place], "{asked:?}");
                        assert!(
                            here.link(k, i) == all.links.get(place).copied().unwrap_or_default(),
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

    /// EvKAs: a label is accepted by more than half of its bucket, whichever gadgets they are; what is none
    /// is refused. That half of them are not enough shows in buckets of even size, which no cut has.
    #[test]
    fn row_08_only_a_strict_majority_accepts() {
        let mut rng = Rng::replayable("test gadgets");
        for (kind, size, last) in [Kind::Plain, Kind::Input].into_iter().flat_map(|kind| {
            [1, 3, 4, 5].into_iter().flat_map(move |size| [false, true].map(|last| (kind, size, last)))
        }) {
            // As many are bad in a bucket as there are buckets before it.
            let bad = |bucket, i| if last { bucket + i >= size } else { i < bucket };
            let (gadgets, heads) =
                gadgets(kind, (size + 1, size), rng.delta(), &Depot::memory(), &mut rng, bad);
            let labels: Vec<(usize, Label)> =
                (0..=size).flat_map(|bucket| [0, 1].map(|bit| (bucket, heads[bucket].of_bit(bit)))).collect();
            let expected: Vec<bool> = labels.iter().map(|(bucket, _)| 2 * (size - bucket) > size).collect();
            assert_eq!(gadgets.accept(&labels).unwrap(), expected, "buckets of {size}");
            let rubbish: Vec<(usize, Label)> =
                labels.iter().map(|&(bucket, label)| (bucket, label ^ Label::from_bits(1 << 77))).collect();
            assert_eq!(gadgets.accept(&rubbish).unwrap(), vec![false; labels.len()]);
        }
    }
}
