//! What OT extensions have in common, whatever their rows are made of: 128 rows at the sender, whose columns
//! are its labels, and a check of each row (module [`extension`](super::extension) has the argument).
//!
//! A row of the sender's is `q = t ⊕ Δ_i·x`, where t is the receiver's and x its choices, a bit each, and
//! a block of random ones behind them. What the receiver sends to make it so are corrections: a row of them
//! for each row, or one for several.

use std::ops::Range as Rows;

use brickwork_kernels::{gf128_reduce, hash_accumulate, transpose};
use serde::{Deserialize, Serialize};
use subtle::ConstantTimeEq;
use zeroize::{Zeroize, ZeroizeOnDrop, Zeroizing};

use super::cot::Series;
use super::{BASE_OTS, Cheat, Direction};
use brickwork_base::Error;
use brickwork_base::label::{Delta, Label};
use brickwork_base::random::{Rng, SEED_BYTES, Seed};
use brickwork_stock::{Counter, Range, Ranges};
use brickwork_wire::Channel;

/// The messages of the extension.
pub mod msg {
    use brickwork_wire::Tag;

    /// Receiver: rows of one block for each 128 OTs, and one more; in chunks.
    pub const ROWS: Tag = Tag(24);
    /// Receiver, at the beginning of a series whose rows come from trees: what their sender completes them
    /// by.
    pub const TREES: Tag = Tag(25);
    /// Receiver: x~, then t~ of each row.
    pub const CHECK: Tag = Tag(26);
}

/// Rows: base OTs, bits of the offset.
pub(super) const ROWS: usize = BASE_OTS;
/// Bits of a block.
pub(super) const BLOCK: usize = 128;
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
pub(super) const CHUNK: usize = 64;

/// Base-2 logarithm of the probability that, for one set of rows, the check lets rows differ whose bits of
/// the offset the receiver has not guessed: 2^-128 for each of less than 2^13 pairs of rows. The receiver may
/// try more sets than one before it sends any, at the price of hashing each.
pub const CHECK_LOG2: f64 = 13.0 - 128.0;

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

