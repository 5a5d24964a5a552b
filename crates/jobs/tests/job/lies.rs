//! A coordinator with scripted workers, over a real connection to a peer's coordinator that sends anything.

use std::collections::VecDeque;

use brickwork_base::Malformed;
use brickwork_base::digest::Digest;
use brickwork_jobs::control::{FollowerAnswer, LeaderProposal, msg};
use brickwork_jobs::ledger_file::JobLedger;
use brickwork_protocol::PROTOCOL_VERSION;

use super::*;

/// Workers with scripted news at their start and at their end.
#[derive(Default)]
struct Script {
    first: VecDeque<News>,
    last: Vec<News>,
    orders: Vec<WorkerOrder>,
    /// The workers' news after an order.
    answers: Option<fn(&WorkerOrder) -> Option<News>>,
}

impl JobWorkers for Script {
    fn obey(&mut self, order: WorkerOrder) -> Result<(), Error> {
        self.first.extend(self.answers.and_then(|answers| answers(&order)));
        self.orders.push(order);
        Ok(())
    }

    fn look(&mut self, _: u32, _: u32, _: Partition) -> Evidence {
        Evidence::PerhapsTaken
    }

    fn news(&mut self, _: Duration) -> Result<Vec<News>, Error> {
        Ok(self.first.drain(..).collect())
    }

    fn kept(&mut self) -> Result<BTreeSet<Partition>, Error> {
        Ok(BTreeSet::new())
    }

    fn begins(&mut self, _: &JobId, _: &JobTerms) -> Result<(), Error> {
        Ok(())
    }

    fn end(&mut self) {
        self.first.extend(self.last.drain(..));
    }
}

fn terms(lanes: u32, retries: u32, partitions: usize) -> JobTerms {
    let identities = [[1; 32], [2; 32]];
    JobTerms { security: 40, lanes, retries, program: [3; 32], rows: vec![1; partitions], identities }
}

/// Greets as a coordinator without a job, and returns the state of the new job.
fn meet(channel: &mut Channel, party: Party, terms: &JobTerms) -> JobState {
    let mut hello = b"BRWJ".to_vec();
    hello.extend(PROTOCOL_VERSION.to_le_bytes());
    hello.extend([0; 33]);
    hello.extend(terms.digest());
    hello.extend([9; 32]);
    hello.extend([0; 40]);
    channel.send(msg::JOB, &hello).unwrap();
    let mut theirs = [0; 145];
    channel.receive_first_into(msg::JOB, &mut theirs).unwrap();
    let nonce: [u8; 32] = *theirs[73..].first_chunk().unwrap();
    let nonces = if party == Party::Garbler { [[9; 32], nonce] } else { [nonce, [9; 32]] };
    let mut digest = Digest::of("brickwork 2026-11 job identifier");
    let job = digest.digest(&nonces[0]).digest(&nonces[1]).digest(&terms.digest()).done();
    JobState::new(&job, terms)
}

/// Runs a coordinator against a peer that the test plays. Returns its result and its workers.
fn against(
    folder: &Path,
    party: Party,
    terms: &JobTerms,
    mut workers: Script,
    peer: impl FnOnce(Channel) + Send,
) -> (Result<JobOutcome, Error>, Script) {
    let (left, right) = memory_pair();
    let manner = Manner { listens: true, only_fills: false, at_once: None };
    std::thread::scope(|scope| {
        scope.spawn(|| peer(right));
        let result = coordinate(left, party, &folder.join("ledger"), terms, (manner, &[]), &mut workers);
        (result, workers)
    })
}

fn propose(channel: &mut Channel, entries: Vec<JobEntry>, news: Vec<News>) -> Result<FollowerAnswer, Error> {
    let proposal = LeaderProposal { over: false, entries, news };
    channel.send(msg::PROPOSE, &postcard::to_stdvec(&proposal).unwrap())?;
    Ok(FollowerAnswer::read(&channel.receive_up_to(msg::WROTE, 1 << 20)?)
        .map_err(|_: Malformed| Malformed::UnexpectedMessage)?)
}

