//! Garbling of many copies of a component in lockstep. The interface is [`GarblingScheme`]; the protocols use
//! the scheme [`HalfGates`].
//!
//! A component has one [`Schedule`]. [`GarblingScheme::garble`] and [`GarblingScheme::evaluate`] follow it,
//! and process many copies side by side. With half-gates (Zahur, Rosulek, Evans 2015), XOR and INV are free,
//! and the table of an AND gate has 32 bytes, `T_G ‖ T_E`. A copy's tables are those of its AND gates in the
//! order of the circuit. The tables are passed to the caller section by section. So memory depends on the
//! number of live labels, not on the number of gates.
//!
//! # The hash
//!
//! `H(x, i) = AES_k(y) ⊕ y` with `y = σ(x) ⊕ i` and `σ(x_hi ‖ x_lo) = (x_hi ⊕ x_lo) ‖ x_hi`; `i` is the index
//! of the half gate, `2j` and `2j + 1` for AND gate `j` of the circuit. An attacker that sees many hashes
//! under one key gains a factor of their number (Guo, Katz, Wang, Weng, Yu 2020). So a key serves at most
//! 2^15 calls: [`GarblingKeys`] derives keys from a random start of the batch, the copy's *group* and the
//! gate's *chunk*. Copies of a group share keys, so they can be processed in lockstep. A group is as large as
//! the bound allows, because the challenge scatters the evaluated copies over the whole batch.

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
pub use scheme::{Colours, GarblingScheme, GateBytes, HashUse};
pub use tables::{Collect, TableSink, TableSource};
