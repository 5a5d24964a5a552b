//! What is claimed about batches after their challenges: of opened items every wire, of the chosen ones how
//! they are joined.
//!
//! A batch has many commitments, and nearly all of them are in one claim of their own: an opened wire is what
//! it was opened to, a chosen one differs by a soldering from that of the head of its bucket. So the claims
//! follow the commitments in the order in which they were made, and only the heads, with which several claims
//! are about, are kept as columns and weighted. The values of claims about authenticators come in the order
//! of buckets, in which they lie.

use std::ops::Range;

use super::challenge::{Challenge, Fate, Fates, pair};
use super::preprocess::Shape;
use brickwork_base::bits::Bits;
use brickwork_base::label::Label;
use brickwork_primitives::commit::{ClaimGroup, Claims, Each, Shares, Weights};
use brickwork_primitives::scratch::Spool;
use brickwork_primitives::solder::{Soldering, Solderings};

/// The claims about a component's copies. All commitments to them, as they were made.
pub(super) struct Copies {
    pub shape: Shape,
    pub fates: Fates,
    pub inputs: Shares,
    pub offsets: Shares,
    pub outputs: Shares,
}

/// What the opened items of a batch should be committed to.
pub(super) struct Opened {
    pub offsets: Vec<Label>,
    /// `[copy][wire]`.
    pub inputs: Spool<Label>,
    pub outputs: Spool<Label>,
}

/// What else was told of a batch. Labels are what the evaluator knows: the values of the claims.
#[derive(Clone, Copy)]
pub(super) struct CopiesTold<'a> {
    pub opened: Option<&'a Opened>,
    pub links: Option<&'a [Label]>,
    /// From the heads' inputs to those of the others in their buckets.
    pub solderings: Solderings<'a>,
    /// From the copies' outputs to the heads of their authenticators.
    pub outputs: Solderings<'a>,
    /// Which copy each chosen one is.
    pub chosen: &'a [u32],
    /// The commitments to the heads' inputs.
    pub head_inputs: &'a Shares,
}

/// The value of a claim, where values are known.
fn value(labels: Option<&[Label]>, k: usize) -> Label {
    labels.map_or(Label::ZERO, |labels| labels[k])
}

/// The values of some claims about an opened item, where they are known.
fn copy(labels: Option<&Spool<Label>>, places: Range<usize>, values: &mut [Label]) {
    if let Some(labels) = labels {
        values.copy_from_slice(&labels.read_or_note(places));
    }
}

/// The places of some wires of an item.
fn of_item(item: usize, each: usize, wires: &Range<usize>) -> Range<usize> {
    item * each + wires.start..item * each + wires.end
}

/// Each item, with the numbers of the first of its wires and the sums that belong to them: the sums of a run
/// of wires, of which every item has so many.
fn each_item(
    mut sums: &mut [u128],
    mut first: usize,
    wires: usize,
    mut each: impl FnMut(usize, usize, &mut [u128]),
) {
    while !sums.is_empty() {
        let (item, wire) = (first / wires, first % wires);
        let (here, behind) = sums.split_at_mut((wires - wire).min(sums.len()));
        first += here.len();
        each(item, wire, here);
        sums = behind;
    }
}

fn add(sums: &mut [u128], weights: impl Iterator<Item = u128>) {
    sums.iter_mut().zip(weights).for_each(|(sum, weight)| *sum ^= weight);
}

impl Copies {
    /// States the claims. Returns those about outputs: each copy's is soldered to the head of its
    /// authenticators.
    pub fn claim<'a>(&'a self, ka: &'a Shares, told: CopiesTold<'a>, claims: &mut Claims<'a>) -> ClaimGroup {
        let Shape { batch, inputs, outputs, .. } = self.shape;
        assert_eq!(told.solderings.len(), self.shape.bucket_solderings(), "solderings in buckets");
        assert_eq!(told.outputs.len(), batch.chosen() * outputs, "solderings of outputs");
        let fates = &self.fates;
        let items = batch.items();
        let opened = told.opened;

