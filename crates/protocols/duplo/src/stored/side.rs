//! Writes the two roles' parts of a session with stock on disk: storing the items of a step, and fetching
//! those of a program. Code that both roles share is written once.

use super::batches::{self, Schedules, kind};
use super::records::{Context, Header, KnownComponent, Stored};
use crate::authenticators::{
    EvaluatorAuthenticators, EvaluatorComponent, GarblerAuthenticators, GarblerComponent,
};
use crate::hooks::{self, Hooks};
use crate::input_ots::{EvaluatorInputOts, GarblerInputOts};
use crate::instance::{CommitmentSender, level};
use crate::items::{ComponentItems, Items, Origin};
use crate::kept::KeptCommitments;
use crate::parameters::{self, Parameters, may_begin};
use crate::party::{EvaluatorCore, Pooled, entered};
use crate::phases::{self, Agreement};
use crate::report::Duplo;
use crate::request::Request;
use crate::steps::{Secret, Step, authenticators};
use crate::stock::PartyStock;
use crate::{Evaluator, Garbler, StepReport};
use brickwork_base::{Error, Security};
use brickwork_circuit::Party;
use brickwork_primitives::commit::{Receiver as _, Sender as _};
use brickwork_primitives::counters::Counters;
use brickwork_primitives::ot::{CotReceiver as _, CotSender as _};
use brickwork_protocol::stock::records::{Batches, Keeper, TakenBatch, TakenItems};
use brickwork_protocol::stock::{PreprocessingStep, Stand, StockProtocol, StockSession};
use brickwork_protocol::{Metered, SessionId, Terms};
use brickwork_store::{Batch, Counted, EpochSecrets, EpochState, Ranges, Serial, Writers};

/// A step of preprocessing.
pub struct Filling<'s> {
    pub(crate) request: &'s Request,
    pub(crate) parameters: &'s Parameters,
}

impl PreprocessingStep for Filling<'_> {
    fn request(&self) -> [u8; 32] {
        self.request.digest()
    }

    fn parameters(&self) -> [u8; 32] {
        self.parameters.digest()
    }

    fn bytes(&self) -> u64 {
        self.parameters.table_bytes(self.request)
    }

    fn encoded(&self) -> Result<Vec<u8>, Error> {
        self.told()
    }
}

/// A step, this party's input bits, and the evaluator's schedules for its components.
pub struct Execution<'j> {
    pub(crate) step: &'j Step,
    pub(crate) input: &'j [bool],
    pub(crate) schedules: &'j Schedules,
    /// The batches on which the step's kept values depend, with their names.
    pub(crate) carried: Vec<(String, Origin)>,
}

/// A role's session, with the operations in which the two roles differ.
pub(super) trait Role: Sized + Send + Pooled + 'static {
    type Component: Stored + ComponentItems;
    type Authenticators: Stored + Items;
    type Ots: Stored;

    fn secrets(&self) -> EpochSecrets;
    fn id(&self) -> &SessionId;
    fn security(&self) -> Security;
    fn run(&mut self) -> &mut Metered;
    /// Returns the connection and the hooks for the next session. All other data is erased.
    fn release(self: Box<Self>) -> (Metered, Hooks);
    /// Returns whether a step has kept values.
    fn keeps(&self) -> bool;
    /// Returns the stock: the items that were made, or fetched for a program.
    fn stock(&mut self) -> &mut PartyStock<Self::Component, Self::Authenticators, Self::Ots>;
    fn counters(&mut self) -> &mut Counters;
    fn hooks(&mut self) -> &mut Hooks;
    /// Continues with these ranges of the streams of commitments and OTs.
    fn enter(&mut self, ranges: &mut Ranges) -> Result<(), Error>;
    /// Returns the garbler's commitments, for recomputing committed values.
    fn committer(&self) -> Option<&CommitmentSender> {
        None
    }
    /// Makes the requested items. Data that can be stored early goes into segments at once.
    fn make(&mut self, filling: &Filling, segments: Writers) -> Result<(), Error>;
    /// Runs a step on the items in [`Role::stock`].
    fn evaluate(&mut self, step: &Step, input: &[bool], agreement: Agreement) -> Result<StepReport, Error>;
}

/// The values that earlier steps kept.
pub trait KeptValues {
    /// Returns the batches on which the kept values of a step depend, with their names.
    ///
    /// # Errors
    /// [`Error::Usage`] if something was forgotten.
    fn origins(&self, step: &Step) -> Result<Vec<(String, Origin)>, Error>;

    /// Forgets a value.
    fn forget(&mut self, secret: &Secret);
}

impl<A: Items> KeptValues for KeptCommitments<A> {
    fn origins(&self, step: &Step) -> Result<Vec<(String, Origin)>, Error> {
        self.origins(step)
    }

    fn forget(&mut self, secret: &Secret) {
        self.forget(secret);
    }
}

/// A role's session, in the form that the stock uses.
struct OnDisk<R>(Box<R>);

fn on_disk<R: Role>(party: R) -> Box<dyn StockSession<Duplo>> {
    Box::new(OnDisk(Box::new(party)))
}

