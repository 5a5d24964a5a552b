//! DUPLO in the engine: the garbler's proposal, from stock or made for this run, and the predicted cost.

use std::cell::Cell;
use std::sync::Arc;

use brickwork_base::{Cheat, Error as ProtocolError};
use brickwork_circuit::{Party, Program};
use brickwork_duplo::{
    self as duplo, Duplo, Lacking, Preprocessed, Proposal, ProposalLimits, Request, Step, Stocked,
};
use brickwork_protocol::{Model, Observer, PhaseReport, SessionProtocol};
use brickwork_store::Store;
use brickwork_wire::Channel;
use brickwork_wire::tls::Met;

use super::seam::{EngineProtocol, Only, PreparedRun, RunResult};
use crate::cut::{Cut, CutChoice};
use crate::engine::Observe;
use crate::engine::cuts::{self, PricedCut, Pricing};
use crate::engine::hex;
use crate::engine::meeting::{Offer, Sheet};
use crate::engine::request::RunRequest;
use crate::engine::sessions::{self, Begin};
use crate::engine::stocks::{
    self, FromStock, NextState, OpenForWorkers, OwnStore, ProgramRun, Requested, StockLine, StockOptions,
    StockRequest, Stocks, UngreetedConnection, WantedProgram, next, ran,
};
use crate::engine::work::{PartyWork, RunEstimate, fits_here};
use crate::failure::Error;
use crate::plan;
use crate::plan::Cost;
use crate::program::{gates_within, repeated};
use crate::resources;

/// The proposal of the garbler.
pub struct Proposed {
    pub cut: Cut,
    pub program: Arc<Program>,
    /// The parameters, if all items are made within the run.
    pub parameters: Option<duplo::Parameters>,
    /// The seconds that the evaluator will spend on making this cut.
    seconds: f64,
    /// The bytes of memory that the garbler needs. The next field has the bytes of the evaluator, as far as
    /// they are known.
    pub garbler_memory: Option<u64>,
    pub evaluator_memory: Option<u64>,
}

impl Proposed {
    /// Returns the proposal as it is sent in a sheet.
    pub fn offer(&self) -> Offer {
        Offer {
            cut: self.cut.to_string(),
            program: hex(&self.program.digest()),
            memory: self.evaluator_memory,
        }
    }
}

impl PartyWork<'_> {
    /// Returns the garbler's proposal: a cut that is in stock, or else the best cut for items that are made
    /// within the run.
    pub fn proposal(&self, store: Option<&Store>, estimate: Option<&RunEstimate>) -> Result<Proposed, Error> {
        let PartyWork { request, given, job, .. } = self;
        let (executions, wish) = (self.executions(), &request.cut);
        let Some(RunEstimate { machine, link, rival }) = estimate else {
            let is_there = |program: &Program| -> Result<bool, Error> {
                let Some(store) = store else { return Ok(true) };
                Ok(duplo::in_stock(store, self.party, &job.terms(), &repeated(program, executions)?)?)
            };
            let (cut, program) = match wish {
                CutChoice::Fixed(cut) => (cut.clone(), given.cut(cut, gates_within(self.memory))?),
                CutChoice::Fastest => cuts::in_stock(given, is_there)?,
            };
            let program = Arc::new(repeated(&program, executions)?);
            return Ok(Proposed {
                cut,
                program,
                parameters: None,
                seconds: 0.0,
                garbler_memory: None,
                evaluator_memory: None,
            });
        };
        let (security, buckets) = (job.security, request.buckets);
        let pricing = Pricing { executions, security, buckets, machine, link, rival: *rival };
        let PricedCut { cut, program, parameters, cost, seconds, .. } =
            cuts::choose(wish, given, &pricing, self.memory)?;
        fits_here(&cost, Party::Garbler, request.resources.max_ram)?;
        Ok(Proposed {
            cut,
            program: Arc::new(program),
            parameters: Some(parameters),
            seconds,
            garbler_memory: Some(cost.memory_bytes.garbler),
            evaluator_memory: Some(cost.memory_bytes.evaluator),
        })
    }
}

