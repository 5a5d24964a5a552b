//! What the steps of a session keep: wires that nobody decodes stay as they are, with their masks and macs,
//! and later steps solder them to ports as often as they like.

use std::collections::BTreeMap;

use brickwork_base::Error;
use brickwork_base::label::Label;
use brickwork_session::SessionId;
use brickwork_session::steps::{self, Secret, Step};

use crate::layout::Layout;
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
    fn some(&self, wires: &[u32]) -> Self {
        let places = || wires.iter().map(|&wire| wire as usize);
        let mut masks = Shares::with_capacity(wires.len());
        places().for_each(|wire| masks.push(self.masks.at(wire)));
        let labels = places().map(|wire| self.labels[wire]).collect();
        Wires { masks, labels, masked: places().map(|wire| self.masked[wire]).collect() }
    }
}

/// What a party has kept.
#[derive(Default)]
pub(super) struct Keep {
    wires: BTreeMap<u64, Wires>,
    /// Numbers are given once, alike at both parties.
    next: u64,
    /// Of the last step.
    last: Vec<Secret>,
}

impl Keep {
    /// Returns the wires of a secret.
    ///
    /// # Errors
    /// [`Error::Usage`] if it was forgotten.
    pub fn wires(&self, number: u64) -> Result<&Wires, Error> {
        self.wires.get(&number).ok_or_else(|| Error::Usage("the secret was forgotten".into()))
    }

    /// Checks that nothing was forgotten that a step carries on.
    ///
    /// # Errors
    /// [`Error::Usage`] if it was.
    pub fn check(&self, step: &Step) -> Result<(), Error> {
        step.secrets().try_for_each(|secret| self.wires(secret.number()).map(drop))
    }

    /// Keeps what nobody learns of a step that is over, of whose wires these are.
    pub fn keep(&mut self, session: &SessionId, layout: &Layout, all: &Wires) {
        self.last.clear();
        for output in steps::kept(layout.program) {
            self.wires.insert(self.next, all.some(&output.wires));
            self.last.push(Secret::new(session, self.next, &output.port.ty));
            self.next += 1;
        }
    }

    /// Returns whether nothing is kept.
    pub fn is_empty(&self) -> bool {
        self.wires.is_empty()
    }

    /// Returns what the last step kept, in the order of its outputs.
    pub fn last(&self) -> &[Secret] {
        &self.last
    }

    /// Forgets a secret's wires.
    pub fn forget(&mut self, secret: &Secret) {
        self.wires.remove(&secret.number());
    }
}
