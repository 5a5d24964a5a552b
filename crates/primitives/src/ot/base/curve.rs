//! Base OTs over ristretto255, from the Diffie–Hellman key exchange. Only this construction allows both
//! messages to be sent at the same time.
//!
//! ```text
//! sender                                            receiver, choice c_i for OT i
//! a random, A = a·G              ── A ──▶           b_i random, B = b_i·G, r_{i,1-c} a random point
//!                                ◀── r_{i,0}, r_{i,1} ──   r_{i,c} = B − H(i, c, r_{i,1-c})
//! k_{i,j} = KDF(i, j, a·(r_{i,j} + H(i, j, r_{i,1-j})))     k_{i,c} = KDF(i, c, b_i·A)
//! ```
//!
//! Neither message depends on the other. So both are sent in one flight, which OTs in both directions share.
//! The sender's message has 32 bytes, the receiver's 64 bytes for each OT.
//!
//! **Privacy of the choice** is perfect: `r_0` and `r_1` are uniform and independent for either choice. **The
//! sender's other key** is the Diffie–Hellman value of `A` and of a point that includes the oracle's answer
//! on the other `r`. The receiver queries one of the two `H` last, and cannot control this answer. One `A`
//! serves every OT of a direction, so security rests on the gap Diffie–Hellman assumption, with `H` and `KDF`
//! as random oracles.
//!
//! **Before the session has a name.** Both messages are sent together with the greetings. So the receiver's
//! `H` can only include values that the receiver knows at this time: its own greeting, with its own nonce.
//! The session's identifier, a hash over both greetings, enters `KDF`. This is sufficient. Privacy of the
//! choice does not depend on `H`. The sender's keys are secure, whatever receivers queried `H` before, in
//! this or any other session. The keys are Diffie–Hellman values of *this* `A`, which an honest sender draws
//! freshly, and of a point that includes an oracle's answer. A receiver that chooses its nonce, or repeats
//! its greeting and points, gains no new points. To learn a key from these points, the receiver must solve
//! Diffie–Hellman for a fresh `A`.

use std::convert::Infallible;

use blake3::Hasher;
use brickwork_base::random::{Rng, SEED_BYTES, Seed};
use curve25519_dalek::ristretto::{CompressedRistretto, RistrettoBasepointTable, RistrettoPoint};
use curve25519_dalek::scalar::Scalar;
use curve25519_dalek::traits::IsIdentity;
use subtle::{Choice, ConditionallySelectable};
use zeroize::{Zeroize, ZeroizeOnDrop, Zeroizing};

use super::shared::{Instance, Transcript, in_parallel};
use crate::ot::Cheat;

/// Sizes of the messages.
pub mod msg {
    /// Bytes of a compressed point.
    pub const POINT: usize = 32;
    /// Bytes that the receiver sends for each OT: two points.
    pub const PAIR: usize = 2 * POINT;
}

impl Instance {
    /// Returns `H`: a point whose discrete logarithm nobody knows.
    fn point(&self, index: usize, slot: u8, other: &[u8]) -> RistrettoPoint {
        let mut hasher = Hasher::new_derive_key("brickwork 2026-11 base OT hash to the group");
        hasher.update(&self.0).update(&(index as u64).to_le_bytes()).update(&[slot]).update(other);
        let mut uniform = Zeroizing::new([0; 64]);
        hasher.finalize_xof().fill(&mut *uniform);
        // The hash's state includes `slot`, and so reveals the receiver's choice.
        hasher.zeroize();
        RistrettoPoint::from_uniform_bytes(&uniform)
    }
}

impl Transcript {
    /// Returns `KDF` of a shared point.
    fn key(&self, index: usize, slot: u8, mut shared: RistrettoPoint) -> Seed {
        let encoding = Zeroizing::new(shared.compress().to_bytes());
        shared.zeroize();
        self.seed(index, slot, &*encoding)
    }
}

/// Decodes a point, and refuses the identity.
fn decode(bytes: &[u8]) -> Result<RistrettoPoint, Cheat> {
    let point =
        CompressedRistretto::from_slice(bytes).ok().and_then(|c| c.decompress()).ok_or(Cheat::BaseOtPoint)?;
    // With the identity, everybody would know the key.
    if point.is_identity() { Err(Cheat::BaseOtIdentity) } else { Ok(point) }
}

/// The sender of a series of OTs, before it receives the receiver's message.
pub struct Sender {
    a: Scalar,
    message: [u8; msg::POINT],
}

impl Sender {
    /// Draws the sender's secret.
    pub fn new(rng: &mut Rng) -> Self {
        let a = scalar(rng);
        Sender { a, message: RistrettoPoint::mul_base(&a).compress().to_bytes() }
    }

    /// Returns the message to the receiver.
    pub fn message(&self) -> &[u8; msg::POINT] {
        &self.message
    }

