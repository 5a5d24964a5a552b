//! The results of a verification. Only a receiver can make these tokens.

use std::sync::atomic::{AtomicU64, Ordering};

use super::shares::Shares;

/// A name for commitments or an opening that one receiver has not yet verified. The name is unique in the
/// process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct UnverifiedName {
    receiver: u64,
    number: u64,
}

/// The names that one receiver assigns. A receiver keeps its names to itself, because they decide which
/// openings it accepts as proven. No message influences a name, or decides which proof covers a claim. So a
/// wrong name is an error of this program, which no peer can cause.
#[derive(Debug)]
pub struct Names(UnverifiedName);

impl Default for Names {
    fn default() -> Self {
        static RECEIVERS: AtomicU64 = AtomicU64::new(0);
        Names(UnverifiedName { receiver: RECEIVERS.fetch_add(1, Ordering::Relaxed), number: 0 })
    }
}

impl Names {
    fn draw(&mut self) -> UnverifiedName {
        self.0.number += 1;
        self.0
    }

    /// Gives a name to commitments that have arrived.
    pub fn pending(&mut self, shares: Shares) -> Pending {
        Pending { name: self.draw(), shares }
    }

    /// Makes the proof of a verification by this receiver: the commitments in `new` are valid, and the claims
    /// [with](super::Claims::names) these names are true.
    ///
    /// # Panics
    /// If a name belongs to another receiver, because these shares do not verify its claims.
    pub fn proof(&self, new: &[&Pending], about: &[UnverifiedName]) -> Proof {
        let covered: Vec<UnverifiedName> =
            new.iter().map(|pending| pending.name).chain(about.iter().copied()).collect();
        assert!(
            covered.iter().all(|name| name.receiver == self.0.receiver),
            "all claims must be about the commitments of this receiver"
        );
        Proof(covered)
    }

    /// Wraps an opening until it is proven.
    pub fn claimed<T>(&mut self, received: T) -> Claimed<T> {
        Claimed { name: self.draw(), received }
    }
}

/// A receiver's shares of commitments that the sender has not yet proven to be valid.
pub struct Pending {
    name: UnverifiedName,
    shares: Shares,
}

/// The facts that [`Receiver::verify`](super::Receiver::verify) has verified: some commitments are valid, and
/// some openings are right. Only the receiver of these openings can make the proof.
///
/// ```compile_fail,E0423
/// let proof = brickwork_primitives::commit::Proof(Vec::new());
/// ```
pub struct Proof(Vec<UnverifiedName>);

impl Pending {
    #[cfg(test)]
    pub(super) fn name(&self) -> UnverifiedName {
        self.name
    }

    /// Returns the shares, for claims that are verified together with the commitments.
    pub fn shares(&self) -> &Shares {
        &self.shares
    }

    /// Returns the shares, which the proof has shown to be valid.
    ///
    /// # Panics
    /// If the proof covers other commitments.
    pub fn accept(self, proof: &Proof) -> Shares {
        assert!(proof.0.contains(&self.name), "the proof must be about the commitments of this party");
        self.shares
    }
}

/// A value that a sender opened to a receiver, before its claims are verified. The value may be read at once.
/// [`Claimed::proven`] returns it for the proof of the claims that were [stated about
/// it](super::Claims::about), and for no other proof.
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
#[must_use = "claims must be proven"]
pub struct Claimed<T> {
    name: UnverifiedName,
    received: T,
}

impl<T> Claimed<T> {
    pub(super) fn name(&self) -> UnverifiedName {
        self.name
    }

    /// Returns the received value for reading only.
    pub fn received(&self) -> &T {
        &self.received
    }

    /// Adds further values that depend on the same claims, or on claims that are stated later.
    pub fn map<U>(self, more: impl FnOnce(T) -> U) -> Claimed<U> {
        Claimed { name: self.name, received: more(self.received) }
    }

    /// Returns the opened value, which the proof has shown to be right.
    ///
    /// # Panics
    /// If the proof covers other claims, or belongs to another receiver.
    pub fn proven(self, proof: &Proof) -> T {
        assert!(proof.0.contains(&self.name), "the proof must be about these claims");
        self.received
    }
}
