//! Several workers make a step side by side: each has its own connection and session, and all must finish
//! before the step counts.
//!
//! ```text
//!   on the connection of each worker, once
//!     both ways               greetings, which name the connection on which the parties have met
//!     garbler -> evaluator    which of the workers it is
//!   in each step, when both parties have the entry that begins it
//!     both ways               which worker, which entry, its share
//!                             [`StockSession::fill`], in ranges of its own; each writes its items, durably
//!     both ways               that it is written
//!   when all have said so, the step goes on where the parties have met
//! ```
//!
//! A worker's session has the secrets of the epoch, the ranges of one number of the step's entry, and a
//! connection. Nothing else is shared. If an attacker exchanges two connections, the first messages on them
//! do not match and are refused. If a worker uses the range of another worker, the two ends have different
//! ranges, and the checks of both fail.
//!
//! **Why there is a barrier.** A check gives a cheating peer one guess about a session's secrets, because a
//! wrong guess burns them. With K connections, it has K guesses before the first burn takes effect. Therefore
//! no stock of the step is used, and no input depends on it, before all connections have passed all checks at
//! both parties. Then K guesses at the same time are no better than K guesses in sequence. A peer that fails
//! at one connection has only learnt about secrets that do not protect any input yet. For the same reason the
//! log allows no such step after a program's entry, and a session holds the epoch's lease until all workers
//! have ended.
//!
//! **A lost worker** ends the step: the others stop, and the items that they stored are never used. The entry
//! counts as an attempt with its full risk. **A failed check** burns the epoch. The worker that saw it
//! records the burn on disk before its connection closes. Before the other workers know of the burn, they
//! send nothing that depends on the failed check.
//!
//! A worker is a thread of this process, or a *maker*, which is a process of its own ([`super::makers`]).

#[cfg(test)]
mod tests;

use std::sync::OnceLock;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use super::fill::{BegunStep, make_share};
use super::makers::{Away, Ended};
use super::meeting::meet;
use super::msg;
use super::records::NewItemsPlace;
use super::side::{Preprocessed, PreprocessingStep, StockProtocol, StockSession};
use super::stocked::{ConnectionState, Stocked, burn_if_cheated};
use crate::{Digests, Greeting, Metered, PhaseReport, SessionId, Terms};
use brickwork_base::digest::Digest;
use brickwork_base::stop::{self, Stop};
use brickwork_base::{Error, Malformed, Party};
use brickwork_store::{EpochEntry, EpochId, EpochSecrets, LogHead, Loss, MAX_WORKERS, Ranges, Store};
use brickwork_wire::Channel;

/// The interval at which a waiting thread checks whether it must stop.
const SLICE: Duration = Duration::from_millis(50);

/// This party's workers, in the order of their numbers.
pub struct Workers<P: StockProtocol> {
    workers: Vec<Worker<P>>,
    /// The phases of the protocol.
    phases: &'static [&'static str],
}

enum Worker<P: StockProtocol> {
    /// A thread of this process.
    Here(WorkerEnd<P>),
    /// A process of its own.
    Away(Away),
}

/// This party's end of the connection of a worker.
pub(super) struct WorkerEnd<P: StockProtocol> {
    /// The session identifier that the greetings on this connection gave.
    pub greeted: SessionId,
    pub line: ConnectionState<P>,
}

/// A connection on which this party has sent its greeting and not received the peer's.
pub(super) struct Greeted<P: StockProtocol> {
    number: u32,
    greeting: Greeting,
    run: Metered,
    carried: P::Carried,
}

/// Greets on the connection of a worker, which is one of several that belong together. A garbler sends the
/// number of the worker.
pub(super) fn greet_one<P: StockProtocol>(
    mut run: Metered,
    carried: P::Carried,
    terms: &Terms,
    (session, of): (&SessionId, usize),
    number: u32,
) -> Result<Greeted<P>, Error> {
    run.phase("setup");
    let program = Digest::of("brickwork 2026-11 stock workers").digest(session).length(of).done();
    let digests = Digests { stock: true, program, parameters: [0; 32] };
    let greeting = Greeting::send::<P>(&mut run.channel, run.role, terms, &digests)?;
    if run.role == Party::Garbler {
        run.channel.send(msg::WORKER, &number.to_le_bytes())?;
    }
    run.channel.flush()?;
    Ok(Greeted { number, greeting, run, carried })
}

impl<P: StockProtocol> Greeted<P> {
    /// Receives the peer's greeting, and the number of the worker.
    pub fn answered(self) -> Result<(u32, WorkerEnd<P>), Error> {
        let Greeted { mut number, greeting, mut run, carried } = self;
        let answer = run.answer(greeting)?;
        answer.proposes_nothing()?;
        if run.role == Party::Evaluator {
            let bytes = run.channel.receive(msg::WORKER, size_of::<u32>())?;
            number = u32::from_le_bytes(bytes.try_into().map_err(|_| Malformed::UnexpectedMessage)?);
        }
        Ok((
            number,
            WorkerEnd { greeted: answer.session, line: ConnectionState::Nobody(Box::new((run, carried))) },
        ))
    }
}

