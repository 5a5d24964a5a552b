//! The log of an epoch, which alone decides what is burned.
//!
//! Both parties append the same *shared* entries, each before its action. A hash chain covers these entries.
//! An item is fresh until an entry takes it, and burned afterwards. The other entries are notes of one party.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::range::{Counter, RANGES};
use brickwork_base::Error;
use brickwork_base::digest::Digest;

/// Identifies an epoch at both parties: a random value from its setup.
pub type EpochId = [u8; 32];

/// Hash over all shared entries so far.
pub type LogHead = [u8; 32];

/// Number of a batch: unique in its epoch and the same at both parties.
pub type Serial = u64;

/// A step of a preprocessing job. One `preprocess` command makes its stock in several steps, so that an
/// interruption costs only one step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct FillStep {
    /// Digest of the whole job.
    pub job: [u8; 32],
    /// The number of this step, from 0.
    pub number: u32,
    /// The number of all steps of the job.
    pub of: u32,
    /// The bound on the probability that the peer cheats undetected in this step, in units of 2^-128. It
    /// counts for the whole epoch, even if the step was [exposed](EpochEntry::Exposed) and then given up.
    /// Otherwise a peer that does not like a challenge could break the connection and try again in the next
    /// step.
    pub risk: u128,
    /// The number of workers that make the step side by side, at least 1. Each worker has its own ranges of
    /// all counters, as if it had a log entry of its own.
    pub workers: u32,
}

/// The largest number of workers of a step.
pub const MAX_WORKERS: u32 = 256;

/// An event in an epoch.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum EpochEntry {
    /// Shared: a step begins. The serials of its batches belong to the number of this entry, or with several
    /// workers also to the following numbers. If an earlier step is not complete, this gives it up: its items
    /// are never used.
    Fill(FillStep),
    /// Shared: in the current step, a party is about to send a message that can tell a cheating peer whether
    /// it will be caught, such as a challenge. If the peer breaks the connection before this entry, it has
    /// learnt nothing. After it, the step counts as an attempt unless it is completed.
    Exposed,
    /// This party has written the items of the current step to its disk.
    Stored,
    /// Shared: both parties have stored the items of the current step.
    Made,
    /// Shared: a program takes its items.
    Use {
        /// Digest of the program.
        program: [u8; 32],
        /// The number of items that the program takes of each batch, from the first fresh item on.
        taken: Vec<(Serial, u32)>,
    },
    /// Shared: one party cannot read these items, so no program takes them. Each range has its batch, its
    /// first item, and its number of items.
    Damaged(Vec<(Serial, u64, u64)>),
    /// The peer has confirmed that it has all entries so far.
    Confirmed,
    /// Nothing of the epoch may be used any more, for this reason.
    Burned(String),
    /// Other processes of this party, which have no store, are about to receive the epoch's secrets. The
    /// epoch counts as burned unless [`EpochEntry::Returned`] follows. The reason is that such a process may
    /// see a failed check without being able to report it.
    Lent,
    /// All processes that had the secrets have reported, and none has seen a failed check.
    Returned,
}

impl EpochEntry {
    /// Returns how many log numbers the entry uses: none for a party's own note, and several for a step with
    /// several workers. Each number has ranges of all counters.
    pub(crate) fn numbers(&self) -> u64 {
        match self {
            EpochEntry::Fill(step) => u64::from(step.workers),
            EpochEntry::Made | EpochEntry::Use { .. } | EpochEntry::Damaged(_) => 1,
            EpochEntry::Exposed
            | EpochEntry::Stored
            | EpochEntry::Confirmed
            | EpochEntry::Burned(_)
            | EpochEntry::Lent
            | EpochEntry::Returned => 0,
        }
    }

    /// Returns whether both parties write the entry.
    pub(crate) fn is_shared(&self) -> bool {
        match self {
            EpochEntry::Fill(_)
            | EpochEntry::Exposed
            | EpochEntry::Made
            | EpochEntry::Use { .. }
            | EpochEntry::Damaged(_) => true,
            EpochEntry::Stored
            | EpochEntry::Confirmed
            | EpochEntry::Burned(_)
            | EpochEntry::Lent
            | EpochEntry::Returned => false,
        }
    }

