//! Yao's protocol with half-gates in the engine: for parties that trust each other to follow the protocol.

use brickwork_base::Error as ProtocolError;
use brickwork_circuit::Program;
use brickwork_report::words::plural;
use brickwork_semi_honest::{
    self as semi_honest, Executions, Lacking, Ots, Preprocessed, SemiHonest, Stocked, WARNING,
};
use brickwork_session::{Model, PhaseReport, Protocol};
use brickwork_stock::Store;

use super::seam::{Member, Only, Played, Ready, says_nothing};
use crate::cut::{Cut, CutChoice};
use crate::engine::request::{Buckets, RunRequest};
use crate::engine::stocks::{
    self, Asked, FromStock, Next, Opening, OwnStore, ProgramRun, Requested, StockLine, Stocks, Wanted,
    Wishes, next, ran,
};
use crate::engine::work::{Estimate, Work, fits_here};
use crate::failure::Error;

/// Returns the price of a run with OTs from this source.
fn only_way(
    program: &Program,
    executions: u32,
    ots: Ots,
    Estimate { machine, link, .. }: &Estimate,
) -> Result<Option<Only>, Error> {
    let cost = semi_honest::cost::predict(program, executions as usize, ots, machine, link)?;
    Ok(Some(Only::new(cost, semi_honest::promise())))
}

/// The prediction of a run from a store assumes that both stores share the OTs of one epoch only.
const ONE_PART: Ots = Ots::Stocked { epochs: 1 };

impl Played for SemiHonest {
    fn model(&self) -> Model {
        Model::SemiHonest
    }

    fn warning(&self) -> Option<&'static str> {
        Some(WARNING)
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
                "nothing is opened and checked, so there is no 2^-S",
            ),
            (parameters.commitments, "--commitments", "nothing is committed to"),
            (parameters.linking.is_some(), "--linking", "the program is garbled as a whole"),
            (request.buckets == Buckets::Standard, "--buckets", "there are no buckets"),
            (
                !matches!(request.cut, CutChoice::Fastest | CutChoice::Fixed(Cut::Given)),
                "--cut",
                "every gate is garbled once, in whatever component it lies",
            ),
            (request.resources.lanes > 1, "--lanes", "it streams over one connection"),
            (request.notes_recovery, "--recovery-notes", "no cheat of the garbler's would be seen"),
            (request.drawn, "--svg", "there is nothing to choose"),
        ];
        says_nothing(SemiHonest::NAME, &nothing)
    }

    fn only_way(
        &self,
        program: &Program,
        executions: u32,
        _: &RunRequest,
        estimate: &Estimate,
    ) -> Result<Option<Only>, Error> {
        only_way(program, executions, Ots::Made, estimate)
    }

    fn only_way_from_stock(
        &self,
        program: &Program,
        executions: u32,
        _: &RunRequest,
        estimate: &Estimate,
    ) -> Result<Option<Only>, Error> {
        only_way(program, executions, ONE_PART, estimate)
    }

    fn stocks(&self) -> Option<&dyn Stocks> {
        Some(self)
    }

    fn program(&self, given: &Program, _: Option<u32>) -> Result<Program, Error> {
        // The program is given once: executions are streamed, so memory does not grow with their number.
        Ok(given.clone())
    }

    fn ready<'w>(&self, work: &'w Work<'w>, store: Option<Store>) -> Result<Box<dyn Ready + 'w>, Error> {
        let estimate = Estimate::of(work.request)?;
        let executions = work.executions().unwrap_or(1) as usize;
        let ots = if store.is_some() { ONE_PART } else { Ots::Made };
        let Estimate { machine, link, .. } = &estimate;
        let cost = semi_honest::cost::predict(&work.job.program, executions, ots, machine, link)?;
        fits_here(&cost, work.party, work.request.resources.max_ram)?;
        Ok(Box::new(Member::<SemiHonest, _> {
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
        (program, executions, _): Wanted,
    ) -> Result<bool, ProtocolError> {
        semi_honest::in_stock(store, party, terms, program, executions as usize)
    }

    fn has_levels(&self) -> bool {
        false
    }

    fn without_effect(&self, wishes: &Wishes) -> Vec<(bool, &'static str, &'static str)> {
        vec![
            wishes.cut_row("its stock is of OTs"),
            (wishes.no_inputs, "--no-inputs", "OTs are all that is made"),
            (wishes.no_ots, "--no-ots", "OTs are all that is made"),
            wishes.build_row(),
        ]
    }

    /// Counts the OTs that the executions of these programs use.
    fn asked(&self, requested: &[Requested], _: &Wishes) -> Result<Asked, Error> {
        let mut all = 0usize;
        for Requested { file, program, name, count } in requested {
            if let Some(name) = name {
                return Err(Error::usage(
                    format!("{file}:{name}: no component is made ahead of time with --protocol semi-honest"),
                    "give FILE=COUNT: the OTs of so many executions of the program are made",
                ));
            }
            // The executions are counted one by one, because each may be a run of its own.
            let more = semi_honest::ots(program, 1)?.saturating_mul(*count as usize);
            all = stocks::not_too_many(all.saturating_add(more))?;
        }
        let words = vec![format!("{} for semi-honest runs", plural(all as u64, "OT"))];
        Ok(Asked { promise: Some(semi_honest::promise()), ..Asked::new(words, all) })
    }

    fn open(&self, opening: Opening) -> Result<Box<dyn StockLine>, ProtocolError> {
        let Opening { party, channel, store, terms, watch, .. } = opening;
        Ok(Box::new(Stocked::open(party, channel, store, terms, watch(SemiHonest::PHASES))?))
    }
}

impl StockLine for Stocked {
    fn make(self: Box<Self>, asked: &Asked) -> Next<Preprocessed> {
        next(self.preprocess(*asked.items()?))
    }

    fn run(self: Box<Self>, run: &ProgramRun, input: &[bool], lacking: Lacking) -> Next<FromStock> {
        ran(Stocked::run(*self, run.program, run.executions as usize, input, lacking), |made| {
            plural(made as u64, "OT")
        })
    }

    fn close(self: Box<Self>) -> Result<Vec<PhaseReport>, ProtocolError> {
        Stocked::close(*self)
    }
}
