//! Rebuilds a damaged index from the rows that are left in its pages, as far as the files of keys confirm
//! them.
//!
//! It does not rely on the structure of the database, but searches all pages for rows, even unused pages. A
//! row that can be decrypted was sealed by this store for this table and key. It may be an old version of the
//! row. If several versions of a row can be decrypted, the one that the database finds is taken, if it finds
//! one.
//!
//! All epochs are burned. The reason is that the last entry of a log can be lost without a trace, for example
//! if the database returns to the previous transaction. Then its items would be used twice. The pairs, the
//! sums of failed attempts, and the notes of a service are kept.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use redb::{ReadableDatabase, ReadableTable, ReadableTableMetadata, TableHandle};
use serde::de::DeserializeOwned;
use zeroize::Zeroizing;

use super::batches::BatchRow;
use super::disk::{Disk, NoFaults};
use super::epochs::LogRow;
use super::folder::{self, failed};
use super::index::{
    BATCHES, EPOCHS, FORMAT, FORMAT_KEY, FORMAT_VERSION, Index, LOG, NOTES, PAIRS, RowChange, RowTable, VAIN,
    about, at_one_moment, make_index, with_number,
};
use super::log::{EpochEntry, EpochId, EpochState};
use super::seal::{self, StoreKey};
use super::store::{Lock, Store};
use super::vain::Attempts;
use crate::BY_USER;
use brickwork_base::Error;

/// Bytes of a page of the database. A larger page also begins at a multiple of this.
const PAGE_BYTES: usize = 4096;

/// The first byte of a page that holds rows.
const LEAF: u8 = 1;

/// The tables whose rows are searched for.
const TABLES: [RowTable; 7] = [FORMAT, EPOCHS, LOG, BATCHES, PAIRS, VAIN, NOTES];

/// A row that can be decrypted: its sealed bytes, and its plain bytes.
struct Version {
    sealed: Vec<u8>,
    plain: Zeroizing<Vec<u8>>,
}

impl Version {
    fn read<T: DeserializeOwned>(&self) -> Option<T> {
        postcard::from_bytes(&self.plain).ok()
    }
}

/// The versions of each row, by the index of its table and its key.
type Found = BTreeMap<(usize, Vec<u8>), Vec<Version>>;

/// The rows that the database finds.
#[derive(Default)]
struct Committed {
    /// The indices of the tables that the database can read completely.
    tables: HashSet<usize>,
    /// The sealed rows of these tables, by table index and key.
    rows: HashMap<(usize, Vec<u8>), Vec<u8>>,
}

/// The losses when an index was made again.
#[derive(Debug, PartialEq, Eq)]
pub struct Rebuilt {
    /// The epochs that had to be burned.
    pub burned: Vec<EpochId>,
    /// True if no note was found, and the database cannot tell whether there was one. Then the budgets of a
    /// service count only the runs that are still in the logs.
    pub notes_may_be_lost: bool,
}

impl Store {
    /// Makes the index of a store again if it is damaged. Returns the losses, or none if the index is
    /// intact. The damaged index is kept in the folder for unknown files.
    ///
    /// # Errors
    /// [`Error::Busy`] if another process has the store open. [`Error::Stock`] if the key decrypts no row, or
    /// if the number of a service's runs cannot be determined. Then nothing is changed.
    pub fn rebuild(directory: &Path, key: &StoreKey) -> Result<Option<Rebuilt>, Error> {
        let disk = Disk(Arc::new(NoFaults));
        folder::holds_store(directory)?;
        let _lock = Lock::of(directory)?;
        let (path, unfinished) = (directory.join(folder::INDEX), directory.join(folder::UNFINISHED));
        let bytes = at_one_moment(&path)?;
        if Index::checked(&bytes).is_ok() {
            return Ok(None);
        }
        let found = search(&bytes, &key.rows());
        let format =
            found.get(&(0, FORMAT_KEY.to_vec())).and_then(|versions| versions.first()?.read::<u32>());
        if found.is_empty() || format.is_some_and(|format| format != FORMAT_VERSION) {
            return Err(Error::Stock(format!(
                "the store key opens no file of format {FORMAT_VERSION} in {}; it is the key of another \
                store, or no file is left",
                path.display()
            )));
        }
        let committed = committed(&bytes);
        let rows = chosen(found, &committed)?;
        let is_note = |table: &RowTable| table.name() == NOTES.name();
        let notes_may_be_lost = !rows.iter().any(|(table, ..)| is_note(table))
            && !committed.tables.iter().any(|place| is_note(&TABLES[*place]));
        if unfinished.exists() {
            folder::move_aside(&disk, directory, &unfinished)?;
        }
        make_index(disk.create(&unfinished).map_err(failed(&unfinished))?, &disk, &key.rows())?;
        let file = File::options().read(true).write(true).open(&unfinished).map_err(failed(&unfinished))?;
        let store = Self::of_index(directory, key, disk.clone(), Index::of(file, &disk)?, None)?;
        store.write(&rows)?;
        let burned = store.burn_all()?;
        drop(store);
        // The damaged index stays until the new one replaces it, so a crash loses neither.
        folder::copied_aside(&disk, directory, &path)?;
        disk.rename(&unfinished, &path)
            .and_then(|()| disk.sync_directory(directory))
            .map_err(failed(&path))?;
        Ok(Some(Rebuilt { burned, notes_may_be_lost }))
    }

