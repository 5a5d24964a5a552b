//! Crossings 3 to 5: the work after the inputs are known. It is the same for components that were garbled in
//! this run and for components from a store.

use crate::layout::Layout;
use crate::preprocess::{Garbled, Received};
use crate::setup::{Evaluator, Garbler};
use crate::{build, decode, evaluate, prepare};
use brickwork_base::Error;

/// Runs the online phase and returns the garbler's outputs.
pub(super) fn garbler(
    party: &mut Garbler,
    layout: &Layout,
    garbled: Garbled,
    input: &[bool],
) -> Result<Vec<bool>, Error> {
    let theirs = prepare::garbler(party, layout, &garbled)?; // 3
    let wires = build::garbler(party, layout, garbled, input, &theirs)?; // 4
    evaluate::garbler(party, layout, &wires)?;
    decode::garbler(party, layout, &wires) // 5
}

/// Runs the online phase and returns the evaluator's outputs.
pub(super) fn evaluator(
    party: &mut Evaluator,
    layout: &Layout,
    mut received: Received,
    input: &[bool],
) -> Result<Vec<bool>, Error> {
    prepare::evaluator(party, input, &received)?; // 3
    let (mut wires, links) = build::evaluator(party, layout, &mut received)?; // 4
    let decoding = evaluate::evaluator(party, layout, &received, &mut wires, &links)?;
    decode::evaluator(party, layout, &wires, decoding) // 5
}
