//! XOR-homomorphic commitments: the garbler commits, the evaluator holds it to what it committed to.
//!
//! What a scheme promises, whatever it is made of:
//!
//! * [`Sender::commit_random`] commits to values that the protocol itself draws, [`Sender::commit`] to
//!   values of the sender's choice; the receiver learns nothing of either.
//! * Anything F_2-linear in committed values can be *claimed*: "these commitments add up to this value", or
//!   "the lowest bit of this sum is this". Claims cost no traffic by themselves; [`Sender::prove`] and
//!   [`Receiver::verify`] settle any number of them at once, with random combinations whose seed the receiver
//!   draws after all the values are fixed (design decision 4).
//! * A receiver may read shares that are not proven yet, but [`Pending`] only becomes [`Shares`] by the
//!   [`Proof`] of a successful verification that it was part of; and what it was told is [`Claimed`] until
//!   the proof of the claims that it rests on. A proof names all that it covers, and is of use for that
//!   alone.

pub mod code;
#[cfg(test)]
mod ideal;
mod shares;
pub mod split;

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

use brickwork_kernels as kernels;
use zeroize::Zeroize;

use brickwork_base::label::Label;
use brickwork_base::{Error, cheats};
use brickwork_wire::Channel;

use shares::BLOCK;
pub use shares::FEW_COLUMNS;
pub use shares::Selection;
#[cfg(any(test, feature = "adversary"))]
pub use shares::keep_columns;
pub use shares::{COLUMN_WORDS, Column, Shares};

cheats! {
    /// What a cheater can do with commitments.
    pub enum Cheat of "commitments" {
        /// Commitments (FJNT16): something that was sent as a commitment is none.
        Commitment = "commitments: a correction leaves the code",
        /// Commitments: an opened value is not the committed one (Open in appendix A).
        Opening = "commitments: a value was opened that was not committed to",
        /// Commitments: an indicator bit is not the committed one (section 5.1, decoding).
        Indicator = "commitments: an indicator bit was opened that was not committed to",
    }
}

/// The party that commits: the garbler.
pub trait Sender {
    /// Commits to `count` values drawn by the protocol.
    ///
    /// # Errors
    /// [`Error::Io`] if the connection fails.
    fn commit_random(&mut self, channel: &mut Channel, count: usize, lsb: Lsb) -> Result<Committed, Error>;

    /// Commits to these values.
    ///
    /// # Errors
    /// As [`Sender::commit_random`].
    fn commit(&mut self, channel: &mut Channel, values: &[Label]) -> Result<Committed, Error>;

    /// Proves that the commitments in `new` are commitments and that all claims are true. `new` and the
    /// claims in [`Claims::bits`] reveal nothing beyond what is claimed. Rounds: 1.
    ///
    /// # Errors
    /// As [`Sender::commit_random`].
    fn prove(&mut self, channel: &mut Channel, new: &[New], claims: &Claims) -> Result<(), Error>;
}

/// The party that holds the other to its word: the evaluator.
pub trait Receiver {
    /// Receives `count` commitments to values drawn by the protocol.
    ///
    /// # Errors
    /// [`Error::Io`] if the connection fails, [`Error::Peer`] if something else comes.
    fn receive_random(&mut self, channel: &mut Channel, count: usize, lsb: Lsb) -> Result<Pending, Error>;

    /// Receives `count` commitments to values of the sender's choice.
    ///
    /// # Errors
    /// As [`Receiver::receive_random`].
    fn receive(&mut self, channel: &mut Channel, count: usize) -> Result<Pending, Error>;

    /// Checks that the commitments in `new` are commitments and that all claims are true.
    ///
    /// # Errors
    /// [`Cheat::Commitment`] if `new` holds something that is no commitment,
    /// [`Cheat::Indicator`] if a claimed bit is wrong,
    /// [`Cheat::Opening`] if a claimed value is. The receiver must not be used again
    /// after an error.
    ///
    /// # Panics
    /// If something in `new` or [behind the claims](Claims::about) belongs to another receiver.
    fn verify(&mut self, channel: &mut Channel, new: &[&Pending], claims: &Claims) -> Result<Proof, Error>;

