//! Base OTs from ML-KEM-768 (FIPS 203), also secure against an adversary with a quantum computer.
//!
//! ```text
//! sender                                            receiver, choice c_i for OT i
//!                                                   (t_i, ρ_i) a fresh encapsulation key, r_{i,1-c} random
//!                      ◀── ρ_i, r_{i,0}, r_{i,1} ──   r_{i,c} = t_i − H(i, c, ρ_i, r_{i,1-c})
//! t_{i,j} = r_{i,j} + H(i, j, ρ_i, r_{i,1-j})
//! (z_{i,j}, s_{i,j}) = Encaps(t_{i,j}, ρ_i)
//!                      ── z_{i,0}, z_{i,1} ──▶
//! k_{i,j} = KDF(i, j, s_{i,j})                      k_{i,c} = KDF(i, c, Decaps(z_{i,c}))
//! ```
//!
//! An encapsulation key consists of a seed ρ and a vector t = A·s + e. The matrix A is expanded from ρ. t has
//! 768 numbers below q = 3329, in the transformed domain, in which vectors of the module are added number by
//! number. The receiver's message has 2 336 bytes for each OT, the sender's answer 2 176. The answer needs
//! the receiver's message, so it is sent one flight later, together with the sender's next message.
//!
//! **Privacy of the choice** rests on module LWE: t looks like a random vector, and then both `r` are uniform
//! for either choice. **The sender's other key**: the receiver queries one of the two `H` last and cannot
//! control its answer. So the other t is a uniform vector, and a ciphertext for it looks random by module LWE
//! too. A uniform vector has a short secret with probability about 2^-5000. The receiver may search for a
//! suitable ρ, but A is SHAKE128's answer on ρ. **Chosen ciphertexts**: each key decapsulates one ciphertext,
//! and ML-KEM answers an invalid one with a key that nobody knows. So later messages fail, as if the sender
//! had used another key of its own.
//!
//! `H` reduces 128 bits for each number, which takes the same time for all values. (Rejection sampling would
//! reveal by its time which slot was hashed.) The distance from uniform is below 2^-98 for all numbers of 128
//! OTs.

use std::convert::Infallible;

use blake3::Hasher;
use brickwork_base::random::{Rng, Seed};
use ml_kem::kem::{Decapsulate as _, KeyExport as _};
use ml_kem::{Ciphertext, DecapsulationKey, EncapsulationKey, MlKem768};
use subtle::{Choice, ConditionallySelectable};
use zeroize::{Zeroize, ZeroizeOnDrop, Zeroizing};

use super::shared::{Instance, in_parallel};
use crate::ot::Cheat;

/// Sizes of the messages.
pub mod msg {
    /// Bytes of the seed ρ.
    pub const SEED: usize = 32;
    /// Bytes of 768 numbers of 12 bits.
    pub const VECTOR: usize = 3 * 256 * 12 / 8;
    /// Bytes that the receiver sends for each OT: ρ and two vectors.
    pub const KEYS: usize = SEED + 2 * VECTOR;
    /// Bytes of a ciphertext.
    pub const CIPHERTEXT: usize = 1088;
    /// Bytes of the sender's answer for each OT: two ciphertexts.
    pub const ANSWER: usize = 2 * CIPHERTEXT;
}

/// The modulus q.
const Q: u16 = 3329;
/// The numbers in a vector: three polynomials of 256 coefficients.
const NUMBERS: usize = msg::VECTOR * 8 / 12;

#[derive(Zeroize)]
struct Vector([u16; NUMBERS]);

impl Vector {
    /// Returns a vector from uniform bits, 128 for each number.
    fn uniform(bits: &[u8; 16 * NUMBERS]) -> Self {
        let q = u64::from(Q);
        let (wide, _) = bits.as_chunks::<16>();
        let mut numbers = [0; NUMBERS];
        for (number, wide) in numbers.iter_mut().zip(wide) {
            // The compiler replaces a division by a constant with multiplications, so it takes constant time.
            let (words, _) = wide.as_chunks::<4>();
            let rest = words
                .iter()
                .rev()
                .fold(0, |rest, word| ((rest << 32) | u64::from(u32::from_le_bytes(*word))) % q);
            *number = rest as u16;
        }
        Vector(numbers)
    }

