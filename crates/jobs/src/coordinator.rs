//! The decisions of a job's two coordinators, without connections and workers: functions receive news and
//! return orders.
//!
//! The garbler's coordinator *leads*: it writes entries durably into its own ledger, and then proposes them.
//! The evaluator's coordinator *follows*: it checks each entry, and writes those that agree with the reports
//! of its own workers. So the leader's ledger is never behind the follower's. Neither coordinator trusts the
//! other about a partition's state. Each must have read in its own stock's log that a partition may run again
//! (`Free`), and have its own worker's report that a partition is done.

use std::collections::{BTreeSet, VecDeque};

use brickwork_base::Error;

use crate::ledger::{JobEntry, JobState, LaneBook, LaneState, PartitionState};
use crate::terms::{JobTerms, LaneNumber, Partition};
use crate::workers::{At, PartyWorkers, Waiting};
pub use crate::workers::{Evidence, News, WorkerEnding, WorkerOrder, WorkerReports};

/// Returns the orders that follow from a durable entry.
fn orders_of(entry: &JobEntry) -> Vec<WorkerOrder> {
    match *entry {
        JobEntry::Fill { lane, attempt, partitions } => {
            vec![WorkerOrder::Start { lane, attempt, address: None }, WorkerOrder::Fill { lane, partitions }]
        }
        JobEntry::Resume { lane, attempt } => vec![WorkerOrder::Start { lane, attempt, address: None }],
        JobEntry::Claim { partition, lane } => vec![WorkerOrder::Run { lane, partition }],
        _ => Vec::new(),
    }
}

/// The largest number of entries of one proposal, and so the largest lead of the leader's ledger.
pub const MAX_PROPOSED: usize = 64;

/// The largest number of news in one message; further news go with the next message.
pub const MAX_NEWS: usize = 256;

/// The settings of a coordinator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Manner {
    /// True if this party's workers listen for the peer's workers; exactly one party's workers listen.
    pub listens: bool,
    /// True if stock is made and nothing runs; the leader decides.
    pub only_fills: bool,
    /// The largest number of lanes that have work or stock at the same time, if there is a limit; the leader
    /// decides.
    pub at_once: Option<u32>,
}

/// The leader: the garbler's coordinator.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Leader {
    terms: JobTerms,
    own: PartyWorkers,
    peer: PartyWorkers,
    manner: Manner,
    waiting: Waiting,
    /// Lanes whose stock became unusable: they are filled again.
    worn_out: BTreeSet<LaneNumber>,
    /// News for the peer.
    outbox: VecDeque<News>,
}

/// The follower: the evaluator's coordinator.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Follower {
    own: PartyWorkers,
    listens: bool,
    waiting: Waiting,
    outbox: VecDeque<News>,
    said: WorkerReports,
}

/// Returns the news of a party's workers when its coordinator starts again: no worker is left.
fn none_left(state: &JobState) -> VecDeque<News> {
    let begun = (0..).zip(state.lanes()).filter(|(_, book)| book.attempts > 0);
    begun
        .map(|(lane, book)| News::Gone { lane, attempt: book.attempts - 1, cause: WorkerEnding::Line })
        .collect()
}

fn taken(outbox: &mut VecDeque<News>) -> Vec<News> {
    outbox.drain(..outbox.len().min(MAX_NEWS)).collect()
}

impl Leader {
    /// Begins a job, or continues it from the ledger's state. No earlier worker of this party is left; the
    /// state of the peer's workers is unknown.
    pub fn new(terms: &JobTerms, state: &JobState, manner: Manner) -> Self {
        Leader {
            terms: terms.clone(),
            own: PartyWorkers::of(state, At::Gone(WorkerEnding::Line)),
            peer: PartyWorkers::of(state, At::Working),
            manner,
            waiting: Waiting::default(),
            worn_out: BTreeSet::new(),
            outbox: none_left(state),
        }
    }

    /// Receives news of this party's workers or its user.
    pub fn hear(&mut self, news: &News) {
        self.own.hear(news);
        // Other news reach the peer as entries of the ledger.
        if matches!(news, News::Listens { .. } | News::Gone { .. }) {
            self.outbox.push_back(news.clone());
        }
    }

    /// Returns the next news for the peer about this party's workers.
    pub fn tell(&mut self) -> Vec<News> {
        taken(&mut self.outbox)
    }

    /// Returns whether a check failed at one of this party's workers: then the job is over.
    pub fn caught(&self) -> bool {
        self.own.caught
    }

