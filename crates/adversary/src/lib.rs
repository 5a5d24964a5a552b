//! The catalogue of attacks: the actions of a cheater, run against the real state machines, and the required
//! ending of each with its frequency.
//!
//! An [`Attack`] is a few lines that alter a message on its way out or a party's state before it is used, and
//! the exact probabilities of its endings. [`play`] runs it many times and compares.
//! [`Outcome::ending`](brickwork::duplo::adversary::harness::Outcome::ending) checks in each run the rules
//! for every cheat: a typed error, silence after it, and the same closed connection for every cause.
//!
//! This crate's root is about DUPLO. The attacks on other protocols are in modules of their own:
//! [`authenticated`], [`jimu`], [`lego`]; [`family`] has their common parts.
//!
//! [`sampler`] simulates the cut-and-choose alone, millions of times; [`table`] writes the page that tells
//! which check detects which attack.
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
