//! The operations of the two roles with stock on disk. The trait [`Role`] has the operations in which the
//! roles differ; they share all other code.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use zeroize::{Zeroize, ZeroizeOnDrop, Zeroizing};

use super::needs::{Execution, Filling, ItemUse, Request, choose_built, kind};
use super::origins::{self, BatchPart, CutAndChoose, Header, Origin};
use super::records::{Context, EvaluatorGates, EvaluatorInputs};
use crate::hooks::Hooks;
use crate::inputs::GarblerInputs;
use crate::instance::{CommitmentSender, Commitments, CotSender, level};
use crate::ots::{EvaluatorOts, EvaluatorRandomOts, GarblerOts, GarblerRandomOts};
use crate::parameters::{Parameters, early_risk, stock_ot_binding};
use crate::preprocess::{ClaimedGates, GarblerHeads};
use crate::report::Lego;
use crate::setup::{self, Evaluator, Garbler};
use crate::{draw_challenge, evaluate, inputs, online, preprocess, receive_challenge};
use brickwork_base::label::Delta;
use brickwork_base::pool::Pool;
use brickwork_base::random::Rng;
use brickwork_base::{Error, Party};
use brickwork_primitives::commit::{self, Claims, Committed, Receiver as _, Sender as _, Shares};
use brickwork_primitives::counters::Counters;
use brickwork_primitives::ot::{self, CotReceiver as _, CotSender as _, Direction, Series};
use brickwork_protocol::stock::records::{Batches, Keeper, Records, TakenBatch, TakenItems};
use brickwork_protocol::stock::{Stand, StockProtocol, StockSession};
use brickwork_protocol::{Metered, Promise, SessionId, Terms};
use brickwork_store::{Batch, Counted, EpochSecrets, EpochState, Ranges, Serial, Writers};

const VERSION: u32 = 1;

type SenderState = <CommitmentSender as commit::Sender>::State;
type ReceiverState = <<Commitments as commit::CommitmentScheme>::Receiver as commit::Receiver>::State;

/// Items in the form in which a role keeps them.
pub(super) trait Stored: for<'c> Records<Context<'c> = Context<'c>> + Send {}

impl<T: for<'c> Records<Context<'c> = Context<'c>> + Send> Stored for T {}

/// The data of a batch's header that a step of preprocessing determines.
#[derive(Clone, Copy, Default)]
pub(super) struct Noted {
    rows: [u64; 3],
    start: u128,
    made: u64,
}

/// The items that a step made at a role.
pub(super) struct Made<R: Role> {
    gates: Option<(R::Gates, Noted)>,
    inputs: Option<(R::Inputs, Noted)>,
    ots: Option<(R::Ots, Noted)>,
}

/// The items that a program uses, batch by batch.
pub(super) struct Material<R: Role> {
    gates: Vec<R::Gates>,
    inputs: Vec<R::Inputs>,
    ots: Vec<R::Ots>,
    ready: Option<R::Ready>,
}

impl<R: Role> Material<R> {
    fn none() -> Self {
        Material { gates: Vec::new(), inputs: Vec::new(), ots: Vec::new(), ready: None }
    }
}

/// A party of a session, and its operations with stock.
pub(super) trait Role: Sized + Send + 'static {
    type Gates: Stored;
    type Inputs: Stored;
    type Ots: Stored;
    type Ready: Stored;

    fn restored(run: Metered, terms: &Terms, secrets: &EpochSecrets, hooks: Hooks) -> Result<Self, Error>;
    fn secrets(&self) -> EpochSecrets;
    fn id(&self) -> &SessionId;
    fn pool(&self) -> Pool;
    fn run(&mut self) -> &mut Metered;
    fn release(self) -> (Metered, Hooks);
    fn counters(&mut self) -> &mut Counters;
    /// Enters these ranges of its streams.
    fn enter(&mut self, ranges: &mut Ranges) -> Result<(), Error>;
    /// Returns the garbler's commitments and offset. It is `None` at the evaluator.
    fn committer(&self) -> Option<(&CommitmentSender, Delta)>;
    fn make(&mut self, asked: &Request, parameters: &Parameters) -> Result<Made<Self>, Error>;
    /// Describes the items of each batch in the evaluator's built program. The list is empty at the garbler.
    fn parts(ready: &Self::Ready) -> Result<Vec<BatchPart>, Error>;
    fn build(&mut self, job: &Execution, taken: Material<Self>, stand: Stand) -> Result<Self::Ready, Error>;
    /// Runs a program with these items. Returns its outputs, and whether they were recovered.
    fn evaluate(
        &mut self,
        job: &Execution,
        taken: Material<Self>,
        stand: Stand,
    ) -> Result<(Vec<bool>, bool), Error>;
}

