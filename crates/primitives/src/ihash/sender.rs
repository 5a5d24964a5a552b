//! The sender of an interactive hash: the party that hashes its words.

use brickwork_base::Error;
use brickwork_base::random::{Rng, Seed};
use brickwork_base::stop::look;
use brickwork_kernels::{Aes128, ROW_BLOCKS, ctr_rows, words_of_rows};
use brickwork_store::{Counter, Range, Ranges};
use brickwork_wire::Channel;
use zeroize::Zeroizing;

use super::code::{SymbolCode, Unsent};
use super::combine::Coefficients;
use super::parameters::HashParameters;
use super::words::{BLOCK, Words};
use super::{MESSAGE, msg, seeds};

/// The blocks of a stream that belong to an entry of a stock. A block holds one symbol of each of 16 words.
pub const WORDS: Counter = Counter::new("words of an interactive hash", 40);

/// The blocks of the second hash, in a session that has two.
pub const MORE_WORDS: Counter = WORDS.named("words of the second interactive hash");

/// The number of words that are made at a time, so that their rows fit into the cache.
const ROWS: usize = 512;

/// The sender of an interactive hash.
pub struct Sender {
    code: SymbolCode,
    seeds: Vec<Seed>,
    stream: SymbolStream,
    security: u32,
}

/// The random words that will mask combinations, one for each combination.
#[must_use = "send the combinations, because the receiver waits for them"]
pub struct HashMasks(Words);

/// The sums with which the sender proves opened words.
#[must_use = "send the combinations, because the receiver waits for them"]
pub struct Openings<'a> {
    code: &'a SymbolCode,
    sums: Words,
    coefficients: Coefficients,
}

impl Openings<'_> {
    /// Adds words to the combinations, in the same portions and order in which the receiver adds their
    /// hashes.
    pub fn add(&mut self, words: &Words) {
        self.coefficients.combine(words, &mut self.sums, None);
    }

    /// Sends the combinations.
    ///
    /// # Errors
    /// [`Error::Io`] if the connection fails.
    pub fn send(self, channel: &mut Channel) -> Result<(), Error> {
        channel.send(msg::OPENINGS, &self.code.pack(&self.sums))
    }
}

/// The symbols of consecutive words, expanded from a seed for each symbol.
pub(super) struct SymbolStream {
    keys: Vec<Aes128>,
    field_mask: u128,
    next: Range,
}

impl SymbolStream {
    pub(super) fn new(code: &SymbolCode, seeds: &[Seed], next: Range) -> Self {
        let keys = seeds.iter().map(|seed| Aes128::new(seed.bits())).collect();
        let field_mask = u128::MAX / 0xff * u128::from(code.field().mask());
        SymbolStream { keys, field_mask, next: next.of(&WORDS) }
    }

    /// Returns a stream that draws no new words, and only recomputes earlier words with
    /// [`SymbolStream::rows`].
    pub(super) fn of_seeds(code: &SymbolCode, seeds: &[Seed]) -> Self {
        Self::new(code, seeds, WORDS.none())
    }

    pub(super) fn enter(&mut self, next: Range) {
        self.next = next.of(&WORDS);
    }

    /// Draws the next `count` words in portions. `each` receives the range of a portion's words, the rows of
    /// their symbols, and the number of blocks of a row, which is a whole number of registers. The bytes of a
    /// row after the last word are unused. Returns the position of the first word in the stream.
    pub(super) fn draw(
        &mut self,
        count: usize,
        each: impl FnMut(std::ops::Range<usize>, &mut [u128], usize) -> Result<(), Error>,
    ) -> Result<u64, Error> {
        let start = self.next.draw(count.div_ceil(BLOCK) as u64)?;
        self.made(start, count, each)?;
        Ok(start)
    }

    /// Recomputes words from the position that [`SymbolStream::draw`] returned.
    pub(super) fn rows(
        &self,
        start: u64,
        count: usize,
        mut each: impl FnMut(std::ops::Range<usize>, &[u128], usize),
    ) {
        let all = self.made(start, count, |here, rows, blocks| {
            each(here, rows, blocks);
            Ok(())
        });
        all.expect("nothing fails");
    }

    fn made(
        &self,
        start: u64,
        count: usize,
        mut each: impl FnMut(std::ops::Range<usize>, &mut [u128], usize) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let mut rows = Zeroizing::new(Vec::new());
        for done in (0..count).step_by(ROWS) {
            look();
            let here = done..count.min(done + ROWS);
            let blocks = here.len().div_ceil(BLOCK).next_multiple_of(ROW_BLOCKS);
            rows.resize(self.keys.len() * blocks, 0);
            ctr_rows(&self.keys, u128::from(start + (done / BLOCK) as u64), &mut rows, blocks);
            if self.field_mask != u128::MAX {
                rows.iter_mut().for_each(|block| *block &= self.field_mask);
            }
            each(here, &mut rows, blocks)?;
        }
        Ok(())
    }
}

impl Sender {
    /// Sets the sender up, with both keys of n OTs in which the receiver chose the symbols that it watches.
    ///
    /// # Errors
    /// [`Cheat::Watched`](super::Cheat::Watched) if the receiver chose too many symbols, [`Error::Io`] if the
    /// connection fails, [`Error::Resource`] if the system gives no randomness.
    ///
    /// # Panics
    /// If the number of key pairs is not n.
    pub fn set_up(
        channel: &mut Channel,
        parameters: &HashParameters,
        keys: Vec<[Seed; 2]>,
        security: u32,
    ) -> Result<Self, Error> {
        assert_eq!(keys.len(), parameters.n(), "each symbol must have an OT");
        let seeds =
            seeds::give(channel, parameters, keys, &mut Rng::new("brickwork interactive hash: watch")?)?;
        let code = SymbolCode::new(parameters);
        let next = Ranges::of_setup().take(&WORDS)?;
        Ok(Sender { stream: SymbolStream::new(&code, &seeds, next), code, seeds, security })
    }

