//! Authenticated masks: random bits of which each party has a share. Neither party can lie about its share.
//!
//! ```text
//!   ⟨λ⟩, λ = λ^G + λ^E     each party P has its bit λ^P, a key K_P and a MAC M_P
//!   M_G = K_E + λ^G·Δ_E    M_E = K_G + λ^E·Δ_G     K ends in 0, M ends in the party's bit
//! ```
//!
//! With its *key* a party checks the other party's bit; with its *MAC* it proves its own bit. Sums of masks
//! are sums of words at each party. docs/protocols/authenticated.md uses these words:
//!
//! ```text
//!   A = K_G + λ^G·Δ_G    B = M_E    A + B = λ·Δ_G
//!   C = K_E + λ^E·Δ_E    M = M_G    M + C = λ·Δ_E
//! ```
//!
//! Keys and MACs are in two separate lists, because most loops need only one of them.

use std::ops::{BitXor, Range};

use brickwork_base::Party;
use brickwork_base::label::{Delta, Label};
use bytemuck::{Pod, Zeroable};
use zeroize::Zeroize;

use crate::secrets::SecretBlocks;
use crate::words::add_where;

/// A party's key and MAC of one mask.
#[derive(Clone, Copy, Default, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub(super) struct Share {
    /// The key that checks the peer's bit: the peer's MAC if the bit is 0.
    pub key: Label,
    /// The MAC that proves this party's bit. Its last bit is this bit.
    pub mac: Label,
}

impl BitXor for Share {
    type Output = Share;
    fn bitxor(self, other: Share) -> Share {
        Share { key: self.key ^ other.key, mac: self.mac ^ other.mac }
    }
}

/// Selects the keys or the MACs.
#[derive(Clone, Copy)]
pub(super) enum ShareList {
    Keys,
    Macs,
}

impl ShareList {
    pub const BOTH: [Self; 2] = [ShareList::Keys, ShareList::Macs];
}

/// A party's keys and MACs of many masks, erased when dropped.
#[derive(Default)]
pub(super) struct MaskShares {
    pub keys: SecretBlocks<Label>,
    pub macs: SecretBlocks<Label>,
}

/// A borrowed part of [`MaskShares`].
#[derive(Clone, Copy)]
pub(super) struct ShareView<'a> {
    pub keys: &'a [Label],
    pub macs: &'a [Label],
}

impl<'a> ShareView<'a> {
    pub fn len(&self) -> usize {
        self.keys.len()
    }

    /// Returns the keys or the MACs.
    pub fn list(&self, list: ShareList) -> &'a [Label] {
        match list {
            ShareList::Keys => self.keys,
            ShareList::Macs => self.macs,
        }
    }

    /// Returns the shares at these places.
    pub fn some(&self, places: Range<usize>) -> ShareView<'a> {
        ShareView { keys: &self.keys[places.clone()], macs: &self.macs[places] }
    }
}

impl MaskShares {
    /// Makes an empty list with this capacity.
    pub fn with_capacity(count: usize) -> Self {
        MaskShares { keys: SecretBlocks::with_capacity(count), macs: SecretBlocks::with_capacity(count) }
    }

    /// Makes this many shares of zero words, which the caller adds to or overwrites.
    pub fn zeros(count: usize) -> Self {
        MaskShares { keys: SecretBlocks::zeros(count), macs: SecretBlocks::zeros(count) }
    }

    pub fn len(&self) -> usize {
        self.keys.len()
    }

    /// Returns all shares.
    pub fn all(&self) -> ShareView<'_> {
        ShareView { keys: &self.keys, macs: &self.macs }
    }

    /// Returns the keys or the MACs.
    pub fn list(&self, list: ShareList) -> &[Label] {
        self.all().list(list)
    }

    /// Returns the keys or the MACs for changes.
    pub fn list_mut(&mut self, list: ShareList) -> &mut SecretBlocks<Label> {
        match list {
            ShareList::Keys => &mut self.keys,
            ShareList::Macs => &mut self.macs,
        }
    }

    /// Returns the shares at these places.
    pub fn some(&self, places: Range<usize>) -> ShareView<'_> {
        ShareView { keys: &self.keys[places.clone()], macs: &self.macs[places] }
    }

    /// Visits all shares in order.
    pub fn each(&self) -> impl Iterator<Item = Share> + '_ {
        self.keys.iter().zip(self.macs.iter()).map(|(&key, &mac)| Share { key, mac })
    }

    /// Returns the share at this place.
    pub fn at(&self, place: usize) -> Share {
        Share { key: self.keys[place], mac: self.macs[place] }
    }

    /// Appends a share. There must be room for it, because a growing list would leave a copy of the secrets
    /// in freed memory.
    pub fn push(&mut self, share: Share) {
        self.keys.push(share.key);
        self.macs.push(share.mac);
    }

    /// Appends other shares. There must be room for them.
    pub fn extend(&mut self, others: ShareView<'_>) {
        self.keys.extend_from_slice(others.keys);
        self.macs.extend_from_slice(others.macs);
    }
}