    /// Receives news of the peer's workers, and returns orders for this party's workers.
    pub fn hear_of_peer(&mut self, news: &News) -> Vec<WorkerOrder> {
        self.peer.hear(news);
        match news {
            News::Listens { lane, attempt, address }
                if !self.manner.listens && self.own.expects(*lane, *attempt) =>
            {
                self.waiting.heard(*lane, *attempt, address)
            }
            News::Gone { lane, attempt, .. } if *attempt < u32::MAX => {
                let is_there = matches!(self.own.of_attempt(*lane, attempt + 1), At::Working);
                if is_there && self.waiting.cancel(*lane) {
                    self.own.unborn.insert(*lane);
                    self.hear(&News::Gone { lane: *lane, attempt: *attempt, cause: WorkerEnding::Stopped });
                }
                Vec::new()
            }
            _ => Vec::new(),
        }
    }

    /// Decides the next entries. During a delay (`rest`) no lost lane begins again.
    pub fn decide(&mut self, state: &JobState, rest: bool) -> Vec<JobEntry> {
        let mut after = state.clone();
        let mut entries = Vec::new();
        if state.has_failed() {
            return entries;
        }
        self.own.forget_consents(state);
        self.peer.forget_consents(state);
        let agreed = self.own.consents.intersection(&self.peer.consents).take(MAX_PROPOSED);
        for &partition in agreed {
            write(&mut after, &mut entries, JobEntry::Rerun { partition });
        }
        for lane in 0..self.terms.lanes {
            // A lane may have several entries at once: its loss, and the result of the partition that it ran.
            while entries.len() < MAX_PROPOSED
                && let Some(entry) = self.about(lane, &after)
            {
                let begins = matches!(entry, JobEntry::Fill { .. } | JobEntry::Resume { .. });
                if begins && rest || !write(&mut after, &mut entries, entry) {
                    break;
                }
            }
        }
        entries
    }

    /// Returns the next entry about a lane.
    fn about(&mut self, lane: LaneNumber, state: &JobState) -> Option<JobEntry> {
        let book = state.lanes()[lane as usize];
        let both = |at: At| {
            self.own.of_attempt(lane, book.attempts) == at && self.peer.of_attempt(lane, book.attempts) == at
        };
        let gone = [&self.own, &self.peer].map(|side| side.gone(lane, book.attempts));
        let is_lost = gone.iter().all(Option::is_some);
        match book.state {
            LaneState::Filling if both(At::Filled) => Some(JobEntry::Filled { lane }),
            LaneState::Running(partition) if both(At::Done(partition)) => Some(JobEntry::Done { partition }),
            // A lane that has used its stock completely is not lost.
            LaneState::Ready if book.stock == 0 => self.fill(lane, state),
            LaneState::Filling | LaneState::Ready | LaneState::Running(_) if is_lost => {
                if gone.contains(&Some(WorkerEnding::Stock)) {
                    self.worn_out.insert(lane);
                }
                Some(JobEntry::Lost { lane })
            }
            LaneState::Lost { ran: Some(partition), .. } => {
                match [&self.own, &self.peer].map(|side| side.found(lane, partition)) {
                    [Some(Evidence::NotTaken), Some(Evidence::NotTaken)] => {
                        Some(JobEntry::Free { partition })
                    }
                    [Some(_), Some(_)] => Some(JobEntry::Doubt { partition }),
                    _ => None,
                }
            }
            LaneState::Ready
                if gone.iter().all(Option::is_none) && book.stock > 0 && !self.manner.only_fills =>
            {
                let open = state.partitions().iter().position(|p| *p == PartitionState::Open)?;
                Some(JobEntry::Claim { partition: open as Partition, lane })
            }
            LaneState::Lost { filled: true, ran: None }
                if book.may_resume()
                    && state.tally().open > 0
                    && !self.worn_out.contains(&lane)
                    && !self.manner.only_fills =>
            {
                Some(JobEntry::Resume { lane, attempt: book.attempts })
            }
            // The lane's stock still exists, and a later start of the job continues with it.
            LaneState::Lost { filled: true, ran: None } if self.manner.only_fills && book.stock > 0 => None,
            LaneState::New | LaneState::Lost { ran: None, .. } => self.fill(lane, state),
            _ => None,
        }
    }

