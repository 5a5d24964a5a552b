//! The evaluator processes buckets layer after layer: all slots of a layer are independent of each other.

use std::ops::Range;

use brickwork_base::stop::looking;
use brickwork_base::{Error, Party};
use brickwork_kernels::SecretBlocks;
use brickwork_primitives::ihash::{SeenWords, Words};
use zeroize::Zeroizing;

use crate::buckets::{Checks, DeltaKnowledge, Judging, Translated};
use crate::build::{CopyBuckets, GateBuckets, HashedCircuit, Soldered};
use crate::gates::{GATES_AT_ONCE, LabelBuffer, colour, mask, values_of};
use crate::layout::{BucketSlot, Layout};
use crate::parameters::COMPRESSED;
use crate::setup::Evaluator;

/// The labels of all wires of the circuit.
pub(super) struct Active {
    /// The labels in the form of [`Sight`], with the compressions first, if gates are evaluated. If
    /// components are evaluated, only the compressions.
    labels: Words,
    /// For each wire, 0 if its label is the hashed one, and 1 if it is the other one.
    pub kinds: Zeroizing<Vec<u8>>,
}

impl Active {
    /// Returns the list of labels, in which only the labels of the inputs are set.
    fn new(party: &Evaluator, layout: &Layout, circuit: &HashedCircuit) -> Self {
        let wires = layout.steps.len();
        let is_seen = layout.kinds.first().is_none_or(|kind| !kind.has_offsets());
        let symbols = if is_seen { party.level.labels.l() } else { COMPRESSED };
        let mut active =
            Active { labels: Words::zeros(symbols, wires), kinds: Zeroizing::new(vec![0; wires]) };
        let (theirs, kinds) = &circuit.inputs;
        let (choices, own) = circuit.own;
        let own = party.sight.of(own);
        for (of, labels, kinds) in [(Party::Garbler, theirs, &kinds[..]), (Party::Evaluator, &own, choices)] {
            for (k, wire) in layout.input_wires(of).enumerate() {
                active.set(wire, labels.word(k), kinds[k]);
            }
        }
        active
    }

    /// Returns the compression of a label.
    #[inline]
    pub fn short(&self, wire: usize) -> u128 {
        self.labels.word(wire)[0]
    }

    /// Sets the label of a wire, in the form that the list keeps.
    #[inline]
    fn set(&mut self, wire: usize, label: &[u128], kind: u8) {
        self.labels.word_mut(wire).iter_mut().zip(label).for_each(|(to, from)| *to = *from);
        self.kinds[wire] = kind;
    }

    fn sum(&mut self, wire: usize, [a, b]: [usize; 2]) {
        self.labels.add_pair(wire, [a, b]);
        self.kinds[wire] = self.kinds[a] ^ self.kinds[b];
    }
}

/// Evaluates all slots. Returns the labels of all wires, and the knowledge of Δ.
pub(super) fn evaluator(
    party: &mut Evaluator,
    layout: &Layout,
    circuit: &HashedCircuit,
) -> Result<(Active, DeltaKnowledge), Error> {
    party.run.phase("evaluate");
    let party = &*party;
    let mut active = Active::new(party, layout, circuit);
    let checks = Checks::new(&party.labels, &party.offset)?;
    let mut bench = Bench::new(party, circuit, checks.judging(&party.sight));
    let mut recovery = DeltaKnowledge::new(party.points.openings.count());
    for layer in looking(&layout.layers) {
        for &wire in looking(&layer.sums) {
            active.sum(wire as usize, layout.sum(wire));
        }
        let kind_of = |slot: u32| layout.slots[slot as usize].kind;
        for slots in layer.slots.chunk_by(|&a, &b| kind_of(a) == kind_of(b)) {
            let kind = kind_of(slots[0]);
            let group = Group { party, layout, kind, slots };
            let soldered = &circuit.soldered[kind];
            match soldered {
                Soldered::Gates(gates) => group.gates(gates, &mut bench, &mut active, &mut recovery)?,
                Soldered::Components(copies) => {
                    group.components(copies, &checks, &mut active, &mut recovery)?;
                }
            }
        }
    }
    // Δ was found as its values at the opening points, so the completion gives Δ itself.
    Ok((active, recovery.map(|values| party.completion.words(&party.offset, values))))
}

/// Buffers for evaluating gates layer after layer. There may be many layers of few gates, and allocating
/// buffers for each would take longer than evaluating a gate.
struct Bench {
    judging: Judging,
    room: LabelBuffer,
    /// The numbers of gates, and the compressions of both operands.
    numbers: Vec<u32>,
    short: SecretBlocks<[u128; 2]>,
    /// The results of the rows, which are words, and the labels in the form of [`Sight`].
    words: Words,
    seen: SeenWords,
}

impl Bench {
    fn new(party: &Evaluator, circuit: &HashedCircuit, judging: Judging) -> Self {
        // The buffers are large enough for batches of whole buckets.
        let buckets = circuit.soldered.iter().map(|soldered| match soldered {
            Soldered::Gates(gates) => gates.bucket,
            Soldered::Components(_) => 0,
        });
        let most = buckets.max().map_or(0, |bucket| bucket.max(GATES_AT_ONCE));
        Bench {
            judging,
            room: LabelBuffer::default(),
            numbers: Vec::with_capacity(most),
            short: SecretBlocks::with_capacity(most),
            words: Words::zeros(party.level.labels.l(), most),
            seen: party.sight.zeros(most),
        }
    }
}