    /// Burns all epochs that are in use. Returns the epochs.
    fn burn_all(&self) -> Result<Vec<EpochId>, Error> {
        let mut burned = Vec::new();
        for (id, _) in self.epochs()? {
            if self.state(&id)?.burned().is_none() {
                drop(self.append(&id, &EpochEntry::Burned(BY_USER.into()))?);
                burned.push(id);
            }
        }
        Ok(burned)
    }
}

/// Returns the rows of all tables that the database can read completely.
fn committed(bytes: &[u8]) -> Committed {
    let mut all = Committed::default();
    let Ok(index) = Index::copy(bytes) else { return all };
    for (place, table) in TABLES.into_iter().enumerate() {
        let rows = index.run(|database| {
            let table = database.begin_read()?.open_table(table)?;
            let mut rows = Vec::new();
            for row in table.iter()? {
                let (key, value) = row?;
                rows.push(((place, key.value().to_vec()), value.value().to_vec()));
            }
            Ok((table.len()? == rows.len() as u64, rows))
        });
        if let Ok((true, rows)) = rows {
            all.tables.insert(place);
            all.rows.extend(rows);
        }
    }
    index.give_up();
    all
}

/// Returns the keys and values of the rows in a page. The page may hold anything.
///
/// ```text
///   page = LEAF 0 rows:[u8; 2] end of key:[u8; 4]* end of value:[u8; 4]* key* value*
/// ```
fn rows_of(page: &[u8]) -> Vec<(&[u8], &[u8])> {
    let Some([LEAF, _, low, high]) = page.first_chunk() else { return Vec::new() };
    let count = usize::from(u16::from_le_bytes([*low, *high]));
    let end = |k: usize| {
        let bytes = page.get(4 + 4 * k..8 + 4 * k)?;
        Some(u32::from_le_bytes(*bytes.first_chunk()?) as usize)
    };
    let row = |k: usize| {
        let key_begin = if k == 0 { 4 + 8 * count } else { end(k - 1)? };
        let value_begin = end(count + k - 1)?;
        Some((page.get(key_begin..end(k)?)?, page.get(value_begin..end(count + k)?)?))
    };
    (0..count).filter_map(row).collect()
}

/// Searches all pages for rows.
fn search(bytes: &[u8], sealer: &seal::RowKey) -> Found {
    let mut found = Found::new();
    for page in (0..bytes.len()).step_by(PAGE_BYTES) {
        for (key, sealed) in rows_of(&bytes[page..]) {
            let open =
                |(place, table): (usize, &RowTable)| Some((place, sealer.open(&about(*table, key), sealed)?));
            let Some((place, plain)) = TABLES.iter().enumerate().find_map(open) else { continue };
            let versions = found.entry((place, key.to_vec())).or_default();
            if versions.iter().all(|other| other.sealed != sealed) {
                versions.push(Version { sealed: sealed.to_vec(), plain });
            }
        }
    }
    found
}

