//! Crossing 2: correlated OTs whose choices are the evaluator's inputs. The OTs and the wires have the same
//! offset. So the garbler's label for choice 0 is the false label of the wire, and the evaluator gets the
//! label of its bit.
//!
//! OTs from a store were made with random choices c: the garbler has M, the evaluator has T = M ⊕ cΔ. The
//! evaluator sends d = b ⊕ c for its bits b, and the false labels of its wires are L = M ⊕ dΔ. So T = L ⊕ bΔ
//! is the label of its bit, and the garbler sends no answer.

use zeroize::Zeroizing;

use crate::layout::Chunk;
use crate::msg;
use crate::setup::{Evaluator, Garbler};
use brickwork_base::Error;
use brickwork_base::bits::{pack, unpack};
use brickwork_primitives::Labels;
use brickwork_primitives::ot::{CotReceiver as _, CotSender as _};
use brickwork_protocol::stock::ots::{EvaluatorOts, GarblerOts};
use brickwork_protocol::stock::records::TakenStream;

/// Receives the message that hides the evaluator's choices. Returns the false labels of its inputs,
/// `[execution][wire]`.
pub(super) fn garbler(
    party: &mut Garbler,
    chunk: &Chunk,
    stock: Option<&mut TakenStream>,
) -> Result<Labels, Error> {
    party.run.phase("prepare");
    let count = chunk.count() * chunk.layout.evaluator_inputs();
    let Some(stock) = stock.filter(|_| count > 0) else {
        return match count {
            0 => Ok(Labels::default()),
            count => party.cot.extend(&mut party.run.channel, count),
        };
    };
    let corrections = unpack(&party.run.channel.receive(msg::CORRECTIONS, count.div_ceil(8))?, count)?;
    let mut labels = Labels::new(Vec::with_capacity(count));
    while labels.len() < count {
        let ots = stock.next::<GarblerOts>(&(), count - labels.len())?;
        labels.extend_from_slice(&ots.0);
    }
    let delta = party.delta();
    labels.iter_mut().zip(&corrections).for_each(|(label, &d)| *label ^= delta.times(d));
    Ok(labels)
}

/// Chooses by `input`, `[execution][bit]`. Returns the active labels of the evaluator's inputs, in the same
/// order.
pub(super) fn evaluator(
    party: &mut Evaluator,
    chunk: &Chunk,
    input: &[bool],
    stock: Option<&mut TakenStream>,
) -> Result<Labels, Error> {
    party.run.phase("prepare");
    let count = chunk.count() * chunk.layout.evaluator_inputs();
    assert_eq!(input.len(), count, "the caller must give one bit for each input wire");
    let mut bits: Zeroizing<Vec<u8>> = Zeroizing::new(input.iter().map(|&bit| u8::from(bit)).collect());
    let Some(stock) = stock.filter(|_| count > 0) else {
        return match count {
            0 => Ok(Labels::default()),
            _ => party.cot.extend(&mut party.run.channel, &bits),
        };
    };
    let mut labels = Labels::new(Vec::with_capacity(count));
    while labels.len() < count {
        let ots = stock.next::<EvaluatorOts>(&(), count - labels.len())?;
        bits[labels.len()..].iter_mut().zip(ots.choices.iter()).for_each(|(bit, choice)| *bit ^= choice);
        labels.extend_from_slice(&ots.labels);
    }
    // The random choices are used only for this message, so it reveals nothing about the inputs.
    party.run.channel.send(msg::CORRECTIONS, &pack(bits.iter().copied()))?;
    Ok(labels)
}
