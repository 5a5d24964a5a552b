//! Items that a log entry takes, and records that were read before the entry was written.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::chain::Chain;
use super::log::{EpochId, Serial};
use super::range::Ranges;
use super::segment::Record;
use brickwork_base::Error;

/// An entry that is on disk. It gives two rights, each only once: to read its items, and to use its ranges of
/// counters.
#[must_use]
pub struct TakenEntry {
    pub(super) epoch: EpochId,
    /// The ranges for each log number of a shared entry.
    pub(super) ranges: Vec<Ranges>,
    pub(super) items: Vec<TakenOf>,
    /// Records that were read before the entry was written.
    pub(super) opened: ReadItems,
    /// The keys of each batch's items, from the first taken item on.
    pub(super) chains: HashMap<Serial, Chain>,
}

/// Items of a batch, in order.
pub type TakenOf = (Serial, Vec<Range<u64>>);

impl TakenEntry {
    /// Returns the ranges of the entry; only the first call succeeds.
    ///
    /// # Errors
    /// [`Error::Usage`] if they were already returned, if the entry is a party's own note, or if they belong
    /// to several workers.
    pub fn ranges(&mut self) -> Result<Ranges, Error> {
        let mut all = self.ranges_of_workers()?;
        match all.len() {
            1 => Ok(all.remove(0)),
            _ => Err(Error::Usage("the ranges of this entry belong to several workers".into())),
        }
    }

    /// Returns the ranges of all workers of the step that the entry begins, in order; only the first call
    /// succeeds. No two of them share a number.
    ///
    /// # Errors
    /// [`Error::Usage`] if they were already returned, or the entry is a party's own note.
    pub fn ranges_of_workers(&mut self) -> Result<Vec<Ranges>, Error> {
        match std::mem::take(&mut self.ranges) {
            none if none.is_empty() => {
                Err(Error::Usage("the ranges of this entry were already handed out".into()))
            }
            ranges => Ok(ranges),
        }
    }

    /// Returns the items that the entry takes, one batch after another.
    pub fn items(&self) -> &[TakenOf] {
        &self.items
    }

    /// Returns the keys of a batch's items, from the first taken item on.
    ///
    /// # Errors
    /// [`Error::Stock`] if nothing of the batch is taken.
    pub fn chain(&self, serial: Serial) -> Result<&Chain, Error> {
        self.chains
            .get(&serial)
            .ok_or_else(|| Error::Stock(format!("batch {serial} is not among the taken items")))
    }
}

/// Items that a program is about to take, and that were already read and checked. Their data is secret until
/// the entry that takes them is on disk. [`Store::read`](crate::Store::read) and similar functions return
/// them, for a [`TakenEntry`] of the same items.
#[derive(Default)]
pub struct ReadItems {
    pub(super) items: Vec<TakenOf>,
    kept: Mutex<Kept>,
}

/// Records and units that are kept in memory.
#[derive(Default)]
struct Kept {
    /// By batch and record number.
    records: HashMap<(Serial, usize), Record>,
    bytes: usize,
    /// Units of bulk data: their batch, their numbers, and their bytes.
    units: Vec<(Serial, Vec<u32>, Vec<u8>)>,
}

/// The largest number of bytes of records that are kept in memory. Other records are read again. (Units are
/// always kept, because the caller has memory for all of them.)
const MOST_KEPT: usize = 64 << 20;

impl ReadItems {
    pub(super) fn of(items: Vec<TakenOf>) -> Self {
        ReadItems { items, kept: Mutex::default() }
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn keep_record(&self, serial: Serial, index: usize, record: Record) {
        let mut kept = self.kept();
        if kept.bytes + record.bytes.len() <= MOST_KEPT {
            kept.bytes += record.bytes.len();
            let _ = kept.records.insert((serial, index), record);
        }
    }

    pub(super) fn keep_units(&self, serial: Serial, units: Vec<u32>, bytes: Vec<u8>) {
        self.kept().units.push((serial, units, bytes));
    }

    /// Returns a record, and removes it from memory.
    pub(super) fn record(&self, serial: Serial, index: usize) -> Option<Record> {
        self.kept().records.remove(&(serial, index))
    }

    /// Returns units of a batch, and removes them from memory.
    pub(super) fn units(&self, serial: Serial, wanted: &[u32]) -> Option<Vec<u8>> {
        let mut kept = self.kept();
        let place = kept.units.iter().position(|(of, units, _)| *of == serial && units == wanted)?;
        Some(kept.units.swap_remove(place).2)
    }
}
