//! The part that all OT extensions share, however they make their rows. The sender has 128 rows, whose
//! columns are its labels, and checks each row (module [`extension`](super::extension) has the argument).
//!
//! A row of the sender is `q = t ⊕ Δ_i·x`, with the receiver's row t. x are the receiver's choices, one bit
//! for each OT, and a block of random bits after them. The receiver sends corrections, with which all rows
//! contain the same x: one row of corrections for each tree of streams. From a tree, the sender makes one or
//! more rows.
//!
//! Rows are made in tiles of 512 OTs, in the memory where the labels will be. When the check's seed is known,
//! each tile is hashed and transposed in place. So a label is written twice and read once.

use std::ops::Range as Span;

use brickwork_kernels::{
    Kernel, SecretBlocks, TILE_BLOCKS, Tile, TileRow, Trees, erase, gf128_reduce, hash_rows, hash_to_columns,
};
use serde::{Deserialize, Serialize};
use subtle::ConstantTimeEq;
use zeroize::{Zeroize, Zeroizing};

use super::cot::{MOST_SERIES, Series};
use super::{BASE_OTS, Cheat, Direction};
use crate::long_hash::LongHash;
use brickwork_base::Error;
use brickwork_base::label::{Delta, Label};
use brickwork_base::random::{Rng, Seed};
use brickwork_store::{Counter, Forward, Range, Ranges};
use brickwork_wire::Channel;

/// The messages of the extension.
pub mod msg {
    use brickwork_wire::Tag;

    /// From the receiver: for each 128 OTs a block of each row of corrections, and at the end one more block
    /// of each row. They are sent in chunks, tile after tile.
    pub const ROWS: Tag = Tag(24);
    /// From the receiver, when a series with trees is set up: the values that complete the sender's trees.
    pub const TREES: Tag = Tag(25);
    /// From the receiver: x~, then t~ of each row.
    pub const CHECK: Tag = Tag(26);
}

/// The number of rows, base OTs, and bits of the offset.
pub(super) const ROWS: usize = BASE_OTS;
/// The number of bits in a block.
pub(super) const BLOCK: usize = 128;
const OTS: usize = BLOCK * TILE_BLOCKS;
const CHUNK_TILES: usize = CHUNK / TILE_BLOCKS;
/// The counter of blocks of 128 OTs. The entries of a log use the same seeds, so each entry draws from its
/// own range.
const BLOCKS: Counter = Counter::new("blocks of OTs", 40);
/// The counter of keys: each OT that is hashed has a number of its own.
const KEYS: Counter = Counter::new("hash keys of OTs", 45);

/// The names of both counters for a series whose number is not 0.
const NUMBERED: [[&str; 2]; MOST_SERIES - 1] = [
    ["blocks of OTs, series 1", "hash keys of OTs, series 1"],
    ["blocks of OTs, series 2", "hash keys of OTs, series 2"],
    ["blocks of OTs, series 3", "hash keys of OTs, series 3"],
];

