//! Writing a batch while its items are made: into a segment of this process, or to a store in another
//! process.

use std::path::PathBuf;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use zeroize::Zeroizing;

use super::chain::Chain;
use super::disk::Disk;
use super::index::with_number;
use super::log::{EpochId, Serial};
use super::poison::Poison;
use super::seal::StoreKey;
use super::segment::{Bulk, Writing};
use brickwork_base::Error;
use brickwork_base::process::Process;

/// A batch of items of one kind. Its properties never change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Batch {
    /// The kind of the items, as a number of the protocol's.
    pub kind: u8,
    /// Name of the component, for people.
    pub name: String,
    /// Digest of the component, or zeros.
    pub component: [u8; 32],
    /// The data that the protocol needs before it reads the batch.
    pub header: Vec<u8>,
}

/// A batch that is being written. It does not exist until the index names it. If it is dropped before that,
/// its data is removed.
pub struct BatchWriter(pub(super) To);

/// The destination of the data.
pub(super) enum To {
    Here(Box<Writing>),
    Elsewhere(Arc<dyn Elsewhere>, Serial),
}

/// A store in another process of this party, which seals and writes the data that this process sends. A batch
/// is named by its serial.
pub trait Elsewhere: Send + Sync {
    /// Does the same as [`Writers::begin`].
    ///
    /// # Errors
    /// [`Error::Io`] if the other process has ended.
    fn begin(&self, serial: Serial, bulk: Option<Bulk>) -> Result<(), Error>;

    /// Does the same as [`BatchWriter::put`]. It need not overwrite the bytes.
    ///
    /// # Errors
    /// As [`Elsewhere::begin`].
    fn put(&self, serial: Serial, first: u32, at: u64, bytes: &mut [u8]) -> Result<(), Error>;

    /// Does the same as [`BatchWriter::record`].
    ///
    /// # Errors
    /// As [`Elsewhere::begin`].
    fn record(&self, serial: Serial, first: u64, items: u32, bytes: &[u8]) -> Result<(), Error>;

    /// Does the same as [`Store::put`](crate::Store::put), but the data need not be on disk when it returns.
    ///
    /// # Errors
    /// As [`Elsewhere::begin`].
    fn finish(&self, serial: Serial, batch: &Batch, chain: &Chain) -> Result<(), Error>;
}

impl BatchWriter {
    /// Writes a part of the bulk, in whole records. The part begins with unit `first`. If units are larger
    /// than 32 MiB, it is a part of one unit, and `at` is its position in the unit, a multiple of that size.
    /// `bytes` are overwritten. After a failure the store is poisoned.
    ///
    /// # Errors
    /// [`Error::Stock`] if the disk fails. [`Error::Usage`] if these are not whole records, were written
    /// before, or this is a forked process. [`Error::Io`] if the store is in another process that has ended.
    pub fn put(&self, first: u32, at: u64, bytes: &mut [u8]) -> Result<(), Error> {
        match &self.0 {
            To::Here(writing) => writing.put(first, at, bytes),
            To::Elsewhere(store, serial) => store.put(*serial, first, at, bytes),
        }
    }

    /// Writes a record about the items `first..first + items`. After a failure the store is poisoned.
    ///
    /// # Errors
    /// As [`BatchWriter::put`]; [`Error::Usage`] for a record of more than
    /// [`MAX_RECORD_BYTES`](crate::MAX_RECORD_BYTES), or for items whose numbers do not fit into 64 bits.
    pub fn record(&mut self, first: u64, items: u32, bytes: Zeroizing<Vec<u8>>) -> Result<(), Error> {
        match &mut self.0 {
            To::Here(writing) => writing.record(first, items, bytes),
            To::Elsewhere(store, serial) => store.record(*serial, first, items, &bytes),
        }
    }
}

/// Makes writers of an epoch's batches.
pub struct Writers(Of);

enum Of {
    Here(Folder),
    Elsewhere(Arc<dyn Elsewhere>),
}

/// The data that is needed to write an epoch's segments.
pub(super) struct Folder {
    pub epoch: EpochId,
    pub disk: Disk,
    pub directory: PathBuf,
    pub key: StoreKey,
    pub poisoned: Poison,
    /// The process that has opened the store. A forked process writes nothing.
    pub process: Process,
}

impl Writers {
    /// Makes writers for a store that this process has opened.
    pub(super) fn here(folder: Folder) -> Self {
        Writers(Of::Here(folder))
    }

    /// Makes writers for a store in another process.
    pub fn elsewhere(store: Arc<dyn Elsewhere>) -> Self {
        Writers(Of::Elsewhere(store))
    }

    /// Begins to write a batch. [`Store::put`](crate::Store::put) refuses it later if this serial is not
    /// allowed.
    ///
    /// # Errors
    /// [`Error::Stock`] if the disk fails; then the store is poisoned. [`Error::Usage`] in a fork of the
    /// process that has opened the store. [`Error::Io`] if the store is in another process that has ended.
    pub fn begin(&self, serial: Serial, bulk: Option<Bulk>) -> Result<BatchWriter, Error> {
        Ok(BatchWriter(match &self.0 {
            Of::Elsewhere(store) => {
                store.begin(serial, bulk)?;
                To::Elsewhere(store.clone(), serial)
            }
            Of::Here(Folder { epoch, disk, directory, key, poisoned, process }) => {
                process.check()?;
                let name = with_number(epoch, serial);
                To::Here(Box::new(Writing::new(disk, directory, key, name, bulk, poisoned.clone())?))
            }
        }))
    }
}
