//! A peer's *unused attempts*, over all epochs: the sum of the risks of all attempts that gave no usable
//! stock and in which a cheat may have been undetected.
//!
//! An attempt is a step of preprocessing, from the transaction that [exposes](Entry::Exposed) it until it is
//! completed. A connection that breaks before that costs only the epoch's very small [early](Epoch::early)
//! part: the peer may have seen that a check failed, with that probability. A completed step counts once more
//! from the time when a program takes stock of its job, until a program that took from the step has ended. A
//! cheater whose cheat was useless would throw the step away instead. If the peer makes this party burn an
//! epoch, all steps count that no program has proven. After a failed check the epoch's fixed part counts,
//! too. [`Counted`] selects the attempts that count for a role of a protocol. Only [`Store::forgive`] reduces
//! the sum: neither burning nor forgetting an epoch does, nor another identifier of the pair.

use std::sync::MutexGuard;

use serde::{Deserialize, Serialize};

use super::epochs::{Cause, Counted, Epoch, Loss};
use super::index::{EPOCHS, RowChange, VAIN};
use super::log::{Entry, EpochId, State};
use super::pair::Relation;
use super::store::Store;
use super::taken::{Opened, Taken};
use brickwork_base::{Error, Security};

/// A peer's attempts that are counted together: those at one level of one protocol.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Account {
    /// This party's role, and the two parties.
    pub relation: Relation,
    /// The protocol whose stock it is.
    pub protocol: String,
    /// The level of security: stock of one level is never used at another.
    pub security: Security,
}

impl Account {
    fn key(&self) -> [u8; 32] {
        let mut parts = vec![self.relation.role as u8];
        parts.extend(self.relation.identities.concat());
        parts.extend([self.security.bits(), self.security.shares()].map(u32::to_le_bytes).concat());
        parts.extend(self.protocol.as_bytes());
        blake3::derive_key("brickwork 2026-11 stock attempts in vain", &parts)
    }
}

impl Epoch {
    /// Returns the account that counts attempts on this epoch.
    pub fn account(&self) -> Account {
        Account { relation: self.relation(), protocol: self.protocol.clone(), security: self.security }
    }
}

/// The data of an account, in units of 2^-128.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Attempts {
    account: Account,
    /// Attempts that have ended without usable stock.
    settled: u128,
    /// By epoch: the step that this party has begun, which counts until it is completed. Also by the name of
    /// a completed step: the part that counts until a program has ended.
    open: Vec<(EpochId, u128)>,
}

/// Returns the name of a completed step, from the number of the entry that began it.
fn name_of(id: &EpochId, number: u64) -> [u8; 32] {
    let parts = [&id[..], &number.to_le_bytes()].concat();
    blake3::derive_key("brickwork 2026-11 stock step in vain", &parts)
}

impl Attempts {
    /// Returns the sum of everything that counts.
    pub fn sum(&self) -> u128 {
        self.open.iter().fold(self.settled, |sum, (_, risk)| sum.saturating_add(*risk))
    }

    /// Checks that another attempt of this risk stays within the promise of a run. If a session has a part of
    /// a promise, the caller that divided the promise counts the attempts.
    fn may_try(&self, risk: u128) -> Result<(), Error> {
        let security = self.account.security;
        if security.is_share() || self.sum().saturating_add(risk) <= security.units() {
            return Ok(());
        }
        Err(Error::Vain(format!(
            "too much that was begun with this peer came to nothing: another attempt would leave more than \
             {security} to chance, over all of them; a peer that breaks off until it likes what it is asked \
             does this, and so does a bad line"
        )))
    }

    /// Counts a step of an epoch until it is completed.
    fn begin(&mut self, id: &EpochId, risk: u128) {
        self.open.extend((risk > 0).then_some((*id, risk)));
    }

    fn settle(&mut self, risk: u128) {
        self.settled = self.settled.saturating_add(risk);
    }

    /// Removes the open attempt of an epoch, or of a completed step.
    fn close(&mut self, id: &EpochId) -> u128 {
        let place = self.open.iter().position(|(of, _)| of == id);
        place.map_or(0, |place| self.open.swap_remove(place).1)
    }

