//! Garbling of many copies of a component in lockstep: a [`Scheme`], of which [`HalfGates`] is the one that
//! the protocols use.
//!
//! A [`Schedule`] is made once for a component; [`Scheme::garble`] and [`Scheme::evaluate`] walk it with many
//! copies side by side. With half-gates (Zahur, Rosulek, Evans 2015) XOR and INV are free, an AND gate takes
//! a table of 32 bytes, `T_G ‖ T_E`. A copy's tables are those of its AND gates in the order of the circuit;
//! they are passed on section by section, so that memory depends on the labels alive at a time and not on the
//! number of gates.
//!
//! # The hash
//!
//! `H(x, i) = AES_k(y) ⊕ y` with `y = σ(x) ⊕ i` and `σ(x_hi ‖ x_lo) = (x_hi ⊕ x_lo) ‖ x_hi`; `i` is the index
//! of the half gate, `2j` and `2j + 1` for AND gate `j` of the circuit. An attacker that sees many instances
//! under one key gains a factor of their number (Guo, Katz, Wang, Weng, Yu 2020). So a key serves at most
//! 2^15 calls: [`GarblingKeys`] derives keys from a random start of the batch, the copy's *group* and the
//! gate's *chunk*. Copies of a group share keys, so they can be processed in lockstep. A group is as large as
//! the bound allows, because the evaluated copies come from anywhere in the batch.

mod ands;
mod evaluate;
mod garble;
mod half_gates;
mod hash;
mod keys;
mod lanes;
pub mod masked;
mod order;
mod schedule;
mod scheme;
mod tables;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod textbook;

pub use ands::{AndGates, AndRoom, AndTable};
pub use half_gates::HalfGates;
pub use hash::{HashTables, TABLE_HASH_BYTES, table_hash};
pub use keys::GarblingKeys;
pub use schedule::{Schedule, input_slot};
pub use scheme::{Colours, GateBytes, HashUse, Scheme};
pub use tables::{Collect, TableSink, TableSource};
