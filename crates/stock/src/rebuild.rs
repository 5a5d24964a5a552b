//! Makes a damaged index anew: of the rows that its pages still hold, and as far as the files of keys agree.
//!
//! Nothing of the database's own structure is trusted, so all pages are searched for rows, also those that it
//! has given up. A row that opens is one that this store has sealed for this table and key. It may be an old
//! version of the row. So if several versions open, the one counts that the database finds, if it finds one.
//!
//! An epoch lives on only if nothing of it is lost. Its log has no gap. Its file of keys is there, which a
//! burned epoch has no more. It is not ahead of the log, and each batch of it has its row. All other epochs
//! are burned.

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
    BATCHES, EPOCHS, FORMAT, FORMAT_KEY, FORMAT_VERSION, Index, LOG, NOTES, PAIRS, RowChange, Rows, VAIN,
    about, at_one_moment, make_index, with_number,
};
use super::keys::Kept;
use super::log::{Entry, EpochId, State, number_of};
use super::seal::{self, StoreKey};
use super::store::{Lock, Store};
use super::vain::Attempts;
use brickwork_base::Error;

/// Bytes of a page of the database. A larger page begins at a multiple of them, too.
const PAGE_BYTES: usize = 4096;

/// First byte of a page that holds rows.
const LEAF: u8 = 1;

/// The tables whose rows are searched for.
const TABLES: [Rows; 7] = [FORMAT, EPOCHS, LOG, BATCHES, PAIRS, VAIN, NOTES];

/// A row that opens: as it lies there, and its plain bytes.
struct Version {
    sealed: Vec<u8>,
    plain: Zeroizing<Vec<u8>>,
}

impl Version {
    fn read<T: DeserializeOwned>(&self) -> Option<T> {
        postcard::from_bytes(&self.plain).ok()
    }
}

/// Versions of rows, by the place of the table and the key.
type Found = BTreeMap<(usize, Vec<u8>), Vec<Version>>;

/// The index as the database finds it.
#[derive(Default)]
struct Committed {
    /// The places of the tables in which it finds as many rows as there are.
    tables: HashSet<usize>,
    /// Their rows, sealed, by place and key.
    rows: HashMap<(usize, Vec<u8>), Vec<u8>>,
}

/// An epoch that a new index holds as burned, and why.
pub type Lost = (EpochId, String);

impl Store {
    /// Makes the index of a store anew, if it is damaged. Returns the epochs that are burned because they
    /// have lost something, or nothing if the index is not damaged. The damaged one is kept in the folder of
    /// unknown files.
    ///
    /// # Errors
    /// [`Error::Busy`] if another process has the store open. [`Error::Stock`] if the key opens no row, or if
    /// it cannot be told how often a service has run. Then nothing is changed.
    pub fn rebuild(directory: &Path, key: &StoreKey) -> Result<Option<Vec<Lost>>, Error> {
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
                "the store key opens nothing of format {FORMAT_VERSION} in {}; it is another store's, or \
                 nothing is left",
                path.display()
            )));
        }
        let (rows, gaps) = chosen(found, &committed(&bytes))?;
        if unfinished.exists() {
            folder::move_aside(&disk, directory, &unfinished)?;
        }
        make_index(disk.create(&unfinished).map_err(failed(&unfinished))?, &disk, &key.rows())?;
        let file = File::options().read(true).write(true).open(&unfinished).map_err(failed(&unfinished))?;
        let store = Self::of_index(directory, key, disk.clone(), Index::of(file, &disk)?, None)?;
        store.write(&rows)?;
        let lost = store.burn_what_is_lost(&gaps)?;
        drop(store);
        folder::moved_aside(&disk, directory, &path)?;
        disk.rename(&unfinished, &path)
            .and_then(|()| disk.sync_directory(directory))
            .map_err(failed(&path))?;
        Ok(Some(lost))
    }

    /// Burns the epochs of which something is lost: the log ends in a gap, or the file of keys says more.
    fn burn_what_is_lost(&self, gaps: &HashSet<EpochId>) -> Result<Vec<Lost>, Error> {
        let mut lost = Vec::new();
        for (id, _) in self.epochs()? {
            let state = self.state(&id)?;
            let why = match self.kept(&id) {
                _ if state.burned().is_some() => None,
                _ if gaps.contains(&id) => Some("entries of its log are lost".to_owned()),
                Ok(kept) => self.lost_beside(&id, &state, &kept)?,
                Err(_) => Some("its keys are gone or cannot be read".to_owned()),
            };
            if let Some(why) = why {
                let why = format!("the index was damaged: {why}");
                drop(self.append(&id, &Entry::Burned(why.clone()))?);
                lost.push((id, why));
            }
        }
        Ok(lost)
    }

    /// Returns what an epoch with these keys has lost, if something.
    fn lost_beside(&self, id: &EpochId, state: &State, kept: &Kept) -> Result<Option<String>, Error> {
        let is_ahead = kept.secrets.forward.entry() > state.shared() + 1
            || kept.chains.iter().any(|(serial, chain)| {
                chain.item() > state.gone(*serial) || number_of(*serial) > state.shared()
            });
        if is_ahead {
            return Ok(Some("the last entries of its log are lost".to_owned()));
        }
        for (serial, _) in kept.chains.iter().filter(|(serial, _)| state.is_made(*serial)) {
            if self.batch_row(id, *serial).is_err() {
                return Ok(Some(format!("the row of its batch {serial} is lost")));
            }
        }
        Ok(None)
    }
}

