//! Correlated OT extension: from 128 base OTs to any number of OTs whose two labels differ by one offset,
//! which the sender chooses. IKNP (Ishai, Kilian, Nissim, Petrank 2003) with the consistency check of
//! SoftSpokenOT (Roy, CRYPTO 2022, eprint 2022/192) for k = 1.
//!
//! ```text
//!   receiver -> sender     for each of the 128 base OTs a row  u_i = PRG(k0_i) ⊕ PRG(k1_i) ⊕ x
//!                          x~ and t~_0 … t~_127, for a check whose seed is a hash of the rows
//! ```
//!
//! `x` are the receiver's choice bits and a block of 128 random ones. The sender, who got `k_{Δ_i}` from base
//! OT i, has `q_i = PRG(k_{Δ_i}) ⊕ Δ_i·u_i = t_i ⊕ Δ_i·x` with `t_i = PRG(k0_i)`; column j of these rows is
//! its label `R_j`, and column j of the receiver's rows is `T_j = R_j ⊕ x_j·Δ`. 16 bytes an OT, receiver to
//! sender.
//!
//! # The check
//!
//! If the receiver used another x in some rows, its later messages would depend on bits of Δ. So both hash
//! every row with `h`, a sum over its blocks: each times a random element of GF(2^128) that a seed gives, and
//! the last, random one as it is. The sender compares `h(q_i) = t~_i ⊕ Δ_i·x~` for every i, all in one go and
//! in constant time. The seed is a hash of the session, of the number of the call's first block and of all
//! rows, a random oracle's answer (Fiat–Shamir), so that everything is one message.
//!
//! **What survives.** Let `x_i` be the choices that row i contains, `d_i = x~ ⊕ h(x_i)` and `e_i = t~_i ⊕
//! h(t_i)`. Row i passes iff `e_i = Δ_i·d_i`. For `d_i = 0` no bit of Δ matters; for each of the g rows with
//! `d_i ≠ 0` the receiver has named the bit Δ_i. So it survives with probability 2^-g, and then knows these g
//! bits: nothing that 2^-g guesses would not give (the lowest bit is 1 and known anyway). All other rows have
//! `h(x_i) = x~`. Two different ones of them hash alike with probability 2^-128, as `h` is linear and was
//! drawn later; no pair of the 128 rows does so but with probability 2^[`CHECK_LOG2`], for each set of rows
//! that the receiver asks the oracle about: a receiver that tries 2^q sets succeeds with probability 2^(q -
//! 115). (Trying does not help it to guess bits of Δ: what it has seen hides Δ, and a wrong answer ends the
//! session.) Then they contain one x, which is the receiver's input, and it knows how far the labels deviate
//! in the g named rows: it holds `R_j ⊕ x_j·Δ` and no other label. This is the functionality that Roy proves
//! sufficient: correlated OT whose receiver may guess bits of Δ and is caught if it is wrong.
//!
//! KOS (Keller, Orsini, Scholl 2015) compare one sum over all rows instead; the proof that this suffices is
//! wrong, as Roy shows. Here each row is compared.
//!
//! **What the answer tells.** The random block hides x in x~, and `t~_i = h(q_i) ⊕ Δ_i·x~` is what the sender
//! can compute itself.
//!
//! A failed check has told the receiver something about Δ, so the base OTs are spent with it: the sender
//! refuses to go on.
//!
//! The labels are correlated by design. [`CotSender::keys`] and [`CotReceiver::keys`] hash them into
//! independent OTs (the hash is BLAKE3, a random oracle here, under a key of the series and of all rows so
//! far, and over the OT's number). Unhashed they must never be keys.

use brickwork_kernels::{Aes128, ctr_rows, gf128_reduce, hash_accumulate, transpose};
use serde::{Deserialize, Serialize};
use subtle::ConstantTimeEq;
use zeroize::{Zeroize, ZeroizeOnDrop, Zeroizing};

use super::cot::{CotReceiver, CotSender, Series};
use super::{BASE_OTS, Cheat, Direction};
use brickwork_base::Error;
use brickwork_base::label::{Delta, Label};
use brickwork_base::random::{Rng, SEED_BYTES, Seed};
use brickwork_stock::{Counter, Range, Ranges};
use brickwork_wire::Channel;

