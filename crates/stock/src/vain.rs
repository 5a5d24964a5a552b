//! What a peer has tried in vain, over all epochs: the sum of the risks of all that was begun with it and not
//! made.
//!
//! A step counts from its beginning, in the transaction that begins it, until it is made. An epoch's fixed
//! part counts from before its setup until its first step is made, and with the first step that is given up
//! in it. A step that is made counts once more from the transaction in which a program takes of what its job
//! made, until a program has ended that drew on it: who throws away what it was not lucky with has tried.
//! What the peer makes this party burn counts with all that was made. Nothing else takes from the sum but
//! [`Store::forgive`]: neither burning, nor forgetting, nor another identifier of the pair.

use serde::{Deserialize, Serialize};

use super::epochs::{Cause, Epoch};
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
#[derive(Serialize, Deserialize)]
pub(super) struct Attempts {
    account: Account,
    /// What came to nothing.
    settled: u128,
    /// By epoch: what is begun, and counts until it is made. And by the name of a step that is made: what
    /// counts until a program has ended.
    open: Vec<(EpochId, u128)>,
}

/// The name of a step that is made, by the number of the entry that began it.
fn name_of(id: &EpochId, number: u64) -> [u8; 32] {
    let parts = [&id[..], &number.to_le_bytes()].concat();
    blake3::derive_key("brickwork 2026-11 stock step in vain", &parts)
}

impl Attempts {
    fn sum(&self) -> u128 {
        self.open.iter().fold(self.settled, |sum, (_, risk)| sum.saturating_add(*risk))
    }

    fn settle(&mut self, risk: u128) {
        self.settled = self.settled.saturating_add(risk);
    }

    /// Takes out what is open in an epoch.
    fn close(&mut self, id: &EpochId) -> u128 {
        let place = self.open.iter().position(|(of, _)| of == id);
        place.map_or(0, |place| self.open.swap_remove(place).1)
    }

