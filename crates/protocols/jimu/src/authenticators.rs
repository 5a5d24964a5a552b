//! Input authenticators: what tells an evaluator that knows Δ the permutation bit of a wire, and so the bit
//! of its label, and nobody else. They take the place of step 5b of the paper, which proves a random oracle
//! inside a garbled circuit.
//!
//! Authenticator a has an offset Δ_a of its own, and a permutation message that follows from it, `ρ_a =
//! H(Δ_a, a)`; both are hashed. Of opened ones the garbler shows Δ_a. The others are joined to wires, of
//! which it opens
//!
//! ```text
//!   ρ ⊕ ρ_a, and so p ⊕ p_a          S = Δ ⊕ Δ_a
//! ```
//!
//! Without Δ that tells nothing of p. With it, `Δ_a = Δ ⊕ S` gives ρ_a, p_a and p, and a label of the wire,
//! which is the hashed one or that plus Δ, has the bit p or the other. An authenticator is *good* if `H(Δ_a,
//! a)` is the permutation message that was hashed. Whoever knows Δ sees which are, so a bucket needs one good
//! one (`parameters::COMPONENTS`), and no majority. It needs no label either: a label that followed from Δ_a
//! would leave p_a to the garbler's word.

use brickwork_primitives::ihash::{Code, Hashes, Receiver, Symbols, Unsent};
use subtle::{Choice, ConditionallySelectable, ConstantTimeEq};
use zeroize::{Zeroize, Zeroizing};

use crate::buckets::permutation_bits;
use crate::cheat::Cheat;
use crate::gates::Wide;

/// Authenticators at the evaluator.
pub struct Hashed {
    /// Of permutation messages.
    pub permutations: Hashes,
    /// Of offsets.
    pub offsets: Hashes,
}

/// What is opened to join wires to authenticators, one each.
pub struct Joined {
    /// ρ ⊕ ρ_a.
    pub permutations: Symbols,
    /// S.
    pub offsets: Wide,
}

/// Returns the permutation messages of the authenticators of a session with these numbers and offsets.
///
/// # Panics
/// If there are not as many.
pub fn permutations(session: &[u8; 32], code: &Code, numbers: &[u64], offsets: &Wide) -> Symbols {
    assert_eq!(numbers.len(), offsets.count(), "an offset for each");
    let mask = code.field().mask();
    let word = |(k, number): (usize, &u64)| {
        let mut hasher = blake3::Hasher::new_derive_key("brickwork 2026-11 JIMU input authenticator");
        hasher.update(session).update(&number.to_le_bytes());
        hasher.update(bytemuck::cast_slice(offsets.label(k)));
        let mut word = Zeroizing::new(vec![0; code.parameters().l()]);
        hasher.finalize_xof().fill(&mut word);
        hasher.zeroize();
        word.iter_mut().for_each(|symbol| *symbol &= mask);
        word
    };
    let words: Vec<Zeroizing<Vec<u8>>> = numbers.iter().enumerate().map(word).collect();
    Symbols::of_words(code.parameters().l(), words.iter().map(|word| &word[..]))
}

/// Who checks authenticators.
pub struct Checks<'a> {
    /// The session, by which their messages differ from those of any other.
    pub session: &'a [u8; 32],
    /// The hash of labels and offsets.
    pub labels: &'a Receiver,
    /// That of permutation messages.
    pub permutations: &'a Receiver,
    /// Where these have their bit.
    pub point: &'a Unsent,
}