    /// Decodes numbers of 12 bits, the first in the lowest bits.
    ///
    /// # Errors
    /// [`Cheat::BaseOtVector`] if a number is not below the modulus.
    fn decode(bytes: &[u8; msg::VECTOR]) -> Result<Self, Cheat> {
        let mut numbers = [0; NUMBERS];
        for ([low, high], [a, b, c]) in numbers.as_chunks_mut().0.iter_mut().zip(bytes.as_chunks().0) {
            let (a, b, c) = (u16::from(*a), u16::from(*b), u16::from(*c));
            (*low, *high) = (a | (b & 15) << 8, b >> 4 | c << 4);
        }
        if numbers.iter().all(|&number| number < Q) { Ok(Vector(numbers)) } else { Err(Cheat::BaseOtVector) }
    }

    fn encode(&self) -> [u8; msg::VECTOR] {
        let mut bytes = [0; msg::VECTOR];
        for ([low, high], [a, b, c]) in self.0.as_chunks().0.iter().zip(bytes.as_chunks_mut().0) {
            (*a, *b, *c) = (*low as u8, (low >> 8 | high << 4) as u8, (high >> 4) as u8);
        }
        bytes
    }

    fn plus(&self, other: &Self) -> Self {
        Vector(std::array::from_fn(|i| (self.0[i] + other.0[i]) % Q))
    }

    fn minus(&self, other: &Self) -> Self {
        Vector(std::array::from_fn(|i| (self.0[i] + Q - other.0[i]) % Q))
    }
}

impl Instance {
    /// Returns `H`: a vector that nobody can influence.
    fn vector(&self, index: usize, slot: u8, seed: &[u8], other: &[u8]) -> Vector {
        let mut hasher = Hasher::new_derive_key("brickwork 2026-11 base OT hash to the module");
        hasher
            .update(&self.0)
            .update(&(index as u64).to_le_bytes())
            .update(&[slot])
            .update(seed)
            .update(other);
        let mut uniform = Zeroizing::new([0; 16 * NUMBERS]);
        hasher.finalize_xof().fill(&mut *uniform);
        // The hash's state includes `slot`, and so reveals the receiver's choice.
        hasher.zeroize();
        Vector::uniform(&uniform)
    }
}

/// Splits a message of the receiver for one OT into ρ and both vectors.
fn parts(keys: &[u8; msg::KEYS]) -> (&[u8; msg::SEED], [&[u8; msg::VECTOR]; 2]) {
    let (seed, vectors) = keys.split_first_chunk().expect("a key begins with a seed");
    let (r0, r1) = vectors.split_first_chunk().expect("the first vector follows the seed");
    (seed, [r0, r1.try_into().expect("the second vector ends the key")])
}

/// Performs the whole work of the sender of a series. Returns the message to the receiver, and the two keys
/// of each OT.
///
/// # Errors
/// [`Cheat::UnexpectedMessage`] if `keys` has a wrong length, [`Cheat::BaseOtVector`] if a vector in it is
/// invalid.
pub fn answer(
    instance: &Instance,
    session: &[u8; 32],
    keys: &[u8],
    rng: &mut Rng,
    threads: usize,
) -> Result<(Vec<u8>, Vec<[Seed; 2]>), Cheat> {
    struct Work<'a> {
        keys: &'a [u8; msg::KEYS],
        random: Zeroizing<[[u8; 32]; 2]>,
        shared: Zeroizing<[[u8; 32]; 2]>,
        ciphertexts: [[u8; msg::CIPHERTEXT]; 2],
    }
    let (each, []) = keys.as_chunks() else { return Err(Cheat::UnexpectedMessage) };
    let draw = |keys| {
        let mut random = Zeroizing::new([[0; 32]; 2]);
        rng.fill(random.as_flattened_mut());
        Work { keys, random, shared: Zeroizing::default(), ciphertexts: [[0; msg::CIPHERTEXT]; 2] }
    };
    let mut works: Vec<Work> = each.iter().map(draw).collect();
    in_parallel(&mut works, threads, |index, work| {
        let (seed, vectors) = parts(work.keys);
        for slot in 0..2 {
            let (own, other) = (vectors[slot], vectors[1 - slot]);
            let t = Vector::decode(own)?.plus(&instance.vector(index, slot as u8, seed, other));
            let key = [&t.encode()[..], seed].concat();
            let key = key.as_slice().try_into().map_err(|_| Cheat::BaseOtVector)?;
            let key = EncapsulationKey::<MlKem768>::new(key).map_err(|_| Cheat::BaseOtVector)?;
            let (ciphertext, mut shared) = key.encapsulate_deterministic(&work.random[slot].into());
            work.ciphertexts[slot] = ciphertext.into();
            work.shared[slot].copy_from_slice(&shared);
            shared.zeroize();
        }
        Ok(())
    })?;
    let message: Vec<u8> = works.iter().flat_map(|work| work.ciphertexts.as_flattened()).copied().collect();
    let transcript = instance.transcript(session, &[keys, &message]);
    let pair = |(i, work): (usize, &Work)| [0, 1].map(|j| transcript.seed(i, j as u8, &work.shared[j]));
    Ok((message, works.iter().enumerate().map(pair).collect()))
}

