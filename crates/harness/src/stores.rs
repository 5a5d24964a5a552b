//! Two parties with a store each, for tests of protocols with stock.

use std::any::Any;
use std::collections::BTreeMap;
use std::panic::resume_unwind;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use brickwork_base::{Error, Party, Security};
use brickwork_protocol::stock::StockProtocol;
use brickwork_protocol::stock::inventory::{BatchInventory, Inventory, ItemKinds, inventory};
use brickwork_protocol::{CheckSpent, Metered, TABLE_MEMORY, Terms, Unobserved};
use brickwork_store::{EpochEntry, EpochSecrets, FillStep, Forward, Store, StoreKey};
use brickwork_wire::{Channel, Tag, memory_pair};

/// Both parties.
pub const BOTH: [Party; 2] = [Party::Garbler, Party::Evaluator];

const KEY: StoreKey = StoreKey::from_bytes([7; 32]);

/// The two ends of a connection, the garbler's and the evaluator's.
pub type ConnectionEnds = (Channel, Channel);

/// Messages of several connections, in order.
pub type SeenMessages = Arc<Mutex<Vec<Vec<u8>>>>;

/// Returns terms between two parties that know each other's keys.
pub fn terms() -> Terms {
    Terms {
        security: Security::of(40),
        threads: 1,
        table_memory: TABLE_MEMORY,
        identities: [[1; 32], [2; 32]],
        post_quantum: false,
    }
}

/// A folder with a store for each party; it is removed when this value is dropped.
pub struct Stores(tempfile::TempDir);

impl Stores {
    /// Makes two empty folders.
    ///
    /// # Panics
    /// If the disk fails.
    pub fn empty() -> Self {
        Stores(tempfile::tempdir().expect("room for folders"))
    }

    /// Returns a party's folder.
    pub fn folder(&self, party: Party) -> PathBuf {
        self.0.path().join(format!("{party:?}"))
    }

    /// Opens a party's store.
    ///
    /// # Panics
    /// If it cannot be opened.
    pub fn store(&self, party: Party) -> Store {
        Store::open(&self.folder(party), &KEY).expect("a store")
    }

    /// Runs both parties, each on a thread of its own with its store, its end of the connection, and a
    /// further argument. A party of [`dying`] ends when it dies: its store stays as it is, and the other
    /// party finds the connection closed.
    ///
    /// # Panics
    /// If a party panics.
    pub fn meet<B: Send, T: Send>(
        &self,
        (left, right): ConnectionEnds,
        [garblers, evaluators]: [B; 2],
        party: impl Fn(Party, &Store, Channel, B) -> Result<T, Error> + Sync,
    ) -> [Result<T, Error>; 2] {
        let died = |why: Box<dyn Any + Send>| match why.downcast::<Dies>() {
            Ok(_) => Err(std::io::Error::other("it died").into()),
            Err(panic) => resume_unwind(panic),
        };
        let one = |role, channel, brings| party(role, &self.store(role), channel, brings);
        std::thread::scope(|scope| {
            let garbler = scope.spawn(|| one(Party::Garbler, left, garblers));
            let evaluator = scope.spawn(|| one(Party::Evaluator, right, evaluators));
            [garbler, evaluator].map(|party| party.join().unwrap_or_else(died))
        })
    }

    /// Returns how many items of a protocol are left in epochs that are not burned, by the names of their
    /// batches. Calls `look` for each epoch of the protocol.
    ///
    /// # Panics
    /// If the parties' numbers differ, or a store cannot be read.
    #[track_caller]
    pub fn left<K: ItemKinds>(&self, look: impl Fn(&Inventory)) -> BTreeMap<String, u64> {
        let [garbler, evaluator] = BOTH.map(|party| {
            let (mut left, store) = (BTreeMap::new(), self.store(party));
            check_keys_went_forward(&store);
            for epoch in inventory::<K>(&store).expect("a store that can be read") {
                look(&epoch);
                for batch in epoch.batches.iter().filter(|_| epoch.state.burned().is_none()) {
                    *left.entry(batch.name.clone()).or_default() += batch.left;
                }
            }
            left.retain(|_, left| *left > 0);
            left
        });
        assert_eq!(garbler, evaluator);
        evaluator
    }

    /// Takes the second and the fourth of the next items out of each batch of at least five, at both parties,
    /// as if these items were damaged. Returns the number of such batches.
    ///
    /// # Panics
    /// If the disk fails.
    pub fn take_some_out(&self) -> usize {
        let of = |party| {
            let (store, mut count) = (self.store(party), 0);
            for (id, _) in store.epochs().expect("epochs") {
                let state = store.state(&id).expect("an epoch");
                let batches = store.batches(&id).expect("batches");
                let large = batches.iter().filter(|batch| batch.left >= 5).map(|batch| batch.serial);
                let items = large.flat_map(|serial| [1, 3].map(|k| (serial, state.gone(serial) + k, 1)));
                let items: Vec<_> = items.collect();
                count += items.len() / 2;
                for entry in [EpochEntry::Damaged(items), EpochEntry::Confirmed] {
                    let _ = store.append(&id, &entry).expect("an entry");
                }
            }
            count
        };
        let [garblers, evaluators] = BOTH.map(of);
        assert_eq!(garblers, evaluators);
        garblers
    }

