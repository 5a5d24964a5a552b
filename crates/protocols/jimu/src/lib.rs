//! JIMU (Zhu and Huang, ASIACRYPT 2017), with its errors repaired: a LEGO protocol that is secure against
//! **malicious** parties. Interactive hashes ([`brickwork_primitives::ihash`]) replace commitments for
//! soldering wires, and one good copy in a bucket is enough. docs/protocols/jimu.md describes the paper's
//! errors, and the security argument for this version.
//!
//! A bucket consists of AND gates, all under one offset, or of copies of a component, each under an offset of
//! its own ([`Unit`]). XORs and negations between them are free. Both parties may have inputs and outputs.
//!
//! ```text
//!    1  both    hello; base OTs, in which the garbler chooses by the bits of Δ
//!    2  E -> G  OT extensions: what is watched, and OTs that check the offset
//!    3  G <> E  combinations of the choices; shares and secrets of what is watched
//!    4  G <> E  Δ is hashed, and labels of OTs
//!    5  E -> G  OT extension: random choices for the inputs
//!    6  G -> E  labels and permutation messages are hashed; rows of gates, hashes of components' tables
//!       E -> G  combinations of choices; seed of combinations, when all words are hashed
//!       G -> E  combinations; labels of OTs
//!    7  E -> G  what is opened, and where the rest goes
//!    8  G -> E  what is opened; tables of components in buckets
//!    9  E <> G  seed of combinations, combinations of what was opened
//!   10  E -> G  where its input differs from its choices
//!   11  G -> E  solderings; labels of its inputs; what decodes the evaluator's outputs
//!   12  E <> G  seed of combinations, combinations of all that
//!   13  E -> G  labels of the garbler's outputs
//! ```
//!
//! The functions [`garbler`] and [`evaluator`] contain the whole protocol. The numbers in their comments are
//! those of the crossings above.
#![forbid(unsafe_code)]

#[cfg(any(test, feature = "adversary"))]
pub mod adversary;
pub mod buckets;
mod build;
mod cheat;
mod choice;
pub mod components;
pub mod cost;
mod decode;
mod evaluate;
pub mod gates;
mod hash;
mod hooks;
mod layout;
pub mod msg;
mod open;
mod ots;
pub mod parameters;
mod prepare;
mod preprocess;
mod reading;
mod report;
mod setup;
mod solder;
mod stored;
pub mod tasks;
#[cfg(test)]
mod tests;

use brickwork_base::{Error, Party};
use brickwork_protocol::{AgreedJob, Metered, Observer, SessionProtocol};
use brickwork_wire::{Channel, Departures};

pub use cheat::Cheat;
pub use cost::sent_bytes;
use hooks::Hooks;
use layout::Layout;
pub use parameters::Unit;
use report::report;
pub use report::{Aside, Jimu, Report, computational_bits};
use setup::SetupTerms;
pub use stored::{FromStock, Lacking, Preprocessed, Request, Stocked, in_stock, stock_promise};

impl SessionProtocol for Jimu {
    const NAME: &'static str = "jimu";
    const CODE: [u8; 2] = *b"JM";
    const PHASES: &'static [&'static str] =
        &["setup", "preprocess", "prepare", "build", "evaluate", "decode"];
    const DEPARTURES: [Departures; 2] = [
        Departures { input: &[msg::KINDS], outputs: &[msg::KINDS] },
        Departures { input: &[msg::CHOICES], outputs: &[msg::OUTPUT_LABELS] },
    ];
    type Proposal = Unit;
    type Limits<'a> = Unit;
    type Aside = Aside;

    fn garbler(
        channel: Channel,
        job: &AgreedJob,
        unit: &Unit,
        input: &[bool],
        observer: Box<dyn Observer>,
    ) -> Result<Report, Error> {
        garbler(channel, job, *unit, input, observer)
    }

    fn evaluator(
        channel: Channel,
        job: &AgreedJob,
        unit: &Unit,
        input: &[bool],
        observer: Box<dyn Observer>,
    ) -> Result<Report, Error> {
        evaluator(channel, job, *unit, input, observer)
    }
}

/// Runs the protocol as the garbler, with this unit of the cut-and-choose. `input` contains the bits of the
/// garbler's input ports.
///
/// # Errors
/// [`Error::Mismatch`] if the peer requests something else, [`Error::Peer`] if it cheats, [`Error::Io`] if
/// the connection ends, [`Error::Input`] if `input` has the wrong length, [`Error::Usage`] for a security
/// that is not offered, [`Error::Limit`] if the program is too large.
pub fn garbler(
    channel: Channel,
    job: &AgreedJob,
    unit: Unit,
    input: &[bool],
    observer: impl Observer + 'static,
) -> Result<Report, Error> {
    garbler_with(channel, job, unit, input, Box::new(observer), Hooks::none())
}

fn garbler_with(
    channel: Channel,
    job: &AgreedJob,
    unit: Unit,
    input: &[bool],
    observer: Box<dyn Observer>,
    hooks: Hooks,
) -> Result<Report, Error> {
    let layout = Layout::new(&job.program, unit, job.security, hooks.settings().cloned())?;
    layout.takes(Party::Garbler, input)?;
    let run = Metered::new::<Jimu>(channel, Party::Garbler, observer);
    let mut party = setup::garbler(run, &job.terms(), SetupTerms::run(&layout), hooks)?; // 1, 2, 3, 4
    let made = preprocess::garbler(&mut party, &layout)?; // 5, 6, 7, 8
    open::garbler(&mut party, &layout, &made)?; // 8, 9
    let begun = build::begin(&party, &layout, &made);
    let theirs = prepare::garbler(&mut party, &layout)?; // 10
    let circuit = build::garbler(&mut party, &layout, (&made, begun), input, &theirs)?; // 11, 12
    let outputs = decode::garbler(&mut party, &layout, &circuit)?; // 13
    Ok(report(outputs, party.close()?, &layout, Aside::default()))
}

/// Runs the protocol as the evaluator, with the same parameters as [`garbler`].
///
/// # Errors
/// As [`garbler`].
pub fn evaluator(
    channel: Channel,
    job: &AgreedJob,
    unit: Unit,
    input: &[bool],
    observer: impl Observer + 'static,
) -> Result<Report, Error> {
    evaluator_with(channel, job, unit, input, Box::new(observer), Hooks::none())
}

fn evaluator_with(
    channel: Channel,
    job: &AgreedJob,
    unit: Unit,
    input: &[bool],
    observer: Box<dyn Observer>,
    hooks: Hooks,
) -> Result<Report, Error> {
    let layout = Layout::new(&job.program, unit, job.security, hooks.settings().cloned())?;
    layout.takes(Party::Evaluator, input)?;
    let run = Metered::new::<Jimu>(channel, Party::Evaluator, observer);
    let mut party = setup::evaluator(run, &job.terms(), SetupTerms::run(&layout), hooks)?; // 1, 2, 3, 4
    let received = preprocess::evaluator(&mut party, &layout)?; // 5, 6, 7, 8
    let checked = open::evaluator(&mut party, &layout, received)?; // 8, 9
    let own = prepare::evaluator(&mut party, checked.choices(), input)?; // 10
    let circuit = build::evaluator(&mut party, &layout, &checked, &own)?; // 11, 12
    let (active, recovery) = evaluate::evaluator(&mut party, &layout, &circuit)?;
    let aside = Aside::of(&recovery);
    let found = (&active, &recovery);
    let outputs = decode::evaluator(&mut party, &layout, &circuit, found, input)?; // 13
    Ok(report(outputs, party.close()?, &layout, aside))
}
