//! The protocol with authenticated masks in the engine: secure against a cheater, and each component is
//! garbled once.

use brickwork_authenticated::{self as authenticated, Authenticated, Lacking, Preprocessed, Stocked};
use brickwork_base::{Cheat, Error as ProtocolError};
use brickwork_circuit::{Party, Program};
use brickwork_duplo::cost::AS_GOOD_AS_FASTEST;
use brickwork_primitives::ot::Cot;
use brickwork_protocol::steps::Step;
use brickwork_protocol::{Model, PhaseReport, Promise, SessionProtocol};
use brickwork_store::Store;
use brickwork_wire::Channel;
use brickwork_wire::tls::Met;

use super::seam::{EngineProtocol, Only, PreparedRun, ReadyParty, RunResult, says_nothing};
use crate::cut::{Cut, CutChoice};
use crate::engine::Observe;
use crate::engine::meeting::{MaskOts, Offer, Sheet};
use crate::engine::request::{AgreedParameters, BucketChoice, RunRequest};
use crate::engine::sessions::{self, Begin};
use crate::engine::stocks::{
    self, FromStock, NextState, OwnStore, ProgramRun, Requested, StockLine, StockOptions, StockRequest,
    Stocks, UngreetedConnection, WantedProgram, next, ran,
};
use crate::engine::work::{PartyWork, RunEstimate, fits_here};
use crate::failure::Error;
use crate::plan::Cost;
use crate::program::repeated;

impl EngineProtocol for Authenticated {
    fn model(&self) -> Model {
        Model::Malicious
    }

    fn checks(&self) -> Vec<Cheat> {
        authenticated::Cheat::ALL.iter().map(|&check| check.into()).collect()
    }

    fn online_from(&self) -> &'static str {
        "build"
    }

    fn has_cots(&self) -> bool {
        true
    }

    fn way(&self, parameters: &AgreedParameters) -> String {
        parameters.cot.map_or(String::new(), |cot| format!(" --cot {}", cot.name()))
    }

    fn ways(&self, wishes: &AgreedParameters) -> Vec<AgreedParameters> {
        Cot::ALL.map(|cot| AgreedParameters { cot: Some(cot), ..wishes.clone() }).into()
    }

    fn allows(&self, request: &RunRequest) -> Result<(), Error> {
        let parameters = &request.parameters;
        let cut = !matches!(request.cut, CutChoice::Fastest | CutChoice::Fixed(Cut::Given));
        let buckets = request.buckets == BucketChoice::Standard;
        says_nothing(
            Authenticated::NAME,
            &[
                (
                    parameters.commitments,
                    "--commitments",
                    "this protocol has MACs on masks instead of commitments",
                ),
                (
                    parameters.linking.is_some(),
                    "--linking",
                    "this protocol always solders wires by their masks",
                ),
                (buckets, "--buckets", "this protocol always takes the cheapest buckets for the security"),
                (cut, "--cut", "this protocol garbles each component once, so a cut changes nothing"),
                (request.resources.lanes > 1, "--lanes", "this protocol uses one connection only"),
                (request.drawn, "--svg", "this protocol has no choice that a figure could show"),
            ],
        )
    }

    fn only_way(
        &self,
        program: &Program,
        executions: u32,
        request: &RunRequest,
        estimate: &RunEstimate,
    ) -> Result<Option<Only>, Error> {
        let (program, parameters) = (repeated(program, Some(executions))?, &request.parameters);
        let Priced { cost, promise, reason, .. } =
            priced(&program, parameters.security(), parameters.cot, estimate)?;
        Ok(Some(Only { cost, promise, cot_reason: reason }))
    }

    fn only_way_from_stock(
        &self,
        program: &Program,
        executions: u32,
        request: &RunRequest,
        estimate: &RunEstimate,
    ) -> Result<Option<Only>, Error> {
        let (program, parameters) = (repeated(program, Some(executions))?, &request.parameters);
        let (security, RunEstimate { machine, link, .. }) = (parameters.security(), estimate);
        // The prediction assumes that both stores share one epoch, because items that earlier runs left are
        // used first.
        let cost = authenticated::cost::predict_from_stock(&program, security, 1, machine, link)?;
        let promised = authenticated::stock_promise(&program, security, parameters.cot())?;
        Ok(Some(Only::new(cost, promised)))
    }

    fn masks(&self, given: &crate::program::Program, request: &RunRequest) -> Result<Option<MaskOts>, Error> {
        let (cot, said) = wish(request);
        let program = self.program(given.given(), request.parameters.executions)?;
        let Priced { cot, .. } =
            priced(&program, request.parameters.security(), cot, &RunEstimate::of(request)?)?;
        Ok(Some(MaskOts { protocol: Authenticated::NAME.into(), cot, said }))
    }

    fn stocks(&self) -> Option<&dyn Stocks> {
        Some(self)
    }

    fn sessions(&self) -> Option<Begin> {
        Some(sessions::authenticated)
    }

    fn program(&self, given: &Program, executions: Option<u32>) -> Result<Program, Error> {
        repeated(given, executions)
    }

    fn ready<'w>(
        &self,
        work: &'w PartyWork<'w>,
        store: Option<Store>,
    ) -> Result<Box<dyn PreparedRun + 'w>, Error> {
        let estimate = RunEstimate::of(work.request)?;
        let Priced { cot, cost, .. } =
            priced(&work.job.program, work.job.security, wish(work.request).0, &estimate)?;
        fits_here(&cost, work.party, work.request.resources.max_ram)?;
        // A run from stock has no predicted bytes, because they depend on what remains in the store.
        let predicted = store.is_none().then_some(cost);
        let member = ReadyParty::<Authenticated, Cot> {
            work,
            proposal: cot,
            limits: cot,
            cut: Cut::Given,
            executions: 1,
            predicted,
            recovered: |()| false,
            stock: store,
        };
        Ok(Box::new(Masked { member, estimate }))
    }
}

