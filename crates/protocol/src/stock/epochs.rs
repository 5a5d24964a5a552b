//! The epochs that both parties may use: searching for one with enough items for a program, and leasing it
//! for a session.

use super::intent::{Intent, NextAction};
use super::meeting::{self, StockOwner, is_over, living, other_levels, room_for_one_more};
use super::records::Batches;
use super::side::StockProtocol;
use crate::{Metered, Terms};
use brickwork_base::digest::Digest;
use brickwork_base::stop::{Stop, Stopped};
use brickwork_base::{Error, Malformed};
use brickwork_circuit::Party;
use brickwork_store::{Counted, EpochEntry, EpochId, Lease, PeerLock, ReadResult, Serial, Store};
use brickwork_wire::Channel;

/// A connection's store, its owner, and its epochs, while a session uses the connection.
pub(super) struct Epochs {
    pub store: Store,
    pub role: Party,
    pub terms: Terms,
    /// The epochs that both parties may use, oldest first. Another session may have leased one of them.
    pub epochs: Vec<EpochId>,
    /// True if other sessions had leased some epochs when this session began. This session does not use them.
    pub busy: bool,
    /// The seconds for which a new epoch may be used; both parties agree on them.
    pub max_age: u64,
    /// The epoch that this session has leased.
    pub lease: Option<Lease>,
    /// A stop that is checked between steps: after it, no step begins.
    pub between: Stop,
}

/// The result of a party's search for a program's items.
pub(super) enum FoundItems {
    /// This session has leased an epoch with enough items. It has the entry that takes them, and the intent
    /// that proposes it.
    Enough(EpochEntry, Intent),
    /// An epoch has enough items, but another session has leased it.
    Busy,
    /// An error that names the missing items.
    Lacks(Error),
}

/// The number of log entries that an epoch must have left for a step: two for the step, and the others for
/// programs.
const ENTRIES_FOR_A_STEP: u64 = 1 << 10;

impl Epochs {
    /// Returns whether stock may be added to an epoch.
    pub fn may_be_filled<P: StockProtocol>(&self, id: &EpochId) -> Result<bool, Error> {
        let state = self.store.state(id)?;
        // The protocol's check counts one step more, because the peer may have begun a step that this party
        // has not recorded.
        Ok(state.burned().is_none()
            && state.entries_left() >= ENTRIES_FOR_A_STEP
            && P::may_begin(&state, &self.terms)?)
    }

    /// Reads the items that a program takes.
    pub fn open(&self, epoch: &EpochId, entry: &EpochEntry) -> Result<ReadResult, Error> {
        match entry {
            EpochEntry::Use { taken, .. } => self.store.open_items(epoch, taken),
            _ => Err(Error::Usage("no program's entry".into())),
        }
    }

    /// Returns the intent to remove damaged items, on which the parties must agree.
    pub fn loses(&self, epoch: &EpochId, damaged: &EpochEntry) -> Result<Intent, Error> {
        let state = self.store.state(epoch)?;
        let next = digest("brickwork 2026-11 stock damaged", &[epoch, state.head(), &damaged.digest()]);
        Ok(Intent { what: NextAction::Damaged, epoch: *epoch, next })
    }

