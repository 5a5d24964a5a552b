//! Counts how often each program has run. The counts are kept when the process ends, because every output
//! reveals something about the inputs.
//!
//! The counts are notes in the index of the store, and are sealed like its other rows. If somebody restores
//! an old index, its log is old, too, and the peer refuses it. A run is counted in memory before it begins.
//! The transaction that burns the run's items writes the count, and no earlier message depends on an input.

use std::collections::BTreeMap;
use std::time::{SystemTime, UNIX_EPOCH};

use brickwork::ProtocolError;
use brickwork::disk::{EpochEntry, Store};
use serde::{Deserialize, Serialize};

use super::config::Allowed;

/// The length of the window of `per_hour`, in seconds.
pub const HOUR: u64 = 3600;

/// The beginning of the key of a note about a program's runs. The program's digest follows.
const KEY: &[u8] = b"serve runs ";

/// The counts of all programs.
pub struct BudgetBook {
    store: Store,
    runs: BTreeMap<[u8; 32], Runs>,
}

/// The counts of one program.
#[derive(Clone, Default, Serialize, Deserialize)]
struct Runs {
    all: u64,
    /// The number of runs in each second of the last hour.
    recent: BTreeMap<u64, u64>,
}

/// The reason why a program may not run now.
#[derive(Debug, PartialEq, Eq)]
pub enum BudgetSpent {
    /// All of its runs are used up.
    Total,
    /// The runs of the last hour are used up. After this many seconds another run is allowed.
    ForNow(u64),
}

/// Returns the seconds since 1970.
pub fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

fn key(digest: &[u8; 32]) -> Vec<u8> {
    [KEY, digest].concat()
}

impl BudgetBook {
    /// Reads how often programs have run on a store. The store keeps these numbers as notes. If a log
    /// contains more runs of a program than its note, the number in the log counts.
    ///
    /// # Errors
    /// [`ProtocolError::Stock`] if the store cannot be read or was altered.
    pub fn open(store: &Store) -> Result<Self, ProtocolError> {
        let mut runs = BTreeMap::new();
        for (key, noted) in store.notes::<Runs>(KEY)? {
            let digest = key[KEY.len()..].try_into();
            let digest = digest
                .map_err(|_| ProtocolError::Stock("the index has a malformed name of a program".into()))?;
            runs.insert(digest, noted);
        }
        let mut used = BTreeMap::<[u8; 32], u64>::new();
        for (epoch, _) in store.epochs()? {
            for entry in store.log(&epoch)? {
                if let EpochEntry::Use { program, .. } = entry {
                    *used.entry(program).or_default() += 1;
                }
            }
        }
        for (digest, count) in used {
            let runs: &mut Runs = runs.entry(digest).or_default();
            runs.all = runs.all.max(count);
        }
        Ok(BudgetBook { store: store.clone(), runs })
    }

    /// Checks whether the program may run once more now.
    pub fn may(&mut self, allowed: &Allowed) -> Result<(), BudgetSpent> {
        self.may_at(allowed, now())
    }

    fn may_at(&mut self, allowed: &Allowed, now: u64) -> Result<(), BudgetSpent> {
        let runs = self.runs.entry(allowed.digest).or_default();
        if allowed.total.is_some_and(|total| runs.all >= total) {
            return Err(BudgetSpent::Total);
        }
        runs.forget_before(now);
        match allowed.per_hour {
            Some(0) => Err(BudgetSpent::Total),
            Some(most) => match runs.frees(most) {
                Some(time) => Err(BudgetSpent::ForNow(time.saturating_sub(now).clamp(1, HOUR))),
                None => Ok(()),
            },
            None => Ok(()),
        }
    }

    /// Counts a run that is about to begin. The next transaction of the store writes the count.
    ///
    /// # Errors
    /// [`ProtocolError::Stock`] if it cannot be written; then the run must not begin.
    pub fn charge(&mut self, allowed: &Allowed) -> Result<(), ProtocolError> {
        self.charge_at(allowed, now())
    }

    fn charge_at(&mut self, allowed: &Allowed, now: u64) -> Result<(), ProtocolError> {
        let runs = self.runs.entry(allowed.digest).or_default();
        let mut more = runs.clone();
        more.forget_before(now);
        more.all = more.all.saturating_add(1);
        *more.recent.entry(now).or_default() += 1;
        let note = self.store.note(&key(&allowed.digest), &more)?;
        self.store.write_notes_behind(vec![note])?;
        *runs = more;
        Ok(())
    }

    /// Writes the counts that no other transaction has written yet.
    ///
    /// # Errors
    /// [`ProtocolError::Stock`] if it cannot be written.
    pub fn settle(&self) -> Result<(), ProtocolError> {
        self.store.write_notes(Vec::new())
    }

    /// Returns how often the program has ever run.
    pub fn runs(&self, digest: &[u8; 32]) -> u64 {
        self.runs.get(digest).map_or(0, |runs| runs.all)
    }
}