/// **A leader that claims that everything is done.** A follower whose worker has made no stock, or has run
/// nothing, does not accept the peer's claim.
#[test]
fn row_16_no_word_stands_for_that_of_the_own_worker() {
    let terms = terms(1, 1, 2);
    let fill = JobEntry::Fill { lane: 0, attempt: 0, partitions: 2 };
    let gone = News::Gone { lane: 0, attempt: 0, cause: WorkerEnding::Line };
    let (filled, claim) = (JobEntry::Filled { lane: 0 }, JobEntry::Claim { partition: 0, lane: 0 });
    let said = News::Filled { lane: 0, attempt: 0 };
    for (says, lie) in [(None, filled.clone()), (Some(said), JobEntry::Done { partition: 0 })] {
        let folder = tempfile::tempdir().unwrap();
        let workers = Script { first: [gone.clone()].into(), ..Script::default() };
        let is_honest_so_far = says.is_some();
        let workers = Script { first: says.into_iter().chain(workers.first).collect(), ..workers };
        let (result, workers) = against(folder.path(), Party::Evaluator, &terms, workers, |mut channel| {
            meet(&mut channel, Party::Garbler, &terms);
            let mut entries = vec![fill.clone()];
            if is_honest_so_far {
                entries.extend([filled.clone(), claim.clone()]);
            }
            propose(&mut channel, entries, vec![gone.clone()]).unwrap();
            assert!(propose(&mut channel, vec![lie], Vec::new()).is_err());
        });
        assert!(matches!(&result, Err(Error::Mismatch(_))), "{result:?}");
        assert!(workers.orders.contains(&WorkerOrder::Start { lane: 0, attempt: 0, address: None }));
    }
}

/// **A connection that breaks at the right moment.** The peer breaks the connection, and a worker sees a
/// failed check while its coordinator ends it. The failure is recorded like any other, for any attempt and at
/// either party.
#[test]
fn row_16_a_failed_check_is_not_forgotten_with_the_line() {
    let terms = terms(1, 1, 1);
    for party in [Party::Garbler, Party::Evaluator] {
        for cause in [WorkerEnding::Check, WorkerEnding::Line] {
            let folder = tempfile::tempdir().unwrap();
            let workers =
                Script { last: vec![News::Gone { lane: 0, attempt: 3, cause }], ..Script::default() };
            let (result, _) = against(folder.path(), party, &terms, workers, |mut channel| {
                meet(
                    &mut channel,
                    if party == Party::Garbler { Party::Evaluator } else { Party::Garbler },
                    &terms,
                );
                if party == Party::Evaluator {
                    propose(&mut channel, Vec::new(), Vec::new()).unwrap();
                }
            });
            let ledger = JobLedger::open(&folder.path().join("ledger"), party, &terms).unwrap().unwrap();
            assert_eq!(ledger.entries().contains(&JobEntry::Failed), cause == WorkerEnding::Check);
            match cause {
                WorkerEnding::Check => assert!(result.unwrap().state.has_failed()),
                _ => assert!(matches!(result, Err(Error::Io(_))), "{result:?}"),
            }
        }
    }
}

/// The users of both parties allow more partitions to run again than fit into one proposal, and all of them
/// run.
#[test]
fn seventy_partitions_run_again() {
    let folder = tempfile::tempdir().unwrap();
    // All permitted stocks were begun, so open partitions do not run.
    let terms = terms(1, 0, 70);
    let mut entries =
        vec![JobEntry::Fill { lane: 0, attempt: 0, partitions: 70 }, JobEntry::Filled { lane: 0 }];
    for partition in 0..70 {
        entries.extend([
            JobEntry::Claim { partition, lane: 0 },
            JobEntry::Lost { lane: 0 },
            JobEntry::Doubt { partition },
            JobEntry::Resume { lane: 0, attempt: partition + 1 },
        ]);
    }
    // The lane's stock is used up.
    entries.pop();
    let (left, right) = memory_pair();
    let one = |party: Party, channel| {
        let ledger = folder.path().join(format!("{party:?}"));
        let mut book = JobLedger::begin(&ledger, party, &[5; 32], &terms).unwrap();
        book.append(&entries).unwrap();
        drop(book);
        let consents = (0..70).map(|partition| News::Consent { partition }).collect();
        let mut workers = Script { first: consents, ..Script::default() };
        let manner = Manner { listens: true, only_fills: false, at_once: None };
        coordinate(channel, party, &ledger, &terms, (manner, &[]), &mut workers)
    };
    let [garbler, evaluator] = std::thread::scope(|scope| {
        let garbler = scope.spawn(|| one(Party::Garbler, left));
        let evaluator = one(Party::Evaluator, right);
        [garbler.join().unwrap().unwrap(), evaluator.unwrap()]
    });
    assert_eq!(garbler.state, evaluator.state);
    assert_eq!((garbler.state.tally().open, garbler.state.tally().in_doubt), (70, 0));
}

