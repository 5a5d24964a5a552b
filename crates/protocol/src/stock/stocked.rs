//! A connection between two parties with stock on disk, while neither a program nor a filling runs.

use super::epochs::{Epochs, FoundItems};
use super::intent::{Intent, NextAction, busy, different, peer_makes_nothing, refused};
use super::meeting::{Reconciled, StockOwner, living, meet, now, reconcile, room_for_one_more};
use super::records::Batches;
use super::side::{StockProtocol, StockSession};
use crate::{Digests, Greeting, Metered, PROTOCOL_VERSION, PhaseReport, SessionId, Terms};
use brickwork_base::Error;
use brickwork_base::stop::Stop;
use brickwork_circuit::Party;
use brickwork_store::{Epoch, EpochId, Loss, Store};
use brickwork_wire::Channel;

// There is one for each connection.
pub(super) enum ConnectionState<P: StockProtocol> {
    /// Boxed so that moving a connection never copies stale stack secrets into unused bytes of the smaller
    /// variant.
    Nobody(Box<(Metered, P::Carried)>),
    /// The session of an epoch, between two programs or fillings. It stays in its box because moving it would
    /// leave copies of its secrets behind.
    Session(Box<dyn StockSession<P>>),
}

impl<P: StockProtocol> ConnectionState<P> {
    pub fn run(&mut self) -> &mut Metered {
        match self {
            ConnectionState::Nobody(unbound) => &mut unbound.0,
            ConnectionState::Session(session) => session.run(),
        }
    }

    pub fn release(self) -> (Metered, P::Carried) {
        match self {
            ConnectionState::Nobody(unbound) => *unbound,
            ConnectionState::Session(session) => session.release(),
        }
    }
}

/// A connection between two parties with stock on disk. After an error it cannot be used any more.
pub struct Stocked<P: StockProtocol> {
    pub(super) line: ConnectionState<P>,
    pub(super) held: Epochs,
}

impl<P: StockProtocol> Stocked<P> {
    /// Greets a peer that also has a store, and compares both stores. Neither party proposes parameters.
    /// `context` describes the purpose of the connection, which must be the same at both parties.
    ///
    /// # Errors
    /// [`Error::Mismatch`] if the peer wants something else, or as [`Stocked::open`].
    pub fn greet(
        mut run: Metered,
        carried: P::Carried,
        store: &Store,
        terms: &Terms,
        context: &'static str,
    ) -> Result<Self, Error> {
        run.phase("setup");
        let terms = &P::terms(terms);
        let digests = Digests { stock: true, program: blake3::derive_key(context, &[]), parameters: [0; 32] };
        let greeting = Greeting::send::<P>(&mut run.channel, run.role, terms, &digests)?;
        let answer = run.answer(greeting)?;
        answer.proposes_nothing()?;
        Self::open(run, carried, store, terms, &answer.session)
    }

    /// Compares both stores, after the greeting that gave `session`. The terms of [`StockProtocol::terms`]
    /// are used, even if the caller has not applied them.
    ///
    /// # Errors
    /// [`Error::Strangers`] if the two stores do not belong together; [`Error::Stock`] if one of them is an
    /// old copy, and then the differing epochs are burned. [`Error::Io`] if the peer goes away.
    pub fn open(
        mut run: Metered,
        carried: P::Carried,
        store: &Store,
        terms: &Terms,
        session: &SessionId,
    ) -> Result<Self, Error> {
        run.no_program();
        let (role, terms) = (run.role, &P::terms(terms));
        let owner = StockOwner { protocol: P::NAME, role, terms };
        let Reconciled { epochs, busy, max_age } = reconcile(&mut run, store, &owner, session)?;
        let (store, terms, between) = (store.clone(), terms.clone(), Stop::new());
        let held = Epochs { store, role, terms, epochs, busy, max_age, lease: None, between };
        Ok(Stocked { line: ConnectionState::Nobody(Box::new((run, carried))), held })
    }

    /// Releases this session's epoch, and compares both stores again. Both parties must call it at the same
    /// time. Afterwards this session can use stock that other sessions made in the meantime, and other
    /// sessions can use its stock. `session` is the identifier from the greeting. Kept secrets, and
    /// everything else that depends on the epoch, are lost.
    ///
    /// # Errors
    /// As [`Stocked::open`].
    pub fn renew(self, session: &SessionId) -> Result<Self, Error> {
        if self.only().is_some() {
            return Err(kept());
        }
        let Stocked { line, held } = self;
        let Epochs { store, terms, lease, between, .. } = held;
        let (run, carried) = line.release();
        // The lease ends before the stores are compared, because a leased epoch is busy for all sessions.
        drop(lease);
        let mut opened = Self::open(run, carried, &store, &terms, session)?;
        opened.stop_between_steps(&between);
        Ok(opened)
    }

    /// Ends fillings before their next step when this stop is requested. Both parties end together. A step
    /// that has begun is completed, and nothing counts as a failed attempt.
    pub fn stop_between_steps(&mut self, stop: &Stop) {
        self.held.between = stop.clone();
    }

