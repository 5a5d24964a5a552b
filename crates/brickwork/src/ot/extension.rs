//! Correlated OT extension: from 128 base OTs to any number of OTs whose two labels differ by one offset, which the
//! sender chooses. IKNP (Ishai, Kilian, Nissim, Petrank 2003) with the consistency check of SoftSpokenOT (Roy, CRYPTO
//! 2022, eprint 2022/192) for k = 1.
//!
//! ```text
//!   receiver -> sender     for each of the 128 base OTs a row  u_i = PRG(k0_i) ⊕ PRG(k1_i) ⊕ x
//!   sender -> receiver     seed of the check
//!   receiver -> sender     x~ and t~_0 … t~_127
//! ```
//!
//! `x` are the receiver's choice bits and a block of 128 random ones. The sender, who got `k_{Δ_i}` from base OT i, has
//! `q_i = PRG(k_{Δ_i}) ⊕ Δ_i·u_i = t_i ⊕ Δ_i·x` with `t_i = PRG(k0_i)`; column j of these rows is its label `R_j`, and
//! column j of the receiver's rows is `T_j = R_j ⊕ x_j·Δ`.
//!
//! # The check
//!
//! If the receiver used another x in some rows, its later messages would depend on bits of Δ. So both hash every row with
//! a universal function of the sender's choice, the sum over all blocks of GF(2^128) of a random element times the block,
//! plus the random block, and the sender compares `q~_i = t~_i ⊕ Δ_i·x~` for every i. (KOS 2015 hash to one field element
//! instead, a sum over all rows; the proof that this suffices is wrong, as Roy shows. Here each row is compared.) Rows that
//! deviate survive only if the receiver guessed the bit of Δ of each: with e deviating rows, or e distinct ways of deviating,
//! probability 2^-e, and Δ keeps 128 - e unknown bits. That two different rows hash alike has probability 2^-128 for each of
//! 128 rows; together [`CHECK_LOG2`]. The random block hides x from the hash, and the last block of `t_i` hides `t_i`.
//!
//! The labels are correlated by design. [`Sender::keys`] and [`Receiver::keys`] hash them into independent OTs (the hash
//! is BLAKE3, a random oracle here, under a key of the session and over the OT's number).

use brickwork_kernels::{Aes128, ctr_rows, gf128_reduce, hash_accumulate, transpose};
use subtle::ConstantTimeEq;
use zeroize::{Zeroize, Zeroizing};

use crate::label::{Delta, Label};
use crate::random::{Rng, SEED_BYTES, Seed};
use crate::wire::Channel;
use crate::{Cheat, Error};

/// The messages of the extension.
pub mod msg {
    use crate::wire::Tag;

    /// Receiver: 128 rows of one block for 128 OTs each, and one more.
    pub const ROWS: Tag = Tag(24);
    /// Sender: seed of the check.
    pub const SEED: Tag = Tag(25);
    /// Receiver: x~, then t~ of each row.
    pub const CHECK: Tag = Tag(26);
}

/// Rows: base OTs, bits of the offset.
const ROWS: usize = 128;
/// Bits of a block.
const BLOCK: usize = 128;

/// Base-2 logarithm of the probability that the check lets a deviation pass that guesses no bit of the offset.
pub const CHECK_LOG2: f64 = -121.0;

/// The party that chooses the offset.
pub struct Sender {
    delta: Delta,
    keys: Vec<Aes128>,
    next_block: u128,
    hash: KeyHash,
    challenge: Rng,
    failed: bool,
}

/// The party that chooses the bits.
pub struct Receiver {
    keys: [Vec<Aes128>; 2],
    next_block: u128,
    hash: KeyHash,
    rng: Rng,
}

impl Drop for Sender {
    fn drop(&mut self) {
        self.delta.zeroize();
    }
}

/// Makes a key of a label; counts, so that no two OTs share a hash.
struct KeyHash {
    key: [u8; 32],
    next: u64,
}

impl KeyHash {
    fn new(session: &[u8; 32]) -> Self {
        KeyHash { key: blake3::derive_key("brickwork 2026-11 keys from correlated OTs", session), next: 0 }
    }

    /// The keys that labels of OTs `next`, `next + 1`, … stand for.
    fn keys(&self, labels: impl Iterator<Item = Label>) -> Vec<Seed> {
        let hash = |(i, label): (u64, Label)| {
            let mut message = [0; 24];
            message[..8].copy_from_slice(&(self.next + i).to_le_bytes());
            message[8..].copy_from_slice(&label.to_bytes());
            let seed = Seed::from_bytes(*blake3::keyed_hash(&self.key, &message).as_bytes().first_chunk().expect("32 bytes"));
            message.zeroize();
            seed
        };
        (0..).zip(labels).map(hash).collect()
    }
}

