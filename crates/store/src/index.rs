//! The index: a database of rows. Each row is sealed together with its table and key.

use std::cell::Cell;
use std::fs::File;
use std::io::ErrorKind;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use redb::backends::{FileBackend, InMemoryBackend};
use redb::{Database, Durability, StorageBackend, TableDefinition};
use serde::Serialize;
use zeroize::Zeroizing;

use super::disk::{Disk, IndexFile};
use super::folder;
use super::log::EpochId;
use super::pair::Relation;
use super::seal;
use brickwork_base::Error;

/// A table of rows: each has a key, and the sealed row as its value.
pub(super) type RowTable = TableDefinition<'static, &'static [u8], &'static [u8]>;

/// The key of a row, and the sealed row.
pub(super) type SealedRow = (Vec<u8>, Vec<u8>);

/// A row to write, or a key to remove if there is no row.
pub(super) type RowChange = (RowTable, Vec<u8>, Option<Vec<u8>>);

/// A single row that opens only with the right store key.
pub(super) const FORMAT: RowTable = TableDefinition::new("format");
/// Rows of epochs, by the epoch's identifier.
pub(super) const EPOCHS: RowTable = TableDefinition::new("epochs");
/// Rows of batches, by epoch and serial.
pub(super) const BATCHES: RowTable = TableDefinition::new("batches");
/// Rows of log entries, by epoch and number.
pub(super) const LOG: RowTable = TableDefinition::new("log");
/// Rows of pairs, by a digest of the relation.
pub(super) const PAIRS: RowTable = TableDefinition::new("pairs");
/// Rows of failed attempts, by a digest of the account.
pub(super) const VAIN: RowTable = TableDefinition::new("vain");
/// Rows of notes, by a key that the process with the store chooses.
pub(super) const NOTES: RowTable = TableDefinition::new("notes");

pub(super) const FORMAT_KEY: &[u8] = b"brickwork stock";
/// The version of a store's format: of the index and of the other files.
pub const FORMAT_VERSION: u32 = 1;

pub(super) fn failed(what: &str) -> impl Fn(redb::Error) -> Error {
    move |error| match &error {
        // If the beginning of the file is damaged, the library returns an error of invalid data.
        redb::Error::Io(io) if io.kind() != ErrorKind::InvalidData => {
            folder::of_disk(io, format!("{what}: {error}"))
        }
        redb::Error::Corrupted(_) | redb::Error::Io(_) => Error::Stock(format!(
            "{what} failed: {error}; `brickwork stock verify --repair` makes a new index from all undamaged \
             files"
        )),
        _ => Error::Stock(format!("{what}: {error}")),
    }
}

pub(super) fn with_number(epoch: &EpochId, number: u64) -> Vec<u8> {
    [&epoch[..], &number.to_be_bytes()].concat()
}

/// Returns the key of a pair's row.
pub(super) fn key_of(relation: &Relation) -> [u8; 32] {
    let Relation { role, identities } = relation;
    let parts = [&[*role as u8][..], &identities.concat()].concat();
    blake3::derive_key("brickwork 2026-11 stock pair of stores", &parts)
}

/// Returns the associated data of a row: its table and its key.
pub(super) fn about(table: RowTable, key: &[u8]) -> Vec<u8> {
    [redb::TableHandle::name(&table).as_bytes(), &[0], key].concat()
}

/// Reads the bytes that a file had at one moment, while another process may write to it. If two readings in
/// sequence are equal, the file had these bytes at some moment between the two. A copy of a database file
/// from any moment can be opened, as after a crash.
pub(super) fn at_one_moment(path: &Path) -> Result<Vec<u8>, Error> {
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
    Err(Error::Stock(format!(
        "{} changes all the time, so it cannot be read; try again later",
        path.display()
    )))
}

/// The number of readings after which a file that keeps changing is an error.
const READINGS: u32 = 100;

/// An open database.
pub(super) struct Index {
    database: Option<Database>,
    /// True after damage was found.
    is_damaged: AtomicBool,
}

impl Index {
    /// Opens a file that is empty or has been checked.
    pub fn of(file: File, disk: &Disk) -> Result<Self, Error> {
        let open = || Self::new(IndexFile { file: FileBackend::new(file)?, disk: disk.clone() });
        caught(open).map_err(failed("opening the index"))
    }