    /// Returns the connection, for messages between two programs.
    pub fn channel(&mut self) -> &mut Channel {
        &mut self.line.run().channel
    }

    /// Returns the identifier of the session that has the connection, if there is one.
    pub fn session_id(&self) -> Option<&SessionId> {
        match &self.line {
            ConnectionState::Session(session) => Some(session.id()),
            ConnectionState::Nobody(..) => None,
        }
    }

    /// Returns the secrets that steps keep, if a session has the connection and its protocol keeps secrets.
    pub fn kept(&mut self) -> Option<&mut P::Kept> {
        match &mut self.line {
            ConnectionState::Session(session) => session.kept(),
            ConnectionState::Nobody(..) => None,
        }
    }

    /// Returns whether programs must run in the current session because it keeps secrets that they may need.
    pub fn stays(&self) -> bool {
        matches!(&self.line, ConnectionState::Session(session) if session.stays())
    }

    /// Returns this party's role.
    pub fn role(&self) -> Party {
        self.held.role
    }

    /// Returns the store.
    pub fn store(&self) -> &Store {
        &self.held.store
    }

    /// Returns the terms on which both parties agree.
    pub fn terms(&self) -> &Terms {
        &self.held.terms
    }

    /// Closes the connection. Returns the time and the bytes of each phase.
    ///
    /// # Errors
    /// [`Error::Io`] if the peer went away.
    pub fn close(self) -> Result<Vec<PhaseReport>, Error> {
        self.line.release().0.finish()
    }

    /// Prepares the session for the next program, as far as this needs neither the peer nor an input.
    ///
    /// # Errors
    /// [`Error::Stock`] if the store cannot be read or was altered.
    pub fn expect(self, job: &P::Execution<'_>) -> Result<Self, Error> {
        // No epoch is leased, because both parties name the epoch when the program begins.
        let likely = |id: &&EpochId| {
            !self.held.store.is_busy(id)
                && Batches::of(&self.held.store, id)
                    .is_ok_and(|batches| P::choose(job, &batches, &self.held.terms).is_ok())
        };
        match self.held.epochs.iter().find(likely).copied() {
            Some(epoch) => {
                let (held, session) = self.session(Some(epoch))?;
                Ok(held.with(session))
            }
            None => Ok(self),
        }
    }

    /// Returns whether a program could begin now on stock that this session can use. Epochs that other
    /// sessions have leased, or have made since this session was opened, do not count. The garbler leases the
    /// epoch, so that no other session takes it first. The evaluator only searches.
    ///
    /// # Errors
    /// [`Error::Stock`] if the store cannot be read or was altered.
    pub fn has(&mut self, job: &P::Execution<'_>) -> Result<bool, Error> {
        let only = self.only();
        Ok(matches!(self.held.find::<P>(job, only, None)?, FoundItems::Enough(..)))
    }

    /// Returns whether an epoch that both parties may use has all items for a program, even if another
    /// session has leased it. No epoch is leased. The peer finds the same items unless another session takes
    /// some in the meantime.
    ///
    /// # Errors
    /// As [`Stocked::has`].
    pub fn holds(&self, job: &P::Execution<'_>) -> Result<bool, Error> {
        let Epochs { store, terms, epochs, .. } = &self.held;
        for id in epochs {
            match store.state(id) {
                Ok(state) if state.burned().is_none() && state.entries_left() > 0 => {}
                _ => continue,
            }
            match P::choose(job, &Batches::of(store, id)?, terms) {
                Ok(_) => return Ok(true),
                Err(Error::Stock(_)) => {}
                Err(other) => return Err(other),
            }
        }
        Ok(false)
    }

    /// Returns the epoch that programs must use, if its session keeps secrets.
    pub(super) fn only(&self) -> Option<EpochId> {
        match &self.line {
            ConnectionState::Session(session) if session.stays() => Some(*session.id()),
            _ => None,
        }
    }