/// Greets as a coordinator that continues this job with this state of the ledger.
fn meet_again(channel: &mut Channel, terms: &JobTerms, state: &JobState, job: &JobId) {
    let mut hello = b"BRWJ".to_vec();
    hello.extend(PROTOCOL_VERSION.to_le_bytes());
    hello.push(1);
    hello.extend(job);
    hello.extend(terms.digest());
    hello.extend([9; 32]);
    hello.extend(state.entries().to_le_bytes());
    hello.extend(state.head());
    channel.send(msg::JOB, &hello).unwrap();
    channel.receive_first_into(msg::JOB, &mut [0; 145]).unwrap();
}

/// **A doubt that is sent together with the decision to run again.** A user's consent to an earlier doubt is
/// not valid for a new doubt that the leader proposes just before the partition.
#[test]
fn row_16_a_consent_is_not_about_a_doubt_that_comes_with_it() {
    let (terms, job) = (terms(1, 0, 4), [5; 32]);
    let lost = [JobEntry::Lost { lane: 0 }, JobEntry::Doubt { partition: 3 }];
    for was_seen in [false, true] {
        let folder = tempfile::tempdir().unwrap();
        let mut book =
            JobLedger::begin(&folder.path().join("ledger"), Party::Evaluator, &job, &terms).unwrap();
        let begun = [
            JobEntry::Fill { lane: 0, attempt: 0, partitions: 4 },
            JobEntry::Filled { lane: 0 },
            JobEntry::Claim { partition: 3, lane: 0 },
        ];
        book.append(&begun).unwrap();
        if was_seen {
            book.append(&lost).unwrap();
        }
        let state = book.state().clone();
        drop(book);
        let workers = Script { first: [News::Consent { partition: 3 }].into(), ..Script::default() };
        let (result, _) = against(folder.path(), Party::Evaluator, &terms, workers, |mut channel| {
            meet_again(&mut channel, &terms, &state, &job);
            let mut entries = if was_seen { Vec::new() } else { lost.to_vec() };
            entries.push(JobEntry::Rerun { partition: 3 });
            assert_eq!(propose(&mut channel, entries, Vec::new()).is_ok(), was_seen);
        });
        match was_seen {
            true => assert!(matches!(&result, Err(Error::Io(_))), "{result:?}"),
            false => assert!(matches!(&result, Err(Error::Mismatch(_))), "{result:?}"),
        }
    }
}

/// **A leader that begins again and again.** The follower delays lanes, too, whatever the leader proposes.
#[test]
fn row_18_lanes_rest_whatever_the_leader_proposes() {
    let terms = terms(1, 1, 2);
    let answers = |order: &WorkerOrder| match *order {
        WorkerOrder::Start { lane, attempt: attempt @ 1.., .. } => {
            Some(News::Gone { lane, attempt, cause: WorkerEnding::Line })
        }
        WorkerOrder::Fill { lane, .. } => Some(News::Filled { lane, attempt: 0 }),
        WorkerOrder::Stop { lane } => Some(News::Gone { lane, attempt: 0, cause: WorkerEnding::Stopped }),
        _ => None,
    };
    let gone = News::Gone { lane: 0, attempt: 0, cause: WorkerEnding::Line };
    let folder = tempfile::tempdir().unwrap();
    let workers = Script { answers: Some(answers), ..Script::default() };
    let (result, _) = against(folder.path(), Party::Evaluator, &terms, workers, |mut channel| {
        meet(&mut channel, Party::Garbler, &terms);
        let mut says = |entries: Vec<JobEntry>| drop(propose(&mut channel, entries, Vec::new()).unwrap());
        says(vec![JobEntry::Fill { lane: 0, attempt: 0, partitions: 2 }]);
        says(vec![JobEntry::Filled { lane: 0 }]);
        // If the peer's worker has ended, this party's worker stops.
        propose(&mut channel, Vec::new(), vec![gone.clone()]).unwrap();
        let begun = Instant::now();
        for attempt in 1..=4 {
            propose(&mut channel, vec![JobEntry::Lost { lane: 0 }], Vec::new()).unwrap();
            propose(&mut channel, vec![JobEntry::Resume { lane: 0, attempt }], Vec::new()).unwrap();
        }
        assert!(begun.elapsed() >= Duration::from_millis(100 + 200 + 400 + 800), "{:?}", begun.elapsed());
    });
    assert!(matches!(&result, Err(Error::Io(_))), "{result:?}");
}