impl Checks<'_> {
    /// Checks opened authenticators with these numbers: `offsets` are their Δ_a.
    ///
    /// # Errors
    /// [`Cheat::Authenticator`] if one is not what it must be.
    ///
    /// # Panics
    /// If there are not as many.
    pub fn opened(&self, numbers: &[u64], hashed: &Hashed, offsets: &Wide) -> Result<(), Cheat> {
        let follow = permutations(self.session, self.permutations.code(), numbers, offsets);
        let differ = [
            self.labels.differences(&hashed.offsets, &offsets.words()),
            self.permutations.differences(&hashed.permutations, &follow),
        ];
        if differ.iter().any(|differ| any(differ)) { Err(Cheat::Authenticator) } else { Ok(()) }
    }

    /// Checks what joins wires, with these hashes of their permutation messages, to authenticators; `offset`
    /// is the hash of Δ.
    ///
    /// # Errors
    /// [`Cheat::Permutation`], [`Cheat::Soldering`].
    ///
    /// # Panics
    /// If there are not as many of each.
    pub fn joined(
        &self,
        wires: &Hashes,
        offset: &Hashes,
        hashed: &Hashed,
        joined: &Joined,
    ) -> Result<(), Cheat> {
        let mut sums = wires.clone();
        sums.add(&hashed.permutations);
        if any(&self.permutations.differences(&sums, &joined.permutations)) {
            return Err(Cheat::Permutation);
        }
        let mut sums = hashed.offsets.clone();
        sums.add_where(offset, &vec![1; joined.offsets.count()]);
        if any(&self.labels.differences(&sums, &joined.offsets.words())) {
            return Err(Cheat::Soldering);
        }
        Ok(())
    }

    /// Reads the permutation bits of wires with Δ, each by the first good one of its `bucket` authenticators,
    /// which have these numbers, wire after wire. Takes the same steps with anything in the place of Δ, and
    /// gives 0 where none is good.
    ///
    /// # Panics
    /// If there are not as many of each.
    pub fn read(
        &self,
        numbers: &[u64],
        bucket: usize,
        hashed: &Hashed,
        joined: &Joined,
        offset: &[u128],
    ) -> Zeroizing<Vec<u8>> {
        let mut own = joined.offsets.clone();
        (0..numbers.len()).for_each(|k| own.add(k, offset, 1));
        let code = self.permutations.code();
        let follow = permutations(self.session, code, numbers, &own);
        let differ = self.permutations.differences(&hashed.permutations, &follow);
        let mut wires = follow;
        wires.add(&joined.permutations);
        let bits = permutation_bits(code, self.point, &wires);
        let first_good = |(differ, bits): (&[u8], &[u8])| {
            let (mut bit, mut found) = (0, Choice::from(0));
            for (differ, here) in differ.iter().zip(bits) {
                let good = differ.ct_eq(&0);
                bit = u8::conditional_select(&bit, here, good & !found);
                found |= good;
            }
            bit
        };
        let wires = differ.chunks_exact(bucket).zip(bits.chunks_exact(bucket));
        Zeroizing::new(wires.map(first_good).collect())
    }
}

/// Whether one of many differs.
fn any(differ: &[u8]) -> bool {
    differ.iter().fold(0, |all, differ| all | differ) != 0
}

#[cfg(test)]
mod tests {
    use brickwork_base::random::Rng;
    use brickwork_testing::Replayable as _;

    use super::*;
    use crate::buckets::tests::Hash;
    use crate::parameters::Level;

    const SESSION: [u8; 32] = [7; 32];
    const COUNT: usize = 24;

    /// Wires and as many authenticators.
    struct Ends {
        labels: Hash,
        permutations: Hash,
        point: Unsent,
        offset: (Wide, Hashes),
        wires: (Symbols, Hashes),
        own: Wide,
        messages: Symbols,
        hashed: Hashed,
    }

    /// Those of which `bad` says so have another message than the one that follows.
    fn ends(bad: impl Fn(usize) -> bool) -> Ends {
        let (mut rng, level) = (Rng::replayable("test authenticators"), Level::of(40).unwrap());
        let mut labels = Hash::new(&level.labels, &mut rng);
        let mut hash = Hash::new(&level.permutations, &mut rng);
        let point = hash.sender.0.code().drawn_evaluation(&rng.seed(), 1);
        let (offset, hashed_offset) = labels.random(1);
        let (own, offsets) = labels.random(COUNT);
        let own = Wide::of(&own);
        let wires = hash.random(COUNT);
        let follow = permutations(&SESSION, hash.sender.0.code(), &numbers(), &own);
        let words: Vec<_> = (0..COUNT)
            .map(|k| {
                let mut word = follow.word(k);
                word.iter_mut().for_each(|symbol| *symbol ^= u8::from(bad(k)));
                word
            })
            .collect();
        let messages = Symbols::of_words(follow.rows(), words.iter().map(|word| &word[..]));
        let hashed = Hashed { permutations: hash.chosen(&messages), offsets };
        let offset = (Wide::of(&offset), hashed_offset);
        Ends { labels, permutations: hash, point, offset, wires, own, messages, hashed }
    }