/// The messages of the extension.
pub mod msg {
    use brickwork_wire::Tag;

    /// Receiver: 128 rows of one block for each 128 OTs, and one more; in chunks.
    pub const ROWS: Tag = Tag(24);
    /// Receiver: x~, then t~ of each row.
    pub const CHECK: Tag = Tag(26);
}

/// Rows: base OTs, bits of the offset.
const ROWS: usize = BASE_OTS;
/// Bits of a block.
const BLOCK: usize = 128;
/// The counter of blocks of 128 OTs: seeds that are used for several entries of a log draw those of each from
/// its own range.
const BLOCKS: Counter = Counter::new("blocks of OTs", 40);
/// The counter of hash keys: of OTs that are made independent, each has a number of its own.
const KEYS: Counter = Counter::new("hash keys of OTs", 45);

/// The counters of blocks and of hash keys of a series: a session may have one in each direction.
fn counters(series: &Series) -> [Counter; 2] {
    match series.sender() {
        Direction::GarblerSends => [BLOCKS, KEYS],
        Direction::EvaluatorSends => [
            BLOCKS.named("blocks of OTs that the evaluator sends"),
            KEYS.named("hash keys of OTs that the evaluator sends"),
        ],
    }
}

/// The range of a counter for seeds that are new.
fn of_setup(counter: &Counter) -> Range {
    Ranges::of_setup().take(counter).expect("nothing is taken")
}
/// Blocks of a row that are computed and sent at a time: what is not yet labels stays in the cache.
const CHUNK: usize = 64;

/// Base-2 logarithm of the probability that, for one set of rows, the check lets rows differ whose bits of
/// the offset the receiver has not guessed: 2^-128 for each of less than 2^13 pairs of rows. The receiver may
/// try more sets than one before it sends any, at the price of hashing each.
pub const CHECK_LOG2: f64 = 13.0 - 128.0;

/// The party that chooses the offset.
pub struct Sender {
    delta: Delta,
    /// What the keys are made of, for a store.
    seeds: Vec<Seed>,
    keys: Vec<Aes128>,
    counters: [Counter; 2],
    blocks: Range,
    hash: KeyHash,
    oracle: Oracle,
    /// False from the beginning of a call until its check has passed.
    sound: bool,
}

/// The party that chooses the bits.
pub struct Receiver {
    /// What the keys are made of, for a store.
    pairs: Vec<[Seed; 2]>,
    keys: [Vec<Aes128>; 2],
    counters: [Counter; 2],
    blocks: Range,
    hash: KeyHash,
    oracle: Oracle,
    rng: Rng,
}

impl Drop for Sender {
    fn drop(&mut self) {
        self.delta.zeroize();
    }
}

/// What a stock keeps of a [`Sender`].
#[derive(Clone, Serialize, Deserialize, Zeroize, ZeroizeOnDrop)]
pub struct SenderState {
    seeds: Vec<[u8; SEED_BYTES]>,
    delta: u128,
}

/// What a stock keeps of a [`Receiver`].
#[derive(Clone, Serialize, Deserialize, Zeroize, ZeroizeOnDrop)]
pub struct ReceiverState {
    pairs: Vec<[[u8; SEED_BYTES]; 2]>,
}

/// Makes a key of a label; counts, so that no two OTs share a hash. The hash is another one after each call:
/// until it has the receiver's rows, a sender cannot know what keys its choices lead to. It could know R_j or
/// R_j ⊕ Δ before, with an offset of few ones, and so, of what depends on both keys alike, everything; it
/// would choose among base OTs until it likes that.
struct KeyHash {
    key: [u8; 32],
    numbers: Range,
}

impl KeyHash {
    fn new(series: &Series) -> Self {
        let key = blake3::derive_key("brickwork 2026-11 keys from correlated OTs", series.as_bytes());
        KeyHash { key, numbers: of_setup(&KEYS) }
    }

    /// After a call whose check had this seed, a hash of its rows.
    fn follow(&mut self, seed: &Seed) {
        let before = [&self.key[..], seed.as_bytes()].concat();
        self.key = blake3::derive_key("brickwork 2026-11 keys from correlated OTs after a call", &before);
    }

