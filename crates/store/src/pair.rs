//! Pairs of stores that belong together. Two stores are compared before anything else, so that a user's
//! mistake burns nothing.
//!
//! Two stores that meet for the first time get a common identifier. Both parties contribute to it and store
//! it. A store has another identifier for each peer. Stores with different identifiers are refused as long as
//! either of them has stock for this peer: one of them is the wrong folder, an empty one, or belongs to
//! another party. If neither has stock for the other, they become a new pair. So a crash after which only one
//! party has the identifier costs nothing.
//!
//! The identifier is no secret to the peer and proves nothing. A peer that sends a wrong identifier is
//! refused, or treated like the store that it claims to have. The logs decide whether an old copy of *that*
//! store was restored.

use serde::{Deserialize, Serialize};

use brickwork_base::Party;

/// Identifies a pair of stores to both parties.
pub type PairId = [u8; 32];

/// The two parties whose stores form a pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Relation {
    /// This party's role.
    pub role: Party,
    /// The public keys of the garbler and the evaluator.
    pub identities: [[u8; 32]; 2],
}

/// The first message of a party about its store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Acquaintance {
    /// The pair of this store with the peer's store, if there is one.
    pub pair: Option<PairId>,
    /// True if the store has stock that was made with this peer and is neither burned nor used up.
    pub holds: bool,
}

/// The result of comparing two stores.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StorePairing {
    /// The two stores are a pair.
    Known,
    /// The two stores are no pair and hold nothing that could be lost, so they get an identifier.
    New,
    /// The two stores do not belong together.
    Strangers,
}

/// Bytes of an [`Acquaintance`].
pub const ACQUAINTANCE_BYTES: usize = 33;

/// Bytes of the message in which a party describes its store: an [`Acquaintance`], and the maximum age of
/// epochs.
pub const PAIR_BYTES: usize = ACQUAINTANCE_BYTES + size_of::<u64>();

impl Acquaintance {
    /// Compares this party's store with the peer's; the peer gets the same result.
    pub fn meets(&self, peer: &Acquaintance) -> StorePairing {
        match (self.pair, peer.pair) {
            (Some(mine), Some(theirs)) if mine == theirs => StorePairing::Known,
            _ if self.holds || peer.holds => StorePairing::Strangers,
            _ => StorePairing::New,
        }
    }

    /// Returns the message: the identifier, or zeros, and whether the store holds something.
    pub fn to_bytes(self) -> [u8; ACQUAINTANCE_BYTES] {
        let mut bytes = [0; ACQUAINTANCE_BYTES];
        bytes[..32].copy_from_slice(&self.pair.unwrap_or_default());
        bytes[32] = self.holds.into();
        bytes
    }

    /// Reads the message of a peer, unless it is malformed.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (pair, [holds @ 0..=1]) = bytes.split_first_chunk::<32>()? else { return None };
        Some(Acquaintance { pair: (*pair != [0; 32]).then_some(*pair), holds: *holds == 1 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Both parties get the same result in all cases. If stock could be lost, only stores that are a pair
    /// continue.
    #[test]
    fn rows_24_and_25_only_a_pair_goes_on_where_something_could_be_lost() {
        let pairs = [None, Some([1; 32]), Some([2; 32])];
        let all = pairs.into_iter().flat_map(|pair| [false, true].map(|holds| Acquaintance { pair, holds }));
        for mine in all.clone() {
            for theirs in all.clone() {
                let meeting = mine.meets(&theirs);
                assert_eq!(meeting, theirs.meets(&mine));
                let know = mine.pair.is_some() && mine.pair == theirs.pair;
                let expected = match (know, mine.holds || theirs.holds) {
                    (true, _) => StorePairing::Known,
                    (false, true) => StorePairing::Strangers,
                    (false, false) => StorePairing::New,
                };
                assert_eq!(meeting, expected, "{mine:?} {theirs:?}");
                let text = brickwork_base::Strangers { mine: mine.pair, theirs: theirs.pair }.to_string();
                for (id, name) in [([1; 32], "010101010101"), ([2; 32], "020202020202")] {
                    assert_eq!(text.contains(name), [mine.pair, theirs.pair].contains(&Some(id)), "{text}");
                }
            }
        }
    }

    #[test]
    fn row_18_what_a_peer_tells_of_its_store_has_one_form() {
        for pair in [None, Some([7; 32])] {
            for holds in [false, true] {
                let told = Acquaintance { pair, holds };
                assert_eq!(Acquaintance::from_bytes(&told.to_bytes()), Some(told));
            }
        }
        let bytes = Acquaintance { pair: Some([7; 32]), holds: true }.to_bytes();
        for wrong in [&bytes[..32], &[&bytes[..], &[0]].concat(), &[&bytes[..32], &[2]].concat(), &[]] {
            assert_eq!(Acquaintance::from_bytes(wrong), None);
        }
    }
}