    /// Where the names of this receiver's commitments and claims come from.
    fn names(&mut self) -> &mut Names;

    /// Sets aside what the sender told, until the claims that it rests on are proven to this receiver.
    fn claimed<T>(&mut self, received: T) -> Claimed<T> {
        Claimed { name: self.names().draw(), received }
    }
}

/// What a sender keeps of a row of commitments: the values and its shares. What is opened is the same at the
/// receiver: the values that it was told, and its own shares.
#[derive(Default)]
pub struct Committed {
    /// The committed values.
    pub values: Vec<Label>,
    /// This party's shares.
    pub shares: Shares,
}

/// Commitments that are not proven to be commitments yet, with the values that their sender knows.
pub struct New<'a> {
    shares: &'a Shares,
    values: NewValues<'a>,
}

#[derive(Clone, Copy)]
enum NewValues<'a> {
    Held(&'a [Label]),
    Again(&'a split::Origin),
}

impl<'a> From<&'a Committed> for New<'a> {
    fn from(committed: &'a Committed) -> Self {
        New { shares: &committed.shares, values: NewValues::Held(&committed.values) }
    }
}

impl Drop for Committed {
    fn drop(&mut self) {
        self.values.zeroize();
    }
}

impl Committed {
    /// The commitments at these places, in this order.
    pub fn select(&self, indices: impl IntoIterator<Item = usize>) -> Committed {
        self.select_each(&[&indices.into_iter().collect::<Vec<_>>()]).swap_remove(0)
    }

    /// The commitments at the places of each list, in its order. No place may come twice.
    pub fn select_each(&self, lists: &[&[usize]]) -> Vec<Committed> {
        let values = lists.iter().map(|list| list.iter().map(|&i| self.values[i]).collect());
        values
            .zip(self.shares.select_each(lists))
            .map(|(values, shares)| Committed { values, shares })
            .collect()
    }
}

/// What the lowest bit of a random committed value is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lsb {
    /// Random, like the other bits.
    Random,
    /// 0: masks. Built into the shares of the lowest coordinate alone, which one guessed watch bit gets
    /// around; that a mask ends in 0 need not be bound (docs/security.md).
    Zero,
    /// 1: offsets. Likewise; what must be bound is claimed.
    One,
}

/// Names something that one receiver is yet to have proven; nothing else in the process has the same name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Name {
    receiver: u64,
    number: u64,
}

/// The names that one receiver gives. No message has a say in them, nor in which proof is shown for what: a
/// proof of something else is a mistake in this program, which nobody's peer can bring about.
#[derive(Debug)]
pub struct Names(Name);

impl Default for Names {
    /// Those of a new receiver.
    fn default() -> Self {
        static RECEIVERS: AtomicU64 = AtomicU64::new(0);
        Names(Name { receiver: RECEIVERS.fetch_add(1, Ordering::Relaxed), number: 0 })
    }
}

impl Names {
    fn draw(&mut self) -> Name {
        self.0.number += 1;
        self.0
    }

    /// Commitments that have come.
    fn pending(&mut self, shares: Shares) -> Pending {
        Pending { name: self.draw(), shares }
    }

    /// What this receiver has just verified.
    ///
    /// # Panics
    /// If something of it is not this receiver's: its shares say nothing of that.
    fn proof(&self, new: &[&Pending], claims: &Claims) -> Proof {
        let covered: Vec<Name> =
            new.iter().map(|pending| pending.name).chain(claims.about.iter().copied()).collect();
        assert!(
            covered.iter().all(|name| name.receiver == self.0.receiver),
            "claims about another's commitments"
        );
        Proof(covered)
    }
}

/// A receiver's shares of commitments that the sender has not yet proven to be commitments at all.
pub struct Pending {
    name: Name,
    shares: Shares,
}

/// What [`Receiver::verify`] found to be true: that some things are commitments, and that others were told
/// rightly. Nobody else can make one.
///
/// ```compile_fail,E0423
/// let proof = brickwork_primitives::commit::Proof(Vec::new());
/// ```
pub struct Proof(Vec<Name>);

impl Pending {
    /// The shares, for use in claims that the same proof settles.
    pub fn shares(&self) -> &Shares {
        &self.shares
    }

