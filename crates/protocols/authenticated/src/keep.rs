//! The values that steps of a session keep for later steps. No party learns them. Their wires keep masks,
//! MACs and labels, and later steps solder them to ports as often as needed.

use brickwork_base::Error;
use brickwork_base::label::Label;
use brickwork_protocol::steps;

use crate::secrets::{MaskedValues, SecretBlocks};
use crate::share::{MaskShares, Share};
use crate::shelf::Paged;

/// The kept wires at one party.
#[derive(Default)]
pub struct KeptWires {
    pub(crate) masks: MaskShares,
    /// The labels of the wires: those of masked value 0 at the garbler, active ones at the evaluator.
    pub(crate) labels: SecretBlocks<Label>,
    /// The masked values, which both parties know.
    pub(crate) masked: MaskedValues,
}

/// All wires of a program after it was computed.
pub(crate) struct Computed {
    pub(crate) masks: Paged<Share>,
    pub(crate) labels: Paged<Label>,
    pub(crate) masked: MaskedValues,
}

impl Computed {
    /// Returns the words and labels of some wires.
    ///
    /// # Errors
    /// [`Error::Resource`] if the wires are in a file that cannot be read.
    pub fn some(&mut self, wires: &[u32]) -> Result<KeptWires, Error> {
        let places = || wires.iter().map(|&wire| wire as usize);
        let masks = self.masks.gathered(wires.len(), places())?;
        let mut labels = SecretBlocks::with_capacity(wires.len());
        for wire in places() {
            labels.push(self.labels.at(wire)?);
        }
        Ok(KeptWires { masks, labels, masked: places().map(|wire| self.masked[wire]).collect() })
    }
}

/// The values that a party has kept.
pub type StepValues = steps::KeptSecrets<KeptWires>;
