//! The promise and the report of a run.

/// Kappa minus a loss: a key serves 2^15 calls of the hash with two labels each.
pub const COMPUTATIONAL_BITS: f64 = 111.0;

/// The type that stands for LEGO. The parties are functions in the crate's root.
#[derive(Clone, Copy, Debug)]
pub struct Lego;

/// The evaluator's results other than its outputs.
#[derive(Default)]
pub struct Aside {
    /// True if the garbler cheated, and its input was recovered. **Do not behave differently**: a cheating
    /// garbler can make this depend on the evaluator's input (docs/concepts/security.md, section 8). The
    /// outputs are right in any case.
    pub recovered: bool,
}