    /// Returns a digest of the entry's whole content, independent of the storage format.
    pub fn digest(&self) -> [u8; 32] {
        let mut digest = Digest::of("brickwork 2026-11 stock entry");
        match self {
            EpochEntry::Fill(FillStep { job, number, of, risk, workers }) => {
                let [low, high] = [*risk as u64, (*risk >> 64) as u64];
                digest.number(0u8).digest(job).number(*number).number(*of).number(low).number(high);
                digest.number(*workers)
            }
            EpochEntry::Stored => digest.number(1u8),
            EpochEntry::Made => digest.number(2u8),
            EpochEntry::Use { program, taken } => {
                digest.number(3u8).digest(program).length(taken.len());
                taken.iter().for_each(|(serial, count)| _ = digest.number(*serial).number(*count));
                &mut digest
            }
            EpochEntry::Confirmed => digest.number(4u8),
            EpochEntry::Burned(why) => digest.number(5u8).bytes(why.as_bytes()),
            EpochEntry::Lent => digest.number(6u8),
            EpochEntry::Returned => digest.number(7u8),
            EpochEntry::Damaged(items) => {
                digest.number(8u8).length(items.len());
                for (serial, first, count) in items {
                    let _ = digest.number(*serial).number(*first).number(*count);
                }
                &mut digest
            }
            EpochEntry::Exposed => digest.number(9u8),
        }
        .done()
    }
}

/// The largest number of ranges of damaged items that one entry removes; the next entry removes the others.
pub(crate) const MOST_DAMAGED: usize = 1 << 12;

/// The counter of batch serials. Each step has a range of them for its batches, so a serial shows to which
/// step a batch belongs.
pub const SERIALS: Counter = Counter::new("serials of batches", 16);

/// Returns the serial of batch `k` of the step that an entry began. (Code that makes a batch takes its serial
/// from the entry's range.)
///
/// # Panics
/// If there is no such entry, or a step cannot have that many batches.
pub fn serial(entry: u64, k: u64) -> Serial {
    SERIALS.number(entry, k)
}

/// Returns the log number to whose range a serial belongs. The number shows which entry began the step, and
/// which worker made the batch.
pub fn number_of(serial: Serial) -> u64 {
    SERIALS.entry_of(serial)
}

/// The state of an epoch.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct EpochState {
    head: LogHead,
    /// The head before the last shared entry.
    before: LogHead,
    shared: u64,
    last: Option<EpochEntry>,
    confirmed: bool,
    used: bool,
    burned: Option<String>,
    /// True if other processes may have the epoch's secrets.
    lent: bool,
    next: BTreeMap<Serial, u64>,
    /// The damaged items of each batch, in order. Programs skip the damaged items that come after the cursor
    /// of their batch.
    damaged: BTreeMap<Serial, Vec<Range<u64>>>,
    /// The current step, which is not complete, and the number of its entry.
    open: Option<(u64, FillStep)>,
    /// True if the peer may have learnt something from the current step.
    exposed: bool,
    /// True if this party has stored all items of the current step.
    stored: bool,
    /// Each completed step, by the number of the entry that began it.
    made: BTreeMap<u64, FillStep>,
    /// The steps before the current one that were exposed and not completed.
    given_up: GivenUp,
    /// The steps whose items the current program takes. They count as attempts until the program ends.
    at_stake: BTreeSet<u64>,
    /// The steps whose items were taken by programs that did not end.
    spoiled: BTreeSet<u64>,
    /// The steps whose items were taken by a program that has ended. The bound of this program covers them.
    proven: BTreeSet<u64>,
}

/// The steps of an epoch that were exposed and not completed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct GivenUp {
    /// The number of these steps.
    pub steps: u32,
    /// The sum of their risks, in units of 2^-128.
    pub risk: u128,
}

impl GivenUp {
    fn and(self, step: Option<(u64, FillStep)>) -> Self {
        match step {
            Some((_, step)) => {
                GivenUp { steps: self.steps.saturating_add(1), risk: self.risk.saturating_add(step.risk) }
            }
            None => self,
        }
    }
}

impl EpochState {
    /// Makes the state of a new epoch.
    pub fn new(id: &EpochId) -> Self {
        let head = blake3::derive_key("brickwork 2026-11 stock epoch", id);
        EpochState {
            head,
            before: head,
            shared: 0,
            last: None,
            confirmed: true,
            used: false,
            burned: None,
            lent: false,
            next: BTreeMap::new(),
            damaged: BTreeMap::new(),
            open: None,
            exposed: false,
            stored: false,
            made: BTreeMap::new(),
            given_up: GivenUp::default(),
            at_stake: BTreeSet::new(),
            spoiled: BTreeSet::new(),
            proven: BTreeSet::new(),
        }
    }

