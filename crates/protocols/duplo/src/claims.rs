//! The claims about batches after their challenges: about every wire of opened items, and about the joining
//! of the chosen ones.
//!
//! A batch has many commitments, and nearly each of them is in only one claim. An opened wire has the value
//! to which it was opened, and a chosen one differs by a soldering from that of the head of its bucket. So
//! the claims follow the commitments in the order in which they were made. Only the heads, which are in
//! several claims, are kept as columns and weighted. The values of claims about authenticators come in the
//! order of their buckets.

use std::ops::Range;

use super::batch::Shape;
use super::challenge::{Assigned, Assignment, Challenge, pair};
use brickwork_base::bits::Bits;
use brickwork_base::label::Label;
use brickwork_primitives::commit::{ClaimGroup, Claims, Each, Shares, Weights};
use brickwork_primitives::solder::Soldering;
use brickwork_primitives::spill::SpilledVec;

/// Solderings in the form that claims need: the evaluator has received their values, and from the garbler's
/// values only the flips are needed.
#[derive(Clone, Copy)]
pub(super) struct Solderings<'a> {
    /// The flip s of each.
    pub flips: &'a Bits,
    /// The received values, at the evaluator.
    pub received: Option<&'a SpilledVec<Soldering>>,
}

impl Solderings<'_> {
    /// Returns the number of solderings.
    pub fn len(&self) -> usize {
        self.flips.len()
    }

    /// Returns s of one of them.
    #[inline]
    pub fn flip(&self, k: usize) -> u8 {
        self.flips.get(k)
    }

    /// Fills in the opened values of some of them, if they are known.
    pub fn openings(&self, places: Range<usize>, openings: &mut [Label]) {
        if let Some(received) = self.received {
            openings
                .iter_mut()
                .zip(&*received.read_or_note(places))
                .for_each(|(opening, soldering)| *opening = soldering.opening());
        }
    }
}

/// The claims about a component's copies. All commitments to them, as they were made.
pub(super) struct CopyClaims {
    pub shape: Shape,
    pub assignment: Assignment,
    pub inputs: Shares,
    pub offsets: Shares,
    pub outputs: Shares,
}

/// The values of the commitments of a batch's opened items.
pub(super) struct OpenedCopies {
    pub offsets: Vec<Label>,
    /// `[copy][wire]`.
    pub inputs: SpilledVec<Label>,
    pub outputs: SpilledVec<Label>,
}

/// The other messages about a batch. The labels are known to the evaluator: they are the values of the
/// claims.
#[derive(Clone, Copy)]
pub(super) struct CopyOpenings<'a> {
    pub opened: Option<&'a OpenedCopies>,
    pub delta_differences: Option<&'a [Label]>,
    /// The solderings from the heads' inputs to those of the other copies in their buckets.
    pub solderings: Solderings<'a>,
    /// The solderings from the copies' outputs to the heads of their authenticators.
    pub outputs: Solderings<'a>,
    /// The number of each chosen copy.
    pub chosen: &'a [u32],
    /// The commitments to the heads' inputs.
    pub head_inputs: &'a Shares,
}

/// Returns the value of a claim, if values are known.
fn value(labels: Option<&[Label]>, k: usize) -> Label {
    labels.map_or(Label::ZERO, |labels| labels[k])
}

/// Copies the values of some claims about an opened item, if they are known.
fn copy(labels: Option<&SpilledVec<Label>>, places: Range<usize>, values: &mut [Label]) {
    if let Some(labels) = labels {
        values.copy_from_slice(&labels.read_or_note(places));
    }
}

/// Returns the indices of some wires of an item.
fn of_item(item: usize, each: usize, wires: &Range<usize>) -> Range<usize> {
    item * each + wires.start..item * each + wires.end
}

/// Passes on each item with the numbers of its first wires and the matching sums, for a run of wires of which
/// every item has the same number.
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

