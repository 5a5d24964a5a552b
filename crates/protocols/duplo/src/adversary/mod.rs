//! For tests and the adversary: the protocol with hooks into a party's state, and a harness that plays
//! attacks. Only builds with the feature `adversary` have this module; no other module can make hooks that
//! alter anything.

pub mod harness;
pub mod parsers;

use super::Commitments;
use super::hooks;
pub use super::hooks::{Forced, Hooks, Point};
use super::proposal::CutMessage;
use super::{
    AgreedJob, Error, Maker, Parameters, Proposal, ProposalLimits, Report, Stocked, evaluator_with,
    garbler_with,
};
use brickwork_circuit::Party;
use brickwork_protocol::{Observer, Terms, Unobserved};
use brickwork_store::Store;
use brickwork_wire::Channel;

/// Does the same as [`super::garbler`], with hooks.
///
/// # Errors
/// As [`super::garbler`].
pub fn garbler(channel: Channel, job: &AgreedJob, input: &[bool], hooks: Hooks) -> Result<Report, Error> {
    let proposal = proposal(job, &hooks)?;
    garbler_with::<Commitments>(channel, job, proposal, input, Box::new(Unobserved), hooks)
}

/// Does the same as [`super::evaluator`], with hooks.
///
/// # Errors
/// As [`super::garbler`].
pub fn evaluator(channel: Channel, job: &AgreedJob, input: &[bool], hooks: Hooks) -> Result<Report, Error> {
    evaluator_with::<Commitments>(
        channel,
        job,
        &ProposalLimits::default(),
        input,
        Box::new(Unobserved),
        hooks,
    )
}

/// Does the same as [`Stocked::open`], with hooks.
///
/// # Errors
/// As [`Stocked::open`].
pub fn stocked(
    party: Party,
    channel: Channel,
    store: &Store,
    terms: &Terms,
    observer: impl Observer + 'static,
    hooks: Hooks,
) -> Result<Stocked, Error> {
    Stocked::open_with(party, channel, store, terms, &CutMessage::NONE, observer, hooks)
}

/// Does the same as [`Maker::works`], with hooks.
///
/// # Errors
/// As [`Maker::works`].
pub fn works(maker: Maker, peer: Channel, threads: usize, hooks: Hooks) -> Result<u32, Error> {
    maker.works_with(peer, threads, hooks)
}

/// Returns the standard parameters, or the parameters that the cheater proposes.
pub(crate) fn proposal(job: &AgreedJob, hooks: &Hooks) -> Result<Proposal, Error> {
    let parameters = hooks::parameters(hooks)
        .cloned()
        .map_or_else(|| Parameters::choose(&job.program, job.security), Ok)?;
    Ok(Proposal::given(job, parameters))
}
