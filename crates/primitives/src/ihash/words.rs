//! Words side by side in memory, and their packed form in messages.

use brickwork_base::Error;
use brickwork_base::random::Rng;
use brickwork_base::stop::looking;
use brickwork_kernels::{SecretBlocks, prefetch};
use subtle::{Choice, ConstantTimeEq};
use zeroize::Zeroize;

pub(super) const BLOCK: usize = 16;

/// A step that makes a word from others ([`Words::follow`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WordStep {
    /// The word is the given word with this number.
    Given(u32),
    /// The word is the sum of the results of these two earlier steps.
    Sum(u32, u32),
}

/// Words of this many symbols, a byte for each symbol. `[word][symbol]` are in whole blocks of 16 symbols,
/// with zeros after the last symbol. Erased when dropped.
#[derive(Clone)]
pub struct Words {
    symbols: usize,
    count: usize,
    data: SecretBlocks<u128>,
}

impl Words {
    /// Returns `count` words of zeros.
    pub fn zeros(symbols: usize, count: usize) -> Self {
        let data = SecretBlocks::zeros(symbols.div_ceil(BLOCK) * count);
        Words { symbols, count, data }
    }

    /// Returns `count` words, each filled with one byte.
    pub fn repeated(symbols: usize, bytes: impl ExactSizeIterator<Item = u8>) -> Self {
        let mut words = Self::zeros(symbols, bytes.len());
        bytes.enumerate().for_each(|(k, byte)| words.symbols_mut(k).fill(byte));
        words
    }

    /// Returns the words from the [`Words::data`] that a stock has kept.
    ///
    /// # Errors
    /// [`Error::Stock`] if the data is not a whole number of words, or has bytes other than 0 behind the last
    /// symbol of a word.
    pub fn stored(symbols: usize, data: Vec<u128>) -> Result<Self, Error> {
        let data = SecretBlocks::new(data);
        let blocks = symbols.div_ceil(BLOCK).max(1);
        let words = Words { symbols, count: data.len() / blocks, data };
        let behind = symbols % BLOCK;
        let rest = |k: usize| if behind == 0 { 0 } else { words.word(k)[blocks - 1] >> (8 * behind) };
        match words.data.len() == words.count * blocks && (0..words.count).all(|k| rest(k) == 0) {
            true => Ok(words),
            false => Err(Error::Stock("the stored words of an interactive hash are malformed".into())),
        }
    }

    /// Returns words of whole blocks from consecutive bytes.
    ///
    /// # Panics
    /// If the length of a word, or of `bytes`, is not a multiple of the block.
    pub fn from_bytes(symbols: usize, bytes: &[u8]) -> Self {
        assert!(symbols.is_multiple_of(BLOCK), "each word must consist of whole blocks");
        let mut words = Self::zeros(symbols, bytes.len() / symbols.max(1));
        bytemuck::cast_slice_mut::<u128, u8>(&mut words.data).copy_from_slice(bytes);
        words
    }

    /// Returns random words of bytes.
    pub fn random(symbols: usize, count: usize, rng: &mut Rng) -> Self {
        let mut words = Self::zeros(symbols, count);
        looking(0..count).for_each(|k| rng.fill(words.symbols_mut(k)));
        words
    }

    /// Returns the bytes of all words. A word must consist of whole blocks.
    ///
    /// # Panics
    /// If a word does not consist of whole blocks.
    pub fn bytes(&self) -> &[u8] {
        assert!(self.symbols.is_multiple_of(BLOCK), "each word must consist of whole blocks");
        bytemuck::cast_slice(&self.data)
    }

    /// Returns the number of symbols of a word.
    pub fn symbols(&self) -> usize {
        self.symbols
    }

    /// Returns the number of blocks of a word.
    #[inline]
    pub fn blocks(&self) -> usize {
        self.symbols.div_ceil(BLOCK)
    }

    /// Returns the number of words.
    pub fn count(&self) -> usize {
        self.count
    }

    /// Returns the blocks of a word.
    #[inline]
    pub fn word(&self, k: usize) -> &[u128] {
        let blocks = self.blocks();
        &self.data[k * blocks..][..blocks]
    }

