//! The promise and the report of a run.

/// kappa minus the loss of garbling many gates under one key: 2^15 calls of the hash and two labels each.
pub const COMPUTATIONAL_BITS: f64 = 111.0;

/// LEGO, as one of the family; its parties are in the crate's root.
#[derive(Clone, Copy, Debug)]
pub struct Lego;

/// The knowledge of an evaluator beside its outputs.
#[derive(Default)]
pub struct Aside {
    /// The garbler cheated, and its input was recovered. **Do not behave differently**: the garbler can cheat
    /// so that this depends on the evaluator's input (docs/concepts/security.md, section 8). The outputs are
    /// right in any case.
    pub recovered: bool,
}