impl CopyClaims {
    /// Makes the claims. Returns the claims about outputs: the outputs of each copy are soldered to the heads
    /// of their authenticators.
    pub fn claim<'a>(
        &'a self,
        ka: &'a Shares,
        openings: CopyOpenings<'a>,
        claims: &mut Claims<'a>,
    ) -> ClaimGroup {
        let Shape { batch, inputs, outputs, .. } = self.shape;
        assert_eq!(openings.solderings.len(), self.shape.bucket_solderings(), "solderings in buckets");
        assert_eq!(openings.outputs.len(), batch.chosen() * outputs, "solderings of outputs");
        let assignment = &self.assignment;
        let items = batch.items();
        let opened = openings.opened;

        let delta_differences = move |copy, _, values: &mut [Label]| {
            values[0] = match assignment.place(copy) {
                Ok(k) => value(opened.map(|opened| &opened.offsets[..]), k),
                Err(k) => value(openings.delta_differences, k),
            };
        };
        let unopened = move |copy, _| u8::from(!matches!(assignment.of(copy), Assigned::Opened(_)));
        claims.each(
            Each::new(items, 1).are(delta_differences).with(&self.offsets, |_, _| 1).with_one(ka, unopened),
        );

        let soldered = move |item, wires, values: &mut [Label]| match assignment.of(item) {
            Assigned::Opened(k) => {
                copy(opened.map(|opened| &opened.inputs), of_item(k, inputs, &wires), values)
            }
            Assigned::Head(_) => {}
            Assigned::Other(pair) => openings.solderings.openings(of_item(pair, inputs, &wires), values),
        };
        let not_a_head = move |copy, _| u8::from(!matches!(assignment.of(copy), Assigned::Head(_)));
        let solderings = claims.each(Each::new(items, inputs).are(soldered).with(&self.inputs, not_a_head));
        claims.weighted(openings.head_inputs, move |weights, first, sums| {
            each_item(sums, first, inputs, |bucket, wire, sums| {
                let others = &openings.chosen[bucket * batch.size + 1..(bucket + 1) * batch.size];
                others
                    .iter()
                    .for_each(|&copy| add(sums, weights.from(solderings, copy as usize * inputs + wire)));
            });
        });
        // The solderings of a copy that flip.
        claims.weighted(&self.offsets, move |weights, first, sums| {
            for (sum, copy) in sums.iter_mut().zip(first..) {
                let Assigned::Other(pair) = assignment.of(copy) else { continue };
                let flips = (pair * inputs..(pair + 1) * inputs)
                    .map(|k| u128::from(openings.solderings.flip(k)).wrapping_neg());
                *sum ^= flips
                    .zip(weights.from(solderings, copy * inputs))
                    .fold(0, |sum, (flip, weight)| sum ^ flip & weight);
            }
        });

        let output = move |item, wires, values: &mut [Label]| match assignment.place(item) {
            Ok(k) => copy(opened.map(|opened| &opened.outputs), of_item(k, outputs, &wires), values),
            Err(k) => openings.outputs.openings(of_item(k, outputs, &wires), values),
        };
        let flipped = move |copy, wire| {
            assignment.place(copy).map_or_else(|k| openings.outputs.flip(k * outputs + wire), |_| 0)
        };
        claims.each(Each::new(items, outputs).are(output).with(&self.outputs, |_, _| 1).with_one(ka, flipped))
    }
}

/// The claims about authenticators of one kind. All commitments to them, as they were made.
pub(super) struct AuthenticatorClaims {
    /// B: authenticators in a bucket.
    pub size: usize,
    /// Ranges of buckets that cover all of them, each with a different use.
    pub uses: Vec<Range<usize>>,
    /// Three bits of each authenticator: whether it was opened, whether it is the head of a bucket, and
    /// whether its offset is part of the claim about its wire. The third bit comes from the challenge for an
    /// opened plain authenticator, and from its soldering for one in a bucket.
    opened: Bits,
    heads: Bits,
    flips: Bits,
    wires: Shares,
    /// The offsets of input authenticators; none for plain ones, whose offset is Δ_ka.
    offsets: Shares,
}

