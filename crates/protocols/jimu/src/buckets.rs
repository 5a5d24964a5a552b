//! Solderings, and the selection of a bucket's result (section 5.1, step 3, repaired).
//!
//! A wire is a hashed label m and a hashed permutation message ρ. The value of ρ at a point that is never
//! sent has the permutation bit p as its lowest bit. m is the label of bit p, and `m ⊕ pΔ` is the label of 0.
//! To solder wire i to wire j, which has the offset Δ_j, the garbler opens
//!
//! ```text
//!   ρ_i ⊕ ρ_j, and so p = p_i ⊕ p_j           δ = m_i ⊕ m_j ⊕ p·Δ_j
//! ```
//!
//! and, if wire i has another offset Δ_i, also `S = Δ_i ⊕ Δ_j` (figure 6). The evaluator adds the hashes
//! itself. Let κ = 0 if w is m_i, and κ = 1 if it is the other label. Then `w ⊕ δ ⊕ κ·S` is the label of wire
//! j with the same bit, and it is m_j if κ ⊕ p is 0. This reveals only p, δ and S, because ρ_i ⊕ ρ_j is as
//! random as ρ_j.
//!
//! Each copy of a bucket is evaluated on labels that are converted to *its own* labels (the paper uses the
//! bucket's), and its result is converted back. An output is *valid* if it is the hashed label of its wire or
//! that label plus the wire's offset; a copy is valid if all its outputs are. One good copy is enough,
//! because it gives the right labels. A bad copy gives the same labels, invalid ones, or other valid ones. In
//! the last case, two labels of a wire are known, and their sum is Δ. A bucket without a valid result is an
//! error (the paper leaves this undefined).
//!
//! The evaluator must behave the same whether or not Δ was found, because this depends on its input. So
//! [`Judging::judge`] performs the same steps in both cases.

use brickwork_base::stop::looking;
use brickwork_primitives::ihash::{Hashes, Receiver, SeenWords, Sight, SymbolCode, Unsent, Words};
use subtle::{Choice, ConditionallySelectable, ConstantTimeEq};
use zeroize::Zeroizing;

use crate::cheat::Cheat;
use crate::gates::{OF_BLOCKS, VALUES, mask};

/// Labels with their permutation messages, wire by wire, at the garbler.
pub struct PermutedLabels {
    /// m: the hashed labels.
    pub labels: Words,
    /// ρ: the permutation messages.
    pub permutations: Words,
}

/// Hashes of labels and of their permutation messages, wire by wire, at the evaluator.
pub struct HashedWires {
    /// The hashes of the labels.
    pub labels: Hashes,
    /// The hashes of the permutation messages.
    pub permutations: Hashes,
}

impl HashedWires {
    /// Appends the hashes of other wires.
    pub fn append(&mut self, others: &HashedWires) {
        self.labels.append(&others.labels);
        self.permutations.append(&others.permutations);
    }

    /// Returns the hashes of the wires with these numbers, in this order.
    pub fn select(&self, numbers: impl ExactSizeIterator<Item = usize> + Clone) -> Self {
        HashedWires {
            labels: self.labels.select(numbers.clone()),
            permutations: self.permutations.select(numbers),
        }
    }
}

/// Returns the permutation bits of permutation messages, or of their sums, at a point that is never sent.
pub fn permutation_bits(code: &SymbolCode, point: &Unsent, permutations: &Words) -> Zeroizing<Vec<u8>> {
    lowest_bits(&code.at(point, permutations))
}

/// Returns the lowest bit of the first symbol of each word: the permutation bits of opened permutation
/// messages.
pub fn lowest_bits(values: &Words) -> Zeroizing<Vec<u8>> {
    Zeroizing::new(looking(0..values.count()).map(|k| values.symbols_of(k)[0] & 1).collect())
}

/// For each label, whether it is one of the two labels of its wire, as 0 or 1.
pub struct LabelBits {
    /// 1 if it is the hashed label m.
    pub same: Zeroizing<Vec<u8>>,
    /// 1 if it is m plus the offset.
    pub other: Zeroizing<Vec<u8>>,
}

