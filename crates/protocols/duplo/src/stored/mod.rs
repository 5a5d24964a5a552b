//! DUPLO's stock on disk: its records, what a program takes, and a connection between two parties with
//! stores. Meeting, filling and taking are the same for all protocols ([`brickwork_session::stock`]); here is
//! what is DUPLO's: a garbler proposes a cut behind its greeting, components have bounds, and what a program
//! lacks is made on the spot.

#[cfg(any(test, feature = "adversary"))]
pub(super) mod again;
mod batches;
mod inventory;
mod makers;
mod records;
mod secrets;
mod side;

use std::sync::Arc;

use crate::hooks::Hooks;
use crate::items::Origin;
use crate::parameters::Parameters;
use crate::proposal::{Decompose, Decomposition};
use crate::report::Duplo;
use crate::request::Request;
use crate::setup::no_proposal;
use crate::steps::{Secret, Step, garbler_wires};
use crate::{Evaluator, Garbler, StepReport};
use batches::Schedules;
use brickwork_base::Error;
use brickwork_base::digest::Digest;
use brickwork_base::pool::Pool;
use brickwork_base::stop::Stop;
use brickwork_circuit::{Party, Program};
pub use brickwork_session::stock::inventory::{BatchInventory, CutInventory, GivenUpInventory, Inventory};
use brickwork_session::stock::meeting::{self, Owner};
use brickwork_session::stock::records::Batches;
use brickwork_session::stock::workers::Workers;
use brickwork_session::stock::{self as stocked, Side as _};
pub use brickwork_session::stock::{Lacking, Preprocessed};
use brickwork_session::{Digests, Greeting, Metered, Observer, PhaseReport, SessionId, Terms, Unobserved};
use brickwork_stock::Store;
use brickwork_wire::Channel;
pub use inventory::{executions, inventory};
pub use makers::Maker;
use side::{Execution, Filling, OnDisk, PROTOCOL, Role};

fn owner(role: Party, terms: &Terms) -> Owner<'_> {
    Owner { protocol: PROTOCOL, role, terms }
}

/// Returns whether this party's store has all that a program needs, of what belongs to these terms and both
/// parties may still use.
///
/// # Errors
/// [`Error::Stock`] if the store cannot be read or was altered.
pub fn in_stock(store: &Store, party: Party, terms: &Terms, program: &Program) -> Result<bool, Error> {
    stocked::in_stock(store, &owner(party, terms), |held| {
        batches::choose(held, (program, garbler_wires(program)), &[], terms.security)
    })
}

/// Says which pair this party's store is of and where its logs stand, and hears the same of the peer's, and
/// changes nothing at either side: for those who only look. A party without a store is of no pair and has no
/// log. Returns how many epochs both may use.
///
/// # Errors
/// [`Error::Strangers`] if the stores do not belong together: a run would be refused. [`Error::Stock`] if
/// they do not tell the same story: a run would burn what differs.
pub fn compare_stores(
    channel: &mut Channel,
    store: Option<&Store>,
    role: Party,
    terms: &Terms,
) -> Result<usize, Error> {
    meeting::compare_stores(channel, store, &owner(role, terms))
}

/// Returns the purpose of a connection on which two parties meet to make stock by so many workers, for
/// [`Stocked::open_for`]: a peer that was told another number is refused before the stores are compared.
pub fn purpose_of_workers(workers: usize) -> [u8; 32] {
    Digest::of("brickwork 2026-11 duplo purpose of workers").length(workers).done()
}

/// The workers' items, the cost of each phase by worker, and the connection on which the parties met.
pub type MadeBy<L> = (Preprocessed, Vec<Vec<PhaseReport>>, L);

/// The result of a program from stock; [`Aside`](crate::Aside) says what must not follow from `recovered`.
pub type FromStock = brickwork_session::stock::FromStock<Request>;

/// A connection between two parties with stock on disk.
pub struct Stocked(Of);

enum Of {
    Garbler(Box<Inner<Garbler>>),
    Evaluator(Box<Inner<Evaluator>>),
}

