//! Crossings 2 to 4 of all executions, batch by batch: the whole protocol behind its setup. Beside the calls
//! stand the crossings of the link.

use crate::batch::{Inputs, Layout};
use crate::setup::{Evaluator, Garbler};
use crate::{decode, evaluate, prepare};
use brickwork_base::{Error, Party};
use brickwork_session::stock::ots::{EvaluatorOts, GarblerOts};
use brickwork_session::stock::records::Stream;

/// Garbles all executions, with OTs that are made now or come from a store. Returns the garbler's outputs.
pub(super) fn garbler(
    party: &mut Garbler,
    layout: &Layout,
    mut inputs: Inputs,
    mut stock: Option<Stream<GarblerOts>>,
) -> Result<Vec<bool>, Error> {
    let mut outputs = layout.outputs(Party::Garbler);
    for batch in layout.batches() {
        let theirs = prepare::garbler(party, &batch, stock.as_mut())?; // 2
        let decoding = evaluate::garbler(party, &batch, inputs.next(&batch), theirs)?; // 3
        outputs.put(&batch, decode::garbler(party, &batch, decoding)?); // 4
    }
    Ok(outputs.finish())
}

/// Evaluates all executions, as [`garbler`]. Returns the evaluator's outputs.
pub(super) fn evaluator(
    party: &mut Evaluator,
    layout: &Layout,
    mut inputs: Inputs,
    mut stock: Option<Stream<EvaluatorOts>>,
) -> Result<Vec<bool>, Error> {
    let mut outputs = layout.outputs(Party::Evaluator);
    for batch in layout.batches() {
        let mine = prepare::evaluator(party, &batch, inputs.next(&batch), stock.as_mut())?; // 2
        let evaluated = evaluate::evaluator(party, &batch, mine)?; // 3
        outputs.put(&batch, decode::evaluator(party, &batch, &evaluated)?); // 4
    }
    Ok(outputs.finish())
}
