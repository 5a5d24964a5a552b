//! The request to preprocess items.

use super::steps::garbler_wires;
use brickwork_base::digest::Digest;
use brickwork_circuit::{Component, Program};

/// The items to preprocess: a request that both parties must agree on.
#[derive(Clone, Debug)]
pub struct Request {
    /// Components, and the number of slots for each.
    pub components: Vec<(Component, usize)>,
    /// The number of input authenticators: for wires of the garbler's inputs, of its private outputs, of kept
    /// outputs.
    pub garbler_wires: usize,
    /// The number of OTs, one for each wire of the evaluator's inputs. With `None`, a program makes its OTs
    /// itself.
    pub ots: Option<usize>,
}

impl Request {
    /// Returns the items for one run of a program. Its OTs are made when the program runs.
    pub fn of(program: &Program) -> Self {
        let counts = program.slots_by_component();
        Request {
            components: program.components().iter().cloned().zip(counts).collect(),
            garbler_wires: garbler_wires(program),
            ots: None,
        }
    }

    /// Returns whether nothing is requested.
    pub fn is_empty(&self) -> bool {
        self.components.iter().all(|(_, slots)| *slots == 0)
            && self.garbler_wires == 0
            && self.ots.unwrap_or(0) == 0
    }

    /// Splits the request into shares for this many workers, which differ by at most one item of each kind.
    /// Each worker gets at least one item, so a small request has fewer shares, and an empty request has one.
    pub fn shares(&self, workers: usize) -> Vec<Self> {
        let counts = self.components.iter().map(|(_, slots)| *slots);
        let most = counts.chain([self.garbler_wires, self.ots.unwrap_or(0)]).max().unwrap_or(0);
        let of = workers.min(most).max(1);
        let share = |count: usize, k: usize| count / of + usize::from(k < count % of);
        let one = |k: usize| Request {
            components: self.components.iter().map(|(c, slots)| (c.clone(), share(*slots, k))).collect(),
            garbler_wires: share(self.garbler_wires, k),
            ots: self.ots.map(|ots| share(ots, k)).filter(|ots| *ots > 0),
        };
        (0..of).map(one).collect()
    }

    /// Returns the wires that need a plain authenticator.
    pub(super) fn plain_wires(&self) -> usize {
        self.components.iter().map(|(c, slots)| c.circuit.outputs().len() * slots).sum()
    }

    /// Returns a digest of the request. It must be the same at both parties.
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
