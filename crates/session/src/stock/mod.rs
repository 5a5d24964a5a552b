//! Sessions whose stock lies on disk: set up once, filled in steps, resumed over any number of connections. What
//! any protocol needs for that; a protocol brings its [`Side`]: how it sets up, what it keeps, what it takes.
//!
//! ```text
//!   both ways    whether the stores belong together, and where their logs stand ([`meeting`])
//!   fill:        both ways    what is made next
//!                             each appends `Fill`, durably;  both ways  the head of the log
//!                             [`Side::fill`]; each writes what it made, durably
//!                both ways    that it is written;  each appends `Made`;  both ways  the head of the log
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
pub mod records;
#[cfg(test)]
mod tests;

use zeroize::Zeroizing;

use crate::{Metered, OTHER_PROGRAM, PROTOCOL_VERSION, PhaseReport, SessionId, Terms, agree};
use brickwork_base::Error;
use brickwork_base::digest::Digest;
use brickwork_circuit::Party;
use brickwork_stock::{Entry, Epoch, EpochId, Ranges, Serial, State, Step, Store, Writers};
use meeting::{Owner, living, meet, other_levels, reconcile, room_for_one_more};
use records::{Batches, Items, Keeper};

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

    /// Returns the bound on a cheating peer's success in it, in units of 2^-128: where it is given up, this counts
    /// in all that its epoch gives.
    fn risk(&self) -> u128;

    /// Returns about how many bytes will pass, for who watches.
    fn bytes(&self) -> u64;
}

/// One role of a protocol, in a session whose stock lies on disk. After an error nothing more is done with it,
/// but it has the connection: that must not close before what a cheat was about is burned.
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
    type Step<'s>: Asked;
    /// A program and this party's input.
    type Job<'j>;
    /// What a program gives.
    type Outcome;

    /// Sets a session up.
    ///
    /// # Errors
    /// If the peer cheats or goes away.
    fn setup(run: Metered, terms: &Terms, carried: Self::Carried) -> Result<Self, Error>;

    /// Returns what [`Side::restore`] needs to go on in another process.
    fn secrets(&self) -> Zeroizing<Vec<u8>>;

    /// Makes the session again that [`Side::secrets`] are of. It draws from no counter before [`Side::enter`].
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

    /// Whether something lives in this session that later programs may carry on: then they all run in it.
    fn stays(&self) -> bool {
        false
    }

    /// Ends the session and hands on the connection.
    fn release(self: Box<Self>) -> (Metered, Self::Carried);

    /// Whether an epoch that stands here may have another step: whether it had a program already, and how much
    /// was given up in it. What is there stays of use.
    ///
    /// # Errors
    /// [`Error::Usage`] if there is no such level.
    fn may_begin(state: &State, terms: &Terms) -> Result<bool, Error>;

    /// Names the level that stock of these terms is for, in words: ` for --security 40`. Empty where there are no
    /// levels.
    fn level(terms: &Terms) -> String;

    /// Goes on with the ranges of all counters that belong to an entry of the log.
    ///
    /// # Errors
    /// [`Error::Usage`] if one is taken twice.
    fn enter(&mut self, ranges: Ranges) -> Result<(), Error>;

    /// Makes what a step asks for; what need not wait goes into segments as it comes.
    ///
    /// # Errors
    /// If the peer cheats or goes away, or the disk fails.
    fn fill(&mut self, step: &Self::Step<'_>, segments: Writers) -> Result<(), Error>;

    /// Puts what was made into the store.
    ///
    /// # Errors
    /// [`Error::Stock`] if the disk fails.
    fn keep(&mut self, step: &Self::Step<'_>, keeper: &mut Keeper<'_>) -> Result<(), Error>;

    /// Names a program; both parties must run the same.
    fn program(job: &Self::Job<'_>) -> [u8; 32];

    /// Says what a program needs, for people.
    fn needs(job: &Self::Job<'_>) -> String;

    /// Chooses what a program takes, at least an item: how many of which batch. Both parties choose alike.
    ///
    /// # Errors
    /// [`Error::Stock`] if there is not enough, or what there is exceeds the bound.
    fn choose(job: &Self::Job<'_>, batches: &Batches, terms: &Terms) -> Result<Vec<(Serial, u32)>, Error>;

    /// Runs a program on what it took.
    ///
    /// # Errors
    /// If the peer cheats or goes away, or something of the stock cannot be read.
    fn take(&mut self, items: &Items<'_>, job: &Self::Job<'_>) -> Result<Self::Outcome, Error>;
}

/// Whether a store has all that a program needs, of what belongs to this owner and both parties may still use:
/// whether `choose` finds it.
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

/// What both parties know to do next for a program.
mod plan {
    pub const REFUSE: u8 = 0;
    pub const USE: u8 = 1;
    pub const MAKE: u8 = 2;
}

/// Who has the connection.
// There is one for each connection.
#[allow(clippy::large_enum_variant)]
enum Line<S: Side> {
    Nobody(Metered, S::Carried),
    /// The session of an epoch, between two programs or fillings. It stays where it is: what is moved leaves
    /// a copy behind, and it has secrets.
    Session(Box<S>),
}

impl<S: Side> Line<S> {
    fn run(&self) -> &Metered {
        match self {
            Line::Nobody(run, _) => run,
            Line::Session(session) => session.line(),
        }
    }

    fn run_mut(&mut self) -> &mut Metered {
        match self {
            Line::Nobody(run, _) => run,
            Line::Session(session) => session.run(),
        }
    }

    fn release(self) -> (Metered, S::Carried) {
        match self {
            Line::Nobody(run, carried) => (run, carried),
            Line::Session(session) => session.release(),
        }
    }
}

/// A connection between two parties with stock on disk. An error destroys it.
pub struct Stocked<'o, S: Side> {
    line: Line<S>,
    held: Epochs<'o>,
}

/// What remains of [`Stocked`] while a session has the connection.
struct Epochs<'o> {
    store: &'o mut Store,
    terms: Terms,
    /// Those that both parties may use, oldest first.
    epochs: Vec<EpochId>,
}

/// What became of a program.
pub enum Ran<'o, S: Side> {
    /// It ran.
    Done {
        /// What it gave.
        outcome: S::Outcome,
        /// The epoch that it took from.
        epoch: EpochId,
        /// The connection, for what comes next.
        next: Stocked<'o, S>,
    },
    /// Both parties lack something and want to make it; nothing was taken.
    Lacks {
        /// What, in words.
        why: Error,
        /// The connection, on which to make it.
        next: Stocked<'o, S>,
    },
}

