//! Leases of epochs: several sessions of one process share a store, and each uses another epoch.
//!
//! An epoch's log has one writer. A session that wants to write takes the [`PeerLock`] for a short time,
//! looks for a free epoch, and leases it. The epoch is free again when the [`Lease`] is dropped. The lock is
//! held while two stores are compared, so no session leases an epoch that is being compared. Locks and leases
//! are in memory only and end with the process. No other process can open the store meanwhile, because the
//! folder is locked.

use std::collections::HashSet;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use brickwork_base::Error;

/// The time to wait for another session that is about to compare logs with the same peer.
pub(super) const PATIENCE: Duration = Duration::from_secs(30);

/// The current locks and leases.
#[derive(Default)]
struct Now {
    epochs: HashSet<[u8; 32]>,
    /// The peers whose locks are held.
    locked: HashSet<[u8; 32]>,
}

/// The leases of one store.
#[derive(Clone, Default)]
pub(super) struct Leases {
    now: Arc<(Mutex<Now>, Condvar)>,
}

impl Leases {
    /// Waits for the lock of a peer.
    ///
    /// # Errors
    /// [`Error::Busy`] if another session holds it for this long.
    pub fn lock_peer(&self, peer: [u8; 32], patience: Duration) -> Result<PeerLock, Error> {
        let until = Instant::now() + patience;
        let mut now = self.lock();
        while !now.locked.insert(peer) {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(Error::Busy(
                    "another session with this peer still compares the stores; try again later".into(),
                ));
            }
            now = self.now.1.wait_timeout(now, left).unwrap_or_else(PoisonError::into_inner).0;
        }
        Ok(PeerLock { peer, leases: self.clone() })
    }

    /// Returns whether a session of this process leases an epoch now.
    pub fn is_busy(&self, epoch: &[u8; 32]) -> bool {
        self.lock().epochs.contains(epoch)
    }

    fn lock(&self) -> MutexGuard<'_, Now> {
        // Each change is a single insertion or removal, so the data is valid even if a thread panicked.
        self.now.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// As long as this exists, no other session with this peer can lease an epoch or compare stores.
#[must_use]
pub struct PeerLock {
    peer: [u8; 32],
    leases: Leases,
}

impl PeerLock {
    /// Returns whether a session leases an epoch.
    pub fn is_busy(&self, epoch: &[u8; 32]) -> bool {
        self.leases.lock().epochs.contains(epoch)
    }

    /// Leases an epoch to the caller, which becomes its only writer; `None` if another session has leased it.
    pub fn lease(&self, epoch: &[u8; 32]) -> Option<Lease> {
        let free = self.leases.lock().epochs.insert(*epoch);
        free.then(|| Lease { epoch: *epoch, leases: self.leases.clone() })
    }
}

impl Drop for PeerLock {
    fn drop(&mut self) {
        self.leases.lock().locked.remove(&self.peer);
        self.leases.now.1.notify_all();
    }
}

/// The right to write to an epoch's log, until it is dropped. There is at most one for each epoch.
#[derive(Debug)]
#[must_use]
pub struct Lease {
    epoch: [u8; 32],
    leases: Leases,
}

impl std::fmt::Debug for Leases {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Leases").finish_non_exhaustive()
    }
}

impl Lease {
    /// Returns the epoch.
    pub fn epoch(&self) -> &[u8; 32] {
        &self.epoch
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        self.leases.lock().epochs.remove(&self.epoch);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Relation, Store, StoreKey};
    use brickwork_base::Party;

    /// An epoch has one writer at a time, and is free again when that writer is dropped.
    #[test]
    fn row_16_an_epoch_has_one_writer() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path(), &StoreKey::from_bytes([7; 32])).unwrap();
        let peer = Relation { role: Party::Garbler, identities: [[1; 32], [2; 32]] };
        let other = Relation { role: Party::Evaluator, ..peer };
        let lease = store.lock_peer(&peer).unwrap().lease(&[3; 32]).unwrap();
        for relation in [peer, other] {
            let lock = store.clone().lock_peer(&relation).unwrap();
            assert!(lock.lease(&[3; 32]).is_none() && lock.is_busy(&[3; 32]) && store.is_busy(lease.epoch()));
            assert!(lock.lease(&[4; 32]).is_some());
        }
        drop(lease);
        assert!(!store.is_busy(&[3; 32]) && store.lock_peer(&peer).unwrap().lease(&[3; 32]).is_some());
    }

    /// Each peer has a lock of its own. A waiting session gets the lock when it is released, or an error
    /// after some time.
    #[test]
    fn a_gate_is_held_by_one() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path(), &StoreKey::from_bytes([7; 32])).unwrap();
        let peer = Relation { role: Party::Garbler, identities: [[1; 32], [2; 32]] };
        let held = store.lock_peer(&peer).unwrap();
        let refused = store.shared.leases.lock_peer(crate::index::key_of(&peer), Duration::from_millis(1));
        assert!(matches!(refused.map(drop), Err(Error::Busy(_))));
        drop(store.lock_peer(&Relation { role: Party::Evaluator, ..peer }).unwrap());
        std::thread::scope(|scope| {
            let waits = scope.spawn(|| store.lock_peer(&peer).map(drop));
            std::thread::sleep(Duration::from_millis(5));
            drop(held);
            waits.join().unwrap().unwrap();
        });
    }
}