    /// Applies an entry to the state. No entry can follow a burn, and no item becomes fresh again.
    ///
    /// # Errors
    /// [`Error::Stock`] if the entry cannot follow.
    pub fn apply(&mut self, entry: &EpochEntry) -> Result<(), Error> {
        if let Some(why) = &self.burned {
            return Err(Error::Stock(format!("this part of the stock was burned: {why}")));
        }
        if self.shared + entry.numbers() >= RANGES && entry.is_shared() {
            return Err(Error::Stock(
                "the log of this part of the stock is full; burn this part (`brickwork stock burn`) and \
                 make new stock"
                    .into(),
            ));
        }
        if self.lent && !matches!(entry, EpochEntry::Returned | EpochEntry::Burned(_)) {
            return Err(Error::Stock(
                "the makers of this step have not reported yet how their shares ended".into(),
            ));
        }
        match entry {
            EpochEntry::Lent if self.open.is_some() && !self.stored => self.lent = true,
            EpochEntry::Returned if self.lent => self.lent = false,
            EpochEntry::Lent | EpochEntry::Returned => {
                return Err(Error::Stock("no step is open, so there is nothing for makers to do".into()));
            }
            EpochEntry::Confirmed => {
                self.confirmed = true;
                if let Some(EpochEntry::Use { taken, .. }) = &self.last {
                    let drawn = self.drawn(taken);
                    self.spoiled.retain(|number| !drawn.contains(number));
                    self.at_stake.clear();
                    self.proven.extend(drawn);
                }
            }
            EpochEntry::Burned(why) => self.burned = Some(why.clone()),
            EpochEntry::Fill(step) => {
                if step.number >= step.of || step.number != self.progress(&step.job, step.of) {
                    return Err(Error::Stock("the steps of preprocessing are out of order".into()));
                }
                if !(1..=MAX_WORKERS).contains(&step.workers) {
                    return Err(Error::Stock(format!("a step must have 1 to {MAX_WORKERS} workers")));
                }
                // Each parallel connection of a session allows another guess at its secrets, before the first
                // wrong guess has burned them. So parallel workers are not allowed when inputs depend on
                // these secrets.
                if step.workers > 1 && self.used {
                    return Err(Error::Stock(
                        "after the first program of an epoch, a step may have only one worker".into(),
                    ));
                }
                self.given_up = self.given_up();
                self.spoiled.append(&mut self.at_stake);
                (self.open, self.exposed, self.stored) = (Some((self.shared + 1, *step)), false, false);
                self.extend(entry);
            }
            EpochEntry::Exposed if self.open.is_some() && !self.exposed && !self.stored => {
                self.exposed = true;
                self.extend(entry);
            }
            EpochEntry::Stored if self.open.is_some() => self.stored = true,
            EpochEntry::Made if self.stored && self.open.is_some() => {
                self.made.extend(self.open.take());
                self.extend(entry);
            }
            EpochEntry::Exposed | EpochEntry::Stored | EpochEntry::Made => {
                return Err(Error::Stock("no step is open that could be finished".into()));
            }
            // Otherwise a peer could close the epoch at no cost, by an entry for a program that takes
            // nothing.
            EpochEntry::Use { taken, .. } if taken.is_empty() => {
                return Err(Error::Stock("the program takes nothing from the stock".into()));
            }
            EpochEntry::Use { taken, .. } => {
                let mut next = self.next.clone();
                for (serial, count) in taken {
                    if !self.is_made(*serial) {
                        return Err(Error::Stock(format!(
                            "the program takes items of batch {serial}, which was never finished"
                        )));
                    }
                    // A peer may send this entry, so its length must not exceed the number of items that it
                    // burns.
                    if *count == 0 {
                        return Err(Error::Stock(format!(
                            "the program names batch {serial} but takes no item of it"
                        )));
                    }
                    let cursor = next.entry(*serial).or_default();
                    let items = self.fresh(*serial, *cursor, (*count).into())?;
                    *cursor = items.last().map_or(*cursor, |items| items.end);
                }
                self.give_up();
                self.at_stake = self.staked(&self.drawn(taken));
                (self.next, self.used) = (next, true);
                self.extend(entry);
            }
            // Otherwise a peer could end the current step at no cost.
            EpochEntry::Damaged(items) if !(1..=MOST_DAMAGED).contains(&items.len()) => {
                return Err(Error::Stock("the entry names no damaged item, or too many".into()));
            }
            EpochEntry::Damaged(items) => {
                let mut damaged = self.damaged.clone();
                for &(serial, first, count) in items {
                    let none = || {
                        Error::Stock(format!(
                            "the entry names damaged items that batch {serial} does not have"
                        ))
                    };
                    let end = first.checked_add(count).filter(|_| count > 0 && self.is_made(serial));
                    let range = first..end.ok_or_else(none)?;
                    let all = damaged.entry(serial).or_default();
                    // The ranges are in order and do not overlap, so a new range can overlap only its
                    // neighbours. A peer can name many ranges.
                    let place = all.partition_point(|other| other.start < first);
                    let (before, behind) = all.split_at(place);
                    let overlaps = before.last().is_some_and(|other| first < other.end)
                        || behind.first().is_some_and(|other| other.start < range.end);
                    if first < self.gone(serial) || overlaps {
                        return Err(Error::Stock(format!(
                            "the entry names damaged items of batch {serial} that were already used or \
                             removed"
                        )));
                    }
                    all.insert(place, range);
                }
                // A peer that wastes a step after an unsuccessful cheat has made an attempt.
                let drawn = items.iter().filter_map(|(serial, ..)| self.made_by(*serial)).collect();
                self.give_up();
                self.spoiled.extend(self.staked(&drawn));
                self.damaged = damaged;
                self.extend(entry);
            }
        }
        Ok(())
    }

