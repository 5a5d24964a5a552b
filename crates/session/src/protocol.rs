//! What makes a protocol one of the family.

use std::fmt::Debug;

use brickwork_base::Error;
use brickwork_wire::Channel;
use serde::Serialize;

use brickwork_base::promise::Promise;

use crate::{Job, Observer};

/// A protocol: how it is named, what describes a run of it, and its two parties.
pub trait Protocol: Sized + 'static {
    /// As users name it.
    const NAME: &'static str;
    /// What the greeting names it by; no two protocols have the same.
    const CODE: [u8; 2];
    /// The phases of a run, in their order. Their messages take turns where flights are shared.
    const PHASES: &'static [&'static str];
    /// What the garbler proposes beside the job, and the evaluator accepted.
    type Proposal;
    /// What an evaluator accepts.
    type Limits<'a>;
    /// What a party learns beside its outputs, and must not let show.
    type Aside: Default;

    /// Returns the place of a phase in the order; behind all of them, if it is none.
    fn phase_order(name: &str) -> usize {
        Self::PHASES.iter().position(|phase| *phase == name).unwrap_or(Self::PHASES.len())
    }

    /// Runs the protocol as the garbler. `input` are the bits of its input ports, in order.
    ///
    /// # Errors
    /// [`Error::Mismatch`] if the peer wants something else, [`Error::Peer`] if it cheats, [`Error::Io`] if
    /// it goes away, [`Error::Input`] if `input` has the wrong length.
    fn garbler(
        channel: Channel,
        job: &Job,
        proposal: &Self::Proposal,
        input: &[bool],
        observer: Box<dyn Observer>,
    ) -> Result<Report<Self>, Error>;

    /// Runs the protocol as the evaluator, who takes what the garbler proposes within these limits.
    ///
    /// # Errors
    /// As [`Protocol::garbler`].
    fn evaluator(
        channel: Channel,
        job: &Job,
        limits: &Self::Limits<'_>,
        input: &[bool],
        observer: Box<dyn Observer>,
    ) -> Result<Report<Self>, Error>;
}

/// What one phase took.
#[derive(Clone, Debug, Serialize)]
pub struct PhaseReport {
    /// One of the [phases](Protocol::PHASES) of its protocol.
    pub name: &'static str,
    /// Wall time at this party.
    pub seconds: f64,
    /// Bytes that the garbler sent: payload and framing.
    pub garbler_sent_bytes: u64,
    /// Bytes that the evaluator sent.
    pub evaluator_sent_bytes: u64,
    /// When it ran, in order: phases take turns. Only the first spans of a long session are kept.
    pub spans: Vec<Span>,
}

/// A stretch of time in which one phase ran. Times are seconds since the stopwatch was started.
#[derive(Clone, Debug, Serialize)]
pub struct Span {
    /// When it began.
    pub began_seconds: f64,
    /// When it ended.
    pub ended_seconds: f64,
    /// What went over the line meanwhile, in order.
    pub flights: Vec<Flight>,
}

/// Messages of one party without any of the other one's between them, as far as they fall into a span.
#[derive(Clone, Debug, Serialize)]
pub struct Flight {
    /// Who sent them: `garbler` or `evaluator`.
    pub from: &'static str,
    /// When this party began to send, or to wait for the first of them.
    pub began_seconds: f64,
    /// When it had handed over or received the last of them.
    pub ended_seconds: f64,
    /// How long the thread that talks was doing nothing but receive; 0 of what this party sent.
    pub waited_seconds: f64,
    /// Payload and framing.
    pub bytes: u64,
}

/// A party's result.
pub struct Report<P: Protocol> {
    /// The bits of the outputs that this party learns, port after port.
    pub outputs: Vec<bool>,
    /// What each phase took.
    pub phases: Vec<PhaseReport>,
    /// The promise of the run.
    pub promise: Promise,
    /// What the garbler proposed and the evaluator accepted.
    pub proposal: P::Proposal,
    /// What must not show.
    pub aside: P::Aside,
}

/// Leaves out the outputs, which are the party's own, and what must not show.
impl<P: Protocol> Debug for Report<P> {
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
