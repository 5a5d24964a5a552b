//! DUPLO (Kolesnikov, Nielsen, Rosulek, Trieu, Trifiletti, CCS 2017): secure against a malicious party, from components of
//! any size. Appendix A of the paper is the protocol; each step's module says where it departs from it and why.
//!
//! The two functions [`garbler`] and [`evaluator`] are the whole protocol; their calls are the paper's phases:
//!
//! | phase | what happens | module |
//! | --- | --- | --- |
//! | setup | base OTs both ways, commitments to the offsets Δ_ka and Δ_ot | `setup` |
//! | preprocess | components are garbled, committed to, checked by cut-and-choose, put into buckets | `preprocess` |
//! | prepare | key authenticators for every wire between components, checked likewise | `prepare` |
//! | build | slots are soldered into the program; OTs for the evaluator's input | `build` |
//! | evaluate | inputs become labels; the evaluator evaluates every copy of every bucket | `evaluate` |
//! | decode | labels become outputs; the garbler's input is recovered if it cheated | `decode` |

mod build;
mod challenge;
mod decode;
mod evaluate;
mod hooks;
mod msg;
mod ots;
mod parameters;
mod prepare;
mod preprocess;
mod sessions;
mod setup;
mod stock;
mod supply;
#[cfg(test)]
mod tests;

use crate::circuit::Party;
use crate::label::Label;
use crate::session::{Job, Observer, Report, Run, Terms};
use crate::wire::{Channel, Tag};
use crate::{Cheat, Error};

use hooks::{Hooks, Point};
pub use parameters::Parameters;
pub use sessions::{Evaluator, EvaluatorBuilt, EvaluatorEvaluated, Garbler, GarblerBuilt, GarblerEvaluated};
use sessions::{EvaluatorParts, GarblerParts, threads};
use setup::{Begun, Wanted};
use stock::Parts;
pub use stock::Request;
use supply::{EvaluatorCommitted, GarblerCommitted};

/// Runs the protocol as the garbler. `input` are the bits of its input ports, in order.
///
/// # Errors
/// [`Error::Mismatch`] if the peer wants something else, [`Error::Peer`] if it cheats, [`Error::Io`] if it goes away,
/// [`Error::Input`] if `input` has the wrong length.
pub fn garbler(channel: Channel, job: &Job, input: &[bool], observer: &mut dyn Observer) -> Result<Report, Error> {
    garbler_with(channel, job, input, observer, Hooks::none())
}

/// Runs the protocol as the evaluator. `input` are the bits of its input ports, in order.
///
/// # Errors
/// As [`garbler`].
pub fn evaluator(channel: Channel, job: &Job, input: &[bool], observer: &mut dyn Observer) -> Result<Report, Error> {
    evaluator_with(channel, job, input, observer, Hooks::none())
}

/// [`garbler`], with its hands in the machine. Beside the calls stand the crossings of the link that they take part in.
pub(crate) fn garbler_with(
    channel: Channel,
    job: &Job,
    input: &[bool],
    observer: &mut dyn Observer,
    hooks: Hooks,
) -> Result<Report, Error> {
    let parameters = agree(job, Party::Garbler, input, &hooks)?;
    let (program, terms) = (&*job.program, job.terms());
    let wanted = Wanted::job(program, &parameters, &terms);
    let (mut party, ots) = setup::garbler(Run::new(channel, Party::Garbler, observer), &wanted, hooks)?; // 1, 2, 3
    let outputs = party.pool.clone().install(|| {
        let party = &mut party;
        let committed = GarblerCommitted::to_all(party, &Request::of(program), &parameters, ots)?; // 3
        committed.prove(party, true)?; // 4, 5
        let (supply, told) = committed.open(party)?; // 6, 7
        let (ready, joints) = build::garbler(party, program, Parts::of(program, supply))?; // 7
        let masked = evaluate::garbler_receives(party, &ready)?; // 8
        build::garbler_proves(party, program, &ready, &joints, &told)?; // 8, 9
        evaluate::garbler(party, &ready, input, &masked)?; // 9, 10, 11
        decode::garbler(party, program, &ready) // 12
    })?;
    Ok(Report { outputs, phases: party.close()?, security: parameters.report(program), recovered: false })
}

