//! The catalogue of attacks: what a cheater tries, played against the real state machines, and how often it
//! must end in which way.
//!
//! An [`Attack`] is a few lines that alter a message on its way out or a party's state before it is used, and
//! the exact probabilities of its endings. [`play`] runs it many times and compares.
//! [`Outcome::ending`](brickwork::duplo::adversary::harness::Outcome::ending) checks in each run the rules
//! for every cheat: a typed error, silence after it, and the same closed connection for every cause.
//!
//! This crate's root is about DUPLO. The attacks on other protocols are in modules of their own:
//! [`authenticated`], [`jimu`], [`lego`]; [`family`] has their common parts.
//!
//! [`sampler`] plays the cut-and-choose alone, by the million; [`table`] writes the page that says which
//! check sees what.
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