    /// The shares, now that they are proven.
    ///
    /// # Panics
    /// If the proof is about others.
    pub fn accept(self, proof: &Proof) -> Shares {
        assert!(proof.0.contains(&self.name), "a proof about other commitments");
        self.shares
    }
}

/// What a receiver was told about commitments, while the claims that it rests on are not settled: it can be
/// looked at, and is had for the proof of the claims that were [stated about it](Claims::about), no other.
///
/// ```compile_fail,E0616
/// fn without_a_proof(claimed: brickwork_primitives::commit::Claimed<Vec<u8>>) -> Vec<u8> {
///     claimed.received
/// }
/// ```
///
/// ```
/// use brickwork_primitives::commit::{Claimed, Proof};
///
/// fn with_its_proof(claimed: Claimed<Vec<u8>>, proof: &Proof) -> Vec<u8> {
///     claimed.proven(proof)
/// }
/// ```
#[must_use = "what is claimed must be proven"]
pub struct Claimed<T> {
    name: Name,
    received: T,
}

impl<T> Claimed<T> {
    /// To look at it.
    pub fn received(&self) -> &T {
        &self.received
    }

    /// More that rests on claims that are still to be stated, with those about the same.
    pub fn map<U>(self, more: impl FnOnce(T) -> U) -> Claimed<U> {
        Claimed { name: self.name, received: more(self.received) }
    }

    /// What was told, after the proof of the claims about it.
    ///
    /// # Panics
    /// If the proof is of other claims, or of another receiver's.
    pub fn proven(self, proof: &Proof) -> T {
        assert!(proof.0.contains(&self.name), "a proof of other claims");
        self.received
    }
}

/// Adds the shares that claim number `index` is about to a sum, and returns the value of the claim: for the
/// receiver what it was told (or, in [`Claims::bits`], only its lowest bit); for the sender the committed
/// value where the receiver does not know it, anything where it does.
type Claim<'a> = Box<dyn Fn(usize, &mut Column) -> Label + Sync + 'a>;

/// Of some wires of an item the values of the claims about them.
type Values<'a> = Box<dyn Fn(usize, Range<usize>, &mut [Label]) + Sync + 'a>;

/// Whether a commitment is part of the claim about this wire of this item: 0 or 1.
type Coefficient<'a> = Box<dyn Fn(usize, usize) -> u8 + Sync + 'a>;

/// A claim for each wire of each item, `[item][wire]`, and so for each commitment in a row: that may be part
/// of the claim with its number, and a proof takes the commitments as they were made.
pub struct Each<'a> {
    items: usize,
    wires: usize,
    values: Option<Values<'a>>,
    terms: Vec<(&'a Shares, Coefficient<'a>)>,
    one: Option<(&'a Shares, Coefficient<'a>)>,
}

impl<'a> Each<'a> {
    /// Claims for so many items of so many wires, that a sum is zero.
    pub fn new(items: usize, wires: usize) -> Self {
        Each { items, wires, values: None, terms: Vec::new(), one: None }
    }

    /// The sums are these values: `values` fills in, where there were zeros, those of some wires of an item,
    /// what they are in [`Claims::known`].
    pub fn are(mut self, values: impl Fn(usize, Range<usize>, &mut [Label]) + Sync + 'a) -> Self {
        self.values = Some(Box::new(values));
        self
    }

    /// Each of these commitments is part of the claim with its number where `coefficient` says so.
    ///
    /// # Panics
    /// If there are not as many as claims.
    pub fn with(mut self, shares: &'a Shares, coefficient: impl Fn(usize, usize) -> u8 + Sync + 'a) -> Self {
        assert_eq!(shares.len(), self.count(), "a commitment for each claim");
        self.terms.push((shares, Box::new(coefficient)));
        self
    }

    /// The first of these commitments is part of the claims where `coefficient` says so.
    pub fn with_one(
        mut self,
        shares: &'a Shares,
        coefficient: impl Fn(usize, usize) -> u8 + Sync + 'a,
    ) -> Self {
        self.one = Some((shares, Box::new(coefficient)));
        self
    }