    /// Updates the account for an entry that changes an epoch's state, for this cause.
    fn follow(
        &mut self,
        (id, epoch): (&EpochId, &Epoch),
        [before, after]: [&State; 2],
        entry: &Entry,
        cause: Cause,
    ) {
        let counts_exposed = epoch.counted != Counted::Nothing;
        match (entry, before.open()) {
            // This party has sent nothing of a step that only the peer calls exposed.
            (Entry::Exposed, Some((_, step))) if cause == Cause::Own && counts_exposed => {
                let early = self.close(id);
                self.begin(id, step.risk.max(early));
            }
            (Entry::Made, _) => drop(self.close(id)),
            (Entry::Fill(_) | Entry::Use { .. } | Entry::Damaged(_) | Entry::Burned(_), _) => {
                let open = self.close(id);
                self.settle(open);
            }
            _ => {}
        }
        if let Entry::Fill(step) = entry
            && cause == Cause::Own
        {
            self.begin(id, epoch.early.saturating_mul(step.workers.into()));
        }
        if epoch.counted == Counted::BrokenOffOrThrownAway {
            self.follow_made(id, [before, after], entry, cause);
        }
        if cause == Cause::Lost(Loss::Check) && counts_exposed && !before.is_new() {
            self.settle(epoch.fixed);
        }
    }

    /// Updates the account for completed steps.
    fn follow_made(&mut self, id: &EpochId, [before, after]: [&State; 2], entry: &Entry, cause: Cause) {
        let (was, is) = (before.unproven(), after.unproven());
        for number in was.keys().filter(|number| !is.contains_key(number)) {
            self.close(&name_of(id, *number));
        }
        for (number, step) in is.iter().filter(|(number, _)| !was.contains_key(number)) {
            self.open.push((name_of(id, *number), step.risk));
        }
        if matches!(entry, Entry::Burned(_)) {
            for number in is.keys() {
                let risk = self.close(&name_of(id, *number));
                self.settle(risk);
            }
        }
        if matches!(cause, Cause::Lost(_)) {
            let thrown_away = before.made().filter(|(n, _)| !before.is_proven(*n) && !is.contains_key(n));
            thrown_away.for_each(|(_, step)| self.settle(step.risk));
        }
    }
}

impl Store {
    fn vain_row(&self, account: &Account) -> Result<Attempts, Error> {
        let row: Option<Attempts> = self.row(VAIN, &account.key())?;
        match row {
            None => Ok(Attempts { account: account.clone(), settled: 0, open: Vec::new() }),
            Some(row) if row.account == *account => Ok(row),
            Some(_) => Err(Error::Stock("the index names attempts wrongly".into())),
        }
    }

    fn sealed_vain(&self, row: &Attempts) -> Result<RowChange, Error> {
        self.sealed(VAIN, row.account.key().to_vec(), row)
    }

    /// Returns the sum of the risks of all unused or unfinished attempts of this account, in units of 2^-128.
    ///
    /// # Errors
    /// [`Error::Stock`] if the index cannot be read or was altered.
    pub fn vain(&self, account: &Account) -> Result<u128, Error> {
        Ok(self.vain_row(account)?.sum())
    }

    /// Returns all accounts with unused attempts, and their sums in units of 2^-128.
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

    /// Counts an attempt of this risk that no epoch's log records: the setup of a session, in which a peer
    /// may break off before there is an epoch.
    ///
    /// # Errors
    /// As [`Store::may_try`], and [`Error::Stock`] if the disk fails.
    pub fn attempt(&self, account: &Account, risk: u128) -> Result<(), Error> {
        let changing = self.change()?;
        self.may_try(account, risk)?;
        self.settle(&changing, account, risk)
    }

