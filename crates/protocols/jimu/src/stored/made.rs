//! The items that a step makes: buckets of gates or of copies of a component, wires, and OTs. Before the
//! program is known, the items in a bucket are soldered to the bucket's first gate or copy, and outputs of
//! copies to words of the bucket. So a program solders only the operands of one gate or copy per bucket.
//!
//! ```text
//!   as in a run    5, 6, 7, 8, 9
//!   G -> E         solderings of operands and outputs within buckets; of copies S
//!   E <> G         seed of combinations, combinations of all that
//! ```

use brickwork_base::Error;
use brickwork_base::stop::looking;
use brickwork_primitives::ihash::{self, Hashes, Words};
use zeroize::Zeroizing;

use super::records::{
    EvaluatorBuckets, EvaluatorCopies, EvaluatorGates, EvaluatorInputs, EvaluatorOts, GarblerItems, Shape,
};
use crate::buckets::{HashedWires, PermutedLabels};
use crate::build::{Back, KindPairs, hashed_solders, plus_delta, shorts, solders};
use crate::cheat::Cheat;
use crate::choice::{Choice, numbers, wires_of};
use crate::layout::{CopyKind, Supply};
use crate::open;
use crate::preprocess::{self, Copies, Garbled, HashedCopies, Received};
use crate::setup::{Evaluator, Garbler};
use crate::solder::{HashedSolder, ListPart, Solder, complete};

/// The stored items of a step, of each kind. Buckets have the start of their hash keys.
pub(super) struct MadeItems<B, I, O> {
    pub buckets: Option<(u128, B)>,
    pub inputs: Option<I>,
    pub ots: Option<O>,
}

pub(super) type GarblerMade = MadeItems<GarblerItems, GarblerItems, GarblerItems>;

pub(super) type EvaluatorMade = MadeItems<EvaluatorBuckets, EvaluatorInputs, EvaluatorOts>;

/// The items in the buckets that a step makes. All of them are of one kind.
struct Within<'s> {
    kind: &'s CopyKind<'s>,
    /// The number of gates or copies that were made.
    copies: usize,
    /// The bucket size, and the numbers of the items, one bucket after another.
    bucket: usize,
    kept: &'s [u32],
}

impl<'s> Within<'s> {
    /// Returns `None` if the step makes no buckets.
    fn of(supply: &'s Supply, choice: &'s Choice) -> Option<Self> {
        let (kind, cut) = (supply.kinds.first()?, supply.sizes.copies.first()?);
        let kept = &choice.copies.first()?.kept;
        Some(Within { kind, copies: cut.copies() as usize, bucket: cut.bucket as usize, kept })
    }

    fn buckets(&self) -> impl Iterator<Item = &[u32]> {
        self.kept.chunks_exact(self.bucket)
    }

    /// Returns the soldered wires. Operands of the first gate or copy are soldered to those of the others,
    /// `[bucket][gate or copy after the first][input]`. Outputs of gates are soldered to the output of the
    /// first gate, in the same order. Outputs of copies are soldered to the bucket's words,
    /// `[bucket][copy][output]`.
    fn pairs(&self) -> KindPairs {
        let mut pairs = KindPairs::default();
        let [inputs, outputs] = [self.kind.inputs(), self.kind.outputs()];
        for (bucket, copies) in looking(self.buckets().enumerate()) {
            let head = copies[0] as usize;
            for (place, copy) in copies.iter().map(|&copy| copy as usize).enumerate() {
                if place > 0 {
                    (0..inputs).for_each(|k| pairs.inputs.push(head * inputs + k, copy * inputs + k));
                }
                match self.kind {
                    CopyKind::Gate if place == 0 => {}
                    CopyKind::Gate => pairs.outputs.push(copy, head),
                    CopyKind::Component(_) => (0..outputs)
                        .for_each(|k| pairs.outputs.push(copy * outputs + k, bucket * outputs + k)),
                }
            }
        }
        pairs
    }

