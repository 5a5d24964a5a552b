//! Correlated OT extension: from 128 base OTs to any number of OTs whose two labels differ by one offset,
//! which the sender chooses. The protocol is IKNP (Ishai, Kilian, Nissim, Petrank 2003) with the consistency
//! check of SoftSpokenOT (Roy, CRYPTO 2022, eprint 2022/192) for k = 1.
//!
//! ```text
//!   receiver -> sender     for each of the 128 base OTs a row  u_i = PRG(k0_i) ⊕ PRG(k1_i) ⊕ x
//!                          x~ and t~_0 … t~_127, for a check whose seed is a hash of the rows
//! ```
//!
//! `x` consists of the receiver's choice bits and a block of 128 random bits. The sender has `k_{Δ_i}` from
//! base OT i, and so `q_i = PRG(k_{Δ_i}) ⊕ Δ_i·u_i = t_i ⊕ Δ_i·x` with `t_i = PRG(k0_i)`. Column j of these
//! rows is its label `R_j`, and column j of the receiver's rows is `T_j = R_j ⊕ x_j·Δ`. An OT costs 16 bytes,
//! from the receiver to the sender.
//!
//! # The check
//!
//! If the receiver used another x in some rows, its later messages would depend on bits of Δ. So both parties
//! hash every row with a function `h`. The function multiplies each block by a random element of GF(2^128)
//! from a seed, and adds the last, random block unchanged. The sender checks `h(q_i) = t~_i ⊕ Δ_i·x~` for
//! every i. The comparison takes constant time, and only the result for all rows together is known. The seed
//! is a hash of the session, of the number of the call's first block and of all rows (Fiat–Shamir), so
//! everything fits into one message.
//!
//! **Cheats that survive.** Let `x_i` be the choices that row i contains, `d_i = x~ ⊕ h(x_i)` and `e_i = t~_i
//! ⊕ h(t_i)`. Row i passes iff `e_i = Δ_i·d_i`. For `d_i = 0` no bit of Δ matters. For each of the g rows
//! with `d_i ≠ 0` the receiver has guessed the bit Δ_i. So it survives with probability 2^-g, and then knows
//! these g bits. It could also have guessed them with this probability. (The lowest bit is always 1.) All
//! other rows have `h(x_i) = x~`. Two different x_i have the same hash with probability 2^-128, because `h`
//! is linear and drawn later. For one set of rows that the receiver submits to the oracle, some pair of the
//! 128 rows collides with probability at most 2^[`CHECK_LOG2`]. A receiver that tries 2^q sets succeeds with
//! probability 2^(q - 115). (Repeated tries do not help to guess bits of Δ: earlier messages hide Δ, and a
//! wrong answer ends the session.) If no pair collides, these rows contain the same x, which is the
//! receiver's input. The receiver knows how the g guessed rows change the labels, so it has `R_j ⊕ x_j·Δ` and
//! no other label. Roy proves that this functionality is sufficient: correlated OT whose receiver may guess
//! bits of Δ and is caught by a wrong guess.
//!
//! KOS (Keller, Orsini, Scholl 2015) compare one sum over all rows instead. Roy shows that the proof for this
//! check is wrong. This module compares each row instead.
//!
//! **Privacy of the choices.** The random block hides x in x~, and the sender can compute `t~_i = h(q_i) ⊕
//! Δ_i·x~` itself.
//!
//! A failed check may have revealed something about Δ to the receiver. So the base OTs cannot be used again,
//! and the sender refuses all further calls.
//!
//! The labels are correlated by design. [`CotSender::keys`] and [`CotReceiver::keys`] hash them into
//! independent OTs. The hash is BLAKE3, modelled as a random oracle. Its key depends on the series and on all
//! rows so far, and its input is the OT's number and label. Labels must not be used as keys without this
//! hash.

use brickwork_kernels::SecretBlocks;

use super::cot::{CotReceiver, CotSender, Series};
use super::rows::{ChunkCorrections, Flavour, ROWS, ReceiverSide, SenderSide, sound};
use crate::Labels;
use brickwork_base::Error;
use brickwork_base::label::{Delta, Label};
use brickwork_base::random::{Rng, Seed};
use brickwork_store::{Forward, Ranges};
use brickwork_wire::Channel;

