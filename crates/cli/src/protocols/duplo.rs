//! DUPLO at the command line: what its garbler proposes, from stock or made for the occasion, and what was
//! predicted of a run.

use std::cell::Cell;
use std::sync::Arc;

use brickwork::ProtocolError as Error;
use brickwork::circuit::{Party, Program};
use brickwork::duplo::{self, Duplo, FromStock, Limits, Proposal, Stocked};
use brickwork::plan;
use brickwork::program::{gates_within, repeated};
use brickwork::session::{Model, Protocol, Terms};
use brickwork::stock::Store;
use brickwork::wire::Channel;
use brickwork::wire::tls::Met;
use serde_json::Value;

use super::seam::{Done, Only, Played, Ready};
use crate::cuts::{self, Decomposition, Pricing};
use crate::failure::Failure;
use crate::meeting::{Offer, Sheet};
use crate::outcome::cost_json;
use crate::progress::Bar;
use crate::report::hex;
use crate::stocks::Stocks;
use crate::work::{Choices, Estimate, Work, fits_memory};
use brickwork::cut::{Cut, CutChoice};
use brickwork::resources;

/// The proposal of the garbler.
pub struct Proposed {
    pub cut: Cut,
    pub program: Arc<Program>,
    /// Where all is made for this run.
    pub parameters: Option<duplo::Parameters>,
    /// Seconds in which the evaluator will make this cut.
    seconds: f64,
    /// Bytes that the garbler needs, and the evaluator, as far as it is known.
    pub garbler_memory: Option<u64>,
    pub evaluator_memory: Option<u64>,
}

impl Proposed {
    /// Returns it as a sheet says it.
    pub fn offer(&self) -> Offer {
        Offer {
            cut: self.cut.to_string(),
            program: hex(&self.program.digest()),
            memory: self.evaluator_memory,
        }
    }
}

impl Work<'_> {
    /// Returns what this garbler proposes: a cut that is in stock, or else the best one that is made for the
    /// occasion.
    pub fn proposal(&self, store: Option<&Store>, estimate: Option<&Estimate>) -> Result<Proposed, Failure> {
        let Work { flags, given, job, .. } = self;
        let (executions, wish) = (self.executions(), flags.cut);
        let Some(Estimate { machine, link }) = estimate else {
            let is_there = |program: &Program| -> Result<bool, Failure> {
                let Some(store) = store else { return Ok(true) };
                Ok(duplo::in_stock(store, self.party, &job.terms(), &repeated(program, executions)?)?)
            };
            let (cut, program) = match wish {
                CutChoice::Fixed(cut) => (cut.clone(), given.cut(cut, gates_within(self.memory))?),
                CutChoice::Fastest => cuts::in_stock(given, is_there)?,
            };
            let program = Arc::new(repeated(&program, executions)?);
            return Ok(Proposed {
                cut,
                program,
                parameters: None,
                seconds: 0.0,
                garbler_memory: None,
                evaluator_memory: None,
            });
        };
        let pricing = Pricing { executions, security: job.security, choice: flags.choice, machine, link };
        let Decomposition { cut, program, parameters, cost, seconds, .. } =
            cuts::choose(wish, given, &pricing, self.memory)?;
        let memory = cost.garbler_memory_bytes;
        fits_memory(memory, flags.resources.max_ram)?;
        Ok(Proposed {
            cut,
            program: Arc::new(program),
            parameters: Some(parameters),
            seconds,
            garbler_memory: Some(memory),
            evaluator_memory: Some(cost.evaluator_memory_bytes),
        })
    }
}

impl Played for Duplo {
    fn model(&self) -> Model {
        Model::Malicious
    }

