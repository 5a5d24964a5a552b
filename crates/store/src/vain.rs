//! A peer's *failed attempts*, over all epochs: the sum of the risks of all attempts that gave no usable
//! stock and in which a cheat may have been undetected.
//!
//! A step of preprocessing is an attempt, from the transaction that [exposes](Entry::Exposed) it until it is
//! completed. A connection that breaks before that costs only the epoch's very small [early](Epoch::early)
//! part: the peer may have seen that a check failed, with that probability. A completed step counts again
//! when a program takes stock of its job, until a program that took items of the step has ended. Otherwise a
//! cheater whose cheat was useless could throw the step away at no cost. If the peer makes this party burn an
//! epoch, all its steps count that no program has proven. After a failed check the fixed risk of the epoch
//! counts, too. [`Counted`] tells which attempts count, for each role of a protocol. Only [`Store::forgive`]
//! reduces the sum. It does not help to burn or forget an epoch, or to become a new pair.

use std::io::{ErrorKind, Write};
use std::path::PathBuf;
use std::sync::MutexGuard;

use serde::{Deserialize, Serialize};

use super::epochs::{Counted, EntryCause, Epoch, Loss};
use super::folder::{failed, move_aside};
use super::index::{EPOCHS, RowChange, VAIN, encoded_secret};
use super::log::{EpochEntry, EpochId, EpochState};
use super::pair::Relation;
use super::store::{Store, StoreState};
use super::taken::{ReadItems, TakenEntry};
use brickwork_base::{Error, Security, private};

/// The account of a peer's attempts at one security level of one protocol.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Account {
    /// This party's role, and the two parties.
    pub relation: Relation,
    /// The protocol of the stock.
    pub protocol: String,
    /// The security level. Stock of one level is never used at another.
    pub security: Security,
}

impl Account {
    /// The name in place of a protocol's in an account that records that the peer cheated a service.
    pub const ACCUSATION: &str = "accusation";

    /// Returns the account that records whether the peer cheated a service.
    pub fn accusation(&self) -> Self {
        Account { protocol: Self::ACCUSATION.into(), ..self.clone() }
    }

    fn key(&self) -> [u8; 32] {
        let mut parts = vec![self.relation.role as u8];
        parts.extend(self.relation.identities.concat());
        parts.extend([self.security.bits(), self.security.shares()].map(u32::to_le_bytes).concat());
        parts.extend(self.protocol.as_bytes());
        blake3::derive_key("brickwork 2026-11 stock attempts in vain", &parts)
    }
}

impl Epoch {
    /// Returns the account in which attempts on this epoch are counted.
    pub fn account(&self) -> Account {
        Account { relation: self.relation(), protocol: self.protocol.clone(), security: self.security }
    }
}

/// The data of an account, in units of 2^-128.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Attempts {
    account: Account,
    /// The risks of attempts that have ended without usable stock.
    settled: u128,
    /// The risk of each epoch's current step that this party has begun, until the step is completed. Also the
    /// risk of completed steps, under their names, until a program has ended.
    open: Vec<(EpochId, u128)>,
    /// The largest risk among the steps that sent a message that can help a cheating peer.
    step: u128,
    /// The time of the last increase of the sum, in seconds since 1970 by this machine's clock.
    last: u64,
}

/// The attempts in an account, in units of 2^-128: the sum so far, and the limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tried {
    /// The risks of all attempts that have failed or have not ended.
    pub sum: u128,
    /// The limit of the sum.
    pub most: u128,
    /// The largest risk among the steps that sent a message that can help a cheating peer; 0 if none did.
    step: u128,
    last: u64,
}

/// The number of times that the pause between two steps doubles while the second half of the attempts is
/// used.
const DOUBLINGS: u128 = 14;

impl Tried {
    /// Returns how many more steps with the largest risk so far may fail. Returns `None` if there was no
    /// step.
    pub fn left(&self) -> Option<u64> {
        let left = self.most.saturating_sub(self.sum).checked_div(self.step)?;
        Some(u64::try_from(left).unwrap_or(u64::MAX))
    }

    /// Returns whether another step would exceed the limit.
    pub fn is_used_up(&self) -> bool {
        self.sum.saturating_add(self.step.max(1)) > self.most
    }

    /// Returns whether more than half of the limit is used.
    pub fn is_low(&self) -> bool {
        self.sum > self.most / 2
    }

    /// Returns the number of seconds after `now` (in seconds since 1970) in which no step should begin. It is
    /// 0 until half of the limit is used. Then a step must wait for one second after the last attempt, and
    /// this pause doubles up to 2^14 s. So if a service is killed in each step, it takes more than half a day
    /// until the limit is reached, and not minutes.
    pub fn rest(&self, now: u64) -> u64 {
        let half = (self.most / 2).max(1);
        let Some(beyond) = self.sum.checked_sub(half + 1) else { return 0 };
        let pause = 1u64 << (beyond.min(half) / (half / DOUBLINGS).max(1)).min(DOUBLINGS);
        // If the clock was set back, the pause does not get longer.
        self.last.saturating_add(pause).saturating_sub(now).min(pause)
    }
}

