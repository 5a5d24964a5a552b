//! The results of runs, by the id of the request. If a user's connection breaks before the answer, the user
//! can repeat the request, and the program does not run again.
//!
//! Results are notes in the index of the store, and are sealed like its other rows. A result is on the disk
//! before the answer is sent. Only the last results are kept.

use std::collections::BTreeMap;

use brickwork::ProtocolError;
use brickwork::disk::{Note, Store};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The beginning of the key of a note about a result. A hash of the program and the id follows.
const KEY: &[u8] = b"serve result ";

/// The number of results that are kept.
const KEPT: usize = 1000;

/// The name of a run: its program, and the request that it is for. A request without an id gets one that no
/// user can choose.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Which {
    pub digest: [u8; 32],
    pub id: String,
}

/// A result, with a hash of this party's input from which it was computed and of the token.
#[derive(Serialize, Deserialize)]
struct Kept {
    /// The result's number. The oldest result is removed first.
    number: u64,
    input: [u8; 32],
    outputs: String,
}

/// The result of searching for a requested run.
#[derive(Debug, PartialEq)]
pub enum FoundRun {
    /// The program did not run, or its result was removed.
    Nothing,
    /// The program ran with this input, and this is the result.
    Outputs(Value),
    /// The program ran with another input, or for the holder of another token.
    OtherInput,
}

/// The results of the last runs.
pub struct Results {
    store: Store,
    /// The keys of the notes, by the numbers of their results.
    keys: BTreeMap<u64, Vec<u8>>,
}

fn key(which: &Which) -> Vec<u8> {
    let named = [&which.digest, which.id.as_bytes()].concat();
    [KEY, &blake3::derive_key("brickwork 2026-11 serve result", &named)].concat()
}

/// Hashes an input together with the name of the token, because the holder of another token must not get the
/// result.
fn hash(input: &[bool], token: &str) -> [u8; 32] {
    let bits = input.iter().map(|&bit| u8::from(bit)).chain([2]).chain(token.bytes());
    let bytes = zeroize::Zeroizing::new(bits.collect::<Vec<u8>>());
    blake3::derive_key("brickwork 2026-11 serve input", &bytes)
}

impl Results {
    /// Reads the results of a store.
    ///
    /// # Errors
    /// [`ProtocolError::Stock`] if it cannot be read or was altered.
    pub fn open(store: &Store) -> Result<Self, ProtocolError> {
        let notes = store.notes::<Kept>(KEY)?.into_iter();
        Ok(Results { store: store.clone(), keys: notes.map(|(key, kept)| (kept.number, key)).collect() })
    }

    /// Looks for the result of a run.
    ///
    /// # Errors
    /// As [`Results::open`].
    pub fn find(&self, which: &Which, input: &[bool], token: &str) -> Result<FoundRun, ProtocolError> {
        let damaged = |_| ProtocolError::Stock("the index contains an invalid result".into());
        match self.store.read_note::<Kept>(&key(which))? {
            None => Ok(FoundRun::Nothing),
            Some(kept) if kept.input != hash(input, token) => Ok(FoundRun::OtherInput),
            Some(kept) => serde_json::from_str(&kept.outputs).map(FoundRun::Outputs).map_err(damaged),
        }
    }

    /// Keeps the outputs of a run. The outputs are on the disk when this function returns.
    ///
    /// # Errors
    /// [`ProtocolError::Stock`] if it cannot be written.
    pub fn keep(
        &mut self,
        which: &Which,
        input: &[bool],
        token: &str,
        outputs: &Value,
    ) -> Result<(), ProtocolError> {
        let (key, number) = (key(which), self.keys.last_key_value().map_or(0, |(last, _)| last + 1));
        let kept = Kept { number, input: hash(input, token), outputs: outputs.to_string() };
        let mut keys = self.keys.clone();
        keys.retain(|_, other| *other != key);
        let mut notes = vec![self.store.note(&key, &kept)?];
        while keys.len() >= KEPT
            && let Some((_, oldest)) = keys.pop_first()
        {
            notes.push(Note::removed(&oldest));
        }
        self.store.write_notes(notes)?;
        keys.insert(number, key);
        self.keys = keys;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use brickwork::disk::StoreKey;
    use serde_json::json;

    /// After a restart, a result is found for the same program, id and input. Only the last results are kept.
    #[test]
    fn the_last_results_are_kept() {
        let folder = tempfile::tempdir().unwrap();
        let open = || Store::open(folder.path(), &StoreKey::from_bytes([7; 32])).unwrap();
        let which = |digest: u8, id: &str| Which { digest: [digest; 32], id: id.into() };
        let mut results = Results::open(&open()).unwrap();
        results.keep(&which(1, "=a"), &[true], "t", &json!(1)).unwrap();
        results.keep(&which(1, "=a"), &[false], "t", &json!(2)).unwrap();
        results.keep(&which(2, "=a"), &[true], "t", &json!({ "x": 3 })).unwrap();
        drop(results);
        let mut results = Results::open(&open()).unwrap();
        let find =
            |results: &Results, digest, id, input| results.find(&which(digest, id), &[input], "t").unwrap();
        assert_eq!(find(&results, 1, "=a", true), FoundRun::OtherInput);
        assert_eq!(results.find(&which(1, "=a"), &[false], "other").unwrap(), FoundRun::OtherInput);
        assert_eq!(find(&results, 1, "=a", false), FoundRun::Outputs(json!(2)));
        assert_eq!(find(&results, 2, "=a", true), FoundRun::Outputs(json!({ "x": 3 })));
        assert_eq!(find(&results, 2, "=b", true), FoundRun::Nothing);
        // The test adds keys, as if there were many results.
        results.keys.extend((10..8 + KEPT as u64).map(|number| (number, number.to_le_bytes().to_vec())));
        results.keep(&which(3, "=c"), &[true], "t", &json!(4)).unwrap();
        assert_eq!(results.keys.len(), KEPT);
        assert_eq!(find(&results, 1, "=a", false), FoundRun::Nothing, "it was the oldest");
        assert_eq!(find(&results, 2, "=a", true), FoundRun::Outputs(json!({ "x": 3 })));
    }
}
