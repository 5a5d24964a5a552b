//! The messages between a maker and its coordinator on a connection within a party: message by message, and
//! all data of a maker's share on its way into a store.
//!
//! Used by the fuzz target and, with the seeds, by the tests.
#![allow(dead_code)]

use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use brickwork::circuit::Party;
use brickwork::disk::{
    Epoch, EpochEntry, EpochId, EpochSecrets, FillStep, Ranges, Store, StoreKey, number_of,
};
use brickwork::protocol::stock::makers::{HomeMaker, heard, said_again, told_again};
use brickwork::wire::{Channel, Stream};
use brickwork::{ProtocolError as Error, Security};

/// Reads a message; the first byte selects its type: a maker's message, its coordinator's, or all messages of
/// one of them. Returns whether the message was accepted.
pub fn makers(data: &[u8]) -> bool {
    let Some((&what, data)) = data.split_first() else { return false };
    match what % 4 {
        0 => word(said_again, data),
        1 => word(told_again, data),
        2 => share(data),
        _ => meeting(data),
    }
}

/// A message that is accepted has the same meaning after it was written again.
fn word(again: fn(&[u8]) -> Option<Vec<u8>>, bytes: &[u8]) -> bool {
    let Some(once) = again(bytes) else { return false };
    assert_eq!(again(&once).as_ref(), Some(&once));
    true
}

/// The first message of a coordinator. A coordinator belongs to the same party, so no error accuses it of a
/// cheat.
fn meeting(bytes: &[u8]) -> bool {
    match HomeMaker::hear(line(bytes)) {
        Ok(maker) => !maker.meeting().protocol.is_empty(),
        Err(Error::Io(_)) => false,
        Err(other) => panic!("{other}"),
    }
}

const KEY: StoreKey = StoreKey::from_bytes([7; 32]);
const EPOCH: EpochId = [5; 32];

/// The files of a store with an epoch: the index, and the epoch's keys.
static STORE: LazyLock<Vec<(PathBuf, Vec<u8>)>> = LazyLock::new(|| {
    let folder = folder();
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
    store.begin(&EPOCH, &epoch, &EpochSecrets::fixed(b"secrets")).expect("an epoch");
    drop(store);
    let keys = std::fs::read_dir(folder.path().join("keys")).expect("a folder");
    let keys = keys.map(|file| Path::new("keys").join(file.expect("a file").file_name()));
    let files = std::iter::once(PathBuf::from("index.redb")).chain(keys);
    files.map(|path| (path.clone(), std::fs::read(folder.path().join(path)).expect("a file"))).collect()
});

/// Makes a folder, in memory if possible.
fn folder() -> tempfile::TempDir {
    let memory = Path::new("/dev/shm");
    let made = if memory.is_dir() { tempfile::tempdir_in(memory) } else { tempfile::tempdir() };
    made.expect("a folder")
}

/// For any message of a maker, the coordinator's store has the reported items, or no items. Returns whether
/// the maker made its share.
fn share(bytes: &[u8]) -> bool {
    let folder = folder();
    for name in ["segments", "keys"] {
        std::fs::create_dir(folder.path().join(name)).expect("a folder");
    }
    for (path, bytes) in &*STORE {
        std::fs::write(folder.path().join(path), bytes).expect("a file");
    }
    let store = Store::open(folder.path(), &KEY).expect("a store");
    let step = FillStep { job: [1; 32], number: 0, of: 1, risk: 0, workers: 1 };
    let mut begun = store.append(&EPOCH, &EpochEntry::Fill(step)).expect("a step");
    let number = begun.ranges().and_then(Ranges::lend).expect("a number");
    let burned = || store.state(&EPOCH).expect("a state").burned().is_some();
    match heard(line(bytes), &store, &EPOCH, number) {
        Ok(None) => {
            for entry in [EpochEntry::Stored, EpochEntry::Made] {
                let _ = store.append(&EPOCH, &entry).expect("an entry");
            }
            let batches = store.batches(&EPOCH).expect("batches");
            assert!(batches.iter().all(|batch| number_of(batch.serial) == number));
            store.verify().expect("what a maker makes is whole");
            !burned()
        }
        Ok(Some(why)) => {
            // A store that could not be written to burns nothing.
            let accuses = matches!(why, Error::Peer(_));
            assert!(accuses || !burned(), "{why}");
            false
        }
        Err(Error::Io(_)) => {
            assert!(!burned(), "nobody is accused by who breaks off");
            false
        }
        Err(other) => panic!("{other}"),
    }
}

/// Makes a connection on which these bytes arrive.
fn line(bytes: &[u8]) -> Channel {
    Channel::new(vec![Box::new(Bytes { bytes: bytes.to_vec(), position: 0 })])
}

/// A stream of these bytes, which then ends.
struct Bytes {
    bytes: Vec<u8>,
    position: usize,
}

impl Read for Bytes {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n = buffer.len().min(self.bytes.len() - self.position);
        buffer[..n].copy_from_slice(&self.bytes[self.position..self.position + n]);
        self.position += n;
        Ok(n)
    }
}

impl Write for Bytes {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        Ok(bytes.len())
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Stream for Bytes {}
