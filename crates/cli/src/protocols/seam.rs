//! What a protocol is to the command.

use brickwork::circuit::{self, Party};
use brickwork::ot::Cot;
use brickwork::plan::Cost;
use brickwork::session::{Model, PhaseReport, Promise, Protocol};
use brickwork::stock::Store;
use brickwork::wire::Channel;
use brickwork::wire::tls::Met;
use brickwork::{Program, ProtocolError as Error};
use serde_json::Value;

use crate::arguments::Parameters;
use crate::failure::Failure;
use crate::meeting::{Masks, Offer, Sheet};
use crate::progress::Bar;
use crate::stocks::Stocks;
use crate::work::{Choices, Estimate, Work};
use brickwork::cut::Cut;

/// A protocol, as the command plays it.
pub trait Played {
    /// Returns what it holds against.
    fn model(&self) -> Model;

    /// Returns what users are to be warned of before they trust a run to it.
    fn warning(&self) -> Option<&'static str> {
        None
    }

    /// Returns the first phase that needs an input of a party: it and those behind it are online.
    fn online_from(&self) -> &'static str;

    /// Returns the ways in which it goes about a run, where users choose between such; each as `wishes`,
    /// which name this protocol, and what they leave open said.
    fn ways(&self, wishes: &Parameters) -> Vec<Parameters> {
        vec![wishes.clone()]
    }

    /// Refuses flags that say nothing in this protocol, so that nobody believes they did.
    ///
    /// # Errors
    /// A mistake of usage that names the flag.
    fn allows(&self, choices: &Choices) -> Result<(), Failure>;

    /// Returns what a run costs and promises, where the protocol leaves nothing to choose; none where the
    /// garbler proposes how it is done, which is then what `plan` compares.
    ///
    /// # Errors
    /// If the program cannot be executed so often.
    fn only_way(
        &self,
        program: &circuit::Program,
        executions: u32,
        choices: &Choices,
        estimate: &Estimate,
    ) -> Result<Option<Only>, Failure>;

    /// Returns what a run of the given program costs and promises, done as the garbler would propose it.
    ///
    /// # Errors
    /// As [`Played::only_way`].
    fn priced(&self, program: &Program, choices: &Choices, estimate: &Estimate) -> Result<Only, Failure> {
        let executions = choices.parameters.executions.executions.unwrap_or(1);
        let only = self.only_way(program.given(), executions, choices, estimate)?;
        only.ok_or_else(|| Failure::fault("a protocol with a choice prices it"))
    }

    /// Does what [`Played::only_way`] does, of a run that takes what it can from a store; none where that is
    /// not known beforehand.
    ///
    /// # Errors
    /// Likewise.
    fn only_way_from_stock(
        &self,
        _program: &circuit::Program,
        _executions: u32,
        _choices: &Choices,
        _estimate: &Estimate,
    ) -> Result<Option<Only>, Failure> {
        Ok(None)
    }

    /// Returns what this party would make masks of, where the protocol has masks; a garbler proposes it.
    ///
    /// # Errors
    /// As [`Played::only_way`].
    fn masks(&self, _work: &Work) -> Result<Option<Masks>, Failure> {
        Ok(None)
    }

    /// Returns what it does with a store, if it does anything.
    fn stocks(&self) -> Option<&dyn Stocks> {
        None
    }

    /// Returns what the parties compare and run, of a program and how often it is to be executed.
    ///
    /// # Errors
    /// If there would be too much of it.
    fn program(&self, given: &circuit::Program, executions: Option<u32>)
    -> Result<circuit::Program, Failure>;

    /// Gets a party ready, as far as that is possible without its peer.
    ///
    /// # Errors
    /// Whatever would make the run fail later.
    fn ready<'w>(&self, work: &'w Work<'w>) -> Result<Box<dyn Ready + 'w>, Failure>;
}

/// The only way in which a run can be done.
pub struct Only {
    pub cost: Cost,
    /// What it promises.
    pub promise: Promise,
    /// Why masks are made of what they are made of, if that was chosen.
    pub cot_reason: Option<String>,
}

impl Only {
    /// Makes it of what it costs and promises, where nothing was chosen.
    pub fn new(cost: Cost, promise: Promise) -> Self {
        Only { cost, promise, cot_reason: None }
    }
}

/// Refuses the first of these flags that was given: whether it was, its name, and why it says nothing with
/// this protocol.
///
/// # Errors
/// A mistake of usage that names the flag.
pub fn says_nothing(protocol: &str, flags: &[(bool, &str, &str)]) -> Result<(), Failure> {
    match flags.iter().find(|(given, ..)| *given) {
        Some((_, flag, why)) => Err(Failure::usage(
            format!("{flag} says nothing with --protocol {protocol}: {why}"),
            format!("leave {flag} out, or take --protocol duplo"),
        )),
        None => Ok(()),
    }
}

