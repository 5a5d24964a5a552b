//! OTs for the evaluator's inputs, bound to the garbler's commitments. Each OT has the wire of one input.
//!
//! ```text
//!   evaluator -> garbler    OT extension: one OT for each of E's input wires, and those that mask
//!   garbler -> evaluator    commitments to its OT labels R (chosen), and to the wires (random);
//!                           proven to be commitments
//!   evaluator -> garbler    a seed; of each random combination of the OTs: its label and choice bit
//! ```
//!
//! E draws random sets of OTs after the commitments, and reveals the sums of their labels and choice bits. E
//! claims that the sum of the `C_R`, plus b·D, opens to the sum of labels. The garbler G checks the labels of
//! all sums before it opens anything. Otherwise an E that names the other bit would learn Δ from the opening
//! (docs/concepts/security.md, section 7).

mod random;

use crate::hooks::Point;
use crate::setup::{Evaluator, Garbler};
use crate::{Cheat, msg};
use brickwork_base::Error;
use brickwork_kernels::SecretBlocks;
use brickwork_primitives::Labels;
use brickwork_primitives::binding::RevealedCombinations;
use brickwork_primitives::commit::{
    self, Committed, Lsb, New, Pending, Places, Proof, Receiver as _, Sender as _, Shares,
};

pub(super) use random::{EvaluatorRandomOts, GarblerRandomOts};

/// The garbler's OTs, committed to.
pub(super) struct GarblerCommittedOts {
    at: Places,
    committed: Committed,
    wires: Committed,
    random: GarblerRandomOts,
}

/// The garbler's OTs for a program. For each OT, it has the label R for choice 0, and the commitments to R
/// and to the wire.
pub(super) struct GarblerOts {
    pub at: Places,
    pub labels: Labels,
    pub committed: Shares,
    pub wires: Committed,
}

impl GarblerRandomOts {
    /// Commits to the labels of the OTs and to the wires.
    pub fn commit<C: commit::CommitmentScheme>(
        self,
        party: &mut Garbler<C>,
    ) -> Result<GarblerCommittedOts, Error> {
        let Garbler { run, sender, hooks, .. } = party;
        run.phase("prepare");
        let first = sender.next_row();
        let mut labels = Labels::new(self.labels.to_vec());
        hooks.alter(Point::OtLabels, &mut labels);
        let committed = sender.commit(&mut run.channel, &labels)?;
        let at = Places::begin([first, sender.next_row()]);
        let count = labels.len() - self.binding;
        let wires = sender.commit_random(&mut run.channel, count, Lsb::Random)?;
        Ok(GarblerCommittedOts { at, committed, wires, random: self })
    }
}

impl GarblerCommittedOts {
    pub fn new_commitments(&self) -> [New<'_>; 2] {
        [&self.committed, &self.wires].map(New::from)
    }

    /// Receives and checks the evaluator's sums. The garbler must not open anything before this check.
    pub fn checks_revealed<C: commit::CommitmentScheme>(
        self,
        party: &mut Garbler<C>,
    ) -> Result<(GarblerOts, RevealedCombinations), Error> {
        let Garbler { run, delta, .. } = party;
        let GarblerCommittedOts { at, mut committed, mut wires, random } = self;
        let GarblerRandomOts { labels, binding } = random;
        run.phase("prepare");
        let message = run.channel.receive(msg::OT_BINDING, RevealedCombinations::bytes(binding))?;
        // The next claims need quick access to single commitments.
        let shares = std::mem::take(&mut committed.shares).gathered();
        let revealed = RevealedCombinations::checked(&message, &labels, **delta, &shares, binding)
            .ok_or(Cheat::OtBinding)?;
        let count = labels.len() - binding;
        wires.shares = std::mem::take(&mut wires.shares).gathered();
        let labels = Labels::new(labels[..count].to_vec());
        Ok((GarblerOts { at: at.first(count), labels, committed: shares.slice(0..count), wires }, revealed))
    }
}

/// The evaluator's OTs with the garbler's commitments. `C` is [`Pending`] or, after the proof, [`Shares`].
pub(super) struct EvaluatorCommittedOts<C> {
    committed: C,
    wires: C,
    random: EvaluatorRandomOts,
}

