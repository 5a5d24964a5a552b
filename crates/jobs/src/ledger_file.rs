//! A ledger on disk, which is written entry by entry and read when a job continues.
//!
//! ```text
//! DIR/lock     locked by the process that keeps the ledger
//! DIR/said     what this party's workers did, and what was seen of their stocks ([`crate::reports`])
//! DIR/ledger   "brickwl\x01"  role u8  job [u8; 32]  terms [u8; 32]  entry*
//!              entry = length u32  postcard  head [u8; 32]
//! ```
//!
//! The ledger's keeper acts on an entry only when the entry is durable. So an incomplete last entry has no
//! effect and is ignored. A file that does not match its own hash chain is damaged and refused. An old copy
//! of a ledger is valid by itself; only the peer's ledger shows that it is old ([`crate::control`]). A ledger
//! contains no secrets.

use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Read, Seek, SeekFrom, Write};
use std::path::Path;

use brickwork_base::process::Process;
use brickwork_base::{Error, Party, private};
use rustix::fs::{FlockOperation, flock};

use crate::coordinator::{News, WorkerReports};
use crate::ledger::{JobEntry, JobState, LedgerHead};
use crate::reports::OwnReports;
use crate::terms::{JobId, JobTerms};

const MAGIC: &[u8; 8] = b"brickwl\x01";

/// Version of ledgers.
pub const FILE_VERSION: u8 = MAGIC[7];
const HEADER_BYTES: usize = 8 + 1 + 32 + 32;

/// The largest number of bytes of an entry, which has at most four numbers.
const MAX_ENTRY_BYTES: usize = 32;

/// The ledger of a job at one party. After an error of the disk nothing more can be written.
#[derive(Debug)]
pub struct JobLedger {
    file: File,
    job: JobId,
    entries: Vec<JobEntry>,
    state: JobState,
    poisoned: bool,
    words: OwnReports,
    /// The process that opened the ledger: a fork would overwrite later entries of this process.
    process: Process,
    _lock: File,
}

fn damaged(path: &Path, why: &str) -> Error {
    Error::Input(format!("{}: {why}; this job cannot continue with this ledger", path.display()))
}

/// Locks the folder of a ledger; makes the folder if necessary.
fn lock(directory: &Path) -> Result<File, Error> {
    private::create_folders(directory)?;
    let lock = private::options().create(true).truncate(false).open(directory.join("lock"))?;
    match flock(&lock, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(lock),
        Err(_) => Err(Error::Busy(format!(
            "{}: another process uses this ledger; only one coordinator may work on a job at a time",
            directory.display()
        ))),
    }
}

fn header(party: Party, job: &JobId, terms: &JobTerms) -> Vec<u8> {
    [&MAGIC[..], &[party as u8], job, &terms.digest()].concat()
}

fn sync_directory(directory: &Path) -> Result<(), Error> {
    Ok(File::open(directory)?.sync_all()?)
}

impl JobLedger {
    /// Opens the ledger of a job in this folder, if there is one.
    ///
    /// # Errors
    /// [`Error::Input`] if the ledger belongs to another job or other terms, or is damaged; [`Error::Busy`]
    /// if another process uses it; [`Error::Io`] if it cannot be read.
    pub fn open(directory: &Path, party: Party, terms: &JobTerms) -> Result<Option<Self>, Error> {
        let path = directory.join("ledger");
        if !path.exists() {
            return Ok(None);
        }
        let lock = lock(directory)?;
        let mut file = OpenOptions::new().read(true).write(true).open(&path)?;
        let mut begin = [0; HEADER_BYTES];
        file.read_exact(&mut begin).map_err(|e| match e.kind() {
            ErrorKind::UnexpectedEof => damaged(&path, "the ledger is cut off"),
            _ => e.into(),
        })?;
        let job: JobId = begin[9..41].try_into().expect("32 bytes");
        if begin[..8] != MAGIC[..] {
            return Err(damaged(&path, "the file is not a ledger, or another version wrote it"));
        }
        if begin[..] != header(party, &job, terms)[..] {
            return Err(damaged(&path, "the ledger was begun in the other role, or for another job"));
        }
        let mut rest = Vec::new();
        file.read_to_end(&mut rest)?;
        let (mut state, mut entries) = (JobState::new(&job, terms), Vec::new());
        let mut good = 0;
        while let Some((entry, head, length)) = next(&rest[good..], &path)? {
            state.apply(&entry).map_err(|_| damaged(&path, "an entry contradicts the entries before it"))?;
            if *state.head() != head {
                return Err(damaged(&path, "the hash chain of the ledger is broken"));
            }
            entries.push(entry);
            good += length;
        }
        // No party has acted on an incomplete entry. Only the last entry can be incomplete, so a longer
        // remainder means damage.
        if rest.len() - good >= 4 + MAX_ENTRY_BYTES + 32 {
            return Err(damaged(&path, "an entry in the middle of the ledger cannot be read"));
        }
        if good < rest.len() {
            file.set_len((HEADER_BYTES + good) as u64)?;
            file.sync_all()?;
        }
        file.seek(SeekFrom::End(0))?;
        // If the ledger is empty, the workers have reported nothing, and another job may begin in the folder.
        let words = match entries.is_empty() {
            true => OwnReports::begin(directory, &job)?,
            false => OwnReports::open(directory, &job)?,
        };
        let process = Process::here();
        Ok(Some(JobLedger { file, job, entries, state, poisoned: false, words, process, _lock: lock }))
    }

