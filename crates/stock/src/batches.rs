//! Batches of items: how they come into a store, what is left of them, and how what was taken is read.

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::chain::Chain;
use super::index::{BATCHES, with_number};
use super::keys::Kept;
use super::log::{EpochId, SERIALS, Serial, State, Taken};
use super::segment::{Record, Segment};
use super::store::Store;
use super::writers::{Batch, Folder, To, Writer, Writers};
use brickwork_base::{Error, pool};

#[derive(Serialize, Deserialize)]
pub(super) struct BatchRow {
    pub batch: Batch,
    pub segment: Segment,
}

/// A batch and what is left of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Left {
    /// Its number in the epoch.
    pub serial: Serial,
    /// The batch.
    pub batch: Batch,
    /// Items that it was made with.
    pub items: u64,
    /// Items that are left; none while the step that it belongs to is not made.
    pub left: u64,
    /// Bytes of its segment; none where nothing is left of it.
    pub bytes: u64,
}

/// What a batch in the index is of use for.
pub(super) enum Use {
    /// Programs may take of it, now or once it is made.
    Programs,
    /// It is used up. What it was made with still counts for what else its epoch gives.
    Nobody,
    /// It was given up.
    Nothing,
}

pub(super) fn use_of(state: &State, serial: Serial, segment: &Segment) -> Use {
    let unfinished = state.open().is_some_and(|(number, _)| SERIALS.entry_of(serial) >= number);
    match state.is_made(serial) {
        true if state.gone(serial) < segment.items => Use::Programs,
        true => Use::Nobody,
        false if unfinished => Use::Programs,
        false => Use::Nothing,
    }
}

/// Returns the serial in the key of a batch.
pub(super) fn serial_of(key: &[u8]) -> Serial {
    u64::from_be_bytes(*key.last_chunk().expect("epoch and serial"))
}

impl Store {
    /// Begins to write a batch of the step that is open. It can be written while the store does other things.
    ///
    /// # Errors
    /// [`Error::Stock`] if the serial is not of an open step, or is taken, or the disk fails.
    pub fn writer(&self, id: &EpochId, serial: Serial) -> Result<Writer, Error> {
        self.sound()?;
        self.key_for_new(id, serial)?;
        self.writers(id).begin(serial, None)
    }

    /// Makes writers of an epoch's batches while somebody else has the store.
    pub fn writers(&self, id: &EpochId) -> Writers {
        Writers::here(Folder {
            epoch: *id,
            disk: self.shared.disk.clone(),
            directory: self.segments(),
            key: self.shared.key.clone(),
            poisoned: self.shared.poisoned.clone(),
            process: self.shared.index.process(),
        })
    }

    fn key_for_new(&self, id: &EpochId, serial: Serial) -> Result<Vec<u8>, Error> {
        let (state, key) = (self.state(id)?, with_number(id, serial));
        if state.burned().is_some()
            || !state.is_open(serial)
            || self.row::<BatchRow>(BATCHES, &key)?.is_some()
        {
            return Err(Error::Stock(format!("batch {serial} cannot be added to this epoch")));
        }
        Ok(key)
    }

    /// Adds a batch, whose items are masked with the keys of a chain. Its items can be taken once
    /// [`Entry::Made`](crate::Entry::Made) is in the log; after a failure they do not exist.
    ///
    /// # Errors
    /// As [`Store::writer`]; [`Error::Usage`] if the writer is another batch's.
    pub fn put(
        &self,
        id: &EpochId,
        serial: Serial,
        batch: &Batch,
        writer: Writer,
        chain: &Chain,
    ) -> Result<(), Error> {
        let _changing = self.change()?;
        let key = self.key_for_new(id, serial)?;
        let To::Here(writing) = writer.0 else {
            return Err(Error::Usage("a writer of another process's store".into()));
        };
        if writing.name() != key {
            return Err(Error::Usage("a writer of another batch".into()));
        }
        let segment = writing.finish()?;
        self.keep_chain(id, serial, chain)?;
        let row = self.sealed(BATCHES, key, &BatchRow { batch: batch.clone(), segment })?;
        self.write(&[row])
    }

    /// Returns the batches of an epoch and how many items of each are left, oldest first.
    ///
    /// # Errors
    /// [`Error::Stock`] if the index cannot be read or was altered.
    pub fn batches(&self, id: &EpochId) -> Result<Vec<Left>, Error> {
        let state = self.state(id)?;
        let mut batches = Vec::new();
        for (key, row) in self.between(BATCHES, id, None)? {
            let BatchRow { batch, segment } = self.open_row(BATCHES, &key, &row)?;
            let (serial, items) = (serial_of(&key), segment.items);
            let left = if state.is_made(serial) { items.saturating_sub(state.gone(serial)) } else { 0 };
            let bytes = match use_of(&state, serial, &segment) {
                Use::Programs => segment.length(),
                Use::Nobody => 0,
                Use::Nothing => continue,
            };
            batches.push(Left { serial, batch, items, left, bytes });
        }
        Ok(batches)
    }

    /// The segments of an epoch that may still be used: the key of each batch, and which segment is its.
    fn useful(&self, id: &EpochId) -> Result<Vec<(Vec<u8>, Segment)>, Error> {
        let state = self.state(id)?;
        let mut useful = Vec::new();
        for (key, row) in self.between(BATCHES, id, None)? {
            let row: BatchRow = self.open_row(BATCHES, &key, &row)?;
            if let Use::Programs = use_of(&state, serial_of(&key), &row.segment) {
                useful.push((key, row.segment));
            }
        }
        Ok(useful)
    }

