//! The evaluator's work on the labels of a bucket, in a form whose time can be measured. This module exists
//! only in builds with the feature `adversary`.

use zeroize::Zeroizing;

use crate::Cheat;
use crate::gates::GateKeys;
use crate::inputs::{InputBuckets, wires_of};
use crate::preprocess::AndBuckets;
use crate::vote::{VoteBuffers, VoteResult};
use brickwork_base::label::{Delta, Label};
use brickwork_base::random::Rng;
use brickwork_primitives::Labels;
use brickwork_primitives::authenticator::{AuthenticatorKind, Hasher};
use brickwork_primitives::solder::{GarblerWire, Soldering};

/// Buckets of gates, with labels on their inputs.
pub struct Vote {
    buckets: AndBuckets,
    labels: Labels,
    verdicts: Zeroizing<Vec<VoteResult>>,
    room: VoteBuffers,
}

impl Vote {
    /// Makes this many buckets of β gates and α authenticators, with labels of random bits. With `lies`, the
    /// second gate of each bucket gives the label of the other bit.
    pub fn new(count: usize, [beta, alpha]: [usize; 2], lies: bool, rng: &mut Rng) -> Vote {
        let delta = rng.delta();
        let wire = |value: Label| GarblerWire { value, delta };
        let values: Vec<Label> = (0..2 * beta * count).map(|_| rng.label()).collect();
        let gates = GateKeys::new(rng.block(), beta * count);
        let (outputs, tables) = gates.garble(
            0,
            delta,
            &values.iter().map(|&value| wire(value).false_label()).collect::<Vec<_>>(),
        );
        let outputs: Vec<Label> = outputs
            .iter()
            .enumerate()
            .map(|(gate, &label)| {
                let value = GarblerWire::from_false_label(label, delta).value;
                value ^ Label::from_bits(u128::from(lies && gate % beta == 1))
            })
            .collect();
        let solder = |head: usize, gate: usize| {
            let side = |side: usize| Soldering::new(values[2 * head + side], wire(values[2 * gate + side]));
            [side(0), side(1), Soldering::new(outputs[head], wire(outputs[gate]))]
        };
        let others = (0..beta * count).filter(|gate| gate % beta > 0);
        let gate_solderings = others.map(|gate| solder(gate - gate % beta, gate)).collect();

        let guards: Vec<Label> = (0..alpha * count).map(|_| rng.label()).collect();
        let hasher = Hasher::new(&[7; 32], AuthenticatorKind::Plain);
        let hashes = hasher.authenticators(guards.len(), |k| (k as u64, guards[k].with_colour(0), delta));
        let to_guard = |(k, &guard): (usize, &Label)| Soldering::new(outputs[k / alpha * beta], wire(guard));
        let guard_solderings = guards.iter().enumerate().map(to_guard).collect();

        let on_heads = values.chunks_exact(2 * beta).flat_map(|bucket| &bucket[..2]);
        let mut room = VoteBuffers::default();
        room.fit(count, [beta, alpha]);
        Vote {
            labels: Labels::new(on_heads.map(|&value| wire(value).of_bit(rng.below(2) as u8)).collect()),
            verdicts: Zeroizing::new(vec![(Label::ZERO, Label::ZERO); count]),
            room,
            buckets: AndBuckets {
                gates,
                sizes: [beta, alpha],
                numbers: (0..(beta * count) as u32).collect(),
                tables,
                guards: (0..(alpha * count) as u32).collect(),
                hashes,
                hasher,
                gate_solderings,
                guard_solderings,
            },
        }
    }

    /// Evaluates all buckets. Returns the number of buckets with two valid labels.
    ///
    /// # Errors
    /// If a bucket has no valid label.
    pub fn judge(&mut self) -> Result<usize, Cheat> {
        let Vote { buckets, labels, verdicts, room } = self;
        buckets.judge(0..buckets.count(), labels, verdicts, room)?;
        Ok(verdicts.iter().map(|(_, sum)| usize::from(sum.colour())).sum())
    }
}

/// Inputs of the garbler, with their labels.
pub struct TimedRecovery {
    buckets: InputBuckets,
    labels: Labels,
    delta: Delta,
}

impl TimedRecovery {
    /// Makes buckets of `size` input authenticators, one bucket for each of these bits. If `known` is false,
    /// it uses another offset than Δ.
    pub fn new(bits: &[u8], size: usize, known: bool, rng: &mut Rng) -> TimedRecovery {
        let delta = rng.delta();
        let deltas: Vec<Delta> = (0..bits.len() * size).map(|_| rng.delta()).collect();
        let hasher = Hasher::new(&[7; 32], AuthenticatorKind::Input);
        let values = wires_of(&hasher, |k| k as u64, &deltas);
        let wire = |k: usize| GarblerWire { value: values[k], delta: deltas[k] };
        let hashes = hasher.authenticators(deltas.len(), |k| (k as u64, values[k].with_colour(0), deltas[k]));
        let others = (0..deltas.len()).filter(|k| k % size > 0);
        let head = |bucket: usize| wire(bucket * size);
        let to_wire = |bucket: usize| {
            Soldering::new(head(bucket).value, GarblerWire { value: Label::from_bits(6), delta })
        };
        let labels = bits.iter().enumerate().map(|(bucket, &bit)| head(bucket).of_bit(bit)).collect();
        TimedRecovery {
            labels: Labels::new(labels),
            delta: if known { delta } else { rng.delta() },
            buckets: InputBuckets {
                hasher,
                size,
                numbers: (0..deltas.len() as u32).collect(),
                hashes,
                delta_differences: deltas.iter().map(|offset| offset.label() ^ delta.label()).collect(),
                solderings: others.map(|k| Soldering::new(head(k / size).value, wire(k))).collect(),
                to_wires: (0..bits.len()).map(to_wire).collect(),
            },
        }
    }

    /// Returns the bits that are read from the labels with the offset.
    pub fn recover(&self) -> Zeroizing<Vec<bool>> {
        self.buckets.recover(&self.labels, self.delta)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use brickwork_testing::Replayable as _;

    /// The timed code gives the same results as a run: two labels if a gate lies, and the right bits if Δ is
    /// known.
    #[test]
    fn what_is_timed_is_honest_or_lies() {
        let mut rng = Rng::replayable("test timed");
        for lies in [false, true] {
            let mut vote = Vote::new(70, [5, 4], lies, &mut rng);
            assert_eq!(vote.judge(), Ok(if lies { 70 } else { 0 }));
        }
        let bits: Vec<u8> = (0..40).map(|_| rng.below(2) as u8).collect();
        for known in [false, true] {
            let recovered = TimedRecovery::new(&bits, 5, known, &mut rng).recover();
            let right = recovered.iter().zip(&bits).filter(|(recovered, bit)| **recovered == (**bit == 1));
            assert_eq!(right.count() == bits.len(), known);
            assert!(known || !recovered.contains(&true));
        }
    }
}