impl EngineProtocol for Duplo {
    fn model(&self) -> Model {
        Model::Malicious
    }

    fn checks(&self) -> Vec<Cheat> {
        brickwork_duplo::Cheat::ALL.iter().map(|&check| check.into()).collect()
    }

    fn online_from(&self) -> &'static str {
        "evaluate"
    }

    fn allows(&self, request: &RunRequest) -> Result<(), Error> {
        match (request.parameters.linking, &request.cut) {
            (Some(_), _) => Err(Error::usage(
                "--linking has no effect with --protocol duplo: this protocol always solders committed wires",
                "leave --linking out, or give --protocol compgc",
            )),
            (None, CutChoice::Fixed(Cut::Gates)) => Err(Error::usage(
                "--cut gates has no effect with --protocol duplo: this protocol checks components",
                "choose another --cut, or give --protocol jimu",
            )),
            (None, _) => Ok(()),
        }
    }

    fn only_way(&self, _: &Program, _: u32, _: &RunRequest, _: &RunEstimate) -> Result<Option<Only>, Error> {
        Ok(None)
    }

    fn only_way_from_stock(
        &self,
        program: &Program,
        executions: u32,
        request: &RunRequest,
        estimate: &RunEstimate,
    ) -> Result<Option<Only>, Error> {
        let program = match &request.cut {
            CutChoice::Fixed(Cut::Given) | CutChoice::Fastest => repeated(program, Some(executions))?,
            CutChoice::Fixed(cut) => {
                return Err(Error::usage(
                    format!(
                        "--stocked has no effect with --cut {cut}: a run from stock uses the cut of the stock"
                    ),
                    "leave one of the two flags out",
                ));
            }
        };
        let security = request.parameters.security().into();
        let script = duplo::cost::script_from_stock(&program, Some(1), security)?;
        let promised = duplo::cost::stock_parameters(&program, 1, security)?.promise(&program);
        let cost = plan::predict(&script, &estimate.machine, &estimate.link);
        Ok(Some(Only::new(cost, promised)))
    }

    fn priced(
        &self,
        program: &crate::program::Program,
        request: &RunRequest,
        RunEstimate { machine, link, rival }: &RunEstimate,
    ) -> Result<Only, Error> {
        let pricing = Pricing {
            executions: request.parameters.executions,
            security: request.parameters.security(),
            buckets: request.buckets,
            machine,
            link,
            rival: *rival,
        };
        let PricedCut { program, parameters, cost, .. } =
            cuts::choose(&request.cut, program, &pricing, resources::available_bytes())?;
        Ok(Only::new(cost, parameters.promise(&program)))
    }

    fn stocks(&self) -> Option<&dyn Stocks> {
        Some(self)
    }

    fn sessions(&self) -> Option<Begin> {
        Some(sessions::duplo)
    }

    fn program(&self, given: &Program, executions: Option<u32>) -> Result<Program, Error> {
        repeated(given, executions)
    }

    fn ready<'w>(
        &self,
        work: &'w PartyWork<'w>,
        store: Option<Store>,
    ) -> Result<Box<dyn PreparedRun + 'w>, Error> {
        let estimate = if store.is_some() { None } else { Some(RunEstimate::of(work.request)?) };
        let proposal = match work.party {
            Party::Garbler => Some(work.proposal(store.as_ref(), estimate.as_ref())?),
            Party::Evaluator => None,
        };
        Ok(Box::new(DuploParty { work, store, estimate, proposal }))
    }
}

impl Stocks for Duplo {
    fn has(
        &self,
        (store, party, terms): OwnStore,
        (program, ..): WantedProgram,
    ) -> Result<bool, ProtocolError> {
        duplo::in_stock(store, party, terms, program)
    }

    fn without_effect(&self, wishes: &StockOptions) -> Vec<(bool, &'static str, &'static str)> {
        vec![wishes.components_row(), wishes.build_row()]
    }

