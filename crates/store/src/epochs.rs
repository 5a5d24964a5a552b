//! Epochs of a store, and their logs.

use std::collections::HashMap;
use std::collections::hash_map::Entry::Vacant;
use std::sync::MutexGuard;

use serde::{Deserialize, Serialize};

use super::batches::{BatchRow, Use, serial_of, use_of};
use super::chain::Chain;
use super::forward::EpochSecrets;
use super::index::{BATCHES, EPOCHS, LOG, with_number};
use super::keys::{KeyFile, KeysContent};
use super::log::{EpochEntry, EpochId, EpochState, Serial, number_of};
use super::pair::Relation;
use super::range::Ranges;
use super::segment::IndexedSegment;
use super::store::{DAY, Store};
use super::taken::{ReadItems, TakenEntry};
use brickwork_base::{Error, Party, Security, short};

/// The properties of an epoch. They never change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Epoch {
    /// The protocol that made the epoch.
    pub protocol: String,
    /// The version of the protocol; stock of another version cannot be used.
    pub version: u32,
    /// This party's role.
    pub role: Party,
    /// Statistical security.
    pub security: Security,
    /// The public keys of the garbler and the evaluator.
    pub identities: [[u8; 32]; 2],
    /// Seconds since 1970, by this party's clock.
    pub created: u64,
    /// The age in seconds up to which the epoch may be used. The epoch's offset makes the wires of past runs
    /// readable, so it must be erased some day. It is the same at both parties.
    pub max_age: u64,
    /// The probability that a cheat in this epoch, but not in one of its steps, is not detected, in units of
    /// 2^-128.
    pub fixed: u128,
    /// The probability, in units of 2^-128, that a peer which breaks the connection before the exposure of a
    /// step knows that its cheat would not be detected.
    pub early: u128,
    /// The attempts of the peer that are counted.
    pub counted: Counted,
}

/// The attempts of a peer that are counted, because it may have broken the connection when it saw that its
/// cheat would be detected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Counted {
    /// No attempts are counted, except the [early](Epoch::early) part of each interrupted step.
    Nothing,
    /// Steps that were exposed and interrupted. In a completed step a cheat has already had its full effect.
    BrokenOff,
    /// Also completed steps that no program has used: the peer may have wasted a step because its undetected
    /// cheat was useless.
    BrokenOffOrThrownAway,
}

impl Epoch {
    /// Returns the relation to which the epoch belongs.
    pub fn relation(&self) -> Relation {
        Relation { role: self.role, identities: self.identities }
    }

    /// Returns whether the epoch is too old at this time, in seconds since 1970.
    pub fn is_over(&self, now: u64) -> bool {
        now >= self.created.saturating_add(self.max_age)
    }

    /// Returns whether the epoch is almost too old, so that it may already be too old by the peer's clock.
    pub fn is_nearly_over(&self, now: u64) -> bool {
        self.is_over(now.saturating_add((self.max_age / 8).min(DAY)))
    }
}

/// A log entry in the form in which the index stores it.
#[derive(Serialize, Deserialize)]
pub(super) struct LogRow {
    entry: EpochEntry,
    /// True if this party has the entry only because the peer had begun the action.
    named: bool,
}

impl LogRow {
    /// Applies the entry to a state.
    pub fn apply(&self, state: &mut EpochState) -> Result<(), Error> {
        if self.named { state.apply_named(&self.entry) } else { state.apply(&self.entry) }
    }
}

/// The cause of a log entry.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum EntryCause {
    /// This party begins or completes the action itself.
    Own,
    /// The peer already has the entry.
    Named,
    /// The peer's behaviour made this party burn the epoch.
    Lost(Loss),
}

/// The reason why a peer's behaviour made this party burn an epoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Loss {
    /// The peer failed a check and may have guessed a secret of the epoch. Or this party cannot know whether
    /// the peer failed a check.
    Check,
    /// The peer has a different log or none, or claims that it has burned the epoch. From this it can have
    /// learnt no more than from completed steps.
    Log,
}

impl Store {
    /// Returns the epochs, oldest first.
    ///
    /// # Errors
    /// [`Error::Stock`] if the index cannot be read or was altered.
    pub fn epochs(&self) -> Result<Vec<(EpochId, Epoch)>, Error> {
        let mut epochs = Vec::new();
        for (key, row) in self.all(EPOCHS)? {
            let id = key
                .as_slice()
                .try_into()
                .map_err(|_| Error::Stock("the index has an epoch with a malformed identifier".into()))?;
            epochs.push((id, self.open_row::<Epoch>(EPOCHS, &key, &row)?));
        }
        epochs.sort_by_key(|(id, epoch)| (epoch.created, *id));
        Ok(epochs)
    }

