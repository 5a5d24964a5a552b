//! Stock on disk: what is preprocessed, kept until it is used, and used once. `docs/stock.md` has the formats
//! and the argument.
//!
//! A [`Store`] is a directory with one lock. Payload lies in segment files, each written once; the index and
//! the log of each *epoch* lie in a transactional database. Everything that lives under one setup of a
//! protocol is one epoch: its secrets, its batches, and its [`log`](Entry), from which alone follows what is
//! burned. The store knows nothing of the protocol: secrets and records are bytes to it.
//!
//! Items leave the store only through [`Store::append`], which makes the burn durable before it hands out the
//! [`Taken`] that [`Store::read`] wants to see.
#![forbid(unsafe_code)]

mod disk;
mod lease;
mod log;
#[cfg(test)]
mod model;
mod pair;
mod poison;
mod range;
mod seal;
mod segment;
#[cfg(test)]
mod tests;
mod vain;

use std::collections::{HashMap, HashSet};
use std::fs::{File, TryLockError};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rayon::prelude::*;
use redb::backends::{FileBackend, InMemoryBackend};
use redb::{Database, Durability, ReadableDatabase, StorageBackend, TableDefinition};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use zeroize::Zeroizing;

use brickwork_base::Error;
use brickwork_base::pool;
use brickwork_base::process::{Owned, Process};
use brickwork_base::{Party, Security};
pub use brickwork_base::{Strangers, short};
pub use disk::{Change, Faults, NoFaults};
use disk::{Disk, IndexFile};
use lease::Leases;
pub use lease::{Lease, PeerLock};
pub use log::{
    Entry, EpochId, FillStep, GivenUp, Head, MAX_WORKERS, SERIALS, Serial, Standing, State, Verdict, serial,
};
pub use pair::{ACQUAINTANCE_BYTES, Acquaintance, Meeting, PairId, Relation};
use poison::Poison;
pub use range::{Counter, Range, Ranges};
pub use seal::StoreKey;
pub use seal::TAG_BYTES;
use segment::Segment;
pub use segment::{Bulk, MAX_RECORD_BYTES, Record, Writer};
pub use vain::Account;

/// Rows: a key that names what the row is about, and the sealed row.
type Rows = TableDefinition<'static, &'static [u8], &'static [u8]>;

/// The key of a row, and the sealed row.
type Row = (Vec<u8>, Vec<u8>);

/// A row that is written, or removed where there is none to write.
type RowChange = (Rows, Vec<u8>, Option<Vec<u8>>);

/// One row, which only the right key opens.
const FORMAT: Rows = TableDefinition::new("format");
/// By epoch.
const EPOCHS: Rows = TableDefinition::new("epochs");
/// By epoch: the protocol's secrets.
const SECRETS: Rows = TableDefinition::new("secrets");
/// By epoch and serial.
const BATCHES: Rows = TableDefinition::new("batches");
/// By epoch and number.
const LOG: Rows = TableDefinition::new("log");
/// By a digest of whose stores they are.
const PAIRS: Rows = TableDefinition::new("pairs");
/// By a digest of whose attempts they are.
const VAIN: Rows = TableDefinition::new("vain");

const FORMAT_KEY: &[u8] = b"brickwork stock";
const FORMAT_VERSION: u32 = 8;

/// What an epoch is for. It never changes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Epoch {
    /// The protocol whose material it holds.
    pub protocol: String,
    /// Version of everything that two parties must have in common; stock of another one is of no use.
    pub version: u32,
    /// This party's role.
    pub role: Party,
    /// Statistical security.
    pub security: Security,
    /// The public keys of the garbler and the evaluator.
    pub identities: [[u8; 32]; 2],
    /// Seconds since 1970, for people; nothing depends on it.
    pub created: u64,
    /// What may fail in it beside its steps, in units of 2^-128.
    pub fixed: u128,
}

impl Epoch {
    /// Returns whose it is.
    pub fn relation(&self) -> Relation {
        Relation { role: self.role, identities: self.identities }
    }
}

/// A batch of items of one kind. It never changes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Batch {
    /// What the items are, for the protocol.
    pub kind: u8,
    /// Name of the component, for people.
    pub name: String,
    /// Digest of the component, or zeros.
    pub component: [u8; 32],
    /// What the protocol must know of the batch before it reads it.
    pub header: Vec<u8>,
}

