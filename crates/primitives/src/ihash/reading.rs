//! Reading of hashed words by a party that has learned the seeds of all symbols.
//!
//! A hash determines a word up to ℓ − w symbols. The streams of the unwatched symbols determine these: symbol
//! i of a codeword is the value of its stream plus its correction. This holds for an honest sender. The
//! unwatched symbols of a cheating sender may be wrong, so that its symbols are not a codeword. So the
//! receiver finds A, the symbols in which the sender's answer agrees with the combinations of the hashed
//! words. Computing A needs all seeds. All watched symbols are in A, and A has ℓ symbols or more, except with
//! the probability of [`Parameters::binding`](super::Parameters::binding). On A, all hashed words agree with
//! codewords, except with the probability of [`Parameters::check`](super::Parameters::check). So the watched
//! symbols and ℓ − w unwatched symbols of A determine the hashed word.
//!
//! A receiver without the seeds performs the same steps with random seeds. Time and memory accesses depend on
//! sizes alone, so they do not show whether the receiver knows the seeds.

use brickwork_base::Error;
use brickwork_base::random::Seed;
use brickwork_kernels::Matrix;
use brickwork_wire::Channel;
use subtle::ConstantTimeEq;
use zeroize::Zeroizing;

use super::code::{SymbolCode, Unsent, multiply};
use super::combine::Coefficients;
use super::corrected::Corrected;
use super::receiver::{Hashes, Receiver, UncheckedHashes};
use super::sender::SymbolStream;
use super::watch::WatchedSymbols;
use super::words::Words;

/// Received random words with their masks, before their hashes are checked.
#[must_use = "hashes must be checked"]
pub struct PendingReadable {
    words: (UncheckedHashes, Corrected),
    masks: (UncheckedHashes, Corrected),
}

/// Random words that a party with the seeds of all symbols can read.
pub struct Readable {
    words: Corrected,
    masks: Corrected,
    seed: Seed,
    answer: Words,
}

impl Readable {
    /// Returns an empty list of words.
    pub fn none(code: &SymbolCode) -> Self {
        let none = |symbols: usize| Corrected::new(0, Words::zeros(symbols, 0));
        let parity = code.parameters().n() - code.parameters().l();
        let answer = Words::zeros(code.parameters().l(), 0);
        Readable { words: none(parity), masks: none(parity), seed: Seed::from_bytes([0; 16]), answer }
    }

    /// Returns the number of words.
    pub fn count(&self) -> usize {
        self.words.count()
    }

    /// Reads the values of the words at the points of `unsent`, `[word][point]`, with the seeds of all n
    /// symbols. With other seeds, it performs the same steps, and the values reveal nothing.
    ///
    /// # Panics
    /// If the number of seeds is not n.
    pub fn read(&self, receiver: &Receiver, seeds: &[Seed], unsent: &Unsent) -> Words {
        let code = receiver.code();
        assert_eq!(seeds.len(), code.parameters().n(), "each symbol must have a seed");
        let stream = SymbolStream::of_seeds(code, seeds);
        let words = self.words.symbols(code, &stream);
        let mut sums = self.masks.symbols(code, &stream);
        Coefficients::expand(&self.seed, code.field(), sums.count()).combine(&words, &mut sums, None);
        sums.add(&code.encode(&self.answer));
        let differ = (0..sums.count()).fold(Zeroizing::new(vec![0; seeds.len()]), |mut differ, v| {
            differ.iter_mut().zip(sums.symbols_of(v)).for_each(|(all, here)| *all |= here);
            differ
        });
        let agree: Vec<u8> = differ.iter().map(|differs| differs.ct_eq(&0).unwrap_u8()).collect();
        let matrix = values_of(code, receiver.watched_symbols(), &Zeroizing::new(agree), unsent);
        let mut values = Words::zeros(unsent.count(), words.count());
        multiply(&matrix, words.data(), values.data_mut());
        values
    }
}

/// Returns the matrix that computes a word's values at these points from its codeword. The matrix uses the
/// watched symbols, and the first ℓ − w other symbols that agree with the answer; `agree` has a 1 for each of
/// the n symbols that agrees. Takes constant time.
fn values_of(code: &SymbolCode, watch: &WatchedSymbols, agree: &[u8], unsent: &Unsent) -> Matrix {
    let (field, l, n, w) =
        (code.field(), code.parameters().l(), code.parameters().n(), code.parameters().w());
    let mut places = Zeroizing::new(Vec::with_capacity(l));
    places.extend((0..w).map(|o| watch.place(o)));
    // The first symbols that agree and are not watched.
    let others = agree.iter().zip(watch.choices()).map(|(agree, watched)| agree & (1 ^ watched));
    let others = WatchedSymbols::of(others.collect());
    places.extend((0..l - w).map(|o| others.place(o)));
    let mut coefficients = Zeroizing::new(vec![0; unsent.count() * n]);
    for (row, &x) in coefficients.chunks_exact_mut(n).zip(unsent.points()) {
        for (j, &place) in places.iter().enumerate() {
            let others = (0..l).filter(|&m| m != j).map(|m| places[m]);
            let (above, below) = others.fold((1, 1), |(above, below), other| {
                (field.mul(above, x ^ other), field.mul(below, place ^ other))
            });
            let coefficient = field.mul(above, field.inverse(below));
            for (i, sum) in row.iter_mut().enumerate() {
                *sum ^= coefficient & (i as u8).ct_eq(&place).unwrap_u8().wrapping_neg();
            }
        }
    }
    Matrix::new(unsent.count(), n, |i, j| field.factor(coefficients[i * n + j]))
}

impl Receiver {
    /// Receives the hashes of random words and of their masks, like [`Receiver::random`] and
    /// [`Receiver::masks`], and keeps the corrections so that the words can be read later.
    ///
    /// # Errors
    /// Fails like [`Receiver::random`].
    pub fn readable(&mut self, channel: &mut Channel, count: usize) -> Result<PendingReadable, Error> {
        let words = self.corrected(channel, count)?;
        let masks = self.corrected(channel, self.masks_of_combinations())?;
        Ok(PendingReadable { words, masks })
    }

    /// Checks the hashes like [`Receiver::verify`]. Returns the hashes, and the data for reading the words.
    ///
    /// # Errors
    /// Fails like [`Receiver::verify`].
    pub fn verify_readable(
        &self,
        channel: &mut Channel,
        seed: &Seed,
        pending: PendingReadable,
    ) -> Result<(Hashes, Readable), Error> {
        let PendingReadable { words: (words, of_words), masks: (masks, of_masks) } = pending;
        let (mut hashes, answer) = self.verified(channel, seed, vec![words], masks)?;
        let readable = Readable { words: of_words, masks: of_masks, seed: seed.clone(), answer };
        Ok((hashes.remove(0), readable))
    }
}
