//! Lists of secrets.

pub use brickwork_kernels::SecretBlocks;

/// Masked values of wires, a byte each.
pub type MaskedValues = SecretBlocks<u8>;
