//! The file with the secrets of an epoch and the keys of its items. Old contents of the file are overwritten.
//!
//! ```text
//!   file = slot slot                two of the same size; in the index nothing of it is kept
//!   slot = number:[u8; 8] length:[u8; 4] nonce ciphertext tag
//! ```
//!
//! The index cannot hold data that must be erased, because it writes each row to new pages and keeps the old
//! pages. In this file, a new version is written to the empty slot. When the new version is on the disk, the
//! old one is overwritten with zeros. If a crash leaves two versions, the later one is used.

use std::fs::{File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use zeroize::{Zeroize, ZeroizeOnDrop};

use super::chain::Chain;
use super::disk::Disk;
use super::folder::of_disk;
use super::forward::EpochSecrets;
use super::index::encoded_secret;
use super::log::{EpochId, Serial};
use super::seal::{RowKey, StoreKey};
use brickwork_base::Error;
use brickwork_base::place::read_at;

/// The content of a file of keys.
#[derive(Clone, Default, Serialize, Deserialize, Zeroize, ZeroizeOnDrop)]
pub(super) struct KeysContent {
    pub secrets: EpochSecrets,
    /// The keys of each batch that still has items, by serial.
    pub chains: Vec<(Serial, Chain)>,
}

impl KeysContent {
    /// Returns the keys of a batch's items.
    ///
    /// # Errors
    /// [`Error::Stock`] if there are none.
    pub fn chain(&self, serial: Serial) -> Result<&Chain, Error> {
        let found = self.chains.iter().find(|(of, _)| *of == serial).map(|(_, chain)| chain);
        found.ok_or_else(|| {
            Error::Stock(format!(
                "the keys of batch {serial} are missing: the file of keys is an old copy; burn this part of \
                 the stock (`brickwork stock burn`)"
            ))
        })
    }
}

/// Bytes before the sealed data in a slot.
const HEADER_BYTES: usize = 12;

/// Bytes that sealing adds: the nonce and the tag.
const SEAL_BYTES: usize = 28;

/// The number of bytes of which a slot's size is a multiple.
const BLOCK_BYTES: usize = 4096;

/// The number of times that a file without a valid version is read again. Another process with the store may
/// write one slot while this process reads the other.
const LOOKS: usize = 5;
const BETWEEN_LOOKS: Duration = Duration::from_millis(20);

/// A slot that holds a version.
struct Found {
    slot: u64,
    number: u64,
    length: usize,
    kept: KeysContent,
}

/// The file of keys of one epoch.
pub(super) struct KeyFile<'s> {
    disk: &'s Disk,
    sealer: RowKey,
    epoch: EpochId,
    path: PathBuf,
}

impl<'s> KeyFile<'s> {
    /// Returns the file of an epoch in this folder.
    pub fn of(folder: &Path, epoch: &EpochId, key: &StoreKey, disk: &'s Disk) -> Self {
        let name: String = epoch.iter().map(|byte| format!("{byte:02x}")).collect();
        KeyFile { disk, sealer: key.epoch(epoch), epoch: *epoch, path: folder.join(name + ".keys") }
    }

    fn unfinished(&self) -> PathBuf {
        self.path.with_extension("unfinished")
    }

    fn failed(&self, what: &str) -> impl Fn(io::Error) -> Error + use<> {
        let place = format!("{what} {}", self.path.display());
        move |error| of_disk(&error, format!("{place}: {error}"))
    }

    fn about(&self, number: u64) -> Vec<u8> {
        [&b"keys\0"[..], &self.epoch, &number.to_le_bytes()].concat()
    }

    /// Seals a version for a slot.
    fn sealed(&self, number: u64, kept: &KeysContent) -> Result<Vec<u8>, Error> {
        let sealed = self.sealer.seal(&self.about(number), &encoded_secret(kept))?;
        let length = u32::try_from(sealed.len())
            .map_err(|_| Error::Limit("the keys of one epoch would take more than 4 GiB".into()))?;
        Ok([&number.to_le_bytes()[..], &length.to_le_bytes(), &sealed].concat())
    }

    /// Writes the first version under a temporary name. The file gets its name when the epoch is in the
    /// index.
    pub fn make(&self, kept: &KeysContent) -> Result<(), Error> {
        let path = self.unfinished();
        self.shred(&path)?;
        self.write_new(&path, 0, kept)
    }