        let links = move |copy, _, values: &mut [Label]| {
            values[0] = match fates.place(copy) {
                Ok(k) => value(opened.map(|opened| &opened.offsets[..]), k),
                Err(k) => value(told.links, k),
            };
        };
        let linked = move |copy, _| u8::from(!matches!(fates.of(copy), Fate::Opened(_)));
        claims.each(Each::new(items, 1).are(links).with(&self.offsets, |_, _| 1).with_one(ka, linked));

        let soldered = move |item, wires, values: &mut [Label]| match fates.of(item) {
            Fate::Opened(k) => copy(opened.map(|opened| &opened.inputs), of_item(k, inputs, &wires), values),
            Fate::Head(_) => {}
            Fate::Other(pair) => told.solderings.openings(of_item(pair, inputs, &wires), values),
        };
        let not_a_head = move |copy, _| u8::from(!matches!(fates.of(copy), Fate::Head(_)));
        let solderings = claims.each(Each::new(items, inputs).are(soldered).with(&self.inputs, not_a_head));
        claims.weighted(told.head_inputs, move |weights, first, sums| {
            each_item(sums, first, inputs, |bucket, wire, sums| {
                let others = &told.chosen[bucket * batch.size + 1..(bucket + 1) * batch.size];
                others
                    .iter()
                    .for_each(|&copy| add(sums, weights.from(solderings, copy as usize * inputs + wire)));
            });
        });
        // The solderings of a copy that flip.
        claims.weighted(&self.offsets, move |weights, first, sums| {
            for (sum, copy) in sums.iter_mut().zip(first..) {
                let Fate::Other(pair) = fates.of(copy) else { continue };
                let flips = (pair * inputs..(pair + 1) * inputs)
                    .map(|k| u128::from(told.solderings.flip(k)).wrapping_neg());
                *sum ^= flips
                    .zip(weights.from(solderings, copy * inputs))
                    .fold(0, |sum, (flip, weight)| sum ^ flip & weight);
            }
        });

        let joint = move |item, wires, values: &mut [Label]| match fates.place(item) {
            Ok(k) => copy(opened.map(|opened| &opened.outputs), of_item(k, outputs, &wires), values),
            Err(k) => told.outputs.openings(of_item(k, outputs, &wires), values),
        };
        let flipped =
            move |copy, wire| fates.place(copy).map_or_else(|k| told.outputs.flip(k * outputs + wire), |_| 0);
        claims.each(Each::new(items, outputs).are(joint).with(&self.outputs, |_, _| 1).with_one(ka, flipped))
    }
}

/// The claims about authenticators of one kind. All commitments to them, as they were made.
pub(super) struct Gadgets {
    /// B: gadgets in a bucket.
    pub size: usize,
    /// Ranges of buckets, all of them: each for something else.
    pub uses: Vec<Range<usize>>,
    /// Of each gadget whether it was opened, whether it is the head of a bucket, and whether its offset is
    /// part of the claim about its wire: of an opened plain one by the challenge, of one in a bucket by its
    /// soldering.
    opened: Bits,
    heads: Bits,
    flips: Bits,
    wires: Shares,
    /// Of input gadgets; none for plain ones, whose offset is Δ_ka.
    offsets: Shares,
}

/// The openings of the checked gadgets of one kind.
pub(super) struct OpenedGadgets {
    /// Which gadget each one is.
    pub gadgets: Spool<u32>,
    /// Of plain ones the half of the challenged colour; of the others the whole wire, which the evaluator can
    /// compute.
    pub wires: Spool<Label>,
    /// None for plain ones.
    pub offsets: Spool<Label>,
}

impl OpenedGadgets {
    /// Some of the gadgets, with what one of these lists says of them.
    fn with<T>(
        &self,
        list: &Spool<Label>,
        places: Range<usize>,
        tell: impl FnOnce(&mut dyn Iterator<Item = (u32, Label)>) -> T,
    ) -> T {
        let (gadgets, values) = (self.gadgets.read_or_note(places.clone()), list.read_or_note(places));
        tell(&mut gadgets.iter().copied().zip(values.iter().copied()))
    }
}