    /// Returns the blocks of a word for writing. The bytes behind the last symbol must stay 0.
    #[inline]
    pub fn word_mut(&mut self, k: usize) -> &mut [u128] {
        let blocks = self.blocks();
        &mut self.data[k * blocks..][..blocks]
    }

    /// Returns the symbols of a word.
    #[inline]
    pub fn symbols_of(&self, k: usize) -> &[u8] {
        &bytemuck::cast_slice(self.word(k))[..self.symbols]
    }

    /// Returns the symbols of a word for writing.
    pub fn symbols_mut(&mut self, k: usize) -> &mut [u8] {
        let symbols = self.symbols;
        &mut bytemuck::cast_slice_mut(self.word_mut(k))[..symbols]
    }

    /// Returns the blocks of all words, `[word][block]`.
    pub fn data(&self) -> &[u128] {
        &self.data
    }

    /// Returns the blocks of all words for writing, with the rule of [`Words::word_mut`].
    pub fn data_mut(&mut self) -> &mut [u128] {
        &mut self.data
    }

    /// Returns the words with these numbers, in this order.
    ///
    /// # Panics
    /// If a number is out of range.
    pub fn select(&self, numbers: impl ExactSizeIterator<Item = usize>) -> Self {
        let count = numbers.len();
        let data = match self.blocks() {
            1 => select::<1>(&self.data, numbers),
            2 => select::<2>(&self.data, numbers),
            3 => select::<3>(&self.data, numbers),
            4 => select::<4>(&self.data, numbers),
            blocks => {
                let mut data = SecretBlocks::with_capacity(count * blocks);
                looking(numbers).for_each(|k| data.extend_from_slice(self.word(k)));
                data
            }
        };
        Words { symbols: self.symbols, count, data }
    }

    /// Returns sums of pairs: a word of these and a word of `others`, with the numbers at the same index of
    /// both lists.
    ///
    /// # Panics
    /// If the lists differ in length, the words differ in length, or a number is out of range.
    pub fn pair_sums(&self, numbers: &[u32], others: &Words, other_numbers: &[u32]) -> Self {
        assert_eq!(
            (self.symbols, numbers.len()),
            (others.symbols, other_numbers.len()),
            "both lists must have the same number of words, of the same length"
        );
        let pairs = || numbers.iter().zip(other_numbers).map(|(&a, &b)| (a as usize, b as usize));
        let (pairs, soon) = (pairs(), pairs().skip(SOON));
        let data = match self.blocks() {
            1 => pair_sums::<1>(&self.data, &others.data, pairs, soon),
            2 => pair_sums::<2>(&self.data, &others.data, pairs, soon),
            3 => pair_sums::<3>(&self.data, &others.data, pairs, soon),
            4 => pair_sums::<4>(&self.data, &others.data, pairs, soon),
            blocks => {
                let mut data = SecretBlocks::with_capacity(numbers.len() * blocks);
                for (a, b) in looking(pairs) {
                    data.extend(self.word(a).iter().zip(others.word(b)).map(|(a, b)| a ^ b));
                }
                data
            }
        };
        Words { symbols: self.symbols, count: numbers.len(), data }
    }

    /// Returns the words of a range.
    ///
    /// # Panics
    /// If it ends after the last word.
    pub fn range(&self, range: std::ops::Range<usize>) -> Self {
        let blocks = self.blocks();
        let data = self.data[range.start * blocks..range.end * blocks].to_vec();
        Words { symbols: self.symbols, count: range.len(), data: SecretBlocks::new(data) }
    }

    /// Returns the words of all lists, one after the other.
    ///
    /// # Panics
    /// If the list is empty, or the words differ in length.
    pub fn join(all: &[&Words]) -> Self {
        let symbols = all[0].symbols;
        assert!(all.iter().all(|one| one.symbols == symbols), "all words must have the same length");
        let mut data = Vec::with_capacity(all.iter().map(|one| one.data.len()).sum());
        all.iter().for_each(|one| data.extend_from_slice(&one.data));
        Words { symbols, count: all.iter().map(|one| one.count).sum(), data: SecretBlocks::new(data) }
    }

