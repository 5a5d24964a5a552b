//! Keys that change with each log entry, so that the keys that remain after an entry do not reveal the
//! streams of that entry.

use serde::{Deserialize, Serialize};
use zeroize::{Zeroize, ZeroizeOnDrop, Zeroizing};

use super::index::encoded_secret;
use brickwork_base::Error;

/// Keys of streams. From one entry of an epoch's log to the next, each key is replaced by its hash. So the
/// keys of an entry give the keys of all later entries, and of no earlier one.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize, Zeroize, ZeroizeOnDrop)]
pub struct Forward {
    entry: u64,
    keys: Vec<u128>,
}

impl std::fmt::Debug for Forward {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Forward").field("entry", &self.entry).finish_non_exhaustive()
    }
}

impl Forward {
    /// Makes the keys of a setup, whose entry is number 0.
    pub fn of_setup(keys: Vec<u128>) -> Self {
        Forward { entry: 0, keys }
    }

    /// Returns the number of the entry to which these keys belong.
    pub fn entry(&self) -> u64 {
        self.entry
    }

    /// Returns the keys.
    pub fn keys(&self) -> &[u128] {
        &self.keys
    }

    /// Returns whether there are no keys.
    pub fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    /// Replaces the keys by those of a later entry, or keeps them if it is the same entry.
    ///
    /// # Errors
    /// [`Error::Usage`] for an earlier entry, whose keys are erased.
    pub fn go_to(&mut self, entry: u64) -> Result<(), Error> {
        if entry < self.entry {
            return Err(Error::Usage(format!(
                "the keys of log entry {entry} were erased; only the keys from entry {} on exist",
                self.entry
            )));
        }
        for number in self.entry..entry {
            self.keys.iter_mut().for_each(|key| *key = next(*key, number));
        }
        self.entry = entry;
        Ok(())
    }

    /// Returns the keys of the next entry, for a store.
    pub fn behind(&self) -> Self {
        let mut behind = self.clone();
        behind.go_to(self.entry + 1).expect("the next entry is later");
        behind
    }

    /// Joins keys of the same entry.
    ///
    /// # Panics
    /// If they belong to different entries.
    pub fn join(parts: impl IntoIterator<Item = Forward>) -> Self {
        let parts: Vec<Forward> = parts.into_iter().collect();
        let entry = parts.first().map_or(0, Forward::entry);
        assert!(parts.iter().all(|part| part.entry == entry), "all keys must belong to the same log entry");
        // The full length is allocated, because a growing vector leaves copies of keys behind.
        let mut keys = Vec::with_capacity(parts.iter().map(|part| part.keys.len()).sum());
        parts.iter().for_each(|part| keys.extend_from_slice(&part.keys));
        Forward { entry, keys }
    }

    /// Splits the keys into parts of these lengths.
    ///
    /// # Errors
    /// [`Error::Stock`] if the number of keys differs.
    pub fn split(&self, lengths: &[usize]) -> Result<Vec<Self>, Error> {
        if lengths.iter().sum::<usize>() != self.keys.len() {
            return Err(Error::Stock(
                "the stored secrets of this session have another number of keys than this release expects"
                    .into(),
            ));
        }
        let mut rest = &self.keys[..];
        let part = |&length: &usize| {
            let (here, behind) = rest.split_at(length);
            rest = behind;
            Forward { entry: self.entry, keys: here.to_vec() }
        };
        Ok(lengths.iter().map(part).collect())
    }
}

/// Returns the key that follows the one of this entry.
fn next(key: u128, entry: u64) -> u128 {
    const KEY: &[u8; 32] = b"brickwork 2026-11 stock: forward";
    let mut message = [0; 24];
    message[..16].copy_from_slice(&key.to_le_bytes());
    message[16..].copy_from_slice(&entry.to_le_bytes());
    let hash = Zeroizing::new(*blake3::keyed_hash(KEY, &message).as_bytes());
    message.zeroize();
    u128::from_le_bytes(*hash.first_chunk().expect("32 bytes"))
}

/// The secrets of an epoch, as a store keeps them.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize, Zeroize, ZeroizeOnDrop)]
pub struct EpochSecrets {
    /// The secrets that do not change, in the protocol's encoding.
    pub fixed: Vec<u8>,
    /// The keys of the first entry whose streams may still be used.
    pub forward: Forward,
}

impl EpochSecrets {
    /// Makes secrets from the fixed part, which is encoded, and the keys.
    pub fn new(fixed: &impl Serialize, forward: Forward) -> Self {
        let mut fixed = encoded_secret(fixed);
        EpochSecrets { fixed: std::mem::take(&mut fixed), forward }
    }

    /// Makes secrets that have no keys.
    pub fn fixed(bytes: &[u8]) -> Self {
        EpochSecrets { fixed: bytes.to_vec(), forward: Forward::default() }
    }
}

impl std::fmt::Debug for EpochSecrets {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Secrets(secret)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Several single steps forward give the same keys as one large step, and no step goes back.
    #[test]
    fn keys_go_forward_only() {
        let keys = vec![3, 4, 3];
        let (mut steps, mut leap) = (Forward::of_setup(keys.clone()), Forward::of_setup(keys.clone()));
        let mut seen = std::collections::HashSet::from([keys.clone()]);
        for entry in 1..=5 {
            steps = steps.behind();
            assert!(seen.insert(steps.keys().to_vec()) && steps.entry() == entry);
            assert_eq!((steps.keys[0], steps.keys[0] != steps.keys[1]), (steps.keys[2], true));
        }
        leap.go_to(5).unwrap();
        assert_eq!(leap, steps);
        leap.go_to(5).unwrap();
        assert_eq!(leap, steps);
        assert!(matches!(leap.go_to(4), Err(Error::Usage(_))));
        assert_eq!(leap, steps);
        // If the same key occurs at two entries, different keys follow.
        assert_ne!(next(3, 0), next(3, 1));
    }

    #[test]
    fn joined_keys_are_taken_apart_again() {
        let parts = [vec![1, 2], vec![], vec![3]].map(Forward::of_setup);
        let all = Forward::join(parts.clone());
        assert_eq!(all.keys(), [1, 2, 3]);
        assert_eq!(all.split(&[2, 0, 1]).unwrap(), parts);
        for lengths in [&[2, 0][..], &[2, 2], &[]] {
            assert!(matches!(all.split(lengths), Err(Error::Stock(_))));
        }
    }
}