/// [`evaluator`], with its hands in the machine. Beside the calls stand the crossings of the link that they take part in.
pub(crate) fn evaluator_with(
    channel: Channel,
    job: &Job,
    input: &[bool],
    observer: &mut dyn Observer,
    hooks: Hooks,
) -> Result<Report, Error> {
    let parameters = agree(job, Party::Evaluator, input, &hooks)?;
    let (program, terms) = (&*job.program, job.terms());
    let wanted = Wanted::job(program, &parameters, &terms);
    let Begun { mut core, offsets, ots } = setup::evaluator(Run::new(channel, Party::Evaluator, observer), &wanted, hooks)?; // 1, 2, 3
    let (party, (outputs, recovered)) = core.pool.clone().install(|| {
        let committed = EvaluatorCommitted::to_all(&mut core, &Request::of(program), &parameters, ots)?; // 3
        let (mut party, committed) = committed.verify_first(core, offsets)?; // 4, 5
        let (supply, opened) = committed.open(&mut party.core)?; // 6, 7
        let ready = build::evaluator(&mut party, supply.map(|supply| Parts::of(program, supply)))?; // 7
        let masked = evaluate::evaluator_sends(&mut party, &ready.told().ots, input)?; // 8
        let ready = build::evaluator_verifies(&mut party, program, ready, opened)?; // 8, 9
        let evaluated = evaluate::evaluator(&mut party, program, &ready, input, masked)?; // 9, 10, 11
        let outputs = decode::evaluator(&mut party, program, &ready, &evaluated, input)?; // 12
        Ok::<_, Error>((party, outputs))
    })?;
    Ok(Report { outputs, phases: party.close()?, security: parameters.report(program), recovered })
}

/// The parameters, which each party computes for itself: a peer that wants weaker ones does not get far.
fn agree(job: &Job, party: Party, input: &[bool], hooks: &Hooks) -> Result<Parameters, Error> {
    sessions::check_input(&job.program, party, input)?;
    match hooks.parameters() {
        Some(unsafe_ones) => Ok(unsafe_ones.clone()),
        None => Parameters::choose(&job.program, job.security),
    }
}

impl Run<'_> {
    /// Receives `count` labels.
    fn labels(&mut self, tag: Tag, count: usize) -> Result<Vec<Label>, Error> {
        let mut labels = vec![Label::ZERO; count];
        self.channel.receive_into(tag, bytemuck::cast_slice_mut(&mut labels))?;
        Ok(labels)
    }

    /// Receives one label.
    fn label(&mut self, tag: Tag) -> Result<Label, Error> {
        Ok(self.labels(tag, 1)?[0])
    }
}

/// For tests and the adversary: the protocol with hooks into a party's state.
#[cfg(any(test, feature = "adversary"))]
pub mod adversary {
    pub use super::hooks::{Hooks, Point, StateHook, TableHook};
    use super::*;

    /// [`super::garbler`], with its hands in the machine.
    ///
    /// # Errors
    /// As [`super::garbler`].
    pub fn garbler(channel: Channel, job: &Job, input: &[bool], hooks: Hooks) -> Result<Report, Error> {
        garbler_with(channel, job, input, &mut crate::session::Unobserved, hooks)
    }

    /// [`super::evaluator`], with its hands in the machine.
    ///
    /// # Errors
    /// As [`super::garbler`].
    pub fn evaluator(channel: Channel, job: &Job, input: &[bool], hooks: Hooks) -> Result<Report, Error> {
        evaluator_with(channel, job, input, &mut crate::session::Unobserved, hooks)
    }
}
