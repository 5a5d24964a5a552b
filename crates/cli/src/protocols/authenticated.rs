//! Components with authenticated masks at the command line: they hold against a cheater, and each is garbled
//! once.

use brickwork::Error;
use brickwork::authenticated::{self, Authenticated, Stocked};
use brickwork::circuit::{Party, Program};
use brickwork::cut_and_choose::at_most;
use brickwork::ot::Cot;
use brickwork::session::stock::inventory::Inventory;
use brickwork::session::{Protocol, Terms};
use brickwork::stock::Store;
use brickwork::wire::Channel;
use serde_json::Value;

use super::seam::{Member, Model, Only, Played, Ready, Take, Taken, promise, says_nothing};
use crate::arguments::{Buckets, Parameters};
use crate::cut::{Cut, Wish};
use crate::failure::Failure;
use crate::outcome::cost_json;
use crate::programs;
use crate::progress::Bar;
use crate::stocks::Stocks;
use crate::work::{Choices, Estimate, Work, fits_memory};

impl Played for Authenticated {
    fn model(&self) -> Model {
        Model::Malicious
    }

    fn online_from(&self) -> &'static str {
        "build"
    }

    fn ways(&self, wishes: &Parameters) -> Vec<Parameters> {
        Cot::ALL.map(|cot| Parameters { cot: Some(cot), ..wishes.clone() }).into()
    }

    fn allows(&self, choices: &Choices) -> Result<(), Failure> {
        let parameters = choices.parameters;
        let cut = !matches!(choices.cut, Wish::Fastest | Wish::Fixed(Cut::Given));
        let buckets = choices.buckets.buckets == Buckets::Standard;
        says_nothing(
            Authenticated::NAME,
            &[
                (
                    parameters.commitments.is_some(),
                    "--commitments",
                    "masks have macs, nothing is committed to",
                ),
                (parameters.linking.is_some(), "--linking", "it solders wires by their masks"),
                (buckets, "--buckets", "its buckets are the cheapest that the security allows"),
                (cut, "--cut", "a component is garbled once, whatever its size"),
                (choices.lanes > 1, "--lanes", "it sends over one connection"),
                (choices.drawn, "--svg", "there is nothing to choose"),
            ],
        )
    }

    fn only_way(
        &self,
        program: &Program,
        executions: u32,
        choices: &Choices,
        estimate: &Estimate,
    ) -> Result<Option<Only>, Failure> {
        let (program, parameters) = (programs::repeated(program, Some(executions))?, choices.parameters);
        let (security, cot) = (parameters.security(), parameters.cot());
        let (cost, security) =
            authenticated::cost::predict(&program, security, cot, &estimate.machine, &estimate.link)?;
        Ok(Some(Only { cost, security: promise(&security)? }))
    }

    fn only_way_from_stock(
        &self,
        program: &Program,
        executions: u32,
        choices: &Choices,
        estimate: &Estimate,
    ) -> Result<Option<Only>, Failure> {
        let (program, parameters) = (programs::repeated(program, Some(executions))?, choices.parameters);
        let (security, Estimate { machine, link }) = (parameters.security(), estimate);
        // One that both stores share: what another run left over is used up first.
        let cost = authenticated::cost::predict_from_stock(&program, security, 1, machine, link)?;
        let promised = authenticated::stock_promise(&program, security, parameters.cot())?;
        Ok(Some(Only { cost, security: promise(&promised)? }))
    }

    fn stocks(&self) -> Option<&dyn Stocks> {
        Some(self)
    }

    fn program(&self, given: &Program, executions: Option<u32>) -> Result<Program, Failure> {
        programs::repeated(given, executions)
    }

    fn ready<'w>(&self, work: &'w Work<'w>) -> Result<Box<dyn Ready + 'w>, Failure> {
        let Estimate { machine, link } = Estimate::of(&work.flags)?;
        let (job, proposal) = (&work.job, work.flags.parameters.cot());
        let (cost, _) = authenticated::cost::predict(&job.program, job.security, proposal, &machine, &link)?;
        fits_memory(cost.memory_bytes(work.party), work.flags.resources.max_ram)?;
        let stock = work.flags.stock;
        let store = stock.store.as_ref().map(|directory| stock.open(directory)).transpose()?;
        // What a run from stock sends depends on what is in stock.
        let predicted = if store.is_some() { Value::Null } else { cost_json(&cost) };
        Ok(Box::new(Member::<Authenticated, Cot> {
            work,
            proposal,
            limits: proposal,
            cut: Cut::Given,
            executions: 1,
            predicted,
            recovered: |()| false,
            stock: store.map(|store| (store, take as Take)),
        }))
    }

    fn promise_text(&self, security: &Value) -> String {
        format!(
            "Security: a cheater succeeds with probability at most 2^-{}; everything together at most {}; \
             {:.0}-bit computational security\nTriples: {} of {} leaky ANDs, in buckets of {}; correlated \
             OTs: {}{}\n",
            security["statistical_bits"],
            at_most(security["bound_log2"].as_f64().unwrap_or_default()),
            security["computational_bits"].as_f64().unwrap_or_default(),
            security["triples"],
            security["leaky_ands"],
            security["bucket"],
            security["cot"].as_str().unwrap_or_default(),
            security["lpn_bits"]
                .as_f64()
                .map_or(String::new(), |bits| format!(", LPN with {bits:.0}-bit security by known attacks")),
        )
    }
}

/// The program is that of all executions.
impl Stocks for Authenticated {
    fn has(
        &self,
        store: &Store,
        party: Party,
        terms: &Terms,
        program: &Program,
        _: u32,
    ) -> Result<bool, Error> {
        authenticated::in_stock(store, party, terms, program)
    }

    fn compare(
        &self,
        channel: &mut Channel,
        store: Option<&Store>,
        role: Party,
        terms: &Terms,
    ) -> Result<usize, Error> {
        authenticated::compare_stores(channel, store, role, terms)
    }

    fn inventory(&self, store: &Store) -> Result<Vec<Inventory>, Error> {
        authenticated::inventory(store)
    }

    fn executions(&self, part: &Inventory, store: &Store, program: &Program) -> Result<u64, Error> {
        authenticated::executions(part, store, program)
    }

    fn has_levels(&self) -> bool {
        true
    }
}

/// Runs a program on what is in the store.
fn take(work: &Work, store: &Store, channel: Channel, input: &[bool], bar: Bar) -> Result<Taken, Error> {
    let (terms, cot) = (work.job.terms(), work.flags.parameters.cot());
    let line = Stocked::open(work.party, channel, store, &terms, cot, bar)?;
    let (done, line) = line.run(&work.job.program, input, work.flags.stock.lacking())?;
    Ok(Taken {
        outputs: done.outputs,
        phases: line.close()?,
        security: promise(&done.security)?,
        recovered: false,
        made: done.made.map(|made| made.to_string()),
    })
}
