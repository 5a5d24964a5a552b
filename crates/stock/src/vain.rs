//! A peer's attempts in vain, over all epochs: the sum of the risks of all attempts that came to
//! nothing and in which a cheat may have gone unseen.
//!
//! An attempt is a step of preprocessing, from the transaction that [exposes](Entry::Exposed) it until it is
//! made. A connection that breaks before that costs the epoch's [early](Epoch::early) part, which is next to
//! nothing: the peer may have seen only that a check failed whose odds are as small. A step that is made
//! counts once more from the transaction in which a program takes of what its job made, until a program has
//! ended that drew on it, as a cheater without luck would throw it away. If the peer makes this party burn an
//! epoch, all steps count that no program has proven, and after a failed check the epoch's fixed part, too.
//! [`Counted`] says which of this a protocol's role needs. Nothing takes from the sum but [`Store::forgive`]:
//! neither burning, nor forgetting, nor another identifier of the pair.

use std::sync::MutexGuard;

use serde::{Deserialize, Serialize};

use super::epochs::{Cause, Counted, Epoch, Loss};
use super::index::{EPOCHS, RowChange, VAIN};
use super::log::{Entry, EpochId, State};
use super::pair::Relation;
use super::store::Store;
use super::taken::{Opened, Taken};
use brickwork_base::{Error, Security};

/// Whose attempts are counted together: those of a peer at what is made for one level of a protocol.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Account {
    /// This party's role, and who they are.
    pub relation: Relation,
    /// The protocol whose stock it is.
    pub protocol: String,
    /// The level: nothing of one is used at another.
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
    /// Returns where attempts at it are counted.
    pub fn account(&self) -> Account {
        Account { relation: self.relation(), protocol: self.protocol.clone(), security: self.security }
    }
}

/// What is known of an account, in units of 2^-128.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Attempts {
    account: Account,
    /// What came to nothing.
    settled: u128,
    /// By epoch: the step that this party has begun, which counts until it is made. And by the name of a step
    /// that is made: the part of it that counts until a program has ended.
    open: Vec<(EpochId, u128)>,
}

/// The name of a step that is made, by the number of the entry that began it.
fn name_of(id: &EpochId, number: u64) -> [u8; 32] {
    let parts = [&id[..], &number.to_le_bytes()].concat();
    blake3::derive_key("brickwork 2026-11 stock step in vain", &parts)
}

impl Attempts {
    /// Returns all that counts.
    pub fn sum(&self) -> u128 {
        self.open.iter().fold(self.settled, |sum, (_, risk)| sum.saturating_add(*risk))
    }

    /// Makes sure that another attempt of this risk stays within what a run is promised. Where a session has
    /// a share of a promise, whoever shares it out counts what is begun.
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

    /// Counts a step of an epoch until it is made.
    fn begin(&mut self, id: &EpochId, risk: u128) {
        self.open.extend((risk > 0).then_some((*id, risk)));
    }

    fn settle(&mut self, risk: u128) {
        self.settled = self.settled.saturating_add(risk);
    }

    /// Takes out what is open in an epoch, or of a step that is made.
    fn close(&mut self, id: &EpochId) -> u128 {
        let place = self.open.iter().position(|(of, _)| of == id);
        place.map_or(0, |place| self.open.swap_remove(place).1)
    }