    /// The keys that labels of OTs `first`, `first + 1`, … stand for.
    fn keys(&self, first: u64, labels: impl Iterator<Item = Label>) -> Vec<Seed> {
        let hash = |(i, label): (u64, Label)| {
            let mut message = [0; 24];
            message[..8].copy_from_slice(&(first + i).to_le_bytes());
            message[8..].copy_from_slice(&label.to_bytes());
            let seed = Seed::from_bytes(
                *blake3::keyed_hash(&self.key, &message).as_bytes().first_chunk().expect("32 bytes"),
            );
            message.zeroize();
            seed
        };
        (0..).zip(labels).map(hash).collect()
    }
}

/// Gives the check's seed for a call's rows.
struct Oracle(blake3::Hasher);

impl Oracle {
    fn new(series: &Series) -> Self {
        let mut hasher = blake3::Hasher::new_derive_key("brickwork 2026-11 OT extension challenge");
        hasher.update(series.as_bytes());
        Oracle(hasher)
    }

    /// For a call that begins at this block.
    fn call(&self, first: u64) -> Self {
        let mut hasher = self.0.clone();
        hasher.update(&u128::from(first).to_le_bytes());
        Oracle(hasher)
    }

    fn absorb(&mut self, rows: &[u128]) {
        self.0.update(bytemuck::cast_slice(rows));
    }

    fn seed(&self) -> Seed {
        Seed::from_bytes(*self.0.finalize().as_bytes().first_chunk().expect("32 bytes"))
    }
}

/// Blocks for so many OTs, the random one included.
fn blocks_for(count: usize) -> usize {
    count.div_ceil(BLOCK) + 1
}

/// `h`, of several rows side by side.
struct RowHash {
    elements: Rng,
    sums: Zeroizing<Vec<[u128; 2]>>,
}

impl RowHash {
    fn new(seed: &Seed, rows: usize) -> Self {
        RowHash {
            elements: Rng::expand(seed, "brickwork OT extension check"),
            sums: Zeroizing::new(vec![[0; 2]; rows]),
        }
    }

    /// Takes in one block of each row.
    fn absorb(&mut self, column: &[u128]) {
        hash_accumulate(&mut self.sums, column, self.elements.block());
    }

    /// Takes in the last block of each row.
    fn finish(self, column: &[u128]) -> Vec<u128> {
        self.sums.iter().zip(column).map(|(&sum, last)| gf128_reduce(sum) ^ last).collect()
    }

    /// The hashes of the rows of which `labels` are the columns.
    fn of_labels(seed: &Seed, labels: &[Label]) -> Vec<u128> {
        let mut hash = RowHash::new(seed, ROWS);
        let mut rows = Zeroizing::new(vec![0; ROWS]);
        let mut blocks = labels.chunks_exact(BLOCK);
        let last = blocks.next_back().unwrap_or_default();
        for block in blocks {
            transpose(bytemuck::cast_slice(block), 1, bytemuck::cast_slice_mut(&mut rows));
            hash.absorb(&rows);
        }
        transpose(bytemuck::cast_slice(last), 1, bytemuck::cast_slice_mut(&mut rows));
        hash.finish(&rows)
    }

    /// The hash of the one row that the choices are.
    fn of_choices(seed: &Seed, x: &[u128]) -> Vec<u128> {
        let mut hash = RowHash::new(seed, 1);
        let mut blocks = x.chunks_exact(1);
        let last = blocks.next_back().unwrap_or_default();
        blocks.for_each(|block| hash.absorb(block));
        hash.finish(last)
    }
}

/// The labels that the columns of the rows are.
fn to_labels(rows: &[u128], labels: &mut [Label]) {
    transpose(rows, rows.len() / ROWS, bytemuck::cast_slice_mut(labels));
}

/// The first `count` labels; nothing remains of the others.
fn first(mut labels: Zeroizing<Vec<Label>>, count: usize) -> Vec<Label> {
    labels[count..].iter_mut().for_each(Zeroize::zeroize);
    labels.truncate(count);
    std::mem::take(&mut *labels)
}

