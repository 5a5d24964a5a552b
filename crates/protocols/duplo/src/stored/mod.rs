//! Sessions whose stock lies on disk: set up once, filled in steps, resumed over any number of connections.
//!
//! ```text
//!   both ways    greeting; with it G's, how the program is to be cut;  whether the stores belong together, and where their logs stand ([`reconcile`])
//!   fill:        both ways    what is made next
//!                             each appends `Fill`, durably;  both ways  the head of the log
//!                             preprocess and prepare; each writes what it made, durably
//!                both ways    that it is written;  each appends `Made`;  both ways  the head of the log
//!   run:         both ways    the program, and what it takes from where
//!                             each appends `Use`, durably;  both ways  the head of the log
//!                             build, evaluate, decode
//! ```
//!
//! An *epoch* of the store is one session: its offsets, seeds and watch bits, and all that was made with
//! them. Every entry of its log has a number, and with it a range of every counter: blocks of the
//! commitments' and the OTs' streams, indices of authenticators, serials of cut-and-chooses. A range is
//! entered once, by the process that has just made the entry durable and has heard that the peer has it too.
//! So no stream is ever used twice, whatever crashes in between (`docs/stock.md`).
//!
//! What is broken off is not continued but given up: the items of a program's entry are burned, those of a
//! step that is not made are never used, and the step is begun anew in another range. A peer that cheats
//! costs the whole epoch: what its failed check told it concerns everything that was made with the same
//! secrets.

#[cfg(any(test, feature = "adversary"))]
pub(super) mod again;
mod codec;
mod inventory;
mod pieces;
mod reconcile;
mod secrets;
mod shelf;
mod side;

use std::sync::Arc;

use super::hooks::Hooks;
use super::parameters::{Parameters, may_begin};
use super::proposal::{Decompose, Decomposition};
use super::report::Duplo;
use super::sessions::{check_input, in_pool};
use super::stock::Request;
use super::{Evaluator, Garbler, msg};
use crate::SecurityReport;
use brickwork_base::Error;
use brickwork_base::digest::Digest;
use brickwork_circuit::{Party, Program};
use brickwork_session::{
    Digests, Greeting, OTHER_PROGRAM, Observer, PROTOCOL_VERSION, PhaseReport, Run, Terms, agree,
};
use brickwork_stock::{Entry, Epoch, EpochId, Step, Store};
use brickwork_wire::Channel;
pub use inventory::{BatchInventory, CutInventory, GivenUpInventory, Inventory, inventory};
pub use reconcile::compare_stores;
#[cfg(any(test, feature = "adversary"))]
pub(super) use reconcile::compared;
use reconcile::{PROTOCOL, living, meet, other_levels, reconcile, room_for_one_more};
use shelf::{Plans, Shelves};
use side::{Outcome, Side};

/// What to do about stock that a program lacks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lacking {
    /// Make it on the spot.
    Make,
    /// Refuse the program.
    Refuse,
}

/// Whether this party's store has all that a program needs, of what belongs to these terms and both parties
/// may still use.
///
/// # Errors
/// [`Error::Stock`] if the store cannot be read or was altered.
pub fn in_stock(store: &Store, party: Party, terms: &Terms, program: &Program) -> Result<bool, Error> {
    for (id, _) in living(store, party, terms)? {
        match Shelves::of(store, &id)?.choose(program, terms.security) {
            Ok(_) => return Ok(true),
            Err(Error::Stock(_)) => {}
            Err(other) => return Err(other),
        }
    }
    Ok(false)
}

/// What a program from stock gave.
pub struct FromStock {
    /// The bits of the outputs that this party learns, port after port.
    pub outputs: Vec<bool>,
    /// As [`Report::recovered`](crate::Report::recovered), of which everything said there holds: it
    /// depends on the evaluator's input where the garbler cheats, so do not behave differently.
    pub recovered: bool,
    /// What was promised, over the batches that were used.
    pub security: SecurityReport,
    /// What had to be made on the spot.
    pub made: Option<Request>,
}