/// The garbler's stored secrets, apart from the keys of its OTs.
#[derive(Serialize, Deserialize, Zeroize, ZeroizeOnDrop)]
struct OfGarbler<C: Zeroize> {
    version: u32,
    session: SessionId,
    commitments: C,
    delta: u128,
    /// This party's share of the commitment to Δ.
    offset: Vec<u64>,
}

/// The evaluator's stored secrets, apart from the keys of its OTs.
#[derive(Serialize, Deserialize, Zeroize, ZeroizeOnDrop)]
struct OfEvaluator<C: Zeroize> {
    version: u32,
    session: SessionId,
    commitments: C,
    /// This party's share of the commitment to Δ.
    offset: Vec<u64>,
}

fn malformed() -> Error {
    Error::Stock("the stored secrets of this session are malformed, or another version wrote them".into())
}

fn decoded<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Error> {
    postcard::from_bytes(bytes).map_err(|_| malformed())
}

fn share(security: u32, version: u32, columns: &[u64]) -> Result<Shares, Error> {
    let words = level(security)?.words;
    match version == VERSION && columns.len() == words {
        true => Ok(Shares::of_columns(words, columns.to_vec())),
        false => Err(malformed()),
    }
}

impl Role for Garbler {
    type Gates = GarblerHeads;
    type Inputs = GarblerInputs;
    type Ots = GarblerOts;
    type Ready = evaluate::GarblerReady;

    fn restored(run: Metered, terms: &Terms, kept: &EpochSecrets, hooks: Hooks) -> Result<Self, Error> {
        let secrets: OfGarbler<SenderState> = decoded(&kept.fixed)?;
        let shares = share(terms.security.whole()?, secrets.version, &secrets.offset)?;
        let series = Series::new(&secrets.session, Direction::GarblerSends);
        let delta = Zeroizing::new(Delta::checked(secrets.delta).ok_or_else(malformed)?);
        let cot: CotSender = ot::CotSender::restored(&series, *delta, kept.forward.clone())?;
        let memory = commit::values_memory(terms.table_memory);
        Ok(Garbler {
            run,
            pool: Pool::entered_or_new(terms.threads)?,
            session: secrets.session,
            sender: commit::Sender::restored(&secrets.commitments, terms.security.whole()?, memory)?,
            rng: Rng::new("brickwork lego garbler")?,
            hooks,
            offset: Committed { values: vec![cot.offset()], shares },
            delta,
            cot,
            binding: stock_ot_binding(terms.security.whole()?),
            counters: Counters::none(),
        })
    }

    fn secrets(&self) -> EpochSecrets {
        let fixed = OfGarbler {
            version: VERSION,
            session: self.session,
            commitments: self.sender.state(),
            delta: self.delta.bits(),
            offset: self.offset.shares.words().to_vec(),
        };
        EpochSecrets::new(&fixed, self.cot.keys_behind())
    }

    fn id(&self) -> &SessionId {
        &self.session
    }

    fn pool(&self) -> Pool {
        self.pool.clone()
    }

    fn run(&mut self) -> &mut Metered {
        &mut self.run
    }

    fn release(self) -> (Metered, Hooks) {
        (self.run, self.hooks)
    }

    fn counters(&mut self) -> &mut Counters {
        &mut self.counters
    }

    fn enter(&mut self, ranges: &mut Ranges) -> Result<(), Error> {
        self.sender.enter(ranges)?;
        self.cot.enter(ranges)
    }

