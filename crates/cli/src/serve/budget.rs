//! Counts how often each program has run with the peer, and how often each token was used. The counts are
//! kept when the process ends, because every output reveals something about the inputs.
//!
//! The counts are notes in the index of the store, and are sealed like its other rows. If somebody restores
//! an old index, its log is old, too, and the peer refuses it. A run is counted in memory before it begins.
//! The transaction that burns the run's items writes the count, and no earlier message depends on an input.

use std::collections::BTreeMap;
use std::fmt;
use std::time::{SystemTime, UNIX_EPOCH};

use brickwork::ProtocolError;
use brickwork::disk::{EpochEntry, Store};
use serde::{Deserialize, Serialize};

use crate::render::report::plural;

/// The length of the window of `per_hour`, in seconds.
pub const HOUR: u64 = 3600;

/// The beginning of the key of a note about runs. The [`Payer`] follows.
const KEY: &[u8] = b"serve runs ";

/// The number of runs that are allowed. Without a limit, every run is allowed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct RunBudget {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub per_hour: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub total: Option<u64>,
}

impl fmt::Display for RunBudget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let hour = self.per_hour.map(|hour| format!("{} in any hour", plural(hour, "run")));
        let total = self.total.map(|total| format!("{} in all", plural(total, "run")));
        let limits: Vec<String> = hour.into_iter().chain(total).collect();
        match limits.is_empty() {
            true => f.write_str("any number of runs"),
            false => write!(f, "at most {}", limits.join(", and ")),
        }
    }
}

/// The owner of a budget: a program with a peer, or the holder of a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Payer<'a> {
    Program { peer: &'a [u8; 32], digest: &'a [u8; 32] },
    Token(&'a str),
}

impl Payer<'_> {
    /// Returns the key of the note about this payer's runs.
    fn key(self) -> Vec<u8> {
        match self {
            Payer::Program { peer, digest } => [KEY, b"p", peer, digest].concat(),
            // Keys have a limited length.
            Payer::Token(name) => {
                [KEY, b"t", &blake3::derive_key("brickwork 2026-11 serve token", name.as_bytes())].concat()
            }
        }
    }
}

/// The counts of all payers.
pub struct BudgetBook {
    store: Store,
    /// The runs, by the keys of their notes.
    runs: BTreeMap<Vec<u8>, Runs>,
}

/// The counts of one payer.
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

impl BudgetBook {
    /// Reads how often programs have run on a store. The store keeps these numbers as notes. If the logs of
    /// epochs with a peer contain more runs of a program than its note, the number in the logs counts.
    ///
    /// # Errors
    /// [`ProtocolError::Stock`] if the store cannot be read or was altered.
    pub fn open(store: &Store) -> Result<Self, ProtocolError> {
        let mut runs: BTreeMap<Vec<u8>, Runs> = store.notes::<Runs>(KEY)?.into_iter().collect();
        let mut used = BTreeMap::<Vec<u8>, u64>::new();
        for (id, epoch) in store.epochs()? {
            let peer = &epoch.identities[1 - epoch.role as usize];
            for entry in store.log(&id)? {
                if let EpochEntry::Use { program, .. } = entry {
                    *used.entry(Payer::Program { peer, digest: &program }.key()).or_default() += 1;
                }
            }
        }
        for (key, count) in used {
            let runs = runs.entry(key).or_default();
            runs.all = runs.all.max(count);
        }
        Ok(BudgetBook { store: store.clone(), runs })
    }

    /// Checks whether one more run is within the budget now.
    ///
    /// # Errors
    /// The part of the budget that is used up.
    pub fn may(&mut self, payer: Payer, budget: &RunBudget) -> Result<(), BudgetSpent> {
        self.may_at(payer, budget, now())
    }

    fn may_at(&mut self, payer: Payer, budget: &RunBudget, now: u64) -> Result<(), BudgetSpent> {
        let runs = self.runs.entry(payer.key()).or_default();
        if budget.total.is_some_and(|total| runs.all >= total) {
            return Err(BudgetSpent::Total);
        }
        runs.forget_before(now);
        match budget.per_hour {
            Some(0) => Err(BudgetSpent::Total),
            Some(most) => match runs.frees(most) {
                Some(time) => Err(BudgetSpent::ForNow(time.saturating_sub(now).clamp(1, HOUR))),
                None => Ok(()),
            },
            None => Ok(()),
        }
    }

