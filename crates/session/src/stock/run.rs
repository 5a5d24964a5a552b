//! Running a program on what is in stock.

use super::epochs::Found;
use super::intent::{Intent, busy, different, make_or_refuse, peer_refuses};
use super::records::TakenItems;
use super::side::{Lacking, Side, Stand};
use super::stocked::{Stocked, burn_if_cheated, over};
use crate::{OTHER_PROGRAM, announce, confirm};
use brickwork_base::Error;
use brickwork_circuit::Party;
use brickwork_stock::{Entry, EpochId, Store};

/// What became of a program.
pub enum Ran<S: Side> {
    /// It ran.
    Done {
        /// What it gave.
        outcome: S::Outcome,
        /// The epoch that it took from.
        epoch: EpochId,
        /// The connection, for what comes next.
        next: Stocked<S>,
    },
    /// Both parties lack something and want to make it; nothing was taken.
    Lacks {
        /// What, in words.
        why: Error,
        /// The connection, on which to make it.
        next: Stocked<S>,
    },
}

/// What a program gave, the epoch that it took from, what had to be made first, and the connection.
pub type Gave<S, M> = (<S as Side>::Outcome, EpochId, Option<M>, Stocked<S>);

impl<S: Side> Stocked<S> {
    /// Runs a program. If it lacks something and both parties want to make it, `make` does, and says what it
    /// has made.
    ///
    /// # Errors
    /// As [`Stocked::run`], and `make`'s; [`Error::Stock`] if it lacks something all the same.
    pub fn run_or_make<M>(
        self,
        job: &S::Execution<'_>,
        lacking: Lacking,
        make: impl FnOnce(Self, &Error) -> Result<(M, Self), Error>,
    ) -> Result<Gave<S, M>, Error> {
        let (ran, made) = match self.run(job, lacking)? {
            Ran::Lacks { why, next } => {
                let (made, next) = make(next, &why)?;
                (next.run(job, Lacking::Refuse)?, Some(made))
            }
            done => (done, None),
        };
        match ran {
            Ran::Done { outcome, epoch, next } => Ok((outcome, epoch, made, next)),
            Ran::Lacks { why, .. } => Err(why),
        }
    }

    /// Runs a program on what is in stock.
    ///
    /// # Errors
    /// As [`Stocked::fill`]; [`Error::Stock`] if something is lacking and either party makes nothing.
    pub fn run(mut self, job: &S::Execution<'_>, lacking: Lacking) -> Result<Ran<S>, Error> {
        let only = self.only();
        let run = self.line.run_mut();
        run.phase(S::AGREEMENT);
        let program = S::program(job);
        announce(&mut run.channel, &program)?;
        let (entry, intent) = match S::ROLE {
            Party::Garbler => {
                // What it would take goes with the program's name: nothing is taken before both agree.
                let found = self.held.find::<S>(job, only, None)?;
                let (mine, done) = intended(found, lacking);
                mine.send(run)?;
                confirm(&mut run.channel, &program, OTHER_PROGRAM)?;
                let theirs = Intent::receive(run)?;
                match (done, theirs.what) {
                    (Done::Refuses(why), _) => return Err(why),
                    (_, Intent::REFUSE) => return Err(peer_refuses()),
                    (_, Intent::BUSY) => return Err(busy()),
                    (Done::Makes(why), Intent::MAKE) => return Ok(self.lacks(why)),
                    (Done::Uses(entry), Intent::USE) if theirs == mine => (entry, mine),
                    _ => return Err(different()),
                }
            }
            Party::Evaluator => {
                confirm(&mut run.channel, &program, OTHER_PROGRAM)?;
                let theirs = Intent::receive(run)?;
                // Of all that it may take from, it takes what the garbler names.
                let named = (theirs.what == Intent::USE).then_some(theirs.epoch);
                let found = self.held.find::<S>(job, only, named)?;
                match (theirs.what, found) {
                    (Intent::USE, Found::Busy) => {
                        Intent::only(Intent::BUSY).send(run)?;
                        return Err(busy());
                    }
                    (Intent::USE, Found::Enough(entry, mine)) => {
                        mine.send(run)?;
                        if mine != theirs {
                            return Err(different());
                        }
                        (entry, mine)
                    }
                    (Intent::USE, Found::Lacks(_)) => {
                        Intent::only(Intent::USE).send(run)?;
                        return Err(different());
                    }
                    (what, found) => {
                        let (mine, done) = intended(found, lacking);
                        // What it has and the garbler has not is with another session there.
                        let mine = if mine.what == Intent::USE { make_or_refuse(lacking) } else { mine };
                        mine.send(run)?;
                        return match (what, done) {
                            (Intent::BUSY, _) => Err(busy()),
                            (_, Done::Refuses(why)) => Err(why),
                            (Intent::REFUSE, _) => Err(peer_refuses()),
                            (Intent::MAKE, Done::Makes(why)) => Ok(self.lacks(why)),
                            (Intent::MAKE, Done::Uses(_)) if lacking == Lacking::Make => {
                                Ok(self.lacks(busy()))
                            }
                            _ => Err(different()),
                        };
                    }
                }
            }
        };
        let epoch = intent.epoch;
        let (held, mut session) = self.session(Some(epoch))?;
        let done = take(&held.store, &mut *session, &epoch, &entry, job);
        let outcome = over(&held.store, &epoch, burn_if_cheated(&held.store, &epoch, done))?;
        let _ = held.store.append(&epoch, &Entry::Confirmed)?;
        Ok(Ran::Done { outcome, epoch, next: held.with(session) })
    }

    /// What is left where both make what is lacking.
    fn lacks(mut self, why: Error) -> Ran<S> {
        self.held.lease = None;
        Ran::Lacks { why, next: self }
    }
}

/// What this party does about what it found.
enum Done {
    Uses(Entry),
    Makes(Error),
    Refuses(Error),
}

fn intended(found: Found, lacking: Lacking) -> (Intent, Done) {
    match (found, lacking) {
        (Found::Enough(entry, intent), _) => (intent, Done::Uses(entry)),
        (Found::Busy, Lacking::Make) => (make_or_refuse(lacking), Done::Makes(busy())),
        (Found::Busy, Lacking::Refuse) => (Intent::only(Intent::BUSY), Done::Refuses(busy())),
        (Found::Lacks(why), Lacking::Make) => (make_or_refuse(lacking), Done::Makes(why)),
        (Found::Lacks(why), Lacking::Refuse) => (make_or_refuse(lacking), Done::Refuses(why)),
    }
}

fn take<S: Side>(
    store: &Store,
    session: &mut S,
    epoch: &EpochId,
    entry: &Entry,
    job: &S::Execution<'_>,
) -> Result<S::Outcome, Error> {
    session.run().phase(S::AGREEMENT);
    let mut taken = store.append(epoch, entry)?;
    let stand = Stand::send(session.run(), *store.state(epoch)?.head())?;
    session.enter(taken.ranges()?)?;
    session.take(&TakenItems::new(store, epoch, &taken), job, stand)
}
