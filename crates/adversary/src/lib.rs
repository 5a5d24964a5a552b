//! The catalogue of attacks: each is an action of a cheater against the real parties, with the required
//! endings and their frequencies.
//!
//! An [`Attack`] is a few lines that alter an outgoing message or a party's state, with the exact
//! probabilities of its endings. [`play`] plays an attack many times, and compares the frequencies with the
//! probabilities. [`Outcome::ending`](brickwork::duplo::adversary::harness::Outcome::ending) checks rules for
//! every run: the error is typed, no message follows the error, and every cause closes the connection in the
//! same way.
//!
//! This crate's root is about DUPLO. The attacks on other protocols have modules of their own:
//! [`authenticated`], [`jimu`], [`lego`]; [`family`] has their common parts.
//!
//! [`sampler`] simulates only the cut-and-choose, millions of times; [`table`] writes the page with each
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