    fn committer(&self) -> Option<(&CommitmentSender, Delta)> {
        Some((&self.sender, *self.delta))
    }

    /// Crossings 2 to 9 of docs/protocols/lego.md, without a program.
    fn make(&mut self, asked: &Request, parameters: &Parameters) -> Result<Made<Self>, Error> {
        let (with_gates, with_inputs) = (parameters.gates.slots > 0, parameters.inputs.slots > 0);
        let ots = asked_ots(asked)?
            .map(|count| GarblerRandomOts::draw(&mut self.run, &mut self.cot, count, self.binding));
        let ots = ots.transpose()?;
        let gates = with_gates.then(|| preprocess::garbler_commits(self, parameters)).transpose()?;
        let authenticators = with_inputs.then(|| inputs::garbler_commits(self, parameters)).transpose()?;
        let ots = ots.map(|ots| ots.commit(self)).transpose()?;
        let made = gates.iter().flat_map(preprocess::GarblerGates::new_commitments);
        let made = made.chain(authenticators.iter().flat_map(|made| made.new_commitments()));
        self.proves_new(made.chain(ots.iter().flat_map(|ots| ots.new_commitments())), false)?;
        let authenticators = authenticators.map(inputs::InputAuthenticators::gathered);

        let seeds = receive_challenge(self)?;
        let ots = ots.map(|ots| ots.checks_revealed(self)).transpose()?;
        let gates =
            gates.map(|gates| preprocess::garbler_opens(self, gates, parameters, &seeds)).transpose()?;
        let opened = authenticators.as_ref();
        let inputs =
            opened.map(|made| inputs::garbler_opens(self, made, parameters, &seeds[2])).transpose()?;
        let Garbler { run, sender, offset, .. } = self;
        let mut claims = Claims::new();
        if let Some((heads, of_gates)) = &gates {
            of_gates.claim(&offset.shares, heads.shares(), None, &mut claims);
        }
        if let (Some(authenticators), Some((_, of_inputs))) = (&authenticators, &inputs) {
            authenticators.claim(&offset.shares, of_inputs, &mut claims);
        }
        if let Some((_, revealed)) = &ots {
            revealed.claims(&offset.shares, &mut claims);
        }
        run.phase("preprocess");
        sender.prove(&mut run.channel, &[], &claims)?;
        drop(claims);
        let noted = |at: &commit::Places, third: u64, start: u128, made: u64| Noted {
            rows: [at.rows[0], at.rows[1], third],
            start,
            made,
        };
        Ok(Made {
            gates: gates.map(|(gates, _)| {
                let noted = noted(&gates.at, 0, gates.start, 0);
                (gates, noted)
            }),
            inputs: inputs.map(|(inputs, _)| {
                let noted = noted(&inputs.at, inputs.inputs_row, 0, inputs.made);
                (inputs, noted)
            }),
            ots: ots.map(|(ots, _)| {
                let noted = noted(&ots.at, 0, 0, 0);
                (ots, noted)
            }),
        })
    }

    fn parts(_: &evaluate::GarblerReady) -> Result<Vec<BatchPart>, Error> {
        Ok(Vec::new())
    }

    fn build(
        &mut self,
        job: &Execution,
        taken: Material<Self>,
        stand: Stand,
    ) -> Result<evaluate::GarblerReady, Error> {
        online::garbler_builds(self, job.layout, joined_garbler(taken), stand)
    }

    fn evaluate(
        &mut self,
        job: &Execution,
        mut taken: Material<Self>,
        stand: Stand,
    ) -> Result<(Vec<bool>, bool), Error> {
        let outputs = match taken.ready.take() {
            Some(ready) => online::garbler_from_built(self, job.layout, &ready, stand, job.input)?,
            None => online::garbler_from_gates(self, job.layout, joined_garbler(taken), stand, job.input)?,
        };
        Ok((outputs, false))
    }
}

fn asked_ots(asked: &Request) -> Result<Option<usize>, Error> {
    let too_many = |_| Error::Limit("the step has more OTs than 32 bits can number".into());
    Ok(Some(usize::try_from(asked.ots).map_err(too_many)?).filter(|&count| count > 0))
}