    fn online_from(&self) -> &'static str {
        "evaluate"
    }

    fn allows(&self, choices: &Choices) -> Result<(), Failure> {
        match (choices.parameters.linking, choices.cut) {
            (Some(_), _) => Err(Failure::usage(
                "--linking says nothing with --protocol duplo: it solders wires that are committed to",
                "leave --linking out, or take --protocol compgc",
            )),
            (None, CutChoice::Fixed(Cut::Gates)) => Err(Failure::usage(
                "--cut gates says nothing with --protocol duplo: it checks components",
                "choose another --cut, or take --protocol jimu",
            )),
            (None, _) => Ok(()),
        }
    }

    fn only_way(&self, _: &Program, _: u32, _: &Choices, _: &Estimate) -> Result<Option<Only>, Failure> {
        Ok(None)
    }

    fn only_way_from_stock(
        &self,
        program: &Program,
        executions: u32,
        choices: &Choices,
        estimate: &Estimate,
    ) -> Result<Option<Only>, Failure> {
        let program = match choices.cut {
            CutChoice::Fixed(Cut::Given) | CutChoice::Fastest => repeated(program, Some(executions))?,
            CutChoice::Fixed(cut) => {
                return Err(Failure::usage(
                    format!("--stocked says nothing with --cut {cut}: a run takes the cut that is in stock"),
                    "leave one of them out",
                ));
            }
        };
        let security = choices.parameters.security().into();
        let script = duplo::cost::script_from_stock(&program, Some(1), security)?;
        let promised = duplo::cost::stock_parameters(&program, 1, security)?.promise(&program);
        let cost = plan::predict(&script, &estimate.machine, &estimate.link);
        Ok(Some(Only::new(cost, promised)))
    }

    fn priced(
        &self,
        program: &brickwork::Program,
        choices: &Choices,
        Estimate { machine, link }: &Estimate,
    ) -> Result<Only, Failure> {
        let pricing = Pricing {
            executions: choices.parameters.executions.executions,
            security: choices.parameters.security(),
            choice: choices.buckets,
            machine,
            link,
        };
        let Decomposition { program, parameters, cost, .. } =
            cuts::choose(choices.cut, program, &pricing, resources::available_bytes())?;
        Ok(Only::new(cost, parameters.promise(&program)))
    }

    fn stocks(&self) -> Option<&dyn Stocks> {
        Some(self)
    }

    fn program(&self, given: &Program, executions: Option<u32>) -> Result<Program, Failure> {
        Ok(repeated(given, executions)?)
    }

    fn ready<'w>(&self, work: &'w Work<'w>) -> Result<Box<dyn Ready + 'w>, Failure> {
        let stock = work.flags.stock;
        let store = stock.store.as_ref().map(|directory| stock.open(directory)).transpose()?;
        let estimate = if store.is_some() { None } else { Some(Estimate::of(&work.flags)?) };
        let proposal = match work.party {
            Party::Garbler => Some(work.proposal(store.as_ref(), estimate.as_ref())?),
            Party::Evaluator => None,
        };
        Ok(Box::new(Member { work, store, estimate, proposal }))
    }
}

impl Stocks for Duplo {
    /// The program is that of all executions.
    fn has(
        &self,
        store: &Store,
        party: Party,
        terms: &Terms,
        (program, ..): (&Program, u32, &CutChoice),
    ) -> Result<bool, Error> {
        duplo::in_stock(store, party, terms, program)
    }

    fn compare(
        &self,
        channel: &mut Channel,
        store: Option<&Store>,
        role: Party,
        terms: &Terms,
    ) -> Result<usize, Error> {
        duplo::compare_stores(channel, store, role, terms)
    }

    fn inventory(&self, store: &Store) -> Result<Vec<duplo::Inventory>, Error> {
        duplo::inventory(store)
    }

    fn executions(&self, part: &duplo::Inventory, store: &Store, program: &Program) -> Result<u64, Error> {
        duplo::executions(part, store, program)
    }

    fn has_levels(&self) -> bool {
        true
    }
}

/// Returns the evaluator's part: all executions of the program in the cut that the garbler names.
///
/// # Errors
/// [`Error::Mismatch`] if this party wants another cut, or cannot make this one.
fn accept(work: &Work, name: &str, executions: Option<u32>) -> Result<Arc<Program>, Error> {
    let refused = |why: String| Error::Mismatch(format!("the garbler proposes the cut {name:?}: {why}"));
    let cut = Cut::of_name(name).map_err(refused)?;
    match work.flags.cut {
        CutChoice::Fixed(own) if *own != cut => Err(refused(format!("this party wants --cut {own}"))),
        _ => {
            let made = work.given.cut(&cut, gates_within(work.memory));
            let made = made.and_then(|program| repeated(&program, executions));
            made.map(Arc::new).map_err(|error| refused(error.to_string()))
        }
    }
}

/// A party that knows what it will do.
struct Member<'w> {
    work: &'w Work<'w>,
    store: Option<Store>,
    /// Where all is made for this run.
    estimate: Option<Estimate>,
    /// Of a garbler.
    proposal: Option<Proposed>,
}

