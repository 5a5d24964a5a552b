//! What is claimed about batches after their challenges: of opened items every wire, of the chosen ones how they are joined.
//!
//! A batch has many commitments, and nearly all of them are in one claim of their own: an opened wire is what it was opened to,
//! a chosen one differs by a soldering from that of the head of its bucket. So the claims follow the commitments in the order in
//! which they were made, and only the heads, with which several claims are about, are kept as columns and weighted.

use std::ops::Range;
use std::sync::Arc;

use super::challenge::{Fate, Fates};
use super::preprocess::Shape;
use crate::commit::{ClaimGroup, Claims, Each, Shares, Weights};
use crate::label::Label;
use crate::solder::Solderings;

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
    pub inputs: Vec<Label>,
    pub outputs: Vec<Label>,
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

/// Each item, with the numbers of the first of its wires and the sums that belong to them: the sums of a run of wires, of
/// which every item has so many.
fn each_item(mut sums: &mut [u128], mut first: usize, wires: usize, mut each: impl FnMut(usize, usize, &mut [u128])) {
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
    /// States the claims. Returns those about outputs: each copy's is soldered to the head of its authenticators.
    pub fn claim<'a>(&'a self, ka: &'a Shares, told: CopiesTold<'a>, claims: &mut Claims<'a>) -> ClaimGroup {
        let Shape { batch, inputs, outputs, .. } = self.shape;
        assert_eq!(told.solderings.len(), self.shape.bucket_solderings(), "solderings in buckets");
        assert_eq!(told.outputs.len(), batch.chosen() * outputs, "solderings of outputs");
        let fates = &self.fates;
        let items = batch.items();
        let opened = told.opened;

        let links = move |copy, _| match fates.place(copy) {
            Ok(k) => value(opened.map(|opened| &opened.offsets[..]), k),
            Err(k) => value(told.links, k),
        };
        let linked = move |copy, _| u8::from(!matches!(fates.of(copy), Fate::Opened(_)));
        claims.each(Each::new(items, 1, links).with(&self.offsets, |_, _| 1).with_one(ka, linked));

        let soldered = move |copy, wire| match fates.of(copy) {
            Fate::Opened(k) => value(opened.map(|opened| &opened.inputs[..]), k * inputs + wire),
            Fate::Head(_) => Label::ZERO,
            Fate::Other(pair) => told.solderings.opening(pair * inputs + wire),
        };
        let not_a_head = move |copy, _| u8::from(!matches!(fates.of(copy), Fate::Head(_)));
        let solderings = claims.each(Each::new(items, inputs, soldered).with(&self.inputs, not_a_head));
        claims.weighted(told.head_inputs, move |weights, first, sums| {
            each_item(sums, first, inputs, |bucket, wire, sums| {
                let others = &told.chosen[bucket * batch.size + 1..(bucket + 1) * batch.size];
                others.iter().for_each(|&copy| add(sums, weights.from(solderings, copy as usize * inputs + wire)));
            });
        });
        // The solderings of a copy that flip.
        claims.weighted(&self.offsets, move |weights, first, sums| {
            for (sum, copy) in sums.iter_mut().zip(first..) {
                let Fate::Other(pair) = fates.of(copy) else { continue };
                let flips = (pair * inputs..(pair + 1) * inputs).map(|k| u128::from(told.solderings.flip(k)).wrapping_neg());
                *sum ^= flips.zip(weights.from(solderings, copy * inputs)).fold(0, |sum, (flip, weight)| sum ^ flip & weight);
            }
        });

        let joint = move |copy, wire| match fates.place(copy) {
            Ok(k) => value(opened.map(|opened| &opened.outputs[..]), k * outputs + wire),
            Err(k) => told.outputs.opening(k * outputs + wire),
        };
        let flipped = move |copy, wire| fates.place(copy).map_or_else(|k| told.outputs.flip(k * outputs + wire), |_| 0);
        claims.each(Each::new(items, outputs, joint).with(&self.outputs, |_, _| 1).with_one(ka, flipped))
    }
}

/// The claims about authenticators of one kind. All commitments to them, as they were made.
pub(super) struct Gadgets {
    /// B: gadgets in a bucket.
    pub size: usize,
    /// Ranges of buckets, all of them: each for something else.
    pub uses: Vec<Range<usize>>,
    pub fates: Fates,
    /// Of each opened plain gadget whether Δ_ka is part of the opening; 0 for input gadgets.
    pub colours: Vec<u8>,
    pub wires: Shares,
    /// Of input gadgets; none for plain ones, whose offset is Δ_ka.
    pub offsets: Shares,
}