impl StockProtocol for Duplo {
    const AGREEMENT: &'static str = "build";
    type Carried = Hooks;
    type FillStep<'s> = Filling<'s>;
    type Execution<'j> = Execution<'j>;
    type Outcome = StepReport;
    type Kept = dyn KeptValues;

    /// An evaluator that stops early learns nothing new about the checks, so only the garbler's stop counts.
    fn counted(role: Party) -> Counted {
        match role {
            Party::Garbler => Counted::Nothing,
            Party::Evaluator => Counted::BrokenOffOrThrownAway,
        }
    }

    fn setup(run: Metered, terms: &Terms, hooks: Hooks) -> Result<Box<dyn StockSession<Self>>, Error> {
        match run.role {
            Party::Garbler => <Garbler>::set_up(run, terms, hooks).map(on_disk),
            Party::Evaluator => <Evaluator>::set_up(run, terms, hooks).map(on_disk),
        }
    }

    fn restore(
        run: Metered,
        terms: &Terms,
        secrets: &EpochSecrets,
        hooks: Hooks,
    ) -> Result<Box<dyn StockSession<Self>>, Error> {
        match run.role {
            Party::Garbler => <Garbler>::restored(run, terms, secrets, hooks).map(on_disk),
            Party::Evaluator => <Evaluator>::restored(run, terms, secrets, hooks).map(on_disk),
        }
    }

    /// The items of a session must exist before its first input, and too many given-up steps close an epoch.
    /// A session with a share of a promise is filled once.
    fn may_begin(state: &EpochState, terms: &Terms) -> Result<bool, Error> {
        if terms.security.is_share() {
            return Ok(state.is_new());
        }
        Ok(!state.is_used() && may_begin(state.given_up(), terms.security)?)
    }

    fn fixed(terms: &Terms) -> Result<u128, Error> {
        parameters::fixed(terms.security)
    }

    fn early_risk(role: Party, terms: &Terms) -> Result<u128, Error> {
        match role {
            Party::Garbler => Ok(0),
            Party::Evaluator => parameters::early_risk(terms.security),
        }
    }

    fn program(job: &Execution) -> [u8; 32] {
        job.step.digest()
    }

    fn needs(job: &Execution) -> String {
        Request::of(job.step.program()).to_string()
    }

    fn choose(job: &Execution, batches: &Batches, terms: &Terms) -> Result<Vec<(Serial, u32)>, Error> {
        batches::choose(batches, (job.step.program(), authenticators(job.step)), &job.carried, terms.security)
    }
}

impl<R: Role> StockSession<Duplo> for OnDisk<R> {
    fn secrets(&self) -> EpochSecrets {
        self.0.secrets()
    }

    fn id(&self) -> &SessionId {
        self.0.id()
    }

    fn run(&mut self) -> &mut Metered {
        self.0.run()
    }

    fn stays(&self) -> bool {
        self.0.keeps()
    }

    fn kept(&mut self) -> Option<&mut (dyn KeptValues + 'static)> {
        Some(&mut self.0.stock().kept)
    }

    fn release(self: Box<Self>) -> (Metered, Hooks) {
        self.0.release()
    }

    fn enter(&mut self, ranges: Ranges) -> Result<(), Error> {
        let mut ranges = hooks::ranges(self.0.hooks(), ranges);
        *self.0.counters() = Counters::of_entry(&mut ranges)?;
        self.0.enter(&mut ranges)
    }

    fn risk(&self, step: &Filling<'_>) -> u128 {
        step.parameters.risk()
    }

    fn fill(&mut self, filling: &Filling, segments: Writers) -> Result<(), Error> {
        self.0.make(filling, segments)
    }

    fn keep(&mut self, filling: &Filling, keeper: &mut Keeper) -> Result<(), Error> {
        let (components, input, ots) = std::mem::take(self.0.stock()).into_items();
        let counters = self.0.counters();
        for items in components {
            let digest = *items.digest();
            let named = filling.request.components.iter().find(|(c, _)| c.digest() == digest);
            let name = named.map_or("", |(c, _)| &c.name);
            keep(keeper, counters, (kind::COMPONENT, name, digest), items)?;
        }
        for items in input {
            keep(keeper, counters, (kind::INPUT, "input authenticators", [0; 32]), items)?;
        }
        ots.into_iter().try_for_each(|items| keep(keeper, counters, (kind::OTS, "OTs", [0; 32]), items))
    }

    fn take(&mut self, items: &TakenItems, job: &Execution, stand: Stand) -> Result<StepReport, Error> {
        // Fetching computes on the session's threads.
        entered(&mut *self.0, |session| items.each(|taken| fetch(session, taken, job)))?;
        self.0.evaluate(job.step, job.input, Agreement::Stores(stand))
    }
}

/// Writes a batch into the store under the serial of its first cut-and-choose, or under a new one.
fn keep<P: Stored>(
    keeper: &mut Keeper,
    counters: &mut Counters,
    (kind, name, component): (u8, &str, [u8; 32]),
    items: P,
) -> Result<(), Error> {
    let serial = match items.origins().first() {
        Some(origin) => origin.serial,
        None => counters.serial()?,
    };
    let batch = Batch { kind, name: name.into(), component, header: items.header().encode() };
    keeper.put(serial, &batch, items)
}

