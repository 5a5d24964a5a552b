//! JIMU (Zhu and Huang, ASIACRYPT 2017), **malicious**, repaired: a LEGO protocol whose wires are soldered by
//! interactive hashes ([`brickwork_primitives::ihash`]) and whose buckets need one good gate. It holds
//! against a party that cheats. docs/jimu.md has what was wrong as printed, and why this holds.
//!
//! Gates are AND gates under one offset; XOR and negation are free. Both parties may have inputs and outputs.
//!
//! ```text
//!    1  both    hello; base OTs, in which the garbler chooses by the bits of Δ
//!    2  E -> G  OT extensions: what is watched, and random choices for the inputs
//!    3  G <> E  combinations of the choices; shares and secrets of what is watched
//!    4  G <> E  labels and permutation messages are hashed, and checked to be codewords
//!    5  G -> E  chosen ones: Δ, labels of OTs, outputs of gates; tables
//!    6  E -> G  what is opened, and where the rest goes
//!    7  G -> E  what is opened, which is checked before the evaluator's input is used
//!    8  E -> G  where its input differs from its choices
//!    9  G -> E  solderings; labels of its inputs; what decodes the evaluator's outputs
//!   10  E -> G  labels of the garbler's outputs
//! ```
//!
//! The functions [`garbler`] and [`evaluator`] are the whole protocol; beside their calls stand these
//! crossings.
#![forbid(unsafe_code)]

#[cfg(any(test, feature = "adversary"))]
pub mod adversary;
pub mod authenticators;
pub mod buckets;
mod build;
mod cheat;
pub mod cost;
mod decode;
mod evaluate;
pub mod gates;
mod hooks;
mod layout;
pub mod msg;
mod ots;
pub mod parameters;
mod prepare;
mod preprocess;
mod report;
mod setup;
#[cfg(test)]
mod tests;

use brickwork_base::{Error, Party};
use brickwork_session::{Job, Metered, Observer, Protocol};
use brickwork_wire::Channel;

pub use cheat::Cheat;
pub use cost::sent_bytes;
use hooks::Hooks;
use layout::Layout;
use report::report;
pub use report::{Amount, Aside, Jimu, Report, SecurityReport, computational_bits};

impl Protocol for Jimu {
    const NAME: &'static str = "jimu";
    const CODE: [u8; 2] = *b"JM";
    const PHASES: &'static [&'static str] =
        &["setup", "preprocess", "prepare", "build", "evaluate", "decode"];
    type Security = SecurityReport;
    type Proposal = ();
    type Limits<'a> = ();
    type Aside = Aside;

    fn garbler(
        channel: Channel,
        job: &Job,
        (): &(),
        input: &[bool],
        observer: Box<dyn Observer>,
    ) -> Result<Report, Error> {
        garbler(channel, job, input, observer)
    }

    fn evaluator(
        channel: Channel,
        job: &Job,
        (): &(),
        input: &[bool],
        observer: Box<dyn Observer>,
    ) -> Result<Report, Error> {
        evaluator(channel, job, input, observer)
    }
}

/// Runs the protocol as the garbler. `input` holds the bits of its input ports.
///
/// # Errors
/// [`Error::Mismatch`] if the peer wants something else, [`Error::Peer`] if it cheats, [`Error::Io`] if it
/// goes away, [`Error::Input`] if `input` has the wrong length, [`Error::Usage`] for a security that is not
/// offered, [`Error::Limit`] if the program is too large.
pub fn garbler(
    channel: Channel,
    job: &Job,
    input: &[bool],
    observer: impl Observer + 'static,
) -> Result<Report, Error> {
    garbler_with(channel, job, input, Box::new(observer), Hooks::none())
}

fn garbler_with(
    channel: Channel,
    job: &Job,
    input: &[bool],
    observer: Box<dyn Observer>,
    hooks: Hooks,
) -> Result<Report, Error> {
    let layout = Layout::new(&job.program, job.security, hooks.sizes())?;
    layout.takes(Party::Garbler, input)?;
    let run = Metered::new::<Jimu>(channel, Party::Garbler, observer);
    let mut party = setup::garbler(run, job, &layout, hooks)?; // 1, 2, 3
    let made = preprocess::garbler(&mut party, &layout)?; // 4, 5, 6, 7
    let theirs = prepare::garbler(&mut party, &layout)?; // 8
    let circuit = build::garbler(&mut party, &layout, &made, input, &theirs)?; // 9
    let outputs = decode::garbler(&mut party, &layout, &made, &circuit)?; // 10
    Ok(report(outputs, party.close()?, &layout.sizes, Aside::default()))
}

/// Runs the protocol as the evaluator. Everything as for [`garbler`].
///
/// # Errors
/// As [`garbler`].
pub fn evaluator(
    channel: Channel,
    job: &Job,
    input: &[bool],
    observer: impl Observer + 'static,
) -> Result<Report, Error> {
    evaluator_with(channel, job, input, Box::new(observer), Hooks::none())
}

fn evaluator_with(
    channel: Channel,
    job: &Job,
    input: &[bool],
    observer: Box<dyn Observer>,
    hooks: Hooks,
) -> Result<Report, Error> {
    let layout = Layout::new(&job.program, job.security, hooks.sizes())?;
    layout.takes(Party::Evaluator, input)?;
    let run = Metered::new::<Jimu>(channel, Party::Evaluator, observer);
    let mut party = setup::evaluator(run, job, &layout, hooks)?; // 1, 2, 3
    let received = preprocess::evaluator(&mut party, &layout)?; // 4, 5, 6
    let checked = preprocess::check(&mut party, &layout, received)?; // 7
    let own = prepare::evaluator(&mut party, &checked, input)?; // 8
    let circuit = build::evaluator(&mut party, &layout, &checked, &own)?; // 9
    let (wires, recovery) = evaluate::evaluator(&mut party, &layout, &checked, &circuit)?;
    let aside = Aside::of(&recovery);
    let outputs = decode::evaluator(&mut party, &layout, &checked, &circuit, (wires, recovery), input)?; // 10
    Ok(report(outputs, party.close()?, &layout.sizes, aside))
}
