//! The evaluator's walk.

use std::ops::Range;

use brickwork_kernels::{Kernel, Wires};

use super::{GarblingKeys, LaneGroup, Plan, TABLE_BYTES, by_group, lane_groups};
use crate::Error;
use crate::label::Label;

/// Where tables come from.
pub trait TableSource {
    /// Called before the tables of a few copies are asked for piece by piece: `bytes` of each of them is next. A source
    /// that streams gets them here.
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
/// `copies` are their numbers in the batch, each with the active labels of its input wires, copy by copy. `outputs`
/// receives the active labels of the output wires, copy by copy.
///
/// # Errors
/// Those of the source.
///
/// # Panics
/// If the slices do not fit the number of copies, or the source has tables shorter than [`Plan::table_bytes`].
pub fn evaluate(
    plan: &Plan,
    keys: &GarblingKeys,
    copies: &[u32],
    inputs: &[Label],
    source: &mut impl TableSource,
    outputs: &mut [Label],
) -> Result<(), Error> {
    evaluate_with(Kernel::best(), plan, keys, copies, inputs, source, outputs)
}

pub(super) fn evaluate_with(
    kernel: Kernel,
    plan: &Plan,
    keys: &GarblingKeys,
    copies: &[u32],
    inputs: &[Label],
    source: &mut impl TableSource,
    outputs: &mut [Label],
) -> Result<(), Error> {
    assert_eq!(inputs.len(), copies.len() * plan.inputs(), "one label for each input wire of each copy");
    assert_eq!(outputs.len(), copies.len() * plan.outputs(), "one place for each output wire of each copy");
    let mut walk = Walk { kernel, plan, keys, inputs, source, outputs };
    for group in lane_groups(&by_group(copies, keys), |p| keys.group_of(copies[p])) {
        match group.members.len() {
            9.. => walk.run::<16>(&group)?,
            5.. => walk.run::<8>(&group)?,
            _ => walk.run::<4>(&group)?,
        }
    }
    Ok(())
}

struct Walk<'a, S> {
    kernel: Kernel,
    plan: &'a Plan,
    keys: &'a GarblingKeys,
    inputs: &'a [Label],
    source: &'a mut S,
    outputs: &'a mut [Label],
}

impl<S: TableSource> Walk<'_, S> {
    fn run<const L: usize>(&mut self, group: &LaneGroup<'_>) -> Result<(), Error> {
        let (plan, script) = (self.plan, &self.plan.script);
        let mut wires = Wires::<L>::new(script);
        for (lane, &p) in group.members.iter().enumerate() {
            for (slot, label) in self.inputs[p * plan.inputs()..][..plan.inputs()].iter().enumerate() {
                wires.set(slot as u32, lane, label.bits());
            }
        }
        let mut keys = self.keys.of_group(group.group);
        for piece in 0..script.pieces() {
            let gates = script.piece_gates(piece);
            let bytes = gates.start * TABLE_BYTES..gates.end * TABLE_BYTES;
            self.source.prepare(group.members, bytes.clone())?;
            // Idle lanes read the tables of the first copy.
            let table = |lane: usize| *group.members.get(lane).unwrap_or(&group.members[0]);
            let tables = std::array::from_fn(|lane| self.source.tables(table(lane), bytes.clone()));
            wires.evaluate(self.kernel, script, piece, &keys.of_piece(self.kernel, piece, gates.len()), tables);
        }
        for (lane, &p) in group.members.iter().enumerate() {
            for (label, &slot) in self.outputs[p * plan.outputs()..][..plan.outputs()].iter_mut().zip(&plan.outputs) {
                *label = Label::from_bits(wires.get(slot, lane));
            }
        }
        Ok(())
    }
}
