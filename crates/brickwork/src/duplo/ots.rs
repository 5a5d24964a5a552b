//! OTs for the evaluator's inputs, with the garbler's offset Δ_ot bound to its commitment.
//!
//! ```text
//!   evaluator -> garbler    OT extension: one OT for each of E's input wires, and those that bind Δ_ot
//!   garbler -> evaluator    commitments to its OT labels R, proven to be commitments
//!   evaluator -> garbler    of the binding OTs: its label and choice bit
//! ```
//!
//! PreProcessOTINIT: if the offset in the OTs were not the committed one, E's input labels would be wrong for one of the
//! two bits, and whether E aborts would tell its input. So of some items E shows what it got, and claims that
//! `C_R ⊕ b·D_ot` opens to it. G checks E's labels of all items before it answers for any: an E that claims the other
//! bit would get Δ_ot from the opening. And G commits before it sees the bits.
//!
//! The claims are settled together with whatever else is claimed next.

use std::ops::Range;

use subtle::{Choice, ConstantTimeEq};
use zeroize::Zeroizing;

use super::sessions::EvaluatorCore;
use super::stock::{Origin, Pieces};
use super::{Cheat, Error, Garbler, Point, msg};
use crate::commit::{Claims, Committed, Committer, Holder, Pending, Proof, Shares};
use crate::label::{Delta, LABEL_BYTES, Label};
use crate::ot::extension;
use crate::random::Rng;
use crate::session::Run;

/// The garbler's side of OTs: of each its label R for choice 0, committed.
pub(super) struct GarblerOts {
    pub committed: Committed,
}

/// The evaluator's side: of each OT the commitment to R, the choice bit b, and the label R ⊕ b·Δ_ot.
pub(super) struct EvaluatorOts {
    pub committed: Shares,
    pub choices: Zeroizing<Vec<u8>>,
    pub labels: Zeroizing<Vec<Label>>,
}

impl Pieces for GarblerOts {
    fn origins(&self) -> Vec<Origin> {
        Vec::new()
    }

    fn len(&self) -> usize {
        self.committed.values.len()
    }

    fn slice(&self, items: Range<usize>) -> Self {
        GarblerOts { committed: self.committed.slice(items) }
    }
}

impl Pieces for EvaluatorOts {
    fn origins(&self) -> Vec<Origin> {
        Vec::new()
    }

    fn len(&self) -> usize {
        self.labels.len()
    }

    fn slice(&self, items: Range<usize>) -> Self {
        EvaluatorOts {
            committed: self.committed.slice(items.clone()),
            choices: self.choices[items.clone()].to_vec().into(),
            labels: self.labels[items].to_vec().into(),
        }
    }
}

impl GarblerOts {
    /// All of them in a row.
    pub fn join(pieces: Vec<Self>) -> Self {
        let mut all = GarblerOts { committed: Committed::default() };
        pieces.iter().for_each(|piece| all.committed.append(&piece.committed));
        all
    }
}

impl EvaluatorOts {
    /// All of them in a row.
    pub fn join(pieces: Vec<Self>) -> Self {
        let mut all = EvaluatorOts { committed: Shares::default(), choices: Vec::new().into(), labels: Vec::new().into() };
        for piece in &pieces {
            all.committed.append(&piece.committed);
            // What grows leaves copies behind; so these are made anew.
            all.choices = [&all.choices[..], &piece.choices].concat().into();
            all.labels = [&all.labels[..], &piece.labels].concat().into();
        }
        all
    }
}

/// Claims of PreProcessOTINIT: `C_R ⊕ b·D_ot` opens to what E got.
fn claims<'a>(claims: &mut Claims<'a>, ot: &'a Shares, labels: &'a Shares, bits: &'a [u8], got: &'a [Label]) {
    claims.known(bits.len(), move |k, sum| {
        labels.add(k, sum);
        ot.add_if(bits[k], 0, sum);
        got[k]
    });
}

/// The garbler's labels of OTs that nothing has been done with. Those that bind Δ_ot follow the others.
pub(super) struct GarblerDrawn {
    labels: Zeroizing<Vec<Label>>,
    binding: usize,
}

/// The garbler's OTs, committed to.
pub(super) struct GarblerCommitted {
    pub committed: Committed,
    drawn: GarblerDrawn,
}

/// What the garbler was shown of the binding OTs.
pub(super) struct GarblerShown {
    committed: Committed,
    bits: Vec<u8>,
    got: Vec<Label>,
}

/// Receives and checks the rows for `count` OTs and `binding` that bind Δ_ot.
pub(super) fn garbler_draws(run: &mut Run, cot: &mut extension::Sender, count: usize, binding: usize) -> Result<GarblerDrawn, Error> {
    run.phase("prepare");
    Ok(GarblerDrawn { labels: Zeroizing::new(cot.extend(&mut run.channel, count + binding)?), binding })
}

