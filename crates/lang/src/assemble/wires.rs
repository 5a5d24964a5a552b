//! The wires and components of a program under construction.

use std::collections::HashMap;
use std::sync::Arc;

use brickwork_circuit::Error;
use brickwork_circuit::{Component, ComponentId, Port, ProgramBuilder, Type};

use super::circuit::circuit;
use crate::graph::{GraphBit, Template};

/// The global wires of the values of `main`.
pub struct GlobalWires {
    /// The wire of each node, or `u32::MAX`.
    pub plain: Vec<u32>,
    pub inverted: HashMap<u32, u32>,
    pub constants: [Option<u32>; 2],
}

impl GlobalWires {
    pub fn get(&self, bit: GraphBit) -> Result<u32, Error> {
        let wire = match bit.known() {
            Some(value) => self.constants[usize::from(value)],
            None if bit.inverted() => self.inverted.get(&bit.node()).copied(),
            None => Some(self.plain[bit.node() as usize]).filter(|w| *w != u32::MAX),
        };
        wire.ok_or_else(|| Error::Input("a value of `main` has no wire".into()))
    }

    pub fn set(&mut self, bit: GraphBit, wire: u32) {
        if bit.inverted() {
            self.inverted.insert(bit.node(), wire);
        } else {
            self.plain[bit.node() as usize] = wire;
        }
    }
}

/// Adds a component with one output.
pub fn add(
    program: &mut ProgramBuilder,
    name: &str,
    inputs: Vec<Port>,
    output: Type,
    template: &Template,
) -> Result<ComponentId, Error> {
    let circuit = Arc::new(circuit(template)?);
    program.component(Component {
        name: name.into(),
        inputs,
        outputs: vec![Port::new("result", output)],
        circuit,
    })
}