/// The outputs are left out, which are the party's own, and whether they were recovered, which depends on them.
impl std::fmt::Debug for FromStock {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let FromStock { outputs, recovered: _, security, made } = self;
        f.debug_struct("FromStock")
            .field("outputs", &format_args!("{} bits", outputs.len()))
            .field("security", security)
            .field("made", made)
            .finish_non_exhaustive()
    }
}

/// What [`Stocked::preprocess`] has done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Preprocessed {
    /// The steps.
    pub steps: u32,
    /// How many of them were there from a run that was interrupted.
    pub resumed: u32,
}

/// A connection between two parties with stock on disk.
pub struct Stocked<'o>(Of<'o>);

enum Of<'o> {
    Garbler(Box<Inner<'o, Garbler<'o>>>),
    Evaluator(Box<Inner<'o, Evaluator<'o>>>),
}

impl<'o> Stocked<'o> {
    /// Greets the peer and compares both stores.
    ///
    /// # Errors
    /// [`Error::Mismatch`] if the peer wants something else, [`Error::Strangers`] if its store and this one
    /// do not belong together, [`Error::Stock`] if one of them is an old copy; what does not fit is burned.
    /// [`Error::Io`] if the peer goes away.
    pub fn open(
        party: Party,
        channel: Channel,
        store: &'o mut Store,
        terms: &Terms,
        observer: &'o mut dyn Observer,
    ) -> Result<Self, Error> {
        Self::open_with(party, channel, store, terms, &Decomposition::NONE, observer, Hooks::none())
    }

    /// [`Stocked::open`], of a garbler who proposes for the first program a cut of this name.
    ///
    /// # Errors
    /// As [`Stocked::open`].
    pub fn open_proposing(
        channel: Channel,
        store: &'o mut Store,
        terms: &Terms,
        program: &Program,
        decomposition: &str,
        observer: &'o mut dyn Observer,
    ) -> Result<Self, Error> {
        Self::open_with(
            Party::Garbler,
            channel,
            store,
            terms,
            &Decomposition::of(program, decomposition),
            observer,
            Hooks::none(),
        )
    }

    /// The evaluator's program in the cut that the garbler proposes, and the cut's name. `given` is the one
    /// that both have.
    ///
    /// # Errors
    /// [`Error::Mismatch`] if this party does not cut it so, or not into what the garbler has.
    pub fn proposed(
        &self,
        given: &Arc<Program>,
        decompose: Option<&Decompose>,
    ) -> Result<(Arc<Program>, String), Error> {
        match &self.0 {
            Of::Evaluator(inner) => Ok((inner.cut.make(given, decompose)?, inner.cut.name.clone())),
            Of::Garbler(_) => Ok((given.clone(), String::new())),
        }
    }

    pub(super) fn open_with(
        party: Party,
        channel: Channel,
        store: &'o mut Store,
        terms: &Terms,
        cut: &Decomposition,
        observer: &'o mut dyn Observer,
        hooks: Hooks,
    ) -> Result<Self, Error> {
        let run = Run::new::<Duplo>(channel, party, observer);
        Ok(Stocked(match party {
            Party::Garbler => Of::Garbler(Box::new(Inner::open(run, store, terms, cut, hooks)?)),
            Party::Evaluator => Of::Evaluator(Box::new(Inner::open(run, store, terms, cut, hooks)?)),
        }))
    }

    /// Does beforehand what a program takes that depends neither on the peer nor on an input.
    ///
    /// # Errors
    /// [`Error::Stock`] if the store cannot be read or was altered.
    pub fn expect(self, program: &Program) -> Result<Self, Error> {
        Ok(Stocked(match self.0 {
            Of::Garbler(inner) => Of::Garbler(Box::new(inner.expect(program)?)),
            Of::Evaluator(inner) => Of::Evaluator(Box::new(inner.expect(program)?)),
        }))
    }

