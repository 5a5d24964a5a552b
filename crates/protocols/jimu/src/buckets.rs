//! Solderings, and what comes out of a bucket (section 5.1, step 3, repaired), under a global offset.
//!
//! A wire is a hashed label m and a hashed permutation message ρ, whose value at a point that is never sent
//! has the permutation bit p as its lowest bit: m is the label of p, and `m ⊕ pΔ` that of 0. To solder wire i
//! to wire j the garbler opens
//!
//! ```text
//!   ρ_i ⊕ ρ_j, and so p = p_i ⊕ p_j           δ = m_i ⊕ m_j ⊕ p·Δ
//! ```
//!
//! The evaluator compares both with hashes that it adds up itself, and `w ⊕ δ` is the label of wire j where w
//! is one of wire i, of the same bit. Nothing but p and δ is told: ρ_i ⊕ ρ_j is as random as ρ_j.
//!
//! A bucket's gates are each evaluated on *their own* translated labels (as printed: on the bucket's), and
//! what comes out is translated back. A result is *valid* if it is the hashed label of the bucket's output or
//! that plus Δ. One good gate is enough: it gives the right label, and a bad one gives the same, none, or the
//! other one, and then their sum is Δ. An empty set is an error (as printed: undefined).
//!
//! Whether Δ came out depends on the evaluator's input, so it steers nothing: [`Checks::judge`] takes the
//! same steps with and without.

use brickwork_primitives::ihash::{Code, Hashes, Receiver, Symbols, Unsent};
use subtle::{Choice, ConditionallySelectable};
use zeroize::Zeroizing;

use crate::cheat::Cheat;
use crate::gates::Wide;

/// Labels with their permutation messages, wire by wire, at the garbler.
pub struct Wires {
    /// m: the hashed labels.
    pub labels: Wide,
    /// ρ: the permutation messages.
    pub permutations: Symbols,
}

/// Hashes of labels and of their permutation messages, wire by wire, at the evaluator.
pub struct HashedWires {
    /// Of the labels.
    pub labels: Hashes,
    /// Of the permutation messages.
    pub permutations: Hashes,
}

/// What is opened to solder wires to others, one each.
pub struct Solderings {
    /// ρ_i ⊕ ρ_j.
    pub permutations: Symbols,
    /// δ.
    pub differences: Wide,
}

/// Returns the permutation bits of permutation messages, or of their sums: `point` is one that is never sent.
/// Erased when dropped.
pub fn permutation_bits(code: &Code, point: &Unsent, permutations: &Symbols) -> Zeroizing<Vec<u8>> {
    Zeroizing::new(code.at(point, permutations).row(0).iter().map(|symbol| symbol & 1).collect())
}

/// Opens what solders wires to others. `bits` are the sums of their permutation bits, `offset` is Δ.
///
/// # Panics
/// If there are not as many of each.
pub fn solder(from: &Wires, to: &Wires, bits: &[u8], offset: &[u128]) -> Solderings {
    let (mut permutations, mut differences) = (from.permutations.clone(), from.labels.clone());
    permutations.add(&to.permutations);
    assert_eq!((bits.len(), to.labels.count()), (from.labels.count(), from.labels.count()));
    for (k, &bit) in bits.iter().enumerate() {
        differences.add(k, to.labels.label(k), 1);
        differences.add(k, offset, bit);
    }
    Solderings { permutations, differences }
}

/// Who checks solderings and what comes out of buckets.
pub struct Checks<'a> {
    labels: &'a Receiver,
    permutations: &'a Receiver,
    point: &'a Unsent,
    offset: &'a Hashes,
}