/// The openings of the checked authenticators of one kind.
pub(super) struct OpenedAuthenticators {
    /// The number of each authenticator.
    pub authenticators: SpilledVec<u32>,
    /// For plain ones, the half with the challenged colour; for the others the whole wire, which the
    /// evaluator can compute.
    pub wires: SpilledVec<Label>,
    /// The offsets; none for plain authenticators.
    pub offsets: SpilledVec<Label>,
}

impl OpenedAuthenticators {
    /// Returns some of the authenticators, with their entries in one of these lists.
    fn with<T>(
        &self,
        list: &SpilledVec<Label>,
        places: Range<usize>,
        tell: impl FnOnce(&mut dyn Iterator<Item = (u32, Label)>) -> T,
    ) -> T {
        let (authenticators, values) =
            (self.authenticators.read_or_note(places.clone()), list.read_or_note(places));
        tell(&mut authenticators.iter().copied().zip(values.iter().copied()))
    }
}

/// The messages about the authenticators of one use.
#[derive(Clone, Copy)]
pub(super) struct UseOpenings<'a> {
    /// The delta differences of the chosen authenticators, at the evaluator; none for plain ones.
    pub delta_differences: Option<&'a SpilledVec<Label>>,
    /// The solderings from the head of each bucket to its other authenticators, at the evaluator.
    pub solderings: Option<&'a SpilledVec<Soldering>>,
    /// The number of each chosen authenticator, from this index on.
    pub chosen: &'a SpilledVec<u32>,
    pub first: usize,
    /// The commitments to the heads' wires.
    pub heads: &'a Shares,
    /// For a batch's authenticators, the outputs that are joined to them.
    pub outputs: Option<OutputsOf<'a>>,
}

impl UseOpenings<'_> {
    /// Returns the range of authenticators of some buckets.
    fn authenticators(&self, buckets: Range<usize>, size: usize) -> std::borrow::Cow<'_, [u32]> {
        self.chosen.read_or_note(self.first + buckets.start * size..self.first + buckets.end * size)
    }
}

/// The outputs of a batch's copies.
#[derive(Clone, Copy)]
pub(super) struct OutputsOf<'a> {
    pub shape: Shape,
    /// The number of each chosen copy.
    pub chosen: &'a [u32],
    /// The claims about joining them.
    pub claims: ClaimGroup,
}

impl OutputsOf<'_> {
    /// Returns the weights of the claims about the outputs that are joined to the authenticators of a bucket.
    fn weight(&self, bucket: usize, weights: &Weights) -> u128 {
        let Shape { batch, outputs, .. } = self.shape;
        let (slot, wire) = (bucket / outputs, bucket % outputs);
        let copies = &self.chosen[slot * batch.size..(slot + 1) * batch.size];
        copies.iter().fold(0, |sum, &copy| sum ^ weights.of(self.claims, copy as usize * outputs + wire))
    }
}

/// Passes on the values of claims, each with the authenticator of its claim.
fn tell<'a>(
    weights: &Weights,
    group: ClaimGroup,
    of: impl Iterator<Item = (u32, Label)>,
    into: impl Iterator<Item = (&'a mut Label, &'a mut u128)>,
) {
    for ((authenticator, value), (openings, weight)) in of.zip(into) {
        (*openings, *weight) = (value, weights.of(group, authenticator as usize));
    }
}