/// Checks labels by their hashes.
pub struct Checks<'a> {
    labels: &'a Receiver,
    offset: &'a Hashes,
}

impl<'a> Checks<'a> {
    /// Makes a checker. `offset` is the hash of Δ.
    ///
    /// # Errors
    /// [`Cheat::Offset`] if `offset` is the hash of 0. Then every label would stand for both bits, and every
    /// gate would seem correct.
    pub fn new(labels: &'a Receiver, offset: &'a Hashes) -> Result<Self, Cheat> {
        let checks = Checks { labels, offset };
        checks.offsets(offset)?;
        Ok(checks)
    }

    /// Checks that no offset is 0.
    ///
    /// # Errors
    /// [`Cheat::Offset`] if an offset is 0.
    pub fn offsets(&self, offsets: &Hashes) -> Result<(), Cheat> {
        match offsets.is(None).iter().all(|&differs| differs == 1) {
            true => Ok(()),
            false => Err(Cheat::Offset),
        }
    }

    /// Checks labels of wires: each must be the hashed label, or that label plus Δ if its bit is 1.
    ///
    /// # Errors
    /// [`Cheat::Label`] if a label is wrong.
    ///
    /// # Panics
    /// If the numbers of labels, hashes and bits differ.
    pub fn active(&self, hashed: &Hashes, bits: &[u8], labels: &Words) -> Result<(), Cheat> {
        let mut hashed = hashed.clone();
        hashed.add_where(self.offset, bits);
        match any(&self.labels.differences(&hashed, labels)) {
            true => Err(Cheat::Label),
            false => Ok(()),
        }
    }

    /// Does the same as [`Checks::active`] with labels in the form of [`Sight`].
    ///
    /// # Errors
    /// [`Cheat::Label`] if a label is wrong.
    ///
    /// # Panics
    /// If the numbers of labels, hashes and bits differ.
    pub fn active_seen(
        &self,
        sight: &Sight,
        hashed: &Hashes,
        bits: &[u8],
        labels: &SeenWords,
    ) -> Result<(), Cheat> {
        let mut hashed = hashed.clone();
        hashed.add_where(self.offset, bits);
        let (hashed, watched) = (sight.hashes(&hashed), sight.watched());
        let words = labels.data().iter().zip(hashed.data()).zip(watched.iter().cycle());
        let rest = words.fold(0, |all, ((label, hash), watched)| all | ((label ^ hash) & watched));
        assert_eq!(labels.count(), hashed.count(), "each label must have a hash");
        match bool::from(rest.ct_eq(&0)) {
            true => Ok(()),
            false => Err(Cheat::Label),
        }
    }

    /// Returns for each label whether it is the hashed label of its wire, and whether it is that label plus
    /// the wire's offset. The lists `hashed` and `offsets` have a hash for each label. Without `offsets`, the
    /// offset is Δ. Takes constant time.
    ///
    /// # Panics
    /// If the numbers differ.
    pub fn kinds(&self, hashed: &Hashes, offsets: Option<&Hashes>, labels: &Words) -> LabelBits {
        let mut rest = self.labels.hashes(labels);
        rest.add(hashed);
        let equal = |mut differs: Zeroizing<Vec<u8>>| {
            differs.iter_mut().for_each(|differs| *differs ^= 1);
            differs
        };
        let same = equal(rest.is(None));
        let other = match offsets {
            None => equal(rest.is(Some(self.offset))),
            Some(offsets) => {
                rest.add(offsets);
                equal(rest.is(None))
            }
        };
        LabelBits { same, other }
    }

    /// Returns the data for checking results in the form of `sight`.
    pub fn judging(&self, sight: &Sight) -> Judging {
        Judging { delta: Zeroizing::new(sight.hashes(self.offset).data().to_vec()), watched: sight.watched() }
    }
}

