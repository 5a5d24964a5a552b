//! CompGC in the engine: for parties that trust each other to follow the protocol. Most of the work is done
//! before the inputs are known.

use brickwork_base::Error as ProtocolError;
use brickwork_circuit::Program;
use brickwork_compgc::{self as compgc, CompGc, Lacking, Preprocessed, Stocked, WARNING};
use brickwork_duplo as duplo;
use brickwork_session::{Model, PhaseReport, Protocol};
use brickwork_stock::Store;

use super::seam::{Member, Only, Played, Ready, says_nothing};
use crate::cut::{Cut, CutChoice};
use crate::engine::request::{Buckets, Parameters, RunRequest};
use crate::engine::stocks::{
    self, Asked, FromStock, Next, Opening, OwnStore, ProgramRun, Requested, StockLine, Stocks, Wanted,
    Wishes, next, ran,
};
use crate::engine::work::{Estimate, Work, fits_here};
use crate::failure::Error;
use crate::program::repeated;

impl Played for CompGc {
    fn model(&self) -> Model {
        Model::SemiHonest
    }

    fn warning(&self) -> Option<&'static str> {
        Some(WARNING)
    }

    fn online_from(&self) -> &'static str {
        "prepare"
    }

    fn way(&self, parameters: &Parameters) -> String {
        format!(" --linking {}", parameters.linking().name())
    }

    fn ways(&self, wishes: &Parameters) -> Vec<Parameters> {
        compgc::Linking::ALL.map(|linking| Parameters { linking: Some(linking), ..wishes.clone() }).into()
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
            (request.buckets == Buckets::Standard, "--buckets", "there are no buckets"),
            (
                !matches!(request.cut, CutChoice::Fastest | CutChoice::Fixed(Cut::Given)),
                "--cut",
                "what is garbled and linked are the components of the file",
            ),
            (request.resources.lanes > 1, "--lanes", "it sends over one connection"),
            (request.notes_recovery, "--recovery-notes", "no cheat of the garbler's would be seen"),
            (request.drawn, "--svg", "there is nothing to choose"),
        ];
        says_nothing(CompGc::NAME, &nothing)?;
        let linking = parameters.linking();
        if request.stored && linking != compgc::Linking::Standard {
            return Err(Error::usage(
                format!(
                    "--store has no effect with --linking {}: {}, so there is nothing that a store could \
                     hold for any program",
                    linking.name(),
                    linking.garbled(),
                ),
                "take --linking standard, whose components are garbled for any program, or leave --store out",
            ));
        }
        Ok(())
    }

    fn only_way(
        &self,
        program: &Program,
        executions: u32,
        request: &RunRequest,
        estimate: &Estimate,
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
        estimate: &Estimate,
    ) -> Result<Option<Only>, Error> {
        let program = repeated(program, Some(executions))?;
        // The prediction assumes one part that both stores share, because leftovers of earlier runs are used
        // first.
        let cost = compgc::cost::predict_from_stock(&program, 1, &estimate.machine, &estimate.link)?;
        Ok(Some(Only::new(cost, compgc::promise(compgc::Linking::Standard))))
    }

    fn stocks(&self) -> Option<&dyn Stocks> {
        Some(self)
    }

    fn program(&self, given: &Program, executions: Option<u32>) -> Result<Program, Error> {
        repeated(given, executions)
    }

    fn ready<'w>(&self, work: &'w Work<'w>, store: Option<Store>) -> Result<Box<dyn Ready + 'w>, Error> {
        let Estimate { machine, link, .. } = Estimate::of(work.request)?;
        let cost =
            compgc::cost::predict(&work.job.program, work.request.parameters.linking(), &machine, &link)?;
        fits_here(&cost, work.party, work.request.resources.max_ram)?;
        // A run from stock has no predicted bytes, because they depend on what remains in the store.
        let predicted = store.is_none().then_some(cost);
        let linking = work.request.parameters.linking();
        Ok(Box::new(Member::<CompGc, _> {
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
    fn has(&self, (store, party, terms): OwnStore, (program, ..): Wanted) -> Result<bool, ProtocolError> {
        compgc::in_stock(store, party, terms, program)
    }

    fn has_levels(&self) -> bool {
        false
    }

    fn without_effect(&self, wishes: &Wishes) -> Vec<(bool, &'static str, &'static str)> {
        vec![wishes.components_row(), wishes.build_row()]
    }

    fn asked(&self, requested: &[Requested], wishes: &Wishes) -> Result<Asked, Error> {
        let mut all = compgc::Request::default();
        for duplo::Request { components, ots, .. } in stocks::steps(requested, wishes)? {
            components.iter().for_each(|(component, count)| all.add(component, *count));
            all.ots += ots.unwrap_or(0);
        }
        stocks::not_too_many(all.ots)?;
        let promise = Some(compgc::promise(compgc::Linking::Standard));
        Ok(Asked { promise, ..Asked::new(vec![format!("{all} for compgc runs")], all) })
    }

    fn open(&self, opening: Opening) -> Result<Box<dyn StockLine>, ProtocolError> {
        let Opening { party, channel, store, terms, watch, .. } = opening;
        Ok(Box::new(Stocked::open(party, channel, store, terms, watch(CompGc::PHASES))?))
    }
}

impl StockLine for Stocked {
    fn make(self: Box<Self>, asked: &Asked) -> Next<Preprocessed> {
        next(self.preprocess(asked.items()?))
    }

    fn run(self: Box<Self>, run: &ProgramRun, input: &[bool], lacking: Lacking) -> Next<FromStock> {
        ran(Stocked::run(*self, run.program, input, lacking), |made| made.to_string())
    }

    fn close(self: Box<Self>) -> Result<Vec<PhaseReport>, ProtocolError> {
        Stocked::close(*self)
    }
}
