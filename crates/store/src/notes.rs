//! Notes of the process that has opened the store: its own rows in the index. They are encrypted and durable
//! like all other rows. A service keeps its budgets in notes, so that nobody can reset them without losing
//! the stock.

use std::sync::PoisonError;

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::index::{NOTES, RowChange};
use super::store::Store;
use brickwork_base::Error;

/// A note to write or to remove.
pub struct Note(RowChange);

impl Note {
    /// Makes the removal of a note.
    pub fn removed(key: &[u8]) -> Self {
        Note((NOTES, key.to_vec(), None))
    }
}

impl Store {
    /// Seals a note under this key. The note is stored when [`Store::write_notes`] has returned.
    ///
    /// # Errors
    /// [`Error::Resource`] if the operating system gives no randomness.
    pub fn note(&self, key: &[u8], value: &impl Serialize) -> Result<Note, Error> {
        self.sealed(NOTES, key.to_vec(), value).map(Note)
    }

    /// Writes notes in one durable transaction: all of them or none.
    ///
    /// # Errors
    /// [`Error::Stock`] if the disk fails. Afterwards nothing can be written to the store until it is opened
    /// again.
    pub fn write_notes(&self, notes: Vec<Note>) -> Result<(), Error> {
        let _changing = self.change()?;
        let rows: Vec<RowChange> = notes.into_iter().map(|Note(row)| row).collect();
        self.write(&rows)
    }

    /// Adds notes to the next transaction of this store, whatever its purpose. So the notes need no
    /// transaction of their own, and are on disk as soon as any later change is. Until then they are only in
    /// memory, and [`Store::read_note`] does not find them.
    ///
    /// # Errors
    /// [`Error::Stock`] if nothing can be written to the store any more.
    pub fn write_notes_behind(&self, notes: Vec<Note>) -> Result<(), Error> {
        self.sound()?;
        let mut behind = self.shared.behind.lock().unwrap_or_else(PoisonError::into_inner);
        behind.extend(notes.into_iter().map(|Note(row)| row));
        Ok(())
    }

    /// Returns the note under this key.
    ///
    /// # Errors
    /// [`Error::Stock`] if the index cannot be read or was altered, or the note has another form.
    pub fn read_note<T: DeserializeOwned>(&self, key: &[u8]) -> Result<Option<T>, Error> {
        self.row(NOTES, key)
    }

    /// Returns the notes whose keys begin with `prefix`, in the order of their keys.
    ///
    /// # Errors
    /// As [`Store::read_note`].
    pub fn notes<T: DeserializeOwned>(&self, prefix: &[u8]) -> Result<Vec<(Vec<u8>, T)>, Error> {
        let rows = self.between(NOTES, prefix, None)?.into_iter();
        let opened = rows.map(|(key, row)| {
            let note = self.open_row(NOTES, &key, &row)?;
            Ok((key, note))
        });
        opened.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::StoreKey;

    /// Notes outlive the process, are written together, and are sealed.
    #[test]
    fn notes_are_kept() {
        let folder = tempfile::tempdir().unwrap();
        let open = || Store::open(folder.path(), &StoreKey::from_bytes([7; 32])).unwrap();
        let store = open();
        let note = |key: &[u8], value: &str| store.note(key, &value).unwrap();
        store.write_notes(vec![note(b"b1", "one"), note(b"b2", "a secret"), note(b"c", "three")]).unwrap();
        store.write_notes(vec![Note::removed(b"b1"), note(b"b", "four")]).unwrap();
        drop(store);
        let store = open();
        let of = |key: &[u8]| store.read_note::<String>(key).unwrap();
        assert_eq!([of(b"b"), of(b"b1"), of(b"c")], [Some("four".into()), None, Some("three".into())]);
        let all: Vec<(Vec<u8>, String)> = store.notes(b"b").unwrap();
        assert_eq!(all, [(b"b".to_vec(), "four".into()), (b"b2".to_vec(), "a secret".into())]);
        assert!(store.read_note::<Vec<String>>(b"c").is_err(), "it is something else");
        drop(store);
        let bytes = std::fs::read(folder.path().join("index.redb")).unwrap();
        assert!(!bytes.windows(8).any(|bytes| bytes == b"a secret"));
    }

    /// If a note waits for the next transaction, that transaction writes it, even if the process dies
    /// directly afterwards.
    #[test]
    fn notes_go_along_with_the_next_transaction() {
        let folder = tempfile::tempdir().unwrap();
        let key = StoreKey::from_bytes([7; 32]);
        let store = Store::open(folder.path(), &key).unwrap();
        let index = || std::fs::read(folder.path().join("index.redb")).unwrap();
        let durable =
            |key_of: &[u8]| Store::view(folder.path(), &key).unwrap().read_note::<String>(key_of).unwrap();
        let before = index();
        store.write_notes_behind(vec![store.note(b"a", &"one").unwrap()]).unwrap();
        store.write_notes_behind(vec![store.note(b"a", &"two").unwrap()]).unwrap();
        assert!(index() == before, "nothing is written for it");
        store.write_notes(vec![store.note(b"b", &"three").unwrap()]).unwrap();
        assert_eq!([durable(b"a"), durable(b"b")], [Some("two".into()), Some("three".into())]);
        store.write_notes(vec![Note::removed(b"a")]).unwrap();
        assert_eq!(durable(b"a"), None, "it is written once");
    }
}
