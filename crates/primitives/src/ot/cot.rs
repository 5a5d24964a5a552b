//! Correlated OT: many OTs whose two labels differ by one offset, which the sender chose. Protocols use this
//! interface for every construction, in either direction.
//!
//! ```text
//!   sender:    R_0, R_1, …  and the offset Δ
//!   receiver:  b_0, b_1, …  and T_j = R_j ⊕ b_j·Δ
//! ```
//!
//! Every construction makes two promises. The receiver learns nothing about Δ except by guesses, and each
//! wrong guess is detected. In all bits of an OT, it uses the same choice. The sender learns nothing about
//! the choices. The labels differ by a fixed offset, so they must be hashed before they are used as keys:
//! [`CotSender::keys`], [`CotReceiver::keys`].
//!
//! A session may have two series side by side, one in each direction. Messages, hashes and stored states
//! contain the [`Series`], so that the two series cannot be confused.

use super::Direction;
use crate::Labels;
use brickwork_base::Error;
use brickwork_base::label::{Delta, Label};
use brickwork_base::random::{Rng, Seed};
use brickwork_kernels::SecretBlocks;
use brickwork_store::{Forward, Ranges};
use brickwork_wire::Channel;

/// The name of one of a session's series of correlated OTs. The name enters every hash, so a hash of one
/// series is useless in another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Series {
    hashed: [u8; 32],
    sender: Direction,
    number: usize,
}

/// The largest number of series that a session has in one direction.
pub const MOST_SERIES: usize = 4;

impl Series {
    /// Returns the session's series in which `sender` chose the offset.
    pub fn new(session: &[u8; 32], sender: Direction) -> Self {
        let hashed = match sender {
            Direction::GarblerSends => *session,
            Direction::EvaluatorSends => {
                blake3::derive_key("brickwork 2026-11 correlated OTs that the evaluator sends", session)
            }
        };
        Series { hashed, sender, number: 0 }
    }

    /// Returns one of several series that a session has in this direction. Each series has its own offset,
    /// its own prefix of hashes and its own counters.
    ///
    /// # Panics
    /// If `number` is [`MOST_SERIES`] or more.
    pub fn numbered(self, number: usize) -> Self {
        assert!(number < MOST_SERIES, "the number of a series must be below MOST_SERIES");
        Series { number, ..self }
    }

    /// Returns the number of the series within its session.
    pub fn number(&self) -> usize {
        self.number
    }

    /// Returns which party sends.
    pub fn sender(&self) -> Direction {
        self.sender
    }

    /// Returns the 32 bytes with which all hashes of the series begin.
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.hashed
    }
}

/// The party that chooses the offset: the garbler or the evaluator.
pub trait CotSender: Sized + Send {
    /// The number of keys of the sender's streams, which a stock keeps besides the session and the offset.
    const KEYS: usize;

    /// The base-2 logarithm of a probability: that choices which contradict each other stay undetected in one
    /// call, although the receiver has guessed no bit of the offset.
    const CHECK_LOG2: f64;

    /// Sets up a series. `seeds` are this party's results as the receiver of [`BASE_OTS`](super::BASE_OTS)
    /// base OTs, in which it chose by the bits of `offset`, least significant first.
    ///
    /// # Errors
    /// [`Error::Peer`] if the receiver's part of the setup is refused, [`Error::Io`] if it does not arrive,
    /// [`Error::Resource`] if the system gives no randomness.
    ///
    /// # Panics
    /// If the number of seeds is not [`BASE_OTS`](super::BASE_OTS).
    fn set_up(channel: &mut Channel, series: &Series, offset: Delta, seeds: &[Seed]) -> Result<Self, Error>;

    /// Continues a series from the keys that a stock kept. The sender can draw nothing before it
    /// [enters](CotSender::enter) a range.
    ///
    /// # Errors
    /// [`Error::Stock`] if the number of keys is wrong.
    fn restored(series: &Series, offset: Delta, keys: Forward) -> Result<Self, Error>;

