//! A step that several workers make side by side: one session over as many connections, behind a barrier.
//!
//! ```text
//!   on the connection of each worker, once
//!     both ways               greetings, which name the connection on which the parties have met
//!     garbler -> evaluator    which of the workers it is
//!   in each step, when both parties have the entry that begins it
//!     both ways               which worker, which entry, its share
//!                             [`Side::fill`], in ranges that are its own; each writes what it made, durably
//!     both ways               that it is written
//!   when all have said so, the step goes on where the parties have met
//! ```
//!
//! A worker's session has the secrets of the epoch, the ranges of one number of the step's entry, and a
//! connection; nothing else is shared. A connection that a peer has crossed with another one is refused by
//! what is said on it first; what is made in a range that is another worker's does not fit what the other end
//! draws from its own, and fails the checks of both streams.
//!
//! **Why behind a barrier.** What a check of a session tells a cheating peer is worth one guess, as the wrong
//! one burns the session's secrets. Over K connections it has K guesses before the first burn arrives. So
//! nothing is made, and no input is used, before all connections have passed all checks at both parties: then
//! K guesses at once are as good as K in a row, and whoever fails at one has learnt about secrets that hide
//! nothing. That is why the log begins no such step behind a program's, and why a session has the epoch's
//! lease until all workers have ended.
//!
//! **A worker that is lost** ends the step: the others stop, what they have stored is never used, and the
//! entry counts as an attempt with all that it risked. **A check that fails** burns the epoch, durably and by
//! the worker that saw it, before its connection closes. Until they hear of it the others say nothing that
//! depends on it.
//!
//! A worker is a thread of this process, or a process of its own: a maker ([`super::makers`]).

#[cfg(test)]
mod tests;

use std::sync::OnceLock;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use super::fill::{Making, make_share};
use super::makers::{Away, Ended};
use super::meeting::meet;
use super::msg;
use super::records::Shelf;
use super::side::{Asked, Preprocessed, Side};
use super::stocked::{Line, Stocked, burn_if_cheated};
use crate::{Digests, Greeting, Metered, PhaseReport, Protocol, SessionId, Terms};
use brickwork_base::digest::Digest;
use brickwork_base::stop::{self, Stop};
use brickwork_base::{Error, Malformed, Party};
use brickwork_stock::{Entry, EpochId, Head, Loss, MAX_WORKERS, Ranges, Secrets, Store};
use brickwork_wire::Channel;

/// How often it is looked whether this party is to stop.
const SLICE: Duration = Duration::from_millis(50);

/// This party's workers, in the order of their numbers.
pub struct Workers<S: Side> {
    workers: Vec<Worker<S>>,
    /// The protocol's.
    phases: &'static [&'static str],
}

enum Worker<S: Side> {
    /// A thread of this process.
    Here(Lane<S>),
    /// A process of its own.
    Away(Away),
}

/// This party's end of a worker's connection.
pub(super) struct Lane<S: Side> {
    /// What the greetings on it gave.
    pub greeted: SessionId,
    pub line: Line<S>,
}

/// A connection on which this party has greeted, and not heard yet.
pub(super) struct Greeted<S: Side> {
    number: u32,
    greeting: Greeting,
    run: Metered,
    carried: S::Carried,
}

/// Greets on the connection of a worker, one of so many that belong to a meeting. A garbler says which one it
/// is.
pub(super) fn greet_one<S: Side, P: Protocol>(
    mut run: Metered,
    carried: S::Carried,
    terms: &Terms,
    (session, of): (&SessionId, usize),
    number: u32,
) -> Result<Greeted<S>, Error> {
    run.phase("setup");
    let program = Digest::of("brickwork 2026-11 stock workers").digest(session).length(of).done();
    let digests = Digests { stock: true, program, parameters: [0; 32] };
    let greeting = Greeting::send::<P>(&mut run.channel, S::ROLE, terms, &digests)?;
    if S::ROLE == Party::Garbler {
        run.channel.send(msg::WORKER, &number.to_le_bytes())?;
    }
    run.channel.flush()?;
    Ok(Greeted { number, greeting, run, carried })
}

