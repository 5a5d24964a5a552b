//! The folder of a store: the store's own files, and the treatment of all other files.
//!
//! A file is removed only if the log shows that it is not needed. An unknown file may be stock whose index is
//! being restored, so it is moved aside with a warning.

use std::io;
use std::path::{Path, PathBuf};

use super::disk::Disk;
use brickwork_base::{Error, private};

/// The index.
pub(super) const INDEX: &str = "index.redb";
/// The name of an index while it is being made.
pub(super) const UNFINISHED: &str = "index.unfinished";
/// The name of the file that a process locks while it has the store.
pub(super) const LOCK: &str = "lock";
/// The folder of the segments.
pub(super) const SEGMENTS: &str = "segments";
/// The folder with the epochs' secrets and the keys of items.
pub(super) const KEYS: &str = "keys";
/// The folder for files that were moved aside.
const UNKNOWN: &str = "unknown";

/// Makes an error about a file or folder.
pub(super) fn failed(path: &Path) -> impl Fn(io::Error) -> Error {
    move |error| of_disk(&error, format!("{}: {error}", path.display()))
}

/// Makes the error with this message from an error of the system. If the disk is full, it is
/// [`Error::Resource`], because making more stock would not help.
pub(super) fn of_disk(error: &io::Error, message: String) -> Error {
    use io::ErrorKind::{FileTooLarge, QuotaExceeded, StorageFull};
    match error.kind() {
        StorageFull | QuotaExceeded | FileTooLarge => Error::Resource(message),
        _ => Error::Stock(message),
    }
}

/// Makes a folder that only its owner can enter, and its parents, if they do not exist.
pub(super) fn make(path: &Path) -> Result<(), Error> {
    private::create_folders(path).map_err(failed(path))
}

/// Returns whether a folder holds a store; if it does not, a new one can be made there.
///
/// # Errors
/// [`Error::Incomplete`] if there is no index but other files: the index was moved away or is not restored
/// yet. [`Error::Stock`] if the folder cannot be read.
pub(super) fn holds_store(directory: &Path) -> Result<bool, Error> {
    let index = directory.join(INDEX);
    if index.try_exists().map_err(failed(&index))? {
        return Ok(true);
    }
    let is_new = |path: &Path| {
        let is = |name| path == directory.join(name);
        Ok(is(LOCK)
            || is(UNFINISHED)
            || (is(SEGMENTS) || is(KEYS)) && first_in(path, |_| Ok(false))?.is_none())
    };
    match first_in(directory, is_new)? {
        None => Ok(false),
        Some(found) => Err(Error::Incomplete(format!(
            "{} is missing, but {} is there; without the index, nobody can tell which items of this store \
             were used",
            index.display(),
            found.display()
        ))),
    }
}

/// Returns the first file or folder, by name, for which `except` is false. A folder that does not exist is
/// empty.
fn first_in(folder: &Path, except: impl Fn(&Path) -> Result<bool, Error>) -> Result<Option<PathBuf>, Error> {
    let files = match std::fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        files => files.map_err(failed(folder))?,
    };
    let mut first = None;
    for file in files {
        let path = file.map_err(failed(folder))?.path();
        if first.as_ref().is_none_or(|first| path < *first) && !except(&path)? {
            first = Some(path);
        }
    }
    Ok(first)
}

/// Moves an unknown file into the folder for unknown files.
///
/// # Errors
/// [`Error::Stock`] if the disk fails.
pub(super) fn move_aside(disk: &Disk, directory: &Path, path: &Path) -> Result<(), Error> {
    let target = moved_aside(disk, directory, path)?;
    tracing::warn!(
        "the index does not know the file {}, so the store moved it to {}; if you restored an old copy of \
         the index, the file may belong to a newer index",
        path.display(),
        target.display()
    );
    Ok(())
}

/// Moves a file of a store's folder into the folder for unknown files, under a name that is free there.
/// Returns its path.
///
/// # Errors
/// [`Error::Stock`] if the disk fails.
pub(super) fn moved_aside(disk: &Disk, directory: &Path, path: &Path) -> Result<PathBuf, Error> {
    let target = place_aside(directory, path)?;
    let folder = path.parent().unwrap_or(directory);
    disk.rename(path, &target)
        .and_then(|()| disk.sync_directory(&directory.join(UNKNOWN)))
        .and_then(|()| disk.sync_directory(folder))
        .map_err(failed(path))?;
    Ok(target)
}

/// Writes a copy of a file to the path to which [`moved_aside`] would move it.
///
/// # Errors
/// [`Error::Stock`] if the disk fails.
pub(super) fn copied_aside(disk: &Disk, directory: &Path, path: &Path) -> Result<(), Error> {
    let target = place_aside(directory, path)?;
    std::fs::copy(path, &target)
        .and_then(|_| std::fs::File::open(&target)?.sync_all())
        .and_then(|()| disk.sync_directory(&directory.join(UNKNOWN)))
        .map_err(failed(&target))
}

/// Returns a path in the folder for unknown files at which there is no file yet, and makes that folder.
fn place_aside(directory: &Path, path: &Path) -> Result<PathBuf, Error> {
    let (unknown, name) = (directory.join(UNKNOWN), path.file_name().unwrap_or_default());
    make(&unknown)?;
    let mut target = unknown.join(name);
    // This process holds the folder's lock, so no other process takes the free name.
    for number in 1.. {
        if let Err(error) = target.symlink_metadata() {
            match error.kind() {
                io::ErrorKind::NotFound => break,
                _ => return Err(failed(&target)(error)),
            }
        }
        let mut numbered = name.to_owned();
        numbered.push(format!(".{number}"));
        target = unknown.join(numbered);
    }
    Ok(target)
}