    /// Counts a run that is about to begin for these payers. The next transaction of the store writes the
    /// counts.
    ///
    /// # Errors
    /// [`ProtocolError::Stock`] if they cannot be written; then the run must not begin.
    pub fn charge<'p>(&mut self, payers: impl IntoIterator<Item = Payer<'p>>) -> Result<(), ProtocolError> {
        self.charge_at(payers, now())
    }

    fn charge_at<'p>(
        &mut self,
        payers: impl IntoIterator<Item = Payer<'p>>,
        now: u64,
    ) -> Result<(), ProtocolError> {
        let mut all = Vec::new();
        for payer in payers {
            let key = payer.key();
            let mut more = self.runs.get(&key).cloned().unwrap_or_default();
            more.forget_before(now);
            more.all = more.all.saturating_add(1);
            *more.recent.entry(now).or_default() += 1;
            all.push((key, more));
        }
        let notes = all.iter().map(|(key, more)| self.store.note(key, more)).collect::<Result<_, _>>()?;
        self.store.write_notes_behind(notes)?;
        self.runs.extend(all);
        Ok(())
    }

    /// Writes the counts that no other transaction has written yet.
    ///
    /// # Errors
    /// [`ProtocolError::Stock`] if it cannot be written.
    pub fn settle(&self) -> Result<(), ProtocolError> {
        self.store.write_notes(Vec::new())
    }

    /// Returns the number of all runs of a payer.
    pub fn runs(&self, payer: Payer) -> u64 {
        self.runs.get(&payer.key()).map_or(0, |runs| runs.all)
    }

    /// Returns the numbers of runs that are left: in this hour, and in all.
    pub fn left(&mut self, payer: Payer, budget: &RunBudget) -> RunBudget {
        let runs = self.runs.entry(payer.key()).or_default();
        runs.forget_before(now());
        let recent: u64 = runs.recent.values().sum();
        RunBudget {
            per_hour: budget.per_hour.map(|most| most.saturating_sub(recent)),
            total: budget.total.map(|most| most.saturating_sub(runs.all)),
        }
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

    /// If the last hour has `most` runs or more, returns the time at which it will have fewer.
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

    use brickwork::Security;
    use brickwork::circuit::Party;
    use brickwork::disk::{Batch, Chain, Counted, Epoch, EpochSecrets, FillStep, StoreKey, serial};

    const PEER: [u8; 32] = [1; 32];
    const PROGRAM: Payer = Payer::Program { peer: &PEER, digest: &[9; 32] };

    fn budget(total: Option<u64>, per_hour: Option<u64>) -> RunBudget {
        RunBudget { total, per_hour }
    }

    fn open(folder: &Path) -> BudgetBook {
        let store = Store::open(folder, &StoreKey::from_bytes([7; 32])).expect("a store");
        BudgetBook::open(&store).expect("a book")
    }

    #[test]
    fn a_budget_outlives_the_process() {
        let folder = tempfile::tempdir().unwrap();
        let budget = budget(Some(3), None);
        for before in 0..3 {
            let mut book = open(folder.path());
            assert_eq!(book.runs(PROGRAM), before);
            book.may(PROGRAM, &budget).unwrap();
            let index = || std::fs::read(folder.path().join("index.redb")).unwrap();
            let bytes = index();
            book.charge([PROGRAM]).unwrap();
            assert!(index() == bytes, "it takes no transaction of its own");
            book.settle().unwrap();
        }
        assert_eq!(open(folder.path()).may(PROGRAM, &budget), Err(BudgetSpent::Total));
    }

    /// A run by another command is not counted when it begins. But it is in the log of the stock.
    #[test]
    fn runs_that_only_the_log_knows_count() {
        let folder = tempfile::tempdir().unwrap();
        let (id, serial, budget) = ([3; 32], serial(1, 0), budget(Some(1), None));
        let book = open(folder.path());
        assert_eq!(book.runs(PROGRAM), 0);
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
        append(EpochEntry::Use { program: [9; 32], taken: vec![(serial, 1)] });
        drop(book);
        let mut book = open(folder.path());
        assert_eq!((book.runs(PROGRAM), book.may(PROGRAM, &budget)), (1, Err(BudgetSpent::Total)));
    }

    #[test]
    fn an_hour_gives_so_many_runs() {
        let folder = tempfile::tempdir().unwrap();
        let two = budget(None, Some(2));
        let mut book = open(folder.path());
        book.charge_at([PROGRAM], 1000).unwrap();
        book.charge_at([PROGRAM], 1600).unwrap();
        assert_eq!(book.may_at(PROGRAM, &two, 1700), Err(BudgetSpent::ForNow(2900)));
        assert_eq!(book.may_at(PROGRAM, &budget(None, Some(1)), 1700), Err(BudgetSpent::ForNow(3500)));
        assert_eq!(book.may_at(PROGRAM, &two, 4599), Err(BudgetSpent::ForNow(1)));
        assert_eq!(book.may_at(PROGRAM, &two, 4600), Ok(()));
        assert_eq!(book.may_at(PROGRAM, &budget(None, Some(1)), 4600), Err(BudgetSpent::ForNow(600)));
        assert_eq!(book.may(PROGRAM, &budget(None, Some(0))), Err(BudgetSpent::Total));
        // If the clock was set back, a new hour begins at that time.
        book.charge_at([PROGRAM], 1_000_000).unwrap();
        book.charge_at([PROGRAM], 1_000_000).unwrap();
        assert_eq!(book.may_at(PROGRAM, &two, 5000), Err(BudgetSpent::ForNow(3600)));
        assert_eq!(book.may_at(PROGRAM, &two, 8600), Ok(()));
        assert_eq!(book.runs(PROGRAM), 4);
    }

    /// A program has a budget with each peer, and each token has its own.
    #[test]
    fn payers_have_budgets_of_their_own() {
        let folder = tempfile::tempdir().unwrap();
        let one = budget(Some(1), None);
        let other = Payer::Program { peer: &[2; 32], digest: &[9; 32] };
        let [first, second] = ["first", "second"].map(Payer::Token);
        let mut book = open(folder.path());
        book.charge([PROGRAM, first]).unwrap();
        book.settle().unwrap();
        drop(book);
        let mut book = open(folder.path());
        assert_eq!([PROGRAM, other, first, second].map(|payer| book.runs(payer)), [1, 0, 1, 0]);
        assert_eq!((book.may(first, &one), book.may(second, &one)), (Err(BudgetSpent::Total), Ok(())));
        assert_eq!(book.left(PROGRAM, &budget(Some(5), Some(3))), budget(Some(4), Some(2)));
        let texts = [budget(None, None), budget(Some(1), None), budget(Some(10), Some(3))];
        assert_eq!(
            texts.map(|budget| budget.to_string()),
            ["any number of runs", "at most 1 run in all", "at most 3 runs in any hour, and 10 runs in all"]
        );
    }
}
