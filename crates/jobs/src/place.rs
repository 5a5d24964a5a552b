//! The folder of a lane: its store, and which attempt had it last.
//!
//! ```text
//! DIR/attempt   "brickwa\x01"  job [u8; 32]  terms [u8; 32]  lane u32  number u32
//! ```
//!
//! That nothing was taken for a partition is said of a store in which that can be seen, and of no other: one
//! that holds the stock that the lane ran from, in the folder that its last attempt entered. A folder that is
//! gone, empty, of another machine or of an older attempt says nothing, and what says nothing may hold
//! anything.

use std::fs::File;
use std::io::{ErrorKind, Write};
use std::path::Path;

use brickwork_base::{Error, private};
use brickwork_duplo::Step;
use brickwork_stock::{Entry, Store};

use crate::coordinator::Evidence;
use crate::terms::Attempt;

const MAGIC: &[u8; 8] = b"brickwa\x01";
const NAME: &str = "attempt";
const BYTES: usize = 8 + 32 + 32 + 4 + 4;

/// A lane's store that an attempt has entered: what its worker greets with.
pub struct Place {
    store: Store,
}

impl Place {
    /// Returns the store.
    pub fn store(&self) -> &Store {
        &self.store
    }
}

/// What stands in the file of an attempt of a job with these terms, 80 bytes.
fn written(attempt: &Attempt, terms: &[u8; 32]) -> [u8; BYTES] {
    let Attempt { job, lane, number } = attempt;
    let parts = [&MAGIC[..], job, terms, &lane.to_le_bytes(), &number.to_le_bytes()];
    parts.concat().try_into().expect("80 bytes")
}

/// Reads which attempt was here last, as it is written; none if none was.
fn last(directory: &Path) -> Result<Option<Vec<u8>>, Error> {
    match std::fs::read(directory.join(NAME)) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(e) if e.kind() == ErrorKind::NotFound => Ok(None),
        Err(e) => Err(Error::Stock(format!("{}: {e}", directory.join(NAME).display()))),
    }
}

fn foreign(directory: &Path, why: &str) -> Error {
    Error::Stock(format!("{}: {why}; give the job a folder that nothing else has used", directory.display()))
}

/// Writes down, durably, that an attempt has a lane's folder, whose store is open: before its worker greets
/// anybody. `terms` are [those](crate::terms::Terms::digest) of the job.
///
/// # Errors
/// [`Error::Stock`] if the folder is of another job or lane, or this attempt or a later one had it, or it
/// cannot be written.
pub fn enter(directory: &Path, store: Store, attempt: &Attempt, terms: &[u8; 32]) -> Result<Place, Error> {
    let now = written(attempt, terms);
    match last(directory)? {
        None if store.epochs()?.is_empty() => {}
        None => return Err(foreign(directory, "its store is of no lane of this job")),
        Some(before) if before.len() == BYTES && before[..BYTES - 4] == now[..BYTES - 4] => {
            let number = u32::from_le_bytes(*before.last_chunk().expect("80 bytes"));
            if number >= attempt.number {
                return Err(Error::Stock(format!(
                    "{}: attempt {number} of this lane was here, and {} begins after it",
                    directory.display(),
                    attempt.number
                )));
            }
        }
        Some(_) => return Err(foreign(directory, "it is of another job or lane")),
    }
    write(directory, &now).map_err(|e| Error::Stock(format!("{}: {e}", directory.display())))?;
    Ok(Place { store })
}

fn write(directory: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let new = directory.join("attempt.new");
    let mut file = private::options().create(true).truncate(true).open(&new)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    std::fs::rename(&new, directory.join(NAME))?;
    File::open(directory)?.sync_all()
}

/// Says whether stock may have been taken for a step: `attempt` is the last one of the lane, as the ledger
/// has it, `terms` are those of the job, and the store is open in the lane's folder.
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
        // What is not there, or cannot be read, may hold anything.
        _ => Evidence::PerhapsTaken,
    }
}

/// What the logs of a store say.
struct Seen {
    /// Whether there was stock ever.
    made: bool,
    /// Whether something of it was taken for the step.
    taken: bool,
}

fn seen(store: &Store, step: &Step) -> Result<Seen, Error> {
    let name = step.entered_as();
    let mut seen = Seen { made: false, taken: false };
    for (id, _) in store.epochs()? {
        for entry in store.log(&id)? {
            seen.made |= matches!(entry, Entry::Made);
            seen.taken |= matches!(entry, Entry::Use { program, .. } if program == name);
        }
    }
    Ok(seen)
}