    fn write_new(&self, path: &Path, number: u64, kept: &KeysContent) -> Result<(), Error> {
        let sealed = self.sealed(number, kept)?;
        // A slot has room for twice as much data, so that the file need not be replaced by a larger one soon.
        let slot = (2 * sealed.len()).next_multiple_of(BLOCK_BYTES);
        let mut bytes = sealed;
        bytes.resize(2 * slot, 0);
        let make = || {
            let file = self.disk.create(path)?;
            self.disk.write_at(&file, &bytes, 0)?;
            self.disk.sync(&file)?;
            self.sync_folder()
        };
        make().map_err(self.failed("writing"))
    }

    fn sync_folder(&self) -> io::Result<()> {
        self.disk.sync_directory(self.path.parent().unwrap_or(Path::new(".")))
    }

    /// Gives the file its final name.
    pub fn name(&self) -> Result<(), Error> {
        let named = self.disk.rename(&self.unfinished(), &self.path).and_then(|()| self.sync_folder());
        named.map_err(self.failed("naming"))
    }

    /// Reads the valid version; `None` if there is no file.
    pub fn read(&self) -> Result<Option<KeysContent>, Error> {
        for _ in 0..LOOKS {
            let Some((file, slots)) = self.open(File::options().read(true))? else { return Ok(None) };
            if let Some(found) = self.found(&file, slots)?.pop() {
                return Ok(Some(found.kept));
            }
            std::thread::sleep(BETWEEN_LOOKS);
        }
        Err(Error::Stock(format!(
            "the store key does not open {}: the file was altered, or belongs to another store. Without \
             these keys this part of the stock cannot be used: burn it (`brickwork stock burn`)",
            self.path.display()
        )))
    }

    /// Opens the file with these options. Returns it, and the size of a slot.
    fn open(&self, so: &OpenOptions) -> Result<Option<(File, usize)>, Error> {
        let file = match so.open(&self.path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            opened => opened.map_err(self.failed("opening"))?,
        };
        let length = file.metadata().map_err(self.failed("opening"))?.len();
        Ok(Some((file, usize::try_from(length / 2).unwrap_or(usize::MAX))))
    }

    /// Reads the existing versions, with the latest one last.
    fn found(&self, file: &File, slot_bytes: usize) -> Result<Vec<Found>, Error> {
        let mut found = Vec::new();
        for slot in 0..2 {
            let place = slot * slot_bytes as u64;
            let mut header = [0; HEADER_BYTES];
            if slot_bytes < HEADER_BYTES + SEAL_BYTES {
                continue;
            }
            read_at(file, &mut header, place).map_err(self.failed("reading"))?;
            let number = u64::from_le_bytes(*header.first_chunk().expect("a number"));
            let length = u32::from_le_bytes(*header.last_chunk().expect("a length")) as usize;
            if !(SEAL_BYTES..=slot_bytes - HEADER_BYTES).contains(&length) {
                continue;
            }
            let mut sealed = vec![0; length];
            read_at(file, &mut sealed, place + HEADER_BYTES as u64).map_err(self.failed("reading"))?;
            let plain = self.sealer.open(&self.about(number), &sealed);
            if let Some(kept) = plain.and_then(|plain| postcard::from_bytes(&plain).ok()) {
                found.push(Found { slot, number, length: HEADER_BYTES + length, kept });
            }
        }
        found.sort_by_key(|found| found.number);
        Ok(found)
    }

    /// Writes the next version, and overwrites the previous one.
    pub fn write(&self, kept: &KeysContent) -> Result<(), Error> {
        let gone = || Error::Stock(format!("the file {} is missing", self.path.display()));
        let (file, slot_bytes) = self.open(File::options().read(true).write(true))?.ok_or_else(gone)?;
        let found = self.found(&file, slot_bytes)?;
        let last = found.last().ok_or_else(gone)?;
        let sealed = self.sealed(last.number + 1, kept)?;
        if sealed.len() > slot_bytes {
            return self.write_larger(last.number + 1, kept);
        }
        let write = || {
            self.disk.write_at(&file, &sealed, (1 - last.slot) * slot_bytes as u64)?;
            self.disk.sync(&file)?;
            self.disk.write_at(&file, &vec![0; last.length], last.slot * slot_bytes as u64)?;
            self.disk.sync(&file)
        };
        write().map_err(self.failed("writing"))
    }