    /// Fills a lane if more partitions are open than there is stock for.
    fn fill(&mut self, lane: LaneNumber, state: &JobState) -> Option<JobEntry> {
        let only_fills = self.manner.only_fills;
        let has = |book: &&LaneBook| match book.state {
            LaneState::Lost { filled, .. } => filled && only_fills,
            _ => true,
        };
        let stock: u32 = state.lanes().iter().filter(has).map(|book| book.stock).sum();
        let remaining = state.tally().open.saturating_sub(stock);
        let works = |book: &&LaneBook| match book.state {
            LaneState::Filling | LaneState::Running(_) => true,
            LaneState::Ready => book.stock > 0,
            LaneState::New | LaneState::Lost { .. } => false,
        };
        let at_work = state.lanes().iter().filter(works).count() as u32;
        let is_full = self.manner.at_once.is_some_and(|most| at_work >= most);
        if remaining == 0 || is_full || state.spent() == state.shares() {
            return None;
        }
        self.worn_out.remove(&lane);
        let attempt = state.lanes()[lane as usize].attempts;
        Some(JobEntry::Fill { lane, attempt, partitions: self.terms.stock(remaining) })
    }

    /// Notes entries that are durable at this party, and returns the orders for its workers.
    pub fn wrote(&mut self, entries: &[JobEntry]) -> Vec<WorkerOrder> {
        for entry in entries {
            self.own.follow(entry);
            self.peer.follow(entry);
        }
        let orders = entries.iter().flat_map(orders_of).collect();
        if self.manner.listens { orders } else { self.waiting.hold(orders) }
    }

    /// Returns the orders for this party's workers in the current state. The caller asks in every round:
    /// after a restart both ledgers may be equal, and then no entry would lead to these orders.
    pub fn due(&mut self, state: &JobState) -> Vec<WorkerOrder> {
        self.own.known(state).iter().for_each(|news| self.hear(news));
        due(&self.own, Some(&self.peer), state)
    }

    /// Returns whether the job is over, after [`Leader::decide`] found no entry outside a delay: a check
    /// failed, or no lane works, can begin a partition or has an unsettled partition.
    pub fn is_over(&self, state: &JobState) -> bool {
        let runs = !self.manner.only_fills && state.tally().open > 0;
        let goes_on = |book: &LaneBook| match book.state {
            LaneState::Filling | LaneState::Running(_) | LaneState::Lost { ran: Some(_), .. } => true,
            LaneState::Ready => book.stock > 0 && runs,
            LaneState::New | LaneState::Lost { ran: None, .. } => false,
        };
        state.has_failed() || !state.lanes().iter().any(goes_on)
    }
}

/// Adds an entry, if it can follow.
fn write(state: &mut JobState, entries: &mut Vec<JobEntry>, entry: JobEntry) -> bool {
    let follows = state.apply(&entry).is_ok();
    if follows {
        entries.push(entry);
    }
    follows
}

/// Returns orders that no entry requires: to stop if the peer's workers are gone or the job has failed, and
/// to find out what happened to a partition. The orders depend only on the state.
fn due(own: &PartyWorkers, peer: Option<&PartyWorkers>, state: &JobState) -> Vec<WorkerOrder> {
    let mut orders = Vec::new();
    for (lane, book) in (0..).zip(state.lanes()) {
        let is_there = own.of_attempt(lane, book.attempts) != At::Nowhere
            && own.gone(lane, book.attempts).is_none()
            && book.attempts > 0;
        let of_peer = peer.is_some_and(|peer| peer.gone(lane, book.attempts).is_some());
        // A completed lane frees its resources, including disk space.
        let is_done = book.state == LaneState::Ready && book.stock == 0;
        if is_there && (of_peer || is_done || state.has_failed()) {
            orders.push(WorkerOrder::Stop { lane });
        }
        if let LaneState::Lost { ran: Some(partition), .. } = book.state
            && own.found(lane, partition).is_none()
        {
            orders.push(WorkerOrder::Look { lane, attempt: book.attempts - 1, partition });
        }
    }
    orders
}

/// Returns the lane that was lost with a partition.
fn lane_of(partition: Partition, state: &JobState) -> Option<LaneNumber> {
    state.unsettled().into_iter().find(|(_, of)| *of == partition).map(|(lane, _)| lane)
}

impl Follower {
    /// Begins a job, or continues it from the ledger's state. No earlier worker of this party is left; `said`
    /// has the workers' reports.
    pub fn new(state: &JobState, said: WorkerReports, listens: bool) -> Self {
        let own = PartyWorkers::of(state, At::Gone(WorkerEnding::Line));
        Follower { own, listens, waiting: Waiting::default(), outbox: none_left(state), said }
    }

