//! The evaluator goes through the buckets, layer after layer: all slots that do not depend on one another at
//! a time.

use brickwork_base::stop::looking;
use brickwork_base::{Error, Party};
use brickwork_primitives::ihash::Words;
use subtle::{Choice, ConstantTimeEq};
use zeroize::Zeroizing;

use crate::buckets::{Checks, Kinds, Recovery};
use crate::build::{GateBuckets, HashedCircuit, Soldered};
use crate::cheat::Cheat;
use crate::components::ComponentGarbling;
use crate::gates::{VALUES, compressed, values_of};
use crate::layout::{Layout, Slot};
use crate::preprocess::{Garbled, HashedCopies};
use crate::setup::Evaluator;

/// The labels of all wires of the circuit.
pub(super) struct Active {
    /// Compressed.
    pub short: Zeroizing<Vec<u128>>,
    /// Of each 0 if it is the hashed label, 1 if it is the other one.
    pub kinds: Zeroizing<Vec<u8>>,
    /// The labels, if gates are evaluated; components need none.
    wide: Option<Words>,
}

impl Active {
    /// The inputs.
    fn new(party: &Evaluator, layout: &Layout, circuit: &HashedCircuit) -> Self {
        let wires = layout.steps.len();
        let wide = layout.kinds.first().is_none_or(|kind| !kind.has_offsets());
        let symbols = party.level.labels.l();
        let mut active = Active {
            short: Zeroizing::new(vec![0; wires]),
            kinds: Zeroizing::new(vec![0; wires]),
            wide: wide.then(|| Words::zeros(symbols, wires)),
        };
        let (theirs, kinds) = &circuit.inputs;
        let (choices, own) = circuit.own;
        for (of, labels, kinds) in [(Party::Garbler, theirs, &kinds[..]), (Party::Evaluator, own, choices)] {
            let short = compressed(party.labels.code(), &party.points.compression, labels);
            for (k, wire) in layout.input_wires(of).enumerate() {
                (active.short[wire], active.kinds[wire]) = (short[k], kinds[k]);
                if let Some(wide) = &mut active.wide {
                    wide.add_to(wire, labels.word(k), 1);
                }
            }
        }
        active
    }

    fn sum(&mut self, wire: usize, [a, b]: [usize; 2]) {
        self.short[wire] = self.short[a] ^ self.short[b];
        self.kinds[wire] = self.kinds[a] ^ self.kinds[b];
        if let Some(wide) = &mut self.wide {
            wide.add_pair(wire, [a, b]);
        }
    }
}

/// Returns the labels of all wires, and what was found of Δ.
pub(super) fn evaluator(
    party: &mut Evaluator,
    layout: &Layout,
    circuit: &HashedCircuit,
) -> Result<(Active, Recovery), Error> {
    party.run.phase("evaluate");
    let party = &*party;
    let mut active = Active::new(party, layout, circuit);
    let checks = Checks::new(&party.labels, &party.offset)?;
    let wide = active.wide.is_some();
    let hidden = party.points.openings.count();
    let mut recovery = Recovery::new(if wide { party.level.labels.l() } else { hidden });
    for layer in looking(&layout.layers) {
        for &wire in looking(&layer.sums) {
            active.sum(wire as usize, layout.sum(wire));
        }
        let kind_of = |slot: u32| layout.slots[slot as usize].kind;
        for slots in layer.slots.chunk_by(|&a, &b| kind_of(a) == kind_of(b)) {
            let kind = kind_of(slots[0]);
            let slots: Vec<&Slot> = slots.iter().map(|&slot| &layout.slots[slot as usize]).collect();
            let layer = Group { party, layout, kind, slots };
            let soldered = &circuit.soldered[kind];
            match soldered {
                Soldered::Gates(gates) => layer.gates(gates, &checks, &mut active, &mut recovery)?,
                Soldered::Components { copies: HashedCopies { garbled, .. }, .. } => match garbled {
                    Garbled::Components { garbling, tables, .. } => {
                        layer.components(
                            (garbling, tables),
                            soldered,
                            &checks,
                            &mut active,
                            &mut recovery,
                        )?;
                    }
                    Garbled::Gates(..) => return Err(Error::Usage("components are no gates".into())),
                },
            }
        }
    }
    // Where copies of components gave Δ away, it is by its values at the points that open labels.
    let completed = |values: &Words| party.completion.words(&party.offset, values);
    Ok((active, if wide { recovery } else { recovery.map(completed) }))
}