/// Returns the counters of blocks and of hash keys of a series. A session may have several series in a
/// direction.
fn counters(series: &Series) -> [Counter; 2] {
    let named = |[blocks, keys]: [&'static str; 2]| [BLOCKS.named(blocks), KEYS.named(keys)];
    match (series.sender(), series.number()) {
        (Direction::GarblerSends, 0) => [BLOCKS, KEYS],
        (Direction::GarblerSends, number) => named(NUMBERED[number - 1]),
        (Direction::EvaluatorSends, number) => {
            assert_eq!(number, 0, "the evaluator is the sender of one series only");
            named(["blocks of OTs that the evaluator sends", "hash keys of OTs that the evaluator sends"])
        }
    }
}

fn of_setup(counter: &Counter) -> Range {
    Ranges::of_setup().take(counter).expect("no range was taken before")
}
/// The number of blocks of a row that are computed and sent at a time.
pub(crate) const CHUNK: usize = 128;

/// The base-2 logarithm of the probability that the check misses different rows, other than by guesses of the
/// offset. The probability is 2^-128 for each of less than 2^13 pairs of rows, for one set of rows. The
/// receiver may try several sets before it sends one, but it must compute a hash for each.
pub const CHECK_LOG2: f64 = 13.0 - 128.0;

/// Hashes labels into keys. Each label is hashed with its own number, so that no two OTs have the same hash.
/// The hash changes after each call, so a sender cannot know the keys of its choices before it has the
/// receiver's rows. Otherwise, with an offset of few ones, it could know R_j or R_j ⊕ Δ beforehand. So it
/// would also know everything that depends on both keys. It could then repeat the base OTs until the result
/// suits it.
///
/// A new entry of the log brings new numbers, but does not change the hash. If each entry began with a fresh
/// hash, the sender would know this hash when it chose the offset. So keys depend on all calls of a session
/// so far, which are the same at both parties.
struct KeyHash {
    key: [u8; 32],
    numbers: Range,
}

impl KeyHash {
    fn new(series: &Series) -> Self {
        let key = blake3::derive_key("brickwork 2026-11 keys from correlated OTs", series.as_bytes());
        KeyHash { key, numbers: of_setup(&KEYS) }
    }

    /// Adds a call to the hash, by the seed of the call's check. The seed is a hash of the call's rows.
    fn follow(&mut self, seed: &Seed) {
        let before = [&self.key[..], seed.as_bytes()].concat();
        self.key = blake3::derive_key("brickwork 2026-11 keys from correlated OTs after a call", &before);
    }

    /// Returns the keys for the labels of OTs `first`, `first + 1`, ….
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

/// The data with which keys of OTs are computed again for given labels. A party that has learned the offset
/// uses it to compute the keys that it did not choose.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, Zeroize)]
pub struct KeysAgain {
    key: [u8; 32],
    first: u64,
}

impl KeysAgain {
    /// Returns the keys of these labels, with the numbers of the OTs from `skipped` on.
    pub fn keys(&self, skipped: usize, labels: &[Label]) -> Vec<Seed> {
        let hash = KeyHash { key: self.key, numbers: KEYS.none() };
        hash.keys(self.first + skipped as u64, labels.iter().copied())
    }
}

/// The random oracle that gives the check's seed for the rows of a call.
struct Oracle([u8; 32]);

impl Oracle {
    fn new(series: &Series) -> Self {
        Oracle(*series.as_bytes())
    }

    /// Begins the hash for a call that starts at block `first`, with this many rows of corrections.
    fn call(&self, first: u64, corrections: usize) -> Question {
        let mut hash = LongHash::derived("brickwork 2026-11 OT extension challenge");
        hash.update(&self.0).update(&first.to_le_bytes()).update(&(corrections as u64).to_le_bytes());
        Question(hash)
    }
}

/// The hash of all rows of a call, from which the check's seed is made.
struct Question(LongHash);

impl Question {
    fn absorb(&mut self, rows: &[u128]) {
        self.0.update(bytemuck::cast_slice(rows));
    }

    fn seed(self) -> Seed {
        Seed::from_bytes(*self.0.finish().first_chunk().expect("32 bytes"))
    }
}

/// Returns the number of blocks for this many OTs, with the random block.
pub(super) fn blocks_for(count: usize) -> usize {
    count.div_ceil(BLOCK) + 1
}

/// The form of the OTs that a call makes.
#[derive(Clone, Copy)]
pub(super) struct Flavour {
    /// The choices are random. They follow from the first tree, so its corrections are 0 and are not sent.
    pub random: bool,
    /// Row 0 becomes 0 at the sender and x at the receiver, so that a label's last bit is the choice. The
    /// offset's last bit is 1, so x is the difference of both rows in any case.
    pub last_bits: bool,
}

/// The rows of a call in memory: whole tiles are in the memory of the labels, and the tiles of the last
/// labels in a buffer of their own.
struct Rows<'a> {
    whole: &'a mut [Tile],
    part: &'a mut [Label],
    rest: Zeroizing<Vec<Tile>>,
    blocks: usize,
}

impl<'a> Rows<'a> {
    fn of(labels: &'a mut [Label]) -> Self {
        let blocks = blocks_for(labels.len());
        let (whole, part) = labels.split_at_mut(labels.len() / OTS * OTS);
        let whole = bytemuck::cast_slice_mut::<Label, u128>(whole).as_chunks_mut().0;
        let rest = blocks.div_ceil(TILE_BLOCKS) - whole.len();
        Rows { whole, part, rest: Zeroizing::new(vec![[0; OTS]; rest]), blocks }
    }

    fn tiles(&self) -> usize {
        self.whole.len() + self.rest.len()
    }

    fn chunks(&self) -> impl Iterator<Item = Span<usize>> + use<> {
        let all = self.tiles();
        (0..all).step_by(CHUNK_TILES).map(move |first| first..all.min(first + CHUNK_TILES))
    }

    /// Calls `work` with runs of tiles that are adjacent in memory, and with their numbers.
    fn each(&mut self, tiles: Span<usize>, mut work: impl FnMut(Span<usize>, &mut [Tile])) {
        let border = self.whole.len().clamp(tiles.start, tiles.end);
        if tiles.start < border {
            work(tiles.start..border, &mut self.whole[tiles.start..border]);
        }
        if border < tiles.end {
            let first = self.whole.len();
            work(border..tiles.end, &mut self.rest[border - first..tiles.end - first]);
        }
    }

    /// Returns a buffer for `count` rows of corrections of these tiles.
    fn corrections<'r>(
        &self,
        room: &'r mut [TileRow],
        count: usize,
        tiles: &Span<usize>,
    ) -> ChunkCorrections<'r> {
        let blocks = TILE_BLOCKS * tiles.start..self.blocks.min(TILE_BLOCKS * tiles.end);
        ChunkCorrections { rows: &mut room[..count * tiles.len()], count, blocks }
    }

    /// Hashes all rows with the function `h` of this seed, and transposes them into labels. `first_row`
    /// replaces row 0 of the labels. Returns h of row x, if it is given, and of each row.
    fn finish(
        mut self,
        seed: &Seed,
        first_row: Option<&[TileRow]>,
        x: &[TileRow],
    ) -> Zeroizing<[u128; 1 + ROWS]> {
        let mut elements = Rng::expand(seed, "brickwork OT extension check");
        let mut sums = Zeroizing::new(([[0; 2]; 1], [[0; 2]; ROWS]));
        let (kernel, last) = (Kernel::best(), self.blocks - 1);
        for chunk in self.chunks() {
            let mut chis = vec![[0; TILE_BLOCKS]; chunk.len()];
            elements.fill(bytemuck::cast_slice_mut(&mut chis));
            for (block, chi) in (TILE_BLOCKS * chunk.start..).zip(chis.as_flattened_mut()) {
                // The last block is added unchanged, and blocks after it do not exist.
                *chi = if block < last { *chi } else { u128::from(block == last) };
            }
            if let Some(x) = x.get(chunk.clone()) {
                hash_rows(&mut sums.0, x.as_flattened(), chis.as_flattened());
            }
            self.each(chunk.clone(), |tiles, rows| {
                let first_row = first_row.map(|row| &row[tiles.clone()]);
                let chis = &chis[tiles.start - chunk.start..tiles.end - chunk.start];
                hash_to_columns(kernel, &mut sums.1, chis, first_row, rows);
            });
        }
        let columns = bytemuck::cast_slice(self.rest.as_flattened());
        self.part.copy_from_slice(&columns[..self.part.len()]);
        let mut hashes = Zeroizing::new([0; 1 + ROWS]);
        for (hash, &sum) in hashes.iter_mut().zip(sums.0.iter().chain(&sums.1)) {
            *hash = gf128_reduce(sum);
        }
        hashes
    }
}

