//! What is asked to be preprocessed.

use super::steps::garbler_wires;
use brickwork_base::digest::Digest;
use brickwork_circuit::{Component, Program};

/// What is to be preprocessed.
#[derive(Clone, Debug)]
pub struct Request {
    /// Components and the number of slots that each is to fill.
    pub components: Vec<(Component, usize)>,
    /// Wires of the garbler's inputs, of the outputs that only it learns, and of those that nobody does.
    pub garbler_wires: usize,
    /// OTs, one for each wire of the evaluator's inputs; `None` to make them when a program is built.
    pub ots: Option<usize>,
}

impl Request {
    /// Returns the items that one run of a program takes. Its OTs are made when it is built.
    pub fn of(program: &Program) -> Self {
        let counts = program.slots_by_component();
        Request {
            components: program.components().iter().cloned().zip(counts).collect(),
            garbler_wires: garbler_wires(program),
            ots: None,
        }
    }

    /// Returns whether nothing is asked for.
    pub fn is_empty(&self) -> bool {
        self.components.iter().all(|(_, slots)| *slots == 0)
            && self.garbler_wires == 0
            && self.ots.unwrap_or(0) == 0
    }

    /// Returns the wires that need a plain authenticator.
    pub(super) fn plain_wires(&self) -> usize {
        self.components.iter().map(|(c, slots)| c.circuit.outputs().len() * slots).sum()
    }

    /// Names what is asked for; both parties must ask for the same.
    pub fn digest(&self) -> [u8; 32] {
        let asked = || self.components.iter().filter(|(_, slots)| *slots > 0);
        let mut digest = Digest::of("brickwork 2026-11 duplo preprocessing request");
        digest.length(asked().count());
        for (component, slots) in asked() {
            digest.digest(&component.digest()).length(*slots);
        }
        digest.length(self.garbler_wires).number(self.ots.is_some()).length(self.ots.unwrap_or(0));
        digest.done()
    }
}

impl std::fmt::Display for Request {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let components = self.components.iter().map(|(c, slots)| (*slots, c.name.as_str()));
        let authenticators = [(self.garbler_wires, "input authenticators"), (self.ots.unwrap_or(0), "OTs")];
        let entries: Vec<String> = components
            .chain(authenticators)
            .filter(|(count, _)| *count > 0)
            .map(|(count, name)| format!("{count} {name}"))
            .collect();
        f.write_str(&if entries.is_empty() { "nothing".into() } else { entries.join(", ") })
    }
}