impl<S: Side> Greeted<S> {
    /// Hears the peer's greeting, and which worker it is.
    pub fn answered(self) -> Result<(u32, Lane<S>), Error> {
        let Greeted { mut number, greeting, mut run, carried } = self;
        let answer = greeting.answered(&mut run.channel)?;
        if answer.parameters != [0; 32] {
            return Err(Error::Mismatch("the peer's greeting is malformed".into()));
        }
        if S::ROLE == Party::Evaluator {
            let bytes = run.channel.receive(msg::WORKER, size_of::<u32>())?;
            number = u32::from_le_bytes(bytes.try_into().map_err(|_| Malformed::UnexpectedMessage)?);
        }
        Ok((number, Lane { greeted: answer.session, line: Line::Nobody(Box::new((run, carried))) }))
    }
}

impl<S: Side> Workers<S> {
    /// Greets on a connection for each worker that is a thread of this process; `makers` are lines to
    /// processes of this party, which greet by themselves. Together they are at least two. `session` is that
    /// of the greeting on which the parties have met. Which connection is whose, the garbler says; they may
    /// come in any order.
    ///
    /// # Errors
    /// [`Error::Usage`] if there are too few or too many; [`Error::Mismatch`] if the peer comes for something
    /// else, [`Error::Peer`] if it names a worker twice, or [`Error::Io`] if it goes away, or a maker does.
    /// Nothing has begun.
    pub fn greet<P: Protocol>(
        lines: Vec<(Metered, S::Carried)>,
        makers: Vec<Channel>,
        terms: &Terms,
        session: &SessionId,
    ) -> Result<Self, Error> {
        let (here, of) = (lines.len(), lines.len() + makers.len());
        if of < 2 || of > MAX_WORKERS as usize {
            return Err(Error::Usage(format!("{of} workers; a step is made by 2 to {MAX_WORKERS}")));
        }
        // All are greeted before any is heard: the peer may have them in another order.
        let hire = |(number, channel)| Away::hire(channel, P::NAME, S::ROLE, [number, of], session, terms);
        let makers = (here..).zip(makers).map(hire).collect::<Result<Vec<_>, _>>()?;
        let greet = |(number, (run, carried))| greet_one::<S, P>(run, carried, terms, (session, of), number);
        let greeted = (0..).zip(lines).map(greet).collect::<Result<Vec<_>, _>>()?;
        let mut workers: Vec<Option<Worker<S>>> = (0..of).map(|_| None).collect();
        let mut put = |number: u32, worker| -> Result<(), Error> {
            // Each number once: a range has one worker here, whatever the peer says.
            let place = workers.get_mut(number as usize).filter(|place| place.is_none());
            *place.ok_or(Malformed::UnexpectedMessage)? = Some(worker);
            Ok(())
        };
        for lane in greeted {
            let (number, lane) = lane.answered()?;
            put(number, Worker::Here(lane))?;
        }
        for mut maker in makers {
            put(maker.greeted()?, Worker::Away(maker))?;
        }
        Ok(Workers { workers: workers.into_iter().flatten().collect(), phases: P::PHASES })
    }

    /// Returns how many there are.
    #[allow(clippy::len_without_is_empty)]
    pub fn len(&self) -> usize {
        self.workers.len()
    }

    /// Ends them. Returns what each phase took, by worker.
    ///
    /// # Errors
    /// [`Error::Io`] if the peer went away, or a maker did.
    pub fn close(self) -> Result<Vec<Vec<PhaseReport>>, Error> {
        let phases = self.phases;
        let close = |worker| match worker {
            Worker::Here(Lane { line, .. }) => line.release().0.finish(),
            Worker::Away(maker) => maker.close(phases),
        };
        self.workers.into_iter().map(close).collect()
    }