/// The corrections of a chunk, or a buffer for them.
pub(super) struct ChunkCorrections<'a> {
    rows: &'a mut [TileRow],
    /// The number of rows in a tile.
    count: usize,
    /// The blocks of the call that the chunk contains.
    blocks: Span<usize>,
}

impl ChunkCorrections<'_> {
    /// Returns the correction of a row at a block of the call, if the chunk contains this block.
    #[cfg(test)]
    pub fn at(&mut self, row: usize, block: usize) -> Option<&mut u128> {
        let block = self.blocks.contains(&block).then(|| block - self.blocks.start)?;
        Some(&mut self.rows[block / TILE_BLOCKS * self.count + row][block % TILE_BLOCKS])
    }

    /// Returns the position of the last tile's corrections, and the number of blocks of each row in it. All
    /// other tiles have four.
    fn last(&self) -> (usize, usize) {
        let full = (self.blocks.len() - 1) / TILE_BLOCKS;
        (TILE_BLOCKS * full * self.count, self.blocks.len() - TILE_BLOCKS * full)
    }

    /// Moves the used blocks of the last tile next to each other. Returns the data to send.
    fn narrow(&mut self) -> &mut [u128] {
        let (start, width) = self.last();
        let blocks = self.rows.as_flattened_mut();
        for k in 0..self.count * width {
            blocks[start + k] = blocks[start + TILE_BLOCKS * (k / width) + k % width];
        }
        &mut blocks[..start + self.count * width]
    }

    /// Reverses [`ChunkCorrections::narrow`], with zeros for the missing blocks.
    fn widen(&mut self) {
        let (start, width) = self.last();
        let blocks = self.rows.as_flattened_mut();
        for k in (0..self.count * TILE_BLOCKS).rev() {
            let (row, block) = (k / TILE_BLOCKS, k % TILE_BLOCKS);
            blocks[start + k] = if block < width { blocks[start + row * width + block] } else { 0 };
        }
    }
}