pub use super::rows::{CHECK_LOG2, KeysAgain, msg};

/// The sender of a series, which chooses the offset.
pub struct Sender {
    side: SenderSide,
}

/// The receiver of a series, which chooses the bits.
pub struct Receiver {
    side: ReceiverSide,
}

/// Returns the keys of the sender's streams: the one leaf that it knows in each tree of two leaves.
fn known(seeds: &[Seed]) -> Forward {
    assert_eq!(seeds.len(), ROWS, "each bit of the offset must have a seed");
    Forward::of_setup(seeds.iter().map(Seed::bits).collect())
}

/// Returns the keys of all streams. Leaf 1 of a tree makes the receiver's row.
fn both(pairs: &[[Seed; 2]]) -> Forward {
    assert_eq!(pairs.len(), ROWS, "each bit of the offset must have a pair of seeds");
    // The list has its final capacity, because a growing list leaves copies behind.
    let mut keys = Vec::with_capacity(2 * ROWS);
    pairs.iter().for_each(|[zero, one]| keys.extend([one.bits(), zero.bits()]));
    Forward::of_setup(keys)
}

impl Sender {
    /// Makes a sender from the seeds of base OTs in which it chose by the bits of `delta`, least significant
    /// first.
    ///
    /// # Panics
    /// If there are not 128 seeds.
    pub fn new(series: &Series, delta: Delta, seeds: &[Seed]) -> Self {
        Sender { side: SenderSide::new(series, delta, 1, known(seeds)) }
    }
}

impl CotSender for Sender {
    const KEYS: usize = ROWS;

    const CHECK_LOG2: f64 = CHECK_LOG2;

    /// The sender needs only the seeds, so nothing is sent.
    fn set_up(_: &mut Channel, series: &Series, offset: Delta, seeds: &[Seed]) -> Result<Self, Error> {
        Ok(Sender::new(series, offset, seeds))
    }

    fn restored(series: &Series, offset: Delta, keys: Forward) -> Result<Self, Error> {
        Ok(Sender { side: SenderSide::restored(series, offset, 1, sound(keys, Self::KEYS)?) })
    }

    fn keys_behind(&self) -> Forward {
        self.side.behind()
    }

    fn offset(&self) -> Label {
        self.side.delta.label()
    }

    fn enter(&mut self, ranges: &mut Ranges) -> Result<(), Error> {
        self.side.enter(ranges)
    }

    /// Rounds: half of one. [`Cheat::OtExtension`](super::Cheat::OtExtension) if the receiver's rows are
    /// inconsistent.
    fn extend(&mut self, channel: &mut Channel, count: usize) -> Result<Labels, Error> {
        let mut labels = Labels::zeros(count);
        self.side.call(channel, &mut labels, Flavour { random: false, last_bits: false })?;
        Ok(labels)
    }

    fn random_bits(&mut self, channel: &mut Channel, keys: &mut [Label]) -> Result<(), Error> {
        self.side.call_in(channel, keys, Flavour { random: false, last_bits: true })
    }

    fn keys(&mut self, labels: &[Label]) -> Result<Vec<[Seed; 2]>, Error> {
        self.side.keys(labels)
    }
}

impl Receiver {
    /// Makes a receiver from the pairs of seeds of the base OTs that this party sent.
    ///
    /// # Errors
    /// [`Error::Resource`] if the system gives no randomness.
    ///
    /// # Panics
    /// If there are not 128 pairs.
    pub fn new(series: &Series, seeds: &[[Seed; 2]]) -> Result<Self, Error> {
        Ok(Receiver { side: ReceiverSide::new(series, 1, both(seeds))? })
    }

    /// Returns the data with which keys are computed again, from the next call of [`CotReceiver::keys`] on.
    pub fn keys_again(&self) -> KeysAgain {
        self.side.keys_again()
    }

    /// Does the same as [`CotReceiver::extend`]; before each chunk of rows is sent and hashed, `alter` may
    /// change it. Only tests change anything.
    fn extend_altered(
        &mut self,
        channel: &mut Channel,
        choices: &[u8],
        alter: impl FnMut(&mut ChunkCorrections),
    ) -> Result<Labels, Error> {
        let mut labels = Labels::zeros(choices.len());
        let mut x = self.side.row(choices);
        let flavour = Flavour { random: false, last_bits: false };
        self.side.call(channel, &mut x, &mut labels, flavour, alter)?;
        Ok(labels)
    }
}