/// What was told of the gadgets of one use.
#[derive(Clone, Copy)]
pub(super) struct UseTold<'a> {
    /// Of the chosen gadgets, at the evaluator; of plain gadgets there are none.
    pub links: Option<&'a Spool<Label>>,
    /// From the head of each bucket to its other gadgets, at the evaluator.
    pub solderings: Option<&'a Spool<Soldering>>,
    /// Which gadget each chosen one is, from this place on.
    pub chosen: &'a Spool<u32>,
    pub first: usize,
    /// The commitments to the heads' wires.
    pub heads: &'a Shares,
    /// Of a batch's authenticators: what is joined to them.
    pub outputs: Option<OutputsOf<'a>>,
}

impl UseTold<'_> {
    /// The gadgets in some of the buckets, where there are so many in each.
    fn gadgets(&self, buckets: Range<usize>, size: usize) -> std::borrow::Cow<'_, [u32]> {
        self.chosen.read_or_note(self.first + buckets.start * size..self.first + buckets.end * size)
    }
}

/// The outputs of a batch's copies.
#[derive(Clone, Copy)]
pub(super) struct OutputsOf<'a> {
    pub shape: Shape,
    /// Which copy each chosen one is.
    pub chosen: &'a [u32],
    /// The claims that they are joined.
    pub claims: ClaimGroup,
}

impl OutputsOf<'_> {
    /// The weights of the claims about the outputs that are joined to the authenticators of a bucket.
    fn weight(&self, bucket: usize, weights: &Weights) -> u128 {
        let Shape { batch, outputs, .. } = self.shape;
        let (slot, wire) = (bucket / outputs, bucket % outputs);
        let copies = &self.chosen[slot * batch.size..(slot + 1) * batch.size];
        copies.iter().fold(0, |sum, &copy| sum ^ weights.of(self.claims, copy as usize * outputs + wire))
    }
}

/// Values of claims, each with the gadget that its claim is about.
fn tell<'a>(
    weights: &Weights,
    group: ClaimGroup,
    of: impl Iterator<Item = (u32, Label)>,
    into: impl Iterator<Item = (&'a mut Label, &'a mut u128)>,
) {
    for ((gadget, value), (told, weight)) in of.zip(into) {
        (*told, *weight) = (value, weights.of(group, gadget as usize));
    }
}

impl Gadgets {
    /// The gadgets after their challenge. `colours` are asked of the opened ones, 0 for input gadgets;
    /// `flips` are of the solderings in buckets.
    pub fn new(
        size: usize,
        uses: Vec<Range<usize>>,
        challenge: &Challenge,
        colours: &[u8],
        flips: &Bits,
        wires: Shares,
        offsets: Shares,
    ) -> Self {
        let all = || Bits::zeros(wires.len());
        let (mut opened, mut heads, mut flipped) = (all(), all(), all());
        for (&gadget, &colour) in challenge.opened.iter().zip(colours) {
            opened.add(gadget as usize, 1);
            flipped.add(gadget as usize, colour);
        }
        challenge.chosen.iter().step_by(size.max(1)).for_each(|&head| heads.add(head as usize, 1));
        (0..flips.len()).for_each(|k| flipped.add(challenge.chosen[pair(size, k).1] as usize, flips.get(k)));
        Gadgets { size, uses, opened, heads, flips: flipped, wires, offsets }
    }

    fn plain(&self) -> bool {
        self.offsets.is_empty()
    }

