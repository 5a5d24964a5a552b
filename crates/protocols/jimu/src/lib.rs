//! What JIMU (Zhu and Huang, ASIACRYPT 2017) is made of, repaired: a LEGO protocol whose wires are soldered
//! by interactive hashes ([`brickwork_primitives::ihash`]) and whose buckets need one good gate.
//!
//! This is **not a protocol yet**: there are its [`parameters`], its [`gates`] with labels that are longer
//! than a block, its [`buckets`] and its input
//! [`authenticators`], each a function without a channel. What joins them by messages (setup,
//! inputs, preprocessing, solderings, outputs) is not here, so no command and no facade offers it.
//! docs/jimu.md has the whole of it, what was wrong as printed, and what is done.
#![forbid(unsafe_code)]

pub mod authenticators;
pub mod buckets;
mod cheat;
pub mod gates;
pub mod parameters;

pub use cheat::Cheat;
