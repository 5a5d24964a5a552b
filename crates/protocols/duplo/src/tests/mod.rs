//! Cheats in the real state machines, row by row of the catalogue of attacks: `row_NN_variant` ends with
//! exactly its [`Cheat`](crate::Cheat), or is survived. [`harness`] checks the rules that hold for every
//! cheat.

mod agreement;
mod authenticators;
mod commitments;
mod copies;
mod inputs;
mod lists;
mod makers;
mod outputs;
pub(super) mod sessions;
mod solderings;
mod steps;
mod stored;
mod workers;

use super::adversary::harness;
