//! LEGO in the engine: secure against a cheater. It garbles AND gates that fit any program.

use std::num::NonZeroU32;

use brickwork_base::{Cheat, Error as ProtocolError};
use brickwork_circuit::{Component, Program};
use brickwork_duplo as duplo;
use brickwork_lego::{self as lego, Lacking, Lego, Preprocessed, Stocked};
use brickwork_protocol::{Model, PhaseReport, SessionProtocol};
use brickwork_store::Store;

use super::seam::{EngineProtocol, Only, PreparedRun, ReadyParty, says_nothing};
use crate::cut::{Cut, CutChoice};
use crate::engine::request::{BucketChoice, RunRequest};
use crate::engine::stocks::{
    self, FromStock, NextState, OwnStore, ProgramRun, Requested, StockLine, StockOptions, StockRequest,
    Stocks, UngreetedConnection, WantedProgram, ran,
};
use crate::engine::work::{PartyWork, RunEstimate, fits_here};
use crate::failure::Error;
use crate::program::repeated;

impl EngineProtocol for Lego {
    fn model(&self) -> Model {
        Model::Malicious
    }

    fn checks(&self) -> Vec<Cheat> {
        lego::Cheat::ALL.iter().map(|&check| check.into()).collect()
    }

    fn online_from(&self) -> &'static str {
        "evaluate"
    }

    fn allows(&self, request: &RunRequest) -> Result<(), Error> {
        let nothing = [
            (
                request.parameters.linking.is_some(),
                "--linking",
                "this protocol always solders committed wires",
            ),
            (
                request.buckets == BucketChoice::Standard,
                "--buckets",
                "this protocol always takes the buckets with the fewest bytes",
            ),
            (
                !matches!(request.cut, CutChoice::Fastest | CutChoice::Fixed(Cut::Given)),
                "--cut",
                "this protocol garbles every AND gate by itself, so a cut changes nothing",
            ),
            (request.resources.lanes > 1, "--lanes", "this protocol uses one connection only"),
            (request.drawn, "--svg", "this protocol has no choice that a figure could show"),
        ];
        says_nothing(Lego::NAME, &nothing)
    }

    fn only_way(
        &self,
        program: &Program,
        executions: u32,
        request: &RunRequest,
        estimate: &RunEstimate,
    ) -> Result<Option<Only>, Error> {
        let program = repeated(program, Some(executions))?;
        let parameters = lego::parameters(&program, request.parameters.security())?;
        let cost = lego::cost::predict(&program, &parameters, &estimate.machine, &estimate.link)?;
        Ok(Some(Only::new(cost, parameters.promise())))
    }

    fn only_way_from_stock(
        &self,
        program: &Program,
        executions: u32,
        request: &RunRequest,
        estimate: &RunEstimate,
    ) -> Result<Option<Only>, Error> {
        let program = repeated(program, Some(executions))?;
        let security = request.parameters.security();
        let RunEstimate { machine, link, .. } = estimate;
        let stock = lego::cost::GateSource::Gates { epochs: 1 };
        let cost = lego::cost::predict_from_stock(&program, stock, security, machine, link)?;
        Ok(Some(Only::new(cost, lego::stock_promise(&program, security)?)))
    }

    fn stocks(&self) -> Option<&dyn Stocks> {
        Some(self)
    }

    fn program(&self, given: &Program, executions: Option<u32>) -> Result<Program, Error> {
        repeated(given, executions)
    }

    fn ready<'w>(
        &self,
        work: &'w PartyWork<'w>,
        store: Option<Store>,
    ) -> Result<Box<dyn PreparedRun + 'w>, Error> {
        let RunEstimate { machine, link, .. } = RunEstimate::of(work.request)?;
        let parameters = lego::parameters(&work.job.program, work.job.security)?;
        let cost = lego::cost::predict(&work.job.program, &parameters, &machine, &link)?;
        fits_here(&cost, work.party, work.request.resources.max_ram)?;
        // A run from stock has no predicted bytes, because they depend on what remains in the store.
        let predicted = store.is_none().then_some(cost);
        Ok(Box::new(ReadyParty::<Lego, ()> {
            work,
            proposal: parameters,
            limits: (),
            cut: Cut::Given,
            executions: 1,
            predicted,
            recovered: |aside| aside.recovered,
            stock: store,
        }))
    }
}