    /// Acknowledges failed attempts in both stores.
    ///
    /// # Panics
    /// If the disk fails.
    pub fn forgive(&self) {
        for store in BOTH.map(|party| self.store(party)) {
            for (account, _) in store.accounts().expect("accounts") {
                store.forgive(&account).expect("an account");
            }
        }
    }

    /// Begins and exposes a step of this risk in the first epoch of both stores. No session completes it.
    ///
    /// # Panics
    /// If the disk fails.
    pub fn give_up(&self, risk: u128) {
        for store in BOTH.map(|party| self.store(party)) {
            let (id, _) = store.epochs().expect("epochs")[0];
            let step = FillStep { job: [1; 32], number: 0, of: 1, risk, workers: 1 };
            for entry in [EpochEntry::Fill(step), EpochEntry::Exposed] {
                let _ = store.append(&id, &entry).expect("an entry");
            }
        }
    }
}

/// Checks that a store keeps no key from which a drawn entry of a log can be computed: the key would tell a
/// receiver's choices of that entry.
///
/// # Panics
/// If the store keeps such a key.
#[track_caller]
pub fn check_keys_went_forward(store: &Store) {
    for (id, _) in store.epochs().expect("a store that can be read") {
        let state = store.state(&id).expect("a log");
        match store.secrets(&id) {
            Ok(secrets) => {
                assert!(!secrets.forward.is_empty(), "OTs without keys");
                assert_eq!(secrets.forward.entry(), state.shared() + 1, "an entry can be drawn again");
            }
            Err(_) => assert!(state.burned().is_some(), "secrets that cannot be read"),
        }
    }
}

/// Checks that a batch was made by cut-and-chooses of these items, and has a bound if there is any item.
///
/// # Panics
/// If a check fails.
#[track_caller]
pub fn check_cuts(batch: &BatchInventory, expected: &[&str]) {
    assert!(batch.cuts.iter().map(|cut| cut.of).eq(expected.iter().copied()), "{batch:?}");
    assert_eq!(batch.bound_log2.is_none(), expected.is_empty());
}

/// Checks that a bound is at most 2^-40, and the sum of the budget.
///
/// # Panics
/// If a check fails.
#[track_caller]
pub fn check_bound(bound_log2: f64, budget: &[CheckSpent]) {
    let parts = budget.iter().map(|spent| spent.bound_log2.exp2()).sum::<f64>();
    assert!(bound_log2 <= -40.0 && (parts.log2() - bound_log2).abs() < 1e-6, "{bound_log2} of {budget:?}");
}

/// Makes a list of items left, like [`Stores::left`].
pub fn left<const N: usize>(expected: [(&str, u64); N]) -> BTreeMap<String, u64> {
    expected.into_iter().filter(|(_, left)| *left > 0).map(|(name, left)| (name.to_owned(), left)).collect()
}

/// The payload of the panic by which a test lets a party die; only [`Stores::meet`] handles it.
struct Dies;

/// Makes a connection on which a party dies before it sends its `count`th message `tag`, counted from 1.
pub fn dying(party: Party, tag: Tag, count: usize, noted: &[Tag], seen: &SeenMessages) -> ConnectionEnds {
    let (mut left, mut right) = memory_pair();
    for (role, channel) in BOTH.into_iter().zip([&mut left, &mut right]) {
        let (mut left, noted, seen) = (count, noted.to_vec(), seen.clone());
        channel.set_tamper(Box::new(move |sent: Tag, bytes| {
            if sent == tag && role == party {
                left -= 1;
                if left == 0 {
                    resume_unwind(Box::new(Dies));
                }
            }
            if noted.contains(&sent) {
                seen.lock().expect("nobody dies with it").push(bytes.clone());
            }
        }));
    }
    (left, right)
}

/// Makes a connection on which a party's messages `tag` are a byte too long, or too short.
pub fn misshapen(party: Party, tag: Tag, longer: bool) -> ConnectionEnds {
    let (mut left, mut right) = memory_pair();
    [&mut left, &mut right][party as usize].set_tamper(Box::new(move |sent: Tag, bytes| {
        if sent == tag && longer {
            bytes.push(0);
        } else if sent == tag {
            let _ = bytes.pop();
        }
    }));
    (left, right)
}

/// Checks that a garbler with only a sender of OTs refuses secrets of another version or length.
///
/// # Panics
/// If the garbler does not refuse them, or refuses valid ones.
pub fn check_secrets_of_a_sender<P: StockProtocol<Carried = ()>>() {
    let restored = |secrets: &EpochSecrets| {
        let run = Metered::new::<P>(memory_pair().0, Party::Garbler, Box::new(Unobserved));
        P::restore(run, &terms(), secrets, ()).map(drop)
    };
    let secrets = |version: u32, offset: Option<u128>, keys: usize| {
        EpochSecrets::new(&(version, [3u8; 32], offset), Forward::of_setup(vec![1; keys]))
    };
    assert!(restored(&secrets(1, Some(5), 128)).is_ok());
    let mut short = secrets(1, Some(5), 128);
    short.fixed.truncate(30);
    for other in [
        secrets(2, Some(5), 128),
        secrets(1, Some(5), 127),
        secrets(1, Some(6), 128),
        secrets(1, None, 128),
        short,
    ] {
        assert!(matches!(restored(&other), Err(Error::Stock(_))));
    }
}
