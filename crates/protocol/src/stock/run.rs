//! Running a program on items from stock.

use std::fmt::Display;

use super::epochs::FoundItems;
use super::intent::{Intent, NextAction, busy, different, make_or_refuse, peer_refuses};
use super::meeting::meet;
use super::records::{Batches, TakenItems};
use super::side::{Lacking, Stand, StockProtocol, StockSession};
use super::stocked::{Stocked, burn_if_cheated, over};
use crate::{OTHER_PROGRAM, announce, confirm};
use brickwork_base::Error;
use brickwork_circuit::Party;
use brickwork_store::{EpochEntry, EpochId, ReadItems, ReadResult, Store};

/// The outcome of a program.
pub enum RunOutcome<P: StockProtocol> {
    /// The program ran.
    Done {
        /// The result of the program.
        outcome: P::Outcome,
        /// The epoch that it took from.
        epoch: EpochId,
        /// The connection, for the next action.
        next: Stocked<P>,
    },
    /// Stock is missing, and both parties want to make it. Nothing was taken.
    Lacks {
        /// A description of the missing items.
        why: Error,
        /// The connection, on which they can be made.
        next: Stocked<P>,
    },
}

/// The result of a program, the epoch that it took from, the stock that was made first, and the connection.
pub type Gave<P, M> = (<P as StockProtocol>::Outcome, EpochId, Option<M>, Stocked<P>);

impl<P: StockProtocol> Stocked<P> {
    /// Runs a program. If it lacks something and both parties want to make it, `make` makes it and describes
    /// it.
    ///
    /// # Errors
    /// As [`Stocked::run`], and those of `make`; [`Error::Stock`] if something is missing even then.
    pub fn run_or_make<M>(
        self,
        job: &P::Execution<'_>,
        lacking: Lacking,
        make: impl FnOnce(Self, &Error) -> Result<(M, Self), Error>,
    ) -> Result<Gave<P, M>, Error> {
        let (ran, made) = match self.run(job, lacking)? {
            RunOutcome::Lacks { why, next } => {
                let (made, next) = make(next, &why)?;
                (next.run(job, Lacking::Refuse)?, Some(made))
            }
            done => (done, None),
        };
        match ran {
            RunOutcome::Done { outcome, epoch, next } => Ok((outcome, epoch, made, next)),
            RunOutcome::Lacks { why, .. } => Err(why),
        }
    }

    /// Chooses the epoch that gets the items that a program lacks, and the items. `missing` returns those of
    /// the items `everything` that are not in the epoch that is filled next. If it returns none, the epoch
    /// has enough items, but they come from too many batches. Then a new epoch gets all items.
    ///
    /// # Errors
    /// As [`Stocked::open_epoch`].
    pub fn to_be_made<R: Display>(
        &mut self,
        why: &Error,
        everything: R,
        missing: impl FnOnce(&Batches) -> Option<R>,
    ) -> Result<(Option<EpochId>, R), Error> {
        let epoch = self.open_epoch()?;
        let there = epoch.map(|id| Batches::of(self.store(), &id)).transpose()?;
        let (epoch, made) = match there.as_ref().and_then(missing) {
            Some(missing) => (epoch, missing),
            None => (None, everything),
        };
        tracing::warn!("{why}; both parties now make {made} during this run");
        Ok((epoch, made))
    }

    /// Runs a program on stock. Each party reads the items that it is about to take before anything is
    /// burned. Unreadable items are removed at both parties, and others are taken instead.
    ///
    /// # Errors
    /// As [`Stocked::fill`]; [`Error::Stock`] if something is missing and one party does not make it.
    pub fn run(mut self, job: &P::Execution<'_>, lacking: Lacking) -> Result<RunOutcome<P>, Error> {
        let run = self.line.run();
        run.phase(P::AGREEMENT);
        run.no_program();
        let mut program = Some(P::program(job));
        announce(&mut run.channel, &P::program(job))?;
        // The evaluator does this while the garbler reads its items.
        let mut early = match self.held.role {
            Party::Garbler => None,
            Party::Evaluator => self.read_early(job)?,
        };
        for _ in 0..MOST_AGREEMENTS {
            let agreed = match self.held.role {
                Party::Garbler => self.propose(job, lacking, program.take())?,
                Party::Evaluator => self.answer(job, lacking, program.take(), early.take())?,
            };
            let (epoch, entry, opened) = match agreed {
                Agreed::Use(epoch, entry, opened) => (epoch, entry, opened),
                Agreed::Lacks(why) => return Ok(self.lacks(why)),
                Agreed::Damaged => continue,
            };
            let (held, mut session) = self.session(Some(epoch))?;
            let done = take(&held.store, &mut *session, &epoch, (&entry, opened), job);
            let outcome = over(&held.store, &epoch, burn_if_cheated(&held.store, &epoch, done))?;
            let _ = held.store.append(&epoch, &EpochEntry::Confirmed)?;
            return Ok(RunOutcome::Done { outcome, epoch, next: held.with(session) });
        }
        Err(Error::Stock(
            "the stock has too many items that cannot be read; run `brickwork stock verify` on both sides, \
             which reads the whole stock"
                .into(),
        ))
    }