    /// Returns the words that these steps compute from the given words, one for each step.
    ///
    /// # Panics
    /// If a step names a word that does not exist, or a result of a later step.
    pub fn follow(&self, steps: &[WordStep]) -> Self {
        let blocks = self.blocks();
        let mut data = SecretBlocks::with_capacity(steps.len() * blocks);
        for step in looking(steps) {
            match *step {
                WordStep::Given(word) => data.extend_from_slice(self.word(word as usize)),
                WordStep::Sum(a, b) => {
                    for block in 0..blocks {
                        let sum = data[a as usize * blocks + block] ^ data[b as usize * blocks + block];
                        data.push(sum);
                    }
                }
            }
        }
        Words { symbols: self.symbols, count: steps.len(), data }
    }

    /// Appends other words. If a larger list is needed, the old one is erased, so that no copy of secrets
    /// stays behind.
    ///
    /// # Panics
    /// If the words differ in length.
    pub fn append(&mut self, others: &Words) {
        assert_eq!(self.symbols, others.symbols, "all words must have the same length");
        let needed = self.data.len() + others.data.len();
        if self.data.capacity() < needed {
            let mut larger = SecretBlocks::with_capacity(2 * needed);
            larger.extend_from_slice(&self.data);
            self.data = larger;
        }
        self.data.extend_from_slice(&others.data);
        self.count += others.count;
    }

    /// Adds `other`, word by word.
    ///
    /// # Panics
    /// If the numbers of words or symbols differ.
    pub fn add(&mut self, other: &Words) {
        assert_eq!(
            (self.symbols, self.count),
            (other.symbols, other.count),
            "both lists must have the same number of words, of the same length"
        );
        self.data.iter_mut().zip(&*other.data).for_each(|(block, other)| *block ^= other);
    }

