//! Statements about commitments that a proof verifies.

use std::ops::Range;

use brickwork_kernels as kernels;

use super::Cheat;
use super::proof::{Claimed, UnverifiedName};
use super::row::Committed;
use super::rows::{BLOCK, Column, DIMENSION};
use super::shares::Shares;
use brickwork_base::label::Label;

/// Adds the shares of all commitments in claim `index` to a sum, and returns the claimed value. The receiver
/// returns the value that the sender opened (in [`Claims::bits`], only the lowest bit matters). The sender
/// returns the committed value if the receiver does not know it, and an arbitrary value otherwise.
pub(super) type Claim<'a> = Box<dyn Fn(usize, &mut Column) -> Label + Sync + 'a>;

/// Writes the claimed values about some wires of an item.
type Values<'a> = Box<dyn Fn(usize, Range<usize>, &mut [Label]) + Sync + 'a>;

/// Returns the coefficient, 0 or 1, of a commitment in the claim about this item and wire.
pub(super) type Coefficient<'a> = Box<dyn Fn(usize, usize) -> u8 + Sync + 'a>;

/// One claim for each wire of each item, in the order of a row of commitments: `[item][wire]`. A commitment
/// may be part of the claim with the same number. So a proof can process the commitments in the order in
/// which they were made.
pub struct EachClaim<'a> {
    items: usize,
    wires: usize,
    pub(super) values: Option<Values<'a>>,
    pub(super) terms: Vec<(&'a Shares, Coefficient<'a>)>,
    pub(super) one: Option<(&'a Shares, Coefficient<'a>)>,
}

impl<'a> EachClaim<'a> {
    /// Makes a claim for each wire of each item: the sum is zero, unless [`EachClaim::are`] sets its value.
    pub fn new(items: usize, wires: usize) -> Self {
        EachClaim { items, wires, values: None, terms: Vec::new(), one: None }
    }

    /// Sets the claimed values of the sums. `values` gets an item, a range of its wires, and a buffer of
    /// zeros that it overwrites with the values.
    pub fn are(mut self, values: impl Fn(usize, Range<usize>, &mut [Label]) + Sync + 'a) -> Self {
        self.values = Some(Box::new(values));
        self
    }

    /// Adds each commitment for which `coefficient` returns 1 to the claim with the same number.
    ///
    /// # Panics
    /// If the number of commitments differs from the number of claims.
    pub fn with(mut self, shares: &'a Shares, coefficient: impl Fn(usize, usize) -> u8 + Sync + 'a) -> Self {
        assert_eq!(shares.len(), self.count(), "each claim must have a commitment");
        self.terms.push((shares, Box::new(coefficient)));
        self
    }

    /// Does the same as [`EachClaim::with`] with the first of these commitments in place of the one with the
    /// claim's number.
    pub fn with_one(
        mut self,
        shares: &'a Shares,
        coefficient: impl Fn(usize, usize) -> u8 + Sync + 'a,
    ) -> Self {
        self.one = Some((shares, Box::new(coefficient)));
        self
    }

    /// Returns the number of claims.
    pub fn count(&self) -> usize {
        self.items * self.wires
    }

    /// Adds the commitments of claim `k` to a sum, without the weighted ones, and returns the claimed value.
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

    /// Splits a range of claims into items, and returns each item with its range of wires.
    pub(super) fn runs(&self, claims: Range<usize>) -> impl Iterator<Item = (usize, Range<usize>)> + use<> {
        let (wires, mut next) = (self.wires, claims.start);
        std::iter::from_fn(move || {
            let (item, first) = (next < claims.end).then(|| (next / wires, next % wires))?;
            let here = (wires - first).min(claims.end - next);
            next += here;
            Some((item, first..first + here))
        })
    }