impl Sender {
    /// From the seeds that base OTs gave for the bits of `delta`, least significant first.
    ///
    /// # Panics
    /// If there are not 128 seeds.
    pub fn new(series: &Series, delta: Delta, seeds: &[Seed]) -> Self {
        assert_eq!(seeds.len(), ROWS, "one seed for each bit of the offset");
        let keys = seeds.iter().map(|seed| Aes128::new(seed.bits())).collect();
        let (hash, oracle) = (KeyHash::new(series), Oracle::new(series));
        let (counters, blocks) = (counters(series), of_setup(&BLOCKS));
        Sender { delta, seeds: seeds.to_vec(), keys, counters, blocks, hash, oracle, sound: true }
    }

    /// For each bit of the offset all ones or zero. The compiler must not know that they are nothing else: it
    /// would make two loops of the one below, and the offset would be in its time (it did; `cargo xtask
    /// constant-time` shows it).
    fn masks(&self) -> Zeroizing<Vec<u128>> {
        std::hint::black_box(Zeroizing::new(
            (0..ROWS).map(|i| (self.delta.bits() >> i & 1).wrapping_neg()).collect(),
        ))
    }
}

impl CotSender for Sender {
    type State = SenderState;

    const CHECK_LOG2: f64 = CHECK_LOG2;

    /// Nothing is sent: the seeds are all that is needed.
    fn set_up(_: &mut Channel, series: &Series, offset: Delta, seeds: &[Seed]) -> Result<Self, Error> {
        Ok(Sender::new(series, offset, seeds))
    }

    fn restored(series: &Series, state: &SenderState) -> Result<Self, Error> {
        let seeds: Vec<Seed> = state.seeds.iter().map(|&bytes| Seed::from_bytes(bytes)).collect();
        match (seeds.len(), Delta::checked(state.delta)) {
            (ROWS, Some(delta)) => {
                let mut sender = Sender::new(series, delta, &seeds);
                // Nothing is drawn under seeds that are not new before a range is entered.
                (sender.blocks, sender.hash.numbers) = (BLOCKS.none(), KEYS.none());
                Ok(sender)
            }
            _ => Err(malformed()),
        }
    }

    fn state(&self) -> SenderState {
        let seeds = self.seeds.iter().map(|seed| *seed.as_bytes()).collect();
        SenderState { seeds, delta: self.delta.bits() }
    }

    fn offset(&self) -> Label {
        self.delta.label()
    }

    fn enter(&mut self, ranges: &mut Ranges) -> Result<(), Error> {
        let [blocks, keys] = &self.counters;
        (self.blocks, self.hash.numbers) = (ranges.take(blocks)?, ranges.take(keys)?);
        Ok(())
    }

    /// Rounds: half of one. [`Cheat::OtExtension`] if the receiver's rows are inconsistent.
    fn extend(&mut self, channel: &mut Channel, count: usize) -> Result<Vec<Label>, Error> {
        if !std::mem::replace(&mut self.sound, false) {
            return Err(Cheat::OtExtension.into());
        }
        let masks = self.masks();
        let mut labels = Zeroizing::new(vec![Label::ZERO; BLOCK * blocks_for(count)]);
        let mut u = vec![0u128; labels.len().min(ROWS * CHUNK)];
        let mut q = Zeroizing::new(u.clone());
        let mut block = self.blocks.draw(blocks_for(count) as u64)?;
        let mut oracle = self.oracle.call(block);
        for chunk in labels.chunks_mut(BLOCK * CHUNK) {
            let blocks = chunk.len() / BLOCK;
            let (u, q) = (&mut u[..chunk.len()], &mut q[..chunk.len()]);
            channel.receive_into(msg::ROWS, bytemuck::cast_slice_mut(u))?;
            oracle.absorb(u);
            ctr_rows(&self.keys, block.into(), q, blocks);
            block += blocks as u64;
            for (i, (q, u)) in q.chunks_mut(blocks).zip(u.chunks(blocks)).enumerate() {
                q.iter_mut().zip(u).for_each(|(q, u)| *q ^= u & masks[i]);
            }
            to_labels(q, chunk);
        }

        let seed = oracle.seed();
        let mut check = [0u128; 1 + ROWS];
        channel.receive_into(msg::CHECK, bytemuck::cast_slice_mut(&mut check))?;
        let (x, t) = (check[0], &check[1..]);
        let hashes = Zeroizing::new(RowHash::of_labels(&seed, &labels));
        let difference =
            hashes.iter().zip(t).enumerate().fold(0, |bad, (i, (q, t))| bad | (q ^ t ^ (x & masks[i])));
        if !bool::from(difference.ct_eq(&0)) {
            return Err(Cheat::OtExtension.into());
        }
        self.sound = true;
        self.hash.follow(&seed);
        Ok(first(labels, count))
    }

