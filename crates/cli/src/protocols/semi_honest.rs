//! Yao's protocol with half-gates at the command line: for parties that trust each other to follow it.

use brickwork::ProtocolError as Error;
use brickwork::circuit::{Party, Program};
use brickwork::semi_honest::{self, Executions, Ots, SemiHonest, Stocked, WARNING};
use brickwork::session::stock::inventory::Inventory;
use brickwork::session::{Model, Protocol, Terms};
use brickwork::stock::Store;
use brickwork::wire::Channel;

use super::seam::{Member, Only, Played, Ready, Take, Taken, says_nothing};
use crate::arguments::Buckets;
use crate::failure::Failure;
use crate::outcome::cost_json;
use crate::progress::Bar;
use crate::report::plural;
use crate::stocks::Stocks;
use crate::work::{Choices, Estimate, Work, fits_here};
use brickwork::cut::{Cut, CutChoice};

/// What a run costs with OTs from there.
fn only_way(
    program: &Program,
    executions: u32,
    ots: Ots,
    Estimate { machine, link }: &Estimate,
) -> Result<Option<Only>, Failure> {
    let cost = semi_honest::cost::predict(program, executions as usize, ots, machine, link)?;
    Ok(Some(Only::new(cost, semi_honest::promise())))
}

/// A run whose OTs are in stores that share nothing else: what is predicted of one that takes from a store.
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

    fn allows(&self, choices: &Choices) -> Result<(), Failure> {
        let parameters = choices.parameters;
        let nothing = [
            (
                parameters.security.is_some(),
                "--security",
                "nothing is opened and checked, so there is no 2^-S",
            ),
            (parameters.commitments.is_some(), "--commitments", "nothing is committed to"),
            (parameters.linking.is_some(), "--linking", "the program is garbled as a whole"),
            (choices.buckets.buckets == Buckets::Standard, "--buckets", "there are no buckets"),
            (
                !matches!(choices.cut, CutChoice::Fastest | CutChoice::Fixed(Cut::Given)),
                "--cut",
                "every gate is garbled once, in whatever component it lies",
            ),
            (choices.lanes > 1, "--lanes", "it streams over one connection"),
            (choices.audited, "--audit", "no cheat of the garbler's would be seen"),
            (choices.drawn, "--svg", "there is nothing to choose"),
        ];
        says_nothing(SemiHonest::NAME, &nothing)
    }

    fn only_way(
        &self,
        program: &Program,
        executions: u32,
        _: &Choices,
        estimate: &Estimate,
    ) -> Result<Option<Only>, Failure> {
        only_way(program, executions, Ots::Made, estimate)
    }

    fn only_way_from_stock(
        &self,
        program: &Program,
        executions: u32,
        _: &Choices,
        estimate: &Estimate,
    ) -> Result<Option<Only>, Failure> {
        only_way(program, executions, ONE_PART, estimate)
    }

    fn stocks(&self) -> Option<&dyn Stocks> {
        Some(self)
    }

    fn program(&self, given: &Program, _: Option<u32>) -> Result<Program, Failure> {
        // Executions are streamed: memory does not grow with them.
        Ok(given.clone())
    }

    fn ready<'w>(&self, work: &'w Work<'w>) -> Result<Box<dyn Ready + 'w>, Failure> {
        let estimate = Estimate::of(&work.flags)?;
        let executions = work.executions().unwrap_or(1) as usize;
        let stock = work.flags.stock;
        let store = stock.store.as_ref().map(|directory| stock.open(directory)).transpose()?;
        let ots = if store.is_some() { ONE_PART } else { Ots::Made };
        let Estimate { machine, link } = &estimate;
        let cost = semi_honest::cost::predict(&work.job.program, executions, ots, machine, link)?;
        fits_here(&cost, work.party, work.flags.resources.max_ram)?;
        Ok(Box::new(Member::<SemiHonest, _> {
            work,
            proposal: Executions(executions),
            limits: Executions(executions),
            cut: Cut::Given,
            executions: executions as u64,
            predicted: cost_json(&cost),
            recovered: |()| false,
            stock: store.map(|store| (store, take as Take)),
        }))
    }
}

impl Stocks for SemiHonest {
    fn has(
        &self,
        store: &Store,
        party: Party,
        terms: &Terms,
        (program, executions, _): (&Program, u32, &CutChoice),
    ) -> Result<bool, Error> {
        semi_honest::in_stock(store, party, terms, program, executions as usize)
    }

    fn compare(
        &self,
        channel: &mut Channel,
        store: Option<&Store>,
        role: Party,
        terms: &Terms,
    ) -> Result<usize, Error> {
        semi_honest::compare_stores(channel, store, role, terms)
    }

    fn inventory(&self, store: &Store) -> Result<Vec<Inventory>, Error> {
        semi_honest::inventory(store)
    }

    fn executions(&self, part: &Inventory, _: &Store, program: &Program) -> Result<u64, Error> {
        let left: u64 = part.batches.iter().map(|batch| batch.left).sum();
        Ok(if part.is_lost() { 0 } else { left / semi_honest::ots(program, 1)? as u64 })
    }

    fn has_levels(&self) -> bool {
        false
    }
}

/// Runs a program with OTs from the store.
fn take(work: &Work, store: &Store, channel: Channel, input: &[bool], bar: Bar) -> Result<Taken, Error> {
    let line = Stocked::open(work.party, channel, store, &work.job.terms(), bar)?;
    let executions = work.executions().unwrap_or(1) as usize;
    let (done, line) = line.run(&work.job.program, executions, input, work.flags.stock.lacking())?;
    Ok(Taken {
        outputs: done.outputs,
        phases: line.close()?,
        promise: done.promise,
        recovered: false,
        made: done.made.map(|count| plural(count as u64, "OT")),
        cut: None,
    })
}