/// Slots of a kind that are evaluated at a time.
struct Group<'a> {
    party: &'a Evaluator,
    layout: &'a Layout<'a>,
    kind: usize,
    slots: Vec<&'a Slot>,
}

impl Group<'_> {
    fn bucket(&self) -> usize {
        self.layout.sizes.copies[self.kind].bucket as usize
    }

    /// The places of their copies among those of all buckets, so many in each.
    fn places(&self, bucket: usize) -> Vec<usize> {
        self.slots.iter().flat_map(|slot| slot.place * bucket..(slot.place + 1) * bucket).collect()
    }

    /// Evaluates gates.
    fn gates(
        &self,
        gates: &GateBuckets,
        checks: &Checks,
        active: &mut Active,
        recovery: &mut Recovery,
    ) -> Result<(), Error> {
        let &GateBuckets { bucket, garbling, numbers, rows, ref left, ref short, ref outputs, ref heads } =
            gates;
        let places = self.places(bucket);
        let Some(wide) = &mut active.wide else {
            return Err(Error::Usage("gates have labels of several blocks".into()));
        };
        let operand = |k: usize, side: usize| self.layout.operands(self.slots[k / bucket])[side] as usize;
        let mut lefts = left.select(places.iter().copied());
        (0..places.len()).for_each(|k| lefts.add_to(k, wide.word(operand(k, 0)), 1));
        let shorts = [0, 1].map(|side| {
            let of = |(k, &place): (usize, &usize)| short[side][place] ^ active.short[operand(k, side)];
            Zeroizing::new(places.iter().enumerate().map(of).collect::<Vec<u128>>())
        });
        let of: Vec<u32> = places.iter().map(|&place| numbers[place]).collect();
        let shorts = [&shorts[0][..], &shorts[1]];
        let mut results = garbling.evaluate(&of, &lefts, shorts, rows, |k| places[k]);
        for (k, &place) in places.iter().enumerate() {
            // The first gate of a bucket has the bucket's output.
            if place % bucket > 0 {
                results.add_to(k, outputs.word(place / bucket * (bucket - 1) + place % bucket - 1), 1);
            }
        }
        let hashed = heads.select(self.slots.iter().map(|slot| slot.place));
        let (labels, kinds) = checks.judge(&hashed, bucket, &results, recovery)?;
        let short = compressed(self.party.labels.code(), &self.party.points.compression, &labels);
        for (k, slot) in self.slots.iter().enumerate() {
            wide.add_to(slot.output, labels.word(k), 1);
            (active.short[slot.output], active.kinds[slot.output]) = (short[k], kinds[k]);
        }
        Ok(())
    }

    /// Evaluates copies of a component.
    fn components(
        &self,
        (garbling, tables): (&ComponentGarbling, &[u8]),
        soldered: &Soldered,
        checks: &Checks,
        active: &mut Active,
        recovery: &mut Recovery,
    ) -> Result<(), Error> {
        let bucket = self.bucket();
        let places = self.places(bucket);
        let kind = &self.layout.kinds[self.kind];
        let Soldered::Components { copies: hashed, numbers, inputs, offsets, outputs, bits } = soldered
        else {
            return Err(Error::Usage("components are soldered as components".into()));
        };
        let mut labels = Zeroizing::new(Vec::with_capacity(places.len() * kind.inputs()));
        for (k, &place) in places.iter().enumerate() {
            for (input, &wire) in self.layout.operands(self.slots[k / bucket]).iter().enumerate() {
                let mask = u128::from(active.kinds[wire as usize]).wrapping_neg();
                let soldering = inputs[place * kind.inputs() + input] ^ (offsets[place][0] & mask);
                labels.push(active.short[wire as usize] ^ soldering);
            }
        }
        let each = garbling.table_bytes();
        let of: Vec<&[u8]> = places.iter().map(|&place| &tables[place * each..][..each]).collect();
        let copies: Vec<u32> = places.iter().map(|&place| numbers[place]).collect();
        let results = garbling.evaluate(&copies, &labels, &of)?;
        let HashedCopies { outputs: hashed, offsets: own, .. } = hashed;
        let wires = kind.outputs();
        let all = (0..results.count()).map(|k| copies[k / wires] as usize * wires + k % wires);
        let each = (0..results.count()).map(|k| copies[k / wires] as usize);
        let found = checks.kinds(&hashed.labels.select(all), Some(&own.select(each)), &results);
        let values = self.party.labels.code().at(&self.party.points.openings, &results);
        let translated = Translated::of(
            &found,
            (wires, &places),
            |k| values_of(&values, k),
            |at| (outputs[at], bits[at], offsets[at / wires]),
        );
        self.judge(wires, &translated, active, recovery)
    }

    /// Takes of each output of each slot the label of a valid copy, and what others say of Δ.
    fn judge(
        &self,
        wires: usize,
        results: &Translated,
        active: &mut Active,
        recovery: &mut Recovery,
    ) -> Result<(), Error> {
        let bucket = self.bucket();
        let mut empty = Choice::from(0);
        for (s, slot) in looking(self.slots.iter().enumerate()) {
            for output in 0..wires {
                let mut two = [[0_u128; VALUES]; 2];
                let mut found = [Choice::from(0); 2];
                for copy in s * bucket..(s + 1) * bucket {
                    let k = copy * wires + output;
                    for kind in 0..2_u8 {
                        let is = Choice::from(results.valid[copy]) & results.kinds[k].ct_eq(&kind);
                        let first = is & !found[usize::from(kind)];
                        let mask = u128::from(first.unwrap_u8()).wrapping_neg();
                        let label = results.values[k].iter();
                        two[usize::from(kind)]
                            .iter_mut()
                            .zip(label)
                            .for_each(|(sum, value)| *sum ^= value & mask);
                        found[usize::from(kind)] |= first;
                    }
                }
                empty |= !found[0] & !found[1];
                let other = u128::from((!found[0]).unwrap_u8()).wrapping_neg();
                active.short[slot.output + output] = two[0][0] ^ (two[1][0] & other);
                active.kinds[slot.output + output] = (!found[0]).unwrap_u8();
                recovery.offer(&two[0], &two[1], found[0] & found[1]);
            }
        }
        if bool::from(empty) { Err(Cheat::EmptyBucket.into()) } else { Ok(()) }
    }
}