    /// Returns the keys that a stock keeps. They serve only entries after the one that was entered last.
    fn keys_behind(&self) -> Forward;

    /// Returns Δ: the difference of an OT's two labels.
    fn offset(&self) -> Label;

    /// Enters an entry of the log: takes the ranges of its counters, and advances the keys to the entry. The
    /// receiver does the same.
    ///
    /// # Errors
    /// [`Error::Usage`] if a range is already in use, or the keys belong to a later entry.
    fn enter(&mut self, ranges: &mut Ranges) -> Result<(), Error>;

    /// Makes `count` more OTs, for choices that the receiver gives. Returns the labels for choice 0; a label
    /// for choice 1 differs by the offset. The caller must not send anything that depends on the labels or
    /// the offset before this function returns.
    ///
    /// # Errors
    /// [`Error::Peer`] if the receiver cheats, [`Error::Io`] if its messages do not arrive, [`Error::Limit`]
    /// if the range of OTs is used up. After any other error every call fails, because the receiver may have
    /// learnt something about the offset, which all OTs share.
    fn extend(&mut self, channel: &mut Channel, count: usize) -> Result<Labels, Error>;

    /// Makes `count` more OTs of random choices, together with [`CotReceiver::random`].
    ///
    /// # Errors
    /// As [`CotSender::extend`].
    fn random(&mut self, channel: &mut Channel, count: usize) -> Result<Labels, Error> {
        self.extend(channel, count)
    }

    /// Makes an OT with a random choice for each element of `keys`, and overwrites the element with the label
    /// for choice 0. This label ends in 0, so the receiver's label ends in its choice. The receiver calls
    /// [`CotReceiver::random_bits`].
    ///
    /// # Errors
    /// As [`CotSender::extend`]. After an error, `keys` contains nothing secret.
    fn random_bits(&mut self, channel: &mut Channel, keys: &mut [Label]) -> Result<(), Error> {
        let labels = self.random(channel, keys.len())?;
        keys.iter_mut().zip(labels.iter()).for_each(|(key, label)| *key = label.with_colour(0));
        Ok(())
    }

    /// Hashes labels into independent random keys, two for each OT. The receiver calls its function with the
    /// labels of the same OTs in the same order.
    ///
    /// # Errors
    /// [`Error::Limit`] if the range of keys is used up.
    fn keys(&mut self, labels: &[Label]) -> Result<Vec<[Seed; 2]>, Error>;
}

/// The party that has the choices.
pub trait CotReceiver: Sized + Send {
    /// The number of keys of the receiver's streams, which a stock keeps besides the session.
    const KEYS: usize;

    /// Sets up a series. `seeds` are this party's keys as the sender of [`BASE_OTS`](super::BASE_OTS) base
    /// OTs.
    ///
    /// # Errors
    /// As [`CotSender::set_up`].
    ///
    /// # Panics
    /// If the number of pairs is not [`BASE_OTS`](super::BASE_OTS).
    fn set_up(channel: &mut Channel, series: &Series, seeds: &[[Seed; 2]]) -> Result<Self, Error>;

    /// Continues a series from the keys that a stock kept, as [`CotSender::restored`].
    ///
    /// # Errors
    /// As [`CotSender::restored`], and [`Error::Resource`] if the system gives no randomness.
    fn restored(series: &Series, keys: Forward) -> Result<Self, Error>;

    /// Returns the keys for a stock, as [`CotSender::keys_behind`].
    fn keys_behind(&self) -> Forward;

    /// Enters the ranges of an entry, as [`CotSender::enter`] does.
    ///
    /// # Errors
    /// As [`CotSender::enter`].
    fn enter(&mut self, ranges: &mut Ranges) -> Result<(), Error>;

    /// Makes more OTs with these choices (0 or 1). Returns the label of each choice.
    ///
    /// # Errors
    /// [`Error::Io`] if the connection fails, [`Error::Peer`] if the sender cheats.
    fn extend(&mut self, channel: &mut Channel, choices: &[u8]) -> Result<Labels, Error>;

