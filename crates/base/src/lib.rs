//! What every floor of Brickwork speaks of: errors and cheats, the two parties, labels, randomness, bits as
//! bytes, places of files, the threads that compute, how a thread that waits is stopped, and which process
//! has what.
#![forbid(unsafe_code)]

pub mod bits;
pub mod digest;
pub mod error;
pub mod label;
mod party;
pub mod place;
pub mod pool;
pub mod process;
pub mod promise;
pub mod random;
mod security;
pub mod stop;

pub use error::{Cheat, Error, Malformed, Strangers, short};
pub use party::Party;
pub use security::{Security, at_most};
