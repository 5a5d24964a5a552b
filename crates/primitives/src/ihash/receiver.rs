//! Who holds the hashes.

use zeroize::Zeroizing;

use super::code::{Code, Step, Symbols};
use super::parameters::Parameters;
use super::sender::Stream;
use super::watch::{self, Watch};
use super::{Cheat, Combinations, answer_bytes, chosen_bytes, correction_bytes, msg};
use brickwork_base::Error;
use brickwork_base::random::{Rng, Seed};
use brickwork_wire::Channel;

/// The party that holds hashes.
pub struct Receiver {
    code: Code,
    watch: Watch,
    stream: Stream,
    security: u32,
}

/// Hashes of words: the watched symbols of their codewords, zeros in the place of the others.
#[derive(Clone)]
pub struct Hashes(Symbols);

/// Hashes that came and are not checked: they are hashes of words, or of nothing.
pub struct Pending {
    words: Hashes,
    masks: Hashes,
}

impl Hashes {
    /// Returns how many there are.
    pub fn count(&self) -> usize {
        self.0.count()
    }

    /// Returns those with these numbers, in this order.
    pub fn select(&self, words: &[usize]) -> Self {
        Hashes(self.0.select(words))
    }

    /// Makes all of these, one after the other.
    ///
    /// # Panics
    /// If there are none.
    pub fn join(all: &[&Hashes]) -> Self {
        let all: Vec<&Symbols> = all.iter().map(|hashes| &hashes.0).collect();
        Hashes(Symbols::join(&all))
    }

    /// Returns the hashes of what steps make of the words, as [`Symbols::follow`].
    ///
    /// # Panics
    /// As there.
    pub fn follow(&self, steps: &[Step]) -> Self {
        Hashes(self.0.follow(steps))
    }

    /// Compares all of them with one hash, or with that of zeros: 0 where they are equal, anything else where
    /// not. In constant time.
    ///
    /// # Panics
    /// If there are several to compare with.
    pub fn is(&self, one: Option<&Hashes>) -> Zeroizing<Vec<u8>> {
        assert!(one.is_none_or(|one| one.count() == 1), "one hash");
        let mut differ = Zeroizing::new(vec![0; self.count()]);
        for i in 0..self.0.rows() {
            let symbol = one.map_or(0, |one| one.0.row(i)[0]);
            differ.iter_mut().zip(self.0.row(i)).for_each(|(all, here)| *all |= here ^ symbol);
        }
        differ
    }

    /// Adds other hashes, one to each: these are those of the sums of the words.
    ///
    /// # Panics
    /// If there are not as many.
    pub fn add(&mut self, other: &Hashes) {
        self.0.add(&other.0);
    }

    /// Adds one hash to those whose bit, which is public, is 1.
    ///
    /// # Panics
    /// If there are not as many bits, or several hashes to add.
    pub fn add_where(&mut self, one: &Hashes, bits: &[u8]) {
        assert_eq!((self.count(), 1), (bits.len(), one.count()), "a bit for each");
        for i in 0..self.0.rows() {
            let symbol = one.0.row(i)[0];
            let row = self.0.row_mut(i);
            row.iter_mut().zip(bits).for_each(|(all, bit)| *all ^= symbol & (bit & 1).wrapping_neg());
        }
    }

    #[cfg(test)]
    pub(super) fn symbols(&self) -> &Symbols {
        &self.0
    }
}

impl Receiver {
    /// Draws what is to be watched: [`Watch::choices`] are the choices in n OTs, whose keys
    /// [`Receiver::set_up`] takes.
    ///
    /// # Errors
    /// [`Error::Resource`] without randomness.
    pub fn watch(parameters: &Parameters) -> Result<Watch, Error> {
        Ok(Watch::draw(parameters, &mut Rng::new("brickwork interactive hash: watched symbols")?))
    }

    /// Begins, with the keys of n OTs that were chosen by `watch`.
    ///
    /// # Errors
    /// [`Cheat::Shares`] if the sender cheats, [`Error::Io`] if the connection fails.
    ///
    /// # Panics
    /// If there are not n OTs.
    pub fn set_up(
        channel: &mut Channel,
        parameters: &Parameters,
        watch: Watch,
        keys: &[Seed],
        security: u32,
    ) -> Result<Self, Error> {
        assert_eq!(keys.len(), parameters.n(), "an OT for each symbol");
        let seeds = watch::take(channel, parameters, &watch, keys)?;
        channel.flush()?;
        let code = Code::new(parameters);
        Ok(Receiver { stream: Stream::new(&code, &seeds), code, watch, security })
    }

