//! The records of garbled copies of a component: the garbler's false labels and the evaluator's tables.

use std::ops::Range;

use brickwork_base::Error;
use brickwork_circuit::Circuit;
use brickwork_primitives::Labels;
use brickwork_primitives::garbling::{GarblingScheme as _, HalfGates};
use brickwork_protocol::stock::records::{In, Out, Records};

/// The size of a copy's data. Both parties compute it from the component.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// The numbers of labels of inputs and of outputs.
    pub inputs: usize,
    pub outputs: usize,
    pub tables: usize,
}

impl Shape {
    pub fn of(circuit: &Circuit) -> Self {
        Shape {
            inputs: circuit.inputs(),
            outputs: circuit.outputs().len(),
            tables: circuit.and_gates() * HalfGates::TABLE_BYTES.and,
        }
    }
}

/// False labels of copies: of their inputs and of their outputs, `[copy][wire]`.
pub struct GarblerCopies {
    pub shape: Shape,
    pub count: usize,
    pub inputs: Labels,
    pub outputs: Labels,
}

/// Tables of copies, one after the other.
pub struct EvaluatorCopies {
    pub shape: Shape,
    pub count: usize,
    pub tables: Vec<u8>,
}

/// Returns the range of the values of some copies, if each copy has `each` values.
pub fn values(copies: &Range<usize>, each: usize) -> Range<usize> {
    copies.start * each..copies.end * each
}

impl Records for GarblerCopies {
    type Context<'c> = Shape;

    fn count(&self) -> usize {
        self.count
    }

    fn encode(&self, items: Range<usize>, out: &mut Out) -> Result<(), Error> {
        out.pods(&self.inputs[values(&items, self.shape.inputs)]);
        out.pods(&self.outputs[values(&items, self.shape.outputs)]);
        Ok(())
    }

    fn decode(&shape: &Shape, count: usize, record: &mut In) -> Result<Self, Error> {
        let mut labels = |each: usize| Ok::<_, Error>(Labels::new(record.pods(count * each)?));
        let (inputs, outputs) = (labels(shape.inputs)?, labels(shape.outputs)?);
        Ok(GarblerCopies { shape, count, inputs, outputs })
    }
}

impl Records for EvaluatorCopies {
    type Context<'c> = Shape;

    fn count(&self) -> usize {
        self.count
    }

    fn encode(&self, items: Range<usize>, out: &mut Out) -> Result<(), Error> {
        out.pods(&self.tables[values(&items, self.shape.tables)]);
        Ok(())
    }

    fn decode(&shape: &Shape, count: usize, record: &mut In) -> Result<Self, Error> {
        Ok(EvaluatorCopies { shape, count, tables: record.pods(count * shape.tables)? })
    }
}
