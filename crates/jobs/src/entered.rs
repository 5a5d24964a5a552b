//! The folder of a lane: its store, and the attempt that used it last.
//!
//! ```text
//! DIR/attempt   "brickwa\x01"  job [u8; 32]  terms [u8; 32]  lane u32  number u32
//! ```
//!
//! A store without an entry for a partition proves that nothing was taken only if it is the store from which
//! the lane ran. That store is in the folder that the lane's last attempt entered. If a folder is missing,
//! empty, from another machine or of an older attempt, stock may have been taken.

use std::fs::File;
use std::io::{ErrorKind, Write};
use std::path::Path;

use brickwork_base::{Error, private};
use brickwork_duplo::Step;
use brickwork_store::{EpochEntry, Store};

use crate::coordinator::Evidence;
use crate::terms::Attempt;

const MAGIC: &[u8; 8] = b"brickwa\x01";
const NAME: &str = "attempt";
const BYTES: usize = 8 + 32 + 32 + 4 + 4;

/// A lane's store that an attempt has entered, for the greetings of its worker.
pub struct EnteredStore {
    store: Store,
}

impl EnteredStore {
    /// Returns the store.
    pub fn store(&self) -> &Store {
        &self.store
    }
}

/// Returns the content of the file for an attempt of a job with these terms, 80 bytes.
fn written(attempt: &Attempt, terms: &[u8; 32]) -> [u8; BYTES] {
    let Attempt { job, lane, number } = attempt;
    let parts = [&MAGIC[..], job, terms, &lane.to_le_bytes(), &number.to_le_bytes()];
    parts.concat().try_into().expect("80 bytes")
}

/// Reads the last attempt in its stored form, if there was an attempt.
fn last(directory: &Path) -> Result<Option<Vec<u8>>, Error> {
    match std::fs::read(directory.join(NAME)) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(e) if e.kind() == ErrorKind::NotFound => Ok(None),
        Err(e) => Err(Error::Stock(format!("{}: {e}", directory.join(NAME).display()))),
    }
}

fn foreign(directory: &Path, why: &str) -> Error {
    Error::Stock(format!("{}: {why}; give the job a folder that was not used before", directory.display()))
}

/// Records durably that an attempt uses a lane's folder, whose store is open, before its worker greets
/// anybody. `terms` are [those](crate::terms::JobTerms::digest) of the job.
///
/// # Errors
/// [`Error::Stock`] if the folder belongs to another job or lane, this attempt or a later one has used it, or
/// it cannot be written.
pub fn enter(
    directory: &Path,
    store: Store,
    attempt: &Attempt,
    terms: &[u8; 32],
) -> Result<EnteredStore, Error> {
    let now = written(attempt, terms);
    match last(directory)? {
        None if store.epochs()?.is_empty() => {}
        None => {
            return Err(foreign(directory, "the store in this folder does not belong to a lane of this job"));
        }
        Some(before) if before.len() == BYTES && before[..BYTES - 4] == now[..BYTES - 4] => {
            let number = u32::from_le_bytes(*before.last_chunk().expect("80 bytes"));
            if number >= attempt.number {
                return Err(Error::Stock(format!(
                    "{}: attempt {number} of this lane has already used this folder, so attempt {} cannot \
                     begin",
                    directory.display(),
                    attempt.number
                )));
            }
        }
        Some(_) => return Err(foreign(directory, "the folder belongs to another job or lane")),
    }
    write(directory, &now).map_err(|e| Error::Stock(format!("{}: {e}", directory.display())))?;
    Ok(EnteredStore { store })
}

fn write(directory: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let new = directory.join("attempt.new");
    let mut file = private::options().create(true).truncate(true).open(&new)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    std::fs::rename(&new, directory.join(NAME))?;
    File::open(directory)?.sync_all()
}

/// Returns whether stock may have been taken for a step. `attempt` is the lane's last attempt by the ledger,
/// `terms` are the job's, and the caller has opened the store in the lane's folder.
pub fn evidence(
    directory: &Path,
    store: &Store,
    attempt: &Attempt,
    terms: &[u8; 32],
    step: &Step,
) -> Evidence {
    let is_last = matches!(last(directory), Ok(Some(last)) if last == written(attempt, terms));
    match (is_last, seen(store, step)) {
        (true, Ok(Seen { made: true, taken: false })) => Evidence::NotTaken,
        // A missing or unreadable store counts as if stock was taken.
        _ => Evidence::PerhapsTaken,
    }
}

/// The facts that the logs of a store show.
struct Seen {
    /// True if there ever was stock.
    made: bool,
    /// True if some of it was taken for the step.
    taken: bool,
}

fn seen(store: &Store, step: &Step) -> Result<Seen, Error> {
    let name = step.entered_as();
    let mut seen = Seen { made: false, taken: false };
    for (id, _) in store.epochs()? {
        for entry in store.log(&id)? {
            seen.made |= matches!(entry, EpochEntry::Made);
            seen.taken |= matches!(entry, EpochEntry::Use { program, .. } if program == name);
        }
    }
    Ok(seen)
}