/// Blocks for so many OTs, the random one included.
fn blocks_for(count: usize) -> usize {
    count.div_ceil(BLOCK) + 1
}

/// The hash of every row; its last block counts with factor 1.
fn hash_rows(seed: &Seed, rows: &[u128], blocks: usize) -> Vec<u128> {
    let key = Aes128::new(seed.bits());
    let mut elements = vec![0; blocks - 1];
    key.ctr(0, &mut elements);
    let mut sums = vec![[0u128; 2]; rows.len() / blocks];
    let mut column = vec![0; sums.len()];
    for (b, &element) in elements.iter().enumerate() {
        column.iter_mut().zip(rows.chunks(blocks)).for_each(|(c, row)| *c = row[b]);
        hash_accumulate(&mut sums, &column, element);
    }
    column.zeroize();
    sums.iter().zip(rows.chunks(blocks)).map(|(&sum, row)| gf128_reduce(sum) ^ row[blocks - 1]).collect()
}

/// The columns of 128 rows as labels.
fn columns(rows: &[u128], blocks: usize, count: usize) -> Vec<Label> {
    let mut words = Zeroizing::new(vec![0u64; 2 * BLOCK * blocks]);
    transpose(rows, blocks, &mut words);
    words.chunks(2).take(count).map(|w| Label::from_bits(u128::from(w[0]) | u128::from(w[1]) << 64)).collect()
}

impl Sender {
    /// From the seeds that base OTs gave for the bits of `delta`, least significant first, in the session of this
    /// identifier.
    ///
    /// # Errors
    /// [`Error::Resource`] if the operating system has no randomness for the challenges.
    ///
    /// # Panics
    /// If there are not 128 seeds.
    pub fn new(session: &[u8; 32], delta: Delta, seeds: &[Seed]) -> Result<Self, Error> {
        assert_eq!(seeds.len(), ROWS, "one seed for each bit of the offset");
        let keys = seeds.iter().map(|seed| Aes128::new(seed.bits())).collect();
        let challenge = Rng::new("brickwork OT extension challenge")?;
        Ok(Sender { delta, keys, next_block: 0, hash: KeyHash::new(session), challenge, failed: false })
    }

    /// `count` more OTs: the labels for choice 0. Those for choice 1 differ from them by the offset. Rounds: 1.
    ///
    /// # Errors
    /// [`Cheat::OtExtension`] if the receiver's rows are inconsistent; after that every call fails, because what the
    /// receiver may have learnt of the offset concerns all its OTs.
    pub fn extend(&mut self, channel: &mut Channel, count: usize) -> Result<Vec<Label>, Error> {
        if self.failed {
            return Err(Cheat::OtExtension.into());
        }
        let blocks = blocks_for(count);
        let mut u = vec![0u128; ROWS * blocks];
        channel.receive_into(msg::ROWS, bytemuck::cast_slice_mut(&mut u))?;
        let mut q = Zeroizing::new(vec![0u128; ROWS * blocks]);
        ctr_rows(&self.keys, self.next_block, &mut q, blocks);
        self.next_block += blocks as u128;
        let mask = |i: usize| ((self.delta.bits() >> i) & 1).wrapping_neg();
        for (i, (q, u)) in q.chunks_mut(blocks).zip(u.chunks(blocks)).enumerate() {
            q.iter_mut().zip(u).for_each(|(q, u)| *q ^= u & mask(i));
        }

        let seed = self.challenge.seed();
        channel.send(msg::SEED, seed.as_bytes())?;
        let mut check = vec![0u128; 1 + ROWS];
        channel.receive_into(msg::CHECK, bytemuck::cast_slice_mut(&mut check))?;
        let (x, t) = (check[0], &check[1..]);
        let hashes = Zeroizing::new(hash_rows(&seed, &q, blocks));
        let difference = hashes.iter().zip(t).enumerate().fold(0, |bad, (i, (q, t))| bad | (q ^ t ^ (x & mask(i))));
        if !bool::from(difference.ct_eq(&0)) {
            self.failed = true;
            return Err(Cheat::OtExtension.into());
        }
        Ok(columns(&q, blocks, count))
    }