    /// Gives up the current step, and the items that the last program may have wasted.
    fn give_up(&mut self) {
        self.given_up = self.given_up();
        self.spoiled.append(&mut self.at_stake);
        self.open = None;
    }

    /// Does the same as [`EpochState::apply`] with an entry that only the peer has written. A step that only
    /// the peer has begun is given up at once and has no risk, because this party has answered no challenge
    /// in it.
    ///
    /// # Errors
    /// As [`EpochState::apply`].
    pub fn apply_named(&mut self, entry: &EpochEntry) -> Result<(), Error> {
        self.apply(entry)?;
        if let EpochEntry::Fill(_) = entry {
            self.open = None;
        }
        Ok(())
    }

    fn extend(&mut self, entry: &EpochEntry) {
        let head =
            Digest::of("brickwork 2026-11 stock chain").digest(&self.head).digest(&entry.digest()).done();
        (self.before, self.head) = (self.head, head);
        self.shared += entry.numbers();
        self.last = Some(entry.clone());
        self.confirmed = false;
    }

    /// Returns the number of completed steps of a job, if this is the last job and it is not finished.
    /// Otherwise it returns 0, and the job begins again.
    pub fn progress(&self, job: &[u8; 32], of: u32) -> u32 {
        match self.made.values().next_back() {
            Some(last) if last.job == *job && last.of == of && last.number + 1 < of => last.number + 1,
            _ => 0,
        }
    }

    /// Returns the current step, which is not complete, and the number of its entry.
    pub fn open(&self) -> Option<(u64, FillStep)> {
        self.open
    }