    /// Begins the ledger of a job. An existing ledger without entries is replaced.
    ///
    /// # Errors
    /// [`Error::Usage`] if an existing ledger has entries; [`Error::Incomplete`] if only the workers' reports
    /// exist; [`Error::Io`] if the disk fails; or as [`JobLedger::open`].
    pub fn begin(directory: &Path, party: Party, job: &JobId, terms: &JobTerms) -> Result<Self, Error> {
        if JobLedger::open(directory, party, terms)?.is_some_and(|book| !book.entries.is_empty()) {
            return Err(Error::Usage(format!(
                "{} already has the ledger of another job",
                directory.display()
            )));
        }
        let lock = lock(directory)?;
        // The file of reports must exist before the ledger.
        let words = OwnReports::begin(directory, job)?;
        let (path, new) = (directory.join("ledger"), directory.join("ledger.new"));
        let mut file = private::options().read(true).create(true).truncate(true).open(&new)?;
        file.write_all(&header(party, job, terms))?;
        file.sync_all()?;
        std::fs::rename(&new, &path)?;
        sync_directory(directory)?;
        let (state, entries, process) = (JobState::new(job, terms), Vec::new(), Process::here());
        Ok(JobLedger { file, job: *job, entries, state, poisoned: false, words, process, _lock: lock })
    }

    /// Writes entries durably, after a check that all of them can follow.
    ///
    /// # Errors
    /// [`Error::Usage`] or [`Error::Limit`] if an entry cannot follow, or in a fork of the process that
    /// opened the ledger; then nothing is written. [`Error::Io`] if the disk fails, and then nothing more can
    /// be written.
    pub fn append(&mut self, entries: &[JobEntry]) -> Result<(), Error> {
        self.process.check()?;
        if self.poisoned {
            return Err(Error::Resource(
                "an earlier write to the ledger failed; start the command again".into(),
            ));
        }
        if entries.is_empty() {
            return Ok(());
        }
        let mut state = self.state.clone();
        let mut bytes = Vec::new();
        for entry in entries {
            state.apply(entry)?;
            let encoded = postcard::to_stdvec(entry).map_err(|e| Error::Resource(e.to_string()))?;
            bytes.extend_from_slice(&(encoded.len() as u32).to_le_bytes());
            bytes.extend_from_slice(&encoded);
            bytes.extend_from_slice(state.head());
        }
        self.poisoned = true;
        self.file.write_all(&bytes)?;
        self.file.sync_data()?;
        self.poisoned = false;
        self.state = state;
        self.entries.extend_from_slice(entries);
        Ok(())
    }

    /// Makes a worker's report, or the result of reading the log of the lane's stock, durable before the
    /// leader learns of it.
    ///
    /// # Errors
    /// [`Error::Io`] if the disk fails; then nothing more can be written. [`Error::Usage`] in a fork.
    pub fn hear(&mut self, news: &News) -> Result<(), Error> {
        self.process.check()?;
        let heard = self.words.hear(news);
        self.poisoned |= heard.is_err();
        heard
    }

    /// Returns the reports of this party's workers, and the results of reading their stocks' logs.
    pub fn said(&self) -> &WorkerReports {
        self.words.said()
    }

    /// Returns the identifier of the job.
    pub fn job(&self) -> &JobId {
        &self.job
    }

    /// Returns all entries, in order.
    pub fn entries(&self) -> &[JobEntry] {
        &self.entries
    }

    /// Returns the state of the job.
    pub fn state(&self) -> &JobState {
        &self.state
    }
}