    /// States the claims; `told` is about each use.
    pub fn claim<'a>(
        &'a self,
        ka: &'a Shares,
        opened: Option<&'a OpenedGadgets>,
        told: Vec<UseTold<'a>>,
        claims: &mut Claims<'a>,
    ) {
        assert_eq!(told.len(), self.uses.len(), "claims about every use");
        let (size, plain, items) = (self.size, self.plain(), self.wires.len());

        let not_a_head = |gadget, _| 1 - self.heads.get(gadget);
        let flipped = |gadget, _| self.flips.get(gadget);
        let each = Each::new(items, 1).with(&self.wires, not_a_head);
        let solderings =
            claims.each(if plain { each.with_one(ka, flipped) } else { each.with(&self.offsets, flipped) });
        if let Some(opened) = opened {
            claims.values(opened.gadgets.len(), move |weights, first, values, of| {
                let places = first..first + values.len();
                opened.with(&opened.wires, places, |told| {
                    tell(weights, solderings, told, values.iter_mut().zip(of))
                });
            });
        }
        for (told, buckets) in told.iter().copied().zip(&self.uses) {
            claims.weighted(told.heads, move |weights, first, sums| {
                let gadgets = told.gadgets(first..first + sums.len(), size);
                for ((sum, gadgets), bucket) in sums.iter_mut().zip(gadgets.chunks_exact(size)).zip(first..) {
                    *sum ^= gadgets[1..]
                        .iter()
                        .fold(0, |sum, &gadget| sum ^ weights.of(solderings, gadget as usize));
                    *sum ^= told.outputs.map_or(0, |outputs| outputs.weight(bucket, weights));
                }
            });
            let Some(values) = told.solderings else { continue };
            assert_eq!(values.len(), buckets.len() * size.saturating_sub(1), "solderings in buckets");
            claims.values(values.len(), move |weights, first, labels, of| {
                let pairs = first..first + labels.len();
                let buckets = pairs.start / (size - 1)..pairs.end.div_ceil(size - 1);
                let (gadgets, values) =
                    (told.gadgets(buckets.clone(), size), values.read_or_note(pairs.clone()));
                let others = pairs.map(|k| gadgets[pair(size, k).1 - buckets.start * size]);
                let soldered = others.zip(values.iter().map(|soldering| soldering.opening()));
                tell(weights, solderings, soldered, labels.iter_mut().zip(of));
            });
        }
        if plain {
            return;
        }
        let linked = |gadget, _| 1 - self.opened.get(gadget);
        let links = claims.each(Each::new(items, 1).with(&self.offsets, |_, _| 1).with_one(ka, linked));
        if let Some(opened) = opened {
            claims.values(opened.gadgets.len(), move |weights, first, values, of| {
                let places = first..first + values.len();
                opened.with(&opened.offsets, places, |told| {
                    tell(weights, links, told, values.iter_mut().zip(of))
                });
            });
        }
        for (told, buckets) in told.into_iter().zip(&self.uses) {
            let Some(values) = told.links else { continue };
            assert_eq!(values.len(), buckets.len() * size, "links of all in buckets");
            claims.values(values.len(), move |weights, first, labels, of| {
                let places = first..first + labels.len();
                let gadgets = told.chosen.read_or_note(told.first + places.start..told.first + places.end);
                let values = values.read_or_note(places);
                tell(
                    weights,
                    links,
                    gadgets.iter().copied().zip(values.iter().copied()),
                    labels.iter_mut().zip(of),
                );
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A list of places has those that were asked for, wherever it begins.
    #[test]
    fn places_are_counted_from_the_first() {
        assert_eq!(of_item(3, 5, &(2..4)), 17..19);
        let (chosen, heads) = (Spool::of((0..40).collect()), Shares::default());
        let told = UseTold {
            links: None,
            solderings: None,
            chosen: &chosen,
            first: 10,
            heads: &heads,
            outputs: None,
        };
        assert_eq!(*told.gadgets(2..5, 3), (16..25).collect::<Vec<u32>>());
    }

    /// A run of wires may begin and end inside an item.
    #[test]
    fn runs_of_wires_are_cut_where_items_begin() {
        for wires in 1..5 {
            for (first, len) in [(0, 0), (0, 1), (0, 7), (1, 1), (3, 12), (5, 8), (11, 2)] {
                let mut sums: Vec<u128> = (first..first + len).map(|k| k as u128).collect();
                let mut seen = Vec::new();
                each_item(&mut sums, first, wires, |item, wire, sums| {
                    assert!(wire + sums.len() <= wires, "more than the item's");
                    sums.iter()
                        .enumerate()
                        .for_each(|(i, &k)| assert_eq!(k, (item * wires + wire + i) as u128));
                    seen.extend_from_slice(sums);
                });
                assert_eq!(seen, sums);
            }
        }
    }
}
