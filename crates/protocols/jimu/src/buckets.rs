//! Solderings, and what comes out of a bucket (section 5.1, step 3, repaired).
//!
//! A wire is a hashed label m and a hashed permutation message ρ, whose value at a point that is never sent
//! has the permutation bit p as its lowest bit: m is the label of p, and `m ⊕ pΔ` that of 0. To solder wire i
//! to wire j, which has the offset Δ_j, the garbler opens
//!
//! ```text
//!   ρ_i ⊕ ρ_j, and so p = p_i ⊕ p_j           δ = m_i ⊕ m_j ⊕ p·Δ_j
//! ```
//!
//! and, if wire i has another offset Δ_i, also `S = Δ_i ⊕ Δ_j` (figure 6). The evaluator adds the hashes up by
//! itself. With κ = 0 where w is m_i, κ = 1 where it is the other label, `w ⊕ δ ⊕ κ·S` is the label of wire j of
//! the same bit, and it is m_j if κ ⊕ p is 0. Nothing but p, δ and S is learnt: ρ_i ⊕ ρ_j is as random as ρ_j.
//!
//! A bucket's copies are each evaluated on *their own* translated labels (as printed: on the bucket's), and
//! what comes out is translated back. An output is *valid* if it is the hashed label of its wire or that plus
//! the wire's offset, a copy if all its outputs are. One good copy is enough: it gives the right labels, and a
//! bad one gives the same, none, or another one, and then two labels of a wire are known, whose sum is Δ. An
//! empty set is an error (as printed: undefined).
//!
//! Whether Δ came out depends on the evaluator's input, so it steers nothing: [`Checks::judge`] takes the
//! same steps with and without.

use brickwork_primitives::ihash::{Code, Hashes, Receiver, Unsent, Words};
use subtle::{Choice, ConditionallySelectable, ConstantTimeEq};
use zeroize::Zeroizing;

use crate::cheat::Cheat;

/// Labels with their permutation messages, wire by wire, at the garbler.
pub struct Wires {
    /// m: the hashed labels.
    pub labels: Words,
    /// ρ: the permutation messages.
    pub permutations: Words,
}

/// Hashes of labels and of their permutation messages, wire by wire, at the evaluator.
pub struct HashedWires {
    /// Of the labels.
    pub labels: Hashes,
    /// Of the permutation messages.
    pub permutations: Hashes,
}

impl HashedWires {
    /// Returns those with these numbers, in this order.
    pub fn select(&self, numbers: impl ExactSizeIterator<Item = usize> + Clone) -> Self {
        HashedWires {
            labels: self.labels.select(numbers.clone()),
            permutations: self.permutations.select(numbers),
        }
    }
}

/// Returns the permutation bits of permutation messages, or of their sums: `point` is one that is never sent.
pub fn permutation_bits(code: &Code, point: &Unsent, permutations: &Words) -> Zeroizing<Vec<u8>> {
    lowest_bits(&code.at(point, permutations))
}

/// Returns the lowest bit of the first symbol of each word: the permutation bits of what opens permutation
/// messages.
pub fn lowest_bits(values: &Words) -> Zeroizing<Vec<u8>> {
    Zeroizing::new((0..values.count()).map(|k| values.symbols_of(k)[0] & 1).collect())
}

/// Of labels whether each is one of the two hashed ones, 0 or 1.
pub struct Kinds {
    /// The hashed one, m.
    pub same: Zeroizing<Vec<u8>>,
    /// That plus the offset.
    pub other: Zeroizing<Vec<u8>>,
}

/// Who checks labels by hashes.
pub struct Checks<'a> {
    labels: &'a Receiver,
    offset: &'a Hashes,
}

impl<'a> Checks<'a> {
    /// Checks by the hashes of labels; `offset` is that of Δ.
    ///
    /// # Errors
    /// [`Cheat::Offset`] if it is that of 0: then every label would be of both bits, and every gate right.
    pub fn new(labels: &'a Receiver, offset: &'a Hashes) -> Result<Self, Cheat> {
        let checks = Checks { labels, offset };
        checks.offsets(offset)?;
        Ok(checks)
    }

    /// Checks that no offset is 0.
    ///
    /// # Errors
    /// [`Cheat::Offset`] if one is.
    pub fn offsets(&self, offsets: &Hashes) -> Result<(), Cheat> {
        match offsets.is(None).iter().all(|&differs| differs == 1) {
            true => Ok(()),
            false => Err(Cheat::Offset),
        }
    }