#[derive(Serialize, Deserialize)]
struct BatchRow {
    batch: Batch,
    segment: Segment,
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

/// The stores that a store belongs to, by whose they are.
#[derive(Serialize, Deserialize)]
struct PairRow {
    relation: Relation,
    id: PairId,
}

/// An entry that is durable, and what it allows once: to read the items that it takes, and to draw from the
/// ranges of counters that belong to it.
#[must_use]
pub struct Taken {
    epoch: EpochId,
    /// Of a shared entry: one for each number that it takes.
    ranges: Vec<Ranges>,
    /// Batch, first item, number of items.
    items: Vec<(Serial, u64, u32)>,
}

impl Taken {
    /// Hands out the ranges of the entry, once.
    ///
    /// # Errors
    /// [`Error::Usage`] if they are handed out, the entry is a party's own note and has none, or they are
    /// those of several workers.
    pub fn ranges(&mut self) -> Result<Ranges, Error> {
        let mut all = self.ranges_of_workers()?;
        match all.len() {
            1 => Ok(all.remove(0)),
            _ => Err(Error::Usage("these ranges are of several workers".into())),
        }
    }

    /// Hands out the ranges of all workers of the step that the entry begins, in order, once: no number of
    /// any counter is in two of them.
    ///
    /// # Errors
    /// [`Error::Usage`] if they are handed out, or the entry is a party's own note and has none.
    pub fn ranges_of_workers(&mut self) -> Result<Vec<Ranges>, Error> {
        match std::mem::take(&mut self.ranges) {
            none if none.is_empty() => Err(Error::Usage("the ranges of an entry are handed out once".into())),
            ranges => Ok(ranges),
        }
    }

    /// Returns the items: batch, first item, number of items.
    pub fn items(&self) -> &[(Serial, u64, u32)] {
        &self.items
    }
}

/// A store that is open in this process and in no other, or is looked at ([`Store::view`]): a handle, whose
/// clones are the same store. Sessions on several threads may share it, each in an epoch that it has
/// [leased](PeerLock::lease); the folder is free again when the last handle is gone.
#[derive(Clone)]
pub struct Store {
    shared: Arc<Shared>,
}

/// What all handles of a store share.
struct Shared {
    directory: PathBuf,
    key: StoreKey,
    rows: seal::Rows,
    disk: Disk,
    index: Owned<Database>,
    /// Held while anything is changed: what an entry follows from is what it is written behind.
    changing: Mutex<()>,
    /// Of the epochs that were written to: the state, and the number of entries.
    states: Mutex<HashMap<EpochId, (State, u64)>>,
    leases: Leases,
    /// Why nothing may be taken any more, if so; writers of segments know it too.
    poisoned: Poison,
    /// None in a view.
    _lock: Option<Lock>,
}

/// The lock of a store's folder. A fork has a copy of the file, so the lock would outlive this process's own.
struct Lock(File, Process);

impl Drop for Lock {
    fn drop(&mut self) {
        if self.1.is_here() {
            // What cannot be unlocked is when the file is closed everywhere.
            let _ = self.0.unlock();
        }
    }
}

impl std::fmt::Debug for Store {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Store").field("directory", &self.shared.directory).finish_non_exhaustive()
    }
}

fn failed(what: &str) -> impl Fn(redb::Error) -> Error {
    move |error| Error::Stock(format!("{what}: {error}"))
}

fn with_number(epoch: &EpochId, number: u64) -> Vec<u8> {
    [&epoch[..], &number.to_be_bytes()].concat()
}

/// The key of a pair's row.
fn key_of(relation: &Relation) -> [u8; 32] {
    let Relation { role, identities } = relation;
    let parts = [&[*role as u8][..], &identities.concat()].concat();
    blake3::derive_key("brickwork 2026-11 stock pair of stores", &parts)
}

/// What a row is about: its table and its key.
fn about(table: Rows, key: &[u8]) -> Vec<u8> {
    [redb::TableHandle::name(&table).as_bytes(), &[0], key].concat()
}

impl Store {
    /// Opens the store in a directory, or makes one.
    ///
    /// # Errors
    /// [`Error::Busy`] if another process has it open, [`Error::Stock`] if the key is wrong, the disk fails
    /// or something was altered.
    pub fn open(directory: &Path, key: &StoreKey) -> Result<Self, Error> {
        Self::open_with(directory, key, Arc::new(NoFaults))
    }

