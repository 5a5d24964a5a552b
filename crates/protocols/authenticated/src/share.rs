//! Authenticated masks: a random bit of which either party has a share that it cannot deny.
//!
//! ```text
//!   ⟨λ⟩, λ = λ^G + λ^E     garbler (A, M)     evaluator (C, B)        each the words (key, mac)
//!   A + B = λ·Δ_G          M + C = λ·Δ_E      lsb(A) = lsb(M) = λ^G   lsb(B) = lsb(C) = λ^E
//! ```
//!
//! A party's *key* is the word under its own offset, its *mac* the one under the peer's: what the peer can
//! check. Sums of masks are sums of words, for either party.

use std::ops::BitXor;

use crate::secrets::Secrets;
use brickwork_base::Party;
use brickwork_base::label::{Delta, Label};
use bytemuck::{Pod, Zeroable};
use zeroize::Zeroize;

/// A party's words of a mask.
#[derive(Clone, Copy, Default, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct Share {
    /// Under this party's offset.
    pub key: Label,
    /// Under the peer's.
    pub mac: Label,
}

/// Shares that are erased when dropped.
pub type Shares = Secrets<Share>;

impl Share {
    /// Returns this party's bit of the mask.
    pub fn bit(&self) -> u8 {
        self.mac.colour()
    }

    /// Returns the share if `bit` is 1, that of no mask if it is 0; in constant time.
    pub fn times(&self, bit: u8) -> Share {
        Share { key: self.key.times(bit), mac: self.mac.times(bit) }
    }
}

impl BitXor for Share {
    type Output = Share;
    fn bitxor(self, other: Share) -> Share {
        Share { key: self.key ^ other.key, mac: self.mac ^ other.mac }
    }
}

/// A party, and the offset that only it knows, which is erased when dropped.
pub struct Owner {
    /// Which one it is.
    pub role: Party,
    /// Its offset.
    pub delta: Delta,
}

impl Drop for Owner {
    fn drop(&mut self) {
        self.delta.zeroize();
    }
}

impl Owner {
    /// Returns the share of a mask of correlated OTs both ways: the word that this party sent for choice 0,
    /// its own choice and what it received. The last bits are written, which makes those of both offsets 1
    /// whatever a sender chose.
    pub fn share(&self, sent: Label, bit: u8, received: Label) -> Share {
        Share { key: sent.with_colour(0) ^ self.delta.times(bit), mac: received.with_colour(bit) }
    }

    /// Returns the share of the mask plus a public bit.
    pub fn plus(&self, share: Share, bit: u8) -> Share {
        let one = match self.role {
            Party::Garbler => Share { key: self.delta.label(), mac: Label::from_bits(1) },
            Party::Evaluator => Share { key: self.delta.label().with_colour(0), mac: Label::ZERO },
        };
        share ^ one.times(bit)
    }

    /// Returns the peer's mac of a mask that is `value`.
    pub fn expected(&self, share: Share, value: u8) -> Label {
        share.key ^ self.delta.times(value)
    }

    /// Returns a word whose sum over both parties is the mask times the sum of their [`Owner::difference`]s:
    /// the last bits add up to the mask.
    pub fn word(&self, share: Share) -> Label {
        match self.role {
            Party::Garbler => share.key ^ share.mac.with_colour(0),
            Party::Evaluator => share.mac ^ share.key.with_colour(0),
        }
    }

    /// Returns Θ: the offset, which at the evaluator ends in 0.
    pub fn difference(&self) -> Label {
        match self.role {
            Party::Garbler => self.delta.label(),
            Party::Evaluator => self.delta.label().with_colour(0),
        }
    }
}

/// A dealer: both parties' shares of masks that it knows, for tests.
#[cfg(test)]
pub mod dealer {
    use super::*;
    use brickwork_base::random::Rng;

    /// Makes two parties with random offsets.
    pub fn owners(rng: &mut Rng) -> [Owner; 2] {
        [Party::Garbler, Party::Evaluator].map(|role| Owner { role, delta: rng.delta() })
    }

    /// Deals shares of this mask.
    pub fn deal(rng: &mut Rng, [garbler, evaluator]: &[Owner; 2], mask: u8) -> [Share; 2] {
        let own = rng.below(2) as u8;
        let bits = [own, own ^ mask];
        let sent = [rng.label().with_colour(0), rng.label().with_colour(0)];
        [
            garbler.share(sent[0], bits[0], sent[1] ^ evaluator.delta.times(bits[0])),
            evaluator.share(sent[1], bits[1], sent[0] ^ garbler.delta.times(bits[1])),
        ]
    }

    /// Returns whether these are shares of this mask.
    pub fn is_good([garbler, evaluator]: &[Owner; 2], shares: [Share; 2], mask: u8) -> bool {
        shares[0].key ^ shares[1].mac == garbler.delta.times(mask)
            && shares[0].mac ^ shares[1].key == evaluator.delta.times(mask)
            && shares.iter().all(|share| share.key.colour() == share.mac.colour())
            && shares[0].bit() ^ shares[1].bit() == mask
    }
}

#[cfg(test)]
mod tests {
    use super::dealer::{deal, is_good, owners};
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
            assert!(is_good(&both, [0, 1].map(|p| of_a[p].times(flip)), a & flip));
            assert!(is_good(&both, [0, 1].map(|p| both[p].plus(of_a[p], flip)), a ^ flip));
            for p in [0, 1] {
                assert!(both[p].expected(of_a[p], a) == of_a[1 - p].mac);
                assert!(both[p].expected(of_a[p], a ^ 1) != of_a[1 - p].mac);
            }
            let words = [0, 1].map(|p| both[p].word(of_a[p]));
            let theta = both[0].difference() ^ both[1].difference();
            assert!(words[0] ^ words[1] == theta.times(a) && theta.colour() == 1);
        }
    }
}
