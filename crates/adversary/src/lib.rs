//! The catalogue of attacks: a cheater's actions against the real state machines, and the required endings
//! with their frequencies.
//!
//! An [`Attack`] is a few lines that alter an outgoing message or a party's state, with the exact
//! probabilities of its endings. [`play`] plays an attack many times and compares the frequencies.
//! [`Outcome::ending`](brickwork::duplo::adversary::harness::Outcome::ending) checks the rules for all runs:
//! a typed error, no message after the error, and the same closed connection for every cause.
//!
//! This crate's root is about DUPLO. The attacks on other protocols have modules of their own:
//! [`authenticated`], [`jimu`], [`lego`]; [`family`] has their common parts.
//!
//! [`sampler`] simulates the cut-and-choose alone, millions of times; [`table`] writes the page with each
//! check's attacks.
#![forbid(unsafe_code)]

pub mod authenticated;
mod catalogue;
pub mod family;
pub mod jimu;
pub mod lego;
pub mod sampler;
mod stores;
pub mod table;
mod trials;

pub use catalogue::{Attack, catalogue};
pub use trials::{Count, Result, within};
pub use trials::{name, play, who};
