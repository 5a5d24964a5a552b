//! Lists of secrets.

pub use brickwork_kernels::Secrets;

/// Masked values of wires, a byte each.
pub type Masked = Secrets<u8>;