/// The OTs from which a party chooses if no user names any. The PCG is not among them, because it needs the
/// additional assumption LPN.
const CHOSEN_FROM: [Cot; 4] = [Cot::Extension, Cot::SoftSpoken2, Cot::SoftSpoken4, Cot::SoftSpoken8];

/// The price of a run with these OTs for its masks, and the reason if the OTs were chosen.
struct Priced {
    cot: Cot,
    cost: Cost,
    promise: Promise,
    reason: Option<String>,
}

/// Prices a run with the named OTs. If none are named, it chooses among the OTs that are at most slightly
/// slower than the fastest ones: those that send the fewest bytes.
fn priced(
    program: &Program,
    security: u32,
    said: Option<Cot>,
    estimate: &RunEstimate,
) -> Result<Priced, ProtocolError> {
    let RunEstimate { machine, link, .. } = estimate;
    let price = |cot| {
        let (cost, promise) = authenticated::cost::predict(program, security, cot, machine, link)?;
        Ok::<_, ProtocolError>(Priced { cot, cost, promise, reason: None })
    };
    if let Some(cot) = said {
        return price(cot);
    }
    let all = CHOSEN_FROM.into_iter().map(price).collect::<Result<Vec<_>, _>>()?;
    let fastest = all.iter().map(|one| one.cost.seconds()).fold(f64::INFINITY, f64::min);
    let good = all.into_iter().filter(|one| one.cost.seconds() <= AS_GOOD_AS_FASTEST * fastest);
    let chosen = good.min_by_key(|one| one.cost.bytes());
    let chosen =
        chosen.ok_or_else(|| ProtocolError::Usage("no predicted time of this run is a number".into()))?;
    let reason = match chosen.cost.seconds() > fastest {
        false => "these OTs are predicted to be the fastest on this line".into(),
        true => format!(
            "these OTs send the fewest bytes of all that take at most {:.0} % longer than the fastest on \
             this line",
            100.0 * (AS_GOOD_AS_FASTEST - 1.0)
        ),
    };
    Ok(Priced { reason: Some(reason), ..chosen })
}

