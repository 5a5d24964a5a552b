//! DUPLO (Kolesnikov, Nielsen, Rosulek, Trieu, Trifiletti, CCS 2017): secure against a malicious party, for
//! components of any size. Appendix A of the paper is the protocol. The module of each step describes its
//! deviations from the paper, and their reasons.
//!
//! The two functions [`garbler`] and [`evaluator`] are the whole protocol; their calls are the paper's
//! phases. `phases` has the parts of each phase in order, for these two functions and for sessions that run
//! the phases one by one or from stock:
//!
//! | phase | what happens | module |
//! | --- | --- | --- |
//! | setup | base OTs both ways, commitments to the offsets Δ_ka and Δ_ot | `setup` |
//! | preprocess | components are garbled, committed to, checked by cut-and-choose, put into buckets | `preprocess` |
//! | prepare | key authenticators for every wire between components, checked likewise | `prepare` |
//! | build | slots are soldered into the program; OTs for the evaluator's input | `build` |
//! | evaluate | inputs become labels; the evaluator evaluates every copy of every bucket | `evaluate` |
//! | decode | labels become outputs; the garbler's input is recovered if it cheated | `decode` |
#![forbid(unsafe_code)]

#[cfg(any(test, feature = "adversary"))]
pub mod adversary;
mod authenticators;
mod batch;
mod build;
mod challenge;
mod cheat;
mod chunked;
mod claims;
pub mod cost;
mod decode;
mod evaluate;
mod hooks;
mod input_ots;
mod instance;
mod items;
mod kept;
mod layout;
pub mod memory;
pub mod msg;
mod ots;
mod parameters;
mod party;
mod phases;
mod prepare;
mod preprocess;
mod preprocessed;
mod proposal;
mod report;
mod request;
mod sessions;
mod setup;
mod steps;
mod stock;
mod stored;
mod tables;
#[cfg(test)]
mod tests;

use brickwork_base::Error;
use brickwork_circuit::Party;
use brickwork_primitives::commit;
use brickwork_protocol::{AgreedJob, Metered, Observer, SessionProtocol, Terms};
use brickwork_wire::{Channel, Departures};

pub use cheat::Cheat;
use hooks::{Hooks, Point};
pub use instance::Commitments;
pub use ots::Combinations;
use parameters::ot_binding;
pub use parameters::{ItemCost, Parameters, Prices};
pub use party::{Evaluator, Garbler};
use party::{EvaluatorMaterial, GarblerMaterial};
use phases::Flights;
pub use proposal::{Decompose, MAX_DECOMPOSITION_BYTES, Proposal, ProposalLimits};
pub use report::{Aside, Duplo, Report, StepReport};
pub use request::Request;
pub use sessions::{EvaluatorBuilt, EvaluatorEvaluated, GarblerBuilt, GarblerEvaluated};
use setup::{Begun, SetupRequest};
pub use steps::{Secret, Step};
use stock::ProgramMaterial;
pub use stored::{
    BatchInventory, CutInventory, FromStock, GivenUpInventory, Inventory, Lacking, MadeBy, Maker,
    Preprocessed, Stocked, in_stock, purpose_of_workers,
};

impl SessionProtocol for Duplo {
    const NAME: &'static str = "duplo";
    const CODE: [u8; 2] = *b"DU";
    const PHASES: &'static [&'static str] =
        &["setup", "preprocess", "prepare", "build", "evaluate", "decode"];
    const DEPARTURES: [Departures; 2] = [
        Departures { input: &[msg::INPUT_LABELS], outputs: &[msg::INPUT_LABELS] },
        Departures { input: &[msg::MASKED_INPUT], outputs: &[msg::OUTPUT_LABELS] },
    ];
    type Proposal = Proposal;
    type Limits<'a> = ProposalLimits<'a>;
    type Aside = Aside;

    fn garbler(
        channel: Channel,
        job: &AgreedJob,
        proposal: &Proposal,
        input: &[bool],
        observer: Box<dyn Observer>,
    ) -> Result<Report, Error> {
        garbler_with::<Commitments>(channel, job, proposal.checked(job)?, input, observer, Hooks::none())
    }

    fn evaluator(
        channel: Channel,
        job: &AgreedJob,
        limits: &ProposalLimits<'_>,
        input: &[bool],
        observer: Box<dyn Observer>,
    ) -> Result<Report, Error> {
        evaluator_with::<Commitments>(channel, job, limits, input, observer, Hooks::none())
    }
}

/// Runs the protocol as the garbler, which proposes the [standard parameters](Parameters::choose). `input`
/// has the bits of its input ports, in order.
///
/// # Errors
/// [`Error::Mismatch`] if the peer wants a different run, [`Error::Peer`] if it cheats, [`Error::Io`] if it
/// goes away, [`Error::Input`] if `input` has the wrong length.
pub fn garbler(
    channel: Channel,
    job: &AgreedJob,
    input: &[bool],
    observer: impl Observer + 'static,
) -> Result<Report, Error> {
    let parameters = Parameters::choose(&job.program, job.security)?;
    garbler_proposing(channel, job, &Proposal::given(job, parameters), input, observer)
}

