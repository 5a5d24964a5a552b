//! The interface between the engine and a protocol: the flags that it takes, its price, and its run.

use brickwork_base::{Cheat, Error as ProtocolError};
use brickwork_circuit::{self as circuit, Party};
use brickwork_primitives::ot::Cot;
use brickwork_protocol::{Model, PhaseReport, Promise, SessionProtocol};
use brickwork_store::Store;
use brickwork_wire::Channel;
use brickwork_wire::tls::Met;

use crate::cut::Cut;
use crate::engine::Observe;
use crate::engine::meeting::{MaskOts, Offer, Sheet};
use crate::engine::request::{AgreedParameters, RunRequest};
use crate::engine::sessions::Begin;
use crate::engine::stocks::{FromStock, ProgramRun, Stocks, UngreetedConnection};
use crate::engine::work::{PartyWork, RunEstimate};
use crate::failure::Error;
use crate::plan::Cost;
use crate::program::Program;

/// The implementation of a protocol for the engine.
pub trait EngineProtocol: Sync {
    /// Returns the kind of adversary against which it is secure.
    fn model(&self) -> Model;

    /// Returns the warning that users must see before they trust a run to it.
    fn warning(&self) -> Option<&'static str> {
        None
    }

    /// Returns the checks that a peer can fail only in this protocol.
    fn checks(&self) -> Vec<Cheat> {
        Vec::new()
    }

    /// Returns the first phase that needs an input of a party: this phase and all later ones are online.
    fn online_from(&self) -> &'static str;

    /// Returns the complete parameter sets for this protocol that the user's wishes allow. Each set is
    /// `wishes`, which name this protocol, with a value for each choice that was open.
    fn ways(&self, wishes: &AgreedParameters) -> Vec<AgreedParameters> {
        vec![wishes.clone()]
    }

    /// Refuses flags that have no effect in this protocol, so that no user relies on them.
    ///
    /// # Errors
    /// A mistake of usage that names the flag.
    fn allows(&self, request: &RunRequest) -> Result<(), Error>;

    /// Returns the cost and the promise of a run, if the protocol has no choice left. It returns none if the
    /// garbler has a choice; then `plan` compares the possible proposals.
    ///
    /// # Errors
    /// If the program cannot be executed that often.
    fn only_way(
        &self,
        program: &circuit::Program,
        executions: u32,
        request: &RunRequest,
        estimate: &RunEstimate,
    ) -> Result<Option<Only>, Error>;

    /// Returns the cost and the promise of a run of the given program, with the parameters that the garbler
    /// would propose.
    ///
    /// # Errors
    /// As [`EngineProtocol::only_way`].
    fn priced(&self, program: &Program, request: &RunRequest, estimate: &RunEstimate) -> Result<Only, Error> {
        let executions = request.parameters.executions.unwrap_or(1);
        let only = self.only_way(program.given(), executions, request, estimate)?;
        only.ok_or_else(|| Error::fault("a protocol with a choice of cuts must predict their costs"))
    }

    /// Returns the same as [`EngineProtocol::only_way`], for a run that takes as many items as possible from
    /// a store. It returns none if the cost is not known beforehand.
    ///
    /// # Errors
    /// As [`EngineProtocol::only_way`].
    fn only_way_from_stock(
        &self,
        _program: &circuit::Program,
        _executions: u32,
        _request: &RunRequest,
        _estimate: &RunEstimate,
    ) -> Result<Option<Only>, Error> {
        Ok(None)
    }

    /// Returns the OTs that a party with this request would use for masks, if the protocol has masks. A
    /// garbler proposes them.
    ///
    /// # Errors
    /// As [`EngineProtocol::only_way`].
    fn masks(&self, _given: &Program, _request: &RunRequest) -> Result<Option<MaskOts>, Error> {
        Ok(None)
    }

    /// Returns whether users choose the OTs of masks.
    fn has_cots(&self) -> bool {
        false
    }

    /// Returns the protocol's own flags that both parties must give alike.
    fn way(&self, _: &AgreedParameters) -> String {
        String::new()
    }

    /// Returns the functions for its stock, if it keeps one.
    fn stocks(&self) -> Option<&dyn Stocks> {
        None
    }

    /// Returns the function that begins a session in memory, if the protocol has such sessions.
    fn sessions(&self) -> Option<Begin> {
        None
    }

    /// Returns the job for both parties to compare and run: the program and its number of executions.
    ///
    /// # Errors
    /// If the executions are too many.
    fn program(&self, given: &circuit::Program, executions: Option<u32>) -> Result<circuit::Program, Error>;

    /// Does as much of a party's preparation as is possible without its peer.
    ///
    /// # Errors
    /// Any error that would otherwise stop the run later.
    fn ready<'w>(
        &self,
        work: &'w PartyWork<'w>,
        store: Option<Store>,
    ) -> Result<Box<dyn PreparedRun + 'w>, Error>;
}

/// The cost and the promise of a run without choices.
pub struct Only {
    pub cost: Cost,
    pub promise: Promise,
    /// The reason for the OTs of the masks, if they were chosen.
    pub cot_reason: Option<String>,
}

impl Only {
    /// Makes the value for a run in which nothing was chosen.
    pub fn new(cost: Cost, promise: Promise) -> Self {
        Only { cost, promise, cot_reason: None }
    }
}