    /// Follows an entry that leads from one state of an epoch to the next, for this cause.
    fn follow(
        &mut self,
        (id, epoch): (&EpochId, &Epoch),
        [before, after]: [&State; 2],
        entry: &Entry,
        cause: Cause,
    ) {
        let counts_exposed = epoch.counted != Counted::Nothing;
        match (entry, before.open()) {
            // This party has said nothing of a step that only the peer says to have exposed.
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

    /// Follows what becomes of steps that are made.
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

    /// Returns the risks of all attempts under this account that came to nothing, or have not ended, in units
    /// of 2^-128.
    ///
    /// # Errors
    /// [`Error::Stock`] if the index cannot be read or was altered.
    pub fn vain(&self, account: &Account) -> Result<u128, Error> {
        Ok(self.vain_row(account)?.sum())
    }

    /// Returns all accounts with something in vain, and how much, in units of 2^-128.
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

    /// Makes sure that the peer may try something of this risk, in units of 2^-128.
    ///
    /// # Errors
    /// [`Error::Vain`] if it would be one attempt too many; [`Error::Stock`] as [`Store::vain`].
    pub fn may_try(&self, account: &Account, risk: u128) -> Result<(), Error> {
        self.vain_row(account)?.may_try(risk)
    }

    /// Counts an attempt of this risk that no epoch's log knows of: the setup of a session, in which a peer
    /// may break off before there is an epoch.
    ///
    /// # Errors
    /// As [`Store::may_try`], and [`Error::Stock`] if the disk fails.
    pub fn attempt(&self, account: &Account, risk: u128) -> Result<(), Error> {
        let changing = self.change()?;
        self.may_try(account, risk)?;
        self.settle(&changing, account, risk)
    }

    /// Counts a setup in which the peer failed a check, with what an epoch leaves to chance beside its steps.
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

    /// Exposes the step that is open in an epoch, unless it is exposed: from here on it counts until it is
    /// made. A party calls this before it says what a peer can act on.
    ///
    /// # Errors
    /// [`Error::Vain`] if it would be one attempt too many, and then nothing was written; as
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

    /// Forgets what was tried in vain under an account, by the user's word. A step that is exposed at this
    /// moment and given up later does not count either.
    ///
    /// # Errors
    /// [`Error::Stock`] if the disk fails.
    pub fn forgive(&self, account: &Account) -> Result<(), Error> {
        let _changing = self.change()?;
        self.write(&[(VAIN, account.key().to_vec(), None)])
    }

    /// Burns an epoch for what the peer did. All that was made in it and no program has proven counts as
    /// tried in vain.
    ///
    /// # Errors
    /// As [`Store::append`].
    pub fn lose(&self, id: &EpochId, loss: Loss, why: String) -> Result<Taken, Error> {
        self.append_as(id, &Entry::Burned(why), Cause::Lost(loss), Opened::default())
    }

    /// Returns the row of an account behind an entry, where that changes it.
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

    /// A step that is begun, and of which the peer has seen something.
    fn exposed(number: u32, risk: u128) -> [Entry; 2] {
        [fill(number, risk), Entry::Exposed]
    }

    fn begin(store: &Store, id: &EpochId) {
        store.begin(id, &epoch(), &Secrets::fixed(b"secrets")).unwrap();
    }

    /// The sum, which is the same in a process that opens the store anew.
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

    /// Row 4: an exposed step counts, at once and durably, until it is made. If it came to nothing it stays,
    /// whatever becomes of its epoch and of the pair. A step that was only begun counts nothing.
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

    /// Row 4: nothing is exposed that would be one attempt too many, whoever else exposed something since it
    /// was begun; and exposing it twice, as workers of a step do, counts once.
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
        // One that is made makes room.
        follows(&store, &[4; 32], &[Entry::Stored, Entry::Made]);
        store.expose(&[5; 32]).unwrap();
        assert!(matches!(store.expose(&[4; 32]), Err(Error::Stock(_))), "nothing is open there");
    }

    /// A role whose peer learns nothing by breaking off counts nothing, whatever is burned.
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

    /// Row 4: a step that is broken off early counts its early part at either role, for each worker; an
    /// exposed one counts its risk instead, and one that is made nothing. A check that fails in a setup
    /// counts with the epoch's fixed part, also where that is one attempt too many.
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

    /// Row 4: a step that only the peer says to have begun, or exposed, is no attempt, whatever it says that
    /// it risks.
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
        // In the epoch the steps that it began itself are counted alone, also when it is opened anew.
        let given_up = |store: &Store| store.state(&id).unwrap().given_up();
        let own = GivenUp { steps: 3, risk: 17 };
        sum(path, |store| {
            let _ = store.append_named(&id, &fill(0, u128::MAX)).unwrap();
            assert_eq!(given_up(store), own);
            assert!(store.writer(&id, serial(store.state(&id).unwrap().shared(), 0)).is_err(), "it is over");
        });
        assert_eq!(given_up(&Store::open(path, &KEY).unwrap()), own);
    }

    /// Row 4: what the peer makes this party burn counts with all that was made, and a check that it failed
    /// with what else an epoch leaves to chance.
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
        // One made, one given up, one begun.
        let more = [&made[..], &exposed(1, 20), &exposed(1, 30)].concat();
        assert_eq!(lost(4, Loss::Check, &more), 26 + 3 + 10 + 50);
        assert_eq!(lost(5, Loss::Log, &more), 89 + 3 + 50, "no check of it failed");
        assert_eq!(lost(6, Loss::Log, &[fill(0, 9)]), 142);
    }

    /// Begins a step of this job and this risk, makes a batch of three items of it, and returns its serial.
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

    /// Row 4: what is made and then thrown away has been tried, whoever names the program that takes it and
    /// whether that takes all of it; what a program has drawn on that has ended has not.
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
        // What one job has made is of use together, whatever of it is taken.
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

    /// Row 4: what the peer makes this party burn counts once, also where a program had begun; and what is
    /// forgiven is neither counted again nor taken off by a program that ends.
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

    /// What is forgiven does not come back with what is made later, nor takes from what comes then.
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
