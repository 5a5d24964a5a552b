//! CompGC (Groce, Ledger, Malozemoff, Yerukhimovich 2016), **semi-honest**: it protects against a party that
//! follows the protocol and looks at everything it sees, and against nobody else. Components are garbled
//! ahead of time and *linked* when the inputs are there, so the online phase carries labels instead of
//! tables.
//!
//! All components have one offset. A link from a wire to an input is the difference of their false labels,
//! which is also that of their true ones. With the active label of the wire it gives that of the input, and
//! nothing more. The evaluator's inputs go through OTs with random choices, corrected online (Beaver 1995):
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
//! [`Linking`] says how much of it is known when. With `standard` nothing before 3 depends on how components
//! are linked. With `scmc` all but the inputs is known at 2, and a link serves a whole block of wires. With
//! `naive` keys and tables move to 4, for comparison. Only outputs are ever decoded.
//!
//! With `standard`, phase 2 may be done in advance: its results are kept in a store ([`Stocked`]), and any
//! program can take them. The functions [`garbler`] and [`evaluator`], and those of `online` that they share
//! with runs from stock, are the whole protocol; the comments beside their calls are the crossings of the
//! link.
#![forbid(unsafe_code)]

mod build;
mod cheat;
pub mod cost;
mod decode;
mod evaluate;
mod layout;
mod linking;
pub mod msg;
mod online;
mod prepare;
mod preprocess;
mod report;
mod setup;
mod stored;
#[cfg(test)]
mod tests;

use brickwork_base::{Error, Party};
use brickwork_session::{Job, Metered, Observer, Protocol};
use brickwork_wire::{Channel, Departures};

pub use cheat::Cheat;
pub use cost::sent_bytes;
use layout::Layout;
pub use linking::Linking;
use report::report;
pub use report::{COMPUTATIONAL_BITS, CompGc, Report, WARNING, promise};
pub use stored::{
    FromStock, Lacking, Preprocessed, Request, Stocked, compare_stores, executions, in_stock, inventory,
};

impl Protocol for CompGc {
    const NAME: &'static str = "compgc";
    const CODE: [u8; 2] = *b"CG";
    const PHASES: &'static [&'static str] =
        &["setup", "preprocess", "prepare", "build", "evaluate", "decode"];
    const DEPARTURES: [Departures; 2] = [
        Departures { input: &[msg::INPUT_LABELS], outputs: &[msg::DECODING] },
        Departures { input: &[msg::CHOICES], outputs: &[msg::COLOURS] },
    ];
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
/// [`Error::Mismatch`] if the peer wants something else, [`Error::Peer`] if it sends an invalid message,
/// [`Error::Io`] if it goes away, [`Error::Input`] if `input` has the wrong length, [`Error::Limit`] if the
/// program's tables cannot be addressed here.
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
    let mut party = setup::garbler(run, &job.terms(), Some(&layout))?; // 1
    let garbled = preprocess::garbler(&mut party, &layout)?; // 2
    let outputs = online::garbler(&mut party, &layout, garbled, input)?; // 3, 4, 5
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
    let mut party = setup::evaluator(run, &job.terms(), Some(&layout))?; // 1
    let received = preprocess::evaluator(&mut party, &layout)?; // 2
    let outputs = online::evaluator(&mut party, &layout, received, input)?; // 3, 4, 5
    Ok(report(outputs, party.close()?, linking))
}