/// The streams of a series, for one entry of a log at a time. The keys advance with the entries, so nobody
/// can recompute the streams of an earlier entry from a store.
struct Streams {
    levels: usize,
    keys: Forward,
    trees: Trees,
}

impl Streams {
    fn new(levels: usize, keys: Forward) -> Self {
        let trees = Trees::new(Kernel::best(), levels, keys.keys());
        Streams { levels, keys, trees }
    }

    fn enter(&mut self, ranges: &Ranges) -> Result<(), Error> {
        self.keys.go_to(ranges.entry())?;
        self.trees = Trees::new(Kernel::best(), self.levels, self.keys.keys());
        Ok(())
    }
}

/// Checks the number of keys in a store.
pub(super) fn sound(keys: Forward, count: usize) -> Result<Forward, Error> {
    if keys.keys().len() == count { Ok(keys) } else { Err(malformed()) }
}

/// The sender of a series, for every construction with rows.
pub(super) struct SenderSide {
    pub delta: Delta,
    streams: Streams,
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
    /// Begins a series with trees of this many levels, and new keys.
    pub fn new(series: &Series, delta: Delta, levels: usize, keys: Forward) -> Self {
        let (hash, oracle) = (KeyHash::new(series), Oracle::new(series));
        let (streams, counters, blocks) = (Streams::new(levels, keys), counters(series), of_setup(&BLOCKS));
        SenderSide { delta, streams, counters, blocks, hash, oracle, sound: true }
    }

    /// Restores a series. Its keys are not new, so it can draw nothing before it enters a range.
    pub fn restored(series: &Series, delta: Delta, levels: usize, keys: Forward) -> Self {
        let mut side = SenderSide::new(series, delta, levels, keys);
        (side.blocks, side.hash.numbers) = (BLOCKS.none(), KEYS.none());
        side
    }

    /// Returns the keys of the entries after this one.
    pub fn behind(&self) -> Forward {
        self.streams.keys.behind()
    }

    pub fn enter(&mut self, ranges: &mut Ranges) -> Result<(), Error> {
        let [blocks, keys] = &self.counters;
        (self.blocks, self.hash.numbers) = (ranges.take(blocks)?, ranges.take(keys)?);
        self.streams.enter(ranges)
    }