    /// Adds other words, given in consecutive parts, word by word.
    ///
    /// # Panics
    /// If the numbers of words or symbols differ.
    pub fn add_parts<'a>(&mut self, parts: impl Iterator<Item = &'a Words>) {
        let mut rest = &mut self.data[..];
        for part in parts {
            assert_eq!(part.symbols, self.symbols, "all words must have the same length");
            let (here, behind) = rest.split_at_mut(part.data.len());
            here.iter_mut().zip(&*part.data).for_each(|(block, other)| *block ^= other);
            rest = behind;
        }
        assert!(rest.is_empty(), "the parts must have as many words as this list");
    }

    /// Adds a range of other words, word by word.
    ///
    /// # Panics
    /// If the numbers of words or symbols differ.
    pub fn add_range(&mut self, other: &Words, range: std::ops::Range<usize>) {
        assert_eq!(
            (self.symbols, self.count),
            (other.symbols, range.len()),
            "both lists must have the same number of words, of the same length"
        );
        let blocks = other.blocks();
        let others = &other.data[range.start * blocks..range.end * blocks];
        self.data.iter_mut().zip(others).for_each(|(block, other)| *block ^= other);
    }

    /// Adds a word to word `k` if `bit` is 1. Takes constant time.
    ///
    /// # Panics
    /// If the word has another number of blocks.
    #[inline]
    pub fn add_to(&mut self, k: usize, word: &[u128], bit: u8) {
        let mask = u128::from(bit & 1).wrapping_neg();
        let sum = self.word_mut(k);
        assert_eq!(sum.len(), word.len(), "both words must have the same number of blocks");
        sum.iter_mut().zip(word).for_each(|(sum, block)| *sum ^= block & mask);
    }

    /// Adds one word to each word whose bit is 1. Takes constant time.
    ///
    /// # Panics
    /// If the number of bits differs from the number of words, or the word has another number of blocks.
    pub fn add_where(&mut self, word: &[u128], bits: &[u8]) {
        assert_eq!((self.count, self.blocks()), (bits.len(), word.len()), "each word must have a bit");
        match *word {
            [a, b] => add_where(&mut self.data, &[a, b], bits),
            [a, b, c] => add_where(&mut self.data, &[a, b, c], bits),
            [a, b, c, d] => add_where(&mut self.data, &[a, b, c, d], bits),
            _ => bits.iter().enumerate().for_each(|(k, &bit)| self.add_to(k, word, bit)),
        }
    }

    /// Adds `others`, word by word, where the bit is 1. Takes constant time.
    ///
    /// # Panics
    /// If the numbers of words, symbols or bits differ.
    pub fn add_each(&mut self, others: &Words, bits: &[u8]) {
        assert_eq!((self.symbols, self.count), (others.symbols, bits.len()), "each word must have a bit");
        looking(bits.iter().enumerate()).for_each(|(k, &bit)| self.add_to(k, others.word(k), bit));
    }

    /// Adds two of these words to word `k`.
    pub fn add_pair(&mut self, k: usize, pair: [usize; 2]) {
        let blocks = self.blocks();
        match blocks {
            1 => add_pair::<1>(&mut self.data, k, pair),
            3 => add_pair::<3>(&mut self.data, k, pair),
            4 => add_pair::<4>(&mut self.data, k, pair),
            _ => pair.into_iter().for_each(|from| {
                (0..blocks).for_each(|i| self.data[k * blocks + i] ^= self.data[from * blocks + i]);
            }),
        }
    }

    /// Returns whether word `k` equals this one, in constant time.
    pub fn is(&self, k: usize, word: &[u128]) -> Choice {
        self.word(k).ct_eq(word)
    }

    /// Appends the symbols of all words to a message, `bits` bits for each symbol.
    pub(super) fn pack(&self, bits: u32, message: &mut Vec<u8>) {
        if bits == 8 {
            return self.put_together(message);
        }
        let mut symbols =
            SecretBlocks::with_capacity((self.symbols * self.count).next_multiple_of(8) + BLOCK);
        self.put_together(&mut symbols);
        let padded = symbols.len().next_multiple_of(8);
        symbols.resize(padded, 0);
        let start = message.len();
        let end = start + packed_bytes(self.symbols, self.count, bits);
        // Each write stores eight bytes, some of them behind the end of its own; the next write overwrites
        // these.
        message.resize(end + 2 * 8, 0);
        for (k, eight) in looking(symbols.as_chunks::<8>().0.iter().enumerate()) {
            let packed = pack8(u64::from_le_bytes(*eight), bits).to_le_bytes();
            let at = start + k * bits as usize;
            message[at..at + 8].copy_from_slice(&packed);
        }
        message.truncate(end);
    }

    /// Appends all symbols to a message, a byte for each symbol.
    fn put_together(&self, message: &mut Vec<u8>) {
        let (start, blocks) = (message.len(), self.blocks());
        let end = start + self.symbols * self.count;
        // Each word is written in whole blocks. The next word overwrites the bytes after the last symbol.
        message.resize(end + BLOCK, 0);
        for (k, word) in looking(self.data.chunks_exact(blocks.max(1)).enumerate()) {
            for (block, symbols) in word.iter().enumerate() {
                let at = start + k * self.symbols + block * BLOCK;
                message[at..at + BLOCK].copy_from_slice(&symbols.to_le_bytes());
            }
        }
        message.truncate(end);
    }

    /// Returns the words that [`Words::pack`] packed into these [`packed_bytes`] bytes. Bits after the last
    /// symbol are ignored.
    pub(super) fn unpack(symbols: usize, count: usize, bits: u32, packed: &[u8]) -> Self {
        if bits == 8 {
            return Self::taken_apart(symbols, count, packed);
        }
        let eights = (symbols * count).div_ceil(8);
        let mut all = SecretBlocks::<u8>::zeros(8 * eights);
        for (k, to) in looking(all.as_chunks_mut::<8>().0.iter_mut().enumerate()) {
            // `unpack8` ignores the bits after the eighth symbol.
            let eight = u64::from_le_bytes(bytes_at(packed, k * bits as usize));
            *to = unpack8(eight, bits).to_le_bytes();
        }
        Self::taken_apart(symbols, count, &all)
    }

    /// Returns the words with these symbols, given a byte for each, one word after another.
    fn taken_apart(symbols: usize, count: usize, all: &[u8]) -> Self {
        let mut words = Self::zeros(symbols, count);
        let blocks = words.blocks();
        let of_last = match symbols % BLOCK {
            0 => u128::MAX,
            behind => (1 << (8 * behind)) - 1,
        };
        for (k, word) in looking(words.data.chunks_exact_mut(blocks.max(1)).enumerate()) {
            for (block, to) in word.iter_mut().enumerate() {
                *to = u128::from_le_bytes(bytes_at(all, k * symbols + block * BLOCK));
            }
            word[blocks - 1] &= of_last;
        }
        words
    }
}

