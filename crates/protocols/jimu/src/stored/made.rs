//! What a step makes: buckets of gates, wires, and OTs. What is in a bucket is soldered to the bucket's first
//! gate, before anybody knows the program; so a program solders one gate a bucket.
//!
//! ```text
//!   as in a run    5, 6, 7, 8, 9
//!   G -> E         solderings to the first gates of buckets
//!   E <> G         seed of combinations, combinations of all that
//! ```

use brickwork_base::Error;
use brickwork_base::stop::looking;
use brickwork_primitives::ihash::{self, Hashes, Words};
use zeroize::Zeroizing;

use super::records::{EvaluatorGates, EvaluatorInputs, EvaluatorOts, GarblerItems, Shape};
use crate::buckets::{HashedWires, Wires};
use crate::cheat::Cheat;
use crate::choice::{Choice, numbers};
use crate::gates::first_blocks;
use crate::layout::Supply;
use crate::open;
use crate::preprocess::{self, Garbled, Received};
use crate::setup::{Evaluator, Garbler};
use crate::solder::{HashedSolder, Pairs, Part, Solder, Target, complete};

/// What is kept of the items of a step, of each kind; gates with the start of their hash keys.
pub(super) struct Made<G, I, O> {
    pub gates: Option<(u128, G)>,
    pub inputs: Option<I>,
    pub ots: Option<O>,
}

/// The garbler's.
pub(super) type GarblerMade = Made<GarblerItems, GarblerItems, GarblerItems>;

/// The evaluator's.
pub(super) type EvaluatorMade = Made<EvaluatorGates, EvaluatorInputs, EvaluatorOts>;

/// Which wires of gates are soldered within buckets: operands `[bucket][gate behind the first][side]`, and
/// outputs likewise.
fn pairs(supply: &Supply, choice: &Choice) -> [Pairs; 2] {
    let (mut inputs, mut outputs) = (Pairs::default(), Pairs::default());
    for (cut, chosen) in supply.sizes.copies.iter().zip(&choice.copies) {
        for bucket in looking(chosen.kept.chunks_exact(cut.bucket as usize)) {
            let head = bucket[0] as usize;
            for gate in bucket[1..].iter().map(|&gate| gate as usize) {
                (0..2).for_each(|side| inputs.push(2 * head + side, 2 * gate + side));
                outputs.push(gate, head);
            }
        }
    }
    [inputs, outputs]
}

/// The places of the wires of first gates among those of all gates, inputs first: `[bucket][left, right,
/// output]`.
fn heads(supply: &Supply, choice: &Choice) -> impl ExactSizeIterator<Item = usize> + Clone {
    let (cut, kept) = (supply.sizes.copies[0], &choice.copies[0].kept);
    let firsts: Vec<usize> = numbers(kept).step_by(cut.bucket as usize).collect();
    let all = 2 * cut.copies() as usize;
    (0..3 * firsts.len()).map(move |k| match k % 3 {
        2 => all + firsts[k / 3],
        side => 2 * firsts[k / 3] + side,
    })
}

/// Makes what a step is for.
pub(super) fn garbler(party: &mut Garbler, supply: &Supply) -> Result<GarblerMade, Error> {
    let made = preprocess::garbler(party, supply)?;
    open::garbler(party, supply, &made)?;
    let (gates, choice) = (made.copies.first(), &made.choice);
    let [inputs, outputs] = pairs(supply, choice);
    let delta = party.offset.wide.clone();
    let solders = gates.map(|gates| {
        let offset = || Target::Session(&delta);
        [
            Solder { pairs: &inputs, from: &gates.inputs, to: &gates.inputs, offset: offset() },
            Solder { pairs: &outputs, from: &gates.outputs, to: &gates.outputs, offset: offset() },
        ]
    });
    if let Some(solders) = &solders {
        prove(party, solders)?;
    }
    let heads = gates.map(|gates| {
        let all = |of: fn(&Wires) -> &Words| {
            Words::join(&[of(&gates.inputs), of(&gates.outputs)]).select(heads(supply, choice))
        };
        let (labels, permutations) = (all(|wires| &wires.labels), all(|wires| &wires.permutations));
        (gates.start, GarblerItems { shape: Shape::GATES, labels, permutations })
    });
    let Wires { labels, permutations } = made.inputs;
    let none = Words::zeros(party.level.permutations.l(), 0);
    Ok(Made {
        gates: heads,
        inputs: (supply.inputs > 0).then_some(GarblerItems { shape: Shape::INPUTS, labels, permutations }),
        ots: (supply.ots > 0).then_some(GarblerItems {
            shape: Shape::OTS,
            labels: made.ots,
            permutations: none,
        }),
    })
}

