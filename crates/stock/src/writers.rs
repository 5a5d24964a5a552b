//! What is written of a batch while it is made: into a segment here, or to a store in another process.

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

/// A batch that is being written. Nothing of it counts until the index names it; dropped before that, it is
/// removed.
pub struct Writer(pub(super) To);

/// Where it is written.
pub(super) enum To {
    Here(Box<Writing>),
    Elsewhere(Arc<dyn Elsewhere>, Serial),
}

/// A store in another process of this party, to which what is made here goes: that one seals it, and writes
/// it. A batch is named by its serial.
pub trait Elsewhere: Send + Sync {
    /// Does what [`Writers::begin`] does.
    ///
    /// # Errors
    /// [`Error::Io`] if that process is gone.
    fn begin(&self, serial: Serial, bulk: Option<Bulk>) -> Result<(), Error>;

    /// Does what [`Writer::put`] does. Bytes need not be overwritten.
    ///
    /// # Errors
    /// As [`Elsewhere::begin`].
    fn put(&self, serial: Serial, first: u32, at: u64, bytes: &mut [u8]) -> Result<(), Error>;

    /// Does what [`Writer::record`] does.
    ///
    /// # Errors
    /// As [`Elsewhere::begin`].
    fn record(&self, serial: Serial, first: u64, items: u32, bytes: &[u8]) -> Result<(), Error>;

    /// Does what [`Store::put`](crate::Store::put) does; it need not be durable when this returns.
    ///
    /// # Errors
    /// As [`Elsewhere::begin`].
    fn finish(&self, serial: Serial, batch: &Batch, chain: &Chain) -> Result<(), Error>;
}

impl Writer {
    /// Writes a part of the bulk, whole records of it: units from `first` on, or, of units larger than 32
    /// MiB, a part of one that begins `at` a multiple of that. `bytes` are overwritten. After a failure the
    /// store is poisoned.
    ///
    /// # Errors
    /// [`Error::Stock`] if the disk fails; [`Error::Usage`] if these are not whole records, or were written
    /// before, and in a fork; [`Error::Io`] if the store is elsewhere, and that process is gone.
    pub fn put(&self, first: u32, at: u64, bytes: &mut [u8]) -> Result<(), Error> {
        match &self.0 {
            To::Here(writing) => writing.put(first, at, bytes),
            To::Elsewhere(store, serial) => store.put(*serial, first, at, bytes),
        }
    }

    /// Writes a record about the items `first..first + items`. After a failure the store is poisoned.
    ///
    /// # Errors
    /// As [`Writer::put`]; [`Error::Usage`] for a record of more than
    /// [`MAX_RECORD_BYTES`](crate::MAX_RECORD_BYTES), or about items whose numbers do not fit into 64 bits.
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

/// What an epoch's segments are written with.
pub(super) struct Folder {
    pub epoch: EpochId,
    pub disk: Disk,
    pub directory: PathBuf,
    pub key: StoreKey,
    pub poisoned: Poison,
    /// That which has the store: a fork writes nothing with it.
    pub process: Process,
}

impl Writers {
    /// Makes writers of batches for a store that this process has.
    pub(super) fn here(folder: Folder) -> Self {
        Writers(Of::Here(folder))
    }

    /// Makes writers of batches for a store that another process has.
    pub fn elsewhere(store: Arc<dyn Elsewhere>) -> Self {
        Writers(Of::Elsewhere(store))
    }

    /// Begins to write a batch; [`Store::put`](crate::Store::put) refuses it if there can be no batch with
    /// this serial.
    ///
    /// # Errors
    /// [`Error::Stock`] if the disk fails; then the store is poisoned. [`Error::Usage`] in a fork of the
    /// process that has the store; [`Error::Io`] if it is elsewhere, and that process is gone.
    pub fn begin(&self, serial: Serial, bulk: Option<Bulk>) -> Result<Writer, Error> {
        Ok(Writer(match &self.0 {
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