    /// Makes `count` more OTs with random choices. Returns the choices (0 or 1) and their labels. A
    /// construction that makes the OTs from given choices draws masks with `rng`.
    ///
    /// # Errors
    /// As [`CotReceiver::extend`].
    fn random(
        &mut self,
        channel: &mut Channel,
        rng: &mut Rng,
        count: usize,
    ) -> Result<(SecretBlocks<u8>, Labels), Error> {
        let mut choices = SecretBlocks::<u8>::zeros(count);
        rng.fill(&mut choices);
        choices.iter_mut().for_each(|bit| *bit &= 1);
        let labels = self.extend(channel, &choices)?;
        Ok((choices, labels))
    }

    /// Makes an OT with a random choice for each element of `macs`, and overwrites the element with the
    /// receiver's label. The label's last bit becomes the choice. `rng` has the same use as in
    /// [`CotReceiver::random`].
    ///
    /// # Errors
    /// As [`CotReceiver::extend`].
    fn random_bits(&mut self, channel: &mut Channel, rng: &mut Rng, macs: &mut [Label]) -> Result<(), Error> {
        let (choices, labels) = self.random(channel, rng, macs.len())?;
        for ((mac, label), &choice) in macs.iter_mut().zip(labels.iter()).zip(choices.iter()) {
            *mac = label.with_colour(choice);
        }
        Ok(())
    }

    /// Hashes labels into independent random keys: the key of each choice.
    ///
    /// # Errors
    /// As [`CotSender::keys`].
    fn keys(&mut self, labels: &[Label]) -> Result<Vec<Seed>, Error>;
}

#[cfg(test)]
mod tests {
    use brickwork_testing::Replayable as _;
    use std::collections::HashSet;
    use std::thread;

    use super::super::{BASE_OTS, Direction, extension, ideal, pcg, softspoken};
    use super::*;
    use brickwork_wire::{Channel, memory_pair};

    const SESSION: [u8; 32] = [3; 32];

    /// Returns base OTs from a trusted dealer: the results of the series' sender, and the results of its
    /// receiver.
    fn dealt(offset: Delta, rng: &mut Rng) -> (Vec<Seed>, Vec<[Seed; 2]>) {
        let pairs: Vec<[Seed; 2]> = (0..BASE_OTS).map(|_| [rng.seed(), rng.seed()]).collect();
        let choice = |i: usize| (offset.bits() >> i & 1) as usize;
        (pairs.iter().enumerate().map(|(i, pair)| pair[choice(i)].clone()).collect(), pairs)
    }

    /// Both parties of a series, each with its channel.
    type Ends<S, R> = ((S, Channel), (R, Channel));

    fn ends<S: CotSender, R: CotReceiver>(direction: Direction, offset: Delta) -> Ends<S, R> {
        let (mut left, mut right) = memory_pair();
        let (seeds, pairs) = dealt(offset, &mut Rng::replayable("test dealer"));
        let series = Series::new(&SESSION, direction);
        thread::scope(|scope| {
            let receiver = scope.spawn(move || (R::set_up(&mut right, &series, &pairs).unwrap(), right));
            let sender = S::set_up(&mut left, &series, offset, &seeds).unwrap();
            ((sender, left), receiver.join().unwrap())
        })
    }