impl Stocked {
    /// Greets the peer and compares both stores.
    ///
    /// # Errors
    /// [`Error::Mismatch`] if the peer wants something else, [`Error::Strangers`] if its store and this one
    /// do not belong together, [`Error::Stock`] if one of them is an old copy; what does not fit is burned.
    /// [`Error::Io`] if the peer goes away.
    pub fn open(
        party: Party,
        channel: Channel,
        store: &Store,
        terms: &Terms,
        observer: impl Observer + 'static,
    ) -> Result<Self, Error> {
        Self::open_with(party, channel, store, terms, &Decomposition::NONE, observer, Hooks::none())
    }

    /// Does what [`Stocked::open`] does, for a purpose: a peer that comes for another one is refused before
    /// the stores are compared.
    ///
    /// # Errors
    /// As [`Stocked::open`].
    pub fn open_for(
        purpose: [u8; 32],
        party: Party,
        channel: Channel,
        store: &Store,
        terms: &Terms,
        observer: impl Observer + 'static,
    ) -> Result<Self, Error> {
        let run = Metered::new::<Duplo>(channel, party, Box::new(observer));
        let cut = &Decomposition::NONE;
        Self::begin(run, store, terms, Some(purpose), cut, Hooks::none())
    }

    /// Does what [`Stocked::open`] does, of a garbler who proposes for the first program a cut of this name.
    ///
    /// # Errors
    /// As [`Stocked::open`].
    pub fn open_proposing(
        channel: Channel,
        store: &Store,
        terms: &Terms,
        program: &Program,
        decomposition: &str,
        observer: impl Observer + 'static,
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

    /// Returns the evaluator's program in the cut that the garbler proposes, and the cut's name. `given` is
    /// the one that both have.
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
        store: &Store,
        terms: &Terms,
        cut: &Decomposition,
        observer: impl Observer + 'static,
        hooks: Hooks,
    ) -> Result<Self, Error> {
        let run = Metered::new::<Duplo>(channel, party, Box::new(observer));
        Self::begin(run, store, terms, None, cut, hooks)
    }

    fn begin(
        run: Metered,
        store: &Store,
        terms: &Terms,
        purpose: Option<[u8; 32]>,
        cut: &Decomposition,
        hooks: Hooks,
    ) -> Result<Self, Error> {
        Ok(Stocked(match run.role {
            Party::Garbler => Of::Garbler(Box::new(Inner::open(run, store, terms, purpose, cut, hooks)?)),
            Party::Evaluator => Of::Evaluator(Box::new(Inner::open(run, store, terms, purpose, cut, hooks)?)),
        }))
    }

    /// Returns whether a step, or a program that is one, could begin now on what is in stock and in this
    /// connection's reach: not on what another connection has, or has made since this one was opened or
    /// [renewed](Stocked::renew). At the garbler nobody else takes it from then on.
    ///
    /// # Errors
    /// [`Error::Stock`] if the store cannot be read or was altered.
    pub fn has(&mut self, step: impl Into<Step>) -> Result<bool, Error> {
        self.has_step(&step.into())
    }

    fn has_step(&mut self, step: &Step) -> Result<bool, Error> {
        match &mut self.0 {
            Of::Garbler(inner) => inner.has(step),
            Of::Evaluator(inner) => inner.has(step),
        }
    }

    /// Does beforehand what a step, or a program that is one, takes that depends neither on the peer nor on
    /// an input.
    ///
    /// # Errors
    /// [`Error::Stock`] if the store cannot be read or was altered.
    pub fn expect(self, step: impl Into<Step>) -> Result<Self, Error> {
        self.expect_step(&step.into())
    }

    fn expect_step(self, step: &Step) -> Result<Self, Error> {
        Ok(Stocked(match self.0 {
            Of::Garbler(inner) => Of::Garbler(Box::new(inner.expect(step)?)),
            Of::Evaluator(inner) => Of::Evaluator(Box::new(inner.expect(step)?)),
        }))
    }

    /// Forgets what a program kept: no later one can carry it on.
    pub fn forget(&mut self, secret: &Secret) {
        match &mut self.0 {
            Of::Garbler(inner) => inner.forget(secret),
            Of::Evaluator(inner) => inner.forget(secret),
        }
    }

