//! Yao's protocol with half-gates in the engine: for parties that trust each other to follow the protocol.

use brickwork_base::{Cheat, Error as ProtocolError};
use brickwork_circuit::Program;
use brickwork_protocol::{Model, PhaseReport, SessionProtocol};
use brickwork_report::words::plural;
use brickwork_semi_honest::{
    self as semi_honest, Executions, Lacking, Ots, Preprocessed, SemiHonest, Stocked, WARNING,
};
use brickwork_store::Store;

use super::seam::{EngineProtocol, Only, PreparedRun, ReadyParty, says_nothing};
use crate::cut::{Cut, CutChoice};
use crate::engine::request::{BucketChoice, RunRequest};
use crate::engine::stocks::{
    self, FromStock, NextState, OwnStore, ProgramRun, Requested, StockLine, StockOptions, StockRequest,
    Stocks, UngreetedConnection, WantedProgram, next, ran,
};
use crate::engine::work::{PartyWork, RunEstimate, fits_here};
use crate::failure::Error;

/// Returns the price of a run with OTs from this source.
fn only_way(
    program: &Program,
    executions: u32,
    ots: Ots,
    RunEstimate { machine, link, .. }: &RunEstimate,
) -> Result<Option<Only>, Error> {
    let cost = semi_honest::cost::predict(program, executions as usize, ots, machine, link)?;
    Ok(Some(Only::new(cost, semi_honest::promise())))
}

/// The prediction for a run from a store assumes that both stores share the OTs of exactly one epoch.
const ONE_PART: Ots = Ots::Stocked { epochs: 1 };

impl EngineProtocol for SemiHonest {
    fn model(&self) -> Model {
        Model::SemiHonest
    }

    fn warning(&self) -> Option<&'static str> {
        Some(WARNING)
    }

    fn checks(&self) -> Vec<Cheat> {
        brickwork_semi_honest::Cheat::ALL.iter().map(|&check| check.into()).collect()
    }

    fn online_from(&self) -> &'static str {
        "prepare"
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
            (parameters.linking.is_some(), "--linking", "this protocol garbles the program as a whole"),
            (request.buckets == BucketChoice::Standard, "--buckets", "this protocol has no buckets"),
            (
                !matches!(request.cut, CutChoice::Fastest | CutChoice::Fixed(Cut::Given)),
                "--cut",
                "this protocol garbles every gate once, so a cut changes nothing",
            ),
            (request.resources.lanes > 1, "--lanes", "this protocol uses one connection only"),
            (request.notes_recovery, "--recovery-notes", "this protocol could not detect a cheating garbler"),
            (request.drawn, "--svg", "this protocol has no choice that a figure could show"),
        ];
        says_nothing(SemiHonest::NAME, &nothing)
    }

    fn only_way(
        &self,
        program: &Program,
        executions: u32,
        _: &RunRequest,
        estimate: &RunEstimate,
    ) -> Result<Option<Only>, Error> {
        only_way(program, executions, Ots::Made, estimate)
    }

    fn only_way_from_stock(
        &self,
        program: &Program,
        executions: u32,
        _: &RunRequest,
        estimate: &RunEstimate,
    ) -> Result<Option<Only>, Error> {
        only_way(program, executions, ONE_PART, estimate)
    }

    fn stocks(&self) -> Option<&dyn Stocks> {
        Some(self)
    }

    fn program(&self, given: &Program, _: Option<u32>) -> Result<Program, Error> {
        // The job contains the program once: executions are streamed, so memory does not grow with their
        // number.
        Ok(given.clone())
    }

    fn ready<'w>(
        &self,
        work: &'w PartyWork<'w>,
        store: Option<Store>,
    ) -> Result<Box<dyn PreparedRun + 'w>, Error> {
        let estimate = RunEstimate::of(work.request)?;
        let executions = work.executions().unwrap_or(1) as usize;
        let ots = if store.is_some() { ONE_PART } else { Ots::Made };
        let RunEstimate { machine, link, .. } = &estimate;
        let cost = semi_honest::cost::predict(&work.job.program, executions, ots, machine, link)?;
        fits_here(&cost, work.party, work.request.resources.max_ram)?;
        Ok(Box::new(ReadyParty::<SemiHonest, _> {
            work,
            proposal: Executions(executions),
            limits: Executions(executions),
            cut: Cut::Given,
            executions: executions as u64,
            predicted: Some(cost),
            recovered: |()| false,
            stock: store,
        }))
    }
}

impl Stocks for SemiHonest {
    fn has(
        &self,
        (store, party, terms): OwnStore,
        (program, executions, _): WantedProgram,
    ) -> Result<bool, ProtocolError> {
        semi_honest::in_stock(store, party, terms, program, executions as usize)
    }

    fn has_levels(&self) -> bool {
        false
    }

    fn without_effect(&self, wishes: &StockOptions) -> Vec<(bool, &'static str, &'static str)> {
        vec![
            wishes.cut_row("the stock of this protocol has OTs"),
            (wishes.no_inputs, "--no-inputs", "the stock of this protocol has OTs only"),
            (wishes.no_ots, "--no-ots", "the stock of this protocol has OTs only"),
            wishes.build_row(),
        ]
    }

    /// Counts the OTs that the executions of these programs use.
    fn asked(&self, requested: &[Requested], _: &StockOptions) -> Result<StockRequest, Error> {
        let mut all = 0usize;
        for Requested { file, program, name, count } in requested {
            if let Some(name) = name {
                return Err(Error::usage(
                    format!("{file}:{name}: no component is made ahead of time with --protocol semi-honest"),
                    "give FILE=COUNT to make the OTs for COUNT executions of the program",
                ));
            }
            // The executions are counted one by one, because each may be a run of its own.
            let more = semi_honest::ots(program, 1)?.saturating_mul(*count as usize);
            all = stocks::not_too_many(all.saturating_add(more))?;
        }
        let words = vec![format!("{} for semi-honest runs", plural(all as u64, "OT"))];
        Ok(StockRequest { promise: Some(semi_honest::promise()), ..StockRequest::new(words, all) })
    }

    fn open(&self, opening: UngreetedConnection) -> Result<Box<dyn StockLine>, ProtocolError> {
        let UngreetedConnection { party, channel, store, terms, watch, .. } = opening;
        Ok(Box::new(Stocked::open(party, channel, store, terms, watch(SemiHonest::PHASES))?))
    }
}

impl StockLine for Stocked {
    fn make(self: Box<Self>, asked: &StockRequest) -> NextState<Preprocessed> {
        next(self.preprocess(*asked.items()?))
    }

    fn run(self: Box<Self>, run: &ProgramRun, input: &[bool], lacking: Lacking) -> NextState<FromStock> {
        ran(Stocked::run(*self, run.program, run.executions as usize, input, lacking), |made| {
            plural(made as u64, "OT")
        })
    }

    fn close(self: Box<Self>) -> Result<Vec<PhaseReport>, ProtocolError> {
        Stocked::close(*self)
    }
}