/// The openings of the checked gadgets of one kind.
pub(super) struct OpenedGadgets {
    /// Of plain ones the half of the challenged colour; of the others the whole wire, which the evaluator can compute.
    pub wires: Vec<Label>,
    /// None for plain ones.
    pub offsets: Vec<Label>,
}

/// What was told of the gadgets of one use.
#[derive(Clone, Copy)]
pub(super) struct UseTold<'a> {
    /// Where values are known; of plain gadgets there are none.
    pub links: Option<&'a [Label]>,
    /// From the head of each bucket to its other gadgets.
    pub solderings: Solderings<'a>,
    /// Which gadget each chosen one is.
    pub chosen: &'a [u32],
    /// The commitments to the heads' wires.
    pub heads: &'a Shares,
    /// Of a batch's authenticators: what is joined to them.
    pub outputs: Option<OutputsOf<'a>>,
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

impl Gadgets {
    fn plain(&self) -> bool {
        self.offsets.is_empty()
    }

    /// States the claims; `told` is about each use.
    pub fn claim<'a>(&'a self, ka: &'a Shares, opened: Option<&'a OpenedGadgets>, told: Vec<UseTold<'a>>, claims: &mut Claims<'a>) {
        assert_eq!(told.len(), self.uses.len(), "claims about every use");
        let (size, plain, fates) = (self.size, self.plain(), &self.fates);
        let items = self.wires.len();
        for (told, buckets) in told.iter().zip(&self.uses) {
            assert_eq!(told.solderings.len(), buckets.len() * size.saturating_sub(1), "solderings in buckets");
        }
        let told: Arc<[UseTold<'a>]> = told.into();
        // The use of a pair, and its number there.
        let of_pair = move |pair: usize| {
            let number = self.uses.partition_point(|buckets| buckets.end * (size - 1) <= pair);
            (number, pair - self.uses[number].start * (size - 1))
        };

        let uses = told.clone();
        let soldered = move |gadget, _| match fates.of(gadget) {
            Fate::Opened(k) => value(opened.map(|opened| &opened.wires[..]), k),
            Fate::Head(_) => Label::ZERO,
            Fate::Other(pair) => {
                let (number, pair) = of_pair(pair);
                uses[number].solderings.opening(pair)
            }
        };
        let not_a_head = move |gadget, _| u8::from(!matches!(fates.of(gadget), Fate::Head(_)));
        let uses = told.clone();
        // Whether the offset is part of the claim: that of the gadget, or Δ_ka.
        let flipped = move |gadget, _| match fates.of(gadget) {
            Fate::Opened(k) => self.colours[k],
            Fate::Head(_) => 0,
            Fate::Other(pair) => {
                let (number, pair) = of_pair(pair);
                uses[number].solderings.flip(pair)
            }
        };
        let each = Each::new(items, 1, soldered).with(&self.wires, not_a_head);
        let solderings = claims.each(if plain { each.with_one(ka, flipped) } else { each.with(&self.offsets, flipped) });
        for told in told.iter().copied() {
            claims.weighted(told.heads, move |weights, first, sums| {
                for (sum, bucket) in sums.iter_mut().zip(first..) {
                    let others = &told.chosen[bucket * size + 1..(bucket + 1) * size];
                    *sum ^= others.iter().fold(0, |sum, &gadget| sum ^ weights.of(solderings, gadget as usize));
                    *sum ^= told.outputs.map_or(0, |outputs| outputs.weight(bucket, weights));
                }
            });
        }
        if !plain {
            let links = move |gadget, _| match fates.place(gadget) {
                Ok(k) => value(opened.map(|opened| &opened.offsets[..]), k),
                Err(k) => {
                    let number = self.uses.partition_point(|buckets| buckets.end * size <= k);
                    value(told[number].links, k - self.uses[number].start * size)
                }
            };
            let linked = move |gadget, _| u8::from(!matches!(fates.of(gadget), Fate::Opened(_)));
            claims.each(Each::new(items, 1, links).with(&self.offsets, |_, _| 1).with_one(ka, linked));
        }
    }
}
