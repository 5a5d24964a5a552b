//! Statements about commitments, which a proof settles.

use std::ops::Range;

use brickwork_kernels as kernels;

use super::Cheat;
use super::proof::{Claimed, Name};
use super::row::Committed;
use super::rows::{BLOCK, Column, DIMENSION};
use super::shares::Shares;
use brickwork_base::label::Label;

/// Adds the shares that claim number `index` is about to a sum, and returns the value of the claim. For the
/// receiver that is the value that was opened to it (or, in [`Claims::bits`], only its lowest bit). For the
/// sender it is the committed value where the receiver does not know it, and anything where it does.
pub(super) type Claim<'a> = Box<dyn Fn(usize, &mut Column) -> Label + Sync + 'a>;

/// Fills in the values of the claims about some wires of an item.
type Values<'a> = Box<dyn Fn(usize, Range<usize>, &mut [Label]) + Sync + 'a>;

/// The coefficient, 0 or 1, of a commitment in the claim about this wire of this item.
pub(super) type Coefficient<'a> = Box<dyn Fn(usize, usize) -> u8 + Sync + 'a>;

/// A claim for each wire of each item, `[item][wire]`, and so for each commitment in a row. A commitment may
/// be part of the claim with its number, and a proof takes the commitments in the order in which they were
/// made.
pub struct Each<'a> {
    items: usize,
    wires: usize,
    pub(super) values: Option<Values<'a>>,
    pub(super) terms: Vec<(&'a Shares, Coefficient<'a>)>,
    pub(super) one: Option<(&'a Shares, Coefficient<'a>)>,
}

impl<'a> Each<'a> {
    /// Makes claims for this many items with this many wires, that each sum is zero.
    pub fn new(items: usize, wires: usize) -> Self {
        Each { items, wires, values: None, terms: Vec::new(), one: None }
    }

    /// Sets the values of the sums. `values` gets an item, some of its wires, and zeros to overwrite by the
    /// values, as in [`Claims::known`].
    pub fn are(mut self, values: impl Fn(usize, Range<usize>, &mut [Label]) + Sync + 'a) -> Self {
        self.values = Some(Box::new(values));
        self
    }

    /// Makes each of these commitments part of the claim with its number where `coefficient` says so.
    ///
    /// # Panics
    /// If there are not as many as claims.
    pub fn with(mut self, shares: &'a Shares, coefficient: impl Fn(usize, usize) -> u8 + Sync + 'a) -> Self {
        assert_eq!(shares.len(), self.count(), "a commitment for each claim");
        self.terms.push((shares, Box::new(coefficient)));
        self
    }

    /// Makes the first of these commitments part of the claims where `coefficient` says so.
    pub fn with_one(
        mut self,
        shares: &'a Shares,
        coefficient: impl Fn(usize, usize) -> u8 + Sync + 'a,
    ) -> Self {
        self.one = Some((shares, Box::new(coefficient)));
        self
    }

    /// Returns how many claims these are.
    pub fn count(&self) -> usize {
        self.items * self.wires
    }

    /// Adds the commitments of claim `k` to a sum, without those that are weighted, and returns the value.
    fn claim(&self, k: usize, sum: &mut Column) -> Label {
        self.places(k..k + 1).next().map_or(Label::ZERO, |(item, wire)| {
            self.terms
                .iter()
                .for_each(|(shares, coefficient)| shares.add_if(coefficient(item, wire), k, sum));
            self.one.iter().for_each(|(shares, coefficient)| shares.add_if(coefficient(item, wire), 0, sum));
            let mut value = [Label::ZERO];
            self.values.iter().for_each(|values| values(item, wire..wire + 1, &mut value));
            value[0]
        })
    }

    /// Returns item and wires of some claims, item after item.
    pub(super) fn runs(&self, claims: Range<usize>) -> impl Iterator<Item = (usize, Range<usize>)> + use<> {
        let (wires, mut next) = (self.wires, claims.start);
        std::iter::from_fn(move || {
            let (item, first) = (next < claims.end).then(|| (next / wires, next % wires))?;
            let here = (wires - first).min(claims.end - next);
            next += here;
            Some((item, first..first + here))
        })
    }

    /// Returns item and wire of each of some claims, at least one.
    pub(super) fn places(&self, claims: Range<usize>) -> impl Iterator<Item = (usize, usize)> + use<> {
        let (wires, mut item, mut wire) = (self.wires, claims.start / self.wires, claims.start % self.wires);
        claims.map(move |_| {
            let place = (item, wire);
            wire += 1;
            if wire == wires {
                (item, wire) = (item + 1, 0);
            }
            place
        })
    }
}

