//! OTs for the evaluator's inputs, with the garbler's offset Δ_ot bound to its commitment.
//!
//! ```text
//!   both ways               OT extension: one OT for each of E's input wires, and those that bind Δ_ot
//!   garbler -> evaluator    commitments to its OT labels R
//!   evaluator -> garbler    of the binding OTs: its label and choice bit
//!   evaluator -> garbler    seed;   garbler -> evaluator    answer
//! ```
//!
//! PreProcessOTINIT: if the offset in the OTs were not the committed one, E's input labels would be wrong for one of the
//! two bits, and whether E aborts would tell its input. So of some items E shows what it got, and claims that
//! `C_R ⊕ b·D_ot` opens to it. G checks E's labels of all items before it answers for any: an E that claims the other
//! bit would get Δ_ot from the opening. And G commits before it sees the bits.
//!
//! The last message pair settles whatever else its step claims too.

use std::ops::Range;

use subtle::{Choice, ConstantTimeEq};
use zeroize::Zeroizing;

use super::stock::{Origin, Pieces};
use super::{Cheat, Error, Evaluator, Garbler, Point, msg};
use crate::commit::{Claims, Committed, Committer, Holder, Pending, Proof, Shares};
use crate::label::{Delta, LABEL_BYTES, Label};

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

/// Claims of PreProcessOTINIT: `C_R ⊕ b·D_ot` opens to what E got. The binding items follow those of E's inputs.
fn claims<'a>(claims: &mut Claims<'a>, ot: &'a Shares, labels: &'a Shares, first: usize, bits: &'a [u8], got: &'a [Label]) {
    claims.known(bits.len(), move |k, sum| {
        labels.add(first + k, sum);
        ot.add_if(bits[k], 0, sum);
        got[k]
    });
}

/// The garbler's OTs, not proven yet.
pub(super) struct MadeByGarbler {
    pub committed: Committed,
    count: usize,
    bits: Vec<u8>,
    got: Vec<Label>,
}

impl MadeByGarbler {
    pub fn claims<'a>(&'a self, ot: &'a Shares, all: &mut Claims<'a>) {
        claims(all, ot, &self.committed.shares, self.count, &self.bits, &self.got);
    }

    /// The OTs without the shown ones, after the proof.
    pub fn finish(self) -> GarblerOts {
        GarblerOts { committed: self.committed.slice(0..self.count) }
    }
}

/// The evaluator's OTs, not verified yet; those that it showed follow the others.
pub(super) struct MadeByEvaluator {
    pub pending: Pending,
    count: usize,
    choices: Zeroizing<Vec<u8>>,
    labels: Zeroizing<Vec<Label>>,
}

impl MadeByEvaluator {
    pub fn claims<'a>(&'a self, ot: &'a Shares, all: &mut Claims<'a>) {
        claims(all, ot, self.pending.shares(), self.count, &self.choices[self.count..], &self.labels[self.count..]);
    }

    /// The OTs without the shown ones.
    pub fn finish(self, proof: &Proof) -> EvaluatorOts {
        let all = EvaluatorOts { committed: self.pending.accept(proof), choices: self.choices, labels: self.labels };
        all.slice(0..self.count)
    }
}

pub(super) fn garbler(party: &mut Garbler, count: usize) -> Result<MadeByGarbler, Error> {
    let Garbler { run, committer, hooks, cot, ot, binding, .. } = party;
    let binding = *binding;
    let labels = Zeroizing::new(cot.extend(&mut run.channel, count + binding)?);
    let committed = committer.commit(&mut run.channel, &hooks.altered(Point::OtLabels, &labels))?;
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
    Ok(MadeByGarbler { committed, count, bits: bits.to_vec(), got })
}

/// OTs for the stock, with a proof of their own.
pub(super) fn garbler_alone(party: &mut Garbler, count: usize) -> Result<GarblerOts, Error> {
    let made = garbler(party, count)?;
    let mut claims = Claims::new();
    made.claims(&party.ot.shares, &mut claims);
    party.committer.prove(&mut party.run.channel, &[&made.committed], &claims)?;
    drop(claims);
    Ok(made.finish())
}

pub(super) fn evaluator(party: &mut Evaluator, count: usize) -> Result<MadeByEvaluator, Error> {
    let Evaluator { run, holder, rng, hooks, cot, binding, .. } = party;
    let mut choices = Zeroizing::new(vec![0u8; count + *binding]);
    rng.fill(&mut choices);
    choices.iter_mut().for_each(|b| *b &= 1);
    let labels = Zeroizing::new(cot.extend(&mut run.channel, &choices)?);
    let pending = holder.receive(&mut run.channel, choices.len())?;
    let mut message = [bytemuck::cast_slice(&labels[count..]), &choices[count..]].concat();
    hooks.alter(Point::OtBinding, &mut message);
    run.channel.send(msg::OT_BINDING, &message)?;
    Ok(MadeByEvaluator { pending, count, choices, labels })
}

/// OTs for the stock, with a proof of their own.
pub(super) fn evaluator_alone(party: &mut Evaluator, count: usize) -> Result<EvaluatorOts, Error> {
    let made = evaluator(party, count)?;
    let mut claims = Claims::new();
    made.claims(&party.ot, &mut claims);
    let proof = party.holder.verify(&mut party.run.channel, &[&made.pending], &claims)?;
    drop(claims);
    Ok(made.finish(&proof))
}
