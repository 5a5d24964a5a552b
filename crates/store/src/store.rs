//! A store's folder, which only one process can open, and the rows of its index.

use std::collections::HashMap;
use std::fs::{File, TryLockError};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use redb::{Database, Durability, ReadableDatabase};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::disk::{Disk, Faults, NoFaults};
use super::folder::{self, failed};
use super::index::{
    FORMAT, FORMAT_KEY, FORMAT_VERSION, Index, RowChange, RowTable, SealedRow, about, at_one_moment,
    encoded_secret, failed as index_failed, make_index,
};
use super::lease::Leases;
use super::log::{EpochId, EpochState};
use super::poison::Poison;
use super::seal::{self, StoreKey};
use brickwork_base::process::{Owned, Process};
use brickwork_base::{Error, private};

/// A handle to a store that this process has opened, for use ([`Store::open`]) or only for viewing
/// ([`Store::view`]). Clones of a handle are the same store. Sessions on several threads may share it, each
/// in an epoch that it has [leased](crate::PeerLock::lease). The folder can be opened again when the last
/// handle is dropped.
///
/// ```
/// use brickwork_store::{Store, StoreKey};
/// # let folder = tempfile::tempdir().unwrap();
/// # let path = folder.path().join("store");
///
/// let key = StoreKey::from_hex(&StoreKey::generate()?)?;
/// let store = Store::open(&path, &key)?;
/// assert!(Store::open(&path, &key).is_err(), "it is in use");
/// drop(store);
/// Store::open(&path, &key)?;
/// # Ok::<(), brickwork_base::Error>(())
/// ```
#[derive(Clone)]
pub struct Store {
    pub(super) shared: Arc<StoreState>,
}

/// Seconds in a day.
pub(super) const DAY: u64 = 24 * 60 * 60;

/// The default maximum age of an epoch, in seconds: 30 days.
pub const MAX_AGE: u64 = 30 * DAY;

/// The state that all handles of a store share.
pub(super) struct StoreState {
    pub directory: PathBuf,
    pub key: StoreKey,
    rows: seal::RowKey,
    pub disk: Disk,
    pub index: Owned<Index>,
    /// It is locked during every change, so that each entry is written after exactly the state that it
    /// follows.
    changing: Mutex<()>,
    /// The states of epochs that this process has changed, with their numbers of entries.
    states: Mutex<HashMap<EpochId, (EpochState, u64)>>,
    pub leases: Leases,
    /// Rows that the next transaction writes in addition to its own.
    pub behind: Mutex<Vec<RowChange>>,
    /// Segments that interrupted processes left and whose step is still the current one, by epoch.
    leftovers: Mutex<Vec<(EpochId, PathBuf)>>,
    /// The maximum age of a new epoch, in seconds.
    max_age: AtomicU64,
    /// The reason why nothing can be taken any more, if there is one. Writers of segments share it.
    pub poisoned: Poison,
    /// The lock of the folder; `None` in a view.
    _lock: Option<Lock>,
}

/// The lock of a store's folder. A forked process also has the file open, so dropping this handle must unlock
/// the file explicitly.
pub(super) struct Lock(File, Process);

impl Lock {
    /// Locks a folder.
    pub fn of(directory: &Path) -> Result<Self, Error> {
        let path = directory.join(folder::LOCK);
        let lock = private::options().create(true).truncate(false).open(&path).map_err(failed(&path))?;
        lock.try_lock().map_err(|error| match error {
            TryLockError::WouldBlock => {
                Error::Busy(format!("another process uses the store {}", directory.display()))
            }
            TryLockError::Error(error) => failed(&path)(error),
        })?;
        Ok(Lock(lock, Process::here()))
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        if self.1.is_here() {
            // If it cannot be unlocked, the lock ends when all copies of the file are closed.
            let _ = self.0.unlock();
        }
    }
}

impl std::fmt::Debug for Store {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Store").field("directory", &self.shared.directory).finish_non_exhaustive()
    }
}