    /// Ends fillings before their next step once this is asked; what is begun is made.
    pub fn stop_between_steps(&mut self, stop: &Stop) {
        match &mut self.0 {
            Of::Garbler(inner) => inner.line.stop_between_steps(stop),
            Of::Evaluator(inner) => inner.line.stop_between_steps(stop),
        }
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

    /// Does what [`Stocked::preprocess`] does, with a worker for each of these connections, at least two:
    /// each makes a [share](Request::shares) of every step, on its connection and in ranges of its own. All
    /// of a step is made, or nothing of it. The peer has as many connections, in any order.
    ///
    /// # Errors
    /// As [`Stocked::preprocess`]; [`Error::Usage`] if there are too few connections or too many;
    /// [`Error::Io`] that names a worker whose connection ended.
    pub fn preprocess_by(self, steps: &[Request], workers: Vec<Channel>) -> Result<MadeBy<Self>, Error> {
        self.preprocess_by_makers(steps, workers, Vec::new())
    }

    /// Does what [`Stocked::preprocess_by`] does; besides, there is a worker for each of these lines to a
    /// [`Maker`] of this party, which has its connection with the peer by itself.
    ///
    /// # Errors
    /// As [`Stocked::preprocess_by`]; [`Error::Io`] also if a maker is lost, and then the epoch is burned
    /// unless it has said how it ended.
    pub fn preprocess_by_makers(
        self,
        steps: &[Request],
        workers: Vec<Channel>,
        makers: Vec<Channel>,
    ) -> Result<MadeBy<Self>, Error> {
        let workers = workers.into_iter().map(|channel| (channel, Hooks::none())).collect();
        self.preprocess_by_with(steps, workers, makers)
    }

    pub(super) fn preprocess_by_with(
        self,
        steps: &[Request],
        workers: Vec<(Channel, Hooks)>,
        makers: Vec<Channel>,
    ) -> Result<MadeBy<Self>, Error> {
        Ok(match self.0 {
            Of::Garbler(inner) => inner
                .preprocess_by(steps, workers, makers)
                .map(|(done, phases, inner)| (done, phases, Stocked(Of::Garbler(Box::new(inner)))))?,
            Of::Evaluator(inner) => inner
                .preprocess_by(steps, workers, makers)
                .map(|(done, phases, inner)| (done, phases, Stocked(Of::Evaluator(Box::new(inner)))))?,
        })
    }

    /// Runs a step, or a program that is one, on what is in stock. `input` are the bits of this party's input
    /// ports, in order, without those that carry something on. A step that carries something on takes all
    /// from the epoch of those values: nothing is made for it.
    ///
    /// # Errors
    /// As [`Stocked::preprocess`]; [`Error::Stock`] if something is lacking and is not to be made,
    /// [`Error::Input`] if `input` has the wrong length, [`Error::Usage`] if a secret is of another session.
    pub fn run(
        self,
        step: impl Into<Step>,
        input: &[bool],
        lacking: Lacking,
    ) -> Result<(FromStock, Self), Error> {
        self.run_step(&step.into(), input, lacking)
    }

    fn run_step(self, step: &Step, input: &[bool], lacking: Lacking) -> Result<(FromStock, Self), Error> {
        Ok(match self.0 {
            Of::Garbler(inner) => inner
                .run(step, input, lacking)
                .map(|(done, inner)| (done, Stocked(Of::Garbler(Box::new(inner)))))?,
            Of::Evaluator(inner) => inner
                .run(step, input, lacking)
                .map(|(done, inner)| (done, Stocked(Of::Evaluator(Box::new(inner)))))?,
        })
    }

    /// Compares both stores once more, at both parties at once, and lets go of the part that was taken from:
    /// what other connections between them have made meanwhile can be used after it. The kept values are
    /// gone.
    ///
    /// # Errors
    /// As [`Stocked::open`].
    pub fn renew(self) -> Result<Self, Error> {
        Ok(Stocked(match self.0 {
            Of::Garbler(inner) => Of::Garbler(Box::new(inner.renew()?)),
            Of::Evaluator(inner) => Of::Evaluator(Box::new(inner.renew()?)),
        }))
    }

    /// Returns the connection, for messages of the caller's own between two programs, which both parties must
    /// expect.
    pub fn channel(&mut self) -> &mut Channel {
        match &mut self.0 {
            Of::Garbler(inner) => inner.line.channel(),
            Of::Evaluator(inner) => inner.line.channel(),
        }
    }

    /// Returns the bytes that went over the connection so far, both ways, payload and framing.
    pub fn bytes(&self) -> u64 {
        let channel = match &self.0 {
            Of::Garbler(inner) => &inner.line.line().channel,
            Of::Evaluator(inner) => &inner.line.line().channel,
        };
        channel.sent_bytes() + channel.received_bytes()
    }

    /// Ends it. Returns what each phase took.
    ///
    /// # Errors
    /// [`Error::Io`] if the peer went away.
    pub fn close(self) -> Result<Vec<PhaseReport>, Error> {
        match self.0 {
            Of::Garbler(inner) => inner.line.close(),
            Of::Evaluator(inner) => inner.line.close(),
        }
    }
}

struct Inner<R: Role> {
    line: stocked::Stocked<OnDisk<R>>,
    schedules: Schedules,
    /// The garbler's proposal for the first program.
    cut: Decomposition,
    /// The session that the greetings named.
    greeted: SessionId,
}

impl<R: Role> Inner<R> {
    fn open(
        mut run: Metered,
        store: &Store,
        terms: &Terms,
        purpose: Option<[u8; 32]>,
        cut: &Decomposition,
        hooks: Hooks,
    ) -> Result<Self, Error> {
        run.phase("setup");
        let purpose = purpose.as_ref().map_or(&[][..], |purpose| purpose);
        let program = blake3::derive_key("brickwork 2026-11 stock", purpose);
        let digests = Digests { stock: true, program, parameters: [0; 32] };
        let greeting = Greeting::send::<Duplo>(&mut run.channel, run.role, terms, &digests)?;
        if run.role == Party::Garbler {
            cut.send(&mut run.channel)?;
        }
        let answer = greeting.answered(&mut run.channel)?;
        no_proposal(&answer)?;
        let cut =
            if run.role == Party::Garbler { cut.clone() } else { Decomposition::receive(&mut run.channel)? };
        let line = stocked::Stocked::open(run, hooks, store, terms, &answer.session)?;
        Ok(Inner { line, schedules: Schedules::new(), cut, greeted: answer.session })
    }