    /// Writes a version that does not fit into the slots, into a larger file.
    fn write_larger(&self, number: u64, kept: &KeysContent) -> Result<(), Error> {
        let larger = self.unfinished();
        self.shred(&larger)?;
        self.write_new(&larger, number, kept)?;
        self.overwrite(&self.path)?;
        self.name()
    }

    /// Overwrites the whole file with zeros, on the disk.
    fn overwrite(&self, path: &Path) -> Result<(), Error> {
        let overwrite = || {
            let file = File::options().write(true).open(path)?;
            let zeros = vec![0; usize::try_from(file.metadata()?.len()).map_err(io::Error::other)?];
            self.disk.write_at(&file, &zeros, 0)?;
            self.disk.sync(&file)
        };
        match overwrite() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            other => other.map_err(self.failed("overwriting")),
        }
    }

    /// Overwrites a file, and removes it.
    fn shred(&self, path: &Path) -> Result<(), Error> {
        self.overwrite(path)?;
        match self.disk.remove(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            other => other.map_err(self.failed("removing")),
        }
    }

    /// Overwrites and removes all files of the epoch.
    pub fn erase(&self) -> Result<(), Error> {
        self.shred(&self.unfinished())?;
        self.shred(&self.path)
    }

    /// Repairs the files of keys of an epoch that is in use, after a crash. If there are two files, the one
    /// with a version is used. If there are two versions, the later one is used.
    pub fn settle(&self) -> Result<(), Error> {
        let whole = match self.open(File::options().read(true).write(true))? {
            None => None,
            Some((file, slot_bytes)) => Some((self.found(&file, slot_bytes)?, file, slot_bytes)),
        };
        match whole {
            Some((found, file, slot_bytes)) if !found.is_empty() => {
                self.shred(&self.unfinished())?;
                let last = found.last().map_or(0, |last| last.slot);
                // The other slot may hold a part of a version.
                let zeros = vec![0; slot_bytes];
                let other = (1 - last) * slot_bytes as u64;
                let mut there = vec![0; slot_bytes];
                read_at(&file, &mut there, other).map_err(self.failed("reading"))?;
                if there == zeros {
                    return Ok(());
                }
                let wipe = || self.disk.write_at(&file, &zeros, other).and_then(|()| self.disk.sync(&file));
                wipe().map_err(self.failed("overwriting"))
            }
            _ if self.unfinished().exists() => self.name(),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    // Rows are those of the table of attacks (docs/concepts/security.md, section 14).

    use std::sync::Arc;

    use super::*;
    use crate::NoFaults;

    const EPOCH: EpochId = [9; 32];

    fn kept(byte: u8, length: usize) -> KeysContent {
        KeysContent { secrets: EpochSecrets::fixed(&vec![byte; length]), chains: Vec::new() }
    }

    /// Calls `each` with a new file of keys, and with a function that returns the bytes on the disk.
    fn with_file(each: impl FnOnce(&KeyFile, &dyn Fn() -> Vec<u8>)) {
        let folder = tempfile::tempdir().unwrap();
        let disk = Disk(Arc::new(NoFaults));
        let key = StoreKey::from_bytes([7; 32]);
        let file = KeyFile::of(folder.path(), &EPOCH, &key, &disk);
        file.make(&kept(1, 100)).unwrap();
        assert!(file.read().unwrap().is_none(), "no epoch's yet");
        file.name().unwrap();
        each(&file, &|| {
            let files = std::fs::read_dir(folder.path()).unwrap();
            files.flat_map(|file| std::fs::read(file.unwrap().path()).unwrap()).collect()
        });
    }

    fn is(file: &KeyFile, byte: u8, length: usize) {
        assert_eq!(file.read().unwrap().unwrap().secrets.fixed, vec![byte; length]);
    }

    /// Returns whether the bytes on the disk contain `sealed`.
    fn lies(disk: &[u8], sealed: &[u8]) -> bool {
        disk.windows(sealed.len()).any(|window| window == sealed)
    }

    /// When the next version has been written, nothing of the old version is on the disk, even if a larger
    /// file was needed.
    #[test]
    fn what_was_replaced_is_overwritten() {
        with_file(|file, disk| {
            for (byte, length) in [(2, 100), (3, 150), (4, 9_000), (5, 9_000), (6, 40)] {
                // The bytes of the previous version's ciphertext; at least 40 of them must exist.
                let before = disk();
                let used = before.iter().position(|&byte| byte != 0).unwrap();
                let sealed = before[used / 4096 * 4096 + HEADER_BYTES..][..40].to_vec();
                assert!(lies(&before, &sealed));
                file.write(&kept(byte, length)).unwrap();
                is(file, byte, length);
                assert!(!lies(&disk(), &sealed), "{byte}");
            }
            file.erase().unwrap();
            assert!(disk().is_empty() && file.read().unwrap().is_none());
        });
    }

    /// Row 23 of the table of attacks: if a store was opened for reading only, no file is opened for writing.
    #[cfg(target_os = "linux")]
    #[test]
    fn row_23_who_reads_opens_nothing_for_writing() {
        use rustix::fs::inotify::{self, CreateFlags, ReadFlags, WatchFlags};
        with_file(|file, _| {
            let watch = inotify::init(CreateFlags::NONBLOCK).unwrap();
            let closed = WatchFlags::CLOSE_WRITE | WatchFlags::CLOSE_NOWRITE;
            inotify::add_watch(&watch, &file.path, closed).unwrap();
            let seen = || {
                let mut buffer = [std::mem::MaybeUninit::uninit(); 1024];
                let mut events = inotify::Reader::new(&watch, &mut buffer);
                std::iter::from_fn(|| events.next().ok().map(|event| event.events())).collect::<Vec<_>>()
            };
            is(file, 1, 100);
            assert_eq!(seen(), [ReadFlags::CLOSE_NOWRITE]);
            file.write(&kept(2, 100)).unwrap();
            assert_eq!(seen(), [ReadFlags::CLOSE_WRITE]);
        });
    }

    /// Row 21 of the table of attacks: a crash leaves both versions, or the old one and a part of the new
    /// one. The later complete version is valid, and the other slot is overwritten when the store is opened.
    #[test]
    fn row_21_of_two_versions_the_later_one_counts() {
        with_file(|file, disk| {
            let before = disk();
            file.write(&kept(2, 100)).unwrap();
            let after = disk();
            let both: Vec<u8> = before.iter().zip(&after).map(|(a, b)| a | b).collect();
            std::fs::write(&file.path, &both).unwrap();
            is(file, 2, 100);
            file.settle().unwrap();
            is(file, 2, 100);
            assert_eq!(disk(), after);
            let place = after.iter().position(|&byte| byte != 0).unwrap() / 4096 * 4096;
            for end in [5, 12, 60] {
                let mut torn = before.clone();
                torn[place..place + end].copy_from_slice(&after[place..place + end]);
                std::fs::write(&file.path, &torn).unwrap();
                file.settle().unwrap();
                is(file, 1, 100);
                assert_eq!(disk(), before);
            }
        });
    }

    /// Row 21 of the table of attacks: a crash while a larger file replaces the old one leaves one complete
    /// file.
    #[test]
    fn row_21_a_larger_file_takes_the_place_in_either_order() {
        with_file(|file, _| {
            file.write_new(&file.unfinished(), 1, &kept(2, 9_000)).unwrap();
            file.settle().unwrap();
            is(file, 1, 100);
            assert!(!file.unfinished().exists());
            file.write_new(&file.unfinished(), 1, &kept(2, 9_000)).unwrap();
            file.overwrite(&file.path).unwrap();
            file.settle().unwrap();
            is(file, 2, 9_000);
            assert!(!file.unfinished().exists());
        });
    }

    /// Row 23 of the table of attacks: a file that was altered or belongs to another epoch is refused.
    #[test]
    fn row_23_another_file_is_refused() {
        with_file(|file, disk| {
            let whole = disk();
            let other =
                KeyFile::of(file.path.parent().unwrap(), &[8; 32], &StoreKey::from_bytes([7; 32]), file.disk);
            std::fs::write(&other.path, &whole).unwrap();
            assert!(matches!(other.read().map(drop), Err(Error::Stock(why)) if why.contains("burn")));
            for place in [0, 8, 13, 60] {
                let mut altered = whole.clone();
                altered[place] ^= 1;
                std::fs::write(&file.path, &altered).unwrap();
                assert!(matches!(file.read().map(drop), Err(Error::Stock(_))), "{place}");
            }
            std::fs::write(&file.path, []).unwrap();
            assert!(matches!(file.read().map(drop), Err(Error::Stock(_))));
        });
    }
}
