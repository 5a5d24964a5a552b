//! Batches of items: how they are stored, how many items are left, and how taken items are read.

use std::collections::HashMap;
use std::ops::Range;

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::chain::Chain;
use super::index::{BATCHES, with_number};
use super::keys::KeysContent;
use super::log::{EpochId, EpochState, SERIALS, Serial};
use super::segment::{IndexedSegment, Record};
use super::store::Store;
use super::taken::{TakenEntry, TakenOf};
use super::writers::{Batch, BatchWriter, Folder, To, Writers};
use brickwork_base::{Error, pool};

#[derive(Serialize, Deserialize)]
pub(super) struct BatchRow {
    pub batch: Batch,
    pub segment: IndexedSegment,
    /// Items that this party cannot read and has given up. The peer may not know this.
    pub given_up: Vec<Range<u64>>,
}

impl BatchRow {
    /// Returns the number of items that this party has given up.
    pub fn lost(&self) -> u64 {
        self.given_up.iter().map(length).sum()
    }
}

/// A batch and its remaining items.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RemainingBatch {
    /// The batch's number in the epoch.
    pub serial: Serial,
    /// The batch.
    pub batch: Batch,
    /// The number of items when the batch was made.
    pub items: u64,
    /// The number of items that are left; 0 while the batch's step is incomplete.
    pub left: u64,
    /// The number of items that one party cannot read and no program took before. Damage that the peer has
    /// not reported yet is not counted.
    pub damaged: u64,
    /// Bytes of the batch's segment; 0 if no items are left.
    pub bytes: u64,
}

/// The possible uses of a batch, as the index stores them.
pub(super) enum Use {
    /// Programs may take items from the batch, now or when it is complete.
    Programs,
    /// The batch is used up. Its parameters still count in the bounds of the epoch's other batches.
    Nobody,
    /// The batch was given up.
    Nothing,
}