    fn renew(self) -> Result<Self, Error> {
        let Inner { line, schedules, cut, greeted } = self;
        Ok(Inner { line: line.renew(&greeted)?, schedules, cut, greeted })
    }

    fn expect(mut self, step: &Step) -> Result<Self, Error> {
        self.prepare(step.program());
        let Inner { line, schedules, cut, greeted } = self;
        let carried = carried(&line, step)?;
        let line = line.expect(&Execution { step, input: &[], schedules: &schedules, carried })?;
        Ok(Inner { line, schedules, cut, greeted })
    }

    fn forget(&mut self, secret: &Secret) {
        if let Some(session) = self.line.standing_mut() {
            session.forget(secret);
        }
    }

    fn has(&mut self, step: &Step) -> Result<bool, Error> {
        let carried = carried(&self.line, step)?;
        self.line.has(&Execution { step, input: &[], schedules: &self.schedules, carried })
    }

    fn prepare(&mut self, program: &Program) {
        program.component_digests();
        program.digest();
        if R::ROLE == Party::Evaluator {
            batches::schedule(&mut self.schedules, program);
        }
    }

    fn preprocess(self, steps: &[Request]) -> Result<(stocked::Preprocessed, Self), Error> {
        let Inner { mut line, schedules, cut, greeted } = self;
        let epoch = line.open_epoch()?;
        let parameters = Parameters::for_steps(steps, line.terms().security)?;
        let steps: Vec<Filling> = steps
            .iter()
            .zip(&parameters)
            .map(|(request, parameters)| Filling { request, parameters })
            .collect();
        let (done, line) = line.fill(epoch, &steps)?;
        Ok((done, Inner { line, schedules, cut, greeted }))
    }

