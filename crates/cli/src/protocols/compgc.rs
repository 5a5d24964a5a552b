//! CompGC at the command line: for parties that trust each other to follow it, and want little to be left for
//! the time when the inputs are there.

use brickwork::Error;
use brickwork::circuit::{Party, Program};
use brickwork::compgc::{self, CompGc, SecurityReport, Stocked, WARNING};
use brickwork::session::stock::inventory::Inventory;
use brickwork::session::{Protocol, Terms};
use brickwork::stock::Store;
use brickwork::wire::Channel;
use brickwork::wire::tls::Met;
use clap::ValueEnum;
use serde_json::Value;

use super::seam::{Done, Model, Only, Played, Ready, promise};
use crate::arguments::{Buckets, Linking, Parameters};
use crate::cut::{Cut, Wish};
use crate::failure::Failure;
use crate::meeting::{Offer, Sheet};
use crate::outcome::cost_json;
use crate::programs;
use crate::progress::Bar;
use crate::stocks::Stocks;
use crate::work::{Choices, Estimate, Work, fits_memory};

impl Played for CompGc {
    fn model(&self) -> Model {
        Model::SemiHonest
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
                !matches!(choices.cut, Wish::Fastest | Wish::Fixed(Cut::Given)),
                "--cut",
                "what is garbled and linked are the components of the file",
            ),
            (choices.lanes > 1, "--lanes", "it sends over one connection"),
            (choices.audited, "--audit", "no cheat of the garbler's would be seen"),
            (choices.drawn, "--svg", "there is nothing to choose"),
        ];
        let standard = parameters.linking() == compgc::Linking::Standard;
        match nothing.into_iter().find(|(given, ..)| *given) {
            None if choices.stored && !standard => Err(Failure::usage(
                format!(
                    "--store says nothing with --linking {}: {}, so there is nothing that a store could hold \
                     for any program",
                    parameters.linking().name(),
                    parameters.linking().garbled(),
                ),
                "take --linking standard, whose components are garbled for any program, or leave --store out",
            )),
            Some((_, flag, why)) => Err(Failure::usage(
                format!("{flag} says nothing with --protocol compgc: {why}"),
                format!("leave {flag} out, or take --protocol duplo"),
            )),
            None => Ok(()),
        }
    }

    fn only_way(
        &self,
        program: &Program,
        executions: u32,
        choices: &Choices,
        estimate: &Estimate,
    ) -> Result<Option<Only>, Failure> {
        let linking = choices.parameters.linking();
        let program = program.repeat(executions as usize)?;
        let cost = compgc::cost::predict(&program, linking, &estimate.machine, &estimate.link)?;
        Ok(Some(Only { cost, security: promise(&SecurityReport::of(linking))? }))
    }

    fn only_way_from_stock(
        &self,
        program: &Program,
        executions: u32,
        _: &Choices,
        estimate: &Estimate,
    ) -> Result<Option<Only>, Failure> {
        let program = program.repeat(executions as usize)?;
        // One that both stores share: what another run left over is used up first.
        let cost = compgc::cost::predict_from_stock(&program, 1, &estimate.machine, &estimate.link)?;
        Ok(Some(Only { cost, security: promise(&SecurityReport::of(compgc::Linking::Standard))? }))
    }

    fn stocks(&self) -> Option<&dyn Stocks> {
        Some(self)
    }

    fn program(&self, given: &Program, executions: Option<u32>) -> Result<Program, Failure> {
        programs::repeated(given, executions)
    }

    fn ready<'w>(&self, work: &'w Work<'w>) -> Result<Box<dyn Ready + 'w>, Failure> {
        tracing::warn!("{WARNING}");
        let Estimate { machine, link } = Estimate::of(&work.flags)?;
        let cost =
            compgc::cost::predict(&work.job.program, work.flags.parameters.linking(), &machine, &link)?;
        fits_memory(cost.memory_bytes(work.party), work.flags.resources.max_ram)?;
        let stock = work.flags.stock;
        let store = stock.store.as_ref().map(|directory| stock.open(directory)).transpose()?;
        // What a run from stock sends depends on what is in stock.
        let predicted = if store.is_some() { Value::Null } else { cost_json(&cost) };
        Ok(Box::new(Member { work, predicted, store }))
    }

    fn promise_text(&self, security: &Value) -> String {
        format!(
            "Security: SEMI-HONEST ONLY. Nothing is promised if the peer departs from the protocol: it could \
             learn this party's input, or choose what this party learns. Against a peer that follows it: \
             {:.0}-bit computational security\nLinking: {}; {}\n",
            security["computational_bits"].as_f64().unwrap_or_default(),
            security["linking"].as_str().unwrap_or_default(),
            security["garbled"].as_str().unwrap_or_default(),
        )
    }
}

/// The program is that of all executions.
impl Stocks for CompGc {
    fn has(
        &self,
        store: &Store,
        party: Party,
        terms: &Terms,
        program: &Program,
        _: u32,
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

/// A party.
struct Member<'w> {
    work: &'w Work<'w>,
    /// What the run is expected to take.
    predicted: Value,
    store: Option<Store>,
}

impl Ready for Member<'_> {
    fn offer(&self) -> Option<Offer> {
        None
    }

    fn compare(&self, own: &Sheet, met: &mut Met) -> Result<String, Error> {
        self.work.compare(own, met, Some(&self.work.job.program), self.store.as_ref())
    }

    fn run(&mut self, channel: Channel, input: &[bool], quiet: bool) -> Result<Done, Error> {
        let bar = Bar::of::<CompGc>(quiet);
        let Work { party, job, flags, .. } = self.work;
        if let Some(store) = &self.store {
            let line = Stocked::open(*party, channel, store, &job.terms(), bar)?;
            let (done, line) = line.run(&job.program, input, flags.stock.lacking())?;
            return Ok(Done {
                cut: Cut::Given,
                and_gates: job.program.and_gates(),
                security: promise(&done.security)?,
                predicted: self.predicted.clone(),
                outputs: done.outputs,
                phases: line.close()?,
                recovered: false,
                made: Some(done.made.map(|made| made.to_string())),
            });
        }
        let linking = flags.parameters.linking();
        let report = match party {
            Party::Garbler => CompGc::garbler(channel, job, &linking, input, Box::new(bar))?,
            Party::Evaluator => CompGc::evaluator(channel, job, &linking, input, Box::new(bar))?,
        };
        Ok(Done {
            cut: Cut::Given,
            and_gates: job.program.and_gates(),
            security: promise(&report.security)?,
            predicted: self.predicted.clone(),
            outputs: report.outputs,
            phases: report.phases,
            recovered: false,
            made: None,
        })
    }
}