fn joined_garbler(taken: Material<Garbler>) -> online::GarblerMaterial {
    let (mut gates, mut inputs, mut ots) = (GarblerHeads::none(), GarblerInputs::none(), GarblerOts::none());
    taken.gates.iter().for_each(|some| gates.append(some));
    taken.inputs.iter().for_each(|some| inputs.append(some));
    taken.ots.iter().for_each(|some| ots.append(some));
    online::GarblerMaterial { gates, inputs, ots }
}

/// The evaluator of a session with stock, with its checked share of the commitment to Δ.
pub(super) struct EvaluatorSession {
    party: Evaluator,
    offset: Shares,
}

impl Role for EvaluatorSession {
    type Gates = EvaluatorGates;
    type Inputs = EvaluatorInputs;
    type Ots = EvaluatorOts;
    type Ready = online::EvaluatorReady;

    fn restored(run: Metered, terms: &Terms, kept: &EpochSecrets, hooks: Hooks) -> Result<Self, Error> {
        let secrets: OfEvaluator<ReceiverState> = decoded(&kept.fixed)?;
        let offset = share(terms.security.whole()?, secrets.version, &secrets.offset)?;
        let series = Series::new(&secrets.session, Direction::GarblerSends);
        let party = Evaluator {
            run,
            pool: Pool::entered_or_new(terms.threads)?,
            session: secrets.session,
            receiver: commit::Receiver::restored(
                &secrets.commitments,
                terms.security.whole()?,
                terms.table_memory,
            )?,
            cot: ot::CotReceiver::restored(&series, kept.forward.clone())?,
            rng: Rng::new("brickwork lego evaluator")?,
            hooks,
            binding: stock_ot_binding(terms.security.whole()?),
            counters: Counters::none(),
            table_memory: terms.table_memory,
        };
        Ok(EvaluatorSession { party, offset })
    }

    fn secrets(&self) -> EpochSecrets {
        let fixed = OfEvaluator {
            version: VERSION,
            session: self.party.session,
            commitments: self.party.receiver.state(),
            offset: self.offset.words().to_vec(),
        };
        EpochSecrets::new(&fixed, self.party.cot.keys_behind())
    }

    fn id(&self) -> &SessionId {
        &self.party.session
    }

    fn pool(&self) -> Pool {
        self.party.pool.clone()
    }

    fn run(&mut self) -> &mut Metered {
        &mut self.party.run
    }

    fn release(self) -> (Metered, Hooks) {
        (self.party.run, self.party.hooks)
    }

    fn counters(&mut self) -> &mut Counters {
        &mut self.party.counters
    }

    fn enter(&mut self, ranges: &mut Ranges) -> Result<(), Error> {
        self.party.receiver.enter(ranges)?;
        self.party.cot.enter(ranges)
    }

    fn committer(&self) -> Option<(&CommitmentSender, Delta)> {
        None
    }

