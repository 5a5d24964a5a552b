//! The connection between the two coordinators of a job, and the main loop of a coordinator.
//!
//! ```text
//! both   JOB      version, job, terms, a nonce; where the ledger stands                       145
//! then, again and again, the leader first:
//! G      PROPOSE  entries that are durable in its ledger; what became known of its workers  <= 128 Ki
//! E      WROTE    the head of its ledger, which now has them, too; what became known
//!                 of its workers                                                             <= 128 Ki
//! ```
//!
//! The leader waits for each answer, so its ledger is ahead by at most one proposal. A ledger that is further
//! behind, or has a different head, is an old copy, which is refused. No message is secret, and no decision
//! that could run a partition twice depends on a message alone ([`crate::coordinator`]). When a check fails,
//! this party records the failure, ends its workers and closes the connection without a message, as after any
//! other error.

use std::collections::BTreeSet;
use std::fmt;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use brickwork_base::digest::Digest;
use brickwork_base::random::Rng;
use brickwork_base::{Error, Malformed, Party};
use brickwork_protocol::PROTOCOL_VERSION;
use brickwork_wire::Channel;
use serde::{Deserialize, Serialize};

use crate::coordinator::{
    Evidence, Follower, Leader, MAX_NEWS, MAX_PROPOSED, Manner, News, WorkerEnding, WorkerOrder,
};
use crate::ledger::{JobEntry, JobState, PartitionState, Tally};
use crate::ledger_file::JobLedger;
use crate::terms::{JobId, JobTerms, LaneNumber, Partition};

/// The messages of coordinators.
pub mod msg {
    use brickwork_wire::Tag;

    /// From both parties: the identifier of the job, and the position of the ledger.
    pub const JOB: Tag = Tag(240);
    /// Leader: entries of its ledger, and news.
    pub const PROPOSE: Tag = Tag(241);
    /// Follower: the head of its ledger, and news.
    pub const WROTE: Tag = Tag(242);
}

/// The largest number of bytes of a message.
const MAX_BYTES: usize = 128 << 10;

/// The largest number of bytes of an address.
const MAX_ADDRESS_BYTES: usize = 256;

/// The time for which the leader waits for news before it sends a message anyway.
const TICK: Duration = Duration::from_millis(20);

/// Bytes of the first message.
pub const HELLO_BYTES: usize = 4 + 4 + 1 + 32 + 32 + 32 + 8 + 32;

/// A party's workers, wherever they run.
pub trait JobWorkers {
    /// Starts an order and returns at once; the result comes as news. The order is never
    /// [`WorkerOrder::Look`].
    ///
    /// # Errors
    /// If the workers cannot go on.
    fn obey(&mut self, order: WorkerOrder) -> Result<(), Error>;

    /// Reads the log of a lane's stock, after the last of this party's workers of the lane has ended.
    /// `attempt` is the lane's last attempt; a store of another attempt is another stock.
    fn look(&mut self, lane: LaneNumber, attempt: u32, partition: Partition) -> Evidence;

    /// Waits for news, at most for this time.
    ///
    /// # Errors
    /// If the workers cannot continue.
    fn news(&mut self, wait: Duration) -> Result<Vec<News>, Error>;

    /// Returns the partitions whose results exist.
    ///
    /// # Errors
    /// If the results cannot be listed.
    fn kept(&mut self) -> Result<BTreeSet<Partition>, Error>;

    /// Receives the job and its terms, before any order.
    ///
    /// # Errors
    /// If the workers cannot work for this job.
    fn begins(&mut self, job: &JobId, terms: &JobTerms) -> Result<(), Error>;

    /// Receives the progress of the job, whenever it has changed.
    fn stands(&mut self, _progress: JobProgress) {}

    /// Ends all workers, and waits until they have ended.
    fn end(&mut self);
}

/// The progress of a job: the number of partitions in each state, and of stocks that were begun.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct JobProgress {
    /// Completed partitions.
    pub done: u32,
    /// Claimed partitions.
    pub claimed: u32,
    /// Partitions that may run.
    pub open: u32,
    /// Partitions in doubt.
    pub in_doubt: u32,
    /// Parts of the promise that are charged to stocks.
    pub spent: u32,
}

impl From<&JobState> for JobProgress {
    fn from(state: &JobState) -> Self {
        let Tally { open, claimed, done, in_doubt } = state.tally();
        JobProgress { done, claimed, open, in_doubt, spent: state.spent() }
    }
}

