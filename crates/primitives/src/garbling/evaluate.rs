//! The evaluator's walk.

use std::ops::Range;

use brickwork_kernels::Wires;

use super::lanes::{LaneGroup, by_group, lane_groups};
use super::schedule::input_slot;
use super::{GarblingKeys, Schedule, TABLE_BYTES};
use brickwork_base::Error;
use brickwork_base::label::Label;

/// Where tables come from.
pub trait TableSource {
    /// Called before the tables of a few copies are asked for piece by piece: `bytes` of each of them is
    /// next. A source that streams gets them here.
    ///
    /// # Errors
    /// Whatever keeps the source from having them; the walk ends there.
    fn prepare(&mut self, copies: &[usize], bytes: Range<usize>) -> Result<(), Error>;

    /// These bytes of the tables of a copy; `copy` is its position in the list that [`evaluate`] was given.
    fn tables(&self, copy: usize, bytes: Range<usize>) -> &[u8];
}

/// Tables that are in memory, copy by copy.
impl<T: AsRef<[u8]>> TableSource for &[T] {
    fn prepare(&mut self, _: &[usize], _: Range<usize>) -> Result<(), Error> {
        Ok(())
    }

    fn tables(&self, copy: usize, bytes: Range<usize>) -> &[u8] {
        &self[copy].as_ref()[bytes]
    }
}

/// Evaluates copies of a component.
///
/// `copies` are their numbers in the batch, each with the active labels of its input wires, copy by copy.
/// `outputs` receives the active labels of the output wires, copy by copy.
///
/// # Errors
/// Those of the source.
///
/// # Panics
/// If the slices do not fit the number of copies, or the source has tables shorter than
/// [`Schedule::table_bytes`].
pub fn evaluate(
    schedule: &Schedule,
    keys: &GarblingKeys,
    copies: &[u32],
    inputs: &[Label],
    source: &mut impl TableSource,
    outputs: &mut [Label],
) -> Result<(), Error> {
    assert_eq!(inputs.len(), copies.len() * schedule.inputs(), "one label for each input wire of each copy");
    assert_eq!(
        outputs.len(),
        copies.len() * schedule.outputs(),
        "one place for each output wire of each copy"
    );
    let order = by_group(copies, keys);
    let groups = lane_groups(&order, copies, keys);
    let Some(lanes) = groups.iter().map(|g| g.lanes).max() else { return Ok(()) };
    let script = &schedule.script;
    let mut wires = Wires::new(script, lanes);
    let mut hash_keys = keys.of_group(schedule.kernel, groups[0].group);
    for LaneGroup { group, members, lanes } in groups {
        if group != hash_keys.group() {
            hash_keys = keys.of_group(schedule.kernel, group);
        }
        wires.set_lanes(lanes);
        for (lane, &p) in members.iter().enumerate() {
            for (wire, label) in inputs[p * schedule.inputs()..][..schedule.inputs()].iter().enumerate() {
                wires.set(input_slot(wire), lane, label.bits());
            }
        }
        for piece in 0..script.pieces() {
            let gates = script.piece_gates(piece);
            let bytes = gates.start * TABLE_BYTES..gates.end * TABLE_BYTES;
            source.prepare(members, bytes.clone())?;
            // Idle lanes read the tables of the first copy.
            let tables: [&[u8]; 16] = std::array::from_fn(|lane| {
                source.tables(*members.get(lane).unwrap_or(&members[0]), bytes.clone())
            });
            wires.evaluate(
                schedule.kernel,
                script,
                piece,
                hash_keys.of_piece(piece, gates.len()),
                &tables[..lanes],
            );
        }
        for (lane, &p) in members.iter().enumerate() {
            for (label, &slot) in
                outputs[p * schedule.outputs()..][..schedule.outputs()].iter_mut().zip(&schedule.outputs)
            {
                *label = Label::from_bits(wires.get(slot, lane));
            }
        }
    }
    Ok(())
}
