//! Yao's protocol with half-gates (Zahur, Rosulek, Evans 2015), **semi-honest**: it protects only against a
//! party that follows the protocol, but tries to learn from the messages. A garbler that cheats can compute
//! any other function. This protocol is the fastest and smallest one of Brickwork, and a baseline for the
//! others.
//!
//! A program is garbled once, with one offset, slot after slot. The evaluator evaluates the slots while the
//! tables arrive, so memory does not grow with the number of slots. The evaluator's labels come from
//! correlated OTs that have the garbler's offset, so they need no additional message.
//!
//! ```text
//!   1  both    hello; base OTs, in which the garbler chooses by the bits of its offset
//!   2  E -> G  OT extension: rows for the bits of the evaluator's inputs, and the answer to its check
//!   3  G -> E  start of the hash keys, labels of the garbler's inputs, tables, σ of the evaluator's outputs
//!   4  E -> G  colours of the labels of the garbler's outputs
//! ```
//!
//! With OTs from a store ([`Stocked`]), crossing 2 has one bit for each of the evaluator's inputs.
//!
//! Executions are processed in chunks; crossings 2 to 4 happen once for each chunk. The functions [`garbler`]
//! and [`evaluator`] are the whole protocol, together with those of `executions`, which runs from stock use,
//! too. The numbers beside the calls are the crossings.
#![forbid(unsafe_code)]

mod cheat;
pub mod cost;
mod decode;
mod evaluate;
mod executions;
mod layout;
pub mod msg;
mod prepare;
mod report;
mod setup;
mod stored;
#[cfg(test)]
mod tests;

use brickwork_base::{Error, Party};
use brickwork_primitives::ot;
use brickwork_protocol::{AgreedJob, Metered, Observer, SessionProtocol};
use brickwork_wire::{Channel, Departures};

pub use cheat::Cheat;
pub use cost::{Ots, sent_bytes};
use layout::Layout;
use report::report;
pub use report::{COMPUTATIONAL_BITS, Executions, Report, SemiHonest, WARNING, promise};
pub use stored::{FromStock, Lacking, Preprocessed, Stocked, in_stock, ots};

impl SessionProtocol for SemiHonest {
    const NAME: &'static str = "semi-honest";
    const CODE: [u8; 2] = *b"SH";
    const PHASES: &'static [&'static str] = &["setup", "prepare", "evaluate", "decode"];
    const DEPARTURES: [Departures; 2] = [
        Departures { input: &[msg::INPUT_LABELS], outputs: &[msg::DECODING] },
        Departures { input: &[ot::msg::ROWS, msg::CORRECTIONS], outputs: &[msg::COLOURS] },
    ];
    type Proposal = Executions;
    type Limits<'a> = Executions;
    type Aside = ();

    fn garbler(
        channel: Channel,
        job: &AgreedJob,
        &Executions(executions): &Executions,
        input: &[bool],
        observer: Box<dyn Observer>,
    ) -> Result<Report, Error> {
        garbler(channel, job, executions, input, observer)
    }

    fn evaluator(
        channel: Channel,
        job: &AgreedJob,
        &Executions(executions): &Executions,
        input: &[bool],
        observer: Box<dyn Observer>,
    ) -> Result<Report, Error> {
        evaluator(channel, job, executions, input, observer)
    }
}

/// Runs the protocol as the garbler, with `executions` independent executions. `input` has the bits of the
/// garbler's input ports, `[execution][bit]`.
///
/// # Errors
/// [`Error::Mismatch`] if the peer requests something else, [`Error::Peer`] if it sends an invalid message,
/// [`Error::Io`] if the connection ends, [`Error::Input`] if `input` has the wrong length, [`Error::Limit`]
/// if there are too many executions.
pub fn garbler(
    channel: Channel,
    job: &AgreedJob,
    executions: usize,
    input: &[bool],
    observer: impl Observer + 'static,
) -> Result<Report, Error> {
    let layout = Layout::new(&job.program, executions)?;
    let inputs = layout.inputs(Party::Garbler, input)?;
    let run = Metered::new::<SemiHonest>(channel, Party::Garbler, Box::new(observer));
    let mut party = setup::run(run, &job.terms(), &layout)?; // 1
    let outputs = executions::garbler(&mut party, &layout, inputs, None)?; // 2, 3, 4
    Ok(report(outputs, party.close()?, executions))
}

/// Runs the protocol as the evaluator, with the parameters of [`garbler`].
///
/// # Errors
/// As [`garbler`].
pub fn evaluator(
    channel: Channel,
    job: &AgreedJob,
    executions: usize,
    input: &[bool],
    observer: impl Observer + 'static,
) -> Result<Report, Error> {
    let layout = Layout::new(&job.program, executions)?;
    let inputs = layout.inputs(Party::Evaluator, input)?;
    let run = Metered::new::<SemiHonest>(channel, Party::Evaluator, Box::new(observer));
    let mut party = setup::run(run, &job.terms(), &layout)?; // 1
    let outputs = executions::evaluator(&mut party, &layout, inputs, None)?; // 2, 3, 4
    Ok(report(outputs, party.close()?, executions))
}