    /// Does what [`Store::open`] does, on a disk that fails as it is told.
    ///
    /// # Errors
    /// As [`Store::open`].
    pub fn open_with(directory: &Path, key: &StoreKey, faults: Arc<dyn Faults>) -> Result<Self, Error> {
        let disk = Disk(faults);
        let io = |what: String| move |error: std::io::Error| Error::Stock(format!("{what}: {error}"));
        let segments = directory.join("segments");
        std::fs::create_dir_all(&segments).map_err(io(segments.display().to_string()))?;
        let lock = File::options().create(true).truncate(false).write(true).open(directory.join("lock"));
        let lock = lock.map_err(io(directory.join("lock").display().to_string()))?;
        lock.try_lock().map_err(|error| match error {
            TryLockError::WouldBlock => {
                Error::Busy(format!("{} is in use by another process", directory.display()))
            }
            TryLockError::Error(error) => io(directory.join("lock").display().to_string())(error),
        })?;

        let path = directory.join("index.redb");
        // An error is no absence: a new index would make everything that is there unknown, and it would be
        // removed.
        if !path.try_exists().map_err(io(path.display().to_string()))? {
            // Made under another name, so that a crash leaves no half an index.
            let unfinished = directory.join("index.unfinished");
            if unfinished.exists() {
                disk.remove(&unfinished).map_err(io(unfinished.display().to_string()))?;
            }
            let file = disk.create(&unfinished).map_err(io(unfinished.display().to_string()))?;
            make_index(file, &disk, &key.rows())?;
            disk.rename(&unfinished, &path)
                .and_then(|()| disk.sync_directory(directory))
                .map_err(io(path.display().to_string()))?;
        }
        let file =
            File::options().read(true).write(true).open(&path).map_err(io(path.display().to_string()))?;
        let index = database(index_file(file, &disk)?)?;
        let store = Self::of_index(directory, key, disk, index, Some(Lock(lock, Process::here())))?;
        store.sweep()?;
        Ok(store)
    }

    /// Looks at a store, also while another process has it: at what is durable at this moment. Nothing can be
    /// changed, and nothing taken.
    ///
    /// # Errors
    /// [`Error::Stock`] as [`Store::open`], or if the index changes faster than it can be read.
    pub fn view(directory: &Path, key: &StoreKey) -> Result<Self, Error> {
        let path = directory.join("index.redb");
        let failed = |error: std::io::Error| Error::Stock(format!("{}: {error}", path.display()));
        let backend = InMemoryBackend::new();
        let bytes = at_one_moment(&path)?;
        backend.set_len(bytes.len() as u64).and_then(|()| backend.write(0, &bytes)).map_err(failed)?;
        let store = Self::of_index(directory, key, Disk(Arc::new(NoFaults)), database(backend)?, None)?;
        store.shared.poisoned.because("it was opened to be looked at, no more".into());
        Ok(store)
    }

    fn of_index(
        directory: &Path,
        key: &StoreKey,
        disk: Disk,
        index: Database,
        lock: Option<Lock>,
    ) -> Result<Self, Error> {
        let shared = Shared {
            directory: directory.into(),
            key: key.clone(),
            rows: key.rows(),
            disk,
            index: Owned::new(index),
            changing: Mutex::new(()),
            states: Mutex::default(),
            leases: Leases::default(),
            poisoned: Poison::default(),
            _lock: lock,
        };
        let store = Store { shared: Arc::new(shared) };
        let version: Option<u32> = store.row(FORMAT, FORMAT_KEY).map_err(|_| {
            Error::Stock(format!(
                "the store key does not open {}; it is another store's, or the index was altered",
                directory.display()
            ))
        })?;
        match version {
            Some(FORMAT_VERSION) => {}
            Some(other) => {
                return Err(Error::Stock(format!(
                    "the store has format {other}, this is format {FORMAT_VERSION}"
                )));
            }
            None => {
                return Err(Error::Stock(format!("{} holds no index of a store", directory.display())));
            }
        }
        Ok(store)
    }

    /// Removes what is of no use any more: batches that were given up, the segments of those that are used
    /// up, and segments that the index does not know.
    fn sweep(&self) -> Result<(), Error> {
        let (mut known, mut gone) = (HashSet::new(), Vec::new());
        for (id, _) in self.epochs()? {
            let state = self.state(&id)?;
            for (key, row) in self.between(BATCHES, &id, None)? {
                let row: BatchRow = self.open_row(BATCHES, &key, &row)?;
                match use_of(&state, serial_of(&key), &row.segment) {
                    Of::Programs => {
                        known.insert(Segment::path(&self.segments(), &row.segment.id));
                    }
                    Of::Nobody => {}
                    Of::Nothing => gone.push((BATCHES, key, None)),
                }
            }
        }
        if !gone.is_empty() {
            self.write(&gone)?;
        }
        let io = |error: std::io::Error| Error::Stock(format!("{}: {error}", self.segments().display()));
        for file in std::fs::read_dir(self.segments()).map_err(io)? {
            let path = file.map_err(io)?.path();
            let ours = path.extension().is_some_and(|e| e == "segment" || e == "unfinished");
            if ours && !known.contains(&path) {
                self.remove(&path)?;
            }
        }
        Ok(())
    }