    /// Gives each of the first `count` workers that are threads here the session of an epoch; all share the
    /// memory.
    fn enter(&mut self, store: &Store, epoch: &EpochId, terms: &Terms, count: usize) -> Result<(), Error> {
        let terms = Terms { table_memory: terms.table_memory / self.workers.len() as u64, ..terms.clone() };
        let rest = self.workers.split_off(count);
        for worker in std::mem::take(&mut self.workers) {
            self.workers.push(match worker {
                Worker::Here(lane) => Worker::Here(lane.entered(epoch, &terms, || store.secrets(epoch))?),
                away @ Worker::Away(_) => away,
            });
        }
        self.workers.extend(rest);
        Ok(())
    }

    /// Makes all shares of a step, each on the connection and in the ranges of one worker. Returns when all
    /// have ended.
    fn make<'s>(
        &mut self,
        making: &mut Making<'_, S>,
        shares: &[S::FillStep<'s>],
        terms: &Terms,
    ) -> Result<(), Error>
    where
        S: Send,
        S::Carried: Send,
        S::FillStep<'s>: Sync,
    {
        let (store, epoch) = (making.store, making.epoch);
        let ranges = making.begun.ranges_of_workers()?;
        let head = *store.state(epoch)?.head();
        self.enter(store, epoch, terms, shares.len())?;
        let idle = self.workers.split_off(shares.len());
        let lends = self.workers.iter().any(|worker| matches!(worker, Worker::Away(_)));
        if lends {
            // A maker has no store to write to before it sends a challenge.
            store.expose(epoch)?;
            let _ = store.append(epoch, &Entry::Lent)?;
        }
        let (stop, (tell, heard)) = (Stop::new(), channel());
        let mut back: Vec<Option<Worker<S>>> = shares.iter().map(|_| None).collect();
        let (mut failed, silent) = (None, OnceLock::new());
        std::thread::scope(|scope| {
            let workers = self.workers.drain(..).zip(shares.iter().zip(ranges));
            for (number, (mut worker, (share, ranges))) in workers.enumerate() {
                let (tell, stop, silent) = (tell.clone(), &stop, &silent);
                scope.spawn(move || {
                    let step = (store, epoch, &head);
                    let made = worker.makes(step, number, ranges, share, (stop, silent));
                    // Whoever waits for this is there until all have ended. The connection of a worker that
                    // has failed closes here, where it is dropped: behind the burn.
                    let _ = tell.send((number, made.map(|()| worker)));
                });
            }
            drop(tell);
            loop {
                match heard.recv_timeout(SLICE) {
                    Ok((number, Ok(worker))) => back[number] = Some(worker),
                    Ok((number, Err(error))) => {
                        stop.ask();
                        failed = Some(worse(failed.take(), lost(number, shares.len(), error)));
                    }
                    // What waits in a worker does not see that this thread is to stop.
                    Err(RecvTimeoutError::Timeout) if stop::check().is_err() => stop.ask(),
                    Err(RecvTimeoutError::Timeout) => {}
                    Err(RecvTimeoutError::Disconnected) => break,
                }
            }
        });
        self.workers = back.into_iter().flatten().chain(idle).collect();
        match (failed, silent.into_inner()) {
            (Some(error @ Error::Peer(_)), _) | (_, Some(error)) => Err(error),
            // All makers have said how they ended, and none that a check failed.
            (failed, None) => {
                if lends && store.state(epoch)?.burned().is_none() {
                    let _ = store.append(epoch, &Entry::Returned)?;
                }
                failed.map_or(Ok(()), Err)
            }
        }
    }
}