impl GarblerDrawn {
    pub fn commit(self, party: &mut Garbler) -> Result<GarblerCommitted, Error> {
        let committed = party.committer.commit(&mut party.run.channel, &party.hooks.altered(Point::OtLabels, &self.labels))?;
        Ok(GarblerCommitted { committed, drawn: self })
    }
}

impl GarblerCommitted {
    /// Receives what E shows and checks all of it: nothing may be opened before.
    pub fn shown(self, party: &mut Garbler) -> Result<(GarblerOts, GarblerShown), Error> {
        let Garbler { run, hooks, ot, .. } = party;
        let GarblerCommitted { committed, drawn: GarblerDrawn { labels, binding } } = self;
        let count = labels.len() - binding;
        let shown = run.channel.receive(msg::OT_BINDING, binding * (LABEL_BYTES + 1))?;
        let (got, bits) = shown.split_at(binding * LABEL_BYTES);
        let got: Vec<Label> = got.chunks_exact(LABEL_BYTES).map(|b| Label::from_bytes(b.try_into().expect("16 bytes"))).collect();
        if bits.iter().any(|&b| b > 1) {
            return Err(Cheat::OtBinding.into());
        }
        let delta_ot = Delta::new(hooks.altered(Point::OtOffset, &ot.values)[0].bits());
        let honest = got
            .iter()
            .zip(bits)
            .zip(&labels[count..])
            .fold(Choice::from(1), |ok, ((got, &bit), &label)| ok & got.ct_eq(&(label ^ delta_ot.times(bit))));
        if !bool::from(honest) {
            return Err(Cheat::OtBinding.into());
        }
        let shown = GarblerShown { committed: committed.slice(count..labels.len()), bits: bits.to_vec(), got };
        Ok((GarblerOts { committed: committed.slice(0..count) }, shown))
    }
}

impl GarblerShown {
    pub fn claims<'a>(&'a self, ot: &'a Shares, all: &mut Claims<'a>) {
        claims(all, ot, &self.committed.shares, &self.bits, &self.got);
    }
}

/// The evaluator's choices and labels of OTs that nothing has been done with. Those that bind Δ_ot follow the others.
pub(super) struct EvaluatorDrawn {
    choices: Zeroizing<Vec<u8>>,
    labels: Zeroizing<Vec<Label>>,
    binding: usize,
}

/// The evaluator's OTs, to which the garbler has committed, `C` is [`Pending`] or, after the proof, [`Shares`].
pub(super) struct EvaluatorCommitted<C> {
    pub committed: C,
    drawn: EvaluatorDrawn,
}

/// What the evaluator showed of the binding OTs.
pub(super) struct EvaluatorShown {
    committed: Shares,
    bits: Vec<u8>,
    got: Vec<Label>,
}

/// Sends the rows for `count` OTs of random choices and `binding` that bind Δ_ot.
pub(super) fn evaluator_draws(
    run: &mut Run,
    cot: &mut extension::Receiver,
    rng: &mut Rng,
    count: usize,
    binding: usize,
) -> Result<EvaluatorDrawn, Error> {
    run.phase("prepare");
    let mut choices = Zeroizing::new(vec![0u8; count + binding]);
    rng.fill(&mut choices);
    choices.iter_mut().for_each(|b| *b &= 1);
    let labels = Zeroizing::new(cot.extend(&mut run.channel, &choices)?);
    Ok(EvaluatorDrawn { choices, labels, binding })
}

impl EvaluatorDrawn {
    pub fn receive(self, core: &mut EvaluatorCore) -> Result<EvaluatorCommitted<Pending>, Error> {
        Ok(EvaluatorCommitted { committed: core.holder.receive(&mut core.run.channel, self.choices.len())?, drawn: self })
    }
}

impl EvaluatorCommitted<Pending> {
    pub fn accept(self, proof: &Proof) -> EvaluatorCommitted<Shares> {
        EvaluatorCommitted { committed: self.committed.accept(proof), drawn: self.drawn }
    }
}

impl EvaluatorCommitted<Shares> {
    /// Shows the binding OTs.
    pub fn show(self, core: &mut EvaluatorCore) -> Result<(EvaluatorOts, EvaluatorShown), Error> {
        let EvaluatorCommitted { committed, drawn: EvaluatorDrawn { choices, labels, binding } } = self;
        let count = choices.len() - binding;
        let (bits, got) = (&choices[count..], &labels[count..]);
        let mut message = [bytemuck::cast_slice(got), bits].concat();
        core.hooks.alter(Point::OtBinding, &mut message);
        core.run.channel.send(msg::OT_BINDING, &message)?;
        let shown = EvaluatorShown { committed: committed.slice(count..choices.len()), bits: bits.to_vec(), got: got.to_vec() };
        Ok((EvaluatorOts { committed, choices, labels }.slice(0..count), shown))
    }
}

impl EvaluatorShown {
    pub fn claims<'a>(&'a self, ot: &'a Shares, all: &mut Claims<'a>) {
        claims(all, ot, &self.committed, &self.bits, &self.got);
    }
}