/// Claims of the kind "this sum of commitments is this value".
pub(super) enum Known<'a> {
    Sums(usize, Claim<'a>),
    Each(Each<'a>),
}

impl Known<'_> {
    pub(super) fn count(&self) -> usize {
        match self {
            Known::Sums(count, _) => *count,
            Known::Each(each) => each.count(),
        }
    }
}

/// Adds to each of a row of sums, the first of which belongs to commitment number `index`, the weights of all
/// claims that this commitment is part of.
type Weigh<'a> = Box<dyn Fn(&Weights, usize, &mut [u128]) + Sync + 'a>;

/// Fills in, of values that belong to claims, those from number `index` on and the weights of the claims that
/// they belong to.
type GiveValues<'a> = Box<dyn Fn(&Weights, usize, &mut [Label], &mut [u128]) + Sync + 'a>;

/// Statements about commitments, to be settled by one proof. Both parties list the same ones in the same
/// order.
///
/// A claim names its commitments in up to three ways. [`Claims::known`] adds up their columns, claim by
/// claim. If there are too many commitments to keep their columns, [`Claims::each`] makes the claims follow
/// them in the order in which they were made. And a commitment that is part of many claims is *weighted*: a
/// proof is a sum over all commitments, each times the [`Weights`] of the claims that it is part of. So it is
/// with values that do not come in the order of the claims: they are [given](Claims::values) in their own
/// order, each times the weight of its claim.
#[derive(Default)]
pub struct Claims<'a> {
    pub(super) known: Vec<Known<'a>>,
    pub(super) bits: Vec<(usize, Claim<'a>)>,
    pub(super) weighted: Vec<(&'a Shares, Weigh<'a>)>,
    pub(super) values: Vec<(usize, GiveValues<'a>)>,
    /// The opened values that rest on them.
    pub(super) about: Vec<Name>,
}

/// The claims that one call listed.
#[derive(Clone, Copy, Debug)]
pub struct ClaimGroup(usize);

/// The weights of a proof: it multiplies each claimed value with an element of GF(2^128), for claim k of a
/// group `x^(k mod 128)` times a random element of each 128 claims. They follow from the proof's seed and are
/// no secret.
pub struct Weights(Vec<Vec<u128>>);

/// x^128 in GF(2^128).
const POLYNOMIAL: u128 = 0x87;

impl Weights {
    /// Makes weights of these random elements, for each group one for each 128 claims.
    pub(super) fn new(elements: Vec<Vec<u128>>) -> Self {
        Weights(elements)
    }

    /// Returns the weight of claim `k`.
    pub fn of(&self, group: ClaimGroup, k: usize) -> u128 {
        let (element, power) = (self.0[group.0][k / BLOCK], k % BLOCK);
        kernels::gf128_reduce([element << power, element >> 1 >> (BLOCK - 1 - power)])
    }

    /// Returns those of the claims from `first` on, one after the other.
    pub fn from(&self, group: ClaimGroup, first: usize) -> impl Iterator<Item = u128> + '_ {
        let mut weight = 0;
        (first..).map(move |k| {
            weight = if k == first || k % BLOCK == 0 {
                self.of(group, k)
            } else {
                (weight << 1) ^ ((weight >> 127) * POLYNOMIAL)
            };
            weight
        })
    }
}

impl<'a> Claims<'a> {
    /// Makes no claims.
    pub fn new() -> Self {
        Claims::default()
    }

    /// States that the openings depend on the claims that `state` lists: verifying the claims proves the
    /// openings.
    pub fn about<T>(&mut self, claimed: &'a Claimed<T>, state: impl FnOnce(&'a T, &mut Claims<'a>)) {
        self.about.push(claimed.name());
        state(claimed.received(), self);
    }

    /// Adds `count` claims of the kind "this sum of commitments is this value".
    pub fn known(&mut self, count: usize, claim: impl Fn(usize, &mut Column) -> Label + Sync + 'a) {
        self.known.push(Known::Sums(count, Box::new(claim)));
    }

    /// Claims that follow rows of commitments.
    pub fn each(&mut self, each: Each<'a>) -> ClaimGroup {
        self.known.push(Known::Each(each));
        ClaimGroup(self.known.len() - 1)
    }

