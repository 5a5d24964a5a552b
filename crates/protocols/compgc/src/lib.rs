//! CompGC (Groce, Ledger, Malozemoff, Yerukhimovich 2016), **semi-honest**: it protects against a party that
//! follows the protocol and looks at everything it sees, and against nobody else. Components are garbled
//! ahead of time and *linked* when the inputs are there, so the online phase carries labels instead of
//! tables.
//!
//! All components have one offset. A link from a wire to an input is the difference of their false labels,
//! and so of their true ones, too: whoever has the active label of the wire gets that of the input, and
//! learns nothing. The evaluator's inputs go through OTs with random choices, corrected online (Beaver 1995):
//! the OTs' offset is that of the wires, so the correction is a bit, and nothing comes back.
//!
//! ```text
//!           1  both    hello; base OTs, in which the garbler chooses by the bits of its offset
//!           2  E -> G  OT extension with random choices
//!              G -> E  start of the hash keys, tables of all components, corrections of their outputs (scmc)
//!   online  3  E -> G  where the evaluator's inputs differ from its choices
//!           4  G -> E  labels of the garbler's inputs, links, σ of the evaluator's outputs
//!           5  E -> G  colours of the labels of the garbler's outputs
//! ```
//!
//! [`Linking`] says how much of it is known when: with `standard` nothing before 3 depends on how components
//! are linked, with `scmc` all but the inputs is known at 2, and a link serves a whole block of wires; with
//! `naive` keys and tables move to 4, for comparison. Only outputs are ever decoded.
//! The functions [`garbler`] and [`evaluator`] are the whole protocol, and beside their calls stand the
//! crossings of the link.
#![forbid(unsafe_code)]

mod build;
mod cheat;
pub mod cost;
mod decode;
mod evaluate;
mod layout;
mod linking;
pub mod msg;
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
use layout::Layout;
pub use linking::Linking;
use report::report;
pub use report::{COMPUTATIONAL_BITS, CompGc, Report, SecurityReport, WARNING};

impl Protocol for CompGc {
    const NAME: &'static str = "compgc";
    const CODE: [u8; 2] = *b"CG";
    const PHASES: &'static [&'static str] =
        &["setup", "preprocess", "prepare", "build", "evaluate", "decode"];
    type Security = SecurityReport;
    type Proposal = Linking;
    type Limits<'a> = Linking;
    type Aside = ();

    fn garbler(
        channel: Channel,
        job: &Job,
        &linking: &Linking,
        input: &[bool],
        observer: Box<dyn Observer>,
    ) -> Result<Report, Error> {
        garbler(channel, job, linking, input, observer)
    }

    fn evaluator(
        channel: Channel,
        job: &Job,
        &linking: &Linking,
        input: &[bool],
        observer: Box<dyn Observer>,
    ) -> Result<Report, Error> {
        evaluator(channel, job, linking, input, observer)
    }
}

/// Runs the protocol as the garbler. `input` holds the bits of its input ports.
///
/// # Errors
/// [`Error::Mismatch`] if the peer wants something else, [`Error::Peer`] if it sends what is no message of
/// the protocol, [`Error::Io`] if it goes away, [`Error::Input`] if `input` has the wrong length,
/// [`Error::Limit`] if the program's tables cannot be addressed here.
pub fn garbler(
    channel: Channel,
    job: &Job,
    linking: Linking,
    input: &[bool],
    observer: impl Observer + 'static,
) -> Result<Report, Error> {
    let layout = Layout::new(&job.program, linking)?;
    layout.takes(Party::Garbler, input)?;
    let run = Metered::new::<CompGc>(channel, Party::Garbler, Box::new(observer));
    let mut party = setup::garbler(run, job, &layout)?; // 1
    let garbled = preprocess::garbler(&mut party, &layout)?; // 2
    let theirs = prepare::garbler(&mut party, &layout, &garbled)?; // 3
    let wires = build::garbler(&mut party, &layout, garbled, input, &theirs)?; // 4
    evaluate::garbler(&mut party, &layout, &wires)?;
    let outputs = decode::garbler(&mut party, &layout, &wires)?; // 5
    Ok(report(outputs, party.close()?, linking))
}

/// Runs the protocol as the evaluator. Everything as for [`garbler`].
///
/// # Errors
/// As [`garbler`].
pub fn evaluator(
    channel: Channel,
    job: &Job,
    linking: Linking,
    input: &[bool],
    observer: impl Observer + 'static,
) -> Result<Report, Error> {
    let layout = Layout::new(&job.program, linking)?;
    layout.takes(Party::Evaluator, input)?;
    let run = Metered::new::<CompGc>(channel, Party::Evaluator, Box::new(observer));
    let mut party = setup::evaluator(run, job, &layout)?; // 1
    let mut received = preprocess::evaluator(&mut party, &layout)?; // 2
    prepare::evaluator(&mut party, input, &received)?; // 3
    let (mut wires, links) = build::evaluator(&mut party, &layout, &mut received)?; // 4
    let decoding = evaluate::evaluator(&mut party, &layout, &received, &mut wires, &links)?;
    let outputs = decode::evaluator(&mut party, &layout, &wires, decoding)?; // 5
    Ok(report(outputs, party.close()?, linking))
}