impl Ready for Member<'_> {
    fn offer(&self) -> Option<Offer> {
        self.proposal.as_ref().map(Proposed::offer)
    }

    fn compare(&self, own: &Sheet, met: &mut Met) -> Result<String, Error> {
        self.work.compare(
            own,
            met,
            self.proposal.as_ref().map(|proposed| &proposed.program),
            self.store.as_ref(),
        )
    }

    fn run(&mut self, channel: Channel, input: &[bool], quiet: bool) -> Result<Done, Error> {
        let bar = Bar::of::<Duplo>(quiet);
        match self.work.party {
            Party::Garbler => self.garble(channel, input, bar),
            Party::Evaluator => self.evaluate(channel, input, bar),
        }
    }
}

impl Member<'_> {
    fn garble(&mut self, channel: Channel, input: &[bool], bar: Bar) -> Result<Done, Error> {
        let Member { work, store, proposal, .. } = self;
        let Some(Proposed { cut, program, parameters, seconds, .. }) = proposal else {
            return Err(Error::Usage("there is no proposal".into()));
        };
        match (store, parameters) {
            (None, Some(parameters)) => {
                let proposal = Proposal { program: program.clone(), parameters: parameters.clone() };
                let report = Duplo::garbler(channel, &work.job, &proposal, input, Box::new(bar))?;
                let (cut, seconds) = (cut.clone(), *seconds);
                self.at_once(report, cut, seconds)
            }
            (Some(store), _) => {
                let session =
                    Stocked::open_proposing(channel, store, &work.job.terms(), program, &cut.name(), bar)?;
                from_stock(work, session, cut.clone(), program.clone(), input)
            }
            (None, None) => Err(Error::Usage("there is neither a store nor a plan".into())),
        }
    }

    fn evaluate(&mut self, channel: Channel, input: &[bool], bar: Bar) -> Result<Done, Error> {
        let work = self.work;
        let (cutting, executions) = (Cell::new(0.0), work.executions());
        let decompose = |name: &str| {
            let begun = resources::cpu_seconds();
            let program = accept(work, name, executions);
            cutting.set(resources::cpu_seconds() - begun);
            program
        };
        let cut = |name: &str| Cut::of_name(name).map_err(Error::Mismatch);
        match &mut self.store {
            Some(store) => {
                let session = Stocked::open(work.party, channel, store, &work.job.terms(), bar)?;
                let (program, name) = session.proposed(&work.job.program, Some(&decompose))?;
                from_stock(work, session, cut(&name)?, program, input)
            }
            None => {
                let limits = Limits { memory_bytes: work.memory, decompose: Some(&decompose) };
                let report = Duplo::evaluator(channel, &work.job, &limits, input, Box::new(bar))?;
                let cut = cut(&report.proposal.parameters.decomposition)?;
                self.at_once(report, cut, cutting.get())
            }
        }
    }

    /// Returns the result of a run for which all was made; the cut took so many seconds.
    fn at_once(&self, report: duplo::Report, cut: Cut, cutting: f64) -> Result<Done, Error> {
        let estimate = self.estimate.as_ref();
        Ok(Done {
            cut,
            and_gates: report.proposal.program.and_gates(),
            predicted: estimate
                .map_or(Value::Null, |estimate| predicted(estimate, &report.proposal, cutting)),
            promise: report.promise,
            outputs: report.outputs,
            phases: report.phases,
            recovered: report.aside.recovered,
            made: None,
        })
    }
}

/// Returns the estimate of this proposal, which took so many seconds to be cut.
fn predicted(estimate: &Estimate, Proposal { program, parameters }: &Proposal, cutting: f64) -> Value {
    let cost = duplo::cost::predict(program, parameters, &estimate.machine, &estimate.link);
    cost_json(&cost.with_work("preprocess", cutting))
}

/// Runs the program on stock.
fn from_stock(
    work: &Work,
    session: Stocked,
    cut: Cut,
    program: Arc<Program>,
    input: &[bool],
) -> Result<Done, Error> {
    let (done, session) = session.expect(&program)?.run(&program, input, work.flags.stock.lacking())?;
    let FromStock { outputs, kept: _, recovered, promise, made } = done;
    let made = Some(made.map(|made| made.to_string()));
    let (and_gates, phases) = (program.and_gates(), session.close()?);
    Ok(Done { cut, and_gates, outputs, phases, promise, predicted: Value::Null, recovered, made })
}