    /// Returns the indices of the stored words of each bucket. The words are numbered in this order: inputs,
    /// outputs (of gates, or of buckets of copies), and offsets, which are labels.
    fn words(&self, with_offsets: bool) -> Vec<usize> {
        let [inputs, outputs] = [self.kind.inputs(), self.kind.outputs()];
        let of_inputs = self.copies * inputs;
        let own = self.kind.has_offsets();
        let count = if own { self.kept.len() / self.bucket } else { self.copies };
        let mut places = Vec::with_capacity(self.kept.len() / self.bucket * (inputs + outputs + 1));
        for (bucket, copies) in self.buckets().enumerate() {
            let head = copies[0] as usize;
            let first = of_inputs + outputs * if own { bucket } else { head };
            places.extend(head * inputs..(head + 1) * inputs);
            places.extend(first..first + outputs);
            places.extend((own && with_offsets).then_some(of_inputs + count * outputs + head));
        }
        places
    }
}

/// Makes the items of a step.
pub(super) fn garbler(party: &mut Garbler, supply: &Supply) -> Result<GarblerMade, Error> {
    let made = preprocess::garbler(party, supply)?;
    open::garbler(party, supply, &made)?;
    let buckets = match (made.copies.first(), Within::of(supply, &made.choice)) {
        (Some(copies), Some(within)) => Some(garbler_buckets(party, copies, &made.wires, &within)?),
        _ => None,
    };
    let PermutedLabels { labels, permutations } = made.inputs;
    let none = Words::zeros(party.level.permutations.l(), 0);
    Ok(MadeItems {
        buckets,
        inputs: (supply.inputs > 0).then_some(GarblerItems { shape: Shape::INPUTS, labels, permutations }),
        ots: (supply.ots > 0).then_some(GarblerItems {
            shape: Shape::OTS,
            labels: made.ots,
            permutations: none,
        }),
    })
}

/// Solders the items in buckets. Returns the stored data, with the start of the hash keys. `wires` has the
/// words to which outputs of copies are soldered.
fn garbler_buckets(
    party: &mut Garbler,
    copies: &Copies,
    wires: &PermutedLabels,
    within: &Within,
) -> Result<(u128, GarblerItems), Error> {
    let (pairs, delta) = (within.pairs(), party.offset.wide.clone());
    let solders = solders(copies, [&copies.inputs, wires], (&pairs, within.kind), &delta);
    let offsets = within
        .kind
        .has_offsets()
        .then(|| plus_delta(copies.offsets.select(numbers(within.kept)), delta.word(0)));
    prove(party, &solders, offsets.as_ref())?;
    let outputs = if within.kind.has_offsets() { wires } else { &copies.outputs };
    let labels = Words::join(&[&copies.inputs.labels, &outputs.labels, &copies.offsets]);
    let permutations = Words::join(&[&copies.inputs.permutations, &outputs.permutations]);
    let items = GarblerItems {
        shape: Shape::of(within.kind),
        labels: labels.select(within.words(true).into_iter()),
        permutations: permutations.select(within.words(false).into_iter()),
    };
    Ok((copies.start, items))
}

/// Opens the solderings, and S for copies, and answers the evaluator's seed with combinations.
fn prove(party: &mut Garbler, solders: &[Solder; 2], offsets: Option<&Words>) -> Result<(), Error> {
    let mut bits = Vec::new();
    for solder in solders {
        bits.push(solder.open(party)?);
    }
    let Garbler { run, labels, permutations, points, .. } = party;
    if let Some(offsets) = offsets {
        labels.open(&mut run.channel, &points.openings, offsets)?;
    }
    run.channel.flush()?;
    let seed = ihash::asked(&mut run.channel)?;
    let mut of_permutations = permutations.openings(&seed);
    let mut of_solderings = labels.openings(&seed);
    for (solder, bits) in solders.iter().zip(&bits) {
        solder.prove(&mut of_permutations, &mut of_solderings, bits);
    }
    offsets.into_iter().for_each(|offsets| of_solderings.add(offsets));
    of_permutations.send(&mut run.channel)?;
    of_solderings.send(&mut run.channel)?;
    run.channel.flush()
}