    /// Makes stock, a step after the other; those that an interrupted run of the same steps has made are not
    /// made again. It joins an epoch in which no program has been run yet, or begins one.
    ///
    /// # Errors
    /// As [`Stocked::open`]; [`Error::Peer`] if the peer cheats, and then the epoch is burned.
    pub fn preprocess(self, steps: &[Request]) -> Result<(Preprocessed, Self), Error> {
        Ok(match self.0 {
            Of::Garbler(inner) => {
                inner.preprocess(steps).map(|(done, inner)| (done, Stocked(Of::Garbler(Box::new(inner)))))?
            }
            Of::Evaluator(inner) => inner
                .preprocess(steps)
                .map(|(done, inner)| (done, Stocked(Of::Evaluator(Box::new(inner)))))?,
        })
    }

    /// Runs a program on what is in stock. `input` are the bits of this party's input ports, in order.
    ///
    /// # Errors
    /// As [`Stocked::preprocess`]; [`Error::Stock`] if something is lacking and is not to be made,
    /// [`Error::Input`] if `input` has the wrong length.
    pub fn run(
        self,
        program: &Arc<Program>,
        input: &[bool],
        lacking: Lacking,
    ) -> Result<(FromStock, Self), Error> {
        Ok(match self.0 {
            Of::Garbler(inner) => inner
                .run(program, input, lacking)
                .map(|(done, inner)| (done, Stocked(Of::Garbler(Box::new(inner)))))?,
            Of::Evaluator(inner) => inner
                .run(program, input, lacking)
                .map(|(done, inner)| (done, Stocked(Of::Evaluator(Box::new(inner)))))?,
        })
    }

    /// Bytes that went over the connection so far, both ways, payload and framing.
    pub fn bytes(&self) -> u64 {
        let channel = match &self.0 {
            Of::Garbler(inner) => &inner.line.run().channel,
            Of::Evaluator(inner) => &inner.line.run().channel,
        };
        channel.sent_bytes() + channel.received_bytes()
    }

    /// Ends it. Returns what each phase took.
    ///
    /// # Errors
    /// [`Error::Io`] if the peer went away.
    pub fn close(self) -> Result<Vec<PhaseReport>, Error> {
        match self.0 {
            Of::Garbler(inner) => inner.line.release().0.finish(),
            Of::Evaluator(inner) => inner.line.release().0.finish(),
        }
    }
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
enum Line<'o, S> {
    Nobody(Run<'o>, Hooks),
    /// The session of an epoch, between two programs or fillings. It stays where it is: what is moved leaves
    /// a copy behind, and it has secrets.
    Session(Box<S>),
}

impl<'o, S: Side<'o>> Line<'o, S> {
    fn run(&self) -> &Run<'o> {
        match self {
            Line::Nobody(run, _) => run,
            Line::Session(session) => session.line(),
        }
    }

    fn run_mut(&mut self) -> &mut Run<'o> {
        match self {
            Line::Nobody(run, _) => run,
            Line::Session(session) => session.run(),
        }
    }

    fn release(self) -> (Run<'o>, Hooks) {
        match self {
            Line::Nobody(run, hooks) => (run, hooks),
            Line::Session(session) => session.release(),
        }
    }
}

struct Inner<'o, S> {
    line: Line<'o, S>,
    store: &'o mut Store,
    terms: Terms,
    /// Those that both parties may use, oldest first.
    epochs: Vec<EpochId>,
    plans: Plans,
    /// What the garbler proposed for the first program.
    cut: Decomposition,
}

/// A hash over what both parties do next, to be compared: always of as many parts.
fn digest(domain: &'static str, parts: &[&[u8; 32]]) -> [u8; 32] {
    let mut digest = Digest::of(domain);
    parts.iter().for_each(|part| _ = digest.digest(part));
    digest.done()
}

