//! The promise and the report of a run.

use brickwork_session::{PhaseReport, Promise};

/// kappa minus the loss of garbling many gates under one key: 2^15 calls of the hash and two labels each.
pub const COMPUTATIONAL_BITS: f64 = 111.0;

/// The warning that everybody who runs the protocol must read.
pub const WARNING: &str = "--protocol semi-honest: a peer that departs from the protocol can learn this \
                           party's input, or choose what this party learns; --protocol duplo holds against \
                           a cheater";

/// Makes the promise, which is the same for every run.
pub fn promise() -> Promise {
    Promise::semi_honest(COMPUTATIONAL_BITS, WARNING)
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
    Report { outputs, phases, promise: promise(), proposal: Executions(executions), aside: () }
}