impl<'a> Checks<'a> {
    /// Makes it from the hashes of labels and of permutation messages, whose bit is at `point`; `offset` is
    /// the hash of Δ.
    ///
    /// # Errors
    /// [`Cheat::Offset`] if it is that of 0: then every label would be of both bits, and every gate right.
    pub fn new(
        labels: &'a Receiver,
        permutations: &'a Receiver,
        point: &'a Unsent,
        offset: &'a Hashes,
    ) -> Result<Self, Cheat> {
        let zero = Symbols::zeros(labels.code().parameters().l(), 1);
        if any(&labels.differences(offset, &zero)) {
            Ok(Checks { labels, permutations, point, offset })
        } else {
            Err(Cheat::Offset)
        }
    }

    /// Checks solderings of wires to others.
    ///
    /// # Errors
    /// [`Cheat::Permutation`], [`Cheat::Soldering`].
    ///
    /// # Panics
    /// If there are not as many of each.
    pub fn solderings(&self, from: &HashedWires, to: &HashedWires, opened: &Solderings) -> Result<(), Cheat> {
        let mut sums = from.permutations.clone();
        sums.add(&to.permutations);
        if any(&self.permutations.differences(&sums, &opened.permutations)) {
            return Err(Cheat::Permutation);
        }
        let bits = permutation_bits(self.permutations.code(), self.point, &opened.permutations);
        let mut sums = from.labels.clone();
        sums.add(&to.labels);
        sums.add_where(self.offset, &bits);
        if any(&self.labels.differences(&sums, &opened.differences.words())) {
            return Err(Cheat::Soldering);
        }
        Ok(())
    }

    /// Checks permutation messages that are opened. Returns their bits.
    ///
    /// # Errors
    /// [`Cheat::Permutation`].
    ///
    /// # Panics
    /// If there are not as many.
    pub fn opened(&self, hashed: &Hashes, permutations: &Symbols) -> Result<Zeroizing<Vec<u8>>, Cheat> {
        if any(&self.permutations.differences(hashed, permutations)) {
            return Err(Cheat::Permutation);
        }
        Ok(permutation_bits(self.permutations.code(), self.point, permutations))
    }

    /// Checks labels of wires: each must be the hashed one, or that plus Δ where its bit is 1.
    ///
    /// # Errors
    /// [`Cheat::Label`].
    ///
    /// # Panics
    /// If there are not as many of each.
    pub fn active(&self, hashed: &Hashes, bits: &[u8], labels: &Wide) -> Result<(), Cheat> {
        let mut hashed = hashed.clone();
        hashed.add_where(self.offset, bits);
        if any(&self.labels.differences(&hashed, &labels.words())) { Err(Cheat::Label) } else { Ok(()) }
    }

    /// Returns of each label whether it is the hashed one (0) or that plus Δ (1).
    ///
    /// # Errors
    /// [`Cheat::InputLabel`] if one is neither.
    ///
    /// # Panics
    /// If there are not as many.
    pub fn kinds(&self, hashed: &Hashes, labels: &Wide) -> Result<Zeroizing<Vec<u8>>, Cheat> {
        let mut rest = self.labels.hashes(&labels.words());
        rest.add(hashed);
        let (same, other) = (rest.is(None), rest.is(Some(self.offset)));
        let neither = same
            .iter()
            .zip(&*other)
            .fold(Choice::from(0), |any, (&same, &other)| any | (!is_zero(same) & !is_zero(other)));
        if bool::from(neither) {
            return Err(Cheat::InputLabel);
        }
        Ok(Zeroizing::new(same.iter().map(|&same| (!is_zero(same)).unwrap_u8()).collect()))
    }

