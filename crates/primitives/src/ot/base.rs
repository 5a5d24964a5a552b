//! Base OT: the endemic OT of Masny and Rindal (CCS 2019, eprint 2019/706) over ristretto255.
//!
//! ```text
//! sender                                            receiver, choice c_i for OT i
//! a random, A = a·G              ── A ──▶           b_i random, B = b_i·G, r_{i,1-c} a random point
//!                                ◀── r_{i,0}, r_{i,1} ──   r_{i,c} = B − H(i, c, r_{i,1-c})
//! k_{i,j} = KDF(i, j, a·(r_{i,j} + H(i, j, r_{i,1-j})))     k_{i,c} = KDF(i, c, b_i·A)
//! ```
//!
//! Neither message depends on the other, so both leave in the same flight, and OTs in both directions share
//! it: 32 bytes one way, 64 bytes an OT the other way.
//!
//! **Privacy of the choice** is perfect: `r_0` and `r_1` are uniform and independent for either choice. **The
//! sender's other key** is the Diffie–Hellman value of `A` and of a point that contains the oracle's answer
//! on the other `r`: whichever of the two `H` is asked last is out of the receiver's hands. As one `A` serves
//! every OT of a direction, this rests on the gap Diffie–Hellman assumption, with `H` and `KDF` random
//! oracles. "Endemic" means that a cheater may have a say in its own keys; an honest party's keys stay
//! hidden, and nothing here needs more.
//!
//! **Before the session has a name.** Both messages leave together with the greetings, so the receiver's `H`
//! can only be bound to what the receiver knows then: its own greeting, with a nonce of its own. The
//! session's identifier, a hash over both greetings, enters `KDF`. That is enough. Privacy of the choice
//! needs nothing of `H`. The sender's keys are safe whatever receivers asked `H` before, in this or any other
//! session: they are Diffie–Hellman values of *this* `A`, which an honest sender draws anew, and of a point
//! that contains an answer of the oracle. A receiver that chooses its nonce, or repeats its greeting and
//! points, brings points that it had anyway; to learn a key from them it must solve Diffie–Hellman for a
//! fresh `A`.
//!
//! **Replay.** Greeting, session, direction, index and every point sent enter the hashes. Messages of another
//! session, reflected ones or ones in another order are valid points, so nothing can be seen here: the peers
//! end up with unrelated keys. What is built on the keys sees it: the consistency check of the OT extension
//! for the evaluator's, that of the commitments for the garbler's.

use std::convert::Infallible;

use blake3::Hasher;
use curve25519_dalek::ristretto::{CompressedRistretto, RistrettoBasepointTable, RistrettoPoint};
use curve25519_dalek::scalar::Scalar;
use curve25519_dalek::traits::IsIdentity;
use subtle::{Choice, ConditionallySelectable};
use zeroize::{Zeroize, ZeroizeOnDrop, Zeroizing};

pub use super::Direction;
use super::{BASE_OT, Cheat};
use brickwork_base::Error;
use brickwork_base::random::{Rng, SEED_BYTES, Seed};
use brickwork_wire::Channel;

/// What the messages look like.
mod msg {
    /// Bytes of a compressed point.
    pub const POINT: usize = 32;
    /// Bytes that the receiver sends for each OT: two points.
    pub const PAIR: usize = 2 * POINT;
}

/// The oracles of one series: everything hashed begins with its 32 bytes.
#[derive(Clone)]
pub struct Instance([u8; 32]);

impl Instance {
    /// The series of this direction to the receiver that greets so: the digest of its greeting.
    pub fn new(receivers_greeting: &[u8; 32], direction: Direction) -> Self {
        let mut hasher = Hasher::new_derive_key("brickwork 2026-11 base OT instance");
        hasher.update(receivers_greeting).update(&[direction as u8]);
        Instance(*hasher.finalize().as_bytes())
    }

    /// `H`: a point that nobody knows a discrete logarithm of.
    fn point(&self, index: usize, slot: u8, other: &[u8]) -> RistrettoPoint {
        let mut hasher = Hasher::new_derive_key("brickwork 2026-11 base OT hash to the group");
        hasher.update(&self.0).update(&(index as u64).to_le_bytes()).update(&[slot]).update(other);
        let mut uniform = Zeroizing::new([0; 64]);
        hasher.finalize_xof().fill(&mut *uniform);
        // The hash's state tells the receiver's choice: it has `slot` in it.
        hasher.zeroize();
        RistrettoPoint::from_uniform_bytes(&uniform)
    }

