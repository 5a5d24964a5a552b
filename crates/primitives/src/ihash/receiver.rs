//! The receiver of an interactive hash, and the hashes that it holds.

use brickwork_base::Error;
use brickwork_base::random::{Rng, Seed};
use brickwork_base::stop::looking;
use brickwork_kernels::{Matrix, Picks, add_picked, words_of_rows};
use brickwork_store::{Counter, Range, Ranges};
use brickwork_wire::Channel;
use subtle::ConstantTimeEq;
use zeroize::Zeroizing;

use super::code::{SymbolCode, Unsent, multiply};
use super::combine::Coefficients;
use super::corrected::Corrected;
use super::parameters::HashParameters;
use super::sender::{SymbolStream, WORDS};
use super::watch::WatchedSymbols;
use super::words::{BLOCK, WordStep, Words, packed_bytes};
use super::{Cheat, answer_bytes, chosen_bytes, messages, msg, opened_bytes, seeds};

/// The receiver of an interactive hash.
pub struct Receiver {
    code: SymbolCode,
    watch: WatchedSymbols,
    /// For each watched symbol, the coefficients with which it is computed from the word.
    coefficients: Zeroizing<Vec<u8>>,
    /// Matrices that compute the watched symbols of a codeword from its word, and the watched parity symbols
    /// from all parity symbols.
    watched: Matrix,
    watched_parity: Picks,
    seeds: Vec<Seed>,
    stream: SymbolStream,
    security: u32,
}

/// Hashes of words. A hash has those symbols of the codeword that the receiver watches:
/// `[word][watched symbol]`.
#[derive(Clone)]
pub struct Hashes(Words);

/// Received hashes that are not checked yet. If the sender cheats, they may be no hashes of any words.
#[must_use = "hashes must be checked"]
pub struct UncheckedHashes(Words);

/// Computes opened words from their hashes and opened values.
pub struct Completion([Matrix; 2]);

/// Words that the receiver knows, in the form of ℓ symbols: the values at ℓ − w points that are never sent,
/// then the w symbols of the hash. This form is linear in the word, and the opened values and the hash can be
/// read from it directly.
#[derive(Clone)]
pub struct SeenWords(Words);

/// Converts words into the receiver's view, [`SeenWords`].
pub struct Sight {
    matrix: Matrix,
    /// The number of values at unsent points, which precede the symbols of the hash.
    hidden: usize,
}

/// Combinations of hashes, and of the values that open them.
#[must_use = "openings must be checked"]
pub struct OpenedCombinations<'a> {
    receiver: &'a Receiver,
    unsent: &'a Unsent,
    sums: [Words; 2],
    coefficients: Coefficients,
}

impl OpenedCombinations<'_> {
    /// Adds hashes and their opened values, in the same portions and order in which the sender adds the
    /// words.
    ///
    /// # Panics
    /// If the number of hashes differs from the number of values.
    pub fn add(&mut self, hashes: &Hashes, values: &Words) {
        let [of_hashes, of_values] = &mut self.sums;
        self.coefficients.combine(&hashes.0, of_hashes, Some((values, of_values)));
    }

    /// Receives the combined words, and returns whether all values belong to the hashed words.
    ///
    /// # Errors
    /// [`Error::Io`] if the connection fails.
    pub fn are_right(self, channel: &mut Channel) -> Result<bool, Error> {
        let OpenedCombinations { receiver, unsent, sums: [mut hashes, mut values], .. } = self;
        let bytes = chosen_bytes(receiver.code.parameters(), hashes.count());
        let packed = channel.receive(msg::OPENINGS, bytes)?;
        let words = receiver.code.unpack(hashes.count(), &packed);
        hashes.add(&receiver.hashes(&words).0);
        values.add(&receiver.code.at(unsent, &words));
        let zeros = |words: &Words| words.data().iter().fold(0, |all, block| all | block) == 0;
        Ok(zeros(&hashes) & zeros(&values))
    }
}

impl Hashes {
    /// Returns the number of hashes.
    pub fn count(&self) -> usize {
        self.0.count()
    }