    /// Checks a series of correlated OTs, new and restored from a stock, with given and with random choices.
    /// Returns all labels for choice 0.
    fn is_correlated_ot<S: CotSender, R: CotReceiver>(direction: Direction, offset: Delta) -> HashSet<u128> {
        let ((mut sender, mut left), (mut receiver, mut right)) = ends::<S, R>(direction, offset);
        let (mut labels_seen, mut keys_seen) = (HashSet::new(), HashSet::new());
        for range in 0..2 {
            if range == 1 {
                // A stock keeps no OTs, but it keeps which ranges were entered.
                let series = Series::new(&SESSION, direction);
                let [sent, got] = [sender.keys_behind(), receiver.keys_behind()].map(|keys| {
                    let bytes = postcard::to_stdvec(&keys).unwrap();
                    postcard::from_bytes::<Forward>(&bytes).unwrap()
                });
                assert_eq!([sent.keys().len(), got.keys().len()], [S::KEYS, R::KEYS]);
                (sender, receiver) =
                    (S::restored(&series, offset, sent).unwrap(), R::restored(&series, got).unwrap());
                sender.enter(&mut Ranges::lent(7).unwrap()).unwrap();
                receiver.enter(&mut Ranges::lent(7).unwrap()).unwrap();
            }
            assert!(sender.offset() == offset.label());
            for (count, random) in [(0, false), (1, false), (300, false), (129, true), (10_000, false)] {
                let given: Vec<u8> = (0..count).map(|i| (i * i / 5 % 2) as u8).collect();
                let (sent, (choices, got)) = thread::scope(|scope| {
                    let got = scope.spawn(|| match random {
                        true => receiver.random(&mut right, &mut Rng::replayable("test"), count),
                        false => {
                            let labels = receiver.extend(&mut right, &given)?;
                            Ok((SecretBlocks::new(given.clone()), labels))
                        }
                    });
                    let sent = match random {
                        true => sender.random(&mut left, count),
                        false => sender.extend(&mut left, count),
                    };
                    (sent.unwrap(), got.join().unwrap().unwrap())
                });
                assert_eq!((sent.len(), got.len(), choices.len()), (count, count, count));
                assert!(!random || choices.contains(&0) && choices.contains(&1));
                assert!(choices.iter().all(|&choice| choice < 2));
                for ((zero, got), &choice) in sent.iter().zip(&*got).zip(choices.iter()) {
                    assert!(*got == *zero ^ offset.times(choice));
                    assert!(labels_seen.insert(zero.bits()), "a label occurs twice");
                }
                let (pairs, chosen) = (sender.keys(&sent).unwrap(), receiver.keys(&got).unwrap());
                for ((pair, key), &choice) in pairs.iter().zip(&chosen).zip(choices.iter()) {
                    assert_eq!(pair[usize::from(choice)], *key);
                    assert!(pair.iter().all(|key| keys_seen.insert(*key.as_bytes())), "a key occurs twice");
                }
            }
        }
        labels_seen
    }

    /// Checks a series with random bits: keys end in 0 and macs end in the bit, for whole lists and for parts
    /// of a list.
    fn is_authenticated<S: CotSender, R: CotReceiver>(offset: Delta) {
        let direction = Direction::EvaluatorSends;
        let ((mut sender, mut left), (mut receiver, mut right)) = ends::<S, R>(direction, offset);
        let mut seen = HashSet::new();
        for count in [0, 1, 384, 511, 512, 513, 70_000] {
            let mut rng = Rng::replayable("test");
            let outside = rng.label();
            let (mut keys, mut macs) = (vec![outside; count + 2], vec![outside; count + 2]);
            thread::scope(|scope| {
                let macs = &mut macs[1..=count];
                let got = scope.spawn(|| receiver.random_bits(&mut right, &mut rng, macs));
                sender.random_bits(&mut left, &mut keys[1..=count]).unwrap();
                got.join().unwrap().unwrap();
            });
            assert!([keys[0], macs[0], keys[count + 1], macs[count + 1]].iter().all(|&word| word == outside));
            let ones = macs[1..=count].iter().filter(|mac| mac.colour() == 1).count();
            assert!(count < 384 || ones.abs_diff(count / 2) < 6 * count.isqrt());
            for (key, mac) in keys[1..=count].iter().zip(&macs[1..=count]) {
                assert!(key.colour() == 0 && *mac == *key ^ offset.times(mac.colour()));
                assert!(seen.insert(key.bits()), "a key occurs twice");
            }
        }
    }