    /// Returns the completed steps, with the numbers of the entries that began them.
    pub fn made(&self) -> impl Iterator<Item = (u64, FillStep)> + '_ {
        self.made.iter().map(|(number, step)| (*number, *step))
    }

    /// Returns whether the step to which a batch belongs is complete.
    pub fn is_made(&self, serial: Serial) -> bool {
        self.made_by(serial).is_some()
    }

    /// Returns the number of the entry that began the step of a batch.
    fn made_by(&self, serial: Serial) -> Option<u64> {
        let number = SERIALS.entry_of(serial);
        let (first, step) = self.made.range(..=number).next_back()?;
        (number - first < u64::from(step.workers)).then_some(*first)
    }

    /// Returns the steps from which a program takes items.
    fn drawn(&self, taken: &[(Serial, u32)]) -> BTreeSet<u64> {
        taken.iter().filter_map(|(serial, _)| self.made_by(*serial)).collect()
    }

    /// Returns the steps that a program with these items may waste. These are all steps of their jobs,
    /// because the other steps of a job may be useless without them. Steps that an earlier program has proven
    /// or wasted are not included.
    fn staked(&self, drawn: &BTreeSet<u64>) -> BTreeSet<u64> {
        let job = |number: &u64| self.made.get(number).map(|step| step.job);
        let jobs: BTreeSet<_> = drawn.iter().filter_map(job).collect();
        let made = self.made.iter().filter(|(_, step)| jobs.contains(&step.job)).map(|(number, _)| *number);
        made.filter(|number| !self.proven.contains(number) && !self.spoiled.contains(number)).collect()
    }

    /// Returns the completed steps that still count as failed attempts, with the numbers of their entries. A
    /// program took items of their job and has not ended, and no program that has ended took items from them.
    pub fn unproven(&self) -> BTreeMap<u64, FillStep> {
        let numbers = self.at_stake.union(&self.spoiled);
        numbers.filter_map(|number| Some((*number, *self.made.get(number)?))).collect()
    }

    /// Returns whether a program that has ended took items from the step of this entry, so that the program's
    /// bound covers the step.
    pub fn is_proven(&self, number: u64) -> bool {
        self.proven.contains(&number)
    }

    /// Returns whether any worker of the current step made this batch.
    pub fn is_open(&self, serial: Serial) -> bool {
        let number = SERIALS.entry_of(serial);
        let of = |(first, step): (u64, FillStep)| {
            number.checked_sub(first).is_some_and(|k| k < u64::from(step.workers))
        };
        self.open.is_some_and(of)
    }

    /// Returns whether the peer may have learnt something from the current step.
    pub fn is_exposed(&self) -> bool {
        self.open.is_some() && self.exposed
    }

    /// Returns the steps that were exposed and are not complete. They include the current step, which may
    /// still be given up.
    pub fn given_up(&self) -> GivenUp {
        self.given_up.and(self.open.filter(|_| self.exposed))
    }

    /// Returns whether there are no shared entries.
    pub fn is_new(&self) -> bool {
        self.shared == 0
    }

    /// Returns the hash over the shared entries.
    pub fn head(&self) -> &LogHead {
        &self.head
    }

    /// Returns the last log number that a shared entry has used. Each number has ranges of all counters, so
    /// no stream of the epoch is used twice.
    pub fn shared(&self) -> u64 {
        self.shared
    }

    /// Returns how many numbers are left for shared entries.
    pub fn entries_left(&self) -> u64 {
        RANGES - 1 - self.shared
    }

    /// Returns whether an input has been used in this epoch.
    pub fn is_used(&self) -> bool {
        self.used
    }

    /// Returns the reason why the epoch must not be used, if it is burned.
    pub fn burned(&self) -> Option<&str> {
        self.burned.as_deref()
    }

    /// Returns whether other processes may have the epoch's secrets and have not reported.
    pub fn is_lent(&self) -> bool {
        self.lent
    }

    /// Returns the number of the first item of a batch that no program has taken. All items from there on are
    /// fresh, except damaged ones.
    pub fn gone(&self, serial: Serial) -> u64 {
        self.next.get(&serial).copied().unwrap_or(0)
    }

    /// Returns the damaged items of a batch, in order.
    pub fn damaged(&self, serial: Serial) -> &[Range<u64>] {
        self.damaged.get(&serial).map_or(&[], Vec::as_slice)
    }

    /// Returns the number of fresh items of a batch that was made with `items` items.
    pub fn left(&self, serial: Serial, items: u64) -> u64 {
        self.fresh_of(serial, self.gone(serial)..items).iter().map(|items| items.end - items.start).sum()
    }

    /// Returns those of these items that are not damaged, in order.
    pub(super) fn fresh_of(&self, serial: Serial, items: Range<u64>) -> Vec<Range<u64>> {
        let (mut fresh, mut at) = (Vec::new(), items.start);
        for damaged in self.damaged(serial).iter().filter(|damaged| damaged.end > items.start) {
            fresh.push(at..damaged.start.min(items.end));
            at = damaged.end;
        }
        fresh.push(at..items.end);
        fresh.retain(|items| !items.is_empty());
        fresh
    }

    /// Returns this many undamaged items of a batch, from `first` on.
    ///
    /// # Errors
    /// [`Error::Stock`] if there are too few.
    pub(super) fn fresh(&self, serial: Serial, first: u64, count: u64) -> Result<Vec<Range<u64>>, Error> {
        let overflows = || Error::Stock("the program takes more items than a batch can have".into());
        let mut end = first.checked_add(count).ok_or_else(overflows)?;
        for damaged in self.damaged(serial).iter().filter(|damaged| damaged.end > first) {
            if damaged.start < end {
                let more = damaged.end - damaged.start.max(first);
                end = end.checked_add(more).ok_or_else(overflows)?;
            }
        }
        Ok(self.fresh_of(serial, first..end))
    }

    /// Returns the report about this state for the peer.
    pub fn standing(&self) -> EpochReport {
        let last = self.last.clone().filter(|_| !self.confirmed).map(|entry| (self.before, entry));
        EpochReport { head: self.head, last }
    }

    /// Compares this state with a peer's report.
    pub fn compare(&self, peer: &EpochReport) -> EpochVerdict {
        if peer.head == self.head {
            return EpochVerdict::Same;
        }
        // The peer has written an entry that this party has not written yet, because of a crash. It is always
        // safe to burn the items of this entry.
        if let Some((before, entry)) = &peer.last
            && *before == self.head
            && entry.is_shared()
        {
            let mut next = self.clone();
            if next.apply(entry).is_ok() && next.head == peer.head {
                return EpochVerdict::Behind(entry.clone());
            }
        }
        if !self.confirmed && self.last.is_some() && peer.head == self.before {
            return EpochVerdict::Ahead;
        }
        EpochVerdict::Apart
    }
}

