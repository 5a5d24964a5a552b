//! Crossings 2 to 4 of all executions, chunk by chunk. Together with the setup they are the whole protocol.
//! The numbers beside the calls are the crossings.

use crate::layout::{Layout, PartyInputs};
use crate::setup::{Evaluator, Garbler};
use crate::{decode, evaluate, prepare};
use brickwork_base::{Error, Party};
use brickwork_protocol::stock::records::TakenStream;

/// Garbles all executions, with new OTs or with OTs from a store. Returns the garbler's outputs.
pub(super) fn garbler(
    party: &mut Garbler,
    layout: &Layout,
    mut inputs: PartyInputs,
    mut stock: Option<TakenStream>,
) -> Result<Vec<bool>, Error> {
    let mut outputs = layout.outputs(Party::Garbler);
    for chunk in layout.chunks() {
        let theirs = prepare::garbler(party, &chunk, stock.as_mut())?; // 2
        let decoding = evaluate::garbler(party, &chunk, inputs.next(&chunk), theirs)?; // 3
        outputs.put(&chunk, decode::garbler(party, &chunk, decoding)?); // 4
    }
    Ok(outputs.finish())
}

/// Evaluates all executions, with new OTs or with OTs from a store. Returns the evaluator's outputs.
pub(super) fn evaluator(
    party: &mut Evaluator,
    layout: &Layout,
    mut inputs: PartyInputs,
    mut stock: Option<TakenStream>,
) -> Result<Vec<bool>, Error> {
    let mut outputs = layout.outputs(Party::Evaluator);
    for chunk in layout.chunks() {
        let mine = prepare::evaluator(party, &chunk, inputs.next(&chunk), stock.as_mut())?; // 2
        let evaluated = evaluate::evaluator(party, &chunk, mine)?; // 3
        outputs.put(&chunk, decode::evaluator(party, &chunk, &evaluated)?); // 4
    }
    Ok(outputs.finish())
}
