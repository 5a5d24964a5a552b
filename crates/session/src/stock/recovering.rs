//! What a program from stock gives where the evaluator of a cheating garbler recovers the outputs.

/// What a program from stock gave.
pub struct FromStock<S, R> {
    /// As in a [`Report`](crate::Report).
    pub outputs: Vec<bool>,
    /// Whether the garbler cheated and the outputs were recovered. It depends on the evaluator's input, so do
    /// not behave differently; of it holds all that is said where the protocol reports it of a run.
    pub recovered: bool,
    /// What was promised, over the batches that were used.
    pub security: S,
    /// What had to be made on the spot.
    pub made: Option<R>,
}

/// The outputs are left out, which are the party's own, and whether they were recovered, which depends on
/// them.
impl<S: std::fmt::Debug, R: std::fmt::Debug> std::fmt::Debug for FromStock<S, R> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let FromStock { outputs, recovered: _, security, made } = self;
        f.debug_struct("FromStock")
            .field("outputs", &format_args!("{} bits", outputs.len()))
            .field("security", security)
            .field("made", made)
            .finish_non_exhaustive()
    }
}