    fn preprocess_by(
        self,
        steps: &[Request],
        workers: Vec<(Channel, Hooks)>,
        makers: Vec<Channel>,
    ) -> Result<MadeBy<Self>, Error> {
        let Inner { mut line, schedules, cut, greeted } = self;
        // One pool for all sessions.
        Pool::entered_or_new(line.terms().threads)?.enter(|| {
            let lines = workers.into_iter().map(|(channel, hooks)| {
                (Metered::new::<Duplo>(channel, R::ROLE, Box::new(Unobserved)), hooks)
            });
            let mut workers =
                Workers::<OnDisk<R>>::greet::<Duplo>(lines.collect(), makers, line.terms(), &greeted)?;
            let epoch = line.open_epoch()?;
            let shares: Vec<Vec<Request>> = steps.iter().map(|step| step.shares(workers.len())).collect();
            // Steps that begin together have a share of the budget together, whichever worker makes them.
            let parameters = Parameters::for_steps(&shares.concat(), line.terms().security)?;
            let all = shares.iter().flatten().zip(&parameters);
            let mut filling = all.map(|(request, parameters)| Filling { request, parameters });
            let steps: Vec<Vec<Filling>> =
                shares.iter().map(|shares| filling.by_ref().take(shares.len()).collect()).collect();
            let (done, line) = line.fill_by(&mut workers, epoch, &steps)?;
            Ok((done, workers.close()?, Inner { line, schedules, cut, greeted }))
        })
    }

    fn run(mut self, step: &Step, input: &[bool], mut lacking: Lacking) -> Result<(FromStock, Self), Error> {
        step.check_session(self.line.session_id())?;
        step.check_input(R::ROLE, input)?;
        self.prepare(step.program());
        // While something is kept, programs take from its session alone, and no other is begun.
        if self.line.standing().is_some_and(OnDisk::stays) {
            lacking = Lacking::Refuse;
        }
        let carried = carried(&self.line, step)?;
        let Inner { line, schedules, cut, greeted } = self;
        let job = Execution { step, input, schedules: &schedules, carried };
        let (outcome, epoch, made, line) =
            line.run_or_make(&job, lacking, |next, why| make(next, step.program(), why))?;
        let StepReport { outputs, kept, mut promise, aside } = outcome;
        let of_epoch = batches::bound_of_epoch(line.store(), &epoch, line.terms().security)?;
        promise.epoch_bound_log2 = Some(of_epoch.log2());
        Ok((
            FromStock { outputs, kept, recovered: aside.recovered, promise, made },
            Inner { line, schedules, cut, greeted },
        ))
    }
}

/// Returns the batches that what a step carries on rests on.
///
/// # Errors
/// [`Error::Usage`] if it is not kept in the session that stands.
fn carried<R: Role>(line: &stocked::Stocked<OnDisk<R>>, step: &Step) -> Result<Vec<(String, Origin)>, Error> {
    step.check_session(line.session_id())?;
    line.standing().map_or(Ok(Vec::new()), |session| session.carried(step))
}

/// Makes what a program lacks. All material of a program exists before its session's first input. So lacking
/// items are added to an epoch without inputs, if there is one; otherwise a new one is filled with all that
/// the program needs.
fn make<R: Role>(
    mut line: stocked::Stocked<OnDisk<R>>,
    program: &Program,
    why: &Error,
) -> Result<(Request, stocked::Stocked<OnDisk<R>>), Error> {
    let everything = Request { ots: Some(program.input_width(Party::Evaluator)), ..Request::of(program) };
    let mut epoch = line.open_epoch()?;
    let mut request = match epoch {
        Some(id) => {
            batches::counts(&Batches::of(line.store(), &id)?).missing(program, garbler_wires(program))
        }
        None => everything.clone(),
    };
    if request.is_empty() {
        // It is there, but out of too many batches.
        (epoch, request) = (None, everything);
    }
    tracing::warn!("{why}; {request} are made on the spot");
    let parameters = Parameters::for_steps(std::slice::from_ref(&request), line.terms().security)?;
    let steps = [Filling { request: &request, parameters: &parameters[0] }];
    let (_, line) = line.fill(epoch, &steps)?;
    Ok((request, line))
}
