//! Reports of this party's workers, and proofs by logs that nothing was taken. Each is stored beside the
//! ledger, durably before the peer learns of it. A report of the peer never replaces a stored report.
//!
//! ```text
//! DIR/said   "brickww\x01"  job [u8; 32]  word*
//!            word = what u8  lane u32  attempt u32  partition u32  check [u8; 32]
//! ```

use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Read, Seek, SeekFrom, Write};
use std::path::Path;

use brickwork_base::digest::Digest;
use brickwork_base::{Error, private};

use crate::coordinator::{Evidence, News, WorkerReports};
use crate::terms::JobId;

const MAGIC: &[u8; 8] = b"brickww\x01";
const NAME: &str = "said";
const HEADER_BYTES: usize = 8 + 32;
const WORD_BYTES: usize = 1 + 3 * 4 + 32;

/// The reports of this party's workers in a job.
#[derive(Debug)]
pub struct OwnReports {
    file: File,
    job: JobId,
    said: WorkerReports,
}

fn word(job: &JobId, what: u8, [lane, attempt, partition]: [u32; 3]) -> [u8; WORD_BYTES] {
    let mut digest = Digest::of("brickwork 2026-11 job word");
    let check = digest.digest(job).number(what).number(lane).number(attempt).number(partition).done();
    let parts = [&[what][..], &lane.to_le_bytes(), &attempt.to_le_bytes(), &partition.to_le_bytes(), &check];
    parts.concat().try_into().expect("45 bytes")
}

/// Returns the stored form of news, for news of the stored kinds.
fn word_of(job: &JobId, news: &News) -> Option<[u8; WORD_BYTES]> {
    match *news {
        News::Filled { lane, attempt } => Some(word(job, 0, [lane, attempt, 0])),
        News::Done { lane, attempt, partition } => Some(word(job, 1, [lane, attempt, partition])),
        News::Found { lane, attempt, partition, evidence: Evidence::NotTaken } => {
            Some(word(job, 2, [lane, attempt, partition]))
        }
        _ => None,
    }
}

/// Reads a report. Returns `None` if the report does not belong to this job.
fn read(job: &JobId, bytes: &[u8; WORD_BYTES]) -> Option<News> {
    let number = |at: usize| u32::from_le_bytes(*bytes[at..].first_chunk().expect("4 bytes"));
    let [lane, attempt, partition] = [1, 5, 9].map(number);
    let news = match bytes[0] {
        0 => News::Filled { lane, attempt },
        1 => News::Done { lane, attempt, partition },
        2 => News::Found { lane, attempt, partition, evidence: Evidence::NotTaken },
        _ => return None,
    };
    (word_of(job, &news)? == *bytes).then_some(news)
}

impl OwnReports {
    /// Makes an empty file of reports.
    ///
    /// # Errors
    /// [`Error::Incomplete`] if an existing file has reports; [`Error::Io`] if the disk fails.
    pub fn begin(directory: &Path, job: &JobId) -> Result<Self, Error> {
        let (path, new) = (directory.join(NAME), directory.join("said.new"));
        match path.metadata() {
            Ok(there) if there.len() > HEADER_BYTES as u64 => {
                return Err(Error::Incomplete(format!(
                    "{} has reports of a job's workers, but the ledger of that job is missing",
                    path.display()
                )));
            }
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(error.into()),
            _ => {}
        }
        let mut file = private::options().read(true).create(true).truncate(true).open(&new)?;
        file.write_all(&[&MAGIC[..], job].concat())?;
        file.sync_all()?;
        std::fs::rename(&new, path)?;
        File::open(directory)?.sync_all()?;
        Ok(OwnReports { file, job: *job, said: WorkerReports::default() })
    }

