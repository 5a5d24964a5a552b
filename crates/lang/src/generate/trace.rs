//! The record of an execution of `main`.

use std::ops::Range;

use crate::graph::{Graph, GraphBit};

/// A call from `main` that became a slot.
#[derive(Clone, Copy, Debug)]
pub struct SlotCall {
    /// The number of the function.
    pub function: u32,
    /// The index of its first argument bit in [`Trace::args`].
    pub args: usize,
    /// The number of argument bits.
    pub inputs: u32,
    /// The node of its first result bit; the others follow.
    pub first: u32,
    /// The number of result bits.
    pub results: u32,
}

/// The circuit of `main`, with leaves for inputs and for the results of calls.
#[derive(Default)]
pub struct Trace {
    /// The gates.
    pub graph: Option<Graph>,
    /// The number of inputs, which are the first leaves.
    pub inputs: u32,
    /// The calls, in order.
    pub calls: Vec<SlotCall>,
    /// The argument bits of all calls.
    pub args: Vec<GraphBit>,
    /// For each executed statement, the first node after its beginning. This tells which gates belong
    /// together.
    pub marks: Vec<u32>,
    /// The bits of the outputs.
    pub outputs: Vec<Vec<GraphBit>>,
}

impl Trace {
    /// Returns the arguments of a call.
    pub fn args(&self, call: usize) -> &[GraphBit] {
        let SlotCall { args, inputs, .. } = self.calls[call];
        &self.args[args..args + inputs as usize]
    }

    /// Returns the leaves of a call's results.
    pub fn results(&self, call: usize) -> Range<u32> {
        let SlotCall { first, results, .. } = self.calls[call];
        first..first + results
    }
}