    /// Crossings 2 to 9 of docs/protocols/lego.md, without a program.
    fn make(&mut self, asked: &Request, parameters: &Parameters) -> Result<Made<Self>, Error> {
        let EvaluatorSession { party, offset } = self;
        let (with_gates, with_inputs) = (parameters.gates.slots > 0, parameters.inputs.slots > 0);
        let ots = asked_ots(asked)?.map(|count| {
            let Evaluator { run, cot, rng, binding, .. } = &mut *party;
            EvaluatorRandomOts::draw(run, cot, rng, count, *binding)
        });
        let ots = ots.transpose()?;
        party.run.channel.flush()?;
        let gates = with_gates.then(|| preprocess::evaluator_receives(party, parameters)).transpose()?;
        let inputs = with_inputs.then(|| inputs::evaluator_receives(party, parameters)).transpose()?;
        let ots = ots.map(|ots| ots.receive(party)).transpose()?;
        let proof = {
            let made = gates.iter().flat_map(preprocess::ReceivedGates::pending);
            let made = made.chain(inputs.iter().flat_map(|made| made.pending()));
            party.verifies_new(made.chain(ots.iter().flat_map(|ots| ots.pending())), None)?
        };
        let (inputs, ots) = (inputs.map(|made| made.accept(&proof)), ots.map(|ots| ots.accept(&proof)));

        let seeds = draw_challenge(party)?;
        let ots = ots.map(|ots| ots.reveal(party)).transpose()?;
        party.run.channel.flush()?;
        let gates = gates
            .map(|gates| preprocess::evaluator_opens(party, gates, &proof, parameters, &seeds))
            .transpose()?;
        let opened = inputs.as_ref();
        let of_inputs =
            opened.map(|made| inputs::evaluator_opens(party, made, parameters, &seeds[2])).transpose()?;
        let proof = {
            let Evaluator { run, receiver, .. } = &mut *party;
            let mut claims = Claims::new();
            if let Some(gates) = &gates {
                gates.claim(offset, &mut claims);
            }
            if let (Some(inputs), Some(of_inputs)) = (&inputs, &of_inputs) {
                inputs.claim(offset, of_inputs, &mut claims);
            }
            if let Some((_, revealed)) = &ots {
                revealed.claims(offset, &mut claims);
            }
            run.phase("preprocess");
            receiver.verify(&mut run.channel, &[], &claims)?
        };
        let session = party.session;
        let of_gates = |mut gates: ClaimedGates| -> Result<_, Error> {
            let heads = std::mem::take(&mut gates.heads).map(Shares::gathered);
            Ok((heads, gates.proven(&session, &proof)?))
        };
        let gates = gates.map(of_gates).transpose()?;
        Ok(Made {
            gates: gates.map(|(heads, buckets)| {
                let (start, made) = (buckets.gates.ands().start(), buckets.hasher.made());
                (EvaluatorGates { heads, buckets }, Noted { start, made, ..Noted::default() })
            }),
            inputs: inputs.zip(of_inputs).map(|(inputs, of_inputs)| {
                let wires = inputs.wires();
                let buckets = inputs.proven(&session, of_inputs, &proof);
                let made = buckets.hasher.made();
                (EvaluatorInputs { wires, buckets }, Noted { made, ..Noted::default() })
            }),
            ots: ots.map(|(ots, _)| (ots, Noted::default())),
        })
    }

    fn parts(ready: &online::EvaluatorReady) -> Result<Vec<BatchPart>, Error> {
        ready.parts()
    }

    fn build(
        &mut self,
        job: &Execution,
        taken: Material<Self>,
        stand: Stand,
    ) -> Result<online::EvaluatorReady, Error> {
        let EvaluatorSession { party, offset } = self;
        online::evaluator_builds(party, job.layout, joined_evaluator(taken), offset, stand)
    }

    fn evaluate(
        &mut self,
        job: &Execution,
        mut taken: Material<Self>,
        stand: Stand,
    ) -> Result<(Vec<bool>, bool), Error> {
        let EvaluatorSession { party, offset } = self;
        let Execution { layout, input, .. } = *job;
        match taken.ready.take() {
            Some(ready) => online::evaluator_from_built(party, layout, ready, offset, stand, input),
            None => {
                let material = joined_evaluator(taken);
                online::evaluator_from_gates(party, layout, material, offset, stand, input)
            }
        }
    }
}

fn joined_evaluator(taken: Material<EvaluatorSession>) -> online::EvaluatorMaterial {
    let mut material = online::EvaluatorMaterial::none();
    for EvaluatorGates { heads, buckets } in taken.gates {
        material.heads.iter_mut().zip(&heads).for_each(|(all, some)| all.append(some));
        material.gates.push(buckets);
    }
    for EvaluatorInputs { wires, buckets } in taken.inputs {
        material.wires.append(&wires);
        material.inputs.push(buckets);
    }
    taken.ots.iter().for_each(|some| material.ots.append(some));
    material
}

/// A built program before it is stored, and the cut-and-chooses of its items.
struct Built<R: Role> {
    ready: R::Ready,
    origins: Vec<Origin>,
}

