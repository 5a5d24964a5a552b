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
mod parameters;
mod prepare;
mod preprocess;
mod setup;
#[cfg(test)]
mod tests;

use crate::circuit::Party;
use crate::commit::{Committed, Shares, split};
use crate::label::{Delta, Label};
use crate::ot::extension;
use crate::random::Rng;
use crate::session::{Job, Observer, Report, Run, SessionId};
use crate::wire::{Channel, Tag};
use crate::{Cheat, Error};

use hooks::{Hooks, Point};
pub use parameters::Parameters;

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

/// [`garbler`], with its hands in the machine.
pub(crate) fn garbler_with(
    channel: Channel,
    job: &Job,
    input: &[bool],
    observer: &mut dyn Observer,
    hooks: Hooks,
) -> Result<Report, Error> {
    in_pool(job, || {
        let parameters = agree(job, Party::Garbler, input, &hooks)?;
        let program = &job.program;
        let mut party = setup::garbler(Run::new(channel, Party::Garbler, observer), job, &parameters, hooks)?;
        let batches = preprocess::garbler(&mut party, program, &parameters)?;
        let stock = prepare::garbler(&mut party, batches, &parameters)?;
        let built = build::garbler(&mut party, program, stock, &parameters)?;
        evaluate::garbler(&mut party, &built, input)?;
        let outputs = decode::garbler(&mut party, program, &built)?;
        Ok(Report { outputs, phases: party.run.finish()?, security: parameters.report(program), recovered: false })
    })
}

/// [`evaluator`], with its hands in the machine.
pub(crate) fn evaluator_with(
    channel: Channel,
    job: &Job,
    input: &[bool],
    observer: &mut dyn Observer,
    hooks: Hooks,
) -> Result<Report, Error> {
    in_pool(job, || {
        let parameters = agree(job, Party::Evaluator, input, &hooks)?;
        let program = &job.program;
        let mut party = setup::evaluator(Run::new(channel, Party::Evaluator, observer), job, &parameters, hooks)?;
        let batches = preprocess::evaluator(&mut party, program, &parameters)?;
        let stock = prepare::evaluator(&mut party, batches, &parameters)?;
        let built = build::evaluator(&mut party, program, stock, &parameters)?;
        let evaluated = evaluate::evaluator(&mut party, program, &built, input)?;
        let (outputs, recovered) = decode::evaluator(&mut party, program, &built, &evaluated, input)?;
        Ok(Report { outputs, phases: party.run.finish()?, security: parameters.report(program), recovered })
    })
}

/// The parameters, which each party computes for itself: a peer that wants weaker ones does not get far.
fn agree(job: &Job, party: Party, input: &[bool], hooks: &Hooks) -> Result<Parameters, Error> {
    let width = job.program.input_width(party);
    if input.len() != width {
        return Err(Error::Input(format!("the {party:?} gives {width} input bits in this program, not {}", input.len())));
    }
    match hooks.parameters() {
        Some(unsafe_ones) => Ok(unsafe_ones.clone()),
        None => Parameters::choose(&job.program, job.security),
    }
}

/// Runs `work` on as many threads as the job says.
fn in_pool<T: Send>(job: &Job, work: impl FnOnce() -> Result<T, Error> + Send) -> Result<T, Error> {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(job.threads.max(1)).build();
    pool.map_err(|error| Error::Resource(format!("no threads: {error}")))?.install(work)
}

/// The garbler between two phases.
struct Garbler<'o> {
    run: Run<'o>,
    session: SessionId,
    committer: split::Sender,
    rng: Rng,
    hooks: Hooks,
    cot: extension::Sender,
    delta_ka: Delta,
    /// The commitments to Δ_ka and Δ_ot.
    ka: Committed,
    ot: Committed,
}

/// The evaluator between two phases.
struct Evaluator<'o> {
    run: Run<'o>,
    session: SessionId,
    holder: split::Receiver,
    rng: Rng,
    hooks: Hooks,
    cot: extension::Receiver,
    ka: Shares,
    ot: Shares,
    /// S_ot = Δ_ot ⊕ Δ_ka.
    link_ot: Label,
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