/// Loads items of a batch from the store into the session's stock.
fn fetch<R: Role>(session: &mut R, taken: TakenBatch, job: &Execution) -> Result<(), Error> {
    let (batch, id) = (taken.batch, *session.id());
    let header = Header::decode(&batch.header, taken.given_up)?;
    let program = job.step.program();
    let mut components = program.components().iter().zip(program.component_digests());
    let component =
        components.find(|(_, digest)| batch.kind == kind::COMPONENT && **digest == batch.component);
    let context = Context {
        header: &header,
        session: &id,
        words: level(session.security())?.words,
        component: component.map(|(component, digest)| KnownComponent {
            component,
            digest,
            schedule: job.schedules.get(digest),
        }),
        committer: session.committer(),
    };
    match batch.kind {
        kind::COMPONENT => {
            let component = taken.assemble(&context)?;
            session.stock().put_component(component);
        }
        kind::INPUT => {
            let authenticators = taken.assemble(&context)?;
            session.stock().put_input(authenticators);
        }
        kind::OTS => {
            let ots = taken.assemble(&context)?;
            session.stock().put_ots(ots);
        }
        other => return Err(Error::Stock(format!("a stored batch has the unknown kind {other}"))),
    }
    Ok(())
}

impl Role for Garbler {
    type Component = GarblerComponent;
    type Authenticators = GarblerAuthenticators;
    type Ots = GarblerInputOts;

    fn secrets(&self) -> EpochSecrets {
        Garbler::secrets(self)
    }

    fn id(&self) -> &SessionId {
        &self.session
    }

    fn security(&self) -> Security {
        self.security
    }

    fn run(&mut self) -> &mut Metered {
        &mut self.run
    }

    fn release(self: Box<Self>) -> (Metered, Hooks) {
        let Garbler { run, hooks, .. } = *self;
        (run, hooks)
    }

    fn keeps(&self) -> bool {
        !self.stock.kept.is_empty()
    }

    fn stock(&mut self) -> &mut PartyStock<GarblerComponent, GarblerAuthenticators, GarblerInputOts> {
        &mut self.stock
    }

    fn counters(&mut self) -> &mut Counters {
        &mut self.counters
    }

    fn hooks(&mut self) -> &mut Hooks {
        &mut self.hooks
    }

    fn enter(&mut self, ranges: &mut Ranges) -> Result<(), Error> {
        self.stock.kept.enter(ranges)?;
        self.sender.enter(ranges)?;
        self.cot.enter(ranges)
    }

    fn committer(&self) -> Option<&CommitmentSender> {
        Some(&self.sender)
    }

    fn make(&mut self, filling: &Filling, _: Writers) -> Result<(), Error> {
        self.fill_agreed(filling.request, filling.parameters)
    }

    fn evaluate(&mut self, step: &Step, input: &[bool], agreement: Agreement) -> Result<StepReport, Error> {
        let material = self.stock.take(step)?;
        entered(self, |party| phases::garbler::step(party, step, agreement, material, input))
    }
}

impl Role for Evaluator {
    type Component = EvaluatorComponent;
    type Authenticators = EvaluatorAuthenticators;
    type Ots = EvaluatorInputOts;

    fn secrets(&self) -> EpochSecrets {
        Evaluator::secrets(self)
    }

    fn id(&self) -> &SessionId {
        &self.core.session
    }

    fn security(&self) -> Security {
        self.core.security
    }

    fn run(&mut self) -> &mut Metered {
        &mut self.core.run
    }

    fn release(self: Box<Self>) -> (Metered, Hooks) {
        let Evaluator { core: EvaluatorCore { run, hooks, .. }, .. } = *self;
        (run, hooks)
    }

    fn keeps(&self) -> bool {
        !self.stock.kept.is_empty()
    }

    fn stock(&mut self) -> &mut PartyStock<EvaluatorComponent, EvaluatorAuthenticators, EvaluatorInputOts> {
        &mut self.stock
    }

    fn counters(&mut self) -> &mut Counters {
        &mut self.core.counters
    }

    fn hooks(&mut self) -> &mut Hooks {
        &mut self.core.hooks
    }

    fn enter(&mut self, ranges: &mut Ranges) -> Result<(), Error> {
        self.stock.kept.enter(ranges)?;
        self.core.receiver.enter(ranges)?;
        self.core.cot.enter(ranges)
    }

    fn make(&mut self, filling: &Filling, segments: Writers) -> Result<(), Error> {
        self.core.segments = Some(segments);
        self.fill_agreed(filling.request, filling.parameters)?;
        self.core.segments = None;
        Ok(())
    }

    fn evaluate(&mut self, step: &Step, input: &[bool], agreement: Agreement) -> Result<StepReport, Error> {
        let material = self.stock.take(step)?;
        entered(self, |party| phases::evaluator::step(party, step, agreement, material, input))
    }
}
