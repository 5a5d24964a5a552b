//! Base OT: the endemic OT of Masny and Rindal (CCS 2019, eprint 2019/706), from discrete logarithms
//! ([`curve`]) or from lattices ([`lattice`]).
//!
//! For each OT, the receiver sends two keys and knows the secret of one. The receiver draws the other key at
//! random, and subtracts the oracle's answer on this key from its own key. "Endemic" means that a cheater may
//! influence its own keys. An honest party's keys stay hidden, which is all that the protocols need.
//!
//! **Replay.** The hashes include greeting, session, direction, index and all messages. If messages are
//! replayed from another session, reflected or reordered, they are valid here, but the parties get unrelated
//! keys. Later checks detect this: the evaluator's check of the OT extension, and the garbler's check of the
//! commitments.

pub mod curve;
pub mod lattice;
mod shared;

use brickwork_base::Error;
use brickwork_base::random::{Rng, Seed};
use brickwork_wire::Channel;

pub use super::Direction;
use super::{BASE_OT, Cheat};
pub use shared::Instance;

/// The keys of the series in both directions.
#[derive(Debug)]
pub struct SeriesKeys {
    /// Both keys of each OT in which this party is the sender.
    pub sent: Vec<[Seed; 2]>,
    /// The chosen key of each OT in which this party is the receiver.
    pub received: Vec<Seed>,
}

/// The state of the series in both directions, between the two messages.
pub struct BegunSeries {
    sends: Direction,
    receives: Instance,
    halves: Halves,
    threads: usize,
}

/// This party's part of both series.
enum Halves {
    Curve {
        sender: curve::Sender,
        receiver: curve::Receiver,
    },
    /// With lattices, the sender has no state before it answers.
    Lattice {
        receiver: lattice::Receiver,
    },
}

impl BegunSeries {
    /// Sends this party's first message in both series. The series in which this party receives has an OT for
    /// each of `choices`. `greeting` is the digest of this party's own greeting. With `post_quantum` both
    /// series use lattices, and a series without OTs has no messages.
    ///
    /// # Errors
    /// [`Error::Resource`] if the system gives no randomness, [`Error::Io`] if the connection fails.
    pub fn send(
        channel: &mut Channel,
        sends: Direction,
        greeting: &[u8; 32],
        choices: &[u8],
        post_quantum: bool,
        threads: usize,
    ) -> Result<Self, Error> {
        let receives = Instance::new(greeting, sends.other());
        let mut rng = Rng::new("brickwork base OT receiver")?;
        let halves = if post_quantum {
            let receiver = lattice::Receiver::new(&receives, choices, &mut rng, threads);
            if !choices.is_empty() {
                channel.send(BASE_OT, receiver.message())?;
            }
            Halves::Lattice { receiver }
        } else {
            let sender = curve::Sender::new(&mut Rng::new("brickwork base OT sender")?);
            let receiver = curve::Receiver::new(&receives, choices, &mut rng, threads);
            channel.send(BASE_OT, &[sender.message(), receiver.message()].concat())?;
            Halves::Curve { sender, receiver }
        };
        Ok(BegunSeries { sends, receives, halves, threads })
    }

