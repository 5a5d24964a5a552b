//! The results of a verification: tokens that nobody else can make.

use std::sync::atomic::{AtomicU64, Ordering};

use super::shares::Shares;

/// Names something that one receiver is yet to have proven; nothing else in the process has the same name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Name {
    receiver: u64,
    number: u64,
}

/// The names that one receiver gives. It keeps them to itself, because the names decide what counts as proven
/// to it. No message influences them, nor which proof is used for which claim. A mismatch is an error in this
/// program, which no peer can cause.
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

    /// Names commitments that have come.
    pub fn pending(&mut self, shares: Shares) -> Pending {
        Pending { name: self.draw(), shares }
    }

    /// Makes the proof that this receiver has just verified: the commitments in `new` are valid, and the
    /// claims [with](super::Claims::names) these names are true.
    ///
    /// # Panics
    /// If something of it is not this receiver's: its shares say nothing of that.
    pub fn proof(&self, new: &[&Pending], about: &[Name]) -> Proof {
        let covered: Vec<Name> =
            new.iter().map(|pending| pending.name).chain(about.iter().copied()).collect();
        assert!(
            covered.iter().all(|name| name.receiver == self.0.receiver),
            "claims about another's commitments"
        );
        Proof(covered)
    }

    /// Wraps the sender's openings until they are proven.
    pub fn claimed<T>(&mut self, received: T) -> Claimed<T> {
        Claimed { name: self.draw(), received }
    }
}

/// A receiver's shares of commitments that the sender has not yet proven to be commitments at all.
pub struct Pending {
    name: Name,
    shares: Shares,
}

/// The facts that [`Receiver::verify`](super::Receiver::verify) found to be true: that some things are
/// commitments, and that others were opened rightly. Nobody else can make a proof for the openings that this
/// receiver got.
///
/// ```compile_fail,E0423
/// let proof = brickwork_primitives::commit::Proof(Vec::new());
/// ```
pub struct Proof(Vec<Name>);

impl Pending {
    #[cfg(test)]
    pub(super) fn name(&self) -> Name {
        self.name
    }

    /// Returns the shares, for use in claims that the same proof settles.
    pub fn shares(&self) -> &Shares {
        &self.shares
    }

    /// Returns the shares, now that they are proven.
    ///
    /// # Panics
    /// If the proof is about others.
    pub fn accept(self, proof: &Proof) -> Shares {
        assert!(proof.0.contains(&self.name), "a proof about other commitments");
        self.shares
    }
}

/// A value that a sender opened to a receiver, while the claims that it rests on are not settled. It can be
/// looked at, and is had for the proof of the claims that were [stated about it](super::Claims::about), no
/// other.
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
    pub(super) fn name(&self) -> Name {
        self.name
    }

    /// Returns the received value, only to look at it.
    pub fn received(&self) -> &T {
        &self.received
    }

    /// Maps it to more that rests on claims that are still to be stated, with those about the same.
    pub fn map<U>(self, more: impl FnOnce(T) -> U) -> Claimed<U> {
        Claimed { name: self.name, received: more(self.received) }
    }

    /// Returns the opening, after the proof of the claims about it.
    ///
    /// # Panics
    /// If the proof is of other claims, or of another receiver's.
    pub fn proven(self, proof: &Proof) -> T {
        assert!(proof.0.contains(&self.name), "a proof of other claims");
        self.received
    }
}
