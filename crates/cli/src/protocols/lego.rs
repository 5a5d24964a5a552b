//! LEGO at the command line: it holds against a cheater, and garbles AND gates that fit any program.

use brickwork::ProtocolError as Error;
use brickwork::circuit::{Party, Program};
use brickwork::lego::{self, Lego, Stocked};
use brickwork::program::repeated;
use brickwork::session::stock::inventory::Inventory;
use brickwork::session::{Model, Protocol, Terms};
use brickwork::stock::Store;
use brickwork::wire::Channel;
use serde_json::Value;

use super::seam::{Member, Only, Played, Ready, Take, Taken, says_nothing};
use crate::arguments::Buckets;
use crate::failure::Failure;
use crate::outcome::cost_json;
use crate::progress::Bar;
use crate::stocks::Stocks;
use crate::work::{Choices, Estimate, Work, fits_here};
use brickwork::cut::{Cut, CutChoice};

impl Played for Lego {
    fn model(&self) -> Model {
        Model::Malicious
    }

    fn online_from(&self) -> &'static str {
        "evaluate"
    }

    fn allows(&self, choices: &Choices) -> Result<(), Failure> {
        let nothing = [
            (choices.parameters.linking.is_some(), "--linking", "it solders wires that are committed to"),
            (
                choices.buckets.buckets == Buckets::Standard,
                "--buckets",
                "its buckets are those with the fewest bytes",
            ),
            (
                !matches!(choices.cut, CutChoice::Fastest | CutChoice::Fixed(Cut::Given)),
                "--cut",
                "every AND gate is garbled by itself, in whatever component it lies",
            ),
            (choices.lanes > 1, "--lanes", "it sends over one connection"),
            (choices.drawn, "--svg", "there is nothing to choose"),
        ];
        says_nothing(Lego::NAME, &nothing)
    }

    fn only_way(
        &self,
        program: &Program,
        executions: u32,
        choices: &Choices,
        estimate: &Estimate,
    ) -> Result<Option<Only>, Failure> {
        let program = repeated(program, Some(executions))?;
        let parameters = lego::parameters(&program, choices.parameters.security())?;
        let cost = lego::cost::predict(&program, &parameters, &estimate.machine, &estimate.link)?;
        Ok(Some(Only::new(cost, parameters.promise())))
    }

    fn only_way_from_stock(
        &self,
        program: &Program,
        executions: u32,
        choices: &Choices,
        estimate: &Estimate,
    ) -> Result<Option<Only>, Failure> {
        let program = repeated(program, Some(executions))?;
        let security = choices.parameters.security();
        let Estimate { machine, link } = estimate;
        let stock = lego::cost::Stock::Gates { epochs: 1 };
        let cost = lego::cost::predict_from_stock(&program, stock, security, machine, link)?;
        Ok(Some(Only::new(cost, lego::stock_promise(&program, security)?)))
    }

    fn stocks(&self) -> Option<&dyn Stocks> {
        Some(self)
    }

    fn program(&self, given: &Program, executions: Option<u32>) -> Result<Program, Failure> {
        Ok(repeated(given, executions)?)
    }

    fn ready<'w>(&self, work: &'w Work<'w>) -> Result<Box<dyn Ready + 'w>, Failure> {
        let Estimate { machine, link } = Estimate::of(&work.flags)?;
        let parameters = lego::parameters(&work.job.program, work.job.security)?;
        let cost = lego::cost::predict(&work.job.program, &parameters, &machine, &link)?;
        fits_here(&cost, work.party, work.flags.resources.max_ram)?;
        let stock = work.flags.stock;
        let store = stock.store.as_ref().map(|directory| stock.open(directory)).transpose()?;
        // What a run from stock sends depends on what is in stock.
        let predicted = if store.is_some() { Value::Null } else { cost_json(&cost) };
        Ok(Box::new(Member::<Lego, ()> {
            work,
            proposal: parameters,
            limits: (),
            cut: Cut::Given,
            executions: 1,
            predicted,
            recovered: |aside| aside.recovered,
            stock: store.map(|store| (store, take as Take)),
        }))
    }
}

/// The program is that of all executions.
impl Stocks for Lego {
    fn has(
        &self,
        store: &Store,
        party: Party,
        terms: &Terms,
        (program, ..): (&Program, u32, &CutChoice),
    ) -> Result<bool, Error> {
        lego::in_stock(store, party, terms, program)
    }

    fn compare(
        &self,
        channel: &mut Channel,
        store: Option<&Store>,
        role: Party,
        terms: &Terms,
    ) -> Result<usize, Error> {
        lego::compare_stores(channel, store, role, terms)
    }

    fn inventory(&self, store: &Store) -> Result<Vec<Inventory>, Error> {
        lego::inventory(store)
    }

    fn executions(&self, part: &Inventory, store: &Store, program: &Program) -> Result<u64, Error> {
        lego::executions(part, store, program)
    }

    fn has_levels(&self) -> bool {
        true
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
        recovered: done.recovered,
        made: done.made.map(|made| made.to_string()),
        cut: None,
    })
}