    /// Leases the newest epoch to which stock may be added, and returns it. The protocol must allow it
    /// ([`StockProtocol::may_begin`]), the epoch must not be too old, and no other session may have leased
    /// it. The garbler names the epoch, and the evaluator finds the same. If there is no such epoch, both
    /// parties begin a new one. If a party may not begin a new epoch, it does not announce one, so this does
    /// not count as an attempt.
    ///
    /// # Errors
    /// [`Error::Stock`] if the store cannot be read or was altered; [`Error::Vain`] if no epoch may be begun;
    /// [`Error::Io`] if the peer goes away.
    pub fn open_epoch(&mut self) -> Result<Option<EpochId>, Error> {
        let Stocked { line, held } = self;
        let run = line.run();
        let nothing = Intent::only(NextAction::Add);
        let intent = match held.role {
            Party::Garbler => {
                held.goes_on().or_else(|why| refused(run, why))?;
                let found = held.claim_first::<P, _>(|held, id| held.may_be_filled::<P>(id))?;
                let intent = match found {
                    Some(epoch) => {
                        Intent { what: NextAction::Add, epoch, next: *held.store.state(&epoch)?.head() }
                    }
                    None => {
                        held.may_begin::<P>().or_else(|why| refused(run, why))?;
                        nothing
                    }
                };
                intent.send(run)?;
                match Intent::receive(run)? {
                    theirs if theirs == intent => intent,
                    theirs if theirs == nothing => nothing,
                    theirs if theirs.what == NextAction::Refuse => return Err(peer_makes_nothing()),
                    _ => return Err(different()),
                }
            }
            Party::Evaluator => {
                let intent = Intent::receive(run)?;
                let may = intent.what == NextAction::Add
                    && held.claim_this::<P>(&intent.epoch)?
                    && held.may_be_filled::<P>(&intent.epoch)?
                    && *held.store.state(&intent.epoch)?.head() == intent.next;
                if intent.what == NextAction::Refuse {
                    held.may_begin::<P>()?;
                    return Err(peer_makes_nothing());
                }
                held.goes_on().or_else(|why| refused(run, why))?;
                if !may {
                    held.may_begin::<P>().or_else(|why| refused(run, why))?;
                }
                let intent = if may { intent } else { nothing };
                intent.send(run)?;
                intent
            }
        };
        if intent == nothing {
            held.lease = None;
            return Ok(None);
        }
        Ok(Some(intent.epoch))
    }

    /// Returns the session of an epoch, or a new session if there is no epoch.
    pub(super) fn session(self, epoch: Option<EpochId>) -> Result<(Epochs, Box<dyn StockSession<P>>), Error> {
        let Stocked { line, mut held } = self;
        let (mut run, carried) = match line {
            ConnectionState::Session(session) if epoch.as_ref() == Some(session.id()) => {
                return Ok((held, session));
            }
            ConnectionState::Session(session) if session.stays() => return Err(kept()),
            line => line.release(),
        };
        run.phase("setup");
        let session = match epoch {
            Some(id) => P::restore(run, &held.terms, &held.store.secrets(&id)?, carried)?,
            None => {
                held.lease = None;
                held.may_begin::<P>()?;
                let (fixed, early) = (P::fixed(&held.terms)?, P::early_risk(held.role, &held.terms)?);
                held.store.attempt(&held.owner::<P>().account(), early)?;
                let setup = P::setup(run, &held.terms, carried);
                let mut session = setup.inspect_err(|why| held.failed_setup::<P>(why, fixed))?;
                let epoch = Epoch {
                    protocol: P::NAME.into(),
                    version: PROTOCOL_VERSION,
                    role: held.role,
                    security: held.terms.security,
                    identities: held.terms.identities,
                    created: now(),
                    max_age: held.max_age,
                    fixed,
                    early,
                    counted: P::counted(held.role),
                };
                let id = *session.id();
                let lock = held.store.lock_peer(&held.owner::<P>().relation())?;
                room_for_one_more(living(&held.store, &held.owner::<P>())?.len())?;
                held.lease = Some(lock.lease(&id).ok_or_else(busy)?);
                held.store.begin(&id, &epoch, &session.secrets())?;
                drop(lock);
                // The parties make stock only after both have stored the session.
                meet(session.run(), &id)?;
                held.epochs.push(id);
                session
            }
        };
        Ok((held, session))
    }
}

impl Epochs {
    pub fn with<P: StockProtocol>(self, session: Box<dyn StockSession<P>>) -> Stocked<P> {
        Stocked { line: ConnectionState::Session(session), held: self }
    }
}

/// Burns an epoch if the peer cheated, because no item that was made with its secrets may be used any more.
/// (Of several workers, the first one that sees a cheat burns the epoch, and the others find it burned.)
pub(super) fn burn_if_cheated<T>(
    store: &Store,
    epoch: &EpochId,
    result: Result<T, Error>,
) -> Result<T, Error> {
    let is_burned = || store.state(epoch).is_ok_and(|state| state.burned().is_some());
    if let Err(Error::Peer(cheat)) = &result
        && let Err(error) = store.lose(epoch, Loss::Check, format!("the peer cheated: {cheat}")).map(drop)
        && !is_burned()
    {
        tracing::error!(
            "the peer cheated, but this party cannot burn the stock of this session ({error}); burn it with \
             `brickwork stock burn`"
        );
    }
    result
}

/// Erases the items of a program or a step that failed. After a success, the last entry of the log has erased
/// them.
pub(super) fn over<T>(store: &Store, epoch: &EpochId, result: Result<T, Error>) -> Result<T, Error> {
    result.inspect_err(|_| {
        if let Err(error) = store.erase_used(epoch) {
            tracing::debug!(
                "the keys of the used items are not erased yet, but will be when the store is \
                 opened next: {error}"
            );
        }
    })
}

/// Makes the error for kept secrets that would otherwise be lost without notice.
fn kept() -> Error {
    Error::Usage(
        "this step needs a new session, but the current session has kept values, which would be lost: \
         forget them first, or make the needed stock before a step keeps a value"
            .into(),
    )
}