    /// Receives news of this party's workers or its user.
    pub fn hear(&mut self, news: &News) {
        self.own.hear(news);
        // The worker may end before the leader has written the entry for this news.
        self.said.hear(news);
        self.outbox.push_back(news.clone());
    }

    /// Drops the user's requests about partitions that are not in doubt. This happens before an entry of the
    /// leader is checked, and after its proposal is written.
    pub fn forget_consents(&mut self, state: &JobState) {
        self.own.forget_consents(state);
    }

    /// Returns the next news for the leader about this party's workers and from its user, after the leader's
    /// proposal.
    pub fn tell(&mut self, state: &JobState) -> Vec<News> {
        self.forget_consents(state);
        taken(&mut self.outbox)
    }

    /// Receives news of the peer's workers, and returns orders for this party's workers.
    pub fn hear_of_peer(&mut self, news: &News, state: &JobState) -> Vec<WorkerOrder> {
        match news {
            News::Listens { lane, attempt, address }
                if !self.listens && self.own.expects(*lane, *attempt) =>
            {
                self.waiting.heard(*lane, *attempt, address)
            }
            News::Gone { lane, attempt, .. } if *attempt < u32::MAX => {
                let is_this = state.lanes().get(*lane as usize).is_some_and(|b| b.attempts == attempt + 1);
                let is_there = is_this && self.own.gone(*lane, attempt + 1).is_none();
                if is_there && self.waiting.cancel(*lane) {
                    // The lane's worker should have connected to a worker that has ended, so it never
                    // started.
                    self.own.unborn.insert(*lane);
                    self.hear(&News::Gone { lane: *lane, attempt: *attempt, cause: WorkerEnding::Stopped });
                    return Vec::new();
                }
                if is_there { vec![WorkerOrder::Stop { lane: *lane }] } else { Vec::new() }
            }
            _ => Vec::new(),
        }
    }

    /// Checks whether an entry that the leader proposes agrees with the reports of this party's workers. (The
    /// ledger checks that the entry can follow.)
    ///
    /// # Errors
    /// [`Error::Mismatch`] if this party's workers have not reported the same.
    pub fn check(&self, entry: &JobEntry, state: &JobState) -> Result<(), Error> {
        let attempts = |lane: LaneNumber| state.lanes().get(lane as usize).map_or(0, |book| book.attempts);
        let attempt = |lane: LaneNumber| attempts(lane).checked_sub(1);
        let of = |lane: LaneNumber| self.own.of_attempt(lane, attempts(lane));
        let knows = |is_so: bool, what: &str| match is_so {
            true => Ok(()),
            false => Err(Error::Mismatch(format!(
                "the peer's coordinator says that {what}, but this party's workers do not confirm this"
            ))),
        };
        match *entry {
            // The worker may have ended meanwhile; then its lane is lost with its partition.
            JobEntry::Filled { lane } => {
                let filled = |attempt| self.said.filled(lane, attempt);
                knows(attempt(lane).is_some_and(filled), "a lane has made its stock")
            }
            JobEntry::Lost { lane } => knows(matches!(of(lane), At::Gone(_)), "a lane is lost"),
            JobEntry::Done { partition } => {
                let lane = match state.partitions().get(partition as usize) {
                    Some(PartitionState::Claimed(lane)) => *lane,
                    _ => return knows(false, "a partition that no lane runs is done"),
                };
                let done = |attempt| self.said.done(lane, attempt, partition);
                knows(attempt(lane).is_some_and(done), "a partition is done")
            }
            JobEntry::Free { partition } => {
                let untaken =
                    |lane| attempt(lane).is_some_and(|attempt| self.said.untaken(lane, attempt, partition));
                knows(lane_of(partition, state).is_some_and(untaken), "a partition may run again")
            }
            JobEntry::Rerun { partition } => knows(
                self.own.consents.contains(&partition),
                "this party's user allowed a partition to run again",
            ),
            // A stock is not used again if it became unusable, or if its worker was killed before a report. A
            // new stock is begun, which uses a part of the promise.
            JobEntry::Resume { lane, .. } => {
                knows(of(lane) != At::Gone(WorkerEnding::Stock), "the stock of a lane can still be used")
            }
            // Entries that begin or give up something need only the rules of the ledger.
            JobEntry::Fill { .. } | JobEntry::Claim { .. } | JobEntry::Doubt { .. } => Ok(()),
            JobEntry::Failed => Ok(()),
        }
    }

