//! Data from a disk: records, secrets, and stores with altered files.
//!
//! Used by the fuzz target and, with the seeds, by the tests.
#![allow(dead_code)]

use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use brickwork::Security;
use brickwork::circuit::{Component, Party};
use brickwork::disk::{
    Batch, Chain, Epoch, EpochEntry, EpochId, EpochSecrets, FillStep, Store, StoreKey, serial,
};
use brickwork::duplo::adversary::harness::pair;
use brickwork::duplo::adversary::parsers;
use zeroize::Zeroizing;

/// Reads altered bytes; the first byte selects their type: 0 to 3 stand for a record of this kind, 4 for a
/// session's secrets, and other values for the files of a store. Returns whether the bytes were accepted.
pub fn store(data: &[u8]) -> bool {
    let Some((&what, data)) = data.split_first() else { return false };
    let party = if what & 0x80 == 0 { Party::Garbler } else { Party::Evaluator };
    match what & 7 {
        kind @ 0..=3 => record(party, kind, data),
        4 => secrets(party, data),
        _ => files(data),
    }
}

/// The first byte is the number of items, and the next two are the length of the batch's header. Then follow
/// the header and the record. Reading a written record gives the same record.
fn record(party: Party, kind: u8, data: &[u8]) -> bool {
    static COMPONENT: LazyLock<Component> = LazyLock::new(pair);
    let Some((&[items, low, high], data)) = data.split_first_chunk() else { return false };
    let (header, bytes) = data.split_at(data.len().min(usize::from(u16::from_le_bytes([low, high]))));
    let Ok(again) = parsers::record(party, &COMPONENT, kind, header, items.into(), bytes) else {
        return false;
    };
    assert_eq!(again, bytes);
    true
}

fn secrets(party: Party, data: &[u8]) -> bool {
    let Ok(once) = parsers::secrets(party, data) else { return false };
    assert_eq!(*once, *parsers::secrets(party, &once).expect("what was written is read"));
    true
}

const KEY: StoreKey = StoreKey::from_bytes([7; 32]);
const EPOCH: EpochId = [5; 32];
const SECRETS: &[u8] = b"what nobody else may know";

/// The files of a store after it was closed.
struct Written {
    files: Vec<(PathBuf, Vec<u8>)>,
    log: Vec<EpochEntry>,
}

/// The bytes of a record.
fn bytes(batch: u64, record: u8) -> Vec<u8> {
    (0..200).map(|i: u8| i.wrapping_mul(31).wrapping_add(record).wrapping_add(batch as u8)).collect()
}

static WRITTEN: LazyLock<Written> = LazyLock::new(|| {
    let folder = tempfile::tempdir().expect("a folder");
    let store = Store::open(folder.path(), &KEY).expect("a store");
    let epoch = Epoch {
        protocol: "fuzz".into(),
        version: 1,
        role: Party::Garbler,
        security: Security::of(40),
        identities: [[1; 32], [2; 32]],
        created: 0,
        max_age: u64::MAX,
        fixed: 0,
        early: 0,
        counted: brickwork::disk::Counted::Nothing,
    };
    store.begin(&EPOCH, &epoch, &EpochSecrets::fixed(SECRETS)).expect("an epoch");
    let append = |store: &Store, entry| store.append(&EPOCH, &entry).map(drop).expect("an entry");
    append(&store, EpochEntry::Fill(FillStep { job: [1; 32], number: 0, of: 1, risk: 0, workers: 1 }));
    for batch in 0..2 {
        let mut writer = store.writer(&EPOCH, serial(1, batch)).expect("a writer");
        for record in 0..2 {
            writer.record(u64::from(record) * 4, 4, Zeroizing::new(bytes(batch, record))).expect("a record");
        }
        let about = Batch { kind: 1, name: "b".into(), component: [0; 32], header: vec![1, 2, 3] };
        store.put(&EPOCH, serial(1, batch), &about, writer, &Chain::of(&[9; 32])).expect("a batch");
    }
    append(&store, EpochEntry::Stored);
    append(&store, EpochEntry::Made);
    append(&store, EpochEntry::Use { program: [2; 32], taken: vec![(serial(1, 0), 3)] });
    let log = store.log(&EPOCH).expect("a log");
    drop(store);
    let mut files = Vec::new();
    for name in ["", "segments", "keys"] {
        for file in std::fs::read_dir(folder.path().join(name)).expect("a folder") {
            let path = file.expect("a file").path();
            if path.is_file() {
                let bytes = std::fs::read(&path).expect("a file");
                files.push((path.strip_prefix(folder.path()).expect("in the folder").to_path_buf(), bytes));
            }
        }
    }
    files.sort();
    Written { files, log }
});

/// Alters the files of a store. An edit has six bytes: the file, the position (three bytes), the kind and a
/// value.
fn edited(edits: &[u8]) -> Vec<(PathBuf, Vec<u8>)> {
    let mut files = WRITTEN.files.clone();
    for edit in edits.chunks_exact(6).take(8) {
        let at = usize::from(edit[0]) % files.len();
        let other = files[usize::from(edit[5]) % files.len()].1.clone();
        let file = &mut files[at].1;
        let place = u32::from_le_bytes([edit[1], edit[2], edit[3], 0]) as usize % file.len().max(1);
        match edit[4] % 6 {
            0 => file.get_mut(place).into_iter().for_each(|byte| *byte ^= edit[5]),
            1 => file.truncate(place),
            2 => file.iter_mut().skip(place).take(512).for_each(|byte| *byte = 0),
            3 => file.extend(std::iter::repeat_n(edit[5], place % 4096)),
            4 => *file = other,
            // This edit copies a part of a file over a part of another, for example one row or record over
            // another.
            _ => file.iter_mut().zip(&other).skip(place).take(216).for_each(|(byte, other)| *byte = *other),
        }
    }
    files
}

/// Alters the files of a store and opens it. The store gives the data that were written, perhaps not all of
/// them, or is refused. Returns whether the store gave any data.
fn files(edits: &[u8]) -> bool {
    let folder = tempfile::tempdir().expect("a folder");
    for name in ["segments", "keys"] {
        std::fs::create_dir(folder.path().join(name)).expect("a folder");
    }
    for (path, bytes) in edited(edits) {
        std::fs::write(folder.path().join(path), bytes).expect("a file");
    }
    read_back(folder.path()).is_ok()
}

fn read_back(folder: &Path) -> Result<(), brickwork::ProtocolError> {
    let store = Store::open(folder, &KEY)?;
    let _ = store.verify();
    for (id, epoch) in store.epochs()? {
        assert_eq!((id, &*epoch.protocol), (EPOCH, "fuzz"));
        assert_eq!(store.secrets(&id)?, EpochSecrets::fixed(SECRETS));
        // Only the peer can know that the last entries are missing.
        assert!(WRITTEN.log.starts_with(&store.log(&id)?));
        let batches = store.batches(&id)?;
        let taken = batches.iter().filter(|batch| batch.left > 0).map(|batch| (batch.serial, 1)).collect();
        let taken = store.append(&id, &EpochEntry::Use { program: [3; 32], taken })?;
        store.read(&taken, |serial, record| {
            let (batch, number) = (serial & 1, (record.first / 4) as u8);
            assert_eq!(*record.bytes, bytes(batch, number));
            Ok(())
        })?;
    }
    Ok(())
}