/// The digest that names a list of steps.
fn job_digest(steps: &[Request]) -> [u8; 32] {
    let mut digest = Digest::of("brickwork 2026-11 stock job");
    digest.length(steps.len());
    steps.iter().for_each(|step| _ = digest.digest(&step.digest()));
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

impl<'o, S: Side<'o>> Inner<'o, S> {
    fn open(
        mut run: Run<'o>,
        store: &'o mut Store,
        terms: &Terms,
        cut: &Decomposition,
        hooks: Hooks,
    ) -> Result<Self, Error> {
        run.phase("setup");
        let program = blake3::derive_key("brickwork 2026-11 stock", &[]);
        let digests = Digests { stock: true, program, parameters: [0; 32] };
        let greeting = Greeting::send::<Duplo>(&mut run.channel, run.role, terms, &digests)?;
        if run.role == Party::Garbler {
            cut.send(&mut run.channel)?;
        }
        let answer = greeting.answered(&mut run.channel)?;
        super::setup::no_proposal(&answer)?;
        let cut =
            if run.role == Party::Garbler { cut.clone() } else { Decomposition::receive(&mut run.channel)? };
        let epochs = reconcile(&mut run, store, terms, &answer.session)?;
        Ok(Inner {
            line: Line::Nobody(run, hooks),
            store,
            terms: terms.clone(),
            epochs,
            plans: Plans::new(),
            cut,
        })
    }

    fn expect(mut self, program: &Program) -> Result<Self, Error> {
        self.plan(program);
        match self.choose(program)? {
            Ok((epoch, _)) => {
                let (open, session) = self.session(Some(epoch))?;
                Ok(open.closed(session))
            }
            Err(_) => Ok(self),
        }
    }

    fn plan(&mut self, program: &Program) {
        program.component_digests();
        program.digest();
        if S::ROLE == Party::Evaluator {
            shelf::plan(&mut self.plans, program);
        }
    }

    /// The session of an epoch; a new one if there is none.
    fn session(self, epoch: Option<EpochId>) -> Result<(Open<'o>, Box<S>), Error> {
        let Inner { line, store, terms, mut epochs, plans, cut } = self;
        let (mut run, hooks) = match line {
            Line::Session(session) if epoch.as_ref() == Some(session.id()) => {
                return Ok((Open { store, terms, epochs, plans, cut }, session));
            }
            line => line.release(),
        };
        run.phase("setup");
        let session = match epoch {
            Some(id) => Box::new(S::restore(run, &terms, &store.secrets(&id)?, hooks)?),
            None => {
                room_for_one_more(epochs.len())?;
                let mut session = Box::new(S::setup(run, &terms, hooks)?);
                let now = std::time::SystemTime::now()
                    .duration_since(std::time::UNIX_EPOCH)
                    .map_or(0, |age| age.as_secs());
                let epoch = Epoch {
                    protocol: PROTOCOL.into(),
                    version: PROTOCOL_VERSION,
                    role: S::ROLE,
                    security: terms.security,
                    identities: terms.identities,
                    created: now,
                };
                let id = *session.id();
                store.begin(&id, &epoch, &session.secrets())?;
                // Nothing is made before both have it.
                meet(session.run(), &id)?;
                epochs.push(id);
                session
            }
        };
        Ok((Open { store, terms, epochs, plans, cut }, session))
    }

    /// The newest epoch to which something may be added: too much that was given up closes one. What is there
    /// stays of use.
    fn unused(&self) -> Result<Option<EpochId>, Error> {
        for id in self.epochs.iter().rev() {
            let state = self.store.state(id)?;
            // A peer may say that it has begun one more: then this party has, too.
            if !state.is_used() && may_begin(state.given_up(), self.terms.security)? {
                return Ok(Some(*id));
            }
        }
        Ok(None)
    }

    fn preprocess(self, steps: &[Request]) -> Result<(Preprocessed, Self), Error> {
        let epoch = self.unused()?;
        let parameters = Parameters::for_steps(steps, self.terms.security)?;
        let (open, session) = self.session(epoch)?;
        open.fill(session, steps, &parameters)
    }

    fn run(
        mut self,
        program: &Arc<Program>,
        input: &[bool],
        lacking: Lacking,
    ) -> Result<(FromStock, Self), Error> {
        check_input(program, S::ROLE, input)?;
        self.plan(program);
        let chosen = self.choose(program)?;
        let (what, step) = match (&chosen, lacking) {
            (Ok((epoch, entry)), _) => {
                (plan::USE, digest("brickwork 2026-11 stock use", &[epoch, &entry.digest()]))
            }
            (Err(_), Lacking::Make) => (plan::MAKE, [0; 32]),
            (Err(_), Lacking::Refuse) => (plan::REFUSE, [0; 32]),
        };
        let run = self.line.run_mut();
        run.phase("build");
        agree(&mut run.channel, &program.digest(), OTHER_PROGRAM)?;
        run.channel.send(msg::PLAN, &[&[what][..], &step].concat())?;
        let theirs = run.channel.receive(msg::PLAN, 33)?;
        match (what, theirs[0], chosen) {
            (plan::REFUSE, _, Err(why)) => Err(why),
            (_, plan::REFUSE, _) => {
                Err(Error::Stock("the stock lacks something, and the peer makes nothing on the spot".into()))
            }
            (plan::USE, plan::USE, Ok((epoch, entry))) if theirs[1..] == step => {
                let (open, session) = self.session(Some(epoch))?;
                open.take(session, epoch, &entry, program, input)
            }
            (plan::MAKE, plan::MAKE, Err(why)) => self.make_and_run(program, input, &why),
            _ => Err(Error::Stock(
                "this store and the peer's do not hold the same; `brickwork stock ls` on both sides tells"
                    .into(),
            )),
        }
    }

    /// The oldest epoch that has what the program needs, and the entry that takes it; or what is lacking.
    fn choose(&self, program: &Program) -> Result<Result<(EpochId, Entry), Error>, Error> {
        let mut lacking = Error::Stock(format!(
            "the program needs {}, and there is nothing for --security {}{}",
            Request::of(program),
            self.terms.security,
            other_levels(self.store, S::ROLE, &self.terms)?
        ));
        for id in &self.epochs {
            match Shelves::of(self.store, id)?.choose(program, self.terms.security) {
                Ok(taken) => return Ok(Ok((*id, Entry::Use { program: program.digest(), taken }))),
                Err(Error::Stock(why)) => lacking = Error::Stock(why),
                Err(other) => return Err(other),
            }
        }
        Ok(Err(lacking))
    }

    /// Makes what a program lacks, and runs it. What a program uses exists before its session's first input:
    /// what is lacking is added to an epoch without inputs, if there is one; otherwise a new one is filled
    /// with all that the program needs.
    fn make_and_run(
        self,
        program: &Arc<Program>,
        input: &[bool],
        why: &Error,
    ) -> Result<(FromStock, Self), Error> {
        let everything = Request { ots: Some(program.input_width(Party::Evaluator)), ..Request::of(program) };
        let mut epoch = self.unused()?;
        let mut request = match epoch {
            Some(id) => Shelves::of(self.store, &id)?.counts().missing(program),
            None => everything.clone(),
        };
        if request.is_empty() {
            // It is there, but out of too many batches.
            (epoch, request) = (None, everything);
        }
        tracing::warn!("{why}; {request} are made on the spot");
        let parameters = Parameters::for_steps(std::slice::from_ref(&request), self.terms.security)?;
        let (open, session) = self.session(epoch)?;
        let (_, inner) = open.fill(session, std::slice::from_ref(&request), &parameters)?;
        let (done, inner) = inner.run(program, input, Lacking::Refuse)?;
        Ok((FromStock { made: Some(request), ..done }, inner))
    }
}