impl fmt::Display for JobProgress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let JobProgress { done, claimed, open, in_doubt, spent } = self;
        write!(f, "{done} done, {claimed} claimed, {open} open, {in_doubt} in doubt; stocks begun: {spent}")
    }
}

/// The last progress that the object with the workers has received.
#[derive(Default)]
struct Told(Option<JobProgress>);

impl Told {
    fn tell(&mut self, state: &JobState, workers: &mut dyn JobWorkers) {
        let now = JobProgress::from(state);
        if self.0.replace(now) != Some(now) {
            workers.stands(now);
        }
    }
}

/// The result of a job.
#[derive(Debug)]
pub struct JobOutcome {
    /// The job.
    pub job: JobId,
    /// The state of its ledger.
    pub state: JobState,
    /// Completed partitions whose results do not exist any more.
    pub missing: BTreeSet<Partition>,
}

/// A message of the leader.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub struct LeaderProposal {
    /// True if the job is over.
    pub over: bool,
    /// Durable entries of the leader's ledger.
    pub entries: Vec<JobEntry>,
    /// News of the leader's workers.
    pub news: Vec<News>,
}

/// An answer of the follower.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub struct FollowerAnswer {
    /// The head of the follower's ledger.
    pub head: [u8; 32],
    /// News of the follower's workers.
    pub news: Vec<News>,
}

fn bounded(news: &[News]) -> bool {
    let fits = |news: &News| match news {
        News::Listens { address, .. } => address.len() <= MAX_ADDRESS_BYTES,
        _ => true,
    };
    news.len() <= MAX_NEWS && news.iter().all(fits)
}

/// Reads a message of limited size, without trailing bytes.
fn read<T: for<'d> Deserialize<'d>>(bytes: &[u8], fits: impl Fn(&T) -> bool) -> Result<T, Malformed> {
    match postcard::take_from_bytes::<T>(bytes) {
        Ok((message, [])) if fits(&message) => Ok(message),
        _ => Err(Malformed::UnexpectedMessage),
    }
}

impl LeaderProposal {
    /// Reads a proposal.
    ///
    /// # Errors
    /// [`Malformed::UnexpectedMessage`] if it is malformed or too long.
    pub fn read(bytes: &[u8]) -> Result<Self, Malformed> {
        read(bytes, |proposal: &Self| proposal.entries.len() <= MAX_PROPOSED && bounded(&proposal.news))
    }
}

impl FollowerAnswer {
    /// Reads an answer.
    ///
    /// # Errors
    /// [`Malformed::UnexpectedMessage`] if it is malformed or too long.
    pub fn read(bytes: &[u8]) -> Result<Self, Malformed> {
        read(bytes, |answer: &Self| bounded(&answer.news))
    }
}

fn encoded(message: &impl Serialize) -> Result<Vec<u8>, Error> {
    postcard::to_stdvec(message).map_err(|e| Error::Resource(e.to_string()))
}

/// The first message of either party.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Hello {
    job: Option<JobId>,
    terms: [u8; 32],
    nonce: [u8; 32],
    entries: u64,
    head: [u8; 32],
}

impl Hello {
    fn to_bytes(self) -> [u8; HELLO_BYTES] {
        let mut bytes = [0; HELLO_BYTES];
        let parts: [&[u8]; 8] = [
            b"BRWJ",
            &PROTOCOL_VERSION.to_le_bytes(),
            &[self.job.is_some().into()],
            &self.job.unwrap_or_default(),
            &self.terms,
            &self.nonce,
            &self.entries.to_le_bytes(),
            &self.head,
        ];
        bytes.copy_from_slice(&parts.concat());
        bytes
    }

    fn from_bytes(bytes: &[u8; HELLO_BYTES]) -> Result<Self, Error> {
        let at = |from: usize| -> [u8; 32] { *bytes[from..].first_chunk().expect("32 bytes") };
        if bytes[..4] != *b"BRWJ" {
            return Err(Error::Mismatch("the peer is not a coordinator of Brickwork".into()));
        }
        if bytes[4..8] != PROTOCOL_VERSION.to_le_bytes() {
            return Err(Error::Mismatch(
                "the peer's coordinator has another version; install the same release on both sides".into(),
            ));
        }
        let entries = u64::from_le_bytes(*bytes[105..].first_chunk().expect("8 bytes"));
        let job = match (bytes[8], at(9)) {
            (0, job) if job == JobId::default() => None,
            (1, job) => Some(job),
            _ => return Err(Malformed::UnexpectedMessage.into()),
        };
        Ok(Hello { job, terms: at(41), nonce: at(73), entries, head: at(113) })
    }
}

