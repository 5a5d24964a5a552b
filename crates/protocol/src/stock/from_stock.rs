//! The result of a program that ran on stock.

use std::fmt;

use brickwork_base::promise::Promise;

use crate::steps::Secret;

/// The result of a program that ran on stock. `R` is the protocol's list of stock that was made for it.
pub struct FromStock<R> {
    /// The bits of the outputs that this party learns, port after port.
    pub outputs: Vec<bool>,
    /// The secrets of outputs that were not decoded, in order: later steps of the session can use them.
    pub kept: Vec<Secret>,
    /// True if the garbler cheated and the evaluator recovered the outputs. **Do not behave differently**:
    /// this may depend on the evaluator's input (docs/concepts/security.md, section 8).
    pub recovered: bool,
    /// The promise for the batches that were used.
    pub promise: Promise,
    /// The items that were missing in the stock and were made during the run.
    pub made: Option<R>,
}

/// Leaves out the outputs, which are private, and the flag `recovered`, which can depend on them.
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