/// Receives solderings of operands and outputs, and the opening values of S, whose hashes are `offsets`.
/// Checks the solderings and the opening values.
fn verify(
    party: &mut Evaluator,
    solders: &[HashedSolder; 2],
    offsets: Option<&Hashes>,
) -> Result<([Vec<ListPart>; 2], Words), Error> {
    let mut parts = [Vec::new(), Vec::new()];
    for (solder, parts) in solders.iter().zip(&mut parts) {
        *parts = solder.opened(party)?;
    }
    let Evaluator { run, labels, permutations, points, .. } = party;
    let channel = &mut run.channel;
    let opened = offsets.map(|offsets| labels.opened(channel, offsets.count())).transpose()?;
    let seed = ihash::ask(channel)?;
    let mut of_permutations = permutations.openings(&seed, &points.permutation);
    let mut of_solderings = labels.openings(&seed, &points.openings);
    parts.iter().flatten().for_each(|part| part.check(&mut of_permutations, &mut of_solderings));
    if let (Some(offsets), Some(opened)) = (offsets, &opened) {
        of_solderings.add(offsets, opened);
    }
    for (check, cheat) in [(of_permutations, Cheat::Permutation), (of_solderings, Cheat::Soldering)] {
        if !check.are_right(channel)? {
            return Err(cheat.into());
        }
    }
    Ok((parts, opened.unwrap_or_else(|| Words::zeros(party.level.labels.l(), 0))))
}

/// Makes the items of a step.
pub(super) fn evaluator(party: &mut Evaluator, supply: &Supply) -> Result<EvaluatorMade, Error> {
    let received = preprocess::evaluator(party, supply)?;
    let received = open::evaluator(party, supply, received)?.into_received();
    let Received { mut copies, inputs, wires, ots, choice } = received;
    let buckets = match (copies.pop(), Within::of(supply, &choice)) {
        (Some(copies), Some(within)) => Some(evaluator_buckets(party, copies, &wires, &within)?),
        _ => None,
    };
    let (labels, choices, hashes) = (ots.2, ots.1, ots.0);
    Ok(MadeItems {
        buckets,
        inputs: (supply.inputs > 0).then_some(EvaluatorInputs(inputs)),
        ots: (supply.ots > 0).then_some(EvaluatorOts { hashes, choices, labels }),
    })
}

