//! Who works in which epoch: several sessions of one process share a store, and each has an epoch to itself.
//!
//! An epoch's log has one writer. Who wants to become it holds the [`Gate`] of the peer for a moment, sees
//! which epochs are free, and claims one; the [`Claim`] is free again when it is dropped. While two stores
//! are compared, the gate is held, so nobody claims what is being compared. All of it is in memory: it ends
//! with the process, and another process does not get past the folder's lock.

use std::collections::HashSet;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use brickwork_base::Error;

/// How long one waits for another session that is about to compare logs with the same peer.
pub(super) const PATIENCE: Duration = Duration::from_secs(30);

/// What is taken at this moment.
#[derive(Default)]
struct Now {
    epochs: HashSet<[u8; 32]>,
    /// Peers whose gate is held.
    gates: HashSet<[u8; 32]>,
}

/// The claims of one store.
#[derive(Clone, Default)]
pub(super) struct Claims {
    now: Arc<(Mutex<Now>, Condvar)>,
}

impl Claims {
    /// Takes the gate of a peer, when no other session holds it.
    ///
    /// # Errors
    /// [`Error::Busy`] if another session holds it for so long.
    pub fn gate(&self, peer: [u8; 32], patience: Duration) -> Result<Gate, Error> {
        let until = Instant::now() + patience;
        let mut now = self.lock();
        while !now.gates.insert(peer) {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(Error::Busy(
                    "another session with this peer is comparing the stores and does not end; try again later"
                        .into(),
                ));
            }
            now = self.now.1.wait_timeout(now, left).unwrap_or_else(PoisonError::into_inner).0;
        }
        Ok(Gate { peer, claims: self.clone() })
    }

    /// Whether a session of this process has claimed an epoch at this moment.
    pub fn is_busy(&self, epoch: &[u8; 32]) -> bool {
        self.lock().epochs.contains(epoch)
    }

    fn lock(&self) -> MutexGuard<'_, Now> {
        // Each change is a single insertion or removal.
        self.now.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Keeps all other sessions with one peer from claiming anything, and from meeting it, until it is dropped.
#[must_use]
pub struct Gate {
    peer: [u8; 32],
    claims: Claims,
}

impl Gate {
    /// Whether a session has claimed an epoch.
    pub fn is_busy(&self, epoch: &[u8; 32]) -> bool {
        self.claims.lock().epochs.contains(epoch)
    }

    /// Claims an epoch, of which the caller becomes the only writer; `None` if another session is it.
    pub fn claim(&self, epoch: &[u8; 32]) -> Option<Claim> {
        let free = self.claims.lock().epochs.insert(*epoch);
        free.then(|| Claim { epoch: *epoch, claims: self.claims.clone() })
    }
}

impl Drop for Gate {
    fn drop(&mut self) {
        self.claims.lock().gates.remove(&self.peer);
        self.claims.now.1.notify_all();
    }
}

/// The right to write to an epoch's log, until it is dropped. There is one at a time.
#[derive(Debug)]
#[must_use]
pub struct Claim {
    epoch: [u8; 32],
    claims: Claims,
}

impl std::fmt::Debug for Claims {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Claims").finish_non_exhaustive()
    }
}

impl Claim {
    /// Returns the epoch.
    pub fn epoch(&self) -> &[u8; 32] {
        &self.epoch
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        self.claims.lock().epochs.remove(&self.epoch);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Relation, Store, StoreKey};
    use brickwork_base::Party;

    /// An epoch has one writer at a time, whoever asks, and is free again when that one is gone.
    #[test]
    fn row_16_an_epoch_has_one_writer() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path(), &StoreKey::from_bytes([7; 32])).unwrap();
        let peer = Relation { role: Party::Garbler, identities: [[1; 32], [2; 32]] };
        let other = Relation { role: Party::Evaluator, ..peer };
        let claim = store.gate(&peer).unwrap().claim(&[3; 32]).unwrap();
        for relation in [peer, other] {
            let gate = store.clone().gate(&relation).unwrap();
            assert!(gate.claim(&[3; 32]).is_none() && gate.is_busy(&[3; 32]) && store.is_busy(claim.epoch()));
            assert!(gate.claim(&[4; 32]).is_some());
        }
        drop(claim);
        assert!(!store.is_busy(&[3; 32]) && store.gate(&peer).unwrap().claim(&[3; 32]).is_some());
    }

    /// A gate is of one peer, and who waits for it gets it when it is free, or hears that it is not.
    #[test]
    fn a_gate_is_held_by_one() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path(), &StoreKey::from_bytes([7; 32])).unwrap();
        let peer = Relation { role: Party::Garbler, identities: [[1; 32], [2; 32]] };
        let held = store.gate(&peer).unwrap();
        let refused = store.shared.claims.gate(crate::key_of(&peer), Duration::from_millis(1));
        assert!(matches!(refused.map(drop), Err(Error::Busy(_))));
        drop(store.gate(&Relation { role: Party::Evaluator, ..peer }).unwrap());
        std::thread::scope(|scope| {
            let waits = scope.spawn(|| store.gate(&peer).map(drop));
            std::thread::sleep(Duration::from_millis(5));
            drop(held);
            waits.join().unwrap().unwrap();
        });
    }
}