/// Returns the OTs that the user of this party named, and whether the peer has to take the same. A run from a
/// store does not choose OTs for its own connection, because an epoch serves many runs.
fn wish(request: &RunRequest) -> (Option<Cot>, bool) {
    let parameters = &request.parameters;
    match request.stored {
        true => (Some(parameters.cot()), true),
        false => (parameters.cot, parameters.cot.is_some()),
    }
}

/// A party that has not yet agreed with its peer on the OTs of masks.
struct Masked<'w> {
    member: ReadyParty<'w, Authenticated, Cot>,
    estimate: RunEstimate,
}

impl PreparedRun for Masked<'_> {
    fn offer(&self) -> Option<Offer> {
        self.member.offer()
    }

    fn compare(&self, own: &Sheet, met: &mut Met) -> Result<String, ProtocolError> {
        self.member.compare(own, met)
    }

    fn settle(&mut self, cot: Cot) -> Result<(), Error> {
        let ReadyParty { work, predicted, proposal, limits, .. } = &mut self.member;
        if *proposal != cot {
            let priced = priced(&work.job.program, work.job.security, Some(cot), &self.estimate)?;
            fits_here(&priced.cost, work.party, work.request.resources.max_ram)?;
            (*proposal, *limits, *predicted) = (cot, cot, Some(priced.cost));
        }
        Ok(())
    }

    fn run(&mut self, channel: Channel, input: &[bool], watch: &Observe) -> Result<RunResult, ProtocolError> {
        self.member.run(channel, input, watch)
    }
}

impl Stocks for Authenticated {
    fn has(
        &self,
        (store, party, terms): OwnStore,
        (program, ..): WantedProgram,
    ) -> Result<bool, ProtocolError> {
        authenticated::in_stock(store, party, terms, program)
    }

    fn without_effect(&self, wishes: &StockOptions) -> Vec<(bool, &'static str, &'static str)> {
        let no_ots = wishes.no_ots && !wishes.no_inputs;
        let why = "the masks of inputs need the same OTs as all other masks";
        vec![wishes.components_row(), wishes.build_row(), (no_ots, "--no-ots", why)]
    }

    /// Counts the components to make, and the masks for the inputs of both parties.
    fn asked(&self, requested: &[Requested], wishes: &StockOptions) -> Result<StockRequest, Error> {
        let (mut all, mut components) = (authenticated::Request::default(), Vec::new());
        for ((file, _), (program, requested)) in &stocks::by_file(requested) {
            let executions = stocks::add(&mut components, file, program, requested)?;
            let inputs = program.input_width(Party::Garbler) + program.input_width(Party::Evaluator);
            all.inputs += if wishes.no_inputs { 0 } else { executions * inputs };
        }
        components.iter().for_each(|(component, count)| all.add(component, *count));
        stocks::not_too_many(all.inputs)?;
        Ok(StockRequest::new(vec![format!("{all} for authenticated runs")], all))
    }

    fn open(&self, opening: UngreetedConnection) -> Result<Box<dyn StockLine>, ProtocolError> {
        let UngreetedConnection { party, channel, store, terms, cot, watch } = opening;
        Ok(Box::new(Stocked::open(party, channel, store, terms, cot, watch(Authenticated::PHASES))?))
    }
}

impl StockLine for Stocked {
    fn make(self: Box<Self>, asked: &StockRequest) -> NextState<Preprocessed> {
        next(self.preprocess(asked.items()?))
    }

    fn run(self: Box<Self>, run: &ProgramRun, input: &[bool], lacking: Lacking) -> NextState<FromStock> {
        ran(Stocked::run(*self, run.program, input, lacking), |made| made.to_string())
    }

    fn step(self: Box<Self>, step: &Step, input: &[bool], lacking: Lacking) -> NextState<FromStock> {
        ran(Stocked::run(*self, step.clone(), input, lacking), |made| made.to_string())
    }

    fn close(self: Box<Self>) -> Result<Vec<PhaseReport>, ProtocolError> {
        Stocked::close(*self)
    }
}