    /// Restores a sender from its [`Sender::seeds`]. The restored sender can draw nothing before
    /// [`Sender::enter`].
    ///
    /// # Errors
    /// [`Error::Stock`] if the number of seeds is not n.
    pub fn restored(parameters: &HashParameters, seeds: Vec<Seed>, security: u32) -> Result<Self, Error> {
        if seeds.len() != parameters.n() {
            return Err(Error::Stock("the stored seeds of an interactive hash are malformed".into()));
        }
        let code = SymbolCode::new(parameters);
        Ok(Sender { stream: SymbolStream::new(&code, &seeds, WORDS.none()), code, seeds, security })
    }

    /// Returns the state for a stock: the seeds of all symbols.
    pub fn seeds(&self) -> &[Seed] {
        &self.seeds
    }

    /// Returns the code.
    pub fn code(&self) -> &SymbolCode {
        &self.code
    }

    /// Hashes `count` random words: sends the corrections of their parity symbols. Returns the words; the
    /// receiver accepts their hashes after [`Sender::prove`] has answered its seed.
    ///
    /// # Errors
    /// [`Error::Io`] if the connection fails, [`Error::Limit`] if the stream's range is used up.
    pub fn random(&mut self, channel: &mut Channel, count: usize) -> Result<Words, Error> {
        let parameters = *self.code.parameters();
        let (l, bits) = (parameters.l(), parameters.bits());
        let mut words = Words::zeros(l, count);
        let word_blocks = words.blocks();
        let mut message = Vec::new();
        let code = &self.code;
        self.stream.draw(count, |here, rows, blocks| {
            let (top, bottom) = rows.split_at_mut(l * blocks);
            let some = &mut words.data_mut()[here.start * word_blocks..here.end * word_blocks];
            words_of_rows(top, blocks, some);
            code.add_parity_rows(top, bottom, blocks);
            let mut corrections = Words::zeros(parameters.n() - l, here.len());
            words_of_rows(bottom, blocks, corrections.data_mut());
            corrections.pack(bits, &mut message);
            if here.end % MESSAGE == 0 || here.end == count {
                channel.send(msg::CORRECTIONS, &message)?;
                message.clear();
            }
            Ok(())
        })?;
        Ok(words)
    }

    /// Hashes the random words that will mask combinations.
    ///
    /// # Errors
    /// Fails like [`Sender::random`].
    pub fn masks(&mut self, channel: &mut Channel) -> Result<HashMasks, Error> {
        let count = self.code.parameters().masks(self.security);
        self.random(channel, count).map(HashMasks)
    }

    /// Answers the receiver's seed with combinations of all words of these lists (section 4.2, Hash, step 2).
    ///
    /// # Errors
    /// [`Error::Io`] if the connection fails.
    pub fn prove(
        &self,
        channel: &mut Channel,
        seed: &Seed,
        lists: &[&Words],
        masks: HashMasks,
    ) -> Result<(), Error> {
        let HashMasks(mut sums) = masks;
        let mut coefficients = Coefficients::expand(seed, self.code.field(), sums.count());
        lists.iter().for_each(|words| coefficients.combine(words, &mut sums, None));
        channel.send(msg::ANSWER, &self.code.pack(&sums))
    }

    /// Turns the hashes of random words into hashes of chosen words: sends the differences.
    ///
    /// # Errors
    /// [`Error::Io`] if the connection fails.
    ///
    /// # Panics
    /// If the words do not have ℓ symbols.
    pub fn chosen(&self, channel: &mut Channel, differences: &Words) -> Result<(), Error> {
        channel.send(msg::CHOSEN, &self.code.pack(differences))
    }

    /// Opens hashed words to the receiver: sends their values at ℓ − w points that are never sent otherwise.
    /// Returns the values, `[word][point]`; [`Sender::openings`] must follow.
    ///
    /// # Errors
    /// [`Error::Io`] if the connection fails.
    ///
    /// # Panics
    /// If `unsent` does not have ℓ − w points.
    pub fn open(&self, channel: &mut Channel, unsent: &Unsent, words: &Words) -> Result<Words, Error> {
        assert_eq!(
            unsent.count(),
            self.code.parameters().l() - self.code.parameters().w(),
            "each word must have ℓ − w points"
        );
        let values = self.code.at(unsent, words);
        channel.send(msg::OPENED, &self.code.packed(&values))?;
        Ok(values)
    }

    /// Begins to answer the receiver's seed with combinations of opened words.
    pub fn openings(&self, seed: &Seed) -> Openings<'_> {
        let parameters = self.code.parameters();
        let sums = Words::zeros(parameters.l(), parameters.openings(self.security));
        let coefficients = Coefficients::expand(seed, self.code.field(), sums.count());
        Openings { code: &self.code, sums, coefficients }
    }

    /// Begins to answer the receiver's seed with combinations of opened words that were not proven before the
    /// seed was sent. The sender may still choose the symbols for which it answers, so the number of
    /// combinations is that of a proof ([`HashParameters::check`]).
    pub fn openings_unproven(&self, seed: &Seed) -> Openings<'_> {
        let parameters = self.code.parameters();
        let sums = Words::zeros(parameters.l(), parameters.masks(self.security));
        let coefficients = Coefficients::expand(seed, self.code.field(), sums.count());
        Openings { code: &self.code, sums, coefficients }
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
