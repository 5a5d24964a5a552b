//! Components with authenticated masks, **malicious**: each component is garbled once, and its masks are
//! authenticated to both parties, so that no copy is opened to check it. After Katz, Ranellucci, Rosulek and
//! Wang (CRYPTO 2018), with components that are made before the program is known and are soldered into it. It
//! holds against a party that cheats. docs/authenticated.md has the argument.
//!
//! Gates are AND gates under one offset of either party; XOR and negation are free. Both parties may have
//! inputs and outputs.
//!
//! ```text
//!        both    hello; base OTs each way, in which either chooses by the bits of its offset
//!    1   E -> G  OT extension: masks
//!    2   G -> E  the same; ciphertexts of leaky ANDs
//!    3   E -> G  the same, and bits of them
//!    4   G -> E  bits
//!    5   E -> G  a masked digest of the words that are to be equal
//!    6   G -> E  the answer; a coin
//!    7   E -> G  its answer and coin; the differences of masks to triples, opened
//!    8   G -> E  the same; tables. Solderings; masks of the evaluator's inputs
//!    9   E -> G  masks of the garbler's inputs; masked inputs
//!   10   G -> E  labels of all inputs
//!   11   E -> G  masked values of all wires that have a mask, and a hash of their labels
//!   12   G -> E  the digest that all gates are AND; masks of the evaluator's outputs
//!   13   E -> G  masks of the garbler's outputs
//! ```
//!
//! The functions [`garbler`] and [`evaluator`] are the whole protocol; beside their calls stand these
//! crossings.
#![forbid(unsafe_code)]

mod build;
mod cheat;
pub mod cost;
mod decode;
mod evaluate;
mod hash;
mod hooks;
mod layout;
pub mod msg;
mod openings;
mod pads;
pub mod parameters;
mod preprocess;
mod report;
mod secrets;
mod setup;
pub mod share;
mod tables;
#[cfg(test)]
mod tests;
mod triples;
mod walk;

use brickwork_base::{Error, Party};
use brickwork_session::{Job, Metered, Observer, Protocol};
use brickwork_wire::Channel;

pub use cheat::Cheat;
pub use cost::sent_bytes;
use hooks::Hooks;
use layout::Layout;
use report::report;
pub use report::{Authenticated, Report, SecurityReport};

impl Protocol for Authenticated {
    const NAME: &'static str = "authenticated";
    const CODE: [u8; 2] = *b"AU";
    const PHASES: &'static [&'static str] = &["setup", "preprocess", "build", "evaluate", "decode"];
    type Security = SecurityReport;
    type Proposal = ();
    type Limits<'a> = ();
    type Aside = ();

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
/// goes away, [`Error::Input`] if `input` has the wrong length or the program a gate that cannot be masked,
/// [`Error::Usage`] for a security that is not offered.
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
    let layout = Layout::forced(&job.program, job.security, &hooks.forced())?;
    layout.takes(Party::Garbler, input)?;
    let run = Metered::new::<Authenticated>(channel, Party::Garbler, observer);
    let mut member = setup::member(run, job, &layout, hooks)?;
    let made = preprocess::garbler(&mut member, &layout)?; // 1 to 8
    build::garbler(&mut member, &layout, &made)?; // 8
    let masked = evaluate::garbler(&mut member, &layout, &made, input)?; // 9, 10, 11, 12
    let outputs = decode::open(&mut member, &layout, &made.masks, &masked)?; // 12, 13
    Ok(report(outputs, member.close()?, &layout))
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
    let layout = Layout::forced(&job.program, job.security, &hooks.forced())?;
    layout.takes(Party::Evaluator, input)?;
    let run = Metered::new::<Authenticated>(channel, Party::Evaluator, observer);
    let mut member = setup::member(run, job, &layout, hooks)?;
    let received = preprocess::evaluator(&mut member, &layout)?; // 1 to 8
    let (solderings, masks) = build::evaluator(&mut member, &layout, &received)?; // 8, 9
    let built = (&solderings, &masks[..]);
    let masked = evaluate::evaluator(&mut member, &layout, &received, built, input)?; // 9 to 12
    let outputs = decode::open(&mut member, &layout, &received.masks, &masked)?; // 12, 13
    Ok(report(outputs, member.close()?, &layout))
}
