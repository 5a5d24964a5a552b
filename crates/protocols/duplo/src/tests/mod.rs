//! Cheating runs of the real state machines, one row of the catalogue of attacks after the other:
//! `row_NN_variant` ends in exactly its [`Cheat`](crate::Cheat), or is survived. The rules that hold for
//! every one of them are in [`harness`].

mod agreement;
mod authenticators;
mod commitments;
mod copies;
mod every_cheat;
mod inputs;
mod lists;
mod makers;
mod outputs;
mod rates;
pub(super) mod sessions;
mod solderings;
mod steps;
mod stored;
mod workers;

use super::adversary::harness;