impl StoreState {
    /// Returns the segments of current steps that interrupted processes left.
    pub fn leftovers(&self) -> MutexGuard<'_, Vec<(EpochId, PathBuf)>> {
        self.leftovers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Store {
    /// Returns whether a folder holds a store; if it does not, a new one can be made there.
    ///
    /// # Errors
    /// [`Error::Incomplete`] if there is no index but something else: the index was moved away or is not
    /// restored yet. [`Error::Stock`] if the folder cannot be read.
    pub fn exists(directory: &Path) -> Result<bool, Error> {
        folder::holds_store(directory)
    }

    /// Opens the store in a folder, or makes a store in an empty folder.
    ///
    /// # Errors
    /// [`Error::Busy`] if another process has it open, [`Error::Incomplete`] if its index is missing,
    /// [`Error::Stock`] if the key is wrong, the disk fails or a file was altered.
    pub fn open(directory: &Path, key: &StoreKey) -> Result<Self, Error> {
        Self::open_with(directory, key, Arc::new(NoFaults))
    }

    /// Does the same as [`Store::open`], on a disk with these faults.
    ///
    /// # Errors
    /// As [`Store::open`].
    pub fn open_with(directory: &Path, key: &StoreKey, faults: Arc<dyn Faults>) -> Result<Self, Error> {
        let disk = Disk(faults);
        folder::holds_store(directory)?;
        folder::make(directory)?;
        let lock = Lock::of(directory)?;
        let path = directory.join(folder::INDEX);
        // This is checked again, because the folder is locked only now.
        if !folder::holds_store(directory)? {
            // The index gets its name when it is complete, so a crash leaves no incomplete index.
            let unfinished = directory.join(folder::UNFINISHED);
            if unfinished.exists() {
                folder::move_aside(&disk, directory, &unfinished)?;
            }
            let file = disk.create(&unfinished).map_err(failed(&unfinished))?;
            make_index(file, &disk, &key.rows())?;
            disk.rename(&unfinished, &path)
                .and_then(|()| disk.sync_directory(directory))
                .map_err(failed(&path))?;
        }
        folder::make(&directory.join(folder::SEGMENTS))?;
        folder::make(&directory.join(folder::KEYS))?;
        let file = File::options().read(true).write(true).open(&path).map_err(failed(&path))?;
        drop(Index::checked(&std::fs::read(&path).map_err(failed(&path))?)?);
        let index = Index::of(file, &disk)?;
        let store = Self::of_index(directory, key, disk, index, Some(lock))?;
        store.settle_keys()?;
        store.burn_what_is_lent()?;
        store.sweep()?;
        Ok(store)
    }

    /// Returns an error if the store's disk has too little room for an action that writes this many bytes.
    ///
    /// # Errors
    /// [`Error::Resource`] if there is too little room.
    pub fn check_room(&self, bytes: u64) -> Result<(), Error> {
        let StoreState { disk, directory, .. } = &*self.shared;
        match disk.0.free_bytes(directory) {
            Some(free) if free < bytes => Err(Error::Resource(format!(
                "{}: the new stock needs at least {} MiB of disk, but only {} MiB are free; nothing was \
                 begun",
                directory.display(),
                bytes.div_ceil(1 << 20),
                free >> 20
            ))),
            _ => Ok(()),
        }
    }

    /// Sets the maximum age of new epochs, in seconds. The default is [`MAX_AGE`]. If the parties' limits
    /// differ, the smaller one counts.
    pub fn set_max_age(&self, seconds: u64) {
        self.shared.max_age.store(seconds, Ordering::Relaxed);
    }

    /// Returns the maximum age of new epochs, in seconds.
    pub fn max_age(&self) -> u64 {
        self.shared.max_age.load(Ordering::Relaxed)
    }

    /// Opens a store only for reading, even while another process has it open. It shows the present state of
    /// the disk. No change is possible, and no item can be taken.
    ///
    /// # Errors
    /// [`Error::Stock`] as [`Store::open`], or if the index changes faster than it can be read.
    pub fn view(directory: &Path, key: &StoreKey) -> Result<Self, Error> {
        folder::holds_store(directory)?;
        let index = Index::checked(&at_one_moment(&directory.join(folder::INDEX))?)?;
        let store = Self::of_index(directory, key, Disk(Arc::new(NoFaults)), index, None)?;
        store.shared.poisoned.because("the store was opened only for reading".into());
        Ok(store)
    }

    pub(super) fn of_index(
        directory: &Path,
        key: &StoreKey,
        disk: Disk,
        index: Index,
        lock: Option<Lock>,
    ) -> Result<Self, Error> {
        let shared = StoreState {
            directory: directory.into(),
            key: key.clone(),
            rows: key.rows(),
            disk,
            index: Owned::new(index),
            changing: Mutex::new(()),
            states: Mutex::default(),
            leases: Leases::default(),
            behind: Mutex::default(),
            leftovers: Mutex::default(),
            max_age: AtomicU64::new(MAX_AGE),
            poisoned: Poison::default(),
            _lock: lock,
        };
        let store = Store { shared: Arc::new(shared) };
        let version: Option<u32> = store.row(FORMAT, FORMAT_KEY).map_err(|_| {
            Error::Stock(format!(
                "the store key does not open {}; it is the key of another store, or the index was altered",
                directory.display()
            ))
        })?;
        match version {
            Some(FORMAT_VERSION) => {}
            Some(other) => {
                return Err(Error::Stock(format!(
                    "the store has format {other}, but this release reads format {FORMAT_VERSION}"
                )));
            }
            None => {
                return Err(Error::Stock(format!("{} is not the index of a store", directory.display())));
            }
        }
        Ok(store)
    }

    /// Removes the file of a segment, if it exists.
    pub(super) fn remove(&self, path: &Path) -> Result<(), Error> {
        match self.shared.disk.remove(path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(failed(path)(error)),
            _ => Ok(()),
        }
    }

    /// Begins a change, and prevents other changes until it has ended.
    pub(super) fn change(&self) -> Result<MutexGuard<'_, ()>, Error> {
        self.sound()?;
        let changing = self.shared.changing.lock();
        changing.map_err(|_| {
            Error::Stock("a thread failed while it changed the store; open the store again".into())
        })
    }

