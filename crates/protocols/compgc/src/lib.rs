//! CompGC (Groce, Ledger, Malozemoff, Yerukhimovich 2016), a **semi-honest** protocol: it protects only
//! against a party that follows the protocol, but tries to learn from what it sees. Components are garbled
//! ahead of time and *linked* when the inputs are known, so the online phase carries labels instead of
//! tables.
//!
//! All components have one offset. A link from a wire to a slot input is the XOR of their false labels, which
//! equals the XOR of their true labels. The evaluator adds it to the active label of the wire, gets the
//! active label of the input, and learns nothing more. The evaluator's inputs go through OTs with random
//! choices, which it corrects online (Beaver 1995). The OTs and the wires have the same offset, so a
//! correction is one bit from the evaluator, and the garbler sends nothing back.
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
//! [`Linking`] describes how early each part is known. With `standard` no message before crossing 3 depends
//! on how components are linked. With `scmc` everything but the inputs is known at crossing 2, and a link
//! serves a whole block of wires. `naive` is for comparison: keys and tables move to crossing 4. Only output
//! wires are ever decoded.
//!
//! With `standard`, phase 2 may be done in advance: a store ([`Stocked`]) keeps its results, and any program
//! can take them. The functions [`garbler`] and [`evaluator`] are the whole protocol, together with the
//! functions of `online`, which runs from stock use, too. The numbers beside their calls are the crossings of
//! the link.
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
use brickwork_protocol::{AgreedJob, Metered, Observer, SessionProtocol};
use brickwork_wire::{Channel, Departures};

pub use cheat::Cheat;
pub use cost::sent_bytes;
use layout::Layout;
pub use linking::Linking;
use report::report;
pub use report::{COMPUTATIONAL_BITS, CompGc, Report, WARNING, promise};
pub use stored::{FromStock, Lacking, Preprocessed, Request, Stocked, in_stock};

impl SessionProtocol for CompGc {
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
        job: &AgreedJob,
        &linking: &Linking,
        input: &[bool],
        observer: Box<dyn Observer>,
    ) -> Result<Report, Error> {
        garbler(channel, job, linking, input, observer)
    }

    fn evaluator(
        channel: Channel,
        job: &AgreedJob,
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
/// [`Error::Mismatch`] if the peer runs something else, [`Error::Peer`] if it sends an invalid message, and
/// [`Error::Io`] if it goes away. [`Error::Input`] if `input` has the wrong length. [`Error::Limit`] if the
/// program's tables are too large for this machine's addresses.
pub fn garbler(
    channel: Channel,
    job: &AgreedJob,
    linking: Linking,
    input: &[bool],
    observer: impl Observer + 'static,
) -> Result<Report, Error> {
    let layout = Layout::new(&job.program, linking)?;
    layout.takes(Party::Garbler, input)?;
    let run = Metered::new::<CompGc>(channel, Party::Garbler, Box::new(observer));
    let mut party = setup::run(run, &job.terms(), &layout)?; // 1
    let garbled = preprocess::garbler(&mut party, &layout)?; // 2
    let outputs = online::garbler(&mut party, &layout, garbled, input)?; // 3, 4, 5
    Ok(report(outputs, party.close()?, linking))
}

/// Runs the protocol as the evaluator, otherwise like [`garbler`].
///
/// # Errors
/// As [`garbler`].
pub fn evaluator(
    channel: Channel,
    job: &AgreedJob,
    linking: Linking,
    input: &[bool],
    observer: impl Observer + 'static,
) -> Result<Report, Error> {
    let layout = Layout::new(&job.program, linking)?;
    layout.takes(Party::Evaluator, input)?;
    let run = Metered::new::<CompGc>(channel, Party::Evaluator, Box::new(observer));
    let mut party = setup::run(run, &job.terms(), &layout)?; // 1
    let received = preprocess::evaluator(&mut party, &layout)?; // 2
    let outputs = online::evaluator(&mut party, &layout, received, input)?; // 3, 4, 5
    Ok(report(outputs, party.close()?, linking))
}
