//! Stock on disk: made before programs are known, kept until it is needed, and used only once.
//! `docs/reference/store.md` has the formats, and `docs/concepts/stock-safety.md` has the safety argument.
//!
//! A [`Store`] is a folder that one process at a time can open. The items are in segment files, each of which
//! is written once. The index and the log of each *epoch* are in a transactional database. Everything that
//! was made after one setup of a protocol is one epoch: its secrets, its batches, and its
//! [`log`](EpochEntry), which alone decides what is burned. The store does not depend on a protocol: it
//! treats secrets and records as bytes.
//!
//! Items leave the store only through [`Store::append`]. It writes the burn to disk, and only then returns
//! the [`TakenEntry`] that [`Store::read`] requires.
#![forbid(unsafe_code)]

mod batches;
mod chain;
mod disk;
mod epochs;
mod folder;
mod forward;
mod index;
mod keys;
mod lease;
mod log;
#[cfg(test)]
mod model;
mod notes;
mod opened;
mod pair;
mod peers;
mod poison;
mod range;
mod rebuild;
mod seal;
mod segment;
mod store;
mod sweep;
mod taken;
#[cfg(test)]
mod tests;
mod vain;
mod writers;

/// The reason in the log if this party's user burned an epoch. The peer is told in the next connection.
pub const BY_USER: &str = "this party's user burned it (`brickwork stock burn`, or a repair of the index)";

pub use batches::{RemainingBatch, UnreadableItems};
pub use brickwork_base::{Strangers, short};
pub use chain::Chain;
pub use disk::{DiskChange, Faults, NoFaults, free_bytes};
pub use epochs::{Counted, Epoch, Loss};
pub use forward::{EpochSecrets, Forward};
pub use index::FORMAT_VERSION;
pub use index::{encoded_secret, is_caught};
pub use lease::{Lease, PeerLock};
pub use log::{
    EpochEntry, EpochId, EpochReport, EpochState, EpochVerdict, FillStep, GivenUp, LogHead, MAX_WORKERS,
    SERIALS, Serial, number_of, serial,
};
pub use notes::Note;
pub use opened::ReadResult;
pub use pair::{ACQUAINTANCE_BYTES, Acquaintance, PAIR_BYTES, PairId, Relation, StorePairing};
pub use range::{Counter, Range, Ranges};
pub use rebuild::Rebuilt;
pub use seal::{StoreKey, TAG_BYTES};
pub use segment::{Bulk, MAX_RECORD_BYTES, Record};
pub use store::{MAX_AGE, Store};
pub use taken::{ReadItems, TakenEntry, TakenOf};
pub use vain::{Account, HandoverRequest, Tried};
pub use writers::{Batch, BatchWriter, Elsewhere, Writers};