    /// Returns the data for a stock: [`Receiver::stored`] reads it.
    pub fn data(&self) -> &[u128] {
        self.0.data()
    }

    /// Returns the hashes with these numbers, in this order.
    pub fn select(&self, numbers: impl ExactSizeIterator<Item = usize>) -> Self {
        Hashes(self.0.select(numbers))
    }

    /// Returns the hashes of a range.
    pub fn range(&self, range: std::ops::Range<usize>) -> Self {
        Hashes(self.0.range(range))
    }

    /// Returns the sums of pairs of hashes, like [`Words::pair_sums`].
    ///
    /// # Panics
    /// Panics under the conditions of [`Words::pair_sums`].
    pub fn pair_sums(&self, numbers: &[u32], others: &Hashes, other_numbers: &[u32]) -> Self {
        Hashes(self.0.pair_sums(numbers, &others.0, other_numbers))
    }

    /// Returns all hashes, one after the other.
    ///
    /// # Panics
    /// If the list is empty.
    pub fn join(all: &[&Hashes]) -> Self {
        let all: Vec<&Words> = all.iter().map(|hashes| &hashes.0).collect();
        Hashes(Words::join(&all))
    }

    /// Appends other hashes. Works like [`Words::append`].
    ///
    /// # Panics
    /// Panics under the conditions of [`Words::append`].
    pub fn append(&mut self, others: &Hashes) {
        self.0.append(&others.0);
    }

    /// Returns the hashes of the words that [`Words::follow`] makes by these steps.
    ///
    /// # Panics
    /// Panics under the conditions of [`Words::follow`].
    pub fn follow(&self, steps: &[WordStep]) -> Self {
        Hashes(self.0.follow(steps))
    }

    /// Compares each hash with one hash, or with the hash of the zero word: 0 if equal, 1 if not. Takes
    /// constant time.
    ///
    /// # Panics
    /// If `one` contains several hashes.
    pub fn is(&self, one: Option<&Hashes>) -> Zeroizing<Vec<u8>> {
        assert!(one.is_none_or(|one| one.count() == 1), "one hash");
        let differs = |k: usize| {
            let word = self.0.word(k).iter();
            let difference = match one {
                None => word.fold(0, |all, block| all | block),
                Some(one) => word.zip(one.0.word(0)).fold(0, |all, (block, one)| all | (block ^ one)),
            };
            1 ^ difference.ct_eq(&0).unwrap_u8()
        };
        Zeroizing::new(looking(0..self.count()).map(differs).collect())
    }

    /// Adds `other`, hash by hash. The results are the hashes of the sums of the words.
    ///
    /// # Panics
    /// If the numbers of hashes differ.
    pub fn add(&mut self, other: &Hashes) {
        self.0.add(&other.0);
    }

    /// Adds other hashes, given in consecutive parts, hash by hash.
    ///
    /// # Panics
    /// If the numbers of hashes differ.
    pub fn add_parts(&mut self, parts: &[Hashes]) {
        self.0.add_parts(parts.iter().map(|part| &part.0));
    }

    /// Adds one hash to each hash whose bit is 1. Takes constant time.
    ///
    /// # Panics
    /// If the number of bits differs from the number of hashes, or `one` contains several hashes.
    pub fn add_where(&mut self, one: &Hashes, bits: &[u8]) {
        assert_eq!(one.count(), 1, "one hash");
        self.0.add_where(one.0.word(0), bits);
    }

    /// Adds `others`, hash by hash, where the bit is 1. Takes constant time.
    ///
    /// # Panics
    /// If the numbers of hashes or bits differ.
    pub fn add_each(&mut self, others: &Hashes, bits: &[u8]) {
        self.0.add_each(&others.0, bits);
    }

    #[cfg(test)]
    pub(super) fn words(&self) -> &Words {
        &self.0
    }
}

impl std::ops::Deref for SeenWords {
    type Target = Words;

    fn deref(&self) -> &Words {
        &self.0
    }
}

impl std::ops::DerefMut for SeenWords {
    fn deref_mut(&mut self) -> &mut Words {
        &mut self.0
    }
}

