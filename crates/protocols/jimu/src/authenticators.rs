//! Input authenticators: what lets an evaluator that knows Δ read the permutation bit of a wire, and so the
//! bit of its label, and nobody else. They take the place of step 5b of the paper, which proves a random
//! oracle inside a garbled circuit.
//!
//! Authenticator a has an offset Δ_a of its own, and a permutation message that follows from its compression,
//! `ρ_a = H(Δ_a, a)`; both are hashed. Of opened ones the garbler opens Δ_a. The others are joined to wires,
//! of which it opens
//!
//! ```text
//!   ρ ⊕ ρ_a, and so p ⊕ p_a          S = Δ ⊕ Δ_a
//! ```
//!
//! Without Δ that says nothing of p. With it, `Δ_a = Δ ⊕ S` gives ρ_a, p_a and p, and a label of the wire,
//! which is the hashed one or that plus Δ, has the bit p or the other. An authenticator is *good* if `H(Δ_a,
//! a)` is the permutation message that was hashed. Whoever knows Δ sees which are, so a bucket needs one good
//! one (`parameters::COMPONENTS`), and no majority. It needs no label either: a label that followed from Δ_a
//! would leave p_a to the garbler's word.

use brickwork_base::stop::looking;
use brickwork_primitives::ihash::{Code, Hashes, Receiver, Unsent, Words};
use subtle::{Choice, ConditionallySelectable, ConstantTimeEq};
use zeroize::{Zeroize, Zeroizing};

use crate::buckets::{any, lowest_bits, permutation_bits};
use crate::cheat::Cheat;

/// What joins wires to authenticators, one each, as it was opened.
pub struct Joined {
    /// ρ ⊕ ρ_a, where the permutation bits are.
    pub permutations: Words,
    /// S, compressed.
    pub offsets: Zeroizing<Vec<u128>>,
}

/// Returns the permutation messages of the authenticators of a session with these numbers and compressed
/// offsets.
///
/// # Panics
/// If there are not as many.
pub fn permutations(session: &[u8; 32], code: &Code, numbers: &[u64], offsets: &[u128]) -> Words {
    assert_eq!(numbers.len(), offsets.len(), "an offset for each");
    let mask = code.field().mask();
    let mut words = Words::zeros(code.parameters().l(), numbers.len());
    let mut of_session = blake3::Hasher::new_derive_key("brickwork 2026-11 JIMU input authenticator");
    of_session.update(session);
    // Each overwrites the one before.
    let mut hasher = of_session.clone();
    for (k, (number, offset)) in looking(numbers.iter().zip(offsets).enumerate()) {
        hasher.clone_from(&of_session);
        hasher.update(&number.to_le_bytes()).update(&offset.to_le_bytes());
        let word = words.symbols_mut(k);
        let mut message = hasher.finalize_xof();
        message.fill(word);
        message.zeroize();
        word.iter_mut().for_each(|symbol| *symbol &= mask);
    }
    hasher.zeroize();
    words
}

/// Who checks authenticators.
pub struct Checks<'a> {
    /// The session, by which their messages differ from those of any other.
    pub session: &'a [u8; 32],
    /// The hash of permutation messages.
    pub permutations: &'a Receiver,
    /// Where these have their bit.
    pub point: &'a Unsent,
}

