//! The promise and the report of a run.

use brickwork_protocol::{self as session, PhaseReport, Promise};

use crate::linking::Linking;

/// kappa minus the loss from garbling many gates under one hash key: at most 2^15 calls under each key, with
/// two labels for each wire.
pub const COMPUTATIONAL_BITS: f64 = 111.0;

/// The warning that every user of the protocol must read.
pub const WARNING: &str = "--protocol compgc is semi-honest: a peer that departs from the protocol can learn \
                           this party's input, or choose what this party learns; --protocol duplo holds \
                           against a cheater";

/// Makes the promise of a run. The promise is the same for all linkings, except for the name of the linking.
pub fn promise(linking: Linking) -> Promise {
    let linking = session::LinkingPromise { name: linking.name().into(), garbled: linking.garbled().into() };
    Promise { linking: Some(linking), ..Promise::semi_honest(COMPUTATIONAL_BITS, WARNING) }
}

/// A party's result. Its outputs are ordered port after port.
pub type Report = brickwork_protocol::Report<CompGc>;

/// The type that stands for CompGC in the code that all protocols share.
#[derive(Clone, Copy, Debug)]
pub struct CompGc;
pub(super) fn report(outputs: Vec<bool>, phases: Vec<PhaseReport>, linking: Linking) -> Report {
    Report { outputs, phases, promise: promise(linking), proposal: linking, aside: () }
}