/// What comes out of copies, as labels of the circuit's wires: `[copy][output]`.
struct Translated {
    /// Of each copy whether all its outputs are valid.
    valid: Vec<u8>,
    /// Labels, by their values at the points that open them, their compressions first.
    values: Zeroizing<Vec<[u128; VALUES]>>,
    kinds: Zeroizing<Vec<u8>>,
}

impl Translated {
    /// Of copies at these places, with so many outputs: `found` says of what came out which label it is,
    /// `label` are the values that open it, and `soldering` gives δ, the sum of permutation bits and S of
    /// each output.
    fn of(
        found: &Kinds,
        (wires, places): (usize, &[usize]),
        label: impl Fn(usize) -> [u128; VALUES],
        soldering: impl Fn(usize) -> ([u128; VALUES], u8, [u128; VALUES]),
    ) -> Self {
        let count = places.len() * wires;
        let mut valid = vec![1; places.len()];
        let mut labels = Zeroizing::new(vec![[0; VALUES]; count]);
        let mut kinds = Zeroizing::new(vec![0; count]);
        for k in 0..count {
            let (copy, output) = (k / wires, k % wires);
            valid[copy] &= found.same[k] | found.other[k];
            let (difference, bit, offset) = soldering(places[copy] * wires + output);
            let mask = u128::from(found.other[k]).wrapping_neg();
            let label = label(k);
            for block in 0..VALUES {
                labels[k][block] = label[block] ^ difference[block] ^ (offset[block] & mask);
            }
            kinds[k] = found.other[k] ^ bit;
        }
        Translated { valid, values: labels, kinds }
    }
}