/// Returns N bytes from position `at` on, with zeros after the end of the list.
fn bytes_at<const N: usize>(bytes: &[u8], at: usize) -> [u8; N] {
    let rest = bytes.get(at..).unwrap_or_default();
    rest.first_chunk().copied().unwrap_or_else(|| {
        let mut padded = [0; N];
        padded[..rest.len()].copy_from_slice(rest);
        padded
    })
}

impl Zeroize for Words {
    fn zeroize(&mut self) {
        self.data.zeroize();
    }
}

fn select<const N: usize>(
    data: &[u128],
    numbers: impl ExactSizeIterator<Item = usize>,
) -> SecretBlocks<u128> {
    let words = data.as_chunks::<N>().0;
    let mut selected = SecretBlocks::zeros(N * numbers.len());
    let places = selected.as_chunks_mut::<N>().0;
    looking(places.iter_mut().zip(numbers)).for_each(|(to, k)| *to = words[k]);
    selected
}

/// The number of pairs by which prefetching is ahead. It is needed because the words of a pair lie anywhere
/// in memory.
const SOON: usize = 24;

fn pair_sums<const N: usize>(
    data: &[u128],
    others: &[u128],
    pairs: impl ExactSizeIterator<Item = (usize, usize)>,
    mut soon: impl Iterator<Item = (usize, usize)>,
) -> SecretBlocks<u128> {
    let (words, others) = (data.as_chunks::<N>().0, others.as_chunks::<N>().0);
    let mut sums = SecretBlocks::zeros(N * pairs.len());
    // A word of three or more blocks may cross the end of a cache line.
    let fetch = |word: *const [u128; N]| {
        prefetch(word.cast());
        if N > 2 {
            prefetch(word.cast::<u128>().wrapping_add(N - 1).cast());
        }
    };
    for (sum, (a, b)) in looking(sums.as_chunks_mut::<N>().0.iter_mut().zip(pairs)) {
        if let Some((a, b)) = soon.next() {
            fetch(words.as_ptr().wrapping_add(a));
            fetch(others.as_ptr().wrapping_add(b));
        }
        let (a, b) = (&words[a], &others[b]);
        *sum = std::array::from_fn(|block| a[block] ^ b[block]);
    }
    sums
}

fn add_pair<const N: usize>(data: &mut [u128], k: usize, [a, b]: [usize; 2]) {
    let words = data.as_chunks_mut::<N>().0;
    let (a, b) = (words[a], words[b]);
    words[k].iter_mut().zip(a.iter().zip(b)).for_each(|(sum, (a, b))| *sum ^= a ^ b);
}

fn add_where<const N: usize>(data: &mut [u128], word: &[u128; N], bits: &[u8]) {
    for (sum, &bit) in looking(data.as_chunks_mut::<N>().0.iter_mut().zip(bits)) {
        let mask = u128::from(bit & 1).wrapping_neg();
        *sum = std::array::from_fn(|block| sum[block] ^ word[block] & mask);
    }
}

pub(super) fn packed_bytes(symbols: usize, count: usize, bits: u32) -> usize {
    (symbols * count * bits as usize).div_ceil(8)
}

/// Returns the lowest `bits` bits of each field of `field` bits.
const fn low(bits: u32, field: u32) -> u64 {
    let (mut mask, mut at) = (0, 0);
    while at < 64 {
        mask |= ((1 << bits) - 1) << at;
        at += field;
    }
    mask
}

/// Packs eight symbols, a byte each, into `bits` bits for each symbol. Takes constant time.
fn pack8(symbols: u64, bits: u32) -> u64 {
    let x = symbols & low(bits, 16) | (symbols & low(bits, 16) << 8) >> (8 - bits);
    let x = x & low(2 * bits, 32) | (x & low(2 * bits, 32) << 16) >> (16 - 2 * bits);
    x & low(4 * bits, 64) | (x >> 32) << (4 * bits)
}

