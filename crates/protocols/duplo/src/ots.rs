//! OTs for the evaluator's inputs: they are bound to the garbler's commitments, and each comes with the
//! committed wire of an input.
//!
//! ```text
//!   evaluator -> garbler    OT extension: one OT for each of E's input wires, and masking OTs
//!   garbler -> evaluator    commitments to its OT labels R, and to the wires; a proof that they are valid
//!   evaluator -> garbler    a seed; for each random combination of the OTs its label and choice bit
//! ```
//!
//! PreProcessOTINIT, for all OTs at once (DEVIATION, docs/concepts/security.md, section 7). If a commitment
//! did not match its OT, E's label would be wrong for one of the two bits, and E's abort would reveal its
//! input. So after the commitments E draws random sets of OTs. To each set it adds a masking OT that is in no
//! other set and hides the choice bits. E reveals the sum of the labels and the sum b of the choice bits of
//! each set, and claims that the sum of the `C_R`, with b·D_ot, opens to the sum of labels. An OT that does
//! not match its commitment spoils each sum with probability 1/2, and so does a different offset. So E's
//! abort does not depend on its choices. G checks the labels of all sums before it answers for any sum: an E
//! that claims the other bit would get Δ_ot from the opening. G commits before it sees the seed.
//!
//! The next proof of other claims also covers these claims.

use super::hooks;
use super::input_ots::{EvaluatorInputOts, GarblerInputOts};
use super::party::EvaluatorCore;
use super::{Cheat, Error, Garbler, Point, msg};
use brickwork_base::label::Delta;
use brickwork_base::random::Rng;
use brickwork_kernels::SecretBlocks;
use brickwork_primitives::Labels;
pub use brickwork_primitives::binding::{Combinations, RevealedCombinations};
use brickwork_primitives::commit::{
    self, CommitmentRow, Lsb, New, Pending, Places, Proof, Receiver, Sender as _, Shares,
};
use brickwork_primitives::ot::{CotReceiver, CotSender};
use brickwork_protocol::Metered;

/// The garbler's labels of fresh OTs; the masking OTs come last.
pub(super) struct GarblerRandomCots {
    labels: Labels,
    binding: usize,
}

/// The garbler's OTs, after it has committed to their labels.
pub(super) struct GarblerCommittedOts {
    at: Places,
    committed: CommitmentRow,
    wires: CommitmentRow,
    cots: GarblerRandomCots,
}

/// Receives and checks the rows for `count` OTs and `binding` masking OTs.
pub(super) fn garbler_random_cots(
    run: &mut Metered,
    cot: &mut impl CotSender,
    count: usize,
    binding: usize,
) -> Result<GarblerRandomCots, Error> {
    run.phase("prepare");
    Ok(GarblerRandomCots { labels: cot.random(&mut run.channel, count + binding)?, binding })
}

impl GarblerRandomCots {
    pub fn commit<C: commit::CommitmentScheme>(
        self,
        party: &mut Garbler<C>,
    ) -> Result<GarblerCommittedOts, Error> {
        let Garbler { run, sender, hooks, .. } = party;
        let first = sender.next_row();
        let mut committed = sender.begin_row(self.labels.len())?;
        sender.push(
            &mut run.channel,
            &mut committed,
            &hooks::altered(hooks, Point::OtLabels, &self.labels),
        )?;
        let committed = sender.finish(committed);
        let at = Places::begin([first, sender.next_row()]);
        let wires = sender.row(&mut run.channel, self.labels.len() - self.binding, Lsb::Random)?;
        Ok(GarblerCommittedOts { at, committed, wires, cots: self })
    }
}

impl GarblerCommittedOts {
    pub fn new_commitments(&self) -> [New<'_>; 2] {
        [&self.committed, &self.wires].map(New::from)
    }

    /// Receives E's sums and checks all of them, before G opens anything.
    pub fn receive_revealed<C: commit::CommitmentScheme>(
        self,
        party: &mut Garbler<C>,
    ) -> Result<(GarblerInputOts, RevealedCombinations), Error> {
        let Garbler { run, hooks, ot, .. } = party;
        let GarblerCommittedOts { at, committed, wires, cots: GarblerRandomCots { labels, binding } } = self;
        let count = labels.len() - binding;
        let message = run.channel.receive(msg::OT_BINDING, RevealedCombinations::bytes(binding))?;
        let delta_ot = Delta::new(hooks::altered(hooks, Point::OtOffset, &ot.values)[0].bits());
        let revealed =
            RevealedCombinations::checked(&message, &labels, delta_ot, committed.shares(), binding)
                .ok_or(Cheat::OtBinding)?;
        Ok((GarblerInputOts { at: at.first(count), committed, wires }, revealed))
    }
}

/// The evaluator's choices and labels of fresh OTs; the masking OTs come last.
pub(super) struct EvaluatorRandomCots {
    choices: SecretBlocks<u8>,
    labels: Labels,
    binding: usize,
}

/// The evaluator's OTs and the commitments to their labels. `C` is [`Pending`] or, after the proof,
/// [`Shares`].
pub(super) struct EvaluatorCommittedOts<C> {
    committed: C,
    wires: C,
    cots: EvaluatorRandomCots,
}

/// Sends the rows for `count` OTs with random choices, and for `binding` masking OTs.
pub(super) fn evaluator_random_cots(
    run: &mut Metered,
    cot: &mut impl CotReceiver,
    rng: &mut Rng,
    count: usize,
    binding: usize,
) -> Result<EvaluatorRandomCots, Error> {
    run.phase("prepare");
    let (choices, labels) = cot.random(&mut run.channel, rng, count + binding)?;
    Ok(EvaluatorRandomCots { choices, labels, binding })
}

impl EvaluatorRandomCots {
    pub fn receive<C: commit::CommitmentScheme>(
        self,
        core: &mut EvaluatorCore<C>,
    ) -> Result<EvaluatorCommittedOts<Pending>, Error> {
        let EvaluatorCore { run, receiver, .. } = core;
        let all = self.choices.len();
        let committed = receiver.receive(&mut run.channel, all)?;
        let wires = receiver.receive_random(&mut run.channel, all - self.binding, Lsb::Random)?;
        Ok(EvaluatorCommittedOts { committed, wires, cots: self })
    }
}

impl EvaluatorCommittedOts<Pending> {
    pub fn pending(&self) -> [&Pending; 2] {
        [&self.committed, &self.wires]
    }

    pub fn accept(self, proof: &Proof) -> EvaluatorCommittedOts<Shares> {
        let EvaluatorCommittedOts { committed, wires, cots } = self;
        EvaluatorCommittedOts { committed: committed.accept(proof), wires: wires.accept(proof), cots }
    }
}

impl EvaluatorCommittedOts<Shares> {
    /// Reveals random combinations of the OTs.
    pub fn reveal<C: commit::CommitmentScheme>(
        self,
        core: &mut EvaluatorCore<C>,
    ) -> Result<(EvaluatorInputOts, RevealedCombinations), Error> {
        let EvaluatorCommittedOts {
            committed,
            wires,
            cots: EvaluatorRandomCots { choices, labels, binding },
        } = self;
        let count = choices.len() - binding;
        let (revealed, mut message) =
            RevealedCombinations::reveal(&mut core.rng, &choices, &labels, &committed, binding);
        core.hooks.alter(Point::OtBinding, &mut message);
        core.run.channel.send(msg::OT_BINDING, &message)?;
        let (choices, labels) = (choices[..count].to_vec().into(), Labels::new(labels[..count].to_vec()));
        Ok((EvaluatorInputOts { committed, wires, choices, labels }, revealed))
    }
}
