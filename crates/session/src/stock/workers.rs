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

#[cfg(test)]
mod tests;

use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use super::fill::{Making, make_share};
use super::meeting::meet;
use super::msg;
use super::side::{Asked, Preprocessed, Side};
use super::stocked::{Line, Stocked, burn_if_cheated};
use crate::{Digests, Greeting, Metered, PhaseReport, Protocol, SessionId, Terms};
use brickwork_base::digest::Digest;
use brickwork_base::stop::{self, Stop};
use brickwork_base::{Error, Malformed, Party};
use brickwork_stock::{EpochId, MAX_WORKERS, Store};

/// How often it is looked whether this party is to stop.
const SLICE: Duration = Duration::from_millis(50);

/// This party's ends of the workers' connections, in the order of their numbers.
pub struct Workers<S: Side> {
    lanes: Vec<Lane<S>>,
}

struct Lane<S: Side> {
    /// What the greetings on it gave.
    greeted: SessionId,
    line: Line<S>,
}

impl<S: Side> Workers<S> {
    /// Greets on a connection for each worker, at least two. `session` is that of the greeting on which the
    /// parties have met. Which connection is whose, the garbler says; they may come in any order.
    ///
    /// # Errors
    /// [`Error::Usage`] if there are too few or too many; [`Error::Mismatch`] if the peer comes for something
    /// else, [`Error::Peer`] if it names a worker twice, or [`Error::Io`] if it goes away. Nothing has begun.
    pub fn greet<P: Protocol>(
        lines: Vec<(Metered, S::Carried)>,
        terms: &Terms,
        session: &SessionId,
    ) -> Result<Self, Error> {
        let of = lines.len();
        if of < 2 || of > MAX_WORKERS as usize {
            return Err(Error::Usage(format!("{of} workers; a step is made by 2 to {MAX_WORKERS}")));
        }
        let program = Digest::of("brickwork 2026-11 stock workers").digest(session).length(of).done();
        let mut greeted = Vec::new();
        // All are greeted before any is heard: the peer may have them in another order.
        for (number, (mut run, carried)) in (0u32..).zip(lines) {
            run.phase("setup");
            let digests = Digests { stock: true, program, parameters: [0; 32] };
            let greeting = Greeting::send::<P>(&mut run.channel, S::ROLE, terms, &digests)?;
            if S::ROLE == Party::Garbler {
                run.channel.send(msg::WORKER, &number.to_le_bytes())?;
            }
            run.channel.flush()?;
            greeted.push((number, greeting, run, carried));
        }
        let mut lanes: Vec<Option<Lane<S>>> = (0..of).map(|_| None).collect();
        for (mut number, greeting, mut run, carried) in greeted {
            let answer = greeting.answered(&mut run.channel)?;
            if answer.parameters != [0; 32] {
                return Err(Error::Mismatch("the peer's greeting is malformed".into()));
            }
            if S::ROLE == Party::Evaluator {
                let bytes = run.channel.receive(msg::WORKER, size_of::<u32>())?;
                number = u32::from_le_bytes(bytes.try_into().map_err(|_| Malformed::UnexpectedMessage)?);
            }
            // Each number once: a range has one worker here, whatever the peer says.
            let place = lanes.get_mut(number as usize).filter(|place| place.is_none());
            *place.ok_or(Malformed::UnexpectedMessage)? =
                Some(Lane { greeted: answer.session, line: Line::Nobody(Box::new((run, carried))) });
        }
        Ok(Workers { lanes: lanes.into_iter().flatten().collect() })
    }

    /// Returns how many there are.
    #[allow(clippy::len_without_is_empty)]
    pub fn len(&self) -> usize {
        self.lanes.len()
    }

    /// Ends them. Returns what each phase took, by worker.
    ///
    /// # Errors
    /// [`Error::Io`] if the peer went away.
    pub fn close(self) -> Result<Vec<Vec<PhaseReport>>, Error> {
        self.lanes.into_iter().map(|lane| lane.line.release().0.finish()).collect()
    }

    /// Gives each of the first `count` workers the session of an epoch; they share the memory.
    fn enter(&mut self, store: &Store, epoch: &EpochId, terms: &Terms, count: usize) -> Result<(), Error> {
        let terms = Terms { table_memory: terms.table_memory / self.lanes.len() as u64, ..terms.clone() };
        let rest = self.lanes.split_off(count);
        for Lane { greeted, line } in std::mem::take(&mut self.lanes) {
            let line = match line {
                Line::Session(session) if session.id() == epoch => Line::Session(session),
                line => {
                    let (run, carried) = line.release();
                    let secrets = store.secrets(epoch)?;
                    Line::Session(Box::new(S::restore(run, &terms, &secrets, carried)?))
                }
            };
            self.lanes.push(Lane { greeted, line });
        }
        self.lanes.extend(rest);
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
        let idle = self.lanes.split_off(shares.len());
        let (stop, (tell, heard)) = (Stop::new(), channel());
        let mut back: Vec<Option<Lane<S>>> = shares.iter().map(|_| None).collect();
        let mut failed = None;
        std::thread::scope(|scope| {
            let workers = self.lanes.drain(..).zip(shares.iter().zip(ranges));
            for (number, (mut lane, (share, ranges))) in workers.enumerate() {
                let (tell, stop) = (tell.clone(), &stop);
                scope.spawn(move || {
                    let made = stop.enter(|| {
                        lane.meets("brickwork 2026-11 stock share", &head, number, share)?;
                        make_share(store, lane.session()?, epoch, ranges, share)?;
                        lane.meets("brickwork 2026-11 stock share stored", &head, number, share)
                    });
                    // Before the connection closes, which it does where the lane is dropped.
                    let made = burn_if_cheated(store, epoch, made);
                    // Whoever waits for this is there until all have ended.
                    let _ = tell.send((number, made.map(|()| lane)));
                });
            }
            drop(tell);
            loop {
                match heard.recv_timeout(SLICE) {
                    Ok((number, Ok(lane))) => back[number] = Some(lane),
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
        self.lanes = back.into_iter().flatten().chain(idle).collect();
        failed.map_or(Ok(()), Err)
    }
}

impl<S: Side> Lane<S> {
    fn session(&mut self) -> Result<&mut S, Error> {
        match &mut self.line {
            Line::Session(session) => Ok(session),
            Line::Nobody(_) => Err(Error::Usage("a worker without a session".into())),
        }
    }

    /// Makes sure that both ends are the same worker's, of the same entry, with the same share.
    fn meets(
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
