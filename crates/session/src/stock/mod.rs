//! Sessions whose stock lies on disk: set up once, filled in steps, resumed over any number of connections.
//! What any protocol needs for that; a protocol brings its [`Side`]: how it sets up, what it keeps, what it
//! takes.
//!
//! ```text
//!   both ways    whether the stores belong together, and where their logs stand ([`meeting`])
//!   fill:        both ways    what is made next
//!                             each appends `Fill`, durably;  both ways  the head of the log
//!                             [`Side::fill`]; each writes what it made, durably
//!                both ways    that it is written;  each appends `Made`;  both ways  the head of the log
//!                (several [`workers`] make a step side by side, each on a connection of its own)
//!   run:         both ways    the program, and what it takes from where
//!                             each appends `Use`, durably;  both ways  the head of the log
//!                             [`Side::take`]
//! ```
//!
//! An *epoch* of the store is one session: its offsets, seeds and watch bits, and all that was made with
//! them. Every shared entry of its log has a range of every counter: blocks of streams, indices, hash keys,
//! serials. The ranges are handed out once, to the process that has just made the entry durable and has heard
//! that the peer has it too. So no stream is ever used twice, whatever crashes in between (`docs/stock.md`).
//!
//! What is broken off is not continued but given up: the items of a program's entry are burned, those of a
//! step that is not made are never used, and the step is begun anew in other ranges. A peer that cheats
//! costs the whole epoch: what its failed check told it concerns everything that was made with the same
//! secrets.

pub mod inventory;
pub mod meeting;
pub mod msg;
pub mod ots;
pub mod plain;
pub mod records;
pub mod recovering;
#[cfg(test)]
mod tests;
pub mod workers;

use zeroize::Zeroizing;

use crate::{
    Digests, Greeting, Metered, OTHER_PROGRAM, PROTOCOL_VERSION, PhaseReport, Protocol, SessionId, Terms,
    agree, announce, confirm,
};
use brickwork_base::Error;
use brickwork_base::digest::Digest;
use brickwork_base::stop::{Stop, Stopped};
use brickwork_circuit::Party;
use brickwork_stock::{
    Entry, Epoch, EpochId, FillStep, Lease, PeerLock, Ranges, Serial, State, Store, Taken, Writers,
};
use brickwork_wire::Channel;
use meeting::{Owner, Reconciled, living, meet, other_levels, reconcile, room_for_one_more, same_stand};
use records::{Batches, Keeper, TakenItems};

/// What to do about stock that a program lacks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lacking {
    /// Make it on the spot.
    Make,
    /// Refuse the program.
    Refuse,
}

/// What [`Stocked::fill`] has done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Preprocessed {
    /// The steps.
    pub steps: u32,
    /// How many of them were there from a run that was interrupted.
    pub resumed: u32,
}

/// A step of preprocessing: what is asked for, and how it is made.
pub trait Asked {
    /// Names what is asked for; by this a step is known again after an interruption.
    fn request(&self) -> [u8; 32];

    /// Names how it is made: both parties must mean the same.
    fn parameters(&self) -> [u8; 32];

    /// Returns about how many bytes will pass, for who watches.
    fn bytes(&self) -> u64;
}

/// One role of a protocol, in a session whose stock lies on disk. After an error nothing more is done with
/// it, but it has the connection: that must not close before what a cheat was about is burned.
pub trait Side: Sized {
    /// The protocol's name in a store.
    const PROTOCOL: &'static str;
    /// The role.
    const ROLE: Party;
    /// The phase in which both agree on a program and on what it takes.
    const AGREEMENT: &'static str;
    /// What goes from one session of a connection to the next, beside the connection itself.
    type Carried;
    /// A step of preprocessing.
    type FillStep<'s>: Asked;
    /// A program and this party's input.
    type Execution<'j>;
    /// What a program gives.
    type Outcome;

    /// Sets a session up.
    ///
    /// # Errors
    /// If the peer cheats or goes away.
    fn setup(run: Metered, terms: &Terms, carried: Self::Carried) -> Result<Self, Error>;

    /// Returns the secrets from which [`Side::restore`] goes on in another process.
    fn secrets(&self) -> Zeroizing<Vec<u8>>;

    /// Makes the session again that [`Side::secrets`] are of. It draws from no counter before
    /// [`Side::enter`].
    ///
    /// # Errors
    /// [`Error::Stock`] if the secrets are malformed.
    fn restore(run: Metered, terms: &Terms, secrets: &[u8], carried: Self::Carried) -> Result<Self, Error>;