/// The data for checking results of gates, as labels in the form of [`Sight`] with the offset Δ.
pub struct Judging {
    /// The hash of Δ, at the positions of hashes in a label.
    delta: Zeroizing<Vec<u128>>,
    /// All ones at the positions of hashes, and zeros elsewhere.
    watched: Vec<u128>,
}

impl Judging {
    /// Selects the results of buckets of gates, `results[slot][gate]`, with `bucket` gates for each slot.
    /// Each result is converted to a label of the slot's output. `heads(slot)` returns the hash of this
    /// label, at its positions. If two results give Δ, the value that opens it goes to `recovery`. `each`
    /// gets the label of each slot, and 1 if it is not the hashed label. Takes constant time.
    ///
    /// # Errors
    /// [`Cheat::EmptyBucket`] if a bucket has no valid result.
    ///
    /// # Panics
    /// If the numbers differ, or labels do not have two to four blocks.
    pub fn judge<'h>(
        &self,
        bucket: usize,
        results: &[u128],
        heads: impl Fn(usize) -> &'h [u128],
        recovery: &mut DeltaKnowledge,
        each: impl FnMut(usize, &[u128], u8),
    ) -> Result<(), Cheat> {
        match self.delta.len() {
            2 => self.judge_of::<2>(bucket, results, heads, recovery, each),
            3 => self.judge_of::<3>(bucket, results, heads, recovery, each),
            4 => self.judge_of::<4>(bucket, results, heads, recovery, each),
            _ => panic!("{OF_BLOCKS}"),
        }
    }

    fn judge_of<'h, const N: usize>(
        &self,
        bucket: usize,
        results: &[u128],
        heads: impl Fn(usize) -> &'h [u128],
        recovery: &mut DeltaKnowledge,
        mut each: impl FnMut(usize, &[u128], u8),
    ) -> Result<(), Cheat> {
        let of_word = |word: &[u128]| *word.first_chunk::<N>().expect("a label has N blocks");
        let (delta, watched) = (of_word(&self.delta), of_word(&self.watched));
        let (mut two, mut values) = (Zeroizing::new([[0; N]; 2]), Zeroizing::new([[0; N]; 2]));
        let mut label = Zeroizing::new([0; N]);
        let mut empty = Choice::from(0);
        let (results, rest) = results.as_chunks::<N>();
        let buckets = results.chunks_exact(bucket);
        assert!(rest.is_empty() && buckets.remainder().is_empty(), "each gate must have a result");
        for (slot, results) in looking(buckets.enumerate()) {
            let head = of_word(heads(slot));
            // The first valid result of each sort: m and m ⊕ Δ.
            *two = [[0; N]; 2];
            let mut found = [Choice::from(0); 2];
            for result in results {
                let (mut same, mut other) = (0, 0);
                for block in 0..N {
                    let rest = (result[block] ^ head[block]) & watched[block];
                    same |= rest;
                    other |= rest ^ delta[block];
                }
                for (kind, differs) in [same, other].iter().enumerate() {
                    let first = differs.ct_eq(&0) & !found[kind];
                    let mask = mask(first.unwrap_u8());
                    (0..N).for_each(|block| two[kind][block] ^= result[block] & mask);
                    found[kind] |= first;
                }
            }
            empty |= !found[0] & !found[1];
            for (values, label) in values.iter_mut().zip(&*two) {
                (0..N).for_each(|block| values[block] = label[block] & !watched[block]);
            }
            recovery.offer(&values[0], &values[1], found[0] & found[1]);
            let kind = (!found[0]).unwrap_u8();
            let other = mask(kind);
            (0..N).for_each(|block| label[block] = two[0][block] ^ (two[1][block] & other));
            each(slot, &*label, kind);
        }
        if bool::from(empty) { Err(Cheat::EmptyBucket) } else { Ok(()) }
    }
}

/// The results of copies of a component, converted to labels of the slots' outputs, `[copy][output]`.
pub struct Translated {
    /// For each copy, 1 if all its outputs are valid.
    valid: Vec<u8>,
    /// The labels, given by their values at the opening points, with the compressions first.
    values: Zeroizing<Vec<[u128; VALUES]>>,
    kinds: Zeroizing<Vec<u8>>,
}