    /// Receives the peer's first message, with its choices in `send` OTs. `theirs` is the digest of the
    /// peer's greeting, `session` the identifier of the session. With lattices, it also sends its answer and
    /// receives the peer's answer.
    ///
    /// # Errors
    /// [`Error::Peer`] if a message has a wrong length or contains an invalid point or vector; [`Error::Io`]
    /// if the connection fails; [`Error::Resource`] if the system gives no randomness.
    pub fn receive(
        self,
        channel: &mut Channel,
        theirs: &[u8; 32],
        session: &[u8; 32],
        send: usize,
    ) -> Result<SeriesKeys, Error> {
        let BegunSeries { sends, receives, halves, threads } = self;
        let instance = Instance::new(theirs, sends);
        match halves {
            Halves::Curve { sender, receiver } => {
                let message = channel.receive(BASE_OT, curve::msg::POINT + send * curve::msg::PAIR)?;
                let (point, pairs) = message.split_first_chunk().ok_or(Cheat::UnexpectedMessage)?;
                let sent = sender.finish(&instance, session, pairs, threads)?;
                Ok(SeriesKeys { sent, received: receiver.finish(&receives, session, point, threads)? })
            }
            Halves::Lattice { receiver } => {
                let mut sent = Vec::new();
                if send > 0 {
                    let keys = channel.receive(BASE_OT, send * lattice::msg::KEYS)?;
                    let mut rng = Rng::new("brickwork base OT sender")?;
                    let (answer, pairs) = lattice::answer(&instance, session, &keys, &mut rng, threads)?;
                    channel.send(BASE_OT, &answer)?;
                    sent = pairs;
                }
                let expected = receiver.message().len() / lattice::msg::KEYS * lattice::msg::ANSWER;
                let answer = if expected > 0 { channel.receive(BASE_OT, expected)? } else { Vec::new() };
                Ok(SeriesKeys { sent, received: receiver.finish(&receives, session, &answer, threads)? })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use brickwork_testing::Replayable as _;
    use brickwork_wire::memory_pair;

    pub(super) const SESSION: [u8; 32] = [3; 32];
    /// The digests of the greetings of the garbler and of the evaluator.
    pub(super) const GREETINGS: [[u8; 32]; 2] = [[1; 32], [2; 32]];

    fn garbler(
        channel: &mut Channel,
        send: usize,
        choices: &[u8],
        lattice: bool,
    ) -> Result<SeriesKeys, Error> {
        let begun = BegunSeries::send(channel, Direction::GarblerSends, &GREETINGS[0], choices, lattice, 2)?;
        begun.receive(channel, &GREETINGS[1], &SESSION, send)
    }

    fn evaluator(
        channel: &mut Channel,
        send: usize,
        choices: &[u8],
        lattice: bool,
    ) -> Result<SeriesKeys, Error> {
        let begun =
            BegunSeries::send(channel, Direction::EvaluatorSends, &GREETINGS[1], choices, lattice, 1)?;
        let keys = begun.receive(channel, &GREETINGS[0], &SESSION, send)?;
        // The protocols send the answer together with their next message.
        channel.flush()?;
        Ok(keys)
    }

    pub(super) fn choices(n: usize) -> Vec<u8> {
        let mut rng = Rng::replayable("test");
        (0..n).map(|_| rng.below(2) as u8).collect()
    }

    /// Returns the number of OTs whose received key is the sender's key for this choice.
    pub(super) fn agreements(sent: &[[Seed; 2]], received: &[Seed], choices: &[u8]) -> usize {
        sent.iter().zip(received).zip(choices).filter(|((pair, key), c)| pair[**c as usize] == **key).count()
    }

    /// Runs both series of a session with these choices. Returns the bytes that the garbler and the evaluator
    /// sent.
    fn both_ways(garblers: &[u8], evaluators: &[u8], lattice: bool) -> [u64; 2] {
        let (mut a, mut b) = memory_pair();
        let (garbled, evaluated) = std::thread::scope(|scope| {
            let garbler = scope.spawn(|| garbler(&mut a, evaluators.len(), garblers, lattice).unwrap());
            let evaluated = evaluator(&mut b, garblers.len(), evaluators, lattice).unwrap();
            (garbler.join().unwrap(), evaluated)
        });
        assert_eq!(agreements(&garbled.sent, &evaluated.received, evaluators), evaluators.len());
        assert_eq!(agreements(&evaluated.sent, &garbled.received, garblers), garblers.len());
        [a.sent_bytes(), b.sent_bytes()]
    }

    #[test]
    fn both_directions_share_a_flight() {
        assert_eq!(both_ways(&choices(128), &choices(275), false), [5 + 32 + 64 * 128, 5 + 32 + 64 * 275]);
    }

    #[test]
    fn lattices_take_an_answer() {
        let (keys, answer) = (32 + 2 * 1152, 2 * 1088);
        let sent = both_ways(&choices(128), &choices(275), true);
        assert_eq!(sent, [5 + 128 * keys + 5 + 275 * answer, 5 + 275 * keys + 5 + 128 * answer]);
        assert_eq!(both_ways(&choices(3), &[], true), [5 + 3 * keys, 5 + 3 * answer]);
        assert_eq!(both_ways(&[], &[], true), [0, 0]);
    }

    #[test]
    fn row_01_messages_of_the_wrong_length_are_refused() {
        for (lattice, change) in [false, true].into_iter().flat_map(|lattice| {
            [-1_isize, 1, 32, -32, 64, -64, 1088, -2176, 2336].map(|change| (lattice, change))
        }) {
            // Alters the evaluator's first message, and with lattices also its answer.
            for bad in 0..1 + usize::from(lattice) {
                let (mut a, mut b) = memory_pair();
                let mut place = 0;
                b.set_tamper(Box::new(move |tag, message| {
                    assert_eq!(tag, BASE_OT);
                    if place == bad {
                        message.resize(message.len().saturating_add_signed(change), 1);
                    }
                    place += 1;
                }));
                let result = std::thread::scope(|scope| {
                    let garbler = scope.spawn(move || garbler(&mut a, 4, &[0, 1], lattice));
                    let _ = evaluator(&mut b, 2, &[1, 0, 1, 0], lattice);
                    garbler.join().unwrap()
                });
                assert!(
                    matches!(result, Err(Error::Peer(cheat)) if cheat == Cheat::UnexpectedMessage),
                    "{lattice} {bad} {change}: {result:?}"
                );
            }
        }
    }
}
