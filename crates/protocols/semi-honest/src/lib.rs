//! Yao's protocol with half-gates (Zahur, Rosulek, Evans 2015), **semi-honest**: it protects against a party
//! that follows the protocol and looks at everything it sees, and against nobody else. A garbler that cheats
//! can compute any other function. It is the fast baseline of the house, and the smallest protocol in it.
//!
//! A program is garbled once, with one offset, slot after slot, and evaluated while its tables arrive, so
//! memory does not grow with it. The evaluator's labels come from correlated OTs with the garbler's offset:
//! choosing a label needs no additional message.
//!
//! ```text
//!   1  both    hello; base OTs, in which the garbler chooses by the bits of its offset
//!   2  E -> G  OT extension: rows for the bits of the evaluator's inputs, and the answer to its check
//!   3  G -> E  start of the hash keys, labels of the garbler's inputs, tables, σ of the evaluator's outputs
//!   4  E -> G  colours of the labels of the garbler's outputs
//! ```
//!
//! OTs may come from a store ([`Stocked`]); then 2 is one bit for each of the evaluator's inputs.
//!
//! Executions go in chunks; 2 to 4 are repeated for each. The functions [`garbler`] and [`evaluator`], and
//! those of `executions` that they share with runs from stock, are the whole protocol; the comments beside
//! their calls are the crossings of the link.
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
use brickwork_session::{Job, Metered, Observer, Protocol};
use brickwork_wire::{Channel, Departures};

pub use cheat::Cheat;
pub use cost::{Ots, sent_bytes};
use layout::Layout;
use report::report;
pub use report::{COMPUTATIONAL_BITS, Executions, Report, SemiHonest, WARNING, promise};
pub use stored::{FromStock, Lacking, Preprocessed, Stocked, compare_stores, in_stock, inventory, ots};

impl Protocol for SemiHonest {
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
        job: &Job,
        &Executions(executions): &Executions,
        input: &[bool],
        observer: Box<dyn Observer>,
    ) -> Result<Report, Error> {
        garbler(channel, job, executions, input, observer)
    }

    fn evaluator(
        channel: Channel,
        job: &Job,
        &Executions(executions): &Executions,
        input: &[bool],
        observer: Box<dyn Observer>,
    ) -> Result<Report, Error> {
        evaluator(channel, job, executions, input, observer)
    }
}

/// Runs the protocol as the garbler, `executions` times on inputs that do not depend on each other. `input`
/// holds the bits of its input ports, `[execution][bit]`.
///
/// # Errors
/// [`Error::Mismatch`] if the peer wants something else, [`Error::Peer`] if it sends an invalid message,
/// [`Error::Io`] if it goes away, [`Error::Input`] if `input` has the wrong length, [`Error::Limit`] if there
/// are too many executions.
pub fn garbler(
    channel: Channel,
    job: &Job,
    executions: usize,
    input: &[bool],
    observer: impl Observer + 'static,
) -> Result<Report, Error> {
    let layout = Layout::new(&job.program, executions)?;
    let inputs = layout.inputs(Party::Garbler, input)?;
    let run = Metered::new::<SemiHonest>(channel, Party::Garbler, Box::new(observer));
    let mut party = setup::garbler(run, &job.terms(), Some(&layout))?; // 1
    let outputs = executions::garbler(&mut party, &layout, inputs, None)?; // 2, 3, 4
    Ok(report(outputs, party.close()?, executions))
}

/// Runs the protocol as the evaluator. Everything as for [`garbler`].
///
/// # Errors
/// As [`garbler`].
pub fn evaluator(
    channel: Channel,
    job: &Job,
    executions: usize,
    input: &[bool],
    observer: impl Observer + 'static,
) -> Result<Report, Error> {
    let layout = Layout::new(&job.program, executions)?;
    let inputs = layout.inputs(Party::Evaluator, input)?;
    let run = Metered::new::<SemiHonest>(channel, Party::Evaluator, Box::new(observer));
    let mut party = setup::evaluator(run, &job.terms(), Some(&layout))?; // 1
    let outputs = executions::evaluator(&mut party, &layout, inputs, None)?; // 2, 3, 4
    Ok(report(outputs, party.close()?, executions))
}