fn evaluator_buckets(
    party: &mut Evaluator,
    copies: HashedCopies,
    wires: &HashedWires,
    within: &Within,
) -> Result<(u128, EvaluatorBuckets), Error> {
    let &Within { kind, bucket, kept, .. } = within;
    let (pairs, delta) = (within.pairs(), party.offset.clone());
    let offsets = kind.has_offsets().then(|| {
        let mut sums = copies.offsets.select(numbers(kept));
        sums.add_where(&delta, &vec![1; kept.len()]);
        sums
    });
    let solders = hashed_solders(&copies, [&copies.inputs, wires], (&pairs, kind), &delta);
    let (parts, opened) = verify(party, &solders, offsets.as_ref())?;
    let outputs = if kind.has_offsets() { wires } else { &copies.outputs };
    let all = |of: fn(&HashedWires) -> &Hashes| {
        Hashes::join(&[of(&copies.inputs), of(outputs)]).select(within.words(false).into_iter())
    };
    let hashes =
        HashedWires { labels: all(|wires| &wires.labels), permutations: all(|wires| &wires.permutations) };
    let short = shorts(&parts[0]);
    Ok(match copies.garbled {
        Garbled::Gates(garbling, rows) => {
            let short =
                [0, 1].map(|side| Zeroizing::new(short.iter().skip(side).step_by(2).copied().collect()));
            let gates = EvaluatorGates {
                bucket,
                hashes,
                numbers: kept.to_vec(),
                rows,
                left: complete(&party.completion, &parts[0], 2),
                short,
                outputs: complete(&party.completion, &parts[1], 1),
                garbling: None,
            };
            (garbling.start(), EvaluatorBuckets::Gates(gates))
        }
        Garbled::Components { garbling, tables, .. } => {
            let copies = EvaluatorCopies {
                shape: Shape::of(kind),
                bucket,
                hashes,
                numbers: kept.to_vec(),
                tables,
                offsets: copies.offsets.select(numbers(kept)),
                outputs: copies.outputs.labels.select(wires_of(kept, kind.outputs())),
                back: Back::new(&opened, &parts[1]),
                within: short,
                garbling: None,
            };
            (garbling.start(), EvaluatorBuckets::Copies(copies))
        }
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::sync::Arc;

    use brickwork_circuit::{Builder, Component, Port, Type};

    use super::*;

    /// Two operands and three outputs.
    fn component() -> Component {
        let mut builder = Builder::new(2);
        let wires = builder.all_inputs();
        let product = builder.and(wires[0], wires[1]);
        Component {
            name: "three".into(),
            inputs: vec![Port::new("in", Type::Uint(2))],
            outputs: vec![Port::new("out", Type::Uint(3))],
            circuit: Arc::new(builder.finish(&[product, wires[0], wires[1]]).unwrap()),
        }
    }

    /// Each bucket has words of its own, and its items are soldered only to these. A word in two buckets
    /// would be an output of both, and would reveal Δ if the results differ.
    #[test]
    fn buckets_have_no_word_in_common() {
        let component = component();
        let kept = [7, 2, 9, 4, 0, 5, 11, 3, 1];
        for kind in [CopyKind::Gate, CopyKind::Component(&component)] {
            let within = Within { kind: &kind, copies: 12, bucket: 3, kept: &kept };
            let own = kind.has_offsets();
            let [inputs, outputs] = [kind.inputs(), kind.outputs()];
            for with_offsets in [false, true] {
                let words = within.words(with_offsets);
                let each = inputs + outputs + usize::from(own && with_offsets);
                assert_eq!(words.len(), 3 * each);
                assert_eq!(words.iter().collect::<BTreeSet<_>>().len(), words.len(), "{words:?}");
                let KindPairs { inputs: of_inputs, outputs: of_outputs } = within.pairs();
                for (bucket, words) in words.chunks(each).enumerate() {
                    let copies = &kept[3 * bucket..][..3];
                    let wires = |copy: u32, count: usize| {
                        (0..count).map(move |k| copy * count as u32 + k as u32).collect::<Vec<u32>>()
                    };
                    // These solderings lead from the stored operands of the first gate or copy to the
                    // operands of the others.
                    let range = 2 * bucket * inputs..2 * (bucket + 1) * inputs;
                    let head: Vec<u32> = words[..inputs].iter().map(|&word| word as u32).collect();
                    assert_eq!(head, wires(copies[0], inputs));
                    assert_eq!(of_inputs.from[range.clone()], [&head[..], &head].concat());
                    let others = [wires(copies[1], inputs), wires(copies[2], inputs)].concat();
                    assert_eq!(of_inputs.to[range], others);
                    // These solderings lead from all outputs that are not stored to the stored ones.
                    let from = &copies[usize::from(!own)..];
                    let range = from.len() * bucket * outputs..from.len() * (bucket + 1) * outputs;
                    let all: Vec<u32> = from.iter().flat_map(|&copy| wires(copy, outputs)).collect();
                    assert_eq!(of_outputs.from[range.clone()], all);
                    let kept = words[inputs..][..outputs].iter().map(|&word| (word - 12 * inputs) as u32);
                    let kept: Vec<u32> = kept.collect();
                    assert_eq!(of_outputs.to[range], kept.repeat(from.len()));
                    if own && with_offsets {
                        // The test makes three buckets. Buckets of copies have words for their outputs.
                        assert_eq!(words[each - 1], 12 * inputs + 3 * outputs + copies[0] as usize);
                    }
                }
            }
        }
    }
}