impl<P: StockProtocol> Workers<P> {
    /// Greets on a connection for each worker that is a thread of this process; `makers` are connections to
    /// processes of this party, which greet by themselves. There must be at least two workers. `session` is
    /// the identifier of the greeting on the main connection. The garbler says which connection belongs to
    /// which worker; they may come in any order.
    ///
    /// # Errors
    /// [`Error::Usage`] if there are too few or too many, or one has another role. [`Error::Mismatch`] if the
    /// peer has another purpose. [`Error::Peer`] if it names a worker twice. [`Error::Io`] if it or a maker
    /// goes away. Nothing has begun.
    pub fn greet(
        role: Party,
        lines: Vec<(Metered, P::Carried)>,
        makers: Vec<Channel>,
        terms: &Terms,
        session: &SessionId,
    ) -> Result<Self, Error> {
        let (here, of) = (lines.len(), lines.len() + makers.len());
        if of < 2 || of > MAX_WORKERS as usize {
            return Err(Error::Usage(format!(
                "a step cannot be made by {of} workers; use 2 to {MAX_WORKERS}"
            )));
        }
        // A worker with the other role would send the other party's messages in this party's name.
        if lines.iter().any(|(run, _)| run.role != role) {
            return Err(Error::Usage("a worker has another role than its party".into()));
        }
        // All greetings are sent before any is received, because the peer may use another order.
        let hire = |(number, channel)| Away::hire(channel, P::NAME, role, [number, of], session, terms);
        let makers = (here..).zip(makers).map(hire).collect::<Result<Vec<_>, _>>()?;
        let greet = |(number, (run, carried))| greet_one::<P>(run, carried, terms, (session, of), number);
        let greeted = (0..).zip(lines).map(greet).collect::<Result<Vec<_>, _>>()?;
        let mut workers: Vec<Option<Worker<P>>> = (0..of).map(|_| None).collect();
        let mut put = |number: u32, worker| -> Result<(), Error> {
            // Each number must occur once, so that each range has only one worker, whatever the peer sends.
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

    /// Returns the number of workers.
    #[allow(clippy::len_without_is_empty)]
    pub fn len(&self) -> usize {
        self.workers.len()
    }

    /// Closes the workers' connections. Returns the time and the bytes of each phase, by worker.
    ///
    /// # Errors
    /// [`Error::Io`] if the peer or a maker has gone away.
    pub fn close(self) -> Result<Vec<Vec<PhaseReport>>, Error> {
        let phases = self.phases;
        let close = |worker| match worker {
            Worker::Here(WorkerEnd { line, .. }) => line.release().0.finish(),
            Worker::Away(maker) => maker.close(phases),
        };
        self.workers.into_iter().map(close).collect()
    }

    /// Opens the epoch's session for each of the first `count` workers that are threads. Together they use
    /// the memory of one session.
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

    /// Makes all shares of a step, each on the connection of one worker and in its ranges. Returns when all
    /// workers have ended.
    fn make<'s>(
        &mut self,
        making: &mut BegunStep<'_, P>,
        shares: &[P::FillStep<'s>],
        terms: &Terms,
    ) -> Result<(), Error> {
        let (store, epoch) = (making.store, making.epoch);
        let ranges = making.begun.ranges_of_workers()?;
        let head = *store.state(epoch)?.head();
        self.enter(store, epoch, terms, shares.len())?;
        let idle = self.workers.split_off(shares.len());
        let lends = self.workers.iter().any(|worker| matches!(worker, Worker::Away(_)));
        if lends {
            // A maker has no store, so it cannot record the exposure before it sends a challenge. So this
            // party records the exposure before it starts any maker.
            store.expose(epoch)?;
            let _ = store.append(epoch, &EpochEntry::Lent)?;
        }
        let (stop, (tell, heard)) = (Stop::new(), channel());
        let mut back: Vec<Option<Worker<P>>> = shares.iter().map(|_| None).collect();
        let (mut failed, silent) = (None, OnceLock::new());
        std::thread::scope(|scope| {
            let workers = self.workers.drain(..).zip(shares.iter().zip(ranges));
            for (number, (mut worker, (share, ranges))) in workers.enumerate() {
                let (tell, stop, silent) = (tell.clone(), &stop, &silent);
                scope.spawn(move || {
                    let step = (store, epoch, &head);
                    let made = worker.makes(step, number, ranges, share, (stop, silent));
                    // The main thread waits here until all workers have ended. It drops the connection of a
                    // failed worker only after the burn.
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
                    // A waiting worker does not notice that the main thread must stop, so the workers are
                    // asked to stop here.
                    Err(RecvTimeoutError::Timeout) if stop::check().is_err() => stop.ask(),
                    Err(RecvTimeoutError::Timeout) => {}
                    Err(RecvTimeoutError::Disconnected) => break,
                }
            }
        });
        self.workers = back.into_iter().flatten().chain(idle).collect();
        match (failed, silent.into_inner()) {
            (Some(error @ Error::Peer(_)), _) | (_, Some(error)) => Err(error),
            // All makers have reported, and none has seen a failed check.
            (failed, None) => {
                if lends && store.state(epoch)?.burned().is_none() {
                    let _ = store.append(epoch, &EpochEntry::Returned)?;
                }
                failed.map_or(Ok(()), Err)
            }
        }
    }
}

impl<P: StockProtocol> Worker<P> {
    /// Makes a share of a step that began with this log entry, in number ranges of its own. A failed check
    /// burns the epoch. So does a maker that is lost without a report. A lost maker's error goes to `silent`,
    /// because the errors of the other workers may be consequences of the burn.
    fn makes(
        &mut self,
        (store, epoch, head): (&Store, &EpochId, &LogHead),
        number: usize,
        ranges: Ranges,
        share: &P::FillStep<'_>,
        (stop, silent): (&Stop, &OnceLock<Error>),
    ) -> Result<(), Error> {
        let maker = match self {
            Worker::Here(lane) => {
                let shelf = NewItemsPlace::Here(store, epoch);
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
                let why = "a maker was lost without a report and may have seen a failed check, so this part \
                           of the store is burned";
                // Even if writing this fails, the epoch is burned, because the log lacks the entry that would
                // take the burn back.
                if let Err(error) = store.lose(epoch, Loss::Check, why.into()).map(drop) {
                    tracing::error!(
                        "the store cannot burn this part now ({error}), but will burn it when it is opened \
                         next"
                    );
                }
                let error = || std::io::Error::other(format!("worker {}: {error}: {why}", number + 1)).into();
                let _ = silent.set(error());
                Err(error())
            }
        }
    }
}

impl<P: StockProtocol> WorkerEnd<P> {
    /// Opens the session of an epoch for this worker, unless it has that session.
    pub fn entered(
        self,
        epoch: &EpochId,
        terms: &Terms,
        secrets: impl FnOnce() -> Result<EpochSecrets, Error>,
    ) -> Result<Self, Error> {
        let WorkerEnd { greeted, line } = self;
        let line = match line {
            ConnectionState::Session(session) if session.id() == epoch => ConnectionState::Session(session),
            line => {
                let (run, carried) = line.release();
                ConnectionState::Session(P::restore(run, terms, &secrets()?, carried)?)
            }
        };
        Ok(WorkerEnd { greeted, line })
    }

    pub fn session(&mut self) -> Result<&mut dyn StockSession<P>, Error> {
        match &mut self.line {
            ConnectionState::Session(session) => Ok(&mut **session),
            ConnectionState::Nobody(_) => Err(Error::Usage("this worker has no session".into())),
        }
    }

    /// Checks that both ends have the same worker, the same entry and the same share.
    pub fn meets(
        &mut self,
        domain: &'static str,
        head: &[u8; 32],
        number: usize,
        share: &impl PreprocessingStep,
    ) -> Result<(), Error> {
        let mut digest = Digest::of(domain);
        digest.digest(&self.greeted).digest(head).length(number);
        digest.digest(&share.request()).digest(&share.parameters());
        meet(self.line.run(), &digest.done())
    }
}

/// Adds the number of the lost worker to an error.
fn lost(number: usize, of: usize, error: Error) -> Error {
    match error {
        Error::Io(error) => Error::Io(std::io::Error::new(
            error.kind(),
            format!(
                "worker {} of {of}: {error}; the step is given up, with the items that the other workers \
                 made",
                number + 1
            ),
        )),
        other => other,
    }
}

/// Returns the more important of two errors: a detected cheat if there is one, and the first error otherwise.
fn worse(first: Option<Error>, next: Error) -> Error {
    match (first, next) {
        (Some(first @ Error::Peer(_)), _) | (Some(first), Error::Io(_) | Error::Stock(_)) => first,
        (_, next) => next,
    }
}

impl<P: StockProtocol> Stocked<P> {
    /// Does the same as [`Stocked::fill`], with steps of one share or several. The shares of a step are made
    /// side by side, each by another worker. A program does not notice which worker made its items.
    ///
    /// # Errors
    /// As [`Stocked::fill`]; [`Error::Usage`] if a step has no shares, or more shares than workers.
    pub fn fill_by<'s>(
        self,
        workers: &mut Workers<P>,
        epoch: Option<EpochId>,
        steps: &[Vec<P::FillStep<'s>>],
    ) -> Result<(Preprocessed, Self), Error> {
        if steps.iter().any(|shares| !(1..=workers.len()).contains(&shares.len())) {
            return Err(Error::Usage(
                "a step must have at least one share, and at most one for each worker".into(),
            ));
        }
        let (terms, steps) = (self.held.terms.clone(), steps.iter().map(Vec::as_slice).collect::<Vec<_>>());
        self.fill_shares(epoch, &steps, |making, shares| match shares {
            [share] => making.by_this_session(share),
            shares => workers.make(making, shares, &terms),
        })
    }
}