/// Chooses a version of each row. If a log has a gap, the entries before the gap remain.
fn chosen(found: Found, committed: &Committed) -> Result<Vec<RowChange>, Error> {
    let mut rows = Vec::new();
    // For each epoch, the number of the next entry and the state so far; `None` after a gap.
    let mut logs: HashMap<EpochId, Option<(u64, EpochState)>> = HashMap::new();
    for ((table, key), versions) in found {
        let is = |rows: RowTable| rows.name() == TABLES[table].name();
        let epoch = key.first_chunk::<32>().copied().unwrap_or_default();
        let stands = committed.rows.get(&(table, key.clone()));
        // The database does not have this row any more, so it was removed or replaced. An old version of it
        // would do harm.
        if (is(NOTES) || is(PAIRS)) && stands.is_none() && committed.tables.contains(&table) {
            continue;
        }
        let one = match (versions.iter().find(|version| Some(&version.sealed) == stands), &versions[..]) {
            // The database may have returned to the previous transaction, which has fewer attempts and fewer
            // given-up items.
            (Some(one), _) if !is(VAIN) && !is(BATCHES) => Some(one),
            (None, _) if is(NOTES) => {
                return Err(Error::Stock(
                    "the index is damaged, so nobody can tell how many runs the service has done; restore a \
                     copy of the whole folder, or burn the peer's stock and begin with a new folder"
                        .into(),
                ));
            }
            (_, [one, others @ ..]) if others.iter().all(|other| *other.plain == *one.plain) => Some(one),
            // The version with most attempts, or with most given-up items, is taken.
            (_, all) if is(VAIN) => {
                all.iter().max_by_key(|version| version.read().map(|row: Attempts| row.sum()))
            }
            (_, all) if is(BATCHES) => {
                all.iter().max_by_key(|version| version.read().map(|row: BatchRow| row.lost()))
            }
            _ => None,
        };
        if is(LOG) {
            let log = logs.entry(epoch).or_insert_with(|| Some((0, EpochState::new(&epoch))));
            let applied = log.take().and_then(|(next, mut state)| {
                let row =
                    one.filter(|_| key == with_number(&epoch, next)).and_then(Version::read::<LogRow>)?;
                row.apply(&mut state).ok().map(|_| (next + 1, state))
            });
            *log = applied;
            if log.is_none() {
                continue;
            }
        }
        rows.extend(one.filter(|_| !is(FORMAT)).map(|one| (TABLES[table], key, Some(one.sealed.clone()))));
    }
    Ok(rows)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::log::FillStep;

    /// If a log has a gap, the entries before it remain.
    #[test]
    fn row_23_a_log_ends_before_its_gap() {
        let id: EpochId = [3; 32];
        let step = FillStep { job: [1; 32], number: 0, of: 1, risk: 0, workers: 1 };
        let again = EpochEntry::Fill(FillStep { job: [2; 32], ..step });
        let entries = [EpochEntry::Fill(step), EpochEntry::Stored, EpochEntry::Made, again, EpochEntry::Lent];
        let place = TABLES.iter().position(|table| table.name() == LOG.name()).unwrap();
        let version = |number: u64, entry: &EpochEntry| {
            let plain = Zeroizing::new(postcard::to_stdvec(&(entry, false)).unwrap());
            ((place, with_number(&id, number)), vec![Version { sealed: vec![number as u8], plain }])
        };
        let found = |without: Option<u64>| -> Found {
            let all = (0..).zip(&entries).filter(|(number, _)| Some(*number) != without);
            all.map(|(number, entry)| version(number, entry)).collect()
        };
        for (without, left) in [(None, 5), (Some(0), 0), (Some(3), 3), (Some(4), 4)] {
            assert_eq!(
                chosen(found(without), &Committed::default()).unwrap().len(),
                left,
                "without {without:?}"
            );
        }
        // The last entry has two versions. The database finds one of them or neither.
        let mut twice = found(None);
        let (key, others) = version(4, &EpochEntry::Returned);
        twice.get_mut(&key).unwrap().extend(others);
        twice.get_mut(&key).unwrap()[1].sealed = vec![9];
        assert_eq!(chosen(twice, &Committed::default()).unwrap().len(), 4);
        let rows = HashMap::from([(key, vec![4])]);
        let all = chosen(found(None), &Committed { rows, ..Committed::default() }).unwrap();
        assert_eq!(all.len(), 5);
    }
}
