//! Decoding labels to outputs. The evaluator decodes its own outputs with opened permutation bits, and sends
//! compressed labels of the garbler's outputs.
//!
//! If an evaluator knows Δ, the garbler has cheated. This evaluator reads the garbler's input
//! ([`crate::reading`]), and computes the outputs without encryption. An evaluator without Δ performs the
//! same steps, and sends the same bytes. Otherwise the garbler would learn a bit of the evaluator's input.

use brickwork_base::label::Label;
use brickwork_base::{Error, Party};
use subtle::ConstantTimeEq;
use zeroize::Zeroizing;

use crate::buckets::{DeltaKnowledge, PermutedLabels, permutation_bits};
use crate::build::HashedCircuit;
use crate::cheat::Cheat;
use crate::evaluate::Active;
use crate::gates::compressed;
use crate::hooks::Point;
use crate::layout::Layout;
use crate::msg;
use crate::setup::{Evaluator, Garbler};

/// Bytes of a compressed label.
const LABEL: usize = 16;

pub(super) fn garbler(
    party: &mut Garbler,
    layout: &Layout,
    circuit: &PermutedLabels,
) -> Result<Vec<bool>, Error> {
    party.run.phase("decode");
    let wires: Vec<usize> = layout.outputs(Party::Garbler).collect();
    if wires.is_empty() {
        return Ok(Vec::new());
    }
    let received = party.run.channel.receive(msg::OUTPUT_LABELS, LABEL * wires.len())?;
    let select = || wires.iter().copied();
    let code = party.labels.code();
    let labels = compressed(code, &party.points.compression, &circuit.labels.select(select()));
    let rho = circuit.permutations.select(select());
    let flips = permutation_bits(party.permutations.code(), &party.points.permutation, &rho);
    let delta = party.offset.short[0];
    let (mut outputs, mut all_known) = (Vec::with_capacity(wires.len()), subtle::Choice::from(1));
    for ((received, label), flip) in received.chunks_exact(LABEL).zip(&*labels).zip(&*flips) {
        let received = Label::from_bytes(*received.first_chunk().expect("a label")).bits();
        let [same, other] = [*label, *label ^ delta].map(|label| received.ct_eq(&label));
        all_known &= same | other;
        outputs.push(other.unwrap_u8() ^ flip == 1);
    }
    if bool::from(all_known) { Ok(outputs) } else { Err(Cheat::OutputLabel.into()) }
}

pub(super) fn evaluator(
    party: &mut Evaluator,
    layout: &Layout,
    circuit: &HashedCircuit,
    (active, recovery): (&Active, &DeltaKnowledge),
    input: &[bool],
) -> Result<Vec<bool>, Error> {
    party.run.phase("decode");
    party.run.cover();
    let known = recovery.is_known().unwrap_u8();
    let offset = compressed(party.labels.code(), &party.points.compression, recovery.offset())[0];
    let flips = circuit.read.bits(party, recovery.offset().word(0));
    let (of_inputs, of_outputs) = flips.split_at(layout.inputs(Party::Garbler));
    // A label is one of the two labels of its wire. The input bit is the sum of the permutation bit and the
    // label's kind, which is 0 for the hashed label.
    let theirs = of_inputs.iter().zip(&*circuit.inputs.1).map(|(flip, kind)| flip ^ kind == 1);
    let theirs: Zeroizing<Vec<bool>> = Zeroizing::new(theirs.collect());
    let clear = Clear(layout.program.simulate(&theirs, input));

    let own = layout.outputs(Party::Evaluator).zip(&*circuit.decoding);
    let clear_own = Zeroizing::new(layout.program.output_bits(Party::Evaluator, &clear.0));
    let outputs = own.zip(&*clear_own).map(|((wire, flip), &clear)| {
        let bit = active.kinds[wire] ^ flip;
        (bit ^ known & (bit ^ u8::from(clear))) == 1
    });
    let outputs = outputs.collect();
    let clear_theirs = Zeroizing::new(layout.program.output_bits(Party::Garbler, &clear.0));
    let mut sent: Zeroizing<Vec<u128>> =
        Zeroizing::new(layout.outputs(Party::Garbler).map(|wire| active.short(wire)).collect());
    for (k, (wire, (flip, &clear))) in
        layout.outputs(Party::Garbler).zip(of_outputs.iter().zip(&*clear_theirs)).enumerate()
    {
        let differs = known & (active.kinds[wire] ^ flip ^ u8::from(clear));
        sent[k] ^= offset & u128::from(differs).wrapping_neg();
    }
    if !sent.is_empty() {
        party.hooks.alter(Point::OutputLabels, &mut sent);
        party.run.channel.send(msg::OUTPUT_LABELS, bytemuck::cast_slice(&sent))?;
    }
    party.run.channel.flush()?;
    Ok(outputs)
}

/// The outputs of the program in the clear, for all ports. Erased when dropped.
struct Clear(Vec<Vec<bool>>);

impl Drop for Clear {
    fn drop(&mut self) {
        self.0.iter_mut().for_each(zeroize::Zeroize::zeroize);
    }
}