    /// Looks at what comes out of buckets, `results[slot][gate]` with `bucket` gates a slot, translated to
    /// the slot's output, whose hashes are `outputs`. What is found of Δ goes to `recovery`.
    ///
    /// # Errors
    /// [`Cheat::EmptyBucket`] if a bucket has no valid result.
    ///
    /// # Panics
    /// If there are not as many.
    pub fn judge(
        &self,
        outputs: &Hashes,
        bucket: usize,
        results: &Wide,
        recovery: &mut Recovery,
    ) -> Result<Wide, Cheat> {
        let (slots, blocks) = (outputs.count(), results.blocks());
        assert_eq!(results.count(), slots * bucket, "a result of each gate");
        let slot_of: Vec<usize> = (0..slots * bucket).map(|k| k / bucket).collect();
        let words = results.words();
        let mut rest = self.labels.hashes(&words);
        rest.add(&outputs.select(&slot_of));
        // What is left of the label of p is nothing, of the other one Δ.
        let differ = [rest.is(None), rest.is(Some(self.offset))];
        let mut labels = Wide::zeros(blocks, slots);
        let mut empty = Choice::from(0);
        for slot in 0..slots {
            // The first valid result of each kind: m, and m ⊕ Δ.
            let mut kinds = Wide::zeros(blocks, 2);
            let mut found = [Choice::from(0); 2];
            for k in slot * bucket..(slot + 1) * bucket {
                for (kind, differ) in differ.iter().enumerate() {
                    let first = is_zero(differ[k]) & !found[kind];
                    kinds.add(kind, results.label(k), first.unwrap_u8());
                    found[kind] |= first;
                }
            }
            empty |= !found[0] & !found[1];
            labels.add(slot, kinds.label(0), 1);
            labels.add(slot, kinds.label(1), (!found[0]).unwrap_u8());
            recovery.offer(&kinds, found[0] & found[1]);
        }
        if bool::from(empty) { Err(Cheat::EmptyBucket) } else { Ok(labels) }
    }
}

/// What an evaluator knows of Δ.
pub struct Recovery {
    known: Choice,
    offset: Wide,
}

impl Recovery {
    /// Makes an offset of so many blocks, of which nothing is known.
    pub fn new(blocks: usize) -> Self {
        Recovery { known: Choice::from(0), offset: Wide::zeros(blocks, 1) }
    }

    /// Returns whether it is known. It must steer nothing that the garbler could see.
    pub fn is_known(&self) -> Choice {
        self.known
    }

    /// Returns Δ, or zeros.
    pub fn offset(&self) -> &[u128] {
        self.offset.label(0)
    }

    /// The two labels of a wire, if they are: the first time that is so.
    fn offer(&mut self, labels: &Wide, both: Choice) {
        let new = (both & !self.known).unwrap_u8();
        self.offset.add(0, labels.label(0), new);
        self.offset.add(0, labels.label(1), new);
        self.known = Choice::conditional_select(&self.known, &Choice::from(1), both);
    }
}

/// Whether one of many differs.
fn any(differ: &[u8]) -> bool {
    differ.iter().fold(0, |all, differ| all | differ) != 0
}

fn is_zero(byte: u8) -> Choice {
    subtle::ConstantTimeEq::ct_eq(&byte, &0)
}

#[cfg(test)]
pub(crate) mod tests {
    use brickwork_testing::Replayable as _;
    use std::thread;

    use brickwork_base::random::{Rng, Seed};
    use brickwork_primitives::ihash::{Parameters, Sender};
    use brickwork_wire::{Channel, memory_pair};

    use super::*;
    use crate::gates::{Garbling, Labels};
    use crate::parameters::Level;

    /// Both parties of a hash.
    pub(crate) struct Hash {
        pub sender: (Sender, Channel),
        pub receiver: (Receiver, Channel),
    }

    impl Hash {
        pub fn new(parameters: &Parameters, rng: &mut Rng) -> Self {
            let watch = Receiver::watch(parameters).unwrap();
            let pairs: Vec<[Seed; 2]> = (0..parameters.n()).map(|_| [rng.seed(), rng.seed()]).collect();
            let chosen = pairs.iter().zip(watch.choices()).map(|(pair, &bit)| pair[usize::from(bit)].clone());
            let chosen: Vec<Seed> = chosen.collect();
            let (mut left, mut right) = memory_pair();
            thread::scope(|scope| {
                let receiver = scope.spawn(move || {
                    (Receiver::set_up(&mut right, parameters, watch, &chosen, 40).unwrap(), right)
                });
                let sender = (Sender::set_up(&mut left, parameters, pairs, 40).unwrap(), left);
                Hash { sender, receiver: receiver.join().unwrap() }
            })
        }