    /// Claims that were listed are also about these commitments: `weigh` adds the weights of those that
    /// commitment `index` and the following ones are part of.
    pub fn weighted(&mut self, shares: &'a Shares, weigh: impl Fn(&Weights, usize, &mut [u128]) + Sync + 'a) {
        self.weighted.push((shares, Box::new(weigh)));
    }

    /// Adds `count` values to those of claims that were listed. `give` gives some of them, with the weights
    /// of their claims, in any order. Only the receiver needs them.
    pub fn values(
        &mut self,
        count: usize,
        give: impl Fn(&Weights, usize, &mut [Label], &mut [u128]) + Sync + 'a,
    ) {
        self.values.push((count, Box::new(give)));
    }

    /// Claims that these commitments are to these values.
    pub fn opened(&mut self, opened: &'a Committed) {
        self.known(opened.values.len(), |k, sum| {
            opened.shares.add(k, sum);
            opened.values[k]
        });
    }

    /// Adds `count` claims of the kind "the lowest bit of this sum is this", which reveal nothing else.
    pub fn bits(&mut self, count: usize, claim: impl Fn(usize, &mut Column) -> Label + Sync + 'a) {
        self.bits.push((count, Box::new(claim)));
    }

    /// Returns the names of the openings that depend on these claims, for the [`Proof`](super::Proof) that
    /// settles them.
    pub fn names(&self) -> &[Name] {
        &self.about
    }

    /// Checks each claim by itself, where shares are the plain committed values: this is the meaning that a
    /// scheme proves without seeing the values. `value_of` reads a value from a sum. Returns the wrong claim.
    /// If a value and a bit are wrong, it returns the value, because a lie about one is often a lie about the
    /// other, too.
    pub fn wrong(&self, value_of: impl Fn(&Column) -> u128) -> Option<Cheat> {
        let wrong_bit = self.bits.iter().any(|(count, claim)| {
            (0..*count).any(|i| {
                let mut sum = Column::default();
                u128::from(claim(i, &mut sum).colour()) != value_of(&sum) & 1
            })
        });
        if self.has_wrong_values(value_of) {
            Some(Cheat::Opening)
        } else {
            wrong_bit.then_some(Cheat::Indicator)
        }
    }

    /// Returns whether a claimed value is wrong. Weights that are `x^k` for claim k of one block, and 0 for
    /// all other claims, keep the claims of that block apart. All sums and values, each times its weight,
    /// then add up to a word whose bit k is the error of claim k.
    fn has_wrong_values(&self, value_of: impl Fn(&Column) -> u128) -> bool {
        let counts: Vec<usize> = self.known.iter().map(Known::count).collect();
        let blocks =
            counts.iter().enumerate().flat_map(|(g, count)| (0..count.div_ceil(BLOCK)).map(move |b| (g, b)));
        blocks.into_iter().any(|(group, block)| {
            let elements = |(g, count): (usize, &usize)| {
                (0..count.div_ceil(BLOCK)).map(|b| u128::from((g, b) == (group, block))).collect()
            };
            let weights = Weights::new(counts.iter().enumerate().map(elements).collect());
            let mut off = [0u128; DIMENSION];
            let mut add = |value: u128, weight: u128| {
                off.iter_mut()
                    .enumerate()
                    .for_each(|(i, off)| *off ^= weight & (value >> i & 1).wrapping_neg());
            };
            for k in block * BLOCK..counts[group].min((block + 1) * BLOCK) {
                let mut sum = Column::default();
                let claimed = match &self.known[group] {
                    Known::Sums(_, claim) => claim(k, &mut sum),
                    Known::Each(each) => each.claim(k, &mut sum),
                };
                add(value_of(&sum) ^ claimed.bits(), 1 << (k % BLOCK));
            }
            for (shares, weigh) in &self.weighted {
                let mut sums = vec![0; shares.len()];
                weigh(&weights, 0, &mut sums);
                for (k, &weight) in sums.iter().enumerate().filter(|(_, weight)| **weight != 0) {
                    let mut column = Column::default();
                    shares.add(k, &mut column);
                    add(value_of(&column), weight);
                }
            }
            for (count, give) in &self.values {
                let (mut values, mut of) = (vec![Label::ZERO; *count], vec![0; *count]);
                give(&weights, 0, &mut values, &mut of);
                values.iter().zip(of).for_each(|(value, weight)| add(value.bits(), weight));
            }
            off.iter().any(|&off| off != 0)
        })
    }
}