    /// Returns the two keys of each OT.
    ///
    /// # Errors
    /// [`Cheat::UnexpectedMessage`] if `pairs` has a wrong length, [`Cheat::BaseOtPoint`] and
    /// [`Cheat::BaseOtIdentity`] if an encoding is invalid or is the identity.
    pub fn finish(
        self,
        instance: &Instance,
        session: &[u8; 32],
        pairs: &[u8],
        threads: usize,
    ) -> Result<Vec<[Seed; 2]>, Cheat> {
        if !pairs.len().is_multiple_of(msg::PAIR) {
            return Err(Cheat::UnexpectedMessage);
        }
        let transcript = instance.transcript(session, &[&self.message, pairs]);
        let mut keys = vec![[const { Seed::from_bytes([0; SEED_BYTES]) }; 2]; pairs.len() / msg::PAIR];
        in_parallel(&mut keys, threads, |index, keys| {
            let (r0, r1) = pairs[index * msg::PAIR..][..msg::PAIR].split_at(msg::POINT);
            for (slot, (own, other)) in [(0, (r0, r1)), (1, (r1, r0))] {
                let receivers = decode(own)? + instance.point(index, slot, other);
                keys[slot as usize] = transcript.key(index, slot, self.a * receivers);
            }
            Ok(())
        })?;
        Ok(keys)
    }
}

impl Drop for Sender {
    fn drop(&mut self) {
        self.a.zeroize();
    }
}

/// The receiver of a series of OTs, before it receives the sender's message.
pub struct Receiver {
    secrets: Vec<ReceiverSecret>,
    message: Vec<u8>,
}

#[derive(Clone, Default, Zeroize, ZeroizeOnDrop)]
struct ReceiverSecret {
    choice: u8,
    b: Scalar,
}

impl Receiver {
    /// Draws the receiver's secrets for OTs with these choices (0 or 1).
    pub fn new(instance: &Instance, choices: &[u8], rng: &mut Rng, threads: usize) -> Self {
        struct Draw {
            secret: ReceiverSecret,
            uniform: Zeroizing<[u8; 64]>,
            pair: [u8; msg::PAIR],
        }
        let draw = |&choice: &u8| {
            let secret = ReceiverSecret { choice: choice & 1, b: scalar(rng) };
            Draw { secret, uniform: uniform(rng), pair: [0; msg::PAIR] }
        };
        let mut draws: Vec<Draw> = choices.iter().map(draw).collect();
        let Ok(()) =
            in_parallel::<_, Infallible>(&mut draws, threads, |index, Draw { secret, uniform, pair }| {
                let random = RistrettoPoint::from_uniform_bytes(uniform).compress().to_bytes();
                let chosen =
                    RistrettoPoint::mul_base(&secret.b) - instance.point(index, secret.choice, &random);
                let chosen = chosen.compress().to_bytes();
                let choice = Choice::from(secret.choice);
                let (r0, r1) = pair.split_at_mut(msg::POINT);
                r0.copy_from_slice(&<[u8; msg::POINT]>::conditional_select(&chosen, &random, choice));
                r1.copy_from_slice(&<[u8; msg::POINT]>::conditional_select(&random, &chosen, choice));
                Ok(())
            });
        let message = draws.iter().flat_map(|draw| draw.pair).collect();
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
    /// [`Cheat::BaseOtPoint`] and [`Cheat::BaseOtIdentity`] if the sender's encoding is invalid or is the
    /// identity.
    pub fn finish(
        self,
        instance: &Instance,
        session: &[u8; 32],
        point: &[u8; msg::POINT],
        threads: usize,
    ) -> Result<Vec<Seed>, Cheat> {
        let transcript = instance.transcript(session, &[point, &self.message]);
        let table = RistrettoBasepointTable::create(&decode(point)?);
        let mut keys = vec![Seed::from_bytes([0; SEED_BYTES]); self.secrets.len()];
        in_parallel(&mut keys, threads, |index, key| {
            let secret = &self.secrets[index];
            *key = transcript.key(index, secret.choice, &table * &secret.b);
            Ok(())
        })?;
        Ok(keys)
    }
}

/// Returns 64 uniform bytes. A scalar or a point made from them has a bias below 2^-250.
fn uniform(rng: &mut Rng) -> Zeroizing<[u8; 64]> {
    let mut bytes = Zeroizing::new([0; 64]);
    rng.fill(&mut *bytes);
    bytes
}

fn scalar(rng: &mut Rng) -> Scalar {
    Scalar::from_bytes_mod_order_wide(&uniform(rng))
}

#[cfg(test)]
mod tests {
    use super::super::tests::{GREETINGS, SESSION, agreements, choices};
    use super::*;
    use crate::ot::Direction;
    use brickwork_testing::Replayable as _;

    /// Each input of the hash changes the oracle's point, and no point is the identity.
    #[test]
    fn row_01_every_point_is_another() {
        let points = |greeting: u8, direction: Direction| {
            let instance = Instance::new(&[greeting; 32], direction);
            let asked = [(0, 0, &b"other"[..]), (1, 0, b"other"), (0, 1, b"other"), (0, 0, b"another")];
            asked.map(|(index, slot, other)| instance.point(index, slot, other))
        };
        let series = [
            points(1, Direction::GarblerSends),
            points(2, Direction::GarblerSends),
            points(1, Direction::EvaluatorSends),
        ];
        let all = series.concat();
        for (i, point) in all.iter().enumerate() {
            assert!(!point.is_identity() && !all[..i].contains(point), "point {i}");
        }
        assert_eq!(points(1, Direction::GarblerSends), series[0]);
    }

