//! Yao's protocol with half-gates in the engine: for parties that trust each other to follow the protocol.

use brickwork_base::Error as ProtocolError;
use brickwork_circuit::{Party, Program};
use brickwork_report::words::plural;
use brickwork_semi_honest::{self as semi_honest, Executions, Ots, SemiHonest, Stocked, WARNING};
use brickwork_session::Observer;
use brickwork_session::stock::compare_stores;
use brickwork_session::stock::inventory::{Inventory, executions, inventory};
use brickwork_session::{Model, Protocol, Terms};
use brickwork_stock::Store;
use brickwork_wire::Channel;

use super::seam::{Member, Only, Played, Ready, Take, Taken, says_nothing};
use crate::cut::{Cut, CutChoice};
use crate::engine::request::{Buckets, RunRequest};
use crate::engine::stocks::Stocks;
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
            (request.audited, "--audit", "no cheat of the garbler's would be seen"),
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
    ) -> Result<bool, ProtocolError> {
        semi_honest::in_stock(store, party, terms, program, executions as usize)
    }

    fn compare(
        &self,
        channel: &mut Channel,
        store: Option<&Store>,
        role: Party,
        terms: &Terms,
    ) -> Result<usize, ProtocolError> {
        compare_stores::<SemiHonest>(channel, store, role, terms)
    }

    fn inventory(&self, store: &Store) -> Result<Vec<Inventory>, ProtocolError> {
        inventory::<SemiHonest>(store)
    }

    fn executions(&self, part: &Inventory, store: &Store, program: &Program) -> Result<u64, ProtocolError> {
        executions::<SemiHonest>(part, store, program)
    }

    fn has_levels(&self) -> bool {
        false
    }
}

/// Runs a program with OTs from the store.
fn take(
    work: &Work,
    store: &Store,
    channel: Channel,
    input: &[bool],
    observer: Box<dyn Observer>,
) -> Result<Taken, ProtocolError> {
    let line = Stocked::open(work.party, channel, store, &work.job.terms(), observer)?;
    let executions = work.executions().unwrap_or(1) as usize;
    let (done, line) = line.run(&work.job.program, executions, input, work.request.lacking)?;
    Ok(Taken {
        outputs: done.outputs,
        phases: line.close()?,
        promise: done.promise,
        recovered: false,
        made: done.made.map(|count| plural(count as u64, "OT")),
        cut: None,
    })
}