/// Reads the next entry, the head after the entry, and the entry's length in the file. Returns `None` at the
/// end of the file, or if the entry is incomplete.
fn next(bytes: &[u8], path: &Path) -> Result<Option<(JobEntry, LedgerHead, usize)>, Error> {
    let Some((length, rest)) = bytes.split_first_chunk::<4>() else { return Ok(None) };
    let length = u32::from_le_bytes(*length) as usize;
    if length > MAX_ENTRY_BYTES {
        return Err(damaged(path, "an entry of the ledger is too long"));
    }
    let Some((encoded, rest)) = rest.split_at_checked(length) else { return Ok(None) };
    let Some((head, _)) = rest.split_first_chunk::<32>() else { return Ok(None) };
    let (entry, left) = postcard::take_from_bytes(encoded)
        .map_err(|_| damaged(path, "an entry of the ledger cannot be read"))?;
    match left {
        [] => Ok(Some((entry, *head, 4 + length + 32))),
        _ => Err(damaged(path, "an entry of the ledger has a wrong length")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn terms() -> JobTerms {
        let (security, lanes, retries) = (40, 2, 1);
        let identities = [[1; 32], [2; 32]];
        JobTerms { security, lanes, retries, program: [3; 32], rows: vec![5, 5, 4], identities }
    }

    fn story() -> Vec<JobEntry> {
        vec![
            JobEntry::Fill { lane: 1, attempt: 0, partitions: 2 },
            JobEntry::Filled { lane: 1 },
            JobEntry::Claim { partition: 2, lane: 1 },
            JobEntry::Lost { lane: 1 },
            JobEntry::Doubt { partition: 2 },
            JobEntry::Rerun { partition: 2 },
        ]
    }

    /// Wherever the file is cut off, the complete entries are read, and the job continues after the last of
    /// them.
    #[test]
    fn rows_20_and_21_a_ledger_that_was_cut_off_has_its_whole_entries() {
        let (folder, terms) = (tempfile::tempdir().unwrap(), terms());
        assert!(JobLedger::begin(&folder.path().join("one/in"), Party::Garbler, &[9; 32], &terms).is_ok());
        let mut book = JobLedger::begin(folder.path(), Party::Garbler, &[9; 32], &terms).unwrap();
        let mut ends = vec![HEADER_BYTES];
        let path = folder.path().join("ledger");
        for entry in story() {
            book.append(&[entry]).unwrap();
            ends.push(std::fs::metadata(&path).unwrap().len() as usize);
        }
        let whole = std::fs::read(&path).unwrap();
        // A disk that failed may have written any bytes.
        book.poisoned = true;
        assert!(matches!(book.append(&[JobEntry::Failed]), Err(Error::Resource(_))));
        drop(book);
        // A disk that tears an entry cannot increase its length beyond that of any valid entry.
        let mut longer = whole.clone();
        longer[ends[story().len() - 1]] = MAX_ENTRY_BYTES as u8 + 1;
        std::fs::write(&path, &longer).unwrap();
        assert!(matches!(JobLedger::open(folder.path(), Party::Garbler, &terms), Err(Error::Input(_))));
        for length in 0..=whole.len() {
            std::fs::write(&path, &whole[..length]).unwrap();
            let opened = JobLedger::open(folder.path(), Party::Garbler, &terms);
            if length < HEADER_BYTES {
                assert!(matches!(opened, Err(Error::Input(_))), "{length}");
                continue;
            }
            let mut book = opened.unwrap().unwrap();
            let count = ends.iter().filter(|end| **end <= length).count() - 1;
            assert_eq!(book.entries(), &story()[..count]);
            if let Some(entry) = story().get(count) {
                book.append(std::slice::from_ref(entry)).unwrap();
                drop(book);
                let book = JobLedger::open(folder.path(), Party::Garbler, &terms).unwrap().unwrap();
                assert_eq!(book.entries(), &story()[..=count]);
            }
        }
    }

    /// A changed bit anywhere is noticed; the file belongs to one role, one job, and one process.
    #[test]
    fn rows_23_and_24_a_ledger_that_was_altered_is_refused() {
        let (folder, terms) = (tempfile::tempdir().unwrap(), terms());
        let mut book = JobLedger::begin(folder.path(), Party::Garbler, &[9; 32], &terms).unwrap();
        book.append(&story()).unwrap();
        let again = JobLedger::open(folder.path(), Party::Garbler, &terms);
        assert!(matches!(again, Err(Error::Busy(_))), "{again:?}");
        drop(book);
        let path = folder.path().join("ledger");
        let whole = std::fs::read(&path).unwrap();
        for at in 0..whole.len() {
            for bit in 0..8 {
                let mut altered = whole.clone();
                altered[at] ^= 1 << bit;
                std::fs::write(&path, &altered).unwrap();
                // A length that points beyond the end makes the last entry look incomplete; the peer's
                // ledger, which has one more entry, shows the damage.
                match JobLedger::open(folder.path(), Party::Garbler, &terms) {
                    Err(Error::Input(_)) => {}
                    Ok(Some(book)) => assert!(
                        book.entries().len() >= story().len() - 2 && book.entries().len() < story().len(),
                        "byte {at}, bit {bit}"
                    ),
                    other => panic!("byte {at}, bit {bit}: {other:?}"),
                }
            }
        }
        std::fs::write(&path, &whole).unwrap();
        assert!(JobLedger::open(folder.path(), Party::Evaluator, &terms).is_err());
        assert!(
            JobLedger::open(folder.path(), Party::Garbler, &JobTerms { retries: 2, ..terms.clone() })
                .is_err()
        );
        let over = JobLedger::begin(folder.path(), Party::Garbler, &[8; 32], &terms);
        assert!(matches!(over, Err(Error::Usage(_))), "{over:?}");
        assert!(JobLedger::open(folder.path(), Party::Garbler, &terms).unwrap().is_some());
        assert!(JobLedger::open(&folder.path().join("none"), Party::Garbler, &terms).unwrap().is_none());
    }
}