    #[test]
    fn random_bits_are_authenticated_in_place() {
        let offset = Rng::replayable("test offset").delta();
        is_authenticated::<extension::Sender, extension::Receiver>(offset);
        is_authenticated::<ideal::Sender, ideal::Receiver>(offset);
        is_authenticated::<softspoken::Sender<2>, softspoken::Receiver<2>>(offset);
        is_authenticated::<softspoken::Sender<4>, softspoken::Receiver<4>>(offset);
        is_authenticated::<softspoken::Sender<8>, softspoken::Receiver<8>>(offset);
        is_authenticated::<pcg::Sender, pcg::Receiver>(offset);
    }

    #[test]
    fn labels_differ_by_the_chosen_offset_in_either_direction() {
        let mut rng = Rng::replayable("test offsets");
        for direction in [Direction::GarblerSends, Direction::EvaluatorSends] {
            for offset in [rng.delta(), Delta::new(1), Delta::new(u128::MAX)] {
                is_correlated_ot::<extension::Sender, extension::Receiver>(direction, offset);
                is_correlated_ot::<ideal::Sender, ideal::Receiver>(direction, offset);
                is_correlated_ot::<softspoken::Sender<2>, softspoken::Receiver<2>>(direction, offset);
                is_correlated_ot::<softspoken::Sender<4>, softspoken::Receiver<4>>(direction, offset);
                is_correlated_ot::<softspoken::Sender<8>, softspoken::Receiver<8>>(direction, offset);
                is_correlated_ot::<pcg::Sender, pcg::Receiver>(direction, offset);
            }
        }
    }

    /// If the two parties assume different directions, as after a reflected message, the check fails.
    #[test]
    fn row_16_a_series_is_not_that_of_the_other_direction() {
        let [garbler, evaluator] = [Direction::GarblerSends, Direction::EvaluatorSends]
            .map(|direction| Series::new(&SESSION, direction));
        assert_ne!(garbler.as_bytes(), evaluator.as_bytes());
        assert_ne!(Series::new(&[4; 32], Direction::EvaluatorSends).as_bytes(), evaluator.as_bytes());
        let offset = Rng::replayable("test offset").delta();
        let (seeds, pairs) = dealt(offset, &mut Rng::replayable("test dealer"));
        let (mut left, mut right) = memory_pair();
        let mut sender = extension::Sender::set_up(&mut left, &garbler, offset, &seeds).unwrap();
        let mut receiver = extension::Receiver::set_up(&mut right, &evaluator, &pairs).unwrap();
        thread::scope(|scope| {
            scope.spawn(|| receiver.extend(&mut right, &[1; 200]).unwrap());
            let refused = sender.extend(&mut left, 200);
            assert!(matches!(refused, Err(Error::Peer(cheat)) if cheat == super::super::Cheat::OtExtension));
        });
    }

    /// Returns the messages and the result of a receiver in an entry with these keys. The choices are all 0,
    /// or follow from the trees.
    fn drawn<R: CotReceiver>(keys: &[u128], entry: u64, random: bool) -> (Vec<u8>, Vec<u8>) {
        let bytes = postcard::to_stdvec(&(entry, keys)).unwrap();
        let series = Series::new(&SESSION, Direction::GarblerSends);
        let mut receiver = R::restored(&series, postcard::from_bytes(&bytes).unwrap()).unwrap();
        receiver.enter(&mut Ranges::lent(entry).unwrap()).unwrap();
        rows(&mut receiver, &[0; 128], random)
    }