    /// Reads the reports of a job. An incomplete last report was never sent to anybody, and is removed.
    ///
    /// # Errors
    /// [`Error::Input`] if the file belongs to another job, is damaged or does not exist; [`Error::Io`] if it
    /// cannot be read.
    pub fn open(directory: &Path, job: &JobId) -> Result<Self, Error> {
        let path = directory.join(NAME);
        let damaged = |why: &str| {
            Error::Input(format!("{}: {why}; this job cannot continue with this file", path.display()))
        };
        let file = OpenOptions::new().read(true).write(true).open(&path);
        let mut file = file.map_err(|e| match e.kind() {
            ErrorKind::NotFound => damaged("the file is missing"),
            _ => e.into(),
        })?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes)?;
        let Some(words) = bytes.strip_prefix(&[&MAGIC[..], job].concat()[..]) else {
            return Err(damaged("the file belongs to another job, or is cut off"));
        };
        let mut said = WorkerReports::default();
        let (words, _) = words.as_chunks::<WORD_BYTES>();
        let mut good = 0;
        for bytes in words {
            match read(job, bytes) {
                Some(news) => _ = said.hear(&news),
                // Each report is durable before the next one begins. If the disk fails in the middle of a
                // report, the remaining bytes may be empty.
                None if good + 1 == words.len() && bytes.ends_with(&[0; 8]) => break,
                None => return Err(damaged("a report in it cannot be read")),
            }
            good += 1;
        }
        let end = (HEADER_BYTES + good * WORD_BYTES) as u64;
        file.set_len(end)?;
        file.seek(SeekFrom::Start(end))?;
        Ok(OwnReports { file, job: *job, said })
    }

    /// Makes a worker's report durable, if news of its kind are stored.
    ///
    /// # Errors
    /// [`Error::Io`] if the disk fails.
    pub fn hear(&mut self, news: &News) -> Result<(), Error> {
        if let Some(word) = word_of(&self.job, news)
            && self.said.hear(news)
        {
            self.file.write_all(&word)?;
            self.file.sync_data()?;
        }
        Ok(())
    }

    /// Returns all reports.
    pub fn said(&self) -> &WorkerReports {
        &self.said
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Wherever the file is cut off, complete reports are kept; an altered file is refused and stays.
    #[test]
    fn rows_20_and_21_words_are_whole_or_were_not_said() {
        let folder = tempfile::tempdir().unwrap();
        let (path, job) = (folder.path().join(NAME), [7; 32]);
        let words = [
            News::Filled { lane: 1, attempt: 2 },
            News::Done { lane: 1, attempt: 2, partition: 3 },
            News::Found { lane: 0, attempt: 0, partition: 4, evidence: Evidence::NotTaken },
        ];
        let mut file = OwnReports::begin(folder.path(), &job).unwrap();
        words.iter().for_each(|news| file.hear(news).unwrap());
        // Known reports, and news of another kind, are not written.
        file.hear(&words[1]).unwrap();
        file.hear(&News::Consent { partition: 1 }).unwrap();
        let perhaps = Evidence::PerhapsTaken;
        file.hear(&News::Found { lane: 1, attempt: 0, partition: 1, evidence: perhaps }).unwrap();
        let all = file.said().clone();
        let whole = std::fs::read(&path).unwrap();
        assert_eq!(whole.len(), HEADER_BYTES + 3 * WORD_BYTES);
        for length in 0..=whole.len() {
            std::fs::write(&path, &whole[..length]).unwrap();
            let opened = OwnReports::open(folder.path(), &job);
            let Some(said) = length.checked_sub(HEADER_BYTES) else {
                assert!(matches!(opened, Err(Error::Input(_))), "{length}");
                continue;
            };
            let mut opened = opened.unwrap();
            let mut expected = WorkerReports::default();
            words[..said / WORD_BYTES].iter().for_each(|news| _ = expected.hear(news));
            assert_eq!(*opened.said(), expected, "{length}");
            // The file continues after the last complete report.
            words.iter().for_each(|news| opened.hear(news).unwrap());
            drop(opened);
            assert_eq!(*OwnReports::open(folder.path(), &job).unwrap().said(), all);
        }
        for at in 0..whole.len() {
            let mut bytes = whole.clone();
            bytes[at] ^= 1;
            std::fs::write(&path, &bytes).unwrap();
            match OwnReports::open(folder.path(), &job) {
                Err(Error::Input(_)) => assert_eq!(std::fs::read(&path).unwrap(), bytes, "byte {at}"),
                other => panic!("byte {at}: {other:?}"),
            }
        }
        let torn = [&whole[..HEADER_BYTES + 2 * WORD_BYTES + 7], &[0; WORD_BYTES - 7]].concat();
        std::fs::write(&path, torn).unwrap();
        assert_ne!(*OwnReports::open(folder.path(), &job).unwrap().said(), all);
        std::fs::write(&path, &whole).unwrap();
        assert!(matches!(OwnReports::open(folder.path(), &[8; 32]), Err(Error::Input(_))));
        // Another job does not overwrite the file, nor does the same job whose ledger is missing.
        for job in [job, [8; 32]] {
            assert!(matches!(OwnReports::begin(folder.path(), &job), Err(Error::Incomplete(_))));
        }
        assert_eq!(std::fs::read(&path).unwrap(), whole);
        std::fs::remove_file(&path).unwrap();
        assert!(matches!(OwnReports::open(folder.path(), &job), Err(Error::Input(_))));
    }
}