/// Opens solderings, and answers the evaluator's seed.
fn prove(party: &mut Garbler, solders: &[Solder; 2]) -> Result<(), Error> {
    let mut bits = Vec::new();
    for solder in solders {
        bits.push(solder.open(party)?);
    }
    let Garbler { run, labels, permutations, .. } = party;
    run.channel.flush()?;
    let seed = ihash::asked(&mut run.channel)?;
    let mut of_permutations = permutations.openings(&seed);
    let mut of_solderings = labels.openings(&seed);
    for (solder, bits) in solders.iter().zip(&bits) {
        solder.prove(&mut of_permutations, &mut of_solderings, bits);
    }
    of_permutations.send(&mut run.channel)?;
    of_solderings.send(&mut run.channel)?;
    run.channel.flush()
}

/// Receives solderings of operands and outputs, and checks them.
fn verify(party: &mut Evaluator, solders: &[HashedSolder; 2]) -> Result<[Vec<Part>; 2], Error> {
    let mut parts = [Vec::new(), Vec::new()];
    for (solder, parts) in solders.iter().zip(&mut parts) {
        *parts = solder.opened(party)?;
    }
    let Evaluator { run, labels, permutations, points, .. } = party;
    let seed = ihash::ask(&mut run.channel)?;
    let mut of_permutations = permutations.openings(&seed, &points.permutation);
    let mut of_solderings = labels.openings(&seed, &points.openings);
    parts.iter().flatten().for_each(|part| part.check(&mut of_permutations, &mut of_solderings));
    for (check, cheat) in [(of_permutations, Cheat::Permutation), (of_solderings, Cheat::Soldering)] {
        if !check.are_right(&mut run.channel)? {
            return Err(cheat.into());
        }
    }
    Ok(parts)
}

/// Makes what a step is for.
pub(super) fn evaluator(party: &mut Evaluator, supply: &Supply) -> Result<EvaluatorMade, Error> {
    let received = preprocess::evaluator(party, supply)?;
    let Received { mut copies, inputs, ots, choice, .. } =
        open::evaluator(party, supply, received)?.into_received();
    let of_buckets = pairs(supply, &choice);
    let delta = party.offset.clone();
    let parts = {
        let solders = copies.first().map(|gates| {
            let offset = || Target::Session(&delta);
            [
                HashedSolder {
                    pairs: &of_buckets[0],
                    from: &gates.inputs,
                    to: &gates.inputs,
                    offset: offset(),
                },
                HashedSolder {
                    pairs: &of_buckets[1],
                    from: &gates.outputs,
                    to: &gates.outputs,
                    offset: offset(),
                },
            ]
        });
        solders.map(|solders| verify(party, &solders)).transpose()?.unwrap_or_default()
    };
    let gates = copies.pop().and_then(|gates| {
        let all = |of: fn(&HashedWires) -> &Hashes| {
            Hashes::join(&[of(&gates.inputs), of(&gates.outputs)]).select(heads(supply, &choice))
        };
        let hashes = HashedWires {
            labels: all(|wires| &wires.labels),
            permutations: all(|wires| &wires.permutations),
        };
        let Garbled::Gates(garbling, rows) = gates.garbled else { return None };
        let start = garbling.start();
        let all: Vec<u128> = parts[0].iter().flat_map(|part| first_blocks(&part.labels.1).to_vec()).collect();
        let short = [0, 1].map(|side| Zeroizing::new(all.iter().skip(side).step_by(2).copied().collect()));
        let of_gates = EvaluatorGates {
            bucket: supply.sizes.copies[0].bucket as usize,
            hashes,
            numbers: choice.copies[0].kept.clone(),
            rows,
            left: complete(&party.completion, &parts[0], 2),
            short,
            outputs: complete(&party.completion, &parts[1], 1),
            garbling: Some(garbling),
        };
        Some((start, of_gates))
    });
    let (labels, choices, hashes) = (ots.2, ots.1, ots.0);
    Ok(Made {
        gates,
        inputs: (supply.inputs > 0).then_some(EvaluatorInputs(inputs)),
        ots: (supply.ots > 0).then_some(EvaluatorOts { hashes, choices, labels }),
    })
}