    /// Returns all ones or zero for each bit of the offset. The `black_box` hides from the compiler that
    /// there are only two values. Otherwise it would split a loop by this value, and the loop's time would
    /// depend on the offset, as `cargo xtask constant-time` has shown.
    fn masks(&self) -> Zeroizing<[u128; ROWS]> {
        let mask = |i: usize| (self.delta.bits() >> i & 1).wrapping_neg();
        std::hint::black_box(Zeroizing::new(std::array::from_fn(mask)))
    }

    /// Does the same as [`SenderSide::call`]. After an error, the buffer contains nothing secret.
    pub fn call_in(
        &mut self,
        channel: &mut Channel,
        place: &mut [Label],
        flavour: Flavour,
    ) -> Result<(), Error> {
        let made = self.call(channel, place, flavour);
        if made.is_err() {
            erase(place);
        }
        made
    }

    /// Makes OTs of this flavour, and writes their labels for choice 0. After an error, `labels` may contain
    /// secrets, which the caller erases.
    pub fn call(
        &mut self,
        channel: &mut Channel,
        labels: &mut [Label],
        flavour: Flavour,
    ) -> Result<(), Error> {
        match std::mem::replace(&mut self.sound, false) {
            true => self.make(channel, labels, flavour),
            false => Err(Cheat::OtExtension.into()),
        }
    }

    fn make(&mut self, channel: &mut Channel, labels: &mut [Label], flavour: Flavour) -> Result<(), Error> {
        let count = flavour.corrections(&self.streams.trees);
        let mut rows = Rows::of(labels);
        let start = self.blocks.draw(rows.blocks as u64)?;
        let (mut question, masks) = (self.oracle.call(start, count), self.masks());
        let mut room = vec![[0; TILE_BLOCKS]; count * CHUNK_TILES.min(rows.tiles())];
        for chunk in rows.chunks() {
            let mut sent = rows.corrections(&mut room, count, &chunk);
            let payload = sent.narrow();
            channel.receive_into(msg::ROWS, bytemuck::cast_slice_mut(payload))?;
            question.absorb(payload);
            sent.widen();
            rows.each(chunk.clone(), |tiles, rows| {
                let corrections = &sent.rows[count * (tiles.start - chunk.start)..][..count * tiles.len()];
                let block = start + (TILE_BLOCKS * tiles.start) as u64;
                self.streams.trees.send(Kernel::best(), block, &masks, corrections, rows);
            });
        }
        self.finish(channel, &question.seed(), &masks, rows, flavour)
    }

    /// Receives the receiver's answer about all rows, checks it, and transposes the rows into labels.
    fn finish(
        &mut self,
        channel: &mut Channel,
        seed: &Seed,
        masks: &[u128; ROWS],
        rows: Rows,
        flavour: Flavour,
    ) -> Result<(), Error> {
        let mut check = [0u128; 1 + ROWS];
        channel.receive_into(msg::CHECK, bytemuck::cast_slice_mut(&mut check))?;
        let (x, t) = (check[0], &check[1..]);
        let zero = vec![[0; TILE_BLOCKS]; if flavour.last_bits { rows.tiles() } else { 0 }];
        let hashes = rows.finish(seed, flavour.last_bits.then_some(&zero), &[]);
        let of_rows = hashes[1..].iter().zip(t).zip(masks);
        let difference = of_rows.fold(0, |bad, ((q, t), mask)| bad | (q ^ t ^ (x & mask)));
        if !bool::from(difference.ct_eq(&0)) {
            return Err(Cheat::OtExtension.into());
        }
        self.sound = true;
        self.hash.follow(seed);
        Ok(())
    }

    /// Returns a hash of all rows so far, which changes with each call.
    pub fn hashed(&self) -> [u8; 32] {
        self.hash.key
    }

    /// Adds another message of the receiver to the hash on which keys depend.
    pub fn follow(&mut self, seed: &Seed) {
        self.hash.follow(seed);
    }

