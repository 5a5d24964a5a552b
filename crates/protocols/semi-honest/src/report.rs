//! The promise and the report of a run.

use brickwork_protocol::{PhaseReport, Promise};

/// Kappa minus a loss: a key serves 2^15 calls of the hash with two labels each.
pub const COMPUTATIONAL_BITS: f64 = 111.0;

/// The warning that the command line shows before a run.
pub const WARNING: &str = "--protocol semi-honest: a peer that departs from the protocol can learn this \
                           party's input, or choose what this party learns; --protocol duplo holds against \
                           a cheater";

/// Makes the promise, which is the same for every run.
pub fn promise() -> Promise {
    Promise::semi_honest(COMPUTATIONAL_BITS, WARNING)
}

/// A party's result. The outputs have the order of [`Program::repeat`](brickwork_circuit::Program). With one
/// execution, this is the order of the ports.
pub type Report = brickwork_protocol::Report<SemiHonest>;

/// The number of independent executions of a program, on which both parties must agree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Executions(pub usize);

/// Yao's protocol as an implementation of the trait [`SessionProtocol`](brickwork_protocol::SessionProtocol).
#[derive(Clone, Copy, Debug)]
pub struct SemiHonest;

/// Makes the report of a run.
pub(super) fn report(outputs: Vec<bool>, phases: Vec<PhaseReport>, executions: usize) -> Report {
    Report { outputs, phases, promise: promise(), proposal: Executions(executions), aside: () }
}