/// A party's report about an epoch.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct EpochReport {
    /// The head of the log's hash chain.
    pub head: LogHead,
    /// The last shared entry and the head before it, if the party does not know whether the peer has this
    /// entry.
    pub last: Option<(LogHead, EpochEntry)>,
}

/// The result of comparing two parties' states of an epoch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EpochVerdict {
    /// Both logs are the same.
    Same,
    /// The peer has written one more entry, which this party must write, too.
    Behind(EpochEntry),
    /// The peer lacks this party's last entry, and will write it.
    Ahead,
    /// One of the logs is an old copy, or belongs to another store.
    Apart,
}

#[cfg(test)]
mod tests {
    // Rows are those of the table of attacks (docs/concepts/security.md, section 14).

    use super::*;
    use brickwork_testing::digest as expected;

    /// The hash chain covers the whole content of a shared entry, in a fixed encoding that does not depend on
    /// the storage format.
    #[test]
    fn the_chain_runs_over_bytes_that_are_written_out() {
        let numbers = |all: &[u64]| all.iter().flat_map(|n| n.to_le_bytes()).collect::<Vec<u8>>();
        let step = FillStep { job: [1; 32], number: 4, of: 0x0203, risk: (1 << 72) + 7, workers: 0x0405 };
        let taken = vec![(serial(1, 2), 3), (serial(1, 4), 0x0500)];
        let used = [2, 0x1_0002, 3, 0x1_0004, 0x0500];
        let entries = [
            (
                EpochEntry::Fill(step),
                [numbers(&[0]), vec![1; 32], numbers(&[4, 0x0203, 7, 1 << 8, 0x0405])].concat(),
            ),
            (EpochEntry::Made, numbers(&[2])),
            (
                EpochEntry::Use { program: [7; 32], taken },
                [numbers(&[3]), vec![7; 32], numbers(&used)].concat(),
            ),
            (EpochEntry::Burned("why".into()), [numbers(&[5, 3]), b"why".to_vec()].concat()),
            (EpochEntry::Lent, numbers(&[6])),
            (EpochEntry::Returned, numbers(&[7])),
            (EpochEntry::Damaged(vec![(1, 2, 3), (4, 5, 6)]), numbers(&[8, 2, 1, 2, 3, 4, 5, 6])),
            (EpochEntry::Exposed, numbers(&[9])),
        ];
        for (what, bytes) in &entries {
            assert_eq!(what.digest(), expected("brickwork 2026-11 stock entry", &[bytes]), "{what:?}");
        }
        let mut state = EpochState::new(&[3; 32]);
        assert_eq!(state.head, expected("brickwork 2026-11 stock epoch", &[&[3; 32]]));
        let (before, first) = (state.head, EpochEntry::Fill(FillStep { number: 0, workers: 2, ..step }));
        state.apply(&first).unwrap();
        assert_eq!(state.head, expected("brickwork 2026-11 stock chain", &[&before, &first.digest()]));
    }

    /// Row 24 of the table of attacks: the entry that the peer reports as its last must lead from this
    /// party's state to the peer's head.
    #[test]
    fn row_24_a_last_entry_leads_to_the_peers_head() {
        let mut mine = EpochState::new(&[3; 32]);
        mine.apply(&EpochEntry::Confirmed).unwrap();
        let entry = EpochEntry::Fill(FillStep { job: [1; 32], number: 0, of: 1, risk: 0, workers: 1 });
        let mut ahead = mine.clone();
        ahead.apply(&entry).unwrap();
        let verdict = |head, entry: &EpochEntry| {
            mine.compare(&EpochReport { head, last: Some((mine.head, entry.clone())) })
        };
        assert!(matches!(verdict(ahead.head, &entry), EpochVerdict::Behind(behind) if behind == entry));
        // The first entry could follow but gives another head; the second cannot follow.
        assert!(matches!(verdict([9; 32], &entry), EpochVerdict::Apart));
        assert!(matches!(verdict(ahead.head, &EpochEntry::Made), EpochVerdict::Apart));
        assert!(matches!(
            verdict(
                ahead.head,
                &EpochEntry::Fill(FillStep { job: [1; 32], number: 0, of: 2, risk: 0, workers: 1 })
            ),
            EpochVerdict::Apart
        ));
    }