impl CotReceiver for Receiver {
    const KEYS: usize = 2 * ROWS;

    /// The receiver needs only the seeds, so nothing is sent.
    fn set_up(_: &mut Channel, series: &Series, seeds: &[[Seed; 2]]) -> Result<Self, Error> {
        Receiver::new(series, seeds)
    }

    fn restored(series: &Series, keys: Forward) -> Result<Self, Error> {
        Ok(Receiver { side: ReceiverSide::restored(series, 1, sound(keys, Self::KEYS)?)? })
    }

    fn keys_behind(&self) -> Forward {
        self.side.behind()
    }

    fn enter(&mut self, ranges: &mut Ranges) -> Result<(), Error> {
        self.side.enter(ranges)
    }

    fn extend(&mut self, channel: &mut Channel, choices: &[u8]) -> Result<Labels, Error> {
        self.extend_altered(channel, choices, |_| {})
    }

    fn random_bits(&mut self, channel: &mut Channel, rng: &mut Rng, macs: &mut [Label]) -> Result<(), Error> {
        let mut choices = SecretBlocks::<u8>::zeros(macs.len());
        rng.fill(&mut choices);
        let mut x = self.side.row(&choices);
        self.side.call(channel, &mut x, macs, Flavour { random: false, last_bits: true }, |_| {})
    }

    fn keys(&mut self, labels: &[Label]) -> Result<Vec<Seed>, Error> {
        self.side.keys(labels)
    }
}

#[cfg(test)]
mod tests {
    // Rows are those of the table of attacks (docs/concepts/security.md, section 14).

    use super::*;
    use crate::ot::rows::{BLOCK, CHUNK, blocks_for};
    use crate::ot::{Cheat, Direction};
    use brickwork_base::random::Rng;
    use brickwork_testing::Replayable as _;
    use brickwork_wire::{Tamper, memory_pair};

    fn series(session: u8) -> Series {
        Series::new(&[session; 32], Direction::GarblerSends)
    }

    fn deal() -> (Sender, Receiver, Delta) {
        let mut rng = Rng::replayable("test dealer");
        let delta = rng.delta();
        let pairs: Vec<[Seed; 2]> = (0..ROWS).map(|_| [rng.seed(), rng.seed()]).collect();
        let chosen: Vec<Seed> =
            pairs.iter().enumerate().map(|(i, p)| p[(delta.bits() >> i & 1) as usize].clone()).collect();
        (Sender::new(&series(3), delta, &chosen), Receiver::new(&series(3), &pairs).unwrap(), delta)
    }

    type Made = Result<Labels, Error>;

    fn run(
        sender: &mut Sender,
        receiver: &mut Receiver,
        choices: &[u8],
        tamper: Option<Tamper>,
    ) -> (Made, Made) {
        run_altered(sender, receiver, choices, |_| {}, tamper)
    }

    /// Runs a receiver that changes its rows, computes the check for the changed rows, and then changes the
    /// message with its answer, too.
    fn run_altered(
        sender: &mut Sender,
        receiver: &mut Receiver,
        choices: &[u8],
        alter: impl FnMut(&mut ChunkCorrections) + Send,
        tamper: Option<Tamper>,
    ) -> (Made, Made) {
        let (mut left, mut right) = memory_pair();
        if let Some(tamper) = tamper {
            right.set_tamper(tamper);
        }
        std::thread::scope(|scope| {
            let receiver = scope.spawn(move || receiver.extend_altered(&mut right, choices, alter));
            let sent = sender.extend(&mut left, choices.len());
            drop(left);
            (sent, receiver.join().unwrap())
        })
    }

    fn refused(result: Made) -> bool {
        match result {
            Err(Error::Peer(cheat)) => cheat == Cheat::OtExtension,
            Ok(_) => false,
            Err(other) => panic!("{other}"),
        }
    }

    fn honest(sender: &mut Sender, receiver: &mut Receiver, delta: Delta, choices: &[u8]) -> Labels {
        let (sent, got) = run(sender, receiver, choices, None);
        let (sent, got) = (sent.unwrap(), got.unwrap());
        assert_eq!((sent.len(), got.len()), (choices.len(), choices.len()));
        assert!(sent.iter().zip(&*got).zip(choices).all(|((r, t), b)| *t == *r ^ delta.times(*b)));
        sent
    }