/// The slots of one kind in one layer.
struct Group<'a> {
    party: &'a Evaluator,
    layout: &'a Layout<'a>,
    kind: usize,
    slots: &'a [u32],
}

impl Group<'_> {
    fn slot(&self, k: usize) -> &BucketSlot {
        &self.layout.slots[self.slots[k] as usize]
    }

    /// Returns the indices of the slots' copies among the copies of all buckets, with `bucket` copies in
    /// each.
    fn places(&self, bucket: usize) -> Vec<usize> {
        let all = (0..self.slots.len()).map(|k| self.slot(k).place);
        all.flat_map(|place| place * bucket..(place + 1) * bucket).collect()
    }

    fn gates(
        &self,
        gates: &GateBuckets,
        bench: &mut Bench,
        active: &mut Active,
        recovery: &mut DeltaKnowledge,
    ) -> Result<(), Error> {
        let at_once = (bench.words.count() / gates.bucket).max(1);
        for first in (0..self.slots.len()).step_by(at_once) {
            let slots = first..self.slots.len().min(first + at_once);
            self.gates_at_once(slots, gates, bench, active, recovery)?;
        }
        Ok(())
    }

    /// Evaluates the gates of some slots.
    fn gates_at_once(
        &self,
        slots: Range<usize>,
        gates: &GateBuckets,
        bench: &mut Bench,
        active: &mut Active,
        recovery: &mut DeltaKnowledge,
    ) -> Result<(), Error> {
        let &GateBuckets { bucket, garbling, numbers, rows, ref left, ref right, ref outputs, ref heads } =
            gates;
        let Bench { judging, room, numbers: these, short, words, seen } = bench;
        let place = |k: usize| self.slot(slots.start + k / bucket).place * bucket + k % bucket;
        let (count, blocks) = (slots.len() * bucket, words.blocks());
        these.clear();
        short.clear();
        for k in 0..count {
            let place = place(k);
            let operands = self.layout.operands(self.slot(slots.start + k / bucket));
            let [l, r] = [0, 1].map(|side| active.labels.word(operands[side] as usize));
            these.push(numbers[place]);
            let both = [left.word(place)[0] ^ l[0], right[place] ^ r[0]];
            short.push(both);
            // A result is the sum of the rows' results, the left label if the right label has colour 1, and
            // the soldering to the bucket's output. The first gate has no such soldering, because its output
            // is the bucket's output.
            let mask = mask(colour(both[1]));
            let to = seen.word_mut(k).iter_mut().zip(left.word(place).iter().zip(l));
            to.for_each(|(to, (delta, label))| *to = (delta ^ label) & mask);
            if place % bucket > 0 {
                seen.add_to(k, outputs.word(place / bucket * (bucket - 1) + place % bucket - 1), 1);
            }
        }
        let (words, seen) = (&mut words.data_mut()[..count * blocks], &mut seen.data_mut()[..count * blocks]);
        garbling.evaluate(these, short, rows, place, (room, words));
        self.party.sight.add(words, seen);
        let slot = |k: usize| self.slot(slots.start + k);
        judging.judge(
            bucket,
            seen,
            |k| heads.word(slot(k).place),
            recovery,
            |k, label, kind| active.set(slot(k).output, label, kind),
        )?;
        Ok(())
    }

    /// Evaluates the copies of some slots.
    fn components(
        &self,
        copies: &CopyBuckets,
        checks: &Checks,
        active: &mut Active,
        recovery: &mut DeltaKnowledge,
    ) -> Result<(), Error> {
        let &CopyBuckets { bucket, garbling, numbers, tables, .. } = copies;
        let CopyBuckets { inputs, back, .. } = copies;
        let places = self.places(bucket);
        let kind = &self.layout.kinds[self.kind];
        let mut labels = Zeroizing::new(Vec::with_capacity(places.len() * kind.inputs()));
        for (k, &place) in places.iter().enumerate() {
            for (input, &wire) in self.layout.operands(self.slot(k / bucket)).iter().enumerate() {
                let mask = u128::from(active.kinds[wire as usize]).wrapping_neg();
                let soldering = inputs[place * kind.inputs() + input] ^ (back.offsets[place][0] & mask);
                labels.push(active.short(wire as usize) ^ soldering);
            }
        }
        let each = garbling.table_bytes();
        let of: Vec<&[u8]> = places.iter().map(|&place| &tables[place * each..][..each]).collect();
        let of_copies: Vec<u32> = places.iter().map(|&place| numbers[place]).collect();
        let results = garbling.evaluate(&of_copies, &labels, &of)?;
        let wires = kind.outputs();
        let all = (0..results.count()).map(|k| places[k / wires] * wires + k % wires);
        let each = (0..results.count()).map(|k| places[k / wires]);
        let found = checks.kinds(&copies.outputs.select(all), Some(&copies.offsets.select(each)), &results);
        let values = self.party.labels.code().at(&self.party.points.openings, &results);
        let translated = Translated::of(
            &found,
            (wires, &places),
            |k| values_of(&values, k),
            |at| (back.outputs[at], back.bits[at], back.offsets[at / wires]),
        );
        translated.judge((bucket, wires), recovery, |slot, output, short, kind| {
            active.set(self.slot(slot).output + output, &[short], kind);
        })?;
        Ok(())
    }
}