/// The evaluator's OTs for a program. For each OT, it has the commitments to R and to the wire, the choice
/// bit b, and the label T = R ⊕ b·Δ.
pub(super) struct EvaluatorOts {
    pub committed: Shares,
    pub wires: Shares,
    pub choices: SecretBlocks<u8>,
    pub labels: Labels,
}

impl EvaluatorRandomOts {
    /// Receives the commitments.
    pub fn receive<C: commit::CommitmentScheme>(
        self,
        party: &mut Evaluator<C>,
    ) -> Result<EvaluatorCommittedOts<Pending>, Error> {
        let Evaluator { run, receiver, .. } = party;
        run.phase("prepare");
        let all = self.choices.len();
        let committed = receiver.receive(&mut run.channel, all)?;
        let wires = receiver.receive_random(&mut run.channel, all - self.binding, Lsb::Random)?;
        Ok(EvaluatorCommittedOts { committed, wires, random: self })
    }
}

impl EvaluatorCommittedOts<Pending> {
    pub fn pending(&self) -> [&Pending; 2] {
        [&self.committed, &self.wires]
    }

    pub fn accept(self, proof: &Proof) -> EvaluatorCommittedOts<Shares> {
        let EvaluatorCommittedOts { committed, wires, random } = self;
        let [committed, wires] = [committed, wires].map(|pending| pending.accept(proof).gathered());
        EvaluatorCommittedOts { committed, wires, random }
    }
}

impl EvaluatorCommittedOts<Shares> {
    /// Reveals random combinations of the OTs.
    pub fn reveal<C: commit::CommitmentScheme>(
        self,
        party: &mut Evaluator<C>,
    ) -> Result<(EvaluatorOts, RevealedCombinations), Error> {
        let Evaluator { run, rng, hooks, .. } = party;
        let EvaluatorCommittedOts { committed, wires, random } = self;
        let EvaluatorRandomOts { choices, labels, binding } = random;
        run.phase("prepare");
        let (revealed, mut message) =
            RevealedCombinations::reveal(rng, &choices, &labels, &committed, binding);
        hooks.alter(Point::OtBinding, &mut message);
        run.channel.send(msg::OT_BINDING, &message)?;
        run.channel.flush()?;
        let count = labels.len() - binding;
        let ots = EvaluatorOts {
            committed: committed.slice(0..count),
            wires,
            choices: SecretBlocks::new(choices[..count].to_vec()),
            labels: Labels::new(labels[..count].to_vec()),
        };
        Ok((ots, revealed))
    }
}

impl EvaluatorOts {
    /// Returns an empty list.
    pub fn none() -> Self {
        EvaluatorOts {
            committed: Shares::default(),
            wires: Shares::default(),
            choices: SecretBlocks::default(),
            labels: Labels::default(),
        }
    }

    /// Appends other OTs. A growing list leaves copies behind, so a new one is allocated.
    pub fn append(&mut self, others: &Self) {
        self.committed.append(&others.committed);
        self.wires.append(&others.wires);
        self.choices = SecretBlocks::new([&self.choices[..], &others.choices].concat());
        self.labels = Labels::new([&self.labels[..], &others.labels].concat());
    }
}

impl GarblerOts {
    /// Returns an empty list.
    pub fn none() -> Self {
        GarblerOts {
            at: Places::default(),
            labels: Labels::default(),
            committed: Shares::default(),
            wires: Committed::default(),
        }
    }

    /// Appends OTs, which may belong to another batch.
    pub fn append(&mut self, others: &Self) {
        self.labels = Labels::new([&self.labels[..], &others.labels].concat());
        self.committed.append(&others.committed);
        join(&mut self.wires, &others.wires);
    }
}

/// Appends other commitments. A growing list leaves copies behind, so a new one is allocated.
pub(super) fn join(these: &mut Committed, others: &Committed) {
    let mut values = Labels::new([&these.values[..], &others.values].concat());
    std::mem::swap(&mut these.values, &mut *values);
    these.shares.append(&others.shares);
}