    fn random_choices(count: usize) -> Vec<u8> {
        let mut rng = Rng::replayable("test");
        (0..count).map(|_| rng.below(2) as u8).collect()
    }

    /// Compares with the ideal functionality: T = R ⊕ b·Δ, with a fresh R in every call.
    #[test]
    fn labels_differ_by_the_offset_where_the_choice_is_1() {
        let (mut sender, mut receiver, delta) = deal();
        let mut seen = std::collections::HashSet::new();
        // With the block of random bits, these OTs fill a chunk.
        let chunk = BLOCK * (CHUNK - 1);
        for count in [0, 1, 127, 128, 129, 1000, chunk - 1, chunk, chunk + 1, chunk + BLOCK, 3 * chunk + 77] {
            let labels = honest(&mut sender, &mut receiver, delta, &random_choices(count));
            assert!(labels.iter().all(|label| seen.insert(label.bits())), "a label occurs twice");
        }
    }

    #[test]
    fn the_number_of_the_inputs_of_a_large_program() {
        let (mut sender, mut receiver, delta) = deal();
        honest(&mut sender, &mut receiver, delta, &random_choices(131_072));
    }

    /// A receiver that uses other choices in g rows guesses g bits of the offset, and survives with
    /// probability 2^-g. The test guesses both values of the bits, to show that survival depends on them. The
    /// lowest bit of the offset is known and left out.
    #[test]
    fn row_02_inconsistent_rows_survive_as_often_as_bits_are_guessed() {
        for named in 0..=1u8 {
            for g in 0..=3usize {
                let (mut survived, trials) = (0, 400);
                for trial in 0..trials {
                    let (mut sender, mut receiver, delta) = deal();
                    let rows: Vec<usize> = (0..g).map(|k| 1 + (trial + 31 * k) % (ROWS - 1)).collect();
                    let (cheat, lie) = (rows.clone(), 4 << (8 * (trial % 16)));
                    let alter = |u: &mut ChunkCorrections| {
                        // The last block is added to the hash unchanged, so the answer can be adapted if the
                        // guessed bit is 1.
                        rows.iter().for_each(|&i| *u.at(i, 2).unwrap() ^= lie);
                    };
                    let tamper: Tamper = Box::new(move |tag, bytes| {
                        if tag == msg::CHECK && named == 1 {
                            cheat.iter().for_each(|i| bytes[16 * (i + 1) + trial % 16] ^= 4);
                        }
                    });
                    let (sent, _) = run_altered(&mut sender, &mut receiver, &[1; 200], alter, Some(tamper));
                    let passed = !refused(sent);
                    assert_eq!(
                        passed,
                        rows.iter().all(|i| (delta.bits() >> i) as u8 & 1 == named),
                        "only the guesses matter"
                    );
                    survived += usize::from(passed);
                }
                let p = 0.5f64.powi(g as i32);
                let (expected, sigma) = (trials as f64 * p, (trials as f64 * p * (1.0 - p)).sqrt());
                assert!(
                    (survived as f64 - expected).abs() <= 4.5 * sigma,
                    "{g} rows: {survived} of {trials}"
                );
            }
        }
    }

    /// The keys are like keys of independent OTs: the receiver has the chosen key of each pair, and no key
    /// occurs twice.
    #[test]
    fn keys_are_the_chosen_ones_and_independent() {
        let (mut sender, mut receiver, _) = deal();
        let (mut left, mut right) = memory_pair();
        let choices: Vec<u8> = (0..300).map(|i| (i * i / 5 % 2) as u8).collect();
        let mut seen = std::collections::HashSet::new();
        for _ in 0..2 {
            let (pairs, chosen) = std::thread::scope(|scope| {
                let chosen = scope.spawn(|| receiver.extend(&mut right, &choices).unwrap());
                let labels = sender.extend(&mut left, choices.len()).unwrap();
                (labels, chosen.join().unwrap())
            });
            let (pairs, chosen) = (sender.keys(&pairs).unwrap(), receiver.keys(&chosen).unwrap());
            for ((pair, key), &choice) in pairs.iter().zip(&chosen).zip(&choices) {
                assert_eq!(pair[choice as usize], *key);
                assert!(pair.iter().all(|key| seen.insert(*key.as_bytes())));
            }
        }
    }

