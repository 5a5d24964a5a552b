//! The claims about batches after their challenges: about every wire of opened items, and about the
//! solderings between chosen items.
//!
//! A batch has many commitments, and nearly each of them is in one claim only. An opened wire has its opened
//! value. A chosen wire differs by a soldering from the wire of its bucket's head. So claims are numbered
//! like the commitments. Only the heads, which are in several claims, are kept as columns and get weights.
//! The claims about authenticators are in the order of buckets.

use std::ops::Range;

use super::batch::Shape;
use super::challenge::{Assigned, Assignment, Challenge, pair};
use brickwork_base::bits::Bits;
use brickwork_base::label::Label;
use brickwork_primitives::commit::{ClaimGroup, Claims, EachClaim, Shares, Weights};
use brickwork_primitives::solder::Soldering;
use brickwork_primitives::spill::SpilledVec;

/// Solderings in the form that claims need. The evaluator has received their values; the garbler needs only
/// their flips.
#[derive(Clone, Copy)]
pub(super) struct Solderings<'a> {
    /// The flip bit s of each soldering.
    pub flips: &'a Bits,
    /// The received values; only at the evaluator.
    pub received: Option<&'a SpilledVec<Soldering>>,
}

impl Solderings<'_> {
    pub fn len(&self) -> usize {
        self.flips.len()
    }

    /// Returns the flip bit of a soldering.
    #[inline]
    pub fn flip(&self, k: usize) -> u8 {
        self.flips.get(k)
    }

    /// Writes the opened values of some solderings, if this party has them.
    pub fn openings(&self, places: Range<usize>, openings: &mut [Label]) {
        if let Some(received) = self.received {
            openings
                .iter_mut()
                .zip(&*received.read_or_note(places))
                .for_each(|(opening, soldering)| *opening = soldering.opening());
        }
    }
}

/// The claims about a component's copies, with the commitments to all copies in the order in which they were
/// made.
pub(super) struct CopyClaims {
    pub shape: Shape,
    pub assignment: Assignment,
    pub inputs: Shares,
    pub offsets: Shares,
    pub outputs: Shares,
}

/// The values that the commitments of a batch's opened copies must have.
pub(super) struct OpenedCopies {
    pub offsets: Vec<Label>,
    /// The labels of inputs and outputs, `[copy][wire]`.
    pub inputs: SpilledVec<Label>,
    pub outputs: SpilledVec<Label>,
}

/// The messages about a batch that contain the values of its claims. Only the evaluator has the labels, which
/// are these values.
#[derive(Clone, Copy)]
pub(super) struct CopyOpenings<'a> {
    pub opened: Option<&'a OpenedCopies>,
    pub delta_differences: Option<&'a [Label]>,
    /// The solderings in buckets, from the heads' inputs to the inputs of the other copies.
    pub solderings: Solderings<'a>,
    /// The solderings from the copies' outputs to the heads of their authenticators.
    pub outputs: Solderings<'a>,
    /// The number of each chosen copy in the batch.
    pub chosen: &'a [u32],
    /// The commitments to the heads' inputs.
    pub head_inputs: &'a Shares,
}

/// Returns the value of a claim, or zero if this party has no values.
fn value(labels: Option<&[Label]>, k: usize) -> Label {
    labels.map_or(Label::ZERO, |labels| labels[k])
}

/// Copies the values of claims about wires of an opened item, if this party has them.
fn copy(labels: Option<&SpilledVec<Label>>, places: Range<usize>, values: &mut [Label]) {
    if let Some(labels) = labels {
        values.copy_from_slice(&labels.read_or_note(places));
    }
}

/// Returns the indices of some wires of an item, if each item has `each` wires.
fn of_item(item: usize, each: usize, wires: &Range<usize>) -> Range<usize> {
    item * each + wires.start..item * each + wires.end
}

/// Splits consecutive sums, one for each wire, where a new item begins. Calls `each` with an item, the index
/// of its first wire among these sums, and the sums of its wires. Each item has `wires` wires.
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
    /// Adds the claims about copies. Returns the group of claims about outputs, which are soldered to the
    /// heads of their authenticators.
    pub fn claim<'a>(
        &'a self,
        ka: &'a Shares,
        openings: CopyOpenings<'a>,
        claims: &mut Claims<'a>,
    ) -> ClaimGroup {
        let Shape { batch, inputs, outputs, .. } = self.shape;
        assert_eq!(openings.solderings.len(), self.shape.bucket_solderings(), "a soldering is missing");
        assert_eq!(openings.outputs.len(), batch.chosen() * outputs, "an output lacks its soldering");
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
            EachClaim::new(items, 1)
                .are(delta_differences)
                .with(&self.offsets, |_, _| 1)
                .with_one(ka, unopened),
        );

        let soldered = move |item, wires, values: &mut [Label]| match assignment.of(item) {
            Assigned::Opened(k) => {
                copy(opened.map(|opened| &opened.inputs), of_item(k, inputs, &wires), values)
            }
            Assigned::Head(_) => {}
            Assigned::Other(pair) => openings.solderings.openings(of_item(pair, inputs, &wires), values),
        };
        let not_a_head = move |copy, _| u8::from(!matches!(assignment.of(copy), Assigned::Head(_)));
        let solderings =
            claims.each(EachClaim::new(items, inputs).are(soldered).with(&self.inputs, not_a_head));
        claims.weighted(openings.head_inputs, move |weights, first, sums| {
            each_item(sums, first, inputs, |bucket, wire, sums| {
                let others = &openings.chosen[bucket * batch.size + 1..(bucket + 1) * batch.size];
                others
                    .iter()
                    .for_each(|&copy| add(sums, weights.from(solderings, copy as usize * inputs + wire)));
            });
        });
        // A flipped soldering adds the copy's offset to its claim.
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
        claims.each(
            EachClaim::new(items, outputs).are(output).with(&self.outputs, |_, _| 1).with_one(ka, flipped),
        )
    }
}