    /// Removes the file of a segment, unless it is gone.
    fn remove(&self, path: &Path) -> Result<(), Error> {
        match self.shared.disk.remove(path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                Err(Error::Stock(format!("{}: {error}", path.display())))
            }
            _ => Ok(()),
        }
    }

    /// Begins a change: no other is made until it is over.
    fn change(&self) -> Result<MutexGuard<'_, ()>, Error> {
        self.sound()?;
        let changing = self.shared.changing.lock();
        changing.map_err(|_| Error::Stock("a thread died while it changed the store; open it anew".into()))
    }

    /// The states of epochs that were written to.
    fn known(&self) -> MutexGuard<'_, HashMap<EpochId, (State, u64)>> {
        // A state is there as a whole or not at all, wherever a thread dies.
        self.shared.states.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn segments(&self) -> PathBuf {
        self.shared.directory.join("segments")
    }

    fn all(&self, table: Rows) -> Result<Vec<Row>, Error> {
        self.between(table, &[], None)
    }

    /// The rows whose keys begin with `prefix`, in order.
    fn between(&self, table: Rows, prefix: &[u8], most: Option<usize>) -> Result<Vec<Row>, Error> {
        let index = self.shared.index.get()?;
        let read = || -> Result<Vec<Row>, redb::Error> {
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
        read().map_err(failed("reading the index"))
    }

    fn open_row<T: DeserializeOwned>(&self, table: Rows, key: &[u8], sealed: &[u8]) -> Result<T, Error> {
        let name = redb::TableHandle::name(&table).to_owned();
        let row = self.shared.rows.open(&about(table, key), sealed);
        let row = row.and_then(|row| postcard::from_bytes(&row).ok());
        row.ok_or_else(|| {
            Error::Stock(format!("a row of {name} was altered; bring nothing of this store back into use"))
        })
    }

    fn row<T: DeserializeOwned>(&self, table: Rows, key: &[u8]) -> Result<Option<T>, Error> {
        let rows = self.between(table, key, Some(1))?;
        rows.first().filter(|(k, _)| k == key).map(|(key, row)| self.open_row(table, key, row)).transpose()
    }

    /// Seals and writes rows in one durable transaction. After a failure the store is poisoned: what is on
    /// the disk is known again only when it is opened anew.
    fn write(&self, changes: &[RowChange]) -> Result<(), Error> {
        self.sound()?;
        let index = self.shared.index.get()?;
        erase_stack();
        let write = || -> Result<(), redb::Error> {
            let mut transaction = index.begin_write()?;
            transaction.set_durability(Durability::Immediate).expect("nothing reduces it");
            for (table, key, sealed) in changes {
                let mut table = transaction.open_table(*table)?;
                match sealed {
                    Some(sealed) => table.insert(&key[..], &sealed[..])?,
                    None => table.remove(&key[..])?,
                };
            }
            Ok(transaction.commit()?)
        };
        write().map_err(failed("writing the index")).inspect_err(|error| self.shared.poisoned.by(error))
    }

    fn sealed(&self, table: Rows, key: Vec<u8>, row: &impl Serialize) -> Result<RowChange, Error> {
        let row = encoded_secret(row);
        let sealed = self.shared.rows.seal(&about(table, &key), &row)?;
        Ok((table, key, Some(sealed)))
    }

    fn sound(&self) -> Result<(), Error> {
        self.shared.index.get()?;
        self.shared.poisoned.none()
    }

    /// Takes the lock of a peer, when no other session holds it.
    ///
    /// # Errors
    /// [`Error::Busy`] if another session holds it for half a minute.
    pub fn lock_peer(&self, relation: &Relation) -> Result<PeerLock, Error> {
        self.shared.leases.lock_peer(key_of(relation), lease::PATIENCE)
    }

    /// Returns whether a session of this process has leased an epoch at this moment.
    pub fn is_busy(&self, epoch: &EpochId) -> bool {
        self.shared.leases.is_busy(epoch)
    }

    /// Returns the pair of stores that this one and a peer's are, if they have met.
    ///
    /// # Errors
    /// [`Error::Stock`] if the index cannot be read or was altered.
    pub fn pair(&self, relation: &Relation) -> Result<Option<PairId>, Error> {
        let row: Option<PairRow> = self.row(PAIRS, &key_of(relation))?;
        match row {
            None => Ok(None),
            Some(row) if row.relation == *relation => Ok(Some(row.id)),
            Some(_) => Err(Error::Stock("the index names a pair of stores wrongly".into())),
        }
    }

    /// Returns all pairs that this store is part of.
    ///
    /// # Errors
    /// As [`Store::pair`].
    pub fn pairs(&self) -> Result<Vec<(Relation, PairId)>, Error> {
        let open = |(key, row): Row| {
            let row: PairRow = self.open_row(PAIRS, &key, &row)?;
            Ok((row.relation, row.id))
        };
        self.all(PAIRS)?.into_iter().map(open).collect()
    }

    /// Keeps the identifier of a pair, in place of what was known of this peer.
    ///
    /// # Errors
    /// [`Error::Stock`] if the disk fails.
    pub fn set_pair(&self, relation: &Relation, id: &PairId) -> Result<(), Error> {
        let _changing = self.change()?;
        let row = PairRow { relation: *relation, id: *id };
        let row = self.sealed(PAIRS, key_of(relation).to_vec(), &row)?;
        self.write(&[row])
    }

    /// Returns the epochs, oldest first.
    ///
    /// # Errors
    /// [`Error::Stock`] if the index cannot be read or was altered.
    pub fn epochs(&self) -> Result<Vec<(EpochId, Epoch)>, Error> {
        let mut epochs = Vec::new();
        for (key, row) in self.all(EPOCHS)? {
            let id = key
                .as_slice()
                .try_into()
                .map_err(|_| Error::Stock("the index names an epoch wrongly".into()))?;
            epochs.push((id, self.open_row::<Epoch>(EPOCHS, &key, &row)?));
        }
        epochs.sort_by_key(|(id, epoch)| (epoch.created, *id));
        Ok(epochs)
    }

    /// Begins an epoch. `secrets` are what the protocol needs to go on in it.
    ///
    /// # Errors
    /// [`Error::Stock`] if it exists or the disk fails.
    pub fn begin(&self, id: &EpochId, epoch: &Epoch, secrets: &[u8]) -> Result<(), Error> {
        let _changing = self.change()?;
        if self.row::<Epoch>(EPOCHS, id)?.is_some() {
            return Err(Error::Stock("this epoch exists".into()));
        }
        let rows = [
            self.sealed(EPOCHS, id.to_vec(), epoch)?,
            self.sealed(SECRETS, id.to_vec(), &secrets)?,
            self.vain_at_begin(id, epoch)?,
        ];
        self.write(&rows)
    }

    /// Returns what [`Store::begin`] was given.
    ///
    /// # Errors
    /// [`Error::Stock`] if there is no such epoch, it is burned, or it was altered.
    pub fn secrets(&self, id: &EpochId) -> Result<Zeroizing<Vec<u8>>, Error> {
        self.sound()?;
        let secrets = self.row::<Vec<u8>>(SECRETS, id)?;
        secrets
            .map(Zeroizing::new)
            .ok_or_else(|| Error::Stock("there is no such epoch, or it was burned".into()))
    }

    /// Replays the log of an epoch.
    ///
    /// # Errors
    /// [`Error::Stock`] if there is no such epoch or its log was altered.
    pub fn state(&self, id: &EpochId) -> Result<State, Error> {
        Ok(self.replay(id)?.0)
    }

    fn replay(&self, id: &EpochId) -> Result<(State, u64), Error> {
        if let Some(known) = self.known().get(id) {
            return Ok(known.clone());
        }
        let mut state = State::new(id);
        let entries = self.log(id)?;
        entries.iter().try_for_each(|entry| state.apply(entry))?;
        Ok((state, entries.len() as u64))
    }

    /// Returns the entries of an epoch, oldest first.
    ///
    /// # Errors
    /// [`Error::Stock`] if there is no such epoch or its log was altered.
    pub fn log(&self, id: &EpochId) -> Result<Vec<Entry>, Error> {
        if self.row::<Epoch>(EPOCHS, id)?.is_none() {
            return Err(Error::Stock("there is no such epoch".into()));
        }
        let numbered = |(number, (key, row)): (u64, (Vec<u8>, Vec<u8>))| match key == with_number(id, number)
        {
            true => self.open_row::<Entry>(LOG, &key, &row),
            false => Err(Error::Stock("an entry of its log is missing".into())),
        };
        (0..).zip(self.between(LOG, id, None)?).map(numbered).collect()
    }

    /// Makes an entry durable, and only then hands out the items that it takes. Entries are written one after
    /// the other, whoever writes them, and each range and item is handed out to one; but a session that
    /// appends must have [leased](PeerLock::lease) the epoch, or hold the [`PeerLock`] while nobody has.
    ///
    /// # Errors
    /// [`Error::Stock`] if the entry cannot follow, there are not as many items, or the disk fails. In the
    /// last case the items may be burned or not; the store is poisoned and hands out nothing until it is
    /// opened anew.
    pub fn append(&self, id: &EpochId, entry: &Entry) -> Result<Taken, Error> {
        self.append_as(id, entry, false)
    }

    /// Does what [`Store::append`] does; `lost` if what is burned is the peer's doing.
    fn append_as(&self, id: &EpochId, entry: &Entry, lost: bool) -> Result<Taken, Error> {
        let _changing = self.change()?;
        let (before, number) = self.replay(id)?;
        let mut after = before.clone();
        after.apply(entry)?;
        let mut items = Vec::new();
        if let Entry::Use { taken, .. } = entry {
            let mut next = HashMap::new();
            for &(serial, count) in taken {
                let row = self.row::<BatchRow>(BATCHES, &with_number(id, serial))?;
                let all = row.map_or(0, |row| row.segment.items);
                // A batch may be named twice in one entry.
                let first = next.entry(serial).or_insert_with(|| before.gone(serial));
                if after.gone(serial) > all {
                    return Err(Error::Stock(format!(
                        "batch {serial} has {} items left",
                        all.saturating_sub(*first)
                    )));
                }
                items.push((serial, *first, count));
                *first += u64::from(count);
            }
        }
        let mut rows = vec![self.sealed(LOG, with_number(id, number), entry)?];
        rows.extend(self.vain_behind(id, [&before, &after], entry, lost)?);
        let mut segments = Vec::new();
        // What no program will take any more goes: all of an epoch that is burned, and with the next step
        // what steps that are given up had stored.
        let is_burned = matches!(entry, Entry::Burned(_));
        if is_burned {
            rows.push((SECRETS, id.to_vec(), None));
        }
        if is_burned || matches!(entry, Entry::Fill(_)) {
            for (key, row) in self.between(BATCHES, id, None)? {
                let row: BatchRow = self.open_row(BATCHES, &key, &row)?;
                if is_burned || matches!(use_of(&after, serial_of(&key), &row.segment), Of::Nothing) {
                    segments.push(Segment::path(&self.segments(), &row.segment.id));
                    rows.push((BATCHES, key, None));
                }
            }
        }
        self.known().remove(id);
        self.write(&rows)?;
        let ranges = (before.shared()..after.shared()).map(|before| Ranges::of_entry(before + 1)).collect();
        self.known().insert(*id, (after, number + 1));
        // Other sessions may be about to write segments that the index does not know yet.
        segments.iter().try_for_each(|path| self.remove(path))?;
        Ok(Taken { epoch: *id, ranges, items })
    }

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
        Writers {
            epoch: *id,
            disk: self.shared.disk.clone(),
            directory: self.segments(),
            key: self.shared.key.clone(),
            poisoned: self.shared.poisoned.clone(),
            process: self.shared.index.process(),
        }
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

    /// Adds a batch. Its items can be taken once [`Entry::Made`] is in the log; after a failure they do not
    /// exist.
    ///
    /// # Errors
    /// As [`Store::writer`]; [`Error::Usage`] if the writer is another batch's.
    pub fn put(&self, id: &EpochId, serial: Serial, batch: &Batch, writer: Writer) -> Result<(), Error> {
        let _changing = self.change()?;
        let key = self.key_for_new(id, serial)?;
        if writer.about() != about(BATCHES, &key) {
            return Err(Error::Usage("a writer of another batch".into()));
        }
        let segment = writer.finish()?;
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
                Of::Programs => segment.length(),
                Of::Nobody => 0,
                Of::Nothing => continue,
            };
            batches.push(Left { serial, batch, items, left, bytes });
        }
        Ok(batches)
    }

    /// The segments of an epoch that may still be used: what each is about, and which it is.
    fn useful(&self, id: &EpochId) -> Result<Vec<(Vec<u8>, Segment)>, Error> {
        let state = self.state(id)?;
        let mut useful = Vec::new();
        for (key, row) in self.between(BATCHES, id, None)? {
            let row: BatchRow = self.open_row(BATCHES, &key, &row)?;
            if let Of::Programs = use_of(&state, serial_of(&key), &row.segment) {
                useful.push((key, row.segment));
            }
        }
        Ok(useful)
    }

    /// Returns the segments of an epoch that are not where they should be, or not of the right length: whose
    /// each is, and what is wrong.
    ///
    /// # Errors
    /// [`Error::Stock`] if the index cannot be read or was altered.
    pub fn missing(&self, id: &EpochId) -> Result<Vec<(Serial, Error)>, Error> {
        let missing = |(key, segment): (Vec<u8>, Segment)| {
            let opened = segment.open(&self.segments(), &self.shared.key, &about(BATCHES, &key)).map(drop);
            opened.err().map(|error| (serial_of(&key), error))
        };
        Ok(self.useful(id)?.into_iter().filter_map(missing).collect())
    }

    /// Returns whether the segments of an epoch are where they should be, with the right length. Says which
    /// is not.
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
            let (about, segment) = self.segment_of(taken, serial)?;
            let (end, reader) =
                (first + u64::from(count), segment.open(&self.segments(), &self.shared.key, &about)?);
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
        let (about, segment) = self.segment_of(taken, serial)?;
        let mut places = segment.places.iter();
        let index = places
            .position(|place| (place.first..place.first + u64::from(place.items)).contains(&item))
            .ok_or_else(none)?;
        segment.open(&self.segments(), &self.shared.key, &about)?.read(index)
    }

    /// Reads units of the bulk of a batch that items were taken of, one after the other. Not for secrets:
    /// what is read beside is left behind.
    ///
    /// # Errors
    /// As [`Store::read`], or if there are no such units.
    pub fn read_units(&self, taken: &Taken, serial: Serial, units: &[u32]) -> Result<Vec<u8>, Error> {
        let (about, segment) = self.segment_of(taken, serial)?;
        segment.open(&self.segments(), &self.shared.key, &about)?.units(units)
    }

    /// The segment of a batch that items were taken of, and what it is about.
    fn segment_of(&self, taken: &Taken, serial: Serial) -> Result<(Vec<u8>, Segment), Error> {
        self.sound()?;
        let gone = || Error::Stock(format!("batch {serial} is gone"));
        if taken.items.iter().all(|item| item.0 != serial) {
            return Err(gone());
        }
        let key = with_number(&taken.epoch, serial);
        let row = self.row::<BatchRow>(BATCHES, &key)?.ok_or_else(gone)?;
        Ok((about(BATCHES, &key), row.segment))
    }

    /// Reads everything. Returns the number of bytes in segments.
    ///
    /// # Errors
    /// [`Error::Stock`] that names what was altered or is missing.
    pub fn verify(&self) -> Result<u64, Error> {
        let mut segments = Vec::new();
        for (id, _) in self.epochs()? {
            if self.state(&id)?.burned().is_none() {
                self.secrets(&id)?;
            }
            segments
                .extend(self.useful(&id)?.into_iter().map(|(key, segment)| (about(BATCHES, &key), segment)));
        }
        let read = |(about, segment): &(Vec<u8>, Segment)| {
            segment.open(&self.segments(), &self.shared.key, about)?.verify()?;
            Ok(segment.length())
        };
        pool::compute(|| segments.par_iter().map(read).try_reduce(|| 0, |a, b| Ok(a + b)))
    }

    /// Forgets an epoch in which nothing shared has happened, or which is burned.
    ///
    /// # Errors
    /// [`Error::Stock`] if something may still be used, or the disk fails.
    pub fn forget(&self, id: &EpochId) -> Result<(), Error> {
        let _changing = self.change()?;
        let state = self.state(id)?;
        if state.burned().is_none() && !state.is_new() {
            return Err(Error::Stock("something of this epoch may still be used".into()));
        }
        let mut rows = vec![(SECRETS, id.to_vec(), None), (EPOCHS, id.to_vec(), None)];
        rows.extend(self.between(LOG, id, None)?.into_iter().map(|(key, _)| (LOG, key, None)));
        rows.extend(self.vain_without(id)?);
        self.known().remove(id);
        self.write(&rows)
    }
}