impl<S: Side> Worker<S> {
    /// Makes a share of a step of this head, in ranges that are its own. A check that fails burns the epoch;
    /// so does a maker that is lost without a word, which is said in `silent`: what the others end with may
    /// follow from the burn.
    fn makes(
        &mut self,
        (store, epoch, head): (&Store, &EpochId, &Head),
        number: usize,
        ranges: Ranges,
        share: &S::FillStep<'_>,
        (stop, silent): (&Stop, &OnceLock<Error>),
    ) -> Result<(), Error> {
        let maker = match self {
            Worker::Here(lane) => {
                let shelf = Shelf::Here(store, epoch);
                let made = stop.enter(|| {
                    lane.meets("brickwork 2026-11 stock share", head, number, share)?;
                    make_share(&shelf, lane.session()?, ranges, share)?;
                    lane.meets("brickwork 2026-11 stock share stored", head, number, share)
                });
                return burn_if_cheated(store, epoch, made);
            }
            Worker::Away(maker) => maker,
        };
        match maker.make(store, epoch, (head, number), ranges, share, stop) {
            Ended::Made => Ok(()),
            Ended::Said(error) => Err(error),
            Ended::Lost(error) => {
                let why = "a maker was lost without a word, and may have seen a check fail; this part of the \
                           store is burned";
                // Where this fails the burn is in the log already, but for the word that would take it back.
                if let Err(error) = store.lose(epoch, Loss::Check, why.into()).map(drop) {
                    tracing::error!("it burns when the store is opened next ({error})");
                }
                let error = || std::io::Error::other(format!("worker {}: {error}: {why}", number + 1)).into();
                let _ = silent.set(error());
                Err(error())
            }
        }
    }
}

impl<S: Side> Lane<S> {
    /// Gives it the session of an epoch, unless it has that.
    pub fn entered(
        self,
        epoch: &EpochId,
        terms: &Terms,
        secrets: impl FnOnce() -> Result<Secrets, Error>,
    ) -> Result<Self, Error> {
        let Lane { greeted, line } = self;
        let line = match line {
            Line::Session(session) if session.id() == epoch => Line::Session(session),
            line => {
                let (run, carried) = line.release();
                Line::Session(Box::new(S::restore(run, terms, &secrets()?, carried)?))
            }
        };
        Ok(Lane { greeted, line })
    }

    pub fn session(&mut self) -> Result<&mut S, Error> {
        match &mut self.line {
            Line::Session(session) => Ok(session),
            Line::Nobody(_) => Err(Error::Usage("a worker without a session".into())),
        }
    }

    /// Makes sure that both ends are the same worker's, of the same entry, with the same share.
    pub fn meets(
        &mut self,
        domain: &'static str,
        head: &[u8; 32],
        number: usize,
        share: &impl Asked,
    ) -> Result<(), Error> {
        let mut digest = Digest::of(domain);
        digest.digest(&self.greeted).digest(head).length(number);
        digest.digest(&share.request()).digest(&share.parameters());
        meet(self.line.run_mut(), &digest.done())
    }
}

/// Says whose connection it was, where one ended.
fn lost(number: usize, of: usize, error: Error) -> Error {
    match error {
        Error::Io(error) => Error::Io(std::io::Error::new(
            error.kind(),
            format!(
                "worker {} of {of}: {error}; the step is given up, with what the others made of it",
                number + 1
            ),
        )),
        other => other,
    }
}

/// Returns what to tell of two errors: that the peer cheated, or else what came first.
fn worse(first: Option<Error>, next: Error) -> Error {
    match (first, next) {
        (Some(first @ Error::Peer(_)), _) | (Some(first), Error::Io(_) | Error::Stock(_)) => first,
        (_, next) => next,
    }
}

impl<S: Side> Stocked<S> {
    /// Does what [`Stocked::fill`] does, with steps of one share or several: these are made side by side,
    /// each by a worker of its own. Which worker made what, a program does not see.
    ///
    /// # Errors
    /// As [`Stocked::fill`]; [`Error::Usage`] if a step has more shares than there are workers, or none.
    pub fn fill_by<'s>(
        self,
        workers: &mut Workers<S>,
        epoch: Option<EpochId>,
        steps: &[Vec<S::FillStep<'s>>],
    ) -> Result<(Preprocessed, Self), Error>
    where
        S: Send,
        S::Carried: Send,
        S::FillStep<'s>: Sync,
    {
        if steps.iter().any(|shares| !(1..=workers.len()).contains(&shares.len())) {
            return Err(Error::Usage("a step of more shares than there are workers, or of none".into()));
        }
        let (terms, steps) = (self.held.terms.clone(), steps.iter().map(Vec::as_slice).collect::<Vec<_>>());
        self.fill_shares(epoch, &steps, |making, shares| match shares {
            [share] => making.by_this_session(share),
            shares => workers.make(making, shares, &terms),
        })
    }
}