    /// Returns the item and the wire of each claim of a nonempty range.
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

/// Claims that a sum of commitments has a certain value.
pub(super) enum KnownSums<'a> {
    Sums(usize, Claim<'a>),
    Each(EachClaim<'a>),
}

impl KnownSums<'_> {
    pub(super) fn count(&self) -> usize {
        match self {
            KnownSums::Sums(count, _) => *count,
            KnownSums::Each(each) => each.count(),
        }
    }
}

/// For each commitment from number `index` on, adds up the weights of all claims that contain it. The first
/// of the sums belongs to commitment `index`.
type Weigh<'a> = Box<dyn Fn(&Weights, usize, &mut [u128]) + Sync + 'a>;

/// Writes claimed values from number `index` on, and the weights of their claims.
type GiveValues<'a> = Box<dyn Fn(&Weights, usize, &mut [Label], &mut [u128]) + Sync + 'a>;

/// Statements about commitments that one proof verifies. Both parties list the same statements in the same
/// order.
///
/// A claim refers to its commitments in up to three ways. [`Claims::known`] adds up columns of commitments,
/// claim by claim. [`Claims::each`] lists claims in the order of the commitments, for rows that are too long
/// to keep their columns. A commitment that is part of many claims is *weighted*: a proof is a sum over all
/// commitments, each multiplied by the [`Weights`] of the claims that contain it. Values can also be given in
/// an order other than that of the claims ([`Claims::values`]), each with the weight of its claim.
#[derive(Default)]
pub struct Claims<'a> {
    pub(super) known: Vec<KnownSums<'a>>,
    pub(super) bits: Vec<(usize, Claim<'a>)>,
    pub(super) weighted: Vec<(&'a Shares, Weigh<'a>)>,
    pub(super) values: Vec<(usize, GiveValues<'a>)>,
    /// The names of the openings that these claims prove.
    pub(super) about: Vec<UnverifiedName>,
}

/// The claims that one call has added to the list.
#[derive(Clone, Copy, Debug)]
pub struct ClaimGroup(usize);

/// The weights of a proof, by which it multiplies the claimed values. The weight of claim k of a group is
/// `x^(k mod 128)` times an element of GF(2^128), which is drawn for each 128 claims. The weights follow from
/// the seed of the proof, so both parties know them.
pub struct Weights(Vec<Vec<u128>>);

/// The reduction of x^128 in GF(2^128).
const POLYNOMIAL: u128 = 0x87;

impl Weights {
    /// Returns the weights with these random elements: for each group, one element per 128 claims.
    pub(super) fn new(elements: Vec<Vec<u128>>) -> Self {
        Weights(elements)
    }

    /// Returns the weight of claim `k`.
    pub fn of(&self, group: ClaimGroup, k: usize) -> u128 {
        let (element, power) = (self.0[group.0][k / BLOCK], k % BLOCK);
        kernels::gf128_reduce([element << power, element >> 1 >> (BLOCK - 1 - power)])
    }

    /// Returns the weights of the claims from `first` on.
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
    /// Returns an empty list of claims.
    pub fn new() -> Self {
        Claims::default()
    }

    /// Registers claims on which an opened value depends: the proof of these claims proves the opening.
    pub fn about<T>(&mut self, claimed: &'a Claimed<T>, state: impl FnOnce(&'a T, &mut Claims<'a>)) {
        self.about.push(claimed.name());
        state(claimed.received(), self);
    }

    /// Adds `count` claims, each of which says that a sum of commitments has a certain value.
    pub fn known(&mut self, count: usize, claim: impl Fn(usize, &mut Column) -> Label + Sync + 'a) {
        self.known.push(KnownSums::Sums(count, Box::new(claim)));
    }

    /// Adds claims in the order of a row of commitments.
    pub fn each(&mut self, each: EachClaim<'a>) -> ClaimGroup {
        self.known.push(KnownSums::Each(each));
        ClaimGroup(self.known.len() - 1)
    }

    /// Adds commitments to claims that are already listed. `weigh` adds up, for each commitment from number
    /// `index` on, the weights of the claims that contain it.
    pub fn weighted(&mut self, shares: &'a Shares, weigh: impl Fn(&Weights, usize, &mut [u128]) + Sync + 'a) {
        self.weighted.push((shares, Box::new(weigh)));
    }

    /// Sets `count` values of claims that are already listed. `give` returns a range of the values and the
    /// weights of their claims, in any order. Only the receiver needs the values.
    pub fn values(
        &mut self,
        count: usize,
        give: impl Fn(&Weights, usize, &mut [Label], &mut [u128]) + Sync + 'a,
    ) {
        self.values.push((count, Box::new(give)));
    }

    /// Claims that the commitments contain these values.
    pub fn opened(&mut self, opened: &'a Committed) {
        self.known(opened.values.len(), |k, sum| {
            opened.shares.add(k, sum);
            opened.values[k]
        });
    }

    /// Adds `count` claims about the lowest bit of a sum of commitments. The proof reveals nothing else about
    /// the sum.
    pub fn bits(&mut self, count: usize, claim: impl Fn(usize, &mut Column) -> Label + Sync + 'a) {
        self.bits.push((count, Box::new(claim)));
    }

    /// Returns the names of the openings that these claims prove, for the [`Proof`](super::Proof) that
    /// verifies them.
    pub fn names(&self) -> &[UnverifiedName] {
        &self.about
    }

    /// Checks each claim by itself. It is for tests in which the shares are the committed values. A real
    /// scheme proves the same claims without revealing the values. `value_of` reads the value of a sum.
    /// Returns the kind of lie in the first wrong claim. If a value and a bit are wrong, the kind is that of
    /// the value, because one lie often makes both wrong.
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

    /// Returns whether a claimed value is wrong. The weights are `x^k` for claim k of one block, and 0 for
    /// all other claims. So bit k of each total is the error of claim k of this block.
    fn has_wrong_values(&self, value_of: impl Fn(&Column) -> u128) -> bool {
        let counts: Vec<usize> = self.known.iter().map(KnownSums::count).collect();
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
                    KnownSums::Sums(_, claim) => claim(k, &mut sum),
                    KnownSums::Each(each) => each.claim(k, &mut sum),
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
