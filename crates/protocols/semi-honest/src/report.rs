//! What a run promises and reports.

use serde::Serialize;

use brickwork_session::PhaseReport;

/// kappa minus the loss of garbling many gates under one key: 2^15 calls of the hash and two labels each.
pub const COMPUTATIONAL_BITS: f64 = 111.0;

/// What everybody who runs the protocol is to know.
pub const WARNING: &str = "semi-honest: a peer that departs from the protocol can learn this party's input, \
                           or choose what this party learns; --protocol duplo holds against a cheater";

/// What a run promises.
#[derive(Clone, Debug, Serialize)]
pub struct SecurityReport {
    /// `semi-honest`: nothing is promised if a party does not follow the protocol.
    pub model: &'static str,
    /// kappa minus what its uses lose, in bits.
    pub computational_bits: f64,
    /// What everybody who runs it is to know.
    pub warning: &'static str,
}

impl SecurityReport {
    /// Makes the promise, which is the same for every run.
    pub fn of_every_run() -> Self {
        SecurityReport { model: "semi-honest", computational_bits: COMPUTATIONAL_BITS, warning: WARNING }
    }
}

/// A party's result. Its outputs are ordered as [`Program::repeat`](brickwork_circuit::Program) orders them:
/// of one execution port after port.
pub type Report = brickwork_session::Report<SemiHonest>;

/// How often a program is executed, on inputs that do not depend on each other. Both parties must mean the
/// same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Executions(pub usize);

/// Yao's protocol, as one of the family; its parties are in the crate's root.
#[derive(Clone, Copy, Debug)]
pub struct SemiHonest;

/// Reports a run.
pub(super) fn report(outputs: Vec<bool>, phases: Vec<PhaseReport>, executions: usize) -> Report {
    let security = SecurityReport::of_every_run();
    Report { outputs, phases, security, proposal: Executions(executions), aside: () }
}