    /// Receives the list of items that the peer cannot read. The items must be in stock here, in batches from
    /// which a program with this entry takes items. They may be all remaining items of these batches: a peer
    /// that has lost a segment lists its whole batch. A stricter limit is not possible, because the records
    /// of the two parties contain different numbers of items.
    ///
    /// This party cannot verify the list. A false list costs this party stock, but the peer could also claim
    /// falsely that it has burned the epoch. The peer learns nothing from it, because no message of the run
    /// depends on an input yet. A step whose items are lost in this way counts as an attempt
    /// (`State::give_up`).
    pub fn hear_damaged(
        &self,
        run: &mut Metered,
        theirs: &Intent,
        epoch: &EpochId,
        entry: &EpochEntry,
    ) -> Result<EpochEntry, Error> {
        let damaged = Intent::receive_damaged(run)?;
        let (EpochEntry::Use { taken, .. }, EpochEntry::Damaged(items)) = (entry, &damaged) else {
            return Err(Malformed::UnexpectedMessage.into());
        };
        let is_taken = |serial: &Serial| taken.iter().any(|(of, _)| of == serial);
        let are_taken = items.iter().all(|(of, ..)| is_taken(of));
        if !are_taken || *theirs != self.loses(epoch, &damaged)? || !self.store.can_lose(epoch, items)? {
            return Err(Malformed::UnexpectedMessage.into());
        }
        let count: u64 = items.iter().map(|(.., count)| count).sum();
        tracing::warn!(
            "the peer cannot read {count} items of its stock any more, so neither party will use them"
        );
        Ok(damaged)
    }

    /// Checks that the peer may make an attempt of this risk, in units of 2^-128. The risks of all its failed
    /// attempts together must stay within the promise of a run. (If a session has only a share of a promise,
    /// the caller that divided the promise counts the attempts.)
    ///
    /// # Errors
    /// [`Error::Vain`] if the sum would be too large.
    pub fn may_try<P: StockProtocol>(&self, risk: u128) -> Result<(), Error> {
        let counts = if P::counted(self.role) == Counted::Nothing { 0 } else { risk };
        self.store.may_try(&self.owner::<P>().account(), counts)
    }

    /// Checks that nobody has requested a stop before the next step.
    pub fn goes_on(&self) -> Result<(), Error> {
        match self.between.is_asked() {
            true => Err(std::io::Error::from(Stopped).into()),
            false => Ok(()),
        }
    }

    /// Checks that a new epoch may be begun.
    ///
    /// # Errors
    /// [`Error::Stock`] if there are too many epochs, [`Error::Vain`] if this would exceed the allowed
    /// attempts.
    pub fn may_begin<P: StockProtocol>(&self) -> Result<(), Error> {
        room_for_one_more(living(&self.store, &self.owner::<P>())?.len())?;
        self.may_try::<P>(P::early_risk(self.role, &self.terms)?)
    }

    /// Counts a setup in which the peer failed a check.
    pub fn failed_setup<P: StockProtocol>(&self, why: &Error, fixed: u128) {
        if matches!(why, Error::Peer(_))
            && P::counted(self.role) != Counted::Nothing
            && let Err(error) = self.store.lose_setup(&self.owner::<P>().account(), fixed)
        {
            tracing::error!(%error, "the peer failed a check, but the store could not record this failed \
                 attempt");
        }
    }