/// Returns the rows that the database finds, of the tables through which it finds its way.
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

/// Returns the rows in a page, which may be of any content: keys and values.
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
fn search(bytes: &[u8], sealer: &seal::Rows) -> Found {
    let mut found = Found::new();
    for page in (0..bytes.len()).step_by(PAGE_BYTES) {
        for (key, sealed) in rows_of(&bytes[page..]) {
            let open =
                |(place, table): (usize, &Rows)| Some((place, sealer.open(&about(*table, key), sealed)?));
            let Some((place, plain)) = TABLES.iter().enumerate().find_map(open) else { continue };
            let versions = found.entry((place, key.to_vec())).or_default();
            if versions.iter().all(|other| other.sealed != sealed) {
                versions.push(Version { sealed: sealed.to_vec(), plain });
            }
        }
    }
    found
}

/// Chooses a version of each row. Returns the rows, and the epochs whose logs have gaps: of such a log the
/// entries before the gap remain.
fn chosen(found: Found, committed: &Committed) -> Result<(Vec<RowChange>, HashSet<EpochId>), Error> {
    let (mut rows, mut gaps) = (Vec::new(), HashSet::new());
    let mut logs: HashMap<EpochId, (u64, State)> = HashMap::new();
    for ((table, key), versions) in found {
        let is = |rows: Rows| rows.name() == TABLES[table].name();
        let epoch = key.first_chunk::<32>().copied().unwrap_or_default();
        let stands = committed.rows.get(&(table, key.clone()));
        // These may have been removed or replaced, and an old one would do harm.
        if (is(NOTES) || is(PAIRS)) && stands.is_none() && committed.tables.contains(&table) {
            continue;
        }
        let one = match (versions.iter().find(|version| Some(&version.sealed) == stands), &versions[..]) {
            (Some(one), _) => Some(one),
            (None, _) if is(NOTES) => {
                return Err(Error::Stock(
                    "the index is damaged, and it cannot be told how often a service has run; bring back a \
                     copy of the whole folder, or burn what the peer holds and begin with another folder"
                        .into(),
                ));
            }
            (None, [one, others @ ..]) if others.iter().all(|other| *other.plain == *one.plain) => Some(one),
            // All that was tried counts, and all that was given up is gone.
            (None, all) if is(VAIN) => {
                all.iter().max_by_key(|version| version.read().map(|row: Attempts| row.sum()))
            }
            (None, all) if is(BATCHES) => {
                all.iter().max_by_key(|version| version.read().map(|row: BatchRow| row.lost()))
            }
            (None, _) => None,
        };
        if is(LOG) {
            let (next, state) = logs.entry(epoch).or_insert_with(|| (0, State::new(&epoch)));
            let row = one.filter(|_| key == with_number(&epoch, *next)).and_then(Version::read::<LogRow>);
            if gaps.contains(&epoch) || row.is_none_or(|row| row.apply(state).is_err()) {
                gaps.insert(epoch);
                continue;
            }
            *next += 1;
        }
        rows.extend(one.filter(|_| !is(FORMAT)).map(|one| (TABLES[table], key, Some(one.sealed.clone()))));
    }
    Ok((rows, gaps))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::log::FillStep;

    /// Of a log with a gap the entries before it remain, and its epoch is named, although the file of keys
    /// may agree with them: a note may be lost that secrets were lent.
    #[test]
    fn row_23_a_log_with_a_gap_is_named() {
        let id: EpochId = [3; 32];
        let step = FillStep { job: [1; 32], number: 0, of: 1, risk: 0, workers: 1 };
        let again = Entry::Fill(FillStep { job: [2; 32], ..step });
        let entries = [Entry::Fill(step), Entry::Stored, Entry::Made, again, Entry::Lent];
        let place = TABLES.iter().position(|table| table.name() == LOG.name()).unwrap();
        let version = |number: u64, entry: &Entry| {
            let plain = Zeroizing::new(postcard::to_stdvec(&(entry, false)).unwrap());
            ((place, with_number(&id, number)), vec![Version { sealed: vec![number as u8], plain }])
        };
        let found = |without: Option<u64>| -> Found {
            let all = (0..).zip(&entries).filter(|(number, _)| Some(*number) != without);
            all.map(|(number, entry)| version(number, entry)).collect()
        };
        for (without, left) in [(None, 5), (Some(0), 0), (Some(3), 3), (Some(4), 4)] {
            let (rows, gaps) = chosen(found(without), &Committed::default()).unwrap();
            assert_eq!((rows.len(), gaps.contains(&id)), (left, left < 4), "without {without:?}");
        }
        // The last entry has two versions, and the database finds neither, or one of them.
        let mut twice = found(None);
        let (key, others) = version(4, &Entry::Returned);
        twice.get_mut(&key).unwrap().extend(others);
        twice.get_mut(&key).unwrap()[1].sealed = vec![9];
        let (rows, gaps) = chosen(twice, &Committed::default()).unwrap();
        assert_eq!((rows.len(), gaps.contains(&id)), (4, true));
        let rows = HashMap::from([(key, vec![4])]);
        let (rows, gaps) = chosen(found(None), &Committed { rows, ..Committed::default() }).unwrap();
        assert_eq!((rows.len(), gaps.is_empty()), (5, true));
    }
}
