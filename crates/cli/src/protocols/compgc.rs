//! CompGC at the command line: for parties that trust each other to follow it, and want little to be left for
//! the time when the inputs are there.

use brickwork::ProtocolError as Error;
use brickwork::circuit::{Party, Program};
use brickwork::compgc::{self, CompGc, Stocked, WARNING};
use brickwork::program::repeated;
use brickwork::session::stock::inventory::Inventory;
use brickwork::session::{Model, Protocol, Terms};
use brickwork::stock::Store;
use brickwork::wire::Channel;
use clap::ValueEnum;
use serde_json::Value;

use super::seam::{Member, Only, Played, Ready, Take, Taken, says_nothing};
use crate::arguments::{Buckets, Linking, Parameters};
use crate::failure::Failure;
use crate::outcome::cost_json;
use crate::progress::Bar;
use crate::stocks::Stocks;
use crate::work::{Choices, Estimate, Work, fits_here};
use brickwork::cut::{Cut, CutChoice};

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

    fn ways(&self, wishes: &Parameters) -> Vec<Parameters> {
        let linkings = Linking::value_variants().iter();
        linkings.map(|&linking| Parameters { linking: Some(linking), ..wishes.clone() }).collect()
    }

    fn allows(&self, choices: &Choices) -> Result<(), Failure> {
        let parameters = choices.parameters;
        let nothing = [
            (
                parameters.security.is_some(),
                "--security",
                "nothing is opened and checked, so there is no 2^-S",
            ),
            (parameters.commitments.is_some(), "--commitments", "nothing is committed to"),
            (choices.buckets.buckets == Buckets::Standard, "--buckets", "there are no buckets"),
            (
                !matches!(choices.cut, CutChoice::Fastest | CutChoice::Fixed(Cut::Given)),
                "--cut",
                "what is garbled and linked are the components of the file",
            ),
            (choices.lanes > 1, "--lanes", "it sends over one connection"),
            (choices.audited, "--audit", "no cheat of the garbler's would be seen"),
            (choices.drawn, "--svg", "there is nothing to choose"),
        ];
        says_nothing(CompGc::NAME, &nothing)?;
        let linking = parameters.linking();
        if choices.stored && linking != compgc::Linking::Standard {
            return Err(Failure::usage(
                format!(
                    "--store says nothing with --linking {}: {}, so there is nothing that a store could hold \
                     for any program",
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
        choices: &Choices,
        estimate: &Estimate,
    ) -> Result<Option<Only>, Failure> {
        let linking = choices.parameters.linking();
        let program = repeated(program, Some(executions))?;
        let cost = compgc::cost::predict(&program, linking, &estimate.machine, &estimate.link)?;
        Ok(Some(Only::new(cost, compgc::promise(linking))))
    }

    fn only_way_from_stock(
        &self,
        program: &Program,
        executions: u32,
        _: &Choices,
        estimate: &Estimate,
    ) -> Result<Option<Only>, Failure> {
        let program = repeated(program, Some(executions))?;
        // One that both stores share: what another run left over is used up first.
        let cost = compgc::cost::predict_from_stock(&program, 1, &estimate.machine, &estimate.link)?;
        Ok(Some(Only::new(cost, compgc::promise(compgc::Linking::Standard))))
    }

    fn stocks(&self) -> Option<&dyn Stocks> {
        Some(self)
    }

    fn program(&self, given: &Program, executions: Option<u32>) -> Result<Program, Failure> {
        Ok(repeated(given, executions)?)
    }

    fn ready<'w>(&self, work: &'w Work<'w>) -> Result<Box<dyn Ready + 'w>, Failure> {
        let Estimate { machine, link } = Estimate::of(&work.flags)?;
        let cost =
            compgc::cost::predict(&work.job.program, work.flags.parameters.linking(), &machine, &link)?;
        fits_here(&cost, work.party, work.flags.resources.max_ram)?;
        let stock = work.flags.stock;
        let store = stock.store.as_ref().map(|directory| stock.open(directory)).transpose()?;
        // What a run from stock sends depends on what is in stock.
        let predicted = if store.is_some() { Value::Null } else { cost_json(&cost) };
        let linking = work.flags.parameters.linking();
        Ok(Box::new(Member::<CompGc, _> {
            work,
            proposal: linking,
            limits: linking,
            cut: Cut::Given,
            executions: 1,
            predicted,
            recovered: |()| false,
            stock: store.map(|store| (store, take as Take)),
        }))
    }
}

/// The program is that of all executions.
impl Stocks for CompGc {
    fn has(
        &self,
        store: &Store,
        party: Party,
        terms: &Terms,
        (program, ..): (&Program, u32, &CutChoice),
    ) -> Result<bool, Error> {
        compgc::in_stock(store, party, terms, program)
    }

    fn compare(
        &self,
        channel: &mut Channel,
        store: Option<&Store>,
        role: Party,
        terms: &Terms,
    ) -> Result<usize, Error> {
        compgc::compare_stores(channel, store, role, terms)
    }

    fn inventory(&self, store: &Store) -> Result<Vec<Inventory>, Error> {
        compgc::inventory(store)
    }

    fn executions(&self, part: &Inventory, store: &Store, program: &Program) -> Result<u64, Error> {
        compgc::executions(part, store, program)
    }

    fn has_levels(&self) -> bool {
        false
    }
}

/// Runs a program on what is in the store.
fn take(work: &Work, store: &Store, channel: Channel, input: &[bool], bar: Bar) -> Result<Taken, Error> {
    let line = Stocked::open(work.party, channel, store, &work.job.terms(), bar)?;
    let (done, line) = line.run(&work.job.program, input, work.flags.stock.lacking())?;
    Ok(Taken {
        outputs: done.outputs,
        phases: line.close()?,
        promise: done.promise,
        recovered: false,
        made: done.made.map(|made| made.to_string()),
        cut: None,
    })
}
