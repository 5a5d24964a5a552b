//! The trace of `main`'s execution.

use std::ops::Range;

use crate::graph::{Bit, Graph};

/// A call from `main` that became a slot.
#[derive(Clone, Copy, Debug)]
pub struct Call {
    /// The function.
    pub function: u32,
    /// Where its arguments begin in [`Trace::args`].
    pub args: usize,
    /// Number of argument bits.
    pub inputs: u32,
    /// The leaf of its first result bit; the others follow.
    pub first: u32,
    /// Number of results.
    pub results: u32,
}

/// The circuit of `main`, with leaves for inputs and for the results of calls.
#[derive(Default)]
pub struct Trace {
    /// The gates.
    pub graph: Option<Graph>,
    /// The first leaves are the inputs.
    pub inputs: u32,
    /// Calls in order.
    pub calls: Vec<Call>,
    /// Bits of the arguments of all calls.
    pub args: Vec<Bit>,
    /// For each executed statement the first node after it began; to tell which gates belong together.
    pub marks: Vec<u32>,
    /// Bits of the outputs.
    pub outputs: Vec<Vec<Bit>>,
}

impl Trace {
    /// Returns the arguments of a call.
    pub fn args(&self, call: usize) -> &[Bit] {
        let Call { args, inputs, .. } = self.calls[call];
        &self.args[args..args + inputs as usize]
    }

    /// Returns the leaves of a call's results.
    pub fn results(&self, call: usize) -> Range<u32> {
        let Call { first, results, .. } = self.calls[call];
        first..first + results
    }
}