pub(super) fn use_of(state: &EpochState, serial: Serial, segment: &IndexedSegment) -> Use {
    let unfinished = state.open().is_some_and(|(number, _)| SERIALS.entry_of(serial) >= number);
    match state.is_made(serial) {
        true if state.left(serial, segment.items) > 0 => Use::Programs,
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
    /// Makes a writer for a batch of the current step. The store can be used for other things while the batch
    /// is written.
    ///
    /// # Errors
    /// [`Error::Stock`] if the serial does not belong to the current step, or is in use, or the disk fails.
    pub fn writer(&self, id: &EpochId, serial: Serial) -> Result<BatchWriter, Error> {
        self.sound()?;
        self.key_for_new(id, serial)?;
        self.writers(id).begin(serial, None)
    }

    /// Returns an object that makes writers for the epoch's batches, even while another thread uses the
    /// store.
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
            return Err(Error::Stock(format!(
                "batch {serial} cannot be added to this epoch: the step that makes it has ended, or the \
                 epoch already has it"
            )));
        }
        Ok(key)
    }

    /// Adds a batch, whose items are masked with the keys of a chain. Its items can be taken when
    /// [`EpochEntry::Made`](crate::EpochEntry::Made) is in the log. After a failure the batch does not exist.
    ///
    /// # Errors
    /// As [`Store::writer`]; [`Error::Usage`] if the writer belongs to another batch.
    pub fn put(
        &self,
        id: &EpochId,
        serial: Serial,
        batch: &Batch,
        writer: BatchWriter,
        chain: &Chain,
    ) -> Result<(), Error> {
        let _changing = self.change()?;
        let key = self.key_for_new(id, serial)?;
        let To::Here(writing) = writer.0 else {
            return Err(Error::Usage("this writer belongs to the store of another process".into()));
        };
        if writing.name() != key {
            return Err(Error::Usage("this writer belongs to another batch".into()));
        }
        let segment = writing.finish()?;
        self.keep_chain(id, serial, chain)?;
        let row =
            self.sealed(BATCHES, key, &BatchRow { batch: batch.clone(), segment, given_up: Vec::new() })?;
        self.write(&[row])
    }

    /// Returns the batches of an epoch and the number of remaining items of each, oldest first.
    ///
    /// # Errors
    /// [`Error::Stock`] if the index cannot be read or was altered.
    pub fn batches(&self, id: &EpochId) -> Result<Vec<RemainingBatch>, Error> {
        let state = self.state(id)?;
        let mut batches = Vec::new();
        for (key, row) in self.between(BATCHES, id, None)? {
            let row: BatchRow = self.open_row(BATCHES, &key, &row)?;
            let (serial, items) = (serial_of(&key), row.segment.items);
            let left = if state.is_made(serial) { state.left(serial, items) } else { 0 };
            let bytes = match use_of(&state, serial, &row.segment) {
                Use::Programs => row.segment.length(),
                Use::Nobody => 0,
                Use::Nothing => continue,
            };
            let own = row.given_up.iter().flat_map(|items| state.fresh_of(serial, items.clone()));
            let damaged = state.damaged(serial).iter().cloned().chain(own).map(|items| length(&items)).sum();
            batches.push(RemainingBatch { serial, batch: row.batch, items, left, damaged, bytes });
        }
        Ok(batches)
    }

    /// Returns the usable batches of an epoch, with their keys and their fresh items that were not given up.
    fn useful(&self, id: &EpochId) -> Result<Vec<Useful>, Error> {
        let state = self.state(id)?;
        let mut useful = Vec::new();
        for (key, row) in self.between(BATCHES, id, None)? {
            let (row, serial): (BatchRow, _) = (self.open_row(BATCHES, &key, &row)?, serial_of(&key));
            if let Use::Programs = use_of(&state, serial, &row.segment) {
                let fresh = state.fresh_of(serial, state.gone(serial)..row.segment.items);
                let fresh = fresh.into_iter().flat_map(|items| without(items, &row.given_up)).collect();
                useful.push((key, row, fresh));
            }
        }
        Ok(useful)
    }

    /// Returns the batches of an epoch that have a fault: a segment that is missing or has the wrong length,
    /// or missing keys. Batches whose items are all given up are left out.
    ///
    /// # Errors
    /// [`Error::Stock`] if the index cannot be read or was altered.
    pub fn missing(&self, id: &EpochId) -> Result<Vec<(Serial, Error)>, Error> {
        let useful = self.useful(id)?;
        let kept = if useful.is_empty() { Ok(KeysContent::default()) } else { self.kept(id) };
        let missing = |(key, row, fresh): Useful| {
            let serial = serial_of(&key);
            let has_keys = match &kept {
                Ok(kept) => kept.chain(serial).map(drop),
                Err(error) => Err(Error::Stock(error.to_string())),
            };
            let opened = row.segment.open(&self.segments(), &self.shared.key, &key).map(drop);
            opened.and(has_keys).err().filter(|_| !fresh.is_empty()).map(|error| (serial, error))
        };
        Ok(useful.into_iter().filter_map(missing).collect())
    }

    /// Checks that all segments of an epoch exist with the right length, and that the keys of its items
    /// exist.
    ///
    /// # Errors
    /// [`Error::Stock`] that names the first missing one.
    pub fn present(&self, id: &EpochId) -> Result<(), Error> {
        self.missing(id)?.into_iter().next().map_or(Ok(()), |(_, error)| Err(error))
    }

    /// Returns the items that an entry takes if the log is in this state: the given number of items of each
    /// batch.
    ///
    /// # Errors
    /// [`Error::Stock`] if there are too few.
    pub(super) fn items_of(
        &self,
        id: &EpochId,
        state: &EpochState,
        taken: &[(Serial, u32)],
    ) -> Result<Vec<TakenOf>, Error> {
        // An entry may name a batch twice.
        let (mut next, mut all) = (HashMap::new(), Vec::new());
        for &(serial, count) in taken {
            let row = self.row::<BatchRow>(BATCHES, &with_number(id, serial))?;
            let made = row.map_or(0, |row| row.segment.items);
            let first = next.entry(serial).or_insert_with(|| state.gone(serial));
            let items = state.fresh(serial, *first, count.into())?;
            if items.last().is_some_and(|items| items.end > made) {
                let left: u64 = state.fresh_of(serial, *first..made).iter().map(length).sum();
                return Err(Error::Stock(format!("batch {serial} has only {left} items left")));
            }
            *first = items.last().map_or(*first, |items| items.end);
            all.push((serial, items));
        }
        Ok(all)
    }

    /// Reads taken items: for each batch, the records that hold them, as they were written. A record may
    /// contain other items, too, which the caller must not use.
    ///
    /// # Errors
    /// [`Error::Stock`] that names the record that was altered or cannot be read.
    pub fn read(
        &self,
        taken: &TakenEntry,
        mut each: impl FnMut(Serial, Record) -> Result<(), Error>,
    ) -> Result<(), Error> {
        for (serial, items) in &taken.items {
            let (key, segment) = self.segment_of(taken, *serial)?;
            let reader = segment.open(&self.segments(), &self.shared.key, &key)?;
            for (index, place) in segment.places.iter().enumerate() {
                if items.iter().any(|items| !common(items, &place.items()).is_empty()) {
                    let opened = taken.opened.record(*serial, index);
                    each(*serial, opened.map_or_else(|| reader.read(index), Ok)?)?;
                }
            }
        }
        Ok(())
    }

    /// Reads the record that holds this taken item. This suits callers that process many items with little
    /// memory.
    ///
    /// # Errors
    /// As [`Store::read`].
    pub fn read_at(&self, taken: &TakenEntry, serial: Serial, item: u64) -> Result<Record, Error> {
        let none = || {
            Error::Stock(format!(
                "item {item} of batch {serial} is not among the taken items, or was already used"
            ))
        };
        let mut of_batch = taken.items.iter().filter(|(of, _)| *of == serial);
        if !of_batch.any(|(_, items)| items.iter().any(|items| items.contains(&item))) {
            return Err(none());
        }
        let (key, segment) = self.segment_of(taken, serial)?;
        let index = segment.places.iter().position(|place| place.items().contains(&item)).ok_or_else(none)?;
        match taken.opened.record(serial, index) {
            Some(record) => Ok(record),
            None => segment.open(&self.segments(), &self.shared.key, &key)?.read(index),
        }
    }

    /// Reads units of the bulk data of a batch from which items were taken, in order. The units must not be
    /// secret, because the read buffers are not erased.
    ///
    /// # Errors
    /// As [`Store::read`], or if there are no such units.
    pub fn read_units(&self, taken: &TakenEntry, serial: Serial, units: &[u32]) -> Result<Vec<u8>, Error> {
        let (key, segment) = self.segment_of(taken, serial)?;
        match taken.opened.units(serial, units) {
            Some(bytes) => Ok(bytes),
            None => segment.open(&self.segments(), &self.shared.key, &key)?.units(units),
        }
    }

    /// Returns the key of a batch from which items were taken, and its segment.
    fn segment_of(&self, taken: &TakenEntry, serial: Serial) -> Result<(Vec<u8>, IndexedSegment), Error> {
        self.sound()?;
        let gone = || Error::Stock(format!("batch {serial} was used up or burned"));
        if taken.items.iter().all(|(of, _)| *of != serial) {
            return Err(gone());
        }
        let (key, row) = self.batch_row(&taken.epoch, serial)?;
        Ok((key, row.segment))
    }

    /// Returns the key of a batch, and its row.
    pub(super) fn batch_row(&self, id: &EpochId, serial: Serial) -> Result<(Vec<u8>, BatchRow), Error> {
        let key = with_number(id, serial);
        let row = self.row::<BatchRow>(BATCHES, &key)?;
        Ok((key, row.ok_or_else(|| Error::Stock(format!("batch {serial} was used up or burned")))?))
    }

    /// Reads everything in the store that programs may still take. Returns the number of bytes in segments,
    /// and the unreadable items.
    ///
    /// # Errors
    /// [`Error::Stock`] if the index or secrets of an epoch were altered.
    pub fn examine(&self) -> Result<(u64, Vec<UnreadableItems>), Error> {
        let mut all = Vec::new();
        for (id, _) in self.epochs()? {
            if self.state(&id)?.burned().is_some() {
                continue;
            }
            let (_, kept) = (self.secrets(&id)?, self.kept(&id)?);
            let with_keys = |useful: Useful| (id, kept.chain(serial_of(&useful.0)).map(drop), useful);
            all.extend(self.useful(&id)?.into_iter().map(with_keys));
        }
        let read = |(epoch, has_keys, (key, row, fresh)): (EpochId, Result<(), Error>, Useful)| {
            let serial = serial_of(&key);
            let opened = has_keys.and_then(|()| row.segment.open(&self.segments(), &self.shared.key, &key));
            let found = match opened {
                Ok(reader) => reader.verify(),
                Err(why) => vec![(0..row.segment.items, why)],
            };
            let damage = |(items, why): (Range<u64>, Error)| {
                let is_header = items.is_empty();
                let items: Vec<_> = fresh.iter().map(|fresh| common(fresh, &items)).collect();
                let items: Vec<_> = items.into_iter().filter(|items| !items.is_empty()).collect();
                let matters = is_header || !items.is_empty();
                matters.then(|| UnreadableItems { epoch, serial, name: row.batch.name.clone(), items, why })
            };
            (row.segment.length(), found.into_iter().filter_map(damage).collect::<Vec<_>>())
        };
        let found: Vec<_> = pool::compute(|| all.into_par_iter().map(read).collect());
        Ok(found.into_iter().fold((0, Vec::new()), |(bytes, mut all), (more, damage)| {
            all.extend(damage);
            (bytes + more, all)
        }))
    }

    /// Does the same as [`Store::examine`], and returns the first damage as an error. Returns the number of
    /// bytes in segments.
    ///
    /// # Errors
    /// [`Error::Stock`] that names a part that was altered or is missing.
    pub fn verify(&self) -> Result<u64, Error> {
        let (bytes, damage) = self.examine()?;
        damage.into_iter().next().map_or(Ok(bytes), |damage| Err(damage.why))
    }

    /// Gives up the unreadable items at the user's request, and repairs damaged headers. Programs use the
    /// other items. The peer is told when a program would otherwise take an item that was given up.
    ///
    /// # Errors
    /// [`Error::Stock`] if the disk fails.
    pub fn give_up(&self, damage: &[UnreadableItems]) -> Result<(), Error> {
        let _changing = self.change()?;
        for UnreadableItems { epoch, serial, items, .. } in damage {
            let (key, mut row) = self.batch_row(epoch, *serial)?;
            if items.is_empty() {
                row.segment.open(&self.segments(), &self.shared.key, &key)?.mend_header(&self.shared.disk)?;
            } else {
                row.given_up.extend(items.iter().cloned());
                self.write(&[self.sealed(BATCHES, key, &row)?])?;
            }
        }
        Ok(())
    }
}