impl Checks<'_> {
    /// Checks opened authenticators with these numbers: `offsets` are their Δ_a, compressed, as they were
    /// opened.
    ///
    /// # Errors
    /// [`Cheat::Authenticator`] if the message of one does not follow from its offset.
    ///
    /// # Panics
    /// If there are not as many.
    pub fn opened(&self, numbers: &[u64], hashed: &Hashes, offsets: &[u128]) -> Result<(), Cheat> {
        let follow = permutations(self.session, self.permutations.code(), numbers, offsets);
        match any(&self.permutations.differences(hashed, &follow)) {
            true => Err(Cheat::Authenticator),
            false => Ok(()),
        }
    }

    /// Reads the permutation bits of wires with Δ, each by the first good one of its `bucket` authenticators,
    /// which have these numbers and hashes of their messages, wire after wire. Takes the same steps with
    /// anything in the place of Δ, and gives 0 where none is good.
    ///
    /// # Panics
    /// If there are not as many of each.
    pub fn read(
        &self,
        numbers: &[u64],
        bucket: usize,
        hashed: &Hashes,
        joined: &Joined,
        offset: u128,
    ) -> Zeroizing<Vec<u8>> {
        let own: Zeroizing<Vec<u128>> = Zeroizing::new(joined.offsets.iter().map(|s| s ^ offset).collect());
        let code = self.permutations.code();
        let follow = permutations(self.session, code, numbers, &own);
        let differ = self.permutations.differences(hashed, &follow);
        let mut bits = permutation_bits(code, self.point, &follow);
        bits.iter_mut().zip(&*lowest_bits(&joined.permutations)).for_each(|(bit, sum)| *bit ^= sum);
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

#[cfg(test)]
mod tests {
    use brickwork_base::random::Rng;
    use brickwork_testing::Replayable as _;

    use super::*;
    use crate::buckets::tests::Hash;
    use crate::parameters::Level;

    const SESSION: [u8; 32] = [7; 32];
    const COUNT: usize = 24;
    const DELTA: u128 = 0x1234_5678_9abc_def1;

    /// Wires, and as many authenticators.
    struct Ends {
        permutations: Hash,
        point: Unsent,
        wires: Words,
        own: Vec<u128>,
        messages: Words,
        hashed: Hashes,
    }

    /// Those of which `bad` says so have another message than the one that follows.
    fn ends(bad: impl Fn(usize) -> bool) -> Ends {
        let (mut rng, level) = (Rng::replayable("test authenticators"), Level::of(40).unwrap());
        let mut hash = Hash::new(&level.permutations, &mut rng);
        let point = hash.sender.0.code().seeded_evaluation(&rng.seed(), 1);
        let own: Vec<u128> = (0..COUNT).map(|_| rng.block()).collect();
        let wires = hash.random(COUNT).0;
        let mut messages = permutations(&SESSION, hash.sender.0.code(), &numbers(), &own);
        (0..COUNT).for_each(|k| {
            messages.symbols_mut(k).iter_mut().for_each(|symbol| *symbol ^= u8::from(bad(k)));
        });
        let hashed = hash.chosen(&messages);
        Ends { permutations: hash, point, wires, own, messages, hashed }
    }

    impl Ends {
        fn checks(&self) -> Checks<'_> {
            Checks { session: &SESSION, permutations: &self.permutations.receiver.0, point: &self.point }
        }

        fn bits(&self) -> Zeroizing<Vec<u8>> {
            permutation_bits(self.permutations.sender.0.code(), &self.point, &self.wires)
        }

        /// Joins a wire to these authenticators.
        fn join(&self, wire: usize, to: &[usize]) -> (Vec<u64>, Hashes, Joined) {
            let mut sums = self.wires.select(to.iter().map(|_| wire));
            sums.add(&self.messages.select(to.iter().copied()));
            let permutations = self.permutations.sender.0.code().at(&self.point, &sums);
            let offsets = Zeroizing::new(to.iter().map(|&k| self.own[k] ^ DELTA).collect());
            let numbers = to.iter().map(|&k| k as u64).collect();
            (numbers, self.hashed.select(to.iter().copied()), Joined { permutations, offsets })
        }
    }

    fn numbers() -> Vec<u64> {
        (0..COUNT as u64).collect()
    }

    #[test]
    fn who_knows_the_offset_reads_permutation_bits() {
        let ends = ends(|_| false);
        let (checks, bits) = (ends.checks(), ends.bits());
        checks.opened(&numbers(), &ends.hashed, &ends.own).unwrap();
        assert!(bits.contains(&0) && bits.contains(&1));
        for (k, &bit) in bits.iter().enumerate() {
            let (numbers, hashed, joined) = ends.join(k, &[k]);
            assert_eq!(*checks.read(&numbers, 1, &hashed, &joined, DELTA), [bit]);
            // Another offset reads nothing.
            assert_eq!(*checks.read(&numbers, 1, &hashed, &joined, DELTA ^ 2), [0]);
        }
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
            let (numbers, hashed, joined) = ends.join(wire, &[first, first + 1, first + 2, first + 3]);
            assert_eq!(*checks.read(&numbers, 4, &hashed, &joined, DELTA), [bit]);
        }
    }

    #[test]
    fn row_09_what_is_opened_wrongly_is_refused() {
        let ends = ends(|_| false);
        let checks = ends.checks();
        let mut own = ends.own.clone();
        own[2] ^= DELTA;
        assert_eq!(checks.opened(&numbers(), &ends.hashed, &own), Err(Cheat::Authenticator));
        let shifted: Vec<u64> = numbers().iter().map(|number| number + 1).collect();
        assert_eq!(checks.opened(&shifted, &ends.hashed, &ends.own), Err(Cheat::Authenticator));
        let other = Checks { session: &[8; 32], ..ends.checks() };
        assert_eq!(other.opened(&numbers(), &ends.hashed, &ends.own), Err(Cheat::Authenticator));
    }
}