    /// Returns the batches of an epoch whose segments are not where they should be, or not of the right
    /// length, or whose keys are not there: which each is, and what is wrong.
    ///
    /// # Errors
    /// [`Error::Stock`] if the index cannot be read or was altered.
    pub fn missing(&self, id: &EpochId) -> Result<Vec<(Serial, Error)>, Error> {
        let useful = self.useful(id)?;
        let kept = if useful.is_empty() { Ok(Kept::default()) } else { self.kept(id) };
        let missing = |(key, segment): (Vec<u8>, Segment)| {
            let serial = serial_of(&key);
            let has_keys = match &kept {
                Ok(kept) => kept.chain(serial).map(drop),
                Err(error) => Err(Error::Stock(error.to_string())),
            };
            let opened = segment.open(&self.segments(), &self.shared.key, &key).map(drop);
            opened.and(has_keys).err().map(|error| (serial, error))
        };
        Ok(useful.into_iter().filter_map(missing).collect())
    }

    /// Returns whether the segments of an epoch are where they should be, with the right length, and the keys
    /// of its items, too. Says which is not.
    ///
    /// # Errors
    /// [`Error::Stock`] that names the first that is not.
    pub fn present(&self, id: &EpochId) -> Result<(), Error> {
        self.missing(id)?.into_iter().next().map_or(Ok(()), |(_, error)| Err(error))
    }

    /// Reads what was taken: for each batch the records that hold its items, as they were written. A record
    /// may also hold items that were not taken; they are the caller's to leave alone.
    ///
    /// # Errors
    /// [`Error::Stock`] that names the record that was altered or cannot be read.
    pub fn read(
        &self,
        taken: &Taken,
        mut each: impl FnMut(Serial, Record) -> Result<(), Error>,
    ) -> Result<(), Error> {
        for &(serial, first, count) in &taken.items {
            let (name, segment) = self.segment_of(taken, serial)?;
            let (end, reader) =
                (first + u64::from(count), segment.open(&self.segments(), &self.shared.key, &name)?);
            for (index, place) in segment.places.iter().enumerate() {
                if place.first < end && place.first + u64::from(place.items) > first {
                    each(serial, reader.read(index)?)?;
                }
            }
        }
        Ok(())
    }

    /// Reads the one record that holds this item, which was taken. For who goes through many items and has
    /// room for few.
    ///
    /// # Errors
    /// As [`Store::read`].
    pub fn read_at(&self, taken: &Taken, serial: Serial, item: u64) -> Result<Record, Error> {
        let is_taken = |&&(of, first, count): &&(Serial, u64, u32)| {
            of == serial && (first..first + u64::from(count)).contains(&item)
        };
        let none = || Error::Stock(format!("item {item} of batch {serial} was not taken or is gone"));
        let _ = taken.items.iter().find(is_taken).ok_or_else(none)?;
        let (name, segment) = self.segment_of(taken, serial)?;
        let mut places = segment.places.iter();
        let index = places
            .position(|place| (place.first..place.first + u64::from(place.items)).contains(&item))
            .ok_or_else(none)?;
        segment.open(&self.segments(), &self.shared.key, &name)?.read(index)
    }

    /// Reads units of the bulk of a batch that items were taken of, one after the other. Not for secrets:
    /// what is read beside is left behind.
    ///
    /// # Errors
    /// As [`Store::read`], or if there are no such units.
    pub fn read_units(&self, taken: &Taken, serial: Serial, units: &[u32]) -> Result<Vec<u8>, Error> {
        let (name, segment) = self.segment_of(taken, serial)?;
        segment.open(&self.segments(), &self.shared.key, &name)?.units(units)
    }

    /// The key of a batch that items were taken of, and its segment.
    fn segment_of(&self, taken: &Taken, serial: Serial) -> Result<(Vec<u8>, Segment), Error> {
        self.sound()?;
        let gone = || Error::Stock(format!("batch {serial} is gone"));
        if taken.items.iter().all(|item| item.0 != serial) {
            return Err(gone());
        }
        let key = with_number(&taken.epoch, serial);
        let row = self.row::<BatchRow>(BATCHES, &key)?.ok_or_else(gone)?;
        Ok((key, row.segment))
    }

    /// Reads everything. Returns the number of bytes in segments.
    ///
    /// # Errors
    /// [`Error::Stock`] that names what was altered or is missing.
    pub fn verify(&self) -> Result<u64, Error> {
        let mut segments = Vec::new();
        for (id, _) in self.epochs()? {
            if self.state(&id)?.burned().is_some() {
                continue;
            }
            let (_, kept, useful) = (self.secrets(&id)?, self.kept(&id)?, self.useful(&id)?);
            useful.iter().try_for_each(|(key, _)| kept.chain(serial_of(key)).map(drop))?;
            segments.extend(useful);
        }
        let read = |(key, segment): &(Vec<u8>, Segment)| {
            segment.open(&self.segments(), &self.shared.key, key)?.verify()?;
            Ok(segment.length())
        };
        pool::compute(|| segments.par_iter().map(read).try_reduce(|| 0, |a, b| Ok(a + b)))
    }
}