    /// Sends the garbler's proposal: the items that the program would take, or the items that cannot be read.
    /// Returns the action on which both parties agree.
    fn propose(
        &mut self,
        job: &P::Execution<'_>,
        lacking: Lacking,
        program: Option<[u8; 32]>,
    ) -> Result<Agreed, Error> {
        let found = self.held.find::<P>(job, self.only(), None)?;
        let (mine, done) = intended(found, lacking);
        let done = match done {
            Done::Uses(entry) => match self.held.open(&mine.epoch, &entry)? {
                ReadResult::Sound(opened) => Done::Takes(entry, opened),
                ReadResult::Damaged(damaged) => Done::Loses(self.held.loses(&mine.epoch, &damaged)?, damaged),
            },
            done => done,
        };
        let run = self.line.run();
        // The list has the damaged items of this program. Nothing is taken before both parties agree.
        match &done {
            Done::Loses(intent, damaged) => intent.send_damaged(run, damaged)?,
            _ => mine.send(run)?,
        }
        if let Some(program) = program {
            confirm(&mut run.channel, &program, OTHER_PROGRAM)?;
        }
        let theirs = Intent::receive(run)?;
        match (done, theirs.what) {
            (Done::Refuses(why), _) => Err(why),
            (_, NextAction::Refuse) => Err(peer_refuses()),
            (_, NextAction::Busy) => Err(busy()),
            (Done::Makes(why), NextAction::Make) => Ok(Agreed::Lacks(why)),
            (Done::Takes(entry, opened), NextAction::Use) if theirs == mine => {
                Ok(Agreed::Use(mine.epoch, entry, opened))
            }
            (Done::Loses(intent, damaged), NextAction::Damaged) if theirs == intent => {
                self.take_out(&intent.epoch, &damaged)
            }
            (Done::Takes(entry, _), NextAction::Damaged) => {
                let damaged = self.held.hear_damaged(run, &theirs, &mine.epoch, &entry)?;
                theirs.send(run)?;
                self.take_out(&mine.epoch, &damaged)
            }
            _ => Err(different()),
        }
    }

    /// Reads the items that the program will take if the garbler chooses the same ones.
    fn read_early(&mut self, job: &P::Execution<'_>) -> Result<Option<(Intent, ReadResult)>, Error> {
        Ok(match self.held.find::<P>(job, self.only(), None)? {
            FoundItems::Enough(entry, intent) => Some((intent, self.held.open(&intent.epoch, &entry)?)),
            _ => None,
        })
    }

