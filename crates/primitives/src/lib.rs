//! The building blocks of the protocols: garbling, oblivious transfer, homomorphic commitments, interactive
//! hashes, cut-and-choose, authenticators, soldering, and temporary files for data that does not fit into
//! memory. Each block comes with its cost.
#![forbid(unsafe_code)]

// Other crates include some test files of this crate, so these files use the crate's external name.
#[cfg(test)]
extern crate self as brickwork_primitives;

pub mod authenticator;
pub mod binding;
pub mod commit;
pub mod cost;
pub mod counters;
pub mod cut_and_choose;
pub mod garbling;
pub mod hooks;
pub mod ihash;
pub mod long_hash;
pub mod ot;
pub mod receive;
pub mod solder;
pub mod spill;

use brickwork_base::label::Label;
use brickwork_kernels::SecretBlocks;

/// Labels that are erased when dropped. An iterator that is collected into them must know its length, because
/// a growing list leaves copies behind.
pub type Labels = SecretBlocks<Label>;
