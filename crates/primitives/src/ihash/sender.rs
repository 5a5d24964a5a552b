//! Who hashes.

use brickwork_kernels::{Aes128, ctr_rows};
use zeroize::Zeroizing;

use super::code::{Code, Symbols};
use super::parameters::Parameters;
use super::watch;
use super::{Combinations, msg, seed_of};
use brickwork_base::Error;
use brickwork_base::random::{Rng, SEED_BYTES, Seed};
use brickwork_wire::Channel;

/// The party that hashes its words.
pub struct Sender {
    code: Code,
    stream: Stream,
    security: u32,
}

/// The symbols that seeds give, of words one after the other.
pub(super) struct Stream {
    keys: Vec<Aes128>,
    field_mask: u128,
    next: u64,
}

impl Stream {
    pub(super) fn new(code: &Code, seeds: &[Seed]) -> Self {
        let keys = seeds.iter().map(|seed| Aes128::new(seed.bits())).collect();
        let field_mask = u128::MAX / 0xff * u128::from(code.field().mask());
        Stream { keys, field_mask, next: 0 }
    }

    /// Returns those of the next words: a row for each seed.
    pub(super) fn draw(&mut self, count: usize) -> Symbols {
        let mut symbols = Symbols::zeros(self.keys.len(), count);
        let blocks = symbols.row_blocks();
        ctr_rows(&self.keys, self.next.into(), symbols.blocks_mut(), blocks);
        self.next += blocks as u64;
        symbols.blocks_mut().iter_mut().for_each(|block| *block &= self.field_mask);
        symbols.clear_behind();
        symbols
    }
}

impl Sender {
    /// Begins, with both keys of n OTs in which the receiver chose the symbols that it watches.
    ///
    /// # Errors
    /// [`Cheat::Watched`](super::Cheat::Watched) if it chose too many, [`Error::Io`] if the connection fails,
    /// [`Error::Resource`] without randomness.
    ///
    /// # Panics
    /// If there are not n OTs.
    pub fn set_up(
        channel: &mut Channel,
        parameters: &Parameters,
        keys: Vec<[Seed; 2]>,
        security: u32,
    ) -> Result<Self, Error> {
        assert_eq!(keys.len(), parameters.n(), "an OT for each symbol");
        let seeds =
            watch::give(channel, parameters, keys, &mut Rng::new("brickwork interactive hash: watch")?)?;
        let code = Code::new(parameters);
        Ok(Sender { stream: Stream::new(&code, &seeds), code, security })
    }

    /// Returns the code.
    pub fn code(&self) -> &Code {
        &self.code
    }

    /// Hashes `count` random words. Returns them.
    ///
    /// # Errors
    /// [`Error::Io`] if the connection fails.
    pub fn random(&mut self, channel: &mut Channel, count: usize) -> Result<Symbols, Error> {
        let parameters = *self.code.parameters();
        let (l, n, masks) = (parameters.l(), parameters.n(), parameters.masks(self.security));
        let all = self.stream.draw(count + masks);
        let words = all.rows_of(0..l);
        let mut corrections = all.rows_of(l..n);
        corrections.add(&self.code.parity(&words));
        channel.send(msg::CORRECTIONS, &corrections.pack(0..n - l, parameters.bits()))?;
        let seed = seed_of(&channel.receive(msg::SEED, SEED_BYTES)?)?;
        let (words, masking) = words.split(count);
        let combinations = Combinations::expand(&seed, self.code.field(), masks, count);
        let answer = combinations.of(self.code.field(), &words, &masking);
        channel.send(msg::ANSWER, &answer.pack(0..l, parameters.bits()))?;
        channel.flush()?;
        Ok(words)
    }

    /// Hashes chosen words in the place of random ones, which are used up.
    ///
    /// # Errors
    /// [`Error::Io`] if the connection fails.
    ///
    /// # Panics
    /// If there are not as many.
    pub fn chosen(&mut self, channel: &mut Channel, random: Symbols, words: &Symbols) -> Result<(), Error> {
        let mut differences = random;
        differences.add(words);
        let packed = Zeroizing::new(differences.pack(0..differences.rows(), self.code.parameters().bits()));
        channel.send(msg::CHOSEN, &packed)
    }
}