    /// Counts a setup in which the peer failed a check, with the risk of an epoch outside its steps.
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
        let mut row = self.vain_row(account)?;
        row.settle(risk);
        self.write(&[self.sealed_vain(&row)?])
    }

    /// Exposes the open step of an epoch, unless it is already exposed: from now on it counts until it is
    /// completed. A party calls this before it sends something that a peer can act on.
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
        self.append_behind(&changing, id, &Entry::Exposed, Cause::Own, Opened::default()).map(drop)
    }

    /// Forgets the unused attempts of an account, because the user said so. A step that is exposed at this
    /// moment and given up later does not count either.
    ///
    /// # Errors
    /// [`Error::Stock`] if the disk fails.
    pub fn forgive(&self, account: &Account) -> Result<(), Error> {
        let _changing = self.change()?;
        self.write(&[(VAIN, account.key().to_vec(), None)])
    }

    /// Burns an epoch because of the peer's behaviour. Everything that was made in it and that no program has
    /// proven counts as unused attempts.
    ///
    /// # Errors
    /// As [`Store::append`].
    pub fn lose(&self, id: &EpochId, loss: Loss, why: String) -> Result<Taken, Error> {
        self.append_as(id, &Entry::Burned(why), Cause::Lost(loss), Opened::default())
    }

    /// Returns the row of an account after an entry, if the entry changes it.
    pub(super) fn vain_behind(
        &self,
        id: &EpochId,
        states: [&State; 2],
        entry: &Entry,
        cause: Cause,
    ) -> Result<Option<RowChange>, Error> {
        let epoch = self.row::<Epoch>(EPOCHS, id)?;
        let epoch = epoch.filter(|epoch| epoch.counted != Counted::Nothing || epoch.early > 0);
        let Some(epoch) = epoch else { return Ok(None) };
        let before = self.vain_row(&epoch.account())?;
        let mut row = before.clone();
        row.follow((id, &epoch), states, entry, cause);
        (row != before).then(|| self.sealed_vain(&row)).transpose()
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::{Batch, Chain, FillStep, GivenUp, Secrets, StoreKey, serial};
    use brickwork_base::Party;

    const KEY: StoreKey = StoreKey::from_bytes([7; 32]);

    fn epoch() -> Epoch {
        let (role, security, identities) = (Party::Evaluator, Security::of(40), [[1; 32], [2; 32]]);
        let (fixed, early, counted) = (10, 0, Counted::BrokenOffOrThrownAway);
        let (protocol, version, created, max_age) = ("test".into(), 1, 5, 9);
        Epoch { protocol, version, role, security, identities, created, max_age, fixed, early, counted }
    }

    fn fill(number: u32, risk: u128) -> Entry {
        Entry::Fill(FillStep { job: [1; 32], number, of: 9, risk, workers: 1 })
    }

    /// Returns the entries of a step that begins and is exposed.
    fn exposed(number: u32, risk: u128) -> [Entry; 2] {
        [fill(number, risk), Entry::Exposed]
    }

    fn begin(store: &Store, id: &EpochId) {
        store.begin(id, &epoch(), &Secrets::fixed(b"secrets")).unwrap();
    }

    /// Returns the sum, which must be the same when the store is opened again.
    fn sum(directory: &Path, change: impl FnOnce(&Store)) -> u128 {
        change(&Store::open(directory, &KEY).unwrap());
        let store = Store::open(directory, &KEY).unwrap();
        let other = Account { security: Security::of(64), ..epoch().account() };
        assert_eq!(store.vain(&other).unwrap(), 0, "another level has a count of its own");
        let vain = store.vain(&epoch().account()).unwrap();
        assert_eq!(store.accounts().unwrap().iter().map(|(_, sum)| sum).sum::<u128>(), vain);
        vain
    }

    fn follows(store: &Store, id: &EpochId, entries: &[Entry]) {
        entries.iter().for_each(|entry| drop(store.append(id, entry).unwrap()));
    }

    /// Row 4: an exposed step counts, at once and durably, until it is completed. If it gave no usable stock,
    /// it keeps counting, whatever happens to its epoch and to the pair. A step that only began does not
    /// count.
    #[test]
    fn row_04_what_came_to_nothing_outlives_its_epoch() {
        let folder = tempfile::tempdir().unwrap();
        let (path, id) = (folder.path(), [3; 32]);
        let of = |entries: &[Entry]| sum(path, |store| follows(store, &id, entries));
        let account = epoch().account();
        assert_eq!(sum(path, |store| begin(store, &id)), 0);
        assert_eq!(of(&[fill(0, 3), fill(0, 3), fill(0, 3)]), 0, "the peer has seen nothing");
        assert_eq!(of(&[Entry::Exposed]), 3);
        assert_eq!(of(&[Entry::Stored, Entry::Made]), 0, "it is made");
        assert_eq!(of(&exposed(1, 5)), 5);
        assert_eq!(of(&[fill(1, 7)]), 5, "given up, and begun again");
        assert_eq!(of(&[Entry::Exposed]), 12);
        assert_eq!(of(&[Entry::Confirmed, Entry::Stored]), 12);
        assert_eq!(of(&[Entry::Made]), 5);
        let used = Entry::Use { program: [4; 32], taken: vec![(serial(1, 0), 1)] };
        assert_eq!(of(&exposed(2, 100)), 105);
        // There is no such batch, and nothing changes.
        assert_eq!(sum(path, |store| assert!(store.append(&id, &used).is_err())), 105);
        assert_eq!(sum(path, |store| store.set_pair(&account.relation, &[9; 32]).unwrap()), 105);
        assert_eq!(of(&[Entry::Burned("by the user".into())]), 105, "what was made is no attempt");
        assert_eq!(sum(path, |store| store.forget(&id).unwrap()), 105);
        assert_eq!(sum(path, |store| begin(store, &id)), 105);
        assert_eq!(sum(path, |store| store.forget(&id).unwrap()), 105, "an epoch in which nothing happened");
        assert_eq!(sum(path, |store| store.attempt(&account, 10).unwrap()), 115, "a setup");
        assert_eq!(sum(path, |store| store.forgive(&account).unwrap()), 0);
    }

    /// Row 4: nothing is exposed that would make the sum too large, even if other steps were exposed since it
    /// began. Exposing a step twice, as several workers do, counts once.
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
        // Completing one makes room.
        follows(&store, &[4; 32], &[Entry::Stored, Entry::Made]);
        store.expose(&[5; 32]).unwrap();
        assert!(matches!(store.expose(&[4; 32]), Err(Error::Stock(_))), "nothing is open there");
    }

    /// If the peer of a role learns nothing by breaking off, no attempt counts, even if stock is burned.
    #[test]
    fn row_04_who_teaches_nothing_counts_nothing() {
        let folder = tempfile::tempdir().unwrap();
        for (counted, expected) in [(Counted::Nothing, 0), (Counted::BrokenOff, 10 + 20)] {
            let (path, id) = (folder.path().join(expected.to_string()), [3; 32]);
            let vain = sum(&path, |store| {
                store.begin(&id, &Epoch { counted, ..epoch() }, &Secrets::fixed(b"secrets")).unwrap();
                let batch = make(store, &id, 1, (0, 1), 300);
                follows(store, &id, &[takes(&[(batch, 1)])]);
                follows(
                    store,
                    &id,
                    &[Entry::Fill(FillStep { job: [9; 32], number: 0, of: 1, risk: 20, workers: 1 })],
                );
                store.expose(&id).unwrap();
                drop(store.lose(&id, Loss::Check, "it cheated".into()).unwrap());
            });
            assert_eq!(vain, expected, "{counted:?}");
        }
    }

    /// Row 4: a step that is interrupted early counts its early part, at either role and for each worker. An
    /// exposed step counts its risk instead, and a completed one nothing. A failed check in a setup counts
    /// with the epoch's fixed part, even if the sum becomes too large.
    #[test]
    fn row_04_what_is_broken_off_early_counts_a_little() {
        let folder = tempfile::tempdir().unwrap();
        for (counted, exposed) in [(Counted::Nothing, 3), (Counted::BrokenOff, 20)] {
            let (path, id) = (folder.path().join(exposed.to_string()), [3; 32]);
            let vain = |entries: &[Entry]| sum(&path, |store| follows(store, &id, entries));
            let epoch = Epoch { early: 3, counted, ..epoch() };
            sum(&path, |store| store.begin(&id, &epoch, &Secrets::fixed(b"secrets")).unwrap());
            assert_eq!(vain(&[fill(0, 20)]), 3);
            assert_eq!(vain(&[fill(0, 20)]), 6);
            assert_eq!(sum(&path, |store| drop(store.append_named(&id, &fill(0, 20)).unwrap())), 6);
            assert_eq!(vain(&[fill(0, 20), Entry::Exposed]), 6 + exposed);
            assert_eq!(vain(&[Entry::Stored, Entry::Made]), 6);
            let step = FillStep { job: [1; 32], number: 1, of: 9, risk: 20, workers: 4 };
            assert_eq!(vain(&[Entry::Fill(step), Entry::Burned("test".into())]), 6 + 4 * 3);
        }
        let (path, account) = (folder.path().join("setup"), epoch().account());
        let all = epoch().security.units();
        assert_eq!(sum(&path, |store| store.attempt(&account, all).unwrap()), all);
        assert_eq!(sum(&path, |store| store.lose_setup(&account, 10).unwrap()), all + 10);
    }

    /// Row 4: a step is no attempt if only the peer calls it begun or exposed, whatever risk it names.
    #[test]
    fn row_04_what_the_peer_says_to_have_begun_is_no_attempt() {
        let folder = tempfile::tempdir().unwrap();
        let (path, id) = (folder.path(), [3; 32]);
        let named = |entry: Entry| sum(path, |store| drop(store.append_named(&id, &entry).unwrap()));
        assert_eq!(sum(path, |store| begin(store, &id)), 0);
        assert_eq!(named(fill(0, u128::MAX)), 0);
        assert_eq!(sum(path, |store| follows(store, &id, &exposed(0, 5))), 5, "its own");
        assert_eq!(named(fill(0, u128::MAX)), 5);
        sum(path, |store| follows(store, &id, &[fill(0, 7)]));
        assert_eq!(named(Entry::Exposed), 5, "it has said nothing of it");
        assert_eq!(sum(path, |store| follows(store, &id, &exposed(0, 5))), 10);
        // Only the steps that the epoch began itself are counted, also after opening it again.
        let given_up = |store: &Store| store.state(&id).unwrap().given_up();
        let own = GivenUp { steps: 3, risk: 17 };
        sum(path, |store| {
            let _ = store.append_named(&id, &fill(0, u128::MAX)).unwrap();
            assert_eq!(given_up(store), own);
            assert!(store.writer(&id, serial(store.state(&id).unwrap().shared(), 0)).is_err(), "it is over");
        });
        assert_eq!(given_up(&Store::open(path, &KEY).unwrap()), own);
    }

    /// Row 4: if the peer makes this party burn an epoch, everything that was made counts. A failed check
    /// also counts with the epoch's fixed part.
    #[test]
    fn row_04_what_is_lost_to_the_peer_counts() {
        let folder = tempfile::tempdir().unwrap();
        let lost = |id: u8, loss, entries: &[Entry]| {
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
        let made = [&exposed(0, 3)[..], &[Entry::Stored, Entry::Made]].concat();
        assert_eq!(lost(3, Loss::Check, &made), 13 + 13);
        // One completed, one given up, one begun.
        let more = [&made[..], &exposed(1, 20), &exposed(1, 30)].concat();
        assert_eq!(lost(4, Loss::Check, &more), 26 + 3 + 10 + 50);
        assert_eq!(lost(5, Loss::Log, &more), 89 + 3 + 50, "no check of it failed");
        assert_eq!(lost(6, Loss::Log, &[fill(0, 9)]), 142);
    }

    /// Begins a step of this job and this risk, makes a batch of three items in it, and returns its serial.
    fn make(store: &Store, id: &EpochId, job: u8, (number, of): (u32, u32), risk: u128) -> u64 {
        let step = FillStep { job: [job; 32], number, of, risk, workers: 1 };
        let serial = serial(store.state(id).unwrap().shared() + 1, 0);
        let _ = store.append(id, &Entry::Fill(step)).unwrap();
        let mut writer = store.writer(id, serial).unwrap();
        writer.record(0, 3, vec![1].into()).unwrap();
        let batch = Batch { kind: 0, name: "batch".into(), component: [0; 32], header: Vec::new() };
        store.put(id, serial, &batch, writer, &Chain::of(&[1; 32])).unwrap();
        follows(store, id, &[Entry::Stored, Entry::Made]);
        serial
    }

    fn takes(items: &[(u64, u32)]) -> Entry {
        Entry::Use { program: [4; 32], taken: items.to_vec() }
    }

    /// Row 4: stock that is made and thrown away was an attempt, whoever names the program that takes it, and
    /// even if it takes only a part. Stock that was used by a program that has ended was not.
    #[test]
    fn row_04_what_is_made_and_thrown_away_counts() {
        let folder = tempfile::tempdir().unwrap();
        let (path, id, burned) = (folder.path(), [3; 32], || Entry::Burned("it is used up".into()));
        let of = |entries: &[Entry]| sum(path, |store| follows(store, &id, entries));
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
        // The stock of one job is useful only together, whichever part of it is taken.
        assert_eq!(of(&[takes(&[(made[0], 1)])]), 8, "a program that has begun");
        assert_eq!(of(&[Entry::Confirmed]), 0, "and has ended");
        assert_eq!(of(&[takes(&[(made[0], 1)])]), 5, "its bound covers what it drew on, and no more");
        assert_eq!(of(&[takes(&[(made[2], 1)])]), 775);
        assert_eq!(of(&[Entry::Confirmed]), 5, "it has cost nothing, and the one before has");
        assert_eq!(of(&[takes(&[(made[1], 2), (made[3], 3)]), Entry::Confirmed]), 0);
        assert_eq!(of(&[takes(&[(made[0], 1), (made[1], 1), (made[2], 2)])]), 0, "each is covered");
        assert_eq!(of(&[burned()]), 0);

        let id = [4; 32];
        let of = |entries: &[Entry]| sum(path, |store| follows(store, &id, entries));
        sum(path, |store| {
            begin(store, &id);
            made[0] = make(store, &id, 1, (0, 1), 20);
            made[1] = make(store, &id, 2, (0, 1), 300);
        });
        assert_eq!(of(&[takes(&[(made[0], 3)])]), 20);
        assert_eq!(of(&[Entry::Confirmed]), 0);
        assert_eq!(of(&[takes(&[(made[1], 3)]), burned()]), 300, "thrown away, and retired");
        assert_eq!(sum(path, |store| store.forget(&id).unwrap()), 300);
        assert_eq!(sum(path, |store| store.forgive(&epoch().account()).unwrap()), 0);
    }

    /// Row 4: if the peer makes this party burn an epoch, this counts once, even if a program had begun. A
    /// forgiven attempt is neither counted again nor subtracted when a program ends.
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
        let of = |entries: &[Entry]| sum(path, |store| follows(store, &[6; 32], entries));
        assert_eq!(of(&[takes(&[(made[0], 1)])]), 0, "it was forgiven");
        let step = FillStep { job: [9; 32], number: 0, of: 1, risk: 7, workers: 1 };
        assert_eq!(of(&[Entry::Fill(step), Entry::Exposed]), 7);
        assert_eq!(of(&[takes(&[(made[1], 1)]), Entry::Confirmed]), 7, "and is taken off nothing");
    }

    /// A forgiven attempt does not return with later stock, and does not reduce later attempts.
    #[test]
    fn what_is_forgiven_is_gone() {
        let folder = tempfile::tempdir().unwrap();
        let (path, id) = (folder.path(), [3; 32]);
        let of = |entries: &[Entry]| sum(path, |store| follows(store, &id, entries));
        assert_eq!(sum(path, |store| begin(store, &id)), 0);
        assert_eq!(of(&[exposed(0, 3), exposed(0, 3)].concat()), 6);
        assert_eq!(sum(path, |store| store.forgive(&epoch().account()).unwrap()), 0);
        assert_eq!(of(&[Entry::Stored, Entry::Made]), 0, "what counts no more is not taken off either");
        assert_eq!(of(&exposed(1, 5)), 5);
        assert_eq!(of(&exposed(1, u128::MAX)), u128::MAX, "it does not run over");
    }
}