    /// `count` OTs of independent random keys, both of each.
    ///
    /// # Errors
    /// As [`Sender::extend`].
    pub fn keys(&mut self, channel: &mut Channel, count: usize) -> Result<Vec<[Seed; 2]>, Error> {
        let labels = Zeroizing::new(self.extend(channel, count)?);
        let zero = self.hash.keys(labels.iter().copied());
        let one = self.hash.keys(labels.iter().map(|&label| label ^ self.delta));
        self.hash.next += count as u64;
        Ok(zero.into_iter().zip(one).map(|(zero, one)| [zero, one]).collect())
    }
}

impl Receiver {
    /// From the pairs of seeds of the base OTs that this party sent, in the session of this identifier.
    ///
    /// # Errors
    /// [`Error::Resource`] if the operating system has no randomness.
    ///
    /// # Panics
    /// If there are not 128 pairs.
    pub fn new(session: &[u8; 32], seeds: &[[Seed; 2]]) -> Result<Self, Error> {
        assert_eq!(seeds.len(), ROWS, "one pair for each bit of the offset");
        let keys = [0, 1].map(|side| seeds.iter().map(|pair| Aes128::new(pair[side].bits())).collect());
        Ok(Receiver { keys, next_block: 0, hash: KeyHash::new(session), rng: Rng::new("brickwork OT extension receiver")? })
    }

    /// More OTs: the label of each choice (0 or 1).
    ///
    /// # Errors
    /// [`Error::Io`] if the connection fails.
    pub fn extend(&mut self, channel: &mut Channel, choices: &[u8]) -> Result<Vec<Label>, Error> {
        let blocks = blocks_for(choices.len());
        let mut x = Zeroizing::new(vec![0u128; blocks]);
        for (j, &choice) in choices.iter().enumerate() {
            x[j / BLOCK] |= u128::from(choice & 1) << (j % BLOCK);
        }
        x[blocks - 1] = self.rng.block();
        let mut t = Zeroizing::new(vec![0u128; ROWS * blocks]);
        ctr_rows(&self.keys[0], self.next_block, &mut t, blocks);
        let mut u = vec![0u128; ROWS * blocks];
        ctr_rows(&self.keys[1], self.next_block, &mut u, blocks);
        self.next_block += blocks as u128;
        for (u, t) in u.chunks_mut(blocks).zip(t.chunks(blocks)) {
            u.iter_mut().zip(t).zip(x.iter()).for_each(|((u, t), x)| *u ^= t ^ x);
        }
        channel.send(msg::ROWS, bytemuck::cast_slice(&u))?;

        let seed = Seed::from_bytes(channel.receive(msg::SEED, SEED_BYTES)?.try_into().expect("16 bytes"));
        let mut check = hash_rows(&seed, &x, blocks);
        check.extend(hash_rows(&seed, &t, blocks));
        channel.send(msg::CHECK, bytemuck::cast_slice(&check))?;
        channel.flush()?;
        Ok(columns(&t, blocks, choices.len()))
    }

