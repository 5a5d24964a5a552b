//! The values that the steps of a session keep. Wires that nobody decodes stay as they are, with their masks
//! and macs, and later steps solder them to ports as often as they like.

use brickwork_base::label::Label;
use brickwork_session::steps;

use crate::secrets::{Masked, Secrets};
use crate::share::Shares;

/// Wires at one party.
#[derive(Default)]
pub(super) struct Wires {
    pub masks: Shares,
    /// Labels: of the masked value 0 at the garbler, active ones at the evaluator.
    pub labels: Secrets<Label>,
    /// Masked values, which both know.
    pub masked: Masked,
}

impl Wires {
    /// Returns some of them.
    pub fn some(&self, wires: &[u32]) -> Self {
        let places = || wires.iter().map(|&wire| wire as usize);
        let mut masks = Shares::with_capacity(wires.len());
        places().for_each(|wire| masks.push(self.masks.at(wire)));
        let labels = places().map(|wire| self.labels[wire]).collect();
        Wires { masks, labels, masked: places().map(|wire| self.masked[wire]).collect() }
    }
}

/// The values that a party has kept.
pub(super) type Keep = steps::Kept<Wires>;