/// What a run on stock gave.
pub struct Taken {
    pub outputs: Vec<bool>,
    pub phases: Vec<PhaseReport>,
    /// The promise of the run.
    pub promise: Promise,
    /// As [`Done::recovered`].
    pub recovered: bool,
    /// What it lacked, in words.
    pub made: Option<String>,
    /// Into which components the program was cut, where what is in stock decides it.
    pub cut: Option<Cut>,
}

/// Runs a protocol on a store.
pub type Take = fn(&Work, &Store, Channel, &[bool], Bar) -> Result<Taken, Error>;

/// A party of a protocol that takes what it is offered, and makes all it needs within the run unless it has
/// stock.
pub struct Member<'w, P: Protocol, L> {
    pub work: &'w Work<'w>,
    /// What a garbler proposes, and an evaluator takes.
    pub proposal: P::Proposal,
    /// What an evaluator takes.
    pub limits: L,
    /// Into which components the program is cut.
    pub cut: Cut,
    /// How often the program is executed; 1 if the program is that of all executions.
    pub executions: u64,
    /// What the run is expected to take.
    pub predicted: Value,
    /// Whether an evaluator has its outputs of the garbler's input, which cheated.
    pub recovered: fn(&P::Aside) -> bool,
    /// Where its stock is, if it takes from one.
    pub stock: Option<(Store, Take)>,
}

impl<L, P: for<'a> Protocol<Limits<'a> = L>> Ready for Member<'_, P, L> {
    fn offer(&self) -> Option<Offer> {
        None
    }

    fn compare(&self, own: &Sheet, met: &mut Met) -> Result<String, Error> {
        let store = self.stock.as_ref().map(|(store, _)| store);
        self.work.compare(own, met, Some(&self.work.job.program), store)
    }

    fn run(&mut self, channel: Channel, input: &[bool], quiet: bool) -> Result<Done, Error> {
        let bar = Bar::of::<P>(quiet);
        let Work { party, job, .. } = self.work;
        let stocked = self.stock.is_some();
        let Taken { outputs, phases, promise, recovered, made, cut } = match &self.stock {
            Some((store, take)) => take(self.work, store, channel, input, bar)?,
            None => {
                let bar = Box::new(bar);
                let report = match party {
                    Party::Garbler => P::garbler(channel, job, &self.proposal, input, bar)?,
                    Party::Evaluator => P::evaluator(channel, job, &self.limits, input, bar)?,
                };
                Taken {
                    outputs: report.outputs,
                    phases: report.phases,
                    promise: report.promise,
                    recovered: (self.recovered)(&report.aside),
                    made: None,
                    cut: None,
                }
            }
        };
        Ok(Done {
            outputs,
            phases,
            promise,
            predicted: self.predicted.clone(),
            cut: cut.unwrap_or_else(|| self.cut.clone()),
            and_gates: job.program.and_gates() * self.executions,
            recovered,
            made: stocked.then_some(made),
        })
    }
}

/// A party that knows what it will do.
pub trait Ready {
    /// Returns what a garbler proposes, if it has a choice.
    fn offer(&self) -> Option<Offer>;

    /// Answers a visitor, who compares all that can be compared without a run. Returns what both agree on.
    ///
    /// # Errors
    /// [`Error::Mismatch`] with what differs; [`Error::Stock`] if stores do not go together.
    fn compare(&self, own: &Sheet, met: &mut Met) -> Result<String, Error>;

    /// Takes what both parties make masks of.
    ///
    /// # Errors
    /// If this party cannot.
    fn settle(&mut self, _cot: Cot) -> Result<(), Failure> {
        Ok(())
    }

    /// Runs the protocol with this party's input.
    ///
    /// # Errors
    /// What the protocol's are.
    fn run(&mut self, channel: Channel, input: &[bool], quiet: bool) -> Result<Done, Error>;
}

/// What a run gave, whatever its protocol.
pub struct Done {
    pub outputs: Vec<bool>,
    pub phases: Vec<PhaseReport>,
    /// The promise of the run.
    pub promise: Promise,
    /// What was predicted of the run, likewise; null if nothing was.
    pub predicted: Value,
    /// Into which components the program was cut.
    pub cut: Cut,
    /// Of all executions.
    pub and_gates: u64,
    /// Depends on the evaluator's input, where the garbler cheats: for the audit file alone.
    pub recovered: bool,
    /// Where there is stock: what it lacked, in words.
    pub made: Option<Option<String>>,
}
