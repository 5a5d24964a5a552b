//! The catalogue of attacks: a cheater's actions against the real state machines, and the required endings
//! with their frequencies.
//!
//! An [`Attack`] is a few lines that alter an outgoing message or a party's state, with the exact
//! probabilities of its endings. [`play`] plays an attack many times and compares the frequencies. The runs
//! are [cases](brickwork_harness::Case) of the attack rig, which checks the rules for all runs: a typed
//! error, no message after the error, and the same closed connection for every cause.
//!
//! Each protocol has a list of its attacks; [`pages`] has all of them. [`sampler`] simulates the
//! cut-and-choose alone, millions of times.
#![forbid(unsafe_code)]

mod attack;
pub mod authenticated;
pub mod duplo;
pub mod jimu;
pub mod lego;
mod page;
pub mod sampler;
mod shared;
mod trials;

pub use attack::Attack;
pub use page::AttackPage;
pub use trials::{Count, Result, name, play, who, within};

/// Returns the pages of all protocols that have a catalogue.
pub fn pages() -> Vec<AttackPage> {
    vec![duplo::page(), authenticated::page(), jimu::page(), lego::page()]
}