    /// Row 21 of the table of attacks: while other processes have the secrets, only their reports or a burn
    /// may follow. The secrets can be given out only during a step.
    #[test]
    fn row_21_what_is_lent_is_returned_or_burned() {
        let mut state = EpochState::new(&[3; 32]);
        let step = EpochEntry::Fill(FillStep { job: [1; 32], number: 0, of: 1, risk: 0, workers: 2 });
        assert!(state.apply(&EpochEntry::Lent).is_err() && state.apply(&EpochEntry::Returned).is_err());
        state.apply(&step).unwrap();
        assert!(state.apply(&EpochEntry::Returned).is_err());
        let head = *state.head();
        state.apply(&EpochEntry::Lent).unwrap();
        let others =
            [step.clone(), EpochEntry::Stored, EpochEntry::Made, EpochEntry::Confirmed, EpochEntry::Lent];
        for entry in &others {
            assert!(state.clone().apply(entry).is_err(), "{entry:?}");
        }
        assert!(state.is_lent() && *state.head() == head, "the peer sees nothing of it");
        let mut burned = state.clone();
        burned.apply(&EpochEntry::Burned("test".into())).unwrap();
        assert!(burned.apply(&EpochEntry::Returned).is_err());
        // A peer that sends such an entry has a different log.
        let named = EpochReport { head, last: Some((head, EpochEntry::Returned)) };
        assert_eq!(state.compare(&EpochReport { head: [9; 32], ..named }), EpochVerdict::Apart);
        state.apply(&EpochEntry::Returned).unwrap();
        state.apply(&EpochEntry::Stored).unwrap();
        assert!(state.apply(&EpochEntry::Lent).is_err(), "all of it is made");
        state.apply(&EpochEntry::Made).unwrap();
    }

    /// Row 25 of the table of attacks: an entry that a peer may send has no more parts than the items that it
    /// burns.
    #[test]
    fn row_25_nothing_is_taken_of_no_batch() {
        let mut state = EpochState::new(&[3; 32]);
        for entry in [
            EpochEntry::Fill(FillStep { job: [1; 32], number: 0, of: 1, risk: 0, workers: 1 }),
            EpochEntry::Stored,
            EpochEntry::Made,
        ] {
            state.apply(&entry).unwrap();
        }
        let batch = |number| serial(1, number);
        for (taken, words) in [
            (vec![], "takes nothing"),
            (vec![(batch(0), 0)], "takes no item of it"),
            (vec![(batch(0), 1), (batch(1), 0)], "takes no item of it"),
        ] {
            let entry = EpochEntry::Use { program: [2; 32], taken };
            let refused = state.clone().apply(&entry);
            assert!(matches!(refused, Err(Error::Stock(why)) if why.contains(words)));
            // The same holds for an entry of the peer, with this party's head or with the head after the
            // entry.
            let mut forged = state.clone();
            forged.extend(&entry);
            for head in [[9; 32], forged.head] {
                let told = EpochReport { head, last: Some((state.head, entry.clone())) };
                assert_eq!(state.compare(&told), EpochVerdict::Apart, "{entry:?}");
            }
        }
        state
            .apply(&EpochEntry::Use { program: [2; 32], taken: vec![(batch(0), 1), (batch(1), 1)] })
            .unwrap();
    }

    /// Row 4 of the table of attacks: every step that was exposed and not completed counts, for every kind of
    /// stock, whatever other steps were made before or after it. A step that was begun but not exposed does
    /// not count.
    #[test]
    fn row_04_what_was_given_up_counts_whatever_it_was_about() {
        let mut state = EpochState::new(&[3; 32]);
        let fill = |job: u8, number, of, risk| {
            let step = EpochEntry::Fill(FillStep { job: [job; 32], number, of, risk, workers: 1 });
            vec![step.clone(), step, EpochEntry::Exposed]
        };
        let made = || vec![EpochEntry::Stored, EpochEntry::Made];
        let used = || vec![EpochEntry::Use { program: [2; 32], taken: vec![(serial(4, 0), 1)] }];
        for (entries, steps, risk) in [
            (fill(1, 0, 2, 1), 1, 1),
            // First the step is requested again and completed. Then another step is requested, and then the
            // first one again.
            ([fill(1, 0, 2, 1), made()].concat(), 1, 1),
            (fill(1, 1, 2, 10), 2, 11),
            ([fill(2, 0, 1, 100), made()].concat(), 2, 11),
            ([fill(1, 0, 2, 1), made()].concat(), 2, 11),
            (fill(3, 0, 1, u128::MAX - 20), 3, u128::MAX - 9),
            // These steps are never completed, and the sum of their risks does not overflow.
            (fill(3, 0, 1, 100), 4, u128::MAX),
            (used(), 4, u128::MAX),
            (used(), 4, u128::MAX),
        ] {
            entries.iter().for_each(|entry| state.apply(entry).unwrap());
            assert_eq!(state.given_up(), GivenUp { steps, risk }, "{entries:?}");
            assert_eq!(
                state.clone().apply(&EpochEntry::Exposed).is_err(),
                state.is_exposed() || state.open().is_none()
            );
        }
        assert_eq!(state.made().map(|(_, step)| step.job[0]).collect::<Vec<_>>(), [1, 2, 1]);
    }

