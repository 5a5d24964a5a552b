//! The chosen copies of a component after their cut-and-choose, as each party keeps them. Programs are
//! soldered to these copies.

use std::ops::Range;
use std::sync::Arc;

use super::challenge::BatchSizes;
use super::items::Origin;
use super::tables::Tables;
use brickwork_base::label::{LABEL_BYTES, Label};
use brickwork_circuit::{Circuit, ComponentDigest};
use brickwork_primitives::commit::{CommitmentRow, Places, Shares};
use brickwork_primitives::garbling::{GarblingKeys, Schedule};
use brickwork_primitives::solder::Soldering;
use brickwork_primitives::spill::SpilledVec;

/// The sizes of a batch of copies.
#[derive(Clone, Copy)]
pub(super) struct Shape {
    pub batch: BatchSizes,
    pub inputs: usize,
    pub outputs: usize,
    pub table_bytes: usize,
}

impl Shape {
    pub fn new(circuit: &Circuit, batch: BatchSizes) -> Self {
        Shape {
            batch,
            inputs: circuit.inputs(),
            outputs: circuit.outputs().len(),
            table_bytes: 2 * LABEL_BYTES * circuit.and_gates(),
        }
    }

    fn with_buckets(&self, buckets: usize) -> Self {
        Shape { batch: self.batch.with_buckets(buckets), ..*self }
    }

    /// Returns the number of solderings in buckets, from each head's inputs to the inputs of its other
    /// copies.
    pub fn bucket_solderings(&self) -> usize {
        self.batch.pairs() * self.inputs
    }

    /// Returns the head, the copy and the input wire of bucket soldering `k`. Copies are counted among the
    /// chosen ones.
    pub fn bucket_soldering(&self, k: usize) -> (usize, usize, usize) {
        let (head, copy) = self.batch.pair(k / self.inputs);
        (head, copy, k % self.inputs)
    }
}

/// The garbler's chosen copies of a component. Only the heads of the buckets are kept.
pub(super) struct GarblerBatch {
    pub origin: Origin,
    pub component: ComponentDigest,
    pub shape: Shape,
    /// The places of the heads' commitments.
    pub at: Places,
    /// The inputs of the heads: `[bucket][input wire]`.
    pub inputs: CommitmentRow,
    /// The offsets of the heads: `[bucket]`.
    pub offsets: CommitmentRow,
}

/// The evaluator's chosen copies of a component, bucket after bucket.
pub(super) struct EvaluatorBatch {
    pub origin: Origin,
    pub component: ComponentDigest,
    pub shape: Shape,
    pub schedule: Arc<Schedule>,
    pub keys: GarblingKeys,
    /// The number of each chosen copy in the batch.
    pub copies: Vec<u32>,
    /// The commitments to the inputs of the heads: `[bucket][input wire]`.
    pub inputs: Shares,
    /// The commitments to the offsets of the heads: `[bucket]`.
    pub offsets: Shares,
    /// The delta difference S_c of each copy.
    pub delta_differences: Vec<Label>,
    /// The solderings inside buckets, in the order of [`Shape::bucket_soldering`].
    pub solderings: SpilledVec<Soldering>,
    pub tables: Tables,
}

impl GarblerBatch {
    pub fn slice(&self, buckets: Range<usize>) -> Self {
        let all = self.shape.batch.buckets;
        GarblerBatch {
            origin: self.origin,
            component: self.component,
            shape: self.shape.with_buckets(buckets.len()),
            at: self.at.slice(buckets.clone()),
            inputs: self.inputs.of_items(all, buckets.clone()),
            offsets: self.offsets.of_items(all, buckets),
        }
    }
}

impl EvaluatorBatch {
    pub fn slice(&self, buckets: Range<usize>) -> Self {
        let copies = buckets.start * self.shape.batch.size..buckets.end * self.shape.batch.size;
        let Shape { inputs, .. } = self.shape;
        let all = self.shape.batch.buckets;
        let pairs = self.shape.batch.size - 1;
        EvaluatorBatch {
            origin: self.origin,
            component: self.component,
            shape: self.shape.with_buckets(buckets.len()),
            schedule: self.schedule.clone(),
            keys: self.keys,
            copies: self.copies[copies.clone()].to_vec(),
            inputs: self.inputs.of_items(all, buckets.clone()),
            offsets: self.offsets.of_items(all, buckets.clone()),
            delta_differences: self.delta_differences[copies.clone()].to_vec(),
            solderings: self.solderings.slice(buckets.start * pairs * inputs..buckets.end * pairs * inputs),
            tables: self.tables.slice(copies),
        }
    }
}