/// A party and its secret offset, which is erased when dropped.
pub(super) struct OffsetOwner {
    pub role: Party,
    pub delta: Delta,
}

impl Drop for OffsetOwner {
    fn drop(&mut self) {
        self.delta.zeroize();
    }
}

impl OffsetOwner {
    /// Returns ⌊Δ⌋: the offset with last bit 0.
    pub fn floor(&self) -> Label {
        self.delta.label().with_colour(0)
    }

    /// Returns the share of the public mask 1: the garbler's bit is 1, and the evaluator's key matches this
    /// bit.
    pub fn one(&self) -> Share {
        match self.role {
            Party::Garbler => Share { key: Label::ZERO, mac: Label::from_bits(1) },
            Party::Evaluator => Share { key: self.floor(), mac: Label::ZERO },
        }
    }

    /// Adds public bits to the masks at these places.
    pub fn add_public(&self, shares: &mut MaskShares, places: Range<usize>, bits: &[u8]) {
        match self.role {
            Party::Garbler => add_where(&mut shares.macs[places], Label::from_bits(1), bits),
            Party::Evaluator => add_where(&mut shares.keys[places], self.floor(), bits),
        }
    }

    /// Returns the MAC of the peer's share under this key if the share is `bit`.
    pub fn expected(&self, key: Label, bit: u8) -> Label {
        key ^ self.delta.times(bit)
    }

    /// Returns the word A or C: added to the peer's MAC, it gives the mask times this party's offset.
    pub fn own(&self, share: Share) -> Label {
        share.key ^ self.delta.times(share.mac.colour())
    }

    /// Returns Θ: this party's offset. The evaluator's Θ ends in 0.
    pub fn difference(&self) -> Label {
        match self.role {
            Party::Garbler => self.delta.label(),
            Party::Evaluator => self.floor(),
        }
    }
}

/// A dealer for tests, which knows all masks and deals shares to both parties.
#[cfg(test)]
pub(super) mod dealer {
    use super::*;
    use brickwork_base::random::Rng;

    /// Makes two parties with random offsets.
    pub fn owners(rng: &mut Rng) -> [OffsetOwner; 2] {
        [Party::Garbler, Party::Evaluator].map(|role| OffsetOwner { role, delta: rng.delta() })
    }

    /// Deals shares of this mask.
    pub fn deal(rng: &mut Rng, [garbler, evaluator]: &[OffsetOwner; 2], mask: u8) -> [Share; 2] {
        let own = rng.below(2) as u8;
        let bits = [own, own ^ mask];
        let keys = [rng.label().with_colour(0), rng.label().with_colour(0)];
        [
            Share { key: keys[0], mac: evaluator.expected(keys[1], bits[0]) },
            Share { key: keys[1], mac: garbler.expected(keys[0], bits[1]) },
        ]
    }

    /// Returns whether these shares are a valid sharing of this mask.
    pub fn is_good([garbler, evaluator]: &[OffsetOwner; 2], shares: [Share; 2], mask: u8) -> bool {
        garbler.own(shares[0]) ^ shares[1].mac == garbler.delta.times(mask)
            && shares[0].mac ^ evaluator.own(shares[1]) == evaluator.delta.times(mask)
            && shares.iter().all(|share| share.key.colour() == 0)
            && shares[0].mac.colour() ^ shares[1].mac.colour() == mask
    }
}

#[cfg(test)]
mod tests {
    use super::dealer::{deal, is_good, owners};
    use super::*;
    use brickwork_base::random::Rng;
    use brickwork_testing::Replayable as _;

    #[test]
    fn masks_are_linear() {
        let mut rng = Rng::replayable("test shares");
        for _ in 0..200 {
            let both = owners(&mut rng);
            let [a, b, flip] = [0; 3].map(|_| rng.below(2) as u8);
            let (of_a, of_b) = (deal(&mut rng, &both, a), deal(&mut rng, &both, b));
            assert!(is_good(&both, of_a, a) && !is_good(&both, of_a, a ^ 1));
            assert!(is_good(&both, [0, 1].map(|p| of_a[p] ^ of_b[p]), a ^ b));
            assert!(is_good(&both, [0, 1].map(|p| of_a[p] ^ both[p].one()), a ^ 1));
            let flipped = [0, 1].map(|p| {
                let mut shares = MaskShares::with_capacity(1);
                shares.push(of_a[p]);
                both[p].add_public(&mut shares, 0..1, &[flip]);
                shares.at(0)
            });
            assert!(is_good(&both, flipped, a ^ flip));
            for p in [0, 1] {
                let bit = of_a[1 - p].mac.colour();
                assert!(both[p].expected(of_a[p].key, bit) == of_a[1 - p].mac);
                assert!(both[p].expected(of_a[p].key, bit ^ 1) != of_a[1 - p].mac);
            }
        }
    }
}