    /// Follows an entry that leads from one state of an epoch with this fixed part to the next, for this
    /// cause.
    fn follow(
        &mut self,
        id: &EpochId,
        [before, after]: [&State; 2],
        entry: &Entry,
        fixed: u128,
        cause: Cause,
    ) {
        let open = self.close(id);
        let counted = before.given_up().steps > 0;
        let lost = cause == Cause::Lost;
        match entry {
            // This party has answered nothing of it; a step that it gives up counts.
            Entry::Fill(_) if cause == Cause::Named => match before.open() {
                Some(_) => self.settle(open),
                None => self.open.extend((open > 0).then_some((*id, open))),
            },
            Entry::Fill(step) => {
                if before.open().is_some() {
                    self.settle(open);
                }
                self.open.push((*id, step.risk.saturating_add(if counted { 0 } else { fixed })));
            }
            Entry::Made => {}
            Entry::Use { .. } | Entry::Damaged(_) | Entry::Burned(_) => self.settle(open),
            Entry::Stored | Entry::Confirmed | Entry::Lent | Entry::Returned => {
                self.open.extend((open > 0).then_some((*id, open)));
            }
        }
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
                // With all that was made, below.
                self.settle(if lost { 0 } else { risk });
            }
        }
        if lost {
            before.made().for_each(|(_, step)| self.settle(step.risk));
            if !counted && !before.is_new() {
                self.settle(fixed);
            }
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

    /// Returns the risks of all that was begun under this account and is not made, in units of 2^-128.
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

    /// Counts the fixed part of an epoch whose setup begins. [`Store::begin`] takes it over.
    ///
    /// # Errors
    /// [`Error::Stock`] if the disk fails.
    pub fn attempt(&self, account: &Account, fixed: u128) -> Result<(), Error> {
        let _changing = self.change()?;
        let mut row = self.vain_row(account)?;
        row.settle(fixed);
        self.write(&[self.sealed_vain(&row)?])
    }

    /// Forgets what was tried in vain under an account, by the user's word. What is begun at this moment and
    /// given up later does not count either.
    ///
    /// # Errors
    /// [`Error::Stock`] if the disk fails.
    pub fn forgive(&self, account: &Account) -> Result<(), Error> {
        let _changing = self.change()?;
        self.write(&[(VAIN, account.key().to_vec(), None)])
    }

    /// Burns an epoch for what the peer did: a check that it failed, or a log that is not this party's. All
    /// that was made in it counts as tried in vain.
    ///
    /// # Errors
    /// As [`Store::append`].
    pub fn lose(&self, id: &EpochId, why: String) -> Result<Taken, Error> {
        self.append_as(id, &Entry::Burned(why), Cause::Lost, Opened::default())
    }

    /// Returns the row of an account where a new epoch's fixed part is no loss yet.
    pub(super) fn vain_at_begin(&self, id: &EpochId, epoch: &Epoch) -> Result<RowChange, Error> {
        let mut row = self.vain_row(&epoch.account())?;
        row.settled = row.settled.saturating_sub(epoch.fixed);
        row.open.push((*id, epoch.fixed));
        self.sealed_vain(&row)
    }

    /// Returns the row of an account behind an entry, where that changes it.
    pub(super) fn vain_behind(
        &self,
        id: &EpochId,
        [before, after]: [&State; 2],
        entry: &Entry,
        cause: Cause,
    ) -> Result<Option<RowChange>, Error> {
        let changes = match entry {
            Entry::Stored | Entry::Lent | Entry::Returned => false,
            Entry::Confirmed => before.unproven() != after.unproven(),
            Entry::Use { .. } | Entry::Damaged(_) => {
                before.open().is_some() || before.unproven() != after.unproven()
            }
            Entry::Fill(_) | Entry::Made | Entry::Burned(_) => true,
        };
        let Some(epoch) = self.row::<Epoch>(EPOCHS, id)?.filter(|_| changes) else { return Ok(None) };
        let mut row = self.vain_row(&epoch.account())?;
        row.follow(id, [before, after], entry, epoch.fixed, cause);
        self.sealed_vain(&row).map(Some)
    }

    /// Returns the row of an account where an epoch is forgotten.
    pub(super) fn vain_without(&self, id: &EpochId) -> Result<Option<RowChange>, Error> {
        let Some(epoch) = self.row::<Epoch>(EPOCHS, id)? else { return Ok(None) };
        let mut row = self.vain_row(&epoch.account())?;
        let open = row.close(id);
        row.settle(open);
        self.sealed_vain(&row).map(Some)
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
        Epoch {
            protocol: "test".into(),
            version: 1,
            role,
            security,
            identities,
            created: 5,
            max_age: 9,
            fixed: 10,
        }
    }

    fn fill(number: u32, risk: u128) -> Entry {
        Entry::Fill(FillStep { job: [1; 32], number, of: 9, risk, workers: 1 })
    }

    /// Begins an epoch as a session does.
    fn begin(store: &Store, id: &EpochId) {
        store.attempt(&epoch().account(), 10).unwrap();
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

    /// Row 4: all that is begun counts, at once and durably, until it is made; and what came to nothing
    /// stays, whatever becomes of its epoch and of the pair.
    #[test]
    fn row_04_what_came_to_nothing_outlives_its_epoch() {
        let folder = tempfile::tempdir().unwrap();
        let (path, id) = (folder.path(), [3; 32]);
        let of = |entries: &[Entry]| sum(path, |store| follows(store, &id, entries));
        let account = epoch().account();
        assert_eq!(sum(path, |store| store.attempt(&account, 10).unwrap()), 10, "a setup that is begun");
        assert_eq!(sum(path, |store| store.begin(&id, &epoch(), &Secrets::fixed(b"secrets")).unwrap()), 10);
        assert_eq!(of(&[fill(0, 3)]), 13);
        assert_eq!(of(&[Entry::Stored, Entry::Made]), 0, "it is made");
        assert_eq!(of(&[fill(1, 5)]), 15, "with the fixed part");
        assert_eq!(of(&[fill(1, 7)]), 22, "given up, and begun again; the fixed part once");
        assert_eq!(of(&[Entry::Confirmed, Entry::Stored]), 22);
        assert_eq!(of(&[Entry::Made]), 15);
        let used = Entry::Use { program: [4; 32], taken: vec![(serial(1, 0), 1)] };
        assert_eq!(of(&[fill(2, 100)]), 115);
        // There is no such batch, and nothing changes.
        assert_eq!(sum(path, |store| assert!(store.append(&id, &used).is_err())), 115);
        assert_eq!(sum(path, |store| store.set_pair(&account.relation, &[9; 32]).unwrap()), 115);
        assert_eq!(of(&[Entry::Burned("by the user".into())]), 115, "what was made is no attempt");
        assert_eq!(sum(path, |store| store.forget(&id).unwrap()), 115);
        assert_eq!(sum(path, |store| begin(store, &id)), 125);
        assert_eq!(sum(path, |store| store.forget(&id).unwrap()), 125, "begun, and never more than that");
        assert_eq!(sum(path, |store| store.forgive(&account).unwrap()), 0);
    }

    /// Row 4: a step that only the peer says to have begun is no attempt, whatever it says that it risks.
    #[test]
    fn row_04_what_the_peer_says_to_have_begun_is_no_attempt() {
        let folder = tempfile::tempdir().unwrap();
        let (path, id) = (folder.path(), [3; 32]);
        let named = |entry: Entry| sum(path, |store| drop(store.append_named(&id, &entry).unwrap()));
        assert_eq!(sum(path, |store| begin(store, &id)), 10);
        assert_eq!(named(fill(0, u128::MAX)), 10, "the setup was begun");
        assert_eq!(sum(path, |store| follows(store, &id, &[fill(0, 5)])), 15, "its own");
        assert_eq!(named(fill(0, u128::MAX)), 15);
        assert_eq!(sum(path, |store| follows(store, &id, &[fill(0, 5)])), 20);
        // In the epoch, too, its own are counted alone, also when it is opened anew.
        let given_up = |store: &Store| store.state(&id).unwrap().given_up();
        let own = GivenUp { steps: 2, risk: 10 };
        sum(path, |store| {
            assert_eq!(given_up(store), own);
            let _ = store.append_named(&id, &fill(0, u128::MAX)).unwrap();
            assert_eq!(given_up(store), own);
            assert!(store.writer(&id, serial(store.state(&id).unwrap().shared(), 0)).is_err(), "it is over");
        });
        assert_eq!(given_up(&Store::open(path, &KEY).unwrap()), own);
    }

    /// Row 4: what the peer makes this party burn counts with all that was made.
    #[test]
    fn row_04_what_is_lost_to_the_peer_counts() {
        let folder = tempfile::tempdir().unwrap();
        let lost = |id: u8, entries: &[Entry]| {
            let id = [id; 32];
            sum(folder.path(), |store| {
                begin(store, &id);
                follows(store, &id, entries);
                drop(store.lose(&id, "it cheated".into()).unwrap());
                assert!(store.state(&id).unwrap().burned().is_some());
            })
        };
        assert_eq!(lost(1, &[]), 10);
        assert_eq!(lost(2, &[fill(0, 3)]), 10 + 13);
        let made = [fill(0, 3), Entry::Stored, Entry::Made];
        assert_eq!(lost(3, &made), 23 + 13);
        // One made, one given up, one begun.
        assert_eq!(lost(4, &[&made[..], &[fill(1, 20), fill(1, 30)]].concat()), 36 + 3 + 10 + 50);
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
        let lost = sum(path, |store| drop(store.lose(&[5; 32], "it cheated".into()).unwrap()));
        assert_eq!(lost, 120 + 10, "with the fixed part");
        assert_eq!(sum(path, |store| store.forgive(&epoch().account()).unwrap()), 0);
        let (vain, made) = used(6);
        assert_eq!(vain, 120);
        assert_eq!(sum(path, |store| store.forgive(&epoch().account()).unwrap()), 0);
        let of = |entries: &[Entry]| sum(path, |store| follows(store, &[6; 32], entries));
        assert_eq!(of(&[takes(&[(made[0], 1)])]), 0, "it was forgiven");
        assert_eq!(of(&[Entry::Fill(FillStep { job: [9; 32], number: 0, of: 1, risk: 7, workers: 1 })]), 17);
        assert_eq!(of(&[takes(&[(made[1], 1)]), Entry::Confirmed]), 17, "and is taken off nothing");
    }

    /// What is forgiven does not come back with what is made later, nor takes from what comes then.
    #[test]
    fn what_is_forgiven_is_gone() {
        let folder = tempfile::tempdir().unwrap();
        let (path, id) = (folder.path(), [3; 32]);
        let of = |entries: &[Entry]| sum(path, |store| follows(store, &id, entries));
        assert_eq!(sum(path, |store| begin(store, &id)), 10);
        assert_eq!(of(&[fill(0, 3), fill(0, 3)]), 16);
        assert_eq!(sum(path, |store| store.forgive(&epoch().account()).unwrap()), 0);
        assert_eq!(sum(path, |store| begin(store, &[4; 32])), 10);
        assert_eq!(of(&[Entry::Stored, Entry::Made]), 10, "what counts no more is not taken off either");
        assert_eq!(of(&[fill(1, u128::MAX)]), u128::MAX, "it does not run over");
    }
}