/// A role's session, in the form that the shared code for stock uses.
pub(super) struct OnDisk<R: Role> {
    party: Box<R>,
    security: u32,
    /// The items that the current step made.
    made: Option<Made<R>>,
    built: Option<Built<R>>,
}

/// The result of a program.
pub struct Ran {
    pub(crate) outputs: Vec<bool>,
    pub(crate) recovered: bool,
    pub(crate) promise: Promise,
}

impl<R: Role> OnDisk<R> {
    fn of(party: R, terms: &Terms) -> Result<Box<dyn StockSession<Lego>>, Error> {
        let (party, security) = (Box::new(party), terms.security.whole()?);
        Ok(Box::new(OnDisk { party, security, made: None, built: None }))
    }
}

impl StockProtocol for Lego {
    const AGREEMENT: &'static str = "build";
    type Carried = Hooks;
    type FillStep<'s> = Filling<'s>;
    type Execution<'j> = Execution<'j>;
    /// It is `None` if the program was built for later.
    type Outcome = Option<Ran>;
    type Kept = ();

    /// If an evaluator breaks off, it has learned nothing about the garbler's checks of it, so its attempts
    /// need no bound.
    fn counted(role: Party) -> Counted {
        match role {
            Party::Garbler => Counted::Nothing,
            Party::Evaluator => Counted::BrokenOffOrThrownAway,
        }
    }

    fn setup(run: Metered, terms: &Terms, hooks: Hooks) -> Result<Box<dyn StockSession<Self>>, Error> {
        match run.role {
            Party::Garbler => OnDisk::of(setup::garbler_of_stock(run, terms, hooks)?, terms),
            Party::Evaluator => {
                let (party, offset) = setup::evaluator_of_stock(run, terms, hooks)?;
                OnDisk::of(EvaluatorSession { party, offset }, terms)
            }
        }
    }

    fn restore(
        run: Metered,
        terms: &Terms,
        secrets: &EpochSecrets,
        hooks: Hooks,
    ) -> Result<Box<dyn StockSession<Self>>, Error> {
        match run.role {
            Party::Garbler => OnDisk::of(Garbler::restored(run, terms, secrets, hooks)?, terms),
            Party::Evaluator => OnDisk::of(EvaluatorSession::restored(run, terms, secrets, hooks)?, terms),
        }
    }

    /// All items of a session must exist before its first input. Too many steps that were given up close an
    /// epoch.
    fn may_begin(state: &EpochState, terms: &Terms) -> Result<bool, Error> {
        Ok(!state.is_used() && origins::may_begin(state.given_up(), terms.security.whole()?)?)
    }

    fn fixed(terms: &Terms) -> Result<u128, Error> {
        origins::fixed(terms.security.whole()?)
    }

    fn early_risk(role: Party, terms: &Terms) -> Result<u128, Error> {
        match role {
            Party::Garbler => Ok(0),
            Party::Evaluator => early_risk(terms.security.whole()?),
        }
    }

    fn program(job: &Execution) -> [u8; 32] {
        let program = job.layout.program.digest();
        match job.purpose {
            ItemUse::Run => program,
            ItemUse::Build => blake3::derive_key("brickwork 2026-11 lego program to be built", &program),
        }
    }

    fn needs(job: &Execution) -> String {
        Request::of_layout(job.layout).to_string()
    }

    /// A program that is to be built takes its items before any other.
    fn choose(job: &Execution, batches: &Batches, terms: &Terms) -> Result<Vec<(Serial, u32)>, Error> {
        let built = choose_built(&job.layout.program.digest(), batches, terms.security.whole()?);
        match (job.purpose, built) {
            (ItemUse::Run, Ok(taken)) => Ok(taken),
            _ => Request::of_layout(job.layout).choose(batches, terms.security.whole()?),
        }
    }
}

impl<R: Role> StockSession<Lego> for OnDisk<R> {
    fn secrets(&self) -> EpochSecrets {
        self.party.secrets()
    }

    fn id(&self) -> &SessionId {
        self.party.id()
    }

    fn run(&mut self) -> &mut Metered {
        self.party.run()
    }