    fn asked(&self, requested: &[Requested], wishes: &StockOptions) -> Result<StockRequest, Error> {
        let steps = stocks::steps(requested, wishes)?;
        Ok(StockRequest::new(steps.iter().map(Request::to_string).collect(), steps))
    }

    fn open(&self, opening: UngreetedConnection) -> Result<Box<dyn StockLine>, ProtocolError> {
        let UngreetedConnection { party, channel, store, terms, watch, .. } = opening;
        Ok(Box::new(Stocked::open(party, channel, store, terms, watch(Duplo::PHASES))?))
    }

    fn of_workers(&self) -> Option<OpenForWorkers> {
        Some(|workers, UngreetedConnection { party, channel, store, terms, watch, .. }| {
            let purpose = duplo::purpose_of_workers(workers);
            Ok(Box::new(Stocked::open_for(purpose, party, channel, store, terms, watch(Duplo::PHASES))?))
        })
    }
}

impl StockLine for Stocked {
    fn make(self: Box<Self>, asked: &StockRequest) -> NextState<Preprocessed> {
        next(self.preprocess(asked.items::<Vec<Request>>()?))
    }

    fn make_by(
        self: Box<Self>,
        asked: &StockRequest,
        workers: Vec<Channel>,
        makers: Vec<Channel>,
    ) -> NextState<(Preprocessed, Vec<Vec<PhaseReport>>)> {
        let (done, phases, line) =
            self.preprocess_by_makers(asked.items::<Vec<Request>>()?, workers, makers)?;
        Ok(((done, phases), Box::new(line)))
    }

    fn run(self: Box<Self>, run: &ProgramRun, input: &[bool], lacking: Lacking) -> NextState<FromStock> {
        ran(Stocked::run(*self, run.program, input, lacking), |made| made.to_string())
    }

    fn step(self: Box<Self>, step: &Step, input: &[bool], lacking: Lacking) -> NextState<FromStock> {
        ran(Stocked::run(*self, step.clone(), input, lacking), |made| made.to_string())
    }

    fn close(self: Box<Self>) -> Result<Vec<PhaseReport>, ProtocolError> {
        Stocked::close(*self)
    }
}

/// Returns the evaluator's program with all executions, in the cut that the garbler names.
///
/// # Errors
/// [`ProtocolError::Mismatch`] if this party wants another cut, or cannot make the garbler's cut.
fn accept(work: &PartyWork, name: &str, executions: Option<u32>) -> Result<Arc<Program>, ProtocolError> {
    let refused =
        |why: String| ProtocolError::Mismatch(format!("the garbler proposes the cut {name:?}: {why}"));
    let cut = Cut::of_name(name).map_err(refused)?;
    match &work.request.cut {
        CutChoice::Fixed(own) if *own != cut => Err(refused(format!("this party wants --cut {own}"))),
        _ => {
            let made = work.given.cut(&cut, gates_within(work.memory));
            let made = made.and_then(|program| repeated(&program, executions));
            made.map(Arc::new).map_err(|error| refused(error.to_string()))
        }
    }
}

/// A party that is ready to run.
struct DuploParty<'w> {
    work: &'w PartyWork<'w>,
    store: Option<Store>,
    /// The estimate, if all items are made within the run.
    estimate: Option<RunEstimate>,
    /// The garbler's proposal.
    proposal: Option<Proposed>,
}

impl PreparedRun for DuploParty<'_> {
    fn offer(&self) -> Option<Offer> {
        self.proposal.as_ref().map(Proposed::offer)
    }

    fn compare(&self, own: &Sheet, met: &mut Met) -> Result<String, ProtocolError> {
        self.work.compare(
            own,
            met,
            self.proposal.as_ref().map(|proposed| &proposed.program),
            self.store.as_ref(),
        )
    }

    fn run(&mut self, channel: Channel, input: &[bool], watch: &Observe) -> Result<RunResult, ProtocolError> {
        let observer = watch(Duplo::PHASES);
        match self.work.party {
            Party::Garbler => self.garble(channel, input, observer),
            Party::Evaluator => self.evaluate(channel, input, observer),
        }
    }
}

