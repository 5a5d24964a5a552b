//! The epochs that both parties may use: which of them has what a program needs, and which a session has.

use super::intent::Intent;
use super::meeting::{Owner, is_over, living, other_levels, room_for_one_more};
use super::records::Batches;
use super::side::Side;
use crate::{Metered, Terms};
use brickwork_base::digest::Digest;
use brickwork_base::stop::{Stop, Stopped};
use brickwork_base::{Error, Malformed};
use brickwork_circuit::Party;
use brickwork_stock::{Checked, Counted, Entry, EpochId, Lease, PeerLock, Serial, Store};

/// What remains of a connection while a session has it.
pub(super) struct Epochs {
    pub store: Store,
    pub terms: Terms,
    /// Those that both parties may use, oldest first; any other session may have one of them meanwhile.
    pub epochs: Vec<EpochId>,
    /// Whether other sessions had some when this one began: those it leaves to them.
    pub busy: bool,
    /// Seconds in which an epoch that is begun may be used: both parties agree on it.
    pub max_age: u64,
    /// The one that this session has.
    pub lease: Option<Lease>,
    /// No step begins once this is asked.
    pub between: Stop,
}

/// What this party finds for a program.
pub(super) enum Found {
    /// The epoch that it takes from is this session's; what it takes, and the intent that says so.
    Enough(Entry, Intent),
    /// It is there, and another session has it.
    Busy,
    /// What is lacking.
    Lacks(Error),
}

/// Entries that an epoch must have left for a step: the two of the step, and as many for programs.
const ENTRIES_FOR_A_STEP: u64 = 1 << 10;

impl Epochs {
    /// Returns whether something may be added to an epoch.
    pub fn may_be_filled<S: Side>(&self, id: &EpochId) -> Result<bool, Error> {
        let state = self.store.state(id)?;
        // A peer may say that it has begun one more: then this party has, too.
        Ok(state.burned().is_none()
            && state.entries_left() >= ENTRIES_FOR_A_STEP
            && S::may_begin(&state, &self.terms)?)
    }

    /// Reads what a program takes.
    pub fn open(&self, epoch: &EpochId, entry: &Entry) -> Result<Checked, Error> {
        match entry {
            Entry::Use { taken, .. } => self.store.open_items(epoch, taken),
            _ => Err(Error::Usage("no program's entry".into())),
        }
    }

    /// Returns the intent to take damaged items out.
    pub fn loses(&self, epoch: &EpochId, damaged: &Entry) -> Result<Intent, Error> {
        let state = self.store.state(epoch)?;
        let next = digest("brickwork 2026-11 stock damaged", &[epoch, state.head(), &damaged.digest()]);
        Ok(Intent { what: Intent::DAMAGED, epoch: *epoch, next })
    }

    /// Hears which items the peer cannot read. They must be of batches that a program of this entry takes
    /// from. (Nobody can tell if it is true. But nothing of the run depends on an input yet, and a peer can
    /// make this party lose as much by going away.)
    pub fn hear_damaged(
        &self,
        run: &mut Metered,
        theirs: &Intent,
        epoch: &EpochId,
        entry: &Entry,
    ) -> Result<Entry, Error> {
        let damaged = Intent::receive_damaged(run)?;
        let (Entry::Use { taken, .. }, Entry::Damaged(items)) = (entry, &damaged) else {
            return Err(Malformed::UnexpectedMessage.into());
        };
        let is_taken = |serial: &Serial| taken.iter().any(|(of, _)| of == serial);
        let follows = self.store.state(epoch)?.apply(&damaged).is_ok();
        if !follows || *theirs != self.loses(epoch, &damaged)? || !items.iter().all(|(of, ..)| is_taken(of)) {
            return Err(Malformed::UnexpectedMessage.into());
        }
        let count = items.iter().fold(0, |all: u64, (.., count)| all.saturating_add(*count));
        tracing::warn!("the peer cannot read {count} items of its stock any more: neither party uses them");
        Ok(damaged)
    }

    /// Makes sure that the peer may try something of this risk, in units of 2^-128: with all attempts of its
    /// that came to nothing, it stays within what a run is promised. (Where a session has a share of a
    /// promise, whoever shares it out counts what is begun.)
    ///
    /// # Errors
    /// [`Error::Vain`] if it does not.
    pub fn may_try<S: Side>(&self, risk: u128) -> Result<(), Error> {
        let counts = if S::COUNTED == Counted::Nothing { 0 } else { risk };
        self.store.may_try(&self.owner::<S>().account(), counts)
    }

    /// Looks whether somebody has asked that no other step begins.
    pub fn goes_on(&self) -> Result<(), Error> {
        match self.between.is_asked() {
            true => Err(std::io::Error::from(Stopped).into()),
            false => Ok(()),
        }
    }

