//! AND gates, garbled one by one with half-gates (Zahur, Rosulek, Evans 2015), all with one offset.
//!
//! The keys of the hash are those of a batch of copies of a circuit with one gate: 2^13 gates share a key,
//! and so 2^15 calls.

use std::sync::Arc;

use rayon::prelude::*;
use zeroize::Zeroizing;

use brickwork_base::Error;
use brickwork_base::label::{Delta, Label, Labels};
use brickwork_base::pool;
use brickwork_circuit::{Circuit, Gate};
use brickwork_primitives::garbling::{
    GarblingKeys, HalfGates, Schedule, Scheme as _, TableSink, TableSource,
};

/// T_G and T_E of a gate.
pub(super) type Table = [u128; 2];

/// Bytes of a table.
pub(super) const TABLE_BYTES: usize = size_of::<Table>();

/// Gates that one task garbles: they have one key.
const GATES_A_TASK: usize = 1 << 11;

/// Gates that one task evaluates, at most: with those of many keys among them, it needs many.
const EVALUATED_BY_A_TASK: usize = 1 << 17;

/// What both parties garble and evaluate with.
#[derive(Clone)]
pub(super) struct Gates {
    count: usize,
    schedule: Arc<Schedule>,
    keys: GarblingKeys,
}

impl Gates {
    /// Begins with `count` gates whose hash keys come from `start`.
    ///
    /// # Errors
    /// None that could happen.
    pub fn new(start: u128, count: usize) -> Result<Self, Error> {
        let schedule = Arc::new(HalfGates::schedule(&Circuit::new(2, vec![Gate::And(0, 1)], vec![2])?));
        Ok(Gates { count, keys: HalfGates::keys(start, count, &schedule), schedule })
    }

    /// Garbles the gates from `first` on. `inputs` are the false labels `[gate][side]`. Returns those of the
    /// outputs, and the tables.
    ///
    /// # Errors
    /// None that could happen.
    pub fn garble(
        &self,
        first: usize,
        delta: Delta,
        inputs: &[Label],
    ) -> Result<(Labels, Vec<Table>), Error> {
        let count = inputs.len() / 2;
        let (mut outputs, mut tables) =
            (Labels::new(vec![Label::ZERO; count]), vec![Table::default(); count]);
        let outputs_of_tasks = outputs.par_chunks_mut(GATES_A_TASK);
        let tasks = inputs.par_chunks(2 * GATES_A_TASK).zip(outputs_of_tasks);
        let tasks = tasks.zip(tables.par_chunks_mut(GATES_A_TASK)).enumerate();
        pool::compute(|| {
            tasks.try_for_each(|(k, ((inputs, outputs), tables))| {
                let first = (first + k * GATES_A_TASK) as u32;
                let gates: Vec<u32> = (first..).take(outputs.len()).collect();
                let deltas = Zeroizing::new(vec![delta; outputs.len()]);
                let (schedule, keys) = (&*self.schedule, &self.keys);
                HalfGates::garble(schedule, keys, &gates, &deltas, inputs, outputs, &mut Made(tables))
            })
        })?;
        Ok((outputs, tables))
    }

    /// Garbles single gates again: those of these numbers, with the false labels of their inputs
    /// `[gate][side]`. Returns those of the outputs.
    ///
    /// # Errors
    /// None that could happen.
    pub fn garble_again(&self, numbers: &[u32], delta: Delta, inputs: &[Label]) -> Result<Labels, Error> {
        let mut outputs = Labels::new(vec![Label::ZERO; numbers.len()]);
        let mut tables = vec![Table::default(); numbers.len()];
        let deltas = Zeroizing::new(vec![delta; numbers.len()]);
        let mut made = Made(&mut tables);
        pool::compute(|| {
            let (schedule, keys) = (&*self.schedule, &self.keys);
            HalfGates::garble(schedule, keys, numbers, &deltas, inputs, &mut outputs, &mut made)
        })?;
        Ok(outputs)
    }

    /// Counts the gates of the batch.
    pub fn count(&self) -> usize {
        self.count
    }

    /// Returns where their keys begin.
    pub fn start(&self) -> u128 {
        self.keys.start()
    }

    /// Evaluates gates, each of which stands in a list of tables at a place of its own. `inputs` are the
    /// active labels `[gate][side]`.
    ///
    /// # Errors
    /// None that could happen.
    pub fn evaluate(
        &self,
        gates: &[u32],
        (tables, places): (&[Table], &[u32]),
        inputs: &[Label],
    ) -> Result<Labels, Error> {
        let mut outputs = Labels::new(vec![Label::ZERO; gates.len()]);
        let gates = gates.par_chunks(EVALUATED_BY_A_TASK).zip(places.par_chunks(EVALUATED_BY_A_TASK));
        let tasks = gates
            .zip(inputs.par_chunks(2 * EVALUATED_BY_A_TASK))
            .zip(outputs.par_chunks_mut(EVALUATED_BY_A_TASK));
        pool::compute(|| {
            tasks.try_for_each(|(((gates, places), inputs), outputs)| {
                let mut tables = Chosen { tables, places };
                HalfGates::evaluate(&self.schedule, &self.keys, gates, inputs, &mut tables, outputs)
            })
        })?;
        Ok(outputs)
    }
}

/// Tables that are made.
struct Made<'a>(&'a mut [Table]);

impl TableSink for Made<'_> {
    fn tables(&mut self, copy: usize, bytes: &[u8]) -> Result<(), Error> {
        bytemuck::bytes_of_mut(&mut self.0[copy]).copy_from_slice(bytes);
        Ok(())
    }
}

/// Tables of some gates.
struct Chosen<'a> {
    tables: &'a [Table],
    places: &'a [u32],
}

impl TableSource for Chosen<'_> {
    fn prepare(&mut self, _: &[usize], _: std::ops::Range<usize>) -> Result<(), Error> {
        Ok(())
    }

    fn tables(&self, copy: usize, bytes: std::ops::Range<usize>) -> &[u8] {
        &bytemuck::bytes_of(&self.tables[self.places[copy] as usize])[bytes]
    }
}