    /// Runs one series, with a change of the receiver's message.
    fn run(
        choices: &[u8],
        alter: impl Fn(&mut [u8; 32], &mut Vec<u8>),
    ) -> Result<(Vec<[Seed; 2]>, Vec<Seed>), Cheat> {
        let instance = Instance::new(&GREETINGS[1], Direction::GarblerSends);
        let mut rng = Rng::replayable("test");
        let sender = Sender::new(&mut rng);
        let receiver = Receiver::new(&instance, choices, &mut rng, 2);
        let (mut point, mut pairs) = (*sender.message(), receiver.message().to_vec());
        alter(&mut point, &mut pairs);
        Ok((sender.finish(&instance, &SESSION, &pairs, 2)?, receiver.finish(&instance, &SESSION, &point, 2)?))
    }

    #[test]
    fn the_receiver_gets_the_chosen_keys_and_no_other() {
        for n in [0, 1, 2, 3, 128, 275] {
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

    #[test]
    fn row_01_rubbish_points_are_refused() {
        let choices = choices(5);
        let off_curve = [&[2][..], &[0; 31]].concat();
        let not_canonical = [0xff; 32];
        assert!(CompressedRistretto::from_slice(&off_curve).unwrap().decompress().is_none());
        for bad in [&off_curve[..], &not_canonical] {
            for at in 0..10 {
                let error =
                    run(&choices, |_, pairs| pairs[32 * at..][..32].copy_from_slice(bad)).unwrap_err();
                assert_eq!(error, Cheat::BaseOtPoint);
            }
            assert_eq!(run(&choices, |point, _| point.copy_from_slice(bad)).unwrap_err(), Cheat::BaseOtPoint);
        }
    }

    #[test]
    fn row_01_the_identity_is_refused() {
        let choices = choices(5);
        for at in 0..10 {
            assert_eq!(
                run(&choices, |_, pairs| pairs[32 * at..][..32].fill(0)).unwrap_err(),
                Cheat::BaseOtIdentity
            );
        }
        assert_eq!(run(&choices, |point, _| point.fill(0)).unwrap_err(), Cheat::BaseOtIdentity);
    }

    #[test]
    fn row_01_half_a_pair_is_refused() {
        let instance = Instance::new(&GREETINGS[1], Direction::GarblerSends);
        let sender = Sender::new(&mut Rng::replayable("test"));
        assert_eq!(sender.finish(&instance, &SESSION, &[0; 65], 1).unwrap_err(), Cheat::UnexpectedMessage);
    }

    /// A valid point in a wrong place cannot be recognised, but then nobody gets a key of the honest sender.
    #[test]
    fn row_01_replayed_messages_and_other_sessions_give_unrelated_keys() {
        let choices = choices(64);
        let flipped: Vec<u8> = choices.iter().map(|c| 1 - c).collect();
        let unrelated = |sent: &[[Seed; 2]], received: &[Seed]| {
            agreements(sent, received, &choices) + agreements(sent, received, &flipped) == 0
        };
        // The cases: OTs in another order, the two points of one OT exchanged, and another transcript.
        let (sent, received) = run(&choices, |_, pairs| pairs.rotate_left(64)).unwrap();
        assert!(unrelated(&sent, &received));
        let (sent, received) = run(&choices, |_, pairs| pairs[..64].rotate_left(32)).unwrap();
        assert!(unrelated(&sent, &received));

        // The receiver's recorded message is replayed to a sender with another greeting, in the other
        // direction, or in another session. In the last case the receiver repeats its greeting.
        let mut rng = Rng::replayable("test");
        let instance = Instance::new(&GREETINGS[1], Direction::GarblerSends);
        let others = [
            (Instance::new(&[4; 32], Direction::GarblerSends), SESSION),
            (Instance::new(&GREETINGS[1], Direction::EvaluatorSends), SESSION),
            (instance.clone(), [4; 32]),
        ];
        for (other, session) in others {
            let (sender, receiver) = (Sender::new(&mut rng), Receiver::new(&instance, &choices, &mut rng, 1));
            let point = *sender.message();
            let sent = sender.finish(&other, &session, receiver.message(), 1).unwrap();
            assert!(unrelated(&sent, &receiver.finish(&instance, &SESSION, &point, 1).unwrap()));
        }
        // The message of a sender from another run is used.
        let (sender, stale) = (Sender::new(&mut rng), Sender::new(&mut rng));
        let receiver = Receiver::new(&instance, &choices, &mut rng, 1);
        let sent = sender.finish(&instance, &SESSION, receiver.message(), 1).unwrap();
        assert!(unrelated(&sent, &receiver.finish(&instance, &SESSION, stale.message(), 1).unwrap()));
    }
}