/// Reads a coordinator's first message and writes it again, for the fuzz targets; returns `None` if the
/// message is malformed or of another version.
pub fn hello_again(bytes: &[u8; HELLO_BYTES]) -> Option<[u8; HELLO_BYTES]> {
    Hello::from_bytes(bytes).ok().map(Hello::to_bytes)
}

fn old_copy(whose: &str) -> Error {
    Error::Stock(format!(
        "{whose} ledger is an old copy or belongs to another job. It lacks the latest partitions, which \
         could run a second time. Restore the newest ledger, or begin another job in a new folder"
    ))
}

/// Returns a file of a started job beside its ledger, if there is one: the folder of a lane, or the file of
/// the lanes' machines.
fn left_behind(directory: &Path) -> Result<Option<PathBuf>, Error> {
    let Some(folder) = directory.parent() else { return Ok(None) };
    let entries = match std::fs::read_dir(folder) {
        Err(e) if e.kind() == ErrorKind::NotFound => return Ok(None),
        entries => entries?,
    };
    for entry in entries {
        let entry = entry?;
        let name = entry.file_name();
        if name.to_string_lossy().starts_with("lane-") || name == "machines.json" {
            return Ok(Some(entry.path()));
        }
    }
    Ok(None)
}

/// Checks that no files are left without an explanation in this ledger: stores of a job whose ledger is lost,
/// or results of another job.
fn is_tidy(begun: Option<&JobLedger>, directory: &Path, workers: &mut dyn JobWorkers) -> Result<(), Error> {
    if begun.is_none()
        && let Some(path) = left_behind(directory)?
    {
        return Err(Error::Stock(format!(
            "{} belongs to a job whose ledger is missing or an old copy, so its partitions could run a \
             second time. Restore the ledger, or begin another job in a new folder",
            path.display()
        )));
    }
    let entries = begun.map_or(&[][..], JobLedger::entries);
    let ran = |entry: &JobEntry| match entry {
        JobEntry::Claim { partition, .. } => Some(*partition),
        _ => None,
    };
    let ran: BTreeSet<Partition> = entries.iter().filter_map(ran).collect();
    match workers.kept()?.difference(&ran).next() {
        None => Ok(()),
        Some(partition) => Err(Error::Usage(format!(
            "the folder for this job's results already has a result of partition {partition}, which this \
             job has not run: move that result away, or give another sink"
        ))),
    }
}

/// Compares the jobs and the ledgers of both coordinators, and begins or continues the job.
///
/// # Errors
/// [`Error::Mismatch`] if the peer means another job, [`Error::Stock`] if a ledger is an old copy or lost,
/// [`Error::Usage`] if results of another job exist.
fn meet(
    channel: &mut Channel,
    party: Party,
    directory: &Path,
    terms: &JobTerms,
    workers: &mut dyn JobWorkers,
) -> Result<(JobLedger, u64), Error> {
    terms.check()?;
    let book = JobLedger::open(directory, party, terms)?;
    let mut nonce = [0; 32];
    Rng::new("brickwork job nonce")?.fill(&mut nonce);
    let begun = book.as_ref().filter(|book| !book.entries().is_empty());
    is_tidy(begun, directory, workers)?;
    let state = begun.map(|book| book.state());
    let mine = Hello {
        job: begun.map(|book| *book.job()),
        terms: terms.digest(),
        nonce,
        entries: state.map_or(0, JobState::entries),
        head: state.map_or([0; 32], |state| *state.head()),
    };
    channel.send(msg::JOB, &mine.to_bytes())?;
    let mut bytes = [0; HELLO_BYTES];
    channel.receive_first_into(msg::JOB, &mut bytes)?;
    let theirs = Hello::from_bytes(&bytes)?;
    if theirs.terms != mine.terms {
        return Err(Error::Mismatch(
            "the two parties have different jobs: compare the program, the rows of each partition, \
             --security, lanes and retries"
                .into(),
        ));
    }
    match (mine.job, theirs.job, book) {
        (Some(job), Some(other), Some(book)) if job == other => {
            compare(party, &book, &theirs, terms)?;
            Ok((book, theirs.entries))
        }
        // The leader writes first, so a ledger without entries may be a follower's whose leader already has
        // entries.
        (Some(_), None, Some(book)) if party == Party::Garbler => {
            resumed(&book, mine.entries)?;
            channel.send(msg::JOB, book.job())?;
            Ok((book, 0))
        }
        (None, Some(job), book) if party == Party::Evaluator => {
            drop(book);
            if theirs.entries > MAX_PROPOSED as u64 {
                return Err(old_copy("this party's"));
            }
            let named = channel.receive(msg::JOB, 32)?;
            if named != job {
                return Err(Malformed::UnexpectedMessage.into());
            }
            Ok((JobLedger::begin(directory, party, &job, terms)?, theirs.entries))
        }
        (None, None, book) => {
            drop(book);
            let nonces =
                if party == Party::Garbler { [&nonce, &theirs.nonce] } else { [&theirs.nonce, &nonce] };
            let job = Digest::of("brickwork 2026-11 job identifier")
                .digest(nonces[0])
                .digest(nonces[1])
                .digest(&mine.terms)
                .done();
            Ok((JobLedger::begin(directory, party, &job, terms)?, 0))
        }
        (Some(_), _, _) => Err(old_copy("the peer's")),
        (None, Some(_), _) => Err(old_copy("this party's")),
    }
}