    pub fn keys(&mut self, labels: &[Label]) -> Result<Vec<[Seed; 2]>, Error> {
        let first = self.hash.numbers.draw(labels.len() as u64)?;
        let zero = self.hash.keys(first, labels.iter().copied());
        let one = self.hash.keys(first, labels.iter().map(|&label| label ^ self.delta));
        // The keys are cloned, because a value that is moved out of a list is not erased there.
        Ok(zero.iter().zip(&one).map(|(zero, one)| [zero.clone(), one.clone()]).collect())
    }

    /// Returns the number of the next key.
    #[cfg(test)]
    pub fn next_key(&self) -> u64 {
        self.hash.numbers.next()
    }
}

impl Flavour {
    fn corrections(self, trees: &Trees) -> usize {
        trees.count() - usize::from(self.random)
    }
}

/// The receiver of a series, for every construction with rows.
pub(super) struct ReceiverSide {
    streams: Streams,
    counters: [Counter; 2],
    blocks: Range,
    hash: KeyHash,
    oracle: Oracle,
    rng: Rng,
}

impl ReceiverSide {
    /// Does the same as [`SenderSide::new`].
    ///
    /// # Errors
    /// [`Error::Resource`] if the system gives no randomness.
    pub fn new(series: &Series, levels: usize, keys: Forward) -> Result<Self, Error> {
        let (hash, oracle) = (KeyHash::new(series), Oracle::new(series));
        let (streams, counters, blocks) = (Streams::new(levels, keys), counters(series), of_setup(&BLOCKS));
        let rng = Rng::new("brickwork OT extension receiver")?;
        Ok(ReceiverSide { streams, counters, blocks, hash, oracle, rng })
    }

    /// Does the same as [`SenderSide::restored`].
    ///
    /// # Errors
    /// As [`ReceiverSide::new`].
    pub fn restored(series: &Series, levels: usize, keys: Forward) -> Result<Self, Error> {
        let mut side = ReceiverSide::new(series, levels, keys)?;
        (side.blocks, side.hash.numbers) = (BLOCKS.none(), KEYS.none());
        Ok(side)
    }

    /// Does the same as [`SenderSide::behind`].
    pub fn behind(&self) -> Forward {
        self.streams.keys.behind()
    }

    pub fn enter(&mut self, ranges: &mut Ranges) -> Result<(), Error> {
        let [blocks, keys] = &self.counters;
        (self.blocks, self.hash.numbers) = (ranges.take(blocks)?, ranges.take(keys)?);
        self.streams.enter(ranges)
    }

    /// Returns row x for these choices.
    pub fn row(&mut self, choices: &[u8]) -> SecretBlocks<TileRow> {
        let mut x = empty_row(choices.len());
        let blocks = x.as_flattened_mut();
        for (block, choices) in blocks.iter_mut().zip(choices.chunks(BLOCK)) {
            for (j, &choice) in choices.iter().enumerate() {
                *block |= u128::from(choice & 1) << j;
            }
        }
        // Each call needs a fresh mask, because two answers with one mask would reveal the difference of
        // choices.
        blocks[blocks_for(choices.len()) - 1] = self.rng.block();
        x
    }