    #[test]
    fn row_21_a_worn_out_epoch_takes_nothing_more() {
        let mut state = EpochState::new(&[3; 32]);
        let step = EpochEntry::Fill(FillStep { job: [1; 32], number: 0, of: 1, risk: 0, workers: 1 });
        state.shared = RANGES - 2;
        state.apply(&step).unwrap();
        assert_eq!(
            state.open(),
            Some((RANGES - 1, FillStep { job: [1; 32], number: 0, of: 1, risk: 0, workers: 1 })),
            "the last range"
        );
        assert!(matches!(state.apply(&step), Err(Error::Stock(why)) if why.contains("is full")));
        // Entries that only this party writes do not count.
        state.apply(&EpochEntry::Confirmed).unwrap();
        state.apply(&EpochEntry::Burned("test".into())).unwrap();
    }

    /// Row 23 of the table of attacks: damaged items are removed only once, if they exist and are fresh, and
    /// programs skip them.
    #[test]
    #[allow(clippy::single_range_in_vec_init, reason = "items are lists of ranges")]
    fn row_23_damaged_items_are_skipped() {
        let mut state = EpochState::new(&[3; 32]);
        let step = FillStep { job: [1; 32], number: 0, of: 1, risk: 5, workers: 1 };
        let one = serial(1, 0);
        for entry in [EpochEntry::Fill(step), EpochEntry::Stored, EpochEntry::Made] {
            state.apply(&entry).unwrap();
        }
        let damaged = |items: &[(Serial, u64, u64)]| EpochEntry::Damaged(items.to_vec());
        let before = state.clone();
        for wrong in [
            &[][..],
            &[(serial(2, 0), 0, 1)],
            &[(one, 0, 0)],
            &[(one, 5, u64::MAX)],
            &[(one, 3, 2), (one, 4, 1)],
            &[(one, 4, 1), (one, 3, 2)],
            &[(one, 4, 1), (one, 3, 1), (one, 4, 1)],
            &(0..MOST_DAMAGED as u64 + 1).map(|k| (one, k, 1)).collect::<Vec<_>>(),
        ] {
            assert!(state.apply(&damaged(wrong)).is_err() && state == before, "{wrong:?}");
        }
        state.apply(&damaged(&[(one, 6, 2), (one, 1, 1), (one, 2, 1)])).unwrap();
        assert_eq!((state.damaged(one), state.shared()), (&[1..2, 2..3, 6..8][..], 3));
        // No program ran, but the peer may have thrown the step away after an unsuccessful cheat.
        assert!(!state.is_used() && state.unproven().len() == 1);
        assert_eq!((state.left(one, 10), state.left(one, 7), state.left(one, 2)), (6, 4, 1));
        let of = |state: &EpochState, first, count| state.fresh(one, first, count).unwrap();
        assert_eq!(of(&state, 0, 3), [0..1, 3..5]);
        assert_eq!(of(&state, 0, 5), [0..1, 3..6, 8..9]);
        assert_eq!(of(&state, 7, 1), [8..9]);
        assert!(state.fresh(one, u64::MAX - 1, 2).is_err());
        let used = |count| EpochEntry::Use { program: [4; 32], taken: vec![(one, count)] };
        state.apply(&used(4)).unwrap();
        assert_eq!((state.gone(one), state.left(one, 10)), (6, 2));
        state.apply(&EpochEntry::Confirmed).unwrap();
        assert!(state.unproven().is_empty(), "a program has ended");
        for wrong in [&[(one, 5, 1)][..], &[(one, 7, 1)], &[(one, 5, 9)]] {
            assert!(state.apply(&damaged(wrong)).is_err(), "{wrong:?}");
        }
        state.apply(&used(1)).unwrap();
        assert_eq!((state.gone(one), state.left(one, 10)), (9, 1));
        // Removing damaged items gives up the current step, as a program does.
        state.apply(&EpochEntry::Fill(FillStep { job: [2; 32], ..step })).unwrap();
        state.apply(&EpochEntry::Exposed).unwrap();
        state.apply(&damaged(&[(one, 9, 1)])).unwrap();
        assert_eq!((state.open(), state.given_up().steps, state.left(one, 10)), (None, 1, 0));
        assert_eq!(state.progress(&[2; 32], 1), 0);
    }
}