    pub fn owner<P: StockProtocol>(&self) -> StockOwner<'_> {
        StockOwner { protocol: P::NAME, role: self.role, terms: &self.terms }
    }

    /// Leases an epoch, and releases the epoch that this session held. Returns whether the session now holds
    /// the new epoch.
    fn lease(&mut self, lock: &PeerLock, id: &EpochId) -> bool {
        if self.lease.as_ref().is_some_and(|lease| lease.epoch() == id) {
            return true;
        }
        let lease = lock.lease(id);
        let leased = lease.is_some();
        if leased {
            self.lease = lease;
        }
        leased
    }

    /// Leases this epoch, if both parties may use it and no session has leased it.
    pub fn claim_this<P: StockProtocol>(&mut self, id: &EpochId) -> Result<bool, Error> {
        let lock = self.store.lock_peer(&self.owner::<P>().relation())?;
        Ok(self.epochs.contains(id) && self.lease(&lock, id))
    }

    /// Leases the newest epoch that fits and that no session has leased.
    pub fn claim_first<P: StockProtocol, F: Fn(&Self, &EpochId) -> Result<bool, Error>>(
        &mut self,
        fits: F,
    ) -> Result<Option<EpochId>, Error> {
        let lock = self.store.lock_peer(&self.owner::<P>().relation())?;
        for id in self.epochs.clone().iter().rev() {
            if fits(self, id)? && self.lease(&lock, id) {
                return Ok(Some(*id));
            }
        }
        Ok(None)
    }

    /// Leases the oldest epoch that has enough for the program, or the `named` one. An evaluator without a
    /// named epoch only searches, and leases nothing. If the program uses secrets of earlier steps, it must
    /// use the epoch `only`.
    pub fn find<P: StockProtocol>(
        &mut self,
        job: &P::Execution<'_>,
        only: Option<EpochId>,
        named: Option<EpochId>,
    ) -> Result<FoundItems, Error> {
        let lock = self.store.lock_peer(&self.owner::<P>().relation())?;
        let mut lacking = Error::Stock(format!(
            "the program needs {}, but the store has no stock{}{}{}",
            P::needs(job),
            P::level(&self.terms),
            other_levels(&self.store, &self.owner::<P>())?,
            if self.busy { " that is not in use by another session" } else { "" }
        ));
        let mut is_busy = false;
        for id in self.epochs.clone() {
            let may = [only, named].into_iter().flatten().all(|may| may == id);
            let state = match self.store.state(&id) {
                // Items in an epoch without free log entries are lost; `preprocess` makes a new epoch.
                Ok(state) if state.burned().is_none() && state.entries_left() > 0 && may => state,
                _ => continue,
            };
            match P::choose(job, &Batches::of(&self.store, &id)?, &self.terms) {
                // The evaluator takes items from the epoch that the garbler names.
                Ok(taken) if named.is_none() && self.role == Party::Evaluator || self.lease(&lock, &id) => {
                    let entry = EpochEntry::Use { program: P::program(job), taken };
                    let next = digest("brickwork 2026-11 stock use", &[&id, state.head(), &entry.digest()]);
                    return Ok(FoundItems::Enough(entry, Intent { what: NextAction::Use, epoch: id, next }));
                }
                Ok(_) => is_busy = true,
                Err(Error::Stock(why)) => lacking = Error::Stock(why),
                Err(other) => return Err(other),
            }
        }
        Ok(if is_busy { FoundItems::Busy } else { FoundItems::Lacks(lacking) })
    }
}

/// Hashes the parties' next action, for a comparison. The domain, or one of the first parts, must determine
/// the number of parts.
pub(super) fn digest(domain: &'static str, parts: &[&[u8; 32]]) -> [u8; 32] {
    let mut digest = Digest::of(domain);
    parts.iter().for_each(|part| _ = digest.digest(part));
    digest.done()
}

/// Exchanges the pairs and the positions of the logs with the peer, for a comparison without a run. It
/// changes nothing at either party. A party without a store has no pair and no log. Returns the number of
/// epochs that both may use.
///
/// # Errors
/// [`Error::Strangers`] if the stores do not belong together: a run would be refused. [`Error::Stock`] if
/// their logs do not agree: a run would burn the differing epochs.
pub fn compare_stores<P: StockProtocol>(
    channel: &mut Channel,
    store: Option<&Store>,
    role: Party,
    terms: &Terms,
) -> Result<usize, Error> {
    meeting::compare_stores(channel, store, &StockOwner { protocol: P::NAME, role, terms: &P::terms(terms) })
}

/// Returns whether a store has enough for a program: whether `choose` finds the items among those that belong
/// to these terms and that both parties may still use.
///
/// # Errors
/// [`Error::Stock`] if the store cannot be read or was altered.
pub fn in_stock<P: StockProtocol>(
    store: &Store,
    role: Party,
    terms: &Terms,
    choose: impl Fn(&Batches) -> Result<Vec<(Serial, u32)>, Error>,
) -> Result<bool, Error> {
    for (id, _) in living(store, &StockOwner { protocol: P::NAME, role, terms: &P::terms(terms) })? {
        if is_over(store, &id)? {
            continue;
        }
        match choose(&Batches::of(store, &id)?) {
            Ok(_) => return Ok(true),
            Err(Error::Stock(_)) => {}
            Err(other) => return Err(other),
        }
    }
    Ok(false)
}
