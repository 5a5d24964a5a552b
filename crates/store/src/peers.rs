//! A store's data about its peers: its pairs, and the locks of sessions.

use serde::{Deserialize, Serialize};

use super::index::{PAIRS, SealedRow, key_of};
use super::lease::{self, PeerLock};
use super::log::EpochId;
use super::pair::{PairId, Relation};
use super::store::Store;
use brickwork_base::Error;

/// A pair to which a store belongs, with its relation.
#[derive(Serialize, Deserialize)]
struct PairRow {
    relation: Relation,
    id: PairId,
}

impl Store {
    /// Waits for the lock of a peer.
    ///
    /// # Errors
    /// [`Error::Busy`] if another session holds it for half a minute.
    pub fn lock_peer(&self, relation: &Relation) -> Result<PeerLock, Error> {
        self.shared.leases.lock_peer(key_of(relation), lease::PATIENCE)
    }

    /// Returns whether a session of this process leases an epoch now.
    pub fn is_busy(&self, epoch: &EpochId) -> bool {
        self.shared.leases.is_busy(epoch)
    }

    /// Returns the pair of this store and a peer's store, if they have met.
    ///
    /// # Errors
    /// [`Error::Stock`] if the index cannot be read or was altered.
    pub fn pair(&self, relation: &Relation) -> Result<Option<PairId>, Error> {
        let row: Option<PairRow> = self.row(PAIRS, &key_of(relation))?;
        match row {
            None => Ok(None),
            Some(row) if row.relation == *relation => Ok(Some(row.id)),
            Some(_) => Err(Error::Stock("the index has a pair of stores under the wrong peer".into())),
        }
    }

    /// Returns all pairs to which this store belongs.
    ///
    /// # Errors
    /// As [`Store::pair`].
    pub fn pairs(&self) -> Result<Vec<(Relation, PairId)>, Error> {
        let open = |(key, row): SealedRow| {
            let row: PairRow = self.open_row(PAIRS, &key, &row)?;
            Ok((row.relation, row.id))
        };
        self.all(PAIRS)?.into_iter().map(open).collect()
    }

    /// Sets the identifier of a pair, and replaces an earlier one.
    ///
    /// # Errors
    /// [`Error::Stock`] if the disk fails.
    pub fn set_pair(&self, relation: &Relation, id: &PairId) -> Result<(), Error> {
        let _changing = self.change()?;
        let row = PairRow { relation: *relation, id: *id };
        let row = self.sealed(PAIRS, key_of(relation).to_vec(), &row)?;
        self.write(&[row])
    }
}