fn unpack8(packed: u64, bits: u32) -> u64 {
    let x = packed & low(4 * bits, 64) | (packed >> (4 * bits) & low(4 * bits, 64)) << 32;
    let x = x & low(2 * bits, 32) | x << (16 - 2 * bits) & low(2 * bits, 32) << 16;
    x & low(bits, 16) | x << (8 - bits) & low(bits, 16) << 8
}

#[cfg(test)]
mod tests {
    use super::*;
    use brickwork_testing::Replayable as _;

    #[test]
    fn words_are_packed_there_and_back() {
        let mut rng = Rng::replayable("test");
        for bits in 2..=8 {
            for (symbols, count) in [(0, 3), (1, 0), (3, 1), (3, 5), (18, 4), (22, 7), (26, 33), (16, 2)] {
                let mut words = Words::random(symbols, count, &mut rng);
                for k in 0..count {
                    words
                        .symbols_mut(k)
                        .iter_mut()
                        .for_each(|symbol| *symbol &= (1_u16 << bits).wrapping_sub(1) as u8);
                }
                let mut packed = vec![7];
                words.pack(bits, &mut packed);
                assert_eq!(packed.len(), 1 + packed_bytes(symbols, count, bits));
                let all: Vec<u8> = (0..count).flat_map(|k| words.symbols_of(k).to_vec()).collect();
                for place in 0..symbols * count * bits as usize {
                    let (symbol, bit) = (place / bits as usize, place % bits as usize);
                    assert_eq!(packed[1 + place / 8] >> (place % 8) & 1, all[symbol] >> bit & 1);
                }
                let again = Words::unpack(symbols, count, bits, &packed[1..]);
                assert!(again.data() == words.data());
            }
        }
    }

    #[test]
    fn words_are_chosen_joined_and_added() {
        for symbols in [9, 32, 37, 64, 70] {
            of_so_many_symbols(symbols);
        }
    }

    fn of_so_many_symbols(symbols: usize) {
        let mut rng = Rng::replayable("test");
        let words = Words::random(symbols, 6, &mut rng);
        assert_eq!((words.symbols(), words.blocks(), words.count()), (symbols, symbols.div_ceil(16), 6));
        let chosen = words.select([5, 0, 0].into_iter());
        assert_eq!((chosen.symbols_of(1), chosen.symbols_of(0)), (words.symbols_of(0), words.symbols_of(5)));
        let sums = words.pair_sums(&[4, 5, 1], &chosen, &[0, 0, 2]);
        assert!(sums.symbols_of(1).iter().all(|&symbol| symbol == 0));
        let expected: Vec<u8> =
            words.symbols_of(4).iter().zip(words.symbols_of(5)).map(|(a, b)| a ^ b).collect();
        assert_eq!((sums.count(), sums.symbols_of(0)), (3, &expected[..]));
        let joined = Words::join(&[&chosen, &words.range(1..3)]);
        assert_eq!((joined.count(), joined.symbols_of(4)), (5, words.symbols_of(2)));
        let followed =
            words.follow(&[WordStep::Given(3), WordStep::Given(1), WordStep::Sum(0, 1), WordStep::Sum(2, 1)]);
        assert_eq!(followed.symbols_of(3), words.symbols_of(3));
        let mut sums = words.clone();
        sums.add(&words);
        assert!(sums.data().iter().all(|&block| block == 0));
        sums.add_where(words.word(2), &[0, 1, 0, 0, 1, 0]);
        assert!(bool::from(sums.is(4, words.word(2))) && !bool::from(sums.is(3, words.word(2))));
        sums.add_pair(0, [1, 4]);
        sums.add_pair(2, [1, 3]);
        let zeros = Words::zeros(symbols, 6);
        sums.add_each(&words, &[0, 0, 0, 0, 0, 1]);
        assert_eq!(sums.symbols_of(5), words.symbols_of(5));
        sums.add_each(&zeros, &[1; 6]);
        assert!(
            sums.symbols_of(0).iter().all(|&symbol| symbol == 0) && bool::from(sums.is(2, words.word(2)))
        );
        let mut last = sums.range(4..6);
        last.add_range(&sums, 1..3);
        assert!(last.symbols_of(0).iter().all(|&symbol| symbol == 0));
        last.add_range(&words, 4..6);
        assert!(bool::from(last.is(0, words.word(4))) && bool::from(last.is(1, words.word(2))));
    }
}
