//! Row 26 of the table of attacks (docs/concepts/security.md, section 14): writers of a store in a forked
//! process write nothing. This test has a file of its own because it marks the whole process as a fork.

use brickwork_base::{Error, Party, Security, process};
use brickwork_store::{Bulk, Epoch, EpochEntry, EpochSecrets, FillStep, Store, StoreKey, serial};

#[test]
fn row_26_a_fork_writes_no_segment() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path(), &StoreKey::from_bytes([7; 32])).unwrap();
    let (id, identities, security) = ([3; 32], [[1; 32], [2; 32]], Security::of(40));
    let (role, protocol) = (Party::Garbler, "test".into());
    let epoch = Epoch {
        protocol,
        version: 1,
        role,
        security,
        identities,
        created: 5,
        max_age: 9,
        fixed: 0,
        early: 0,
        counted: brickwork_store::Counted::Nothing,
    };
    store.begin(&id, &epoch, &EpochSecrets::fixed(b"secrets")).unwrap();
    let step = FillStep { job: [1; 32], number: 0, of: 1, risk: 0, workers: 1 };
    let _ = store.append(&id, &EpochEntry::Fill(step)).unwrap();
    let (writers, bulk) = (store.writers(&id), Bulk { units: 2, unit_bytes: 1 << 20, each: 0 });
    let mut writer = writers.begin(serial(1, 0), Some(bulk)).unwrap();
    writer.put(0, 0, &mut vec![0; 1 << 20]).unwrap();
    writer.record(0, 1, vec![1].into()).unwrap();
    let files = || std::fs::read_dir(folder.path().join("segments")).unwrap().count();
    assert_eq!(files(), 1);
    process::forked();
    assert!(matches!(writer.put(1, 0, &mut vec![0; 1 << 20]), Err(Error::Usage(_))));
    assert!(matches!(writer.record(1, 1, vec![1].into()), Err(Error::Usage(_))));
    assert!(matches!(writers.begin(serial(1, 1), None).map(drop), Err(Error::Usage(_))));
    assert!(matches!(store.writers(&id).begin(serial(1, 1), None).map(drop), Err(Error::Usage(_))));
    drop(writer);
    assert_eq!(files(), 1, "it is the other process's");
}
