//! The files of a job at one party: its ledger, and the reports of its workers. Entries are written as jobs
//! write them, the bytes of the file are altered, and the file is opened again.
//!
//! Used by the fuzz target and, with the seeds, by the tests.
#![allow(dead_code)]

use std::path::Path;

use brickwork::ProtocolError as Error;
use brickwork::circuit::Party;
use brickwork::jobs::coordinator::{Evidence, News, WorkerReports};
use brickwork::jobs::ledger::{JobEntry, JobState};
use brickwork::jobs::ledger_file::JobLedger;
use brickwork::jobs::reports::OwnReports;
use brickwork::jobs::terms::JobTerms;

use super::altered::{Edits, IDENTITIES};

const JOB: [u8; 32] = [5; 32];

/// Reads how to make the two files of a job. The lowest bit of the first byte selects the file. If the next
/// bit is set, all remaining bytes are the file. Otherwise the second byte is the number of words of four
/// bytes that follow, which are entries or news. After the words come edits of the file. Returns whether the
/// file is unchanged, or was accepted completely.
pub fn ledgers(data: &[u8]) -> bool {
    let Some((&kind, data)) = data.split_first() else { return false };
    let folder = folder();
    let (says, is_raw) = (kind & 1 != 0, kind & 2 != 0);
    if is_raw {
        let name = if says { "said" } else { "ledger" };
        drop(JobLedger::begin(folder.path(), Party::Garbler, &JOB, &terms()).expect("a ledger"));
        std::fs::write(folder.path().join(name), data).expect("a file");
        return match says {
            true => understood(OwnReports::open(folder.path(), &JOB)).is_some(),
            false => understood(JobLedger::open(folder.path(), Party::Garbler, &terms())).is_some(),
        };
    }
    let Some((&count, data)) = data.split_first() else { return false };
    let (words, edits) = data.split_at(data.len().min(4 * usize::from(count)));
    let (words, edits) = (words.as_chunks::<4>().0, Edits::parse(edits));
    if says { said(folder.path(), words, edits) } else { ledger(folder.path(), words, edits) }
}

/// Makes a folder, in memory if possible.
fn folder() -> tempfile::TempDir {
    let memory = Path::new("/dev/shm");
    let made = if memory.is_dir() { tempfile::tempdir_in(memory) } else { tempfile::tempdir() };
    made.expect("a folder")
}

fn terms() -> JobTerms {
    JobTerms {
        security: 40,
        lanes: 2,
        retries: 3,
        program: [3; 32],
        rows: vec![1; 4],
        identities: IDENTITIES,
    }
}

/// A file is accepted, or refused as damaged; every other result is a finding.
fn understood<T>(opened: Result<T, Error>) -> Option<T> {
    match opened {
        Ok(opened) => Some(opened),
        Err(Error::Input(_)) => None,
        Err(other) => panic!("{other}"),
    }
}

fn entry([kind, lane, attempt, number]: [u8; 4]) -> JobEntry {
    let (lane, attempt, number) = (u32::from(lane % 3), attempt.into(), u32::from(number % 5));
    match kind % 10 {
        0 => JobEntry::Fill { lane, attempt, partitions: number },
        1 => JobEntry::Filled { lane },
        2 => JobEntry::Lost { lane },
        3 => JobEntry::Resume { lane, attempt },
        4 => JobEntry::Claim { partition: number, lane },
        5 => JobEntry::Done { partition: number },
        6 => JobEntry::Free { partition: number },
        7 => JobEntry::Doubt { partition: number },
        8 => JobEntry::Rerun { partition: number },
        _ => JobEntry::Failed,
    }
}

/// An altered ledger gives the entries that were written, from the first entry on, and can continue.
fn ledger(folder: &Path, words: &[[u8; 4]], edits: Edits) -> bool {
    let mut book = JobLedger::begin(folder, Party::Garbler, &JOB, &terms()).expect("a ledger");
    let mut written = Vec::new();
    for entry in words.iter().map(|word| entry(*word)) {
        let before = book.state().clone();
        match book.append(std::slice::from_ref(&entry)) {
            Ok(()) => written.push(entry),
            Err(_) => assert_eq!(*book.state(), before, "what cannot follow changes nothing"),
        }
    }
    drop(book);
    alter(&folder.join("ledger"), edits);
    let opened = understood(JobLedger::open(folder, Party::Garbler, &terms()));
    let Some(mut book) = opened.map(|book| book.expect("there is one")) else { return false };
    let read = book.entries().to_vec();
    assert!(written.starts_with(&read), "{read:?} of {written:?}");
    // The hash chain protects the name of the job, from the first entry on.
    assert!(read.is_empty() || *book.job() == JOB);
    let mut state = JobState::new(book.job(), &terms());
    read.iter().for_each(|entry| state.apply(entry).expect("it could follow"));
    assert_eq!(*book.state(), state);
    let rest = &written[read.len()..];
    book.append(rest).expect("what followed once can follow again");
    drop(book);
    let again = JobLedger::open(folder, Party::Garbler, &terms()).expect("a ledger").expect("a ledger");
    assert_eq!(again.entries(), written);
    rest.is_empty()
}

/// An altered file of reports gives all reports, or the first of them.
fn said(folder: &Path, words: &[[u8; 4]], edits: Edits) -> bool {
    let news = |&[kind, lane, attempt, partition]: &[u8; 4]| {
        let (lane, attempt, partition) = (lane.into(), attempt.into(), partition.into());
        match kind % 4 {
            0 => News::Filled { lane, attempt },
            1 => News::Done { lane, attempt, partition },
            2 => News::Found { lane, attempt, partition, evidence: Evidence::NotTaken },
            _ => News::Consent { partition },
        }
    };
    let mut file = OwnReports::begin(folder, &JOB).expect("a file");
    let mut known = vec![WorkerReports::default()];
    for news in words.iter().map(news) {
        file.hear(&news).expect("it is written");
        known.push(file.said().clone());
    }
    drop(file);
    alter(&folder.join("said"), edits);
    let Some(read) = understood(OwnReports::open(folder, &JOB)) else { return false };
    assert!(known.contains(read.said()), "nobody has said this");
    known.last() == Some(read.said())
}

fn alter(path: &Path, mut edits: Edits) {
    let bytes = std::fs::read(path).expect("a file");
    std::fs::write(path, edits.apply(bytes)).expect("a file");
}