impl Translated {
    /// Converts the results of the copies at these places. Each copy has this many outputs. The kinds `found`
    /// tell which of the two labels a result is, and `label` returns the values that open it. `soldering`
    /// returns, for each output, δ, the sum of permutation bits, and S. Takes constant time.
    pub fn of(
        found: &LabelBits,
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
            let mask = mask(found.other[k]);
            let label = label(k);
            for block in 0..VALUES {
                labels[k][block] = label[block] ^ difference[block] ^ (offset[block] & mask);
            }
            kinds[k] = found.other[k] ^ bit;
        }
        Translated { valid, values: labels, kinds }
    }

    /// Selects for each output of each slot the label of a valid copy, with `bucket` copies per slot. If
    /// valid copies differ, the sum of their labels goes to `recovery`. `each` gets the slot, the output, the
    /// compressed label, and 1 if it is not the hashed label. Takes constant time.
    ///
    /// # Errors
    /// [`Cheat::EmptyBucket`] if a bucket has no valid copy.
    pub fn judge(
        &self,
        (bucket, wires): (usize, usize),
        recovery: &mut DeltaKnowledge,
        mut each: impl FnMut(usize, usize, u128, u8),
    ) -> Result<(), Cheat> {
        let mut empty = Choice::from(0);
        for slot in looking(0..self.valid.len() / bucket) {
            for output in 0..wires {
                let mut two = Zeroizing::new([[0_u128; VALUES]; 2]);
                let mut found = [Choice::from(0); 2];
                for copy in slot * bucket..(slot + 1) * bucket {
                    let k = copy * wires + output;
                    for kind in 0..2_u8 {
                        let is = Choice::from(self.valid[copy]) & self.kinds[k].ct_eq(&kind);
                        let first = is & !found[usize::from(kind)];
                        let mask = mask(first.unwrap_u8());
                        let sums = two[usize::from(kind)].iter_mut().zip(&self.values[k]);
                        sums.for_each(|(sum, value)| *sum ^= value & mask);
                        found[usize::from(kind)] |= first;
                    }
                }
                empty |= !found[0] & !found[1];
                let kind = (!found[0]).unwrap_u8();
                each(slot, output, two[0][0] ^ (two[1][0] & mask(kind)), kind);
                recovery.offer(&two[0], &two[1], found[0] & found[1]);
            }
        }
        if bool::from(empty) { Err(Cheat::EmptyBucket) } else { Ok(()) }
    }
}

/// The evaluator's knowledge of Δ: Δ itself, or the value that opens it.
pub struct DeltaKnowledge {
    known: Choice,
    offset: Words,
}

impl DeltaKnowledge {
    /// Returns a state without knowledge, for an offset of this many symbols.
    pub fn new(symbols: usize) -> Self {
        DeltaKnowledge { known: Choice::from(0), offset: Words::zeros(symbols, 1) }
    }

    /// Returns whether Δ is known. The garbler must not notice this.
    pub fn is_known(&self) -> Choice {
        self.known
    }

    /// Returns Δ, or zeros if it is unknown.
    pub fn offset(&self) -> &Words {
        &self.offset
    }

    /// Applies a linear map to Δ, if it is known, and returns the result.
    pub fn map(&self, of: impl FnOnce(&Words) -> Words) -> Self {
        DeltaKnowledge { known: self.known, offset: of(&self.offset) }
    }

    /// Takes Δ from the two labels of a wire, if `both` is set and Δ is not known yet. Blocks after those of
    /// the offset are ignored.
    ///
    /// # Panics
    /// If a label has fewer blocks than the offset.
    pub fn offer(&mut self, one: &[u128], other: &[u128], both: Choice) {
        let new = mask((both & !self.known).unwrap_u8());
        for (sum, (one, other)) in self.offset.word_mut(0).iter_mut().zip(one.iter().zip(other)) {
            *sum ^= (one ^ other) & new;
        }
        self.known = Choice::conditional_select(&self.known, &Choice::from(1), both);
    }
}

