//! Types that every part of Brickwork uses: errors and cheats, promises, the two parties, labels, randomness,
//! packed bits, digests, private files, the pool of threads, quotas, and requests to stop a thread.
#![forbid(unsafe_code)]

pub mod bits;
pub mod digest;
pub mod error;
pub mod label;
mod party;
pub mod place;
pub mod pool;
pub mod private;
pub mod process;
pub mod promise;
pub mod quota;
pub mod random;
mod security;
pub mod stop;

pub use error::{Cheat, Error, Malformed, RunStanding, Strangers, short};
pub use party::Party;
pub use security::{Security, at_most};