        pub fn random(&mut self, count: usize) -> (Symbols, Hashes) {
            let Hash { sender: (sender, left), receiver: (receiver, right) } = self;
            thread::scope(|scope| {
                let hashes = scope.spawn(|| receiver.random(right, count).unwrap());
                (sender.random(left, count).unwrap(), hashes.join().unwrap())
            })
        }

        pub fn chosen(&mut self, words: &Symbols) -> Hashes {
            let (random, hashes) = self.random(words.count());
            let Hash { sender: (sender, left), receiver: (receiver, right) } = self;
            thread::scope(|scope| {
                let hashes = scope.spawn(|| receiver.chosen(right, hashes).unwrap());
                sender.chosen(left, random, words).unwrap();
                left.flush().unwrap();
                hashes.join().unwrap()
            })
        }
    }

    /// One bucket: two operands and an output, and gates that are soldered to them.
    struct Bucket {
        labels: Hash,
        permutations: Hash,
        point: Unsent,
        offset: Labels,
        hashed_offset: Hashes,
        garbling: Garbling,
        tables: Wide,
        /// Operands and output of the bucket, for each gate; and of the gates.
        slot: [(Wires, HashedWires); 3],
        gates: [(Wires, HashedWires); 3],
        solderings: [Solderings; 3],
        output: Hashes,
    }

    const GATES: usize = 3;

    fn bits(permutations: &Hash, point: &Unsent, wires: &Wires) -> Zeroizing<Vec<u8>> {
        permutation_bits(permutations.sender.0.code(), point, &wires.permutations)
    }

    /// `cheat` alters offset, tables and output labels of gates before these are hashed.
    fn bucket(cheat: impl Fn(&[u128], &mut Wide, &mut Wide)) -> Bucket {
        let (mut rng, level) = (Rng::replayable("test bucket"), Level::of(40).unwrap());
        let mut labels = Hash::new(&level.labels, &mut rng);
        let mut permutations = Hash::new(&level.permutations, &mut rng);
        let point = permutations.sender.0.code().drawn_evaluation(&rng.seed(), 1);
        let garbling = Garbling::new(Code::new(&level.labels), &rng.seed(), rng.block(), GATES);
        let (offset, hashed_offset) = loop {
            let (word, hash) = labels.random(1);
            let offset = garbling.compress(Wide::of(&word));
            if offset.short[0].colour() == 1 {
                break (offset, hash);
            }
        };
        let delta = offset.wide.label(0).to_vec();
        let mut random = |count: usize, labels: &mut Hash| {
            let ((words, hashes), (rho, hashed_rho)) = (labels.random(count), permutations.random(count));
            let wires = Wires { labels: Wide::of(&words), permutations: rho };
            (wires, HashedWires { labels: hashes, permutations: hashed_rho })
        };
        // One bucket: the same wire for each of its gates.
        let slot = [(); 3].map(|()| {
            let (wires, hashed) = random(1, &mut labels);
            let all = vec![0; GATES];
            let repeated = Wide::of(&wires.labels.words().select(&all));
            (
                Wires { labels: repeated, permutations: wires.permutations.select(&all) },
                HashedWires {
                    labels: hashed.labels.select(&all),
                    permutations: hashed.permutations.select(&all),
                },
            )
        });
        let [left, right, mut out] = [(); 3].map(|()| random(GATES, &mut labels));
        let false_labels = |wires: &Wires| {
            let mut labels = wires.labels.clone();
            let bits = permutation_bits(&Code::new(&level.permutations), &point, &wires.permutations);
            bits.iter().enumerate().for_each(|(k, &bit)| labels.add(k, &delta, bit));
            garbling.compress(labels)
        };
        let (mut outputs, mut tables) =
            garbling.garble(&offset, &false_labels(&left.0), &false_labels(&right.0));
        cheat(&delta, &mut tables, &mut outputs);
        for (k, &bit) in bits(&permutations, &point, &out.0).iter().enumerate() {
            outputs.add(k, &delta, bit);
        }
        out.1.labels = labels.chosen(&outputs.words());
        out.0.labels = outputs;
        let gates = [left, right, out];
        let solderings = std::array::from_fn(|side| {
            let (from, to) = (&slot[side].0, &gates[side].0);
            let sums: Vec<u8> = bits(&permutations, &point, from)
                .iter()
                .zip(&*bits(&permutations, &point, to))
                .map(|(a, b)| a ^ b)
                .collect();
            solder(from, to, &sums, &delta)
        });
        let output = slot[2].1.labels.select(&[0]);
        Bucket {
            labels,
            permutations,
            point,
            offset,
            hashed_offset,
            garbling,
            tables,
            slot,
            gates,
            solderings,
            output,
        }
    }

