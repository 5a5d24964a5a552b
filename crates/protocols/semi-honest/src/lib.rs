//! Yao's protocol with half-gates (Zahur, Rosulek, Evans 2015), **semi-honest**: it protects against a party
//! that follows the protocol and looks at everything it sees, and against nobody else. A garbler that cheats
//! computes what it likes. It is the fast baseline of the house, and the smallest protocol in it.
//!
//! A program is garbled once, with one offset, slot after slot, and evaluated while its tables arrive, so
//! memory does not grow with it. The evaluator's labels are those of correlated OTs whose offset is the
//! garbler's: choosing a label takes no message of its own.
//!
//! ```text
//!   1  both    hello; base OTs, in which the garbler chooses by the bits of its offset
//!   2  E -> G  OT extension: rows for the bits of the evaluator's inputs, and the answer to its check
//!   3  G -> E  start of the hash keys, labels of the garbler's inputs, tables, σ of the evaluator's outputs
//!   4  E -> G  colours of the labels of the garbler's outputs
//! ```
//!
//! Executions go in batches; 2 to 4 are repeated for each. The functions [`garbler`] and [`evaluator`] are the
//! whole protocol, and beside their calls stand the crossings of the link.
#![forbid(unsafe_code)]

mod batch;
mod cheat;
pub mod cost;
mod decode;
mod evaluate;
pub mod msg;
mod prepare;
mod setup;
#[cfg(test)]
mod tests;

use serde::Serialize;

use brickwork_base::{Error, Party};
use brickwork_session::{Job, Observer, PhaseReport, Run};
use brickwork_wire::Channel;

use batch::Layout;
pub use cheat::Cheat;
pub use cost::sent_bytes;

/// kappa minus the loss of garbling many gates under one key: 2^15 calls of the hash and two labels each.
pub const COMPUTATIONAL_BITS: f64 = 111.0;

/// What a run promises.
#[derive(Clone, Debug, Serialize)]
pub struct SecurityReport {
    /// `semi-honest`: nothing is promised if a party does not follow the protocol.
    pub model: &'static str,
    /// kappa minus what its uses lose, in bits.
    pub computational_bits: f64,
}

/// A party's result. The outputs are left out of what `Debug` shows.
pub struct Report {
    /// The bits of the outputs that this party learns, as [`Program::repeat`](brickwork_circuit::Program)
    /// orders them: of one execution port after port.
    pub outputs: Vec<bool>,
    /// What each phase took.
    pub phases: Vec<PhaseReport>,
    /// What is promised.
    pub security: SecurityReport,
}

impl std::fmt::Debug for Report {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Report { outputs, phases, security } = self;
        f.debug_struct("Report")
            .field("outputs", &format_args!("{} bits", outputs.len()))
            .field("phases", phases)
            .field("security", security)
            .finish()
    }
}

fn report(outputs: Vec<bool>, phases: Vec<PhaseReport>) -> Report {
    let security = SecurityReport { model: "semi-honest", computational_bits: COMPUTATIONAL_BITS };
    Report { outputs, phases, security }
}

/// Runs the protocol as the garbler, `executions` times on inputs that do not depend on each other. `input`
/// holds the bits of its input ports, `[execution][bit]`.
///
/// # Errors
/// [`Error::Mismatch`] if the peer wants something else, [`Error::Peer`] if it sends what is no message of
/// the protocol, [`Error::Io`] if it goes away, [`Error::Input`] if `input` has the wrong length,
/// [`Error::Limit`] if there are more executions than can be numbered.
pub fn garbler(
    channel: Channel,
    job: &Job,
    executions: usize,
    input: &[bool],
    observer: &mut dyn Observer,
) -> Result<Report, Error> {
    let layout = Layout::new(&job.program, executions)?;
    let mut inputs = layout.inputs(Party::Garbler, input)?;
    let mut party = setup::garbler(Run::new(channel, Party::Garbler, observer), job, &layout)?; // 1
    let mut outputs = layout.outputs(Party::Garbler);
    for batch in layout.batches() {
        let theirs = prepare::garbler(&mut party, &batch)?; // 2
        let decoding = evaluate::garbler(&mut party, &batch, inputs.next(&batch), theirs)?; // 3
        outputs.put(&batch, decode::garbler(&mut party, &batch, decoding)?); // 4
    }
    Ok(report(outputs.finish(), party.close()?))
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
    observer: &mut dyn Observer,
) -> Result<Report, Error> {
    let layout = Layout::new(&job.program, executions)?;
    let mut inputs = layout.inputs(Party::Evaluator, input)?;
    let mut party = setup::evaluator(Run::new(channel, Party::Evaluator, observer), job, &layout)?; // 1
    let mut outputs = layout.outputs(Party::Evaluator);
    for batch in layout.batches() {
        let mine = prepare::evaluator(&mut party, &batch, inputs.next(&batch))?; // 2
        let evaluated = evaluate::evaluator(&mut party, &batch, mine)?; // 3
        outputs.put(&batch, decode::evaluator(&mut party, &batch, &evaluated)?); // 4
    }
    Ok(report(outputs.finish(), party.close()?))
}