    /// Blocks of choices are multiplied by random elements, so an answer cannot be adapted to a change in
    /// them.
    #[test]
    fn row_02_a_deviation_in_any_block_is_seen() {
        let count = 2 * BLOCK * CHUNK;
        for position in (0..blocks_for(count)).step_by(17) {
            let (mut sender, mut receiver, _) = deal();
            // The offset's lowest bit is 1, so every change of row 0 must be noticed.
            let alter = |u: &mut ChunkCorrections| {
                u.at(0, position).into_iter().for_each(|u| *u ^= 1);
            };
            assert!(
                refused(run_altered(&mut sender, &mut receiver, &vec![0; count], alter, None).0),
                "block {position}"
            );
        }
    }

    /// Rows that are changed after they were hashed are detected, because the sender hashes the rows that it
    /// received.
    #[test]
    fn row_02_the_question_follows_from_the_rows_that_arrived() {
        for byte in [0, 16 * 64 + 3, 16 * 2 * ROWS - 1] {
            let (mut sender, mut receiver, _) = deal();
            let tamper: Tamper = Box::new(move |tag, bytes| {
                if tag == msg::ROWS {
                    bytes[byte] ^= 1;
                }
            });
            assert!(refused(run(&mut sender, &mut receiver, &[0; 100], Some(tamper)).0), "byte {byte}");
        }
    }

    #[test]
    fn row_02_wrong_answers_are_refused_and_the_sender_is_done() {
        // Changes x~, which row 0 always reveals, and t~ of some rows.
        for word in [0, 1, 5, 64, 128] {
            for bit in [0, 61, 127] {
                let (mut sender, mut receiver, _) = deal();
                let tamper: Tamper = Box::new(move |tag, bytes| {
                    if tag == msg::CHECK {
                        bytes[16 * word + bit / 8] ^= 1 << (bit % 8);
                    }
                });
                assert!(refused(run(&mut sender, &mut receiver, &[0; 64], Some(tamper)).0));
                assert!(
                    refused(run(&mut sender, &mut receiver, &[0; 64], None).0),
                    "used again after a failed check"
                );
            }
        }
    }

    /// If the messages of base OTs were replayed, or are those of another session, the parties have unrelated
    /// seeds.
    #[test]
    fn row_01_seeds_of_another_session_are_refused() {
        let ((mut sender, ..), (_, mut receiver, _)) = (deal(), deal());
        assert!(refused(run(&mut sender, &mut receiver, &[1; 300], None).0));
    }

    #[test]
    fn row_16_rows_sent_before_are_refused() {
        let (mut sender, mut receiver, delta) = deal();
        let recorded = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
        let record = recorded.clone();
        let keep: Tamper = Box::new(move |tag, bytes| {
            if tag == msg::ROWS {
                *record.lock().unwrap() = bytes.clone();
            }
        });
        run(&mut sender, &mut receiver, &[1; 200], Some(keep)).0.unwrap();
        honest(&mut sender, &mut receiver, delta, &[1; 200]);
        let replay: Tamper = Box::new(move |tag, bytes| {
            if tag == msg::ROWS {
                bytes.clone_from(&recorded.lock().unwrap());
            }
        });
        assert!(refused(run(&mut sender, &mut receiver, &[1; 200], Some(replay)).0));
    }

    /// Two answers about the same choices are unrelated, so a sender learns nothing from them.
    #[test]
    fn row_27_answers_are_masked_afresh() {
        let (mut sender, mut receiver, delta) = deal();
        let answers = std::sync::Arc::new(std::sync::Mutex::new(std::collections::HashSet::new()));
        for _ in 0..3 {
            let seen = answers.clone();
            let keep: Tamper = Box::new(move |tag, bytes| {
                if tag == msg::CHECK {
                    assert!(seen.lock().unwrap().insert(bytes[..16].to_vec()));
                }
            });
            let (labels, got) = run(&mut sender, &mut receiver, &[1; 128], Some(keep));
            assert!(labels.unwrap().iter().zip(&*got.unwrap()).all(|(r, t)| *t == *r ^ delta));
        }
        assert_eq!(answers.lock().unwrap().len(), 3);
    }