impl SeenWords {
    /// Returns the words with these numbers, in this order.
    pub fn select(&self, numbers: impl ExactSizeIterator<Item = usize>) -> Self {
        SeenWords(self.0.select(numbers))
    }
}

impl Sight {
    /// Returns the views of this many zero words.
    pub fn zeros(&self, count: usize) -> SeenWords {
        SeenWords(Words::zeros(self.matrix.outputs(), count))
    }

    /// Returns the views of words.
    ///
    /// # Panics
    /// If the words do not have ℓ symbols.
    pub fn of(&self, words: &Words) -> SeenWords {
        assert_eq!(words.symbols(), self.matrix.inputs(), "each word must have ℓ symbols");
        let mut seen = self.zeros(words.count());
        self.add(words.data(), seen.data_mut());
        seen
    }

    /// Adds the views of words to `seen`, word by word. Both lists are the [data](Words::data) of words.
    ///
    /// # Panics
    /// If the numbers of words differ.
    pub fn add(&self, words: &[u128], seen: &mut [u128]) {
        multiply(&self.matrix, words, seen);
    }

    /// Takes the opened words of consecutive parts, given by their hashes and by the values that
    /// [`Receiver::opened`] returned. Returns the view of every `step`th word.
    ///
    /// # Panics
    /// If the number of values differs from the number of hashes.
    pub fn join<'a>(
        &self,
        parts: impl Iterator<Item = (&'a Words, &'a Hashes)> + Clone,
        step: usize,
    ) -> SeenWords {
        let mut seen = self.zeros(parts.clone().map(|(values, _)| values.count().div_ceil(step)).sum());
        let mut all = seen.0.data_mut().chunks_exact_mut(self.matrix.outputs().div_ceil(BLOCK));
        for (values, hashes) in parts {
            assert_eq!(
                (values.symbols(), values.count()),
                (self.hidden, hashes.count()),
                "each hash must have ℓ − w values"
            );
            for (k, word) in looking((0..values.count()).step_by(step)).zip(&mut all) {
                self.put(hashes.0.word(k), word);
                word.iter_mut().zip(values.word(k)).for_each(|(to, from)| *to |= from);
            }
        }
        seen
    }

    /// Returns views that contain the hashes, with zeros for the values.
    pub fn hashes(&self, Hashes(hashes): &Hashes) -> SeenWords {
        let mut seen = self.zeros(hashes.count());
        looking(0..hashes.count()).for_each(|k| self.put(hashes.word(k), seen.0.word_mut(k)));
        seen
    }

    /// Writes a hash to its position in a view, which has zeros there.
    fn put(&self, hash: &[u128], word: &mut [u128]) {
        let (first, shift) = (self.hidden / BLOCK, 8 * (self.hidden % BLOCK) as u32);
        for (block, hash) in (first..).zip(hash) {
            word[block] |= hash << shift;
            if let Some(next) = word.get_mut(block + 1) {
                *next |= hash.checked_shr(u128::BITS - shift).unwrap_or(0);
            }
        }
    }

    /// Returns the mask of the hash within a view: ones at its position, zeros at the values.
    pub fn watched(&self) -> Vec<u128> {
        let mut ones = self.zeros(1);
        ones.symbols_mut(0)[self.hidden..].fill(u8::MAX);
        ones.data().to_vec()
    }
}

impl Completion {
    /// Returns the number of symbols of a completed word.
    pub fn symbols(&self) -> usize {
        self.0[0].outputs()
    }

    /// Returns the words with these hashes and with these values at points that are never sent, as
    /// [`Receiver::opened`] returns them.
    ///
    /// # Panics
    /// If the number of values differs from the number of hashes.
    pub fn words(&self, hashes: &Hashes, values: &Words) -> Words {
        let [of_hashes, of_values] = &self.0;
        let mut words = Words::zeros(of_hashes.outputs(), hashes.count());
        multiply(of_hashes, hashes.0.data(), words.data_mut());
        multiply(of_values, values.data(), words.data_mut());
        words
    }
}

