//! DUPLO's stock on disk: its records, the items of programs, and a connection between two parties with
//! stores. All protocols share the code for meeting, filling and taking ([`brickwork_protocol::stock`]). Only
//! DUPLO has these parts: a garbler proposes a cut after its greeting, batches have bounds, and workers make
//! stock side by side.

#[cfg(any(test, feature = "adversary"))]
pub(super) mod again;
mod batches;
mod inventory;
mod makers;
mod records;
mod secrets;
mod side;

use std::sync::Arc;

use crate::StepReport;
use crate::hooks::Hooks;
use crate::items::Origin;
use crate::parameters::Parameters;
use crate::proposal::{CutMessage, Decompose};
use crate::report::Duplo;
use crate::request::Request;
use crate::steps::{Secret, Step, garbler_wires};
use batches::Schedules;
use brickwork_base::Error;
use brickwork_base::digest::Digest;
use brickwork_base::pool::Pool;
use brickwork_base::stop::Stop;
use brickwork_circuit::{Party, Program};
use brickwork_protocol::stock as stocked;
pub use brickwork_protocol::stock::inventory::{BatchInventory, CutInventory, GivenUpInventory, Inventory};
use brickwork_protocol::stock::workers::Workers;
pub use brickwork_protocol::stock::{Lacking, Preprocessed};
use brickwork_protocol::{Digests, Greeting, Metered, Observer, PhaseReport, SessionId, Terms, Unobserved};
use brickwork_store::Store;
use brickwork_wire::Channel;
pub use makers::Maker;
use side::{Execution, Filling};

/// Returns whether this party's store has enough for a program, counting only items that these terms allow
/// and that both parties may still use.
///
/// # Errors
/// [`Error::Stock`] if the store cannot be read or was altered.
pub fn in_stock(store: &Store, party: Party, terms: &Terms, program: &Program) -> Result<bool, Error> {
    stocked::in_stock::<Duplo>(store, party, terms, |held| {
        batches::choose(held, (program, garbler_wires(program)), &[], terms.security)
    })
}

/// Returns the purpose of a connection on which two parties meet to make stock with this many workers
/// [`Stocked::open_for`]: a peer with another number is refused before the stores are compared.
pub fn purpose_of_workers(workers: usize) -> [u8; 32] {
    Digest::of("brickwork 2026-11 duplo purpose of workers").length(workers).done()
}

/// The result of a filling by workers, the phases of each worker, and the connection on which the parties
/// met.
pub type MadeBy<L> = (Preprocessed, Vec<Vec<PhaseReport>>, L);

/// The result of a program from stock; [`Aside`](crate::Aside) explains how to treat `recovered`.
pub type FromStock = brickwork_protocol::stock::FromStock<Request>;

/// A connection between two parties with stock on disk.
pub struct Stocked {
    line: stocked::Stocked<Duplo>,
    schedules: Schedules,
    /// The garbler's proposal for the first program.
    cut: CutMessage,
    /// The session of the greetings.
    greeted: SessionId,
}

impl Stocked {
    /// Greets the peer and compares both stores.
    ///
    /// # Errors
    /// [`Error::Mismatch`] if the peer asks for something else, [`Error::Strangers`] if the stores do not
    /// belong together, [`Error::Stock`] if a store is an old copy; the epochs that differ are then burned.
    /// [`Error::Io`] if the peer goes away.
    pub fn open(
        party: Party,
        channel: Channel,
        store: &Store,
        terms: &Terms,
        observer: impl Observer + 'static,
    ) -> Result<Self, Error> {
        Self::open_with(party, channel, store, terms, &CutMessage::NONE, observer, Hooks::none())
    }