    /// Returns the session's identifier.
    fn id(&self) -> &SessionId;

    /// Returns the connection.
    fn run(&mut self) -> &mut Metered;

    /// Returns the connection, to be looked at.
    fn line(&self) -> &Metered;

    /// Returns whether something lives in this session that later programs may carry on: then they all run in
    /// it.
    fn stays(&self) -> bool {
        false
    }

    /// Ends the session and hands on the connection.
    fn release(self: Box<Self>) -> (Metered, Self::Carried);

    /// Returns whether an epoch that stands here may have another step: whether it had a program already, and
    /// how much was given up in it. What is there stays of use.
    ///
    /// # Errors
    /// [`Error::Usage`] if there is no such level.
    fn may_begin(state: &State, terms: &Terms) -> Result<bool, Error>;

    /// Names the level that stock of these terms is for, in words: ` for --security 40`. Empty where there
    /// are no levels.
    fn level(terms: &Terms) -> String;

    /// Goes on with the ranges of all counters that belong to an entry of the log.
    ///
    /// # Errors
    /// [`Error::Usage`] if one is taken twice.
    fn enter(&mut self, ranges: Ranges) -> Result<(), Error>;

    /// Returns the bound on a cheating peer's success in a step of this session, in units of 2^-128: where it
    /// is given up, this counts in all that its epoch gives.
    fn risk(&self, step: &Self::FillStep<'_>) -> u128;

    /// Returns the bound on a cheating peer's success in a session of these terms beside its steps, in units
    /// of 2^-128: where something of its epoch comes to nothing, this counts as tried in vain.
    ///
    /// # Errors
    /// [`Error::Usage`] if there is no such level.
    fn fixed(terms: &Terms) -> Result<u128, Error>;

    /// Makes what a step asks for; what need not wait goes into segments as it comes.
    ///
    /// # Errors
    /// If the peer cheats or goes away, or the disk fails.
    fn fill(&mut self, step: &Self::FillStep<'_>, segments: Writers) -> Result<(), Error>;

    /// Puts what was made into the store.
    ///
    /// # Errors
    /// [`Error::Stock`] if the disk fails.
    fn keep(&mut self, step: &Self::FillStep<'_>, keeper: &mut Keeper<'_>) -> Result<(), Error>;

    /// Names a program; both parties must run the same.
    fn program(job: &Self::Execution<'_>) -> [u8; 32];

    /// Says what a program needs, for people.
    fn needs(job: &Self::Execution<'_>) -> String;

    /// Chooses what a program takes, at least an item: how many of which batch. Both parties choose alike.
    ///
    /// # Errors
    /// [`Error::Stock`] if there is not enough, or what there is exceeds the bound.
    fn choose(
        job: &Self::Execution<'_>,
        batches: &Batches,
        terms: &Terms,
    ) -> Result<Vec<(Serial, u32)>, Error>;

    /// Runs a program on what it took.
    ///
    /// # Errors
    /// If the peer cheats or goes away, or something of the stock cannot be read.
    fn take(
        &mut self,
        items: &TakenItems<'_>,
        job: &Self::Execution<'_>,
        stand: Stand,
    ) -> Result<Self::Outcome, Error>;
}

/// Returns whether a store has all that a program needs, of what belongs to this owner and both parties may
/// still use: whether `choose` finds it.
///
/// # Errors
/// [`Error::Stock`] if the store cannot be read or was altered.
pub fn in_stock(
    store: &Store,
    owner: &Owner,
    choose: impl Fn(&Batches) -> Result<Vec<(Serial, u32)>, Error>,
) -> Result<bool, Error> {
    for (id, _) in living(store, owner)? {
        match choose(&Batches::of(store, &id)?) {
            Ok(_) => return Ok(true),
            Err(Error::Stock(_)) => {}
            Err(other) => return Err(other),
        }
    }
    Ok(false)
}

/// What is done next, and in which epoch. The garbler says it, and the evaluator says it again if it does so,
/// too: of several sessions between the same stores each is in another epoch, whoever is first.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Intent {
    what: u8,
    /// Zeros for none.
    epoch: EpochId,
    /// What is done, and where the log stands before it; or zeros.
    next: [u8; 32],
}

impl Intent {
    /// Neither is anything taken nor made.
    const REFUSE: u8 = 0;
    /// A program takes from the epoch.
    const USE: u8 = 1;
    /// What a program lacks is made.
    const MAKE: u8 = 2;
    /// Stock is added to the epoch, or to a new one.
    const ADD: u8 = 3;
    /// What the program takes is in epochs that other sessions have, and nothing is made.
    const BUSY: u8 = 4;

    const BYTES: usize = 65;

    fn only(what: u8) -> Self {
        Intent { what, epoch: [0; 32], next: [0; 32] }
    }

    /// Says it, behind what the peer said if it spoke first.
    fn send(&self, run: &mut Metered) -> Result<(), Error> {
        run.channel.send(msg::INTENT, &[&[self.what][..], &self.epoch, &self.next].concat())?;
        run.channel.flush()?;
        Ok(())
    }

    fn receive(run: &mut Metered) -> Result<Self, Error> {
        let bytes = run.channel.receive(msg::INTENT, Self::BYTES)?;
        let mut intent = Intent::only(bytes[0]);
        intent.epoch.copy_from_slice(&bytes[1..33]);
        intent.next.copy_from_slice(&bytes[33..]);
        Ok(intent)
    }
}

/// What this party finds for a program.
enum Found {
    /// The epoch that it takes from is this session's; what it takes, and the intent that says so.
    Enough(Entry, Intent),
    /// It is there, and another session has it.
    Busy,
    /// What is lacking.
    Lacks(Error),
}

fn busy() -> Error {
    Error::Busy(
        "another session between these stores has the part that this one needs; run again when it is over"
            .into(),
    )
}

fn different() -> Error {
    Error::Stock(
        "this store and the peer's do not hold the same; `brickwork stock ls` on both sides tells".into(),
    )
}

/// Who has the connection.
// There is one for each connection.
enum Line<S: Side> {
    /// In a box, too: what a smaller variant leaves unwritten of a larger one takes what lay on the stack,
    /// secrets among it, wherever the line is moved.
    Nobody(Box<(Metered, S::Carried)>),
    /// The session of an epoch, between two programs or fillings. It stays where it is: what is moved leaves
    /// a copy behind, and it has secrets.
    Session(Box<S>),
}

impl<S: Side> Line<S> {
    fn run(&self) -> &Metered {
        match self {
            Line::Nobody(unbound) => &unbound.0,
            Line::Session(session) => session.line(),
        }
    }

    fn run_mut(&mut self) -> &mut Metered {
        match self {
            Line::Nobody(unbound) => &mut unbound.0,
            Line::Session(session) => session.run(),
        }
    }

    fn release(self) -> (Metered, S::Carried) {
        match self {
            Line::Nobody(unbound) => *unbound,
            Line::Session(session) => session.release(),
        }
    }
}

/// A connection between two parties with stock on disk. An error destroys it.
pub struct Stocked<S: Side> {
    line: Line<S>,
    held: Epochs,
}

/// What remains of [`Stocked`] while a session has the connection.
struct Epochs {
    store: Store,
    terms: Terms,
    /// Those that both parties may use, oldest first; any other session may have one of them meanwhile.
    epochs: Vec<EpochId>,
    /// Whether other sessions had some when this one began: those it leaves to them.
    busy: bool,
    /// The one that this session has.
    lease: Option<Lease>,
    /// No step begins once this is asked.
    between: Stop,
}

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

/// A hash over what both parties do next, to be compared: of as many parts each time, or as many as one of
/// the first says.
fn digest(domain: &'static str, parts: &[&[u8; 32]]) -> [u8; 32] {
    let mut digest = Digest::of(domain);
    parts.iter().for_each(|part| _ = digest.digest(part));
    digest.done()
}

/// This party has burned what it takes, and has said where its log stands now. That the peer's stands there,
/// too, is still to be confirmed: before anything leaves that is worth something to a peer whose log does
/// not.
#[must_use]
pub struct Stand([u8; 32]);

impl Stand {
    fn send(run: &mut Metered, mine: [u8; 32]) -> Result<Self, Error> {
        run.channel.send(msg::STAND, &mine)?;
        Ok(Stand(mine))
    }

    /// Hears where the peer's log stands.
    ///
    /// # Errors
    /// [`Error::Stock`] if it stands elsewhere; [`Error::Io`] if the peer goes away.
    pub fn confirm(self, run: &mut Metered) -> Result<(), Error> {
        same_stand(&self.0, &run.channel.receive(msg::STAND, self.0.len())?)
    }
}

/// The digest that names a list of steps, each of one share or of several.
fn job_digest<A: Asked>(steps: &[&[A]]) -> [u8; 32] {
    let mut digest = Digest::of("brickwork 2026-11 stock job");
    digest.length(steps.len());
    for shares in steps {
        digest.length(shares.len());
        shares.iter().for_each(|share| _ = digest.digest(&share.request()));
    }
    digest.done()
}

/// If the peer cheated, nothing that was made with this epoch's secrets may be used any more. (Of several
/// workers the first that sees it burns, and the others see it burned.)
fn burn_if_cheated<T>(store: &Store, epoch: &EpochId, result: Result<T, Error>) -> Result<T, Error> {
    let is_burned = || store.state(epoch).is_ok_and(|state| state.burned().is_some());
    if let Err(Error::Peer(cheat)) = &result
        && let Err(error) = store.lose(epoch, format!("the peer cheated: {cheat}")).map(drop)
        && !is_burned()
    {
        tracing::error!(
            "what this session's material was made of cannot be burned ({error}); burn it with `brickwork \
             stock burn`"
        );
    }
    result
}

/// What a program gave, the epoch that it took from, what had to be made first, and the connection.
pub type Gave<S, M> = (<S as Side>::Outcome, EpochId, Option<M>, Stocked<S>);

impl<S: Side> Stocked<S> {
    /// Greets a peer that comes with a store as well and proposes nothing, and compares both. `context` names
    /// what they come for.
    ///
    /// # Errors
    /// [`Error::Mismatch`] if the peer wants something else, or as [`Stocked::open`].
    pub fn greet<P: Protocol>(
        mut run: Metered,
        carried: S::Carried,
        store: &Store,
        terms: &Terms,
        context: &'static str,
    ) -> Result<Self, Error> {
        run.phase("setup");
        let digests = Digests { stock: true, program: blake3::derive_key(context, &[]), parameters: [0; 32] };
        let greeting = Greeting::send::<P>(&mut run.channel, run.role, terms, &digests)?;
        let answer = greeting.answered(&mut run.channel)?;
        Self::open(run, carried, store, terms, &answer.session)
    }

    /// Compares both stores, behind the greeting that gave `session`.
    ///
    /// # Errors
    /// [`Error::Strangers`] if the peer's store and this one do not belong together, [`Error::Stock`] if one
    /// of them is an old copy; what does not fit is burned. [`Error::Io`] if the peer goes away.
    pub fn open(
        mut run: Metered,
        carried: S::Carried,
        store: &Store,
        terms: &Terms,
        session: &SessionId,
    ) -> Result<Self, Error> {
        let owner = Owner { protocol: S::PROTOCOL, role: S::ROLE, terms };
        let Reconciled { epochs, busy } = reconcile(&mut run, store, &owner, session)?;
        let (store, terms, between) = (store.clone(), terms.clone(), Stop::new());
        let held = Epochs { store, terms, epochs, busy, lease: None, between };
        Ok(Stocked { line: Line::Nobody(Box::new((run, carried))), held })
    }

    /// Compares both stores once more, at both parties at once, and lets go of the epoch that this session
    /// has: what other sessions have made meanwhile can be used after it, and what this one has made by
    /// others. `session` is that of the greeting. What depends on the epoch, such as secrets that are kept,
    /// is gone.
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
        // Before the stores are compared: what a session has is busy for all.
        drop(lease);
        let mut opened = Self::open(run, carried, &store, &terms, session)?;
        opened.stop_between_steps(&between);
        Ok(opened)
    }

    /// Ends fillings before their next step once this is asked, at both parties: what is begun is made, and
    /// nothing counts as begun in vain.
    pub fn stop_between_steps(&mut self, stop: &Stop) {
        self.held.between = stop.clone();
    }

    /// Returns the connection, for messages between two programs.
    pub fn channel(&mut self) -> &mut Channel {
        &mut self.line.run_mut().channel
    }

    /// Returns the connection.
    pub fn line(&self) -> &Metered {
        self.line.run()
    }

    /// Returns the session that has the connection, if one has.
    pub fn session_id(&self) -> Option<&SessionId> {
        match &self.line {
            Line::Session(session) => Some(session.id()),
            Line::Nobody(..) => None,
        }
    }

    /// Returns the session between two programs, if one has the connection.
    pub fn standing(&self) -> Option<&S> {
        match &self.line {
            Line::Session(session) => Some(session),
            Line::Nobody(..) => None,
        }
    }

    /// Returns the session between two programs, if one has the connection, to be changed.
    pub fn standing_mut(&mut self) -> Option<&mut S> {
        match &mut self.line {
            Line::Session(session) => Some(session),
            Line::Nobody(..) => None,
        }
    }

    /// Returns the store.
    pub fn store(&self) -> &Store {
        &self.held.store
    }

    /// Returns the terms on which both parties agree.
    pub fn terms(&self) -> &Terms {
        &self.held.terms
    }

    /// Ends it. Returns what each phase took.
    ///
    /// # Errors
    /// [`Error::Io`] if the peer went away.
    pub fn close(self) -> Result<Vec<PhaseReport>, Error> {
        self.line.release().0.finish()
    }

    /// Makes the session ready that a program will take from, if there is one: what depends neither on the
    /// peer nor on an input.
    ///
    /// # Errors
    /// [`Error::Stock`] if the store cannot be read or was altered.
    pub fn expect(self, job: &S::Execution<'_>) -> Result<Self, Error> {
        // Nothing is leased: which epoch it is, both say when the program begins.
        let likely = |id: &&EpochId| {
            !self.held.store.is_busy(id)
                && Batches::of(&self.held.store, id)
                    .is_ok_and(|batches| S::choose(job, &batches, &self.held.terms).is_ok())
        };
        match self.held.epochs.iter().find(likely).copied() {
            Some(epoch) => {
                let (held, session) = self.session(Some(epoch))?;
                Ok(held.with(session))
            }
            None => Ok(self),
        }
    }

    /// Returns whether a program could begin now on what is in stock and in this session's reach: not what
    /// other sessions have, or have made since this one was opened. The garbler leases it, so that no other
    /// session takes it before the program does; the evaluator only looks.
    ///
    /// # Errors
    /// [`Error::Stock`] if the store cannot be read or was altered.
    pub fn has(&mut self, job: &S::Execution<'_>) -> Result<bool, Error> {
        let only = self.only();
        Ok(matches!(self.held.find::<S>(job, only, None)?, Found::Enough(..)))
    }

    /// The epoch that programs must take from, as something flows on in it.
    fn only(&self) -> Option<EpochId> {
        match &self.line {
            Line::Session(session) if session.stays() => Some(*session.id()),
            _ => None,
        }
    }

    /// Leases the newest epoch to which something may be added, and returns it: what the protocol allows
    /// ([`Side::may_begin`]), not so late that nothing could be taken any more, and what no other session
    /// has. The garbler names it, and the evaluator finds the same; otherwise, or if there is none, both
    /// begin a new one: a party that may not does not say that it will, so that it is no attempt for the
    /// other either.
    ///
    /// # Errors
    /// [`Error::Stock`] if the store cannot be read or was altered; [`Error::Vain`] if no epoch may be begun;
    /// [`Error::Io`] if the peer goes away.
    pub fn open_epoch(&mut self) -> Result<Option<EpochId>, Error> {
        let Stocked { line, held } = self;
        let run = line.run_mut();
        let nothing = Intent::only(Intent::ADD);
        let intent = match S::ROLE {
            Party::Garbler => {
                held.goes_on().or_else(|why| refused(run, why))?;
                let found = held.claim_first::<S, _>(|held, id| held.may_be_filled::<S>(id))?;
                let intent = match found {
                    Some(epoch) => {
                        Intent { what: Intent::ADD, epoch, next: *held.store.state(&epoch)?.head() }
                    }
                    None => {
                        held.may_begin::<S>().map(drop).or_else(|why| refused(run, why))?;
                        nothing
                    }
                };
                intent.send(run)?;
                match Intent::receive(run)? {
                    theirs if theirs == intent => intent,
                    theirs if theirs == nothing => nothing,
                    theirs if theirs.what == Intent::REFUSE => return Err(peer_makes_nothing()),
                    _ => return Err(different()),
                }
            }
            Party::Evaluator => {
                let intent = Intent::receive(run)?;
                let may = intent.what == Intent::ADD
                    && held.claim_this::<S>(&intent.epoch)?
                    && held.may_be_filled::<S>(&intent.epoch)?
                    && *held.store.state(&intent.epoch)?.head() == intent.next;
                if intent.what == Intent::REFUSE {
                    held.may_begin::<S>()?;
                    return Err(peer_makes_nothing());
                }
                held.goes_on().or_else(|why| refused(run, why))?;
                if !may {
                    held.may_begin::<S>().map(drop).or_else(|why| refused(run, why))?;
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

    /// Makes stock in an epoch, or in a new one, a step after the other; those that an interrupted run of the
    /// same steps has made are not made again.
    ///
    /// # Errors
    /// As [`Stocked::open`]; [`Error::Peer`] if the peer cheats, and then the epoch is burned.
    pub fn fill(
        self,
        epoch: Option<EpochId>,
        steps: &[S::FillStep<'_>],
    ) -> Result<(Preprocessed, Self), Error> {
        let shares: Vec<&[S::FillStep<'_>]> = steps.iter().map(std::slice::from_ref).collect();
        self.fill_shares(epoch, &shares, |making, shares| {
            shares.iter().try_for_each(|share| making.by_this_session(share))
        })
    }

    /// Does what [`Stocked::fill`] does, with steps of one share or several. `make` is called when a step has
    /// begun at both parties; when it returns, all of its shares are durable here.
    fn fill_shares<'s>(
        self,
        epoch: Option<EpochId>,
        steps: &[&[S::FillStep<'s>]],
        mut make: impl FnMut(&mut Making<'_, S>, &[S::FillStep<'s>]) -> Result<(), Error>,
    ) -> Result<(Preprocessed, Self), Error> {
        if epoch.is_some_and(|id| self.held.lease.as_ref().is_none_or(|lease| *lease.epoch() != id)) {
            return Err(Error::Usage("stock is added to the epoch that `open_epoch` has just leased".into()));
        }
        let (held, mut session) = self.session(epoch)?;
        let (job, of) = (job_digest(steps), steps.len() as u32);
        let epoch = *session.id();
        let resumed = held.store.state(&epoch)?.progress(&job, of);
        let left = || steps.iter().skip(resumed as usize);
        session.run().expect(left().copied().flatten().map(Asked::bytes).sum());
        for (number, shares) in (0..of).zip(steps).skip(resumed as usize) {
            // The first one begins with the epoch, which alone would count as begun in vain.
            if number > resumed {
                held.goes_on()?;
            }
            let risk = shares.iter().fold(0, |risk: u128, share| risk.saturating_add(session.risk(share)));
            let state = held.store.state(&epoch)?;
            let fixed = match state.is_new() || state.given_up().steps > 0 {
                // It counts already.
                true => 0,
                false => S::fixed(&held.terms)?,
            };
            held.may_try::<S>(risk.saturating_add(fixed))?;
            let step = FillStep { job, number, of, risk, workers: shares.len() as u32 };
            let made = fill_step(&held, &mut *session, &epoch, step, shares, &mut make);
            burn_if_cheated(&held.store, &epoch, made)?;
        }
        // Behind a program's entry this would say that the program has ended.
        if resumed < of {
            let _ = held.store.append(&epoch, &Entry::Confirmed)?;
        }
        Ok((Preprocessed { steps: of, resumed }, held.with(session)))
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
        let outcome = burn_if_cheated(&held.store, &epoch, done)?;
        let _ = held.store.append(&epoch, &Entry::Confirmed)?;
        Ok(Ran::Done { outcome, epoch, next: held.with(session) })
    }

    /// What is left where both make what is lacking.
    fn lacks(mut self, why: Error) -> Ran<S> {
        self.held.lease = None;
        Ran::Lacks { why, next: self }
    }

    /// The session of an epoch; a new one if there is none.
    fn session(self, epoch: Option<EpochId>) -> Result<(Epochs, Box<S>), Error> {
        let Stocked { line, mut held } = self;
        let (mut run, carried) = match line {
            Line::Session(session) if epoch.as_ref() == Some(session.id()) => return Ok((held, session)),
            Line::Session(session) if session.stays() => return Err(kept()),
            line => line.release(),
        };
        run.phase("setup");
        let session = match epoch {
            Some(id) => Box::new(S::restore(run, &held.terms, &held.store.secrets(&id)?, carried)?),
            None => {
                held.lease = None;
                let fixed = held.may_begin::<S>()?;
                held.store.attempt(&held.owner::<S>().account(), fixed)?;
                held.may_try::<S>(0)?;
                let mut session = Box::new(S::setup(run, &held.terms, carried)?);
                let now = std::time::SystemTime::now()
                    .duration_since(std::time::UNIX_EPOCH)
                    .map_or(0, |age| age.as_secs());
                let epoch = Epoch {
                    protocol: S::PROTOCOL.into(),
                    version: PROTOCOL_VERSION,
                    role: S::ROLE,
                    security: held.terms.security,
                    identities: held.terms.identities,
                    created: now,
                    fixed,
                };
                let id = *session.id();
                let lock = held.store.lock_peer(&held.owner::<S>().relation())?;
                room_for_one_more(living(&held.store, &held.owner::<S>())?.len())?;
                held.lease = Some(lock.lease(&id).ok_or_else(busy)?);
                held.store.begin(&id, &epoch, &session.secrets())?;
                drop(lock);
                // Nothing is made before both have it.
                meet(session.run(), &id)?;
                held.epochs.push(id);
                session
            }
        };
        Ok((held, session))
    }
}

/// Entries that an epoch must have left for a step: the two of the step, and as many for programs.
const ENTRIES_FOR_A_STEP: u64 = 1 << 10;

impl Epochs {
    /// Whether something may be added to an epoch.
    fn may_be_filled<S: Side>(&self, id: &EpochId) -> Result<bool, Error> {
        let state = self.store.state(id)?;
        // A peer may say that it has begun one more: then this party has, too.
        Ok(state.burned().is_none()
            && state.entries_left() >= ENTRIES_FOR_A_STEP
            && S::may_begin(&state, &self.terms)?)
    }

    /// Makes sure that the peer may try something of this risk, in units of 2^-128: with all that was begun
    /// with it and is not made, it stays within what a run is promised. (Where a session has a share of a
    /// promise, whoever shares it out counts what is begun.)
    ///
    /// # Errors
    /// [`Error::Vain`] if it does not.
    fn may_try<S: Side>(&self, risk: u128) -> Result<(), Error> {
        let security = self.terms.security;
        let vain = self.store.vain(&self.owner::<S>().account())?;
        if security.is_share() || vain.saturating_add(risk) <= security.units() {
            return Ok(());
        }
        Err(Error::Vain(format!(
            "too much that was begun with this peer came to nothing: another attempt would leave more than \
             {security} to chance, over all of them; a peer that breaks off until it likes what it is asked \
             does this, and so does a bad line"
        )))
    }

    /// Looks whether somebody has asked that no other step begins.
    fn goes_on(&self) -> Result<(), Error> {
        match self.between.is_asked() {
            true => Err(std::io::Error::from(Stopped).into()),
            false => Ok(()),
        }
    }

    /// Makes sure that an epoch may be begun. Returns what its fixed checks leave to chance.
    ///
    /// # Errors
    /// [`Error::Stock`] if there are too many, [`Error::Vain`] if it would be one attempt too many.
    fn may_begin<S: Side>(&self) -> Result<u128, Error> {
        room_for_one_more(living(&self.store, &self.owner::<S>())?.len())?;
        let fixed = S::fixed(&self.terms)?;
        self.may_try::<S>(fixed)?;
        Ok(fixed)
    }

    fn with<S: Side>(self, session: Box<S>) -> Stocked<S> {
        Stocked { line: Line::Session(session), held: self }
    }

    fn owner<S: Side>(&self) -> Owner<'_> {
        Owner { protocol: S::PROTOCOL, role: S::ROLE, terms: &self.terms }
    }

    /// Leases an epoch, in place of what this session had, unless it has it; whether it has it now.
    fn lease(&mut self, lock: &PeerLock, id: &EpochId) -> bool {
        if self.lease.as_ref().is_some_and(|lease| lease.epoch() == id) {
            return true;
        }
        let lease = lock.lease(id);
        let leased = lease.is_some();
        if leased {
            self.lease = lease;
        }
        leased
    }

    /// Leases an epoch that both parties may use, if nobody has it.
    fn claim_this<S: Side>(&mut self, id: &EpochId) -> Result<bool, Error> {
        let lock = self.store.lock_peer(&self.owner::<S>().relation())?;
        Ok(self.epochs.contains(id) && self.lease(&lock, id))
    }

    /// Leases the newest epoch that fits and nobody has.
    fn claim_first<S: Side, F: Fn(&Self, &EpochId) -> Result<bool, Error>>(
        &mut self,
        fits: F,
    ) -> Result<Option<EpochId>, Error> {
        let lock = self.store.lock_peer(&self.owner::<S>().relation())?;
        for id in self.epochs.clone().iter().rev() {
            if fits(self, id)? && self.lease(&lock, id) {
                return Ok(Some(*id));
            }
        }
        Ok(None)
    }

    /// Leases the oldest epoch that has what the program needs, or, if one is `named`, that one; an evaluator
    /// for whom none is named only looks. Where something is carried on there is one `only`.
    fn find<S: Side>(
        &mut self,
        job: &S::Execution<'_>,
        only: Option<EpochId>,
        named: Option<EpochId>,
    ) -> Result<Found, Error> {
        let lock = self.store.lock_peer(&self.owner::<S>().relation())?;
        let mut lacking = Error::Stock(format!(
            "the program needs {}, and there is nothing{}{}{}",
            S::needs(job),
            S::level(&self.terms),
            other_levels(&self.store, &self.owner::<S>())?,
            if self.busy { " but what another session has" } else { "" }
        ));
        let mut is_busy = false;
        for id in self.epochs.clone() {
            let may = [only, named].into_iter().flatten().all(|may| may == id);
            let state = match self.store.state(&id) {
                // What is left in one without entries is lost; `preprocess` makes another.
                Ok(state) if state.burned().is_none() && state.entries_left() > 0 && may => state,
                _ => continue,
            };
            match S::choose(job, &Batches::of(&self.store, &id)?, &self.terms) {
                // What the evaluator takes, the garbler names.
                Ok(taken) if named.is_none() && S::ROLE == Party::Evaluator || self.lease(&lock, &id) => {
                    let entry = Entry::Use { program: S::program(job), taken };
                    let next = digest("brickwork 2026-11 stock use", &[&id, state.head(), &entry.digest()]);
                    return Ok(Found::Enough(entry, Intent { what: Intent::USE, epoch: id, next }));
                }
                Ok(_) => is_busy = true,
                Err(Error::Stock(why)) => lacking = Error::Stock(why),
                Err(other) => return Err(other),
            }
        }
        Ok(if is_busy { Found::Busy } else { Found::Lacks(lacking) })
    }
}

/// What was kept would be gone without a word.
fn kept() -> Error {
    Error::Usage(
        "something is kept that ends with its session, and another session would begin: forget it first, or \
         make what is needed before it is kept"
            .into(),
    )
}

/// What this party does about what it found.
enum Done {
    Uses(Entry),
    Makes(Error),
    Refuses(Error),
}

fn make_or_refuse(lacking: Lacking) -> Intent {
    Intent::only(if lacking == Lacking::Make { Intent::MAKE } else { Intent::REFUSE })
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

/// Lets the peer know that this party begins nothing, and why this party's user.
fn refused(run: &mut Metered, why: Error) -> Result<(), Error> {
    Intent::only(Intent::REFUSE).send(run)?;
    Err(why)
}

fn peer_makes_nothing() -> Error {
    Error::Stock(
        "the peer makes no more stock with this party: its own message says why, such as that too much \
         that was begun came to nothing"
            .into(),
    )
}

fn peer_refuses() -> Error {
    Error::Stock("the stock lacks something, and the peer makes nothing on the spot".into())
}

/// A step that has begun at both parties.
struct Making<'m, S> {
    store: &'m Store,
    /// That of the connection on which the parties agree on steps.
    session: &'m mut S,
    epoch: &'m EpochId,
    /// The entry that began the step.
    begun: Taken,
}

impl<S: Side> Making<'_, S> {
    /// Makes all of it on this connection.
    fn by_this_session(&mut self, asked: &S::FillStep<'_>) -> Result<(), Error> {
        make_share(self.store, self.session, self.epoch, self.begun.ranges()?, asked)
    }
}

/// Makes a share of a step, in ranges that are its own, and stores it.
fn make_share<S: Side>(
    store: &Store,
    session: &mut S,
    epoch: &EpochId,
    ranges: Ranges,
    asked: &S::FillStep<'_>,
) -> Result<(), Error> {
    session.enter(ranges)?;
    session.fill(asked, store.writers(epoch))?;
    session.keep(asked, &mut Keeper::new(store, epoch))
}

fn fill_step<'s, S: Side>(
    held: &Epochs,
    session: &mut S,
    epoch: &EpochId,
    step: FillStep,
    shares: &[S::FillStep<'s>],
    make: &mut impl FnMut(&mut Making<'_, S>, &[S::FillStep<'s>]) -> Result<(), Error>,
) -> Result<(), Error> {
    let (store, entry) = (&held.store, Entry::Fill(step));
    let asked = shares.iter().flat_map(|share| [share.request(), share.parameters()]);
    let asked: Vec<[u8; 32]> = [*epoch, entry.digest()].into_iter().chain(asked).collect();
    let next = digest("brickwork 2026-11 stock fill", &asked.iter().collect::<Vec<_>>());
    agree(&mut session.run().channel, &next, "the peer is asked to preprocess something else")?;
    let begun = store.append(epoch, &entry)?;
    // Once more, now that it counts: other sessions may have begun something at the same time.
    held.may_try::<S>(0)?;
    meet(session.run(), store.state(epoch)?.head())?;
    make(&mut Making { store, session, epoch, begun }, shares)?;
    let _ = store.append(epoch, &Entry::Stored)?;
    meet(session.run(), &digest("brickwork 2026-11 stock stored", &[store.state(epoch)?.head()]))?;
    let _ = store.append(epoch, &Entry::Made)?;
    meet(session.run(), store.state(epoch)?.head())
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