impl Receiver {
    /// Draws the watched symbols. [`WatchedSymbols::choices`] are the receiver's choices in n OTs, and
    /// [`Receiver::set_up`] expects the keys of these OTs.
    ///
    /// # Errors
    /// [`Error::Resource`] if the system gives no randomness.
    pub fn watch(parameters: &HashParameters) -> Result<WatchedSymbols, Error> {
        Ok(WatchedSymbols::draw(parameters, &mut Rng::new("brickwork interactive hash: watched symbols")?))
    }

    /// Sets the receiver up with the keys of n OTs, in which it chose by `watch`.
    ///
    /// # Errors
    /// [`Cheat::Shares`] if the sender cheats, [`Error::Io`] if the connection fails.
    ///
    /// # Panics
    /// If the number of keys is not n.
    pub fn set_up(
        channel: &mut Channel,
        parameters: &HashParameters,
        watch: WatchedSymbols,
        keys: &[Seed],
        security: u32,
    ) -> Result<Self, Error> {
        assert_eq!(keys.len(), parameters.n(), "each symbol must have an OT");
        let seeds = seeds::take(channel, parameters, &watch, keys)?;
        channel.flush()?;
        Ok(Self::of(parameters, watch, seeds, Ranges::of_setup().take(&WORDS)?, security))
    }

    fn of(
        parameters: &HashParameters,
        watch: WatchedSymbols,
        seeds: Vec<Seed>,
        next: Range,
        security: u32,
    ) -> Self {
        let code = SymbolCode::new(parameters);
        let coefficients = code.watched_coefficients(&watch);
        let (watched, watched_parity) = code.watched(&watch, &coefficients);
        let stream = SymbolStream::new(&code, &seeds, next);
        Receiver { code, watch, coefficients, watched, watched_parity, seeds, stream, security }
    }

    /// Restores a receiver from its choices and seeds. The restored receiver can draw nothing before
    /// [`Receiver::enter`].
    ///
    /// # Errors
    /// [`Error::Stock`] unless there are n choices, w of them 1, and w seeds.
    pub fn restored(
        parameters: &HashParameters,
        choices: &[u8],
        seeds: Vec<Seed>,
        security: u32,
    ) -> Result<Self, Error> {
        match WatchedSymbols::restored(parameters, choices) {
            Some(watch) if seeds.len() == parameters.w() => {
                Ok(Self::of(parameters, watch, seeds, WORDS.none(), security))
            }
            _ => Err(Error::Stock("the stored watched symbols of an interactive hash are malformed".into())),
        }
    }

    /// Returns the state for a stock: 1 for each watched symbol, 0 for each other symbol, and the seeds of
    /// the watched symbols.
    pub fn state(&self) -> (&[u8], &[Seed]) {
        (self.watch.choices(), &self.seeds)
    }

    /// Returns the hashes from the [`Hashes::data`] that a stock has kept.
    ///
    /// # Errors
    /// [`Error::Stock`] if the data is not a whole number of hashes, or has bytes other than 0 behind the
    /// last symbol of a hash.
    pub fn stored(&self, data: Vec<u128>) -> Result<Hashes, Error> {
        Words::stored(self.code.parameters().w(), data).map(Hashes)
    }

    /// Returns the code.
    pub fn code(&self) -> &SymbolCode {
        &self.code
    }

    /// Receives the hashes of `count` random words. The hashes can be used after [`Receiver::verify`] has
    /// checked them.
    ///
    /// # Errors
    /// [`Error::Io`] if the connection fails, [`Error::Limit`] if the stream's range is used up.
    pub fn random(&mut self, channel: &mut Channel, count: usize) -> Result<UncheckedHashes, Error> {
        Ok(self.drawn(channel, count, |_| {})?.0)
    }

    /// Receives the hashes of random words, and keeps the corrections.
    pub(super) fn corrected(
        &mut self,
        channel: &mut Channel,
        count: usize,
    ) -> Result<(UncheckedHashes, Corrected), Error> {
        let parity = self.code.parameters().n() - self.code.parameters().l();
        let mut all = Words::zeros(parity, 0);
        let (pending, first) = self.drawn(channel, count, |corrections| all.append(corrections))?;
        Ok((pending, Corrected::new(first, all)))
    }