/// Makes writers of an epoch's batches.
pub struct Writers {
    epoch: EpochId,
    disk: Disk,
    directory: PathBuf,
    key: StoreKey,
    poisoned: Poison,
    /// That which has the store: a fork writes nothing with it.
    process: Process,
}

impl Writers {
    /// Begins to write a batch; [`Store::put`] refuses it if there can be no batch with this serial.
    ///
    /// # Errors
    /// [`Error::Stock`] if the disk fails; then the store is poisoned. [`Error::Usage`] in a fork of the
    /// process that has the store.
    pub fn begin(&self, serial: Serial, bulk: Option<Bulk>) -> Result<Writer, Error> {
        self.process.check()?;
        let about = about(BATCHES, &with_number(&self.epoch, serial));
        Writer::new(&self.disk, &self.directory, &self.key, about, bulk, self.poisoned.clone())
    }
}

/// Encodes what may be secret, in a buffer that does not grow, so that no copies are left behind.
pub fn encoded_secret(value: &impl Serialize) -> Zeroizing<Vec<u8>> {
    let length = postcard::experimental::serialized_size(value).expect("it can be encoded");
    let mut bytes = Zeroizing::new(vec![0; length]);
    postcard::to_slice(value, &mut bytes).expect("it fits");
    bytes
}