/// Continues as a leader whose first proposal did not arrive.
fn resumed(book: &JobLedger, entries: u64) -> Result<(), Error> {
    match entries <= MAX_PROPOSED as u64 && book.entries().len() as u64 == entries {
        true => Ok(()),
        false => Err(old_copy("the peer's")),
    }
}

/// Compares two ledgers of one job: the leader's may be ahead by one proposal.
fn compare(party: Party, book: &JobLedger, theirs: &Hello, terms: &JobTerms) -> Result<(), Error> {
    let mine = book.state().entries();
    let ahead = match party {
        Party::Garbler => mine.checked_sub(theirs.entries),
        Party::Evaluator => theirs.entries.checked_sub(mine),
    };
    let whose = |is_mine: bool| if is_mine { "this party's" } else { "the peer's" };
    match ahead {
        Some(0) if theirs.head == *book.state().head() => Ok(()),
        Some(0) => Err(old_copy("one party's")),
        Some(1..) if ahead <= Some(MAX_PROPOSED as u64) => match party {
            Party::Garbler => {
                let mut state = JobState::new(book.job(), terms);
                book.entries()[..theirs.entries as usize].iter().try_for_each(|entry| state.apply(entry))?;
                if *state.head() == theirs.head { Ok(()) } else { Err(old_copy("one party's")) }
            }
            // The leader sends the missing entries; then both compare the heads.
            Party::Evaluator => Ok(()),
        },
        Some(_) => Err(old_copy(whose(party == Party::Evaluator))),
        None => Err(old_copy(whose(party == Party::Garbler))),
    }
}

/// Runs a job as this party's coordinator, to the job's end or as far as possible. The ledger is in
/// `directory`, beside the folders of the lanes. `rerun` are partitions in doubt that this party's user wants
/// to run again.
///
/// # Errors
/// [`Error::Mismatch`] if the peer means another job or reports something false; [`Error::Stock`] if a ledger
/// is an old copy; [`Error::Io`] if the connection breaks, after which both parties can continue the job.
pub fn coordinate(
    mut channel: Channel,
    party: Party,
    directory: &Path,
    terms: &JobTerms,
    (manner, rerun): (Manner, &[Partition]),
    workers: &mut dyn JobWorkers,
) -> Result<JobOutcome, Error> {
    let (mut book, theirs) = meet(&mut channel, party, directory, terms, workers)?;
    if book.state().has_failed() {
        return Err(Error::Usage(
            "a check of the peer failed in this job, so the job has ended; begin another job in a new folder"
                .into(),
        ));
    }
    let result = run(channel, party, &mut book, theirs as usize, terms, (manner, rerun), workers);
    workers.end();
    // Everything that a worker noticed before its end still counts.
    match is_caught(workers) {
        true => failed(&mut book)?,
        false => result?,
    }
    let state = book.state().clone();
    let mut missing: BTreeSet<Partition> = (0..)
        .zip(state.partitions())
        .filter(|(_, stands)| **stands == PartitionState::Done)
        .map(|(partition, _)| partition)
        .collect();
    // Without workers that run partitions, this party does not know the folder of the results.
    match manner.only_fills {
        true => missing.clear(),
        false => workers.kept()?.iter().for_each(|kept| _ = missing.remove(kept)),
    }
    Ok(JobOutcome { job: *book.job(), state, missing })
}