/// Refuses the first flag that was given and has no effect with this protocol. Each row tells whether the
/// flag was given, its name, and the reason why it has no effect.
///
/// # Errors
/// A mistake of usage that names the flag.
pub fn says_nothing(protocol: &str, flags: &[(bool, &str, &str)]) -> Result<(), Error> {
    match flags.iter().find(|(given, ..)| *given) {
        Some((_, flag, why)) => Err(Error::usage(
            format!("{flag} has no effect with --protocol {protocol}: {why}"),
            format!("leave {flag} out, or give --protocol duplo"),
        )),
        None => Ok(()),
    }
}

/// A party that is ready to run a protocol in which the evaluator accepts the garbler's proposal. All items
/// are made within the run, unless it has stock.
pub struct ReadyParty<'w, P: SessionProtocol, L> {
    pub work: &'w PartyWork<'w>,
    /// The garbler's proposal, which an evaluator accepts.
    pub proposal: P::Proposal,
    /// The limits within which an evaluator accepts.
    pub limits: L,
    /// The cut of the program into components.
    pub cut: Cut,
    /// The number of executions; 1 if the program already contains all of them.
    pub executions: u64,
    /// The predicted cost.
    pub predicted: Option<Cost>,
    /// Returns whether the evaluator recovered: it detected a cheat and computed the outputs from the
    /// garbler's input.
    pub recovered: fn(&P::Aside) -> bool,
    /// The store of the run, if the run uses stock.
    pub stock: Option<Store>,
}

impl<L, P: for<'a> SessionProtocol<Limits<'a> = L>> PreparedRun for ReadyParty<'_, P, L> {
    fn offer(&self) -> Option<Offer> {
        None
    }

    fn compare(&self, own: &Sheet, met: &mut Met) -> Result<String, ProtocolError> {
        self.work.compare(own, met, Some(&self.work.job.program), self.stock.as_ref())
    }

    fn run(&mut self, channel: Channel, input: &[bool], watch: &Observe) -> Result<RunResult, ProtocolError> {
        let PartyWork { party, job, request, stocks, .. } = self.work;
        let (outputs, phases, promise, recovered, made, cut) = match &self.stock {
            Some(store) => {
                let none = || ProtocolError::Usage("this protocol keeps no stock".into());
                let (stocks, cot) = (stocks.ok_or_else(none)?, request.parameters.cot());
                let (party, terms) = (*party, &job.terms());
                let line = stocks.open(UngreetedConnection { party, channel, store, terms, cot, watch })?;
                let executions = self.work.executions().unwrap_or(1);
                let run = ProgramRun { program: &job.program, executions, cut: &request.cut };
                let (done, line) = line.run(&run, input, request.lacking)?;
                let FromStock { outputs, kept: _, recovered, promise, made } = done;
                let cut = line.cut(&promise);
                (outputs, line.close()?, promise, recovered, Some(made), cut)
            }
            None => {
                let observer = watch(P::PHASES);
                let report = match party {
                    Party::Garbler => P::garbler(channel, job, &self.proposal, input, observer)?,
                    Party::Evaluator => P::evaluator(channel, job, &self.limits, input, observer)?,
                };
                let recovered = (self.recovered)(&report.aside);
                (report.outputs, report.phases, report.promise, recovered, None, None)
            }
        };
        Ok(RunResult {
            outputs,
            phases,
            promise,
            predicted: self.predicted.clone(),
            cut: cut.unwrap_or_else(|| self.cut.clone()),
            and_gates: job.program.and_gates() * self.executions,
            recovered,
            made,
        })
    }
}

/// A party that is ready to run.
pub trait PreparedRun {
    /// Returns the garbler's proposal, if there is a choice.
    fn offer(&self) -> Option<Offer>;

    /// Answers a visitor by comparing everything that can be compared without a run. Returns, in words, the
    /// run that both agree on.
    ///
    /// # Errors
    /// [`ProtocolError::Mismatch`] with the difference; [`ProtocolError::Stock`] if the two stores are no
    /// pair.
    fn compare(&self, own: &Sheet, met: &mut Met) -> Result<String, ProtocolError>;

    /// Sets the OTs that both parties use for masks.
    ///
    /// # Errors
    /// If this party cannot use them.
    fn settle(&mut self, _cot: Cot) -> Result<(), Error> {
        Ok(())
    }

    /// Runs the protocol with this party's input.
    ///
    /// # Errors
    /// Those of the protocol.
    fn run(&mut self, channel: Channel, input: &[bool], watch: &Observe) -> Result<RunResult, ProtocolError>;
}

/// The result of a run, of any protocol.
pub struct RunResult {
    pub outputs: Vec<bool>,
    pub phases: Vec<PhaseReport>,
    /// The promise of the run.
    pub promise: Promise,
    /// The predicted cost, if there was a prediction.
    pub predicted: Option<Cost>,
    /// The cut of the program into components.
    pub cut: Cut,
    /// The AND gates of all executions.
    pub and_gates: u64,
    /// True if the evaluator recovered from a cheat. It depends on the evaluator's input, so only the
    /// notes about recovery may show it.
    pub recovered: bool,
    /// The items that were missing in the stock, in words. The outer `None` stands for a run without stock.
    pub made: Option<Option<String>>,
}