    fn keys(&mut self, labels: &[Label]) -> Result<Vec<[Seed; 2]>, Error> {
        let first = self.hash.numbers.draw(labels.len() as u64)?;
        let zero = self.hash.keys(first, labels.iter().copied());
        let one = self.hash.keys(first, labels.iter().map(|&label| label ^ self.delta));
        // Copied: what is moved out of a list is not erased there.
        Ok(zero.iter().zip(&one).map(|(zero, one)| [zero.clone(), one.clone()]).collect())
    }
}

impl Receiver {
    /// From the pairs of seeds of the base OTs that this party sent.
    ///
    /// # Errors
    /// [`Error::Resource`] if the operating system has no randomness.
    ///
    /// # Panics
    /// If there are not 128 pairs.
    pub fn new(series: &Series, seeds: &[[Seed; 2]]) -> Result<Self, Error> {
        assert_eq!(seeds.len(), ROWS, "one pair for each bit of the offset");
        let keys = [0, 1].map(|side| seeds.iter().map(|pair| Aes128::new(pair[side].bits())).collect());
        let (hash, oracle) = (KeyHash::new(series), Oracle::new(series));
        let rng = Rng::new("brickwork OT extension receiver")?;
        let (counters, blocks) = (counters(series), of_setup(&BLOCKS));
        Ok(Receiver { pairs: seeds.to_vec(), keys, counters, blocks, hash, oracle, rng })
    }

    /// [`CotReceiver::extend`] with rows that are altered, chunk by chunk, before they are sent and hashed:
    /// honest parties leave them alone.
    fn extend_altered(
        &mut self,
        channel: &mut Channel,
        choices: &[u8],
        mut alter: impl FnMut(&mut [u128]),
    ) -> Result<Vec<Label>, Error> {
        let mut x = Zeroizing::new(vec![0u128; blocks_for(choices.len())]);
        for (j, &choice) in choices.iter().enumerate() {
            x[j / BLOCK] |= u128::from(choice & 1) << (j % BLOCK);
        }
        // One fresh mask for one hash, or two answers would tell the difference of choices.
        if let Some(mask) = x.last_mut() {
            *mask = self.rng.block();
        }
        let mut labels = Zeroizing::new(vec![Label::ZERO; BLOCK * x.len()]);
        let mut u = vec![0u128; labels.len().min(ROWS * CHUNK)];
        let mut t = Zeroizing::new(u.clone());
        let mut block = self.blocks.draw(x.len() as u64)?;
        let mut oracle = self.oracle.call(block);
        for (x, chunk) in x.chunks(CHUNK).zip(labels.chunks_mut(BLOCK * CHUNK)) {
            let (u, t) = (&mut u[..chunk.len()], &mut t[..chunk.len()]);
            ctr_rows(&self.keys[0], block.into(), t, x.len());
            ctr_rows(&self.keys[1], block.into(), u, x.len());
            block += x.len() as u64;
            for (u, t) in u.chunks_mut(x.len()).zip(t.chunks(x.len())) {
                u.iter_mut().zip(t).zip(x).for_each(|((u, t), x)| *u ^= t ^ x);
            }
            alter(u);
            oracle.absorb(u);
            channel.send(msg::ROWS, bytemuck::cast_slice(u))?;
            to_labels(t, chunk);
        }

        let seed = oracle.seed();
        let check = [RowHash::of_choices(&seed, &x), RowHash::of_labels(&seed, &labels)].concat();
        channel.send(msg::CHECK, bytemuck::cast_slice(&check))?;
        channel.flush()?;
        self.hash.follow(&seed);
        Ok(first(labels, choices.len()))
    }
}