/// A hash over what both parties do next, to be compared: always of as many parts.
fn digest(domain: &'static str, parts: &[&[u8; 32]]) -> [u8; 32] {
    let mut digest = Digest::of(domain);
    parts.iter().for_each(|part| _ = digest.digest(part));
    digest.done()
}

/// The digest that names a list of steps.
fn job_digest(steps: &[impl Asked]) -> [u8; 32] {
    let mut digest = Digest::of("brickwork 2026-11 stock job");
    digest.length(steps.len());
    steps.iter().for_each(|step| _ = digest.digest(&step.request()));
    digest.done()
}

/// If the peer cheated, nothing that was made with this epoch's secrets may be used any more.
fn burn_if_cheated<T>(store: &mut Store, epoch: &EpochId, result: Result<T, Error>) -> Result<T, Error> {
    if let Err(Error::Peer(cheat)) = &result
        && let Err(error) =
            store.append(epoch, &Entry::Burned(format!("the peer cheated: {cheat}"))).map(drop)
    {
        tracing::error!(
            "what this session's material was made of cannot be burned ({error}); burn it with `brickwork stock burn`"
        );
    }
    result
}

impl<'o, S: Side> Stocked<'o, S> {
    /// Compares both stores, behind the greeting that gave `session`.
    ///
    /// # Errors
    /// [`Error::Strangers`] if the peer's store and this one do not belong together, [`Error::Stock`] if one of
    /// them is an old copy; what does not fit is burned. [`Error::Io`] if the peer goes away.
    pub fn open(
        mut run: Metered,
        carried: S::Carried,
        store: &'o mut Store,
        terms: &Terms,
        session: &SessionId,
    ) -> Result<Self, Error> {
        let owner = Owner { protocol: S::PROTOCOL, role: S::ROLE, terms };
        let epochs = reconcile(&mut run, store, &owner, session)?;
        let held = Epochs { store, terms: terms.clone(), epochs };
        Ok(Stocked { line: Line::Nobody(run, carried), held })
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

    /// Returns the store.
    pub fn store(&self) -> &Store {
        self.held.store
    }

    /// Returns what both parties agree on.
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

    /// Makes the session ready that a program will take from, if there is one: what depends neither on the peer
    /// nor on an input.
    ///
    /// # Errors
    /// [`Error::Stock`] if the store cannot be read or was altered.
    pub fn expect(self, job: &S::Job<'_>) -> Result<Self, Error> {
        match self.choose(job)? {
            Ok((epoch, _)) => {
                let (held, session) = self.session(Some(epoch))?;
                Ok(held.with(session))
            }
            Err(_) => Ok(self),
        }
    }

    /// Returns the newest epoch to which something may be added: what the protocol allows ([`Side::may_begin`]),
    /// and not so late that nothing could be taken any more.
    ///
    /// # Errors
    /// [`Error::Stock`] if the store cannot be read or was altered.
    pub fn open_epoch(&self) -> Result<Option<EpochId>, Error> {
        for id in self.held.epochs.iter().rev() {
            if self.held.may_be_filled::<S>(id)? {
                return Ok(Some(*id));
            }
        }
        Ok(None)
    }

    /// Makes stock in an epoch, or in a new one, a step after the other; those that an interrupted run of the
    /// same steps has made are not made again.
    ///
    /// # Errors
    /// As [`Stocked::open`]; [`Error::Peer`] if the peer cheats, and then the epoch is burned.
    pub fn fill(self, epoch: Option<EpochId>, steps: &[S::Step<'_>]) -> Result<(Preprocessed, Self), Error> {
        let (held, mut session) = self.session(epoch)?;
        let (job, of) = (job_digest(steps), steps.len() as u32);
        let epoch = *session.id();
        if !held.may_be_filled::<S>(&epoch)? {
            return Err(Error::Usage("nothing may be added to this part of the stock any more".into()));
        }
        let resumed = held.store.state(&epoch)?.progress(&job, of);
        session.run().expect(steps.iter().skip(resumed as usize).map(Asked::bytes).sum());
        for (number, asked) in (0..of).zip(steps).skip(resumed as usize) {
            let step = Step { job, number, of, risk: asked.risk() };
            let made = fill_step(held.store, &mut *session, &epoch, step, asked);
            burn_if_cheated(held.store, &epoch, made)?;
        }
        let _ = held.store.append(&epoch, &Entry::Confirmed)?;
        Ok((Preprocessed { steps: of, resumed }, held.with(session)))
    }

    /// Runs a program on what is in stock.
    ///
    /// # Errors
    /// As [`Stocked::fill`]; [`Error::Stock`] if something is lacking and either party makes nothing.
    pub fn run(mut self, job: &S::Job<'_>, lacking: Lacking) -> Result<Ran<'o, S>, Error> {
        let chosen = self.choose(job)?;
        let (what, step) = match (&chosen, lacking) {
            (Ok((epoch, entry)), _) => {
                (plan::USE, digest("brickwork 2026-11 stock use", &[epoch, &entry.digest()]))
            }
            (Err(_), Lacking::Make) => (plan::MAKE, [0; 32]),
            (Err(_), Lacking::Refuse) => (plan::REFUSE, [0; 32]),
        };
        let run = self.line.run_mut();
        run.phase(S::AGREEMENT);
        agree(&mut run.channel, &S::program(job), OTHER_PROGRAM)?;
        run.channel.send(msg::PLAN, &[&[what][..], &step].concat())?;
        let theirs = run.channel.receive(msg::PLAN, 33)?;
        match (what, theirs[0], chosen) {
            (plan::REFUSE, _, Err(why)) => Err(why),
            (_, plan::REFUSE, _) => {
                Err(Error::Stock("the stock lacks something, and the peer makes nothing on the spot".into()))
            }
            (plan::USE, plan::USE, Ok((epoch, entry))) if theirs[1..] == step => {
                let (held, mut session) = self.session(Some(epoch))?;
                let done = take(held.store, &mut *session, &epoch, &entry, job);
                let outcome = burn_if_cheated(held.store, &epoch, done)?;
                let _ = held.store.append(&epoch, &Entry::Confirmed)?;
                Ok(Ran::Done { outcome, epoch, next: held.with(session) })
            }
            (plan::MAKE, plan::MAKE, Err(why)) => Ok(Ran::Lacks { why, next: self }),
            _ => Err(Error::Stock(
                "this store and the peer's do not hold the same; `brickwork stock ls` on both sides tells"
                    .into(),
            )),
        }
    }

    /// The oldest epoch that has what the program needs, and the entry that takes it; or what is lacking. Where
    /// something is carried on there is one only.
    fn choose(&self, job: &S::Job<'_>) -> Result<Result<(EpochId, Entry), Error>, Error> {
        let Epochs { store, terms, epochs } = &self.held;
        let owner = Owner { protocol: S::PROTOCOL, role: S::ROLE, terms };
        let mut lacking = Error::Stock(format!(
            "the program needs {}, and there is nothing{}{}",
            S::needs(job),
            S::level(terms),
            other_levels(store, &owner)?
        ));
        let only = match &self.line {
            Line::Session(session) if session.stays() => Some(session.id()),
            _ => None,
        };
        for id in epochs.iter().filter(|id| only.is_none_or(|only| only == *id)) {
            if store.state(id)?.entries_left() == 0 {
                // What is left of it is lost; `preprocess` makes another.
                continue;
            }
            match S::choose(job, &Batches::of(store, id)?, terms) {
                Ok(taken) => return Ok(Ok((*id, Entry::Use { program: S::program(job), taken }))),
                Err(Error::Stock(why)) => lacking = Error::Stock(why),
                Err(other) => return Err(other),
            }
        }
        Ok(Err(lacking))
    }

    /// The session of an epoch; a new one if there is none.
    fn session(self, epoch: Option<EpochId>) -> Result<(Epochs<'o>, Box<S>), Error> {
        let Stocked { line, mut held } = self;
        let (mut run, carried) = match line {
            Line::Session(session) if epoch.as_ref() == Some(session.id()) => return Ok((held, session)),
            line => line.release(),
        };
        run.phase("setup");
        let session = match epoch {
            Some(id) => Box::new(S::restore(run, &held.terms, &held.store.secrets(&id)?, carried)?),
            None => {
                room_for_one_more(held.epochs.len())?;
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
                };
                let id = *session.id();
                held.store.begin(&id, &epoch, &session.secrets())?;
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

impl<'o> Epochs<'o> {
    /// Whether something may be added to an epoch.
    fn may_be_filled<S: Side>(&self, id: &EpochId) -> Result<bool, Error> {
        let state = self.store.state(id)?;
        // A peer may say that it has begun one more: then this party has, too.
        Ok(state.entries_left() >= ENTRIES_FOR_A_STEP && S::may_begin(&state, &self.terms)?)
    }

    fn with<S: Side>(self, session: Box<S>) -> Stocked<'o, S> {
        Stocked { line: Line::Session(session), held: self }
    }
}

fn fill_step<S: Side>(
    store: &mut Store,
    session: &mut S,
    epoch: &EpochId,
    step: Step,
    asked: &S::Step<'_>,
) -> Result<(), Error> {
    let entry = Entry::Fill(step);
    let next = digest(
        "brickwork 2026-11 stock fill",
        &[epoch, &entry.digest(), &asked.request(), &asked.parameters()],
    );
    agree(&mut session.run().channel, &next, "the peer is asked to preprocess something else")?;
    let mut begun = store.append(epoch, &entry)?;
    meet(session.run(), store.state(epoch)?.head())?;
    session.enter(begun.ranges()?)?;
    session.fill(asked, store.writers(epoch))?;
    session.keep(asked, &mut Keeper::new(store, epoch))?;
    let _ = store.append(epoch, &Entry::Stored)?;
    meet(session.run(), &digest("brickwork 2026-11 stock stored", &[store.state(epoch)?.head()]))?;
    let _ = store.append(epoch, &Entry::Made)?;
    meet(session.run(), store.state(epoch)?.head())
}

fn take<S: Side>(
    store: &mut Store,
    session: &mut S,
    epoch: &EpochId,
    entry: &Entry,
    job: &S::Job<'_>,
) -> Result<S::Outcome, Error> {
    session.run().phase(S::AGREEMENT);
    let mut taken = store.append(epoch, entry)?;
    meet(session.run(), store.state(epoch)?.head())?;
    session.enter(taken.ranges()?)?;
    session.take(&Items::new(store, epoch, &taken), job)
}