    /// Two calls with the same base OTs, session and labels give different keys. So a sender cannot predict a
    /// key before it receives the rows.
    #[test]
    fn row_29_no_key_is_known_before_the_rows_are() {
        let (sender, receiver, delta) = deal();
        let (sent, got) = (sender.keys_behind(), receiver.keys_behind());
        let got = [(), ()].map(|()| {
            let (mut left, mut right) = memory_pair();
            let mut sender = Sender::restored(&series(3), delta, sent.clone()).unwrap();
            let mut receiver = Receiver::restored(&series(3), got.clone()).unwrap();
            sender.enter(&mut Ranges::lent(1).unwrap()).unwrap();
            receiver.enter(&mut Ranges::lent(1).unwrap()).unwrap();
            let labels = receiver.extend(&mut right, &[0, 1, 1]).unwrap();
            let offered = sender.extend(&mut left, 3).unwrap();
            let (pairs, chosen) = (sender.keys(&offered).unwrap(), receiver.keys(&labels).unwrap());
            assert!([0, 1, 1].iter().zip(&pairs).zip(&chosen).all(|((&b, pair), key)| pair[b] == *key));
            (offered, pairs)
        });
        assert!(got[0].0[..] == got[1].0[..], "the same labels");
        let keys = got.iter().flat_map(|(_, pairs)| pairs.iter().flatten()).map(|key| *key.as_bytes());
        assert_eq!(keys.collect::<std::collections::HashSet<_>>().len(), 12, "no key occurs twice");
    }

    /// Row 16 of the table of attacks: a party that has entered no range makes no OT and no key, and sends
    /// nothing. Each key has a number of its own, so no key is used for two OTs.
    #[test]
    fn row_16_nothing_is_made_behind_the_end_of_a_range() {
        let (mut sender, mut receiver, delta) = deal();
        let (sent, got) = run(&mut sender, &mut receiver, &[0, 1, 1], None);
        let (sent, got) = (sent.unwrap(), got.unwrap());
        let first = sender.side.next_key();
        sender.keys(&sent).unwrap();
        receiver.keys(&got).unwrap();
        assert_eq!([sender.side.next_key(), receiver.side.next_key()], [first + 3; 2]);
        let mut sender = Sender::restored(&series(3), delta, sender.keys_behind()).unwrap();
        let mut receiver = Receiver::restored(&series(3), receiver.keys_behind()).unwrap();
        assert!(matches!(sender.keys(&sent), Err(Error::Limit(_))));
        assert!(matches!(receiver.keys(&got), Err(Error::Limit(_))));
        let (mut left, mut right) = memory_pair();
        assert!(matches!(receiver.extend(&mut right, &[1]), Err(Error::Limit(_))));
        assert!(matches!(sender.extend(&mut left, 1), Err(Error::Limit(_))));
        assert_eq!((left.sent_bytes(), right.sent_bytes()), (0, 0));
    }

    /// Two series of a session have separate counters: both enter the ranges of one entry.
    #[test]
    fn row_16_series_in_both_directions_enter_one_entry() {
        let (mut sender, mut receiver, delta) = deal();
        let other = Series::new(&[3; 32], Direction::EvaluatorSends);
        let mut other = Sender::new(&other, delta, &vec![Seed::from_bytes([5; 16]); ROWS]);
        let mut ranges = Ranges::of_setup();
        sender.enter(&mut ranges).unwrap();
        other.enter(&mut ranges).unwrap();
        assert!(matches!(receiver.enter(&mut ranges), Err(Error::Usage(_))), "entered twice");
    }

    #[test]
    fn row_18_other_lengths_are_refused() {
        for length in [0, 128 * 16, 128 * 16 * 3 + 1] {
            let (mut sender, mut receiver, _) = deal();
            let tamper: Tamper = Box::new(move |tag, bytes| {
                if tag == msg::ROWS {
                    bytes.resize(length, 0);
                }
            });
            let (sent, _) = run(&mut sender, &mut receiver, &[1; 100], Some(tamper));
            assert!(matches!(sent, Err(Error::Peer(cheat)) if cheat == Cheat::UnexpectedMessage));
            assert!(refused(run(&mut sender, &mut receiver, &[1; 100], None).0), "used again after an error");
        }
    }
}