/// What remains of [`Inner`] while a session has the connection.
struct Open<'o> {
    store: &'o mut Store,
    terms: Terms,
    epochs: Vec<EpochId>,
    plans: Plans,
    cut: Decomposition,
}

impl<'o> Open<'o> {
    fn closed<S: Side<'o>>(self, session: Box<S>) -> Inner<'o, S> {
        let Open { store, terms, epochs, plans, cut } = self;
        Inner { line: Line::Session(session), store, terms, epochs, plans, cut }
    }

    /// Makes the steps that are not made yet.
    fn fill<S: Side<'o>>(
        self,
        mut session: Box<S>,
        steps: &[Request],
        parameters: &[Parameters],
    ) -> Result<(Preprocessed, Inner<'o, S>), Error> {
        let (job, of) = (job_digest(steps), steps.len() as u32);
        let epoch = *session.id();
        let resumed = self.store.state(&epoch)?.progress(&job, of);
        let left = steps.iter().zip(parameters).skip(resumed as usize);
        session.run().expect(left.map(|(request, parameters)| parameters.table_bytes(request)).sum());
        for number in resumed..of {
            let (request, parameters) = (&steps[number as usize], &parameters[number as usize]);
            let step = Step { job, number, of, risk: parameters.risk() };
            let made = fill_step(self.store, &mut *session, &epoch, step, request, parameters);
            burn_if_cheated(self.store, &epoch, made)?;
        }
        let _ = self.store.append(&epoch, &Entry::Confirmed)?;
        Ok((Preprocessed { steps: of, resumed }, self.closed(session)))
    }

    /// Takes what a program needs and runs it.
    fn take<S: Side<'o>>(
        self,
        mut session: Box<S>,
        epoch: EpochId,
        entry: &Entry,
        program: &Arc<Program>,
        input: &[bool],
    ) -> Result<(FromStock, Inner<'o, S>), Error> {
        let done = take(self.store, &mut *session, &epoch, entry, program, input, &self.plans);
        let Outcome { outputs, recovered, mut security } = burn_if_cheated(self.store, &epoch, done)?;
        let _ = self.store.append(&epoch, &Entry::Confirmed)?;
        let of_epoch = shelf::bound_of_epoch(self.store, &epoch, self.terms.security)?;
        security.epoch_bound_log2 = Some(of_epoch.log2());
        Ok((FromStock { outputs, recovered, security, made: None }, self.closed(session)))
    }
}

