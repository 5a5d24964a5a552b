//! The parts that protocols are made of: garbling, oblivious transfer, homomorphic commitments, interactive
//! hashes, cut-and-choose, authenticators, soldering, and files for data that does not fit into memory; and
//! the cost of each.
#![forbid(unsafe_code)]

// Files of tests that other crates include, too, name this crate as those do.
#[cfg(test)]
extern crate self as brickwork_primitives;

pub mod authenticator;
pub mod binding;
pub mod commit;
pub mod cost;
pub mod counters;
pub mod cut_and_choose;
pub mod garbling;
pub mod ihash;
pub mod long_hash;
pub mod ot;
pub mod receive;
pub mod solder;
pub mod spill;

use brickwork_base::label::Label;
use brickwork_kernels::Secrets;

/// Labels that are erased when dropped. An iterator that is collected into them must know its length: growing
/// leaves copies behind.
pub type Labels = Secrets<Label>;
