//! The items that the steps of a session use.

use brickwork::circuit::{Component, Program};
use brickwork::{authenticated, duplo};

/// The items that the steps of a session use. They are made at the beginning.
#[derive(Default)]
pub struct Needs {
    components: Vec<(Component, usize)>,
    /// The input bits of the garbler and of the evaluator.
    pub inputs: [usize; 2],
    /// The output bits that the evaluator does not learn.
    pub sealed: usize,
}

impl Needs {
    /// Adds the components of a program that runs this many times.
    pub fn add(&mut self, program: &Program, times: usize) {
        for (component, slots) in program.components().iter().zip(program.slots_by_component()) {
            self.component(component, slots * times);
        }
    }

    fn component(&mut self, component: &Component, slots: usize) {
        let digest = component.digest();
        match self.components.iter_mut().find(|(known, _)| known.digest() == digest) {
            _ if slots == 0 => {}
            Some((_, sum)) => *sum += slots,
            None => self.components.push((component.clone(), slots)),
        }
    }

    /// Adds the items of other steps.
    pub fn and(mut self, other: Needs) -> Self {
        other.components.iter().for_each(|(component, slots)| self.component(component, *slots));
        self.inputs.iter_mut().zip(other.inputs).for_each(|(sum, more)| *sum += more);
        self.sealed += other.sealed;
        self
    }

    /// Returns the request for stock of `duplo`.
    pub fn of_duplo(self) -> duplo::Request {
        let Needs { components, inputs: [garblers, evaluators], sealed } = self;
        let ots = Some(evaluators).filter(|&ots| ots > 0);
        duplo::Request { components, garbler_wires: garblers + sealed, ots }
    }

    /// Returns the request for stock of `authenticated`.
    pub fn of_masks(self) -> authenticated::Request {
        let Needs { components, inputs, .. } = self;
        authenticated::Request { components, inputs: inputs.iter().sum() }
    }
}