/// Returns whether any of the values is not 0.
pub(crate) fn any(differ: &[u8]) -> bool {
    !bool::from(differ.iter().fold(0, |all, differ| all | differ).ct_eq(&0))
}

#[cfg(test)]
pub(crate) mod tests {
    use brickwork_testing::Replayable as _;
    use std::thread;

    use brickwork_base::random::{Rng, Seed};
    use brickwork_primitives::ihash::{self, HashParameters, Sender};
    use brickwork_wire::{Channel, memory_pair};

    use super::*;
    use crate::parameters::HashLevel;

    /// Both parties of an interactive hash.
    pub(crate) struct Hash {
        pub sender: (Sender, Channel),
        pub receiver: (Receiver, Channel),
    }

    impl Hash {
        pub fn new(parameters: &HashParameters, rng: &mut Rng) -> Self {
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

        /// Returns random words, and their hashes.
        pub fn random(&mut self, count: usize) -> (Words, Hashes) {
            let Hash { sender: (sender, left), receiver: (receiver, right) } = self;
            thread::scope(|scope| {
                let hashes = scope.spawn(|| {
                    let (words, masks) =
                        (receiver.random(right, count).unwrap(), receiver.masks(right).unwrap());
                    let seed = ihash::ask(right).unwrap();
                    receiver.verify(right, &seed, vec![words], masks).unwrap().remove(0)
                });
                let (words, masks) = (sender.random(left, count).unwrap(), sender.masks(left).unwrap());
                let seed = ihash::asked(left).unwrap();
                sender.prove(left, &seed, &[&words], masks).unwrap();
                left.flush().unwrap();
                (words, hashes.join().unwrap())
            })
        }

        /// Returns the hashes of these words.
        pub fn chosen(&mut self, words: &Words) -> Hashes {
            let (mut random, mut hashes) = self.random(words.count());
            let Hash { sender: (sender, left), receiver: (receiver, right) } = self;
            random.add(words);
            thread::scope(|scope| {
                let differences = scope.spawn(|| receiver.chosen(right, words.count()).unwrap());
                sender.chosen(left, &random).unwrap();
                left.flush().unwrap();
                let differences = differences.join().unwrap();
                hashes.add(&receiver.hashes(&differences));
            });
            hashes
        }
    }

    /// The hash of labels, Δ and an output, each with its hash.
    struct Outputs {
        labels: Hash,
        delta: (Words, Hashes),
        output: (Words, Hashes),
    }

    fn outputs() -> (Outputs, Rng) {
        let mut rng = Rng::replayable("test buckets");
        let mut labels = Hash::new(&HashLevel::of(40).unwrap().labels, &mut rng);
        let (delta, output) = (labels.random(1), labels.random(1));
        (Outputs { labels, delta, output }, rng)
    }

    /// The result that a gate gives in a test.
    #[derive(Clone, Copy)]
    enum Gives {
        Same,
        Other,
        Rubbish,
    }

    impl Outputs {
        fn checks(&self) -> Checks<'_> {
            Checks::new(&self.labels.receiver.0, &self.delta.1).unwrap()
        }

