//! CompGC in the engine: for parties that trust each other to follow the protocol. Most of the work is done
//! before the inputs are known.

use brickwork_base::{Cheat, Error as ProtocolError};
use brickwork_circuit::Program;
use brickwork_compgc::{self as compgc, CompGc, Lacking, Preprocessed, Stocked, WARNING};
use brickwork_duplo as duplo;
use brickwork_protocol::{Model, PhaseReport, SessionProtocol};
use brickwork_store::Store;

use super::seam::{EngineProtocol, Only, PreparedRun, ReadyParty, says_nothing};
use crate::cut::{Cut, CutChoice};
use crate::engine::request::{AgreedParameters, BucketChoice, RunRequest};
use crate::engine::stocks::{
    self, FromStock, NextState, OwnStore, ProgramRun, Requested, StockLine, StockOptions, StockRequest,
    Stocks, UngreetedConnection, WantedProgram, next, ran,
};
use crate::engine::work::{PartyWork, RunEstimate, fits_here};
use crate::failure::Error;
use crate::program::repeated;

impl EngineProtocol for CompGc {
    fn model(&self) -> Model {
        Model::SemiHonest
    }

    fn warning(&self) -> Option<&'static str> {
        Some(WARNING)
    }

    fn checks(&self) -> Vec<Cheat> {
        compgc::Cheat::ALL.iter().map(|&check| check.into()).collect()
    }

    fn online_from(&self) -> &'static str {
        "prepare"
    }

    fn way(&self, parameters: &AgreedParameters) -> String {
        format!(" --linking {}", parameters.linking().name())
    }

    fn ways(&self, wishes: &AgreedParameters) -> Vec<AgreedParameters> {
        compgc::Linking::ALL
            .map(|linking| AgreedParameters { linking: Some(linking), ..wishes.clone() })
            .into()
    }

    fn allows(&self, request: &RunRequest) -> Result<(), Error> {
        let parameters = &request.parameters;
        let nothing = [
            (
                parameters.security.is_some(),
                "--security",
                "this protocol opens and checks nothing, so it has no bound 2^-S",
            ),
            (parameters.commitments, "--commitments", "this protocol has no commitments"),
            (request.buckets == BucketChoice::Standard, "--buckets", "this protocol has no buckets"),
            (
                !matches!(request.cut, CutChoice::Fastest | CutChoice::Fixed(Cut::Given)),
                "--cut",
                "this protocol always garbles the components of the file",
            ),
            (request.resources.lanes > 1, "--lanes", "this protocol uses one connection only"),
            (request.notes_recovery, "--recovery-notes", "this protocol could not detect a cheating garbler"),
            (request.drawn, "--svg", "this protocol has no choice that a figure could show"),
        ];
        says_nothing(CompGc::NAME, &nothing)?;
        let linking = parameters.linking();
        if request.stored && linking != compgc::Linking::Standard {
            return Err(Error::usage(
                format!(
                    "--store has no effect with --linking {}: {}, so a store has nothing to keep",
                    linking.name(),
                    linking.garbled(),
                ),
                "give --linking standard, which garbles components for any program, or leave --store out",
            ));
        }
        Ok(())
    }

    fn only_way(
        &self,
        program: &Program,
        executions: u32,
        request: &RunRequest,
        estimate: &RunEstimate,
    ) -> Result<Option<Only>, Error> {
        let linking = request.parameters.linking();
        let program = repeated(program, Some(executions))?;
        let cost = compgc::cost::predict(&program, linking, &estimate.machine, &estimate.link)?;
        Ok(Some(Only::new(cost, compgc::promise(linking))))
    }

    fn only_way_from_stock(
        &self,
        program: &Program,
        executions: u32,
        _: &RunRequest,
        estimate: &RunEstimate,
    ) -> Result<Option<Only>, Error> {
        let program = repeated(program, Some(executions))?;
        // The prediction assumes that both stores share one part, because items that earlier runs left are
        // used first.
        let cost = compgc::cost::predict_from_stock(&program, 1, &estimate.machine, &estimate.link)?;
        Ok(Some(Only::new(cost, compgc::promise(compgc::Linking::Standard))))
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
        let cost =
            compgc::cost::predict(&work.job.program, work.request.parameters.linking(), &machine, &link)?;
        fits_here(&cost, work.party, work.request.resources.max_ram)?;
        // A run from stock has no predicted bytes, because they depend on what remains in the store.
        let predicted = store.is_none().then_some(cost);
        let linking = work.request.parameters.linking();
        Ok(Box::new(ReadyParty::<CompGc, _> {
            work,
            proposal: linking,
            limits: linking,
            cut: Cut::Given,
            executions: 1,
            predicted,
            recovered: |()| false,
            stock: store,
        }))
    }
}

impl Stocks for CompGc {
    fn has(
        &self,
        (store, party, terms): OwnStore,
        (program, ..): WantedProgram,
    ) -> Result<bool, ProtocolError> {
        compgc::in_stock(store, party, terms, program)
    }

    fn has_levels(&self) -> bool {
        false
    }

    fn without_effect(&self, wishes: &StockOptions) -> Vec<(bool, &'static str, &'static str)> {
        vec![wishes.components_row(), wishes.build_row()]
    }

    fn asked(&self, requested: &[Requested], wishes: &StockOptions) -> Result<StockRequest, Error> {
        let mut all = compgc::Request::default();
        for duplo::Request { components, ots, .. } in stocks::steps(requested, wishes)? {
            components.iter().for_each(|(component, count)| all.add(component, *count));
            all.ots += ots.unwrap_or(0);
        }
        stocks::not_too_many(all.ots)?;
        let promise = Some(compgc::promise(compgc::Linking::Standard));
        Ok(StockRequest { promise, ..StockRequest::new(vec![format!("{all} for compgc runs")], all) })
    }

    fn open(&self, opening: UngreetedConnection) -> Result<Box<dyn StockLine>, ProtocolError> {
        let UngreetedConnection { party, channel, store, terms, watch, .. } = opening;
        Ok(Box::new(Stocked::open(party, channel, store, terms, watch(CompGc::PHASES))?))
    }
}

impl StockLine for Stocked {
    fn make(self: Box<Self>, asked: &StockRequest) -> NextState<Preprocessed> {
        next(self.preprocess(asked.items()?))
    }

    fn run(self: Box<Self>, run: &ProgramRun, input: &[bool], lacking: Lacking) -> NextState<FromStock> {
        ran(Stocked::run(*self, run.program, input, lacking), |made| made.to_string())
    }

    fn close(self: Box<Self>) -> Result<Vec<PhaseReport>, ProtocolError> {
        Stocked::close(*self)
    }
}