    fn transcript(&self, session: &[u8; 32], point: &[u8; msg::POINT], pairs: &[u8]) -> Transcript {
        let mut hasher = Hasher::new_derive_key("brickwork 2026-11 base OT transcript");
        hasher.update(session).update(&self.0).update(point).update(pairs);
        Transcript(*hasher.finalize().as_bytes())
    }
}

/// A hash of the session, of the instance and of all points sent in it.
struct Transcript([u8; 32]);

impl Transcript {
    /// `KDF`.
    fn key(&self, index: usize, slot: u8, mut shared: RistrettoPoint) -> Seed {
        let mut encoding = shared.compress();
        let mut hasher = Hasher::new_derive_key("brickwork 2026-11 base OT key");
        hasher
            .update(&self.0)
            .update(&(index as u64).to_le_bytes())
            .update(&[slot])
            .update(encoding.as_bytes());
        let mut seed = [0; SEED_BYTES];
        hasher.finalize_xof().fill(&mut seed);
        hasher.zeroize();
        encoding.zeroize();
        shared.zeroize();
        Seed::from_bytes(seed)
    }
}

/// The point of this encoding.
fn decode(bytes: &[u8]) -> Result<RistrettoPoint, Cheat> {
    let point =
        CompressedRistretto::from_slice(bytes).ok().and_then(|c| c.decompress()).ok_or(Cheat::BaseOtPoint)?;
    // The identity would make a key that everybody knows.
    if point.is_identity() { Err(Cheat::BaseOtIdentity) } else { Ok(point) }
}

/// The sender of a series of OTs, before it knows the receiver's message.
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

    /// The message to the receiver.
    pub fn message(&self) -> &[u8; msg::POINT] {
        &self.message
    }

    /// The two keys of each OT.
    ///
    /// # Errors
    /// [`Cheat::UnexpectedMessage`] if `pairs` is no whole number of pairs, [`Cheat::BaseOtPoint`] and
    /// [`Cheat::BaseOtIdentity`] if a point is none or the identity.
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
        let transcript = instance.transcript(session, &self.message, pairs);
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

/// The receiver of a series of OTs, before it knows the sender's message.
pub struct Receiver {
    secrets: Vec<ReceiverSecret>,
    message: Vec<u8>,
}

/// What the receiver keeps of one OT.
#[derive(Clone, Default, Zeroize, ZeroizeOnDrop)]
struct ReceiverSecret {
    choice: u8,
    b: Scalar,
}