    /// Makes OTs of this flavour, and overwrites `labels` with the labels of the choices. The choices are the
    /// bits of `x`, from the lowest one on, followed by a random block. If `flavour` is `random`, the choices
    /// come from the first tree, and are written into `x`. `alter` changes each chunk of corrections before
    /// it is sent and hashed; only tests change anything.
    pub fn call(
        &mut self,
        channel: &mut Channel,
        x: &mut [TileRow],
        labels: &mut [Label],
        flavour: Flavour,
        mut alter: impl FnMut(&mut ChunkCorrections),
    ) -> Result<(), Error> {
        let count = flavour.corrections(&self.streams.trees);
        let mut rows = Rows::of(labels);
        let start = self.blocks.draw(rows.blocks as u64)?;
        let mut question = self.oracle.call(start, count);
        let mut room = vec![[0; TILE_BLOCKS]; count * CHUNK_TILES.min(rows.tiles())];
        for chunk in rows.chunks() {
            rows.each(chunk.clone(), |tiles, rows| {
                let corrections = &mut room[count * (tiles.start - chunk.start)..][..count * tiles.len()];
                let block = start + (TILE_BLOCKS * tiles.start) as u64;
                self.streams.trees.receive(Kernel::best(), block, &mut x[tiles], corrections, rows);
            });
            let mut sent = rows.corrections(&mut room, count, &chunk);
            alter(&mut sent);
            let payload = sent.narrow();
            channel.send(msg::ROWS, bytemuck::cast_slice(payload))?;
            question.absorb(payload);
        }
        let seed = question.seed();
        let hashes = rows.finish(&seed, flavour.last_bits.then_some(&*x), x);
        channel.send(msg::CHECK, bytemuck::cast_slice(&hashes[..]))?;
        channel.flush()?;
        self.hash.follow(&seed);
        Ok(())
    }

    /// Does the same as [`SenderSide::hashed`].
    pub fn hashed(&self) -> [u8; 32] {
        self.hash.key
    }

    /// Does the same as [`SenderSide::follow`].
    pub fn follow(&mut self, seed: &Seed) {
        self.hash.follow(seed);
    }

    pub fn keys(&mut self, labels: &[Label]) -> Result<Vec<Seed>, Error> {
        let first = self.hash.numbers.draw(labels.len() as u64)?;
        Ok(self.hash.keys(first, labels.iter().copied()))
    }

    /// Returns the data with which keys are computed again, from the next key on.
    pub fn keys_again(&self) -> KeysAgain {
        KeysAgain { key: self.hash.key, first: self.hash.numbers.next() }
    }

    /// Returns the number of the next key.
    #[cfg(test)]
    pub fn next_key(&self) -> u64 {
        self.hash.numbers.next()
    }
}

/// Returns a buffer for a row x of this many choices.
pub(super) fn empty_row(count: usize) -> SecretBlocks<TileRow> {
    SecretBlocks::zeros(blocks_for(count).div_ceil(TILE_BLOCKS))
}

/// Returns the first choices of row x, 0 or 1 each.
pub(super) fn choices(x: &[TileRow], count: usize) -> SecretBlocks<u8> {
    let blocks = x.as_flattened().iter().flat_map(|block| (0..BLOCK).map(move |j| (block >> j) as u8 & 1));
    let mut choices = SecretBlocks::zeros(count);
    choices.iter_mut().zip(blocks).for_each(|(to, choice)| *to = choice);
    choices
}

pub(super) fn malformed() -> Error {
    Error::Stock("the stored state of an OT extension is malformed, or another version wrote it".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn series(session: u8) -> Series {
        Series::new(&[session; 32], Direction::GarblerSends)
    }

    /// The check's seed for the same rows differs in another session, at another position in the session, and
    /// for another flavour.
    #[test]
    fn row_16_the_question_depends_on_session_and_place() {
        let seeds = [(3, 0, 2), (4, 0, 2), (3, 2, 2), (3, 0, 1)].map(|(session, block, rows)| {
            let mut question = Oracle::new(&series(session)).call(block, rows);
            question.absorb(&[1, 2, 3]);
            *question.seed().as_bytes()
        });
        assert_eq!(seeds.iter().collect::<std::collections::HashSet<_>>().len(), seeds.len());
    }

    /// The check's seed depends on every row. Otherwise a receiver could choose its rows after the seed.
    #[test]
    fn row_02_the_question_depends_on_every_row() {
        let question = |parts: &[&[u128]]| {
            let mut asked = Oracle::new(&series(3)).call(0, 1);
            parts.iter().for_each(|rows| asked.absorb(rows));
            *asked.seed().as_bytes()
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

    /// The hash of a label is fixed: it includes the OT's number, counted over the whole session, and all
    /// rows so far.
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
