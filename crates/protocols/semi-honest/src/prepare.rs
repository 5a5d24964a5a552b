//! Crossing 2: correlated OTs whose choices are the evaluator's inputs. The garbler's label for choice 0 is the
//! false label of the wire, as the OTs' offset is that of the wires; the evaluator gets the label of its bit.

use zeroize::Zeroizing;

use crate::batch::Batch;
use crate::setup::{Evaluator, Garbler};
use brickwork_base::Error;
use brickwork_base::label::Labels;
use brickwork_primitives::ot::{CotReceiver as _, CotSender as _};

/// Receives what the evaluator's choices are hidden in. Returns the false labels of its inputs,
/// `[execution][wire]`.
pub(super) fn garbler(party: &mut Garbler, batch: &Batch) -> Result<Labels, Error> {
    party.run.phase("prepare");
    let count = batch.count() * batch.layout.evaluator_inputs();
    if count == 0 {
        return Ok(Labels::default());
    }
    Ok(Zeroizing::new(party.cot.extend(&mut party.run.channel, count)?))
}

/// Chooses by `input`, `[execution][bit]`. Returns the active labels, in this order.
pub(super) fn evaluator(party: &mut Evaluator, batch: &Batch, input: &[bool]) -> Result<Labels, Error> {
    party.run.phase("prepare");
    assert_eq!(input.len(), batch.count() * batch.layout.evaluator_inputs(), "a choice for each input wire");
    if input.is_empty() {
        return Ok(Labels::default());
    }
    let choices: Zeroizing<Vec<u8>> = Zeroizing::new(input.iter().map(|&bit| u8::from(bit)).collect());
    Ok(Zeroizing::new(party.cot.extend(&mut party.run.channel, &choices)?))
}