    impl Bucket {
        fn checks(&self) -> Checks<'_> {
            self.checks_of(&self.hashed_offset).unwrap()
        }

        fn checks_of<'a>(&'a self, offset: &'a Hashes) -> Result<Checks<'a>, Cheat> {
            Checks::new(&self.labels.receiver.0, &self.permutations.receiver.0, &self.point, offset)
        }

        fn check(&self, side: usize) -> Result<(), Cheat> {
            self.checks().solderings(&self.slot[side].1, &self.gates[side].1, &self.solderings[side])
        }

        /// The label of a bit of one of the bucket's wires.
        fn active(&self, side: usize, bit: u8) -> Wide {
            let wires = &self.slot[side].0;
            let flip = bits(&self.permutations, &self.point, wires)[0] ^ bit;
            let mut labels = wires.labels.clone();
            (0..GATES).for_each(|k| labels.add(k, self.offset.wide.label(0), flip));
            labels
        }

        fn translated(&self, mut labels: Wide, side: usize) -> Wide {
            (0..GATES).for_each(|k| labels.add(k, self.solderings[side].differences.label(k), 1));
            labels
        }

        /// What comes out of the bucket, and what is found of the offset.
        fn run(&self, a: u8, b: u8) -> (Result<Wide, Cheat>, Recovery) {
            let [l, r] = [(0, a), (1, b)]
                .map(|(side, bit)| self.garbling.compress(self.translated(self.active(side, bit), side)));
            let gates: Vec<u32> = (0..GATES as u32).collect();
            let results = self.translated(self.garbling.evaluate(&gates, &l, &r, &self.tables), 2);
            let mut recovery = Recovery::new(results.blocks());
            (self.checks().judge(&self.output, GATES, &results, &mut recovery), recovery)
        }