/// The receiver of a series of OTs, before it receives the sender's answer.
pub struct Receiver {
    secrets: Vec<ReceiverSecret>,
    message: Vec<u8>,
}

#[derive(Clone, ZeroizeOnDrop)]
struct ReceiverSecret {
    choice: u8,
    /// The seed of the decapsulation key.
    seed: [u8; 64],
}

impl ReceiverSecret {
    fn key(&self) -> DecapsulationKey<MlKem768> {
        DecapsulationKey::from_seed(self.seed.into())
    }
}

impl Receiver {
    /// Draws the receiver's secrets for OTs with these choices (0 or 1).
    pub fn new(instance: &Instance, choices: &[u8], rng: &mut Rng, threads: usize) -> Self {
        struct Draw {
            secret: ReceiverSecret,
            uniform: Zeroizing<[u8; 16 * NUMBERS]>,
            keys: [u8; msg::KEYS],
        }
        let draw = |&choice: &u8| {
            let mut secret = ReceiverSecret { choice: choice & 1, seed: [0; 64] };
            rng.fill(&mut secret.seed);
            let mut uniform = Zeroizing::new([0; 16 * NUMBERS]);
            rng.fill(&mut *uniform);
            Draw { secret, uniform, keys: [0; msg::KEYS] }
        };
        let mut draws: Vec<Draw> = choices.iter().map(draw).collect();
        let Ok(()) = in_parallel::<_, Infallible>(&mut draws, threads, |index, draw| {
            let key = draw.secret.key().encapsulation_key().to_bytes();
            let (t, seed) = key.split_first_chunk().expect("a key begins with a vector");
            let t = Vector::decode(t).expect("a key that this party made is valid");
            let random = Vector::uniform(&draw.uniform).encode();
            let chosen = t.minus(&instance.vector(index, draw.secret.choice, seed, &random)).encode();
            let choice = Choice::from(draw.secret.choice);
            let (to_seed, vectors) = draw.keys.split_at_mut(msg::SEED);
            to_seed.copy_from_slice(seed);
            let (r0, r1) = vectors.split_at_mut(msg::VECTOR);
            for (i, (r0, r1)) in r0.iter_mut().zip(r1).enumerate() {
                *r0 = u8::conditional_select(&chosen[i], &random[i], choice);
                *r1 = u8::conditional_select(&random[i], &chosen[i], choice);
            }
            Ok(())
        });
        let message = draws.iter().flat_map(|draw| draw.keys).collect();
        // The secret is cloned, because a value that is moved out of a list is not erased there.
        Receiver { secrets: draws.iter().map(|draw| draw.secret.clone()).collect(), message }
    }

    /// Returns the message to the sender.
    pub fn message(&self) -> &[u8] {
        &self.message
    }