    /// Notes an entry that is durable at this party, and returns the orders for its workers.
    pub fn wrote(&mut self, entry: &JobEntry) -> Vec<WorkerOrder> {
        self.own.follow(entry);
        let orders = orders_of(entry);
        if self.listens { orders } else { self.waiting.hold(orders) }
    }

    /// Returns the orders for this party's workers in the current state, like [`Leader::due`]. The caller
    /// asks in every round, also without a proposal of the leader, because the leader may be waiting for the
    /// result.
    pub fn due(&mut self, state: &JobState) -> Vec<WorkerOrder> {
        self.own.known(state).iter().for_each(|news| self.hear(news));
        due(&self.own, None, state)
    }

    /// Returns whether a check failed at one of this party's workers: then the job is over, whatever the
    /// leader proposes.
    pub fn caught(&self) -> bool {
        self.own.caught
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ledger::MAX_RESUMED;

    const MANNER: Manner = Manner { listens: false, only_fills: false, at_once: None };

    fn begun(entries: &[JobEntry]) -> (JobTerms, JobState) {
        let identities = [[1; 32], [2; 32]];
        let terms =
            JobTerms { security: 40, lanes: 2, retries: 2, program: [0; 32], rows: vec![1; 4], identities };
        let mut state = JobState::new(&[0; 32], &terms);
        entries.iter().for_each(|entry| state.apply(entry).unwrap());
        (terms, state)
    }

    fn in_doubt(partition: Partition) -> [JobEntry; 5] {
        [
            JobEntry::Fill { lane: 0, attempt: 0, partitions: 2 },
            JobEntry::Filled { lane: 0 },
            JobEntry::Claim { partition, lane: 0 },
            JobEntry::Lost { lane: 0 },
            JobEntry::Doubt { partition },
        ]
    }

    /// A lane's stock is for the lane's part of the job, even if the peer proposes more.
    #[test]
    fn row_18_a_stock_is_for_a_part_of_the_job() {
        let (_, state) = begun(&[]);
        for (partitions, may) in [(0, false), (1, true), (2, true), (3, false), (u32::MAX, false)] {
            let fill = JobEntry::Fill { lane: 1, attempt: 0, partitions };
            assert_eq!(state.clone().apply(&fill).is_ok(), may, "{partitions}");
        }
    }

    /// Reports of a peer about unknown lanes, attempts and partitions are not kept.
    #[test]
    fn row_18_what_is_kept_of_the_peers_words_is_bounded() {
        let (terms, state) = begun(&[]);
        let mut leader = Leader::new(&terms, &state, MANNER);
        let mut follower = Follower::new(&state, WorkerReports::default(), false);
        for number in 0..1000u32 {
            let address = format!("{number}");
            let news = [
                News::Listens { lane: number, attempt: 0, address: address.clone() },
                News::Listens { lane: 1, attempt: number, address },
                News::Found { lane: number, attempt: 0, partition: 0, evidence: Evidence::PerhapsTaken },
                News::Found { lane: 0, attempt: number, partition: 0, evidence: Evidence::PerhapsTaken },
                News::Found { lane: 0, attempt: 0, partition: number, evidence: Evidence::PerhapsTaken },
                News::Consent { partition: number },
            ];
            for news in news {
                leader.hear_of_peer(&news);
                follower.hear_of_peer(&news, &state);
            }
            leader.decide(&state, true);
        }
        for waiting in [&leader.waiting, &follower.waiting] {
            assert_eq!(waiting.addresses().collect::<Vec<_>>(), ["0", "1"]);
        }
        assert_eq!(leader.peer.kept(), 2);
    }

    /// A consent to run a partition again counts only if the partition was in doubt at that time. A later
    /// doubt needs a new consent.
    #[test]
    fn row_16_a_consent_is_about_the_doubt_that_was_seen() {
        let consent = News::Consent { partition: 1 };
        let (rerun, (terms, before)) = (JobEntry::Rerun { partition: 1 }, begun(&[]));
        let (_, after) = begun(&in_doubt(1));
        for (state, counts) in [(&before, false), (&after, true)] {
            let mut leader = Leader::new(&terms, state, MANNER);
            leader.hear(&consent);
            leader.hear_of_peer(&consent);
            leader.decide(state, true);
            assert_eq!(leader.decide(&after, true).contains(&rerun), counts);
            let mut follower = Follower::new(state, WorkerReports::default(), false);
            follower.hear(&consent);
            assert!(follower.tell(state).contains(&consent));
            assert_eq!(follower.check(&rerun, &after).is_ok(), counts);
        }
    }

    /// The follower refuses a proposal to continue with stock that became unusable, or whose worker was
    /// killed before a report.
    #[test]
    fn row_16_stock_that_is_spent_does_not_go_on() {
        let (_, state) = begun(&in_doubt(1));
        let resume = JobEntry::Resume { lane: 0, attempt: 1 };
        for (cause, may) in
            [(WorkerEnding::Stock, false), (WorkerEnding::Line, true), (WorkerEnding::Stopped, true)]
        {
            let (_, before) = begun(&in_doubt(1)[..3]);
            let mut follower = Follower::new(&before, WorkerReports::default(), false);
            // The follower knows of a running worker, so the last attempt began after this coordinator.
            follower.own = PartyWorkers::of(&before, At::Working);
            follower.hear(&News::Gone { lane: 0, attempt: 0, cause });
            in_doubt(1)[3..].iter().for_each(|entry| follower.own.follow(entry));
            assert_eq!(follower.check(&resume, &state).is_ok(), may, "{cause:?}");
        }
    }

    /// A lane continues with its stock as long as some is left and the lane makes progress, but not forever;
    /// then a new stock is begun, if the job's promise allows another stock.
    #[test]
    fn row_18_a_lane_does_not_go_on_for_ever() {
        let (terms, mut state) = begun(&in_doubt(1));
        for attempt in 1..=MAX_RESUMED {
            state.apply(&JobEntry::Resume { lane: 0, attempt }).unwrap();
            state.apply(&JobEntry::Lost { lane: 0 }).unwrap();
        }
        let last = MAX_RESUMED + 1;
        assert!(state.clone().apply(&JobEntry::Resume { lane: 0, attempt: last }).is_err());
        let mut leader = Leader::new(&terms, &state, MANNER);
        let entries = leader.decide(&state, false);
        assert!(entries.contains(&JobEntry::Fill { lane: 0, attempt: last, partitions: 2 }), "{entries:?}");

        let (_, mut state) = begun(&in_doubt(1));
        for attempt in 1..=2 {
            for entry in [JobEntry::Resume { lane: 0, attempt }, JobEntry::Claim { partition: 0, lane: 0 }] {
                let follows = state.apply(&entry).is_ok();
                assert_eq!(follows, attempt == 1, "nothing is left of its stock");
            }
            if attempt == 1 {
                assert_eq!(state.lanes()[0].resumed, 1);
                state.apply(&JobEntry::Done { partition: 0 }).unwrap();
                assert_eq!(state.lanes()[0].resumed, 0, "something came of it");
                state.apply(&JobEntry::Lost { lane: 0 }).unwrap();
            }
        }
    }

    /// During a delay no stock is begun, and no lane continues.
    #[test]
    fn nothing_begins_while_lanes_rest() {
        for entries in [&[][..], &in_doubt(1)] {
            let (terms, state) = begun(entries);
            let mut leader = Leader::new(&terms, &state, MANNER);
            assert_eq!(leader.decide(&state, true), []);
            assert!(!leader.decide(&state, false).is_empty());
        }
    }

    /// If a worker never started, it is known that it has taken nothing, so no log needs to be read.
    #[test]
    fn what_a_worker_took_that_never_was_is_known() {
        let (terms, mut state) = begun(&in_doubt(1));
        let mut leader = Leader::new(&terms, &state, MANNER);
        let begins = [JobEntry::Resume { lane: 0, attempt: 1 }, JobEntry::Claim { partition: 0, lane: 0 }];
        begins.iter().for_each(|entry| state.apply(entry).unwrap());
        assert_eq!([leader.wrote(&begins), leader.due(&state)], [[], []]);
        leader.hear_of_peer(&News::Gone { lane: 0, attempt: 1, cause: WorkerEnding::Line });
        let lost = leader.decide(&state, true);
        assert_eq!(lost, [JobEntry::Lost { lane: 0 }]);
        lost.iter().for_each(|entry| state.apply(entry).unwrap());
        assert_eq!([leader.wrote(&lost), leader.due(&state)], [[], []]);
        assert_eq!(leader.own.found(0, 0), Some(Evidence::NotTaken));
    }
}
