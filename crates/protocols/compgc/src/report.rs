//! What a run promises and reports.

use serde::Serialize;

use crate::linking::Linking;
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
    /// How components are linked.
    pub linking: Linking,
    /// What is garbled ahead of time.
    pub garbled: &'static str,
}

impl SecurityReport {
    /// Makes the promise of a run with this linking; the promise to the parties is the same for all.
    pub fn of(linking: Linking) -> Self {
        SecurityReport {
            model: "semi-honest",
            computational_bits: COMPUTATIONAL_BITS,
            warning: WARNING,
            linking,
            garbled: linking.garbled(),
        }
    }
}

/// A party's result. Its outputs are ordered port after port.
pub type Report = brickwork_session::Report<CompGc>;

/// CompGC, as one of the family; its parties are in the crate's root.
#[derive(Clone, Copy, Debug)]
pub struct CompGc;

/// Reports a run.
pub(super) fn report(outputs: Vec<bool>, phases: Vec<PhaseReport>, linking: Linking) -> Report {
    Report { outputs, phases, security: SecurityReport::of(linking), proposal: linking, aside: () }
}
