//! The interface that each protocol of the family implements.

use std::borrow::Cow;
use std::fmt::Debug;

use brickwork_base::Error;
use brickwork_wire::{Channel, Departures};
use serde::{Deserialize, Serialize};

use brickwork_base::promise::Promise;

use crate::{AgreedJob, Observer};

/// A protocol: its names, its phases, and its two parties.
pub trait SessionProtocol: Sized + 'static {
    /// The name for users.
    const NAME: &'static str;
    /// The code in the greeting; each protocol has a different one.
    const CODE: [u8; 2];
    /// The phases of a run, in their order. Their messages alternate if phases share flights.
    const PHASES: &'static [&'static str];
    /// The messages which show how far the values of a program have left: for the garbler, and for the
    /// evaluator.
    const DEPARTURES: [Departures; 2];
    /// The garbler's proposal, which is not part of the job.
    type Proposal;
    /// The limits within which an evaluator accepts a proposal.
    type Limits<'a>;
    /// A result besides the outputs. The party must not reveal it by its behaviour.
    type Aside: Default;

    /// Returns the index of a phase in the order. An unknown phase comes after all others.
    fn phase_order(name: &str) -> usize {
        Self::PHASES.iter().position(|phase| *phase == name).unwrap_or(Self::PHASES.len())
    }

    /// Runs the protocol as the garbler. `input` has the bits of its input ports, in order.
    ///
    /// # Errors
    /// [`Error::Mismatch`] if the peer wants a different run, [`Error::Peer`] if it cheats, [`Error::Io`] if
    /// it goes away, [`Error::Input`] if `input` has the wrong length.
    fn garbler(
        channel: Channel,
        job: &AgreedJob,
        proposal: &Self::Proposal,
        input: &[bool],
        observer: Box<dyn Observer>,
    ) -> Result<Report<Self>, Error>;

    /// Runs the protocol as the evaluator, which accepts the garbler's proposal within these limits.
    ///
    /// # Errors
    /// As [`SessionProtocol::garbler`].
    fn evaluator(
        channel: Channel,
        job: &AgreedJob,
        limits: &Self::Limits<'_>,
        input: &[bool],
        observer: Box<dyn Observer>,
    ) -> Result<Report<Self>, Error>;
}

/// The time and the bytes of one phase.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct PhaseReport {
    /// One of the [phases](SessionProtocol::PHASES) of its protocol.
    pub name: Cow<'static, str>,
    /// Wall time at this party.
    pub seconds: f64,
    /// Bytes that the garbler sent: payload and framing.
    pub garbler_sent_bytes: u64,
    /// Bytes that the evaluator sent.
    pub evaluator_sent_bytes: u64,
    /// The stretches of time in which the phase ran, in order. Only the first spans of a long session are
    /// kept.
    pub spans: Vec<PhaseSpan>,
}

/// A stretch of time in which one phase ran. Times are seconds since the measurement started.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct PhaseSpan {
    /// The time when the phase began or resumed.
    pub began_seconds: f64,
    /// The time when the phase ended or paused.
    pub ended_seconds: f64,
    /// The messages that passed in this time, in order.
    pub flights: Vec<Flight>,
}

/// Consecutive messages of one party within a span.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Flight {
    /// The sender: `garbler` or `evaluator`.
    pub from: Cow<'static, str>,
    /// The time when this party began to send the first message, or to wait for it.
    pub began_seconds: f64,
    /// The time when this party had handed over or received the last message.
    pub ended_seconds: f64,
    /// Seconds in which the communicating thread only waited for bytes; 0 for messages that this party sent.
    pub waited_seconds: f64,
    /// Bytes of payload and framing.
    pub bytes: u64,
}

/// A party's result.
pub struct Report<P: SessionProtocol> {
    /// The bits of the outputs that this party learns, port after port.
    pub outputs: Vec<bool>,
    /// The time and the bytes of each phase.
    pub phases: Vec<PhaseReport>,
    /// The promise of the run.
    pub promise: Promise,
    /// The garbler's proposal, which the evaluator accepted.
    pub proposal: P::Proposal,
    /// The result that the party must not reveal.
    pub aside: P::Aside,
}

/// Leaves out the private outputs, and the result that the party must not reveal.
impl<P: SessionProtocol> Debug for Report<P> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Report { outputs, phases, promise, proposal: _, aside: _ } = self;
        f.debug_struct("Report")
            .field("protocol", &P::NAME)
            .field("outputs", &format_args!("{} bits", outputs.len()))
            .field("phases", phases)
            .field("promise", promise)
            .finish_non_exhaustive()
    }
}