    /// Checks labels of wires: each must be the hashed one, or that plus Δ where its bit is 1.
    ///
    /// # Errors
    /// [`Cheat::Label`].
    ///
    /// # Panics
    /// If there are not as many of each.
    pub fn active(&self, hashed: &Hashes, bits: &[u8], labels: &Words) -> Result<(), Cheat> {
        let mut hashed = hashed.clone();
        hashed.add_where(self.offset, bits);
        match any(&self.labels.differences(&hashed, labels)) {
            true => Err(Cheat::Label),
            false => Ok(()),
        }
    }

    /// Returns of labels whether each is the hashed one of its wire or that plus the offset of its wire. `hashed`
    /// and `offsets` have a hash for each label; without `offsets` it is Δ. In constant time.
    ///
    /// # Panics
    /// If there are not as many.
    pub fn kinds(&self, hashed: &Hashes, offsets: Option<&Hashes>, labels: &Words) -> Kinds {
        let mut rest = self.labels.hashes(labels);
        rest.add(hashed);
        let equal =
            |differs: Zeroizing<Vec<u8>>| Zeroizing::new(differs.iter().map(|differs| 1 ^ differs).collect());
        let same = equal(rest.is(None));
        let other = match offsets {
            None => equal(rest.is(Some(self.offset))),
            Some(offsets) => {
                rest.add(offsets);
                equal(rest.is(None))
            }
        };
        Kinds { same, other }
    }

    /// Looks at what comes out of buckets of gates, `results[slot][gate]` with `bucket` gates a slot, translated
    /// to the slot's output, whose hashes are `outputs`. What is found of Δ goes to `recovery`. Returns the label
    /// of each slot, and 1 where it is not the hashed one.
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
        results: &Words,
        recovery: &mut Recovery,
    ) -> Result<(Words, Zeroizing<Vec<u8>>), Cheat> {
        let slots = outputs.count();
        assert_eq!(results.count(), slots * bucket, "a result of each gate");
        let Kinds { same, other } =
            self.kinds(&outputs.select((0..slots * bucket).map(|k| k / bucket)), None, results);
        let mut labels = Words::zeros(results.symbols(), slots);
        let mut kinds = Zeroizing::new(vec![0; slots]);
        let mut two = Words::zeros(results.symbols(), 2);
        let mut empty = Choice::from(0);
        for slot in 0..slots {
            // The first valid result of each kind: m, and m ⊕ Δ.
            two.data_mut().fill(0);
            let mut found = [Choice::from(0); 2];
            for k in slot * bucket..(slot + 1) * bucket {
                for (kind, valid) in [same[k], other[k]].into_iter().enumerate() {
                    let first = Choice::from(valid) & !found[kind];
                    two.add_to(kind, results.word(k), first.unwrap_u8());
                    found[kind] |= first;
                }
            }
            empty |= !found[0] & !found[1];
            labels.add_to(slot, two.word(0), 1);
            labels.add_to(slot, two.word(1), (!found[0]).unwrap_u8());
            kinds[slot] = (!found[0]).unwrap_u8();
            recovery.offer(two.word(0), two.word(1), found[0] & found[1]);
        }
        if bool::from(empty) { Err(Cheat::EmptyBucket) } else { Ok((labels, kinds)) }
    }
}

/// What an evaluator knows of Δ, or of its compression.
pub struct Recovery {
    known: Choice,
    offset: Words,
}

impl Recovery {
    /// Begins with nothing, of an offset of so many symbols.
    pub fn new(symbols: usize) -> Self {
        Recovery { known: Choice::from(0), offset: Words::zeros(symbols, 1) }
    }

    /// Returns whether it is known. It must steer nothing that the garbler could see.
    pub fn is_known(&self) -> Choice {
        self.known
    }

    /// Returns what is known of Δ, or zeros.
    pub fn offset(&self) -> &Words {
        &self.offset
    }

    /// Returns the same of what a map makes of Δ that is linear.
    pub fn map(&self, of: impl FnOnce(&Words) -> Words) -> Self {
        Recovery { known: self.known, offset: of(&self.offset) }
    }

    /// Takes the two labels of a wire, if they are: the first time that is so.
    ///
    /// # Panics
    /// If they have another number of blocks.
    pub fn offer(&mut self, one: &[u128], other: &[u128], both: Choice) {
        let new = (both & !self.known).unwrap_u8();
        self.offset.add_to(0, one, new);
        self.offset.add_to(0, other, new);
        self.known = Choice::conditional_select(&self.known, &Choice::from(1), both);
    }
}

/// Whether one of many differs.
pub(crate) fn any(differ: &[u8]) -> bool {
    !bool::from(differ.iter().fold(0, |all, differ| all | differ).ct_eq(&0))
}