    /// Does the same as [`Stocked::open`] for a purpose. A peer with another purpose is refused before the
    /// stores are compared.
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
        let cut = &CutMessage::NONE;
        Self::begin(run, store, terms, Some(purpose), cut, Hooks::none())
    }

    /// Does the same as [`Stocked::open`] for a garbler that proposes the cut with this name for the first
    /// program.
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
            &CutMessage::of(program, decomposition),
            observer,
            Hooks::none(),
        )
    }

    /// Returns the evaluator's program in the cut that the garbler proposes, and the cut's name. `given` is
    /// the program in the cut that both parties have.
    ///
    /// # Errors
    /// [`Error::Mismatch`] if this party cannot make this cut, or gets a different program than the garbler.
    pub fn proposed(
        &self,
        given: &Arc<Program>,
        decompose: Option<&Decompose>,
    ) -> Result<(Arc<Program>, String), Error> {
        match self.line.role() {
            Party::Evaluator => Ok((self.cut.make(given, decompose)?, self.cut.name.clone())),
            Party::Garbler => Ok((given.clone(), String::new())),
        }
    }

    pub(super) fn open_with(
        party: Party,
        channel: Channel,
        store: &Store,
        terms: &Terms,
        cut: &CutMessage,
        observer: impl Observer + 'static,
        hooks: Hooks,
    ) -> Result<Self, Error> {
        let run = Metered::new::<Duplo>(channel, party, Box::new(observer));
        Self::begin(run, store, terms, None, cut, hooks)
    }

    fn begin(
        mut run: Metered,
        store: &Store,
        terms: &Terms,
        purpose: Option<[u8; 32]>,
        cut: &CutMessage,
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
        let answer = run.answer(greeting)?;
        answer.proposes_nothing()?;
        let cut =
            if run.role == Party::Garbler { cut.clone() } else { CutMessage::receive(&mut run.channel)? };
        let line = stocked::Stocked::open(run, hooks, store, terms, &answer.session)?;
        Ok(Stocked { line, schedules: Schedules::new(), cut, greeted: answer.session })
    }

    /// Returns whether a step, or a program as a step, could begin now on stock that this connection may use.
    /// It may not use epochs that another connection holds, or has made since this connection was opened or
    /// [renewed](Stocked::renew). At the garbler, other connections can then no longer take this stock.
    ///
    /// # Errors
    /// [`Error::Stock`] if the store cannot be read or was altered.
    pub fn has(&mut self, step: impl Into<Step>) -> Result<bool, Error> {
        self.has_step(&step.into())
    }

    fn has_step(&mut self, step: &Step) -> Result<bool, Error> {
        let carried = self.carried(step)?;
        self.line.has(&Execution { step, input: &[], schedules: &self.schedules, carried })
    }

    /// Prepares a step, or a program as a step, as far as neither the peer nor an input is needed.
    ///
    /// # Errors
    /// [`Error::Stock`] if the store cannot be read or was altered.
    pub fn expect(self, step: impl Into<Step>) -> Result<Self, Error> {
        self.expect_step(&step.into())
    }

    fn expect_step(mut self, step: &Step) -> Result<Self, Error> {
        self.prepare(step.program());
        let carried = self.carried(step)?;
        let Stocked { line, schedules, cut, greeted } = self;
        let line = line.expect(&Execution { step, input: &[], schedules: &schedules, carried })?;
        Ok(Stocked { line, schedules, cut, greeted })
    }

    fn prepare(&mut self, program: &Program) {
        program.component_digests();
        program.digest();
        if self.line.role() == Party::Evaluator {
            batches::schedule(&mut self.schedules, program);
        }
    }

    /// Returns the batches on which the kept values of a step depend.
    ///
    /// # Errors
    /// [`Error::Usage`] if a value is not kept in the current session.
    fn carried(&mut self, step: &Step) -> Result<Vec<(String, Origin)>, Error> {
        step.check_session(self.line.session_id())?;
        self.line.kept().map_or(Ok(Vec::new()), |kept| kept.origins(step))
    }

    /// Forgets a kept secret; no later program can use it.
    pub fn forget(&mut self, secret: &Secret) {
        self.line.kept().into_iter().for_each(|kept| kept.forget(secret));
    }

    /// Ends a filling between two steps when this stop is requested. A step that has begun is completed.
    pub fn stop_between_steps(&mut self, stop: &Stop) {
        self.line.stop_between_steps(stop);
    }

    /// Makes stock, one step after another. Steps that an interrupted run of the same steps completed are not
    /// made again. The stock goes to an epoch in which no program has run yet, or to a new one.
    ///
    /// # Errors
    /// As [`Stocked::open`]; [`Error::Peer`] if the peer cheats; the epoch is then burned.
    pub fn preprocess(self, steps: &[Request]) -> Result<(Preprocessed, Self), Error> {
        let Stocked { mut line, schedules, cut, greeted } = self;
        let epoch = line.open_epoch()?;
        let parameters = Parameters::for_steps(steps, line.terms().security)?;
        let steps: Vec<Filling> = steps
            .iter()
            .zip(&parameters)
            .map(|(request, parameters)| Filling { request, parameters })
            .collect();
        let (done, line) = line.fill(epoch, &steps)?;
        Ok((done, Stocked { line, schedules, cut, greeted }))
    }

    /// Does the same as [`Stocked::preprocess`], with a worker for each of these connections, at least two.
    /// Each worker makes a [share](Request::shares) of every step, on its own connection and in its own
    /// ranges. A step is completed by all workers or not at all. The peer has the same number of connections,
    /// in any order.
    ///
    /// # Errors
    /// As [`Stocked::preprocess`]; [`Error::Usage`] if there are too few or too many connections;
    /// [`Error::Io`], which names the worker, if a connection ends.
    pub fn preprocess_by(self, steps: &[Request], workers: Vec<Channel>) -> Result<MadeBy<Self>, Error> {
        self.preprocess_by_makers(steps, workers, Vec::new())
    }

    /// Does the same as [`Stocked::preprocess_by`] with further workers: one for each of these connections to
    /// a [`Maker`] of this party. A maker has its own connection with the peer.
    ///
    /// # Errors
    /// As [`Stocked::preprocess_by`]; [`Error::Io`] also if a maker is lost. The epoch is then burned, unless
    /// the maker has reported how it ended.
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
        let Stocked { mut line, schedules, cut, greeted } = self;
        let role = line.role();
        // All sessions share one pool of threads.
        Pool::entered_or_new(line.terms().threads)?.enter(|| {
            let lines = workers
                .into_iter()
                .map(|(channel, hooks)| (Metered::new::<Duplo>(channel, role, Box::new(Unobserved)), hooks));
            let mut workers = Workers::greet(role, lines.collect(), makers, line.terms(), &greeted)?;
            let epoch = line.open_epoch()?;
            let shares: Vec<Vec<Request>> = steps.iter().map(|step| step.shares(workers.len())).collect();
            // Steps that begin together share one part of the budget, even if different workers make them.
            let parameters = Parameters::for_steps(&shares.concat(), line.terms().security)?;
            let all = shares.iter().flatten().zip(&parameters);
            let mut filling = all.map(|(request, parameters)| Filling { request, parameters });
            let steps: Vec<Vec<Filling>> =
                shares.iter().map(|shares| filling.by_ref().take(shares.len()).collect()).collect();
            let (done, line) = line.fill_by(&mut workers, epoch, &steps)?;
            Ok((done, workers.close()?, Stocked { line, schedules, cut, greeted }))
        })
    }

    /// Runs a step, or a program as a step, on stock. `input` has the bits of this party's input ports in
    /// order, without ports that take kept values. A step that uses kept values takes all items from the
    /// epoch of these values; nothing is made for it.
    ///
    /// # Errors
    /// As [`Stocked::preprocess`]; [`Error::Stock`] if items are missing and `lacking` forbids making them,
    /// [`Error::Input`] if `input` has the wrong length, [`Error::Usage`] if a secret belongs to another
    /// session.
    pub fn run(
        self,
        step: impl Into<Step>,
        input: &[bool],
        lacking: Lacking,
    ) -> Result<(FromStock, Self), Error> {
        self.run_step(&step.into(), input, lacking)
    }

    fn run_step(
        mut self,
        step: &Step,
        input: &[bool],
        mut lacking: Lacking,
    ) -> Result<(FromStock, Self), Error> {
        step.check_session(self.line.session_id())?;
        step.check_input(self.line.role(), input)?;
        self.prepare(step.program());
        // While a value is kept, programs take only from its session, and no other session is begun.
        if self.line.stays() {
            lacking = Lacking::Refuse;
        }
        let carried = self.carried(step)?;
        let Stocked { line, schedules, cut, greeted } = self;
        let job = Execution { step, input, schedules: &schedules, carried };
        let (outcome, epoch, made, line) =
            line.run_or_make(&job, lacking, |next, why| make(next, step.program(), why))?;
        let StepReport { outputs, kept, mut promise, aside } = outcome;
        let of_epoch = batches::bound_of_epoch(line.store(), &epoch, line.terms().security)?;
        promise.epoch_bound_log2 = Some(of_epoch.log2());
        Ok((
            FromStock { outputs, kept, recovered: aside.recovered, promise, made },
            Stocked { line, schedules, cut, greeted },
        ))
    }

    /// Compares both stores again, at both parties at the same time, and releases the epoch in use. After it,
    /// this connection can use stock that other connections made meanwhile. The kept values are lost.
    ///
    /// # Errors
    /// As [`Stocked::open`].
    pub fn renew(self) -> Result<Self, Error> {
        let Stocked { line, schedules, cut, greeted } = self;
        Ok(Stocked { line: line.renew(&greeted)?, schedules, cut, greeted })
    }

    /// Returns the connection, for the caller's own messages between two programs, which both parties must
    /// expect.
    pub fn channel(&mut self) -> &mut Channel {
        self.line.channel()
    }

    /// Returns the bytes that were sent on the connection so far, in both directions, payload and framing.
    pub fn bytes(&mut self) -> u64 {
        let channel = self.line.channel();
        channel.sent_bytes() + channel.received_bytes()
    }

    /// Closes the connection. Returns the time and the bytes of each phase.
    ///
    /// # Errors
    /// [`Error::Io`] if the peer went away.
    pub fn close(self) -> Result<Vec<PhaseReport>, Error> {
        self.line.close()
    }
}

/// Makes the missing items of a program. All material of a program must exist before its session's first
/// input. So missing items are added to an epoch without inputs, if there is one; otherwise a new one is
/// filled with everything that the program needs.
fn make(
    mut line: stocked::Stocked<Duplo>,
    program: &Program,
    why: &Error,
) -> Result<(Request, stocked::Stocked<Duplo>), Error> {
    let everything = Request { ots: Some(program.input_width(Party::Evaluator)), ..Request::of(program) };
    let (epoch, request) = line.to_be_made(why, everything, |there| {
        let missing = batches::counts(there).missing(program, garbler_wires(program));
        Some(missing).filter(|missing| !missing.is_empty())
    })?;
    let parameters = Parameters::for_steps(std::slice::from_ref(&request), line.terms().security)?;
    let steps = [Filling { request: &request, parameters: &parameters[0] }];
    let (_, line) = line.fill(epoch, &steps)?;
    Ok((request, line))
}
