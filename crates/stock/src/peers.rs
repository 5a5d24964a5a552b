//! What a store knows of its peers: whose pairs of stores it is part of, and who works with which now.

use serde::{Deserialize, Serialize};

use super::index::{PAIRS, Row, key_of};
use super::lease::{self, PeerLock};
use super::log::EpochId;
use super::pair::{PairId, Relation};
use super::store::Store;
use brickwork_base::Error;

/// The stores that a store belongs to, by whose they are.
#[derive(Serialize, Deserialize)]
struct PairRow {
    relation: Relation,
    id: PairId,
}

impl Store {
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
}