    /// Receives the garbler's proposal, and answers whether this party agrees.
    fn answer(
        &mut self,
        job: &P::Execution<'_>,
        lacking: Lacking,
        program: Option<[u8; 32]>,
        early: Option<(Intent, ReadResult)>,
    ) -> Result<Agreed, Error> {
        let run = self.line.run();
        if let Some(program) = program {
            confirm(&mut run.channel, &program, OTHER_PROGRAM)?;
        }
        let theirs = Intent::receive(run)?;
        // The evaluator takes the items that the garbler names, if it may do so.
        let named = [NextAction::Use, NextAction::Damaged].contains(&theirs.what).then_some(theirs.epoch);
        let found = self.held.find::<P>(job, self.only(), named)?;
        let run = self.line.run();
        match (named, found) {
            (Some(_), FoundItems::Busy) => {
                Intent::only(NextAction::Busy).send(run)?;
                Err(busy())
            }
            (Some(_), FoundItems::Lacks(_)) => {
                Intent::only(NextAction::Use).send(run)?;
                Err(different())
            }
            (Some(epoch), FoundItems::Enough(entry, _)) if theirs.what == NextAction::Damaged => {
                let damaged = self.held.hear_damaged(run, &theirs, &epoch, &entry)?;
                theirs.send(run)?;
                self.take_out(&epoch, &damaged)
            }
            (Some(_), FoundItems::Enough(_, mine)) if mine != theirs => {
                mine.send(run)?;
                Err(different())
            }
            (Some(epoch), FoundItems::Enough(entry, mine)) => {
                // The items were chosen earlier. They are the same if the intents are equal, because an
                // intent contains the position of the log.
                let checked = match early.filter(|(intent, _)| *intent == mine) {
                    Some((_, checked)) => checked,
                    None => self.held.open(&epoch, &entry)?,
                };
                match checked {
                    ReadResult::Sound(opened) => {
                        mine.send(run)?;
                        Ok(Agreed::Use(epoch, entry, opened))
                    }
                    ReadResult::Damaged(damaged) => {
                        let intent = self.held.loses(&epoch, &damaged)?;
                        intent.send_damaged(run, &damaged)?;
                        if Intent::receive(run)? != intent {
                            return Err(different());
                        }
                        self.take_out(&epoch, &damaged)
                    }
                }
            }
            (None, found) => {
                let (mine, done) = intended(found, lacking);
                // This party has the stock, but another session of the garbler has leased it. So the parties
                // make new stock or refuse.
                let mine = if mine.what == NextAction::Use { make_or_refuse(lacking) } else { mine };
                mine.send(run)?;
                match (theirs.what, done) {
                    (NextAction::Busy, _) => Err(busy()),
                    (_, Done::Refuses(why)) => Err(why),
                    (NextAction::Refuse, _) => Err(peer_refuses()),
                    (NextAction::Make, Done::Makes(why)) => Ok(Agreed::Lacks(why)),
                    (NextAction::Make, Done::Uses(_)) if lacking == Lacking::Make => {
                        Ok(Agreed::Lacks(busy()))
                    }
                    _ => Err(different()),
                }
            }
        }
    }

    /// Removes items that one of the parties cannot read, if the other party does the same.
    fn take_out(&mut self, epoch: &EpochId, damaged: &EpochEntry) -> Result<Agreed, Error> {
        let store = &self.held.store;
        let _ = store.append(epoch, damaged)?;
        meet(self.line.run(), store.state(epoch)?.head())?;
        let _ = store.append(epoch, &EpochEntry::Confirmed)?;
        Ok(Agreed::Damaged)
    }

    /// Returns the outcome if both parties want to make the missing items.
    fn lacks(mut self, why: Error) -> RunOutcome<P> {
        self.held.lease = None;
        RunOutcome::Lacks { why, next: self }
    }
}

/// The number of times that unreadable items may be removed before the program is refused. A peer that
/// reports damaged items again and again stops here.
const MOST_AGREEMENTS: u32 = 8;

/// The action on which both parties agree.
enum Agreed {
    /// The program takes these items from the epoch.
    Use(EpochId, EpochEntry, ReadItems),
    /// Both parties make the missing items.
    Lacks(Error),
    /// Items that one party cannot read are removed.
    Damaged,
}

/// The action that this party proposes.
enum Done {
    Uses(EpochEntry),
    /// The program takes these items, which this party has read.
    Takes(EpochEntry, ReadItems),
    /// Both parties remove these items, which this party cannot read.
    Loses(Intent, EpochEntry),
    Makes(Error),
    Refuses(Error),
}

fn intended(found: FoundItems, lacking: Lacking) -> (Intent, Done) {
    match (found, lacking) {
        (FoundItems::Enough(entry, intent), _) => (intent, Done::Uses(entry)),
        (FoundItems::Busy, Lacking::Make) => (make_or_refuse(lacking), Done::Makes(busy())),
        (FoundItems::Busy, Lacking::Refuse) => (Intent::only(NextAction::Busy), Done::Refuses(busy())),
        (FoundItems::Lacks(why), Lacking::Make) => (make_or_refuse(lacking), Done::Makes(why)),
        (FoundItems::Lacks(why), Lacking::Refuse) => (make_or_refuse(lacking), Done::Refuses(why)),
    }
}

fn take<P: StockProtocol>(
    store: &Store,
    session: &mut dyn StockSession<P>,
    epoch: &EpochId,
    (entry, opened): (&EpochEntry, ReadItems),
    job: &P::Execution<'_>,
) -> Result<P::Outcome, Error> {
    session.run().phase(P::AGREEMENT);
    session.run().program();
    let mut taken = store.append_opened(epoch, entry, opened)?;
    let stand = Stand::send(session.run(), *store.state(epoch)?.head())?;
    session.enter(taken.ranges()?)?;
    session.take(&TakenItems::new(store, epoch, &taken), job, stand)
}