    fn release(self: Box<Self>) -> (Metered, Hooks) {
        self.party.release()
    }

    fn enter(&mut self, mut ranges: Ranges) -> Result<(), Error> {
        *self.party.counters() = Counters::of_entry(&mut ranges)?;
        self.party.enter(&mut ranges)
    }

    fn risk(&self, step: &Filling) -> u128 {
        step.risk()
    }

    fn fill(&mut self, step: &Filling, _: Writers) -> Result<(), Error> {
        if let Filling::Items(asked, parameters) = step {
            let party = &mut *self.party;
            self.made = Some(party.pool().enter(|| party.make(asked, parameters))?);
        }
        Ok(())
    }

    fn keep(&mut self, step: &Filling, keeper: &mut Keeper) -> Result<(), Error> {
        let nothing = || Error::Usage("a step must be made before it is kept".into());
        let (parameters, counters) = match step {
            Filling::Program(component, name) => {
                let Built { ready, origins } = self.built.take().ok_or_else(nothing)?;
                let header = Header { parts: R::parts(&ready)?, ..Header::new(self.security, origins) };
                let serial = self.party.counters().serial()?;
                let batch = Batch {
                    kind: kind::PROGRAM,
                    name: (*name).into(),
                    component: *component,
                    header: header.encode(),
                };
                return keeper.put(serial, &batch, ready);
            }
            Filling::Items(_, parameters) => (parameters, self.party.counters()),
        };
        let security = self.security;
        let Made { gates, inputs, ots } = self.made.take().ok_or_else(nothing)?;
        if let (Some((gates, noted)), Some(mixed)) = (gates, parameters.mixed()) {
            keep(
                keeper,
                counters,
                (kind::GATES, "AND gates", security),
                Some(CutAndChoose::Gates(mixed)),
                gates,
                noted,
            )?;
        }
        if let Some((inputs, noted)) = inputs {
            let cut = Some(CutAndChoose::Inputs(parameters.inputs));
            keep(keeper, counters, (kind::INPUTS, "inputs", security), cut, inputs, noted)?;
        }
        match ots {
            Some((ots, noted)) => keep(keeper, counters, (kind::OTS, "OTs", security), None, ots, noted),
            None => Ok(()),
        }
    }

    /// Everything that does not depend on the peer is read first. So no party waits for a disk after both
    /// have burned the items.
    fn take(&mut self, items: &TakenItems, job: &Execution, stand: Stand) -> Result<Option<Ran>, Error> {
        let OnDisk { party, security, built, .. } = self;
        let pool = party.pool();
        pool.enter(|| {
            let (mut taken, mut all, mut given_up) = (Material::none(), Vec::new(), Default::default());
            items.each(|batch| {
                given_up = batch.given_up;
                let header = Header::decode(&batch.batch.header)?;
                fetch(&**party, *security, batch, &header, job, &mut taken)?;
                all.extend(header.origins);
                Ok(())
            })?;
            if job.purpose == ItemUse::Build {
                let ready = party.build(job, taken, stand)?;
                *built = Some(Built { ready, origins: all });
                return Ok(None);
            }
            let promise = origins::promise(&all, given_up, *security)?;
            let (outputs, recovered) = party.evaluate(job, taken, stand)?;
            Ok(Some(Ran { outputs, recovered, promise }))
        })
    }
}

/// Writes a batch into the store.
fn keep(
    keeper: &mut Keeper,
    counters: &mut Counters,
    (kind, name, security): (u8, &str, u32),
    cut: Option<CutAndChoose>,
    items: impl Records,
    Noted { rows, start, made }: Noted,
) -> Result<(), Error> {
    let serial = counters.serial()?;
    let origins = cut.map(|cut| Origin { serial, cut }).into_iter().collect();
    let header = Header { rows, start, made, ..Header::new(security, origins) };
    let batch = Batch { kind, name: name.into(), component: [0; 32], header: header.encode() };
    keeper.put(serial, &batch, items)
}