impl CotReceiver for Receiver {
    type State = ReceiverState;

    /// Nothing is sent: the seeds are all that is needed.
    fn set_up(_: &mut Channel, series: &Series, seeds: &[[Seed; 2]]) -> Result<Self, Error> {
        Receiver::new(series, seeds)
    }

    fn restored(series: &Series, state: &ReceiverState) -> Result<Self, Error> {
        let pairs: Vec<[Seed; 2]> = state.pairs.iter().map(|pair| pair.map(Seed::from_bytes)).collect();
        if pairs.len() != ROWS {
            return Err(malformed());
        }
        let mut receiver = Receiver::new(series, &pairs)?;
        (receiver.blocks, receiver.hash.numbers) = (BLOCKS.none(), KEYS.none());
        Ok(receiver)
    }

    fn state(&self) -> ReceiverState {
        let pair = |pair: &[Seed; 2]| pair.each_ref().map(|seed| *seed.as_bytes());
        ReceiverState { pairs: self.pairs.iter().map(pair).collect() }
    }

    fn enter(&mut self, ranges: &mut Ranges) -> Result<(), Error> {
        let [blocks, keys] = &self.counters;
        (self.blocks, self.hash.numbers) = (ranges.take(blocks)?, ranges.take(keys)?);
        Ok(())
    }

    fn extend(&mut self, channel: &mut Channel, choices: &[u8]) -> Result<Vec<Label>, Error> {
        self.extend_altered(channel, choices, |_| {})
    }

    fn keys(&mut self, labels: &[Label]) -> Result<Vec<Seed>, Error> {
        let first = self.hash.numbers.draw(labels.len() as u64)?;
        Ok(self.hash.keys(first, labels.iter().copied()))
    }
}

fn malformed() -> Error {
    Error::Stock("the state of an OT extension is malformed or of another version".into())
}

#[cfg(test)]
mod tests {
    use super::*;
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

    type Labels = Result<Vec<Label>, Error>;

    fn run(
        sender: &mut Sender,
        receiver: &mut Receiver,
        choices: &[u8],
        tamper: Option<Tamper>,
    ) -> (Labels, Labels) {
        run_altered(sender, receiver, choices, |_| {}, tamper)
    }