/// The claims about authenticators of one kind, with all their commitments in the order in which they were
/// made.
pub(super) struct AuthenticatorClaims {
    /// B: the number of authenticators in a bucket.
    pub size: usize,
    /// Ranges of buckets, one for each list of wires that uses authenticators. Together they cover all
    /// buckets.
    pub uses: Vec<Range<usize>>,
    /// Three bits for each authenticator: it was opened; it is the head of a bucket; its offset is part of
    /// the claim about its wire. The third bit is the challenged colour if a plain authenticator is opened.
    /// For an authenticator in a bucket, it is the flip of its soldering.
    opened: Bits,
    heads: Bits,
    flips: Bits,
    wires: Shares,
    /// The commitments to the offsets of input authenticators; empty for plain ones, whose offset is Δ_ka.
    offsets: Shares,
}

/// The opened authenticators of one kind.
pub(super) struct OpenedAuthenticators {
    /// The number of each authenticator in its batch.
    pub authenticators: SpilledVec<u32>,
    /// For a plain authenticator the label of the challenged colour. For an input authenticator the value of
    /// the wire, which the evaluator computes from the offset.
    pub wires: SpilledVec<Label>,
    /// The offsets of input authenticators; empty for plain ones.
    pub offsets: SpilledVec<Label>,
}

impl OpenedAuthenticators {
    /// Calls `tell` with some authenticators and the indices of their entries in one of the lists.
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

/// The messages about the authenticators of one use that claims refer to.
#[derive(Clone, Copy)]
pub(super) struct UseOpenings<'a> {
    /// The delta differences of the chosen input authenticators, at the evaluator; `None` for plain ones.
    pub delta_differences: Option<&'a SpilledVec<Label>>,
    /// The solderings from the head of each bucket to its other authenticators, at the evaluator.
    pub solderings: Option<&'a SpilledVec<Soldering>>,
    /// The numbers of all chosen authenticators. Those of this use begin at index `first`.
    pub chosen: &'a SpilledVec<u32>,
    pub first: usize,
    /// The commitments to the heads' wires.
    pub heads: &'a Shares,
    /// For authenticators of a batch's outputs: these outputs.
    pub outputs: Option<OutputsOf<'a>>,
}

impl UseOpenings<'_> {
    /// Returns the numbers of the authenticators in some buckets.
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
    /// The claims about the solderings from these outputs to their authenticators.
    pub claims: ClaimGroup,
}

impl OutputsOf<'_> {
    /// Returns the sum of the weights of the claims about outputs that are soldered to a bucket of
    /// authenticators.
    fn weight(&self, bucket: usize, weights: &Weights) -> u128 {
        let Shape { batch, outputs, .. } = self.shape;
        let (slot, wire) = (bucket / outputs, bucket % outputs);
        let copies = &self.chosen[slot * batch.size..(slot + 1) * batch.size];
        copies.iter().fold(0, |sum, &copy| sum ^ weights.of(self.claims, copy as usize * outputs + wire))
    }
}

/// Writes the values of claims, and the weights of these claims, for a list of authenticators.
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
    /// Marks the authenticators after their challenge. `colours` are the challenged colours of the opened
    /// ones, 0 for input authenticators. `flips` are the flips of the solderings in buckets.
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

    /// Adds the claims. `openings` has the messages about each use.
    pub fn claim<'a>(
        &'a self,
        ka: &'a Shares,
        opened: Option<&'a OpenedAuthenticators>,
        openings: Vec<UseOpenings<'a>>,
        claims: &mut Claims<'a>,
    ) {
        assert_eq!(openings.len(), self.uses.len(), "each use must have one list of openings");
        let (size, plain, items) = (self.size, self.plain(), self.wires.len());

        let not_a_head = |authenticator, _| 1 - self.heads.get(authenticator);
        let flipped = |authenticator, _| self.flips.get(authenticator);
        let each = EachClaim::new(items, 1).with(&self.wires, not_a_head);
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
            assert_eq!(values.len(), buckets.len() * size.saturating_sub(1), "a soldering is missing");
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
            claims.each(EachClaim::new(items, 1).with(&self.offsets, |_, _| 1).with_one(ka, unopened));
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
            assert_eq!(values.len(), buckets.len() * size, "each authenticator must have a delta difference");
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

    /// A range of buckets gives the right authenticators, even if the list begins elsewhere.
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
                    assert!(wire + sums.len() <= wires, "more wires than the item has");
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
