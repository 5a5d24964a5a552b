//! The file operations of a store. Each of them may fail, and tests make each of them fail.

use std::fs::File;
use std::io;
use std::ops::Bound;
use std::path::Path;
use std::sync::Arc;

use brickwork_base::place::write_at;
use brickwork_base::private;
use redb::backends::FileBackend;
use redb::{BackendError, StorageBackend};

/// A change that is about to be made to the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DiskChange {
    /// This many bytes are written, or the length of a file is set.
    Write(usize),
    /// A file or directory is made durable.
    Sync,
    /// A file is renamed.
    Rename,
    /// A file is created or removed.
    Entry,
}

/// A function that is called before every change of the disk and can prevent the change. In production it
/// allows everything; tests simulate a failure at each change in turn.
pub trait Faults: Send + Sync + std::fmt::Debug {
    /// Returns an error to prevent the change. With `Err((n, _))` the first `n` bytes of a write still
    /// happen.
    fn before(&self, change: DiskChange) -> Result<(), (usize, io::Error)>;

    /// Returns the bytes on a folder's disk that are free for this user, if the system tells it.
    fn free_bytes(&self, folder: &Path) -> Option<u64> {
        free_bytes(folder)
    }
}

/// Returns the bytes on a folder's disk that are free for this user, if the system tells it.
#[cfg(unix)]
pub fn free_bytes(folder: &Path) -> Option<u64> {
    let disk = rustix::fs::statvfs(folder).ok()?;
    disk.f_bavail.checked_mul(disk.f_frsize)
}

/// Returns `None`, because the system does not tell the free space.
#[cfg(not(unix))]
pub fn free_bytes(_: &Path) -> Option<u64> {
    None
}

/// Prevents no change of the disk.
#[derive(Debug)]
pub struct NoFaults;

impl Faults for NoFaults {
    fn before(&self, _: DiskChange) -> Result<(), (usize, io::Error)> {
        Ok(())
    }
}

fn whole(result: Result<(), (usize, io::Error)>) -> io::Result<()> {
    result.map_err(|(_, error)| error)
}

/// Makes all changes of the disk, each after a call of [`Faults`].
#[derive(Clone, Debug)]
pub(super) struct Disk(pub Arc<dyn Faults>);

impl Disk {
    pub fn create(&self, path: &Path) -> io::Result<File> {
        whole(self.0.before(DiskChange::Entry))?;
        private::options().read(true).create_new(true).open(path)
    }

    pub fn write_at(&self, file: &File, bytes: &[u8], offset: u64) -> io::Result<()> {
        match self.0.before(DiskChange::Write(bytes.len())) {
            Ok(()) => write_at(file, bytes, offset),
            Err((some, error)) => write_at(file, &bytes[..some.min(bytes.len())], offset).and(Err(error)),
        }
    }

    pub fn sync(&self, file: &File) -> io::Result<()> {
        whole(self.0.before(DiskChange::Sync))?;
        file.sync_all()
    }

    /// Makes the file names in a directory durable.
    pub fn sync_directory(&self, path: &Path) -> io::Result<()> {
        whole(self.0.before(DiskChange::Sync))?;
        // Other systems cannot open a directory, and make names durable by themselves.
        if cfg!(unix) { File::open(path)?.sync_all() } else { Ok(()) }
    }

    pub fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        whole(self.0.before(DiskChange::Rename))?;
        std::fs::rename(from, to)
    }

    pub fn remove(&self, path: &Path) -> io::Result<()> {
        whole(self.0.before(DiskChange::Entry))?;
        std::fs::remove_file(path)
    }
}

/// The file of the index.
#[derive(Debug)]
pub(super) struct IndexFile {
    pub file: FileBackend,
    pub disk: Disk,
}

impl StorageBackend for IndexFile {
    fn len(&self) -> io::Result<u64> {
        self.file.len()
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        self.file.read(offset, out)
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        whole(self.disk.0.before(DiskChange::Write(0)))?;
        self.file.set_len(len)
    }

    fn sync_data(&self) -> io::Result<()> {
        whole(self.disk.0.before(DiskChange::Sync))?;
        self.file.sync_data()
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        match self.disk.0.before(DiskChange::Write(data.len())) {
            Ok(()) => self.file.write(offset, data),
            Err((some, error)) => self.file.write(offset, &data[..some.min(data.len())]).and(Err(error)),
        }
    }

    fn close(&self) -> io::Result<()> {
        self.file.close()
    }

    fn try_lock_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<bool, BackendError> {
        self.file.try_lock_range(start, end)
    }

    fn try_lock_shared_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<bool, BackendError> {
        self.file.try_lock_shared_range(start, end)
    }

    fn lock_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<(), BackendError> {
        self.file.lock_range(start, end)
    }

    fn lock_shared_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<(), BackendError> {
        self.file.lock_shared_range(start, end)
    }

    fn unlock_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<(), BackendError> {
        self.file.unlock_range(start, end)
    }

    fn query_lock_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<bool, BackendError> {
        self.file.query_lock_range(start, end)
    }
}

#[cfg(test)]
mod tests {
    // Rows are those of the table of attacks (docs/concepts/security.md, section 14).

    use super::*;

    /// Prevents every change.
    #[derive(Debug)]
    struct Dead;

    impl Faults for Dead {
        fn before(&self, _: DiskChange) -> Result<(), (usize, io::Error)> {
            Err((0, io::Error::other("dead")))
        }
    }

    /// Rows 21 and 22 of the table of attacks: every change asks [`Faults`] first, so that tests can simulate
    /// a failure there.
    #[test]
    fn rows_21_and_22_a_dead_disk_changes_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let [one, two] = ["one", "two"].map(|name| folder.path().join(name));
        let (alive, dead) = (Disk(Arc::new(NoFaults)), Disk(Arc::new(Dead)));
        let file = alive.create(&one).unwrap();
        alive.write_at(&file, b"one", 0).unwrap();
        let refused = |result: io::Result<()>| assert_eq!(result.unwrap_err().to_string(), "dead");
        refused(dead.create(&two).map(drop));
        refused(dead.write_at(&file, b"two", 0));
        refused(dead.sync(&file));
        refused(dead.sync_directory(folder.path()));
        refused(dead.rename(&one, &two));
        refused(dead.remove(&one));
        let index = IndexFile { file: FileBackend::new(file).unwrap(), disk: dead };
        refused(index.set_len(1));
        refused(index.write(0, b"two"));
        refused(index.sync_data());
        assert!(std::fs::read(&one).unwrap() == b"one" && !two.exists());
    }
}