    /// Returns the chosen key of each OT.
    ///
    /// # Errors
    /// [`Cheat::UnexpectedMessage`] if the answer has a wrong length.
    pub fn finish(
        self,
        instance: &Instance,
        session: &[u8; 32],
        answer: &[u8],
        threads: usize,
    ) -> Result<Vec<Seed>, Cheat> {
        let (each, rest) = answer.as_chunks::<{ msg::ANSWER }>();
        if each.len() != self.secrets.len() || !rest.is_empty() {
            return Err(Cheat::UnexpectedMessage);
        }
        let transcript = instance.transcript(session, &[&self.message, answer]);
        let mut keys = vec![Seed::from_bytes([0; 16]); each.len()];
        in_parallel(&mut keys, threads, |index, key| {
            let secret = &self.secrets[index];
            let (z0, z1) = each[index].split_at(msg::CIPHERTEXT);
            let choice = Choice::from(secret.choice);
            let chosen = |i| u8::conditional_select(&z0[i], &z1[i], choice);
            let chosen = Ciphertext::<MlKem768>::from_fn(chosen);
            let mut shared = secret.key().decapsulate(&chosen);
            *key = transcript.seed(index, secret.choice, &shared);
            shared.zeroize();
            Ok(())
        })?;
        Ok(keys)
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{GREETINGS, SESSION, agreements, choices};
    use super::*;
    use crate::ot::Direction;
    use brickwork_testing::Replayable as _;

    fn series() -> Instance {
        Instance::new(&GREETINGS[1], Direction::GarblerSends)
    }

    /// Runs one series, with changes of both messages.
    fn run(choices: &[u8], alter: impl Fn(&mut Vec<u8>, bool)) -> Result<(Vec<[Seed; 2]>, Vec<Seed>), Cheat> {
        let mut rng = Rng::replayable("test");
        let receiver = Receiver::new(&series(), choices, &mut rng, 2);
        let mut keys = receiver.message().to_vec();
        alter(&mut keys, false);
        let (mut message, sent) = answer(&series(), &SESSION, &keys, &mut rng, 2)?;
        alter(&mut message, true);
        Ok((sent, receiver.finish(&series(), &SESSION, &message, 2)?))
    }

    #[test]
    fn the_receiver_gets_the_chosen_keys_and_no_other() {
        for n in [0, 1, 2, 3, 128] {
            let choices = choices(n);
            let (sent, received) = run(&choices, |_, _| ()).unwrap();
            assert_eq!((sent.len(), received.len()), (n, n));
            assert_eq!(agreements(&sent, &received, &choices), n);
            let others: Vec<u8> = choices.iter().map(|c| 1 - c).collect();
            assert_eq!(agreements(&sent, &received, &others), 0);
            let mut all: Vec<_> = sent.iter().flatten().map(Seed::bits).collect();
            all.sort_unstable();
            all.dedup();
            assert_eq!(all.len(), 2 * n, "keys repeat");
        }
    }

    /// For its choice, the receiver has the same key as ML-KEM; it cannot know the other key. The message
    /// does not reveal the choice.
    #[test]
    fn one_of_the_keys_is_the_receivers() {
        let instance = series();
        let vector = |bytes: &[u8]| Vector::decode(bytes.try_into().unwrap()).unwrap();
        for choice in [0, 1] {
            let receiver = Receiver::new(&instance, &[choice], &mut Rng::replayable("test"), 1);
            let (seed, vectors) = parts(receiver.message().try_into().unwrap());
            let own = receiver.secrets[0].key().encapsulation_key().to_bytes();
            assert_eq!(own[msg::VECTOR..], seed[..]);
            for slot in 0..2 {
                let t = vector(vectors[slot]).plus(&instance.vector(0, slot as u8, seed, vectors[1 - slot]));
                assert_eq!(t.encode()[..] == own[..msg::VECTOR], slot == usize::from(choice));
            }
        }
    }

    #[test]
    fn numbers_are_what_they_should_be() {
        // The test compares with arithmetic on wide numbers, for the largest and the smallest value, and for
        // a value in each place.
        let mut bits = [0; 16 * NUMBERS];
        Rng::replayable("test").fill(&mut bits[..16 * 700]);
        bits[16 * 700..16 * 701].fill(0xff);
        let vector = Vector::uniform(&bits);
        for (number, wide) in vector.0.iter().zip(bits.as_chunks().0) {
            assert_eq!(u128::from(*number), u128::from_le_bytes(*wide) % u128::from(Q));
        }
        let zero = Vector([0; NUMBERS]);
        assert_eq!(vector.plus(&zero).minus(&vector).0, zero.0);
        assert_eq!(zero.minus(&vector).plus(&vector).0, zero.0);
        let top = Vector([Q - 1; NUMBERS]);
        assert_eq!(top.plus(&top).0, [Q - 2; NUMBERS]);
        assert_eq!(Vector::decode(&vector.encode()).unwrap().0, vector.0);
        let all: std::collections::BTreeSet<_> = [(0, 0, 1), (1, 0, 1), (0, 1, 1), (0, 0, 2)]
            .map(|(i, j, other)| series().vector(i, j, &[1], &[other]).0)
            .into();
        assert_eq!(all.len(), 4, "the oracle's answers depend on all inputs of the hash");
    }

    #[test]
    fn row_01_numbers_above_the_modulus_are_refused() {
        for vector in 0..4 {
            for number in [0, 1, NUMBERS - 1] {
                let (keys, of) = (vector / 2 * msg::KEYS, msg::SEED + vector % 2 * msg::VECTOR);
                let at = keys + of + number / 2 * 3 + number % 2;
                let error = run(&[0, 1], |bytes, answers| {
                    if !answers {
                        let bits = if number % 2 == 0 { [0x01, 0x0d] } else { [0x10, 0xd0] };
                        let mask = if number % 2 == 0 { [0, 0xf0] } else { [0x0f, 0] };
                        for i in 0..2 {
                            bytes[at + i] = bytes[at + i] & mask[i] | bits[i];
                        }
                    }
                });
                assert_eq!(error.unwrap_err(), Cheat::BaseOtVector, "vector {vector}, number {number}");
            }
        }
    }

    #[test]
    fn row_01_messages_of_the_wrong_length_are_refused() {
        for change in [-1_isize, 1, -1088, 1088, -2336, 2336] {
            for of_answer in [false, true] {
                let result = run(&[0, 1, 1], |bytes, answers| {
                    if answers == of_answer {
                        bytes.resize(bytes.len().saturating_add_signed(change), 0);
                    }
                });
                // If the first message lacks one OT, its length is still valid for fewer OTs, and the answer
                // has a wrong length.
                assert_eq!(result.unwrap_err(), Cheat::UnexpectedMessage, "{change} {of_answer}");
            }
        }
    }

    /// Altered, exchanged or replayed messages give unrelated keys. An invalid ciphertext changes only its
    /// own key, and the sender does not even learn whether this key was chosen.
    #[test]
    fn row_01_replayed_messages_and_bad_ciphertexts_give_unrelated_keys() {
        let choices = choices(16);
        let flipped: Vec<u8> = choices.iter().map(|c| 1 - c).collect();
        let alike = |(sent, received): &(Vec<[Seed; 2]>, Vec<Seed>)| {
            agreements(sent, received, &choices) + agreements(sent, received, &flipped)
        };
        assert_eq!(alike(&run(&choices, |_, _| ()).unwrap()), 16);
        for unit in [msg::KEYS, msg::ANSWER, msg::CIPHERTEXT] {
            let moved = run(&choices, |bytes, answers| {
                if answers == (unit != msg::KEYS) {
                    bytes.rotate_left(unit);
                }
            });
            assert_eq!(alike(&moved.unwrap()), 0, "{unit}");
        }
        let bad = run(&choices, |bytes, answers| {
            if answers {
                bytes[0] ^= 1;
            }
        });
        assert_eq!(alike(&bad.unwrap()), 0, "the transcripts differ");
        let mut rng = Rng::replayable("test");
        let receiver = Receiver::new(&series(), &choices, &mut rng, 1);
        for (instance, session) in [
            (Instance::new(&[4; 32], Direction::GarblerSends), SESSION),
            (Instance::new(&GREETINGS[1], Direction::EvaluatorSends), SESSION),
            (series(), [4; 32]),
        ] {
            let (message, sent) = answer(&instance, &session, receiver.message(), &mut rng, 1).unwrap();
            let again = Receiver { secrets: receiver.secrets.clone(), message: receiver.message.clone() };
            assert_eq!(alike(&(sent, again.finish(&series(), &SESSION, &message, 1).unwrap())), 0);
        }
    }
}