/// Overwrites what calls that have returned left on this thread's stack, as far down as the database goes: it
/// puts values with unwritten bytes on the heap, where these would stay in memory that nobody erases.
#[inline(never)]
fn erase_stack() {
    const PAGES: usize = 16;
    let below = std::hint::black_box([[0u64; 512]; PAGES]);
    // Somebody may look: so the compiler leaves no write out.
    zeroize::optimization_barrier(&below);
}

/// What a batch in the index is of use for.
enum Of {
    /// Programs may take of it, now or once it is made.
    Programs,
    /// It is used up. What it was made with still counts for what else its epoch gives.
    Nobody,
    /// It was given up.
    Nothing,
}

fn use_of(state: &State, serial: Serial, segment: &Segment) -> Of {
    let unfinished = state.open().is_some_and(|(number, _)| SERIALS.entry_of(serial) >= number);
    match state.is_made(serial) {
        true if state.gone(serial) < segment.items => Of::Programs,
        true => Of::Nobody,
        false if unfinished => Of::Programs,
        false => Of::Nothing,
    }
}

/// The serial in the key of a batch.
fn serial_of(key: &[u8]) -> Serial {
    u64::from_be_bytes(*key.last_chunk().expect("epoch and serial"))
}

/// The bytes of a file at one moment, while another process may write to it: two readings, one after the
/// other, that find the same, so that this is what it held between them. A database's file can be opened as
/// it is at any moment, like after a crash.
fn at_one_moment(path: &Path) -> Result<Vec<u8>, Error> {
    let failed = |error: std::io::Error| Error::Stock(format!("{}: {error}", path.display()));
    let mut before = std::fs::read(path).map_err(failed)?;
    for _ in 0..READINGS {
        let now = std::fs::read(path).map_err(failed)?;
        if now == before {
            return Ok(now);
        }
        before = now;
        std::thread::sleep(Duration::from_millis(10));
    }
    Err(Error::Stock(format!("{} is being written to all the time; look again later", path.display())))
}