    /// Receives the hashes of random words; `corrected` receives each part of the corrections. Returns also
    /// the position of the words in the streams.
    fn drawn(
        &mut self,
        channel: &mut Channel,
        count: usize,
        mut corrected: impl FnMut(&Words),
    ) -> Result<(UncheckedHashes, u64), Error> {
        let parameters = *self.code.parameters();
        let (w, parity) = (parameters.w(), parameters.n() - parameters.l());
        let mut hashes = Words::zeros(w, count);
        let blocks_of = hashes.blocks();
        let start = self.stream.draw(count, |here, rows, blocks| {
            words_of_rows(rows, blocks, &mut hashes.data_mut()[here.start * blocks_of..here.end * blocks_of]);
            Ok(())
        })?;
        for (first, count) in messages(count) {
            let packed = channel.receive(msg::CORRECTIONS, packed_bytes(parity, count, parameters.bits()))?;
            let corrections = self.code.unpacked(parity, count, &packed);
            let here = &mut hashes.data_mut()[first * blocks_of..][..count * blocks_of];
            add_picked(&self.watched_parity, corrections.data(), here);
            corrected(&corrections);
        }
        Ok((UncheckedHashes(hashes), start))
    }

    /// Receives the hashes of the random words that will mask combinations.
    ///
    /// # Errors
    /// Fails like [`Receiver::random`].
    pub fn masks(&mut self, channel: &mut Channel) -> Result<UncheckedHashes, Error> {
        self.random(channel, self.masks_of_combinations())
    }

    /// Returns the number of combinations of a proof, each of which needs a mask.
    pub(super) fn masks_of_combinations(&self) -> usize {
        self.code.parameters().masks(self.security)
    }

    pub(super) fn watched_symbols(&self) -> &WatchedSymbols {
        &self.watch
    }

    /// Checks that all of these lists are hashes of words (section 4.2, Hash, step 2). The receiver must have
    /// drawn `seed` and sent it after all corrections had arrived.
    ///
    /// # Errors
    /// [`Cheat::Codeword`] if a list contains an invalid hash, [`Error::Io`] if the connection fails.
    pub fn verify(
        &self,
        channel: &mut Channel,
        seed: &Seed,
        lists: Vec<UncheckedHashes>,
        masks: UncheckedHashes,
    ) -> Result<Vec<Hashes>, Error> {
        Ok(self.verified(channel, seed, lists, masks)?.0)
    }

    /// Checks hashes like [`Receiver::verify`], and returns also the sender's answer.
    pub(super) fn verified(
        &self,
        channel: &mut Channel,
        seed: &Seed,
        lists: Vec<UncheckedHashes>,
        masks: UncheckedHashes,
    ) -> Result<(Vec<Hashes>, Words), Error> {
        let UncheckedHashes(mut sums) = masks;
        // The combinations are computed before the receiver waits for the answer, because the sender computes
        // the same combinations meanwhile.
        let mut coefficients = Coefficients::expand(seed, self.code.field(), sums.count());
        lists.iter().for_each(|UncheckedHashes(words)| coefficients.combine(words, &mut sums, None));
        let packed = channel.receive(msg::ANSWER, answer_bytes(self.code.parameters(), self.security))?;
        let answer = self.code.unpack(sums.count(), &packed);
        // It is secret how many combinations differ. A failing run only reveals that some combination
        // differs.
        if any(&self.differences(&Hashes(sums), &answer)) {
            return Err(Cheat::Codeword.into());
        }
        Ok((lists.into_iter().map(|UncheckedHashes(words)| Hashes(words)).collect(), answer))
    }

    /// Receives the differences between `count` chosen words and random words. The [`Receiver::hashes`] of
    /// these differences must be added to the hashes of the random words.
    ///
    /// # Errors
    /// [`Error::Io`] if the connection fails.
    pub fn chosen(&self, channel: &mut Channel, count: usize) -> Result<Words, Error> {
        let packed = channel.receive(msg::CHOSEN, chosen_bytes(self.code.parameters(), count))?;
        Ok(self.code.unpack(count, &packed))
    }