/// Returns the seconds since 1970.
fn now() -> u64 {
    std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

/// Returns the name of a completed step, given the number of its entry.
fn name_of(id: &EpochId, number: u64) -> [u8; 32] {
    let parts = [&id[..], &number.to_le_bytes()].concat();
    blake3::derive_key("brickwork 2026-11 stock step in vain", &parts)
}

impl Attempts {
    /// Returns the sum of all risks.
    pub fn sum(&self) -> u128 {
        self.open.iter().fold(self.settled, |sum, (_, risk)| sum.saturating_add(*risk))
    }

    fn tried(&self) -> Tried {
        Tried { sum: self.sum(), most: self.account.security.units(), step: self.step, last: self.last }
    }

    /// Records the time if the sum has increased. Warns when more than half of the limit is used.
    fn grew_from(&mut self, before: &Self) {
        if self.sum() > before.sum() {
            self.last = now();
        }
        let half = self.account.security.units() / 2;
        if before.settled <= half && self.settled > half && !self.account.security.is_share() {
            tracing::warn!(
                "so many attempts to make stock with this peer failed that half of the allowed attempts are \
                 used up. Find out why: after the last attempt this party makes no more stock. `brickwork \
                 stock ls` shows the count, and `brickwork stock forgive` sets it to zero"
            );
        }
    }

    /// Checks that another attempt of this risk stays within the promise of a run. If a session has a share
    /// of a promise, the caller that divided the promise counts the attempts.
    fn may_try(&self, risk: u128) -> Result<(), Error> {
        let security = self.account.security;
        if security.is_share() || self.sum().saturating_add(risk) <= security.units() {
            return Ok(());
        }
        Err(Error::Vain(format!(
            "too many attempts to make stock with this peer failed: with another attempt, a cheating peer \
             would succeed with probability above {security}, over all attempts; a peer that breaks off \
             whenever a check would catch it causes this, and so does a bad connection"
        )))
    }

    /// Counts the risk of an epoch's current step until the step is completed.
    fn begin(&mut self, id: &EpochId, risk: u128) {
        self.open.extend((risk > 0).then_some((*id, risk)));
    }

    fn settle(&mut self, risk: u128) {
        self.settled = self.settled.saturating_add(risk);
    }

    /// Removes the open risk of an epoch, or of a completed step.
    fn close(&mut self, id: &EpochId) -> u128 {
        let place = self.open.iter().position(|(of, _)| of == id);
        place.map_or(0, |place| self.open.swap_remove(place).1)
    }

    /// Updates the account for an entry that changes an epoch's state.
    fn follow(
        &mut self,
        (id, epoch): (&EpochId, &Epoch),
        [before, after]: [&EpochState; 2],
        entry: &EpochEntry,
        cause: EntryCause,
    ) {
        let counts_exposed = epoch.counted != Counted::Nothing;
        match (entry, before.open()) {
            // A step that only the peer has exposed does not count, because this party has sent nothing in
            // it.
            (EpochEntry::Exposed, Some((_, step))) if cause == EntryCause::Own && counts_exposed => {
                let early = self.close(id);
                self.begin(id, step.risk.max(early));
                self.step = self.step.max(step.risk);
            }
            (EpochEntry::Made, _) => drop(self.close(id)),
            (
                EpochEntry::Fill(_) | EpochEntry::Use { .. } | EpochEntry::Damaged(_) | EpochEntry::Burned(_),
                _,
            ) => {
                let open = self.close(id);
                self.settle(open);
            }
            _ => {}
        }
        if let EpochEntry::Fill(step) = entry
            && cause == EntryCause::Own
        {
            self.begin(id, epoch.early.saturating_mul(step.workers.into()));
        }
        if epoch.counted == Counted::BrokenOffOrThrownAway {
            self.follow_made(id, [before, after], entry, cause);
        }
        if cause == EntryCause::Lost(Loss::Check) && counts_exposed && !before.is_new() {
            self.settle(epoch.fixed);
        }
    }

    /// Updates the account for completed steps.
    fn follow_made(
        &mut self,
        id: &EpochId,
        [before, after]: [&EpochState; 2],
        entry: &EpochEntry,
        cause: EntryCause,
    ) {
        let (was, is) = (before.unproven(), after.unproven());
        for number in was.keys().filter(|number| !is.contains_key(number)) {
            self.close(&name_of(id, *number));
        }
        for (number, step) in is.iter().filter(|(number, _)| !was.contains_key(number)) {
            self.open.push((name_of(id, *number), step.risk));
        }
        if matches!(entry, EpochEntry::Burned(_)) {
            for number in is.keys() {
                let risk = self.close(&name_of(id, *number));
                self.settle(risk);
            }
        }
        if matches!(cause, EntryCause::Lost(_)) {
            let thrown_away = before.made().filter(|(n, _)| !before.is_proven(*n) && !is.contains_key(n));
            thrown_away.for_each(|(_, step)| self.settle(step.risk));
        }
    }
}

/// The file in which one process asks the process that has opened the store to forgive accounts.
const FORGIVE: &str = "forgive";

/// A request to the process that has opened the store. Dropping it withdraws the request.
pub struct HandoverRequest(PathBuf);

impl HandoverRequest {
    /// Returns whether the other process has handled the request.
    pub fn is_heard(&self) -> bool {
        !self.0.exists()
    }
}

impl Drop for HandoverRequest {
    fn drop(&mut self) {
        // If the file cannot be removed, it is only valid until its accounts change.
        let _ = std::fs::remove_file(&self.0);
    }
}

impl Store {
    fn vain_row(&self, account: &Account) -> Result<Attempts, Error> {
        let row: Option<Attempts> = self.row(VAIN, &account.key())?;
        match row {
            None => Ok(Attempts { account: account.clone(), settled: 0, open: Vec::new(), step: 0, last: 0 }),
            Some(row) if row.account == *account => Ok(row),
            Some(_) => Err(Error::Stock("the index has failed attempts under the wrong peer".into())),
        }
    }

    fn sealed_vain(&self, row: &Attempts) -> Result<RowChange, Error> {
        self.sealed(VAIN, row.account.key().to_vec(), row)
    }

    /// Returns the sum of the risks of all failed or unfinished attempts in this account, in units of 2^-128.
    ///
    /// # Errors
    /// [`Error::Stock`] if the index cannot be read or was altered.
    pub fn vain(&self, account: &Account) -> Result<u128, Error> {
        Ok(self.vain_row(account)?.sum())
    }

    /// Returns the attempts in an account, with their limit.
    ///
    /// # Errors
    /// As [`Store::vain`].
    pub fn tried(&self, account: &Account) -> Result<Tried, Error> {
        Ok(self.vain_row(account)?.tried())
    }

    /// Returns all accounts with failed attempts, and their sums in units of 2^-128.
    ///
    /// # Errors
    /// As [`Store::vain`].
    pub fn accounts(&self) -> Result<Vec<(Account, u128)>, Error> {
        let mut accounts = Vec::new();
        for (key, row) in self.all(VAIN)? {
            let row: Attempts = self.open_row(VAIN, &key, &row)?;
            accounts.push((row.sum(), row.account));
        }
        Ok(accounts.into_iter().filter(|(sum, _)| *sum > 0).map(|(sum, account)| (account, sum)).collect())
    }

    /// Checks that the peer may make an attempt of this risk, in units of 2^-128.
    ///
    /// # Errors
    /// [`Error::Vain`] if the sum would be too large; [`Error::Stock`] as [`Store::vain`].
    pub fn may_try(&self, account: &Account, risk: u128) -> Result<(), Error> {
        self.vain_row(account)?.may_try(risk)
    }

    /// Counts an attempt that no log records: the setup of a session, in which a peer may break off before
    /// there is an epoch.
    ///
    /// # Errors
    /// As [`Store::may_try`], and [`Error::Stock`] if the disk fails.
    pub fn attempt(&self, account: &Account, risk: u128) -> Result<(), Error> {
        let changing = self.change()?;
        self.may_try(account, risk)?;
        self.settle(&changing, account, risk)
    }

    /// Counts a setup in which the peer failed a check, with the fixed risk of an epoch.
    ///
    /// # Errors
    /// [`Error::Stock`] if the disk fails.
    pub fn lose_setup(&self, account: &Account, fixed: u128) -> Result<(), Error> {
        self.settle(&self.change()?, account, fixed)
    }

    fn settle(&self, _changing: &MutexGuard<'_, ()>, account: &Account, risk: u128) -> Result<(), Error> {
        if risk == 0 {
            return Ok(());
        }
        let before = self.vain_row(account)?;
        let mut row = before.clone();
        row.settle(risk);
        row.grew_from(&before);
        self.write(&[self.sealed_vain(&row)?])
    }

    /// Exposes the current step of an epoch, unless it is exposed already. From then on it counts until it is
    /// completed. A party calls this before it sends a message that can tell a cheating peer whether it will
    /// be caught.
    ///
    /// # Errors
    /// [`Error::Vain`] if the sum would be too large, and then nothing was written; also as
    /// [`Store::append`].
    pub fn expose(&self, id: &EpochId) -> Result<(), Error> {
        let changing = self.change()?;
        let state = self.state(id)?;
        if state.is_exposed() {
            return Ok(());
        }
        let (epoch, step) = (self.row::<Epoch>(EPOCHS, id)?, state.open());
        if let Some((epoch, (_, step))) =
            epoch.zip(step).filter(|(epoch, _)| epoch.counted != Counted::Nothing)
        {
            self.may_try(&epoch.account(), step.risk)?;
        }
        self.append_behind(&changing, id, &EpochEntry::Exposed, EntryCause::Own, ReadItems::default())
            .map(drop)
    }

    /// Forgets the failed attempts in an account, at the user's request. A step that is exposed now and given
    /// up later does not count either.
    ///
    /// # Errors
    /// [`Error::Stock`] if the disk fails.
    pub fn forgive(&self, account: &Account) -> Result<(), Error> {
        let _changing = self.change()?;
        self.write(&[(VAIN, account.key().to_vec(), None)])
    }

    /// Asks the process that has opened this store to [forgive](Store::forgive) these accounts in their
    /// present state. A service reads the request with [`Store::hear_forgiven`]. This store may be a view.
    ///
    /// # Errors
    /// [`Error::Stock`] if the index cannot be read or the disk fails.
    pub fn ask_to_forgive(&self, accounts: &[Account]) -> Result<HandoverRequest, Error> {
        let keys: Vec<[u8; 32]> = accounts.iter().map(Account::key).collect();
        let rows =
            self.all(VAIN)?.into_iter().filter(|(key, _)| keys.iter().any(|asked| asked[..] == key[..]));
        let rows: Vec<[u8; 32]> = rows.map(|(_, row)| *blake3::hash(&row).as_bytes()).collect();
        let path = self.shared.directory.join(FORGIVE);
        let sealed = self.shared.key.rows().seal(FORGIVE.as_bytes(), &encoded_secret(&rows))?;
        let unfinished = path.with_extension("unfinished");
        let written = private::options().create(true).truncate(true).open(&unfinished);
        written
            .and_then(|mut file| file.write_all(&sealed))
            .and_then(|()| std::fs::rename(&unfinished, &path))
            .map_err(failed(&path))?;
        Ok(HandoverRequest(path))
    }

    /// Forgives the accounts in another process's [request](Store::ask_to_forgive), if they have not changed
    /// since. Returns the accounts.
    ///
    /// # Errors
    /// [`Error::Stock`] if the disk fails, or the file was written without the store's key.
    pub fn hear_forgiven(&self) -> Result<Vec<Account>, Error> {
        let StoreState { directory, disk, key, .. } = &*self.shared;
        let path = directory.join(FORGIVE);
        let sealed = match std::fs::read(&path) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
            sealed => sealed.map_err(failed(&path))?,
        };
        let asked = key.rows().open(FORGIVE.as_bytes(), &sealed);
        let Some(asked) = asked.and_then(|asked| postcard::from_bytes::<Vec<[u8; 32]>>(&asked).ok()) else {
            move_aside(disk, directory, &path)?;
            return Err(Error::Stock(format!(
                "{} was not written with the key of this store",
                path.display()
            )));
        };
        let _changing = self.change()?;
        let (mut forgiven, mut changes) = (Vec::new(), Vec::new());
        for (key, row) in self.all(VAIN)? {
            if asked.contains(blake3::hash(&row).as_bytes()) {
                forgiven.push(self.open_row::<Attempts>(VAIN, &key, &row)?.account);
                changes.push((VAIN, key, None));
            }
        }
        if !changes.is_empty() {
            self.write(&changes)?;
        }
        self.remove(&path)?;
        Ok(forgiven)
    }

    /// Burns an epoch because of the peer's behaviour. Everything that was made in it and that no program has
    /// proven counts as failed attempts.
    ///
    /// # Errors
    /// As [`Store::append`].
    pub fn lose(&self, id: &EpochId, loss: Loss, why: String) -> Result<TakenEntry, Error> {
        self.append_as(id, &EpochEntry::Burned(why), EntryCause::Lost(loss), ReadItems::default())
    }

    /// Returns the row of an account after an entry, if the entry changes the account.
    pub(super) fn vain_behind(
        &self,
        id: &EpochId,
        states: [&EpochState; 2],
        entry: &EpochEntry,
        cause: EntryCause,
    ) -> Result<Option<RowChange>, Error> {
        let epoch = self.row::<Epoch>(EPOCHS, id)?;
        let epoch = epoch.filter(|epoch| epoch.counted != Counted::Nothing || epoch.early > 0);
        let Some(epoch) = epoch else { return Ok(None) };
        let before = self.vain_row(&epoch.account())?;
        let mut row = before.clone();
        row.follow((id, &epoch), states, entry, cause);
        row.grew_from(&before);
        (row != before).then(|| self.sealed_vain(&row)).transpose()
    }
}