fn run(
    mut channel: Channel,
    party: Party,
    book: &mut JobLedger,
    theirs: usize,
    terms: &JobTerms,
    (manner, rerun): (Manner, &[Partition]),
    workers: &mut dyn JobWorkers,
) -> Result<(), Error> {
    workers.begins(book.job(), terms)?;
    let consents = rerun.iter().map(|&partition| News::Consent { partition });
    match party {
        Party::Garbler => {
            let mut leader = Leader::new(terms, book.state(), manner);
            consents.for_each(|consent| leader.hear(&consent));
            lead(&mut channel, book, theirs, leader, workers)
        }
        Party::Evaluator => {
            let mut follower = Follower::new(book.state(), book.said().clone(), manner.listens);
            consents.for_each(|consent| follower.hear(&consent));
            follow(&mut channel, book, follower, workers)
        }
    }
}

/// Reads the remaining news of workers that have ended. Returns whether a check failed.
fn is_caught(workers: &mut dyn JobWorkers) -> bool {
    let mut is_caught = false;
    while let Ok(news) = workers.news(Duration::ZERO)
        && !news.is_empty()
    {
        is_caught |= news.iter().any(|news| matches!(news, News::Gone { cause: WorkerEnding::Check, .. }));
    }
    is_caught
}

/// Records that a check failed, unless that is already recorded; no entry follows.
fn failed(book: &mut JobLedger) -> Result<(), Error> {
    match book.state().has_failed() {
        true => Ok(()),
        false => book.append(&[JobEntry::Failed]),
    }
}

/// Delays lanes that are lost several times without success: the cause may disappear by itself, and each new
/// stock uses a part of the promise.
#[derive(Default)]
struct Rest {
    losses: u32,
    until: Option<Instant>,
}

impl Rest {
    /// The first delay; each further delay is twice as long.
    const FIRST: Duration = Duration::from_millis(100);
    /// The longest delay.
    const LONGEST: Duration = Duration::from_secs(30);

    /// Returns whether the delay is still active.
    fn is_on(&self) -> bool {
        self.until.is_some_and(|until| Instant::now() < until)
    }

    fn wrote(&mut self, entries: &[JobEntry]) {
        if entries.iter().any(|entry| matches!(entry, JobEntry::Filled { .. } | JobEntry::Done { .. })) {
            *self = Rest::default();
        }
        if entries.iter().any(|entry| matches!(entry, JobEntry::Lost { .. })) {
            let time = Self::FIRST.saturating_mul(1 << self.losses.min(16)).min(Self::LONGEST);
            (self.losses, self.until) = (self.losses + 1, Some(Instant::now() + time));
        }
    }
}

fn obey_all(workers: &mut dyn JobWorkers, orders: Vec<WorkerOrder>) -> Result<Vec<News>, Error> {
    let mut found = Vec::new();
    for order in orders {
        match order {
            WorkerOrder::Look { lane, attempt, partition } => {
                let evidence = workers.look(lane, attempt, partition);
                found.push(News::Found { lane, attempt, partition, evidence });
            }
            order => workers.obey(order)?,
        }
    }
    Ok(found)
}

/// Runs the garbler's coordinator.
fn lead(
    channel: &mut Channel,
    book: &mut JobLedger,
    mut acknowledged: usize,
    mut leader: Leader,
    workers: &mut dyn JobWorkers,
) -> Result<(), Error> {
    // The job is not over before the follower has reported all its news and its user's requests.
    let (mut answered, mut over, mut rest) = (false, false, Rest::default());
    let mut told = Told::default();
    loop {
        told.tell(book.state(), workers);
        let is_behind = acknowledged < book.entries().len();
        for news in workers.news(if is_behind || over { Duration::ZERO } else { TICK })? {
            leader.hear(&news);
        }
        if leader.caught() {
            return failed(book);
        }
        if !is_behind && !over {
            let rests = rest.is_on();
            let entries = leader.decide(book.state(), rests);
            book.append(&entries)?;
            rest.wrote(&entries);
            let mut orders = leader.wrote(&entries);
            orders.extend(leader.due(book.state()));
            for news in obey_all(workers, orders)? {
                leader.hear(&news);
            }
            told.tell(book.state(), workers);
            over = answered && !rests && entries.is_empty() && leader.is_over(book.state());
        }
        let entries = book.entries()[acknowledged..].to_vec();
        channel.send(msg::PROPOSE, &encoded(&LeaderProposal { over, entries, news: leader.tell() })?)?;
        let answer = FollowerAnswer::read(&channel.receive_up_to(msg::WROTE, MAX_BYTES)?)?;
        if answer.head != *book.state().head() {
            return Err(old_copy("the peer's"));
        }
        (acknowledged, answered) = (book.entries().len(), answer.news.len() < MAX_NEWS);
        if over {
            return Ok(());
        }
        for news in answer.news {
            for news in obey_all(workers, leader.hear_of_peer(&news))? {
                leader.hear(&news);
            }
        }
    }
}