    impl Ends {
        fn checks(&self) -> Checks<'_> {
            Checks {
                session: &SESSION,
                labels: &self.labels.receiver.0,
                permutations: &self.permutations.receiver.0,
                point: &self.point,
            }
        }

        fn bits(&self) -> Zeroizing<Vec<u8>> {
            permutation_bits(self.permutations.sender.0.code(), &self.point, &self.wires.0)
        }

        /// Joins these wires to these authenticators.
        fn join(&self, wires: &[usize], to: &[usize]) -> (Vec<u64>, Hashed, Joined) {
            let mut permutations = self.wires.0.select(wires);
            permutations.add(&self.messages.select(to));
            let mut offsets = Wide::of(&self.own.words().select(to));
            (0..to.len()).for_each(|k| offsets.add(k, self.offset.0.label(0), 1));
            let hashed = Hashed {
                permutations: self.hashed.permutations.select(to),
                offsets: self.hashed.offsets.select(to),
            };
            (to.iter().map(|&k| k as u64).collect(), hashed, Joined { permutations, offsets })
        }
    }

    fn numbers() -> Vec<u64> {
        (0..COUNT as u64).collect()
    }

    #[test]
    fn who_knows_the_offset_reads_permutation_bits() {
        let ends = ends(|_| false);
        let checks = ends.checks();
        checks.opened(&numbers(), &ends.hashed, &ends.own).unwrap();
        let (delta, bits) = (ends.offset.0.label(0), ends.bits());
        assert!(bits.contains(&0) && bits.contains(&1));
        let mut zeros = 0;
        for (k, &bit) in bits.iter().enumerate() {
            let (numbers, hashed, joined) = ends.join(&[k], &[k]);
            checks.joined(&ends.wires.1.select(&[k]), &ends.offset.1, &hashed, &joined).unwrap();
            assert_eq!(*checks.read(&numbers, 1, &hashed, &joined, delta), [bit]);
            // Another offset reads nothing.
            zeros += u32::from(*checks.read(&numbers, 1, &hashed, &joined, ends.own.label(k)) == [0]);
        }
        assert_eq!(zeros, COUNT as u32);
    }

    /// A wire that is joined to four, of which three have another message than the one that follows, with the
    /// other bit among them: a majority would be wrong.
    #[test]
    fn row_09_bad_authenticators_are_recognised() {
        let ends = ends(|k| k % 4 != 3);
        let checks = ends.checks();
        let refused = checks.opened(&numbers(), &ends.hashed, &ends.own);
        assert_eq!(refused, Err(Cheat::Authenticator));
        for (wire, &bit) in ends.bits().iter().enumerate() {
            let first = wire / 4 * 4;
            let (numbers, hashed, joined) = ends.join(&[wire; 4], &[first, first + 1, first + 2, first + 3]);
            checks.joined(&ends.wires.1.select(&[wire; 4]), &ends.offset.1, &hashed, &joined).unwrap();
            assert_eq!(*checks.read(&numbers, 4, &hashed, &joined, ends.offset.0.label(0)), [bit]);
        }
    }

    #[test]
    fn row_09_what_is_opened_or_joined_wrongly_is_refused() {
        let ends = ends(|_| false);
        let (checks, delta) = (ends.checks(), ends.offset.0.label(0));
        let mut own = ends.own.clone();
        own.add(2, delta, 1);
        assert_eq!(checks.opened(&numbers(), &ends.hashed, &own), Err(Cheat::Authenticator));
        let shifted: Vec<u64> = numbers().iter().map(|number| number + 1).collect();
        assert_eq!(checks.opened(&shifted, &ends.hashed, &ends.own), Err(Cheat::Authenticator));
        let other = Checks { session: &[8; 32], ..ends.checks() };
        assert_eq!(other.opened(&numbers(), &ends.hashed, &ends.own), Err(Cheat::Authenticator));
        let all: Vec<usize> = (0..COUNT).collect();
        let joins = |joined: &Joined| checks.joined(&ends.wires.1, &ends.offset.1, &ends.hashed, joined);
        let (_, _, mut joined) = ends.join(&all, &all);
        joins(&joined).unwrap();
        joined.offsets.add(1, delta, 1);
        assert_eq!(joins(&joined), Err(Cheat::Soldering));
        joined.offsets.add(1, delta, 1);
        joins(&joined).unwrap();
        joined.permutations.add(&ends.messages);
        assert_eq!(joins(&joined), Err(Cheat::Permutation));
    }
}
