//! Row 26 of the table of attacks (docs/concepts/security.md, section 14): a ledger in a forked process
//! cannot be written. This test has a file of its own because it marks the whole process as a fork.

use brickwork_base::{Error, Party, process};
use brickwork_jobs::coordinator::News;
use brickwork_jobs::ledger::JobEntry;
use brickwork_jobs::ledger_file::JobLedger;
use brickwork_jobs::terms::JobTerms;

#[test]
fn row_26_a_fork_writes_nothing_into_a_ledger() {
    let folder = tempfile::tempdir().unwrap();
    let identities = [[1; 32], [2; 32]];
    let terms = JobTerms { security: 40, lanes: 1, retries: 0, program: [0; 32], rows: vec![1], identities };
    let mut book = JobLedger::begin(folder.path(), Party::Garbler, &[0; 32], &terms).unwrap();
    book.append(&[JobEntry::Fill { lane: 0, attempt: 0, partitions: 1 }]).unwrap();
    process::forked();
    assert!(matches!(book.append(&[JobEntry::Filled { lane: 0 }]), Err(Error::Usage(_))));
    assert!(matches!(book.hear(&News::Filled { lane: 0, attempt: 0 }), Err(Error::Usage(_))));
    drop(book);
    let book = JobLedger::open(folder.path(), Party::Garbler, &terms).unwrap().unwrap();
    assert_eq!((book.entries().len(), book.said()), (1, &Default::default()));
}