        fn judge(&self, gates: &[Gives], rng: &mut Rng) -> (Result<(Words, u8), Cheat>, DeltaKnowledge) {
            let mut results = Words::zeros(48, gates.len());
            for (k, gives) in gates.iter().enumerate() {
                match gives {
                    Gives::Rubbish => rng.fill(results.symbols_mut(k)),
                    _ => results.add_to(k, self.output.0.word(0), 1),
                }
                results.add_to(k, self.delta.0.word(0), u8::from(matches!(gives, Gives::Other)));
            }
            let receiver = &self.labels.receiver.0;
            let points = receiver.code().unsent();
            let points = receiver.code().evaluation(&points[..17]);
            let (sight, completion) = (receiver.sight(&points), receiver.completion(&points));
            let mut recovery = DeltaKnowledge::new(points.count());
            let head = sight.hashes(&self.output.1);
            let (mut label, mut kind) = (Words::zeros(48, 1), 0);
            let judged = self.checks().judging(&sight).judge(
                gates.len(),
                sight.of(&results).data(),
                |_| head.word(0),
                &mut recovery,
                |_, seen, of_label| {
                    label.word_mut(0).copy_from_slice(seen);
                    kind = of_label;
                },
            );
            // Returns a label in the form of [`Sight`].
            let of_words = Words::join(&[&results, &self.delta.0]);
            let all = sight.of(&of_words);
            let place = (0..gates.len()).find(|&k| all.word(k) == label.word(0));
            let recovery = recovery.map(|values| completion.words(&self.delta.1, values));
            (judged.map(|()| (of_words.select([place.unwrap()].into_iter()), kind)), recovery)
        }
    }

    #[test]
    fn row_05_one_good_gate_is_enough() {
        use Gives::*;
        let (outputs, mut rng) = outputs();
        for gates in [[Same, Same, Same], [Rubbish, Same, Rubbish], [Rubbish, Rubbish, Same]] {
            let (judged, recovery) = outputs.judge(&gates, &mut rng);
            let (label, kind) = judged.unwrap();
            assert!(bool::from(label.is(0, outputs.output.0.word(0))) && kind == 0);
            assert!(!bool::from(recovery.is_known()));
        }
        let (judged, recovery) = outputs.judge(&[Other, Rubbish, Other], &mut rng);
        let (label, kind) = judged.unwrap();
        let mut other = outputs.output.0.clone();
        other.add(&outputs.delta.0);
        assert!(bool::from(label.is(0, other.word(0))) && kind == 1 && !bool::from(recovery.is_known()));
    }

    #[test]
    fn row_14_two_valid_results_are_the_offset() {
        use Gives::*;
        let (outputs, mut rng) = outputs();
        for gates in [[Same, Other, Rubbish], [Rubbish, Other, Same], [Other, Same, Same]] {
            let (judged, recovery) = outputs.judge(&gates, &mut rng);
            assert!(judged.is_ok() && bool::from(recovery.is_known()));
            assert!(bool::from(recovery.offset().is(0, outputs.delta.0.word(0))));
        }
    }

    /// Repair (ii): a bucket without a valid result causes an error, and returns no label.
    #[test]
    fn row_05_a_bucket_without_a_valid_result_is_refused() {
        let (outputs, mut rng) = outputs();
        let (judged, recovery) = outputs.judge(&[Gives::Rubbish; 3], &mut rng);
        assert_eq!(judged.map(|_| ()), Err(Cheat::EmptyBucket));
        assert!(!bool::from(recovery.is_known()));
    }

    #[test]
    fn row_06_an_offset_of_0_is_refused() {
        let (mut outputs, _) = outputs();
        let zero = outputs.labels.chosen(&Words::zeros(48, 1));
        assert_eq!(Checks::new(&outputs.labels.receiver.0, &zero).map(|_| ()), Err(Cheat::Offset));
        let all = Hashes::join(&[&outputs.delta.1, &zero]);
        assert_eq!(outputs.checks().offsets(&all), Err(Cheat::Offset));
        outputs.checks().offsets(&outputs.delta.1).unwrap();
    }

    #[test]
    fn row_13_a_label_is_that_of_its_bit() {
        let (outputs, _) = outputs();
        let (label, hash) = &outputs.output;
        let mut other = label.clone();
        other.add(&outputs.delta.0);
        let checks = outputs.checks();
        for (label, right) in [(label, 0), (&other, 1)] {
            checks.active(hash, &[right], label).unwrap();
            assert_eq!(checks.active(hash, &[1 ^ right], label), Err(Cheat::Label));
        }
        assert_eq!(checks.active(hash, &[0], &outputs.delta.0), Err(Cheat::Label));
    }
}