fn fill_step<'o, S: Side<'o>>(
    store: &mut Store,
    session: &mut S,
    epoch: &EpochId,
    step: Step,
    request: &Request,
    parameters: &Parameters,
) -> Result<(), Error> {
    let entry = Entry::Fill(step);
    let next = digest(
        "brickwork 2026-11 stock fill",
        &[epoch, &entry.digest(), &request.digest(), &parameters.digest()],
    );
    agree(&mut session.run().channel, &next, "the peer is asked to preprocess something else")?;
    let begun = store.append(epoch, &entry)?;
    meet(session.run(), store.state(epoch)?.head())?;
    session.enter(begun.number());
    session.fill(request, parameters, store.writers(epoch))?;
    shelf::keep::<S>(store, epoch, begun.number(), std::mem::take(session.stock()), request)?;
    let _ = store.append(epoch, &Entry::Stored)?;
    meet(session.run(), &digest("brickwork 2026-11 stock stored", &[store.state(epoch)?.head()]))?;
    let _ = store.append(epoch, &Entry::Made)?;
    meet(session.run(), store.state(epoch)?.head())
}

fn take<'o, S: Side<'o>>(
    store: &mut Store,
    session: &mut S,
    epoch: &EpochId,
    entry: &Entry,
    program: &Arc<Program>,
    input: &[bool],
    plans: &Plans,
) -> Result<Outcome, Error> {
    session.run().phase("build");
    let taken = store.append(epoch, entry)?;
    meet(session.run(), store.state(epoch)?.head())?;
    session.enter(taken.number());
    // On the session's threads, like all that it computes.
    in_pool(&mut *session, |session| shelf::fetch(session, store, &taken, program, plans))?;
    drop(taken);
    session.evaluate(program, input)
}

#[cfg(test)]
mod tests {
    use super::*;
    use brickwork_base::digest::expected;

    #[test]
    fn lists_of_steps_have_names_of_their_own() {
        let step = |garbler_wires| Request { components: Vec::new(), garbler_wires, ots: None };
        let lists = [vec![], vec![step(1)], vec![step(2)], vec![step(1), step(2)], vec![step(2), step(1)]];
        for (i, list) in lists.iter().enumerate() {
            assert!(lists[..i].iter().all(|other| job_digest(other) != job_digest(list)), "{i}");
        }
        let two = [&2u64.to_le_bytes()[..], &step(1).digest(), &step(2).digest()];
        assert_eq!(job_digest(&lists[3]), expected("brickwork 2026-11 stock job", &two));
    }
}