    /// OTs of independent random keys: the one of each choice.
    ///
    /// # Errors
    /// As [`Receiver::extend`].
    pub fn keys(&mut self, channel: &mut Channel, choices: &[u8]) -> Result<Vec<Seed>, Error> {
        let labels = Zeroizing::new(self.extend(channel, choices)?);
        let keys = self.hash.keys(labels.iter().copied());
        self.hash.next += choices.len() as u64;
        Ok(keys)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::{Tamper, memory_pair};

    fn deal() -> (Sender, Receiver, Delta) {
        let mut rng = Rng::new("test dealer").unwrap();
        let delta = rng.delta();
        let pairs: Vec<[Seed; 2]> = (0..ROWS).map(|_| [rng.seed(), rng.seed()]).collect();
        let chosen: Vec<Seed> = pairs.iter().enumerate().map(|(i, p)| p[(delta.bits() >> i & 1) as usize].clone()).collect();
        (Sender::new(&[3; 32], delta, &chosen).unwrap(), Receiver::new(&[3; 32], &pairs).unwrap(), delta)
    }

    type Labels = Result<Vec<Label>, Error>;

    fn run(sender: &mut Sender, receiver: &mut Receiver, choices: &[u8], tamper: Option<Tamper>) -> (Labels, Labels) {
        let (mut left, mut right) = memory_pair();
        if let Some(tamper) = tamper {
            right.set_tamper(tamper);
        }
        std::thread::scope(|scope| {
            let receiver = scope.spawn(move || receiver.extend(&mut right, choices));
            let sent = sender.extend(&mut left, choices.len());
            drop(left);
            (sent, receiver.join().unwrap())
        })
    }

    fn refused(result: Labels) -> bool {
        match result {
            Err(Error::Peer(cheat)) => cheat == Cheat::OtExtension,
            Ok(_) => false,
            Err(other) => panic!("{other}"),
        }
    }

    /// Against the ideal functionality: T = R ⊕ b·Δ, and R fresh in every call.
    #[test]
    fn labels_differ_by_the_offset_where_the_choice_is_1() {
        let (mut sender, mut receiver, delta) = deal();
        let mut rng = Rng::new("test").unwrap();
        let mut seen = std::collections::HashSet::new();
        for count in [0usize, 1, 127, 128, 129, 1000, 20_000] {
            let choices: Vec<u8> = (0..count).map(|_| rng.below(2) as u8).collect();
            let (sent, got) = run(&mut sender, &mut receiver, &choices, None);
            let (sent, got) = (sent.unwrap(), got.unwrap());
            assert_eq!((sent.len(), got.len()), (count, count));
            for ((r, t), b) in sent.iter().zip(&got).zip(&choices) {
                assert_eq!(*t, *r ^ delta.times(*b));
                assert!(seen.insert(r.bits()), "a label came twice");
            }
        }
    }

    /// As independent OTs: the receiver's key is the chosen one of the pair, and no key comes twice.
    #[test]
    fn keys_are_the_chosen_ones_and_independent() {
        let (mut sender, mut receiver, _) = deal();
        let (mut left, mut right) = memory_pair();
        let choices: Vec<u8> = (0..300).map(|i| (i * i / 5 % 2) as u8).collect();
        let mut seen = std::collections::HashSet::new();
        for _ in 0..2 {
            let (pairs, chosen) = std::thread::scope(|scope| {
                let chosen = scope.spawn(|| receiver.keys(&mut right, &choices));
                (sender.keys(&mut left, choices.len()).unwrap(), chosen.join().unwrap().unwrap())
            });
            for ((pair, key), &choice) in pairs.iter().zip(&chosen).zip(&choices) {
                assert_eq!(pair[choice as usize], *key);
                assert!(pair.iter().all(|key| seen.insert(*key.as_bytes())));
            }
        }
    }

    /// A receiver that uses another choice in e rows guesses e bits of the offset: survives with probability 2^-e, and
    /// from below: it does survive that often, so it really cheats.
    #[test]
    fn row_02_inconsistent_rows_survive_as_often_as_bits_are_guessed() {
        for e in 1..=3usize {
            let (mut survived, trials) = (0, 240);
            for trial in 0..trials {
                let (mut sender, mut receiver, _) = deal();
                let tamper: Tamper = Box::new(move |tag, bytes| {
                    if tag == msg::ROWS {
                        let row = bytes.len() / ROWS;
                        (0..e).for_each(|k| bytes[row * ((trial + 31 * k) % ROWS) + trial % 16] ^= 1 << k);
                    }
                });
                let (sent, _) = run(&mut sender, &mut receiver, &[1; 200], Some(tamper));
                survived += usize::from(!refused(sent));
            }
            let p = 0.5f64.powi(e as i32);
            let (expected, sigma) = (trials as f64 * p, (trials as f64 * p * (1.0 - p)).sqrt());
            assert!((survived as f64 - expected).abs() < 4.5 * sigma, "{e} rows: {survived} of {trials}");
        }
    }

    #[test]
    fn row_02_wrong_answers_are_refused_and_the_sender_is_done() {
        for word in [1, 5, 128] {
            let (mut sender, mut receiver, _) = deal();
            let tamper: Tamper = Box::new(move |tag, bytes| {
                if tag == msg::CHECK {
                    bytes[16 * word + 7] ^= 0x20;
                }
            });
            assert!(refused(run(&mut sender, &mut receiver, &[0; 64], Some(tamper)).0));
            assert!(refused(run(&mut sender, &mut receiver, &[0; 64], None).0), "used again after a failed check");
        }
        // x~ alone: seen in every row whose bit of the offset is 1; the lowest bit always is.
        let (mut sender, mut receiver, _) = deal();
        let tamper: Tamper = Box::new(|tag, bytes| {
            if tag == msg::CHECK {
                bytes[3] ^= 1;
            }
        });
        assert!(refused(run(&mut sender, &mut receiver, &[0; 64], Some(tamper)).0));
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
            assert!(matches!(sent, Err(Error::Peer(Cheat::UnexpectedMessage))));
        }
    }
}