    /// Returns the code.
    pub fn code(&self) -> &Code {
        &self.code
    }

    /// Receives the hashes of `count` random words and checks that they are some.
    ///
    /// # Errors
    /// [`Cheat::Codeword`] if they are not, [`Error::Io`] if the connection fails, [`Error::Resource`]
    /// without randomness.
    pub fn random(&mut self, channel: &mut Channel, count: usize) -> Result<Hashes, Error> {
        let pending = self.receive(channel, count)?;
        self.verify(channel, pending)
    }

    /// Receives hashes.
    fn receive(&mut self, channel: &mut Channel, count: usize) -> Result<Pending, Error> {
        let parameters = *self.code.parameters();
        let (l, n) = (parameters.l(), parameters.n());
        let all = count + parameters.masks(self.security);
        let packed =
            channel.receive(msg::CORRECTIONS, correction_bytes(&parameters, count, self.security))?;
        let mask = self.code.field().mask();
        let corrections = Symbols::unpack(n - l, all, &packed, parameters.bits(), mask);
        let mut symbols = self.stream.draw(all);
        symbols.add_rows(l, &corrections);
        let symbols = self.watched(symbols);
        let (words, masks) = symbols.split(count);
        Ok(Pending { words: Hashes(words), masks: Hashes(masks) })
    }

    /// Checks that they are hashes of words (section 4.2, Hash, step 2).
    fn verify(&mut self, channel: &mut Channel, pending: Pending) -> Result<Hashes, Error> {
        let parameters = *self.code.parameters();
        let masks = parameters.masks(self.security);
        // All symbols are fixed.
        let seed = Rng::new("brickwork interactive hash: combinations")?.seed();
        channel.send(msg::SEED, seed.as_bytes())?;
        let packed = channel.receive(msg::ANSWER, answer_bytes(&parameters, self.security))?;
        let mask = self.code.field().mask();
        let answer = Symbols::unpack(parameters.l(), masks, &packed, parameters.bits(), mask);
        let combinations = Combinations::expand(&seed, self.code.field(), masks, pending.words.count());
        let combined = Hashes(combinations.of(self.code.field(), &pending.words.0, &pending.masks.0));
        // Which of the combinations differ is told nobody; that one does is.
        let differ = self.differences(&combined, &answer).iter().fold(0, |all, differ| all | differ);
        if differ != 0 {
            return Err(Cheat::Codeword.into());
        }
        Ok(pending.words)
    }

    /// Receives what makes hashes of random words, which are used up, those of chosen ones.
    ///
    /// # Errors
    /// [`Error::Io`] if the connection fails.
    pub fn chosen(&mut self, channel: &mut Channel, random: Hashes) -> Result<Hashes, Error> {
        let parameters = self.code.parameters();
        let count = random.count();
        let packed = channel.receive(msg::CHOSEN, chosen_bytes(parameters, count))?;
        let mask = self.code.field().mask();
        let differences = Symbols::unpack(parameters.l(), count, &packed, parameters.bits(), mask);
        let mut hashes = random;
        hashes.add(&self.hashes(&differences));
        Ok(hashes)
    }

    /// Returns the hashes of words that the receiver knows.
    pub fn hashes(&self, words: &Symbols) -> Hashes {
        Hashes(self.watched(self.code.encode(words)))
    }

    /// Compares words with hashes, one each: 0 where a word is the hashed one, anything else where not. In
    /// constant time: what is done about it is the caller's affair.
    ///
    /// # Panics
    /// If there are not as many.
    pub fn differences(&self, hashes: &Hashes, words: &Symbols) -> Zeroizing<Vec<u8>> {
        let mut sums = self.hashes(words);
        sums.add(hashes);
        sums.is(None)
    }

    fn watched(&self, mut symbols: Symbols) -> Symbols {
        let blocks = symbols.row_blocks();
        if blocks > 0 {
            for (i, row) in symbols.blocks_mut().chunks_exact_mut(blocks).enumerate() {
                row.iter_mut().for_each(|block| *block &= self.watch.mask(i));
            }
        }
        symbols
    }
}
