//! Which two stores belong together: compared before anything else, so that an innocent mistake burns
//! nothing.
//!
//! Two stores that meet for the first time get an identifier in common, to which both parties contribute, and
//! both keep it: a store may know several peers, each by an identifier of its own. Stores that do not know
//! each other by the same one are refused as long as either holds something for this peer: one of them is
//! another folder, an empty one, or somebody else's. Where neither holds anything they get to know each other
//! anew, so a crash that left the identifier with one party alone costs nothing.
//!
//! The identifier is no secret from the peer and proves nothing. Who lies about it is refused, or is treated
//! like the store that it claims to have: whether an old copy of *that* one was brought back is for the logs
//! to tell.

use serde::{Deserialize, Serialize};

use brickwork_base::Party;

/// Identifies a pair of stores to both parties.
pub type PairId = [u8; 32];

/// Whose stores a pair is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Relation {
    /// This party's role.
    pub role: Party,
    /// The public keys of the garbler and the evaluator.
    pub identities: [[u8; 32]; 2],
}

/// What a party tells of its store before anything else.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Acquaintance {
    /// The pair by which it knows the peer's store.
    pub pair: Option<PairId>,
    /// Whether there is something in it that was made with this peer and is neither burned nor used up.
    pub holds: bool,
}

/// How two stores meet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Meeting {
    /// They know each other.
    Known,
    /// They do not, and hold nothing that could be lost: they get an identifier.
    New,
    /// They do not belong together.
    Strangers,
}

/// Bytes of an [`Acquaintance`].
pub const ACQUAINTANCE_BYTES: usize = 33;

/// Bytes of the message in which a party describes its store: an [`Acquaintance`], and the maximum age of
/// epochs.
pub const PAIR_BYTES: usize = ACQUAINTANCE_BYTES + size_of::<u64>();

impl Acquaintance {
    /// Returns how this party's store and the peer's meet; the peer comes to the same.
    pub fn meets(&self, peer: &Acquaintance) -> Meeting {
        match (self.pair, peer.pair) {
            (Some(mine), Some(theirs)) if mine == theirs => Meeting::Known,
            _ if self.holds || peer.holds => Meeting::Strangers,
            _ => Meeting::New,
        }
    }

    /// Returns what is sent: the identifier, or zeros, and whether there is something.
    pub fn to_bytes(self) -> [u8; ACQUAINTANCE_BYTES] {
        let mut bytes = [0; ACQUAINTANCE_BYTES];
        bytes[..32].copy_from_slice(&self.pair.unwrap_or_default());
        bytes[32] = self.holds.into();
        bytes
    }

    /// Returns what a peer sent, unless it is malformed.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (pair, [holds @ 0..=1]) = bytes.split_first_chunk::<32>()? else { return None };
        Some(Acquaintance { pair: (*pair != [0; 32]).then_some(*pair), holds: *holds == 1 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Both come to the same, whatever they have; where something could be lost, only those that know each
    /// other go on.
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
                    (true, _) => Meeting::Known,
                    (false, true) => Meeting::Strangers,
                    (false, false) => Meeting::New,
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