/// Does the same as [`garbler`], with another cut of the program or other parameters.
///
/// # Errors
/// As [`garbler`], and [`Error::Mismatch`] if the parameters are not for this program or exceed 2^-s.
pub fn garbler_proposing(
    channel: Channel,
    job: &AgreedJob,
    proposal: &Proposal,
    input: &[bool],
    observer: impl Observer + 'static,
) -> Result<Report, Error> {
    Duplo::garbler(channel, job, proposal, input, Box::new(observer))
}

/// Runs the protocol as the evaluator, which accepts all proposed parameters that keep the bound for the
/// program. `input` has the bits of its input ports, in order.
///
/// # Errors
/// As [`garbler`].
pub fn evaluator(
    channel: Channel,
    job: &AgreedJob,
    input: &[bool],
    observer: impl Observer + 'static,
) -> Result<Report, Error> {
    evaluator_within(channel, job, &ProposalLimits::default(), input, observer)
}

/// Does the same as [`evaluator`], but also accepts other cuts of the program, and refuses proposals beyond
/// `limits`.
///
/// # Errors
/// As [`garbler`].
pub fn evaluator_within(
    channel: Channel,
    job: &AgreedJob,
    limits: &ProposalLimits,
    input: &[bool],
    observer: impl Observer + 'static,
) -> Result<Report, Error> {
    Duplo::evaluator(channel, job, limits, input, Box::new(observer))
}

/// Does the same as [`garbler`], with hooks. The numbers beside the calls are the crossings of the link.
pub(crate) fn garbler_with<C: commit::CommitmentScheme>(
    channel: Channel,
    job: &AgreedJob,
    proposal: Proposal,
    input: &[bool],
    observer: Box<dyn Observer>,
    hooks: Hooks,
) -> Result<Report, Error> {
    Step::from(&job.program).check_input(Party::Garbler, input)?;
    let (terms, Proposal { program, parameters }) = (job.terms(), &proposal);
    let request = SetupRequest::proposed(job, &proposal, &terms);
    let run = Metered::new::<Duplo>(channel, Party::Garbler, observer);
    let (mut party, ots) = setup::garbler::<C>(run, &request, hooks)?; // 1, 2, 3
    let outputs = party.pool.clone().enter(|| {
        let (party, request) = (&mut party, Request::of(program));
        let (preprocessed, openings) =
            phases::garbler::preprocess(party, Some((&request, parameters)), ots, true)?; // 3 to 7
        let material = (ProgramMaterial::of(program, preprocessed), openings);
        let built = phases::garbler::Built::build(party, program, material, Flights::Whole)?; // 7
        let evaluated = built.evaluate(party, program, input)?; // 8 to 11
        evaluated.decode(party, program) // 12
    })?;
    Ok(Report {
        outputs,
        phases: party.run.finish()?,
        promise: parameters.promise(program),
        proposal,
        aside: Aside::default(),
    })
}

/// Does the same as [`evaluator`], with hooks. The numbers beside the calls are the crossings of the link.
pub(crate) fn evaluator_with<C: commit::CommitmentScheme>(
    channel: Channel,
    job: &AgreedJob,
    limits: &ProposalLimits,
    input: &[bool],
    observer: Box<dyn Observer>,
    hooks: Hooks,
) -> Result<Report, Error> {
    Step::from(&job.program).check_input(Party::Evaluator, input)?;
    let terms = job.terms();
    let binding = hooks::parameters(&hooks)
        .map_or(ot_binding(job.security.into()), |unsafe_ones| unsafe_ones.ot_binding);
    let (run, request) = (
        Metered::new::<Duplo>(channel, Party::Evaluator, observer),
        SetupRequest::open(&job.program, binding, &terms),
    );
    let accept =
        |run: &mut Metered, hooks: &Hooks, answer: &_| Proposal::accept(run, hooks, answer, job, limits);
    let Begun { mut core, offsets, ots, agreed: proposal } =
        setup::evaluator::<C, _>(run, &request, hooks, accept)?; // 1, 2, 3
    let Proposal { program, parameters } = &proposal;
    let (party, (outputs, recovered)) = core.pool.clone().enter(|| {
        let request = Request::of(program);
        let (offsets, preprocessed, opened) =
            phases::evaluator::preprocess(&mut core, Some((&request, parameters)), ots, offsets)?; // 3 to 7
        let mut party = offsets.of_session(core);
        let material = (preprocessed.map(|items| ProgramMaterial::of(program, items)), opened);
        let built = phases::evaluator::Built::build(&mut party, program, material, Flights::Whole)?; // 7
        let evaluated = built.evaluate(&mut party, program, input)?; // 8 to 11
        let outputs = evaluated.decode(&mut party, program)?; // 12
        Ok::<_, Error>((party, outputs))
    })?;
    Ok(Report {
        outputs,
        phases: party.core.run.finish()?,
        promise: parameters.promise(program),
        proposal,
        aside: Aside { recovered },
    })
}
