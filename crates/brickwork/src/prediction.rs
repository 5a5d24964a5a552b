//! The predicted cost of a run before the run begins.

use brickwork_protocol::Promise;
use brickwork_wire::tls::PublicKey;
use serde::Serialize;

use crate::engine::request::{AgreedParameters, LinkSpeed, Protocol, RunRequest};
use crate::engine::ways::{Candidate, Protocols, RunPart};
use crate::engine::work::RunEstimate;
use crate::failure::Error;
use crate::plan::PartyBytes;
use crate::program::Program;

/// The predicted cost of a run. Bytes and round trips are exact; seconds and memory are estimates.
///
/// The seconds are those of both parties on this machine, which share its cores. On two machines like it a
/// run is not slower.
///
/// ```
/// use std::time::Duration;
/// use brickwork::{LinkSpeed, Plan, Program, Protocol};
///
/// let program = Program::from_source(
///     "richer.wir",
///     "#parties 2\n#input 1 uint_t 32\n#input 2 uint_t 32\n#output 1 uint_t 1\n#output 2 uint_t 1\n\
///      function void main() { output1 = input1 > input2; output2 = output1; }",
/// )?;
/// let link = LinkSpeed { bits_per_second: Some(100_000_000), rtt: Duration::from_millis(20) };
/// let plans = Plan::of(&program, link, [Protocol::DUPLO, Protocol::SEMI_HONEST])?;
/// assert!(plans[0].seconds <= plans[1].seconds);
/// assert!(plans.iter().all(|plan| plan.garbler_sent_bytes > 0 && plan.round_trips > 0.0));
/// # Ok::<(), brickwork::Error>(())
/// ```
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct Plan {
    /// The protocol.
    pub protocol: Protocol,
    /// Seconds from the greetings to the outputs.
    pub seconds: f64,
    /// Seconds of CPU at both parties together.
    pub cpu_seconds: f64,
    /// Bytes that the garbler sends.
    pub garbler_sent_bytes: u64,
    /// Bytes that the evaluator sends.
    pub evaluator_sent_bytes: u64,
    /// Round trips of the network.
    pub round_trips: f64,
    /// Memory of each party, in bytes.
    pub memory_bytes: PartyBytes,
    /// Temporary files of each party, in bytes.
    pub disk_bytes: PartyBytes,
    /// The promise of the run.
    pub promise: Promise,
}

impl Plan {
    /// Predicts a run of a program by each of these protocols. An empty list stands for all protocols that
    /// hold against a cheater. The protocol that a party would choose comes first.
    ///
    /// # Errors
    /// The error of the last protocol, if none can run the program.
    pub fn of(
        program: &Program,
        link: LinkSpeed,
        protocols: impl IntoIterator<Item = Protocol>,
    ) -> Result<Vec<Plan>, Error> {
        let request =
            RunRequest { line: link, ..RunRequest::new(AgreedParameters::new(Protocols::of(protocols))) };
        let keys = [PublicKey::from_bytes([0; 32]); 2];
        let party = brickwork_base::Party::Garbler;
        let part = RunPart { party, request: &request, given: program, keys, warns: false };
        let estimate = RunEstimate::of(&request)?;
        let ways = part.predicted(None)?.requests.into_iter();
        ways.map(|request| Ok(Plan::from(Candidate::of(request, program, &estimate)?))).collect()
    }
}

impl From<Candidate> for Plan {
    fn from(Candidate { request, cost, promise, .. }: Candidate) -> Self {
        let sent = |of: fn(&crate::plan::PhaseCost) -> u64| cost.phases.iter().map(of).sum();
        Plan {
            protocol: request.parameters.protocol,
            seconds: cost.seconds(),
            cpu_seconds: cost.cpu_seconds,
            garbler_sent_bytes: sent(|phase| phase.garbler_sent_bytes),
            evaluator_sent_bytes: sent(|phase| phase.evaluator_sent_bytes),
            round_trips: cost.crossings() as f64 / 2.0,
            memory_bytes: cost.memory_bytes,
            disk_bytes: cost.disk_bytes,
            promise,
        }
    }
}
