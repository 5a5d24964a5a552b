//! Reads a program's items before anything is burned, so that a damaged record costs only its own items.

use std::ops::Range;

use super::batches::common;
use super::log::{EpochEntry, EpochId, EpochState, MOST_DAMAGED, Serial};
use super::store::Store;
use super::taken::{ReadItems, TakenOf};
use brickwork_base::Error;

/// The result of reading a program's items before they are taken.
pub enum ReadResult {
    /// All items are intact.
    Sound(ReadItems),
    /// Some items cannot be read. This entry removes them, so that the program takes other items.
    Damaged(EpochEntry),
}

impl Store {
    /// Reads the items that a program is about to take, before an entry burns them. The caller gets the data
    /// only after the entry is on disk.
    ///
    /// # Errors
    /// [`Error::Stock`] if there are too few items, or the disk fails.
    pub fn open_items(&self, id: &EpochId, taken: &[(Serial, u32)]) -> Result<ReadResult, Error> {
        self.sound()?;
        let state = self.state(id)?;
        let opened = ReadItems::of(self.items_of(id, &state, taken)?);
        let mut damaged: Vec<(Serial, u64, u64)> = Vec::new();
        for of_batch in &opened.items {
            for items in self.open_batch(id, &state, of_batch, &opened)? {
                let items = (of_batch.0, items.start, items.end - items.start);
                // A batch may be named twice, and one record may contain items of both times.
                if !damaged.contains(&items) && damaged.len() < MOST_DAMAGED {
                    damaged.push(items);
                }
            }
        }
        Ok(match damaged.is_empty() {
            true => ReadResult::Sound(opened),
            false => ReadResult::Damaged(EpochEntry::Damaged(damaged)),
        })
    }

    /// Reads items of a batch. Returns the unreadable items, and the items that are lost together with them.
    fn open_batch(
        &self,
        id: &EpochId,
        state: &EpochState,
        (serial, items): &TakenOf,
        opened: &ReadItems,
    ) -> Result<Vec<Range<u64>>, Error> {
        let (serial, (key, row)) = (*serial, self.batch_row(id, *serial)?);
        let fresh = |items: &Range<u64>| {
            state.fresh_of(serial, items.start.max(state.gone(serial))..items.end).into_iter()
        };
        if row.given_up.iter().any(|given_up| items.iter().any(|items| !common(items, given_up).is_empty())) {
            return Ok(row.given_up.iter().flat_map(fresh).collect());
        }
        let reader = row.segment.open(&self.segments(), &self.shared.key, &key)?;
        let warn = |why: &Error| tracing::warn!("{why}; this party does not use the item and tells the peer");
        let (mut damaged, mut units, mut each) = (Vec::new(), Vec::new(), Vec::new());
        for (index, place) in row.segment.places.iter().enumerate() {
            let here: Vec<_> = items.iter().map(|items| common(items, &place.items())).collect();
            if here.iter().all(Range::is_empty) {
                continue;
            }
            let record = match reader.try_read(index)? {
                Ok(record) => record,
                Err(why) => {
                    warn(&why);
                    damaged.extend(fresh(&place.items()));
                    continue;
                }
            };
            if let Some(bulk) = &row.segment.bulk {
                for item in here.into_iter().flatten() {
                    let k = (item - place.first) as usize;
                    let here = bulk.of_items(&record.bytes, k..k + 1)?;
                    each.push((item, units.len()..units.len() + here.len()));
                    units.extend(here);
                }
            }
            opened.keep_record(serial, index, record);
        }
        if units.is_empty() {
            return Ok(damaged);
        }
        if let Ok(bytes) = reader.try_units(&units)? {
            opened.keep_units(serial, units, bytes);
            return Ok(damaged);
        }
        for (item, here) in each {
            if let Err(why) = reader.try_units(&units[here])? {
                warn(&why);
                damaged.push(item..item + 1);
            }
        }
        Ok(damaged)
    }
}