#[cfg(test)]
mod tests {
    // Rows are those of the table of attacks (docs/concepts/security.md, section 14).

    use std::path::Path;

    use super::*;
    use crate::{Batch, Chain, EpochSecrets, FillStep, GivenUp, StoreKey, serial};
    use brickwork_base::Party;

    const KEY: StoreKey = StoreKey::from_bytes([7; 32]);

    fn epoch() -> Epoch {
        let (role, security, identities) = (Party::Evaluator, Security::of(40), [[1; 32], [2; 32]]);
        let (fixed, early, counted) = (10, 0, Counted::BrokenOffOrThrownAway);
        let (protocol, version, created, max_age) = ("test".into(), 1, 5, 9);
        Epoch { protocol, version, role, security, identities, created, max_age, fixed, early, counted }
    }

    fn fill(number: u32, risk: u128) -> EpochEntry {
        EpochEntry::Fill(FillStep { job: [1; 32], number, of: 9, risk, workers: 1 })
    }

    /// Returns the entries of a step that begins and is exposed.
    fn exposed(number: u32, risk: u128) -> [EpochEntry; 2] {
        [fill(number, risk), EpochEntry::Exposed]
    }

    fn begin(store: &Store, id: &EpochId) {
        store.begin(id, &epoch(), &EpochSecrets::fixed(b"secrets")).unwrap();
    }