/// Returns the blocks for so many OTs, the random one included.
pub(super) fn blocks_for(count: usize) -> usize {
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

/// What a stock keeps of a sender: what base OTs gave it.
#[derive(Clone, Serialize, Deserialize, Zeroize, ZeroizeOnDrop)]
pub struct SenderState {
    seeds: Vec<[u8; SEED_BYTES]>,
    delta: u128,
}

impl SenderState {
    pub(super) fn new(seeds: &[Seed], delta: Delta) -> Self {
        SenderState { seeds: seeds.iter().map(|seed| *seed.as_bytes()).collect(), delta: delta.bits() }
    }

    /// Returns the 128 seeds, and the offset.
    pub(super) fn read(&self) -> Result<(Vec<Seed>, Delta), Error> {
        match (self.seeds.len(), Delta::checked(self.delta)) {
            (ROWS, Some(delta)) => Ok((self.seeds.iter().copied().map(Seed::from_bytes).collect(), delta)),
            _ => Err(malformed()),
        }
    }
}

/// What a stock keeps of a receiver: what base OTs gave it.
#[derive(Clone, Serialize, Deserialize, Zeroize, ZeroizeOnDrop)]
pub struct ReceiverState {
    pairs: Vec<[[u8; SEED_BYTES]; 2]>,
}

impl ReceiverState {
    pub(super) fn new(pairs: &[[Seed; 2]]) -> Self {
        let pair = |pair: &[Seed; 2]| pair.each_ref().map(|seed| *seed.as_bytes());
        ReceiverState { pairs: pairs.iter().map(pair).collect() }
    }

    /// Returns the 128 pairs.
    pub(super) fn read(&self) -> Result<Vec<[Seed; 2]>, Error> {
        match self.pairs.len() {
            ROWS => Ok(self.pairs.iter().map(|pair| pair.map(Seed::from_bytes)).collect()),
            _ => Err(malformed()),
        }
    }
}

/// The blocks of labels, corrections and rows that a call holds in memory.
struct Buffers {
    labels: Zeroizing<Vec<Label>>,
    corrections: Vec<u128>,
    rows: Zeroizing<Vec<u128>>,
}

impl Buffers {
    /// For so many OTs, with so many rows of corrections.
    fn new(count: usize, corrections: usize) -> Self {
        let chunk = blocks_for(count).min(CHUNK);
        Buffers {
            labels: Zeroizing::new(vec![Label::ZERO; BLOCK * blocks_for(count)]),
            corrections: vec![0; corrections * chunk],
            rows: Zeroizing::new(vec![0; ROWS * chunk]),
        }
    }
}

/// The sender's side of a series.
pub(super) struct SenderSide {
    pub delta: Delta,
    counters: [Counter; 2],
    blocks: Range,
    hash: KeyHash,
    oracle: Oracle,
    /// False from the beginning of a call until its check has passed.
    sound: bool,
}

impl Drop for SenderSide {
    fn drop(&mut self) {
        self.delta.zeroize();
    }
}

impl SenderSide {
    /// Begins a series under seeds that are new.
    pub fn new(series: &Series, delta: Delta) -> Self {
        let (hash, oracle) = (KeyHash::new(series), Oracle::new(series));
        SenderSide { delta, counters: counters(series), blocks: of_setup(&BLOCKS), hash, oracle, sound: true }
    }

    /// Resumes one that was kept: nothing is drawn under seeds that are not new before a range is entered.
    pub fn restored(series: &Series, delta: Delta) -> Self {
        let mut side = SenderSide::new(series, delta);
        (side.blocks, side.hash.numbers) = (BLOCKS.none(), KEYS.none());
        side
    }

    pub fn enter(&mut self, ranges: &mut Ranges) -> Result<(), Error> {
        let [blocks, keys] = &self.counters;
        (self.blocks, self.hash.numbers) = (ranges.take(blocks)?, ranges.take(keys)?);
        Ok(())
    }

    /// For each bit of the offset all ones or zero. The compiler must not know that they are nothing else: it
    /// would make two loops of one that uses them, and the offset would be in its time (it did; `cargo xtask
    /// constant-time` shows it).
    fn masks(&self) -> Zeroizing<Vec<u128>> {
        std::hint::black_box(Zeroizing::new(
            (0..ROWS).map(|i| (self.delta.bits() >> i & 1).wrapping_neg()).collect(),
        ))
    }

    /// Makes so many OTs of rows that are corrected by the receiver's: those of the numbers `corrections`
    /// come, those before them are 0. `make` is given the number of a chunk's first block, its corrections
    /// and the masks of the offset's bits, and makes the chunk's 128 rows.
    pub fn call(
        &mut self,
        channel: &mut Channel,
        count: usize,
        corrections: Rows<usize>,
        mut make: impl FnMut(u64, &[u128], &[u128], &mut [u128]),
    ) -> Result<Vec<Label>, Error> {
        if !std::mem::replace(&mut self.sound, false) {
            return Err(Cheat::OtExtension.into());
        }
        let mut block = self.blocks.draw(blocks_for(count) as u64)?;
        let mut oracle = self.oracle.call(block);
        let masks = self.masks();
        let mut buffers = Buffers::new(count, corrections.end);
        for chunk in buffers.labels.chunks_mut(BLOCK * CHUNK) {
            let blocks = chunk.len() / BLOCK;
            let corrected = &mut buffers.corrections[..corrections.end * blocks];
            let rows = &mut buffers.rows[..chunk.len()];
            let sent = &mut corrected[corrections.start * blocks..];
            channel.receive_into(msg::ROWS, bytemuck::cast_slice_mut(sent))?;
            oracle.absorb(corrected);
            make(block, corrected, &masks, rows);
            to_labels(rows, chunk);
            block += blocks as u64;
        }
        self.finish(channel, &oracle, buffers.labels, count)
    }

    /// Receives the receiver's answer about all rows, and checks it. Returns the first `count` labels.
    fn finish(
        &mut self,
        channel: &mut Channel,
        oracle: &Oracle,
        labels: Zeroizing<Vec<Label>>,
        count: usize,
    ) -> Result<Vec<Label>, Error> {
        let (seed, masks) = (oracle.seed(), self.masks());
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

    pub fn keys(&mut self, labels: &[Label]) -> Result<Vec<[Seed; 2]>, Error> {
        let first = self.hash.numbers.draw(labels.len() as u64)?;
        let zero = self.hash.keys(first, labels.iter().copied());
        let one = self.hash.keys(first, labels.iter().map(|&label| label ^ self.delta));
        // Copied: what is moved out of a list is not erased there.
        Ok(zero.iter().zip(&one).map(|(zero, one)| [zero.clone(), one.clone()]).collect())
    }

    /// Returns the number of the next key.
    #[cfg(test)]
    pub fn next_key(&self) -> u64 {
        self.hash.numbers.next()
    }
}

/// The receiver's side of a series.
pub(super) struct ReceiverSide {
    counters: [Counter; 2],
    blocks: Range,
    hash: KeyHash,
    oracle: Oracle,
    rng: Rng,
}

impl ReceiverSide {
    /// Does what [`SenderSide::new`] does.
    ///
    /// # Errors
    /// [`Error::Resource`] if the operating system has no randomness.
    pub fn new(series: &Series) -> Result<Self, Error> {
        let (hash, oracle) = (KeyHash::new(series), Oracle::new(series));
        let rng = Rng::new("brickwork OT extension receiver")?;
        Ok(ReceiverSide { counters: counters(series), blocks: of_setup(&BLOCKS), hash, oracle, rng })
    }

    /// Does what [`SenderSide::restored`] does.
    ///
    /// # Errors
    /// As [`ReceiverSide::new`].
    pub fn restored(series: &Series) -> Result<Self, Error> {
        let mut side = ReceiverSide::new(series)?;
        (side.blocks, side.hash.numbers) = (BLOCKS.none(), KEYS.none());
        Ok(side)
    }

    pub fn enter(&mut self, ranges: &mut Ranges) -> Result<(), Error> {
        let [blocks, keys] = &self.counters;
        (self.blocks, self.hash.numbers) = (ranges.take(blocks)?, ranges.take(keys)?);
        Ok(())
    }

    /// Returns the row x of these choices.
    pub fn row(&mut self, choices: &[u8]) -> Zeroizing<Vec<u128>> {
        let mut x = Zeroizing::new(vec![0u128; blocks_for(choices.len())]);
        for (j, &choice) in choices.iter().enumerate() {
            x[j / BLOCK] |= u128::from(choice & 1) << (j % BLOCK);
        }
        // One fresh mask for one hash, or two answers would tell the difference of choices.
        if let Some(mask) = x.last_mut() {
            *mask = self.rng.block();
        }
        x
    }

    /// Makes so many OTs, as [`SenderSide::call`], whose choices are `x`, a bit each from the lowest one on,
    /// and a random block behind them. `make` is given the number of a chunk's first block and the chunk's
    /// part of x, which it may choose, and makes the chunk's corrections and rows.
    pub fn call(
        &mut self,
        channel: &mut Channel,
        count: usize,
        x: &mut [u128],
        corrections: Rows<usize>,
        mut make: impl FnMut(u64, &mut [u128], &mut [u128], &mut [u128]),
    ) -> Result<Vec<Label>, Error> {
        let mut block = self.blocks.draw(blocks_for(count) as u64)?;
        let mut oracle = self.oracle.call(block);
        let mut buffers = Buffers::new(count, corrections.end);
        for (x, chunk) in x.chunks_mut(CHUNK).zip(buffers.labels.chunks_mut(BLOCK * CHUNK)) {
            let corrected = &mut buffers.corrections[..corrections.end * x.len()];
            let rows = &mut buffers.rows[..chunk.len()];
            make(block, x, corrected, rows);
            let (silent, sent) = corrected.split_at_mut(corrections.start * x.len());
            silent.fill(0);
            channel.send(msg::ROWS, bytemuck::cast_slice(sent))?;
            oracle.absorb(corrected);
            to_labels(rows, chunk);
            block += x.len() as u64;
        }
        self.finish(channel, &oracle, x, buffers.labels, count)
    }

    /// Sends the answer about all rows. Returns the first `count` labels.
    fn finish(
        &mut self,
        channel: &mut Channel,
        oracle: &Oracle,
        x: &[u128],
        labels: Zeroizing<Vec<Label>>,
        count: usize,
    ) -> Result<Vec<Label>, Error> {
        let seed = oracle.seed();
        let check = [RowHash::of_choices(&seed, x), RowHash::of_labels(&seed, &labels)].concat();
        channel.send(msg::CHECK, bytemuck::cast_slice(&check))?;
        channel.flush()?;
        self.hash.follow(&seed);
        Ok(first(labels, count))
    }

    pub fn keys(&mut self, labels: &[Label]) -> Result<Vec<Seed>, Error> {
        let first = self.hash.numbers.draw(labels.len() as u64)?;
        Ok(self.hash.keys(first, labels.iter().copied()))
    }

    /// Returns the number of the next key.
    #[cfg(test)]
    pub fn next_key(&self) -> u64 {
        self.hash.numbers.next()
    }
}

pub(super) fn malformed() -> Error {
    Error::Stock("the state of an OT extension is malformed or of another version".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn series(session: u8) -> Series {
        Series::new(&[session; 32], Direction::GarblerSends)
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
}