/// How often an index is read that changes meanwhile.
const READINGS: u32 = 100;

fn index_file(file: File, disk: &Disk) -> Result<IndexFile, Error> {
    let file = FileBackend::new(file).map_err(|error| failed("opening the index")(error.into()))?;
    Ok(IndexFile { file, disk: disk.clone() })
}

fn database(backend: impl StorageBackend) -> Result<Database, Error> {
    let open = || -> Result<Database, redb::Error> {
        let mut database = Database::builder().create_with_backend(backend)?;
        match database.check_integrity()? {
            true => Ok(database),
            false => Err(redb::Error::Corrupted("its checksums are wrong".into())),
        }
    };
    // The database takes some damage for a bug of its own and panics.
    let opened = std::panic::catch_unwind(std::panic::AssertUnwindSafe(open));
    opened
        .unwrap_or_else(|_| Err(redb::Error::Corrupted("it is damaged".into())))
        .map_err(failed("opening the index"))
}

/// An index with its format and empty tables.
fn make_index(file: File, disk: &Disk, rows: &seal::Rows) -> Result<(), Error> {
    let version = postcard::to_stdvec(&FORMAT_VERSION).expect("a number can be encoded");
    let sealed = rows.seal(&about(FORMAT, FORMAT_KEY), &version)?;
    let database = database(index_file(file, disk)?)?;
    let write = || -> Result<(), redb::Error> {
        let mut transaction = database.begin_write()?;
        transaction.set_durability(Durability::Immediate).expect("nothing reduces it");
        transaction.open_table(FORMAT)?.insert(FORMAT_KEY, &sealed[..])?;
        for table in [EPOCHS, SECRETS, BATCHES, LOG, PAIRS, VAIN] {
            transaction.open_table(table)?;
        }
        Ok(transaction.commit()?)
    };
    write().map_err(failed("making the index"))
}