/// A batch that may still be used: its key, its row, and its fresh items that are not given up.
type Useful = (Vec<u8>, BatchRow, Vec<Range<u64>>);

/// Items of a batch that cannot be read.
#[derive(Debug)]
pub struct UnreadableItems {
    /// The epoch.
    pub epoch: EpochId,
    /// The batch.
    pub serial: Serial,
    /// Its name.
    pub name: String,
    /// The items. The list is empty if only the header of the segment is damaged. Programs do not need the
    /// header.
    pub items: Vec<Range<u64>>,
    /// The fault, with the name of the damaged record.
    pub why: Error,
}

/// Returns the items that are in both ranges.
pub(super) fn common(a: &Range<u64>, b: &Range<u64>) -> Range<u64> {
    a.start.max(b.start)..a.end.min(b.end)
}

fn length(items: &Range<u64>) -> u64 {
    items.end - items.start
}

/// Returns the items that are in none of these ranges.
fn without(items: Range<u64>, others: &[Range<u64>]) -> Vec<Range<u64>> {
    others.iter().fold(vec![items], |left, other| {
        let parts = left.iter().flat_map(|items| {
            [items.start..items.end.min(other.start), items.start.max(other.end)..items.end]
        });
        parts.filter(|items| !items.is_empty()).collect()
    })
}