impl Runs {
    /// Forgets runs that are older than an hour. If the clock was set back, runs in the future are counted as
    /// runs of now, so nobody waits longer than an hour.
    fn forget_before(&mut self, now: u64) {
        let later: u64 = self.recent.split_off(&now.saturating_add(1)).values().sum();
        if later > 0 {
            *self.recent.entry(now).or_default() += later;
        }
        self.recent = self.recent.split_off(&now.saturating_sub(HOUR - 1));
    }

    /// Returns the time at which there will be fewer than `most` runs in the last hour, if there are more
    /// now.
    fn frees(&self, most: u64) -> Option<u64> {
        let mut left = self.recent.values().sum::<u64>().checked_sub(most)?;
        for (time, count) in &self.recent {
            match left.checked_sub(*count) {
                Some(fewer) => left = fewer,
                None => return Some(time.saturating_add(HOUR)),
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;
    use std::sync::Arc;

    use brickwork::Security;
    use brickwork::circuit::Party;
    use brickwork::disk::{Batch, Chain, Counted, Epoch, EpochSecrets, FillStep, StoreKey, serial};

    fn allowed(total: Option<u64>, per_hour: Option<u64>) -> Allowed {
        let program = Arc::new(brickwork::circuit::library::aes::aes_128().expect("a program"));
        Allowed {
            name: "aes".into(),
            digest: program.digest(),
            program,
            input: None,
            outputs: None,
            low: 0,
            high: 0,
            total,
            per_hour,
        }
    }

    fn open(folder: &Path) -> BudgetBook {
        let store = Store::open(folder, &StoreKey::from_bytes([7; 32])).expect("a store");
        BudgetBook::open(&store).expect("a book")
    }

    #[test]
    fn a_budget_outlives_the_process() {
        let folder = tempfile::tempdir().unwrap();
        let program = allowed(Some(3), None);
        for before in 0..3 {
            let mut book = open(folder.path());
            assert_eq!(book.runs(&program.digest), before);
            book.may(&program).unwrap();
            let index = || std::fs::read(folder.path().join("index.redb")).unwrap();
            let bytes = index();
            book.charge(&program).unwrap();
            assert!(index() == bytes, "it takes no transaction of its own");
            book.settle().unwrap();
        }
        assert_eq!(open(folder.path()).may(&program), Err(BudgetSpent::Total));
    }

    /// A run by another command is not counted when it begins. But it is in the log of the stock.
    #[test]
    fn runs_that_only_the_log_knows_count() {
        let folder = tempfile::tempdir().unwrap();
        let (id, serial, program) = ([3; 32], serial(1, 0), allowed(Some(1), None));
        let book = open(folder.path());
        assert_eq!(book.runs(&program.digest), 0);
        let epoch = Epoch {
            protocol: "test".into(),
            version: 1,
            role: Party::Evaluator,
            security: Security::of(40),
            identities: [[1; 32], [2; 32]],
            created: now(),
            max_age: 1000,
            fixed: 0,
            early: 0,
            counted: Counted::Nothing,
        };
        book.store.begin(&id, &epoch, &EpochSecrets::fixed(b"secrets")).unwrap();
        let append = |entry: EpochEntry| drop(book.store.append(&id, &entry).unwrap());
        append(EpochEntry::Fill(FillStep { job: [1; 32], number: 0, of: 1, risk: 0, workers: 1 }));
        let mut writer = book.store.writer(&id, serial).unwrap();
        writer.record(0, 3, vec![1].into()).unwrap();
        let batch = Batch { kind: 0, name: "batch".into(), component: [0; 32], header: Vec::new() };
        book.store.put(&id, serial, &batch, writer, &Chain::of(&[1; 32])).unwrap();
        append(EpochEntry::Stored);
        append(EpochEntry::Made);
        append(EpochEntry::Use { program: program.digest, taken: vec![(serial, 1)] });
        drop(book);
        let mut book = open(folder.path());
        assert_eq!((book.runs(&program.digest), book.may(&program)), (1, Err(BudgetSpent::Total)));
    }

    #[test]
    fn an_hour_gives_so_many_runs() {
        let folder = tempfile::tempdir().unwrap();
        let program = allowed(None, Some(2));
        let mut book = open(folder.path());
        book.charge_at(&program, 1000).unwrap();
        book.charge_at(&program, 1600).unwrap();
        assert_eq!(book.may_at(&program, 1700), Err(BudgetSpent::ForNow(2900)));
        assert_eq!(book.may_at(&allowed(None, Some(1)), 1700), Err(BudgetSpent::ForNow(3500)));
        assert_eq!(book.may_at(&program, 4599), Err(BudgetSpent::ForNow(1)));
        assert_eq!(book.may_at(&program, 4600), Ok(()));
        assert_eq!(book.may_at(&allowed(None, Some(1)), 4600), Err(BudgetSpent::ForNow(600)));
        assert_eq!(book.may(&allowed(None, Some(0))), Err(BudgetSpent::Total));
        // If the clock was set back, a new hour begins at that time.
        book.charge_at(&program, 1_000_000).unwrap();
        book.charge_at(&program, 1_000_000).unwrap();
        assert_eq!(book.may_at(&program, 5000), Err(BudgetSpent::ForNow(3600)));
        assert_eq!(book.may_at(&program, 8600), Ok(()));
        assert_eq!(book.runs(&program.digest), 4);
    }
}
