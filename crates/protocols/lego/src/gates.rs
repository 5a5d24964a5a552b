//! AND gates, garbled one by one with half-gates (Zahur, Rosulek, Evans 2015). All have the same offset.
//!
//! The hash keys are those of a batch of copies of a circuit with one gate. A key serves 2^13 gates, and so
//! 2^15 calls of the hash.

use std::sync::Arc;

use brickwork_base::label::{Delta, Label};
use brickwork_base::pool;
use brickwork_primitives::Labels;
use brickwork_primitives::garbling::{AndGates, AndRoom};

pub(super) use brickwork_primitives::garbling::AndTable as Table;

pub(super) const TABLE_BYTES: usize = size_of::<Table>();

/// The number of gates that one task garbles or evaluates.
const GATES_A_TASK: usize = 1 << 11;

/// The hash keys of a batch of gates.
#[derive(Clone)]
pub(super) struct GateKeys(Arc<AndGates>);

impl GateKeys {
    /// Makes the keys of `count` gates, derived from `start`.
    pub fn new(start: u128, count: usize) -> Self {
        GateKeys(Arc::new(AndGates::new(start, count)))
    }

    /// Garbles the gates from `first` on. `inputs` has the false labels, `[gate][left or right]`. Returns the
    /// false labels of the outputs, and the tables.
    pub fn garble(&self, first: usize, delta: Delta, inputs: &[Label]) -> (Labels, Vec<Table>) {
        let numbers: Vec<u32> = (first as u32..).take(inputs.len() / 2).collect();
        self.garble_these(&numbers, delta, inputs)
    }

    /// Garbles the gates with these numbers.
    pub fn garble_these(&self, numbers: &[u32], delta: Delta, inputs: &[Label]) -> (Labels, Vec<Table>) {
        let count = numbers.len();
        let (mut outputs, mut tables) =
            (Labels::new(vec![Label::ZERO; count]), vec![Table::default(); count]);
        let tasks = numbers.chunks(GATES_A_TASK).zip(inputs.chunks(2 * GATES_A_TASK));
        let made = outputs.chunks_mut(GATES_A_TASK).zip(tables.chunks_mut(GATES_A_TASK));
        pool::map(tasks.zip(made).collect(), AndRoom::default, |room, _, ((numbers, inputs), made)| {
            self.0.garble(numbers, delta, inputs, made, room);
        });
        (outputs, tables)
    }

    /// Evaluates gates with these numbers and tables. `inputs` has the active labels, `[gate][left or
    /// right]`.
    pub fn evaluate(&self, numbers: &[u32], tables: &[Table], inputs: &[Label]) -> Labels {
        let mut outputs = Labels::new(vec![Label::ZERO; numbers.len()]);
        let tasks = numbers.chunks(GATES_A_TASK).zip(tables.chunks(GATES_A_TASK));
        let tasks = tasks.zip(inputs.chunks(2 * GATES_A_TASK)).zip(outputs.chunks_mut(GATES_A_TASK));
        pool::map(tasks.collect(), AndRoom::default, |room, _, (((numbers, tables), inputs), outputs)| {
            self.0.evaluate(numbers, |k| tables[k], inputs, outputs, room);
        });
        outputs
    }

    /// Returns the object that evaluates gates, for callers with buffers of their own.
    pub fn ands(&self) -> &AndGates {
        &self.0
    }
}
