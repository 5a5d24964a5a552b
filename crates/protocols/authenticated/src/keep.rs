//! The values that the steps of a session keep. No party learns them: their wires keep masks, MACs and
//! labels, and later steps solder them to ports as often as they need.

use brickwork_base::label::Label;
use brickwork_session::steps;

use crate::secrets::{Masked, Secrets};
use crate::share::Shares;

/// The kept wires at one party.
#[derive(Default)]
pub(super) struct Wires {
    pub masks: Shares,
    /// The labels: of masked value 0 at the garbler, active labels at the evaluator.
    pub labels: Secrets<Label>,
    /// The masked values, which both parties know.
    pub masked: Masked,
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

pub(super) type Keep = steps::Kept<Wires>;
