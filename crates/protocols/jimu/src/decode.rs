//! Labels become outputs. The evaluator decodes its own ones by permutation bits that were opened, and sends
//! compressed labels of the garbler's.
//!
//! If it knows Δ, the garbler cheated: then it reads the garbler's input, by its authenticators, and computes
//! in the clear. It does all of that in any case, and sends the same, so that nothing tells the garbler which
//! it was: that would be a bit of the evaluator's input.

use brickwork_base::label::Label;
use brickwork_base::{Error, Party};
use brickwork_primitives::ihash::Symbols;
use subtle::ConstantTimeEq;
use zeroize::Zeroizing;

use crate::authenticators;
use crate::buckets::{Checks, Recovery, permutation_bits};
use crate::build::{Circuit, HashedCircuit};
use crate::cheat::Cheat;
use crate::gates::Wide;
use crate::hooks::Point;
use crate::layout::Layout;
use crate::msg;
use crate::preprocess::{Checked, Made};
use crate::setup::{Evaluator, Garbler};

/// Bytes of a compressed label.
const LABEL: usize = 16;

/// Returns the garbler's outputs.
pub(super) fn garbler(
    party: &mut Garbler,
    layout: &Layout,
    made: &Made,
    circuit: &Circuit,
) -> Result<Vec<bool>, Error> {
    party.run.phase("decode");
    let wires: Vec<usize> = layout.outputs(Party::Garbler).map(|wire| 1 + wire).collect();
    if wires.is_empty() {
        return Ok(Vec::new());
    }
    let told = party.run.channel.receive(msg::OUTPUT_LABELS, LABEL * wires.len())?;
    let labels = made.garbling.compress(Wide::of(&circuit.labels.select(&wires))).short;
    let rho: Symbols = circuit.permutations.select(&wires);
    let flips = permutation_bits(party.permutations.code(), &party.points.permutation, &rho);
    let delta = made.offset.short[0];
    let (mut outputs, mut all_known) = (Vec::with_capacity(wires.len()), subtle::Choice::from(1));
    for ((told, label), flip) in told.chunks_exact(LABEL).zip(&*labels).zip(&*flips) {
        let told = Label::from_bytes(*told.first_chunk().expect("a label"));
        let [same, other] = [*label, *label ^ delta].map(|label| told.bits().ct_eq(&label.bits()));
        all_known &= same | other;
        outputs.push(other.unwrap_u8() ^ flip == 1);
    }
    if bool::from(all_known) { Ok(outputs) } else { Err(Cheat::OutputLabel.into()) }
}

/// Returns the evaluator's outputs. `wires` are the labels of all wires.
pub(super) fn evaluator(
    party: &mut Evaluator,
    layout: &Layout,
    received: &Checked,
    circuit: &HashedCircuit,
    (wires, recovery): (Wide, Recovery),
    input: &[bool],
) -> Result<Vec<bool>, Error> {
    party.run.phase("decode");
    let Evaluator { run, session, labels, permutations, points, hooks, .. } = party;
    let known = recovery.is_known().unwrap_u8();
    let (hashed, joined) = &circuit.joined;
    let numbers: Vec<u64> = received.choice.authenticators.iter().map(|&k| k as u64).collect();
    let bucket = layout.sizes.authenticators.bucket as usize;
    let flips = authenticators::Checks { session, labels, permutations, point: &points.permutation }.read(
        &numbers,
        bucket,
        hashed,
        joined,
        recovery.offset(),
    );
    let (of_inputs, of_outputs) = flips.split_at(layout.inputs(Party::Garbler));
    // Which of both labels each is, and with the permutation bit its bit.
    let theirs = of_inputs.iter().zip(&*circuit.inputs.1).map(|(flip, kind)| flip ^ kind == 1);
    let all: Zeroizing<Vec<bool>> = Zeroizing::new(theirs.chain(input.iter().copied()).collect());
    let clear = Zeroizing::new(layout.circuit.evaluate(&all));

    let checks = Checks::new(labels, permutations, &points.permutation, &received.offset)?;
    let kinds = |party: Party, wires: &Wide| {
        let places: Vec<usize> = layout.outputs(party).collect();
        let hashes = circuit.labels.select(&places.iter().map(|wire| 1 + wire).collect::<Vec<_>>());
        checks.kinds(&hashes, &wires.select(places.into_iter()))
    };
    let own = kinds(Party::Evaluator, &wires)?;
    let bits = own.iter().zip(&*circuit.decoding).zip(layout.outputs_of(Party::Evaluator, &clear));
    let outputs = bits.map(|((kind, flip), clear)| {
        let bit = kind ^ flip;
        (bit ^ known & (bit ^ u8::from(clear))) == 1
    });
    let outputs = outputs.collect();
    let kinds = kinds(Party::Garbler, &wires)?;
    let mut sent = wires.select(layout.outputs(Party::Garbler).collect::<Vec<_>>().into_iter());
    let clear = layout.outputs_of(Party::Garbler, &clear);
    for (k, ((kind, flip), clear)) in kinds.iter().zip(of_outputs).zip(clear).enumerate() {
        sent.add(k, recovery.offset(), known & (kind ^ flip ^ u8::from(clear)));
    }
    if sent.count() > 0 {
        let mut labels = received.garbling.compress(sent).short;
        hooks.alter(Point::OutputLabels, &mut labels);
        run.channel.send(msg::OUTPUT_LABELS, bytemuck::cast_slice(&labels))?;
    }
    run.channel.flush()?;
    Ok(outputs)
}