        fn gives(&self, a: u8, b: u8, bit: u8) -> bool {
            let (labels, _) = self.run(a, b);
            labels.unwrap().is(0, self.active(2, bit).label(0)).into()
        }
    }

    const ROWS: [(u8, u8); 4] = [(0, 0), (0, 1), (1, 0), (1, 1)];

    #[test]
    fn a_bucket_computes_and() {
        let bucket = bucket(|_, _, _| {});
        (0..3).for_each(|side| bucket.check(side).unwrap());
        for (a, b) in ROWS {
            assert!(bucket.gives(a, b, a & b));
            assert!(!bool::from(bucket.run(a, b).1.is_known()));
        }
    }

    /// Gates whose tables are rubbish, all but one.
    #[test]
    fn row_05_one_good_gate_is_enough() {
        let bucket = bucket(|_, tables, _| (0..4).for_each(|k| tables.label_mut(k)[0] ^= 1 << 77));
        (0..3).for_each(|side| bucket.check(side).unwrap());
        for (a, b) in ROWS {
            assert!(bucket.gives(a, b, a & b));
        }
    }

    /// A gate that gives the other label on two rows: there the evaluator has both, and so the offset.
    #[test]
    fn row_14_two_valid_results_are_the_offset() {
        let bucket = bucket(|delta, tables, _| tables.add(2, delta, 1));
        let mut recovered = 0;
        for (a, b) in ROWS {
            let (_, recovery) = bucket.run(a, b);
            let known = bool::from(recovery.is_known());
            recovered += u32::from(known);
            assert_eq!(recovery.offset() == bucket.offset.wide.label(0), known);
            assert!(known || bucket.gives(a, b, a & b));
        }
        assert_eq!(recovered, 2);
    }

    /// Repair (ii): no valid result is an error, not a label.
    #[test]
    fn row_05_a_bucket_without_a_valid_result_is_refused() {
        let bucket = bucket(|_, _, outputs| (0..GATES).for_each(|k| outputs.label_mut(k)[1] ^= 2));
        for (a, b) in ROWS {
            assert_eq!(bucket.run(a, b).0.map(|_| ()), Err(Cheat::EmptyBucket));
        }
    }

    #[test]
    fn row_06_an_offset_of_0_is_refused() {
        let mut bucket = bucket(|_, _, _| {});
        let zero = bucket.labels.chosen(&Symbols::zeros(48, 1));
        assert_eq!(bucket.checks_of(&zero).map(|_| ()), Err(Cheat::Offset));
        bucket.checks_of(&bucket.hashed_offset).map(|_| ()).unwrap();
    }

    #[test]
    fn row_10_a_wrong_soldering_is_refused() {
        let mut bucket = bucket(|_, _, _| {});
        for side in 0..3 {
            let delta = bucket.offset.wide.label(0).to_vec();
            // By the offset: the bit would be flipped.
            bucket.solderings[side].differences.add(1, &delta, 1);
            assert_eq!(bucket.check(side), Err(Cheat::Soldering));
            bucket.solderings[side].differences.add(1, &delta, 1);
            bucket.check(side).unwrap();
            // That of another wire, and its permutation message: right, but not here.
            let order = [1, 0, 2];
            let opened = &bucket.solderings[side];
            let (words, rho) =
                (opened.differences.words().select(&order), opened.permutations.select(&order));
            let before = std::mem::replace(
                &mut bucket.solderings[side],
                Solderings { permutations: rho, differences: Wide::of(&words) },
            );
            assert_eq!(bucket.check(side), Err(Cheat::Permutation));
            bucket.solderings[side] = before;
            // Another permutation message, with the other bit, and the difference that goes with it.
            let other = bucket.permutations.random(GATES).0;
            bucket.solderings[side].permutations.add(&other);
            assert_eq!(bucket.check(side), Err(Cheat::Permutation));
        }
    }

    /// An opened gate is evaluated on labels of random bits (section 5.1, step 4): what is wrong in two rows
    /// is found with probability 1/2.
    #[test]
    fn row_05_an_opened_gate_shows_what_is_wrong_in_its_row() {
        let bucket = bucket(|delta, tables, _| tables.add(2, delta, 1));
        let gates = [0_u32, 1, 2];
        let mut refused = 0;
        for (a, b) in ROWS {
            let [l, r, expected] = [(0, a), (1, b), (2, a & b)]
                .map(|(side, bit)| bucket.translated(bucket.active(side, bit), side));
            let (l, r) = (bucket.garbling.compress(l), bucket.garbling.compress(r));
            let end = bucket.garbling.check(&gates, &l, &r, &bucket.tables, &expected);
            refused += u32::from(end == Err(Cheat::OpenedGate));
        }
        assert_eq!(refused, 2);
    }
}
