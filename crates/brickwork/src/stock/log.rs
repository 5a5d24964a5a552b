//! The log of an epoch: what is burned follows from it and from nothing else.
//!
//! Both parties append the same *shared* entries, before they do what the entry says; a hash chain runs over them. An
//! item is fresh until an entry that takes it is in the log, and burned from then on. The other entries are a party's
//! own notes.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::Error;

/// Identifies an epoch to both parties; random, fixed at its setup.
pub type EpochId = [u8; 32];

/// Hash over all shared entries so far.
pub type Head = [u8; 32];

/// Number of a batch: unique in its epoch and the same at both parties.
pub type Serial = u64;

/// What happened in an epoch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Entry {
    /// Shared: something is preprocessed. The digest names the request.
    Fill([u8; 32]),
    /// Shared: a program takes what it needs.
    Use {
        /// Digest of the program.
        program: [u8; 32],
        /// How many items it takes of which batch, each from where the last one ended.
        taken: Vec<(Serial, u32)>,
    },
    /// The peer has said that it has all entries so far.
    Confirmed,
    /// Nothing of the epoch may be used any more, and why.
    Burned(String),
}

impl Entry {
    fn is_shared(&self) -> bool {
        matches!(self, Entry::Fill(_) | Entry::Use { .. })
    }
}

/// Where an epoch stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct State {
    head: Head,
    /// The head before the last shared entry.
    before: Head,
    shared: u64,
    last: Option<Entry>,
    confirmed: bool,
    used: bool,
    burned: Option<String>,
    next: BTreeMap<Serial, u64>,
}

impl State {
    /// An epoch in which nothing has happened.
    pub fn new(id: &EpochId) -> Self {
        let head = blake3::derive_key("brickwork 2026-11 stock epoch", id);
        State { head, before: head, shared: 0, last: None, confirmed: true, used: false, burned: None, next: BTreeMap::new() }
    }

    /// What the entry makes of the state. Nothing follows a burned epoch, and no cursor ever goes back.
    ///
    /// # Errors
    /// [`Error::Stock`] if the entry cannot follow.
    pub fn apply(&mut self, entry: &Entry) -> Result<(), Error> {
        if let Some(why) = &self.burned {
            return Err(Error::Stock(format!("this part of it was burned: {why}")));
        }
        match entry {
            Entry::Confirmed => self.confirmed = true,
            Entry::Burned(why) => self.burned = Some(why.clone()),
            Entry::Fill(_) if self.used => {
                return Err(Error::Stock("nothing is added to an epoch after its first input".into()));
            }
            Entry::Fill(_) => self.extend(entry),
            Entry::Use { taken, .. } => {
                let mut next = self.next.clone();
                for (serial, count) in taken {
                    let cursor = next.entry(*serial).or_default();
                    *cursor = cursor.checked_add(u64::from(*count)).ok_or_else(|| Error::Stock("a cursor overflows".into()))?;
                }
                (self.next, self.used) = (next, true);
                self.extend(entry);
            }
        }
        Ok(())
    }

    fn extend(&mut self, entry: &Entry) {
        let bytes = postcard::to_stdvec(entry).expect("an entry can be encoded");
        let mut hasher = blake3::Hasher::new_derive_key("brickwork 2026-11 stock chain");
        hasher.update(&self.head).update(&bytes);
        (self.before, self.head) = (self.head, *hasher.finalize().as_bytes());
        self.shared += 1;
        self.last = Some(entry.clone());
        self.confirmed = false;
    }

    /// The hash over the shared entries.
    pub fn head(&self) -> &Head {
        &self.head
    }

    /// Number of shared entries. Each names a range of counters of its own, so that no stream of the epoch is used twice.
    pub fn shared(&self) -> u64 {
        self.shared
    }

    /// Whether an input has been used in this epoch.
    pub fn is_used(&self) -> bool {
        self.used
    }

    /// Why the epoch must not be used, if so.
    pub fn burned(&self) -> Option<&str> {
        self.burned.as_deref()
    }

    /// Items of a batch that are gone; all that follow are fresh.
    pub fn gone(&self, serial: Serial) -> u64 {
        self.next.get(&serial).copied().unwrap_or(0)
    }

    /// What a peer is told of this state.
    pub fn standing(&self) -> Standing {
        let last = self.last.clone().filter(|_| !self.confirmed).map(|entry| (self.before, entry));
        Standing { head: self.head, last }
    }

    /// How this state and a peer's go together.
    pub fn compare(&self, peer: &Standing) -> Verdict {
        if peer.head == self.head {
            return Verdict::Same;
        }
        // The peer wrote an entry that a crash kept this party from writing. To burn what it names is always safe.
        if let Some((before, entry)) = &peer.last
            && *before == self.head
            && entry.is_shared()
        {
            let mut next = self.clone();
            if next.apply(entry).is_ok() && next.head == peer.head {
                return Verdict::Behind(entry.clone());
            }
        }
        if !self.confirmed && self.last.is_some() && peer.head == self.before {
            return Verdict::Ahead;
        }
        Verdict::Apart
    }
}

/// What a party tells about an epoch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Standing {
    /// The head of its chain.
    pub head: Head,
    /// The last shared entry and the head before it, if the party does not know that the peer has it too.
    pub last: Option<(Head, Entry)>,
}

/// How two parties' states of an epoch go together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// They are the same.
    Same,
    /// The peer has written one entry more, which must be written here too.
    Behind(Entry),
    /// The peer lacks the last entry and will write it.
    Ahead,
    /// One of them is a copy, an old state, or somebody else's.
    Apart,
}