    /// Opens a copy of an index in memory, and checks all of it. The file itself stays unchanged. If the file
    /// itself were opened, the database would repair it and write to it.
    pub fn checked(bytes: &[u8]) -> Result<Self, Error> {
        let check = || {
            let mut index = Self::copy(bytes)?;
            match caught(|| Ok(index.database.as_mut().map(Database::check_integrity).transpose()?)) {
                Ok(Some(true)) => Ok(index),
                checked => {
                    index.is_damaged = true.into();
                    checked.and(Err(redb::Error::Corrupted("the checksums of the index are wrong".into())))
                }
            }
        };
        check().map_err(failed("opening the index"))
    }

    /// Opens a copy of an index in memory without a check.
    pub fn copy(bytes: &[u8]) -> Result<Self, redb::Error> {
        let backend = InMemoryBackend::new();
        backend.set_len(bytes.len() as u64).and_then(|()| backend.write(0, bytes))?;
        caught(|| Self::new(backend))
    }

    fn new(backend: impl StorageBackend) -> Result<Self, redb::Error> {
        let database = Some(Database::builder().create_with_backend(backend)?);
        Ok(Index { database, is_damaged: false.into() })
    }

    /// Runs a closure with the database, and turns panics about damage into errors.
    pub fn run<T>(&self, run: impl FnOnce(&Database) -> Result<T, redb::Error>) -> Result<T, redb::Error> {
        let done =
            caught(|| run(self.database.as_ref().expect("the database is open until the index is dropped")));
        if let Err(redb::Error::Corrupted(_)) = done {
            self.is_damaged.store(true, Ordering::Relaxed);
        }
        done
    }

    /// Marks the index as damaged.
    pub fn give_up(&self) {
        self.is_damaged.store(true, Ordering::Relaxed);
    }
}

impl Drop for Index {
    /// Closes the database. A damaged database is not closed, because a panic while closing would end the
    /// process.
    fn drop(&mut self) {
        let database = self.database.take();
        if self.is_damaged.load(Ordering::Relaxed) {
            std::mem::forget(database);
            return;
        }
        let close = || {
            drop(database);
            Ok(())
        };
        let _ = caught(close);
    }
}

thread_local! {
    static CATCHING: Cell<bool> = const { Cell::new(false) };
}

/// Returns whether a panic of this thread becomes an error. Then the panic must not be printed.
pub fn is_caught() -> bool {
    CATCHING.get()
}

/// Runs database code. The database panics if it finds some kinds of damage, or has a bug of its own. This
/// function turns the panic into an error.
fn caught<T>(run: impl FnOnce() -> Result<T, redb::Error>) -> Result<T, redb::Error> {
    let before = CATCHING.replace(true);
    erase_stack();
    let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(run));
    CATCHING.set(before);
    result.unwrap_or_else(|_| Err(redb::Error::Corrupted("the index is damaged".into())))
}

/// Makes an index with a format row and empty tables.
pub(super) fn make_index(file: File, disk: &Disk, rows: &seal::RowKey) -> Result<(), Error> {
    let version = postcard::to_stdvec(&FORMAT_VERSION).expect("a number has an encoding");
    let sealed = rows.seal(&about(FORMAT, FORMAT_KEY), &version)?;
    let write = |database: &Database| -> Result<(), redb::Error> {
        let mut transaction = database.begin_write()?;
        transaction.set_durability(Durability::Immediate).expect("no code lowers the durability");
        transaction.open_table(FORMAT)?.insert(FORMAT_KEY, &sealed[..])?;
        for table in [EPOCHS, BATCHES, LOG, PAIRS, VAIN, NOTES] {
            transaction.open_table(table)?;
        }
        Ok(transaction.commit()?)
    };
    Index::of(file, disk)?.run(write).map_err(failed("making the index"))
}

/// Encodes a value that may be secret. The buffer does not grow, so no copies remain.
pub fn encoded_secret(value: &impl Serialize) -> Zeroizing<Vec<u8>> {
    let length = postcard::experimental::serialized_size(value).expect("each row has an encoding");
    let mut bytes = Zeroizing::new(vec![0; length]);
    postcard::to_slice(value, &mut bytes).expect("it fits");
    bytes
}

/// Overwrites the part of this thread's stack that returned calls of the database may have used. The database
/// copies values with uninitialised bytes to the heap, so old stack contents could stay there without ever
/// being erased.
#[inline(never)]
fn erase_stack() {
    const PAGES: usize = 16;
    let below = std::hint::black_box([[0u64; 512]; PAGES]);
    // The compiler must assume that the buffer is read, so it keeps every write.
    zeroize::optimization_barrier(&below);
}