    /// How many claims these are.
    pub fn count(&self) -> usize {
        self.items * self.wires
    }

    /// Item and wires of some claims, item after item.
    fn runs(&self, claims: Range<usize>) -> impl Iterator<Item = (usize, Range<usize>)> + use<> {
        let (wires, mut next) = (self.wires, claims.start);
        std::iter::from_fn(move || {
            let (item, first) = (next < claims.end).then(|| (next / wires, next % wires))?;
            let here = (wires - first).min(claims.end - next);
            next += here;
            Some((item, first..first + here))
        })
    }

    /// Item and wire of each of some claims, at least one.
    fn places(&self, claims: Range<usize>) -> impl Iterator<Item = (usize, usize)> + use<> {
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
enum Known<'a> {
    Sums(usize, Claim<'a>),
    Each(Each<'a>),
}

impl Known<'_> {
    fn count(&self) -> usize {
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
type Tell<'a> = Box<dyn Fn(&Weights, usize, &mut [Label], &mut [u128]) + Sync + 'a>;

/// Statements about commitments, to be settled by one proof. Both parties list the same ones in the same
/// order.
///
/// A claim names its commitments in up to three ways. [`Claims::known`] adds up their columns, claim by
/// claim. Where there are so many commitments that their columns should not be kept, [`Claims::each`] makes
/// the claims follow them in the order in which they were made. And a commitment that is part of many claims
/// is *weighted*: a proof is a sum over all commitments, each times the [`Weights`] of the claims that it is
/// part of. So it is with values that do not come in the order of the claims: they are
/// [given](Claims::values) in their own order, each times the weight of its claim.
#[derive(Default)]
pub struct Claims<'a> {
    known: Vec<Known<'a>>,
    bits: Vec<(usize, Claim<'a>)>,
    weighted: Vec<(&'a Shares, Weigh<'a>)>,
    values: Vec<(usize, Tell<'a>)>,
    /// What was told and rests on them.
    about: Vec<Name>,
}

/// The claims that one call listed.
#[derive(Clone, Copy, Debug)]
pub struct ClaimGroup(usize);

/// What a proof multiplies each claimed value with, an element of GF(2^128): for claim k of a group `x^(k mod
/// 128)` times a random element of each 128 claims. They follow from the proof's seed and are no secret.
pub struct Weights(Vec<Vec<u128>>);

/// x^128 in GF(2^128).
const POLYNOMIAL: u128 = 0x87;

impl Weights {
    /// That of claim `k`.
    pub fn of(&self, group: ClaimGroup, k: usize) -> u128 {
        let (element, power) = (self.0[group.0][k / BLOCK], k % BLOCK);
        kernels::gf128_reduce([element << power, element >> 1 >> (BLOCK - 1 - power)])
    }

    /// Those of the claims from `first` on, one after the other.
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
    /// No claims.
    pub fn new() -> Self {
        Claims::default()
    }

    /// What was told rests on the claims that `state` lists: whoever verifies these has it proven.
    pub fn about<T>(&mut self, claimed: &'a Claimed<T>, state: impl FnOnce(&'a T, &mut Claims<'a>)) {
        self.about.push(claimed.name);
        state(&claimed.received, self);
    }

    /// `count` claims of the kind "this sum of commitments is this value".
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

    /// `count` values that are added to those of claims that were listed. `tell` gives some of them, with the
    /// weights of their claims, in any order. Only the receiver asks for them.
    pub fn values(
        &mut self,
        count: usize,
        tell: impl Fn(&Weights, usize, &mut [Label], &mut [u128]) + Sync + 'a,
    ) {
        self.values.push((count, Box::new(tell)));
    }

    /// Claims that these commitments are to these values.
    pub fn opened(&mut self, opened: &'a Committed) {
        self.known(opened.values.len(), |k, sum| {
            opened.shares.add(k, sum);
            opened.values[k]
        });
    }

    /// `count` claims of the kind "the lowest bit of this sum is this", which reveal nothing else.
    pub fn bits(&mut self, count: usize, claim: impl Fn(usize, &mut Column) -> Label + Sync + 'a) {
        self.bits.push((count, Box::new(claim)));
    }
}