    /// Makes changes, and returns the sum, which must be the same when the store is opened again.
    fn sum(directory: &Path, change: impl FnOnce(&Store)) -> u128 {
        change(&Store::open(directory, &KEY).unwrap());
        let store = Store::open(directory, &KEY).unwrap();
        let other = Account { security: Security::of(64), ..epoch().account() };
        assert_eq!(store.vain(&other).unwrap(), 0, "another level has a count of its own");
        let vain = store.vain(&epoch().account()).unwrap();
        assert_eq!(store.accounts().unwrap().iter().map(|(_, sum)| sum).sum::<u128>(), vain);
        vain
    }

    fn follows(store: &Store, id: &EpochId, entries: &[EpochEntry]) {
        entries.iter().for_each(|entry| drop(store.append(id, entry).unwrap()));
    }

    /// Row 4 of the table of attacks: an exposed step counts, at once and on the disk, until it is completed.
    /// If it gave no usable stock, it counts for ever, whatever happens to its epoch and to the pair. A step
    /// that was not exposed does not count.
    #[test]
    fn row_04_what_came_to_nothing_outlives_its_epoch() {
        let folder = tempfile::tempdir().unwrap();
        let (path, id) = (folder.path(), [3; 32]);
        let of = |entries: &[EpochEntry]| sum(path, |store| follows(store, &id, entries));
        let account = epoch().account();
        assert_eq!(sum(path, |store| begin(store, &id)), 0);
        assert_eq!(of(&[fill(0, 3), fill(0, 3), fill(0, 3)]), 0, "the peer has seen nothing");
        assert_eq!(of(&[EpochEntry::Exposed]), 3);
        assert_eq!(of(&[EpochEntry::Stored, EpochEntry::Made]), 0, "it is made");
        assert_eq!(of(&exposed(1, 5)), 5);
        assert_eq!(of(&[fill(1, 7)]), 5, "given up, and begun again");
        assert_eq!(of(&[EpochEntry::Exposed]), 12);
        assert_eq!(of(&[EpochEntry::Confirmed, EpochEntry::Stored]), 12);
        assert_eq!(of(&[EpochEntry::Made]), 5);
        let used = EpochEntry::Use { program: [4; 32], taken: vec![(serial(1, 0), 1)] };
        assert_eq!(of(&exposed(2, 100)), 105);
        // There is no such batch, so nothing changes.
        assert_eq!(sum(path, |store| assert!(store.append(&id, &used).is_err())), 105);
        assert_eq!(sum(path, |store| store.set_pair(&account.relation, &[9; 32]).unwrap()), 105);
        assert_eq!(of(&[EpochEntry::Burned("by the user".into())]), 105, "what was made is no attempt");
        assert_eq!(sum(path, |store| store.forget(&id).unwrap()), 105);
        assert_eq!(sum(path, |store| begin(store, &id)), 105);
        assert_eq!(sum(path, |store| store.forget(&id).unwrap()), 105, "an epoch in which nothing happened");
        assert_eq!(sum(path, |store| store.attempt(&account, 10).unwrap()), 115, "a setup");
        assert_eq!(sum(path, |store| store.forgive(&account).unwrap()), 0);
    }