impl DuploParty<'_> {
    fn garble(
        &mut self,
        channel: Channel,
        input: &[bool],
        observer: Box<dyn Observer>,
    ) -> Result<RunResult, ProtocolError> {
        let DuploParty { work, store, proposal, .. } = self;
        let Some(Proposed { cut, program, parameters, seconds, .. }) = proposal else {
            return Err(ProtocolError::Usage("the garbler has no proposal".into()));
        };
        match (store, parameters) {
            (None, Some(parameters)) => {
                let proposal = Proposal { program: program.clone(), parameters: parameters.clone() };
                let report = Duplo::garbler(channel, &work.job, &proposal, input, observer)?;
                let (cut, seconds) = (cut.clone(), *seconds);
                self.at_once(report, cut, seconds)
            }
            (Some(store), _) => {
                let session = Stocked::open_proposing(
                    channel,
                    store,
                    &work.job.terms(),
                    program,
                    &cut.name(),
                    observer,
                )?;
                from_stock(work, session, cut.clone(), program.clone(), input)
            }
            (None, None) => Err(ProtocolError::Usage("the garbler has neither a store nor a plan".into())),
        }
    }

    fn evaluate(
        &mut self,
        channel: Channel,
        input: &[bool],
        observer: Box<dyn Observer>,
    ) -> Result<RunResult, ProtocolError> {
        let work = self.work;
        let (cutting, executions) = (Cell::new(0.0), work.executions());
        let decompose = |name: &str| {
            let begun = resources::cpu_seconds();
            let program = accept(work, name, executions);
            cutting.set(resources::cpu_seconds() - begun);
            program
        };
        let cut = |name: &str| Cut::of_name(name).map_err(ProtocolError::Mismatch);
        match &mut self.store {
            Some(store) => {
                let session = Stocked::open(work.party, channel, store, &work.job.terms(), observer)?;
                let (program, name) = session.proposed(&work.job.program, Some(&decompose))?;
                from_stock(work, session, cut(&name)?, program, input)
            }
            None => {
                let limits = ProposalLimits { memory_bytes: work.memory, decompose: Some(&decompose) };
                let report = Duplo::evaluator(channel, &work.job, &limits, input, observer)?;
                let cut = cut(&report.proposal.parameters.decomposition)?;
                self.at_once(report, cut, cutting.get())
            }
        }
    }

    /// Returns the result of a run without stock. Making the cut took `cutting` seconds.
    fn at_once(&self, report: duplo::Report, cut: Cut, cutting: f64) -> Result<RunResult, ProtocolError> {
        let estimate = self.estimate.as_ref();
        Ok(RunResult {
            cut,
            and_gates: report.proposal.program.and_gates(),
            predicted: estimate.map(|estimate| predicted(estimate, &report.proposal, cutting)),
            promise: report.promise,
            outputs: report.outputs,
            phases: report.phases,
            recovered: report.aside.recovered,
            made: None,
        })
    }
}

/// Returns the predicted cost of this proposal, including the seconds for making the cut.
fn predicted(estimate: &RunEstimate, Proposal { program, parameters }: &Proposal, cutting: f64) -> Cost {
    let cost = duplo::cost::predict(program, parameters, &estimate.machine, &estimate.link);
    cost.with_work("preprocess", cutting)
}

/// Runs the program on stock.
fn from_stock(
    work: &PartyWork,
    session: Stocked,
    cut: Cut,
    program: Arc<Program>,
    input: &[bool],
) -> Result<RunResult, ProtocolError> {
    let (done, session) = session.expect(&program)?.run(&program, input, work.request.lacking)?;
    let duplo::FromStock { outputs, kept: _, recovered, promise, made } = done;
    let made = Some(made.map(|made| made.to_string()));
    let (and_gates, phases) = (program.and_gates(), session.close()?);
    Ok(RunResult { cut, and_gates, outputs, phases, promise, predicted: None, recovered, made })
}