impl AuthenticatorClaims {
    /// Makes the authenticators after their challenge. `colours` are those of the opened ones, 0 for input
    /// authenticators; `flips` are those of the solderings in buckets.
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
        for (&authenticator, &colour) in challenge.opened.iter().zip(colours) {
            opened.add(authenticator as usize, 1);
            flipped.add(authenticator as usize, colour);
        }
        challenge.chosen.iter().step_by(size.max(1)).for_each(|&head| heads.add(head as usize, 1));
        (0..flips.len()).for_each(|k| flipped.add(challenge.chosen[pair(size, k).1] as usize, flips.get(k)));
        AuthenticatorClaims { size, uses, opened, heads, flips: flipped, wires, offsets }
    }

    fn plain(&self) -> bool {
        self.offsets.is_empty()
    }

    /// Makes the claims; `openings` has the messages of each use.
    pub fn claim<'a>(
        &'a self,
        ka: &'a Shares,
        opened: Option<&'a OpenedAuthenticators>,
        openings: Vec<UseOpenings<'a>>,
        claims: &mut Claims<'a>,
    ) {
        assert_eq!(openings.len(), self.uses.len(), "claims about every use");
        let (size, plain, items) = (self.size, self.plain(), self.wires.len());

        let not_a_head = |authenticator, _| 1 - self.heads.get(authenticator);
        let flipped = |authenticator, _| self.flips.get(authenticator);
        let each = Each::new(items, 1).with(&self.wires, not_a_head);
        let solderings =
            claims.each(if plain { each.with_one(ka, flipped) } else { each.with(&self.offsets, flipped) });
        if let Some(opened) = opened {
            claims.values(opened.authenticators.len(), move |weights, first, values, of| {
                let places = first..first + values.len();
                opened.with(&opened.wires, places, |openings| {
                    tell(weights, solderings, openings, values.iter_mut().zip(of))
                });
            });
        }
        for (openings, buckets) in openings.iter().copied().zip(&self.uses) {
            claims.weighted(openings.heads, move |weights, first, sums| {
                let authenticators = openings.authenticators(first..first + sums.len(), size);
                for ((sum, authenticators), bucket) in
                    sums.iter_mut().zip(authenticators.chunks_exact(size)).zip(first..)
                {
                    *sum ^= authenticators[1..]
                        .iter()
                        .fold(0, |sum, &authenticator| sum ^ weights.of(solderings, authenticator as usize));
                    *sum ^= openings.outputs.map_or(0, |outputs| outputs.weight(bucket, weights));
                }
            });
            let Some(values) = openings.solderings else { continue };
            assert_eq!(values.len(), buckets.len() * size.saturating_sub(1), "solderings in buckets");
            claims.values(values.len(), move |weights, first, labels, of| {
                let pairs = first..first + labels.len();
                let buckets = pairs.start / (size - 1)..pairs.end.div_ceil(size - 1);
                let (authenticators, values) =
                    (openings.authenticators(buckets.clone(), size), values.read_or_note(pairs.clone()));
                let others = pairs.map(|k| authenticators[pair(size, k).1 - buckets.start * size]);
                let soldered = others.zip(values.iter().map(|soldering| soldering.opening()));
                tell(weights, solderings, soldered, labels.iter_mut().zip(of));
            });
        }
        if plain {
            return;
        }
        let unopened = |authenticator, _| 1 - self.opened.get(authenticator);
        let delta_differences =
            claims.each(Each::new(items, 1).with(&self.offsets, |_, _| 1).with_one(ka, unopened));
        if let Some(opened) = opened {
            claims.values(opened.authenticators.len(), move |weights, first, values, of| {
                let places = first..first + values.len();
                opened.with(&opened.offsets, places, |openings| {
                    tell(weights, delta_differences, openings, values.iter_mut().zip(of))
                });
            });
        }
        for (openings, buckets) in openings.into_iter().zip(&self.uses) {
            let Some(values) = openings.delta_differences else { continue };
            assert_eq!(values.len(), buckets.len() * size, "links of all in buckets");
            claims.values(values.len(), move |weights, first, labels, of| {
                let places = first..first + labels.len();
                let authenticators =
                    openings.chosen.read_or_note(openings.first + places.start..openings.first + places.end);
                let values = values.read_or_note(places);
                tell(
                    weights,
                    delta_differences,
                    authenticators.iter().copied().zip(values.iter().copied()),
                    labels.iter_mut().zip(of),
                );
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A list of indices contains the requested ones, wherever it begins.
    #[test]
    fn places_are_counted_from_the_first() {
        assert_eq!(of_item(3, 5, &(2..4)), 17..19);
        let (chosen, heads) = (SpilledVec::of((0..40).collect()), Shares::default());
        let openings = UseOpenings {
            delta_differences: None,
            solderings: None,
            chosen: &chosen,
            first: 10,
            heads: &heads,
            outputs: None,
        };
        assert_eq!(*openings.authenticators(2..5, 3), (16..25).collect::<Vec<u32>>());
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