    /// Makes sure that an epoch may be begun.
    ///
    /// # Errors
    /// [`Error::Stock`] if there are too many, [`Error::Vain`] if it would be one attempt too many.
    pub fn may_begin<S: Side>(&self) -> Result<(), Error> {
        room_for_one_more(living(&self.store, &self.owner::<S>())?.len())?;
        self.may_try::<S>(S::early_risk(&self.terms)?)
    }

    /// Counts a setup in which the peer failed a check.
    pub fn failed_setup<S: Side>(&self, why: &Error, fixed: u128) {
        if matches!(why, Error::Peer(_))
            && S::COUNTED != Counted::Nothing
            && let Err(error) = self.store.lose_setup(&self.owner::<S>().account(), fixed)
        {
            tracing::error!(%error, "the peer failed a check, and this could not be counted");
        }
    }

    pub fn owner<S: Side>(&self) -> Owner<'_> {
        Owner { protocol: S::PROTOCOL, role: S::ROLE, terms: &self.terms }
    }

    /// Leases an epoch, in place of what this session had, unless it has it; whether it has it now.
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

    /// Leases an epoch that both parties may use, if nobody has it.
    pub fn claim_this<S: Side>(&mut self, id: &EpochId) -> Result<bool, Error> {
        let lock = self.store.lock_peer(&self.owner::<S>().relation())?;
        Ok(self.epochs.contains(id) && self.lease(&lock, id))
    }

    /// Leases the newest epoch that fits and nobody has.
    pub fn claim_first<S: Side, F: Fn(&Self, &EpochId) -> Result<bool, Error>>(
        &mut self,
        fits: F,
    ) -> Result<Option<EpochId>, Error> {
        let lock = self.store.lock_peer(&self.owner::<S>().relation())?;
        for id in self.epochs.clone().iter().rev() {
            if fits(self, id)? && self.lease(&lock, id) {
                return Ok(Some(*id));
            }
        }
        Ok(None)
    }

    /// Leases the oldest epoch that has what the program needs, or, if one is `named`, that one; an evaluator
    /// for whom none is named only looks. Where something is carried on there is one `only`.
    pub fn find<S: Side>(
        &mut self,
        job: &S::Execution<'_>,
        only: Option<EpochId>,
        named: Option<EpochId>,
    ) -> Result<Found, Error> {
        let lock = self.store.lock_peer(&self.owner::<S>().relation())?;
        let mut lacking = Error::Stock(format!(
            "the program needs {}, and there is nothing{}{}{}",
            S::needs(job),
            S::level(&self.terms),
            other_levels(&self.store, &self.owner::<S>())?,
            if self.busy { " but what another session has" } else { "" }
        ));
        let mut is_busy = false;
        for id in self.epochs.clone() {
            let may = [only, named].into_iter().flatten().all(|may| may == id);
            let state = match self.store.state(&id) {
                // What is left in one without entries is lost; `preprocess` makes another.
                Ok(state) if state.burned().is_none() && state.entries_left() > 0 && may => state,
                _ => continue,
            };
            match S::choose(job, &Batches::of(&self.store, &id)?, &self.terms) {
                // What the evaluator takes, the garbler names.
                Ok(taken) if named.is_none() && S::ROLE == Party::Evaluator || self.lease(&lock, &id) => {
                    let entry = Entry::Use { program: S::program(job), taken };
                    let next = digest("brickwork 2026-11 stock use", &[&id, state.head(), &entry.digest()]);
                    return Ok(Found::Enough(entry, Intent { what: Intent::USE, epoch: id, next }));
                }
                Ok(_) => is_busy = true,
                Err(Error::Stock(why)) => lacking = Error::Stock(why),
                Err(other) => return Err(other),
            }
        }
        Ok(if is_busy { Found::Busy } else { Found::Lacks(lacking) })
    }
}

/// Hashes what both parties do next, to be compared: as many parts each time, or as many as one of the first
/// says.
pub(super) fn digest(domain: &'static str, parts: &[&[u8; 32]]) -> [u8; 32] {
    let mut digest = Digest::of(domain);
    parts.iter().for_each(|part| _ = digest.digest(part));
    digest.done()
}

/// Returns whether a store has all that a program needs, of what belongs to this owner and both parties may
/// still use: whether `choose` finds it.
///
/// # Errors
/// [`Error::Stock`] if the store cannot be read or was altered.
pub fn in_stock(
    store: &Store,
    owner: &Owner,
    choose: impl Fn(&Batches) -> Result<Vec<(Serial, u32)>, Error>,
) -> Result<bool, Error> {
    for (id, _) in living(store, owner)? {
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
