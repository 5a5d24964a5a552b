//! OTs for the evaluator's inputs, as each party keeps them after they were bound to the commitments.

use std::ops::Range;

use super::Error;
use super::items::{Items, Origin};
use brickwork_kernels::SecretBlocks;
use brickwork_primitives::Labels;
use brickwork_primitives::commit::{CommitmentRow, Places, Shares};

/// The garbler's OTs: for each the label R for choice 0, and the committed wire of an input of the evaluator.
pub(super) struct GarblerInputOts {
    pub at: Places,
    /// The committed labels R. If the OTs were made for this program alone, the labels of the masking OTs
    /// follow.
    pub committed: CommitmentRow,
    pub wires: CommitmentRow,
}

/// The evaluator's OTs: for each the commitments to R and to the wire, the choice bit b, and the label R ⊕
/// b·Δ_ot.
pub(super) struct EvaluatorInputOts {
    /// The commitments to R. If the OTs were made for this program alone, the commitments for the masking OTs
    /// follow.
    pub committed: Shares,
    pub wires: Shares,
    pub choices: SecretBlocks<u8>,
    pub labels: Labels,
}

impl Items for GarblerInputOts {
    fn origins(&self) -> Vec<Origin> {
        Vec::new()
    }

    fn len(&self) -> usize {
        self.at.items.len()
    }

    fn slice(&self, items: Range<usize>) -> Self {
        GarblerInputOts {
            at: self.at.slice(items.clone()),
            committed: self.committed.of_items(self.len(), items.clone()),
            wires: self.wires.of_items(self.len(), items),
        }
    }

    fn gathered(self) -> Result<Self, Error> {
        Ok(GarblerInputOts {
            committed: self.committed.first(self.at.items.len())?,
            wires: self.wires.gathered()?,
            at: self.at,
        })
    }
}

impl Items for EvaluatorInputOts {
    fn origins(&self) -> Vec<Origin> {
        Vec::new()
    }

    fn len(&self) -> usize {
        self.labels.len()
    }

    fn slice(&self, items: Range<usize>) -> Self {
        EvaluatorInputOts {
            committed: self.committed.slice(items.clone()),
            wires: self.wires.slice(items.clone()),
            choices: self.choices[items.clone()].to_vec().into(),
            labels: Labels::new(self.labels[items].to_vec()),
        }
    }

    fn gathered(self) -> Result<Self, Error> {
        Ok(EvaluatorInputOts {
            committed: self.committed.slice(0..self.labels.len()),
            wires: self.wires.gathered(),
            ..self
        })
    }
}

impl GarblerInputOts {
    pub fn join(mut all_items: Vec<Self>) -> Self {
        if all_items.len() == 1 {
            return all_items.swap_remove(0);
        }
        let mut all = GarblerInputOts {
            at: Places::default(),
            committed: CommitmentRow::default(),
            wires: CommitmentRow::default(),
        };
        for items in &all_items {
            all.committed.append(&items.committed);
            all.wires.append(&items.wires);
        }
        all
    }
}

impl EvaluatorInputOts {
    /// Joins several lists of OTs. A single list is not copied.
    pub fn join(mut all_items: Vec<Self>) -> Self {
        if all_items.len() == 1 {
            return all_items.swap_remove(0);
        }
        let (committed, wires) = (Shares::default(), Shares::default());
        let mut all = EvaluatorInputOts {
            committed,
            wires,
            choices: Vec::new().into(),
            labels: Labels::new(Vec::new()),
        };
        for items in &all_items {
            all.committed.append(&items.committed);
            all.wires.append(&items.wires);
            // Growing a list in place would leave copies of secrets in freed memory, so new lists are
            // allocated.
            all.choices = [&all.choices[..], &items.choices].concat().into();
            all.labels = Labels::new([&all.labels[..], &items.labels].concat());
        }
        all
    }
}
