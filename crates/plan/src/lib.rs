//! The cost of a computation, known before it runs: bytes and rounds exactly, seconds and memory as
//! estimates.
//!
//! A protocol describes a run as a [`Script`], a list of steps, messages and work, for a program and its
//! parameters. The prediction uses this list in three ways. The traffic is the sum of its messages. The
//! number of rounds is the longest chain of messages that wait for each other. The time is the length of its
//! longest path, with the constants of a [`Machine`] and of a [`Link`]. The model is derived in
//! `docs/concepts/cost-model.md`.
//!
//! This crate knows no protocol. Each [`WorkKind`] is defined in the crate that does this work: that of a
//! protocol, or of a building block of several protocols. This crate states the time of a unit on one
//! machine, and [measures](Measure) the time on other machines.
#![forbid(unsafe_code)]

mod clock;
mod cluster;
mod cost;
mod link;
mod machine;
mod measure;
mod rounds;
mod script;
mod work;

pub use cluster::{Lanes, Makespan, Stretch, Surroundings};
pub use cost::{Cost, PartyBytes, PhaseCost, WORTH_ANOTHER_CUT, best_cut, predict};
pub use link::Link;
pub use machine::Machine;
pub use measure::{Measure, REPEATS, beyond, fastest, measure, over_loopback, thread_seconds};
pub use script::{MANY, PROCESS_BYTES, SLICES, Script, ScriptStep, share};
pub use work::{KNOWN_KERNELS, MeasuredWork, READ_BACK, SPILL, TOUCH, WorkKind};
