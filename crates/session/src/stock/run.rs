//! Running a program on what is in stock.

use super::epochs::Found;
use super::intent::{Intent, busy, different, make_or_refuse, peer_refuses};
use super::meeting::meet;
use super::records::TakenItems;
use super::side::{Lacking, Side, Stand};
use super::stocked::{Stocked, burn_if_cheated, over};
use crate::{OTHER_PROGRAM, announce, confirm};
use brickwork_base::Error;
use brickwork_circuit::Party;
use brickwork_stock::{Checked, Entry, EpochId, Opened, Store};

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

    /// Runs a program on what is in stock. Each party reads what it is about to take before anything is
    /// burned. Items that cannot be read are taken out at both parties, and others take their place.
    ///
    /// # Errors
    /// As [`Stocked::fill`]; [`Error::Stock`] if something is lacking and either party makes nothing.
    pub fn run(mut self, job: &S::Execution<'_>, lacking: Lacking) -> Result<Ran<S>, Error> {
        let run = self.line.run_mut();
        run.phase(S::AGREEMENT);
        let mut program = Some(S::program(job));
        announce(&mut run.channel, &S::program(job))?;
        // While the garbler reads.
        let mut early = match S::ROLE {
            Party::Garbler => None,
            Party::Evaluator => self.read_early(job)?,
        };
        for _ in 0..MOST_AGREEMENTS {
            let agreed = match S::ROLE {
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
            let _ = held.store.append(&epoch, &Entry::Confirmed)?;
            return Ok(Ran::Done { outcome, epoch, next: held.with(session) });
        }
        Err(Error::Stock(
            "items of the stock cannot be read, again and again; `brickwork stock verify` on both sides \
             reads all of it"
                .into(),
        ))
    }

    /// Says what the program would take, or what of it cannot be read, and hears what the evaluator says.
    fn propose(
        &mut self,
        job: &S::Execution<'_>,
        lacking: Lacking,
        program: Option<[u8; 32]>,
    ) -> Result<Agreed, Error> {
        let found = self.held.find::<S>(job, self.only(), None)?;
        let (mine, done) = intended(found, lacking);
        let done = match done {
            Done::Uses(entry) => match self.held.open(&mine.epoch, &entry)? {
                Checked::Sound(opened) => Done::Takes(entry, opened),
                Checked::Damaged(damaged) => Done::Loses(self.held.loses(&mine.epoch, &damaged)?, damaged),
            },
            done => done,
        };
        let run = self.line.run_mut();
        // It names the items with the program's name: nothing is taken before both agree.
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
            (_, Intent::REFUSE) => Err(peer_refuses()),
            (_, Intent::BUSY) => Err(busy()),
            (Done::Makes(why), Intent::MAKE) => Ok(Agreed::Lacks(why)),
            (Done::Takes(entry, opened), Intent::USE) if theirs == mine => {
                Ok(Agreed::Use(mine.epoch, entry, opened))
            }
            (Done::Loses(intent, damaged), Intent::DAMAGED) if theirs == intent => {
                self.take_out(&intent.epoch, &damaged)
            }
            (Done::Takes(entry, _), Intent::DAMAGED) => {
                let damaged = self.held.hear_damaged(run, &theirs, &mine.epoch, &entry)?;
                theirs.send(run)?;
                self.take_out(&mine.epoch, &damaged)
            }
            _ => Err(different()),
        }
    }

    /// Reads what the program will take if the garbler finds the same.
    fn read_early(&mut self, job: &S::Execution<'_>) -> Result<Option<(Intent, Checked)>, Error> {
        Ok(match self.held.find::<S>(job, self.only(), None)? {
            Found::Enough(entry, intent) => Some((intent, self.held.open(&intent.epoch, &entry)?)),
            _ => None,
        })
    }

    /// Hears what the garbler proposes, and says whether this party takes the same.
    fn answer(
        &mut self,
        job: &S::Execution<'_>,
        lacking: Lacking,
        program: Option<[u8; 32]>,
        early: Option<(Intent, Checked)>,
    ) -> Result<Agreed, Error> {
        let run = self.line.run_mut();
        if let Some(program) = program {
            confirm(&mut run.channel, &program, OTHER_PROGRAM)?;
        }
        let theirs = Intent::receive(run)?;
        // Of all that it may take from, it takes what the garbler names.
        let named = [Intent::USE, Intent::DAMAGED].contains(&theirs.what).then_some(theirs.epoch);
        let found = self.held.find::<S>(job, self.only(), named)?;
        let run = self.line.run_mut();
        match (named, found) {
            (Some(_), Found::Busy) => {
                Intent::only(Intent::BUSY).send(run)?;
                Err(busy())
            }
            (Some(_), Found::Lacks(_)) => {
                Intent::only(Intent::USE).send(run)?;
                Err(different())
            }
            (Some(epoch), Found::Enough(entry, _)) if theirs.what == Intent::DAMAGED => {
                let damaged = self.held.hear_damaged(run, &theirs, &epoch, &entry)?;
                theirs.send(run)?;
                self.take_out(&epoch, &damaged)
            }
            (Some(_), Found::Enough(_, mine)) if mine != theirs => {
                mine.send(run)?;
                Err(different())
            }
            (Some(epoch), Found::Enough(entry, mine)) => {
                // An intent says where the log stands.
                let checked = match early.filter(|(intent, _)| *intent == mine) {
                    Some((_, checked)) => checked,
                    None => self.held.open(&epoch, &entry)?,
                };
                match checked {
                    Checked::Sound(opened) => {
                        mine.send(run)?;
                        Ok(Agreed::Use(epoch, entry, opened))
                    }
                    Checked::Damaged(damaged) => {
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
                // Stock that it has and the garbler lacks is with another session there.
                let mine = if mine.what == Intent::USE { make_or_refuse(lacking) } else { mine };
                mine.send(run)?;
                match (theirs.what, done) {
                    (Intent::BUSY, _) => Err(busy()),
                    (_, Done::Refuses(why)) => Err(why),
                    (Intent::REFUSE, _) => Err(peer_refuses()),
                    (Intent::MAKE, Done::Makes(why)) => Ok(Agreed::Lacks(why)),
                    (Intent::MAKE, Done::Uses(_)) if lacking == Lacking::Make => Ok(Agreed::Lacks(busy())),
                    _ => Err(different()),
                }
            }
        }
    }

    /// Takes items out, which one of the parties cannot read, when the other one does so, too.
    fn take_out(&mut self, epoch: &EpochId, damaged: &Entry) -> Result<Agreed, Error> {
        let store = &self.held.store;
        let _ = store.append(epoch, damaged)?;
        meet(self.line.run_mut(), store.state(epoch)?.head())?;
        let _ = store.append(epoch, &Entry::Confirmed)?;
        Ok(Agreed::Damaged)
    }

    /// What is left where both make what is lacking.
    fn lacks(mut self, why: Error) -> Ran<S> {
        self.held.lease = None;
        Ran::Lacks { why, next: self }
    }
}

/// How often items are taken out before a program is given up: a peer that names others again and again gets
/// no further.
const MOST_AGREEMENTS: u32 = 8;

/// The next step, on which both parties agree.
enum Agreed {
    /// A program takes this from an epoch.
    Use(EpochId, Entry, Opened),
    /// Both make what is lacking.
    Lacks(Error),
    /// Items that one of them cannot read are taken out.
    Damaged,
}

/// What this party does about what it found.
enum Done {
    Uses(Entry),
    /// It takes what it has read.
    Takes(Entry, Opened),
    /// It takes out what it cannot read, and says so.
    Loses(Intent, Entry),
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
    (entry, opened): (&Entry, Opened),
    job: &S::Execution<'_>,
) -> Result<S::Outcome, Error> {
    session.run().phase(S::AGREEMENT);
    let mut taken = store.append_opened(epoch, entry, opened)?;
    let stand = Stand::send(session.run(), *store.state(epoch)?.head())?;
    session.enter(taken.ranges()?)?;
    session.take(&TakenItems::new(store, epoch, &taken), job, stand)
}