/// Runs the evaluator's coordinator. It delays its lanes like the leader, whatever the leader proposes.
fn follow(
    channel: &mut Channel,
    book: &mut JobLedger,
    mut follower: Follower,
    workers: &mut dyn JobWorkers,
) -> Result<(), Error> {
    let (mut rest, mut told) = (Rest::default(), Told::default());
    loop {
        told.tell(book.state(), workers);
        let proposal = LeaderProposal::read(&channel.receive_up_to(msg::PROPOSE, MAX_BYTES)?)?;
        let begins = |entry: &JobEntry| matches!(entry, JobEntry::Fill { .. } | JobEntry::Resume { .. });
        let mut wait = Duration::ZERO;
        loop {
            for news in workers.news(wait)? {
                follower.hear(&news);
            }
            if follower.caught() {
                return failed(book);
            }
            if !(rest.is_on() && proposal.entries.iter().any(begins)) {
                break;
            }
            wait = TICK;
        }
        rest.wrote(&proposal.entries);
        // Consents are dropped before the proposal's doubts are recorded, because the user here has not seen
        // these doubts.
        follower.forget_consents(book.state());
        for entry in proposal.entries {
            follower.check(&entry, book.state())?;
            book.append(std::slice::from_ref(&entry))?;
            for news in obey_all(workers, follower.wrote(&entry))? {
                follower.hear(&news);
            }
        }
        told.tell(book.state(), workers);
        for news in proposal.news {
            for news in obey_all(workers, follower.hear_of_peer(&news, book.state()))? {
                follower.hear(&news);
            }
        }
        for news in obey_all(workers, follower.due(book.state()))? {
            follower.hear(&news);
        }
        let news = if proposal.over { Vec::new() } else { follower.tell(book.state()) };
        // The news are durable before the leader learns of them and can write a dependent entry.
        news.iter().try_for_each(|news| book.hear(news))?;
        channel.send(msg::WROTE, &encoded(&FollowerAnswer { head: *book.state().head(), news })?)?;
        channel.flush()?;
        if proposal.over {
            return Ok(());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Row 19 of the table of attacks: a peer that is no coordinator, or one of another version, is refused.
    #[test]
    fn row_19_a_hello_of_another_kind_or_version_is_refused() {
        let hello = Hello { job: Some([1; 32]), terms: [2; 32], nonce: [3; 32], entries: 4, head: [5; 32] };
        let bytes = hello.to_bytes();
        assert_eq!(hello_again(&bytes), Some(bytes));
        // The mark, the version, and the byte that says whether there is a job.
        for at in 0..9 {
            let mut other = bytes;
            other[at] ^= 1;
            assert_eq!(hello_again(&other), None, "byte {at}");
        }
    }

    /// Lost lanes are delayed, longer each time, until a lane succeeds.
    #[test]
    fn lanes_that_are_lost_rest() {
        let mut rest = Rest::default();
        assert!(!rest.is_on());
        let mut last = Instant::now();
        for losses in 1..40 {
            rest.wrote(&[JobEntry::Lost { lane: 0 }, JobEntry::Lost { lane: 1 }]);
            let until = rest.until.unwrap();
            assert!(rest.losses == losses && until > last, "{losses}");
            assert!(until <= Instant::now() + Rest::LONGEST);
            last = until;
        }
        rest.wrote(&[JobEntry::Claim { partition: 0, lane: 0 }]);
        assert!(rest.is_on());
        rest.wrote(&[JobEntry::Done { partition: 0 }]);
        assert!(!rest.is_on());
    }
}