    /// Returns a receiver's messages for 128 OTs, which contain the rows of the choices, and its result.
    fn rows<R: CotReceiver>(receiver: &mut R, choices: &[u8], random: bool) -> (Vec<u8>, Vec<u8>) {
        let (_left, mut right) = memory_pair();
        let sent: std::sync::Arc<std::sync::Mutex<Vec<u8>>> = Default::default();
        let noted = sent.clone();
        right.set_tamper(Box::new(move |tag, bytes| {
            if tag == super::super::rows::msg::ROWS {
                // The second block of a row masks the choices in the check.
                let rows = bytes.chunks_exact(32).flat_map(|row| &row[..16]);
                noted.lock().unwrap().extend(rows);
            }
        }));
        let chosen = match random {
            true => {
                let mut macs = vec![brickwork_base::label::Label::ZERO; 128];
                receiver.random_bits(&mut right, &mut Rng::replayable("test"), &mut macs).unwrap();
                macs.iter().map(|mac| mac.colour()).collect()
            }
            false => {
                receiver.extend(&mut right, choices).unwrap();
                choices.to_vec()
            }
        };
        let sent = sent.lock().unwrap().clone();
        (sent, chosen)
    }

    /// Plays a thief that recorded the traffic and reads a receiver's store later. The keys that the store
    /// had at that entry, or at an earlier one, reveal the choices of the entry. The keys that the store
    /// keeps afterwards reveal nothing.
    fn chooses_once<R: CotReceiver>(random: bool) {
        let mut rng = Rng::replayable("test choices");
        let given: Vec<u8> = (0..128).map(|_| rng.below(2) as u8).collect();
        let (_, pairs) = dealt(Delta::new(7), &mut rng);
        let (_left, mut right) = memory_pair();
        let series = Series::new(&SESSION, Direction::GarblerSends);
        let mut receiver = R::set_up(&mut right, &series, &pairs).unwrap();
        let before = receiver.keys_behind();
        receiver.enter(&mut Ranges::lent(3).unwrap()).unwrap();
        let (sent, chosen) = rows(&mut receiver, &given, random);
        let behind = receiver.keys_behind();
        assert_eq!((before.entry(), behind.entry()), (1, 4));
        let read = |keys: &Forward| match random {
            // Random choices follow from the keys alone.
            true => drawn::<R>(keys.keys(), 3, true).1,
            // For choices of 0, a row depends on the streams alone; the choices are added to it.
            false => {
                let zeros = drawn::<R>(keys.keys(), 3, false).0;
                (0..128).map(|j| (sent[j / 8] ^ zeros[j / 8]) >> (j % 8) & 1).collect()
            }
        };
        let mut of_the_entry = before.clone();
        of_the_entry.go_to(3).unwrap();
        assert_eq!(read(&of_the_entry), chosen, "keys of the entry reveal its choices");
        let guessed = read(&behind).iter().zip(&chosen).filter(|(read, chosen)| read == chosen).count();
        assert!((32..96).contains(&guessed), "{guessed} of 128");
        let mut thief = R::restored(&series, behind).unwrap();
        assert!(matches!(thief.enter(&mut Ranges::lent(3).unwrap()), Err(Error::Usage(_))));
    }

    #[test]
    fn what_an_entry_chose_does_not_follow_from_what_is_kept_behind_it() {
        chooses_once::<extension::Receiver>(false);
        chooses_once::<softspoken::Receiver<4>>(false);
        chooses_once::<softspoken::Receiver<2>>(true);
        chooses_once::<softspoken::Receiver<4>>(true);
        chooses_once::<softspoken::Receiver<8>>(true);
    }

    #[test]
    fn row_25_another_number_of_keys_is_refused() {
        let offset = Rng::replayable("test offset").delta();
        let ((sender, _), (receiver, _)) =
            ends::<extension::Sender, extension::Receiver>(Direction::GarblerSends, offset);
        let series = Series::new(&SESSION, Direction::GarblerSends);
        let fewer = |keys: Forward| Forward::of_setup(keys.keys()[1..].to_vec());
        let refused = extension::Sender::restored(&series, offset, fewer(sender.keys_behind()));
        assert!(matches!(refused, Err(Error::Stock(_))));
        let refused = extension::Receiver::restored(&series, fewer(receiver.keys_behind()));
        assert!(matches!(refused, Err(Error::Stock(_))));
    }
}
