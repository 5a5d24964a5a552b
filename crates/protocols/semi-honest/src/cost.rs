//! What a run sends, known before it.

use crate::batch::Layout;
use crate::msg;
use brickwork_base::{Error, Party};
use brickwork_circuit::Program;
use brickwork_primitives::garbling::{HalfGates, Scheme as _};
use brickwork_wire::{FRAME_HEADER_BYTES, MAX_FRAME_BYTES};

/// The greeting, and what a series of base OTs sends: a point, and a pair of points for each OT.
const HELLO: u64 = 144;
const POINT: u64 = 32;
/// Rows of the OT extension, which travel in pieces of so many blocks of 128 OTs.
const ROWS: u64 = 128;
const BLOCKS_A_MESSAGE: u64 = 64;

/// Bytes that the garbler and the evaluator send in `executions` of a program: payload and framing, on one lane.
/// Exact.
///
/// # Errors
/// [`Error::Input`] if `executions` is 0.
pub fn sent_bytes(program: &Program, executions: usize) -> Result<[u64; 2], Error> {
    let layout = Layout::new(program, executions)?;
    let outputs = |party| layout.places_of_outputs(party).count() as u64;
    let mut garbler = message(HELLO) + message(POINT + ROWS * 2 * POINT);
    let mut evaluator = message(HELLO) + message(POINT);
    garbler += message(16 * program.components().len() as u64);
    for batch in layout.batches() {
        let count = batch.count() as u64;
        let some = |bytes: u64| if bytes == 0 { 0 } else { message(bytes) };
        evaluator += rows(count * layout.evaluator_inputs() as u64);
        evaluator += some((count * outputs(Party::Garbler)).div_ceil(8));
        garbler += some(16 * count * layout.garbler_inputs() as u64);
        let tables = count * program.and_gates() * HalfGates::TABLE_BYTES.and as u64;
        let full = tables / msg::TABLES_BYTES as u64;
        garbler += full * message(msg::TABLES_BYTES as u64) + some(tables % msg::TABLES_BYTES as u64);
        garbler += some((count * outputs(Party::Evaluator)).div_ceil(8));
    }
    Ok([garbler, evaluator])
}

/// Bytes of the OT extension for so many OTs, with its check.
fn rows(ots: u64) -> u64 {
    if ots == 0 {
        return 0;
    }
    let blocks = ots.div_ceil(128) + 1;
    let pieces = (0..blocks).step_by(BLOCKS_A_MESSAGE as usize);
    let rows = pieces.map(|first| message(16 * ROWS * (blocks - first).min(BLOCKS_A_MESSAGE))).sum::<u64>();
    rows + message(16 * (1 + ROWS))
}

/// Bytes of a message with its frames.
fn message(payload: u64) -> u64 {
    payload + FRAME_HEADER_BYTES as u64 * payload.div_ceil(MAX_FRAME_BYTES as u64).max(1)
}
