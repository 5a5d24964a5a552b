//! Secure two-party computation from garbled components (DUPLO, CCS 2017).
#![forbid(unsafe_code)]

pub mod authenticator;
pub mod bits;
pub mod circuit;
pub mod commit;
pub mod cut_and_choose;
pub mod duplo;
pub mod error;
pub mod garbling;
pub mod label;
pub mod ot;
pub mod random;
pub mod session;
pub mod solder;
pub mod wire;

pub use error::{Cheat, Error};