    /// Pauses begin when half of the limit is used, and grow until all of it is. A wrong clock never makes a
    /// pause longer.
    #[test]
    fn steps_rest_where_few_attempts_are_left() {
        let most = Security::of(40).units();
        let tried = |sum: u128| Tried { sum, most, step: most / 100, last: 1000 };
        let rest = |sum: u128| tried(sum).rest(1000);
        assert_eq!([rest(0), rest(most / 2)], [0, 0]);
        assert!(!tried(most / 2).is_low() && tried(most / 2 + 1).is_low());
        let rests: Vec<u64> = (0..50).map(|k| rest(most / 2 + 1 + k * most / 100)).collect();
        assert!(
            rests.is_sorted() && rests[0] == 1 && rests[25] == 1 << 7 && rests[49] == 1 << 13,
            "{rests:?}"
        );
        assert_eq!([rest(most), rest(u128::MAX)], [1 << 14, 1 << 14]);
        // Using up the second half takes this much time.
        assert!(rests.iter().sum::<u64>() > 12 * 3600, "{rests:?}");
        assert_eq!([most - most / 100, most, 0].map(|sum| tried(sum).is_used_up()), [false, true, false]);
        let full = tried(most);
        let waits = [1001, 1000 + (1 << 14), u64::MAX, 0].map(|now| full.rest(now));
        assert_eq!(waits, [(1 << 14) - 1, 0, 0, 1 << 14]);
        assert_eq!([0, most / 2, most, u128::MAX].map(|sum| tried(sum).left()), [100, 50, 0, 0].map(Some));
        assert_eq!(Tried { step: 0, ..tried(0) }.left(), None);
    }

    /// The attempts and the time of the last one are the same in another process. A step is the last attempt
    /// as soon as it is exposed.
    #[test]
    fn the_last_attempt_outlives_the_process() {
        let folder = tempfile::tempdir().unwrap();
        let (account, id, begun) = (epoch().account(), [3; 32], now());
        let most = account.security.units();
        let open = || Store::open(folder.path(), &KEY).unwrap();
        let store = open();
        begin(&store, &id);
        assert_eq!(store.tried(&account).unwrap(), Tried { sum: 0, most, step: 0, last: 0 });
        follows(&store, &id, &[fill(0, most / 4 * 3)]);
        assert_eq!(store.tried(&account).unwrap().last, 0, "the peer has seen nothing");
        store.expose(&id).unwrap();
        drop(store);
        let tried = open().tried(&account).unwrap();
        assert_eq!((tried.sum, tried.left()), (most / 4 * 3, Some(0)));
        assert!((begun..=now()).contains(&tried.last) && tried.rest(tried.last) > 60, "{tried:?}");
    }