    /// Begins an epoch. `secrets` are the data with which the protocol resumes it.
    ///
    /// # Errors
    /// [`Error::Stock`] if it exists or the disk fails.
    pub fn begin(&self, id: &EpochId, epoch: &Epoch, secrets: &EpochSecrets) -> Result<(), Error> {
        let _changing = self.change()?;
        if self.row::<Epoch>(EPOCHS, id)?.is_some() {
            return Err(Error::Stock("the store already has this epoch".into()));
        }
        let rows = [self.sealed(EPOCHS, id.to_vec(), epoch)?];
        let (file, kept) = (self.key_file(id), KeysContent { secrets: secrets.clone(), chains: Vec::new() });
        self.poisoning(file.make(&kept))?;
        self.write(&rows)?;
        self.poisoning(file.name())
    }

    /// Returns the file of an epoch's keys.
    fn key_file(&self, id: &EpochId) -> KeyFile<'_> {
        KeyFile::of(&self.keys(), id, &self.shared.key, &self.shared.disk)
    }

    /// Makes the store unusable until it is opened again, if a change of a file has failed.
    fn poisoning<T>(&self, changed: Result<T, Error>) -> Result<T, Error> {
        changed.inspect_err(|error| self.shared.poisoned.by(error))
    }

    /// Reads the keys of an epoch.
    pub(super) fn kept(&self, id: &EpochId) -> Result<KeysContent, Error> {
        let kept = self.key_file(id).read()?;
        kept.ok_or_else(|| Error::Stock("the store does not have this epoch, or it was burned".into()))
    }

    /// Adds the keys of a batch's items, before the index names the batch.
    pub(super) fn keep_chain(&self, id: &EpochId, serial: Serial, chain: &Chain) -> Result<(), Error> {
        let mut kept = self.kept(id)?;
        // A new list of the full length is allocated, because a growing one leaves keys in memory that nobody
        // erases.
        let mut chains = Vec::with_capacity(kept.chains.len() + 1);
        chains.extend(kept.chains.iter().filter(|(other, _)| *other != serial).cloned());
        chains.push((serial, chain.clone()));
        kept.chains = chains;
        self.poisoning(self.key_file(id).write(&kept))
    }

    /// Erases the keys of all used items and of all past entries. No program or step of this epoch may be in
    /// progress. It is for programs and steps that failed: other programs and steps end with an entry that
    /// erases their keys.
    ///
    /// # Errors
    /// [`Error::Stock`] if the disk fails.
    pub fn erase_used(&self, id: &EpochId) -> Result<(), Error> {
        let _changing = self.change()?;
        let state = self.state(id)?;
        if state.burned().is_some() { Ok(()) } else { self.erase_gone(id, &state) }
    }

    /// Erases the keys that are not needed in this state.
    fn erase_gone(&self, id: &EpochId, state: &EpochState) -> Result<(), Error> {
        let mut kept = self.kept(id)?;
        let (next, before) = (state.shared() + 1, kept.chains.len());
        let mut changed = false;
        if !kept.secrets.forward.is_empty() && kept.secrets.forward.entry() < next {
            kept.secrets.forward.go_to(next)?;
            changed = true;
        }
        // The index may be an old copy, so the keys of steps that it does not know yet are kept.
        let is_ahead = |serial| number_of(serial) > state.shared();
        kept.chains.retain(|&(serial, _)| state.is_made(serial) || state.is_open(serial) || is_ahead(serial));
        for (serial, chain) in &mut kept.chains {
            if chain.item() < state.gone(*serial) {
                chain.go_to(state.gone(*serial))?;
                changed = true;
            }
        }
        if changed || kept.chains.len() < before {
            self.poisoning(self.key_file(id).write(&kept))?;
        }
        Ok(())
    }

    /// Repairs the files of keys when the store is opened: erases keys that are not needed any more. The key
    /// file of an epoch that the index does not know is kept unchanged. A key file that cannot be read is
    /// kept, too: its epoch cannot be used, but the user must be able to open the store and burn the epoch.
    pub(super) fn settle_keys(&self) -> Result<(), Error> {
        for (id, _) in self.epochs()? {
            let (state, file) = (self.state(&id)?, self.key_file(&id));
            if state.burned().is_some() {
                file.erase()?;
                continue;
            }
            match file.settle().and_then(|()| self.kept(&id)) {
                Ok(_) => self.erase_gone(&id, &state)?,
                Err(error) => tracing::warn!(
                    "the store cannot read the keys of part {} of the stock: {error}",
                    short(&id)
                ),
            }
        }
        Ok(())
    }

    /// Returns the secrets that [`Store::begin`] received.
    ///
    /// # Errors
    /// [`Error::Stock`] if there is no such epoch, it is burned, or it was altered.
    pub fn secrets(&self, id: &EpochId) -> Result<EpochSecrets, Error> {
        self.sound()?;
        let kept = self.kept(id)?;
        if kept.secrets.forward.entry() > self.state(id)?.shared() + 1 {
            return Err(Error::Stock(
                "the keys of this part of the stock are newer than its log in the index: the index is an \
                 old copy; burn this part (`brickwork stock burn`)"
                    .into(),
            ));
        }
        Ok(kept.secrets.clone())
    }

    /// Replays the log of an epoch.
    ///
    /// # Errors
    /// [`Error::Stock`] if there is no such epoch or its log was altered.
    pub fn state(&self, id: &EpochId) -> Result<EpochState, Error> {
        Ok(self.replay(id)?.0)
    }

    fn replay(&self, id: &EpochId) -> Result<(EpochState, u64), Error> {
        if let Some(known) = self.known().get(id) {
            return Ok(known.clone());
        }
        let mut state = EpochState::new(id);
        let rows = self.log_rows(id)?;
        rows.iter().try_for_each(|row| row.apply(&mut state))?;
        Ok((state, rows.len() as u64))
    }

    /// Returns the entries of an epoch, oldest first.
    ///
    /// # Errors
    /// [`Error::Stock`] if there is no such epoch or its log was altered.
    pub fn log(&self, id: &EpochId) -> Result<Vec<EpochEntry>, Error> {
        Ok(self.log_rows(id)?.into_iter().map(|row| row.entry).collect())
    }

    fn log_rows(&self, id: &EpochId) -> Result<Vec<LogRow>, Error> {
        if self.row::<Epoch>(EPOCHS, id)?.is_none() {
            return Err(Error::Stock("the store does not have this epoch".into()));
        }
        let numbered = |(number, (key, row)): (u64, (Vec<u8>, Vec<u8>))| match key == with_number(id, number)
        {
            true => self.open_row(LOG, &key, &row),
            false => Err(Error::Stock("the log of this epoch lacks an entry".into())),
        };
        (0..).zip(self.between(LOG, id, None)?).map(numbered).collect()
    }

    /// Writes an entry to disk, and only then returns the items that it takes. Entries are written one after
    /// another, and each range and item is given to only one caller. A session that appends must have
    /// [leased](crate::PeerLock::lease) the epoch, or must hold the [`PeerLock`](crate::PeerLock) while no
    /// session leases it.
    ///
    /// # Errors
    /// [`Error::Stock`] if the entry cannot follow, there are too few items, or the disk fails. If the disk
    /// fails, it is unknown whether the items are burned; the store returns nothing more until it is opened
    /// again.
    pub fn append(&self, id: &EpochId, entry: &EpochEntry) -> Result<TakenEntry, Error> {
        self.append_as(id, entry, EntryCause::Own, ReadItems::default())
    }

    /// Does the same as [`Store::append`] with the entry of a program whose items were read before.
    ///
    /// # Errors
    /// As [`Store::append`].
    pub fn append_opened(
        &self,
        id: &EpochId,
        entry: &EpochEntry,
        opened: ReadItems,
    ) -> Result<TakenEntry, Error> {
        self.append_as(id, entry, EntryCause::Own, opened)
    }

    /// Does the same as [`Store::append`] with an entry that the peer has and this party lacks. The
    /// connection broke before this party had begun the action. A step that only the peer has begun does not
    /// count as an attempt, even if it has a risk, because this party has answered no challenge in it.
    ///
    /// # Errors
    /// As [`Store::append`].
    pub fn append_named(&self, id: &EpochId, entry: &EpochEntry) -> Result<TakenEntry, Error> {
        self.append_as(id, entry, EntryCause::Named, ReadItems::default())
    }

    /// Returns whether the log of an epoch can remove these damaged items: each is in stock, and is named
    /// once.
    ///
    /// # Errors
    /// [`Error::Stock`] if the index cannot be read or was altered.
    pub fn can_lose(&self, id: &EpochId, items: &[(Serial, u64, u64)]) -> Result<bool, Error> {
        let follows = self.state(id)?.apply(&EpochEntry::Damaged(items.to_vec())).is_ok();
        Ok(follows && self.has_items(id, items)?)
    }

    /// Returns whether all these items were made.
    fn has_items(&self, id: &EpochId, items: &[(Serial, u64, u64)]) -> Result<bool, Error> {
        for (serial, first, count) in items {
            if self.batch_row(id, *serial)?.1.segment.items < first + count {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Does the same as [`Store::append`], for an entry with this cause.
    pub(super) fn append_as(
        &self,
        id: &EpochId,
        entry: &EpochEntry,
        cause: EntryCause,
        opened: ReadItems,
    ) -> Result<TakenEntry, Error> {
        self.append_behind(&self.change()?, id, entry, cause, opened)
    }

    /// Does the same as [`Store::append_as`], while the caller prevents other changes.
    pub(super) fn append_behind(
        &self,
        _changing: &MutexGuard<'_, ()>,
        id: &EpochId,
        entry: &EpochEntry,
        cause: EntryCause,
        opened: ReadItems,
    ) -> Result<TakenEntry, Error> {
        let (before, number) = self.replay(id)?;
        let (mut after, row) =
            (before.clone(), LogRow { entry: entry.clone(), named: cause == EntryCause::Named });
        row.apply(&mut after)?;
        let items = match entry {
            EpochEntry::Use { taken, .. } => self.items_of(id, &before, taken)?,
            EpochEntry::Damaged(items) if !self.has_items(id, items)? => {
                return Err(Error::Stock("the entry names damaged items that no batch has".into()));
            }
            _ => Vec::new(),
        };
        let mut chains = HashMap::with_capacity(items.len());
        let kept = if items.is_empty() { KeysContent::default() } else { self.kept(id)? };
        for (serial, items) in &items {
            if let (Vacant(place), Some(first)) = (chains.entry(*serial), items.first()) {
                let mut chain = kept.chain(*serial)?.clone();
                chain.go_to(first.start)?;
                let _ = place.insert(chain);
            }
        }
        // The items were read in an earlier state, so they are read again.
        let opened = if opened.items == items { opened } else { ReadItems::default() };
        let mut rows = vec![self.sealed(LOG, with_number(id, number), &row)?];
        rows.extend(self.vain_behind(id, [&before, &after], entry, cause)?);
        let mut segments = Vec::new();
        // Segments that are not needed are removed: all of a burned epoch, and at the next step those of
        // steps that were given up.
        let is_burned = matches!(entry, EpochEntry::Burned(_));
        if is_burned || matches!(entry, EpochEntry::Fill(_)) {
            for (key, row) in self.between(BATCHES, id, None)? {
                let row: BatchRow = self.open_row(BATCHES, &key, &row)?;
                if is_burned || matches!(use_of(&after, serial_of(&key), &row.segment), Use::Nothing) {
                    segments.push(IndexedSegment::path(&self.segments(), &row.segment.id));
                    rows.push((BATCHES, key, None));
                }
            }
        }
        // The process of a step was interrupted, and left these files.
        if before.open().is_some() && after.open() != before.open() {
            segments.extend(self.shared.leftovers().extract_if(.., |(of, _)| of == id).map(|(_, path)| path));
        }
        self.known().remove(id);
        self.write(&rows)?;
        let ranges = (before.shared()..after.shared()).map(|before| Ranges::of_entry(before + 1)).collect();
        match entry {
            EpochEntry::Burned(_) => self.poisoning(self.key_file(id).erase())?,
            // The entry ends the previous program or step, so its keys are erased.
            EpochEntry::Confirmed | EpochEntry::Made => self.erase_gone(id, &after)?,
            _ => {}
        }
        self.known().insert(*id, (after, number + 1));
        // Only these segments are removed, because other sessions may have written segments that the index
        // does not know yet.
        segments.iter().try_for_each(|path| self.remove(path))?;
        Ok(TakenEntry { epoch: *id, ranges, items, opened, chains })
    }

    /// Burns the epochs whose secrets other processes had when the last process with this store ended. One of
    /// these processes may have seen a failed check, so this counts as a failed check.
    pub(super) fn burn_what_is_lent(&self) -> Result<(), Error> {
        for (id, _) in self.epochs()? {
            let state = self.state(&id)?;
            if state.is_lent() && state.burned().is_none() {
                let why = "this party's process ended while makers had the secrets of this part, so nobody \
                           knows whether a check failed";
                drop(self.lose(&id, Loss::Check, why.into())?);
                tracing::warn!("part {} of this store is burned: {why}", short(&id));
            }
        }
        Ok(())
    }

    /// Forgets an epoch that is burned or has no shared entries.
    ///
    /// # Errors
    /// [`Error::Stock`] if the epoch may still be used, or the disk fails.
    pub fn forget(&self, id: &EpochId) -> Result<(), Error> {
        let _changing = self.change()?;
        let state = self.state(id)?;
        if state.burned().is_none() && !state.is_new() {
            return Err(Error::Stock("this epoch still has items, so burn it first".into()));
        }
        let mut rows = vec![(EPOCHS, id.to_vec(), None)];
        rows.extend(self.between(LOG, id, None)?.into_iter().map(|(key, _)| (LOG, key, None)));
        self.known().remove(id);
        self.write(&rows)?;
        self.poisoning(self.key_file(id).erase())
    }
}