    /// Receives the opening values of `count` hashed words: their values at ℓ − w points that are never sent,
    /// `[word][point]`. The values may be wrong until [`OpenedCombinations::are_right`] has returned true.
    ///
    /// # Errors
    /// [`Error::Io`] if the connection fails.
    pub fn opened(&self, channel: &mut Channel, count: usize) -> Result<Words, Error> {
        let parameters = self.code.parameters();
        let packed = channel.receive(msg::OPENED, opened_bytes(parameters, count))?;
        Ok(self.code.unpacked(parameters.l() - parameters.w(), count, &packed))
    }

    /// Begins to check openings at these points. The receiver must have drawn `seed` and sent it after all
    /// values had arrived.
    pub fn openings<'a>(&'a self, seed: &Seed, unsent: &'a Unsent) -> OpenedCombinations<'a> {
        self.combinations(seed, unsent, self.code.parameters().openings(self.security))
    }

    /// Begins to check openings of words that were not proven before the seed was sent, like
    /// [`Sender::openings_unproven`](super::Sender::openings_unproven).
    pub fn openings_unproven<'a>(&'a self, seed: &Seed, unsent: &'a Unsent) -> OpenedCombinations<'a> {
        self.combinations(seed, unsent, self.masks_of_combinations())
    }

    fn combinations<'a>(&'a self, seed: &Seed, unsent: &'a Unsent, number: usize) -> OpenedCombinations<'a> {
        let parameters = self.code.parameters();
        let sums = [parameters.w(), unsent.count()].map(|symbols| Words::zeros(symbols, number));
        let coefficients = Coefficients::expand(seed, self.code.field(), number);
        OpenedCombinations { receiver: self, unsent, sums, coefficients }
    }

    /// Returns the matrices that complete words from their hashes and their values at these points.
    ///
    /// # Panics
    /// If `unsent` does not have ℓ − w points.
    pub fn completion(&self, unsent: &Unsent) -> Completion {
        Completion(self.code.completion(&self.watch, unsent))
    }

    /// Returns the converter that makes views of words, with their values at these points.
    ///
    /// # Panics
    /// If `unsent` does not have ℓ − w points.
    pub fn sight(&self, unsent: &Unsent) -> Sight {
        let parameters = self.code.parameters();
        assert_eq!(unsent.count(), parameters.l() - parameters.w(), "each word must have ℓ − w points");
        Sight { matrix: self.code.sight(&self.coefficients, unsent), hidden: unsent.count() }
    }

    /// Returns the hashes of words that the receiver knows.
    ///
    /// # Panics
    /// If the words do not have ℓ symbols.
    pub fn hashes(&self, words: &Words) -> Hashes {
        assert_eq!(words.symbols(), self.code.parameters().l(), "each word must have ℓ symbols");
        let mut hashes = Words::zeros(self.code.parameters().w(), words.count());
        multiply(&self.watched, words.data(), hashes.data_mut());
        Hashes(hashes)
    }

    /// Compares each word with the hash at the same index: 0 if the word is the hashed one, 1 if not. Takes
    /// constant time; the caller decides whether to reveal the result.
    ///
    /// # Panics
    /// If the number of words differs from the number of hashes.
    pub fn differences(&self, hashes: &Hashes, words: &Words) -> Zeroizing<Vec<u8>> {
        let mut sums = self.hashes(words);
        sums.add(hashes);
        sums.is(None)
    }

    /// Enters the range of an entry of a stock.
    ///
    /// # Errors
    /// [`Error::Usage`] if the range is already in use.
    pub fn enter(&mut self, ranges: &mut Ranges, counter: &Counter) -> Result<(), Error> {
        self.stream.enter(ranges.take(counter)?);
        Ok(())
    }
}

fn any(differ: &[u8]) -> bool {
    differ.iter().fold(0, |all, differ| all | differ) != 0
}