    /// A process that views a store asks the process that has opened it to forgive. Only the attempts that it
    /// has seen are forgiven, and only with the store's key.
    #[test]
    fn another_process_asks_to_forgive() {
        let folder = tempfile::tempdir().unwrap();
        let (path, account) = (folder.path(), epoch().account());
        let other = Account { security: Security::of(64), ..account.clone() };
        let store = Store::open(path, &KEY).unwrap();
        let view = || Store::view(path, &KEY).unwrap();
        let vain = || [&account, &other].map(|account| store.vain(account).unwrap());
        store.attempt(&account, 5).unwrap();
        store.attempt(&other, 7).unwrap();
        assert_eq!(store.hear_forgiven().unwrap(), []);
        let asked = view().ask_to_forgive(std::slice::from_ref(&account)).unwrap();
        assert!(!asked.is_heard());
        assert_eq!(store.hear_forgiven().unwrap(), std::slice::from_ref(&account));
        assert!(asked.is_heard() && vain() == [0, 7]);
        // Later attempts are not forgiven, and neither are accounts whose request was withdrawn.
        let asked = view().ask_to_forgive(std::slice::from_ref(&other)).unwrap();
        store.attempt(&other, 1).unwrap();
        assert_eq!(store.hear_forgiven().unwrap(), []);
        assert!(asked.is_heard() && vain() == [0, 8]);
        drop(view().ask_to_forgive(std::slice::from_ref(&other)).unwrap());
        assert_eq!((store.hear_forgiven().unwrap(), vain()), (vec![], [0, 8]));
        // A request without the key, and one that was handled before, forgive nothing.
        let asked = view().ask_to_forgive(std::slice::from_ref(&other)).unwrap();
        let file = path.join(FORGIVE);
        let bytes = std::fs::read(&file).unwrap();
        store.attempt(&account, 1).unwrap();
        assert_eq!(store.hear_forgiven().unwrap().len(), 1);
        for bytes in [bytes, b"forgive".to_vec()] {
            std::fs::write(&file, &bytes).unwrap();
            assert_eq!(store.hear_forgiven().unwrap_or_default(), []);
            assert!(!file.exists() && vain() == [1, 0]);
        }
        assert!(path.join("unknown").join(FORGIVE).exists(), "an unknown file is moved aside");
        drop(asked);
    }

