//! A protocol as the engine sees it: what a request may ask of it, its price, and its run.

use brickwork_base::Error as ProtocolError;
use brickwork_circuit::{self as circuit, Party};
use brickwork_primitives::ot::Cot;
use brickwork_session::Observer;
use brickwork_session::{Model, PhaseReport, Promise, Protocol};
use brickwork_stock::Store;
use brickwork_wire::Channel;
use brickwork_wire::tls::Met;

use crate::cut::Cut;
use crate::engine::Watch;
use crate::engine::meeting::{Masks, Offer, Sheet};
use crate::engine::request::{Parameters, RunRequest};
use crate::engine::stocks::Stocks;
use crate::engine::work::{Estimate, Work};
use crate::failure::Error;
use crate::plan::Cost;
use crate::program::Program;

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
    fn allows(&self, request: &RunRequest) -> Result<(), Error>;

    /// Returns what a run costs and promises, where the protocol leaves nothing to choose; none where the
    /// garbler proposes how it is done, which is then what `plan` compares.
    ///
    /// # Errors
    /// If the program cannot be executed so often.
    fn only_way(
        &self,
        program: &circuit::Program,
        executions: u32,
        request: &RunRequest,
        estimate: &Estimate,
    ) -> Result<Option<Only>, Error>;

    /// Returns what a run of the given program costs and promises, done as the garbler would propose it.
    ///
    /// # Errors
    /// As [`Played::only_way`].
    fn priced(&self, program: &Program, request: &RunRequest, estimate: &Estimate) -> Result<Only, Error> {
        let executions = request.parameters.executions.unwrap_or(1);
        let only = self.only_way(program.given(), executions, request, estimate)?;
        only.ok_or_else(|| Error::fault("a protocol with a choice prices it"))
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
        _request: &RunRequest,
        _estimate: &Estimate,
    ) -> Result<Option<Only>, Error> {
        Ok(None)
    }

    /// Returns what this party would make masks of, where the protocol has masks; a garbler proposes it.
    ///
    /// # Errors
    /// As [`Played::only_way`].
    fn masks(&self, _work: &Work) -> Result<Option<Masks>, Error> {
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
    fn program(&self, given: &circuit::Program, executions: Option<u32>) -> Result<circuit::Program, Error>;

    /// Gets a party ready, as far as that is possible without its peer.
    ///
    /// # Errors
    /// All that would make the run fail later.
    fn ready<'w>(&self, work: &'w Work<'w>, store: Option<Store>) -> Result<Box<dyn Ready + 'w>, Error>;
}

/// The only way in which a run can be done.
pub struct Only {
    pub cost: Cost,
    /// Its promise.
    pub promise: Promise,
    /// The reason for the OTs of masks, if they were chosen.
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
pub fn says_nothing(protocol: &str, flags: &[(bool, &str, &str)]) -> Result<(), Error> {
    match flags.iter().find(|(given, ..)| *given) {
        Some((_, flag, why)) => Err(Error::usage(
            format!("{flag} says nothing with --protocol {protocol}: {why}"),
            format!("leave {flag} out, or take --protocol duplo"),
        )),
        None => Ok(()),
    }
}

/// The result of a run from stock.
pub struct Taken {
    pub outputs: Vec<bool>,
    pub phases: Vec<PhaseReport>,
    /// The promise of the run.
    pub promise: Promise,
    /// As [`Done::recovered`].
    pub recovered: bool,
    /// The items that were lacking and were made for it, in words.
    pub made: Option<String>,
    /// Into which components the program was cut, where what is in stock decides it.
    pub cut: Option<Cut>,
}

/// Runs a protocol on a store.
pub type Take = fn(&Work, &Store, Channel, &[bool], Box<dyn Observer>) -> Result<Taken, ProtocolError>;

/// A party of a protocol that takes what it is offered, and makes all it needs within the run unless it has
/// stock.
pub struct Member<'w, P: Protocol, L> {
    pub work: &'w Work<'w>,
    /// The proposal of a garbler, which an evaluator takes.
    pub proposal: P::Proposal,
    /// The limits of an evaluator.
    pub limits: L,
    /// Into which components the program is cut.
    pub cut: Cut,
    /// How often the program is executed; 1 if the program is that of all executions.
    pub executions: u64,
    /// The predicted cost.
    pub predicted: Option<Cost>,
    /// Tells whether the garbler cheated and the evaluator computed its outputs from the garbler's input.
    pub recovered: fn(&P::Aside) -> bool,
    /// Where its stock is, if it takes from one.
    pub stock: Option<(Store, Take)>,
}

impl<L, P: for<'a> Protocol<Limits<'a> = L>> Ready for Member<'_, P, L> {
    fn offer(&self) -> Option<Offer> {
        None
    }

    fn compare(&self, own: &Sheet, met: &mut Met) -> Result<String, ProtocolError> {
        let store = self.stock.as_ref().map(|(store, _)| store);
        self.work.compare(own, met, Some(&self.work.job.program), store)
    }

    fn run(&mut self, channel: Channel, input: &[bool], watch: &Watch) -> Result<Done, ProtocolError> {
        let observer = watch(P::PHASES);
        let Work { party, job, .. } = self.work;
        let stocked = self.stock.is_some();
        let Taken { outputs, phases, promise, recovered, made, cut } = match &self.stock {
            Some((store, take)) => take(self.work, store, channel, input, observer)?,
            None => {
                let observer = observer;
                let report = match party {
                    Party::Garbler => P::garbler(channel, job, &self.proposal, input, observer)?,
                    Party::Evaluator => P::evaluator(channel, job, &self.limits, input, observer)?,
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
    /// [`ProtocolError::Mismatch`] with what differs; [`ProtocolError::Stock`] if stores do not go together.
    fn compare(&self, own: &Sheet, met: &mut Met) -> Result<String, ProtocolError>;

    /// Takes what both parties make masks of.
    ///
    /// # Errors
    /// If this party cannot.
    fn settle(&mut self, _cot: Cot) -> Result<(), Error> {
        Ok(())
    }

    /// Runs the protocol with this party's input.
    ///
    /// # Errors
    /// Those of the protocol.
    fn run(&mut self, channel: Channel, input: &[bool], watch: &Watch) -> Result<Done, ProtocolError>;
}

/// The result of a run, of any protocol.
pub struct Done {
    pub outputs: Vec<bool>,
    pub phases: Vec<PhaseReport>,
    /// The promise of the run.
    pub promise: Promise,
    /// The predicted cost, if there was a prediction.
    pub predicted: Option<Cost>,
    /// Into which components the program was cut.
    pub cut: Cut,
    /// Of all executions.
    pub and_gates: u64,
    /// Depends on the evaluator's input, where the garbler cheats: for the audit file alone.
    pub recovered: bool,
    /// Where there is stock: what it lacked, in words.
    pub made: Option<Option<String>>,
}