    /// Returns the states of epochs that this process has changed.
    pub(super) fn known(&self) -> MutexGuard<'_, HashMap<EpochId, (EpochState, u64)>> {
        // Each state is replaced as a whole, so it is valid even if a thread panicked.
        self.shared.states.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn segments(&self) -> PathBuf {
        self.shared.directory.join(folder::SEGMENTS)
    }

    /// Returns the folder of the key files.
    pub(super) fn keys(&self) -> PathBuf {
        self.shared.directory.join(folder::KEYS)
    }

    pub(super) fn all(&self, table: RowTable) -> Result<Vec<SealedRow>, Error> {
        self.between(table, &[], None)
    }

    /// Returns the rows whose keys begin with `prefix`, in order.
    pub(super) fn between(
        &self,
        table: RowTable,
        prefix: &[u8],
        most: Option<usize>,
    ) -> Result<Vec<SealedRow>, Error> {
        let index = self.shared.index.get()?;
        let read = |index: &Database| -> Result<Vec<SealedRow>, redb::Error> {
            let transaction = index.begin_read()?;
            let table = transaction.open_table(table)?;
            let mut rows = Vec::new();
            for row in table.range(prefix..)? {
                let (key, value) = row?;
                if !key.value().starts_with(prefix) || most.is_some_and(|most| rows.len() == most) {
                    break;
                }
                rows.push((key.value().to_vec(), value.value().to_vec()));
            }
            Ok(rows)
        };
        index
            .run(read)
            .map_err(index_failed("reading the index"))
            .inspect_err(|error| self.shared.poisoned.by(error))
    }

    pub(super) fn open_row<T: DeserializeOwned>(
        &self,
        table: RowTable,
        key: &[u8],
        sealed: &[u8],
    ) -> Result<T, Error> {
        let name = redb::TableHandle::name(&table).to_owned();
        let row = self.shared.rows.open(&about(table, key), sealed);
        let row = row.and_then(|row| postcard::from_bytes(&row).ok());
        row.ok_or_else(|| {
            Error::Stock(format!("a row of the table {name} was altered; do not use this store any more"))
        })
    }

    pub(super) fn row<T: DeserializeOwned>(&self, table: RowTable, key: &[u8]) -> Result<Option<T>, Error> {
        let rows = self.between(table, key, Some(1))?;
        rows.first().filter(|(k, _)| k == key).map(|(key, row)| self.open_row(table, key, row)).transpose()
    }

    /// Seals and writes rows in one durable transaction. After a failure the store is poisoned, because the
    /// content of the disk is unknown until it is opened again.
    pub(super) fn write(&self, changes: &[RowChange]) -> Result<(), Error> {
        self.sound()?;
        let index = self.shared.index.get()?;
        let behind = std::mem::take(&mut *self.shared.behind.lock().unwrap_or_else(PoisonError::into_inner));
        if behind.is_empty() && changes.is_empty() {
            return Ok(());
        }
        let write = |index: &Database| -> Result<(), redb::Error> {
            let mut transaction = index.begin_write()?;
            transaction.set_durability(Durability::Immediate).expect(
                "this program does not lower the \
                durability",
            );
            // Without this, damage to the last transaction would silently restore the previous one.
            transaction.set_two_phase_commit(true);
            for (table, key, sealed) in behind.iter().chain(changes) {
                let mut table = transaction.open_table(*table)?;
                match sealed {
                    Some(sealed) => table.insert(&key[..], &sealed[..])?,
                    None => table.remove(&key[..])?,
                };
            }
            Ok(transaction.commit()?)
        };
        index
            .run(write)
            .map_err(index_failed("writing the index"))
            .inspect_err(|error| self.shared.poisoned.by(error))
    }

    pub(super) fn sealed(
        &self,
        table: RowTable,
        key: Vec<u8>,
        row: &impl Serialize,
    ) -> Result<RowChange, Error> {
        let row = encoded_secret(row);
        let sealed = self.shared.rows.seal(&about(table, &key), &row)?;
        Ok((table, key, Some(sealed)))
    }

    pub(super) fn sound(&self) -> Result<(), Error> {
        self.shared.index.get()?;
        self.shared.poisoned.none()
    }
}