    /// Row 4 of the table of attacks: a step is not exposed if its risk would make the sum too large, even if
    /// other steps were exposed after it began. If several workers expose the same step, it counts once.
    #[test]
    fn row_04_one_attempt_too_many_is_not_exposed() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path(), &KEY).unwrap();
        let (account, all) = (epoch().account(), epoch().security.units());
        for (id, risk) in [(3, all - 7), (4, 7), (5, 1)] {
            begin(&store, &[id; 32]);
            follows(&store, &[id; 32], &[fill(0, risk)]);
        }
        for id in [3, 3, 4, 4] {
            store.expose(&[id; 32]).unwrap();
        }
        assert_eq!(store.vain(&account).unwrap(), all);
        let head = *store.state(&[5; 32]).unwrap().head();
        assert!(matches!(store.expose(&[5; 32]), Err(Error::Vain(_))));
        assert!(matches!(store.may_try(&account, 1), Err(Error::Vain(_))));
        assert!(matches!(store.attempt(&account, 1), Err(Error::Vain(_))));
        assert_eq!((*store.state(&[5; 32]).unwrap().head(), store.vain(&account).unwrap()), (head, all));
        // Completing another step makes room.
        follows(&store, &[4; 32], &[EpochEntry::Stored, EpochEntry::Made]);
        store.expose(&[5; 32]).unwrap();
        assert!(matches!(store.expose(&[4; 32]), Err(Error::Stock(_))), "nothing is open there");
    }

    /// Row 4 of the table of attacks: if a peer learns nothing by breaking off, no attempt counts, even if
    /// stock is burned.
    #[test]
    fn row_04_who_teaches_nothing_counts_nothing() {
        let folder = tempfile::tempdir().unwrap();
        for (counted, expected) in [(Counted::Nothing, 0), (Counted::BrokenOff, 10 + 20)] {
            let (path, id) = (folder.path().join(expected.to_string()), [3; 32]);
            let vain = sum(&path, |store| {
                store.begin(&id, &Epoch { counted, ..epoch() }, &EpochSecrets::fixed(b"secrets")).unwrap();
                let batch = make(store, &id, 1, (0, 1), 300);
                follows(store, &id, &[takes(&[(batch, 1)])]);
                follows(
                    store,
                    &id,
                    &[EpochEntry::Fill(FillStep { job: [9; 32], number: 0, of: 1, risk: 20, workers: 1 })],
                );
                store.expose(&id).unwrap();
                drop(store.lose(&id, Loss::Check, "it cheated".into()).unwrap());
            });
            assert_eq!(vain, expected, "{counted:?}");
        }
    }

    /// Row 4 of the table of attacks: a step that is interrupted early adds its early part to the sum, at
    /// either role and for each worker. If the step was exposed, its whole risk is added instead of the early
    /// part. A completed step adds nothing. A failed check in a setup counts with the fixed risk of an epoch,
    /// even if the sum becomes too large.
    #[test]
    fn row_04_what_is_broken_off_early_counts_a_little() {
        let folder = tempfile::tempdir().unwrap();
        for (counted, exposed) in [(Counted::Nothing, 3), (Counted::BrokenOff, 20)] {
            let (path, id) = (folder.path().join(exposed.to_string()), [3; 32]);
            let vain = |entries: &[EpochEntry]| sum(&path, |store| follows(store, &id, entries));
            let epoch = Epoch { early: 3, counted, ..epoch() };
            sum(&path, |store| store.begin(&id, &epoch, &EpochSecrets::fixed(b"secrets")).unwrap());
            assert_eq!(vain(&[fill(0, 20)]), 3);
            assert_eq!(vain(&[fill(0, 20)]), 6);
            assert_eq!(sum(&path, |store| drop(store.append_named(&id, &fill(0, 20)).unwrap())), 6);
            assert_eq!(vain(&[fill(0, 20), EpochEntry::Exposed]), 6 + exposed);
            assert_eq!(vain(&[EpochEntry::Stored, EpochEntry::Made]), 6);
            let step = FillStep { job: [1; 32], number: 1, of: 9, risk: 20, workers: 4 };
            assert_eq!(vain(&[EpochEntry::Fill(step), EpochEntry::Burned("test".into())]), 6 + 4 * 3);
        }
        let (path, account) = (folder.path().join("setup"), epoch().account());
        let all = epoch().security.units();
        assert_eq!(sum(&path, |store| store.attempt(&account, all).unwrap()), all);
        assert_eq!(sum(&path, |store| store.lose_setup(&account, 10).unwrap()), all + 10);
    }

    /// Row 4 of the table of attacks: a step is no attempt if only the peer has begun or exposed it, whatever
    /// its risk.
    #[test]
    fn row_04_what_the_peer_says_to_have_begun_is_no_attempt() {
        let folder = tempfile::tempdir().unwrap();
        let (path, id) = (folder.path(), [3; 32]);
        let named = |entry: EpochEntry| sum(path, |store| drop(store.append_named(&id, &entry).unwrap()));
        assert_eq!(sum(path, |store| begin(store, &id)), 0);
        assert_eq!(named(fill(0, u128::MAX)), 0);
        assert_eq!(sum(path, |store| follows(store, &id, &exposed(0, 5))), 5, "its own");
        assert_eq!(named(fill(0, u128::MAX)), 5);
        sum(path, |store| follows(store, &id, &[fill(0, 7)]));
        assert_eq!(named(EpochEntry::Exposed), 5, "it has said nothing of it");
        assert_eq!(sum(path, |store| follows(store, &id, &exposed(0, 5))), 10);
        // Only the steps that this party has begun are counted, even after the store is opened again.
        let given_up = |store: &Store| store.state(&id).unwrap().given_up();
        let own = GivenUp { steps: 3, risk: 17 };
        sum(path, |store| {
            let _ = store.append_named(&id, &fill(0, u128::MAX)).unwrap();
            assert_eq!(given_up(store), own);
            assert!(store.writer(&id, serial(store.state(&id).unwrap().shared(), 0)).is_err(), "it is over");
        });
        assert_eq!(given_up(&Store::open(path, &KEY).unwrap()), own);
    }

    /// Row 4 of the table of attacks: if the peer makes this party burn an epoch, everything that was made in
    /// it counts. A failed check also counts with the fixed risk of the epoch.
    #[test]
    fn row_04_what_is_lost_to_the_peer_counts() {
        let folder = tempfile::tempdir().unwrap();
        let lost = |id: u8, loss, entries: &[EpochEntry]| {
            let id = [id; 32];
            sum(folder.path(), |store| {
                begin(store, &id);
                follows(store, &id, entries);
                drop(store.lose(&id, loss, "it cheated".into()).unwrap());
                assert!(store.state(&id).unwrap().burned().is_some());
            })
        };
        assert_eq!(lost(1, Loss::Check, &[]), 0, "nothing of it was in use");
        assert_eq!(lost(2, Loss::Check, &exposed(0, 3)), 13);
        let made = [&exposed(0, 3)[..], &[EpochEntry::Stored, EpochEntry::Made]].concat();
        assert_eq!(lost(3, Loss::Check, &made), 13 + 13);
        // One step is completed, one is given up, and one has begun.
        let more = [&made[..], &exposed(1, 20), &exposed(1, 30)].concat();
        assert_eq!(lost(4, Loss::Check, &more), 26 + 3 + 10 + 50);
        assert_eq!(lost(5, Loss::Log, &more), 89 + 3 + 50, "no check of it failed");
        assert_eq!(lost(6, Loss::Log, &[fill(0, 9)]), 142);
    }

    /// Makes a step of this job with this risk and a batch of three items, and returns the batch's serial.
    fn make(store: &Store, id: &EpochId, job: u8, (number, of): (u32, u32), risk: u128) -> u64 {
        let step = FillStep { job: [job; 32], number, of, risk, workers: 1 };
        let serial = serial(store.state(id).unwrap().shared() + 1, 0);
        let _ = store.append(id, &EpochEntry::Fill(step)).unwrap();
        let mut writer = store.writer(id, serial).unwrap();
        writer.record(0, 3, vec![1].into()).unwrap();
        let batch = Batch { kind: 0, name: "batch".into(), component: [0; 32], header: Vec::new() };
        store.put(id, serial, &batch, writer, &Chain::of(&[1; 32])).unwrap();
        follows(store, id, &[EpochEntry::Stored, EpochEntry::Made]);
        serial
    }

    fn takes(items: &[(u64, u32)]) -> EpochEntry {
        EpochEntry::Use { program: [4; 32], taken: items.to_vec() }
    }

    /// Row 4 of the table of attacks: stock that is made and thrown away was an attempt, whichever party
    /// names the program that takes it, even if it takes only a part. Stock that a program used whose run has
    /// ended was not.
    #[test]
    fn row_04_what_is_made_and_thrown_away_counts() {
        let folder = tempfile::tempdir().unwrap();
        let (path, id, burned) =
            (folder.path(), [3; 32], || EpochEntry::Burned("all its items are used".into()));
        let of = |entries: &[EpochEntry]| sum(path, |store| follows(store, &id, entries));
        let mut made = [0; 4];
        let vain = sum(path, |store| {
            begin(store, &id);
            for (k, (job, number, risk)) in
                [(1, 0, 3), (1, 1, 5), (2, 0, 70), (2, 1, 700)].into_iter().enumerate()
            {
                made[k] = make(store, &id, job, (number, 2), risk);
            }
        });
        assert_eq!(vain, 0, "it is made");
        // The stock of one job is useful only together, so all its steps count, whichever part is taken.
        assert_eq!(of(&[takes(&[(made[0], 1)])]), 8, "a program that has begun");
        assert_eq!(of(&[EpochEntry::Confirmed]), 0, "and has ended");
        assert_eq!(of(&[takes(&[(made[0], 1)])]), 5, "its bound covers what it drew on, and no more");
        assert_eq!(of(&[takes(&[(made[2], 1)])]), 775);
        assert_eq!(of(&[EpochEntry::Confirmed]), 5, "it has cost nothing, and the one before has");
        assert_eq!(of(&[takes(&[(made[1], 2), (made[3], 3)]), EpochEntry::Confirmed]), 0);
        assert_eq!(of(&[takes(&[(made[0], 1), (made[1], 1), (made[2], 2)])]), 0, "each is covered");
        assert_eq!(of(&[burned()]), 0);

        let id = [4; 32];
        let of = |entries: &[EpochEntry]| sum(path, |store| follows(store, &id, entries));
        sum(path, |store| {
            begin(store, &id);
            made[0] = make(store, &id, 1, (0, 1), 20);
            made[1] = make(store, &id, 2, (0, 1), 300);
        });
        assert_eq!(of(&[takes(&[(made[0], 3)])]), 20);
        assert_eq!(of(&[EpochEntry::Confirmed]), 0);
        assert_eq!(of(&[takes(&[(made[1], 3)]), burned()]), 300, "thrown away, and retired");
        assert_eq!(sum(path, |store| store.forget(&id).unwrap()), 300);
        assert_eq!(sum(path, |store| store.forgive(&epoch().account()).unwrap()), 0);
    }

    /// Row 4 of the table of attacks: if the peer makes this party burn an epoch, its steps count once, even
    /// if a program had begun. A forgiven attempt does not count again when a program ends, and is not
    /// subtracted from others.
    #[test]
    fn row_04_what_a_program_has_cost_counts_once() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path();
        let used = |id: u8| {
            let mut made = [0; 2];
            let vain = sum(path, |store| {
                begin(store, &[id; 32]);
                made = [1, 2].map(|job| make(store, &[id; 32], job, (0, 1), 40 * u128::from(job)));
                follows(store, &[id; 32], &[takes(&[(made[0], 1)]), takes(&[(made[1], 1)])]);
            });
            (vain, made)
        };
        assert_eq!(used(5).0, 120);
        let lost = sum(path, |store| drop(store.lose(&[5; 32], Loss::Check, "it cheated".into()).unwrap()));
        assert_eq!(lost, 120 + 10, "with the fixed part");
        assert_eq!(sum(path, |store| store.forgive(&epoch().account()).unwrap()), 0);
        let (vain, made) = used(6);
        assert_eq!(vain, 120);
        assert_eq!(sum(path, |store| store.forgive(&epoch().account()).unwrap()), 0);
        let of = |entries: &[EpochEntry]| sum(path, |store| follows(store, &[6; 32], entries));
        assert_eq!(of(&[takes(&[(made[0], 1)])]), 0, "it was forgiven");
        let step = FillStep { job: [9; 32], number: 0, of: 1, risk: 7, workers: 1 };
        assert_eq!(of(&[EpochEntry::Fill(step), EpochEntry::Exposed]), 7);
        assert_eq!(of(&[takes(&[(made[1], 1)]), EpochEntry::Confirmed]), 7, "and is taken off nothing");
    }

    /// A forgiven attempt does not return with later stock, and does not reduce later attempts.
    #[test]
    fn what_is_forgiven_is_gone() {
        let folder = tempfile::tempdir().unwrap();
        let (path, id) = (folder.path(), [3; 32]);
        let of = |entries: &[EpochEntry]| sum(path, |store| follows(store, &id, entries));
        assert_eq!(sum(path, |store| begin(store, &id)), 0);
        assert_eq!(of(&[exposed(0, 3), exposed(0, 3)].concat()), 6);
        assert_eq!(sum(path, |store| store.forgive(&epoch().account()).unwrap()), 0);
        assert_eq!(
            of(&[EpochEntry::Stored, EpochEntry::Made]),
            0,
            "what counts no more is not taken off either"
        );
        assert_eq!(of(&exposed(1, 5)), 5);
        assert_eq!(of(&exposed(1, u128::MAX)), u128::MAX, "it does not run over");
    }
}
