//! The values that the steps of a session keep. No party learns them: their wires keep masks, MACs and
//! labels, and later steps solder them to ports as often as they need.

use brickwork_base::label::Label;
use brickwork_session::steps;

use crate::secrets::{Masked, Secrets};
use crate::share::Shares;

/// The kept wires at one party.
#[derive(Default)]
pub struct Wires {
    pub(crate) masks: Shares,
    /// Labels: of the masked value 0 at the garbler, active ones at the evaluator.
    pub(crate) labels: Secrets<Label>,
    /// Masked values, which both know.
    pub(crate) masked: Masked,
}

impl Wires {
    /// Returns the words and labels of some wires.
    pub fn some(&self, wires: &[u32]) -> Self {
        let places = || wires.iter().map(|&wire| wire as usize);
        let mut masks = Shares::with_capacity(wires.len());
        places().for_each(|wire| masks.push(self.masks.at(wire)));
        let labels = places().map(|wire| self.labels[wire]).collect();
        Wires { masks, labels, masked: places().map(|wire| self.masked[wire]).collect() }
    }
}

/// The values that a party has kept.
pub type Keep = steps::Kept<Wires>;