impl Stocks for Lego {
    fn has(
        &self,
        (store, party, terms): OwnStore,
        (program, ..): WantedProgram,
    ) -> Result<bool, ProtocolError> {
        lego::in_stock(store, party, terms, program)
    }

    fn without_effect(&self, wishes: &StockOptions) -> Vec<(bool, &'static str, &'static str)> {
        vec![wishes.cut_row("the stock of this protocol has AND gates")]
    }

    fn asked(&self, requested: &[Requested], wishes: &StockOptions) -> Result<StockRequest, Error> {
        let mut all = lego::Request::default();
        for duplo::Request { components, garbler_wires, ots } in stocks::steps(requested, wishes)? {
            let ands = |(component, count): &(Component, usize)| component.circuit.and_gates() * count;
            let gates = components.iter().map(ands).sum::<usize>() as u64;
            let (inputs, ots) = (garbler_wires as u64, ots.unwrap_or(0) as u64);
            all = all.and(&lego::Request { gates, inputs, ots })?;
        }
        if all.is_empty() {
            return Err(stocks::without_gates());
        }
        let programs = built(requested, wishes)?;
        let words = programs.iter().map(|(program, n)| format!("{n} x {}, built", program.name()));
        let words = std::iter::once(format!("{all} for lego runs")).chain(words).collect();
        Ok(StockRequest::new(words, GatesAndPrograms(all, programs)))
    }

    fn open(&self, opening: UngreetedConnection) -> Result<Box<dyn StockLine>, ProtocolError> {
        let UngreetedConnection { party, channel, store, terms, watch, .. } = opening;
        Ok(Box::new(Stocked::open(party, channel, store, terms, watch(Lego::PHASES))?))
    }
}

/// Gates, and programs that are built from them, with their numbers of executions.
struct GatesAndPrograms(lego::Request, Vec<(Program, u32)>);

/// Returns the programs to build from gates, with their numbers of executions.
fn built(requested: &[Requested], wishes: &StockOptions) -> Result<Vec<(Program, u32)>, Error> {
    let mut programs = Vec::new();
    for Requested { file, program, name, count } in requested {
        let Some(executions) = wishes.build.map(NonZeroU32::get) else { break };
        let whole = name.is_none() && !wishes.no_inputs && !wishes.no_ots;
        if !whole || !count.is_multiple_of(executions) {
            return Err(Error::usage(
                format!(
                    "--build={executions} makes whole programs, but the requested count {count} of {} is \
                     not a multiple of it",
                    file
                ),
                "give FILE=COUNT with a COUNT that is a multiple of the executions of a run, and leave out \
                 --no-inputs and --no-ots",
            ));
        }
        // This is how a run makes its program: for one execution it is the program itself.
        let program = repeated(program, (executions > 1).then_some(executions))?;
        programs.push((program, count / executions));
    }
    Ok(programs)
}

impl StockLine for Stocked {
    fn make(self: Box<Self>, asked: &StockRequest) -> NextState<Preprocessed> {
        let GatesAndPrograms(request, programs) = asked.items()?;
        let (done, mut line) = self.preprocess(request)?;
        for (program, count) in programs {
            for _ in 0..*count {
                line = line.build(program, Lacking::Refuse)?.1;
            }
        }
        Ok((done, Box::new(line)))
    }

    fn run(self: Box<Self>, run: &ProgramRun, input: &[bool], lacking: Lacking) -> NextState<FromStock> {
        ran(Stocked::run(*self, run.program, input, lacking), |made| made.to_string())
    }

    fn close(self: Box<Self>) -> Result<Vec<PhaseReport>, ProtocolError> {
        Stocked::close(*self)
    }
}