    /// A receiver that alters its rows and knows the check's seed for what it sends, and then alters its
    /// messages, too.
    fn run_altered(
        sender: &mut Sender,
        receiver: &mut Receiver,
        choices: &[u8],
        alter: impl FnMut(&mut [u128]) + Send,
        tamper: Option<Tamper>,
    ) -> (Labels, Labels) {
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

    fn refused(result: Labels) -> bool {
        match result {
            Err(Error::Peer(cheat)) => cheat == Cheat::OtExtension,
            Ok(_) => false,
            Err(other) => panic!("{other}"),
        }
    }

    fn honest(sender: &mut Sender, receiver: &mut Receiver, delta: Delta, choices: &[u8]) -> Vec<Label> {
        let (sent, got) = run(sender, receiver, choices, None);
        let (sent, got) = (sent.unwrap(), got.unwrap());
        assert_eq!((sent.len(), got.len()), (choices.len(), choices.len()));
        assert!(sent.iter().zip(&got).zip(choices).all(|((r, t), b)| *t == *r ^ delta.times(*b)));
        sent
    }

    fn random_choices(count: usize) -> Vec<u8> {
        let mut rng = Rng::replayable("test");
        (0..count).map(|_| rng.below(2) as u8).collect()
    }

    /// Against the ideal functionality: T = R ⊕ b·Δ, and R fresh in every call.
    #[test]
    fn labels_differ_by_the_offset_where_the_choice_is_1() {
        let (mut sender, mut receiver, delta) = deal();
        let mut seen = std::collections::HashSet::new();
        // 63 blocks and the random one fill a chunk.
        let chunk = BLOCK * (CHUNK - 1);
        for count in [0, 1, 127, 128, 129, 1000, chunk - 1, chunk, chunk + 1, chunk + BLOCK, 3 * chunk + 77] {
            let labels = honest(&mut sender, &mut receiver, delta, &random_choices(count));
            assert!(labels.iter().all(|label| seen.insert(label.bits())), "a label came twice");
        }
    }

    #[test]
    fn the_number_of_the_inputs_of_a_large_program() {
        let (mut sender, mut receiver, delta) = deal();
        honest(&mut sender, &mut receiver, delta, &random_choices(131_072));
    }

    /// A receiver that uses another choice in g rows names g bits of the offset: it survives with probability
    /// 2^-g, which is measured from both sides, so it really cheats. It may name either value of a bit; the
    /// lowest bit it knows.
    #[test]
    fn row_02_inconsistent_rows_survive_as_often_as_bits_are_guessed() {
        for named in 0..=1u8 {
            for g in 0..=3usize {
                let (mut survived, trials) = (0, 400);
                for trial in 0..trials {
                    let (mut sender, mut receiver, delta) = deal();
                    let rows: Vec<usize> = (0..g).map(|k| 1 + (trial + 31 * k) % (ROWS - 1)).collect();
                    let (cheat, lie) = (rows.clone(), 4 << (8 * (trial % 16)));
                    let alter = |u: &mut [u128]| {
                        // In the last block, whose hash is itself, so that the other bit can be named in the
                        // answer.
                        let row = u.len() / ROWS;
                        rows.iter().for_each(|i| u[row * (i + 1) - 1] ^= lie);
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
                        "nothing but the guesses counts"
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

    /// As independent OTs: the receiver's key is the chosen one of the pair, and no key comes twice.
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

    /// A deviation in the choices proper is hashed: the answer cannot be patched with a guess of one bit of
    /// the hash.
    #[test]
    fn row_02_a_deviation_in_any_block_is_seen() {
        let count = 2 * BLOCK * CHUNK;
        for position in (0..blocks_for(count)).step_by(17) {
            let (mut sender, mut receiver, _) = deal();
            let mut first_block = 0;
            let alter = |u: &mut [u128]| {
                // Row 0: the offset's lowest bit is 1, so every deviation in it must be seen.
                let blocks = u.len() / ROWS;
                if (first_block..first_block + blocks).contains(&position) {
                    u[position - first_block] ^= 1;
                }
                first_block += blocks;
            };
            assert!(
                refused(run_altered(&mut sender, &mut receiver, &vec![0; count], alter, None).0),
                "block {position}"
            );
        }
    }

    /// Rows changed after they were hashed: the sender asks about what it got.
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
        // x~ (seen in row 0 at least), and t~ of some rows.
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

    /// What is left of base OTs whose messages were replayed or of another session: unrelated seeds.
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

    /// A sender learns nothing from what two answers about the same choices have in common.
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
            assert!(labels.unwrap().iter().zip(got.unwrap()).all(|(r, t)| t == *r ^ delta));
        }
        assert_eq!(answers.lock().unwrap().len(), 3);
    }

    /// The same rows are asked about differently in another session and in another place of the session.
    #[test]
    fn row_16_the_question_depends_on_session_and_place() {
        let seeds = [(3, 0), (4, 0), (3, 2)].map(|(session, block)| {
            let mut oracle = Oracle::new(&series(session)).call(block);
            oracle.absorb(&[1, 2, 3]);
            *oracle.seed().as_bytes()
        });
        assert!(seeds[0] != seeds[1] && seeds[0] != seeds[2] && seeds[1] != seeds[2]);
    }

    /// Who could ask for the same question twice, with other rows, would choose its rows after the question.
    #[test]
    fn row_02_the_question_depends_on_every_row() {
        let question = |parts: &[&[u128]]| {
            let mut oracle = Oracle::new(&series(3)).call(0);
            parts.iter().for_each(|rows| oracle.absorb(rows));
            *oracle.seed().as_bytes()
        };
        let rows: Vec<u128> = (0..256).collect();
        let asked = question(&[&rows]);
        assert_eq!(question(&[&rows[..128], &rows[128..]]), asked);
        for (row, bit) in [(0, 0), (0, 127), (128, 64), (255, 1)] {
            let mut others = rows.clone();
            others[row] ^= 1 << bit;
            assert_ne!(question(&[&others]), asked);
        }
        assert_ne!(question(&[&rows[1..]]), asked);
    }

    /// Two calls that give the same labels, from the same base OTs in the same session, give other keys: what
    /// a sender could know before the rows came does not tell it any.
    #[test]
    fn row_29_no_key_is_known_before_the_rows_are() {
        let (sender, receiver, delta) = deal();
        let got = [(), ()].map(|()| {
            let (mut left, mut right) = memory_pair();
            let mut sender = Sender::new(&series(3), delta, &sender.seeds);
            let mut receiver = Receiver::new(&series(3), &receiver.pairs).unwrap();
            let labels = receiver.extend(&mut right, &[0, 1, 1]).unwrap();
            let offered = sender.extend(&mut left, 3).unwrap();
            let (pairs, chosen) = (sender.keys(&offered).unwrap(), receiver.keys(&labels).unwrap());
            assert!([0, 1, 1].iter().zip(&pairs).zip(&chosen).all(|((&b, pair), key)| pair[b] == *key));
            (offered, pairs)
        });
        assert!(got[0].0 == got[1].0, "the same labels");
        let keys = got.iter().flat_map(|(_, pairs)| pairs.iter().flatten()).map(|key| *key.as_bytes());
        assert_eq!(keys.collect::<std::collections::HashSet<_>>().len(), 12, "and no key twice");
    }

    /// Fixed for good: the hash of a label has the number of its OT in it, counted over the whole session,
    /// and all rows so far.
    #[test]
    fn keys_are_hashes_of_number_and_label() {
        let mut hash = KeyHash::new(&series(3));
        hash.follow(&Seed::from_bytes([8; 16]));
        let key = blake3::derive_key("brickwork 2026-11 keys from correlated OTs", &[3; 32]);
        let key = blake3::derive_key(
            "brickwork 2026-11 keys from correlated OTs after a call",
            &[&key[..], &[8; 16]].concat(),
        );
        let label = Label::from_bits(77);
        let keys = hash.keys(5, std::iter::repeat_n(label, 3));
        for (number, seed) in (5_u64..).zip(keys) {
            let expected = blake3::keyed_hash(&key, &[&number.to_le_bytes()[..], &label.to_bytes()].concat());
            assert_eq!(seed.as_bytes()[..], expected.as_bytes()[..brickwork_base::random::SEED_BYTES]);
        }
    }

    /// Row 16: who has entered no range makes no OT and no key, and sends nothing; numbers of keys are drawn,
    /// so that none serves two OTs.
    #[test]
    fn row_16_nothing_is_made_behind_the_end_of_a_range() {
        let (mut sender, mut receiver, _) = deal();
        let (sent, got) = run(&mut sender, &mut receiver, &[0, 1, 1], None);
        let (sent, got) = (sent.unwrap(), got.unwrap());
        let first = sender.hash.numbers.next();
        sender.keys(&sent).unwrap();
        receiver.keys(&got).unwrap();
        assert_eq!([sender.hash.numbers.next(), receiver.hash.numbers.next()], [first + 3; 2]);
        let mut sender = Sender::restored(&series(3), &sender.state()).unwrap();
        let mut receiver = Receiver::restored(&series(3), &receiver.state()).unwrap();
        assert!(matches!(sender.keys(&sent), Err(Error::Limit(_))));
        assert!(matches!(receiver.keys(&got), Err(Error::Limit(_))));
        let (mut left, mut right) = memory_pair();
        assert!(matches!(receiver.extend(&mut right, &[1]), Err(Error::Limit(_))));
        assert!(matches!(sender.extend(&mut left, 1), Err(Error::Limit(_))));
        assert_eq!((left.sent_bytes(), right.sent_bytes()), (0, 0));
    }

    /// Two series of a session count apart: both enter the ranges of one entry.
    #[test]
    fn row_16_series_in_both_directions_enter_one_entry() {
        let (mut sender, mut receiver, delta) = deal();
        let other = Series::new(&[3; 32], Direction::EvaluatorSends);
        let mut other = Sender::new(&other, delta, &sender.seeds);
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
