//! The result of a program that ran on stock.

use std::fmt;

use brickwork_base::promise::Promise;

use crate::steps::Secret;

/// The result of a program that ran on stock; `R` is how its protocol says what was asked to be made.
pub struct FromStock<R> {
    /// The bits of the outputs that this party learns, port after port.
    pub outputs: Vec<bool>,
    /// What nobody decoded, in the order of its outputs: later steps of the session carry it on.
    pub kept: Vec<Secret>,
    /// Whether the garbler cheated and the outputs were recovered. **Do not behave differently**: this may
    /// depend on the evaluator's input (docs/security.md, section 8).
    pub recovered: bool,
    /// The promise, over the batches that were used.
    pub promise: Promise,
    /// What the stock lacked, so that it was made on the spot.
    pub made: Option<R>,
}

/// Leaves out the outputs, which are the party's own, and whether they were recovered, which depends on them.
impl<R: fmt::Debug> fmt::Debug for FromStock<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let FromStock { outputs, kept: _, recovered: _, promise, made } = self;
        f.debug_struct("FromStock")
            .field("outputs", &format_args!("{} bits", outputs.len()))
            .field("promise", promise)
            .field("made", made)
            .finish_non_exhaustive()
    }
}