impl Receiver {
    /// Draws the receiver's secrets for OTs with these choices, 0 or 1 each.
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
        // Copied: what is moved out of a list is not erased there.
        Receiver { secrets: draws.iter().map(|draw| draw.secret.clone()).collect(), message }
    }

    /// The message to the sender.
    pub fn message(&self) -> &[u8] {
        &self.message
    }

    /// The chosen key of each OT.
    ///
    /// # Errors
    /// [`Cheat::BaseOtPoint`] and [`Cheat::BaseOtIdentity`] if the sender's point is none or the identity.
    pub fn finish(
        self,
        instance: &Instance,
        session: &[u8; 32],
        point: &[u8; msg::POINT],
        threads: usize,
    ) -> Result<Vec<Seed>, Cheat> {
        let transcript = instance.transcript(session, point, &self.message);
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

/// 64 uniform bytes: enough for a scalar or a point whose bias is below 2^-250.
fn uniform(rng: &mut Rng) -> Zeroizing<[u8; 64]> {
    let mut bytes = Zeroizing::new([0; 64]);
    rng.fill(&mut *bytes);
    bytes
}

fn scalar(rng: &mut Rng) -> Scalar {
    Scalar::from_bytes_mod_order_wide(&uniform(rng))
}

/// Calls `work` with each item and its index, on this many threads at most. The first error of any of them is
/// returned.
fn in_parallel<T: Send, E: Send>(
    items: &mut [T],
    threads: usize,
    work: impl Fn(usize, &mut T) -> Result<(), E> + Sync,
) -> Result<(), E> {
    let chunk = items.len().div_ceil(threads.max(1)).max(1);
    let run = |(part, items): (usize, &mut [T])| {
        items.iter_mut().enumerate().try_for_each(|(i, item)| work(part * chunk + i, item))
    };
    std::thread::scope(|scope| {
        let mut parts = items.chunks_mut(chunk).enumerate();
        let first = parts.next();
        let workers: Vec<_> = parts.map(|part| scope.spawn(move || run(part))).collect();
        let first = first.map_or(Ok(()), run);
        workers
            .into_iter()
            .map(|worker| worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
            .fold(first, Result::and)
    })
}

/// The keys of both series.
#[derive(Debug)]
pub struct Keys {
    /// Of the OTs that this party sent: both keys of each.
    pub sent: Vec<[Seed; 2]>,
    /// Of the OTs that this party received: the chosen key of each.
    pub received: Vec<Seed>,
}

/// Both series at once, between the two messages.
pub struct Begun {
    sends: Direction,
    sender: Sender,
    receives: Instance,
    receiver: Receiver,
    threads: usize,
}

impl Begun {
    /// Sends this party's message of both series: of the one that it sends in, and of the other, one OT for
    /// each of `choices`. `greeting` is the digest of this party's own greeting.
    ///
    /// # Errors
    /// [`Error::Resource`] without randomness, [`Error::Io`] if the connection fails.
    pub fn send(
        channel: &mut Channel,
        sends: Direction,
        greeting: &[u8; 32],
        choices: &[u8],
        threads: usize,
    ) -> Result<Self, Error> {
        let receives = Instance::new(greeting, sends.other());
        let sender = Sender::new(&mut Rng::new("base OT sender")?);
        let receiver = Receiver::new(&receives, choices, &mut Rng::new("base OT receiver")?, threads);
        channel.send(BASE_OT, &[sender.message(), receiver.message()].concat())?;
        Ok(Begun { sends, sender, receives, receiver, threads })
    }

    /// Receives the peer's message, in which it chooses in `send` OTs. `theirs` is the digest of its
    /// greeting, `session` the identifier of the session.
    ///
    /// # Errors
    /// [`Error::Peer`] if the message has another length or holds what is no point or the identity,
    /// [`Error::Io`] if the connection fails.
    pub fn receive(
        self,
        channel: &mut Channel,
        theirs: &[u8; 32],
        session: &[u8; 32],
        send: usize,
    ) -> Result<Keys, Error> {
        let message = channel.receive(BASE_OT, msg::POINT + send * msg::PAIR)?;
        let (point, pairs) = message.split_first_chunk().ok_or(Cheat::UnexpectedMessage)?;
        let sent = self.sender.finish(&Instance::new(theirs, self.sends), session, pairs, self.threads)?;
        Ok(Keys { sent, received: self.receiver.finish(&self.receives, session, point, self.threads)? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use brickwork_wire::memory_pair;

    const SESSION: [u8; 32] = [3; 32];
    /// Of the garbler and of the evaluator.
    const GREETINGS: [[u8; 32]; 2] = [[1; 32], [2; 32]];

    fn garbler(channel: &mut Channel, send: usize, choices: &[u8], threads: usize) -> Result<Keys, Error> {
        let begun = Begun::send(channel, Direction::GarblerSends, &GREETINGS[0], choices, threads)?;
        begun.receive(channel, &GREETINGS[1], &SESSION, send)
    }

    fn evaluator(channel: &mut Channel, send: usize, choices: &[u8], threads: usize) -> Result<Keys, Error> {
        let begun = Begun::send(channel, Direction::EvaluatorSends, &GREETINGS[1], choices, threads)?;
        begun.receive(channel, &GREETINGS[0], &SESSION, send)
    }

    /// Points of the oracle depend on all that is hashed, and none is the identity.
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

    fn choices(n: usize) -> Vec<u8> {
        let mut rng = Rng::replayable("test");
        (0..n).map(|_| rng.below(2) as u8).collect()
    }

    /// One series by hand, with what the receiver's message becomes on its way.
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

    fn agreements(sent: &[[Seed; 2]], received: &[Seed], choices: &[u8]) -> usize {
        sent.iter().zip(received).zip(choices).filter(|((pair, key), c)| pair[**c as usize] == **key).count()
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
    fn both_directions_share_a_flight() {
        let (mut a, mut b) = memory_pair();
        let (watch, delta) = (choices(275), choices(128));
        let (garbled, evaluated) = std::thread::scope(|scope| {
            let garbler = scope.spawn(|| garbler(&mut a, 275, &delta, 1).unwrap());
            let evaluated = evaluator(&mut b, 128, &watch, 1).unwrap();
            (garbler.join().unwrap(), evaluated)
        });
        assert_eq!(agreements(&garbled.sent, &evaluated.received, &watch), 275);
        assert_eq!(agreements(&evaluated.sent, &garbled.received, &delta), 128);
        assert_eq!(a.sent_bytes(), 5 + 32 + 64 * 128);
        assert_eq!(b.sent_bytes(), 5 + 32 + 64 * 275);
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
    fn row_01_messages_of_the_wrong_length_are_refused() {
        for change in [-1_isize, 1, 32, -32, 64, -64] {
            let (mut a, mut b) = memory_pair();
            b.set_tamper(Box::new(move |tag, message| {
                assert_eq!(tag, BASE_OT);
                message.resize(message.len().saturating_add_signed(change), 1);
            }));
            let result = std::thread::scope(|scope| {
                let garbler = scope.spawn(move || garbler(&mut a, 4, &[0, 1], 2));
                let _ = evaluator(&mut b, 2, &[1, 0, 1, 0], 2);
                garbler.join().unwrap()
            });
            assert!(
                matches!(result, Err(Error::Peer(cheat)) if cheat == Cheat::UnexpectedMessage),
                "{change}: {result:?}"
            );
        }
        let instance = Instance::new(&GREETINGS[1], Direction::GarblerSends);
        let sender = Sender::new(&mut Rng::replayable("test"));
        assert_eq!(sender.finish(&instance, &SESSION, &[0; 65], 1).unwrap_err(), Cheat::UnexpectedMessage);
    }

    /// Valid points in the wrong place cannot be told from others, but nobody gets a key of the honest
    /// sender's out of them.
    #[test]
    fn row_01_replayed_messages_and_other_sessions_give_unrelated_keys() {
        let choices = choices(64);
        let flipped: Vec<u8> = choices.iter().map(|c| 1 - c).collect();
        let unrelated = |sent: &[[Seed; 2]], received: &[Seed]| {
            agreements(sent, received, &choices) + agreements(sent, received, &flipped) == 0
        };
        // OTs in another order, one OT's pair turned over, one byte's worth of another transcript.
        let (sent, received) = run(&choices, |_, pairs| pairs.rotate_left(64)).unwrap();
        assert!(unrelated(&sent, &received));
        let (sent, received) = run(&choices, |_, pairs| pairs[..64].rotate_left(32)).unwrap();
        assert!(unrelated(&sent, &received));

        // A recorded message of the same receiver, sent to a sender that was greeted otherwise, in the other
        // direction, or in another session with the same greeting of the receiver: that of a receiver which
        // repeats itself.
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
        // The sender's point of another run.
        let (sender, stale) = (Sender::new(&mut rng), Sender::new(&mut rng));
        let receiver = Receiver::new(&instance, &choices, &mut rng, 1);
        let sent = sender.finish(&instance, &SESSION, receiver.message(), 1).unwrap();
        assert!(unrelated(&sent, &receiver.finish(&instance, &SESSION, stale.message(), 1).unwrap()));
    }

    #[test]
    fn an_error_in_a_worker_reaches_the_caller() {
        for threads in [0, 1, 2, 7, 100] {
            let mut items = [0_usize; 20];
            let mut write = |fails: usize| {
                in_parallel(&mut items, threads, |i, item| {
                    *item = i;
                    if i == fails { Err(i) } else { Ok(()) }
                })
            };
            assert_eq!(write(13), Err(13));
            assert_eq!(write(20), Ok(()));
            assert!(items.iter().enumerate().all(|(i, &item)| i == item));
        }
    }
}