/// Reads the items of a batch that a program uses.
fn fetch<R: Role>(
    party: &R,
    security: u32,
    batch: TakenBatch,
    header: &Header,
    job: &Execution,
    taken: &mut Material<R>,
) -> Result<(), Error> {
    let of_program = batch.batch.kind == kind::PROGRAM;
    let context = Context {
        header,
        session: party.id(),
        words: level(security)?.words,
        garbler: party.committer(),
        layout: of_program.then_some(job.layout),
    };
    match batch.batch.kind {
        kind::GATES => taken.gates.push(batch.assemble(&context)?),
        kind::INPUTS => taken.inputs.push(batch.assemble(&context)?),
        kind::OTS => taken.ots.push(batch.assemble(&context)?),
        kind::PROGRAM => taken.ready = Some(batch.assemble(&context)?),
        other => return Err(Error::Stock(format!("a stored batch has the unknown kind {other}"))),
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use brickwork_base::random::SEED_BYTES;
    use brickwork_primitives::commit::CommitmentScheme as _;
    use brickwork_protocol::{TABLE_MEMORY, Unobserved};
    use brickwork_store::Forward;
    use brickwork_wire::memory_pair;

    type SeedBytes = [u8; SEED_BYTES];

    fn restored<R: Role>(secrets: &impl Serialize, keys: usize) -> Result<R, Error> {
        let terms = Terms {
            security: 40.into(),
            threads: 1,
            table_memory: TABLE_MEMORY,
            identities: [[1; 32], [2; 32]],
            post_quantum: false,
        };
        let run = Metered::new::<Lego>(memory_pair().0, Party::Garbler, Box::new(Unobserved));
        let secrets = EpochSecrets::new(secrets, Forward::of_setup(vec![1; keys]));
        R::restored(run, &terms, &secrets, Hooks::none())
    }

    /// The stored form of the garbler's secrets, field by field, and then of the evaluator's.
    type Garblers = (u32, SessionId, Vec<[SeedBytes; 2]>, u128, Vec<u64>);
    type Evaluators = (u32, SessionId, Vec<SeedBytes>, Vec<u8>, Vec<u64>);

    #[test]
    fn row_25_secrets_of_another_version_or_length_are_refused() {
        let level = Commitments::level(40).unwrap();
        let (seed, columns) = ([1; SEED_BYTES], vec![0; level.words]);
        let garbler = || -> Garblers { (VERSION, [3; 32], vec![[seed; 2]; level.ots], 5, columns.clone()) };
        let evaluator = || -> Evaluators {
            (VERSION, [3; 32], vec![seed; level.ots], vec![0; level.ots], columns.clone())
        };
        // The secrets, when they are written again, give the same bytes.
        let again = |secrets: EpochSecrets, expected: Vec<u8>| assert_eq!(secrets.fixed, expected);
        let party: Garbler = restored(&garbler(), 128).unwrap();
        again(Role::secrets(&party), postcard::to_stdvec(&garbler()).unwrap());
        let party: EvaluatorSession = restored(&evaluator(), 256).unwrap();
        again(Role::secrets(&party), postcard::to_stdvec(&evaluator()).unwrap());
        let refused = |result: Result<(), Error>| {
            assert!(matches!(result, Err(Error::Stock(why)) if why.contains("malformed")));
        };
        refused(restored::<Garbler>(&garbler(), 127).map(drop));
        refused(restored::<EvaluatorSession>(&evaluator(), 128).map(drop));
        let garblers: [fn(&mut Garblers); 4] =
            [|s| s.0 += 1, |s| s.2.truncate(3), |s| s.3 = 6, |s| s.4.truncate(3)];
        for change in garblers {
            let mut secrets = garbler();
            change(&mut secrets);
            refused(restored::<Garbler>(&secrets, 128).map(drop));
        }
        let evaluators: [fn(&mut Evaluators); 4] =
            [|s| s.0 += 1, |s| s.2.truncate(3), |s| s.3.truncate(3), |s| s.4.push(0)];
        for change in evaluators {
            let mut secrets = evaluator();
            change(&mut secrets);
            refused(restored::<EvaluatorSession>(&secrets, 256).map(drop));
        }
    }
}
